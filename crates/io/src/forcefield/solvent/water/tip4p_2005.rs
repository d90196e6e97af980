//! TIP4P/2005: J. L. F. Abascal and C. Vega, J. Chem. Phys. 123 (2005) 234505, table I.

use super::{Reach, WaterModel};
use jostle_core::WaterShape;

pub(super) const MODEL: WaterModel = WaterModel {
    name: "tip4p-2005",
    about: "TIP4P/2005, four sites; without ions (Abascal and Vega 2005)",
    shape: WaterShape { bond_length: 0.09572, angle: 104.52, site_distance: Some(0.01546) },
    hydrogen: 0.5564,
    sigma: 0.31589,
    epsilon: 93.2 * 8.314462618e-3,
    hydrogen_well: [0.0; 2],
    reach: Reach::Corrected,
    density: 0.998,
    ions: None,
};
