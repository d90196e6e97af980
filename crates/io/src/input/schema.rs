//! Vocabulary of the definition of an input file: sections, keys, kinds of values, defaults. The definition itself
//! is in `keys`. The reader, its messages about what is wrong, `jostle schema` and the input that `jostle check`
//! prints all follow from it; the parameters of pairs come from the registry of potentials.

use jostle_core::Dimension;
use jostle_potentials::{BondedKind, PairKind};

/// A table of the input file.
#[derive(Debug)]
pub struct Section {
    /// Keys of the section, in the order of the documentation.
    pub keys: &'static [Key],
    /// Keys of which at most one may be given.
    pub alternatives: &'static [Alternatives],
}

/// Keys of which at most one may be given; where they are needed, exactly one.
#[derive(Debug)]
pub struct Alternatives {
    /// The keys.
    pub keys: &'static [&'static str],
    /// Need to give one of them.
    pub needed: Needed,
}

/// Need to give one of several alternatives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needed {
    /// Always.
    Always,
    /// Never.
    Never,
    /// Needed where this key is given.
    With(&'static str),
}

/// Function that gives words, each with its meaning.
pub type Words = fn() -> Vec<(&'static str, &'static str)>;

/// A key of a table.
#[derive(Debug, Clone, Copy)]
pub struct Key {
    /// Name of the key.
    pub name: &'static str,
    /// Kind of its values.
    pub kind: Kind,
    /// Value of a key that is not given.
    pub default: Fallback,
    /// Explanation in one line.
    pub about: &'static str,
    /// The key makes sense only beside one of these; empty: always.
    pub with: &'static [&'static str],
}

/// Value of a key that is not given.
#[derive(Debug, Clone, Copy)]
pub enum Fallback {
    /// The file is refused.
    Required,
    /// This TOML value.
    Value(&'static str),
    /// One of these TOML values, by the unit system (in the order of [`jostle_core::UnitSystem::ALL`]).
    ByUnits([&'static str; 6]),
    /// No value: what is done then, in words; empty where the key is one of several [`Alternatives`].
    Absent(&'static str),
}

/// Kind of the values of a key.
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
    /// Quantity, or one of a few words.
    QuantityOr(&'static [Dimension], NumberRange, Words),
    /// Quantity, or two of them, at the beginning and at the end of a stage.
    Ramp(&'static [Dimension], NumberRange),
    /// Names of what stands elsewhere in the file, or a table with such a ramp for each of them.
    Ramps(&'static [Dimension], NumberRange),
    /// Word out of a few.
    Choice(Words),
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
    /// A list of bare numbers.
    Series(NumberRange),
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

/// Parameters of types of bonds or angles, by the `kind` beside them.
#[derive(Debug)]
pub struct Types {
    /// Bond or angle, in words.
    pub what: &'static str,
    /// The kinds, with their formulas.
    pub kinds: fn() -> Vec<(&'static str, &'static str)>,
    /// The keys of a type.
    pub keys: fn(kind: &str) -> Vec<Key>,
}

impl Types {
    pub(super) const fn of<K: BondedKind>() -> Types {
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

/// Kind of a [`Kind::Variants`] table.
#[derive(Debug)]
pub struct Variant {
    /// `kind = "..."`
    pub name: &'static str,
    /// Explanation in one line.
    pub about: &'static str,
    /// Keys besides `kind`.
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
    /// At least zero and at most one.
    UnitInterval,
    /// A whole number that a dihedral may have as its multiplicity.
    Turns,
}

impl NumberRange {
    /// Returns true for numbers in the range.
    pub fn contains(self, x: f64) -> bool {
        x.is_finite()
            && match self {
                NumberRange::Any => true,
                NumberRange::NonNegative => x >= 0.0,
                NumberRange::Positive => x > 0.0,
                NumberRange::Fraction => x > 0.0 && x <= 1.0,
                NumberRange::Inside => x > 0.0 && x < 1.0,
                NumberRange::UnitInterval => (0.0..=1.0).contains(&x),
                NumberRange::Turns => {
                    (1..=jostle_potentials::pair::Range::MOST_TURNS).any(|n| x == f64::from(n))
                }
            }
    }

    /// Range in words.
    pub fn about(self) -> &'static str {
        match self {
            NumberRange::Any => "a finite number",
            NumberRange::NonNegative => "zero or greater",
            NumberRange::Positive => "greater than zero",
            NumberRange::Fraction => "greater than 0 and at most 1",
            NumberRange::Inside => "between 0 and 1",
            NumberRange::UnitInterval => "from 0 to 1",
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

    pub(super) const fn with(mut self, keys: &'static [&'static str]) -> Self {
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
            "distances, energies and forces, in the units of the input or those of a comment in it: UNITS: metal, real or lj",
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

pub(super) const LENGTH: &[Dimension] = &[Dimension::LENGTH];
pub(super) const TIME: &[Dimension] = &[Dimension::TIME];
pub(super) const RATE: &[Dimension] = &[Dimension::RATE];
pub(super) const MASS: &[Dimension] = &[Dimension::MASS];
pub(super) const CHARGE: &[Dimension] = &[Dimension::CHARGE];
pub(super) const FORCE: &[Dimension] = &[Dimension::FORCE];
pub(super) const VELOCITY: &[Dimension] = &[Dimension { length: 1, time: -1, ..Dimension::NUMBER }];
pub(super) const ACCELERATION: &[Dimension] = &[Dimension { length: 1, time: -2, ..Dimension::NUMBER }];
/// Force per charge: voltage over length.
pub(super) const ELECTRIC: &[Dimension] = &[Dimension { length: -1, ..Dimension::VOLTAGE }];
/// Force per length.
pub(super) const STIFFNESS: &[Dimension] = &[Dimension { length: -2, energy: 1, ..Dimension::NUMBER }];
pub(super) const TEMPERATURE: &[Dimension] = &[Dimension::TEMPERATURE];
/// A bare number is the first.
pub(super) const DENSITY: &[Dimension] = &[Dimension::NUMBER_DENSITY, Dimension::MASS_DENSITY];
