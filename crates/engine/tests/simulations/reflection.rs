//! Walls that reflect atoms: exact paths of free atoms, pressure, work of pistons, energy of a fluid.

use crate::fixtures::argon;
use jostle_core::backend::StageTime;
use jostle_core::thermostat::{
    Conditions, MOST_PARAMETERS, Quantity, SubStep, Target, ThermostatInput, ThermostatKind,
};
use jostle_core::{
    Backend, Dimension, Evaluate, Precision, Settings, SimBox, Species, State, System, Thermostat, UnitSystem,
};
use jostle_engine::model::StageInput;
use jostle_engine::step::{StepContext, step};
use jostle_engine::{Overrides, Simulation};
use jostle_io::Input;
use jostle_potentials::external::{ReflectingWall, Side, WallMotion};
use jostle_potentials::{Forces, PairEntry, PairKind, PairTerm, Truncation};
use std::path::Path;

const HEIGHT: f64 = 3.0;
const TIMESTEP: f64 = 0.005;
const ATOMS: usize = 12;

fn settings() -> Settings {
    Settings { precision: Precision::Double, threads: Some(1), reproducible: true, ..Settings::default() }
}

/// Floor and lid of a slab.
fn walls(lid: WallMotion) -> Vec<ReflectingWall> {
    let wall = |begin, side, motion| ReflectingWall { axis: 2, begin, motion, side };
    vec![wall(0.0, Side::Above, WallMotion::REST), wall(HEIGHT, Side::Below, lid)]
}

/// Atoms of an ideal gas, of different speeds.
fn gas() -> System {
    let simbox = SimBox::new([0.0; 3], [10.0, 10.0, HEIGHT], [0.0; 3], [true, true, false]).unwrap();
    let mut system = System::new(simbox, vec![Species { name: "A".into(), mass: 1.3, charge: 0.0 }]);
    for k in 0..ATOMS {
        let at = |step: f64| ((k as f64 + 0.5) * step).fract();
        system.state.push(0, [10.0 * at(0.618), 10.0 * at(0.414), HEIGHT * at(0.732)]);
        system.state.velocity[k] = [at(0.327), -at(0.557), 12.0 * (at(0.141) - 0.5)].into();
    }
    system
}

/// An ideal gas on the CPU, with its forces evaluated.
fn on_cpu(system: System, walls: Vec<ReflectingWall>) -> Box<dyn Backend> {
    let forces = Forces { reflecting_walls: walls, ..Forces::default() };
    let mut cpu = jostle_cpu::open(system, forces, settings()).unwrap();
    cpu.update_neighbors().unwrap();
    cpu.compute_forces(Evaluate::Forces).unwrap();
    cpu
}

/// Step k of a run.
fn make_step(cpu: &mut dyn Backend, thermostat: &mut Thermostat, k: u64, timestep: f64) {
    cpu.set_time(StageTime { start: 0.0, timestep, steps: k }).unwrap();
    let context = StepContext { seed: 3, step: k, timestep, long_range_weight: 1.0 };
    step(cpu, thermostat, &context, Evaluate::Forces).unwrap();
}

fn by_id(backend: &mut dyn Backend) -> State {
    let mut state = backend.state().unwrap().clone();
    state.sort_by_id();
    state
}

/// A thermostat without noise, which would not be mirrored with them, and a slow one: chains are chaotic.
fn without_noise(kind: ThermostatKind) -> Thermostat {
    let is_noisy = kind.step().iter().any(|part| matches!(part, SubStep::Noise | SubStep::PairNoise));
    let mut parameters = [0.0; MOST_PARAMETERS];
    for (value, parameter) in parameters.iter_mut().zip(kind.parameters()) {
        let is_period = parameter.quantity == Quantity::Measured(Dimension::TIME);
        *value = match is_noisy {
            true => 0.0,
            false if is_period => 10.0 * parameter.example,
            false => parameter.example,
        };
    }
    let target = Target { thermal_energy: 3.0, degrees_of_freedom: 3 * ATOMS };
    let stage = Conditions { target, timestep: TIMESTEP, start: 0 };
    ThermostatInput::new(kind, target.thermal_energy, parameters).begin(&stage)
}

/// Height and direction of an atom between two walls, from its height without them: a triangle wave.
fn triangle(height: f64) -> (f64, f64) {
    let phase = height.rem_euclid(2.0 * HEIGHT);
    if phase < HEIGHT { (phase, 1.0) } else { (2.0 * HEIGHT - phase, -1.0) }
}

/// The path of a free atom between two walls is a triangle wave of its path without them, over thousands of steps, under
/// every thermostat: these scale speeds, which walls do not change.
#[test]
fn free_atoms_follow_triangle_waves() {
    let kinds = ThermostatKind::ALL.iter().map(|kind| without_noise(*kind));
    for thermostat in kinds.chain([Thermostat::Isolated]) {
        let (mut between, mut free) = (on_cpu(gas(), walls(WallMotion::REST)), on_cpu(gas(), Vec::new()));
        let (mut a, mut b) = (thermostat.clone(), thermostat.clone());
        for k in 1..=5000 {
            make_step(&mut *between, &mut a, k, TIMESTEP);
            make_step(&mut *free, &mut b, k, TIMESTEP);
        }
        let (found, right) = (by_id(&mut *between), by_id(&mut *free));
        let mut reflections = 0.0;
        for k in 0..ATOMS {
            let (height, direction) = triangle(right.position[k][2]);
            reflections += (right.position[k][2] / HEIGHT).floor().abs();
            let what = format!("{:?}, atom {k}", thermostat.kind());
            let [z, v] = [found.position[k][2], found.velocity[k][2]];
            assert!((z - height).abs() < 1e-9, "{what}: {z} {height}");
            let expected = direction * right.velocity[k][2];
            assert!((v - expected).abs() < 1e-11, "{what}: {v} {expected}");
            // Along the wall nothing happens.
            assert!((0..2).all(|axis| (found.velocity[k][axis] - right.velocity[k][axis]).abs() < 1e-12));
        }
        assert!(reflections > 100.0, "{:?}: {reflections}", thermostat.kind());
    }
}

/// An ideal gas keeps its energy to the last bit, stays between its walls, and hits each of them with the pressure
/// N k T / V of its motion across: the momentum that a wall takes from an atom differs from 2 m v times v t / 2 L by that
/// of one collision at most.
#[test]
fn an_ideal_gas_has_its_pressure() {
    let mut cpu = on_cpu(gas(), walls(WallMotion::REST));
    let (mass, steps) = (1.3, 20_000_u64);
    let mut taken = [[0.0; 2]; ATOMS];
    let start = by_id(&mut *cpu);
    for _ in 0..steps {
        cpu.drift(TIMESTEP).unwrap();
        let before = by_id(&mut *cpu);
        cpu.reflect(1.0).unwrap();
        let after = by_id(&mut *cpu);
        for k in 0..ATOMS {
            let change = mass * (after.velocity[k][2] - before.velocity[k][2]);
            taken[k][usize::from(change < 0.0)] += change.abs();
            assert!((0.0..=HEIGHT).contains(&after.position[k][2]), "{:?}", after.position[k]);
        }
    }
    let end = by_id(&mut *cpu);
    let time = steps as f64 * TIMESTEP;
    for k in 0..ATOMS {
        let speed = start.velocity[k][2].abs();
        assert_eq!(end.velocity[k][2].abs(), speed);
        for momentum in taken[k] {
            let pressure = mass * speed * speed * time / HEIGHT;
            assert!(
                (momentum - pressure).abs() <= 2.0 * mass * speed * (1.0 + 1e-9),
                "{momentum} {pressure}"
            );
        }
    }
}

/// Height and velocity after some time of an atom between a floor and a lid that moves from time 0 on, from collision to
/// collision.
fn by_collisions([mut z, mut v]: [f64; 2], lid: f64, mut time: f64) -> [f64; 2] {
    let mut height = HEIGHT;
    loop {
        let (to_floor, to_lid) = (if v < 0.0 { -z / v } else { f64::MAX }, (height - z) / (v - lid));
        let to_lid = if v > lid { to_lid } else { f64::MAX };
        let next = to_floor.min(to_lid).min(time);
        (z, height, time) = (z + v * next, height + lid * next, time - next);
        match () {
            () if time <= 0.0 => return [z, v],
            () if to_floor < to_lid => v = -v,
            () => v = 2.0 * lid - v,
        }
    }
}

/// A slow piston: atoms follow the exact path from collision to collision, and their speed times the height of the gas is
/// an adiabatic invariant, to the ratio of the velocities.
#[test]
fn a_piston_keeps_adiabatic_invariants() {
    for lid in [-0.01, 0.004] {
        let motion = WallMotion { velocity: lid, ..WallMotion::REST };
        let mut cpu = on_cpu(gas(), walls(motion));
        let start = by_id(&mut *cpu);
        let steps = 15_000;
        for k in 1..=steps {
            make_step(&mut *cpu, &mut Thermostat::Isolated, k, TIMESTEP);
        }
        let (end, time) = (by_id(&mut *cpu), steps as f64 * TIMESTEP);
        let height = HEIGHT + lid * time;
        for k in 0..ATOMS {
            let first = [start.position[k][2], start.velocity[k][2]];
            let [z, v] = by_collisions(first, lid, time);
            let found = [end.position[k][2], end.velocity[k][2]];
            assert!((found[0] - z).abs() < 1e-9, "atom {k}: {found:?} {z}");
            assert!((found[1] - v).abs() < 1e-11, "atom {k}: {found:?} {v}");
            let slowest = first[1].abs().min(v.abs());
            if slowest > 0.2 {
                let ratio = v.abs() * height / (first[1].abs() * HEIGHT);
                assert!((ratio - 1.0).abs() < 2.0 * lid.abs() / slowest, "atom {k}: {ratio}");
            }
        }
    }
}

/// Input of a fluid between a floor that shakes and a piston that comes down, with and without thermostats.
pub fn slab() -> Input {
    let mut text = String::from(
        r#"units = "lj"
[system]
lattice = "fcc"
atoms = 864
density = 0.7
periodic = [true, true, false]
temperature = 2
seed = 5
[species.A]
[[force]]
kind = "lennard-jones"
cutoff = 2.2
truncation = "force-shifted"
pairs."A-A" = { epsilon = 1, sigma = 1 }
[[wall]]
axis = "z"
at = 0.4
atoms = "above"
reflection = "elastic"
motion = { amplitude = 0.05, period = 0.1 }
[[wall]]
axis = "z"
at = 10.3
atoms = "below"
reflection = "elastic"
motion = { velocity = -0.2, from = 0.02 }
"#,
    );
    for (name, thermostat) in [
        ("isolated", ""),
        ("langevin", "thermostat = { kind = \"langevin\", temperature = 2, friction = 1 }"),
        ("bussi", "thermostat = { kind = \"bussi\", temperature = 2, period = 1 }"),
    ] {
        text += &format!(
            "[[stage]]\nname = \"{name}\"\nsteps = 60\ntimestep = 0.004\nthermo = {{ every = 5 }}\n{thermostat}\n"
        );
    }
    Input::parse(Path::new("slab.toml"), &text).unwrap()
}

/// Walls that do not go together with the rest of an input: errors say where, why, and what would do.
#[test]
fn walls_that_make_no_sense_are_refused() {
    let good = slab().source.text.to_string();
    let minimise = "[[stage]]\nname = \"down\"\nminimize = {}\n[[stage]]\nname = \"isolated\"";
    let rigid = "[[rigid]]\natoms = \"index 0 to 3\"\nby = \"all\"\n[[wall]]\naxis = \"z\"\nat = 10.3";
    let recorded = "velocity = 1 }\nwork = \"recorded\"";
    let of_grains = "reflection = \"elastic\"\nmaterial = \"grains\"";
    let table = [
        ("periodic = [true, true, false]\n", "", 14, "the axis z, which is periodic", "make it open"),
        (
            "at = 0.4",
            "at = 0.5",
            15,
            "is behind the wall at z = 0.5: it is at z = 0.44",
            "on the wall's side",
        ),
        ("at = 10.3", "at = 9.5", 21, "is behind the wall at z = 9.5", "begin on the wall's side"),
        (
            "[[wall]]\naxis = \"z\"\nat = 10.3",
            rigid,
            15,
            "constraints or rigid bodies",
            "give the wall a force",
        ),
        ("amplitude = 0.05, period = 0.1 }", recorded, 21, "not recorded", "leave work out"),
        ("[[stage]]\nname = \"isolated\"", minimise, 27, "no energy", "in a run of its own"),
        ("reflection = \"elastic\"", "reflection = \"inelastic\"", 19, "inelastic", "elastic"),
        ("reflection = \"elastic\"", of_grains, 20, "material", ""),
    ];
    for (from, to, line, cause, hint) in table {
        assert!(good.contains(from), "{from}");
        let parsed = Input::parse(Path::new("slab.toml"), &good.replacen(from, to, 1));
        let opened = parsed.and_then(|input| Simulation::from_input(&input, &Overrides::default()));
        let error = opened.map(drop).unwrap_err();
        let said = format!("{error} / {:?}", error.help());
        assert!(error.message().contains(cause), "{to}: {said}");
        assert!(hint.is_empty() || error.help().is_some_and(|help| help.contains(hint)), "{to}: {said}");
        assert_eq!(error.place().and_then(|place| place.line), Some(line), "{to}: {said}");
    }
    // Programs are told the same.
    let behind = ReflectingWall { axis: 2, begin: 1.0, motion: WallMotion::REST, side: Side::Above };
    let build = |wall, stage| {
        Simulation::builder(UnitSystem::Lj, gas()).reflecting_wall(wall).stage(stage).build().map(drop)
    };
    let dynamics = StageInput::dynamics("a", 10, TIMESTEP);
    let error = build(behind, dynamics.clone()).unwrap_err();
    assert!(error.message().contains("is behind the wall at z = 1"), "{error}");
    let floor = ReflectingWall { begin: 0.0, ..behind };
    build(floor, dynamics).unwrap();
    let error = build(floor, StageInput::minimize("b", 10, 1.0, TIMESTEP)).unwrap_err();
    assert!(error.message().contains("no energy"), "{error}");
}

/// Motion of a lid at 2 that is at 0 at time 4.
const SINKING: &str = "motion = { velocity = -0.5 }\n";

/// Input of an ideal gas between a floor and a lid with this motion, of which atoms pass the height in a step.
fn fast_gas(motion: &str, stages: &str) -> jostle_core::Result<Input> {
    let text = format!(
        "units = \"lj\"\n[run]\nthreads = 1\n[system]\nplace = \"random\"\nbox = {{ lengths = [20, 20, 2] }}\n\
         periodic = [true, true, false]\natoms = 100\nmin_distance = 0.01\ntemperature = 1\n[species.A]\nmass = 1\n\
         [[force]]\nkind = \"gaussian-core\"\ncutoff = 1\npairs.\"A-A\" = {{ epsilon = 0, sigma = 0.3 }}\n\
         [[wall]]\naxis = \"z\"\nat = 0\natoms = \"above\"\nreflection = \"elastic\"\n\
         [[wall]]\naxis = \"z\"\nat = 2\natoms = \"below\"\nreflection = \"elastic\"\n{motion}\
         {stages}"
    );
    Input::parse(Path::new("gas.toml"), &text)
}

/// Steps so long that mirror images lie behind the other wall keep atoms between both, and their energy; a lid that comes
/// to the floor is refused, at the latest when it is there.
#[test]
fn long_steps_and_walls_that_meet() {
    let stage = |steps: u64, timestep: f64, more: &str| {
        format!("[[stage]]\nsteps = {steps}\ntimestep = {timestep}\nthermo = {{ every = 10 }}\n{more}")
    };
    let open = |input: &Input| Simulation::from_input(input, &Overrides::default());
    let mut run = open(&fast_gas("", &stage(200, 7.0, "")).unwrap()).unwrap();
    let square =
        |state: &State| state.velocity.iter().map(|v| v.iter().map(|x| x * x).sum::<f64>()).sum::<f64>();
    let energy = square(&run.state().unwrap());
    run.run().unwrap();
    for position in &run.state().unwrap().position {
        assert!((0.0..=2.0).contains(&position[2]), "{position:?}");
    }
    let now = square(&run.state().unwrap());
    assert!((now / energy - 1.0).abs() < 1e-12, "{now} {energy}");
    fast_gas(SINKING, &stage(390, 0.01, "")).unwrap();
    let error = fast_gas(SINKING, &(stage(390, 0.01, "") + &stage(20, 0.01, ""))).unwrap_err();
    assert!(error.message().contains("at time 4.00") && error.help().is_some(), "{error}");
    assert_eq!(error.place().unwrap().line, Some(22), "{error}");
    // A stage that may end before.
    let until = fast_gas(SINKING, &stage(1000, 0.01, "until = \"temperature < 0\"\n")).unwrap();
    let error = open(&until).unwrap().run().unwrap_err();
    let said = error.to_string();
    assert!(said.contains("reflections in one step") && said.contains("z = 0 and z = 2"), "{said}");
    assert!(said.contains("step 39") || said.contains("step 40"), "{said}");
}

/// Root of the mean square of what the energy of a Lennard-Jones fluid deviates from its mean, over a run.
fn energy_noise(walls: Vec<ReflectingWall>, timestep: f64) -> f64 {
    let mut system = argon(500, 0.7, 1.5, 8);
    let periodic = [true, true, walls.is_empty()];
    system.simbox = SimBox::new([0.0; 3], system.simbox.lengths(), [0.0; 3], periodic).unwrap();
    let mut term = PairTerm::new(PairKind::LennardJones, Truncation::ForceShifted, 1);
    term.set(0, 0, PairEntry { parameters: vec![1.0, 1.0], cutoff: 2.2 });
    let forces = Forces { reflecting_walls: walls, ..term.into() };
    let mut cpu = jostle_cpu::open(system, forces, settings()).unwrap();
    cpu.update_neighbors().unwrap();
    cpu.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
    let mut energies = Vec::new();
    let steps = (8.0 / timestep) as u64;
    for k in 1..=steps {
        let context = StepContext { seed: 3, step: k, timestep, long_range_weight: 1.0 };
        let sampled = k % (steps / 100) == 0;
        let evaluate = if sampled { Evaluate::ForcesAndEnergies } else { Evaluate::Forces };
        step(&mut *cpu, &mut Thermostat::Isolated, &context, evaluate).unwrap();
        if sampled && 4 * k > steps {
            energies.push(cpu.energies().potential() + cpu.kinetic().unwrap().energy());
        }
    }
    let mean = energies.iter().sum::<f64>() / energies.len() as f64;
    (energies.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / energies.len() as f64).sqrt()
}

/// A fluid between two walls conserves its energy. Where an atom turns round within a step its force across the wall does,
/// too, which the two halves of the kick take for a force in the middle: an error of up to F v dt, of either sign, in each
/// collision. The fluid has 400 of these in such a run, with forces of some 5 and velocities of some 2: 0.5 at the longest
/// time step here, and less in proportion.
#[test]
fn a_fluid_between_walls_conserves_its_energy() {
    let height = argon(500, 0.7, 1.5, 8).simbox.lengths()[2];
    let wall = |begin, side| ReflectingWall { axis: 2, begin, motion: WallMotion::REST, side };
    let walls = vec![wall(-0.2, Side::Above), wall(height - 0.2, Side::Below)];
    let [coarse, fine] = [0.004, 0.001].map(|timestep| energy_noise(walls.clone(), timestep));
    assert!(coarse < 0.5 && fine < 0.5 / 4.0, "{coarse} {fine}");
    assert!(fine < 0.5 * coarse, "{coarse} {fine}");
    // Periodic images instead of walls have the error of the integrator alone.
    assert!(energy_noise(Vec::new(), 0.004) < coarse);
}
