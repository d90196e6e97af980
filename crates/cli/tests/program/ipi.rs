//! Forces for i-PI: the program as the client of a server that speaks its protocol.

use crate::jostle::{Desk, Finished};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Stdio;

/// Two atoms; the numbers of reduced units are taken for atomic ones.
const PAIR: &str = r#"
units = "lj"
[system]
file = "pair.xyz"
[species.A]
mass = 1.0
[[force]]
kind = "lennard-jones"
cutoff = 4
truncation = "plain"
pairs."A-A" = { epsilon = 1.0, sigma = 1.0 }
[run]
device = "cpu"
threads = 1
precision = "double"
"#;

const ATOMS: &str = "2\nLattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3\nA 1 1 1\nA 2.5 1 1\n";

fn bytes(numbers: &[f64]) -> Vec<u8> {
    numbers.iter().flat_map(|x| x.to_ne_bytes()).collect()
}

fn numbers(stream: &mut impl Read, count: usize) -> Vec<f64> {
    let mut bytes = vec![0; 8 * count];
    stream.read_exact(&mut bytes).unwrap();
    bytes.as_chunks::<8>().0.iter().map(|bytes| f64::from_ne_bytes(*bytes)).collect()
}

fn state(stream: &mut (impl Read + Write)) -> String {
    stream.write_all(b"STATUS      ").unwrap();
    word(stream)
}

fn word(stream: &mut impl Read) -> String {
    let mut word = [0; 12];
    stream.read_exact(&mut word).unwrap();
    String::from_utf8(word.to_vec()).unwrap().trim_end().to_string()
}

/// Sends positions in a box.
fn send(stream: &mut impl Write, edge: f64, positions: &[f64]) {
    let matrix = [edge, 0.0, 0.0, 0.0, edge, 0.0, 0.0, 0.0, edge];
    let atoms = (positions.len() / 3) as i32;
    let parts = [&b"POSDATA     "[..], &bytes(&matrix), &[0; 72], &atoms.to_ne_bytes(), &bytes(positions)];
    stream.write_all(&parts.concat()).unwrap();
}

/// Energy, forces and virial of the client.
fn forces(stream: &mut (impl Read + Write)) -> (f64, Vec<f64>, Vec<f64>) {
    stream.write_all(b"GETFORCE    ").unwrap();
    assert_eq!(word(stream), "FORCEREADY");
    let energy = numbers(stream, 1)[0];
    let mut count = [0; 4];
    stream.read_exact(&mut count).unwrap();
    let forces = numbers(stream, 3 * i32::from_ne_bytes(count) as usize);
    let virial = numbers(stream, 9);
    stream.read_exact(&mut count).unwrap();
    assert_eq!(i32::from_ne_bytes(count), 0);
    (energy, forces, virial)
}

/// Asks the client for forces on two atoms that are so far apart along x, and compares these with the exact ones.
fn ask(stream: &mut (impl Read + Write)) {
    assert_eq!(state(stream), "READY");
    stream
        .write_all(&[&b"INIT        "[..], &0i32.to_ne_bytes(), &1i32.to_ne_bytes(), b"x"].concat())
        .unwrap();
    for (edge, distance) in [(9.0, 1.1), (9.0, 1.5), (12.0, 1.3)] {
        assert_eq!(state(stream), "READY");
        // The second atom is across a border.
        send(stream, edge, &[0.2, 1.0, 1.0, 0.2 - distance, 1.0, 1.0]);
        assert_eq!(state(stream), "HAVEDATA");
        let (energy, forces, virial) = forces(stream);
        let s6 = f64::powi(distance, -6);
        let force = 24.0 * (2.0 * s6 * s6 - s6) / distance;
        assert!((energy - 4.0 * (s6 * s6 - s6)).abs() < 1e-12, "{energy}");
        for (found, right) in forces.iter().zip([force, 0.0, 0.0, -force, 0.0, 0.0]) {
            assert!((found - right).abs() < 1e-11, "{forces:?} {force}");
        }
        for (k, found) in virial.iter().enumerate() {
            let right = if k == 0 { force * distance } else { 0.0 };
            assert!((found - right).abs() < 1e-11, "{virial:?}");
        }
    }
}

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("pair.toml", PAIR);
    desk.write("pair.xyz", ATOMS);
    desk
}

/// A client, and what `serve` does with its connection.
fn with_client(serve: impl FnOnce(TcpStream)) -> Finished {
    let (desk, server) = (desk(), TcpListener::bind("127.0.0.1:0").unwrap());
    let address = server.local_addr().unwrap().to_string();
    let mut command = desk.command(&["run", "pair.toml", "--ipi", &address]);
    let child = command.stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    serve(server.accept().unwrap().0);
    let finished = Finished::of(child.wait_with_output().unwrap());
    assert_eq!(desk.files(), ["pair.toml", "pair.xyz"]);
    finished
}

#[test]
fn forces_are_exact() {
    let finished = with_client(|mut stream| {
        ask(&mut stream);
        stream.write_all(b"EXIT        ").unwrap();
    });
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stderr.contains("3 evaluations"), "{}", finished.stderr);
}

#[cfg(unix)]
#[test]
fn sockets_have_paths() {
    let desk = desk();
    let server = std::os::unix::net::UnixListener::bind(desk.path("socket")).unwrap();
    let address = format!("unix:{}", desk.path("socket").display());
    let child =
        desk.command(&["run", "pair.toml", "--ipi", &address]).stderr(Stdio::piped()).spawn().unwrap();
    let (mut stream, _) = server.accept().unwrap();
    ask(&mut stream);
    // A server that closes the connection has ended.
    drop(stream);
    assert_eq!(Finished::of(child.wait_with_output().unwrap()).code, Some(0));
}

#[test]
fn servers_that_make_no_sense_are_refused() {
    let refused = |serve: &dyn Fn(TcpStream), cause: &str| {
        let finished = with_client(serve);
        assert!(matches!(finished.code, Some(1 | 2)), "{}", finished.stderr);
        assert!(finished.stderr.contains(cause), "{}", finished.stderr);
    };
    refused(&|mut stream| stream.write_all(b"HTTP/1.1 400 ").unwrap(), "none of i-PI");
    refused(&|mut stream| stream.write_all(b"GETFORCE    ").unwrap(), "before it has sent positions");
    refused(&|mut stream| stream.write_all(b"POSDATA     abc").unwrap(), "breaks off");
    refused(&|mut stream| send(&mut stream, 9.0, &[0.0; 9]), "3 atoms");
    refused(&|mut stream| send(&mut stream, 5.0, &[0.0, 0.0, 0.0, 2.0, 0.0, 0.0]), "cut-off");
    refused(&|mut stream| send(&mut stream, 9.0, &[0.0; 6]), "finite");
}

#[test]
fn wrong_arguments_are_refused() {
    let desk = desk();
    for (arguments, cause) in [
        (&["run", "pair.toml", "--ipi", "nowhere"][..], "host:port"),
        (&["run", "pair.toml", "--ipi", "127.0.0.1:1"], "no i-PI server"),
        (&["run", "pair.toml", "--ipi", "unix:/no/such/socket"], "no i-PI server"),
        (&["run", "pair.toml", "pair.toml", "--ipi", "127.0.0.1:1"], "several"),
        (&["run", "pair.toml", "--ipi", "127.0.0.1:1", "--output", "x"], "--output"),
    ] {
        let finished = desk.jostle(arguments);
        assert!(finished.code != Some(0) && finished.stderr.contains(cause), "{}", finished.stderr);
    }
}
