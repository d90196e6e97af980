//! Sums over atoms that an evaluation of forces or a sub-step gives, and facts about them.

use crate::{SymTensor, Vec3};
use serde::{Deserialize, Serialize};

/// Results that a force evaluation should produce.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Evaluate {
    /// Forces only: the fast path of nearly every step.
    Forces,
    /// Forces, energies by term and the virial.
    ForcesAndEnergies,
}

/// Energies by term and the virial of one evaluation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Energies {
    /// Energy of each force term in the order of the input, long-range corrections included.
    pub terms: Vec<f64>,
    /// Energy of each source of forces that the host has added, see [`super::ForceEvaluation::add_forces`].
    pub added: Vec<f64>,
    /// Virial tensor, W_ab = sum over pairs of d_a f_b, long-range corrections included; the
    /// pressure is (2 K + W) / V with K the kinetic tensor.
    pub virial: SymTensor,
}

impl Energies {
    /// The potential energy.
    pub fn potential(&self) -> f64 {
        self.terms.iter().chain(&self.added).sum()
    }

    /// Takes energies and virial of added forces in.
    pub fn add(&mut self, added: &super::AddedForces) {
        self.added.extend_from_slice(&added.energies);
        self.virial.iter_mut().zip(added.virial).for_each(|(w, part)| *w += part);
    }
}

/// Sums over velocities.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Kinetic {
    /// Kinetic energy tensor, sum of m v_a v_b / 2.
    pub tensor: SymTensor,
    /// Total momentum.
    pub momentum: Vec3,
    /// Energy of spheres that turn, not a part of the tensor; `None` where nothing turns.
    pub rotation: Option<f64>,
}

impl Kinetic {
    /// The kinetic energy, without that of rotation.
    pub fn energy(&self) -> f64 {
        self.tensor[0] + self.tensor[1] + self.tensor[2]
    }
}

/// Sums that a minimiser steers by.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Descent {
    /// Sum of f . v.
    pub power: f64,
    /// Sum of f . f.
    pub force_square: f64,
    /// Sum of v . v.
    pub velocity_square: f64,
    /// The largest force on one atom.
    pub largest_force: f64,
    /// The largest speed of one atom.
    pub largest_speed: f64,
}

/// Time of a run by kind of work, in seconds, and what its devices have sent.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Timings {
    /// Pair forces; all of it for a device that makes many steps on its own and cannot tell.
    pub pair: f64,
    /// Neighbour lists, sorting included.
    pub neighbors: f64,
    /// Moving atoms and sums over velocities.
    pub integrate: f64,
    /// Waiting for other devices of the run, which is part of the others: the mean of all.
    pub waiting: f64,
    /// Bytes that all devices have sent to each other.
    pub bytes_sent: f64,
}

/// Facts about the neighbour list.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct NeighborFacts {
    /// How often it was built.
    pub builds: u64,
    /// The skin now.
    pub skin: f64,
    /// True where the skin stays as it is: a better one is not being looked for.
    pub settled: bool,
    /// Bytes the engine uses for everything.
    pub bytes: usize,
}
