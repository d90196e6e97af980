//! Places where the library of an MPI may be.

use super::abi::Abi;
use super::launch::{CHOICE, Launch, Launcher};
use std::path::{Path, PathBuf};

/// The libraries that may belong to a launcher, best first.
fn interfaces(launcher: Launcher) -> &'static [Abi] {
    match launcher {
        Launcher::OpenMpi => &[Abi::OpenMpi, Abi::Standard],
        Launcher::Mpich => &[Abi::Standard, Abi::Mpich],
        Launcher::Pmix | Launcher::Slurm => &[Abi::Standard, Abi::Mpich, Abi::OpenMpi],
    }
}

/// Names and paths to try for a launch, best first: a library beside the launcher belongs to it, whatever the
/// system has.
pub(super) fn candidates(launch: &Launch) -> Vec<(Abi, PathBuf)> {
    if let Some(choice) = std::env::var_os(CHOICE) {
        let path = PathBuf::from(choice);
        return vec![(Abi::of_file(&path), path)];
    }
    let folders = folders();
    let mut all = Vec::new();
    for abi in interfaces(launch.launcher) {
        let beside = folders.iter().map(|folder| folder.join(abi.file())).filter(|path| path.is_file());
        all.extend(beside.map(|path| (*abi, path)));
        all.push((*abi, PathBuf::from(abi.file())));
    }
    // Of two interfaces the nearer library is the better one: beside the launcher before the system's.
    all.sort_by_key(|(_, path)| path.is_relative());
    all
}

/// Folders of libraries that belong to the parent of this process (a launcher's daemon), to the `mpiexec` in
/// the path, and to the environment of Python or Conda.
pub(super) fn folders() -> Vec<PathBuf> {
    let parent = std::fs::read_to_string("/proc/self/stat").ok().and_then(|stat| parent(&stat));
    let parent = parent.and_then(|id| std::fs::read_link(format!("/proc/{id}/exe")).ok());
    let programs = parent.into_iter().chain(mpiexec());
    let of_programs = programs.filter_map(|program| Some(program.parent()?.parent()?.join("lib")));
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"];
    let of_environments = environments.into_iter().filter_map(std::env::var_os);
    let of_environments = of_environments.map(|folder| Path::new(&folder).join("lib"));
    of_programs.chain(of_environments).collect()
}

/// The process that has started this one, by `/proc/self/stat` (proc(5)): the fourth field; the second is a name
/// in parentheses.
fn parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// The `mpiexec` of the path, links followed.
pub(super) fn mpiexec() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let programs = std::env::split_paths(&path).map(|folder| folder.join("mpiexec"));
    programs.filter_map(|program| program.canonicalize().ok()).find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent("123 (jostle) S 77 123 1"), Some(77));
        assert_eq!(parent("123 (a) b (c) R 78 1"), Some(78));
        assert_eq!(parent("nonsense"), None);
    }
}
