//! Warnings of results: numbers that were sampled too coarsely, too shortly or in too small a box.
//!
//! A standard error contains statistics only. A measure judges what else may be wrong with its numbers
//! and says so in its results, as data: where a number may be off by more than its error it is
//! [`Verdict::Doubtful`], where it says nothing about the system it is [`Verdict::Withheld`] and not
//! among the values. What was sampled, such as the correlation itself, is given all the same.

use crate::averages::{BlockAverage, MANY};
use crate::blocks::BlockEstimate;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Verdict on a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The number is given, and may be off by more than its error.
    Doubtful,
    /// The number is not given.
    Withheld,
}

/// Warning about a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResultWarning {
    /// Verdict on the number.
    pub verdict: Verdict,
    /// The value, the table or the column that it is about.
    pub about: String,
    /// Reason for the warning.
    pub reason: String,
    /// Remedy.
    pub remedy: String,
}

impl fmt::Display for ResultWarning {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let became = match self.verdict {
            Verdict::Doubtful => "is doubtful",
            Verdict::Withheld => "is not given",
        };
        write!(f, "{} {became}: {}; {}", self.about, self.reason, self.remedy)
    }
}

/// A systematic error below this part of a number is negligible: few simulations give a
/// transport coefficient better.
pub(crate) const DOUBTFUL: f64 = 0.03;
/// Above this part of it a number would mislead.
const WITHHELD: f64 = 0.1;
/// The relative error of a variance of so many independent values, sqrt(2 / n), is a fifth.
const FEW: f64 = 50.0;
/// Number of independent values that cannot be told from none: the longest blocks that errors are taken from
/// are [`MANY`] or more, up to twice as many, whatever the values.
const HARDLY_ANY: f64 = 2.0 * MANY as f64;

/// The verdict on a number that is off by so much besides its error. What noise explains, or the error
/// covers, counts for nothing.
pub(crate) fn judge(off: BlockEstimate, value: BlockEstimate) -> Option<Verdict> {
    let size = off.0.abs();
    let noise = (2.0 * off.1.unwrap_or(0.0)).max(value.1.unwrap_or(0.0));
    match size / value.0.abs() {
        _ if size <= noise => None,
        part if part > WITHHELD => Some(Verdict::Withheld),
        part if part > DOUBTFUL => Some(Verdict::Doubtful),
        _ => None,
    }
}

/// The verdict on a variance of values of which so many are independent.
pub fn judge_fluctuations(independent: f64) -> Option<Verdict> {
    match independent {
        n if n < HARDLY_ANY => Some(Verdict::Withheld),
        n if n < FEW => Some(Verdict::Doubtful),
        _ => None,
    }
}

/// Number of independent values, on average over several quantities. Quantities that stay what
/// they are do not count.
pub(crate) fn independent(averages: &[BlockAverage]) -> f64 {
    let estimates = averages.iter().filter_map(BlockAverage::estimate).filter(|e| e.error > 0.0);
    let each: Vec<f64> = estimates.map(|e| e.samples as f64 / e.inefficiency).collect();
    each.iter().sum::<f64>() / each.len() as f64
}

/// A number as words give it: six digits, no more than it has.
pub(crate) fn digits(number: f64) -> String {
    format!("{number:.5e}").parse::<f64>().unwrap_or(number).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_no_fault_and_a_fault_is_none_within_the_error() {
        let value = (10.0, Some(0.1));
        assert_eq!(judge((2.0, Some(0.1)), value), Some(Verdict::Withheld));
        assert_eq!(judge((-0.5, Some(0.1)), value), Some(Verdict::Doubtful));
        assert_eq!(judge((0.2, Some(0.01)), value), None);
        assert_eq!(judge((2.0, Some(1.5)), value), None, "it may be noise");
        assert_eq!(judge((2.0, Some(0.1)), (10.0, Some(3.0))), None, "the error says so");
        assert_eq!(judge((f64::NAN, None), value), None);
    }
}
