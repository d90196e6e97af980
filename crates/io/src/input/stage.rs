//! `[[stage]]`: what is done one after the other.

use super::barostat::barostat;
use super::choice::NamedChoice;
use super::fields::{Entry, Fields, Value, entry_span};
use super::group;
use super::long_range::check_long_range;
use super::model::*;
use super::read::words::join;
use super::until::{check_until, until};
use jostle_analysis::HeatFlux;
use jostle_core::Result;
use jostle_core::quantity::nearest;
use jostle_core::thermostat::{MOST_PARAMETERS, Quantity};

/// The stages of an input. `temperature` is that of its system, which thermostats hold that name no other.
pub(super) fn stages(
    source: &Source,
    tables: &[Fields],
    restraints: &[Located<RestraintInput>],
    has_reciprocal_sum: bool,
    temperature: Option<f64>,
) -> Result<Vec<Located<StageInput>>> {
    let mut stages: Vec<Located<StageInput>> = Vec::new();
    for (k, fields) in tables.iter().enumerate() {
        let given = fields.get::<String>("name");
        let span = given.as_ref().map_or(fields.span.clone(), |n| n.span.clone());
        let name = given.map_or_else(|| format!("stage-{}", k + 1), |n| n.value);
        let fits = |c: char| c.is_alphanumeric() || "-_+. ".contains(c);
        if name.trim() != name || name.is_empty() || name.starts_with('.') || !name.chars().all(fits) {
            return Err(source
                .error(&span, format!("\"{name}\" cannot be the name of a stage"))
                .hint("stages name files: use letters, digits, spaces, '-', '_', '+' and '.'"));
        }
        if name.len() > LONGEST_NAME {
            return Err(source
                .error(&span, format!("the name of this stage has {} bytes", name.len()))
                .hint(format!("files are called after stages: at most {LONGEST_NAME} bytes")));
        }
        if stages.iter().any(|s| s.value.name == name) {
            return Err(source
                .error(&span, format!("two stages are called \"{name}\""))
                .hint("give each stage a name of its own"));
        }
        let stage = stage(source, fields, restraints, temperature, name)?;
        check_long_range(source, fields, &stage, has_reciprocal_sum)?;
        check_until(source, &stage)?;
        refuse_fixed_places(source, fields, restraints, &stage)?;
        stages.push(Located { value: stage, span: fields.span.clone() });
    }
    Ok(stages)
}

/// Bytes of the longest name of a stage: file systems have room for 255 with what names of files add.
const LONGEST_NAME: usize = 100;

/// Keys that mean nothing in a minimisation by this method.
pub(super) fn foreign_keys(minimizer: Minimizer) -> &'static [&'static str] {
    match minimizer {
        Minimizer::Fire => &[],
        Minimizer::Lbfgs | Minimizer::ConjugateGradient => &["timestep"],
    }
}

/// `minimize` of a stage
fn minimization(source: &Source, fields: &Fields) -> Result<Action> {
    let minimizer: Minimizer = fields.need_choice("minimizer")?;
    if let Some(key) = foreign_keys(minimizer).iter().find(|key| fields.has_key(key)) {
        let message = format!("\"{key}\" means nothing with minimizer = \"{}\"", minimizer.name());
        return Err(source
            .error(&entry_span(fields, key), message)
            .hint("leave it out, or choose minimizer = \"fire\""));
    }
    Ok(Action::Minimize {
        steps: fields.need("steps")?,
        force_tolerance: fields.need("force_tolerance")?,
        timestep: fields.need("timestep")?,
        minimizer,
    })
}

fn stage(
    source: &Source,
    fields: &Fields,
    restraints: &[Located<RestraintInput>],
    temperature: Option<f64>,
    name: String,
) -> Result<StageInput> {
    let target = |thermostat: &Fields| target(source, thermostat, temperature);
    let thermostat_fields = fields.get::<Fields>("thermostat").map(|t| t.value);
    let temperatures = thermostat_fields.as_ref().map(target).transpose()?;
    let action = match fields.get::<Fields>("minimize") {
        Some(Located { value, .. }) => minimization(source, &value)?,
        None => Action::Dynamics {
            steps: fields.need("steps")?,
            timestep: fields.need("timestep")?,
            thermostat: thermostat_fields
                .as_ref()
                .zip(temperatures)
                .map(|(t, [first, _])| thermostat(source, t, first, fields.need("timestep")?))
                .transpose()?,
        },
    };
    let trajectory = |t: Located<Fields>| -> Result<TrajectoryInput> {
        Ok(TrajectoryInput { every: t.value.need("every")?, format: t.value.need_choice("format")? })
    };
    let measure = |fields: &Fields| -> Result<Located<MeasureInput>> {
        let name: String = fields.need("kind")?;
        let kind = jostle_analysis::kinds::find(&name)
            .ok_or_else(|| source.error(&fields.span, format!("there is no analysis \"{name}\"")))?;
        let given = |s: &jostle_analysis::Setting| fields.get::<f64>(s.name).map(|v| v.value);
        let settings = jostle_analysis::MeasureSettings::of(kind.settings, given);
        let value = MeasureInput {
            every: fields.need("every")?,
            kind,
            settings,
            atoms: group::atoms(source, fields)?,
        };
        Ok(Located { value, span: fields.span.clone() })
    };
    let final_temperature = temperatures.and_then(|[first, last]| (first != last).then_some(last));
    let (thermo_every, sample_every) = thermo(source, fields, &action)?;
    let measures = fields.get::<Vec<Fields>>("measure").map_or_else(Vec::new, |m| m.value);
    Ok(StageInput {
        name,
        thermo_every,
        sample_every,
        barostat: barostat(source, fields, &action)?,
        restraints: stage_restraints(source, fields, restraints, &action)?,
        action,
        until: until(source, fields)?,
        final_temperature,
        long_range_every: fields.get::<u64>("long_range_every").map_or(1, |every| every.value),
        deformation: fields.get::<Fields>("deform").map(|d| deformation(&d.value)).transpose()?,
        heat_flux: heat_flux(source, fields)?,
        trajectory: fields.get("trajectory").map(trajectory).transpose()?,
        measures: measures.iter().map(measure).collect::<Result<_>>()?,
        checkpoint_every: fields.need::<Fields>("checkpoint")?.need("every")?,
    })
}

/// Refuses a box that changes beside restraints whose reference positions stay where they are.
fn refuse_fixed_places(
    source: &Source,
    fields: &Fields,
    restraints: &[Located<RestraintInput>],
    stage: &StageInput,
) -> Result<()> {
    let acts = |number: usize| stage.restraints.as_ref().is_none_or(|ends| ends[number] != [0.0; 2]);
    let fixed =
        |restraint: &RestraintInput| matches!(restraint.holds, Holds::Places { scaling: Scaling::None, .. });
    let mut acting = restraints.iter().enumerate().filter(|(number, _)| acts(*number));
    let changes = [
        ("barostat", "a barostat", stage.barostat.is_some()),
        ("deform", "a deformation", stage.deformation.is_some()),
    ];
    let change = changes.into_iter().find(|(.., present)| *present);
    match acting.find(|(_, restraint)| fixed(&restraint.value)).zip(change) {
        Some(((number, restraint), (key, what, _))) => {
            let name = restraint.value.name.clone().unwrap_or_else(|| format!("number {}", number + 1));
            let message =
                format!("{what}, but the reference positions of restraint {name} stay where they are");
            Err(source.error(&entry_span(fields, key), message).hint(
                "let them follow the box, by scaling = \"center\" in [[restraint]], or name the restraints that act in this stage: restraints = []",
            ))
        }
        _ => Ok(()),
    }
}

/// `restraints = ["backbone"]` or `restraints = { backbone = [1000, 100] }`
fn stage_restraints(
    source: &Source,
    fields: &Fields,
    restraints: &[Located<RestraintInput>],
    action: &Action,
) -> Result<Option<Vec<[f64; 2]>>> {
    let Some(given) = fields.get::<Vec<Entry>>("restraints") else { return Ok(None) };
    let mut stiffness = vec![[0.0; 2]; restraints.len()];
    let mut named = vec![false; restraints.len()];
    for entry in &given.value {
        let refuse = |message: String, hint: String| Err(source.error(&entry.key_span, message).hint(hint));
        let name = |restraint: &Located<RestraintInput>| restraint.value.name.as_deref() == Some(&entry.name);
        let Some(number) = restraints.iter().position(name) else {
            let names = || restraints.iter().filter_map(|restraint| restraint.value.name.as_deref());
            let hint = match nearest(&entry.name, names()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None if names().next().is_some() => format!("there are {}", join(names(), "and")),
                None => "give [[restraint]] a name".into(),
            };
            return refuse(format!("there is no restraint \"{}\"", entry.name), hint);
        };
        if std::mem::replace(&mut named[number], true) {
            return refuse(format!("\"{}\" is named twice", entry.name), "name it once".into());
        }
        stiffness[number] = match entry.value {
            Value::Ramp(ends) => ends,
            _ => [restraints[number].value.stiffness; 2],
        };
        let [first, last] = stiffness[number];
        if first != last && matches!(action, Action::Minimize { .. }) {
            let message =
                format!("the stiffness of \"{}\" cannot change while energy is minimised", entry.name);
            return refuse(message, "give it one value here, and others in stages of their own".into());
        }
    }
    Ok(Some(stiffness))
}

/// Temperatures of a thermostat at the ends of its stage: its own, or that of the system.
///
/// # Errors
/// If neither has one that can be held.
fn target(source: &Source, thermostat: &Fields, of_system: Option<f64>) -> Result<[f64; 2]> {
    if let Some(own) = thermostat.get::<[f64; 2]>("temperature") {
        return Ok(own.value);
    }
    match of_system {
        Some(temperature) if temperature > 0.0 => Ok([temperature; 2]),
        Some(_) => Err("a thermostat cannot hold the temperature of [system], which is 0"),
        None => Err("a thermostat without a temperature, and [system] has none"),
    }
    .map_err(|message| {
        source.error(&thermostat.span, message).hint("add temperature = ... to the thermostat")
    })
}

fn thermostat(source: &Source, fields: &Fields, temperature: f64, timestep: f64) -> Result<ThermostatInput> {
    let name = fields.need::<String>("kind")?;
    let kind = ThermostatKind::from_name(&name)
        .ok_or_else(|| source.error(&fields.span, format!("there is no thermostat \"{name}\"")))?;
    let mut parameters = [0.0; MOST_PARAMETERS];
    for (value, parameter) in parameters.iter_mut().zip(kind.parameters()) {
        *value = match parameter.quantity {
            Quantity::Count => fields.need::<u64>(parameter.name)? as f64,
            Quantity::Measured(_) => fields.need(parameter.name)?,
        };
    }
    let thermostat = ThermostatInput::new(kind, temperature, parameters);
    thermostat.check(timestep).map_err(|(key, refused)| {
        let hint = refused.help().unwrap_or_default().to_owned();
        source.error(&entry_span(fields, key), refused.message()).hint(hint)
    })?;
    Ok(thermostat)
}

/// Intervals of rows, and of the samples that they are means of.
fn thermo(source: &Source, stage: &Fields, action: &Action) -> Result<(u64, Option<u64>)> {
    let fields: Fields = stage.need("thermo")?;
    let every: u64 = fields.need("every")?;
    let Some(Located { value: samples, span }) = fields.get::<u64>("sample_every") else {
        return Ok((every, None));
    };
    if matches!(action, Action::Minimize { .. }) {
        let error =
            source.error(&span, "rows of a minimisation are on the way to a minimum, and have no mean");
        return Err(error.hint("leave out sample_every"));
    }
    if every == 0 || !every.is_multiple_of(samples) {
        let message = format!("a row every {every} steps has no whole number of samples every {samples}");
        let near = every.div_ceil(samples).max(1) * samples;
        return Err(source.error(&span, message).hint(format!("for example every = {near}")));
    }
    Ok((every, Some(samples)))
}

fn deformation(fields: &Fields) -> Result<Deformation> {
    let mode = match fields.need::<String>("kind")?.as_str() {
        "tension" => Strain::Tension(fields.need_choice("axis")?),
        _ => Strain::Shear(fields.need_choice("plane")?),
    };
    Ok(Deformation { mode, rate: fields.need("rate")?, every: fields.need("every")? })
}

fn heat_flux(source: &Source, stage: &Fields) -> Result<Option<HeatFluxInput>> {
    let Some(Located { value: fields, .. }) = stage.get::<Fields>("heat_flux") else { return Ok(None) };
    if let Some(other) = ["thermostat", "barostat", "deform"].into_iter().find(|key| stage.has_key(key)) {
        let message = format!("a heat flux is driven at constant energy and volume, without {other}");
        return Err(source.error(&entry_span(stage, "heat_flux"), message).hint(format!(
            "leave out {other} here, and bring the system to its temperature and density in a stage before"
        )));
    }
    let count = |name: &str| fields.need::<u64>(name).map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    let slabs = count("slabs")?;
    HeatFlux::new(slabs).map_err(|e| e.at_span(&source.path, &source.text, entry_span(&fields, "slabs")))?;
    let (axis, every) = (fields.need_choice("axis")?, fields.need("every")?);
    Ok(Some(HeatFluxInput { axis, slabs, every, swaps: count("swaps")? }))
}
