//! Measurement of the pair algorithms, and of the tiles of all pairs, where a run is long enough for it to pay.

use super::Cuda;
use super::tuning::{half_octave, remembered};
use crate::all_pairs::PairShape;
use crate::cache;
use crate::kernels::PairAlgorithm;
use crate::neighbor_engine::Trigger;
use jostle_core::{Evaluate, ForceEvaluation, Result};
use std::path::{Path, PathBuf};

/// Pairs that a run has computed before shapes are measured: seconds on a fast GPU, as long as compiling all
/// shapes takes.
const WORTH_MEASURING: f64 = 1e13;
/// Seconds of steps before the pair algorithms are measured: longer than compiling them takes.
const LONG_RUN: f64 = 20.0;
/// Evaluations by which a shape is judged, after one that is not counted.
const EVALUATIONS: usize = 5;

impl Cuda {
    /// Tuning before so many steps: takes the fastest algorithm and shape of earlier runs, or measures them.
    pub(super) fn tune(&mut self, steps: u64) -> Result<()> {
        // Several GPUs would have to agree on what one of them has no memory for.
        if self.device.is_emulated() || self.plan.peers.is_some() {
            return Ok(());
        }
        let Some(folder) = cache::folder() else { return Ok(()) };
        let free = self.plan.free && self.terms.pair_thermostat.is_none();
        if free && !self.tuning.algorithm_settled && self.timings.pair > LONG_RUN {
            self.measure_algorithms(&folder)?;
        }
        self.tune_pairs(&folder, steps)
    }

    fn tune_pairs(&mut self, folder: &Path, steps: u64) -> Result<()> {
        if self.plan.algorithm != PairAlgorithm::AllPairs || self.tuning.shape_settled {
            return Ok(());
        }
        if !std::mem::replace(&mut self.tuning.looked_up, true)
            && let Some(shape) = self.remembered_shape(folder)
        {
            return self.set_pair_shape(shape);
        }
        self.tuning.pairs_computed += steps as f64 * (self.system.state.len() as f64).powi(2);
        if self.tuning.pairs_computed > WORTH_MEASURING {
            self.measure_pair_shapes(folder)?;
        }
        Ok(())
    }

    /// Measures the pair algorithms, continues with the fastest and stores its name in a folder, for this
    /// device, these forces, and about so many atoms with about so many neighbours.
    ///
    /// # Errors
    /// If the device fails.
    pub fn measure_algorithms(&mut self, folder: &Path) -> Result<PairAlgorithm> {
        let (mut best, mut least) = (self.plan.algorithm, f64::INFINITY);
        for algorithm in self.plan.open_algorithms(self.extent()) {
            // Algorithms that need more memory or a larger box than there is are left out.
            if !self.set_algorithm(algorithm).is_ok_and(|set| set) {
                continue;
            }
            let milliseconds = self.time_of_forces()? + self.time_of_build()? / self.tuning.life.max(1.0);
            if self.plan.algorithm == algorithm && milliseconds < least {
                (best, least) = (algorithm, milliseconds);
            }
        }
        self.set_algorithm(best)?;
        self.compute_forces(Evaluate::Forces)?;
        self.tuning.algorithm_settled = true;
        let file = self.algorithm_file(folder);
        // Failures to write the cache cost time only.
        let _ = cache::write(&file, best.name().as_bytes());
        Ok(best)
    }

    /// Pair algorithm that was fastest before, if a folder holds it.
    pub fn remembered_algorithm(&self, folder: &Path) -> Option<PairAlgorithm> {
        remembered(&self.algorithm_file(folder))
    }

    fn algorithm_file(&self, folder: &Path) -> PathBuf {
        self.plan.algorithm_file(folder, &self.device, &self.forces, self.extent())
    }

    /// Continues with another pair algorithm; returns false where it does not suit this system.
    pub(super) fn set_algorithm(&mut self, algorithm: PairAlgorithm) -> Result<bool> {
        if self.plan.algorithm != algorithm {
            self.plan.algorithm = algorithm;
            self.arrange_anew()?;
        }
        self.update_neighbors()?;
        Ok(self.plan.algorithm == algorithm)
    }

    /// Adopts a plan that has changed; lists are stale then.
    pub(super) fn arrange_anew(&mut self) -> Result<()> {
        self.arrange()?;
        self.read_control()?;
        self.control.slot[0].stale = 1;
        self.write_control()
    }

    /// Measures tiles of different shapes, continues with the fastest and stores it in a folder, for this
    /// device, these forces and about so many atoms.
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
        // Failures to write the cache cost time only.
        let _ = cache::write(&self.shape_file(folder), best.to_string().as_bytes());
        Ok(best)
    }

    /// Shape that was fastest before, if a folder holds it.
    pub fn remembered_shape(&self, folder: &Path) -> Option<PairShape> {
        let text = cache::read(&self.shape_file(folder))?;
        std::str::from_utf8(&text).ok()?.parse().ok()
    }

    fn shape_file(&self, folder: &Path) -> PathBuf {
        let build = self.plan.build(&self.forces);
        let class = half_octave(self.system.state.len() as f64);
        let (name, precision) = (self.device.name(), format!("{:?}", self.precision));
        let parts = [&build.source, &name, &self.device.architecture(), &precision, &class];
        cache::path(folder, &parts.map(String::as_str), "tiles")
    }

    /// Shortest time of one evaluation.
    fn time_of_forces(&mut self) -> Result<f64> {
        self.compute_forces(Evaluate::Forces)?;
        self.shortest_time(|cuda| {
            cuda.run_all(cuda.launches().forces(0, Trigger::Immediate, Evaluate::Forces))
        })
    }

    /// Shortest time of building lists, with the sort before and all that follows.
    fn time_of_build(&mut self) -> Result<f64> {
        self.shortest_time(|cuda| {
            cuda.read_control()?;
            cuda.control.slot[0].stale = 1;
            cuda.write_control()?;
            cuda.update_neighbors()
        })
    }

    fn shortest_time(&mut self, mut work: impl FnMut(&mut Self) -> Result<()>) -> Result<f64> {
        let mut least = f64::INFINITY;
        for _ in 0..EVALUATIONS {
            self.barrier()?;
            let start = self.device.now()?;
            work(self)?;
            let taken = self.device.milliseconds(&start, &self.device.now()?)?;
            least = least.min(self.largest_of_all(taken)?);
        }
        Ok(least)
    }
}
