//! Energies with other charges, at the positions of the last evaluation.

use super::Cuda;
use jostle_core::backend::check_charges;
use jostle_core::{Energies, Evaluate, ForceEvaluation, Result};

impl Cuda {
    /// Evaluates energies with other charges; forces, energies and charges are what they were before, then.
    pub(super) fn evaluate_with_charges(&mut self, charges: &[f64]) -> Result<Energies> {
        check_charges(charges, self.plan.n)?;
        let before = self.system.charges.clone();
        let forces = self.arrays.forces_by_id(&self.control)?;
        let (evaluated, energies) = (self.evaluation.evaluated, self.evaluation.energies.clone());
        self.set_charges(charges.to_vec())?;
        let found = self.compute_forces(Evaluate::ForcesAndEnergies);
        let found = found.map(|()| std::mem::replace(&mut self.evaluation.energies, energies));
        let found = found.map(|found| Energies { added: Vec::new(), ..found });
        self.evaluation.evaluated = evaluated;
        self.set_charges(before)?;
        // The list may have been built anew, and with it the order of atoms.
        self.arrays.overwrite_forces(&self.control, &forces)?;
        found
    }

    /// Gives atoms other charges, or those of their species where there are none.
    fn set_charges(&mut self, charges: Vec<f64>) -> Result<()> {
        self.system.charges = charges;
        let scaled = self.forces.electrostatics.as_ref().map(|term| term.charges(&self.system));
        if let Some(scaled) = scaled {
            self.arrays.set_charges(&self.control, &scaled)?;
            self.terms.charges.iter_mut().for_each(|kernel| kernel.fit_charges(&scaled));
        }
        self.add_up_strengths();
        Ok(())
    }
}
