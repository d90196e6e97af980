//! Files of replica exchange: what has been exchanged, and the last set of checkpoints that belong together.
//!
//! Checkpoints of replicas are written one after the other, and a run may be killed between two of them. Each commit
//! therefore gives its checkpoints a name of their own, and `exchange.json`, which is replaced at once, says which commit
//! holds: whatever happens, there is a set of all replicas.

use crate::atomic_file::{AppendFile, replace_file};
use crate::exchange_folder::RECORD;
use crate::run_files::CHECKPOINT;
use jostle_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the table of exchanges.
const TABLE: &str = "exchange.csv";

/// Course of an exchange, as of the last commit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Record {
    /// Folders of the replicas, in their order.
    pub folders: Vec<String>,
    /// Steps between two exchanges.
    pub every: u64,
    /// Number of the commit; 0 before the first, when there are no checkpoints.
    pub commit: u64,
    /// Index of the stage under way.
    pub stage: usize,
    /// Steps of the stage made when atoms were last exchanged.
    pub exchanged_at: u64,
    /// Number of rounds of exchanges so far.
    pub rounds: u64,
    /// Configuration that each replica has, by the replica in which it began.
    pub configurations: Vec<usize>,
    /// Exchanges tried between each replica and the next one, and those accepted.
    pub tried: Vec<u64>,
    pub accepted: Vec<u64>,
    /// Length of the table.
    pub table_bytes: u64,
}

impl Record {
    pub fn new(folders: Vec<String>, every: u64) -> Self {
        let pairs = folders.len() - 1;
        Record {
            configurations: (0..folders.len()).collect(),
            folders,
            every,
            commit: 0,
            stage: 0,
            exchanged_at: 0,
            rounds: 0,
            tried: vec![0; pairs],
            accepted: vec![0; pairs],
            table_bytes: 0,
        }
    }

    /// The record in a folder; `None` where there is none.
    ///
    /// # Errors
    /// If it cannot be read, or is that of other replicas.
    pub fn read(folder: &Path, folders: &[String], every: u64) -> Result<Option<Self>> {
        let path = folder.join(RECORD);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Error::io("read", &path, &error)),
        };
        let record: Record = serde_json::from_str(&text)
            .map_err(|e| Error::file(&path, format!("this is no record of replica exchange: {e}")))?;
        let n = folders.len();
        let whole = record.configurations.len() == n
            && record.configurations.iter().all(|k| *k < n)
            && record.tried.len() + 1 == n
            && record.accepted.len() + 1 == n;
        if record.folders != folders || record.every != every || !whole {
            return Err(Error::file(
                &path,
                "this folder holds an exchange between other replicas, or at other steps",
            )
            .hint("give the same values and the same --exchange, or another folder with --output DIR"));
        }
        Ok(Some(record))
    }

    /// Says that the checkpoints of the replicas are a set, which takes the place of the one before.
    ///
    /// # Errors
    /// If a file cannot be written; the set before holds then.
    pub fn commit(&mut self, folder: &Path) -> Result<()> {
        let next = Record { commit: self.commit + 1, ..self.clone() };
        for replica in &self.folders {
            let replica = folder.join(replica);
            let (from, to) = (replica.join(CHECKPOINT), committed(&replica, next.commit));
            // One that a run left which was killed before its commit.
            let _ = fs::remove_file(&to);
            fs::hard_link(&from, &to)
                .or_else(|_| fs::copy(&from, &to).map(drop))
                .map_err(|e| Error::io("write", &to, &e))?;
        }
        next.write(folder)?;
        for replica in &self.folders {
            let _ = fs::remove_file(committed(&folder.join(replica), self.commit));
        }
        *self = next;
        Ok(())
    }

    pub fn write(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).unwrap_or_default() + "\n";
        replace_file(&folder.join(RECORD), text.as_bytes())
    }

    /// Makes the checkpoint of the last commit that from which a replica is resumed.
    ///
    /// # Errors
    /// If it is not there.
    pub fn restore(&self, replica: &Path) -> Result<()> {
        let path = committed(replica, self.commit);
        let bytes = fs::read(&path).map_err(|e| Error::io("read", &path, &e))?;
        replace_file(&replica.join(CHECKPOINT), &bytes)
    }

    /// The table of exchanges: a new one, or as long as at the last commit.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn table(&self, folder: &Path) -> Result<AppendFile> {
        let path = folder.join(TABLE);
        if self.table_bytes > 0 {
            return AppendFile::cut_back(path, self.table_bytes);
        }
        let columns: Vec<String> = self.folders.iter().map(|name| format!("\"{name}\"")).collect();
        AppendFile::create(path, &format!("step,{}\n", columns.join(",")))
    }
}

/// Checkpoint of a replica in a commit.
fn committed(replica: &Path, commit: u64) -> PathBuf {
    replica.join(format!("exchange-{commit}.checkpoint"))
}
