//! The keys of `[[stage]]`.

use super::system::{ATOMS, GROUP};
use crate::input::barostat::BAROSTATS;
use crate::input::choice::choices;
use crate::input::model::{Axis, Minimizer, Plane, ThermostatKind, TrajectoryFormat};
use crate::input::schema::Fallback::{Absent, ByUnits, Required, Value};
use crate::input::schema::NumberRange::{NonNegative, Positive};
use crate::input::schema::*;
use jostle_analysis::FEWEST_SLABS;
use jostle_core::Dimension;
use jostle_core::thermostat::{self, Parameter, Quantity};
use std::sync::LazyLock;

pub(super) static STAGE: Section = Section {
    keys: &[
        Key::new("name", Kind::Text, Absent("\"stage-1\", \"stage-2\", ..."), "its name, unique in the file"),
        Key::new("steps", Kind::Count(1), Absent(""), "how many time steps"),
        Key::new(
            "until",
            Kind::Text,
            Absent("all steps are made"),
            "end the stage at a row of thermo.csv at which this holds, after these steps at the latest: \"density settled\", \"potential < -5000\", several joined by and",
        )
        .with(&["steps"]),
        Key::new("timestep", Kind::Quantity(TIME, Positive), Required, "how long each is").with(&["steps"]),
        Key::new("thermostat", Kind::OneOf(thermostats), Absent("constant energy"), "temperature control")
            .with(&["steps"]),
        Key::new("barostat", Kind::Variants(BAROSTATS), Absent("constant volume"), "pressure control")
            .with(&["steps"]),
        Key::new(
            "restraints",
            Kind::Ramps(STIFFNESS, NonNegative),
            Absent("all of them, as they are defined"),
            "the restraints that act in this stage, by name; with another stiffness, or one that changes from the first to the last value",
        ),
        Key::new(
            "long_range_every",
            Kind::Count(1),
            Value("1"),
            "long-range forces of charges and of dispersion (pme, ewald) act at every so many steps, so many times as strongly: 2 for steps up to 2 fs",
        )
        .with(&["steps"]),
        Key::new(
            "minimize",
            Kind::Table(&MINIMIZE),
            Absent(""),
            "go down to a minimum of the energy instead of making time steps",
        ),
        Key::new(
            "deform",
            Kind::Variants(DEFORMATIONS),
            Absent("the box keeps its shape"),
            "change the shape of the box at constant volume; thermo.csv has strain and stress. Atoms follow the box and keep their velocities, as suits solids and slow or dense liquids: the flow of a gas has more stress",
        )
        .with(&["steps"]),
        Key::new(
            "heat_flux",
            Kind::Table(&HEAT_FLUX),
            Absent("no heat is driven through the box"),
            "carry heat from the first slab of the box to the middle one, by exchanges of velocities (Müller-Plathe 1997), and measure the thermal conductivity by the profile of the temperature: files NAME.thermal-conductivity.*",
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
            "checkpoints besides those at the end, when interrupted and by the clock: after seconds, then more and more seldom, ten minutes apart at most",
        ),
    ],
    alternatives: &[Alternatives { keys: &["steps", "minimize"], needed: Needed::Always }],
};

const TARGET: Key = Key::new(
    "temperature",
    Kind::Ramp(TEMPERATURE, Positive),
    Absent("that of [system]"),
    "the temperature to hold; of two, from the first to the last in the course of the stage",
);

/// The thermostats, each with its temperature and its own parameters.
fn thermostats() -> &'static [Variant] {
    static THERMOSTATS: LazyLock<Vec<Variant>> = LazyLock::new(|| {
        let parameter = |p: &'static Parameter| {
            let kind = match &p.quantity {
                Quantity::Count => Kind::Count(1),
                Quantity::Measured(dimension) => Kind::Quantity(std::slice::from_ref(dimension), Positive),
            };
            let default = match p.absent {
                thermostat::Absent::Refused => Required,
                thermostat::Absent::Value(value) => Value(value),
                thermostat::Absent::ByUnits(values) => ByUnits(values),
            };
            Key::new(p.name, kind, default, p.about)
        };
        let variant = |kind: ThermostatKind| {
            let keys = std::iter::once(TARGET).chain(kind.parameters().iter().map(parameter));
            // Made once, for the life of the program, like the tables that stand in this file.
            let section = Section { keys: keys.collect::<Vec<Key>>().leak(), alternatives: &[] };
            Variant { name: kind.name(), about: kind.about(), section }
        };
        ThermostatKind::documented().into_iter().map(variant).collect()
    });
    &THERMOSTATS
}

const STRAIN_RATE: Key =
    Key::new("rate", Kind::Quantity(RATE, NumberRange::Any), Required, "strain per time");
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
                Key::new("axis", Kind::Choice(choices::<Axis>), Required, "what gets longer"),
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
                Key::new("plane", Kind::Choice(choices::<Plane>), Required, "the two axes"),
                STRAIN_RATE,
                BOX_CHANGES,
            ],
            alternatives: &[],
        },
    },
];

static HEAT_FLUX: Section = Section {
    keys: &[
        Key::new("axis", Kind::Choice(choices::<Axis>), Value("\"z\""), "where heat flows along, both ways"),
        Key::new(
            "slabs",
            Kind::Count(FEWEST_SLABS as u64),
            Value("20"),
            "how many slabs the box is cut into, an even number",
        ),
        Key::new("every", Kind::Count(1), Value("100"), "steps between exchanges: fewer carry more heat"),
        Key::new(
            "swaps",
            Kind::Count(1),
            Value("1"),
            "pairs of atoms that exchange their velocities each time",
        ),
    ],
    alternatives: &[],
};

static MINIMIZE: Section = Section {
    keys: &[
        Key::new("minimizer", Kind::Choice(choices::<Minimizer>), Value("\"fire\""), "how"),
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
    keys: &[
        Key::new("every", Kind::Count(0), Value("100"), "steps between rows; 0: none"),
        Key::new(
            "sample_every",
            Kind::Count(1),
            Absent("a row is of its step alone"),
            "steps between samples, of which a row is the mean since the row before",
        ),
    ],
    alternatives: &[],
};

static TRAJECTORY: Section = Section {
    keys: &[
        Key::new("every", Kind::Count(1), Required, "steps between frames"),
        Key::new("format", Kind::Choice(choices::<TrajectoryFormat>), Value("\"xtc\""), "the file format"),
    ],
    alternatives: &[],
};

static CHECKPOINT: Section = Section {
    keys: &[Key::new("every", Kind::Count(0), Value("0"), "steps between checkpoints; 0: none of these")],
    alternatives: &[],
};

/// Kinds of analysis, each with `every` and its own settings.
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
            let whole = kind.observable.is_of_whole();
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
