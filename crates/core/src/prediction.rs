//! Prediction of positions while a neighbour list lasts: lists are built around predicted positions, on every
//! device.
//!
//! An atom in flight approaches the place that the list has for it and then leaves it on the other side, so
//! that its path may be twice as long as from its position when the list is built. The horizon of the
//! prediction, and the limits of displacement, were found from recorded paths of a Lennard-Jones melt, a melt
//! of chains and a protein in water.

use crate::{Masses, System, Topology, Vec3};

/// Largest distance of a predicted position, in skins: the present position must be within half a skin.
pub const FARTHEST: f64 = 0.45;

/// Part of half the acceleration that counts: what turns an atom round does not last.
pub const BEND: f64 = 0.4;

/// Horizon of predictions, as the distance in skins that the fastest atom covers: shorter for bound atoms,
/// which soon turn round.
pub fn prediction_distance(topology: &Topology) -> f64 {
    if topology.bonds.is_empty() && !topology.is_constrained() { 0.45 } else { 0.25 }
}

/// Limits of the distance of atoms from the place that the list has for them, by species, as a part of the
/// limit of the lightest.
///
/// Speeds of atoms of mass m are proportional to 1 / sqrt(m), but a list ends with the fastest of many, whose
/// paths bend: the third root was best. Virtual sites go along with atoms.
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
    /// Time to look ahead.
    pub time: f64,
    /// Largest length of a displacement.
    pub most: f64,
    /// Inverse masses, by species or by id.
    pub inverse_mass: &'a Masses,
}

impl PositionPrediction<'_> {
    /// Displacement of an atom, as far as its velocity and the force on it determine it; none where the force is not
    /// finite, as of atoms that overlapped before they were moved.
    pub fn displacement(&self, velocity: Vec3, force: Vec3, inverse_mass: f64) -> Vec3 {
        if self.time == 0.0 {
            return Vec3::ZERO;
        }
        let bend = BEND * self.time * inverse_mass;
        let way = self.time * (velocity + bend * force);
        let length2 = way.iter().map(|x| x * x).sum::<f64>();
        if length2 <= self.most * self.most {
            way
        } else if length2.is_finite() {
            way * self.most / length2.sqrt()
        } else {
            Vec3::ZERO
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SimBox, Species, Vector};

    #[test]
    fn the_predicted_displacement_is_a_parabola_that_ends() {
        let inverse_mass = Masses::default();
        let prediction = PositionPrediction { time: 0.5, most: 1.0, inverse_mass: &inverse_mass };
        // 0.5 * 1 + 0.4 * 0.5^2 * 2 * 0.5
        assert_eq!(
            prediction.displacement(Vector([1.0, 0.0, -1.0]), Vector([2.0, 0.0, -2.0]), 0.5),
            [0.6, 0.0, -0.6]
        );
        let far = prediction.displacement(Vector([30.0, 40.0, 0.0]), Vec3::ZERO, 1.0);
        assert!((far[0] - 0.6).abs() < 1e-15 && (far[1] - 0.8).abs() < 1e-15);
        assert_eq!(prediction.displacement(Vec3::ZERO, Vector([f64::NAN; 3]), 1.0), Vec3::ZERO);
        assert_eq!(
            PositionPrediction { time: 0.0, ..prediction }.displacement(
                Vector([f64::NAN; 3]),
                Vector([f64::INFINITY; 3]),
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
