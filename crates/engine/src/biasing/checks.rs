//! Checks of variables and biases where a run begins: errors that point into its input.

use jostle_core::{Error, Result, System, Vec3};
use jostle_io::Input;
use jostle_io::input::model::{BiasAction, BiasInput};
use jostle_sampling::Variables;

/// The error of a variable, at its table in the input.
pub(super) fn at_variable(input: &Input, error: Error) -> Error {
    let named = input
        .variables
        .iter()
        .find(|variable| error.message().starts_with(&format!("variable '{}'", variable.value.name.value)));
    match named {
        Some(variable) => {
            error.of_input().at_span(&input.source.path, &input.source.text, variable.span.clone())
        }
        None => error,
    }
}

/// Refuses variables that are not defined where the run begins, and biases that make no sense there.
///
/// # Errors
/// If there are such; errors point into the input.
pub(super) fn check_start(input: &Input, system: &System, variables: &Variables) -> Result<()> {
    check_defined(input, system, variables)?;
    check_sites(input, system, variables)?;
    check_jumps(input, system, variables)?;
    check_turns(input, system, variables)
}

/// Refuses variables that are not defined where the run begins.
fn check_defined(input: &Input, system: &System, variables: &Variables) -> Result<()> {
    if variables.take_energies() {
        // They are not known before forces are.
        return Ok(());
    }
    let positions = positions_of(variables, system);
    variables.evaluate(&system.simbox, &positions).map(|_| ()).map_err(|e| at_variable(input, e))
}

/// Unwrapped positions of the atoms of variables.
fn positions_of(variables: &Variables, system: &System) -> Vec<Vec3> {
    let index_by_id = system.state.index_by_id();
    let position = |id: &u32| system.state.unwrapped_position(&system.simbox, index_by_id.of(*id));
    variables.atoms().iter().map(position).collect()
}

/// Refuses biases whose forces act on virtual sites where the run begins: devices pass forces on sites on to atoms before
/// those of biases are there.
fn check_sites(input: &Input, system: &System, variables: &Variables) -> Result<()> {
    let mut sites: Vec<u32> = system.topology.virtual_sites.iter().map(|v| v.site).collect();
    if sites.is_empty() || input.biases.is_empty() || variables.take_energies() {
        return Ok(());
    }
    sites.sort_unstable();
    let positions = positions_of(variables, system);
    let evaluated = variables.evaluate(&system.simbox, &positions).map_err(|e| at_variable(input, e))?;
    for bias in &input.biases {
        for number in &bias.value.variables {
            let slopes: Vec<f64> = (0..variables.len()).map(|k| f64::from(u8::from(k == *number))).collect();
            let forces = evaluated.forces(&slopes).forces;
            let acting = variables.atoms().iter().zip(&forces).filter(|(_, force)| **force != [0.0; 3]);
            let mut acting: Vec<u32> = acting.map(|(id, _)| *id).collect();
            if acting.is_empty() {
                // A deviation from the positions at the start has no derivative yet.
                acting = variables.weighing_atoms(*number);
            }
            let Some(id) = acting.iter().find(|id| sites.binary_search(id).is_ok()) else { continue };
            let message = format!(
                "a bias on variable '{}' acts on {}, a virtual site without mass",
                variables.name(*number),
                system.names.describe(*id)
            );
            let error = Error::input(message).hint("choose the atoms that the site follows");
            return Err(error.at_span(&input.source.path, &input.source.text, bias.span.clone()));
        }
    }
    Ok(())
}

/// Refuses biases on a formula, or an energy as a formula, that jumps where one of its variables goes once round its
/// period: no force has a part of that, and adaptive ones would tear atoms through the jump.
fn check_jumps(input: &Input, system: &System, variables: &Variables) -> Result<()> {
    let positions = positions_of(variables, system);
    let configuration = (&system.simbox, &positions[..]);
    for bias in &input.biases {
        let BiasInput { name, variables: numbers, action, .. } = &bias.value;
        let refuse = |what: &str, (turned, jump): (usize, f64)| {
            let turned = variables.name(turned);
            let message = format!(
                "bias '{name}' {what}, which jumps by {jump:.4} where '{turned}' goes once round its period"
            );
            let hint = format!(
                "let it act on '{turned}' itself, or on a formula that does not jump: sin({turned}), cos({turned})"
            );
            let error = Error::input(message).hint(hint);
            Err(error.at_span(&input.source.path, &input.source.text, bias.span.clone()))
        };
        if let BiasAction::Formula(formula) = action {
            let count = numbers.iter().max().map_or(0, |last| last + 1);
            let energy = |values: &[f64]| {
                formula.value(&numbers.iter().map(|number| values[*number]).collect::<Vec<f64>>())
            };
            let found = variables.jump(configuration, count, energy).map_err(|e| at_variable(input, e))?;
            found.map_or(Ok(()), |jump| refuse("has an energy", jump))?;
            continue;
        }
        for number in numbers {
            let found = variables.jump(configuration, *number, |values| values[*number]);
            let found = found.map_err(|e| at_variable(input, e))?;
            let formula = format!("acts on variable '{}'", variables.name(*number));
            found.map_or(Ok(()), |jump| refuse(&formula, jump))?;
        }
    }
    Ok(())
}

/// Refuses biases that hold a variable where other images of its centres become the nearest, by which its value jumps, and
/// a beginning there.
fn check_turns(input: &Input, system: &System, variables: &Variables) -> Result<()> {
    let positions = positions_of(variables, system);
    let evaluated = match variables.take_energies() {
        true => None,
        false => Some(variables.evaluate(&system.simbox, &positions).map_err(|e| at_variable(input, e))?),
    };
    for bias in &input.biases {
        let BiasInput { name, variables: numbers, action, .. } = &bias.value;
        let (what, places) = match action {
            BiasAction::Harmonic { center, .. } => ("center", &center[..]),
            BiasAction::Wall { at, .. } => ("at", std::slice::from_ref(at)),
            _ => ("", &[][..]),
        };
        let at = |e: Error| e.of_input().at_span(&input.source.path, &input.source.text, bias.span.clone());
        for number in numbers {
            let beyond = |place: &f64| variables.check_reach(&system.simbox, *number, *place);
            places.iter().try_for_each(beyond).map_err(|e| {
                at(e.context(format!("bias '{name}' has {what} where it cannot hold the variable")))
            })?;
            let begins = evaluated.as_ref().map_or(Ok(()), |evaluated| evaluated.check_turns(*number));
            begins.map_err(|e| at(e.context(format!("bias '{name}', where the run begins"))))?;
        }
    }
    Ok(())
}
