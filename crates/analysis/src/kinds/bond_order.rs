//! Bond-orientational order: Steinhardt's q4, q6 and W6, local and averaged over neighbours, and
//! atoms that are in a crystal.

use super::clusters::sizes;
use super::{Kind, Measure, Sees};
use crate::blocks::Blocks;
use crate::cells::{Cells, Neighbors};
use crate::memory::Memory;
use crate::report::{Results, Table};
use crate::settings::{Setting, Settings};
use crate::view::{Subject, View};
use jostle_core::{Dimension, Result, SimBox, Vec3};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::f64::consts::PI;
use std::sync::LazyLock;

pub(super) const KIND: Kind = Kind {
    name: "bond-order",
    about: "q4, q6, W6 (local and averaged over neighbours), atoms in a crystal and the largest crystal",
    sees: Sees::Positions,
    settings: &[
        Setting {
            name: "cutoff",
            dimension: Dimension::LENGTH,
            default: None,
            about: "distance of neighbours [default: 1.4 times the mean distance, density^(-1/3)]",
        },
        Setting {
            name: "threshold",
            dimension: Dimension::NUMBER,
            default: Some(0.5),
            about: "least correlation of q6 of two neighbours that are connected",
        },
        Setting {
            name: "connections",
            dimension: Dimension::NUMBER,
            default: Some(7.0),
            about: "connections from which on an atom is in a crystal",
        },
    ],
    new: |subject, settings| Ok(Box::new(BondOrder::new(subject, settings)?)),
};

/// Bins of the distributions of the averaged q4 and q6 between 0 and 1.
const BINS: usize = 100;

/// q_l and W_l by P. J. Steinhardt, D. R. Nelson and M. Ronchetti (Phys. Rev. B 28 (1983) 784),
/// averaged ones by W. Lechner and C. Dellago (J. Chem. Phys. 129 (2008) 114707), atoms of a crystal
/// by P. R. ten Wolde, M. J. Ruiz-Montero and D. Frenkel (J. Chem. Phys. 104 (1996) 9932).
struct BondOrder {
    cutoff: f64,
    threshold: f64,
    connections: usize,
    wigner: Vec<([i32; 3], f64)>,
    /// The values of [`NAMES`], then the distributions.
    blocks: Blocks,
}

const NAMES: [&str; 9] = [
    "neighbours",
    "q4",
    "q6",
    "w6",
    "averaged q4",
    "averaged q6",
    "averaged w6",
    "fraction in crystals",
    "largest crystal",
];

type Complex = [f64; 2];

impl BondOrder {
    fn new(subject: &Subject, settings: &Settings) -> Result<Self> {
        let cutoff = settings.positive("cutoff", neighbor_distance(subject.density()))?;
        let threshold = settings.get("threshold").unwrap_or(0.5);
        let connections = settings.count("connections", 7, 1..=100)?;
        let blocks = Blocks::new(NAMES.len() + 2 * BINS);
        Ok(BondOrder { cutoff, threshold, connections, wigner: wigner_6(), blocks })
    }

    /// W_6 over |q_6|^3.
    fn w6(&self, q: &[Complex; 7]) -> f64 {
        let at = |m: i32| -> Complex {
            let [re, im] = q[m.unsigned_abs() as usize];
            match (m < 0, m % 2 == 0) {
                (false, _) => [re, im],
                (true, true) => [re, -im],
                (true, false) => [-re, im],
            }
        };
        let times = |a: Complex, b: Complex| [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]];
        let sum: f64 =
            self.wigner.iter().map(|([a, b, c], w)| w * times(times(at(*a), at(*b)), at(*c))[0]).sum();
        sum / square(q).powf(1.5)
    }
}

/// The sum of |q_lm|^2 over all m, given those of m >= 0.
fn square<const M: usize>(q: &[Complex; M]) -> f64 {
    let each = q.iter().map(|c| c[0] * c[0] + c[1] * c[1]);
    each.enumerate().map(|(m, s)| if m == 0 { s } else { 2.0 * s }).sum()
}

/// q_l from the q_lm.
fn invariant<const M: usize>(q: &[Complex; M]) -> f64 {
    (4.0 * PI / (2 * M - 1) as f64 * square(q)).sqrt()
}

/// q_4m and q_6m for m >= 0.
#[derive(Clone, Copy, Default)]
struct Moments {
    four: [Complex; 5],
    six: [Complex; 7],
}

impl Moments {
    fn add(&mut self, other: &Moments, weight: f64) {
        for (a, b) in self.four.iter_mut().zip(&other.four).chain(self.six.iter_mut().zip(&other.six)) {
            *a = [a[0] + weight * b[0], a[1] + weight * b[1]];
        }
    }

    /// Spherical harmonics of a direction.
    fn of(d: Vec3) -> Moments {
        let r = d.iter().map(|x| x * x).sum::<f64>().sqrt();
        let [x, y, z] = d.map(|c| c / r);
        let mut moments = Moments::default();
        // Powers of sin(theta) exp(i phi).
        let mut power = [1.0, 0.0];
        for m in 0..=6 {
            if m <= 4 {
                moments.four[m] = power.map(|c| c * polynomial(&HARMONICS.four[m], 4 - m, z));
            }
            moments.six[m] = power.map(|c| c * polynomial(&HARMONICS.six[m], 6 - m, z));
            power = [power[0] * x - power[1] * y, power[0] * y + power[1] * x];
        }
        moments
    }
}

/// Y_lm over (sin(theta) exp(i phi))^m for m >= 0: polynomials in z = cos(theta), whose powers go
/// down from l - m in steps of two.
struct Harmonics {
    four: [[f64; 4]; 5],
    six: [[f64; 4]; 7],
}

static HARMONICS: LazyLock<Harmonics> = LazyLock::new(|| Harmonics {
    four: std::array::from_fn(|m| harmonic(4, m as i32)),
    six: std::array::from_fn(|m| harmonic(6, m as i32)),
});

/// The coefficients of z^(l - m), z^(l - m - 2), ...: the m-th derivative of Legendre's polynomial
/// by Rodrigues' formula, normalised, with the sign of Condon and Shortley.
fn harmonic(l: i32, m: i32) -> [f64; 4] {
    let norm = (f64::from(2 * l + 1) / (4.0 * PI) * factorial(l - m) / factorial(l + m)).sqrt();
    std::array::from_fn(|k| {
        let k = k as i32;
        if l - m - 2 * k < 0 {
            return 0.0;
        }
        let sign = if (k + m) % 2 == 0 { 1.0 } else { -1.0 };
        let below = 2f64.powi(l) * factorial(k) * factorial(l - k) * factorial(l - m - 2 * k);
        sign * norm * factorial(2 * l - 2 * k) / below
    })
}

/// A polynomial of this degree whose powers go down in steps of two.
#[inline]
fn polynomial(coefficients: &[f64; 4], degree: usize, z: f64) -> f64 {
    let square = z * z;
    let even = coefficients[..=degree / 2].iter().fold(0.0, |sum, c| sum * square + c);
    if degree.is_multiple_of(2) { even } else { even * z }
}

fn factorial(n: i32) -> f64 {
    (1..=n).map(f64::from).product()
}

/// Wigner's 3j symbols (6 6 6; a b c), by Racah's formula. Neither the order of a, b, c nor all
/// their signs together change symbol or product, so that each such set is here once, a >= b >= c,
/// with the sum of its symbols.
fn wigner_6() -> Vec<([i32; 3], f64)> {
    let l = 6i32;
    let triangle = factorial(l).powi(3) / factorial(3 * l + 1);
    let symbol = |a: i32, b: i32| {
        let c = -a - b;
        let each = [a, b, c].iter().map(|m| factorial(l + m) * factorial(l - m)).product::<f64>();
        let term = |k: i32| {
            let parts = [k, l - k, l - a - k, l + b - k, a + k, k - b];
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            parts.iter().all(|p| *p >= 0).then(|| sign / parts.iter().map(|p| factorial(*p)).product::<f64>())
        };
        let sign = if c % 2 == 0 { 1.0 } else { -1.0 };
        sign * (triangle * each).sqrt() * (0..=2 * l).filter_map(term).sum::<f64>()
    };
    let sorted = |mut set: [i32; 3]| {
        set.sort_by(|x, y| y.cmp(x));
        set
    };
    let mut sets = BTreeMap::new();
    for (a, b) in (-l..=l).flat_map(|a| (-l..=l).map(move |b| (a, b))).filter(|(a, b)| (a + b).abs() <= l) {
        let set = sorted([a, b, -a - b]).max(sorted([-a, -b, a + b]));
        *sets.entry(set).or_insert(0.0) += symbol(a, b);
    }
    sets.into_iter().collect()
}

/// Neighbours and moments of all atoms, by id.
struct Order {
    lists: Neighbors,
    local: Vec<Moments>,
    /// Over an atom and its neighbours.
    averaged: Vec<Moments>,
}

impl Order {
    fn of(simbox: &SimBox, positions: &[Vec3], cutoff: f64) -> Order {
        let lists = Cells::new(simbox, positions, cutoff).neighbors();
        let atoms = 0..lists.atoms();
        let one = |i: usize| {
            let list = lists.of(i);
            let mut sum = Moments::default();
            list.iter().for_each(|(_, d)| sum.add(&Moments::of(*d), 1.0 / list.len() as f64));
            sum
        };
        let local: Vec<Moments> = atoms.clone().into_par_iter().map(one).collect();
        let around = |i: usize| {
            let list = lists.of(i);
            let weight = 1.0 / (list.len() + 1) as f64;
            let mut sum = Moments::default();
            sum.add(&local[i], weight);
            list.iter().for_each(|(j, _)| sum.add(&local[*j as usize], weight));
            sum
        };
        let averaged = atoms.into_par_iter().map(around).collect();
        Order { lists, local, averaged }
    }
}

/// Atoms nearer than this are neighbours, unless somebody says otherwise: 1.4 times the mean
/// distance, at the first minimum of g(r) in liquids and close-packed crystals.
pub fn neighbor_distance(density: f64) -> f64 {
    1.4 * density.powf(-1.0 / 3.0)
}

/// The averaged q6 of each atom (Lechner and Dellago, eq. 6): near 0.2 in liquids, 0.5 in crystals.
pub fn averaged_q6(simbox: &SimBox, positions: &[Vec3], cutoff: f64) -> Vec<f64> {
    let averaged = Order::of(simbox, positions, cutoff).averaged;
    averaged.iter().map(|moments| invariant(&moments.six)).collect()
}

impl Measure for BondOrder {
    fn add(&mut self, frame: &View) -> Result<()> {
        let Order { lists, local, averaged } = Order::of(frame.simbox, frame.positions, self.cutoff);
        let n = lists.atoms();
        let connected = |i: usize, j: usize| {
            let (a, b) = (&local[i].six, &local[j].six);
            let dot = a
                .iter()
                .zip(b)
                .enumerate()
                .map(|(m, (a, b))| (if m == 0 { 1.0 } else { 2.0 }) * (a[0] * b[0] + a[1] * b[1]));
            dot.sum::<f64>() > self.threshold * (square(a) * square(b)).sqrt()
        };
        let connections = |i: usize| lists.of(i).iter().filter(|(j, _)| connected(i, *j as usize)).count();
        let solid: Vec<bool> = (0..n).into_par_iter().map(|i| connections(i) >= self.connections).collect();
        let bonds = (0..n).filter(|i| solid[*i]).flat_map(|i| {
            let solid = &solid;
            lists.of(i).iter().filter(move |(j, _)| solid[*j as usize]).map(move |(j, _)| (i as u32, *j))
        });
        let in_crystals = solid.iter().filter(|s| **s).count();
        let largest = sizes(n, bonds).keys().next_back().copied().unwrap_or(0).min(in_crystals);
        self.blocks.frame();
        let count = n as f64;
        let with: Vec<usize> = (0..n).filter(|i| !lists.of(*i).is_empty()).collect();
        self.blocks.add(0, lists.iter().map(<[_]>::len).sum::<usize>() as f64 / count);
        for (k, moments) in [&local, &averaged].into_iter().enumerate() {
            // In the order of the atoms, so that sums do not depend on the threads.
            let values: Vec<[f64; 3]> = with
                .par_iter()
                .map(|i| &moments[*i])
                .map(|m| [invariant(&m.four), invariant(&m.six), self.w6(&m.six)])
                .collect();
            for l in 0..3 {
                let sum = values.iter().map(|v| v[l]).sum::<f64>();
                self.blocks.add_weighted(3 * k + 1 + l, sum, with.len() as f64);
            }
        }
        self.blocks.add(7, in_crystals as f64 / count);
        self.blocks.add(8, largest as f64);
        let mut histogram = vec![0.0; 2 * BINS];
        for m in &averaged {
            for (k, q) in [invariant(&m.four), invariant(&m.six)].into_iter().enumerate() {
                histogram[k * BINS + ((q * BINS as f64) as usize).min(BINS - 1)] += BINS as f64 / count;
            }
        }
        histogram.iter().enumerate().for_each(|(k, p)| self.blocks.add(NAMES.len() + k, *p));
        Ok(())
    }

    fn memory(&mut self) -> Vec<&mut dyn Memory> {
        vec![&mut self.blocks]
    }

    fn results(&self) -> Result<Results> {
        let means = self.blocks.means();
        let q = (0..BINS).map(|k| (k as f64 + 0.5) / BINS as f64).collect();
        let mut table = Table::new("bond-order", "q", String::new(), q);
        table.with_errors("p(averaged q4)", "", &means[NAMES.len()..NAMES.len() + BINS]);
        table.with_errors("p(averaged q6)", "", &means[NAMES.len() + BINS..]);
        let mut results = Results { tables: vec![table], values: Vec::new() };
        NAMES.iter().zip(&means).for_each(|(name, value)| results.value(name, "", *value));
        Ok(results)
    }
}
