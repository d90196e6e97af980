//! `jostle check`

use crate::arguments::CheckOptions;
use crate::input_file;
use crate::machine::Machine;
use crate::numbers::{bytes, duration, grouped, significant};
use crate::output;
use jostle_core::{Error, Result};
use jostle_engine::model::Action;
use jostle_engine::{Progress, Simulation, StageStart, Warning};
use jostle_io::Input;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Steps are made for so long before the clock starts: lists, skins and batches tune themselves.
const WARM_UP: Duration = Duration::from_millis(1000);
/// Time for which time steps are timed.
const TRIAL: Duration = Duration::from_millis(500);
/// Longest wait for the end of a minimisation before the steps, and for enough of these.
const PATIENCE: Duration = Duration::from_secs(6);
/// Bytes an atom needs outside the device, as measured: a checkpoint while it is written, a frame.
const HOST_BYTES_PER_ATOM: u64 = 250;

/// Validates an input by building all of it and making its first steps, without writing anything.
///
/// # Errors
/// Errors of `jostle run` before and in its first steps.
pub fn check(options: &CheckOptions) -> Result<()> {
    let input = input_file::read(&options.file, &options.values)?;
    // Memory that is free before the system is put together.
    let machine = Machine::look();
    let mut simulation = Simulation::from_input(&input, &options.compute.overrides())?;
    let trial = StepClock {
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
    let (timed, notes) = (trial.stage.into_inner(), trial.notes.into_inner());
    let atoms = simulation.backend().n_atoms() as u64;
    let needed = simulation.backend().neighbor_facts().bytes as u64 + atoms * HOST_BYTES_PER_ATOM;

    if options.full {
        output::print(&input.completed()?)?;
    }
    say!("  atoms       {} on {}", grouped(atoms), simulation.backend().describe());
    say!("  memory      about {}", bytes(needed));
    for table in input.tables(simulation.species())? {
        let ([a, b], [from, to]) = (&table.species, table.range);
        let (cubics, error) = (grouped(table.intervals as u64), table.error);
        say!("  table {a}-{b}   {cubics} cubics in r^2 from {from} to {to}, within {error:.0e} of its file");
    }
    input.courses().iter().for_each(|(stage, course)| say!("  stage       {stage}: {course}"));
    let place = simulation.place_of_biases();
    place.into_iter().for_each(|place| say!("  note        {place}"));
    notes.iter().for_each(|note| say!("  note        {note}"));
    let steps: u64 =
        input.stages.iter().map(|stage| planned(&stage.value.action)).fold(0, u64::saturating_add);
    if let Some(seconds_per_step) = timed.seconds_per_step() {
        say!(
            "  time        about {} for {} steps at {} steps/s, as the first seconds went",
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
        _ => {
            say!("{} is valid", options.file.display());
            Ok(())
        }
    }
}

/// The clock of the first steps: those of the first stage of time steps, if it is reached.
struct StepClock<'a> {
    input: &'a Input,
    patient_until: Instant,
    stage: RefCell<Timed>,
    /// Notes of the engine.
    notes: RefCell<Vec<String>>,
    /// Doubts before the first step.
    doubts: RefCell<Vec<String>>,
}

/// The first and the last steps of one stage that are timed.
#[derive(Default)]
struct Timed {
    began: Option<Mark>,
    first: Option<Mark>,
    last: Option<Mark>,
    minimizes: bool,
}

impl Timed {
    /// Seconds a step after the warm-up; where steps are too slow or too few for one, of all but the first.
    fn seconds_per_step(&self) -> Option<f64> {
        let (began, first, last) = (self.began?, self.first?, self.last?);
        let from = if last.step > first.step { first } else { began };
        (last.step > from.step).then(|| (last.at - from.at).as_secs_f64() / (last.step - from.step) as f64)
    }
}

/// Time at which a step was done.
#[derive(Clone, Copy)]
struct Mark {
    step: u64,
    at: Instant,
}

impl StepClock<'_> {
    /// Returns true where enough steps were made.
    fn is_over(&self) -> bool {
        let now = Instant::now();
        let stage = self.stage.borrow();
        let enough = stage.first.is_some_and(|first| now - first.at > TRIAL);
        now > self.patient_until || !stage.minimizes && enough
    }
}

impl Progress for &StepClock<'_> {
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
        let began = stage.began.get_or_insert(mark).at;
        if stage.last.is_none_or(|last| last.at - began < WARM_UP) {
            stage.first = Some(mark);
        }
        stage.last = Some(mark);
    }
}

/// Steps of a stage; for a minimisation, at most.
fn planned(action: &Action) -> u64 {
    match action {
        Action::Dynamics { steps, .. } | Action::Minimize { steps, .. } => *steps,
    }
}
