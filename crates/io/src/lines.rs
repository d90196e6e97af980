//! Lines of a stream, none of which may be longer than a limit: a stream without ends of lines (an
//! archive of zeros) would else be read into memory as one.

use std::io::{BufRead, Error, ErrorKind, Read, Result};

/// The most bytes of a line. Those of real files have far fewer; second lines of extended XYZ, which may
/// hold whole tables, have the most.
pub(crate) const LONGEST_LINE: u64 = 1 << 24;

/// Replaces `line` by the next one, with its end; `false` where the stream is over.
///
/// # Errors
/// If the stream cannot be read, or the line is longer than [`LONGEST_LINE`] or not UTF-8.
pub(crate) fn read_line(stream: &mut impl BufRead, line: &mut String) -> Result<bool> {
    line.clear();
    let mut bytes = std::mem::take(line).into_bytes();
    let read = Read::take(stream, LONGEST_LINE).read_until(b'\n', &mut bytes)?;
    if read as u64 == LONGEST_LINE && !bytes.ends_with(b"\n") {
        let message = format!("a line has more than {} MiB", LONGEST_LINE >> 20);
        return Err(Error::new(ErrorKind::InvalidData, message));
    }
    *line = String::from_utf8(bytes)
        .map_err(|e| Error::new(ErrorKind::InvalidData, format!("it is not text: {}", e.utf8_error())))?;
    Ok(read > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, repeat};

    #[test]
    fn lines_come_one_by_one() {
        let mut stream = &b"first\n\nlast"[..];
        let mut line = String::new();
        for expected in ["first\n", "\n", "last"] {
            assert!(read_line(&mut stream, &mut line).unwrap());
            assert_eq!(line, expected);
        }
        assert!(!read_line(&mut stream, &mut line).unwrap());
        assert!(read_line(&mut &b"\xff\n"[..], &mut line).is_err());
    }

    #[test]
    fn a_line_without_an_end_is_refused() {
        let mut endless = BufReader::new(repeat(b'x'));
        let error = read_line(&mut endless, &mut String::new()).unwrap_err();
        assert!(error.to_string().contains("16 MiB"), "{error}");
        // A line that just fits.
        let mut text = vec![b'x'; LONGEST_LINE as usize - 1];
        text.push(b'\n');
        assert!(read_line(&mut &text[..], &mut String::new()).unwrap());
    }
}
