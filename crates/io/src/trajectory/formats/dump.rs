//! LAMMPS dumps in text (<https://docs.lammps.org/dump.html>): written in full precision, read of style atom
//! and custom.

use crate::trajectory::format::{Access, Content, FormatDefinition, FormatWriter, Precision, unwritable};
use crate::trajectory::frame::{Frame, Snapshot, TrajectoryHeader};
use crate::trajectory::source::{AtomLabels, ByteStream, FileUnits, FrameSource, TextStream};
use jostle_core::{Result, SimBox, UnitSystem, Vec3};
use std::io::Write;
use std::path::Path;

pub(super) const FORMAT: FormatDefinition = FormatDefinition {
    name: "lammpstrj",
    title: "LAMMPS dumps",
    about: "LAMMPS dump: text, positions and velocities in full",
    contents: &[Content::Velocities, Content::Images, Content::Names],
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
    // Bounds are those of what surrounds a tilted box.
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
    writeln!(out, "ITEM: ATOMS id type element x y z{velocities}{images}")?;
    for (id, [x, y, z]) in frame.positions.iter().enumerate() {
        let species = usize::from(header.species[id]);
        let name = header.names.get(species).map_or("X", String::as_str);
        write!(out, "{} {} {name} {x} {y} {z}", id + 1, species + 1)?;
        if let Some(velocities) = frame.velocities {
            let [u, v, w] = velocities[id];
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

/// Note about dumps without the column id.
const NO_IDS: &str = "the dump has no column id: atoms are taken to stand in the same order in all frames, which LAMMPS \
    does not promise; what follows atoms in time (msd, vacf, van-hove) may be wrong";

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

    /// The box by its bounds: those of what surrounds it, where it is tilted.
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
        let origin: Vec3 = std::array::from_fn(|k| bounds[k][0] - slack[k][0]);
        let lengths = std::array::from_fn(|k| bounds[k][1] - slack[k][1] - origin[k]);
        let marks = &flags[flags.len().saturating_sub(3)..];
        let periodic = std::array::from_fn(|k| marks.get(k).is_none_or(|m| m == "pp"));
        let here = self.text.here();
        SimBox::new(origin, lengths, tilts, periodic).map_err(|e| here.error(e.message()))
    }

    fn atoms(&mut self, columns: &[String], count: u64, simbox: &SimBox, frame: &mut Snapshot) -> Result<()> {
        let place = |name: &str| columns.iter().position(|c| c == name);
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
        let header = self.text.here();
        let missing = |what: &str| {
            header
                .error(format!("the dump has no {what}"))
                .hint("dump id type x y z, and vx vy vz where velocities are wanted")
        };
        let id = place("id");
        let (at, scaled, unbroken) = position.ok_or_else(|| missing("columns of positions"))?;
        // Positions on unbroken paths have no crossings to be added.
        let image = triple(["ix", "iy", "iz"]).filter(|_| !unbroken);
        let velocity = triple(["vx", "vy", "vz"]);
        let kind = place("element").or(place("type"));
        self.text.check_claim(count, columns.len())?;
        let mut atoms = Vec::new();
        for k in 0..count {
            self.text.must_advance(&format!("atom {} of {count}", k + 1))?;
            let here = self.text.here();
            let words: Vec<&str> = self.text.line().split_whitespace().collect();
            if words.len() != columns.len() {
                return Err(here
                    .error(format!("the atom has {} columns instead of {}", words.len(), columns.len()))
                    .hint("the file is truncated or damaged"));
            }
            let number = |at: usize| here.number(words.get(at).copied(), &columns[at]);
            let vector =
                |at: [usize; 3]| -> Result<Vec3> { Ok([number(at[0])?, number(at[1])?, number(at[2])?]) };
            let mut position = vector(at)?;
            if scaled {
                position = simbox.to_cartesian(position);
            }
            let velocity = velocity.map_or(Ok([0.0; 3]), vector)?;
            let image = image.map_or(Ok([0.0; 3]), vector)?.map(|n| n as i32);
            let name = kind.and_then(|kind| words.get(kind)).copied().unwrap_or("X");
            let species = self.labels.species_number(name)?;
            let id = match id {
                Some(id) => here.parse(words.get(id).copied(), "the id")?,
                None => k + 1,
            };
            atoms.push((id, species, position, velocity, image));
        }
        atoms.sort_unstable_by_key(|a| a.0);
        let here = self.text.here();
        if atoms.windows(2).any(|w| w[0].0 == w[1].0) {
            return Err(here.error("two atoms of the frame have the same id"));
        }
        if self.frames == 0 {
            if id.is_none() {
                self.notes.push(NO_IDS.to_string());
            }
            let like =
                |c: &&String| velocity.is_none() && ["vel", "vx", "vy", "vz"].iter().any(|v| c.contains(v));
            let note =
                |c: &String| format!("the column {c} is not read: velocities would have to be vx vy vz");
            self.notes.extend(columns.iter().filter(like).map(note));
            self.ids = atoms.iter().map(|a| a.0).collect();
            self.labels.species = atoms.iter().map(|a| a.1).collect();
        } else if atoms.len() == self.ids.len()
            && atoms
                .iter()
                .zip(self.ids.iter().zip(&self.labels.species))
                .any(|(a, (id, s))| (a.0, a.1) != (*id, *s))
        {
            return Err(here
                .error("ids or types of the atoms are others than in the first frame")
                .hint("dump the same group of atoms at all steps"));
        }
        frame.positions = atoms.iter().map(|a| a.2).collect();
        frame.velocities = velocity.map(|_| atoms.iter().map(|a| a.3).collect());
        frame.images = (image.is_some() || unbroken).then(|| atoms.iter().map(|a| a.4).collect());
        Ok(())
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
