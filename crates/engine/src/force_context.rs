//! Facts that custom forces are given, and those that they give back.

use jostle_core::{SimBox, SymTensor, Vec3};
use serde::{Deserialize, Serialize};

/// Presence of the energy of a custom force in the potential energy and in `thermo.csv`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnergyColumn {
    /// The force has an energy.
    Present,
    /// The force has no potential; its energy is zero.
    Absent,
}

/// Choice of atoms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtomChoice<'a> {
    /// All atoms, in the order of their ids.
    All,
    /// Atoms with these ids.
    Ids(&'a [u32]),
}

impl AtomChoice<'_> {
    pub(crate) fn count(&self, n_atoms: usize) -> usize {
        match self {
            AtomChoice::All => n_atoms,
            AtomChoice::Ids(ids) => ids.len(),
        }
    }
}

/// Configuration of the atoms of a custom force.
#[derive(Debug, Clone, Copy)]
pub struct Configuration<'a> {
    /// The box.
    pub simbox: &'a SimBox,
    /// Unwrapped positions, of atoms that have never been wrapped into the box, in the order of
    /// [`crate::CustomForce::atoms`].
    pub positions: &'a [Vec3],
    /// Number of the step to whose end the positions belong, counted over all stages.
    pub step: u64,
    /// Simulated time at its end.
    pub time: f64,
}

/// Energy and virial of a custom force.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ForceSums {
    /// The energy.
    pub energy: f64,
    /// Virial, as [`jostle_core::Energies::virial`].
    pub virial: SymTensor,
}

/// Stage of a run, as custom forces need it.
#[derive(Debug, Clone, PartialEq)]
pub struct StageSpan {
    /// Name.
    pub name: String,
    /// Number of steps before it, over all stages.
    pub first_step: u64,
    /// Simulated time at its beginning.
    pub start_time: f64,
    /// Length of a time step; `None` where energy is minimised.
    pub timestep: Option<f64>,
    /// Beginning, or continuation of a stage that was interrupted.
    pub entry: StageEntry,
}

/// Entry into a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StageEntry {
    /// The stage begins.
    Begun,
    /// The stage was interrupted and goes on.
    Continued,
}

/// State of a custom force in a checkpoint.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct SavedForce {
    pub name: String,
    pub state: Vec<u8>,
}

/// Force whose biases a device has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum TakenBiases {
    /// None.
    #[default]
    None,
    /// Biases of the force of this number.
    Force(usize),
}
