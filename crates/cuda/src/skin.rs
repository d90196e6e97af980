//! How far lists reach beyond the cut-off, tuned by what steps cost.

use jostle_core::Topology;

/// A skin that is not far from the best one, where atoms are so far from each other. Lists of rigid molecules
/// are dear: their hydrogens are fast, their cut-offs long.
pub fn guess(spacing: f64, topology: &Topology) -> f64 {
    spacing * if topology.constraints.is_empty() { 0.35 } else { 0.6 }
}

/// Seconds and builds that a skin is judged by, at least.
const TRIAL_SECONDS: f64 = 0.03;
const TRIAL_BUILDS: i64 = 10;

/// The skin and the search for the best one.
#[derive(Debug)]
pub struct Skin {
    now: f64,
    searching: bool,
    /// Steps, builds and seconds with this skin.
    steps: u64,
    builds: i64,
    seconds: f64,
    /// The first leg with a skin still pays for the one before.
    settled: bool,
    best: Option<(f64, f64)>,
    factor: f64,
}

impl Skin {
    /// The skin given by the user, or a first guess to be tuned unless runs must be reproducible.
    pub fn new(given: Option<f64>, guess: f64, reproducible: bool) -> Self {
        Skin {
            now: given.unwrap_or(guess),
            searching: given.is_none() && !reproducible,
            steps: 0,
            builds: 0,
            seconds: 0.0,
            settled: false,
            best: None,
            factor: 1.2,
        }
    }

    /// The skin now.
    pub fn now(&self) -> f64 {
        self.now
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
        if !self.settled {
            self.settled = builds > 0;
            return false;
        }
        self.steps += steps;
        self.builds += builds;
        self.seconds += seconds;
        if self.seconds < TRIAL_SECONDS || self.builds < TRIAL_BUILDS {
            return false;
        }
        let cost = self.seconds / self.steps as f64;
        (self.steps, self.builds, self.seconds, self.settled) = (0, 0, 0.0, false);
        match self.best {
            Some((_, best)) if cost >= best => {
                // Turn round; once both directions have failed, take smaller steps.
                self.factor = 1.0 / self.factor;
                if self.factor > 1.0 {
                    self.factor = self.factor.sqrt();
                }
            }
            _ => self.best = Some((self.now, cost)),
        }
        let best = self.best.map_or(self.now, |(skin, _)| skin);
        self.searching = self.factor.ln().abs() > 0.05;
        let before = self.now;
        self.now = if self.searching { best * self.factor } else { best };
        self.now != before
    }
}
