//! Memory of this machine: what a file asks for is compared with it before anything is allocated.

use jostle_core::{Error, Result};
use std::fs;

/// Memory that this process may still use, in bytes, where the system tells.
pub fn available() -> Option<u64> {
    within_cgroup("MemAvailable:")
}

/// All memory, in bytes, where the system tells.
pub fn total() -> Option<u64> {
    within_cgroup("MemTotal:")
}

/// A value of `/proc/meminfo`, or the memory limit of a container where that is less.
fn within_cgroup(key: &str) -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let limit = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let limit = limit.and_then(|text| text.trim().parse().ok());
    match (kibibytes(&meminfo, key), limit) {
        (Some(bytes), Some(limit)) => Some(bytes.min(limit)),
        (bytes, limit) => bytes.or(limit),
    }
}

fn kibibytes(meminfo: &str, key: &str) -> Option<u64> {
    let rest = meminfo.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: u64 = rest.trim().trim_end_matches("kB").trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Refuses an allocation of so many bytes that the machine cannot have; `what` is the subject of the error.
///
/// # Errors
/// If there is less memory than that.
pub fn expect(bytes: u64, what: &str) -> Result<()> {
    match available() {
        Some(most) if bytes > most => {
            let gibibytes = |bytes: u64| bytes as f64 / (1u64 << 30) as f64;
            Err(Error::input(format!(
                "{what} would take at least {:.1} GiB of memory, {:.1} GiB are free",
                gibibytes(bytes),
                gibibytes(most)
            )))
        }
        _ => Ok(()),
    }
}

/// Room for so many elements more, for numbers that come from outside.
///
/// # Errors
/// If the machine has not that much memory.
pub(crate) fn reserve<T>(list: &mut Vec<T>, n: usize, what: &str) -> Result<()> {
    let bytes = (n as u64).saturating_mul(size_of::<T>() as u64);
    expect(bytes, what)?;
    list.try_reserve_exact(n).map_err(|_| {
        Error::input(format!("{what} would take {bytes} bytes of memory, which are not to be had"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_the_machine_has_is_refused() {
        let mut list: Vec<[f64; 3]> = Vec::new();
        reserve(&mut list, 1000, "a list").unwrap();
        assert!(list.capacity() >= 1000);
        for n in [1 << 50, usize::MAX] {
            let error = reserve(&mut list, n, "a list").unwrap_err();
            assert!(error.message().starts_with("a list would take"), "{error}");
        }
    }

    #[test]
    fn kibibytes_are_found_by_name() {
        let text = "MemTotal:  16 kB\nMemAvailable:   3 kB\n";
        assert_eq!(kibibytes(text, "MemAvailable:"), Some(3072));
        assert_eq!(kibibytes(text, "Swap:"), None);
    }
}
