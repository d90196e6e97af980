//! What somebody should know before believing a run.

use crate::run::{Run, StageRows};
use jostle_analysis::Blocks;
use jostle_engine::StageReport;
use jostle_engine::averages::Confidence;
use jostle_engine::report::TemperatureChange;

/// A drift of so much of the kinetic energy over a stage is worth a word.
const DRIFT: f64 = 5e-3;
/// Halves of a stage that are so many errors apart are not the same state: of 10,000 sound ones,
/// one would be.
const APART: f64 = 4.0;
/// With fewer rows halves are not compared.
const ROWS: usize = 40;

/// All warnings about a run.
pub(crate) fn warnings(run: &Run) -> Vec<String> {
    let mut found = Vec::new();
    match run.summary["status"].as_str() {
        Some("finished") | None => {}
        Some("paused") => found.push("the run is paused: jostle view or jostle control make it go on".into()),
        Some("running") => found.push("the run goes on, or was stopped without notice".into()),
        Some(status) => found.push(format!("the run did not end: {status}")),
    }
    let unit = run.thermo.as_ref().and_then(|t| Some(t.quantities[t.quantity("temperature")?].1.clone()));
    let unit = unit.unwrap_or_default();
    for stage in &run.stages {
        let departs = |c: &TemperatureChange| {
            format!("stage \"{}\" is not what its input says: {}", stage.name, c.describe(&unit))
        };
        found.extend(stage.changes.iter().map(departs));
        found.extend(drift(stage));
        found.extend(few_samples(stage));
    }
    found.extend(run.thermo.iter().flat_map(|t| {
        let names = ["temperature", "potential", "pressure", "density"];
        // Earlier stages are there to change.
        t.stages
            .last()
            .into_iter()
            .flat_map(move |s| names.into_iter().filter_map(move |name| changing(s, name, t.quantity(name)?)))
    }));
    for finding in run.findings.iter().filter(|f| (1..10).contains(&f.record.frames)) {
        found.push(format!("{} is from {} frames only", finding.base, finding.record.frames));
    }
    found
}

fn drift(stage: &StageReport) -> Option<String> {
    let drift = stage.drift?;
    let slope = drift.per_time;
    (drift.of_kinetic.abs() > DRIFT && slope.slope.abs() > 3.0 * slope.error).then(|| {
        format!(
            "stage \"{}\": the conserved quantity drifted by {:.1} % of the kinetic energy; a shorter time step helps",
            stage.name,
            100.0 * drift.of_kinetic
        )
    })
}

fn few_samples(stage: &StageReport) -> Option<String> {
    let poor = |a: &&jostle_engine::report::Average| {
        a.estimate.is_some_and(|e| e.confidence == Confidence::Poor && e.error > 1e-9 * e.mean.abs())
    };
    let shown = ["temperature", "potential", "pressure", "density"];
    let names: Vec<&str> = stage.averages.iter().filter(poor).map(|a| a.quantity.as_str()).collect();
    let names: Vec<&str> = names.into_iter().filter(|name| shown.contains(name)).collect();
    (!names.is_empty()).then(|| {
        format!(
            "stage \"{}\": too few independent rows for the errors of {} to be more than rough",
            stage.name,
            names.join(", ")
        )
    })
}

/// Compares the halves of a stage.
fn changing(stage: &StageRows, name: &str, quantity: usize) -> Option<String> {
    let values: Vec<f64> = stage.values[quantity].iter().copied().filter(|v| v.is_finite()).collect();
    if values.len() < ROWS {
        return None;
    }
    let mean = |half: &[f64]| {
        let mut blocks = Blocks::new(1);
        half.iter().for_each(|v| blocks.add_frame(&[*v]));
        blocks.derive(|m| m.to_vec()).first().copied()
    };
    let (first, second) = values.split_at(values.len() / 2);
    let ((a, ea), (b, eb)) = (mean(first)?, mean(second)?);
    let error = ea?.hypot(eb?);
    (error > 1e-9 * a.abs() && (a - b).abs() > APART * error).then(|| {
        format!(
            "stage \"{}\": not in equilibrium, it seems: the mean {name} was {a:.6} in its first half and {b:.6} in its second, {:.0} standard errors apart",
            stage.name,
            (a - b).abs() / error
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_seen_and_noise_is_not() {
        let rows = |value: &dyn Fn(usize) -> f64| {
            let values = vec![(0..400).map(value).collect()];
            StageRows { name: "s".into(), time: (0..400).map(|k| k as f64).collect(), values }
        };
        let noise = |k: usize| {
            jostle_core::random::Stream::new(k as u64, jostle_core::random::Purpose::Thermostat, 0, 0)
                .normal()
        };
        assert_eq!(changing(&rows(&noise), "pressure", 0), None);
        let step = |k: usize| noise(k) + if k < 150 { 2.0 } else { 0.0 };
        assert!(changing(&rows(&step), "pressure", 0).is_some_and(|w| w.contains("pressure")));
    }
}
