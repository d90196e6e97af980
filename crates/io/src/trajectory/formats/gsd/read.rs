//! GSD, version 1 and 2, with HOOMD's schema
//! (<https://gsd.readthedocs.io/en/stable/file-layer.html>, <https://gsd.readthedocs.io/en/stable/schema-hoomd.html>).
//! The index is read along with the frames.

use super::TIME;
use crate::trajectory::frame::Snapshot;
use crate::trajectory::source::{AtomLabels, FileUnits, FrameSource, check_claim, damaged, unreadable};
use jostle_core::vector::vectors_of;
use jostle_core::{Result, SimBox, UnitSystem, Vec3, Vector};
use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// Bytes of an entry of the index, and of the list of names.
const ENTRY: usize = 32;
const NAME: u64 = 64;

/// Place and shape of an array.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    frame: u64,
    rows: u64,
    columns: u64,
    at: u64,
    name: u16,
    kind: u8,
}

pub(super) struct Source {
    file: File,
    /// Entries of the index ahead, the next last.
    ahead: Vec<Chunk>,
    /// Place of the next entries, and number of places left for them.
    index: (u64, u64),
    /// Largest number of frames: that of places for entries.
    most_frames: u64,
    names: HashMap<u16, String>,
    /// The chunks of frame 0, which hold in all frames that have no other.
    first: HashMap<String, Chunk>,
    atoms: usize,
    labels: AtomLabels,
    frames: u64,
    /// Known of files of our own.
    units: Option<UnitSystem>,
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let eight = bytes.get(at..at + 8).and_then(|b| b.try_into().ok());
    eight.map_or(0, u64::from_le_bytes)
}

impl Source {
    pub fn open(mut file: File) -> Result<Self> {
        let header = read_at(&mut file, 0, 256)?;
        let version = (u64_at(&header, 40) >> 32) as u32;
        let schema = text(header.get(112..176).unwrap_or_default());
        if !(1..=2).contains(&(version >> 16)) {
            return Err(damaged(format!("this is GSD of version {}; 1 and 2 are read", version >> 16)));
        }
        if schema != "hoomd" {
            return Err(damaged(format!("its schema is \"{schema}\"; only \"hoomd\" is read")));
        }
        let names = read_at(&mut file, u64_at(&header, 24), NAME.saturating_mul(u64_at(&header, 32)))?;
        // Version 1 gives every name 64 bytes, version 2 puts one after the other.
        let names: Vec<String> = match version >> 16 {
            1 => names.chunks(NAME as usize).map(text).take_while(|n| !n.is_empty()).collect(),
            _ => names.split(|b| *b == 0).map(text).take_while(|n| !n.is_empty()).collect(),
        };
        let names = (0..).zip(names).collect();
        let index = (u64_at(&header, 8), u64_at(&header, 16));
        let (ahead, first, labels) = (Vec::new(), HashMap::new(), AtomLabels::default());
        let writer = text(header.get(48..112).unwrap_or_default());
        let units = writer.strip_prefix("jostle ").and_then(|w| w.split_once(" units "));
        let units = units.and_then(|(_, name)| UnitSystem::ALL.into_iter().find(|u| u.name() == name));
        let size = file.metadata().map_err(|e| unreadable(&e))?.len();
        let most_frames = index.1.min(size / ENTRY as u64);
        Ok(Source { file, ahead, index, most_frames, names, first, atoms: 0, labels, frames: 0, units })
    }

    /// The next entry of the index, which stays where it is.
    fn peek(&mut self) -> Result<Option<Chunk>> {
        if self.ahead.is_empty() && self.index.1 > 0 {
            let count = self.index.1.min(512);
            let bytes = read_at(&mut self.file, self.index.0, count * ENTRY as u64)?;
            self.index = (self.index.0 + count * ENTRY as u64, self.index.1 - count);
            let entries = bytes.chunks(ENTRY).map(|e| Chunk {
                frame: u64_at(e, 0),
                rows: u64_at(e, 8),
                at: u64_at(e, 16),
                columns: u64_at(e, 24) & 0xffff_ffff,
                name: (u64_at(e, 24) >> 32) as u16,
                kind: (u64_at(e, 24) >> 48) as u8,
            });
            self.ahead = entries.take_while(|c| c.at > 0).collect();
            // Frames without any entry are as the first: nothing else would end them.
            if let Some(chunk) = self.ahead.iter().find(|c| c.frame >= self.most_frames) {
                let (frame, most) = (chunk.frame, self.most_frames);
                return Err(damaged(format!(
                    "its index has room for {most} frames and speaks of frame {frame}"
                )));
            }
            self.ahead.reverse();
        }
        Ok(self.ahead.last().copied())
    }

    /// Numbers of a chunk, which must have this number of rows and columns.
    fn numbers(&mut self, chunk: Chunk, rows: usize, columns: usize) -> Result<Vec<f64>> {
        let (width, read): (u64, fn(&[u8]) -> f64) = match chunk.kind {
            1 => (1, |b| f64::from(b[0])),
            3 => (4, |b| f64::from(u32::from_le_bytes([b[0], b[1], b[2], b[3]]))),
            4 => (8, |b| u64_at(b, 0) as f64),
            7 => (4, |b| f64::from(i32::from_le_bytes([b[0], b[1], b[2], b[3]]))),
            9 => (4, |b| f64::from(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))),
            10 => (8, |b| f64::from_bits(u64_at(b, 0))),
            kind => return Err(damaged(format!("an array has the unexpected type {kind}"))),
        };
        if (chunk.rows, chunk.columns.max(1)) != (rows as u64, columns as u64) {
            let name = self.names.get(&chunk.name).map_or("?", String::as_str);
            let message =
                format!("{name} is {} x {} instead of {rows} x {columns}", chunk.rows, chunk.columns);
            return Err(damaged(message));
        }
        let bytes = read_at(&mut self.file, chunk.at, chunk.rows * columns as u64 * width)?;
        Ok(bytes.chunks_exact(width as usize).map(read).collect())
    }

    /// Bytes of the file.
    fn size(&self) -> Result<u64> {
        Ok(self.file.metadata().map_err(|e| unreadable(&e))?.len())
    }

    fn vectors(&mut self, chunk: Chunk) -> Result<Vec<Vec3>> {
        Ok(vectors_of(&self.numbers(chunk, self.atoms, 3)?).to_vec())
    }

    fn read_labels(&mut self, types: Option<Chunk>, ids: Option<Chunk>) -> Result<()> {
        self.labels.names = match types {
            Some(chunk) => {
                let bytes = read_at(&mut self.file, chunk.at, chunk.rows.saturating_mul(chunk.columns))?;
                bytes.chunks(chunk.columns.max(1) as usize).map(text).collect()
            }
            None => vec!["A".to_string()],
        };
        let species = match ids {
            Some(chunk) => self.numbers(chunk, self.atoms, 1)?,
            None => vec![0.0; self.atoms],
        };
        if species.iter().any(|s| *s as usize >= self.labels.names.len()) {
            return Err(damaged("an atom has a type without a name"));
        }
        self.labels.species = species.into_iter().map(|s| s as u16).collect();
        Ok(())
    }
}

impl FrameSource for Source {
    fn next(&mut self) -> Result<Option<Snapshot>> {
        let frame = self.frames;
        let mut chunks = HashMap::new();
        while let Some(chunk) = self.peek()?.filter(|c| c.frame <= frame) {
            self.ahead.pop();
            let name = self.names.get(&chunk.name).cloned().unwrap_or_default();
            chunks.insert(name, chunk);
        }
        if chunks.is_empty() && self.peek()?.is_none() {
            return Ok(None);
        }
        if frame == 0 {
            self.first = chunks.clone();
        }
        // Chunks that a frame does not have are as in the first.
        let chunk = |source: &Source, name: &str| chunks.get(name).or(source.first.get(name)).copied();
        let number = |source: &mut Source, name: &str| -> Result<Option<f64>> {
            let Some(chunk) = chunk(source, name) else { return Ok(None) };
            Ok(source.numbers(chunk, 1, 1)?.first().copied())
        };
        let atoms = number(self, "particles/N")?.ok_or_else(|| damaged("it has no particles"))?;
        let changed =
            frame > 0 && ["particles/types", "particles/typeid"].iter().any(|n| chunks.contains_key(*n));
        self.atoms = atoms as usize;
        let at = chunk(self, "particles/position").ok_or_else(|| damaged("it has no positions"))?;
        // Every atom has a position of three numbers of four bytes in the file.
        let bytes = (self.atoms as u64).saturating_mul(12);
        check_claim(self.atoms as u64, bytes, Some(self.size()?.saturating_sub(at.at)))?;
        if frame == 0 || changed {
            let before = std::mem::take(&mut self.labels);
            self.read_labels(chunk(self, "particles/types"), chunk(self, "particles/typeid"))?;
            if frame > 0 && before != self.labels {
                return Err(damaged("types of the atoms are others than in the first frame"));
            }
        }
        let step = number(self, "configuration/step")?.unwrap_or(0.0);
        let cell = chunk(self, "configuration/box");
        let cell = cell.map_or(Ok(vec![1.0, 1.0, 1.0, 0.0, 0.0, 0.0]), |c| self.numbers(c, 6, 1))?;
        let [lx, ly, lz, xy, xz, yz] = cell.try_into().map_err(|_| damaged("its box has not six numbers"))?;
        let flat = lz == 0.0 || number(self, "configuration/dimensions")? == Some(2.0);
        let lengths = [lx, ly, if lz == 0.0 { 1.0 } else { lz }];
        let tilts = if flat { [xy * ly, 0.0, 0.0] } else { [xy * ly, xz * lz, yz * lz] };
        // HOOMD's boxes have their centre at the origin.
        let centre: Vec3 = Vector([lengths[0] + tilts[0] + tilts[1], lengths[1] + tilts[2], lengths[2]]);
        let simbox = SimBox::new(-0.5 * centre, lengths, tilts, [true, true, !flat])?;
        let positions = self.vectors(at)?;
        let velocities = chunk(self, "particles/velocity").map(|c| self.vectors(c)).transpose()?;
        let images = chunk(self, "particles/image").map(|c| self.vectors(c)).transpose()?;
        let images = images.map(|all| all.into_iter().map(|n| n.map(|x| x as i32).0).collect());
        // Logged values hold for their own frame alone.
        let time = chunks.get(TIME).copied().filter(|c| c.kind == 10).map(|c| self.numbers(c, 1, 1));
        let time = time.transpose()?.and_then(|t| t.first().copied()).filter(|t| t.is_finite());
        self.frames += 1;
        Ok(Some(Snapshot { step: step as u64, time, simbox, positions, images, velocities }))
    }

    fn units(&self) -> FileUnits {
        self.units.map_or(FileUnits::Unknown, FileUnits::Of)
    }

    fn labels(&self) -> Option<&AtomLabels> {
        Some(&self.labels)
    }

    fn refresh(&mut self) -> Result<()> {
        let mut now = Source::open(self.file.try_clone().map_err(|e| unreadable(&e))?)?;
        while now.peek()?.is_some_and(|chunk| chunk.frame < self.frames) {
            now.ahead.pop();
        }
        (self.ahead, self.index, self.names) = (now.ahead, now.index, now.names);
        self.most_frames = now.most_frames;
        Ok(())
    }
}

/// `count` bytes from a place; no more memory is taken than the file has.
fn read_at(file: &mut File, at: u64, count: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.seek(SeekFrom::Start(at)).map_err(|e| unreadable(&e))?;
    let read = Read::take(&mut *file, count).read_to_end(&mut bytes).map_err(|e| unreadable(&e))?;
    if read as u64 != count {
        return Err(unreadable(&std::io::ErrorKind::UnexpectedEof.into()));
    }
    Ok(bytes)
}

/// Text up to the first zero.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|b| *b == 0).next().unwrap_or_default()).into_owned()
}
