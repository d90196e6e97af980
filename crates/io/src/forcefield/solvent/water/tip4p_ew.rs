//! TIP4P-Ew: H. W. Horn et al., J. Chem. Phys. 120 (2004) 9665.

use super::{Reach, WaterModel};
use crate::forcefield::solvent::ions;
use jostle_core::WaterShape;

pub(super) const MODEL: WaterModel = WaterModel {
    name: "tip4p-ew",
    about: "TIP4P-Ew, four sites (Horn 2004)",
    shape: WaterShape { bond_length: 0.09572, angle: 104.52, site_distance: Some(0.0125) },
    hydrogen: 0.52422,
    sigma: 0.316435,
    epsilon: 0.16275 * 4.184,
    hydrogen_well: [0.0; 2],
    reach: Reach::Corrected,
    density: 0.995,
    ions: Some(&ions::JOUNG_CHEATHAM_TIP4P_EW),
};
