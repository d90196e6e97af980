//! The kinds of analysis: one file each and one line in [`ALL`], from which the command line, its
//! help and the tests follow.

mod bond_order;
mod clusters;
mod conductivity;
mod density_profile;
mod dielectric;
mod diffusion;
mod first_peak;
mod gyration;
mod heat_capacity;
mod histograms;
mod lindemann;
mod minkowski;
mod radial;
mod rmsd;
mod shells;
mod structure_factor;
mod thermal_conductivity;
mod van_hove;
mod velocity;
mod viscosity;

pub use bond_order::{averaged_q6, neighbor_distance};

use crate::limits;
use crate::measure::Measure;
use crate::settings::{MeasureSettings, Setting};
use crate::view::SystemInfo;
use jostle_core::Result;

/// Quantity that a measure takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observable {
    /// Positions, wrapped and on unbroken paths: the frames of a trajectory.
    Positions,
    /// Positions with the molecules that bonds join atoms to, where these are known: frames beside a run, or with an input.
    Molecules,
    /// Velocities alone: frames that have them.
    Velocities,
    /// Energies and pressure of the system as a whole: the rows of `thermo.csv`.
    Whole,
    /// Energies and pressure with the dipole moment of all molecules: a run, or frames of which charges and
    /// molecules are known.
    Dipole,
    /// Energies with the electric current of all charges: a run, or frames with velocities of which charges are known.
    Current,
    /// Energies with the heat current: a run, or frames with velocities of which forces are known.
    HeatCurrent,
}

impl Observable {
    /// Returns true where it needs the atoms, for itself or for a sum over charges or energies.
    pub fn atoms(self) -> bool {
        self != Observable::Whole
    }

    /// Returns true where it is the positions of atoms, with their molecules or without.
    pub fn positions(self) -> bool {
        matches!(self, Observable::Positions | Observable::Molecules)
    }

    /// Returns true where it is a sum over charges.
    pub fn charges(self) -> bool {
        matches!(self, Observable::Dipole | Observable::Current)
    }

    /// Returns true where it is one of the system as a whole, which cannot be restricted to a part of the atoms.
    pub fn is_of_whole(self) -> bool {
        matches!(self, Observable::Whole | Observable::HeatCurrent) || self.charges()
    }

    /// Returns true where it needs energies.
    pub fn energies(self) -> bool {
        self.is_of_whole()
    }
}

/// Relation of the frames of a measure to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Frames {
    /// Samples, each for itself.
    EachAlone,
    /// Moments of one path of the atoms: they are compared with each other.
    AlongPath,
}

/// A kind of analysis.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name on the command line.
    pub name: &'static str,
    /// Description in one line.
    pub about: &'static str,
    /// Quantity that it takes.
    pub observable: Observable,
    /// Relation of its frames to each other.
    pub frames: Frames,
    /// Settings by name.
    pub settings: &'static [Setting],
    /// Makes a measure.
    new: fn(&SystemInfo, &MeasureSettings) -> Result<Box<dyn Measure>>,
}

impl Kind {
    /// A measure of this kind.
    ///
    /// # Errors
    /// If the settings do not fit the system, its box has no volume, or it would take too much memory or
    /// time.
    pub fn measure(&self, system_info: &SystemInfo, settings: &MeasureSettings) -> Result<Box<dyn Measure>> {
        limits::sound(&system_info.simbox)?;
        (self.new)(system_info, settings)
    }
}

/// All kinds.
pub static ALL: &[Kind] = &[
    radial::KIND,
    structure_factor::KIND,
    diffusion::KIND,
    velocity::KIND,
    van_hove::KIND,
    density_profile::KIND,
    bond_order::KIND,
    lindemann::KIND,
    clusters::KIND,
    gyration::KIND,
    rmsd::KIND,
    minkowski::KIND,
    viscosity::KIND,
    conductivity::KIND,
    thermal_conductivity::KIND,
    heat_capacity::KIND,
    dielectric::KIND,
];

/// The kind with this name.
pub fn find(name: &str) -> Option<&'static Kind> {
    ALL.iter().find(|k| k.name == name)
}
