//! Hooke's law for the size of a dihedral angle, whatever its sign: groups are bent to either side (LAMMPS' impropers).

use super::dihedral::angle;
use super::{Bonded, Conditioning, DihedralFunction, HarmonicDihedral};
use crate::pair::Parameter;
use jostle_core::Real;

/// u = stiffness/2 (|phi| - angle)^2
#[derive(Debug, Clone, Copy)]
pub struct UnsignedHarmonicDihedral;

impl DihedralFunction for UnsignedHarmonicDihedral {
    const N_COEFFICIENTS: usize = 2;

    /// c = [stiffness, angle in radians]
    #[inline(always)]
    fn evaluate<R: Real>(cosine: R, sine: R, c: &[R]) -> (R, R) {
        let left = sine.lt(R::lit(0.0));
        let size = angle(cosine, R::select(left, -sine, sine));
        let from_rest = size - c[1];
        let slope = c[0] * from_rest;
        (R::lit(0.5) * slope * from_rest, R::select(left, -slope, slope))
    }
}

impl Bonded for UnsignedHarmonicDihedral {
    const KIND: &'static str = "harmonic-unsigned";
    const TERM: &'static str = "dihedral-harmonic-unsigned";
    const ABOUT: &'static str = "spring at rest at an angle and at its opposite; impropers of LAMMPS";
    const FORMULA: &'static str = "stiffness/2 (|phi| - angle)^2, phi in radians from -pi to pi";
    const PARAMETERS: &'static [Parameter] = HarmonicDihedral::PARAMETERS;
    const CONDITIONING: Conditioning = Conditioning::Poor;

    fn coefficients(p: &[f64]) -> Vec<f64> {
        vec![p[0], p[1].to_radians()]
    }
}
