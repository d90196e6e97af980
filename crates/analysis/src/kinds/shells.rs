//! Spherical shells around an atom, in which others are counted.

use crate::settings::MeasureSettings;
use crate::view::SystemInfo;
use crate::warning::{Verdict, digits};
use jostle_core::{Error, Result, SimBox};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// Shells of the same thickness.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shells {
    /// Outer radius of the last shell.
    pub cutoff: f64,
    /// Number of shells.
    pub bins: usize,
}

impl Shells {
    /// As the settings `cutoff` and `bins` say; up to half the smallest width of the box, and six
    /// times the mean distance of atoms: what is farther away has no structure in a fluid, and the
    /// time that pairs take grows with the cube of the distance.
    pub fn new(
        system_info: &SystemInfo,
        settings: &MeasureSettings,
        bins: usize,
        most: usize,
    ) -> Result<Self> {
        let largest = system_info.simbox.largest_cutoff();
        let cutoff = match settings.get("cutoff") {
            None if largest.is_infinite() => {
                return Err(Error::input("the box is open, so the cutoff must be given").hint("cutoff=10"));
            }
            _ => settings.positive("cutoff", largest.min(6.0 * system_info.density().cbrt().recip()))?,
        };
        Ok(Shells { cutoff, bins: settings.count("bins", bins, 1..=most)? })
    }

    /// The volume of a shell.
    pub fn volume(&self, bin: usize) -> f64 {
        let r = |k: usize| k as f64 * self.cutoff / self.bins as f64;
        4.0 / 3.0 * PI * (r(bin + 1).powi(3) - r(bin).powi(3))
    }
}

/// A box that a barostat lets breathe passes the half that it began with by little.
const BREATH: f64 = 1.05;
/// Hint where shells reach too far.
pub(super) const LARGER: &str = "a shorter cutoff, or a larger box";

/// Remedy for numbers that are relative to a density which is none.
pub(super) const BY_NUMBER: &str =
    "take coordination numbers (rdf), which do not depend on it; or a box that is periodic along all axes";

/// The verdict on numbers that are relative to the density, in a box with an open axis: the volume there is that of an edge
/// which bounds nothing.
pub(super) fn without_density(simbox: &SimBox) -> Option<(Verdict, String)> {
    let reason = "along an open axis a box has no length, so that there is no density that numbers of atoms are relative to";
    simbox.periodic().contains(&false).then(|| (Verdict::Doubtful, reason.to_string()))
}

/// The narrowest box so far.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Narrowest(f64);

impl Narrowest {
    /// Before the first box.
    pub fn new() -> Self {
        Narrowest(f64::INFINITY)
    }

    /// Looks at the next box.
    pub fn add(&mut self, simbox: &SimBox) {
        self.0 = self.0.min(simbox.largest_cutoff());
    }

    /// The verdict on pairs of atoms up to a distance: beyond half the box an atom has pairs with several images of
    /// another, and farther out its own.
    pub fn judge(self, cutoff: f64) -> Option<(Verdict, String)> {
        (cutoff > BREATH * self.0).then(|| {
            let reason = format!(
                "the cutoff, {}, is more than half the smallest width of the box, {}: beyond, atoms are counted with several images of others, and from twice as far on with their own",
                digits(cutoff),
                digits(self.0)
            );
            (Verdict::Doubtful, reason)
        })
    }
}
