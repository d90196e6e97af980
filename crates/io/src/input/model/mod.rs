//! What an input file says, typed: every quantity already in the units of the file, every default
//! filled in. What needs the atoms (which species a structure file has) is resolved later, with
//! errors that still point into the file.

mod stage;

pub use super::barostat::{Barostat, Coupling};
pub use stage::*;

use super::choice::NamedChoice;
use crate::Selection;
use jostle_core::{Error, Exclude, Result, UnitSystem, Vec3, WaterShape};
use jostle_potentials::electrostatics::NetCharge;
use jostle_potentials::external::Side;
use jostle_potentials::{
    AngleKind, BondKind, Formula, Mixing, PairChoice, PairKind, Preset, Screening, Truncation,
};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

/// A value and where in the input it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Its byte range in the text of the input.
    pub span: Range<usize>,
}

/// The text an input was read from, for error messages.
#[derive(Debug, Clone)]
pub struct Source {
    /// Path of the file; relative paths in the input start at its folder.
    pub path: PathBuf,
    /// Its contents.
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
    /// Where it came from.
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
    /// `[electrostatics]`
    pub electrostatics: Option<Located<ElectrostaticsInput>>,
    /// `[grains]`
    pub grains: Option<Located<GrainsInput>>,
    /// `[[bond]]` in the order of the file.
    pub bonds: Vec<Located<BondedInput<BondKind>>>,
    /// `[[angle]]` in the order of the file.
    pub angles: Vec<Located<BondedInput<AngleKind>>>,
    /// Bound atoms that the pair forces leave out.
    pub exclude: Exclude,
    /// `[[group]]` in the order of the file.
    pub groups: Vec<Located<GroupInput>>,
    /// `[[field]]` in the order of the file.
    pub fields: Vec<Located<FieldInput>>,
    /// `[[wall]]` in the order of the file.
    pub walls: Vec<Located<WallInput>>,
    /// `[[restraint]]` in the order of the file.
    pub restraints: Vec<Located<RestraintInput>>,
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
    /// How many atoms of the built system are of this species.
    pub amount: Option<Amount>,
}

/// How much of a species there is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// `count = 800`
    Count(usize),
    /// `fraction = 0.8` of all atoms
    Fraction(f64),
}

/// `[system]`
#[derive(Debug, Clone)]
pub struct SystemInput {
    /// Where the atoms come from.
    pub atoms: Located<AtomsInput>,
    /// How many copies of them stand side by side along each edge.
    pub replicate: Located<[usize; 3]>,
    /// Periodic axes; `None` takes those of the file (all, for a built system).
    pub periodic: Option<[bool; 3]>,
    /// Velocities at the start; `None` keeps those of the file, or leaves atoms at rest.
    pub velocities: Option<VelocityInput>,
    /// The seed of everything random.
    pub seed: u64,
}

/// Where the atoms come from.
#[derive(Debug, Clone)]
pub enum AtomsInput {
    /// `lattice = "fcc"`
    Lattice {
        /// The Bravais lattice.
        lattice: Lattice,
        /// How large it is.
        extent: LatticeExtent,
        /// Atoms per volume.
        density: DensityInput,
    },
    /// `place = "random"`: non-overlapping random positions (Hoang et al. 2011).
    Random {
        /// How many atoms.
        atoms: usize,
        /// The box.
        region: RegionInput,
        /// No two atoms are nearer than this.
        min_distance: f64,
    },
    /// `place = "chains"`: bead-spring chains, random walks pushed apart.
    Chains {
        /// How many.
        chains: usize,
        /// Atoms of each.
        beads: usize,
        /// The box.
        region: RegionInput,
        /// Distance of bound beads.
        bond_length: f64,
    },
    /// `place = "water"`: rigid molecules on a grid, turned at random.
    Water {
        /// How many.
        molecules: usize,
        /// The box.
        region: RegionInput,
        /// The molecules.
        shape: WaterShape,
    },
    /// `file = "..."`: LAMMPS data, extended XYZ, or a Jostle checkpoint, by name or content.
    File {
        /// Path, already joined with the input's folder.
        path: PathBuf,
        /// Names of the numeric types of a LAMMPS data file; empty: from its type labels or
        /// comments, else "1", "2", ...
        types: Vec<String>,
    },
    /// `topology = "..."`: molecules with their force field.
    Molecules(MoleculesInput),
}

/// Files of molecules; paths joined with the input's folder.
#[derive(Debug, Clone, PartialEq)]
pub struct MoleculesInput {
    /// What binds the atoms, with the force field.
    pub topology: PathBuf,
    /// The parameters of a topology that has none of its own.
    pub parameters: Vec<PathBuf>,
    /// Macros that GROMACS' preprocessor knows.
    pub define: Vec<String>,
    /// Folders of files that it includes.
    pub include: Vec<PathBuf>,
    /// Where the atoms are.
    pub coordinates: PathBuf,
    /// Which distances do not change, besides those that the files say.
    pub rigid: Rigid,
    /// What hydrogens weigh, at the expense of the atoms they are bound to; `None`: what the files say.
    pub hydrogen_mass: Option<f64>,
}

/// Which bonds of molecules are made rigid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rigid {
    /// None.
    #[default]
    None,
    /// Water, bonds and angle.
    Water,
    /// Water, and all bonds of hydrogen.
    Hydrogens,
}

/// The lattices that can be built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lattice {
    /// Simple cubic.
    Sc,
    /// Body-centred cubic.
    Bcc,
    /// Face-centred cubic.
    Fcc,
}

impl Lattice {
    /// Atoms in the cubic unit cell.
    pub fn atoms_per_cell(self) -> usize {
        match self {
            Lattice::Sc => 1,
            Lattice::Bcc => 2,
            Lattice::Fcc => 4,
        }
    }
}

/// How atoms are placed without a lattice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Random positions that do not overlap.
    Random,
    /// Bead-spring chains.
    Chains,
    /// Rigid water.
    Water,
}

/// How large a lattice is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LatticeExtent {
    /// `atoms = 864`: the cube of cells that holds so many (an error names the nearest numbers).
    Atoms(usize),
    /// `cells = [6, 6, 6]`
    Cells([usize; 3]),
}

/// How dense a built system is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DensityInput {
    /// Atoms per volume.
    Number(f64),
    /// Mass per volume, in (user mass units) / length^3.
    Mass(f64),
    /// Edge of the cubic cell.
    LatticeConstant(f64),
}

/// The box of a randomly placed system.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RegionInput {
    /// A cube of this density.
    Density(DensityInput),
    /// `box = { lengths = [..], tilts = [..] }`
    Box {
        /// Edges.
        lengths: Vec3,
        /// xy, xz, yz.
        tilts: Vec3,
    },
}

/// Velocities at the start.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct VelocityInput {
    /// Temperature.
    pub temperature: f64,
    /// How speeds are distributed.
    pub distribution: Distribution,
}

/// How speeds are distributed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// Maxwell-Boltzmann, scaled to the exact temperature.
    Maxwell,
    /// The same speed for all atoms of a mass, directions random (Rapaport).
    Constant,
}

/// `[[force]]`
#[derive(Debug, Clone)]
pub struct ForceInput {
    /// The potential.
    pub potential: PotentialInput,
    /// Cut-off of all pairs that give none; `None` only where the potential ends by itself.
    pub cutoff: Option<f64>,
    /// What happens there.
    pub truncation: Truncation,
    /// Energy and pressure corrected for the tail.
    pub tail_correction: bool,
    /// `dispersion = { kind = "pme" }`: r^-6 over all images, a sum in reciprocal space.
    pub dispersion: Option<Located<ElectrostaticsKind>>,
    /// Looked up in tables instead of computed.
    pub tabulate: bool,
    /// How unlike pairs come from like ones.
    pub mixing: Option<Located<Mixing>>,
    /// A published set of parameters.
    pub preset: Option<Located<Preset>>,
    /// The screening length of all pairs that give none.
    pub screening: Option<Located<ScreeningInput>>,
    /// `pairs."A-B" = { ... }`
    pub pairs: Vec<Located<PairInput>>,
}

/// `[[group]]`: atoms chosen by words.
#[derive(Debug, Clone, PartialEq)]
pub struct GroupInput {
    /// The name.
    pub name: String,
    /// The words.
    pub atoms: Located<Selection>,
    /// The velocity that its atoms keep whatever acts on them; `None` where forces move them.
    pub driven: Option<Vec3>,
    /// Whether its temperature, kinetic energy and centre of mass are columns of `thermo.csv`.
    pub reported: bool,
}

/// `[[restraint]]`: a spring.
#[derive(Debug, Clone, PartialEq)]
pub struct RestraintInput {
    /// What stages call it.
    pub name: Option<String>,
    /// k of the energy k d^2 / 2, where a stage gives no other.
    pub stiffness: f64,
    /// What it holds.
    pub holds: Holds,
}

/// How reference positions follow a box that changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// They stay where they are.
    None,
    /// Their centre of mass keeps its place relative to the edges, and they theirs around it.
    Center,
}

/// What a restraint holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Holds {
    /// Each of these atoms where it was when the run began.
    Places {
        /// The atoms.
        atoms: Located<Selection>,
        /// How their reference positions follow the box.
        scaling: Scaling,
    },
    /// The centres of mass of two groups at a distance.
    Distance {
        /// The groups.
        between: [Located<Selection>; 2],
        /// The distances between which nothing pulls.
        range: [f64; 2],
    },
}

/// `[[field]]`
#[derive(Debug, Clone, PartialEq)]
pub struct FieldInput {
    /// What is the same everywhere.
    pub strength: FieldStrength,
    /// The species it acts on; `None`: all.
    pub species: Option<Located<Vec<String>>>,
    /// The atoms it acts on; `None`: all.
    pub atoms: Option<Located<Selection>>,
}

/// What is the same everywhere.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FieldStrength {
    /// `force = [0, 0, 1]`
    Force(Vec3),
    /// `acceleration = [0, 0, -9.81]`: the force is mass times this.
    Acceleration(Vec3),
    /// `electric = [0, 0, 1]`, energy / (charge length): the force is charge times this.
    Electric(Vec3),
}

/// `[[wall]]`
#[derive(Debug, Clone)]
pub struct WallInput {
    /// The axis it is perpendicular to.
    pub axis: Axis,
    /// Where on this axis.
    pub at: f64,
    /// Where the atoms are.
    pub atoms: Side,
    /// What it does to atoms.
    pub force: WallForce,
}

/// What a wall does to atoms.
#[derive(Debug, Clone)]
pub enum WallForce {
    /// `force = { ... }`; the wall is the species `wall` of its pairs.
    Pairs(Box<Located<ForceInput>>),
    /// `material = "grains"`: what grains do to each other.
    Grains,
}

/// `[grains]`
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GrainsInput {
    /// The push by overlap.
    pub stiffness: f64,
    /// Damping along the normal, by effective mass.
    pub normal_damping: f64,
    /// Damping of sliding, by effective mass.
    pub tangential_damping: f64,
    /// Coulomb's coefficient of friction.
    pub friction: f64,
}

/// The screening length of a force.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ScreeningInput {
    /// `screening_length = 10`
    Length(f64),
    /// `screening = { kind = "relativistic" }`
    Electrons {
        /// What electrons they are.
        kind: Screening,
        /// How many per volume; `None`: as many as the atoms have charges.
        density: Option<f64>,
    },
}

/// The potential of a force.
#[derive(Debug, Clone, PartialEq)]
pub enum PotentialInput {
    /// One of the registry.
    BuiltIn(PairKind),
    /// `energy = "..."`
    Formula {
        /// u(r)
        formula: Arc<Formula>,
        /// `parameters = { ... }`: numbers that all pairs share.
        parameters: Vec<(String, f64)>,
    },
    /// Files, see [`PairInput::table`].
    Table,
}

/// Numbers of a pair of species in a file.
#[derive(Debug, Clone, PartialEq)]
pub struct TableInput {
    /// The file.
    pub file: PathBuf,
    /// The keyword of a section in it.
    pub section: Option<String>,
    /// The pair's own cut-off.
    pub cutoff: Option<f64>,
    /// Where the input names the file.
    pub span: Range<usize>,
}

/// One pair of species in a force.
#[derive(Debug, Clone, PartialEq)]
pub struct PairInput {
    /// The two names.
    pub species: [String; 2],
    /// `{ ... }` or `"none"`.
    pub choice: PairChoice,
    /// The file of `kind = "table"`.
    pub table: Option<TableInput>,
}

/// `[electrostatics]`
#[derive(Debug, Clone, PartialEq)]
pub struct ElectrostaticsInput {
    /// What becomes of the long range.
    pub kind: ElectrostaticsKind,
    /// Where direct interactions end; `None`: where the pair forces do.
    pub cutoff: Option<f64>,
    /// What a charge of the whole system means.
    pub net_charge: NetCharge,
    /// The length over which charges are screened, if they are.
    pub screening: Option<Located<ScreeningInput>>,
}

/// What becomes of the long range of Coulomb's forces.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ElectrostaticsKind {
    /// `kind = "pme"`
    Pme {
        /// About the relative error of forces.
        accuracy: f64,
        /// The order of the splines.
        order: usize,
    },
    /// `kind = "ewald"`
    Ewald {
        /// About the relative error of forces.
        accuracy: f64,
    },
    /// `kind = "reaction-field"`
    ReactionField {
        /// Relative permittivity of what is beyond the cut-off; `None`: a conductor.
        dielectric: Option<f64>,
    },
    /// `kind = "cutoff"`
    Cutoff,
}

/// `[metal]`
#[derive(Debug, Clone, PartialEq)]
pub struct MetalInput {
    /// Where its functions come from.
    pub functions: MetalFunctions,
    /// The chemical symbol of each species; empty: their names.
    pub elements: Vec<String>,
}

/// Where the functions of a metal come from.
#[derive(Debug, Clone, PartialEq)]
pub enum MetalFunctions {
    /// `kind = "embedded-atom"`: DYNAMO files; paths joined with the input's folder.
    Files(Vec<PathBuf>),
    /// `kind = "sutton-chen"`
    SuttonChen {
        /// Where it ends; `None`: at twice the largest lattice constant.
        cutoff: Option<f64>,
    },
}

/// `[[bond]]` or `[[angle]]`
#[derive(Debug, Clone)]
pub struct BondedInput<K> {
    /// The function.
    pub kind: K,
    /// `types.NAME = { ... }`
    pub types: Vec<Located<TypeInput>>,
}

/// A type of bonds or angles.
#[derive(Debug, Clone, PartialEq)]
pub struct TypeInput {
    /// Its name.
    pub name: String,
    /// In the order of the kind's parameters.
    pub parameters: Vec<f64>,
}

/// `[run]`: never changes the physics, only how it is computed.
#[derive(Debug, Clone, PartialEq)]
pub struct RunInput {
    /// `device = "auto" | "cpu" | "cuda" | "cuda:1"`
    pub device: DeviceInput,
    /// Threads, precision, reproducibility, algorithm, skin.
    pub settings: jostle_core::Settings,
    /// `output = "..."`: the run folder; `None`: the input's name without its extension.
    pub output: Option<PathBuf>,
    /// What becomes of warnings.
    pub strictness: Strictness,
}

/// What becomes of reasons to doubt a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Strictness {
    /// They are told.
    #[default]
    Lenient,
    /// They are errors.
    Strict,
}

/// Which device runs it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceInput {
    /// The best there is.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// An NVIDIA GPU.
    Cuda {
        /// Which, from 0.
        index: usize,
    },
}

/// By its name in an input file; `"cuda:1"` is the second GPU.
impl FromStr for DeviceInput {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        let numbered = || {
            let index = name.strip_prefix("cuda:")?.parse().ok()?;
            Some(DeviceInput::Cuda { index })
        };
        Self::from_name(name).or_else(numbered).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|device| device.name()).collect();
            Error::input(format!("there is no device \"{name}\""))
                .hint(format!("it may be {} or cuda:1, cuda:2, ...", names.join(", ")))
        })
    }
}
