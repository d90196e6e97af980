//! Comparison of runs by what their checkpoints know of the files that their inputs name.

use crate::build::plain_system;
use crate::checkpoint::Checkpoint;
use jostle_core::{Result, Species, System};
use std::path::{Path, PathBuf};

impl Checkpoint {
    /// Difference of the energies of two runs that is not one of their inputs, in words: contents of files that these
    /// name, or species, charges and bonds of atoms from files with coordinates. Positions and `[alchemy]` make none.
    ///
    /// # Errors
    /// If a checkpoint is damaged.
    pub fn difference(&self, other: &Checkpoint) -> Result<Option<String>> {
        if let Some(path) = self.odd_file(other).or_else(|| other.odd_file(self)) {
            return Ok(Some(format!("{} is not the same file in both", path.display())));
        }
        let [mut own, mut others] = [plain_system(self.clone())?, plain_system(other.clone())?];
        // Rigid bodies have the form that their atoms had where a run began.
        own.topology.rigid_bodies.clear();
        others.topology.rigid_bodies.clear();
        let species = |system: &System| -> Vec<Species> {
            system.state.species.iter().map(|number| system.species[usize::from(*number)].clone()).collect()
        };
        let different = [
            ("there are more or fewer atoms", own.state.len() != others.state.len()),
            ("atoms are of other species, masses or charges", species(&own) != species(&others)),
            ("atoms have other charges", own.charges != others.charges),
            ("atoms have other bonds, angles or dihedrals", own.topology != others.topology),
        ];
        Ok(different.iter().find(|(_, differ)| *differ).map(|(what, _)| what.to_string()))
    }

    /// File that the input of this run names and whose content no file of another run has.
    fn odd_file(&self, other: &Checkpoint) -> Option<PathBuf> {
        let (own, others) = (self.header.input.as_ref()?, other.header.input.as_ref()?);
        let is_odd = |(_, sum): &&(PathBuf, u32)| others.files.iter().all(|(_, other)| other != sum);
        let (path, _) = own.files.iter().find(is_odd)?;
        Some(own.path.parent().unwrap_or(Path::new("")).join(path))
    }
}
