//! First positions on the constraints: atoms of files, which have few digits or other lengths, are moved onto them
//! before the first step, as GROMACS does, so that a run begins with the lengths that it keeps.

use super::{Groups, ImpulseCoupling, MOST_ROUNDS, Shape, TOLERANCE, shake};
use crate::{Error, Result, System, Vec3};

/// Atom that has been moved the furthest for the length of a constraint of its group.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MovedAtom {
    /// Id of the atom.
    pub id: u32,
    /// Distance by which the atom has been moved.
    pub distance: f64,
    /// Length of the shortest constraint of its group.
    pub length: f64,
}

/// Moves the atoms of a system onto its constraints, by the shortest ways weighted with masses (SHAKE with arms of each
/// round); the centre of mass of a group stays. Atoms on the constraints are left as they are, to the last bit, and
/// virtual sites follow when a device gets the system.
///
/// # Errors
/// If atoms are so far off that there is no way, or groups are impossible ([`Groups::new`]).
pub fn put_on_constraints(system: &mut System) -> Result<Option<MovedAtom>> {
    if system.topology.constraints.is_empty() {
        return Ok(None);
    }
    let Groups { shapes, groups, .. } = Groups::new(system)?;
    let (_, inverse_mass) = system.dynamic_masses();
    let inverse_mass = inverse_mass.by_id(&system.state);
    let index_by_id = system.state.index_by_id();
    let mut furthest: Option<MovedAtom> = None;
    for group in &groups {
        let Shape { pairs, .. } = &shapes[group.shape];
        let indices: Vec<usize> = group.atoms.iter().map(|id| index_by_id.of(*id)).collect();
        let masses: Vec<f64> = group.atoms.iter().map(|id| inverse_mass[*id as usize]).collect();
        let first = system.state.position[indices[0]];
        let from_first = |index: &usize| system.simbox.nearest_image(system.state.position[*index] - first);
        let before: Vec<Vec3> = indices.iter().map(from_first).collect();
        if is_on(pairs, &group.lengths, &before) {
            continue;
        }
        let mut now = before.clone();
        let mut rounds = 0..MOST_ROUNDS;
        while !is_on(pairs, &group.lengths, &now) {
            if rounds.next().is_none() {
                let name = system.names.describe(group.atoms[0]);
                let message =
                    format!("the atoms at {name} are too far from their constraints to be moved there");
                return Err(Error::input(message)
                    .hint("are the coordinates those of this topology? Minimise without constraints first"));
            }
            shake(pairs, &ImpulseCoupling::new(pairs, &now, &masses), &group.lengths, &masses, &mut now);
        }
        let length = group.lengths.iter().copied().fold(f64::INFINITY, f64::min);
        for (k, index) in indices.iter().enumerate() {
            let by = now[k] - before[k];
            system.state.position[*index] += by;
            let moved = MovedAtom { id: group.atoms[k], distance: by.norm(), length };
            let is_further = |before: MovedAtom| moved.distance * before.length > before.distance * length;
            if furthest.is_none_or(is_further) {
                furthest = Some(moved);
            }
        }
    }
    Ok(furthest)
}

/// Returns true where all squared distances have their lengths.
fn is_on(pairs: &[[usize; 2]], lengths: &[f64], r: &[Vec3]) -> bool {
    let error = |([a, b], length): (&[usize; 2], &f64)| {
        let square = length * length;
        ((r[*a] - r[*b]).norm_squared() - square).abs() / square
    };
    pairs.iter().zip(lengths).map(error).all(|error| error <= TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Constraint, SimBox, Species};

    fn system(positions: &[[f64; 3]], constraints: &[([u32; 2], f64)]) -> System {
        let kinds =
            [("O", 16.0), ("H", 1.0)].map(|(name, mass)| Species { name: name.into(), mass, charge: 0.0 });
        let mut system = System::new(SimBox::orthorhombic([10.0; 3]).unwrap(), kinds.to_vec());
        positions.iter().enumerate().for_each(|(k, r)| system.state.push(u16::from(k % 3 != 0), *r));
        let constraint = |(atoms, length): &([u32; 2], f64)| Constraint { atoms: *atoms, length: *length };
        system.topology.constraints = constraints.iter().map(constraint).collect();
        system
    }

    const WATER: [([u32; 2], f64); 3] = [([0, 1], 1.0), ([0, 2], 1.0), ([1, 2], 1.6)];

    /// A pair across the border, stretched by 0.17: both atoms move along it, by their inverse masses.
    #[test]
    fn a_stretched_pair_gets_its_length_around_its_centre() {
        let mut pair = system(&[[9.9, 5.0, 5.0], [1.07, 5.0, 5.0]], &[([0, 1], 1.0)]);
        let moved = put_on_constraints(&mut pair).unwrap().unwrap();
        assert_eq!(moved.id, 1);
        assert!((moved.distance - 0.17 * 16.0 / 17.0).abs() < 1e-12 && moved.length == 1.0, "{moved:?}");
        assert!((pair.state.position[0][0] - (9.9 + 0.17 / 17.0)).abs() < 1e-12);
        assert!((pair.state.position[1][0] - (1.07 - 0.17 * 16.0 / 17.0)).abs() < 1e-12);
        // Once there, nothing moves.
        let state = pair.state.clone();
        assert_eq!(put_on_constraints(&mut pair).unwrap(), None);
        assert_eq!(pair.state, state);
    }

    /// Lengths of a molecule of water with few digits, and of one far off; its centre of mass stays.
    #[test]
    fn water_gets_its_form() {
        for ends in [[[1.6, 1.8, 1.001], [1.6, 0.2, 1.0]], [[2.1, 2.4, 1.3], [1.4, -0.1, 0.6]]] {
            let mut water = system(&[[1.0, 1.0, 1.0], ends[0], ends[1]], &WATER);
            let center = |system: &System| {
                let weighted = (0..3).map(|k| system.mass(k) * system.state.position[k]);
                weighted.fold(Vec3::ZERO, |sum, r| sum + r) * (1.0 / 18.0)
            };
            let before = center(&water);
            put_on_constraints(&mut water).unwrap().unwrap();
            for ([a, b], length) in WATER {
                let d = water.state.position[a as usize] - water.state.position[b as usize];
                assert!((d.norm() - length).abs() < 1e-11, "{} {length}", d.norm());
            }
            assert!((center(&water) - before).norm() < 1e-13);
        }
    }

    /// Three atoms in a row have no way to three lengths out of it.
    #[test]
    fn hopeless_positions_are_refused() {
        let mut row = system(&[[1.0, 1.0, 1.0], [2.0, 1.0, 1.0], [3.0, 1.0, 1.0]], &WATER);
        let error = put_on_constraints(&mut row).unwrap_err();
        assert!(error.message().contains("too far from their constraints"), "{error}");
    }
}
