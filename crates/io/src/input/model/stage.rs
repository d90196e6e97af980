//! Stages of a run.

use super::*;

pub use jostle_core::thermostat::{ThermostatInput, ThermostatKind};

/// `[[stage]]`
#[derive(Debug, Clone)]
pub struct StageInput {
    /// Name of the stage, unique in the file.
    pub name: String,
    /// Action of the stage.
    pub action: Action,
    /// `until = "density settled"`: the stage ends at the row of thermo.csv at which all of this holds, after the
    /// steps of its action at the latest.
    pub until: Option<Located<Until>>,
    /// `thermo = { every = 100 }`: rows of thermo.csv. 0: none.
    pub thermo_every: u64,
    /// `thermo = { every = 1000, sample_every = 10 }`: rows are means of samples at this interval; `None`: they are of
    /// their step alone.
    pub sample_every: Option<u64>,
    /// `barostat = { kind = "monte-carlo", pressure = "1 atm" }`: the box changes its volume.
    pub barostat: Option<Barostat>,
    /// `thermostat = { temperature = [10, 300], ... }`: the temperature at the end of the stage, towards which
    /// that of the thermostat changes linearly; `None`: it stays.
    pub final_temperature: Option<f64>,
    /// `restraints = { backbone = [1000, 100] }`: the stiffness of each restraint of the system, in their order,
    /// at the beginning and at the end of the stage, between which it changes linearly. `None`: as they are
    /// defined.
    pub restraints: Option<Vec<[f64; 2]>>,
    /// `long_range_every = 2`: long-range forces act at every n-th step, n times as strongly; 1:
    /// always.
    pub long_range_every: u64,
    /// `deform = { kind = "shear", plane = "xy", rate = 1e-4 }`: the box changes its shape.
    pub deformation: Option<Deformation>,
    /// `heat_flux = { axis = "z", every = 100 }`: heat is driven through the box.
    pub heat_flux: Option<HeatFluxInput>,
    /// `trajectory = { every = 500, format = "xtc" }`
    pub trajectory: Option<TrajectoryInput>,
    /// `measure = [{ kind = "rdf", every = 50 }]`: analyses while the stage runs.
    pub measures: Vec<Located<MeasureInput>>,
    /// `checkpoint = { every = 10_000 }`; 0: only at the end of the stage. (One is also written
    /// about every ten minutes of wall time and when the run is interrupted.)
    pub checkpoint_every: u64,
}

/// Conditions, all of which must hold at a row of `thermo.csv`.
#[derive(Debug, Clone, PartialEq)]
pub struct Until {
    /// The conditions.
    pub conditions: Vec<Condition>,
}

/// Condition on a quantity of `thermo.csv`, in the unit that it has there.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// Name of the column, without its unit.
    pub quantity: String,
    /// The test.
    pub test: Test,
}

/// Test of a quantity.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Test {
    /// A value smaller than this one.
    Below(f64),
    /// A value greater than this one.
    Above(f64),
    /// An average that does not change any more, see [`jostle_analysis::series::is_settled`].
    Settled,
}

impl std::fmt::Display for Until {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        for (k, Condition { quantity, test }) in self.conditions.iter().enumerate() {
            let joint = if k > 0 { " and " } else { "" };
            match test {
                Test::Below(value) => write!(f, "{joint}{quantity} < {value}")?,
                Test::Above(value) => write!(f, "{joint}{quantity} > {value}")?,
                Test::Settled => write!(f, "{joint}{quantity} settled")?,
            }
        }
        Ok(())
    }
}

impl StageInput {
    /// A stage of time steps at constant energy that writes nothing but a checkpoint at its end.
    pub fn dynamics(name: impl Into<String>, steps: u64, timestep: f64) -> Self {
        Self::quiet(name, Action::Dynamics { steps, timestep, thermostat: None })
    }

    /// A minimisation of at most `steps` iterations that writes nothing but a checkpoint at its
    /// end.
    pub fn minimize(name: impl Into<String>, steps: u64, force_tolerance: f64, timestep: f64) -> Self {
        let minimizer = Minimizer::default();
        Self::quiet(name, Action::Minimize { steps, force_tolerance, timestep, minimizer })
    }

    /// The minimisation with another minimiser; dynamics has none and stays as it is.
    pub fn minimizer(mut self, chosen: Minimizer) -> Self {
        if let Action::Minimize { minimizer, .. } = &mut self.action {
            *minimizer = chosen;
        }
        self
    }

    fn quiet(name: impl Into<String>, action: Action) -> Self {
        StageInput {
            name: name.into(),
            action,
            until: None,
            thermo_every: 0,
            sample_every: None,
            barostat: None,
            final_temperature: None,
            restraints: None,
            long_range_every: 1,
            deformation: None,
            heat_flux: None,
            trajectory: None,
            measures: Vec::new(),
            checkpoint_every: 0,
        }
    }

    /// The stage with a thermostat; a minimisation has none and stays as it is.
    pub fn thermostat(mut self, chosen: ThermostatInput) -> Self {
        if let Action::Dynamics { thermostat, .. } = &mut self.action {
            *thermostat = Some(chosen);
        }
        self
    }

    /// The stage with a thermostat whose temperature changes linearly to this one.
    pub fn ramp_temperature(mut self, last: f64) -> Self {
        self.final_temperature = Some(last);
        self
    }

    /// The temperatures that its thermostat holds at the beginning and at the end; `None` without one.
    pub fn temperatures(&self) -> Option<[f64; 2]> {
        let Action::Dynamics { thermostat: Some(thermostat), .. } = &self.action else { return None };
        let first = thermostat.temperature();
        Some([first, self.final_temperature.unwrap_or(first)])
    }

    /// Quantity that changes in the course of the stage, for messages; `None` where none does.
    pub fn ramp(&self) -> Option<&'static str> {
        let stiffens = self.restraints.iter().flatten().any(|[first, last]| first != last);
        let of_restraints = stiffens.then_some("stiffness of restraints");
        self.final_temperature.map(|_| "temperature").or(of_restraints)
    }

    /// Returns true where the restraint with this number acts.
    pub fn restrains(&self, number: usize) -> bool {
        let given = |all: &Vec<[f64; 2]>| all.get(number).is_some_and(|ends| *ends != [0.0; 2]);
        self.restraints.as_ref().is_none_or(given)
    }

    /// The stage with restraints of this stiffness, at its beginning and at its end.
    pub fn restrain(mut self, stiffness: impl Into<Vec<[f64; 2]>>) -> Self {
        self.restraints = Some(stiffness.into());
        self
    }

    /// The stage with a barostat.
    pub fn barostat(mut self, chosen: Barostat) -> Self {
        self.barostat = Some(chosen);
        self
    }

    /// The stage with long-range forces that act at multiples of `every` steps, `every` times as strongly.
    pub fn long_range(mut self, every: u64) -> Self {
        self.long_range_every = every;
        self
    }

    /// The stage with a row of measurements every `every` steps.
    pub fn thermo(mut self, every: u64) -> Self {
        self.thermo_every = every;
        self
    }

    /// Interval of the samples that rows of `thermo.csv` and averages are made of.
    pub fn samples_every(&self) -> u64 {
        self.sample_every.unwrap_or(self.thermo_every)
    }

    /// The stage with a box that changes its shape.
    pub fn deform(mut self, deformation: Deformation) -> Self {
        self.deformation = Some(deformation);
        self
    }

    /// The stage with a heat flux.
    pub fn heat_flux(mut self, chosen: HeatFluxInput) -> Self {
        self.heat_flux = Some(chosen);
        self
    }

    /// The stage with a trajectory.
    pub fn trajectory(mut self, every: u64, format: TrajectoryFormat) -> Self {
        self.trajectory = Some(TrajectoryInput { every, format });
        self
    }

    /// The stage with an analysis every `every` steps.
    pub fn measure(
        mut self,
        every: u64,
        kind: &'static jostle_analysis::Kind,
        settings: jostle_analysis::MeasureSettings,
    ) -> Self {
        self.measures
            .push(Located { value: MeasureInput { every, kind, settings, atoms: None }, span: 0..0 });
        self
    }

    /// The stage with a checkpoint every `every` steps.
    pub fn checkpoint(mut self, every: u64) -> Self {
        self.checkpoint_every = every;
        self
    }
}

/// Action of a stage.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Time steps.
    Dynamics {
        /// Number of steps.
        steps: u64,
        /// Length of a step.
        timestep: f64,
        /// `None`: constant energy.
        thermostat: Option<ThermostatInput>,
    },
    /// `minimize = { ... }`: until the largest force is below `force_tolerance`.
    Minimize {
        /// Largest number of iterations.
        steps: u64,
        /// Largest force on an atom at which it stops.
        force_tolerance: f64,
        /// The first time step of FIRE, which adapts it.
        timestep: f64,
        /// Method.
        minimizer: Minimizer,
    },
}

/// Method of minimization.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Minimizer {
    /// Atoms with inertia that slide downhill.
    #[default]
    Fire,
    /// Quasi-Newton steps.
    Lbfgs,
    /// Conjugate gradients.
    ConjugateGradient,
}

/// A box that changes its shape at constant volume, in small steps; every atom keeps its place
/// relative to the edges when it does.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Deformation {
    /// Mode of the strain.
    pub mode: Strain,
    /// Strain per time.
    pub rate: f64,
    /// Time steps between two changes of the box.
    pub every: u64,
}

/// Heat that is carried from the first slab of a box to the middle one, by exchanges of velocities.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeatFluxInput {
    /// Axis along which the box is cut into slabs.
    pub axis: Axis,
    /// Number of slabs, even.
    pub slabs: usize,
    /// Time steps between two exchanges.
    pub every: u64,
    /// Pairs of atoms that exchange their velocities each time.
    pub swaps: usize,
}

/// Change of the shape of a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strain {
    /// Extension along one axis by the factor 1 + strain, and contraction by the square root of that along the
    /// others.
    Tension(Axis),
    /// Shift along the first axis of the plane in proportion to the position along the second.
    Shear(Plane),
}

/// An axis of the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// The first.
    X,
    /// The second.
    Y,
    /// The third.
    Z,
}

impl Axis {
    /// Index of its component in a vector.
    pub fn index(self) -> usize {
        self as usize
    }
}

/// A plane that is sheared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Plane {
    /// Along x, by y.
    Xy,
    /// Along x, by z.
    Xz,
    /// Along y, by z.
    Yz,
}

/// A trajectory of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrajectoryInput {
    /// Steps between frames.
    pub every: u64,
    /// The file format.
    pub format: TrajectoryFormat,
}

/// An analysis during a stage.
#[derive(Debug, Clone)]
pub struct MeasureInput {
    /// Steps between looks.
    pub every: u64,
    /// Kind of measurement.
    pub kind: &'static jostle_analysis::Kind,
    /// Settings of the measurement.
    pub settings: jostle_analysis::MeasureSettings,
    /// The atoms it looks at; `None`: all.
    pub atoms: Option<Located<Selection>>,
}
