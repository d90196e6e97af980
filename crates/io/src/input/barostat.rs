//! `barostat = { kind = "monte-carlo", pressure = "1 atm" }` of a stage: its keys, and what they mean.

use super::choice::choices;
use super::fields::{Fields, entry_span};
use super::model::{Action, Barostat, Coupling, Input, Located, ScreeningInput, Source};
use super::schema::{Fallback, Key, Kind, NumberRange, Section, Variant};
use jostle_core::{Dimension, Result};

const PRESSURE: Key = Key::new(
    "pressure",
    Kind::Quantity(&[Dimension::PRESSURE], NumberRange::Any),
    Fallback::Required,
    "the pressure to hold; without a unit in atm (real) or bar (metal, nano)",
);

/// The kinds of barostats.
pub(super) const BAROSTATS: &[Variant] = &[
    Variant {
        name: "monte-carlo",
        about: "volumes tried now and then (Chow and Ferguson 1995): right ensemble, needs no virial",
        section: Section {
            keys: &[
                PRESSURE,
                Key::new(
                    "coupling",
                    Kind::Choice(choices::<Coupling>),
                    Fallback::Value("\"isotropic\""),
                    "which edges of the box change together",
                ),
                Key::new("every", Kind::Count(1), Fallback::Value("25"), "steps between trials"),
            ],
            alternatives: &[],
        },
    },
    Variant {
        name: "cell-rescaling",
        about: "the volume does a random walk towards the pressure: right ensemble (Bernetti and Bussi 2020)",
        section: Section {
            keys: &[
                PRESSURE,
                Key::new(
                    "time",
                    Kind::Quantity(&[Dimension::TIME], NumberRange::Positive),
                    Fallback::ByUnits(["10", "5000", "5", "5", "1000", "50"]),
                    "relaxation time of the volume",
                ),
                Key::new(
                    "compressibility",
                    Kind::Quantity(&[Dimension::COMPRESSIBILITY], NumberRange::Positive),
                    Fallback::Required,
                    "about that of the system, so that time is what it says; water: \"4.5e-5 1/bar\"",
                ),
                Key::new("every", Kind::Count(1), Fallback::Value("10"), "steps between changes"),
            ],
            alternatives: &[],
        },
    },
    Variant {
        name: "mtk",
        about: "the box has a mass and moves, reversibly: right ensemble (Martyna, Tobias and Klein 1994)",
        section: Section {
            keys: &[
                PRESSURE,
                Key::new(
                    "time",
                    Kind::Quantity(&[Dimension::TIME], NumberRange::Positive),
                    Fallback::ByUnits(["5", "2000", "2", "2", "1000", "50"]),
                    "about the period of the volume in a liquid; the box has the mass 3 (N + 1) k_B T time^2 for N molecules",
                ),
                Key::new("every", Kind::Count(1), Fallback::Value("10"), "steps between changes"),
            ],
            alternatives: &[],
        },
    },
];

/// The barostat of a stage with this action, if it has one.
pub(super) fn barostat(source: &Source, stage: &Fields, action: &Action) -> Result<Option<Barostat>> {
    let Some(Located { value: fields, .. }) = stage.get::<Fields>("barostat") else { return Ok(None) };
    let refuse = |message: &str| source.error(&entry_span(stage, "barostat"), message);
    if matches!(action, Action::Dynamics { thermostat: None, .. }) {
        return Err(refuse("a barostat needs the temperature of a thermostat, and there is none")
            .hint("add thermostat = { ... } to the stage"));
    }
    if stage.has_key("deform") {
        return Err(refuse("a box that is deformed cannot follow a pressure as well")
            .hint("leave out deform or the barostat"));
    }
    let (pressure, every) = (fields.need("pressure")?, fields.need("every")?);
    Ok(Some(match fields.need::<String>("kind")?.as_str() {
        "monte-carlo" => Barostat::MonteCarlo { pressure, coupling: fields.need_choice("coupling")?, every },
        "mtk" => Barostat::MartynaTobiasKlein { pressure, time: fields.need("time")?, every },
        _ => Barostat::CellRescaling {
            pressure,
            time: fields.need("time")?,
            compressibility: fields.need("compressibility")?,
            every,
        },
    }))
}

/// Refuses a density of electrons that would follow from the volume: forces are those of one density.
pub(super) fn refuse_changing_screening(input: &Input) -> Result<()> {
    let follows = |screening: &Option<Located<ScreeningInput>>| match screening {
        Some(Located { value: ScreeningInput::Electrons { density: None, .. }, span }) => Some(span.clone()),
        _ => None,
    };
    let charges = input.electrostatics.iter().map(|e| &e.value.screening);
    let mut all = input.forces.iter().map(|f| &f.value.screening).chain(charges);
    match all.find_map(follows) {
        Some(span) if input.stages.iter().any(|s| s.value.barostat.is_some()) => Err(input
            .source
            .error(&span, "under a barostat the density of the electrons would change with the volume")
            .hint("give electron_density, or a screening_length")),
        _ => Ok(()),
    }
}
