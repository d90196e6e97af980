//! Ions for TIP3P: I. S. Joung and T. E. Cheatham, J. Phys. Chem. B 112 (2008) 9020.

use super::{Ion, IonSet};

pub(in crate::forcefield::solvent) const SET: IonSet = IonSet {
    about: "ions for TIP3P (Joung and Cheatham 2008)",
    ions: &[
        Ion::new("Li+", 1, 6.94, [1.025, 0.0279896]),
        Ion::new("Na+", 1, 22.99, [1.369, 0.0874393]),
        Ion::new("K+", 1, 39.098, [1.705, 0.1936829]),
        Ion::new("Rb+", 1, 85.468, [1.813, 0.3278219]),
        Ion::new("Cs+", 1, 132.91, [1.976, 0.4065394]),
        Ion::new("F-", -1, 18.998, [2.303, 0.003364]),
        Ion::new("Cl-", -1, 35.45, [2.513, 0.035591]),
        Ion::new("Br-", -1, 79.904, [2.608, 0.0586554]),
        Ion::new("I-", -1, 126.9, [2.86, 0.0536816]),
    ],
    partners: &[],
    unlike: &[],
};
