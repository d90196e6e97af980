//! The command line, as types.

mod bench;
mod extract;
mod reading;
mod run;
mod solvate;

pub use bench::BenchOptions;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
pub use extract::ExtractOptions;
use jostle_analysis::{Kind, Observable, kinds};
use jostle_core::UnitSystem;
use jostle_engine::model::TrajectoryFormat;
use jostle_io::input::NamedChoice;
pub use reading::ReadingOptions;
pub use run::{
    ComputeOptions, ForceMatrix, ImdOptions, OutputFormat, ResumeOptions, RunOptions, SetOptions,
    SettingOptions, SweepOptions, WarningsOptions,
};
pub use solvate::SolvateOptions;
use std::path::PathBuf;

/// Molecular dynamics that is fast, easy to install and never silently wrong.
#[derive(Debug, Parser)]
#[command(
    name = "jostle",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "Start here:\n  \
        jostle new argon             write argon.toml, a commented input\n  \
        jostle run argon.toml        run it; results go to the folder argon/\n  \
        jostle resume argon          go on after Ctrl-C, a crash or a power cut\n\n\
        Data goes to stdout, talk to stderr. Exit codes: 0 done, 1 failed, 2 wrong input, 130 interrupted."
)]
pub struct Arguments {
    /// Command and its options.
    #[command(subcommand)]
    pub command: Command,
}

/// Command and its options.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the stages of an input file
    #[command(after_help = "Examples:\n  \
        jostle run argon.toml\n  \
        jostle run argon.toml --output /scratch/argon --threads 8\n  \
        jostle run argon.toml --steps 1000       try it: no stage takes more than 1000 steps\n  \
        jostle run argon.toml --set system.temperature=120 --output hot\n  \
        jostle run *.toml                        one after the other\n  \
        jostle run argon.toml --imd 8888 --imd-wait   in VMD: imd connect localhost 8888\n  \
        jostle run argon.toml --view             in the browser: watch it, pull atoms with the mouse\n  \
        mpirun -n 4 jostle run argon.toml        four processes, by MPI (`jostle doctor` finds it)\n\n\
        Ctrl-C finishes the step, writes a checkpoint and says how to go on.")]
    Run(RunOptions),

    /// Run an input with many values of one or several keys, and print a table of the results
    #[command(after_help = "Examples:\n  \
        jostle sweep argon.toml --over system.temperature=80..100:5\n  \
        jostle sweep argon.toml --over system.temperature=80,90 --over system.density=1.3..1.5:0.1 > table.csv\n  \
        jostle sweep peptide.toml --over system.temperature=300..360:10 --exchange 500   replica exchange\n\n\
        Each run has a folder named by its values. The same command again goes on where it was interrupted: what\n\
        is finished is not run again. The table has the averages of the last stage with their errors.\n\n\
        Runs have the seed of the input, but replicas and windows (keys of [alchemy] and [[bias]]) one each.")]
    Sweep(SweepOptions),

    /// Go on with a run that was interrupted
    #[command(after_help = "Example:\n  \
        jostle resume argon\n\n\
        The run goes on from the last checkpoint in the folder, as if it had never stopped; with\n\
        `reproducible = true` in the input, bit for bit.")]
    Resume(ResumeOptions),

    /// Tell a run under way to pause, go on, stop, or hold another temperature
    #[command(after_help = "Examples:\n  \
        jostle control argon pause                it writes a checkpoint and waits\n  \
        jostle control argon temperature \"120 K\"\n\n\
        From wherever the folder is seen. What is changed is in the log, the summary, the report\n\
        and a checkpoint: a resumed run goes on with it. jostle view has buttons for the same.\n\
        Runs of a sweep take commands one by one, those that exchange their atoms none.")]
    Control(ControlOptions),

    /// Energy, virial and pressure of one configuration
    #[command(after_help = "Examples:\n  \
        jostle energy argon.toml\n  \
        jostle energy argon.toml --json | jq .potential\n  \
        jostle energy argon.toml --forces forces.csv")]
    Energy(EnergyOptions),

    /// Validate an input without writing anything; estimate memory and time
    #[command(after_help = "Examples:\n  \
        jostle check argon.toml\n  \
        jostle check argon.toml --full > complete.toml     the input with every default filled in")]
    Check(CheckOptions),

    /// Analyze a trajectory: distribution functions, diffusion, order, ...
    #[command(after_help = crate::analyze::help())]
    Analyze(AnalyzeOptions),

    /// Draw a run and what was analyzed, for print: SVG and PNG
    #[command(after_help = "Examples:\n  \
        jostle plot argon                         temperature, energies, ..., every analysis in the folder\n  \
        jostle plot results/rdf.json msd.csv      what jostle analyze has written\n\n\
        Figures are one column (86 mm) wide in print; bands are standard errors.")]
    Plot(PlotOptions),

    /// Write all about a run into one HTML file that opens anywhere, offline
    #[command(after_help = "Example:\n  \
        jostle report argon                       writes argon/report.html\n\n\
        What was run, where and how fast; plots to hover and zoom, with every analysis in the folder;\n\
        averages with errors; what to be careful about; the last configuration in 3D.")]
    Report(ReportOptions),

    /// Show a run or a trajectory in 3D in the browser, also while it runs
    #[command(after_help = "Examples:\n  \
        jostle view argon                         all its trajectories; grows with a run under way\n  \
        jostle view traj.xtc --names start.xyz\n\n\
        A run under way can be paused, stopped and held at another temperature.\n\
        Drag to turn, right button to move, wheel to come nearer; space plays, arrows step.\n\
        It listens on 127.0.0.1 only; the address that it prints has a token. From another machine:\n\
        ssh -L 8123:127.0.0.1:8123 HOST jostle view argon --port 8123")]
    View(ViewOptions),

    /// Write a trajectory in another format
    #[command(after_help = format!("Examples:\n  \
        jostle convert sample.xtc sample.dcd\n  \
        jostle convert dump.lammpstrj.gz sample.trr --units metal --timestep 0.001\n\n\
        Read and written: {}.\n\
        All but {} may be packed (gzip, Zstandard) where they are read.",
        TrajectoryFormat::titles("", |_| true),
        TrajectoryFormat::titles("and", |format| !format.reads_packed())))]
    Convert(ConvertOptions),

    /// Write a commented input file to start from
    #[command(after_help = "Examples:\n  \
        jostle new                                list the examples\n  \
        jostle new water                          the example water, as water.toml\n  \
        jostle new glass --like kob-andersen      that example, as glass.toml\n  \
        jostle new fluid                          the example argon, as fluid.toml\n\n\
        Beside it comes jostle.schema.json, from which editors that know TOML complete keys.")]
    New(NewOptions),

    /// Put molecules into a box of water with ions, and write topology, coordinates and an input
    #[command(after_help = "Examples:\n  \
        jostle solvate protein.prmtop --coordinates protein.rst7 --padding 1 --neutralise --output wet\n  \
        jostle solvate ligand.top -c ligand.gro --padding 1.2 --shape dodecahedron --water spce \\\n  \
        \x20                --concentration 0.15 --ions K+,Cl- --output wet\n  \
        jostle solvate --box 3 --water tip4p-2005 --output water        water alone\n  \
        jostle solvate --box 4,4,4 --shape orthorhombic --vacuum 8 --output slab\n\n\
        wet.top and wet.gro are for GROMACS, OpenMM and Jostle; jostle run wet.toml minimises, heats and\n\
        brings to constant pressure.")]
    Solvate(SolvateOptions),

    /// Write a part of a system as one of its own: residues that move, a frozen shell around them
    #[command(after_help = "Examples:\n  \
        jostle extract protein.toml \"resid 5 to 20\" --output loop\n  \
        jostle extract protein.toml \"resname LIG\" --shell \"1 nm\" --run protein --output site\n  \
        jostle run site.toml --view               pull the ligand with the mouse\n\n\
        site.top and site.gro are for GROMACS, OpenMM and Jostle. Numbers of atoms begin anew; beyond the shell\n\
        is vacuum, and charges end at the cut-off of the input.")]
    Extract(ExtractOptions),

    /// Measure the speed of whole time steps on this machine
    #[command(after_help = "Examples:\n  \
        jostle bench                              the usual cases; `jostle bench all`: all of them\n  \
        jostle bench melt-32k --threads 1 --json\n  \
        jostle bench melt-1m --device cuda\n  \
        jostle bench melt-1m --devices 1,2        one GPU and two, side by side\n  \
        jostle bench my-input.toml                your own system\n  \
        jostle bench algorithms                   the ways to find pairs, side by side\n  \
        jostle bench papers --output then-and-now  the papers' tables, then and now, and pictures\n  \
        jostle bench iumd                         screened ions, every pair: IUMD's table, and the limit")]
    Bench(BenchOptions),

    /// Show which atoms a selection has: "protein and name CA"
    #[command(after_help = crate::select::help())]
    Select(SelectOptions),

    /// Print every key of the input file: type, unit, default, meaning
    Schema(SchemaOptions),

    /// The devices of this machine, and a test of each
    Doctor(DoctorOptions),

    /// Print a completion script for a shell
    #[command(after_help = "Example:\n  \
        jostle completions bash > ~/.local/share/bash-completion/completions/jostle")]
    Completions(CompletionsOptions),
}

/// Options of `jostle control`.
#[derive(Debug, Args)]
pub struct ControlOptions {
    /// The folder of the run
    pub folder: PathBuf,
    /// The command
    #[command(subcommand)]
    pub command: ControlCommand,
}

/// Commands to a run under way.
#[derive(Debug, Subcommand)]
pub enum ControlCommand {
    /// Write a checkpoint and wait
    Pause,
    /// Go on after a pause
    GoOn,
    /// Write a checkpoint and end; jostle resume goes on
    Stop,
    /// Write a checkpoint and hold the atoms at another temperature until the stage ends
    Temperature {
        /// A number in the units of the run, or with its unit: "120 K"
        #[arg(allow_negative_numbers = true)]
        value: String,
    },
}

/// Options of `jostle energy`.
#[derive(Debug, Args)]
pub struct EnergyOptions {
    /// The input file (TOML); - reads standard input
    pub file: PathBuf,
    /// Write the force on every atom, in the order of the file, as CSV
    #[arg(long, value_name = "OUT")]
    pub forces: Option<PathBuf>,
    #[command(flatten)]
    pub values: SetOptions,
    #[command(flatten)]
    pub compute: ComputeOptions,
    #[command(flatten)]
    pub format: OutputFormat,
}

/// Options of `jostle check`.
#[derive(Debug, Args)]
pub struct CheckOptions {
    /// The input file (TOML); - reads standard input
    pub file: PathBuf,
    /// Print the input with every default filled in
    #[arg(long)]
    pub full: bool,
    #[command(flatten)]
    pub values: SetOptions,
    #[command(flatten)]
    pub warnings: WarningsOptions,
    #[command(flatten)]
    pub compute: ComputeOptions,
}

/// Options of `jostle analyze`.
#[derive(Debug, Args, Clone)]
pub struct AnalyzeOptions {
    /// The kind of analysis
    #[arg(value_parser = kind_name())]
    pub kind: String,
    /// The folder of a run, or a trajectory
    #[arg(
        value_name = "RUN|FILE",
        help = format!("The folder of a run, or a trajectory: {}", TrajectoryFormat::titles("", |_| true))
    )]
    pub trajectory: PathBuf,
    /// Settings of the analysis, see below; for pmf and free-energy more folders or files as well
    #[arg(value_name = "NAME=VALUE")]
    pub settings: Vec<String>,
    /// Look at these atoms only, in words: jostle help select lists them
    #[arg(long, value_name = "SELECTION")]
    pub atoms: Option<String>,
    /// The input that describes the atoms, for words and charges [default: the run that the trajectory is of]
    #[arg(long, value_name = "FILE")]
    pub input: Option<PathBuf>,
    /// Stage whose frames or rows are taken [default: the last, of pmf the last with a bias that gives a profile; of a
    /// trajectory, that which it is named after]
    #[arg(long, value_name = "NAME")]
    pub stage: Option<String>,
    /// Write all tables as CSV, and everything as JSON, to a folder
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Frames that are read
    #[command(flatten)]
    pub reading: ReadingOptions,
    /// Format of what is printed
    #[command(flatten)]
    pub format: OutputFormat,
}

impl AnalyzeOptions {
    /// Options of an analysis of this kind of a trajectory, or of the run of a folder, without further wishes.
    pub fn new(kind: String, trajectory: PathBuf) -> Self {
        AnalyzeOptions {
            kind,
            trajectory,
            reading: ReadingOptions::all(),
            settings: Vec::new(),
            atoms: None,
            input: None,
            stage: None,
            output: None,
            format: OutputFormat { json: false },
        }
    }
}

/// Options of `jostle plot`.
#[derive(Debug, Args)]
pub struct PlotOptions {
    /// Folders of runs or analyses, or single files: JSON or CSV of an analysis, thermo.csv
    #[arg(required = true, value_name = "RUN|FILE")]
    pub paths: Vec<PathBuf>,
    /// The folder to write to [default: RUN/plots, or beside FILE]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// Options of `jostle report`.
#[derive(Debug, Args)]
pub struct ReportOptions {
    /// The folder of the run
    pub folder: PathBuf,
    /// The file to write [default: RUN/report.html]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Options of `jostle view`.
#[derive(Debug, Args)]
pub struct ViewOptions {
    /// The folder of a run, or a trajectory
    #[arg(value_name = "RUN|FILE")]
    pub path: PathBuf,
    /// The port of 127.0.0.1 to listen on [default: any that is free]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub port: u16,
    /// Unit system to read in [default: what the file says, or start.xyz beside it]
    #[arg(long, value_parser = word::<UnitSystem>())]
    pub units: Option<UnitSystem>,
    /// A file with the atoms' names, for a trajectory without [default: start.xyz beside it]
    #[arg(long, value_name = "FILE")]
    pub names: Option<PathBuf>,
}

/// Options of `jostle convert`.
#[derive(Debug, Args)]
pub struct ConvertOptions {
    /// The trajectory
    pub from: PathBuf,
    /// The file to write; its ending says the format
    pub to: PathBuf,
    /// The format, if the name does not say it
    #[arg(long, value_parser = word::<TrajectoryFormat>())]
    pub format: Option<TrajectoryFormat>,
    /// Replace the file if it exists
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub reading: ReadingOptions,
}

/// Options of `jostle new`.
#[derive(Debug, Args)]
pub struct NewOptions {
    /// Name of the input; `.toml` is added [default: none, list the examples]
    pub name: Option<PathBuf>,
    /// The example to start from [default: the one called NAME, else argon]
    #[arg(long, value_name = "EXAMPLE", value_parser = example_name())]
    pub like: Option<String>,
}

/// Options of `jostle select`.
#[derive(Debug, Args)]
pub struct SelectOptions {
    /// The input file (TOML); - reads standard input
    pub file: PathBuf,
    /// Which atoms, in words
    pub selection: String,
    #[command(flatten)]
    pub format: OutputFormat,
}

/// Options of `jostle schema`.
#[derive(Debug, Args)]
pub struct SchemaOptions {
    #[command(flatten)]
    pub format: OutputFormat,
    /// Print a page in Markdown: docs/reference.md is one
    #[arg(long, conflicts_with = "json")]
    pub markdown: bool,
}

/// Options of `jostle doctor`.
#[derive(Debug, Args)]
pub struct DoctorOptions {
    #[command(flatten)]
    pub format: OutputFormat,
    /// Only test messages between the ranks that mpiexec has started
    #[arg(long)]
    pub messages: bool,
    /// Only print a job script for SLURM, for nodes like this machine
    #[arg(long, conflicts_with_all = ["messages", "json"])]
    pub slurm: bool,
}

/// Options of `jostle completions`.
#[derive(Debug, Args)]
pub struct CompletionsOptions {
    /// The shell
    pub shell: Shell,
}

/// Reads one of a few words.
fn word<W: NamedChoice + Send + Sync>() -> impl TypedValueParser<Value = W> {
    let one = |w: &W| PossibleValue::new(w.name()).help(w.about());
    PossibleValuesParser::new(W::ALL.iter().map(one)).try_map(|name| W::from_name(&name).ok_or("unknown"))
}

fn kind_name() -> PossibleValuesParser {
    let value = |kind: &Kind| {
        let about = match kind.observable {
            Observable::Positions | Observable::Velocities => kind.about.to_string(),
            Observable::Molecules => {
                format!("{}; bonds are those of the run beside the trajectory, or of --input", kind.about)
            }
            Observable::Whole => format!("{}; from the rows of thermo.csv", kind.about),
            Observable::HeatCurrent => {
                format!("{}; forces are those of the run beside the trajectory, or of --input", kind.about)
            }
            Observable::Dipole | Observable::Current => {
                format!("{}; charges are those of the run beside the trajectory, or of --input", kind.about)
            }
        };
        PossibleValue::new(kind.name).help(about)
    };
    let others = crate::analyze::OTHERS.iter().map(|(name, about)| PossibleValue::new(*name).help(*about));
    kinds::ALL.iter().map(value).chain(others).collect::<Vec<_>>().into()
}

fn example_name() -> clap::builder::PossibleValuesParser {
    crate::example::ALL.iter().map(|e| e.name).collect::<Vec<_>>().into()
}
