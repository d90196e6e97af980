//! `[[stage]]`: what is done one after the other.

use super::barostat::barostat;
use super::build::entry_span;
use super::fields::Fields;
use super::group;
use super::long_range::check_long_range;
use super::model::*;
use jostle_core::Result;
use jostle_core::bath::NoseHoover;

pub(super) fn stages(
    source: &Source,
    tables: &[Fields],
    has_waves: bool,
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
        if stages.iter().any(|s| s.value.name == name) {
            return Err(source
                .error(&span, format!("two stages are called \"{name}\""))
                .hint("give each stage a name of its own"));
        }
        let stage = stage(source, fields, name)?;
        check_long_range(source, fields, &stage, has_waves)?;
        stages.push(Located { value: stage, span: fields.span.clone() });
    }
    Ok(stages)
}

fn stage(source: &Source, fields: &Fields, name: String) -> Result<StageInput> {
    let action = match fields.get::<Fields>("minimize") {
        Some(Located { value: minimize, .. }) => Action::Minimize {
            steps: minimize.need("steps")?,
            force_tolerance: minimize.need("force_tolerance")?,
            timestep: minimize.need("timestep")?,
            minimizer: minimize.need_choice("minimizer")?,
        },
        None => Action::Dynamics {
            steps: fields.need("steps")?,
            timestep: fields.need("timestep")?,
            thermostat: fields
                .get::<Fields>("thermostat")
                .map(|t| thermostat(source, &t.value, fields.need("timestep")?))
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
        let settings = jostle_analysis::Settings::of(kind.settings, given);
        let value = MeasureInput {
            every: fields.need("every")?,
            kind,
            settings,
            atoms: group::atoms(source, fields)?,
        };
        Ok(Located { value, span: fields.span.clone() })
    };
    let measures = fields.get::<Vec<Fields>>("measure").map_or_else(Vec::new, |m| m.value);
    Ok(StageInput {
        name,
        thermo_every: fields.need::<Fields>("thermo")?.need("every")?,
        barostat: barostat(source, fields, &action)?,
        action,
        long_range_every: fields.get::<u64>("long_range_every").map_or(1, |every| every.value),
        deformation: fields.get::<Fields>("deform").map(|d| deformation(&d.value)).transpose()?,
        trajectory: fields.get("trajectory").map(trajectory).transpose()?,
        measures: measures.iter().map(measure).collect::<Result<_>>()?,
        checkpoint_every: fields.need::<Fields>("checkpoint")?.need("every")?,
    })
}

fn thermostat(source: &Source, fields: &Fields, timestep: f64) -> Result<Thermostat> {
    let temperature = fields.need("temperature")?;
    Ok(match fields.need::<String>("kind")?.as_str() {
        "bussi" => Thermostat::Bussi { temperature, period: fields.need("period")? },
        "dpd" => Thermostat::Dissipative {
            temperature,
            friction: fields.need("friction")?,
            cutoff: fields.need("cutoff")?,
        },
        "langevin" => Thermostat::Langevin { temperature, friction: fields.need("friction")? },
        "nose-hoover" => {
            let (period, chain) = (fields.need("period")?, fields.need::<u64>("chain")? as usize);
            NoseHoover::check(period, timestep).map_err(|refused| {
                let hint = refused.help().unwrap_or_default().to_owned();
                source.error(&entry_span(fields, "period"), refused.message()).hint(hint)
            })?;
            Thermostat::NoseHoover { temperature, period, chain }
        }
        _ => Thermostat::Rescale { temperature, every: fields.need("every")? },
    })
}

fn deformation(fields: &Fields) -> Result<Deformation> {
    let mode = match fields.need::<String>("kind")?.as_str() {
        "tension" => Strain::Tension(fields.need_choice("axis")?),
        _ => Strain::Shear(fields.need_choice("plane")?),
    };
    Ok(Deformation { mode, rate: fields.need("rate")?, every: fields.need("every")? })
}
