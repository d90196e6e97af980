//! Minimisers. FIRE: E. Bitzek et al., Phys. Rev. Lett. 97 (2006) 170201, in the form of J. Guenole et al.,
//! Comput. Mater. Sci. 175 (2020) 109584 ("FIRE 2.0", semi-implicit Euler). Under constraints, positions and
//! velocities are corrected as in a time step, so that the energy is minimised on the constrained surface.
//! Minimisers along lines are in `lines`.

mod lines;

pub use lines::{ConjugateGradient, Lbfgs};

use jostle_core::constraints::{Body, Groups, MOST_ATOMS, angular_velocity, axes, in_space, rattle};
use jostle_core::{Backend, BodyForm, Evaluate, Masses, Result, RigidBody, SimBox, State, System, Vec3};
use serde::{Deserialize, Serialize};

/// Steps downhill before the time step may grow.
const DELAY: u32 = 20;
const GROW: f64 = 1.1;
const SHRINK: f64 = 0.5;
const MIXING: f64 = 0.25;
const MIXING_DECAY: f64 = 0.99;
/// Longest and shortest time step over the first one.
const LONGEST: f64 = 10.0;
const SHORTEST: f64 = 0.02;

/// Direction that velocities are mixed with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum VelocityMixing {
    /// Forces, as in the papers.
    Forces,
    /// Accelerations by forces and constraints: velocities are projected onto constraints in the metric of
    /// masses, in which the direction of steepest descent is the acceleration.
    Accelerations,
}

/// The FIRE minimiser with its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Fire {
    timestep: f64,
    first_timestep: f64,
    mixing: f64,
    along: VelocityMixing,
    downhill: u32,
    longest_move: f64,
}

impl Fire {
    /// A minimiser that starts with this time step; no atom moves further than `longest_move` in
    /// one iteration, so that overlapping atoms part without being thrown apart.
    pub fn new(timestep: f64, longest_move: f64, along: VelocityMixing) -> Self {
        Fire { timestep, first_timestep: timestep, mixing: MIXING, along, downhill: 0, longest_move }
    }

    /// One iteration. The forces at its start are those of the last evaluation; atoms start at
    /// rest.
    ///
    /// # Errors
    /// As for [`jostle_core::ForceEvaluation::update_neighbors`] and
    /// [`jostle_core::ForceEvaluation::compute_forces`].
    pub fn iterate(&mut self, backend: &mut dyn Backend, evaluate: Evaluate) -> Result<()> {
        let mut power = backend.descent()?.power;
        if power > 0.0 {
            self.downhill += 1;
            if self.downhill > DELAY {
                self.timestep = (self.timestep * GROW).min(LONGEST * self.first_timestep);
                self.mixing *= MIXING_DECAY;
            }
        } else {
            // The power is negative: half a step back, then a new start.
            if self.downhill > 0 {
                backend.drift(-0.5 * self.timestep)?;
                backend.constrain_positions(-0.5 * self.timestep)?;
                self.timestep = (self.timestep * SHRINK).max(SHORTEST * self.first_timestep);
            }
            backend.scale_velocities(0.0)?;
            power = 0.0;
            self.downhill = 0;
            self.mixing = MIXING;
        }
        backend.kick(self.timestep)?;
        backend.constrain_velocities(None)?;
        let reach = self.mix(backend, power)? * self.timestep;
        if reach > self.longest_move {
            // Velocities are scaled, not only the move, so that the next step is not longer either.
            backend.scale_velocities(self.longest_move / reach)?;
        }
        backend.drift(self.timestep)?;
        backend.constrain_positions(self.timestep)?;
        backend.update_neighbors()?;
        backend.compute_forces(evaluate)?;
        backend.constrain_velocities(None)
    }

    /// Mixes velocities after a kick with the downhill direction; `power` is f . v before the kick. Returns a
    /// bound on the speed of the fastest atom.
    fn mix(&self, backend: &mut dyn Backend, power: f64) -> Result<f64> {
        let sums = backend.descent()?;
        Ok(match self.along {
            VelocityMixing::Forces if sums.force_square > 0.0 => {
                let along = self.mixing * (sums.velocity_square / sums.force_square).sqrt();
                backend.mix_velocities(1.0 - self.mixing, along)?;
                (1.0 - self.mixing) * sums.largest_speed + along * sums.largest_force
            }
            VelocityMixing::Forces => sums.largest_speed,
            VelocityMixing::Accelerations => {
                // The kick has added dt times the sum of m a . a to f . v.
                let acceleration_square = (sums.power - power) / self.timestep;
                let velocity_square = 2.0 * backend.kinetic()?.energy();
                if acceleration_square > 0.0 {
                    backend.scale_velocities(1.0 - self.mixing)?;
                    backend.kick(self.mixing * (velocity_square / acceleration_square).sqrt())?;
                    backend.constrain_velocities(None)?;
                }
                backend.descent()?.largest_speed
            }
        })
    }
}

/// A minimiser with its state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Minimizer {
    /// Fast inertial relaxation engine: damped dynamics.
    Fire(Fire),
    /// Conjugate gradients.
    ConjugateGradient(ConjugateGradient),
    /// L-BFGS.
    Lbfgs(Lbfgs),
}

impl Minimizer {
    /// One iteration. The forces at its start are those of the last evaluation; atoms start at rest.
    ///
    /// # Errors
    /// As for [`jostle_core::ForceEvaluation::update_neighbors`] and
    /// [`jostle_core::ForceEvaluation::compute_forces`], if a force is not finite, and if
    /// the device failed.
    pub fn iterate(&mut self, backend: &mut dyn Backend, evaluate: Evaluate) -> Result<()> {
        match self {
            Minimizer::Fire(fire) => fire.iterate(backend, evaluate),
            Minimizer::ConjugateGradient(gradients) => gradients.iterate(backend, evaluate),
            Minimizer::Lbfgs(lbfgs) => lbfgs.iterate(backend, evaluate),
        }?;
        check_forces(backend)
    }
}

/// Refuses forces that are not finite, for which no direction of descent exists.
fn check_forces(backend: &mut dyn Backend) -> Result<()> {
    if backend.descent()?.force_square.is_finite() {
        return Ok(());
    }
    // A kick of zero length checks every force. Devices report the fault at once or with the next update of
    // lists.
    backend.kick(0.0)?;
    backend.update_neighbors()
}

/// Projection of forces onto the constrained surface: subtracts the forces of constraints.
#[derive(Debug)]
pub(crate) struct ConstraintProjection {
    groups: Groups,
    /// Inverse masses; zero for atoms that no force moves.
    inverse_mass: Masses,
    /// The shortest constrained distance, or extent of a rigid body.
    pub shortest: f64,
}

impl ConstraintProjection {
    /// The projection of a system; `None` where all atoms are free.
    ///
    /// # Errors
    /// If too many constraints are connected.
    pub fn new(system: &System) -> Result<Option<Self>> {
        let lengths = system.topology.constraints.iter().map(|c| c.length);
        let extents = system.topology.rigid_bodies.iter().map(RigidBody::extent);
        let shortest = lengths.chain(extents).fold(f64::INFINITY, f64::min);
        let (_, inverse_mass) = system.dynamic_masses();
        let groups = Groups::new(system)?;
        Ok((!groups.are_empty()).then_some(ConstraintProjection { groups, inverse_mass, shortest }))
    }

    /// The largest force on an atom after the projection.
    pub fn largest_force(&self, simbox: &SimBox, state: &State) -> f64 {
        let mut force = state.force.clone();
        self.project(simbox, state, &mut force);
        let moved = force.iter().enumerate().filter(|(index, _)| self.inverse_mass(state, *index) > 0.0);
        moved.map(|(_, f)| f.iter().map(|x| x * x).sum::<f64>()).fold(0.0, f64::max).sqrt()
    }

    /// Takes from velocities what would change a distance that constraints keep.
    pub fn project_velocities(&self, simbox: &SimBox, state: &mut State) {
        let inverse_masses: Vec<f64> =
            (0..state.len()).map(|index| self.inverse_mass(state, index)).collect();
        let moved = |index: usize| inverse_masses[index] > 0.0;
        let mut momentum: Vec<Vec3> = (0..state.len())
            .map(
                |index| if moved(index) { state.velocity[index] / inverse_masses[index] } else { Vec3::ZERO },
            )
            .collect();
        self.project(simbox, state, &mut momentum);
        for index in (0..state.len()).filter(|index| moved(*index)) {
            state.velocity[index] = inverse_masses[index] * momentum[index];
        }
    }

    fn inverse_mass(&self, state: &State, index: usize) -> f64 {
        self.inverse_mass.of(state.species[index], state.id[index])
    }

    /// Projects forces, or momenta.
    fn project(&self, simbox: &SimBox, state: &State, force: &mut [Vec3]) {
        let index_by_id = state.index_by_id();
        let inverse_mass = |index: usize| self.inverse_mass(state, index);
        for group in &self.groups.groups {
            let shape = &self.groups.shapes[group.shape];
            let (mut r, mut acceleration) = ([Vec3::ZERO; MOST_ATOMS], [Vec3::ZERO; MOST_ATOMS]);
            let mut weights = [0.0; MOST_ATOMS];
            let index = |k: usize| index_by_id.of(group.atoms[k]);
            let first = state.position[index(0)];
            for k in 0..shape.atoms {
                r[k] = simbox.nearest_image(state.position[index(k)] - first);
                weights[k] = inverse_mass(index(k));
                acceleration[k] = force[index(k)] * weights[k];
            }
            rattle(&shape.pairs, &r, &weights, &mut acceleration);
            for k in (0..shape.atoms).filter(|k| weights[*k] > 0.0) {
                force[index(k)] = acceleration[k] / weights[k];
            }
        }
        for body in &self.groups.bodies {
            let indices: Vec<usize> = body.ids.iter().map(|id| index_by_id.of(*id)).collect();
            project_onto_body(body, simbox, &indices, &state.position, force);
        }
    }
}

/// Replaces the forces on the atoms of a rigid body, at these indices, by those with which they move as one.
fn project_onto_body(body: &Body, simbox: &SimBox, indices: &[usize], position: &[Vec3], force: &mut [Vec3]) {
    let from_first = |k: usize| simbox.nearest_image(position[indices[k]] - position[indices[0]]);
    let third = if body.form == BodyForm::Spatial { from_first(2) } else { Vec3::ZERO };
    let axes = axes(body.form, from_first(1), third);
    let arms: Vec<Vec3> = body.atoms.iter().map(|atom| in_space(&axes, atom.place)).collect();
    let (mut total, mut torque) = (Vec3::ZERO, Vec3::ZERO);
    for (index, arm) in indices.iter().zip(&arms) {
        total += force[*index];
        torque += arm.cross(force[*index]);
    }
    let turning = angular_velocity(&axes, &body.inertia, torque);
    for ((index, arm), atom) in indices.iter().zip(&arms).zip(&body.atoms) {
        let acceleration = turning.cross(*arm).along(body.inertia.inverse_mass, total);
        force[*index] = atom.mass * acceleration;
    }
}

/// The largest force on an atom, after the projection where there are constraints.
///
/// # Errors
/// If the device failed.
pub(crate) fn largest_force(
    backend: &mut dyn Backend,
    projection: Option<&ConstraintProjection>,
) -> Result<f64> {
    let Some(projection) = projection else { return Ok(backend.descent()?.largest_force) };
    let simbox = *backend.simbox();
    Ok(projection.largest_force(&simbox, backend.state()?))
}
