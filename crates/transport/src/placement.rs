//! Share of a rank in the cores of its host.

use crate::Communicator;
use jostle_core::Result;

/// Threads for each rank where nothing is asked for, in the order of ranks: the cores that a rank may use,
/// divided among the ranks of its host that may use the same ones.
///
/// # Errors
/// If another rank has failed.
pub fn threads_per_rank(communicator: &Communicator) -> Result<Vec<usize>> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let places = communicator.gather_texts(&place())?;
    let cores = communicator.gather_equal(&[cores as u64])?;
    let sharers = |place: &String| places.iter().filter(|other| *other == place).count().max(1);
    Ok(places.iter().zip(cores).map(|(place, cores)| (cores as usize / sharers(place)).max(1)).collect())
}

/// Host and allowed cores of this process, as a text that differs where either does.
fn place() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let allowed = status.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap_or_default();
    format!("{} {allowed}", boot.trim())
}
