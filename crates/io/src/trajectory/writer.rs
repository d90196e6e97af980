//! Trajectories to files.

use super::format::{FormatWriter, Patch};
use super::formats::TrajectoryFormat;
use super::frame::{Frame, TrajectoryHeader, WrittenSoFar};
use jostle_core::{Error, Result, Vec3};
use std::fs::{File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Writer of a trajectory. After every frame the file is complete: readers may open it while the run
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
        let format = kind.writer();
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

    /// Resumes a trajectory at its recorded extent; bytes behind that are cut off.
    ///
    /// # Errors
    /// If the file is missing, cannot be written, is shorter than it was, or its frames are others.
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
        let mut format = kind.writer();
        format.take_up(&header, &written).map_err(|e| e.in_file(path))?;
        let (path, buffer) = (path.to_path_buf(), Vec::new());
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
        self.format.follows(&self.header, &self.written, frame).map_err(|e| e.in_file(&self.path))?;
        self.buffer.clear();
        let number = self.written.frames;
        let made = self.format.frame(&self.header, frame, number, &mut self.buffer);
        made.map_err(|e| e.in_file(&self.path))?;
        let before = self.written;
        self.written = before.with(frame, self.buffer.len() as u64);
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

    /// Extent of the file.
    pub fn written_so_far(&self) -> WrittenSoFar {
        self.written
    }

    /// Note for the user about what the format does not keep of the frames, which is handed over once.
    pub fn take_note(&mut self) -> Option<String> {
        self.format.take_note(&self.written).map(|note| format!("{}: {note}", self.path.display()))
    }

    /// Path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until everything is on the disk, not only on its way there.
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
