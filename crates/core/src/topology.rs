//! Topology: bonds, angles, constraints, virtual sites and rigid bodies by the ids of their atoms, so that storage order
//! never matters here.

use crate::RigidBody;
use serde::{Deserialize, Serialize};

/// A bond between two atoms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bond {
    /// Index into [`Topology::bond_types`].
    pub kind: u32,
    /// Ids of the two.
    pub atoms: [u32; 2],
}

/// An angle of three atoms in a row; its vertex is the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Angle {
    /// Index into [`Topology::angle_types`].
    pub kind: u32,
    /// Ids of the three.
    pub atoms: [u32; 3],
}

/// A dihedral of four atoms: the angle between the plane of the first three and that of the last three, 0
/// where first and last are on the same side (cis). Several may share their atoms and add up; an improper
/// dihedral is one of atoms that are not bound in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dihedral {
    /// Index into [`Topology::dihedral_types`].
    pub kind: u32,
    /// Ids of the four.
    pub atoms: [u32; 4],
}

/// A pair of dihedrals that share three atoms, with a force that depends on both angles (CMAP): five atoms in
/// a row, the first four and the last four.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrossTerm {
    /// Index of its map.
    pub kind: u32,
    /// Ids of the five.
    pub atoms: [u32; 5],
}

/// A constraint: two atoms at a distance that does not change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Constraint {
    /// Ids of the two.
    pub atoms: [u32; 2],
    /// Distance of the two.
    pub length: f64,
}

/// A point without mass whose position follows from those of atoms; forces on it act on them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VirtualSite {
    /// Id of the point.
    pub site: u32,
    /// Ids of the atoms.
    pub atoms: [u32; 3],
    /// Rule by which its position follows from theirs.
    pub rule: SiteRule,
}

/// Rule by which the position of a [`VirtualSite`] follows from three atoms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum SiteRule {
    /// w1 r1 + w2 r2 + w3 r3; the weights add up to one.
    Average([f64; 3]),
    /// r1 + a (r2 - r1) + b (r3 - r1) + c (r2 - r1) x (r3 - r1); c is an inverse length.
    OutOfPlane([f64; 3]),
    /// A fixed place in a local frame of the atoms.
    Frame(LocalFrame),
}

/// A local frame of three atoms, made of the two arms that lead from the first of them to the others, and a
/// place in it. The axis x is along its sum of the arms, z is normal to both sums, and y normal to x and z.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LocalFrame {
    /// Lengths of the arms in the sums below.
    pub arms: Arms,
    /// Coefficients of the arms, at their full lengths, in the vector from the first atom to the origin.
    pub origin: [f64; 2],
    /// Coefficients of the arms in the vector along x.
    pub x: [f64; 2],
    /// Coefficients of the arms in a vector in the plane of x and y, on the side of y.
    pub y: [f64; 2],
    /// The place: lengths along x, y and z. A place on x is independent of y and z.
    pub place: [f64; 3],
}

/// Lengths that the arms of a [`LocalFrame`] have for its axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arms {
    /// Full lengths.
    AsLong,
    /// Length one: a sum of both arms bisects the angle, however long they are.
    Directions,
}

/// Geometry of a rigid molecule of water: oxygen, two hydrogens and, in models of four sites, a point between
/// these that has the charge of the oxygen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WaterShape {
    /// Distance of oxygen and hydrogen.
    pub bond_length: f64,
    /// Angle between the two bonds, in degrees.
    pub angle: f64,
    /// Distance of the oxygen from the fourth site, if there is one.
    pub site_distance: Option<f64>,
}

impl WaterShape {
    /// A molecule of three sites.
    pub fn new(bond_length: f64, angle: f64) -> Self {
        WaterShape { bond_length, angle, site_distance: None }
    }

    /// Number of atoms of a molecule, the fourth site included.
    pub fn atoms(&self) -> usize {
        3 + usize::from(self.site_distance.is_some())
    }

    /// Rule of the fourth site, which is on the line that bisects the two bonds.
    pub fn site_rule(&self) -> Option<SiteRule> {
        let height = self.bond_length * (0.5 * self.angle.to_radians()).cos();
        Some(SiteRule::towards_base(self.site_distance?, height))
    }
}

/// Everything that joins the atoms of a system. It does not change as atoms move.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Topology {
    /// Names of the kinds of bonds.
    pub bond_types: Vec<String>,
    /// The bonds, each once, and other pairs of atoms with a force of their own.
    pub bonds: Vec<Bond>,
    /// Names of the kinds of angles.
    pub angle_types: Vec<String>,
    /// The angles, each once.
    pub angles: Vec<Angle>,
    /// Names of the kinds of dihedrals.
    pub dihedral_types: Vec<String>,
    /// The dihedrals, each term once.
    pub dihedrals: Vec<Dihedral>,
    /// Pairs of dihedrals.
    pub cross_terms: Vec<CrossTerm>,
    /// Pairs of atoms without pair forces, besides those of [`Exclude`].
    pub excluded: Vec<[u32; 2]>,
    /// Constraints.
    pub constraints: Vec<Constraint>,
    /// Virtual sites.
    pub virtual_sites: Vec<VirtualSite>,
    /// Rigid bodies.
    pub rigid_bodies: Vec<RigidBody>,
}

/// Pairs of bound atoms without pair forces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Exclude {
    /// None: bound atoms interact as all others do (Kremer and Grest's chains).
    #[default]
    None,
    /// Atoms with a bond between them, "1-2".
    Bonded,
    /// These, and atoms bound to the same third one, "1-3".
    SecondBonded,
}

impl Exclude {
    /// All choices, in the order of the documentation.
    pub const ALL: [Exclude; 3] = [Exclude::None, Exclude::Bonded, Exclude::SecondBonded];

    /// The name in an input file.
    pub fn name(self) -> &'static str {
        match self {
            Exclude::None => "none",
            Exclude::Bonded => "1-2",
            Exclude::SecondBonded => "1-3",
        }
    }

    /// Description of one line.
    pub fn about(self) -> &'static str {
        match self {
            Exclude::None => "none: bound atoms interact as all others do",
            Exclude::Bonded => "atoms with a bond between them",
            Exclude::SecondBonded => "these, and atoms bound to the same third one",
        }
    }
}

impl Topology {
    /// Returns true where no term of a force has atoms.
    pub fn is_empty(&self) -> bool {
        self.bonds.is_empty()
            && self.angles.is_empty()
            && self.dihedrals.is_empty()
            && self.cross_terms.is_empty()
    }

    /// Returns true where distances between atoms do not change: there are constraints or rigid bodies.
    pub fn is_constrained(&self) -> bool {
        !self.constraints.is_empty() || !self.rigid_bodies.is_empty()
    }

    /// Returns true where atoms move with others: there are constraints, virtual sites or rigid bodies.
    pub fn has_groups(&self) -> bool {
        self.is_constrained() || !self.virtual_sites.is_empty()
    }

    /// Returns true where all ids are below `n`, and rigid bodies have a place for each atom.
    pub fn fits(&self, n: usize) -> bool {
        let bound = self.bonds.iter().flat_map(|b| &b.atoms);
        let bound = bound.chain(self.angles.iter().flat_map(|a| &a.atoms));
        let bound = bound.chain(self.dihedrals.iter().flat_map(|d| &d.atoms));
        let bound = bound.chain(self.cross_terms.iter().flat_map(|c| &c.atoms));
        let others = self.excluded.iter().flatten().chain(self.constraints.iter().flat_map(|c| &c.atoms));
        let sites = self.virtual_sites.iter().flat_map(|v| v.atoms.iter().chain([&v.site]));
        let bodies = self.rigid_bodies.iter().flat_map(|body| &body.atoms);
        let placed = self.rigid_bodies.iter().all(RigidBody::is_whole);
        placed && bound.chain(others).chain(sites).chain(bodies).all(|atom| (*atom as usize) < n)
    }

    /// Ids of the atoms that each of `n` atoms is bound to, by id and in ascending order.
    pub fn partners(&self, n: usize) -> Vec<Vec<u32>> {
        let mut partners = vec![Vec::new(); n];
        for Bond { atoms: [a, b], .. } in &self.bonds {
            partners[*a as usize].push(*b);
            partners[*b as usize].push(*a);
        }
        for list in &mut partners {
            list.sort_unstable();
            list.dedup();
        }
        partners
    }

    /// Ids of the atoms that each of `n` atoms has no pair force with, by id and in ascending order; no lists
    /// at all where nothing is excluded.
    pub fn exclusions(&self, n: usize, exclude: Exclude) -> Vec<Vec<u32>> {
        let by_bonds = exclude != Exclude::None && !self.bonds.is_empty();
        let by_bodies = self.rigid_bodies.iter().any(|body| body.excluded_within > 0.0);
        if !by_bonds && !by_bodies && self.excluded.is_empty() {
            return Vec::new();
        }
        let partners = if by_bonds { self.partners(n) } else { vec![Vec::new(); n] };
        let mut lists = match exclude {
            Exclude::SecondBonded => {
                let second = |a: usize| {
                    let further = partners[a].iter().flat_map(|b| &partners[*b as usize]);
                    partners[a].iter().chain(further).copied().filter(|c| *c as usize != a).collect()
                };
                (0..n).map(second).collect()
            }
            Exclude::None | Exclude::Bonded => partners,
        };
        let of_bodies = self.rigid_bodies.iter().flat_map(RigidBody::excluded);
        for [a, b] in self.excluded.iter().copied().chain(of_bodies) {
            lists[a as usize].push(b);
            lists[b as usize].push(a);
        }
        for list in &mut lists {
            list.sort_unstable();
            list.dedup();
        }
        lists
    }

    /// Chains of `beads` atoms each that follow each other in their ids, with all bonds of one type
    /// and all angles of one type, both called `name`.
    pub fn chains(chains: usize, beads: usize, name: &str) -> Topology {
        let firsts = || (0..chains).map(|c| (c * beads) as u32);
        let places = |n: usize| 0..beads.saturating_sub(n) as u32;
        let bond = |a: u32| Bond { kind: 0, atoms: [a, a + 1] };
        let angle = |a: u32| Angle { kind: 0, atoms: [a, a + 1, a + 2] };
        Topology {
            bond_types: vec![name.into()],
            bonds: firsts().flat_map(|first| places(1).map(move |k| bond(first + k))).collect(),
            angle_types: vec![name.into()],
            angles: firsts().flat_map(|first| places(2).map(move |k| angle(first + k))).collect(),
            ..Topology::default()
        }
    }

    /// Rigid molecules whose atoms follow each other in their ids: oxygen, hydrogens and, if there is
    /// one, the fourth site; they do not act on each other.
    pub fn rigid_water(molecules: usize, shape: &WaterShape) -> Topology {
        let across = 2.0 * shape.bond_length * (0.5 * shape.angle.to_radians()).sin();
        let distances = [([0, 1], shape.bond_length), ([0, 2], shape.bond_length), ([1, 2], across)];
        let mut topology = Topology::default();
        for first in (0..molecules).map(|m| (shape.atoms() * m) as u32) {
            for (pair, length) in distances {
                let atoms = pair.map(|k| first + k);
                topology.excluded.push(atoms);
                topology.constraints.push(Constraint { atoms, length });
            }
            if let Some(rule) = shape.site_rule() {
                let atoms = [first, first + 1, first + 2];
                topology.excluded.extend(atoms.map(|atom| [atom, first + 3]));
                topology.virtual_sites.push(VirtualSite { site: first + 3, atoms, rule });
            }
        }
        topology
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_end_where_the_next_begins() {
        let topology = Topology::chains(2, 4, "chain");
        let bonds: Vec<_> = topology.bonds.iter().map(|b| b.atoms).collect();
        assert_eq!(bonds, [[0, 1], [1, 2], [2, 3], [4, 5], [5, 6], [6, 7]]);
        let angles: Vec<_> = topology.angles.iter().map(|a| a.atoms).collect();
        assert_eq!(angles, [[0, 1, 2], [1, 2, 3], [4, 5, 6], [5, 6, 7]]);
        assert!(Topology::chains(3, 1, "chain").is_empty());
    }

    #[test]
    fn exclusions_reach_as_far_as_chosen() {
        let topology = Topology::chains(1, 5, "chain");
        assert!(topology.exclusions(6, Exclude::None).is_empty());
        let near = topology.exclusions(6, Exclude::Bonded);
        assert_eq!(near[0], [1]);
        assert_eq!(near[2], [1, 3]);
        assert!(near[5].is_empty());
        let far = topology.exclusions(6, Exclude::SecondBonded);
        assert_eq!(far[0], [1, 2]);
        assert_eq!(far[2], [0, 1, 3, 4]);
    }

    #[test]
    fn named_pairs_are_excluded() {
        let mut topology = Topology::chains(1, 5, "chain");
        topology.excluded = vec![[4, 0], [0, 1]];
        assert_eq!(topology.exclusions(6, Exclude::None)[0], [1, 4]);
        let lists = topology.exclusions(6, Exclude::Bonded);
        assert_eq!((&lists[0][..], &lists[4][..]), (&[1, 4][..], &[0, 3][..]));
        topology.bonds.clear();
        assert_eq!(topology.exclusions(6, Exclude::SecondBonded)[4], [0]);
    }
}
