//! One client: a thread that reads its requests and a thread that writes its frames.

use crate::hub::Hub;
use crate::outbox::{Next, Outbox};
use crate::protocol::{Fault, Request, Version, decode, greeting};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Time in which a client must say "go".
const GO_TIME: Duration = Duration::from_secs(10);
/// Time between two looks for the end of the server.
const TICK: Duration = Duration::from_millis(500);
/// Time for which a client may read nothing: clients that pause a run while they analyze it need minutes.
const STALL_TIME: Duration = Duration::from_secs(600);
/// Time for which a client may read nothing once the run is over.
const FLUSH_TIME: Duration = Duration::from_secs(5);
/// Time for which a client may still read what is on its way when all is written.
const LINGER_TIME: Duration = Duration::from_secs(10);
/// Bytes read at once.
const CHUNK: usize = 16 * 1024;

/// Serves a client until it leaves, fails, or the server ends.
pub(crate) fn serve(mut stream: TcpStream, version: Version, hub: &Arc<Hub>) {
    let Ok(peer) = stream.peer_addr() else { return };
    let mut requests = Requests { bytes: Vec::new(), n_atoms: hub.facts.n_atoms };
    // A stranger that is no client is dropped without a word.
    let greeted = greet(&mut stream, version);
    let begun = Instant::now();
    let go = greeted.is_ok()
        && matches!(
            requests.next(&mut stream, &|| begun.elapsed() > GO_TIME || hub.is_closing()),
            Ok(Request::Go)
        );
    let Some(writer) = go.then(|| stream.try_clone().ok()).flatten() else { return };
    let outbox = Arc::new(Outbox::default());
    let id = hub.join(format!("IMD client {peer}"), version, outbox.clone());
    let over = Arc::new(OnceLock::new());
    let thread = {
        let (hub, over, outbox) = (hub.clone(), over.clone(), outbox.clone());
        std::thread::Builder::new().name("imd frames".into()).spawn(move || {
            write_frames(writer, &outbox, &hub);
            // A second value cannot come.
            let _ = over.set(Instant::now());
        })
    };
    let why = match &thread {
        Ok(_) => read_requests(&mut stream, &mut requests, hub, id, &over),
        Err(_) => "cannot be served: the system has no thread left".to_string(),
    };
    hub.leave(id, &why);
    // Frames of a client that has gone are lost; those of one that still reads are out.
    let _ = stream.shutdown(Shutdown::Both);
    let _ = thread.map(std::thread::JoinHandle::join);
}

fn greet(stream: &mut TcpStream, version: Version) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TICK))?;
    stream.set_write_timeout(Some(TICK))?;
    stream.write_all(&greeting(version))
}

/// Carries out requests until the client leaves; returns how that came.
fn read_requests(
    stream: &mut TcpStream,
    requests: &mut Requests,
    hub: &Hub,
    id: u64,
    over: &OnceLock<Instant>,
) -> String {
    // A client that reads its last frames may still send requests, and loses frames where they are refused.
    let give_up = || over.get().is_some_and(|over| !hub.is_closing() || over.elapsed() > LINGER_TIME);
    loop {
        match requests.next(stream, &give_up) {
            Ok(Request::Disconnect) => return "has left".into(),
            Ok(request) => hub.carry_out(id, request),
            Err(Ended::Closed) => return "is gone".into(),
            Err(Ended::GivenUp) if hub.is_closing() => return "has all frames".into(),
            Err(Ended::GivenUp) => return "is disconnected: it does not read its frames".into(),
            Err(Ended::Fault(fault)) => return format!("is disconnected: it sent {fault}"),
        }
    }
}

/// End of a client's requests.
#[derive(Debug)]
enum Ended {
    /// The client has closed the connection, or it is broken.
    Closed,
    /// This side waits no longer.
    GivenUp,
    Fault(Fault),
}

/// Requests in a stream of bytes.
struct Requests {
    /// Bytes that are not a whole request yet.
    bytes: Vec<u8>,
    n_atoms: u32,
}

impl Requests {
    /// The next request; `give_up` is looked at several times a second.
    fn next(&mut self, stream: &mut impl Read, give_up: &dyn Fn() -> bool) -> Result<Request, Ended> {
        let mut chunk = [0; CHUNK];
        loop {
            if let Some((request, length)) = decode(&self.bytes, self.n_atoms).map_err(Ended::Fault)? {
                self.bytes.drain(..length);
                return Ok(request);
            }
            match stream.read(&mut chunk) {
                Ok(0) => return Err(Ended::Closed),
                Ok(n) => self.bytes.extend_from_slice(&chunk[..n]),
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Err(Ended::Closed),
            }
            if give_up() {
                return Err(Ended::GivenUp);
            }
        }
    }
}

/// Writes frames until there are no more or the client does not take them.
fn write_frames(mut stream: TcpStream, outbox: &Outbox, hub: &Hub) {
    loop {
        match outbox.next(TICK) {
            Next::Write(frame) => {
                if write_patiently(&mut stream, &frame, hub).is_err() {
                    break;
                }
            }
            Next::Idle => {}
            Next::End => break,
        }
    }
    // The client finds the end of the stream, whatever it has still to say.
    let _ = stream.shutdown(Shutdown::Write);
    outbox.close();
}

/// Writes all bytes to a client that may read slowly, as long as it reads.
fn write_patiently(stream: &mut TcpStream, bytes: &[u8], hub: &Hub) -> io::Result<()> {
    let (mut rest, mut progress) = (bytes, Instant::now());
    while !rest.is_empty() {
        match stream.write(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(n) => {
                rest = &rest[n..];
                progress = Instant::now();
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                let patience = if hub.is_closing() { FLUSH_TIME } else { STALL_TIME };
                if progress.elapsed() > patience {
                    return Err(e);
                }
            }
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{PacketType, header};

    /// A reader that gives its bytes one by one.
    struct Dripping<'a>(&'a [u8]);

    impl Read for Dripping<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let Some((first, rest)) = self.0.split_first() else { return Ok(0) };
            buffer[0] = *first;
            self.0 = rest;
            Ok(1)
        }
    }

    #[test]
    fn requests_are_put_together_from_single_bytes() {
        let bytes =
            [header(PacketType::Go, 0), header(PacketType::Rate, 5), header(PacketType::Pause, 9)].concat();
        let mut stream = Dripping(&bytes);
        let mut requests = Requests { bytes: Vec::new(), n_atoms: 3 };
        let mut next = || requests.next(&mut stream, &|| false);
        assert_eq!(next().unwrap(), Request::Go);
        assert_eq!(next().unwrap(), Request::Rate(Some(5)));
        assert_eq!(next().unwrap(), Request::Pause);
        assert!(matches!(next(), Err(Ended::Closed)));
    }
}
