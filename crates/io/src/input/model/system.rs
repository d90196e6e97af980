//! Atoms of a system: read from files, or built on a lattice, at random, as chains or as water.

use super::*;

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
    /// `place = "molecules"`: molecules of topologies, placed anew.
    Mixture(MixtureInput),
}

/// Molecules that are placed anew.
#[derive(Debug, Clone, PartialEq)]
pub struct MixtureInput {
    /// `[[molecule]]`
    pub molecules: Vec<Located<PlacedInput>>,
    /// The box.
    pub region: RegionInput,
    /// No two atoms of different molecules are nearer than this.
    pub min_distance: f64,
}

/// `[[molecule]]`: a molecule and the number of its copies.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedInput {
    /// Its files.
    pub files: MoleculesInput,
    /// Number of copies.
    pub count: usize,
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
    /// File of the positions; that of the topology where it has them itself.
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
    /// Diamond cubic: two face-centred lattices, a quarter of the diagonal apart.
    Diamond,
}

impl Lattice {
    /// Atoms in the cubic unit cell.
    pub fn atoms_per_cell(self) -> usize {
        match self {
            Lattice::Sc => 1,
            Lattice::Bcc => 2,
            Lattice::Fcc => 4,
            Lattice::Diamond => 8,
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
    /// Molecules of topologies.
    Molecules,
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
        lengths: [f64; 3],
        /// xy, xz, yz.
        tilts: [f64; 3],
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
