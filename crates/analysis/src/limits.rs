//! Limits of what a measure may take, so that a wrong box, cutoff or number of bins is refused with the
//! number and does not end in a machine without memory or a night without a result.

use jostle_core::{Error, Result, SimBox};

/// Bytes that one measure may keep or copy: half of what a small workstation has.
const MEMORY: f64 = 8.0 * GIB;
/// Pairs of whatever is compared in one frame: hours on all cores of a large machine.
const WORK: f64 = 1e13;
const GIB: f64 = (1u64 << 30) as f64;

/// Refuses what takes too much memory.
pub(crate) fn memory(bytes: f64, what: &str, hint: &str) -> Result<()> {
    match bytes <= MEMORY {
        true => Ok(()),
        false => Err(Error::input(format!(
            "{what} would take {:.3e} GiB of memory; {} GiB are allowed",
            bytes / GIB,
            MEMORY / GIB
        ))
        .hint(hint)),
    }
}

/// Refuses what would never end.
pub(crate) fn work(operations: f64, what: &str, hint: &str) -> Result<()> {
    match operations <= WORK {
        true => Ok(()),
        false => {
            Err(Error::input(format!("{what} are {operations:.3e} a frame; {WORK:.0e} are allowed"))
                .hint(hint))
        }
    }
}

/// Refuses a box so small or large that its volume is no number to divide by.
pub(crate) fn sound(simbox: &SimBox) -> Result<()> {
    let volume = simbox.volume();
    let numbers = simbox.widths().into_iter().chain([volume, volume.recip()]);
    match numbers.into_iter().all(f64::is_normal) {
        true => Ok(()),
        false => {
            let [x, y, z] = simbox.lengths();
            Err(Error::input(format!("the box has edges of {x:e}, {y:e} and {z:e}: that is no volume"))
                .hint("is the box of the frame, and its unit, what it should be?"))
        }
    }
}
