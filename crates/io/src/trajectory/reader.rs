//! Trajectories back from files, one frame at a time: memory does not grow with the file.
//!
//! The format of a file follows from its contents, see [`recognize`]; files that are read from beginning to end
//! may be packed by gzip or Zstandard. Lengths and times come out in one unit system, see
//! [`TrajectoryReader::units`].

use super::format::{Access, Content, FormatDefinition};
use super::formats::TrajectoryFormat;
use super::frame::{Snapshot, TrajectoryHeader};
use super::frame_times::FrameTimes;
use super::source::{AtomLabels, ByteStream, FileStart, FileUnits, FrameSource};
use super::units::{length_factor, picoseconds};
use crate::chemical_bonds;
use crate::structure::{Reading, Structure};
use jostle_core::{Components, Dimension, Error, Result, SimBox, UnitSystem, Vec3};
use std::collections::VecDeque;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Options for opening a trajectory.
#[derive(Debug, Clone, Default)]
pub struct Open {
    /// The unit system to read in; `None`: that of the file, or of `start.xyz` beside it.
    pub units: Option<UnitSystem>,
    /// A file with the names of the atoms for a trajectory without: a trajectory of a format that has names, or
    /// LAMMPS data. `None`: `start.xyz` beside the trajectory, if it is there and fits.
    pub names: Option<PathBuf>,
    /// The time of a step, which counts more than times of the file; `None`: times of the file or, where it counts steps
    /// only, that of the run whose `thermo.csv` is beside it.
    pub timestep: Option<f64>,
}

/// Reader of a trajectory, frame by frame.
pub struct TrajectoryReader {
    path: PathBuf,
    source: Box<dyn FrameSource>,
    /// First frames, in the numbers of the file.
    ahead: VecDeque<Snapshot>,
    frames: u64,
    units: UnitSystem,
    knows_units: bool,
    /// Unit of length and unit of time of the file, in those of the reader.
    scale: [f64; 2],
    labels: AtomLabels,
    times: FrameTimes,
    notes: Vec<String>,
    /// Box of the run, whose corner or open axes the file does not tell.
    run_box: Option<SimBox>,
    format: &'static FormatDefinition,
    read: Arc<AtomicU64>,
    bytes: u64,
}

/// The units to read a file in: its own, those that were asked for, or those of files beside it.
fn unit_system(
    of_file: FileUnits,
    asked: Option<UnitSystem>,
    of_others: Option<UnitSystem>,
) -> Result<UnitSystem> {
    Ok(match (of_file, asked, of_others) {
        (FileUnits::Of(units), Some(asked), _) if units != asked => {
            return Err(Error::input(format!("the file is in units \"{units}\", not \"{asked}\"")));
        }
        (FileUnits::Of(units), _, _) | (_, Some(units), _) | (_, None, Some(units)) => units,
        (FileUnits::Fixed("nm"), None, None) => UnitSystem::Nano,
        (FileUnits::Fixed(_) | FileUnits::FixedLength(_), None, None) => UnitSystem::Real,
        (FileUnits::Unknown, None, None) => UnitSystem::Lj,
    })
}

/// Unit of length and unit of time of a file, in those of the reader.
fn scale(of_file: FileUnits, units: UnitSystem) -> [f64; 2] {
    match of_file {
        FileUnits::Fixed(unit) => [1.0 / length_factor(units, unit), 1.0 / picoseconds(units)],
        FileUnits::FixedLength(unit) => [1.0 / length_factor(units, unit), 1.0],
        FileUnits::Unknown | FileUnits::Of(_) => [1.0; 2],
    }
}

impl TrajectoryReader {
    /// Opens a trajectory of any [`TrajectoryFormat`], which its contents tell, and reads its first frame. Files
    /// may be packed where [`TrajectoryFormat::reads_packed`] says so.
    ///
    /// # Errors
    /// If the file cannot be read, its format is unknown, its first frame is damaged, or it is in
    /// other units than asked for.
    pub fn open(path: &Path, open: &Open) -> Result<Self> {
        if let Some(wrong) = open.timestep.filter(|timestep| !(timestep.is_finite() && *timestep > 0.0)) {
            return Err(Error::input(format!("the time of a step is {wrong}, but it must be positive")));
        }
        let read = Arc::new(AtomicU64::new(0));
        let bytes = std::fs::metadata(path).map_err(|e| Error::io("read", path, &e))?.len();
        let (mut source, format) = open_source(ByteStream::open(path, read.clone())?, path)?;
        let in_first = |e: Error| e.context("frame 0").blame_file(path);
        let first = source.next().map_err(in_first)?.ok_or_else(|| {
            Error::file(path, "the trajectory has no frame").hint("was the run stopped before its first?")
        })?;
        let n = first.positions.len();
        let start = path.with_file_name("start.xyz");
        let is_told = format.has(Content::Boundaries)
            && format.has(Content::Corner)
            && source.labels().is_some()
            && source.units() != FileUnits::Unknown;
        let is_beside = !is_told && start.is_file() && start != path;
        let described = is_beside.then(|| described_by(&start, open.units).ok());
        let start = described.flatten().filter(|start| start.labels.species.len() == n);
        let known = match &open.names {
            _ if source.labels().is_some() => None,
            Some(names) => Some(described_by(names, open.units)?),
            None => start.clone(),
        };
        if n == 0 {
            return Err(Error::file(path, "the first frame has no atoms")
                .hint("was the right group of atoms chosen when it was written?"));
        }
        let (labels, of_names) = match (source.labels(), known) {
            (Some(labels), _) => (labels.clone(), None),
            (None, Some(names)) => (names.labels, names.units),
            (None, None) => {
                (AtomLabels { names: vec!["X".into()], species: vec![0; n], ..AtomLabels::default() }, None)
            }
        };
        if labels.species.len() != n {
            let message = format!("the trajectory has {n} atoms, the names are for {}", labels.species.len());
            let hint = labels.alternatives.unwrap_or_else(|| "give the right file with --names".into());
            return Err(Error::file(path, message).hint(hint));
        }
        // A format without units of its own has those of the run.
        let of_start =
            start.as_ref().and_then(|start| start.units).filter(|_| source.units() == FileUnits::Unknown);
        let of_others = of_names.or(of_start);
        let knows_units = source.units() != FileUnits::Unknown || open.units.or(of_others).is_some();
        let units = unit_system(source.units(), open.units, of_others).map_err(|e| e.blame_file(path))?;
        let scale = scale(source.units(), units);
        let has_box = format.has(Content::Boundaries) && format.has(Content::Corner);
        let run_box = start.filter(|_| !has_box).and_then(|start| start.simbox_in(units));
        let are_told = open.units.or(of_others).is_some();
        let times = FrameTimes::of_file(source.units(), units, are_told, open.timestep);
        let times = times.with_run(path, &first);
        let mut ahead = VecDeque::from([first]);
        if times.are_replaced(&ahead[0]) {
            // Times of one frame may agree by chance: the first is often at zero.
            ahead.extend(source.next().map_err(|e| e.context("frame 1").blame_file(path))?);
        }
        let of_times = times.notes(&ahead.iter().collect::<Vec<_>>());
        let notes = [source.notes(), &of_times].concat();
        Ok(TrajectoryReader {
            path: path.to_path_buf(),
            source,
            ahead,
            frames: 0,
            units,
            knows_units,
            scale,
            labels,
            times,
            notes,
            run_box,
            format,
            read,
            bytes,
        })
    }

    /// The next frame; `None` after the last.
    ///
    /// # Errors
    /// If the frame is damaged or cut short; the error names file, frame and cause.
    pub fn next_frame(&mut self) -> Result<Option<Snapshot>> {
        let number = self.frames;
        let in_frame = |e: Error| e.context(format!("frame {number}")).blame_file(&self.path);
        let next = match self.ahead.pop_front() {
            Some(frame) => Some(frame),
            None => self.source.next().map_err(in_frame)?,
        };
        let Some(frame) = next else { return Ok(None) };
        let (n, before) = (frame.positions.len(), self.labels.species.len());
        if n != before {
            let message = format!("frame {number} has {n} atoms, those before it {before}");
            let hint = "trajectories whose number of atoms changes are not read".to_string();
            return Err(
                Error::file(&self.path, message).hint(self.labels.alternatives.clone().unwrap_or(hint))
            );
        }
        self.frames += 1;
        let frame = self.finished(frame);
        self.refuse_infinite(number, &frame)?;
        Ok(Some(frame))
    }

    /// Refuses a frame with a position or velocity that is no finite number.
    fn refuse_infinite(&self, number: u64, frame: &Snapshot) -> Result<()> {
        let of = |what, vectors: &[Vec3]| {
            let bad = vectors.iter().position(|v| v.iter().any(|x| !x.is_finite()))?;
            Some(format!(
                "frame {number}: the {what} of atom {} is not finite: {:?}",
                bad + 1,
                vectors[bad].0
            ))
        };
        let velocities = frame.velocities.as_deref().unwrap_or_default();
        match of("position", &frame.positions).or_else(|| of("velocity", velocities)) {
            Some(message) => Err(Error::file(&self.path, message).hint(
                "the file is damaged, or what wrote it had failed; frames before this one can be chosen",
            )),
            None => Ok(()),
        }
    }

    /// Unit system of all numbers that come out. Reduced units where neither the file nor [`Open`] tells: the
    /// numbers are those of the file then.
    pub fn units(&self) -> UnitSystem {
        self.units
    }

    /// Returns false where neither the file nor [`Open`] tells the units.
    pub fn knows_units(&self) -> bool {
        self.knows_units
    }

    /// Returns true where the point about which the box changes is known: its corner, or its centre where that is the origin.
    pub fn knows_corner(&self) -> bool {
        let tells = [Content::Corner, Content::CenteredBox].iter().any(|content| self.format.has(*content));
        tells || self.run_box.is_some()
    }

    /// Names of the species; `X` for all atoms of a file without names.
    pub fn names(&self) -> &[String] {
        &self.labels.names
    }

    /// The species of each atom, by id.
    pub fn species(&self) -> &[u16] {
        &self.labels.species
    }

    /// Atoms that are bound, by id; none where the file does not say (PDB, before its second model).
    pub fn bonds(&self) -> &[[u32; 2]] {
        &self.labels.bonds
    }

    /// Atoms that the file has in more than one place, in words, where it says so: they may be the reason
    /// for an unexpected number of atoms.
    pub fn alternatives(&self) -> Option<&str> {
        self.labels.alternatives.as_deref()
    }

    /// Notes for the user about contents of the file that are not read, or are taken for something that the file
    /// does not say.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Header for a writer of the same frames, given the first two of them.
    pub fn header(&self, first: &Snapshot, second: Option<&Snapshot>) -> TrajectoryHeader {
        let every = second.map_or(1, |s| s.step.saturating_sub(first.step)).max(1);
        let apart = second.and_then(|s| Some(s.time? - first.time?));
        TrajectoryHeader {
            units: self.units,
            names: self.labels.names.clone(),
            species: self.labels.species.clone(),
            masses: Vec::new(),
            charges: Vec::new(),
            atoms: self.labels.atoms.clone(),
            bonds: self.labels.bonds.clone(),
            periodic: first.simbox.periodic(),
            timestep: apart.map_or(0.0, |apart| apart / every as f64),
            every,
            images: first.images.is_some(),
        }
    }

    /// Bytes read so far, and bytes of the file.
    pub fn progress(&self) -> (u64, u64) {
        let read = self.source.part().map(|part| (part * self.bytes as f64) as u64);
        (read.unwrap_or_else(|| self.read.load(Ordering::Relaxed)), self.bytes)
    }

    /// After the last frame: looks for more, if the file is still being written.
    ///
    /// # Errors
    /// If it cannot be opened just now, as while its writer is at work; another try may succeed.
    pub fn refresh(&mut self) -> Result<()> {
        self.source.refresh().map_err(|e| e.blame_file(&self.path))
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A frame in the units of the reader.
    fn finished(&self, mut frame: Snapshot) -> Snapshot {
        let [length, time] = self.scale;
        frame.time = self.times.of(&frame);
        if length != 1.0 {
            frame.positions.as_flattened_mut().iter_mut().for_each(|x| *x *= length);
            // A scaled box is as valid as it was.
            frame.simbox = frame.simbox.converted(|x| x * length).unwrap_or(frame.simbox);
        }
        if let Some(run) = &self.run_box {
            place_in_run(&mut frame, run, self.format);
        }
        if let Some(velocities) = frame.velocities.as_mut().filter(|_| length != time) {
            velocities.as_flattened_mut().iter_mut().for_each(|v| *v *= length / time);
        }
        frame
    }
}

/// Facts about atoms from another file than the trajectory.
#[derive(Clone)]
struct Description {
    labels: AtomLabels,
    units: Option<UnitSystem>,
    /// Box of the first frame.
    simbox: Option<SimBox>,
}

impl Description {
    /// The box in these units.
    fn simbox_in(&self, units: UnitSystem) -> Option<SimBox> {
        let lengths = [Some(units), self.units].map(|units| units?.from_si(Dimension::LENGTH));
        let factor = match lengths {
            [Some(to), Some(from)] => to / from,
            _ => 1.0,
        };
        self.simbox?.converted(|x| factor * x).ok()
    }
}

/// The atoms of a file that has names, its units and its box.
fn described_by(path: &Path, units: Option<UnitSystem>) -> Result<Description> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    if ["data", "lmp", "lammps"].contains(&extension) {
        let reading = Reading { units: units.unwrap_or(UnitSystem::Lj), types: &[], periodic: None };
        let structure = Structure::read(path, reading)?;
        let names = structure.species.into_iter().map(|s| s.name).collect();
        let bonds = chemical_bonds(&structure.topology);
        let species = structure.state.species;
        let labels = AtomLabels { names, species, bonds, ..AtomLabels::default() };
        return Ok(Description { labels, units: None, simbox: None });
    }
    let (mut source, _) = open_source(ByteStream::open(path, Arc::default())?, path)?;
    let frame = source.next().map_err(|e| e.context("frame 0").blame_file(path))?;
    let units = match source.units() {
        FileUnits::Of(units) => Some(units),
        _ => None,
    };
    let labels = source.labels().cloned();
    let labels = labels.ok_or_else(|| Error::file(path, "the file has no names of atoms"))?;
    Ok(Description { labels, units, simbox: frame.map(|frame| frame.simbox) })
}

/// Gives a frame what files of its format do not tell of the box of its run: open axes, and the corner, which stays where
/// it is. Where all axes are open, files have no box, and it is that of the run.
fn place_in_run(frame: &mut Snapshot, run: &SimBox, format: &FormatDefinition) {
    let simbox = frame.simbox;
    let periodic = if format.has(Content::Boundaries) { simbox.periodic() } else { run.periodic() };
    if run.periodic() == [false; 3] && simbox.periodic() == [false; 3] {
        frame.simbox = *run;
        return;
    }
    let corner = if format.has(Content::Corner) { simbox.origin() } else { run.origin() };
    let Ok(placed) = SimBox::new(corner, simbox.lengths(), simbox.tilts(), periodic) else { return };
    if format.has(Content::CenteredBox) {
        let shift = corner - simbox.origin();
        frame.positions.iter_mut().for_each(|r| *r += shift);
    }
    frame.simbox = placed;
}

/// Opens a file with the format that [`recognize`] finds.
fn open_source(
    mut stream: ByteStream,
    path: &Path,
) -> Result<(Box<dyn FrameSource>, &'static FormatDefinition)> {
    let start = stream.fill_buf().map_err(|e| Error::io("read", path, &e))?;
    let (format, empty) = (recognize(&FileStart::new(start, path)), start.is_empty());
    let Some(format) = format else {
        let what = if empty { "the file is empty" } else { "this is no known trajectory" };
        let known = TrajectoryFormat::titles("and", |_| true);
        return Err(Error::file(path, what).hint(format!("{known} are read")));
    };
    if format.access == Access::Random && stream.is_packed() {
        let unpacked = TrajectoryFormat::titles("and", |format| !format.reads_packed());
        return Err(Error::file(path, format!("{unpacked} are not read while they are packed"))
            .hint("unpack it first, with gunzip or unzstd"));
    }
    let source = (format.open)(stream, path).map_err(|e| e.blame_file(path))?;
    Ok((source, format))
}

/// Format of a file by its contents: that with the strongest evidence, among equals the first of the registry.
fn recognize(start: &FileStart) -> Option<&'static FormatDefinition> {
    let definitions = TrajectoryFormat::ALL.iter().map(|format| format.definition());
    let found = definitions.filter_map(|format| Some(((format.recognize)(start)?, format)));
    found.min_by_key(|(evidence, _)| *evidence).map(|(_, format)| format)
}
