//! Lines of a stream, none of which may be longer than a limit: a stream without ends of lines (an
//! archive of zeros) would else be read into memory as one.

use std::io::{BufRead, Error, ErrorKind, Read, Result};

/// The most bytes of a line. Those of real files have far fewer; second lines of extended XYZ, which may
/// hold whole tables, have the most.
pub(crate) const LONGEST_LINE: u64 = 1 << 24;

/// Function that returns true for the bytes of a line of comment, which no value is read from.
pub(crate) type IsComment = fn(&[u8]) -> bool;

/// Replaces `line` by the next one, with its end; `false` where the stream is over. Lines of comment, for which
/// `is_comment` returns true, may be of any encoding.
///
/// # Errors
/// If the stream cannot be read, or the line is longer than [`LONGEST_LINE`] or not UTF-8.
pub(crate) fn read_line(stream: &mut impl BufRead, line: &mut String, is_comment: IsComment) -> Result<bool> {
    line.clear();
    let mut bytes = std::mem::take(line).into_bytes();
    let read = Read::take(stream, LONGEST_LINE).read_until(b'\n', &mut bytes)?;
    if read as u64 == LONGEST_LINE && !bytes.ends_with(b"\n") {
        let message = format!("a line has more than {} MiB", LONGEST_LINE >> 20);
        return Err(Error::new(ErrorKind::InvalidData, message));
    }
    *line = match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) if is_comment(e.as_bytes()) => String::from_utf8_lossy(e.as_bytes()).into_owned(),
        Err(e) => {
            return Err(Error::new(ErrorKind::InvalidData, format!("it is not text: {}", e.utf8_error())));
        }
    };
    Ok(read > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufReader, repeat};

    fn none(_: &[u8]) -> bool {
        false
    }

    #[test]
    fn lines_come_one_by_one() {
        let mut stream = &b"first\n\nlast"[..];
        let mut line = String::new();
        for expected in ["first\n", "\n", "last"] {
            assert!(read_line(&mut stream, &mut line, none).unwrap());
            assert_eq!(line, expected);
        }
        assert!(!read_line(&mut stream, &mut line, none).unwrap());
        assert!(read_line(&mut &b"\xff\n"[..], &mut line, none).is_err());
    }

    #[test]
    fn a_line_without_an_end_is_refused() {
        let mut endless = BufReader::new(repeat(b'x'));
        let error = read_line(&mut endless, &mut String::new(), none).unwrap_err();
        assert!(error.to_string().contains("16 MiB"), "{error}");
        // A line that just fits.
        let mut text = vec![b'x'; LONGEST_LINE as usize - 1];
        text.push(b'\n');
        assert!(read_line(&mut &text[..], &mut String::new(), none).unwrap());
    }
}
