//! Trajectories that VMD, OVITO, MDAnalysis and ASE open as they are.
//!
//! A format only turns frames into bytes; the file, the errors of the disk and going on after a
//! restart are the same for all of them ([`TrajectoryWriter`]).
//!
//! Units in DCD, XTC, TRR, PDB and mmCIF files are those of the format (angstrom or nm, ps), whatever the units of
//! the run. Reduced units and `nuclear` have no sensible angstrom: their numbers are written as
//! they are, one unit of length as one of the format's and one unit of time as a picosecond.

mod cif;
mod dcd;
mod dump;
mod gsd;
mod h5md;
mod hdf5;
mod pdb;
mod read;
mod trr;
mod xtc;
mod xyz;

pub(crate) use read::first_of_mmcif;
pub use read::{Open, Snapshot, TrajectoryReader};
pub(crate) use xyz::write_xyz_frame;

use crate::input::model::TrajectoryFormat;
use jostle_core::quantity::parse_quantity;
use jostle_core::{Dimension, Error, Names, Result, SimBox, UnitSystem, Vec3};
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The atoms at one time, in the order of their ids.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Which step it is.
    pub step: u64,
    /// Time in the unit system of the run, where it is known. Where it is not, XTC and TRR, which cannot do
    /// without, have the step in its place.
    pub time: Option<f64>,
    /// The box.
    pub simbox: &'a SimBox,
    /// Positions by id.
    pub positions: &'a [Vec3],
    /// Velocities by id; formats without velocities leave them out.
    pub velocities: Option<&'a [Vec3]>,
    /// How many times each atom has crossed the box, by id, which adds to its position; formats without
    /// images leave them out.
    pub images: Option<&'a [[i32; 3]]>,
}

impl Frame<'_> {
    /// The time, or the step where it is not known.
    fn time_or_step(&self) -> f64 {
        self.time.unwrap_or(self.step as f64)
    }
}

/// The system and the spacing that all frames of a trajectory have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct TrajectoryHeader {
    /// The unit system of the run.
    pub units: UnitSystem,
    /// Names of the species.
    pub names: Vec<String>,
    /// The species of each atom, by id.
    pub species: Vec<u16>,
    /// What the atoms are called in their molecules; empty where only their species have names.
    pub atoms: Names,
    /// Atoms that are bound, for formats that say so.
    pub bonds: Vec<[u32; 2]>,
    /// Along which axes the box repeats.
    pub periodic: [bool; 3],
    /// The time step; 0 if frames are not equally far apart.
    pub timestep: f64,
    /// Steps between frames.
    pub every: u64,
    /// Whether frames say how many times atoms have crossed the box, which formats without images leave out.
    pub images: bool,
}

/// How far a trajectory has come; a checkpoint keeps it, so that a resumed run cuts off what the
/// interrupted one wrote later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WrittenSoFar {
    /// Frames in the file.
    pub frames: u64,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// The step of the first frame.
    pub first_step: u64,
}

/// A file format: bytes before the first frame, bytes of a frame.
trait FormatWriter: Send {
    /// Whether it can hold this system.
    ///
    /// # Errors
    /// If it cannot.
    fn check(&self, _: &TrajectoryHeader) -> Result<()> {
        Ok(())
    }

    /// What comes before the first frame, given how far the file has come. It is written anew after
    /// every frame, and never longer than at first.
    fn file_header(&self, header: &TrajectoryHeader, written: &WrittenSoFar) -> Vec<u8>;

    /// Appends a frame to `out`; its number counts from 0.
    ///
    /// # Errors
    /// If the format cannot hold the numbers.
    fn frame(
        &mut self,
        header: &TrajectoryHeader,
        frame: &Frame,
        number: u64,
        out: &mut Vec<u8>,
    ) -> Result<()>;

    /// What else is to be written, and where, given how far the file has come.
    fn patch(&self, _: &TrajectoryHeader, _: &WrittenSoFar, _: Patch) -> Vec<(u64, Vec<u8>)> {
        Vec::new()
    }
}

/// What is written between header and frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Patch {
    /// What belongs to the last frame.
    LastFrame,
    /// Nothing, behind the last frame: later ones were taken back.
    Behind,
}

fn format(kind: TrajectoryFormat) -> Box<dyn FormatWriter> {
    match kind {
        TrajectoryFormat::Dcd => Box::new(dcd::Dcd),
        TrajectoryFormat::Xtc => Box::new(xtc::Xtc),
        TrajectoryFormat::Xyz => Box::new(xyz::Xyz),
        TrajectoryFormat::Trr => Box::new(trr::Trr),
        TrajectoryFormat::Dump => Box::new(dump::Dump),
        TrajectoryFormat::Gsd => Box::new(gsd::Gsd::new()),
        TrajectoryFormat::H5md => Box::new(h5md::H5md::new()),
        TrajectoryFormat::Pdb => Box::new(pdb::Pdb),
        TrajectoryFormat::Cif => Box::new(cif::Cif),
    }
}

impl TrajectoryFormat {
    /// The usual ending of file names, without a dot.
    pub fn extension(self) -> &'static str {
        match self {
            TrajectoryFormat::Dcd => "dcd",
            TrajectoryFormat::Xtc => "xtc",
            TrajectoryFormat::Xyz => "xyz",
            TrajectoryFormat::Trr => "trr",
            TrajectoryFormat::Dump => "lammpstrj",
            TrajectoryFormat::Gsd => "gsd",
            TrajectoryFormat::H5md => "h5md",
            TrajectoryFormat::Pdb => "pdb",
            TrajectoryFormat::Cif => "cif",
        }
    }

    /// Whether its files hold velocities.
    pub fn has_velocities(self) -> bool {
        use TrajectoryFormat::{Cif, Dcd, Pdb, Xtc};
        !matches!(self, Dcd | Xtc | Pdb | Cif)
    }

    /// Whether its files hold how many times atoms have crossed the box.
    pub fn has_images(self) -> bool {
        use TrajectoryFormat::{Dump, Gsd, H5md};
        matches!(self, Dump | Gsd | H5md)
    }

    /// Whether its files say what the atoms are called.
    pub fn has_names(self) -> bool {
        !matches!(self, TrajectoryFormat::Dcd | TrajectoryFormat::Xtc | TrajectoryFormat::Trr)
    }

    /// Whether all its frames must have a time.
    pub fn needs_times(self) -> bool {
        matches!(self, TrajectoryFormat::Xtc | TrajectoryFormat::Trr)
    }
}

/// Writes a trajectory. After every frame the file is complete: readers may open it while the run
/// goes on, and a frame that could not be written (a full disk) is taken back.
pub struct TrajectoryWriter {
    path: PathBuf,
    file: File,
    format: Box<dyn FormatWriter>,
    header: TrajectoryHeader,
    written: WrittenSoFar,
    buffer: Vec<u8>,
}

impl TrajectoryWriter {
    /// Begins a trajectory; an existing file is replaced.
    ///
    /// # Errors
    /// If the format cannot hold the system, or the file cannot be made or written.
    pub fn create(path: &Path, kind: TrajectoryFormat, header: TrajectoryHeader) -> Result<Self> {
        let format = format(kind);
        format.check(&header).map_err(|e| e.in_file(path))?;
        let file = File::create(path).map_err(|e| Error::io("create", path, &e))?;
        let written = WrittenSoFar::default();
        let (path, buffer) = (path.to_path_buf(), Vec::new());
        let mut writer = TrajectoryWriter { path, file, format, header, written, buffer };
        let bytes = writer.format.file_header(&writer.header, &writer.written);
        writer.file.write_all(&bytes).map_err(|e| writer.io_error("write", &e))?;
        writer.written.bytes = bytes.len() as u64;
        Ok(writer)
    }

    /// Goes on with a trajectory from what was recorded as written earlier; what was written after it is
    /// cut off.
    ///
    /// # Errors
    /// If the file is missing, cannot be written, or is shorter than it was.
    pub fn resume(
        path: &Path,
        kind: TrajectoryFormat,
        header: TrajectoryHeader,
        written: WrittenSoFar,
    ) -> Result<Self> {
        let opened = OpenOptions::new().read(true).write(true).open(path);
        let file = opened.map_err(|e| Error::io("go on with", path, &e))?;
        let length = file.metadata().map_err(|e| Error::io("look at", path, &e))?.len();
        if length < written.bytes {
            let message = format!(
                "the trajectory has {length} bytes, but had {} when the checkpoint was written",
                written.bytes
            );
            return Err(Error::file(path, message)
                .hint("it was shortened or replaced since; put the file back, or start a new run"));
        }
        let (path, buffer, format) = (path.to_path_buf(), Vec::new(), format(kind));
        let mut writer = TrajectoryWriter { path, file, format, header, written, buffer };
        writer.file.set_len(written.bytes).map_err(|e| writer.io_error("shorten", &e))?;
        let cut = writer.write_patch(Patch::Behind).and_then(|()| writer.write_header());
        cut.map_err(|e| writer.io_error("write", &e))?;
        Ok(writer)
    }

    /// Writes a frame.
    ///
    /// # Errors
    /// If a position is not a finite number, the format cannot hold it, or the disk does not take
    /// it. The file then ends with the frame before.
    pub fn write(&mut self, frame: &Frame) -> Result<()> {
        self.check(frame)?;
        self.buffer.clear();
        let number = self.written.frames;
        let made = self.format.frame(&self.header, frame, number, &mut self.buffer);
        made.map_err(|e| e.in_file(&self.path))?;
        let before = self.written;
        if before.frames == 0 {
            self.written.first_step = frame.step;
        }
        self.written.frames += 1;
        self.written.bytes += self.buffer.len() as u64;
        let written = self.file.write_all(&self.buffer);
        let written = written.and_then(|()| self.write_patch(Patch::LastFrame));
        let written = written.and_then(|()| self.write_header());
        if let Err(e) = written {
            self.written = before;
            let error = self.io_error("write", &e);
            // Best effort: the first error is the one worth reporting.
            let cut = self.file.set_len(before.bytes).and_then(|()| self.write_patch(Patch::Behind));
            let _ = cut.and_then(|()| self.write_header());
            return Err(error);
        }
        Ok(())
    }

    /// How far the file has come.
    pub fn written_so_far(&self) -> WrittenSoFar {
        self.written
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes sure that everything is on the disk, not only on its way there.
    ///
    /// # Errors
    /// If the disk does not take it.
    pub fn sync(&mut self) -> Result<()> {
        self.file.sync_data().map_err(|e| self.io_error("write", &e))
    }

    fn write_patch(&mut self, what: Patch) -> std::io::Result<()> {
        for (at, bytes) in self.format.patch(&self.header, &self.written, what) {
            self.file.seek(SeekFrom::Start(at))?;
            self.file.write_all(&bytes)?;
        }
        Ok(())
    }

    fn write_header(&mut self) -> std::io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&self.format.file_header(&self.header, &self.written))?;
        self.file.seek(SeekFrom::Start(self.written.bytes)).map(|_| ())
    }

    fn check(&self, frame: &Frame) -> Result<()> {
        let n = self.header.species.len();
        if n == 0 {
            return Err(Error::file(&self.path, "a trajectory of no atoms is not written"));
        }
        let velocities = frame.velocities.map_or(n, <[Vec3]>::len);
        let images = frame.images.map_or(n, <[[i32; 3]]>::len);
        if frame.images.is_some() != self.header.images {
            let message = "some frames say how often atoms have crossed the box, and others do not";
            return Err(Error::file(&self.path, message));
        }
        if frame.positions.len() != n || velocities != n || images != n {
            let message = format!("a frame has {} atoms instead of {n}", frame.positions.len());
            return Err(Error::file(&self.path, message));
        }
        match frame.positions.iter().position(|r| r.iter().any(|x| !x.is_finite())) {
            Some(id) => {
                let message = format!("atom {id} has no finite position at step {}", frame.step);
                Err(Error::simulation(message).in_file(&self.path))
            }
            None => Ok(()),
        }
    }

    fn io_error(&self, action: &str, error: &std::io::Error) -> Error {
        Error::io(action, &self.path, error)
    }
}

/// One unit of length of the run, in `unit`.
fn length_factor(units: UnitSystem, unit: &str) -> f64 {
    factor(units, unit, Dimension::LENGTH)
}

/// One unit of time of the run, in ps.
fn picoseconds(units: UnitSystem) -> f64 {
    factor(units, "ps", Dimension::TIME)
}

fn factor(units: UnitSystem, unit: &str, dimension: Dimension) -> f64 {
    match units {
        UnitSystem::Lj | UnitSystem::Nuclear | UnitSystem::Plasma => 1.0,
        _ => parse_quantity(&format!("1 {unit}"), &[dimension], units).map_or(1.0, |(x, _)| 1.0 / x),
    }
}
