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
    /// Total momentum that is conserved along the axes where this is true, and set to zero there: forces of walls and
    /// fields act along the others.
    ConservedAlong([bool; 3]),
}

impl Momentum {
    /// Behaviour where external forces act along these axes alone.
    pub fn conserved_but_along(acted_on: [bool; 3]) -> Self {
        match acted_on.map(|acted_on| !acted_on) {
            [true, true, true] => Momentum::Conserved,
            [false, false, false] => Momentum::Thermal,
            some => Momentum::ConservedAlong(some),
        }
    }

    /// Behaviour where forces of two kinds act.
    pub fn and(self, other: Momentum) -> Self {
        let (a, b) = (self.conserved_axes(), other.conserved_axes());
        Self::conserved_but_along(std::array::from_fn(|axis| !(a[axis] && b[axis])))
    }

    /// Axes along which the momentum is conserved.
    pub fn conserved_axes(self) -> [bool; 3] {
        match self {
            Momentum::Conserved => [true; 3],
            Momentum::ConservedAlong(axes) => axes,
            Momentum::Thermal => [false; 3],
        }
    }

    /// Number of these axes.
    pub fn n_conserved(self) -> usize {
        self.conserved_axes().into_iter().filter(|conserved| *conserved).count()
    }
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
        self.with(Momentum::Thermal)
    }

    /// These degrees of freedom with one more force, under which the total momentum behaves so.
    pub fn with(self, momentum: Momentum) -> Self {
        DegreesOfFreedom { momentum: self.momentum.and(momentum), ..self }
    }

    /// The degrees of freedom of a system under forces, without its restraints.
    pub fn without_restraints(system: &System, forces: &Forces) -> Self {
        let free_atoms = system.n_free();
        let momentum = if system.has_driven() {
            Momentum::Thermal
        } else {
            Momentum::conserved_but_along(forces.axes_of_external_forces(system))
        };
        DegreesOfFreedom { free_atoms, constraints: constrained(system), momentum }
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

/// Number of degrees of freedom of N atoms: 3 N less one for each axis along which momentum is conserved. A
/// single atom has 3, since the motion of its centre of mass is not removed.
///
/// Angular momentum, conserved in a box that is open along all axes, is neither removed nor subtracted.
pub fn degrees_of_freedom(atoms: usize, momentum: Momentum) -> usize {
    if atoms > 1 { 3 * atoms - momentum.n_conserved() } else { 3 * atoms }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_center_of_mass_counts_where_it_moves() {
        assert_eq!(degrees_of_freedom(864, Momentum::Conserved), 2589);
        assert_eq!(degrees_of_freedom(864, Momentum::Thermal), 2592);
        assert_eq!(degrees_of_freedom(864, Momentum::ConservedAlong([true, true, false])), 2590);
        assert_eq!(degrees_of_freedom(1, Momentum::Conserved), 3);
        assert_eq!(degrees_of_freedom(0, Momentum::Conserved), 0);
    }
}
