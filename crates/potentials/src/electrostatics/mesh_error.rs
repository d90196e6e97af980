//! The error of particle-mesh Ewald for charges in disorder, and the splitting that keeps it within a given
//! accuracy.
//!
//! The rule of [`Method::pme`] has the cut-off alone as its input and is for matter as dense as water, in which a
//! sphere of the cut-off's radius holds hundreds of charges. With fewer of them the force of a charge on itself, which
//! a mesh does not cancel, outweighs that of all others: it is larger by (alpha^3 / density)^1/2 and falls with a lower
//! power of the spacing, for splines of even order more slowly than for odd ones. Both are integrals over wave vectors
//! and their aliases (V. Ballenegger, J. J. Cerdà and C. Holm, J. Chem. Theory Comput. 8 (2012) 936; H. Wang, F. Dalton
//! and P. Zhang, J. Chem. Phys. 133 (2010) 034117), in units of alpha functions of alpha times the spacing.

use super::{Method, Splitting};
use crate::spectrum::Spectrum;
use jostle_core::System;
use std::f64::consts::PI;

/// The charges of a system, as far as the error of their forces depends on them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Composition {
    /// Charged atoms per volume.
    pub density: f64,
    /// The mean square of their charges.
    pub square: f64,
    /// The mean fourth power of their charges.
    pub fourth: f64,
}

/// The force that errors are relative to, in units of a pair of charges at the mean distance: the least force
/// on charges in disorder. Forces on ions at random that keep half or more of that distance are 2.4 to 3.9.
const FORCE: f64 = 1.9;

/// Ratio of the part of the others in the squared error of a mesh in liquids to that for uncorrelated
/// charges.
const SCREENED: f64 = 0.6;

/// The largest part of the error that may come from the cut-off.
const DIRECT: f64 = 0.5;

/// Largest alpha cutoff that is considered: beyond the digits of double precision.
const MOST_WIDTHS: f64 = 8.0;

impl Composition {
    /// Composition of a system in a volume; `None` where nothing is charged.
    pub fn new(system: &System, volume: f64) -> Option<Self> {
        // Sums in the order of ids do not depend on storage order.
        let charges = system.state.index_by_id().into_iter().map(|index| system.charge(index));
        let (mut n, mut squares, mut fourths) = (0.0, 0.0, 0.0);
        for q in charges.filter(|q| *q != 0.0) {
            n += 1.0;
            squares += q * q;
            fourths += q.powi(4);
        }
        (n > 0.0).then(|| Composition { density: n / volume, square: squares / n, fourth: fourths / n })
    }

    /// The force on these charges in disorder, in a medium with this inverse screening length.
    fn force(&self, kappa: f64) -> f64 {
        let distance = kappa / self.density.cbrt();
        FORCE * self.square * self.density.powf(2.0 / 3.0) * (1.0 + distance) * (-distance).exp()
    }

    /// Error of forces that end at a cut-off, in direct or in reciprocal space: of Gaussians in a medium with this inverse
    /// screening length by J. Kolafa and J. W. Perram, Mol. Simul. 9 (1992) 351, equation 18.
    fn cutoff_error(&self, cutoff: f64, splitting: Splitting, kappa: f64) -> f64 {
        let scale = 2.0 * self.square * (self.density / cutoff).sqrt();
        match splitting {
            Splitting::Gaussian { alpha } => {
                let (x, width) = (alpha * cutoff, 0.5 * kappa / alpha);
                scale * (-x * x - width * width).exp()
            }
            Splitting::KaiserBessel(charge) => scale * (2.0 * charge.lost()).sqrt(),
        }
    }

    /// The least alpha cutoff, from a known one on, that leaves no more than this error to the cut-off.
    fn range(&self, cutoff: f64, known: f64, most: f64, kappa: f64) -> f64 {
        let splitting = |range: f64| Splitting::on_mesh(range / cutoff, cutoff, kappa);
        let enough = |range: f64| self.cutoff_error(cutoff, splitting(range), kappa) <= most;
        if enough(known) {
            return known;
        }
        let (mut below, mut above) = (known, MOST_WIDTHS);
        while above > 1.000_001 * below {
            let middle = 0.5 * (below + above);
            if enough(middle) { above = middle } else { below = middle }
        }
        above
    }

    /// The error of forces that are found on a mesh.
    fn mesh_error(&self, spectrum: &Transverse, order: usize, spacing: f64) -> f64 {
        let [others, own] = spectrum.errors(order, spacing);
        // Errors of the three edges are independent.
        let others = SCREENED * self.square * self.square * self.density * others;
        (3.0 * (others + self.fourth * own)).sqrt()
    }
}

impl Method {
    /// Particle-mesh Ewald whose forces on such charges, in a medium with this inverse screening length (0:
    /// none), have this root-mean-square error, relative to that of forces where charges are in disorder.
    /// In dense matter it is [`Method::pme`].
    pub fn pme_of(composition: &Composition, cutoff: f64, accuracy: f64, order: usize, kappa: f64) -> Method {
        let dense = if kappa == 0.0 { Self::pme } else { Self::gaussian_pme };
        let dense = dense(cutoff, accuracy, order);
        let Method::Pme { alpha, spacing, .. } = dense else { return dense };
        let most = accuracy * composition.force(kappa);
        let wider = composition.range(cutoff, alpha * cutoff, DIRECT * most, kappa) / cutoff;
        let (alpha, spacing) = (wider, spacing * (alpha / wider));
        let splitting = Splitting::on_mesh(alpha, cutoff, kappa);
        let cut = composition.cutoff_error(cutoff, splitting, kappa);
        let spectrum = Transverse::new(Spectrum::of_charges(splitting, kappa));
        let fine = |spacing: f64| composition.mesh_error(&spectrum, order, spacing).hypot(cut) <= most;
        Method::Pme { alpha, order, spacing: largest(spacing, fine) }
    }
}

/// The largest spacing up to a known one that is fine enough, to a thousandth.
fn largest(spacing: f64, fine: impl Fn(f64) -> bool) -> f64 {
    if fine(spacing) {
        return spacing;
    }
    let (mut below, mut above) = (spacing / 64.0, spacing);
    while above > 1.001 * below {
        let middle = (below * above).sqrt();
        if fine(middle) { below = middle } else { above = middle }
    }
    below
}

/// Wave vectors by their component along an edge of the mesh, with what all others amount to.
struct Transverse {
    waves: Vec<TransverseWave>,
}

/// Integrals of the weight over the other two components, both signs of the one along the edge together.
struct TransverseWave {
    /// The component along the edge.
    along: f64,
    /// Integral of the weight.
    plain: f64,
    /// Integral of its square.
    square: f64,
    /// Integral of its square times that of the other two components.
    across: f64,
}

/// Points along each integral.
const POINTS: usize = 48;

/// Largest wave number that is integrated, relative to that of the mesh, at which splines of odd order
/// vanish.
const SHORTEST: f64 = 0.95;

/// Aliases of a wave on either side.
const ALIASES: i32 = 2;

impl Transverse {
    fn new(spectrum: Spectrum) -> Self {
        let step = spectrum.end() / POINTS as f64;
        let at = |k: usize| (k as f64 + 0.5) * step;
        let wave = |along: f64| {
            let mut wave = TransverseWave { along, plain: 0.0, square: 0.0, across: 0.0 };
            for k in (0..POINTS).map(at) {
                let [weight, _] = spectrum.weight(along * along + k * k, 1.0);
                let ring = 2.0 * step * 2.0 * PI * k * step / (2.0 * PI).powi(3);
                wave.plain += ring * weight;
                wave.square += ring * weight * weight;
                wave.across += ring * weight * weight * k * k;
            }
            wave
        };
        Transverse { waves: (0..POINTS).map(at).map(wave).collect() }
    }

    /// The squared errors that one edge of a mesh brings: that of the force between unit charges, integrated
    /// over their distance and averaged over their places on the mesh, and that of a charge on itself.
    fn errors(&self, order: usize, spacing: f64) -> [f64; 2] {
        // The wave number of the mesh, by which aliases differ.
        let mesh = 2.0 * PI / spacing;
        let (mut others, mut own) = (0.0, [0.0; 2]);
        for wave in self.waves.iter().take_while(|wave| wave.along < SHORTEST * 0.5 * mesh) {
            let parts = aliases(order, 0.5 * wave.along * spacing);
            for (m, a) in &parts {
                for (n, b) in &parts {
                    let exact = f64::from(u8::from((*m, *n) == (0, 0)));
                    let along = (wave.along + f64::from(*m) * mesh) * a * b - wave.along * exact;
                    others += along * along * wave.square + (a * b - exact).powi(2) * wave.across;
                    // The energy of a charge with itself has waves of the mesh, and of half their length.
                    if let difference @ 1..=2 = m - n {
                        own[difference as usize - 1] += f64::from(difference) * mesh * a * b * wave.plain;
                    }
                }
            }
        }
        [others, 0.5 * (own[0] * own[0] + own[1] * own[1])]
    }
}

/// The parts that a spline makes of a wave out of that and its aliases, by how many wave numbers of the mesh
/// they are away; z is half the wave's phase from one point to the next (Essmann et al. 1995, section II).
fn aliases(order: usize, z: f64) -> Vec<(i32, f64)> {
    let power = (-ALIASES..=ALIASES).map(|m| (m, (z / (z + PI * f64::from(m))).powi(order as i32)));
    let sum: f64 = power.clone().map(|(_, x)| x).sum();
    power.map(|(m, x)| (m, x / sum)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors on fine meshes have a limit in closed form.
    #[test]
    fn errors_have_their_limits() {
        let alpha = 1.7;
        let waves = Transverse::new(Spectrum::Charges { alpha, kappa: 0.0 });
        for (order, gamma, own_gamma) in [(4, 15.0 / 8.0, 3.0 / 4.0), (6, 945.0 / 32.0, 15.0 / 8.0)] {
            // Gamma(order - 1/2) and Gamma((order + 1) / 2) are these times the root of pi: of (4) 7/2 and 5/2.
            let root = PI.sqrt();
            let p = f64::from(order);
            for spacing in [0.01, 0.02] {
                let h = alpha * spacing;
                let power = (h / (2f64.sqrt() * PI)).powf(2.0 * p - 2.0);
                let others = alpha * 8.0 * 2f64.sqrt() / (2.0 * p + 1.0) * gamma * root * power;
                let own = alpha.powi(2) * 4.0 * 2f64.sqrt() / (PI * (p + 1.0)) * own_gamma * root;
                let own = own * (h / PI).powf(p - 1.0);
                let found = waves.errors(order as usize, spacing);
                assert!((found[0] / others - 1.0).abs() < 0.05, "{order} {spacing}: {found:?} {others}");
                assert!((found[1] / (own * own) - 1.0).abs() < 0.05, "{order} {spacing}: {found:?} {own}");
            }
        }
    }

    /// Splittings for matter as dense as water are those of [`Method::pme`]; a few charges within the cut-off
    /// need a finer mesh, the more so the fewer, and of even orders more than of odd ones.
    #[test]
    fn few_charges_need_finer_meshes() {
        let water = Composition { density: 0.1, square: 0.359, fourth: 0.194 };
        for (order, accuracy) in [(4, 1e-3), (5, 5e-4), (5, 1e-3), (5, 1e-4), (5, 1e-5), (6, 1e-5), (6, 1e-6)]
        {
            let dense = Method::pme(9.0, accuracy, order);
            assert_eq!(Method::pme_of(&water, 9.0, accuracy, order, 0.0), dense);
        }
        let relative = |cutoff: f64, order| {
            let ions = Composition { density: 1.0, square: 1.0, fourth: 1.0 };
            let spacing = |method| match method {
                Method::Pme { alpha, spacing, .. } => alpha * spacing,
                _ => f64::NAN,
            };
            let found = spacing(Method::pme_of(&ions, cutoff, 1e-4, order, 0.0));
            found / spacing(Method::pme(cutoff, 1e-4, order))
        };
        for order in Method::ORDERS {
            assert_eq!(relative(4.5, 5), 1.0);
            assert!(relative(1.7, order) < 0.95 && relative(0.8, order) < 0.85 * relative(1.7, order));
        }
        assert!(relative(1.7, 4) < relative(1.7, 5));
    }

    /// The error of the cut-off alone is the error asked for.
    #[test]
    fn widths_follow_from_the_error_of_the_cut_off() {
        let ions = Composition { density: 0.02, square: 2.0, fourth: 6.0 };
        for kappa in [0.0, 0.3, 2.0] {
            let (cutoff, most) = (1.3, 1e-5);
            let alpha = ions.range(cutoff, 1.0, most, kappa) / cutoff;
            let error = ions.cutoff_error(cutoff, Splitting::on_mesh(alpha, cutoff, kappa), kappa);
            assert!((error / most - 1.0).abs() < 1e-3, "{kappa}: {error:e}");
        }
        assert_eq!(ions.range(1.3, 1.0, 1e9, 0.0), 1.0);
    }
}
