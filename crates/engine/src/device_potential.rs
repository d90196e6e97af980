//! Energies and forces of a device, for custom forces that depend on them.

use crate::device_with_forces::DeviceWithForces;
use crate::force_context::PotentialUse;
use jostle_core::{AtomVector, Result, Vec3};

impl DeviceWithForces {
    /// Use that forces of the host make of energies and forces of the device.
    pub(crate) fn potential_use(&self) -> PotentialUse {
        self.on_host().map(|force| force.potential_use()).max().unwrap_or(PotentialUse::None)
    }

    /// Takes over what the device has just evaluated. Forces on virtual sites have been passed on to atoms.
    pub(crate) fn take_potential(&mut self, potential_use: PotentialUse) -> Result<()> {
        if potential_use == PotentialUse::None {
            return Ok(());
        }
        let DeviceWithForces { device, potential, sites, .. } = self;
        let found = device.energies();
        potential.energies.values.clone_from(&found.terms);
        potential.virial = found.virial;
        potential.forces.clear();
        if potential_use == PotentialUse::Forces {
            potential.forces.resize(device.n_atoms(), Vec3::ZERO);
            device.write_by_id(AtomVector::Force, &mut potential.forces)?;
            sites.iter().for_each(|id| potential.forces[*id as usize] = Vec3::ZERO);
        }
        Ok(())
    }
}
