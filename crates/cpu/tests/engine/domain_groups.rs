//! Constraints and virtual sites in domains of several ranks against one rank: groups that migrate through all domains
//! are never cut, distances stay, and forces on virtual sites reach their atoms.

use crate::domains::{matrices, on_ranks};
use crate::{constraints, virtual_sites};
use jostle_core::topology::Constraint;
use jostle_core::{
    Backend, ClosingKick, Evaluate, NoiseKey, Precision, Result, RigidBody, Settings, SimBox, System, Vec3,
};
use jostle_potentials::electrostatics::Method;
use jostle_potentials::{Electrostatics, Forces};

/// Atoms after some steps, by id, with sums.
struct Outcome {
    positions: Vec<Vec3>,
    velocities: Vec<Vec3>,
    /// Energies by term, virial, kinetic tensor.
    sums: Vec<f64>,
}

/// Steps with noise in the middle of every third drift.
fn advance(cpu: &mut dyn Backend, dt: f64, n_steps: u64) -> Result<Outcome> {
    cpu.constrain_velocities(None)?;
    cpu.update_neighbors()?;
    cpu.compute_forces(Evaluate::Forces)?;
    for step in 1..=n_steps {
        let last = step == n_steps;
        let evaluate = if last { Evaluate::ForcesAndEnergies } else { Evaluate::Forces };
        let mut drift = dt;
        match step.is_multiple_of(3) {
            true => {
                drift = 0.5 * dt;
                cpu.kick(0.5 * dt)?;
                cpu.drift(drift)?;
                cpu.constrain_positions(drift)?;
                cpu.ornstein_uhlenbeck(0.99, 1.0, NoiseKey { seed: 3, step })?;
                cpu.constrain_velocities(None)?;
                cpu.drift(drift)?;
            }
            false => cpu.kick_drift(dt)?,
        }
        cpu.constrain_positions(drift)?;
        cpu.update_neighbors()?;
        cpu.compute_forces(evaluate)?;
        if last {
            cpu.add_constraint_virial(ClosingKick { time: 0.5 * dt, drift })?;
        }
        cpu.kick(0.5 * dt)?;
        cpu.constrain_velocities(Some(ClosingKick { time: 0.5 * dt, drift }))?;
    }
    let kinetic = cpu.kinetic()?;
    let energies = cpu.energies();
    let sums = energies.terms.iter().chain(&energies.virial).chain(&kinetic.tensor).copied().collect();
    let simbox = *cpu.simbox();
    let state = cpu.state()?;
    let unwrapped = |index: usize| -> Vec3 {
        let (r, shift) = (state.position[index], simbox.shift(state.image[index]));
        r + shift
    };
    Ok(Outcome {
        positions: state.index_by_id().into_iter().map(unwrapped).collect(),
        velocities: state.index_by_id().into_iter().map(|index| state.velocity[index]).collect(),
        sums,
    })
}

/// Largest difference of two lists of vectors.
fn apart(a: &[Vec3], b: &[Vec3]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}

/// Largest relative error of a constraint.
fn stretch(system: &System, positions: &[Vec3]) -> f64 {
    let error = |Constraint { atoms: [a, b], length }: &Constraint| {
        let [a, b] = [a, b].map(|id| positions[*id as usize]);
        let arm = a - b;
        (arm.iter().map(|x| x * x).sum::<f64>().sqrt() / length - 1.0).abs()
    };
    system.topology.constraints.iter().map(error).fold(0.0, f64::max)
}

/// Compares steps on grids of domains with those of one rank.
fn compare(system: &System, forces: &Forces, (dt, n_steps): (f64, u64), grids: &[usize], what: &str) {
    let run = |n_ranks: usize, force_matrix, precision| {
        let settings = Settings {
            threads: Some(1 + n_ranks % 2),
            precision,
            force_matrix,
            skin: Some(0.1 * system.simbox.lengths()[0] / 2.0),
            ..Settings::default()
        };
        on_ranks(n_ranks, (system, forces, settings), |_, cpu| {
            let division = if force_matrix.is_some() { "force matrix" } else { "domains" };
            assert!(n_ranks == 1 || cpu.describe().contains(division), "{}", cpu.describe());
            advance(cpu, dt, n_steps)
        })
        .unwrap()
    };
    for precision in [Precision::Double, Precision::Mixed] {
        let one = run(1, None, precision);
        // Rounding of single precision grows in as few steps to some hundred times itself.
        let tolerance = if precision == Precision::Double { 1e-9 } else { 1e-3 };
        let scale = one.sums.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let fastest = one.velocities.iter().flatten().fold(0.0, |most: f64, v| most.max(v.abs()));
        let ways = |n_ranks| [None, Some(matrices(n_ranks)[0])].map(|matrix| (n_ranks, matrix));
        for (n_ranks, force_matrix) in grids.iter().copied().flat_map(ways) {
            let many = run(n_ranks, force_matrix, precision);
            let what = format!("{what}, {n_ranks} ranks, {force_matrix:?}, {precision:?}");
            let r = apart(&one.positions, &many.positions) / system.simbox.lengths()[0];
            let v = apart(&one.velocities, &many.velocities) / fastest;
            let sums = one.sums.iter().zip(&many.sums).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(r < tolerance && v < tolerance, "{what}: positions {r:e}, velocities {v:e} apart");
            assert!(sums < tolerance * scale, "{what}: sums {sums:e} of {scale} apart");
            // Unwrapped positions are as long as their images are right.
            let stretch = stretch(system, &many.positions);
            assert!(stretch < 1e-10, "{what}: {stretch:e}");
        }
    }
}

/// Rigid water, whose excluded pairs have a force, too.
fn water(method: Method) -> (System, Forces) {
    let (system, forces) = constraints::water();
    let charges = Electrostatics::new(method, 138.935458, 0.75);
    (system, Forces { pairs: forces.pairs, ..charges.into() })
}

#[test]
fn rigid_water_is_that_of_one_rank() {
    let (system, forces) = water(Method::ReactionField { dielectric: 78.0 });
    compare(&system, &forces, (1e-3, 60), &[2, 3, 4, 8, 12, 27], "water");
    let (system, forces) = water(Method::pme(0.75, 1e-4, 6));
    compare(&system, &forces, (1e-3, 30), &[3, 8], "water on a mesh");
}

#[test]
fn groups_of_all_shapes_are_those_of_one_rank() {
    compare(&groups_of_all_shapes(), &virtual_sites::forces(), (2e-3, 60), &[2, 4, 6, 12, 27], "sites");
}

/// Rigid bodies migrate whole; those larger than the reach of forces keep a system undivided.
#[test]
fn rigid_bodies_are_those_of_one_rank() {
    let (mut system, forces) = water(Method::ReactionField { dielectric: 78.0 });
    system.topology.constraints.clear();
    let bodies = (0..system.state.len() as u32).step_by(3);
    let bodies = bodies.map(|first| {
        RigidBody::new(&system, &system.state.index_by_id(), &[first, first + 1, first + 2], 0.0).unwrap()
    });
    system.topology.rigid_bodies = bodies.collect();
    compare(&system, &forces, (1e-3, 60), &[2, 4, 8], "bodies");
    system.topology.rigid_bodies.clear();
    let mut system = system.replicate([2; 3]).unwrap();
    let far = 3 * (0..system.state.len() as u32 / 3).find(|m| reach(&system, *m) > 0.76).unwrap();
    system
        .topology
        .rigid_bodies
        .push(RigidBody::new(&system, &system.state.index_by_id(), &[0, far], 0.0).unwrap());
    let settings = Settings { threads: Some(1), ..Settings::default() };
    on_ranks(2, (&system, &forces, settings), |_, cpu| {
        assert!(cpu.describe().contains("rigid bodies larger than the cut-off"), "{}", cpu.describe());
        advance(cpu, 1e-4, 5).map(drop)
    })
    .unwrap();
}

/// Distance of a molecule from the first one.
fn reach(system: &System, molecule: u32) -> f64 {
    let [a, b] = [0, 3 * molecule as usize].map(|index| system.state.position[index]);
    let d = system.simbox.nearest_image(b - a);
    let length = d.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length < 0.4 * system.simbox.lengths()[0] { length } else { 0.0 }
}

/// Constraints that do not hold on some rank end the run of all with the error of one.
#[test]
fn constraints_that_do_not_hold_are_an_error_of_all() {
    let (system, forces) = (groups_of_all_shapes(), virtual_sites::forces());
    let settings = Settings { threads: Some(1), precision: Precision::Double, ..Settings::default() };
    for n_ranks in [1, 4] {
        let found = on_ranks(n_ranks, (&system, &forces, settings), |_, cpu| advance(cpu, 1.0, 20).map(drop));
        let error = found.unwrap_err();
        assert!(error.message().contains("the constraints of the molecule of atom"), "{n_ranks}: {error}");
    }
}

/// Groups of several shapes, across the faces of a tilted box: triangles and pairs of constraints that are iterated, and
/// virtual sites of all rules, with forces between atoms and sites.
fn groups_of_all_shapes() -> System {
    let mut system = virtual_sites::system();
    let length = |simbox: &SimBox, a: Vec3, b: Vec3| {
        let arm = simbox.nearest_image(b - a);
        arm.iter().map(|x| x * x).sum::<f64>().sqrt()
    };
    for first in (0..system.state.len() as u32).step_by(5) {
        let pairs: &[[u32; 2]] = match first / 5 % 3 {
            0 => &[[0, 1], [0, 2], [1, 2]],
            1 => &[[0, 1]],
            _ => &[],
        };
        for pair in pairs {
            let atoms = pair.map(|k| first + k);
            let [a, b] = atoms.map(|id| system.state.position[id as usize]);
            let length = length(&system.simbox, a, b);
            system.topology.constraints.push(Constraint { atoms, length });
        }
    }
    system
}
