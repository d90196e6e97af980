//! Forces: between pairs, of metals, charges, bonds, grains, fields, walls and restraints, with groups of atoms.

use super::*;
use jostle_potentials::ThreeBodyKind;
use jostle_potentials::external::{Positions, WallMotion};
use jostle_potentials::grains::Rolling;

/// Word for [`Cutoff::HalfBox`].
pub(in crate::input) const HALF_BOX: &str = "half-box";
/// Name of walls among species.
pub(in crate::input) const WALL: &str = "wall";

/// Cut-off of a force.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Cutoff {
    /// A distance.
    At(f64),
    /// Half the smallest width of the box, which stays: pairs are of nearest images, each once.
    HalfBox,
}

impl Cutoff {
    /// The distance, where it does not depend on the box.
    pub fn length(self) -> Option<f64> {
        match self {
            Cutoff::At(length) => Some(length),
            Cutoff::HalfBox => None,
        }
    }
}

/// `[[force]]`
#[derive(Debug, Clone)]
pub struct ForceInput {
    /// The potential.
    pub potential: PotentialInput,
    /// Cut-off of all pairs that give none; `None` only where the potential ends by itself.
    pub cutoff: Option<Cutoff>,
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

/// `[[rigid]]`: atoms that move as one.
#[derive(Debug, Clone, PartialEq)]
pub struct RigidInput {
    /// The atoms.
    pub atoms: Located<Selection>,
    /// Division of the atoms into bodies.
    pub by: BodyDivision,
}

/// `[[enhanced]]`: atoms of which there are several copies.
#[derive(Debug, Clone, PartialEq)]
pub struct EnhancedInput {
    /// The atoms.
    pub atoms: Located<Selection>,
    /// Number of their copies, the atoms themselves included.
    pub copies: u64,
    /// Masses of copies.
    pub mass: CopyMass,
}

/// Masses of copies of atoms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyMass {
    /// Masses of the atoms.
    Kept,
    /// Masses of the atoms, divided by the number of copies.
    Divided,
}

/// Division of chosen atoms into rigid bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyDivision {
    /// A body of those of each molecule.
    Molecule,
    /// A body of those of each residue.
    Residue,
    /// One body of all.
    All,
}

/// `[[interaction]]`: energies between two groups of atoms.
#[derive(Debug, Clone, PartialEq)]
pub struct InteractionInput {
    /// Beginning of the names of its columns.
    pub name: String,
    /// Both groups.
    pub between: [Located<Selection>; 2],
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
    /// Strength of the field, or its energy.
    pub strength: FieldStrength,
    /// The species it acts on; `None`: all.
    pub species: Option<Located<Vec<String>>>,
    /// The atoms it acts on; `None`: all.
    pub atoms: Option<Located<Selection>>,
}

/// Strength of a field that is the same everywhere, or its energy.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldStrength {
    /// `force = [0, 0, 1]`
    Force(Vec3),
    /// `acceleration = [0, 0, -9.81]`: the force is mass times this.
    Acceleration(Vec3),
    /// `electric = [0, 0, 1]`, energy / (charge length): the force is charge times this.
    Electric(Vec3),
    /// `energy = "k (x^2 + y^2) / 2"`
    Energy(FieldEnergy),
}

/// Energy of an atom in a field, as a formula.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldEnergy {
    /// The formula.
    pub text: Located<String>,
    /// Numbers by name.
    pub parameters: Vec<(String, f64)>,
    /// Positions that it takes.
    pub positions: Positions,
    /// Treatment of the work that it does by its change with time.
    pub work: FieldWork,
}

/// Treatment of the energy that a field puts in by changing with time, or a wall by moving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldWork {
    /// It is not known, and the conserved quantity changes by it.
    Ignored,
    /// The host finds it at each step.
    Recorded,
}

/// `[[wall]]`
#[derive(Debug, Clone)]
pub struct WallInput {
    /// The axis it is perpendicular to.
    pub axis: Axis,
    /// Position of the wall on this axis, before it moves.
    pub at: f64,
    /// Its motion.
    pub motion: WallMotion,
    /// `work`: treatment of the energy that its motion puts in.
    pub work: FieldWork,
    /// Side of the wall on which the atoms are.
    pub atoms: Side,
    /// Force of the wall on atoms, or their reflection.
    pub force: WallForce,
}

impl WallInput {
    /// Returns true where the wall reflects atoms instead of acting on them by a force.
    pub fn reflects(&self) -> bool {
        matches!(self.force, WallForce::ElasticReflection)
    }
}

/// Force of a wall on atoms, or their reflection.
#[derive(Debug, Clone)]
pub enum WallForce {
    /// `force = { ... }`; the wall is the species `wall` of its pairs.
    Pairs(Box<Located<ForceInput>>),
    /// `material = "grains"`: the forces between grains.
    Grains,
    /// `reflection = "elastic"`: no force; atoms that a drift has put behind the wall turn back.
    ElasticReflection,
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
    /// The spring of surfaces that stick.
    pub tangential_stiffness: f64,
    /// Resistance to rolling.
    pub rolling: Rolling,
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

/// `[three_body]`
#[derive(Debug, Clone, PartialEq)]
pub struct ThreeBodyInput {
    /// The potential.
    pub kind: ThreeBodyKind,
    /// File of LAMMPS, joined with the input's folder; `None`: published parameters of silicon.
    pub file: Option<PathBuf>,
    /// The chemical symbol of each species; empty: their names.
    pub elements: Vec<String>,
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
