//! Clients of a run: their forces, pauses and intervals, between the threads of the clients and that of the run.

use crate::encoder::Encoder;
use crate::facts::{RunFacts, instead, round_up};
use crate::outbox::{Fate, Outbox};
use crate::page_table::PageTable;
use crate::permission::Permission;
use crate::protocol::{FrameData, Pull, Request, Version, encode_frame};
use crate::scale::Scale;
use jostle_core::Vec3;
use jostle_core::arithmetic::greatest_common_divisor;
use jostle_engine::RunHandle;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Messages about clients in the log of a run.
const MOST_NOTES: u64 = 1000;

/// Identifier of a client.
pub(crate) type ClientId = u64;

/// A client that has said "go".
struct Client {
    name: String,
    version: Version,
    outbox: Arc<Outbox>,
    /// Interval of its frames.
    every: u64,
    pauses: bool,
    /// Its forces, in units of the run.
    pulls: Vec<(u32, Vec3)>,
    /// Step of its last frame.
    sent: Option<u64>,
    left_out: u64,
    /// Refusals it has been told of in the log, so that a log does not fill with them.
    refused: bool,
}

/// Clients to whom a frame is due, each with its version of the protocol.
#[derive(Default)]
pub(crate) struct DueClients(Vec<(ClientId, Version)>);

impl DueClients {
    /// Returns true where there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true where some use this version.
    pub fn has(&self, version: Version) -> bool {
        self.0.iter().any(|(_, theirs)| *theirs == version)
    }
}

/// Clients of a run.
pub(crate) struct Hub {
    pub facts: RunFacts,
    pub pages: PageTable,
    pub encoder: Encoder,
    handle: RunHandle,
    clients: Mutex<BTreeMap<ClientId, Client>>,
    arrived: Condvar,
    next: AtomicU64,
    notes: AtomicU64,
    /// Greatest common divisor of all intervals; 0 without clients.
    interval: AtomicU64,
    /// Number that changes with the forces.
    pulls_changed: AtomicU64,
    /// Set while a client pauses the run.
    paused: AtomicBool,
    closing: AtomicBool,
}

impl Hub {
    pub fn new(facts: RunFacts, handle: RunHandle) -> Self {
        Hub {
            facts,
            pages: PageTable::default(),
            encoder: Encoder::default(),
            handle,
            clients: Mutex::default(),
            arrived: Condvar::new(),
            next: AtomicU64::new(0),
            notes: AtomicU64::new(0),
            interval: AtomicU64::new(0),
            pulls_changed: AtomicU64::new(0),
            paused: AtomicBool::new(false),
            closing: AtomicBool::new(false),
        }
    }

    fn clients(&self) -> MutexGuard<'_, BTreeMap<ClientId, Client>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Number of clients, pages included.
    pub fn n_clients(&self) -> usize {
        self.clients().len() + self.pages.count()
    }

    /// Interval at which clients of the protocol need a frame, in steps; 0 without clients.
    pub fn client_interval(&self) -> u64 {
        self.interval.load(Ordering::Relaxed)
    }

    /// Interval at which any client or page needs a frame, in steps; 0 without them.
    pub fn interval(&self) -> u64 {
        match (self.client_interval(), self.pages.interval()) {
            // Pages take the frames that there are.
            (clients, pages) if clients > 0 && pages >= clients => clients,
            (clients, pages) => greatest_common_divisor(clients, pages),
        }
    }

    /// Number that changes with the forces.
    pub fn pulls_changed(&self) -> u64 {
        self.pulls_changed.load(Ordering::Acquire) + self.pages.springs_changed()
    }

    /// Sum of the forces of all clients on each atom that is pulled.
    pub fn pulls(&self) -> BTreeMap<u32, Vec3> {
        let mut sums: BTreeMap<u32, Vec3> = BTreeMap::new();
        for (atom, force) in self.clients().values().flat_map(|client| &client.pulls) {
            *sums.entry(*atom).or_default() += *force;
        }
        sums
    }

    /// Returns true once the server ends.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed)
    }

    /// Leaves a message in the log of the run, whose size clients cannot make arbitrary.
    pub fn note(&self, message: String) {
        match self.notes.fetch_add(1, Ordering::Relaxed) {
            n if n < MOST_NOTES => self.handle.note(message),
            MOST_NOTES => {
                self.handle.note("there are too many messages about IMD clients: no more follow".into())
            }
            _ => {}
        }
    }

    /// Adds a client that has said "go".
    pub fn join(&self, name: String, version: Version, outbox: Arc<Outbox>) -> ClientId {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        self.note(format!("{name} is connected, {version} of the protocol"));
        let mut clients = self.clients();
        clients.insert(
            id,
            Client {
                name,
                version,
                outbox,
                every: self.facts.every,
                pauses: false,
                pulls: Vec::new(),
                sent: None,
                left_out: 0,
                refused: false,
            },
        );
        self.settle(&clients);
        self.arrived.notify_all();
        id
    }

    /// Removes a client, its forces and its pause.
    pub fn leave(&self, id: ClientId, why: &str) {
        let mut clients = self.clients();
        let Some(client) = clients.remove(&id) else { return };
        client.outbox.close();
        if !client.pulls.is_empty() {
            self.pulls_changed.fetch_add(1, Ordering::Release);
        }
        self.settle(&clients);
        drop(clients);
        let left_out = match client.left_out {
            0 => String::new(),
            n => format!("; it was too slow for {n} frames"),
        };
        self.note(format!("{} {why}{left_out}", client.name));
    }

    /// Applies intervals and pauses of all clients.
    fn settle(&self, clients: &BTreeMap<ClientId, Client>) {
        let interval = clients.values().map(|client| client.every).fold(0, greatest_common_divisor);
        self.interval.store(interval, Ordering::Relaxed);
        let pauses = clients.values().any(|client| client.pauses);
        match (self.paused.swap(pauses, Ordering::Relaxed), pauses) {
            (false, true) => self.handle.hold(),
            (true, false) => self.handle.release(),
            // A run that others let go on is not held again by each request.
            (true, true) | (false, false) => {}
        }
    }

    /// Carries out a request, other than to disconnect.
    pub fn carry_out(&self, id: ClientId, request: Request) {
        let mut clients = self.clients();
        let Some(client) = clients.get_mut(&id) else { return };
        let watches = self.facts.permission == Permission::Watch;
        let refusal = match request {
            Request::Pull(_) | Request::Pause | Request::Resume | Request::Kill if watches => {
                Some("it may only watch".to_string())
            }
            Request::Pull(pulls) => match self.accept(client.version, &pulls) {
                Ok(accepted) => {
                    if client.pulls.is_empty() {
                        self.pages.expect_slow_steps(self.facts.period);
                    }
                    client.pulls = accepted;
                    self.pulls_changed.fetch_add(1, Ordering::Release);
                    None
                }
                Err(why) => Some(why),
            },
            Request::Pause => {
                client.pauses = client.version == Version::Three || !client.pauses;
                None
            }
            Request::Resume => {
                client.pauses = false;
                None
            }
            Request::Rate(every) => {
                let rounded = every.map_or(self.facts.every, |every| round_up(every, self.facts.period));
                client.every = rounded;
                if let Some(every) = every.filter(|every| *every != rounded) {
                    self.note(format!("{} gets frames {}", client.name, instead(every, rounded)));
                }
                None
            }
            Request::Kill => {
                self.note(format!("{} ends the run", client.name));
                self.handle.stop();
                None
            }
            // Waiting for clients is decided by those who began the run.
            Request::Wait | Request::Go | Request::Disconnect => None,
        };
        if let Some(why) = refusal.filter(|_| !std::mem::replace(&mut client.refused, true)) {
            self.note(format!("requests of {} are ignored: {why}", client.name));
        }
        self.settle(&clients);
    }

    /// Forces in units of the run, without those that are zero, or the reason why they are refused.
    fn accept(&self, version: Version, pulls: &[Pull]) -> Result<Vec<(u32, Vec3)>, String> {
        let unit = Scale::new(self.facts.units, version).force();
        let mut accepted = Vec::new();
        for Pull { atom, force } in pulls {
            let force = force.map(|f| f / unit);
            let size = force.iter().map(|f| f * f).sum::<f64>().sqrt();
            if size > self.facts.greatest_force {
                return Err(format!(
                    "the force on atom {atom} would move it by a tenth of its distance in a step"
                ));
            }
            // A force of zero lets go of any atom.
            if let Some(why) = self.facts.refusal(*atom).filter(|_| size > 0.0) {
                return Err(why);
            }
            if size > 0.0 {
                accepted.push((*atom, force));
            }
        }
        Ok(accepted)
    }

    /// Clients to whom a frame of this step is due; it is as good as sent.
    pub fn take_due(&self, step: u64) -> DueClients {
        let mut due = DueClients::default();
        for (id, client) in self.clients().iter_mut() {
            if client.sent.is_none_or(|sent| step >= sent.saturating_add(client.every)) {
                client.sent = Some(step);
                due.0.push((*id, client.version));
            }
        }
        due
    }

    /// Gives a frame to clients, if they are still there; it is made once for each version of the protocol.
    pub fn publish(&self, due: &DueClients, mut frame: impl FnMut(Version) -> FrameData) {
        let frames = [Version::Two, Version::Three]
            .map(|version| due.has(version).then(|| Arc::new(encode_frame(version, &frame(version)))));
        let mut clients = self.clients();
        for (id, version) in &due.0 {
            let bytes = &frames[usize::from(*version == Version::Three)];
            let (Some(client), Some(bytes)) = (clients.get_mut(id), bytes) else { continue };
            if client.outbox.push(bytes) == Fate::LeftOut {
                client.left_out += 1;
                if client.left_out == 1 {
                    self.note(format!("{} is too slow: frames are left out for it", client.name));
                }
            }
        }
    }

    /// Waits for a client to say "go", looking at `stop` ten times a second.
    pub fn wait_for_client(&self, stop: &dyn Fn() -> bool) {
        let mut clients = self.clients();
        while clients.is_empty() && self.pages.count() == 0 && !stop() {
            let waited = self.arrived.wait_timeout(clients, Duration::from_millis(100));
            clients = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Ends the server: frames in queues are still made and written.
    pub fn close(&self) {
        self.encoder.finish();
        self.closing.store(true, Ordering::Relaxed);
        self.clients().values().for_each(|client| client.outbox.close());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outbox::Next;
    use crate::page_table::LiveFrame;
    use jostle_core::{SimBox, UnitSystem, Vector};

    fn hub(period: u64) -> Hub {
        let facts = RunFacts {
            n_atoms: 4,
            units: UnitSystem::Lj,
            every: 10,
            period,
            timestep: 0.01,
            masses: vec![1.0; 4],
            greatest_acceleration: 100.0,
            greatest_force: 100.0,
            sites: vec![3],
            driven: vec![2],
            permission: Permission::Full,
        };
        Hub::new(facts, RunHandle::default())
    }

    fn join(hub: &Hub, version: Version) -> (ClientId, Arc<Outbox>) {
        let outbox = Arc::new(Outbox::default());
        (hub.join("a client".into(), version, outbox.clone()), outbox)
    }

    /// Steps at which a client gets frames of steps 0 to 60.
    fn steps(hub: &Hub, outboxes: &[&Outbox]) -> Vec<Vec<u64>> {
        let mut found = vec![Vec::new(); outboxes.len()];
        for step in (0..=60).filter(|step| step % hub.interval() == 0) {
            let due = hub.take_due(step);
            hub.publish(&due, |_| FrameData { step, ..FrameData::default() });
            for (outbox, found) in outboxes.iter().zip(&mut found) {
                while let Next::Write(_) = outbox.next(Duration::ZERO) {
                    found.push(step);
                }
            }
        }
        found
    }

    #[test]
    fn each_client_has_its_own_interval() {
        let hub = hub(2);
        let (first, second) = (join(&hub, Version::Two), join(&hub, Version::Three));
        hub.carry_out(first.0, Request::Rate(Some(15)));
        assert_eq!(hub.interval(), 2, "16 and 10, which are multiples of the period");
        assert_eq!(
            steps(&hub, &[&first.1, &second.1]),
            [vec![0, 16, 32, 48], vec![0, 10, 20, 30, 40, 50, 60]]
        );
        hub.carry_out(first.0, Request::Rate(None));
        assert_eq!(hub.interval(), 10);
        hub.leave(first.0, "has left");
        hub.leave(second.0, "has left");
        assert_eq!(hub.interval(), 0);
    }

    #[test]
    fn forces_add_up_and_end_with_their_client() {
        let hub = hub(1);
        let (first, second) = (join(&hub, Version::Two).0, join(&hub, Version::Three).0);
        let pull = |atom, x| Request::Pull(vec![Pull { atom, force: Vector([x, 0.0, 0.0]) }]);
        let before = hub.pulls_changed();
        hub.carry_out(first, pull(1, 2.0));
        hub.carry_out(second, pull(1, 3.0));
        assert_eq!(hub.pulls(), BTreeMap::from([(1, Vector([5.0, 0.0, 0.0]))]));
        assert_ne!(hub.pulls_changed(), before);
        // A refused request leaves the forces as they were.
        hub.carry_out(second, pull(0, 1e6));
        hub.carry_out(second, pull(3, 1.0));
        hub.carry_out(second, pull(2, 1.0));
        hub.leave(first, "is gone");
        assert_eq!(hub.pulls(), BTreeMap::from([(1, Vector([3.0, 0.0, 0.0]))]));
        hub.carry_out(second, Request::Pull(Vec::new()));
        assert!(hub.pulls().is_empty());
    }

    #[test]
    fn a_run_is_held_while_a_client_pauses_it() {
        let hub = hub(1);
        let (first, second) = (join(&hub, Version::Two).0, join(&hub, Version::Three).0);
        let held = |id, request| {
            hub.carry_out(id, request);
            hub.paused.load(Ordering::Relaxed)
        };
        assert!(held(first, Request::Pause));
        assert!(held(second, Request::Pause) && held(second, Request::Pause), "the same again in version 3");
        assert!(held(first, Request::Pause), "the end of a pause in version 2, but the other pauses");
        assert!(!held(second, Request::Resume));
        assert!(held(first, Request::Pause));
        hub.leave(first, "is gone");
        assert!(!hub.paused.load(Ordering::Relaxed), "a client that is gone pauses nothing");
    }

    /// Frames that were thousands of steps apart would not come any more where steps become single ones.
    #[test]
    fn pages_have_frames_at_once_when_a_client_begins_to_pull() {
        let hub = hub(2);
        let page = || hub.pages.frame(1, None, Duration::ZERO, hub.facts.period).unwrap();
        let publish = |step| {
            let frame = LiveFrame {
                step,
                time: 0.0,
                simbox: SimBox::orthorhombic([9.0; 3]).unwrap(),
                positions: Vec::new(),
                velocities: Vec::new(),
            };
            hub.pages.publish(frame, hub.facts.period);
        };
        page();
        (0..9).for_each(publish);
        assert_eq!(hub.interval(), 2 << 8, "frames came faster than they are shown");
        let (client, _) = join(&hub, Version::Three);
        let pull = || Request::Pull(vec![Pull { atom: 1, force: Vector([2.0, 0.0, 0.0]) }]);
        hub.carry_out(client, pull());
        assert_eq!(hub.pages.interval(), 2);
        (9..12).for_each(publish);
        hub.carry_out(client, pull());
        assert_eq!(hub.pages.interval(), 16, "another force of the same pull changes nothing");
    }
}
