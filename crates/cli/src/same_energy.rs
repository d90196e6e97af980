//! Refusal of runs that are put together although their energies or their ensembles differ: samples of one would say
//! nothing about the others.

use jostle_analysis::{ResultWarning, Verdict};
use jostle_core::{Error, Result, SimBox};
use jostle_engine::{CHECKPOINT, Checkpoint};
use jostle_io::Input;
use std::path::Path;

/// A run, and the stage that its samples are of.
pub struct Sampled<'a> {
    pub path: &'a Path,
    pub input: &'a Input,
    /// Number of the stage.
    pub stage: usize,
}

/// Returns true for keys of an input that change neither the energy of a configuration nor the ensemble of a stage, or that
/// name files whose contents are compared.
fn changes_nothing(path: &[&str]) -> bool {
    matches!(
        path,
        ["title" | "run" | "interaction"]
            // Beginnings: velocities, positions, random numbers.
            | ["system", "seed" | "temperature" | "velocities" | "coordinates" | "file" | "min_distance"]
            | ["system", "topology" | "parameters" | "include"]
            | ["molecule", _, "topology" | "parameters" | "include" | "coordinates"]
            | ["group", _, "report"]
            // Temperatures are compared with the samples.
            | ["stage", "name" | "steps" | "until" | "timestep" | "thermostat" | "long_range_every"]
            | ["stage", "thermo" | "trajectory" | "measure" | "checkpoint"]
            | ["alchemy", "window" | "sample_every" | "stages"]
    )
}

/// Refuses runs whose energies or ensembles are not those of the first, biases that `is_window` names aside. Boxes that
/// keep another size give a warning: those that a barostat has left differ by chance.
///
/// # Errors
/// If a run differs: the error names the first key that does, with both values.
pub fn refuse_different(
    runs: &[Sampled],
    is_window: impl Fn(&str) -> bool,
    about: &str,
) -> Result<Option<ResultWarning>> {
    let Some((first, others)) = runs.split_first() else { return Ok(None) };
    let of_first = checkpoint(first)?;
    let mut resized = None;
    for other in others {
        let here = |message: String| {
            Error::file(other.path, message).hint(
                "runs that are put together have the same forces, atoms, box and ensemble, and differ in their window alone",
            )
        };
        let both_have = |name: &str| {
            let has = |run: &Sampled| run.input.variables.iter().any(|v| v.value.name.value == name);
            has(first) && has(other)
        };
        let may_differ = |path: &[&str]| match path {
            ["bias", name, ..] => is_window(name),
            // A variable of one run alone is of no bias that acts on both.
            ["variable", name] => !both_have(name),
            _ => changes_nothing(path),
        };
        if let Some(found) = other.input.difference(first.input, [other.stage, first.stage], may_differ)? {
            let [own, theirs] = found.values.map(|value| value.unwrap_or("not given".into()));
            let message = format!("{} is {own} here, and {theirs} in {}", found.key, first.path.display());
            return Err(here(message));
        }
        if let (Some(own), Some(theirs)) = (checkpoint(other)?, &of_first) {
            if let Some(found) = own.difference(theirs).map_err(|e| e.in_file(other.path))? {
                return Err(here(format!("{found}: here and in {}", first.path.display())));
            }
            if keeps_box(other) && !is_same_box(&own.simbox()?, &theirs.simbox()?) {
                resized.get_or_insert_with(|| other.path.display().to_string());
            }
        }
    }
    Ok(resized.map(|path| ResultWarning {
        verdict: Verdict::Doubtful,
        about: about.into(),
        reason: format!("{path} and {} have boxes of other sizes, which they keep", first.path.display()),
        remedy: "begin all runs in one box, or let a barostat hold their pressure".into(),
    }))
}

/// Last checkpoint of a run; `None` without one.
fn checkpoint(run: &Sampled) -> Result<Option<Checkpoint>> {
    let path = run.path.join(CHECKPOINT);
    path.is_file().then(|| Checkpoint::read(&path)).transpose()
}

/// Returns true where nothing changes the box of a stage.
fn keeps_box(run: &Sampled) -> bool {
    let stage = &run.input.stages[run.stage].value;
    stage.barostat.is_none() && stage.deformation.is_none()
}

/// Returns true for boxes with the same periodic edges.
fn is_same_box(a: &SimBox, b: &SimBox) -> bool {
    let [length, other] = [a.lengths(), b.lengths()];
    let periodic = a.periodic();
    (0..3).all(|k| !periodic[k] || (length[k] - other[k]).abs() <= 1e-6 * length[k])
        && (0..3).all(|k| (a.tilts()[k] - b.tilts()[k]).abs() <= 1e-6 * length[0])
}
