//! Several GPUs as one device ([`jostle_core::Backend`]): every call is made by all of them at once, by a thread each.
//!
//! All GPUs have all atoms, with the same bits between calls; each computes the forces on a range of the sorted order and
//! sends them to the others, or moves these atoms and sends their positions (`exchange.rs`). What one of them answers is
//! the answer of all.
//!
//! GPUs of other processes may be among them: these make the same calls on theirs, and a messenger carries what is
//! exchanged.

use super::{Cuda, Layout};
use crate::device_data::AtomArrays;
use crate::driver::Device;
use crate::exchange::{Exchange, ExchangeShape, HostZone, Landing, MeshDivision};
use crate::messenger::Messenger;
use crate::messenger::outbox::Outbox;
use crate::peers::{Collective, Peers, check_count};
use crate::sums::Summation;
use crate::three_body;
use jostle_core::backend::{BiasPlace, Descent, NeighborFacts, StageTime, Timings};
use jostle_core::thermostat::Dissipative;
use jostle_core::{
    AddedForces, AtomStorage, AtomVector, Backend, ClosingKick, DeviceReport, Energies, Error, Evaluate,
    ForceEvaluation, Kinetic, MolecularVirial, Molecules, NoiseKey, Result, Sample, SavedVolume, Settings,
    SimBox, Snapshot, State, StepBatch, SubSteps, System, Thermostat, Vec3, VolumeMove,
};
use jostle_potentials::Forces;
use jostle_potentials::electrostatics::Method;
use jostle_transport::Communicator;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Longest wait of a kernel for another GPU.
const KERNEL_PATIENCE: Duration = Duration::from_secs(30);
/// Longest wait of a thread for that of another GPU, which may compile kernels or record steps meanwhile.
const THREAD_PATIENCE: Duration = Duration::from_secs(300);

/// GPUs that share the forces of a system.
pub struct SeveralGpus {
    gpus: Vec<Cuda>,
    collective: Arc<Collective>,
    /// Messenger to other processes, closed when the GPUs are done.
    messenger: Option<Messenger>,
}

/// GPUs of a run, as a process sees them.
struct Crew {
    /// Number of the first GPU of this process.
    first: usize,
    /// Number of all GPUs.
    count: usize,
    landing: Landing,
    collective: Arc<Collective>,
}

impl SeveralGpus {
    /// Puts a system on several devices of one kind.
    ///
    /// # Errors
    /// As for [`Cuda::new`], or if the devices cannot use each other's memory.
    pub fn new(
        devices: Vec<Device>,
        system: System,
        forces: impl Into<Forces>,
        settings: Settings,
    ) -> Result<Self> {
        let (forces, count) = (forces.into(), devices.len());
        check_count(count)?;
        for (k, device) in devices.iter().enumerate() {
            let others = devices.iter().enumerate().filter(|(other, _)| *other != k);
            others.map(|(_, other)| other).try_for_each(|other| device.reach(other))?;
        }
        let collective = Collective::new(count, THREAD_PATIENCE, None);
        let crew = Crew { first: 0, count, landing: Landing::Gpus, collective };
        Self::open(devices, system, forces, settings, crew)
    }

    /// Puts a system on the devices of all ranks, of one kind: every rank makes this call, and the same calls after it where
    /// it has devices. `None`: it has none.
    ///
    /// # Errors
    /// As for [`Cuda::new`], on this rank or another.
    pub fn on_ranks(
        devices: Vec<Device>,
        system: System,
        forces: impl Into<Forces>,
        settings: Settings,
        communicator: &Communicator,
    ) -> Result<Option<Self>> {
        let forces = forces.into();
        let counts = communicator.gather_equal(&[devices.len() as u64])?;
        let [first, count] =
            [communicator.rank(), counts.len()].map(|ranks| counts[..ranks].iter().sum::<u64>() as usize);
        check_count(count)?;
        check_kinds(communicator, &devices)?;
        let shape = exchange_shape(&system, &forces, settings, count);
        let zone = devices.first().map(|device| HostZone::new(device, shape.zone_bytes())).transpose();
        let Some(zone) = communicator.agree(zone)? else {
            // The others agree twice more.
            communicator.agree(Ok(()))?;
            return communicator.agree(Ok(None));
        };
        let outbox = Arc::new(Outbox::default());
        let collective = Collective::new(count, THREAD_PATIENCE, Some(outbox.clone()));
        let others = communicator.others().filter(|rank| counts[*rank] > 0);
        let own = first..first + devices.len();
        let started =
            Messenger::start(communicator.channel(), others, zone.clone(), own, collective.clone(), outbox);
        let messenger = communicator.agree(started)?;
        let landing = Landing::Host(zone);
        let crew = Crew { first, count, landing, collective: collective.clone() };
        // Others may wait for the threads of this rank; messengers are closed once all ranks know how it went.
        let several = Self::open(devices, system, forces, settings, crew);
        let mut several = communicator.agree(several.inspect_err(|error| collective.fail(error)))?;
        several.messenger = Some(messenger);
        Ok(Some(several))
    }

    fn open(
        devices: Vec<Device>,
        system: System,
        forces: Forces,
        settings: Settings,
        crew: Crew,
    ) -> Result<Self> {
        let emulated = devices.iter().any(Device::is_emulated);
        let patience = if emulated { THREAD_PATIENCE } else { KERNEL_PATIENCE };
        let Crew { first, count, landing, collective } = crew;
        let shape = exchange_shape(&system, &forces, settings, count);
        let mesh = division_of_mesh(&forces, shape.sums, count, &landing);
        let exchanges = Exchange::connect(&devices, first, shape, &landing, patience, mesh)?;
        let layout = Layout::of_system(&system, &forces, count, devices[0].multiprocessors());
        let open = |(k, (device, exchange))| {
            let peers = Peers::new(first + k, exchange, collective.clone());
            Cuda::with_peers(device, system.clone(), forces.clone(), settings, layout, Some(peers))
        };
        // One after the other, so that kernels are compiled once.
        let mut gpus: Vec<Cuda> =
            devices.into_iter().zip(exchanges).enumerate().map(open).collect::<Result<_>>()?;
        if matches!(landing, Landing::Gpus) {
            let arrays: Vec<AtomArrays> = gpus.iter().map(Cuda::atom_arrays).collect();
            gpus.iter_mut().for_each(|gpu| gpu.set_peer_arrays(&arrays));
        }
        let mut several = SeveralGpus { gpus, collective, messenger: None };
        several.call(Cuda::connect_meshes)?;
        Ok(several)
    }

    /// Sets the shares of the GPUs in the atoms on which they compute forces, in any unit.
    ///
    /// # Errors
    /// If there is not a share for each, or a GPU has not enough memory.
    pub fn set_shares(&mut self, shares: &[f64]) -> Result<()> {
        let possible = shares.iter().all(|share| *share >= 0.0) && shares.iter().any(|share| *share > 0.0);
        if shares.len() != self.gpus.len() || !possible {
            return Err(Error::input(format!("{shares:?} are no shares of {} GPUs", self.gpus.len())));
        }
        self.call(|gpu| gpu.set_shares(shares))
    }

    /// Makes lists far too small: grown lists must give the same answer.
    ///
    /// # Errors
    /// If a GPU failed.
    pub fn shrink_lists(&mut self) -> Result<()> {
        self.call(Cuda::shrink_lists)
    }

    /// Checks that all GPUs have the same atoms, to the last bit.
    ///
    /// # Errors
    /// If one of them has others than the first, or failed.
    pub fn check_agreement(&mut self) -> Result<()> {
        let states = self.on_all(|gpu| gpu.state().cloned())?;
        let differs = |state: &State| {
            let first = &states[0];
            (&state.id, &state.position, &state.velocity, &state.force)
                != (&first.id, &first.position, &first.velocity, &first.force)
        };
        match states.iter().position(differs) {
            Some(rank) => {
                let state = &states[rank];
                let other = (0..state.len()).find(|k| state.position[*k] != states[0].position[*k]);
                let place = other.map_or(String::new(), |k| format!(" at place {k} of {}", state.len()));
                Err(Error::device(format!("GPU {rank} has other atoms than the first one{place}")))
            }
            None => Ok(()),
        }
    }

    /// Makes a call on all GPUs, and returns their answers.
    fn on_all<R: Send>(&mut self, call: impl Fn(&mut Cuda) -> Result<R> + Sync) -> Result<Vec<R>> {
        let (call, collective) = (&call, &self.collective);
        collective.begin_call();
        let make = |gpu: &mut Cuda| {
            let _released = ReleasedByPanic(collective);
            call(gpu).inspect_err(|error| collective.fail(error))
        };
        let answers: Vec<Result<R>> = thread::scope(|scope| {
            let mut gpus = self.gpus.iter_mut();
            let first = gpus.next();
            let others: Vec<_> = gpus.map(|gpu| scope.spawn(move || make(gpu))).collect();
            let first = first.map(make);
            let others = others.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(ended())));
            first.into_iter().chain(others).collect()
        });
        let failure = self.collective.failure();
        if answers.iter().all(Result::is_err) {
            self.collective.clear();
        }
        failure.map_or_else(|| answers.into_iter().collect(), Err)
    }

    /// Makes a call on all GPUs, and returns the answer of the first.
    fn call<R: Send>(&mut self, call: impl Fn(&mut Cuda) -> Result<R> + Sync) -> Result<R> {
        let mut answers = self.on_all(call)?;
        Ok(answers.swap_remove(0))
    }

    fn first(&self) -> &Cuda {
        &self.gpus[0]
    }
}

/// Lets other threads go on where this one panics.
struct ReleasedByPanic<'a>(&'a Collective);

impl Drop for ReleasedByPanic<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.fail(&ended());
        }
    }
}

fn ended() -> Error {
    Error::device("the thread of a GPU has ended")
}

/// Size and kind of what the GPUs of a system exchange.
fn exchange_shape(system: &System, forces: &Forces, settings: Settings, gpus: usize) -> ExchangeShape {
    ExchangeShape {
        n: system.state.len(),
        terms: forces.n_searched(),
        reals: if forces.three_body.is_some() { three_body::EXCHANGED } else { 3 },
        precision: settings.precision,
        sums: if settings.reproducible { Summation::exact(forces) } else { Summation::Fast },
        gpus,
    }
}

/// Checks that the GPUs of all ranks are of one kind.
fn check_kinds(communicator: &Communicator, devices: &[Device]) -> Result<()> {
    let kinds = communicator.gather_texts(&devices.first().map_or_else(String::new, Device::name))?;
    let mut kinds = kinds.iter().enumerate().filter(|(_, kind)| !kind.is_empty());
    let Some((_, first)) = kinds.next() else { return Ok(()) };
    match kinds.find(|(_, other)| *other != first) {
        Some((rank, other)) => {
            let message = format!("a run cannot be divided between {first} and {other} of rank {rank}");
            Err(Error::device(message).hint("choose hosts with GPUs of one kind"))
        }
        None => Ok(()),
    }
}

/// Division of the mesh: exact sums need all energies on every GPU, and two meshes an order in which they are added; and
/// parts of meshes are stored in the memory of other GPUs.
fn division_of_mesh(forces: &Forces, sums: Summation, gpus: usize, landing: &Landing) -> MeshDivision {
    let mut methods = forces.sums().map(|sum| sum.method());
    let reach = matches!(landing, Landing::Gpus);
    match (methods.next(), methods.next()) {
        (Some(Method::Pme { .. }), None) if gpus > 1 && sums == Summation::Fast && reach => {
            MeshDivision::Divided
        }
        _ => MeshDivision::Alike,
    }
}

impl Drop for SeveralGpus {
    fn drop(&mut self) {
        // Kernels of one GPU may be writing to the memory of another. A GPU that is lost writes no more.
        self.gpus.iter().for_each(|gpu| drop(gpu.device.synchronize()));
        // Nothing more is to come that other processes could wait for.
        drop(self.messenger.take());
    }
}

impl AtomStorage for SeveralGpus {
    fn simbox(&self) -> &SimBox {
        self.first().simbox()
    }

    fn n_atoms(&self) -> usize {
        self.first().n_atoms()
    }

    fn state(&mut self) -> Result<&State> {
        self.gpus[0].state()
    }

    fn write_by_id(&mut self, vector: AtomVector, rows: &mut [Vec3]) -> Result<()> {
        self.gpus[0].write_by_id(vector, rows)
    }

    fn snapshot(&mut self, vectors: &[AtomVector]) -> Result<Snapshot> {
        let snapshot = self.gpus[0].snapshot(vectors)?;
        // Others may store into the arrays of this one as soon as they make further steps.
        self.gpus[0].device.synchronize()?;
        Ok(snapshot)
    }

    fn set_state(&mut self, state: State) -> Result<()> {
        self.call(|gpu| gpu.set_state(state.clone()))
    }

    fn set_velocities(&mut self, velocities: &[Vec3]) -> Result<()> {
        self.call(|gpu| gpu.set_velocities(velocities))
    }

    fn list_positions(&mut self) -> Result<&[Vec3]> {
        self.gpus[0].list_positions()
    }

    fn restore(&mut self, state: State, list_positions: Vec<Vec3>, skin: f64) -> Result<()> {
        self.call(|gpu| gpu.restore(state.clone(), list_positions.clone(), skin))
    }

    fn set_box(&mut self, simbox: SimBox, state: State) -> Result<()> {
        self.call(|gpu| gpu.set_box(simbox, state.clone()))
    }

    fn deform(&mut self, simbox: SimBox) -> Result<()> {
        self.call(|gpu| gpu.deform(simbox))
    }
}

impl ForceEvaluation for SeveralGpus {
    fn set_long_range_weight(&mut self, weight: f64) -> Result<()> {
        self.call(|gpu| gpu.set_long_range_weight(weight))
    }

    fn set_stiffness(&mut self, stiffness: &[f64]) -> Result<()> {
        self.call(|gpu| gpu.set_stiffness(stiffness))
    }

    fn set_time(&mut self, time: StageTime) -> Result<()> {
        self.call(|gpu| gpu.set_time(time))
    }

    fn update_neighbors(&mut self) -> Result<()> {
        self.call(Cuda::update_neighbors)
    }

    fn compute_forces(&mut self, evaluate: Evaluate) -> Result<()> {
        self.call(|gpu| gpu.compute_forces(evaluate))
    }

    fn add_constraint_virial(&mut self, kick: ClosingKick) -> Result<()> {
        self.call(|gpu| gpu.add_constraint_virial(kick))
    }

    fn energies_with_charges(&mut self, charges: &[f64]) -> Result<Energies> {
        self.call(|gpu| gpu.energies_with_charges(charges))
    }

    fn add_forces(&mut self, added: &AddedForces) -> Result<()> {
        self.call(|gpu| gpu.add_forces(added))
    }

    fn energies(&self) -> &Energies {
        self.first().energies()
    }
}

impl SubSteps for SeveralGpus {
    fn kick(&mut self, dt: f64) -> Result<()> {
        self.call(|gpu| gpu.kick(dt))
    }

    fn drift(&mut self, dt: f64) -> Result<()> {
        self.call(|gpu| gpu.drift(dt))
    }

    fn kick_drift(&mut self, dt: f64) -> Result<()> {
        self.call(|gpu| gpu.kick_drift(dt))
    }

    fn constrain_positions(&mut self, dt: f64) -> Result<()> {
        self.call(|gpu| gpu.constrain_positions(dt))
    }

    fn constrain_velocities(&mut self, kick: Option<ClosingKick>) -> Result<()> {
        self.call(|gpu| gpu.constrain_velocities(kick))
    }

    fn scale_velocities(&mut self, factor: f64) -> Result<()> {
        self.call(|gpu| gpu.scale_velocities(factor))
    }

    fn shift_velocities(&mut self, delta: Vec3) -> Result<()> {
        self.call(|gpu| gpu.shift_velocities(delta))
    }

    fn mix_velocities(&mut self, keep: f64, along: f64) -> Result<()> {
        self.call(|gpu| gpu.mix_velocities(keep, along))
    }

    fn ornstein_uhlenbeck(&mut self, decay: f64, thermal_energy: f64, noise: NoiseKey) -> Result<()> {
        self.call(|gpu| gpu.ornstein_uhlenbeck(decay, thermal_energy, noise))
    }

    fn apply_dpd_thermostat(&mut self, thermostat: &Dissipative, noise: NoiseKey) -> Result<()> {
        self.call(|gpu| gpu.apply_dpd_thermostat(thermostat, noise))
    }

    fn check_dpd_thermostat(&self, thermostat: &Dissipative) -> Result<()> {
        self.first().check_dpd_thermostat(thermostat)
    }

    fn has_contacts(&self) -> bool {
        self.first().has_contacts()
    }

    fn apply_contact_friction(&mut self, dt: f64) -> Result<()> {
        self.call(|gpu| gpu.apply_contact_friction(dt))
    }

    fn has_reflecting_walls(&self) -> bool {
        self.first().has_reflecting_walls()
    }

    fn reflect(&mut self, part: f64) -> Result<()> {
        self.call(|gpu| gpu.reflect(part))
    }

    fn kinetic(&mut self) -> Result<Kinetic> {
        self.call(Cuda::kinetic)
    }

    fn descent(&mut self) -> Result<Descent> {
        self.call(Cuda::descent)
    }
}

impl VolumeMove for SeveralGpus {
    fn molecular_virial(&mut self, molecules: &Molecules) -> Result<MolecularVirial> {
        self.call(|gpu| gpu.molecular_virial(molecules))
    }

    fn scale_volume(
        &mut self,
        molecular: MolecularVirial,
        simbox: SimBox,
        faster: f64,
    ) -> Result<SavedVolume> {
        self.call(|gpu| gpu.scale_volume(molecular.clone(), simbox, faster))
    }

    fn undo_scale(&mut self, before: SavedVolume) -> Result<()> {
        let simbox = before.simbox;
        self.call(|gpu| gpu.undo_scale(SavedVolume { simbox, state: None }))
    }
}

impl DeviceReport for SeveralGpus {
    fn describe(&self) -> String {
        format!("{} x {}", self.collective.count(), self.first().describe())
    }

    fn timings(&self) -> Timings {
        let all = self.gpus.iter().map(Cuda::timings);
        let waiting = all.clone().map(|one| one.waiting).sum::<f64>() / self.gpus.len() as f64;
        // GPUs of other processes send as much.
        let bytes_sent = all.map(|one| one.bytes_sent).sum::<f64>() * self.collective.count() as f64
            / self.gpus.len() as f64;
        Timings { waiting, bytes_sent, ..self.first().timings() }
    }

    fn neighbor_facts(&self) -> NeighborFacts {
        let bytes = self.gpus.iter().map(|gpu| gpu.neighbor_facts().bytes).max();
        NeighborFacts { bytes: bytes.unwrap_or(0), ..self.first().neighbor_facts() }
    }
}

impl Backend for SeveralGpus {
    fn run_steps(&mut self, batch: &StepBatch, thermostat: &mut Thermostat) -> Result<Option<Vec<Sample>>> {
        let before = thermostat.clone();
        let (after, samples) = self.call(|gpu| {
            let mut thermostat = before.clone();
            gpu.run_steps(batch, &mut thermostat).map(|samples| (thermostat, samples))
        })?;
        *thermostat = after;
        Ok(samples)
    }

    fn bias_place(&mut self) -> BiasPlace<'_> {
        BiasPlace::Host("several GPUs share the atoms")
    }
}
