//! Times of checkpoints by the wall clock: soon after the start, so that little is lost of a run that has
//! just begun, and so rarely that their cost is negligible.

use std::time::{Duration, Instant};

/// Shortest interval of checkpoints.
const SHORTEST: Duration = Duration::from_secs(4);
/// Longest interval of checkpoints.
const LONGEST: Duration = Duration::from_secs(600);
/// Smallest ratio of the interval between two checkpoints to the time that the first of them took: all
/// checkpoints take less than a hundredth of the run.
const COST_RATIO: u32 = 100;
/// Estimated time of a checkpoint for each atom, before one was written: 1.2 microseconds were measured for
/// argon and 1.6 for rigid water, on a busy core.
const PER_ATOM: Duration = Duration::from_nanos(2000);

/// The clock of checkpoints.
#[derive(Debug, Clone)]
pub(super) struct CheckpointClock {
    begin: Instant,
    next: Duration,
}

impl CheckpointClock {
    /// Starts the clock of a run of so many atoms.
    pub fn start(atoms: usize) -> Self {
        let expected = PER_ATOM.saturating_mul(u32::try_from(atoms).unwrap_or(u32::MAX));
        CheckpointClock { begin: Instant::now(), next: checkpoint_interval(Duration::ZERO, expected) }
    }

    /// True if a checkpoint is due.
    pub fn is_due(&self) -> bool {
        self.begin.elapsed() >= self.next
    }

    /// Sets the time of the next checkpoint, after one that has just been written and took the time `cost`.
    pub fn written(&mut self, cost: Duration) {
        let now = self.begin.elapsed();
        self.next = now + checkpoint_interval(now, cost);
    }
}

/// The interval from a checkpoint, `elapsed` after the start of the run, to the next one: as long as the run
/// has lasted, within the bounds and limited by the cost of the checkpoint.
fn checkpoint_interval(elapsed: Duration, cost: Duration) -> Duration {
    elapsed.max(cost.saturating_mul(COST_RATIO)).clamp(SHORTEST, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whatever a checkpoint costs, an interval is no longer than the run before it, and checkpoints of less
    /// than six seconds take a hundredth of the run together.
    #[test]
    fn checkpoints_come_soon_and_are_cheap() {
        for cost in [0.0, 0.01, 0.3, 2.0, 30.0].map(Duration::from_secs_f64) {
            let (mut now, mut last, mut spent) =
                (checkpoint_interval(Duration::ZERO, cost), Duration::ZERO, Duration::ZERO);
            while now < Duration::from_secs(5000) {
                let lost = now - last;
                assert!(lost <= LONGEST && lost >= SHORTEST, "{cost:?}: {lost:?}");
                assert!(lost <= last.max(SHORTEST).max(cost * COST_RATIO), "{cost:?}: {lost:?}");
                spent += cost;
                (last, now) = (now + cost, now + cost + checkpoint_interval(now + cost, cost));
                assert!(
                    cost * COST_RATIO > LONGEST || spent * COST_RATIO <= now,
                    "{cost:?}: {spent:?} of {now:?}"
                );
            }
            assert!(now - last == LONGEST);
        }
    }
}
