//! Execution of commands to a run, see [`crate::commands`].

use super::Simulation;
use crate::commands::{IssuedCommand, RunCommand};
use crate::input_text::InputText;
use crate::progress::Progress;
use crate::report::TemperatureChange;
use crate::stage::StageRun;
use jostle_core::quantity::unit_name;
use jostle_core::{AtomStorage, Dimension, Error, ErrorKind, Result};
use jostle_io::Input;
use jostle_io::input::model::{Action, StageInput};
use std::time::{Duration, Instant};

/// Interval at which progress is reported and commands are looked for.
pub(super) const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Course of a run after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Course {
    On,
    Paused,
    Stopping,
}

impl Simulation {
    /// Executes a command and, while the run is paused or held by its handle, the commands that follow. Returns
    /// the course of the run, which is never [`Course::Paused`].
    ///
    /// A short hold leaves no trace: clients that read a run hold it while their memory is full. One that lasts
    /// begins with a checkpoint, as a pause does.
    pub(super) fn run_commands(
        &mut self,
        first: Option<IssuedCommand>,
        stage: &StageInput,
        run: &mut StageRun,
        progress: &mut dyn Progress,
        stop: &dyn Fn() -> bool,
    ) -> Result<Course> {
        let begun = Instant::now();
        let mut course = Course::On;
        let mut next = first;
        let mut announced = false;
        loop {
            if let Some(IssuedCommand { id, order }) = next {
                let refused = match self.execute(order, course, stage, run, progress) {
                    Ok(then) => {
                        course = then;
                        None
                    }
                    // A command that cannot be executed is refused, and the run goes on.
                    Err(error) if error.kind() == ErrorKind::Input => Some(error.to_string()),
                    Err(error) => return Err(error),
                };
                if let Some(why) = &refused {
                    self.output.note(progress, &format!("a command was refused: {why}"))?;
                }
                self.summarize(self.paused_or_running(course), Some((stage, &*run)))?;
                self.output.answer(id, refused)?;
            }
            let rests = course == Course::Paused || self.handle.is_held();
            if course == Course::Stopping || !rests {
                break;
            }
            if stop() || self.handle.take_stop() {
                return Ok(Course::Stopping);
            }
            match course {
                Course::Paused => std::thread::sleep(PROGRESS_INTERVAL),
                Course::On | Course::Stopping => self.handle.wait(PROGRESS_INTERVAL),
            }
            self.take_notes(progress)?;
            if self.handle.is_held() && course == Course::On && !announced {
                announced = true;
                self.save(Some(&*run), progress)?;
                self.summarize("paused", Some((stage, &*run)))?;
            }
            next = self.output.take_command(progress)?;
        }
        if announced {
            self.summarize(self.paused_or_running(course), Some((stage, &*run)))?;
        }
        progress.rested(begun.elapsed());
        Ok(course)
    }

    fn paused_or_running(&self, course: Course) -> &'static str {
        if course == Course::Paused || self.handle.is_held() { "paused" } else { "running" }
    }

    fn execute(
        &mut self,
        order: RunCommand,
        course: Course,
        stage: &StageInput,
        run: &mut StageRun,
        progress: &mut dyn Progress,
    ) -> Result<Course> {
        let step = self.clock.step;
        match (order, course) {
            (RunCommand::GoOn, Course::On | Course::Stopping) => {
                self.handle.release();
                Ok(course)
            }
            (RunCommand::Pause, Course::Paused) => Ok(course),
            (RunCommand::Pause, _) => {
                self.save(Some(&*run), progress)?;
                self.output.note(progress, &format!("paused after step {step}, as told from outside"))?;
                Ok(Course::Paused)
            }
            (RunCommand::GoOn, Course::Paused) => {
                self.handle.release();
                self.output.note(progress, &format!("going on after step {step}"))?;
                Ok(Course::On)
            }
            (RunCommand::Stop, _) => {
                self.output.note(progress, &format!("stopping after step {step}, as told from outside"))?;
                Ok(Course::Stopping)
            }
            (RunCommand::Temperature(to), _) => {
                self.refuse_other_temperature()?;
                let from = run.set_temperature(stage, to, self.hottest(stage), self.units)?;
                let time = self.clock.time;
                let change = TemperatureChange { step, time, from, to };
                run.changes.push(change);
                let unit = unit_name(self.units, Dimension::TEMPERATURE);
                self.output.note(progress, &format!("stage '{}': {}", stage.name, change.describe(&unit)))?;
                // A run that is killed before its next checkpoint would go on at the temperature before.
                self.save(Some(&*run), progress)?;
                Ok(course)
            }
        }
    }

    /// Refuses another temperature than that of the input where results follow from it.
    fn refuse_other_temperature(&self) -> Result<()> {
        let of_force = self.backend.forces().find_map(|force| force.fixes_temperature());
        let has_copies = |source: &InputText| {
            Input::parse(&source.path, &source.text).is_ok_and(|input| !input.enhanced.is_empty())
        };
        let copies = self.origin.source.as_ref().filter(|source| has_copies(source));
        match of_force
            .or(copies.map(|_| "[[enhanced]], whose copies are held at the temperature in the input"))
        {
            // The answer to an order is its message alone.
            Some(what) => Err(Error::input(format!(
                "the run has {what}: it keeps that; set another temperature in the input, and begin a new run"
            ))),
            None => Ok(()),
        }
    }

    /// The temperature at which the lightest atoms, with the mean thermal speed along an axis, move by a
    /// tenth of the mean distance between atoms in a step: far above the stability limit of the time step and
    /// any intended temperature.
    fn hottest(&self, stage: &StageInput) -> f64 {
        let Action::Dynamics { timestep, .. } = stage.action else { return f64::INFINITY };
        let present =
            self.tables.species.iter().zip(&self.facts.counts).filter(|(s, n)| s.mass > 0.0 && **n > 0);
        let lightest = present.map(|(s, _)| s.mass).fold(f64::INFINITY, f64::min);
        let volume = self.backend.simbox().volume() / self.backend.n_atoms().max(1) as f64;
        let fastest = 0.1 * volume.cbrt().min(self.facts.shortest_cutoff) / timestep;
        lightest * fastest * fastest / self.units.boltzmann()
    }
}
