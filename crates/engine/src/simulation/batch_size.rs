//! Number of steps in a batch, which a device makes by itself.

/// Duration of a batch in seconds, within which a run cannot be interrupted and reports no progress.
const DURATION: f64 = 0.1;
/// Steps of the first batch, before the speed is known.
const FIRST: u64 = 16;
/// Largest growth of the number of steps from one batch to the next.
const GROWTH: u64 = 4;

/// Largest number of steps of the next batch, from the speed of the batches before.
#[derive(Debug, Clone, Copy)]
pub(super) struct BatchSize {
    pub steps: u64,
}

impl BatchSize {
    /// The size of the first batch.
    pub fn new() -> Self {
        BatchSize { steps: FIRST }
    }

    /// Adapts the size to the duration of a batch.
    pub fn adapt(&mut self, steps: u64, seconds: f64) {
        let fitting = (steps as f64 * DURATION / seconds) as u64;
        self.steps = fitting.clamp(1, self.steps.saturating_mul(GROWTH));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_reach_the_duration() {
        for step in [1e-6, 1e-4, 1e-2, 3.0] {
            let mut batch_size = BatchSize::new();
            for _ in 0..12 {
                batch_size.adapt(batch_size.steps, batch_size.steps as f64 * step);
            }
            let seconds = batch_size.steps as f64 * step;
            assert!(batch_size.steps == 1 || (0.09..=0.11).contains(&seconds), "{step}: {seconds}");
        }
        let mut batch_size = BatchSize::new();
        batch_size.adapt(1, 0.0);
        assert_eq!(batch_size.steps, GROWTH * FIRST);
    }
}
