//! Fourier transforms of lines of numbers in either precision, by the libraries rustfft and realfft.
//!
//! A room of its own, because these libraries are generic: all their transforms are compiled wherever a precision is
//! chosen, which takes a minute. Nothing that is generic in the precision leaves this room but behind a pointer.

pub use realfft::RealToComplex;
pub use realfft::num_complex::Complex;

use realfft::{FftNum, RealFftPlanner};
use rustfft::FftPlanner;
use std::sync::Arc;

/// A transform of many lines in place; the second array is working space.
pub type Complexes<S> = Box<dyn Fn(&mut [Complex<S>], &mut [Complex<S>]) + Send + Sync>;
/// A transform of a line of real numbers into its modes; the last array is working space.
pub type Forward<S> = Box<dyn Fn(&mut [S], &mut [Complex<S>], &mut [Complex<S>]) + Send + Sync>;
/// A transform of modes into a line of real numbers; the last array is working space.
pub type Backward<S> = Box<dyn Fn(&mut [Complex<S>], &mut [S], &mut [Complex<S>]) + Send + Sync>;

/// Transforms along each edge of a mesh, prepared for its lengths.
pub struct Plans<S> {
    /// Transform along z, of real numbers.
    pub forward_z: Forward<S>,
    /// Its inverse, which is not normalised.
    pub backward_z: Backward<S>,
    /// Transforms along y, forward and backward.
    pub along_y: [Complexes<S>; 2],
    /// Transforms along x, forward and backward.
    pub along_x: [Complexes<S>; 2],
    /// Length of the working space.
    pub scratch: usize,
}

/// Numbers with Fourier transforms.
pub trait Planned: Copy + Default + Send + Sync + 'static {
    /// Prepares transforms of meshes of `n` points.
    fn plan(n: [usize; 3]) -> Plans<Self>;
}

impl Planned for f32 {
    fn plan(n: [usize; 3]) -> Plans<f32> {
        plan(n)
    }
}

impl Planned for f64 {
    fn plan(n: [usize; 3]) -> Plans<f64> {
        plan(n)
    }
}

/// Transform of a line of `n` real numbers in double precision.
pub fn of_real_numbers(n: usize) -> Arc<dyn RealToComplex<f64>> {
    RealFftPlanner::new().plan_fft_forward(n)
}

fn plan<T: FftNum>(n: [usize; 3]) -> Plans<T> {
    let (mut real, mut complex) = (RealFftPlanner::new(), FftPlanner::new());
    let mut scratch = 0;
    let mut both = |n: usize| {
        [complex.plan_fft_forward(n), complex.plan_fft_inverse(n)].map(|fft| -> Complexes<T> {
            scratch = scratch.max(fft.get_inplace_scratch_len());
            Box::new(move |lines, scratch| fft.process_with_scratch(lines, scratch))
        })
    };
    let (along_y, along_x) = (both(n[1]), both(n[0]));
    let (forward, backward) = (real.plan_fft_forward(n[2]), real.plan_fft_inverse(n[2]));
    Plans {
        scratch: scratch.max(forward.get_scratch_len()).max(backward.get_scratch_len()),
        // Transforms fail for lengths other than the planned one.
        forward_z: Box::new(move |from, to, scratch| {
            let _ = forward.process_with_scratch(from, to, scratch);
        }),
        backward_z: Box::new(move |from, to, scratch| {
            let _ = backward.process_with_scratch(from, to, scratch);
        }),
        along_y,
        along_x,
    }
}
