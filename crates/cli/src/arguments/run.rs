//! Options of commands that run something.

use crate::grid::Axis;
use crate::ipi::Address;
use clap::builder::{PossibleValue, StringValueParser, TypedValueParser};
use clap::{ArgGroup, Args};
use jostle_engine::model::DeviceInput;
use jostle_io::input::{Assignment, NamedChoice};
use std::ffi::OsStr;
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::str::FromStr;

/// Options of `jostle run`.
#[derive(Debug, Args)]
pub struct RunOptions {
    /// The input files (TOML), which run one after the other; - reads standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The folder to write to [default: the input's name without its extension]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Replace the results of an earlier run in that folder
    #[arg(long)]
    pub overwrite: bool,
    /// Draw temperature, energy, pressure and speed in the terminal as it runs
    #[arg(long)]
    pub tui: bool,
    #[command(flatten)]
    pub profile: ProfileOptions,
    /// Give forces to i-PI, which moves the atoms, at host:port, unix:name or unix:/path; no stage is run
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["output", "overwrite", "tui", "profile", "imd_ports", "steps"])]
    pub ipi: Option<Address>,
    #[command(flatten)]
    pub settings: SettingOptions,
    // The last, because its heading would stand above all that follow.
    #[command(flatten)]
    pub imd: ImdOptions,
}

/// Options of `jostle sweep`.
#[derive(Debug, Args)]
pub struct SweepOptions {
    /// The input file (TOML)
    pub file: PathBuf,
    /// A key and its values: 280..320:10 from 280 to 320 in steps of 10, or 1,2,5; of several keys all combinations
    #[arg(long, required = true, value_name = "KEY=VALUES")]
    pub over: Vec<Axis>,
    /// The folder of the folders of all runs [default: the input's name with -sweep]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Run them side by side, and let neighbours exchange their atoms every N steps: replica exchange
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub exchange: Option<u64>,
    /// Run N of them at once [default: on a GPU as many small ones as keep it busy, else one after the other]
    #[arg(long, value_name = "N", conflicts_with = "exchange", value_parser = clap::value_parser!(u64).range(1..))]
    pub at_once: Option<u64>,
    #[command(flatten)]
    pub settings: SettingOptions,
    #[command(flatten)]
    pub format: OutputFormat,
}

/// Settings of a new run, or of each of a sweep, that take precedence over those of its input.
#[derive(Debug, Args)]
pub struct SettingOptions {
    /// No stage takes more than N steps
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    #[command(flatten)]
    pub values: SetOptions,
    #[command(flatten)]
    pub warnings: WarningsOptions,
    #[command(flatten)]
    pub compute: ComputeOptions,
}

/// Values that replace those of the input.
#[derive(Debug, Args, Clone, Default)]
pub struct SetOptions {
    /// Take this value in place of that of the input, as system.temperature=300 or stage.sample.steps=1000
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Assignment>,
}

/// Options of `jostle resume`.
#[derive(Debug, Args)]
pub struct ResumeOptions {
    /// The folder of the run
    pub folder: PathBuf,
    /// Draw temperature, energy, pressure and speed in the terminal as it runs
    #[arg(long)]
    pub tui: bool,
    #[command(flatten)]
    pub profile: ProfileOptions,
    #[command(flatten)]
    pub warnings: WarningsOptions,
    #[command(flatten)]
    pub compute: ComputeOptions,
    // The last, because its heading would stand above all that follow.
    #[command(flatten)]
    pub imd: ImdOptions,
}

/// Profiles of a run.
#[derive(Debug, Args, Clone, Copy)]
pub struct ProfileOptions {
    /// Tell in the report where a GPU's time goes: some steps of each stage are made with each kernel alone, slower
    #[arg(long)]
    pub profile: bool,
}

/// Options of interactive molecular dynamics.
#[derive(Debug, Args)]
#[command(next_help_heading = "Interactive molecular dynamics")]
#[command(group = ArgGroup::new("imd_ports").multiple(true).args(["imd", "imd_v3", "view"]))]
pub struct ImdOptions {
    /// Serve VMD and other clients of IMD version 2 on a port of this machine: they watch, pull and pause
    #[arg(long, value_name = "PORT")]
    pub imd: Option<u16>,
    /// Serve clients of IMD version 3, such as MDAnalysis: times, box, velocities and forces as well
    #[arg(long, value_name = "PORT")]
    pub imd_v3: Option<u16>,
    /// Show the run in a browser on this machine, whose pages pull atoms with the mouse [default port: any that is free]
    #[arg(long, value_name = "PORT", num_args = 0..=1, default_missing_value = "0")]
    pub view: Option<u16>,
    /// Steps between two frames; a client may choose another number, and pages get as many as they can show
    #[arg(long, value_name = "N", default_value = "100", requires = "imd_ports")]
    pub imd_every: NonZeroU64,
    /// Begin when the first client is connected, or the first page is open
    #[arg(long, requires = "imd_ports")]
    pub imd_wait: bool,
    /// Clients may watch, but not pull, pause or end the run; pages may not pull
    #[arg(long, requires = "imd_ports")]
    pub imd_watch: bool,
    /// Listen on another address than 127.0.0.1; IMD has no password, so whoever reaches it is a client
    #[arg(long, value_name = "ADDRESS", requires = "imd_ports")]
    pub imd_listen: Option<IpAddr>,
}

/// Options of what may find a run doubtful.
#[derive(Debug, Args)]
pub struct WarningsOptions {
    /// Warnings are errors, as with strict = true in the input
    #[arg(long)]
    pub strict: bool,
}

/// Options of computing; they never change the physics.
#[derive(Debug, Args, Clone, Copy)]
pub struct ComputeOptions {
    /// CPU threads, of each process [default: what the input says, else all cores]
    #[arg(short, long, value_name = "N")]
    pub threads: Option<std::num::NonZeroUsize>,
    /// Divide the work as MPI would, among threads as N ranks: a look at what `mpirun -n N` does
    #[arg(long, value_name = "N")]
    pub ranks: Option<std::num::NonZeroUsize>,
    /// Let ranks divide pairs of atoms as a matrix of rows and columns, not space: for forces that reach half the box
    #[arg(long, value_name = "PxQ", value_parser = force_matrix)]
    pub force_matrix: Option<ForceMatrix>,
    /// Where to compute: auto, cpu, cuda, cuda:1, cuda:0,1, cuda:all [default: what the input says, else auto]
    #[arg(long, hide_possible_values = true, value_parser = DeviceName)]
    pub device: Option<DeviceInput>,
}

/// Rows and columns of a force matrix of ranks.
#[derive(Debug, Clone, Copy)]
pub struct ForceMatrix(pub [usize; 2]);

/// Reads the rows and columns of a force matrix.
fn force_matrix(text: &str) -> Result<ForceMatrix, String> {
    let numbers =
        text.split_once('x').and_then(|(p, q)| Some([p.trim().parse().ok()?, q.trim().parse().ok()?]));
    match numbers {
        Some(shape) if !shape.contains(&0) => Ok(ForceMatrix(shape)),
        _ => Err("rows and columns of ranks, as 2x2".into()),
    }
}

/// Reads the name of a device, and suggests those that need no number.
#[derive(Debug, Clone, Copy)]
struct DeviceName;

impl TypedValueParser for DeviceName {
    type Value = DeviceInput;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<DeviceInput, clap::Error> {
        let parse = |name: String| DeviceInput::from_str(&name);
        StringValueParser::new().try_map(parse).parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(DeviceInput::ALL.iter().map(|d| PossibleValue::new(d.name()).help(d.about()))))
    }
}

/// For people or for programs.
#[derive(Debug, Args, Clone, Copy)]
pub struct OutputFormat {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}
