//! Spherical shells around an atom, in which others are counted.

use crate::settings::Settings;
use crate::view::Subject;
use jostle_core::{Error, Result};
use std::f64::consts::PI;

/// So many shells of the same thickness.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shells {
    /// Where the last one ends.
    pub cutoff: f64,
    /// How many there are.
    pub bins: usize,
}

impl Shells {
    /// As the settings `cutoff` and `bins` say; up to half the smallest width of the box, and six
    /// times the mean distance of atoms: what is farther away has no structure in a fluid, and the
    /// time that pairs take grows with the cube of the distance.
    pub fn new(subject: &Subject, settings: &Settings, bins: usize, most: usize) -> Result<Self> {
        let largest = subject.simbox.largest_cutoff();
        let cutoff = match settings.get("cutoff") {
            None if largest.is_infinite() => {
                return Err(Error::input("the box is open, so the cutoff must be given").hint("cutoff=10"));
            }
            _ => settings.positive("cutoff", largest.min(6.0 * subject.density().cbrt().recip()))?,
        };
        Ok(Shells { cutoff, bins: settings.count("bins", bins, 1..=most)? })
    }

    /// The volume of a shell.
    pub fn volume(&self, bin: usize) -> f64 {
        let r = |k: usize| k as f64 * self.cutoff / self.bins as f64;
        4.0 / 3.0 * PI * (r(bin + 1).powi(3) - r(bin).powi(3))
    }
}
