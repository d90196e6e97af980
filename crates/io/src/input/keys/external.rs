//! The keys of `[[enhanced]]`, `[[rigid]]`, `[[field]]`, `[[wall]]` and `[[restraint]]`.

use super::force::FORCES;
use super::system::{ATOMS, GROUP};
use crate::input::choice::choices;
use crate::input::model::{Axis, BodyDivision, CopyMass, FieldWork, Scaling};
use crate::input::schema::Fallback::{Absent, Required, Value};
use crate::input::schema::NumberRange::{NonNegative, Positive};
use crate::input::schema::*;
use jostle_potentials::external::{Positions, Side};

pub(super) static FIELDS: Section = Section {
    keys: &[
        Key::new("force", Kind::Vector(FORCE, NumberRange::Any), Absent(""), "on every atom"),
        Key::new(
            "acceleration",
            Kind::Vector(ACCELERATION, NumberRange::Any),
            Absent(""),
            "of every atom: the force is its mass times this",
        ),
        Key::new(
            "electric",
            Kind::Vector(ELECTRIC, NumberRange::Any),
            Absent(""),
            "the force is the charge of an atom times this",
        ),
        Key::new(
            "energy",
            Kind::Text,
            Absent(""),
            "of an atom, as a formula of x, y, z, time, mass, charge, constants that all species have, and parameters",
        ),
        Key::new("parameters", Kind::Numbers, Absent("none"), "numbers of the formula, by name")
            .with(&["energy"]),
        Key::new(
            "positions",
            Kind::Choice(choices::<Positions>),
            Value("\"wrapped\""),
            "x, y and z of the formula",
        )
        .with(&["energy"]),
        Key::new(
            "work",
            Kind::Choice(choices::<FieldWork>),
            Value("\"ignored\""),
            "the energy that a field whose formula has time puts in by changing",
        )
        .with(&["energy"]),
        Key::new("species", Kind::Names, Absent("all"), "the species it acts on"),
        ATOMS,
        GROUP,
    ],
    alternatives: &[
        Alternatives { keys: &["force", "acceleration", "electric", "energy"], needed: Needed::Always },
        Alternatives { keys: &["atoms", "group"], needed: Needed::Never },
    ],
};

pub(super) static ENHANCED: Section = Section {
    keys: &[
        Key { default: Required, ..ATOMS },
        Key::new("copies", Kind::Count(2), Required, "number of copies, the atoms themselves included"),
        Key::new("mass", Kind::Choice(choices::<CopyMass>), Value("\"kept\""), "masses of the copies"),
    ],
    alternatives: &[],
};

pub(super) static RIGID: Section = Section {
    keys: &[
        Key { default: Absent(""), ..ATOMS },
        Key { default: Absent(""), ..GROUP },
        Key::new(
            "by",
            Kind::Choice(choices::<BodyDivision>),
            Value("\"molecule\""),
            "the atoms that one body is made of",
        ),
    ],
    alternatives: &[Alternatives { keys: &["atoms", "group"], needed: Needed::Always }],
};

pub(super) static WALLS: Section = Section {
    keys: &[
        Key::new(
            "axis",
            Kind::Choice(choices::<Axis>),
            Required,
            "the axis it is perpendicular to, an open one",
        ),
        Key::new(
            "at",
            Kind::Quantity(LENGTH, NumberRange::Any),
            Required,
            "where on this axis it is, before it moves",
        ),
        Key::new("atoms", Kind::Choice(choices::<Side>), Required, "where the atoms are"),
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
        Key::new(
            "reflection",
            Kind::Choice(|| {
                vec![(
                    "elastic",
                    "an atom behind the plane goes to its mirror image, and its velocity towards the plane turns round",
                )]
            }),
            Absent(""),
            "how it sends atoms back, instead of by a force",
        ),
        Key::new("motion", Kind::Table(&WALL_MOTION), Absent("it stays"), "how it moves along its axis"),
        Key::new(
            "work",
            Kind::Choice(choices::<FieldWork>),
            Value("\"ignored\""),
            "the energy that it puts in by moving",
        ),
    ],
    alternatives: &[Alternatives { keys: &["force", "material", "reflection"], needed: Needed::Always }],
};

static WALL_MOTION: Section = Section {
    keys: &[
        Key::new("velocity", Kind::Quantity(VELOCITY, NumberRange::Any), Value("0"), "along the axis"),
        Key::new(
            "amplitude",
            Kind::Quantity(LENGTH, NumberRange::Any),
            Absent("none"),
            "of an oscillation, A sin(2 pi (time - from) / period)",
        )
        .with(&["period"]),
        Key::new("period", Kind::Quantity(TIME, Positive), Absent(""), "of the oscillation")
            .with(&["amplitude"]),
        Key::new("from", Kind::Quantity(TIME, NonNegative), Value("0"), "time of the run at which it begins"),
        Key::new(
            "to",
            Kind::Quantity(TIME, Positive),
            Absent("the end of the run"),
            "time at which it ends; the wall stays where it is then",
        ),
    ],
    alternatives: &[],
};

const STIFFNESS_OF_SPRING: Key =
    Key::new("stiffness", Kind::Quantity(STIFFNESS, Positive), Required, "k of the energy k d^2 / 2");

const NAME_OF_RESTRAINT: Key =
    Key::new("name", Kind::Text, Absent("stages cannot speak of it"), "what stages call it");

pub(super) static RESTRAINTS: &[Variant] = &[
    Variant {
        name: "position",
        about: "each atom to its reference position, where it was when the run began, in its nearest image",
        section: Section {
            keys: &[
                NAME_OF_RESTRAINT,
                Key { default: Absent(""), ..ATOMS },
                Key { default: Absent(""), ..GROUP },
                STIFFNESS_OF_SPRING,
                Key::new(
                    "scaling",
                    Kind::Choice(choices::<Scaling>),
                    Value("\"none\""),
                    "how reference positions follow a box that changes",
                ),
            ],
            alternatives: &[Alternatives { keys: &["atoms", "group"], needed: Needed::Always }],
        },
    },
    Variant {
        name: "distance",
        about: "the centres of mass of two selections to a distance, in their nearest images",
        section: Section {
            keys: &[
                NAME_OF_RESTRAINT,
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
