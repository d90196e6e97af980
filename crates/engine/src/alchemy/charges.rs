//! Energy of charges as a quadratic function of the factors of one or two parts of a molecule.

use jostle_core::Result;

/// Values of the function where it follows from: along each factor with the other at 0, and at both together.
#[derive(Debug, Clone, PartialEq)]
pub struct ChargeForm {
    /// Values with all factors at 0.
    origin: f64,
    /// Differences to the origin at the factors 1/2 and 1 of each part.
    along: Vec<[f64; 2]>,
    /// Coefficient of the product of both factors.
    product: f64,
}

impl ChargeForm {
    /// The function of so many factors, one or two, whose values `energy` finds.
    ///
    /// # Errors
    /// Errors of `energy`.
    pub fn new(n_parts: usize, mut energy: impl FnMut(&[f64]) -> Result<f64>) -> Result<Self> {
        let origin = energy(&vec![0.0; n_parts])?;
        let mut along = Vec::with_capacity(n_parts);
        for part in 0..n_parts {
            let mut at = |factor: f64| {
                let mut factors = vec![0.0; n_parts];
                factors[part] = factor;
                Ok(energy(&factors)? - origin)
            };
            along.push([at(0.5)?, at(1.0)?]);
        }
        let product = match along[..] {
            [[_, first], [_, second]] => energy(&[1.0, 1.0])? - origin - first - second,
            _ => 0.0,
        };
        Ok(ChargeForm { origin, along, product })
    }

    /// The function with the energies of single pairs of each part: one that is proportional to its factor, and one to
    /// the square of it.
    pub fn with_pairs(mut self, pairs: &[[f64; 2]]) -> Self {
        for (along, [linear, square]) in self.along.iter_mut().zip(pairs) {
            along[0] += 0.5 * linear + 0.25 * square;
            along[1] += linear + square;
        }
        self
    }

    /// Value at some factors.
    pub fn value(&self, factors: &[f64]) -> f64 {
        let parabola =
            |([half, one], x): (&[f64; 2], &f64)| 4.0 * half * x * (1.0 - x) + one * x * (2.0 * x - 1.0);
        let along: f64 = self.along.iter().zip(factors).map(parabola).sum();
        self.origin + along + self.product * self.other(factors, 0) * factors[0]
    }

    /// Derivative with the factor of a part.
    pub fn slope(&self, factors: &[f64], part: usize) -> f64 {
        let ([half, one], x) = (self.along[part], factors[part]);
        4.0 * half * (1.0 - 2.0 * x) + one * (4.0 * x - 1.0) + self.product * self.other(factors, part)
    }

    /// Factor of the other part; 0 without one.
    fn other(&self, factors: &[f64], part: usize) -> f64 {
        factors.get(1 - part).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_exact() {
        let energy =
            |f: &[f64]| 3.0 - 2.0 * f[0] + 5.0 * f[0] * f[0] + 0.5 * f[1] - f[1] * f[1] + 4.0 * f[0] * f[1];
        let form = ChargeForm::new(2, |f| Ok(energy(f))).unwrap();
        let with_pairs = form.clone().with_pairs(&[[0.0, 0.0], [2.0, 3.0]]);
        for f in [[0.0, 0.0], [0.3, 0.9], [1.0, 0.2]] {
            assert!((form.value(&f) - energy(&f)).abs() < 1e-12);
            assert!((form.slope(&f, 0) - (-2.0 + 10.0 * f[0] + 4.0 * f[1])).abs() < 1e-12);
            assert!((form.slope(&f, 1) - (0.5 - 2.0 * f[1] + 4.0 * f[0])).abs() < 1e-12);
            let more = 2.0 * f[1] + 3.0 * f[1] * f[1];
            assert!((with_pairs.value(&f) - energy(&f) - more).abs() < 1e-12);
        }
        let one = ChargeForm::new(1, |f| Ok(7.0 + 2.0 * f[0] * f[0])).unwrap();
        assert_eq!((one.value(&[0.5]), one.slope(&[0.5], 0)), (7.5, 2.0));
    }
}
