//! How many steps may be handed to the device at once.

/// A batch lasts about so many seconds: within it nobody can interrupt, and no progress is told.
const DURATION: f64 = 0.1;
/// Steps of the first batch, before there is any speed to go by.
const FIRST: u64 = 16;
/// One batch after another may have so many times as many steps.
const GROWTH: u64 = 4;

/// How many steps fit into a batch, by the speed of those before.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchSize {
    pub steps: u64,
}

impl BatchSize {
    /// Before the first batch.
    pub fn new() -> Self {
        BatchSize { steps: FIRST }
    }

    /// Learns from a batch.
    pub fn learn(&mut self, steps: u64, seconds: f64) {
        let fitting = (steps as f64 * DURATION / seconds) as u64;
        self.steps = fitting.clamp(1, self.steps.saturating_mul(GROWTH));
    }
}

/// The steps of a batch that starts after `done` steps of a stage and may have `most`, and how often
/// it takes samples, so that each multiple of `rows` (0: none) gets one: all of a batch's samples are
/// equally far apart, and the last one is at its end.
pub(super) fn cut(done: u64, most: u64, rows: u64) -> (u64, u64) {
    let next = until(rows, done);
    match most < next {
        true => (most, 0),
        false if next < rows => (next, next),
        false => (most - most % rows, rows),
    }
}

/// Steps until something that happens every so many steps of a stage happens next.
pub(super) fn until(every: u64, done: u64) -> u64 {
    if every > 0 { every - done % every } else { u64::MAX }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_gets_its_sample_however_batches_are_cut() {
        for rows in [0, 1, 3, 10, 100] {
            for most in [1, 2, 7, 10, 45, 1000] {
                let (mut done, mut seen) = (0, Vec::new());
                while done < 300 {
                    let (steps, sample_every) = cut(done, most.min(300 - done), rows);
                    assert!(steps > 0 && steps <= most);
                    if sample_every > 0 {
                        assert!(steps.is_multiple_of(sample_every));
                        seen.extend((1..=steps / sample_every).map(|k| done + k * sample_every));
                    }
                    done += steps;
                }
                let wanted: Vec<u64> = (1..=300).filter(|s| rows > 0 && s % rows == 0).collect();
                assert_eq!(seen, wanted, "rows every {rows}, at most {most} steps");
            }
        }
    }

    #[test]
    fn batches_come_to_last_as_long_as_they_should() {
        for step in [1e-6, 1e-4, 1e-2, 3.0] {
            let mut batch_size = BatchSize::new();
            for _ in 0..12 {
                batch_size.learn(batch_size.steps, batch_size.steps as f64 * step);
            }
            let seconds = batch_size.steps as f64 * step;
            assert!(batch_size.steps == 1 || (0.09..=0.11).contains(&seconds), "{step}: {seconds}");
        }
        let mut batch_size = BatchSize::new();
        batch_size.learn(1, 0.0);
        assert_eq!(batch_size.steps, GROWTH * FIRST);
    }
}
