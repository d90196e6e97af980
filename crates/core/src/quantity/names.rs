//! Names of dimensions and of their units.

use crate::units::{Dimension, UnitSystem};

/// Name of a dimension, with its article: `"an energy"`.
pub fn describe(dimension: Dimension) -> String {
    let known = [
        (Dimension::NUMBER, "a bare number"),
        (Dimension::LENGTH, "a length"),
        (Dimension::AREA, "an area"),
        (Dimension::INVERSE_LENGTH, "an inverse length"),
        (Dimension::TIME, "a time"),
        (Dimension::RATE, "an inverse time"),
        (Dimension::MASS, "a mass"),
        (Dimension::ENERGY, "an energy"),
        (Dimension::TEMPERATURE, "a temperature"),
        (Dimension::CHARGE, "a charge"),
        (Dimension::VOLTAGE, "a voltage"),
        (Dimension::VELOCITY, "a velocity"),
        (Dimension::FORCE, "a force"),
        (Dimension::PRESSURE, "a pressure"),
        (Dimension::COMPRESSIBILITY, "an inverse pressure"),
        (Dimension::NUMBER_DENSITY, "a number density"),
        (Dimension::MASS_DENSITY, "a mass density"),
    ];
    match known.iter().find(|(d, _)| *d == dimension) {
        Some((_, name)) => (*name).to_string(),
        None => {
            let base = [
                ("energy", dimension.energy),
                ("mass", dimension.mass),
                ("length", dimension.length),
                ("time", dimension.time),
                ("temperature", dimension.temperature),
                ("charge", dimension.charge),
            ];
            let parts = base.iter().filter(|(_, p)| *p != 0).map(|(name, p)| match p {
                1 => (*name).to_string(),
                _ => format!("{name}^{p}"),
            });
            parts.collect::<Vec<_>>().join(" ")
        }
    }
}

/// Unit of a dimension as users of a system write it, e.g. `kcal/mol/A`; empty for bare numbers and in
/// reduced units.
pub fn unit_name(units: UnitSystem, dimension: Dimension) -> String {
    let (length, time, mass, energy, temperature) = match units {
        UnitSystem::Lj | UnitSystem::Plasma => return String::new(),
        UnitSystem::Real => ("A", "fs", "g/mol", "kcal/mol", "K"),
        UnitSystem::Metal => ("A", "ps", "g/mol", "eV", "K"),
        UnitSystem::Nano => ("nm", "ps", "g/mol", "kJ/mol", "K"),
        UnitSystem::Nuclear => ("fm", "fm/c", "MeV/c2", "MeV", "MeV"),
    };
    let pressure = match units {
        UnitSystem::Real => Some("atm"),
        UnitSystem::Metal | UnitSystem::Nano => Some("bar"),
        _ => None,
    };
    match (dimension, pressure) {
        (Dimension::PRESSURE, Some(unit)) => return unit.to_string(),
        (Dimension::COMPRESSIBILITY, Some(unit)) => return format!("1/{unit}"),
        _ => {}
    }
    let parts = [
        (energy, dimension.energy),
        (mass, dimension.mass),
        (temperature, dimension.temperature),
        ("e", dimension.charge),
        (length, dimension.length),
        (time, dimension.time),
    ];
    let raised = |name: &str, power: i8| match power.abs() {
        1 => name.to_string(),
        // "A^3" reads better than "A3"; compound units never appear with a power above 1.
        p => format!("{name}^{p}"),
    };
    let above =
        parts.iter().filter(|(_, p)| *p > 0).map(|(n, p)| raised(n, *p)).collect::<Vec<_>>().join(" ");
    let below = parts.iter().filter(|(_, p)| *p < 0).map(|(n, p)| {
        // 1/(fm/c) is c/fm; the slash of the unit turns around.
        let name = raised(n, *p);
        if name == "fm/c" { " c/fm".to_string() } else { format!("/{name}") }
    });
    let below = below.collect::<String>();
    match (above.is_empty(), below.strip_prefix('/')) {
        (true, Some(rest)) => format!("1/{rest}"),
        _ => format!("{above}{below}").trim().to_string(),
    }
}

/// A quantity that would be accepted.
pub(super) fn example(wanted: &[Dimension], units: UnitSystem) -> String {
    let one = |d: &Dimension| match unit_name(units, *d) {
        name if name.is_empty() => "a bare number".to_string(),
        name => format!("\"1.5 {name}\""),
    };
    wanted.iter().map(one).collect::<Vec<_>>().join(" or ")
}
