//! `jostle bench algorithms`: the ways to find pairs side by side. What Rapaport's Table 3 and
//! Wang's slides compare, on this machine.

use super::cases::resize;
use super::measure::{Measured, RunSettings, measure};
use crate::arguments::OutputFormat;
use crate::example::{self, Example};
use crate::numbers::{grouped, significant};
use crate::output;
use jostle_core::{Algorithm, Result};
use jostle_engine::device;
use jostle_io::Input;
use serde_json::json;

/// Larger systems are too much for an algorithm that looks at every pair.
const MOST_FOR_ALL_PAIRS: usize = 40_000;
const MOST_FOR_REFERENCE: usize = 4_500;

/// A system: what it is, and how many atoms of it.
struct SystemRow {
    about: &'static str,
    example: Example,
    atoms: &'static [usize],
}

const ROWS: &[SystemRow] = &[
    SystemRow {
        about: "melt, rho 0.8442, rc 2.5",
        example: example::MELT,
        atoms: &[500, 4_000, 32_000, 256_000, 1_000_188],
    },
    SystemRow {
        about: "LJ fluid, rho 0.38, rc 3",
        example: example::LENNARD_JONES_RAPAPORT,
        atoms: &[4_096, 64_000, 262_144],
    },
    SystemRow {
        about: "soft spheres, rho 0.8",
        example: example::SOFT_SPHERES,
        atoms: &[4_096, 110_592, 262_144],
    },
];

/// Prints nanoseconds per atom and step for several systems and all algorithms of the device.
///
/// # Errors
/// If a system cannot run at all.
pub fn algorithms(run_settings: &RunSettings, seconds: f64, format: OutputFormat) -> Result<()> {
    let here = device::preferred(run_settings.overrides.device.unwrap_or_default());
    let all: Vec<_> = Algorithm::ALL.into_iter().filter(|a| a.processor() == Some(here)).collect();
    let mut json_rows = Vec::new();
    for (number, (row, atoms)) in
        ROWS.iter().flat_map(|row| row.atoms.iter().map(move |n| (row, *n))).enumerate()
    {
        let name = format!("{} atoms, {}", grouped(atoms as u64), row.about);
        let mut cells = Vec::new();
        for algorithm in &all {
            cells.push(match atoms > most(*algorithm) {
                true => None,
                false => attempt(&name, row, atoms, *algorithm, run_settings, seconds),
            });
        }
        if format.json {
            let times: serde_json::Map<_, _> = all
                .iter()
                .zip(&cells)
                .map(|(a, m)| (a.name().to_string(), json!(m.as_ref().map(Measured::to_json))))
                .collect();
            json_rows.push(json!({ "system": row.about, "atoms": atoms, "algorithms": times }));
            continue;
        }
        if number == 0 {
            let device = cells.iter().flatten().next().map(|m| m.machine().to_string()).unwrap_or_default();
            let names: Vec<_> = all.iter().map(|a| a.name().to_string()).collect();
            output::print(&format!(
                "{device}\nnanoseconds per atom and step\n\n{}",
                line("", "atoms", &names)
            ))?;
        }
        let times: Vec<_> = cells
            .iter()
            .map(|m| m.as_ref().map_or("-".to_string(), |m| significant(m.nanoseconds(), 3)))
            .collect();
        output::print(&line(row.about, &grouped(atoms as u64), &times))?;
    }
    if format.json {
        output::print_json(&json!({ "algorithms": json_rows }))?;
    }
    Ok(())
}

/// The largest system that is worth the wait.
fn most(algorithm: Algorithm) -> usize {
    match algorithm {
        Algorithm::AllPairs => MOST_FOR_ALL_PAIRS,
        Algorithm::Reference => MOST_FOR_REFERENCE,
        _ => usize::MAX,
    }
}

/// `None`, with a word about why, where the algorithm cannot do it.
fn attempt(
    name: &str,
    row: &SystemRow,
    atoms: usize,
    algorithm: Algorithm,
    run_settings: &RunSettings,
    seconds: f64,
) -> Option<Measured> {
    let run = || {
        let mut input: Input = row.example.input()?;
        resize(&mut input, atoms);
        input.run.settings.algorithm = algorithm;
        measure(name, input, run_settings, seconds)
    };
    say!("{name}: {}", algorithm.name());
    run().map_err(|error| say!("  {error}")).ok()
}

fn line(about: &str, atoms: &str, times: &[String]) -> String {
    let times: String = times.iter().map(|time| format!("{time:>12}")).collect();
    format!("{about:<28}{atoms:>10}{times}\n")
}
