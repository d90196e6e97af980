//! Peak arithmetic rate of a device and operations per pair, against which the speed of pair forces is
//! judged.

use jostle_core::{Error, Precision, Processor, Real, Result};
use jostle_cpu::Level;
use jostle_cpu::simd::{Kernel, Lanes, Simd};
use jostle_cuda::codegen::pair_source;
use jostle_io::input::model::{DeviceInput, Gpus};
use jostle_potentials::Forces;
use std::hint::black_box;
use std::time::Instant;

/// Operations of a pair besides the formula of its force: three differences, three operations for the squared
/// distance, and six for the forces on both atoms.
const GEOMETRY: usize = 12;

/// Arithmetic operations in single precision for the force of one pair, by the formulas: an addition, a
/// product, a fused multiply-add, a comparison, a selection, a root and an exponential count as one each.
pub fn operations_per_pair(forces: &Forces) -> usize {
    GEOMETRY + pair_source(&forces.pairs, &Vec::from_iter(forces.sums()), Precision::Mixed).operations
}

/// Peak number of such operations of a device in a second: for a GPU the specified one, an operation per lane
/// and cycle at the highest clock; for the CPU the measured rate of fused multiply-adds in registers of one
/// thread, times the number of threads.
///
/// # Errors
/// If there is no such GPU, or the CPU is measured to do more than is possible.
pub fn most_operations(device: DeviceInput, processor: Processor, threads: usize) -> Result<f64> {
    match processor {
        Processor::Cpu => Ok(threads as f64 * measured_flops()?),
        Processor::Gpu => {
            let rate = |number| Ok(jostle_cuda::driver::describe(number)?.operations_per_second);
            match device {
                DeviceInput::Cuda(Gpus::Chosen(gpus)) => gpus.numbers().map(rate).sum(),
                _ => rate(0),
            }
        }
    }
}

/// Upper bound of the rate of one thread: four fused operations per cycle in each of 16 lanes, at 10 GHz.
const PLAUSIBLE: f64 = 6.4e11;

/// The best rate of several rounds, each of some milliseconds.
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
        // A higher rate means that the compiler has removed operations.
        false => {
            Err(Error::device(format!("this processor seems to do {best:.1e} operations a second a thread"))
                .hint("a mistake of the measurement: please report it"))
        }
    }
}

/// Number of independent chains, enough to hide the latency of an operation.
const CHAINS: usize = 10;

/// Multiply-adds in registers, of numbers unknown at compile time, since a chain of constants would be folded
/// into its result. The output is the number of operations and the sum of all chains.
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

    /// Operations of a screened pair: a root, the distance, the exponent, the exponential, six for the force,
    /// and two for the cut-off.
    #[test]
    fn operations_of_a_screened_pair_are_those_of_its_formula() {
        let term = PairTerm::uniform(PairKind::Yukawa, Truncation::Plain, &[2.0, 0.7], 2.5);
        let forces = vec![term].into();
        let more = operations_per_pair(&forces) - GEOMETRY;
        assert!((9..=12).contains(&more), "{more}");
    }

    /// The measured rate is plausible, and the sum shows that no operation has been folded away.
    #[test]
    fn all_counted_operations_are_executed() {
        let rate = most_operations(DeviceInput::Cpu, Processor::Cpu, 1).unwrap();
        assert!(rate > 1e6 && rate < PLAUSIBLE, "{rate:e}");
        let two = most_operations(DeviceInput::Cpu, Processor::Cpu, 2).unwrap();
        assert!(two < 2.0 * PLAUSIBLE, "{two:e}");
        for rounds in [1, 2, 7] {
            let kernel = MultiplyAdds { rounds, start: 0.25, factor: 2.0, summand: 1.0 };
            let (count, sum) = Level::best().run(kernel);
            let lanes = count / (CHAINS * rounds);
            assert_eq!(count, lanes * CHAINS * rounds);
            // The exact result of n rounds is 2^n (x + 1) - 1.
            let power = (1 << rounds) as f32;
            let of_chain = |k: usize| power * (0.25 * (1 + k) as f32 + 1.0) - 1.0;
            let right: f32 = (0..CHAINS).map(|k| lanes as f32 * of_chain(k)).sum();
            assert_eq!(sum, right, "{rounds} rounds in {lanes} lanes");
        }
    }
}
