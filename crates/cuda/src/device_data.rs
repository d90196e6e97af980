//! The structures that every kernel shares with the host. Their CUDA source stands in `kernels/prelude.cuh`, where
//! `device_data.cuh` is included.

use crate::shared::{SharedStructure, shared_bits, shared_structure};
use crate::wall_plane::{self, ReflectingWalls};
use jostle_core::Vec3;

/// Most GPUs of a run.
pub const MOST_GPUS: usize = 8;
/// Largest number of steps that are recorded between two checks of the neighbour list.
pub const SLOTS: usize = 32;

/// CUDA source of all structures here.
pub fn source() -> String {
    [
        FixedPosition::source(),
        CartesianPosition::source(),
        BoxGeometry::source(),
        format!("enum {{ SLOTS = {SLOTS} }};\n"),
        Slot::source(),
        faults::source(),
        Motion::source(),
        Control::source(),
        ForcesBeside::source(),
        AtomArrays::source(),
        SortArrays::source(),
        TileLists::source(),
        AtomLists::source(),
        ExclusionLists::source(),
        AtomGroups::source(),
        EmbeddedArrays::source(),
        ThreeBodyArrays::source(),
        OwnedAtoms::source(),
        AtomDivision::source(),
        ReductionArrays::source(),
        PeerPositions::source(),
        wall_plane::structures(),
        DeviceData::source(),
    ]
    .join("\n")
}

shared_structure! {
    /// Position for the force kernels in mixed precision: fractions of the box in units of 2^-32. Differences of
    /// such numbers wrap around, which gives the nearest image without further work, and are exact.
    #[derive(Default)]
    #[align(16)]
    pub struct FixedPosition {
        pub x: u32,
        pub y: u32,
        pub z: u32,
        pub species: i32,
    }

    /// Position for the force kernels in double precision.
    #[derive(Default)]
    #[align(16)]
    pub struct CartesianPosition {
        pub x: f64,
        pub y: f64,
        pub z: f64,
        pub species: i64,
    }

    /// Box. Along an open axis it is a range several times as long as what the atoms occupy, so that nothing
    /// wraps.
    #[derive(Default)]
    pub struct BoxGeometry {
        /// Lower corner.
        pub origin: Vec3,
        /// Lengths: lx, ly, lz.
        pub edge: [f64; 3],
        /// Tilts: xy, xz, yz.
        pub tilt: [f64; 3],
        /// Reciprocal lengths: 1 / edge.
        pub inverse: [f64; 3],
        /// Distances between opposite faces.
        pub width: [f64; 3],
        /// 1 along periodic axes, 0 along open ones.
        pub periodic: [i32; 3],
        /// 1 where a tilt is not 0.
        pub triclinic: i32,
        /// Columns of atoms along x and y.
        pub columns: [i32; 2],
        /// Bins along each column.
        pub bins: i32,
        pub unused: i32,
        /// Edges and tilts in units of 2^-32 of them, in single precision.
        pub high: [f32; 6],
        /// Remainder of the rounding of `high`.
        pub low: [f32; 6],
    }

    /// State before a step. Each step reads its slot and writes the next one, so that all blocks of a kernel read
    /// the same.
    #[derive(Default)]
    pub struct Slot {
        /// Not 0 where the list may lack a pair within the cut-off and is to be built before forces are computed.
        pub stale: i32,
        /// Index of the current one of the two position arrays.
        pub parity: i32,
        /// Not 0 where the list may become stale before long: the forces of this step are kept for then.
        pub soon: i32,
        /// Not 0 where forces are those of the step before.
        pub kept: i32,
        /// Drifts made since the batch began.
        pub done: i64,
        /// Row of the totals for the sample that the step takes; -1 where it takes none.
        pub row: i64,
    }

    /// Numbers by which atoms move between two force evaluations.
    #[derive(Default)]
    pub struct Motion {
        pub timestep: f64,
        /// Time from one slot to the next: half a time step where pairs get noise in the middle of it.
        pub drift: f64,
        /// Langevin thermostat: factor of a velocity in a step.
        pub decay: f64,
        /// Langevin thermostat: k T.
        pub thermal_energy: f64,
        pub seed: u64,
        /// Number of the batch's first step, over all stages.
        pub first_step: u64,
        /// Interval in steps at which long-range forces act, with as large a weight.
        pub long_range_every: u64,
        /// Steps made before the batch, counted from one at which long-range forces act.
        pub long_range_done: u64,
    }

    /// Control block of a run. A batch is made in segments, each with two parts. The even part begins a segment:
    /// half a kick and a drift. The odd part makes the steps between and ends the segment: forces and half a kick.
    pub struct Control {
        pub motion: Motion,
        /// Drifts of this batch after which the segment under way ends.
        pub target: i64,
        /// Steps of a segment.
        pub segment: i64,
        /// Interval in steps between samples that are taken in passing; 0 without these.
        pub sample_every: i64,
        /// Number of parts of the batch: two for each segment.
        pub parts: i32,
        /// Number of the part that is due.
        pub part: i32,
        /// Lists built so far.
        pub builds: i64,
        /// Repetitions, in this batch, of recorded step slots in which anything was done.
        pub replays: i64,
        /// First force that was not finite, or first molecule that broke: drifts made, and the atom's id.
        pub first_bad: u64,
        /// Bits of the highest speed, squared, while lists are built.
        pub fastest2: u32,
        /// Drifts in a recorded sequence after which a list that ends soon is built anew, although it holds; 0: none is.
        pub look: i32,
        /// Distance, in skins of the fastest atom, over which lists predict positions: see `predicted`.
        pub prediction_distance: f64,
        pub skin: f64,
        /// Cut-off and skin.
        pub reach: f64,
        /// Square of the distance that the lightest atoms may move from where the list has them: half the skin.
        pub limit2: f64,
        /// Square of the distance that they may move where pairs of displaced atoms are searched for.
        pub farthest2: f64,
        /// Index of the current one of the two sets of atom arrays.
        pub sorted: i32,
        /// Faults since lists were last checked: see `report`.
        pub reported: i32,
        /// Faults for which the device has stopped.
        pub faults: i32,
        /// Capacity of a tile that is needed.
        pub need_tile: i32,
        /// Rows of a list that are needed.
        pub need_rows: i32,
        /// Capacity of a tile that this batch needed.
        pub largest_tile: i32,
        /// Rows of a list that this batch needed.
        pub most_rows: i32,
        /// Blocks that have left their shares of a sample.
        pub arrived: i32,
        pub slot: [Slot; SLOTS + 1],
    }

    /// Forces on some atoms, which kernels that move atoms add: see `load_force`. Null where they are in `force`.
    #[derive(Default)]
    pub struct ForcesBeside {
        /// By place.
        pub force: u64 = "real*",
        /// Place of each atom; -1 for those without.
        pub place: u64 = "const int*",
    }

    /// Arrays over atoms. Those in pairs are two sets: sorting copies from one to the other. Vectors are [n][3].
    #[derive(Default)]
    pub struct AtomArrays {
        /// Mass: see `mass_index`; 0, as is the inverse, of driven atoms.
        pub mass: u64 = "const double*",
        pub inverse_mass: u64 = "const double*",
        /// Bits of driven atoms, by id; null without any.
        pub driven: u64 = "const u32*",
        /// Limits by species: see `displacement_limit`.
        pub displacement_limits: u64 = "const real2*",
        pub position: [u64; 2] = "Position*",
        /// Positions for which the list was built.
        pub built: u64 = "Position*",
        /// Bits of atoms that are displaced from there: see displacement.cu; null where none may be.
        pub displaced: u64 = "u32*",
        pub x: [u64; 2] = "double*",
        pub v: [u64; 2] = "double*",
        pub id: [u64; 2] = "u32*",
        pub image: [u64; 2] = "int*",
        pub force: u64 = "real*",
        /// Forces of meshes beside these; null where there are none or they are in `force`: see `load_force`.
        pub mesh_force: u64 = "real*",
        /// Forces of bonds and of biases beside these, for the atoms that have some.
        pub of_bonds: ForcesBeside,
        pub of_biases: ForcesBeside,
        /// Charges by id: see `Atom` in pair.cuh.
        pub charge_by_id: u64 = "const real*",
        /// Charges in storage order, set by the sort; null where charges have no forces.
        pub charge: u64 = "real*",
    }

    /// Arrays of the spatial sort.
    #[derive(Default)]
    pub struct SortArrays {
        /// Bin of each atom.
        pub bin: u64 = "u32*",
        /// Rank of each atom in its bin.
        pub rank: u64 = "u32*",
        /// Height of each atom along its column.
        pub height: u64 = "u32*",
        /// Heights and indices of atoms.
        pub order: u64 = "u64*",
        /// Atoms in each bin.
        pub count: u64 = "u32*",
        /// First atom of each bin.
        pub start: u64 = "u32*",
        /// Sums over blocks of bins.
        pub sums: u64 = "u32*",
    }

    /// Lists of tiles of atoms.
    #[derive(Default)]
    pub struct TileLists {
        /// Largest number of atoms of a tile, dummies and own atoms included.
        pub capacity: i32,
        /// Rows of four slots in the list of a warp.
        pub row_capacity: i32,
        /// Distance from the atoms of one tile to those of the next in memory.
        pub stride: i32,
        /// Distance from the rows of one warp to those of the next.
        pub row_stride: i32,
        /// First atom of a block of threads and how many there are, where blocks have parts.
        pub owned: u64 = "uint2*",
        pub atoms: u64 = "u32*",
        pub n_atoms: u64 = "int*",
        pub origin: u64 = "Position*",
        pub list: u64 = "uint2*",
        pub n_rows: u64 = "int*",
        /// Order of each block's own atoms: see `own_of_thread`.
        pub own_order: u64 = "u8*",
        /// Kind of each block, where steps skip some: `BlockKind`.
        pub kind: u64 = "int*",
    }

    /// Lists of single atoms.
    #[derive(Default)]
    pub struct AtomLists {
        /// Capacity of each list.
        pub capacity: i32,
        pub unused: i32,
        /// Neighbours: [capacity][n].
        pub neighbor: u64 = "u32*",
        pub n_neighbor: u64 = "int*",
    }

    /// Atoms without a pair force, in fours: the k-th of all atoms side by side; NO_ATOM ends them.
    #[derive(Default)]
    pub struct ExclusionLists {
        /// Fours of each atom.
        pub fours: i32,
        pub unused: i32,
        /// Ids by id: [fours][n].
        pub ids: u64 = "const uint4*",
        /// Index of each atom in storage order by id, set by the sort.
        pub index_by_id: u64 = "u32*",
        /// Indices: [fours][n].
        pub partner: u64 = "uint4*",
        /// First and last of these indices: [n]; the first is larger where an atom excludes none.
        pub partner_range: u64 = "uint2*",
        /// Indices in the tile of those that are in it: [4 fours][n].
        pub tile_index: u64 = "u32*",
    }

    /// Groups of 32 atoms, for the algorithm over all pairs.
    #[derive(Default)]
    pub struct AtomGroups {
        pub center: u64 = "Position*",
        /// Half of each group's edges, in fractions of the box.
        pub extent: u64 = "real4*",
        /// Atoms, from the centre of their group.
        pub relative: u64 = "real4*",
        /// Shares of the forces, which are added up: [shares][3][n].
        pub share: u64 = "real*",
    }

    /// Embedded atoms: see embedded.cu.
    #[derive(Default)]
    pub struct EmbeddedArrays {
        /// Cubics of the functions.
        pub functions: u64 = "const real4*",
        /// Derivative of each atom's embedding energy.
        pub derivative: u64 = "real*",
        /// Embedding energy of each atom.
        pub energy: u64 = "double*",
    }

    /// Three-body forces: see three_body.cu.
    #[derive(Default)]
    pub struct ThreeBodyArrays {
        /// Coefficients by species of a centre and a neighbour, and of two neighbours.
        pub pairs: u64 = "const real*",
        pub triplets: u64 = "const real*",
        /// Squared distances of neighbours, by their species.
        pub cutoffs2: u64 = "const real*",
        /// Rows of the centres: derivative by the vector to each neighbour, and its index.
        pub gradient: u64 = "real4*",
        /// Energy of each centre.
        pub energy: u64 = "double*",
    }

    /// Range of atoms in the sorted order.
    #[derive(Default)]
    pub struct OwnedAtoms {
        pub first: i32,
        /// One after the last.
        pub end: i32,
    }

    /// Division of atoms among the GPUs of a run, where each moves its own: set with each list.
    #[derive(Default)]
    pub struct AtomDivision {
        /// One after the last atom of each GPU in the sorted order.
        pub end: [i32; MOST_GPUS],
        /// Bits of the atoms that this GPU moves, some of which others compute the forces on: groups follow their first
        /// atom. Null where it moves those that it computes the forces on.
        pub moved: u64 = "u32*",
        /// Bits of the atoms that all other GPUs need to know, and exactly where groups of atoms move together.
        pub exact: u64 = "u32*",
        /// Largest distance of an atom of a group from its first one; negative where there is no limit.
        pub extent: f64,
        /// Bits, for each atom that this GPU moves, of the other GPUs that need its position in each step, in the order of
        /// `PeerPositions`; null where all do.
        pub needed_by: u64 = "u8*",
        /// Species in storage order: positions that no step has brought are not those of the atoms.
        pub species: u64 = "u16*",
        /// Atoms that another GPU moves than computes the forces on them, in any order, and their number.
        pub border: u64 = "u32*",
        pub n_border: u64 = "u32*",
    }

    /// Sums over atoms.
    #[derive(Default)]
    pub struct ReductionArrays {
        /// Shares that blocks leave.
        pub partial: u64 = "double*",
        /// Totals: a row for each sample.
        pub total: u64 = "double*",
    }

    /// Positions in the memory of the other GPUs of a run.
    #[derive(Default)]
    pub struct PeerPositions {
        /// Number of other GPUs.
        pub count: i32,
        pub unused: i32,
        pub position: [[u64; 2]; MOST_GPUS - 1] = "Position*",
        pub x: [[u64; 2]; MOST_GPUS - 1] = "double*",
    }

    /// Addresses of all arrays in device memory.
    #[derive(Default)]
    pub struct DeviceData {
        /// Number of atoms.
        pub n: i32,
        pub unused: i32,
        /// Atoms on which this GPU computes forces: all of them where it is the only one of a run.
        pub owned: OwnedAtoms,
        pub geometry: BoxGeometry,
        pub control: u64 = "Control*",
        /// Pair coefficients; 0 for one species.
        pub table: u64 = "const real*",
        pub atoms: AtomArrays,
        pub sort: SortArrays,
        pub tiles: TileLists,
        pub lists: AtomLists,
        pub exclusions: ExclusionLists,
        pub groups: AtomGroups,
        pub embedded: EmbeddedArrays,
        pub three_body: ThreeBodyArrays,
        pub reduction: ReductionArrays,
        /// Walls that reflect atoms; none are read without the option of the compiler for them.
        pub walls: ReflectingWalls,
        /// Kind of time step, one bit: see `sub_steps.rs`.
        pub step_kind: u64,
        /// State of a thermostat: see thermostat.cu.
        pub thermostat: u64 = "double*",
        /// Random deviates of the thermostat: two for each step of the batch.
        pub deviates: u64 = "const double*",
        /// Positions that kernels store on other GPUs, where each moves its own atoms: see `send_position`.
        pub peers: PeerPositions,
        pub division: AtomDivision,
    }
}

shared_bits! {
    /// Reasons for which the device has stopped: bits of [`Control::faults`].
    pub mod faults = Fault {
        /// A tile needs a larger capacity (need_tile).
        TILE_FULL = 1,
        /// A list needs more rows (need_rows).
        ROWS_FULL = 2,
        /// A block of atoms is too large for the box: tiles cannot be used.
        UNFIT = 4,
        /// An atom has come near the end of the range of an open axis.
        ESCAPED = 8,
        /// A force is not finite (first_bad).
        NOT_FINITE = 16,
        /// Atoms are so far apart that no constraint holds them (first_bad).
        TORN = 32,
        /// Another GPU of the run has not answered: see exchange.cu.
        LATE = 64,
        /// A grain touches more others than have room around it (first_bad).
        CROWDED = 128,
        /// An atom is not between walls that reflect it (first_bad).
        OUTSIDE = 256,
    }
}

impl DeviceData {
    /// Data for a kernel that computes forces on all atoms.
    pub fn with_all_atoms(self) -> Self {
        DeviceData { owned: OwnedAtoms { first: 0, end: self.n }, ..self }
    }

    /// Data for a kernel that knows the array for forces of meshes, at this address.
    pub fn with_mesh_forces(self, mesh_force: u64) -> Self {
        DeviceData { atoms: AtomArrays { mesh_force, ..self.atoms }, ..self }
    }

    /// Data for a kernel that knows the arrays for forces of bonds beside those of pairs.
    pub fn with_bond_forces(self, of_bonds: ForcesBeside) -> Self {
        DeviceData { atoms: AtomArrays { of_bonds, ..self.atoms }, ..self }
    }

    /// Data for a kernel that knows the arrays for forces of biases, likewise.
    pub fn with_bias_forces(self, of_biases: ForcesBeside) -> Self {
        DeviceData { atoms: AtomArrays { of_biases, ..self.atoms }, ..self }
    }
}

impl Control {
    /// Control block before anything has happened: the list is to be built.
    pub fn new() -> Self {
        let motion = Motion { decay: 1.0, long_range_every: 1, ..Motion::default() };
        let mut slot = [Slot::default(); SLOTS + 1];
        slot[0].stale = 1;
        Control {
            motion,
            target: 0,
            segment: 0,
            sample_every: 0,
            parts: 0,
            part: 0,
            builds: 0,
            replays: 0,
            first_bad: u64::MAX,
            fastest2: 0,
            look: 0,
            prediction_distance: 0.0,
            skin: 0.0,
            reach: 0.0,
            limit2: 0.0,
            farthest2: 0.0,
            sorted: 0,
            faults: 0,
            reported: 0,
            need_tile: 0,
            need_rows: 0,
            largest_tile: 0,
            most_rows: 0,
            arrived: 0,
            slot,
        }
    }
}
