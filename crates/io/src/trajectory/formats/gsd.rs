//! GSD 2 with HOOMD's schema
//! (<https://gsd.readthedocs.io/en/stable/file-layer.html>, <https://gsd.readthedocs.io/en/stable/schema-hoomd.html>):
//! positions, velocities and images, and masses and charges in the first frame, in single precision, in the units of the
//! run, which the name of the application that wrote the file tells.
//!
//! The schema has steps, but no times; of the logged quantities, `log/time` is the time.
//!
//! The index of a file is in one piece. Where it is full, the next frame brings one of twice the
//! size along; all places follow from the number of frames alone.

mod read;

use crate::trajectory::format::{
    Access, Content, FormatDefinition, FormatWriter, Patch, Precision, same_velocities, single_precision,
};
use crate::trajectory::frame::{Frame, TrajectoryHeader, WrittenSoFar};
use crate::trajectory::source::Evidence;
use jostle_core::{Components, Error, Result, Vector};
use std::fs::File;

pub(super) const FORMAT: FormatDefinition = FormatDefinition {
    name: "gsd",
    title: "GSD",
    about: "GSD as of HOOMD: positions, velocities, masses and charges in single precision",
    contents: &[
        Content::Velocities,
        Content::Images,
        Content::Names,
        Content::CenteredBox,
        Content::Units,
        Content::Times,
    ],
    precision: Precision::SINGLE,
    access: Access::Random,
    writer: || Box::new(Writer::new()),
    recognize: |start| start.bytes.starts_with(&MAGIC.to_le_bytes()).then_some(Evidence::Signature),
    open: |_, path| {
        let file = File::open(path).map_err(|e| Error::io("read", path, &e))?;
        Ok(Box::new(read::Source::open(file)?))
    },
};

/// First bytes of a file.
const MAGIC: u64 = 0x65DF_65DF_65DF_65DF;

/// Name of the chunk with the time of a frame, where it has one.
const TIME: &str = "log/time";

/// Names of the chunks, in the order of the index; the first frame has all of them, others only
/// [`EVERY`].
const NAMES: [&str; 11] = [
    "configuration/step",
    "configuration/box",
    TIME,
    "particles/N",
    "particles/types",
    "particles/typeid",
    "particles/position",
    "particles/velocity",
    "particles/image",
    "particles/mass",
    "particles/charge",
];
const EVERY: [usize; 6] = [0, 1, 2, 6, 7, 8];
const VELOCITY: usize = 7;
const IMAGE: usize = 8;
const MASS: usize = 9;
const CHARGE: usize = 10;
const HEADER: u64 = 256;
/// Bytes for the names, in pieces of 64.
const NAME_PIECES: u64 = 4;
/// Bytes of an entry, and entries of the first index.
const ENTRY: u64 = 32;
const FIRST: u64 = 256;

/// Writer, with the facts that are the same for all frames of a file.
struct Writer {
    /// True where frames have velocities; known with the first. Those of a run do.
    velocities: bool,
    /// False where the first frame has neither masses nor charges, though they are known: an earlier version began
    /// the file.
    properties: bool,
}

/// A chunk: its name, rows, columns, the number of its type, bytes of a number.
#[derive(Clone, Copy)]
struct Chunk {
    name: usize,
    rows: u64,
    columns: u64,
    kind: u8,
    width: u64,
}

impl Chunk {
    fn bytes(self) -> u64 {
        self.rows * self.columns * self.width
    }
}

impl Writer {
    fn new() -> Self {
        Writer { velocities: true, properties: true }
    }

    /// The chunks of a frame.
    fn chunks(&self, header: &TrajectoryHeader, number: u64) -> impl Iterator<Item = Chunk> {
        let atoms = header.species.len() as u64;
        let longest = header.names.iter().map(|n| n.len() as u64 + 1).max().unwrap_or(1);
        let shapes = [
            (1, 1, 4, 8),
            (6, 1, 9, 4),
            (1, 1, 10, 8),
            (1, 1, 3, 4),
            (header.names.len() as u64, longest, 5, 1),
            (atoms, 1, 3, 4),
            (atoms, 3, 9, 4),
            (atoms, 3, 9, 4),
            (atoms, 3, 7, 4),
            (atoms, 1, 9, 4),
            (atoms, 1, 9, 4),
        ];
        let absent = [
            (VELOCITY, !self.velocities),
            (IMAGE, !header.images),
            (MASS, !self.properties || header.masses.is_empty()),
            (CHARGE, !self.properties || header.charges.is_empty()),
        ];
        let all = shapes.into_iter().enumerate();
        let all = all.map(|(name, (rows, columns, kind, width))| Chunk { name, rows, columns, kind, width });
        all.filter(move |c| (number == 0 || EVERY.contains(&c.name)) && !absent.contains(&(c.name, true)))
    }

    /// Entries of the index before a frame.
    fn entries(&self, header: &TrajectoryHeader, number: u64) -> u64 {
        let count = |number: u64| self.chunks(header, number).count() as u64;
        match number {
            0 => 0,
            _ => count(0) + (number - 1) * count(1),
        }
    }

    /// Capacity of the index of a file with this number of frames.
    fn room(&self, header: &TrajectoryHeader, frames: u64) -> u64 {
        let mut room = FIRST;
        while room < self.entries(header, frames) {
            room *= 2;
        }
        room
    }

    /// Bytes of the index that a frame brings along.
    fn brought(&self, header: &TrajectoryHeader, number: u64) -> u64 {
        let (before, after) = (self.room(header, number), self.room(header, number + 1));
        if number > 0 && after > before { after * ENTRY } else { 0 }
    }

    /// Place where a frame begins, with its index if it brings one.
    fn begin(&self, header: &TrajectoryHeader, number: u64) -> u64 {
        let bytes = |k: u64| self.chunks(header, k).map(Chunk::bytes).sum::<u64>();
        let (mut indices, mut room) = (0, FIRST);
        while room < self.room(header, number) {
            room *= 2;
            indices += room * ENTRY;
        }
        let frames = if number > 0 { bytes(0) + (number - 1) * bytes(1) } else { 0 };
        HEADER + 64 * NAME_PIECES + FIRST * ENTRY + indices + frames
    }

    /// Place of the index of a file with this number of frames.
    fn index(&self, header: &TrajectoryHeader, frames: u64) -> u64 {
        let room = self.room(header, frames);
        if room == FIRST {
            return HEADER + 64 * NAME_PIECES;
        }
        // The frame that brought it: the first that did not fit into half of it.
        let (mut low, mut high) = (0, frames);
        while low + 1 < high {
            let middle = (low + high) / 2;
            if self.room(header, middle) < room { low = middle } else { high = middle }
        }
        self.begin(header, low)
    }

    /// The entries of a frame.
    fn indexed(&self, header: &TrajectoryHeader, number: u64, out: &mut Vec<u8>) {
        let mut at = self.begin(header, number) + self.brought(header, number);
        for chunk in self.chunks(header, number) {
            for word in [number, chunk.rows, at] {
                out.extend(word.to_le_bytes());
            }
            out.extend((chunk.columns as u32).to_le_bytes());
            out.extend((chunk.name as u16).to_le_bytes());
            out.extend([chunk.kind, 0]);
            at += chunk.bytes();
        }
    }
}

impl FormatWriter for Writer {
    fn take_up(&mut self, header: &TrajectoryHeader, written: &WrittenSoFar) -> Result<()> {
        let fits = |writer: &Writer| writer.begin(header, written.frames) == written.bytes;
        if !fits(self) {
            self.properties = false;
        }
        match fits(self) {
            true => Ok(()),
            false => Err(Error::simulation("the frames of this file are not of the size that they had")
                .hint("go on with the version of Jostle that began the run")),
        }
    }

    fn file_header(&self, header: &TrajectoryHeader, written: &WrittenSoFar) -> Vec<u8> {
        let (index, room) = (self.index(header, written.frames), self.room(header, written.frames));
        let mut out = Vec::new();
        for word in [MAGIC, index, room, HEADER, NAME_PIECES] {
            out.extend(word.to_le_bytes());
        }
        let version = |major: u32, minor: u32| (major << 16 | minor).to_le_bytes();
        out.extend(version(1, 4));
        out.extend(version(2, 0));
        let mut padded = |words: String, length: usize| {
            let end = out.len() + length;
            out.extend(words.into_bytes());
            out.resize(end, 0);
        };
        padded(format!("jostle {} units {}", env!("CARGO_PKG_VERSION"), header.units.name()), 64);
        padded("hoomd".into(), 64);
        padded(String::new(), 80);
        padded(NAMES.join("\0"), 64 * NAME_PIECES as usize);
        if written.frames == 0 {
            // Names and entries that are there later must not be written over.
            out.resize(out.len() + (FIRST * ENTRY) as usize, 0);
        }
        out
    }

    fn frame(
        &mut self,
        header: &TrajectoryHeader,
        frame: &Frame,
        number: u64,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        same_velocities(&mut self.velocities, frame, number, "GSD")?;
        let brought = self.brought(header, number) as usize;
        if brought > 0 {
            (0..number).for_each(|k| self.indexed(header, k, out));
            out.resize(brought, 0);
        }
        let simbox = frame.simbox;
        let ([lx, ly, lz], [xy, xz, yz]) = (simbox.lengths(), simbox.tilts());
        let middle = simbox.to_cartesian(Vector([0.5; 3]));
        let chunks: Vec<Chunk> = self.chunks(header, number).collect();
        let single = |x: f64, out: &mut Vec<u8>| -> Result<()> {
            out.extend(single_precision(x, "GSD")?.to_le_bytes());
            Ok(())
        };
        for chunk in chunks {
            match NAMES[chunk.name] {
                "configuration/step" => out.extend(frame.step.to_le_bytes()),
                "configuration/box" => {
                    [lx, ly, lz, xy / ly, xz / lz, yz / lz].iter().try_for_each(|x| single(*x, out))?;
                }
                // No number stands for a time that is not known.
                TIME => out.extend(frame.time.unwrap_or(f64::NAN).to_le_bytes()),
                "particles/N" => out.extend((header.species.len() as u32).to_le_bytes()),
                "particles/types" => {
                    for name in &header.names {
                        let end = out.len() + chunk.columns as usize;
                        out.extend(name.bytes());
                        out.resize(end, 0);
                    }
                }
                "particles/typeid" => {
                    out.extend(header.species.iter().flat_map(|s| u32::from(*s).to_le_bytes()));
                }
                "particles/position" => {
                    // HOOMD's boxes have their centre at the origin.
                    for r in frame.positions {
                        (0..3).try_for_each(|k| single(r[k] - middle[k], out))?;
                    }
                }
                "particles/image" => {
                    let images = frame.images.unwrap_or_default().as_flattened();
                    out.extend(images.iter().flat_map(|n| n.to_le_bytes()));
                }
                "particles/mass" => header.masses.iter().try_for_each(|m| single(*m, out))?,
                "particles/charge" => header.charges.iter().try_for_each(|q| single(*q, out))?,
                _ => {
                    let velocities = frame.velocities.unwrap_or_default().as_flattened();
                    velocities.iter().try_for_each(|v| single(*v, out))?;
                }
            }
        }
        Ok(())
    }

    fn patch(&self, header: &TrajectoryHeader, written: &WrittenSoFar, what: Patch) -> Vec<(u64, Vec<u8>)> {
        let index = self.index(header, written.frames);
        let mut entries = Vec::new();
        let from = match what {
            Patch::LastFrame => {
                let Some(last) = written.frames.checked_sub(1) else { return Vec::new() };
                self.indexed(header, last, &mut entries);
                self.entries(header, last)
            }
            Patch::Behind => {
                let from = self.entries(header, written.frames);
                entries.resize(((self.room(header, written.frames) - from) * ENTRY) as usize, 0);
                from
            }
        };
        vec![(index + from * ENTRY, entries)]
    }
}
