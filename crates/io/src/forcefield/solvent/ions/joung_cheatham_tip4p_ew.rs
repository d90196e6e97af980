//! Ions for TIP4P-Ew: I. S. Joung and T. E. Cheatham, J. Phys. Chem. B 112 (2008) 9020.

use super::{Ion, IonSet};

pub(in crate::forcefield::solvent) const SET: IonSet = IonSet {
    about: "ions for TIP4P-Ew (Joung and Cheatham 2008)",
    ions: &[
        Ion::new("Li+", 1, 6.94, [0.808, 0.1039884]),
        Ion::new("Na+", 1, 22.99, [1.226, 0.1684375]),
        Ion::new("K+", 1, 39.098, [1.59, 0.2794651]),
        Ion::new("Rb+", 1, 85.468, [1.709, 0.4331494]),
        Ion::new("Cs+", 1, 132.91, [1.888, 0.3944318]),
        Ion::new("F-", -1, 18.998, [2.538, 0.0015752]),
        Ion::new("Cl-", -1, 35.45, [2.76, 0.0116615]),
        Ion::new("Br-", -1, 79.904, [2.768, 0.0303773]),
        Ion::new("I-", -1, 126.9, [2.952, 0.0417082]),
    ],
    partners: &[],
    unlike: &[],
};
