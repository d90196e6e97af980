//! Warnings about a run: those that the run itself gives, by the rules of
//! [`jostle_engine::warnings`], and those that follow from its folder.

use crate::run::{RunFiles, StageRows};
use jostle_engine::report::TemperatureChange;
use jostle_engine::warnings::not_settled;

/// All warnings about a run.
pub(crate) fn warnings(run: &RunFiles) -> Vec<String> {
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
        found.extend(stage.warnings.iter().map(|warning| warning.message.clone()));
    }
    found.extend(unfinished(run));
    for finding in run.findings.iter().filter(|f| (1..10).contains(&f.record.frames)) {
        found.push(format!("{} is from {} frames only", finding.base, finding.record.frames));
    }
    for finding in &run.findings {
        let warnings = finding.record.results.warnings.iter();
        found.extend(warnings.map(|warning| format!("{}: {warning}", finding.base.replace('.', ": "))));
    }
    found
}

/// Warnings from the rows of a stage under way, which has no report yet.
fn unfinished(run: &RunFiles) -> Vec<String> {
    let Some(thermo) = &run.thermo else { return Vec::new() };
    let Some(stage) = thermo.stages.last().filter(|s| run.stages.iter().all(|r| r.name != s.name)) else {
        return Vec::new();
    };
    let halves = |name: &str| changing(stage, name, thermo.quantity(name)?);
    ["temperature", "potential", "pressure", "density"].into_iter().filter_map(halves).collect()
}

/// Compares the halves of a stage.
fn changing(stage: &StageRows, name: &str, quantity: usize) -> Option<String> {
    let values: Vec<f64> = stage.values[quantity].iter().copied().filter(|v| v.is_finite()).collect();
    not_settled(&stage.name, name, &values).map(|warning| warning.message)
}
