//! Units of the run in those of the protocol.

use crate::protocol::Version;
use jostle_core::quantity::parse_quantity;
use jostle_core::{Dimension, UnitSystem};

/// Factors from units of the run to those of a version of the protocol; 1 in units that have no SI.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scale {
    /// To angstrom.
    pub length: f64,
    /// To ps.
    pub time: f64,
    /// To kJ/mol (version 3) or kcal/mol (version 2).
    pub energy: f64,
    /// To kelvins.
    pub temperature: f64,
}

impl Scale {
    /// The factors.
    pub fn new(units: UnitSystem, version: Version) -> Self {
        let factor = |unit: &str, dimension| match units.from_si(dimension) {
            None => 1.0,
            Some(_) => {
                parse_quantity(&format!("1 {unit}"), &[dimension], units).map_or(1.0, |(x, _)| 1.0 / x)
            }
        };
        let energy = match version {
            Version::Two => "kcal/mol",
            Version::Three => "kJ/mol",
        };
        Scale {
            length: factor("angstrom", Dimension::LENGTH),
            time: factor("ps", Dimension::TIME),
            energy: factor(energy, Dimension::ENERGY),
            temperature: factor("K", Dimension::TEMPERATURE),
        }
    }

    /// To the unit of force.
    pub fn force(&self) -> f64 {
        self.energy / self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_are_those_of_the_units() {
        let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-12, "{a}, {b}");
        let real = Scale::new(UnitSystem::Real, Version::Two);
        for (a, b) in [(real.length, 1.0), (real.time, 1e-3), (real.energy, 1.0)] {
            close(a, b);
        }
        close(Scale::new(UnitSystem::Real, Version::Three).energy, 4.184);
        let nano = Scale::new(UnitSystem::Nano, Version::Three);
        for (a, b) in [(nano.length, 10.0), (nano.time, 1.0), (nano.energy, 1.0), (nano.force(), 0.1)] {
            close(a, b);
        }
        // One electronvolt a particle is 96.485 kJ/mol.
        close(Scale::new(UnitSystem::Metal, Version::Three).energy, 1.602176634e-22 * 6.02214076e23);
        let lj = Scale::new(UnitSystem::Lj, Version::Three);
        assert_eq!([lj.length, lj.time, lj.energy, lj.temperature], [1.0; 4]);
    }
}
