//! Runs made of many calls, stages added between them, and looks at atoms in between.

use crate::fixtures::{Open, Rows, argon, column, emulated};
use jostle_core::{Evaluate, Result, Settings, SimBox, UnitSystem, Vec3};
use jostle_engine::model::{DeviceInput, StageInput, ThermostatInput};
use jostle_engine::{Context, Existing, Extent, Observer, Outcome, Overrides, Simulation};
use jostle_io::Input;
use jostle_potentials::{PairKind, PairTerm, Truncation};
use std::collections::HashMap;
use std::path::Path;

/// A fluid with a minimisation, a stage with Langevin's thermostat and one at constant energy.
fn fluid(open: Option<Open>) -> Simulation {
    let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::Shifted, &[1.0, 1.0], 2.5);
    let settings = Settings { threads: Some(1), reproducible: true, ..Settings::default() };
    let mut system = argon(256, 0.8, 1.0, 4);
    // A perfect lattice would be at its minimum.
    system.state.position.iter_mut().zip(0..).for_each(|(r, k)| r[k % 3] += 0.05 * (k as f64).sin());
    let builder = Simulation::builder(UnitSystem::Lj, system)
        .force(lj)
        .settings(settings)
        .stage(StageInput::minimize("relax", 4, 1e-9, 0.01))
        .stage(StageInput::dynamics("warm", 30, 0.004).thermostat(ThermostatInput::langevin(1.0, 0.5)))
        .stage(StageInput::dynamics("sample", 40, 0.004).thermo(8));
    match open {
        Some(open) => builder.open_with(open).build().unwrap(),
        None => builder.device(DeviceInput::Cpu).build().unwrap(),
    }
}

/// Bits of all positions and velocities.
fn bits(simulation: &mut Simulation) -> Vec<u64> {
    let (r, v) = (simulation.unwrapped_positions().unwrap(), simulation.velocities().unwrap());
    r.iter().chain(&v).flatten().map(|x| x.to_bits()).collect()
}

#[test]
fn many_calls_are_one_call() {
    for open in [None, Some(emulated as Open)] {
        let (mut whole, mut parts, mut stages) = (fluid(open), fluid(open), fluid(open));
        let (mut all, mut some) = (Rows::default(), Rows::default());
        whole.advance_with(&mut Extent::Steps(70), &mut all, &|| false).unwrap();
        for steps in [1, 0, 7, 22, 1, 1, 38] {
            let mut extent = Extent::Steps(steps);
            let outcome = parts.advance_with(&mut extent, &mut some, &|| false).unwrap();
            assert_eq!((outcome, extent), (Outcome::Finished, Extent::Steps(0)));
            // Energies and forces between two calls leave no trace.
            assert!(parts.evaluate().unwrap().thermo.potential < 0.0);
            parts.evaluate_forces().unwrap();
        }
        assert_eq!(bits(&mut whole), bits(&mut parts));
        assert_eq!(all.0, some.0);
        assert_eq!((parts.step(), parts.stage_step(), parts.reports().len()), (74, Some(40), 2));
        stages.run().unwrap();
        assert_eq!(bits(&mut whole), bits(&mut stages));
        assert_eq!(whole.run().unwrap(), Outcome::Finished);
        assert_eq!(whole.reports()[2].averages, stages.reports()[2].averages);
        assert!(whole.advance(1).unwrap_err().message().contains("finished"));
    }
}

#[test]
fn the_last_stage_is_as_long_as_it_is_asked_to_be() {
    let (mut whole, mut parts) = (fluid(None), fluid(None));
    whole.advance(100).unwrap();
    (0..10).for_each(|_| assert_eq!(parts.advance(10).unwrap(), Outcome::Finished));
    assert_eq!(bits(&mut whole), bits(&mut parts));
    assert_eq!(whole.stage_step(), Some(70));
}

/// A stage in whose course something changes has its own number of steps: more are refused before any is made.
#[test]
fn a_ramp_is_not_lengthened() {
    let bussi = "thermostat = { kind = \"bussi\", period = 0.1, temperature = ";
    for (ramped, what) in
        [("[1, 2] }", "temperature changes"), ("1 }\nrestraints = { r = [0, 9] }", "restraints changes")]
    {
        let spring = "[[restraint]]\nname = \"r\"\nkind = \"distance\"\nbetween = [\"index 1\", \"index 60\"]\nlength = 1\nstiffness = 2\n";
        let text = format!("{INPUT}{spring}{}{}{bussi}{ramped}\n", stage("one"), stage("two"));
        let input = Input::parse(Path::new("fluid.toml"), &text).unwrap();
        let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
        for (steps, left) in [(41, 40), (25, 40), (16, 15), (15, 15), (1, 0)] {
            let before = simulation.step();
            match simulation.advance(steps) {
                Ok(_) => assert!(steps <= left && simulation.step() == before + steps),
                Err(error) => {
                    let message = error.message();
                    assert!(message.contains("'two'") && message.contains(what), "{message}");
                    assert!(message.contains(&format!("only {left} are left")), "{message}");
                    assert!(steps > left && simulation.step() == before);
                }
            }
        }
        simulation.run().unwrap();
        assert!(simulation.is_finished());
    }
}

/// Pauses every so many steps.
struct Pauses(u64);

impl Observer for Pauses {
    fn every(&self) -> u64 {
        self.0
    }

    fn requested(&self) -> Evaluate {
        Evaluate::Forces
    }

    fn observe(&mut self, context: &mut Context) -> Result<()> {
        context.pause();
        Ok(())
    }
}

#[test]
fn observers_pause_a_run() {
    for open in [None, Some(emulated as Open)] {
        let (mut free, mut paused) = (fluid(open), fluid(open));
        free.run().unwrap();
        paused.observe(Pauses(10));
        let mut steps = Vec::new();
        while paused.run().unwrap() == Outcome::Paused {
            steps.push(paused.step());
        }
        // The minimisation has four steps, and the start is observed, too.
        assert_eq!(steps, [0, 14, 24, 34, 44, 54, 64, 74]);
        assert!(paused.is_finished());
        assert_eq!(bits(&mut free), bits(&mut paused));
    }
}

#[test]
fn atoms_that_are_moved_are_where_they_are_put() {
    let mut simulation = fluid(None);
    let (r, v) = (simulation.positions().unwrap(), simulation.velocities().unwrap());
    simulation.advance(5).unwrap();
    let energy = |simulation: &mut Simulation| simulation.evaluate().unwrap().thermo.potential;
    let later = energy(&mut simulation);
    simulation.set_positions(&r).unwrap();
    simulation.set_velocities(&v).unwrap();
    assert_eq!(simulation.positions().unwrap(), r);
    assert_eq!(simulation.velocities().unwrap(), v);
    // Atoms are stored in another order, so that pairs are at other places of registers and rounded differently: in mixed
    // precision by some 1e-6 of each, at random, of 8,000 pairs together by 3e-8.
    let (moved, fresh) = (energy(&mut simulation), energy(&mut fluid(None)));
    assert!((moved - fresh).abs() < 1e-7 * later.abs(), "{moved} {fresh} {later}");
    assert!((moved - later).abs() > 1e-3 * later.abs(), "{moved} {later}");
    assert_ne!(energy(&mut simulation), later);
    assert!(simulation.set_positions(&r[1..]).unwrap_err().message().contains("255 positions"));
    let mut wrong = r.clone();
    wrong[3][1] = f64::NAN;
    assert!(simulation.set_positions(&wrong).unwrap_err().message().contains("atom 3"));
    assert!(simulation.set_velocities(&wrong).unwrap_err().message().contains("atom 3"));
    wrong[3][1] = 1e300;
    assert!(simulation.set_positions(&wrong).unwrap_err().message().contains("atom 3"));
    simulation.advance(5).unwrap();
}

/// Positions in the box that are set put no atom on another path: measures, and energies of what follows paths, stay.
/// Steps across a face go on with the path, and unwrapped positions may be set, too.
#[test]
fn paths_go_on_where_positions_are_set() {
    let field = "[[field]]\nenergy = \"0.1 x\"\npositions = \"unwrapped\"\n";
    let measured =
        "measure = [{ kind = \"msd\", every = 5 }]\n[stage.thermostat]\nkind = \"bussi\"\ntemperature = 1\n";
    let text = format!("{INPUT}{field}{}", stage("one").replace("20", "400") + measured);
    let open = || {
        let input = Input::parse(Path::new("fluid.toml"), &text).unwrap();
        Simulation::from_input(&input, &Overrides::default()).unwrap()
    };
    let (mut touched, mut free) = (open(), open());
    for _ in 0..4 {
        touched.advance(100).unwrap();
        let (path, energy) =
            (touched.unwrapped_positions().unwrap(), touched.evaluate().unwrap().thermo.terms[1]);
        let wrapped = touched.positions().unwrap();
        assert!(path.iter().zip(&wrapped).any(|(a, b)| (*a - *b).norm() > 1.0));
        for positions in [&wrapped, &path] {
            touched.set_positions(positions).unwrap();
            let now = touched.unwrapped_positions().unwrap();
            assert!(now.iter().zip(&path).all(|(a, b)| (*a - *b).norm() < 1e-9));
            let after = touched.evaluate().unwrap().thermo.terms[1];
            assert!((after - energy).abs() < 1e-5 * (1.0 + energy.abs()), "{after} {energy}");
        }
    }
    free.advance(400).unwrap();
    // Paths are others after a rebuilt list: means of 108 atoms and 40 frames are equal to some percent at first.
    let first =
        |simulation: &Simulation| simulation.results()[0].1.results.tables[0].column("msd all").unwrap()[1];
    let (a, b) = (first(&touched), first(&free));
    assert!((a / b - 1.0).abs() < 0.2, "{a} {b}");
    // Half a box is the longest way; in a box twice as wide atoms have come along.
    let (path, simbox) = (touched.unwrapped_positions().unwrap(), *touched.simbox());
    let step = Vec3::from_fn(|k| 0.4 * simbox.lengths()[k]);
    let moved: Vec<Vec3> = touched.positions().unwrap().iter().map(|r| *r + step).collect();
    touched.set_positions(&moved).unwrap();
    let now = touched.unwrapped_positions().unwrap();
    assert!(now.iter().zip(&path).all(|(a, b)| (*a - *b - step).norm() < 1e-9));
    let wide = SimBox::orthorhombic(simbox.lengths().map(|l| 2.0 * l)).unwrap();
    let doubled: Vec<Vec3> = touched.positions().unwrap().iter().map(|r| *r * 2.0).collect();
    touched.set_configuration(wide, &doubled).unwrap();
    let wider = touched.unwrapped_positions().unwrap();
    assert!(wider.iter().zip(&now).all(|(a, b)| (*a - *b * 2.0).norm() < 1e-9));
}

const INPUT: &str = r#"
units = "lj"
[run]
device = "cpu"
threads = 1
reproducible = true
[system]
lattice = "fcc"
atoms = 108
density = 0.8
temperature = 1.0
[species.A]
mass = 1.0
[[force]]
kind = "lennard-jones"
cutoff = 2.0
pairs."A-A" = { epsilon = 1.0, sigma = 1.0 }
"#;

/// The text of a stage.
fn stage(name: &str) -> String {
    format!("[[stage]]\nname = \"{name}\"\nsteps = 20\ntimestep = 0.004\n")
}

#[test]
fn stages_are_added_in_the_course_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let parse = |text: &str| Input::parse(Path::new("fluid.toml"), text).unwrap();
    let (one, three) = (stage("one"), stage("three"));
    let mut simulation =
        Simulation::from_input(&parse(&format!("{INPUT}{one}{three}")), &Overrides::default()).unwrap();
    simulation.write_to(&folder.path().join("out"), Existing::Refuse).unwrap();
    simulation.advance(7).unwrap();
    assert_eq!(simulation.next_stage_index(), 1);
    let cold = "[[stage]]\nname = \"two\"\nsteps = 5\ntimestep = 0.004\nthermostat = { kind = \"bussi\", temperature = -1, period = 1 }\n";
    assert!(Input::parse(Path::new("fluid.toml"), &format!("{INPUT}{one}{cold}{three}")).is_err());
    let longer = parse(&format!("{INPUT}{one}{}{three}", stage("two")));
    simulation.insert_stage(&longer).unwrap();
    assert!(simulation.insert_stage(&longer).is_err());
    let mut extent = Extent::Through(1);
    simulation.advance_with(&mut extent, &mut (), &|| false).unwrap();
    assert_eq!((simulation.step(), simulation.stage_index()), (27, 2));
    simulation.advance(3).unwrap();
    simulation.save_checkpoint().unwrap();
    simulation.leave_folder().unwrap();
    let mut resumed = Simulation::resume(&folder.path().join("out"), &Overrides::default()).unwrap();
    assert_eq!((resumed.step(), resumed.stage_index(), resumed.stages().len()), (30, 2, 3));
    resumed.run().unwrap();
    simulation.run().unwrap();
    assert_eq!(bits(&mut resumed), bits(&mut simulation));
}

/// Energies and forces before a stage are those with which it begins, biases and restraints included; without a stage
/// those of biases that name none; at the end those of the last stage.
#[test]
fn energies_between_stages_are_those_of_the_next_one() {
    let springs = r#"
[[variable]]
name = "d"
kind = "distance"
between = ["index 1", "index 60"]
[[bias]]
name = "pull"
kind = "harmonic"
variable = "d"
center = 0.7
stiffness = [20, 50]
[[bias]]
name = "later"
kind = "harmonic"
variable = "d"
center = 0.7
stiffness = 30
stages = ["two"]
[[restraint]]
name = "r"
kind = "distance"
between = ["index 1", "index 60"]
length = 0.7
stiffness = 10
"#;
    let none = Overrides::default();
    let open = |stages: &str| {
        let input = Input::parse(Path::new("fluid.toml"), &format!("{INPUT}{springs}{stages}")).unwrap();
        Simulation::from_input(&input, &none).unwrap()
    };
    let stages = format!(
        "{}restraints = {{ r = [40, 60] }}\n{}restraints = {{ r = 5 }}\n",
        stage("one"),
        stage("two")
    );
    // Stiffness of both biases and of the restraint.
    let check = |simulation: &mut Simulation, [pull, later, restraint]: [f64; 3]| {
        let thermo = simulation.evaluate().unwrap().thermo.clone();
        let names = simulation.quantities().iter().map(|quantity| quantity.name.as_str());
        let values: HashMap<_, _> = names.zip(thermo.values()).collect();
        let value = |name: &str| values[name].unwrap();
        let spring = 0.5 * (value("d") - 0.7).powi(2);
        let found = ["bias_pull", "bias_later", "restraint", "bias"].map(value);
        let expected = [pull, later, restraint, pull + later].map(|k| k * spring);
        assert!(spring > 0.01, "{spring}");
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-6 * (1.0 + expected), "{found} {expected}");
        }
    };
    let (mut simulation, mut begun) = (open(&stages), open(&stages));
    begun.observe(Pauses(100));
    assert_eq!((begun.run().unwrap(), begun.step()), (Outcome::Paused, 0));
    let (first, second) = (simulation.evaluate().unwrap().clone(), begun.evaluate().unwrap().clone());
    assert_eq!((first.thermo.potential, first.virial), (second.thermo.potential, second.virial));
    assert_eq!(simulation.forces().unwrap(), begun.forces().unwrap());
    check(&mut simulation, [20.0, 0.0, 40.0]);
    let folder = tempfile::tempdir().unwrap();
    simulation.write_to(folder.path(), Existing::Replace).unwrap();
    simulation.advance_with(&mut Extent::Through(0), &mut (), &|| false).unwrap();
    check(&mut simulation, [35.0, 30.0, 5.0]);
    begun.run().unwrap();
    simulation.run().unwrap();
    assert_eq!(bits(&mut simulation), bits(&mut begun));
    check(&mut simulation, [50.0, 30.0, 5.0]);
    simulation.leave_folder().unwrap();
    check(&mut Simulation::resume(folder.path(), &none).unwrap(), [50.0, 30.0, 5.0]);
    let unbound = springs.replace("stages = [\"two\"]\n", "");
    let input = Input::parse(Path::new("fluid.toml"), &format!("{INPUT}{unbound}")).unwrap();
    check(&mut Simulation::from_input(&input, &none).unwrap(), [20.0, 30.0, 10.0]);
}

#[test]
fn a_run_goes_back_to_a_save_point() {
    let folder = tempfile::tempdir().unwrap();
    let (out, none) = (folder.path().join("out"), Overrides::default());
    let written = "thermo = { every = 4 }\ntrajectory = { every = 4, format = \"dcd\" }\n";
    let text = format!("{INPUT}{}{written}{}{written}", stage("one"), stage("two"));
    let open = || {
        let input = Input::parse(Path::new("fluid.toml"), &text).unwrap();
        Simulation::from_input(&input, &none).unwrap()
    };
    let mut tried = open();
    assert!(tried.save_point().unwrap_err().message().contains("no folder"));
    tried.write_to(&out, Existing::Refuse).unwrap();
    tried.advance(7).unwrap();
    let point = tried.save_point().unwrap();
    let read = |name: &str| std::fs::read(out.join(name)).unwrap();
    let files = ["thermo.csv", "one.dcd"].map(read);
    // Ways into the stage under way, into the next one, whose trajectory is begun, and to the end.
    for steps in [9, 20, 33] {
        tried.advance(steps).unwrap();
        assert!(
            ["thermo.csv", "one.dcd"].map(read).iter().zip(&files).all(|(now, then)| now.len() > then.len())
        );
        tried.restore(&point, &none).unwrap();
        assert_eq!((tried.step(), tried.stage_index(), tried.stage_step()), (7, 0, Some(7)));
        assert!(["thermo.csv", "one.dcd"].map(read) == files && !out.join("two.dcd").exists());
        assert!(!String::from_utf8(read("summary.json")).unwrap().contains("two.dcd"));
    }
    // Another process would go on from there, too.
    tried.advance(33).unwrap();
    tried.restore(&point, &none).unwrap();
    drop(tried);
    let (mut resumed, mut whole) = (Simulation::resume(&out, &none).unwrap(), open());
    whole.write_to(&folder.path().join("whole"), Existing::Refuse).unwrap();
    for simulation in [&mut whole, &mut resumed] {
        simulation.run().unwrap();
    }
    assert_eq!(bits(&mut whole), bits(&mut resumed));
    for name in ["thermo.csv", "one.dcd", "two.dcd"] {
        assert!(read(name) == std::fs::read(folder.path().join("whole").join(name)).unwrap(), "{name}");
    }
    whole.leave_folder().unwrap();
    assert!(whole.restore(&point, &none).unwrap_err().message().contains("any more"));
}

/// Atoms that overlapped, which is an error, and are moved apart again are as if nothing had been.
#[test]
fn atoms_that_overlapped_may_be_moved_apart() {
    for open in [None, Some(emulated as Open)] {
        let mut simulation = fluid(open);
        let (r, v) = (simulation.positions().unwrap(), simulation.velocities().unwrap());
        let before = simulation.evaluate().unwrap().thermo.potential;
        let mut overlapping = r.clone();
        overlapping[1] = overlapping[0];
        simulation.set_positions(&overlapping).unwrap();
        // A GPU has the largest number that its pair forces may have.
        match simulation.evaluate().map(|evaluated| evaluated.thermo.potential) {
            Ok(potential) => assert!(potential > 1e9, "{potential}"),
            Err(error) => assert!(error.message().contains("not finite"), "{error}"),
        }
        simulation.set_positions(&r).unwrap();
        simulation.set_velocities(&v).unwrap();
        let after = simulation.evaluate().unwrap().thermo.potential;
        assert!((after - before).abs() < 1e-7 * before.abs(), "{after} {before}");
        simulation.advance(5).unwrap();
    }
}

/// A run that writes to another folder in the middle of a stage writes frames there from then on.
#[test]
fn trajectories_go_on_in_another_folder() {
    let text = r#"units = "lj"
[system]
lattice = "fcc"
atoms = 108
density = 0.8
temperature = 1
[species.A]
[[force]]
kind = "lennard-jones"
cutoff = 2.2
pairs."A-A" = { epsilon = 1, sigma = 1 }
[[stage]]
name = "s"
steps = 40
timestep = 0.004
thermo = { every = 10 }
trajectory = { every = 10, format = "xyz" }
"#;
    let input = Input::parse(Path::new("s.toml"), text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    simulation.write_to(&first, Existing::Refuse).unwrap();
    simulation.advance(15).unwrap();
    simulation.write_to(&second, Existing::Refuse).unwrap();
    simulation.run().unwrap();
    let frames = |folder: &Path| std::fs::read_to_string(folder.join("s.xyz")).unwrap().lines().count() / 110;
    assert_eq!((frames(&first), frames(&second)), (2, 3));
    assert_eq!(column(&second, "step"), [20.0, 30.0, 40.0]);
}
