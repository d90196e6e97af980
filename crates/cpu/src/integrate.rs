//! Moving atoms, and sums over velocities.

use jostle_core::backend::Descent;
use jostle_core::random::{Purpose, Stream};
use jostle_core::{Kinetic, NoiseKey, State, Vec3};

/// v += dt f / m
pub fn kick(state: &mut State, inverse_mass: &[f64], dt: f64) {
    let State { species, velocity, force, .. } = state;
    for ((v, f), &s) in velocity.iter_mut().zip(force.iter()).zip(species.iter()) {
        let scale = dt * inverse_mass[s as usize];
        for k in 0..3 {
            v[k] += scale * f[k];
        }
    }
}

/// r += dt v
pub fn drift(state: &mut State, dt: f64) {
    for (r, v) in state.position.iter_mut().zip(&state.velocity) {
        for k in 0..3 {
            r[k] += dt * v[k];
        }
    }
}

/// Kinetic energy tensor and momentum.
pub fn kinetic(state: &State, mass: &[f64]) -> Kinetic {
    let mut sums = Kinetic::default();
    for (v, &s) in state.velocity.iter().zip(&state.species) {
        let m = mass[s as usize];
        for (t, (a, b)) in sums.tensor.iter_mut().zip([(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]) {
            *t += 0.5 * m * v[a] * v[b];
        }
        for k in 0..3 {
            sums.momentum[k] += m * v[k];
        }
    }
    sums
}

/// v = decay v + sqrt((1 - decay^2) kT / m) xi
pub fn ornstein_uhlenbeck(
    state: &mut State,
    inverse_mass: &[f64],
    decay: f64,
    thermal_energy: f64,
    noise: NoiseKey,
) {
    let spread = (1.0 - decay * decay).max(0.0) * thermal_energy;
    let State { id, species, velocity, .. } = state;
    for ((v, &s), &id) in velocity.iter_mut().zip(species.iter()).zip(id.iter()) {
        let sigma = (spread * inverse_mass[s as usize]).sqrt();
        let xi = Stream::new(noise.seed, Purpose::Langevin, id, noise.step).normal3();
        for k in 0..3 {
            v[k] = decay * v[k] + sigma * xi[k];
        }
    }
}

/// v = factor v + delta
pub fn scale_and_shift(state: &mut State, factor: f64, delta: Vec3) {
    for v in &mut state.velocity {
        for k in 0..3 {
            v[k] = factor * v[k] + delta[k];
        }
    }
}

/// v = keep v + along f
pub fn mix(state: &mut State, keep: f64, along: f64) {
    for (v, f) in state.velocity.iter_mut().zip(&state.force) {
        for k in 0..3 {
            v[k] = keep * v[k] + along * f[k];
        }
    }
}

/// Sums for a minimiser.
pub fn descent(state: &State) -> Descent {
    let dot = |a: &Vec3, b: &Vec3| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
    let mut sums = Descent::default();
    let (mut force, mut speed) = (0.0_f64, 0.0_f64);
    for (v, f) in state.velocity.iter().zip(&state.force) {
        sums.power += dot(f, v);
        sums.velocity_square += dot(v, v);
        sums.force_square += dot(f, f);
        force = force.max(dot(f, f));
        speed = speed.max(dot(v, v));
    }
    sums.largest_force = force.sqrt();
    sums.largest_speed = speed.sqrt();
    sums
}
