//! Friction and noise between pairs of atoms (`kernels/dissipative.cu`).

use crate::codegen;
use crate::driver::{Buffer, Device, Kernel, Launch, Word};
use crate::kernels::{self, ATOM_THREADS, Build};
use crate::sums::Summation;
use crate::world::World;
use jostle_core::bath::{Dissipative, pair_impulse};
use jostle_core::{NoiseKey, Precision, Result};

/// What kernels are told: as in `dissipative.cu`, field by field.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Dissipation {
    cutoff: f64,
    friction: f64,
    noise: f64,
    seed: u64,
    step: u64,
}

// SAFETY: numbers only, and no padding between them.
unsafe impl Word for Dissipation {}

/// The kernel, and velocities half-way.
pub struct PairBath {
    kernel: Kernel,
    halfway: Buffer<f64>,
}

/// The kernel's source.
pub fn build(precision: Precision, sums: Summation) -> Build {
    let formula =
        codegen::scalar_function("pair_impulse", 5, |x| vec![pair_impulse(x[0], x[1], x[2], x[3], x[4])]);
    let bins = [include_str!("../kernels/sort.cu"), include_str!("../kernels/search.cuh")];
    let physics = [&formula, bins[0], bins[1]].join("\n");
    kernels::beside(&physics, include_str!("../kernels/dissipative.cu"), precision, sums)
}

impl PairBath {
    /// For `n` atoms.
    ///
    /// # Errors
    /// If there is no compiler for the device, or not enough memory.
    pub fn new(device: &Device, precision: Precision, sums: Summation, n: usize) -> Result<Self> {
        let build = build(precision, sums);
        let module = device.compile("dissipative.cu", &build.source, &build.options)?;
        Ok(PairBath { kernel: module.kernel("dissipate")?, halfway: device.alloc(3 * n)? })
    }

    /// One step: half-way first, then all the way with the friction of the velocities half-way.
    pub fn launches(&self, world: &World, bath: &Dissipative, key: NoiseKey) -> [Launch; 2] {
        let blocks = (world.n as u32).div_ceil(ATOM_THREADS).max(1);
        let Dissipative { cutoff, friction, noise } = *bath;
        let said = Dissipation { cutoff, friction, noise, seed: key.seed, step: key.step };
        let halfway = self.halfway.address();
        [(0, halfway, 0.5), (halfway, 0, 1.0)].map(|(from, to, part)| {
            let launch = Launch::new(&self.kernel, blocks, ATOM_THREADS).with_value(*world);
            launch.with_value(said).with_value(from).with_value(to).with_value(part)
        })
    }
}
