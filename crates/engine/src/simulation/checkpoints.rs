//! Writing of checkpoints, and ways back to them.

use super::{Overrides, Simulation};
use crate::checkpoint::{Checkpoint, Header};
use crate::progress::Progress;
use crate::stage::StageRun;
use jostle_core::{AtomStorage, Components, DeviceReport, Error, Result, Vec3};
use std::path::PathBuf;
use std::time::Instant;

/// A run as it was at one moment, with its folder.
#[derive(Debug, Clone)]
pub struct SavePoint {
    checkpoint: Checkpoint,
    summary: serde_json::Value,
    folder: PathBuf,
    /// Names of the files of the run.
    files: Vec<String>,
}

impl Simulation {
    /// Writes a checkpoint and the summary, if there is a folder, so that the run can be resumed from here.
    ///
    /// # Errors
    /// If a position or a velocity is not finite, the device failed, or a file cannot be written; if an error has ended
    /// a run in the middle of a step, or a resumed run lacks custom forces that it had.
    pub fn save_checkpoint(&mut self) -> Result<()> {
        self.save_between_steps().map(drop)
    }

    /// Writes a checkpoint and the summary to the folder, and keeps what [`Simulation::restore`] needs to go back here
    /// whatever checkpoints are written later.
    ///
    /// # Errors
    /// If there is no folder; as for [`Simulation::save_checkpoint`].
    pub fn save_point(&mut self) -> Result<SavePoint> {
        let saved = self.save_between_steps()?;
        let folder = self.folder().map(PathBuf::from);
        let (Some((checkpoint, summary)), Some(folder)) = (saved, folder) else {
            return Err(Error::input("there is no folder that a checkpoint could be written to")
                .hint("name one by write_to(folder)"));
        };
        let files = self.output.files().into_iter().flatten().map(String::from).collect();
        Ok(SavePoint { checkpoint, summary, folder, files })
    }

    /// Goes back to a save point: atoms, stages and the files of the folder are those of then. Observers and custom forces
    /// have to be added again.
    ///
    /// # Errors
    /// If the run does not write to the folder of the save point; as for [`Simulation::resume`], where atoms are as they
    /// were and nothing is written to the folder any more.
    pub fn restore(&mut self, point: &SavePoint, overrides: &Overrides) -> Result<()> {
        let SavePoint { checkpoint, summary, folder, files } = point;
        if self.folder() != Some(folder) {
            let folder = folder.display();
            return Err(Error::input(format!("the run does not write to {folder} any more"))
                .hint("go on with what is there by resume"));
        }
        // Should the process end half-way, the files are longer than at the newest checkpoint, never shorter.
        self.output.save(checkpoint, Instant::now(), &mut ())?;
        self.output.close();
        *self = Simulation::resume_from(folder, (checkpoint.clone(), None), overrides)?;
        self.output.folder().map_or(Ok(()), |folder| folder.keep(files))?;
        self.output.summarize(summary)
    }

    /// Writes a checkpoint and the summary, if there is a folder, and returns them.
    fn save_between_steps(&mut self) -> Result<Option<(Checkpoint, serde_json::Value)>> {
        self.check_intact()?;
        self.check_saved_forces()?;
        let status = if self.is_finished() { "finished" } else { "interrupted" };
        let run = self.run.take();
        let saved = self.save(run.as_ref(), &mut ());
        self.run = run;
        let checkpoint = saved?;
        Ok(checkpoint.zip(self.summarize_present(status)?))
    }

    /// Writes the files of forces, such as hills and grids of biases, if there is a folder.
    pub(super) fn write_results_of_forces(&mut self) -> Result<()> {
        self.backend.fetch_biases()?;
        let files: Vec<_> = self.backend.forces().flat_map(|force| force.files()).collect();
        self.output.folder().map_or(Ok(()), |folder| folder.results(&files))
    }

    /// Writes a checkpoint if there is a folder, and returns it; `run` is the stage under way, if there is one.
    ///
    /// # Errors
    /// If a position or a velocity is not finite, the device failed, or a file cannot be written.
    pub(super) fn save(
        &mut self,
        run: Option<&StageRun>,
        progress: &mut dyn Progress,
    ) -> Result<Option<Checkpoint>> {
        let begun = Instant::now();
        // Measures with too few frames for results are reported at the end of the stage.
        self.write_measures()?;
        self.write_results_of_forces()?;
        let forces = self.save_forces()?;
        let Some(folder) = self.output.folder() else { return Ok(None) };
        let simbox = *self.backend.simbox();
        let state = self.backend.state()?.clone();
        let finite = |v: &[Vec3]| v.as_flattened().iter().all(|x| x.is_finite());
        if !(finite(&state.position) && finite(&state.velocity)) {
            return Err(Error::simulation("an atom's position or velocity is not finite"));
        }
        let tables = &self.tables;
        let header = Header {
            program: env!("CARGO_PKG_VERSION").into(),
            units: self.units.name().into(),
            origin: simbox.origin(),
            lengths: simbox.lengths(),
            tilts: simbox.tilts(),
            periodic: simbox.periodic(),
            first_volume: self.facts.first_volume,
            group_degrees: self.columns.groups.iter().map(|group| group.degrees_of_freedom).collect(),
            species: tables.species.iter().map(|s| (s.name.clone(), s.mass, s.charge)).collect(),
            atoms: state.len() as u64,
            skin: self.backend.neighbor_facts().skin,
            clock: self.clock,
            run: run.cloned(),
            measures: self.measures.save()?,
            forces,
            reports: self.reports.clone(),
            input: self.origin.source.clone().map(|input| input.of_run(folder.path())),
            thermo_bytes: folder.settle()?,
            trajectory: folder.trajectory_written(),
        };
        let checkpoint = Checkpoint {
            header,
            state,
            topology: tables.topology.clone(),
            charges: tables.charges.clone(),
            names: tables.names.clone(),
            groups: tables.groups.clone(),
            reference_positions: tables.reference_positions.clone(),
            reference_box: tables.reference_box,
            list_positions: self.backend.list_positions()?.to_vec(),
        };
        self.output.save(&checkpoint, begun, progress)?;
        Ok(Some(checkpoint))
    }
}
