//! Domains of several ranks, here threads, against one rank: forces and energies of every potential on every grid,
//! atoms that migrate, ghosts, and failures.

use crate::every_potential::{self, TRUNCATIONS};
use jostle_core::random::{Purpose, Stream};
use jostle_core::thermostat::Dissipative;
use jostle_core::{
    Backend, Bond, Dihedral, Energies, Evaluate, Exclude, NoiseKey, Precision, Result, Settings, SimBox,
    Species, State, System, Vec3, Vector, WholeGroups,
};
use jostle_cpu::{open_on_ranks, reference};
use jostle_fixtures::chains::{self, boxes_of_long_bonds, chain_of_long_bonds};
use jostle_potentials::grains::Rolling;
use jostle_potentials::restraint::{Anchor, Center, Distance, Restraints, Spring};
use jostle_potentials::{
    BondKind, BondTerm, DihedralKind, DihedralTerm, Forces, Grains, PairEntry, PairKind, PairTerm,
    Truncation, Vacuum,
};
use jostle_transport::threads;
use std::iter;

/// Calls `body` with the device of every rank; result of rank 0.
pub fn on_ranks<R: Send>(
    n: usize,
    (system, forces, settings): (&System, &Forces, Settings),
    body: impl Fn(usize, &mut dyn Backend) -> Result<R> + Sync,
) -> Result<R> {
    let of_ranks = threads::run(n, |communicator| {
        let mut device = open_on_ranks(system.clone(), forces.clone(), settings, communicator.clone())?;
        body(communicator.rank(), &mut *device)
    });
    of_ranks.map(|mut results| results.remove(0))
}

/// Forces by id, and energies.
pub fn evaluate(cpu: &mut dyn Backend) -> Result<(Vec<Vec3>, Energies)> {
    cpu.update_neighbors()?;
    cpu.compute_forces(Evaluate::ForcesAndEnergies)?;
    let energies = cpu.energies().clone();
    let state = cpu.state()?;
    Ok((by_id(state, &state.force), energies))
}

fn by_id(state: &State, vectors: &[Vec3]) -> Vec<Vec3> {
    state.index_by_id().into_iter().map(|index| vectors[index]).collect()
}

fn settings(precision: Precision, threads: usize) -> Settings {
    Settings { threads: Some(threads), precision, ..Settings::default() }
}

fn norm(v: Vec3) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// Shapes of a force matrix of ranks: the nearest to a square, both ways round.
pub fn matrices(n_ranks: usize) -> [[usize; 2]; 2] {
    let rows = (1..=n_ranks).filter(|rows| n_ranks.is_multiple_of(*rows) && rows * rows <= n_ranks).max();
    let rows = rows.unwrap_or(1);
    [[rows, n_ranks / rows], [n_ranks / rows, rows]]
}

/// Compares forces and energies of ranks, which divide space or are a force matrix, with those of one rank in double
/// precision.
pub fn compare(system: &System, forces: &Forces, n_ranks: usize, what: &str) {
    compare_in(&[Precision::Double, Precision::Mixed], (system, forces), n_ranks, what);
}

/// The comparison in some precisions.
pub fn compare_in(
    precisions: &[Precision],
    (system, forces): (&System, &Forces),
    n_ranks: usize,
    what: &str,
) {
    let one = |precision| on_ranks(1, (system, forces, settings(precision, 1)), |_, cpu| evaluate(cpu));
    let (exact, expected) = one(Precision::Double).unwrap();
    let rms = (exact.iter().map(|f| norm(*f).powi(2)).sum::<f64>() / exact.len() as f64).sqrt();
    let virial: f64 = expected.virial[..3].iter().map(|w| w.abs()).sum();
    // Parts of a lattice sum that nearly cancel are as large as the energy of atoms with themselves.
    let itself: f64 = forces.sums().map(|sum| sum.constants(system)[0].abs()).sum();
    let scale = expected.terms.iter().map(|energy| energy.abs()).sum::<f64>() + virial + itself;
    // Three-body forces need ghosts on all sides.
    let matrices = matrices(n_ranks).into_iter().filter(|_| forces.three_body.is_none());
    let divisions = iter::once(None).chain(matrices.map(Some));
    let ways = divisions.flat_map(|matrix| precisions.iter().map(move |precision| (matrix, *precision)));
    for (force_matrix, precision) in ways {
        let threads = 1 + n_ranks % 2;
        let on = (system, forces, Settings { force_matrix, ..settings(precision, threads) });
        let (found, energies) = on_ranks(n_ranks, on, |_, cpu| evaluate(cpu)).unwrap();
        let what = format!("{what}, {n_ranks} ranks, {force_matrix:?}, {precision:?}");
        assert_eq!(found.len(), exact.len(), "{what}");
        let errors = || found.iter().zip(&exact).map(|(a, b)| norm(*a - *b));
        let sums = || energies.terms.iter().chain(&energies.virial);
        let apart = sums().zip(expected.terms.iter().chain(&expected.virial)).map(|(a, b)| (a - b).abs());
        let energy_error = apart.fold(0.0, f64::max) / scale;
        let worst = errors().fold(0.0, f64::max);
        match precision {
            Precision::Double => {
                assert!(worst < 1e-12 * rms, "{what}: forces differ by {worst:e} of {rms}");
                assert!(energy_error < 1e-12, "{what}: sums differ by {energy_error:e}");
            }
            Precision::Mixed => {
                let mut relative: Vec<f64> = errors().zip(&exact).map(|(e, f)| e / norm(*f)).collect();
                relative.sort_by(f64::total_cmp);
                let median = relative[relative.len() / 2];
                assert!(median < 3e-6, "{what}: median relative force error {median:e}");
                assert!(energy_error < 1e-6, "{what}: sums differ by {energy_error:e}");
            }
        }
    }
}

/// Beads of one term that are nearer to images of each other, on ranks that have some of them as ghosts.
#[test]
fn long_bonds_in_a_small_box_are_those_in_a_large_one() {
    for (simbox, n_ranks) in boxes_of_long_bonds().into_iter().flat_map(|b| [1, 2, 3, 4, 8].map(|n| (b, n))) {
        let start = Vector([0.9, 0.6, 2.0]);
        let (small, forces) = chain_of_long_bonds(simbox, start);
        let (large, _) = chain_of_long_bonds(SimBox::orthorhombic([40.0; 3]).unwrap(), start);
        let (exact, expected) = reference::evaluate(&large, &forces).unwrap();
        let on = (&small, &forces, settings(Precision::Double, 1));
        let (found, energies) = on_ranks(n_ranks, on, |_, cpu| evaluate(cpu)).unwrap();
        let off = (energies.potential() - expected.potential()).abs();
        assert!(off < 1e-11 * expected.potential(), "{n_ranks} ranks: {energies:?}, not {expected:?}");
        let errors = found.iter().zip(&exact).map(|(a, b)| norm(*a - *b));
        let (error, scale) = (errors.fold(0.0, f64::max), exact.iter().map(|f| norm(*f)).fold(0.0, f64::max));
        assert!(error < 1e-11 * scale, "{n_ranks} ranks: forces differ by {error:e} of {scale}");
    }
}

#[test]
fn every_potential_is_that_of_one_domain() {
    let grids = [2, 3, 4, 6, 8, 12];
    let system = every_potential::system(2);
    for (k, &kind) in PairKind::ALL.iter().enumerate() {
        for (t, truncation) in TRUNCATIONS.into_iter().enumerate() {
            let built_in = every_potential::term(kind, truncation, 2);
            let term = match (k + t) % 3 {
                0 => built_in.as_formula().unwrap(),
                1 if matches!(truncation, Truncation::Plain) => built_in.tabulated().unwrap(),
                _ => built_in,
            };
            let what = format!("{} {truncation:?}", kind.name());
            compare(&system, &vec![term].into(), grids[(k + t) % grids.len()], &what);
        }
    }
}

/// Grids of one to three domains along every axis, in boxes that are cut along different axes first; domains are
/// thinner than the reach of forces.
#[test]
fn all_grids_are_one_domain() {
    let term = every_potential::term(PairKind::LennardJones, Truncation::ForceShifted, 2);
    let forces: Forces = vec![term].into();
    let mut grids = std::collections::BTreeSet::new();
    for (cells, n_ranks) in [
        ([6, 7, 8], 2),
        ([8, 6, 6], 2),
        ([6, 8, 6], 2),
        ([6, 6, 8], 3),
        ([8, 6, 6], 3),
        ([6, 7, 6], 4),
        ([7, 6, 6], 6),
        ([6, 6, 9], 6),
        ([6, 6, 6], 8),
        ([5, 8, 8], 9),
        ([6, 6, 9], 12),
        ([6, 9, 9], 18),
        ([7, 7, 7], 27),
    ] {
        let system = every_potential::shaken(cells, 2);
        compare(&system, &forces, n_ranks, &format!("{cells:?}"));
        let on = (&system, &forces, settings(Precision::Double, 1));
        let described = on_ranks(n_ranks, on, |_, cpu| Ok(cpu.describe())).unwrap();
        grids.insert(described.split(", ").last().unwrap_or_default().to_string());
    }
    println!("{grids:?}");
    assert!(grids.len() >= 10 && grids.contains("3 x 3 x 3 domains"), "{grids:?}");
}

/// Bonds, angles and dihedrals across borders, and pairs that are left out, also where partners are further than the
/// reach of pair forces, on the other side of a domain between.
#[test]
fn bound_atoms_are_those_of_one_domain() {
    for periodic in [[true; 3], [true, true, false]] {
        for exclude in Exclude::ALL {
            let (mut system, mut forces) = (chains::chains(periodic), chains::forces(exclude));
            let n = system.state.len() as u32;
            let topology = &mut system.topology;
            topology.dihedral_types = vec!["a".into()];
            let firsts = (0..n).filter(|k| k % 12 + 4 <= 12);
            topology.dihedrals =
                firsts.map(|k| Dihedral { kind: 0, atoms: [k, k + 1, k + 2, k + 3] }).collect();
            let term = DihedralTerm::new(DihedralKind::PeriodicDihedral, 1).with(0, &[2.0, 3.0, 40.0]);
            forces.dihedrals = vec![term.unwrap()];
            topology.bonds.extend((0..n).step_by(60).map(|k| Bond { kind: 1, atoms: [k, (k + 200) % n] }));
            topology.excluded = (0..n).step_by(31).map(|k| [k, (k + 7) % n]).collect();
            for n_ranks in [2, 3, 12] {
                compare(&system, &forces, n_ranks, &format!("{periodic:?} {exclude:?}"));
            }
        }
    }
}

/// Bonds in a box in which domains have several images of an atom as ghosts, and none of the atoms with the largest ids.
#[test]
fn bound_atoms_are_found_among_many_images() {
    let mut system = every_potential::shaken([6, 6, 6], 2);
    let n = system.state.len() as u32;
    system.topology.bond_types = vec!["a".into()];
    system.topology.bonds = (0..n)
        .map(|k| Bond { kind: 0, atoms: [k, (k * 37 + 11) % n] })
        .filter(|bond| bond.atoms[0] != bond.atoms[1])
        .collect();
    let term = BondTerm::new(BondKind::HarmonicBond, 1).with(0, &[2.0, 1.0]).unwrap();
    let pair = every_potential::term(PairKind::LennardJones, Truncation::ForceShifted, 2);
    let forces = Forces { bonds: vec![term], ..vec![pair].into() };
    for n_ranks in [2, 3, 4, 6, 8, 12] {
        compare(&system, &forces, n_ranks, "bonds among images");
    }
}

/// Number that says which atom and which axis it belongs to.
fn code(id: u32, axis: usize) -> f64 {
    f64::from(id % 7) - 3.0 + 0.25 * (axis as f64 - 1.0)
}

/// Free atoms whose velocities are codes: a wrong velocity or position says whose it is.
fn coded(simbox: SimBox, n: u32) -> System {
    let species = ["A", "B"].map(|name| Species { name: name.into(), mass: 1.0, charge: 0.0 });
    let mut system = System::new(simbox, species.to_vec());
    let mut random = Stream::new(11, Purpose::Placement, 0, 0);
    for id in 0..n {
        let site = [0; 3].map(|_| random.uniform());
        system.state.push((id % 2) as u16, system.simbox.to_cartesian(Vector(site)));
        system.state.velocity[id as usize] = Vector::from_fn(|axis| code(id, axis));
    }
    system
}

/// Hot atoms go through all domains, many boxes far; every one is owned by one rank at any time, and is where its
/// velocity has taken it.
#[test]
fn migrating_atoms_are_owned_once_and_keep_their_numbers() {
    let simbox = SimBox::new([1.0, -2.0, 0.0], [9.0, 8.0, 7.0], [1.5, -1.0, 2.0], [true; 3]).unwrap();
    let system = coded(simbox, 400);
    // A force of no strength.
    let forces: Forces = vec![gaussian([0.0, 1.0])].into();
    for n_ranks in [2, 3, 8, 12] {
        let on = (&system, &forces, Settings { skin: Some(0.3), ..settings(Precision::Double, 1) });
        on_ranks(n_ranks, on, |rank, cpu| {
            let dt = 0.05;
            for step in 1..=120 {
                cpu.kick_drift(dt)?;
                cpu.update_neighbors()?;
                cpu.compute_forces(Evaluate::Forces)?;
                cpu.kick(0.5 * dt)?;
                let state = cpu.state()?.clone();
                if rank == 0 {
                    check_coded(&system, &state, f64::from(step) * dt, n_ranks);
                }
            }
            Ok(())
        })
        .unwrap();
    }
}

/// A soft force between atoms of both species.
fn gaussian(parameters: [f64; 2]) -> PairTerm {
    let mut term = PairTerm::new(PairKind::GaussianCore, Truncation::Plain, 2);
    for (a, b) in [(0, 0), (0, 1), (1, 1)] {
        term.set(a, b, PairEntry { parameters: parameters.to_vec(), cutoff: 2.0 });
    }
    term
}

fn check_coded(system: &System, state: &State, time: f64, n_ranks: usize) {
    assert_eq!(state.len(), system.state.len(), "{n_ranks} ranks own {} atoms at {time}", state.len());
    let mut owners = vec![0; state.len()];
    for index in 0..state.len() {
        let id = state.id[index];
        owners[id as usize] += 1;
        assert_eq!(state.species[index], (id % 2) as u16, "species of atom {id}");
        let (r, shift) = (state.position[index], system.simbox.shift(state.image[index]));
        for axis in 0..3 {
            let v = state.velocity[index][axis];
            let whose = (0..7).find_map(|id| (0..3).find(|axis| code(id, *axis) == v).map(|axis| (id, axis)));
            assert_eq!(
                v,
                code(id, axis),
                "axis {axis} of atom {id} has what atoms % 7 and axis {whose:?} have"
            );
            let expected = system.state.position[id as usize][axis] + time * v;
            let found = r[axis] + shift[axis];
            assert!((found - expected).abs() < 1e-9, "atom {id}, axis {axis}: {found} is not {expected}");
        }
    }
    assert!(owners.iter().all(|n| *n == 1), "atoms owned more than once, or not at all: {owners:?}");
}

/// All atoms in one corner, so that nearly all domains were empty if they were equally large; then atoms that all go
/// to one domain; then a few atoms on many ranks.
#[test]
fn crowded_and_empty_domains_work() {
    let simbox = SimBox::orthorhombic([12.0; 3]).unwrap();
    let forces: Forces = vec![gaussian([0.5, 0.7])].into();
    for n in [1, 5, 300] {
        let mut system = coded(simbox, n);
        // One domain gets all atoms after the cut, which is made for atoms all over the box.
        let spread = system.state.position.clone();
        let crowd: Vec<Vec3> = spread.iter().map(|r| r.map(|x| 0.2 * x)).collect();
        system.state.velocity.iter_mut().for_each(|v| *v = Vec3::ZERO);
        let forces_at = |n_ranks: usize| {
            on_ranks(n_ranks, (&system, &forces, settings(Precision::Double, 2)), |_, cpu| {
                let mut results = vec![evaluate(cpu)?];
                for positions in [&crowd, &spread] {
                    cpu.set_state(State { position: positions.clone(), ..system.state.clone() })?;
                    results.push(evaluate(cpu)?);
                }
                Ok(results)
            })
            .unwrap()
        };
        let (one, many) = (forces_at(1), forces_at(8));
        for ((a, energy_a), (b, energy_b)) in one.iter().zip(&many) {
            let worst = a.iter().zip(b).map(|(a, b)| norm(*a - *b)).fold(0.0, f64::max);
            assert!(worst < 1e-11, "{n} atoms: forces differ by {worst:e}");
            let (a, b) = (energy_a.potential(), energy_b.potential());
            assert!((a - b).abs() <= 1e-12 * a.abs(), "{n} atoms: {a} and {b}");
        }
    }
}

/// Noise, scaling and shifts of velocities, and sums over them, are those of one rank.
#[test]
fn velocities_change_as_on_one_rank() {
    let mut system = every_potential::system(2);
    system.state.velocity =
        (0..system.state.len() as u32).map(|id| Vector::from_fn(|k| code(id, k))).collect();
    let forces: Forces = vec![every_potential::term(PairKind::LennardJones, Truncation::Plain, 2)].into();
    let run = |n_ranks: usize| {
        on_ranks(n_ranks, (&system, &forces, settings(Precision::Double, 1)), |_, cpu| {
            evaluate(cpu)?;
            let descent = cpu.descent()?;
            cpu.ornstein_uhlenbeck(0.9, 1.3, NoiseKey { seed: 4, step: 9 })?;
            cpu.scale_velocities(1.1)?;
            cpu.shift_velocities(Vector([0.1, 0.2, -0.3]))?;
            cpu.mix_velocities(0.9, 1e-4)?;
            let kinetic = cpu.kinetic()?;
            let state = cpu.state()?;
            Ok((by_id(state, &state.velocity), kinetic, descent))
        })
        .unwrap()
    };
    let ((one, kinetic, descent), (many, kinetic_many, descent_many)) = (run(1), run(6));
    let worst = one.iter().zip(&many).map(|(a, b)| norm(*a - *b)).fold(0.0, f64::max);
    assert!(worst < 1e-9, "velocities differ by {worst:e}");
    let close = |a: f64, b: f64| (a - b).abs() < 1e-9 * (1.0 + a.abs());
    assert!(close(kinetic.energy(), kinetic_many.energy()));
    assert!((0..3).all(|k| close(kinetic.momentum[k], kinetic_many.momentum[k])));
    assert!(
        close(descent.power, descent_many.power) && close(descent.force_square, descent_many.force_square)
    );
    assert!(close(descent.largest_force, descent_many.largest_force));
    assert!(close(descent.largest_speed, descent_many.largest_speed));
}

/// Friction and noise of pairs and friction of grains, in the middle of a step after atoms have moved, are those of one
/// rank.
#[test]
fn mid_step_forces_are_those_of_one_rank() {
    let mut system = every_potential::system(2);
    system.state.velocity =
        (0..system.state.len() as u32).map(|id| Vector::from_fn(|k| code(id, k))).collect();
    let grains = Grains {
        stiffness: 100.0,
        normal_damping: 2.0,
        tangential_damping: 1.0,
        friction: 0.4,
        tangential_stiffness: 0.0,
        rolling: Rolling::default(),
        radius: vec![0.6, 0.65],
    };
    let rolling = Rolling { stiffness: 30.0, damping: 1.0, friction: 0.2 };
    let remembering = Grains { tangential_stiffness: 50.0, rolling, ..grains.clone() };
    let soft: Forces = vec![every_potential::term(PairKind::SoftRepulsion, Truncation::Plain, 2)].into();
    for (what, forces) in [("dpd", soft), ("grains", grains.into()), ("memory", remembering.into())] {
        let run = |n_ranks: usize| {
            on_ranks(n_ranks, (&system, &forces, settings(Precision::Double, 1)), |_, cpu| {
                evaluate(cpu)?;
                for step in 1..=12 {
                    cpu.drift(0.01)?;
                    cpu.update_neighbors()?;
                    match cpu.has_contacts() {
                        true => cpu.apply_contact_friction(0.01)?,
                        false => {
                            let thermostat = Dissipative::new(1.0, 4.5, 1.0, 0.01);
                            cpu.apply_dpd_thermostat(&thermostat, NoiseKey { seed: 3, step })?;
                        }
                    }
                }
                let state = cpu.state()?;
                let springs = state.contacts.iter().flat_map(|contact| [contact.slide, contact.roll]);
                let [velocity, angular] =
                    [&state.velocity, &state.angular_velocity].map(|all| match all.is_empty() {
                        true => Vec::new(),
                        false => by_id(state, all),
                    });
                Ok([velocity, angular, springs.collect()])
            })
            .unwrap()
        };
        let (one, many) = (run(1), run(6));
        let changes = one[0].iter().zip(&system.state.velocity).map(|(a, b)| norm(*a - *b));
        assert!(changes.fold(0.0, f64::max) > 1e-2, "{what} changes nothing");
        assert_eq!(what == "memory", one[2].iter().any(|spring| norm(*spring) > 1e-3), "{what}");
        for (one, many) in one.iter().zip(&many) {
            assert_eq!(one.len(), many.len(), "{what}");
            let apart = one.iter().zip(many).map(|(a, b)| norm(*a - *b));
            let worst = apart.fold(0.0, f64::max);
            assert!(worst < 1e-10, "{what}: velocities differ by {worst:e}");
        }
    }
}

/// Velocities that a user sets are in the order in which the atoms of all ranks were given.
#[test]
fn velocities_are_taken_in_the_order_of_ranks() {
    let system = every_potential::system(1);
    let forces: Forces = vec![every_potential::term(PairKind::LennardJones, Truncation::Plain, 1)].into();
    let order = std::sync::Mutex::new(Vec::new());
    let barrier = std::sync::Barrier::new(4);
    on_ranks(4, (&system, &forces, settings(Precision::Mixed, 1)), |rank, cpu| {
        evaluate(cpu)?;
        let ids = cpu.state()?.id.clone();
        if rank == 0 {
            *order.lock().unwrap() =
                ids.iter().map(|id| Vector::from_fn(|k| code(*id, k))).collect::<Vec<Vec3>>();
        }
        barrier.wait();
        let velocities = order.lock().unwrap().clone();
        cpu.set_velocities(&velocities)?;
        let state = cpu.state()?;
        // Rank 0 alone has all of them.
        for (id, v) in state.id.iter().zip(&state.velocity).filter(|_| rank == 0) {
            assert_eq!(*v, [0, 1, 2].map(|k| code(*id, k)), "atom {id}");
        }
        Ok(())
    })
    .unwrap();
}

/// A force that is not finite on any rank is the error of one rank, which names both atoms.
#[test]
fn a_fault_is_named_as_on_one_rank() {
    let mut system = every_potential::system(1);
    let last = system.state.len() - 1;
    system.state.position[last] = system.state.position[last - 1];
    let forces: Forces = vec![every_potential::term(PairKind::LennardJones, Truncation::Plain, 1)].into();
    let error = |n: usize| {
        let on = (&system, &forces, settings(Precision::Double, 1));
        on_ranks(n, on, |_, cpu| evaluate(cpu)).unwrap_err().message().to_string()
    };
    assert_eq!(error(1), error(4));
}

/// Centres of groups in several domains held at a distance, and atoms held at places that follow the box.
#[test]
fn restrained_groups_are_those_of_one_domain() {
    let system = every_potential::system(2);
    let n = system.state.len() as u32;
    let mut forces: Forces =
        vec![every_potential::term(PairKind::LennardJones, Truncation::ForceShifted, 2)].into();
    let group = |first: u32, by: usize| {
        let atoms: Vec<u32> = (first..n).step_by(by).collect();
        Center::new(&system, &WholeGroups::of_start(&system), &atoms)
    };
    let distance = |centers, length| Distance { centers, range: [length; 2], spring: 0 };
    forces.restraints = Restraints {
        springs: vec![Spring::new(30.0), Spring { center: Some(Vector([0.4; 3])), ..Spring::new(20.0) }],
        anchors: (0..n)
            .step_by(9)
            .map(|atom| Anchor { atom, place: Vector([0.5, -0.2, 0.1]), spring: 1 })
            .collect(),
        distances: vec![
            distance([group(0, 50), group(1, 70)], 4.0),
            distance([group(2, 5), group(3, 9)], 1.0),
        ],
    };
    for n_ranks in [2, 6, 12] {
        compare(&system, &forces, n_ranks, "restraints");
    }
}

/// In open space tasks are divided: these are the same whether they belong to threads of one rank or to several ranks,
/// and so are the bits.
#[test]
fn ranks_are_threads_in_open_space() {
    let mut system = every_potential::system(2);
    system.simbox = SimBox::new([0.0; 3], [9.0; 3], [0.0; 3], [false; 3]).unwrap();
    let n = system.state.len();
    system.charges = (0..n).map(|k| (k % 5) as f64 - 2.0).collect();
    let vacuum = Some(Vacuum::new(2, 10.0, |a, b| [1.0 + (a + b) as f64, 0.2]));
    let forces = Forces { vacuum, ..Forces::default() };
    let run = |n_ranks: usize, threads: usize| {
        on_ranks(n_ranks, (&system, &forces, settings(Precision::Mixed, threads)), |_, cpu| {
            assert!(!cpu.describe().contains("domains"), "{}", cpu.describe());
            let before = evaluate(cpu)?;
            for _ in 0..5 {
                cpu.kick_drift(1e-6)?;
                cpu.update_neighbors()?;
                cpu.compute_forces(Evaluate::Forces)?;
                cpu.kick(0.5e-6)?;
            }
            Ok((before, cpu.state()?.clone()))
        })
        .unwrap()
    };
    assert!(run(1, 3) == run(3, 1));
}
