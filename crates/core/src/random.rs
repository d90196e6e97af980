//! Random numbers that depend on their purpose only, never on the order in which they are drawn.
//!
//! Philox4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3",
//! SC'11): a keyed bijection of a counter. Noise for an atom is a function of the seed, the atom's
//! id and the step, so it is the same on every device and with any number of threads.

use crate::{Vec3, Vector};

/// Four random words for a counter under a key.
#[inline(always)]
pub fn philox(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    philox_of_many(counter.map(|word| [word]), key).map(|[word]| word)
}

/// Random words for several counters: all first words, all second ones, and so on.
#[inline(always)]
pub fn philox_of_many<const N: usize>(counters: [[u32; N]; 4], key: [u32; 2]) -> [[u32; N]; 4] {
    const M: [u64; 2] = [0xD251_1F53, 0xCD9E_8D57];
    const W: [u32; 2] = [0x9E37_79B9, 0xBB67_AE85];
    let (mut c, mut k) = (counters, key);
    for _ in 0..10 {
        // A loop that the compiler turns into registers full of counters.
        for n in 0..N {
            let (first, second) = (M[0] * u64::from(c[0][n]), M[1] * u64::from(c[2][n]));
            c[0][n] = (second >> 32) as u32 ^ c[1][n] ^ k[0];
            c[1][n] = second as u32;
            c[2][n] = (first >> 32) as u32 ^ c[3][n] ^ k[1];
            c[3][n] = first as u32;
        }
        k = [k[0].wrapping_add(W[0]), k[1].wrapping_add(W[1])];
    }
    c
}

/// Uniform in (0, 1), with 53 random bits of two words.
#[inline(always)]
pub fn uniform(high: u32, low: u32) -> f64 {
    let bits = u64::from(high) << 32 | u64::from(low);
    ((bits >> 11) as f64 + 0.5) * (1.0 / (1u64 << 53) as f64)
}

/// Purpose of a random number: streams never overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Purpose {
    /// Position at which an atom is placed.
    Placement = 1,
    /// Initial velocity.
    Velocity = 2,
    /// Noise of a Langevin thermostat.
    Langevin = 3,
    /// Numbers of tests, which no run shares.
    Test = 4,
    /// Species of an atom.
    Composition = 5,
    /// Noise between two atoms.
    Pair = 6,
    /// Volume of the box.
    Barostat = 7,
    /// Noise on the particle of an extended variable.
    Bias = 8,
    /// Decision of replicas about an exchange.
    Exchange = 9,
    /// Noise of a thermostat that acts on all atoms at once. Of the number 4 it had once, seed 1, the default, has 300,000
    /// deviates with a mean of -4.1 standard errors.
    Thermostat = 10,
}

/// A stream of random numbers: all those for one subject (an atom, a step) and purpose.
#[derive(Debug, Clone)]
pub struct Stream {
    key: [u32; 2],
    counter: [u32; 4],
    buffer: [u32; 4],
    used: usize,
}

impl Stream {
    /// The stream for a seed, a purpose and a subject of two numbers, e.g. an atom and a step
    /// (the step's upper 24 bits share a word with the purpose).
    pub fn new(seed: u64, purpose: Purpose, subject: u32, step: u64) -> Self {
        let upper = ((step >> 32) as u32) << 8 | purpose as u32;
        Stream {
            key: [seed as u32, (seed >> 32) as u32],
            counter: [0, subject, step as u32, upper],
            buffer: [0; 4],
            used: 4,
        }
    }

    /// The four words of a block, counted from 0, of the streams of some subjects: all first words, all
    /// second ones, and so on.
    #[inline(always)]
    pub fn words<const N: usize>(
        seed: u64,
        purpose: Purpose,
        subjects: &[u32; N],
        step: u64,
        block: u32,
    ) -> [[u32; N]; 4] {
        let upper = ((step >> 32) as u32) << 8 | purpose as u32;
        let counters = [[block; N], *subjects, [step as u32; N], [upper; N]];
        philox_of_many(counters, [seed as u32, (seed >> 32) as u32])
    }

    /// 32 random bits.
    pub fn word(&mut self) -> u32 {
        if self.used == 4 {
            self.buffer = philox(self.counter, self.key);
            self.counter[0] = self.counter[0].wrapping_add(1);
            self.used = 0;
        }
        self.used += 1;
        self.buffer[self.used - 1]
    }

    /// Uniform in (0, 1), with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        uniform(self.word(), self.word())
    }

    /// A whole number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((self.uniform() * n as f64) as usize).min(n.saturating_sub(1))
    }

    /// Normal deviate with mean 0 and variance 1 (Box and Muller, 1958).
    pub fn normal(&mut self) -> f64 {
        self.normal_pair()[0]
    }

    /// Two independent normal deviates.
    pub fn normal_pair(&mut self) -> [f64; 2] {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        [radius * cos, radius * sin]
    }

    /// Three independent normal deviates.
    pub fn normal3(&mut self) -> Vec3 {
        let [a, b] = self.normal_pair();
        Vector([a, b, self.normal()])
    }

    /// A direction, uniform on the unit sphere.
    pub fn direction(&mut self) -> Vec3 {
        let z = 2.0 * self.uniform() - 1.0;
        let (sin, cos) = (std::f64::consts::TAU * self.uniform()).sin_cos();
        let rho = (1.0 - z * z).sqrt();
        Vector([rho * cos, rho * sin, z])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers published with Random123 (`kat_vectors`, philox4x32 10 rounds).
    #[test]
    fn philox_known_answers() {
        assert_eq!(philox([0; 4], [0; 2]), [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]);
        assert_eq!(philox([u32::MAX; 4], [u32::MAX; 2]), [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]);
    }

    #[test]
    fn moments_are_right() {
        let n = 200_000;
        let mut stream = Stream::new(7, Purpose::Velocity, 0, 0);
        let draws: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let moment = |k: i32| draws.iter().map(|x| x.powi(k)).sum::<f64>() / f64::from(n);
        // Standard errors of the moments of n normal deviates: sqrt(1, 2, 15, 96) / sqrt(n).
        let scale = 4.0 / f64::from(n).sqrt();
        assert!(moment(1).abs() < scale);
        assert!((moment(2) - 1.0).abs() < scale * 2f64.sqrt());
        assert!(moment(3).abs() < scale * 15f64.sqrt());
        assert!((moment(4) - 3.0).abs() < scale * 96f64.sqrt());
    }
}
