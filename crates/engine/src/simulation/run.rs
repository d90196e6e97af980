//! Running the stages: steps, and everything that is due after a step.

use super::commands::Course;
use super::step_batch::{BatchSize, cut, until};
use super::{Outcome, Simulation};
use crate::checkpoint::{Checkpoint, Clock, Header};
use crate::deformation::strain;
use crate::dipole::Dipoles;
use crate::frames::OwnedFrame;
use crate::measure::{Measures, inside, system_info};
use crate::observe::Context;
use crate::progress::{Progress, StageStart};
use crate::stage::StageRun;
use crate::step::{StepContext, evaluate_forces};
use crate::summary;
use crate::thermo::{AtomMotion, Reported, ThermoInput};
use crate::warnings::Warning;
use jostle_analysis::Observable;
use jostle_core::arithmetic::greatest_common_divisor;
use jostle_core::backend::Timings;
use jostle_core::{
    Backend, Error, Evaluate, Molecules, RespaSchedule, Result, Sample, SimBox, StepBatch, Vec3,
};
use jostle_io::chemical_bonds;
use jostle_io::input::model::{Action, StageInput, TrajectoryFormat};
use jostle_io::trajectory::{Frame, TrajectoryHeader, WrittenSoFar};
use std::time::{Duration, Instant};

/// Progress is told, and commands are looked for, about this often.
pub(super) const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

impl Simulation {
    pub(super) fn run_stages(
        &mut self,
        progress: &mut dyn Progress,
        stop: &dyn Fn() -> bool,
    ) -> Result<Outcome> {
        while let Some(stage) = self.stages.get(self.clock.stage).cloned() {
            let outcome = self.run_stage(&stage, progress, stop);
            let in_stage = |e: Error| e.context(format!("stage '{}'", stage.name));
            if outcome.map_err(in_stage)? == Outcome::Interrupted {
                return Ok(Outcome::Interrupted);
            }
        }
        Ok(Outcome::Finished)
    }

    fn run_stage(
        &mut self,
        stage: &StageInput,
        progress: &mut dyn Progress,
        stop: &dyn Fn() -> bool,
    ) -> Result<Outcome> {
        let period = stage.long_range_every;
        let mut looks = self.observers.iter().map(|observer| observer.every());
        if let Some(every) = looks.find(|every| !every.is_multiple_of(period)) {
            return Err(Error::input(format!(
                "an observer looks every {every} steps, which is no multiple of long_range_every = {period}"
            )));
        }
        let begun = self.run.is_some();
        let (mut run, note) = match self.run.take() {
            Some(run) => (run, None),
            None => StageRun::begin(
                stage,
                &mut *self.backend,
                self.units,
                self.clock,
                self.total_mass,
                self.shortest_cutoff,
                (self.degrees, &self.springs, self.projection.as_ref(), self.scales.work),
            )?,
        };
        run.set_restraints(&mut *self.backend)?;
        if stage.barostat.is_some() {
            self.molecules = Molecules::new(&self.topology, &self.species, self.backend.state()?);
        }
        progress.stage_begins(&self.describe(stage, &run));
        if !begun {
            let simbox = *self.backend.simbox();
            self.begin_measures(stage, simbox)?;
            self.log(&format!("stage '{}' begins at step {}", stage.name, self.clock.step))?;
            self.begin_trajectory(stage)?;
        }
        self.summarize("running", Some((stage, &run)))?;
        if let Some(note) = note {
            self.note(progress, &note)?;
        }
        if !begun {
            self.look_at_places(stage, progress)?;
        }
        let evaluate = self.evaluate_at(stage, &run, run.stage_step);
        self.backend.update_neighbors()?;
        evaluate_forces(&mut *self.backend, evaluate, respa_schedule(stage, &run).after(0), None)?;
        if !begun && self.clock == Clock::default() {
            self.measure(stage, &mut run, None, progress)?;
        }
        let outcome = self.make_steps(stage, &mut run, progress, stop);
        if outcome.is_err() || matches!(outcome, Ok(Outcome::Interrupted)) {
            self.run = Some(run);
            return outcome;
        }
        let report = self.report(stage, &run)?;
        run.end(&mut *self.backend)?;
        for words in self.write_measures()? {
            self.note(progress, &words)?;
        }
        self.measures = Measures::default();
        progress.stage_ends(&report);
        self.log(&summary::headline(&report))?;
        self.log(&summary::findings(&report, self.units))?;
        let told = |warning: &Warning| self.doubts.iter().any(|(_, doubt)| doubt == warning);
        let warnings: Vec<Warning> = report.warnings.iter().filter(|w| !told(w)).cloned().collect();
        for warning in &warnings {
            self.warn(progress, warning)?;
        }
        self.reports.push(report);
        self.clock.stage += 1;
        if let Some(folder) = &mut self.folder {
            folder.end_trajectory()?;
        }
        self.save(None, progress)?;
        self.refuse(&warnings)?;
        Ok(Outcome::Finished)
    }

    /// The steps that are left of a stage.
    fn make_steps(
        &mut self,
        stage: &StageInput,
        run: &mut StageRun,
        progress: &mut dyn Progress,
        stop: &dyn Fn() -> bool,
    ) -> Result<Outcome> {
        let mut batch_size = BatchSize::new();
        let mut lap = Lap::begin(&*self.backend);
        let mut told = lap.begin;
        while !run.is_over(stage, &mut *self.backend, self.projection.as_ref())? {
            self.advance(stage, run, &mut batch_size, progress)?;
            let (now, stage_step) = (Instant::now(), run.stage_step);
            progress.stepped(stage_step);
            let mut interrupted = stop();
            if now - told > PROGRESS_INTERVAL {
                told = now;
                progress.advanced(stage_step);
                if let Some(command) = self.take_command(progress)? {
                    lap.end(run, &*self.backend);
                    interrupted |=
                        self.run_commands(command, stage, run, progress, stop)? == Course::Stopping;
                    lap = Lap::begin(&*self.backend);
                }
            }
            let by_the_clock = self.folder.is_some() && self.checkpoints.are_due();
            if interrupted || due(stage.checkpoint_every, stage_step) || by_the_clock {
                lap.end(run, &*self.backend);
                lap = Lap::begin(&*self.backend);
                self.save(Some(run), progress)?;
                run.time.output += now.elapsed().as_secs_f64();
            }
            if interrupted {
                return Ok(Outcome::Interrupted);
            }
        }
        lap.end(run, &*self.backend);
        Ok(Outcome::Finished)
    }

    /// Makes the next step or, where the device can, the next batch; measures what is due then.
    fn advance(
        &mut self,
        stage: &StageInput,
        run: &mut StageRun,
        batch_size: &mut BatchSize,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        let begun = Instant::now();
        let step = self.clock.step + 1;
        let schedule = respa_schedule(stage, run);
        let context = StepContext {
            seed: self.seed,
            step,
            timestep: timestep(stage),
            long_range_weight: schedule.after(1),
        };
        run.change_surroundings(stage, &mut *self.backend, &self.molecules, &context)
            .map_err(|e| e.context(format!("step {step}")))?;
        let batch = self.next_batch(stage, run, *batch_size);
        if let Some(samples) = run.advance_batch(&mut *self.backend, &batch)? {
            let now = Instant::now();
            let analysis = run.time.analysis;
            batch_size.learn(batch.steps, (now - begun).as_secs_f64());
            for sample in &samples {
                self.count(stage, run, batch.sample_every);
                if self.anything_due(stage, run.stage_step) {
                    self.measure(stage, run, Some(sample), progress)?;
                }
            }
            if batch.sample_every == 0 {
                self.count(stage, run, batch.steps);
                if self.anything_due(stage, run.stage_step) {
                    self.measure(stage, run, None, progress)?;
                }
            }
            run.time.output += now.elapsed().as_secs_f64() - (run.time.analysis - analysis);
            return Ok(());
        }
        let evaluate = self.evaluate_at(stage, run, run.stage_step + 1);
        run.advance(&mut *self.backend, &context, evaluate).map_err(|e| e.context(format!("step {step}")))?;
        self.count(stage, run, 1);
        if self.anything_due(stage, run.stage_step) {
            let (now, analysis) = (Instant::now(), run.time.analysis);
            self.measure(stage, run, None, progress)?;
            run.time.output += now.elapsed().as_secs_f64() - (run.time.analysis - analysis);
        }
        Ok(())
    }

    /// The next batch: it ends where somebody looks at the atoms, or when it has lasted long enough.
    fn next_batch(&self, stage: &StageInput, run: &StageRun, batch_size: BatchSize) -> StepBatch {
        let done = run.stage_step;
        let observers = self.observers.iter().map(|o| o.every());
        let stops = observers.chain(stage.trajectory.map(|t| t.every)).chain([stage.checkpoint_every]);
        let stops = stops.chain(stage.deformation.map(|d| d.every)).chain([run.ramps_every()]);
        // Who moves how fast is seen in the atoms alone.
        let stops = stops.chain((!self.reported.is_empty()).then_some(stage.thermo_every));
        let stops =
            stops.chain(stage.barostat.map(|b| b.every())).chain(self.measures.intervals(Observable::atoms));
        let most = batch_size.steps.min(steps(stage) - done);
        let most = stops.map(|every| until(every, done)).fold(most, u64::min);
        let samples = self
            .measures
            .intervals(|observable| observable == Observable::Whole)
            .fold(stage.thermo_every, greatest_common_divisor);
        // Where long-range forces act at some steps only, steps at which energies are asked for are made sub-step by sub-step.
        let (steps, sample_every) = match stage.long_range_every {
            1 => cut(done, most, samples),
            _ => (most.min(until(samples, done)), 0),
        };
        let evaluate = self.evaluate_at(stage, run, done + steps);
        let by_sub_steps = stage.long_range_every > 1 && evaluate == Evaluate::ForcesAndEnergies;
        let (steps, evaluate) =
            if by_sub_steps && steps > 1 { (steps - 1, Evaluate::Forces) } else { (steps, evaluate) };
        StepBatch {
            first_step: self.clock.step + 1,
            steps,
            timestep: timestep(stage),
            seed: self.seed,
            sample_every,
            evaluate,
            long_range: respa_schedule(stage, run),
        }
    }

    /// Counts steps that were made.
    fn count(&mut self, stage: &StageInput, run: &mut StageRun, steps: u64) {
        run.stage_step += steps;
        self.clock.step += steps;
        self.clock.time = run.time_at(stage, run.stage_step);
    }

    /// What a step has to evaluate: energies only where somebody looks at them.
    fn evaluate_at(&self, stage: &StageInput, run: &StageRun, stage_step: u64) -> Evaluate {
        match self.is_measured(stage, stage_step) || run.needs_energies_after(stage_step) {
            true => Evaluate::ForcesAndEnergies,
            false => Evaluate::Forces,
        }
    }

    /// Whether an observer, a measure or a row of `thermo.csv` is due that wants energies.
    fn is_measured(&self, stage: &StageInput, stage_step: u64) -> bool {
        let mut observers = self.observers.iter().filter(|o| due(o.every(), stage_step));
        let watched = observers.any(|o| o.requested() == Evaluate::ForcesAndEnergies);
        let told = self.measures.due(Observable::energies, stage_step);
        watched || told || due(stage.thermo_every, stage_step)
    }

    fn anything_due(&self, stage: &StageInput, stage_step: u64) -> bool {
        due(stage.thermo_every, stage_step)
            || stage.trajectory.is_some_and(|t| due(t.every, stage_step))
            || self.observers.iter().any(|o| due(o.every(), stage_step))
            || self.measures.due(|_| true, stage_step)
    }

    /// Everything that is due now: the row of `thermo.csv`, the frame, the observers. The sums are
    /// those of a sample, else those that the device has now.
    fn measure(
        &mut self,
        stage: &StageInput,
        run: &mut StageRun,
        sample: Option<&Sample>,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        let stage_step = run.stage_step;
        let Clock { step, time, .. } = self.clock;
        self.thermo = None;
        if self.is_measured(stage, stage_step) {
            let degrees_of_freedom = run.degrees_of_freedom;
            let (atoms, mass) = (run.atoms(sample.map(|s| &s.thermostat)), self.total_mass);
            let strain = stage.deformation.map(|d| (d.mode, strain(&d, timestep(stage), stage_step)));
            let input =
                ThermoInput { units: self.units, degrees_of_freedom, atoms, step, time, mass, strain };
            self.thermo = Some(match sample {
                Some(s) => input.convert(self.backend.simbox(), &s.energies, &s.kinetic),
                // What constraints do is known from a step on.
                None if step == 0 && !self.topology.constraints.is_empty() => {
                    input.read(&mut *self.backend)?.without_pressure()
                }
                None => input.read(&mut *self.backend)?,
            });
            if due(stage.thermo_every, stage_step) {
                self.report_groups(run.atoms(None))?;
            }
        }
        if let Some(thermo) = self.thermo.as_ref().filter(|_| due(stage.thermo_every, stage_step)) {
            // The start itself, a perfect lattice perhaps, is no sample of anything.
            if stage_step > 0 {
                run.record(thermo, self.units);
            }
            progress.measured(thermo);
            if let Some(folder) = &mut self.folder {
                folder.row(&stage.name, thermo)?;
            }
            run.watch(thermo, self.units)?;
        }
        if let Some(trajectory) = stage.trajectory.filter(|t| due(t.every, stage_step)) {
            self.write_frame(trajectory.format)?;
        }
        let looked = Instant::now();
        let here = |e: Error| e.context(format!("step {step}"));
        self.measures.add_atoms(&mut *self.backend, stage_step, time).map_err(here)?;
        if let Some(thermo) =
            self.thermo.as_ref().filter(|_| self.measures.due(Observable::energies, stage_step))
        {
            let whole = thermo.whole(self.units, run.degrees_of_freedom);
            self.measures.add_whole(&mut *self.backend, stage_step, time, whole).map_err(here)?;
        }
        run.time.analysis += looked.elapsed().as_secs_f64();
        let mut context = Context {
            backend: &mut *self.backend,
            step,
            time,
            stage: &stage.name,
            units: self.units,
            species: &self.species,
            thermo: self.thermo.as_ref(),
        };
        for observer in &mut self.observers {
            if due(observer.every(), stage_step) {
                observer.observe(&mut context)?;
            }
        }
        Ok(())
    }

    /// Adds what groups are doing to the last measurement.
    fn report_groups(&mut self, atoms: AtomMotion) -> Result<()> {
        let Some(thermo) = self.thermo.as_mut().filter(|_| !self.reported.is_empty()) else { return Ok(()) };
        let simbox = *self.backend.simbox();
        let state = self.backend.state()?;
        let index_by_id = state.index_by_id();
        let one = |group: &Reported| group.measure(self.units, &simbox, state, &index_by_id, atoms);
        thermo.groups = self.reported.iter().map(one).collect();
        Ok(())
    }

    fn write_frame(&mut self, format: TrajectoryFormat) -> Result<()> {
        if self.folder.is_none() {
            return Ok(());
        }
        let simbox = *self.backend.simbox();
        let state = self.backend.state()?;
        let index_by_id = state.index_by_id();
        let positions = index_by_id.iter().map(|index| inside(&simbox, state, *index)).collect();
        let velocity = |index: &usize| state.velocity[*index];
        let velocities = format.has_velocities().then(|| index_by_id.iter().map(velocity).collect());
        let Clock { step, time, .. } = self.clock;
        let frame = OwnedFrame { step, time, simbox, positions, velocities };
        self.folder.as_mut().map_or(Ok(()), |folder| folder.frame(frame))
    }

    /// Writes the atoms as they are at the start, where a trajectory has no names of atoms: some viewers open
    /// such a file only beside one that has.
    pub(super) fn write_start(&mut self) -> Result<()> {
        let nameless = |s: &&StageInput| s.trajectory.is_some_and(|t| !t.format.has_names());
        let Some(stage) = self.stages.iter().find(nameless).cloned() else { return Ok(()) };
        let (header, positions) = (self.header(&stage, 1)?, self.positions()?);
        let Clock { step, time, .. } = self.clock;
        let frame = Frame {
            step,
            time: Some(time),
            simbox: self.backend.simbox(),
            positions: &positions,
            velocities: None,
            images: None,
        };
        self.folder.as_mut().map_or(Ok(()), |folder| folder.start(header, &frame))
    }

    /// Opens the trajectory of a stage that begins, if it wants one.
    fn begin_trajectory(&mut self, stage: &StageInput) -> Result<()> {
        let Some(trajectory) = stage.trajectory else { return Ok(()) };
        let header = self.header(stage, trajectory.every)?;
        let index = self.clock.stage;
        match &mut self.folder {
            Some(folder) => folder.begin_trajectory(index, &stage.name, trajectory.format, header),
            None => Ok(()),
        }
    }

    /// Goes on with the trajectory of the stage under way.
    pub(super) fn resume_trajectory(&mut self, stage: &StageInput, written: WrittenSoFar) -> Result<()> {
        let Some(trajectory) = stage.trajectory else { return Ok(()) };
        let header = self.header(stage, trajectory.every)?;
        let index = self.clock.stage;
        match &mut self.folder {
            Some(folder) => folder.resume_trajectory(index, &stage.name, trajectory.format, header, written),
            None => Ok(()),
        }
    }

    fn header(&mut self, stage: &StageInput, every: u64) -> Result<TrajectoryHeader> {
        let timestep = match stage.action {
            Action::Dynamics { timestep, .. } => timestep,
            Action::Minimize { .. } => 0.0,
        };
        let state = self.backend.state()?;
        let species = state.index_by_id().into_iter().map(|index| state.species[index]).collect();
        let names = self.species.iter().map(|s| s.name.clone()).collect();
        let (atoms, bonds) = (self.names.clone(), chemical_bonds(&self.topology));
        let periodic = self.backend.simbox().periodic();
        Ok(TrajectoryHeader {
            units: self.units,
            names,
            species,
            atoms,
            bonds,
            periodic,
            timestep,
            every,
            images: false,
        })
    }

    /// Makes the measures of the stage under way.
    /// `simbox` is that in which it began.
    pub(super) fn begin_measures(&mut self, stage: &StageInput, simbox: SimBox) -> Result<()> {
        let state = self.backend.state()?;
        let dipoles = Dipoles::new(&self.topology, &self.species, &self.charges, state);
        let system_info = system_info(self.units, &self.species, state, simbox, &dipoles);
        self.measures =
            Measures::begin(stage, self.clock.stage, &system_info, &self.groups, dipoles, self.threads)?;
        Ok(())
    }

    /// Writes what the measures have found so far; why those have found nothing that have not, and what is
    /// to be known of the others before they are believed.
    fn write_measures(&mut self) -> Result<Vec<String>> {
        let Some(folder) = &mut self.folder else { return Ok(Vec::new()) };
        let mut words = Vec::new();
        for (base, record) in self.measures.records(self.units) {
            match record {
                Ok(record) => {
                    folder.results(&record.files(&base))?;
                    words.extend(record.results.warnings.iter().map(|w| format!("{}: {w}", record.kind)));
                }
                Err(error) => words.push(format!("nothing is known yet: {error}")),
            }
        }
        Ok(words)
    }

    /// Writes a checkpoint if there is a folder to write to.
    pub(super) fn save(&mut self, run: Option<&StageRun>, progress: &mut dyn Progress) -> Result<()> {
        let begun = Instant::now();
        // What has too few frames to say anything will say so at the end.
        self.write_measures()?;
        let Some(folder) = &mut self.folder else { return Ok(()) };
        let simbox = *self.backend.simbox();
        let state = self.backend.state()?.clone();
        let finite = |v: &[Vec3]| v.as_flattened().iter().all(|x| x.is_finite());
        if !(finite(&state.position) && finite(&state.velocity)) {
            return Err(Error::simulation("an atom's position or velocity is not finite"));
        }
        let header = Header {
            program: env!("CARGO_PKG_VERSION").into(),
            units: self.units.name().into(),
            origin: simbox.origin(),
            lengths: simbox.lengths(),
            tilts: simbox.tilts(),
            periodic: simbox.periodic(),
            first_volume: self.first_volume,
            species: self.species.iter().map(|s| (s.name.clone(), s.mass, s.charge)).collect(),
            atoms: state.len() as u64,
            skin: self.backend.neighbor_facts().skin,
            clock: self.clock,
            run: run.cloned(),
            measures: self.measures.save()?,
            reports: self.reports.clone(),
            input: self.source.clone(),
            thermo_bytes: folder.settle()?,
            trajectory: folder.trajectory_written(),
        };
        let list_positions = self.backend.list_positions()?.to_vec();
        let (topology, charges, names) = (self.topology.clone(), self.charges.clone(), self.names.clone());
        let (groups, reference_positions) = (self.groups.clone(), self.reference_positions.clone());
        let reference_box = self.reference_box;
        let checkpoint = Checkpoint {
            header,
            state,
            topology,
            charges,
            names,
            groups,
            reference_positions,
            reference_box,
            list_positions,
        };
        let path = folder.save(&checkpoint)?;
        self.checkpoints.written(begun.elapsed());
        self.saved = Some(self.clock.step);
        folder.log(&format!("checkpoint at step {}", self.clock.step))?;
        progress.saved(&path);
        Ok(())
    }

    pub(super) fn note(&mut self, progress: &mut dyn Progress, message: &str) -> Result<()> {
        progress.note(message);
        self.log(message)
    }

    pub(super) fn warn(&mut self, progress: &mut dyn Progress, warning: &Warning) -> Result<()> {
        progress.warned(warning);
        self.log(&format!("warning: {}", warning.message))
    }

    fn log(&mut self, text: &str) -> Result<()> {
        match &mut self.folder {
            Some(folder) => folder.log(text),
            None => Ok(()),
        }
    }

    fn describe<'a>(&self, stage: &'a StageInput, run: &StageRun) -> StageStart<'a> {
        StageStart {
            name: &stage.name,
            index: self.clock.stage,
            stages: self.stages.len(),
            steps: steps(stage),
            done: run.stage_step,
            timestep: timestep(stage),
            degrees_of_freedom: run.degrees_of_freedom,
        }
    }
}

/// Whether something that happens every so many steps of a stage happens now.
fn due(every: u64, stage_step: u64) -> bool {
    every > 0 && stage_step.is_multiple_of(every)
}

fn timestep(stage: &StageInput) -> f64 {
    match stage.action {
        Action::Dynamics { timestep, .. } | Action::Minimize { timestep, .. } => timestep,
    }
}

/// When long-range forces act.
fn respa_schedule(stage: &StageInput, run: &StageRun) -> RespaSchedule {
    RespaSchedule { every: stage.long_range_every, done: run.stage_step }
}

fn steps(stage: &StageInput) -> u64 {
    match stage.action {
        Action::Dynamics { steps, .. } | Action::Minimize { steps, .. } => steps,
    }
}

/// The time between two looks at the clock.
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
