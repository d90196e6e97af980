//! Contents of an input file, typed: every quantity is in the units of the file, every default filled in.
//! Facts that need the atoms (which species a structure file has) are resolved later, with errors that still
//! point into the file.

mod barostat;
mod stage;

pub use crate::trajectory::TrajectoryFormat;
pub use barostat::{Barostat, Coupling};
pub use stage::*;

use crate::Selection;
use jostle_core::{Error, Exclude, UnitSystem, Vec3, WaterShape};
use jostle_potentials::electrostatics::NetCharge;
use jostle_potentials::external::Side;
use jostle_potentials::{
    AngleKind, BondKind, Formula, Mixing, PairChoice, PairKind, Preset, Screening, Truncation,
};
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

/// `[system]`
#[derive(Debug, Clone)]
pub struct SystemInput {
    /// Origin of the atoms.
    pub atoms: Located<AtomsInput>,
    /// Number of copies of them side by side along each edge.
    pub replicate: Located<[usize; 3]>,
    /// Periodic axes; `None` takes those of the file (all, for a built system).
    pub periodic: Option<[bool; 3]>,
    /// Velocities at the start; `None` keeps those of the file, or leaves atoms at rest.
    pub velocities: Option<VelocityInput>,
    /// The seed of everything random.
    pub seed: u64,
}

/// Origin of the atoms of a system.
#[derive(Debug, Clone)]
pub enum AtomsInput {
    /// `lattice = "fcc"`
    Lattice {
        /// The Bravais lattice.
        lattice: Lattice,
        /// Size of the lattice.
        extent: LatticeExtent,
        /// Atoms per volume.
        density: DensityInput,
    },
    /// `place = "random"`: non-overlapping random positions (Hoang et al. 2011).
    Random {
        /// Number of atoms.
        atoms: usize,
        /// The box.
        region: RegionInput,
        /// No two atoms are nearer than this.
        min_distance: f64,
    },
    /// `place = "chains"`: bead-spring chains, random walks pushed apart.
    Chains {
        /// Number of chains.
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
        /// Number of molecules.
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
    /// File of the topology, with the force field.
    pub topology: PathBuf,
    /// The parameters of a topology that has none of its own.
    pub parameters: Vec<PathBuf>,
    /// Macros that are defined for GROMACS' preprocessor.
    pub define: Vec<String>,
    /// Folders of files that it includes.
    pub include: Vec<PathBuf>,
    /// File of the positions.
    pub coordinates: PathBuf,
    /// Distances that do not change, besides those of the files.
    pub rigid: Rigid,
    /// Mass of hydrogens, at the expense of the atoms they are bound to; `None`: that of the files.
    pub hydrogen_mass: Option<f64>,
}

/// Bonds of molecules that are made rigid.
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

/// Arrangement of atoms without a lattice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Random positions that do not overlap.
    Random,
    /// Bead-spring chains.
    Chains,
    /// Rigid water.
    Water,
}

/// Size of a lattice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LatticeExtent {
    /// `atoms = 864`: the cube of cells that holds this number (an error names the nearest numbers).
    Atoms(usize),
    /// `cells = [6, 6, 6]`
    Cells([usize; 3]),
}

/// Density of a built system.
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
    /// Distribution of speeds.
    pub distribution: Distribution,
}

/// Distribution of initial speeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    /// Maxwell-Boltzmann, scaled to the exact temperature.
    Maxwell,
    /// One speed for all atoms of a mass, directions random (Rapaport).
    Constant,
}

/// `[[force]]`
#[derive(Debug, Clone)]
pub struct ForceInput {
    /// The potential.
    pub potential: PotentialInput,
    /// Cut-off of all pairs that give none; `None` only where the potential ends by itself.
    pub cutoff: Option<f64>,
    /// Form of the potential near the cut-off.
    pub truncation: Truncation,
    /// Energy and pressure corrected for the tail.
    pub tail_correction: bool,
    /// `dispersion = { kind = "pme" }`: r^-6 over all images, a sum in reciprocal space.
    pub dispersion: Option<Located<ElectrostaticsKind>>,
    /// Looked up in tables instead of computed.
    pub tabulate: bool,
    /// Rule by which parameters of unlike pairs come from those of like ones.
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
    /// True where temperature, kinetic energy and centre of mass of the group are columns of `thermo.csv`.
    pub reported: bool,
}

/// `[[restraint]]`: a spring.
#[derive(Debug, Clone, PartialEq)]
pub struct RestraintInput {
    /// Name of the restraint in stages.
    pub name: Option<String>,
    /// k of the energy k d^2 / 2, where a stage gives no other.
    pub stiffness: f64,
    /// Places or distances that the restraint holds.
    pub holds: Holds,
}

/// Behaviour of reference positions in a box that changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scaling {
    /// Reference positions stay where they are.
    None,
    /// The centre of mass of the reference positions keeps its place relative to the edges, and the positions
    /// theirs around it.
    Center,
}

/// Places or distances that a restraint holds.
#[derive(Debug, Clone, PartialEq)]
pub enum Holds {
    /// Each of these atoms where it was when the run began.
    Places {
        /// The atoms.
        atoms: Located<Selection>,
        /// Behaviour of the reference positions in a box that changes.
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
    /// Strength of the field.
    pub strength: FieldStrength,
    /// The species it acts on; `None`: all.
    pub species: Option<Located<Vec<String>>>,
    /// The atoms it acts on; `None`: all.
    pub atoms: Option<Located<Selection>>,
}

/// Strength of a field, which is the same everywhere.
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
    /// Position of the wall on this axis.
    pub at: f64,
    /// Side of the wall on which the atoms are.
    pub atoms: Side,
    /// Force of the wall on atoms.
    pub force: WallForce,
}

/// Force of a wall on atoms.
#[derive(Debug, Clone)]
pub enum WallForce {
    /// `force = { ... }`; the wall is the species `wall` of its pairs.
    Pairs(Box<Located<ForceInput>>),
    /// `material = "grains"`: the forces between grains.
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
        /// Theory of the electrons.
        kind: Screening,
        /// Number of electrons per volume; `None`: one for each charge of the atoms.
        density: Option<f64>,
    },
}

/// The potential of a force.
#[derive(Debug, Clone, PartialEq)]
pub enum PotentialInput {
    /// Potential of the registry.
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
    /// Place in the input where the file is named.
    pub span: Range<usize>,
}

/// Pair of species in a force.
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
    /// Treatment of the long range.
    pub kind: ElectrostaticsKind,
    /// Cut-off of direct interactions; `None`: that of the pair forces.
    pub cutoff: Option<f64>,
    /// Treatment of a charge of the whole system.
    pub net_charge: NetCharge,
    /// The length over which charges are screened, if they are.
    pub screening: Option<Located<ScreeningInput>>,
}

/// Treatment of the long range of Coulomb's forces.
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
        /// Relative permittivity beyond the cut-off; `None`: a conductor.
        dielectric: Option<f64>,
    },
    /// `kind = "cutoff"`
    Cutoff,
}

/// `[metal]`
#[derive(Debug, Clone, PartialEq)]
pub struct MetalInput {
    /// Origin of the functions.
    pub functions: MetalFunctions,
    /// The chemical symbol of each species; empty: their names.
    pub elements: Vec<String>,
}

/// Origin of the functions of a metal.
#[derive(Debug, Clone, PartialEq)]
pub enum MetalFunctions {
    /// `kind = "embedded-atom"`: DYNAMO files; paths joined with the input's folder.
    Files(Vec<PathBuf>),
    /// `kind = "sutton-chen"`
    SuttonChen {
        /// Cut-off; `None`: twice the largest lattice constant.
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
    /// Name of the type.
    pub name: String,
    /// Parameters, in the order of the kind's.
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
    /// Treatment of warnings.
    pub strictness: Strictness,
}

/// Treatment of reasons to doubt a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Strictness {
    /// Warnings are printed and logged.
    #[default]
    Lenient,
    /// Warnings are errors.
    Strict,
}

/// Device of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeviceInput {
    /// The best there is.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// An NVIDIA GPU.
    Cuda {
        /// Number of the GPU, from 0.
        index: usize,
    },
}
