//! SPC/E: H. J. C. Berendsen, J. R. Grigera and T. P. Straatsma, J. Phys. Chem. 91 (1987) 6269.

use super::{Reach, WaterModel};
use crate::forcefield::solvent::ions;
use jostle_core::WaterShape;

pub(super) const MODEL: WaterModel = WaterModel {
    name: "spce",
    about: "SPC/E, three sites (Berendsen 1987)",
    shape: WaterShape { bond_length: 0.1, angle: 109.47, site_distance: None },
    hydrogen: 0.4238,
    sigma: 0.3166,
    epsilon: 0.650,
    hydrogen_well: [0.0; 2],
    reach: Reach::Corrected,
    density: 0.998,
    ions: Some(&ions::JOUNG_CHEATHAM_SPCE),
};
