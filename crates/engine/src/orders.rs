//! Orders to a run under way: pause, go on, stop, hold another temperature.
//!
//! Who gives one writes `order.json` into the folder of the run. The run looks there ten times a
//! second, takes the file away, does what it says and writes `answer.json`. So orders come from
//! wherever the folder is seen, another machine included, and no run listens to a network.

use crate::atomic_file::{read_short, replace_file};
use crate::run_folder::{SUMMARY, status};
use jostle_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::time::{Duration, Instant};

/// The file an order waits in.
pub const ORDER: &str = "order.json";
pub(crate) const ANSWER: &str = "answer.json";
/// Bytes beyond which a file holds neither an order nor an answer.
const LONGEST: u64 = 4096;
/// How long a run may take to look: steps of millions of atoms, and checkpoints of them, take time.
const PATIENCE: Duration = Duration::from_secs(20);
/// Between two looks for the answer.
const GLANCE: Duration = Duration::from_millis(20);

/// What a run can be told.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Write a checkpoint and wait.
    Pause,
    /// Go on after a pause.
    GoOn,
    /// Write a checkpoint and end; `jostle resume` goes on.
    Stop,
    /// Hold the atoms at another temperature, in the unit of temperature, until the stage ends.
    Temperature(f64),
}

/// An order on its way.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Given {
    pub id: String,
    pub order: Order,
}

/// What became of the last order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Answer {
    id: String,
    /// Why it was not done.
    refused: Option<String>,
}

/// Gives an order to the run that writes to a folder, and waits until it has heard.
///
/// # Errors
/// If no run is under way there, it does not listen, or it cannot do what it was told.
pub fn give(folder: &Path, order: Order) -> Result<()> {
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
    let text = serde_json::to_string(&Given { id: id.clone(), order });
    let text = text.map_err(|e| Error::input(format!("this cannot be told: {e}")))?;
    let path = folder.join(ORDER);
    // Only one at a time: whoever comes second waits for the first to be taken.
    let begun = Instant::now();
    let mut file = loop {
        match OpenOptions::new().write(true).create_new(true).open(&path) {
            Ok(file) => break file,
            Err(e) if e.kind() == ErrorKind::AlreadyExists && begun.elapsed() < PATIENCE => {
                std::thread::sleep(GLANCE);
            }
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                return Err(Error::file(&path, "an earlier order waits here, and the run does not take it")
                    .hint("the run has ended without notice, it seems: jostle resume goes on with it"));
            }
            Err(e) => return Err(Error::io("write", &path, &e)),
        }
    };
    file.write_all(format!("{text}\n").as_bytes()).map_err(|e| Error::io("write", &path, &e))?;
    drop(file);
    wait(folder, &id)
}

/// Waits for the answer to an order.
fn wait(folder: &Path, id: &str) -> Result<()> {
    let (path, begun) = (folder.join(ORDER), Instant::now());
    loop {
        let answer = read_short(&folder.join(ANSWER), LONGEST).ok();
        let answer: Option<Answer> = answer.and_then(|text| serde_json::from_str(&text).ok());
        if let Some(answer) = answer.filter(|answer| answer.id == id) {
            return answer.refused.map_or(Ok(()), |why| Err(Error::input(why)));
        }
        let waited = begun.elapsed();
        // Only one of the two takes the file away: an order that is taken back is not done later.
        if waited > PATIENCE && std::fs::remove_file(&path).is_ok() {
            return Err(Error::file(folder, "the run does not hear: it has not looked for 20 s")
                .hint("it has ended without notice, it seems: jostle resume goes on with it"));
        }
        if waited > 2 * PATIENCE {
            return Err(Error::file(folder, "the run has taken the order, but does not answer"));
        }
        std::thread::sleep(GLANCE);
    }
}

/// The order that waits in a folder, if there is one. A file that is still being written, or that
/// its writer takes back meanwhile, is none.
///
/// # Errors
/// If it says nothing that can be done.
pub(crate) fn take(folder: &Path) -> Result<Option<Given>> {
    let path = folder.join(ORDER);
    let text = match read_short(&path, LONGEST) {
        Ok(text) => text,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        // Without the file nobody can give the next order; a link is removed, and not the file behind it.
        Err(e) => {
            let removed = std::fs::remove_file(&path);
            return removed.map_or(Ok(None), |()| Err(Error::file(&path, format!("this is no order: {e}"))));
        }
    };
    if !text.ends_with('\n') || std::fs::remove_file(&path).is_err() {
        return Ok(None);
    }
    let given = serde_json::from_str(&text);
    given.map(Some).map_err(|e| Error::file(&path, format!("this is no order: {e}")))
}

/// Answers an order.
pub(crate) fn answer(folder: &Path, id: String, refused: Option<String>) -> Result<()> {
    let path = folder.join(ANSWER);
    let text = serde_json::to_string(&Answer { id, refused });
    let text = text.map_err(|e| Error::file(&path, e.to_string()))?;
    replace_file(&path, format!("{text}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_taken_once_and_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(ORDER);
        assert_eq!(take(folder.path()).unwrap(), None);
        let half = r#"{"id":"7","order":{"temp"#;
        std::fs::write(&path, half).unwrap();
        assert_eq!(take(folder.path()).unwrap(), None);
        std::fs::write(&path, format!("{half}erature\":2.5}}}}\n")).unwrap();
        let given = Given { id: "7".into(), order: Order::Temperature(2.5) };
        assert_eq!(take(folder.path()).unwrap(), Some(given));
        assert!(!path.exists());
        std::fs::write(&path, "\"fly\"\n").unwrap();
        assert!(take(folder.path()).unwrap_err().to_string().contains("no order"));
        assert_eq!(take(folder.path()).unwrap(), None);
    }

    #[test]
    fn only_short_plain_files_are_orders() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(ORDER);
        let refused = || {
            let error = take(folder.path()).unwrap_err();
            assert!(error.to_string().contains("no order"), "{error}");
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
        // A folder cannot be removed: it is no order, however often the run looks.
        std::fs::create_dir_all(path.join("inside")).unwrap();
        assert_eq!(take(folder.path()).unwrap(), None);
    }

    #[test]
    fn nobody_gives_orders_where_nothing_runs() {
        let folder = tempfile::tempdir().unwrap();
        for nowhere in [folder.path(), &folder.path().join("nowhere")] {
            let refused = give(nowhere, Order::Pause).unwrap_err();
            assert!(refused.message().contains("no run is under way"), "{refused}");
            assert!(refused.help().unwrap().contains("folder"));
        }
        for status in ["finished", "interrupted", "failed: a reason"] {
            let summary = serde_json::json!({ "status": status }).to_string();
            std::fs::write(folder.path().join(SUMMARY), summary).unwrap();
            let refused = give(folder.path(), Order::Pause).unwrap_err().to_string();
            assert!(refused.contains(status), "{refused}");
        }
        assert!(!folder.path().join(ORDER).exists());
    }

    #[test]
    fn answers_reach_who_has_asked() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(SUMMARY), r#"{ "status": "running" }"#).unwrap();
        let run = folder.path().to_path_buf();
        let heard = std::thread::spawn(move || {
            let mut heard = Vec::new();
            while heard.len() < 2 {
                if let Some(given) = take(&run).unwrap() {
                    let refused = (given.order == Order::GoOn).then(|| "it does not wait".to_string());
                    answer(&run, given.id, refused).unwrap();
                    heard.push(given.order);
                }
            }
            heard
        });
        give(folder.path(), Order::Stop).unwrap();
        let refused = give(folder.path(), Order::GoOn).unwrap_err();
        assert!(refused.to_string().contains("it does not wait"), "{refused}");
        assert_eq!(heard.join().unwrap(), [Order::Stop, Order::GoOn]);
    }
}
