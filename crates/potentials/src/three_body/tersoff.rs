//! J. Tersoff, Phys. Rev. B 37 (1988) 6991; 38 (1988) 9902; for compounds 39 (1989) 5566. With gamma and m = 1 the form
//! of M. Müller, P. Erhart and K. Albe.

use super::{CenterCoefficients, Neighbor, ThreeBody, ThreeBodyFunction, ThreeBodyKind, add_angle};
use jostle_core::{Real, Vector};
use std::f64::consts::FRAC_PI_2;

/// E_i = 1/2 sum_j f(r_ij) [A exp(-lambda_1 r_ij) - b_ij B exp(-lambda_2 r_ij)] with
/// b = (1 + (beta zeta)^n)^(-1/2n), zeta_ij = sum_k f(r_ik) g(theta_jik) exp((lambda_3 (r_ij - r_ik))^m) and
/// g = gamma (1 + c^2/d^2 - c^2/(d^2 + (cos theta - cos theta_0)^2)). The cut-off f falls from 1 to 0 between R - D and
/// R + D; where `TRIPLET_CUTOFFS`, that of r_ik depends on j as well.
#[derive(Debug, Clone, Copy)]
pub struct Tersoff<const TRIPLET_CUTOFFS: bool>;

/// The parameters of a centre and two neighbours, as files of LAMMPS have them. Those of pairs are in the entries
/// whose second and third species are the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TersoffEntry {
    /// Exponent m of the difference of distances.
    pub m: DistancePower,
    /// Strength of angles.
    pub gamma: f64,
    /// Inverse length of the difference of distances.
    pub lambda3: f64,
    /// Strength of the preference for an angle.
    pub c: f64,
    /// Sharpness of the preference for an angle.
    pub d: f64,
    /// Cosine of the angle that is preferred.
    pub cosine: f64,
    /// Exponent of the bond order.
    pub n: f64,
    /// Strength of the bond order.
    pub beta: f64,
    /// Inverse length of attraction.
    pub lambda2: f64,
    /// Energy of attraction.
    pub attraction: f64,
    /// Middle of the cut-off.
    pub middle: f64,
    /// Half the width of the cut-off.
    pub half_width: f64,
    /// Inverse length of repulsion.
    pub lambda1: f64,
    /// Energy of repulsion.
    pub repulsion: f64,
}

/// The exponent m of a difference of distances.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DistancePower {
    /// m = 1
    One,
    /// m = 3
    Three,
}

impl TersoffEntry {
    /// Beginning and end of the cut-off, and the angle of its cosine by distance.
    fn cutoff(&self) -> [f64; 3] {
        let (middle, half) = (self.middle, self.half_width);
        [middle - half, middle + half, FRAC_PI_2 / half]
    }
}

/// Bond orders of atoms without a third one: the logarithm must be of a number.
const LEAST: f64 = 1e-30;

impl ThreeBody {
    /// Tersoff's force between species: `entries` by centre and two neighbours.
    pub fn tersoff(n_species: usize, entries: &[TersoffEntry]) -> ThreeBody {
        let entry = |a: usize, b: usize, c: usize| &entries[(a * n_species + b) * n_species + c];
        let species = || 0..n_species;
        let (mut cutoffs, mut pairs, mut triplets, mut triplet_cutoffs) =
            (Vec::new(), Vec::new(), Vec::new(), false);
        for a in species() {
            for b in species() {
                let e = entry(a, b, b);
                cutoffs.push(species().map(|other| entry(a, other, b).cutoff()[1]).fold(0.0, f64::max));
                pairs.extend([0.5 * e.repulsion, e.lambda1, 0.5 * e.attraction, e.lambda2]);
                pairs.extend([e.beta, e.n, 0.5 / e.n]);
                pairs.extend(e.cutoff());
                pairs.extend([0.0; 2]);
                for c in species() {
                    let t = entry(a, b, c);
                    let (c2, d2) = (t.c * t.c, t.d * t.d);
                    triplets.extend([t.gamma, t.gamma * c2 / d2, d2, t.cosine]);
                    triplets.extend(match t.m {
                        DistancePower::One => [t.lambda3, 0.0],
                        DistancePower::Three => [0.0, t.lambda3.powi(3)],
                    });
                    triplets.extend(t.cutoff());
                    triplets.extend([0.0; 3]);
                    triplet_cutoffs |= t.cutoff() != entry(a, c, c).cutoff();
                }
            }
        }
        let beyond = cutoffs.iter().copied().fold(0.0, f64::max);
        let kind = ThreeBodyKind::Tersoff;
        ThreeBody { kind, n_species, cutoffs, beyond, pairs, triplets, triplet_cutoffs }
            .with_mutual_neighbors()
    }
}

/// The cut-off f and its derivative. c = [R - D, R + D, pi/(2 D)]
#[inline(always)]
pub fn cutoff<R: Real>(distance: R, c: [R; 3]) -> [R; 2] {
    let [begin, end, per_length] = c;
    let (zero, one, half) = (R::lit(0.0), R::lit(1.0), R::lit(0.5));
    let angle = (distance - begin) * per_length;
    let falling = [half.mul_add(angle.cos(), half), -(half * per_length * angle.sin())];
    let falling =
        [R::select(distance.lt(end), falling[0], zero), R::select(distance.lt(end), falling[1], zero)];
    [R::select(distance.lt(begin), one, falling[0]), R::select(distance.lt(begin), zero, falling[1])]
}

/// Contribution of an atom k to zeta_ij, and its derivatives by r_ij, r_ik and the cosine, from r_ij - r_ik and the
/// cut-off of r_ik with its derivative. c = [gamma, gamma c^2/d^2, d^2, cos theta_0, lambda_3 or 0,
/// lambda_3^3 or 0]
#[inline(always)]
pub fn zeta<R: Real>(difference: R, cutoff: [R; 2], cosine: R, c: [R; 6]) -> [R; 4] {
    let [least, strength, sharpness, preferred, linear, cubic] = c;
    let off = cosine - preferred;
    // Large terms of g, 1 + c^2/d^2 and c^2/(d^2 + off^2), nearly cancel; their difference has none.
    let width = off.mul_add(off, sharpness).recip();
    let slope = strength * off * width;
    let angle = slope.mul_add(off, least);
    let by_cosine = R::lit(2.0) * slope * sharpness * width;
    let square = cubic * difference * difference;
    let growth = ((square + linear) * difference).exp();
    let by_difference = R::lit(3.0).mul_add(square, linear);
    let value = cutoff[0] * angle * growth;
    let by_j = by_difference * value;
    [value, by_j, cutoff[1] * angle * growth - by_j, cutoff[0] * growth * by_cosine]
}

/// Half the energy of a bond and its derivatives by the distance, at constant zeta, and by zeta.
///
/// c = [A/2, lambda_1, B/2, lambda_2, beta, n, 1/2n]
#[inline(always)]
pub fn bond<R: Real>(distance: R, cutoff: [R; 2], zeta: R, c: [R; 7]) -> [R; 3] {
    let [repulsion, lambda1, attraction, lambda2, beta, n, half_inverse] = c;
    let (zero, one, least) = (R::lit(0.0), R::lit(1.0), R::lit(LEAST));
    let scaled = beta * zeta;
    let scaled = R::select(least.lt(scaled), scaled, least);
    // ln(1 + x) and x/(1 + x) of x = (beta zeta)^n, by the smaller one of x and 1/x, which has no overflow.
    let power = n * scaled.ln();
    let small = R::select(power.lt(zero), power, -power).exp();
    let whole = one + small;
    let logarithm = whole.ln() + R::select(power.lt(zero), zero, power);
    let fraction = R::select(power.lt(zero), small, one) / whole;
    let order = (-(logarithm * half_inverse)).exp();
    let repulsion = repulsion * (-(lambda1 * distance)).exp();
    let attraction = attraction * (-(lambda2 * distance)).exp();
    let depth = repulsion - order * attraction;
    let slope = order * attraction * lambda2 - repulsion * lambda1;
    let by_zeta = R::lit(0.5) * cutoff[0] * attraction * order * fraction * beta / scaled;
    [cutoff[0] * depth, cutoff[1].mul_add(depth, cutoff[0] * slope), by_zeta]
}

impl<const TRIPLET_CUTOFFS: bool> ThreeBodyFunction for Tersoff<TRIPLET_CUTOFFS> {
    const N_PAIR: usize = 12;
    const N_TRIPLET: usize = 12;

    #[inline(always)]
    fn evaluate<R: Real>(neighbors: &mut [Neighbor<R>], coefficients: &impl CenterCoefficients<R>) -> R {
        let zero = R::lit(0.0);
        for (j, neighbor) in neighbors.iter_mut().enumerate() {
            let c = coefficients.pair::<12>(j);
            neighbor.shared = cutoff(neighbor.distance, [c[7], c[8], c[9]]);
            neighbor.gradient = Vector([zero; 3]);
        }
        let mut total = zero;
        for j in 0..neighbors.len() {
            let one = neighbors[j];
            let mut sum = zero;
            for (k, other) in neighbors.iter_mut().enumerate() {
                if k == j {
                    continue;
                }
                let (c, cutoff) = if TRIPLET_CUTOFFS {
                    let c = coefficients.triplet::<12>(j, k);
                    ([c[0], c[1], c[2], c[3], c[4], c[5]], cutoff(other.distance, [c[6], c[7], c[8]]))
                } else {
                    let c = coefficients.triplet::<8>(j, k);
                    ([c[0], c[1], c[2], c[3], c[4], c[5]], other.shared)
                };
                let cosine = one.direction.dot(other.direction);
                other.terms = zeta(one.distance - other.distance, cutoff, cosine, c);
                sum = sum + other.terms[0];
            }
            let [a, b, c, d, e, f, g, ..] = coefficients.pair::<12>(j);
            let [energy, slope, by_zeta] = bond(one.distance, one.shared, sum, [a, b, c, d, e, f, g]);
            total = total + energy;
            neighbors[j].gradient = neighbors[j].gradient.along(slope, one.direction);
            for k in 0..neighbors.len() {
                if k == j {
                    continue;
                }
                let other = &neighbors[k];
                let cosine = one.direction.dot(other.direction);
                let [_, by_j, by_k, by_cosine] = other.terms;
                add_angle(neighbors, [j, k], cosine, [by_zeta * by_j, by_zeta * by_k, by_zeta * by_cosine]);
            }
        }
        total
    }
}
