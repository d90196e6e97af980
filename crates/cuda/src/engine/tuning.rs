//! The tiles in which all pairs are met: measured where a run is long enough for it to pay, and
//! remembered beside the compiled kernels.

use super::Cuda;
use crate::all_pairs::PairShape;
use crate::cache;
use crate::kernels::Way;
use crate::search::When;
use jostle_core::{Backend, Evaluate, Result};
use std::path::{Path, PathBuf};

/// Pairs that a run has met before shapes are measured: seconds on a fast GPU, which is what it
/// takes to compile them all.
const WORTH_MEASURING: f64 = 1e13;
/// Evaluations that a shape is judged by, after one that is not counted.
const EVALUATIONS: usize = 5;

/// How far the search for the best tiles has come.
#[derive(Debug, Default)]
pub(super) struct Tuning {
    /// Pairs met so far.
    met: f64,
    /// Whether the shape is the best known, or not to be changed any more.
    pub settled: bool,
    /// Whether it has been looked up among those of earlier runs.
    looked_up: bool,
}

impl Cuda {
    /// Before so many steps: takes the tiles that earlier runs found best, or measures which are.
    pub(super) fn tune_pairs(&mut self, steps: u64) -> Result<()> {
        if self.plan.way != Way::AllPairs || self.tuning.settled || self.device.is_emulated() {
            return Ok(());
        }
        let Some(folder) = cache::folder() else { return Ok(()) };
        if !std::mem::replace(&mut self.tuning.looked_up, true)
            && let Some(shape) = self.remembered_shape(&folder)
        {
            return self.set_pair_shape(shape);
        }
        self.tuning.met += steps as f64 * (self.system.state.len() as f64).powi(2);
        if self.tuning.met > WORTH_MEASURING {
            self.measure_pair_shapes(&folder)?;
        }
        Ok(())
    }

    /// Measures tiles of different shapes, goes on with the fastest and remembers it in a folder,
    /// for this device, these forces and about so many atoms.
    ///
    /// # Errors
    /// If a shape cannot be compiled or run.
    pub fn measure_pair_shapes(&mut self, folder: &Path) -> Result<PairShape> {
        let usual = PairShape::for_atoms(self.system.state.len());
        let (mut best, mut least) = (usual, f64::INFINITY);
        for shape in PairShape::near(usual) {
            self.set_pair_shape(shape)?;
            let milliseconds = self.time_of_forces()?;
            if milliseconds < least {
                (best, least) = (shape, milliseconds);
            }
        }
        self.set_pair_shape(best)?;
        self.compute_forces(Evaluate::Forces)?;
        // A cache that cannot be written costs time and nothing else.
        let _ = cache::write(&self.shape_file(folder), best.to_string().as_bytes());
        Ok(best)
    }

    /// The shape that was fastest before, if a folder holds it.
    pub fn remembered_shape(&self, folder: &Path) -> Option<PairShape> {
        let text = cache::read(&self.shape_file(folder))?;
        std::str::from_utf8(&text).ok()?.parse().ok()
    }

    fn shape_file(&self, folder: &Path) -> PathBuf {
        let build = self.plan.build(&self.forces);
        // Half an octave of atoms.
        let class = (2.0 * (self.system.state.len().max(1) as f64).log2()).round();
        let (name, precision) = (self.device.name(), format!("{:?}", self.precision));
        let parts = [&build.source, &name, &self.device.architecture(), &precision, &class.to_string()];
        cache::path(folder, &parts.map(String::as_str), "tiles")
    }

    /// The shortest time of one evaluation.
    fn time_of_forces(&mut self) -> Result<f64> {
        self.compute_forces(Evaluate::Forces)?;
        let mut least = f64::INFINITY;
        for _ in 0..EVALUATIONS {
            let start = self.device.now()?;
            self.run_all(self.launches().forces(When::Asked, Evaluate::Forces))?;
            least = least.min(self.device.milliseconds(&start, &self.device.now()?)?);
        }
        Ok(least)
    }
}
