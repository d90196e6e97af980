//! What an input file may say, as one table of sections and keys (`keys.rs`, and `stage.rs` for
//! stages). The reader, its messages about what is wrong, `jostle schema` and the input that
//! `jostle check` prints all follow from it; the parameters of pairs come from the registry of
//! potentials.

mod keys;
mod stage;

pub use keys::{ANGLE_TYPES, BOND_TYPES, INPUT};

use jostle_core::{Dimension, UnitSystem};
use jostle_potentials::{BondedKind, PairKind};
use keys::{ATOMS, GROUP};
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
    Number(NumberRange),
    /// A number in the units of the file, or a string with a unit, of one of these dimensions.
    Quantity(&'static [Dimension], NumberRange),
    /// Such a quantity, or two, at the beginning and at the end of a stage.
    Ramp(&'static [Dimension], NumberRange),
    /// Names of what stands elsewhere in the file, or a table with such a ramp for each of them.
    Ramps(&'static [Dimension], NumberRange),
    /// One of a few words.
    Choice(fn() -> Vec<(&'static str, &'static str)>),
    /// A device: one of a few words, or one with a number.
    Device,
    /// true, false, or one of them for each axis.
    Axes,
    /// Three whole numbers, each at least 1.
    Counts,
    /// Three quantities.
    Vector(&'static [Dimension], NumberRange),
    /// A list of names.
    Names,
    /// A table.
    Table(&'static Section),
    /// A table whose `kind` says which keys it has.
    Variants(&'static [Variant]),
    /// Such a table, whose kinds come from a registry.
    OneOf(fn() -> &'static [Variant]),
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
pub enum NumberRange {
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

impl NumberRange {
    /// Whether a number is one of them.
    pub fn contains(self, x: f64) -> bool {
        x.is_finite()
            && match self {
                NumberRange::Any => true,
                NumberRange::NonNegative => x >= 0.0,
                NumberRange::Positive => x > 0.0,
                NumberRange::Fraction => x > 0.0 && x <= 1.0,
                NumberRange::Inside => x > 0.0 && x < 1.0,
                NumberRange::Turns => {
                    (1..=jostle_potentials::pair::Range::MOST_TURNS).any(|n| x == f64::from(n))
                }
            }
    }

    /// What the numbers are, in words.
    pub fn about(self) -> &'static str {
        match self {
            NumberRange::Any => "a finite number",
            NumberRange::NonNegative => "zero or greater",
            NumberRange::Positive => "greater than zero",
            NumberRange::Fraction => "greater than 0 and at most 1",
            NumberRange::Inside => "between 0 and 1",
            NumberRange::Turns => "a whole number from 1 to 6",
        }
    }
}

impl From<jostle_potentials::pair::Range> for NumberRange {
    fn from(range: jostle_potentials::pair::Range) -> Self {
        match range {
            jostle_potentials::pair::Range::Any => NumberRange::Any,
            jostle_potentials::pair::Range::NonNegative => NumberRange::NonNegative,
            jostle_potentials::pair::Range::Positive => NumberRange::Positive,
            jostle_potentials::pair::Range::Turns => NumberRange::Turns,
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
    Key::new("cutoff", Kind::Quantity(LENGTH, NumberRange::Positive), default, "cut-off of this pair alone")
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
        Key::new(
            "cutoff",
            Kind::Quantity(LENGTH, NumberRange::Positive),
            cutoff,
            "cut-off of this pair alone",
        ),
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
                Dimension::NUMBER => Kind::Number(NumberRange::Any),
                _ => Kind::Quantity(std::slice::from_ref(&s.dimension), NumberRange::Any),
            };
            let default = s.default.map_or(Absent(""), |x| Value(format!("{x}").leak()));
            Key::new(s.name, kind, default, s.about)
        };
        let variant = |kind: &'static jostle_analysis::Kind| {
            let every = Key::new("every", Kind::Count(1), Required, "steps between looks");
            // What looks at the system as a whole cannot look at a part of it.
            let whole = matches!(
                kind.observable,
                jostle_analysis::Observable::Whole | jostle_analysis::Observable::Dipole
            );
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
use NumberRange::{Fraction, Inside, NonNegative, Positive};

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
pub(super) const STIFFNESS: &[Dimension] = &[Dimension { length: -2, energy: 1, ..Dimension::NUMBER }];
const TEMPERATURE: &[Dimension] = &[Dimension::TEMPERATURE];
/// A bare number is the first.
const DENSITY: &[Dimension] = &[Dimension::NUMBER_DENSITY, Dimension::MASS_DENSITY];
