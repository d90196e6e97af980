//! LAMMPS dumps in text (<https://docs.lammps.org/dump.html>): written in full precision, read of style atom
//! and custom.

use crate::structure::Lines;
use crate::trajectory::format::{Access, Content, FormatDefinition, FormatWriter, Precision, unwritable};
use crate::trajectory::frame::{Frame, Snapshot, TrajectoryHeader};
use crate::trajectory::source::{AtomLabels, ByteStream, FileUnits, FrameSource, TextStream};
use jostle_core::{Result, SimBox, UnitSystem, Vec3, Vector};
use std::io::Write;
use std::path::Path;

pub(super) const FORMAT: FormatDefinition = FormatDefinition {
    name: "lammpstrj",
    title: "LAMMPS dumps",
    about: "LAMMPS dump: text, positions and velocities in full",
    contents: &[Content::Velocities, Content::Images, Content::Names, Content::Boundaries, Content::Corner],
    precision: Precision::EXACT,
    access: Access::Stream,
    writer: || Box::new(Writer),
    recognize: |start| start.first_line(|line| line.starts_with("ITEM:")),
    open: |stream, path| Ok(Box::new(Source::new(stream, path))),
};

struct Writer;

impl FormatWriter for Writer {
    fn frame(&mut self, header: &TrajectoryHeader, frame: &Frame, _: u64, out: &mut Vec<u8>) -> Result<()> {
        write(header, frame, out).map_err(unwritable)
    }
}

fn write(header: &TrajectoryHeader, frame: &Frame, out: &mut dyn Write) -> std::io::Result<()> {
    let simbox = frame.simbox;
    let (origin, lengths, [xy, xz, yz]) = (simbox.origin(), simbox.lengths(), simbox.tilts());
    let periodic = simbox.periodic().map(|p| if p { "pp" } else { "ff" }).join(" ");
    writeln!(out, "ITEM: TIMESTEP\n{}\nITEM: NUMBER OF ATOMS\n{}", frame.step, frame.positions.len())?;
    // Bounds are those of the cuboid around a tilted box.
    let low = [0.0f64.min(xy).min(xz).min(xy + xz), 0.0f64.min(yz), 0.0];
    let high = [0.0f64.max(xy).max(xz).max(xy + xz), 0.0f64.max(yz), 0.0];
    let tilted = !simbox.is_orthorhombic();
    writeln!(out, "ITEM: BOX BOUNDS {}{periodic}", if tilted { "xy xz yz " } else { "" })?;
    for (k, tilt) in [xy, xz, yz].into_iter().enumerate() {
        write!(out, "{} {}", origin[k] + low[k], origin[k] + lengths[k] + high[k])?;
        if tilted {
            write!(out, " {tilt}")?;
        }
        writeln!(out)?;
    }
    let velocities = if frame.velocities.is_some() { " vx vy vz" } else { "" };
    let images = if frame.images.is_some() { " ix iy iz" } else { "" };
    // Types by their numbers keep them; names are elements.
    let types = type_numbers(&header.names);
    let element = if types.is_some() { "" } else { " element" };
    writeln!(out, "ITEM: ATOMS id type{element} x y z{velocities}{images}")?;
    for (id, Vector([x, y, z])) in frame.positions.iter().enumerate() {
        let species = usize::from(header.species[id]);
        match &types {
            Some(types) => write!(out, "{} {}", id + 1, types[species])?,
            None => {
                let name = header.names.get(species).map_or("X", String::as_str);
                write!(out, "{} {} {name}", id + 1, species + 1)?;
            }
        }
        write!(out, " {x} {y} {z}")?;
        if let Some(velocities) = frame.velocities {
            let Vector([u, v, w]) = velocities[id];
            write!(out, " {u} {v} {w}")?;
        }
        if let Some(images) = frame.images {
            let [l, m, n] = images[id];
            write!(out, " {l} {m} {n}")?;
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Species that are called after numbers of types, as of a dump without elements; `None` for other names.
fn type_numbers(names: &[String]) -> Option<Vec<u32>> {
    let number = |name: &String| name.parse().ok().filter(|n: &u32| *n > 0 && n.to_string() == *name);
    let numbers: Option<Vec<u32>> = names.iter().map(number).collect();
    numbers.filter(|numbers| !numbers.is_empty())
}

/// Note about dumps without the column id.
const NO_IDS: &str = "the dump has no column id: atoms are taken to stand in the same order in all frames, which LAMMPS \
    does not promise; what follows atoms in time (msd, vacf, van-hove) may be wrong";

/// Columns that are read, or tell nothing more.
const READ: [&str; 22] = [
    "id", "type", "element", "x", "y", "z", "xs", "ys", "zs", "xu", "yu", "zu", "xsu", "ysu", "zsu", "ix",
    "iy", "iz", "vx", "vy", "vz", "proc",
];

struct Source {
    text: TextStream,
    labels: AtomLabels,
    /// The ids of the first frame, in ascending order.
    ids: Vec<u64>,
    units: FileUnits,
    frames: u64,
    notes: Vec<String>,
}

impl Source {
    fn new(stream: ByteStream, path: &Path) -> Self {
        let (labels, ids) = (AtomLabels::default(), Vec::new());
        Source {
            text: TextStream::new(stream, path),
            labels,
            ids,
            units: FileUnits::Unknown,
            frames: 0,
            notes: Vec::new(),
        }
    }

    /// The words of the next line.
    fn words(&mut self, what: &str) -> Result<Vec<&str>> {
        self.text.must_advance(what)?;
        Ok(self.text.line().split_whitespace().collect())
    }

    /// Box by its bounds: those of the cuboid around it, where it is tilted.
    fn simbox(&mut self, flags: &[String]) -> Result<SimBox> {
        let tilted = flags.first().is_some_and(|f| f == "xy");
        if flags.first().is_some_and(|f| f == "abc") {
            return Err(self
                .text
                .here()
                .error("the box is a general triclinic one")
                .hint("let LAMMPS write it without `dump_modify triclinic/general yes`"));
        }
        let mut bounds = [[0.0; 3]; 3];
        for bound in &mut bounds {
            self.text.must_advance("the box")?;
            let here = self.text.here();
            let mut words = self.text.line().split_whitespace();
            for (k, x) in bound.iter_mut().enumerate().take(if tilted { 3 } else { 2 }) {
                *x = here.number(words.next(), ["the lower bound", "the upper bound", "the tilt"][k])?;
            }
        }
        let tilts @ [xy, xz, yz] = bounds.map(|b| b[2]);
        let ends = |terms: [f64; 4]| {
            [terms.iter().copied().fold(0.0, f64::min), terms.iter().copied().fold(0.0, f64::max)]
        };
        let slack = [ends([xy, xz, xy + xz, 0.0]), ends([yz, 0.0, 0.0, 0.0]), [0.0; 2]];
        let origin = Vec3::from_fn(|k| bounds[k][0] - slack[k][0]);
        let lengths = std::array::from_fn(|k| bounds[k][1] - slack[k][1] - origin[k]);
        let marks = &flags[flags.len().saturating_sub(3)..];
        let periodic = std::array::from_fn(|k| marks.get(k).is_none_or(|m| m == "pp"));
        let here = self.text.here();
        SimBox::new(origin, lengths, tilts, periodic).map_err(|e| here.error(e.message()))
    }

    /// Reads the atoms of a frame, in any order.
    fn atoms(&mut self, names: &[String], count: u64, simbox: &SimBox, frame: &mut Snapshot) -> Result<()> {
        let columns = AtomColumns::of(names, &self.text.here())?;
        self.text.check_claim(count, names.len())?;
        let mut atoms = Vec::new();
        for k in 0..count {
            self.text.must_advance(&format!("atom {} of {count}", k + 1))?;
            let here = self.text.here();
            let words: Vec<&str> = self.text.line().split_whitespace().collect();
            if words.len() != names.len() {
                return Err(here
                    .error(format!("the atom has {} columns instead of {}", words.len(), names.len()))
                    .hint("the file is truncated or damaged"));
            }
            let number = |at: usize| here.number(words.get(at).copied(), &names[at]);
            let vector = |at: [usize; 3]| -> Result<Vec3> {
                Ok(Vector([number(at[0])?, number(at[1])?, number(at[2])?]))
            };
            let mut position = vector(columns.position)?;
            if columns.scaled {
                position = simbox.to_cartesian(position);
            }
            let velocity = columns.velocity.map_or(Ok(Vec3::ZERO), vector)?;
            let image = columns.image.map_or(Ok(Vec3::ZERO), vector)?.map(|n| n as i32).0;
            let name = columns.species.and_then(|at| words.get(at)).copied().unwrap_or("X");
            let species = self.labels.species_number(name)?;
            let id = match columns.id {
                Some(at) => here.parse(words.get(at).copied(), "the id")?,
                None => k + 1,
            };
            atoms.push(DumpAtom { id, species, position, velocity, image });
        }
        atoms.sort_unstable_by_key(|a| a.id);
        self.compare_with_first(names, &columns, &atoms)?;
        frame.positions = atoms.iter().map(|a| a.position).collect();
        frame.velocities = columns.velocity.map(|_| atoms.iter().map(|a| a.velocity).collect());
        let images = columns.image.is_some() || columns.unbroken;
        frame.images = images.then(|| atoms.iter().map(|a| a.image).collect());
        Ok(())
    }

    /// Takes ids and species of the first frame, and compares those of later ones with them.
    fn compare_with_first(
        &mut self,
        names: &[String],
        columns: &AtomColumns,
        atoms: &[DumpAtom],
    ) -> Result<()> {
        let here = self.text.here();
        if atoms.windows(2).any(|w| w[0].id == w[1].id) {
            return Err(here.error("two atoms of the frame have the same id"));
        }
        if self.frames == 0 {
            if columns.id.is_none() {
                self.notes.push(NO_IDS.to_string());
            }
            let like = |c: &&String| {
                columns.velocity.is_none() && ["vel", "vx", "vy", "vz"].iter().any(|v| c.contains(v))
            };
            let note =
                |c: &String| format!("the column {c} is not read: velocities would have to be vx vy vz");
            self.notes.extend(names.iter().filter(like).map(note));
            self.ids = atoms.iter().map(|a| a.id).collect();
            if self.ids.iter().zip(1..).any(|(id, number)| *id != number) {
                self.notes
                    .push("ids are not those from 1 on: atoms are numbered anew, in their order".into());
            }
            let others = names.iter().filter(|c| !READ.contains(&c.as_str()) && !like(c));
            let others: Vec<&str> = others.map(String::as_str).collect();
            if !others.is_empty() {
                self.notes.push(format!("columns that are not read: {}", others.join(", ")));
            }
            self.labels.species = atoms.iter().map(|a| a.species).collect();
            return Ok(());
        }
        let first = self.ids.iter().zip(&self.labels.species);
        let differs = atoms.iter().zip(first).any(|(a, (id, species))| (a.id, a.species) != (*id, *species));
        if atoms.len() == self.ids.len() && differs {
            return Err(here
                .error("ids or types of the atoms are others than in the first frame")
                .hint("dump the same group of atoms at all steps"));
        }
        Ok(())
    }
}

/// Atom of a frame.
struct DumpAtom {
    id: u64,
    species: u16,
    position: Vec3,
    velocity: Vec3,
    image: [i32; 3],
}

/// Columns of the atoms that are read.
struct AtomColumns {
    id: Option<usize>,
    species: Option<usize>,
    position: [usize; 3],
    /// True where positions are in units of the edges of the box.
    scaled: bool,
    /// True where positions are on unbroken paths.
    unbroken: bool,
    image: Option<[usize; 3]>,
    velocity: Option<[usize; 3]>,
}

impl AtomColumns {
    /// # Errors
    /// If there are no positions.
    fn of(names: &[String], header: &Lines) -> Result<Self> {
        let place = |name: &str| names.iter().position(|c| c == name);
        let triple = |names: [&str; 3]| Some([place(names[0])?, place(names[1])?, place(names[2])?]);
        // Preference: unbroken paths before wrapped positions, and plain before scaled ones.
        let known = [
            (["xu", "yu", "zu"], false, true),
            (["xsu", "ysu", "zsu"], true, true),
            (["x", "y", "z"], false, false),
            (["xs", "ys", "zs"], true, false),
        ];
        let position = known
            .into_iter()
            .find_map(|(names, scaled, unbroken)| triple(names).map(|at| (at, scaled, unbroken)));
        let missing = || {
            header
                .error("the dump has no columns of positions")
                .hint("dump id type x y z, and vx vy vz where velocities are wanted")
        };
        let (position, scaled, unbroken) = position.ok_or_else(missing)?;
        Ok(AtomColumns {
            id: place("id"),
            species: place("element").or(place("type")),
            position,
            scaled,
            unbroken,
            // Positions on unbroken paths have no crossings to be added.
            image: triple(["ix", "iy", "iz"]).filter(|_| !unbroken),
            velocity: triple(["vx", "vy", "vz"]),
        })
    }
}

impl FrameSource for Source {
    fn next(&mut self) -> Result<Option<Snapshot>> {
        let empty = SimBox::new([0.0; 3], [1.0; 3], [0.0; 3], [false; 3])?;
        let mut frame = Snapshot {
            step: self.frames,
            time: None,
            simbox: empty,
            positions: Vec::new(),
            images: None,
            velocities: None,
        };
        let (mut count, mut simbox) = (None, None);
        loop {
            if !self.text.advance()? {
                return match (count, simbox) {
                    (None, None) => Ok(None),
                    _ => Err(self.text.here().error("the file ends in the header of the frame")),
                };
            }
            let line = self.text.line().to_string();
            let Some(item) = line.strip_prefix("ITEM:").map(str::trim) else {
                return Err(self.text.here().error(format!("ITEM: is expected here, not \"{line}\"")));
            };
            if item == "TIMESTEP" {
                let words = self.words("the step")?.first().copied().unwrap_or_default().to_string();
                frame.step = self.text.here().parse(Some(&words), "the step")?;
            } else if item == "TIME" {
                let word = self.words("the time")?.first().copied().unwrap_or_default().to_string();
                frame.time = Some(self.text.here().number(Some(&word), "the time")?);
            } else if item == "UNITS" {
                self.units = match self.words("the units")?[..] {
                    ["lj"] => FileUnits::Of(UnitSystem::Lj),
                    ["real"] => FileUnits::Of(UnitSystem::Real),
                    ["metal"] => FileUnits::Of(UnitSystem::Metal),
                    _ => FileUnits::Unknown,
                };
            } else if item == "NUMBER OF ATOMS" {
                let word =
                    self.words("the number of atoms")?.first().copied().unwrap_or_default().to_string();
                count = Some(self.text.here().parse::<u64>(Some(&word), "the number of atoms")?);
            } else if let Some(flags) = item.strip_prefix("BOX BOUNDS") {
                let flags: Vec<String> = flags.split_whitespace().map(String::from).collect();
                simbox = Some(self.simbox(&flags)?);
            } else if let Some(columns) = item.strip_prefix("ATOMS") {
                let (Some(count), Some(simbox)) = (count, simbox) else {
                    return Err(self
                        .text
                        .here()
                        .error("the frame has atoms before their number and the box"));
                };
                let columns: Vec<String> = columns.split_whitespace().map(String::from).collect();
                frame.simbox = simbox;
                self.atoms(&columns, count, &simbox, &mut frame)?;
                self.frames += 1;
                return Ok(Some(frame));
            } else {
                return Err(self.text.here().error(format!("the item \"{item}\" is not known")));
            }
        }
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
