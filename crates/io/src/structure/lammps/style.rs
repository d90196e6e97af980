//! Atom styles: which columns an atom has between its id and its coordinates.

/// An atom style that is read.
#[derive(Clone, Copy)]
pub(super) struct Style {
    pub name: &'static str,
    pub columns: &'static [AtomColumn],
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum AtomColumn {
    Molecule,
    Type,
    Charge,
}

const STYLES: &[Style] = &[
    Style { name: "atomic", columns: &[AtomColumn::Type] },
    Style { name: "charge", columns: &[AtomColumn::Type, AtomColumn::Charge] },
    Style { name: "bond", columns: &[AtomColumn::Molecule, AtomColumn::Type] },
    Style { name: "angle", columns: &[AtomColumn::Molecule, AtomColumn::Type] },
    Style { name: "molecular", columns: &[AtomColumn::Molecule, AtomColumn::Type] },
    Style { name: "full", columns: &[AtomColumn::Molecule, AtomColumn::Type, AtomColumn::Charge] },
];

/// Styles of LAMMPS whose atoms have what is not read (<https://docs.lammps.org/atom_style.html>).
const OTHERS: &[&str] = &[
    "amoeba",
    "body",
    "bpm/sphere",
    "dielectric",
    "dipole",
    "dpd",
    "edpd",
    "electron",
    "ellipsoid",
    "hybrid",
    "line",
    "mdpd",
    "oxdna",
    "peri",
    "rheo",
    "rheo/thermal",
    "smd",
    "sph",
    "sphere",
    "spin",
    "tdpd",
    "template",
    "tri",
    "wavepacket",
];

/// The style that stands behind the name of a section.
pub(super) enum Hint {
    Read(Style),
    /// Style of LAMMPS that is not read.
    Other,
    /// Nothing, or a comment.
    None,
}

impl Hint {
    pub fn new(comment: Option<&str>) -> Hint {
        let Some(word) = comment.and_then(|comment| comment.split_whitespace().next()) else {
            return Hint::None;
        };
        match STYLES.iter().find(|style| style.name == word) {
            Some(style) => Hint::Read(*style),
            None if OTHERS.contains(&word) => Hint::Other,
            None => Hint::None,
        }
    }
}

/// The names of styles that are read.
pub(super) fn names() -> String {
    STYLES.iter().map(|style| style.name).collect::<Vec<_>>().join(", ")
}

/// The styles that so many columns may be of, with image flags or without.
pub(super) fn with_columns(columns: usize) -> Vec<Style> {
    let fits = |style: &&Style| [4, 7].contains(&columns.saturating_sub(style.columns.len()));
    STYLES.iter().filter(fits).copied().collect()
}
