//! Commands to a run under way: pause, go on, stop, hold another temperature.
//!
//! The sender writes `order.json` into the folder of the run. The run looks there ten times a second, removes
//! the file, executes the command and writes `answer.json`. Commands can so be sent from any machine that
//! shares the folder, and a run needs no network connection.

use crate::atomic_file::{read_short, replace_file};
use crate::exchange_folder::ExchangeFolder;
pub use crate::run_files::COMMAND_FILE;
use crate::run_files::{ANSWER_FILE, SUMMARY, status};
use jostle_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// Largest size of a command or an answer, in bytes.
const LONGEST: u64 = 4096;
/// Time after which a sender gives up: steps and checkpoints of millions of atoms take seconds.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between two looks for the answer.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// A command to a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunCommand {
    /// Write a checkpoint and wait.
    Pause,
    /// Go on after a pause.
    GoOn,
    /// Write a checkpoint and end; `jostle resume` goes on.
    Stop,
    /// Hold another temperature, in the unit of temperature, until the stage ends, and write a checkpoint.
    Temperature(f64),
}

/// A command with its identifier, as in the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct IssuedCommand {
    pub id: String,
    pub order: RunCommand,
}

/// The answer to the last command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Answer {
    id: String,
    /// Reason why the command was refused.
    refused: Option<String>,
}

/// Sends a command to the run that writes to a folder, and waits for the answer.
///
/// # Errors
/// If no run is under way there, the run does not answer, or it refuses the command.
pub fn send(folder: &Path, order: RunCommand) -> Result<()> {
    if let RunCommand::Temperature(temperature) = order
        && !temperature.is_finite()
    {
        // As JSON, which has no such numbers, no run would understand it.
        return Err(Error::input(format!("no thermostat can hold a temperature of {temperature}")));
    }
    let has_summary = folder.join(SUMMARY).is_file();
    let is_exchange = !has_summary && ExchangeFolder::at(folder).is_some();
    if !has_summary && !is_exchange {
        return Err(Error::file(folder, "no run is under way here: there is no summary.json of one")
            .hint("give the folder that jostle run writes to"));
    }
    let status = if is_exchange { "running".to_string() } else { status(folder)? };
    if !matches!(status.as_str(), "running" | "paused") {
        let message = format!("no run is under way in this folder; its status is: {status}");
        return Err(
            Error::file(folder, message).hint("jostle resume goes on with a run that has not finished")
        );
    }
    if is_exchange || ExchangeFolder::of_replica(folder).is_some() {
        return Err(Error::file(folder, "replicas that exchange their atoms take no commands").hint(
            "end the exchange as a whole, by Ctrl-C or SIGTERM to its program; the command that began it goes on with it",
        ));
    }
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let id = format!("{}-{}", std::process::id(), since.as_nanos());
    let text = serde_json::to_string(&IssuedCommand { id: id.clone(), order });
    let text = text.map_err(|e| Error::input(format!("this command cannot be written: {e}")))?;
    let path = folder.join(COMMAND_FILE);
    // The file holds one command; a second sender waits until the first command is taken.
    let begun = Instant::now();
    let mut file = loop {
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => break file,
            Err(e) if e.kind() == ErrorKind::AlreadyExists && begun.elapsed() < PATIENCE => {
                std::thread::sleep(POLL_INTERVAL);
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                return Err(Error::file(
                    &path,
                    "an earlier command waits here, and the run does not take it",
                )
                .hint("the run has ended without notice, it seems: jostle resume goes on with it"));
            }
            Err(e) => return Err(Error::io("write", &path, &e)),
        }
    };
    file.write_all(format!("{text}\n").as_bytes()).map_err(|e| Error::io("write", &path, &e))?;
    drop(file);
    wait_for_answer(folder, &id)
}

/// Waits for the answer to a command.
fn wait_for_answer(folder: &Path, id: &str) -> Result<()> {
    let (path, begun) = (folder.join(COMMAND_FILE), Instant::now());
    loop {
        let answer = read_short(&folder.join(ANSWER_FILE), LONGEST).ok();
        let answer: Option<Answer> = answer.and_then(|text| serde_json::from_str(&text).ok());
        if let Some(answer) = answer.filter(|answer| answer.id == id) {
            return answer.refused.map_or(Ok(()), |why| Err(Error::input(why)));
        }
        let waited = begun.elapsed();
        // Either the sender or the run removes the file: a command that is taken back is not executed later.
        if waited > PATIENCE && std::fs::remove_file(&path).is_ok() {
            return Err(Error::file(
                folder,
                "the run does not respond: it has not looked for commands for 20 s",
            )
            .hint("it has ended without notice, it seems: jostle resume goes on with it"));
        }
        if waited > 2 * PATIENCE {
            return Err(Error::file(folder, "the run has taken the command, but does not answer"));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

/// The command in a folder, if there is one. A file that is still being written, or that its sender takes
/// back meanwhile, does not count.
///
/// # Errors
/// If the file holds no valid command.
pub(crate) fn take(folder: &Path) -> Result<Option<IssuedCommand>> {
    let path = folder.join(COMMAND_FILE);
    let text = match read_short(&path, LONGEST) {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        // The file is removed, since it would block the next command; of a link, only the link itself.
        Err(e) => {
            let removed = std::fs::remove_file(&path);
            return removed
                .map_or(Ok(None), |()| Err(Error::file(&path, format!("this is no command: {e}"))));
        }
    };
    if !text.ends_with('\n') || std::fs::remove_file(&path).is_err() {
        return Ok(None);
    }
    let given = serde_json::from_str(&text);
    given.map(Some).map_err(|e| Error::file(&path, format!("this is no command: {e}")))
}

/// Answers a command.
pub(crate) fn answer(folder: &Path, id: String, refused: Option<String>) -> Result<()> {
    let path = folder.join(ANSWER_FILE);
    let text = serde_json::to_string(&Answer { id, refused });
    let text = text.map_err(|e| Error::file(&path, e.to_string()))?;
    replace_file(&path, format!("{text}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_taken_once_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(COMMAND_FILE);
        assert_eq!(take(folder.path()).unwrap(), None);
        let half = r#"{"id":"7","order":{"temp"#;
        std::fs::write(&path, half).unwrap();
        assert_eq!(take(folder.path()).unwrap(), None);
        std::fs::write(&path, format!("{half}erature\":2.5}}}}\n")).unwrap();
        let given = IssuedCommand { id: "7".into(), order: RunCommand::Temperature(2.5) };
        assert_eq!(take(folder.path()).unwrap(), Some(given));
        assert!(!path.exists());
        std::fs::write(&path, "\"fly\"\n").unwrap();
        assert!(take(folder.path()).unwrap_err().to_string().contains("no command"));
        assert_eq!(take(folder.path()).unwrap(), None);
    }

    #[test]
    fn only_short_plain_files_are_commands() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(COMMAND_FILE);
        let refused = || {
            let error = take(folder.path()).unwrap_err();
            assert!(error.to_string().contains("no command"), "{error}");
            assert!(!path.exists() && take(folder.path()).unwrap().is_none(), "the next one can come");
        };
        std::fs::write(&path, format!("\"pause\"{}\n", " ".repeat(LONGEST as usize))).unwrap();
        refused();
        std::fs::write(&path, b"\xff\xfe\n").unwrap();
        refused();
        #[cfg(unix)]
        {
            let target = folder.path().join("target");
            std::fs::write(&target, "{\"id\":\"7\",\"order\":\"pause\"}\n").unwrap();
            std::os::unix::fs::symlink(&target, &path).unwrap();
            refused();
            assert!(target.exists());
        }
        // A folder cannot be removed as a file; it counts as no command.
        std::fs::create_dir_all(path.join("inside")).unwrap();
        assert_eq!(take(folder.path()).unwrap(), None);
    }

    #[test]
    fn commands_need_a_run() {
        let folder = tempfile::tempdir().unwrap();
        for nowhere in [folder.path(), &folder.path().join("nowhere")] {
            let refused = send(nowhere, RunCommand::Pause).unwrap_err();
            assert!(refused.message().contains("no run is under way"), "{refused}");
            assert!(refused.help().unwrap().contains("folder"));
        }
        for status in ["finished", "interrupted", "failed: a reason"] {
            let summary = serde_json::json!({ "status": status }).to_string();
            std::fs::write(folder.path().join(SUMMARY), summary).unwrap();
            let refused = send(folder.path(), RunCommand::Pause).unwrap_err().to_string();
            assert!(refused.contains(status), "{refused}");
        }
        for temperature in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let refused = send(folder.path(), RunCommand::Temperature(temperature)).unwrap_err();
            assert!(refused.message().contains("no thermostat"), "{refused}");
        }
        assert!(!folder.path().join(COMMAND_FILE).exists());
    }

    /// Neither a replica nor its exchange, which has no summary, looks for commands.
    #[test]
    fn replicas_take_no_commands() {
        let folder = tempfile::tempdir().unwrap();
        let replica = folder.path().join("a");
        std::fs::create_dir(&replica).unwrap();
        std::fs::write(replica.join(SUMMARY), r#"{ "status": "running" }"#).unwrap();
        let record = r#"{ "folders": ["a", "b"], "every": 10, "commit": 3 }"#;
        std::fs::write(folder.path().join("exchange.json"), record).unwrap();
        for place in [folder.path(), &replica] {
            let refused = send(place, RunCommand::Pause).unwrap_err();
            assert!(refused.message().contains("take no commands"), "{refused}");
            assert!(refused.help().unwrap().contains("SIGTERM"), "{refused}");
        }
        std::fs::write(replica.join(SUMMARY), r#"{ "status": "finished" }"#).unwrap();
        assert!(send(&replica, RunCommand::Pause).unwrap_err().message().contains("finished"));
        assert!(!replica.join(COMMAND_FILE).exists());
    }

    #[test]
    fn answers_reach_the_sender() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(SUMMARY), r#"{ "status": "running" }"#).unwrap();
        let run = folder.path().to_path_buf();
        let received = std::thread::spawn(move || {
            let mut received = Vec::new();
            while received.len() < 2 {
                if let Some(given) = take(&run).unwrap() {
                    let refused = (given.order == RunCommand::GoOn).then(|| "it does not wait".to_string());
                    answer(&run, given.id, refused).unwrap();
                    received.push(given.order);
                }
            }
            received
        });
        send(folder.path(), RunCommand::Stop).unwrap();
        let refused = send(folder.path(), RunCommand::GoOn).unwrap_err();
        assert!(refused.to_string().contains("it does not wait"), "{refused}");
        assert_eq!(received.join().unwrap(), [RunCommand::Stop, RunCommand::GoOn]);
    }
}
