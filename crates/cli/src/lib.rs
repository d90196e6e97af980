//! The program `jostle` as a library, for the program itself and for the package of Python, which brings it along:
//! thin. The work is done in `jostle-engine`; here are the command line, the talk and the error messages.

/// A message on stderr. A closed stderr is no reason to stop, as it is for `eprintln!`.
macro_rules! say {
    ($($words:tt)*) => {{
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

mod analyze;
mod arguments;
mod at_once;
mod bench;
mod biased_run;
mod check;
mod compiling;
mod console;
mod control;
mod convert;
mod dashboard;
mod doctor;
mod doctor_mpi;
mod energy;
mod error_report;
mod example;
mod excerpt;
mod exchange;
mod extract;
mod free_energy;
mod grid;
mod grid_profile;
mod imd;
mod input_file;
mod input_frames;
mod interactions;
mod interrupt;
mod ipi;
#[cfg(unix)]
mod keys;
mod known_cursor;
mod machine;
mod moments;
mod new;
mod new_system;
mod numbers;
mod other_biases;
mod output;
mod own_command;
mod plot;
mod profile;
mod ranks;
mod reading;
mod report;
mod results;
mod run;
mod same_energy;
mod schema;
mod select;
mod slurm;
mod solvate;
mod state_table;
mod states;
mod steered;
mod sweep;
mod sweep_runs;
mod trajectory_context;
mod umbrella;
mod variables;
mod view;
mod windows;

pub use analyze::{OTHERS as OTHER_ANALYSES, analysis};
pub use arguments::{AnalyzeOptions, OutputFormat, ReadingOptions};
pub use own_command::set_own_command;
pub use view::viewer;

use arguments::{Arguments, Command};
use clap::{CommandFactory, Parser};
use error_report::SUCCESS;
use jostle_core::Result;
use std::ffi::OsString;

/// Does what a command line asks for, the name of the program first; returns the exit code.
pub fn program(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    error_report::install_panic_hook();
    let arguments = Vec::from_iter(arguments);
    if let Some(code) = compiling::serve(&arguments) {
        return code;
    }
    compiling::listen();
    ranks::run(|| match Arguments::try_parse_from(arguments) {
        Ok(Arguments { command }) => execute(command),
        Err(told) => {
            // Help and version go to stdout and are no failure. A closed stream is no reason to fail.
            let _ = told.print();
            Ok(u8::try_from(told.exit_code()).unwrap_or(2))
        }
    })
}

fn execute(command: Command) -> Result<u8> {
    interrupt::survive_file_size_limit()?;
    match command {
        Command::Run(options) => return run::run(&options),
        Command::Sweep(options) => return sweep::sweep(&options),
        Command::Resume(options) => return run::resume(&options),
        Command::Energy(options) => energy::energy(&options)?,
        Command::Check(options) => check::check(&options)?,
        Command::Analyze(options) => analyze::analyze(&options)?,
        Command::Plot(options) => plot::plot(&options)?,
        Command::Report(options) => report::report(&options)?,
        Command::View(options) => view::view(&options)?,
        Command::Control(options) => control::control(&options)?,
        Command::Convert(options) => convert::convert(&options)?,
        Command::New(options) => new::new(&options)?,
        Command::Solvate(options) => solvate::run(&options)?,
        Command::Extract(options) => extract::extract(&options)?,
        Command::Bench(options) => bench::bench(&options)?,
        Command::Select(options) => select::select(&options)?,
        Command::Schema(options) => schema::schema(&options)?,
        Command::Doctor(options) => {
            if !doctor::doctor(&options)? {
                return Ok(error_report::FAILURE);
            }
        }
        Command::Completions(options) => {
            let mut script = Vec::new();
            clap_complete::generate(options.shell, &mut Arguments::command(), "jostle", &mut script);
            output::print(&String::from_utf8_lossy(&script))?;
        }
    }
    Ok(SUCCESS)
}
