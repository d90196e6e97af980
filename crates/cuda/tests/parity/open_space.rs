//! Large molecule in open space, in `mixed` against the CPU engine in `double`: all charges interact, and the
//! springs of its bonds and angles are as stiff as those of a protein, where forces a hundred times as large
//! as the sum nearly cancel.

use super::fluid::{by_id, distance, norm};
use super::gpus::on_gpu;
use jostle_core::random::{Purpose, Stream};
use jostle_core::{
    Algorithm, Angle, Backend, Bond, Evaluate, Precision, Settings, SimBox, Species, System, Vec3, Vector,
};
use jostle_potentials::{AngleKind, AngleTerm, BondKind, BondTerm, Forces, Vacuum};

const SIDE: usize = 13;
const ATOMS: usize = SIDE * SIDE * SIDE;

/// Chain of carbons that winds through a cube, layer by layer and row by row, in nm and kJ/mol.
const LENGTH: f64 = 0.153;
const BOND: [f64; 2] = [265_000.0, LENGTH];
const ANGLE: f64 = 520.0;
const COULOMB: f64 = 138.935_457_64;

fn walk(k: usize) -> [usize; 3] {
    let (layer, rest) = (k / (SIDE * SIDE), k % (SIDE * SIDE));
    let row = rest / SIDE;
    let row_here = if layer.is_multiple_of(2) { row } else { SIDE - 1 - row };
    let back = (layer * SIDE + row) % 2 == 1;
    [if back { SIDE - 1 - rest % SIDE } else { rest % SIDE }, row_here, layer]
}

fn molecule() -> (System, Forces) {
    let edge = 2.5 * LENGTH * SIDE as f64;
    let simbox = SimBox::new([0.0; 3], [edge; 3], [0.0; 3], [false; 3]).unwrap();
    let carbon = Species { name: "C".into(), mass: 12.0, charge: 0.0 };
    let mut system = System::new(simbox, vec![carbon]);
    let place = |k: usize| -> Vec3 {
        let noise = Stream::new(5, Purpose::Placement, k as u32, 0).normal3();
        let [x, y, z] = walk(k).map(|n| n as f64);
        // Rows are zigzags, too far apart for atoms to touch.
        let zig = if walk(k)[0].is_multiple_of(2) { 0.5 } else { -0.5 };
        let at = Vector([0.126 * x, 0.45 * y + 0.087 * zig, 0.45 * z]);
        at + 0.003 * noise
    };
    (0..ATOMS).for_each(|k| system.state.push(0, place(k)));
    system.charges = (0..ATOMS).map(|k| [0.4, -0.3, 0.2, -0.5, 0.2][k % 5]).collect();
    let topology = &mut system.topology;
    (topology.bond_types, topology.angle_types) = (vec!["CC".into()], vec!["CCC".into()]);
    let mut angle_forces = Vec::new();
    let straight = |from: usize, n: usize| (from..from + n).all(|k| walk(k)[1..] == walk(from)[1..]);
    for k in (0..ATOMS as u32 - 1).filter(|k| straight(*k as usize, 2)) {
        topology.bonds.push(Bond { kind: 0, atoms: [k, k + 1] });
        topology.excluded.push([k, k + 1]);
    }
    for k in (0..ATOMS as u32 - 2).filter(|k| straight(*k as usize, 3)) {
        topology.angles.push(Angle { kind: 0, atoms: [k, k + 1, k + 2] });
        topology.excluded.push([k, k + 2]);
    }
    angle_forces.push(AngleTerm::uniform(AngleKind::HarmonicAngle, &[ANGLE, 110.8]).unwrap());
    let forces = Forces {
        vacuum: Some(Vacuum::new(1, COULOMB, |_, _| [0.4, 0.33])),
        bonds: vec![BondTerm::uniform(BondKind::HarmonicBond, &BOND).unwrap()],
        angles: angle_forces,
        ..Forces::default()
    };
    (system, forces)
}

/// Errors of all forces as parts of the force itself, sorted, and the largest as a part of the root mean
/// square.
fn errors(system: &System, forces: &Forces) -> (Vec<f64>, f64) {
    let settings = |precision| Settings { precision, algorithm: Algorithm::Auto, ..Settings::default() };
    let exact = settings(Precision::Double);
    let mut cpu = jostle_cpu::open(system.clone(), forces.clone(), exact).unwrap();
    let mixed = settings(Precision::Mixed);
    let mut gpu = on_gpu(system.clone(), forces.clone(), mixed);
    let of = |backend: &mut dyn Backend| {
        backend.update_neighbors().unwrap();
        backend.compute_forces(Evaluate::Forces).unwrap();
        by_id(backend).force
    };
    let (right, found) = (of(&mut *cpu), of(&mut *gpu));
    let off: Vec<f64> = right.iter().zip(&found).map(|(a, b)| distance(*a, *b)).collect();
    let rms = (right.iter().map(|f| norm(*f).powi(2)).sum::<f64>() / right.len() as f64).sqrt();
    let mut relative: Vec<f64> = off.iter().zip(&right).map(|(off, f)| off / norm(*f)).collect();
    relative.sort_by(f64::total_cmp);
    (relative, off.into_iter().fold(0.0, f64::max) / rms)
}

/// Error of pair forces and of the sum of all forces in single precision: some 1e-7 of the largest of them.
#[test]
fn forces_of_a_large_molecule_have_single_precision() {
    let (system, forces) = molecule();
    let (relative, largest) = errors(&system, &forces);
    let median = relative[relative.len() / 2];
    println!("median {median:.1e}, at most {largest:.1e} of the root mean square");
    assert!(
        median < 1e-6 && largest < 3e-6,
        "median {median:e}, largest {largest:e} of the root mean square"
    );
}

/// Distant atoms do not change the precision of the others: positions of bonds are not parts of the range of
/// all atoms.
#[test]
fn a_distant_atom_does_not_change_the_precision_of_others() {
    let (mut system, forces) = molecule();
    system.state.push(0, [400.0, -300.0, 500.0]);
    system.charges.push(0.0);
    let (relative, _) = errors(&system, &forces);
    let median = relative[relative.len() / 2];
    println!("median {median:.1e}");
    assert!(median < 3e-6, "median {median:e}");
}
