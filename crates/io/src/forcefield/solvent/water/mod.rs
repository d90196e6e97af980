//! Models of water, a file each.

mod spce;
mod tip3p;
mod tip4p_2005;
mod tip4p_ew;

use super::ions::IonSet;
use jostle_core::WaterShape;

/// All models.
pub(super) const ALL: &[&WaterModel] = &[&spce::MODEL, &tip3p::MODEL, &tip4p_ew::MODEL, &tip4p_2005::MODEL];

/// A model of rigid water with one Lennard-Jones force, between oxygens.
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
    /// Density at 298 K and 1 bar in g/cm^3, from the source.
    pub density: f64,
    /// Ions whose parameters were made for the model.
    pub ions: Option<&'static IonSet>,
}
