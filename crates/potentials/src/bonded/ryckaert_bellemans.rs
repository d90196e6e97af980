//! J.-P. Ryckaert and A. Bellemans, Chem. Phys. Lett. 30 (1975) 123; Fourier dihedrals of OPLS are
//! of this form, too.

use super::{Bonded, DihedralFunction};
use crate::pair::{Absent, MixesAs, Parameter, Range};
use jostle_core::{Dimension, Real};

/// u = c0 + c1 cos(psi) + c2 cos(psi)^2 + ... + c5 cos(psi)^5, with psi = phi - 180 degrees
#[derive(Debug, Clone, Copy)]
pub struct RyckaertBellemans;

impl DihedralFunction for RyckaertBellemans {
    const N_COEFFICIENTS: usize = 6;

    /// c = coefficients of the powers of cos(phi)
    #[inline(always)]
    fn evaluate<R: Real>(cosine: R, sine: R, c: &[R]) -> (R, R) {
        let (mut energy, mut slope) = (c[5], c[5]);
        for k in (1..5).rev() {
            energy = energy.mul_add(cosine, c[k]);
            slope = slope.mul_add(cosine, energy);
        }
        (energy.mul_add(cosine, c[0]), -sine * slope)
    }
}

/// Parameter of one power.
const fn power(name: &'static str, about: &'static str, example: f64) -> Parameter {
    Parameter {
        name,
        dimension: Dimension::ENERGY,
        about,
        absent: Absent::Refused,
        mixes_as: MixesAs::Never,
        range: Range::Any,
        example,
    }
}

impl Bonded for RyckaertBellemans {
    const KIND: &'static str = "ryckaert-bellemans";
    const TERM: &'static str = "dihedral-ryckaert-bellemans";
    const ABOUT: &'static str = "polynomial in the cosine, after Ryckaert and Bellemans (1975); OPLS";
    const FORMULA: &'static str = "sum over n = 0..5 of cn cos(phi - 180 degrees)^n";
    const PARAMETERS: &'static [Parameter] = &[
        power("c0", "constant", 9.28),
        power("c1", "of the cosine", 12.16),
        power("c2", "of its square", -13.12),
        power("c3", "of its third power", -3.06),
        power("c4", "of its fourth power", 26.24),
        power("c5", "of its fifth power", -31.5),
    ];

    fn coefficients(p: &[f64]) -> Vec<f64> {
        // cos(psi) = -cos(phi)
        p.iter().enumerate().map(|(n, c)| if n % 2 == 1 { -c } else { *c }).collect()
    }
}
