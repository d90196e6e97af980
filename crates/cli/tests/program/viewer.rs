//! The viewer, as a browser sees it.

use crate::jostle::{Desk, LIQUID};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// A viewer; ended when it is dropped.
pub struct Viewer {
    child: Child,
    pub address: String,
    pub token: String,
}

impl Drop for Viewer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Viewer {
    pub fn open(desk: &Desk, path: &str) -> Self {
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
        // Requests are of HTTP 1.0, so that no answer comes in chunks.
        write!(stream, "GET {path} HTTP/1.0\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let end = answer.windows(4).position(|w| w == b"\r\n\r\n").unwrap();
        let head = String::from_utf8(answer[..end].to_vec()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, head, answer[end + 4..].to_vec())
    }

    /// Status and content of the answer to a command.
    fn tell(&self, order: &str) -> (u16, String) {
        self.post("/control", order)
    }

    fn post(&self, path: &str, order: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let (host, token, length) = (&self.address, &self.token, order.len());
        let head = format!("Host: {host}\r\nConnection: close\r\nContent-Length: {length}");
        write!(stream, "POST {path}?token={token} HTTP/1.0\r\n{head}\r\n\r\n{order}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, words) = answer.split_once("\r\n\r\n").unwrap();
        (head.split(' ').nth(1).unwrap().parse().unwrap(), words.to_string())
    }

    pub fn content(&self, path: &str) -> Vec<u8> {
        let (status, _, content) = self.get(&format!("{path}?token={}", self.token), &self.address);
        assert_eq!(status, 200, "{path}");
        content
    }

    pub fn state(&self) -> serde_json::Value {
        serde_json::from_slice(&self.content("/state")).unwrap()
    }

    pub fn wait(&self, done: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
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
fn a_run_is_shown_to_holders_of_the_token() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID.replace("every = 20", "every = 4"));
    desk.succeed(&["run", "liquid.toml"]);
    let viewer = Viewer::open(&desk, "liquid");
    let state = viewer.wait(|s| s["reading"] == false);
    assert_eq!((&state["frames"], &state["status"]), (&20.into(), &"finished".into()));
    assert!(state["figures"].as_array().unwrap().iter().any(|f| f["name"] == "temperature"));
    let frame = viewer.content("/frame/19");
    assert_eq!(frame.len(), 136 + 7 * 256);
    assert_eq!(viewer.content("/order/19").len(), 256);
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
    for missing in ["/frame/20", "/order/20", "/frame/-1", "/input.toml", "/../liquid.toml"] {
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

/// A run that would go on for hours; ended when it is dropped.
struct Run(Child);

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Run {
    fn start(desk: &Desk, arguments: &[&str]) -> Self {
        Run(desk.command(arguments).stderr(Stdio::null()).spawn().unwrap())
    }

    fn code(&mut self) -> Option<i32> {
        self.0.wait().unwrap().code()
    }
}

fn wait_until(done: impl Fn() -> bool) {
    let begun = Instant::now();
    while !done() {
        assert!(begun.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The temperatures in `thermo.csv`.
fn temperatures(desk: &Desk) -> Vec<f64> {
    let text = desk.read("liquid/thermo.csv");
    let column = text.lines().next().unwrap().split(',').position(|c| c == "temperature").unwrap();
    // The last line may be on its way.
    let (whole, _) = text.rsplit_once('\n').unwrap();
    whole.lines().skip(1).map(|line| line.split(',').nth(column).unwrap().parse().unwrap()).collect()
}

#[test]
fn a_run_does_what_it_is_told_and_says_so() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID.replace("steps = 40", "steps = 100_000_000"));
    let mut run = Run::start(&desk, &["run", "liquid.toml"]);
    wait_until(|| desk.path("liquid/thermo.csv").metadata().is_ok_and(|m| m.len() > 10_000));
    // There is something to see with the first checkpoint: a pause writes one.
    desk.succeed(&["control", "liquid", "pause"]);
    let viewer = Viewer::open(&desk, "liquid");
    let state = viewer.state();
    assert_eq!((&state["status"], &state["target_temperature"]), (&"paused".into(), &1.44.into()));
    let paused = desk.read("liquid/thermo.csv");
    for (wrong, status) in [
        ("\"fly\"", 400),
        ("", 400),
        ("{\"temperature\":-1}", 409),
        ("{\"temperature\":1e300}", 409),
        ("{\"temperature\":1e5}", 409),
    ] {
        let (answered, words) = viewer.tell(wrong);
        assert_eq!(answered, status, "{wrong}: {words}");
    }
    let right = format!("/control?token={}", viewer.token);
    assert_eq!(viewer.get(&right, &viewer.address).0, 404, "looking is no command");
    assert_eq!(viewer.tell("{\"temperature\":3.5}"), (200, String::new()));
    assert_eq!(viewer.state()["target_temperature"], 3.5);
    assert_eq!(desk.read("liquid/thermo.csv"), paused, "a paused run makes no steps");
    assert_eq!(viewer.tell("\"go-on\"").0, 200);
    assert_eq!(viewer.state()["status"], "running");
    wait_until(|| desk.read("liquid/thermo.csv").len() > paused.len() + 1000);
    assert_eq!(viewer.tell("\"stop\"").0, 200);
    assert_eq!(run.code(), Some(130));
    assert_eq!(viewer.state()["status"], "interrupted");
    let (status, words) = viewer.tell("\"pause\"");
    assert!(status == 409 && words.contains("interrupted"), "{status}: {words}");

    // A resumed run goes on with what was changed.
    let mut resumed = Run::start(&desk, &["resume", "liquid"]);
    let before = temperatures(&desk).len();
    wait_until(|| temperatures(&desk).len() > before + 200);
    assert_eq!(viewer.state()["target_temperature"], 3.5);
    desk.succeed(&["control", "liquid", "stop"]);
    assert_eq!(resumed.code(), Some(130));
    let last = &temperatures(&desk)[before + 100..];
    let mean = last.iter().sum::<f64>() / last.len() as f64;
    // 256 atoms: a single row is within 5% of the mean, a hundred are well within.
    assert!((mean / 3.5 - 1.0).abs() < 0.1, "{mean}");

    let summary: serde_json::Value = serde_json::from_str(&desk.read("liquid/summary.json")).unwrap();
    let change = &summary["under_way"]["changes"][0];
    assert_eq!((change["from"].as_f64(), change["to"].as_f64()), (Some(1.44), Some(3.5)), "{change}");
    let words = "the thermostat holds 3.5 instead of 1.44 after step";
    desk.succeed(&["report", "liquid"]);
    for file in ["liquid/jostle.log", "liquid/report.html"] {
        assert!(desk.read(file).contains(words), "{file}");
    }
    assert!(!desk.path("liquid/order.json").exists());
    let refused = desk.jostle(&["control", "liquid", "temperature", "2"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("interrupted"), "{}", refused.stderr);
}

/// The latest frame of a run that shows itself: step, and springs with the work of all.
fn live(viewer: &Viewer, page: u32) -> (f64, serde_json::Value) {
    let (step, _, springs) = live_coloured(viewer, page, "species", 0);
    (step, springs)
}

/// The latest frame as [`live`] has it, and a byte of each atom more where colours want them.
fn live_coloured(viewer: &Viewer, page: u32, by: &str, more: usize) -> (f64, Vec<u8>, serde_json::Value) {
    loop {
        let path = format!("/live?token={}&page={page}&colour={by}", viewer.token);
        let (status, _, bytes) = viewer.get(&path, &viewer.address);
        if status == 200 {
            let atoms = f64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
            let step = f64::from_le_bytes(bytes[16..24].try_into().unwrap());
            let (values, springs) = bytes[136 + 7 * atoms..].split_at(more * atoms);
            return (step, values.to_vec(), serde_json::from_slice(springs).unwrap());
        }
        assert_eq!(status, 204);
    }
}

#[test]
fn a_page_pulls_atoms_of_a_run_that_shows_itself() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID.replace("steps = 80", "steps = 100_000_000"));
    let mut child = desk.command(&["run", "liquid.toml", "--view"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut talk = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("http://") {
        line.clear();
        assert!(talk.read_line(&mut line).unwrap() > 0, "jostle ended without an address");
    }
    std::thread::spawn(move || talk.read_to_end(&mut Vec::new()));
    let (_, url) = line.trim().split_once("http://").unwrap();
    let (address, token) = url.split_once("/?token=").unwrap();
    let viewer = Viewer { child, address: address.into(), token: token.into() };
    let page = String::from_utf8(viewer.content("/")).unwrap();
    assert!(page.contains("id=\"pulling\""));
    live(&viewer, 1);
    let (_, order, _) = live_coloured(&viewer, 1, "order", 1);
    assert!(order.iter().any(|q| *q > 0), "averaged q6 of a liquid: {order:?}");
    let grab = |of: &str, stiffness: &str| {
        let end = "[3.0, 3.0, 3.0]";
        format!("{{\"grab\":{{\"page\":1,\"atom\":3,\"of\":{of},\"stiffness\":{stiffness},\"end\":{end}}}}}")
    };
    for (wrong, said) in [
        ("", "no pull"),
        ("{\"grab\":{}}", "no pull"),
        (&grab("\"atom\"", "1e999")[..], "no pull"),
        (&grab("\"atom\"", "-1")[..], "stiffness"),
        (&grab("{\"selection\":\"species Q\"}", "10")[..], "Q"),
        (&grab("{\"selection\":\"index 5\"}", "10")[..], "not one of"),
        ("{\"drag\":{\"page\":1,\"stiffness\":1,\"end\":[0,0,0]}}", "let go"),
    ] {
        let (status, words) = viewer.post("/pull", wrong);
        assert!(status == 409 && words.contains(said), "{wrong}: {status} {words}");
    }
    assert_eq!(viewer.post("/pull", &" ".repeat(5000)).0, 413);
    assert_eq!(viewer.get(&format!("/live?token={}", viewer.token), &viewer.address).0, 409, "no page");
    assert_eq!(viewer.get("/live?page=1", &viewer.address).0, 403, "no token");
    assert_eq!(viewer.post("/pull", &grab("{\"selection\":\"index 2 to 5\"}", "10")), (200, String::new()));
    let pulled = || live(&viewer, 1).1;
    wait_until(|| pulled()["work"].as_f64().unwrap().abs() > 0.1);
    assert_eq!(pulled()["springs"][0]["atoms"], 4);
    assert_eq!(viewer.post("/pull", "{\"release\":{\"page\":1}}").0, 200);
    wait_until(|| pulled()["springs"][0]["force"] == serde_json::json!([0.0, 0.0, 0.0]));
    let work = pulled()["work"].as_f64().unwrap();
    assert_eq!(viewer.tell("\"stop\"").0, 200);
    let text = desk.read("liquid/thermo.csv");
    let column = text.lines().next().unwrap().split(',').position(|c| c == "imd_work").unwrap();
    let booked: f64 = text.lines().last().unwrap().split(',').nth(column).unwrap().parse().unwrap();
    assert!((work - booked).abs() < 1e-9 * booked.abs(), "page {work}, thermo.csv {booked}");
}

#[test]
fn what_a_stage_cannot_do_is_refused() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID.replace("steps = 80", "steps = 100_000_000"));
    let mut run = Run::start(&desk, &["run", "liquid.toml"]);
    wait_until(|| desk.path("liquid/sample.xyz").exists());
    let refused = desk.jostle(&["control", "liquid", "temperature", "2"]);
    assert!(refused.stderr.contains("'sample' has no thermostat"), "{}", refused.stderr);
    let refused = desk.jostle(&["control", "liquid", "temperature", "2 K"]);
    assert!(refused.code == Some(2) && refused.stderr.contains("reduced"), "{}", refused.stderr);
    assert!(desk.read("liquid/jostle.log").contains("a command was refused: stage 'sample'"));
    desk.succeed(&["control", "liquid", "stop"]);
    assert_eq!(run.code(), Some(130));
}

/// Biases whose profiles are those of a temperature keep it.
#[test]
fn biased_runs_keep_their_temperature() {
    let desk = Desk::new();
    let bias = "[[variable]]\nname = \"d\"\nkind = \"distance\"\nbetween = [\"index 0\", \"index 1\"]\n[[bias]]\n\
                name = \"window\"\nkind = \"harmonic\"\nvariable = \"d\"\ncenter = 1\nstiffness = 5\n[[stage]]";
    let held =
        "timestep = 0.005\nthermostat = { kind = \"bussi\", temperature = 1.44, period = 0.1 }\nthermo";
    let text = LIQUID
        .replace("steps = 80\ntimestep = 0.005\nthermo", &format!("steps = 100_000_000\n{held}"))
        .replacen("[[stage]]", bias, 1);
    desk.write("liquid.toml", text);
    let mut run = Run::start(&desk, &["run", "liquid.toml"]);
    wait_until(|| desk.path("liquid/sample.xyz").exists());
    let refused = desk.jostle(&["control", "liquid", "temperature", "2"]);
    for said in ["the run has [[bias]]", "it keeps that", "set another temperature"] {
        assert!(refused.code != Some(0) && refused.stderr.contains(said), "{}", refused.stderr);
    }
    desk.succeed(&["control", "liquid", "stop"]);
    assert_eq!(run.code(), Some(130));
    let summary: serde_json::Value = serde_json::from_str(&desk.read("liquid/summary.json")).unwrap();
    assert!(summary["under_way"]["changes"].as_array().is_none_or(Vec::is_empty), "{summary}");
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

/// A temperature that was commanded is in a checkpoint at once: a run that is killed right after goes on with it.
#[test]
fn a_commanded_temperature_survives_a_kill() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID.replace("steps = 40", "steps = 100_000_000"));
    let mut run = Run::start(&desk, &["run", "liquid.toml"]);
    wait_until(|| desk.path("liquid/thermo.csv").metadata().is_ok_and(|m| m.len() > 1000));
    desk.succeed(&["control", "liquid", "temperature", "3.5"]);
    run.0.kill().unwrap();
    run.0.wait().unwrap();
    let mut resumed = Run::start(&desk, &["resume", "liquid"]);
    wait_until(|| desk.read("liquid/jostle.log").contains("going on after step "));
    let is_running = || {
        let summary = serde_json::from_str::<serde_json::Value>(&desk.read("liquid/summary.json")).unwrap();
        summary["status"] == "running" && summary["target_temperature"] == 3.5
    };
    wait_until(is_running);
    desk.succeed(&["control", "liquid", "stop"]);
    assert_eq!(resumed.code(), Some(130));
    // The log says where each part of the run began, and on what.
    let log = desk.read("liquid/jostle.log");
    let line = log.lines().find(|line| line.starts_with("going on after step ")).unwrap();
    assert!(line.contains(" on CPU, 1 thread"), "{line}");
}

/// Runs that a command stops are not done: the sweep has the exit code of an interrupted run.
#[test]
fn a_sweep_of_stopped_runs_is_interrupted() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID.replace("steps = 40", "steps = 100_000_000"));
    for at_once in ["1", "2"] {
        let _ = std::fs::remove_dir_all(desk.path("liquid-sweep"));
        let over = ["sweep", "liquid.toml", "--over", "system.seed=1,2", "--at-once", at_once];
        let mut sweep = Run::start(&desk, &over);
        for folder in ["liquid-sweep/seed=1", "liquid-sweep/seed=2"] {
            wait_until(|| desk.jostle(&["control", folder, "stop"]).code == Some(0));
        }
        assert_eq!(sweep.code(), Some(130), "{at_once} at once");
    }
}
