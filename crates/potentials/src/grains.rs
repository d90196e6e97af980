//! Grains: spheres that push each other off like springs where they overlap, with damping and friction
//! (L. E. Silbert, D. Ertas, G. S. Grest, T. C. Halsey, D. Levine and S. J. Plimpton, Phys. Rev. E 64
//! (2001) 051302, eqs. 1 to 4, with Hooke's springs along the normal and none along the tangent).
//!
//! The push is a pair force like any other ([`Grains::springs`]). What depends on velocities acts in the
//! middle of a step (`SubSteps::apply_contact_friction`), so that forces are
//! functions of positions alone.

use crate::{PairEntry, PairKind, PairTerm, Truncation};
use jostle_core::{Error, Masses, Real, Result, System, Vector};
use serde::{Deserialize, Serialize};

/// The material of all grains, and their sizes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Grains {
    /// The push along the normal, by overlap: energy / length^2.
    pub stiffness: f64,
    /// The damping of velocities along the normal, by effective mass: 1 / time.
    pub normal_damping: f64,
    /// Damping of the velocity at which surfaces slide on each other.
    pub tangential_damping: f64,
    /// Coulomb's coefficient: the most that friction is, by what acts along the normal.
    pub friction: f64,
    /// Radius by species.
    pub radius: Vec<f64>,
}

impl Grains {
    /// The push of grains on each other, as a force between pairs.
    pub fn springs(&self) -> PairTerm {
        let mut term = self.no_springs(self.radius.len());
        for (a, r) in self.radius.iter().enumerate() {
            for (b, other) in self.radius.iter().enumerate().skip(a) {
                term.set(a, b, self.spring(r + other));
            }
        }
        term
    }

    /// Push of a wall, which is the last species.
    pub fn springs_of_wall(&self) -> PairTerm {
        let wall = self.radius.len();
        let mut term = self.no_springs(wall + 1);
        self.radius.iter().enumerate().for_each(|(a, r)| term.set(a, wall, self.spring(*r)));
        term
    }

    fn no_springs(&self, n_species: usize) -> PairTerm {
        PairTerm::new(PairKind::SoftRepulsion, Truncation::Plain, n_species)
    }

    fn spring(&self, size: f64) -> PairEntry {
        PairEntry { parameters: vec![self.stiffness * size, size], cutoff: size }
    }

    /// The inverse moments of inertia of solid spheres; 0 for those that are driven, which do not turn.
    pub fn inverse_inertia(&self, system: &System) -> Masses {
        let inertia = |inverse: &f64, radius: f64| 2.5 * inverse / (radius * radius);
        match system.dynamic_masses().1 {
            Masses::BySpecies(all) => {
                Masses::BySpecies(all.iter().zip(&self.radius).map(|(m, r)| inertia(m, *r)).collect())
            }
            Masses::ById(all) => {
                let indices = system.state.index_by_id().into_iter();
                let radius = indices.map(|index| self.radius[usize::from(system.state.species[index])]);
                Masses::ById(all.iter().zip(radius).map(|(m, r)| inertia(m, r)).collect())
            }
        }
    }

    /// Checks that the atoms of a system can be such grains.
    ///
    /// # Errors
    /// If a number makes no sense, a species has no radius, or atoms are excluded from each other.
    pub fn check(&self, system: &System) -> Result<()> {
        let numbers = [
            ("stiffness", self.stiffness),
            ("normal_damping", self.normal_damping),
            ("tangential_damping", self.tangential_damping),
            ("friction", self.friction),
        ];
        if let Some((name, x)) = numbers.iter().find(|(_, x)| !(*x >= 0.0 && x.is_finite())) {
            return Err(Error::input(format!("{name} = {x}, but it must be 0 or more")));
        }
        if self.radius.len() != system.species.len() {
            let (known, there) = (self.radius.len(), system.species.len());
            return Err(Error::input(format!("there are {there} species, {known} of them with a radius")));
        }
        if let Some(k) = self.radius.iter().position(|r| !(*r > 0.0 && r.is_finite())) {
            let message = format!("grains of {} have the radius {}", system.species[k].name, self.radius[k]);
            return Err(Error::input(message).hint("a radius must be positive"));
        }
        if !system.topology.bonds.is_empty() || !system.topology.excluded.is_empty() {
            return Err(Error::input("grains cannot be bound to, or excluded from, each other"));
        }
        Ok(())
    }
}

/// A contact of a grain with another one or with a wall.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contact<R> {
    /// Overlap: the sum of radii less the distance.
    pub overlap: R,
    /// The effective mass, m_a m_b / (m_a + m_b).
    pub mass: R,
    /// Distances of the two centres from the point of contact; 0 for a wall.
    pub arms: [R; 2],
    /// Unit vector from the other to the grain.
    pub normal: Vector<R>,
}

/// Velocity-dependent forces at a contact, eqs. 1 and 2: the force on the first grain (the other has the
/// opposite), and the torques on both divided by minus their arms. `velocity` is that of the first centre
/// relative to the other, `angular` the angular velocities of the two; the coefficients are stiffness, normal
/// damping, tangential damping and the coefficient of friction.
#[inline(always)]
pub fn friction<R: Real>(
    [stiffness, normal_damping, tangential_damping, most]: [R; 4],
    contact: &Contact<R>,
    velocity: Vector<R>,
    angular: [Vector<R>; 2],
) -> (Vector<R>, Vector<R>) {
    let Contact { overlap, mass, arms, normal } = *contact;
    let turning = Vector::from_fn(|k| arms[0] * angular[0][k] + arms[1] * angular[1][k]).cross(normal);
    let along = velocity.dot(normal);
    let slip = Vector::from_fn(|k| velocity[k] - turning[k] - along * normal[k]);
    let damping = normal_damping * mass * along;
    let push = stiffness * overlap - damping;
    let most = most * R::select(push.lt(R::lit(0.0)), -push, push);
    let speed2 = slip.norm_squared();
    let viscous = tangential_damping * mass;
    // Coulomb's limit, without a division where nothing slides.
    let slides = (most * most).lt(viscous * viscous * speed2);
    let speed2 = R::select(slides, speed2, R::lit(1.0));
    let drag = R::select(slides, most * speed2.rsqrt(), viscous);
    let force = Vector::from_fn(|k| -(damping * normal[k] + drag * slip[k]));
    (force, normal.cross(force))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Vec3;

    const LAW: [f64; 4] = [1000.0, 3.0, 5.0, 0.4];

    #[test]
    fn damping_opposes_and_friction_has_a_limit() {
        let normal = [0.6, 0.8, 0.0];
        let contact = Contact { overlap: 0.01, mass: 0.5, arms: [0.4, 0.6], normal: Vector(normal) };
        let at_rest = |velocity| friction(LAW, &contact, velocity, [Vec3::ZERO; 2]).0;
        // Along the normal alone: no friction.
        let force = at_rest(Vector(normal.map(|n| -2.0 * n)));
        assert!((0..3).all(|k| (force[k] - normal[k] * 3.0 * 0.5 * 2.0).abs() < 1e-12), "{force:?}");
        // Slow sliding is damped, fast sliding has Coulomb's friction, mu times the push.
        for (speed, drag) in [(0.1, 5.0 * 0.5 * 0.1), (100.0, 0.4 * 1000.0 * 0.01)] {
            let force = at_rest(Vector([-0.8 * speed, 0.6 * speed, 0.0]));
            let size = (force[0] * force[0] + force[1] * force[1]).sqrt();
            assert!((size / drag - 1.0).abs() < 1e-12, "{force:?}");
            assert!(force[0] > 0.0 && force[1] < 0.0);
        }
        assert_eq!(at_rest(Vec3::ZERO), [0.0; 3]);
        // Turning moves surfaces as well: here each as fast as the other, so that only the sum slides.
        let [alone, both] = [[0.0, 0.0, 0.1], [0.0, 0.0, -0.1 * 0.4 / 0.6]]
            .map(|other| friction(LAW, &contact, Vec3::ZERO, [Vector([0.0, 0.0, 0.1]), Vector(other)]));
        assert!(both.0.iter().all(|f| f.abs() < 1e-15) && alone.0[0] < 0.0 && alone.0[1] > 0.0, "{alone:?}");
        assert!((alone.1[2] - 5.0 * 0.5 * 0.1).abs() < 1e-12, "{alone:?}");
    }

    #[test]
    fn springs_are_hookes() {
        let grains = Grains {
            stiffness: 200.0,
            normal_damping: 0.0,
            tangential_damping: 0.0,
            friction: 0.0,
            radius: vec![0.5, 0.3],
        };
        let term = grains.springs();
        let c = term.coefficients(0, 1).unwrap();
        let (energy, force_over_r) = term.evaluate(0.49, &c);
        assert!((energy - 0.5 * 200.0 * 0.01).abs() < 1e-12 && (force_over_r * 0.7 - 20.0).abs() < 1e-12);
        let wall = grains.springs_of_wall();
        assert_eq!(wall.get(1, 2).unwrap().cutoff, 0.3);
        assert!(wall.get(0, 1).is_none());
    }
}
