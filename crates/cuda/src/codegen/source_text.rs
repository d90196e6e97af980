//! Source text, written line by line.

use std::fmt::Write;

/// Source text, written line by line.
#[derive(Default)]
pub struct SourceText(pub String);

impl SourceText {
    /// Appends a line at a depth of indentation.
    pub fn line(&mut self, depth: usize, line: impl AsRef<str>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{:width$}{}", "", line.as_ref(), width = 4 * depth);
    }

    /// Appends lines at a depth of indentation.
    pub fn lines(&mut self, depth: usize, lines: impl Iterator<Item = String>) {
        lines.for_each(|line| self.line(depth, line));
    }
}
