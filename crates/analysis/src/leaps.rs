//! Frames so far apart that nearest images do not tell where atoms went.

use crate::view::View;
use crate::warning::Verdict;
use jostle_core::Vec3;
use serde::{Deserialize, Serialize};

/// With more of such steps a path may be anything: of steps that scatter as a Gaussian, half beyond a
/// quarter of the box means that one in two hundred is taken for another.
const LOST: f64 = 0.5;
/// A few may be those of fast atoms among slow ones, all of which are lost.
pub(crate) const FEW: f64 = 0.01;

/// Steps from frame to frame on paths that were put together by nearest images, and those among them that
/// are longer than a quarter of the box.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Leaps {
    before: Vec<Vec3>,
    steps: u64,
    far: u64,
}

impl Leaps {
    /// Looks at the next frame, with its paths in comoving coordinates. Where crossings of the box were counted, or none
    /// took place, there is nothing to guess.
    pub fn add(&mut self, frame: &View, path: &[Vec3]) {
        let guessed = frame.images.is_none() && frame.unwrapped != frame.positions;
        if guessed && self.before.len() == path.len() {
            let quarter = 0.5 * frame.simbox.largest_cutoff();
            let square = |(a, b): (&Vec3, &Vec3)| frame.lattice.comoving_shift(*b - *a).norm_squared();
            let squares = self.before.iter().zip(path).map(square);
            self.far += squares.filter(|d2| *d2 > quarter * quarter).count() as u64;
            self.steps += path.len() as u64;
        }
        if frame.images.is_none() {
            self.before.clear();
            self.before.extend_from_slice(path);
        }
    }

    /// The verdict on what follows from paths.
    pub fn judge(&self) -> Option<(Verdict, String)> {
        let part = self.far as f64 / self.steps as f64;
        let reason = || {
            format!(
                "from frame to frame {:.2} % of the steps are longer than a quarter of the box, so that the nearest image may not be where an atom went",
                100.0 * part
            )
        };
        match part {
            p if p > LOST => Some((Verdict::Withheld, reason())),
            p if p > FEW => Some((Verdict::Doubtful, reason())),
            _ => None,
        }
    }
}

/// Remedy.
pub(crate) const REMEDY: &str = "save frames more often, or paths that were not put back into the box";
