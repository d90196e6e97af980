//! `[alchemy]`

use super::fields::{Fields, entry_span};
use super::group;
use super::model::{
    Action, AlchemyInput, AppearingInput, BiasInput, Located, SoftCoreKind, Source, StageInput,
    VariableInput, takes_energies,
};
use super::sampling::acting_stages;
use jostle_core::{Error, Result};
use jostle_potentials::alchemy::{Decoupling, SoftCore, Window};
use std::ops::Range;

/// Largest exponent of Beutler's soft core.
const LARGEST_POWER: u64 = 6;

/// `[alchemy]`, if the file has it.
pub(super) fn alchemy(
    source: &Source,
    root: &Fields,
    stages: &[Located<StageInput>],
    sampling: (&[Located<VariableInput>], &[Located<BiasInput>]),
) -> Result<Option<Located<AlchemyInput>>> {
    let Some(Located { value: fields, .. }) = &root.get::<Fields>("alchemy") else { return Ok(None) };
    let missing = || Error::input(format!("{} needs \"atoms\"", fields.label));
    let atoms = group::atoms(source, fields)?.ok_or_else(missing)?;
    let windows = windows(source, fields, ["lambda_charges", "lambda_lennard_jones"])?;
    let appearing = appearing(source, fields, windows.len())?;
    let is_same = |a: usize, b: usize| {
        windows[a] == windows[b] && appearing.as_ref().is_none_or(|part| part.windows[a] == part.windows[b])
    };
    let same = |k: &usize| (0..*k).any(|other| is_same(*k, other));
    if let Some(k) = (0..windows.len()).find(same) {
        let span = entry_span(fields, "lambda_lennard_jones");
        return Err(source.error(&span, format!("window {k} is the same as one before")));
    }
    let window: u64 = fields.need("window")?;
    if window >= windows.len() as u64 {
        let message = format!("there are {} windows, and no window {window}", windows.len());
        let error = source.error(&entry_span(fields, "window"), message);
        return Err(error.hint(format!("they are counted from 0 to {}", windows.len() - 1)));
    }
    let sampled = sampled_stages(source, fields, stages)?;
    for stage in stages.iter().filter(|stage| sampled.contains(&stage.value.name)) {
        refuse_changing_states(source, stage, sampling)?;
    }
    let sample_every: u64 = fields.need("sample_every")?;
    refuse_no_samples(source, fields, sample_every, (stages, &sampled))?;
    let value = AlchemyInput {
        atoms,
        windows,
        appearing,
        window: window as usize,
        decoupling: Decoupling {
            soft_core: soft_core(source, fields)?,
            own_energy: fields.need_choice("own_energy")?,
        },
        sample_every,
        stages: sampled,
    };
    Ok(Some(Located { value, span: fields.span.clone() }))
}

/// Part of the molecule that appears, in so many windows.
fn appearing(source: &Source, fields: &Fields, n_windows: usize) -> Result<Option<AppearingInput>> {
    let Some(text) = fields.get::<String>("appearing") else { return Ok(None) };
    const KEYS: [&str; 2] = ["appearing_charges", "appearing_lennard_jones"];
    if let Some(key) = KEYS.into_iter().find(|key| !fields.has_key(key)) {
        return Err(source
            .error(&text.span, format!("the part that appears needs {key}"))
            .hint("give one number for each window, from 0 to 1"));
    }
    let windows = windows(source, fields, KEYS)?;
    if windows.len() != n_windows {
        let message =
            format!("{} windows of the part that appears, and {n_windows} of the other", windows.len());
        return Err(source
            .error(&entry_span(fields, KEYS[0]), message)
            .hint("give one of each for every window"));
    }
    Ok(Some(AppearingInput { atoms: group::selection(source, text)?, windows }))
}

/// Windows by the keys of their factors of charges and of Lennard-Jones forces.
fn windows(source: &Source, fields: &Fields, keys: [&str; 2]) -> Result<Vec<Window>> {
    let [charges, lennard_jones]: [Vec<f64>; 2] = [fields.need(keys[0])?, fields.need(keys[1])?];
    let span = entry_span(fields, keys[1]);
    if charges.len() != lennard_jones.len() {
        let message =
            format!("{} values of {}, and {} of {}", charges.len(), keys[0], lennard_jones.len(), keys[1]);
        return Err(source.error(&span, message).hint("give one of each for every window"));
    }
    if charges.len() < 2 {
        return Err(source.error(&span, "a path has two windows or more"));
    }
    let windows: Vec<Window> = charges
        .into_iter()
        .zip(lennard_jones)
        .map(|(charges, lennard_jones)| Window { charges, lennard_jones })
        .collect();
    if let Some(k) = windows.iter().position(|w| w.charges > 0.0 && w.lennard_jones < 1.0) {
        let message =
            format!("in window {k} there are charges on atoms with a soft core, which others could reach");
        return Err(source.error(&span, message).hint(
            "let charges go to 0 first, then lambda_lennard_jones: [1, 0.5, 0, 0, 0] and [1, 1, 1, 0.5, 0]",
        ));
    }
    Ok(windows)
}

fn soft_core(source: &Source, fields: &Fields) -> Result<SoftCore> {
    let alpha = |default| fields.get::<f64>("alpha").map_or(default, |x| x.value);
    let power = fields.get::<u64>("power");
    match (fields.need_choice("soft_core")?, power) {
        (SoftCoreKind::Gapsys, Some(power)) => {
            let message = "power belongs to Beutler's soft core";
            Err(source.error(&power.span, message).hint("leave it out"))
        }
        (SoftCoreKind::Gapsys, None) => Ok(SoftCore::Gapsys { alpha: alpha(0.85) }),
        (SoftCoreKind::Beutler, Some(power)) if power.value > LARGEST_POWER => {
            let message = format!("power = {}, but it must be at most {LARGEST_POWER}", power.value);
            Err(source.error(&power.span, message).hint("1 and 2 are usual"))
        }
        (SoftCoreKind::Beutler, power) => {
            Ok(SoftCore::Beutler { alpha: alpha(0.5), power: power.map_or(1, |power| power.value as u8) })
        }
    }
}

/// Names of the stages with samples, each of which holds a temperature.
fn sampled_stages(source: &Source, fields: &Fields, stages: &[Located<StageInput>]) -> Result<Vec<String>> {
    let mut names = acting_stages(source, fields, stages)?;
    let is_dynamics = |stage: &&Located<StageInput>| matches!(stage.value.action, Action::Dynamics { .. });
    if names.is_empty() {
        names.extend(stages.iter().rfind(is_dynamics).map(|stage| stage.value.name.clone()));
    }
    for stage in stages.iter().filter(|stage| names.contains(&stage.value.name)) {
        let refuse = |what: &str| {
            let message = format!("stage \"{}\" has samples of [alchemy], but {what}", stage.value.name);
            let error = source.error(&stage.span, message);
            Err(error.hint("give it a thermostat of one temperature, or name other stages in [alchemy]"))
        };
        match stage.value.temperatures() {
            Some([first, last]) if first == last && first > 0.0 => {}
            Some(_) => return refuse("its temperature changes, or is 0"),
            None => return refuse("no thermostat holds its temperature"),
        }
    }
    Ok(names)
}

/// Refuses an interval of samples that is longer than a stage which should have some.
fn refuse_no_samples(
    source: &Source,
    fields: &Fields,
    every: u64,
    (stages, sampled): (&[Located<StageInput>], &[String]),
) -> Result<()> {
    let steps = |stage: &StageInput| match stage.action {
        Action::Dynamics { steps, .. } => steps,
        Action::Minimize { .. } => 0,
    };
    let of_alchemy = stages.iter().map(|stage| &stage.value).filter(|stage| sampled.contains(&stage.name));
    // A run that only minimises has no samples to want.
    let Some(short) = of_alchemy.filter(|stage| steps(stage) > 0).find(|stage| steps(stage) < every) else {
        return Ok(());
    };
    let message = format!(
        "stage \"{}\" has {} steps, and no sample of [alchemy] every {every}",
        short.name,
        steps(short)
    );
    let at = entry_span(fields, "sample_every");
    Err(source.error(&at, message).hint("make sample_every smaller, or the stage longer"))
}

/// Refuses samples of a stage that is no state of equilibrium, or whose biases differ between windows in energies that
/// samples do not have.
fn refuse_changing_states(
    source: &Source,
    stage: &Located<StageInput>,
    (variables, biases): (&[Located<VariableInput>], &[Located<BiasInput>]),
) -> Result<()> {
    let name = &stage.value.name;
    let refuse = |span: &Range<usize>, what: String, hint: &str| {
        let message = format!("stage \"{name}\" has samples of [alchemy], but {what}");
        Err(source.error(span, message).hint(format!("{hint}, or name other stages in [alchemy]")))
    };
    for bias in biases.iter().filter(|bias| bias.value.acts_in(&stage.value)) {
        let hint = "let it act in other stages by stages = [...]";
        if !bias.value.stays() {
            let what = format!("bias \"{}\" does not stay the same there", bias.value.name);
            return refuse(&bias.span, what, hint);
        }
        if bias.value.variables.iter().any(|k| takes_energies(variables, *k)) {
            let what = format!(
                "bias \"{}\" acts on an energy, which is another one in each window: samples would lack the difference",
                bias.value.name
            );
            return refuse(&bias.span, what, hint);
        }
    }
    let changes = |ends: &[f64; 2]| ends[0] != ends[1];
    if stage.value.restraints.iter().flatten().any(changes) {
        return refuse(&stage.span, "the stiffness of a restraint changes".into(), "give it one stiffness");
    }
    if stage.value.deformation.is_some() || stage.value.heat_flux.is_some() {
        return refuse(&stage.span, "it is driven".into(), "leave deformation and heat flux out");
    }
    Ok(())
}
