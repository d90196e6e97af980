//! Restraints and temperatures by stages: restraints that act in some stages only, ramps, and their effect on
//! energy, momentum and pressure.

use crate::fixtures::{Open, Steps, argon, column, emulated, thermo_csv};
use jostle_core::{Precision, Result, Settings, UnitSystem, Vec3, Vector, WholeGroups};
use jostle_engine::model::{Barostat, Coupling, StageInput, ThermostatInput};
use jostle_engine::{Existing, Outcome, Overrides, Simulation, SimulationBuilder};
use jostle_io::Input;
use jostle_potentials::restraint::{Anchor, Center, Distance, Restraints, Spring};
use jostle_potentials::{PairKind, PairTerm, Truncation};
use std::cell::Cell;
use std::path::Path;

/// A liquid in which some atoms are restrained to fixed positions, some to positions that follow the box, and
/// two groups to a distance.
fn liquid(open: Open) -> SimulationBuilder {
    let system = argon(256, 0.8, 1.2, 1);
    let places = system.state.position.clone();
    let at = &places;
    let anchor = move |spring: u32, from: Vec3| {
        move |atom: u32| {
            let place = at[atom as usize];
            Anchor { atom, place: (place - from), spring }
        }
    };
    let center = system.simbox.to_cartesian(Vector([0.5, 0.25, 0.75]));
    let follows = Spring { center: Some(Vector([0.5, 0.25, 0.75])), ..Spring::new(30.0) };
    let fixed = (20..60).map(anchor(0, Vec3::ZERO));
    let scaled = (100..140).map(anchor(1, center));
    let start = WholeGroups::of_start(&system);
    let of = |atoms: &[u32]| Center::new(&system, &start, atoms);
    let distances = vec![Distance { centers: [of(&[1, 2, 3]), of(&[201])], range: [2.0, 2.5], spring: 2 }];
    let restraints = Restraints {
        springs: vec![Spring::new(20.0), follows, Spring::new(4.0)],
        anchors: fixed.chain(scaled).collect(),
        distances,
    };
    let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::ForceShifted, &[1.0, 1.0], 2.0);
    let precision = Precision::Double;
    let settings = Settings { threads: Some(1), reproducible: true, precision, ..Settings::default() };
    Simulation::builder(UnitSystem::Lj, system)
        .force(lj)
        .restraints(restraints)
        .seed(3)
        .settings(settings)
        .open_with(open)
}

fn spread(values: &[f64]) -> f64 {
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most - values.iter().copied().fold(f64::INFINITY, f64::min)
}

/// Changes of stiffness do work, by which the total energy changes and which the conserved quantity accounts
/// for, without a thermostat and under thermostats whose temperature changes, too.
#[test]
fn the_work_of_ramps_is_accounted_for() {
    let ramps = [[0.0, 200.0], [90.0, 0.0], [4.0, 400.0]];
    let stage = || StageInput::dynamics("ramp", 400, 0.002).thermo(5).restrain(ramps);
    let bussi = ThermostatInput::bussi(0.5, 0.5);
    let chain = ThermostatInput::nose_hoover(0.5, 0.5, 3);
    let stages = [
        stage(),
        stage().thermostat(bussi).ramp_temperature(2.0),
        stage().thermostat(chain).ramp_temperature(2.0),
    ];
    for (stage, open) in stages.iter().flat_map(|s| [(s, jostle_cpu::open as Open), (s, emulated)]) {
        let folder = tempfile::tempdir().unwrap();
        let mut simulation = liquid(open).stage(stage.clone()).build().unwrap();
        simulation.write_to(&folder.path().join("run"), Existing::Refuse).unwrap();
        simulation.run().unwrap();
        let (total, conserved) =
            (column(&folder.path().join("run"), "total"), column(&folder.path().join("run"), "conserved"));
        let work = simulation.reports()[0].restraint_work.unwrap();
        assert!(work > 20.0, "{work}");
        let (change, drift) = (spread(&total), spread(&conserved));
        assert!(drift < 0.01 * change, "{}: {drift} {change} {work}", simulation.backend().describe());
        if stage.temperatures().is_none() {
            let gained = total[total.len() - 1] - total[0];
            assert!((gained - work).abs() < 0.01 * change, "{gained} {work}");
        }
    }
}

/// The temperature of the atoms follows the ramp of a thermostat with strong friction.
#[test]
fn temperatures_follow_their_ramps() {
    let langevin = ThermostatInput::langevin(0.2, 20.0);
    let folder = tempfile::tempdir().unwrap();
    let hold = StageInput::dynamics("hold", 300, 0.004).thermostat(langevin);
    let heat =
        StageInput::dynamics("heat", 4000, 0.004).thermostat(langevin).ramp_temperature(2.0).thermo(10);
    let mut simulation = liquid(jostle_cpu::open).stage(hold).stage(heat).build().unwrap();
    simulation.write_to(&folder.path().join("run"), Existing::Refuse).unwrap();
    simulation.run().unwrap();
    let rows = thermo_csv(&folder.path().join("run"));
    let heated = rows.lines().skip(1).filter(|line| line.contains("heat")).count();
    let found = column(&folder.path().join("run"), "temperature");
    let found = &found[found.len() - heated..];
    // Each part is a tenth of the ramp: 40 rows of 768 degrees of freedom, partly correlated.
    for (k, part) in found.chunks(40).enumerate() {
        let mean = part.iter().sum::<f64>() / part.len() as f64;
        let wanted = 0.2 + 1.8 * (k as f64 + 0.5) / 10.0;
        assert!((mean / wanted - 1.0).abs() < 0.05, "part {k}: {mean} is not {wanted}");
    }
}

/// The rows, positions and velocities of a run with ramps, interrupted at these steps of its stages.
fn protocol(open: Open, folder: &Path, stops: &[u64]) -> (String, Vec<Vec3>, Vec<Vec3>) {
    let langevin = ThermostatInput::langevin(0.4, 2.0);
    let barostat = Barostat::MonteCarlo { pressure: 2.0, coupling: Coupling::Isotropic, every: 6 };
    let build = || {
        liquid(open)
            .stage(StageInput::minimize("relax", 6, 1e-9, 0.002).thermo(2).restrain([[50.0; 2]; 3]))
            .stage(
                StageInput::dynamics("heat", 60, 0.004)
                    .thermostat(langevin)
                    .ramp_temperature(1.2)
                    .thermo(6)
                    .restrain([[50.0, 5.0], [0.0, 40.0], [4.0; 2]]),
            )
            .stage(
                StageInput::dynamics("press", 60, 0.004)
                    .thermostat(langevin)
                    .ramp_temperature(1.2)
                    .barostat(barostat)
                    .thermo(6)
                    .restrain([[0.0; 2], [40.0, 3.0], [4.0; 2]]),
            )
    };
    let mut simulation = build().build().unwrap();
    simulation.write_to(folder, Existing::Refuse).unwrap();
    for stop in stops {
        let step = Cell::new(0);
        let outcome = simulation.run_with(&mut Steps(&step), &|| step.get() == *stop).unwrap();
        assert_eq!(outcome, Outcome::Interrupted, "{stop}");
        drop(simulation);
        simulation = build().resume(folder).unwrap();
    }
    assert_eq!(simulation.run().unwrap(), Outcome::Finished);
    let rows = thermo_csv(folder);
    (rows, simulation.unwrapped_positions().unwrap(), simulation.velocities().unwrap())
}

/// Resumed runs equal uninterrupted ones to the last bit, wherever they are interrupted: between two changes
/// of a ramp, at a change, and in the next stage.
#[test]
fn runs_resumed_in_ramps_equal_uninterrupted_ones() {
    // A device can be interrupted at the ends of batches, which are where rows are due.
    for (open, interval) in [(jostle_cpu::open as Open, 1), (emulated, 6)] {
        let folder = tempfile::tempdir().unwrap();
        let whole = protocol(open, &folder.path().join("whole"), &[]);
        for (name, stops) in [("between", &[15_u64, 33][..]), ("at", &[24, 36, 18]), ("first", &[1, 7])] {
            let stops: Vec<u64> = stops.iter().map(|stop| stop.next_multiple_of(interval)).collect();
            assert_eq!(protocol(open, &folder.path().join(name), &stops), whole, "{name} {stops:?}");
        }
    }
}

/// The GPU, step by step and in batches, gives the results of the CPU.
#[test]
fn ramps_are_the_same_on_every_device() {
    let folder = tempfile::tempdir().unwrap();
    let chain = ThermostatInput::nose_hoover(0.4, 0.5, 3);
    let barostat = Barostat::MonteCarlo { pressure: 2.0, coupling: Coupling::Isotropic, every: 10 };
    let run = |open: Open, name: &str| {
        let folder = folder.path().join(name);
        let mut simulation = liquid(open)
            .stage(StageInput::minimize("relax", 6, 1e-9, 0.002).thermo(2).restrain([[50.0; 2]; 3]))
            .stage(
                StageInput::dynamics("heat", 30, 0.004)
                    .thermostat(chain)
                    .ramp_temperature(1.2)
                    .thermo(5)
                    .restrain([[50.0, 5.0], [10.0, 40.0], [4.0, 9.0]]),
            )
            .stage(
                StageInput::dynamics("press", 20, 0.004)
                    .thermostat(chain)
                    .barostat(barostat)
                    .thermo(5)
                    .restrain([[0.0; 2], [40.0, 30.0], [4.0; 2]]),
            )
            .build()
            .unwrap();
        simulation.write_to(&folder, Existing::Refuse).unwrap();
        simulation.run().unwrap();
        let work: Vec<_> = simulation.reports().iter().map(|r| r.restraint_work).collect();
        let names = ["potential", "restraint", "temperature", "conserved", "pressure", "volume"];
        (names.map(|name| column(&folder, name)), work)
    };
    let (right, found) = (run(jostle_cpu::open, "cpu"), run(emulated, "gpu"));
    let close = |a: f64, b: f64| (a - b).abs() < 1e-6 * b.abs().max(1.0) || a.is_nan() && b.is_nan();
    for (a, b) in right.0.iter().flatten().zip(found.0.iter().flatten()) {
        assert!(close(*a, *b), "{a} {b}: {right:?} {found:?}");
    }
    for (a, b) in right.1.iter().zip(&found.1) {
        assert!(close(a.unwrap_or(0.0), b.unwrap_or(0.0)), "{a:?} {b:?}");
    }
    assert_eq!(right.1[0], None);
    assert!(right.1[1].unwrap().abs() > 0.1 && right.1[2].unwrap().abs() > 0.1, "{:?}", right.1);
}

fn input(more: &str, stages: &str) -> Result<Input> {
    let text = format!(
        r#"
units = "lj"
[system]
lattice = "sc"
atoms = 512
density = 1
temperature = 0.5
[species.A]
mass = 1
{more}
{stages}
[run]
device = "cpu"
threads = 1
reproducible = true
"#
    );
    Input::parse(Path::new("stages.toml"), &text)
}

const SPRINGS: &str = r#"
[[restraint]]
name = "slab"
kind = "position"
atoms = "all"
stiffness = 40
scaling = "center"
[[restraint]]
name = "pair"
kind = "distance"
between = ["index 0", "index 256"]
length = 4
stiffness = 10
"#;

/// The free energy of atoms that are only restrained to positions that follow the box does not depend on the
/// volume, so that their pressure is zero: the virial of the restraints cancels the kinetic part.
#[test]
fn restraints_that_follow_the_box_cancel_the_kinetic_pressure() {
    let stages = r#"
[[stage]]
steps = 200
timestep = 0.02
thermostat = { kind = "langevin", temperature = 0.5, friction = 2 }
thermo = { every = 0 }
[[stage]]
steps = 2000
timestep = 0.02
thermostat = { kind = "langevin", temperature = 0.5, friction = 2 }
thermo = { every = 20 }
"#;
    let input = input(SPRINGS.split("[[restraint]]\nname = \"pair\"").next().unwrap(), stages).unwrap();
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    simulation.run().unwrap();
    let average = |name: &str| {
        let averages = &simulation.reports()[1].averages;
        averages.iter().find(|a| a.quantity == name).unwrap().estimate.unwrap()
    };
    let pressure = average("pressure");
    // Without the virial of restraints the pressure would be that of an ideal gas, n kT.
    assert!(pressure.mean.abs() < 4.0 * pressure.error && pressure.error < 0.1, "{pressure:?}");
    assert!((average("temperature").mean - 0.5).abs() < 0.02);
}

/// Without position restraints momentum is conserved, and the centre of mass is brought to rest.
#[test]
fn stages_choose_their_restraints() {
    let stages = r#"
[[stage]]
name = "all"
steps = 20
timestep = 0.01
[[stage]]
name = "fewer"
steps = 20
timestep = 0.01
restraints = ["pair"]
[[stage]]
name = "none"
steps = 20
timestep = 0.01
thermo = { every = 5 }
restraints = []
[[stage]]
name = "softer"
steps = 20
timestep = 0.01
restraints = { slab = [40, 0.5] }
"#;
    let input = input(SPRINGS, stages).unwrap();
    let courses: Vec<(&str, String)> = input.courses();
    let expected = [
        ("all", "restraints slab 40, pair 10"),
        ("fewer", "restraints pair 10"),
        ("none", "no restraints"),
        ("softer", "restraints slab 40 to 0.5"),
    ];
    assert_eq!(courses, expected.map(|(name, text)| (name, text.to_string())));
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    simulation.write_to(&folder.path().join("run"), Existing::Refuse).unwrap();
    simulation.run().unwrap();
    let freedom: Vec<usize> = simulation.reports().iter().map(|r| r.degrees_of_freedom).collect();
    assert_eq!(freedom, [1536, 1533, 1533, 1536]);
    let work: Vec<bool> = simulation.reports().iter().map(|r| r.restraint_work.is_some()).collect();
    assert_eq!(work, [false, false, false, true]);
    let (energies, momenta) =
        (column(&folder.path().join("run"), "restraint"), column(&folder.path().join("run"), "momentum_x"));
    let rows = thermo_csv(&folder.path().join("run"));
    let none: Vec<usize> =
        rows.lines().skip(1).enumerate().filter(|(_, l)| l.contains("none")).map(|(k, _)| k).collect();
    assert_eq!(none.len(), 4);
    assert!(none.iter().all(|k| energies[*k] == 0.0 && momenta[*k].abs() < 1e-9));
}

#[test]
fn nonsense_is_pointed_at() {
    let refused = |more: &str, stage: &str| {
        let stage = format!("[[stage]]\ntimestep = 0.01\nsteps = 10\n{stage}\n");
        let error = match input(&format!("{SPRINGS}{more}"), &stage) {
            Ok(input) => Simulation::from_input(&input, &Overrides::default()).err().unwrap(),
            Err(error) => error,
        };
        let place = error.place().cloned();
        let at = place.and_then(|place| Some(place.text?[place.span?].to_string())).unwrap_or_default();
        (error.message().to_string(), at, error.help().unwrap_or_default().to_string())
    };
    let twice = "[[restraint]]\nname = \"pair\"\nkind = \"position\"\natoms = \"all\"\nstiffness = 1\n";
    let fixed = twice.replace("pair", "fixed");
    let langevin = "thermostat = { kind = \"langevin\", temperature = 1 }\n";
    let barostat = format!("{langevin}barostat = {{ kind = \"monte-carlo\", pressure = 1 }}\n");
    for (more, stage, message, at, hint) in [
        (
            "",
            "restraints = [\"slap\"]",
            "there is no restraint \"slap\"",
            "\"slap\"",
            "did you mean \"slab\"?",
        ),
        ("", "restraints = { x = 1 }", "there is no restraint \"x\"", "x", "there are \"slab\" and \"pair\""),
        ("", "restraints = [\"pair\", \"pair\"]", "\"pair\" is named twice", "\"pair\"", "name it once"),
        ("", "restraints = { slab = -1 }", "\"slab\" is -1, but must be zero or greater", "-1", ""),
        (
            "",
            "restraints = { slab = [1, 2, 3] }",
            "\"slab\" must be a number or a string with a unit, or a list of two of them, not an array",
            "[1, 2, 3]",
            "write slab = 1.5, or [1.5, 3.0]",
        ),
        (
            "",
            "restraints = \"slab\"",
            "\"restraints\" must be a list of names, or a table with a number or two for each, not a string",
            "\"slab\"",
            "write restraints = [\"NAME\"], or { NAME = 1.5 }",
        ),
        (twice, "", "there are two restraints \"pair\"", "\"pair\"", "choose another name for one of them"),
        (
            "",
            "thermostat = { kind = \"langevin\", temperature = [1, 0] }",
            "\"temperature\" is 0, but must be greater than zero",
            "0",
            "",
        ),
        (
            &fixed,
            &barostat,
            "a barostat, but the reference positions of restraint fixed stay where they are",
            "{ kind = \"monte-carlo\", pressure = 1 }",
            "let them follow the box, by scaling = \"center\" in [[restraint]], or name the restraints that act in this stage: restraints = []",
        ),
        (
            &fixed,
            "deform = { kind = \"tension\", axis = \"z\", rate = 0.2 }",
            "a deformation, but the reference positions of restraint fixed stay where they are",
            "{ kind = \"tension\", axis = \"z\", rate = 0.2 }",
            "let them follow the box, by scaling = \"center\" in [[restraint]], or name the restraints that act in this stage: restraints = []",
        ),
    ] {
        let wanted = (message.to_string(), at.to_string(), hint.to_string());
        assert_eq!(refused(more, stage), wanted, "{stage}");
    }
    // A barostat is accepted where such a restraint does not act.
    input(
        &format!("{SPRINGS}{fixed}"),
        &format!("[[stage]]\ntimestep = 0.01\nsteps = 10\n{barostat}restraints = [\"slab\"]\n"),
    )
    .and_then(|input| Simulation::from_input(&input, &Overrides::default()))
    .unwrap();
    let minimize = "[[stage]]\nminimize = { steps = 10 }\nrestraints = { pair = [1, 2] }\n";
    let error = input(SPRINGS, minimize).err().unwrap();
    assert_eq!(error.message(), "the stiffness of \"pair\" cannot change while energy is minimised");
}

/// A restraint between groups that are as wide as the box.
const WIDE: &str = r#"
[[restraint]]
name = "wide"
kind = "distance"
between = ["index 0 to 199", "index 300 to 511"]
length = 1
stiffness = 10
"#;

/// Reference positions that follow the box and images of wide groups are those in the box at the beginning of the run,
/// also when the run is resumed with another box.
#[test]
fn reference_positions_survive_a_restart_in_another_box() {
    let stages = r#"
[[stage]]
steps = 60
timestep = 0.01
thermostat = { kind = "langevin", temperature = 0.5, friction = 2 }
barostat = { kind = "monte-carlo", pressure = 0.5, every = 5 }
thermo = { every = 6 }
"#;
    let input = input(&format!("{SPRINGS}{WIDE}"), stages).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole");
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    simulation.write_to(&whole, Existing::Refuse).unwrap();
    simulation.run().unwrap();
    let cut = folder.path().join("cut");
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    simulation.write_to(&cut, Existing::Refuse).unwrap();
    let step = Cell::new(0);
    simulation.run_with(&mut Steps(&step), &|| step.get() == 33).unwrap();
    let volumes = column(&cut, "volume");
    assert!(spread(&volumes) > 1.0, "{volumes:?}");
    drop(simulation);
    Simulation::resume(&cut, &Overrides::default()).unwrap().run().unwrap();
    assert_eq!(column(&cut, "restraint"), column(&whole, "restraint"));
    assert_eq!(column(&cut, "volume"), column(&whole, "volume"));
}
