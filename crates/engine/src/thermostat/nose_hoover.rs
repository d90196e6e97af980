//! Nose-Hoover chains (G. J. Martyna, M. L. Klein, M. E. Tuckerman, J. Chem. Phys. 97 (1992) 2635),
//! integrated reversibly around velocity Verlet (Martyna, Tuckerman, Tobias, Klein, Mol. Phys. 87
//! (1996) 1117) with the third-order Suzuki-Yoshida weights.

use super::Target;
use crate::step::Tick;
use jostle_core::Backend;
use serde::{Deserialize, Serialize};

/// w1 = 1 / (2 - 2^(1/3)), twice, around w2 = 1 - 2 w1 (Yoshida 1990).
const WEIGHTS: [f64; 3] = [1.351_207_191_959_657_6, -1.702_414_383_919_315_3, 1.351_207_191_959_657_6];

/// A chain of thermostats, each at the temperature of the bath, the first on the atoms.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoseHoover {
    target: Target,
    /// Masses, energy * time^2.
    mass: Vec<f64>,
    position: Vec<f64>,
    velocity: Vec<f64>,
    /// Kinetic energy of the atoms between two steps, where it is known without summing again.
    kinetic: Option<f64>,
}

impl NoseHoover {
    /// `period` is that of the oscillation around the temperature, 2 pi sqrt(Q / N_f kT); the
    /// chain has at least one link.
    pub fn new(target: Target, period: f64, chain: usize) -> Self {
        let links = chain.max(1);
        let unit = target.thermal_energy * (period / std::f64::consts::TAU).powi(2);
        let mut mass = vec![unit; links];
        mass[0] *= target.degrees_of_freedom as f64;
        NoseHoover { target, mass, position: vec![0.0; links], velocity: vec![0.0; links], kinetic: None }
    }

    /// Kinetic and potential energy of the chain: with the energy of the atoms it is conserved.
    pub fn energy(&self) -> f64 {
        let kt = self.target.thermal_energy;
        let moving: f64 = self.mass.iter().zip(&self.velocity).map(|(q, v)| 0.5 * q * v * v).sum();
        let first = self.target.degrees_of_freedom as f64 * self.position[0];
        moving + kt * (first + self.position[1..].iter().sum::<f64>())
    }

    pub(super) fn before(&mut self, backend: &mut dyn Backend, tick: &Tick) {
        let kinetic = self.kinetic.unwrap_or_else(|| backend.kinetic().energy());
        backend.scale_velocities(self.propagate(kinetic, 0.5 * tick.timestep));
    }

    pub(super) fn after(&mut self, backend: &mut dyn Backend, tick: &Tick) {
        let kinetic = backend.kinetic().energy();
        let factor = self.propagate(kinetic, 0.5 * tick.timestep);
        backend.scale_velocities(factor);
        self.kinetic = Some(factor * factor * kinetic);
    }

    /// Moves the chain on by a time and returns the factor for the atoms' velocities.
    fn propagate(&mut self, kinetic: f64, time: f64) -> f64 {
        let mut factor = 1.0;
        for weight in WEIGHTS {
            let dt = weight * time;
            for link in (0..self.mass.len()).rev() {
                self.kick(link, factor * factor * kinetic, 0.5 * dt);
            }
            factor *= (-dt * self.velocity[0]).exp();
            for (x, v) in self.position.iter_mut().zip(&self.velocity) {
                *x += dt * v;
            }
            for link in 0..self.mass.len() {
                self.kick(link, factor * factor * kinetic, 0.5 * dt);
            }
        }
        factor
    }

    /// Velocity of one link: its force, with the friction of the next link before and after.
    fn kick(&mut self, link: usize, kinetic: f64, dt: f64) {
        let kt = self.target.thermal_energy;
        let force = match link {
            0 => 2.0 * kinetic - self.target.degrees_of_freedom as f64 * kt,
            _ => self.mass[link - 1] * self.velocity[link - 1].powi(2) - kt,
        };
        let friction = self.velocity.get(link + 1).map_or(1.0, |v| (-0.5 * dt * v).exp());
        let v = &mut self.velocity[link];
        *v = (*v * friction + dt * force / self.mass[link]) * friction;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Free particles with a chain on them: energy goes to and fro, the sum stays; halving the
    /// step makes the error sixteen times smaller (fourth order).
    #[test]
    fn energy_of_atoms_and_chain_is_conserved() {
        let error = |timestep: f64| {
            let target = Target { thermal_energy: 1.0, degrees_of_freedom: 3 };
            let mut chain = NoseHoover::new(target, 2.0, 3);
            let mut kinetic = 6.0;
            let start = kinetic + chain.energy();
            let mut worst = 0.0_f64;
            let mut range = (f64::INFINITY, 0.0_f64);
            for _ in 0..(20.0 / timestep) as usize {
                kinetic *= chain.propagate(kinetic, timestep).powi(2);
                worst = worst.max((kinetic + chain.energy() - start).abs());
                range = (range.0.min(kinetic), range.1.max(kinetic));
            }
            assert!(range.0 < 1.0 && range.1 > 3.0, "{range:?}: no exchange");
            worst
        };
        let (coarse, fine) = (error(0.01), error(0.005));
        assert!(coarse < 2e-4, "{coarse}");
        assert!((15.0..17.0).contains(&(coarse / fine)), "{coarse} {fine}");
    }

    #[test]
    fn time_runs_backwards_too() {
        let target = Target { thermal_energy: 1.0, degrees_of_freedom: 30 };
        let mut chain = NoseHoover::new(target, 1.0, 4);
        let start = chain.clone();
        let mut kinetic = 40.0;
        for dt in [0.01; 50].into_iter().chain([-0.01; 50]) {
            kinetic *= chain.propagate(kinetic, dt).powi(2);
        }
        assert!((kinetic - 40.0).abs() < 1e-10, "{kinetic}");
        assert!(chain.velocity.iter().zip(&start.velocity).all(|(a, b)| (a - b).abs() < 1e-12));
    }
}
