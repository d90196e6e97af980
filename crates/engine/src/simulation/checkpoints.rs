//! Writing of checkpoints.

use super::Simulation;
use crate::checkpoint::{Checkpoint, Header};
use crate::progress::Progress;
use crate::stage::StageRun;
use jostle_core::{AtomStorage, DeviceReport, Error, Result, Vec3};
use std::time::Instant;

impl Simulation {
    /// Writes a checkpoint if there is a folder; `run` is the stage under way, if there is one.
    ///
    /// # Errors
    /// If a position or a velocity is not finite, the device failed, or a file cannot be written.
    pub(super) fn save(&mut self, run: Option<&StageRun>, progress: &mut dyn Progress) -> Result<()> {
        let begun = Instant::now();
        // Measures with too few frames for results are reported at the end of the stage.
        self.write_measures()?;
        self.backend.fetch_biases()?;
        let forces = self.save_forces()?;
        let files: Vec<_> = self.backend.forces().flat_map(|force| force.files()).collect();
        let Some(folder) = self.output.folder() else { return Ok(()) };
        folder.results(&files)?;
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
            species: tables.species.iter().map(|s| (s.name.clone(), s.mass, s.charge)).collect(),
            atoms: state.len() as u64,
            skin: self.backend.neighbor_facts().skin,
            clock: self.clock,
            run: run.cloned(),
            measures: self.measures.save()?,
            forces,
            reports: self.reports.clone(),
            input: self.origin.source.clone(),
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
        self.output.save(&checkpoint, begun, progress)
    }
}
