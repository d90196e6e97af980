//! Atoms, energies and forces between two calls, and their changes from outside.

use super::run::n_steps;
use super::{Readiness, Simulation};
use crate::build::begin_on_constraints;
use crate::clock::Clock;
use crate::custom_force::{StageEntry, StageSpan};
use crate::ramp::Ramps;
use crate::step::evaluate_forces;
use crate::thermo::{AtomMotion, Thermo, ThermoInput};
use jostle_core::backend::{Member, StageTime};
use jostle_core::virtual_sites::follow_atoms;
use jostle_core::{
    ArraysChanged, AtomStorage, AtomVector, Backend, DeviceArrays, Error, Evaluate, ForceEvaluation, Result,
    SimBox, State, SubSteps, SymTensor, System, Vec3,
};

/// Largest number of boxes that a position may be outside of the box.
const MOST_BOXES: f64 = 1e6;

/// Quantities of the present configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluated {
    /// Energies, temperature and pressure. With constraints the pressure is known only at steps with a row or an
    /// observer.
    pub thermo: Thermo,
    /// Virial tensor, an energy; see [`jostle_core::Energies::virial`].
    pub virial: SymTensor,
}

impl Simulation {
    /// Positions in the box, by id.
    ///
    /// # Errors
    /// If the device failed.
    pub fn positions(&mut self) -> Result<Vec<Vec3>> {
        self.by_id(AtomVector::Position)
    }

    /// Unwrapped positions, of atoms that have never been wrapped into the box, by id.
    ///
    /// # Errors
    /// If the device failed.
    pub fn unwrapped_positions(&mut self) -> Result<Vec<Vec3>> {
        self.by_id(AtomVector::UnwrappedPosition)
    }

    /// Velocities, by id.
    ///
    /// # Errors
    /// If the device failed.
    pub fn velocities(&mut self) -> Result<Vec<Vec3>> {
        self.by_id(AtomVector::Velocity)
    }

    /// Angular velocities of grains, by id; all zero without grains.
    ///
    /// # Errors
    /// If the device failed.
    pub fn angular_velocities(&mut self) -> Result<Vec<Vec3>> {
        self.by_id(AtomVector::AngularVelocity)
    }

    /// Forces of the last evaluation, by id; all zero before the first step.
    ///
    /// # Errors
    /// If the device failed.
    pub fn forces(&mut self) -> Result<Vec<Vec3>> {
        self.by_id(AtomVector::Force)
    }

    fn by_id(&mut self, vector: AtomVector) -> Result<Vec<Vec3>> {
        let mut rows = vec![Vec3::ZERO; self.backend.n_atoms()];
        self.fill_by_id(vector, &mut rows)?;
        Ok(rows)
    }

    /// Writes a vector of each atom to the row of its id: the way without a copy to arrays of other programs.
    ///
    /// # Errors
    /// If there are not as many rows as atoms, or the device failed.
    pub fn fill_by_id(&mut self, vector: AtomVector, rows: &mut [Vec3]) -> Result<()> {
        self.backend.write_by_id(vector, rows)
    }

    /// Evaluates the forces at the present positions, where they are not known.
    ///
    /// # Errors
    /// If a force is not finite, or the device failed.
    pub fn evaluate_forces(&mut self) -> Result<()> {
        if self.readiness == Readiness::Stale || self.has_impulses() {
            self.evaluate()?;
        }
        Ok(())
    }

    /// Energies, temperature, pressure and virial of the present configuration, evaluated where they are not
    /// known. The path of the atoms remains the same. Biases and restraints act as in the stage under way or next.
    ///
    /// # Errors
    /// If a force or an energy is not finite, or the device failed.
    pub fn evaluate(&mut self) -> Result<&Evaluated> {
        let evaluated = match self.evaluated.take() {
            Some(evaluated) => evaluated,
            None => self.evaluate_present()?,
        };
        Ok(self.evaluated.insert(evaluated))
    }

    fn evaluate_present(&mut self) -> Result<Evaluated> {
        let Clock { step, time, .. } = self.clock;
        let is_present = |thermo: &&Thermo| self.readiness == Readiness::Ready && thermo.step == step;
        if let Some(thermo) = self.thermo.as_ref().filter(is_present) {
            return Ok(Evaluated { thermo: thermo.clone(), virial: self.backend.energies().virial });
        }
        let constrained = self.tables.topology.is_constrained();
        if self.readiness == Readiness::Stale {
            match &self.run {
                Some(run) => {
                    run.set_restraints(&mut *self.backend)?;
                    self.continue_stage()?;
                }
                None => self.anticipate_stage()?,
            }
            if self.run.is_none() && constrained {
                // Velocities along constraints are removed, as the degrees of freedom assume.
                self.backend.constrain_velocities(None)?;
            }
            self.backend.update_neighbors()?;
        }
        let stage = self.stages.get(self.clock.stage);
        let counted = self.run.as_ref().zip(stage).map(|(run, stage)| run.stage_time(stage, run.stage_step));
        let moment = counted.unwrap_or(StageTime { start: time, timestep: 0.0, steps: 0 });
        self.backend.begin_step(step, moment)?;
        evaluate_forces(&mut *self.backend, Evaluate::ForcesAndEnergies, 1.0, None)?;
        if self.has_impulses() {
            self.readiness = Readiness::Stale;
        }
        let degrees_of_freedom = match (&self.run, self.reports.last()) {
            (Some(run), _) => run.degrees_of_freedom,
            (None, Some(report)) => report.degrees_of_freedom,
            (None, None) => self.degrees().count(self.degrees().momentum),
        };
        let under_way = self.run.as_ref().zip(self.stages.get(self.clock.stage));
        let atoms =
            under_way.map_or(AtomMotion::Moving { heat: Some(0.0) }, |(run, stage)| run.atoms(stage, None));
        self.backend.show_biases(None)?;
        let atoms = atoms.with_work(self.backend.work());
        let (units, mass) = (self.units, self.facts.total_mass);
        let input = ThermoInput { units, degrees_of_freedom, atoms, step, time, mass, strain: None };
        let thermo = input.read(&mut *self.backend)?;
        let thermo = if constrained { thermo.without_pressure() } else { thermo };
        let custom = self.backend.forces().flat_map(|force| force.values()).collect();
        let thermo = Thermo { custom, ..thermo };
        Ok(Evaluated { thermo, virial: self.backend.energies().virial })
    }

    /// Gives the stage under way to forces that do not have it yet, as after a restart: biases act by stages.
    fn continue_stage(&mut self) -> Result<()> {
        let Some(stage) = self.stage_under_way().filter(|_| !self.backend.is_in_stage()) else {
            return Ok(());
        };
        let place_of_biases = self.backend.begin_stage(&self.stage_span(&stage))?;
        place_of_biases.map_or(Ok(()), |place| self.output.log(&place))
    }

    /// Gives biases and restraints, which act by stages, the stage that comes: between two stages energies are those with
    /// which the next one begins; without any stage, those of what names no stage; at the end those of the last one.
    fn anticipate_stage(&mut self) -> Result<()> {
        let finished = self.is_finished();
        if finished && self.backend.is_in_stage() {
            return Ok(());
        }
        let span = match self.stages.get(self.clock.stage).or(self.stages.last()) {
            Some(stage) => {
                let ramps = Ramps::new(stage, &self.facts.springs, self.units.boltzmann());
                ramps.set_stiffness(if finished { u64::MAX } else { 0 }, &mut *self.backend)?;
                let span = self.stage_span(stage);
                match finished {
                    true => StageSpan {
                        first_step: span.first_step.saturating_sub(n_steps(stage)),
                        entry: StageEntry::Continued,
                        ..span
                    },
                    false => span,
                }
            }
            None => StageSpan {
                name: String::new(),
                first_step: 0,
                start_time: self.clock.time,
                timestep: Some(0.0),
                entry: StageEntry::Begun,
            },
        };
        let place_of_biases = self.backend.begin_stage(&span)?;
        place_of_biases.map_or(Ok(()), |place| self.output.log(&place))
    }

    /// Returns true where long-range forces act at some steps of the stage only.
    fn has_impulses(&self) -> bool {
        self.stages.get(self.clock.stage).is_some_and(|stage| stage.long_range_every > 1)
    }

    /// Moves atoms to other positions, by id. Unbroken paths go on: each takes the image of the position that is nearest to
    /// where the atom was.
    ///
    /// # Errors
    /// If there are not as many as atoms, or one is not finite or very far from the box; if there are constraints,
    /// virtual sites or rigid bodies; if the device failed.
    pub fn set_positions(&mut self, positions: &[Vec3]) -> Result<()> {
        let simbox = *self.backend.simbox();
        let state = self.moved(&simbox, positions)?;
        self.disturb();
        self.backend.set_state(state)
    }

    /// Moves atoms to other positions in another box with the same periodic axes; paths go on from where the box would have
    /// taken the atoms along.
    ///
    /// # Errors
    /// As for [`Simulation::set_positions`], and if a cut-off is more than half the smallest width of the box.
    pub fn set_configuration(&mut self, simbox: SimBox, positions: &[Vec3]) -> Result<()> {
        if simbox.periodic() != self.backend.simbox().periodic() {
            return Err(Error::input("the axes along which a box is periodic cannot change"));
        }
        let state = self.moved(&simbox, positions)?;
        self.disturb();
        self.backend.set_box(simbox, state)
    }

    /// Changes the velocities, by id. Components along constraints are removed, and frozen and driven atoms keep theirs.
    ///
    /// # Errors
    /// If there are not as many as atoms, or one or their kinetic energy is not finite; if the device failed.
    pub fn set_velocities(&mut self, velocities: &[Vec3]) -> Result<()> {
        self.check_vectors("velocity", "velocities", velocities)?;
        let State { id, species, .. } = self.backend.state()?;
        let driven = &self.tables.driven_velocities;
        let kept = |(id, species): (&u32, &u16)| driven.of(*species, *id).unwrap_or(velocities[*id as usize]);
        let in_order: Vec<Vec3> = id.iter().zip(species).map(kept).collect();
        let mass = |kind: &u16| self.tables.species[usize::from(*kind)].mass;
        let energy: f64 = species.iter().zip(&in_order).map(|(kind, v)| mass(kind) * v.norm_squared()).sum();
        if !energy.is_finite() {
            return Err(Error::input("the kinetic energy of these velocities is not finite"));
        }
        self.evaluated = None;
        self.thermo = None;
        self.backend.set_velocities(&in_order)?;
        self.constrain_present_velocities()
    }

    /// Arrays of the atoms in the memory of the device, with the forces at the present positions. They are lent until
    /// [`Simulation::take_back_arrays`], and nothing else is done with the simulation meanwhile.
    ///
    /// # Errors
    /// If the device has no memory that others could use, a force is not finite, or the device failed.
    pub fn device_arrays(&mut self) -> Result<DeviceArrays> {
        self.backend.device_arrays()?;
        self.evaluate_forces()?;
        self.backend.device_arrays()
    }

    /// Returns true where a GPU has the atoms in memory that others can use.
    pub fn is_on_gpu(&mut self) -> bool {
        self.backend.device_arrays().is_ok()
    }

    /// Number of the GPU that does all of the work; `None`: CPUs do it, or several GPUs.
    pub fn gpu(&self) -> Option<usize> {
        self.backend.gpu()
    }

    /// Lets the device make batches together with those of other simulations, while the member takes part; returns false
    /// where it works alone. While an observer looks at one of them, or evaluates, the others wait.
    pub fn join(&mut self, member: &Member) -> bool {
        self.backend.join(member)
    }

    /// Returns true where atoms may be moved: without constraints, virtual sites and rigid bodies.
    pub fn atoms_may_be_moved(&self) -> bool {
        !self.tables.topology.has_groups()
    }

    /// Takes the arrays of the atoms back, with what others have written there. Box crossings stay as they are, and so do
    /// velocities of frozen and driven atoms.
    ///
    /// # Errors
    /// If a position or a velocity is not finite, or very far from the box, in which case the atoms are those of
    /// `before`; if the device failed.
    pub fn take_back_arrays(&mut self, changed: ArraysChanged, before: Option<State>) -> Result<()> {
        let taken = self.backend.take_back_arrays(changed);
        if changed == ArraysChanged::Nothing {
            return taken;
        }
        self.disturb();
        let simbox = *self.backend.simbox();
        let near = |r: &Vec3| simbox.to_fractional(*r).iter().all(|s| s.abs() <= MOST_BOXES);
        let state = self.backend.state()?;
        let finite = state.velocity.iter().all(|v| v.iter().all(|x| x.is_finite()));
        if taken.is_ok() && finite && state.position.iter().all(near) {
            if !self.tables.driven.is_empty() {
                let mut state = state.clone();
                self.tables.driven_velocities.hold(&mut state);
                self.backend.set_velocities(&state.velocity)?;
            }
            return self.constrain_present_velocities();
        }
        if let Some(before) = before {
            self.backend.set_state(before)?;
        }
        taken?;
        Err(Error::simulation(
            "positions or velocities written on the device are not finite, or very far away",
        )
        .hint("the atoms are where they were before"))
    }

    /// Positions, velocities and all else of the atoms, in storage order.
    ///
    /// # Errors
    /// If the device failed.
    pub fn state(&mut self) -> Result<State> {
        self.backend.state().cloned()
    }

    /// Box, atoms in the order of their ids, bonds and names as they are now; atoms that are driven are not marked.
    ///
    /// # Errors
    /// If the device failed.
    pub fn system(&mut self) -> Result<System> {
        let mut state = self.state()?;
        state.sort_by_id();
        let (simbox, tables) = (*self.simbox(), &self.tables);
        Ok(System {
            state,
            topology: tables.topology.clone(),
            charges: tables.charges.clone(),
            groups: tables.groups.clone(),
            reference_positions: tables.reference_positions.clone(),
            reference_box: tables.reference_box,
            names: tables.names.clone(),
            ..System::new(simbox, tables.species.clone())
        })
    }

    /// Puts the atoms onto the constraints, on which steps keep them, and their velocities along these.
    pub(super) fn put_on_constraints(&mut self) -> Result<()> {
        if self.tables.topology.constraints.is_empty() {
            return Ok(());
        }
        let mut system = self.system()?;
        system.driven = self.tables.driven_velocities.clone();
        let before = system.state.position.clone();
        self.warnings_of_system.extend(begin_on_constraints(&mut system, self.units)?);
        if system.state.position == before {
            return Ok(());
        }
        follow_atoms(&system.topology.virtual_sites, &system.simbox, &mut system.state);
        self.disturb();
        self.backend.set_state(system.state)?;
        self.constrain_present_velocities()
    }

    /// Removes the components of velocities along constraints.
    pub(super) fn constrain_present_velocities(&mut self) -> Result<()> {
        match self.tables.topology.is_constrained() {
            true => self.backend.constrain_velocities(None),
            false => Ok(()),
        }
    }

    /// The present state with other positions, by id.
    fn moved(&mut self, simbox: &SimBox, positions: &[Vec3]) -> Result<State> {
        if !self.atoms_may_be_moved() {
            return Err(Error::input(
                "positions of atoms in rigid bodies, with constraints or with virtual sites cannot be set",
            )
            .hint("begin another simulation with a file of these positions"));
        }
        self.check_vectors("position", "positions", positions)?;
        let far = |r: &Vec3| simbox.to_fractional(*r).iter().any(|s| s.abs() > MOST_BOXES);
        if let Some(id) = positions.iter().position(far) {
            return Err(Error::input(format!("atom {id} would be more than a million boxes away")));
        }
        let before = *self.backend.simbox();
        let mut state = self.backend.state()?.clone();
        for index in 0..state.len() {
            let position = positions[state.id[index] as usize];
            let along = before.to_comoving(state.unwrapped_position(&before, index));
            let moved = position - simbox.from_comoving(along);
            state.position[index] = position;
            state.image[index] = simbox.image_of(simbox.nearest_image(moved) - moved);
        }
        Ok(state)
    }

    /// Refuses vectors that are not one for each atom, or not finite.
    fn check_vectors(&self, one: &str, all: &str, vectors: &[Vec3]) -> Result<()> {
        let atoms = self.backend.n_atoms();
        if vectors.len() != atoms {
            return Err(Error::input(format!("{} {all} for {atoms} atoms", vectors.len())));
        }
        match vectors.iter().position(|v| !v.iter().all(|x| x.is_finite())) {
            Some(id) => Err(Error::input(format!("the {one} of atom {id} is {:?}", vectors[id]))),
            None => Ok(()),
        }
    }

    /// Forgets what was evaluated: atoms may have changed.
    pub(super) fn disturb(&mut self) {
        self.readiness = Readiness::Stale;
        self.evaluated = None;
        self.thermo = None;
    }
}
