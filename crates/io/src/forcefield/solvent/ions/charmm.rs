//! Ions of CHARMM: D. Beglov and B. Roux, J. Chem. Phys. 100 (1994) 9050, and those after them, with the pairs of Y. Luo
//! and B. Roux, J. Phys. Chem. Lett. 1 (2010) 183 (NBFIX), as `toppar_water_ions.str` has them.

use super::{Ion, IonSet};

pub(in crate::forcefield::solvent) const SET: IonSet = IonSet {
    about: "ions for TIP3P of CHARMM (Beglov and Roux 1994)",
    ions: &[
        Ion::new("Li+", 1, 6.941, [1.2975, 0.00233]),
        Ion::new("Na+", 1, 22.98977, [1.41075, 0.0469]),
        Ion::new("K+", 1, 39.0983, [1.76375, 0.087]),
        Ion::new("Rb+", 1, 85.4678, [1.9, 0.15]),
        Ion::new("Cs+", 1, 132.90545, [2.1, 0.19]),
        Ion::new("Mg2+", 2, 24.305, [1.185, 0.015]),
        Ion::new("Ca2+", 2, 40.08, [1.367, 0.12]),
        Ion::new("Zn2+", 2, 65.37, [1.09, 0.25]),
        Ion::new("Cl-", -1, 35.45, [2.27, 0.15]),
    ],
    unlike: &[(["Na+", "Cl-"], [3.731, 0.083875]), (["K+", "Cl-"], [4.081, 0.114236])],
};
