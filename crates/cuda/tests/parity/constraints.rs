//! Constraints and virtual sites: the GPU engine against the CPU engine in double precision, and against
//! itself.

use super::PRECISIONS;
use super::fluid::{advance, by_id, distance, largest, norm, run};
use super::gpus::on_gpu;
use jostle_core::random::{Purpose, Stream};
use jostle_core::thermostat::{Bussi, Langevin, NoseHoover, Target};
use jostle_core::virtual_sites::follow_atoms;
use jostle_core::{
    Algorithm, Arms, Backend, Bond, Constraint, Evaluate, LocalFrame, Precision, RespaSchedule, Sample,
    Settings, SimBox, SiteRule, Species, State, StepBatch, System, Thermostat, Topology, Vec3, Vector,
    VirtualSite,
};
use jostle_potentials::{BondKind, BondTerm, Forces, PairEntry, PairKind, PairTerm, Truncation};

const TIMESTEP: f64 = 0.002;
/// Number of molecules along an edge.
const EDGE: usize = 4;
const SPACING: f64 = 1.6;

/// Virtual sites of a molecule.
type Sites = &'static [(u32, [u32; 3], SiteRule)];

/// Sites in the plane of water, out of the plane of the three hydrogens, and out of that of free atoms.
const IN_WATER: Sites = &[(3, [0, 1, 2], SiteRule::Average([0.7, 0.15, 0.15]))];
const ON_CENTER: Sites = &[(4, [0, 2, 1], SiteRule::OutOfPlane([-0.4, -0.3, 1.5]))];
const ON_FREE: Sites = &[
    (3, [1, 0, 2], SiteRule::OutOfPlane([0.4, -0.3, -0.2])),
    (4, [0, 2, 2], SiteRule::Average([0.5, 0.5, 0.0])),
];
/// Sites on the line of two atoms, and in axes of three that form a triangle.
const ON_PAIR: Sites = &[(2, [0, 1, 1], SiteRule::Frame(LocalFrame { x: [-1.0, 0.0], ..BEYOND }))];
const ON_TRIANGLE: Sites =
    &[(3, [0, 1, 2], SiteRule::Frame(LocalFrame { place: [0.2, 0.1, -0.2], ..BEYOND }))];
/// Site on the other side of the first atom.
const BEYOND: LocalFrame = LocalFrame {
    arms: Arms::Directions,
    origin: [0.1, 0.0],
    x: [-1.0, -1.0],
    y: [-1.0, 1.0],
    place: [0.15, 0.0, 0.0],
};

/// Molecule: species and places of its atoms, pairs at a constant distance, virtual sites.
type Molecule = (Vec<(u16, Vec3)>, Vec<[u32; 2]>, Sites);

/// Molecules of every shape of constraints and every kind of virtual site.
fn kinds_of_molecules() -> [Molecule; 8] {
    let site = (3, Vec3::ZERO);
    [
        (
            vec![(0, Vec3::ZERO), (1, Vector([0.25, 0.2, 0.0])), (1, Vector([-0.25, 0.2, 0.0])), site],
            vec![[0, 1], [0, 2], [1, 2]],
            IN_WATER,
        ),
        (
            vec![(1, Vector([0.25, 0.2, 0.0])), (1, Vector([-0.25, 0.2, 0.0])), (0, Vec3::ZERO)],
            vec![[2, 1], [0, 2], [1, 0]],
            &[],
        ),
        (
            vec![
                (2, Vec3::ZERO),
                (1, Vector([0.3, 0.0, 0.0])),
                (1, Vector([-0.1, 0.3, 0.0])),
                (1, Vector([-0.1, -0.1, 0.3])),
                site,
            ],
            vec![[0, 1], [0, 2], [0, 3]],
            ON_CENTER,
        ),
        (vec![(0, Vec3::ZERO), (1, Vector([0.3, 0.0, 0.1])), site], vec![[1, 0]], ON_PAIR),
        (
            vec![
                (2, Vector([0.2, 0.2, 0.0])),
                (2, Vector([-0.2, 0.2, 0.0])),
                (2, Vector([-0.2, -0.2, 0.1])),
                (2, Vector([0.2, -0.2, 0.0])),
                (1, Vector([0.4, 0.4, 0.0])),
            ],
            vec![[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [0, 4]],
            &[],
        ),
        (vec![(2, Vec3::ZERO)], vec![], &[]),
        (
            vec![(0, Vec3::ZERO), (1, Vector([0.3, 0.1, 0.0])), (2, Vector([-0.2, 0.3, 0.1])), site],
            vec![[0, 1], [0, 2], [1, 2]],
            ON_TRIANGLE,
        ),
        (
            vec![(2, Vec3::ZERO), (2, Vector([0.6, 0.1, 0.0])), (2, Vector([-0.1, 0.6, 0.1])), site, site],
            vec![],
            ON_FREE,
        ),
    ]
}

/// Molecules in a tilted box: water, with its oxygen first or last and with a fourth site; a centre with
/// three hydrogens and a site; pairs with a site on their line; a ring with a tail; a single atom; a triangle
/// of three different sides with a site; and atoms that only sites and springs join.
pub fn molecules() -> System {
    let length = SPACING * EDGE as f64;
    let simbox = SimBox::new([-1.0, 0.5, 0.0], [length; 3], [1.2, -0.8, 1.0], [true; 3]).unwrap();
    let species = |name: &str, mass| Species { name: name.into(), mass, charge: 0.0 };
    let kinds = vec![species("O", 16.0), species("H", 1.0), species("C", 12.0), species("M", 0.0)];
    let mut system = System::new(simbox, kinds);
    let kinds = kinds_of_molecules();
    system.topology.bond_types = vec!["spring".into()];
    let mut random = Stream::new(11, Purpose::Placement, 0, 0);
    for number in 0..EDGE.pow(3) {
        let (atoms, held, sites) = &kinds[number % kinds.len()];
        let cell = [number / EDGE / EDGE, number / EDGE % EDGE, number % EDGE];
        let center = simbox.to_cartesian(Vector(cell.map(|c| (c as f64 + 0.5) / EDGE as f64)));
        let first = system.state.len() as u32;
        // Molecules are turned by swapping axes.
        let turn = number / 3 % 3;
        for (species, place) in atoms {
            system.state.push(*species, [0, 1, 2].map(|k| center[k] + place[(k + turn) % 3]));
            let mass = system.species[usize::from(*species)].mass;
            if let Some(v) = system.state.velocity.last_mut().filter(|_| mass > 0.0) {
                let speed = (1.0 / mass).sqrt();
                *v = random.normal3().map(|x| speed * x);
            }
        }
        for [a, b] in held {
            let length = distance(atoms[*a as usize].1, atoms[*b as usize].1);
            system.topology.constraints.push(Constraint { atoms: [first + a, first + b], length });
        }
        for (site, atoms, rule) in *sites {
            let (site, atoms) = (first + site, atoms.map(|atom| first + atom));
            system.topology.virtual_sites.push(VirtualSite { site, atoms, rule: *rule });
        }
        if sites == &ON_FREE {
            // Springs keep them nearer than half the box, or they would follow other images.
            let spring = |atoms: [u32; 2]| Bond { kind: 0, atoms: atoms.map(|atom| first + atom) };
            system.topology.bonds.extend([[0, 1], [0, 2], [1, 2]].map(spring));
        }
        let n = atoms.len() as u32;
        let all = (0..n).flat_map(|a| (0..a).map(move |b| [first + a, first + b]));
        system.topology.excluded.extend(all);
    }
    let Topology { virtual_sites, .. } = &system.topology;
    follow_atoms(virtual_sites, &system.simbox, &mut system.state);
    system
}

pub fn forces() -> Forces {
    let mut term = PairTerm::new(PairKind::LennardJones, Truncation::ForceShifted, 4);
    let atoms = [(0, 0, 0.9), (0, 1, 0.7), (1, 1, 0.5), (0, 2, 0.9), (1, 2, 0.7), (2, 2, 0.95)];
    let sites = [(0, 3, 0.7), (1, 3, 0.5), (2, 3, 0.7), (3, 3, 0.5)];
    for (a, b, sigma) in atoms.into_iter().chain(sites) {
        term.set(a, b, PairEntry { parameters: vec![1.0, sigma], cutoff: 2.2 });
    }
    let springs = BondTerm::uniform(BondKind::HarmonicBond, &[100.0, 0.65]).unwrap();
    Forces { bonds: vec![springs], ..term.into() }
}

pub fn settings(algorithm: Algorithm, precision: Precision) -> Settings {
    Settings { algorithm, precision, skin: Some(0.12), ..Settings::default() }
}

fn open(settings: Settings) -> Box<dyn Backend> {
    on_gpu(molecules(), forces(), settings)
}

fn begin(backend: &mut dyn Backend) {
    backend.constrain_velocities(None).unwrap();
    backend.update_neighbors().unwrap();
    backend.compute_forces(Evaluate::Forces).unwrap();
}

fn batch(first_step: u64, steps: u64, sample_every: u64) -> StepBatch {
    StepBatch {
        first_step,
        steps,
        timestep: TIMESTEP,
        seed: 5,
        sample_every,
        evaluate: Evaluate::Forces,
        long_range: RespaSchedule::ALWAYS,
    }
}

fn thermostats() -> [Thermostat; 4] {
    let system = molecules();
    let degrees_of_freedom = 3 * system.n_free() - 3 - system.topology.constraints.len();
    let target = Target { thermal_energy: 1.0, degrees_of_freedom };
    [
        Thermostat::Isolated,
        Thermostat::Langevin(Langevin::new(1.0, 2.0, TIMESTEP)),
        Thermostat::NoseHoover(NoseHoover::new(target, 0.5, 3)),
        Thermostat::Bussi(Bussi::new(target, 0.1, TIMESTEP)),
    ]
}

/// Largest relative error of a distance, and of a speed along one.
fn errors(backend: &mut dyn Backend) -> [f64; 2] {
    let (simbox, state) = (*backend.simbox(), by_id(backend));
    let mut worst = [0.0f64; 2];
    for Constraint { atoms, length } in molecules().topology.constraints {
        let [a, b] = atoms.map(|id| id as usize);
        let arm = simbox.nearest_image(state.position[a] - state.position[b]);
        let closing = state.velocity[a] - state.velocity[b];
        let along: f64 = (0..3).map(|k| arm[k] * closing[k]).sum();
        worst[0] = worst[0].max((norm(arm) / length - 1.0).abs());
        worst[1] = worst[1].max((along / length).abs());
    }
    worst
}

/// Paths, energies, pressure and thermostats are those of the CPU engine.
#[test]
fn constraints_agree() {
    for (algorithm, precision) in [(Algorithm::Auto, Precision::Mixed), (Algorithm::List, Precision::Double)]
    {
        for thermostat in thermostats() {
            let what = format!("{algorithm:?} {precision:?} {thermostat:?}");
            let exact = settings(Algorithm::Auto, Precision::Double);
            let mut cpu = jostle_cpu::open(molecules(), forces(), exact).unwrap();
            let mut gpu = open(settings(algorithm, precision));
            let batch = batch(1, 40, 10);
            let [right, found]: [(Vec<Sample>, State); 2] =
                [&mut *cpu as &mut dyn Backend, &mut *gpu].map(|backend| {
                    let mut thermostat = thermostat.clone();
                    begin(backend);
                    (run(backend, &batch, &mut thermostat), by_id(backend))
                });
            let tolerance = if precision == Precision::Double { 1e-9 } else { 2e-4 };
            assert_eq!((found.0.len(), right.0.len()), (4, 4), "{what}");
            for (a, b) in found.0.iter().zip(&right.0) {
                let scale = b.kinetic.energy();
                assert!(
                    (a.energies.potential() - b.energies.potential()).abs() < tolerance * scale,
                    "{what}"
                );
                let apart = |a: &[f64], b: &[f64]| largest(a.iter().zip(b).map(|(a, b)| a - b));
                let kinetic = apart(&a.kinetic.tensor, &b.kinetic.tensor);
                assert!(kinetic < tolerance * scale, "{what}: kinetic {kinetic:e} of {scale}");
                let virial = apart(&a.energies.virial, &b.energies.virial);
                let scale = largest(b.energies.virial.iter().copied()).max(scale);
                assert!(virial < 10.0 * tolerance * scale, "{what}: virial {virial:e} of {scale}");
            }
            let error =
                largest(found.1.position.iter().zip(&right.1.position).map(|(a, b)| distance(*a, *b)));
            assert!(error < tolerance, "{what}: {error:e} apart");
            assert!(gpu.neighbor_facts().builds > 1, "{what}: nothing was sorted");
            let [length, speed] = errors(&mut *gpu);
            assert!(length < 1e-12 && speed < 1e-12, "{what}: {length:e} {speed:e}");
        }
    }
}

/// Molecules are frozen, all of one or a part of it.
#[test]
fn frozen_atoms_of_molecules_stay() {
    let mut system = molecules();
    // Frozen are two waters, a bond of a third molecule, a corner of the ring.
    let group: Vec<u32> = (0..7).chain([8, 15]).collect();
    system.driven = system.driven.with(&system.state, &group, Vec3::ZERO);
    group.iter().for_each(|id| system.state.velocity[*id as usize] = Vec3::ZERO);
    let exact = settings(Algorithm::Auto, Precision::Double);
    let mut cpu = jostle_cpu::open(system.clone(), forces(), exact).unwrap();
    let mut gpu = on_gpu(system.clone(), forces(), exact);
    for thermostat in [Thermostat::Isolated, Thermostat::Langevin(Langevin::new(1.0, 2.0, TIMESTEP))] {
        let [right, found] = [&mut *cpu as &mut dyn Backend, &mut *gpu].map(|backend| {
            backend.set_state(system.state.clone()).unwrap();
            begin(backend);
            run(backend, &batch(1, 40, 10), &mut thermostat.clone());
            assert!(errors(backend)[0] < 1e-12);
            by_id(backend)
        });
        let error = largest(found.position.iter().zip(&right.position).map(|(a, b)| distance(*a, *b)));
        assert!(error < 1e-9, "{thermostat:?}: {error:e} apart");
        for (id, start) in system.state.position.iter().enumerate() {
            let stays = group.contains(&(id as u32));
            if system.mass(id) == 0.0 {
                // Sites follow frozen atoms up to rounding.
                let speed = norm(right.velocity[id]);
                assert!(!stays || speed < 1e-12, "{thermostat:?}: point {id} at {speed:e}");
                continue;
            }
            assert_eq!(right.velocity[id] == [0.0; 3], stays, "{thermostat:?}: atom {id} from {start:?}");
        }
    }
}

/// Single methods of the backend give the virial of constraints, too.
#[test]
fn a_batch_is_its_steps() {
    for precision in PRECISIONS {
        for thermostat in thermostats() {
            let what = format!("{precision:?} {thermostat:?}");
            let [one, other] = [run, advance].map(|way| {
                let mut gpu = open(settings(Algorithm::List, precision));
                let mut thermostat = thermostat.clone();
                begin(&mut *gpu);
                (way(&mut *gpu, &batch(1, 20, 5), &mut thermostat), by_id(&mut *gpu))
            });
            for (a, b) in one.0.iter().zip(&other.0) {
                for (a, b) in a.energies.virial.iter().zip(b.energies.virial) {
                    assert!((a - b).abs() < 1e-6 * b.abs().max(1.0), "{what}: {a} is not {b}");
                }
            }
            let error = largest(one.1.position.iter().zip(&other.1.position).map(|(a, b)| distance(*a, *b)));
            assert!(error < 1e-6, "{what}: {error:e} apart");
        }
    }
}

#[test]
fn a_resumed_run_is_the_same_to_the_last_bit() {
    for algorithm in [Algorithm::Auto, Algorithm::List] {
        for thermostat in thermostats() {
            let what = format!("{algorithm:?} {thermostat:?}");
            let mut settings = settings(algorithm, Precision::Mixed);
            settings.reproducible = algorithm == Algorithm::List;
            let (mut whole, mut thermostat) = (open(settings), thermostat);
            begin(&mut *whole);
            run(&mut *whole, &batch(1, 17, 0), &mut thermostat);
            let list_positions = whole.list_positions().unwrap().to_vec();
            let skin = whole.neighbor_facts().skin;
            let (state, mut resumed_thermostat) = (whole.state().unwrap().clone(), thermostat.clone());
            run(&mut *whole, &batch(18, 5, 0), &mut thermostat);
            run(&mut *whole, &batch(23, 15, 0), &mut thermostat);

            let mut resumed = open(settings);
            resumed.restore(state, list_positions, skin).unwrap();
            resumed.update_neighbors().unwrap();
            resumed.compute_forces(Evaluate::Forces).unwrap();
            run(&mut *resumed, &batch(18, 20, 0), &mut resumed_thermostat);
            let (a, b) = (whole.state().unwrap(), resumed.state().unwrap());
            assert!(a.id == b.id, "{what}: order");
            assert!(a.position == b.position && a.image == b.image, "{what}: positions");
            assert!(a.velocity == b.velocity, "{what}: velocities");
            assert_eq!(thermostat, resumed_thermostat, "{what}");
        }
    }
}

/// Errors of the energy decrease with the square of the time step, and momentum is constant.
#[test]
fn energy_and_momentum_are_conserved() {
    let mut gpu = open(settings(Algorithm::Auto, Precision::Mixed));
    begin(&mut *gpu);
    let target = Target { thermal_energy: 1.0, degrees_of_freedom: 3 * gpu.n_atoms() };
    let mut step = 1;
    let mut make = |gpu: &mut dyn Backend, steps, timestep, thermostat: &mut Thermostat| {
        let batch = StepBatch { timestep, ..batch(step, steps, 10) };
        step += steps;
        run(gpu, &batch, thermostat)
    };
    // Equilibration of the molecules.
    make(&mut *gpu, 400, 1e-3, &mut Thermostat::Bussi(Bussi::new(target, 0.02, 1e-3)));
    let before = gpu.kinetic().unwrap().momentum;
    let mut spread = |timestep| {
        let samples = make(&mut *gpu, 1000, timestep, &mut Thermostat::Isolated);
        let totals: Vec<f64> = samples.iter().map(|s| s.energies.potential() + s.kinetic.energy()).collect();
        let mean = totals.iter().sum::<f64>() / totals.len() as f64;
        (largest(totals.iter().map(|e| e - mean)), samples[0].kinetic.energy())
    };
    let ((long, kinetic), (short, _)) = (spread(2e-3), spread(1e-3));
    println!("energy wanders by {long}, {short} of {kinetic}");
    assert!(long < 0.01 * kinetic, "energy wanders by {long} of {kinetic}");
    assert!(short < 0.5 * long, "{short} is not much less than {long}");
    let after = gpu.kinetic().unwrap().momentum;
    let drift = largest(after.iter().zip(before).map(|(a, b)| a - b));
    assert!(drift < 1e-2, "the momentum changes by {drift:e}");
    let [length, speed] = errors(&mut *gpu);
    assert!(length < 1e-12 && speed < 1e-12, "{length:e} {speed:e}");
}

#[test]
fn the_error_names_a_molecule_that_breaks() {
    let mut system = molecules();
    let atom = system.topology.constraints[0].atoms[1] as usize;
    system.state.velocity[atom] = Vector([3000.0, 2000.0, -2500.0]);
    let mut gpu = on_gpu(system, forces(), settings(Algorithm::List, Precision::Double));
    gpu.update_neighbors().unwrap();
    gpu.compute_forces(Evaluate::Forces).unwrap();
    let error = gpu.run_steps(&batch(4, 10, 0), &mut Thermostat::Isolated).unwrap_err();
    assert!(error.message().contains("constraints of the molecule of atom 1 do not hold"), "{error}");
}
