//! F. H. Stillinger and T. A. Weber, Phys. Rev. B 31 (1985) 5262.

use super::{CenterCoefficients, Neighbor, ThreeBody, ThreeBodyFunction, ThreeBodyKind, add_angle};
use jostle_core::{Error, Real, Result};

/// E_i = 1/2 sum_j phi(r_ij) + sum_{j<k} lambda epsilon (cos theta_jik - cos theta_0)^2 s(r_ij) s(r_ik) with
/// phi(r) = A epsilon (B (sigma/r)^p - (sigma/r)^q) exp(sigma/(r - a sigma)), s(r) = exp(gamma sigma/(r - a sigma)).
#[derive(Debug, Clone, Copy)]
pub struct StillingerWeber;

/// The parameters of a centre and two neighbours, as files of LAMMPS have them. Those of pairs are in the entries
/// whose second and third species are the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StillingerWeberEntry {
    /// Energy.
    pub epsilon: f64,
    /// Length.
    pub sigma: f64,
    /// Cut-off in units of `sigma`.
    pub a: f64,
    /// Strength of angles.
    pub lambda: f64,
    /// Range of angles.
    pub gamma: f64,
    /// Cosine of the angle that is preferred.
    pub cosine: f64,
    /// Strength of bonds.
    pub strength: f64,
    /// Strength of repulsion.
    pub repulsion: f64,
    /// Exponent of repulsion.
    pub p: f64,
    /// Exponent of attraction.
    pub q: f64,
    /// Smallest value of exp(sigma/(r - a sigma)) that counts, which shortens the cut-off; 0: all count.
    pub tolerance: f64,
}

impl StillingerWeberEntry {
    /// The paper's silicon, in eV and angstrom.
    pub const SILICON: StillingerWeberEntry = StillingerWeberEntry {
        epsilon: 2.1683,
        sigma: 2.0951,
        a: 1.80,
        lambda: 21.0,
        gamma: 1.20,
        cosine: -1.0 / 3.0,
        strength: 7.049556277,
        repulsion: 0.6022245584,
        p: 4.0,
        q: 0.0,
        tolerance: 0.0,
    };

    /// Parameters in units in which those of energy and length are so much.
    pub fn scaled(self, energy: f64, length: f64) -> Self {
        StillingerWeberEntry { epsilon: self.epsilon * energy, sigma: self.sigma * length, ..self }
    }

    /// Cut-off of neighbours, as LAMMPS shortens it.
    fn cutoff(&self) -> f64 {
        let end = self.a * self.sigma;
        if self.tolerance == 0.0 {
            return end;
        }
        let range = self.gamma.min(1.0) * self.sigma;
        (end + range / self.tolerance.min(0.01).ln()).max(0.0)
    }
}

impl ThreeBody {
    /// Stillinger and Weber's force between species: `entries` by centre and two neighbours.
    ///
    /// # Errors
    /// If the entries of one angle differ: both are in the message as `name` has them.
    pub fn stillinger_weber(
        n_species: usize,
        entries: &[StillingerWeberEntry],
        name: impl Fn([usize; 3]) -> String,
    ) -> Result<ThreeBody> {
        let entry = |a: usize, b: usize, c: usize| &entries[(a * n_species + b) * n_species + c];
        let species = || 0..n_species;
        let (mut cutoffs, mut pairs, mut triplets, mut beyond) = (Vec::new(), Vec::new(), Vec::new(), 0f64);
        for a in species() {
            for b in species() {
                let e = entry(a, b, b);
                cutoffs.push(e.cutoff());
                beyond = beyond.max(e.a * e.sigma);
                let half = 0.5 * e.strength * e.epsilon;
                pairs.extend([half * e.repulsion * e.sigma.powf(e.p), half * e.sigma.powf(e.q), e.p, e.q]);
                pairs.extend([e.sigma, e.a * e.sigma, e.gamma * e.sigma, -(1e-6 * e.sigma).max(1e-12)]);
                for c in species() {
                    let (one, other) = (entry(a, b, c), entry(a, c, b));
                    let strength = |e: &StillingerWeberEntry| e.lambda * e.epsilon;
                    let differ = |x: f64, y: f64| (x - y).abs() > 1e-4 * x.abs().max(y.abs());
                    if differ(strength(one), strength(other)) || differ(one.cosine, other.cosine) {
                        let (one, other) = (name([a, b, c]), name([a, c, b]));
                        let message = format!(
                            "the entries \"{one}\" and \"{other}\" are of the same angle, but differ"
                        );
                        return Err(Error::input(message)
                            .hint("give both the same lambda times epsilon and the same cosine"));
                    }
                    let mean = 0.5 * (strength(one) + strength(other));
                    triplets.extend([mean, 0.5 * (one.cosine + other.cosine), 0.0, 0.0]);
                }
            }
        }
        let kind = ThreeBodyKind::StillingerWeber;
        let term = ThreeBody { kind, n_species, cutoffs, beyond, pairs, triplets, triplet_cutoffs: false };
        Ok(term.with_mutual_neighbors())
    }
}

impl StillingerWeber {
    /// Half the energy of a bond and its derivative; the range s of angles and its derivative.
    ///
    /// c = [A B epsilon sigma^p / 2, A epsilon sigma^q / 2, p, q, sigma, a sigma, gamma sigma, -(least distance from
    /// the cut-off)]
    #[inline(always)]
    pub fn bond<R: Real>(distance: R, inverse: R, c: [R; 8]) -> [R; 4] {
        let [repulsion, attraction, p, q, sigma, end, range, least] = c;
        let gap = distance - end;
        // At the cut-off all derivatives are zero, but their formulas are not finite.
        let gap = R::select(gap.lt(least), gap, least).recip();
        let by_gap = -(gap * gap);
        let zero = R::lit(0.0);
        let screen = R::select(distance.lt(end), (sigma * gap).exp(), zero);
        let range_of_angles = R::select(distance.lt(end), (range * gap).exp(), zero);
        let logarithm = distance.ln();
        let repulsion = repulsion * (-(p * logarithm)).exp();
        let attraction = attraction * (-(q * logarithm)).exp();
        let depth = repulsion - attraction;
        let slope = (q * attraction - p * repulsion) * inverse;
        [
            depth * screen,
            (depth * sigma).mul_add(by_gap, slope) * screen,
            range_of_angles,
            range * by_gap * range_of_angles,
        ]
    }

    /// Energy of an angle, and its derivatives by two distances and the cosine: from the ranges of both neighbours
    /// with their derivatives. c = [lambda epsilon, cos theta_0]
    #[inline(always)]
    pub fn angle<R: Real>(first: [R; 2], second: [R; 2], cosine: R, c: [R; 2]) -> [R; 4] {
        let off = cosine - c[1];
        let slope = c[0] * off;
        let depth = slope * off;
        let range = first[0] * second[0];
        [
            depth * range,
            depth * first[1] * second[0],
            depth * first[0] * second[1],
            R::lit(2.0) * slope * range,
        ]
    }
}

impl ThreeBodyFunction for StillingerWeber {
    const N_PAIR: usize = 8;
    const N_TRIPLET: usize = 4;

    #[inline(always)]
    fn evaluate<R: Real>(neighbors: &mut [Neighbor<R>], coefficients: &impl CenterCoefficients<R>) -> R {
        let mut total = R::lit(0.0);
        for (j, neighbor) in neighbors.iter_mut().enumerate() {
            let c = coefficients.pair::<8>(j);
            let [energy, slope, range, by_distance] = Self::bond(neighbor.distance, neighbor.inverse, c);
            total = total + energy;
            neighbor.gradient = neighbor.direction * slope;
            neighbor.shared = [range, by_distance];
        }
        for j in 0..neighbors.len() {
            for k in j + 1..neighbors.len() {
                let [strength, preferred, ..] = coefficients.triplet::<4>(j, k);
                let (one, other) = (&neighbors[j], &neighbors[k]);
                let cosine = one.direction.dot(other.direction);
                let [energy, by_j, by_k, by_cosine] =
                    Self::angle(one.shared, other.shared, cosine, [strength, preferred]);
                total = total + energy;
                add_angle(neighbors, [j, k], cosine, [by_j, by_k, by_cosine]);
            }
        }
        total
    }
}
