//! Tables of numbers from CSV files (RFC 4180) with units in the names of the columns.

use csv::{ReaderBuilder, StringRecord};
use jostle_core::{Error, Result};
use std::path::Path;

/// Contents of a file.
pub(crate) struct Csv {
    /// Name and unit of each column.
    pub columns: Vec<(String, String)>,
    rows: Vec<StringRecord>,
}

impl Csv {
    /// Reads a file. A last line without an end is still being written and left out.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|e| Error::io("read", path, &e))?;
        Csv::parse(&text).map_err(|e| e.blame_file(path))
    }

    /// Reads a text.
    pub fn parse(text: &str) -> Result<Self> {
        let mut reader = ReaderBuilder::new().from_reader(complete_lines(text).as_bytes());
        let failed = |e: csv::Error| Error::simulation(format!("this is no table: {e}"));
        let columns = reader.headers().map_err(failed)?.iter().map(named).collect();
        let rows = reader.records().collect::<std::result::Result<_, _>>().map_err(failed)?;
        Ok(Csv { columns, rows })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Text of a field.
    pub fn text(&self, row: usize, column: usize) -> &str {
        self.rows.get(row).and_then(|r| r.get(column)).unwrap_or("")
    }

    /// The number in a field; NaN where nothing stands.
    pub fn number(&self, row: usize, column: usize) -> Result<f64> {
        match self.text(row, column).trim() {
            "" => Ok(f64::NAN),
            text => text
                .parse()
                .map_err(|_| Error::simulation(format!("line {}: \"{text}\" is not a number", row + 2))),
        }
    }

    /// All numbers of a column.
    pub fn numbers(&self, column: usize) -> Result<Vec<f64>> {
        (0..self.len()).map(|row| self.number(row, column)).collect()
    }
}

/// Lines of a table that a run writes, without one at its end that was cut off, of which the last number cannot be known.
pub fn complete_lines(text: &str) -> &str {
    text.rfind('\n').map_or("", |end| &text[..=end])
}

/// Name and unit of a head `name (unit)`.
fn named(title: &str) -> (String, String) {
    match title.strip_suffix(')').and_then(|t| t.rsplit_once(" (")) {
        Some((name, unit)) => (name.to_string(), unit.to_string()),
        None => (title.to_string(), String::new()),
    }
}
