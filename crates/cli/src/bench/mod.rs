//! `jostle bench`

mod algorithms;
mod cases;
mod devices;
mod measure;
mod papers;
mod profile;
mod scaling;

use crate::arguments::{BenchOptions, ComputeOptions, SetOptions};
use crate::input_file;
use crate::numbers::{grouped, significant};
use crate::output;
use cases::{CASES, Choice};
use jostle_core::{Error, Result};
use jostle_engine::kernel_profile::StepProfile;
use jostle_io::Input;
use measure::{Exchange, Measured, Messages, RunSettings, measure};
use papers::{PAPERS, Paper, PaperOutput};
use profile::measure_kernels;
use scaling::{Network, scaling};
use serde_json::json;
use std::path::Path;

/// Seconds to measure a case for.
const SECONDS: f64 = 5.0;
/// Seconds to measure each of many cases of a table for.
const SECONDS_IN_TABLE: f64 = 1.0;

/// Measures one case, several, or one of the tables.
///
/// # Errors
/// If there is no such case or file, or it cannot run.
pub fn bench(options: &BenchOptions) -> Result<()> {
    let asked = options.seconds.unwrap_or(SECONDS);
    if !(asked > 0.0 && asked.is_finite()) {
        return Err(Error::input(format!("--seconds {asked} is no time to measure for")));
    }
    let in_table = options.seconds.unwrap_or(SECONDS_IN_TABLE);
    let run_settings = RunSettings {
        overrides: options.compute.overrides(),
        precision: options.precision,
        algorithm: options.algorithm,
        thermo: options.thermo,
    };
    if options.case.as_deref() == Some("scaling") {
        let ComputeOptions { threads, ranks, force_matrix, device } = &options.compute;
        let chosen = [
            threads.is_some(),
            ranks.is_some(),
            force_matrix.is_some(),
            device.is_some(),
            options.devices.is_some(),
            options.profile,
        ];
        if chosen.contains(&true) || options.output.is_some() {
            return Err(Error::input("scaling is that of ranks on the CPU, on one core to all").hint(
                "leave out --threads, --ranks, --force-matrix, --device, --devices, --profile and --output",
            ));
        }
        let network = Network::new(options.network.as_deref().unwrap_or(&[2.0, 0.4]))?;
        let name = options.of.as_deref().unwrap_or("melt-256k");
        return scaling((name, named(name)?), network, &run_settings, in_table, options.format.json);
    }
    if options.network.is_some() || options.of.is_some() {
        return Err(Error::input("--network and --of are of bench scaling").hint("leave them out"));
    }
    let papers = papers_named(options.case.as_deref());
    let table = papers.is_some() || options.case.as_deref() == Some("algorithms");
    if options.output.is_some() && papers.is_none() {
        return Err(
            Error::input("--output is for the tables of papers").hint("jostle bench papers --output FOLDER")
        );
    }
    if options.profile && table {
        return Err(
            Error::input("--profile is of cases, not of tables").hint("jostle bench melt-32k --profile")
        );
    }
    if table && options.algorithm.is_some() {
        return Err(Error::input("a table chooses the algorithms itself").hint("leave --algorithm out"));
    }
    if let Some(counts) = &options.devices {
        if table || options.compute.device.is_some() {
            return Err(
                Error::input("--devices is of cases, on GPUs").hint("leave out --device, or name a case")
            );
        }
        let inputs = match options.case.as_deref() {
            None => built_in(Choice::Usual)?,
            Some("all") => built_in(Choice::Named)?,
            Some(name) => vec![(name.to_string(), named(name)?)],
        };
        let counts: Vec<usize> = counts.iter().map(|count| count.get()).collect();
        return devices::devices(inputs, &counts, &run_settings, in_table, options.format.json);
    }
    if let Some(papers) = papers {
        let form = match &options.output {
            Some(folder) => PaperOutput::Page(folder),
            None if options.format.json => PaperOutput::Json,
            None => PaperOutput::Text,
        };
        return papers::papers(&papers, &run_settings, in_table, form);
    }
    match options.case.as_deref() {
        Some("algorithms") => algorithms::algorithms(&run_settings, in_table, options.format),
        None => list(built_in(Choice::Usual)?, &run_settings, asked, options),
        Some("all") => list(built_in(Choice::Named)?, &run_settings, asked, options),
        Some(name) => list(vec![(name.to_string(), named(name)?)], &run_settings, asked, options),
    }
}

/// Papers by the name of a case; `None` for other cases.
fn papers_named(case: Option<&str>) -> Option<Vec<Paper>> {
    match case? {
        "papers" => Some(PAPERS.to_vec()),
        name => PAPERS.iter().find(|paper| paper.name == name).map(|paper| vec![*paper]),
    }
}

/// The usual cases, or all of them.
fn built_in(choice: Choice) -> Result<Vec<(String, Input)>> {
    let cases = CASES.iter().filter(|case| choice == Choice::Named || case.choice == Choice::Usual);
    cases.map(|case| Ok((case.name.to_string(), case.input()?))).collect()
}

/// A built-in case, or the input file of this name.
fn named(name: &str) -> Result<Input> {
    if let Some(case) = CASES.iter().find(|case| case.name == name) {
        return case.input();
    }
    let path = Path::new(name);
    if path.extension().is_some() || path.exists() {
        return input_file::read(path, &SetOptions::default());
    }
    Err(Error::input(format!("there is no case '{name}'")).hint(format!(
        "one of {}; all; algorithms, papers, {}, scaling, which are tables; or an input file",
        cases::names(),
        PAPERS.map(|paper| paper.name).join(", ")
    )))
}

/// Measures one case after the other.
fn list(
    inputs: Vec<(String, Input)>,
    run_settings: &RunSettings,
    seconds: f64,
    options: &BenchOptions,
) -> Result<()> {
    let mut rows = Vec::new();
    for (number, (name, input)) in inputs.into_iter().enumerate() {
        say!("{name}: warming up, then measuring for {seconds} s");
        let (measured, kernels) = match options.profile {
            true => {
                measure_kernels(&name, input, run_settings, seconds).map(|(m, kernels)| (m, Some(kernels)))?
            }
            false => (measure(&name, input, run_settings, seconds)?, None),
        };
        if options.format.json {
            let mut row = measured.to_json();
            row["profile"] = json!(kernels.as_ref().map(StepProfile::to_json));
            rows.push(row);
            continue;
        }
        if number == 0 {
            let columns = ["atoms", "ns/atom-step", "steps/s", "T", "forces", "lists", "integration"];
            output::print(&format!("{}\n\n{}", measured.device, row("case", columns.map(str::to_string))))?;
        }
        output::print(&case_row(&measured))?;
        if let Some(line) = division_row(&measured) {
            output::print(&line)?;
        }
        if let Some(kernels) = kernels {
            profile::print(&kernels, &measured)?;
        }
    }
    if options.format.json {
        output::print_json(&json!({ "cases": rows }))?;
    }
    Ok(())
}

/// Line about what GPUs or ranks tell each other.
fn division_row(measured: &Measured) -> Option<String> {
    if let Some(Exchange { waiting, bytes_per_step }) = measured.exchange {
        let (share, bytes) = (100.0 * waiting, bytes_per_step / 1e3);
        return Some(format!(
            "  GPUs wait for each other for {share:.0}% of the time, and send each other {bytes:.0} kB a step\n"
        ));
    }
    let Messages { ranks, seconds, messages, bytes } = measured.messages?;
    let (share, bytes) = (100.0 * seconds / measured.seconds_per_step(), bytes / 1e3);
    Some(format!(
        "  {ranks} ranks: {share:.0}% of the time in messages, waiting included; {messages:.1} messages and {bytes:.1} kB a step\n"
    ))
}

fn case_row(measured: &Measured) -> String {
    let share = |k: usize| match measured.shares() {
        Some(shares) => format!("{:.0}%", 100.0 * shares[k]),
        None => "-".to_string(),
    };
    let columns = [
        grouped(measured.atoms as u64),
        significant(measured.nanoseconds(), 3),
        significant(1.0 / measured.seconds_per_step(), 4),
        significant(measured.temperature, 3),
        share(0),
        share(1),
        share(2),
    ];
    row(&measured.name, columns)
}

/// A line of the table.
fn row(name: &str, columns: [String; 7]) -> String {
    let [atoms, nanoseconds, steps, temperature, pair, neighbors, integrate] = columns;
    format!(
        "{name:<28}{atoms:>10}{nanoseconds:>14}{steps:>10}{temperature:>8}{pair:>9}{neighbors:>8}{integrate:>14}\n"
    )
}
