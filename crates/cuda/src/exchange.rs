//! Exchange of forces between the GPUs of a run (`kernels/exchange.cu`).

mod division;
mod host_zone;
mod motion;

pub use division::{Division, MeshDivision, MeshWork, MotionDivision, Moving, Needs};
pub use host_zone::HostZone;

use crate::device_data::{AtomArrays, DeviceData, MOST_GPUS, PeerPositions};
use crate::driver::{Buffer, Device, Kernel, Launch, Waits};
use crate::kernels::{self, Build, SEARCH};
use crate::neighbor_engine::Trigger;
use crate::shared::{SharedStructure, shared_structure};
use crate::sums::{Summation, VIRIAL};
use jostle_core::{Error, Precision, Result};
use std::time::Duration;

/// Number of threads of a block: as in `exchange.cu`.
const THREADS: u32 = 256;
/// Words that GPUs tell each other at once: as in `exchange.cu`.
pub const WORDS: usize = 5;
/// Most atoms among which forces of several GPUs are added up: each GPU has a landing zone for each other one then.
const MOST_SUMMED: usize = 1 << 18;
/// Bytes that a thread copies at least, so that small arrays take few blocks.
const BYTES_PER_THREAD: usize = 64;

shared_structure! {
    /// State of the exchanges of a GPU.
    #[derive(Default)]
    struct ExchangeState {
        /// Exchanges made so far: the same on all GPUs.
        number: u64,
        /// Blocks that have done their part.
        arrived: u32,
        /// Number of a GPU that did not answer, and one more; 0 if all have.
        late: i32,
        /// Not 0 where this GPU knows positions at most of the atoms that others have moved.
        divided: i32,
        /// Positions that this GPU sends in a step.
        positions_sent: u32,
        /// Parts of meshes made so far: the same on all GPUs.
        mesh_number: u64,
        /// Number of the last exchange, and one more, for which all others have been waited for.
        complete: u64,
        /// Longest wait of the exchange under way, in nanoseconds.
        wait: u64,
        /// Waits so far, in nanoseconds.
        waited: u64,
        /// Waits among them that shares of atoms could even out.
        waited_for_forces: u64,
    }

    /// Addresses in the memory of all GPUs of a run.
    #[derive(Default)]
    struct ExchangeData {
        /// Number of GPUs.
        count: i32,
        /// Number of this one among them.
        rank: i32,
        /// Bytes of a landing zone. Each GPU has two of them, used in turn.
        zone_bytes: i64,
        /// Bytes of a landing zone for each sender, where forces of all are added up; 0 where they are not.
        sender_bytes: i64,
        /// Longest wait, in nanoseconds.
        patience: u64,
        /// Bytes that each GPU has stored, from begin to end: [2][MOST_GPUS][2]; null where each GPU has a landing zone of its
        /// own. All of a process have one in common otherwise, in memory of the host, to which this address belongs.
        stored: u64 = "u64*",
        /// Landing zones of each GPU.
        landing: [u64; MOST_GPUS] = "void*",
        /// Landing zones for some words: [2][MOST_GPUS][EXCHANGE_WORDS].
        words: [u64; MOST_GPUS] = "int*",
        /// Numbers that the others have published, in the memory of each GPU.
        published: [u64; MOST_GPUS] = "u64*",
        state: u64 = "ExchangeState*",
        /// Numbers of parts of meshes that the others have published, in the memory of each GPU.
        mesh_published: [u64; MOST_GPUS] = "u64*",
    }

    /// Arrays of atoms of all GPUs of a run.
    #[derive(Default)]
    struct PeerArrays {
        x: [[u64; 2]; MOST_GPUS] = "double*",
        v: [[u64; 2]; MOST_GPUS] = "double*",
        position: [[u64; 2]; MOST_GPUS] = "Position*",
        force: [u64; MOST_GPUS] = "real*",
    }
}

/// Memory of one GPU in which data of the others land.
struct LandingZones {
    bytes: Buffer<u8>,
    words: Buffer<i32>,
    published: Buffer<u64>,
    mesh_published: Buffer<u64>,
    state: Buffer<ExchangeState>,
}

/// Seconds that a GPU has waited for others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WaitTimes {
    /// In all.
    pub all: f64,
    /// Part that other shares of the atoms could even out.
    pub for_forces: f64,
}

/// Exchange as one of the GPUs has it. Clones are the same one.
#[derive(Clone)]
pub struct Exchange {
    data: ExchangeData,
    real: usize,
    most_blocks: u32,
    send: Kernel,
    receive: Kernel,
    send_shares: Kernel,
    receive_shares: Kernel,
    needs: Kernel,
    send_sums: Kernel,
    receive_sums: Kernel,
    mesh: Kernel,
    slot: Kernel,
    send_motion: Kernel,
    wait_for_motion: Kernel,
    place_others: Kernel,
    find_needs: Kernel,
    clear_division: Kernel,
    divide: Kernel,
    send_border: Kernel,
    receive_own: Kernel,
    /// Bits of atoms that are moved and whose exact positions are needed, atoms at borders, and their number.
    division: [Buffer<u32>; 4],
    /// GPUs that need each atom.
    needed_by: Buffer<u8>,
    /// Species of each atom.
    species: Buffer<u16>,
    /// Arrays of all GPUs, and positions of the others, once they are known.
    arrays: PeerArrays,
    positions: PeerPositions,
    state: Buffer<ExchangeState>,
    mesh_division: MeshDivision,
    /// Memory that the others write to, kept alive.
    place: Landing,
    landing: (Buffer<u8>, Buffer<i32>, [Buffer<u64>; 2]),
}

/// Source of the kernels.
pub fn build(precision: Precision, sums: Summation) -> Build {
    let physics = [
        format!("enum {{ MOST_GPUS = {MOST_GPUS} }};\n"),
        ExchangeState::source(),
        ExchangeData::source(),
        PeerArrays::source(),
        SEARCH.into(),
    ]
    .concat();
    kernels::module_source(
        &physics,
        concat!(include_str!("../kernels/exchange.cu"), include_str!("../kernels/exchange_motion.cu")),
        precision,
        sums,
    )
}

fn real_bytes(precision: Precision) -> usize {
    match precision {
        Precision::Mixed => 4,
        Precision::Double => 8,
    }
}

/// Places where data of other GPUs land.
#[derive(Clone)]
pub enum Landing {
    /// Memory of each GPU, which the others reach.
    Gpus,
    /// Memory of the host: GPUs of other processes are among them.
    Host(HostZone),
}

impl LandingZones {
    fn new(device: &Device, zone_bytes: usize) -> Result<Self> {
        Ok(LandingZones {
            bytes: device.alloc(2 * zone_bytes)?,
            words: device.alloc(2 * MOST_GPUS * WORDS)?,
            published: device.alloc(MOST_GPUS)?,
            mesh_published: device.alloc(MOST_GPUS)?,
            state: device.upload(&[ExchangeState::default()])?,
        })
    }
}

/// Size and kind of what GPUs exchange.
#[derive(Clone, Copy)]
pub struct ExchangeShape {
    /// Number of atoms.
    pub n: usize,
    /// Number of terms whose forces are added up, and reals an atom of the largest array.
    pub terms: usize,
    pub reals: usize,
    pub precision: Precision,
    pub sums: Summation,
    /// Number of GPUs, those of other processes included.
    pub gpus: usize,
}

impl ExchangeShape {
    /// Number of parts of a landing zone: one a sender, where forces of all are added up.
    fn senders(&self) -> usize {
        if self.n <= MOST_SUMMED { self.gpus } else { 1 }
    }

    /// Bytes of a landing zone: for forces or other arrays, or energies and virial of each atom.
    pub fn zone_bytes(&self) -> usize {
        let reals = self.reals * real_bytes(self.precision);
        let atom_bytes = match self.sums {
            Summation::Fast => reals,
            Summation::Exact(_) => reals.max(8 * (self.terms + VIRIAL)),
        };
        (self.n * atom_bytes).next_multiple_of(256) * self.senders()
    }
}

impl Exchange {
    /// Exchanges of the GPUs of this process, from number `first` on, with meshes divided as `mesh_division` says.
    ///
    /// # Errors
    /// If a GPU has not enough memory, or no compiler.
    pub fn connect(
        devices: &[Device],
        first: usize,
        shape: ExchangeShape,
        landing: &Landing,
        patience: Duration,
        mesh_division: MeshDivision,
    ) -> Result<Vec<Exchange>> {
        let (zone_bytes, senders) = (shape.zone_bytes(), shape.senders());
        let own_bytes = if matches!(landing, Landing::Gpus) { zone_bytes } else { 0 };
        let zones: Vec<LandingZones> =
            devices.iter().map(|device| LandingZones::new(device, own_bytes)).collect::<Result<_>>()?;
        let addresses = |of: fn(&LandingZones) -> u64| {
            let mut all = [0; MOST_GPUS];
            all.iter_mut().skip(first).zip(&zones).for_each(|(address, zones)| *address = of(zones));
            all
        };
        let data = ExchangeData {
            sender_bytes: if senders > 1 { zone_bytes as i64 / senders as i64 } else { 0 },
            count: shape.gpus as i32,
            rank: 0,
            zone_bytes: zone_bytes as i64,
            patience: patience.as_nanos() as u64,
            stored: 0,
            landing: addresses(|zones| zones.bytes.address()),
            words: addresses(|zones| zones.words.address()),
            published: addresses(|zones| zones.published.address()),
            state: 0,
            mesh_published: addresses(|zones| zones.mesh_published.address()),
        };
        let data = match landing {
            Landing::Gpus => data,
            Landing::Host(zone) => ExchangeData {
                stored: zone.stored_address(),
                landing: [zone.buffer().address(); MOST_GPUS],
                words: [zone.words_address(); MOST_GPUS],
                published: [zone.published_address(); MOST_GPUS],
                ..data
            },
        };
        let build = build(shape.precision, shape.sums);
        let real = real_bytes(shape.precision);
        let numbered = devices.iter().zip(zones).enumerate();
        numbered
            .map(|(k, (device, zones))| {
                let numbers = [first + k, real, shape.n];
                Self::open(device, (zones, landing), &build, data, numbers, mesh_division)
            })
            .collect()
    }

    /// Exchange of the GPU with this number; reals have so many bytes, and there are so many atoms.
    fn open(
        device: &Device,
        (zones, landing): (LandingZones, &Landing),
        build: &Build,
        data: ExchangeData,
        [rank, real, n]: [usize; 3],
        mesh_division: MeshDivision,
    ) -> Result<Exchange> {
        let module = device.compile("exchange.cu", &build.source, &build.options)?;
        Ok(Exchange {
            data: ExchangeData { rank: rank as i32, state: zones.state.address(), ..data },
            real,
            most_blocks: 2 * device.multiprocessors(),
            send: module.kernel("exchange_send")?,
            receive: module.kernel("exchange_receive")?,
            send_shares: module.kernel("exchange_send_shares")?,
            receive_shares: module.kernel("exchange_receive_shares")?,
            needs: module.kernel("exchange_needs")?,
            send_sums: module.kernel("exchange_send_sums")?,
            receive_sums: module.kernel("exchange_receive_sums")?,
            mesh: module.kernel("exchange_mesh")?,
            slot: module.kernel("exchange_slot")?,
            send_motion: module.kernel("exchange_send_motion")?,
            wait_for_motion: module.kernel("exchange_wait_for_motion")?,
            place_others: module.kernel("exchange_place_others")?,
            find_needs: module.kernel("exchange_find_needs")?,
            needed_by: device.alloc(n)?,
            species: device.alloc(n)?,
            clear_division: module.kernel("exchange_clear_division")?,
            divide: module.kernel("exchange_divide")?,
            send_border: module.kernel("exchange_send_border")?,
            receive_own: module.kernel("exchange_receive_own")?,
            division: [
                device.alloc(n.div_ceil(32))?,
                device.alloc(n.div_ceil(32))?,
                device.alloc(n)?,
                device.alloc(1)?,
            ],
            arrays: PeerArrays::default(),
            positions: PeerPositions::default(),
            state: zones.state,
            mesh_division,
            place: landing.clone(),
            landing: (zones.bytes, zones.words, [zones.published, zones.mesh_published]),
        })
    }

    /// Launch of a kernel that moves so many bytes.
    fn launch(&self, kernel: &Kernel, bytes: usize, data: &DeviceData) -> Launch {
        let blocks = bytes.div_ceil(BYTES_PER_THREAD * THREADS as usize) as u32;
        let launch = Launch::new(kernel, blocks.clamp(1, self.most_blocks), THREADS);
        launch.with_value(*data).with_value(self.data)
    }

    /// True where GPUs reach the memory of all others.
    pub fn reaches_others(&self) -> bool {
        matches!(self.place, Landing::Gpus)
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        let division = 4 * self.division.iter().map(Buffer::len).sum::<usize>();
        division + self.needed_by.len() + 2 * self.species.len() + self.landing.0.len()
    }

    /// True where forces on all atoms can be added up over the GPUs.
    pub fn sums_forces(&self) -> bool {
        self.data.sender_bytes > 0
    }

    /// Launches that add up the forces of all GPUs on all atoms.
    pub fn sums_of_forces(&self, data: &DeviceData, slot: i32, trigger: Trigger) -> [Launch; 2] {
        let bytes = data.n as usize * 3 * self.real;
        [&self.send_sums, &self.receive_sums]
            .map(|kernel| self.launch(kernel, bytes, data).with_value(slot).with_value(trigger as i32))
    }

    /// Division of meshes among the GPUs, where pairs are divided by atoms.
    pub fn mesh_division(&self) -> MeshDivision {
        self.mesh_division
    }

    /// Launch that waits until all GPUs have made a part of a mesh that others go on with.
    pub fn mesh(&self, data: &DeviceData, slot: i32, trigger: Trigger) -> Launch {
        let launch = Launch::new(&self.mesh, 1, 32).with_value(*data).with_value(self.data);
        launch.with_value(slot).with_value(trigger as i32)
    }

    /// Launches that complete the forces on all atoms.
    pub fn forces(&self, data: &DeviceData, slot: i32, trigger: Trigger) -> [Launch; 2] {
        self.array(data, data.atoms.force, 3, slot, trigger).map(|launch| launch.waits(Waits::AllStreams))
    }

    /// Takes the addresses of the arrays of all GPUs.
    pub fn set_peer_arrays(&mut self, all: &[AtomArrays]) {
        let others = all.iter().enumerate().filter(|(gpu, _)| *gpu != self.data.rank as usize);
        self.positions = PeerPositions { count: all.len() as i32 - 1, ..PeerPositions::default() };
        for (k, (_, arrays)) in others.enumerate() {
            self.positions.position[k] = arrays.position;
            self.positions.x[k] = arrays.x;
        }
        for (gpu, arrays) in all.iter().enumerate() {
            self.arrays.x[gpu] = arrays.x;
            self.arrays.v[gpu] = arrays.v;
            self.arrays.position[gpu] = arrays.position;
            self.arrays.force[gpu] = arrays.force;
        }
    }

    /// Positions of the other GPUs.
    pub fn positions(&self) -> PeerPositions {
        self.positions
    }

    /// Bytes that this GPU sends in each step.
    ///
    /// # Errors
    /// If the device was lost.
    pub fn bytes_per_step(&self, data: &DeviceData, motion: MotionDivision) -> Result<f64> {
        let own = f64::from(data.owned.end - data.owned.first);
        let others = f64::from(self.data.count - 1);
        Ok(match motion {
            // Forces on those few at borders are not counted.
            MotionDivision::Divided => {
                let positions = match data.division.needed_by {
                    0 => own * others,
                    _ => self.state.to_vec()?.first().map_or(0.0, |state| f64::from(state.positions_sent)),
                };
                positions * (4 * self.real) as f64
            }
            MotionDivision::Alike => own * (3 * self.real) as f64 * others,
        })
    }

    /// Waits of this GPU for others so far.
    ///
    /// # Errors
    /// If the device was lost.
    pub fn waits(&self) -> Result<WaitTimes> {
        let state = self.state.to_vec()?.first().copied().unwrap_or_default();
        Ok(WaitTimes { all: 1e-9 * state.waited as f64, for_forces: 1e-9 * state.waited_for_forces as f64 })
    }

    /// Launches that complete an array of so many reals an atom.
    pub fn array(
        &self,
        data: &DeviceData,
        array: u64,
        reals: usize,
        slot: i32,
        trigger: Trigger,
    ) -> [Launch; 2] {
        let atom_bytes = reals * self.real;
        let own = (data.owned.end - data.owned.first) as usize;
        let others = data.n as usize - own;
        [(&self.send, own), (&self.receive, others)].map(|(kernel, atoms)| {
            self.launch(kernel, atoms * atom_bytes, data)
                .with_value(array)
                .with_value(atom_bytes as i32)
                .with_value(slot)
                .with_value(trigger as i32)
        })
    }

    /// Launches that complete the shares of `count` sums, which belong to atoms.
    pub fn shares(&self, data: &DeviceData, count: usize, slot: i32, trigger: Trigger) -> [Launch; 2] {
        let bytes = data.n as usize * 8 * count;
        [&self.send_shares, &self.receive_shares].map(|kernel| {
            self.launch(kernel, bytes, data)
                .with_value(count as i32)
                .with_value(slot)
                .with_value(trigger as i32)
        })
    }

    /// Launch of the agreement on what lists needed.
    pub fn needs(&self, data: &DeviceData, slot: i32) -> Launch {
        Launch::new(&self.needs, 1, (MOST_GPUS * WORDS) as u32)
            .with_value(*data)
            .with_value(self.data)
            .with_value(slot)
            .waits(Waits::AllStreams)
    }

    /// Error of a GPU that has waited in vain.
    ///
    /// # Errors
    /// If the device was lost.
    pub fn late(&self) -> Result<Error> {
        let state = self.state.to_vec()?;
        let late = state.first().map_or(0, |state| state.late);
        let seconds = self.data.patience / 1_000_000_000;
        let message =
            format!("GPU {} of the run waited {seconds} s for GPU {}, in vain", self.data.rank, late - 1);
        Ok(Error::device(message).hint("resume from the last checkpoint; nvidia-smi may tell what happened"))
    }
}
