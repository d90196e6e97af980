//! Messages of i-PI (V. Kapil et al., Comput. Phys. Commun. 236 (2019) 214; its documentation, "Communication
//! protocol"): headers of twelve characters, then numbers in the order of this machine. Pure functions of a stream,
//! whose reads end after a while, so that a silent peer holds nothing up.

use jostle_core::vector::vectors_of;
use jostle_core::{Error, Result, Vec3, Vector};
use std::io::{ErrorKind, Read, Write};
use std::time::{Duration, Instant};

/// Length of a header.
const HEADER: usize = 12;
/// Longest text that a server may send with INIT.
const LONGEST_TEXT: usize = 1 << 20;
/// Longest pause in the middle of a message.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Message of a server.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// Question for the state of the client.
    Status,
    /// Begin, with the number of a replica and a text for the client.
    Init {
        /// Number of the replica.
        replica: i32,
    },
    /// Positions.
    Positions(Positions),
    /// Question for energy, forces and virial.
    Forces,
    /// End.
    Exit,
}

/// Box and positions in bohr.
#[derive(Debug, Clone, PartialEq)]
pub struct Positions {
    /// Edges of the box, a row an edge.
    pub edges: [Vec3; 3],
    /// Positions of the atoms.
    pub positions: Vec<Vec3>,
}

/// Energy, forces and virial in atomic units.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// Potential energy.
    pub energy: f64,
    /// Force on each atom.
    pub forces: Vec<Vec3>,
    /// Virial, the sum of r f over pairs.
    pub virial: [Vec3; 3],
}

/// State of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Positions come next.
    Ready,
    /// Forces are ready to be asked for.
    HasForces,
}

/// The next message, of a server that simulates `n_atoms`; `None` where the server has closed the connection between
/// two messages, or `stop` says so.
///
/// # Errors
/// If the message is none of the protocol, has another number of atoms, or breaks off.
pub fn receive(stream: &mut impl Read, n_atoms: usize, stop: &dyn Fn() -> bool) -> Result<Option<Request>> {
    let mut header = [0; HEADER];
    if !first(stream, &mut header[..1], stop)? {
        return Ok(None);
    }
    rest(stream, &mut header[1..])?;
    let request = match String::from_utf8_lossy(&header).trim_end() {
        "STATUS" => Request::Status,
        "INIT" => {
            let replica = integer(stream)?;
            let length = count(integer(stream)?, LONGEST_TEXT, "a text")?;
            rest(stream, &mut vec![0; length])?;
            Request::Init { replica }
        }
        "POSDATA" => Request::Positions(positions(stream, n_atoms)?),
        "GETFORCE" => Request::Forces,
        "EXIT" => Request::Exit,
        other => return Err(broken(format!("the message {other:?}, which is none of i-PI"))),
    };
    Ok(Some(request))
}

/// Sends the state of the client.
///
/// # Errors
/// If the server is gone.
pub fn send_state(stream: &mut impl Write, state: State) -> Result<()> {
    let word = match state {
        State::Ready => b"READY       ",
        State::HasForces => b"HAVEDATA    ",
    };
    stream.write_all(word).and_then(|()| stream.flush()).map_err(gone)
}

/// Sends energy, forces and virial.
///
/// # Errors
/// If the server is gone.
pub fn send_forces(stream: &mut impl Write, evaluation: &Evaluation) -> Result<()> {
    let mut bytes = b"FORCEREADY  ".to_vec();
    bytes.extend(evaluation.energy.to_ne_bytes());
    bytes.extend((evaluation.forces.len() as i32).to_ne_bytes());
    for number in evaluation.forces.iter().chain(&evaluation.virial).flatten() {
        bytes.extend(number.to_ne_bytes());
    }
    // Length of a text for the server.
    bytes.extend(0i32.to_ne_bytes());
    stream.write_all(&bytes).and_then(|()| stream.flush()).map_err(gone)
}

fn positions(stream: &mut impl Read, n_atoms: usize) -> Result<Positions> {
    // Edges are columns of the matrix, of which the server also sends the inverse.
    let matrix: [f64; 9] = numbers(stream, 9)?.try_into().unwrap_or_default();
    numbers(stream, 9)?;
    let atoms = count(integer(stream)?, i32::MAX as usize, "atoms")?;
    if atoms != n_atoms {
        return Err(broken(format!("positions of {atoms} atoms, but the input has {n_atoms}"))
            .hint("the server and Jostle must have the same atoms in the same order"));
    }
    let positions = vectors_of(&numbers(stream, 3 * atoms)?).to_vec();
    let edges = [0, 1, 2].map(|edge| Vector([matrix[edge], matrix[3 + edge], matrix[6 + edge]]));
    if edges.iter().chain(&positions).flatten().any(|x| !x.is_finite()) {
        return Err(broken("positions that are not finite".into()));
    }
    Ok(Positions { edges, positions })
}

fn numbers(stream: &mut impl Read, count: usize) -> Result<Vec<f64>> {
    let mut bytes = vec![0; 8 * count];
    rest(stream, &mut bytes)?;
    Ok(bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect())
}

fn integer(stream: &mut impl Read) -> Result<i32> {
    let mut bytes = [0; 4];
    rest(stream, &mut bytes)?;
    Ok(i32::from_ne_bytes(bytes))
}

/// Number of things that follow, at most so many.
fn count(given: i32, most: usize, of: &str) -> Result<usize> {
    let count = usize::try_from(given).ok().filter(|count| *count <= most);
    count.ok_or_else(|| broken(format!("{of} of length {given}")))
}

/// Reads the beginning of a message, however long it takes to come; false where none comes.
fn first(stream: &mut impl Read, bytes: &mut [u8], stop: &dyn Fn() -> bool) -> Result<bool> {
    loop {
        if stop() {
            return Ok(false);
        }
        match stream.read(bytes) {
            Ok(read) => return Ok(read > 0),
            Err(error) if is_pause(&error) => {}
            Err(error) => return Err(gone(error)),
        }
    }
}

/// Reads the rest of a message.
fn rest(stream: &mut impl Read, mut bytes: &mut [u8]) -> Result<()> {
    let mut last = Instant::now();
    while !bytes.is_empty() {
        match stream.read(bytes) {
            Ok(0) => return Err(broken("a message that breaks off".into())),
            Ok(read) => {
                bytes = &mut bytes[read..];
                last = Instant::now();
            }
            Err(error) if is_pause(&error) && last.elapsed() < PATIENCE => {}
            Err(error) if is_pause(&error) => {
                return Err(broken(format!(
                    "nothing for {} s in the middle of a message",
                    PATIENCE.as_secs()
                )));
            }
            Err(error) => return Err(gone(error)),
        }
    }
    Ok(())
}

/// Returns true where a read has only lasted too long.
fn is_pause(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn broken(what: String) -> Error {
    Error::device(format!("the i-PI server has sent {what}"))
}

fn gone(error: std::io::Error) -> Error {
    Error::device(format!("the connection to the i-PI server is lost: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(atoms: i32, numbers: usize) -> Vec<u8> {
        let mut bytes = b"POSDATA     ".to_vec();
        for x in [8.0, 1.0, 2.0, 0.0, 9.0, 3.0, 0.0, 0.0, 7.0] {
            bytes.extend(f64::to_ne_bytes(x));
        }
        bytes.extend([0; 72]);
        bytes.extend(atoms.to_ne_bytes());
        (0..numbers).for_each(|k| bytes.extend((k as f64).to_ne_bytes()));
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Option<Request>> {
        receive(&mut &*bytes, 2, &|| false)
    }

    #[test]
    fn edges_are_the_columns_of_the_matrix() {
        let Ok(Some(Request::Positions(found))) = read(&message(2, 6)) else { panic!("no positions") };
        assert_eq!(found.edges, [[8.0, 0.0, 0.0], [1.0, 9.0, 0.0], [2.0, 3.0, 7.0]]);
        assert_eq!(found.positions, [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]);
    }

    #[test]
    fn words_are_told_apart() {
        assert_eq!(read(b"STATUS      ").unwrap(), Some(Request::Status));
        assert_eq!(read(b"GETFORCE    ").unwrap(), Some(Request::Forces));
        assert_eq!(read(b"EXIT        ").unwrap(), Some(Request::Exit));
        let init = [&b"INIT        "[..], &3i32.to_ne_bytes(), &2i32.to_ne_bytes(), b"ab"].concat();
        assert_eq!(read(&init).unwrap(), Some(Request::Init { replica: 3 }));
        assert_eq!(read(b"").unwrap(), None);
        assert_eq!(receive(&mut &b"STATUS      "[..], 2, &|| true).unwrap(), None);
    }

    #[test]
    fn nonsense_is_refused() {
        let huge = [&b"INIT        "[..], &0i32.to_ne_bytes(), &i32::MAX.to_ne_bytes()].concat();
        let negative = [&b"INIT        "[..], &0i32.to_ne_bytes(), &(-1i32).to_ne_bytes()].concat();
        let mut not_finite = message(2, 6);
        not_finite[12..20].copy_from_slice(&f64::NAN.to_ne_bytes());
        let wrong = [
            (&b"GET / HTTP/1.1\r\n"[..], "none of i-PI"),
            (b"STAT", "breaks off"),
            (&huge, "length"),
            (&negative, "length"),
            (&message(3, 9), "3 atoms"),
            (&message(-5, 0), "length"),
            (&message(2, 5), "breaks off"),
            (&not_finite, "not finite"),
        ];
        for (bytes, cause) in wrong {
            let error = read(bytes).unwrap_err();
            assert!(error.message().contains(cause), "{}", error.message());
        }
    }

    #[test]
    fn forces_are_written_with_their_number() {
        let evaluation = Evaluation {
            energy: 1.5,
            forces: vec![Vector([1.0, 2.0, 3.0]); 2],
            virial: [Vector([4.0; 3]); 3],
        };
        let mut bytes = Vec::new();
        send_forces(&mut bytes, &evaluation).unwrap();
        assert_eq!(bytes.len(), 12 + 8 + 4 + 48 + 72 + 4);
        assert_eq!(bytes[12..20], 1.5f64.to_ne_bytes());
        assert_eq!(bytes[20..24], 2i32.to_ne_bytes());
    }
}
