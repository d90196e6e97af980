//! Ranks that are processes, by every MPI that is found. The test program starts itself by `mpiexec`.

use jostle_transport::{mpi, self_test};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The test that ranks run; alone it does nothing.
#[test]
fn rank_of_the_self_test() {
    if std::env::var_os("JOSTLE_TEST_RANK").is_none() {
        return;
    }
    let communicator = mpi::join().unwrap().expect("a launch by mpiexec");
    self_test::run(&communicator).unwrap();
    if communicator.rank() == 0 {
        println!("{} ranks of {}", communicator.size(), communicator.describe());
    }
}

/// The test that ranks run with a library that is not that of their launcher.
#[test]
fn rank_of_a_mixed_launch() {
    if std::env::var_os("JOSTLE_TEST_RANK").is_none() {
        return;
    }
    let error = mpi::join().err().expect("an error");
    println!("{} [{}]", error.message(), error.help().unwrap_or_default());
}

/// The launchers here: MPICH's (a wheel of PyPI, `JOSTLE_TEST_MPICH` is its folder) and Open MPI's.
fn launchers() -> Vec<(&'static str, PathBuf)> {
    let wheel = std::env::var_os("JOSTLE_TEST_MPICH").map(PathBuf::from);
    let wheel = wheel.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/mpich"));
    let all = [("MPICH", wheel.join("bin/mpiexec")), ("Open MPI", PathBuf::from("/usr/bin/mpirun.openmpi"))];
    let (there, missing): (Vec<_>, Vec<_>) = all.into_iter().partition(|(_, program)| program.is_file());
    for (name, program) in missing {
        eprintln!("skipped: no mpiexec of {name} ({})", program.display());
    }
    there
}

/// Runs a test of this program on `n` ranks.
fn launch(program: &Path, n: usize, test: &str, library: Option<&Path>) -> Output {
    let mut command = Command::new("timeout");
    command.arg("60").arg(program);
    if program.ends_with("mpirun.openmpi") {
        command.args(["--allow-run-as-root", "--oversubscribe"]);
    }
    command.args(["-n", &n.to_string()]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env("JOSTLE_TEST_RANK", "1");
    if let Some(library) = library {
        command.env(mpi::CHOICE, library);
    }
    command.output().unwrap()
}

#[test]
fn the_self_test_passes_by_every_mpi() {
    for (name, program) in launchers() {
        for n in [2, 4] {
            let output = launch(&program, n, "rank_of_the_self_test", None);
            let text = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{name}: {text}{}", String::from_utf8_lossy(&output.stderr));
            assert!(text.contains(&format!("{n} ranks of {name}")), "{name}: {text}");
        }
    }
}

/// MPICH's older interface, which its wheel has, too.
#[test]
fn the_self_test_passes_by_the_interface_of_mpich() {
    let Some((_, program)) = launchers().into_iter().find(|(name, _)| *name == "MPICH") else { return };
    let library = program.parent().unwrap().parent().unwrap().join("lib/libmpi.so.12");
    let output = launch(&program, 2, "rank_of_the_self_test", Some(&library));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_library_of_another_mpi_is_an_error_with_a_remedy() {
    let launchers = launchers();
    let [(_, mpich), (_, open_mpi)] = &launchers[..] else { return };
    let own = mpich.parent().unwrap().parent().unwrap().join("lib/libmpi_abi.so.1");
    let cases = [
        (open_mpi, own.as_path(), "Open MPI's mpirun has started this, but"),
        (mpich, Path::new("libmpi.so.40"), "mpiexec of the MPICH family has started this, but"),
    ];
    for (launcher, library, expected) in cases {
        let output = launch(launcher, 2, "rank_of_a_mixed_launch", Some(library));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("start it with the mpiexec that belongs to the library"), "{text}");
    }
}

#[test]
fn a_missing_library_is_an_error_with_a_remedy() {
    for (name, program) in launchers() {
        let output = launch(&program, 2, "rank_of_a_mixed_launch", Some(Path::new("/nowhere/libmpi.so")));
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(
            text.contains("no MPI library that belongs to it is found (/nowhere/libmpi.so)"),
            "{name}: {text}"
        );
        assert!(text.contains("pip install mpich"), "{name}: {text}");
    }
}
