//! A profile times each kernel alone, and changes nothing.

use super::device::device;
use super::fluid::{LONGEST_CUTOFF, SKIN, Shape, by_id, distance, largest, run, system, term};
use jostle_core::backend::KernelTime;
use jostle_core::{
    Algorithm, DeviceReport, Evaluate, ForceEvaluation, Precision, RespaSchedule, Settings, StepBatch,
    Thermostat, Vec3,
};
use jostle_cuda::Cuda;
use jostle_potentials::electrostatics::Method;
use jostle_potentials::{Electrostatics, Forces, PairKind, Truncation};

/// Steps that are profiled.
const STEPS: u64 = 30;

#[test]
fn a_profile_has_all_kernels_and_changes_nothing() {
    let mesh = Method::Pme { alpha: 1.1, order: 5, spacing: 0.8 };
    let charges = Electrostatics::new(mesh, 1.0, LONGEST_CUTOFF);
    for (algorithm, lists) in [
        (Algorithm::Tiles, &["atoms of a tile", "rows of a warp's list"][..]),
        (Algorithm::List, &["neighbours of an atom"]),
        (Algorithm::Cells, &[]),
    ] {
        let mut system = system(Shape::Orthorhombic, Algorithm::Auto, 2);
        system.charges = (0..system.state.len()).map(|id| if id % 2 == 0 { 0.3 } else { -0.3 }).collect();
        let core = term(PairKind::LennardJones, Truncation::ForceShifted, 2);
        let forces = Forces { pairs: vec![core], ..charges.into() };
        let settings =
            Settings { algorithm, precision: Precision::Double, skin: Some(SKIN), ..Settings::default() };
        let mut plain = Cuda::new(device(), system.clone(), forces.clone(), settings).unwrap();
        let mut profiled = Cuda::new(device(), system.clone(), forces, settings).unwrap();
        assert!(profiled.end_profile().is_err());
        for cuda in [&mut plain, &mut profiled] {
            cuda.update_neighbors().unwrap();
            cuda.compute_forces(Evaluate::Forces).unwrap();
        }
        profiled.start_profile().unwrap();
        for cuda in [&mut plain, &mut profiled] {
            let (timestep, long_range) = (0.002, RespaSchedule::ALWAYS);
            let (first_step, steps, seed, sample_every) = (1, STEPS, 5, 0);
            let evaluate = Evaluate::Forces;
            let batch = StepBatch { first_step, steps, timestep, seed, sample_every, evaluate, long_range };
            run(cuda, &batch, &mut Thermostat::Isolated);
        }
        let profile = profiled.end_profile().unwrap();
        let [a, b] = [by_id(&mut plain), by_id(&mut profiled)].map(|atoms| atoms.position);
        let apart = largest(a.iter().zip(&b).map(|(a, b)| distance(*a, *b)));
        assert!(apart < 1e-9, "{algorithm:?}: {apart:e} apart");

        // Every step spreads charges and computes pairs at least once.
        let launches = |part: &str| {
            let of = |kernel: &&KernelTime| kernel.name.contains(part);
            profile.kernels.iter().filter(of).map(|kernel| kernel.launches).sum::<u64>()
        };
        assert!(launches("spread") >= STEPS && launches("forces_") >= STEPS, "{:?}", profile.kernels);
        let seconds = |kernel: &KernelTime| kernel.seconds.is_finite() && kernel.seconds >= 0.0;
        assert!(profile.kernels.iter().all(seconds), "{:?}", profile.kernels);
        assert!(profile.kernels.is_sorted_by(|a, b| a.seconds >= b.seconds));
        assert!(profile.kernels.iter().map(|kernel| kernel.seconds).sum::<f64>() > 0.0);
        let named = Vec::from_iter(profile.lists.iter().map(|list| list.what));
        assert_eq!(named, lists, "{algorithm:?}");
        for list in profile.lists {
            assert!(0.0 < list.mean && list.mean <= list.most as f64 && list.most <= list.room, "{list:?}");
        }
    }
}

/// Neighbours of a list are those within the cut-off and the skin when it was made.
#[test]
fn contents_of_lists_are_counted() {
    let mut system = system(Shape::Orthorhombic, Algorithm::Auto, 1);
    // Lists are around where atoms are going.
    system.state.velocity.fill(Vec3::ZERO);
    let core = term(PairKind::LennardJones, Truncation::ForceShifted, 1);
    let reach = core.largest_cutoff() + SKIN;
    let position = &system.state.position;
    let near = |a: usize, b: usize| {
        let apart = system.simbox.nearest_image(position[a] - position[b]);
        a != b && distance(apart, Vec3::ZERO) < reach
    };
    let counts = Vec::from_iter(
        (0..position.len()).map(|a| (0..position.len()).filter(|&b| near(a, b)).count() as u64),
    );
    let settings = Settings {
        algorithm: Algorithm::List,
        precision: Precision::Double,
        skin: Some(SKIN),
        ..Settings::default()
    };
    let mut cuda = Cuda::new(device(), system.clone(), core, settings).unwrap();
    cuda.update_neighbors().unwrap();
    cuda.start_profile().unwrap();
    let lists = cuda.end_profile().unwrap().lists;
    let right = counts.iter().sum::<u64>() as f64 / counts.len() as f64;
    assert_eq!(lists[0].lists, counts.len());
    assert!((lists[0].mean - right).abs() < 1e-3 * right, "{lists:?}: {right}");
    assert!(lists[0].most.abs_diff(*counts.iter().max().unwrap()) <= 1, "{lists:?}");
}
