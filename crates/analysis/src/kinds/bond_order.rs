//! Bond-orientational order: Steinhardt's q4, q6 and W6, local and averaged over neighbours, and
//! atoms that are in a crystal.

use super::clusters::sizes;
use super::shells::{LARGER, Narrowest};
use super::{Frames, Kind, Measure, Observable};
use crate::blocks::Blocks;
use crate::cells::{Cells, Neighbors};
use crate::report::{Results, Table};
use crate::saved_state::SavedState;
use crate::settings::{MeasureSettings, Setting};
use crate::view::{SystemInfo, View};
use crate::warning::{Verdict, digits};
use jostle_core::{Dimension, Error, Result, SimBox, Vec3};
use multiversion::multiversion;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::f64::consts::PI;
use std::ops::Range;
use std::sync::LazyLock;

pub(super) const KIND: Kind = Kind {
    name: "bond-order",
    about: "q4, q6, W6 (local and averaged over neighbours), atoms in a crystal and the largest crystal",
    observable: Observable::Positions,
    frames: Frames::EachAlone,
    settings: &[
        Setting {
            name: "cutoff",
            dimension: Dimension::LENGTH,
            default: None,
            about: "distance of neighbours [default: 1.4 times the mean distance, density^(-1/3); must be given in a box with an open axis, which has no density]",
        },
        Setting {
            name: "threshold",
            dimension: Dimension::NUMBER,
            default: Some(0.5),
            about: "least correlation of q6 of two neighbours that are connected, -1 to 1",
        },
        Setting {
            name: "connections",
            dimension: Dimension::NUMBER,
            default: Some(7.0),
            about: "connections from which on an atom is in a crystal",
        },
    ],
    new: |system_info, settings| Ok(Box::new(BondOrder::new(system_info, settings)?)),
};

/// Neighbours of an atom, on average, from which on it is no order of its surroundings that they have; in a crystal there
/// are so many within five distances of nearest neighbours.
const MOST_NEIGHBORS: f64 = 1000.0;
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
    /// The values of [`NAMES`], then the distributions, last the part of atoms that have neighbours.
    blocks: Blocks,
    narrowest: Narrowest,
}

/// Values that are means over atoms with neighbours.
const OF_NEIGHBORS: Range<usize> = 1..7;
/// Place of the part of atoms that have neighbours.
const ACCOMPANIED: usize = NAMES.len() + 2 * BINS;

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
    fn new(system_info: &SystemInfo, settings: &MeasureSettings) -> Result<Self> {
        if settings.get("cutoff").is_none() && system_info.simbox.periodic().contains(&false) {
            let message = "along an open axis a box has no length, so that no density gives the distance of neighbours: the cutoff must be given";
            return Err(Error::input(message).hint("cutoff=1.5, with the first minimum of g(r)"));
        }
        let cutoff = settings.positive("cutoff", neighbor_distance(system_info.density()))?;
        let threshold = settings.get("threshold").unwrap_or(0.5);
        if !(-1.0..=1.0).contains(&threshold) {
            let message = format!("threshold = {threshold}, but correlations are from -1 to 1");
            return Err(Error::input(message).hint("threshold=0.5"));
        }
        let connections = settings.count("connections", 7, 1..=100)?;
        let (blocks, narrowest) = (Blocks::new(ACCOMPANIED + 1), Narrowest::new());
        Ok(BondOrder { cutoff, threshold, connections, wigner: wigner_6(), blocks, narrowest })
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
}

/// Real and imaginary parts of [`Moments`].
const PARTS: usize = 24;

/// Number of directions that are evaluated at once.
const ROW: usize = 64;

/// Spherical harmonics of many directions: each part of [`Moments`], in its order, one number a
/// direction.
type Harmonics = [[f64; ROW]; PARTS];

/// Spherical harmonics of vectors (x, y, z) that are not zero.
#[multiversion(targets("x86_64+avx2"))]
fn harmonics([x, y, z]: &mut [[f64; ROW]; 3], harmonics: &mut Harmonics) {
    let coefficients = &*COEFFICIENTS;
    for k in 0..ROW {
        let r = (x[k] * x[k] + y[k] * y[k] + z[k] * z[k]).sqrt();
        (x[k], y[k], z[k]) = (x[k] / r, y[k] / r, z[k] / r);
    }
    // Powers of sin(theta) exp(i phi).
    let mut power = [[1.0; ROW], [0.0; ROW]];
    let (four, six) = harmonics.split_at_mut(2 * 5);
    for m in 0..=6 {
        for (l, of) in [(4, &mut *four), (6, &mut *six)] {
            if m > l {
                continue;
            }
            let ([a, b, c, d], odd) = (coefficients[l / 2 - 2][m], m % 2 == 1);
            let [re, im] = [0, 1].map(|part| 2 * m + part);
            for k in 0..ROW {
                let square = z[k] * z[k];
                let even = ((a * square + b) * square + c) * square + d;
                let value = if odd { even * z[k] } else { even };
                of[re][k] = power[0][k] * value;
                of[im][k] = power[1][k] * value;
            }
        }
        for k in 0..ROW {
            (power[0][k], power[1][k]) =
                (power[0][k] * x[k] - power[1][k] * y[k], power[0][k] * y[k] + power[1][k] * x[k]);
        }
    }
}

/// Y_lm over (sin(theta) exp(i phi))^m for l of 4 and 6 and m >= 0: polynomials in z = cos(theta),
/// whose powers go down in steps of two to 1 or 0.
static COEFFICIENTS: LazyLock<[[[f64; 4]; 7]; 2]> =
    LazyLock::new(|| [4, 6].map(|l| std::array::from_fn(|m| harmonic(l, m as i32))));

/// The coefficients: the m-th derivative of Legendre's polynomial by Rodrigues' formula, normalised,
/// with the sign of Condon and Shortley.
fn harmonic(l: i32, m: i32) -> [f64; 4] {
    if m > l {
        return [0.0; 4];
    }
    let norm = (f64::from(2 * l + 1) / (4.0 * PI) * factorial(l - m) / factorial(l + m)).sqrt();
    std::array::from_fn(|place| {
        // Coefficient of z^(l - m - 2 k).
        let k = (l - m) / 2 - (3 - place as i32);
        if k < 0 {
            return 0.0;
        }
        let sign = if (k + m) % 2 == 0 { 1.0 } else { -1.0 };
        let below = 2f64.powi(l) * factorial(k) * factorial(l - k) * factorial(l - m - 2 * k);
        sign * norm * factorial(2 * l - 2 * k) / below
    })
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
struct LocalOrder {
    lists: Neighbors,
    local: Vec<Moments>,
    /// Over an atom and its neighbours.
    averaged: Vec<Moments>,
}

impl LocalOrder {
    fn of(simbox: &SimBox, positions: &[Vec3], cutoff: f64) -> Result<LocalOrder> {
        Ok(LocalOrder::of_neighbors(Cells::new(simbox, positions, cutoff)?.neighbors()?))
    }

    fn of_neighbors(lists: Neighbors) -> LocalOrder {
        let mut local = vec![Moments::default(); lists.atoms()];
        local.par_chunks_mut(ROW).enumerate().for_each(|(k, part)| add_harmonics(&lists, k * ROW, part));
        let around = |i: usize| {
            let list = lists.of(i);
            let weight = 1.0 / (list.len() + 1) as f64;
            let mut sum = Moments::default();
            sum.add(&local[i], weight);
            list.iter().for_each(|(j, _)| sum.add(&local[*j as usize], weight));
            sum
        };
        let averaged = (0..lists.atoms()).into_par_iter().map(around).collect();
        LocalOrder { lists, local, averaged }
    }
}

/// Averages the harmonics of the neighbours of some atoms that follow each other.
fn add_harmonics(lists: &Neighbors, first: usize, local: &mut [Moments]) {
    let mut ways = (0..local.len()).flat_map(|i| lists.of(first + i).iter().map(move |(_, d)| (i, d)));
    let (mut directions, mut values, mut of) = ([[1.0; ROW]; 3], [[0.0; ROW]; PARTS], Vec::new());
    loop {
        of.clear();
        for (place, (i, d)) in ways.by_ref().take(ROW).enumerate() {
            (0..3).for_each(|k| directions[k][place] = d[k]);
            of.push(i);
        }
        if of.is_empty() {
            break;
        }
        harmonics(&mut directions, &mut values);
        for (place, i) in of.iter().enumerate() {
            let moments = local[*i].four.iter_mut().chain(&mut local[*i].six);
            for (sum, [re, im]) in moments.zip(values.as_chunks::<2>().0) {
                *sum = [sum[0] + re[place], sum[1] + im[place]];
            }
        }
    }
    for (i, moments) in local.iter_mut().enumerate() {
        let weight = 1.0 / lists.of(first + i).len().max(1) as f64;
        moments.four.iter_mut().chain(&mut moments.six).for_each(|sum| *sum = sum.map(|part| weight * part));
    }
}

/// Atoms nearer than this are neighbours by default: 1.4 times the mean
/// distance, at the first minimum of g(r) in liquids and close-packed crystals.
pub fn neighbor_distance(density: f64) -> f64 {
    1.4 * density.powf(-1.0 / 3.0)
}

/// The averaged q6 of each atom (Lechner and Dellago, eq. 6): near 0.2 in liquids, 0.5 in crystals.
///
/// # Errors
/// If the box has no volume, or there are too many neighbours.
pub fn averaged_q6(simbox: &SimBox, positions: &[Vec3], cutoff: f64) -> Result<Vec<f64>> {
    let averaged = LocalOrder::of(simbox, positions, cutoff)?.averaged;
    Ok(averaged.iter().map(|moments| invariant(&moments.six)).collect())
}

impl Measure for BondOrder {
    fn add(&mut self, frame: &View) -> Result<()> {
        let LocalOrder { lists, local, averaged } = LocalOrder::of_neighbors(self.neighbors(frame)?);
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
        self.narrowest.add(frame.simbox);
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
        for m in with.iter().map(|i| &averaged[*i]) {
            for (k, q) in [invariant(&m.four), invariant(&m.six)].into_iter().enumerate() {
                histogram[k * BINS + ((q * BINS as f64) as usize).min(BINS - 1)] += BINS as f64;
            }
        }
        let accompanied = with.len() as f64;
        for (k, p) in histogram.iter().enumerate() {
            self.blocks.add_weighted(NAMES.len() + k, *p, accompanied);
        }
        self.blocks.add(ACCOMPANIED, accompanied / count);
        Ok(())
    }

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        vec![&mut self.blocks, &mut self.narrowest]
    }

    fn results(&self) -> Result<Results> {
        let means = self.blocks.means();
        let accompanied = means[ACCOMPANIED].0;
        let mut results = Results::default();
        if let Some(doubt) = self.narrowest.judge(self.cutoff) {
            results.warn("bond order", doubt, LARGER);
        }
        if accompanied < 1.0 {
            results.warn("q4, q6 and w6", self.alone(accompanied), "a longer cutoff");
        }
        let is_known = |k: &usize| accompanied > 0.0 || !OF_NEIGHBORS.contains(k);
        (0..NAMES.len()).filter(is_known).for_each(|k| results.value(NAMES[k], "", means[k]));
        if accompanied == 0.0 {
            return Ok(results);
        }
        let q = (0..BINS).map(|k| (k as f64 + 0.5) / BINS as f64).collect();
        let mut table = Table::new("bond-order", "q", String::new(), q);
        table.with_errors("p(averaged q4)", "", &means[NAMES.len()..NAMES.len() + BINS]);
        table.with_errors("p(averaged q6)", "", &means[NAMES.len() + BINS..ACCOMPANIED]);
        results.tables.push(table);
        Ok(results)
    }
}

impl BondOrder {
    /// The neighbours of the atoms of a frame.
    fn neighbors(&self, frame: &View) -> Result<Neighbors> {
        let lists = Cells::new(frame.simbox, frame.positions, self.cutoff)?.neighbors()?;
        let each = lists.iter().map(<[_]>::len).sum::<usize>() as f64 / lists.atoms().max(1) as f64;
        match each <= MOST_NEIGHBORS {
            true => Ok(lists),
            false => Err(Error::input(format!(
                "atoms have {each:.3e} neighbours within {} on average; {MOST_NEIGHBORS:.0e} are allowed",
                self.cutoff
            ))
            .hint("choose a shorter distance, such as the first minimum of g(r)")),
        }
    }

    /// The verdict on means over atoms with neighbours, which are this part of all.
    fn alone(&self, accompanied: f64) -> (Verdict, String) {
        let cutoff = digits(self.cutoff);
        match accompanied > 0.0 {
            true => {
                let share = digits(100.0 * (1.0 - accompanied));
                let reason = format!(
                    "{share} % of the atoms have no neighbour within the cutoff, {cutoff}, and means and distributions are those of the others"
                );
                (Verdict::Doubtful, reason)
            }
            false => (Verdict::Withheld, format!("no atom has a neighbour within the cutoff, {cutoff}")),
        }
    }
}
