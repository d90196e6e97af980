//! PDB with a model for each frame (wwPDB format 3.3): names and residues, positions to 0.001 angstrom,
//! the box in front of each model, time and step in a title like those of GROMACS. The first model ends
//! with the bonds (CONECT) of all but water, proteins and nucleic acids, which readers know; VMD reads no
//! further.

mod read;

use super::dcd::unit_cell;
use crate::forcefield::elements;
use crate::pdb::{self, PdbLine};
use crate::select::keywords::is_standard;
use crate::trajectory::format::{Access, Content, FormatDefinition, FormatWriter, Precision, unwritable};
use crate::trajectory::frame::{Frame, TrajectoryHeader};
use crate::trajectory::title::FrameTitle;
use crate::trajectory::units::length_factor;
use jostle_core::{AtomName, Error, Residue, Result, Vec3, Vector};
use std::collections::BTreeMap;
use std::io::Write;

pub(super) const FORMAT: FormatDefinition = FormatDefinition {
    name: "pdb",
    title: "PDB",
    about: "PDB: text, positions to 0.001 A (0.001 in lj), names and residues",
    contents: &[Content::Names, Content::Residues, Content::Times],
    precision: Precision { position: 0.0005, angle: 0.005, unit: Some("A"), ..Precision::EXACT },
    access: Access::Stream,
    writer: || Box::new(Writer),
    recognize: |start| start.any_line(is_record).or_else(|| start.named(&[".pdb", ".ent"])),
    open: |stream, path| Ok(Box::new(read::Source::new(stream, path))),
};

/// Returns true for a line that begins with the name of a record in capitals.
fn is_record(line: &str) -> bool {
    let record = PdbLine(line).record();
    record == line.get(..6).unwrap_or(line).trim_end() && pdb::RECORDS.contains(&record)
}

struct Writer;

impl FormatWriter for Writer {
    fn check(&self, header: &TrajectoryHeader) -> Result<()> {
        let too_long = |what: &str, name: &str| {
            Error::simulation(format!("the name \"{name}\" of {what} has more than four letters"))
                .hint("the columns of PDB have no room for it; take another format, as xyz or xtc")
        };
        if let Some(name) = header.names.iter().find(|n| n.len() > 4 && header.atoms.atoms.is_empty()) {
            return Err(too_long("a species", name));
        }
        if let Some(atom) = header.atoms.atoms.iter().find(|a| a.name.len() > 4) {
            return Err(too_long("an atom", &atom.name));
        }
        if let Some(residue) = header.atoms.residues.iter().find(|r| r.name.len() > 4) {
            return Err(too_long("a residue", &residue.name));
        }
        match header.atoms.residues.iter().find(|r| r.insertion.len() > 1) {
            Some(Residue { insertion, .. }) => Err(Error::simulation(format!(
                "the insertion code \"{insertion}\" of a residue has more than one letter"
            ))
            .hint("the columns of PDB have no room for it; take another format, as cif")),
            None => Ok(()),
        }
    }

    fn frame(
        &mut self,
        header: &TrajectoryHeader,
        frame: &Frame,
        number: u64,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let angstrom = length_factor(header.units, "A");
        // Range of a column of eight characters with three decimals.
        let fits = |x: f64| (-999.9995 < x) && (x < 9999.9995);
        let far = |r: &Vec3| r.iter().any(|x| !fits(x * angstrom));
        if let Some(id) = frame.positions.iter().position(far) {
            return Err(Error::simulation(format!(
                "atom {id} is too far away for a PDB file: beyond -999.999 to 9999.999 angstrom"
            ))
            .hint("take another format, as xyz or xtc"));
        }
        let [a, _, b, _, _, c] = unit_cell(frame.simbox, angstrom);
        if [a, b, c].iter().any(|edge| *edge >= 99999.9995) {
            return Err(Error::simulation(
                "the box is too large for a PDB file: an edge is beyond 99999.999 angstrom",
            )
            .hint("take another format, as xyz or xtc"));
        }
        write(header, frame, number, angstrom, out).map_err(unwritable)
    }
}

fn write(
    header: &TrajectoryHeader,
    frame: &Frame,
    number: u64,
    angstrom: f64,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    writeln!(out, "TITLE     {}", FrameTitle::of(header, frame))?;
    let [a, gamma, b, beta, alpha, c] = unit_cell(frame.simbox, angstrom);
    if a > 0.0 {
        let [alpha, beta, gamma] = [alpha, beta, gamma].map(|cosine| cosine.acos().to_degrees());
        writeln!(out, "CRYST1{a:9.3}{b:9.3}{c:9.3}{alpha:7.2}{beta:7.2}{gamma:7.2} P 1           1")?;
    }
    writeln!(out, "MODEL     {:4}", number + 1)?;
    for (id, r) in frame.positions.iter().enumerate() {
        let (atom, residue) = called(header, id);
        // Names of elements of one letter begin in the second column.
        let name = match atom.element.len() < 2 && atom.name.len() < 4 {
            true => format!(" {:<3}", atom.name),
            false => format!("{:<4}", atom.name),
        };
        let element = atom.element.to_uppercase();
        let (chain, segment) = match residue.chain.len() {
            0 | 1 => (residue.chain.as_str(), ""),
            _ => ("", residue.chain.as_str()),
        };
        // Numbers that are too large for their columns begin anew; atoms are known by their order.
        let (serial, place) = ((id + 1) % 100_000, residue.number.rem_euclid(10_000));
        let Vector([x, y, z]) = r.map(|x| x * angstrom);
        writeln!(
            out,
            "ATOM  {serial:5} {name} {:<4}{chain:1}{place:4}{:1}   {x:8.3}{y:8.3}{z:8.3}  1.00  0.00      {segment:<4.4}{element:>2}",
            residue.name, residue.insertion,
        )?;
    }
    if number == 0 {
        write_bonds(header, out)?;
    }
    writeln!(out, "ENDMDL")
}

/// Writes the bonds; those of atoms with numbers that begin anew are left out, as they would be ambiguous.
fn write_bonds(header: &TrajectoryHeader, out: &mut dyn Write) -> std::io::Result<()> {
    let names = &header.atoms;
    let residue = |id: u32| names.residues.get(names.atoms.get(id as usize)?.residue as usize);
    let standard = |id: &u32| residue(*id).is_some_and(|r| is_standard(&r.name));
    let mut partners = BTreeMap::<u32, Vec<u32>>::new();
    for [a, b] in &header.bonds {
        if *a.max(b) < 99_999 && ![a, b].into_iter().all(standard) {
            partners.entry(*a).or_default().push(*b);
            partners.entry(*b).or_default().push(*a);
        }
    }
    for (atom, partners) in partners {
        for four in partners.chunks(4) {
            let numbers = [atom].iter().chain(four).map(|id| format!("{:5}", id + 1)).collect::<String>();
            writeln!(out, "CONECT{numbers}")?;
        }
    }
    Ok(())
}

/// Name and residue of an atom: those of its molecule, else those of its species.
pub(super) fn called(header: &TrajectoryHeader, id: usize) -> (AtomName, Residue) {
    match header.atoms.atoms.get(id) {
        Some(atom) => {
            let residue = header.atoms.residues.get(atom.residue as usize);
            (atom.clone(), residue.cloned().unwrap_or_default())
        }
        None => {
            let species = usize::from(header.species[id]);
            let name = header.names.get(species).map_or("X", String::as_str).to_string();
            let element = if elements::is_symbol(&name) { name.clone() } else { String::new() };
            // UNK is the name of unknown residues in PDB.
            let residue = Residue { name: "UNK".into(), number: 1, ..Residue::default() };
            (AtomName { name, element, residue: 0 }, residue)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trajectory::source::{Evidence, FileStart};
    use jostle_core::{Names, SimBox, UnitSystem};
    use std::path::Path;

    fn evidence(text: &str, name: &str) -> Option<Evidence> {
        (FORMAT.recognize)(&FileStart::new(text.as_bytes(), Path::new(name)))
    }

    /// Columns of edges have room for five digits before the point.
    #[test]
    fn boxes_that_have_no_room_are_refused() {
        let header = TrajectoryHeader {
            units: UnitSystem::Real,
            names: vec!["Ar".into()],
            species: vec![0],
            masses: vec![1.0],
            charges: vec![0.0],
            atoms: Names::default(),
            bonds: Vec::new(),
            periodic: [true; 3],
            timestep: 1.0,
            every: 1,
            images: false,
        };
        let write = |edge: f64| {
            let (simbox, mut out) = (SimBox::orthorhombic([10.0, 10.0, edge]).unwrap(), Vec::new());
            let positions = &[Vector([1.0; 3])][..];
            let frame =
                Frame { step: 0, time: None, simbox: &simbox, positions, velocities: None, images: None };
            Writer.frame(&header, &frame, 0, &mut out).map(|()| String::from_utf8(out).unwrap())
        };
        assert!(write(99999.999).unwrap().contains("CRYST1   10.000   10.00099999.999  90.00"));
        assert!(write(99999.9996).unwrap_err().message().contains("the box is too large"));
    }

    #[test]
    fn files_are_recognized_by_any_of_their_first_lines() {
        let atom = "ATOM      1  CB  ALA A   1       2.000   1.000   1.000  1.00  0.00";
        for first in [
            "",
            "   ",
            "SSBOND   1 CYS A    6    CYS A   11",
            "HELIX    1  HA GLY A   86",
            "SHEET    1   A 5",
            "LINK         O   GLY A  49",
            "DBREF  2JHQ A    1   226",
            "SCALE1      0.033333",
            "ORIGX1      1.0",
            "MTRIX1   1  1.0",
            "TER",
            "USER  MOD",
            "# a comment",
            "! a comment",
            "REMARK",
            "END",
        ] {
            for mark in ["", "\u{feff}"] {
                let found = evidence(&format!("{mark}{first}\n{atom}\n"), "a.dat");
                assert!(matches!(found, Some(Evidence::Line(_))), "{first}");
            }
        }
        assert_eq!(evidence("something\nelse\n", "a.pdb.gz"), Some(Evidence::Name));
        for text in ["something\nelse\n", "ATOMS\n", "atoms 1 2 3\n", "", "\n"] {
            assert_eq!(evidence(text, "a.txt"), None, "{text}");
        }
        assert_eq!(evidence("\n", "a.pdb"), None);
    }
}
