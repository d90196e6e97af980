//! A text file, line by line.

use super::stream::ByteStream;
use super::unreadable;
use crate::lines::{IsComment, read_line};
use crate::structure::{Lines, TRUNCATED};
use jostle_core::{Error, Result};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The lines of a stream.
pub(in crate::trajectory) struct TextStream {
    stream: ByteStream,
    path: PathBuf,
    line: String,
    number: usize,
    is_comment: IsComment,
}

impl TextStream {
    pub fn new(stream: ByteStream, path: &Path) -> Self {
        TextStream { stream, path: path.to_path_buf(), line: String::new(), number: 0, is_comment: |_| false }
    }

    /// These lines, of which those of comment may be of any encoding.
    pub fn with_comments(self, is_comment: IsComment) -> Self {
        TextStream { is_comment, ..self }
    }

    /// Advances to the next line; returns false at the end of the file.
    ///
    /// # Errors
    /// If it cannot be read, is no text or has no end.
    pub fn advance(&mut self) -> Result<bool> {
        let read = read_line(&mut self.stream, &mut self.line, self.is_comment);
        self.number += 1;
        let more = read.map_err(|e| match e.kind() {
            ErrorKind::InvalidData => self.here().error(e.to_string()).hint("the file is damaged or no text"),
            _ => unreadable(&e),
        })?;
        if !more {
            self.number -= 1;
        } else if self.number == 1
            && let Some(text) = self.line.strip_prefix('\u{feff}')
        {
            // A mark of byte order, as some editors write in front.
            self.line = text.to_string();
        }
        Ok(more)
    }

    /// Advances to the next line, which there must be.
    pub fn must_advance(&mut self, what: &str) -> Result<()> {
        if self.advance()? {
            return Ok(());
        }
        Err(self.here().error(format!("the file ends before {what}")).hint(TRUNCATED))
    }

    /// The line.
    pub fn line(&self) -> &str {
        self.line.trim()
    }

    /// The line with the blank space around it.
    pub fn raw(&self) -> &str {
        &self.line
    }

    /// Line at hand, for errors and for numbers from it.
    pub fn here(&self) -> Lines<'_> {
        Lines::at_number(&self.path, self.number).with_cut(!self.line.ends_with('\n'))
    }

    /// An error at the line at hand, with the advice that the file may be truncated where it ends within that line.
    pub fn explained(&self, error: Error) -> Error {
        let cut = !self.line.is_empty() && !self.line.ends_with('\n');
        match error.help() {
            Some(hint) if !cut || hint.contains(TRUNCATED) => error,
            Some(_) => error.map_hint(|hint| format!("{hint}; or {TRUNCATED}")),
            None if cut => error.hint(TRUNCATED),
            None => error,
        }
    }

    /// Checks that the file has room for this number of atoms' lines with this number of columns.
    ///
    /// # Errors
    /// If the file has no room for them: a column takes a character and a separator.
    pub fn check_claim(&self, atoms: u64, columns: usize) -> Result<()> {
        // The last line may lack its end.
        let left = self.stream.left().map(|left| left + 1);
        let error = |e: Error| self.here().error(e.message()).hint(e.help().unwrap_or_default());
        super::stream::check_claim(atoms, atoms.saturating_mul(2 * columns as u64), left).map_err(error)
    }
}
