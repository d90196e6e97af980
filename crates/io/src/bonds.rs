//! Bonds as a chemist draws them.

use jostle_core::Topology;
use std::collections::{HashMap, HashSet};

/// A third atom makes a triangle of three bonds only if no side is so much longer than another:
/// those of rings are not, those across an angle are (1.6 times in water).
const ACROSS: f64 = 1.3;

/// The bonds among what binds atoms, each once: no pairs of atoms further apart that have a force of
/// their own (1-4 pairs, Urey-Bradley springs), nor distances that hold an angle.
///
/// Where an atom is in an angle, its bonds are the sides of angles. Elsewhere every pair that is
/// bound or at a distance that does not change is one, but for the long side of a triangle of such
/// distances.
pub fn chemical_bonds(topology: &Topology) -> Vec<[u32; 2]> {
    let sorted = |[a, b]: [u32; 2]| [a.min(b), a.max(b)];
    let sides = topology.angles.iter().flat_map(|angle| {
        let [a, b, c] = angle.atoms;
        [sorted([a, b]), sorted([b, c])]
    });
    let sides: HashSet<[u32; 2]> = sides.collect();
    let in_angles: HashSet<u32> = sides.iter().flatten().copied().collect();
    let known = |pair: &[u32; 2]| sides.contains(pair) || pair.iter().any(|a| !in_angles.contains(a));
    let springs = topology.bonds.iter().map(|b| sorted(b.atoms)).filter(known);
    let rigid = topology.constraints.iter().filter(|c| known(&sorted(c.atoms)));
    let rigid: Vec<([u32; 2], f64)> = rigid.map(|c| (sorted(c.atoms), c.length)).collect();
    let mut distances = HashMap::<u32, Vec<(u32, f64)>>::new();
    for ([a, b], length) in &rigid {
        distances.entry(*a).or_default().push((*b, *length));
        distances.entry(*b).or_default().push((*a, *length));
    }
    let of = |a: &u32| distances.get(a).map_or(&[][..], Vec::as_slice);
    let across = |[a, b]: &[u32; 2], length: f64| {
        let near = |(_, other): &&(u32, f64)| length > ACROSS * other;
        of(a).iter().filter(near).any(|(c, _)| of(b).iter().filter(near).any(|(d, _)| c == d))
    };
    let rigid = rigid.iter().filter(|(pair, length)| !across(pair, *length)).map(|(pair, _)| *pair);
    let mut bonds: Vec<[u32; 2]> = springs.chain(rigid).collect();
    bonds.sort_unstable();
    bonds.dedup();
    bonds
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::{Angle, Bond, Constraint, WaterShape};

    fn bonds(pairs: &[[u32; 2]]) -> Vec<Bond> {
        pairs.iter().map(|atoms| Bond { kind: 0, atoms: *atoms }).collect()
    }

    #[test]
    fn water_has_two_bonds_and_beads_have_all_of_theirs() {
        let mut shape = WaterShape::new(0.9572, 104.52);
        assert_eq!(chemical_bonds(&Topology::rigid_water(2, &shape)), [[0, 1], [0, 2], [3, 4], [3, 5]]);
        shape.site_distance = Some(0.15);
        assert_eq!(chemical_bonds(&Topology::rigid_water(2, &shape)), [[0, 1], [0, 2], [4, 5], [4, 6]]);
        let mut chain = Topology::chains(1, 4, "bead");
        assert_eq!(chemical_bonds(&chain), [[0, 1], [1, 2], [2, 3]]);
        chain.angles.clear();
        assert_eq!(chemical_bonds(&chain), [[0, 1], [1, 2], [2, 3]]);
    }

    /// A ring of four with an atom whose bond is rigid, a Urey-Bradley spring and a 1-4 pair.
    #[test]
    fn pairs_further_apart_are_no_bonds() {
        let angles = [[0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1], [4, 0, 1], [4, 0, 3]];
        let topology = Topology {
            bonds: bonds(&[[1, 0], [1, 2], [2, 3], [3, 0], [1, 4], [4, 2]]),
            angles: angles.map(|atoms| Angle { kind: 0, atoms }).to_vec(),
            constraints: vec![Constraint { atoms: [4, 0], length: 1.09 }],
            ..Topology::default()
        };
        assert_eq!(chemical_bonds(&topology), [[0, 1], [0, 3], [0, 4], [1, 2], [2, 3]]);
    }
}
