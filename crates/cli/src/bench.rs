//! `jostle bench`

use crate::arguments::Bench;
use crate::example::{self, Example};
use crate::machine::Machine;
use crate::numbers::{grouped, significant};
use crate::output;
use jostle_core::backend::Timings;
use jostle_core::{Error, Result};
use jostle_engine::model::{Action, AtomsInput, LatticeExtent};
use jostle_engine::{Overrides, Progress, Simulation, StageStart};
use jostle_io::Input;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::time::Instant;

/// No stage before the timed one takes more steps than this.
const EQUILIBRATION: u64 = 500;
/// Steps of the timed stage before the clock starts: for the skin to settle, too.
const WARM_UP: u64 = 600;
/// Steps between two readings of the clock; several rebuilds of the list.
const LAP: u64 = 50;

/// A built-in case: an example, maybe of another size.
#[derive(Debug, Clone, Copy)]
struct Case {
    name: &'static str,
    example: Example,
    atoms: Option<usize>,
}

const CASES: &[Case] = &[
    Case { name: "melt-32k", example: example::MELT, atoms: Some(32_000) },
    Case { name: "melt", example: example::MELT, atoms: None },
    Case { name: "soft-spheres", example: example::SOFT_SPHERES, atoms: None },
    Case { name: "lennard-jones-rapaport", example: example::LENNARD_JONES_RAPAPORT, atoms: None },
];

impl Case {
    fn input(&self) -> Result<Input> {
        let mut input = self.example.input()?;
        if let (Some(n), AtomsInput::Lattice { extent, .. }) = (self.atoms, &mut input.system.atoms.value) {
            *extent = LatticeExtent::Atoms(n);
        }
        Ok(input)
    }
}

/// What a case came to.
#[derive(Debug, Clone)]
struct Measured {
    name: String,
    atoms: usize,
    device: String,
    threads: usize,
    /// Seconds per step of every lap, sorted.
    laps: Vec<f64>,
    /// Shares of the time.
    pair: f64,
    neighbors: f64,
    integrate: f64,
    /// Bytes an atom.
    bytes: f64,
    skin: f64,
}

impl Measured {
    fn seconds_per_step(&self) -> f64 {
        self.laps[self.laps.len() / 2]
    }

    fn nanoseconds(&self, seconds_per_step: f64) -> f64 {
        1e9 * seconds_per_step / self.atoms as f64
    }

    fn to_json(&self) -> Value {
        let laps: Vec<_> = self.laps.iter().map(|seconds| self.nanoseconds(*seconds)).collect();
        json!({
            "case": self.name,
            "atoms": self.atoms,
            "device": self.device,
            "threads": self.threads,
            "ns_per_atom_step": self.nanoseconds(self.seconds_per_step()),
            "steps_per_second": 1.0 / self.seconds_per_step(),
            "laps_ns_per_atom_step": laps,
            "steps_per_lap": LAP,
            "time": {
                "pair": self.pair,
                "neighbors": self.neighbors,
                "integrate": self.integrate,
                "other": 1.0 - self.pair - self.neighbors - self.integrate,
            },
            "bytes_per_atom": self.bytes,
            "skin": self.skin,
        })
    }

    fn row(&self) -> String {
        let percent = |share: f64| format!("{:.0}%", 100.0 * share);
        let columns = [
            grouped(self.atoms as u64),
            significant(self.nanoseconds(self.seconds_per_step()), 3),
            significant(1.0 / self.seconds_per_step(), 4),
            percent(self.pair),
            percent(self.neighbors),
            percent(self.integrate),
        ];
        row(&self.name, columns)
    }
}

/// A line of the table.
fn row(name: &str, columns: [String; 6]) -> String {
    let [atoms, nanoseconds, steps, pair, neighbors, integrate] = columns;
    format!("{name:<24}{atoms:>9}{nanoseconds:>14}{steps:>10}{pair:>9}{neighbors:>8}{integrate:>14}\n")
}

/// Which stage runs, told by the simulation itself.
struct CurrentStage<'a>(&'a Cell<usize>);

impl Progress for CurrentStage<'_> {
    fn stage_begins(&mut self, stage: &StageStart) {
        self.0.set(stage.index);
    }
}

/// Measures one case, or all built-in ones.
///
/// # Errors
/// If there is no such case or file, or it cannot run.
pub fn bench(options: &Bench) -> Result<()> {
    if !(options.seconds > 0.0 && options.seconds.is_finite()) {
        return Err(Error::input(format!("--seconds {} is no time to measure for", options.seconds)));
    }
    let overrides = options.compute.overrides();
    let mut inputs = Vec::new();
    match &options.case {
        None => {
            for case in CASES {
                inputs.push((case.name.to_string(), case.input()?));
            }
        }
        Some(name) => inputs.push((name.clone(), named(name)?)),
    }
    let mut rows = Vec::new();
    for (number, (name, input)) in inputs.into_iter().enumerate() {
        say!("{name}: warming up, then measuring for {} s", options.seconds);
        let measured = measure(name, input, &overrides, options.seconds)?;
        if options.format.json {
            rows.push(measured.to_json());
            continue;
        }
        if number == 0 {
            let columns = ["atoms", "ns/atom-step", "steps/s", "forces", "lists", "integration"];
            output::print(&format!("{}\n\n{}", measured.device, row("case", columns.map(str::to_string))))?;
        }
        output::print(&measured.row())?;
    }
    if options.format.json {
        output::print_json(&json!({ "cases": rows }))?;
    }
    Ok(())
}

/// A built-in case, or the input file of this name.
fn named(name: &str) -> Result<Input> {
    if let Some(case) = CASES.iter().find(|case| case.name == name) {
        return case.input();
    }
    let path = Path::new(name);
    if path.extension().is_some() || path.exists() {
        return Input::read(path);
    }
    let names = CASES.iter().map(|case| case.name).collect::<Vec<_>>().join(", ");
    Err(Error::input(format!("there is no case '{name}'")).hint(format!("one of {names}, or an input file")))
}

/// Runs an input up to its last stage, warms up, and times laps of that stage.
fn measure(name: String, mut input: Input, overrides: &Overrides, seconds: f64) -> Result<Measured> {
    let Some(last) = input.stages.len().checked_sub(1) else {
        return Err(Error::input(format!("{name} has no [[stage]], so there is nothing to time")));
    };
    for (index, stage) in input.stages.iter_mut().enumerate() {
        let stage = &mut stage.value;
        (stage.thermo_every, stage.trajectory, stage.checkpoint_every) = (0, None, 0);
        match &mut stage.action {
            Action::Dynamics { steps, .. } if index == last => *steps = u64::MAX,
            Action::Minimize { .. } if index == last => {
                return Err(Error::input(format!("the last stage of {name} is a minimisation"))
                    .hint("time steps are measured; add a stage with steps"));
            }
            Action::Dynamics { steps, .. } | Action::Minimize { steps, .. } => {
                *steps = (*steps).min(EQUILIBRATION)
            }
        }
    }
    let threads = overrides.threads.or(input.run.settings.threads).unwrap_or_else(|| Machine::look().cores);
    let mut simulation = Simulation::from_input(&input, overrides)?;
    let (stage, warm) = (Cell::new(0), Cell::new(0));
    simulation.run_with(&mut CurrentStage(&stage), &|| {
        warm.set(warm.get() + u64::from(stage.get() == last));
        warm.get() == WARM_UP
    })?;

    let before = simulation.backend().timings();
    let (begun, steps) = (Instant::now(), Cell::new(0));
    let marks = RefCell::new(Vec::new());
    simulation.run_with(&mut (), &|| {
        if steps.get() % LAP == 0 {
            marks.borrow_mut().push(Instant::now());
        }
        steps.set(steps.get() + 1);
        marks.borrow().len() > 1 && begun.elapsed().as_secs_f64() > seconds
    })?;
    let elapsed = begun.elapsed().as_secs_f64();
    let marks = marks.into_inner();
    let mut laps: Vec<_> = marks.windows(2).map(|m| (m[1] - m[0]).as_secs_f64() / LAP as f64).collect();
    laps.sort_by(f64::total_cmp);

    let backend = simulation.backend();
    let (after, facts, atoms) = (backend.timings(), backend.neighbor_facts(), backend.n_atoms());
    let share = |part: fn(&Timings) -> f64| (part(&after) - part(&before)) / elapsed;
    Ok(Measured {
        name,
        atoms,
        device: backend.describe(),
        threads,
        laps,
        pair: share(|t| t.pair),
        neighbors: share(|t| t.neighbors),
        integrate: share(|t| t.integrate),
        bytes: facts.bytes as f64 / atoms as f64,
        skin: facts.skin,
    })
}
