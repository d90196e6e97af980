//! Degrees of freedom atom by atom: mean kinetic energy of an atom over k_B T / 2.
//!
//! Constraints leave the velocities of their atoms a part of all directions. In coordinates weighted by the roots of
//! masses that part is a projection, and an atom has the trace of its block: light atoms lose more than heavy ones.

use jostle_core::constraints::{Body, BodyAtom, Groups, Shape};
use jostle_core::{Result, System, Vec3};
use jostle_sampling::linear::{Matrix, pseudo_inverse};

/// Degrees of freedom of all atoms, by id, for molecules of the form that they have now: constraints that let a molecule
/// bend have, as it does, slightly other shares.
///
/// # Errors
/// If constraints join too many atoms.
pub(crate) fn degrees_of_atoms(system: &System) -> Result<Vec<f64>> {
    let (_, inverse_mass) = system.dynamic_masses();
    let inverse_mass = inverse_mass.by_id(&system.state);
    let mut degrees: Vec<f64> =
        inverse_mass.iter().map(|inverse| if *inverse > 0.0 { 3.0 } else { 0.0 }).collect();
    let Groups { shapes, groups, bodies } = Groups::new(system)?;
    let index_by_id = system.state.index_by_id();
    let position = |id: u32| system.state.position[index_by_id.of(id)];
    for group in &groups {
        let shape = &shapes[group.shape];
        let bond = |[a, b]: [usize; 2]| {
            system.simbox.nearest_image(position(group.atoms[a]) - position(group.atoms[b]))
        };
        let bonds: Vec<Vec3> = shape.pairs.iter().map(|pair| bond(*pair)).collect();
        let own: Vec<f64> = group.atoms.iter().map(|id| inverse_mass[*id as usize]).collect();
        for (id, lost) in group.atoms.iter().zip(lost(shape, &bonds, &own)) {
            degrees[*id as usize] -= lost;
        }
    }
    for body in &bodies {
        for (id, of_atom) in body.ids.iter().zip(of_body(body)) {
            degrees[*id as usize] = of_atom;
        }
    }
    Ok(degrees)
}

/// Degrees of freedom that the atoms of a group lose to its constraints along these bonds. With the matrix A of the
/// constraints, A_kl = sum of s_ki s_li (d_k . d_l) / m_i over the atoms i, unit vectors d along the bonds and the signs s of
/// their ends, atom i loses the sum of (A^-1)_kl s_ki s_li (d_k . d_l) / m_i. Constraints that say one thing twice count once.
fn lost(shape: &Shape, bonds: &[Vec3], inverse_mass: &[f64]) -> Vec<f64> {
    let n = bonds.len();
    // Numbers about 1, whatever the units.
    let lightest = inverse_mass.iter().copied().fold(0.0, f64::max);
    let along: Vec<Vec3> = bonds.iter().map(|bond| (1.0 / bond.norm()) * *bond).collect();
    let sign = |k: usize, atom: usize| match shape.pairs[k] {
        [a, _] if a == atom => 1.0,
        [_, b] if b == atom => -1.0,
        _ => 0.0,
    };
    let of_atom = |atom: usize, [k, l]: [usize; 2]| {
        sign(k, atom) * sign(l, atom) * along[k].dot(along[l]) * inverse_mass[atom] / lightest
    };
    let pairs = || (0..n).flat_map(|k| (0..n).map(move |l| [k, l]));
    let atoms = 0..inverse_mass.len();
    let mut matrix = Matrix::zero(n);
    for [k, l] in pairs() {
        matrix.set(k, l, atoms.clone().map(|atom| of_atom(atom, [k, l])).sum());
    }
    let inverse = pseudo_inverse(matrix);
    atoms.map(|atom| pairs().map(|[k, l]| inverse.get(k, l) * of_atom(atom, [k, l])).sum()).collect()
}

/// Degrees of freedom of the atoms of a rigid body: of its motion as a whole, and of its rotation.
fn of_body(Body { inertia, atoms, .. }: &Body) -> Vec<f64> {
    let weights = [1.0, 1.0, 1.0, 2.0, 2.0, 2.0];
    let of_atom = |atom: &BodyAtom<f64>| {
        let moments = atom.moments();
        let turning = (0..6).map(|k| weights[k] * inertia.inverse[k] * moments[k]).sum::<f64>();
        3.0 * atom.mass * inertia.inverse_mass + turning
    };
    atoms.iter().map(of_atom).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::{Constraint, RigidBody, SimBox, Species};

    /// A bent molecule of three atoms across a face of the box, and a pair of atoms.
    fn system() -> System {
        let simbox = SimBox::new([0.0; 3], [10.0; 3], [0.0; 3], [true; 3]).unwrap();
        let species = |name: &str, mass| Species { name: name.into(), mass, charge: 0.0 };
        let mut system = System::new(simbox, vec![species("O", 16.0), species("H", 1.0), species("C", 12.0)]);
        let places = [
            (0, [0.2, 5.0, 5.0]),
            (1, [9.5, 5.9, 5.0]),
            (1, [1.1, 5.5, 5.3]),
            (2, [3.0; 3]),
            (1, [4.0, 3.0, 3.0]),
        ];
        places.into_iter().for_each(|(species, place)| system.state.push(species, place));
        system
    }

    fn constrained(pairs: &[[u32; 2]]) -> System {
        let mut system = system();
        for atoms in pairs {
            let [a, b] = atoms.map(|id| system.state.position[id as usize]);
            let length = system.simbox.nearest_image(a - b).norm();
            system.topology.constraints.push(Constraint { atoms: *atoms, length });
        }
        system
    }

    /// A bond takes from each atom as much as the other one weighs.
    #[test]
    fn light_atoms_lose_more() {
        let degrees = degrees_of_atoms(&constrained(&[[3, 4]])).unwrap();
        for (id, exact) in [3.0, 3.0, 3.0, 3.0 - 1.0 / 13.0, 3.0 - 12.0 / 13.0].into_iter().enumerate() {
            assert!((degrees[id] - exact).abs() < 1e-12, "{degrees:?}");
        }
    }

    /// Three constraints of three atoms leave what a rigid body has, by another formula.
    #[test]
    fn three_constraints_are_a_rigid_body() {
        let by_constraints = degrees_of_atoms(&constrained(&[[0, 1], [0, 2], [1, 2]])).unwrap();
        let mut system = system();
        let body = RigidBody::new(&system, &system.state.index_by_id(), &[0, 1, 2], 10.0).unwrap();
        system.topology.rigid_bodies.push(body);
        let by_body = degrees_of_atoms(&system).unwrap();
        assert!((by_body[..3].iter().sum::<f64>() - 6.0).abs() < 1e-12, "{by_body:?}");
        assert!(by_body.iter().zip(&by_constraints).all(|(a, b)| (a - b).abs() < 1e-12), "{by_body:?}");
        assert!(by_body[0] > 2.5 && by_body[1] < 1.8, "{by_body:?}");
    }
}
