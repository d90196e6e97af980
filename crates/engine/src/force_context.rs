//! Facts that custom forces are given, and those that they give back.

use jostle_core::{SimBox, SymTensor, Vec3};
use jostle_potentials::Forces;
use jostle_sampling::frame::TermEnergies;
use serde::{Deserialize, Serialize};
use std::ops::{Deref, DerefMut};

/// Presence of the energy of a custom force in the potential energy and in `thermo.csv`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnergyColumn {
    /// The force has an energy.
    Present,
    /// The force has no potential; its energy is zero.
    Absent,
}

/// Fields of a device, which may depend on time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldsInTime {
    /// They do not.
    Constant,
    /// They do.
    Changing,
}

impl FieldsInTime {
    /// Dependence of the fields of some forces.
    pub fn of(forces: &Forces) -> Self {
        if forces.depend_on_time() { FieldsInTime::Changing } else { FieldsInTime::Constant }
    }
}

/// Choice of atoms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtomChoice<'a> {
    /// All atoms, in the order of their ids.
    All,
    /// Atoms with these ids; none while a force rests.
    Ids(&'a [u32]),
    /// None: the force is one on the box, or has energies of other forces alone.
    Box,
}

impl AtomChoice<'_> {
    pub(crate) fn count(&self, n_atoms: usize) -> usize {
        match self {
            AtomChoice::All => n_atoms,
            AtomChoice::Ids(ids) => ids.len(),
            AtomChoice::Box => 0,
        }
    }
}

/// Forces on the chosen atoms, zero until one is written. Where none is, nothing is added to the forces of the device.
#[derive(Debug, Default)]
pub struct AtomForces {
    rows: Vec<Vec3>,
    written: Written,
}

/// Change of forces since they were zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Written {
    /// None: all are zero.
    #[default]
    Nothing,
    /// Some may have been written.
    Some,
}

impl AtomForces {
    /// Makes all forces zero, and as many as there are atoms.
    pub(crate) fn reset(&mut self, n: usize) {
        if self.written == Written::Some || self.rows.len() != n {
            self.rows.clear();
            self.rows.resize(n, Vec3::ZERO);
            self.written = Written::Nothing;
        }
    }

    /// Returns true where all forces are zero, since none was written.
    pub(crate) fn is_untouched(&self) -> bool {
        self.written == Written::Nothing
    }

    /// Moves the forces to the end of a list.
    pub(crate) fn move_to(&mut self, forces: &mut Vec<Vec3>) {
        match forces.is_empty() {
            true => std::mem::swap(forces, &mut self.rows),
            false => forces.extend_from_slice(&self.rows),
        }
        self.written = Written::Some;
    }
}

impl Deref for AtomForces {
    type Target = [Vec3];

    fn deref(&self) -> &[Vec3] {
        &self.rows
    }
}

impl DerefMut for AtomForces {
    fn deref_mut(&mut self) -> &mut [Vec3] {
        self.written = Written::Some;
        &mut self.rows
    }
}

/// Use that a custom force makes of what the device has computed, for which every step evaluates energies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PotentialUse {
    /// None.
    None,
    /// It depends on energies by term.
    Energies,
    /// It scales the forces.
    Forces,
}

/// Energies, forces and virial of a device, without those of custom forces.
#[derive(Debug, Default)]
pub struct Potential {
    /// Energies by term.
    pub energies: TermEnergies,
    /// Virial.
    pub virial: SymTensor,
    /// Forces on all atoms, by id; empty where no custom force scales them.
    pub forces: Vec<Vec3>,
}

/// Configuration of the atoms of a custom force.
#[derive(Debug, Clone, Copy)]
pub struct Configuration<'a> {
    /// The box.
    pub simbox: &'a SimBox,
    /// Unwrapped positions, of atoms that have never been wrapped into the box, in the order of
    /// [`crate::CustomForce::atoms`]; empty where they are in [`crate::CustomForce::position_rows`].
    pub positions: &'a [Vec3],
    /// Number of the step to whose end the positions belong, counted over all stages.
    pub step: u64,
    /// Simulated time at its end.
    pub time: f64,
    /// Energies and forces of the device, where [`crate::CustomForce::potential_use`] asks for them.
    pub potential: Option<&'a Potential>,
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

/// Time of an exchange with other runs: after a step of this number, or at the end of a stage after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// A step, of which others follow.
    Step(u64),
    /// The last step of a stage.
    Stage(u64),
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
