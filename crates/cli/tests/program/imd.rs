//! Interactive molecular dynamics of the program: a client watches, pulls an atom and ends the run, which goes on
//! later with the work in its books.

use crate::jostle::{Desk, Finished, LIQUID};
use jostle_fixtures::imd_client::{ImdClient, packet};
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::process::{Child, Stdio};

/// Starts `jostle` and waits until it says where clients can connect.
fn start(desk: &Desk, arguments: &[&str]) -> (Child, SocketAddr) {
    let mut child = desk.command(arguments).stderr(Stdio::piped()).spawn().expect("jostle starts");
    let mut talk = BufReader::new(child.stderr.take().expect("a pipe"));
    let mut line = String::new();
    let address = loop {
        line.clear();
        assert!(talk.read_line(&mut line).unwrap() > 0, "jostle ended without an address");
        if let Some((_, address)) = line.trim().split_once("can connect to ") {
            break address.parse().expect("an address");
        }
    };
    // Later messages must not fill the pipe.
    std::thread::spawn(move || talk.read_to_end(&mut Vec::new()));
    (child, address)
}

/// Work in the last row of `thermo.csv`.
fn work(desk: &Desk) -> f64 {
    let text = desk.read("run/thermo.csv");
    let column = text.lines().next().unwrap().split(',').position(|name| name == "imd_work").unwrap();
    text.lines().last().unwrap().split(',').nth(column).unwrap().parse().unwrap()
}

/// Ends a run by a client of version 3, as soon as it has a frame.
fn kill(child: Child, address: SocketAddr) {
    let mut client = ImdClient::connect(address).unwrap();
    client.frame().unwrap();
    client.send(packet::KILL, 0).unwrap();
    while client.frame().is_ok() {}
    drop(client);
    assert_eq!(Finished::of(child.wait_with_output().unwrap()).code, Some(130));
}

#[test]
fn a_run_is_pulled_ended_by_its_client_and_goes_on() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID.replace("steps = 80", "steps = 500_000"));
    let every = ["--imd-every", "5"];
    let (child, address) = start(
        &desk,
        &[&["run", "liquid.toml", "--output", "run", "--imd", "0", "--imd-wait"], &every[..]].concat(),
    );
    let mut client = ImdClient::connect(address).unwrap();
    // The stage with a thermostat is over then: only a pull changes the energy.
    let mut frame = || client.frame().unwrap();
    let before = std::iter::repeat_with(&mut frame).find(|frame| frame.step >= 60).unwrap().energies[1];
    client.send(packet::PAUSE, 0).unwrap();
    client.pull(&[(3, [0.0, 30.0, 0.0])]).unwrap();
    client.send(packet::PAUSE, 0).unwrap();
    while client.frame().unwrap().energies[1] < before + 6.0 {}
    client.send(packet::KILL, 0).unwrap();
    while client.frame().is_ok() {}
    drop(client);
    assert_eq!(Finished::of(child.wait_with_output().unwrap()).code, Some(130));
    let done = work(&desk);
    assert!(done > 1.0, "{done}");

    // With a server again; a new client pulls nothing.
    let (child, address) = start(&desk, &["resume", "run", "--imd-v3", "0"]);
    kill(child, address);
    let booked = work(&desk);
    assert!(booked > 1.0, "the steps behind the last row are booked: {done}, {booked}");

    // Without one: the column stays.
    let child = desk.command(&["resume", "run"]).stderr(Stdio::null()).spawn().unwrap();
    while desk.jostle(&["control", "run", "stop"]).code != Some(0) {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(Finished::of(child.wait_with_output().unwrap()).code, Some(130));
    assert_eq!(work(&desk), booked);
    assert!(desk.read("run/jostle.log").contains("IMD client 127.0.0.1"));
}

#[test]
fn a_run_that_began_without_a_server_can_be_watched_and_pulled_later() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID.replace("steps = 80", "steps = 500_000"));
    let child =
        desk.command(&["run", "liquid.toml", "--output", "run"]).stderr(Stdio::null()).spawn().unwrap();
    while desk.jostle(&["control", "run", "stop"]).code != Some(0) {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(Finished::of(child.wait_with_output().unwrap()).code, Some(130));
    for _ in 0..2 {
        let (child, address) = start(&desk, &["resume", "run", "--imd-v3", "0"]);
        kill(child, address);
    }
    let table = desk.read("run/thermo.csv");
    let widths: std::collections::BTreeSet<usize> =
        table.lines().map(|line| line.split(',').count()).collect();
    assert_eq!(widths.len(), 1, "all rows have the columns of the head");
    assert!(!table.contains("imd_work"));
}

#[test]
fn options_of_imd_need_a_port_and_a_port_must_be_free() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    let finished = desk.jostle(&["run", "liquid.toml", "--imd-wait"]);
    assert_eq!(finished.code, Some(2));
    assert!(finished.stderr.contains("--imd"), "{}", finished.stderr);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let finished = desk.jostle(&["run", "liquid.toml", "--imd", &port]);
    assert_eq!(finished.code, Some(1));
    assert!(
        finished.stderr.contains(&port) && finished.stderr.contains("another port"),
        "{}",
        finished.stderr
    );
    assert!(!desk.path("liquid").exists(), "nothing was written");
}
