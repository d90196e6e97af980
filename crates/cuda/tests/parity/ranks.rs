//! GPUs of several ranks as one: each rank is a thread with a GPU, or two, which others know by messages alone.

use super::constraints::settings;
use super::device::device;
use super::embedded;
use super::fluid::{Shape, by_id, system, term};
use super::gpus::devices;
use super::several::{batch, begin, charged, largest_difference, thermostat};
use jostle_core::{
    Algorithm, AtomStorage, Backend, Energies, Error, Evaluate, Precision, Result, Settings, State, System,
    Thermostat,
};
use jostle_cuda::driver::Device;
use jostle_cuda::{Cuda, SeveralGpus};
use jostle_potentials::{Forces, PairKind, Truncation};
use jostle_transport::{Communicator, threads};

/// GPUs of each rank: of those that tests run on there are two.
fn gpus_of(communicator: &Communicator, each: usize) -> Vec<Device> {
    let mut all = devices(each * communicator.size());
    all.drain(each * communicator.rank()..).take(each).collect()
}

/// Atoms by id and energies after some batches.
fn path(gpu: &mut dyn Backend, batches: u64, mut bath: Thermostat) -> Result<(State, Energies)> {
    begin(gpu);
    for number in 0..batches {
        gpu.run_steps(&batch(number), &mut bath)?.expect("a GPU makes its steps");
    }
    Ok((by_id(gpu), gpu.energies().clone()))
}

/// Compares the path of a system on GPUs of ranks with that on one GPU, and ranks with each other to the last bit.
fn assert_ranks_are_one(
    what: &str,
    (ranks, each): (usize, usize),
    system: &System,
    forces: &Forces,
    s: Settings,
) {
    let mut one = Cuda::new(device(), system.clone(), forces.clone(), s).unwrap();
    let (state, energies) = path(&mut one, 3, thermostat()).unwrap();
    let found = threads::run(ranks, |communicator| {
        let own = gpus_of(communicator, each);
        let gpus = SeveralGpus::on_ranks(own, system.clone(), forces.clone(), s, communicator)?;
        path(&mut gpus.expect("GPUs of this rank"), 3, thermostat())
    });
    let found = found.unwrap();
    for (other, others) in &found {
        assert_eq!(
            (&other.position, &other.velocity),
            (&found[0].0.position, &found[0].0.velocity),
            "{what}"
        );
        let difference = largest_difference(&state, other);
        assert!(difference < 1e-9, "{what}: {difference:e}");
        let scale = energies.terms.iter().map(|e| e.abs()).sum::<f64>();
        for (a, b) in energies.terms.iter().zip(&others.terms) {
            assert!((a - b).abs() < 1e-9 * scale, "{what}: {a} {b}");
        }
    }
}

#[test]
fn every_algorithm_gives_the_same_on_gpus_of_ranks() {
    for algorithm in [Algorithm::Tiles, Algorithm::List, Algorithm::Cells, Algorithm::AllPairs] {
        let settings = Settings { skin: Some(0.1), ..settings(algorithm, Precision::Double) };
        let terms = vec![term(PairKind::LennardJones, Truncation::ForceShifted, 2)];
        let fluid = system(Shape::Triclinic, algorithm, 2);
        assert_ranks_are_one(&format!("{algorithm:?}"), (2, 1), &fluid, &terms.into(), settings);
    }
}

#[test]
fn molecules_with_charges_and_embedded_atoms_are_the_same_on_gpus_of_ranks() {
    let (molecules, forces) = charged();
    let of_molecules = settings(Algorithm::Tiles, Precision::Double);
    assert_ranks_are_one("molecules", (2, 1), &molecules, &forces, of_molecules);
    let copper = embedded::system(4, 3.6, &["Cu"], 0.1);
    let of_copper = Settings { skin: Some(0.5), ..settings(Algorithm::List, Precision::Double) };
    assert_ranks_are_one("copper", (2, 1), &copper, &embedded::copper(), of_copper);
}

/// Ranks with two GPUs each, where there are so many.
#[test]
fn gpus_of_a_rank_share_its_landing_zone() {
    if !device().is_emulated() {
        eprintln!("skipped: four GPUs are emulated ones only");
        return;
    }
    let (molecules, forces) = charged();
    assert_ranks_are_one("2 x 2", (2, 2), &molecules, &forces, settings(Algorithm::List, Precision::Double));
}

/// A call that fails on all ranks alike has the error of one GPU on each, and ranks go on after it.
#[test]
fn an_error_of_all_ranks_is_that_of_one_gpu() {
    let settings = settings(Algorithm::List, Precision::Double);
    let terms = || vec![term(PairKind::LennardJones, Truncation::ForceShifted, 2)];
    let right = system(Shape::Triclinic, Algorithm::List, 2);
    let mut wrong = right.clone();
    wrong.state.position[1] = wrong.state.position[0];
    let error_of = |gpu: &mut dyn Backend| -> Result<String> {
        gpu.set_state(wrong.state.clone())?;
        gpu.update_neighbors()?;
        let evaluated = gpu.compute_forces(Evaluate::Forces);
        let run = evaluated.and_then(|()| gpu.run_steps(&batch(0), &mut Thermostat::Isolated).map(drop));
        Ok(run.unwrap_err().to_string())
    };
    let alone = error_of(&mut Cuda::new(device(), right.clone(), terms(), settings).unwrap()).unwrap();
    let found = threads::run(2, |communicator| {
        let own = gpus_of(communicator, 1);
        let gpus = SeveralGpus::on_ranks(own, right.clone(), terms(), settings, communicator)?;
        let mut gpus = gpus.expect("GPUs of this rank");
        let error = error_of(&mut gpus)?;
        gpus.set_state(right.state.clone())?;
        path(&mut gpus, 1, Thermostat::Isolated).map(|_| error)
    });
    assert_eq!(found.unwrap(), [alone.clone(), alone]);
}

/// A rank whose GPU cannot be opened for a system lets no other one wait.
#[test]
fn a_rank_that_cannot_begin_is_named_to_all() {
    let settings = settings(Algorithm::List, Precision::Double);
    let fluid = system(Shape::Triclinic, Algorithm::List, 2);
    let found = threads::run(2, |communicator| {
        let own = gpus_of(communicator, 1);
        // One rank has one species too few in its forces.
        let species = 2 - communicator.rank();
        let terms = vec![term(PairKind::LennardJones, Truncation::ForceShifted, species)];
        let opened = SeveralGpus::on_ranks(own, fluid.clone(), terms, settings, communicator);
        Ok::<_, Error>(opened.err().map(|error| error.message().to_string()))
    });
    let found = found.unwrap();
    let [Some(first), Some(second)] = &found[..] else { panic!("{found:?}") };
    assert!(first.contains(&format!("rank 1: {second}")), "{first}; {second}");
}

/// A rank without a GPU stands by; ranks without any are refused.
#[test]
fn ranks_without_gpus_stand_by() {
    let settings = settings(Algorithm::List, Precision::Double);
    let terms = || vec![term(PairKind::LennardJones, Truncation::ForceShifted, 2)];
    let fluid = system(Shape::Triclinic, Algorithm::List, 2);
    for with_gpus in [1, 0] {
        let found = threads::run(2, |communicator| {
            let own = if communicator.rank() < with_gpus { gpus_of(communicator, 1) } else { Vec::new() };
            match SeveralGpus::on_ranks(own, fluid.clone(), terms(), settings, communicator) {
                Ok(Some(mut gpus)) => path(&mut gpus, 1, thermostat()).map(|_| "runs".to_string()),
                Ok(None) => Ok("stands by".into()),
                Err(error) => Ok(error.message().to_string()),
            }
        });
        let found = found.unwrap();
        match with_gpus {
            1 => assert_eq!(found, ["runs", "stands by"]),
            _ => assert!(found.iter().all(|text| text.contains("0 GPUs")), "{found:?}"),
        }
    }
}
