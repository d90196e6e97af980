//! H5MD 1.1 (<https://h5md.nongnu.org/h5md.html>) in the units of the run: positions and velocities in
//! single precision, images, box, time and step of every frame, and the species of the atoms.
//!
//! A frame is a chunk of each dataset. Where chunks are, and the nodes of the trees that find them,
//! follows from the numbers of frames, so that a node has them when it is written. With a new frame
//! comes only the number of its children that are there. So a file is readable after every frame, and is
//! cut back by its length, as any other.

mod hdf5;
mod read;

use crate::trajectory::format::{
    Access, Content, FormatDefinition, FormatWriter, Patch, Precision, same_velocities, single_precision,
};
use crate::trajectory::frame::{Frame, TrajectoryHeader, WrittenSoFar};
use crate::trajectory::source::{Evidence, FrameSource};
use hdf5::{AttributeValue, DataPlace, FAN, NumberType, Objects};
use jostle_core::{Components, Error, Result, UnitSystem, Vec3};
use std::path::Path;

pub(super) const FORMAT: FormatDefinition = FormatDefinition {
    name: "h5md",
    title: "H5MD",
    about: "H5MD, as HDF5: positions and velocities in single precision",
    contents: &[
        Content::Velocities,
        Content::Images,
        Content::Names,
        Content::Boundaries,
        Content::Units,
        Content::Times,
    ],
    precision: Precision::SINGLE,
    access: Access::Random,
    writer: || Box::new(Writer::new()),
    recognize: |start| start.bytes.starts_with(b"\x89HDF\r\n\x1a\n").then_some(Evidence::Signature),
    open: |_, path| open(path),
};

fn open(path: &Path) -> Result<Box<dyn FrameSource>> {
    Ok(Box::new(read::Source::open(path)?))
}

/// Levels of the trees; level 0 are the nodes whose children are chunks.
const LEVELS: u32 = 4;
/// Capacity of the trees in frames.
const MOST: u64 = FAN.pow(LEVELS);

/// Writer, with the facts that are the same for all frames of a file.
struct Writer {
    /// True where frames have velocities; known with the first. Those of a run do.
    velocities: bool,
}

impl Writer {
    fn new() -> Self {
        Writer { velocities: true }
    }
}

/// A dataset with a chunk for each frame, and its edges but the first.
struct FrameSeries {
    kind: NumberType<'static>,
    shape: Vec<u64>,
}

impl FrameSeries {
    fn edges(&self) -> usize {
        self.shape.len() + 1
    }

    fn chunk(&self) -> u64 {
        self.kind.width() * self.shape.iter().product::<u64>()
    }

    /// Bytes of the dataset in a frame.
    fn room(&self) -> u64 {
        self.chunk().next_multiple_of(8)
    }
}

/// Places of everything in a file.
struct FileLayout<'a> {
    header: &'a TrajectoryHeader,
    /// Step, time, box, positions, then images and velocities where there are any.
    series: Vec<FrameSeries>,
    /// Bytes of the objects that describe the file.
    objects: u64,
}

impl<'a> FileLayout<'a> {
    fn new(header: &'a TrajectoryHeader, velocities: bool) -> Self {
        let atoms = vec![header.species.len() as u64, 3];
        let mut series = vec![
            (NumberType::I64, vec![]),
            (NumberType::F64, vec![]),
            (NumberType::F64, vec![3, 3]),
            (NumberType::F32, atoms.clone()),
        ];
        series.extend(header.images.then(|| (NumberType::I32, atoms.clone())));
        series.push((NumberType::F32, atoms));
        let series: Vec<_> = series.into_iter().map(|(kind, shape)| FrameSeries { kind, shape }).collect();
        let mut layout = FileLayout { header, series, objects: 0 };
        // The length does not depend on the number of frames, nor on velocities.
        layout.objects = layout.describe(0).len() as u64;
        if !velocities {
            layout.series.pop();
        }
        layout
    }

    /// Objects in front of the frames of a file with this number of them.
    fn describe(&self, frames: u64) -> Vec<u8> {
        let header = self.header;
        let [length, time, velocity] = match header.units {
            UnitSystem::Real => ["Angstrom", "fs", "Angstrom fs-1"],
            UnitSystem::Nano => ["nm", "ps", "nm ps-1"],
            _ => ["Angstrom", "ps", "Angstrom ps-1"],
        };
        let mut objects = Objects::new();
        let mut dataset = |k: usize, unit: Option<&str>, names: u32| {
            let shape: Vec<u64> = [frames].iter().chain(&self.series[k].shape).copied().collect();
            let root = (frames > 0).then(|| self.node(LEVELS - 1, 0, k));
            // Reduced units have no names.
            let unit =
                unit.filter(|_| !header.units.is_reduced()).map(|unit| ("unit", AttributeValue::Text(unit)));
            objects.dataset(self.series[k].kind, &shape, DataPlace::Chunks { root }, unit.as_slice(), names)
        };
        let mut elements = vec![("edges", Some(length)), ("position", Some(length))];
        elements.extend(header.images.then_some(("image", None)));
        elements.push(("velocity", Some(velocity)));
        elements.truncate(self.series.len() - 2);
        let links = elements.len() as u32;
        let [step, time] = [dataset(0, None, links), dataset(1, Some(time), links)];
        let values = elements.iter().enumerate().map(|(k, (_, unit))| dataset(k + 2, *unit, 1));
        let values: Vec<u64> = values.collect();
        let element = |value: &u64| objects.group(&[("step", step), ("time", time), ("value", *value)], &[]);
        let groups: Vec<u64> = values.iter().map(element).collect();
        let mut named = elements.iter().map(|(name, _)| *name).zip(groups);
        let atoms = header.species.len() as u64;
        let species = DataPlace::Piece { at: self.objects, bytes: 4 * atoms };
        let species = objects.dataset(NumberType::Names(&header.names), &[atoms], species, &[], 1);
        let boundary = header.periodic.map(|periodic| if periodic { "periodic" } else { "none" });
        let of_box = [("dimension", AttributeValue::Int(3)), ("boundary", AttributeValue::Texts(&boundary))];
        let edges: Vec<_> = named.by_ref().take(1).collect();
        let mut members = vec![("box", objects.group(&edges, &of_box))];
        members.extend(named);
        members.push(("species", species));
        let trajectory = objects.group(&members, &[]);
        let particles = objects.group(&[("trajectory", trajectory)], &[]);
        let creator = [
            ("name", AttributeValue::Text("Jostle")),
            ("version", AttributeValue::Text(env!("CARGO_PKG_VERSION"))),
            ("units", AttributeValue::Text(header.units.name())),
        ];
        let creator = objects.group(&[], &creator);
        let author = objects.group(&[], &[("name", AttributeValue::Text("unknown"))]);
        let units = objects.group(&[], &[("version", AttributeValue::Ints(&[1, 0]))]);
        let modules = objects.group(&[("units", units)], &[]);
        let members = [("author", author), ("creator", creator), ("modules", modules)];
        let h5md = objects.group(&members, &[("version", AttributeValue::Ints(&[1, 1]))]);
        let root = objects.group(&[("h5md", h5md), ("particles", particles)], &[]);
        objects.finish(root, self.begin(frames))
    }

    /// The species of the atoms, behind which the frames begin.
    fn species(&self) -> Vec<u8> {
        let mut out: Vec<u8> = self.header.species.iter().flat_map(|s| i32::from(*s).to_le_bytes()).collect();
        out.resize(out.len().next_multiple_of(8), 0);
        out
    }

    /// Place where a frame begins, with the nodes that it brings along.
    fn begin(&self, number: u64) -> u64 {
        let species = (4 * self.header.species.len() as u64).next_multiple_of(8);
        let frame: u64 = self.series.iter().map(FrameSeries::room).sum();
        let nodes: u64 = (0..LEVELS).map(|level| number.div_ceil(FAN.pow(level + 1))).sum();
        self.objects + species + number * frame + nodes * self.before_node(self.series.len())
    }

    /// The levels of which a frame brings a node of each tree along, from the roots downwards.
    fn brought(number: u64) -> impl Iterator<Item = u32> {
        (0..LEVELS).rev().filter(move |level| number.is_multiple_of(FAN.pow(level + 1)))
    }

    /// Bytes of the nodes in front of that of a tree.
    fn before_node(&self, series: usize) -> u64 {
        self.series[..series].iter().map(|s| hdf5::node_bytes(s.edges())).sum()
    }

    /// Place of a node that has `index` nodes of its level and tree before it.
    fn node(&self, level: u32, index: u64, series: usize) -> u64 {
        let number = index * FAN.pow(level + 1);
        let above = Self::brought(number).take_while(|l| *l > level).count() as u64;
        self.begin(number) + above * self.before_node(self.series.len()) + self.before_node(series)
    }

    /// Place of a chunk.
    fn chunk(&self, number: u64, series: usize) -> u64 {
        let nodes = Self::brought(number).count() as u64 * self.before_node(self.series.len());
        self.begin(number) + nodes + self.series[..series].iter().map(FrameSeries::room).sum::<u64>()
    }

    /// The nodes that a frame brings along, each with one child.
    fn nodes(&self, number: u64, out: &mut Vec<u8>) {
        for level in Self::brought(number) {
            let (each, first) = (FAN.pow(level), number / FAN.pow(level));
            for (k, series) in self.series.iter().enumerate() {
                let child = |index| match level {
                    0 => self.chunk(index, k),
                    _ => self.node(level - 1, index, k),
                };
                let children: Vec<u64> = (first..first + FAN).map(child).collect();
                let frames = (first..=first + FAN).map(|index| index * each);
                hdf5::node(level as u8, series.edges(), series.chunk(), frames, &children, out);
            }
        }
    }
}

impl FormatWriter for Writer {
    fn check(&self, header: &TrajectoryHeader) -> Result<()> {
        let longest = header.names.iter().map(String::len).sum::<usize>() + 16 * header.names.len();
        if longest > usize::from(u16::MAX) || header.species.len() as u64 * 12 > u64::from(u32::MAX) {
            return Err(Error::simulation("an H5MD file has no room for so many atoms or names of species")
                .hint("take another format, as xtc or trr"));
        }
        Ok(())
    }

    fn file_header(&self, header: &TrajectoryHeader, written: &WrittenSoFar) -> Vec<u8> {
        let layout = FileLayout::new(header, self.velocities);
        let mut out = layout.describe(written.frames);
        out.resize(layout.objects as usize, 0);
        if written.frames == 0 {
            out.extend(layout.species());
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
        same_velocities(&mut self.velocities, frame, number, "H5MD")?;
        if number >= MOST {
            return Err(Error::simulation(format!("an H5MD file of Jostle's has room for {MOST} frames")));
        }
        FileLayout::new(header, self.velocities).nodes(number, out);
        out.extend((frame.step as i64).to_le_bytes());
        // No number stands for a time that is not known.
        out.extend(frame.time.unwrap_or(f64::NAN).to_le_bytes());
        out.extend(frame.simbox.edges().as_flattened().iter().flat_map(|x| x.to_le_bytes()));
        // Every chunk begins at a multiple of eight.
        let padding = || std::iter::repeat_n(0, frame.positions.len() % 2 * 4);
        let vectors = |vectors: &[Vec3], out: &mut Vec<u8>| {
            for x in vectors.as_flattened() {
                out.extend(single_precision(*x, "H5MD")?.to_le_bytes());
            }
            out.extend(padding());
            Ok::<(), Error>(())
        };
        vectors(frame.positions, out)?;
        if let Some(images) = frame.images {
            out.extend(images.as_flattened().iter().flat_map(|n| n.to_le_bytes()));
            out.extend(padding());
        }
        frame.velocities.map_or(Ok(()), |velocities| vectors(velocities, out))
    }

    fn patch(&self, header: &TrajectoryHeader, written: &WrittenSoFar, what: Patch) -> Vec<(u64, Vec<u8>)> {
        let Some(last) = written.frames.checked_sub(1) else { return Vec::new() };
        let layout = FileLayout::new(header, self.velocities);
        // A frame is a new child of a node where it is the first below that child.
        let changed = |level: &u32| what == Patch::Behind || last.is_multiple_of(FAN.pow(*level));
        let count = |(level, series): (u32, usize)| {
            let (index, children) = (last / FAN.pow(level + 1), last / FAN.pow(level) % FAN + 1);
            (layout.node(level, index, series) + hdf5::COUNT, (children as u16).to_le_bytes().to_vec())
        };
        let levels = (0..LEVELS).take_while(changed);
        levels.flat_map(|level| (0..layout.series.len()).map(move |k| (level, k))).map(count).collect()
    }
}
