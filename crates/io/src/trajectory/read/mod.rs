//! Trajectories back from files, one frame at a time: memory does not grow with the file.
//!
//! What a file is shows in its first bytes; text and binary streams may be compressed by gzip or
//! Zstandard. Lengths and times come out in one unit system, see [`TrajectoryReader::units`].

mod binary;
mod cif;
mod dcd;
mod detect;
mod dump;
mod gsd;
#[cfg(feature = "h5md")]
mod h5md;
mod pdb;
mod stream;
mod text;
mod trr;
mod xtc;
mod xyz;

use super::{TrajectoryHeader, length_factor, picoseconds};
use crate::chemical_bonds;
use crate::structure::{Lines, Reading, Structure, around, wrap};
use binary::Binary;
use detect::{ByteOrder, DcdLayout, DetectedFormat};
pub(super) use gsd::{MAGIC as GSD_MAGIC, TIME as GSD_TIME};
use jostle_core::{Error, Names, Result, SimBox, UnitSystem, Vec3};
use std::fs::File;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use stream::ByteStream;

/// The atoms at one time as a file has them, in the order of their ids.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Which step it is; the number of the frame, from 0, where the file does not say.
    pub step: u64,
    /// The time, where the file or [`Open::timestep`] says.
    pub time: Option<f64>,
    /// The box.
    pub simbox: SimBox,
    /// Positions, wrapped into the box or not, as the file has them.
    pub positions: Vec<Vec3>,
    /// How many times each atom has crossed the box, where the file says: its unbroken path is at its
    /// position shifted by so many edges. Zero where the file says that its positions are on unbroken paths.
    pub images: Option<Vec<[i32; 3]>>,
    /// Velocities, where the file has them.
    pub velocities: Option<Vec<Vec3>>,
}

impl Snapshot {
    /// Where crossings of the box are known: moves all atoms into the box and counts what they cross.
    ///
    /// # Errors
    /// If an atom is more than a million boxes away.
    pub fn wrap_counted(&mut self) -> Result<()> {
        let Some(images) = &mut self.images else { return Ok(()) };
        for (position, image) in self.positions.iter_mut().zip(images) {
            wrap(&self.simbox, position, image).map_err(Error::simulation)?;
        }
        Ok(())
    }
}

/// How to open a trajectory.
#[derive(Debug, Clone, Default)]
pub struct Open {
    /// The unit system to read in; `None`: that of the file, or of `start.xyz` beside it.
    pub units: Option<UnitSystem>,
    /// A file with the names of the atoms for a trajectory without: extended XYZ, a LAMMPS dump,
    /// GSD, H5MD, PDB, mmCIF, LAMMPS data. `None`: `start.xyz` beside the trajectory, if it is there and fits.
    pub names: Option<PathBuf>,
    /// The time of a step for files that count steps only.
    pub timestep: Option<f64>,
}

/// The units of a file's numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FileUnits {
    /// The file does not say.
    Unknown,
    /// Those of a system.
    Of(UnitSystem),
    /// The format's own: this length and picoseconds.
    Fixed(&'static str),
}

/// Who the atoms are.
#[derive(Debug, Clone, Default, PartialEq)]
struct Cast {
    names: Vec<String>,
    species: Vec<u16>,
    /// What the atoms are called in their molecules, where the file says.
    atoms: Names,
    /// Those that are bound, where the file says.
    bonds: Vec<[u32; 2]>,
    /// Atoms with alternative places, in words.
    alternatives: Option<String>,
}

impl Cast {
    /// The number of a species, which is added if it is new.
    fn number(&mut self, name: &str) -> Result<u16> {
        let known = self.names.iter().position(|n| n == name);
        let number = known.unwrap_or_else(|| {
            self.names.push(name.to_string());
            self.names.len() - 1
        });
        u16::try_from(number).map_err(|_| damaged("there are more than 65536 species"))
    }

    /// What the species of an atom with a name in a molecule is called: by its element, if that is known.
    fn species_of<'a>(name: &'a str, element: &'a str) -> &'a str {
        let same = element.is_empty() || element.eq_ignore_ascii_case(name);
        if same { name } else { element }
    }

    /// That an atom is called what it was before.
    fn check_name(&self, here: &Lines, id: usize, name: &str) -> Result<()> {
        match self.atoms.atoms.get(id) {
            Some(before) if before.name != name => Err(here
                .error(format!("atom {} is {name} here, but {} in models before", id + 1, before.name))
                .hint("atoms must be in the same order in all models")),
            _ => Ok(()),
        }
    }
}

/// A file in one format: frames in the file's own numbers.
trait FrameSource: Send {
    /// The next frame; `None` where the file ends after the last.
    fn next(&mut self) -> Result<Option<Snapshot>>;

    /// The units of its numbers; known at the latest after the first frame.
    fn units(&self) -> FileUnits;

    /// Who the atoms are, where the file says; known at the latest after the first frame.
    fn cast(&self) -> Option<&Cast>;

    /// What of the file is not read, or taken for something that it does not say; known after the first
    /// frame.
    fn notes(&self) -> &[String] {
        &[]
    }

    /// Looks for what was written since the file was opened; a stream just goes on.
    fn refresh(&mut self) -> Result<()> {
        Ok(())
    }

    /// Which part of the frames has been read, where that does not follow from bytes.
    fn part(&self) -> Option<f64> {
        None
    }
}

/// A failure in the contents of the file being read, which its caller names.
fn damaged(message: impl Into<String>) -> Error {
    Error::simulation(message)
}

/// An array with room for so many values.
///
/// # Errors
/// If there is not so much memory.
fn reserved<T>(count: usize) -> Result<Vec<T>> {
    let mut values = Vec::new();
    match values.try_reserve_exact(count) {
        Ok(()) => Ok(values),
        Err(_) => {
            let bytes = count.saturating_mul(size_of::<T>());
            Err(damaged(format!("there is no memory for {count} values of it, which take {bytes} bytes")))
        }
    }
}

/// A failure of reading as such.
fn unreadable(error: &std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => damaged("the file ends in the middle of it")
            .hint("the file is truncated: still being written, or a run or a copy was cut short"),
        _ => damaged(format!("it cannot be read: {error}")),
    }
}

/// Reads a trajectory frame by frame.
pub struct TrajectoryReader {
    path: PathBuf,
    source: Box<dyn FrameSource>,
    first: Option<Snapshot>,
    frames: u64,
    units: UnitSystem,
    /// One unit of length and of time of the file.
    scale: [f64; 2],
    cast: Cast,
    timestep: Option<f64>,
    read: Arc<AtomicU64>,
    bytes: u64,
}

impl TrajectoryReader {
    /// Opens a trajectory and reads its first frame. DCD, XTC, TRR, extended XYZ, LAMMPS dumps,
    /// GSD, H5MD, PDB and mmCIF are told apart by their first bytes; all but GSD and H5MD may be compressed.
    ///
    /// # Errors
    /// If the file cannot be read, its format is unknown, its first frame is damaged, or it is in
    /// other units than asked for.
    pub fn open(path: &Path, open: &Open) -> Result<Self> {
        let read = Arc::new(AtomicU64::new(0));
        let bytes = std::fs::metadata(path).map_err(|e| Error::io("read", path, &e))?.len();
        let mut source = source(ByteStream::open(path, read.clone())?, path)?;
        let in_first = |e: Error| e.context("frame 0").blame_file(path);
        let first = source.next().map_err(in_first)?.ok_or_else(|| {
            Error::file(path, "the trajectory has no frame").hint("was the run stopped before its first?")
        })?;
        let beside = path.with_file_name("start.xyz");
        let known = match &open.names {
            _ if source.cast().is_some() => None,
            Some(names) => Some(cast_of(names, open.units)?),
            None if beside.is_file() && beside != path => cast_of(&beside, open.units)
                .ok()
                .filter(|(cast, _)| cast.species.len() == first.positions.len()),
            None => None,
        };
        let n = first.positions.len();
        if n == 0 {
            return Err(Error::file(path, "the first frame has no atoms")
                .hint("was the right group of atoms chosen when it was written?"));
        }
        let (cast, of_names) = match (source.cast(), known) {
            (Some(cast), _) => (cast.clone(), None),
            (None, Some((cast, units))) => (cast, units),
            (None, None) => (Cast { names: vec!["X".into()], species: vec![0; n], ..Cast::default() }, None),
        };
        if cast.species.len() != n {
            let message = format!("the trajectory has {n} atoms, the names are for {}", cast.species.len());
            let hint = cast.alternatives.unwrap_or_else(|| "give the right file with --names".into());
            return Err(Error::file(path, message).hint(hint));
        }
        let units = match (source.units(), open.units, of_names) {
            (FileUnits::Of(units), Some(asked), _) if units != asked => {
                return Err(Error::file(path, format!("the file is in units \"{units}\", not \"{asked}\"")));
            }
            (FileUnits::Of(units), _, _) | (_, Some(units), _) | (_, None, Some(units)) => units,
            (FileUnits::Fixed("nm"), None, None) => UnitSystem::Nano,
            (FileUnits::Fixed(_), None, None) => UnitSystem::Real,
            (FileUnits::Unknown, None, None) => UnitSystem::Lj,
        };
        let scale = match source.units() {
            FileUnits::Fixed(unit) => [1.0 / length_factor(units, unit), 1.0 / picoseconds(units)],
            _ => [1.0; 2],
        };
        let (path, timestep) = (path.to_path_buf(), open.timestep);
        let mut reader = TrajectoryReader {
            path,
            source,
            first: None,
            frames: 0,
            units,
            scale,
            cast,
            timestep,
            read,
            bytes,
        };
        reader.first = Some(reader.finished(first));
        Ok(reader)
    }

    /// The next frame; `None` after the last.
    ///
    /// # Errors
    /// If the frame is damaged or cut short; the error names file, frame and cause.
    pub fn next_frame(&mut self) -> Result<Option<Snapshot>> {
        let frame = match self.first.take() {
            Some(frame) => Some(frame),
            None => {
                let number = self.frames;
                let in_frame = |e: Error| e.context(format!("frame {number}")).blame_file(&self.path);
                let Some(frame) = self.source.next().map_err(in_frame)? else { return Ok(None) };
                let (n, before) = (frame.positions.len(), self.cast.species.len());
                if n != before {
                    let message = format!("frame {number} has {n} atoms, those before it {before}");
                    let hint = "trajectories whose number of atoms changes are not read".to_string();
                    return Err(
                        Error::file(&self.path, message).hint(self.cast.alternatives.clone().unwrap_or(hint))
                    );
                }
                Some(self.finished(frame))
            }
        };
        self.frames += 1;
        Ok(frame)
    }

    /// The unit system of all numbers that come out. Reduced units where neither the file nor
    /// anybody else says: the numbers are those of the file then.
    pub fn units(&self) -> UnitSystem {
        self.units
    }

    /// Names of the species; `X` for all atoms of a file without names.
    pub fn names(&self) -> &[String] {
        &self.cast.names
    }

    /// The species of each atom, by id.
    pub fn species(&self) -> &[u16] {
        &self.cast.species
    }

    /// Atoms that are bound, by id; none where the file does not say (PDB, before its second model).
    pub fn bonds(&self) -> &[[u32; 2]] {
        &self.cast.bonds
    }

    /// Atoms that the file has in more than one place, in words, where it says so: they may be the reason
    /// for an unexpected number of atoms.
    pub fn alternatives(&self) -> Option<&str> {
        self.cast.alternatives.as_deref()
    }

    /// What of the file is not read, or taken for something that it does not say: for the user.
    pub fn notes(&self) -> &[String] {
        self.source.notes()
    }

    /// What a writer of the same frames has to know, given the first two of them.
    pub fn header(&self, first: &Snapshot, second: Option<&Snapshot>) -> TrajectoryHeader {
        let every = second.map_or(1, |s| s.step.saturating_sub(first.step)).max(1);
        let apart = second.and_then(|s| Some(s.time? - first.time?));
        TrajectoryHeader {
            units: self.units,
            names: self.cast.names.clone(),
            species: self.cast.species.clone(),
            atoms: self.cast.atoms.clone(),
            bonds: self.cast.bonds.clone(),
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
        frame.time = frame.time.map(|t| t * time).or(self.timestep.map(|dt| dt * frame.step as f64));
        if length != 1.0 {
            frame.positions.as_flattened_mut().iter_mut().for_each(|x| *x *= length);
            let scaled = |v: Vec3| v.map(|x| x * length);
            let simbox = &frame.simbox;
            let (origin, edges, tilts) = (simbox.origin(), simbox.lengths(), simbox.tilts());
            // A scaled box is as valid as it was.
            frame.simbox = SimBox::new(scaled(origin), scaled(edges), scaled(tilts), simbox.periodic())
                .unwrap_or(frame.simbox);
        }
        if let Some(velocities) = frame.velocities.as_mut().filter(|_| length != time) {
            velocities.as_flattened_mut().iter_mut().for_each(|v| *v *= length / time);
        }
        frame
    }
}

/// The atoms of a file that has names, and its units.
fn cast_of(path: &Path, units: Option<UnitSystem>) -> Result<(Cast, Option<UnitSystem>)> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("");
    if ["data", "lmp", "lammps"].contains(&extension) {
        let reading = Reading { units: units.unwrap_or(UnitSystem::Lj), types: &[], periodic: None };
        let structure = Structure::read(path, reading)?;
        let names = structure.species.into_iter().map(|s| s.name).collect();
        let bonds = chemical_bonds(&structure.topology);
        let species = structure.state.species;
        return Ok((Cast { names, species, bonds, ..Cast::default() }, None));
    }
    let mut source = source(ByteStream::open(path, Arc::default())?, path)?;
    source.next().map_err(|e| e.context("frame 0").blame_file(path))?;
    let units = match source.units() {
        FileUnits::Of(units) => Some(units),
        _ => None,
    };
    let cast = source.cast().cloned();
    let cast = cast.ok_or_else(|| Error::file(path, "the file has no names of atoms"))?;
    Ok((cast, units))
}

/// The first frame of an mmCIF file, in its angstrom, what the atoms are called, and which of them have
/// alternative places.
///
/// # Errors
/// If it has none, or is damaged.
pub(crate) fn first_of_mmcif(path: &Path, text: &str) -> Result<(Snapshot, Names, Option<String>)> {
    let mut source = cif::Cif::new(ByteStream::of_text(text), path);
    let frame = source.next().map_err(|e| e.blame_file(path))?;
    let frame = frame.ok_or_else(|| Error::file(path, "there are no atoms"))?;
    let cast = source.cast().cloned().unwrap_or_default();
    Ok((frame, cast.atoms, cast.alternatives))
}

fn open_file(path: &Path) -> Result<File> {
    File::open(path).map_err(|e| Error::io("read", path, &e))
}

fn source(mut stream: ByteStream, path: &Path) -> Result<Box<dyn FrameSource>> {
    let start = stream.fill_buf().map_err(|e| Error::io("read", path, &e))?;
    let (format, empty) = (detect::format(start, path), start.is_empty());
    let blame = |e: Error| e.blame_file(path);
    let Some(format) = format else {
        let what = if empty { "the file is empty" } else { "this is no known trajectory" };
        return Err(Error::file(path, what)
            .hint("DCD, XTC, TRR, extended XYZ, LAMMPS dumps, GSD, H5MD, PDB and mmCIF are read"));
    };
    if matches!(format, DetectedFormat::Gsd | DetectedFormat::Hdf5) && stream.is_packed() {
        return Err(Error::file(path, "GSD and H5MD are not read while they are packed")
            .hint("unpack it first, with gunzip or unzstd"));
    }
    Ok(match format {
        DetectedFormat::Gsd => Box::new(gsd::Gsd::open(open_file(path)?).map_err(blame)?),
        DetectedFormat::Hdf5 => hdf5(path).map_err(blame)?,
        DetectedFormat::Xtc => Box::new(xtc::Xtc::new(Binary::new(stream, ByteOrder::Big))),
        DetectedFormat::Trr => Box::new(trr::Trr::new(Binary::new(stream, ByteOrder::Big))),
        DetectedFormat::Dcd(DcdLayout { order, marks }) => {
            Box::new(dcd::Dcd::open(Binary::new(stream, order), marks).map_err(blame)?)
        }
        DetectedFormat::Dump => Box::new(dump::Dump::new(stream, path)),
        DetectedFormat::Xyz => Box::new(xyz::Xyz::new(stream, path)),
        DetectedFormat::Pdb => Box::new(pdb::Pdb::new(stream, path)),
        DetectedFormat::Cif => Box::new(cif::Cif::new(stream, path)),
    })
}

#[cfg(feature = "h5md")]
fn hdf5(path: &Path) -> Result<Box<dyn FrameSource>> {
    Ok(Box::new(h5md::H5md::open(path)?))
}

#[cfg(not(feature = "h5md"))]
fn hdf5(_: &Path) -> Result<Box<dyn FrameSource>> {
    Err(damaged("this is HDF5, which this program was built without").hint("build it with the feature h5md"))
}

/// A box by its edges a, b, c, whose a must lie along x and whose b in the xy plane; an open one
/// around the atoms where all are zero.
fn simbox_of(edges: [Vec3; 3], positions: &[Vec3]) -> Result<SimBox> {
    let [[ax, ay, az], [bx, by, bz], [cx, cy, cz]] = edges;
    let largest = edges.as_flattened().iter().fold(0.0f64, |max, x| max.max(x.abs()));
    if largest == 0.0 {
        return around(positions);
    }
    if [ay, az, bz].iter().any(|x| x.abs() > 1e-6 * largest) {
        return Err(damaged("the edge a of its box is not along x, or b not in the xy plane"));
    }
    SimBox::new([0.0; 3], [ax, by, cz], [bx, cx, cy], [true; 3])
}
