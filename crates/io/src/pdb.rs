//! The columns of PDB files (wwPDB format 3.3, <https://www.wwpdb.org/documentation/file-format>);
//! lengths in angstrom.

use crate::select::keywords::is_standard;
use crate::structure::Lines;
use jostle_core::{AtomName, Names, Residue, Result, Vec3, Vector};
use std::collections::BTreeMap;

/// The kinds of lines of a PDB file (chapters 2 to 11 of the format), `USER` of programs, and those of
/// older versions.
pub(crate) const RECORDS: [&str; 60] = [
    "HEADER", "OBSLTE", "TITLE", "SPLIT", "CAVEAT", "COMPND", "SOURCE", "KEYWDS", "EXPDTA", "NUMMDL",
    "MDLTYP", "AUTHOR", "REVDAT", "SPRSDE", "JRNL", "REMARK", "DBREF", "DBREF1", "DBREF2", "SEQADV",
    "SEQRES", "MODRES", "HET", "HETNAM", "HETSYN", "FORMUL", "HELIX", "SHEET", "TURN", "SSBOND", "LINK",
    "HYDBND", "SLTBRG", "CISPEP", "SITE", "CRYST1", "ORIGX1", "ORIGX2", "ORIGX3", "SCALE1", "SCALE2",
    "SCALE3", "MTRIX1", "MTRIX2", "MTRIX3", "TVECT", "MODEL", "ATOM", "SIGATM", "ANISOU", "SIGUIJ", "TER",
    "HETATM", "ENDMDL", "CONECT", "MASTER", "END", "FTNOTE", "HETSYM", "USER",
];

/// Records that values are read from.
const READ: [&str; 7] = ["ATOM", "HETATM", "CRYST1", "CONECT", "MODEL", "ENDMDL", "END"];

/// Returns true for a line in which only people read, so that letters of any encoding do no harm: a REMARK, an AUTHOR.
pub(crate) fn is_comment(line: &[u8]) -> bool {
    let record = line.get(..6).unwrap_or(line);
    let record = std::str::from_utf8(record).unwrap_or_default().trim();
    RECORDS.contains(&record) && !READ.contains(&record)
}

/// A line of a PDB file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PdbLine<'a>(pub &'a str);

impl<'a> PdbLine<'a> {
    /// Kind of the line: "ATOM", "CRYST1".
    pub fn record(self) -> &'a str {
        // Numbers of atoms with more than five digits begin in the columns of the record.
        let wide = self.0.starts_with("ATOM") && is_number(self.field(4, 11));
        if wide { "ATOM" } else { self.field(0, 6) }
    }

    /// Returns true for the line of an atom.
    pub fn is_atom(self) -> bool {
        matches!(self.record(), "ATOM" | "HETATM")
    }

    /// Position of the atom.
    ///
    /// # Errors
    /// If there are no numbers.
    pub fn position(self, lines: &Lines) -> Result<Vec3> {
        if self.0.len() < 54 {
            return Err(lines
                .error("an atom has no position in columns 31 to 54")
                .hint("the file is truncated, or is no PDB file"));
        }
        let number = |from, what| lines.number(Some(self.field(from, from + 8)), what);
        Ok(Vector([number(30, "x")?, number(38, "y")?, number(46, "z")?]))
    }

    /// Name of the atom.
    pub fn name(self) -> &'a str {
        self.field(12, 16)
    }

    /// The chemical symbol of the atom, in capitals; empty where the file does not say and the atom is
    /// none of those whose names in proteins, nucleic acids and water begin with it.
    pub fn element(self) -> &'a str {
        let said = self.field(76, 78);
        if said.is_empty() { element_of(self.name(), self.field(17, 21)) } else { said }
    }

    /// The number of the atom, as the bonds of CONECT have it.
    pub fn serial(self) -> Option<u32> {
        let number = if self.0.starts_with("ATOM") { self.field(4, 11) } else { self.field(6, 12) };
        number.parse().ok()
    }

    /// The numbers of an atom and of those that it is bound to, of a line CONECT.
    pub fn bound(self) -> impl Iterator<Item = [u32; 2]> {
        let number = |from: usize| self.field(from, from + 5).parse().ok();
        let (atom, partners) = (number(6), [11, 16, 21, 26].map(number));
        partners.into_iter().filter_map(move |partner: Option<u32>| Some([atom?, partner?]))
    }

    /// Lengths and angles (degrees) of the box, of a line CRYST1; `None` where a cube of one angstrom
    /// stands for no crystal.
    ///
    /// # Errors
    /// If there are no numbers.
    pub fn cell(self, lines: &Lines) -> Result<Option<([f64; 3], [f64; 3])>> {
        let number = |from, to, what| lines.number(Some(self.field(from, to)), what);
        let lengths = [number(6, 15, "a")?, number(15, 24, "b")?, number(24, 33, "c")?];
        // Right angles are left out by some programs.
        let angles = match self.field(33, 54) {
            "" => [90.0; 3],
            _ => [number(33, 40, "alpha")?, number(40, 47, "beta")?, number(47, 54, "gamma")?],
        };
        Ok((lengths != [1.0; 3] && lengths != [0.0; 3]).then_some((lengths, angles)))
    }

    /// Number and insertion code of the residue; five digits reach into the column of insertion codes.
    fn residue_number(self) -> (i32, String) {
        match self.field(22, 27) {
            number if is_number(number) => (number.parse().unwrap_or(0), String::new()),
            _ => (self.field(22, 26).parse().unwrap_or(0), self.field(26, 27).to_string()),
        }
    }

    fn field(self, from: usize, to: usize) -> &'a str {
        self.0.get(from..to.min(self.0.len())).unwrap_or("").trim()
    }
}

/// Chemical symbol of an atom in a residue of proteins, nucleic acids and water whose name begins with it; else
/// empty.
pub(crate) fn element_of<'a>(name: &'a str, residue: &str) -> &'a str {
    let name = name.trim_start_matches(|c: char| c.is_ascii_digit());
    match name.get(..1).filter(|_| is_standard(residue)) {
        Some(symbol) if "HCNOP".contains(symbol) || ["SG", "SD"].contains(&name) => symbol,
        _ => "",
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Collects the names of atoms, line by line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Collector {
    names: Names,
    /// Marks of alternative places, and how many atoms have each.
    marked: BTreeMap<String, usize>,
    /// Marks of the latest residue, which tell it from the next.
    last: Option<[String; 4]>,
}

impl Collector {
    /// Adds the atom of a line.
    pub fn add_line(&mut self, line: PdbLine) {
        self.add_place(line.field(16, 17));
        self.add_scattering(line.field(54, 60), line.field(60, 66));
        // Insertion codes and segments tell residues apart, too.
        let marks = [line.field(17, 21), line.field(21, 27), line.field(72, 76), ""];
        let chain = if line.field(21, 22).is_empty() { marks[2] } else { line.field(21, 22) };
        self.add(marks, (line.name(), line.element()), || Residue {
            name: marks[0].to_string(),
            number: line.residue_number().0,
            insertion: line.residue_number().1,
            chain: chain.to_string(),
        });
    }

    /// Counts an atom that has one of several places, if it has a mark of that.
    pub fn add_place(&mut self, mark: &str) {
        if !mark.is_empty() {
            *self.marked.entry(mark.to_string()).or_default() += 1;
        }
    }

    /// Adds the occupancy and the B factor of an atom.
    pub fn add_scattering(&mut self, occupancy: &str, b_factor: &str) {
        let number = |text: &str| text.parse().ok().filter(|x: &f64| x.is_finite()).unwrap_or(f64::NAN);
        self.names.occupancy.push(number(occupancy));
        self.names.b_factor.push(number(b_factor));
    }

    /// The names of all atoms; columns without a number are none.
    pub fn into_names(self) -> Names {
        let kept = |column: Vec<f64>| if column.iter().all(|x| x.is_nan()) { Vec::new() } else { column };
        let Names { occupancy, b_factor, .. } = self.names;
        Names { occupancy: kept(occupancy), b_factor: kept(b_factor), ..self.names }
    }

    /// Contents that are not kept, in words: occupancies and B factors other than those of atoms that are always there and
    /// at rest among them.
    pub fn not_kept(&self) -> Vec<String> {
        let columns = [("occupancies", &self.names.occupancy, 1.0), ("B factors", &self.names.b_factor, 0.0)];
        let is_found = |column: &[f64], usual| column.iter().any(|x| !x.is_nan() && *x != usual);
        let found: Vec<&str> = columns
            .into_iter()
            .filter(|(_, column, usual)| is_found(column, *usual))
            .map(|(name, ..)| name)
            .collect();
        let scattering =
            (!found.is_empty()).then(|| format!("{} are for selections only", found.join(" and ")));
        self.alternatives().into_iter().chain(scattering).collect()
    }

    /// Atoms with alternative places in words, and what to do about them.
    pub fn alternatives(&self) -> Option<String> {
        let places = self.marked.iter().map(|(mark, count)| format!("{count} in place {mark}"));
        let places = places.collect::<Vec<_>>().join(", ");
        (!places.is_empty()).then(|| {
            format!(
                "atoms of the file have alternative places ({places}), each of which counts as an atom: \
                 keep one place of each atom"
            )
        })
    }

    /// Adds an atom, its name and element, of the residue with these marks.
    pub fn add(&mut self, marks: [&str; 4], (name, element): (&str, &str), residue: impl Fn() -> Residue) {
        if self.last.as_ref().is_none_or(|last| *last != marks) {
            self.last = Some(marks.map(String::from));
            self.names.residues.push(residue());
        }
        self.names.atoms.push(AtomName {
            name: name.to_string(),
            element: element.to_string(),
            residue: self.names.residues.len() as u32 - 1,
        });
    }
}
