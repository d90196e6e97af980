//! Output that is due after a step: rows, frames, measures and observers.

use super::Simulation;
use super::schedule::{Schedule, is_due};
use crate::clock::Clock;
use crate::deformation::strain;
use crate::dipole::Dipoles;
use crate::heat_flux::DrivenHeat;
use crate::measure::{AtomSums, Measures, system_info};
use crate::observe::Context;
use crate::progress::Progress;
use crate::stage::StageRun;
use crate::thermo::{AtomMotion, Reported, Thermo, ThermoInput};
use jostle_analysis::{Observable, Record};
use jostle_core::{AtomStorage, Error, Evaluate, ForceEvaluation, Result, Sample, SimBox};
use jostle_io::input::model::{Action, StageInput};
use std::time::Instant;

impl Simulation {
    /// Makes all output that is due now: the row of `thermo.csv`, the frame, measures and observers. Energies
    /// and kinetic sums are those of a sample of a batch, else the present ones of the device.
    pub(super) fn measure(
        &mut self,
        stage: &StageInput,
        run: &mut StageRun,
        schedule: &Schedule,
        sample: Option<&Sample>,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        let stage_step = run.stage_step;
        self.thermo = None;
        if schedule.is_thermo_due(stage_step) {
            self.thermo = Some(self.read_thermo(stage, run, sample)?);
        }
        if schedule.is_row_due(stage_step) {
            self.report_groups(stage, run.atoms(stage, None))?;
            self.write_row(stage, run, progress)?;
        }
        if let Some(trajectory) = stage.trajectory.filter(|_| schedule.is_frame_due(stage_step)) {
            self.write_frame(trajectory.format)?;
            self.output.note_frames(progress)?;
        }
        let looked = Instant::now();
        let energies = schedule.is_measure_due(Observable::energies, stage_step);
        self.add_to_measures(run, energies).map_err(|e| e.context(format!("step {}", self.clock.step)))?;
        run.time.analysis += looked.elapsed().as_secs_f64();
        self.call_observers(stage, stage_step)
    }

    /// Writes a row for the minimum, where a minimisation has ended between two rows.
    pub(super) fn write_minimum(
        &mut self,
        stage: &StageInput,
        run: &mut StageRun,
        schedule: &Schedule,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        let has_row = schedule.rows == 0 || schedule.is_row_due(run.stage_step);
        if has_row || !matches!(stage.action, Action::Minimize { .. }) {
            return Ok(());
        }
        self.backend.compute_forces(Evaluate::ForcesAndEnergies)?;
        self.thermo = Some(self.read_thermo(stage, run, None)?);
        self.report_groups(stage, run.atoms(stage, None))?;
        self.write_row(stage, run, progress)
    }

    /// Thermodynamic quantities now, from a sample of a batch or from the device.
    fn read_thermo(&mut self, stage: &StageInput, run: &StageRun, sample: Option<&Sample>) -> Result<Thermo> {
        let Clock { step, time, .. } = self.clock;
        self.backend.show_biases(sample.and_then(|sample| sample.biases.as_ref()))?;
        let degrees_of_freedom = run.degrees_of_freedom;
        let atoms = run.atoms(stage, sample.map(|s| &s.thermostat)).with_work(self.backend.work());
        let mass = self.facts.total_mass;
        let strain = strain(stage, run.stage_step);
        let input = ThermoInput { units: self.units, degrees_of_freedom, atoms, step, time, mass, strain };
        let thermo = match sample {
            Some(s) => input.convert(self.backend.simbox(), &s.energies, &s.kinetic),
            // The virial of constraints is known from the first step on.
            None if step == 0 && self.tables.topology.is_constrained() => {
                input.read(&mut *self.backend)?.without_pressure()
            }
            None => input.read(&mut *self.backend)?,
        };
        Ok(Thermo { custom: self.backend.forces().flat_map(|force| force.values()).collect(), ..thermo })
    }

    /// Adds the quantities of groups, rigid bodies and interactions to the present ones.
    fn report_groups(&mut self, stage: &StageInput, atoms: AtomMotion) -> Result<()> {
        // A single atom keeps its motion.
        let conserved = if self.backend.n_atoms() > 1 { self.momentum_in(stage).n_conserved() } else { 0 };
        let lost_per_mass = conserved as f64 / self.facts.total_mass;
        let Some(thermo) = self.thermo.as_mut().filter(|_| self.columns.need_atoms()) else {
            return Ok(());
        };
        let simbox = *self.backend.simbox();
        let state = self.backend.state()?;
        let index_by_id = state.index_by_id();
        let one = |group: &Reported| {
            group.measure(self.units, &simbox, state, &index_by_id, (atoms, lost_per_mass))
        };
        thermo.groups = self.columns.groups.iter().map(one).collect();
        let bodies = self.columns.bodies.as_ref();
        thermo.bodies = bodies.map(|bodies| bodies.measure(state, &index_by_id, atoms));
        let interactions = self.columns.interactions.iter_mut();
        thermo.interactions =
            interactions.map(|interaction| interaction.evaluate(&simbox, state)).collect::<Result<_>>()?;
        Ok(())
    }

    /// Writes the row of `thermo.csv`, takes it into the averages and checks the stability of the run by it.
    fn write_row(
        &mut self,
        stage: &StageInput,
        run: &mut StageRun,
        progress: &mut dyn Progress,
    ) -> Result<()> {
        let Some(thermo) = &self.thermo else { return Ok(()) };
        // The start itself, perhaps a perfect lattice, belongs to no average.
        if run.stage_step > 0 {
            run.record(thermo, self.units);
            let before = run.is_ended();
            if run.watch_for_end(stage, &self.columns.quantities, thermo) && !before {
                let until = stage.until.as_ref().map(|until| until.value.to_string()).unwrap_or_default();
                let step = run.stage_step;
                self.output
                    .note(progress, &format!("stage '{}' ends after {step} steps: {until}", stage.name))?;
            }
        }
        progress.measured(thermo);
        let now = (thermo.step, thermo.time);
        if stage.sample_every.is_none() {
            self.output.row(&stage.name, now, thermo.values())?;
        } else {
            run.row.add(thermo);
            if is_due(stage.thermo_every, run.stage_step) {
                self.output.row(&stage.name, now, run.row.take(&self.columns.quantities))?;
            }
        }
        run.watch(thermo, self.units)
    }

    /// Writes the means of the samples after the last row of a stage that is over.
    pub(super) fn write_last_means(&mut self, stage: &StageInput, run: &mut StageRun) -> Result<()> {
        if run.row.is_empty() {
            return Ok(());
        }
        let now = (self.clock.step, self.clock.time);
        self.output.row(&stage.name, now, run.row.take(&self.columns.quantities))
    }

    /// Adds the atoms and, if a measure of `energies` is due, the quantities of the whole system to measures.
    fn add_to_measures(&mut self, run: &StageRun, energies: bool) -> Result<()> {
        let (stage_step, time) = (run.stage_step, self.clock.time);
        self.measures.add_atoms(&mut *self.backend, stage_step, time)?;
        match self.thermo.as_ref().filter(|_| energies) {
            Some(thermo) => {
                let whole = thermo.whole(self.units, run.degrees_of_freedom);
                self.measures.add_whole(&mut *self.backend, stage_step, time, whole)
            }
            None => Ok(()),
        }
    }

    fn call_observers(&mut self, stage: &StageInput, stage_step: u64) -> Result<()> {
        let Clock { step, time, .. } = self.clock;
        let mut context = Context {
            backend: &mut *self.backend,
            step,
            time,
            stage: &stage.name,
            units: self.units,
            species: &self.tables.species,
            thermo: self.thermo.as_ref(),
            paused: &mut self.paused,
        };
        for observer in &mut self.observers {
            if is_due(observer.every(), stage_step) {
                observer.observe(&mut context)?;
            }
        }
        Ok(())
    }

    /// Makes the measures of the stage under way; `simbox` is the box at the beginning of the stage.
    pub(super) fn begin_measures(&mut self, stage: &StageInput, simbox: SimBox) -> Result<()> {
        let state = self.backend.state()?;
        let tables = &self.tables;
        let dipoles = Dipoles::new(&tables.topology, &tables.species, &tables.charges, state);
        let has_mass = |index: usize| tables.species[usize::from(state.species[index])].mass > 0.0;
        let is_moved =
            |index: &usize| has_mass(*index) && tables.driven.binary_search(&state.id[*index]).is_err();
        let unmoved = state.len() - (0..state.len()).filter(is_moved).count();
        let system_info = system_info(self.units, &tables.species, state, simbox, &dipoles, unmoved);
        let threads = self.origin.threads;
        let heat_current = self.facts.heat_current(stage, tables, (&simbox, state), threads)?;
        if heat_current.is_some() && self.backend.forces().any(|force| force.acts()) {
            return Err(Error::input("the heat current of atoms under forces from outside is not known")
                .hint("measure it without biases and custom forces"));
        }
        let sums = AtomSums { dipoles, heat_current };
        self.measures =
            Measures::begin(stage, self.clock.stage, &system_info, &tables.groups, sums, threads)?;
        let timestep = stage_timestep(stage);
        self.measures.heat = DrivenHeat::begin(stage, self.clock.stage, timestep, self.units)?;
        Ok(())
    }

    /// Writes the results of measures so far; returns the reasons why some have none, and warnings about the
    /// others.
    pub(super) fn write_measures(&mut self) -> Result<Vec<String>> {
        let Some(folder) = self.output.folder() else { return Ok(Vec::new()) };
        let mut notes = Vec::new();
        for (base, record) in self.measures.records(self.units) {
            match record {
                Ok(record) => {
                    folder.results(&record.files(&base))?;
                    if record.results.values.is_empty() {
                        folder.remove_results(&Record::values_file(&base))?;
                    }
                    notes.extend(record.results.warnings.iter().map(|w| format!("{}: {w}", record.kind)));
                }
                Err(error) => notes.push(format!("nothing is known yet: {error}")),
            }
        }
        Ok(notes)
    }
}

/// The time step of a stage.
pub(super) fn stage_timestep(stage: &StageInput) -> f64 {
    match stage.action {
        Action::Dynamics { timestep, .. } | Action::Minimize { timestep, .. } => timestep,
    }
}
