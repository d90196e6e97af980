//! Where atoms will be while a neighbour list lasts: lists are built around there, on every device.
//!
//! An atom in flight comes up to its place in the list from behind and leaves it on the other side, and may
//! go twice as far as from where it is when the list is built. How far ahead to look, and how far which atoms
//! are displaced, was found from recorded paths of a Lennard-Jones melt, a melt of chains and a protein in water.

use crate::{Masses, System, Topology, Vec3};

/// What lies ahead of an atom is never further away, in skins: where it is must be within half a skin.
pub const FARTHEST: f64 = 0.45;

/// What is left of half the acceleration as a path goes on: what turns an atom round does not last.
pub const BEND: f64 = 0.4;

/// How far lists look ahead: until the fastest atom has gone so far, in skins. What is bound turns round soon.
pub fn prediction_distance(topology: &Topology) -> f64 {
    if topology.bonds.is_empty() && topology.constraints.is_empty() { 0.45 } else { 0.25 }
}

/// By species, how far its atoms may be from where the list has them, as a part of how far the lightest may.
///
/// Atoms of mass m fly as fast as 1 / sqrt(m), but what ends a list is the fastest of many, whose paths bend:
/// the third root was best. Points without mass go where atoms take them.
pub fn displacement_limits(system: &System) -> Vec<f64> {
    let masses = || system.species.iter().map(|species| species.mass).filter(|mass| *mass > 0.0);
    let lightest = masses().fold(f64::INFINITY, f64::min);
    // However heavy atoms are, something may drive them.
    let part = |mass: f64| if mass > 0.0 { (lightest / mass).cbrt().max(0.25) } else { 1.0 };
    system.species.iter().map(|species| part(species.mass)).collect()
}

/// A prediction of positions from velocities and forces.
#[derive(Debug, Clone, Copy)]
pub struct PositionPrediction<'a> {
    /// For so long.
    pub time: f64,
    /// No further than this.
    pub most: f64,
    /// By species, or by id.
    pub inverse_mass: &'a Masses,
}

impl PositionPrediction<'_> {
    /// How far away an atom will be, as far as its velocity and the force on it tell.
    pub fn displacement(&self, velocity: Vec3, force: Vec3, inverse_mass: f64) -> Vec3 {
        if self.time == 0.0 {
            return [0.0; 3];
        }
        let bend = BEND * self.time * inverse_mass;
        let way = [0, 1, 2].map(|k| self.time * (velocity[k] + bend * force[k]));
        let length2 = way.iter().map(|x| x * x).sum::<f64>();
        if length2 <= self.most * self.most { way } else { way.map(|x| x * self.most / length2.sqrt()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SimBox, Species};

    #[test]
    fn the_predicted_displacement_is_a_parabola_that_ends() {
        let inverse_mass = Masses::default();
        let prediction = PositionPrediction { time: 0.5, most: 1.0, inverse_mass: &inverse_mass };
        // 0.5 * 1 + 0.4 * 0.5^2 * 2 * 0.5
        assert_eq!(prediction.displacement([1.0, 0.0, -1.0], [2.0, 0.0, -2.0], 0.5), [0.6, 0.0, -0.6]);
        let far = prediction.displacement([30.0, 40.0, 0.0], [0.0; 3], 1.0);
        assert!((far[0] - 0.6).abs() < 1e-15 && (far[1] - 0.8).abs() < 1e-15);
        assert_eq!(
            PositionPrediction { time: 0.0, ..prediction }.displacement(
                [f64::NAN; 3],
                [f64::INFINITY; 3],
                1.0
            ),
            [0.0; 3]
        );
    }

    #[test]
    fn displacement_limits_of_heavy_atoms_are_smaller_but_not_of_points() {
        let masses = [1.0, 8.0, 0.0, 1e9];
        let species = masses.map(|mass| Species { name: "A".into(), mass, charge: 0.0 });
        let system =
            System::new(SimBox::new([0.0; 3], [9.0; 3], [0.0; 3], [true; 3]).unwrap(), species.to_vec());
        assert_eq!(displacement_limits(&system), [1.0, 0.5, 1.0, 0.25]);
    }
}
