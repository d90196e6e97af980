//! Contract of a device: a few coherent traits whose coarse methods a time step is written in.
//!
//! Every method that does something returns a `Result`; errors are reported by the method that finds them.

mod added;
mod batch;
mod bias_memory;
mod biases;
mod ensemble;
mod profile;
mod settings;
mod shared_memory;
mod snapshot;
mod sums;

use crate::thermostat::Dissipative;
use crate::{
    AtomVector, Error, MolecularVirial, Molecules, Result, SavedVolume, SimBox, State, Thermostat, Vec3,
};
pub use added::AddedForces;
pub use batch::{ClosingKick, NoiseKey, RespaSchedule, Sample, StageTime, StepBatch};
pub use bias_memory::{
    BiasMemory, DensityMemory, HILL_NUMBERS, HillMemory, KERNEL_NUMBERS, KernelMemory, ParticleMemory,
    SpringMemory,
};
pub use biases::{
    AdaptiveForceSettings, BiasCourse, BiasEvaluation, BiasFunction, BiasPlace, BiasRow, CenterBias,
    CenterBiases, CenterFunction, CenterMember, CenterVariable, GridAxis, HillSettings, Installation,
    KernelSettings, MemberPair, PairCount, SAMPLE_BLOCKS, VariableExpression,
};
pub use ensemble::{Ensemble, Member, Message, Presence, Serve};
pub use profile::{KernelTime, ListContents, Profile};
pub use settings::{Algorithm, Precision, Processor, Settings};
pub use shared_memory::{
    ArraysChanged, DeviceArrays, DeviceForce, MemorySpace, NumberType, SharedArray, SharedStream,
};
pub use snapshot::Snapshot;
pub use sums::{Descent, Energies, Evaluate, Kinetic, NeighborFacts, Timings};

/// Checks charges for [`ForceEvaluation::energies_with_charges`] in a system of `n` atoms.
///
/// # Errors
/// If there is not one for each atom.
pub fn check_charges(charges: &[f64], n: usize) -> Result<()> {
    match charges.len() == n {
        true => Ok(()),
        false => Err(Error::input(format!("{} charges for {n} atoms", charges.len()))),
    }
}

/// Atoms and box of a device. They stay there: [`AtomStorage::state`] is an explicit download.
pub trait AtomStorage {
    /// The box.
    fn simbox(&self) -> &SimBox;

    /// How many atoms there are.
    fn n_atoms(&self) -> usize;

    /// All atoms as they are now, in storage order.
    fn state(&mut self) -> Result<&State>;

    /// Writes a vector of each atom to the row of its id.
    ///
    /// # Errors
    /// If there are not as many rows as atoms, or the device failed.
    fn write_by_id(&mut self, vector: AtomVector, rows: &mut [Vec3]) -> Result<()> {
        let simbox = *self.simbox();
        self.state()?.write_by_id(&simbox, vector, rows)
    }

    /// Takes vectors of all atoms as they are now, which another thread may wait for: the device need not.
    ///
    /// # Errors
    /// If the device failed.
    fn snapshot(&mut self, vectors: &[AtomVector]) -> Result<Snapshot> {
        let simbox = *self.simbox();
        Snapshot::of(self.state()?, &simbox, vectors)
    }

    /// Replaces positions and velocities by those of `state` (same atoms, any order) and marks
    /// the neighbour list as stale.
    fn set_state(&mut self, state: State) -> Result<()>;

    /// Other velocities, in the order of [`AtomStorage::state`], those of driven atoms included; the list stays
    /// as it is where the device can do that.
    ///
    /// # Errors
    /// If the device failed.
    fn set_velocities(&mut self, velocities: &[Vec3]) -> Result<()> {
        let mut state = self.state()?.clone();
        state.velocity.copy_from_slice(velocities);
        self.set_state(state)
    }

    /// Positions (in storage order) that the current neighbour list was built around: those of the
    /// atoms then, or where they were expected to be half-way through its life. A checkpoint
    /// keeps them, so that a resumed run goes on with the very same list.
    fn list_positions(&mut self) -> Result<&[Vec3]>;

    /// Goes on from a checkpoint: `state` in the storage order it was saved in, with the
    /// `list_positions` and the skin of that moment. Where the order is that of another kind of
    /// device, the list cannot be the very same, and a new one is built.
    fn restore(&mut self, state: State, list_positions: Vec<Vec3>, skin: f64) -> Result<()>;

    /// Another box with the same periodic axes, and in it the atoms of `state` (the same ones, any
    /// order). Lists and forces are out of date then.
    ///
    /// # Errors
    /// If a cut-off is more than half the smallest width of the new box.
    fn set_box(&mut self, simbox: SimBox, state: State) -> Result<()>;

    /// Arrays of the atoms in the memory of the device, valid until the next call that changes something.
    ///
    /// # Errors
    /// If the device has no memory that others could use.
    fn device_arrays(&mut self) -> Result<DeviceArrays> {
        Err(Error::input("the arrays of this device cannot be shared")
            .hint("arrays on the device need one GPU: choose device = \"cuda\""))
    }

    /// Takes the arrays of [`AtomStorage::device_arrays`] back, after all work on the device, with what others have
    /// written there; after other positions the neighbour list is stale.
    ///
    /// # Errors
    /// If the device failed.
    fn take_back_arrays(&mut self, _changed: ArraysChanged) -> Result<()> {
        Ok(())
    }

    /// Another box likewise; every atom keeps its place relative to the edges, and its velocity.
    ///
    /// # Errors
    /// Errors of [`AtomStorage::set_box`].
    fn deform(&mut self, simbox: SimBox) -> Result<()> {
        let (before, mut state) = (*self.simbox(), self.state()?.clone());
        state.follow(&before, &simbox);
        self.set_box(simbox, state)
    }
}

/// Neighbour lists, forces, energies and virial.
pub trait ForceEvaluation {
    /// The weight of long-range forces in evaluations from now on; 1 at first. Where that is 0, they
    /// cost nothing unless energies are asked for. Energies, and virials but for those of constraints and
    /// of points that follow atoms, are those at weight 1.
    fn set_long_range_weight(&mut self, weight: f64) -> Result<()>;

    /// Another stiffness k of each restraint, in their order, in evaluations from now on.
    ///
    /// # Errors
    /// If there are not so many restraints.
    fn set_stiffness(&mut self, stiffness: &[f64]) -> Result<()>;

    /// Sets the time of evaluations from now on, for fields that depend on it; 0 at first. The steps of a batch
    /// count on from it and leave it at their end.
    ///
    /// # Errors
    /// If the device failed.
    fn set_time(&mut self, time: StageTime) -> Result<()>;

    /// Rebuilds the neighbour list if an atom may be further than half the skin from where the list
    /// has it.
    ///
    /// # Errors
    /// If an atom has left an open box for infinity or a position is not finite (names the atom).
    fn update_neighbors(&mut self) -> Result<()>;

    /// Forces at the current positions; [`ForceEvaluation::update_neighbors`] comes first.
    ///
    /// # Errors
    /// If a force or an energy is not finite (names the atom and the term).
    fn compute_forces(&mut self, evaluate: Evaluate) -> Result<()>;

    /// Adds to the virial of the last evaluation, made with energies, what constraints will bear in the kick
    /// by its forces that is to end a step; velocities stay as they are.
    fn add_constraint_virial(&mut self, kick: ClosingKick) -> Result<()>;

    /// Adds forces that the host has computed to those of the last evaluation, at the same positions and before
    /// the next sub-step; after an evaluation with energies, their energies and their virial, too.
    ///
    /// # Errors
    /// If an atom does not exist, or the device failed.
    fn add_forces(&mut self, added: &AddedForces) -> Result<()>;

    /// Adds forces that others compute in the memory of the device to those of the last evaluation, as
    /// [`ForceEvaluation::add_forces`] does; their energies are left to the caller.
    ///
    /// # Errors
    /// If the device has no such memory, an array of forces has the wrong shape or place, or a force failed.
    fn add_device_forces(&mut self, forces: &mut [&mut dyn DeviceForce]) -> Result<()> {
        match forces {
            [] => Ok(()),
            _ => Err(Error::input("forces in the memory of the device need one GPU")
                .hint("choose device = \"cuda\", or let the force be computed on the host")),
        }
    }

    /// Energies at the positions of the last evaluation with other charges, by id. Forces, energies and virial of
    /// that evaluation stay as they are, and so do the charges; forces that the host adds are left out.
    ///
    /// # Errors
    /// If there is not one charge for each atom, an energy is not finite, or the device failed.
    fn energies_with_charges(&mut self, charges: &[f64]) -> Result<Energies>;

    /// Energies of the last evaluation with [`Evaluate::ForcesAndEnergies`].
    fn energies(&self) -> &Energies;
}

/// Sub-steps of a time step: changes of positions and velocities, and sums over velocities. Each is one launch or
/// one parallel loop; nothing is dispatched per pair.
pub trait SubSteps {
    /// v += dt f / m
    fn kick(&mut self, dt: f64) -> Result<()>;

    /// r += dt v
    fn drift(&mut self, dt: f64) -> Result<()>;

    /// v += dt/2 f / m, then r += dt v: the first half of a velocity-Verlet step, in one pass over
    /// the atoms where the device can.
    fn kick_drift(&mut self, dt: f64) -> Result<()> {
        self.kick(0.5 * dt)?;
        self.drift(dt)
    }

    /// After a drift by `dt`: moves atoms back to where the distances that constraints keep are what
    /// they should be, along the directions they had before, and changes velocities accordingly.
    fn constrain_positions(&mut self, dt: f64) -> Result<()>;

    /// Takes from the velocities what would change a distance that constraints keep. After the kick that
    /// ends a step, with forces that were evaluated with energies, the virial gets that of the
    /// constraints.
    fn constrain_velocities(&mut self, kick: Option<ClosingKick>) -> Result<()>;

    /// v *= factor
    fn scale_velocities(&mut self, factor: f64) -> Result<()>;

    /// v += delta for every atom
    fn shift_velocities(&mut self, delta: Vec3) -> Result<()>;

    /// v = keep v + along f (FIRE's mixing).
    fn mix_velocities(&mut self, keep: f64, along: f64) -> Result<()>;

    /// The exact Ornstein-Uhlenbeck step v = decay v + sqrt((1 - decay^2) kT / m) xi, the O of
    /// BAOAB (Leimkuhler and Matthews, 2013).
    fn ornstein_uhlenbeck(&mut self, decay: f64, thermal_energy: f64, noise: NoiseKey) -> Result<()>;

    /// Friction and noise between pairs of atoms, over one step; [`ForceEvaluation::update_neighbors`] comes
    /// first. Forces are those of the next evaluation then.
    ///
    /// # Errors
    /// If the device does not have it, or it reaches further than all pair forces.
    fn apply_dpd_thermostat(&mut self, thermostat: &Dissipative, noise: NoiseKey) -> Result<()>;

    /// Refuses a thermostat that [`SubSteps::apply_dpd_thermostat`] would refuse, before the first step.
    ///
    /// # Errors
    /// If the device does not have it, or it reaches too far.
    fn check_dpd_thermostat(&self, thermostat: &Dissipative) -> Result<()>;

    /// Returns true where there are contacts of grains, for [`SubSteps::apply_contact_friction`].
    fn has_contacts(&self) -> bool;

    /// Damping and friction at the contacts of grains over one step, on velocities and angular
    /// velocities; [`ForceEvaluation::update_neighbors`] comes first. Forces are those of the next evaluation
    /// then.
    ///
    /// # Errors
    /// If the device does not have it.
    fn apply_contact_friction(&mut self, dt: f64) -> Result<()>;

    /// Returns true where there are walls that reflect atoms, for [`SubSteps::reflect`].
    fn has_reflecting_walls(&self) -> bool;

    /// After a drift: atoms behind walls that reflect them are put at their mirror images, and turn back, see
    /// [`SubStep::Reflect`](crate::thermostat::SubStep::Reflect). Walls are where they are when this part of the step
    /// that ends at the time set last is over.
    fn reflect(&mut self, part: f64) -> Result<()>;

    /// Kinetic energy tensor and momentum now.
    fn kinetic(&mut self) -> Result<Kinetic>;

    /// Sums for a minimiser.
    fn descent(&mut self) -> Result<Descent>;
}

/// Moves of a barostat: molecules as points, moved with the box and, where a trial is refused, back again. What is
/// kept between the steps of a move is an object: [`MolecularVirial`] is used up by the move, which gives the
/// [`SavedVolume`] that undoes it.
pub trait VolumeMove: AtomStorage {
    /// Virial and kinetic energy of molecules as points, with the forces that were evaluated last.
    ///
    /// # Errors
    /// If a molecule is joined to its own image, so that it has no centre.
    fn molecular_virial(&mut self, molecules: &Molecules) -> Result<MolecularVirial> {
        molecular_virial_on_host(self, molecules)
    }

    /// Another box with the same periodic axes, in which the centres of molecules of the last
    /// [`VolumeMove::molecular_virial`] keep their places relative to the edges, and the velocities of
    /// these grow by the factor 1 + `faster`. Lists and forces are out of date then.
    ///
    /// # Errors
    /// Errors of [`AtomStorage::set_box`].
    fn scale_volume(
        &mut self,
        molecular: MolecularVirial,
        simbox: SimBox,
        faster: f64,
    ) -> Result<SavedVolume> {
        scale_volume_on_host(self, molecular, simbox, faster)
    }

    /// Back to the box and the atoms before the last [`VolumeMove::scale_volume`].
    ///
    /// # Errors
    /// Errors of [`AtomStorage::set_box`].
    fn undo_scale(&mut self, before: SavedVolume) -> Result<()> {
        undo_scale_on_host(self, before)
    }
}

/// [`VolumeMove::molecular_virial`] by the atoms of a device, on the host.
///
/// # Errors
/// As there.
pub fn molecular_virial_on_host(
    device: &mut (impl AtomStorage + ?Sized),
    molecules: &Molecules,
) -> Result<MolecularVirial> {
    let simbox = *device.simbox();
    MolecularVirial::on_host(molecules, &simbox, device.state()?.clone())
}

/// [`VolumeMove::scale_volume`] by the atoms of a device, on the host.
///
/// # Errors
/// As there.
pub fn scale_volume_on_host(
    device: &mut (impl AtomStorage + ?Sized),
    molecular: MolecularVirial,
    simbox: SimBox,
    faster: f64,
) -> Result<SavedVolume> {
    let before = *device.simbox();
    let Some([state, after]) = molecular.scaled(&before, &simbox, faster) else {
        return Err(Error::simulation("molecules whose virial another device has cannot be moved"));
    };
    device.set_box(simbox, after)?;
    Ok(SavedVolume { simbox: before, state: Some(state) })
}

/// [`VolumeMove::undo_scale`] by the atoms of a device, on the host.
///
/// # Errors
/// As there.
pub fn undo_scale_on_host(device: &mut (impl AtomStorage + ?Sized), before: SavedVolume) -> Result<()> {
    let SavedVolume { simbox, state } = before;
    let Some(state) = state else {
        return Err(Error::simulation("what another device has kept cannot be taken back"));
    };
    device.set_box(simbox, state)
}

/// Facts about a device and its work, for people and for the report.
pub trait DeviceReport {
    /// Description of the device, for people: `"CPU, 2 threads, AVX-512, mixed precision"`.
    fn describe(&self) -> String;

    /// Where the time went so far.
    fn timings(&self) -> Timings;

    /// Facts about the neighbour list.
    fn neighbor_facts(&self) -> NeighborFacts;

    /// Makes work from now on with each kernel alone on the device, and times it: slower, with the same results.
    ///
    /// # Errors
    /// If the device is not one GPU.
    fn start_profile(&mut self) -> Result<()> {
        Err(Error::input("a profile is of the kernels of one GPU, for one process").hint("--device cuda"))
    }

    /// Ends that, and tells what it found.
    ///
    /// # Errors
    /// If no profile was started, or the device fails.
    fn end_profile(&mut self) -> Result<Profile> {
        Err(Error::input("no profile was started"))
    }
}

/// A device that holds atoms and moves them. The contract is cut by job; nothing physical has a default that does
/// nothing, so that a wrapper that forgets a sub-step does not compile.
pub trait Backend: AtomStorage + ForceEvaluation + SubSteps + VolumeMove + DeviceReport + Send {
    /// Makes many steps on its own: the same steps, with the same random numbers, as the sub-steps
    /// would make one by one, and the same however a run is cut into batches. The forces of the last
    /// evaluation are those at its start. `thermostat` is left as the last step leaves it.
    ///
    /// `None`, at once: this device is driven sub-step by sub-step; or such a batch is, where long-range
    /// forces act at some steps only and energies are asked for.
    ///
    /// # Errors
    /// Errors of [`ForceEvaluation::update_neighbors`] and [`ForceEvaluation::compute_forces`], with the step at
    /// which it happened where that is known.
    fn run_steps(&mut self, _batch: &StepBatch, _thermostat: &mut Thermostat) -> Result<Option<Vec<Sample>>> {
        Ok(None)
    }

    /// Makes many steps likewise, with forces that others compute in the memory of the device.
    ///
    /// # Errors
    /// As for [`Backend::run_steps`] and [`ForceEvaluation::add_device_forces`].
    fn run_steps_with(
        &mut self,
        _batch: &StepBatch,
        _thermostat: &mut Thermostat,
        _forces: &mut [&mut dyn DeviceForce],
    ) -> Result<Option<Vec<Sample>>> {
        Ok(None)
    }

    /// Place where biases are evaluated: this device, or the host, which adds their forces then.
    fn bias_place(&mut self) -> BiasPlace<'_>;

    /// Number of the GPU that does all of the work; `None`: CPUs do it, or several GPUs.
    fn gpu(&self) -> Option<usize> {
        None
    }

    /// Makes batches together with other replicas while the member takes part; returns false where the device works
    /// alone. Every replica makes the steps that it would make alone, but for rounding.
    fn join(&mut self, _member: &Member) -> bool {
        false
    }

    /// Duration of the last batch in seconds, on which replicas that go together agree, so that their next batches have as
    /// many steps; `None` where the device works alone.
    fn agreed_duration(&self) -> Option<f64> {
        None
    }
}
