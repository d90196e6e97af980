//! Blocks of atoms all of which are driven: steps do without the forces on them, and whoever looks finds all.

use super::device::device;
use super::fluid::{LONGEST_CUTOFF, SKIN, Shape, by_id, distance, largest, run, system, term};
use super::gpus::on_gpu;
use jostle_core::thermostat::Langevin;
use jostle_core::{
    Algorithm, Backend, Driven, Evaluate, Precision, RespaSchedule, Settings, StepBatch, System, Thermostat,
    Vec3, Vector,
};
use jostle_cuda::Cuda;
use jostle_potentials::electrostatics::Method;
use jostle_potentials::{Electrostatics, Forces, PairKind, Truncation};

/// Velocity of the atoms of one slab.
const DRIVEN: Vec3 = Vector([0.3, -0.2, 0.1]);

/// Fluid on a floor of frozen atoms, half of all, whose lowest layer slides.
fn fluid_on_a_floor() -> System {
    let mut system = system(Shape::Orthorhombic, Algorithm::Auto, 2);
    let height = |index: usize| system.simbox.to_fractional(system.state.position[index])[2];
    let velocity = |index: usize| match height(index) {
        h if h < 0.12 => Some(DRIVEN),
        h if h < 0.55 => Some(Vec3::ZERO),
        _ => None,
    };
    let mut by_id = vec![None; system.state.len()];
    for (index, id) in system.state.id.iter().enumerate() {
        by_id[*id as usize] = velocity(index);
    }
    system.driven = Driven::ById(by_id);
    for index in 0..system.state.len() {
        system.state.velocity[index] = system.driven(index).unwrap_or(system.state.velocity[index]);
    }
    system
}

/// Forces of pairs alone, whose steps are one kernel, and with charges on a mesh.
fn all_forces(system: &mut System) -> [Forces; 2] {
    let core = term(PairKind::LennardJones, Truncation::ForceShifted, 2);
    system.charges = (0..system.state.len()).map(|id| if id % 2 == 0 { 0.3 } else { -0.3 }).collect();
    let mesh = Method::Pme { alpha: 1.1, order: 5, spacing: 0.8 };
    let charges = Electrostatics::new(mesh, 1.0, LONGEST_CUTOFF);
    [core.clone().into(), Forces { pairs: vec![core], ..charges.into() }]
}

fn settings(precision: Precision) -> Settings {
    Settings { algorithm: Algorithm::Tiles, precision, skin: Some(SKIN), ..Settings::default() }
}

fn batch(steps: u64, sample_every: u64) -> StepBatch {
    let (timestep, long_range) = (0.002, RespaSchedule::ALWAYS);
    StepBatch {
        first_step: 1,
        steps,
        timestep,
        seed: 5,
        sample_every,
        evaluate: Evaluate::Forces,
        long_range,
    }
}

/// Compares what two backends are left with: where atoms are, and the forces on all of them.
fn compare(what: &str, found: &mut dyn Backend, right: &mut dyn Backend, tolerance: f64) {
    let (found, right) = (by_id(found), by_id(right));
    let apart = |a: &[Vec3], b: &[Vec3]| largest(a.iter().zip(b).map(|(a, b)| distance(*a, *b)));
    let error = apart(&found.position, &right.position);
    assert!(error < tolerance, "{what}: {error:e} apart");
    let error = apart(&found.force, &right.force) / apart(&right.force, &vec![Vec3::ZERO; right.force.len()]);
    assert!(error < 10.0 * tolerance, "{what}: forces differ by {error:e}");
}

#[test]
fn blocks_of_driven_atoms_have_forces_where_somebody_looks() {
    let mut system = fluid_on_a_floor();
    for (forces, precision) in all_forces(&mut system).into_iter().zip([Precision::Mixed, Precision::Double])
    {
        let (exact, tolerance) = match precision {
            Precision::Mixed => {
                (Settings { algorithm: Algorithm::Auto, ..settings(Precision::Double) }, 2e-5)
            }
            Precision::Double => (Settings { algorithm: Algorithm::Auto, ..settings(precision) }, 1e-10),
        };
        let mut cpu = jostle_cpu::open(system.clone(), forces.clone(), exact).unwrap();
        // Lists far too small at first: those that steps do without grow when they are needed.
        let small = Cuda::with_small_capacity(device(), system.clone(), forces.clone(), settings(precision));
        let mut gpus =
            [on_gpu(system.clone(), forces.clone(), settings(precision)), Box::new(small.unwrap())];
        for thermostat in [Thermostat::Isolated, Thermostat::Langevin(Langevin::new(1.0, 2.0, 0.002))] {
            let begin = |backend: &mut dyn Backend, steps, sample_every| {
                backend.set_state(system.state.clone()).unwrap();
                backend.update_neighbors().unwrap();
                backend.compute_forces(Evaluate::Forces).unwrap();
                run(backend, &batch(steps, sample_every), &mut thermostat.clone())
            };
            for (steps, sample_every) in [(21, 0), (24, 6)] {
                let what =
                    format!("{thermostat:?} {precision:?}, {steps} steps, samples every {sample_every}");
                let right = begin(&mut *cpu, steps, sample_every);
                for gpu in &mut gpus {
                    let found = begin(&mut **gpu, steps, sample_every);
                    assert_eq!(found.len(), right.len());
                    for (a, b) in found.iter().zip(&right) {
                        let [a, b] = [a, b].map(|sample| sample.energies.potential());
                        assert!((a - b).abs() < 10.0 * tolerance * b.abs(), "{what}: {a} is not {b}");
                    }
                    compare(&what, &mut **gpu, &mut *cpu, tolerance);
                    assert!(gpu.neighbor_facts().builds > 2, "{what}: lists were built once");
                }
            }
        }
        for gpu in &mut gpus {
            gpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
            cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
            compare("an evaluation after steps", &mut **gpu, &mut *cpu, tolerance);
            let [a, b] = [&**gpu, &*cpu].map(|backend| backend.energies().virial);
            let scale = largest(b.iter().copied());
            let error = largest(a.iter().zip(&b).map(|(a, b)| a - b));
            assert!(error < 10.0 * tolerance * scale, "virials differ by {error:e} of {scale}");
        }
    }
}
