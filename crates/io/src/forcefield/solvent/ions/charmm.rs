//! Ions of CHARMM: D. Beglov and B. Roux, J. Chem. Phys. 100 (1994) 9050, and those after them, with the pairs that do not
//! follow the rule (NBFIX: Y. Luo and B. Roux, J. Phys. Chem. Lett. 1 (2010) 183; R. M. Venable et al., J. Phys. Chem. B 117
//! (2013) 10183; A. Savelyev and A. D. MacKerell, J. Phys. Chem. B 119 (2015) 4428), as `toppar_water_ions.str` of July 2024
//! has them.

use super::{AtomType, Ion, IonSet};

/// Oxygens of carboxylates, phosphates and carbonyls, which all have one well.
const OXYGEN: [f64; 2] = [1.7, 0.12];

pub(in crate::forcefield::solvent) const SET: IonSet = IonSet {
    about: "ions for TIP3P of CHARMM (Beglov and Roux 1994)",
    ions: &[
        Ion::new("Li+", 1, 6.941, [1.2975, 0.00233]).of_type("LIT"),
        Ion::new("Na+", 1, 22.98977, [1.41075, 0.0469]).of_type("SOD"),
        Ion::new("K+", 1, 39.0983, [1.76375, 0.087]).of_type("POT"),
        Ion::new("Rb+", 1, 85.4678, [1.9, 0.15]).of_type("RUB"),
        Ion::new("Cs+", 1, 132.90545, [2.1, 0.19]).of_type("CES"),
        Ion::new("Mg2+", 2, 24.305, [1.185, 0.015]).of_type("MG"),
        Ion::new("Ca2+", 2, 40.08, [1.367, 0.12]).of_type("CAL"),
        Ion::new("Zn2+", 2, 65.37, [1.09, 0.25]).of_type("ZN"),
        Ion::new("Cl-", -1, 35.45, [2.27, 0.15]).of_type("CLA"),
    ],
    partners: &[
        AtomType { name: "OC", well: OXYGEN },
        AtomType { name: "OS", well: [1.77, 0.1521] },
        AtomType { name: "OCL", well: OXYGEN },
        AtomType { name: "OBL", well: OXYGEN },
        AtomType { name: "O2L", well: OXYGEN },
        AtomType { name: "ON3", well: OXYGEN },
        AtomType { name: "OC2D2", well: OXYGEN },
        AtomType { name: "OC2DP", well: OXYGEN },
        AtomType { name: "OG2D2", well: OXYGEN },
        AtomType { name: "OG2P1", well: OXYGEN },
    ],
    unlike: &[
        (["LIT", "CLA"], [3.6875, 0.0187]),
        (["SOD", "CLA"], [3.731, 0.0839]),
        (["POT", "CLA"], [4.081, 0.1142]),
        (["CAL", "CLA"], [3.727, 0.134164]),
        (["LIT", "ON3"], [3.1775, 0.0167]),
        (["SOD", "OC"], [3.23, 0.07502]),
        (["SOD", "OS"], [3.13, 0.07502]),
        (["SOD", "OCL"], [3.23, 0.07502]),
        (["SOD", "OBL"], [3.13, 0.07502]),
        (["SOD", "O2L"], [3.16, 0.07502]),
        (["SOD", "OC2D2"], [3.23, 0.07502]),
        (["SOD", "OC2DP"], [3.16, 0.07502]),
        (["SOD", "OG2D2"], [3.23, 0.07502]),
        (["SOD", "OG2P1"], [3.16, 0.07502]),
        (["POT", "OC"], [3.524, 0.1022]),
        (["POT", "OCL"], [3.524, 0.1022]),
        (["POT", "OC2D2"], [3.524, 0.1022]),
        (["POT", "OG2D2"], [3.524, 0.1022]),
        (["CAL", "O2L"], [3.256, 0.12]),
        (["CAL", "OC2DP"], [3.256, 0.12]),
        (["CAL", "OG2P1"], [3.256, 0.12]),
        (["CAL", "OC"], [3.232, 0.12]),
        (["CAL", "OCL"], [3.232, 0.12]),
        (["CAL", "OC2D2"], [3.232, 0.12]),
        (["CAL", "OG2D2"], [3.232, 0.12]),
    ],
};
