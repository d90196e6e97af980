//! A device that is many: the CPUs of all ranks of a run, or their GPUs.
//!
//! Rank 0 alone has a [`crate::Simulation`]: it reads, decides, logs and writes. Its device (`RankedDevice`)
//! sends every call that changes something to the others, which make the same call on an engine of their own
//! ([`serve`]), so that no decision has to be taken together: clocks, signals, commands and files are rank 0's.
//! Within a call, ranks divide forces among themselves (`jostle_cpu::open_on_ranks`, `jostle_cuda::open_on_ranks`).

mod call;
pub(crate) mod cores;
mod device;
mod gpus;

use call::{Call, Message};
use device::RankedDevice;
pub(crate) use gpus::Drivers;
use jostle_core::{Backend, Error, Result, Settings, System};
use jostle_cuda::driver::Device;
use jostle_io::input::model::{GpuSet, Gpus};
use jostle_potentials::Forces;
use jostle_transport::{Communicator, Traffic, mpi, threads};
use serde::{Deserialize, Serialize};
use std::sync::{Mutex, PoisonError};
use std::thread::JoinHandle;

/// The ranks that MPI has started this process among, as long as no device uses them.
static PROCESSES: Mutex<Option<Communicator>> = Mutex::new(None);

/// The ranks of the device in use.
static IN_USE: Mutex<Option<Communicator>> = Mutex::new(None);

/// Number of ranks of the device in use, and messages of rank 0 so far; `None` where it has no others.
pub fn traffic() -> Option<(usize, Traffic)> {
    let in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
    in_use.as_ref().map(|communicator| (communicator.size(), communicator.traffic()))
}

/// Devices of the ranks of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum RankDevices {
    /// The CPU of each.
    Cpus,
    /// GPUs, driven by some of the ranks.
    Gpus(Gpus, Drivers),
}

/// Part of this process in a launch.
pub enum Role {
    /// It is alone, or rank 0, which does what its arguments say. To be kept until the end.
    Leader(Leader),
    /// Another rank, which does what rank 0 says: [`serve`].
    Worker(Communicator),
}

/// Rank 0; dropping it lets the others end.
pub struct Leader {
    communicator: Option<Communicator>,
}

impl Leader {
    /// Ranks of this launch.
    pub fn ranks(&self) -> Option<&Communicator> {
        self.communicator.as_ref()
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        set_processes(None);
        // After a panic the launcher ends the others.
        if let Some(communicator) = self.communicator.take().filter(|_| !std::thread::panicking()) {
            // Where a rank is gone, so is the launch.
            let _ = send(&communicator, &Message::End);
        }
    }
}

fn set_in_use(communicator: Option<Communicator>) {
    *IN_USE.lock().unwrap_or_else(PoisonError::into_inner) = communicator;
}

fn set_processes(communicator: Option<Communicator>) {
    *PROCESSES.lock().unwrap_or_else(PoisonError::into_inner) = communicator;
}

/// Joins the processes that `mpirun` or its like has started, if this is one of them.
///
/// # Errors
/// If there is no MPI that fits.
pub fn join() -> Result<Role> {
    match mpi::join()? {
        Some(communicator) if communicator.rank() > 0 => Ok(Role::Worker(communicator)),
        communicator => {
            set_processes(communicator.clone());
            Ok(Role::Leader(Leader { communicator }))
        }
    }
}

/// Returns true where MPI has started this process among others.
pub fn are_processes() -> bool {
    PROCESSES.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// The GPUs that were asked for, where this process drives all of them; `None` where processes of other hosts have some.
///
/// # Errors
/// If a process has none where it should have one.
pub(crate) fn gpus_of_this_process(gpus: Gpus) -> Result<Option<Gpus>> {
    let Some(communicator) = PROCESSES.lock().unwrap_or_else(PoisonError::into_inner).clone() else {
        return Ok(Some(gpus));
    };
    send(&communicator, &Message::FindGpus(gpus))?;
    let shares = gpus::shares(&communicator, gpus, Drivers::FirstOfHost)?;
    let own = shares.iter().flatten().count() == shares[0].len();
    let chosen = || shares[0].iter().map(|number| GpuSet::one(*number)).reduce(GpuSet::and);
    Ok(match gpus {
        _ if !own => None,
        Gpus::All => Some(gpus),
        Gpus::Chosen(_) => chosen().map(Gpus::Chosen),
    })
}

/// Puts a system on the devices of the processes of this launch, or on the CPU of this one while another device uses them.
pub(crate) fn open_on_processes(
    devices: RankDevices,
    system: System,
    forces: Forces,
    settings: Settings,
) -> Result<Box<dyn Backend>> {
    let communicator = PROCESSES.lock().unwrap_or_else(PoisonError::into_inner).take();
    match communicator {
        Some(communicator) => open(communicator, Workers::Processes, devices, (system, forces, settings)),
        None => jostle_cpu::open(system, forces, settings),
    }
}

/// Puts a system on ranks that are threads of this process.
pub(crate) fn open_on_threads(
    n: usize,
    devices: RankDevices,
    system: System,
    forces: Forces,
    settings: Settings,
) -> Result<Box<dyn Backend>> {
    let mut communicators = threads::communicators(n).into_iter();
    let Some(first) = communicators.next() else { return Err(Error::input("a run has at least one rank")) };
    let mut workers = Vec::new();
    for communicator in communicators {
        let spawned = std::thread::Builder::new().name(format!("rank-{}", communicator.rank()));
        // A failure reaches rank 0 by its next exchange.
        let spawned = spawned.spawn(move || drop(serve(communicator)));
        workers.push(spawned.map_err(|e| Error::device(format!("no threads for {n} ranks: {e}")))?);
    }
    open(first, Workers::Threads(workers), devices, (system, forces, settings))
}

/// Other ranks of a device.
enum Workers {
    /// Processes, which go on to the next device.
    Processes,
    /// Threads, which end with it.
    Threads(Vec<JoinHandle<()>>),
}

impl Workers {
    /// Lets the ranks go after their devices were closed.
    fn dismiss(&mut self, communicator: &Communicator) {
        match self {
            Workers::Processes => set_processes(Some(communicator.clone())),
            Workers::Threads(threads) => {
                // Where one has failed, the others have ended.
                let _ = send(communicator, &Message::End);
                threads.drain(..).for_each(|thread| drop(thread.join()));
            }
        }
    }
}

fn open(
    communicator: Communicator,
    mut workers: Workers,
    devices: RankDevices,
    parts: (System, Forces, Settings),
) -> Result<Box<dyn Backend>> {
    let message = Message::Open(devices, Box::new(parts));
    let opened = send(&communicator, &message).and_then(|()| {
        let Message::Open(devices, parts) = message else { return Err(out_of_step(0)) };
        open_together(&communicator, devices, *parts)
    });
    match opened {
        Ok(Some(backend)) => Ok(Box::new(RankedDevice::new(backend, devices, communicator, workers))),
        Ok(None) => Err(out_of_step(0)),
        Err(error) => {
            workers.dismiss(&communicator);
            Err(error)
        }
    }
}

/// The engine of this rank, if all ranks have theirs; `None` where it stands by.
fn open_together(
    communicator: &Communicator,
    devices: RankDevices,
    (system, forces, settings): (System, Forces, Settings),
) -> Result<Option<Box<dyn Backend>>> {
    let opened = match devices {
        RankDevices::Cpus => {
            jostle_cpu::open_on_ranks(system, forces, settings, communicator.clone()).map(Some)
        }
        RankDevices::Gpus(gpus, drivers) => {
            let own = gpus::shares(communicator, gpus, drivers)?.swap_remove(communicator.rank());
            cores::allow(own.len());
            let gpus = communicator.agree(own.into_iter().map(Device::open).collect())?;
            jostle_cuda::open_on_ranks(gpus, system, forces, settings, communicator)
        }
    };
    communicator.agree(opened)
}

/// Does what rank 0 says, until it ends.
///
/// # Errors
/// If this rank cannot go on; all others have been taken down then.
pub fn serve(communicator: Communicator) -> Result<()> {
    let result = serve_devices(&communicator);
    if let Err(error) = &result {
        communicator.abort(error);
    }
    result
}

fn serve_devices(communicator: &Communicator) -> Result<()> {
    loop {
        match receive(communicator)? {
            Message::Open(devices, parts) => {
                // Where it fails on one rank, rank 0 says why.
                if let Ok(backend) = open_together(communicator, devices, *parts) {
                    serve_device(communicator, backend)?;
                }
            }
            Message::SelfTest => test_messages(communicator)?,
            // Rank 0 says where one of them is wrong.
            Message::FindGpus(gpus) => drop(gpus::shares(communicator, gpus, Drivers::FirstOfHost)),
            Message::End => return Ok(()),
            Message::Call(_) => return Err(out_of_step(communicator.rank())),
        }
    }
}

/// Makes the calls of rank 0 until it closes the device. An error is kept until rank 0 has said that it has it, too:
/// all have the same atoms and fail in the same way.
fn serve_device(communicator: &Communicator, mut backend: Option<Box<dyn Backend>>) -> Result<()> {
    let mut failed = None;
    loop {
        match (receive(communicator)?, failed.take()) {
            (Message::Call(Call::Failed), _) => {}
            (Message::Call(Call::Close), _) => return Ok(()),
            (Message::Call(call), None) => {
                failed = backend.as_mut().and_then(|backend| call.make(&mut **backend).err());
            }
            (Message::Call(_), Some(error)) => return Err(error),
            (Message::Open(..) | Message::FindGpus(_) | Message::SelfTest | Message::End, _) => {
                return Err(out_of_step(communicator.rank()));
            }
        }
    }
}

/// Returns true where this process is rank 0 of a launch.
pub fn is_launched() -> bool {
    PROCESSES.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}

/// A test of messages between the processes of this launch; the ranks it was between. `None` where this process is
/// alone.
///
/// # Errors
/// If a message went wrong: says where it came from.
pub fn self_test() -> Option<Result<String>> {
    let communicator = PROCESSES.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
    let tested = send(&communicator, &Message::SelfTest).and_then(|()| test_messages(&communicator));
    let ranks = || format!("{} ranks of {}", communicator.size(), communicator.describe());
    Some(tested.map(|()| ranks()))
}

/// The test of a rank; its error is that of the first rank that has one.
fn test_messages(communicator: &Communicator) -> Result<()> {
    communicator.agree(jostle_transport::self_test::run(communicator))
}

fn send(communicator: &Communicator, message: &Message) -> Result<()> {
    let mut bytes = postcard::to_stdvec(message)
        .map_err(|e| Error::simulation(format!("a message to other ranks cannot be written: {e}")))?;
    communicator.broadcast(&mut bytes)
}

fn receive(communicator: &Communicator) -> Result<Message> {
    let mut bytes = Vec::new();
    communicator.broadcast(&mut bytes)?;
    postcard::from_bytes(&bytes).map_err(|_| out_of_step(communicator.rank()))
}

fn out_of_step(rank: usize) -> Error {
    Error::simulation(format!("rank {rank} got a message that it did not expect"))
        .hint("this is a bug in Jostle, or the ranks do not run the same program")
}
