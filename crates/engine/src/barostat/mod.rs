//! Pressure control: what changes the volume of the box between two steps.
//!
//! Molecules are moved, not stretched: their centres of mass keep their places relative to the edges,
//! and what is bound or rigid stays as it is. Atoms by themselves are molecules of one atom.

mod cell_rescaling;
mod monte_carlo;

use crate::freedom::Momentum;
use crate::step::Tick;
use cell_rescaling::CellRescaling;
use jostle_core::random::{Purpose, Stream};
use jostle_core::{Backend, Bath, Before, Error, Evaluate, Molecules, Result, Survey, System, Vec3};
use jostle_io::input::model::{Action, Barostat, StageInput};
use jostle_potentials::Forces;
use monte_carlo::MonteCarlo;
use serde::{Deserialize, Serialize};

/// Cell rescaling makes at least so many steps of its random walk in a relaxation time.
const FEWEST_CHANGES: f64 = 50.0;

/// The barostat of a stage, with all that it remembers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Piston {
    kind: Kind,
    every: u64,
    /// The energy that atoms got by changes of the volume.
    pub energy: f64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
enum Kind {
    MonteCarlo(MonteCarlo),
    CellRescaling(CellRescaling),
}

/// What surrounds the volume when it changes.
struct Surroundings<'a> {
    molecules: &'a Molecules,
    /// Of the thermostat, k_B T.
    thermal_energy: f64,
    /// How strongly waves of charges act.
    waves: f64,
    random: Stream,
}

impl Piston {
    /// That of a barostat of the input.
    pub fn new(barostat: &Barostat, volume: f64, momentum: Momentum) -> Self {
        let kind = match *barostat {
            Barostat::MonteCarlo { pressure, coupling, .. } => {
                Kind::MonteCarlo(MonteCarlo::new(pressure, coupling, volume))
            }
            Barostat::CellRescaling { pressure, time, compressibility, .. } => {
                Kind::CellRescaling(CellRescaling { pressure, time, compressibility, momentum })
            }
        };
        Piston { kind, every: barostat.every(), energy: 0.0 }
    }

    /// Whether it acts after so many steps of a stage; energies must have been evaluated then.
    pub fn is_due(&self, stage_step: u64) -> bool {
        stage_step > 0 && stage_step.is_multiple_of(self.every)
    }

    /// Changes the volume before a step is made, or tries to. Forces are those of the new box
    /// afterwards, in which waves of charges act so strongly.
    ///
    /// # Errors
    /// If the box comes to be smaller than two cut-offs, the volume changes too fast, and those of a
    /// force evaluation.
    pub fn act(
        &mut self,
        backend: &mut dyn Backend,
        bath: &mut Bath,
        molecules: &Molecules,
        tick: &Tick,
        waves: f64,
    ) -> Result<()> {
        let Some(thermal_energy) = bath.thermal_energy() else {
            return Err(Error::input("a barostat needs the temperature of a thermostat"));
        };
        let random = Stream::new(tick.seed, Purpose::Barostat, 0, tick.step);
        let mut around = Surroundings { molecules, thermal_energy, waves, random };
        self.energy += match &mut self.kind {
            Kind::MonteCarlo(trials) => trials.act(backend, &mut around),
            Kind::CellRescaling(walk) => {
                let gained = walk.act(backend, &mut around, tick.timestep * self.every as f64);
                bath.forget_kinetic_energy();
                gained
            }
        }?;
        Ok(())
    }
}

/// Makes the edges of the box longer by these factors along the axes, moves molecules that were surveyed
/// as they are, whose velocities grow by the factor 1 + `faster`, and evaluates forces and energies there.
/// What was before, and the potential energy now.
fn resize(backend: &mut dyn Backend, survey: Survey, factors: Vec3, faster: f64) -> Result<(Before, f64)> {
    let [a, b, c] = factors;
    let after = backend.simbox().mapped([[a, 0.0, 0.0], [0.0, b, 0.0], [0.0, 0.0, c]])?;
    let before = backend.stretch(survey, after, faster).map_err(|e| {
        e.context("the barostat").hint(
            "begin with a larger system or density, or shorten the cut-off: under constant pressure the box needs room to shrink",
        )
    })?;
    backend.update_neighbors()?;
    backend.compute_forces(Evaluate::ForcesAndEnergies)?;
    Ok((before, backend.energies().potential()))
}

/// Refuses a barostat that makes no sense for a stage or a system.
pub(crate) fn check_barostat(stage: &StageInput, system: &System, forces: &Forces) -> Result<()> {
    let Some(barostat) = &stage.barostat else { return Ok(()) };
    let Action::Dynamics { timestep, thermostat, .. } = &stage.action else {
        return Err(Error::input("a minimisation keeps its box").hint("leave out the barostat"));
    };
    if thermostat.is_none() {
        return Err(Error::input("a barostat needs the temperature of a thermostat, and there is none")
            .hint("choose one"));
    }
    if stage.deformation.is_some() {
        return Err(Error::input("a box that is deformed cannot follow a pressure as well")
            .hint("leave out deform or the barostat"));
    }
    if system.simbox.periodic() != [true; 3] {
        return Err(Error::input("a box that is open along an axis has no pressure")
            .hint("leave out the barostat, or make all axes periodic"));
    }
    if forces.come_from_outside() || system.has_driven() {
        return Err(Error::input(
            "what keeps its place, as fields, restraints to places and driven atoms do, bears no barostat",
        )
        .hint("leave one of them out"));
    }
    let finite = |name: &str, value: f64, least: f64| match value > least && value.is_finite() {
        true => Ok(()),
        false => Err(Error::input(format!("barostat: {name} = {value} makes no sense"))),
    };
    finite("every", barostat.every() as f64, 0.0)?;
    match *barostat {
        Barostat::MonteCarlo { pressure, .. } => finite("pressure", pressure, f64::NEG_INFINITY),
        Barostat::CellRescaling { pressure, time, compressibility, every } => {
            finite("pressure", pressure, f64::NEG_INFINITY)?;
            finite("time", time, 0.0)?;
            finite("compressibility", compressibility, 0.0)?;
            let between = every as f64 * timestep;
            // What is left out of order of their ratio, times a few, goes into the fluctuations.
            if time < FEWEST_CHANGES * between {
                return Err(Error::input(format!(
                    "the barostat's relaxation time {time} is too short for changes every {between}"
                ))
                .hint("choose a time 50 times as long at least, or a smaller \"every\""));
            }
            Ok(())
        }
    }
}
