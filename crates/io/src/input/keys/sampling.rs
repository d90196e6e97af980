//! The keys of `[[variable]]` and `[[bias]]`.

use super::system::{ATOMS, GROUP};
use crate::input::choice::choices;
use crate::input::model::{WallSide, WeightsInput};
use crate::input::schema::Fallback::{Absent, ByUnits, Required, Value};
use crate::input::schema::NumberRange::{Any, Positive};
use crate::input::schema::*;
use jostle_core::Dimension;
use jostle_sampling::definition::{self, Parameter, Selections, Values};
use jostle_sampling::variable::{ALL, VariableKind};
use std::sync::LazyLock;

const ENERGY: &[Dimension] = &[Dimension::ENERGY];
const NUMBER: &[Dimension] = &[Dimension::NUMBER];

const NAME_OF_VARIABLE: Key =
    Key::new("name", Kind::Text, Required, "what biases and thermo.csv call it: letters, digits and _");

const WEIGHTS: Key = Key::new(
    "weights",
    Kind::Choice(choices::<WeightsInput>),
    Value("\"mass\""),
    "how atoms weigh in the centre of a group",
);

/// The kinds of variables, each with its selections and parameters.
pub(super) fn variables() -> &'static [Variant] {
    static VARIABLES: LazyLock<Vec<Variant>> = LazyLock::new(|| ALL.iter().map(variant).collect());
    &VARIABLES
}

fn variant(kind: &'static VariableKind) -> Variant {
    let selections = match kind.selections {
        Selections::None => vec![],
        Selections::One => {
            vec![Key { default: Absent(""), ..ATOMS }, Key { default: Absent(""), ..GROUP }]
        }
        Selections::Two => {
            vec![Key::new("between", Kind::Names, Required, "two selections: [\"index 3\", \"group lid\"]")]
        }
        Selections::Several(_) => {
            vec![Key::new("centers", Kind::Names, Required, "as many selections, each with its centre")]
        }
    };
    let weights = kind.weighs_atoms().then_some(WEIGHTS);
    let alternatives: &[Alternatives] = match kind.selections {
        Selections::One => &[Alternatives { keys: &["atoms", "group"], needed: Needed::Always }],
        _ => &[],
    };
    let given = selections.into_iter().chain(weights).chain(kind.parameters.iter().map(parameter));
    let keys = std::iter::once(NAME_OF_VARIABLE).chain(given);
    // Made once, for the life of the program, like the tables that stand in this file.
    let section = Section { keys: keys.collect::<Vec<Key>>().leak(), alternatives };
    Variant { name: kind.name, about: kind.about, section }
}

fn parameter(parameter: &'static Parameter) -> Key {
    let kind = match &parameter.values {
        Values::Quantity(dimension) => Kind::Quantity(std::slice::from_ref(dimension), Positive),
        Values::Count => Kind::Count(1),
        Values::Words(words) => Kind::Choice(*words),
        Values::Formula | Values::Name => Kind::Text,
        Values::Numbers => Kind::Numbers,
        Values::File => Kind::Path,
    };
    let default = match parameter.default {
        definition::Absent::Refused => Required,
        definition::Absent::Value(value) => Value(value),
        definition::Absent::ByUnits(values) => ByUnits(values),
        definition::Absent::None(what) => Absent(what),
    };
    Key::new(parameter.name, kind, default, parameter.about)
}

const NAME_OF_BIAS: Key =
    Key::new("name", Kind::Text, Required, "what its columns and files are called after");
const VARIABLE: Key = Key::new("variable", Kind::Text, Required, "name of the variable that it acts on");
const ONE_OR_TWO: Key = Key::new("variables", Kind::Names, Required, "names of one or two variables");
const STAGES: Key = Key::new(
    "stages",
    Kind::Names,
    Absent("all stages of time steps"),
    "names of the stages in which it acts",
);
const TARGET: Key = Key::new(
    "temperature",
    Kind::Quantity(TEMPERATURE, Positive),
    Required,
    "temperature of the atoms, that of the thermostat",
);
const LOWER: Key = Key::new(
    "lower",
    Kind::Ramp(NUMBER, Any),
    Absent("the period of the variable"),
    "first value of the grid, or one for each of two variables",
);
const UPPER: Key =
    Key::new("upper", Kind::Ramp(NUMBER, Any), Absent("the period of the variable"), "last value");

/// The kinds of biases. Values of variables are bare numbers in the units of the file, angles in radians.
pub(super) static BIASES: &[Variant] = &[
    Variant {
        name: "harmonic",
        about: "stiffness/2 (s - center)^2: a window of umbrella sampling; steered or targeted dynamics where center or stiffness change",
        section: Section {
            keys: &[
                NAME_OF_BIAS,
                VARIABLE,
                Key::new(
                    "center",
                    Kind::Ramp(NUMBER, Any),
                    Required,
                    "value without force; of two, from the first to the last in the course of its stages",
                ),
                Key::new(
                    "stiffness",
                    Kind::Ramp(NUMBER, NumberRange::NonNegative),
                    Required,
                    "energy per square of the variable; of two, likewise",
                ),
                STAGES,
            ],
            alternatives: &[],
        },
    },
    Variant {
        name: "linear",
        about: "-force (s - center): a constant force along a variable without a period",
        section: Section {
            keys: &[
                NAME_OF_BIAS,
                VARIABLE,
                Key::new(
                    "force",
                    Kind::Number(Any),
                    Required,
                    "energy per unit of the variable, towards larger values",
                ),
                Key::new("center", Kind::Number(Any), Value("0"), "value without energy"),
                STAGES,
            ],
            alternatives: &[],
        },
    },
    Variant {
        name: "torque",
        about: "a constant torque along an angle (a rotation or a dihedral), whose full turns count; torque, angle turned and work are columns",
        section: Section {
            keys: &[
                NAME_OF_BIAS,
                VARIABLE,
                Key::new(
                    "torque",
                    Kind::Quantity(ENERGY, Any),
                    Required,
                    "energy per radian, towards larger angles",
                ),
                STAGES,
            ],
            alternatives: &[],
        },
    },
    Variant {
        name: "wall",
        about: "stiffness/2 (s - at)^2 beyond a value of a variable without a period",
        section: Section {
            keys: &[
                NAME_OF_BIAS,
                VARIABLE,
                Key::new("at", Kind::Number(Any), Required, "where the wall begins"),
                Key::new("stiffness", Kind::Number(Positive), Required, "energy per square of the variable"),
                Key::new("side", Kind::Choice(choices::<WallSide>), Required, "the side where it is"),
                STAGES,
            ],
            alternatives: &[],
        },
    },
    Variant {
        name: "formula",
        about: "an energy as a formula of variables",
        section: Section {
            keys: &[
                NAME_OF_BIAS,
                Key::new(
                    "energy",
                    Kind::Text,
                    Required,
                    "the formula, with names of variables: \"2 (x^2 - 1)^2\"",
                ),
                Key::new(
                    "parameters",
                    Kind::Numbers,
                    Absent("all names are those of variables"),
                    "numbers by name",
                ),
                STAGES,
            ],
            alternatives: &[],
        },
    },
    Variant {
        name: "metadynamics",
        about: "hills where variables have been (Laio and Parrinello 2002), lower with time where bias_factor is given (well-tempered, Barducci 2008)",
        section: Section {
            keys: &[
                NAME_OF_BIAS,
                ONE_OR_TWO,
                Key::new(
                    "width",
                    Kind::Ramp(NUMBER, Positive),
                    Required,
                    "standard deviation of hills, or one for each of two variables",
                ),
                Key::new("height", Kind::Quantity(ENERGY, Positive), Required, "height of hills"),
                Key::new("every", Kind::Count(1), Required, "steps between hills"),
                Key::new(
                    "bias_factor",
                    Kind::Number(Positive),
                    Absent("hills keep their height"),
                    "gamma, greater than 1: temperature at which the variables seem to be over that of the atoms",
                ),
                Key { default: Absent("needed with bias_factor"), ..TARGET }.with(&["bias_factor"]),
                LOWER,
                UPPER,
                Key::new(
                    "spacing",
                    Kind::Ramp(NUMBER, Positive),
                    Absent("a fifth of the width"),
                    "distance of points of the grid",
                ),
                Key::new(
                    "walkers",
                    Kind::Path,
                    Absent("it walks alone"),
                    "a folder that runs of the same bias share: each adds hills to a file there and takes those of all others",
                ),
                Key::new(
                    "walkers_every",
                    Kind::Count(1),
                    Absent("ten times every"),
                    "steps between exchanges of hills with other walkers, at least",
                )
                .with(&["walkers"]),
                STAGES,
            ],
            alternatives: &[],
        },
    },
    Variant {
        name: "opes",
        about: "on-the-fly probability enhanced sampling: the bias follows from an estimate of the density by kernels (Invernizzi and Parrinello 2020)",
        section: Section {
            keys: &[
                NAME_OF_BIAS,
                ONE_OR_TWO,
                Key::new(
                    "barrier",
                    Kind::Quantity(ENERGY, Positive),
                    Required,
                    "highest barrier to be crossed, which the bias does not exceed by much",
                ),
                TARGET,
                Key::new(
                    "width",
                    Kind::Ramp(NUMBER, Positive),
                    Required,
                    "width of the first kernels: the fluctuation of a variable in a basin, or one for each of two",
                ),
                Key::new("every", Kind::Count(1), Required, "steps between kernels"),
                STAGES,
            ],
            alternatives: &[],
        },
    },
    Variant {
        name: "abf",
        about: "adaptive biasing force, on a particle that is bound to the variables (extended-system ABF with the CZAR estimator, Lesage 2017)",
        section: Section {
            keys: &[
                NAME_OF_BIAS,
                ONE_OR_TWO,
                TARGET,
                LOWER,
                UPPER,
                Key::new("spacing", Kind::Ramp(NUMBER, Positive), Required, "width of bins"),
                Key::new(
                    "coupling",
                    Kind::Ramp(NUMBER, Positive),
                    Absent("as spacing"),
                    "thermal fluctuation of the variables about the particle",
                ),
                Key::new(
                    "relaxation",
                    Kind::Quantity(TIME, Positive),
                    ByUnits(["0.5", "200", "0.2", "0.2", "200", "5"]),
                    "period of oscillations of the particle about the variables",
                ),
                Key::new(
                    "full_samples",
                    Kind::Count(2),
                    Value("200"),
                    "samples in a bin from which the whole mean force acts; from half of them on, a part",
                ),
                STAGES,
            ],
            alternatives: &[],
        },
    },
];
