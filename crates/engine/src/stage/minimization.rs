//! Beginning of a minimisation.

use crate::minimize::{ConjugateGradient, ConstraintProjection, Fire, Lbfgs, Minimizer, VelocityMixing};
use jostle_core::{Backend, Result, Vec3};
use jostle_io::input::model;

/// Longest move of an atom in one iteration of a minimisation, over the shortest cut-off: a tenth of sigma
/// for a cut-off of 2.5 sigma.
const LONGEST_MOVE: f64 = 0.04;

/// Longest move of an atom in one iteration, over the shortest constraint, so that molecules turn in small
/// steps.
const LONGEST_TURN: f64 = 0.2;

/// Sets the velocities of all atoms to zero; returns them, by id.
pub(super) fn set_aside_velocities(backend: &mut dyn Backend) -> Result<Vec<Vec3>> {
    let mut velocities = vec![Vec3::ZERO; backend.n_atoms()];
    let state = backend.state()?;
    for (id, v) in state.id.iter().zip(&state.velocity) {
        velocities[*id as usize] = *v;
    }
    backend.scale_velocities(0.0)?;
    Ok(velocities)
}

/// The minimiser of the input. Under constraints, FIRE mixes velocities with accelerations, and moves atoms
/// by no more than molecules may turn.
pub(super) fn new_minimizer(
    kind: model::Minimizer,
    timestep: f64,
    shortest_cutoff: f64,
    projection: Option<&ConstraintProjection>,
) -> Minimizer {
    let longest_move = LONGEST_MOVE * shortest_cutoff;
    match (kind, projection) {
        (model::Minimizer::Lbfgs, _) => Minimizer::Lbfgs(Lbfgs::new(longest_move)),
        (model::Minimizer::ConjugateGradient, _) => {
            Minimizer::ConjugateGradient(ConjugateGradient::new(longest_move))
        }
        (model::Minimizer::Fire, None) => {
            Minimizer::Fire(Fire::new(timestep, longest_move, VelocityMixing::Forces))
        }
        (model::Minimizer::Fire, Some(projection)) => {
            let longest_move = longest_move.min(LONGEST_TURN * projection.shortest);
            Minimizer::Fire(Fire::new(timestep, longest_move, VelocityMixing::Accelerations))
        }
    }
}
