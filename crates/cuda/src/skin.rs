//! How far lists reach beyond the cut-off, tuned by what steps cost.

use jostle_core::Topology;
use jostle_core::skin_search::{SkinSearch, Trial};

/// A skin that is not far from the best one, where atoms are so far from each other. Lists of rigid molecules
/// are dear: their hydrogens are fast, their cut-offs long.
pub fn guess(spacing: f64, topology: &Topology) -> f64 {
    spacing * if topology.constraints.is_empty() { 0.35 } else { 0.6 }
}

/// A skin is judged by the median of so many samples: what comes between, such as lists that have to grow,
/// is forgiven.
const SAMPLES: usize = 3;
/// Seconds and builds of a sample, at least.
const SAMPLE_SECONDS: f64 = 0.03;
const SAMPLE_BUILDS: i64 = 10;
/// Of a skin that was too long.
const SHORTER: f64 = 0.93;

/// The skin and the search for the best one.
#[derive(Debug)]
pub struct Skin {
    now: f64,
    /// Whether it is ours to choose.
    free: bool,
    searching: bool,
    /// Steps, builds and seconds of the sample under way.
    steps: u64,
    builds: i64,
    seconds: f64,
    /// Seconds per step of the samples with this skin.
    samples: Vec<f64>,
    /// The first batch with a skin still pays for the one before.
    paid: bool,
    search: SkinSearch,
}

impl Skin {
    /// The skin given by the user, or a first guess to be tuned unless runs must be reproducible.
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
            search: SkinSearch::new(1.2, 0.05),
        }
    }

    /// The skin now.
    pub fn now(&self) -> f64 {
        self.now
    }

    /// Whether it stays as it is.
    pub fn settled(&self) -> bool {
        !self.searching
    }

    /// Goes on with the skin of a checkpoint.
    pub fn set(&mut self, skin: f64) {
        self.now = skin;
    }

    /// Takes note of what some steps cost; true if another skin is to be tried.
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

    /// Lists that reach so far turned out to need slower kernels: from now on they reach less far, and
    /// what was found about others says nothing. Whether they do, which is not for us to say of a skin
    /// that was given.
    pub fn shorten(&mut self) -> bool {
        if self.free {
            self.now *= SHORTER;
            self.search.limit(self.now);
            self.begin_trial();
        }
        self.free
    }

    /// It was no help: those kernels are needed anyway.
    pub fn lift_limit(&mut self) {
        self.search.lift_limit();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Searches where a step costs so much, but for some that take longer; all that was tried.
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
        // After the search, too.
        assert!(skin.shorten() && skin.now() < longest);
        assert_eq!(search(&mut skin, around(0.5)).len(), 1);
        let mut skin = Skin::new(None, 0.4, false);
        skin.shorten();
        skin.lift_limit();
        search(&mut skin, around(0.5));
        assert!((skin.now() / 0.5).ln().abs() < 0.1, "{}", skin.now());
    }
}
