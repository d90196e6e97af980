//! Starting `jostle` and reading what it says.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A folder of its own to run `jostle` in.
pub struct Desk {
    folder: TempDir,
}

/// Output and status of a finished `jostle`.
pub struct Finished {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Desk {
    pub fn new() -> Self {
        Desk { folder: tempfile::tempdir().expect("a temporary folder") }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        std::fs::write(&path, text).expect("a file in the temporary folder");
        path
    }

    pub fn read(&self, name: &str) -> String {
        let path = self.path(name);
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Everything below the folder, sorted.
    pub fn files(&self) -> Vec<String> {
        fn walk(folder: &Path, root: &Path, found: &mut Vec<String>) {
            for entry in std::fs::read_dir(folder).expect("a readable folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    walk(&path, root, found);
                } else {
                    let name = path.strip_prefix(root).expect("a path below the root");
                    found.push(name.display().to_string());
                }
            }
        }
        let mut found = Vec::new();
        walk(self.folder.path(), self.folder.path(), &mut found);
        found.sort();
        found
    }

    /// `jostle` with arguments, ready to start in this folder.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_jostle"));
        command.args(arguments).current_dir(self.folder.path()).stdin(Stdio::null()).env("NO_COLOR", "1");
        command
    }

    /// Runs `jostle` to its end. Whatever it does, it must not panic.
    pub fn jostle(&self, arguments: &[&str]) -> Finished {
        Finished::of(self.command(arguments).output().expect("jostle starts"))
    }

    /// Runs `jostle` and insists on success.
    pub fn succeed(&self, arguments: &[&str]) -> Finished {
        let finished = self.jostle(arguments);
        assert_eq!(finished.code, Some(0), "jostle {arguments:?} failed:\n{}", finished.stderr);
        finished
    }
}

impl Finished {
    pub fn of(output: Output) -> Self {
        let finished = Finished {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("stderr is UTF-8"),
        };
        for sign in ["panicked", "bug in Jostle", "RUST_BACKTRACE"] {
            assert!(!finished.stderr.contains(sign), "jostle panicked:\n{}", finished.stderr);
        }
        finished
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in:\n{}", self.stdout))
    }
}

/// A file of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The example inputs: name and path.
pub fn examples() -> Vec<PathBuf> {
    let folder = repository("examples");
    let entries = std::fs::read_dir(&folder).expect("the folder of the examples");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    assert!(paths.len() >= 6, "examples are missing in {}", folder.display());
    paths
}

/// A small liquid: an input that every test can vary. 256 atoms, 120 steps.
pub const LIQUID: &str = r#"
title = "A small liquid"
units = "lj"

[system]
lattice = "fcc"
atoms = 256
density = 0.8442
temperature = 1.44
seed = 7

[species.A]
mass = 1

[[force]]
kind = "lennard-jones"
cutoff = 2.5
pairs."A-A" = { epsilon = 1, sigma = 1 }

[[stage]]
name = "equilibrate"
steps = 40
timestep = 0.005
thermostat = { kind = "bussi", temperature = 1.44, period = 0.1 }
thermo = { every = 10 }

[[stage]]
name = "sample"
steps = 80
timestep = 0.005
thermo = { every = 10 }
trajectory = { every = 20, format = "xyz" }

[run]
threads = 1
reproducible = true
"#;
