//! Runs by `mpiexec`, with every MPI that is found: MPICH's wheel of PyPI, and Open MPI.

use crate::jostle::{Desk, Finished, LIQUID, repository};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A launcher: its name and program.
type Launcher = (&'static str, PathBuf);

/// The launchers here; `JOSTLE_TEST_MPICH` is the folder of MPICH's wheel.
fn launchers() -> Vec<Launcher> {
    let wheel =
        std::env::var_os("JOSTLE_TEST_MPICH").map_or_else(|| repository("target/mpich"), PathBuf::from);
    let all = [("MPICH", wheel.join("bin/mpiexec")), ("Open MPI", PathBuf::from("/usr/bin/mpirun.openmpi"))];
    let (there, missing): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, program)| program.is_file());
    for (name, program) in missing {
        eprintln!("skipped: no mpiexec of {name} ({})", program.display());
    }
    there
}

/// `mpiexec -n N jostle` with arguments, ready to start.
fn mpiexec(desk: &Desk, (name, program): &Launcher, n: usize, arguments: &[&str]) -> Command {
    let jostle = desk.command(arguments);
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", "120"]).arg(program);
    if *name == "Open MPI" {
        command.args(["--allow-run-as-root", "--oversubscribe"]);
    }
    command.args(["-n", &n.to_string()]).arg(jostle.get_program()).args(jostle.get_args());
    command.current_dir(desk.path("")).stdin(Stdio::null()).env("NO_COLOR", "1");
    command
}

fn finish(desk: &Desk, launcher: &Launcher, n: usize, arguments: &[&str]) -> Finished {
    Finished::of(mpiexec(desk, launcher, n, arguments).output().expect("mpiexec starts"))
}

#[test]
fn processes_write_what_one_process_writes() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    desk.succeed(&["run", "liquid.toml", "--output", "one"]);
    for launcher in launchers() {
        for n in [2, 4] {
            let finished =
                finish(&desk, &launcher, n, &["run", "liquid.toml", "--output", "many", "--overwrite"]);
            let (name, talk) = (launcher.0, finished.stderr);
            assert_eq!(finished.code, Some(0), "{name}: {talk}");
            assert!(talk.contains(&format!("on {n} ranks ({name}")), "{name}: {talk}");
            assert_eq!(talk.matches("256 atoms").count(), 1, "{name}: {talk}");
            assert_eq!(desk.read("one/thermo.csv"), desk.read("many/thermo.csv"), "{name}: {n} ranks");
        }
    }
}

/// Volumes that a run had, each once.
fn volumes(rows: &str) -> BTreeSet<&str> {
    let column = rows.split(['\n', ',']).position(|name| name == "volume").expect("a column of volumes");
    rows.lines().skip(1).filter_map(|row| row.split(',').nth(column)).collect()
}

/// Thermostat of a stage.
const BATH: &str = "thermostat = { kind = \"langevin\", temperature = 1.44, friction = 1 }";

/// GPUs of processes, which emulated ones are as if each process were on a host of its own, have the bits of one; a run goes
/// on with another number of them.
#[test]
fn gpus_of_processes_write_what_one_gpu_writes() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    desk.write("half.toml", LIQUID.replace("steps = 80", "steps = 40"));
    let emulated = repository("target/emulated");
    let finish = |mut command: Command| {
        let finished = Finished::of(command.env("JOSTLE_EMULATED_GPU", &emulated).output().unwrap());
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        finished.stderr
    };
    let run = |input, folder| ["run", input, "--device", "cuda", "--overwrite", "--output", folder];
    finish(desk.command(&run("liquid.toml", "one")));
    let breathes = "barostat = { kind = \"monte-carlo\", pressure = 1, every = 5 }";
    desk.write(
        "breathes.toml",
        LIQUID.replace("trajectory = {", &format!("{breathes}\n{BATH}\ntrajectory = {{")),
    );
    finish(desk.command(&run("breathes.toml", "breathing")));
    assert!(volumes(&desk.read("breathing/thermo.csv")).len() > 2, "the box breathes");
    // Half of a run on one GPU, to go on with.
    let half = |folder| {
        finish(desk.command(&run("half.toml", folder)));
        desk.write(&format!("{folder}/input.toml"), LIQUID);
    };
    half("resumed");
    finish(desk.command(&["resume", "resumed", "--device", "cuda"]));
    for launcher in launchers() {
        let same = |folder: &str| {
            let rows = |folder: &str| desk.read(&format!("{folder}/thermo.csv"));
            assert_eq!(rows(folder), rows("many"), "{folder}, {}", launcher.0);
        };
        let talk = finish(mpiexec(&desk, &launcher, 2, &run("liquid.toml", "many")));
        assert!(talk.contains("2 x CUDA emulated") && talk.contains("on 2 ranks"), "{}: {talk}", launcher.0);
        same("one");
        finish(mpiexec(&desk, &launcher, 2, &run("breathes.toml", "many")));
        same("breathing");
        half("many");
        finish(mpiexec(&desk, &launcher, 2, &["resume", "many", "--device", "cuda"]));
        same("resumed");
    }
}

/// Processes with a domain each have the energies of one process to rounding.
#[test]
fn domains_are_those_of_one_process() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID.replace("reproducible = true", "precision = \"double\"\nskin = 0.3"));
    desk.succeed(&["run", "liquid.toml", "--output", "one"]);
    let numbers = |text: String| -> Vec<f64> {
        text.lines()
            .skip(1)
            .flat_map(|row| row.split(','))
            .filter_map(|cell| cell.trim().parse().ok())
            .collect()
    };
    let one = numbers(desk.read("one/thermo.csv"));
    for launcher in launchers() {
        for n in [2, 4] {
            let finished =
                finish(&desk, &launcher, n, &["run", "liquid.toml", "--output", "many", "--overwrite"]);
            assert_eq!(finished.code, Some(0), "{}: {}", launcher.0, finished.stderr);
            assert!(finished.stderr.contains(&format!("domains, on {n} ranks")), "{}", finished.stderr);
            let many = numbers(desk.read("many/thermo.csv"));
            assert_eq!(one.len(), many.len());
            let worst =
                one.iter().zip(&many).map(|(a, b)| (a - b).abs() / (1.0 + a.abs())).fold(0.0, f64::max);
            assert!(worst < 1e-6, "{}: rows are {worst:e} apart", launcher.0);
        }
    }
}

#[test]
fn an_error_of_the_input_appears_once() {
    let desk = Desk::new();
    desk.write("wrong.toml", LIQUID.replace("density", "dnesity"));
    for launcher in launchers() {
        let finished = finish(&desk, &launcher, 4, &["run", "wrong.toml"]);
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
        assert_eq!(
            finished.stderr.matches("dnesity").count(),
            desk.jostle(&["run", "wrong.toml"]).stderr.matches("dnesity").count()
        );
        // Help is the work of rank 0, too.
        let help = finish(&desk, &launcher, 2, &["--help"]);
        assert_eq!((help.code, help.stdout.matches("Usage:").count()), (Some(0), 1));
    }
}

/// A run that does not end by itself, once it has written a checkpoint.
fn begin(desk: &Desk, launcher: &Launcher, n: usize) -> Child {
    desk.write("long.toml", LIQUID.replace("steps = 80", "steps = 100_000_000"));
    let arguments = ["run", "long.toml", "--output", "long", "--overwrite"];
    let mut command = mpiexec(desk, launcher, n, &arguments);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("mpiexec starts");
    wait_for("a checkpoint", || desk.path("long/latest.checkpoint").is_file());
    child
}

fn wait_for(what: &str, mut there: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !there() {
        assert!(begun.elapsed() < Duration::from_secs(100), "{what} did not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The processes of `jostle` in a folder, in the order of their start.
fn processes(desk: &Desk) -> Vec<String> {
    let output = Command::new("pgrep").args(["-f", "jostle run long.toml"]).output().expect("pgrep");
    let ids = String::from_utf8_lossy(&output.stdout).into_owned();
    let here = desk.path("").canonicalize().unwrap();
    let is_here = |id: &&str| std::fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd == here);
    let is_jostle =
        |id: &&str| std::fs::read_link(format!("/proc/{id}/exe")).is_ok_and(|exe| exe.ends_with("jostle"));
    ids.lines().filter(is_here).filter(is_jostle).map(str::to_string).collect()
}

#[test]
fn a_rank_that_is_killed_takes_the_run_down() {
    for launcher in launchers() {
        let desk = Desk::new();
        let child = begin(&desk, &launcher, 3);
        let ranks = processes(&desk);
        assert_eq!(ranks.len(), 3, "{ranks:?}");
        Command::new("kill").args(["-9", &ranks[2]]).status().expect("kill");
        let output = child.wait_with_output().expect("an end");
        assert_ne!(output.status.code(), Some(0));
        wait_for("the end of the ranks", || processes(&desk).is_empty());
        // The last checkpoint is whole: the run goes on from it, alone, and writes another one.
        let written =
            || std::fs::metadata(desk.path("long/latest.checkpoint")).and_then(|facts| facts.modified()).ok();
        let last = written();
        let alone = desk.command(&["resume", "long"]).stderr(Stdio::piped()).spawn().expect("jostle starts");
        wait_for("another checkpoint", || written() != last);
        Command::new("kill").args(["-TERM", &alone.id().to_string()]).status().expect("kill");
        let output = alone.wait_with_output().expect("an end");
        assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_signal_to_rank_0_ends_all_with_a_checkpoint() {
    for launcher in launchers() {
        let desk = Desk::new();
        let child = begin(&desk, &launcher, 2);
        // Rank 0 alone talks about its progress, but any rank may be the first of the list: all get the signal,
        // as from a launcher.
        for id in processes(&desk) {
            Command::new("kill").args(["-TERM", &id]).status().expect("kill");
        }
        let finished = Finished::of(child.wait_with_output().expect("an end"));
        assert!(finished.stderr.contains("a checkpoint is written"), "{}", finished.stderr);
        wait_for("the end of the ranks", || processes(&desk).is_empty());
    }
}

#[test]
fn a_rank_that_is_signalled_twice_takes_the_run_down() {
    for launcher in launchers() {
        let desk = Desk::new();
        let child = begin(&desk, &launcher, 3);
        let rank = processes(&desk).pop().expect("a rank");
        let signal = || Command::new("kill").args(["-TERM", &rank]).status().expect("kill");
        signal();
        // Signals within a second are one request. Where the rank is rank 0 the first one ends the run.
        std::thread::sleep(Duration::from_millis(2500));
        signal();
        let output = child.wait_with_output().expect("an end");
        assert_ne!(output.status.code(), Some(0));
        wait_for("the end of the ranks", || processes(&desk).is_empty());
        assert!(desk.path("long/latest.checkpoint").is_file());
    }
}
