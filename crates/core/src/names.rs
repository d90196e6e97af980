//! Names of atoms: for selections, for files that others read, and for messages.

use serde::{Deserialize, Serialize};

/// Names of all atoms of a system, by id; empty where atoms have the names of their species alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Names {
    /// The atoms.
    pub atoms: Vec<AtomName>,
    /// The residues, in the order of their first atoms.
    pub residues: Vec<Residue>,
    /// Occupancies of the atoms, NaN of those without; empty where the file has no such column.
    pub occupancy: Vec<f64>,
    /// B factors of the atoms, NaN of those without; empty where the file has no such column.
    pub b_factor: Vec<f64>,
}

/// Name of an atom.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AtomName {
    /// Name in the residue, "CA".
    pub name: String,
    /// Chemical symbol; empty where it is unknown.
    pub element: String,
    /// Index into [`Names::residues`].
    pub residue: u32,
}

/// A residue: an amino acid, a base, a molecule of water.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residue {
    /// Name of the residue, "ALA".
    pub name: String,
    /// Number in the file.
    pub number: i32,
    /// Insertion code, which tells residues of one number apart; empty where there is none.
    pub insertion: String,
    /// The chain or segment that it belongs to; empty where there are none.
    pub chain: String,
}

impl Residue {
    /// Number and insertion code of a word, "52A"; zero where it does not begin with a number.
    pub fn numbered(word: &str) -> (i32, String) {
        let digits = word.trim_end_matches(char::is_alphabetic);
        (digits.parse().unwrap_or(0), word[digits.len()..].to_string())
    }

    /// Number and insertion code as one word.
    pub fn label(&self) -> String {
        format!("{}{}", self.number, self.insertion)
    }
}

impl Names {
    /// Names of these atoms alone, among all residues.
    pub fn of_atoms(&self, ids: &[u32]) -> Names {
        fn chosen<T: Clone>(all: &[T], ids: &[u32]) -> Vec<T> {
            ids.iter().filter_map(|id| all.get(*id as usize).cloned()).collect()
        }
        Names {
            atoms: chosen(&self.atoms, ids),
            residues: self.residues.clone(),
            occupancy: chosen(&self.occupancy, ids),
            b_factor: chosen(&self.b_factor, ids),
        }
    }

    /// The atom with this id for a message, with its number as files count: `atom 5 (CA of ALA 2)`.
    pub fn describe(&self, id: u32) -> String {
        let number = u64::from(id) + 1;
        let Some(atom) = self.atoms.get(id as usize) else { return format!("atom {number}") };
        match self.residues.get(atom.residue as usize) {
            Some(residue) => {
                let (name, place) = (&residue.name, residue.label());
                let chain = match residue.chain.as_str() {
                    "" => String::new(),
                    chain => format!(", chain {chain}"),
                };
                format!("atom {number} ({} of {name} {place}{chain})", atom.name)
            }
            None => format!("atom {number} ({})", atom.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptions_of_atoms_have_all_their_names() {
        let residue = |word: &str, chain: &str| {
            let (number, insertion) = Residue::numbered(word);
            Residue { name: "ALA".into(), number, insertion, chain: chain.into() }
        };
        let atom = |residue| AtomName { name: "CA".into(), element: "C".into(), residue };
        let atoms = vec![atom(0), atom(1), atom(7)];
        let residues = vec![residue("2", ""), residue("-2A", "B")];
        let names = Names { atoms, residues, ..Names::default() };
        assert_eq!(names.describe(0), "atom 1 (CA of ALA 2)");
        assert_eq!(names.describe(1), "atom 2 (CA of ALA -2A, chain B)");
        assert_eq!(names.describe(2), "atom 3 (CA)");
        assert_eq!(names.describe(3), "atom 4");
    }

    #[test]
    fn names_of_a_part_have_its_columns() {
        let atom = |name: &str| AtomName { name: name.into(), ..AtomName::default() };
        let atoms = ["A", "B", "C"].map(atom).to_vec();
        let all = Names { atoms, b_factor: vec![1.0, 2.0, 3.0], ..Names::default() };
        let part = all.of_atoms(&[0, 2]);
        assert_eq!((part.describe(1).as_str(), part.b_factor.as_slice()), ("atom 2 (C)", &[1.0, 3.0][..]));
        assert!(part.occupancy.is_empty());
    }
}
