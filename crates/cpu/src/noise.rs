//! The noise on atoms, many at a time.

use crate::simd::{Kernel, Lanes, Simd};
use jostle_core::random::{Purpose, Stream, uniform};
use jostle_core::{NoiseKey, Real};
use std::f64::consts::TAU;

/// Number of atoms at a time.
pub const BATCH: usize = 16;

/// Three normal deviates for each of some atoms, by axis: the deviates of [`Stream::normal3`] for the purpose
/// Langevin, but for rounding.
pub struct Normals<'a> {
    /// The atoms.
    pub id: &'a [u32; BATCH],
    /// Seed and step.
    pub noise: NoiseKey,
    /// Deviates, the result.
    pub out: &'a mut [[f64; BATCH]; 3],
}

impl Kernel for Normals<'_> {
    type Output = ();

    #[inline(always)]
    fn run<I: Simd>(self) {
        let Normals { id, noise: NoiseKey { seed, step }, out } = self;
        let mut random = [[0.0; BATCH]; 4];
        for block in 0..2 {
            let words = Stream::words(seed, Purpose::Langevin, id, step, block as u32);
            for lane in 0..BATCH {
                random[2 * block][lane] = uniform(words[0][lane], words[1][lane]);
                random[2 * block + 1][lane] = uniform(words[2][lane], words[3][lane]);
            }
        }
        for lane in (0..BATCH).step_by(I::F64::WIDTH) {
            let (a, b) = (I::F64::load(&random[0][lane..]), I::F64::load(&random[1][lane..]));
            let (c, d) = (I::F64::load(&random[2][lane..]), I::F64::load(&random[3][lane..]));
            let (first, angle) = (radius(a), b * I::F64::lit(TAU));
            (first * angle.cos()).store(&mut out[0][lane..]);
            (first * angle.sin()).store(&mut out[1][lane..]);
            (radius(c) * (d * I::F64::lit(TAU)).cos()).store(&mut out[2][lane..]);
        }
    }
}

/// Two normal deviates as coordinates of a point in the plane (Box and Muller 1958).
#[inline(always)]
fn radius<L: Lanes>(uniform: L) -> L {
    (uniform.ln() * L::lit(-2.0)).sqrt()
}
