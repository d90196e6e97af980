//! Biases that do not fit the stages which they act in.

use super::fields::{Fields, entry_span};
use super::model::{Action, BiasAction, BiasInput, Located, Source, StageInput};
use jostle_core::{Result, UnitSystem};
use jostle_sampling::bias::AbfSettings;

/// Refuses a bias of another temperature than that which the thermostat of a stage holds: its weights would be wrong.
pub(super) fn refuse_other_temperature(
    source: &Source,
    units: UnitSystem,
    fields: &Fields,
    bias: &BiasInput,
    stages: &[Located<StageInput>],
) -> Result<()> {
    let thermal_energy = match &bias.action {
        BiasAction::Metadynamics(settings, _) => settings.tempering.map(|[_, thermal_energy]| thermal_energy),
        BiasAction::Opes(settings) => Some(settings.thermal_energy),
        BiasAction::Abf(settings) => Some(settings.thermal_energy),
        _ => None,
    };
    let Some(own) = thermal_energy.map(|energy| energy / units.boltzmann()) else { return Ok(()) };
    for stage in stages.iter().map(|stage| &stage.value).filter(|stage| bias.acts_in(stage)) {
        let Some([first, last]) = stage.temperatures() else { continue };
        if [first, last].iter().any(|held| (own - held).abs() > 1e-6 * held) {
            let does = match first == last {
                true => format!("holds {first}"),
                false => format!("goes from {first} to {last}"),
            };
            let message = format!(
                "bias \"{}\" has temperature = {own}, and the thermostat of stage \"{}\" {does}",
                bias.name, stage.name
            );
            let at = entry_span(fields, "temperature");
            return Err(source
                .error(&at, message)
                .hint("give both the same, or let the bias act in other stages by stages = [...]"));
        }
    }
    Ok(())
}

/// Fewest time steps of a period of the particle of an adaptive force: with 25 its spring has the energy that it should
/// have, with 8 more than twice as much.
const FEWEST_STEPS: f64 = 20.0;

/// Refuses an adaptive force whose particle oscillates faster than time steps resolve: it would heat the atoms.
pub(super) fn refuse_coarse_steps(
    source: &Source,
    fields: &Fields,
    bias: &BiasInput,
    stages: &[Located<StageInput>],
) -> Result<()> {
    let BiasAction::Abf(AbfSettings { relaxation, .. }) = bias.action else { return Ok(()) };
    for stage in stages.iter().map(|stage| &stage.value).filter(|stage| bias.acts_in(stage)) {
        let Action::Dynamics { timestep, .. } = stage.action else { continue };
        let steps = relaxation / timestep;
        if steps < FEWEST_STEPS * (1.0 - 1e-9) {
            let message = format!(
                "the particle of bias \"{}\" oscillates in {steps:.2} steps of stage \"{}\", of which it must have {FEWEST_STEPS}",
                bias.name, stage.name
            );
            let at = entry_span(fields, "relaxation");
            return Err(source
                .error(&at, message)
                .hint("choose a longer relaxation, or a shorter time step"));
        }
    }
    Ok(())
}

/// Refuses a spring that moves over several stages where one of them may end early: it would jump to where the
/// next stage begins.
pub(super) fn refuse_early_ends(
    source: &Source,
    fields: &Fields,
    bias: &BiasInput,
    stages: &[Located<StageInput>],
) -> Result<()> {
    let BiasAction::Harmonic { center, stiffness } = &bias.action else { return Ok(()) };
    if center[0] == center[1] && stiffness[0] == stiffness[1] {
        return Ok(());
    }
    let acting: Vec<&StageInput> =
        stages.iter().map(|stage| &stage.value).filter(|stage| bias.acts_in(stage)).collect();
    let before_last = acting.split_last().map_or(&[][..], |(_, before)| before);
    match before_last.iter().find(|stage| stage.until.is_some()) {
        Some(stage) => {
            let message = format!(
                "bias \"{}\" moves over several stages, of which stage \"{}\" may end early by until",
                bias.name, stage.name
            );
            Err(source.error(&fields.span, message).hint(
                "let it act in one of them alone, stages = [\"...\"], with a bias of its own for each of the others",
            ))
        }
        None => Ok(()),
    }
}
