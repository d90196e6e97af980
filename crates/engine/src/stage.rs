//! A stage under way.

mod ending;
mod minimization;
mod results;
mod row_mean;

use crate::averages::{BlockAverage, Trend};
use crate::barostat::BarostatState;
use crate::clock::Clock;
use crate::deformation::{deformed, strain};
use crate::degrees_of_freedom::{DegreesOfFreedom, Momentum};
use crate::minimize::{ConstraintProjection, Minimizer, largest_force};
use crate::ramp::{Ramps, Springs};
use crate::report::{TemperatureChange, TimeSpent};
use crate::step::{StepContext, evaluate_forces, step};
use crate::thermo::AtomMotion;
use crate::thermostat::from_input;
use crate::warnings::{Aging, Evidence, ExternalWork};
use ending::Ending;
pub(crate) use ending::check_until;
use jostle_core::backend::StageTime;
use jostle_core::quantity::unit_name;
use jostle_core::thermostat::{Lowest, ThermostatKind};
use jostle_core::{
    Backend, Dimension, Error, Evaluate, Molecules, Result, Sample, SimBox, StepBatch, Thermostat, Topology,
    UnitSystem, Vec3,
};
use jostle_io::input::NamedChoice;
use jostle_io::input::model::{self, Action, StageInput};
use row_mean::RowMean;
use serde::{Deserialize, Serialize};

/// The state of a stage between two steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct StageRun {
    /// Number of steps done.
    pub stage_step: u64,
    /// Simulated time at the beginning of the stage.
    pub start_time: f64,
    /// Degrees of freedom, by which temperatures are computed.
    pub degrees_of_freedom: usize,
    /// Wall time by kind of work.
    pub time: TimeSpent,
    /// Lengths and tilts of the box at the beginning of the stage.
    shape: [[f64; 3]; 2],
    motion: Motion,
    barostat: Option<BarostatState>,
    ramps: Ramps,
    /// Work on the atoms by changes of the stiffness of restraints, and energy that came with atoms of another replica.
    work: f64,
    /// Changes of the temperature by commands.
    pub changes: Vec<TemperatureChange>,
    /// Samples since the last row, where rows are means.
    pub row: RowMean,
    averages: Vec<BlockAverage>,
    conserved: Trend,
    evidence: Evidence,
    ending: Ending,
}

/// Motion of the atoms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Motion {
    Dynamics(Thermostat),
    /// A minimiser, and the velocities, by id, that are restored at the end.
    Minimization(Minimizer, Vec<Vec3>),
}

impl StageRun {
    /// Begins a stage: brings the centre of mass to rest where momentum is conserved, and sets up the
    /// thermostat or the minimiser. The total momentum behaves as said; `work` is external work on the atoms.
    /// The text tells of a motion of the centre of mass that was removed, unless it was mere rounding.
    pub(crate) fn begin(
        stage: &StageInput,
        backend: &mut dyn Backend,
        units: UnitSystem,
        clock: Clock,
        shortest_cutoff: f64,
        (degrees, momentum, total_mass): (DegreesOfFreedom, Momentum, f64),
        (springs, projection, work): (&Springs, Option<&ConstraintProjection>, ExternalWork),
    ) -> Result<(Self, Option<String>)> {
        springs.check(stage)?;
        check_contacts(stage, backend.has_contacts())?;
        let changes = work != ExternalWork::Nothing || stage.deformation.is_some() || backend.has_contacts();
        let aging = if changes { Aging::Changes } else { Aging::Settles };
        let atoms = backend.n_atoms();
        let mut note = None;
        let mut barostat = None;
        let (motion, degrees_of_freedom) = match &stage.action {
            Action::Dynamics { timestep, thermostat, .. } => {
                backend.constrain_velocities(None)?;
                if atoms > 1 {
                    note = rest_center_of_mass(backend, total_mass, momentum)?;
                }
                let freedom = degrees.count(momentum);
                let thermostat =
                    from_input(thermostat.as_ref(), units.boltzmann(), freedom, *timestep, clock.step);
                barostat = stage
                    .barostat
                    .zip(thermostat.thermal_energy())
                    .map(|(barostat, kt)| BarostatState::new(&barostat, momentum, kt));
                check_motion(stage, backend.kinetic()?.energy())?;
                (Motion::Dynamics(thermostat), freedom)
            }
            Action::Minimize { timestep, minimizer, .. } => {
                let minimizer =
                    minimization::new_minimizer(*minimizer, *timestep, shortest_cutoff, projection);
                let velocities = minimization::set_aside_velocities(backend)?;
                (Motion::Minimization(minimizer, velocities), degrees.count(momentum))
            }
        };
        let run = StageRun {
            stage_step: 0,
            start_time: clock.time,
            degrees_of_freedom,
            time: TimeSpent::default(),
            shape: [backend.simbox().lengths(), backend.simbox().tilts()],
            motion,
            barostat,
            ramps: Ramps::new(stage, springs, units.boltzmann()),
            work: 0.0,
            changes: Vec::new(),
            row: RowMean::default(),
            averages: Vec::new(),
            conserved: Trend::default(),
            evidence: Evidence::new(aging, work),
            ending: Ending::default(),
        };
        Ok((run, note))
    }

    /// True if the condition of the stage has held.
    pub(crate) fn is_ended(&self) -> bool {
        self.ending.is_reached()
    }

    /// True if the stage is finished.
    ///
    /// # Errors
    /// If the device failed.
    pub(crate) fn is_over(
        &self,
        stage: &StageInput,
        backend: &mut dyn Backend,
        projection: Option<&ConstraintProjection>,
    ) -> Result<bool> {
        Ok(match stage.action {
            Action::Dynamics { steps, .. } => self.stage_step >= steps || self.ending.is_reached(),
            Action::Minimize { steps, force_tolerance, .. } => {
                self.stage_step >= steps || largest_force(backend, projection)? <= force_tolerance
            }
        })
    }

    /// Sets the stiffness of restraints to that of the last step or, at the beginning, of the first one;
    /// forces must be evaluated anew.
    ///
    /// # Errors
    /// If the device has no restraints, or failed.
    pub(crate) fn set_restraints(&self, backend: &mut dyn Backend) -> Result<()> {
        self.ramps.set_stiffness(self.stage_step, backend)
    }

    /// Interval in steps of changes of temperature or stiffness; 0: there are none.
    pub(crate) fn ramps_every(&self) -> u64 {
        self.ramps.every()
    }

    /// Interval in steps of changes of stiffness, which need energies; 0: there are none.
    pub(crate) fn stiffness_every(&self) -> u64 {
        if self.ramps.move_springs() { self.ramps.every() } else { 0 }
    }

    /// Interval in steps at which the barostat acts, which needs energies; 0: there is none.
    pub(crate) fn barostat_every(&self) -> u64 {
        self.barostat.as_ref().map_or(0, BarostatState::every)
    }

    /// Changes temperature, restraints and the box, where such changes are due before the next step.
    ///
    /// # Errors
    /// If a cut-off is more than half the smallest width of the new box, and those of a force
    /// evaluation.
    pub(crate) fn change_surroundings(
        &mut self,
        stage: &StageInput,
        backend: &mut dyn Backend,
        molecules: &Molecules,
        context: &StepContext,
    ) -> Result<()> {
        self.follow_ramps(stage, backend)?;
        if let (Some(barostat), Motion::Dynamics(thermostat)) = (&mut self.barostat, &mut self.motion)
            && barostat.is_due(self.stage_step)
        {
            // The barostat acts at steps at which long-range forces do.
            barostat.act(backend, thermostat, molecules, context, stage.long_range_every as f64)?;
        }
        self.deform(stage, backend)
    }

    /// Changes the temperature of the thermostat and the stiffness of restraints. The change of the energy at
    /// constant positions is work on the atoms; energies must have been evaluated.
    fn follow_ramps(&mut self, stage: &StageInput, backend: &mut dyn Backend) -> Result<()> {
        if !self.ramps.is_due(self.stage_step) {
            return Ok(());
        }
        let next = self.stage_step + 1;
        if let (Some(thermal_energy), Motion::Dynamics(thermostat)) =
            (self.ramps.thermal_energy(next), &mut self.motion)
        {
            thermostat.set_thermal_energy(thermal_energy);
        }
        if !self.ramps.move_springs() {
            return Ok(());
        }
        // The energy of restraints is the last term.
        let energy = |backend: &dyn Backend| backend.energies().terms.last().copied().unwrap_or_default();
        let before = energy(backend);
        backend.set_stiffness(&self.ramps.stiffness(next))?;
        evaluate_forces(backend, Evaluate::ForcesAndEnergies, stage.long_range_every as f64, None)?;
        self.work += energy(backend) - before;
        Ok(())
    }

    fn deform(&self, stage: &StageInput, backend: &mut dyn Backend) -> Result<()> {
        let changes = |every: u64| self.stage_step.is_multiple_of(every);
        if !stage.deformation.is_some_and(|deformation| changes(deformation.every)) {
            return Ok(());
        }
        let Some((mode, strain)) = strain(stage, self.stage_step + 1) else { return Ok(()) };
        let start = self.first_box(backend.simbox())?;
        backend.deform(deformed(&start, mode, strain)?)?;
        backend.update_neighbors()?;
        backend.compute_forces(Evaluate::Forces)
    }

    /// The box at the beginning of the stage, given the present box.
    pub(crate) fn first_box(&self, now: &SimBox) -> Result<SimBox> {
        let [lengths, tilts] = self.shape;
        SimBox::new(now.origin(), lengths, tilts, now.periodic())
    }

    /// Makes one step; the caller counts it.
    pub(crate) fn advance(
        &mut self,
        backend: &mut dyn Backend,
        context: &StepContext,
        evaluate: Evaluate,
    ) -> Result<()> {
        match &mut self.motion {
            Motion::Dynamics(thermostat) => step(backend, thermostat, context, evaluate),
            Motion::Minimization(minimizer, _) => minimizer.iterate(backend, evaluate),
        }
    }

    /// Makes all steps of a batch at once, if the stage is one of dynamics and the device can; the caller
    /// counts them.
    pub(crate) fn advance_batch(
        &mut self,
        backend: &mut dyn Backend,
        batch: &StepBatch,
    ) -> Result<Option<Vec<Sample>>> {
        match &mut self.motion {
            Motion::Dynamics(thermostat) => backend.run_steps(batch, thermostat),
            Motion::Minimization(..) => Ok(None),
        }
    }

    /// The simulated time after so many steps of the stage.
    pub(crate) fn time_at(&self, stage: &StageInput, stage_step: u64) -> f64 {
        self.stage_time(stage, stage_step).now()
    }

    /// Time after so many steps of the stage, counted in these.
    pub(crate) fn stage_time(&self, stage: &StageInput, stage_step: u64) -> StageTime {
        let timestep = match stage.action {
            Action::Dynamics { timestep, .. } => timestep,
            Action::Minimize { .. } => 0.0,
        };
        StageTime { start: self.start_time, timestep, steps: stage_step }
    }

    /// Meaning of the velocities, and the energy drawn so far from the thermostat, by changes of the volume
    /// and from restraints; `measured` is the thermostat at the measurement, if not the present one. The work that
    /// deforms a box is not known step by step, and no energy is conserved then.
    pub(crate) fn atoms(&self, stage: &StageInput, measured: Option<&Thermostat>) -> AtomMotion {
        let from_volume = self.barostat.as_ref().map_or(0.0, |barostat| barostat.energy);
        match &self.motion {
            Motion::Dynamics(thermostat) => {
                let heat = measured.unwrap_or(thermostat).heat().filter(|_| stage.deformation.is_none());
                AtomMotion::Moving { heat: heat.map(|heat| heat + from_volume + self.work) }
            }
            Motion::Minimization(..) => AtomMotion::AtRest,
        }
    }

    /// Adds work on the atoms, which is taken off the conserved quantity.
    pub fn add_work(&mut self, work: f64) {
        self.work += work;
    }

    /// The temperature of the thermostat, if there is one.
    pub(crate) fn temperature(&self, units: UnitSystem) -> Option<f64> {
        match &self.motion {
            Motion::Dynamics(thermostat) => thermostat.thermal_energy().map(|kt| kt / units.boltzmann()),
            Motion::Minimization(..) => None,
        }
    }

    /// Changes the temperature of the thermostat; returns the previous one.
    ///
    /// # Errors
    /// If there is no thermostat, or the temperature makes no sense; nothing is changed then.
    pub(crate) fn set_temperature(
        &mut self,
        stage: &StageInput,
        temperature: f64,
        hottest: f64,
        units: UnitSystem,
    ) -> Result<f64> {
        let before = self.temperature(units);
        let (Motion::Dynamics(thermostat), Some(before)) = (&mut self.motion, before) else {
            let message = format!("stage '{}' has no thermostat whose temperature could change", stage.name);
            return Err(Error::input(message));
        };
        if self.ramps.thermal_energy(self.stage_step).is_some() {
            let message = format!("the temperature of stage '{}' changes as its input says", stage.name);
            return Err(Error::input(message).hint("wait for a stage that holds one temperature"));
        }
        // A chain has masses in proportion to its temperature.
        let chain = thermostat.kind().map(ThermostatKind::lowest) == Some(Lowest::AboveZero)
            || self.barostat.as_ref().is_some_and(BarostatState::has_chain);
        let least = if chain { f64::MIN_POSITIVE } else { 0.0 };
        if !(temperature >= least && temperature.is_finite()) {
            return Err(Error::input(format!("a thermostat cannot hold a temperature of {temperature}")));
        }
        if temperature > hottest {
            let unit = unit_name(units, Dimension::TEMPERATURE);
            let spaced = |value: String| format!("{value} {unit}").trim_end().to_string();
            return Err(Error::input(format!(
                "stage '{}' cannot follow atoms at a temperature of {}: with its time step, at most {} can be held",
                stage.name,
                spaced(format!("{temperature:e}")),
                spaced(format!("{hottest:.3e}")),
            )));
        }
        thermostat.set_thermal_energy(units.boltzmann() * temperature);
        Ok(before)
    }

    /// Ends the stage; after a minimisation the velocities are restored.
    pub(crate) fn end(&self, backend: &mut dyn Backend) -> Result<()> {
        let Motion::Minimization(_, velocities) = &self.motion else { return Ok(()) };
        let mut state = backend.state()?.clone();
        for (id, v) in state.id.iter().zip(&mut state.velocity) {
            *v = velocities[*id as usize];
        }
        backend.set_state(state)?;
        backend.update_neighbors()
    }
}

/// Removes the motion of the centre of mass along the axes along which momentum is conserved; returns a note unless it was
/// mere rounding.
pub(crate) fn rest_center_of_mass(
    backend: &mut dyn Backend,
    total_mass: f64,
    momentum: Momentum,
) -> Result<Option<String>> {
    if momentum == Momentum::Thermal {
        return Ok(None);
    }
    let sums = backend.kinetic()?;
    let axes = momentum.conserved_axes();
    let removed =
        jostle_core::Vector(std::array::from_fn(|axis| if axes[axis] { sums.momentum[axis] } else { 0.0 }));
    backend.shift_velocities(removed.map(|p| -p / total_mass))?;
    let part = removed.map(|p| p * p).iter().sum::<f64>() / (2.0 * total_mass) / sums.energy();
    Ok((part > 1e-10).then(|| {
        let named: Vec<_> =
            ["x", "y", "z"].into_iter().zip(axes).filter_map(|(name, rests)| rests.then_some(name)).collect();
        let along = if named.len() == 3 { String::new() } else { format!(" along {}", named.join(" and ")) };
        format!(
            "the centre of mass was brought to rest{along}; its motion was {part:.1e} of the kinetic energy"
        )
    }))
}

/// Refuses a stage with a temperature of grains, if the atoms have contacts as these have.
pub(crate) fn check_contacts(stage: &StageInput, has_contacts: bool) -> Result<()> {
    if has_contacts && matches!(stage.action, Action::Dynamics { thermostat: Some(_), .. }) {
        return Err(Error::input("grains have no temperature that a thermostat could keep")
            .hint("leave out the thermostat"));
    }
    if has_contacts && stage.heat_flux.is_some() {
        return Err(
            Error::input("grains have no temperature that heat could follow").hint("leave out heat_flux")
        );
    }
    Ok(())
}

/// Refuses a thermostat that scales velocities where a stage begins with atoms at rest, that is without kinetic energy.
pub(crate) fn check_motion(stage: &StageInput, kinetic: f64) -> Result<()> {
    let Action::Dynamics { thermostat: Some(thermostat), .. } = stage.action else { return Ok(()) };
    if kinetic > 0.0 || !thermostat.kind.scales_velocities() {
        return Ok(());
    }
    Err(Error::input("the atoms are at rest, and this thermostat can only scale velocities")
        .hint("give [system] a temperature"))
}

/// Refuses a stage that cannot keep constraints, virtual sites or rigid bodies.
pub(crate) fn check_constraints(stage: &StageInput, topology: &Topology) -> Result<()> {
    if !topology.has_groups() {
        return Ok(());
    }
    if let Action::Dynamics { thermostat: Some(thermostat), .. } = stage.action
        && let Some(subject) = thermostat.kind.against_constraints()
    {
        return Err(Error::input(format!(
            "{subject} do not keep constraints, virtual sites or rigid bodies"
        ))
        .hint("choose another thermostat"));
    }
    match stage.action {
        Action::Dynamics { .. } if stage.deformation.is_some() => Err(Error::input(
            "a box that is deformed does not keep constraints, virtual sites or rigid bodies",
        )
        .hint("leave out deform")),
        Action::Minimize { minimizer, .. } if minimizer != model::Minimizer::Fire => {
            let name = minimizer.name();
            let message = format!(
                "minimizer = \"{name}\" moves atoms along lines and keeps no constraints, virtual sites or rigid bodies"
            );
            Err(Error::input(message).hint("choose minimizer = \"fire\""))
        }
        Action::Dynamics { .. } | Action::Minimize { .. } => Ok(()),
    }
}

/// Refuses a stage with numbers that make no sense.
pub(crate) fn check_stage(stage: &StageInput, simbox: &SimBox) -> Result<()> {
    if let Some(deformation) = &stage.deformation {
        if simbox.periodic() != [true; 3] {
            return Err(Error::input("deform in a box that is open along an axis")
                .hint("leave it out, or make all axes periodic"));
        }
        if !deformation.rate.is_finite() || deformation.every == 0 {
            return Err(Error::input("deform needs a finite rate, and at least one step between changes"));
        }
    }
    if stage.final_temperature.is_some() && stage.temperatures().is_none() {
        return Err(Error::input("a temperature that changes, but no thermostat that could hold it"));
    }
    let positive = |name: &str, value: f64| match value > 0.0 && value.is_finite() {
        true => Ok(()),
        false => Err(Error::input(format!("{name} = {value}, but it must be greater than zero"))),
    };
    let temperature = |value: f64| match value >= 0.0 && value.is_finite() {
        true => Ok(()),
        false => Err(Error::input(format!("temperature = {value}, but it must be zero or greater"))),
    };
    match stage.action {
        Action::Minimize { timestep, force_tolerance, .. } => {
            positive("timestep", timestep)?;
            positive("force_tolerance", force_tolerance)
        }
        Action::Dynamics { timestep, thermostat, .. } => {
            positive("timestep", timestep)?;
            let Some(thermostat) = thermostat else { return Ok(()) };
            let temperature = |value: f64| match thermostat.kind.lowest() {
                Lowest::AboveZero => positive("temperature", value),
                Lowest::Zero => temperature(value),
            };
            temperature(stage.final_temperature.unwrap_or(thermostat.temperature))?;
            for (parameter, value) in thermostat.each() {
                positive(parameter.name, value)?;
            }
            thermostat.check(timestep).map_err(|(_, refused)| refused)?;
            temperature(thermostat.temperature)
        }
    }
}
