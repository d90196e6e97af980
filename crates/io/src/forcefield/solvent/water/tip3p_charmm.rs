//! TIP3P as CHARMM has it, with forces on hydrogens: A. D. MacKerell et al., J. Phys. Chem. B 102 (1998) 3586.

use super::{Reach, WaterModel};
use crate::forcefield::solvent::ions;
use jostle_core::WaterShape;

pub(super) const MODEL: WaterModel = WaterModel {
    name: "tip3p-charmm",
    about: "TIP3P of CHARMM, three sites, with forces on hydrogens (MacKerell 1998)",
    shape: WaterShape { bond_length: 0.09572, angle: 104.52, site_distance: None },
    hydrogen: 0.417,
    sigma: 0.315_057_422_683_149_6,
    epsilon: 0.1521 * 4.184,
    hydrogen_well: [0.046 * 4.184, 0.040_001_352_444_501_24],
    reach: Reach::Switched,
    density: 1.01,
    ions: Some(&ions::CHARMM),
};
