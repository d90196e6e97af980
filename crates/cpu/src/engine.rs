//! The CPU as a [`Backend`].

use crate::{integrate, reference};
use jostle_core::backend::{Descent, NeighborFacts, Settings, Timings};
use jostle_core::{
    Backend, Energies, Error, Evaluate, Kinetic, NoiseKey, Result, SimBox, State, System, Vec3,
};
use jostle_potentials::PairTerm;

/// The CPU engine: the atoms, their forces, and what moves them.
pub struct Cpu {
    system: System,
    terms: Vec<PairTerm>,
    mass: Vec<f64>,
    inverse_mass: Vec<f64>,
    energies: Energies,
    list_positions: Vec<Vec3>,
}

impl Cpu {
    /// Puts a system on the CPU.
    ///
    /// # Errors
    /// If a cut-off exceeds half the box, or the term and the system disagree on the species.
    pub fn new(system: System, terms: Vec<PairTerm>, _settings: Settings) -> Result<Self> {
        for term in &terms {
            let (cutoff, most) = (term.largest_cutoff(), system.simbox.largest_cutoff());
            if cutoff > most {
                return Err(Error::input(format!(
                    "the cut-off {cutoff} is more than half the smallest width of the box ({most})"
                ))
                .hint("use a larger box or a shorter cut-off"));
            }
        }
        let mass: Vec<f64> = system.species.iter().map(|s| s.mass).collect();
        let inverse_mass = mass.iter().map(|m| 1.0 / m).collect();
        let list_positions = system.state.position.clone();
        Ok(Cpu { system, terms, mass, inverse_mass, energies: Energies::default(), list_positions })
    }
}

impl Backend for Cpu {
    fn describe(&self) -> String {
        "CPU".to_string()
    }

    fn simbox(&self) -> &SimBox {
        &self.system.simbox
    }

    fn n_atoms(&self) -> usize {
        self.system.state.len()
    }

    fn state(&mut self) -> Result<&State> {
        Ok(&self.system.state)
    }

    fn set_state(&mut self, state: State) -> Result<()> {
        self.system.state = state;
        Ok(())
    }

    fn list_positions(&mut self) -> Result<&[Vec3]> {
        Ok(&self.list_positions)
    }

    fn restore(&mut self, state: State, list_positions: Vec<Vec3>, _skin: f64) -> Result<()> {
        self.system.state = state;
        self.list_positions = list_positions;
        Ok(())
    }

    fn kick(&mut self, dt: f64) {
        integrate::kick(&mut self.system.state, &self.inverse_mass, dt);
    }

    fn drift(&mut self, dt: f64) {
        integrate::drift(&mut self.system.state, dt);
    }

    fn update_neighbors(&mut self) -> Result<()> {
        let State { position, image, .. } = &mut self.system.state;
        for (r, n) in position.iter_mut().zip(image) {
            self.system.simbox.wrap(r, n);
        }
        Ok(())
    }

    fn compute_forces(&mut self, _evaluate: Evaluate) -> Result<()> {
        let (forces, energies) = reference::evaluate(&self.system, &self.terms)?;
        self.system.state.force = forces;
        self.energies = energies;
        Ok(())
    }

    fn energies(&self) -> &Energies {
        &self.energies
    }

    fn kinetic(&mut self) -> Kinetic {
        integrate::kinetic(&self.system.state, &self.mass)
    }

    fn scale_velocities(&mut self, factor: f64) {
        integrate::scale_and_shift(&mut self.system.state, factor, [0.0; 3]);
    }

    fn shift_velocities(&mut self, delta: Vec3) {
        integrate::scale_and_shift(&mut self.system.state, 1.0, delta);
    }

    fn ornstein_uhlenbeck(&mut self, decay: f64, thermal_energy: f64, noise: NoiseKey) {
        let state = &mut self.system.state;
        integrate::ornstein_uhlenbeck(state, &self.inverse_mass, decay, thermal_energy, noise);
    }

    fn descent(&mut self) -> Descent {
        integrate::descent(&self.system.state)
    }

    fn mix_velocities(&mut self, keep: f64, along: f64) {
        integrate::mix(&mut self.system.state, keep, along);
    }

    fn timings(&self) -> Timings {
        Timings::default()
    }

    fn neighbor_facts(&self) -> NeighborFacts {
        NeighborFacts::default()
    }
}
