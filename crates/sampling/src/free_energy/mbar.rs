//! Free energies of several states from samples of all of them (multistate Bennett acceptance ratio; Shirts and
//! Chodera, J. Chem. Phys. 129, 124105 (2008)).

use super::{Estimate, log_sum_exp};
use crate::linear::{Matrix, pseudo_inverse, solve};
use jostle_core::{Error, Result};

/// Samples of all states, and the free energies of these.
#[derive(Debug, Clone)]
pub struct Mbar {
    /// Reduced energy of each sample in each state, state after state.
    energies: Vec<Vec<f64>>,
    /// Number of samples from each state.
    counts: Vec<usize>,
    /// Free energy of each state, the first one at zero.
    pub free_energies: Vec<f64>,
    /// ln of the denominator of the weight of each sample.
    denominators: Vec<f64>,
    /// Covariance of the free energies.
    covariance: Matrix,
}

/// Free energy along a variable: the middle of each bin, and -ln of its density with its error.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Middles of bins.
    pub places: Vec<f64>,
    /// Free energies, the smallest one at zero; NaN without samples.
    pub values: Vec<f64>,
    /// Standard errors.
    pub errors: Vec<f64>,
}

/// Iterations of Newton's method, which needs about ten.
const MOST_ITERATIONS: usize = 200;
/// Iterations that bring free energies near, and the remaining ones where Newton's method fails.
const FIRST_ITERATIONS: usize = 30;
/// Change of free energies at the end, if rounding of sums over all samples leaves less.
const TOLERANCE: f64 = 1e-12;

impl Mbar {
    /// Free energies of states from samples: `energies[k][n]` is the reduced energy of sample n in state k; samples
    /// are in the order of the states that they are from, `counts[k]` of each.
    ///
    /// # Errors
    /// If numbers do not fit together or are not finite, or states have no samples in common.
    pub fn new(energies: Vec<Vec<f64>>, counts: Vec<usize>) -> Result<Self> {
        let n: usize = counts.iter().sum();
        if energies.len() != counts.len() || energies.iter().any(|row| row.len() != n) || n == 0 {
            return Err(Error::input("energies and numbers of samples do not fit together")
                .hint("each state needs the energy of each sample"));
        }
        if energies.iter().flatten().any(|u| u.is_nan() || *u == f64::NEG_INFINITY) {
            return Err(Error::input("an energy of a sample is not a number"));
        }
        let mut found = Mbar {
            free_energies: vec![0.0; counts.len()],
            denominators: vec![0.0; n],
            covariance: Matrix::zero(counts.len()),
            energies,
            counts,
        };
        found.solve()?;
        found.covariance = found.find_covariance();
        Ok(found)
    }

    fn n(&self) -> usize {
        self.denominators.len()
    }

    fn find_denominators(&mut self) {
        let logs: Vec<f64> = self.counts.iter().map(|n| (*n as f64).ln()).collect();
        let sampled: Vec<usize> = (0..self.counts.len()).filter(|k| self.counts[*k] > 0).collect();
        for n in 0..self.n() {
            let term = |k: &usize| logs[*k] + self.free_energies[*k] - self.energies[*k][n];
            self.denominators[n] = log_sum_exp(sampled.iter().map(term));
        }
    }

    /// New free energies from the denominators, by the equations themselves.
    fn iterate(&self) -> Vec<f64> {
        let one = |row: &Vec<f64>| -log_sum_exp(row.iter().zip(&self.denominators).map(|(u, d)| -u - d));
        let found: Vec<f64> = self.energies.iter().map(one).collect();
        let first = found[0];
        found.into_iter().map(|f| f - first).collect()
    }

    fn solve(&mut self) -> Result<()> {
        for _ in 0..FIRST_ITERATIONS {
            self.find_denominators();
            self.free_energies = self.iterate();
        }
        for _ in 0..MOST_ITERATIONS {
            self.find_denominators();
            let plain = self.iterate();
            let next = self.newton().filter(|f| f.iter().all(|f| f.is_finite()));
            let change =
                |a: &[f64], b: &[f64]| a.iter().zip(b).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
            if plain.iter().any(|f| !f.is_finite()) {
                break;
            }
            let scale = plain.iter().fold(1.0f64, |m, f| m.max(f.abs()));
            let off = change(&plain, &self.free_energies);
            // The better of both: that which solves the equations.
            let candidate = next.map(|f| {
                let mut trial = self.clone();
                trial.free_energies = f;
                trial.find_denominators();
                let left = change(&trial.iterate(), &trial.free_energies);
                (trial.free_energies, left)
            });
            self.free_energies = match candidate {
                Some((f, left)) if left < off => f,
                _ => plain,
            };
            if off < TOLERANCE.max(self.n() as f64 * f64::EPSILON) * scale {
                self.find_denominators();
                return Ok(());
            }
        }
        Err(Error::input("the free energies of the states do not converge")
            .hint("neighbouring states have hardly any samples in common: add states between them"))
    }

    /// Weight of each sample in each state.
    fn weights(&self, k: usize) -> impl Iterator<Item = f64> + '_ {
        let f = self.free_energies[k];
        self.energies[k].iter().zip(&self.denominators).map(move |(u, d)| (f - u - d).exp())
    }

    /// A step of Newton's method for the states with samples, the first of which keeps its free energy.
    fn newton(&self) -> Option<Vec<f64>> {
        let sampled: Vec<usize> = (0..self.counts.len()).filter(|k| self.counts[*k] > 0).collect();
        let weights: Vec<Vec<f64>> = sampled.iter().map(|k| self.weights(*k).collect()).collect();
        let count = |k: usize| self.counts[sampled[k]] as f64;
        let m = sampled.len().checked_sub(1).filter(|m| *m > 0)?;
        let mut hessian = Matrix::zero(m);
        let mut gradient = vec![0.0; m];
        for a in 0..m {
            let sum: f64 = weights[a + 1].iter().sum();
            gradient[a] = count(a + 1) - count(a + 1) * sum;
            for b in 0..=a {
                let both: f64 = weights[a + 1].iter().zip(&weights[b + 1]).map(|(x, y)| x * y).sum();
                let value =
                    count(a + 1) * count(b + 1) * both - if a == b { count(a + 1) * sum } else { 0.0 };
                hessian.set(a, b, -value);
                hessian.set(b, a, -value);
            }
        }
        let step = solve(hessian, gradient)?;
        let mut next = self.free_energies.clone();
        step.iter().enumerate().for_each(|(a, x)| next[sampled[a + 1]] += x);
        let mut trial = self.clone();
        trial.free_energies = next;
        trial.find_denominators();
        // States without samples follow from the others.
        let all = trial.iterate();
        let of = |k: usize| if self.counts[k] > 0 { trial.free_energies[k] } else { all[k] };
        let first = of(0);
        Some((0..self.counts.len()).map(|k| of(k) - first).collect())
    }

    /// Covariance of the free energies, of all pairs: equation D8 of the paper, W^T (1 - W N W^T)^+ W by the small
    /// matrix W^T W.
    fn find_covariance(&self) -> Matrix {
        let weights: Vec<Vec<f64>> = (0..self.counts.len()).map(|k| self.weights(k).collect()).collect();
        self.covariance_of(&weights, &self.counts)
    }

    fn covariance_of(&self, weights: &[Vec<f64>], counts: &[usize]) -> Matrix {
        let k = weights.len();
        let mut product = Matrix::zero(k);
        for a in 0..k {
            for b in 0..=a {
                let sum: f64 = weights[a].iter().zip(&weights[b]).map(|(x, y)| x * y).sum();
                product.set(a, b, sum);
                product.set(b, a, sum);
            }
        }
        // Theta = S (1 - S N S)^+ S with S the root of W^T W.
        let root = product.root();
        let mut inner = Matrix::identity(k);
        for a in 0..k {
            for b in 0..k {
                let sum: f64 = (0..k).map(|c| root.get(a, c) * counts[c] as f64 * root.get(c, b)).sum();
                inner.set(a, b, inner.get(a, b) - sum);
            }
        }
        root.times(&pseudo_inverse(inner)).times(&root)
    }

    /// Difference of the free energies of two states.
    pub fn difference(&self, from: usize, to: usize) -> Estimate {
        let theta = &self.covariance;
        let variance = theta.get(from, from) + theta.get(to, to) - 2.0 * theta.get(from, to);
        Estimate { value: self.free_energies[to] - self.free_energies[from], error: variance.max(0.0).sqrt() }
    }

    /// Overlap of states: element (a, b) is the probability that a sample of state a comes from state b.
    pub fn overlap(&self) -> Vec<Vec<f64>> {
        let k = self.counts.len();
        let weights: Vec<Vec<f64>> = (0..k).map(|k| self.weights(k).collect()).collect();
        let element = |a: usize, b: usize| {
            let sum: f64 = weights[a].iter().zip(&weights[b]).map(|(x, y)| x * y).sum();
            sum * self.counts[b] as f64
        };
        (0..k).map(|a| (0..k).map(|b| element(a, b)).collect()).collect()
    }

    /// Free energy along a variable in a state with these reduced energies, given the bin of each sample (`None`:
    /// outside): -ln of the probability of each bin, relative to the most probable one, with its error.
    pub fn profile(&self, energies: &[f64], bins: &[Option<usize>], places: Vec<f64>) -> Profile {
        let logs: Vec<f64> = energies.iter().zip(&self.denominators).map(|(u, d)| -u - d).collect();
        let members: Vec<Vec<usize>> = (0..places.len())
            .map(|bin| (0..bins.len()).filter(|n| bins[*n] == Some(bin)).collect())
            .collect();
        let of = |members: &Vec<usize>| -log_sum_exp(members.iter().map(|n| logs[*n]));
        let values: Vec<f64> = members.iter().map(of).collect();
        let filled: Vec<usize> = (0..places.len()).filter(|bin| values[*bin].is_finite()).collect();
        let lowest = filled.iter().copied().min_by(|a, b| values[*a].total_cmp(&values[*b]));
        let (mut out, mut errors) = (vec![f64::NAN; places.len()], vec![f64::NAN; places.len()]);
        let Some(lowest) = lowest else { return Profile { places, values: out, errors } };
        // Each bin is a state without samples of its own, infinite outside of it.
        let mut weights: Vec<Vec<f64>> = (0..self.counts.len()).map(|k| self.weights(k).collect()).collect();
        let mut counts = self.counts.clone();
        for bin in &filled {
            let mut own = vec![0.0; bins.len()];
            members[*bin].iter().for_each(|n| own[*n] = (values[*bin] + logs[*n]).exp());
            weights.push(own);
            counts.push(0);
        }
        let theta = self.covariance_of(&weights, &counts);
        let index = |bin: usize| self.counts.len() + filled.iter().position(|b| *b == bin).unwrap_or(0);
        let zero = index(lowest);
        for bin in &filled {
            let k = index(*bin);
            let variance = theta.get(k, k) + theta.get(zero, zero) - 2.0 * theta.get(k, zero);
            out[*bin] = values[*bin] - values[lowest];
            errors[*bin] = variance.max(0.0).sqrt();
        }
        Profile { places, values: out, errors }
    }
}
