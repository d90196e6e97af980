//! LAMMPS data files, as `read_data` takes and `write_data` makes them
//! (<https://docs.lammps.org/read_data.html>): atom styles atomic, charge, bond, angle, molecular
//! and full, with bonds, angles, dihedrals and impropers. For `file = "..."` the forces are those of the input, and
//! coefficients in the file are only compared with them; `forcefield/lammps` takes them from the file.

mod atoms;
pub(crate) mod bonded_styles;
mod bound;
pub(crate) mod coefficients;
mod header;
mod style;

use super::lines::Lines;
use super::{FileSpecies, Reading, Structure, wrap};
use atoms::{AtomLine, charges};
pub(crate) use bound::BondedList;
use bound::Members;
use coefficients::CoefficientRow;
use header::DataHeader;
use jostle_core::quantity::nearest;
use jostle_core::{Error, Names, Result, SimBox, State, Vec3};
use std::collections::HashMap;

/// Sections that are compared with the forces of the input.
const COMPARED: &[&str] =
    &["Pair Coeffs", "PairIJ Coeffs", "Bond Coeffs", "Angle Coeffs", "Dihedral Coeffs", "Improper Coeffs"];

/// Sections that only other programs' forces need: lines that begin with numbers.
const PASSED_OVER: &[&str] = &[
    "BondBond Coeffs",
    "BondAngle Coeffs",
    "MiddleBondTorsion Coeffs",
    "EndBondTorsion Coeffs",
    "AngleTorsion Coeffs",
    "AngleAngleTorsion Coeffs",
    "BondBond13 Coeffs",
    "AngleAngle Coeffs",
];

const READ: &[&str] = &[
    "Masses",
    "Atoms",
    "Velocities",
    "Bonds",
    "Angles",
    "Dihedrals",
    "Impropers",
    "Atom Type Labels",
    "Bond Type Labels",
    "Angle Type Labels",
    "Dihedral Type Labels",
    "Improper Type Labels",
];

/// Sections of what would change the motion and is not computed.
const REFUSED: &[&str] = &["Ellipsoids", "Lines", "Triangles", "Bodies"];

fn is_section(line: &str) -> bool {
    let (name, _) = split_comment(line);
    [READ, COMPARED, PASSED_OVER, REFUSED].iter().any(|list| list.contains(&name))
}

/// Reads a file as atoms without forces.
pub(super) fn read<'a>(lines: Lines<'a>, reading: Reading<'a>) -> Result<Structure> {
    read_data(lines, reading).map(|data| data.structure)
}

/// A data file with all that it says about forces.
pub(crate) struct LammpsData {
    pub structure: Structure,
    /// Number of types of dihedrals, behind which those of impropers come.
    pub n_dihedral_types: usize,
}

/// Reads a file.
///
/// # Errors
/// If it is damaged, contradicts itself, or has something that is not computed; the error has the line.
pub(crate) fn read_data<'a>(lines: Lines<'a>, reading: Reading<'a>) -> Result<LammpsData> {
    let mut file = DataFile {
        lines,
        reading,
        header: DataHeader::default(),
        masses: Vec::new(),
        labels: Vec::new(),
        bound: Default::default(),
        coefficients: Vec::new(),
    };
    let first_section = file.header()?;
    let n_dihedral_types = file.bound[BondedList::Dihedrals as usize].labels.len();
    Ok(LammpsData { structure: file.read(first_section)?, n_dihedral_types })
}

struct DataFile<'a> {
    lines: Lines<'a>,
    reading: Reading<'a>,
    header: DataHeader,
    /// Masses by type, from 0.
    masses: Vec<Option<f64>>,
    /// Labels by type, from 0: from the section of labels, or from comments behind masses.
    labels: Vec<Option<String>>,
    /// Bonds, angles, dihedrals and impropers.
    bound: [Members; 4],
    coefficients: Vec<CoefficientRow>,
}

/// The part of a line before its comment, and the comment.
fn split_comment(line: &str) -> (&str, Option<&str>) {
    match line.split_once('#') {
        Some((body, comment)) => (body.trim(), Some(comment.trim())),
        None => (line.trim(), None),
    }
}

impl<'a> DataFile<'a> {
    fn read(mut self, first: &'a str) -> Result<Structure> {
        let mut atoms: Option<Vec<AtomLine>> = None;
        let mut by_id = HashMap::new();
        let mut velocities: Option<Vec<Vec3>> = None;
        let mut section = Some(first);
        while let Some(line) = section {
            let (name, comment) = split_comment(line);
            section = match name {
                "Masses" => self.masses()?,
                "Atom Type Labels" => self.type_labels()?,
                "Atoms" => {
                    if atoms.is_some() {
                        return Err(self.lines.error("there is a second Atoms section"));
                    }
                    let mut read = self.atoms(comment)?;
                    // Files of write_data are in the order of LAMMPS' memory; dumps and bonds go by ids.
                    read.sort_by_key(|atom| atom.id);
                    for (place, atom) in read.iter().enumerate() {
                        if by_id.insert(atom.id, place).is_some() {
                            let message = format!("the atom id {} is given twice", atom.id);
                            return Err(self
                                .lines
                                .error_at(atom.lines_at, message)
                                .hint("every atom needs an id of its own"));
                        }
                    }
                    atoms = Some(read);
                    self.lines.next_filled()
                }
                "Velocities" => {
                    if atoms.is_none() {
                        return Err(self
                            .lines
                            .error("the Velocities come before the Atoms")
                            .hint("put the Atoms section first"));
                    }
                    velocities = Some(self.velocities(&by_id)?);
                    self.lines.next_filled()
                }
                _ => self.other_section(name, comment, &by_id)?,
            };
        }
        let Some(atoms) = atoms else {
            return Err(self.lines.error("the file has no Atoms section"));
        };
        for bound in BondedList::ALL {
            let (read, wanted) =
                (self.bound[bound as usize].rows.len(), self.header.bound[bound as usize].members);
            if read as u64 != wanted {
                return Err(self.lines.error(format!(
                    "the header says {wanted} {}s, but there is no section {}",
                    bound.what(),
                    bound.section()
                )));
            }
        }
        self.structure(atoms, velocities)
    }

    /// Reads a section of bonded atoms, their labels or coefficients; gives the next one.
    fn other_section(
        &mut self,
        name: &str,
        comment: Option<&str>,
        by_id: &HashMap<u64, usize>,
    ) -> Result<Option<&'a str>> {
        for list in BondedList::ALL {
            if name == list.section() {
                return self.members(list, by_id);
            }
            if name == list.labels() {
                return self.member_labels(list);
            }
        }
        match name {
            _ if COMPARED.contains(&name) => Ok(self.coefficients(name, comment)),
            _ if PASSED_OVER.contains(&name) => Ok(self.pass_over()),
            _ => Err(self.unknown_section(name)),
        }
    }

    fn unknown_section(&self, name: &str) -> Error {
        if REFUSED.contains(&name) {
            return self
                .lines
                .error(format!("the file has {name}, which are not computed"))
                .hint("take them out of the file if the atoms are meant to move without them");
        }
        let error = self
            .lines
            .error(format!("\"{name}\" is neither a section that is known nor a line of the one before"));
        match nearest(name, READ.iter().chain(COMPARED).chain(PASSED_OVER).copied()) {
            Some(near) => error.hint(format!("did you mean \"{near}\"?")),
            None => error.hint("does a section have more lines than the header says?"),
        }
    }

    /// Advances to the next section.
    fn pass_over(&mut self) -> Option<&'a str> {
        std::iter::from_fn(|| self.lines.next_filled()).find(|l| is_section(l))
    }

    /// The next line of a section that has to have `total` lines.
    fn row(&mut self, section: &str, k: u64, total: u64) -> Result<&'a str> {
        match self.lines.next_filled() {
            Some(line) if is_section(line) => {
                Err(self.lines.error(format!("the section {section} has only {k} of {total} lines")))
            }
            Some(line) => Ok(line),
            None => Err(self
                .lines
                .error(format!("the file ends after {k} of {total} lines of {section}"))
                .hint("the file seems to be truncated; make or copy it again")),
        }
    }

    fn structure(mut self, atoms: Vec<AtomLine>, velocities: Option<Vec<Vec3>>) -> Result<Structure> {
        let [x, y, z] = self.header.bounds.map(|b| b.unwrap_or([0.0; 2]));
        let lengths = [x[1] - x[0], y[1] - y[0], z[1] - z[0]];
        let periodic = self.reading.periodic.unwrap_or([true; 3]);
        let simbox = SimBox::new([x[0], y[0], z[0]], lengths, self.header.tilts, periodic).map_err(|e| {
            self.lines.error(e.message()).hint(e.help().unwrap_or("check the box in the header"))
        })?;
        let (of_types, charges) = charges(&atoms, self.masses.len());
        let mut state = State::default();
        for atom in &atoms {
            let (mut position, mut image) = (atom.position, atom.image);
            wrap(&simbox, &mut position, &mut image).map_err(|e| self.lines.error_at(atom.lines_at, e))?;
            state.push(atom.kind as u16, position);
            if let Some(last) = state.image.last_mut() {
                *last = image;
            }
        }
        let has_velocities = velocities.is_some();
        if let Some(velocities) = velocities {
            state.velocity = velocities;
        }
        let name = |kind: usize| match self.reading.types.get(kind) {
            Some(name) => name.clone(),
            None => self.labels[kind].clone().unwrap_or_else(|| (kind + 1).to_string()),
        };
        let species: Vec<FileSpecies> = (0..self.masses.len())
            .map(|k| FileSpecies { name: name(k), mass: self.masses[k], charge: of_types[k] })
            .collect();
        for (k, s) in species.iter().enumerate() {
            if species[..k].iter().any(|other| other.name == s.name) {
                return Err(self
                    .lines
                    .error_at(1, format!("two atom types are called \"{}\"", s.name))
                    .hint("name them by types = [...] in [system]"));
            }
        }
        let (topology, coefficients, names) =
            (self.topology(), std::mem::take(&mut self.coefficients), Names::default());
        Ok(Structure {
            simbox,
            species,
            state,
            topology,
            charges,
            names,
            has_velocities,
            coefficients,
            momenta: Vec::new(),
        })
    }
}
