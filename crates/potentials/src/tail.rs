//! Long-range corrections: what a uniform fluid has that a truncated potential lacks.
//!
//! Energy and virial are integrals over w(r) = u(r) less the truncated potential, for pairs of atoms that are
//! spread evenly: the energy is 2 pi N_a N_b / V times the integral of r^2 w, summed over ordered pairs of
//! species, and the virial (trace / 3) -1/3 of that with r^3 dw/dr (M. P. Allen and D. J. Tildesley, Computer
//! Simulation of Liquids, 2.8). Beyond the cut-off w is u. Within it a switched potential lacks w from the
//! beginning of the switch, as in OpenMM, and a shifted one u(rc) with all its neighbours, of which there are as
//! many as an even density has in the sphere. All of it is in proportion to the density, so that a gas has none.
//! GROMACS takes one neighbour fewer at any density, as in a liquid that cannot be compressed; its energies with
//! `potential-shift` differ by -u(rc)/2 for each atom, and a gas without neighbours has them, too.

use crate::potential::Potential;
use crate::table::Tables;
use crate::truncation::Truncation;
use jostle_core::{Error, Result};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// Integrals over what one pair of species lacks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TailIntegrals {
    /// Integral of r^2 w(r).
    energy: f64,
    /// Integral of r^3 dw/dr.
    virial: f64,
}

/// The correction of one term for all atoms of a system, in a box of any volume.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Tail {
    /// Energy and virial (trace / 3), each times the volume.
    times_volume: [f64; 2],
}

impl TailIntegrals {
    /// Integrals for a potential under a truncation.
    ///
    /// # Errors
    /// If the integral diverges or is not known, or the truncation leaves nothing of the potential as it was.
    pub fn of(
        potential: &Potential,
        truncation: Truncation,
        parameters: &[f64],
        cutoff: f64,
    ) -> Result<TailIntegrals> {
        let Some([beyond, virial]) = potential.tail(parameters, cutoff) else {
            return Err(Error::input(format!("there is no tail correction for {}", potential.name()))
                .hint("leave out tail_correction and use a longer cut-off"));
        };
        match truncation {
            Truncation::Plain => Ok(TailIntegrals { energy: beyond, virial }),
            Truncation::Shifted => {
                let shift = energy(potential, Truncation::Plain, parameters, cutoff)(cutoff);
                Ok(TailIntegrals::continuous(beyond + shift * cutoff.powi(3) / 3.0))
            }
            Truncation::Switched { from } | Truncation::CharmmSwitched { from } => {
                let whole = energy(potential, Truncation::Plain, parameters, cutoff);
                let switched = energy(potential, truncation, parameters, cutoff);
                let lost = |r: f64| r * r * (whole(r) - switched(r));
                Ok(TailIntegrals::continuous(beyond + integral(from * cutoff, cutoff, lost)))
            }
            Truncation::ForceShifted => {
                let message = "tail_correction = true together with truncation = \"force-shifted\"";
                Err(Error::input(message).hint(
                    "forces differ at every distance there, so that no tail is what lacks: choose \
                     \"switched\" or \"shifted\", or leave out tail_correction",
                ))
            }
        }
    }

    /// Integrals where w is continuous: by parts, the virial's integral is -3 times that of the energy.
    fn continuous(energy: f64) -> TailIntegrals {
        TailIntegrals { energy, virial: -3.0 * energy }
    }
}

/// A potential's energy as a function of the distance.
fn energy<'a>(
    potential: &'a Potential,
    truncation: Truncation,
    parameters: &[f64],
    cutoff: f64,
) -> impl Fn(f64) -> f64 + 'a {
    let c = potential.coefficients(truncation, parameters, cutoff);
    move |r| potential.evaluate(truncation, r * r, &c, Tables::look_up).0
}

/// Abscissas from -1 to 1 and weights of Gauss and Legendre.
const GAUSS: [[f64; 2]; 5] = [
    [-0.906_179_845_938_664, 0.236_926_885_056_189_1],
    [-0.538_469_310_105_683_1, 0.478_628_670_499_366_5],
    [0.0, 0.568_888_888_888_888_9],
    [0.538_469_310_105_683_1, 0.478_628_670_499_366_5],
    [0.906_179_845_938_664, 0.236_926_885_056_189_1],
];

/// Stretches of an integral, each with the points of Gauss.
const STRETCHES: usize = 16;

/// The integral of a smooth function.
fn integral(from: f64, to: f64, function: impl Fn(f64) -> f64) -> f64 {
    let half = 0.5 * (to - from) / STRETCHES as f64;
    let stretch = |k: usize| {
        let middle = from + (2.0 * k as f64 + 1.0) * half;
        GAUSS.iter().map(|[abscissa, weight]| weight * function(middle + half * abscissa)).sum::<f64>()
    };
    half * (0..STRETCHES).map(stretch).sum::<f64>()
}

impl Tail {
    /// Adds what so many ordered pairs of atoms lack.
    pub(crate) fn add(&mut self, integrals: &TailIntegrals, pairs: f64) {
        self.times_volume[0] += 2.0 * PI * pairs * integrals.energy;
        self.times_volume[1] -= 2.0 * PI * pairs * integrals.virial / 3.0;
    }

    /// Energy and virial (trace / 3) in a box of this volume.
    pub fn at(&self, volume: f64) -> [f64; 2] {
        self.times_volume.map(|x| x / volume)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrals_of_smooth_functions_are_exact() {
        assert!((integral(0.0, 3.0, f64::exp) - 3f64.exp_m1()).abs() < 1e-13);
        assert!((integral(1.0, 2.0, |x| x.powi(-6)) - (1.0 - 0.5f64.powi(5)) / 5.0).abs() < 1e-14);
    }
}
