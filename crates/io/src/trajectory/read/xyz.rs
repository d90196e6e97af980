//! Extended XYZ, see [`crate::structure`] for what of it is read.

use super::{Cast, FileUnits, Snapshot, Source, Stream, unreadable};
use crate::structure::xyz::{Header, number_of_atoms};
use crate::structure::{Lines, around};
use jostle_core::{Result, SimBox, UnitSystem};
use std::io::BufRead;
use std::path::{Path, PathBuf};

/// A text file, line by line.
pub(super) struct TextStream {
    stream: Stream,
    path: PathBuf,
    line: String,
    number: usize,
}

impl TextStream {
    pub fn new(stream: Stream, path: &Path) -> Self {
        TextStream { stream, path: path.to_path_buf(), line: String::new(), number: 0 }
    }

    /// Goes to the next line; whether there is one.
    pub fn advance(&mut self) -> Result<bool> {
        self.line.clear();
        let read = self.stream.read_line(&mut self.line).map_err(|e| unreadable(&e))?;
        self.number += usize::from(read > 0);
        Ok(read > 0)
    }

    /// Goes to the next line, which there must be.
    pub fn must_advance(&mut self, what: &str) -> Result<()> {
        if self.advance()? {
            return Ok(());
        }
        Err(self
            .here()
            .error(format!("the file ends before {what}"))
            .hint("the file is truncated: still being written, or a run or a copy was cut short"))
    }

    /// The line.
    pub fn line(&self) -> &str {
        self.line.trim()
    }

    /// The line with the blank space around it.
    pub fn raw(&self) -> &str {
        &self.line
    }

    /// For errors at the line, and numbers from it.
    pub fn here(&self) -> Lines<'_> {
        Lines::at_number(&self.path, self.number)
    }
}

pub(super) struct Xyz {
    text: TextStream,
    cast: Cast,
    frames: u64,
    units: FileUnits,
}

impl Xyz {
    pub fn new(stream: Stream, path: &Path) -> Self {
        Xyz {
            text: TextStream::new(stream, path),
            cast: Cast::default(),
            frames: 0,
            units: FileUnits::Unknown,
        }
    }
}

impl Source for Xyz {
    fn next(&mut self) -> Result<Option<Snapshot>> {
        loop {
            if !self.text.advance()? {
                return Ok(None);
            }
            if !self.text.line().is_empty() {
                break;
            }
        }
        let count = number_of_atoms(&self.text.here(), self.text.line())?;
        self.text.must_advance("the second line of the frame")?;
        let header = Header::read(&self.text.here(), self.text.line())?;
        if self.frames == 0 {
            let of_name = |name: &str| UnitSystem::ALL.into_iter().find(|u| u.name() == name);
            self.units = header.units.as_deref().and_then(of_name).map_or(FileUnits::Unknown, FileUnits::Of);
        }
        let (mut positions, mut velocities) = (Vec::new(), Vec::new());
        for id in 0..count as usize {
            self.text.must_advance(&format!("atom {} of {count}", id + 1))?;
            let (here, columns) = (self.text.here(), &header.columns);
            let words: Vec<&str> = self.text.line().split_whitespace().collect();
            columns.check(&here, &words)?;
            let vector = |at: usize, what| here.vector(&mut words.iter().copied().skip(at), what);
            positions.push(vector(columns.position, ["x", "y", "z"])?);
            if let Some(at) = columns.velocity {
                velocities.push(vector(at, ["vx", "vy", "vz"])?);
            }
            let name = words[columns.species];
            if self.frames == 0 {
                let number = self.cast.number(name)?;
                self.cast.species.push(number);
            } else if let Some(before) = self.cast.species.get(id).map(|s| &self.cast.names[usize::from(*s)])
                && before != name
            {
                return Err(here
                    .error(format!("atom {} is {name} here, but {before} in frames before", id + 1))
                    .hint("atoms must be in the same order in all frames"));
            }
        }
        let simbox = match header.lattice {
            Some((lengths, tilts)) => {
                let periodic = header.periodic.unwrap_or([true; 3]);
                SimBox::new(header.origin, lengths, tilts, periodic)?
            }
            None => around(&positions)?,
        };
        let step = header.step.unwrap_or(self.frames);
        self.frames += 1;
        Ok(Some(Snapshot {
            step,
            time: header.time,
            simbox,
            positions,
            images: None,
            velocities: header.columns.velocity.map(|_| velocities),
        }))
    }

    fn units(&self) -> FileUnits {
        self.units
    }

    fn cast(&self) -> Option<&Cast> {
        Some(&self.cast)
    }
}
