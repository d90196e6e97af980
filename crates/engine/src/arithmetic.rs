//! How much arithmetic a machine does at most, and how much of it a pair takes: what the speed of
//! pair forces is measured against.

use jostle_core::{Precision, Processor, Real, Result};
use jostle_cpu::Level;
use jostle_cpu::simd::{Kernel, Lanes, Simd};
use jostle_cuda::codegen::pair_source;
use jostle_io::input::model::DeviceInput;
use jostle_potentials::Forces;
use std::hint::black_box;
use std::time::Instant;

/// What a pair takes beside its force: three differences, three operations for the squared distance,
/// and six for the forces on both atoms.
const GEOMETRY: usize = 12;

/// Arithmetic operations in single precision for the force of one pair, by the formulas: an addition,
/// a product, both fused, a comparison, a choice, a root and an exponential are one each.
pub fn operations_per_pair(forces: &Forces) -> usize {
    GEOMETRY + pair_source(&forces.pairs, &Vec::from_iter(forces.sums()), Precision::Mixed).operations
}

/// The most of such operations that a device does in a second: of a GPU what its maker says, one in
/// every lane and cycle of its highest clock; of the CPU measured, fused multiply-adds in registers
/// of one thread, times the threads.
///
/// # Errors
/// If there is no such GPU.
pub fn most_operations(device: DeviceInput, processor: Processor, threads: usize) -> Result<f64> {
    match processor {
        Processor::Cpu => Ok(threads as f64 * measured()),
        Processor::Gpu => {
            let index = if let DeviceInput::Cuda { index } = device { index } else { 0 };
            Ok(jostle_cuda::driver::describe(index)?.operations_per_second)
        }
    }
}

/// The best of several rounds, each of some milliseconds.
fn measured() -> f64 {
    let round = || {
        let start = Instant::now();
        let count = Level::best().run(MultiplyAdds { rounds: black_box(1_000_000) });
        count as f64 / start.elapsed().as_secs_f64()
    };
    (0..10).map(|_| round()).fold(0.0, f64::max)
}

/// Independent chains: enough to hide how long one operation takes.
const CHAINS: usize = 10;

/// Multiply-adds that never leave the registers; how many.
struct MultiplyAdds {
    rounds: usize,
}

impl Kernel for MultiplyAdds {
    type Output = usize;

    #[inline(always)]
    fn run<I: Simd>(self) -> usize {
        let mut chains = [I::F32::lit(1.0); CHAINS];
        let (factor, summand) = (I::F32::lit(0.999), I::F32::lit(0.001));
        for _ in 0..self.rounds {
            for k in 0..CHAINS {
                chains[k] = chains[k].mul_add(factor, summand);
            }
        }
        for k in 0..CHAINS {
            black_box(chains[k].sum());
        }
        self.rounds * CHAINS * I::F32::WIDTH
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_potentials::{PairKind, PairTerm, Truncation};

    /// A root, the distance, the exponent, the exponential, six for the force, and two for the
    /// cut-off.
    #[test]
    fn a_screened_pair_takes_what_its_formula_does() {
        let term = PairTerm::uniform(PairKind::Yukawa, Truncation::Plain, &[2.0, 0.7], 2.5);
        let forces = vec![term].into();
        let more = operations_per_pair(&forces) - GEOMETRY;
        assert!((9..=12).contains(&more), "{more}");
    }

    #[test]
    fn a_processor_does_some_arithmetic() {
        let rate = most_operations(DeviceInput::Cpu, Processor::Cpu, 1).unwrap_or_default();
        assert!(rate > 1e6 && rate.is_finite(), "{rate}");
    }
}
