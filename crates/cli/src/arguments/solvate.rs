//! Options of `jostle solvate`.

use super::{OutputFormat, word};
use clap::Args;
use jostle_engine::build::solvation::shape::BoxShape;
use jostle_io::forcefield::solvent::WaterModel;
use jostle_io::input::model::Rigid;
use std::path::PathBuf;

/// Options of `jostle solvate`.
#[derive(Debug, Args)]
pub struct SolvateOptions {
    /// Topology of the solute: prmtop (AMBER), PSF, top (GROMACS), System (OpenMM), LAMMPS data; or an input (TOML)
    /// with `topology = ...` [default: none, water alone]
    #[arg(value_name = "TOPOLOGY|INPUT")]
    pub solute: Option<PathBuf>,
    /// Positions of its atoms, where the topology has none: PDB, mmCIF, inpcrd or rst7, gro, extended XYZ
    #[arg(short, long, value_name = "FILE", requires = "solute")]
    pub coordinates: Option<PathBuf>,
    /// Files of parameters of a PSF or of LAMMPS data, in their order
    #[arg(long, value_name = "FILE", requires = "solute", num_args = 1..)]
    pub parameters: Vec<PathBuf>,
    /// Macro of a GROMACS topology
    #[arg(long, value_name = "NAME", requires = "solute")]
    pub define: Vec<String>,
    /// Folder of files that a GROMACS topology includes
    #[arg(long, value_name = "DIR", requires = "solute")]
    pub include: Vec<PathBuf>,
    /// Files to write: NAME.top, NAME.gro, NAME.toml
    #[arg(short, long, value_name = "NAME")]
    pub output: PathBuf,
    /// Least distance between solute and sides, however it turns: a number in nm, or "12 A"
    #[arg(
        long,
        value_name = "LENGTH",
        required_unless_present = "size",
        conflicts_with = "size",
        allow_negative_numbers = true
    )]
    pub padding: Option<String>,
    /// Size of the box: one length, the distance of images, or three edges: 6, "60 A" or 6,7,8 in nm
    #[arg(long = "box", value_name = "LENGTHS", id = "size", allow_negative_numbers = true)]
    pub size: Option<String>,
    /// Shape of the box
    #[arg(long, value_parser = word::<&'static BoxShape>(), default_value = "cubic")]
    pub shape: &'static BoxShape,
    /// Model of the water
    #[arg(long, value_parser = word::<&'static WaterModel>(), default_value = "tip3p")]
    pub water: &'static WaterModel,
    /// Cation and anion that --neutralise and --concentration add
    #[arg(long, value_name = "CATION,ANION", default_value = "Na+,Cl-")]
    pub ions: String,
    /// Add as many ions as take away the charge of the solute
    #[arg(long)]
    pub neutralise: bool,
    /// Concentration of the salt in the water, in mol/l
    #[arg(
        long,
        value_name = "MOLAR",
        default_value_t = 0.0,
        hide_default_value = true,
        allow_negative_numbers = true
    )]
    pub concentration: f64,
    /// Empty space along z, which makes a slab with two surfaces of the water: a number in nm, or "30 A"
    #[arg(long, value_name = "LENGTH", allow_negative_numbers = true)]
    pub vacuum: Option<String>,
    /// Temperature of the input that is written, in kelvin [default: 300; of an input, that of its last thermostat, else
    /// of its velocities]
    #[arg(long, value_name = "K", allow_negative_numbers = true)]
    pub temperature: Option<f64>,
    /// Rigid bonds in the input that is written [default: hydrogens; of an input, its own]
    #[arg(long, value_parser = word::<Rigid>())]
    pub rigid: Option<Rigid>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Replace files that exist
    #[arg(long)]
    pub overwrite: bool,
    #[command(flatten)]
    pub format: OutputFormat,
}
