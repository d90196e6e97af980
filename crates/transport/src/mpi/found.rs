//! MPI libraries and launchers of this machine.

use super::abi::Abi;
use super::library::version_of;
use super::places::{folders, mpiexec};
use std::path::PathBuf;

/// A library of an MPI on this machine, and the launcher that is in the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// Its binary interface.
    pub abi: Abi,
    /// Its path, or its bare name where the system's loader finds it.
    pub path: PathBuf,
    /// Its version, for people.
    pub version: String,
}

/// The libraries that can be loaded here, and the `mpiexec` of the path.
pub fn found() -> (Vec<Found>, Option<PathBuf>) {
    let folders = folders();
    let mut all: Vec<Found> = Vec::new();
    for abi in Abi::ALL {
        let beside = folders.iter().map(|folder| folder.join(abi.file())).filter(|path| path.is_file());
        for path in beside.chain([PathBuf::from(abi.file())]) {
            let Ok(version) = version_of(&path) else { continue };
            let known = all.iter().any(|other| other.abi == abi && other.version == version);
            if !known {
                all.push(Found { abi, path, version });
            }
        }
    }
    (all, mpiexec())
}
