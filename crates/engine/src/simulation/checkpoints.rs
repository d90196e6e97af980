//! When checkpoints are written by the clock: soon, so that little is lost of a run that has just begun,
//! and seldom enough not to be felt.

use std::time::{Duration, Instant};

/// None comes sooner after the one before, or after the start.
const SOONEST: Duration = Duration::from_secs(4);
/// None comes later.
const LATEST: Duration = Duration::from_secs(600);
/// Time between two checkpoints over what the first of them took, at least: all of them together take less
/// than a hundredth of the run.
const SPARED: u32 = 100;
/// The time that a checkpoint is thought to take for each atom before one was written: 1.2 microseconds were
/// measured for argon and 1.6 for rigid water, on a core with other things to do.
const PER_ATOM: Duration = Duration::from_nanos(2000);

/// The clock of checkpoints.
#[derive(Debug, Clone)]
pub(super) struct Checkpoints {
    begin: Instant,
    next: Duration,
}

impl Checkpoints {
    /// Starts the clock of a run of so many atoms.
    pub fn begin(atoms: usize) -> Self {
        let expected = PER_ATOM.saturating_mul(u32::try_from(atoms).unwrap_or(u32::MAX));
        Checkpoints { begin: Instant::now(), next: checkpoint_interval(Duration::ZERO, expected) }
    }

    /// Whether it is time for one.
    pub fn are_due(&self) -> bool {
        self.begin.elapsed() >= self.next
    }

    /// One has just been written, which took so long.
    pub fn written(&mut self, cost: Duration) {
        let now = self.begin.elapsed();
        self.next = now + checkpoint_interval(now, cost);
    }
}

/// The time from a checkpoint to the next, `elapsed` after the start of the run: as long again as it has
/// lasted, within bounds and as what the checkpoint took allows.
fn checkpoint_interval(elapsed: Duration, cost: Duration) -> Duration {
    elapsed.max(cost.saturating_mul(SPARED)).clamp(SOONEST, LATEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever a checkpoint costs, none of the run before it is longer than what was safe then, and, if it
    /// costs less than six seconds, all together take a hundredth.
    #[test]
    fn they_come_soon_and_are_cheap() {
        for cost in [0.0, 0.01, 0.3, 2.0, 30.0].map(Duration::from_secs_f64) {
            let (mut now, mut last, mut spent) =
                (checkpoint_interval(Duration::ZERO, cost), Duration::ZERO, Duration::ZERO);
            while now < Duration::from_secs(5000) {
                let lost = now - last;
                assert!(lost <= LATEST && lost >= SOONEST, "{cost:?}: {lost:?}");
                assert!(lost <= last.max(SOONEST).max(cost * SPARED), "{cost:?}: {lost:?}");
                spent += cost;
                (last, now) = (now + cost, now + cost + checkpoint_interval(now + cost, cost));
                assert!(cost * SPARED > LATEST || spent * SPARED <= now, "{cost:?}: {spent:?} of {now:?}");
            }
            assert!(now - last == LATEST);
        }
    }
}
