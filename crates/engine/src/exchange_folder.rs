//! Folders of replica exchange, as other runs see them.

use jostle_core::{Error, Result};
use serde::Deserialize;
use std::path::Path;

/// Name of the record in the folder of the replicas.
pub const RECORD: &str = "exchange.json";

/// Replica exchange that a folder is of.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ExchangeFolder {
    /// Names of the folders of the replicas.
    #[serde(rename = "folders")]
    pub replicas: Vec<String>,
    /// Number of steps between two exchanges.
    pub every: u64,
}

impl ExchangeFolder {
    /// The exchange whose replicas are in a folder; `None` where there is none.
    pub fn at(folder: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(folder.join(RECORD)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// The exchange of which a folder has a replica; `None` for a run of its own.
    pub fn of_replica(folder: &Path) -> Option<Self> {
        let path = folder.canonicalize().ok()?;
        let exchange = ExchangeFolder::at(path.parent()?)?;
        let name = path.file_name()?.to_str()?;
        exchange.has(name).then_some(exchange)
    }

    /// Returns true where a folder of this name is one of a replica.
    pub fn has(&self, name: &str) -> bool {
        self.replicas.iter().any(|replica| replica == name)
    }

    /// Refuses a replica as a run of its own: part of its rows and frames are of atoms that it had from others.
    ///
    /// # Errors
    /// If the folder is one of a replica.
    pub fn refuse_replica(folder: &Path) -> Result<()> {
        let Some(ExchangeFolder { every, .. }) = ExchangeFolder::of_replica(folder) else { return Ok(()) };
        Err(Error::file(folder, "this folder holds a replica of an exchange, which does not go on alone").hint(
            format!("go on with all of them by the command that began the exchange: jostle sweep ... --exchange {every}"),
        ))
    }
}
