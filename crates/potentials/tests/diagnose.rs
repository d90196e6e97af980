//! A force that is not finite is put down to its term and to the atoms that it comes from.

use jostle_core::{Angle, Bond, Precision, SimBox, Species, System, Topology, Vec3, Vector};
use jostle_potentials::diagnose;
use jostle_potentials::electrostatics::Method;
use jostle_potentials::{
    AngleKind, AngleTerm, BondKind, BondTerm, Electrostatics, Forces, PairKind, PairTerm, SuttonChen,
    Truncation, Vacuum,
};

fn system(positions: &[Vec3]) -> System {
    let species = Species { name: "A".into(), mass: 1.0, charge: 0.0 };
    let mut system = System::new(SimBox::orthorhombic([20.0; 3]).unwrap(), vec![species]);
    positions.iter().for_each(|r| system.state.push(0, *r));
    system
}

fn lennard_jones() -> PairTerm {
    PairTerm::uniform(PairKind::LennardJones, Truncation::Plain, &[1.0, 1.0], 2.5)
}

fn message(system: &System, forces: &Forces, precision: Precision, index: usize) -> String {
    diagnose::force(system, forces, precision, index).message().to_string()
}

/// The partner is across the face of the box; another atom is nearer but not to this one, and one is
/// excluded.
#[test]
fn the_partner_of_a_pair_is_named() {
    let near = [
        Vector([19.9999, 1.0, 1.0]),
        Vector([5.0; 3]),
        Vector([1.0, 1.0, 1.0]),
        Vector([0.0005, 1.0, 1.0]),
        Vector([19.9998, 1.0, 1.0]),
    ];
    let mut system = system(&near);
    system.topology = Topology { excluded: vec![[0, 4]], ..Topology::default() };
    let forces = Forces::from(lennard_jones());
    let found = message(&system, &forces, Precision::Mixed, 0);
    assert_eq!(found, "the 'lennard-jones' force on atom 1 is not finite; atom 4 is 6.000e-4 away");
    // Atoms are named by their ids, not by their places.
    system.state.id = vec![4, 3, 2, 1, 0];
    system.topology.excluded = vec![[4, 0]];
    let found = message(&system, &forces, Precision::Mixed, 0);
    assert_eq!(found, "the 'lennard-jones' force on atom 5 is not finite; atom 2 is 6.000e-4 away");
}

/// Forces of two pairs are in the range of f32, their sum is not.
#[test]
fn the_strongest_part_of_a_force_that_is_too_large_is_named() {
    let system = system(&[Vector([5.0; 3]), Vector([5.0, 5.0, 5.002]), Vector([5.0, 5.0, 5.8])]);
    let forces = Forces::from(lennard_jones());
    let found = message(&system, &forces, Precision::Double, 0);
    assert!(
        found.starts_with("the force on atom 1 is too large, most of it the 'lennard-jones' force"),
        "{found}"
    );
    assert!(found.ends_with("atom 2 is 2.000e-3 away"), "{found}");
}

#[test]
fn every_kind_of_force_is_diagnosed() {
    let mut charged = system(&[Vector([5.0; 3]), Vector([9.0; 3]), Vector([9.0; 3])]);
    charged.charges = vec![1.0, -1.0, 1.0];
    let direct = Electrostatics::new(Method::Cutoff, 1.0, 3.0);
    let found = message(&charged, &Forces::from(direct), Precision::Double, 2);
    assert_eq!(found, "the 'coulomb' force on atom 3 is not finite; atom 2 is 0.000e0 away");
    let vacuum = Forces { vacuum: Some(Vacuum::new(1, 1.0, |_, _| [0.0, 1.0])), ..Forces::default() };
    let found = message(&charged, &vacuum, Precision::Double, 1);
    assert!(found.ends_with("force on atom 2 is not finite; atom 3 is 0.000e0 away"), "{found}");

    let metal = SuttonChen::metal("Cu").unwrap();
    let copper = Forces::from(metal_of(&metal));
    let found = message(
        &system(&[Vector([5.0; 3]), Vector([5.0; 3]), Vector([9.0; 3])]),
        &copper,
        Precision::Double,
        1,
    );
    assert!(found.contains("force on atom 2 is") && found.ends_with("atom 1 is 0.000e0 away"), "{found}");
}

fn metal_of(metal: &SuttonChen) -> jostle_potentials::Embedded {
    SuttonChen::embedded(std::slice::from_ref(metal), 6.0, 1.0, 1.0).unwrap()
}

#[test]
fn bonded_terms_are_named_with_all_their_atoms() {
    let mut bent = system(&[Vector([5.0; 3]), Vector([6.0, 5.0, 5.0]), Vector([6.0, 5.0, 5.0])]);
    bent.topology.angle_types = vec!["a".into()];
    bent.topology.angles = vec![Angle { kind: 0, atoms: [0, 1, 2] }];
    let angles = vec![AngleTerm::uniform(AngleKind::HarmonicAngle, &[20.0, 109.5]).unwrap()];
    let forces = Forces { angles, ..Forces::default() };
    let found = message(&bent, &forces, Precision::Double, 2);
    assert_eq!(found, "the 'angle-harmonic' force on atom 3 with atoms 1 and 2 is not finite");

    let mut bound = system(&[Vector([5.0; 3]), Vector([8.0, 5.0, 5.0])]);
    bound.topology.bond_types = vec!["b".into()];
    bound.topology.bonds = vec![Bond { kind: 0, atoms: [0, 1] }];
    let bonds = vec![BondTerm::uniform(BondKind::Fene, &[30.0, 1.5]).unwrap()];
    let found = message(&bound, &Forces { bonds, ..Forces::default() }, Precision::Double, 1);
    assert_eq!(found, "the bond between atoms 1 and 2 is broken");
}

#[test]
fn an_atom_without_a_position_is_reported() {
    let lost = system(&[Vector([5.0; 3]), Vector([f64::NAN, 1.0, 1.0])]);
    let found = message(&lost, &Forces::from(lennard_jones()), Precision::Double, 1);
    assert_eq!(found, "the position of atom 2 is not finite");
}

#[test]
fn an_energy_that_is_not_finite_is_named() {
    let forces = Forces { pairs: vec![lennard_jones()], ..Forces::default() };
    let found = diagnose::energy(&forces, &[f64::INFINITY]);
    assert_eq!(found.message(), "the 'lennard-jones' energy is not finite");
}
