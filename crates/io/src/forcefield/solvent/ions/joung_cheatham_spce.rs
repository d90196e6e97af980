//! Ions for SPC/E: I. S. Joung and T. E. Cheatham, J. Phys. Chem. B 112 (2008) 9020.

use super::{Ion, IonSet};

pub(in crate::forcefield::solvent) const SET: IonSet = IonSet {
    about: "ions for SPC/E (Joung and Cheatham 2008)",
    ions: &[
        Ion::new("Li+", 1, 6.94, [0.791, 0.3367344]),
        Ion::new("Na+", 1, 22.99, [1.212, 0.3526418]),
        Ion::new("K+", 1, 39.098, [1.593, 0.4297054]),
        Ion::new("Rb+", 1, 85.468, [1.737, 0.4451036]),
        Ion::new("Cs+", 1, 132.91, [2.021, 0.0898565]),
        Ion::new("F-", -1, 18.998, [2.257, 0.0074005]),
        Ion::new("Cl-", -1, 35.45, [2.711, 0.012785]),
        Ion::new("Br-", -1, 79.904, [2.751, 0.0269586]),
        Ion::new("I-", -1, 126.9, [2.919, 0.0427845]),
    ],
    partners: &[],
    unlike: &[],
};
