//! The viewer, as a browser sees it.

use crate::jostle::{Desk, LIQUID};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A viewer; ended when it is dropped.
struct Viewer {
    child: Child,
    address: String,
    token: String,
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Viewer {
    fn open(desk: &Desk, path: &str) -> Self {
        let mut child =
            desk.command(&["view", path]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut url).unwrap();
        let (address, token) = url.trim().strip_prefix("http://").unwrap().split_once("/?token=").unwrap();
        assert!(address.starts_with("127.0.0.1:") && token.len() == 32, "{url}");
        Viewer { child, address: address.into(), token: token.into() }
    }

    /// Status, headers, content.
    fn get(&self, path: &str, host: &str) -> (u16, String, Vec<u8>) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        // Of version 1.0, so that no answer comes in chunks.
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head, answer[end + 4..].to_vec())
    }

    fn content(&self, path: &str) -> Vec<u8> {
        let (status, _, content) = self.get(&format!("{path}?token={}", self.token), &self.address);
        assert_eq!(status, 200, "{path}");
        content
    }

    fn state(&self) -> serde_json::Value {
        serde_json::from_slice(&self.content("/state")).unwrap()
    }

    fn wait(&self, done: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
        let begun = Instant::now();
        loop {
            let state = self.state();
            if done(&state) {
                return state;
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "{state}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

#[test]
fn a_run_is_shown_to_who_has_the_token() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID.replace("every = 20", "every = 4"));
    desk.succeed(&["run", "liquid.toml"]);
    let viewer = Viewer::open(&desk, "liquid");
    let state = viewer.wait(|s| s["reading"] == false);
    assert_eq!((&state["frames"], &state["status"]), (&20.into(), &"finished".into()));
    assert!(state["figures"].as_array().unwrap().iter().any(|f| f["name"] == "temperature"));
    let frame = viewer.content("/frame/19");
    assert_eq!(frame.len(), 128 + 7 * 256);
    let number = |k: usize| f64::from_le_bytes(frame[8 * k..8 * k + 8].try_into().unwrap());
    assert_eq!([number(0), number(2)], [256.0, 120.0], "atoms and step");
    let page = String::from_utf8(viewer.content("/")).unwrap();
    assert!(page.contains(&viewer.token) && !page.contains("<script src"));
    let (status, head, _) = viewer.get(&format!("/?token={}", viewer.token), &viewer.address);
    assert_eq!(status, 200);
    assert!(head.contains("default-src 'none'"), "{head}");
    let status = |path: &str, host: &str| viewer.get(path, host).0;
    let right = format!("/state?token={}", viewer.token);
    assert_eq!(status(&right, "evil.example"), 403);
    for wrong in ["/", "/state", "/state?token=", "/frame/0?token=00000000000000000000000000000000"] {
        assert_eq!(status(wrong, &viewer.address), 403, "{wrong}");
    }
    for missing in ["/frame/20", "/frame/-1", "/input.toml", "/../liquid.toml"] {
        assert_eq!(status(&format!("{missing}?token={}", viewer.token), &viewer.address), 404, "{missing}");
    }
}

#[test]
fn a_run_is_shown_while_it_goes() {
    let desk = Desk::new();
    let text = LIQUID.replace("every = 20", "every = 10").replace("steps = 80", "steps = 100_000_000");
    desk.write("liquid.toml", text);
    let mut run = desk.command(&["run", "liquid.toml"]).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while !desk.path("liquid/sample.xyz").metadata().is_ok_and(|m| m.len() > 100_000) {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(10));
    }
    let viewer = Viewer::open(&desk, "liquid");
    let first = viewer.wait(|s| s["frames"].as_u64().unwrap() > 5);
    assert_eq!((&first["status"], &first["reading"]), (&"running".into(), &true.into()));
    let seen = first["frames"].as_u64().unwrap();
    viewer.wait(|s| s["frames"].as_u64().unwrap() > seen + 20);
    run.kill().unwrap();
    run.wait().unwrap();
    let last = viewer.state();
    assert!(last["error"].is_null(), "{last}");
}

#[test]
fn what_cannot_be_shown_is_said() {
    let desk = Desk::new();
    desk.write("nothing.xyz", "");
    for (path, said) in [("nothing.xyz", "empty"), ("nowhere", "nowhere"), (".", "nothing to show")] {
        let refused = desk.jostle(&["view", path]);
        assert!(refused.code != Some(0) && refused.stderr.contains(said), "{}", refused.stderr);
    }
}
