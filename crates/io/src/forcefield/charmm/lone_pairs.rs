//! Points that follow atoms in CHARMM (`LONEPAIR`; lonepair.doc of CHARMM): what its numbers mean depends
//! on how many hosts there are, and on the sign of the distance.

use super::psf::{LonePair, Weight};
use jostle_core::{Arms, Error, LocalFrame, Result, SiteRule};

/// Axes with x from the first host to the second.
const RELATIVE: LocalFrame =
    LocalFrame { arms: Arms::AsLong, origin: [0.0; 2], x: [1.0, 0.0], y: [1.0, -1.0], place: [0.0; 3] };

impl LonePair {
    /// The atoms that it follows, and how; lengths in those of the file. `mass` is that of an atom.
    ///
    /// # Errors
    /// If it is fixed in space, or the centre of more than three atoms.
    pub fn rule(&self, mass: impl Fn(u32) -> f64) -> Result<([u32; 3], SiteRule)> {
        let ([distance, angle, dihedral], scale) = (self.values, self.values[1]);
        match self.hosts[..] {
            [a] => Ok(([a; 3], SiteRule::Average([1.0, 0.0, 0.0]))),
            // COLINEAR: beyond the first host, so far and so much of the distance of both.
            [a, b] if [distance, scale] != [0.0; 2] => {
                let origin = [-scale, 0.0];
                let rule = match distance {
                    0.0 => SiteRule::Average([1.0 + scale, -scale, 0.0]),
                    _ => SiteRule::Frame(LocalFrame {
                        origin,
                        x: [-1.0, 0.0],
                        place: [distance, 0.0, 0.0],
                        ..RELATIVE
                    }),
                };
                Ok(([a, b, b], rule))
            }
            // RELATIVE: distance, angle and dihedral to the three; BISECTOR, with a distance below zero:
            // with the middle of the last two in place of the second.
            [a, b, c] if distance != 0.0 => {
                let x = if distance > 0.0 { RELATIVE.x } else { [0.5, 0.5] };
                let (sin, cos) = angle.to_radians().sin_cos();
                let (out, across) = (180.0 - dihedral).to_radians().sin_cos();
                // Angles that are only rounding would need a plane where the atoms may have none.
                let place =
                    [cos, sin * across, sin * out].map(|part| if part.abs() < 1e-10 { 0.0 } else { part });
                let place = place.map(|part| distance.abs() * part);
                Ok(([a, b, c], SiteRule::Frame(LocalFrame { x, place, ..RELATIVE })))
            }
            [a, b] => Ok(([a, b, b], self.center([mass(a), mass(b), 0.0]))),
            [a, b, c] => Ok(([a, b, c], self.center([a, b, c].map(mass)))),
            [] => Err(Error::input("it is fixed in space").hint("those that follow atoms are read")),
            _ => {
                let message = format!("it is the centre of {} atoms", self.hosts.len());
                Err(Error::input(message).hint("those that follow one, two or three atoms are read"))
            }
        }
    }

    /// CENTER: the middle, or the centre of mass.
    fn center(&self, masses: [f64; 3]) -> SiteRule {
        let there = |k: usize| k < self.hosts.len();
        let weights: [f64; 3] = std::array::from_fn(|k| match self.weight {
            Weight::Mass => masses[k],
            Weight::Alike => f64::from(u8::from(there(k))),
        });
        let sum: f64 = weights.iter().sum();
        SiteRule::Average(weights.map(|weight| weight / sum))
    }
}
