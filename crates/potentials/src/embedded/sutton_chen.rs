//! A. P. Sutton and J. Chen, "Long-range Finnis-Sinclair potentials", Philos. Mag. Lett. 61 (1990)
//! 139; alloys by H. Rafii-Tabar and A. P. Sutton, Philos. Mag. Lett. 63 (1991) 217.

use super::{Embedded, EmbeddedKind, Spline};
use jostle_core::{Error, Result};

/// E = epsilon [ sum_{i<j} (a/r)^n - c sum_i sqrt(rho_i) ], rho_i = sum_j (a/r)^m.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SuttonChen {
    /// The metal.
    pub symbol: &'static str,
    /// Energy, eV.
    pub epsilon: f64,
    /// Lattice constant, angstrom.
    pub a: f64,
    /// Exponent of the repulsion.
    pub n: f64,
    /// Exponent of the density.
    pub m: f64,
    /// Strength of the cohesion. The crystal is in equilibrium at `a`, which fixes it:
    /// c = n S_n / (m sqrt(S_m)) with the lattice sums S of inverse powers.
    pub c: f64,
}

/// Beginning of the switch to zero, as a fraction of the cut-off.
const SWITCH_FROM: f64 = 0.95;
/// Tables begin at this fraction of the smallest lattice constant, where atoms never come.
const SHORTEST: f64 = 0.3;
/// Knots of a table: at most 1e-8 of a function's value is lost where atoms are.
const KNOTS: usize = 2000;
/// Embedding energies are tabulated up to so many times the density of the crystal.
const DENSEST: f64 = 4.0;

impl SuttonChen {
    /// The published metals (table 1 of the paper).
    pub const METALS: [SuttonChen; 10] = [
        metal("Ni", 1.5707e-2, 3.52, [9.0, 6.0], 39.432),
        metal("Cu", 1.2382e-2, 3.61, [9.0, 6.0], 39.432),
        metal("Rh", 4.9371e-3, 3.80, [12.0, 6.0], 144.41),
        metal("Pd", 4.1790e-3, 3.89, [12.0, 7.0], 108.27),
        metal("Ag", 2.5415e-3, 4.09, [12.0, 6.0], 144.41),
        metal("Ir", 2.4489e-3, 3.84, [14.0, 6.0], 334.94),
        metal("Pt", 1.9833e-2, 3.92, [10.0, 8.0], 34.408),
        metal("Au", 1.2793e-2, 4.08, [10.0, 8.0], 34.408),
        metal("Pb", 5.5765e-3, 4.95, [10.0, 7.0], 45.778),
        metal("Al", 3.3147e-2, 4.05, [7.0, 6.0], 16.399),
    ];

    /// The published parameters of a metal.
    pub fn metal(symbol: &str) -> Option<SuttonChen> {
        Self::METALS.into_iter().find(|metal| metal.symbol == symbol)
    }

    /// The force between these metals (one a species), in units in which an electronvolt and an
    /// angstrom are so much. Over the last twentieth of the cut-off all functions of distance fall
    /// smoothly to zero.
    ///
    /// # Errors
    /// If there is no metal, or the cut-off is not a positive number.
    pub fn embedded(
        metals: &[SuttonChen],
        cutoff: f64,
        electronvolt: f64,
        angstrom: f64,
    ) -> Result<Embedded> {
        let smallest = metals.iter().map(|metal| metal.a).fold(f64::INFINITY, f64::min);
        let start = (SHORTEST * smallest * angstrom).min(0.5 * cutoff);
        let table = |start: f64, end: f64, function: &dyn Fn(f64) -> f64| {
            Spline::tabulate(start, end, KNOTS, function)
                .ok_or_else(|| Error::input(format!("there is no Sutton-Chen table up to {end}")))
        };
        let pairs = || metals.iter().flat_map(|p| metals.iter().map(move |q| p.mixed(q)));
        let density =
            |p: SuttonChen| table(start, cutoff, &|r| switch(r / cutoff) * (p.a * angstrom / r).powf(p.m));
        let pair = |p: SuttonChen| {
            let energy = |r: f64| p.epsilon * electronvolt * (p.a * angstrom / r).powf(p.n);
            table(start, cutoff, &|r| switch(r / cutoff) * r * energy(r))
        };
        let embedding = |p: &SuttonChen| {
            let strength = -p.epsilon * electronvolt * p.c;
            table(0.0, DENSEST * lattice_sum(p.m), &|rho| strength * rho.sqrt())
        };
        Embedded::new(
            EmbeddedKind::SuttonChen,
            cutoff,
            metals.iter().map(embedding).collect::<Result<_>>()?,
            pairs().map(density).collect::<Result<_>>()?,
            pairs().map(pair).collect::<Result<_>>()?,
        )
    }

    /// Parameters of the interaction between two metals: means of their exponents, geometric means of the
    /// rest. `c` belongs to an atom and is not mixed.
    fn mixed(&self, other: &SuttonChen) -> SuttonChen {
        SuttonChen {
            epsilon: (self.epsilon * other.epsilon).sqrt(),
            a: (self.a * other.a).sqrt(),
            n: 0.5 * (self.n + other.n),
            m: 0.5 * (self.m + other.m),
            ..*self
        }
    }
}

const fn metal(symbol: &'static str, epsilon: f64, a: f64, [n, m]: [f64; 2], c: f64) -> SuttonChen {
    SuttonChen { symbol, epsilon, a, n, m, c }
}

/// Falls from 1 at [`SWITCH_FROM`] to 0 at 1, with two continuous derivatives.
fn switch(fraction: f64) -> f64 {
    let x = ((fraction - SWITCH_FROM) / (1.0 - SWITCH_FROM)).clamp(0.0, 1.0);
    1.0 - x * x * x * (10.0 - x * (15.0 - 6.0 * x))
}

/// The sum of (a/r)^power over all atoms around one of an fcc crystal; beyond ten lattice constants
/// as if they were spread evenly.
fn lattice_sum(power: f64) -> f64 {
    const SHELL: i32 = 20;
    let reach = 0.5 * f64::from(SHELL);
    let mut sum = 0.0;
    for i in -SHELL..=SHELL {
        for j in -SHELL..=SHELL {
            for k in -SHELL..=SHELL {
                let r2 = 0.25 * f64::from(i * i + j * j + k * k);
                if (i + j + k) % 2 == 0 && r2 > 0.0 && r2 < reach * reach {
                    sum += r2.powf(-0.5 * power);
                }
            }
        }
    }
    sum + 16.0 * std::f64::consts::PI * reach.powf(3.0 - power) / (power - 3.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The conditions that the paper fits to: the crystal is in equilibrium at its lattice
    /// constant, and its cohesive energy, epsilon S_n (2 n / m - 1) / 2, is the measured one.
    #[test]
    fn published_parameters_are_those_of_crystals_in_equilibrium() {
        // Cohesive energies in eV: C. Kittel, Introduction to Solid State Physics, 8th ed., table
        // 3.1.
        let kittel = [4.44, 3.49, 5.75, 3.89, 2.95, 6.94, 5.84, 3.81, 2.03, 3.39];
        for (metal, measured) in SuttonChen::METALS.into_iter().zip(kittel) {
            let (repulsion, density) = (lattice_sum(metal.n), lattice_sum(metal.m));
            let c = metal.n * repulsion / (metal.m * density.sqrt());
            assert!((c / metal.c - 1.0).abs() < 1e-4, "{}: c {c} {}", metal.symbol, metal.c);
            let energy = 0.5 * metal.epsilon * repulsion * (2.0 * metal.n / metal.m - 1.0);
            assert!((energy / measured - 1.0).abs() < 0.02, "{}: {energy} {measured}", metal.symbol);
        }
    }

    #[test]
    fn tables_are_the_formulas() {
        let cutoff = 7.2;
        let copper = SuttonChen::metal("Cu").unwrap();
        let force = SuttonChen::embedded(&[copper], cutoff, 1.0, 1.0).unwrap();
        for k in 0..200 {
            let r = 1.8 + 0.025 * f64::from(k);
            let (density, slope) = force.density(0, 0, r);
            let exact = (copper.a / r).powf(copper.m);
            assert!((density / exact - 1.0).abs() < 1e-8, "{r}: {density} {exact}");
            assert!((slope * r / (exact * copper.m) + 1.0).abs() < 1e-5, "{r}: {slope}");
            let (energy, _) = force.pair([0, 0], r * r, [0.0; 2]);
            let exact = copper.epsilon * (copper.a / r).powf(copper.n);
            assert!((energy / exact - 1.0).abs() < 1e-8, "{r}: {energy} {exact}");
        }
        assert!(force.density(0, 0, cutoff).0.abs() < 1e-15);
        let bulk = lattice_sum(copper.m);
        let (energy, slope) = force.embedding(0, bulk);
        assert!((energy / (-copper.epsilon * copper.c * bulk.sqrt()) - 1.0).abs() < 1e-10);
        assert!((2.0 * slope * bulk / energy - 1.0).abs() < 1e-8);
    }
}
