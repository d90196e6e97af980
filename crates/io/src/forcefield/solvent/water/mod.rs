//! Models of water, a file each.

mod spce;
mod tip3p;
mod tip3p_charmm;
mod tip4p_2005;
mod tip4p_ew;

use super::ions::IonSet;
use jostle_core::WaterShape;

/// All models.
pub(super) const ALL: &[&WaterModel] =
    &[&spce::MODEL, &tip3p::MODEL, &tip3p_charmm::MODEL, &tip4p_ew::MODEL, &tip4p_2005::MODEL];

/// Reach of Lennard-Jones forces with which a model, and the force fields around it, were made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Some 0.9 nm, with a correction for what is beyond.
    Corrected,
    /// 1.2 nm, switched off from 1 nm on (CHARMM).
    Switched,
}

impl Reach {
    /// Cut-off in nm.
    pub fn cutoff(self) -> f64 {
        match self {
            Reach::Corrected => 0.9,
            Reach::Switched => 1.2,
        }
    }
}

/// A model of rigid water.
#[derive(Debug, PartialEq)]
pub struct WaterModel {
    /// Its name.
    pub name: &'static str,
    /// The model and its source.
    pub about: &'static str,
    /// Form of the molecule, lengths in nm.
    pub shape: WaterShape,
    /// Charge of a hydrogen.
    pub hydrogen: f64,
    /// Sigma of the oxygens in nm.
    pub sigma: f64,
    /// Epsilon of the oxygens in kJ/mol.
    pub epsilon: f64,
    /// Epsilon in kJ/mol and sigma in nm of the hydrogens; none in most models.
    pub hydrogen_well: [f64; 2],
    /// Reach of its forces.
    pub reach: Reach,
    /// Density at 298 K and 1 bar in g/cm^3, from the source.
    pub density: f64,
    /// Ions whose parameters were made for the model.
    pub ions: Option<&'static IonSet>,
}
