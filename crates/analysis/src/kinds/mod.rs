//! The kinds of analysis: one file each and one line in [`ALL`], from which the command line, its
//! help and the tests follow.

mod bond_order;
mod clusters;
mod density_profile;
mod dielectric;
mod diffusion;
mod gyration;
mod heat_capacity;
mod histograms;
mod lindemann;
mod minkowski;
mod radial;
mod rmsd;
mod shells;
mod structure_factor;
mod van_hove;
mod velocity;
mod viscosity;

pub use bond_order::{averaged_q6, neighbor_distance};

use crate::limits;
use crate::report::Results;
use crate::saved_state::SavedState;
use crate::settings::{MeasureSettings, Setting};
use crate::view::{SystemInfo, View};
use jostle_core::Result;

/// Takes frames, gives results.
pub trait Measure: Send {
    /// Takes the next frame.
    ///
    /// # Errors
    /// If the frame lacks what is measured: velocities, times, a volume, a pressure.
    fn add(&mut self, frame: &View) -> Result<()>;

    /// Its state from one frame to the next. A run keeps it in its checkpoints, so
    /// that a resumed one finds what it would have found without a stop.
    fn saved_state(&mut self) -> Vec<&mut dyn SavedState>;

    /// What has been found so far.
    ///
    /// # Errors
    /// If there were too few frames.
    fn results(&self) -> Result<Results>;
}

/// What a measure looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Observable {
    /// Positions, wrapped and on unbroken paths: the frames of a trajectory.
    Positions,
    /// Velocities alone: frames that have them.
    Velocities,
    /// Energies and pressure of the system as a whole: the rows of `thermo.csv`.
    Whole,
    /// The same with the dipole moment of all molecules: a run, or frames of which charges and molecules
    /// are known.
    Dipole,
}

impl Observable {
    /// Whether it looks at the atoms, or has somebody do so.
    pub fn atoms(self) -> bool {
        self != Observable::Whole
    }

    /// Whether it wants to know energies.
    pub fn energies(self) -> bool {
        matches!(self, Observable::Whole | Observable::Dipole)
    }
}

/// A kind of analysis.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// What it looks at.
    pub observable: Observable,
    /// What can be set.
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
    heat_capacity::KIND,
    dielectric::KIND,
];

/// The kind with this name.
pub fn find(name: &str) -> Option<&'static Kind> {
    ALL.iter().find(|k| k.name == name)
}
