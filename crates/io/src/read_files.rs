//! Files that a piece of work reads, with sums of their contents, by which a run that goes on can tell if one has changed.

use jostle_core::{Error, Result};
use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A file that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFile {
    /// Its path, as it was opened.
    pub path: PathBuf,
    /// Checksum of its content (CRC-32).
    pub sum: u32,
    /// Use of the file.
    pub use_of: FileUse,
}

/// Use of a file that a run reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileUse {
    /// Forces: a run that goes on needs it as it was.
    Forces,
    /// Beginning of a run: coordinates.
    Beginning,
}

thread_local! {
    /// Files that this thread has read since a record began; `None` outside of records.
    static READ: RefCell<Option<Vec<ReadFile>>> = const { RefCell::new(None) };
}

/// Does some work; returns its result with the files that this thread has read for it: tables, potentials, topologies
/// and those of [`note`], and coordinates, which a run needs at its beginning alone.
pub fn recorded<T>(work: impl FnOnce() -> T) -> (T, Vec<ReadFile>) {
    let outer = READ.replace(Some(Vec::new()));
    let result = work();
    (result, READ.replace(outer).unwrap_or_default())
}

/// Notes a file that is read elsewhere.
///
/// # Errors
/// If it cannot be read.
pub fn note(path: &Path) -> Result<()> {
    add(path, checksum(path)?, FileUse::Forces);
    Ok(())
}

/// Checksum of the content of a file.
///
/// # Errors
/// If it cannot be read.
pub fn checksum(path: &Path) -> Result<u32> {
    let unreadable = |e| Error::io("read", path, &e);
    let mut file = File::open(path).map_err(unreadable)?;
    let (mut sum, mut block) = (crc32fast::Hasher::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut block).map_err(unreadable)? {
            0 => break,
            n => sum.update(&block[..n]),
        }
    }
    Ok(sum.finalize())
}

/// Notes a file with this content.
pub(crate) fn note_bytes(path: &Path, bytes: &[u8], use_of: FileUse) {
    if READ.with_borrow(Option::is_some) {
        add(path, crc32fast::hash(bytes), use_of);
    }
}

fn add(path: &Path, sum: u32, use_of: FileUse) {
    READ.with_borrow_mut(|read| {
        read.iter_mut().for_each(|read| read.push(ReadFile { path: path.to_path_buf(), sum, use_of }));
    });
}
