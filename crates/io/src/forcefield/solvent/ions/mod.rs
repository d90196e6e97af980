//! Sets of ions, a file each.

mod charmm;
mod joung_cheatham_spce;
mod joung_cheatham_tip3p;
mod joung_cheatham_tip4p_ew;

pub(super) use charmm::SET as CHARMM;
pub(super) use joung_cheatham_spce::SET as JOUNG_CHEATHAM_SPCE;
pub(super) use joung_cheatham_tip3p::SET as JOUNG_CHEATHAM_TIP3P;
pub(super) use joung_cheatham_tip4p_ew::SET as JOUNG_CHEATHAM_TIP4P_EW;

/// All sets.
pub(super) const ALL: &[&IonSet] =
    &[&CHARMM, &JOUNG_CHEATHAM_SPCE, &JOUNG_CHEATHAM_TIP3P, &JOUNG_CHEATHAM_TIP4P_EW];

/// Ions whose parameters were made together, for one model of water and the rule of Lorentz and Berthelot.
#[derive(Debug, PartialEq)]
pub struct IonSet {
    /// The set and its source.
    pub about: &'static str,
    /// The ions.
    pub ions: &'static [Ion],
    /// Pairs of ions with parameters of their own: names, the distance of the minimum in angstrom, and epsilon in
    /// kcal/mol.
    unlike: &'static [([&'static str; 2], [f64; 2])],
}

impl IonSet {
    /// Epsilon in kJ/mol and sigma in nm of two ions that do not follow the rule for unlike pairs.
    pub fn unlike(&self, cation: &Ion, anion: &Ion) -> Option<[f64; 2]> {
        let (_, [minimum, epsilon]) =
            self.unlike.iter().find(|(names, _)| *names == [cation.name, anion.name])?;
        Some([4.184 * epsilon, 0.1 * minimum / 2f64.powf(1.0 / 6.0)])
    }
}

/// An ion.
#[derive(Debug, PartialEq)]
pub struct Ion {
    /// Name, with its charge: `Na+`.
    pub name: &'static str,
    /// Charge.
    pub charge: i32,
    /// Mass in g/mol.
    pub mass: f64,
    /// Half the distance of the minimum of its Lennard-Jones force in angstrom, and epsilon in kcal/mol, as the
    /// papers have them.
    well: [f64; 2],
}

impl Ion {
    const fn new(name: &'static str, charge: i32, mass: f64, well: [f64; 2]) -> Self {
        Ion { name, charge, mass, well }
    }

    /// Its chemical symbol.
    pub fn element(&self) -> &'static str {
        self.name.trim_end_matches(|c: char| c.is_ascii_digit() || "+-".contains(c))
    }

    /// Sigma in nm.
    pub fn sigma(&self) -> f64 {
        0.1 * 2.0 * self.well[0] / 2f64.powf(1.0 / 6.0)
    }

    /// Epsilon in kJ/mol.
    pub fn epsilon(&self) -> f64 {
        4.184 * self.well[1]
    }
}
