//! Rigid bodies: their motion, energies, thermostats and barostats, and wrong inputs.

use crate::fixtures::{column, emulated, run_in_parts};
use jostle_core::random::{Purpose, Stream};
use jostle_core::{Precision, RigidBody, Settings, System, UnitSystem, Vec3, Vector, WaterShape};
use jostle_engine::model::{DensityInput, DeviceInput, Distribution, RegionInput, StageInput};
use jostle_engine::{Existing, Mixture, Overrides, Simulation, assign_velocities};
use jostle_io::Input;
use jostle_potentials::electrostatics::Method;
use jostle_potentials::{Electrostatics, PairEntry, PairKind, PairTerm, Truncation};
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// Forms of molecules: a dumbbell, three atoms in a row, a bent one, and a pyramid.
const FORMS: [&[Vec3]; 4] = [
    &[Vec3::ZERO, Vector([0.6, 0.0, 0.0])],
    &[Vec3::ZERO, Vector([0.5, 0.0, 0.0]), Vector([-0.5, 0.0, 0.0])],
    &[Vec3::ZERO, Vector([0.5, 0.3, 0.0]), Vector([-0.5, 0.3, 0.0])],
    &[Vec3::ZERO, Vector([0.5, 0.3, 0.1]), Vector([-0.5, 0.3, 0.0]), Vector([0.0, -0.4, 0.4])],
];
const EDGE: usize = 4;
const MOLECULES: usize = EDGE * EDGE * EDGE;

/// Atoms of a molecule by its number.
fn form(number: usize) -> &'static [Vec3] {
    FORMS[number % FORMS.len()]
}

/// Molecules of all forms on a grid, as a file of LAMMPS: the first atom of each is bound to the others.
fn data() -> String {
    let (spacing, mut atoms, mut bonds, mut n) = (1.7, String::new(), String::new(), 0);
    let mut random = Stream::new(3, Purpose::Placement, 0, 0);
    for number in 0..MOLECULES {
        let cell = [number % EDGE, number / EDGE % EDGE, number / EDGE / EDGE];
        let (x, first) = (random.direction(), n + 1);
        let other = random.direction();
        let dot: f64 = (0..3).map(|k| x[k] * other[k]).sum();
        let y = other - dot * x;
        let y = y.map(|u| u / y.iter().map(|u| u * u).sum::<f64>().sqrt());
        let z = [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]];
        for (k, place) in form(number).iter().enumerate() {
            n += 1;
            let r = [0, 1, 2].map(|axis| {
                spacing * cell[axis] as f64 + place[0] * x[axis] + place[1] * y[axis] + place[2] * z[axis]
            });
            let species = if k == 0 { 1 } else { 2 };
            writeln!(atoms, "{n} {} {species} {} {} {}", number + 1, r[0], r[1], r[2]).unwrap();
            if k > 0 {
                writeln!(bonds, "{} 1 {first} {n}", n - number - 1).unwrap();
            }
        }
    }
    let edge = spacing * EDGE as f64;
    format!(
        "molecules\n\n{n} atoms\n{} bonds\n2 atom types\n1 bond types\n0 {edge} xlo xhi\n0 {edge} ylo yhi\n\
         0 {edge} zlo zhi\n\nMasses\n\n1 2.0 # A\n2 1.0 # B\n\nAtoms # molecular\n\n{atoms}\nBonds\n\n{bonds}",
        n - MOLECULES
    )
}

/// Degrees of freedom of all molecules as rigid bodies.
fn degrees() -> usize {
    (0..MOLECULES).map(|number| if number % FORMS.len() < 2 { 5 } else { 6 }).sum()
}

/// An input with these molecules, other sections and stages.
fn text(more: &str, stages: &str) -> String {
    format!(
        r#"
units = "lj"
[system]
file = "molecules.data"
temperature = 1.5
seed = 3
[[force]]
kind = "lennard-jones"
truncation = "force-shifted"
cutoff = 2.2
mixing = "lorentz-berthelot"
pairs."A-A" = {{ epsilon = 1, sigma = 1 }}
pairs."B-B" = {{ epsilon = 0.5, sigma = 0.8 }}
[[bond]]
kind = "harmonic"
types.1 = {{ stiffness = 100, length = 0.6 }}
{more}
{stages}
[run]
threads = 1
device = "cpu"
precision = "double"
reproducible = true
"#
    )
}

const ALL: &str = "[[rigid]]\natoms = \"all\"\n";

/// The input in a folder with its file.
fn input(folder: &Path, more: &str, stages: &str) -> Input {
    fs::write(folder.join("molecules.data"), data()).unwrap();
    Input::parse(&folder.join("rigid.toml"), &text(more, stages)).unwrap()
}

fn stage(name: &str, steps: usize, more: &str) -> String {
    format!(
        "[[stage]]\nname = \"{name}\"\nsteps = {steps}\ntimestep = 0.003\nthermo = {{ every = 10 }}\n{more}\n"
    )
}

/// Runs an input in a folder of its own and gives the folder back.
fn run(more: &str, stages: &str) -> (tempfile::TempDir, Simulation) {
    let folder = tempfile::tempdir().unwrap();
    let input = input(folder.path(), more, stages);
    let simulation = run_in_parts(&input, &folder.path().join("run"), u64::MAX);
    (folder, simulation)
}

fn mean(x: &[f64]) -> f64 {
    x.iter().sum::<f64>() / x.len() as f64
}

/// Largest change of a distance in a molecule since the beginning.
fn change_of_shape(simulation: &mut Simulation) -> f64 {
    let positions = simulation.unwrapped_positions().unwrap();
    let (mut first, mut worst) = (0, 0.0f64);
    for number in 0..MOLECULES {
        let form = form(number);
        let distance = |a: &Vec3, b: &Vec3| (0..3).map(|k| (a[k] - b[k]) * (a[k] - b[k])).sum::<f64>().sqrt();
        for a in 0..form.len() {
            for b in 0..a {
                let now = distance(&positions[first + a], &positions[first + b]);
                worst = worst.max((now - distance(&form[a], &form[b])).abs());
            }
        }
        first += form.len();
    }
    worst
}

/// Translation and rotation have half of k T for each of their degrees of freedom, under noise and under a thermostat that
/// scales all velocities alike.
#[test]
fn energy_is_shared_by_translation_and_rotation() {
    let langevin = "thermostat = { kind = \"langevin\", temperature = 1.5, friction = 2 }";
    for thermostat in [langevin, "thermostat = { kind = \"bussi\", temperature = 1.5, period = 0.2 }"] {
        let stages = stage("settle", 1000, langevin) + &stage("go", 10_000, thermostat);
        let (folder, mut simulation) = run(ALL, &stages);
        let noise = thermostat == langevin;
        let all = degrees() - if noise { 0 } else { 3 };
        assert_eq!(simulation.reports()[1].degrees_of_freedom, all, "{thermostat}");
        let energies = |name| mean(&column(&folder.path().join("run"), name)[100..]);
        let [moving, turning, kinetic] =
            ["translational_bodies", "rotational_bodies", "kinetic"].map(energies);
        assert!((moving + turning - kinetic).abs() < 1e-9 * kinetic, "{moving} {turning} {kinetic}");
        let translations = 3 * MOLECULES - if noise { 0 } else { 3 };
        for (energy, degrees) in [(moving, translations), (turning, all - translations)] {
            let temperature = 2.0 * energy / degrees as f64;
            println!("{thermostat}: {temperature} of {degrees}");
            // Two percent is the error of the mean of some 30 independent samples of so many squares.
            assert!((temperature / 1.5 - 1.0).abs() < 0.06, "{thermostat}: {temperature} of {degrees}");
        }
        let worst = change_of_shape(&mut simulation);
        assert!(worst < 1e-12, "{thermostat}: {worst:e}");
    }
}

/// The energy of a free run wanders by the square of the time step, and does not drift.
#[test]
fn energy_and_momentum_are_conserved() {
    let settle = stage("settle", 500, "thermostat = { kind = \"bussi\", temperature = 1.5, period = 0.1 }");
    let wander = |timestep: f64| {
        let steps = (6.0 / timestep) as usize;
        let go = format!(
            "[[stage]]\nname = \"go\"\nsteps = {steps}\ntimestep = {timestep}\nthermo = {{ every = 2 }}\n"
        );
        let (folder, simulation) = run(ALL, &(settle.clone() + &go));
        let total = column(&folder.path().join("run"), "total")[52..].to_vec();
        let kinetic = mean(&column(&folder.path().join("run"), "kinetic"));
        let drift = simulation.reports()[1].drift.as_ref().unwrap().of_kinetic;
        assert!(drift.abs() < 1e-3, "{drift:e}");
        let momentum = column(&folder.path().join("run"), "momentum_x");
        assert!(momentum.iter().all(|p| p.abs() < 1e-9));
        let average = mean(&total);
        mean(&total.iter().map(|e| (e - average).powi(2)).collect::<Vec<_>>()).sqrt() / kinetic
    };
    let (long, short) = (wander(0.004), wander(0.002));
    println!("wanders by {long:e} and {short:e} of the kinetic energy");
    assert!(long < 2e-3 && short < 0.4 * long, "{long:e} {short:e}");
}

/// 27 molecules of SPC/E.
fn water() -> System {
    let units = UnitSystem::Nano;
    let species = |name: &str, mass: f64, charge: f64| jostle_core::Species {
        name: name.into(),
        mass: units.mass_from_user(mass),
        charge,
    };
    let shape = WaterShape::new(0.1, 109.47);
    let mut system = Mixture::new(units)
        .with(species("O", 15.9994, -0.8476), None)
        .with(species("H", 1.008, 0.4238), None)
        .water(125, RegionInput::Density(DensityInput::Number(100.0)), &shape, 7)
        .unwrap();
    system.topology = jostle_core::Topology::rigid_water(125, &shape);
    assign_velocities(&mut system, units.boltzmann() * 300.0, Distribution::Maxwell, 7);
    system
}

/// Bodies of three atoms follow the path of molecules of water by SETTLE, with the same pressures.
#[test]
fn bodies_of_water_move_as_by_settle() {
    let settled = water();
    let mut bodies = settled.clone();
    bodies.topology.constraints.clear();
    bodies.topology.rigid_bodies = (0..125)
        .map(|m| {
            RigidBody::new(&settled, &settled.state.index_by_id(), &[3 * m, 3 * m + 1, 3 * m + 2], 0.0)
                .unwrap()
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let [right, found] = [("settled", settled), ("bodies", bodies)].map(|(name, system)| {
        let mut core = PairTerm::new(PairKind::LennardJones, Truncation::ForceShifted, 2);
        core.set(0, 0, PairEntry { parameters: vec![0.65, 0.3166], cutoff: 0.5 });
        let mut simulation = Simulation::builder(UnitSystem::Nano, system)
            .force(core)
            .electrostatics(Electrostatics::new(Method::pme(0.5, 5e-4, 5), UnitSystem::Nano.coulomb(), 0.5))
            .stage(StageInput::dynamics("go", 400, 0.0005).thermo(50))
            .settings(Settings {
                threads: Some(1),
                precision: Precision::Double,
                reproducible: true,
                ..Settings::default()
            })
            .device(DeviceInput::Cpu)
            .build()
            .unwrap();
        let path = folder.path().join(name);
        simulation.write_to(&path, Existing::Refuse).unwrap();
        simulation.run().unwrap();
        (simulation.unwrapped_positions().unwrap(), ["pressure", "temperature"].map(|c| column(&path, c)))
    });
    let apart = |a: &Vec3, b: &Vec3| (0..3).map(|k| (a[k] - b[k]).abs()).fold(0.0, f64::max);
    let worst = right.0.iter().zip(&found.0).map(|(a, b)| apart(a, b)).fold(0.0, f64::max);
    println!("{worst:e} apart after 400 steps");
    assert!(worst < 1e-9, "{worst:e}");
    for (right, found) in right.1.iter().zip(&found.1) {
        assert_eq!(right.len(), 9);
        let close = |(a, b): (&f64, &f64)| (a.is_nan() && b.is_nan()) || (a - b).abs() < 1e-6 * a.abs();
        assert!(right.iter().zip(found).all(close), "{right:?} {found:?}");
    }
}

/// Positions of atoms 1, 10 and 80 after a time of 0.3 from LAMMPS' file, with the potential and kinetic energy and the
/// pressure then, in steps of this length.
fn beside_lammps(timestep: f64) -> ([Vec3; 3], [f64; 3]) {
    let text = format!(
        r#"
units = "lj"
[system]
file = "rigid.data"
[[force]]
kind = "lennard-jones"
truncation = "force-shifted"
cutoff = 2.2
mixing = "lorentz-berthelot"
pairs."A-A" = {{ epsilon = 1, sigma = 1 }}
pairs."B-B" = {{ epsilon = 0.5, sigma = 0.8 }}
[[bond]]
kind = "harmonic"
types.1 = {{ stiffness = 100, length = 0.6 }}
[[rigid]]
atoms = "all"
[[stage]]
steps = {steps}
timestep = {timestep}
thermo = {{ every = {steps} }}
[run]
threads = 1
device = "cpu"
precision = "double"
"#,
        steps = (0.3 / timestep).round()
    );
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/data/lammps/in.toml");
    let input = Input::parse(&path, &text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut simulation = run_in_parts(&input, &run, u64::MAX);
    let positions = simulation.unwrapped_positions().unwrap();
    (
        [0, 9, 79].map(|id| positions[id]),
        ["potential", "kinetic", "pressure"].map(|name| column(&run, name)[1]),
    )
}

/// The path is that of `fix rigid/nve/small` of LAMMPS up to the error of the integrator, which decreases with the square of
/// the time step: numbers of `tests/external/make_rigid_reference.py` with LAMMPS 22 Jul 2025 in steps of 0.0000125.
#[test]
fn bodies_move_as_in_lammps() {
    let positions = [
        [0.35132228, 1.16133291, 0.93262423],
        [0.36166697, 3.20301400, 0.62056031],
        [4.75295175, 4.51932657, 4.48347803],
    ];
    let numbers = [-17.773958112, 144.673226382, 0.283057791];
    let error = |timestep: f64| {
        let (r, found) = beside_lammps(timestep);
        let apart = r.iter().flatten().zip(positions.iter().flatten()).map(|(a, b)| (a - b).abs());
        let apart = apart.fold(0.0, f64::max);
        let off = [0, 1, 2].map(|k| (found[k] - numbers[k]).abs());
        println!("steps of {timestep}: positions {apart:e}, energies and pressure {off:?}");
        (apart, off)
    };
    let (coarse, _) = error(0.002);
    let (fine, off) = error(0.0005);
    assert!(fine < 1e-6 && fine < 0.08 * coarse, "{fine:e} {coarse:e}");
    assert!(off[0] < 5e-4 && off[1] < 5e-4 && off[2] < 3e-5, "{off:?}");
}

/// A resumed run has the same bits, under a thermostat and a barostat, and so has one on more threads.
#[test]
fn resumed_runs_have_the_same_bits() {
    let stages = stage(
        "go",
        60,
        "checkpoint = { every = 20 }\nthermostat = { kind = \"bussi\", temperature = 1.5, period = 0.1 }\n\
         barostat = { kind = \"cell-rescaling\", pressure = 1.0, time = 1.0, every = 5, compressibility = 0.1 }",
    );
    let mut ends = Vec::new();
    for (interval, threads) in [(u64::MAX, 1), (7, 1), (u64::MAX, 2)] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("molecules.data"), data()).unwrap();
        let text = text(ALL, &stages).replace("threads = 1", &format!("threads = {threads}"));
        let input = Input::parse(&folder.path().join("rigid.toml"), &text).unwrap();
        let mut simulation = run_in_parts(&input, &folder.path().join("run"), interval);
        let volumes = column(&folder.path().join("run"), "volume");
        assert!(volumes[0] != volumes[6], "{volumes:?}");
        assert!(change_of_shape(&mut simulation) < 1e-12);
        let rows = fs::read_to_string(folder.path().join("run/thermo.csv")).unwrap();
        ends.push((simulation.unwrapped_positions().unwrap(), simulation.velocities().unwrap(), rows));
    }
    assert!(ends[0] == ends[1], "interrupted");
    assert!(ends[0] == ends[2], "threads");
}

/// The emulated GPU moves bodies as the CPU does, in batches and with energies.
#[test]
fn the_emulated_gpu_makes_the_same_run() {
    let folder = tempfile::tempdir().unwrap();
    let stages = stage("go", 40, "thermostat = { kind = \"langevin\", temperature = 1.5, friction = 1 }");
    let input = input(folder.path(), ALL, &stages);
    let [right, found] = [false, true].map(|gpu| {
        let mut simulation = match gpu {
            true => Simulation::from_input_on(&input, &Overrides::default(), emulated),
            false => Simulation::from_input(&input, &Overrides::default()),
        }
        .unwrap();
        let path = folder.path().join(if gpu { "gpu" } else { "cpu" });
        simulation.write_to(&path, Existing::Refuse).unwrap();
        simulation.run().unwrap();
        let columns = ["kinetic", "potential", "pressure", "rotational_bodies", "translational_bodies"];
        (simulation.unwrapped_positions().unwrap(), columns.map(|name| column(&path, name)))
    });
    for (a, b) in right.0.iter().zip(&found.0) {
        assert!((0..3).all(|k| (a[k] - b[k]).abs() < 1e-9), "{a:?} {b:?}");
    }
    for (a, b) in right.1.iter().zip(&found.1) {
        assert_eq!(a.len(), 5);
        let close =
            |(a, b): (&f64, &f64)| (a.is_nan() && b.is_nan()) || (a - b).abs() < 1e-8 * a.abs().max(1.0);
        assert!(a.iter().zip(b).all(close), "{a:?} {b:?}");
    }
}

/// Forces on the atoms of a body other than its total force and torque do not count: minimisation ends.
#[test]
fn minimisation_turns_bodies() {
    let stages = "[[stage]]\nname = \"rest\"\nminimize = { steps = 4000, force_tolerance = 0.01 }\n";
    let (_folder, mut simulation) = run(ALL, stages);
    let report = &simulation.reports()[0];
    assert!(report.steps < 4000, "{}", report.steps);
    assert!(change_of_shape(&mut simulation) < 1e-12);
}

/// Errors of inputs that cannot be run say where and why.
#[test]
fn wrong_bodies_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let go = stage("go", 1, "");
    for (more, stages, expected) in [
        (
            "[[rigid]]\natoms = \"all\"\n[[rigid]]\natoms = \"index 1\"\nby = \"all\"",
            &go,
            "is in two rigid bodies",
        ),
        ("[[rigid]]\natoms = \"all\"\nby = \"all\"", &go, "reaches too far in this box"),
        ("[[rigid]]\natoms = \"species A\"", &go, "no two of these atoms are in one rigid body"),
        ("[[rigid]]\natoms = \"index 1\"\nby = \"all\"", &go, "a body has two atoms at least"),
        ("[[rigid]]\natoms = \"all\"\nby = \"residue\"", &go, "these atoms have no residues"),
        (
            "[[group]]\nname = \"held\"\natoms = \"index 1\"\nfrozen = true\n[[rigid]]\natoms = \"all\"",
            &go,
            "cannot move with a rigid body",
        ),
        (
            ALL,
            &stage("go", 1, "deform = { kind = \"shear\", plane = \"xy\", rate = 0.1 }"),
            "a box that is deformed",
        ),
        (
            ALL,
            &"[[stage]]\nname = \"down\"\nminimize = { minimizer = \"lbfgs\" }\n".to_string(),
            "moves atoms along lines",
        ),
    ] {
        let input = input(folder.path(), more, stages);
        let error = match Simulation::from_input(&input, &Overrides::default()) {
            Ok(_) => panic!("{more}"),
            Err(error) => error,
        };
        let text = format!("{error}");
        assert!(text.contains(expected), "{text}");
    }
}

/// A body that turns by more than half a revolution in a step is named.
#[test]
fn a_step_that_is_too_long_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let stages = "[[stage]]\nname = \"go\"\nsteps = 50\ntimestep = 3.0\n";
    for on_gpu in [false, true] {
        let input = input(folder.path(), ALL, stages);
        let mut simulation = match on_gpu {
            true => Simulation::from_input_on(&input, &Overrides::default(), emulated),
            false => Simulation::from_input(&input, &Overrides::default()),
        }
        .unwrap();
        let error = simulation.run().unwrap_err();
        assert!(error.message().contains("the rigid body of atom"), "{on_gpu}: {error}");
    }
}
