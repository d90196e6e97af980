//! Options of `jostle bench`.

use super::{ComputeOptions, OutputFormat, word};
use clap::Args;
use jostle_core::{Algorithm, Precision};
use std::path::PathBuf;

/// Options of `jostle bench`.
#[derive(Debug, Args)]
pub struct BenchOptions {
    /// A built-in case, an input file, all, algorithms, papers, one paper: rapaport, wang, hoang, iumd, namd, or scaling,
    /// a model of many ranks [default: the usual cases]
    pub case: Option<String>,
    /// Seconds to measure each case for [default: 5; in a table 1]
    #[arg(long, value_name = "S")]
    pub seconds: Option<f64>,
    /// Measure energy and pressure every N steps, as a run does for thermo.csv
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub thermo: u64,
    /// Arithmetic of the forces [default: what the case says, else mixed]
    #[arg(long, value_parser = word::<Precision>())]
    pub precision: Option<Precision>,
    /// How pairs are found [default: what the case says, else auto]
    #[arg(long, value_parser = word::<Algorithm>())]
    pub algorithm: Option<Algorithm>,
    /// Measure on so many GPUs, side by side: 1,2,4
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub devices: Option<Vec<std::num::NonZeroUsize>>,
    /// Tell how long each kernel of a GPU takes, and what its lists hold
    #[arg(long, conflicts_with_all = ["devices", "output", "ranks"])]
    pub profile: bool,
    /// With scaling: latency of a message in microseconds, and GB/s of a rank [default: 2,0.4]
    #[arg(long, value_name = "US,GB/S", value_delimiter = ',')]
    pub network: Option<Vec<f64>>,
    /// With scaling: the case that is measured [default: melt-256k]
    #[arg(long, value_name = "CASE")]
    pub of: Option<String>,
    /// Write the tables of papers as a page with pictures into this folder, too
    #[arg(long, value_name = "FOLDER", conflicts_with = "json")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub compute: ComputeOptions,
    #[command(flatten)]
    pub format: OutputFormat,
}
