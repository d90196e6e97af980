//! Clients of versions 2 and 3 beside a run: they watch, pull, pause and end it, and those that misbehave disturb
//! neither the run nor each other.

use jostle_core::topology::Constraint;
use jostle_core::{
    Backend, Components, Precision, Result, Settings, Species, System, UnitSystem, Vec3, Vector,
};
use jostle_cuda::driver::Device;
use jostle_engine::model::{
    DensityInput, DeviceInput, Distribution, Lattice, LatticeExtent, StageInput, ThermostatInput,
};
use jostle_engine::{
    Mixture, Outcome, Progress, RunHandle, Simulation, SimulationBuilder, Thermo, assign_velocities,
};
use jostle_fixtures::imd_client::{ImdClient, ImdFrame, packet};
use jostle_imd::{ForceLimit, Hold, Pages, Permission, Server, ServerOptions, Session, Version};
use jostle_potentials::{Forces, PairKind, PairTerm, Truncation};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroU64;
use std::thread::{JoinHandle, spawn};
use std::time::{Duration, Instant};

const TIMESTEP: f64 = 0.004;

/// Argon in reduced units with the energies of a smooth potential.
fn argon(atoms: usize) -> SimulationBuilder {
    builder(crystal(atoms))
}

fn crystal(atoms: usize) -> System {
    let argon = Species { name: "Ar".into(), mass: 1.0, charge: 0.0 };
    let (extent, density) = (LatticeExtent::Atoms(atoms), DensityInput::Number(0.8));
    let mixture = Mixture::new(UnitSystem::Lj).with(argon, None);
    let mut system = mixture.lattice(Lattice::Fcc, extent, density, 5).unwrap();
    assign_velocities(&mut system, 1.0, Distribution::Maxwell, 5);
    system
}

fn builder(system: System) -> SimulationBuilder {
    let smooth = Truncation::ForceShifted;
    let settings = Settings { threads: Some(1), reproducible: true, ..Settings::default() };
    Simulation::builder(UnitSystem::Lj, system)
        .force(PairTerm::uniform(PairKind::LennardJones, smooth, &[1.0, 1.0], 2.5))
        .device(DeviceInput::Cpu)
        .settings(settings)
}

fn emulated(system: System, forces: Forces, settings: Settings) -> Result<Box<dyn Backend>> {
    jostle_cuda::open(Device::emulated()?, system, forces, settings)
}

/// Listener that collects rows and messages.
#[derive(Default)]
struct Log {
    rows: Vec<Thermo>,
    notes: Vec<String>,
}

impl Progress for Log {
    fn measured(&mut self, thermo: &Thermo) {
        self.rows.push(thermo.clone());
    }

    fn note(&mut self, message: &str) {
        self.notes.push(message.to_string());
    }
}

/// Server options for one version, with frames every so many steps.
fn options(version: Version, every: u64) -> ServerOptions {
    let every = NonZeroU64::new(every).unwrap();
    ServerOptions { ports: vec![(version, 0)], every, ..ServerOptions::default() }
}

/// Runs a simulation from the moment at which so many clients are there.
fn run(mut simulation: Simulation, server: Server, clients: usize) -> (Simulation, Outcome, Log) {
    let session = server.attach(&mut simulation).unwrap();
    while session.n_clients() < clients {
        std::thread::sleep(Duration::from_millis(1));
    }
    go(simulation, session)
}

fn go(mut simulation: Simulation, session: Session) -> (Simulation, Outcome, Log) {
    let mut log = Log::default();
    let outcome = simulation.run_with(&mut log, &|| false).unwrap();
    session.close();
    (simulation, outcome, log)
}

/// A client in a thread of its own.
fn client<T: Send + 'static>(
    address: SocketAddr,
    act: impl FnOnce(&mut ImdClient) -> T + Send + 'static,
) -> JoinHandle<T> {
    spawn(move || act(&mut ImdClient::connect(address).unwrap()))
}

/// All frames until the server closes the connection.
fn all_frames(client: &mut ImdClient) -> Vec<ImdFrame> {
    std::iter::from_fn(|| client.frame().ok()).collect()
}

/// Opens a server for each version.
fn open(options: ServerOptions) -> (Server, Vec<SocketAddr>) {
    let server = Server::open(options).unwrap();
    let addresses = server.addresses().into_iter().map(|(_, address)| address).collect();
    (server, addresses)
}

#[test]
fn frames_are_the_atoms_of_the_run() {
    let simulation =
        argon(108).stage(StageInput::dynamics("sample", 60, TIMESTEP).thermo(20)).build().unwrap();
    let (server, addresses) = open(ServerOptions {
        ports: vec![(Version::Two, 0), (Version::Three, 0)],
        ..options(Version::Three, 20)
    });
    let second = client(addresses[0], all_frames);
    let third = client(addresses[1], |client| (client.flags.clone(), all_frames(client)));
    let (mut simulation, outcome, log) = run(simulation, server, 2);
    assert_eq!(outcome, Outcome::Finished);
    let (flags, frames) = third.join().unwrap();
    let seconds = second.join().unwrap();
    assert_eq!(seconds.last().unwrap().positions, frames.last().unwrap().positions);
    assert_eq!(flags, [1; 7]);
    let last = frames.last().unwrap();
    assert_eq!(last.step, 60);
    assert_eq!(last.times[0], TIMESTEP);
    assert!((last.times[1] - 60.0 * TIMESTEP).abs() < 1e-12);
    let floats = |vectors: Vec<Vec3>| -> Vec<f32> { vectors.iter().flatten().map(|x| *x as f32).collect() };
    assert_eq!(last.positions, floats(simulation.positions().unwrap()));
    assert_eq!(last.velocities, floats(simulation.velocities().unwrap()));
    assert_eq!(last.forces, floats(simulation.forces().unwrap()));
    let edges: Vec<f32> = simulation.simbox().edges().as_flattened().iter().map(|x| *x as f32).collect();
    assert_eq!(last.edges, edges);
    let row = log.rows.last().unwrap();
    let expected = [row.temperature, row.total, row.potential, row.potential].map(|x| x as f32);
    assert_eq!(last.energies[..4], expected, "one pair force has all the potential energy");
}

#[test]
fn version_2_has_whole_molecules_and_version_3_atoms_in_the_box() {
    let mut system = crystal(108);
    let edge = system.simbox.lengths()[0];
    let nearest = (2f64.sqrt() / 0.8).cbrt();
    // Each pair of neighbours is joined; the middle of some is at the edge of the box.
    for first in (0..108).step_by(2) {
        system.topology.constraints.push(Constraint { atoms: [first, first + 1], length: nearest });
    }
    system
        .state
        .position
        .iter_mut()
        .for_each(|r| *r = r.map(|x| (x - 0.5 * nearest / 2f64.sqrt()).rem_euclid(edge)));
    let simulation = builder(system).stage(StageInput::dynamics("sample", 10, 1e-4)).build().unwrap();
    let (server, addresses) = open(ServerOptions {
        ports: vec![(Version::Two, 0), (Version::Three, 0)],
        ..options(Version::Two, 10)
    });
    let [second, third] = [addresses[0], addresses[1]].map(|address| client(address, all_frames));
    let _ = run(simulation, server, 2);
    let distances = |frames: Vec<ImdFrame>| -> Vec<f64> {
        let atoms = frames.last().unwrap().positions.as_chunks::<3>().0.to_vec();
        let distance =
            |[a, b]: &[[f32; 3]; 2]| (0..3).map(|k| f64::from(a[k] - b[k]).powi(2)).sum::<f64>().sqrt();
        atoms.as_chunks::<2>().0.iter().map(distance).collect()
    };
    let (whole, wrapped) = (distances(second.join().unwrap()), distances(third.join().unwrap()));
    assert!(whole.iter().all(|d| (d - nearest).abs() < 1e-4), "{whole:?}");
    assert!(wrapped.iter().any(|d| *d > 0.5 * edge), "some are cut by the edge: {wrapped:?}");
}

/// A client that pulls an atom through a liquid as a person with VMD does: it pauses, gives a force, goes on, lets
/// go, and ends the run. The work is the energy that the system gains.
fn pull_an_atom(builder: SimulationBuilder, tolerance: f64) {
    let simulation =
        builder.stage(StageInput::dynamics("pull", 1_000_000, TIMESTEP).thermo(5)).build().unwrap();
    let (server, addresses) = open(options(Version::Two, 5));
    let person = client(addresses[0], |client| {
        assert_eq!(client.version, 2);
        let first = client.frame().unwrap();
        client.send(packet::PAUSE, 0).unwrap();
        client.pull(&[(7, [25.0, 0.0, 0.0])]).unwrap();
        client.send(packet::PAUSE, 0).unwrap();
        // Frames on their way are older than the pull: the energy tells when it has acted, and when it has ended.
        let total = |client: &mut ImdClient| client.frame().unwrap().energies[1];
        while total(client) < first.energies[1] + 8.0 {}
        client.pull(&[]).unwrap();
        let scatter = |totals: &[f32]| {
            totals.iter().copied().fold(f32::MIN, f32::max) - totals.iter().copied().fold(f32::MAX, f32::min)
        };
        let mut totals: Vec<f32> = (0..20).map(|_| total(client)).collect();
        while scatter(&totals) > 0.5 + 0.02 * (totals[0] - first.energies[1]).abs() {
            totals.remove(0);
            totals.push(total(client));
        }
        client.send(packet::KILL, 0).unwrap();
        (first, all_frames(client))
    });
    let (_, outcome, log) = run(simulation, server, 1);
    assert_eq!(outcome, Outcome::Interrupted, "the client ended it");
    person.join().unwrap();
    let work = |row: &Thermo| row.custom[0].unwrap();
    let (first, last) = (&log.rows[0], log.rows.last().unwrap());
    assert_eq!(work(first), 0.0);
    let (done, gained) = (work(last), last.total - first.total);
    assert!(done > 5.0, "the atom was pulled: {done}");
    assert!((gained - done).abs() < tolerance * done, "work {done}, energy gained {gained}");
    let conserved = last.conserved.unwrap() - first.conserved.unwrap();
    assert!((conserved - (gained - done)).abs() < 1e-9 * last.total.abs(), "{conserved}");
    let [.., before, end] = log.rows.as_slice() else { panic!("rows") };
    assert_eq!(work(before), work(end), "no work after the atom was let go");
    assert!(log.notes.iter().any(|note| note.contains("ends the run")), "{:?}", log.notes);
}

#[test]
fn the_work_of_a_pull_is_the_energy_gained() {
    pull_an_atom(argon(256), 0.02);
}

/// A frozen atom cannot be pulled: the request is refused with the reason, no work is booked, and nothing moves the
/// atom. Others may be pulled as before.
#[test]
fn frozen_and_driven_atoms_are_not_pulled() {
    let mut system = crystal(108);
    system.driven = system.driven.with(&system.state, &[7], Vec3::ZERO).with(
        &system.state,
        &[9],
        Vector([0.1, 0.0, 0.0]),
    );
    (*system.state.velocity[7], *system.state.velocity[9]) = ([0.0; 3], [0.1, 0.0, 0.0]);
    let place = system.state.position[7];
    let stage = StageInput::dynamics("pull", 1_000_000, TIMESTEP).thermo(5);
    let simulation = builder(system).stage(stage).build().unwrap();
    assert_eq!(simulation.driven(), [7, 9]);
    let (server, addresses) = open(ServerOptions {
        ports: vec![(Version::Two, 0), (Version::Three, 0)],
        ..options(Version::Two, 5)
    });
    let pulls = |atom| {
        move |client: &mut ImdClient| {
            client.pull(&[(atom, [25.0, 0.0, 0.0])]).unwrap();
            (0..20).for_each(|_| drop(client.frame().unwrap()));
            client.send(packet::KILL, 0).unwrap();
            all_frames(client);
        }
    };
    let clients = [client(addresses[0], pulls(7)), client(addresses[1], pulls(9))];
    let (mut simulation, _, log) = run(simulation, server, 2);
    clients.into_iter().for_each(|client| client.join().unwrap());
    assert_eq!(log.rows.last().unwrap().custom[0], Some(0.0), "no work");
    assert_eq!(simulation.unwrapped_positions().unwrap()[7], place);
    for atom in [7, 9] {
        let refusal = format!("are ignored: atom {atom} is frozen or driven");
        assert!(log.notes.iter().any(|note| note.contains(&refusal)), "{:?}", log.notes);
    }
}

/// Ends a run when it is dropped: a client that panics does not leave it to its million steps.
struct EndsRun(RunHandle);

impl Drop for EndsRun {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Drags an atom along with two others as a page does, lets go, and ends the run. The spring's work, that of its column
/// and the energy that the system gains are one number; the force is stiffness times length.
fn drag_atoms(builder: SimulationBuilder) {
    let mut simulation =
        builder.stage(StageInput::dynamics("pull", 1_000_000, TIMESTEP).thermo(5)).build().unwrap();
    let (server, _) = open(ServerOptions { ports: Vec::new(), ..options(Version::Three, 5) });
    let session = server.attach(&mut simulation).unwrap();
    let (pages, end) = (session.pages(), EndsRun(simulation.handle()));
    let person = spawn(move || {
        let mut step = None;
        // A page that asks for nothing for long is gone, however slow the run is.
        let mut frame = |pages: &Pages| loop {
            if let Some(found) = pages.frame(1, step, Duration::from_millis(200)).unwrap() {
                step = Some(found.0.step);
                return found;
            }
        };
        let start = frame(&pages).0.positions[7];
        let [moderate, most] = pages.stiffness().unwrap();
        assert!(moderate < most);
        let hold = |shift: f64| Hold { stiffness: 20.0, end: Vector([start[0] + shift, start[1], start[2]]) };
        pages.grip(1, 7, &[9, 7, 8], hold(0.0)).unwrap();
        for shift in [0.5, 1.0, 1.5, 2.0, 1.0, 0.5, 1.5] {
            pages.drag(1, hold(shift)).unwrap();
            // A second drag of the same page in the same step counts alone.
            pages.drag(1, hold(shift)).unwrap();
            let step = frame(&pages).0.step;
            while frame(&pages).0.step < step + 40 {}
        }
        let (_, report) = frame(&pages);
        let [spring] = &report.springs[..] else { panic!("one spring") };
        assert_eq!((spring.atom, spring.n_atoms, spring.limit), (7, 3, ForceLimit::Below));
        assert!(spring.force.iter().any(|f| *f != 0.0));
        pages.release(1);
        let step = frame(&pages).0.step;
        while frame(&pages).0.step < step + 40 {}
        let (_, report) = frame(&pages);
        assert_eq!(report.springs[0].force, [0.0; 3]);
        drop(end);
        report
    });
    let (_, outcome, log) = go(simulation, session);
    assert_eq!(outcome, Outcome::Interrupted);
    let report = person.join().unwrap();
    let (first, last) = (&log.rows[0], log.rows.last().unwrap());
    let booked = last.custom[0].unwrap();
    assert!(booked.abs() > 1.0, "the spring has done work: {booked}");
    assert_eq!(report.work, booked);
    assert!(
        (report.springs[0].work - booked).abs() < 1e-9 * booked.abs(),
        "the page's own spring is the only one"
    );
    let gained = last.total - first.total;
    assert!((gained - booked).abs() < 0.03 * booked.abs() + 0.1, "work {booked}, energy gained {gained}");
}

#[test]
fn a_page_drags_atoms_by_a_spring() {
    drag_atoms(argon(256));
}

#[test]
fn a_page_drags_atoms_on_a_gpu_as_well() {
    let settings = Settings { precision: Precision::Double, ..Settings::default() };
    drag_atoms(argon(256).settings(settings).open_with(emulated));
}

/// Requests of pages that make no sense are refused with the reason, and a page that asks for nothing any more loses
/// its spring.
#[test]
fn pages_are_bounded_and_let_go() {
    let mut simulation =
        argon(108).stage(StageInput::dynamics("run", 10_000_000, TIMESTEP).thermo(50)).build().unwrap();
    let (server, _) = open(ServerOptions { ports: Vec::new(), ..options(Version::Three, 5) });
    let session = server.attach(&mut simulation).unwrap();
    let (pages, end) = (session.pages(), EndsRun(simulation.handle()));
    let person = spawn(move || {
        let hold = |stiffness, x| Hold { stiffness, end: Vector([x, 0.0, 0.0]) };
        let early = pages.grip(1, 7, &[7], hold(10.0, 1.0)).unwrap_err();
        assert!(early.to_string().contains("no frame") || pages.drag(1, hold(10.0, 1.0)).is_ok(), "{early}");
        while pages.frame(1, None, Duration::from_secs(5)).unwrap().is_none() {}
        let refused = |atom, atoms: &[u32], to, said: &str| {
            let error = pages.grip(1, atom, atoms, to).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        };
        refused(108, &[108], hold(1.0, 1.0), "no atom 108");
        refused(7, &[7, u32::MAX], hold(1.0, 1.0), "no atom 4294967295");
        refused(7, &[8], hold(1.0, 1.0), "not one of");
        for stiffness in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
            refused(7, &[7], hold(stiffness, 1.0), "stiffness");
        }
        for x in [f64::NAN, f64::INFINITY, 1e9] {
            refused(7, &[7], hold(1.0, x), "not near the box");
        }
        assert!(pages.drag(2, hold(1.0, 1.0)).unwrap_err().to_string().contains("let go"));
        pages.grip(1, 7, &[7; 100], hold(10.0, 1.0)).unwrap();
        assert!(pages.drag(1, hold(f64::NAN, 1.0)).is_err());
        pages.drag(1, hold(10.0, 2.0)).unwrap();
        for page in 3..17 {
            pages.frame(page, None, Duration::ZERO).unwrap();
        }
        assert!(pages.frame(17, None, Duration::ZERO).unwrap_err().to_string().contains("close one"));
        // Page 3 goes on asking; page 1 does not.
        let pulls = |pages: &Pages| match pages.frame(3, None, Duration::from_secs(1)).unwrap() {
            Some((_, report)) => report.springs.iter().any(|spring| spring.page == 1),
            None => false,
        };
        while !pulls(&pages) {
            pages.drag(1, hold(10.0, 2.0)).unwrap();
        }
        let begun = Instant::now();
        while pulls(&pages) {
            assert!(begun.elapsed() < Duration::from_secs(30), "the page is still there");
        }
        assert!(pages.drag(1, hold(10.0, 2.0)).unwrap_err().to_string().contains("let go"));
        drop(end);
    });
    let (_, outcome, _) = go(simulation, session);
    person.join().unwrap();
    assert_eq!(outcome, Outcome::Interrupted);
}

#[test]
fn pulls_act_on_a_gpu_as_well() {
    let settings = Settings { precision: Precision::Double, ..Settings::default() };
    pull_an_atom(argon(256).settings(settings).open_with(emulated), 0.02);
}

#[test]
fn a_run_with_clients_that_misbehave_is_that_without_clients() {
    let stage = || {
        let bussi = ThermostatInput::bussi(1.0, 0.1);
        StageInput::dynamics("sample", 400, TIMESTEP).thermostat(bussi).thermo(50)
    };
    let mut alone = argon(108).stage(stage()).build().unwrap();
    alone.run().unwrap();
    let (server, addresses) = open(options(Version::Three, 10));
    let address = addresses[0];
    let mut simulation = argon(108).stage(stage()).build().unwrap();
    let session = server.attach(&mut simulation).unwrap();
    let connect = || ImdClient::connect(address).unwrap();
    let silent = TcpStream::connect(address).unwrap();
    let never_reads = connect();
    // Each is disconnected for what it sends; the end of its stream says so.
    let ended = |act: &dyn Fn(&mut ImdClient) -> io::Result<()>| {
        let mut client = connect();
        act(&mut client).unwrap();
        assert!(client.frame().is_err());
    };
    ended(&|client| client.send_bytes(&[0xff; 8]));
    ended(&|client| client.send(packet::FORCES, i32::MAX));
    ended(&|client| client.send(packet::FORCES, -1));
    ended(&|client| client.pull(&[(108, [1.0; 3])]));
    ended(&|client| client.pull(&[(3, [f32::NAN, 0.0, 0.0])]));
    ended(&|client| {
        client.pull(&[(3, [1e30, 0.0, 0.0])])?;
        client.send(packet::DISCONNECT, 0)
    });
    // A client that dies while it pauses the run.
    connect().send(packet::PAUSE, 0).unwrap();
    let honest = client(address, move |client| {
        all_frames(client);
        drop((silent, never_reads));
    });
    while session.n_clients() < 2 {
        std::thread::sleep(Duration::from_millis(1));
    }
    let (mut simulation, outcome, log) = go(simulation, session);
    assert_eq!(outcome, Outcome::Finished);
    assert_eq!(simulation.positions().unwrap(), alone.positions().unwrap(), "bit for bit");
    honest.join().unwrap();
    for reason in [
        "it sent a packet of type -1, which there is not",
        "which the run does not have",
        "atom 108",
        "not finite",
        "are ignored",
    ] {
        assert!(log.notes.iter().any(|note| note.contains(reason)), "no '{reason}' in {:?}", log.notes);
    }
}

#[test]
fn twenty_clients_get_all_frames() {
    let simulation = argon(108).stage(StageInput::dynamics("sample", 300, TIMESTEP)).build().unwrap();
    let (server, addresses) = open(options(Version::Three, 10));
    let watchers: Vec<_> = (0..20).map(|_| client(addresses[0], all_frames)).collect();
    let (_, outcome, _) = run(simulation, server, 20);
    assert_eq!(outcome, Outcome::Finished);
    for watcher in watchers {
        let steps: Vec<i64> = watcher.join().unwrap().iter().map(|frame| frame.step).collect();
        assert_eq!(steps, (0..=30).map(|k| 10 * k).collect::<Vec<i64>>());
    }
}

#[test]
fn clients_that_may_only_watch_change_nothing() {
    let stage = || StageInput::dynamics("sample", 200, TIMESTEP).thermo(50);
    let mut alone = argon(108).stage(stage()).build().unwrap();
    alone.run().unwrap();
    let simulation = argon(108).stage(stage()).build().unwrap();
    let (server, addresses) =
        open(ServerOptions { permission: Permission::Watch, ..options(Version::Three, 10) });
    let watcher = client(addresses[0], |client| {
        client.pull(&[(7, [5.0, 0.0, 0.0])]).unwrap();
        client.send(packet::PAUSE, 0).unwrap();
        client.send(packet::KILL, 0).unwrap();
        all_frames(client)
    });
    let (mut simulation, outcome, _) = run(simulation, server, 1);
    assert_eq!(outcome, Outcome::Finished);
    assert_eq!(simulation.positions().unwrap(), alone.positions().unwrap());
    assert_eq!(watcher.join().unwrap().last().unwrap().step, 200);
}

#[test]
fn a_port_in_use_is_refused_with_its_number() {
    let (_server, addresses) = open(options(Version::Two, 1));
    let again =
        ServerOptions { ports: vec![(Version::Two, addresses[0].port())], ..ServerOptions::default() };
    let error = Server::open(again).err().unwrap();
    assert!(error.to_string().contains(&addresses[0].to_string()), "{error}");
}
