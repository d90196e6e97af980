//! Elementary functions on lanes against those of the standard library.

use jostle_core::Real;
use jostle_cpu::simd::{Kernel, Lanes, Level, Scalar, Simd};
use std::marker::PhantomData;

/// Values of each function for some numbers.
struct Everything<'a, S>(&'a [f64], PhantomData<S>);

impl<S: Scalar> Kernel for Everything<'_, S> {
    type Output = Vec<[f64; 6]>;

    #[inline(always)]
    fn run<I: Simd>(self) -> Self::Output {
        let mut out = Vec::new();
        for x in self.0 {
            let x = S::Lanes::<I>::splat(S::from_f64(*x));
            let values = [x.ln(), x.sin(), x.cos(), x.tanh(), x.erf(), x.erfc()];
            let mut row = [0.0; 6];
            for (to, value) in row.iter_mut().zip(values) {
                let mut lanes = [S::default(); 16];
                value.store(&mut lanes);
                *to = lanes[S::Lanes::<I>::WIDTH - 1].to_f64();
            }
            out.push(row);
        }
        out
    }
}

fn check<S: Scalar>(level: Level, unit: f64) {
    let sizes = (0..400).map(|k| 10f64.powf(-3.0 + 0.0125 * f64::from(k)));
    let numbers: Vec<f64> = sizes.flat_map(|x| [x, -x]).map(|x| S::from_f64(x).to_f64()).collect();
    for (x, found) in numbers.iter().zip(level.run(Everything::<S>(&numbers, PhantomData))) {
        let exact = [x.ln(), x.sin(), x.cos(), x.tanh(), Real::erf(*x), Real::erfc(*x)];
        // Errors include the rounding of an angle, and of the square in erfc without fused multiplication.
        let angle = unit * (2.0 + x.abs());
        let square = unit * (6.0 + if level == Level::Portable { x * x } else { 0.0 });
        let smallest = if unit > 1e-10 { 1e-36 } else { 1e-300 };
        let tolerances = [
            6.0 * unit * exact[0].abs() + unit,
            angle,
            angle,
            6.0 * unit * exact[3].abs(),
            6.0 * unit * exact[4].abs(),
            square * exact[5] + smallest,
        ];
        for k in 0..6 {
            let same = found[k].is_nan() && exact[k].is_nan();
            let error = (found[k] - exact[k]).abs();
            assert!(
                same || error <= tolerances[k],
                "{level}, function {k} of {x}: {} {}",
                found[k],
                exact[k]
            );
        }
    }
}

#[test]
fn they_equal_those_of_the_standard_library() {
    for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
        check::<f32>(level, f64::from(f32::EPSILON));
        check::<f64>(level, f64::EPSILON);
    }
}

/// Reciprocals in single precision and those of roots.
struct Reciprocals<'a>(&'a [f32]);

impl Kernel for Reciprocals<'_> {
    type Output = Vec<[f32; 2]>;

    #[inline(always)]
    fn run<I: Simd>(self) -> Self::Output {
        let first = |value: I::F32| {
            let mut lanes = [0.0; 16];
            value.store(&mut lanes);
            lanes[0]
        };
        self.0.iter().map(|x| [first(I::F32::splat(*x).recip()), first(I::F32::splat(*x).rsqrt())]).collect()
    }
}

/// Errors of one sign add up over the pairs of a liquid: those of reciprocals from guesses have both signs.
#[test]
fn reciprocals_have_no_bias() {
    let numbers: Vec<f32> = (0..100_000).map(|k| 1.0 + 3.0e-5 * k as f32).collect();
    for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
        let found = level.run(Reciprocals(&numbers));
        for (k, exponent) in [(0, -1.0), (1, -0.5)] {
            let errors = numbers.iter().zip(&found);
            let errors = errors.map(|(x, y)| f64::from(y[k]) / f64::from(*x).powf(exponent) - 1.0);
            let mean = errors.sum::<f64>() / numbers.len() as f64;
            assert!(mean.abs() < 0.02 * f64::from(f32::EPSILON), "{level}, power {exponent}: {mean:e}");
        }
    }
}
