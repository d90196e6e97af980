//! Degrees of freedom: what a kinetic energy is divided by to make it a temperature.

use jostle_core::System;
use jostle_potentials::Forces;
use serde::{Deserialize, Serialize};

/// Whether the motion of the centre of mass is taken out of the temperature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Momentum {
    /// Nothing but the atoms acts on the atoms, in periodic and in open boxes alike: the total
    /// momentum stays what it is, and it is set to zero when a stage begins.
    Conserved,
    /// Each atom gets noise of its own (Langevin), or something acts from outside: fields, walls,
    /// restraints to places, atoms that are driven. The centre of mass is thermal like all else.
    Thermal,
}

/// What moves without a thermostat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DegreesOfFreedom {
    /// Atoms that forces can move.
    pub free_atoms: usize,
    /// Distances that do not change.
    pub constraints: usize,
    /// What becomes of their momentum.
    pub momentum: Momentum,
}

impl DegreesOfFreedom {
    /// A system under forces, all restraints among them.
    pub fn new(system: &System, forces: &Forces) -> Self {
        let without = Self::without_restraints(system, forces);
        if forces.restraints.anchors.is_empty() { without } else { without.held() }
    }

    /// The same where something holds atoms at places.
    pub fn held(self) -> Self {
        DegreesOfFreedom { momentum: Momentum::Thermal, ..self }
    }

    /// A system under forces, without its restraints.
    pub fn without_restraints(system: &System, forces: &Forces) -> Self {
        let free_atoms = system.n_free();
        let alone = !forces.have_fields_or_walls() && !system.has_driven();
        // Those between atoms that are driven take nothing away.
        let index_by_id = system.state.index_by_id();
        let moves = |id: &u32| system.driven(index_by_id[*id as usize]).is_none();
        let constraints = system.topology.constraints.iter().filter(|c| c.atoms.iter().any(moves)).count();
        DegreesOfFreedom {
            free_atoms,
            constraints,
            momentum: if alone { Momentum::Conserved } else { Momentum::Thermal },
        }
    }

    /// What a kinetic energy is divided by, with what becomes of the momentum under a thermostat: each
    /// constraint takes one.
    pub fn count(&self, momentum: Momentum) -> usize {
        degrees_of_freedom(self.free_atoms, momentum).saturating_sub(self.constraints)
    }
}

/// 3 N - 3 where momentum is conserved, 3 N where it is thermal. A single atom has 3: its motion
/// is the centre of mass'.
///
/// Angular momentum, conserved in a box that is open along all axes, is neither removed nor
/// counted.
pub fn degrees_of_freedom(atoms: usize, momentum: Momentum) -> usize {
    match momentum {
        Momentum::Conserved if atoms > 1 => 3 * atoms - 3,
        _ => 3 * atoms,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_center_of_mass_counts_where_it_moves() {
        assert_eq!(degrees_of_freedom(864, Momentum::Conserved), 2589);
        assert_eq!(degrees_of_freedom(864, Momentum::Thermal), 2592);
        assert_eq!(degrees_of_freedom(1, Momentum::Conserved), 3);
        assert_eq!(degrees_of_freedom(0, Momentum::Conserved), 0);
    }
}
