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
    /// Types of atoms of molecules that `unlike` names.
    partners: &'static [AtomType],
    /// Pairs with parameters of their own, one of them an ion of the set: names of types, the distance of the minimum in
    /// angstrom, and epsilon in kcal/mol.
    unlike: &'static [([&'static str; 2], [f64; 2])],
}

/// A type of the atoms of a force field.
#[derive(Debug, PartialEq)]
struct AtomType {
    name: &'static str,
    /// As [`Ion`] has it.
    well: [f64; 2],
}

/// Relative difference of parameters that files write with few digits.
const ROUNDING: f64 = 1e-3;

impl IonSet {
    /// Returns true where some pairs have parameters of their own.
    pub fn has_unlike_pairs(&self) -> bool {
        !self.unlike.is_empty()
    }

    /// Epsilon in kJ/mol and sigma in nm of two types of atoms that do not follow the rule for unlike pairs.
    pub(in crate::forcefield) fn unlike(&self, a: &str, b: &str) -> Option<[f64; 2]> {
        let (_, well) = self.unlike.iter().find(|(types, _)| *types == [a, b] || *types == [b, a])?;
        Some([epsilon(*well), sigma(*well)])
    }

    /// Type of the force field that atoms of this name, epsilon in kJ/mol and sigma in nm have. The name alone would not
    /// do: other force fields have types of the same names.
    pub(in crate::forcefield) fn type_of(&self, name: &str, [e, s]: [f64; 2]) -> Option<&'static str> {
        let ions = self.ions.iter().map(|ion| (ion.name, ion.of_type, ion.well));
        let partners = self.partners.iter().map(|known| (known.name, known.name, known.well));
        let near = |x: f64, y: f64| (x - y).abs() <= ROUNDING * y;
        let (_, of_type, _) = ions.chain(partners).find(|(own, of_type, [minimum, depth])| {
            let well = [2.0 * minimum, *depth];
            (name == *own || name == *of_type) && near(e, epsilon(well)) && near(s, sigma(well))
        })?;
        Some(of_type)
    }
}

/// Epsilon in kJ/mol of a distance of the minimum in angstrom and epsilon in kcal/mol.
fn epsilon([_, epsilon]: [f64; 2]) -> f64 {
    4.184 * epsilon
}

/// Sigma in nm of the same.
fn sigma([minimum, _]: [f64; 2]) -> f64 {
    0.1 * minimum / 2f64.powf(1.0 / 6.0)
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
    /// Name of its type in files of its force field.
    of_type: &'static str,
    /// Half the distance of the minimum of its Lennard-Jones force in angstrom, and epsilon in kcal/mol, as the
    /// papers have them.
    well: [f64; 2],
}

impl Ion {
    const fn new(name: &'static str, charge: i32, mass: f64, well: [f64; 2]) -> Self {
        Ion { name, charge, mass, of_type: name, well }
    }

    const fn of_type(self, of_type: &'static str) -> Self {
        Ion { of_type, ..self }
    }

    /// Its chemical symbol.
    pub fn element(&self) -> &'static str {
        self.name.trim_end_matches(|c: char| c.is_ascii_digit() || "+-".contains(c))
    }

    /// Sigma in nm.
    pub fn sigma(&self) -> f64 {
        sigma([2.0 * self.well[0], self.well[1]])
    }

    /// Epsilon in kJ/mol.
    pub fn epsilon(&self) -> f64 {
        epsilon(self.well)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pair of a type that is misspelt would act nowhere.
    #[test]
    fn types_of_pairs_are_those_of_atoms_that_can_be_found() {
        for set in ALL {
            let ions: Vec<&str> = set.ions.iter().map(|ion| ion.of_type).collect();
            let partners: Vec<&str> = set.partners.iter().map(|known| known.name).collect();
            for ([ion, other], _) in set.unlike {
                assert!(
                    ions.contains(ion) && (ions.contains(other) || partners.contains(other)),
                    "{ion} {other}"
                );
            }
            let named = |name: &&str| set.unlike.iter().any(|(types, _)| types.contains(name));
            assert!(partners.iter().all(named), "{}", set.about);
        }
    }
}
