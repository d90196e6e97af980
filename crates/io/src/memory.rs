//! Memory: what an input or a file asks for is compared with what there is before it is allocated.

use jostle_core::{Error, Result};
use std::fs;
use std::path::Path;

/// Bytes that a run needs for each atom at least: positions, velocities, forces, a copy while it is built, and
/// the shortest of neighbour lists (543 as measured, with a list of 12 neighbours 583).
pub const BYTES_PER_ATOM: u64 = 500;

/// Refuses what needs more memory than there is.
///
/// # Errors
/// If so many bytes are more than the system has to give; the message says how many, and what for.
pub fn room_for(what: &str, bytes: u64) -> Result<()> {
    room_within(what, bytes, available())
}

/// Refuses a run of so many atoms if their memory cannot be had.
///
/// # Errors
/// As for [`room_for`].
pub fn room_for_atoms(atoms: u64) -> Result<()> {
    let bytes = atoms.saturating_mul(BYTES_PER_ATOM);
    room_for(&format!("{} atoms", grouped(atoms)), bytes)
        .map_err(|e| e.hint("ask for fewer atoms, or use a machine with more memory"))
}

fn room_within(what: &str, bytes: u64, available: Option<u64>) -> Result<()> {
    let needed = format!("{what} would take at least {} of memory", in_units(bytes));
    if let Some(available) = available.filter(|available| bytes > *available) {
        return Err(Error::input(format!("{needed}, but only {} are free", in_units(available))));
    }
    // Limits that are not known here hold, too.
    let mut probe: Vec<u8> = Vec::new();
    let reserved = usize::try_from(bytes).is_ok_and(|bytes| probe.try_reserve_exact(bytes).is_ok());
    // Lest the compiler leave it out.
    std::hint::black_box(&probe);
    match reserved {
        true => Ok(()),
        false => Err(Error::input(format!("{needed}, which are not to be had"))),
    }
}

/// Reserves memory for so many elements more, for numbers that come from outside.
///
/// # Errors
/// As for [`room_for`].
pub(crate) fn reserve<T>(list: &mut Vec<T>, n: usize, what: &str) -> Result<()> {
    let bytes = (n as u64).saturating_mul(size_of::<T>() as u64);
    room_for(what, bytes)?;
    list.try_reserve_exact(n).map_err(|_| Error::input(format!("there is no memory for {what}")))
}

/// Bytes of memory that this process may still use, where the system tells: what is free of the machine, and
/// of what the groups allow that the process is in (cgroups of Linux, versions 1 and 2).
pub fn available() -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok();
    let free = meminfo.and_then(|text| kibibytes(&text, "MemAvailable:"));
    free.into_iter().chain(of_groups(left_in)).min()
}

/// Bytes of memory that this process may ever use, likewise.
pub fn total() -> Option<u64> {
    let meminfo = fs::read_to_string("/proc/meminfo").ok();
    let all = meminfo.and_then(|text| kibibytes(&text, "MemTotal:"));
    all.into_iter().chain(of_groups(|folder, [limit, _]| number(&folder.join(limit)))).min()
}

/// A line of `/proc/meminfo`, in bytes.
fn kibibytes(meminfo: &str, key: &str) -> Option<u64> {
    let rest = meminfo.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: u64 = rest.trim().trim_end_matches("kB").trim().parse().ok()?;
    kib.checked_mul(1024)
}

/// Free memory of each group that this process is in, by its folder and the names of the files there that have
/// its limit and usage.
fn of_groups(read_limit: impl Fn(&Path, [&str; 2]) -> Option<u64>) -> Vec<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut found = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else { continue };
        let (root, names) = match controllers {
            "" => ("/sys/fs/cgroup", ["memory.max", "memory.current"]),
            some if some.split(',').any(|c| c == "memory") => {
                ("/sys/fs/cgroup/memory", ["memory.limit_in_bytes", "memory.usage_in_bytes"])
            }
            _ => continue,
        };
        // Groups above hold it, too; in a container its own group is the root.
        for folder in Path::new(group).ancestors() {
            found
                .extend(read_limit(&Path::new(root).join(folder.strip_prefix("/").unwrap_or(folder)), names));
        }
    }
    found
}

/// Free memory below the limit of one group. Pages of files, which can be dropped, are not counted as used.
fn left_in(folder: &Path, [limit, usage]: [&str; 2]) -> Option<u64> {
    let limit = number(&folder.join(limit))?;
    let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let field = |name: &str| stat.lines().find_map(|l| l.strip_prefix(name)?.trim().parse::<u64>().ok());
    let files = field("inactive_file ").unwrap_or(0) + field("active_file ").unwrap_or(0);
    let used = number(&folder.join(usage)).unwrap_or(0).saturating_sub(files);
    Some(limit.saturating_sub(used))
}

/// The number in a file; `None` for none, as `max`.
fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// A number of bytes as people read it.
fn in_units(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut value = bytes as f64;
    let mut unit = "bytes";
    for next in UNITS {
        if value < 1000.0 {
            break;
        }
        value /= 1024.0;
        unit = next;
    }
    let digits = usize::from(unit != "bytes" && value < 100.0);
    format!("{value:.digits$} {unit}")
}

/// A count in groups of three digits.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (k, digit) in digits.chars().enumerate() {
        if k > 0 && (digits.len() - k).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Vec3;

    #[test]
    fn more_than_there_is_is_refused_with_the_numbers() {
        let refused = |bytes, available| room_within("1,000 atoms", bytes, available).unwrap_err();
        let message = refused(500 << 30, Some(20 << 30)).message().to_string();
        assert_eq!(message, "1,000 atoms would take at least 500 GiB of memory, but only 20.0 GiB are free");
        // The system itself refuses impossible sizes where no limit is known.
        let message = refused(u64::MAX, None).message().to_string();
        assert_eq!(message, "1,000 atoms would take at least 16.0 EiB of memory, which are not to be had");
        room_within("little", 1 << 20, Some(20 << 30)).unwrap();
        room_within("little", 1 << 20, None).unwrap();
        let message = room_for_atoms(u64::from(u32::MAX) << 20).unwrap_err().message().to_string();
        assert!(message.starts_with("4,503,599,626,321,920 atoms would take at least 2.0 EiB"), "{message}");
    }

    #[test]
    fn lists_longer_than_memory_are_refused() {
        let mut list: Vec<Vec3> = Vec::new();
        reserve(&mut list, 1000, "a list").unwrap();
        assert!(list.capacity() >= 1000);
        for n in [1 << 50, usize::MAX] {
            let error = reserve(&mut list, n, "a list").unwrap_err();
            assert!(error.message().starts_with("a list would take"), "{error}");
        }
    }

    #[test]
    fn limits_of_groups_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let names = ["memory.max", "memory.current"];
        assert_eq!(left_in(folder.path(), names), None);
        write("memory.max", "max\n");
        assert_eq!(left_in(folder.path(), names), None);
        write("memory.max", "1000000\n");
        assert_eq!(left_in(folder.path(), names), Some(1_000_000));
        write("memory.current", "700000\n");
        write("memory.stat", "anon 100\ninactive_file 200000\nactive_file 100000\n");
        assert_eq!(left_in(folder.path(), names), Some(600_000));
        write("memory.current", "7000000\n");
        assert_eq!(left_in(folder.path(), names), Some(0));
        assert_eq!(kibibytes("MemFree: 1 kB\nMemAvailable:   12 kB\n", "MemAvailable:"), Some(12 << 10));
    }
}
