//! D. C. Rapaport's paper on simple fluids wholly on a GPU.

use super::session::Session;
use super::table::{Finding, PaperRow, PaperTable, Verdict, linear, log_log};
use super::{LeftOut, NO_GPU, Paper, then_and_now};
use crate::bench::cases::resize;
use crate::bench::measure::Measured;
use crate::example::{self, Example};
use crate::numbers::{grouped, significant};
use jostle_core::{Algorithm, Precision, Processor, Result};
use jostle_engine::model::{Action, Cutoff, StageInput};
use jostle_engine::{Simulation, StageReport};
use jostle_io::Input;

/// The paper.
pub const PAPER: Paper = Paper {
    name: "rapaport",
    citation: "D. C. Rapaport, Comput. Phys. Commun. 182 (2011) 926: simple fluids wholly on a GPU",
    machine: "Quadro FX770M; Intel Xeon 3.6 GHz",
    tables: &[sizes, processors, algorithms, energy, shells, reorderings, without_reordering],
    left_out: &[
        LeftOut {
            what: "Table 6: threads of a block",
            why: "what a block has to do is measured at the start and chosen with the shape of its tiles",
        },
        LeftOut {
            what: "texture cache on and off, transposed matrices",
            why: "every read of a GPU of today goes through a cache, and tiles are read from shared memory",
        },
        LeftOut {
            what: "ladder of programs for a CPU (cells, pair list, list by atom, both halves, layers)",
            why: "one algorithm for SIMD registers has taken its place, which has both halves and no list by atom",
        },
        LeftOut {
            what: "single precision throughout",
            why: "positions and sums are always of double precision",
        },
    ],
};

/// Edge of the lattice in Rapaport's Table 1, microseconds per atom and step then.
const SOFT_SIZES: [(usize, f64); 9] = [
    (32, 0.072),
    (40, 0.070),
    (48, 0.067),
    (56, 0.068),
    (64, 0.068),
    (72, 0.067),
    (80, 0.067),
    (88, 0.069),
    (96, 0.067),
];
const LENNARD_JONES_SIZES: [(usize, f64); 5] =
    [(32, 0.266), (40, 0.240), (48, 0.270), (56, 0.243), (64, 0.254)];
/// Edge and cut-off (`None`: soft spheres) in Table 3; microseconds of the paper's new algorithm
/// and of the one before it (Anderson, Lorenz and Travesset 2008).
const ALGORITHMS: [(usize, Option<f64>, f64, f64); 4] = [
    (48, Some(3.0), 0.270, 0.254),
    (48, Some(2.5), 0.176, 0.185),
    (48, Some(2.2), 0.137, 0.164),
    (64, None, 0.068, 0.168),
];
/// Thickness of the shell in Table 5, steps between two updates, microseconds.
const SHELLS: [(f64, f64, f64); 5] =
    [(0.4, 8.1, 0.070), (0.5, 10.1, 0.069), (0.6, 12.0, 0.067), (0.7, 14.0, 0.070), (0.8, 15.9, 0.075)];
/// Steps between two reorderings in Table 7, microseconds.
const REORDERINGS: [(u64, f64); 6] =
    [(50, 0.066), (100, 0.067), (250, 0.070), (500, 0.075), (1000, 0.081), (2000, 0.094)];
/// Steps made without reordering in Table 8, microseconds.
const WITHOUT_REORDERING: [(u64, f64); 9] = [
    (1_000, 0.088),
    (2_000, 0.105),
    (5_000, 0.127),
    (10_000, 0.151),
    (20_000, 0.183),
    (40_000, 0.214),
    (60_000, 0.232),
    (80_000, 0.242),
    (100_000, 0.249),
];
/// A row of Table 8 that would take longer than so many seconds is left out.
const PATIENCE: f64 = 60.0;
/// Atoms and microseconds per atom and step on the CPU and on the GPU in Table 2.
const PROCESSORS: [(&str, Example, usize, f64, f64); 2] = [
    ("soft spheres", example::SOFT_SPHERES, 64, 0.795, 0.068),
    ("LJ, rc 3", example::LENNARD_JONES_RAPAPORT, 40, 4.480, 0.240),
];
/// Step, total and kinetic energy per atom in Table 4, means of the 1000 steps before.
const ENERGIES: [(u64, f64, f64); 2] = [(2_000, 2.3260603, 1.5000234), (100_000, 2.3265371, 1.5005983)];
/// Steps of a block of averages.
const BLOCK: u64 = 1_000;
/// Unit of nearly all of his tables.
const PER_ATOM_STEP: &str = "ns per atom-step";

/// One of his systems, on a lattice of so many atoms along an edge.
fn system(example: Example, edge: usize) -> Result<Input> {
    let mut input = example.input()?;
    resize(&mut input, edge.pow(3));
    Ok(input)
}

/// Atoms on a lattice of so many along an edge.
fn atoms(edge: usize) -> String {
    format!("{} atoms", grouped(edge.pow(3) as u64))
}

/// Table 1: the number of atoms.
fn sizes(session: &Session) -> Result<PaperTable> {
    let soft = SOFT_SIZES.iter().map(|row| ("soft spheres", example::SOFT_SPHERES, row));
    let lj = LENNARD_JONES_SIZES.iter().map(|row| ("LJ, rc 3", example::LENNARD_JONES_RAPAPORT, row));
    let (mut rows, mut all): (_, Vec<(f64, f64, Measured)>) = (Vec::new(), Vec::new());
    for (about, example, (edge, then)) in soft.chain(lj) {
        let name = format!("{about}, {}", atoms(*edge));
        let now = session.measure(&name, system(example, *edge)?)?;
        let [old, new, times] = then_and_now(1e3 * then, now.nanoseconds());
        rows.push(PaperRow { name, numbers: vec![old, new, times, now.steps_per_list, Some(now.bytes)] });
        all.push((edge.pow(3) as f64, 1e3 * then, now));
    }
    let device = all.last().map(|row| row.2.device.clone()).unwrap_or_default();
    let (soft, lj) = all.split_at(SOFT_SIZES.len());
    let now =
        |part: &[(f64, f64, Measured)]| part.iter().map(|r| (r.0, r.2.nanoseconds())).collect::<Vec<_>>();
    let then = |part: &[(f64, f64, Measured)]| part.iter().map(|r| (r.0, r.1)).collect::<Vec<_>>();
    let spread = spread(&now(soft));
    Ok(PaperTable {
        title: "Table 1: the number of atoms".into(),
        unit: PER_ATOM_STEP,
        device,
        columns: vec!["then", "now", "times faster", "steps a list", "bytes an atom"],
        rows,
        digits: 3,
        finding: Finding {
            then: "the time of an atom hardly depends on their number (soft spheres: by a factor of 1.07)",
            verdict: Verdict::of(spread < 1.25),
            now: format!(
                "soft spheres: by a factor of {}; where small systems are slower, they do not fill the device",
                significant(spread, 3)
            ),
        },
        figure: log_log(
            "rapaport-sizes",
            "Time of an atom and step",
            ["atoms", "ns per atom-step"],
            vec![
                ("soft spheres, then", then(soft)),
                ("soft spheres, now", now(soft)),
                ("Lennard-Jones, then", then(lj)),
                ("Lennard-Jones, now", now(lj)),
            ],
        ),
    })
}

/// Largest over smallest of the numbers of a curve.
fn spread(points: &[(f64, f64)]) -> f64 {
    let (low, high) = points.iter().fold((f64::INFINITY, 0.0_f64), |(l, h), p| (l.min(p.1), h.max(p.1)));
    high / low
}

/// Table 2: CPU and GPU.
fn processors(session: &Session) -> Result<PaperTable> {
    let (mut rows, mut device, mut gains) = (Vec::new(), Vec::new(), Vec::new());
    for (about, example, edge, cpu, gpu) in PROCESSORS {
        let name = format!("{about}, {}", atoms(edge));
        let mut now = [None; 2];
        device.clear();
        for (number, session) in now.iter_mut().zip(session.processors()) {
            let measured = session.measure(&name, system(example, edge)?)?;
            *number = Some(measured.nanoseconds());
            device.push(measured.device);
        }
        let gain = now[0].zip(now[1]).map(|(cpu, gpu)| cpu / gpu);
        gains.extend(gain);
        let then = [1e3 * cpu, 1e3 * gpu, cpu / gpu].map(Some);
        rows.push(PaperRow { name, numbers: [&then[..], &now[..], &[gain]].concat() });
    }
    let found: Vec<String> = gains.iter().map(|gain| significant(*gain, 3)).collect();
    Ok(PaperTable {
        title: "Table 2: CPU and GPU".into(),
        unit: PER_ATOM_STEP,
        device: device.join("; "),
        columns: vec!["CPU then", "GPU then", "ratio then", "CPU now", "GPU now", "ratio now"],
        rows,
        digits: 3,
        finding: Finding {
            then: "a GPU is 11.7 and 18.7 times as fast as one thread of a CPU",
            verdict: Verdict::of_gains(&gains, |gains| gains.iter().all(|gain| *gain > 1.0)),
            now: match gains.len() {
                0 => NO_GPU.into(),
                _ => format!("{} times as fast as all threads of the CPU together", found.join(" and ")),
            },
        },
        figure: None,
    })
}

/// Table 3: two algorithms, and the cut-off.
fn algorithms(session: &Session) -> Result<PaperTable> {
    let (columns, mine) = match session.here {
        Processor::Gpu => (
            vec!["then, new", "then, old", "now, tiles", "now, list", "now, cells"],
            vec![Algorithm::Tiles, Algorithm::List, Algorithm::Cells],
        ),
        Processor::Cpu => (vec!["then, new", "then, old", "now, clusters"], vec![Algorithm::Clusters]),
    };
    let (mut rows, mut device) = (Vec::new(), String::new());
    for (edge, cutoff, new, old) in ALGORITHMS {
        let (about, example) = match cutoff {
            Some(cutoff) => (format!("LJ, rc {cutoff}"), example::LENNARD_JONES_RAPAPORT),
            None => ("soft spheres".into(), example::SOFT_SPHERES),
        };
        let name = format!("{about}, {}", atoms(edge));
        let mut numbers = vec![Some(1e3 * new), Some(1e3 * old)];
        for algorithm in &mine {
            let mut input = system(example, edge)?;
            if let (Some(cutoff), Some(force)) = (cutoff, input.forces.first_mut()) {
                force.value.cutoff = Some(Cutoff::At(cutoff));
            }
            input.run.settings.algorithm = *algorithm;
            let now = session.measure(&format!("{name}, {}", algorithm.name()), input)?;
            numbers.push(Some(now.nanoseconds()));
            device = now.machine().to_string();
        }
        rows.push(PaperRow { name, numbers });
    }
    let best =
        rows.iter().filter(|row| row.numbers[2..].iter().flatten().all(|n| row.numbers[2] <= Some(*n)));
    let best = best.count();
    Ok(PaperTable {
        title: "Table 3: algorithms and cut-offs".into(),
        unit: PER_ATOM_STEP,
        device,
        columns,
        digits: 3,
        finding: Finding {
            then: "the new list is 2.5 times as fast as that of Anderson, Lorenz and Travesset (2008) where forces are short",
            verdict: match session.here {
                Processor::Gpu => Verdict::of(best == rows.len()),
                Processor::Cpu => Verdict::NotMeasured,
            },
            now: match session.here {
                Processor::Gpu => format!(
                    "lists of tiles are the fastest in {best} of {} rows; his matrix of neighbours is `list`",
                    rows.len()
                ),
                Processor::Cpu => "a CPU has one algorithm".into(),
            },
        },
        rows,
        figure: None,
    })
}

/// Means of the total and kinetic energy per atom in a stage.
fn energies(report: &StageReport, atoms: usize) -> [Option<f64>; 2] {
    ["total", "kinetic"].map(|name| {
        let average = report.averages.iter().find(|average| average.quantity == name)?;
        Some(average.estimate?.mean / atoms as f64)
    })
}

/// Stages of Table 4: equilibrium as he made it, and blocks whose means are taken.
fn energy_stages(input: &mut Input) {
    let Some(last) = input.stages.pop() else { return };
    let mut before = 500;
    for (end, ..) in ENERGIES {
        for (name, from, to) in [("between", before, end - BLOCK), ("block", end - BLOCK, end)] {
            let mut stage = last.clone();
            stage.value = StageInput { name: format!("{name}-{end}"), ..stage.value };
            stage.value.thermo_every = if name == "block" { 10 } else { 0 };
            if let Action::Dynamics { steps, .. } = &mut stage.value.action {
                *steps = to - from;
            }
            input.stages.push(stage);
        }
        before = end;
    }
}

/// Table 4: conservation of energy.
fn energy(session: &Session) -> Result<PaperTable> {
    // A CPU makes as many steps of fewer atoms in the same time.
    let edge = if session.here == Processor::Gpu { 48 } else { 16 };
    let mut rows: Vec<PaperRow> = Vec::new();
    for (end, total, kinetic) in ENERGIES {
        let name = format!("to step {}", grouped(end));
        rows.push(PaperRow { name, numbers: vec![Some(total), Some(kinetic), None, None, None, None] });
    }
    let (mut device, mut drifts) = (String::new(), Vec::new());
    for (column, name, precision) in [(2, "mixed", Precision::Mixed), (4, "double", Precision::Double)] {
        let mut input = system(example::SOFT_SPHERES, edge)?;
        energy_stages(&mut input);
        let session = session.in_precision(precision);
        let mut simulation: Simulation = session.simulation(&format!("energy, {name} precision"), input)?;
        simulation.run()?;
        device = simulation.backend().describe();
        let blocks = simulation.reports().iter().filter(|report| report.name.starts_with("block"));
        let found: Vec<[Option<f64>; 2]> = blocks.map(|report| energies(report, edge.pow(3))).collect();
        for (row, energies) in rows.iter_mut().zip(&found) {
            row.numbers[column..column + 2].copy_from_slice(energies);
        }
        if let [[Some(first), _], .., [Some(last), _]] = found[..] {
            drifts.push((last / first - 1.0).abs());
        }
    }
    let cause = match drifts[..] {
        [mixed, double] if mixed < 2.0 * double => ", so that it is not the precision's",
        _ => "",
    };
    let shown: Vec<String> = drifts.iter().map(|drift| format!("{drift:.0e}")).collect();
    Ok(PaperTable {
        title: format!("Table 4: conservation of energy, {}", atoms(edge)),
        unit: "energy per atom, means of 1000 steps",
        device,
        columns: vec![
            "total then",
            "kinetic then",
            "total mixed",
            "kinetic mixed",
            "total double",
            "kinetic double",
        ],
        rows,
        digits: 6,
        finding: Finding {
            then: "in 100,000 steps of single precision the energy drifts by 1 part in 5000",
            verdict: Verdict::of(drifts.len() == 2 && drifts.iter().all(|drift| *drift < 4e-4)),
            now: format!("by {} of it in mixed and in double precision{cause}", shown.join(" and ")),
        },
        figure: None,
    })
}

/// Table 5: the thickness of the shell around the cut-off.
fn shells(session: &Session) -> Result<PaperTable> {
    let (mut rows, mut device, mut curves) = (Vec::new(), String::new(), [Vec::new(), Vec::new()]);
    let mut tuned = None;
    let shells = SHELLS.into_iter().map(|(skin, updates, then)| (Some(skin), Some((updates, then))));
    for (skin, then) in shells.chain([(None, None)]) {
        let mut input = system(example::SOFT_SPHERES, 48)?;
        input.run.settings.skin = skin;
        let about = skin.map_or("tuned".to_string(), |skin| skin.to_string());
        let now = session.measure(&format!("soft spheres, shell {about}"), input)?;
        let name = match skin {
            Some(skin) => format!("shell {skin}"),
            None => format!("tuned while running: {}", significant(now.skin, 2)),
        };
        let nanoseconds = then.map(|(_, microseconds)| 1e3 * microseconds);
        let shares =
            now.shares().map_or([None; 2], |[pair, lists, _]| [Some(100.0 * lists), Some(100.0 * pair)]);
        let numbers =
            [then.map(|(updates, _)| updates), now.steps_per_list, nanoseconds, Some(now.nanoseconds())];
        rows.push(PaperRow { name, numbers: [&numbers[..], &shares[..]].concat() });
        match skin {
            Some(skin) => {
                curves[0].extend(nanoseconds.map(|y| (skin, y)));
                curves[1].push((skin, now.nanoseconds()));
            }
            None => tuned = Some(now.nanoseconds()),
        }
        device = now.device;
    }
    let [then, now] = curves;
    let best = now.iter().map(|point| point.1).fold(f64::INFINITY, f64::min);
    let tuned = tuned.unwrap_or(f64::NAN);
    Ok(PaperTable {
        title: "Table 5: the shell, 110,592 soft spheres".into(),
        unit: "steps between updates; ns per atom-step; percent of the time",
        device,
        columns: vec!["updates then", "updates now", "then", "now", "% lists", "% forces"],
        rows,
        digits: 3,
        finding: Finding {
            then: "the time depends little on the shell, and is least near 0.6",
            verdict: Verdict::of(spread(&now) < 1.35 && tuned < 1.1 * best),
            now: format!(
                "between 0.4 and 0.8 by a factor of {}; the shell that is tuned takes {} of the least of these",
                significant(spread(&now), 3),
                significant(tuned / best, 3)
            ),
        },
        figure: linear(
            "rapaport-shells",
            "Shell around the cut-off",
            ["thickness", "ns per atom-step"],
            vec![("then", then), ("now", now)],
        ),
    })
}

/// Table 7: how often atoms are reordered.
fn reorderings(session: &Session) -> Result<PaperTable> {
    let now = session.measure("soft spheres, reordering", system(example::SOFT_SPHERES, 48)?)?;
    let then = REORDERINGS.map(|(steps, microseconds)| PaperRow {
        name: format!("every {} steps", grouped(steps)),
        numbers: vec![Some(1e3 * microseconds), None],
    });
    let every = now.steps_per_list.map(|steps| significant(steps, 3)).unwrap_or_default();
    let today = PaperRow {
        name: format!("with every list, {every} steps"),
        numbers: vec![None, Some(now.nanoseconds())],
    };
    Ok(PaperTable {
        title: "Table 7: reordering atoms, 110,592 soft spheres".into(),
        unit: PER_ATOM_STEP,
        device: now.device,
        columns: vec!["then", "now"],
        rows: then.into_iter().chain([today]).collect(),
        digits: 3,
        finding: Finding {
            then: "atoms are to be reordered often: every 50 or 100 steps",
            verdict: Verdict::of(now.steps_per_list.is_some_and(|steps| steps <= 100.0)),
            now: "atoms are sorted whenever a list is built; there is nothing to choose".into(),
        },
        figure: None,
    })
}

/// Table 8: a long run.
fn without_reordering(session: &Session) -> Result<PaperTable> {
    let mut bench =
        session.timed_system("soft spheres, 100,000 steps", system(example::SOFT_SPHERES, 48)?)?;
    let (mut rows, mut done, mut points) = (Vec::new(), 0, Vec::new());
    for (steps, then) in WITHOUT_REORDERING {
        let now = match steps - done <= bench.steps_in(PATIENCE) {
            true => Some(1e9 * bench.run(steps - done)?.0 / 48f64.powi(3)),
            false => None,
        };
        done = if now.is_some() { steps } else { done };
        points.extend(now.map(|now| (steps as f64, now)));
        let name = format!("up to step {}", grouped(steps));
        rows.push(PaperRow { name, numbers: vec![Some(1e3 * then), now] });
    }
    let then = WITHOUT_REORDERING.iter().map(|(steps, then)| (*steps as f64, 1e3 * then)).collect();
    let spread = spread(&points);
    Ok(PaperTable {
        title: "Table 8: a run without reordering, 110,592 soft spheres".into(),
        unit: PER_ATOM_STEP,
        device: bench.describe(),
        columns: vec!["then, without", "now, with"],
        rows,
        digits: 3,
        finding: Finding {
            then: "without it a run is slower and slower, by a factor of 4 in the end",
            verdict: Verdict::Differs,
            now: format!(
                "lists cannot be had without sorted atoms, so that a long run stays as fast as it was: within a \
                 factor of {}",
                significant(spread, 3)
            ),
        },
        figure: log_log(
            "rapaport-long-run",
            "A long run",
            ["step", "ns per atom-step"],
            vec![("then, without reordering", then), ("now, with it", points)],
        ),
    })
}
