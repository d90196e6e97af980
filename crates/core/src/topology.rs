//! Which atoms are bound to which, by id: storage order never matters here.

use serde::{Deserialize, Serialize};

/// Two atoms held together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bond {
    /// Index into [`Topology::bond_types`].
    pub kind: u32,
    /// The ids of the two.
    pub atoms: [u32; 2],
}

/// Three atoms in a row; the angle is at the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Angle {
    /// Index into [`Topology::angle_types`].
    pub kind: u32,
    /// The ids of the three.
    pub atoms: [u32; 3],
}

/// Four atoms and the angle between the plane of the first three and that of the last three, 0
/// where first and last are on the same side (cis). Several may share their atoms and add up; an
/// improper dihedral is one of atoms that are not bound in a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dihedral {
    /// Index into [`Topology::dihedral_types`].
    pub kind: u32,
    /// The ids of the four.
    pub atoms: [u32; 4],
}

/// Two dihedrals that share three atoms, of a force that depends on both angles (CMAP): five atoms
/// in a row, the first four and the last four.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CrossTerm {
    /// Index of its map.
    pub kind: u32,
    /// The ids of the five.
    pub atoms: [u32; 5],
}

/// Two atoms at a distance that does not change.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Constraint {
    /// The ids of the two.
    pub atoms: [u32; 2],
    /// Their distance.
    pub length: f64,
}

/// A point without mass whose place follows from those of atoms; forces on it act on them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct VirtualSite {
    /// The id of the point.
    pub site: u32,
    /// The ids of the atoms.
    pub atoms: [u32; 3],
    /// How it follows from them.
    pub rule: SiteRule,
}

/// How the place of a [`VirtualSite`] follows from three atoms.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum SiteRule {
    /// w1 r1 + w2 r2 + w3 r3; the weights add up to one.
    Average([f64; 3]),
    /// r1 + a (r2 - r1) + b (r3 - r1) + c (r2 - r1) x (r3 - r1); c is an inverse length.
    OutOfPlane([f64; 3]),
    /// A fixed place in axes that go with the atoms.
    Frame(LocalFrame),
}

/// Axes that go with three atoms, made of the two arms that lead from the first of them to the others, and
/// a place in them. x is along its sum of the arms, z is normal to both sums, and y normal to x and z.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LocalFrame {
    /// What the axes see of the arms.
    pub arms: Arms,
    /// What of the arms themselves leads from the first atom to the origin.
    pub origin: [f64; 2],
    /// What of the arms is along x.
    pub x: [f64; 2],
    /// What of the arms is in the plane of x and y, on the side of y.
    pub y: [f64; 2],
    /// The place: lengths along x, y and z. Where it is on x, y and z do not matter.
    pub place: [f64; 3],
}

/// What the axes of a [`LocalFrame`] see of arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arms {
    /// All of them.
    AsLong,
    /// Their directions: a sum of both bisects the angle, however long they are.
    Directions,
}

/// How a rigid molecule of water looks: oxygen, two hydrogens and, in models of four sites, a point
/// between these that has the charge of the oxygen.
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
    /// Three sites.
    pub fn new(bond_length: f64, angle: f64) -> Self {
        WaterShape { bond_length, angle, site_distance: None }
    }

    /// Atoms of a molecule, the fourth site included.
    pub fn atoms(&self) -> usize {
        3 + usize::from(self.site_distance.is_some())
    }

    /// Where the fourth site is: on the line between the two bonds.
    pub fn site_rule(&self) -> Option<SiteRule> {
        let height = self.bond_length * (0.5 * self.angle.to_radians()).cos();
        Some(SiteRule::towards_base(self.site_distance?, height))
    }
}

/// What binds the atoms of a system. It does not change as atoms move.
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
    /// Pairs of atoms that the pair forces leave out, besides those that [`Exclude`] names.
    pub excluded: Vec<[u32; 2]>,
    /// Distances that do not change.
    pub constraints: Vec<Constraint>,
    /// Points that follow atoms.
    pub virtual_sites: Vec<VirtualSite>,
}

/// Which pairs of bound atoms the pair forces leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
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
    /// All of them, in the order of the documentation.
    pub const ALL: [Exclude; 3] = [Exclude::None, Exclude::Bonded, Exclude::SecondBonded];

    /// The name in an input file.
    pub fn name(self) -> &'static str {
        match self {
            Exclude::None => "none",
            Exclude::Bonded => "1-2",
            Exclude::SecondBonded => "1-3",
        }
    }

    /// One line for people.
    pub fn about(self) -> &'static str {
        match self {
            Exclude::None => "none: bound atoms interact as all others do",
            Exclude::Bonded => "atoms with a bond between them",
            Exclude::SecondBonded => "these, and atoms bound to the same third one",
        }
    }
}

impl Topology {
    /// Whether no atom is bound in anything that has a force.
    pub fn is_empty(&self) -> bool {
        self.bonds.is_empty()
            && self.angles.is_empty()
            && self.dihedrals.is_empty()
            && self.cross_terms.is_empty()
    }

    /// Whether all atoms that are mentioned are among `n`.
    pub fn fits(&self, n: usize) -> bool {
        let bound = self.bonds.iter().flat_map(|b| &b.atoms);
        let bound = bound.chain(self.angles.iter().flat_map(|a| &a.atoms));
        let bound = bound.chain(self.dihedrals.iter().flat_map(|d| &d.atoms));
        let bound = bound.chain(self.cross_terms.iter().flat_map(|c| &c.atoms));
        let others = self.excluded.iter().flatten().chain(self.constraints.iter().flat_map(|c| &c.atoms));
        let sites = self.virtual_sites.iter().flat_map(|v| v.atoms.iter().chain([&v.site]));
        bound.chain(others).chain(sites).all(|atom| (*atom as usize) < n)
    }

    /// For each of `n` atoms, by id, the ids of the atoms it is bound to, in ascending order.
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

    /// For each of `n` atoms, by id, the ids of the atoms that it has no pair force with, in
    /// ascending order; no lists at all where nothing is left out.
    pub fn exclusions(&self, n: usize, exclude: Exclude) -> Vec<Vec<u32>> {
        let by_bonds = exclude != Exclude::None && !self.bonds.is_empty();
        if !by_bonds && self.excluded.is_empty() {
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
        for [a, b] in &self.excluded {
            lists[*a as usize].push(*b);
            lists[*b as usize].push(*a);
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
    fn exclusions_reach_as_far_as_is_said() {
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
    fn pairs_that_are_named_are_left_out() {
        let mut topology = Topology::chains(1, 5, "chain");
        topology.excluded = vec![[4, 0], [0, 1]];
        assert_eq!(topology.exclusions(6, Exclude::None)[0], [1, 4]);
        let lists = topology.exclusions(6, Exclude::Bonded);
        assert_eq!((&lists[0][..], &lists[4][..]), (&[1, 4][..], &[0, 3][..]));
        topology.bonds.clear();
        assert_eq!(topology.exclusions(6, Exclude::SecondBonded)[4], [0]);
    }
}
