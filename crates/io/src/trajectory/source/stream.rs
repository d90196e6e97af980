//! The bytes of a file that is read from beginning to end, unpacked on the way, and how many of them there
//! can still be: the size that a frame claims is compared with that before memory is reserved.

use super::{damaged, unreadable};
use flate2::bufread::MultiGzDecoder;
use jostle_core::{Error, Result};
use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const BUFFER: usize = 1 << 16;

/// Bytes that one byte packed by deflate (gzip, HDF5) can stand for, at most (RFC 1951: 258 for two
/// bits).
pub(in crate::trajectory) const FROM_DEFLATE: u64 = 1032;
/// Bytes that one byte of Zstandard can stand for, at most: a block of 128 KiB takes four (RFC 8878).
const FROM_ZSTANDARD: u64 = 1 << 15;

/// Bytes, one after the other.
pub(in crate::trajectory) struct ByteStream {
    bytes: Box<dyn BufRead + Send>,
    /// File that the bytes come from, and the largest number of them that one byte of it stands for.
    origin: Option<(File, u64)>,
    taken: u64,
}

impl ByteStream {
    /// Opens a file; the bytes that were read of it are counted in `read`. Files packed by gzip or
    /// Zstandard are unpacked.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(path: &Path, read: Arc<AtomicU64>) -> Result<Self> {
        let file = File::open(path).map_err(|e| Error::io("read", path, &e))?;
        let origin = file.try_clone().map_err(|e| Error::io("read", path, &e))?;
        let mut plain = BufReader::with_capacity(BUFFER, Counted { file, read });
        let start = plain.fill_buf().map_err(|e| Error::io("read", path, &e))?;
        let (bytes, most): (Box<dyn BufRead + Send>, u64) = if is_gzip(start) {
            (Box::new(BufReader::with_capacity(BUFFER, MultiGzDecoder::new(plain))), FROM_DEFLATE)
        } else if is_zstandard(start) {
            let decoder = zstd::stream::read::Decoder::with_buffer(plain);
            let decoder = decoder.map_err(|e| Error::io("unpack", path, &e))?;
            (Box::new(BufReader::with_capacity(BUFFER, decoder)), FROM_ZSTANDARD)
        } else {
            (Box::new(plain), 1)
        };
        let mut stream = ByteStream { bytes, origin: Some((origin, most)), taken: 0 };
        let start = stream.fill_buf().map_err(|e| unreadable(&e).in_file(path))?;
        if most > 1 && (is_gzip(start) || is_zstandard(start)) {
            return Err(Error::file(path, "it is packed twice").hint("unpack it once, with gunzip or unzstd"));
        }
        Ok(stream)
    }

    /// A text that is in memory.
    pub fn of_text(text: &str) -> Self {
        ByteStream { bytes: Box::new(Cursor::new(text.as_bytes().to_vec())), origin: None, taken: 0 }
    }

    /// Returns true where the bytes are unpacked on the way.
    pub fn is_packed(&self) -> bool {
        self.origin.as_ref().is_some_and(|(_, most)| *most > 1)
    }

    /// Largest number of bytes that can still come; `None` where nothing tells, as of a pipe. Files that are
    /// still being written grow.
    pub fn left(&self) -> Option<u64> {
        let (file, most) = self.origin.as_ref()?;
        let now = file.metadata().ok().filter(|now| now.is_file())?;
        Some(now.len().saturating_mul(*most).saturating_sub(self.taken))
    }

    /// Checks that the file has room for these atoms, which take this number of bytes at least.
    ///
    /// # Errors
    /// If the file has no room for them.
    pub fn check_claim(&self, atoms: usize, bytes: u64) -> Result<()> {
        check_claim(atoms as u64, bytes, self.left())
    }
}

/// Checks that the rest of a file has room for these atoms, which take this number of bytes at least.
///
/// # Errors
/// If there is no room for them.
pub(in crate::trajectory) fn check_claim(atoms: u64, bytes: u64, left: Option<u64>) -> Result<()> {
    match left {
        Some(left) if bytes > left => Err(damaged(format!(
            "it says that it has {atoms} atoms, which take {bytes} bytes at least; {left} are left in the file"
        ))
        .hint("the file is truncated: still being written, or a run or a copy was cut short; or the number is wrong")),
        _ => Ok(()),
    }
}

fn is_gzip(start: &[u8]) -> bool {
    start.starts_with(&[0x1f, 0x8b])
}

fn is_zstandard(start: &[u8]) -> bool {
    start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
}

impl Read for ByteStream {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.bytes.read(buffer)?;
        self.taken += n as u64;
        Ok(n)
    }
}

impl BufRead for ByteStream {
    fn fill_buf(&mut self) -> std::io::Result<&[u8]> {
        self.bytes.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.taken += count as u64;
        self.bytes.consume(count);
    }
}

/// Counts the bytes read, so that progress can be shown.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let n = self.file.read(buffer)?;
        self.read.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}
