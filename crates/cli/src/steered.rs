//! Free energies from the work of steered runs.

use crate::biased_run::{BiasedRun, moves};
use crate::other_biases::{beside, warning};
use crate::same_energy::{Sampled, refuse_different};
use jostle_analysis::Results;
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result};
use jostle_io::input::model::{Action, BiasAction, BiasInput, StageInput};
use jostle_sampling::free_energy::{Estimate, crooks, jarzynski};

/// The bias that moves in a run.
fn mover(run: &BiasedRun) -> Result<&BiasInput> {
    let mut moving = run.biases().filter(|bias| moves(bias));
    let name = &run.stage().name;
    let Some(bias) = moving.next() else {
        let message = format!("no bias moves in stage '{name}', as one does in another of these runs");
        return Err(Error::file(&run.path, message).hint("give umbrella windows or steered runs, not both"));
    };
    match moving.next() {
        None => Ok(bias),
        Some(second) => Err(Error::file(
            &run.path,
            format!("the biases '{}' and '{}' both move in stage '{name}'", bias.name, second.name),
        )
        .hint("the work of a steered run is that of a single bias")),
    }
}

/// Centre and stiffness at the beginning and at the end.
fn ends(bias: &BiasInput) -> [[f64; 2]; 2] {
    match bias.action {
        BiasAction::Harmonic { center, stiffness } => [[center[0], stiffness[0]], [center[1], stiffness[1]]],
        _ => [[f64::NAN; 2]; 2],
    }
}

/// Refuses a stage after which the bias goes on to move.
fn refuse_unfinished(run: &BiasedRun, bias: &BiasInput) -> Result<()> {
    match run.input.stages[run.stage + 1..].iter().find(|stage| bias.acts_in(&stage.value)) {
        Some(later) => Err(Error::file(
            &run.path,
            format!(
                "bias '{}' goes on in stage '{}', and its work is known at its end",
                bias.name, later.value.name
            ),
        )
        .hint("leave --stage out")),
        None => refuse_gap(run, bias).and_then(|()| refuse_part_of_the_way(run, bias)),
    }
}

/// Refuses stages in which the bias does not act between those in which it does: it is switched off and on again there, by
/// work that is not counted.
fn refuse_gap(run: &BiasedRun, bias: &BiasInput) -> Result<()> {
    let until_here = run.input.stages[..=run.stage].iter().map(|stage| &stage.value);
    let mut since = until_here.skip_while(|stage| !bias.acts_in(stage));
    match since.find(|stage| !bias.acts_in(stage)) {
        Some(without) => Err(Error::file(
            &run.path,
            format!("bias '{}' does not act in stage '{}', on its way", bias.name, without.name),
        )
        .hint(
            "switching it off and on again takes work that is not counted: let it act in all stages between",
        )),
        None => Ok(()),
    }
}

/// Refuses a run that has been interrupted, or ended early, on the way.
fn refuse_part_of_the_way(run: &BiasedRun, bias: &BiasInput) -> Result<()> {
    let acting = || run.input.stages.iter().map(|stage| &stage.value).filter(|stage| bias.acts_in(stage));
    let steps = |stage: &StageInput| match stage.action {
        Action::Dynamics { steps, .. } => steps,
        Action::Minimize { .. } => 0,
    };
    let planned: u64 = acting().map(steps).sum();
    let of_bias = |name: &str| acting().any(|stage| stage.name == name);
    let made: u64 =
        run.files.stages.iter().filter(|report| of_bias(&report.name)).map(|report| report.steps).sum();
    if made < planned {
        let message = format!(
            "bias '{}' has gone a part of its way: {made} of {planned} steps, whose work leads to no end that other \
             runs have",
            bias.name
        );
        return Err(Error::file(&run.path, message).hint("finish it by jostle resume, or leave it out"));
    }
    Ok(())
}

/// Free energy between the ends of a bias that moves in all runs.
///
/// # Errors
/// If runs go between different ends, or are too few.
pub fn free_energy(runs: &[BiasedRun], thermal_energy: f64) -> Result<(String, u64, Results)> {
    let first_mover = mover(&runs[0])?;
    let (variable, first) = (runs[0].variable(first_mover).0, ends(first_mover));
    let back = [first[1], first[0]];
    let (mut forward, mut backward, mut others) = (Vec::new(), Vec::new(), Vec::new());
    let mut movers = Vec::new();
    for run in runs {
        let bias = mover(run)?;
        refuse_unfinished(run, bias)?;
        if run.variable(bias).0 != variable {
            return Err(Error::file(&run.path, format!("this run has no moving bias on '{variable}'")));
        }
        let works = run.column(&format!("{}_work", bias.name))?;
        let work = works.last().copied().unwrap_or(f64::NAN) / thermal_energy;
        match ends(bias) {
            ends if ends == first => forward.push(work),
            ends if ends == back => backward.push(work),
            _ => {
                return Err(Error::file(&run.path, "this run goes between other places than the first one")
                    .hint("give runs between the same two places, in both directions or in one"));
            }
        }
        if let Some(thermo) = &run.files.thermo {
            others.extend(beside((&run.input, thermo), &[run.stage()], &bias.name, |_| true));
        }
        movers.push(bias.name.as_str());
    }
    let sampled: Vec<Sampled> = runs.iter().map(BiasedRun::sampled).collect();
    let acts = |name: &str| runs.iter().flat_map(BiasedRun::biases).any(|bias| bias.name == name);
    let about = "free energy";
    let boxes = refuse_different(&sampled, |name| movers.contains(&name) || !acts(name), about)?;
    let units = runs[0].input.units;
    let unit = unit_name(units, Dimension::ENERGY);
    let mut results = Results::default();
    let mut add = |name: &str, found: Estimate| {
        results.value(name, &unit, (thermal_energy * found.value, Some(thermal_energy * found.error)));
    };
    if forward.len() > 1 {
        add("free energy by Jarzynski's equality", jarzynski(&forward)?);
    }
    if !backward.is_empty() {
        add("free energy by Crooks' theorem", crooks(&forward, &backward)?);
    } else if forward.len() < 2 {
        return Err(Error::input("one steered run gives no free energy")
            .hint("give several, best in both directions"));
    }
    let mut names: Vec<&str> = others.iter().map(|bias| bias.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    results.warnings.extend(boxes.into_iter().chain(warning(&names)));
    Ok((units.name().into(), runs.len() as u64, results))
}
