//! mmCIF (PDBx; <https://mmcif.wwpdb.org>) with a data block for each frame, which has its own box;
//! angstrom. Time, step and units are in a category of our own, as CIF allows.

mod read;

use super::dcd::unit_cell;
use super::pdb::called;
use crate::trajectory::format::{Access, Content, FormatDefinition, FormatWriter, Precision, unwritable};
use crate::trajectory::frame::{Frame, TrajectoryHeader};
use crate::trajectory::units::{length_factor, picoseconds};
use jostle_core::{Result, Vector};
use std::borrow::Cow;
use std::io::Write;

pub(crate) use read::first_of_mmcif;

pub(super) const FORMAT: FormatDefinition = FormatDefinition {
    name: "cif",
    title: "mmCIF",
    about: "mmCIF: text, positions to 0.00001 A (0.00001 in lj), names and residues",
    contents: &[Content::Names, Content::Residues, Content::Times],
    precision: Precision { position: 0.5e-5, angle: 0.5e-6, unit: Some("A"), ..Precision::EXACT },
    access: Access::Stream,
    writer: || Box::new(Writer),
    recognize: |start| start.any_line(is_item).or_else(|| start.named(&[".cif", ".mmcif"])),
    open: |stream, path| Ok(Box::new(read::Source::new(stream, path))),
};

/// Returns true for a line that begins a data block, or has one of the items that files begin with.
fn is_item(line: &str) -> bool {
    let begins = |word: &str| line.get(..word.len()).is_some_and(|s| s.eq_ignore_ascii_case(word));
    ["data_", "_atom_site.", "_entry.", "_cell."].into_iter().any(begins)
}

/// Columns of the loop over atoms.
const COLUMNS: [&str; 15] = [
    "group_PDB",
    "id",
    "type_symbol",
    "label_atom_id",
    "label_alt_id",
    "label_comp_id",
    "label_asym_id",
    "label_entity_id",
    "label_seq_id",
    "pdbx_PDB_ins_code",
    "Cartn_x",
    "Cartn_y",
    "Cartn_z",
    "auth_seq_id",
    "pdbx_PDB_model_num",
];

struct Writer;

impl FormatWriter for Writer {
    fn frame(
        &mut self,
        header: &TrajectoryHeader,
        frame: &Frame,
        number: u64,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        write(header, frame, number, out).map_err(unwritable)
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
        let [element, name, kind, chain, insertion] =
            [&atom.element, &atom.name, &residue.name, &residue.chain, &residue.insertion]
                .map(|text| word(text));
        let Vector([x, y, z]) = r.map(|x| x * angstrom);
        writeln!(
            out,
            "ATOM {} {element} {name} . {kind} {chain} ? {place} {insertion} {x:.5} {y:.5} {z:.5} {place} {model}",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trajectory::source::{Evidence, FileStart};
    use std::path::Path;

    #[test]
    fn files_are_recognized_behind_comments() {
        let evidence =
            |text: &str, name| (FORMAT.recognize)(&FileStart::new(text.as_bytes(), Path::new(name)));
        for first in ["#\\#CIF_1.1", "", "# Jostle", "\u{feff}"] {
            let text = format!("{first}\ndata_1ABC\nloop_\n");
            assert_eq!(evidence(&text, "a"), Some(Evidence::Line(1)), "{first}");
        }
        assert_eq!(evidence("something\nelse\n", "a.mmcif"), Some(Evidence::Name));
        assert_eq!(evidence("something\nelse\n", "a.txt"), None);
    }
}
