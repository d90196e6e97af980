//! Constraints: constant distances, conservation of energy and momentum, and the virial of constraints.

use jostle_core::backend::Algorithm;
use jostle_core::topology::Constraint;
use jostle_core::{
    Backend, ClosingKick, Evaluate, Precision, Settings, SimBox, Species, System, Topology, Vec3, Vector,
    WaterShape,
};
use jostle_cpu::{Level, open_at};
use jostle_potentials::electrostatics::Method;
use jostle_potentials::{Electrostatics, Forces, PairEntry, PairKind, PairTerm, Truncation};

fn species(name: &str, mass: f64, charge: f64) -> Species {
    Species { name: name.into(), mass, charge }
}

fn open(system: System, forces: Forces, precision: Precision, threads: usize) -> Box<dyn Backend> {
    let settings = Settings { threads: Some(threads), precision, ..Settings::default() };
    let mut cpu = open_at(system, forces, settings, Level::best()).unwrap();
    cpu.constrain_velocities(None).unwrap();
    cpu.update_neighbors().unwrap();
    cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
    cpu
}

fn step(cpu: &mut dyn Backend, dt: f64) {
    cpu.kick_drift(dt).unwrap();
    cpu.constrain_positions(dt).unwrap();
    cpu.update_neighbors().unwrap();
    cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
    cpu.kick(0.5 * dt).unwrap();
    cpu.constrain_velocities(Some(ClosingKick { time: 0.5 * dt, drift: dt })).unwrap();
}

/// Positions and velocities by id.
fn by_id(cpu: &mut dyn Backend) -> Vec<(Vec3, Vec3)> {
    let state = cpu.state().unwrap();
    state.index_by_id().into_iter().map(|index| (state.position[index], state.velocity[index])).collect()
}

/// The largest relative error of a distance, and of a speed along one relative to all speeds.
fn errors(cpu: &mut dyn Backend, topology: &Topology) -> [f64; 2] {
    let (simbox, atoms) = (*cpu.simbox(), by_id(cpu));
    let fastest = atoms.iter().flat_map(|(_, v)| v).fold(0.0, |most: f64, v| most.max(v.abs()));
    let mut worst = [0.0f64; 2];
    for Constraint { atoms: pair, length } in &topology.constraints {
        let [a, b] = pair.map(|id| atoms[id as usize]);
        let arm = simbox.nearest_image(a.0 - b.0);
        let distance = arm.iter().map(|x| x * x).sum::<f64>().sqrt();
        let closing: f64 = (0..3).map(|k| arm[k] / distance * (a.1[k] - b.1[k])).sum();
        worst[0] = worst[0].max((distance / length - 1.0).abs());
        worst[1] = worst[1].max(closing.abs() / fastest);
    }
    worst
}

/// 125 molecules of SPC/E in nm, ps and kJ/mol on a grid, moving.
pub fn water() -> (System, Forces) {
    use jostle_core::random::{Purpose, Stream};
    let cells = 5;
    let simbox = SimBox::orthorhombic([0.311 * cells as f64; 3]).unwrap();
    let mut system = System::new(simbox, vec![species("O", 15.9994, -0.8476), species("H", 1.008, 0.4238)]);
    let (bond, half) = (0.1, 0.5 * 109.47f64.to_radians());
    for molecule in 0..cells * cells * cells {
        let mut random = Stream::new(4, Purpose::Placement, molecule as u32, 0);
        let numbers = [molecule / (cells * cells), molecule / cells % cells, molecule % cells];
        let center = Vector(numbers.map(|n| 0.311 * (n as f64 + 0.5)));
        // Molecules lie in the plane of two edges, so that hydrogens of neighbours stay apart.
        let turn = random.uniform() * std::f64::consts::TAU;
        let plane = molecule % 3;
        let arm = |angle: f64| -> Vec3 {
            let mut arm = Vec3::ZERO;
            (arm[plane], arm[(plane + 1) % 3]) = (bond * angle.cos(), bond * angle.sin());
            arm
        };
        let arms = [Vec3::ZERO, arm(turn + half), arm(turn - half)];
        for (k, arm) in arms.into_iter().enumerate() {
            system.state.push(u16::from(k > 0), center + arm);
            let speed = (2.494 / if k > 0 { 1.008 } else { 15.9994f64 }).sqrt();
            if let Some(v) = system.state.velocity.last_mut() {
                *v = speed * random.normal3();
            }
        }
    }
    system.topology = Topology::rigid_water(cells * cells * cells, &WaterShape::new(bond, 109.47));
    let mut core = PairTerm::new(PairKind::LennardJones, Truncation::ForceShifted, 2);
    core.set(0, 0, PairEntry { parameters: vec![0.65, 0.3166], cutoff: 0.75 });
    let term = Electrostatics::new(Method::pme(0.75, 1e-5, 6), 138.935458, 0.75);
    (system, Forces { pairs: vec![core], ..term.into() })
}

#[test]
fn rigid_water_stays_rigid_and_keeps_its_energy() {
    let (system, forces) = water();
    for (precision, threads) in [(Precision::Double, 1), (Precision::Mixed, 2)] {
        let mut cpu = open(system.clone(), forces.clone(), precision, threads);
        let total = |cpu: &mut dyn Backend| cpu.kinetic().unwrap().energy() + cpu.energies().potential();
        // Equilibration of the grid.
        for _ in 0..300 {
            step(&mut *cpu, 2e-4);
            let kinetic = cpu.kinetic().unwrap().energy();
            cpu.scale_velocities((0.5 * 747.0 * 2.494 / kinetic).sqrt()).unwrap();
        }
        // The error of energy goes down with the square of the time step.
        let mut spread = |dt: f64| {
            let before = total(&mut *cpu);
            let energies: Vec<f64> = (0..200)
                .map(|_| {
                    step(&mut *cpu, dt);
                    total(&mut *cpu) - before
                })
                .collect();
            let [length, speed] = errors(&mut *cpu, &system.topology);
            assert!(length < 2e-12 && speed < 1e-12, "{precision:?}: {length:e} {speed:e}");
            let mean = energies.iter().sum::<f64>() / energies.len() as f64;
            (energies.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / energies.len() as f64).sqrt()
        };
        let (long, short) = (spread(2e-3), spread(1e-3));
        println!("{precision:?}: {long} {short}");
        let kinetic = cpu.kinetic().unwrap().energy();
        assert!(long < 0.01 * kinetic, "{precision:?}: energy spreads by {long} of {kinetic}");
        assert!(short < 0.5 * long, "{precision:?}: {short} is not much less than {long}");
    }
}

/// A rigid body that rotates freely has no pressure: the virial of constraints cancels the kinetic part.
#[test]
fn the_virial_of_constraints_balances_rotation() {
    let simbox = SimBox::orthorhombic([10.0; 3]).unwrap();
    let mut system = System::new(simbox, vec![species("A", 1.0, 0.0), species("B", 2.0, 0.0)]);
    // A triangle across a face of the box, and a pair.
    let positions = [[0.2, 5.0, 5.0], [-0.6, 5.6, 5.0], [-0.6, 4.4, 5.0], [4.0, 4.0, 4.0], [4.0, 5.0, 4.0]];
    let velocities =
        [[0.0, 0.8, 0.5], [-0.6, -0.8, 0.0], [0.6, -0.8, 0.1], [0.5, 0.0, 0.3], [-0.5, 0.0, -0.3]];
    for (k, (r, v)) in positions.into_iter().zip(velocities).enumerate() {
        system.state.push(u16::from(k == 0), r);
        system.state.velocity[k] = Vector(v);
    }
    let constraint = |a: u32, b: u32, length: f64| Constraint { atoms: [a, b], length };
    let topology = &mut system.topology;
    topology.constraints =
        vec![constraint(0, 1, 1.0), constraint(0, 2, 1.0), constraint(1, 2, 1.2), constraint(3, 4, 1.0)];
    topology.excluded = vec![[0, 1], [0, 2], [1, 2], [3, 4]];
    let mut nothing = PairTerm::new(PairKind::LennardJones, Truncation::Plain, 2);
    nothing.set(0, 0, PairEntry { parameters: vec![0.0, 1.0], cutoff: 1.0 });
    let topology = system.topology.clone();
    let mut cpu = open(system, vec![nothing].into(), Precision::Double, 1);
    let kinetic = cpu.kinetic().unwrap();
    let internal = |cpu: &mut dyn Backend| {
        // Kinetic part without the motion of the two bodies as a whole.
        let atoms = by_id(cpu);
        let part = |members: &[(usize, f64)]| {
            let mass: f64 = members.iter().map(|(_, m)| m).sum();
            let momentum: Vec3 =
                Vector::from_fn(|k| members.iter().map(|(a, m)| m * atoms[*a].1[k]).sum::<f64>());
            momentum.iter().map(|p| p * p).sum::<f64>() / (2.0 * mass)
        };
        cpu.kinetic().unwrap().energy() - part(&[(0, 2.0), (1, 1.0), (2, 1.0)]) - part(&[(3, 1.0), (4, 1.0)])
    };
    for _ in 0..2000 {
        step(&mut *cpu, 1e-3);
        let virial: f64 = cpu.energies().virial[..3].iter().sum();
        let rotation = 2.0 * internal(&mut *cpu);
        assert!((virial / rotation + 1.0).abs() < 2e-3, "{virial} does not balance {rotation}");
    }
    let now = cpu.kinetic().unwrap();
    assert!((now.energy() / kinetic.energy() - 1.0).abs() < 1e-6, "{} {}", now.energy(), kinetic.energy());
    // Rounding of positions to 1e-15 becomes a velocity, over a time of 1e-3, 2000 times.
    assert!((0..3).all(|k| (now.momentum[k] - kinetic.momentum[k]).abs() < 1e-10));
    let [length, speed] = errors(&mut *cpu, &topology);
    assert!(length < 2e-12 && speed < 1e-12, "{length:e} {speed:e}");
}

#[test]
fn too_many_constraints_in_one_molecule_are_refused() {
    let (mut system, forces) = water();
    let link = |m: u32| Constraint { atoms: [3 * m, 3 * m + 3], length: 0.311 };
    system.topology.constraints.extend((0..10).map(link));
    let error = open_at(system, forces, Settings::default(), Level::best()).map(|_| ()).unwrap_err();
    assert!(error.message().contains("43 constraints are joined in one group at atom 1"), "{error}");
}

/// Energies and virial of a step, constraints included, stay where only forces are evaluated after it, as they are where
/// long-range forces act at some steps.
#[test]
fn energies_stay_where_only_forces_are_evaluated() {
    let (system, forces) = water();
    for algorithm in [Algorithm::Clusters, Algorithm::Reference] {
        let settings =
            Settings { threads: Some(1), precision: Precision::Double, algorithm, ..Settings::default() };
        let mut cpu = open_at(system.clone(), forces.clone(), settings, Level::best()).unwrap();
        cpu.constrain_velocities(None).unwrap();
        step(&mut *cpu, 2e-4);
        let energies = cpu.energies().clone();
        cpu.compute_forces(Evaluate::Forces).unwrap();
        assert_eq!(*cpu.energies(), energies, "{algorithm:?}");
    }
}
