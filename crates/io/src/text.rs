//! Files of text that are read as a whole.

use crate::lines::{IsComment, LONGEST_LINE};
use crate::memory;
use crate::read_files::{FileUse, note_bytes};
use jostle_core::{Error, Result};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Programs that unpack files with these first bytes.
const PACKED: [(&[u8], &str); 4] = [
    (&[0x1f, 0x8b], "gunzip"),
    (b"\xfd7zXZ", "unxz"),
    (b"BZh", "bunzip2"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "unzstd"),
];

/// The bytes of a file with lines. A file without ends (a device, a pipe) is given up where its line
/// is longer than any, or where memory ends.
///
/// # Errors
/// If the file cannot be read, is compressed or too large, or has a line of more than [`LONGEST_LINE`]
/// bytes.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    let unreadable = |e| Error::io("read", path, &e);
    let file = File::open(path).map_err(unreadable)?;
    let size = file.metadata().ok().filter(|known| known.is_file()).map_or(0, |known| known.len());
    let mut bytes = Vec::new();
    let reserve = |bytes: &mut Vec<u8>, n| memory::reserve(bytes, n, "the file").map_err(|e| e.in_file(path));
    reserve(&mut bytes, usize::try_from(size).unwrap_or(usize::MAX))?;
    let mut stream = BufReader::with_capacity(1 << 16, file);
    // Bytes of the line that the latest block ended in.
    let mut unfinished = 0;
    loop {
        let block = stream.fill_buf().map_err(unreadable)?;
        if block.is_empty() {
            break;
        }
        if bytes.is_empty() {
            refuse_packed(path, block)?;
        }
        let first_end = block.iter().position(|b| *b == b'\n').unwrap_or(block.len());
        if (unfinished + first_end) as u64 > LONGEST_LINE {
            let message = format!("the line has more than {} MiB", LONGEST_LINE >> 20);
            return Err(Error::file_line(path, line_at(&bytes), message).hint("is it a file of text?"));
        }
        unfinished = match block.iter().rposition(|b| *b == b'\n') {
            Some(end) => block.len() - end - 1,
            None => unfinished + block.len(),
        };
        if bytes.capacity() - bytes.len() < block.len() {
            let more = bytes.len().max(block.len());
            reserve(&mut bytes, more)?;
        }
        bytes.extend_from_slice(block);
        let read = block.len();
        stream.consume(read);
    }
    Ok(bytes)
}

/// Refuses the contents of a compressed file.
///
/// # Errors
/// If they are such.
pub(crate) fn refuse_packed(path: &Path, bytes: &[u8]) -> Result<()> {
    match PACKED.iter().find(|(magic, _)| bytes.starts_with(magic)) {
        Some((_, program)) => {
            let error = Error::file(path, "the file is compressed");
            Err(error.hint(format!("unpack it first, with {program}")))
        }
        None => Ok(()),
    }
}

/// The text of a file, in which lines of comment may be of any encoding.
///
/// # Errors
/// Errors of [`read_bytes`], or if it is not UTF-8.
pub(crate) fn read(path: &Path, is_comment: IsComment) -> Result<String> {
    text_of(path, read_recorded(path)?, is_comment)
}

/// The text of a file that only the beginning of a run needs: it may change then ([`crate::read_files`]).
///
/// # Errors
/// Errors of [`read`].
pub(crate) fn read_for_beginning(path: &Path, is_comment: IsComment) -> Result<String> {
    text_of(path, bytes_for_beginning(path)?, is_comment)
}

/// The bytes of such a file.
///
/// # Errors
/// Errors of [`read_bytes`].
pub(crate) fn bytes_for_beginning(path: &Path) -> Result<Vec<u8>> {
    read_bytes(path).inspect(|bytes| note_bytes(path, bytes, FileUse::Beginning))
}

/// The bytes of a file that a run needs whenever it goes on, see [`crate::read_files`].
///
/// # Errors
/// Errors of [`read_bytes`].
pub(crate) fn read_recorded(path: &Path) -> Result<Vec<u8>> {
    read_bytes(path).inspect(|bytes| note_bytes(path, bytes, FileUse::Forces))
}

fn text_of(path: &Path, mut bytes: Vec<u8>, is_comment: IsComment) -> Result<String> {
    if std::str::from_utf8(&bytes).is_err() {
        let lines = bytes.split_inclusive(|b| *b == b'\n');
        let readable = lines.map(|line| match is_comment(line) {
            true => String::from_utf8_lossy(line).into_owned().into_bytes(),
            false => line.to_vec(),
        });
        bytes = readable.flatten().collect();
    }
    String::from_utf8(bytes).map_err(|e| {
        let line = line_at(&e.as_bytes()[..e.utf8_error().valid_up_to()]);
        Error::file_line(path, line, "the file is not text (UTF-8)")
    })
}

/// Returns true for a line whose letters of another encoding stand behind this mark of a comment.
pub(crate) fn is_behind(mark: u8, line: &[u8]) -> bool {
    let readable = line.utf8_chunks().next().map_or("", |chunk| chunk.valid());
    readable.as_bytes().contains(&mark)
}

/// The number of the line that comes after this text.
fn line_at(before: &[u8]) -> usize {
    before.iter().filter(|b| **b == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_do_not_end_are_refused_at_their_number() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.top");
        let long = vec![b'x'; LONGEST_LINE as usize + 1];
        std::fs::write(&path, [b"one\ntwo\n", &long[1..], b"\nfour\n"].concat()).unwrap();
        assert_eq!(read(&path, |_| false).unwrap().lines().count(), 4);
        std::fs::write(&path, [b"one\ntwo\n", &long[..]].concat()).unwrap();
        let error = read(&path, |_| false).unwrap_err();
        assert!(error.message().contains("16 MiB") && error.place().unwrap().line == Some(3), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_device_without_an_end_is_given_up() {
        let error = read(Path::new("/dev/zero"), |_| false).unwrap_err();
        assert!(error.message().contains("16 MiB"), "{error}");
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.top");
        for (bytes, message, line) in [
            (&b"good\nb\xffd"[..], "not text", Some(2)),
            (b"\x1f\x8b\x08", "compressed", None),
            (b"\x28\xb5\x2f\xfd", "compressed", None),
        ] {
            std::fs::write(&path, bytes).unwrap();
            let error = read(&path, |_| false).unwrap_err();
            assert!(error.message().contains(message), "{error}");
            assert_eq!(error.place().unwrap().line, line, "{error}");
        }
    }
}
