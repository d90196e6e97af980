//! Extended XYZ: text in full precision, in the units of the run.
//!
//! <https://github.com/libAtoms/extxyz>; `Origin` is OVITO's, `units` names the unit system. See
//! [`crate::structure`] for the columns that are read.

use crate::structure::xyz::{FrameHeader, number_of_atoms};
use crate::trajectory::format::{Access, Content, FormatDefinition, FormatWriter, Precision, unwritable};
use crate::trajectory::frame::{Frame, Snapshot, TrajectoryHeader};
use crate::trajectory::source::{AtomLabels, ByteStream, FileUnits, FrameSource, TextStream};
use jostle_core::{Components, Result, UnitSystem, Vector};
use std::io::Write;
use std::path::Path;

pub(super) const FORMAT: FormatDefinition = FormatDefinition {
    name: "xyz",
    title: "extended XYZ",
    about: "extended XYZ: text, positions and velocities in full",
    contents: &[
        Content::Velocities,
        Content::Names,
        Content::Boundaries,
        Content::Corner,
        Content::Units,
        Content::Times,
    ],
    precision: Precision::EXACT,
    access: Access::Stream,
    writer: || Box::new(Writer),
    recognize: |start| start.first_line(|line| line.trim().parse::<u64>().is_ok()),
    open: |stream, path| Ok(Box::new(Source::new(stream, path))),
};

struct Writer;

impl FormatWriter for Writer {
    fn frame(&mut self, header: &TrajectoryHeader, frame: &Frame, _: u64, out: &mut Vec<u8>) -> Result<()> {
        write_xyz_frame(header, frame, out).map_err(unwritable)
    }
}

/// Writes one frame.
pub(crate) fn write_xyz_frame(
    header: &TrajectoryHeader,
    frame: &Frame,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let numbers = |v: &[f64]| v.iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
    let pbc = frame.simbox.periodic().map(|p| if p { "T" } else { "F" }).join(" ");
    writeln!(out, "{}", frame.positions.len())?;
    writeln!(
        out,
        "Lattice=\"{}\" Origin=\"{}\" Properties=species:S:1:pos:R:3{} pbc=\"{pbc}\"{} Step={} units={}",
        numbers(frame.simbox.edges().as_flattened()),
        numbers(&frame.simbox.origin()[..]),
        if frame.velocities.is_some() { ":velo:R:3" } else { "" },
        frame.time.map(|time| format!(" Time={time}")).unwrap_or_default(),
        frame.step,
        header.units,
    )?;
    for (id, Vector([x, y, z])) in frame.positions.iter().enumerate() {
        let species = usize::from(header.species[id]);
        let name = header.names.get(species).map_or("X", String::as_str);
        write!(out, "{name} {x} {y} {z}")?;
        if let Some(velocities) = frame.velocities {
            let Vector([u, v, w]) = velocities[id];
            write!(out, " {u} {v} {w}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

struct Source {
    text: TextStream,
    labels: AtomLabels,
    frames: u64,
    units: FileUnits,
    notes: Vec<String>,
}

impl Source {
    fn new(stream: ByteStream, path: &Path) -> Self {
        Source {
            text: TextStream::new(stream, path),
            labels: AtomLabels::default(),
            frames: 0,
            units: FileUnits::Unknown,
            notes: Vec::new(),
        }
    }
}

impl Source {
    /// The next frame.
    fn frame(&mut self) -> Result<Option<Snapshot>> {
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
                let number = self.labels.species_number(name)?;
                self.labels.species.push(number);
            } else if let Some(before) =
                self.labels.species.get(id).map(|s| &self.labels.names[usize::from(*s)])
                && before != name
            {
                return Err(here
                    .error(format!("atom {} is {name} here, but {before} in frames before", id + 1))
                    .hint("atoms must be in the same order in all frames"));
            }
        }
        let simbox = header.simbox(header.periodic(None), &positions)?;
        if self.frames == 0 && header.columns.velocity.is_none() {
            let note = |name: &String| {
                match name.as_str() {
                "momenta" => "the column momenta is not read: velocities are those over masses, which no trajectory has \
                     (from ASE in units = \"real\": atoms.set_array(\"velo\", atoms.get_velocities() * ase.units.fs), \
                     in \"metal\" times 1000)"
                    .to_string(),
                _ => format!("the column {name} is not read: it would have to be velo:R:3"),
            }
            };
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
}

impl FrameSource for Source {
    fn next(&mut self) -> Result<Option<Snapshot>> {
        self.frame().map_err(|e| self.text.explained(e))
    }

    fn units(&self) -> FileUnits {
        self.units
    }

    fn labels(&self) -> Option<&AtomLabels> {
        Some(&self.labels)
    }

    fn notes(&self) -> &[String] {
        &self.notes
    }
}
