//! Options of `jostle extract`.

use super::OutputFormat;
use clap::Args;
use std::path::PathBuf;

/// Options of `jostle extract`.
#[derive(Debug, Args)]
pub struct ExtractOptions {
    /// The input file (TOML) of the whole system, whose atoms are those of a topology
    pub file: PathBuf,
    /// Which atoms move, in words; residues are completed
    pub selection: String,
    /// Thickness of the shell of residues that are kept, but frozen: a number in the unit of the input, or "8 A"
    #[arg(long, value_name = "LENGTH", default_value = "8 A", allow_negative_numbers = true)]
    pub shell: String,
    /// Run folder or checkpoint with the positions [default: those of the input]
    #[arg(long, value_name = "RUN")]
    pub run: Option<PathBuf>,
    /// Files to write: NAME.top, NAME.gro, NAME.toml
    #[arg(short, long, value_name = "NAME")]
    pub output: PathBuf,
    /// Replace files that exist
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub format: OutputFormat,
}
