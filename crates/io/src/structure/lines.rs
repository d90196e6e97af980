//! Lines of a text file with their numbers.

use jostle_core::{Error, Result, Vec3, Vector};
use std::path::Path;
use std::str::FromStr;

/// Iterator over the lines of a file.
#[derive(Clone)]
pub(crate) struct Lines<'a> {
    path: &'a Path,
    /// Rest of the text.
    rest: &'a str,
    number: usize,
    /// True where the line read last has no end, as the last one of a file that was cut short.
    cut: bool,
}

/// Advice for files that end too early.
pub(crate) const TRUNCATED: &str =
    "the file is truncated: still being written, or a run or a copy was cut short";

impl<'a> Lines<'a> {
    pub fn new(path: &'a Path, text: &'a str) -> Self {
        // A mark of byte order, as some editors write in front, is no text.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        Lines { path, rest: text, number: 0, cut: false }
    }

    /// Lines for errors at a line of a file that is read elsewhere, and for numbers from it.
    pub fn at_number(path: &'a Path, number: usize) -> Self {
        Lines { path, rest: "", number, cut: false }
    }

    /// These lines, the last of which may have no end.
    pub fn with_cut(self, cut: bool) -> Self {
        Lines { cut, ..self }
    }

    /// The next line as it is.
    pub fn next(&mut self) -> Option<&'a str> {
        if self.rest.is_empty() {
            return None;
        }
        let found = self.rest.split_once('\n');
        self.cut = found.is_none();
        let (line, rest) = found.unwrap_or((self.rest, ""));
        self.rest = rest;
        self.number += 1;
        Some(line.strip_suffix('\r').unwrap_or(line))
    }

    /// The next line that is not blank.
    pub fn next_filled(&mut self) -> Option<&'a str> {
        std::iter::from_fn(|| self.next()).find(|l| !l.trim().is_empty())
    }

    /// An upper limit to the number of words to come, and of lines with words: a false count in a file
    /// must not reserve memory for it.
    pub fn at_most_left(&self) -> usize {
        self.rest.len().div_ceil(2)
    }

    /// The number of the line read last.
    pub fn at(&self) -> usize {
        self.number
    }

    /// An error at the line read last.
    pub fn error(&self, message: impl Into<String>) -> Error {
        self.error_at(self.number, message)
    }

    /// An error at a line.
    pub fn error_at(&self, line: usize, message: impl Into<String>) -> Error {
        Error::file_line(self.path, line.max(1), message)
    }

    /// An error for something that the line read last lacks: with the reason where the file ends within it.
    pub fn lacking(&self, message: impl Into<String>) -> Error {
        match self.cut {
            true => {
                let message = format!("{}: the file ends within this line", message.into());
                self.error(message).hint(TRUNCATED)
            }
            false => self.error(message),
        }
    }

    /// Word as a value of another type.
    pub fn parse<T: FromStr>(&self, word: Option<&str>, what: &str) -> Result<T> {
        let word = word.ok_or_else(|| self.lacking(format!("the line ends before {what}")))?;
        word.parse().map_err(|_| {
            let message = format!("{what} cannot be read from \"{word}\"");
            // A beginning of a value, as "-" or nothing, may have been cut.
            if format!("{word}0").parse::<T>().is_ok() { self.lacking(message) } else { self.error(message) }
        })
    }

    /// A word as a finite number.
    pub fn number(&self, word: Option<&str>, what: &str) -> Result<f64> {
        let x: f64 = self.parse(word, what)?;
        if x.is_finite() { Ok(x) } else { Err(self.error(format!("{what} is {x}, not a finite number"))) }
    }

    /// Three words as finite numbers.
    pub fn vector<'w>(&self, words: &mut impl Iterator<Item = &'w str>, what: [&str; 3]) -> Result<Vec3> {
        let [x, y, z] = what;
        Ok(Vector([
            self.number(words.next(), x)?,
            self.number(words.next(), y)?,
            self.number(words.next(), z)?,
        ]))
    }
}
