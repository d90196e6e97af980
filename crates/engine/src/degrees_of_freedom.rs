//! Degrees of freedom, by which a kinetic energy is converted to a temperature.

use jostle_core::{RigidBody, System};
use jostle_potentials::Forces;
use serde::{Deserialize, Serialize};

/// Behaviour of the total momentum, which decides whether the centre of mass has degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Momentum {
    /// Conserved total momentum: there are no forces but those between atoms, in periodic and in open boxes
    /// alike. It is set to zero at the beginning of a stage.
    Conserved,
    /// Thermal motion of the centre of mass: noise on each atom (Langevin) or external forces (fields, walls,
    /// position restraints, driven atoms) change the total momentum.
    Thermal,
}

/// The degrees of freedom of a system without a thermostat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DegreesOfFreedom {
    /// Atoms that forces can move.
    pub free_atoms: usize,
    /// Degrees of freedom that atoms lack: one for each constraint between atoms of which forces move at least one, and
    /// those of the atoms of a rigid body beyond its own.
    pub constraints: usize,
    /// Behaviour of the total momentum.
    pub momentum: Momentum,
}

impl DegreesOfFreedom {
    /// The degrees of freedom of a system under forces, all restraints among them.
    pub fn new(system: &System, forces: &Forces) -> Self {
        let without = Self::without_restraints(system, forces);
        if forces.restraints.anchors.is_empty() { without } else { without.held() }
    }

    /// These degrees of freedom with position restraints.
    pub fn held(self) -> Self {
        DegreesOfFreedom { momentum: Momentum::Thermal, ..self }
    }

    /// The degrees of freedom of a system under forces, without its restraints.
    pub fn without_restraints(system: &System, forces: &Forces) -> Self {
        let free_atoms = system.n_free();
        let alone = !forces.have_fields_or_walls() && !system.has_driven();
        DegreesOfFreedom {
            free_atoms,
            constraints: constrained(system),
            momentum: if alone { Momentum::Conserved } else { Momentum::Thermal },
        }
    }

    /// Number of degrees of freedom where the total momentum behaves so under a thermostat: each constraint
    /// removes one.
    pub fn count(&self, momentum: Momentum) -> usize {
        degrees_of_freedom(self.free_atoms, momentum).saturating_sub(self.constraints)
    }
}

/// Degrees of freedom that constraints and rigid bodies take. Constraints between driven atoms take none.
pub(crate) fn constrained(system: &System) -> usize {
    let index_by_id = system.state.index_by_id();
    let moves = |id: &u32| system.driven(index_by_id.of(*id)).is_none();
    let constraints = system.topology.constraints.iter().filter(|c| c.atoms.iter().any(moves)).count();
    let bodies = system.topology.rigid_bodies.iter().map(RigidBody::constrained_degrees);
    constraints + bodies.sum::<usize>()
}

/// Number of degrees of freedom of N atoms: 3 N - 3 where momentum is conserved, 3 N where it is thermal. A
/// single atom has 3, since the motion of its centre of mass is not removed.
///
/// Angular momentum, conserved in a box that is open along all axes, is neither removed nor subtracted.
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
