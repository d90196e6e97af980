//! Shares of the GPUs of a run in the atoms on which forces are computed, and their change by measured waits.

use std::ops::Range;

/// Part of a step by which GPUs may be busy for different times.
const EVEN: f64 = 0.02;
/// Part of a difference that one change makes up for: some of the time does not depend on the number of atoms.
const DAMPING: f64 = 0.8;
/// Smallest share of a GPU.
const LEAST: f64 = 0.005;
/// Number of changes, each of which costs a list.
const MOST_CHANGES: usize = 12;
/// Steps over which waits are measured.
const ENOUGH: u64 = 60;

/// Shares of all GPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct Balance {
    /// Shares in the order of the GPUs; their sum is 1.
    shares: Vec<f64>,
    changes: usize,
    /// Steps made since waits were last measured, and seconds waited until then.
    steps: u64,
    waited: f64,
}

impl Balance {
    /// Even shares of so many GPUs.
    pub fn new(gpus: usize) -> Self {
        Balance { shares: vec![1.0 / gpus as f64; gpus], changes: 0, steps: 0, waited: 0.0 }
    }

    /// Sets the shares, whose sum is made 1.
    pub fn set(&mut self, shares: &[f64]) {
        let sum: f64 = shares.iter().sum();
        self.shares = shares.iter().map(|share| share / sum).collect();
    }

    /// Atoms of a GPU, of `n` that are divided in groups of `grain`.
    pub fn owned(&self, rank: usize, n: usize, grain: usize) -> Range<usize> {
        let groups = n.div_ceil(grain) as f64;
        let border = |rank: usize| {
            let before: f64 = self.shares[..rank].iter().sum();
            if rank == self.shares.len() { n } else { ((groups * before).round() as usize * grain).min(n) }
        };
        border(rank)..border(rank + 1)
    }

    /// Seconds waited in each step since the last measurement, after so many more steps and so many seconds in all; `None`
    /// where steps are too few yet.
    pub fn wait_since(&mut self, steps: u64, waited: f64) -> Option<f64> {
        self.steps += steps;
        if self.steps < ENOUGH || self.changes == MOST_CHANGES {
            return None;
        }
        let wait = (waited - self.waited) / self.steps as f64;
        (self.steps, self.waited) = (0, waited);
        Some(wait)
    }

    /// Gives more to GPUs that have waited longer than others, where a step takes `step` seconds; returns true where shares
    /// have changed.
    pub fn adapt(&mut self, waits: &[f64], step: f64) -> bool {
        let busy: Vec<f64> = waits.iter().map(|wait| (step - wait).max(0.0)).collect();
        let mean = busy.iter().sum::<f64>() / busy.len() as f64;
        if busy.iter().all(|time| (time - mean).abs() < EVEN * step) {
            return false;
        }
        // Time of all pairs on one GPU, from the one with the most of them.
        let most = (0..busy.len()).max_by(|a, b| self.shares[*a].total_cmp(&self.shares[*b])).unwrap_or(0);
        let whole = (busy[most] / self.shares[most]).max(f64::MIN_POSITIVE);
        for (share, time) in self.shares.iter_mut().zip(&busy) {
            *share = (*share + DAMPING * (mean - time) / whole).max(LEAST);
        }
        let sum: f64 = self.shares.iter().sum();
        self.shares.iter_mut().for_each(|share| *share /= sum);
        self.changes += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_atoms_have_an_owner() {
        for (gpus, n, grain) in [(1, 10, 32), (2, 31, 32), (3, 1000, 32), (8, 300, 128), (8, 1_000_003, 64)] {
            let balance = Balance::new(gpus);
            let mut end = 0;
            for rank in 0..gpus {
                let owned = balance.owned(rank, n, grain);
                assert!(owned.start == end && owned.end >= end, "{owned:?} after {end}");
                assert!(owned.start.is_multiple_of(grain) || owned.start == n, "{owned:?}");
                end = owned.end;
            }
            assert_eq!(end, n);
        }
    }

    #[test]
    fn shares_become_even_times() {
        // Two GPUs, 10 ms of pairs, 3 ms of something else on the second, 1 ms of motion on each.
        let mut balance = Balance::new(2);
        let times = |balance: &Balance| {
            [10.0 * balance.shares[0] + 1.0, 10.0 * balance.shares[1] + 3.0 + 1.0].map(|time| 1e-3 * time)
        };
        for _ in 0..MOST_CHANGES {
            let busy = times(&balance);
            let step = busy[0].max(busy[1]);
            if !balance.adapt(&busy.map(|time| step - time), step) {
                break;
            }
        }
        let [a, b] = times(&balance);
        assert!((a - b).abs() < 0.05 * a, "{a} {b}");
        assert!((balance.shares.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    #[test]
    fn waits_are_those_since_the_last_look() {
        let mut balance = Balance::new(2);
        assert_eq!(balance.wait_since(ENOUGH - 1, 1.0), None);
        assert_eq!(balance.wait_since(5, 1.5), Some(1.5 / 64.0));
        assert_eq!(balance.wait_since(128, 2.5), Some(1.0 / 128.0));
    }
}
