//! TIP3P: W. L. Jorgensen, J. Chandrasekhar, J. D. Madura, R. W. Impey and M. L. Klein, J. Chem. Phys. 79 (1983) 926.

use super::{Reach, WaterModel};
use crate::forcefield::solvent::ions;
use jostle_core::WaterShape;

pub(super) const MODEL: WaterModel = WaterModel {
    name: "tip3p",
    about: "TIP3P, three sites, without forces on hydrogens (Jorgensen 1983)",
    shape: WaterShape { bond_length: 0.09572, angle: 104.52, site_distance: None },
    hydrogen: 0.417,
    sigma: 0.315061,
    epsilon: 0.1521 * 4.184,
    hydrogen_well: [0.0; 2],
    reach: Reach::Corrected,
    density: 0.982,
    ions: Some(&ions::JOUNG_CHEATHAM_TIP3P),
};
