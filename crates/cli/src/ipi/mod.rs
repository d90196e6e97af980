//! `jostle run x.toml --ipi ADDRESS`: forces for i-PI, which moves the atoms.

mod protocol;

use crate::compiling;
use crate::error_report::SUCCESS;
use crate::interrupt;
use crate::numbers::grouped;
use jostle_core::{Dimension, Error, Result, SimBox, UnitSystem, Vec3, Vector};
use jostle_engine::{Overrides, Simulation};
use jostle_io::Input;
use protocol::{Evaluation, PATIENCE, Positions, Request, State};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Bohr radius in metres, and hartree in joules (CODATA 2018).
const BOHR: f64 = 5.291_772_109_03e-11;
const HARTREE: f64 = 4.359_744_722_207_1e-18;

/// Longest wait of a read, after which Ctrl-C is looked at.
const GLANCE: Duration = Duration::from_millis(200);

/// Address of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Host and port.
    Network(String),
    /// Unix socket.
    Socket(PathBuf),
}

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text.strip_prefix("unix:") {
            Some("") => Err("unix: needs a name or a path".into()),
            // i-PI puts the sockets of its names there.
            Some(name) if !name.contains('/') => Ok(Address::Socket(format!("/tmp/ipi_{name}").into())),
            Some(path) => Ok(Address::Socket(path.into())),
            None => match text.rsplit_once(':') {
                Some((host, port)) if !host.is_empty() && port.parse::<u16>().is_ok() => {
                    Ok(Address::Network(text.into()))
                }
                _ => Err("an address is host:port, unix:name or unix:/path".into()),
            },
        }
    }
}

trait Connection: Read + Write {}
impl<T: Read + Write> Connection for T {}

impl Address {
    fn connect(&self) -> Result<Box<dyn Connection>> {
        let connected = match self {
            Address::Network(address) => TcpStream::connect(address).and_then(|stream| {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(GLANCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Ok(Box::new(stream) as Box<dyn Connection>)
            }),
            Address::Socket(path) => socket(path),
        };
        let name = match self {
            Address::Network(address) => address.clone(),
            Address::Socket(path) => path.display().to_string(),
        };
        connected.map_err(|error| {
            Error::device(format!("there is no i-PI server at {name}: {error}"))
                .hint("begin with i-pi input.xml; its ffsocket has the address, and mode unix or inet")
        })
    }
}

#[cfg(unix)]
fn socket(path: &std::path::Path) -> std::io::Result<Box<dyn Connection>> {
    let stream = std::os::unix::net::UnixStream::connect(path)?;
    stream.set_read_timeout(Some(GLANCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(Box::new(stream))
}

#[cfg(not(unix))]
fn socket(_path: &std::path::Path) -> std::io::Result<Box<dyn Connection>> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Units of a simulation in atomic units.
struct Units {
    length: f64,
    energy: f64,
}

impl Units {
    /// Units of a system; those of reduced units are taken for atomic ones.
    fn new(units: UnitSystem) -> Self {
        let unit =
            |dimension, atomic: f64| units.from_si(dimension).map_or(1.0, |of_si| 1.0 / (of_si * atomic));
        Units { length: unit(Dimension::LENGTH, BOHR), energy: unit(Dimension::ENERGY, HARTREE) }
    }
}

/// Gives a server forces until it ends.
///
/// # Errors
/// If the input is wrong, there is no server, or it sends what makes no sense; if a force is not finite.
pub fn serve(input: &Input, address: &Address, overrides: &Overrides) -> Result<u8> {
    let mut simulation = Simulation::from_input(input, overrides)?;
    let stop = interrupt::listen()?;
    let is_stopped = || stop.load(Ordering::Relaxed);
    compiling::done();
    let n_atoms = simulation.n_atoms();
    let mut stream = address.connect()?;
    say!("{} atoms on {}", grouped(n_atoms as u64), simulation.device());
    say!("i-PI moves them: stages of the input are left out");
    let units = Units::new(simulation.units());
    let (mut evaluations, mut found) = (0u64, None);
    while let Some(request) = protocol::receive(&mut stream, n_atoms, &is_stopped)? {
        match request {
            Request::Status if found.is_some() => protocol::send_state(&mut stream, State::HasForces)?,
            Request::Status => protocol::send_state(&mut stream, State::Ready)?,
            Request::Init { .. } => {}
            Request::Positions(positions) => {
                found = Some(evaluate(&mut simulation, &units, &positions)?);
                evaluations += 1;
            }
            Request::Forces => match found.take() {
                Some(evaluation) => protocol::send_forces(&mut stream, &evaluation)?,
                None => {
                    return Err(Error::device(
                        "the i-PI server asks for forces before it has sent positions",
                    ));
                }
            },
            Request::Exit => break,
        }
    }
    if is_stopped() {
        say!("interrupted after {} evaluations", grouped(evaluations));
        return Ok(interrupt::EXIT_CODE);
    }
    say!("the i-PI server has ended; {} evaluations", grouped(evaluations));
    Ok(SUCCESS)
}

/// Energy, forces and virial at positions of a server.
fn evaluate(simulation: &mut Simulation, units: &Units, given: &Positions) -> Result<Evaluation> {
    let simbox = *simulation.simbox();
    let here = |r: &Vec3| *r / units.length;
    let positions: Vec<Vec3> = given.positions.iter().map(here).collect();
    let [a, b, c] = given.edges.each_ref().map(here);
    if a[1] != 0.0 || a[2] != 0.0 || b[2] != 0.0 {
        return Err(Error::device(
            "the i-PI server has a box whose first edge is not along x, or whose second one is not in the plane of x and y",
        ));
    }
    // In open space the box of the server has no meaning.
    match simbox.periodic() {
        [false, false, false] => simulation.set_positions(&positions)?,
        periodic => {
            let now = SimBox::new(simbox.origin(), [a[0], b[1], c[2]], [b[0], c[0], c[1]], periodic)?;
            simulation.set_configuration(now, &positions)?;
        }
    }
    let evaluated = simulation.evaluate()?;
    let (energy, [xx, yy, zz, xy, xz, yz]) = (evaluated.thermo.potential, evaluated.virial);
    let virial = [Vector([xx, xy, xz]), Vector([xy, yy, yz]), Vector([xz, yz, zz])];
    let force = units.energy / units.length;
    Ok(Evaluation {
        energy: units.energy * energy,
        forces: simulation.forces()?.iter().map(|f| force * *f).collect(),
        virial: virial.map(|row| units.energy * row),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_io::input::NamedChoice;

    #[test]
    fn addresses_are_told_apart() {
        let address = |text: &str| text.parse::<Address>();
        assert_eq!(address("localhost:31415"), Ok(Address::Network("localhost:31415".into())));
        assert_eq!(address("[::1]:31415"), Ok(Address::Network("[::1]:31415".into())));
        assert_eq!(address("unix:water"), Ok(Address::Socket("/tmp/ipi_water".into())));
        assert_eq!(address("unix:/run/x"), Ok(Address::Socket("/run/x".into())));
        for wrong in ["", "unix:", "localhost", ":31415", "localhost:port", "localhost:99999"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn units_are_atomic() {
        let metal = Units::new(UnitSystem::from_name("metal").unwrap());
        assert!(
            (metal.energy - 0.036_749_322_175_7).abs() < 1e-12
                && (metal.length - 1.889_726_124_6).abs() < 1e-9
        );
        let reduced = Units::new(UnitSystem::from_name("lj").unwrap());
        assert_eq!([reduced.length, reduced.energy], [1.0, 1.0]);
    }
}
