//! Contents of an input file, typed: every quantity is in the units of the file, every default filled in.
//! Facts that need the atoms (which species a structure file has) are resolved later, with errors that still
//! point into the file.

mod alchemy;
mod barostat;
mod device;
mod force;
mod sampling;
mod stage;
mod system;

pub use crate::trajectory::TrajectoryFormat;
pub use alchemy::*;
pub use barostat::{Barostat, Coupling};
pub use device::{DeviceInput, GpuSet, Gpus};
pub use force::*;
pub use sampling::*;
pub use stage::*;
pub use system::*;

use crate::Selection;
use jostle_core::{Error, Exclude, UnitSystem, Vec3, WaterShape};
use jostle_potentials::electrostatics::NetCharge;
use jostle_potentials::external::Side;
use jostle_potentials::{
    AngleKind, BondKind, DihedralKind, Formula, Mixing, PairChoice, PairKind, Preset, Screening, Truncation,
};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A value and where in the input it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Byte range of the value in the text of the input.
    pub span: Range<usize>,
}

/// The text an input was read from, for error messages.
#[derive(Debug, Clone)]
pub struct Source {
    /// Path of the file; relative paths in the input start at its folder.
    pub path: PathBuf,
    /// Contents of the file.
    pub text: Arc<str>,
}

impl Source {
    /// An input error that points at a range of the text.
    pub fn error(&self, span: &Range<usize>, message: impl Into<String>) -> Error {
        Error::input(message).at_span(&self.path, &self.text, span.clone())
    }

    /// The folder that relative paths start from.
    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("."))
    }
}

/// A whole input file.
#[derive(Debug, Clone)]
pub struct Input {
    /// File and text that the input was read from.
    pub source: Source,
    /// A line about the run.
    pub title: String,
    /// The unit system.
    pub units: UnitSystem,
    /// The atoms and the box.
    pub system: SystemInput,
    /// `[species.NAME]` in the order of the file.
    pub species: Vec<Located<SpeciesInput>>,
    /// `[[force]]` in the order of the file.
    pub forces: Vec<Located<ForceInput>>,
    /// `[metal]`
    pub metal: Option<Located<MetalInput>>,
    /// `[three_body]`
    pub three_body: Option<Located<ThreeBodyInput>>,
    /// `[electrostatics]`
    pub electrostatics: Option<Located<ElectrostaticsInput>>,
    /// `[grains]`
    pub grains: Option<Located<GrainsInput>>,
    /// `[[bond]]` in the order of the file.
    pub bonds: Vec<Located<BondedInput<BondKind>>>,
    /// `[[angle]]` in the order of the file.
    pub angles: Vec<Located<BondedInput<AngleKind>>>,
    /// `[[dihedral]]`
    pub dihedrals: Vec<Located<BondedInput<DihedralKind>>>,
    /// Bound atoms that the pair forces leave out.
    pub exclude: Exclude,
    /// `[[group]]` in the order of the file.
    pub groups: Vec<Located<GroupInput>>,
    /// `[[enhanced]]` in the order of the file.
    pub enhanced: Vec<Located<EnhancedInput>>,
    /// `[[rigid]]` in the order of the file.
    pub rigid: Vec<Located<RigidInput>>,
    /// `[[field]]` in the order of the file.
    pub fields: Vec<Located<FieldInput>>,
    /// `[[wall]]` in the order of the file.
    pub walls: Vec<Located<WallInput>>,
    /// `[[restraint]]` in the order of the file.
    pub restraints: Vec<Located<RestraintInput>>,
    /// `[[interaction]]` in the order of the file.
    pub interactions: Vec<Located<InteractionInput>>,
    /// `[[variable]]` in the order of the file.
    pub variables: Vec<Located<VariableInput>>,
    /// `[[bias]]` in the order of the file.
    pub biases: Vec<Located<BiasInput>>,
    /// `[alchemy]`
    pub alchemy: Option<Located<AlchemyInput>>,
    /// `[[stage]]` in the order of the file; at least one for `jostle run`.
    pub stages: Vec<Located<StageInput>>,
    /// `[run]`
    pub run: RunInput,
}

/// `[species.NAME]`
#[derive(Debug, Clone, PartialEq)]
pub struct SpeciesInput {
    /// The name.
    pub name: String,
    /// Mass as users write it (g/mol; MeV/c^2 in `nuclear`); `None` if the structure file gives it.
    pub mass: Option<f64>,
    /// Charge; `None`: that of the structure file, else 0.
    pub charge: Option<f64>,
    /// The velocity that its atoms keep whatever acts on them; `None` where forces move them.
    pub driven: Option<Vec3>,
    /// The radius of its atoms as grains.
    pub radius: Option<f64>,
    /// Numbers for formulas.
    pub constants: Vec<(String, f64)>,
    /// Number or fraction of the atoms of a built system that are of this species.
    pub amount: Option<Amount>,
}

/// Amount of a species in a built system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// `count = 800`
    Count(usize),
    /// `fraction = 0.8` of all atoms
    Fraction(f64),
}

/// `[run]`: never changes the physics, only how it is computed.
#[derive(Debug, Clone, PartialEq)]
pub struct RunInput {
    /// `device = "auto" | "cpu" | "cuda" | "cuda:1" | "cuda:0,1" | "cuda:all" | ["cuda:0", "cuda:1"]`
    pub device: DeviceInput,
    /// Threads, precision, reproducibility, algorithm, skin.
    pub settings: jostle_core::Settings,
    /// `output = "..."`: the run folder; `None`: the input's name without its extension.
    pub output: Option<PathBuf>,
    /// Treatment of warnings.
    pub strictness: Strictness,
}

/// Treatment of reasons to doubt a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
pub enum Strictness {
    /// Warnings are printed and logged.
    #[default]
    Lenient,
    /// Warnings are errors.
    Strict,
}
