//! Viscosity and electrical conductivity by fluctuations: those of a stage in which nothing but forces between atoms moves
//! momentum and charge.

use jostle_analysis::kinds::Frames;
use jostle_analysis::{Kind, Observable};
use jostle_core::thermostat::SubStep;
use jostle_core::{Error, Result, System};
use jostle_io::Input;
use jostle_io::input::model::{Action, Holds, RestraintInput, StageInput};

/// Refuses the kinds of analysis for which the fluctuations of this stage are not those of equilibrium.
///
/// # Errors
/// If something drives the system in the stage, or a viscosity is asked for where a thermostat or forces from outside take
/// momentum from atoms.
pub fn check(kind: &Kind, stage: &StageInput, input: &Input, system: &System) -> Result<()> {
    let is_viscosity = kind.observable == Observable::Whole && kind.frames == Frames::AlongPath;
    let reason = match kind.observable {
        Observable::Current => driving(stage).or_else(|| fields(input)),
        _ if is_viscosity => driving(stage).or_else(|| loss_of_momentum(stage, input, system)),
        _ => None,
    };
    match reason {
        Some(reason) => {
            let message = format!("{} is found from fluctuations in equilibrium, and {reason}", kind.name);
            Err(Error::input(message).hint(
                "measure in a stage at constant energy, or with a thermostat of all atoms together (bussi, nose-hoover) at one temperature",
            ))
        }
        None => Ok(()),
    }
}

/// Reason for which a system is driven in a stage.
fn driving(stage: &StageInput) -> Option<&'static str> {
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

/// Reason for which atoms lose momentum other than to each other.
fn loss_of_momentum(stage: &StageInput, input: &Input, system: &System) -> Option<&'static str> {
    let thermostat = match stage.action {
        Action::Dynamics { thermostat, .. } => thermostat,
        Action::Minimize { .. } => None,
    };
    let has = |sub_step| thermostat.is_some_and(|thermostat| thermostat.kind.step().contains(&sub_step));
    let holds_places = |restraint: &RestraintInput| matches!(restraint.holds, Holds::Places { .. });
    let outside = !(input.fields.is_empty() && input.walls.is_empty())
        || input.restraints.iter().any(|restraint| holds_places(&restraint.value));
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
