//! A point charge and one that is spread over a sphere: the smooth part of Coulomb's forces in particle-mesh Ewald.
//!
//! The potential of the spread charge is that of a point outside the sphere, whose radius is the cut-off: direct
//! interactions end there by themselves, with an energy of 0 and a force that is 2 beta exp(-beta) of that of points.
//! That of a Gaussian charge never ends, and is cut where its force is some ten times as large, for the same mesh. The
//! profile is Kaiser and Bessel's window (J. F. Kaiser and R. W. Schafer, IEEE Trans. Acoust. Speech Signal Process. 28
//! (1980) 105), of which nearly all is within a cut-off in reciprocal space, too. Its limit in this respect are
//! prolate spheroidal wave functions (D. Slepian and H. O. Pollak, Bell Syst. Tech. J. 40 (1961) 43; for Ewald's sum:
//! "Accelerating fast Ewald summation with prolates for molecular dynamics simulations", arXiv:2505.09727; E. Boström,
//! A.-K. Tornberg and L. af Klinteberg, arXiv:2602.16591), which have no closed form.
//!
//! In units of the radius, with C = sinh(beta) / beta:
//! ```text
//! potential at r     1/r 1/C integral from 0 to r of I0(beta (1 - x^2)^1/2) dx
//! spectrum at k      sinh(y) / (C y), y^2 = beta^2 - k^2; what is beyond k = beta is left out
//! ```

use jostle_core::Real;
use std::f64::consts::PI;

/// Shape of the spread charge: the wave number beyond which its spectrum ends, times its radius.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KaiserBessel {
    /// Shape.
    pub beta: f64,
    /// Radius, at which direct interactions end.
    pub radius: f64,
}

impl KaiserBessel {
    /// Largest radius in widths of the Gaussian for which single precision is exact enough.
    pub const WIDEST_SINGLE: f64 = 3.2;

    /// Spread charge whose long waves are those of a Gaussian of this inverse width.
    pub fn like_gaussian(alpha: f64, radius: f64) -> Self {
        KaiserBessel { beta: 2.0 * (alpha * radius).powi(2), radius }
    }

    /// Energy and force over distance of a point and the spread charge within its radius, from the squared distance.
    ///
    /// All terms are positive: with b(k) = (beta/2)^2k / k!^2, u = r^2 and v = 1 - u t^2 integrated over t from 0 to 1,
    /// the energy is the sum of b(k) J(k), J(k) = integral of v^k, and the force that of 2 k b(k) M(k - 1), M(k) =
    /// integral of t^2 v^k.
    pub fn within<R: Real>(&self, r2: R) -> (R, R) {
        let u = r2 * R::lit(self.radius.powi(-2));
        let left = R::lit(1.0) - u;
        let (mut j, mut m, mut power, mut b) = (R::lit(1.0), R::lit(1.0 / 3.0), R::lit(1.0), 1.0);
        let (mut energy, mut force) = (j, R::lit(0.0));
        for k in 1..=self.n_terms() {
            let n = k as f64;
            b *= (0.5 * self.beta / n).powi(2);
            force = force + R::lit(2.0 * n * b) * m;
            power = power * left;
            j = (power + R::lit(2.0 * n) * j) * R::lit(1.0 / (2.0 * n + 1.0));
            m = (power + R::lit(2.0 * n) * m) * R::lit(1.0 / (2.0 * n + 3.0));
            energy = energy + R::lit(b) * j;
        }
        let whole = self.beta / self.beta.sinh();
        (R::lit(whole / self.radius) * energy, R::lit(whole * self.radius.powi(-3)) * force)
    }

    /// Energy and force over distance at any distance, from a formula for those within the radius.
    pub fn anywhere<R: Real>(&self, r2: R, within: impl Fn(R) -> (R, R)) -> (R, R) {
        let end = R::lit(self.radius * self.radius);
        let is_near = r2.lt(end);
        let near = within(R::select(is_near, r2, end));
        // Two points.
        let far = (r2.rsqrt(), r2.inverse_powers()[1]);
        (R::select(is_near, near.0, far.0), R::select(is_near, near.1, far.1))
    }

    /// Number of terms of the series beyond which they are no more than the last bit.
    fn n_terms(&self) -> usize {
        (0.5 * self.beta + 6.0 * self.beta.sqrt() + 12.0) as usize
    }

    /// Weight of a wave of squared length k2, without a mesh, for squared amplitudes of charges; and the part of its
    /// virial along it, relative to its energy.
    pub fn weight<R: Real>(&self, k2: R, volume: R) -> [R; 2] {
        let (beta, radius2) = (self.beta, self.radius * self.radius);
        let square = R::lit(radius2) * k2;
        let rest = R::lit(beta * beta) - square;
        let has_weight = R::lit(0.0).lt(rest);
        // Near the end of the spectrum the functions below have their limits, to the digits of single precision.
        let y2 = R::select(R::lit(1e-4).lt(rest), rest, R::lit(1e-4));
        let y = y2.sqrt();
        // Exponential functions that do not overflow: exp(-2 y), and exp(y - beta), whose difference would lose digits.
        let twice = (R::lit(-2.0) * y).exp();
        let once = (-square / (y + R::lit(beta))).exp();
        let spectrum = R::lit(beta / -(-2.0 * beta).exp_m1()) * once * (R::lit(1.0) - twice) / y;
        let cotangent = (R::lit(1.0) + twice) / (R::lit(1.0) - twice);
        let inverse = k2.recip();
        let fall = R::lit(radius2) * (y * cotangent - R::lit(1.0)) / y2;
        let weight = R::lit(4.0 * PI) / volume * spectrum * inverse;
        [R::select(has_weight, weight, R::lit(0.0)), R::lit(2.0) * inverse + fall]
    }

    /// Integral of the square of the spectrum beyond its end, which is left out, over wave numbers in units of the inverse
    /// radius: (beta / sinh(beta))^2 (ln(4 beta) + Euler's constant) / (2 beta), to a thousandth.
    pub fn lost(&self) -> f64 {
        const EULER: f64 = 0.577_215_664_901_532_9;
        let size = self.beta / self.beta.sinh();
        size * size * ((4.0 * self.beta).ln() + EULER) / (2.0 * self.beta)
    }

    /// Limit, for long waves in a unit volume, of the weight less that of a point charge: minus the integral over space
    /// of the direct potential.
    pub fn even(&self) -> f64 {
        let beta = self.beta;
        -2.0 * PI * self.radius * self.radius * (beta / beta.tanh() - 1.0) / (beta * beta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Dual;

    const SHAPES: [f64; 5] = [3.0, 8.0, 12.6, 18.0, 25.0];

    fn charge(beta: f64) -> KaiserBessel {
        KaiserBessel { beta, radius: 1.0 }
    }

    /// I0 by its integral over angles, whose sum over equal steps is as good as exact.
    fn bessel(x: f64) -> f64 {
        (0..64).map(|k| (x * (PI * (f64::from(k) + 0.5) / 64.0).cos()).exp()).sum::<f64>() / 64.0
    }

    /// Integral from 0 to `end` by Gauss and Legendre's rule of two points.
    fn integral(end: f64, f: impl Fn(f64) -> f64) -> f64 {
        let (n, apart) = (2000, 0.5 / 3f64.sqrt());
        let step = end / f64::from(n);
        let part = |k| [0.5 - apart, 0.5 + apart].map(|x| f((f64::from(k) + x) * step));
        (0..n).map(part).map(|[a, b]| 0.5 * step * (a + b)).sum()
    }

    fn window(beta: f64) -> impl Fn(f64) -> f64 {
        move |x| bessel(beta * (1.0 - x * x).max(0.0).sqrt())
    }

    #[test]
    fn potentials_are_integrals_of_the_window() {
        for beta in SHAPES {
            let whole = integral(1.0, window(beta));
            assert!((whole / (beta.sinh() / beta) - 1.0).abs() < 1e-10, "{beta}");
            for r in [0.1, 0.35, 0.7, 0.99] {
                let (energy, force) = charge(beta).within(r * r);
                let expected = integral(r, window(beta)) / (whole * r);
                assert!((energy / expected - 1.0).abs() < 1e-10, "{beta} {r}: {energy} {expected}");
                let expected = (expected - window(beta)(r) / whole) / (r * r);
                assert!((force / expected - 1.0).abs() < 1e-8, "{beta} {r}: {force} {expected}");
            }
        }
    }

    /// Amplitude of a wave of the window, and the part of it that there is in the weight.
    #[test]
    fn weights_are_transforms_of_the_window() {
        for beta in SHAPES {
            let whole = integral(1.0, window(beta));
            for part in [1e-3, 0.2, 0.6, 0.9, 0.999] {
                let k: f64 = part * beta;
                let expected = integral(1.0, |x| window(beta)(x) * (k * x).cos()) / whole;
                let [weight, _] = charge(beta).weight(k * k, 4.0 * PI);
                let error = weight * k * k - expected;
                assert!(error.abs() < 1e-12 + 1e-5 * expected, "{beta} {k}: {error:e} of {expected:e}");
            }
            assert_eq!(charge(beta).weight(beta * beta, 1.0)[0], 0.0);
        }
    }

    #[test]
    fn forces_are_exact_derivatives() {
        for beta in SHAPES {
            for r2 in [0.0, 1e-12, 0.01, 0.3, 0.99] {
                let (energy, force) = charge(beta).within(Dual::variable(r2));
                assert!((force.value + 2.0 * energy.slope).abs() < 1e-13 * force.value, "{beta} {r2}");
            }
        }
    }

    /// A direct interaction ends with an energy of 0, and next to no force: less by far than that of a Gaussian with
    /// the same long waves.
    #[test]
    fn direct_interactions_end_at_the_radius() {
        for beta in SHAPES {
            let (energy, force) = charge(beta).within(1.0);
            assert!((energy - 1.0).abs() < 1e-14, "{beta}: {energy}");
            let rest = beta / beta.sinh();
            assert!((1.0 - force - rest).abs() < 1e-13, "{beta}: {force}");
            let gaussian = super::super::gaussian::of_width((0.5 * beta).sqrt(), 1.0, super::super::gaussian);
            assert!(beta < 8.0 || 1.0 - gaussian.1 > 8.0 * rest);
            let anywhere = |r2: f64| charge(beta).anywhere(r2, |r2| charge(beta).within(r2));
            assert_eq!(anywhere(0.3), charge(beta).within(0.3));
            let (energy, force) = anywhere(1.21);
            assert!((energy - 1.0 / 1.1).abs() < 1e-15 && (force - 1.1f64.powi(-3)).abs() < 1e-15);
        }
    }

    /// Long waves have the weights of points, less those of a charge of this extent.
    #[test]
    fn charges_spread_evenly_have_the_limit_of_long_waves() {
        for beta in SHAPES {
            let (k2, sphere) = (1e-4, charge(beta));
            let found = (sphere.weight(k2, 1.0)[0] - 4.0 * PI / k2).abs();
            assert!((found / sphere.even().abs() - 1.0).abs() < 1e-4, "{beta}");
            // The integral of the potential that direct interactions have, over their sphere.
            let direct = |r: f64| 4.0 * PI * r * r * (1.0 / r - sphere.within(r * r).0);
            assert!((integral(1.0, direct) / -sphere.even() - 1.0).abs() < 1e-6, "{beta}");
        }
    }
}
