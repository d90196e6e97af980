//! Bytes of the protocol: headers, requests of clients, frames. Pure functions.
//!
//! A packet is a header of two 32-bit integers in network byte order, type and length, and a body whose numbers have
//! the byte order of the server. The handshake tells this order: its length, the version, is written in it.

use jostle_core::{Vec3, Vector};
use std::fmt;

/// Length of a header in bytes.
pub const HEADER: usize = 8;
/// Bytes of one atom in a packet of forces: its index, and the force.
const PULL: usize = 16;

/// Version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// Version 2, which VMD speaks: energies in kcal/mol, and a pause that a second pause ends.
    Two,
    /// Version 3: energies in kJ/mol, times, box, velocities and forces besides.
    Three,
}

impl Version {
    /// Its number.
    pub fn number(self) -> i32 {
        match self {
            Version::Two => 2,
            Version::Three => 3,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "version {}", self.number())
    }
}

macro_rules! packet_types {
    ($($(#[$doc:meta])* $name:ident = $number:literal),* $(,)?) => {
        /// Type of a packet.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum PacketType { $($(#[$doc])* $name = $number),* }

        impl PacketType {
            fn of(number: i32) -> Option<Self> {
                match number { $($number => Some(PacketType::$name),)* _ => None }
            }
        }
    };
}

packet_types! {
    /// End of the connection.
    Disconnect = 0,
    /// Energies of a frame.
    Energies = 1,
    /// Positions of a frame.
    Positions = 2,
    /// Answer to the handshake: frames may come.
    Go = 3,
    /// First packet of a server.
    Handshake = 4,
    /// End of the run.
    Kill = 5,
    /// Forces on atoms.
    Pulls = 6,
    /// Pause.
    Pause = 7,
    /// Interval of frames.
    Rate = 8,
    /// Internal to programs; never sent.
    IoError = 9,
    /// Content of frames (version 3).
    SessionInfo = 10,
    /// End of a pause (version 3).
    Resume = 11,
    /// Time of a frame (version 3).
    Time = 12,
    /// Box of a frame (version 3).
    Box = 13,
    /// Velocities of a frame (version 3).
    Velocities = 14,
    /// Forces of a frame (version 3).
    Forces = 15,
    /// Behaviour of a run without clients (version 3).
    Wait = 16,
}

/// Force of a client on an atom, in the unit of its protocol.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pull {
    /// Id of the atom.
    pub atom: u32,
    /// The force.
    pub force: Vec3,
}

/// Request of a client.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// End of the connection.
    Disconnect,
    /// Frames may come.
    Go,
    /// End of the run.
    Kill,
    /// Forces on atoms, which replace the earlier forces of the client.
    Pull(Vec<Pull>),
    /// Pause; in version 2 also the end of one.
    Pause,
    /// End of a pause.
    Resume,
    /// Interval of frames in steps; `None`: the server's own.
    Rate(Option<u64>),
    /// Behaviour of a run without clients.
    Wait,
}

/// Reason why bytes are no request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A type that does not exist.
    UnknownType(i32),
    /// A packet that only servers send.
    FromServer(PacketType),
    /// A number of forces that is negative or greater than that of the atoms.
    Count(i32),
    /// An atom that does not exist.
    Atom(i32),
    /// A force that is not finite.
    NotFinite(u32),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Fault::UnknownType(number) => write!(f, "a packet of type {number}, which there is not"),
            Fault::FromServer(packet) => write!(f, "a packet that only servers send ({packet:?})"),
            Fault::Count(count) => write!(f, "forces on {count} atoms, which the run does not have"),
            Fault::Atom(atom) => write!(f, "a force on atom {atom}, which does not exist"),
            Fault::NotFinite(atom) => write!(f, "a force on atom {atom} that is not finite"),
        }
    }
}

/// The first request in `bytes`, and the number of bytes that it takes; `None` where there is only a part of one.
/// No request of a run of `n_atoms` atoms is longer than [`longest_request`].
///
/// # Errors
/// If the bytes are no request.
pub fn decode(bytes: &[u8], n_atoms: u32) -> Result<Option<(Request, usize)>, Fault> {
    let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() else { return Ok(None) };
    let [number, length] = [0, 4].map(|at| i32::from_be_bytes([0, 1, 2, 3].map(|k| header[at + k])));
    let packet = PacketType::of(number).ok_or(Fault::UnknownType(number))?;
    let request = match packet {
        PacketType::Disconnect => Request::Disconnect,
        PacketType::Go => Request::Go,
        PacketType::Kill => Request::Kill,
        PacketType::Pause => Request::Pause,
        PacketType::Resume => Request::Resume,
        PacketType::Rate => Request::Rate(u64::try_from(length).ok().filter(|every| *every > 0)),
        PacketType::Wait => Request::Wait,
        PacketType::Pulls => {
            let count = u32::try_from(length).ok().filter(|count| *count <= n_atoms);
            let count = count.ok_or(Fault::Count(length))? as usize;
            let Some(body) = rest.get(..PULL * count) else { return Ok(None) };
            return Ok(Some((Request::Pull(decode_pulls(body, count, n_atoms)?), HEADER + PULL * count)));
        }
        PacketType::Energies
        | PacketType::Positions
        | PacketType::Handshake
        | PacketType::IoError
        | PacketType::SessionInfo
        | PacketType::Time
        | PacketType::Box
        | PacketType::Velocities
        | PacketType::Forces => return Err(Fault::FromServer(packet)),
    };
    Ok(Some((request, HEADER)))
}

/// Length of the longest request to a run of so many atoms, in bytes.
pub fn longest_request(n_atoms: u32) -> usize {
    HEADER + PULL * n_atoms as usize
}

/// Indices of all atoms come first, then all forces.
fn decode_pulls(body: &[u8], count: usize, n_atoms: u32) -> Result<Vec<Pull>, Fault> {
    let (atoms, forces) = body.split_at(4 * count);
    let atoms = atoms.as_chunks::<4>().0.iter().map(|four| i32::from_ne_bytes(*four));
    let forces = forces.as_chunks::<4>().0.as_chunks::<3>().0;
    let pull = |(atom, force): (i32, &[[u8; 4]; 3])| {
        let id = u32::try_from(atom).ok().filter(|id| *id < n_atoms).ok_or(Fault::Atom(atom))?;
        let force = Vector(force.map(|four| f64::from(f32::from_ne_bytes(four))));
        match force.iter().all(|f| f.is_finite()) {
            true => Ok(Pull { atom: id, force }),
            false => Err(Fault::NotFinite(id)),
        }
    };
    atoms.zip(forces).map(pull).collect()
}

/// A header.
pub fn header(packet: PacketType, length: i32) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..4].copy_from_slice(&(packet as i32).to_be_bytes());
    bytes[4..].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// First bytes of a server: the handshake and, in version 3, the content of frames, which is everything: time,
/// energies, box, positions (wrapped into the box), velocities and forces.
pub fn greeting(version: Version) -> Vec<u8> {
    let mut bytes = (PacketType::Handshake as i32).to_be_bytes().to_vec();
    bytes.extend(version.number().to_ne_bytes());
    if version == Version::Three {
        bytes.extend(header(PacketType::SessionInfo, 7));
        bytes.extend([1; 7]);
    }
    bytes
}

/// Energies of a frame in the unit of the protocol, the temperature in kelvins.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct FrameEnergies {
    /// Temperature.
    pub temperature: f32,
    /// Kinetic and potential energy.
    pub total: f32,
    /// Potential energy.
    pub potential: f32,
    /// Pair forces, and all other forces that have no place of their own.
    pub pairs: f32,
    /// Forces between charges.
    pub charges: f32,
    /// Bonds.
    pub bonds: f32,
    /// Angles.
    pub angles: f32,
    /// Dihedrals.
    pub dihedrals: f32,
    /// Impropers.
    pub impropers: f32,
}

/// Content of a frame in the units of the protocol: ps, angstrom, and kJ/mol (version 3) or kcal/mol (version 2).
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrameData {
    /// Number of the step.
    pub step: u64,
    /// Time step.
    pub timestep: f64,
    /// Time.
    pub time: f64,
    /// Energies.
    pub energies: FrameEnergies,
    /// Edge vectors of the box.
    pub edges: [[f32; 3]; 3],
    /// Positions in the box, by id.
    pub positions: Vec<[f32; 3]>,
    /// Velocities, by id.
    pub velocities: Vec<[f32; 3]>,
    /// Forces, by id.
    pub forces: Vec<[f32; 3]>,
}

/// A frame as bytes; version 2 has energies and positions alone.
pub fn encode_frame(version: Version, frame: &FrameData) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4 * (HEADER + 40) + 3 * (HEADER + 12 * frame.positions.len()));
    if version == Version::Three {
        bytes.extend(header(PacketType::Time, 1));
        bytes.extend(frame.timestep.to_ne_bytes());
        bytes.extend(frame.time.to_ne_bytes());
        bytes.extend(i64::try_from(frame.step).unwrap_or(i64::MAX).to_ne_bytes());
    }
    encode_energies(frame, &mut bytes);
    if version == Version::Three {
        bytes.extend(header(PacketType::Box, 1));
        frame.edges.as_flattened().iter().for_each(|x| bytes.extend(x.to_ne_bytes()));
    }
    let mut add = |packet, vectors: &[[f32; 3]]| {
        bytes.extend(header(packet, i32::try_from(vectors.len()).unwrap_or(i32::MAX)));
        let (numbers, start) = (vectors.as_flattened(), bytes.len());
        bytes.resize(start + size_of_val(numbers), 0);
        let (places, _) = bytes[start..].as_chunks_mut();
        places.iter_mut().zip(numbers).for_each(|(place, x)| *place = x.to_ne_bytes());
    };
    add(PacketType::Positions, &frame.positions);
    if version == Version::Three {
        add(PacketType::Velocities, &frame.velocities);
        add(PacketType::Forces, &frame.forces);
    }
    bytes
}

fn encode_energies(frame: &FrameData, bytes: &mut Vec<u8>) {
    let e = &frame.energies;
    bytes.extend(header(PacketType::Energies, 1));
    // A step of 64 bits has no place here; version 3 has it with the time.
    bytes.extend(i32::try_from(frame.step).unwrap_or(i32::MAX).to_ne_bytes());
    let all = [
        e.temperature,
        e.total,
        e.potential,
        e.pairs,
        e.charges,
        e.bonds,
        e.angles,
        e.dihedrals,
        e.impropers,
    ];
    all.iter().for_each(|x| bytes.extend(x.to_ne_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pulls(pulls: &[(i32, [f32; 3])]) -> Vec<u8> {
        let mut bytes = header(PacketType::Pulls, pulls.len() as i32).to_vec();
        pulls.iter().for_each(|(atom, _)| bytes.extend(atom.to_ne_bytes()));
        pulls.iter().for_each(|(_, f)| f.iter().for_each(|x| bytes.extend(x.to_ne_bytes())));
        bytes
    }

    #[test]
    fn forces_are_read_whole_and_bounded() {
        let bytes = pulls(&[(3, [1.0, -2.0, 0.5]), (0, [0.0; 3])]);
        let expected =
            [Pull { atom: 3, force: Vector([1.0, -2.0, 0.5]) }, Pull { atom: 0, force: Vec3::ZERO }];
        assert_eq!(decode(&bytes, 4), Ok(Some((Request::Pull(expected.to_vec()), bytes.len()))));
        assert_eq!(bytes.len(), HEADER + 2 * 16);
        for part in 0..bytes.len() {
            assert_eq!(decode(&bytes[..part], 4), Ok(None), "{part} bytes");
        }
        assert_eq!(decode(&bytes, 3), Err(Fault::Atom(3)));
        assert_eq!(decode(&bytes, 1), Err(Fault::Count(2)));
        assert_eq!(decode(&pulls(&[(-1, [0.0; 3])]), 4), Err(Fault::Atom(-1)));
        assert_eq!(decode(&pulls(&[(2, [f32::NAN; 3])]), 4), Err(Fault::NotFinite(2)));
        assert_eq!(decode(&header(PacketType::Pulls, -1), 4), Err(Fault::Count(-1)));
        assert_eq!(decode(&header(PacketType::Pulls, i32::MAX), 4), Err(Fault::Count(i32::MAX)));
    }

    #[test]
    fn rates_below_one_are_the_server_s_own() {
        let rate = |length| decode(&header(PacketType::Rate, length), 4);
        assert_eq!(rate(10), Ok(Some((Request::Rate(Some(10)), HEADER))));
        assert_eq!(rate(0), Ok(Some((Request::Rate(None), HEADER))));
        assert_eq!(rate(-7), Ok(Some((Request::Rate(None), HEADER))));
    }

    #[test]
    fn packets_of_servers_and_unknown_ones_are_refused() {
        let energies = header(PacketType::Energies, 1);
        assert_eq!(decode(&energies, 4), Err(Fault::FromServer(PacketType::Energies)));
        let mut unknown = energies;
        unknown[3] = 17;
        assert_eq!(decode(&unknown, 4), Err(Fault::UnknownType(17)));
    }

    /// Layout as imdclient 0.2.4 reads it (`IMDClient.py`): packets in this order, with these lengths.
    #[test]
    fn frames_have_the_packets_that_the_greeting_promises() {
        let atoms = vec![[1.0, 2.0, 3.0]; 5];
        let frame = FrameData {
            step: 7,
            timestep: 0.002,
            time: 0.014,
            positions: atoms.clone(),
            velocities: atoms.clone(),
            forces: atoms,
            ..FrameData::default()
        };
        let packets = |mut bytes: &[u8]| {
            let mut found = Vec::new();
            while let Some((header, rest)) = bytes.split_first_chunk::<HEADER>() {
                let number = i32::from_be_bytes([header[0], header[1], header[2], header[3]]);
                let length = i32::from_be_bytes([header[4], header[5], header[6], header[7]]);
                let body = match PacketType::of(number) {
                    Some(PacketType::Time) => 24,
                    Some(PacketType::Energies) => 40,
                    Some(PacketType::Box) => 36,
                    _ => 12 * length as usize,
                };
                found.push((number, length));
                bytes = &rest[body..];
            }
            found
        };
        let three = encode_frame(Version::Three, &frame);
        assert_eq!(packets(&three), [(12, 1), (1, 1), (13, 1), (2, 5), (14, 5), (15, 5)]);
        assert_eq!(packets(&encode_frame(Version::Two, &frame)), [(1, 1), (2, 5)]);
        assert_eq!(three[8..16], 0.002_f64.to_ne_bytes());
        assert_eq!(three[24..32], 7_i64.to_ne_bytes());
        assert_eq!(greeting(Version::Two).len(), 8);
        assert_eq!(greeting(Version::Three)[8..16], header(PacketType::SessionInfo, 7));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_request_a_part_or_a_fault(
            bytes in prop::collection::vec(any::<u8>(), 0..200),
            n_atoms in 0_u32..12,
        ) {
            if let Ok(Some((request, length))) = decode(&bytes, n_atoms) {
                prop_assert!((HEADER..=longest_request(n_atoms)).contains(&length) && length <= bytes.len());
                if let Request::Pull(pulls) = request {
                    prop_assert!(pulls.iter().all(|p| p.atom < n_atoms && p.force.iter().all(|f| f.is_finite())));
                }
            }
        }

        #[test]
        fn likely_headers_never_panic(
            packet in 0_u8..20,
            length in prop_oneof![-3_i32..20, any::<i32>()],
            body in prop::collection::vec(any::<u8>(), 0..200),
            n_atoms in 0_u32..12,
        ) {
            let mut bytes = vec![0, 0, 0, packet];
            bytes.extend(length.to_be_bytes());
            bytes.extend(body);
            // A part is never longer than the longest request, so that a reader's memory is bounded.
            if let Ok(None) = decode(&bytes, n_atoms) {
                prop_assert!(bytes.len() < longest_request(n_atoms));
            }
        }
    }
}
