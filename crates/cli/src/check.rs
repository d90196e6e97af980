//! `jostle check`

use crate::arguments::Check;
use crate::machine::Machine;
use crate::numbers::{bytes, duration, grouped, significant};
use crate::output;
use jostle_core::{Error, Result};
use jostle_engine::model::Action;
use jostle_engine::{Progress, Simulation, StageStart, Warning};
use jostle_io::Input;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// How long the first time steps are timed for.
const TRIAL: Duration = Duration::from_millis(500);
/// How long to wait for the end of a minimisation that comes before them.
const PATIENCE: Duration = Duration::from_secs(3);
/// Bytes an atom needs outside the device, as measured: a checkpoint while it is written, a frame.
const HOST_BYTES_PER_ATOM: u64 = 250;

/// Validates an input by building all of it and making its first steps, without writing anything.
///
/// # Errors
/// Whatever `jostle run` would refuse, or fail at in the first steps.
pub fn check(options: &Check) -> Result<()> {
    let input = Input::read(&options.file)?;
    let mut simulation = Simulation::from_input(&input, &options.compute.overrides())?;
    let trial = Trial {
        input: &input,
        patient_until: Instant::now() + PATIENCE,
        stage: RefCell::default(),
        notes: RefCell::default(),
        doubts: RefCell::default(),
    };
    simulation.run_with(&mut &trial, &|| trial.is_over())?;
    if let (true, Some(first)) = (options.warnings.strict, trial.doubts.take().into_iter().next()) {
        return Err(Error::simulation(first).hint("warnings are errors here: leave out --strict"));
    }
    let (Timed { first, last, .. }, notes) = (trial.stage.into_inner(), trial.notes.into_inner());
    let atoms = simulation.backend().n_atoms() as u64;
    let needed = simulation.backend().neighbor_facts().bytes as u64 + atoms * HOST_BYTES_PER_ATOM;
    let machine = Machine::look();

    output::print(&input.completed()?)?;
    say!(
        "{} is valid: {} atoms on {}",
        options.file.display(),
        grouped(atoms),
        simulation.backend().describe()
    );
    say!("  memory      about {}", bytes(needed));
    for table in input.tables(simulation.species())? {
        let ([a, b], [from, to]) = (&table.species, table.range);
        let (cubics, error) = (grouped(table.intervals as u64), table.error);
        say!("  table {a}-{b}   {cubics} cubics in r^2 from {from} to {to}, within {error:.0e} of its file");
    }
    notes.iter().for_each(|note| say!("  note        {note}"));
    let steps: u64 = input.stages.iter().map(|stage| planned(&stage.value.action)).sum();
    if let (Some(first), Some(last)) = (first, last)
        && last.step > first.step
    {
        let seconds_per_step = (last.at - first.at).as_secs_f64() / (last.step - first.step) as f64;
        say!(
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

/// The clock of the first steps: those of the first stage of time steps, if it is reached.
struct Trial<'a> {
    input: &'a Input,
    patient_until: Instant,
    stage: RefCell<Timed>,
    /// What the engine has to say.
    notes: RefCell<Vec<String>>,
    /// What is doubtful before the first step.
    doubts: RefCell<Vec<String>>,
}

/// The first and the last steps of one stage.
#[derive(Default)]
struct Timed {
    first: Option<Mark>,
    last: Option<Mark>,
    minimizes: bool,
}

/// When a step was done.
#[derive(Clone, Copy)]
struct Mark {
    step: u64,
    at: Instant,
}

impl Trial<'_> {
    /// Whether enough steps were made.
    fn is_over(&self) -> bool {
        let now = Instant::now();
        let stage = self.stage.borrow();
        let enough = stage.first.is_some_and(|first| now - first.at > TRIAL);
        now > self.patient_until || !stage.minimizes && enough
    }
}

impl Progress for &Trial<'_> {
    fn stage_begins(&mut self, stage: &StageStart) {
        let minimizes = self
            .input
            .stages
            .get(stage.index)
            .is_some_and(|stage| matches!(stage.value.action, Action::Minimize { .. }));
        *self.stage.borrow_mut() = Timed { minimizes, ..Timed::default() };
    }

    fn warned(&mut self, warning: &Warning) {
        // A few steps are no stage.
        if warning.kind.is_foreseen() {
            // At once: what is doubtful may be too slow to wait for its end.
            say!("warning: {}", warning.message);
            self.doubts.borrow_mut().push(warning.message.clone());
        }
    }

    fn note(&mut self, message: &str) {
        self.notes.borrow_mut().push(message.into());
    }

    fn stepped(&mut self, stage_step: u64) {
        let mark = Mark { step: stage_step, at: Instant::now() };
        let mut stage = self.stage.borrow_mut();
        stage.first.get_or_insert(mark);
        stage.last = Some(mark);
    }
}

/// Steps of a stage; for a minimisation, at most.
fn planned(action: &Action) -> u64 {
    match action {
        Action::Dynamics { steps, .. } | Action::Minimize { steps, .. } => *steps,
    }
}
