//! Search for the skin of neighbour lists that costs least, by trials, on every device.

use crate::System;

/// Skin that is such a part of the mean distance of atoms, and at most the cut-off, if there is one: in a box that is all
/// but empty that distance is many times the reach of forces.
pub fn part_of_spacing(part: f64, system: &System, cutoff: f64) -> f64 {
    let spacing = (system.simbox.volume() / system.state.len().max(1) as f64).cbrt();
    let skin = spacing * part;
    if cutoff > 0.0 { skin.min(cutoff) } else { skin }
}

/// Value for the next trial, or the result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Trial {
    /// A new value, whose cost is measured next.
    Next(f64),
    /// The best one.
    Best(f64),
}

/// Search by trials. The best value so far is multiplied by a factor as long as that is better; the factor is
/// inverted where it is not, and comes closer to 1 once both directions have failed.
#[derive(Debug, Clone)]
pub struct SkinSearch {
    /// The best value so far and its cost at the last trial.
    best: Option<(f64, f64)>,
    /// True while the best value is tried once more: its cost before another one failed may no longer be
    /// true.
    again: bool,
    factor: f64,
    /// The logarithm of a step that is too small to be tried.
    finest: f64,
    /// Largest value that is tried.
    longest: f64,
}

impl SkinSearch {
    /// A search with this first factor, which ends with steps whose logarithm is `finest`.
    pub fn new(factor: f64, finest: f64) -> Self {
        SkinSearch { best: None, again: false, factor, finest, longest: f64::INFINITY }
    }

    /// Sets the largest value that is tried from now on, and discards results of larger ones.
    pub fn limit(&mut self, longest: f64) {
        self.best = self.best.filter(|(value, _)| *value <= longest);
        (self.again, self.longest) = (false, longest);
    }

    /// Removes the limit.
    pub fn lift_limit(&mut self) {
        self.longest = f64::INFINITY;
    }

    /// Records the cost of a value.
    pub fn judge(&mut self, value: f64, cost: f64) -> Trial {
        let best = match self.best {
            Some((best, least)) if cost >= least && !self.again => {
                self.factor = 1.0 / self.factor;
                if self.factor > 1.0 {
                    self.factor = self.factor.sqrt();
                }
                self.again = true;
                best
            }
            _ => {
                self.best = Some((value, cost));
                self.again = false;
                value
            }
        };
        if best * self.factor > self.longest {
            self.factor = 1.0 / self.factor;
        }
        match self.factor.ln().abs() < self.finest {
            true => Trial::Best(best),
            false if self.again => Trial::Next(best),
            false => Trial::Next(best * self.factor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Result of a search from a first value where everything costs `pace` times as much at some trial.
    fn found(first: f64, mut search: SkinSearch, pace: impl Fn(usize) -> f64) -> f64 {
        let mut value = first;
        for k in 0..200 {
            match search.judge(value, pace(k) * (1.0 + (value / 0.5).ln().powi(2))) {
                Trial::Next(next) => value = next,
                Trial::Best(best) => return best,
            }
        }
        panic!("nothing was found");
    }

    #[test]
    fn the_best_is_found_though_everything_becomes_dearer() {
        for first in [0.1, 0.2, 0.5, 1.7] {
            for early in [1.0, 0.7] {
                let best = found(first, SkinSearch::new(1.2, 0.05), |k| if k < 4 { early } else { 1.0 });
                assert!((best / 0.5).ln().abs() < 0.1, "{first}, {early}: {best}");
            }
        }
    }

    #[test]
    fn what_was_found_below_a_limit_stays() {
        let mut search = SkinSearch::new(1.2, 0.05);
        assert_eq!(search.judge(0.2, 1.0), Trial::Next(0.2 * 1.2));
        search.limit(0.23);
        assert_eq!(search.judge(0.23, 1.1), Trial::Next(0.2), "the best one is tried again");
        search.limit(0.19);
        assert_eq!(search.judge(0.19, 1.2), Trial::Next(0.19 / 1.2), "the best one was too large");
    }

    #[test]
    fn nothing_is_tried_beyond_a_limit() {
        let mut search = SkinSearch::new(1.2, 0.05);
        search.limit(0.4);
        let mut value = 0.3;
        let best = loop {
            match search.judge(value, -value) {
                Trial::Next(next) => value = next,
                Trial::Best(best) => break best,
            }
            assert!(value <= 0.4, "{value}");
        };
        assert!(best > 0.37 && best <= 0.4, "{best}");
    }
}
