//! The keys of `[alchemy]`.

use super::system::{ATOMS, GROUP};
use crate::input::choice::choices;
use crate::input::model::SoftCoreKind;
use crate::input::schema::Fallback::{Absent, Required, Value};
use crate::input::schema::NumberRange::{Positive, UnitInterval};
use crate::input::schema::*;
use jostle_potentials::alchemy::OwnEnergy;

pub(super) static ALCHEMY: Section = Section {
    keys: &[
        Key { default: Absent(""), ..ATOMS },
        Key { default: Absent(""), ..GROUP },
        Key::new(
            "lambda_charges",
            Kind::Series(UnitInterval),
            Required,
            "factor of the charges of the molecule in each window",
        ),
        Key::new(
            "lambda_lennard_jones",
            Kind::Series(UnitInterval),
            Required,
            "coupling of its Lennard-Jones force on all others in each window, 1 wherever it has charges",
        ),
        Key::new(
            "appearing",
            Kind::Text,
            Absent("a molecule alone is decoupled"),
            "a dual topology: words that choose the molecule, or the part of one, that appears while atoms, another molecule or part, disappear; they have no forces on each other",
        ),
        Key::new(
            "appearing_charges",
            Kind::Series(UnitInterval),
            Absent("needed with appearing"),
            "factor of the charges of what appears in each window",
        )
        .with(&["appearing"]),
        Key::new(
            "appearing_lennard_jones",
            Kind::Series(UnitInterval),
            Absent("needed with appearing"),
            "coupling of its Lennard-Jones force in each window",
        )
        .with(&["appearing"]),
        Key::new("window", Kind::Count(0), Required, "the window of this run, counted from 0"),
        Key::new(
            "soft_core",
            Kind::Choice(choices::<SoftCoreKind>),
            Value("\"beutler\""),
            "the Lennard-Jones force between 0 and 1",
        ),
        Key::new(
            "alpha",
            Kind::Number(Positive),
            Absent("0.5 of beutler, 0.85 of gapsys"),
            "how soft the core is",
        ),
        Key::new("power", Kind::Count(1), Absent("1"), "exponent of 1 - lambda in Beutler's soft core"),
        Key::new(
            "own_energy",
            Kind::Choice(choices::<OwnEnergy>),
            Value("\"kept\""),
            "charges and Lennard-Jones forces between atoms of the molecule",
        ),
        Key::new("sample_every", Kind::Count(1), Value("100"), "steps between samples"),
        Key::new(
            "stages",
            Kind::Names,
            Absent("the last stage of time steps"),
            "names of the stages with samples, each with a thermostat",
        ),
    ],
    alternatives: &[Alternatives { keys: &["atoms", "group"], needed: Needed::Always }],
};
