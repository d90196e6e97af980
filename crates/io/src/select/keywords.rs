//! The keywords of selections, as one table.

use std::fmt::Write as _;

/// A word that chooses atoms.
#[derive(Debug)]
pub struct Keyword {
    /// The word, and others that mean the same.
    pub names: &'static [&'static str],
    /// Meaning of the word.
    pub meaning: Meaning,
    /// Explanation in one line.
    pub about: &'static str,
}

/// Meaning of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// Class of atoms, chosen by the word itself.
    Class(Class),
    /// Names follow it: `name CA CB "O5'" H*`.
    Text(TextProperty),
    /// Names of groups of the input follow it: `group slab`.
    Groups,
    /// Numbers, ranges or a comparison follow it: `resid 1 3 to 5`, `x >= 2.5`.
    Number(Number),
}

/// Kinds of atoms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Every atom.
    All,
    /// No atom.
    Nothing,
    /// Atoms of proteins.
    Protein,
    /// Atoms of nucleic acids.
    Nucleic,
    /// Backbone of proteins and nucleic acids.
    Backbone,
    /// The rest of these residues.
    Sidechain,
    /// Atoms of water.
    Water,
    /// Charged atoms by themselves.
    Ion,
    /// Hydrogen atoms.
    Hydrogen,
}

/// Kind of name that atoms have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextProperty {
    /// The name of the atom.
    Name,
    /// The chemical symbol.
    Element,
    /// The name of the species.
    Species,
    /// The name of the residue.
    ResidueName,
    /// The chain or segment.
    Chain,
}

/// Numbers of atoms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Number {
    /// The number of the atom, from 0.
    Index,
    /// The number of the atom, from 1.
    Serial,
    /// The number of the residue in the file.
    ResidueNumber,
    /// The number of the residue, from 0.
    Residue,
    /// The number of the molecule, from 0.
    Molecule,
    /// Coordinates in the box, along an axis.
    Coordinate(usize),
    /// The mass.
    Mass,
    /// The charge.
    Charge,
    /// The occupancy in the file.
    Occupancy,
    /// The B factor in the file.
    BFactor,
}

impl Number {
    /// Returns true for numbers that count.
    pub fn is_whole(self) -> bool {
        match self {
            Number::Index | Number::Serial | Number::ResidueNumber | Number::Residue | Number::Molecule => {
                true
            }
            Number::Coordinate(_) | Number::Mass | Number::Charge | Number::Occupancy | Number::BFactor => {
                false
            }
        }
    }
}

use Meaning as M;

/// All words that choose atoms.
pub static KEYWORDS: &[Keyword] = &[
    Keyword { names: &["all"], meaning: M::Class(Class::All), about: "every atom" },
    Keyword { names: &["none"], meaning: M::Class(Class::Nothing), about: "no atom" },
    Keyword {
        names: &["protein"],
        meaning: M::Class(Class::Protein),
        about: "amino acids: by the names of residues, or those with atoms N, CA, C and O",
    },
    Keyword {
        names: &["nucleic"],
        meaning: M::Class(Class::Nucleic),
        about: "DNA and RNA: by the names of residues, or those with atoms C1' and O4'",
    },
    Keyword {
        names: &["backbone"],
        meaning: M::Class(Class::Backbone),
        about: "N, CA, C and O of proteins; phosphates and the chain of sugars of nucleic acids",
    },
    Keyword {
        names: &["sidechain"],
        meaning: M::Class(Class::Sidechain),
        about: "atoms of proteins and nucleic acids that are not backbone",
    },
    Keyword {
        names: &["water", "waters"],
        meaning: M::Class(Class::Water),
        about: "by the names of residues, or molecules of an oxygen and two hydrogens",
    },
    Keyword {
        names: &["ion", "ions"],
        meaning: M::Class(Class::Ion),
        about: "charged atoms that are molecules by themselves",
    },
    Keyword {
        names: &["hydrogen", "hydrogens"],
        meaning: M::Class(Class::Hydrogen),
        about: "hydrogen atoms",
    },
    Keyword {
        names: &["name"],
        meaning: M::Text(TextProperty::Name),
        about: "names of atoms; where they have none, of species",
    },
    Keyword { names: &["element"], meaning: M::Text(TextProperty::Element), about: "chemical symbols" },
    Keyword {
        names: &["species", "type"],
        meaning: M::Text(TextProperty::Species),
        about: "names of species",
    },
    Keyword { names: &["resname"], meaning: M::Text(TextProperty::ResidueName), about: "names of residues" },
    Keyword {
        names: &["chain", "segid", "segname"],
        meaning: M::Text(TextProperty::Chain),
        about: "chains or segments: of the topology, else of coordinates from PDB or mmCIF",
    },
    Keyword { names: &["group"], meaning: M::Groups, about: "atoms of a [[group]] of the input" },
    Keyword { names: &["index"], meaning: M::Number(Number::Index), about: "numbers of atoms, from 0" },
    Keyword { names: &["serial"], meaning: M::Number(Number::Serial), about: "numbers of atoms, from 1" },
    Keyword {
        names: &["resid"],
        meaning: M::Number(Number::ResidueNumber),
        about: "numbers of residues, as in the file",
    },
    Keyword {
        names: &["residue"],
        meaning: M::Number(Number::Residue),
        about: "numbers of residues, from 0",
    },
    Keyword {
        names: &["molecule", "fragment"],
        meaning: M::Number(Number::Molecule),
        about: "numbers of molecules, from 0: what bonds and constraints join",
    },
    Keyword { names: &["x"], meaning: M::Number(Number::Coordinate(0)), about: "coordinates in the box" },
    Keyword { names: &["y"], meaning: M::Number(Number::Coordinate(1)), about: "the same along y" },
    Keyword { names: &["z"], meaning: M::Number(Number::Coordinate(2)), about: "the same along z" },
    Keyword {
        names: &["mass"],
        meaning: M::Number(Number::Mass),
        about: "masses, in the units of the input",
    },
    Keyword { names: &["charge"], meaning: M::Number(Number::Charge), about: "charges" },
    Keyword {
        names: &["occupancy"],
        meaning: M::Number(Number::Occupancy),
        about: "occupancies, where coordinates come from PDB or mmCIF",
    },
    Keyword {
        names: &["bfactor", "beta"],
        meaning: M::Number(Number::BFactor),
        about: "B factors, where coordinates come from PDB or mmCIF",
    },
];

/// Operators of selections: the words, their usage, and the atoms that they choose.
pub static OPERATORS: &[(&[&str], &str, &str)] = &[
    (&["and"], "A and B", "atoms that are both"),
    (&["or"], "A or B", "atoms that are either; after \"and\""),
    (&["not"], "not A", "all other atoms; before \"and\""),
    (&["within", "of"], "within 5 of A", "atoms nearer than that to any of A, A included; minimum image"),
    (&["same", "as"], "same residue as A", "atoms that share this name or number with any of A"),
    (&["to"], "resid 3 to 9", "numbers from the first to the last"),
];

/// The word with this name.
pub fn find(name: &str) -> Option<&'static Keyword> {
    KEYWORDS.iter().find(|word| word.names.contains(&name))
}

/// Returns true for an operator, before which names end.
pub fn is_operator(name: &str) -> bool {
    OPERATORS.iter().any(|(words, ..)| words.contains(&name))
}

/// All words that there are.
pub fn all() -> impl Iterator<Item = &'static str> {
    let operators = OPERATORS.iter().flat_map(|(words, ..)| words.iter());
    KEYWORDS.iter().flat_map(|word| word.names).chain(operators).copied()
}

/// The words with a line about each, for people.
pub fn help() -> String {
    let mut text = String::new();
    let mut section = |title: &str, lines: &mut dyn Iterator<Item = (String, &str)>| {
        let _ = writeln!(text, "{title}");
        for (word, about) in lines {
            let _ = writeln!(text, "  {word:<24} {about}");
        }
    };
    let of = |which: fn(&Meaning) -> bool| {
        KEYWORDS
            .iter()
            .filter(move |word| which(&word.meaning))
            .map(|word| (word.names.join(", "), word.about))
    };
    section("Kinds of atoms:", &mut of(|m| matches!(m, M::Class(_))));
    let names = "Names, one or several (* any characters, ? one; quotes take all literally):";
    section(names, &mut of(|m| matches!(m, M::Text(_) | M::Groups)));
    let numbers = "Numbers, ranges or comparisons (resid 1 3 to 5, x >= 2.5, charge != 0):";
    section(numbers, &mut of(|m| matches!(m, M::Number(_))));
    let operators = OPERATORS.iter().map(|(_, usage, about)| ((*usage).to_string(), *about));
    section("Together, with parentheses where needed:", &mut operators.into_iter());
    text
}

/// Residues of proteins, the variants of force fields and caps included.
pub(super) const AMINO_ACIDS: &str = "ALA ARG ASN ASP CYS GLN GLU GLY HIS ILE LEU LYS MET PHE PRO SER THR TRP TYR \
    VAL ASH GLH LYN CYM CYX CYX2 HID HIE HIP HSD HSE HSP HISD HISE HISH LYSH ARGN ASPH GLUH MSE ACE NME NMA NH2 \
    NHE CT3 CT2";

/// Residues of nucleic acids.
pub(super) const NUCLEOTIDES: &str = "A C G U DA DC DG DT DA5 DC5 DG5 DT5 DA3 DC3 DG3 DT3 A5 C5 G5 U5 A3 C3 G3 U3 RA \
    RC RG RU ADE CYT GUA THY URA";

/// Residues of water.
pub(super) const WATERS: &str = "HOH H2O WAT SOL TIP TIP3 TIP4 TIP5 TIP3P TIP4P TIP5P TP3 TP4 TP5 T3P T4P SPC SPCE \
    SPE OPC OPC3 DOD TP3M T4E";

/// The backbone of a protein.
pub(super) const PROTEIN_BACKBONE: &str = "N CA C O OXT OT1 OT2";

/// The backbone of a nucleic acid.
pub(super) const NUCLEIC_BACKBONE: &str = "P OP1 OP2 OP3 O1P O2P O3P O5' C5' C4' C3' O3' O5* C5* C4* C3* O3*";

/// Returns true for a residue of water.
pub fn is_water(residue: &str) -> bool {
    among(WATERS, residue)
}

/// Returns true for residues whose bonds programs know by themselves.
pub(crate) fn is_standard(residue: &str) -> bool {
    [AMINO_ACIDS, NUCLEOTIDES, WATERS].iter().any(|list| among(list, residue))
}

/// Returns true where one of the words in a list is this one.
pub(super) fn among(list: &str, name: &str) -> bool {
    list.split_ascii_whitespace().any(|word| word == name)
}
