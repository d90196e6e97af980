//! Compiled kernels on disk, in `$XDG_CACHE_HOME/jostle` or `~/.cache/jostle`. The name of a file is a digest
//! of all that went into it, and the file ends in a checksum: a damaged one is made again, and a folder that
//! cannot be written costs time only. Files that were not used for 90 days are removed when a new one is
//! written.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use std::{fs, io, io::Write};

const DAY: Duration = Duration::from_secs(24 * 3600);
const UNUSED: u32 = 90;

/// Folder of the cache, if the environment names the user's caches.
pub fn folder() -> Option<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let caches = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")))?;
    Some(caches.join("jostle"))
}

/// Path in a folder of a file that is made of these parts.
pub fn path(folder: &Path, parts: &[&str], extension: &str) -> PathBuf {
    folder.join(format!("{:032x}.{extension}", digest(parts)))
}

/// Content of the file at `path`, if it exists undamaged.
pub fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = fs::read(path).ok()?;
    let end = bytes.len().checked_sub(TRAILER)?;
    let sound = bytes[end..] == trailer(&bytes[..end]);
    bytes.truncate(end);
    if sound && age(path).is_some_and(|age| age > DAY) {
        // Failures are ignored: a folder that cannot be written is read all the same.
        let file = fs::File::options().append(true).open(path);
        let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
    }
    sound.then_some(bytes)
}

/// Turn of the threads of this process that need a file: the first one makes it, the others wait and find it.
pub fn turn_at(place: &Path) -> Arc<Mutex<()>> {
    static TURNS: Mutex<BTreeMap<PathBuf, Arc<Mutex<()>>>> = Mutex::new(BTreeMap::new());
    let mut turns = TURNS.lock().unwrap_or_else(PoisonError::into_inner);
    turns.entry(place.to_owned()).or_default().clone()
}

/// Content of one file for several pieces of code, each behind its length.
pub fn packed(pieces: &[Vec<u8>]) -> Vec<u8> {
    let length = |piece: &[u8]| (piece.len() as u64).to_le_bytes();
    pieces.iter().flat_map(|piece| length(piece).into_iter().chain(piece.iter().copied())).collect()
}

/// Pieces of code that were packed into a file; `None` where they were not.
pub fn unpacked(mut bytes: &[u8]) -> Option<Vec<Vec<u8>>> {
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let (piece, rest) = rest.split_at_checked(usize::try_from(u64::from_le_bytes(*length)).ok()?)?;
        pieces.push(piece.to_vec());
        bytes = rest;
    }
    Some(pieces)
}

/// Time since a file was written or, to a day, used.
fn age(path: &Path) -> Option<Duration> {
    fs::metadata(path).ok()?.modified().ok()?.elapsed().ok()
}

/// Removes files that were not used for long.
fn prune(folder: &Path) {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let ours = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let digits = name.split('.').next().unwrap_or_default();
        digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit()) && path.is_file()
    };
    for path in files.filter(ours).filter(|path| age(path).is_some_and(|age| age > UNUSED * DAY)) {
        // Failures are ignored: a file that stays costs disk space only.
        let _ = fs::remove_file(path);
    }
}

/// Writes `bytes`, whole or not at all. The file begins with them; loaders of programs or libraries ignore
/// what follows.
///
/// # Errors
/// If the folder cannot be created or written.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    // Temporary files have unpredictable names, and are removed after a failure.
    let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
    temporary.write_all(bytes)?;
    temporary.write_all(&trailer(bytes))?;
    temporary.persist(path)?;
    prune(folder);
    Ok(())
}

const TRAILER: usize = 24;

fn trailer(bytes: &[u8]) -> [u8; TRAILER] {
    let mut trailer = [0; TRAILER];
    trailer[..16].copy_from_slice(&fnv(FNV_START, bytes).to_le_bytes());
    trailer[16..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
    trailer
}

/// FNV-1a with 128 bits (Fowler, Noll, Vo; draft-eastlake-fnv).
fn digest(parts: &[&str]) -> u128 {
    parts
        .iter()
        .fold(FNV_START, |hash, part| fnv(fnv(hash, &(part.len() as u64).to_le_bytes()), part.as_bytes()))
}

const FNV_START: u128 = 0x6c62272e07bb014262b821756295c58d;

fn fnv(start: u128, bytes: &[u8]) -> u128 {
    const PRIME: u128 = 0x0000000001000000000000000000013b;
    bytes.iter().fold(start, |hash, &byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_and_missing_files_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new").join("kernel.cubin");
        assert_eq!(read(&file), None);
        write(&file, b"some machine code").unwrap();
        assert_eq!(read(&file).as_deref(), Some(&b"some machine code"[..]));
        write(&file, b"other machine code").unwrap();
        assert_eq!(read(&file).as_deref(), Some(&b"other machine code"[..]));
        let whole = fs::read(&file).unwrap();
        for k in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[k] ^= 4;
            fs::write(&file, &damaged).unwrap();
            assert_eq!(read(&file), None, "byte {k}");
            fs::write(&file, &whole[..k]).unwrap();
            assert_eq!(read(&file), None, "cut at {k}");
        }
        let kept = Vec::from_iter(fs::read_dir(file.parent().unwrap()).unwrap());
        assert_eq!(kept.len(), 1, "nothing temporary is left");
        assert!(write(&file.join("below a file"), b"code").is_err());
    }

    #[test]
    fn unused_code_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let named = |part: &str| path(folder.path(), &[part], "cubin");
        let other = folder.path().join("notes.txt");
        fs::write(&other, "not ours").unwrap();
        for name in ["used", "unused"] {
            write(&named(name), b"code").unwrap();
        }
        for path in [named("used"), named("unused"), other.clone()] {
            let file = fs::File::options().append(true).open(path).unwrap();
            file.set_modified(SystemTime::now() - (UNUSED + 1) * DAY).unwrap();
        }
        assert!(read(&named("used")).is_some());
        write(&named("new"), b"code").unwrap();
        assert!(named("used").is_file() && named("new").is_file() && other.is_file());
        assert!(!named("unused").exists());
    }

    #[test]
    fn pieces_are_unpacked_as_they_were_packed() {
        for pieces in [vec![], vec![vec![]], vec![b"one".to_vec(), vec![], vec![0; 300]]] {
            let file = packed(&pieces);
            assert_eq!(unpacked(&file), Some(pieces));
        }
        let file = packed(&[b"one".to_vec(), b"two".to_vec()]);
        let cuts = Vec::from_iter((0..file.len()).filter(|k| unpacked(&file[..*k]).is_some()));
        assert_eq!(cuts, [0, 11], "between pieces");
        assert_eq!(unpacked(&[0xff; 9]), None);
    }

    #[test]
    fn other_parts_have_another_name() {
        let names = [
            digest(&["a", "b"]),
            digest(&["ab", ""]),
            digest(&["", "ab"]),
            digest(&["ab"]),
            digest(&["b", "a"]),
        ];
        let distinct = std::collections::BTreeSet::from(names);
        assert_eq!(distinct.len(), names.len());
    }
}
