//! A stage's report for people.

use crate::averages::Confidence;
use crate::report::StageReport;
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, UnitSystem};
use std::fmt::Write;

/// A few lines about a stage: how fast it went, averages with their errors, the drift.
pub fn lines(report: &StageReport, units: UnitSystem) -> String {
    let mut text = format!("stage '{}': {} steps in {:.1} s", report.name, report.steps, report.time.total);
    let speed = &report.speed;
    let _ = write!(text, ", {:.0} steps/s", speed.steps_per_second);
    if let Some(ns) = speed.ns_per_day.filter(|ns| *ns > 0.0) {
        let _ = write!(text, ", {ns:.2} ns/day");
    }
    let _ = writeln!(text, ", {:.2} million atom-steps/s", speed.million_atom_steps_per_second);
    for average in &report.averages {
        let shown = ["temperature", "potential", "total", "pressure"];
        let Some(e) = average.estimate.filter(|_| shown.contains(&average.quantity.as_str())) else {
            continue;
        };
        let doubt = match e.confidence {
            Confidence::Good => "",
            Confidence::Poor => "  (error uncertain: the stage is short)",
        };
        let (quantity, unit) = (&average.quantity, &average.unit);
        let _ = writeln!(text, "  {quantity:<12} {} {unit}{doubt}", with_error(e.mean, e.error));
    }
    if let Some(drift) = &report.drift {
        let _ = writeln!(
            text,
            "  drift        {:.2e} +- {:.1e} {}, {:.1e} of the kinetic energy over the stage",
            drift.per_time.slope,
            drift.per_time.error,
            unit_name(units, Dimension { time: -1, ..Dimension::ENERGY }),
            drift.of_kinetic
        );
    }
    if let Some(minimum) = &report.minimum {
        let _ = writeln!(
            text,
            "  {:?}: largest force {:.3e}, potential energy {:.6}",
            minimum.outcome, minimum.largest_force, minimum.potential
        );
    }
    text.trim_end().to_string()
}

/// A value with its error, to the digits that the error leaves: `-6.1234 +- 0.0012`.
pub fn with_error(mean: f64, error: f64) -> String {
    if !(error > 0.0 && error.is_finite()) {
        return format!("{mean} +- {error}");
    }
    // Two digits of the error.
    let digits = 1 - error.log10().floor() as i32;
    if !(0..=12).contains(&digits) {
        return format!("{mean:.6e} +- {error:.1e}");
    }
    format!("{mean:.0$} +- {error:.0$}", digits as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_end_where_the_error_begins() {
        assert_eq!(with_error(-6.123456, 0.00123), "-6.1235 +- 0.0012");
        assert_eq!(with_error(94.4321, 0.5), "94.43 +- 0.50");
        assert_eq!(with_error(1.0, 0.0), "1 +- 0");
        assert_eq!(with_error(123456.0, 2345.0), "1.234560e5 +- 2.3e3");
        assert_eq!(with_error(1e-20, 1e-22), "1.000000e-20 +- 1.0e-22");
    }
}
