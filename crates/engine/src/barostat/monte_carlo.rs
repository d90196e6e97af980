//! The Monte Carlo barostat.

use super::molecular::{Surroundings, resize};
use jostle_core::{Backend, Evaluate, Result, Vec3, Vector};
use jostle_io::input::model::Coupling;
use serde::{Deserialize, Serialize};

/// Largest change of the logarithm of the volume in the first trials.
const FIRST_STEP: f64 = 0.01;
/// Largest change of it in any trial.
const LARGEST_STEP: f64 = 0.3;
/// Trials before their size is adapted for the first time.
const ENOUGH: u32 = 10;
/// Number of adaptations after which they become rarer and rarer: sizes that went on following the trials just made
/// would favour some volumes.
const QUICK: u32 = 50;
/// Factor of the size of trials where fewer than a quarter or more than three quarters are accepted.
const ADAPT: f64 = 1.1;

/// Trial moves of the volume (K.-H. Chow and D. M. Ferguson, Comput. Phys. Commun. 91 (1995) 283;
/// J. Aqvist et al., Chem. Phys. Lett. 384 (2004) 288), with an adaptation like that of OpenMM's
/// `MonteCarloBarostat`. Molecules' centres scale with the box. The logarithm of the volume changes, so that sizes of
/// trials do not depend on the volume, and none is negative (R. Eppenga and D. Frenkel, Mol. Phys. 52 (1984) 1303); a
/// trial is accepted with probability min(1, exp(-(dU + P dV - (N + 1) k_B T ln(V'/V)) / k_B T)) for N molecules.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct MonteCarlo {
    pressure: f64,
    /// The kinds of moves: edges that change together, and how much.
    moves: Vec<Move>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Move {
    axes: Vec<usize>,
    /// The largest change of the logarithm of the volume.
    largest: f64,
    tried: u32,
    accepted: u32,
    /// Number of adaptations so far.
    adaptations: u32,
}

impl MonteCarlo {
    pub fn new(pressure: f64, coupling: Coupling) -> Self {
        let axes = match coupling {
            Coupling::Isotropic => vec![vec![0, 1, 2]],
            Coupling::SemiIsotropic => vec![vec![0, 1], vec![2]],
            Coupling::Anisotropic => vec![vec![0], vec![1], vec![2]],
        };
        let first = |axes| Move { axes, largest: FIRST_STEP, tried: 0, accepted: 0, adaptations: 0 };
        MonteCarlo { pressure, moves: axes.into_iter().map(first).collect() }
    }

    /// Tries another volume; returns the energy that the atoms gained.
    pub fn act(&mut self, backend: &mut dyn Backend, around: &mut Surroundings) -> Result<f64> {
        let which = around.random.below(self.moves.len());
        let (first, second) = (around.random.uniform(), around.random.uniform());
        let trial = &mut self.moves[which];
        let (volume, energy) = (backend.simbox().volume(), backend.energies().potential());
        let molecular = backend.molecular_virial(around.molecules)?;
        let logarithm = trial.largest * (2.0 * first - 1.0);
        let (growth, change) = (logarithm.exp(), volume * logarithm.exp_m1());
        let mut factors: Vec3 = Vector([1.0; 3]);
        trial.axes.iter().for_each(|axis| factors[*axis] = growth.powf(1.0 / trial.axes.len() as f64));
        let (before, after) = resize(backend, molecular, factors, 0.0)?;
        let gained = after - energy;
        let ideal = (around.molecules.count() + 1) as f64 * around.thermal_energy * logarithm;
        let work = gained + self.pressure * change - ideal;
        let accepted = work <= 0.0 || second < (-work / around.thermal_energy).exp();
        trial.adapt(accepted);
        if accepted {
            return Ok(gained);
        }
        backend.undo_scale(before)?;
        backend.update_neighbors()?;
        backend.compute_forces(Evaluate::Forces)?;
        Ok(0.0)
    }
}

impl Move {
    /// Adapts the size of trials so that about half of them are accepted.
    fn adapt(&mut self, accepted: bool) {
        self.tried += 1;
        self.accepted += u32::from(accepted);
        if self.tried < ENOUGH * (self.adaptations / QUICK).max(1) {
            return;
        }
        if 4 * self.accepted < self.tried {
            self.largest /= ADAPT;
        } else if 4 * self.accepted > 3 * self.tried {
            self.largest = (self.largest * ADAPT).min(LARGEST_STEP);
        }
        (self.tried, self.accepted) = (0, 0);
        self.adaptations = self.adaptations.saturating_add(1);
    }
}
