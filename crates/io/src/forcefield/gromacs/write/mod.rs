//! Topologies of GROMACS, written: all molecules of a system, every parameter as a number, so that no file is
//! included. Those that are alike have one definition.

mod exclusions;
mod molecule;
mod parameters;
mod springs;
mod types;

use crate::forcefield::Molecules;
use jostle_core::{Error, Result};
use molecule::Division;
use parameters::Parameters;
use std::collections::HashMap;
use std::fmt::Write as _;
use types::AtomTypes;

impl Molecules {
    /// Text of a topology for GROMACS, which OpenMM and Jostle read as well. Numbers have ten digits.
    ///
    /// # Errors
    /// If GROMACS has no such force or virtual site.
    pub fn to_gromacs(&self, title: &str) -> Result<String> {
        let parameters = Parameters::new(self);
        let types = AtomTypes::new(self)?;
        let division = Division::new(self);
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut names: Vec<String> = Vec::new();
        let mut bodies: Vec<String> = Vec::new();
        // Numbers of molecules in a row with the same definition.
        let mut rows: Vec<(usize, usize)> = Vec::new();
        for number in 0..division.len() {
            let body = molecule::body(self, &parameters, &types, &division, number)?;
            let place = match known.get(&body) {
                Some(place) => *place,
                None => {
                    names.push(unique(self.name_of(&division, number), &names));
                    bodies.push(body.clone());
                    known.insert(body, names.len() - 1);
                    names.len() - 1
                }
            };
            match rows.last_mut() {
                Some((last, count)) if *last == place => *count += 1,
                _ => rows.push((place, 1)),
            }
        }
        let title = title.replace(['\n', ';'], " ");
        let mut text = format!("; {title}\n; Lengths in nm, energies in kJ/mol, angles in degrees.\n\n");
        text += &types.text(self, parameters.scale);
        for (name, body) in names.iter().zip(&bodies) {
            // The first line of a body has the number of bonds up to which pairs are excluded.
            let (excluded, rest) = body.split_once('\n').unwrap_or((body, ""));
            let _ = write!(text, "\n[ moleculetype ]\n; name  nrexcl\n{name}  {excluded}\n{rest}");
        }
        let _ = write!(text, "\n[ system ]\n{title}\n\n[ molecules ]\n");
        for (place, count) in rows {
            let _ = writeln!(text, "{:<20} {count}", names[place]);
        }
        Ok(text)
    }

    /// Name of a molecule: that of its residue, or of its chain.
    fn name_of(&self, division: &Division, number: usize) -> String {
        let atoms = division.atoms(number);
        let residue = |atom: usize| self.names.residues.get(self.names.atoms.get(atom)?.residue as usize);
        let (first, last) = (residue(atoms.start), residue(atoms.end - 1));
        let name = match (first, last) {
            (Some(first), Some(last)) if std::ptr::eq(first, last) => first.name.clone(),
            (Some(first), _) if !first.chain.is_empty() => format!("Chain_{}", first.chain),
            (None, _) if atoms.len() == 1 => self.species[usize::from(self.atoms[atoms.start])].name.clone(),
            _ => "Molecule".to_string(),
        };
        types::word(&name)
    }
}

/// The name, or with a number where it is taken.
fn unique(name: String, taken: &[String]) -> String {
    let numbered = |k: usize| if k == 1 { name.clone() } else { format!("{name}_{k}") };
    (1..).map(numbered).find(|name| !taken.contains(name)).unwrap_or(name.clone())
}

/// A number with ten digits.
fn number(x: f64) -> String {
    let rounded: f64 = format!("{x:.9e}").parse().unwrap_or(x);
    format!("{rounded:?}")
}

/// An error for a force that GROMACS has not.
fn unwritable(what: &str) -> Error {
    Error::input(format!("GROMACS has no {what}, so this topology cannot be written for it"))
        .hint("Jostle reads the files that it came from")
}

/// A pair of atoms in ascending order.
fn ascending([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}
