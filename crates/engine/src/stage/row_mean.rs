//! Rows of `thermo.csv` that are means of samples.

use crate::thermo::{Mean, Quantity, Thermo};
use serde::{Deserialize, Serialize};

/// Samples since the last row.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct RowMean {
    samples: u64,
    /// Sums of the columns; `None` where a sample has no value.
    sums: Vec<Option<f64>>,
    /// Values of the last sample.
    last: Vec<Option<f64>>,
}

impl RowMean {
    /// Adds a sample.
    pub fn add(&mut self, thermo: &Thermo) {
        self.last = thermo.values().collect();
        if self.samples == 0 {
            self.sums = vec![Some(0.0); self.last.len()];
        }
        self.samples += 1;
        for (sum, value) in self.sums.iter_mut().zip(&self.last) {
            *sum = sum.zip(*value).map(|(sum, value)| sum + value);
        }
    }

    /// Returns true where no sample was taken since the last row.
    pub fn is_empty(&self) -> bool {
        self.samples == 0
    }

    /// Values of the next row: means, or the last sample where [`Mean`] says so. Begins anew.
    pub fn take(&mut self, quantities: &[Quantity]) -> Vec<Option<f64>> {
        let RowMean { samples, sums, last } = std::mem::take(self);
        let has_mean = |k: usize| quantities.get(k).is_none_or(|quantity| quantity.mean == Mean::Plain);
        let value = |(k, (sum, last)): (usize, (Option<f64>, Option<f64>))| match has_mean(k) {
            true => sum.map(|sum| sum / samples as f64),
            false => last,
        };
        sums.into_iter().zip(last).enumerate().map(value).collect()
    }
}
