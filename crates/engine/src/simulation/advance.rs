//! Running part of a run, call by call, and stages that are added between two calls.

use super::Simulation;
use super::run::{Outcome, StageOutcome};
use crate::input_text::{InputText, absolute};
use crate::progress::Progress;
use jostle_core::{AtomStorage, Error, Result};
use jostle_io::Input;
use jostle_io::input::model::{Action, StageInput};
use std::iter::{once, repeat};

/// Extent of a call that runs part of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// All stages.
    All,
    /// The stages up to the one with this index, and that one, too.
    Through(usize),
    /// So many more steps of dynamics. A minimisation on the way runs to its end; the last stage is lengthened
    /// where it would end before, and stays open; where a temperature or a stiffness changes in the course of it, more steps
    /// than are left are refused.
    Steps(u64),
}

impl Simulation {
    /// Makes so many more steps of dynamics, see [`Extent::Steps`]. Any number of calls gives the same path as one
    /// call with the sum of the steps; nothing is written but what stages write, and that is in the files then.
    ///
    /// # Errors
    /// As for [`Simulation::run`], and if all stages are finished.
    pub fn advance(&mut self, steps: u64) -> Result<Outcome> {
        self.advance_with(&mut Extent::Steps(steps), &mut (), &|| false)
    }

    /// Runs part of a run, reporting to `progress` and calling `stop` as [`Simulation::run_with`] does; `extent` is
    /// left as what remains. After steps neither summary nor checkpoint is written, see
    /// [`Simulation::save_checkpoint`].
    ///
    /// # Errors
    /// As for [`Simulation::advance`].
    pub fn advance_with(
        &mut self,
        extent: &mut Extent,
        progress: &mut dyn Progress,
        stop: &dyn Fn() -> bool,
    ) -> Result<Outcome> {
        self.check_intact()?;
        // A request that is refused leaves run and files as they are.
        self.is_reached(extent)?;
        for note in std::mem::take(&mut self.notes) {
            self.output.note(progress, &note)?;
        }
        let outcome = self.run_extent(extent, progress, stop);
        self.take_notes(progress)?;
        let status = match (&outcome, &extent) {
            (Ok(Outcome::Paused), _) | (Ok(Outcome::Finished), Extent::Steps(_)) => {
                return self.output.flush().and(outcome);
            }
            (Ok(Outcome::Finished), _) if self.is_finished() => "finished".to_string(),
            (Ok(_), _) => "interrupted".to_string(),
            (Err(error), _) => format!("failed: {error}"),
        };
        if let (Err(_), Some(step)) = (&outcome, self.output.last_checkpoint()) {
            progress.note(&format!("the last checkpoint is that of step {step}"));
        }
        // Hills and grids that biases have gathered until the run failed.
        let kept = if outcome.is_err() { self.write_results_of_forces() } else { Ok(()) };
        let written = kept.and_then(|()| self.summarize_present(&status));
        // The error of the run takes precedence over an error of writing about it.
        outcome.and_then(|outcome| written.map(|_| outcome))
    }

    fn run_extent(
        &mut self,
        extent: &mut Extent,
        progress: &mut dyn Progress,
        stop: &dyn Fn() -> bool,
    ) -> Result<Outcome> {
        if self.run.is_none() && self.clock.step == 0 {
            self.put_on_constraints()?;
        }
        if self.run.is_none() || *extent == Extent::All {
            self.check_stages(progress)?;
        }
        while !self.is_reached(extent)? {
            let Some(stage) = self.stages.get(self.clock.stage).cloned() else { break };
            let (before, is_dynamics) = (self.clock.step, matches!(stage.action, Action::Dynamics { .. }));
            let most = match *extent {
                Extent::Steps(left) if is_dynamics => left,
                _ => u64::MAX,
            };
            let outcome = self.run_stage(&stage, most, progress, stop);
            if let Extent::Steps(left) = extent
                && is_dynamics
            {
                *left -= self.clock.step - before;
            }
            match outcome? {
                StageOutcome::Finished | StageOutcome::UnderWay => {}
                StageOutcome::Paused => return Ok(Outcome::Paused),
                StageOutcome::Interrupted => return Ok(Outcome::Interrupted),
            }
        }
        Ok(Outcome::Finished)
    }

    /// Returns true where nothing remains of an extent; lengthens the last stage for what remains.
    fn is_reached(&mut self, extent: &Extent) -> Result<bool> {
        match *extent {
            Extent::All => Ok(self.is_finished()),
            Extent::Through(last) => Ok(self.is_finished() || self.clock.stage > last),
            Extent::Steps(0) => Ok(true),
            Extent::Steps(left) => self.lengthen(left).map(|()| false),
        }
    }

    /// Gives the last stage as many steps as are asked for. Where something changes in the course of it, more steps than
    /// are left are refused.
    fn lengthen(&mut self, left: u64) -> Result<()> {
        if self.is_finished() {
            return Err(Error::input("all stages are finished").hint("add a stage"));
        }
        let done = self.run.as_ref().map_or(0, |run| run.stage_step);
        let steps = |(stage, done): (&StageInput, u64)| match stage.action {
            Action::Dynamics { steps, .. } => steps.saturating_sub(done),
            Action::Minimize { .. } => 0,
        };
        let to_come = self.stages.iter().skip(self.clock.stage).zip(once(done).chain(repeat(0)));
        let to_come = to_come.map(steps).fold(0, u64::saturating_add);
        let is_last = self.clock.stage + 1 == self.stages.len();
        let Some(stage) = self.stages.last_mut() else { return Ok(()) };
        match (stage.ramp(), &mut stage.action) {
            (Some(ramp), _) if left > to_come => Err(Error::input(format!(
                "{left} steps, but only {to_come} are left: stage '{}' cannot go on beyond its end, because its {ramp} changes in the course of it",
                stage.name
            ))
            .hint("run to its end, and go on with a stage that holds the last value: in Python run(), then run(steps)")),
            (None, Action::Dynamics { steps, .. }) if is_last => {
                // A stage ends where long-range forces act.
                let needed = done.saturating_add(left).checked_next_multiple_of(stage.long_range_every.max(1));
                *steps = (*steps).max(needed.unwrap_or(u64::MAX));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Index of the stage under way or next; the number of stages at the end of the run.
    pub fn stage_index(&self) -> usize {
        self.clock.stage
    }

    /// Number of steps made of the stage under way; `None` between two stages.
    pub fn stage_step(&self) -> Option<u64> {
        self.run.as_ref().map(|run| run.stage_step)
    }

    /// Index of a stage that would come next: after the one under way, before those to come.
    pub fn next_stage_index(&self) -> usize {
        self.clock.stage + usize::from(self.run.is_some())
    }

    /// Makes the stage at [`Simulation::next_stage_index`] of `input` the next one; the other stages of `input` are
    /// those of this run, and its text is that of the run from now on. The stage under way ends where it is.
    ///
    /// # Errors
    /// If the input has no such stage or other units, or the stage does not fit the system or its forces.
    pub fn insert_stage(&mut self, input: &Input) -> Result<()> {
        self.check_intact()?;
        let index = self.next_stage_index();
        if input.units != self.units || input.stages.len() != self.stages.len() + 1 {
            return Err(Error::input("a stage can only be added to the input of this run"));
        }
        let Some(located) = input.stages.get(index) else {
            return Err(Error::input(format!("the input has no stage {}", index + 1)));
        };
        let stage: &StageInput = &located.value;
        let at = |e: Error| e.at_span(&input.source.path, &input.source.text, located.span.clone());
        let (simbox, tables) = (*self.backend.simbox(), &self.tables);
        self.facts
            .check_stage(stage, &simbox, (&tables.topology, &tables.species, self.backend.state()?))
            .map_err(|e| at(e.context(format!("stage '{}'", stage.name))))?;
        self.check_thermostat(stage).map_err(at)?;
        if let (Some(run), Some(stage)) = (&self.run, self.stages.get_mut(self.clock.stage)) {
            let (Action::Dynamics { steps, .. } | Action::Minimize { steps, .. }) = &mut stage.action;
            *steps = run.stage_step;
        }
        self.stages.insert(index, stage.clone());
        if let Some(source) = &mut self.origin.source {
            let (path, text) = (absolute(&input.source.path), input.source.text.to_string());
            *source = InputText { path, text, ..source.clone() };
        }
        Ok(())
    }

    /// Writes a checkpoint and the summary and lets go of the folder: it can be resumed then, and this simulation
    /// writes no more files. Where an error has ended a run in the middle of a step, or a resumed run lacks custom forces
    /// that it had, the last checkpoint remains.
    ///
    /// # Errors
    /// As for [`Simulation::save_checkpoint`].
    pub fn leave_folder(&mut self) -> Result<()> {
        if self.failed_at.is_none() && self.saved_forces.is_empty() {
            self.save_checkpoint()?;
        }
        self.output.close();
        Ok(())
    }

    /// Refuses to go on with atoms that are in the middle of a step.
    pub(super) fn check_intact(&self) -> Result<()> {
        match self.failed_at {
            Some(step) => Err(Error::simulation(format!(
                "an error has left the atoms in the middle of step {step}, so that the run cannot go on from them"
            ))
            .hint("go on from the last checkpoint, or begin anew")),
            None => Ok(()),
        }
    }
}
