//! Evidence for the format of a file: its first bytes, and, as many things may come first in some formats,
//! its first lines that say something, else its name.

use std::path::Path;

/// Endings of the names of packed files.
pub(in crate::trajectory) const PACKINGS: [&str; 2] = [".gz", ".zst"];

/// Evidence that a file has a format, the strongest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::trajectory) enum Evidence {
    /// Beginning of the file that no other format has.
    Signature,
    /// Line that is typical of the format; an earlier one is stronger.
    Line(usize),
    /// Name of the file alone.
    Name,
}

/// Beginning and name of a file whose format is in question.
pub(in crate::trajectory) struct FileStart<'a> {
    /// First bytes, unpacked.
    pub bytes: &'a [u8],
    /// First lines, without a mark of byte order; empty where the file is no text or begins with nothing but
    /// blank lines.
    pub lines: Vec<&'a str>,
    /// Name in small letters, without the ending of packed files.
    name: String,
}

impl<'a> FileStart<'a> {
    pub fn new(bytes: &'a [u8], path: &Path) -> Self {
        // A letter of several bytes may be cut at the end.
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(e) => std::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or_default(),
        };
        let text = if text.contains('\0') { "" } else { text };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = if text.trim().is_empty() { Vec::new() } else { text.lines().collect() };
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or("").to_lowercase();
        let unpacked = PACKINGS.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
        FileStart { bytes, lines, name: unpacked.to_string() }
    }

    /// Evidence by the first line that is not blank, if `typical` returns true for it.
    pub fn first_line(&self, typical: impl Fn(&str) -> bool) -> Option<Evidence> {
        let first = self.lines.iter().position(|line| !line.trim_end().is_empty())?;
        typical(self.lines[first]).then_some(Evidence::Line(first))
    }

    /// Evidence by the first line for which `typical` returns true.
    pub fn any_line(&self, typical: impl Fn(&str) -> bool) -> Option<Evidence> {
        self.lines.iter().position(|line| typical(line)).map(Evidence::Line)
    }

    /// Evidence by the name, if it has one of these endings and the file is a text.
    pub fn named(&self, endings: &[&str]) -> Option<Evidence> {
        let named = endings.iter().any(|ending| self.name.ends_with(ending));
        (named && !self.lines.is_empty()).then_some(Evidence::Name)
    }
}
