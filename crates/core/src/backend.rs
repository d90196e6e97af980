//! What a device must be able to do: the dozen coarse verbs a time step is written in.

use crate::thermostat::Dissipative;
use crate::{
    Error, MolecularVirial, Molecules, Result, SavedVolume, SimBox, State, SymTensor, Thermostat, Vec3,
};

/// The arithmetic of the forces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// Pair arithmetic in f32 on coordinates relative to something near; positions, velocities
    /// and sums in f64.
    #[default]
    Mixed,
    /// Everything in f64.
    Double,
}

/// How a device looks for pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Algorithm {
    /// What is fastest here.
    #[default]
    Auto,
    /// On the CPU: cluster pair lists, rebuilt by displacement.
    Clusters,
    /// On the CPU: every pair, one after the other, in f64: slow, plain, the reference.
    Reference,
    /// On the GPU: lists of tiles of atoms that are near in space, rebuilt by displacement.
    Tiles,
    /// On the GPU: a list of neighbours for each atom, rebuilt by displacement.
    List,
    /// On the GPU: no lists; every atom looks into the cells around it.
    Cells,
    /// On the GPU: every pair, tile by tile.
    AllPairs,
}

impl Algorithm {
    /// All of them, in the order of the documentation.
    pub const ALL: [Algorithm; 7] = [
        Algorithm::Auto,
        Algorithm::Clusters,
        Algorithm::Reference,
        Algorithm::Tiles,
        Algorithm::List,
        Algorithm::Cells,
        Algorithm::AllPairs,
    ];

    /// The name in an input file.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Auto => "auto",
            Algorithm::Clusters => "clusters",
            Algorithm::Reference => "reference",
            Algorithm::Tiles => "tiles",
            Algorithm::List => "list",
            Algorithm::Cells => "cells",
            Algorithm::AllPairs => "all-pairs",
        }
    }

    /// One line for people.
    pub fn about(self) -> &'static str {
        match self {
            Algorithm::Auto => "what is fastest here",
            Algorithm::Clusters => "CPU: cluster pair lists, rebuilt by displacement",
            Algorithm::Reference => "CPU: every pair in f64, slow, plain",
            Algorithm::Tiles => "GPU: lists of tiles of atoms, rebuilt by displacement",
            Algorithm::List => "GPU: a list of neighbours for each atom, rebuilt by displacement",
            Algorithm::Cells => "GPU: no lists, every atom looks into the cells around it",
            Algorithm::AllPairs => "GPU: every pair, tile by tile",
        }
    }

    /// The kind of device that has it; `None`: every one.
    pub fn processor(self) -> Option<Processor> {
        match self {
            Algorithm::Auto => None,
            Algorithm::Clusters | Algorithm::Reference => Some(Processor::Cpu),
            Algorithm::Tiles | Algorithm::List | Algorithm::Cells | Algorithm::AllPairs => {
                Some(Processor::Gpu)
            }
        }
    }

    /// Refuses an algorithm that another kind of device has.
    ///
    /// # Errors
    /// If this kind of device does not have it.
    pub fn check(self, here: Processor) -> Result<()> {
        let (there, device, other) = match (self.processor(), here) {
            (Some(Processor::Cpu), Processor::Gpu) => ("CPU", "cpu", "GPU"),
            (Some(Processor::Gpu), Processor::Cpu) => ("GPU", "cuda", "CPU"),
            _ => return Ok(()),
        };
        let name = self.name();
        Err(Error::input(format!(
            "algorithm = \"{name}\" is one of the {there}'s, and this runs on the {other}"
        ))
        .hint(format!("leave \"algorithm\" out, or choose device = \"{device}\"")))
    }
}

/// The kinds of devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processor {
    /// The processor of this machine.
    Cpu,
    /// A graphics processor.
    Gpu,
}

/// How a run is computed; never changes the physics.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Settings {
    /// CPU threads; `None` takes all cores.
    pub threads: Option<usize>,
    /// The arithmetic of the forces.
    pub precision: Precision,
    /// Whether results must not depend on the number of threads, nor on a restart.
    pub reproducible: bool,
    /// How pairs are found.
    pub algorithm: Algorithm,
    /// How far beyond the cut-off neighbour lists reach; `None` tunes it while running.
    pub skin: Option<f64>,
}

/// What a force evaluation should produce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Evaluate {
    /// Forces only: the fast path of nearly every step.
    Forces,
    /// Forces, energies by term and the virial.
    ForcesAndEnergies,
}

/// Energies by term and the virial of one evaluation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Energies {
    /// Energy of each force term in the order of the input, long-range corrections included.
    pub terms: Vec<f64>,
    /// Virial tensor, W_ab = sum over pairs of d_a f_b, long-range corrections included; the
    /// pressure is (2 K + W) / V with K the kinetic tensor.
    pub virial: SymTensor,
}

impl Energies {
    /// The potential energy.
    pub fn potential(&self) -> f64 {
        self.terms.iter().sum()
    }
}

/// Sums over velocities.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Kinetic {
    /// Kinetic energy tensor, sum of m v_a v_b / 2.
    pub tensor: SymTensor,
    /// Total momentum.
    pub momentum: Vec3,
    /// Energy of spheres that turn, not a part of the tensor; `None` where nothing turns.
    pub rotation: Option<f64>,
}

impl Kinetic {
    /// The kinetic energy, without that of rotation.
    pub fn energy(&self) -> f64 {
        self.tensor[0] + self.tensor[1] + self.tensor[2]
    }
}

/// Sums that a minimiser steers by.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Descent {
    /// Sum of f . v.
    pub power: f64,
    /// Sum of f . f.
    pub force_square: f64,
    /// Sum of v . v.
    pub velocity_square: f64,
    /// The largest force on one atom.
    pub largest_force: f64,
    /// The largest speed of one atom.
    pub largest_speed: f64,
}

/// Which random numbers to use: every atom's noise is a function of this and of its id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoiseKey {
    /// The seed of the run.
    pub seed: u64,
    /// The step the noise belongs to.
    pub step: u64,
}

/// A batch of steps without measurements in between: a device may make them wholly on its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepBatch {
    /// The number of its first step, counted over all stages.
    pub first_step: u64,
    /// How many steps it has.
    pub steps: u64,
    /// How long each of them is.
    pub timestep: f64,
    /// The seed of everything random.
    pub seed: u64,
    /// A [`Sample`] is taken after every so many of its steps; 0: none. Divides `steps`.
    pub sample_every: u64,
    /// What is evaluated at its last step, so that [`Backend::energies`] has it.
    pub evaluate: Evaluate,
    /// The steps at which long-range forces act.
    pub long_range: RespaSchedule,
}

/// The steps at which long-range forces act: forces of the long range change slowly, so that they may act
/// in impulses (M. Tuckerman, B. J. Berne and G. J. Martyna, J. Chem. Phys. 97 (1992) 1990).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RespaSchedule {
    /// They act at every so many steps, so many times as strongly; 1: always.
    pub every: u64,
    /// Steps that were made before, counted from one at which they act.
    pub done: u64,
}

impl RespaSchedule {
    /// They act at all steps.
    pub const ALWAYS: RespaSchedule = RespaSchedule { every: 1, done: 0 };

    /// How strongly they act after so many more steps.
    pub fn after(&self, steps: u64) -> f64 {
        if (self.done + steps).is_multiple_of(self.every) { self.every as f64 } else { 0.0 }
    }
}

/// What was measured in the middle of a [`StepBatch`].
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    /// Energies and virial.
    pub energies: Energies,
    /// Kinetic energy and momentum.
    pub kinetic: Kinetic,
    /// The thermostat as it was then.
    pub thermostat: Thermostat,
}

/// Where the time of a run went, in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Timings {
    /// Pair forces; all of it for a device that makes many steps on its own and cannot tell.
    pub pair: f64,
    /// Neighbour lists, sorting included.
    pub neighbors: f64,
    /// Moving atoms and sums over velocities.
    pub integrate: f64,
}

/// Facts about the neighbour list.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct NeighborFacts {
    /// How often it was built.
    pub builds: u64,
    /// The skin now.
    pub skin: f64,
    /// Whether it stays as it is: a better one is not being looked for.
    pub settled: bool,
    /// Bytes the engine uses for everything.
    pub bytes: usize,
}

/// The kick that ends a step with constraints, and the drift before it.
///
/// The sum of arm times impulse by which velocities are corrected after the kick is the virial of the
/// constraints over two times: what they bear of the forces over that of the kick, and what turns
/// velocities from chords of the drift into tangents over half of that of the drift. The latter is
/// what velocities would be corrected by without the kick.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClosingKick {
    /// How long it was.
    pub time: f64,
    /// How long the drift was after which positions were corrected: a step, or a part of one.
    pub drift: f64,
}

impl ClosingKick {
    /// By how much more the part of turning counts; 0 after the drift of a whole step.
    pub fn turning(&self) -> f64 {
        2.0 * self.time / self.drift - 1.0
    }

    /// The virial from these sums: after the kick, and without it.
    pub fn virial(&self, kicked: SymTensor, unkicked: SymTensor) -> SymTensor {
        std::array::from_fn(|k| (kicked[k] + self.turning() * unkicked[k]) / self.time)
    }
}

/// A device that holds the atoms and moves them. Every verb is one launch or one parallel loop;
/// nothing is dispatched per pair. State stays on the device: [`Backend::state`] is an explicit
/// download.
///
/// Verbs that only move data cannot fail on their own; a fault on the device is reported by the
/// next verb that returns a `Result`.
pub trait Backend: Send {
    /// What the device is, for people: `"CPU, 2 threads, AVX-512, mixed precision"`.
    fn describe(&self) -> String;

    /// The box.
    fn simbox(&self) -> &SimBox;

    /// How many atoms there are.
    fn n_atoms(&self) -> usize;

    /// All atoms as they are now, in storage order.
    fn state(&mut self) -> Result<&State>;

    /// Replaces positions and velocities by those of `state` (same atoms, any order) and marks
    /// the neighbour list as stale.
    fn set_state(&mut self, state: State) -> Result<()>;

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

    /// Another box likewise; every atom keeps its place relative to the edges, and its velocity.
    ///
    /// # Errors
    /// Those of [`Backend::set_box`].
    fn deform(&mut self, simbox: SimBox) -> Result<()> {
        let (before, mut state) = (*self.simbox(), self.state()?.clone());
        state.follow(&before, &simbox);
        self.set_box(simbox, state)
    }

    /// Virial and kinetic energy of molecules as points, with the forces that were evaluated last.
    ///
    /// # Errors
    /// If a molecule is joined to its own image, so that it has no centre.
    fn molecular_virial(&mut self, molecules: &Molecules) -> Result<MolecularVirial> {
        let simbox = *self.simbox();
        MolecularVirial::on_host(molecules, &simbox, self.state()?.clone())
    }

    /// Another box with the same periodic axes, in which the centres of molecules of the last
    /// [`Backend::molecular_virial`] keep their places relative to the edges, and the velocities of
    /// these grow by the factor 1 + `faster`. Lists and forces are out of date then.
    ///
    /// # Errors
    /// Those of [`Backend::set_box`].
    fn scale_volume(
        &mut self,
        molecular: MolecularVirial,
        simbox: SimBox,
        faster: f64,
    ) -> Result<SavedVolume> {
        let before = *self.simbox();
        let Some([state, after]) = molecular.scaled(&before, &simbox, faster) else {
            return Err(Error::simulation("molecules whose virial another device has cannot be moved"));
        };
        self.set_box(simbox, after)?;
        Ok(SavedVolume { simbox: before, state: Some(state) })
    }

    /// Back to the box and the atoms before the last [`Backend::scale_volume`].
    ///
    /// # Errors
    /// Those of [`Backend::set_box`].
    fn undo_scale(&mut self, before: SavedVolume) -> Result<()> {
        let SavedVolume { simbox, state } = before;
        let Some(state) = state else {
            return Err(Error::simulation("what another device has kept cannot be taken back"));
        };
        self.set_box(simbox, state)
    }

    /// v += dt f / m
    fn kick(&mut self, dt: f64);

    /// r += dt v
    fn drift(&mut self, dt: f64);

    /// v += dt/2 f / m, then r += dt v: the first half of a velocity-Verlet step, in one pass over
    /// the atoms where the device can.
    fn kick_drift(&mut self, dt: f64) {
        self.kick(0.5 * dt);
        self.drift(dt);
    }

    /// After a drift by `dt`: moves atoms back to where the distances that constraints keep are what
    /// they should be, along the directions they had before, and changes velocities accordingly.
    fn constrain_positions(&mut self, _dt: f64) {}

    /// Takes from the velocities what would change a distance that constraints keep. After the kick that
    /// ends a step, with forces that were evaluated with energies, the virial gets that of the
    /// constraints.
    fn constrain_velocities(&mut self, _kick: Option<ClosingKick>) {}

    /// Adds to the virial of the last evaluation, made with energies, what constraints will bear in the kick
    /// by its forces that is to end a step; velocities stay as they are.
    fn add_constraint_virial(&mut self, _kick: ClosingKick) {}

    /// The weight of long-range forces in evaluations from now on; 1 at first. Where that is 0, they
    /// cost nothing unless energies are asked for. Energies, and virials but for those of constraints and
    /// of points that follow atoms, are those at weight 1.
    fn set_long_range_weight(&mut self, weight: f64);

    /// Another stiffness k of each restraint, in their order, in evaluations from now on.
    ///
    /// # Errors
    /// If the device has none, or not so many.
    fn set_stiffness(&mut self, _stiffness: &[f64]) -> Result<()> {
        Err(Error::device("this device has no restraints").hint("set device = \"cpu\""))
    }

    /// Rebuilds the neighbour list if an atom may be further than half the skin from where the list
    /// has it.
    ///
    /// # Errors
    /// If an atom has left an open box for infinity or a position is not finite (names the atom).
    fn update_neighbors(&mut self) -> Result<()>;

    /// Forces at the current positions; [`Backend::update_neighbors`] comes first.
    ///
    /// # Errors
    /// If a force or an energy is not finite (names the atom and the term).
    fn compute_forces(&mut self, evaluate: Evaluate) -> Result<()>;

    /// Reports now that a verb without a result has found something wrong, in place of the next verb that has
    /// one.
    ///
    /// # Errors
    /// If a force that was to move an atom is not finite (names the atom and the term).
    fn check(&mut self) -> Result<()> {
        Ok(())
    }

    /// Energies of the last evaluation with [`Evaluate::ForcesAndEnergies`].
    fn energies(&self) -> &Energies;

    /// Kinetic energy tensor and momentum now.
    fn kinetic(&mut self) -> Kinetic;

    /// v *= factor
    fn scale_velocities(&mut self, factor: f64);

    /// v += delta for every atom
    fn shift_velocities(&mut self, delta: Vec3);

    /// The exact Ornstein-Uhlenbeck step v = decay v + sqrt((1 - decay^2) kT / m) xi, the O of
    /// BAOAB (Leimkuhler and Matthews, 2013).
    fn ornstein_uhlenbeck(&mut self, decay: f64, thermal_energy: f64, noise: NoiseKey);

    /// Friction and noise between pairs of atoms, over one step; [`Backend::update_neighbors`] comes
    /// first. Forces are those of the next evaluation then.
    ///
    /// # Errors
    /// If the device does not have it, or it reaches further than all pair forces.
    fn apply_dpd_thermostat(&mut self, _thermostat: &Dissipative, _noise: NoiseKey) -> Result<()> {
        Err(Error::device("this device has no friction and noise between pairs of atoms")
            .hint("set device = \"cpu\""))
    }

    /// Whether there are contacts of grains, for [`Backend::apply_contact_friction`].
    fn has_contacts(&self) -> bool {
        false
    }

    /// Damping and friction at the contacts of grains over one step, on velocities and angular
    /// velocities; [`Backend::update_neighbors`] comes first. Forces are those of the next evaluation
    /// then.
    ///
    /// # Errors
    /// If the device does not have it.
    fn apply_contact_friction(&mut self, _dt: f64) -> Result<()> {
        Err(Error::device("this device has no friction of grains").hint("set device = \"cpu\""))
    }

    /// Makes many steps on its own: the same steps, with the same random numbers, as the verbs
    /// would make one by one, and the same however a run is cut into batches. The forces of the last
    /// evaluation are those at its start. `thermostat` is left as the last step leaves it.
    ///
    /// `None`, at once: this device is driven by the verbs, step by step; or such a batch is, where long-range
    /// forces act at some steps only and energies are asked for.
    ///
    /// # Errors
    /// Those of [`Backend::update_neighbors`] and [`Backend::compute_forces`], with the step at
    /// which it happened where that is known.
    fn run_steps(&mut self, _batch: &StepBatch, _thermostat: &mut Thermostat) -> Result<Option<Vec<Sample>>> {
        Ok(None)
    }

    /// Sums for a minimiser.
    fn descent(&mut self) -> Descent;

    /// Other velocities, in the order of [`Backend::state`], those of driven atoms included; the list stays
    /// as it is where the device can do that.
    ///
    /// # Errors
    /// If the device failed.
    fn set_velocities(&mut self, velocities: &[Vec3]) -> Result<()> {
        let mut state = self.state()?.clone();
        state.velocity.copy_from_slice(velocities);
        self.set_state(state)
    }

    /// v = keep v + along f (FIRE's mixing).
    fn mix_velocities(&mut self, keep: f64, along: f64);

    /// Where the time went so far.
    fn timings(&self) -> Timings;

    /// Facts about the neighbour list.
    fn neighbor_facts(&self) -> NeighborFacts;
}
