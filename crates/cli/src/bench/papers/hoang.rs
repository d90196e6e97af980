//! Hoang Van Hue and others' paper on a program over all pairs.

use super::session::Session;
use super::table::{Finding, PaperRow, PaperTable, Verdict, linear, log_log};
use super::{LeftOut, NO_GPU, Paper, cpu_and_gpu};
use crate::bench::cases::{cut_at_half_the_box, resize};
use crate::numbers::{grouped, significant};
use jostle_analysis::{Measure, MeasureSettings, Polarity, SystemInfo, View, kinds};
use jostle_core::{Algorithm, Error, Processor, Result, UnitSystem, Vec3};
use jostle_engine::{Context, Observer};
use jostle_io::Input;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};

/// The paper.
pub const PAPER: Paper = Paper {
    name: "hoang",
    citation: "Hoang Van Hue and others, Commun. Phys. 21 (2011) 131: all pairs, cut at half the box",
    machine: "GeForce GTS 250; a PC",
    tables: &[distributions, sizes, steps],
    left_out: &[
        LeftOut {
            what: "block sizes 32 to 512",
            why: "how many threads share an atom is measured at the start of a run",
        },
        LeftOut {
            what: "silica with lithia, 3000 atoms",
            why: "the paper gives neither the potential nor its parameters",
        },
        LeftOut {
            what: "liquid iron, 100,000 atoms in 30 hours",
            why: "the paper does not say how many steps that takes; `jostle new liquid-iron` is a system of this size",
        },
    ],
};

/// Atoms placed at random that do not overlap, as he begins.
const SYSTEM: &str = r#"
title = "Lennard-Jones atoms"
units = "lj"

[system]
place = "random"
atoms = 1024
density = 0.8
temperature = 1.0
seed = 2011

[species.A]
mass = 1

[[force]]
kind = "lennard-jones"
cutoff = 3
pairs."A-A" = { epsilon = 1, sigma = 1 }

[[stage]]
name = "push-apart"
minimize = { steps = 500 }

[[stage]]
name = "settle"
steps = 1000
timestep = 0.004
thermostat = { kind = "bussi", temperature = 1.0, period = 0.1 }

[[stage]]
name = "sample"
steps = 4000
timestep = 0.004
"#;
/// Numbers of atoms in figure 2.
const SIZES: [usize; 4] = [1_024, 2_048, 4_096, 8_192];
/// Numbers of steps in figure 2; a run that would take longer than so many seconds is left out.
const STEPS: [u64; 4] = [1_000, 2_000, 4_000, 8_000];
const PATIENCE: f64 = 60.0;
/// Steps between configurations of which figure 1 is a mean.
const EVERY: u64 = 20;

/// System of so many atoms, each pair within half the box.
fn system(atoms: usize, here: Processor) -> Result<Input> {
    let mut input = Input::parse(Path::new("hoang.toml"), SYSTEM)?;
    resize(&mut input, atoms);
    cut_at_half_the_box(&mut input);
    if here == Processor::Gpu {
        input.run.settings.algorithm = Algorithm::AllPairs;
    }
    Ok(input)
}

/// Observer that sends positions.
struct Positions(Sender<Vec<Vec3>>);

impl Observer for Positions {
    fn every(&self) -> u64 {
        EVERY
    }

    fn observe(&mut self, context: &mut Context) -> Result<()> {
        if context.stage() == "sample" {
            // The receiver lives as long as the simulation.
            let _ = self.0.send(context.state()?.position.clone());
        }
        Ok(())
    }
}

/// g(r) of the last stage of a simulation: distances, and values.
fn distribution(name: &str, session: &Session, input: Input) -> Result<(Vec<f64>, Vec<f64>, String)> {
    let mut simulation = session.simulation(name, input)?;
    let (sender, positions): (_, Receiver<Vec<Vec3>>) = channel();
    simulation.observe(Positions(sender));
    simulation.run()?;
    let simbox = *simulation.simbox();
    let atoms = simulation.backend().n_atoms();
    let system = SystemInfo {
        units: UnitSystem::Lj,
        names: vec!["A".into()],
        species: vec![0; atoms],
        simbox,
        polarity: Polarity::Uncharged,
        unmoved: 0,
    };
    let kind = kinds::find("rdf").ok_or_else(|| Error::input("there is no analysis rdf"))?;
    let mut rdf: Box<dyn Measure> = kind.measure(&system, &MeasureSettings::default())?;
    for positions in positions.try_iter() {
        rdf.add(&View {
            time: None,
            simbox: &simbox,
            lattice: &simbox,
            positions: &positions,
            unwrapped: &positions,
            images: None,
            molecules: None,
            velocities: None,
            whole: None,
        })?;
    }
    let results = rdf.results()?;
    let columns = results.tables.first().map(|table| table.columns.as_slice()).unwrap_or_default();
    let [r, g, ..] = columns else { return Err(Error::input("g(r) has no columns")) };
    Ok((r.values.clone(), g.values.clone(), simulation.backend().describe()))
}

/// Figure 1: g(r) on both kinds of device.
fn distributions(session: &Session) -> Result<PaperTable> {
    let (mut curves, mut devices) = (Vec::new(), Vec::new());
    // Fewer where the plain loop over all pairs takes the place of a GPU.
    let atoms = if session.here == Processor::Gpu { 2_048 } else { 512 };
    for session in session.processors() {
        let (r, g, device) = distribution("g(r)", &session, system(atoms, session.here)?)?;
        curves.push((session.processor(), r.into_iter().zip(g).collect::<Vec<_>>()));
        devices.push(device);
    }
    if let [_] = curves[..] {
        // Where there is no GPU, the plain loop over all pairs in double precision.
        let mut input = system(atoms, Processor::Cpu)?;
        input.run.settings.algorithm = Algorithm::Reference;
        let (r, g, device) = distribution("g(r), the plain loop", session, input)?;
        curves.push(("plain loop", r.into_iter().zip(g).collect()));
        devices.push(device);
    }
    let peak = |curve: &[(f64, f64)]| curve.iter().copied().max_by(|a, b| a.1.total_cmp(&b.1));
    let apart = curves[0].1.iter().zip(&curves[1].1).map(|(a, b)| (a.1 - b.1).abs()).fold(0.0, f64::max);
    let row = |(name, curve): &(&str, Vec<(f64, f64)>)| {
        let (at, height) = peak(curve).unzip();
        PaperRow { name: name.to_string(), numbers: vec![at, height] }
    };
    Ok(PaperTable {
        title: format!("Figure 1: radial distribution function, {} atoms", grouped(atoms as u64)),
        unit: "distance, height",
        device: devices.join("; "),
        columns: vec!["first peak at", "height"],
        rows: curves.iter().map(row).collect(),
        digits: 3,
        finding: Finding {
            then: "both programs give the same function",
            verdict: Verdict::of(apart < 0.1),
            now: format!(
                "they differ by at most {}, the noise of 200 configurations on different paths",
                significant(apart, 2)
            ),
        },
        figure: linear("hoang-distribution", "Radial distribution function", ["r", "g(r)"], curves),
    })
}

/// Figure 2: time and gain by the number of atoms.
fn sizes(session: &Session) -> Result<PaperTable> {
    let (mut times, mut devices) = (Vec::new(), Vec::new());
    for session in session.processors() {
        let mut of = Vec::new();
        for atoms in SIZES {
            let name = format!("{} atoms, every pair", grouped(atoms as u64));
            let measured = session.measure(&name, system(atoms, session.here)?)?;
            of.push(1e3 * measured.seconds_per_step());
            devices.push(measured.device);
        }
        times.push(of);
    }
    devices.dedup();
    let row = |(k, atoms): (usize, &usize)| {
        let time = |device: usize| times.get(device).and_then(|of| of.get(k).copied());
        cpu_and_gpu(format!("{} atoms", grouped(*atoms as u64)), time(0), time(1))
    };
    let rows: Vec<PaperRow> = SIZES.iter().enumerate().map(row).collect();
    let gains: Vec<f64> = rows.iter().filter_map(|row| row.numbers[2]).collect();
    let curve = |device: usize| {
        let of = times.get(device).map_or(&[][..], Vec::as_slice);
        SIZES.iter().map(|atoms| *atoms as f64).zip(of.iter().copied()).collect::<Vec<_>>()
    };
    Ok(PaperTable {
        title: "Figure 2, left: the number of atoms".into(),
        unit: "ms a step",
        device: devices.join("; "),
        columns: vec!["CPU", "GPU", "ratio"],
        digits: 3,
        finding: Finding {
            then: "the gain grows up to 4096 atoms and is at most 37, against a program for one core",
            verdict: Verdict::of_gains(&gains, |gains| gains.first() < gains.last()),
            now: match (gains.first(), gains.last()) {
                (Some(first), Some(last)) => format!(
                    "it goes from {} to {}, against all threads of a CPU with a list of neighbours",
                    significant(*first, 3),
                    significant(*last, 3)
                ),
                _ => NO_GPU.into(),
            },
        },
        rows,
        figure: log_log(
            "hoang-sizes",
            "Every pair within half the box",
            ["atoms", "ms a step"],
            vec![("CPU, all threads", curve(0)), ("GPU", curve(1))],
        ),
    })
}

/// Figure 2: time and gain by the number of steps.
fn steps(session: &Session) -> Result<PaperTable> {
    let (mut seconds, mut devices) = (Vec::new(), Vec::new());
    for session in session.processors() {
        let mut timed = session.timed_system("8,192 atoms, by steps", system(8_192, session.here)?)?;
        devices.push(timed.describe());
        let mut of = Vec::new();
        for steps in STEPS {
            let within = timed.steps_in(PATIENCE) >= steps;
            of.push(within.then(|| timed.run(steps)).transpose()?.map(|(each, _)| each * steps as f64));
        }
        seconds.push(of);
    }
    let row = |(k, steps): (usize, &u64)| {
        let time = |device: usize| seconds.get(device).and_then(|of| of[k]);
        cpu_and_gpu(format!("{} steps", grouped(*steps)), time(0), time(1))
    };
    let rows: Vec<PaperRow> = STEPS.iter().enumerate().map(row).collect();
    let gains: Vec<f64> = rows.iter().filter_map(|row| row.numbers[2]).collect();
    let most = gains.iter().copied().fold(0.0, f64::max);
    let least = gains.iter().copied().fold(f64::INFINITY, f64::min);
    Ok(PaperTable {
        title: "Figure 2, right: the number of steps, 8192 atoms".into(),
        unit: "s",
        device: devices.join("; "),
        columns: vec!["CPU", "GPU", "ratio"],
        rows,
        digits: 3,
        finding: Finding {
            then: "the gain grows with the number of steps, up to 36",
            verdict: Verdict::of_gains(&gains, |_| most > 1.2 * least),
            now: match gains.len() {
                0 => "there is no GPU, or the CPU would take too long".into(),
                _ => format!(
                    "it is {} to {}: nothing is sent at the start of a stage that steps would have to make up for",
                    significant(least, 3),
                    significant(most, 3)
                ),
            },
        },
        figure: None,
    })
}
