//! Ewald's sum in reciprocal space, vector by vector and in f64: slow, exact, the reference of the mesh.

use crate::blocks::Sums;
use crate::threads::Team;
use jostle_core::{SimBox, Vec3};
use jostle_potentials::Spectrum;
use jostle_potentials::electrostatics::reciprocal_space::{Wave, virial};
use std::f64::consts::PI;

/// The reciprocal-space vectors of a box.
pub struct EwaldSum {
    waves: Vec<Wave>,
    most: [usize; 3],
}

impl EwaldSum {
    /// Sum over all reciprocal-space vectors of a box up to the largest wave number, without zero.
    pub fn new(simbox: &SimBox, spectrum: Spectrum, longest: f64) -> EwaldSum {
        let most = Wave::most(simbox, longest).map(|m| m as usize);
        EwaldSum { waves: Wave::all(simbox, spectrum, longest), most }
    }

    /// Number of reciprocal-space vectors.
    pub fn n_waves(&self) -> usize {
        self.waves.len()
    }

    /// Phase factors of every atom along the three edges, cosine and sine: by edge, multiple, atom.
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

    /// Structure factors of some charges.
    pub fn amplitudes(&self, simbox: &SimBox, positions: &[Vec3], charges: &[f64]) -> Vec<[f64; 2]> {
        let phases = self.phases(simbox, positions);
        let amplitude = |wave: &Wave| {
            let mut sum = [0.0; 2];
            for (a, q) in charges.iter().enumerate() {
                let [cos, sin] = phase(&phases, &wave.numbers, charges.len(), a);
                sum[0] += q * cos;
                sum[1] += q * sin;
            }
            sum
        };
        self.waves.iter().map(amplitude).collect()
    }

    /// Energy and virial.
    pub fn sums(&self, amplitudes: &[[f64; 2]]) -> Sums {
        let mut sums = Sums::default();
        for (wave, [re, im]) in self.waves.iter().zip(amplitudes) {
            let energy = 0.5 * wave.weight * (re * re + im * im);
            sums.add_mode(energy, wave.along, wave.vector);
        }
        sums
    }

    /// Reciprocal-space forces on some of the charges.
    pub fn forces(
        &self,
        simbox: &SimBox,
        positions: &[Vec3],
        charges: &[f64],
        amplitudes: &[[f64; 2]],
    ) -> Vec<Vec3> {
        let phases = self.phases(simbox, positions);
        let mut forces = vec![Vec3::ZERO; positions.len()];
        for (wave, [re, im]) in self.waves.iter().zip(amplitudes) {
            for (a, force) in forces.iter_mut().enumerate() {
                let [cos, sin] = phase(&phases, &wave.numbers, charges.len(), a);
                let magnitude = wave.weight * charges[a] * (sin * re - cos * im);
                *force += magnitude * wave.vector;
            }
        }
        forces
    }

    /// Current of the energies of charges in reciprocal space, which move with these velocities: for each vector, half
    /// the energy of a charge in the potential of all goes with it, and so does the virial.
    pub fn heat_current(
        &self,
        team: &Team,
        simbox: &SimBox,
        positions: &[Vec3],
        charges: &[f64],
        velocities: &[Vec3],
    ) -> Vec3 {
        let phases = self.phases(simbox, positions);
        let of_wave = |wave: &Wave| {
            let (mut charge, mut moving) = ([0.0; 2], [Vec3::ZERO; 2]);
            for (a, (q, v)) in charges.iter().zip(velocities).enumerate() {
                let phase = phase(&phases, &wave.numbers, charges.len(), a);
                for k in 0..2 {
                    charge[k] += q * phase[k];
                    moving[k] += q * phase[k] * *v;
                }
            }
            let energy = 0.5 * wave.weight * (charge[0] * moving[0] + charge[1] * moving[1]);
            let [xx, yy, zz, xy, xz, yz] = wave.virial(1.0);
            let rows = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]];
            energy + Vec3::from_fn(|k| energy.dot(rows[k].into()))
        };
        let chunk = self.waves.len().div_ceil(4 * team.size()).max(1);
        let currents =
            team.map(self.waves.chunks(chunk).collect(), |_, waves| waves.iter().map(of_wave).sum::<Vec3>());
        currents.into_iter().sum()
    }
}

/// Phase factor of some multiples at an atom.
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

    /// Adds the energy and virial of a reciprocal-space vector.
    pub(super) fn add_mode(&mut self, energy: f64, along: f64, k: Vec3) {
        self.energy += energy;
        self.virial.iter_mut().zip(virial(energy, along, k)).for_each(|(w, part)| *w += part);
    }
}
