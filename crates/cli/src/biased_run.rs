//! Runs with biases, and the stage of each that an analysis is of.

use crate::same_energy::Sampled;
use jostle_core::quantity::parse_quantity;
use jostle_core::{Dimension, Error, Result};
use jostle_engine::INPUT;
use jostle_io::Input;
use jostle_io::input::model::{Action, BiasAction, BiasInput, StageInput};
use jostle_show::{RunFiles, StageRows};
use std::path::{Path, PathBuf};

/// A run, and one stage of it.
pub struct BiasedRun {
    pub input: Input,
    pub files: RunFiles,
    pub path: PathBuf,
    /// Number of the stage.
    pub stage: usize,
}

/// Returns true for harmonic biases whose centre or stiffness changes.
pub fn moves(bias: &BiasInput) -> bool {
    match bias.action {
        BiasAction::Harmonic { center, stiffness } => center[0] != center[1] || stiffness[0] != stiffness[1],
        _ => false,
    }
}

/// Returns true for biases that a profile is made with.
fn gives_profile(bias: &BiasInput) -> bool {
    match bias.action {
        BiasAction::Harmonic { .. }
        | BiasAction::Metadynamics(..)
        | BiasAction::Opes(_)
        | BiasAction::Abf(_) => true,
        BiasAction::Linear { .. }
        | BiasAction::Torque { .. }
        | BiasAction::Wall { .. }
        | BiasAction::Formula(_) => false,
    }
}

/// Biases of an input that act in a stage.
pub fn acting<'a>(input: &'a Input, stage: &'a StageInput) -> impl Iterator<Item = &'a BiasInput> {
    input.biases.iter().map(|bias| &bias.value).filter(|bias| bias.acts_in(stage))
}

/// Number of the stage of a name or, without one, of the last in which a bias gives a profile, else of the last with time
/// steps.
///
/// # Errors
/// If there is no such stage.
pub fn stage_number(input: &Input, path: &Path, name: Option<&str>) -> Result<usize> {
    let is_dynamic = |stage: &StageInput| matches!(stage.action, Action::Dynamics { .. });
    let last =
        |wanted: &dyn Fn(&StageInput) -> bool| input.stages.iter().rposition(|stage| wanted(&stage.value));
    let found = match name {
        Some(name) => input.stages.iter().position(|stage| stage.value.name == name),
        None => last(&|stage| acting(input, stage).any(gives_profile)).or_else(|| last(&is_dynamic)),
    };
    found.ok_or_else(|| {
        let names: Vec<&str> = input.stages.iter().map(|stage| stage.value.name.as_str()).collect();
        let message = match name {
            Some(name) => format!("this run has no stage '{name}'"),
            None => "this run has no stage of time steps".into(),
        };
        Error::file(path, message).hint(format!("its stages are: {}", names.join(", ")))
    })
}

impl BiasedRun {
    /// Reads the folder of a run; for the stage see [`stage_number`].
    ///
    /// # Errors
    /// If it is none, or there is no such stage.
    pub fn read(path: &Path, stage: Option<&str>) -> Result<Self> {
        let input = Input::read(&path.join(INPUT))?;
        let stage = stage_number(&input, path, stage)?;
        Ok(BiasedRun { files: RunFiles::read(path)?, input, path: path.to_path_buf(), stage })
    }

    /// The stage.
    pub fn stage(&self) -> &StageInput {
        &self.input.stages[self.stage].value
    }

    /// The run and its stage, for a comparison.
    pub fn sampled(&self) -> Sampled<'_> {
        Sampled { path: &self.path, input: &self.input, stage: self.stage }
    }

    /// Biases that act in the stage.
    pub fn biases(&self) -> impl Iterator<Item = &BiasInput> {
        acting(&self.input, self.stage())
    }

    /// Name and period of the variable of a bias on one.
    pub fn variable(&self, bias: &BiasInput) -> (&str, Option<f64>) {
        let variable = &self.input.variables[bias.variables[0]].value;
        (&variable.name.value, variable.kind.period())
    }

    /// Rows of the stage.
    ///
    /// # Errors
    /// If there are none.
    pub fn rows(&self) -> Result<&StageRows> {
        let stages = self.files.thermo.as_ref().map_or(&[][..], |thermo| &thermo.stages);
        stages.iter().find(|rows| rows.name == self.stage().name).ok_or_else(|| {
            let names: Vec<&str> = stages.iter().map(|rows| rows.name.as_str()).collect();
            Error::file(&self.path, format!("thermo.csv has no rows of a stage '{}'", self.stage().name))
                .hint(format!("with rows there are: {}", names.join(", ")))
        })
    }

    /// Values of a column in the rows of the stage.
    ///
    /// # Errors
    /// If there are none.
    pub fn column(&self, name: &str) -> Result<&[f64]> {
        let missing = || Error::file(&self.path, format!("thermo.csv has no column {name}"));
        let quantity = self.files.thermo.as_ref().and_then(|thermo| thermo.quantity(name));
        Ok(&self.rows()?.values[quantity.ok_or_else(missing)?])
    }

    /// Temperature that a thermostat holds in the stage; `None` without one.
    fn temperature(&self) -> Result<Option<f64>> {
        match self.stage().temperatures() {
            Some([first, last]) if first != last => {
                let name = &self.stage().name;
                let message = format!("the temperature of stage '{name}' goes from {first} to {last}");
                Err(Error::file(&self.path, message).hint(
                    "a profile is one of a single temperature: choose a stage that has one with --stage",
                ))
            }
            temperatures => Ok(temperatures.map(|[first, _]| first)),
        }
    }
}

/// k_B T of runs: of their thermostats or, without these, of a setting.
///
/// # Errors
/// If it is not that of all of them, or not known.
pub fn thermal_energy(runs: &[BiasedRun], given: Option<&str>) -> Result<f64> {
    let units = runs[0].input.units;
    let given = match given.map(|text| (text, text.parse::<f64>())) {
        Some((_, Ok(number))) => Some(number),
        Some((text, Err(_))) => Some(parse_quantity(text, &[Dimension::TEMPERATURE], units)?.0),
        None => None,
    };
    if let Some(temperature) = given.filter(|x| !(*x > 0.0 && x.is_finite())) {
        return Err(Error::input(format!("a temperature of {temperature}")));
    }
    let is_close = |a: f64, b: f64| (a - b).abs() <= 1e-6 * a.abs();
    let mut known: Option<(f64, &BiasedRun)> = None;
    for run in runs {
        let name = &run.stage().name;
        let Some(temperature) = run.temperature()? else {
            if given.is_none() {
                return Err(Error::file(
                    &run.path,
                    format!("no thermostat holds the temperature of stage '{name}'"),
                )
                .hint("give temperature=..., or choose another stage with --stage"));
            }
            continue;
        };
        if let Some(given) = given.filter(|given| !is_close(*given, temperature)) {
            let message = format!("temperature = {given}, but stage '{name}' is at {temperature}");
            return Err(Error::file(&run.path, message)
                .hint("leave temperature=... out: it is for runs without a thermostat"));
        }
        match known {
            Some((first, other)) if !is_close(first, temperature) => {
                let message = format!(
                    "stage '{name}' is at {temperature}, and that of {} at {first}",
                    other.path.display()
                );
                return Err(Error::file(&run.path, message).hint("all runs have one temperature"));
            }
            _ => known = known.or(Some((temperature, run))),
        }
    }
    let temperature = known.map(|(temperature, _)| temperature).or(given).unwrap_or(f64::NAN);
    Ok(units.boltzmann() * temperature)
}
