//! The server: listening, accepting, and the connection to a simulation.

use crate::client;
use crate::facts::{RunFacts, instead};
use crate::frame::FrameSender;
use crate::hub::Hub;
use crate::pages::Pages;
use crate::permission::Permission;
use crate::protocol::Version;
use crate::pull::PullForce;
use jostle_core::{Error, Result};
use jostle_engine::Simulation;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Connections at once.
const MOST_CONNECTIONS: usize = 32;
/// Time between two looks for a connection.
const ACCEPT_TICK: Duration = Duration::from_millis(20);
/// Longest time for frames to reach their clients once a run is over.
const CLOSING_TIME: Duration = Duration::from_secs(60);

/// Settings of a server.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerOptions {
    /// Address to listen on.
    pub address: IpAddr,
    /// Port for each version of the protocol; port 0 is any free one.
    pub ports: Vec<(Version, u16)>,
    /// Interval of frames in steps, where a client chooses none.
    pub every: NonZeroU64,
    /// Rights of clients.
    pub permission: Permission,
}

impl Default for ServerOptions {
    fn default() -> Self {
        ServerOptions {
            address: Ipv4Addr::LOCALHOST.into(),
            ports: Vec::new(),
            every: NonZeroU64::MIN,
            permission: Permission::default(),
        }
    }
}

/// A server that listens and has no run yet.
pub struct Server {
    listeners: Vec<(Version, TcpListener)>,
    options: ServerOptions,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// If an address cannot be listened on.
    pub fn open(options: ServerOptions) -> Result<Self> {
        let listen = |(version, port): &(Version, u16)| {
            let address = SocketAddr::new(options.address, *port);
            let listener = TcpListener::bind(address).and_then(|listener| {
                listener.set_nonblocking(true)?;
                Ok(listener)
            });
            let listener = listener.map_err(|e| {
                Error::device(format!("cannot listen on {address} for IMD: {e}"))
                    .hint("choose another port; 0 takes any that is free")
            })?;
            Ok((*version, listener))
        };
        let listeners = options.ports.iter().map(listen).collect::<Result<_>>()?;
        Ok(Server { listeners, options })
    }

    /// Addresses that are listened on.
    pub fn addresses(&self) -> Vec<(Version, SocketAddr)> {
        let address =
            |(version, listener): &(Version, TcpListener)| Some((*version, listener.local_addr().ok()?));
        self.listeners.iter().filter_map(address).collect()
    }

    /// Connects clients to a simulation, before its folder is named or after it was resumed.
    ///
    /// # Errors
    /// If the simulation cannot take another force, or the system has no thread left.
    pub fn attach(self, simulation: &mut Simulation) -> Result<Session> {
        let facts = RunFacts::new(simulation, self.options.every, self.options.permission)?;
        let (asked, every) = (self.options.every.get(), facts.every);
        let hub = Arc::new(Hub::new(facts, simulation.handle()));
        if asked != every {
            hub.note(format!("IMD clients get frames {}", instead(asked, every)));
        }
        simulation.add_custom_force(PullForce::new(
            hub.clone(),
            simulation.units(),
            simulation.has_begun(),
        ))?;
        let frames = FrameSender::new(hub.clone(), simulation)?;
        simulation.observe(frames);
        let connections = Arc::new(AtomicUsize::new(0));
        let mut session =
            Session { hub: hub.clone(), connections: connections.clone(), listeners: Vec::new() };
        for (version, listener) in self.listeners {
            let (hub, connections) = (hub.clone(), connections.clone());
            let accept = move || accept(&listener, version, &hub, &connections);
            let thread = std::thread::Builder::new().name("imd".into()).spawn(accept);
            session.listeners.push(thread.map_err(|e| Error::device(format!("IMD has no thread: {e}")))?);
        }
        Ok(session)
    }
}

/// Accepts clients until the server ends; each has a thread of its own.
fn accept(listener: &TcpListener, version: Version, hub: &Arc<Hub>, connections: &Arc<AtomicUsize>) {
    while !hub.is_closing() {
        // An error means that no client has come, or that the program has as many files open as it may.
        let Ok((stream, _)) = listener.accept() else {
            std::thread::sleep(ACCEPT_TICK);
            continue;
        };
        let place = connections.fetch_add(1, Ordering::Relaxed);
        let leave = Leave(connections.clone());
        if place >= MOST_CONNECTIONS || stream.set_nonblocking(false).is_err() {
            // A flood of connections costs no more than its tick.
            std::thread::sleep(ACCEPT_TICK);
            continue;
        }
        let hub = hub.clone();
        let serve = move || {
            let _leave = leave;
            client::serve(stream, version, &hub);
        };
        // Without a thread the client is dropped, and may try again.
        let _ = std::thread::Builder::new().name("imd client".into()).spawn(serve);
    }
}

/// Counts a connection off when it ends, however that comes.
struct Leave(Arc<AtomicUsize>);

impl Drop for Leave {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Clients of a simulation.
pub struct Session {
    hub: Arc<Hub>,
    connections: Arc<AtomicUsize>,
    listeners: Vec<JoinHandle<()>>,
}

impl Session {
    /// Pages of this run, for a server that shows it in a browser.
    pub fn pages(&self) -> Pages {
        Pages::new(self.hub.clone())
    }

    /// Number of clients that have said "go", and of pages.
    pub fn n_clients(&self) -> usize {
        self.hub.n_clients()
    }

    /// Waits for a first client; looks at `stop` ten times a second.
    pub fn wait_for_client(&self, stop: &dyn Fn() -> bool) {
        self.hub.wait_for_client(stop);
    }

    /// Ends all connections; clients that read get the frames that are in their queues, for a minute at most.
    pub fn close(self) {
        self.hub.close();
        // The ports are free then; a panic of a thread has been reported.
        self.listeners.into_iter().for_each(|thread| drop(thread.join()));
        let begun = Instant::now();
        while self.connections.load(Ordering::Relaxed) > 0 && begun.elapsed() < CLOSING_TIME {
            std::thread::sleep(ACCEPT_TICK);
        }
    }
}
