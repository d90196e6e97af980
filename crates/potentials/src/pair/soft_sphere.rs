//! J. D. Weeks, D. Chandler, H. C. Andersen, "Role of repulsive forces in determining the
//! equilibrium structure of simple liquids", J. Chem. Phys. 54 (1971) 5237; the soft spheres of
//! D. C. Rapaport, The Art of Molecular Dynamics Simulation.

use super::{LennardJones, PairFunction, PairPotential, Parameter};
use jostle_core::Real;

/// u(r) = 4 epsilon [(sigma/r)^12 - (sigma/r)^6] + epsilon up to the minimum at 2^(1/6) sigma,
/// where energy and force are zero.
#[derive(Debug, Clone, Copy)]
pub struct SoftSphere;

impl PairFunction for SoftSphere {
    const N_COEFFICIENTS: usize = LennardJones::N_COEFFICIENTS + 1;

    /// c = [those of Lennard-Jones, epsilon]
    #[inline(always)]
    fn evaluate<R: Real>(r2: R, c: &[R]) -> (R, R) {
        let (energy, force_over_r) = LennardJones::evaluate(r2, c);
        (energy + c[LennardJones::N_COEFFICIENTS], force_over_r)
    }
}

impl PairPotential for SoftSphere {
    const KIND: &'static str = "soft-sphere";
    const ABOUT: &'static str = "purely repulsive part of Lennard-Jones (WCA); ends at 2^(1/6) sigma";
    const FORMULA: &'static str = "4 epsilon [(sigma/r)^12 - (sigma/r)^6] + epsilon, r < 2^(1/6) sigma";
    const PARAMETERS: &'static [Parameter] = LennardJones::PARAMETERS;

    fn coefficients(p: &[f64]) -> Vec<f64> {
        let mut c = LennardJones::coefficients(p);
        c.push(p[0]);
        c
    }

    fn natural_cutoff(p: &[f64]) -> Option<f64> {
        Some(2f64.powf(1.0 / 6.0) * p[1])
    }
}
