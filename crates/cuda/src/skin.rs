//! Skin of neighbour lists: the distance by which they reach beyond the cut-off, tuned by the measured cost
//! of steps.

use jostle_core::System;
use jostle_core::skin_search::{SkinSearch, Trial, part_of_spacing};

/// Guess of a skin near the best one. Lists of rigid molecules are expensive to build: their hydrogens are fast, their
/// cut-offs long.
pub fn guess(system: &System, cutoff: f64) -> f64 {
    part_of_spacing(if system.topology.is_constrained() { 0.8 } else { 0.35 }, system, cutoff)
}

/// Number of samples by whose median a skin is judged: a single slow one, with lists that have to grow, has
/// no influence.
const SAMPLES: usize = 3;
/// Least seconds and builds of a sample.
const SAMPLE_SECONDS: f64 = 0.03;
const SAMPLE_BUILDS: i64 = 10;
/// Factor by which a skin is shortened that was too long.
const SHORTER: f64 = 0.93;

/// Skin, and the search for the best one.
#[derive(Debug, Clone)]
pub struct Skin {
    now: f64,
    /// True where the user has given no skin.
    free: bool,
    searching: bool,
    /// Steps, builds and seconds of the current sample.
    steps: u64,
    builds: i64,
    seconds: f64,
    /// Seconds per step of the samples with this skin.
    samples: Vec<f64>,
    /// False in the first batch with a skin, whose time includes the change.
    paid: bool,
    search: SkinSearch,
}

impl Skin {
    /// Skin given by the user, or a first guess to be tuned unless runs must be reproducible.
    pub fn new(given: Option<f64>, guess: f64, reproducible: bool) -> Self {
        let free = given.is_none() && !reproducible;
        Skin {
            now: given.unwrap_or(guess),
            free,
            searching: free,
            steps: 0,
            builds: 0,
            seconds: 0.0,
            samples: Vec::new(),
            paid: false,
            search: SkinSearch::new(1.2, 0.1),
        }
    }

    /// Current skin.
    pub fn now(&self) -> f64 {
        self.now
    }

    /// Returns true where the search is over.
    pub fn settled(&self) -> bool {
        !self.searching
    }

    /// Sets the skin of a checkpoint.
    pub fn set(&mut self, skin: f64) {
        self.now = skin;
    }

    /// Records the cost of some steps; returns true if another skin is to be tried.
    pub fn judge(&mut self, steps: u64, builds: i64, seconds: f64) -> bool {
        if !self.searching || steps == 0 {
            return false;
        }
        if !self.paid {
            self.paid = builds > 0;
            return false;
        }
        self.steps += steps;
        self.builds += builds;
        self.seconds += seconds;
        if self.seconds < SAMPLE_SECONDS || self.builds < SAMPLE_BUILDS {
            return false;
        }
        self.samples.push(self.seconds / self.steps as f64);
        (self.steps, self.builds, self.seconds) = (0, 0, 0.0);
        if self.samples.len() < SAMPLES {
            return false;
        }
        self.samples.sort_unstable_by(f64::total_cmp);
        let cost = self.samples[SAMPLES / 2];
        self.begin_trial();
        let before = self.now;
        self.now = match self.search.judge(before, cost) {
            Trial::Next(skin) => skin,
            Trial::Best(skin) => {
                self.searching = false;
                skin
            }
        };
        self.now != before
    }

    fn begin_trial(&mut self) {
        (self.steps, self.builds, self.seconds, self.paid) = (0, 0, 0.0, false);
        self.samples.clear();
    }

    /// Shortens the skin, where lists that reach so far need slower kernels; results for longer skins are
    /// dropped. Returns false for a skin that the user has given, which stays.
    pub fn shorten(&mut self) -> bool {
        if self.free {
            self.now *= SHORTER;
            self.search.limit(self.now);
            self.begin_trial();
        }
        self.free
    }

    /// Lifts the limit, where the slower kernels are needed with a shorter skin, too.
    pub fn lift_limit(&mut self) {
        self.search.lift_limit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Skins tried in a search, where steps cost so much, some of them more.
    fn search(skin: &mut Skin, cost: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut tried = vec![skin.now()];
        let hiccup = |k| if k % 7 == 3 { 3.0 } else { 1.0 };
        for k in 0..400 {
            if skin.judge(1000, 2 * SAMPLE_BUILDS, 1000.0 * cost(skin.now()) * hiccup(k)) {
                tried.push(skin.now());
            }
        }
        tried
    }

    fn around(best: f64) -> impl Fn(f64) -> f64 {
        move |skin: f64| 1.0 + (skin / best).ln().powi(2)
    }

    #[test]
    fn the_best_skin_is_found() {
        let mut skin = Skin::new(None, 0.3, false);
        search(&mut skin, around(0.5));
        assert!((skin.now() / 0.5).ln().abs() < 0.1, "{}", skin.now());
        for (given, reproducible) in [(Some(0.3), false), (None, true)] {
            let mut skin = Skin::new(given, 0.3, reproducible);
            assert_eq!(search(&mut skin, around(0.5)), [0.3]);
            assert!(!skin.shorten() && skin.now() == 0.3);
        }
    }

    #[test]
    fn no_skin_is_tried_beyond_one_that_was_too_long() {
        let mut skin = Skin::new(None, 0.4, false);
        assert!(skin.shorten());
        let longest = skin.now();
        let tried = search(&mut skin, around(0.5));
        assert!(longest < 0.4 && tried.len() > 2 && tried.iter().all(|skin| *skin <= longest), "{tried:?}");
        assert_eq!(skin.now(), longest);
        // Limits are respected after the search, too.
        assert!(skin.shorten() && skin.now() < longest);
        assert_eq!(search(&mut skin, around(0.5)).len(), 1);
        let mut skin = Skin::new(None, 0.4, false);
        skin.shorten();
        skin.lift_limit();
        search(&mut skin, around(0.5));
        assert!((skin.now() / 0.5).ln().abs() < 0.1, "{}", skin.now());
    }
}
