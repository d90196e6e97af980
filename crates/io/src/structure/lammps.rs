//! LAMMPS data files, as `read_data` takes and `write_data` makes them
//! (<https://docs.lammps.org/read_data.html>): atom styles atomic, charge, bond, angle, molecular
//! and full, with bonds and angles. The forces are those of the input; coefficients in the file are only
//! compared with them.

mod bound;
pub(super) mod coefficients;
mod style;

use super::lines::Lines;
use super::{FileSpecies, Reading, Structure, same_charge, wrap};
use bound::{BondOrAngle, Count, Members};
use coefficients::CoefficientRow;
use jostle_core::quantity::nearest;
use jostle_core::{Error, Names, Result, SimBox, State, Vec3};
use std::collections::HashMap;
use style::{AtomColumn, Hint, Style};

/// Sections that are compared with the forces of the input.
const COMPARED: &[&str] = &["Pair Coeffs", "PairIJ Coeffs", "Bond Coeffs", "Angle Coeffs"];

/// Sections that only other programs' forces need: lines that begin with numbers.
const PASSED_OVER: &[&str] = &[
    "Dihedral Coeffs",
    "Improper Coeffs",
    "BondBond Coeffs",
    "BondAngle Coeffs",
    "MiddleBondTorsion Coeffs",
    "EndBondTorsion Coeffs",
    "AngleTorsion Coeffs",
    "AngleAngleTorsion Coeffs",
    "BondBond13 Coeffs",
    "AngleAngle Coeffs",
    "Dihedral Type Labels",
    "Improper Type Labels",
];

const READ: &[&str] = &[
    "Masses",
    "Atoms",
    "Velocities",
    "Bonds",
    "Angles",
    "Atom Type Labels",
    "Bond Type Labels",
    "Angle Type Labels",
];

/// Sections of what would change the motion and is not computed.
const REFUSED: &[&str] = &["Dihedrals", "Impropers", "Ellipsoids", "Lines", "Triangles", "Bodies"];

fn is_section(line: &str) -> bool {
    let (name, _) = split_comment(line);
    [READ, COMPARED, PASSED_OVER, REFUSED].iter().any(|list| list.contains(&name))
}

pub(super) fn read<'a>(lines: Lines<'a>, reading: Reading<'a>) -> Result<Structure> {
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
    file.read(first_section)
}

/// Header: the lines before the first section.
#[derive(Default)]
struct DataHeader {
    atoms: Option<u64>,
    types: Option<u64>,
    /// Bonds and angles.
    bound: [Count; 2],
    bounds: [Option<[f64; 2]>; 3],
    tilts: Vec3,
}

struct DataFile<'a> {
    lines: Lines<'a>,
    reading: Reading<'a>,
    header: DataHeader,
    /// Masses by type, from 0.
    masses: Vec<Option<f64>>,
    /// Labels by type, from 0: from the section of labels, or from comments behind masses.
    labels: Vec<Option<String>>,
    /// Bonds and angles.
    bound: [Members; 2],
    coefficients: Vec<CoefficientRow>,
}

/// An atom as it stands in the file, and where.
struct AtomLine {
    id: u64,
    kind: usize,
    charge: Option<f64>,
    position: Vec3,
    image: [i32; 3],
    lines_at: usize,
}

/// The part of a line before its comment, and the comment.
fn split_comment(line: &str) -> (&str, Option<&str>) {
    match line.split_once('#') {
        Some((body, comment)) => (body.trim(), Some(comment.trim())),
        None => (line.trim(), None),
    }
}

impl<'a> DataFile<'a> {
    /// Reads up to the first section; gives its line.
    fn header(&mut self) -> Result<&'a str> {
        let title = self.lines.next().unwrap_or("");
        self.check_units(title)?;
        loop {
            let Some(line) = self.lines.next() else {
                return Err(self
                    .lines
                    .error("the file ends before any section")
                    .hint("there is no Atoms section"));
            };
            let (body, _) = split_comment(line);
            if body.starts_with(char::is_uppercase) {
                self.check_header()?;
                return Ok(line);
            }
            if !body.is_empty() {
                self.header_line(body)?;
            }
        }
    }

    /// `write_data` names the units in the title.
    fn check_units(&self, title: &str) -> Result<()> {
        let Some((_, units)) = title.split_once("units = ") else { return Ok(()) };
        let units = units.split([',', ' ']).next().unwrap_or("").trim();
        let ours = self.reading.units.name();
        // LAMMPS' nano units (attogram, ns) are not ours.
        if units == ours && units != "nano" {
            return Ok(());
        }
        Err(self
            .lines
            .error(format!("the file is in LAMMPS units \"{units}\", but the input in units = \"{ours}\""))
            .hint("choose the same units in the input; if the title is wrong, change it"))
    }

    fn header_line(&mut self, body: &str) -> Result<()> {
        let words: Vec<&str> = body.split_whitespace().collect();
        let numbers = words.iter().take_while(|w| w.parse::<f64>().is_ok()).count();
        let (numbers, keyword) = (&words[..numbers], words[numbers..].join(" "));
        let lines = &self.lines;
        let count = || lines.parse::<u64>(numbers.first().copied(), &format!("the number of {keyword}"));
        match keyword.as_str() {
            "atoms" => self.header.atoms = Some(count()?),
            "atom types" => self.header.types = Some(count()?),
            "xlo xhi" | "ylo yhi" | "zlo zhi" => {
                let axis = usize::from(keyword.as_bytes()[0] - b'x');
                let low = lines.number(numbers.first().copied(), &keyword[..3])?;
                let high = lines.number(numbers.get(1).copied(), &keyword[4..])?;
                if high <= low {
                    return Err(lines.error(format!(
                        "the box has {} = {high}, not above {} = {low}",
                        &keyword[4..],
                        &keyword[..3]
                    )));
                }
                self.header.bounds[axis] = Some([low, high]);
            }
            "xy xz yz" => {
                self.header.tilts = lines.vector(&mut numbers.iter().copied(), ["xy", "xz", "yz"])?;
            }
            "avec" | "bvec" | "cvec" | "abc origin" => {
                return Err(lines
                    .error("the box is a general triclinic one")
                    .hint("write the file with edges along x and in the xy plane: xlo xhi, ylo yhi, zlo zhi, xy xz yz"));
            }
            "bonds" => self.header.bound[0].members = count()?,
            "angles" => self.header.bound[1].members = count()?,
            "bond types" => self.header.bound[0].types = count()?,
            "angle types" => self.header.bound[1].types = count()?,
            "dihedrals" | "impropers" | "ellipsoids" | "lines" | "triangles" | "bodies" => {
                if count()? > 0 {
                    return Err(lines
                        .error(format!("the file has {keyword}, which are not computed"))
                        .hint("take them out of the file if the atoms are meant to move without them"));
                }
            }
            _ if keyword.ends_with(" types") || keyword.starts_with("extra ") => {}
            _ => {
                let error = lines.error(format!("\"{body}\" is not a line of a LAMMPS data header"));
                return Err(error.hint("a header has lines such as \"864 atoms\" and \"0.0 35.0 xlo xhi\""));
            }
        }
        Ok(())
    }

    fn check_header(&mut self) -> Result<()> {
        let missing = |what: &str, example: &str| {
            self.lines
                .error(format!("the header does not say {what}"))
                .hint(format!("add a line such as \"{example}\""))
        };
        if self.header.atoms.is_none() {
            return Err(missing("how many atoms there are", "864 atoms"));
        }
        let Some(types) = self.header.types else {
            return Err(missing("how many atom types there are", "1 atom types"));
        };
        for (axis, name) in ["x", "y", "z"].into_iter().enumerate() {
            if self.header.bounds[axis].is_none() {
                return Err(missing(
                    &format!("how large the box is along {name}"),
                    &format!("0.0 35.0 {name}lo {name}hi"),
                ));
            }
        }
        if types == 0 || types > u64::from(u16::MAX) {
            return Err(self
                .lines
                .error(format!("the file has {types} atom types"))
                .hint("there must be 1 to 65535"));
        }
        let names = self.reading.types.len() as u64;
        if names != 0 && names != types {
            return Err(self
                .lines
                .error(format!("the file has {types} atom types, but the input names {names} of them"))
                .hint("types in [system] must have a name for each type"));
        }
        self.masses = vec![None; types as usize];
        self.labels = vec![None; types as usize];
        for bound in [BondOrAngle::Bonds, BondOrAngle::Angles] {
            let Count { members, types } = self.header.bound[bound as usize];
            if (types == 0 && members > 0) || types > u64::from(u16::MAX) || members > u64::from(u32::MAX) {
                let what = bound.what();
                return Err(self
                    .lines
                    .error(format!("the header has {members} {what}s and {types} {what} types"))
                    .hint("there must be 1 to 65535 types"));
            }
            self.bound[bound as usize].labels = vec![None; types as usize];
        }
        Ok(())
    }

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
                    let read = self.atoms(comment)?;
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
                "Bonds" => self.members(BondOrAngle::Bonds, &by_id)?,
                "Angles" => self.members(BondOrAngle::Angles, &by_id)?,
                "Bond Type Labels" => self.member_labels(BondOrAngle::Bonds)?,
                "Angle Type Labels" => self.member_labels(BondOrAngle::Angles)?,
                _ if COMPARED.contains(&name) => self.coefficients(name, comment),
                _ if PASSED_OVER.contains(&name) => self.pass_over(),
                _ => return Err(self.unknown_section(name)),
            };
        }
        let Some(atoms) = atoms else {
            return Err(self.lines.error("the file has no Atoms section"));
        };
        for bound in [BondOrAngle::Bonds, BondOrAngle::Angles] {
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

    /// A type by number or label, from 0.
    fn kind(&self, word: Option<&str>) -> Result<usize> {
        let word = word.ok_or_else(|| self.lines.error("the line ends before the atom type"))?;
        let types = self.masses.len();
        match word.parse::<usize>() {
            Ok(kind) if (1..=types).contains(&kind) => Ok(kind - 1),
            Ok(kind) => Err(self
                .lines
                .error(format!("the atom type {kind} is not one of the {types} of the header"))
                .hint("types count from 1")),
            Err(_) => self.labels.iter().position(|l| l.as_deref() == Some(word)).ok_or_else(|| {
                self.lines
                    .error(format!("\"{word}\" is no atom type"))
                    .hint("types are numbers, or names from a section Atom Type Labels before this one")
            }),
        }
    }

    fn masses(&mut self) -> Result<Option<&'a str>> {
        let types = self.masses.len() as u64;
        for k in 0..types {
            let (body, comment) = split_comment(self.row("Masses", k, types)?);
            let mut words = body.split_whitespace();
            let kind = self.kind(words.next())?;
            let mass = self.lines.number(words.next(), "the mass")?;
            if mass <= 0.0 {
                return Err(self.lines.error(format!("the mass {mass} is not greater than zero")));
            }
            self.masses[kind] = Some(mass);
            let name = comment.and_then(|c| c.split_whitespace().next());
            if let (Some(name), None) = (name, &self.labels[kind]) {
                self.labels[kind] = Some(name.to_string());
            }
        }
        Ok(self.lines.next_filled())
    }

    fn type_labels(&mut self) -> Result<Option<&'a str>> {
        let types = self.labels.len() as u64;
        for k in 0..types {
            let (body, _) = split_comment(self.row("Atom Type Labels", k, types)?);
            let mut words = body.split_whitespace();
            let kind = self.kind(words.next())?;
            let Some(label) = words.next() else {
                return Err(self.lines.error("the line ends before the label"));
            };
            self.labels[kind] = Some(label.to_string());
        }
        Ok(self.lines.next_filled())
    }

    fn atoms(&mut self, hint: Option<&str>) -> Result<Vec<AtomLine>> {
        let hinted = match Hint::new(hint) {
            Hint::Read(style) => Some(style),
            Hint::None => None,
            Hint::Other => {
                let message = format!("the atom style \"{}\" is not read", hint.unwrap_or(""));
                let hint = format!("the styles are {}", style::names());
                return Err(self.lines.error(message).hint(hint));
            }
        };
        let total = self.header.atoms.unwrap_or(0);
        if total == 0 {
            return Err(self.lines.error("the file has 0 atoms"));
        }
        if total > u64::from(u32::MAX) {
            return Err(self.lines.error(format!("the file has {total} atoms, more than 4294967295")));
        }
        let mut atoms = Vec::with_capacity(self.lines.at_most_left().min(total as usize));
        let mut style = hinted;
        for k in 0..total {
            let (body, _) = split_comment(self.row("Atoms", k, total)?);
            let columns = body.split_whitespace().count();
            let style = match style {
                Some(style) => style,
                None => *style.insert(self.guess_style(columns)?),
            };
            atoms.push(self.atom(body, columns, style)?);
        }
        Ok(atoms)
    }

    /// The style of a file that does not name it, where the number of columns leaves one choice.
    fn guess_style(&self, columns: usize) -> Result<Style> {
        match style::with_columns(columns)[..] {
            [style] => Ok(style),
            [] => Err(self
                .lines
                .error(format!("an atom cannot have {columns} columns"))
                .hint("atomic: id type x y z; charge: id type q x y z; full: id molecule type q x y z; each with or without 3 image flags")),
            _ => Err(self
                .lines
                .error("it is not clear what the columns of the atoms are")
                .hint("name the atom style behind the section: \"Atoms # charge\" or \"Atoms # molecular\"")),
        }
    }

    fn atom(&self, body: &str, columns: usize, style: Style) -> Result<AtomLine> {
        let expected = 4 + style.columns.len();
        if columns != expected && columns != expected + 3 {
            return Err(self
                .lines
                .error(format!("an atom of style {} has {columns} columns instead of {expected}", style.name))
                .hint(format!(
                    "{expected}, or {} with image flags; is the atom style right?",
                    expected + 3
                )));
        }
        let mut words = body.split_whitespace();
        let id: u64 = self.lines.parse(words.next(), "the atom id")?;
        let (mut kind, mut charge) = (0, None);
        for column in style.columns {
            match column {
                AtomColumn::Molecule => self.lines.parse::<i64>(words.next(), "the molecule id").map(drop)?,
                AtomColumn::Type => kind = self.kind(words.next())?,
                AtomColumn::Charge => charge = Some(self.lines.number(words.next(), "the charge")?),
            }
        }
        let position = self.lines.vector(&mut words, ["x", "y", "z"])?;
        let mut image = [0; 3];
        if columns > expected {
            for n in &mut image {
                *n = self.lines.parse(words.next(), "the image flag")?;
            }
        }
        Ok(AtomLine { id, kind, charge, position, image, lines_at: self.lines.at() })
    }

    fn velocities(&mut self, by_id: &HashMap<u64, usize>) -> Result<Vec<Vec3>> {
        let total = by_id.len() as u64;
        let mut velocities = vec![None; by_id.len()];
        for k in 0..total {
            let (body, _) = split_comment(self.row("Velocities", k, total)?);
            let mut words = body.split_whitespace();
            let id: u64 = self.lines.parse(words.next(), "the atom id")?;
            let velocity = self.lines.vector(&mut words, ["vx", "vy", "vz"])?;
            if words.next().is_some() {
                return Err(self.lines.error("a line of Velocities has more than 4 columns"));
            }
            let place = by_id
                .get(&id)
                .ok_or_else(|| self.lines.error(format!("there is no atom with the id {id}")))?;
            if velocities[*place].replace(velocity).is_some() {
                return Err(self.lines.error(format!("the velocity of the atom {id} is given twice")));
            }
        }
        // All atoms are there: there are as many lines as atoms, and none twice.
        Ok(velocities.into_iter().flatten().collect())
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

/// The charges of types whose atoms have the same one, and those of all atoms where others have not.
fn charges(atoms: &[AtomLine], types: usize) -> (Vec<Option<f64>>, Vec<f64>) {
    let mut of_types: Vec<Option<f64>> = vec![None; types];
    let mut uniform = vec![true; types];
    for atom in atoms {
        if let Some(charge) = atom.charge {
            let known = *of_types[atom.kind].get_or_insert(charge);
            uniform[atom.kind] &= same_charge(charge, known);
        }
    }
    if uniform.iter().all(|uniform| *uniform) {
        return (of_types, Vec::new());
    }
    let of_types = of_types.into_iter().zip(uniform).map(|(charge, uniform)| charge.filter(|_| uniform));
    (of_types.collect(), atoms.iter().map(|atom| atom.charge.unwrap_or(0.0)).collect())
}
