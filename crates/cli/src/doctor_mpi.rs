//! MPI as `jostle doctor` shows it: libraries and launchers found, and a test of messages between ranks.

use jostle_core::{Error, Result};
use jostle_engine::ranks;
use jostle_transport::mpi::{CHOICE, Found, found};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest time for two ranks that test messages, their start included.
const PATIENCE: Duration = Duration::from_secs(30);

/// Facts about MPI on this machine.
pub struct MpiFacts {
    libraries: Vec<Found>,
    launcher: Option<PathBuf>,
    /// Result of the test between ranks, in a sentence; `None` where no ranks can be started.
    test: Option<std::result::Result<String, String>>,
}

impl MpiFacts {
    /// Finds libraries and a launcher, and lets two ranks test messages; in a launch, its own ranks.
    pub fn look() -> Self {
        match ranks::self_test() {
            // Another MPI must not be loaded beside the one in use.
            Some(test) => {
                let test = Some(test.map_err(|error| error.to_string()));
                MpiFacts { libraries: Vec::new(), launcher: None, test }
            }
            None => {
                let (libraries, launcher) = found();
                let test = launcher.as_deref().filter(|_| !libraries.is_empty()).map(two_ranks);
                MpiFacts { libraries, launcher, test }
            }
        }
    }

    /// Returns true unless messages between ranks went wrong.
    pub fn passed(&self) -> bool {
        !matches!(&self.test, Some(Err(_)))
    }

    /// Lines for people: names and facts.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = Vec::new();
        for Found { abi, path, version } in &self.libraries {
            lines.push(("MPI", format!("{version}, {} ({})", path.display(), abi.name())));
        }
        match (&self.launcher, &self.test) {
            (Some(launcher), _) => lines.push(("mpiexec", launcher.display().to_string())),
            (None, None) => lines.push(("mpiexec", "not found (`pip install mpich` gives one)".into())),
            (None, Some(_)) => {}
        }
        match &self.test {
            Some(Ok(text)) => lines.push(("messages", format!("passed between {text}"))),
            Some(Err(text)) => lines.push(("messages", format!("FAILED: {text}"))),
            None => {}
        }
        lines
    }

    /// Facts as JSON.
    pub fn json(&self) -> Value {
        let library = |found: &Found| json!({ "version": found.version, "path": found.path, "interface": found.abi.name() });
        let test = self.test.as_ref().map(|test| match test {
            Ok(ranks) => json!({ "passed": true, "ranks": ranks }),
            Err(error) => json!({ "passed": false, "error": error }),
        });
        json!({
            "libraries": self.libraries.iter().map(library).collect::<Vec<_>>(),
            "mpiexec": self.launcher,
            "messages": test,
        })
    }
}

/// The test of messages as rank 0 of a launch makes it: prints the ranks it was between.
///
/// # Errors
/// If this is no launch, or a message went wrong.
pub fn messages() -> Result<String> {
    let alone =
        || Error::input("messages are tested between ranks").hint("mpiexec -n 2 jostle doctor --messages");
    ranks::self_test().unwrap_or_else(|| Err(alone()))
}

/// Runs the test of messages by two ranks of this program.
fn two_ranks(launcher: &Path) -> std::result::Result<String, String> {
    let failed = |error: std::io::Error| format!("{} cannot be started: {error}", launcher.display());
    let program = std::env::current_exe().map_err(failed)?;
    let mut command = Command::new(launcher);
    command.args(["-n", "2"]).arg(program).args(["doctor", "--messages"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Open MPI takes more ranks than cores, and root, only where it is told so.
    let permissions =
        ["OMPI_MCA_rmaps_base_oversubscribe", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"];
    command.envs(permissions.map(|name| (name, "1"))).env_remove(CHOICE);
    let mut child = command.spawn().map_err(failed)?;
    let begun = Instant::now();
    while child.try_wait().map_err(failed)?.is_none() {
        if begun.elapsed() > PATIENCE {
            // An end is waited for below, however it comes.
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().map_err(failed)?;
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).trim().to_string());
    match (output.status.success(), stdout.lines().last()) {
        (true, Some(ranks)) => Ok(ranks.to_string()),
        _ => Err(if stderr.is_empty() {
            format!("{} ended with {}", launcher.display(), output.status)
        } else {
            stderr
        }),
    }
}
