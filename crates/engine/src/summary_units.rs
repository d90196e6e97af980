//! Units of the numbers in `summary.json`.

use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, UnitSystem};
use serde_json::{Map, Value};

/// Version of the layout of `summary.json`. The version grows when a key changes its meaning or is removed,
/// not when a key is added.
pub const SUMMARY_VERSION: u32 = 1;

/// Units of the numbers of the summary that have no unit beside them, by the name of their key or of an
/// object around it: `""` for counts and ratios. A mean and its error have the `unit` beside their
/// `quantity`.
pub(crate) fn summary_units(units: UnitSystem) -> Value {
    let of = |dimension| unit_name(units, dimension);
    let time = of(Dimension::TIME);
    let drift = of(Dimension { time: -1, ..Dimension::ENERGY });
    let temperature = of(Dimension::TEMPERATURE);
    let (force, energy) = (of(Dimension { length: -1, ..Dimension::ENERGY }), of(Dimension::ENERGY));
    let named: [(&[&str], String); 14] = [
        (&["version", "seed", "atoms", "count", "step", "steps", "samples", "builds"], String::new()),
        (&["degrees_of_freedom", "inefficiency", "of_kinetic"], String::new()),
        (&["time", "simulated"], time),
        (&["target_temperature", "from", "to"], temperature),
        (&["skin"], of(Dimension::LENGTH)),
        (&["bytes"], "B".into()),
        (&["slope", "per_time"], drift),
        (&["kt_per_ns_per_dof"], "kT/ns".into()),
        (&["largest_force"], force),
        (&["potential"], energy),
        (&["ns_per_day"], "ns/day".into()),
        (&["steps_per_second"], "1/s".into()),
        (&["million_atom_steps_per_second"], "1e6/s".into()),
        // Wall time, under `time` of a stage.
        (&["total", "pair", "neighbors", "integrate", "output", "analysis"], "s".into()),
    ];
    let pairs = named.into_iter().flat_map(|(keys, unit)| {
        keys.iter().map(move |key| (key.to_string(), Value::from(unit.clone()))).collect::<Vec<_>>()
    });
    Value::Object(pairs.collect::<Map<_, _>>())
}
