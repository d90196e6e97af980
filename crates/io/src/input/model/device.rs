//! Device of a run.

use jostle_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Device of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum DeviceInput {
    /// The best there is.
    #[default]
    Auto,
    /// The CPU.
    Cpu,
    /// NVIDIA GPUs of this machine, which share the work.
    Cuda(Gpus),
}

/// GPUs of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Gpus {
    /// As many of those that there are as make the run faster.
    All,
    /// These and no others.
    Chosen(GpuSet),
}

/// Numbers of GPUs, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GpuSet(u64);

impl DeviceInput {
    /// The GPU with this number, below [`GpuSet::MOST`].
    pub fn gpu(number: usize) -> Self {
        DeviceInput::Cuda(Gpus::Chosen(GpuSet::one(number)))
    }
}

impl GpuSet {
    /// The first GPU.
    pub const FIRST: GpuSet = GpuSet(1);

    /// Largest number of a GPU, and one more.
    pub const MOST: usize = 64;

    /// The GPU with this number, below [`GpuSet::MOST`].
    pub fn one(number: usize) -> Self {
        GpuSet(1 << number.min(Self::MOST - 1))
    }

    /// All numbers, in order.
    pub fn numbers(self) -> impl Iterator<Item = usize> {
        (0..Self::MOST).filter(move |number| self.0 >> number & 1 == 1)
    }

    /// The smallest number.
    pub fn first(self) -> usize {
        self.0.trailing_zeros() as usize
    }

    /// The GPUs of both.
    #[must_use]
    pub fn and(self, other: GpuSet) -> Self {
        GpuSet(self.0 | other.0)
    }
}

/// Numbers with commas between, such as `0,1`.
impl FromStr for GpuSet {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let number = |text: &str| text.trim().parse().ok().filter(|number| *number < Self::MOST);
        let sets = text.split(',').map(|one| number(one).map(GpuSet::one));
        let all: Option<Vec<GpuSet>> = sets.collect();
        let all = all.and_then(|sets| sets.into_iter().reduce(GpuSet::and));
        all.ok_or_else(|| Error::input(format!("\"{text}\" is no list of GPUs")).hint("write cuda:0,1"))
    }
}

impl fmt::Display for GpuSet {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let numbers: Vec<String> = self.numbers().map(|number| number.to_string()).collect();
        write!(f, "{}", numbers.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_are_listed_by_number() {
        let set: GpuSet = "3,0, 1".parse().unwrap();
        assert_eq!(set.numbers().collect::<Vec<_>>(), [0, 1, 3]);
        assert_eq!((set.to_string(), set.first()), ("0,1,3".into(), 0));
        for wrong in ["", "0,", "a", "64", "-1"] {
            assert!(wrong.parse::<GpuSet>().is_err(), "{wrong}");
        }
    }
}
