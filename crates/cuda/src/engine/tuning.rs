//! State of the tuning, and the pair algorithms that earlier runs found fastest, which are remembered beside the
//! compiled kernels.

use super::extent::Extent;
use super::plan::Plan;
use crate::cache;
use crate::codegen;
use crate::driver::Device;
use crate::kernels::PairAlgorithm;
use jostle_potentials::Forces;
use std::path::{Path, PathBuf};

/// Progress of the search for the fastest pair algorithm and tiles.
#[derive(Debug, Default)]
pub struct Tuning {
    /// True where the pair algorithm is the best known.
    pub algorithm_settled: bool,
    /// Steps that a list lasts.
    pub life: f64,
    /// Steps and lists of the last batches.
    recent: ListsBuilt,
    /// Pairs computed so far.
    pub pairs_computed: f64,
    /// True where the shape is the best known, or fixed.
    pub shape_settled: bool,
    /// True once the shape has been looked up among those of earlier runs.
    pub looked_up: bool,
}

/// Steps, and lists that they took.
#[derive(Debug, Default)]
struct ListsBuilt {
    slots: f64,
    builds: f64,
}

/// Lists of the last batches above which earlier ones count less: the life of a few is no number to rely on.
const RECENT_LISTS: f64 = 24.0;

impl Tuning {
    /// Learns from the lists of a batch how long they last.
    pub fn learn_life(&mut self, slots: u64, builds: i64) {
        let ListsBuilt { slots: all, builds: lists } = &mut self.recent;
        *all += slots as f64;
        *lists += builds as f64;
        self.life = *all / lists.max(1.0);
        if *lists > RECENT_LISTS {
            let share = RECENT_LISTS / *lists;
            *all *= share;
            *lists *= share;
        }
    }

    /// Number of lists by which their life is known.
    pub fn lists_known(&self) -> f64 {
        self.recent.builds
    }

    /// Forgets the life of lists: they have another skin now.
    pub fn forget_life(&mut self) {
        self.recent = ListsBuilt::default();
    }

    /// State at the start of a run, with a pair algorithm that is known to be the best, or not.
    pub fn new(algorithm_settled: bool) -> Self {
        Tuning { algorithm_settled, ..Tuning::default() }
    }
}

impl Plan {
    /// Takes the pair algorithm that earlier runs found fastest, where the settings leave it open; returns
    /// true where there is one.
    pub fn take_remembered_algorithm(&mut self, device: &Device, forces: &Forces, extent: Extent) -> bool {
        if !self.free || device.is_emulated() {
            return false;
        }
        let algorithm = cache::folder()
            .and_then(|folder| remembered(&self.algorithm_file(&folder, device, forces, extent)));
        let algorithm = algorithm.filter(|algorithm| self.algorithms.contains(algorithm));
        self.algorithm = algorithm.unwrap_or(self.algorithm);
        algorithm.is_some()
    }

    pub fn algorithm_file(&self, folder: &Path, device: &Device, forces: &Forces, extent: Extent) -> PathBuf {
        let sums = Vec::from_iter(forces.sums());
        let pairs = codegen::pair_source(&forces.pairs, &sums, self.precision).source;
        let many_body = forces.embedded.is_some() || forces.three_body.is_some();
        let others = format!("{:?} {many_body} {}", self.precision, !self.excluded.is_empty());
        let neighbors = half_octave(extent.density * forces.largest_cutoff().powi(3));
        // Measurements are valid for these kernels only.
        let kernels = PairAlgorithm::ALL.map(PairAlgorithm::source).concat();
        let parts = [
            &kernels,
            &pairs,
            &others,
            &device.name(),
            &device.architecture(),
            &half_octave(self.n as f64),
            &neighbors,
        ];
        cache::path(folder, &parts.map(String::as_str), "way")
    }
}

/// Class of numbers within half an octave, for names of files.
pub fn half_octave(x: f64) -> String {
    (2.0 * x.max(1e-9).log2()).round().to_string()
}

pub fn remembered(file: &Path) -> Option<PairAlgorithm> {
    let name = cache::read(file)?;
    PairAlgorithm::ALL.into_iter().find(|algorithm| algorithm.name().as_bytes() == name)
}
