//! Kinetic energies of rigid bodies: of the motion of their centres, and of their rotation.

use crate::thermo::{AtomMotion, BodyEnergies, Quantity};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, IdIndex, State, System, UnitSystem, Vec3};

/// Columns of `thermo.csv` for these energies.
pub(crate) fn quantities(units: UnitSystem) -> [Quantity; 2] {
    let unit = unit_name(units, Dimension::ENERGY);
    ["translational_bodies", "rotational_bodies"].map(|name| Quantity::new(name, unit.clone()))
}

/// Ids and masses of the atoms of the rigid bodies.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BodyMasses(Vec<Vec<(u32, f64)>>);

impl BodyMasses {
    /// The bodies of a system; `None` without any.
    pub fn new(system: &System) -> Option<Self> {
        let bodies = &system.topology.rigid_bodies;
        let index_by_id = system.state.index_by_id();
        let mass = |id: &u32| (*id, system.mass(index_by_id.of(*id)));
        let masses = bodies.iter().map(|body| body.atoms.iter().map(mass).collect());
        (!bodies.is_empty()).then(|| BodyMasses(masses.collect()))
    }

    /// Energies by the velocities of a state, to which `index_by_id` belongs.
    pub fn measure(&self, state: &State, index_by_id: &IdIndex, atoms: AtomMotion) -> BodyEnergies {
        let mut sums = BodyEnergies { translational: 0.0, rotational: 0.0 };
        if let AtomMotion::AtRest = atoms {
            return sums;
        }
        for body in &self.0 {
            let (mut total, mut momentum, mut kinetic) = (0.0, Vec3::ZERO, 0.0);
            for (id, mass) in body {
                let v = state.velocity[index_by_id.of(*id)];
                total += mass;
                momentum = momentum.along(*mass, v);
                kinetic += 0.5 * mass * v.norm_squared();
            }
            let translational = 0.5 * momentum.norm_squared() / total;
            sums.translational += translational;
            sums.rotational += kinetic - translational;
        }
        sums
    }
}
