//! Conditions under which runs exchange atoms: the same atoms and stages, boxes that each stage can give, and nothing
//! that follows the path of an atom.

use crate::Simulation;
use jostle_analysis::kinds::Frames;
use jostle_core::{Error, Result, SimBox};
use jostle_io::Input;
use jostle_io::input::model::{Action, BiasAction, Coupling, StageInput};

/// Steps of a stage in which atoms are exchanged; `None` for one without a thermostat.
pub(super) fn exchanging_steps(stage: &StageInput) -> Option<u64> {
    match stage.action {
        Action::Dynamics { steps, thermostat: Some(_), .. } => Some(steps),
        _ => None,
    }
}

/// Returns true for a stage that is long enough for an exchange.
fn exchanges(stage: &StageInput, every: u64) -> bool {
    exchanging_steps(stage).is_some_and(|steps| steps > every)
}

fn refused(why: impl std::fmt::Display) -> Error {
    Error::input(format!("no replica exchange: {why}"))
}

/// Refuses runs of these inputs that cannot exchange atoms; `under_way` is the index of the stage under way or next.
pub(super) fn check(
    simulations: &[Simulation],
    inputs: &[(String, Input)],
    every: u64,
    under_way: usize,
) -> Result<()> {
    let Some((first, others)) = simulations.split_first() else { return Ok(()) };
    let stages = first.stages();
    if !stages.iter().any(|stage| exchanges(stage, every)) {
        return Err(refused(format!("no stage has a thermostat and more than {every} steps")));
    }
    for (simulation, (_, input)) in simulations.iter().zip(inputs) {
        check_stages(simulation.stages(), input, every)?;
        check_biases(simulation.stages(), input, every)?;
    }
    for (other, (name, _)) in others.iter().zip(&inputs[1..]) {
        let pair = format!("{} and {name}", inputs[0].0);
        let alike = (other.species(), other.topology()) == (first.species(), first.topology())
            && other.n_atoms() == first.n_atoms()
            && other.driven() == first.driven();
        if !alike {
            return Err(refused(format!("{pair} are not of the same atoms")));
        }
        let steps = |stage: &StageInput| (stage.name.clone(), exchanging_steps(stage), coupling(stage));
        if !other.stages().iter().map(steps).eq(stages.iter().map(steps)) {
            return Err(refused(format!("{pair} do not have the same stages"))
                .hint("stages have the same names, steps and edges that a barostat changes in all runs"));
        }
    }
    // Boxes are those of the next exchange, unless a stage before it changes them.
    let mut left = stages.iter().skip(under_way);
    match left.find(|stage| exchanges(stage, every) || changes_box(stage)) {
        Some(stage) => {
            let names: Vec<String> = inputs.iter().map(|(name, _)| name.clone()).collect();
            check_boxes(simulations, &names, every, stage)
        }
        None => Ok(()),
    }
}

/// Refuses stages of a run in which no atoms can be exchanged though they have a thermostat.
fn check_stages(stages: &[StageInput], input: &Input, every: u64) -> Result<()> {
    // The stage before that gives the box most freedom.
    let mut freest: Option<&StageInput> = None;
    for (k, stage) in stages.iter().enumerate() {
        let located = |error: Error| match input.stages.get(k) {
            Some(located) => error.at_span(&input.source.path, &input.source.text, located.span.clone()),
            None => error,
        };
        if exchanging_steps(stage).is_some() {
            check_stage(stage, every).map_err(located)?;
        }
        if let Some(before) = freest.filter(|before| coupling(before) > coupling(stage))
            && exchanges(stage, every)
        {
            return Err(located(boxes_differ(before, stage)));
        }
        if coupling(stage) > freest.and_then(coupling) {
            freest = Some(stage);
        }
    }
    Ok(())
}

/// Error of a stage that keeps what a barostat before it has made different in each replica.
fn boxes_differ(before: &StageInput, stage: &StageInput) -> Error {
    let (before, name) = (&before.name, &stage.name);
    let what = if stage.barostat.is_some() { "shape of its box" } else { "box" };
    refused(format!(
        "each replica has another {what} after the barostat of stage '{before}', and stage '{name}' keeps it"
    ))
    .hint(
        "give both stages the same barostat, or find the box in a run before, and begin all replicas with it",
    )
}

fn check_stage(stage: &StageInput, every: u64) -> Result<()> {
    let name = &stage.name;
    if stage.until.is_some() || stage.deformation.is_some() {
        return Err(refused(format!("stage '{name}' ends by a condition, or deforms the box")));
    }
    if let Some(measure) =
        stage.measures.iter().find(|measure| measure.value.kind.frames == Frames::AlongPath)
    {
        let what = measure.value.kind.name;
        return Err(refused(format!(
            "stage '{name}' measures {what} along the path of atoms, and replicas have atoms of each other by turns"
        )));
    }
    if !every.is_multiple_of(stage.long_range_every.max(1)) {
        let period = stage.long_range_every;
        return Err(refused(format!("{every} steps are no multiple of long_range_every = {period}")));
    }
    Ok(())
}

/// Refuses biases whose work, or whose energy, is a sum along the path of atoms.
fn check_biases(stages: &[StageInput], input: &Input, every: u64) -> Result<()> {
    for located in &input.biases {
        let bias = &located.value;
        let why = match &bias.action {
            BiasAction::Harmonic { center, stiffness }
                if center[0] != center[1] || stiffness[0] != stiffness[1] =>
            {
                "does work on atoms that it pulls along"
            }
            BiasAction::Torque { .. } => "counts the turns of atoms",
            _ => continue,
        };
        let acts = |stage: &&StageInput| bias.stages.is_empty() || bias.stages.contains(&stage.name);
        if let Some(stage) = stages.iter().filter(acts).find(|stage| exchanges(stage, every)) {
            let (name, stage) = (&bias.name, &stage.name);
            return Err(refused(format!(
                "bias '{name}' {why} in stage '{stage}', and replicas have atoms of each other by turns"
            ))
            .at_span(&input.source.path, &input.source.text, located.span.clone()));
        }
    }
    Ok(())
}

/// Freedom that a stage gives the box; `None`: it stays as it is.
fn coupling(stage: &StageInput) -> Option<Coupling> {
    stage.barostat.map(|barostat| barostat.coupling())
}

fn changes_box(stage: &StageInput) -> bool {
    stage.barostat.is_some() || stage.deformation.is_some()
}

/// Refuses boxes of replicas that differ otherwise than by what a stage changes, if it exchanges atoms: each would have
/// averages over boxes of the others.
pub(super) fn check_boxes(
    simulations: &[Simulation],
    names: &[String],
    every: u64,
    stage: &StageInput,
) -> Result<()> {
    let Some((first, others)) = simulations.split_first().filter(|_| exchanges(stage, every)) else {
        return Ok(());
    };
    let (what, hint) = match coupling(stage) {
        None => ("boxes", "let all replicas begin with the same box, or give the stage a barostat"),
        Some(_) => ("shapes of their boxes", "let all replicas begin with boxes of the same shape"),
    };
    let differs = |other: &Simulation| match coupling(stage) {
        None => other.simbox() != first.simbox(),
        Some(coupling) => !have_same_shape(first.simbox(), other.simbox(), coupling),
    };
    match others.iter().zip(&names[1..]).find(|(other, _)| differs(other)) {
        Some((_, name)) => Err(refused(format!(
            "{} and {name} have different {what}, which stage '{}' keeps",
            names[0], stage.name
        ))
        .hint(hint)),
        None => Ok(()),
    }
}

/// Returns true if a barostat could make one box of the other.
fn have_same_shape(a: &SimBox, b: &SimBox, coupling: Coupling) -> bool {
    /// Relative rounding that many changes of a volume add up to.
    const ROUNDING: f64 = 1e-6;
    let near = |x: f64, y: f64| (x - y).abs() <= ROUNDING;
    let [x, y, z] = std::array::from_fn(|k| a.lengths()[k] / b.lengths()[k]);
    let edges = match coupling {
        Coupling::Isotropic => near(x / y, 1.0) && near(x / z, 1.0),
        Coupling::SemiIsotropic => near(x / y, 1.0),
        Coupling::Anisotropic => true,
    };
    // A tilt changes with the edge along which it leans.
    let tilts = |of: &SimBox| {
        let ([x, y, _], [xy, xz, yz]) = (of.lengths(), of.tilts());
        [xy / x, xz / x, yz / y]
    };
    edges && tilts(a).into_iter().zip(tilts(b)).all(|(a, b)| near(a, b))
}
