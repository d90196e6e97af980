//! Running of the stages, step by step or in batches.

use super::commands::{Course, PROGRESS_INTERVAL};
use super::measuring::stage_timestep;
use super::schedule::{RowData, Schedule};
use super::{Extent, Readiness, Simulation};
use crate::clock::Clock;
use crate::custom_force::{After, StageEntry, StageSpan};
use crate::measure::Measures;
use crate::progress::{Progress, StageStart};
use crate::report::Warning;
use crate::stage::StageRun;
use crate::step::{StepContext, evaluate_forces};
use crate::summary;
use crate::warnings::condition_missed;
use jostle_core::backend::Timings;
use jostle_core::{
    AtomStorage, Backend, Error, Evaluate, ForceEvaluation, Molecules, RespaSchedule, Result, StepBatch,
};
use jostle_io::input::model::{Action, StageInput};
use std::time::Instant;

/// Outcome of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All that was asked for is done: all stages, or the steps of [`Simulation::advance`].
    Finished,
    /// The run was stopped on request; running again continues it.
    Interrupted,
    /// An observer or a [`RunHandle`](crate::RunHandle) has paused the run, see [`Context::pause`](crate::Context::pause);
    /// running again continues it.
    Paused,
}

/// Outcome of a part of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StageOutcome {
    /// The stage is over and has ended.
    Finished,
    /// The steps asked for are made.
    UnderWay,
    /// An observer or a handle has paused the run.
    Paused,
    /// The run was stopped on request.
    Interrupted,
}

impl Simulation {
    /// Runs all stages to their end.
    ///
    /// # Errors
    /// If a force or a position is not finite any more, an observer fails, or a file cannot be
    /// written. The last checkpoint is kept.
    pub fn run(&mut self) -> Result<Outcome> {
        self.run_with(&mut (), &|| false)
    }

    /// Runs all stages, reporting to `progress` and calling `stop` after every step, or about ten times a
    /// second where the device makes many steps on its own. When `stop` returns true, a checkpoint is
    /// written; running again continues.
    ///
    /// # Errors
    /// As for [`Simulation::run`].
    pub fn run_with(&mut self, progress: &mut dyn Progress, stop: &dyn Fn() -> bool) -> Result<Outcome> {
        self.output.restart_clock(self.backend.n_atoms());
        self.advance_with(&mut Extent::All, progress, stop)
    }

    /// Makes at most `most` steps of the stage that is next or under way, and ends it where it is over before
    /// that.
    pub(super) fn run_stage(
        &mut self,
        stage: &StageInput,
        most: u64,
        progress: &mut dyn Progress,
        stop: &dyn Fn() -> bool,
    ) -> Result<StageOutcome> {
        let in_stage = |e: Error| advised(stage, e).context(format!("stage '{}'", stage.name));
        self.check_observers(stage).map_err(in_stage)?;
        self.check_saved_forces().map_err(in_stage)?;
        let is_under_way = self.run.is_some();
        let begun = self.begin_stage(stage, progress);
        if begun.is_err() && is_under_way {
            self.failed_at = Some(self.clock.step);
        }
        let (mut run, schedule) = begun.map_err(in_stage)?;
        let outcome = self.make_steps(stage, &mut run, schedule, most, progress, stop);
        self.evaluated = None;
        if !matches!(outcome, Ok(StageOutcome::Finished)) {
            self.profiler.leave(&mut *self.backend);
        }
        if let Ok(StageOutcome::Finished) = outcome {
            self.readiness = Readiness::Stale;
            self.end_stage(stage, &run, progress).map_err(in_stage)?;
            return Ok(StageOutcome::Finished);
        }
        self.readiness = if outcome.is_ok() { Readiness::Ready } else { Readiness::Stale };
        self.run = Some(run);
        outcome.map_err(in_stage)
    }

    /// Refuses observers at steps at which long-range forces do not act.
    pub(super) fn check_observers(&self, stage: &StageInput) -> Result<()> {
        let period = stage.long_range_every;
        let mut intervals = self.observers.iter().map(|observer| observer.every());
        match intervals.find(|every| !every.is_multiple_of(period)) {
            Some(every) => Err(Error::input(format!(
                "an observer looks every {every} steps, which is no multiple of long_range_every = {period}"
            ))),
            None => Ok(()),
        }
    }

    /// Begins a stage, or continues it from a checkpoint, with the forces of its first step; at the start of
    /// the run, makes the output of step 0.
    fn begin_stage(
        &mut self,
        stage: &StageInput,
        progress: &mut dyn Progress,
    ) -> Result<(StageRun, Schedule)> {
        let begun = self.run.is_some();
        if let Some(run) = self.run.take_if(|_| self.readiness == Readiness::Ready) {
            progress.stage_begins(&self.describe(stage, &run));
            let schedule = self.schedule(stage, &run);
            return Ok((run, schedule));
        }
        let span = self.stage_span(stage);
        let place_of_biases = self.backend.begin_stage(&span)?;
        let (facts, momentum) = (&self.facts, self.momentum_in(stage));
        let (mut run, note) = match self.run.take() {
            Some(run) => (run, None),
            None => StageRun::begin(
                stage,
                &mut *self.backend,
                self.units,
                self.clock,
                facts.shortest_cutoff,
                (facts.degrees, momentum, facts.total_mass),
                (&facts.springs, facts.projection.as_ref(), facts.scales.work),
            )?,
        };
        run.set_restraints(&mut *self.backend)?;
        if stage.barostat.is_some() {
            let tables = &self.tables;
            self.molecules = Molecules::new(&tables.topology, &tables.species, self.backend.state()?);
        }
        progress.stage_begins(&self.describe(stage, &run));
        if !begun {
            let simbox = *self.backend.simbox();
            self.begin_measures(stage, simbox)?;
            self.output.log(&format!("stage '{}' begins at step {}", stage.name, self.clock.step))?;
            self.begin_trajectory(stage)?;
        }
        self.summarize("running", Some((stage, &run)))?;
        if let Some(note) = note {
            self.output.note(progress, &note)?;
        }
        place_of_biases.map_or(Ok(()), |place| self.output.log(&place))?;
        if !begun {
            self.check_distances(stage, progress)?;
            self.check_densities(stage, progress)?;
        }
        let schedule = self.schedule(stage, &run);
        self.backend.begin_step(self.clock.step, run.stage_time(stage, run.stage_step))?;
        self.backend.update_neighbors()?;
        let weight = respa_schedule(stage, &run).after(0);
        evaluate_forces(&mut *self.backend, schedule.evaluate_at(run.stage_step), weight, None)?;
        if !begun && self.clock == Clock::default() {
            self.measure(stage, &mut run, &schedule, None, progress)?;
        }
        Ok((run, schedule))
    }

    /// The stage under way, or the one that begins.
    pub(super) fn stage_span(&self, stage: &StageInput) -> StageSpan {
        let done = self.run.as_ref().map_or(0, |run| run.stage_step);
        StageSpan {
            name: stage.name.clone(),
            first_step: self.clock.step - done,
            start_time: self.run.as_ref().map_or(self.clock.time, |run| run.start_time),
            timestep: match stage.action {
                Action::Dynamics { timestep, .. } => Some(timestep),
                Action::Minimize { .. } => None,
            },
            entry: if self.run.is_some() { StageEntry::Continued } else { StageEntry::Begun },
        }
    }

    /// Ends a stage: writes results, report and checkpoint.
    fn end_stage(&mut self, stage: &StageInput, run: &StageRun, progress: &mut dyn Progress) -> Result<()> {
        let mut report = self.report(stage, run)?;
        if let Some(until) = stage.until.as_ref().filter(|_| !run.is_ended()) {
            report.warnings.push(condition_missed(&stage.name, run.stage_step, &until.value));
        }
        report.warnings.extend(self.densities_beyond_table(stage)?);
        if let Some(profile) = self.profiler.end_stage(&mut *self.backend, run.stage_step)?
            && let Some(folder) = self.output.folder()
        {
            let text = format!("{:#}\n", profile.to_json());
            folder.results(&[(format!("{}.profile.json", stage.name), text)])?;
        }
        run.end(&mut *self.backend)?;
        for note in self.write_measures()? {
            self.output.note(progress, &note)?;
        }
        self.results = self.results();
        self.measures = Measures::default();
        progress.stage_ends(&report);
        self.output.log(&summary::headline(&report))?;
        self.output.log(&summary::findings(&report, self.units))?;
        let is_early = |warning: &Warning| self.early_warnings.iter().any(|(_, early)| early == warning);
        let warnings: Vec<Warning> = report.warnings.iter().filter(|w| !is_early(w)).cloned().collect();
        for warning in &warnings {
            self.output.warn(progress, warning)?;
        }
        self.reports.push(report);
        self.clock.stage += 1;
        self.output.end_trajectory(progress)?;
        self.save(None, progress)?;
        self.refuse_if_strict(&warnings)
    }

    /// Makes the steps that are left of a stage, but at most `most`.
    fn make_steps(
        &mut self,
        stage: &StageInput,
        run: &mut StageRun,
        mut schedule: Schedule,
        most: u64,
        progress: &mut dyn Progress,
        stop: &dyn Fn() -> bool,
    ) -> Result<StageOutcome> {
        let first = run.stage_step;
        let mut lap = Lap::begin(&*self.backend);
        let mut reported = lap.begin;
        loop {
            let left = most - (run.stage_step - first);
            let is_paused = std::mem::take(&mut self.paused) | self.handle.take_pause();
            if is_paused || left == 0 {
                lap.end(run, &*self.backend);
                return Ok(if left == 0 { StageOutcome::UnderWay } else { StageOutcome::Paused });
            }
            if run.is_over(stage, &mut *self.backend, self.facts.projection.as_ref())? {
                lap.end(run, &*self.backend);
                self.write_minimum(stage, run, &schedule, progress)?;
                self.write_last_means(stage, run)?;
                if let Action::Dynamics { .. } = stage.action {
                    self.backend.exchange(After::Stage(self.clock.step))?;
                }
                return Ok(StageOutcome::Finished);
            }
            if !schedule.has_observers(self.observations()) {
                schedule = self.schedule(stage, run);
            }
            let begun = self.clock.step;
            let seconds = run.time.total + lap.begin.elapsed().as_secs_f64();
            let left =
                left.min(self.profiler.begin_batch(&mut *self.backend, stage, run.stage_step, seconds)?);
            if let Err(error) = self.make_batch(stage, run, &schedule, left, progress) {
                // Steps that are over have been counted.
                self.failed_at = (self.clock.step == begun).then_some(begun + 1);
                return Err(error);
            }
            self.profiler.end_batch(&mut *self.backend, run.stage_step)?;
            let (now, stage_step) = (Instant::now(), run.stage_step);
            progress.stepped(stage_step);
            let mut interrupted = stop() || self.handle.take_stop();
            let mut command = None;
            if now - reported > PROGRESS_INTERVAL {
                reported = now;
                progress.advanced(stage_step);
                self.take_notes(progress)?;
                command = self.output.take_command(progress)?;
            }
            if command.is_some() || self.handle.is_held() {
                lap.end(run, &*self.backend);
                interrupted |= self.run_commands(command, stage, run, progress, stop)? == Course::Stopping;
                lap = Lap::begin(&*self.backend);
            }
            let by_the_clock = self.output.is_checkpoint_due();
            if interrupted || schedule.is_checkpoint_due(stage_step) || by_the_clock {
                lap.end(run, &*self.backend);
                lap = Lap::begin(&*self.backend);
                self.save(Some(run), progress)?;
                run.time.output += now.elapsed().as_secs_f64();
            }
            if interrupted {
                return Ok(StageOutcome::Interrupted);
            }
        }
    }

    /// Makes the next step or, where the device can, the next batch of at most `most` steps, and the output that
    /// is due then.
    fn make_batch(
        &mut self,
        stage: &StageInput,
        run: &mut StageRun,
        schedule: &Schedule,
        most: u64,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        let begun = Instant::now();
        let step = self.clock.step + 1;
        self.backend.prepare(&stage.action)?;
        if let Action::Dynamics { .. } = stage.action {
            self.backend.exchange(After::Step(self.clock.step))?;
        }
        self.backend.set_time(run.stage_time(stage, run.stage_step))?;
        let context = StepContext {
            seed: self.origin.seed,
            step,
            timestep: stage_timestep(stage),
            long_range_weight: respa_schedule(stage, run).after(1),
        };
        run.change_surroundings(stage, &mut *self.backend, &self.molecules, &context)
            .map_err(|e| e.context(format!("step {step}")))?;
        if let Some(heat) = &mut self.measures.heat {
            heat.act(&mut *self.backend, run.stage_step, &self.tables.species, &self.tables.driven)
                .map_err(|e| e.context(format!("step {step}")))?;
        }
        let batch = self.next_batch(stage, run, schedule, most.min(self.batch_size.steps));
        if let Some(samples) = run.advance_batch(&mut *self.backend, &batch)? {
            let now = Instant::now();
            let analysis = run.time.analysis;
            let seconds = self.backend.agreed_duration().unwrap_or((now - begun).as_secs_f64());
            self.batch_size.adapt(batch.steps, seconds);
            for sample in &samples {
                self.count(stage, run, batch.sample_every);
                if schedule.is_output_due(run.stage_step) {
                    self.measure(stage, run, schedule, Some(sample), progress)?;
                }
            }
            if batch.sample_every == 0 {
                self.count(stage, run, batch.steps);
                if schedule.is_output_due(run.stage_step) {
                    self.measure(stage, run, schedule, None, progress)?;
                }
            }
            run.time.output += now.elapsed().as_secs_f64() - (run.time.analysis - analysis);
            return Ok(());
        }
        let evaluate = schedule.evaluate_at(run.stage_step + 1);
        self.backend.begin_step(step, run.stage_time(stage, run.stage_step + 1))?;
        run.advance(&mut *self.backend, &context, evaluate).map_err(|e| e.context(format!("step {step}")))?;
        self.count(stage, run, 1);
        if let Action::Dynamics { .. } = stage.action {
            self.backend.end_step().map_err(|e| e.context(format!("step {step}")))?;
        }
        if schedule.is_output_due(run.stage_step) {
            let (now, analysis) = (Instant::now(), run.time.analysis);
            self.measure(stage, run, schedule, None, progress)?;
            run.time.output += now.elapsed().as_secs_f64() - (run.time.analysis - analysis);
        }
        Ok(())
    }

    fn next_batch(&self, stage: &StageInput, run: &StageRun, schedule: &Schedule, most: u64) -> StepBatch {
        let plan = schedule.next_batch(run.stage_step, most);
        StepBatch {
            first_step: self.clock.step + 1,
            steps: plan.steps,
            timestep: stage_timestep(stage),
            seed: self.origin.seed,
            sample_every: plan.sample_every,
            evaluate: plan.evaluate,
            long_range: respa_schedule(stage, run),
        }
    }

    /// The schedule of a stage.
    fn schedule(&self, stage: &StageInput, run: &StageRun) -> Schedule {
        let by_atoms = self.columns.need_atoms() || stage.until.is_some();
        Schedule {
            steps: n_steps(stage),
            long_range_every: stage.long_range_every,
            rows: stage.samples_every(),
            row_data: match by_atoms {
                _ if self.backend.watch_rows() => RowData::ForcesOfHost,
                true => RowData::Atoms,
                false => RowData::Sums,
            },
            frames: stage.trajectory.map_or(0, |trajectory| trajectory.every),
            checkpoints: stage.checkpoint_every,
            deformation: stage.deformation.map_or(0, |deformation| deformation.every),
            heat_flux: stage.heat_flux.map_or(0, |flux| flux.every),
            barostat: run.barostat_every(),
            ramps: run.ramps_every(),
            stiffness: run.stiffness_every(),
            observers: self.observations().collect(),
            measures: self.measures.intervals().collect(),
        }
    }

    /// Interval of each observer, and the quantities it needs.
    fn observations(&self) -> impl Iterator<Item = (u64, Evaluate)> {
        self.observers.iter().map(|observer| (observer.every(), observer.requested()))
    }

    /// Gives the notes of other threads to the listener and to the log.
    pub(super) fn take_notes(&mut self, progress: &mut dyn Progress) -> Result<()> {
        self.handle.take_notes().iter().try_for_each(|note| self.output.note(progress, note))
    }

    /// Counts steps that were made.
    fn count(&mut self, stage: &StageInput, run: &mut StageRun, steps: u64) {
        run.stage_step += steps;
        self.clock.step += steps;
        self.clock.time = run.time_at(stage, run.stage_step);
    }

    fn describe<'a>(&self, stage: &'a StageInput, run: &StageRun) -> StageStart<'a> {
        StageStart {
            name: &stage.name,
            index: self.clock.stage,
            stages: self.stages.len(),
            steps: n_steps(stage),
            done: run.stage_step,
            timestep: stage_timestep(stage),
            degrees_of_freedom: run.degrees_of_freedom,
        }
    }
}

/// Steps at which long-range forces act, after those that are done.
fn respa_schedule(stage: &StageInput, run: &StageRun) -> RespaSchedule {
    RespaSchedule { every: stage.long_range_every, done: run.stage_step }
}

/// Error of a stage. Its advice is not to minimise first where that is what the stage does.
fn advised(stage: &StageInput, error: Error) -> Error {
    const APART: &str = "move the atoms apart at the start, or give them a repulsion that keeps them apart";
    const ADVICE: [(&str, &str); 4] = [
        ("minimise first, or shorten the time step", APART),
        ("minimise first, shorten the time step", APART),
        ("minimise first if atoms overlap", APART),
        (" (minimise first)", ""),
    ];
    match stage.action {
        Action::Minimize { .. } => {
            error.map_hint(|hint| ADVICE.iter().fold(hint, |hint, (from, to)| hint.replace(from, to)))
        }
        Action::Dynamics { .. } => error,
    }
}

/// Number of steps of a stage; for a minimisation, at most.
pub(super) fn n_steps(stage: &StageInput) -> u64 {
    match stage.action {
        Action::Dynamics { steps, .. } | Action::Minimize { steps, .. } => steps,
    }
}

/// Wall time between two readings of the clock.
struct Lap {
    begin: Instant,
    timings: Timings,
}

impl Lap {
    fn begin(backend: &dyn Backend) -> Self {
        Lap { begin: Instant::now(), timings: backend.timings() }
    }

    fn end(self, run: &mut StageRun, backend: &dyn Backend) {
        run.time.total += self.begin.elapsed().as_secs_f64();
        run.time.add(&self.timings, &backend.timings());
    }
}
