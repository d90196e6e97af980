//! A device, and custom forces that are added to its own.
//!
//! The host computes them at every evaluation and adds them to those of the device, whichever that is. Steps,
//! minimisers, barostats and single evaluations know nothing of it: `DeviceWithForces` is a device like any other.
//! Atoms travel to the host and back at every step then, which a GPU pays for with its batches of steps; forces that
//! are computed in its memory leave it both.

mod atom_storage;
mod sub_steps;

use crate::custom_force::{
    After, AtomForces, Configuration, CustomForce, EnergyColumn, ForceSums, StageSpan, check_sums,
};
use crate::force_context::{AtomChoice, FieldsInTime, Potential, PotentialUse, TakenBiases};
use jostle_core::backend::{BiasPlace, Member, NeighborFacts, Profile, StageTime, Timings};
use jostle_core::{
    AddedForces, AtomVector, Backend, ClosingKick, DeviceForce, DeviceReport, Energies, Error, Evaluate,
    ForceEvaluation, MolecularVirial, Molecules, Result, Sample, SavedVolume, SimBox, StepBatch, Thermostat,
    Vec3, VolumeMove,
};
use jostle_io::input::model::Action;

/// A custom force with the configuration of its last evaluation.
pub(crate) struct Active {
    pub(crate) force: Box<dyn CustomForce>,
    positions: Vec<Vec3>,
    forces: AtomForces,
}

/// A device, and the forces that the host adds to its own.
pub(crate) struct DeviceWithForces {
    pub(crate) device: Box<dyn Backend>,
    pub(crate) active: Vec<Active>,
    /// False where a force does not have the stage under way yet: after a restart, or one just added.
    in_stage: bool,
    /// Force whose biases the device evaluates.
    pub(crate) taken: TakenBiases,
    /// Last note of where biases are evaluated.
    pub(crate) place_of_biases: Option<String>,
    /// Unwrapped positions of all atoms, by id, for forces on some of them.
    positions: Vec<Vec3>,
    /// Energies and forces of the device at the last evaluation, where a force makes use of them.
    pub(crate) potential: Potential,
    /// Sum of the last evaluation, whose memory the next one uses.
    added: AddedForces,
    /// Number of the step under way, and the time at its end.
    moment: (u64, f64),
    /// Time that was last told.
    time: StageTime,
    /// True where forces of the host have been evaluated at the positions of this step.
    evaluated: bool,
    fields: FieldsInTime,
    /// Ids of virtual sites, in ascending order: forces act on atoms with mass.
    pub(crate) sites: Vec<u32>,
}

impl DeviceWithForces {
    /// A device without such forces, in a system with these virtual sites, whose own forces have fields and names of
    /// terms.
    pub fn new(
        device: Box<dyn Backend>,
        mut sites: Vec<u32>,
        (fields, names): (FieldsInTime, Vec<String>),
    ) -> Self {
        sites.sort_unstable();
        let mut potential = Potential::default();
        potential.energies.names = names;
        DeviceWithForces {
            device,
            active: Vec::new(),
            in_stage: false,
            taken: TakenBiases::None,
            place_of_biases: None,
            positions: Vec::new(),
            potential,
            added: AddedForces::default(),
            moment: (0, 0.0),
            time: StageTime::default(),
            evaluated: false,
            fields,
            sites,
        }
    }

    /// Adds a force.
    pub fn add(&mut self, force: Box<dyn CustomForce>) {
        self.active.push(Active { force, positions: Vec::new(), forces: AtomForces::default() });
        self.in_stage = false;
    }

    /// The forces.
    pub fn forces(&self) -> impl Iterator<Item = &dyn CustomForce> {
        self.active.iter().map(|active| &*active.force)
    }

    /// The force of a name.
    pub fn force_mut(&mut self, name: &str) -> Option<&mut (dyn CustomForce + 'static)> {
        self.active.iter_mut().map(|active| &mut *active.force).find(|force| force.name() == name)
    }

    /// Tells the forces that a step, a batch or an iteration is about to begin.
    pub fn prepare(&mut self, action: &Action) -> Result<()> {
        self.active.iter_mut().try_for_each(|active| active.force.prepare(action))
    }

    /// Lets forces exchange something with other runs, where that is due.
    pub fn exchange(&mut self, after: After) -> Result<()> {
        if !self.active.iter().any(|active| active.force.is_exchange_due(after)) {
            return Ok(());
        }
        self.fetch_biases()?;
        let mut due = self.active.iter_mut().filter(|active| active.force.is_exchange_due(after));
        due.try_for_each(|active| active.force.exchange(after))?;
        self.return_biases()
    }

    /// Tells the forces the stage that comes, and gives biases to the device where it takes them; returns a note of
    /// where they are evaluated, if that is new.
    pub fn begin_stage(&mut self, stage: &StageSpan) -> Result<Option<String>> {
        self.fetch_biases()?;
        self.active.iter_mut().try_for_each(|active| active.force.begin_stage(stage))?;
        self.in_stage = true;
        self.place_biases()
    }

    /// Returns true if all forces have the stage under way.
    pub fn is_in_stage(&self) -> bool {
        self.in_stage
    }

    /// Tells number and end of the step that comes.
    pub fn begin_step(&mut self, step: u64, time: StageTime) -> Result<()> {
        self.moment = (step, time.now());
        self.set_time(time)?;
        self.begin_bias_step(step)
    }

    /// Tells the forces that a step of dynamics is over.
    pub fn end_step(&mut self) -> Result<()> {
        self.end_bias_step()?;
        self.end_step_of_host()
    }

    /// Tells the forces of the host, those that act or have been evaluated.
    fn end_step_of_host(&mut self) -> Result<()> {
        let (simbox, (step, time), taken) = (self.device.simbox(), self.moment, self.taken);
        let potential = Some(&self.potential);
        let others = self.active.iter_mut().enumerate().filter(|(k, _)| TakenBiases::Force(*k) != taken);
        let (others, evaluated) = (others.map(|(_, active)| active), self.evaluated);
        others.filter(|active| evaluated || active.force.acts()).try_for_each(|active| {
            let positions = &active.positions;
            active.force.end_step(&Configuration { simbox, positions, step, time, potential })
        })
    }

    /// Sum of the work of all forces.
    pub fn work(&self) -> f64 {
        self.forces().map(|force| force.work()).sum()
    }

    /// Returns true where no force of the host acts on any atom in this stage: variables that are columns alone wait for
    /// the next row.
    fn is_idle(&self) -> bool {
        let rests = |force: &dyn CustomForce| force.atoms() == AtomChoice::Ids(&[]) || !force.acts();
        self.potential_use() == PotentialUse::None && self.on_host().all(rests)
    }

    /// Returns true where forces of the host that do not act have columns, whose values follow from the atoms of a row.
    pub fn watch_rows(&self) -> bool {
        let watches =
            |force: &dyn CustomForce| force.atoms() != AtomChoice::Ids(&[]) && !force.columns().is_empty();
        self.is_idle() && self.on_host().any(watches)
    }

    /// Forces that are computed in the memory of the device.
    fn on_device(&mut self) -> Vec<&mut dyn DeviceForce> {
        self.active.iter_mut().filter_map(|active| active.force.on_device()).collect()
    }

    /// Evaluates all forces at the present positions into `added`; those on the device have been queued, and are asked
    /// for their energies.
    fn evaluate(&mut self, evaluate: Evaluate, added: &mut AddedForces) -> Result<()> {
        let (simbox, (step, time)) = (*self.device.simbox(), self.moment);
        added.ids.clear();
        added.forces.clear();
        added.energies.clear();
        added.virial = [0.0; 6];
        let gathered = self.gather_positions()?;
        let (n_atoms, taken) = (self.device.n_atoms(), self.taken);
        let others = self.active.iter_mut().enumerate().filter(|(k, _)| TakenBiases::Force(*k) != taken);
        for (_, Active { force, positions, forces }) in others {
            if let Some(on_device) = force.on_device() {
                let (energy, virial) = match evaluate {
                    Evaluate::Forces => (0.0, [0.0; 6]),
                    Evaluate::ForcesAndEnergies => on_device.sums()?,
                };
                added.energies.push(energy);
                added.virial.iter_mut().zip(virial).for_each(|(w, part)| *w += part);
                continue;
            }
            match force.atoms() {
                AtomChoice::All => {
                    let gathered = (gathered == Gathered::All).then_some(&self.positions[..]);
                    give_positions(&mut *self.device, gathered, &mut **force, positions)?;
                }
                AtomChoice::Box => positions.clear(),
                AtomChoice::Ids(ids) => {
                    positions.clear();
                    for id in ids {
                        let position = self.positions.get(*id as usize);
                        positions.push(*position.ok_or_else(|| unknown(&**force, *id))?);
                    }
                }
            }
            let n = force.atoms().count(n_atoms);
            forces.reset(n);
            let potential = Some(&self.potential);
            let now = Configuration { simbox: &simbox, positions, step, time, potential };
            let rests = force.atoms() == AtomChoice::Ids(&[]) && force.potential_use() == PotentialUse::None;
            let sums = if rests { ForceSums::default() } else { force.evaluate(&now, forces)? };
            check_sums(&**force, forces, &sums)?;
            if force.energy_column() == EnergyColumn::Present {
                added.energies.push(sums.energy);
            }
            added.virial.iter_mut().zip(sums.virial).for_each(|(w, part)| *w += part);
            if forces.is_untouched() {
                continue;
            }
            match force.atoms() {
                AtomChoice::All => added.ids.extend(0..n as u32),
                AtomChoice::Ids(ids) => added.ids.extend_from_slice(ids),
                AtomChoice::Box => {}
            }
            forces.move_to(&mut added.forces);
        }
        self.check_sites(added)
    }

    /// Evaluates the forces of the host and adds them to those of the device.
    fn add_forces_of_host(&mut self, evaluate: Evaluate) -> Result<()> {
        let mut added = std::mem::take(&mut self.added);
        let evaluated = self.evaluate(evaluate, &mut added);
        let is_needed = evaluate == Evaluate::ForcesAndEnergies || !added.ids.is_empty();
        let result = match evaluated {
            Ok(()) if is_needed => self.device.add_forces(&added),
            evaluated => evaluated,
        };
        self.added = added;
        result
    }

    /// Gathers the positions of all atoms, unless a single force acts on all of them, which gets them at first hand.
    fn gather_positions(&mut self) -> Result<Gathered> {
        let none = [AtomChoice::Ids(&[]), AtomChoice::Box];
        let choices = self.on_host().map(|force| force.atoms()).filter(|atoms| !none.contains(atoms));
        let choices: Vec<AtomChoice> = choices.collect();
        if matches!(choices[..], [] | [AtomChoice::All]) {
            return Ok(Gathered::Nothing);
        }
        self.positions.resize(self.device.n_atoms(), Vec3::ZERO);
        self.device.write_by_id(AtomVector::UnwrappedPosition, &mut self.positions)?;
        Ok(Gathered::All)
    }

    /// Refuses forces on virtual sites: devices have passed the forces on sites on to atoms before.
    fn check_sites(&self, added: &AddedForces) -> Result<()> {
        if self.sites.is_empty() {
            return Ok(());
        }
        let mut acting = added.ids.iter().zip(&added.forces).filter(|(_, force)| **force != [0.0; 3]);
        match acting.find(|(id, _)| self.sites.binary_search(id).is_ok()) {
            Some((id, _)) => Err(Error::simulation(format!(
                "a force is added to atom {id}, counted from 0, which is a virtual site without mass"
            ))
            .hint("let it act on the atoms that the site follows")),
            None => Ok(()),
        }
    }
}

/// Positions that were gathered for all forces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gathered {
    Nothing,
    All,
}

/// Writes the positions of all atoms, from `gathered` or from the device, to memory of the force, or else to
/// `positions`.
fn give_positions(
    device: &mut dyn Backend,
    gathered: Option<&[Vec3]>,
    force: &mut dyn CustomForce,
    positions: &mut Vec<Vec3>,
) -> Result<()> {
    let n = device.n_atoms();
    let rows = match force.position_rows(n)? {
        Some(rows) => rows,
        None => {
            positions.resize(n, Vec3::ZERO);
            positions
        }
    };
    match gathered {
        Some(gathered) => rows.copy_from_slice(gathered),
        None => device.write_by_id(AtomVector::UnwrappedPosition, rows)?,
    }
    Ok(())
}

fn unknown(force: &dyn CustomForce, id: u32) -> Error {
    Error::simulation(format!("the force '{}' acts on atom {id}, which does not exist", force.name()))
}

impl ForceEvaluation for DeviceWithForces {
    fn set_long_range_weight(&mut self, weight: f64) -> Result<()> {
        self.device.set_long_range_weight(weight)
    }

    fn set_stiffness(&mut self, stiffness: &[f64]) -> Result<()> {
        self.device.set_stiffness(stiffness)
    }

    fn set_time(&mut self, time: StageTime) -> Result<()> {
        self.time = time;
        match self.fields {
            FieldsInTime::Constant => Ok(()),
            FieldsInTime::Changing => self.device.set_time(time),
        }
    }

    fn update_neighbors(&mut self) -> Result<()> {
        self.device.update_neighbors()
    }

    fn compute_forces(&mut self, mut evaluate: Evaluate) -> Result<()> {
        let potential_use = self.potential_use();
        if potential_use > PotentialUse::None {
            evaluate = Evaluate::ForcesAndEnergies;
        }
        self.device.compute_forces(evaluate)?;
        self.take_potential(potential_use)?;
        if self.on_host().next().is_none() {
            return Ok(());
        }
        let mut on_device: Vec<_> = self.active.iter_mut().filter_map(|a| a.force.on_device()).collect();
        self.device.add_device_forces(&mut on_device)?;
        self.evaluated = evaluate == Evaluate::ForcesAndEnergies || !self.is_idle();
        if self.evaluated { self.add_forces_of_host(evaluate) } else { Ok(()) }
    }

    fn add_constraint_virial(&mut self, kick: ClosingKick) -> Result<()> {
        self.device.add_constraint_virial(kick)
    }

    fn energies_with_charges(&mut self, charges: &[f64]) -> Result<Energies> {
        self.device.energies_with_charges(charges)
    }

    fn add_forces(&mut self, added: &AddedForces) -> Result<()> {
        self.device.add_forces(added)
    }

    fn energies(&self) -> &Energies {
        self.device.energies()
    }
}

impl VolumeMove for DeviceWithForces {
    fn molecular_virial(&mut self, molecules: &Molecules) -> Result<MolecularVirial> {
        self.device.molecular_virial(molecules)
    }

    fn scale_volume(
        &mut self,
        molecular: MolecularVirial,
        simbox: SimBox,
        faster: f64,
    ) -> Result<SavedVolume> {
        self.device.scale_volume(molecular, simbox, faster)
    }

    fn undo_scale(&mut self, before: SavedVolume) -> Result<()> {
        self.device.undo_scale(before)
    }
}

impl DeviceReport for DeviceWithForces {
    fn describe(&self) -> String {
        self.device.describe()
    }

    fn timings(&self) -> Timings {
        self.device.timings()
    }

    fn neighbor_facts(&self) -> NeighborFacts {
        self.device.neighbor_facts()
    }

    fn start_profile(&mut self) -> Result<()> {
        self.device.start_profile()
    }

    fn end_profile(&mut self) -> Result<Profile> {
        self.device.end_profile()
    }
}

impl Backend for DeviceWithForces {
    fn run_steps(&mut self, batch: &StepBatch, thermostat: &mut Thermostat) -> Result<Option<Vec<Sample>>> {
        let n_on_device = self.on_device().len();
        let watch_rows = self.watch_rows();
        let mixed = n_on_device > 0 && n_on_device < self.active.len();
        if !self.is_idle() || mixed || (watch_rows && batch.sample_every > 0) {
            return Ok(None);
        }
        if n_on_device > 0 {
            let mut forces: Vec<_> = self.active.iter_mut().filter_map(|a| a.force.on_device()).collect();
            return self.device.run_steps_with(batch, thermostat, &mut forces);
        }
        let mut samples = self.device.run_steps(batch, thermostat)?;
        for sample in samples.iter_mut().flatten() {
            sample.energies.added.extend(std::iter::repeat_n(0.0, self.n_energies()));
        }
        if watch_rows && samples.is_some() && batch.evaluate == Evaluate::ForcesAndEnergies {
            self.time.steps += batch.steps;
            self.moment = (batch.first_step + batch.steps - 1, self.time.now());
            self.evaluated = true;
            self.add_forces_of_host(batch.evaluate)?;
            self.end_step_of_host()?;
        }
        Ok(samples)
    }

    fn bias_place(&mut self) -> BiasPlace<'_> {
        self.device.bias_place()
    }

    fn gpu(&self) -> Option<usize> {
        self.device.gpu()
    }

    fn join(&mut self, member: &Member) -> bool {
        self.device.join(member)
    }

    fn agreed_duration(&self) -> Option<f64> {
        self.device.agreed_duration()
    }
}
