//! Grains: spheres that push each other off like springs where they overlap, with damping and friction
//! (L. E. Silbert, D. Ertas, G. S. Grest, T. C. Halsey, D. Levine and S. J. Plimpton, Phys. Rev. E 64
//! (2001) 051302, eqs. 1 to 4, with Hooke's springs), and with resistance to rolling (Y. Wang,
//! F. Alonso-Marroquin and W. W. Guo, Particuology 23 (2015) 49).
//!
//! The push is a pair force like any other ([`Grains::springs`]). What depends on velocities acts in the
//! middle of a step (`SubSteps::apply_contact_friction`), so that forces are
//! functions of positions alone. Springs along the surfaces depend on what has happened since the grains touched,
//! which their contact remembers ([`Springs`]).

use crate::{PairEntry, PairKind, PairTerm, Truncation};
use jostle_core::{Error, Masses, Real, RememberedContact, Result, System, Vector};
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
    /// The spring between surfaces that stick to each other: energy / length^2. Contacts remember it.
    pub tangential_stiffness: f64,
    /// Resistance of grains to rolling on each other.
    pub rolling: Rolling,
    /// Radius by species.
    pub radius: Vec<f64>,
}

/// Resistance to rolling: a spring and damping of how far surfaces roll on each other, as a torque.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Rolling {
    /// The spring: energy / length^2. Contacts remember it.
    pub stiffness: f64,
    /// Damping, by effective mass: 1 / time.
    pub damping: f64,
    /// The most that it is, by what acts along the normal.
    pub friction: f64,
}

/// Law of contacts on numbers of any type, as [`contact_forces`] takes it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Law<R> {
    /// See [`Grains::stiffness`].
    pub stiffness: R,
    /// See [`Grains::normal_damping`].
    pub normal_damping: R,
    /// Spring, damping and coefficient of friction of sliding.
    pub sliding: [R; 3],
    /// Spring, damping and coefficient of friction of rolling.
    pub rolling: [R; 3],
}

/// Count of the numbers of a [`Law`].
pub const LAW_NUMBERS: usize = 8;

impl<R: Copy> Law<R> {
    /// The law from its numbers, in the order of its fields.
    #[inline(always)]
    pub fn from_numbers(x: [R; LAW_NUMBERS]) -> Self {
        Law {
            stiffness: x[0],
            normal_damping: x[1],
            sliding: [x[2], x[3], x[4]],
            rolling: [x[5], x[6], x[7]],
        }
    }
}

impl Grains {
    /// The numbers of the law of contacts, see [`Law::from_numbers`].
    pub fn law(&self) -> [f64; LAW_NUMBERS] {
        let Rolling { stiffness, damping, friction } = self.rolling;
        let sliding = [self.tangential_stiffness, self.tangential_damping, self.friction];
        let mut numbers = [self.stiffness, self.normal_damping, 0.0, 0.0, 0.0, stiffness, damping, friction];
        numbers[2..5].copy_from_slice(&sliding);
        numbers
    }

    /// Returns true where contacts remember how surfaces have moved on each other.
    pub fn remember(&self) -> bool {
        self.tangential_stiffness > 0.0 || self.rolling.stiffness > 0.0
    }

    /// Time for which two of the lightest grains touch in a collision: half a period of the fastest of their springs,
    /// by sliding and by rolling, too.
    pub fn shortest_contact(&self, system: &System) -> f64 {
        let lightest = system.dynamic_masses().1.values().iter().copied().fold(0.0, f64::max);
        // Solid spheres slide as 2/7 of their mass would, and roll on a wall as 2/5 of it.
        let sliding = 3.5 * self.tangential_stiffness;
        let stiffest = self.stiffness.max(sliding).max(2.5 * self.rolling.stiffness);
        std::f64::consts::PI / (2.0 * lightest * stiffest).sqrt()
    }

    /// The most contacts that a grain of a species may have at once: as many of the smallest grains as fit around it
    /// where all overlap by `OVERLAP` of their distance, and all walls. Caps of a sphere cover at most 91% of it.
    pub fn most_contacts(&self, species: usize, n_walls: usize) -> usize {
        const OVERLAP: f64 = 0.3;
        let smallest = self.radius.iter().copied().fold(f64::INFINITY, f64::min);
        let sine = (1.0 - OVERLAP) * smallest / (self.radius[species] + smallest);
        let cap = 0.5 * (1.0 - (1.0 - sine * sine).sqrt());
        (0.91 / cap).ceil() as usize + n_walls
    }

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
            ("tangential_stiffness", self.tangential_stiffness),
            ("rolling stiffness", self.rolling.stiffness),
            ("rolling damping", self.rolling.damping),
            ("rolling friction", self.rolling.friction),
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
    /// The effective radius, R_a R_b / (R_a + R_b).
    pub radius: R,
    /// Distances of the two centres from the point of contact; 0 for a wall.
    pub arms: [R; 2],
    /// Unit vector from the other to the grain.
    pub normal: Vector<R>,
}

/// Deformations of the springs of a contact: how far the surface of the first grain has slid and rolled on that of the
/// other while they stuck.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Springs<R> {
    /// Of sliding; the other grain sees the opposite.
    pub slide: Vector<R>,
    /// Of rolling; the other grain sees the same.
    pub roll: Vector<R>,
}

impl Springs<f64> {
    /// Springs of a contact that begins.
    pub const NEW: Self = Springs { slide: Vector([0.0; 3]), roll: Vector([0.0; 3]) };

    /// Springs of a contact as the first of its two atoms, in the order given, sees them.
    pub fn seen_by_first(contact: &RememberedContact, atoms: [u32; 2]) -> Self {
        let sign = if contact.atoms == atoms { 1.0 } else { -1.0 };
        Springs { slide: sign * contact.slide, roll: contact.roll }
    }

    /// The contact of two atoms, the first of which sees these springs, to be remembered.
    pub fn of(self, atoms: [u32; 2]) -> RememberedContact {
        let [a, b] = atoms;
        let sign = if a <= b { 1.0 } else { -1.0 };
        RememberedContact { atoms: [a.min(b), a.max(b)], slide: sign * self.slide, roll: self.roll }
    }
}

/// Number by which contacts name a wall instead of a second atom.
pub fn wall_number(wall: usize) -> u32 {
    u32::MAX - 1 - wall as u32
}

/// Forces at a contact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ContactForces<R> {
    /// Force on the first grain; the other has the opposite.
    pub force: Vector<R>,
    /// Torques of the force on both grains, divided by minus their arms.
    pub twist: Vector<R>,
    /// Torque of rolling on the first grain; the other has the opposite.
    pub torque: Vector<R>,
}

/// Motion of the surfaces of two grains at their contact. `velocity` is that of the first centre relative to the other,
/// `angular` the angular velocities of the two.
struct SurfaceMotion<R> {
    /// Velocity of the centres along the normal.
    along: R,
    /// Velocity at which the surfaces slide.
    slip: Vector<R>,
    /// Velocity at which they roll.
    roll: Vector<R>,
}

impl<R: Real> SurfaceMotion<R> {
    #[inline(always)]
    fn of(contact: &Contact<R>, velocity: Vector<R>, angular: [Vector<R>; 2]) -> Self {
        let Contact { arms, normal, radius, .. } = *contact;
        let [a, b] = angular;
        let turning = Vector::from_fn(|k| arms[0] * a[k] + arms[1] * b[k]).cross(normal);
        let along = velocity.dot(normal);
        let slip = Vector::from_fn(|k| velocity[k] - turning[k] - along * normal[k]);
        let roll = Vector::from_fn(|k| radius * (a[k] - b[k])).cross(normal);
        SurfaceMotion { along, slip, roll }
    }
}

/// Springs after `time` at these velocities, before friction limits them: what is left of them in the plane of contact,
/// which turns with the grains, and what surfaces have moved since.
#[inline(always)]
pub fn stretched<R: Real>(
    springs: Springs<R>,
    contact: &Contact<R>,
    velocity: Vector<R>,
    angular: [Vector<R>; 2],
    time: R,
) -> Springs<R> {
    let SurfaceMotion { slip, roll, .. } = SurfaceMotion::of(contact, velocity, angular);
    let moved = |spring: Vector<R>, speed: Vector<R>| {
        let out = spring.dot(contact.normal);
        Vector::from_fn(|k| time.mul_add(speed[k], spring[k] - out * contact.normal[k]))
    };
    Springs { slide: moved(springs.slide, slip), roll: moved(springs.roll, roll) }
}

/// Forces at a contact that depend on velocities and on what it remembers, eqs. 1 to 4, and the springs as friction
/// leaves them: where surfaces slide or roll they are as long as the most that friction is allows.
#[inline(always)]
pub fn contact_forces<R: Real>(
    law: &Law<R>,
    contact: &Contact<R>,
    velocity: Vector<R>,
    angular: [Vector<R>; 2],
    springs: Springs<R>,
) -> (ContactForces<R>, Springs<R>) {
    let SurfaceMotion { along, slip, roll } = SurfaceMotion::of(contact, velocity, angular);
    let damping = law.normal_damping * contact.mass * along;
    let push = law.stiffness * contact.overlap - damping;
    let push = R::select(push.lt(R::lit(0.0)), -push, push);
    let (drag, slide) = dragged(law.sliding, contact.mass, push, slip, springs.slide);
    let (hold, rolled) = dragged(law.rolling, contact.mass, push, roll, springs.roll);
    let force = Vector::from_fn(|k| drag[k] - damping * contact.normal[k]);
    let torque = contact.normal.cross(Vector::from_fn(|k| contact.radius * hold[k]));
    let forces = ContactForces { force, twist: contact.normal.cross(force), torque };
    (forces, Springs { slide, roll: rolled })
}

/// Force of a spring and of damping against a motion, at most `most` of the push, and the spring that is left.
#[inline(always)]
fn dragged<R: Real>(
    [stiffness, damping, most]: [R; 3],
    mass: R,
    push: R,
    speed: Vector<R>,
    spring: Vector<R>,
) -> (Vector<R>, Vector<R>) {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let viscous = damping * mass;
    let wanted = Vector::from_fn(|k| stiffness.mul_add(spring[k], viscous * speed[k]));
    let (most, size2) = (most * push, wanted.norm_squared());
    // Coulomb's limit, without a division where nothing slides.
    let slides = (most * most).lt(size2);
    let part = R::select(slides, most * R::select(slides, size2, one).rsqrt(), one);
    let remembers = zero.lt(stiffness);
    let compliance = R::select(remembers, one / R::select(remembers, stiffness, one), zero);
    let left = |k: usize| (part * wanted[k] - viscous * speed[k]) * compliance;
    let spring = Vector::from_fn(|k| R::select(remembers, R::select(slides, left(k), spring[k]), zero));
    (Vector::from_fn(|k| -(part * wanted[k])), spring)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Vec3;

    const LAW: Law<f64> =
        Law { stiffness: 1000.0, normal_damping: 3.0, sliding: [0.0, 5.0, 0.4], rolling: [0.0; 3] };

    /// Force and twist of a contact without memory.
    fn friction(contact: &Contact<f64>, velocity: Vec3, angular: [Vec3; 2]) -> (Vec3, Vec3) {
        let (forces, springs) = contact_forces(&LAW, contact, velocity, angular, Springs::NEW);
        assert_eq!((forces.torque, springs), (Vec3::ZERO, Springs::NEW));
        (forces.force, forces.twist)
    }

    #[test]
    fn damping_opposes_and_friction_has_a_limit() {
        let normal = [0.6, 0.8, 0.0];
        let (radius, arms) = (0.24, [0.4, 0.6]);
        let contact = Contact { overlap: 0.01, mass: 0.5, radius, arms, normal: Vector(normal) };
        let at_rest = |velocity| friction(&contact, velocity, [Vec3::ZERO; 2]).0;
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
            .map(|other| friction(&contact, Vec3::ZERO, [Vector([0.0, 0.0, 0.1]), Vector(other)]));
        assert!(both.0.iter().all(|f| f.abs() < 1e-15) && alone.0[0] < 0.0 && alone.0[1] > 0.0, "{alone:?}");
        assert!((alone.1[2] - 5.0 * 0.5 * 0.1).abs() < 1e-12, "{alone:?}");
    }

    #[test]
    fn springs_are_as_long_as_friction_allows() {
        let law = Law { sliding: [200.0, 5.0, 0.4], rolling: [100.0, 4.0, 0.1], ..LAW };
        let (normal, radius) = (Vector([0.0, 0.0, 1.0]), 0.25);
        let contact = Contact { overlap: 0.01, mass: 0.5, radius, arms: [0.5, 0.5], normal };
        let still = [Vec3::ZERO; 2];
        // A spring out of the plane of contact is turned into it.
        let springs = Springs { slide: Vector([0.003, 0.0, 0.1]), roll: Vector([0.0, 0.002, 0.2]) };
        let springs = stretched(springs, &contact, Vector([0.0, 0.5, 2.0]), still, 0.01);
        assert_eq!((springs.slide, springs.roll), (Vector([0.003, 0.005, 0.0]), Vector([0.0, 0.002, 0.0])));
        let (forces, left) = contact_forces(&law, &contact, Vec3::ZERO, still, springs);
        assert_eq!((forces.force, left), (Vector([-0.6, -1.0, 0.0]), springs));
        // n x F R, with F = -100 x 0.002 along y.
        assert!((forces.torque[0] - 0.2 * radius).abs() < 1e-15, "{forces:?}");
        // Where surfaces slide, spring and damping together are the most that friction is.
        let long = Springs { slide: Vector([0.03, 0.04, 0.0]), roll: Vector([0.3, 0.4, 0.0]) };
        let (velocity, push) = (Vector([0.2, -0.1, 0.0]), 10.0);
        let (forces, left) = contact_forces(&law, &contact, velocity, still, long);
        let size = |v: Vec3| v.norm_squared().sqrt();
        assert!((size(forces.force) - 0.4 * push).abs() < 1e-12, "{forces:?}");
        assert!((size(forces.torque) - 0.1 * push * radius).abs() < 1e-12, "{forces:?}");
        let (again, same) = contact_forces(&law, &contact, velocity, still, left);
        assert!(size(again.force - forces.force) < 1e-12 && size(same.slide - left.slide) < 1e-12);
        assert!((size(left.roll) - 0.1 * push / 100.0).abs() < 1e-12, "{left:?}");
        // The other grain sees opposite slides and the same roll, from opposite normals.
        let seen = Springs::seen_by_first(&left.of([7, 3]), [3, 7]);
        assert_eq!((left.of([7, 3]).atoms, seen.slide, seen.roll), ([3, 7], -1.0 * left.slide, left.roll));
        let other = Contact { normal: -1.0 * normal, ..contact };
        let (theirs, _) = contact_forces(&law, &other, -1.0 * velocity, still, seen);
        let (mine, _) = contact_forces(&law, &contact, velocity, still, left);
        assert!(size(theirs.force + mine.force) < 1e-12 && size(theirs.torque + mine.torque) < 1e-12);
    }

    #[test]
    fn springs_are_hookes() {
        let grains = Grains {
            stiffness: 200.0,
            normal_damping: 0.0,
            tangential_damping: 0.0,
            friction: 0.0,
            tangential_stiffness: 0.0,
            rolling: Rolling::default(),
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
