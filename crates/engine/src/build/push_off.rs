//! Push-off: bound soft spheres move until they no longer overlap, as in R. Auhl et al., J. Chem. Phys. 119 (2003)
//! 12718. Lengths are in units of the smallest distance that is wanted.

use crate::minimize::{Fire, VelocityMixing};
use jostle_core::{Evaluate, Result, Settings, System, Vec3};
use jostle_potentials::{BondTerm, Forces, PairKind, PairTerm, Truncation};

/// Stiffness of bonds, in units of the smallest distance and of the force between coinciding atoms.
pub(super) const SPRING: f64 = 10.0;
const TIMESTEP: f64 = 0.05;
const LONGEST_MOVE: f64 = 0.1;
const MOST_ITERATIONS: usize = 1000;
/// Largest force on an atom at which the push-off ends: no two are nearer than some 0.95.
const FORCE: f64 = 0.02;

/// Moves atoms until none overlap, or the iterations are used up; unbroken positions by id.
///
/// # Errors
/// If the system is none that can be computed.
pub(super) fn push_apart(system: System, springs: BondTerm) -> Result<Vec<Vec3>> {
    let repulsion = PairTerm::uniform(PairKind::SoftRepulsion, Truncation::Plain, &[1.0, 1.0], 1.0);
    let forces = Forces { pairs: vec![repulsion], bonds: vec![springs], ..Forces::default() };
    // One input gives one system: sums do not depend on the number of threads.
    let settings = Settings { reproducible: true, ..Settings::default() };
    let simbox = system.simbox;
    let mut backend = jostle_cpu::open(system, forces, settings)?;
    backend.update_neighbors()?;
    backend.compute_forces(Evaluate::Forces)?;
    let mut fire = Fire::new(TIMESTEP, LONGEST_MOVE, VelocityMixing::Forces);
    for _ in 0..MOST_ITERATIONS {
        if backend.descent()?.largest_force < FORCE {
            break;
        }
        fire.iterate(&mut *backend, Evaluate::Forces)?;
    }
    let state = backend.state()?;
    let whole = |index: usize| {
        let (r, shift) = (state.position[index], simbox.shift(state.image[index]));
        r + shift
    };
    Ok(state.index_by_id().into_iter().map(whole).collect())
}
