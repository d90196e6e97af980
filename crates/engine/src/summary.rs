//! Text of the report of a stage.

use crate::report::{Convergence, StageReport, TimeSpent};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, UnitSystem};

/// Names of the averages that are shown.
const SHOWN: [&str; 5] = ["temperature", "potential", "total", "pressure", "density"];

/// Line with the number of steps of a stage and its speed.
pub fn headline(report: &StageReport) -> String {
    let speed = &report.speed;
    let mut text = format!(
        "stage '{}': {} steps in {:.1} s, {:.0} steps/s",
        report.name, report.steps, report.time.total, speed.steps_per_second
    );
    if let Some(ns) = speed.ns_per_day.filter(|ns| *ns > 0.0) {
        text += &format!(", {ns:.2} ns/day");
    }
    text + &format!(", {:.2} million atom-steps/s", speed.million_atom_steps_per_second)
}

/// Lines with averages and their errors, the drift or the minimum, and the parts of the time.
pub fn findings(report: &StageReport, units: UnitSystem) -> String {
    let mut lines = Vec::new();
    let mut line =
        |name: &str, value: String| lines.push(format!("  {name:<12} {value}").trim_end().to_string());
    for average in report.averages.iter().filter(|a| SHOWN.contains(&a.quantity.as_str())) {
        let Some(e) = average.estimate else { continue };
        if average.quantity == "density" && e.error <= 1e-12 * e.mean {
            // The density of a box of constant volume.
            continue;
        }
        line(&average.quantity, format!("{} {}", with_error(e.mean, e.error), average.unit));
    }
    if let Some(drift) = &report.drift {
        let unit = unit_name(units, Dimension { time: -1, ..Dimension::ENERGY });
        let slope = with_error(drift.per_time.slope, drift.per_time.error);
        let separator = if unit.is_empty() { "" } else { " " };
        line(
            "drift",
            format!(
                "{slope}{separator}{unit}, {:.1e} of the kinetic energy over the stage",
                drift.of_kinetic
            ),
        );
    }
    if let Some(work) = report.restraint_work {
        let unit = unit_name(units, Dimension::ENERGY);
        line(
            "restraints",
            format!("got a work of {} {unit} as they changed", rounded(work)).trim_end().into(),
        );
    }
    for change in &report.changes {
        line("changed", change.describe(&unit_name(units, Dimension::TEMPERATURE)));
    }
    if let Some(minimum) = &report.minimum {
        let outcome = match minimum.outcome {
            Convergence::Converged => "reached",
            Convergence::Unconverged => "not reached",
        };
        let (force, potential) = (minimum.largest_force, minimum.potential);
        line("minimum", format!("{outcome}: largest force {force:.3e}, potential energy {potential:.6}"));
    }
    let time = &report.time;
    if time.total > 0.0 {
        let percent = |(name, seconds)| format!("{name} {:.0}%", 100.0 * seconds / time.total);
        line("time", parts_of_time(time).into_iter().map(percent).collect::<Vec<_>>().join(", "));
    }
    lines.join("\n")
}

/// Seconds by kind of work, which add up to the total.
fn parts_of_time(time: &TimeSpent) -> Vec<(&'static str, f64)> {
    let mut parts = match time.is_divided() {
        true => vec![
            ("pair forces", time.pair),
            ("neighbour lists", time.neighbors),
            ("integration", time.integrate),
        ],
        false => vec![("steps", time.total - time.output - time.analysis)],
    };
    parts.push(("output", time.output));
    if time.analysis > 0.0 {
        parts.push(("analysis", time.analysis));
    }
    // Other forces, variables, and what is done between steps.
    let other = time.total - parts.iter().map(|(_, seconds)| seconds).sum::<f64>();
    if other >= 0.005 * time.total {
        parts.push(("other", other));
    }
    parts
}

/// A value with its error, to the first two digits of the error: `-6.1235 ± 0.0012`.
pub fn with_error(mean: f64, error: f64) -> String {
    if error == 0.0 && mean.is_finite() {
        return format!("{} ± 0", rounded(mean));
    }
    if !(error > 0.0 && error.is_finite() && mean.is_finite()) {
        return format!("{mean} ± {error}");
    }
    let decade = |x: f64| if x == 0.0 { 0 } else { x.abs().log10().floor() as i32 };
    if error < 1e-9 * mean.abs() {
        // The quantity is constant but for rounding.
        return format!("{mean:.0$}", (8 - decade(mean)).clamp(0, 15) as usize);
    }
    // A common power of ten where plain digits would be many.
    let power = match decade(mean).max(decade(error)) {
        -4..7 => 0,
        power => power,
    };
    let scale = 10f64.powi(power);
    let decimals = (1 - decade(error) + power).clamp(0, 15) as usize;
    let (mean, error) = (mean / scale, error / scale);
    match power {
        0 => format!("{mean:.decimals$} ± {error:.decimals$}"),
        _ => format!("({mean:.decimals$} ± {error:.decimals$})e{power}"),
    }
}

/// A number to nine digits, without zeros at its end.
pub fn rounded(x: f64) -> String {
    format!("{x:.8e}").parse().unwrap_or(x).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Work of no kind of its own, such as that of variables, is a part, too.
    #[test]
    fn parts_of_the_time_add_up() {
        let divided =
            TimeSpent { total: 10.0, pair: 2.0, neighbors: 0.5, integrate: 0.5, output: 0.25, analysis: 0.0 };
        for time in [divided, TimeSpent { pair: 0.0, neighbors: 0.0, integrate: 0.0, ..divided }] {
            let parts = parts_of_time(&time);
            assert!(
                (parts.iter().map(|(_, seconds)| seconds).sum::<f64>() - 10.0).abs() < 1e-12,
                "{parts:?}"
            );
        }
        assert_eq!(parts_of_time(&divided).last(), Some(&("other", 6.75)));
    }

    #[test]
    fn digits_end_where_the_error_begins() {
        assert_eq!(with_error(-6.123456, 0.00123), "-6.1235 ± 0.0012");
        assert_eq!(with_error(94.4321, 0.5), "94.43 ± 0.50");
        assert_eq!(with_error(1.0, 0.0), "1 ± 0");
        assert_eq!(with_error(1.0552500000000002, 0.0), "1.05525 ± 0");
        assert_eq!(with_error(-878.79, 870.4), "-879 ± 870");
        assert_eq!(with_error(0.000113, 0.92e-6), "0.00011300 ± 0.00000092");
        assert_eq!(with_error(2.5e-9, 3.1e-8), "(0.2 ± 3.1)e-8");
        assert_eq!(with_error(1.23456e9, 2.34e6), "(1.2346 ± 0.0023)e9");
        assert_eq!(with_error(1.199999999999989, 5e-15), "1.20000000");
        assert_eq!(with_error(f64::NAN, 1.0), "NaN ± 1");
    }
}
