//! Points and modes of a mesh.

use crate::blocks::Sums;
use crate::simd::Scalar;
use jostle_core::{SimBox, Vec3};
use jostle_fourier::Complex;
use jostle_potentials::Spectrum;
use jostle_potentials::electrostatics::mesh;
use jostle_potentials::electrostatics::reciprocal_space::{reciprocal, wave_vector};
use jostle_potentials::electrostatics::spline::moduli;
use std::ops::Range;

/// Points of the mesh, and factors of its modes.
pub(super) struct MeshGrid {
    pub simbox: SimBox,
    pub spectrum: Spectrum,
    pub order: usize,
    pub n: [usize; 3],
    pub reciprocal: [Vec3; 3],
    /// Factors that correct for the splines, by edge and wave number.
    moduli: [Vec<f64>; 3],
}

impl MeshGrid {
    /// Mesh of a box, with points no further apart than `spacing`.
    pub fn new(simbox: &SimBox, spectrum: Spectrum, order: usize, spacing: f64) -> MeshGrid {
        let n = mesh(simbox, order, spacing);
        let (reciprocal, moduli) = (reciprocal(simbox), n.map(|n| moduli(order, n)));
        MeshGrid { simbox: *simbox, spectrum, order, n, reciprocal, moduli }
    }

    /// The wave vector of some wave numbers.
    fn wave(&self, numbers: [usize; 3]) -> Vec3 {
        let signed = |d: usize| {
            let (m, n) = (numbers[d] as f64, self.n[d] as f64);
            if 2.0 * m > n { m - n } else { m }
        };
        wave_vector([0, 1, 2].map(signed), self.reciprocal)
    }

    /// Influence function, by which amplitudes are multiplied, by wave numbers along z, y, x: those of some columns, of
    /// which there is one for each wave number along z and y.
    pub fn influence_of<S: Scalar>(&self, columns: Range<usize>) -> Vec<S> {
        let [n_x, n_y, _] = self.n;
        let mut influence = Vec::with_capacity(n_x * columns.len());
        for (y, z) in columns.map(|column| (column % n_y, column / n_y)) {
            influence.extend((0..n_x).map(|x| S::from_f64(self.influence([x, y, z])[0])));
        }
        influence
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        self.n[1] * (self.n[2] / 2 + 1)
    }

    /// Influence function of a wave vector, and the virial's part along it.
    fn influence(&self, numbers: [usize; 3]) -> [f64; 2] {
        if numbers == [0; 3] {
            return [0.0; 2];
        }
        let k2: f64 = self.wave(numbers).iter().map(|x| x * x).sum();
        let [weight, along] = self.spectrum.weight(k2, self.simbox.volume());
        let moduli: f64 = (0..3).map(|d| self.moduli[d][numbers[d]]).product();
        [weight * moduli, along]
    }

    /// Adds energies and virials of all wave numbers along x.
    pub fn add_modes<S: Scalar>(&self, [y, z]: [usize; 2], modes: &[Complex<S>], sums: &mut Sums) {
        // Modes of all other planes stand for their opposites, too.
        let share = if z == 0 || 2 * z == self.n[2] { 0.5 } else { 1.0 };
        for (x, wave) in modes.iter().enumerate() {
            let square = wave.re.to_f64().powi(2) + wave.im.to_f64().powi(2);
            let [weight, along] = self.influence([x, y, z]);
            sums.add_mode(share * weight * square, along, self.wave([x, y, z]));
        }
    }
}
