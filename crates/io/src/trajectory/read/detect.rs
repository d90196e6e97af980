//! Which format a file has: by its first bytes, and, as many things may come first in PDB and mmCIF, by
//! its first lines that say something, else by its name.

use crate::pdb::{self, PdbLine};
use std::path::Path;

use super::{gsd, trr, xtc};

/// The formats that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DetectedFormat {
    Gsd,
    Hdf5,
    Xtc,
    Trr,
    Dcd(DcdLayout),
    Dump,
    Xyz,
    Pdb,
    Cif,
}

/// How numbers and records are stored in a DCD file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DcdLayout {
    pub order: ByteOrder,
    pub marks: RecordMarks,
}

/// Which byte of a number comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ByteOrder {
    Little,
    Big,
}

/// How many bits there are in the mark on both sides of a Fortran record, which is its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordMarks {
    Bits32,
    Bits64,
}

/// The format of a file with this name that begins with these bytes; `None` if it is none of them.
pub(super) fn format(start: &[u8], path: &Path) -> Option<DetectedFormat> {
    let word = start.get(..4).and_then(|b| b.try_into().ok()).map(i32::from_be_bytes);
    if start.starts_with(&gsd::MAGIC.to_le_bytes()) {
        Some(DetectedFormat::Gsd)
    } else if start.starts_with(b"\x89HDF\r\n\x1a\n") {
        Some(DetectedFormat::Hdf5)
    } else if matches!(word, Some(xtc::MAGIC | xtc::MAGIC_LARGE)) {
        Some(DetectedFormat::Xtc)
    } else if word == Some(trr::MAGIC) {
        Some(DetectedFormat::Trr)
    } else {
        dcd(start).map(DetectedFormat::Dcd).or_else(|| of_text(start, path))
    }
}

/// The first record of a DCD file has 84 bytes and begins with a word of four letters.
fn dcd(start: &[u8]) -> Option<DcdLayout> {
    let is = |mark: &[u8]| {
        start.starts_with(mark) && [b"CORD", b"VELD"].iter().any(|w| start[mark.len()..].starts_with(*w))
    };
    let layout = |order, marks| Some(DcdLayout { order, marks });
    match () {
        () if is(&84i32.to_le_bytes()) => layout(ByteOrder::Little, RecordMarks::Bits32),
        () if is(&84i32.to_be_bytes()) => layout(ByteOrder::Big, RecordMarks::Bits32),
        () if is(&84i64.to_le_bytes()) => layout(ByteOrder::Little, RecordMarks::Bits64),
        () if is(&84i64.to_be_bytes()) => layout(ByteOrder::Big, RecordMarks::Bits64),
        () => None,
    }
}

fn of_text(start: &[u8], path: &Path) -> Option<DetectedFormat> {
    // The last letter may be cut.
    let text = match std::str::from_utf8(start) {
        Ok(text) => text,
        Err(e) => std::str::from_utf8(&start[..e.valid_up_to()]).unwrap_or_default(),
    };
    if text.contains('\0') {
        return None;
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let first = text.lines().map(str::trim_end).find(|line| !line.is_empty())?;
    let cif = |line: &str| {
        let begins = |word: &str| line.get(..word.len()).is_some_and(|s| s.eq_ignore_ascii_case(word));
        ["data_", "_atom_site.", "_entry.", "_cell."].into_iter().any(begins)
    };
    if first.starts_with("ITEM:") {
        return Some(DetectedFormat::Dump);
    }
    if first.trim().parse::<u64>().is_ok() {
        return Some(DetectedFormat::Xyz);
    }
    let told = text.lines().find_map(|line| {
        let record = PdbLine(line).record();
        match () {
            () if cif(line) => Some(DetectedFormat::Cif),
            () if record == line.get(..6).unwrap_or(line).trim_end() && pdb::RECORDS.contains(&record) => {
                Some(DetectedFormat::Pdb)
            }
            () => None,
        }
    });
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("").to_lowercase();
    let unpacked = [".gz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    let named = |ends: [&str; 2]| ends.iter().any(|end| unpacked.ends_with(end));
    told.or_else(|| {
        let of_name = [(DetectedFormat::Pdb, [".pdb", ".ent"]), (DetectedFormat::Cif, [".cif", ".mmcif"])];
        of_name.into_iter().find(|(_, ends)| named(*ends)).map(|(format, _)| format)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, name: &str) -> Option<DetectedFormat> {
        format(text.as_bytes(), Path::new(name))
    }

    #[test]
    fn whatever_comes_first_pdb_and_mmcif_are_known() {
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
            assert_eq!(of(&format!("{first}\n{atom}\n"), "a.dat"), Some(DetectedFormat::Pdb), "{first}");
            assert_eq!(
                of(&format!("\u{feff}{first}\n{atom}\n"), "a.dat"),
                Some(DetectedFormat::Pdb),
                "{first}"
            );
        }
        for first in ["#\\#CIF_1.1", "", "# Jostle", "\u{feff}"] {
            assert_eq!(
                of(&format!("{first}\ndata_1ABC\nloop_\n"), "a"),
                Some(DetectedFormat::Cif),
                "{first}"
            );
        }
        assert_eq!(of("something\nelse\n", "a.pdb.gz"), Some(DetectedFormat::Pdb));
        assert_eq!(of("something\nelse\n", "a.mmcif"), Some(DetectedFormat::Cif));
        assert_eq!(of("\n3\n", "a.pdb"), Some(DetectedFormat::Xyz));
        for text in ["something\nelse\n", "ATOMS\n", "atoms 1 2 3\n", "", "\n"] {
            assert_eq!(of(text, "a.txt"), None, "{text}");
        }
    }

    #[test]
    fn records_of_dcd_may_be_marked_in_four_ways() {
        let starts = [
            84i32.to_le_bytes().to_vec(),
            84i32.to_be_bytes().to_vec(),
            84i64.to_le_bytes().to_vec(),
            84i64.to_be_bytes().to_vec(),
        ];
        let found = starts.map(|mark| format(&[&mark[..], b"CORD"].concat(), Path::new("a")));
        let layouts = [
            (ByteOrder::Little, RecordMarks::Bits32),
            (ByteOrder::Big, RecordMarks::Bits32),
            (ByteOrder::Little, RecordMarks::Bits64),
            (ByteOrder::Big, RecordMarks::Bits64),
        ];
        assert_eq!(
            found,
            layouts.map(|(order, marks)| Some(DetectedFormat::Dcd(DcdLayout { order, marks })))
        );
        assert_eq!(format(&84i32.to_le_bytes(), Path::new("a")), None);
    }
}
