//! Bonded terms: every kind of bond, angle and dihedral, and maps; the GPU engine against the CPU engine in
//! double precision.

use super::fluid::{advance, by_id, distance, largest, norm, run};
use super::gpus::on_gpu;
use jostle_core::random::{Purpose, Stream};
use jostle_core::{
    Algorithm, Angle, Backend, Bond, CrossTerm, Dihedral, Evaluate, Precision, RespaSchedule, Settings,
    SimBox, StepBatch, System, Thermostat, Vector,
};
use jostle_fixtures::chains::bead;
use jostle_potentials::bonded::BondedTerm;
use jostle_potentials::external::Field;
use jostle_potentials::{
    AngleKind, BondKind, BondedKind, Cmap, DihedralKind, Forces, PairKind, PairTerm, Truncation, Vacuum,
};

const BEADS: u32 = 9;
const CHAINS: u32 = 24;

/// Winding chains across the faces of a tilted box, with single atoms between them.
fn molecules() -> System {
    let simbox = SimBox::new([1.0, -2.0, 0.5], [9.0, 8.0, 10.0], [1.5, -1.0, 0.8], [true; 3]).unwrap();
    let mut system = System::new(simbox, vec![bead("A")]);
    for chain in 0..CHAINS {
        let mut random = Stream::new(3, Purpose::Placement, chain, 0);
        let begin = simbox.to_cartesian(Vector([random.uniform(), random.uniform(), random.uniform()]));
        let turn = random.uniform();
        for k in 0..BEADS {
            let angle = 1.2 * f64::from(k) + turn;
            let winding = [0.75 * angle.cos(), 0.75 * angle.sin(), 0.45 * f64::from(k)];
            let noise = random.normal3();
            let axis = chain as usize % 3;
            let place = [0, 1, 2].map(|d| begin[d] + winding[(d + axis) % 3] + 0.05 * noise[d]);
            system.state.push(0, place);
            if let Some(v) = system.state.velocity.last_mut() {
                *v = random.normal3();
            }
        }
        for _ in 0..chain % 3 {
            system
                .state
                .push(0, simbox.to_cartesian(Vector([random.uniform(), random.uniform(), random.uniform()])));
        }
    }
    // Numbers of kinds follow from the registries.
    let names = |n: usize| (0..n).map(|k| k.to_string()).collect::<Vec<_>>();
    let topology = &mut system.topology;
    topology.bond_types = names(BondKind::ALL.len());
    topology.angle_types = names(AngleKind::ALL.len());
    topology.dihedral_types = names(DihedralKind::ALL.len());
    let mut first = 0;
    for chain in 0..CHAINS {
        let kind = |k: u32, of: usize| (chain + k) % of as u32;
        let row = |n: u32| (first..).take((BEADS + 1 - n) as usize);
        for a in row(2) {
            topology.bonds.push(Bond { kind: kind(a, BondKind::ALL.len()), atoms: [a, a + 1] });
        }
        for a in row(4) {
            // Pairs three bonds apart, and dihedrals of every kind.
            let scaled = BondKind::ALL.iter().position(|k| *k == BondKind::ScaledPair).unwrap_or(0);
            topology.bonds.push(Bond { kind: scaled as u32, atoms: [a + 3, a] });
            let kinds = 0..DihedralKind::ALL.len() as u32;
            let atoms = if a % 2 == 0 { [a, a + 1, a + 2, a + 3] } else { [a + 3, a + 2, a + 1, a] };
            topology.dihedrals.extend(kinds.map(|kind| Dihedral { kind, atoms }));
        }
        for a in row(3) {
            topology.angles.push(Angle { kind: kind(a, AngleKind::ALL.len()), atoms: [a, a + 1, a + 2] });
        }
        for a in row(5) {
            topology.cross_terms.push(CrossTerm { kind: a % 2, atoms: [a, a + 1, a + 2, a + 3, a + 4] });
        }
        first += BEADS + chain % 3;
    }
    system
}

/// Each kind with its example's parameters.
fn terms<K: BondedKind>() -> Vec<BondedTerm<K>> {
    let term = |(number, kind): (usize, &K)| {
        let parameters: Vec<f64> = kind.parameters().iter().map(|p| p.example).collect();
        BondedTerm::new(*kind, K::ALL.len()).with(number, &parameters).unwrap()
    };
    K::ALL.iter().enumerate().map(term).collect()
}

fn forces() -> Forces {
    let soft = PairTerm::uniform(PairKind::SoftRepulsion, Truncation::Plain, &[5.0, 1.2], 1.2);
    let map = |size: usize| {
        let at = |k: usize| k as f64 * std::f64::consts::TAU / size as f64;
        let hills = |k: usize| (at(k % size) + 0.3).sin() + 0.5 * (2.0 * at(k / size) + at(k % size)).cos();
        Cmap::new(size, &(0..size * size).map(hills).collect::<Vec<_>>()).unwrap()
    };
    Forces {
        pairs: vec![soft],
        bonds: terms(),
        angles: terms(),
        dihedrals: terms(),
        cmaps: vec![map(24), map(7)],
        ..Forces::default()
    }
}

fn settings(algorithm: Algorithm, precision: Precision, reproducible: bool) -> Settings {
    Settings { algorithm, precision, reproducible, skin: Some(0.1), ..Settings::default() }
}

#[test]
fn bonded_terms_agree() {
    for (algorithm, precision, reproducible) in [
        (Algorithm::Auto, Precision::Mixed, false),
        (Algorithm::List, Precision::Double, false),
        (Algorithm::List, Precision::Mixed, true),
    ] {
        agree(molecules(), forces(), settings(algorithm, precision, reproducible));
    }
}

/// Molecules in open space, with forces between all pairs, and a field.
#[test]
fn molecules_in_open_space_agree() {
    for precision in [Precision::Mixed, Precision::Double] {
        let mut system = molecules();
        system.simbox = SimBox::new([1.0, -2.0, 0.5], [9.0, 8.0, 10.0], [0.0; 3], [false; 3]).unwrap();
        let n = system.state.len() as u32;
        system.charges = (0..n).map(|k| f64::from(k % 5) - 2.0).collect();
        // Excluded neighbours, and one atom that half of all exclude: more than a warp has lanes.
        system.topology.excluded = (1..n).flat_map(|k| [[k - 1, k], [0, k / 2 * 2]]).collect();
        system.topology.excluded.retain(|[a, b]| a != b);
        let vacuum = Vacuum::new(1, 10.0, |_, _| [1.0, 0.2]);
        let field = Field { force: vec![Vector([0.3, -0.2, 0.1])], members: Vec::new() };
        let forces = Forces { pairs: Vec::new(), vacuum: Some(vacuum), fields: vec![field], ..forces() };
        agree(system, forces, settings(Algorithm::Auto, precision, false));
    }
}

/// Energies, virial, forces and a short path of both engines.
fn agree(system: System, forces: Forces, settings: Settings) {
    let precision = settings.precision;
    let what = format!("{settings:?}");
    let exact = self::settings(Algorithm::Auto, Precision::Double, false);
    let mut cpu = jostle_cpu::open(system.clone(), forces.clone(), exact).unwrap();
    let n_terms = forces.n_terms();
    let mut gpu: Box<dyn Backend> = on_gpu(system, forces, settings);
    for backend in [&mut cpu, &mut gpu] {
        backend.update_neighbors().unwrap();
        backend.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
    }
    let (tolerance, path) = if precision == Precision::Double { (1e-12, 1e-9) } else { (5e-6, 5e-5) };
    let (found, right) = (gpu.energies().clone(), cpu.energies().clone());
    assert_eq!(found.terms.len(), n_terms);
    for (a, b) in found.terms.iter().zip(&right.terms) {
        assert!((a - b).abs() < tolerance * b.abs(), "{what}: {:?} {:?}", found.terms, right.terms);
    }
    let scale = largest(right.virial.iter().copied());
    let error = largest(found.virial.iter().zip(right.virial).map(|(a, b)| a - b));
    assert!(error < tolerance * scale, "{what}: virial {error:e} of {scale}");
    let forces = |backend: &mut dyn Backend| by_id(backend).force;
    let with = forces(&mut *gpu);
    let scale = largest(forces(&mut *cpu).iter().map(|f| norm(*f)));
    let error = largest(with.iter().zip(forces(&mut *cpu)).map(|(a, b)| distance(*a, b)));
    assert!(error < tolerance * scale, "{what}: forces {error:e} of {scale}");
    gpu.compute_forces(Evaluate::Forces).unwrap();
    assert!(with == forces(&mut *gpu), "{what}: without energies a force differs");

    let batch = StepBatch {
        first_step: 1,
        steps: 40,
        timestep: 0.001,
        seed: 7,
        sample_every: 20,
        evaluate: Evaluate::ForcesAndEnergies,
        long_range: RespaSchedule::ALWAYS,
    };
    let exact = advance(&mut *cpu, &batch, &mut Thermostat::Isolated);
    let samples = run(&mut *gpu, &batch, &mut Thermostat::Isolated);
    for (a, b) in samples.iter().zip(&exact) {
        for (a, b) in a.energies.terms.iter().zip(&b.energies.terms) {
            assert!((a - b).abs() < path * b.abs().max(1.0), "{what}: {a} {b}");
        }
    }
    let places = |backend: &mut dyn Backend| by_id(backend).position;
    let error = largest(places(&mut *gpu).iter().zip(places(&mut *cpu)).map(|(a, b)| distance(*a, b)));
    assert!(error < path, "{what}: {error:e} apart");
    assert!(gpu.neighbor_facts().builds > 1, "{what}: nothing was sorted");
}
