//! mmCIF (PDBx; <https://mmcif.wwpdb.org>) with a data block for each frame, which has its own box;
//! angstrom. Time, step and units are in a category of our own, as CIF allows.

use super::dcd::unit_cell;
use super::pdb::called;
use super::{FormatWriter, Frame, TrajectoryHeader, WrittenSoFar, length_factor, picoseconds};
use jostle_core::{Error, Result};
use std::borrow::Cow;
use std::io::Write;

/// What a row says of an atom.
const COLUMNS: [&str; 14] = [
    "group_PDB",
    "id",
    "type_symbol",
    "label_atom_id",
    "label_alt_id",
    "label_comp_id",
    "label_asym_id",
    "label_entity_id",
    "label_seq_id",
    "Cartn_x",
    "Cartn_y",
    "Cartn_z",
    "auth_seq_id",
    "pdbx_PDB_model_num",
];

pub(super) struct Cif;

impl FormatWriter for Cif {
    fn file_header(&self, _: &TrajectoryHeader, _: &WrittenSoFar) -> Vec<u8> {
        Vec::new()
    }

    fn frame(
        &mut self,
        header: &TrajectoryHeader,
        frame: &Frame,
        number: u64,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        write(header, frame, number, out)
            .map_err(|e| Error::simulation(format!("a frame cannot be written as text: {e}")))
    }
}

fn write(header: &TrajectoryHeader, frame: &Frame, number: u64, out: &mut dyn Write) -> std::io::Result<()> {
    let angstrom = length_factor(header.units, "A");
    let model = number + 1;
    writeln!(out, "data_frame_{model}")?;
    writeln!(out, "_jostle.units {}\n_jostle.step {}", header.units, frame.step)?;
    if let Some(time) = frame.time {
        writeln!(out, "_jostle.time {}", time * picoseconds(header.units))?;
    }
    let [a, gamma, b, beta, alpha, c] = unit_cell(frame.simbox, angstrom);
    if a > 0.0 {
        for (name, length) in [("a", a), ("b", b), ("c", c)] {
            writeln!(out, "_cell.length_{name} {length:.6}")?;
        }
        for (name, cosine) in [("alpha", alpha), ("beta", beta), ("gamma", gamma)] {
            writeln!(out, "_cell.angle_{name} {:.6}", cosine.acos().to_degrees())?;
        }
    }
    writeln!(out, "loop_")?;
    COLUMNS.iter().try_for_each(|column| writeln!(out, "_atom_site.{column}"))?;
    for (id, r) in frame.positions.iter().enumerate() {
        let (atom, residue) = called(header, id);
        let [element, name, kind, chain] =
            [&atom.element, &atom.name, &residue.name, &residue.chain].map(|text| word(text));
        let [x, y, z] = r.map(|x| x * angstrom);
        writeln!(
            out,
            "ATOM {} {element} {name} . {kind} {chain} ? {place} {x:.5} {y:.5} {z:.5} {place} {model}",
            id + 1,
            place = residue.number,
        )?;
    }
    writeln!(out, "#")
}

/// A name as a word of CIF: quoted where it would be read as something else, a point for nothing.
fn word(text: &str) -> Cow<'_, str> {
    let begins = |c: char| "_#$'\"[];".contains(c);
    let reserved = ["data_", "save_", "loop_", "stop_", "global_"];
    let lower = text.to_ascii_lowercase();
    if text.is_empty() {
        ".".into()
    } else if text.starts_with(begins)
        || text.contains(char::is_whitespace)
        || [".", "?"].contains(&text)
        || reserved.iter().any(|word| lower.starts_with(word))
    {
        let quote = if text.contains('"') { '\'' } else { '"' };
        format!("{quote}{text}{quote}").into()
    } else {
        text.into()
    }
}
