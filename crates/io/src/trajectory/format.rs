//! Definition of a trajectory format: its words, its abilities, how its files are recognized, read and
//! written.

use super::frame::{Frame, TrajectoryHeader, WrittenSoFar};
use super::source::{ByteStream, Evidence, FileStart, FrameSource};
use jostle_core::{Error, Result};
use std::path::Path;

/// Definition of a format; the registry has a name for each.
pub(super) struct FormatDefinition {
    /// Word in the input file and on the command line; the ending of the format's files.
    pub name: &'static str,
    /// Name in sentences.
    pub title: &'static str,
    /// Explanation in one line.
    pub about: &'static str,
    /// Contents of a frame besides positions and box.
    pub contents: &'static [Content],
    /// Rounding of the numbers in its files.
    pub precision: Precision,
    /// Order in which its files are read.
    pub access: Access,
    /// Makes a writer.
    pub writer: fn() -> Box<dyn FormatWriter>,
    /// Evidence that a file has this format, if there is any.
    pub recognize: fn(&FileStart) -> Option<Evidence>,
    /// Opens a file of this format. Errors need not name the file.
    pub open: fn(ByteStream, &Path) -> Result<Box<dyn FrameSource>>,
}

impl FormatDefinition {
    /// Returns true where files of the format have this content.
    pub fn has(&self, content: Content) -> bool {
        self.contents.contains(&content)
    }
}

/// Contents of files that formats may lack or need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    Velocities,
    /// Numbers of crossings of the box.
    Images,
    /// Names of atoms or of their species.
    Names,
    /// Names and numbers of residues.
    Residues,
    /// Axes along which the box is open.
    Boundaries,
    /// Corner of the box. Formats without it have positions as they are, in a box from 0 on,
    Corner,
    /// or positions from the centre of the box.
    CenteredBox,
    /// Unit system of the numbers, where it is none of the format's own.
    Units,
    /// Times, of all frames or of their first one and their interval.
    Times,
    /// Times that no frame may lack.
    RequiredTimes,
}

/// Order in which the bytes of a file are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    /// Beginning to end, so that a file may be packed.
    Stream,
    /// Any order, by places in the file.
    Random,
}

/// Rounding of the numbers in files of a format.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Precision {
    /// Largest relative error of any number: 2^-24 in single precision, else 0.
    pub relative: f64,
    /// Largest error of a position by its decimals.
    pub position: f64,
    /// Largest error of a velocity by its decimals.
    pub velocity: f64,
    /// Largest error of an angle of the box by its decimals, in degrees.
    pub angle: f64,
    /// Unit of length and ps as units of these errors; `None`: units of the run.
    pub(super) unit: Option<&'static str>,
}

impl Precision {
    /// Numbers in full, in the units of the run.
    pub(super) const EXACT: Precision =
        Precision { relative: 0.0, position: 0.0, velocity: 0.0, angle: 0.0, unit: None };
    /// Numbers in single precision.
    pub(super) const SINGLE: Precision = Precision { relative: 1.0 / (1 << 24) as f64, ..Precision::EXACT };
}

/// Bytes of a file in one format: those before the first frame and those of each frame.
pub(super) trait FormatWriter: Send {
    /// Refuses systems that the format cannot hold.
    ///
    /// # Errors
    /// If it cannot hold this one.
    fn check(&self, _: &TrajectoryHeader) -> Result<()> {
        Ok(())
    }

    /// Refuses a frame that cannot follow those in the file.
    ///
    /// # Errors
    /// If the format has no place for its time.
    fn follows(&self, _: &TrajectoryHeader, _: &WrittenSoFar, _: &Frame) -> Result<()> {
        Ok(())
    }

    /// Takes up a file of this extent, which may be of an earlier version.
    ///
    /// # Errors
    /// If its frames are not of this format.
    fn take_up(&mut self, _: &TrajectoryHeader, _: &WrittenSoFar) -> Result<()> {
        Ok(())
    }

    /// Bytes before the first frame, given the extent of the file. They are written anew after every frame,
    /// and never longer than at first.
    fn file_header(&self, _: &TrajectoryHeader, _: &WrittenSoFar) -> Vec<u8> {
        Vec::new()
    }

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

    /// Note for the user about the frames so far, which is handed over once: it is asked for after each frame.
    fn take_note(&mut self, _: &WrittenSoFar) -> Option<String> {
        None
    }

    /// Further bytes to be written and their places, given the extent of the file.
    fn patch(&self, _: &TrajectoryHeader, _: &WrittenSoFar, _: Patch) -> Vec<(u64, Vec<u8>)> {
        Vec::new()
    }
}

/// Occasion for bytes between the header and the frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patch {
    /// The last frame was added.
    LastFrame,
    /// Frames behind the last were taken back.
    Behind,
}

/// Takes from the first frame of a file whether all have velocities, in a format whose frames are alike.
///
/// # Errors
/// If a later frame differs.
pub(super) fn same_velocities(all: &mut bool, frame: &Frame, number: u64, format: &str) -> Result<()> {
    let own = frame.velocities.is_some();
    if number == 0 {
        *all = own;
    }
    let message = "some frames have velocities and others have none";
    match *all == own {
        true => Ok(()),
        false => Err(Error::simulation(format!("{message}, which {format} files of Jostle's cannot hold"))),
    }
}

/// A number in single precision.
///
/// # Errors
/// If it is too large.
pub(super) fn single_precision(x: f64, format: &str) -> Result<f32> {
    let single = x as f32;
    match single.is_finite() {
        true => Ok(single),
        false => Err(Error::simulation(format!("a number is too large for {format} files"))),
    }
}

/// Failure to write a frame as text, which no memory causes in practice.
pub(super) fn unwritable(error: std::io::Error) -> Error {
    Error::simulation(format!("a frame cannot be written as text: {error}"))
}
