//! The skin, by which neighbour lists reach beyond the cut-off: a longer skin means fewer builds and more
//! pairs to look at. The best choice depends on the system and the machine, so it is measured
//! while running.

use jostle_core::System;
use jostle_core::backend::Timings;
use jostle_core::skin_search::{SkinSearch, Trial, part_of_spacing};

/// First guess of the skin: lists around the fast hydrogens of rigid molecules need more of it.
pub fn guess(system: &System, cutoff: f64) -> f64 {
    part_of_spacing(if system.topology.is_constrained() { 0.4 } else { 0.3 }, system, cutoff)
}

/// Number of builds that a skin is judged by.
const BUILDS_PER_TRIAL: usize = 9;

/// The skin and the search for the best one.
#[derive(Debug)]
pub struct Skin {
    now: f64,
    tuning: Tuning,
    /// Steps since the last build.
    steps: u64,
    /// Timings at the last build.
    before: Timings,
    /// Seconds per step of each interval between builds with this skin.
    costs: Vec<f64>,
    search: SkinSearch,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tuning {
    /// Skin given by the user, or independent of timings.
    Off,
    Searching,
    Done,
}

impl Skin {
    /// The skin given by the user, or a first guess to be tuned unless runs must be reproducible.
    pub fn new(given: Option<f64>, guess: f64, reproducible: bool) -> Self {
        let tuning = if given.is_some() || reproducible { Tuning::Off } else { Tuning::Searching };
        Skin {
            now: given.unwrap_or(guess),
            tuning,
            steps: 0,
            before: Timings::default(),
            costs: Vec::new(),
            search: SkinSearch::new(1.25, 0.04),
        }
    }

    /// Returns true if the skin is not tuned.
    pub fn settled(&self) -> bool {
        self.tuning != Tuning::Searching
    }

    /// The skin of the current list.
    pub fn now(&self) -> f64 {
        self.now
    }

    /// Takes the skin of a checkpoint.
    pub fn set(&mut self, skin: f64) {
        self.now = skin;
    }

    /// Counts a step.
    pub fn step(&mut self) {
        self.steps += 1;
    }

    /// Judges the skin of the list that ends here, by the timings so far, and may choose another one for the
    /// next; to be called before a build.
    pub fn tune(&mut self, timings: &Timings) {
        let seconds = timings.pair + timings.neighbors - self.before.pair - self.before.neighbors;
        let steps = std::mem::take(&mut self.steps);
        self.before = *timings;
        if self.tuning != Tuning::Searching || steps == 0 {
            return;
        }
        self.costs.push(seconds / steps as f64);
        if self.costs.len() < BUILDS_PER_TRIAL {
            return;
        }
        // The first interval still had the list of the previous skin; the median leaves it out.
        self.costs.sort_unstable_by(f64::total_cmp);
        let cost = self.costs[self.costs.len() / 2];
        self.costs.clear();
        self.now = match self.search.judge(self.now, cost) {
            Trial::Next(skin) => skin,
            Trial::Best(skin) => {
                self.tuning = Tuning::Done;
                skin
            }
        };
    }
}
