//! Heat current of a system, from which its thermal conductivity follows by Green and Kubo: see
//! [`jostle_cpu::HeatCurrent`], which has it for forces between atoms of any state.

use crate::build::forces_from_input;
use crate::fluctuations::driving;
use crate::ramp::Springs;
use jostle_analysis::Observable;
use jostle_core::thermostat::SubStep;
use jostle_core::{Error, Result, SimBox, State, System, Topology, Vec3};
use jostle_io::Input;
use jostle_io::input::model::{Action, BiasInput, StageInput};
use jostle_potentials::Forces;

/// The heat current of atoms under forces.
pub struct HeatCurrent(jostle_cpu::HeatCurrent);

impl HeatCurrent {
    /// The heat current of a system; `threads`: `None` for all cores.
    ///
    /// # Errors
    /// If it is more than that of conduction (mixtures, molecules, forces from outside), or a force does not fit the system.
    pub fn new(system: &System, forces: &Forces, threads: Option<usize>) -> Result<Self> {
        match obstacle(system, forces) {
            Some(obstacle) => Err(obstacle.refusal()),
            None => Ok(HeatCurrent(jostle_cpu::HeatCurrent::new(system, forces, threads)?)),
        }
    }

    /// The heat current of a system under the forces of an input, in one of its stages; `None` where the stage is not known.
    ///
    /// # Errors
    /// As for [`HeatCurrent::new`], if it is not that of conduction in the stage, or the forces do not fit the system.
    pub fn from_input(input: &Input, system: &System, stage: Option<&StageInput>) -> Result<Self> {
        let mut system = system.clone();
        input.choose(&mut system)?;
        let mut forces = forces_from_input(input, &system, system.simbox.volume())?;
        crate::alchemy::apply(input, &mut system, &mut forces)?;
        let current = HeatCurrent::new(&system, &forces, input.run.settings.threads)?;
        match stage {
            Some(stage) => check_stage(stage, None, &Springs::new(&forces.restraints))?,
            None if forces.restraints.is_empty() => {}
            None => return Err(FROM_OUTSIDE.refusal()),
        }
        check_unbiased(input, stage)?;
        Ok(current)
    }

    /// The heat current of a state in a box, as energy times velocity.
    ///
    /// # Errors
    /// If a position is not finite.
    pub fn evaluate(&mut self, simbox: &SimBox, state: &State) -> Result<Vec3> {
        self.0.evaluate(simbox, state)
    }
}

/// Reason for which a system has no thermal conductivity by its heat current.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Obstacle(&'static str);

impl Obstacle {
    fn refusal(self) -> Error {
        let message = format!(
            "the thermal conductivity by Green and Kubo is that of free atoms of one species, and here {}",
            self.0
        );
        Error::input(message)
            .hint("drive heat through the box instead: heat_flux = { axis = \"z\", every = 50 } in the stage")
    }
}

/// Forces from outside.
const FROM_OUTSIDE: Obstacle = Obstacle("there are fields, walls or restraints");

/// The obstacle in a system, if there is one, other than restraints, which depend on the stage. In mixtures a current of heat carries matter, too; that of bonds and
/// constraints is not known here; forces from outside do work.
pub(crate) fn obstacle(system: &System, forces: &Forces) -> Option<Obstacle> {
    let Topology { bonds, angles, dihedrals, excluded, constraints, virtual_sites, rigid_bodies, .. } =
        &system.topology;
    let bound = [bonds.len(), angles.len(), dihedrals.len(), excluded.len(), constraints.len()];
    let bound = bound.into_iter().sum::<usize>() + virtual_sites.len() + rigid_bodies.len();
    let any = |is_so: &dyn Fn(usize) -> bool| (0..system.state.len()).any(is_so);
    // Cases that look at all atoms come last, and are not looked at where another one holds.
    let cases: [(&dyn Fn() -> bool, &str); 7] = [
        (&|| bound > 0, "atoms are bound to each other"),
        (&|| forces.have_fields_or_walls(), FROM_OUTSIDE.0),
        (&|| forces.grains.is_some(), "grains lose energy where they touch"),
        (&|| forces.vacuum.is_some(), "atoms are in open space"),
        (
            &|| any(&|index| system.state.species[index] != system.state.species[0]),
            "there are several species",
        ),
        (&|| any(&|index| system.charge(index) != system.charge(0)), "atoms have unlike charges"),
        (&|| any(&|index| system.driven(index).is_some()), "atoms are frozen or driven"),
    ];
    let found = cases.into_iter().find(|(is_so, _)| is_so());
    found.map(|(_, reason)| Obstacle(reason))
}

/// Returns true where a stage measures the heat current.
pub(crate) fn is_measured(stage: &StageInput) -> bool {
    stage.measures.iter().any(|measure| measure.value.kind.observable == Observable::HeatCurrent)
}

/// Refuses a stage that measures the heat current where it is not that of conduction by forces alone.
///
/// # Errors
/// As for [`check_stage`].
pub(crate) fn check(stage: &StageInput, obstacle: Option<Obstacle>, springs: &Springs) -> Result<()> {
    if is_measured(stage) { check_stage(stage, obstacle, springs) } else { Ok(()) }
}

/// Refuses a stage in which the heat current is not that of conduction by forces alone.
///
/// # Errors
/// If the system has an obstacle, restraints act, heat is driven, the temperature changes, or a thermostat carries heat from
/// place to place.
fn check_stage(stage: &StageInput, obstacle: Option<Obstacle>, springs: &Springs) -> Result<()> {
    if let Some(obstacle) = obstacle.or_else(|| springs.are_in(stage).then_some(FROM_OUTSIDE)) {
        return Err(obstacle.refusal());
    }
    if let Some(reason) = driving(stage) {
        let message = format!(
            "fluctuations of the heat current are those of a stage in which nothing is driven, and {reason}"
        );
        return Err(Error::input(message)
            .hint("measure in a stage without heat_flux and deformation, at one temperature"));
    }
    let carries = |sub_step: &SubStep| matches!(sub_step, SubStep::Noise | SubStep::PairNoise);
    if let Action::Dynamics { thermostat: Some(thermostat), .. } = &stage.action
        && thermostat.kind.step().iter().any(carries)
    {
        let message = format!(
            "a \"{}\" thermostat gives and takes the heat of single atoms, so that the heat current has little of conduction",
            thermostat.kind.name()
        );
        return Err(Error::input(message)
            .hint("measure in a stage at constant energy, or with a thermostat of all atoms together (bussi, nose-hoover)"));
    }
    Ok(())
}

/// Refuses biases that act beside a heat current, which does not have their forces; in any stage where that is not known.
///
/// # Errors
/// If there are such.
pub(crate) fn check_unbiased(input: &Input, stage: Option<&StageInput>) -> Result<()> {
    let acts = |bias: &BiasInput| stage.is_none_or(|stage| bias.acts_in(stage));
    match input.biases.iter().any(|bias| acts(&bias.value)) {
        false => Ok(()),
        true => Err(Error::input("the heat current of atoms under a bias is not known")
            .hint("measure in a stage in which no [[bias]] acts")),
    }
}
