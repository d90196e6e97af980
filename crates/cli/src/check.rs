//! `jostle check`

use crate::arguments::Check;
use crate::machine::Machine;
use crate::numbers::{bytes, duration, grouped, significant};
use crate::output;
use jostle_core::{Error, Result};
use jostle_engine::Simulation;
use jostle_engine::model::Action;
use jostle_io::Input;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// How long the first steps are timed for.
const TRIAL: Duration = Duration::from_millis(500);
/// Bytes an atom needs outside the device: state, species, a frame to write.
const HOST_BYTES_PER_ATOM: u64 = 200;

/// Validates an input by building all of it and making its first steps, without writing anything.
///
/// # Errors
/// Whatever `jostle run` would refuse, or fail at in the first steps.
pub fn check(options: &Check) -> Result<()> {
    let input = Input::read(&options.file)?;
    let mut simulation = Simulation::from_input(&input, &options.compute.overrides())?;
    let marks = RefCell::new(Vec::new());
    let begun = Instant::now();
    simulation.run_with(&mut (), &|| {
        marks.borrow_mut().push(Instant::now());
        begun.elapsed() > TRIAL
    })?;
    let marks = marks.into_inner();
    let atoms = simulation.backend().n_atoms() as u64;
    let needed = simulation.backend().neighbor_facts().bytes as u64 + atoms * HOST_BYTES_PER_ATOM;
    let machine = Machine::look();

    output::print(&input.completed()?)?;
    eprintln!(
        "{} is valid: {} atoms on {}",
        options.file.display(),
        grouped(atoms),
        simulation.backend().describe()
    );
    eprintln!("  memory      about {}", bytes(needed));
    let steps: u64 = input.stages.iter().map(|stage| planned(&stage.value.action)).sum();
    if let (Some(first), Some(last)) = (marks.first(), marks.last())
        && marks.len() > 1
    {
        let seconds_per_step = (*last - *first).as_secs_f64() / (marks.len() - 1) as f64;
        eprintln!(
            "  time        about {} for {} steps at {} steps/s, as the first ones went",
            duration(seconds_per_step * steps as f64),
            grouped(steps),
            significant(1.0 / seconds_per_step, 3),
        );
    }
    match machine.memory_available {
        Some(available) if needed > available => Err(Error::device(format!(
            "the run needs about {}, but only {} of memory are free",
            bytes(needed),
            bytes(available)
        ))
        .hint("use fewer atoms or a shorter cut-off, or a machine with more memory")),
        _ => Ok(()),
    }
}

/// Steps of a stage; for a minimisation, at most.
fn planned(action: &Action) -> u64 {
    match action {
        Action::Dynamics { steps, .. } | Action::Minimize { steps, .. } => *steps,
    }
}
