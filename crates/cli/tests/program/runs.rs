//! `jostle run` and `jostle resume`.

use crate::jostle::{Desk, Finished, LIQUID, repository};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// `LIQUID` that runs until it is told to stop.
fn long_liquid(steps: u64) -> String {
    LIQUID.replace("steps = 80", &format!("steps = {steps}")).replace("every = 20", "every = 50")
}

/// Rows of a thermo.csv without its header.
fn rows(csv: &str) -> usize {
    csv.lines().count().saturating_sub(1)
}

/// Returns true for a signal that programs which a test starts do not ignore: under `nohup` they inherit that a closed
/// terminal is none of their business.
#[cfg(unix)]
fn arrives(signal: &str) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let bits = ignored.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).unwrap_or(0);
    let arrives = signal != "HUP" || bits & 1 == 0;
    if !arrives {
        println!("skipped: these tests ignore {signal}, as under nohup");
    }
    arrives
}

#[test]
fn the_argon_example_runs() {
    let desk = Desk::new();
    let example = repository("examples/argon.toml");
    let finished = desk.succeed(&["run", example.to_str().unwrap(), "--output", "argon", "--steps", "2000"]);
    assert_eq!(finished.stdout, "", "a run has no data for stdout");
    for word in ["864 atoms", "equilibrate", "sample", "temperature", "pair forces", "argon/thermo.csv"] {
        assert!(finished.stderr.contains(word), "the talk does not mention '{word}':\n{}", finished.stderr);
    }
    let summary: serde_json::Value = serde_json::from_str(&desk.read("argon/summary.json")).unwrap();
    assert!(summary.is_object());
    assert_eq!(rows(&desk.read("argon/thermo.csv")), 5, "the start, and every 1000 steps");
}

/// A DCD or XTC file does not name its atoms: a file that does lies beside it.
#[test]
fn nameless_trajectories_have_a_start_beside_them() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    desk.succeed(&["run", "liquid.toml"]);
    assert!(!desk.path("liquid/start.xyz").exists(), "extended XYZ has the names itself");
    desk.write("liquid.toml", LIQUID.replace(r#"format = "xyz""#, r#"format = "dcd""#));
    desk.succeed(&["run", "liquid.toml", "--overwrite"]);
    let start = desk.read("liquid/start.xyz");
    assert_eq!(start.lines().count(), 258);
    assert!(start.lines().nth(2).unwrap().starts_with("A "));
    let summary: serde_json::Value = serde_json::from_str(&desk.read("liquid/summary.json")).unwrap();
    assert!(summary["files"].as_array().unwrap().contains(&"start.xyz".into()));
}

#[test]
fn a_run_without_output_option_writes_beside_where_it_was_started() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    desk.succeed(&["run", "liquid.toml"]);
    assert!(desk.path("liquid/thermo.csv").is_file());
}

#[test]
fn earlier_results_are_not_overwritten_by_accident() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    desk.succeed(&["run", "liquid.toml"]);
    let before = desk.read("liquid/thermo.csv");
    let finished = desk.jostle(&["run", "liquid.toml", "--steps", "10"]);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains("--overwrite"), "{}", finished.stderr);
    assert_eq!(desk.read("liquid/thermo.csv"), before);
    // There is no terminal to draw on: refused before anything is removed.
    let finished = desk.jostle(&["run", "liquid.toml", "--overwrite", "--tui"]);
    assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    assert_eq!(desk.read("liquid/thermo.csv"), before);
    desk.succeed(&["run", "liquid.toml", "--steps", "10", "--overwrite"]);
    assert!(rows(&desk.read("liquid/thermo.csv")) < rows(&before));
}

#[test]
fn the_number_of_threads_changes_nothing_in_a_reproducible_run() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    desk.succeed(&["run", "liquid.toml", "--output", "one", "--threads", "1"]);
    desk.succeed(&["run", "liquid.toml", "--output", "two", "--threads", "2"]);
    assert_eq!(desk.read("one/thermo.csv"), desk.read("two/thermo.csv"));
}

/// Starts a run, sends a signal once it is well under way, and waits for its end.
#[cfg(unix)]
fn interrupt(desk: &Desk, signal: &str, arguments: &[&str]) -> Finished {
    let mut command = desk.command(arguments);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (begun, patience) = (Instant::now(), Duration::from_secs(120));
    let under_way = || {
        let csv = std::fs::read_to_string(desk.path("broken/thermo.csv")).unwrap_or_default();
        rows(&csv) > 20
    };
    while !under_way() {
        if begun.elapsed() > patience {
            child.kill().unwrap();
            panic!("the run wrote nothing for two minutes");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let sent = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    Finished::of(child.wait_with_output().unwrap())
}

/// The heart of it: a run that is interrupted and resumed leaves the same files, bit for bit, as
/// one that was left alone.
#[cfg(unix)]
#[test]
fn an_interrupted_run_resumes_as_if_nothing_had_happened() {
    const STEPS: u64 = 3000;
    let desk = Desk::new();
    desk.write("liquid.toml", long_liquid(STEPS));
    desk.succeed(&["run", "liquid.toml", "--output", "whole"]);
    let signals = [("INT", "1"), ("TERM", "2"), ("HUP", "1")];
    for (signal, resumed_threads) in signals.into_iter().filter(|(signal, _)| arrives(signal)) {
        let stopped = interrupt(&desk, &format!("-{signal}"), &["run", "liquid.toml", "--output", "broken"]);
        assert_eq!(stopped.code, Some(130), "{}", stopped.stderr);
        assert!(
            stopped.stderr.contains("jostle resume broken"),
            "it does not say how to go on:\n{}",
            stopped.stderr
        );
        assert!(
            rows(&desk.read("broken/thermo.csv")) < rows(&desk.read("whole/thermo.csv")),
            "interrupted too late"
        );

        desk.succeed(&["resume", "broken", "--threads", resumed_threads]);
        assert_eq!(desk.read("broken/thermo.csv"), desk.read("whole/thermo.csv"));
        assert_eq!(desk.read("broken/sample.xyz"), desk.read("whole/sample.xyz"));
        std::fs::remove_dir_all(desk.path("broken")).unwrap();
    }
}

/// A run that is told several times at once still ends in good order: a terminal that is closed tells it by the system and by
/// the shell, `timeout` tells the program and its group. Under `nohup` it goes on.
#[cfg(target_os = "linux")]
#[test]
fn a_signal_that_comes_twice_loses_no_run() {
    let desk = Desk::new();
    desk.write("liquid.toml", long_liquid(4000));
    let script = |program: &str, signal: &str| {
        let jostle = env!("CARGO_BIN_EXE_jostle");
        format!(
            "{program} {jostle} run liquid.toml --output broken --overwrite </dev/null &
             until test -s broken/thermo.csv && test $(wc -l <broken/thermo.csv) -gt 20; do sleep 0.01; done
             for _ in 1 2 3 4 5 6 7 8; do kill -{signal} $!; done 2>/dev/null
             wait $!"
        )
    };
    let run = |program: &str, signal: &str| {
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &script(program, signal)]).current_dir(desk.path("")).stdout(Stdio::null());
        Finished::of(shell.output().unwrap())
    };
    for signal in ["HUP", "INT", "TERM"].into_iter().filter(|signal| arrives(signal)) {
        let told = run("", signal);
        assert_eq!(told.code, Some(130), "{signal}: {}", told.stderr);
        assert!(told.stderr.contains("jostle resume broken"), "{signal}: {}", told.stderr);
        desk.succeed(&["resume", "broken"]);
        std::fs::remove_dir_all(desk.path("broken")).unwrap();
    }
    let ignored = run("nohup", "HUP");
    assert_eq!(ignored.code, Some(0), "{}", ignored.stderr);
}

#[cfg(unix)]
#[test]
fn a_damaged_checkpoint_is_refused() {
    let desk = Desk::new();
    desk.write("liquid.toml", long_liquid(1_000_000));
    interrupt(&desk, "-INT", &["run", "liquid.toml", "--output", "broken"]);
    let files = desk.files();
    let checkpoints: Vec<_> = files.iter().filter(|name| name.ends_with(".checkpoint")).collect();
    let whole = std::fs::read(desk.path(checkpoints[0])).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    for damaged in [&whole[..whole.len() / 2], &flipped[..], b"", b"not a checkpoint"] {
        for name in &checkpoints {
            desk.write(name, damaged);
        }
        let finished = desk.jostle(&["resume", "broken"]);
        assert_eq!(finished.code, Some(1), "{}", finished.stderr);
        assert!(finished.stderr.contains("latest.checkpoint"), "{}", finished.stderr);
        assert_eq!(desk.files(), files);
    }
}

/// Only the newest checkpoint is damaged: the one before it serves, and the files still come out
/// right.
#[cfg(unix)]
#[test]
fn the_checkpoint_before_the_last_serves_where_the_last_is_damaged() {
    let desk = Desk::new();
    desk.write("liquid.toml", long_liquid(1500));
    desk.succeed(&["run", "liquid.toml", "--output", "whole"]);
    interrupt(&desk, "-INT", &["run", "liquid.toml", "--output", "broken"]);
    desk.write("broken/latest.checkpoint", b"not a checkpoint");
    let resumed = desk.succeed(&["resume", "broken"]);
    assert!(resumed.stderr.contains("going on from the one before it"), "{}", resumed.stderr);
    assert_eq!(desk.read("broken/thermo.csv"), desk.read("whole/thermo.csv"));
}

/// A disk that runs full, in a namespace of its own: an error that says so, nothing half-written,
/// and once there is room the run goes on as if nothing had happened.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_loses_nothing() {
    let desk = Desk::new();
    desk.write("liquid.toml", long_liquid(3000));
    desk.succeed(&["run", "liquid.toml", "--output", "whole"]);
    std::fs::create_dir(desk.path("small")).unwrap();
    let script = format!(
        "mount -t tmpfs -o size=400k tmpfs small || exit 77
         {jostle} run liquid.toml --output small/run && exit 1
         ls small/run
         mount -o remount,size=64m small
         {jostle} resume small/run || exit 1
         cp small/run/thermo.csv small/run/sample.xyz .",
        jostle = env!("CARGO_BIN_EXE_jostle")
    );
    let mut unshare = std::process::Command::new("unshare");
    unshare.args(["--mount", "--map-root-user", "sh", "-c", &script]).current_dir(desk.path(""));
    let finished = match unshare.output() {
        Ok(output) if output.status.success() || output.status.code() == Some(1) => Finished::of(output),
        _ => return println!("skipped: no file system can be mounted here"),
    };
    if finished.code == Some(1) && finished.stderr.contains("unshare failed") {
        return println!("skipped: {}", finished.stderr);
    }
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert!(finished.stderr.contains("the disk is full"), "{}", finished.stderr);
    assert!(!finished.stdout.contains(".tmp"), "left behind: {}", finished.stdout);
    for name in ["thermo.csv", "sample.xyz"] {
        assert_eq!(desk.read(name), desk.read(&format!("whole/{name}")));
    }
}

/// `jostle run liquid.toml 2>&1 | head -1` must not end the run.
#[cfg(unix)]
#[test]
fn a_run_without_a_reader_of_its_output_goes_on() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let finished = desk.command(&["run", "liquid.toml"]).stderr(writer).output().unwrap();
    assert_eq!(finished.status.code(), Some(0));
    assert!(desk.read("liquid/summary.json").contains("finished"));
}

#[test]
fn a_finished_run_has_nothing_to_resume() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    desk.succeed(&["run", "liquid.toml"]);
    let before = desk.read("liquid/thermo.csv");
    let finished = desk.succeed(&["resume", "liquid"]);
    assert!(finished.stderr.contains("finished"), "{}", finished.stderr);
    assert_eq!(desk.read("liquid/thermo.csv"), before);
}

/// A run finds the files beside its input from wherever it is resumed, though others of the same names are there, and
/// where all was moved together; where one has changed, it is not resumed.
#[cfg(unix)]
#[test]
fn resumed_runs_find_their_own_files() {
    let desk = Desk::new();
    let table = (1..=60).map(|k| {
        let r = 0.05 * f64::from(k);
        format!("{k} {r} {} {}\n", r.powi(-6), 6.0 * r.powi(-7))
    });
    let table = format!("REPULSION\nN 60\n\n{}", table.collect::<String>());
    desk.write("pair.table", &table);
    let force = "[[force]]\nkind = \"table\"\ncutoff = 2\npairs.\"A-A\" = { file = \"pair.table\" }\n";
    let text = format!(
        "units = \"lj\"\n[system]\nlattice = \"fcc\"\natoms = 108\ndensity = 0.6\ntemperature = 1\n[species.A]\n{force}\
         [[stage]]\nsteps = 20000\ntimestep = 0.002\nthermo = {{ every = 50 }}\n[run]\nreproducible = true\nthreads = 1\n"
    );
    desk.write("m.toml", text);
    std::fs::create_dir(desk.path("elsewhere")).unwrap();
    desk.write("elsewhere/pair.table", table.replace("REPULSION", "OTHER").replace(" 0.05 ", " 0.06 "));
    let begin = || {
        let stopped = interrupt(&desk, "-INT", &["run", "m.toml", "--output", "broken"]);
        assert_eq!(stopped.code, Some(130), "{}", stopped.stderr);
    };
    let resume = |run: &str| {
        let mut command = desk.command(&["resume", run]);
        Finished::of(command.current_dir(desk.path("elsewhere")).output().unwrap())
    };
    desk.succeed(&["run", "m.toml", "--output", "whole"]);
    begin();
    let finished = resume("../broken");
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(desk.read("broken/thermo.csv"), desk.read("whole/thermo.csv"));
    std::fs::remove_dir_all(desk.path("broken")).unwrap();

    begin();
    std::fs::create_dir(desk.path("moved")).unwrap();
    for name in ["m.toml", "pair.table", "broken"] {
        std::fs::rename(desk.path(name), desk.path("moved").join(name)).unwrap();
    }
    let finished = resume("../moved/broken");
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(desk.read("moved/broken/thermo.csv"), desk.read("whole/thermo.csv"));
    for name in ["m.toml", "pair.table"] {
        std::fs::rename(desk.path("moved").join(name), desk.path(name)).unwrap();
    }

    begin();
    desk.write("pair.table", table.replace("1 0.05 ", "1 0.0501 "));
    let changed = resume("../broken");
    assert_eq!(changed.code, Some(1), "{}", changed.stderr);
    assert!(changed.stderr.contains("pair.table"), "{}", changed.stderr);
    assert!(changed.stderr.contains("is not as it was"), "{}", changed.stderr);
}
