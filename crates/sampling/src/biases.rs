//! All biases of a run together: values of the variables, energies, forces, state.

use crate::bias::{Bias, BiasVariable, ColumnQuantity, Metadynamics, Moment, from_bytes, to_bytes};
use crate::frame::TermEnergies;
use crate::variables::{AtomForces, Variables, VariablesStart, either};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, SimBox, UnitSystem, Vec3};
use serde::{Deserialize, Serialize};

/// A bias with its name and the stages in which it acts.
pub struct NamedBias {
    /// Name.
    pub name: String,
    /// Names of the stages in which it acts; empty: all stages of dynamics.
    pub stages: Vec<String>,
    /// The bias.
    pub bias: Box<dyn Bias>,
}

/// Course of a stage, as biases need it.
#[derive(Debug, Clone, PartialEq)]
pub struct StageCourse {
    /// Name.
    pub name: String,
    /// Steps before it, over all stages.
    pub first_step: u64,
    /// Simulated time at its beginning.
    pub start_time: f64,
    /// Length of a step; `None`: energy is minimised.
    pub timestep: Option<f64>,
}

/// All variables and biases of a run.
pub struct Biases {
    pub(crate) variables: Variables,
    pub(crate) all: Vec<NamedBias>,
    units: UnitSystem,
    pub(crate) seed: u64,
    /// Names and steps of dynamics of all stages.
    stages: Vec<(String, u64)>,
    pub(crate) course: StageCourse,
    pub(crate) values: Vec<f64>,
    pub(crate) energies: Vec<f64>,
    /// True until the first evaluation of a stage that has just begun.
    pub(crate) fresh: bool,
}

/// State of all biases in a checkpoint.
#[derive(Serialize, Deserialize)]
struct SavedBiases {
    start: VariablesStart,
    names: Vec<String>,
    states: Vec<Vec<u8>>,
}

/// A column of `thermo.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct BiasColumn {
    /// Name.
    pub name: String,
    /// Unit; empty in reduced units.
    pub unit: String,
    /// Period of a quantity on a circle; `None` for others.
    pub period: Option<f64>,
    /// Dependence on the configuration.
    pub follows: Follows,
}

/// Dependence of a column on the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Follows {
    /// Value of the configuration alone: a variable, or the energy of a bias.
    Configuration,
    /// State of a bias: its work, or where its centre is.
    Course,
}

impl Biases {
    /// Biases on some variables; `stages` are names and steps of dynamics of all stages of the run.
    pub fn new(
        variables: Variables,
        all: Vec<NamedBias>,
        units: UnitSystem,
        seed: u64,
        stages: Vec<(String, u64)>,
    ) -> Self {
        let course = StageCourse { name: String::new(), first_step: 0, start_time: 0.0, timestep: None };
        let energies = vec![0.0; all.len()];
        Biases { variables, all, units, seed, stages, course, values: Vec::new(), energies, fresh: true }
    }

    /// The variables.
    pub fn variables(&self) -> &Variables {
        &self.variables
    }

    /// A variable, for a bias on it.
    pub fn variable_of_bias(variables: &Variables, number: usize) -> BiasVariable {
        BiasVariable { number, name: variables.name(number).to_string(), period: variables.period(number) }
    }

    /// Axes along which biases change the total momentum of the atoms: those that act in the stage under way, or all
    /// before the first one.
    pub fn axes_of_places(&self) -> [bool; 3] {
        let begun = self.course.timestep.is_some();
        let acting = self.all.iter().filter(|named| !begun || self.acts(named));
        let variables = acting.flat_map(|named| named.bias.variables());
        let axes = variables.map(|variable| self.variables.axes_of_places(variable.number));
        axes.fold([false; 3], either)
    }

    /// Takes note of the stage under way; `fresh` where it begins, and is not continued.
    pub fn begin_stage(&mut self, course: StageCourse, fresh: bool) {
        self.course = course;
        self.fresh = fresh;
    }

    /// Returns true where there is any bias, and not variables alone.
    pub fn have_any(&self) -> bool {
        !self.all.is_empty()
    }

    /// Returns true where any bias acts in the stage under way.
    pub fn act(&self) -> bool {
        self.all.iter().any(|named| self.acts(named))
    }

    /// Returns true where a bias acts in the stage under way.
    pub(crate) fn acts(&self, named: &NamedBias) -> bool {
        self.course.timestep.is_some()
            && (named.stages.is_empty() || named.stages.contains(&self.course.name))
    }

    /// Steps of the stages in which a bias acts: before the stage under way, and in all.
    pub(crate) fn span(&self, named: &NamedBias) -> [u64; 2] {
        let acting = |name: &str| named.stages.is_empty() || named.stages.iter().any(|stage| stage == name);
        let (mut before, mut total, mut passed) = (0, 0, false);
        for (name, steps) in self.stages.iter().filter(|(name, _)| acting(name)) {
            passed |= *name == self.course.name;
            before += if passed { 0 } else { *steps };
            total += steps;
        }
        [before, total]
    }

    /// The moment of a step for a bias.
    fn moment(&self, named: &NamedBias, step: u64, time: f64) -> Moment {
        let [before, total] = self.span(named);
        let done = before + step.saturating_sub(self.course.first_step);
        Moment {
            step,
            time,
            timestep: self.course.timestep.unwrap_or_default(),
            progress: if total > 0 { (done as f64 / total as f64).min(1.0) } else { 0.0 },
            seed: self.seed,
        }
    }

    /// Returns true where a bias acts on the potential energy of the forces of the run, so that it scales them.
    pub fn scale_forces(&self) -> bool {
        let variables = self.all.iter().flat_map(|named| named.bias.variables());
        variables.into_iter().any(|variable| self.variables.follows_from_energies(variable.number))
    }

    /// Energy and forces at unwrapped positions of the atoms of the variables, and with energies of the forces there
    /// where a variable is made of them.
    ///
    /// # Errors
    /// If a variable or a bias is not defined there.
    pub fn evaluate(
        &mut self,
        simbox: &SimBox,
        (unwrapped, energies): (&[Vec3], Option<&TermEnergies>),
        (step, time): (u64, f64),
    ) -> Result<(f64, AtomForces)> {
        let moments: Vec<Option<Moment>> =
            self.all.iter().map(|named| self.acts(named).then(|| self.moment(named, step, time))).collect();
        let evaluated = self.variables.evaluate_with(simbox, unwrapped, energies)?;
        let values = evaluated.values();
        let mut slopes = vec![0.0; values.len()];
        for ((named, moment), energy) in self.all.iter_mut().zip(&moments).zip(&mut self.energies) {
            *energy = 0.0;
            let Some(now) = moment else { continue };
            let here = |e: Error| e.context(format!("bias '{}'", named.name));
            let numbers: Vec<usize> = named.bias.variables().iter().map(|v| v.number).collect();
            let own: Vec<f64> = numbers.iter().map(|k| values[*k]).collect();
            numbers.iter().try_for_each(|k| evaluated.check_turns(*k)).map_err(here)?;
            if self.fresh {
                named.bias.begin(&own, now).map_err(here)?;
            }
            let mut slope = vec![0.0; own.len()];
            *energy = named.bias.evaluate(&own, now, &mut slope).map_err(here)?;
            numbers.iter().zip(slope).for_each(|(k, slope)| slopes[*k] += slope);
        }
        self.fresh = false;
        let forces = evaluated.forces(&slopes);
        self.values = values.to_vec();
        Ok((self.energies.iter().sum(), forces))
    }

    /// Takes note of the end of a step at these positions, with energies as [`Biases::evaluate`] has them.
    ///
    /// # Errors
    /// As [`Biases::evaluate`].
    pub fn end_step(
        &mut self,
        simbox: &SimBox,
        (unwrapped, energies): (&[Vec3], Option<&TermEnergies>),
        (step, time): (u64, f64),
    ) -> Result<()> {
        self.values = self.variables.evaluate_with(simbox, unwrapped, energies)?.values().to_vec();
        for k in 0..self.all.len() {
            if !self.acts(&self.all[k]) {
                continue;
            }
            let now = self.moment(&self.all[k], step, time);
            let named = &mut self.all[k];
            let own: Vec<f64> = named.bias.variables().iter().map(|v| self.values[v.number]).collect();
            named.bias.end_step(&own, &now).map_err(|e| e.context(format!("bias '{}'", named.name)))?;
        }
        Ok(())
    }

    /// Refuses the last values where one that a bias acts on is about to jump, for devices that evaluate biases.
    ///
    /// # Errors
    /// If one is.
    pub fn check_values(&self, simbox: &SimBox) -> Result<()> {
        for named in self.all.iter().filter(|named| self.acts(named)) {
            let mut variables = named.bias.variables().iter();
            variables
                .try_for_each(|variable| self.variables.check_reaches(simbox, variable.number, &self.values))
                .map_err(|e| e.context(format!("bias '{}'", named.name)))?;
        }
        Ok(())
    }

    /// The metadynamics of a name.
    pub fn metadynamics(&mut self, name: &str) -> Option<&mut Metadynamics> {
        self.all.iter_mut().find(|named| named.name == name)?.bias.metadynamics()
    }

    /// Energy that biases have put into the system by changing.
    pub fn work(&self) -> f64 {
        self.all.iter().map(|named| named.bias.work()).sum()
    }

    /// Columns of `thermo.csv`: the variables, the energy of each of several biases, and their own.
    pub fn columns(&self) -> Vec<BiasColumn> {
        let variable = |k: usize, name: String| BiasColumn {
            name,
            unit: self.variables.unit(k, self.units),
            period: self.variables.period(k),
            follows: Follows::Configuration,
        };
        let number = |name: String, unit: String| BiasColumn {
            name,
            unit,
            period: None,
            follows: Follows::Configuration,
        };
        let energy = |name: String| number(name, unit_name(self.units, Dimension::ENERGY));
        let mut columns: Vec<BiasColumn> =
            (0..self.variables.len()).map(|k| variable(k, self.variables.name(k).to_string())).collect();
        for named in &self.all {
            columns.push(energy(format!("bias_{}", named.name)));
            let first = named.bias.variables().first().map(|v| v.number);
            columns.extend(named.bias.columns().into_iter().map(|column| {
                let name = format!("{}_{}", named.name, column.name);
                let like = match (column.quantity, first) {
                    (ColumnQuantity::Variable, Some(first)) => variable(first, name),
                    (ColumnQuantity::Variable, None) => number(name, String::new()),
                    (ColumnQuantity::Energy, _) => energy(name),
                };
                BiasColumn { follows: Follows::Course, ..like }
            }));
        }
        columns
    }

    /// Values of the columns at the last evaluation.
    pub fn column_values(&self) -> Vec<Option<f64>> {
        let variables = (0..self.variables.len()).map(|k| self.values.get(k).copied());
        let of_bias = self.all.iter().zip(&self.energies).flat_map(|(named, energy)| {
            let own = named.bias.columns().into_iter().map(|column| column.value);
            std::iter::once(*energy).chain(own).map(Some)
        });
        variables.chain(of_bias).collect()
    }

    /// State for a checkpoint.
    ///
    /// # Errors
    /// If a bias cannot be written.
    pub fn save(&self) -> Result<Vec<u8>> {
        to_bytes(&SavedBiases {
            start: self.variables.start(),
            names: self.all.iter().map(|named| named.name.clone()).collect(),
            states: self.all.iter().map(|named| named.bias.save()).collect::<Result<_>>()?,
        })
    }

    /// Restores it.
    ///
    /// # Errors
    /// If it is that of other variables or biases.
    pub fn restore(&mut self, saved: &[u8]) -> Result<()> {
        let SavedBiases { start, names, states } = from_bytes(saved)?;
        if !self.all.iter().map(|named| &named.name).eq(&names) {
            return Err(Error::input(format!("the checkpoint has the biases {}", names.join(", ")))
                .hint("begin a new run with this input"));
        }
        self.variables.restore(start)?;
        self.all.iter_mut().zip(&states).try_for_each(|(named, state)| named.bias.restore(state))
    }

    /// Files for others to read: names and texts.
    pub fn files(&self) -> Vec<(String, String)> {
        let of = |named: &NamedBias| {
            let base = named.name.clone();
            named.bias.files().into_iter().map(move |(name, text)| (format!("{base}.{name}"), text))
        };
        self.all.iter().flat_map(of).collect()
    }
}
