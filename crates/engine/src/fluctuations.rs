//! Numbers that come from fluctuations: those of a stage in equilibrium, and of transport one in which nothing but forces
//! between atoms moves momentum and charge.

use jostle_analysis::kinds::Frames;
use jostle_analysis::{Kind, Observable};
use jostle_core::thermostat::SubStep;
use jostle_core::{Error, Result, SimBox, System, Vec3};
use jostle_io::Input;
use jostle_io::input::model::{Action, Holds, StageInput};

/// Refuses the kinds of analysis for which the fluctuations of this stage are not those of equilibrium.
///
/// # Errors
/// If something drives the system in the stage, changes its temperature, or a viscosity is asked for where a thermostat or forces from outside take
/// momentum from atoms.
pub fn check(kind: &Kind, stage: &StageInput, input: &Input, system: &System) -> Result<()> {
    let reason = match (kind.observable, kind.frames) {
        (Observable::Current, _) => {
            driving(stage).or_else(|| fields(input)).or_else(|| driven_charges(system))
        }
        (Observable::Whole, Frames::AlongPath) => {
            driving(stage).or_else(|| loss_of_momentum(stage, input, system))
        }
        (Observable::Whole | Observable::Dipole, _) => driving(stage),
        // Conditions of heat currents are those of `heat_current::check`.
        (Observable::HeatCurrent, _) => None,
        (Observable::Positions | Observable::Molecules | Observable::Velocities, _) => None,
    };
    let Some(reason) = reason else { return Ok(()) };
    let hint = match (kind.observable, kind.frames) {
        (Observable::Whole, Frames::AlongPath) => {
            "measure in a stage at constant energy, or with a thermostat of all atoms together (bussi, nose-hoover) at one temperature"
        }
        (Observable::Current, _) => {
            "measure in a stage at one temperature or at constant energy, in a run in which nothing is driven"
        }
        _ => "measure in a stage at one temperature or at constant energy, in which nothing is driven",
    };
    let message = format!("{} is found from fluctuations in equilibrium, and {reason}", kind.name);
    Err(Error::input(message).hint(hint))
}

/// Refuses a measure of the pressure along a path, a viscosity, in a box that has none.
pub fn check_pressure(kind: &Kind, simbox: &SimBox) -> Result<()> {
    let needs_pressure = (kind.observable, kind.frames) == (Observable::Whole, Frames::AlongPath);
    if !needs_pressure || simbox.periodic() == [true; 3] {
        return Ok(());
    }
    Err(Error::input("a box that is open along an axis has no pressure")
        .hint("make all axes periodic, or leave out this measure"))
}

/// Reason for which a system is driven in a stage.
pub(crate) fn driving(stage: &StageInput) -> Option<&'static str> {
    let changes = stage.temperatures().is_some_and(|[first, last]| first != last);
    let cases = [
        (stage.deformation.is_some(), "this stage deforms the box"),
        (stage.heat_flux.is_some(), "this stage drives heat through the box"),
        (changes, "the temperature of this stage changes"),
    ];
    cases.into_iter().find_map(|(is_so, reason)| is_so.then_some(reason))
}

/// Reason for which charges are driven in all stages.
fn fields(input: &Input) -> Option<&'static str> {
    (!input.fields.is_empty()).then_some("fields drive the charges here")
}

/// Reason for which some charges keep a current in all stages.
fn driven_charges(system: &System) -> Option<&'static str> {
    let is_current = |index: usize| {
        system.charge(index) != 0.0 && system.driven(index).is_some_and(|velocity| velocity != Vec3::ZERO)
    };
    (0..system.state.len()).any(is_current).then_some(
        "charged atoms are driven here: the velocity that a group or a species is given is a current of its own",
    )
}

/// Reason for which atoms lose momentum other than to each other.
fn loss_of_momentum(stage: &StageInput, input: &Input, system: &System) -> Option<&'static str> {
    let thermostat = match stage.action {
        Action::Dynamics { thermostat, .. } => thermostat,
        Action::Minimize { .. } => None,
    };
    let has = |sub_step| thermostat.is_some_and(|thermostat| thermostat.kind.step().contains(&sub_step));
    let holds_places = |k: usize| matches!(input.restraints[k].value.holds, Holds::Places { .. });
    let outside = !(input.fields.is_empty() && input.walls.is_empty())
        || (0..input.restraints.len()).any(|k| holds_places(k) && stage.restrains(k));
    let cases = [
        (
            has(SubStep::PairNoise),
            "friction and noise between pairs, a part of the stress, are not in the pressure",
        ),
        (has(SubStep::Noise), "the friction of this thermostat on single atoms ends flows"),
        (outside, "fields, walls or restraints to places take momentum from atoms here"),
        (system.has_driven(), "atoms that are frozen or driven take momentum from others here"),
    ];
    cases.into_iter().find_map(|(is_so, reason)| is_so.then_some(reason))
}
