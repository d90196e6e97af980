//! Restraints: atoms held near where they were when the run began, and the centres of two groups held at
//! a distance. How strongly they are held may change from stage to stage and in the course of one.

use jostle_core::{
    Error, IdIndex, Real, Result, SimBox, State, SymTensor, System, Vec3, Vector, WholeGroups,
};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// All restraints of a system, one term of its energy.
///
/// Restraints at a distance are forces between atoms: the momentum is conserved, and they have a virial.
/// Restraints at a place are external forces, like fields: they conserve no momentum. Reference positions
/// that stay as the box changes give no virial; if they follow the box (see [`Spring::center`]), the virial
/// is the response of the energy, the sum of the forces times the vectors from the centre of the reference
/// positions to the atoms (as GROMACS has it for `refcoord_scaling = com`; `posres` in its
/// `position_restraints.cpp`).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Restraints {
    /// Springs, one for each `[[restraint]]`; anchors and distances have theirs by number.
    pub springs: Vec<Spring>,
    /// Atoms that are held at a place.
    pub anchors: Vec<Anchor>,
    /// Groups that are held at a distance.
    pub distances: Vec<Distance>,
}

/// Common properties of the anchors or distances of one `[[restraint]]`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spring {
    /// k, in energy / length^2.
    pub stiffness: f64,
    /// The centre of mass of the reference positions, in units of the edges of the box, where it follows
    /// the box: the places of anchors are counted from it. `None`: places stay where they are.
    pub center: Option<Vec3>,
}

impl Spring {
    /// A spring whose reference positions stay where they are.
    pub fn new(stiffness: f64) -> Self {
        Spring { stiffness, center: None }
    }
}

/// A spring from an atom, in its nearest image, to a place: k/2 d^2.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Anchor {
    /// The id of the atom.
    pub atom: u32,
    /// The place, from the centre of its spring if that has one.
    pub place: Vec3,
    /// The number of its spring.
    pub spring: u32,
}

/// A spring between two centres of mass, the second in its nearest image as seen from the first: k/2
/// (d - from)^2 where they are nearer than `from`, k/2 (d - to)^2 where they are further than `to`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Distance {
    /// The two groups.
    pub centers: [Center; 2],
    /// The distances between which nothing pulls; the same twice for a harmonic spring.
    pub range: [f64; 2],
    /// The number of its spring.
    pub spring: u32,
}

/// A group of atoms by its centre of mass.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Center {
    /// The atoms, with their ids.
    pub members: Vec<GroupMember>,
}

/// An atom of a group.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GroupMember {
    /// Id of the atom.
    pub id: u32,
    /// The part it has in the mass of the group.
    pub share: f64,
    /// Which image of its unbroken path belongs to the group.
    pub image: [i32; 3],
}

impl Center {
    /// A group of atoms of a system, whole as it was when the run began ([`WholeGroups::of_start`]): the centre of a
    /// molecule across an edge of the box is at that edge, and a run that is resumed in another box has the same
    /// images.
    pub fn new(system: &System, start: &WholeGroups, atoms: &[u32]) -> Self {
        let index_by_id = system.state.index_by_id();
        let total: f64 = atoms.iter().map(|id| system.mass(index_by_id.of(*id))).sum();
        let member = |(id, image): (&u32, [i32; 3])| {
            let share = system.mass(index_by_id.of(*id)) / total;
            GroupMember { id: *id, share, image }
        };
        Center { members: atoms.iter().zip(start.images(atoms)).map(member).collect() }
    }

    /// Position of the centre, or the part of it that atoms with indices up to `n` have; `index_by_id` is that of the
    /// state.
    fn position(&self, simbox: &SimBox, (state, n): (&State, usize), index_by_id: &IdIndex) -> Vec3 {
        let mut center = Vec3::ZERO;
        for GroupMember { id, share, image } in &self.members {
            let Some(index) = index_by_id.get(*id).filter(|index| *index < n) else { continue };
            let (r, crossed) = (state.position[index], state.image[index]);
            let shift = simbox.shift([0, 1, 2].map(|k| crossed[k] + image[k]));
            center += *share * (r + shift);
        }
        center
    }
}

/// Energy and force/r of a spring at a squared distance, which rests between two distances; no force at
/// no distance.
pub fn spring<R: Real>(r2: R, [from, to, stiffness]: [R; 3]) -> (R, R) {
    let least = R::lit(1e-200);
    let r = R::select(least.lt(r2), r2, least).sqrt();
    let beyond = R::select(to.lt(r), r - to, R::lit(0.0));
    let excess = R::select(r.lt(from), r - from, beyond);
    let force = stiffness * excess;
    (R::lit(0.5) * force * excess, -(force / r))
}

/// Energy, force and virial of restraints.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RestraintForce {
    /// The energy.
    pub energy: f64,
    /// The force on an atom or, of a restraint at a distance, on the second centre; that on the first is
    /// the opposite.
    pub force: Vec3,
    /// The virial.
    pub virial: SymTensor,
}

/// Centres and distance forces of all restraints, which those on single atoms follow from.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RestraintState {
    /// Origins of the places of anchors, by spring.
    centers: Vec<Vec3>,
    /// The force of each restraint at a distance.
    pub distance_forces: Vec<RestraintForce>,
}

impl Restraints {
    /// Returns true where there are no restraints.
    pub fn is_empty(&self) -> bool {
        self.anchors.is_empty() && self.distances.is_empty()
    }

    /// Sets the stiffness of each spring, in their order.
    ///
    /// # Errors
    /// If there are more or fewer springs.
    pub fn set_stiffness(&mut self, stiffness: &[f64]) -> Result<()> {
        if stiffness.len() != self.springs.len() {
            let (given, there) = (stiffness.len(), self.springs.len());
            return Err(Error::input(format!("{given} numbers for the stiffness of {there} restraints")));
        }
        self.springs.iter_mut().zip(stiffness).for_each(|(spring, k)| spring.stiffness = *k);
        Ok(())
    }

    /// Origins of the places of anchors in a box, by spring.
    pub fn centers(&self, simbox: &SimBox) -> Vec<Vec3> {
        let center = |spring: &Spring| spring.center.map_or(Vec3::ZERO, |s| simbox.to_cartesian(s));
        self.springs.iter().map(center).collect()
    }

    /// Centres and distance forces of a state; `index_by_id` is that of the atoms.
    pub fn at(&self, simbox: &SimBox, state: &State, index_by_id: &IdIndex) -> RestraintState {
        self.at_centers(simbox, &self.group_centers(simbox, (state, state.len()), index_by_id))
    }

    /// Centres of the two groups of each restraint at a distance, or the parts of them that atoms with indices up to `n`
    /// have.
    pub fn group_centers(
        &self,
        simbox: &SimBox,
        (state, n): (&State, usize),
        index_by_id: &IdIndex,
    ) -> Vec<[Vec3; 2]> {
        let center = |center: &Center| center.position(simbox, (state, n), index_by_id);
        self.distances.iter().map(|distance| distance.centers.each_ref().map(center)).collect()
    }

    /// Centres and distance forces, from the centres of the groups.
    pub fn at_centers(&self, simbox: &SimBox, group_centers: &[[Vec3; 2]]) -> RestraintState {
        RestraintState {
            centers: self.centers(simbox),
            distance_forces: self.distance_forces(simbox, group_centers),
        }
    }

    fn distance_forces(&self, simbox: &SimBox, group_centers: &[[Vec3; 2]]) -> Vec<RestraintForce> {
        let restraint = |(distance, [a, b]): (&Distance, &[Vec3; 2])| {
            let d = simbox.nearest_image(*b - *a);
            let ([from, to], Spring { stiffness, .. }) =
                (distance.range, self.springs[distance.spring as usize]);
            let (energy, force_over_r) =
                spring(d[0] * d[0] + d[1] * d[1] + d[2] * d[2], [from, to, stiffness]);
            let pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
            let virial = pairs.map(|(a, b)| force_over_r * d[a] * d[b]);
            RestraintForce { energy, force: force_over_r * d, virial }
        };
        self.distances.iter().zip(group_centers).map(restraint).collect()
    }
}

/// The restraints on each atom.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AtomRestraints {
    /// Beginning of each atom's numbers, by id, and the end of the last one's; empty without restraints.
    pub first: Vec<u32>,
    /// Numbers of anchors, then, counted on from these, of restraints at a distance.
    pub numbers: Vec<u32>,
    /// Part of the force of the latter that an atom gets, with its sign.
    pub shares: Vec<f64>,
}

impl AtomRestraints {
    /// Restraints of `n` atoms, by id.
    pub fn new(restraints: &Restraints, n: usize) -> Self {
        if restraints.is_empty() {
            return AtomRestraints::default();
        }
        let mut of: Vec<Vec<(u32, f64)>> = vec![Vec::new(); n];
        for (number, anchor) in (0..).zip(&restraints.anchors) {
            of[anchor.atom as usize].push((number, 1.0));
        }
        for (number, distance) in (restraints.anchors.len() as u32..).zip(&restraints.distances) {
            for (center, sign) in distance.centers.iter().zip([-1.0, 1.0]) {
                let each = center.members.iter();
                each.for_each(|member| of[member.id as usize].push((number, sign * member.share)));
            }
        }
        let mut by_atom = AtomRestraints { first: vec![0], ..AtomRestraints::default() };
        for one in of {
            let (numbers, shares): (Vec<u32>, Vec<f64>) = one.into_iter().unzip();
            by_atom.numbers.extend(numbers);
            by_atom.shares.extend(shares);
            by_atom.first.push(by_atom.numbers.len() as u32);
        }
        by_atom
    }

    fn of(&self, id: u32) -> Range<usize> {
        match self.first.get(id as usize..id as usize + 2) {
            Some(&[first, end]) => first as usize..end as usize,
            _ => 0..0,
        }
    }

    /// The force on the atom with this id at this position. Energy and virial are those of its anchors: of
    /// restraints at a distance, [`RestraintState::distance_forces`] has them.
    pub fn on(
        &self,
        id: u32,
        (simbox, position): (&SimBox, Vec3),
        restraints: &Restraints,
        now: &RestraintState,
    ) -> RestraintForce {
        let mut all = RestraintForce::default();
        for k in self.of(id) {
            let number = self.numbers[k] as usize;
            let Some(Anchor { place, spring: own, .. }) = restraints.anchors.get(number) else {
                let restraint = now.distance_forces[number - restraints.anchors.len()].force;
                all.force += self.shares[k] * restraint;
                continue;
            };
            let (from, Spring { stiffness, center }) =
                (now.centers[*own as usize], restraints.springs[*own as usize]);
            let d = simbox.nearest_image(position - from - *place);
            let (u, force_over_r) = spring(d[0] * d[0] + d[1] * d[1] + d[2] * d[2], [0.0, 0.0, stiffness]);
            let force = force_over_r * d;
            all.energy += u;
            all.force += force;
            if center.is_some() {
                let more = anchor_virial(force, d + *place);
                all.virial.iter_mut().zip(more).for_each(|(w, part)| *w += part);
            }
        }
        all
    }
}

/// The virial of an anchor whose place is at rest relative to a centre that follows the box: minus the
/// derivative of its energy with the strain, made symmetric (an external force has a torque, too).
pub fn anchor_virial<R: Real>(force: Vector<R>, from_center: Vector<R>) -> [R; 6] {
    let pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
    pairs.map(|(a, b)| R::lit(0.5) * (force[a] * from_center[b] + force[b] * from_center[a]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::{Dual, Species};

    #[test]
    fn the_force_is_the_exact_derivative_of_the_energy() {
        let ranges = [[0.0, 0.0], [2.0, 2.0], [1.5, 2.5], [0.0, 2.0], [2.0, f64::INFINITY]];
        for (range, stiffness) in ranges.iter().flat_map(|r| [0.5, 3.0, 1000.0].map(|k| (r, k))) {
            let c = [range[0], range[1], stiffness].map(Dual::constant);
            for k in 1..80 {
                let r = Dual::variable(0.05 * f64::from(k) + 0.01);
                let (energy, force_over_r) = spring(r * r, c);
                let force = force_over_r.value * r.value;
                assert!(
                    (force + energy.slope).abs() < 1e-12 * stiffness.max(1.0),
                    "{range:?} at {}: {force}",
                    r.value
                );
                let inside = (range[0]..=range[1]).contains(&r.value);
                assert_eq!(energy.value == 0.0, inside, "{range:?} at {}", r.value);
            }
        }
        assert_eq!(spring(0.0, [0.0, 0.0, 5.0]), (0.5 * 5.0 * 1e-200, -5.0));
        // A spring without stiffness has neither energy nor force.
        assert_eq!(spring(4.0, [0.0, 0.0, 0.0]), (0.0, 0.0));
    }

    #[test]
    fn stiffness_is_given_to_every_spring() {
        let springs = vec![Spring { center: Some(Vector([0.5; 3])), ..Spring::new(1.0) }, Spring::new(2.0)];
        let mut restraints = Restraints { springs, ..Restraints::default() };
        restraints.set_stiffness(&[3.0, 0.0]).unwrap();
        assert_eq!(restraints.springs[0], Spring { stiffness: 3.0, center: Some(Vector([0.5; 3])) });
        assert_eq!(restraints.springs[1].stiffness, 0.0);
        assert!(restraints.set_stiffness(&[3.0]).is_err());
    }

    /// A molecule across an edge of the box has its centre there, and not in the middle of the box; it
    /// keeps it when one of its atoms crosses the edge.
    #[test]
    fn a_center_is_that_of_whole_molecules() {
        let simbox = SimBox::new([0.0; 3], [10.0; 3], [2.0, 0.0, 0.0], [true; 3]).unwrap();
        let kinds = [1.0, 3.0].map(|mass| Species { name: "A".into(), mass, charge: 0.0 });
        let mut system = System::new(simbox, kinds.to_vec());
        system.state.push(1, [9.5, 0.5, 5.0]);
        system.state.push(0, [1.5, 9.5, 5.0]);
        let center = Center::new(&system, &WholeGroups::of_start(&system), &[0, 1]);
        let at = |system: &System| {
            center.position(&simbox, (&system.state, system.state.len()), &system.state.index_by_id())
        };
        let before = at(&system);
        let expected = [9.5 + 0.25 * 0.0, 0.5 - 0.25, 5.0];
        assert!((0..3).all(|k| (before[k] - expected[k]).abs() < 1e-12), "{before:?}");
        system.state.position[1] = Vector([-0.5, -0.5, 5.0]);
        system.state.image[1] = [0, 1, 0];
        let after = at(&system);
        assert!((0..3).all(|k| (after[k] - before[k]).abs() < 1e-12), "{after:?}");
    }

    /// A run that is resumed after its box has grown has the images of its beginning: in the larger box another image of
    /// the second atom would be next to the first one.
    #[test]
    fn images_are_those_in_the_box_of_the_beginning() {
        let cube = |length: f64| SimBox::new([0.0; 3], [length; 3], [0.0; 3], [true; 3]).unwrap();
        let mut system = System::new(cube(10.0), vec![Species { name: "A".into(), mass: 1.0, charge: 0.0 }]);
        system.state.push(0, [1.0, 5.0, 5.0]);
        system.state.push(0, [6.5, 5.0, 5.0]);
        let center = |system: &System| Center::new(system, &WholeGroups::of_start(system), &[0, 1]);
        let begun = center(&system);
        assert_eq!(begun.members[1].image, [-1, 0, 0]);
        (system.reference_box, system.reference_positions) = (Some(system.simbox), system.unwrapped_by_id());
        system.deform(cube(12.0));
        assert_eq!(center(&system), begun);
    }
}
