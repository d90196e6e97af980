//! MPI as `jostle doctor` shows it: libraries and launchers found, and a test of messages between ranks.

use crate::output;
use crate::own_command::own_command;
use jostle_core::{Error, Result};
use jostle_engine::ranks;
use jostle_transport::mpi::{CHOICE, Found, found};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Longest time for two ranks that test messages, their start included.
const PATIENCE: Duration = Duration::from_secs(30);

/// Facts about MPI on this machine.
pub struct MpiFacts {
    libraries: Vec<Found>,
    launcher: Option<PathBuf>,
    /// Test between ranks; `None` without a library or a launcher.
    test: Option<MessageTest>,
}

/// Outcome of the test of messages between two ranks.
#[derive(Debug, Clone, PartialEq)]
enum MessageTest {
    /// Messages arrived, between these ranks.
    Passed(String),
    /// A message was wrong.
    Failed(String),
    /// The launcher that was found starts no ranks here, which is no fault of this program.
    NotStarted(String),
}

impl MpiFacts {
    /// Finds libraries and a launcher, and lets two ranks test messages; in a launch, its own ranks.
    pub fn look() -> Self {
        match ranks::self_test() {
            // Another MPI must not be loaded beside the one in use.
            Some(test) => {
                let test = test.map_or_else(|e| MessageTest::Failed(e.to_string()), MessageTest::Passed);
                MpiFacts { libraries: Vec::new(), launcher: None, test: Some(test) }
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
        !matches!(&self.test, Some(MessageTest::Failed(_)))
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
            Some(MessageTest::Passed(text)) => lines.push(("messages", format!("passed between {text}"))),
            Some(MessageTest::Failed(text)) => lines.push(("messages", format!("FAILED: {text}"))),
            Some(MessageTest::NotStarted(text)) => {
                lines.push(("messages", format!("not tested, mpiexec starts no ranks here: {text}")));
            }
            None => {}
        }
        lines
    }

    /// Facts as JSON.
    pub fn json(&self) -> Value {
        let library = |found: &Found| json!({ "version": found.version, "path": found.path, "interface": found.abi.name() });
        let test = self.test.as_ref().map(|test| match test {
            MessageTest::Passed(ranks) => json!({ "passed": true, "ranks": ranks }),
            MessageTest::Failed(error) => json!({ "passed": false, "error": error }),
            MessageTest::NotStarted(error) => json!({ "passed": null, "error": error }),
        });
        json!({
            "libraries": self.libraries.iter().map(library).collect::<Vec<_>>(),
            "mpiexec": self.launcher,
            "messages": test,
        })
    }
}

/// Line that rank 0 prints when ranks are there and their test begins.
const BEGUN: &str = "messages between ranks";

/// The test of messages as rank 0 of a launch makes it: prints that it begins, and the ranks it was between.
///
/// # Errors
/// If this is no launch, a message went wrong, or nothing can be printed.
pub fn messages() -> Result<()> {
    let alone =
        || Error::input("messages are tested between ranks").hint("mpiexec -n 2 jostle doctor --messages");
    if !ranks::is_launched() {
        return Err(alone());
    }
    output::print(&format!("{BEGUN}\n"))?;
    let ranks = ranks::self_test().unwrap_or_else(|| Err(alone()))?;
    output::print(&format!("{ranks}\n"))
}

/// Runs the test of messages by two ranks of this program.
fn two_ranks(launcher: &Path) -> MessageTest {
    match launch(launcher) {
        Ok(output) => outcome(launcher, &output),
        Err(error) => MessageTest::NotStarted(format!("{}: {error}", launcher.display())),
    }
}

/// Output of two ranks, which are killed when they need too long.
fn launch(launcher: &Path) -> std::io::Result<Output> {
    let mut command = Command::new(launcher);
    command.args(["-n", "2"]).args(own_command()?).args(["doctor", "--messages"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // Open MPI takes more ranks than cores, and root, only where it is told so.
    let permissions =
        ["OMPI_MCA_rmaps_base_oversubscribe", "OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"];
    command.envs(permissions.map(|name| (name, "1"))).env_remove(CHOICE);
    let mut child = command.spawn()?;
    let begun = Instant::now();
    while child.try_wait()?.is_none() {
        if begun.elapsed() > PATIENCE {
            // An end is waited for below, however it comes.
            let _ = child.kill();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.wait_with_output()
}

/// Outcome of the test by what the ranks and their launcher have printed.
fn outcome(launcher: &Path, output: &Output) -> MessageTest {
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).trim().to_string());
    let begun = stdout.lines().any(|line| line.trim() == BEGUN);
    let why = || match stderr.is_empty() {
        true => format!("{} ended with {}", launcher.display(), output.status),
        false => stderr.clone(),
    };
    match (output.status.success(), begun, stdout.lines().last()) {
        (true, true, Some(ranks)) if ranks.trim() != BEGUN => MessageTest::Passed(ranks.trim().to_string()),
        (_, true, _) => MessageTest::Failed(why()),
        (_, false, _) => MessageTest::NotStarted(why()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    fn finished(code: i32, stdout: &str, stderr: &str) -> MessageTest {
        let status = ExitStatus::from_raw(code << 8);
        outcome("mpiexec".as_ref(), &Output { status, stdout: stdout.into(), stderr: stderr.into() })
    }

    #[test]
    fn a_launcher_that_starts_no_ranks_is_no_failure_of_messages() {
        let facts = |test| MpiFacts { libraries: Vec::new(), launcher: Some("mpiexec".into()), test };
        for launcher in ["/bin/false", "/bin/true", "/does/not/exist"] {
            let test = two_ranks(launcher.as_ref());
            assert!(matches!(&test, MessageTest::NotStarted(why) if why.contains(launcher)), "{test:?}");
            assert!(facts(Some(test)).passed());
        }
        let test = finished(1, "", "cannot find slots\n");
        assert_eq!(test, MessageTest::NotStarted("cannot find slots".into()));
        let shown = facts(Some(test)).lines();
        assert!(shown.iter().any(|(_, fact)| fact.contains("starts no ranks here: cannot find slots")));
    }

    #[test]
    fn a_wrong_message_is_a_failure() {
        let ranks = format!("{BEGUN}\n2 ranks of MPICH\n");
        assert_eq!(finished(0, &ranks, ""), MessageTest::Passed("2 ranks of MPICH".into()));
        for (code, stdout) in [(1, BEGUN), (0, BEGUN), (1, &ranks)] {
            let test = finished(code, stdout, "rank 1: 3 in place of 4");
            assert_eq!(test, MessageTest::Failed("rank 1: 3 in place of 4".into()));
            assert!(!MpiFacts { libraries: Vec::new(), launcher: None, test: Some(test) }.passed());
        }
    }
}
