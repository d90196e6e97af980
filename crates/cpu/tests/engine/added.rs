//! Forces that the host adds: on few atoms, on all of them, and several on one.

use crate::engine::{by_id, open};
use jostle_core::{AddedForces, Precision, Vec3, Vector};
use jostle_fixtures::charges::ions;
use jostle_potentials::Forces;

#[test]
fn added_forces_are_on_their_atoms() {
    let (system, term) = ions(96, false);
    let n = system.state.len() as u32;
    let forces = Forces { pairs: vec![term], ..Forces::default() };
    let push = |id: u32| -> Vec3 { Vector([f64::from(id), 0.5, -2.0 * f64::from(id)]) };
    let all: Vec<u32> = (0..n).rev().chain([3, 3, 5]).collect();
    for threads in [1, 3] {
        for ids in [&all[..], &[7, 2, 2][..], &[][..]] {
            let mut cpu = open(&system, &forces, Precision::Double, threads);
            let mut expected = by_id(&mut *cpu);
            for id in ids {
                let sum = &mut expected[*id as usize];
                *sum += push(*id);
            }
            let forces = ids.iter().map(|id| push(*id)).collect();
            let added =
                AddedForces { ids: ids.to_vec(), forces, energies: vec![1.5], ..AddedForces::default() };
            cpu.add_forces(&added).unwrap();
            for (id, (now, expected)) in by_id(&mut *cpu).iter().zip(&expected).enumerate() {
                let largest = expected.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
                assert!(
                    (0..3).all(|k| (now[k] - expected[k]).abs() < 1e-13 * largest),
                    "{threads} {id}: {now:?} {expected:?}"
                );
            }
        }
    }
    let mut cpu = open(&system, &forces, Precision::Double, 1);
    let far = AddedForces { ids: vec![n], forces: vec![Vec3::ZERO], ..AddedForces::default() };
    assert!(cpu.add_forces(&far).is_err());
}
