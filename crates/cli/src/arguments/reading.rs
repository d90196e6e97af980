//! Options of reading a trajectory.

use super::word;
use clap::Args;
use jostle_core::{Error, Result, UnitSystem};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Options of reading a trajectory.
#[derive(Debug, Args, Clone)]
pub struct ReadingOptions {
    /// Unit system to read in [default: what the file says, or start.xyz beside it]
    #[arg(long, value_parser = word::<UnitSystem>())]
    pub units: Option<UnitSystem>,
    /// A file with the atoms' names, for a trajectory without [default: start.xyz beside it]
    #[arg(long, value_name = "FILE")]
    pub names: Option<PathBuf>,
    /// Time of a step; it counts more than times of the file [default: times of the file, or of the run beside it]
    #[arg(long, value_name = "TIME")]
    pub timestep: Option<f64>,
    /// First frame or row, from 0
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub first: u64,
    /// Last frame or row
    #[arg(long, value_name = "N")]
    pub last: Option<u64>,
    /// Every N-th frame or row only
    #[arg(long, value_name = "N", default_value = "1", hide_default_value = true)]
    pub every: NonZeroU64,
    /// Wish of another thread that no further frame is read.
    #[arg(skip)]
    pub stop: Option<Arc<AtomicBool>>,
}

impl ReadingOptions {
    /// All frames of a trajectory, with what it tells.
    pub fn all() -> Self {
        let (units, names, timestep, last, stop) = (None, None, None, None, None);
        ReadingOptions { units, names, timestep, first: 0, last, every: NonZeroU64::MIN, stop }
    }

    /// Refuses to go on where another thread wishes so.
    ///
    /// # Errors
    /// If it does.
    pub fn check_stop(&self) -> Result<()> {
        match self.stop.as_ref().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            true => Err(Error::input("the analysis was interrupted")),
            false => Ok(()),
        }
    }

    /// Returns true for a frame or row with this number that is to be read.
    pub fn takes(&self, number: u64) -> bool {
        let last = self.last.unwrap_or(u64::MAX);
        number >= self.first && number <= last && (number - self.first).is_multiple_of(self.every.get())
    }

    /// Refuses a range without a frame or a row.
    ///
    /// # Errors
    /// If the last one comes before the first.
    pub fn refuse_empty(&self) -> Result<()> {
        match self.last {
            Some(last) if last < self.first => {
                let message = format!("the range from --first {} to --last {last} is empty", self.first);
                Err(Error::input(message).hint("the last frame or row comes after the first one"))
            }
            _ => Ok(()),
        }
    }

    /// Items of a list that are to be read.
    pub fn chosen<T>(&self, items: Vec<T>) -> Vec<T> {
        items.into_iter().zip(0..).filter(|(_, number)| self.takes(*number)).map(|(item, _)| item).collect()
    }

    /// Returns true where some frames or rows are not to be read.
    pub fn leaves_out(&self) -> bool {
        self.first > 0 || self.last.is_some() || self.every.get() > 1
    }
}
