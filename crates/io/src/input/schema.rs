//! What an input file may say, as one table of sections and keys. The reader, its messages about
//! what is wrong, `jostle schema` and the input that `jostle check` prints all follow from it; the
//! parameters of pairs come from the registry of potentials.

use super::barostat::BAROSTATS;
use super::model::{Axis, Distribution, Lattice, Minimizer, Placement, Plane, Rigid, TrajectoryFormat};
use super::word::{ForceKind, words};
use jostle_core::{Algorithm, Dimension, Exclude, Precision, UnitSystem};
use jostle_potentials::electrostatics::NetCharge;
use jostle_potentials::outside::Side;
use jostle_potentials::{
    AngleKind, BondKind, BondedKind, EmbeddedKind, Mixing, PairKind, Screening, Truncation,
};
use std::sync::LazyLock;

/// A table of the input file.
#[derive(Debug)]
pub struct Section {
    /// Its keys, in the order of the documentation.
    pub keys: &'static [Key],
    /// Keys of which at most one may be given.
    pub alternatives: &'static [Alternatives],
}

/// Keys of which at most one may be given; where they are needed, exactly one.
#[derive(Debug)]
pub struct Alternatives {
    /// The keys.
    pub keys: &'static [&'static str],
    /// Whether one of them must be given.
    pub needed: Needed,
}

/// When one of several alternatives must be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needed {
    /// Always.
    Always,
    /// Never.
    Never,
    /// If this key is given.
    With(&'static str),
}

/// A key of a table.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What may stand behind it.
    pub kind: Kind,
    /// What happens when it is not given.
    pub default: Fallback,
    /// One line for people.
    pub about: &'static str,
    /// The key makes sense only beside one of these; empty: always.
    pub with: &'static [&'static str],
}

/// What happens when a key is not given.
#[derive(Debug, Clone, Copy)]
pub enum Fallback {
    /// The file is refused.
    Required,
    /// As if this TOML value had been given.
    Value(&'static str),
    /// As if one of these had been given, depending on the unit system (in the order of
    /// [`UnitSystem::ALL`]).
    ByUnits([&'static str; 6]),
    /// What is done then, in words; empty where the key is one of several [`Alternatives`].
    Absent(&'static str),
}

/// What may stand behind a key.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A string.
    Text,
    /// A path; relative ones start at the folder of the input file.
    Path,
    /// true or false.
    Flag,
    /// A whole number, at least so large.
    Count(u64),
    /// A bare number.
    Number(Range),
    /// A number in the units of the file, or a string with a unit, of one of these dimensions.
    Quantity(&'static [Dimension], Range),
    /// One of a few words.
    Choice(fn() -> Vec<(&'static str, &'static str)>),
    /// A device: one of a few words, or one with a number.
    Device,
    /// true, false, or one of them for each axis.
    Axes,
    /// Three whole numbers, each at least 1.
    Counts,
    /// Three quantities.
    Vector(&'static [Dimension], Range),
    /// A list of names.
    Names,
    /// A table.
    Table(&'static Section),
    /// A table whose `kind` says which keys it has.
    Variants(&'static [Variant]),
    /// A list of such tables.
    Several(fn() -> &'static [Variant]),
    /// Tables one after the other: `[[force]]`.
    Tables(&'static Section),
    /// Tables by name: `[species.Ar]`.
    Named(&'static Section),
    /// Numbers by name: `{ kappa = 0.5 }`.
    Numbers,
    /// Parameters by pair of species, `pairs."A-B" = { ... }` or `"none"`: those of the potential
    /// that `kind` names beside it, and `cutoff`.
    Pairs,
    /// Parameters by type of bond or angle, `types.NAME = { ... }`.
    Types(&'static Types),
}

/// What types of bonds or angles may have, by the `kind` beside them.
#[derive(Debug)]
pub struct Types {
    /// What they are types of.
    pub what: &'static str,
    /// The kinds, with their formulas.
    pub kinds: fn() -> Vec<(&'static str, &'static str)>,
    /// The keys of a type.
    pub keys: fn(kind: &str) -> Vec<Key>,
}

impl Types {
    const fn of<K: BondedKind>() -> Types {
        Types {
            what: K::WHAT,
            kinds: || K::ALL.iter().map(|k| (k.name(), k.formula())).collect(),
            keys: |kind| K::from_name(kind).map(bonded_keys).unwrap_or_default(),
        }
    }
}

/// The keys of one type of bond or angle.
fn bonded_keys<K: BondedKind>(kind: K) -> Vec<Key> {
    let key = |p: &'static jostle_potentials::Parameter| {
        let quantity = Kind::Quantity(std::slice::from_ref(&p.dimension), p.range.into());
        Key::new(p.name, quantity, Fallback::Required, p.about)
    };
    kind.parameters().iter().map(key).collect()
}

/// One kind of a [`Kind::Variants`] table.
#[derive(Debug)]
pub struct Variant {
    /// `kind = "..."`
    pub name: &'static str,
    /// One line for people.
    pub about: &'static str,
    /// Its keys besides `kind`.
    pub section: Section,
}

/// The numbers that make sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Range {
    /// Any finite number.
    Any,
    /// Zero or greater.
    NonNegative,
    /// Greater than zero.
    Positive,
    /// Greater than zero and at most one.
    Fraction,
    /// Greater than zero and less than one.
    Inside,
    /// A whole number that a dihedral may have as its multiplicity.
    Turns,
}

impl Range {
    /// Whether a number is one of them.
    pub fn contains(self, x: f64) -> bool {
        x.is_finite()
            && match self {
                Range::Any => true,
                Range::NonNegative => x >= 0.0,
                Range::Positive => x > 0.0,
                Range::Fraction => x > 0.0 && x <= 1.0,
                Range::Inside => x > 0.0 && x < 1.0,
                Range::Turns => (1..=jostle_potentials::pair::Range::MOST_TURNS).any(|n| x == f64::from(n)),
            }
    }

    /// What the numbers are, in words.
    pub fn about(self) -> &'static str {
        match self {
            Range::Any => "a finite number",
            Range::NonNegative => "zero or greater",
            Range::Positive => "greater than zero",
            Range::Fraction => "greater than 0 and at most 1",
            Range::Inside => "between 0 and 1",
            Range::Turns => "a whole number from 1 to 6",
        }
    }
}

impl From<jostle_potentials::pair::Range> for Range {
    fn from(range: jostle_potentials::pair::Range) -> Self {
        match range {
            jostle_potentials::pair::Range::Any => Range::Any,
            jostle_potentials::pair::Range::NonNegative => Range::NonNegative,
            jostle_potentials::pair::Range::Positive => Range::Positive,
            jostle_potentials::pair::Range::Turns => Range::Turns,
        }
    }
}

impl Key {
    pub(super) const fn new(name: &'static str, kind: Kind, default: Fallback, about: &'static str) -> Self {
        Key { name, kind, default, about, with: &[] }
    }

    const fn with(mut self, keys: &'static [&'static str]) -> Self {
        self.with = keys;
        self
    }
}

/// The cut-off of one pair of species.
pub fn pair_cutoff() -> Key {
    let default = Fallback::Absent("the cut-off of the force");
    Key::new("cutoff", Kind::Quantity(LENGTH, Range::Positive), default, "cut-off of this pair alone")
}

/// The keys of one pair of species in a table.
pub fn table_keys() -> Vec<Key> {
    let section = Fallback::Absent("the only one of the file");
    let cutoff = Fallback::Absent("the cut-off of the force, else the last distance of the file");
    vec![
        Key::new(
            "file",
            Kind::Text,
            Fallback::Required,
            "distances, energies and forces, in the units of the input",
        ),
        Key::new("section", Kind::Text, section, "the keyword of a section in a file of LAMMPS"),
        Key::new("cutoff", Kind::Quantity(LENGTH, Range::Positive), cutoff, "cut-off of this pair alone"),
    ]
}

/// The keys of one pair of species in a force of this kind.
pub fn pair_keys(kind: PairKind) -> Vec<Key> {
    let parameters = kind.parameters().iter().map(|p| {
        let quantity = Kind::Quantity(std::slice::from_ref(&p.dimension), p.range.into());
        Key::new(
            p.name,
            quantity,
            Fallback::Absent(match p.absent {
                jostle_potentials::pair::Absent::Refused => "from the mixing rule, else required",
                jostle_potentials::pair::Absent::FromCharges => "Coulomb constant times the two charges",
                jostle_potentials::pair::Absent::FromIsospin => {
                    "1 for two charged or two neutral species, else -1"
                }
            }),
            p.about,
        )
    });
    let cutoff = (!kind.ends_by_itself()).then(pair_cutoff);
    parameters.chain(cutoff).collect()
}

/// The published sets of parameters of all potentials.
fn presets() -> Vec<(&'static str, &'static str)> {
    let mut names: Vec<(&str, &str)> = Vec::new();
    for preset in PairKind::ALL.iter().flat_map(|kind| kind.presets()) {
        if names.iter().all(|(name, _)| *name != preset.name) {
            names.push((preset.name, preset.about));
        }
    }
    names
}

/// The kinds of analysis, each with `every` and its own settings.
fn measures() -> &'static [Variant] {
    static MEASURES: LazyLock<Vec<Variant>> = LazyLock::new(|| {
        let setting = |s: &'static jostle_analysis::Setting| {
            let kind = match s.dimension {
                Dimension::NUMBER => Kind::Number(Range::Any),
                _ => Kind::Quantity(std::slice::from_ref(&s.dimension), Range::Any),
            };
            let default = s.default.map_or(Absent(""), |x| Value(format!("{x}").leak()));
            Key::new(s.name, kind, default, s.about)
        };
        let variant = |kind: &'static jostle_analysis::Kind| {
            let every = Key::new("every", Kind::Count(1), Required, "steps between looks");
            // What looks at the system as a whole cannot look at a part of it.
            let whole = matches!(kind.sees, jostle_analysis::Sees::Whole | jostle_analysis::Sees::Dipole);
            let atoms = [ATOMS, GROUP].into_iter().filter(|_| !whole);
            let keys = std::iter::once(every).chain(atoms).chain(kind.settings.iter().map(setting));
            let alternatives = match whole {
                true => &[][..],
                false => &[Alternatives { keys: &["atoms", "group"], needed: Needed::Never }],
            };
            // Made once, for the life of the program, like the tables that stand in this file.
            let section = Section { keys: keys.collect::<Vec<Key>>().leak(), alternatives };
            Variant { name: kind.name, about: kind.about, section }
        };
        jostle_analysis::kinds::ALL.iter().map(variant).collect()
    });
    &MEASURES
}

use Fallback::{Absent, ByUnits, Required, Value};
use Range::{Fraction, Inside, NonNegative, Positive};

const LENGTH: &[Dimension] = &[Dimension::LENGTH];
const TIME: &[Dimension] = &[Dimension::TIME];
const RATE: &[Dimension] = &[Dimension::RATE];
const MASS: &[Dimension] = &[Dimension::MASS];
const CHARGE: &[Dimension] = &[Dimension::CHARGE];
const FORCE: &[Dimension] = &[Dimension::FORCE];
const VELOCITY: &[Dimension] = &[Dimension { length: 1, time: -1, ..Dimension::NUMBER }];
const ACCELERATION: &[Dimension] = &[Dimension { length: 1, time: -2, ..Dimension::NUMBER }];
/// Force per charge.
const ELECTRIC: &[Dimension] = &[Dimension { length: -1, energy: 1, charge: -1, ..Dimension::NUMBER }];
/// Force per length.
const STIFFNESS: &[Dimension] = &[Dimension { length: -2, energy: 1, ..Dimension::NUMBER }];
/// Force per velocity.
const DRAG: &[Dimension] = &[Dimension { length: -2, time: 1, energy: 1, ..Dimension::NUMBER }];
const TEMPERATURE: &[Dimension] = &[Dimension::TEMPERATURE];
/// A bare number is the first.
const DENSITY: &[Dimension] = &[Dimension::NUMBER_DENSITY, Dimension::MASS_DENSITY];

/// The whole file.
pub static INPUT: Section = Section {
    keys: &[
        Key::new("title", Kind::Text, Value("\"\""), "a line about the run"),
        Key::new("units", Kind::Choice(words::<UnitSystem>), Required, "the units of bare numbers"),
        Key::new("system", Kind::Table(&SYSTEM), Required, "the box and the atoms"),
        Key::new(
            "species",
            Kind::Named(&SPECIES),
            Absent("those of the structure file"),
            "the kinds of atoms, by name",
        ),
        Key::new("force", Kind::Tables(&FORCES), Value("[]"), "the forces, which add up"),
        Key::new(
            "metal",
            Kind::Variants(METALS),
            Absent("none"),
            "the many-body force of a metal or an alloy, besides the forces between pairs",
        ),
        Key::new(
            "electrostatics",
            Kind::Variants(ELECTROSTATICS),
            Absent("charges have no force of their own"),
            "Coulomb's forces between all charges",
        ),
        Key::new(
            "grains",
            Kind::Table(&GRAINS),
            Absent("atoms do not touch"),
            "spheres that push, damp and rub each other where they touch (Silbert 2001), and turn",
        ),
        Key::new("bond", Kind::Tables(&BONDS), Value("[]"), "forces along bonds"),
        Key::new("angle", Kind::Tables(&ANGLES), Value("[]"), "forces that bend angles between bonds"),
        Key::new(
            "exclude",
            Kind::Choice(words::<Exclude>),
            Value("\"none\""),
            "bound atoms that the pair forces leave out",
        ),
        Key::new(
            "group",
            Kind::Tables(&GROUPS),
            Value("[]"),
            "atoms chosen by words, once, when a run begins",
        ),
        Key::new("field", Kind::Tables(&FIELDS), Value("[]"), "forces from outside, the same everywhere"),
        Key::new("wall", Kind::Tables(&WALLS), Value("[]"), "planes that act on atoms near them"),
        Key::new(
            "restraint",
            Kind::Several(|| RESTRAINTS),
            Value("[]"),
            "springs that hold chosen atoms at places or distances",
        ),
        Key::new("stage", Kind::Tables(&STAGE), Value("[]"), "what is done, one after the other"),
        Key::new("run", Kind::Table(&RUN), Value("{}"), "how it is computed; never changes the physics"),
    ],
    alternatives: &[],
};

static SYSTEM: Section = Section {
    keys: &[
        Key::new("lattice", Kind::Choice(words::<Lattice>), Absent(""), "atoms on a lattice"),
        Key::new("place", Kind::Choice(words::<Placement>), Absent(""), "atoms placed anew"),
        Key::new(
            "file",
            Kind::Path,
            Absent(""),
            "atoms from a LAMMPS data file, extended XYZ or a Jostle checkpoint",
        ),
        Key::new(
            "topology",
            Kind::Path,
            Absent(""),
            "molecules with their force field: prmtop (AMBER), PSF, top (GROMACS), System (OpenMM)",
        ),
        Key::new(
            "parameters",
            Kind::Names,
            Absent("none: prmtop and System have their own"),
            "files of CHARMM's parameters for a PSF: prm, par, str, rtf, in their order",
        )
        .with(&["topology"]),
        Key::new("define", Kind::Names, Absent("none"), "macros of a GROMACS topology: [\"FLEXIBLE\"]")
            .with(&["topology"]),
        Key::new(
            "include",
            Kind::Names,
            Absent("the folder of the topology alone"),
            "folders of files that a GROMACS topology includes",
        )
        .with(&["topology"]),
        Key::new(
            "coordinates",
            Kind::Path,
            Absent(""),
            "where the atoms of the topology are: PDB, mmCIF, inpcrd or rst7, gro, extended XYZ",
        )
        .with(&["topology"]),
        Key::new("rigid", Kind::Choice(words::<Rigid>), Value("\"none\""), "distances that do not change")
            .with(&["topology"]),
        Key::new(
            "hydrogen_mass",
            Kind::Quantity(MASS, Positive),
            Absent("that of the topology"),
            "mass of hydrogens, taken from the atoms they are bound to; rigid water keeps its masses",
        )
        .with(&["topology"]),
        Key::new(
            "atoms",
            Kind::Count(1),
            Absent("from cells, or the counts of the species"),
            "how many atoms",
        )
        .with(&["lattice", "place"]),
        Key::new("cells", Kind::Counts, Absent("a cube that holds the atoms"), "unit cells along each axis")
            .with(&["lattice"]),
        Key::new(
            "density",
            Kind::Quantity(DENSITY, Positive),
            Absent("from lattice_constant or box"),
            "atoms per volume (a bare number), or mass per volume (with a unit)",
        )
        .with(&["lattice", "place"]),
        Key::new(
            "lattice_constant",
            Kind::Quantity(LENGTH, Positive),
            Absent("from density"),
            "edge of the cubic unit cell",
        )
        .with(&["lattice"]),
        Key::new("box", Kind::Table(&BOX), Absent("a cube, from density"), "the box").with(&["place"]),
        Key::new(
            "min_distance",
            Kind::Quantity(LENGTH, Positive),
            Absent("0.7 of the mean distance (volume / atoms)^(1/3)"),
            "no two atoms are placed nearer than this",
        )
        .with(&["place"]),
        Key::new("chains", Kind::Count(1), Absent(""), "how many chains (place = \"chains\")")
            .with(&["place"]),
        Key::new("beads", Kind::Count(2), Absent(""), "atoms of each chain (place = \"chains\")")
            .with(&["place"]),
        Key::new(
            "bond_length",
            Kind::Quantity(LENGTH, Positive),
            Absent(""),
            "distance of bound beads, or of oxygen and hydrogen (place = \"chains\", \"water\")",
        )
        .with(&["place"]),
        Key::new("molecules", Kind::Count(1), Absent(""), "how many molecules (place = \"water\")")
            .with(&["place"]),
        Key::new(
            "bond_angle",
            Kind::Number(Positive),
            Absent(""),
            "angle between the bonds of a molecule, in degrees (place = \"water\")",
        )
        .with(&["place"]),
        Key::new(
            "site_distance",
            Kind::Quantity(LENGTH, Positive),
            Absent("three sites"),
            "distance of the oxygen from the fourth site, a point with the charge of the third species \
             (place = \"water\")",
        )
        .with(&["place"]),
        Key::new(
            "types",
            Kind::Names,
            Absent("from the file's type labels, else \"1\", \"2\", ..."),
            "species names of the numeric types of a LAMMPS data file",
        )
        .with(&["file"]),
        Key::new(
            "periodic",
            Kind::Axes,
            Absent("as the file says; true for built systems"),
            "which axes are periodic: true, false or [true, true, false]",
        ),
        Key::new(
            "replicate",
            Kind::Counts,
            Value("[1, 1, 1]"),
            "how many copies of the box and all in it stand side by side along each edge",
        ),
        Key::new(
            "temperature",
            Kind::Quantity(TEMPERATURE, NonNegative),
            Absent("velocities of the file; a built system is at rest"),
            "temperature of the first velocities",
        ),
        Key::new(
            "velocities",
            Kind::Choice(words::<Distribution>),
            Value("\"maxwell\""),
            "how first velocities are drawn",
        )
        .with(&["temperature"]),
        Key::new("seed", Kind::Count(0), Value("1"), "seed of everything random"),
    ],
    alternatives: &[
        Alternatives { keys: &["lattice", "place", "file", "topology"], needed: Needed::Always },
        Alternatives { keys: &["atoms", "cells"], needed: Needed::With("lattice") },
        Alternatives { keys: &["density", "lattice_constant"], needed: Needed::With("lattice") },
        Alternatives { keys: &["density", "box"], needed: Needed::With("place") },
        Alternatives { keys: &["coordinates"], needed: Needed::With("topology") },
    ],
};

static BOX: Section = Section {
    keys: &[
        Key::new("lengths", Kind::Vector(LENGTH, Positive), Required, "lx, ly, lz"),
        Key::new(
            "tilts",
            Kind::Vector(LENGTH, Range::Any),
            Value("[0, 0, 0]"),
            "xy, xz, yz: edges (lx, 0, 0), (xy, ly, 0), (xz, yz, lz)",
        ),
    ],
    alternatives: &[],
};

static SPECIES: Section = Section {
    keys: &[
        Key::new(
            "mass",
            Kind::Quantity(MASS, Positive),
            Absent("of the structure file; 1 in reduced units"),
            "mass of an atom",
        ),
        Key::new(
            "charge",
            Kind::Quantity(CHARGE, Range::Any),
            Absent("of the structure file, else 0"),
            "charge of an atom",
        ),
        Key::new("frozen", Kind::Flag, Absent("forces move its atoms"), "its atoms do not move"),
        Key::new(
            "velocity",
            Kind::Vector(VELOCITY, Range::Any),
            Absent("forces move its atoms"),
            "its atoms keep this velocity, whatever acts on them",
        ),
        Key::new(
            "radius",
            Kind::Quantity(LENGTH, Positive),
            Absent("required with [grains]"),
            "of its atoms as grains",
        ),
        Key::new(
            "constants",
            Kind::Numbers,
            Absent("none"),
            "numbers that formulas know as NAME_a and NAME_b: { radius = 0.5 }",
        ),
        Key::new("count", Kind::Count(1), Absent("all atoms, if it is the only species"), "how many atoms"),
        Key::new("fraction", Kind::Number(Fraction), Absent("from count"), "share of all atoms"),
    ],
    alternatives: &[
        Alternatives { keys: &["count", "fraction"], needed: Needed::Never },
        Alternatives { keys: &["frozen", "velocity"], needed: Needed::Never },
    ],
};

static FORCES: Section = Section {
    keys: &[
        Key::new("kind", Kind::Choice(words::<ForceKind>), Required, "the potential"),
        Key::new(
            "energy",
            Kind::Text,
            Absent("required with kind = \"formula\""),
            "u(r), as a formula in r and the names of parameters (kind = \"formula\")",
        ),
        Key::new(
            "parameters",
            Kind::Numbers,
            Absent("those of each pair"),
            "numbers of the formula that all pairs share (kind = \"formula\")",
        ),
        Key::new(
            "cutoff",
            Kind::Quantity(LENGTH, Positive),
            Absent("where the potential ends by itself, or from each pair"),
            "where the interaction is cut off",
        ),
        Key::new(
            "truncation",
            Kind::Choice(words::<Truncation>),
            Value("\"plain\""),
            "what happens at the cut-off",
        ),
        Key::new(
            "switch_from",
            Kind::Number(Inside),
            Absent("0.9"),
            "where switching starts, as a fraction of the cut-off (truncation = \"switched\")",
        )
        .with(&["truncation"]),
        Key::new(
            "tail_correction",
            Kind::Flag,
            Value("false"),
            "correct energy and pressure for the tail beyond the cut-off",
        ),
        Key::new(
            "dispersion",
            Kind::Variants(DISPERSIONS),
            Absent("r^-6 ends at the cut-off"),
            "beyond the cut-off of a Lennard-Jones force its r^-6 over all images (CPU)",
        ),
        Key::new(
            "tabulate",
            Kind::Flag,
            Value("false"),
            "look energies and forces up in tables as exact as single precision, for costly functions",
        ),
        Key::new(
            "mixing",
            Kind::Choice(words::<Mixing>),
            Absent("every unlike pair must be given"),
            "how parameters of unlike pairs follow from like ones",
        ),
        Key::new("preset", Kind::Choice(presets), Absent("none"), "a published set of parameters"),
        Key::new(
            "screening_length",
            Kind::Quantity(LENGTH, Positive),
            Absent("that of each pair"),
            "screening length of all pairs (kind = \"yukawa\")",
        ),
        Key::new(
            "screening",
            Kind::Variants(SCREENINGS),
            Absent("that of each pair"),
            "the same, from the electrons (kind = \"yukawa\")",
        ),
        Key::new(
            "pairs",
            Kind::Pairs,
            Value("{}"),
            "parameters by pair: pairs.\"A-B\" = { ... }, or \"none\"",
        ),
    ],
    alternatives: &[ONE_SCREENING],
};

static FIELDS: Section = Section {
    keys: &[
        Key::new("force", Kind::Vector(FORCE, Range::Any), Absent(""), "on every atom"),
        Key::new(
            "acceleration",
            Kind::Vector(ACCELERATION, Range::Any),
            Absent(""),
            "of every atom: the force is its mass times this",
        ),
        Key::new(
            "electric",
            Kind::Vector(ELECTRIC, Range::Any),
            Absent(""),
            "the force is the charge of an atom times this",
        ),
        Key::new("species", Kind::Names, Absent("all"), "the species it acts on"),
        ATOMS,
        GROUP,
    ],
    alternatives: &[
        Alternatives { keys: &["force", "acceleration", "electric"], needed: Needed::Always },
        Alternatives { keys: &["atoms", "group"], needed: Needed::Never },
    ],
};

/// What is told which atoms are meant.
const ATOMS: Key =
    Key::new("atoms", Kind::Text, Absent("all"), "the atoms, in words: jostle help select lists them");
const GROUP: Key = Key::new("group", Kind::Text, Absent("all"), "the same: atoms = \"group NAME\"");

const STIFFNESS_OF_SPRING: Key =
    Key::new("stiffness", Kind::Quantity(STIFFNESS, Positive), Required, "k of the energy k d^2 / 2");

static RESTRAINTS: &[Variant] = &[
    Variant {
        name: "position",
        about: "each atom to where it was when the run began, in its nearest image; no part of the virial",
        section: Section {
            keys: &[
                Key { default: Absent(""), ..ATOMS },
                Key { default: Absent(""), ..GROUP },
                STIFFNESS_OF_SPRING,
            ],
            alternatives: &[Alternatives { keys: &["atoms", "group"], needed: Needed::Always }],
        },
    },
    Variant {
        name: "distance",
        about: "the centres of mass of two selections to a distance, in their nearest images",
        section: Section {
            keys: &[
                Key::new("between", Kind::Names, Required, "two selections: [\"index 3\", \"group lid\"]"),
                STIFFNESS_OF_SPRING,
                Key::new("length", Kind::Quantity(LENGTH, NonNegative), Absent(""), "where nothing pulls"),
                Key::new(
                    "from",
                    Kind::Quantity(LENGTH, NonNegative),
                    Absent("0"),
                    "nothing pulls from this distance on, instead of at one only",
                ),
                Key::new(
                    "to",
                    Kind::Quantity(LENGTH, NonNegative),
                    Absent("infinity"),
                    "nothing pulls up to this distance",
                ),
            ],
            alternatives: &[
                Alternatives { keys: &["length", "from"], needed: Needed::Never },
                Alternatives { keys: &["length", "to"], needed: Needed::Never },
            ],
        },
    },
];

static GROUPS: Section = Section {
    keys: &[
        Key::new("name", Kind::Text, Required, "what it is called: atoms = \"group NAME\""),
        Key::new("atoms", Kind::Text, Required, "its atoms, in words: jostle help select lists them"),
        Key::new("frozen", Kind::Flag, Absent("forces move its atoms"), "its atoms do not move"),
        Key::new(
            "velocity",
            Kind::Vector(VELOCITY, Range::Any),
            Absent("forces move its atoms"),
            "its atoms keep this velocity, whatever acts on them",
        ),
        Key::new(
            "report",
            Kind::Flag,
            Value("false"),
            "its temperature, kinetic energy and centre of mass are columns of thermo.csv",
        ),
    ],
    alternatives: &[Alternatives { keys: &["frozen", "velocity"], needed: Needed::Never }],
};

static WALLS: Section = Section {
    keys: &[
        Key::new(
            "axis",
            Kind::Choice(words::<Axis>),
            Required,
            "the axis it is perpendicular to, an open one",
        ),
        Key::new("at", Kind::Quantity(LENGTH, Range::Any), Required, "where on this axis it is"),
        Key::new("atoms", Kind::Choice(words::<Side>), Required, "where the atoms are"),
        Key::new(
            "force",
            Kind::Table(&FORCES),
            Absent(""),
            "as in [[force]], of the distance to the plane, with pairs.\"A-wall\" = { ... }",
        ),
        Key::new(
            "material",
            Kind::Choice(|| vec![("grains", "that of [grains]: it pushes, damps and rubs them")]),
            Absent(""),
            "what it is made of, instead of a force",
        ),
    ],
    alternatives: &[Alternatives { keys: &["force", "material"], needed: Needed::Always }],
};

static GRAINS: Section = Section {
    keys: &[
        Key::new(
            "stiffness",
            Kind::Quantity(STIFFNESS, Positive),
            Required,
            "Hooke's constant: force by overlap, overlap being the sum of radii less the distance",
        ),
        Key::new(
            "normal_damping",
            Kind::Quantity(RATE, NonNegative),
            Value("0"),
            "damping along the line of centres: force by velocity and effective mass",
        ),
        Key::new(
            "tangential_damping",
            Kind::Quantity(RATE, NonNegative),
            Value("0"),
            "the same where surfaces slide on each other, up to the limit of friction",
        ),
        Key::new(
            "friction",
            Kind::Number(NonNegative),
            Value("0"),
            "Coulomb's coefficient: the most that the force of sliding is, by that along the normal",
        ),
    ],
    alternatives: &[],
};

const ELECTRONS: Section = Section {
    keys: &[Key::new(
        "electron_density",
        Kind::Quantity(&[Dimension::NUMBER_DENSITY], Positive),
        Absent("that of the atoms' charges: matter is neutral"),
        "electrons per volume",
    )],
    alternatives: &[],
};

const SCREENINGS: &[Variant] = &[
    Variant {
        name: Screening::ThomasFermi.name(),
        about: "slow degenerate electrons: lambda^2 = pi a_0 / (4 k_F)",
        section: ELECTRONS,
    },
    Variant {
        name: Screening::Relativistic.name(),
        about: "degenerate electrons of any density: lambda^2 = pi / (4 alpha k_F sqrt(k_F^2 + (m_e c/hbar)^2))",
        section: ELECTRONS,
    },
    Variant {
        name: Screening::UltraRelativistic.name(),
        about: "the same without their mass: lambda = sqrt(pi / alpha) / (2 k_F)",
        section: ELECTRONS,
    },
];

const DIRECT: Key = Key::new(
    "cutoff",
    Kind::Quantity(LENGTH, Positive),
    Absent("the longest of the pair forces"),
    "where direct interactions end",
);
const ACCURACY: Key =
    Key::new("accuracy", Kind::Number(Inside), Value("5e-4"), "about the relative error of forces");
const NET_CHARGE: Key = Key::new(
    "net_charge",
    Kind::Choice(words::<NetCharge>),
    Value("\"refuse\""),
    "what a charge of the whole system means",
);
const SCREENING_LENGTH: Key = Key::new(
    "screening_length",
    Kind::Quantity(LENGTH, Positive),
    Absent("nothing screens"),
    "1/r becomes exp(-r/screening_length)/r, over all images (Salin and Caillol 2000)",
);
const SCREENED: Key = Key::new(
    "screening",
    Kind::Variants(SCREENINGS),
    Absent("nothing screens"),
    "the same, from the electrons",
);
const ONE_SCREENING: Alternatives =
    Alternatives { keys: &["screening_length", "screening"], needed: Needed::Never };

const ORDER: Key = Key::new(
    "order",
    Kind::Count(4),
    Value("5"),
    "order of the splines, 4 to 6; of order p down to an accuracy of 1e-p",
);

const DISPERSIONS: &[Variant] = &[
    Variant {
        name: "pme",
        about: "particle-mesh Ewald: all images, unlike atoms by the geometric mean (Essmann 1995)",
        section: Section { keys: &[ACCURACY, ORDER], alternatives: &[] },
    },
    Variant {
        name: "ewald",
        about: "the same wave by wave: exact, slow, for small systems and tests",
        section: Section { keys: &[ACCURACY], alternatives: &[] },
    },
];

const ELECTROSTATICS: &[Variant] = &[
    Variant {
        name: "pme",
        about: "smooth particle-mesh Ewald: all images, in a conducting medium (Essmann 1995)",
        section: Section {
            keys: &[DIRECT, ACCURACY, ORDER, NET_CHARGE, SCREENING_LENGTH, SCREENED],
            alternatives: &[ONE_SCREENING],
        },
    },
    Variant {
        name: "ewald",
        about: "Ewald's sum wave by wave: exact, slow, for small systems and tests",
        section: Section {
            keys: &[DIRECT, ACCURACY, NET_CHARGE, SCREENING_LENGTH, SCREENED],
            alternatives: &[ONE_SCREENING],
        },
    },
    Variant {
        name: "reaction-field",
        about: "beyond the cut-off is a dielectric (Tironi 1995)",
        section: Section {
            keys: &[
                DIRECT,
                Key::new(
                    "dielectric",
                    Kind::Number(Positive),
                    Absent("infinite: a conductor"),
                    "its relative permittivity, 1 or more",
                ),
            ],
            alternatives: &[],
        },
    },
    Variant {
        name: "cutoff",
        about: "1/r ends at the cut-off",
        section: Section { keys: &[DIRECT], alternatives: &[] },
    },
];

const ELEMENTS: Key = Key::new(
    "elements",
    Kind::Names,
    Absent("the names of the species"),
    "the chemical symbol of each species, in the order of [species]",
);

const METALS: &[Variant] = &[
    Variant {
        name: EmbeddedKind::EmbeddedAtom.name(),
        about: EmbeddedKind::EmbeddedAtom.about(),
        section: Section {
            keys: &[
                Key::new(
                    "file",
                    Kind::Path,
                    Absent(""),
                    "a DYNAMO file: setfl (eam/alloy, eam/fs) or funcfl",
                ),
                Key::new("files", Kind::Names, Absent(""), "a funcfl file for each metal of an alloy"),
                ELEMENTS,
            ],
            alternatives: &[Alternatives { keys: &["file", "files"], needed: Needed::Always }],
        },
    },
    Variant {
        name: EmbeddedKind::SuttonChen.name(),
        about: EmbeddedKind::SuttonChen.about(),
        section: Section {
            keys: &[
                Key::new(
                    "cutoff",
                    Kind::Quantity(LENGTH, Positive),
                    Absent("twice the largest lattice constant"),
                    "where the force ends, smoothly",
                ),
                ELEMENTS,
            ],
            alternatives: &[],
        },
    },
];

/// Types of bonds.
pub static BOND_TYPES: Types = Types::of::<BondKind>();
/// Types of angles.
pub static ANGLE_TYPES: Types = Types::of::<AngleKind>();

static BONDS: Section = Section {
    keys: &[
        Key::new("kind", Kind::Choice(words::<BondKind>), Required, "the kind of bond"),
        Key::new(
            "types",
            Kind::Types(&BOND_TYPES),
            Required,
            "parameters by type of bond: types.NAME = { ... }; those of place = \"chains\" are called \"chain\"",
        ),
    ],
    alternatives: &[],
};

static ANGLES: Section = Section {
    keys: &[
        Key::new("kind", Kind::Choice(words::<AngleKind>), Required, "the kind of angle"),
        Key::new("types", Kind::Types(&ANGLE_TYPES), Required, "parameters by type of angle, likewise"),
    ],
    alternatives: &[],
};

static STAGE: Section = Section {
    keys: &[
        Key::new("name", Kind::Text, Absent("\"stage-1\", \"stage-2\", ..."), "its name, unique in the file"),
        Key::new("steps", Kind::Count(1), Absent(""), "how many time steps"),
        Key::new("timestep", Kind::Quantity(TIME, Positive), Required, "how long each is").with(&["steps"]),
        Key::new("thermostat", Kind::Variants(THERMOSTATS), Absent("constant energy"), "temperature control")
            .with(&["steps"]),
        Key::new("barostat", Kind::Variants(BAROSTATS), Absent("constant volume"), "pressure control")
            .with(&["steps"]),
        Key::new(
            "long_range_every",
            Kind::Count(1),
            Value("1"),
            "waves of charges (pme, ewald) act at every so many steps, so many times as strongly: 2 for steps up to 2 fs",
        )
        .with(&["steps"]),
        Key::new(
            "minimize",
            Kind::Table(&MINIMIZE),
            Absent(""),
            "go down to a minimum of the energy (FIRE) instead of making time steps",
        ),
        Key::new(
            "deform",
            Kind::Variants(DEFORMATIONS),
            Absent("the box keeps its shape"),
            "change the shape of the box at constant volume; thermo.csv has strain and stress",
        )
        .with(&["steps"]),
        Key::new("thermo", Kind::Table(&THERMO), Value("{ every = 100 }"), "rows of thermo.csv"),
        Key::new("trajectory", Kind::Table(&TRAJECTORY), Absent("none is written"), "frames on disk"),
        Key::new(
            "measure",
            Kind::Several(measures),
            Value("[]"),
            "what is analyzed while it runs; tables and values go to the run folder",
        )
        .with(&["steps"]),
        Key::new(
            "checkpoint",
            Kind::Table(&CHECKPOINT),
            Value("{ every = 0 }"),
            "checkpoints besides those at the end, when interrupted and about every ten minutes",
        ),
    ],
    alternatives: &[Alternatives { keys: &["steps", "minimize"], needed: Needed::Always }],
};

const TARGET: Key =
    Key::new("temperature", Kind::Quantity(TEMPERATURE, Positive), Required, "the temperature to hold");

const PERIODS: Fallback = ByUnits(["1", "500", "0.5", "0.5", "100", "5"]);

const THERMOSTATS: &[Variant] = &[
    Variant {
        name: "bussi",
        about: "stochastic velocity rescaling: right ensemble, little disturbance (Bussi 2007)",
        section: Section {
            keys: &[TARGET, Key::new("period", Kind::Quantity(TIME, Positive), PERIODS, "relaxation time")],
            alternatives: &[],
        },
    },
    Variant {
        name: "nose-hoover",
        about: "Nose-Hoover chain: deterministic, right ensemble near equilibrium",
        section: Section {
            keys: &[
                TARGET,
                Key::new(
                    "period",
                    Kind::Quantity(TIME, Positive),
                    PERIODS,
                    "period of its oscillation; at least 50 time steps",
                ),
                Key::new("chain", Kind::Count(1), Value("3"), "thermostats in the chain"),
            ],
            alternatives: &[],
        },
    },
    Variant {
        name: "langevin",
        about: "friction and noise on every atom (BAOAB): right ensemble, slows diffusion",
        section: Section {
            keys: &[
                TARGET,
                Key::new(
                    "friction",
                    Kind::Quantity(RATE, Positive),
                    ByUnits(["1", "0.001", "1", "1", "0.01", "0.2"]),
                    "friction",
                ),
            ],
            alternatives: &[],
        },
    },
    Variant {
        name: "dpd",
        about: "friction and noise between atoms that are near (dissipative particle dynamics): conserves momentum",
        section: Section {
            keys: &[
                TARGET,
                Key::new(
                    "friction",
                    Kind::Quantity(DRAG, Positive),
                    Required,
                    "friction: force per velocity",
                ),
                Key::new("cutoff", Kind::Quantity(LENGTH, Positive), Required, "where it ends"),
            ],
            alternatives: &[],
        },
    },
    Variant {
        name: "rescale",
        about: "velocities scaled to the temperature now and then: to equilibrate, no ensemble (Rapaport)",
        section: Section {
            keys: &[TARGET, Key::new("every", Kind::Count(1), Value("100"), "steps between rescalings")],
            alternatives: &[],
        },
    },
];

const STRAIN_RATE: Key = Key::new("rate", Kind::Quantity(RATE, Range::Any), Required, "strain per time");
const BOX_CHANGES: Key = Key::new(
    "every",
    Kind::Count(1),
    Value("10"),
    "steps between changes of the box; neighbour lists are built anew then",
);

const DEFORMATIONS: &[Variant] = &[
    Variant {
        name: "tension",
        about: "longer along an axis by the factor 1 + strain, thinner along the others",
        section: Section {
            keys: &[
                Key::new("axis", Kind::Choice(words::<Axis>), Required, "what gets longer"),
                STRAIN_RATE,
                BOX_CHANGES,
            ],
            alternatives: &[],
        },
    },
    Variant {
        name: "shear",
        about: "what lies higher along the second axis moves along the first: a tilt grows",
        section: Section {
            keys: &[
                Key::new("plane", Kind::Choice(words::<Plane>), Required, "the two axes"),
                STRAIN_RATE,
                BOX_CHANGES,
            ],
            alternatives: &[],
        },
    },
];

static MINIMIZE: Section = Section {
    keys: &[
        Key::new("minimizer", Kind::Choice(words::<Minimizer>), Value("\"fire\""), "how"),
        Key::new("steps", Kind::Count(1), Value("10_000"), "at most so many iterations"),
        Key::new(
            "force_tolerance",
            Kind::Quantity(FORCE, Positive),
            ByUnits(["1e-3", "0.01", "1e-3", "1", "1e-3", "1e-5"]),
            "largest force on an atom at which it stops",
        ),
        Key::new(
            "timestep",
            Kind::Quantity(TIME, Positive),
            ByUnits(["0.002", "1", "0.001", "0.001", "1", "0.01"]),
            "the first time step of fire; it adapts",
        ),
    ],
    alternatives: &[],
};

static THERMO: Section = Section {
    keys: &[Key::new("every", Kind::Count(0), Value("100"), "steps between rows; 0: none")],
    alternatives: &[],
};

static TRAJECTORY: Section = Section {
    keys: &[
        Key::new("every", Kind::Count(1), Required, "steps between frames"),
        Key::new("format", Kind::Choice(words::<TrajectoryFormat>), Value("\"xtc\""), "the file format"),
    ],
    alternatives: &[],
};

static CHECKPOINT: Section = Section {
    keys: &[Key::new("every", Kind::Count(0), Value("0"), "steps between checkpoints; 0: none of these")],
    alternatives: &[],
};

static RUN: Section = Section {
    keys: &[
        Key::new("device", Kind::Device, Value("\"auto\""), "what computes"),
        Key::new("threads", Kind::Count(1), Absent("all cores"), "CPU threads"),
        Key::new(
            "precision",
            Kind::Choice(words::<Precision>),
            Value("\"mixed\""),
            "arithmetic of the forces",
        ),
        Key::new(
            "reproducible",
            Kind::Flag,
            Value("false"),
            "the same bits whatever the number of threads, and after a restart",
        ),
        Key::new("algorithm", Kind::Choice(words::<Algorithm>), Value("\"auto\""), "how pairs are found"),
        Key::new(
            "skin",
            Kind::Quantity(LENGTH, Positive),
            Absent("tuned while running"),
            "how far beyond the cut-off neighbour lists reach",
        ),
        Key::new("output", Kind::Path, Absent("the input's name without its extension"), "the run folder"),
    ],
    alternatives: &[],
};
