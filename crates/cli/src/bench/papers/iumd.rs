//! D. K. Berry, J. Schuchart and R. Henschel's paper on IUMD: every pair of screened ions, and how near that is to
//! what a machine can do.

use super::session::Session;
use super::table::{Finding, PaperRow, PaperTable, Verdict, log_log};
use super::{LeftOut, NO_GPU, Paper, cpu_and_gpu};
use crate::bench::cases::{cut_at_half_the_box, resize};
use crate::bench::measure::{Measured, Messages};
use crate::example;
use crate::machine::Machine;
use crate::numbers::{grouped, significant};
use jostle_core::{Algorithm, Processor, Result};
use jostle_engine::ranks::are_processes;
use jostle_engine::{peak_flops, system_from_input};
use jostle_io::Input;

/// The paper.
pub const PAPER: Paper = Paper {
    name: "iumd",
    citation: "D. K. Berry, J. Schuchart and R. Henschel (2013): IUMD, every pair of screened ions",
    machine: "Tesla K20; 32 threads of two AMD 6380",
    tables: &[ions, processors, matrices],
    left_out: &[
        LeftOut {
            what: "Table I: which partial sums are made where",
            why: "a thread keeps the force on its ion in registers; nothing is left to add up elsewhere",
        },
        LeftOut { what: "C, m and l by hand", why: "the shape of tiles is measured at the start of a run" },
        LeftOut { what: "figure 7: share of time on the GPU", why: "whole steps are made there: all of it" },
    ],
};

/// Ions in Table II, milliseconds a step on a Tesla K20.
const IONS: [(usize, f64); 7] = [
    (1_152, 0.801),
    (1_536, 1.091),
    (1_728, 1.231),
    (3_456, 3.152),
    (6_912, 10.148),
    (13_824, 41.389),
    (27_648, 140.982),
];

/// Ions of the table of force matrices.
const IN_MATRICES: usize = 6_912;

/// Efficiency above which processes are limited by what each computes alone.
const LIMITED_BY_ALONE: f64 = 0.8;

/// System of so many ions, each pair within half the box.
fn system(count: usize, here: Processor) -> Result<Input> {
    let mut input = example::YUKAWA.input()?;
    resize(&mut input, count);
    cut_at_half_the_box(&mut input);
    if here == Processor::Gpu {
        input.run.settings.algorithm = Algorithm::AllPairs;
    }
    Ok(input)
}

/// Measurements of all numbers of ions.
fn measure_all(session: &Session) -> Result<Vec<Measured>> {
    let measure = |(count, _): (usize, f64)| {
        session.measure(&format!("{} ions", grouped(count as u64)), system(count, session.here)?)
    };
    IONS.into_iter().map(measure).collect()
}

/// Pairs a second, all pairs of ions counted once.
fn pairs_per_second(count: usize, now: &Measured) -> f64 {
    let n = count as f64;
    0.5 * n * (n - 1.0) / now.seconds_per_step()
}

/// Operations a pair.
fn operations() -> Result<usize> {
    let (_, forces) = system_from_input(&system(64, Processor::Cpu)?)?;
    Ok(peak_flops::operations_per_pair(&forces))
}

/// Table II: milliseconds a step.
fn ions(session: &Session) -> Result<PaperTable> {
    let measured = measure_all(session)?;
    let ranks = |now: &Measured| now.messages.map_or(1, |messages| messages.ranks);
    let threads = measured.first().map_or(1, |now| now.threads * ranks(now));
    let device = session.run_settings().overrides.device.unwrap_or_default();
    let most = peak_flops::most_operations(device, session.here, threads)?;
    let operations = operations()?;
    let row = |((count, then), now): (&(usize, f64), &Measured)| {
        let milliseconds = 1e3 * now.seconds_per_step();
        let pairs = pairs_per_second(*count, now);
        let share = 100.0 * pairs * operations as f64 / most;
        let numbers = [*then, milliseconds, then / milliseconds, pairs, share].map(Some).to_vec();
        PaperRow { name: format!("{} ions", grouped(*count as u64)), numbers }
    };
    let rows: Vec<PaperRow> = IONS.iter().zip(&measured).map(row).collect();
    let share = |row: &PaperRow| row.numbers[4].unwrap_or(f64::NAN);
    let (first, last) = (rows.first().map_or(f64::NAN, share), rows.last().map_or(f64::NAN, share));
    let limit = match session.here {
        Processor::Gpu => "one in every lane and cycle of the highest clock",
        Processor::Cpu => "as multiply-adds in registers do, measured on one thread, times the threads",
    };
    let points = |time: fn((&(usize, f64), &Measured)) -> f64| {
        IONS.iter().zip(&measured).map(|row| (row.0.0 as f64, time(row))).collect::<Vec<_>>()
    };
    Ok(PaperTable {
        title: "Table II: milliseconds a step".into(),
        unit: "ms; all N (N - 1) / 2 pairs, those beyond the cut-off at half the box too; percent of the limit",
        device: measured.first().map(|now| now.device.clone()).unwrap_or_default(),
        columns: vec!["then", "now", "times faster", "pairs/s", "of limit"],
        digits: 3,
        finding: Finding {
            then: "a GPU is used better by more ions, with every pair of images computed",
            verdict: Verdict::of(last > first),
            now: format!(
                "{first:.0} percent of the limit with the fewest and {last:.0} with the most; the limit is {operations} \
                 arithmetic operations a pair, {} a second, {limit}",
                significant(most, 3)
            ),
        },
        rows,
        figure: log_log(
            "iumd-ions",
            "Screened ions, every pair",
            ["ions", "ms a step"],
            vec![
                ("then, Tesla K20", points(|row| row.0.1)),
                ("now", points(|row| 1e3 * row.1.seconds_per_step())),
            ],
        ),
    })
}

/// Figures 6 and 8: time and gain over the CPU.
fn processors(session: &Session) -> Result<PaperTable> {
    let measured = session.processors().iter().map(measure_all).collect::<Result<Vec<_>>>()?;
    let row = |(k, (count, _)): (usize, &(usize, f64))| {
        let time = |device: usize| measured.get(device).map(|of| 1e3 * of[k].seconds_per_step());
        cpu_and_gpu(format!("{} ions", grouped(*count as u64)), time(0), time(1))
    };
    let rows: Vec<PaperRow> = IONS.iter().enumerate().map(row).collect();
    let gains: Vec<f64> = rows.iter().filter_map(|row| row.numbers[2]).collect();
    let curve = |device: usize| {
        let of = measured.get(device).map_or(&[][..], Vec::as_slice);
        let counts = IONS.iter().map(|(count, _)| *count as f64);
        counts.zip(of.iter().map(|now| 1e3 * now.seconds_per_step())).collect::<Vec<_>>()
    };
    let devices: Vec<&str> =
        measured.iter().filter_map(|of| of.first()).map(|now| now.device.as_str()).collect();
    Ok(PaperTable {
        title: "Figures 6 and 8: time and gain over a CPU".into(),
        unit: "ms a step",
        device: devices.join("; "),
        columns: vec!["CPU", "GPU", "ratio"],
        digits: 3,
        finding: Finding {
            then: "the gain over 32 threads grows with the number of ions, to more than ten",
            verdict: Verdict::of_gains(&gains, |gains| {
                gains.first() < gains.last() && gains.last() > Some(&10.0)
            }),
            now: match (gains.first(), gains.last()) {
                (Some(first), Some(last)) => format!(
                    "it goes from {} to {}, over all threads of a CPU with a list of the pairs within the cut-off",
                    significant(*first, 3),
                    significant(*last, 3)
                ),
                _ => NO_GPU.into(),
            },
        },
        rows,
        figure: log_log(
            "iumd-processors",
            "Screened ions, every pair",
            ["ions", "ms a step"],
            vec![("CPU, all threads", curve(0)), ("GPU", curve(1))],
        ),
    })
}

/// Section IV: force matrices of all shapes that the ranks at hand have, beside domains.
fn matrices(session: &Session) -> Result<PaperTable> {
    let settings = session.run_settings().overrides;
    let mpi = are_processes();
    let asked = settings.ranks.unwrap_or_else(|| Machine::look().cores.max(2));
    let measure = |ranks: Option<usize>, shape: Option<[usize; 2]>| {
        let name = shape.map_or("no force matrix".to_string(), |[p, q]| format!("force matrix of {p} x {q}"));
        let ranks = ranks.filter(|_| !mpi);
        session.on_ranks(ranks, shape).measure(&name, system(IN_MATRICES, Processor::Cpu)?)
    };
    let domains = measure(Some(asked), None)?;
    let ranks = domains.messages.map_or(1, |messages| messages.ranks);
    // Processes cannot be fewer than MPI has started.
    let one = if mpi { None } else { Some(measure(None, None)?.seconds_per_step()) };
    let efficiency = |now: &Measured| one.map(|one| one / (ranks as f64 * now.seconds_per_step()));
    let row = |name: String, now: &Measured| {
        let step = now.seconds_per_step();
        let of_messages = |number: fn(Messages) -> f64| now.messages.map(number);
        let waiting = of_messages(|messages| 100.0 * messages.seconds).map(|share| share / step);
        let (count, kilobytes) = (of_messages(|m| m.messages), of_messages(|m| 1e-3 * m.bytes));
        PaperRow { name, numbers: vec![Some(1e3 * step), efficiency(now), count, kilobytes, waiting] }
    };
    let shapes = (1..=ranks).filter(|rows| ranks.is_multiple_of(*rows)).map(|rows| [rows, ranks / rows]);
    let mut rows = vec![row("domains".into(), &domains)];
    let mut best: Option<f64> = None;
    for [p, q] in shapes.filter(|_| ranks > 1) {
        let now = measure(Some(ranks), Some([p, q]))?;
        rows.push(row(format!("force matrix of {p} x {q}"), &now));
        best = efficiency(&now).into_iter().chain(best).reduce(f64::max);
    }
    let count = grouped(IN_MATRICES as u64);
    Ok(PaperTable {
        title: format!("Section IV: {ranks} processes as a force matrix of P x Q, {count} ions"),
        unit: "ms a step; efficiency beside one process; messages and kB of process 0 a step; percent of the time in them, \
               waiting included",
        device: domains.device.clone(),
        columns: vec!["ms a step", "efficiency", "messages", "kB", "waiting"],
        digits: 3,
        finding: Finding {
            then: "many processes are limited by what each of them computes alone, messages left out",
            verdict: best.map_or(Verdict::NotMeasured, |best| Verdict::of(best > LIMITED_BY_ALONE)),
            now: match best {
                Some(best) => format!("the best shape has an efficiency of {}", significant(best, 2)),
                None => "how fast one process is was not measured".into(),
            },
        },
        rows,
        figure: None,
    })
}
