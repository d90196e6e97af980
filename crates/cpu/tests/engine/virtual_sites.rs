//! Virtual sites: forces on atoms and the virial against derivatives of the energy, and conservation of
//! energy.

use jostle_core::random::{Purpose, Stream};
use jostle_core::virtual_sites::follow_atoms;
use jostle_core::{
    Arms, Backend, Energies, Evaluate, LocalFrame, Precision, Settings, SimBox, SiteRule, Species, System,
    Vec3, Vector, VirtualSite,
};
use jostle_cpu::{Level, open_at};
use jostle_potentials::{Forces, PairEntry, PairKind, PairTerm, Truncation};

/// Three atoms and two virtual sites, some of them across faces of the box.
const MOLECULE: [(u16, Vec3); 5] = [
    (0, Vec3::ZERO),
    (0, Vector([0.8, 0.1, 0.0])),
    (0, Vector([-0.1, 0.7, 0.3])),
    (1, Vec3::ZERO),
    (1, Vec3::ZERO),
];
const RULES: [SiteRule; 2] = [SiteRule::OutOfPlane([-0.4, -0.3, 0.8]), SiteRule::Average([0.6, 0.5, -0.1])];
const FRAMES: [SiteRule; 2] = [
    SiteRule::Frame(LocalFrame {
        arms: Arms::Directions,
        origin: [0.0; 2],
        x: [-1.0, -1.0],
        y: [-1.0, 1.0],
        place: [0.3, 0.0, -0.4],
    }),
    SiteRule::Frame(LocalFrame {
        arms: Arms::AsLong,
        origin: [0.1, 0.0],
        x: [-0.5, 0.7],
        y: [1.0, -1.0],
        place: [0.4, 0.3, 0.1],
    }),
];
const EDGE: usize = 3;

pub fn system() -> System {
    let species = |name: &str, mass| Species { name: name.into(), mass, charge: 0.0 };
    let length = 2.4 * EDGE as f64;
    let simbox = SimBox::new([0.3; 3], [length; 3], [0.5, -0.6, 0.4], [true; 3]).unwrap();
    let mut system = System::new(simbox, vec![species("A", 2.0), species("M", 0.0)]);
    let mut random = Stream::new(3, Purpose::Placement, 0, 0);
    for number in 0..EDGE.pow(3) {
        let cell = [number / EDGE / EDGE, number / EDGE % EDGE, number % EDGE];
        let center = simbox.to_cartesian(Vector(cell.map(|c| c as f64 / EDGE as f64)));
        let first = system.state.len() as u32;
        for (species, place) in MOLECULE {
            let shake = random.normal3();
            system.state.push(species, center + place + 0.03 * shake);
            if let Some(v) = system.state.velocity.last_mut().filter(|_| species == 0) {
                *v = random.normal3();
            }
        }
        for (k, rule) in (3..).zip(if number % 2 == 0 { RULES } else { FRAMES }) {
            let atoms = [first + 1, first, first + 2];
            system.topology.virtual_sites.push(VirtualSite { site: first + k, atoms, rule });
            system.topology.excluded.extend((0..k).map(|atom| [first + atom, first + k]));
        }
    }
    system
}

/// Forces that end smoothly.
pub fn forces() -> Forces {
    let mut term = PairTerm::new(PairKind::LennardJones, Truncation::ForceShifted, 2);
    for (a, b, sigma) in [(0, 0, 0.8), (0, 1, 0.7), (1, 1, 0.6)] {
        term.set(a, b, PairEntry { parameters: vec![1.0, sigma], cutoff: 2.2 });
    }
    term.into()
}

fn open(system: System, precision: Precision) -> Box<dyn Backend> {
    let settings = Settings { threads: Some(2), precision, ..Settings::default() };
    open_at(system, forces(), settings, Level::best()).unwrap()
}

/// Energies and, by id, forces.
fn evaluate(system: System) -> (Energies, Vec<Vec3>) {
    let mut cpu = open(system, Precision::Double);
    cpu.update_neighbors().unwrap();
    cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
    let state = cpu.state().unwrap();
    let forces = state.index_by_id().into_iter().map(|index| state.force[index]).collect();
    (cpu.energies().clone(), forces)
}

fn energy(mut system: System) -> f64 {
    let System { topology, simbox, state, .. } = &mut system;
    follow_atoms(&topology.virtual_sites, simbox, state);
    evaluate(system).0.potential()
}

#[test]
fn forces_on_atoms_are_derivatives() {
    let (_, forces) = evaluate(system());
    let h = 1e-5;
    for atom in [0, 1, 2, 5, 6, 7, 31, 66] {
        for k in 0..3 {
            let moved = |h: f64| {
                let mut system = system();
                system.state.position[atom][k] += h;
                energy(system)
            };
            let slope = (moved(h) - moved(-h)) / (2.0 * h);
            let scale = forces[atom].iter().fold(1.0, |most: f64, f| most.max(f.abs()));
            assert!((forces[atom][k] + slope).abs() < 1e-6 * scale, "{atom} {k}: {forces:?} {slope}");
        }
    }
    let sum = Vec3::from_fn(|k| forces.iter().map(|f| f[k]).sum());
    assert!(sum.iter().all(|f| f.abs() < 1e-9), "{sum:?}");
    assert!(forces.iter().skip(3).step_by(5).chain(forces.iter().skip(4).step_by(5)).all(|f| *f == [0.0; 3]));
}

/// Virial by scaling the box with the atoms, which the virtual sites follow.
#[test]
fn the_virial_is_a_derivative() {
    let (energies, _) = evaluate(system());
    for axis in 0..3 {
        let scaled = |h: f64| {
            let mut system = system();
            let simbox = system.simbox;
            let [mut origin, mut lengths] = [simbox.origin(), Vector(simbox.lengths())];
            let mut tilts = simbox.tilts();
            origin[axis] *= 1.0 + h;
            lengths[axis] *= 1.0 + h;
            // Tilts xy, xz and yz are along x, x and y.
            [0, 0, 1]
                .into_iter()
                .zip(&mut tilts)
                .filter(|(along, _)| *along == axis)
                .for_each(|(_, tilt)| *tilt *= 1.0 + h);
            system.simbox = SimBox::new(origin, *lengths, tilts, [true; 3]).unwrap();
            system.state.position.iter_mut().for_each(|r| r[axis] *= 1.0 + h);
            energy(system)
        };
        let h = 1e-5;
        let slope = (scaled(h) - scaled(-h)) / (2.0 * h);
        let virial = energies.virial[axis];
        assert!((virial + slope).abs() < 1e-6 * virial.abs().max(10.0), "{axis}: {virial} {slope}");
    }
}

#[test]
fn energy_is_conserved() {
    for precision in [Precision::Double, Precision::Mixed] {
        let mut cpu = open(system(), precision);
        cpu.update_neighbors().unwrap();
        cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
        let step = |cpu: &mut dyn Backend, dt: f64| {
            cpu.kick_drift(dt).unwrap();
            cpu.constrain_positions(dt).unwrap();
            cpu.update_neighbors().unwrap();
            cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
            cpu.kick(0.5 * dt).unwrap();
            cpu.constrain_velocities(None).unwrap();
        };
        // Equilibration of molecules that are held together by forces between their atoms.
        for _ in 0..500 {
            step(&mut *cpu, 2e-4);
            let kinetic = cpu.kinetic().unwrap().energy();
            cpu.scale_velocities((50.0 / kinetic).sqrt().min(1.0)).unwrap();
        }
        let mut spread = |dt: f64| {
            let energies = (0..(0.2 / dt) as u64).map(|_| {
                step(&mut *cpu, dt);
                cpu.kinetic().unwrap().energy() + cpu.energies().potential()
            });
            let totals: Vec<f64> = energies.collect();
            let mean = totals.iter().sum::<f64>() / totals.len() as f64;
            (totals.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / totals.len() as f64).sqrt()
        };
        let (long, short) = (spread(1e-3), spread(5e-4));
        let kinetic = cpu.kinetic().unwrap().energy();
        println!("{precision:?}: {long} {short} of {kinetic}");
        assert!(long < 1e-3 * kinetic && short < 0.5 * long, "{precision:?}: {long} {short} of {kinetic}");
    }
}

#[test]
fn points_that_cannot_follow_are_refused() {
    let refused = |change: fn(&mut System)| {
        let mut system = system();
        change(&mut system);
        let opened = open_at(system, forces(), Settings::default(), Level::best());
        opened.map(|_| ()).unwrap_err().message().to_string()
    };
    let massive = refused(|s| s.species[1].mass = 1.0);
    assert!(massive.contains("atom 4 follows other atoms and has a mass"), "{massive}");
    let free = refused(|s| s.topology.virtual_sites.retain(|v| v.site != 4));
    assert!(free.contains("atom 5 has no mass and follows no other atoms"), "{free}");
    let chain = refused(|s| s.topology.virtual_sites[1].atoms[0] = 3);
    assert!(chain.contains("atom 5 follows a point that follows others itself"), "{chain}");
    let twice = refused(|s| s.topology.virtual_sites[1].site = 3);
    assert!(twice.contains("atom 4 follows atoms twice, or itself"), "{twice}");
    let many = refused(|s| {
        let first = s.topology.virtual_sites[0];
        for molecule in 1..4 {
            s.topology.virtual_sites[2 * molecule].atoms =
                [5 * molecule as u32, first.atoms[1], first.atoms[0]];
        }
    });
    assert!(many.contains("atoms are joined in one group at atom 1"), "{many}");
}
