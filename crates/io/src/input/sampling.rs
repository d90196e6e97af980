//! `[[variable]]` and `[[bias]]`

use super::biases_in_stages::{refuse_coarse_steps, refuse_early_ends, refuse_other_temperature};
use super::fields::{Fields, entry_span};
use super::formula::{numbers, place};
use super::group;
use super::model::{
    Action, BiasAction, BiasInput, Input, Located, Source, StageInput, VariableInput, WalkersInput, WallSide,
    WeightsInput,
};
use jostle_core::quantity::nearest;
use jostle_core::{Error, Result, System, UnitSystem, Vec3};
use jostle_sampling::bias::{AbfSettings, MetadynamicsSettings, OpesSettings};
use jostle_sampling::definition::{Arguments, Selections, Value, Values};
use jostle_sampling::group::Weights;
use jostle_sampling::variable::find;
use jostle_sampling::{VariableDefinition, VariableFormula};
use std::collections::HashMap;
use std::ops::Range;

type Variables = [Located<VariableInput>];

/// All `[[variable]]`
pub(super) fn variables(source: &Source, tables: &[Fields]) -> Result<Vec<Located<VariableInput>>> {
    let mut variables: Vec<Located<VariableInput>> = Vec::new();
    for fields in tables {
        let name = group::name(source, fields, "variable")?;
        if name.value == "r" || variables.iter().any(|other| other.value.name.value == name.value) {
            let by = if name.value == "r" { "distance in formulas" } else { "variable before it" };
            let message = format!("the name \"{}\" is taken: it is that of the {by}", name.value);
            return Err(source.error(&name.span, message).hint("choose another name"));
        }
        let value = variable(source, fields, name, &variables)?;
        variables.push(Located { value, span: fields.span.clone() });
    }
    Ok(variables)
}

fn variable(
    source: &Source,
    fields: &Fields,
    name: Located<String>,
    before: &Variables,
) -> Result<VariableInput> {
    let word: String = fields.need("kind")?;
    let kind = find(&word)
        .ok_or_else(|| source.error(&fields.span, format!("there is no kind of variable \"{word}\"")))?;
    let list = |key: &str| -> Result<Vec<Located<crate::Selection>>> {
        let Some(texts) = fields.get::<Vec<String>>(key) else { return Ok(Vec::new()) };
        let wanted = kind.selections.count();
        if texts.value.len() != wanted {
            let message =
                format!("kind = \"{}\" takes {wanted} selections, not {}", kind.name, texts.value.len());
            return Err(source.error(&texts.span, message).hint("each selection is one text in the list"));
        }
        let one = |text: &String| {
            group::selection(source, Located { value: text.clone(), span: texts.span.clone() })
        };
        texts.value.iter().map(one).collect()
    };
    let selections = match kind.selections {
        Selections::None => Vec::new(),
        Selections::One => group::atoms(source, fields)?.into_iter().collect(),
        Selections::Two => list("between")?,
        Selections::Several(_) => list("centers")?,
    };
    let mut values = Vec::new();
    for parameter in kind.parameters {
        let number = || fields.get::<f64>(parameter.name).map(|x| Value::Number(x.value));
        let value = match parameter.values {
            Values::Quantity(_) => number(),
            Values::Count => fields.get::<u64>(parameter.name).map(|x| Value::Number(x.value as f64)),
            Values::Words(_) | Values::Formula | Values::Name => {
                fields.get::<String>(parameter.name).map(|word| Value::Word(word.value))
            }
            Values::Numbers | Values::File => None,
        };
        values.extend(value.map(|value| (parameter.name, value)));
    }
    let formula = match fields.get::<String>("value") {
        Some(text) => Some(formula(source, fields, &text, before)?),
        None => None,
    };
    let reference = fields.get::<String>("reference");
    let reference =
        reference.map(|path| Located { value: source.folder().join(path.value), span: path.span });
    // Pairs have no centres, and need no masses.
    let weights = match kind.weighs_atoms() {
        true => fields.need_choice("weights")?,
        false => WeightsInput::Equal,
    };
    Ok(VariableInput { name, kind, selections, weights, values, reference, formula })
}

/// A formula of variables, with the numbers of its `parameters`.
fn formula(
    source: &Source,
    fields: &Fields,
    text: &Located<String>,
    before: &Variables,
) -> Result<VariableFormula> {
    let known: HashMap<String, f64> = numbers(fields, "parameters").into_iter().collect();
    if let Some(twice) = before.iter().find(|variable| known.contains_key(&variable.value.name.value)) {
        let message = format!("\"{}\" is a variable and a parameter", twice.value.name.value);
        return Err(source.error(&entry_span(fields, "parameters"), message).hint("rename the parameter"));
    }
    let names: Vec<&str> = before.iter().map(|variable| variable.value.name.value.as_str()).collect();
    VariableFormula::new(&text.value, &known, &names).map_err(|mistake| {
        let at = place(source, &text.value, &text.span, &mistake.at);
        source.error(&at, mistake.message).hint(mistake.hint)
    })
}

/// All `[[bias]]`
pub(super) fn biases(
    source: &Source,
    units: UnitSystem,
    tables: &[Fields],
    variables: &Variables,
    stages: &[Located<StageInput>],
) -> Result<Vec<Located<BiasInput>>> {
    let mut biases: Vec<Located<BiasInput>> = Vec::new();
    for fields in tables {
        let name = group::name(source, fields, "bias")?;
        if biases.iter().any(|other| other.value.name == name.value) {
            let message = format!("there are two biases \"{}\"", name.value);
            return Err(source.error(&name.span, message).hint("choose another name for one of them"));
        }
        let acting = acting_stages(source, fields, stages)?;
        let (numbers, action) = action(source, units, fields, variables)?;
        let value = BiasInput { name: name.value, variables: numbers, stages: acting, action };
        refuse_early_ends(source, fields, &value, stages)?;
        refuse_other_temperature(source, units, fields, &value, stages)?;
        refuse_coarse_steps(source, fields, &value, stages)?;
        biases.push(Located { value, span: fields.span.clone() });
    }
    Ok(biases)
}

/// Names of the stages of time steps in `stages`; none where it is not given.
pub(super) fn acting_stages(
    source: &Source,
    fields: &Fields,
    stages: &[Located<StageInput>],
) -> Result<Vec<String>> {
    let Some(named) = fields.get::<Vec<String>>("stages") else { return Ok(Vec::new()) };
    if named.value.is_empty() {
        let message = format!("stages = [] leaves {} without a stage", fields.label);
        return Err(source
            .error(&named.span, message)
            .hint("name stages of time steps, or leave stages out"));
    }
    for name in &named.value {
        let stage = stages.iter().find(|stage| stage.value.name == *name);
        match stage.map(|stage| &stage.value.action) {
            Some(Action::Dynamics { .. }) => {}
            Some(Action::Minimize { .. }) => {
                let message = format!("stage \"{name}\" minimises energy, and has no time steps");
                return Err(source.error(&named.span, message).hint("leave it out"));
            }
            None => {
                let known: Vec<&str> = stages.iter().map(|stage| stage.value.name.as_str()).collect();
                let error = source.error(&named.span, format!("there is no stage \"{name}\""));
                return Err(error.hint(format!("the stages are {}", known.join(", "))));
            }
        }
    }
    Ok(named.value)
}

/// Refuses runs that are to be reproducible and share hills with others, which depends on when those write.
pub(super) fn refuse_reproducible_walkers(input: &Input) -> Result<()> {
    let shares =
        |bias: &&Located<BiasInput>| matches!(bias.value.action, BiasAction::Metadynamics(_, Some(_)));
    match input.biases.iter().find(shares) {
        Some(bias) if input.run.settings.reproducible => {
            let message = format!(
                "bias \"{}\" shares hills with other runs, which is not reproducible: when they come depends on those",
                bias.value.name
            );
            let error = input.source.error(&bias.span, message);
            Err(error.hint("leave out reproducible = true, or walkers"))
        }
        _ => Ok(()),
    }
}

/// Number of the variable of a name.
fn variable_number(source: &Source, name: &str, span: &Range<usize>, variables: &Variables) -> Result<usize> {
    let names = || variables.iter().map(|variable| variable.value.name.value.as_str());
    names().position(|known| known == name).ok_or_else(|| {
        let error = source.error(span, format!("there is no variable \"{name}\""));
        match nearest(name, names()) {
            Some(near) => error.hint(format!("did you mean \"{near}\"?")),
            None if variables.is_empty() => error.hint("define it by [[variable]]"),
            None => error.hint(format!("the variables are {}", names().collect::<Vec<_>>().join(", "))),
        }
    })
}

/// Variables and parameters of a bias.
fn action(
    source: &Source,
    units: UnitSystem,
    fields: &Fields,
    variables: &Variables,
) -> Result<(Vec<usize>, BiasAction)> {
    let kind: String = fields.need("kind")?;
    let one = || -> Result<Vec<usize>> {
        let name: Located<String> = fields.get("variable").ok_or_else(|| missing(fields, "variable"))?;
        Ok(vec![variable_number(source, &name.value, &name.span, variables)?])
    };
    match kind.as_str() {
        "harmonic" => {
            let (center, stiffness) = (fields.need("center")?, fields.need("stiffness")?);
            Ok((one()?, BiasAction::Harmonic { center, stiffness }))
        }
        "linear" => {
            Ok((one()?, BiasAction::Linear { force: fields.need("force")?, center: fields.need("center")? }))
        }
        "torque" => Ok((one()?, BiasAction::Torque { torque: fields.need("torque")? })),
        "wall" => {
            let side: WallSide = fields.need_choice("side")?;
            let (at, stiffness) = (fields.need("at")?, fields.need("stiffness")?);
            Ok((one()?, BiasAction::Wall { at, stiffness, side }))
        }
        "formula" => {
            let text: Located<String> = fields.get("energy").ok_or_else(|| missing(fields, "energy"))?;
            let formula = formula(source, fields, &text, variables)?;
            let (numbers, formula) = formula.numbered();
            Ok((numbers, BiasAction::Formula(formula)))
        }
        "metadynamics" => {
            let numbers = one_or_two(source, fields, variables)?;
            let settings = metadynamics(source, units, fields, (&numbers, variables))?;
            let walkers = fields.get::<String>("walkers").map(|folder| WalkersInput {
                folder: source.folder().join(folder.value),
                every: fields.get::<u64>("walkers_every").map_or(10 * settings.every, |every| every.value),
            });
            Ok((numbers, BiasAction::Metadynamics(settings, walkers)))
        }
        "opes" => {
            let numbers = one_or_two(source, fields, variables)?;
            let settings = OpesSettings {
                barrier: fields.need("barrier")?,
                thermal_energy: units.boltzmann() * fields.need::<f64>("temperature")?,
                width: needed_numbers(source, fields, "width", numbers.len())?,
                every: fields.need("every")?,
            };
            Ok((numbers, BiasAction::Opes(settings)))
        }
        _ => {
            let numbers = one_or_two(source, fields, variables)?;
            let count = numbers.len();
            let spacing = needed_numbers(source, fields, "spacing", count)?;
            let coupling = numbers_of(source, fields, "coupling", count)?;
            let settings = AbfSettings {
                thermal_energy: units.boltzmann() * fields.need::<f64>("temperature")?,
                range: range(source, fields, (&numbers, variables))?,
                coupling: coupling.unwrap_or_else(|| spacing.clone()),
                spacing,
                relaxation: fields.need("relaxation")?,
                full_samples: fields.need("full_samples")?,
            };
            Ok((numbers, BiasAction::Abf(settings)))
        }
    }
}

fn missing(fields: &Fields, key: &str) -> Error {
    Error::input(format!("{} needs \"{key}\"", fields.label))
}

/// One or two variables by name.
fn one_or_two(source: &Source, fields: &Fields, variables: &Variables) -> Result<Vec<usize>> {
    let names: Located<Vec<String>> = fields.get("variables").ok_or_else(|| missing(fields, "variables"))?;
    if names.value.len() == 2 && names.value[0] == names.value[1] {
        let message = format!("variable \"{}\" is there twice", names.value[0]);
        return Err(source.error(&names.span, message).hint("a bias of one variable names it once"));
    }
    if !(1..=2).contains(&names.value.len()) {
        let message = format!("this bias takes one or two variables, not {}", names.value.len());
        return Err(source.error(&names.span, message).hint("write variables = [\"phi\", \"psi\"]"));
    }
    names.value.iter().map(|name| variable_number(source, name, &names.span, variables)).collect()
}

/// Numbers of one or two variables, each its own; `None` where they are not given.
fn numbers_of(source: &Source, fields: &Fields, key: &str, count: usize) -> Result<Option<Vec<f64>>> {
    let Some(numbers) = fields.get::<[f64; 2]>(key) else { return Ok(None) };
    if count == 1 && numbers.value[0] != numbers.value[1] {
        let message = format!("{key} has two numbers, and the bias one variable");
        return Err(source.error(&numbers.span, message).hint("give one number"));
    }
    Ok(Some(numbers.value[..count].to_vec()))
}

fn needed_numbers(source: &Source, fields: &Fields, key: &str, count: usize) -> Result<Vec<f64>> {
    numbers_of(source, fields, key, count)?.ok_or_else(|| missing(fields, key))
}

/// First and last values of one or two variables; NaN where they are not given. A grid goes once round a period, so that
/// what is given for such a variable beside another one are the ends of its period.
fn range(
    source: &Source,
    fields: &Fields,
    (numbers, variables): (&[usize], &Variables),
) -> Result<Vec<[f64; 2]>> {
    for (key, sign) in [("lower", -0.5), ("upper", 0.5)] {
        let Some(given) = fields.get::<[f64; 2]>(key) else { continue };
        for (k, number) in numbers.iter().enumerate() {
            let variable = &variables[*number].value;
            let Some(period) = variable.kind.period() else { continue };
            let end = sign * period;
            if numbers.len() == 2 && (given.value[k] - end).abs() < 0.01 * period {
                continue;
            }
            let message = format!(
                "{key} of variable \"{}\", which has a period: bins and grids go once round it",
                variable.name.value
            );
            let hint = match numbers.len() {
                1 => format!(
                    "leave {key} out; a bias of kind = \"formula\" with its cosine holds it in a range"
                ),
                _ => format!(
                    "write {end:.4} for it; a bias of kind = \"formula\" with its cosine holds it in a range"
                ),
            };
            return Err(source.error(&given.span, message).hint(hint));
        }
    }
    let end = |key: &str| {
        Ok(numbers_of(source, fields, key, numbers.len())?.unwrap_or_else(|| vec![f64::NAN; numbers.len()]))
    };
    let (lower, upper): (Vec<f64>, Vec<f64>) = (end("lower")?, end("upper")?);
    Ok(lower.into_iter().zip(upper).map(|(lower, upper)| [lower, upper]).collect())
}

fn metadynamics(
    source: &Source,
    units: UnitSystem,
    fields: &Fields,
    (numbers, variables): (&[usize], &Variables),
) -> Result<MetadynamicsSettings> {
    let count = numbers.len();
    let width = needed_numbers(source, fields, "width", count)?;
    let spacing = numbers_of(source, fields, "spacing", count)?;
    let tempering = match (fields.get::<f64>("bias_factor"), fields.get::<f64>("temperature")) {
        (None, _) => None,
        (Some(factor), _) if factor.value <= 1.0 => {
            let message = format!("bias_factor = {} is not greater than 1", factor.value);
            return Err(source
                .error(&factor.span, message)
                .hint("10 is usual; leave it out for hills that keep their height"));
        }
        (Some(factor), None) => {
            return Err(source
                .error(&factor.span, "hills that become lower need a temperature")
                .hint("add temperature = ..., that of the thermostat"));
        }
        (Some(factor), Some(temperature)) => Some([factor.value, units.boltzmann() * temperature.value]),
    };
    Ok(MetadynamicsSettings {
        spacing: spacing.unwrap_or_else(|| width.iter().map(|width| 0.2 * width).collect()),
        width,
        height: fields.need("height")?,
        every: fields.need("every")?,
        tempering,
        range: range(source, fields, (numbers, variables))?,
    })
}

impl Input {
    /// The variables of the input, with the atoms that were chosen in a system; `read_reference` gives the positions
    /// of a file for some atoms.
    ///
    /// # Errors
    /// If atoms were chosen by another input, or a file cannot be read.
    pub fn variable_definitions(
        &self,
        system: &System,
        read_reference: impl Fn(&std::path::Path, &[u32]) -> Result<Vec<Vec3>>,
    ) -> Result<Vec<VariableDefinition>> {
        let one = |variable: &Located<VariableInput>| {
            let given = &variable.value;
            let groups = given.selections.iter().map(|atoms| self.chosen(system, atoms).map(<[u32]>::to_vec));
            let groups: Vec<Vec<u32>> = groups.collect::<Result<_>>()?;
            let reference = match (&given.reference, groups.first()) {
                (Some(path), Some(atoms)) => Some(
                    read_reference(&path.value, atoms)
                        .map_err(|e| e.at_span(&self.source.path, &self.source.text, path.span.clone()))?,
                ),
                _ => None,
            };
            let arguments = Arguments {
                groups: Vec::new(),
                values: given.values.clone(),
                reference,
                formula: given.formula.clone(),
            };
            let weights = match given.weights {
                WeightsInput::Mass => Weights::Mass,
                WeightsInput::Equal => Weights::Equal,
            };
            Ok(VariableDefinition {
                name: given.name.value.clone(),
                kind: given.kind,
                groups,
                weights,
                arguments,
            })
        };
        self.variables.iter().map(one).collect()
    }
}
