//! The static structure factor directly: S(q) = |sum exp(iq.r)|^2 / N at the wave vectors that fit
//! the box.

use super::{Frames, Kind, Measure, Observable};
use crate::blocks::Blocks;
use crate::limits;
use crate::report::{Results, Table, unit};
use crate::saved_state::SavedState;
use crate::settings::{MeasureSettings, Setting};
use crate::view::{SystemInfo, View};
use jostle_core::{Dimension, Error, Result, SimBox, Vec3, Vector};
use multiversion::multiversion;
use rayon::prelude::*;
use std::f64::consts::TAU;

pub(super) const KIND: Kind = Kind {
    name: "structure-factor",
    about: "static structure factor S(q) over the wave vectors of the box",
    observable: Observable::Positions,
    frames: Frames::EachAlone,
    settings: &[
        Setting {
            name: "largest",
            dimension: Dimension::INVERSE_LENGTH,
            default: None,
            about: "largest wave number [default: 3 times 2 pi over the mean distance, less in large boxes]",
        },
        Setting { name: "bins", dimension: Dimension::NUMBER, default: Some(100.0), about: "number of bins" },
    ],
    new: |system_info, settings| Ok(Box::new(StructureFactor::new(system_info, settings)?)),
};

/// Bytes for each wave vector: itself, its value and a wave of [`LANES`] atoms.
const BYTES: f64 = (size_of::<[i32; 3]>() + size_of::<(f64, f64)>() + size_of::<Phases>()) as f64;
/// Hint where there are too many wave vectors.
const SHORTER: &str = "choose a smaller wave number: largest=...; is the box what it should be?";
/// Number of wave vectors by default.
const VECTORS: f64 = 20_000.0;

struct StructureFactor {
    system_info: SystemInfo,
    largest: f64,
    bins: usize,
    /// Half of the wave vectors, as multiples of the reciprocal edges: S(-q) = S(q).
    vectors: Vec<[i32; 3]>,
    /// For each bin the mean of S, then that of |q|.
    blocks: Blocks,
}

impl StructureFactor {
    fn new(system_info: &SystemInfo, settings: &MeasureSettings) -> Result<Self> {
        let simbox = &system_info.simbox;
        if simbox.periodic() != [true; 3] {
            return Err(Error::input("wave vectors need a box that is periodic along all axes"));
        }
        let affordable = (VECTORS * 12.0 * std::f64::consts::PI.powi(2) / simbox.volume()).cbrt();
        let largest =
            settings.positive("largest", affordable.min(3.0 * TAU * system_info.density().cbrt()))?;
        let bins = settings.count("bins", 100, 1..=100_000)?;
        let edges = simbox.edges();
        let most: Vec3 = Vector(edges.map(|edge| (largest * norm(edge) / TAU).floor()));
        let candidates = most.iter().map(|n| 2.0 * n + 1.0).product::<f64>() / 2.0;
        limits::work(candidates * system_info.species.len() as f64, "wave vectors times atoms", SHORTER)?;
        limits::memory(candidates * BYTES, &format!("{candidates:.3e} wave vectors"), SHORTER)?;
        let most = most.map(|n| n as i32);
        let mut vectors = Vec::new();
        for x in 0..=most[0] {
            for y in -most[1]..=most[1] {
                for z in -most[2]..=most[2] {
                    if (x, y, z) > (0, 0, 0) && norm(wave_vector(simbox, [x, y, z])) <= largest {
                        vectors.push([x, y, z]);
                    }
                }
            }
        }
        if vectors.is_empty() {
            return Err(Error::input(format!(
                "no wave vector of the box is as short as largest = {largest}"
            ))
            .hint(format!("the shortest is {}", TAU / simbox.lengths().into_iter().fold(0.0, f64::max))));
        }
        let blocks = Blocks::new(2 * bins);
        Ok(StructureFactor { system_info: system_info.clone(), largest, bins, vectors, blocks })
    }
}

fn norm(v: Vec3) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// 2 pi times the fractional coordinates' gradient: q.r is 2 pi n.s.
fn wave_vector(simbox: &SimBox, n: [i32; 3]) -> Vec3 {
    let ([lx, ly, lz], [xy, xz, yz]) = (simbox.lengths(), simbox.tilts());
    let [a, b, c] = n.map(f64::from);
    let qx = a / lx;
    let qy = (b - qx * xy) / ly;
    Vector([TAU * qx, TAU * qy, TAU * (c - qx * xz - qy * yz) / lz])
}

impl Measure for StructureFactor {
    fn add(&mut self, frame: &View) -> Result<()> {
        let n = frame.positions.len() as f64;
        let phases: Vec<[Phases; 3]> =
            frame.positions.chunks(LANES).map(|r| phases(frame.simbox, r)).collect();
        let rows = rows(&self.vectors);
        let values: Vec<Vec<(f64, f64)>> = rows
            .into_par_iter()
            .map(|row| {
                let mut sums = vec![Phases::ZERO; row.len()];
                phases.iter().for_each(|phases| add_waves(row[0], phases, &mut sums));
                let sums = sums.iter().map(|sum| [&sum.re, &sum.im].map(|part| part.iter().sum::<f64>()));
                let s = sums.map(|[re, im]| (re * re + im * im) / n);
                row.iter().map(|v| norm(wave_vector(frame.simbox, *v))).zip(s).collect()
            })
            .collect();
        self.blocks.frame();
        for (q, s) in values.into_iter().flatten() {
            let bin = ((q / self.largest * self.bins as f64) as usize).min(self.bins - 1);
            self.blocks.add(bin, s);
            self.blocks.add(self.bins + bin, q);
        }
        Ok(())
    }

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        vec![&mut self.blocks]
    }

    fn results(&self) -> Result<Results> {
        let means = self.blocks.means();
        let (s, q) = means.split_at(self.bins);
        let met: Vec<usize> = (0..self.bins).filter(|k| q[*k].0.is_finite()).collect();
        let wave_numbers = met.iter().map(|k| q[*k].0).collect();
        let mut table =
            Table::new("structure-factor", "q", unit(self.system_info.units, -1, 0), wave_numbers);
        table.with_errors("S", "", &met.iter().map(|k| s[*k]).collect::<Vec<_>>());
        Ok(Results { tables: vec![table], ..Results::default() })
    }
}

/// Runs of wave vectors that differ along the last axis only.
fn rows(vectors: &[[i32; 3]]) -> Vec<&[[i32; 3]]> {
    vectors.chunk_by(|a, b| a[..2] == b[..2] && a[2] + 1 == b[2]).collect()
}

/// Number of atoms that are evaluated at once.
const LANES: usize = 32;

/// exp(i q.r) of several atoms, real and imaginary parts.
#[derive(Debug, Clone, Copy)]
struct Phases {
    re: [f64; LANES],
    im: [f64; LANES],
}

/// exp(i 2 pi s) of at most as many atoms along each axis.
fn phases(simbox: &SimBox, positions: &[Vec3]) -> [Phases; 3] {
    let mut phases = [Phases::ZERO; 3];
    for (lane, r) in positions.iter().enumerate() {
        for (phases, s) in phases.iter_mut().zip(simbox.to_fractional(*r)) {
            (phases.im[lane], phases.re[lane]) = (TAU * s).sin_cos();
        }
    }
    phases
}

impl Phases {
    const ZERO: Phases = Phases { re: [0.0; LANES], im: [0.0; LANES] };

    #[inline(always)]
    fn times(&mut self, other: &Phases) {
        for k in 0..LANES {
            let (re, im) = (self.re[k], self.im[k]);
            self.re[k] = re * other.re[k] - im * other.im[k];
            self.im[k] = re * other.im[k] + im * other.re[k];
        }
    }

    /// Multiplies by a whole power of numbers of modulus 1.
    #[inline(always)]
    fn times_power(&mut self, mut base: Phases, exponent: i32) {
        if exponent < 0 {
            base.im.iter_mut().for_each(|im| *im = -*im);
        }
        let mut left = exponent.unsigned_abs();
        while left > 0 {
            if left & 1 == 1 {
                self.times(&base);
            }
            let square = base;
            base.times(&square);
            left >>= 1;
        }
    }
}

/// Adds the contributions of atoms to wave vectors that differ along the last axis only, from the first on.
#[multiversion(targets("x86_64+avx2"))]
fn add_waves([x, y, first]: [i32; 3], [px, py, pz]: &[Phases; 3], sums: &mut [Phases]) {
    let mut e = Phases::ZERO;
    for k in 0..LANES {
        // Lanes without an atom have nothing.
        e.re[k] = if pz.re[k] == 0.0 && pz.im[k] == 0.0 { 0.0 } else { 1.0 };
    }
    e.times_power(*px, x);
    e.times_power(*py, y);
    e.times_power(*pz, first);
    for sum in sums {
        for k in 0..LANES {
            sum.re[k] += e.re[k];
            sum.im[k] += e.im[k];
        }
        e.times(pz);
    }
}
