//! Source of the kernels: physics from [`crate::codegen`], skeletons from `kernels/`.

use crate::codegen;
use crate::device_data;
use crate::driver::{Device, Kernel, Module};
use crate::sub_steps;
use crate::sums::Summation;
use crate::wall_plane;
use jostle_core::thermostat::noise_amplitude;
use jostle_core::{Algorithm, Precision, Result};
use jostle_potentials::Forces;

/// Source and options from which a set of kernels is compiled.
#[derive(Debug, Clone, PartialEq)]
pub struct Build {
    /// Source of the kernels.
    pub source: String,
    /// Numbers that are compiled in, as options of the compiler.
    pub options: Vec<String>,
    /// Pair coefficients, see [`codegen::PairSource`].
    pub table: Vec<f64>,
}

/// Number of GPUs of a run, for which kernels are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gpus {
    /// One, which moves all atoms.
    One,
    /// Several, each of which may move its own.
    Several,
}

impl Build {
    /// Kernels whose steps find such forces.
    pub fn for_step_forces(mut self, step_forces: StepForces) -> Self {
        if step_forces == StepForces::OnFreeAtoms {
            self.options.push("-DSKIPS_DRIVEN=1".into());
        }
        self
    }

    /// Kernels for one of so many GPUs.
    pub fn for_gpus(mut self, gpus: Gpus) -> Self {
        if gpus == Gpus::Several {
            self.options.push("-DSEVERAL=1".into());
        }
        self
    }
}

/// Beginning of every source: numbers, positions, and the structures that host and kernels share.
pub fn prelude() -> String {
    include_str!("../kernels/prelude.cuh").replace("#include \"device_data.cuh\"\n", &device_data::source())
}

/// Beginning of all sources of kernels, in the order in which the parts need each other.
pub(crate) fn common_source() -> String {
    let noise = codegen::scalar_function("noise_amplitude", 3, |x| vec![noise_amplitude(x[0], x[1], x[2])]);
    let motion = include_str!("../kernels/motion.cuh");
    [
        &prelude(),
        &noise,
        &wall_plane::source(),
        &sub_steps::source(),
        motion,
        include_str!("../kernels/sums.cuh"),
    ]
    .join("\n")
}

/// Search for atoms in the order in which they are sorted.
pub(crate) const SEARCH: &str = include_str!("../kernels/search.cuh");

/// Algorithm that finds pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairAlgorithm {
    /// Lists of tiles of atoms.
    Tiles,
    /// A list for each atom.
    List,
    /// Cells around every atom, without lists.
    Cells,
    /// All pairs.
    AllPairs,
}

impl PairAlgorithm {
    /// All pair algorithms.
    pub const ALL: [PairAlgorithm; 4] =
        [PairAlgorithm::Tiles, PairAlgorithm::List, PairAlgorithm::Cells, PairAlgorithm::AllPairs];
    /// Pair algorithms that have exact sums.
    pub(crate) const EXACT: [PairAlgorithm; 2] = [PairAlgorithm::List, PairAlgorithm::Cells];

    /// Returns true where the algorithm has these forces, with such sums. Embedded atoms need lists, three-body
    /// forces those of atoms; the algorithm over all pairs has no charges.
    pub fn has(self, forces: &Forces, sums: Summation) -> bool {
        let embedded = matches!((self, sums), (PairAlgorithm::Tiles | PairAlgorithm::List, Summation::Fast));
        let three_body = (self, sums) == (PairAlgorithm::List, Summation::Fast);
        (forces.embedded.is_none() || embedded)
            && (forces.three_body.is_none() || three_body)
            && (forces.electrostatics.is_none() || self != PairAlgorithm::AllPairs)
    }

    /// Returns true where the algorithm can leave pairs out.
    pub fn excludes(self) -> bool {
        matches!(self, PairAlgorithm::Tiles | PairAlgorithm::List)
    }

    /// Name in the input file.
    pub fn name(self) -> &'static str {
        let algorithm = match self {
            PairAlgorithm::Tiles => Algorithm::Tiles,
            PairAlgorithm::List => Algorithm::List,
            PairAlgorithm::Cells => Algorithm::Cells,
            PairAlgorithm::AllPairs => Algorithm::AllPairs,
        };
        algorithm.name()
    }

    /// Skeletons of the kernels.
    pub(crate) fn source(self) -> &'static str {
        match self {
            PairAlgorithm::Tiles => concat!(
                include_str!("../kernels/tiles.cuh"),
                include_str!("../kernels/tile_region.cuh"),
                include_str!("../kernels/tile_gather.cuh"),
                include_str!("../kernels/tile_lists.cu"),
                include_str!("../kernels/tiles.cu")
            ),
            PairAlgorithm::List => include_str!("../kernels/list.cu"),
            PairAlgorithm::Cells => include_str!("../kernels/cells.cu"),
            PairAlgorithm::AllPairs => include_str!("../kernels/all_pairs.cu"),
        }
    }
}

/// Presence of kernels that find the forces of pairs and move atoms at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WholeSteps {
    /// None, which saves a compiler the longest kernel of pairs: forces of a mesh are part of every step.
    Never = 0,
    /// One, by which runs make their steps if they have forces of pairs alone.
    Possible = 1,
}

impl WholeSteps {
    /// Presence where these forces act.
    pub fn of(forces: &Forces) -> Self {
        if forces.has_reciprocal_sum() { WholeSteps::Never } else { WholeSteps::Possible }
    }

    /// Such a kernel of a module.
    ///
    /// # Errors
    /// If the module should have it, and has not.
    pub fn kernel(self, module: &Module, name: &str) -> Result<Option<Kernel>> {
        (self == WholeSteps::Possible).then(|| module.kernel(name)).transpose()
    }
}

/// Forces that steps find, for which kernels are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepForces {
    /// Forces on all atoms.
    OnAllAtoms,
    /// Blocks of driven atoms, whose motion no force changes, have forces and lists only where somebody sees them: at the
    /// end of a segment, and outside steps.
    OnFreeAtoms,
}

/// Shape of tiles, for which tile kernels are compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TileShape {
    /// Number of atoms that a block of threads owns: a multiple of `32 / team`.
    pub atoms: u32,
    /// Number of threads that share an atom: 1, 2, 4 or 8.
    pub team: u32,
    /// Number of blocks among which so many atoms may be divided where they are not near each other; more
    /// than 1 only for 32 atoms.
    pub parts: u32,
    /// Limit of the number of atoms that a tile may gather.
    pub size: TileSize,
    /// Number of threads that a multiprocessor should be able to hold: registers are limited accordingly.
    pub resident: u32,
}

/// Limit of the number of atoms that a tile may gather: as in `tiles.cuh`, where small tiles take less
/// memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
#[repr(i32)]
pub enum TileSize {
    /// At most [`TileSize::MOST_SMALL`].
    Small = 0,
    /// At most as many as 64 KiB hold.
    Medium = 1,
    /// At most 65,535.
    Large = 2,
}

impl TileSize {
    /// Largest number of atoms of a small tile: 255 of each class and the dummies.
    pub const MOST_SMALL: usize = 2040;

    /// Size of tiles of so many atoms, of so many bytes each.
    pub fn of(atoms: usize, bytes: usize) -> Self {
        match atoms {
            0..=Self::MOST_SMALL => TileSize::Small,
            _ if atoms * bytes <= 1 << 16 => TileSize::Medium,
            _ => TileSize::Large,
        }
    }
}

impl TileShape {
    /// Small tiles, for as many atoms as a device can hold.
    pub fn new(atoms: u32, team: u32) -> Self {
        TileShape { atoms, team, parts: 1, size: TileSize::Small, resident: MOST_RESIDENT }
    }

    /// Shape where `n` is the number of all atoms: with fewer threads to hold, each may have more registers.
    /// Registers count more, too, where blocks are many times as many as the device holds and lists are long: either
    /// all blocks should be resident at once, or each should be fast.
    pub fn for_atoms(self, n: usize, multiprocessors: u32) -> Self {
        let blocks = n.div_ceil(self.atoms as usize).div_ceil(multiprocessors.max(1) as usize);
        let wanted = blocks * self.threads() as usize;
        let resident = (1..=MOST_RESIDENT / 512).map(|k| 512 * k).find(|threads| *threads as usize >= wanted);
        let many = if self.team == 8 { RESIDENT_OF_MANY } else { MOST_RESIDENT };
        TileShape { resident: resident.unwrap_or(many), ..self }
    }

    /// Blocks of half as many atoms; `None` for the smallest.
    pub fn halved(self) -> Option<Self> {
        (self.atoms > 32).then(|| {
            let atoms = (self.atoms / 2).max(32);
            TileShape { atoms, team: self.team.max(32 / atoms), ..self }
        })
    }

    /// Number of threads that share a list of an atom, where atoms have lists each: as many more than share an atom of a
    /// tile as a multiprocessor has room for. Short lists are not worth more.
    pub fn list_team(&self) -> u32 {
        if self.team == 8 {
            self.team * (THREADS_OF_MULTIPROCESSOR / self.resident.max(1)).clamp(1, 4)
        } else {
            self.team
        }
    }

    /// True where tiles with too many atoms near boxes around the block's take in only those near one of these:
    /// `ORDERED` in `tiles.cuh`.
    pub fn gathers_near_atoms(&self) -> bool {
        self.team == 8 && self.atoms == 32
    }

    /// Number of threads of a block.
    pub fn threads(&self) -> u32 {
        self.atoms * self.team
    }
}

/// Threads that a multiprocessor has room for, if they have few registers.
const THREADS_OF_MULTIPROCESSOR: u32 = 2048;
/// Limit above which there are too few registers for each thread.
const MOST_RESIDENT: u32 = 1536;
/// Limit where a block is one of many, and eight threads share an atom.
const RESIDENT_OF_MANY: u32 = 1280;

/// Source of all kernels that do not depend on pairs: it is the same for all systems.
pub(crate) fn of_atoms(precision: Precision, sums: Summation) -> Build {
    let kernels = concat!(
        include_str!("../kernels/integrate.cu"),
        include_str!("../kernels/reduce.cu"),
        include_str!("../kernels/sort.cu"),
        include_str!("../kernels/displacement.cu")
    );
    module_source(SEARCH, kernels, precision, sums)
}

/// Source of kernels in the middle of a step.
pub fn mid_step_source(formula: &str, skeleton: &str, precision: Precision, sums: Summation) -> Build {
    let physics = [formula, SEARCH, include_str!("../kernels/mid_step.cuh")].join("\n");
    module_source(&physics, skeleton, precision, sums)
}

/// Number of blocks of a kernel with a thread for each of `n` atoms.
pub fn blocks_of(n: i32) -> u32 {
    (n as u32).div_ceil(ATOM_THREADS).max(1)
}

/// Source of a thermostat; `update` is its function, see `kernels/thermostat.cu`.
pub(crate) fn thermostat(update: &str, precision: Precision, sums: Summation) -> Build {
    module_source(update, include_str!("../kernels/thermostat.cu"), precision, sums)
}

/// Source of kernels that do not depend on pairs.
pub(crate) fn module_source(physics: &str, kernels: &str, precision: Precision, sums: Summation) -> Build {
    let source = [&common_source(), physics, kernels].join("\n");
    Build { source, options: common_options(precision, sums), table: Vec::new() }
}

pub(crate) fn common_options(precision: Precision, sums: Summation) -> Vec<String> {
    let mut options = vec![format!("-DDOUBLE={}", i32::from(precision == Precision::Double))];
    options.extend(sums.options());
    options
}

/// Kernels that every pair algorithm needs.
#[derive(Clone)]
pub(crate) struct Kernels {
    pub place_atoms: Kernel,
    pub sort: Vec<(Kernel, Work)>,
    /// Kernels that find atoms that exclude each other, after the sort.
    pub exclusions: [Kernel; 2],
    pub find_missing_pairs: Kernel,
    pub settle: Kernel,
    pub next_part: Kernel,
    pub begin_segment: Kernel,
    pub end_segment: Kernel,
    pub advance: Kernel,
    pub kick: Kernel,
    pub drift: Kernel,
    pub noise: Kernel,
    pub scale_and_shift: Kernel,
    pub mix: Kernel,
    pub kinetic_shares: Kernel,
    pub descent_shares: Kernel,
    pub add_shares: Kernel,
    pub add_shares_onto: Kernel,
}

/// Work of the threads of a sorting kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Work {
    /// One atom each.
    Atoms,
    /// [`SCAN_BLOCK`] bins a block.
    Bins,
}

/// Threads of blocks with a thread for each atom.
pub(crate) const ATOM_THREADS: u32 = 256;
/// Number of atoms of which a block searches around those that are displaced: as in `displacement.cu`.
pub(crate) const DISPLACED_ATOMS: u32 = 2048;
/// Number of bins scanned by one block: as in `sort.cu`.
pub(crate) const SCAN_BLOCK: usize = 1024;

impl Kernels {
    /// Compiles the kernels of [`of_atoms`], or finds them in the cache: they are the same for all runs.
    ///
    /// # Errors
    /// If there is no compiler for the device, or the compiler refuses the source.
    pub fn new(device: &Device, build: &Build) -> Result<Self> {
        let module = device.compile("atoms.cu", &build.source, &build.options)?;
        let get = |name: &str| module.kernel(name);
        let sort = [
            ("sort_speeds", Work::Atoms),
            ("sort_count", Work::Atoms),
            ("sort_sums", Work::Bins),
            ("sort_scan", Work::Bins),
            ("sort_fill", Work::Atoms),
            ("sort_move", Work::Atoms),
        ];
        Ok(Kernels {
            place_atoms: get("place_atoms")?,
            sort: sort.into_iter().map(|(name, work)| Ok((get(name)?, work))).collect::<Result<_>>()?,
            exclusions: [get("exclusion_places")?, get("exclusion_partners")?],
            find_missing_pairs: get("find_missing_pairs")?,
            settle: get("settle")?,
            next_part: get("next_part")?,
            begin_segment: get("begin_segment")?,
            end_segment: get("end_segment")?,
            advance: get("advance")?,
            kick: get("kick_atoms")?,
            drift: get("drift_atoms")?,
            noise: get("noise_atoms")?,
            scale_and_shift: get("scale_and_shift")?,
            mix: get("mix_velocities")?,
            kinetic_shares: get("kinetic_shares")?,
            descent_shares: get("descent_shares")?,
            add_shares: get("add_shares")?,
            add_shares_onto: get("add_shares_onto")?,
        })
    }
}
