//! Reciprocal space of a periodic box: the part of sums beyond the cut-off.

use crate::spectrum::Spectrum;
use jostle_core::{Real, SimBox, SymTensor, Vec3, Vector};
use std::f64::consts::PI;

/// A wave of a box, and its opposite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wave {
    /// Multiples of the reciprocal edges.
    pub numbers: [i32; 3],
    /// The wave vector.
    pub vector: Vec3,
    /// Twice the energy of an amplitude's square.
    pub weight: f64,
    /// The virial's part along the wave vector, relative to the energy.
    pub along: f64,
}

impl Wave {
    /// All waves of a box up to the largest wave number, but the one that is the same everywhere; of each
    /// and its opposite only one.
    pub fn all(simbox: &SimBox, spectrum: Spectrum, longest: f64) -> Vec<Wave> {
        let reciprocal = reciprocal(simbox);
        let most = Self::most(simbox, longest);
        let mut waves = Vec::new();
        for x in 0..=most[0] {
            for y in -most[1]..=most[1] {
                for z in -most[2]..=most[2] {
                    let numbers = [x, y, z];
                    let first = numbers.into_iter().find(|n| *n != 0).unwrap_or(0);
                    let vector = wave_vector(numbers.map(f64::from), reciprocal);
                    let k2 = vector.iter().map(|x| x * x).sum::<f64>();
                    if first <= 0 || k2 > longest * longest {
                        continue;
                    }
                    let [weight, along] = spectrum.weight(k2, simbox.volume());
                    waves.push(Wave { numbers, vector, weight: 2.0 * weight, along });
                }
            }
        }
        waves
    }

    /// The largest multiples that there are up to a wave number.
    pub fn most(simbox: &SimBox, longest: f64) -> [i32; 3] {
        let length = |v: Vec3| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        simbox.edges().map(|edge| (longest * length(edge) / (2.0 * PI)).floor() as i32)
    }

    /// Virial of the wave at this energy.
    pub fn virial(&self, energy: f64) -> SymTensor {
        virial(energy, self.along, self.vector)
    }
}

/// The gradients of the three fractional coordinates.
pub fn reciprocal(simbox: &SimBox) -> [Vec3; 3] {
    let ([lx, ly, lz], [xy, xz, yz]) = (simbox.lengths(), simbox.tilts());
    let x = Vector([1.0 / lx, -xy / (lx * ly), (xy * yz - xz * ly) / (lx * ly * lz)]);
    [x, Vector([0.0, 1.0 / ly, -yz / (ly * lz)]), Vector([0.0, 0.0, 1.0 / lz])]
}

/// The wave vector of some wave numbers, from the gradients of the fractional coordinates.
#[inline(always)]
pub fn wave_vector<R: Real>(numbers: [R; 3], reciprocal: [Vector<R>; 3]) -> Vector<R> {
    let [x, y, z] = numbers.map(|n| R::lit(2.0 * PI) * n);
    Vector::from_fn(|a| x * reciprocal[0][a] + y * reciprocal[1][a] + z * reciprocal[2][a])
}

/// The virial of a wave, (1 - `along` k k) times its energy: xx, yy, zz, xy, xz, yz.
#[inline(always)]
pub fn virial<R: Real>(energy: R, along: R, Vector([x, y, z]): Vector<R>) -> [R; 6] {
    let part = along * energy;
    let (x_part, y_part) = (part * x, part * y);
    let itself = [energy - x_part * x, energy - y_part * y, energy - part * z * z];
    [itself[0], itself[1], itself[2], -(x_part * y), -(x_part * z), -(y_part * z)]
}
