//! Trajectories of a simulation.

use super::Simulation;
use crate::clock::Clock;
use crate::frames::OwnedFrame;
use jostle_core::{AtomStorage, AtomVector, Result};
use jostle_io::chemical_bonds;
use jostle_io::input::model::{Action, StageInput, TrajectoryFormat};
use jostle_io::trajectory::{Frame, TrajectoryHeader, WrittenSoFar};

impl Simulation {
    /// Writes the atoms at the start of the run: some formats do not name the atoms, tell the units or the open axes of
    /// the box, and some viewers open a file without names only beside one with them.
    pub(super) fn write_start(&mut self) -> Result<()> {
        let lacking = |s: &&StageInput| s.trajectory.is_some_and(|t| !t.format.describes_atoms());
        let Some(stage) = self.stages.iter().find(lacking).cloned() else { return Ok(()) };
        let (header, positions) = (self.trajectory_header(&stage, 1)?, self.positions()?);
        let Clock { step, time, .. } = self.clock;
        let frame = Frame {
            step,
            time: Some(time),
            simbox: self.backend.simbox(),
            positions: &positions,
            velocities: None,
            images: None,
        };
        self.output.folder().map_or(Ok(()), |folder| folder.start(header, &frame))
    }

    /// Opens the trajectory of a stage that begins, if it has one.
    pub(super) fn begin_trajectory(&mut self, stage: &StageInput) -> Result<()> {
        let Some(trajectory) = stage.trajectory else { return Ok(()) };
        let header = self.trajectory_header(stage, trajectory.every)?;
        let index = self.clock.stage;
        match self.output.folder() {
            Some(folder) => folder.begin_trajectory(index, &stage.name, trajectory.format, header),
            None => Ok(()),
        }
    }

    /// Resumes the trajectory of the stage under way.
    pub(super) fn resume_trajectory(&mut self, stage: &StageInput, written: WrittenSoFar) -> Result<()> {
        let Some(trajectory) = stage.trajectory else { return Ok(()) };
        let header = self.trajectory_header(stage, trajectory.every)?;
        let index = self.clock.stage;
        match self.output.folder() {
            Some(folder) => folder.resume_trajectory(index, &stage.name, trajectory.format, header, written),
            None => Ok(()),
        }
    }

    /// Writes a frame of the present atoms.
    pub(super) fn write_frame(&mut self, format: TrajectoryFormat) -> Result<()> {
        if !self.output.has_folder() {
            return Ok(());
        }
        let vectors: &[_] = match format.has_velocities() {
            true => &[AtomVector::Position, AtomVector::Velocity],
            false => &[AtomVector::Position],
        };
        let (simbox, atoms) = (*self.backend.simbox(), self.backend.snapshot(vectors)?);
        let Clock { step, time, .. } = self.clock;
        self.output.frame(OwnedFrame { step, time, simbox, atoms })
    }

    fn trajectory_header(&mut self, stage: &StageInput, every: u64) -> Result<TrajectoryHeader> {
        let timestep = match stage.action {
            Action::Dynamics { timestep, .. } => timestep,
            Action::Minimize { .. } => 0.0,
        };
        let state = self.backend.state()?;
        let species: Vec<u16> = state.index_by_id().into_iter().map(|index| state.species[index]).collect();
        let mass = |s: &u16| self.units.mass_to_user(self.tables.species[usize::from(*s)].mass);
        let (masses, charges) = (species.iter().map(mass).collect(), self.charges()?);
        let names = self.tables.species.iter().map(|s| s.name.clone()).collect();
        let (atoms, bonds) = (self.tables.names.clone(), chemical_bonds(&self.tables.topology));
        let periodic = self.backend.simbox().periodic();
        Ok(TrajectoryHeader {
            units: self.units,
            names,
            species,
            masses,
            charges,
            atoms,
            bonds,
            periodic,
            timestep,
            every,
            images: false,
        })
    }
}
