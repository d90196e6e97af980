//! Ewald's sum over waves, one by one and in f64: slow, exact, what the mesh is tested against.

use crate::blocks::Sums;
use jostle_core::{SimBox, Vec3};
use jostle_potentials::Spectrum;
use jostle_potentials::electrostatics::waves::{reciprocal, virial, wave_vector};
use std::f64::consts::PI;

/// The waves of a box.
pub struct Waves {
    /// Multiples of the reciprocal edges; of each wave and its opposite only one.
    numbers: Vec<[i32; 3]>,
    /// Wave vectors.
    vectors: Vec<Vec3>,
    /// Twice the energy of an amplitude's square, the opposite wave included.
    weights: Vec<f64>,
    /// The virial's part along the wave vector, relative to the energy.
    along: Vec<f64>,
    most: [usize; 3],
}

impl Waves {
    /// All waves of a box up to the largest wave number, but the one that is the same everywhere.
    pub fn new(simbox: &SimBox, spectrum: Spectrum, longest: f64) -> Waves {
        let reciprocal = reciprocal(simbox);
        let edges = simbox.edges();
        let length = |v: Vec3| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        let most = edges.map(|edge| (longest * length(edge) / (2.0 * PI)).floor() as i32);
        let mut waves = Waves {
            numbers: Vec::new(),
            vectors: Vec::new(),
            weights: Vec::new(),
            along: Vec::new(),
            most: most.map(|m| m as usize),
        };
        for x in 0..=most[0] {
            for y in -most[1]..=most[1] {
                for z in -most[2]..=most[2] {
                    let first = [x, y, z].into_iter().find(|n| *n != 0).unwrap_or(0);
                    let k = wave_vector([x, y, z].map(f64::from), reciprocal);
                    let k2 = k.iter().map(|x| x * x).sum::<f64>();
                    if first <= 0 || k2 > longest * longest {
                        continue;
                    }
                    let [weight, along] = spectrum.weight(k2, simbox.volume());
                    waves.numbers.push([x, y, z]);
                    waves.vectors.push(k);
                    waves.weights.push(2.0 * weight);
                    waves.along.push(along);
                }
            }
        }
        waves
    }

    /// The waves of every atom along the three edges, cosine and sine: by edge, multiple, atom.
    fn phases(&self, simbox: &SimBox, positions: &[Vec3]) -> [Vec<[f64; 2]>; 3] {
        let n = positions.len();
        let fractional: Vec<Vec3> = positions.iter().map(|r| simbox.to_fractional(*r)).collect();
        std::array::from_fn(|d| {
            let mut phases = Vec::with_capacity((self.most[d] + 1) * n);
            for m in 0..=self.most[d] {
                let phase = |s: &Vec3| {
                    let (sin, cos) = (2.0 * PI * (m as f64 * s[d]).fract()).sin_cos();
                    [cos, sin]
                };
                phases.extend(fractional.iter().map(phase));
            }
            phases
        })
    }

    /// Amplitudes of some charges in all waves.
    pub fn amplitudes(&self, simbox: &SimBox, positions: &[Vec3], charges: &[f64]) -> Vec<[f64; 2]> {
        let phases = self.phases(simbox, positions);
        let amplitude = |numbers: &[i32; 3]| {
            let mut sum = [0.0; 2];
            for (a, q) in charges.iter().enumerate() {
                let [cos, sin] = phase(&phases, numbers, charges.len(), a);
                sum[0] += q * cos;
                sum[1] += q * sin;
            }
            sum
        };
        self.numbers.iter().map(amplitude).collect()
    }

    /// Energy and virial of all waves.
    pub fn sums(&self, amplitudes: &[[f64; 2]]) -> Sums {
        let mut sums = Sums::default();
        for (w, [re, im]) in amplitudes.iter().enumerate() {
            let energy = 0.5 * self.weights[w] * (re * re + im * im);
            sums.add_wave(energy, self.along[w], self.vectors[w]);
        }
        sums
    }

    /// The forces of all waves on some of the charges.
    pub fn forces(
        &self,
        simbox: &SimBox,
        positions: &[Vec3],
        charges: &[f64],
        amplitudes: &[[f64; 2]],
    ) -> Vec<Vec3> {
        let phases = self.phases(simbox, positions);
        let mut forces = vec![[0.0; 3]; positions.len()];
        for (w, [re, im]) in amplitudes.iter().enumerate() {
            for (a, force) in forces.iter_mut().enumerate() {
                let [cos, sin] = phase(&phases, &self.numbers[w], charges.len(), a);
                let pull = self.weights[w] * charges[a] * (sin * re - cos * im);
                for k in 0..3 {
                    force[k] += pull * self.vectors[w][k];
                }
            }
        }
        forces
    }
}

/// The wave of some multiples at an atom.
#[inline(always)]
fn phase(phases: &[Vec<[f64; 2]>; 3], numbers: &[i32; 3], n: usize, atom: usize) -> [f64; 2] {
    let along = |d: usize| {
        let [cos, sin] = phases[d][numbers[d].unsigned_abs() as usize * n + atom];
        if numbers[d] < 0 { [cos, -sin] } else { [cos, sin] }
    };
    let times = |[a, b]: [f64; 2], [c, d]: [f64; 2]| [a * c - b * d, a * d + b * c];
    times(along(0), times(along(1), along(2)))
}

impl Sums {
    /// Adds other sums.
    pub(super) fn join(&mut self, other: &Sums) {
        self.energy += other.energy;
        self.virial.iter_mut().zip(other.virial).for_each(|(w, part)| *w += part);
    }

    /// Adds a wave's energy and virial.
    pub(super) fn add_wave(&mut self, energy: f64, along: f64, k: Vec3) {
        self.energy += energy;
        self.virial.iter_mut().zip(virial(energy, along, k)).for_each(|(w, part)| *w += part);
    }
}
