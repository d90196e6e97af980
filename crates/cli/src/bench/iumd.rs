//! `jostle bench iumd`: Table II of the IUMD paper, every pair of up to 27,648 screened ions, then
//! and now, and how near that is to what the machine can do.

use super::cases::{cut_at_half_the_box, resize};
use super::measure::{Measured, RunSettings, measure};
use crate::arguments::OutputFormat;
use crate::example;
use crate::numbers::{grouped, significant};
use crate::output;
use jostle_core::{Algorithm, Processor, Result};
use jostle_engine::model::DeviceInput;
use jostle_engine::{device, peak_flops, system_from_input};
use jostle_io::Input;
use serde_json::json;

/// Ions in Table II of Berry and others, milliseconds a step on a Tesla K20.
const IONS: [(usize, f64); 7] = [
    (1_152, 0.801),
    (1_536, 1.091),
    (1_728, 1.231),
    (3_456, 3.152),
    (6_912, 10.148),
    (13_824, 41.389),
    (27_648, 140.982),
];

/// A row of Table II.
pub struct Ions {
    /// Number of ions.
    pub count: usize,
    /// Milliseconds a step then.
    pub then: f64,
    /// Today's.
    pub now: Measured,
    /// Input that was measured today.
    pub input: Input,
}

impl Ions {
    /// Milliseconds a step today.
    pub fn milliseconds(&self) -> f64 {
        1e3 * self.now.seconds_per_step()
    }

    /// Pairs a second, all pairs of ions counted once.
    fn pairs_per_second(&self) -> f64 {
        let n = self.count as f64;
        0.5 * n * (n - 1.0) / self.now.seconds_per_step()
    }
}

/// Measures systems of at most so many ions.
///
/// # Errors
/// If a system cannot run.
pub fn measure_ions(
    run_settings: &RunSettings,
    seconds: f64,
    here: Processor,
    most: usize,
) -> Result<Vec<Ions>> {
    let mut rows = Vec::new();
    for (count, then) in IONS.into_iter().filter(|(count, _)| *count <= most) {
        let mut input = example::YUKAWA.input()?;
        resize(&mut input, count);
        cut_at_half_the_box(&mut input);
        if here == Processor::Gpu {
            input.run.settings.algorithm = Algorithm::AllPairs;
        }
        let name = format!("{} ions", grouped(count as u64));
        say!("{name}");
        let now = measure(&name, input.clone(), run_settings, seconds)?;
        rows.push(Ions { count, then, now, input });
    }
    Ok(rows)
}

/// Measures the table on the device that was asked for, or on all kinds that there are.
///
/// # Errors
/// If a system cannot run.
pub fn iumd(run_settings: &RunSettings, seconds: f64, format: OutputFormat) -> Result<()> {
    let asked = run_settings.overrides.device;
    let devices = match (asked, device::preferred(asked.unwrap_or_default())) {
        (None | Some(DeviceInput::Auto), Processor::Gpu) => {
            vec![DeviceInput::gpu(0), DeviceInput::Cpu]
        }
        (None | Some(DeviceInput::Auto), Processor::Cpu) => vec![DeviceInput::Cpu],
        (Some(device), _) => vec![device],
    };
    let mut tables = Vec::new();
    for device in devices {
        let here = if device == DeviceInput::Cpu { Processor::Cpu } else { Processor::Gpu };
        let mut run_settings = *run_settings;
        run_settings.overrides.device = Some(device);
        let rows = measure_ions(&run_settings, seconds, here, usize::MAX)?;
        let Some(first) = rows.first() else { continue };
        let most = peak_flops::most_operations(device, here, first.now.threads)?;
        let operations = operations(&first.input)?;
        let share = |row: &Ions| row.pairs_per_second() * operations as f64 / most;
        if format.json {
            let row = |row: &Ions| {
                json!({
                    "ions": row.count,
                    "then_ms": row.then,
                    "now_ms": row.milliseconds(),
                    "pairs_per_second": row.pairs_per_second(),
                    "share_of_limit": share(row),
                })
            };
            tables.push(json!({
                "device": first.now.device,
                "operations_per_pair": operations,
                "most_operations_per_second": most,
                "rows": rows.iter().map(row).collect::<Vec<_>>(),
            }));
            continue;
        }
        output::print(&format!(
            "Screened ions, every pair (ms a step)\n  then: Table II of D. K. Berry, J. Schuchart, \
             R. Henschel (2013); Tesla K20\n  now:  {}\n\n{:>10}{:>10}{:>10}{:>14}{:>12}{:>12}\n",
            first.now.device, "ions", "then", "now", "times faster", "pairs/s", "of limit"
        ))?;
        for row in &rows {
            output::print(&format!(
                "{:>10}{:>10}{:>10}{:>14}{:>12.3e}{:>11.0}%\n",
                grouped(row.count as u64),
                significant(row.then, 3),
                significant(row.milliseconds(), 3),
                significant(row.then / row.milliseconds(), 3),
                row.pairs_per_second(),
                100.0 * share(row),
            ))?;
        }
        let limit = match here {
            Processor::Gpu => "one in every lane and cycle of the highest clock",
            Processor::Cpu => "as multiply-adds in registers do, measured on one thread, times the threads",
        };
        output::print(&format!(
            "  Pairs: all N (N - 1) / 2, those beyond the cut-off at half the box too.\n  The limit: {operations} \
             arithmetic operations a pair, {most:.3e} a second, {limit}.\n\n",
        ))?;
    }
    if format.json {
        output::print_json(&json!({ "tables": tables }))?;
    }
    Ok(())
}

/// Operations a pair by the forces of an input.
fn operations(input: &Input) -> Result<usize> {
    let mut small = input.clone();
    resize(&mut small, 64);
    cut_at_half_the_box(&mut small);
    let (_, forces) = system_from_input(&small)?;
    Ok(peak_flops::operations_per_pair(&forces))
}
