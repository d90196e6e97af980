//! Memory that forces need, as an estimate before it is allocated.

use crate::electrostatics::Method;
use crate::electrostatics::reciprocal_space::Wave;
use crate::{Forces, LatticeSum};
use jostle_core::SimBox;
use std::f64::consts::PI;

/// Bytes for each point of a mesh, at least: the mesh itself and half as many numbers of its modes, in single
/// precision.
const BYTES_PER_POINT: f64 = 6.0;

/// Bytes for each wave of Ewald's sum, and for each phase of an atom along an edge.
const BYTES_PER_WAVE: f64 = size_of::<Wave>() as f64;
const BYTES_PER_PHASE: f64 = 16.0;

impl Forces {
    /// Bytes that reciprocal-space sums need in a box, at least, with so many atoms: what a mesh of so many points
    /// takes, or so many wave vectors. Infinite where numbers are out of all bounds.
    pub fn reciprocal_bytes(&self, simbox: &SimBox, atoms: usize) -> f64 {
        self.sums().map(|sum| bytes_of_sum(&sum, simbox, atoms)).sum()
    }
}

fn bytes_of_sum(sum: &LatticeSum, simbox: &SimBox, atoms: usize) -> f64 {
    let lengths = simbox.edges().map(|edge| edge.iter().map(|x| x * x).sum::<f64>().sqrt());
    match sum.method() {
        Method::Cutoff | Method::ReactionField { .. } => 0.0,
        Method::Pme { order, spacing, .. } => {
            let points = lengths.map(|length| (length / spacing).ceil().max(2.0 * order as f64));
            BYTES_PER_POINT * points.iter().product::<f64>()
        }
        Method::Ewald { longest, .. } => {
            // Half of all wave vectors in a sphere, for of a wave and its opposite there is only one.
            let all = 4.0 / 3.0 * PI * longest.powi(3) * simbox.volume() / (2.0 * PI).powi(3);
            let phases = lengths.map(|length| longest * length / (2.0 * PI)).iter().sum::<f64>();
            0.5 * BYTES_PER_WAVE * all + BYTES_PER_PHASE * phases * atoms as f64
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Electrostatics;
    use crate::electrostatics::mesh;

    /// The estimate is no more than the sums then use, and not much less.
    #[test]
    fn estimates_of_meshes_and_waves_are_close() {
        let simbox = SimBox::new([0.0; 3], [30.0, 25.0, 41.0], [5.0, 0.0, -3.0], [true; 3]).unwrap();
        let bytes = |method| {
            let charges = Electrostatics::new(method, 1.0, 9.0);
            let forces = Forces { electrostatics: Some(charges), ..Forces::default() };
            forces.reciprocal_bytes(&simbox, 0)
        };
        let points = mesh(&simbox, 4, 0.9).iter().product::<usize>() as f64;
        let said = bytes(Method::Pme { alpha: 0.3, order: 4, spacing: 0.9 }) / BYTES_PER_POINT;
        assert!(said <= points && said > 0.6 * points, "{said} {points}");
        let sum = LatticeSum::Charges(Electrostatics::new(Method::ewald(9.0, 1e-5), 1.0, 9.0));
        let (Method::Ewald { longest, .. }, Some(spectrum)) = (sum.method(), sum.spectrum()) else {
            unreachable!("a sum in reciprocal space")
        };
        let waves = Wave::all(&simbox, spectrum, longest).len() as f64;
        let said = bytes(sum.method()) / BYTES_PER_WAVE;
        assert!((said / waves - 1.0).abs() < 0.1, "{said} {waves}");
    }

    #[test]
    fn a_box_beyond_all_bounds_needs_more_than_there_is() {
        let simbox = SimBox::orthorhombic([1e200; 3]).unwrap();
        for method in [Method::pme(9.0, 1e-4, 5), Method::ewald(9.0, 1e-4)] {
            let charges = Electrostatics::new(method, 1.0, 9.0);
            let forces = Forces { electrostatics: Some(charges), ..Forces::default() };
            assert_eq!(forces.reciprocal_bytes(&simbox, 1000), f64::INFINITY);
        }
    }
}
