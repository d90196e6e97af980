//! Times of kernels, each alone on its device: what a profile is made of.

use super::{Device, Launch};
use jostle_core::backend::KernelTime;
use jostle_core::{Error, Result};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Launches of a kernel that does nothing, of which the median is taken.
const EMPTY_LAUNCHES: usize = 101;

/// Stopwatch of a device, which its clones share. While it runs, launches are made one by one and timed.
#[derive(Default)]
pub(super) struct Stopwatch {
    running: AtomicBool,
    readings: Mutex<Readings>,
}

/// Times since the stopwatch was started.
#[derive(Default)]
struct Readings {
    /// Milliseconds of a kernel that does nothing.
    empty: f64,
    kernels: BTreeMap<String, KernelTime>,
}

impl Stopwatch {
    pub fn is_running(&self) -> bool {
        self.running.load(Ordering::Relaxed)
    }

    fn readings(&self) -> MutexGuard<'_, Readings> {
        self.readings.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Readings {
    fn add(&mut self, launch: &Launch, milliseconds: f64) {
        let kernel = &launch.kernel;
        let time = self.kernels.entry(kernel.name().to_string()).or_insert_with(|| KernelTime {
            name: kernel.name().to_string(),
            launches: 0,
            seconds: 0.0,
            blocks: 0.0,
            threads: launch.block,
            registers: kernel.registers(),
            spilled: kernel.local_bytes(),
        });
        time.launches += 1;
        time.seconds += 1e-3 * (milliseconds - self.empty).max(0.0);
        let blocks: f64 = launch.grid.iter().map(|&blocks| f64::from(blocks)).product();
        time.blocks += (blocks - time.blocks) / time.launches as f64;
    }
}

impl Device {
    /// Makes and times all launches from now on one by one, those of recorded sequences, too.
    ///
    /// # Errors
    /// If the device fails.
    pub fn start_profile(&self) -> Result<()> {
        self.stopwatch.running.store(false, Ordering::Relaxed);
        let nothing = self.compile("nothing", "extern \"C\" __global__ void nothing() {}", &[])?;
        let launches = vec![Launch::new(&nothing.kernel("nothing")?, 1, 32); EMPTY_LAUNCHES];
        // SAFETY: the kernel has no arguments.
        let mut times = unsafe { self.hardware.time_each(&launches)? };
        times.sort_by(f64::total_cmp);
        *self.stopwatch.readings() = Readings { empty: times[EMPTY_LAUNCHES / 2], kernels: BTreeMap::new() };
        self.stopwatch.running.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Returns true where a profile is under way.
    pub fn is_profiled(&self) -> bool {
        self.stopwatch.is_running()
    }

    /// Ends a profile; the kernels, the longest first.
    ///
    /// # Errors
    /// If none was started.
    pub fn end_profile(&self) -> Result<Vec<KernelTime>> {
        if !self.stopwatch.running.swap(false, Ordering::Relaxed) {
            return Err(Error::device("no profile was started"));
        }
        let mut kernels =
            Vec::from_iter(std::mem::take(&mut self.stopwatch.readings().kernels).into_values());
        kernels.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
        Ok(kernels)
    }

    /// Makes and times launches.
    pub(super) fn time(&self, launches: &[Launch]) -> Result<()> {
        // SAFETY: as in `run`.
        let times = unsafe { self.hardware.time_each(launches)? };
        let mut readings = self.stopwatch.readings();
        launches.iter().zip(times).for_each(|(launch, milliseconds)| readings.add(launch, milliseconds));
        Ok(())
    }
}
