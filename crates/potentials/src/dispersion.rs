//! Dispersion over all images: the sum of -c_i c_j / r^6 without an end (Essmann, Perera, Berkowitz,
//! Darden, Lee and Pedersen, J. Chem. Phys. 103 (1995) 8577, section V).
//!
//! A smooth function is taken from near pairs and given back to all atoms and their images as a sum in
//! reciprocal space, as with charges ([`crate::electrostatics`]): (1 - g)/r^6 with g = exp(-x) (1 + x +
//! x^2/2) and x = (alpha r)^2. Coefficients are products, c_i^2 = 4 epsilon sigma^6 of an atom with its own
//! kind: within the cut-off, Lennard-Jones forces keep their mixing rule, and beyond it the sum has the
//! geometric mean (Wennberg, Murtola, Hess and Lindahl, J. Chem. Theory Comput. 9 (2013) 3527; as OpenMM's
//! LJPME).

use crate::electrostatics::Method;
use crate::{PairKind, PairTerm, Potential, Truncation};
use jostle_core::{Error, Real, Result, System};
use serde::{Deserialize, Serialize};
use std::f64::consts::PI;

/// Dispersion over all images, added to a Lennard-Jones force that ends at the cut-off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Dispersion {
    /// Method of the sum in reciprocal space: [`Method::Ewald`] or [`Method::Pme`].
    pub method: Method,
    /// Cut-off of the Lennard-Jones force.
    pub cutoff: f64,
    /// Root of the coefficient of r^-6 of each species with its own kind.
    pub coefficients: Vec<f64>,
    /// Energy of two unit coefficients that is taken from pairs within the cut-off: where the Lennard-Jones
    /// force is shifted this is, too.
    pub shift: f64,
}

impl Dispersion {
    /// Name of the energy.
    pub const TERM: &'static str = "dispersion";

    /// Dispersion of a Lennard-Jones force.
    ///
    /// # Errors
    /// If it is another force, is not plain or shifted, has more than one cut-off, a correction for what is
    /// beyond it, or the method is no sum in reciprocal space.
    pub fn new(term: &PairTerm, method: Method) -> Result<Self> {
        let Some(alpha) = method.alpha() else {
            return Err(Error::input("dispersion is summed by \"pme\" or \"ewald\""));
        };
        if term.potential != Potential::BuiltIn(PairKind::LennardJones) {
            return Err(Error::input("only a Lennard-Jones force has a sum of dispersion over all images")
                .hint("leave out dispersion, or choose kind = \"lennard-jones\" without tabulate"));
        }
        if term.tail_correction() {
            return Err(Error::input(
                "tail_correction = true together with a sum of dispersion over all images",
            )
            .hint("leave out one of them: the sum has no end"));
        }
        if !matches!(term.truncation, Truncation::Plain | Truncation::Shifted) {
            let name = term.truncation.name();
            return Err(Error::input(format!(
                "truncation = \"{name}\" changes the force that the sum of dispersion continues"
            ))
            .hint("choose \"plain\" or \"shifted\""));
        }
        let (n, cutoff) = (term.n_species(), term.largest_cutoff());
        let pairs = || (0..n).flat_map(|a| (a..n).map(move |b| (a, b))).filter_map(|(a, b)| term.get(a, b));
        if pairs().any(|pair| pair.cutoff != cutoff && pair.parameters[0] != 0.0) {
            return Err(Error::input(
                "a sum of dispersion over all images needs the same cut-off for all pairs",
            )
            .hint("leave out the cut-offs of pairs"));
        }
        let root = |a: usize| {
            term.get(a, a).map_or(0.0, |own| (4.0 * own.parameters[0] * own.parameters[1].powi(6)).sqrt())
        };
        let mut found = Dispersion { method, cutoff, coefficients: (0..n).map(root).collect(), shift: 0.0 };
        if term.truncation == Truncation::Shifted {
            found.shift = smooth(alpha * alpha * cutoff * cutoff).0 * alpha.powi(6);
        }
        Ok(found)
    }

    fn alpha(&self) -> f64 {
        self.method.alpha().unwrap_or(0.0)
    }

    /// The smooth function of unit coefficients at a squared distance, and its force over distance.
    pub fn smooth<R: Real>(&self, r2: R) -> (R, R) {
        let alpha2 = self.alpha().powi(2);
        let (energy, force) = smooth(R::lit(alpha2) * r2);
        (R::lit(alpha2.powi(3)) * energy, R::lit(alpha2.powi(4)) * force)
    }

    /// Addition to the interaction of two unit coefficients within the cut-off; `one` is 0 where they are
    /// excluded.
    pub fn direct(&self, r2: f64, one: f64) -> (f64, f64) {
        let (energy, force) = self.smooth(r2);
        (energy - one * self.shift, force)
    }

    /// The energy of every atom with itself, and that of coefficients that are spread evenly, which is
    /// inversely proportional to the volume. From the sum of all coefficients and that of their squares.
    pub fn constants(&self, [sum, squares]: [f64; 2], volume: f64) -> [f64; 2] {
        let even = weight(0.0, self.alpha(), volume)[0];
        [0.5 * self.smooth(0.0).0 * squares, 0.5 * even * sum * sum]
    }

    /// Checks that a system can have dispersion over all images.
    ///
    /// # Errors
    /// If it is not periodic, or has other species.
    pub fn check(&self, system: &System) -> Result<()> {
        if self.coefficients.len() != system.species.len() {
            let (known, there) = (self.coefficients.len(), system.species.len());
            return Err(Error::input(format!("it has {known} species, the system has {there}")));
        }
        if system.simbox.periodic() != [true; 3] {
            return Err(Error::input("a sum over all images, but the box is open along an axis")
                .hint("leave out dispersion, or make all axes periodic"));
        }
        Ok(())
    }
}

/// (1 - exp(-x) (1 + x + x^2/2)) / x^3, and minus twice its derivative.
#[inline(always)]
pub fn smooth<R: Real>(x: R) -> (R, R) {
    let near = x.lt(R::lit(1.0));
    // Series where differences lose their digits: x^n (-1)^n / (2 n! (n + 3)), and with n + 4.
    let (mut energy, mut force) = (R::lit(0.0), R::lit(0.0));
    for [e, f] in SMALL {
        energy = energy.mul_add(x, R::lit(e));
        force = force.mul_add(x, R::lit(f));
    }
    let far = R::select(near, R::lit(1.0), x);
    let (inverse, fading) = (far.recip(), (-far).exp());
    let square = R::lit(0.5) * far * far;
    let cube = inverse * inverse * inverse;
    let one = R::lit(1.0);
    let point = (one - fading * (one + far + square)) * cube;
    let pull = (R::lit(6.0) * point - fading) * inverse;
    (R::select(near, energy, point), R::select(near, force, pull))
}

/// The two series, the highest power first.
const SMALL: [[f64; 2]; 18] = {
    let mut terms = [[0.0; 2]; 18];
    let (mut factorial, mut sign, mut n) = (1.0, 1.0, 0);
    while n < 18 {
        terms[17 - n] = [0.5 * sign / (factorial * (n + 3) as f64), sign / (factorial * (n + 4) as f64)];
        sign = -sign;
        n += 1;
        factorial *= n as f64;
    }
    terms
};

/// Weight of a wave of squared length k2, without a mesh, for squared amplitudes of coefficients; and the
/// part of its virial along it, relative to its energy (Essmann, eq. 5.1 and 5.3).
#[inline(always)]
pub fn weight<R: Real>(k2: R, alpha: R, volume: R) -> [R; 2] {
    let b2 = k2 * R::lit(0.25) / (alpha * alpha);
    let b = b2.sqrt();
    let (fading, tail) = ((-b2).exp(), R::lit(PI.sqrt()) * b * b.erfc());
    let shape = fading - R::lit(2.0) * b2 * (fading - tail);
    let size = R::lit(-PI * PI.sqrt() / 3.0) * alpha * alpha * alpha / volume;
    // The weight of the shortest waves vanishes in single precision.
    let (none, some) = (R::lit(0.0), R::lit(0.0).lt(shape));
    let along = R::lit(1.5) * (fading - tail) / (alpha * alpha * R::select(some, shape, R::lit(1.0)));
    [size * shape, R::select(some, along, none)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Dual;

    #[test]
    fn forces_are_exact_derivatives() {
        for x in [1e-9, 0.01, 0.5, 0.99, 1.01, 3.0, 12.0, 40.0] {
            let (energy, force) = smooth(Dual::variable(x));
            let error = force.value + 2.0 * energy.slope;
            assert!(error.abs() < 1e-12 * force.value, "{x}: {error:e}");
        }
        let [left, right] = [1.0 - 1e-15, 1.0].map(smooth::<f64>);
        assert!((left.0 - right.0).abs() < 1e-14 && (left.1 - right.1).abs() < 1e-14, "{left:?} {right:?}");
        assert!((smooth(60.0).0 * 60f64.powi(3) - 1.0).abs() < 1e-15);
    }

    /// The weight of the longest wave is the integral of the smooth function in space.
    #[test]
    fn the_longest_wave_is_an_integral() {
        let (alpha, step) = (0.8, 1e-3);
        let shell = |r: f64| 4.0 * PI * r * r * smooth(alpha * alpha * r * r).0 * alpha.powi(6);
        let inside: f64 = (0..40_000).map(|k| shell((f64::from(k) + 0.5) * step) * step).sum();
        let beyond = 4.0 * PI / (3.0 * 40f64.powi(3));
        let found = weight(0.0, alpha, 1.0)[0];
        assert!((found / -(inside + beyond) - 1.0).abs() < 1e-6, "{found} {inside}");
    }
}
