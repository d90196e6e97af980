//! Coulomb forces: the GPU engine against the CPU engine in double precision, against other engines, and
//! against itself.

use super::device::device;
use super::fluid::{advance, by_id, largest, run};
use super::gpus::on_gpu;
use jostle_core::random::{Purpose, Stream};
use jostle_core::thermostat::Dissipative;
use jostle_core::{
    Algorithm, Backend, DeviceReport, Evaluate, ForceEvaluation, Precision, RespaSchedule, Settings, SimBox,
    State, StepBatch, System, Thermostat, Vector,
};
use jostle_cuda::kernels::TileShape;
use jostle_cuda::{Cuda, Layout};
use jostle_fixtures::charges::{difference, ion, ions, norm};
use jostle_fixtures::water::water;
use jostle_potentials::electrostatics::{Method, NetCharge};
use jostle_potentials::{Electrostatics, Forces, PairEntry, PairKind, PairTerm, Truncation};

fn pme(order: usize, spacing: f64) -> Method {
    Method::Pme { alpha: 0.9, order, spacing }
}

pub(super) fn settings(algorithm: Algorithm, precision: Precision) -> Settings {
    Settings { algorithm, precision, skin: Some(0.3), ..Settings::default() }
}

fn ewald() -> Method {
    Method::Ewald { alpha: 0.9, longest: 5.0 }
}

fn forces(method: Method, core: PairTerm) -> Forces {
    let mut term = Electrostatics::new(method, 1.7, 3.5);
    term.net_charge = NetCharge::Background;
    Forces { pairs: vec![core], ..term.into() }
}

/// System with a net charge, and some atoms without charge.
pub(super) fn charged(excluded: bool) -> (System, PairTerm) {
    let (mut system, core) = ions(300, excluded);
    system.charges = (0..300).map(|id| f64::from(id % 7 - 3) * 0.4 + 0.01).collect();
    system.charges[5] = 0.0;
    // Distances are short enough that the image of an excluded atom is unique.
    let (at, simbox) = (system.state.position.clone(), system.simbox);
    system.topology.excluded.retain(|[a, b]| {
        let (a, b) = (at[*a as usize], at[*b as usize]);
        let d = simbox.nearest_image(a - b);
        d.iter().map(|x| x * x).sum::<f64>() < simbox.largest_cutoff().powi(2)
    });
    (system, core)
}

pub(super) fn gpu(
    system: &System,
    forces: &Forces,
    algorithm: Algorithm,
    precision: Precision,
) -> Box<dyn Backend> {
    on_gpu(system.clone(), forces.clone(), settings(algorithm, precision))
}

pub(super) fn begin(backend: &mut dyn Backend, evaluate: Evaluate) {
    backend.update_neighbors().unwrap();
    backend.compute_forces(evaluate).unwrap();
}

pub(super) fn cpu(system: &System, forces: &Forces) -> Box<dyn Backend> {
    let exact = settings(Algorithm::Auto, Precision::Double);
    let mut cpu = jostle_cpu::open(system.clone(), forces.clone(), exact).unwrap();
    begin(&mut *cpu, Evaluate::ForcesAndEnergies);
    cpu
}

/// Energies, virial and forces of two engines.
pub(super) fn assert_agree(found: &mut dyn Backend, right: &mut dyn Backend, tolerance: f64, what: &str) {
    let (energies, exact) = (found.energies().clone(), right.energies().clone());
    assert_eq!(energies.terms.len(), exact.terms.len(), "{what}");
    for (a, b) in energies.terms.iter().zip(&exact.terms) {
        assert!((a - b).abs() < tolerance * b.abs(), "{what}: {:?} {:?}", energies.terms, exact.terms);
    }
    let scale = largest(exact.virial.iter().copied());
    let error = largest(energies.virial.iter().zip(exact.virial).map(|(a, b)| a - b));
    assert!(error < tolerance * scale, "{what}: virial {:?} {:?}", energies.virial, exact.virial);
    let (a, b) = (by_id(found).force, by_id(right).force);
    let error = difference(&a, &b) / norm(&b);
    assert!(error < tolerance, "{what}: forces {error:e}");
}

pub(super) fn tolerance(precision: Precision) -> f64 {
    if precision == Precision::Double { 1e-11 } else { 5e-6 }
}

/// Comparison of each case in one algorithm and precision, as every case compiles kernels of its own.
#[test]
fn charges_agree() {
    for (method, excluded, algorithm, precision) in [
        (Method::Cutoff, false, Algorithm::Cells, Precision::Mixed),
        (Method::ReactionField { dielectric: 78.5 }, true, Algorithm::Auto, Precision::Double),
        (pme(4, 0.9), true, Algorithm::Auto, Precision::Mixed),
        (pme(5, 0.6), false, Algorithm::List, Precision::Double),
        (pme(6, 0.7), true, Algorithm::List, Precision::Double),
        (ewald(), false, Algorithm::Auto, Precision::Mixed),
        (ewald(), true, Algorithm::List, Precision::Double),
    ] {
        let what = format!("{method:?} {algorithm:?} {precision:?}, some excluded: {excluded}");
        let (system, core) = charged(excluded);
        let forces = forces(method, core);
        let mut gpu = gpu(&system, &forces, algorithm, precision);
        begin(&mut *gpu, Evaluate::ForcesAndEnergies);
        assert_agree(&mut *gpu, &mut *cpu(&system, &forces), tolerance(precision), &what);
        let with = by_id(&mut *gpu).force;
        gpu.compute_forces(Evaluate::Forces).unwrap();
        assert!(with == by_id(&mut *gpu).force, "{what}: without energies a force differs");
    }
}

/// Screened charges need not be neutral; a background exists only where it is asked for.
#[test]
fn screened_charges_agree() {
    for (length, background, excluded, algorithm, precision) in [
        (0.8, NetCharge::Refuse, false, Algorithm::Auto, Precision::Mixed),
        (2.5, NetCharge::Background, true, Algorithm::List, Precision::Double),
        (6.0, NetCharge::Refuse, true, Algorithm::Auto, Precision::Mixed),
    ] {
        let (system, core) = charged(excluded);
        let mut forces = forces(pme(5, 0.7), core);
        let Some(term) = &mut forces.electrostatics else { panic!("no charges") };
        (term.screening_length, term.net_charge) = (length, background);
        let mut gpu = gpu(&system, &forces, algorithm, precision);
        begin(&mut *gpu, Evaluate::ForcesAndEnergies);
        let what = format!("length {length}, {algorithm:?} {precision:?}, some excluded: {excluded}");
        assert_agree(&mut *gpu, &mut *cpu(&system, &forces), tolerance(precision), &what);
    }
}

/// Rock salt that has begun to melt, with so many unit cells along each edge.
fn salt(cells: u32) -> System {
    planes_of_salt([cells; 3], |_| true)
}

/// Rock salt with only some planes of ions, two to a unit cell.
fn planes_of_salt(cells: [u32; 3], exists: impl Fn(u32) -> bool) -> System {
    let simbox = SimBox::orthorhombic(cells.map(f64::from)).unwrap();
    let mut system = System::new(simbox, vec![ion("Na", 1.0), ion("Cl", -1.0)]);
    let mut random = Stream::new(9, Purpose::Placement, 1, 0);
    let [nx, ny, nz] = cells.map(|n| 2 * n);
    for k in 0..nx * ny * nz {
        let place = [k % nx, k / nx % ny, k / (nx * ny)];
        if !exists(place[2]) {
            continue;
        }
        let d = random.normal3();
        let species = (place.iter().sum::<u32>() % 2) as u16;
        system.state.push(species, [0, 1, 2].map(|k| 0.5 * f64::from(place[k]) + 0.04 * d[k]));
        if let Some(v) = system.state.velocity.last_mut() {
            *v = random.normal3();
        }
    }
    system
}

/// Forces with a soft core, so that ions may run for a while.
fn salt_forces(method: Method, cutoff: f64) -> Forces {
    let mut core = PairTerm::new(PairKind::LennardJones, Truncation::Shifted, 2);
    for (a, b) in [(0, 0), (0, 1), (1, 1)] {
        core.set(a, b, PairEntry { parameters: vec![1.0, 0.4], cutoff: 0.9 });
    }
    Forces { pairs: vec![core], ..Electrostatics::new(method, 1.0, cutoff).into() }
}

#[test]
fn charges_agree_in_tiles() {
    for (method, precision) in [
        (Method::ReactionField { dielectric: f64::INFINITY }, Precision::Double),
        (Method::pme(1.2, 1e-4, 4), Precision::Mixed),
    ] {
        let (mut system, forces) = (salt(6), salt_forces(method, 1.2));
        // Excluded neighbours, in a tile or not, and some that are far apart.
        system.topology.excluded = (0..1700).step_by(3).map(|a| [a, a + 1 + a % 13]).collect();
        let mut exact = cpu(&system, &forces);
        let settings = Settings { skin: Some(0.1), ..settings(Algorithm::Tiles, precision) };
        let mut gpu = on_gpu(system, forces, settings);
        begin(&mut *gpu, Evaluate::ForcesAndEnergies);
        assert_agree(&mut *gpu, &mut *exact, tolerance(precision), &format!("{method:?} {precision:?}"));
    }
}

/// Warps of such atoms alone omit all other forces, if eight threads share an atom.
#[test]
fn species_with_charges_alone_agree_in_tiles() {
    let method = Method::ReactionField { dielectric: f64::INFINITY };
    for (alone, method, precision, parts) in [
        (0, method, Precision::Double, 1),
        (1, Method::pme(1.2, 1e-4, 4), Precision::Mixed, 1),
        (1, method, Precision::Mixed, 2),
    ] {
        let what = format!("{method:?} {precision:?}, {parts} parts");
        let mut core = PairTerm::new(PairKind::LennardJones, Truncation::Shifted, 2);
        core.set(1 - alone, 1 - alone, PairEntry { parameters: vec![1.0, 0.4], cutoff: 0.9 });
        let forces = Forces { pairs: vec![core], ..Electrostatics::new(method, 1.0, 1.2).into() };
        // Number of atoms with which the last block is not full.
        let mut system = planes_of_salt([6, 6, 6], |plane| plane != 3);
        system.topology.excluded = (0..1500).step_by(3).map(|a| [a, a + 1 + a % 13]).collect();
        let mut exact = cpu(&system, &forces);
        let shape = TileShape { parts, ..TileShape::new(32, 8) };
        let settings = Settings { skin: Some(0.1), ..settings(Algorithm::Tiles, precision) };
        let layout = Layout { shape, slots_per_look: 4 };
        let mut gpu = Cuda::with_layout(device(), system, forces, settings, layout).unwrap();
        begin(&mut gpu, Evaluate::ForcesAndEnergies);
        assert_agree(&mut gpu, &mut *exact, tolerance(precision), &what);
        let with = by_id(&mut gpu).force;
        gpu.compute_forces(Evaluate::Forces).unwrap();
        let error = difference(&by_id(&mut gpu).force, &with) / norm(&with);
        assert!(error < tolerance(precision), "{what}: without energies forces differ by {error:e}");
    }
}

/// Setting that allows no other algorithm than tiles.
#[test]
fn atoms_around_cavities_fit_into_tiles() {
    let charged = salt_forces(Method::pme(1.5, 1e-4, 4), 1.5);
    let mut core = PairTerm::new(PairKind::LennardJones, Truncation::Shifted, 2);
    for (a, b) in [(0, 0), (0, 1), (1, 1)] {
        core.set(a, b, PairEntry { parameters: vec![1.0, 0.4], cutoff: 1.5 });
    }
    let neutral = Forces::from(vec![core]);
    for (forces, precision, (atoms, team)) in [
        (charged, Precision::Mixed, (32, 8)),
        (neutral.clone(), Precision::Double, (32, 8)),
        (neutral, Precision::Mixed, (64, 1)),
    ] {
        let what = format!("{} forces, {precision:?}, {team} threads an atom", forces.n_terms());
        // Two layers with a gap on either side: atoms that follow each other in memory are in both layers,
        // and their surroundings do not fit into half the box.
        let mut system = planes_of_salt([10, 10, 6], |plane| plane % 6 < 2);
        if forces.electrostatics.is_some() {
            let last = system.state.len() as u32 - 14;
            system.topology.excluded = (0..last).step_by(3).map(|a| [a, a + 1 + a % 13]).collect();
        }
        let layout = Layout { shape: TileShape::new(atoms, team), slots_per_look: 4 };
        let settings = Settings { skin: Some(0.1), ..settings(Algorithm::Tiles, precision) };
        let mut exact = cpu(&system, &forces);
        let mut gpu = Cuda::with_layout(device(), system, forces, settings, layout).unwrap();
        begin(&mut gpu, Evaluate::ForcesAndEnergies);
        assert_agree(&mut gpu, &mut *exact, tolerance(precision), &what);
        let right = advance(&mut *exact, &batch(1, 40, 10), &mut Thermostat::Isolated);
        let found = run(&mut gpu, &batch(1, 40, 10), &mut Thermostat::Isolated);
        let tolerance = if precision == Precision::Double { 1e-9 } else { 1e-4 };
        assert!(gpu.neighbor_facts().builds > 1, "{what}: nothing was sorted");
        for (a, b) in found.iter().zip(&right) {
            let (a, b) = (a.energies.potential(), b.energies.potential());
            assert!((a - b).abs() < tolerance * b.abs(), "{what}: {a} {b}");
        }
    }
}

/// Tiles whose boxes have more atoms within reach than a small tile, which take in those near their own atoms.
#[test]
fn tiles_take_in_atoms_near_their_own() {
    let system = planes_of_salt([8, 8, 8], |_| true);
    let edge = system.simbox.volume().cbrt();
    let cutoff = 0.36 * edge;
    let mut core = PairTerm::new(PairKind::LennardJones, Truncation::Shifted, 2);
    for (a, b) in [(0, 0), (0, 1), (1, 1)] {
        core.set(a, b, PairEntry { parameters: vec![1.0, 0.05 * edge], cutoff });
    }
    let forces = Forces::from(vec![core]);
    let layout = Layout { shape: TileShape::new(32, 8), slots_per_look: 4 };
    for precision in [Precision::Mixed, Precision::Double] {
        let settings = Settings { skin: Some(0.005 * edge), ..settings(Algorithm::Tiles, precision) };
        let mut exact = cpu(&system, &forces);
        let mut gpu = Cuda::with_layout(device(), system.clone(), forces.clone(), settings, layout).unwrap();
        begin(&mut gpu, Evaluate::ForcesAndEnergies);
        assert_agree(&mut gpu, &mut *exact, tolerance(precision), &format!("{precision:?}"));
    }
}

pub(super) fn batch(first_step: u64, steps: u64, sample_every: u64) -> StepBatch {
    StepBatch {
        first_step,
        steps,
        timestep: 0.002,
        seed: 3,
        sample_every,
        evaluate: Evaluate::ForcesAndEnergies,
        long_range: RespaSchedule::ALWAYS,
    }
}

/// Paths of ions, while lists are built and samples taken.
#[test]
fn paths_of_charges_agree() {
    let (mut system, forces) = (salt(2), salt_forces(Method::pme(0.95, 1e-4, 5), 0.95));
    system.topology.excluded = vec![[0, 1], [17, 40], [3, 60]];
    for precision in [Precision::Mixed, Precision::Double] {
        let skin = Settings { skin: Some(0.05), ..settings(Algorithm::Auto, precision) };
        let mut exact = cpu(&system, &forces);
        let mut gpu = on_gpu(system.clone(), forces.clone(), skin);
        begin(&mut *gpu, Evaluate::Forces);
        let right = advance(&mut *exact, &batch(1, 40, 10), &mut Thermostat::Isolated);
        let found = run(&mut *gpu, &batch(1, 40, 10), &mut Thermostat::Isolated);
        let tolerance = if precision == Precision::Double { 1e-9 } else { 1e-4 };
        assert!(gpu.neighbor_facts().builds > 1, "nothing was sorted");
        assert_eq!(found.len(), 4);
        for (a, b) in found.iter().zip(&right) {
            let (a, b) = (a.energies.clone(), b.energies.clone());
            for (a, b) in a.terms.iter().zip(&b.terms) {
                assert!((a - b).abs() < tolerance * b.abs(), "{precision:?}: {a} {b}");
            }
        }
        gpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
        exact.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
        assert_agree(&mut *gpu, &mut *exact, 10.0 * tolerance, &format!("{precision:?}"));
    }
}

/// Long-range forces that act at some steps only, also where a step takes two slots.
#[test]
fn paths_with_multiple_time_steps_agree() {
    let mut system = salt(2);
    let excluded = vec![[0, 1], [17, 40], [3, 60]];
    for (method, every, excluded, thermostat) in [
        (Method::pme(0.95, 1e-4, 5), 2, vec![], Thermostat::Isolated),
        (
            Method::pme(0.95, 1e-4, 5),
            3,
            excluded.clone(),
            Thermostat::Dissipative(Dissipative::new(1.0, 2.0, 0.9, 0.002)),
        ),
        (Method::ewald(0.95, 1e-4), 2, excluded, Thermostat::Isolated),
    ] {
        let forces = salt_forces(method, 0.95);
        system.topology.excluded = excluded;
        // Numbers of steps that end where long-range forces act.
        let long_range = RespaSchedule { every, done: 5 };
        let batch = StepBatch { evaluate: Evaluate::Forces, long_range, ..batch(1, 7 * every - 5, 0) };
        let skin = Settings { skin: Some(0.05), ..settings(Algorithm::Auto, Precision::Double) };
        let mut exact = cpu(&system, &forces);
        let mut gpu = on_gpu(system.clone(), forces.clone(), skin);
        for backend in [&mut *exact, &mut *gpu] {
            backend.set_long_range_weight(long_range.after(0)).unwrap();
            begin(backend, Evaluate::Forces);
        }
        advance(&mut *exact, &batch, &mut thermostat.clone());
        assert!(gpu.run_steps(&batch, &mut thermostat.clone()).unwrap().is_some());
        let (found, right) = (by_id(&mut *gpu), by_id(&mut *exact));
        for (a, b) in [(found.position, right.position), (found.force, right.force)] {
            let error = difference(&a, &b) / norm(&b);
            assert!(error < 1e-9, "every {every}: {error:e}");
        }
        let looking = StepBatch { evaluate: Evaluate::ForcesAndEnergies, ..batch };
        assert!(gpu.run_steps(&looking, &mut thermostat.clone()).unwrap().is_none());
        let always = StepBatch { long_range: RespaSchedule { every: 1, done: 16 }, ..looking };
        assert!(gpu.run_steps(&always, &mut thermostat.clone()).unwrap().is_some());
    }
}

/// Storage order, positions, velocities and images, bit for bit.
pub(super) fn assert_same(a: &State, b: &State, what: &str) {
    assert!(a.id == b.id && a.position == b.position, "{what}: positions differ");
    assert!(a.image == b.image && a.velocity == b.velocity, "{what}: velocities differ");
}

#[test]
fn a_resumed_run_with_charges_is_the_same_to_the_last_bit() {
    assert_resumed_is_the_same(on_gpu);
}

/// A run that was interrupted goes on to the same bits, on devices that are opened like this.
pub(super) fn assert_resumed_is_the_same(open: impl Fn(System, Forces, Settings) -> Box<dyn Backend>) {
    let (mut system, forces) = (salt(2), salt_forces(Method::pme(0.95, 1e-4, 5), 0.95));
    system.topology.excluded = vec![[0, 1], [17, 40], [3, 60]];
    for precision in [Precision::Mixed, Precision::Double] {
        let settings = Settings { skin: Some(0.05), ..settings(Algorithm::Auto, precision) };
        let open = || open(system.clone(), forces.clone(), settings);
        let mut whole = open();
        begin(&mut *whole, Evaluate::Forces);
        run(&mut *whole, &batch(1, 15, 0), &mut Thermostat::Isolated);
        let list_positions = whole.list_positions().unwrap().to_vec();
        let skin = whole.neighbor_facts().skin;
        let state = whole.state().unwrap().clone();
        run(&mut *whole, &batch(16, 20, 0), &mut Thermostat::Isolated);

        let mut resumed = open();
        resumed.restore(state, list_positions, skin).unwrap();
        begin(&mut *resumed, Evaluate::Forces);
        // Run cut in another place, and read in between.
        run(&mut *resumed, &batch(16, 8, 4), &mut Thermostat::Isolated);
        run(&mut *resumed, &batch(24, 12, 0), &mut Thermostat::Isolated);
        assert_same(whole.state().unwrap(), resumed.state().unwrap(), &format!("{precision:?}"));
    }
}

/// Meshes follow the box, with more points where they would come too far apart.
pub(super) fn assert_follows_the_box(system: &System, forces: &Forces) {
    let mut gpu = gpu(system, forces, Algorithm::Auto, Precision::Double);
    begin(&mut *gpu, Evaluate::Forces);
    for stretch in [1.02, 1.4] {
        let columns = [Vector([stretch, 0.0, 0.0]), Vector([0.05, 1.0, 0.0]), Vector([0.0, 0.0, 1.01])];
        let mut deformed = system.clone();
        deformed.deform(system.simbox.mapped(columns).unwrap());
        gpu.deform(deformed.simbox).unwrap();
        gpu.set_state(deformed.state.clone()).unwrap();
        begin(&mut *gpu, Evaluate::ForcesAndEnergies);
        assert_agree(&mut *gpu, &mut *cpu(&deformed, forces), 1e-11, &format!("stretched by {stretch}"));
    }
}

#[test]
fn a_mesh_follows_the_box() {
    let (system, core) = charged(true);
    for method in [Method::Pme { alpha: 0.9, order: 5, spacing: 0.9 }, ewald()] {
        assert_follows_the_box(&system, &forces(method, core.clone()));
    }
}

/// Energies of water with Ewald's sum from LAMMPS, whose error functions are good to 8e-7, and from OpenMM;
/// to the requested accuracy.
#[test]
fn water_has_the_energies_of_other_engines() {
    for (case, coulomb, cutoff, method, precision, tolerance) in [
        ("06_spce_ewald", 332.06371, 9.0, Method::pme(9.0, 1e-6, 6), Precision::Mixed, 3e-6),
        (
            "06c_spce_openmm_ewald",
            138.935_457_644_381_98,
            0.9,
            Method::pme(0.9, 1e-6, 6),
            Precision::Double,
            2e-6,
        ),
        (
            "06c_spce_openmm_ewald",
            138.935_457_644_381_98,
            0.9,
            Method::ewald(0.9, 1e-9),
            Precision::Double,
            1e-6,
        ),
    ] {
        let Some(water) = water(case, cutoff < 1.0) else { return };
        let term = Electrostatics::new(method, coulomb, cutoff);
        let forces = Forces { pairs: vec![water.core.clone()], ..term.into() };
        let settings = Settings { skin: Some(0.02 * cutoff), ..settings(Algorithm::Auto, precision) };
        let mut gpu = on_gpu(water.system.clone(), forces, settings);
        begin(&mut *gpu, Evaluate::ForcesAndEnergies);
        let energies = gpu.energies().clone();
        let error = (energies.potential() / water.energy - 1.0).abs();
        assert!(error < tolerance, "{case}: energies {:?} differ by {error:e}", energies.terms);
        if let Some(known) = water.virial {
            let error = largest(energies.virial.iter().zip(known).map(|(a, b)| a - b));
            assert!(error < 1e-5 * known[1], "{case}: virial {:?} {error:e}", energies.virial);
        }
        let error = difference(&by_id(&mut *gpu).force, &water.forces) / norm(&water.forces);
        assert!(error < tolerance, "{case}: forces differ by {error:e}");
    }
}

#[test]
fn rock_salt_has_its_madelung_constant() {
    let mut system = salt(3);
    for (k, r) in (0u32..).zip(&mut system.state.position) {
        *r = Vector([k % 6, k / 6 % 6, k / 36].map(|n| 0.5 * f64::from(n)));
    }
    for (method, precision, tolerance) in [
        (Method::pme(1.4, 1e-6, 6), Precision::Mixed, 5e-6),
        (Method::ewald(1.4, 1e-11), Precision::Double, 1e-9),
    ] {
        let term = Electrostatics::new(method, 1.0, 1.4);
        let mut gpu = gpu(&system, &term.into(), Algorithm::List, precision);
        begin(&mut *gpu, Evaluate::ForcesAndEnergies);
        let constant = -gpu.energies().potential() / 108.0 * 0.5;
        // Source: Sakamoto, J. Chem. Phys. 28 (1958) 164.
        assert!((constant / 1.747_564_594_633_182 - 1.0).abs() < tolerance, "{constant}");
    }
}

#[test]
fn unsupported_settings_of_charges_are_refused() {
    let (system, core) = charged(false);
    let open = |method, algorithm| {
        let reproducible = matches!(method, Method::Ewald { .. });
        let settings = Settings { reproducible, ..settings(algorithm, Precision::Mixed) };
        jostle_cuda::open(device(), system.clone(), forces(method, core.clone()), settings).map(drop)
    };
    let error = open(Method::ewald(3.5, 1e-4), Algorithm::Auto).unwrap_err();
    assert!(error.message().contains("no reproducible runs with Ewald's sum"), "{error}");
    let error = open(Method::Cutoff, Algorithm::AllPairs).unwrap_err();
    assert!(error.message().contains("with charges"), "{error}");
}
