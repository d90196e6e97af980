//! How much arithmetic a machine does at most, and how much of it a pair takes: what the speed of
//! pair forces is measured against.

use jostle_core::{Error, Precision, Processor, Real, Result};
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
/// If there is no such GPU, or the CPU is measured to do more than is possible.
pub fn most_operations(device: DeviceInput, processor: Processor, threads: usize) -> Result<f64> {
    match processor {
        Processor::Cpu => Ok(threads as f64 * measured_flops()?),
        Processor::Gpu => {
            let index = if let DeviceInput::Cuda { index } = device { index } else { 0 };
            Ok(jostle_cuda::driver::describe(index)?.operations_per_second)
        }
    }
}

/// No thread does more operations in a second: four fused ones in each of 16 lanes and cycle, at 10 GHz.
const PLAUSIBLE: f64 = 6.4e11;

/// The best of several rounds, each of some milliseconds.
fn measured_flops() -> Result<f64> {
    let round = || {
        let kernel = MultiplyAdds { rounds: 1_000_000, start: 0.5, factor: 0.999, summand: 0.001 };
        let start = Instant::now();
        let (count, _) = black_box(Level::best().run(black_box(kernel)));
        count as f64 / start.elapsed().as_secs_f64()
    };
    let best = (0..10).map(|_| round()).fold(0.0, f64::max);
    match best < PLAUSIBLE {
        true => Ok(best),
        // Then they were not done one by one.
        false => {
            Err(Error::device(format!("this processor seems to do {best:.1e} operations a second a thread"))
                .hint("a mistake of the measurement: please report it"))
        }
    }
}

/// Independent chains: enough to hide how long one operation takes.
const CHAINS: usize = 10;

/// Multiply-adds that never leave the registers, of numbers that are not known when they are compiled: a chain
/// of constants is folded into its end. How many there were, and the sum of all chains.
#[derive(Debug, Clone, Copy)]
struct MultiplyAdds {
    rounds: usize,
    start: f32,
    factor: f32,
    summand: f32,
}

impl Kernel for MultiplyAdds {
    type Output = (usize, f32);

    #[inline(always)]
    fn run<I: Simd>(self) -> (usize, f32) {
        let mut chains: [I::F32; CHAINS] =
            std::array::from_fn(|k| I::F32::splat(self.start * (1 + k) as f32));
        let (factor, summand) = (I::F32::splat(self.factor), I::F32::splat(self.summand));
        for _ in 0..self.rounds {
            for k in 0..CHAINS {
                chains[k] = chains[k].mul_add(factor, summand);
            }
        }
        let sum = chains.into_iter().map(|chain| chain.sum()).sum();
        (self.rounds * CHAINS * I::F32::WIDTH, sum)
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

    /// As much as a processor can, and as much is done as is counted: what has been folded away is neither.
    #[test]
    fn a_processor_does_what_is_counted() {
        let rate = most_operations(DeviceInput::Cpu, Processor::Cpu, 1).unwrap();
        assert!(rate > 1e6 && rate < PLAUSIBLE, "{rate:e}");
        let two = most_operations(DeviceInput::Cpu, Processor::Cpu, 2).unwrap();
        assert!(two < 2.0 * PLAUSIBLE, "{two:e}");
        for rounds in [1, 2, 7] {
            let kernel = MultiplyAdds { rounds, start: 0.25, factor: 2.0, summand: 1.0 };
            let (count, sum) = Level::best().run(kernel);
            let lanes = count / (CHAINS * rounds);
            assert_eq!(count, lanes * CHAINS * rounds);
            // x becomes 2^n (x + 1) - 1, exactly.
            let power = (1 << rounds) as f32;
            let of_chain = |k: usize| power * (0.25 * (1 + k) as f32 + 1.0) - 1.0;
            let right: f32 = (0..CHAINS).map(|k| lanes as f32 * of_chain(k)).sum();
            assert_eq!(sum, right, "{rounds} rounds in {lanes} lanes");
        }
    }
}
