//! Frames of trajectories, and what all frames of one have in common.

use crate::structure::wrap;
use jostle_core::{Error, Names, Result, SimBox, UnitSystem, Vec3};

/// Atoms at one time, in the order of their ids, as they are written.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// Number of the time step.
    pub step: u64,
    /// Time in the unit system of the run, where it is known. Formats that cannot do without a time have the
    /// step in its place.
    pub time: Option<f64>,
    /// Box.
    pub simbox: &'a SimBox,
    /// Positions by id.
    pub positions: &'a [Vec3],
    /// Velocities by id; formats without velocities leave them out.
    pub velocities: Option<&'a [Vec3]>,
    /// Numbers of crossings of the box by id, which add to the position of an atom; formats without images
    /// leave them out.
    pub images: Option<&'a [[i32; 3]]>,
}

impl Frame<'_> {
    /// Time, or the step where the time is not known.
    pub(super) fn time_or_step(&self) -> f64 {
        self.time.unwrap_or(self.step as f64)
    }
}

/// Atoms at one time as a file has them, in the order of their ids.
#[derive(Debug, Clone, PartialEq)]
pub struct Snapshot {
    /// Number of the time step; that of the frame, from 0, where the file has no steps.
    pub step: u64,
    /// Time, where the file or [`Open::timestep`](super::Open::timestep) says it.
    pub time: Option<f64>,
    /// Box.
    pub simbox: SimBox,
    /// Positions, wrapped into the box or not, as the file has them.
    pub positions: Vec<Vec3>,
    /// Numbers of crossings of the box, where the file has them: the unbroken path of an atom is at its
    /// position shifted by so many edges. Zero where the file says that its positions are on unbroken paths.
    pub images: Option<Vec<[i32; 3]>>,
    /// Velocities, where the file has them.
    pub velocities: Option<Vec<Vec3>>,
}

impl Snapshot {
    /// Moves all atoms into the box and counts the crossings, where crossings are known.
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

/// Atoms and spacing that all frames of a trajectory have in common.
#[derive(Debug, Clone, PartialEq)]
pub struct TrajectoryHeader {
    /// Unit system of the run.
    pub units: UnitSystem,
    /// Names of the species.
    pub names: Vec<String>,
    /// Species of each atom, by id.
    pub species: Vec<u16>,
    /// Mass of each atom, by id, in the unit of the unit system; empty where it is not known.
    pub masses: Vec<f64>,
    /// Charge of each atom, by id; empty where it is not known.
    pub charges: Vec<f64>,
    /// Names of atoms in their molecules; empty where only their species have names.
    pub atoms: Names,
    /// Pairs of bound atoms, for formats with bonds.
    pub bonds: Vec<[u32; 2]>,
    /// Axes along which the box repeats.
    pub periodic: [bool; 3],
    /// Time step; 0 if frames are not equally far apart.
    pub timestep: f64,
    /// Steps between frames.
    pub every: u64,
    /// True where frames have numbers of crossings of the box; formats without images leave them out.
    pub images: bool,
}

/// Extent of a trajectory; a checkpoint keeps it, so that a resumed run cuts off the frames that the
/// interrupted one wrote later.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct WrittenSoFar {
    /// Frames in the file.
    pub frames: u64,
    /// Length of the file in bytes.
    pub bytes: u64,
    /// Step of the first frame.
    pub first_step: u64,
    /// Times of the first and of the last frame; `None` where a frame has no time.
    pub times: Option<[f64; 2]>,
}

impl WrittenSoFar {
    /// Time from one frame to the next; `None` below two frames, or without times.
    pub(super) fn interval(&self) -> Option<f64> {
        let [first, last] = self.times.filter(|_| self.frames > 1)?;
        Some((last - first) / (self.frames - 1) as f64)
    }

    /// Extent with another frame of so many bytes.
    pub(super) fn with(&self, frame: &Frame, bytes: u64) -> WrittenSoFar {
        let (first_step, times) = match self.frames {
            0 => (frame.step, frame.time.map(|time| [time; 2])),
            _ => (self.first_step, self.times.zip(frame.time).map(|([first, _], time)| [first, time])),
        };
        WrittenSoFar { frames: self.frames + 1, bytes: self.bytes + bytes, first_step, times }
    }
}
