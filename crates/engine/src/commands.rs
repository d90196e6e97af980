//! Commands to a run under way: pause, go on, stop, hold another temperature.
//!
//! Who gives one writes `order.json` into the folder of the run. The run looks there ten times a
//! second, takes the file away, does what it says and writes `answer.json`. So commands come from
//! wherever the folder is seen, another machine included, and no run listens to a network.

use crate::atomic_file::{read_short, replace_file};
use crate::run_folder::{SUMMARY, status};
use jostle_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// The file with a command that has not been taken yet.
pub const COMMAND_FILE: &str = "order.json";
pub(crate) const ANSWER_FILE: &str = "answer.json";
/// Bytes beyond which a file holds neither a command nor an answer.
const LONGEST: u64 = 4096;
/// How long a run may take to look: steps of millions of atoms, and checkpoints of them, take time.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two looks for the answer.
const GLANCE: Duration = Duration::from_millis(20);

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
    /// Hold the atoms at another temperature, in the unit of temperature, until the stage ends.
    Temperature(f64),
}

/// A command with its number, as it stands in the file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct IssuedCommand {
    pub id: String,
    pub order: RunCommand,
}

/// The answer to the last command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Answer {
    id: String,
    /// Why it was not done.
    refused: Option<String>,
}

/// Sends a command to the run that writes to a folder, and waits for the answer.
///
/// # Errors
/// If no run is under way there, it does not listen, or it cannot do what it was told.
pub fn send(folder: &Path, order: RunCommand) -> Result<()> {
    if !folder.join(SUMMARY).is_file() {
        return Err(Error::file(folder, "no run is under way here: there is no summary.json of one")
            .hint("give the folder that jostle run writes to"));
    }
    let status = status(folder)?;
    if !matches!(status.as_str(), "running" | "paused") {
        let message = format!("no run is under way in this folder; its status is: {status}");
        return Err(
            Error::file(folder, message).hint("jostle resume goes on with a run that has not finished")
        );
    }
    let since = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default();
    let id = format!("{}-{}", std::process::id(), since.as_nanos());
    let text = serde_json::to_string(&IssuedCommand { id: id.clone(), order });
    let text = text.map_err(|e| Error::input(format!("this cannot be told: {e}")))?;
    let path = folder.join(COMMAND_FILE);
    // Only one at a time: whoever comes second waits for the first to be taken.
    let begun = Instant::now();
    let mut file = loop {
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => break file,
            Err(e) if e.kind() == ErrorKind::AlreadyExists && begun.elapsed() < PATIENCE => {
                std::thread::sleep(GLANCE);
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
        // Only one of the two takes the file away: a command that is taken back is not done later.
        if waited > PATIENCE && std::fs::remove_file(&path).is_ok() {
            return Err(Error::file(folder, "the run does not hear: it has not looked for 20 s")
                .hint("it has ended without notice, it seems: jostle resume goes on with it"));
        }
        if waited > 2 * PATIENCE {
            return Err(Error::file(folder, "the run has taken the command, but does not answer"));
        }
        std::thread::sleep(GLANCE);
    }
}

/// The command that waits in a folder, if there is one. A file that is still being written, or that
/// its writer takes back meanwhile, is none.
///
/// # Errors
/// If it says nothing that can be done.
pub(crate) fn take(folder: &Path) -> Result<Option<IssuedCommand>> {
    let path = folder.join(COMMAND_FILE);
    let text = match read_short(&path, LONGEST) {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        // Without the file nobody can give the next command; a link is removed, and not the file behind it.
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
        // A folder cannot be removed: it is no command, however often the run looks.
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
        assert!(!folder.path().join(COMMAND_FILE).exists());
    }

    #[test]
    fn answers_reach_the_sender() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(SUMMARY), r#"{ "status": "running" }"#).unwrap();
        let run = folder.path().to_path_buf();
        let heard = std::thread::spawn(move || {
            let mut heard = Vec::new();
            while heard.len() < 2 {
                if let Some(given) = take(&run).unwrap() {
                    let refused = (given.order == RunCommand::GoOn).then(|| "it does not wait".to_string());
                    answer(&run, given.id, refused).unwrap();
                    heard.push(given.order);
                }
            }
            heard
        });
        send(folder.path(), RunCommand::Stop).unwrap();
        let refused = send(folder.path(), RunCommand::GoOn).unwrap_err();
        assert!(refused.to_string().contains("it does not wait"), "{refused}");
        assert_eq!(heard.join().unwrap(), [RunCommand::Stop, RunCommand::GoOn]);
    }
}
