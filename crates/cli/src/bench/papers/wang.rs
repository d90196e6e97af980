//! P. Wang's slides on short-range molecular dynamics on GPUs (LAMMPS).

use super::session::Session;
use super::table::{Finding, PaperRow, PaperTable, Verdict, log_log};
use super::{LeftOut, NO_GPU, Paper, cpu_and_gpu};
use crate::bench::cases::resize;
use crate::bench::measure::Measured;
use crate::example::{self, Example};
use crate::numbers::{grouped, significant};
use jostle_core::{Algorithm, Processor, Result};
use jostle_io::Input;

/// The paper.
pub const PAPER: Paper = Paper {
    name: "wang",
    citation: "P. Wang, Short-Range Molecular Dynamics on GPU (NVIDIA, 2010): LAMMPS' melt",
    machine: "Tesla C2050; one core of a Nehalem",
    tables: &[melt, profile, sizes, potentials],
    left_out: &[
        LeftOut {
            what: "instructions and bytes of a pair, hit rates",
            why: "`jostle bench FILE --profile` has the times of kernels and what lists hold; the rest is counted by hand in crates/cuda/PERFORMANCE.md",
        },
        LeftOut {
            what: "tail list for atoms with many neighbours",
            why: "a tile gathers its atoms anew for each list and has no row of fixed length",
        },
        LeftOut {
            what: "atoms sent to the GPU and forces back in every step",
            why: "whole steps are made on the GPU; nothing is sent",
        },
    ],
};

/// Steps of his run.
const STEPS: f64 = 100.0;
/// Seconds on one core, on a GPU by cells without a list, and by a list.
const CORE: f64 = 10.85;
const CELLS: f64 = 2.9;
const LIST: f64 = 1.0;
/// Shares of the time on one core: pairs, lists, the rest.
const PROFILE: [f64; 3] = [86.39, 9.95, 3.66];
/// Atoms of melts by which speeds are compared.
const SIZES: [usize; 5] = [4_000, 32_000, 108_000, 256_000, 1_000_188];
/// Potentials, those with the fewest operations a pair first.
const POTENTIALS: [(&str, Example, usize); 4] = [
    ("soft spheres", example::SOFT_SPHERES, 110_592),
    ("Lennard-Jones, rc 2.5", example::MELT, 108_000),
    ("copper, embedded atoms", example::COPPER, 108_000),
    ("silicon, Stillinger-Weber", example::SILICON, 64_000),
];

/// A melt of so many atoms.
fn sized(example: Example, atoms: usize) -> Result<Input> {
    let mut input = example.input()?;
    resize(&mut input, atoms);
    Ok(input)
}

/// His 100 steps.
fn melt(session: &Session) -> Result<PaperTable> {
    let ways: &[(&str, Option<f64>, Algorithm)] = match session.here {
        Processor::Gpu => &[
            ("cells, no list", Some(CELLS), Algorithm::Cells),
            ("neighbour list", Some(LIST), Algorithm::List),
            ("tiles", None, Algorithm::Tiles),
        ],
        Processor::Cpu => &[("clusters", None, Algorithm::Clusters)],
    };
    let core = PaperRow { name: "one core, LAMMPS".into(), numbers: vec![Some(CORE), None, None, None] };
    let (mut rows, mut device) = (vec![core], String::new());
    for (name, then, algorithm) in ways {
        let mut input = example::MELT.input()?;
        input.run.settings.algorithm = *algorithm;
        let mut first = session.simulation(&format!("melt, first 100 steps, {name}"), input.clone())?;
        first.run()?;
        let first = first.reports().last().map(|report| report.time.total);
        let now = session.measure(&format!("melt, {name}"), input)?;
        let seconds = STEPS * now.seconds_per_step();
        rows.push(PaperRow {
            name: name.to_string(),
            numbers: vec![*then, first, Some(seconds), Some(CORE / seconds)],
        });
        device = now.device;
    }
    let later = |row: &PaperRow| row.numbers[2];
    let faster =
        rows.get(1).and_then(later).zip(rows.get(2).and_then(later)).map(|(cells, list)| cells / list);
    Ok(PaperTable {
        title: "100 steps of 108,000 Lennard-Jones atoms".into(),
        unit: "s",
        device,
        columns: vec!["then", "first 100", "once molten", "times one core"],
        rows,
        digits: 3,
        finding: Finding {
            then: "a list makes a GPU 2.9 times as fast as cells without one, which look at nine atoms in vain for each \
                   within the cut-off",
            verdict: faster.map_or(Verdict::NotMeasured, |faster| Verdict::of(faster > 1.5)),
            now: match faster {
                Some(faster) => format!("{} times", significant(faster, 3)),
                None => "a CPU has one algorithm".into(),
            },
        },
        figure: None,
    })
}

/// Where the time goes on one core.
fn profile(session: &Session) -> Result<PaperTable> {
    let now = session.one_core().measure("melt, one thread", example::MELT.input()?)?;
    let shares = now.shares().unwrap_or([f64::NAN; 3]).map(|share| 100.0 * share);
    let rest = 100.0 - shares[0] - shares[1];
    let names = ["pairs", "lists", "motion and the rest"];
    let rows = names.iter().zip(PROFILE).zip([shares[0], shares[1], rest]);
    let row = |((name, then), now): ((&&str, f64), f64)| PaperRow {
        name: name.to_string(),
        numbers: vec![Some(then), Some(now)],
    };
    Ok(PaperTable {
        title: "Where the time goes on one core".into(),
        unit: "percent",
        rows: rows.map(row).collect(),
        digits: 3,
        finding: Finding {
            then: "forces and lists take 96 percent, which is why only these went to the GPU",
            verdict: Verdict::of(shares[0] + shares[1] > 90.0),
            now: format!(
                "{} percent, and {} s for 100 steps in place of {CORE}",
                significant(shares[0] + shares[1], 2),
                significant(STEPS * now.seconds_per_step(), 3)
            ),
        },
        device: now.device,
        columns: vec!["then", "now"],
        figure: None,
    })
}

/// Measurements of systems on each kind of device.
fn on_all(session: &Session, systems: &[(String, Input)]) -> Result<Vec<Vec<Measured>>> {
    let measure = |session: Session| {
        systems.iter().map(|(name, input)| session.measure(name, input.clone())).collect::<Result<Vec<_>>>()
    };
    session.processors().into_iter().map(measure).collect()
}

/// Names of the devices of these measurements.
fn devices(measured: &[Vec<Measured>]) -> String {
    let names: Vec<&str> =
        measured.iter().filter_map(|of| of.first()).map(|now| now.device.as_str()).collect();
    names.join("; ")
}

/// Rows of time on CPU and GPU.
fn rows(names: impl Iterator<Item = String>, measured: &[Vec<Measured>]) -> Vec<PaperRow> {
    let row = |(k, name): (usize, String)| {
        let time = |device: usize| measured.get(device).map(|of| of[k].nanoseconds());
        cpu_and_gpu(name, time(0), time(1))
    };
    names.enumerate().map(row).collect()
}

/// The number of atoms.
fn sizes(session: &Session) -> Result<PaperTable> {
    let named =
        |atoms: &usize| Ok((format!("{} atoms", grouped(*atoms as u64)), sized(example::MELT, *atoms)?));
    let systems = SIZES.iter().map(named).collect::<Result<Vec<_>>>()?;
    let measured = on_all(session, &systems)?;
    let rows = rows(systems.into_iter().map(|(name, _)| name), &measured);
    let curve = |device: usize| {
        let of = measured.get(device).map_or(&[][..], Vec::as_slice);
        SIZES.iter().map(|atoms| *atoms as f64).zip(of.iter().map(Measured::nanoseconds)).collect::<Vec<_>>()
    };
    let gain = rows.last().and_then(|row| row.numbers[2]);
    Ok(PaperTable {
        title: "Speed and the number of atoms".into(),
        unit: "ns per atom-step",
        device: devices(&measured),
        columns: vec!["CPU", "GPU", "ratio"],
        digits: 3,
        finding: Finding {
            then: "one GPU is 11 times as fast as one core; what is left on the CPU limits it (Amdahl)",
            verdict: gain.map_or(Verdict::NotMeasured, |gain| Verdict::of(gain > 1.0)),
            now: match gain {
                Some(gain) => format!(
                    "for a million atoms {} times as fast as all threads of the CPU; nothing is left there",
                    significant(gain, 3)
                ),
                None => NO_GPU.into(),
            },
        },
        rows,
        figure: log_log(
            "wang-sizes",
            "Lennard-Jones melt",
            ["atoms", "ns per atom-step"],
            vec![("CPU, all threads", curve(0)), ("GPU", curve(1))],
        ),
    })
}

/// Potentials.
fn potentials(session: &Session) -> Result<PaperTable> {
    let named =
        |(name, example, atoms): &(&str, Example, usize)| Ok((name.to_string(), sized(*example, *atoms)?));
    let systems = POTENTIALS.iter().map(named).collect::<Result<Vec<_>>>()?;
    let measured = on_all(session, &systems)?;
    let rows = rows(systems.into_iter().map(|(name, _)| name), &measured);
    let gains: Vec<f64> = rows.iter().filter_map(|row| row.numbers[2]).collect();
    let least = gains.iter().copied().fold(f64::INFINITY, f64::min);
    let of_least = POTENTIALS.iter().zip(&gains).find(|(_, gain)| **gain == least);
    let smallest = of_least.map_or("none", |((name, ..), _)| *name);
    Ok(PaperTable {
        title: "Speed by potential".into(),
        unit: "ns per atom-step",
        device: devices(&measured),
        columns: vec!["CPU", "GPU", "ratio"],
        rows,
        digits: 3,
        finding: Finding {
            then: "the gain is least for Lennard-Jones, which has the fewest operations a pair",
            verdict: Verdict::of_gains(&gains, |gains| gains.get(1) == Some(&least)),
            now: match gains.len() {
                0 => NO_GPU.into(),
                _ => format!("it is least for {smallest}"),
            },
        },
        figure: None,
    })
}
