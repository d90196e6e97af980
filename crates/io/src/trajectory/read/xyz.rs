//! Extended XYZ, see [`crate::structure`] for what of it is read.

use super::stream::ByteStream;
use super::text::TextStream;
use super::{Cast, FileUnits, FrameSource, Snapshot};
use crate::structure::xyz::{FrameHeader, number_of_atoms};
use jostle_core::{Result, UnitSystem};
use std::path::Path;

pub(super) struct Xyz {
    text: TextStream,
    cast: Cast,
    frames: u64,
    units: FileUnits,
    notes: Vec<String>,
}

impl Xyz {
    pub fn new(stream: ByteStream, path: &Path) -> Self {
        Xyz {
            text: TextStream::new(stream, path),
            cast: Cast::default(),
            frames: 0,
            units: FileUnits::Unknown,
            notes: Vec::new(),
        }
    }
}

impl FrameSource for Xyz {
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
        let header = FrameHeader::read(&self.text.here(), self.text.line())?;
        self.text.check_claim(count, header.columns.total)?;
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
            let name = columns.name(&here, &words)?;
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
        let simbox = header.simbox(header.periodic(None), &positions)?;
        if self.frames == 0 && header.columns.velocity.is_none() {
            let note = |name: &String| format!("the column {name} is not read: it would have to be velo:R:3");
            self.notes = header.columns.unread.iter().map(note).collect();
        }
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

    fn notes(&self) -> &[String] {
        &self.notes
    }
}
