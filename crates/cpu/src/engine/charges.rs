//! Energies with other charges, at the positions of the last evaluation.

use super::Cpu;
use crate::integrate::Follow;
use crate::simd::Scalar;
use jostle_core::backend::check_charges;
use jostle_core::{AtomStorage, Energies, Evaluate, ForceEvaluation, Result};

impl<S: Scalar> Cpu<S> {
    /// Evaluates energies with other charges; forces, energies and charges are what they were before, then.
    pub(super) fn evaluate_with_charges(&mut self, charges: &[f64]) -> Result<Energies> {
        check_charges(charges, self.n_atoms())?;
        self.finish(Follow::Not);
        let forces: Vec<_> = self.tasks.iter().map(|task| task.forces.own.to_vec()).collect();
        let (evaluated, energies) = (self.evaluation.evaluated, self.evaluation.energies.clone());
        // A sample is no part of the cost of steps, by which the skin is tuned.
        let timings = self.timings;
        let sums: Vec<_> = self.terms.lattice_sums.iter().map(|sum| sum.strength_sums).collect();
        let before = std::mem::replace(&mut self.system.charges, charges.to_vec());
        self.read_charges();
        self.terms.lattice_sums.iter_mut().for_each(|sum| sum.sum_charges(charges));
        let found = self.compute_forces(Evaluate::ForcesAndEnergies);
        let found = found.map(|()| std::mem::replace(&mut self.evaluation.energies, energies));
        (self.evaluation.evaluated, self.timings) = (evaluated, timings);
        self.system.charges = before;
        self.read_charges();
        self.terms.lattice_sums.iter_mut().zip(sums).for_each(|(sum, sums)| sum.strength_sums = sums);
        for (task, forces) in self.tasks.iter_mut().zip(forces) {
            task.forces.own.copy_from_slice(&forces);
        }
        found
    }

    /// Hands the charges of the system to the lattice sums.
    fn read_charges(&mut self) {
        for sum in &mut self.terms.lattice_sums {
            sum.read_strengths(&self.system, &self.neighbors.clusters);
        }
    }
}
