//! Change of the box that moves molecules without deforming them: the GPU's own against that of the host, as
//! for the CPU engine.

use super::constraints::{forces, molecules, settings};
use super::fluid::{by_id, distance, largest};
use super::gpus::on_gpu;
use jostle_core::{Algorithm, Backend, Evaluate, Molecules, Precision, SimBox, State, Vec3, Vector};

fn evaluate(backend: &mut dyn Backend) -> f64 {
    backend.update_neighbors().unwrap();
    backend.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
    backend.energies().potential()
}

/// Largest distance of an atom from its position in another state, in the nearest image.
fn apart(simbox: &SimBox, a: &State, b: &State) -> f64 {
    let pairs = a.position.iter().zip(&b.position);
    largest(pairs.map(|(a, b)| {
        let d = simbox.nearest_image(*a - *b);
        distance(d, Vec3::ZERO)
    }))
}

#[test]
fn molecules_follow_the_box_undeformed() {
    let cases = [(Algorithm::Auto, Precision::Mixed, false), (Algorithm::List, Precision::Double, true)];
    for (algorithm, precision, reproducible) in cases {
        let what = format!("{algorithm:?} {precision:?}");
        let system = molecules();
        let joined = Molecules::new(&system.topology, &system.species, &system.state);
        let exact = settings(Algorithm::Auto, Precision::Double);
        let mut cpu = jostle_cpu::open(system.clone(), forces(), exact).unwrap();
        let mut settings = settings(algorithm, precision);
        settings.reproducible = reproducible;
        let mut gpu = on_gpu(system.clone(), forces(), settings);
        let tolerance = if precision == Precision::Double { 1e-9 } else { 2e-5 };
        // Some steps let atoms leave the box and be sorted.
        for backend in [&mut *cpu as &mut dyn Backend, &mut *gpu] {
            evaluate(backend);
            for _ in 0..60 {
                backend.kick_drift(0.002).unwrap();
                backend.constrain_positions(0.002).unwrap();
                evaluate(backend);
                backend.kick(0.001).unwrap();
                backend.constrain_velocities(None).unwrap();
            }
        }
        // Both continue from the same state.
        let state = cpu.state().unwrap().clone();
        gpu.set_state(state).unwrap();
        evaluate(&mut *cpu);
        evaluate(&mut *gpu);
        let simbox = *cpu.simbox();
        let after = simbox
            .mapped([Vector([1.02, 0.0, 0.0]), Vector([0.0, 1.01, 0.0]), Vector([0.0, 0.0, 1.015])])
            .unwrap();
        let before = by_id(&mut *gpu);
        let found = [&mut *cpu as &mut dyn Backend, &mut *gpu].map(|backend| {
            let molecular = backend.molecular_virial(&joined).unwrap();
            let sums = [molecular.twice_kinetic, molecular.within];
            let kept = backend.scale_volume(molecular, after, -0.03).unwrap();
            let energy = evaluate(backend);
            (sums, energy, by_id(backend), kept)
        });
        let [(sums, energy, right, _), (found_sums, found_energy, state, kept)] = found;
        let scale = sums[0].abs();
        assert!((sums[0] - found_sums[0]).abs() < 1e-9 * scale, "{what}: {sums:?} {found_sums:?}");
        assert!(
            (sums[1] - found_sums[1]).abs() < 10.0 * tolerance * scale,
            "{what}: {sums:?} {found_sums:?}"
        );
        assert!((energy - found_energy).abs() < 10.0 * tolerance * scale, "{what}: {energy} {found_energy}");
        let error = apart(&after, &right, &state);
        assert!(error < 1e-9, "{what}: {error:e} apart");
        let error = largest(right.velocity.iter().zip(&state.velocity).map(|(a, b)| distance(*a, *b)));
        assert!(error < 1e-9, "{what}: velocities {error:e} apart");
        let moved = apart(&simbox, &before, &state);
        assert!(moved > 0.01, "{what}: nothing moved");
        gpu.undo_scale(kept).unwrap();
        evaluate(&mut *gpu);
        let back = by_id(&mut *gpu);
        assert_eq!((gpu.simbox(), apart(&simbox, &before, &back)), (&simbox, 0.0), "{what}");
        assert_eq!(before.velocity, back.velocity, "{what}");
        let error = largest(before.force.iter().zip(&back.force).map(|(a, b)| distance(*a, *b)));
        let most = largest(before.force.iter().map(|f| distance(*f, Vec3::ZERO)));
        assert!(error < tolerance * most, "{what}: forces {error:e} of {most}");
    }
}
