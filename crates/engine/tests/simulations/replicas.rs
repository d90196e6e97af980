//! Replica exchange: exact averages of every replica, restarts, and what is refused.

use crate::fixtures::{column, thermo_csv};
use jostle_analysis::averages::BlockAverage;
use jostle_core::Result;
use jostle_engine::replicas::Replicas;
use jostle_engine::{Existing, Outcome, Overrides, Simulation};
use jostle_io::Input;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Atoms without forces between them, but those of `more`, with a thermostat at this temperature and a seed.
fn input(temperature: f64, seed: u64, more: &str, stage: &str) -> Input {
    let text = format!(
        r#"
units = "lj"
[system]
lattice = "sc"
atoms = 27
density = 0.5
temperature = {temperature}
seed = {seed}
[species.A]
mass = 1
{more}
[[stage]]
name = "sample"
thermostat = {{ kind = "langevin", temperature = {temperature}, friction = 2 }}
{stage}
[run]
device = "cpu"
reproducible = true
"#
    );
    Input::parse(Path::new("replica.toml"), &text).unwrap()
}

fn named(inputs: impl IntoIterator<Item = Input>) -> Vec<(String, Input)> {
    inputs.into_iter().enumerate().map(|(k, input)| (format!("replica-{k}"), input)).collect()
}

/// Exchange to its end.
fn run(folder: &Path, inputs: &[(String, Input)], every: u64) -> Replicas {
    let mut replicas = Replicas::open(folder, inputs, every, &Overrides::default()).unwrap();
    assert_eq!(replicas.run(&mut |_| {}, &AtomicBool::new(false)).unwrap(), Outcome::Finished);
    replicas
}

/// Refuses a mean over the rows of a replica, but for the first tenth, that is not the exact one.
#[track_caller]
fn assert_mean(folder: &Path, replica: usize, quantity: &str, exact: f64) {
    let rows = column(&folder.join(format!("replica-{replica}")), quantity);
    let mut average = BlockAverage::default();
    rows[rows.len() / 10..].iter().for_each(|value| average.add(*value));
    let found = average.estimate().unwrap();
    let what = format!("replica {replica}, {quantity}: {} +- {}, not {exact}", found.mean, found.error);
    println!("{what}");
    assert!((found.mean - exact).abs() < 4.0 * found.error && found.error < 0.03 * exact, "{what}");
}

/// Atoms on springs have the energy 3/2 k_B T each, whatever the springs. Replicas differ in temperature, or in the
/// springs.
#[test]
fn atoms_on_springs_have_their_energy_at_every_temperature() {
    let replicas = [(0.5, 40.0), (0.6, 40.0), (0.6, 55.0), (0.75, 55.0)];
    let inputs = replicas.iter().zip(1..).map(|((temperature, stiffness), seed)| {
        let springs = format!(
            "[[restraint]]\nname = \"home\"\nkind = \"position\"\natoms = \"all\"\nstiffness = {stiffness}\n"
        );
        input(*temperature, seed, &springs, "steps = 12000\ntimestep = 0.02\nthermo = { every = 10 }")
    });
    let folder = tempfile::tempdir().unwrap();
    let finished = run(folder.path(), &named(inputs), 20);
    for (k, (temperature, _)) in replicas.iter().enumerate() {
        assert_mean(folder.path(), k, "potential", 1.5 * 27.0 * temperature);
    }
    for pair in finished.pairs() {
        assert!(pair.tried > 200 && (0.1..0.9).contains(&pair.acceptance()), "{pair:?}");
    }
    // Configurations have passed from one end to the other.
    let table = std::fs::read_to_string(folder.path().join("exchange.csv")).unwrap();
    let last: Vec<&str> = table.lines().skip(1).filter_map(|row| row.split(',').next_back()).collect();
    assert!((0..4).all(|k| last.contains(&&*k.to_string())), "{table}");
}

/// Two atoms on a spring along an axis are its length apart, and replicas have springs of other lengths: the energy of a
/// bias, which the host adds, takes part.
#[test]
fn atoms_in_umbrella_windows_are_where_these_hold_them() {
    let lengths = [0.5, 0.75, 1.0];
    let inputs = lengths.iter().zip(1..).map(|(length, seed)| {
        let bias = format!(
            "[[variable]]\nname = \"d\"\nkind = \"distance\"\nbetween = [\"index 0\", \"index 1\"]\nalong = \"x\"\n\
             [[bias]]\nname = \"u\"\nkind = \"harmonic\"\nvariable = \"d\"\ncenter = {length}\nstiffness = 20\n"
        );
        input(0.6, seed, &bias, "steps = 12000\ntimestep = 0.02\nthermo = { every = 10 }")
    });
    let folder = tempfile::tempdir().unwrap();
    let finished = run(folder.path(), &named(inputs), 20);
    for (k, length) in lengths.iter().enumerate() {
        assert_mean(folder.path(), k, "d", *length);
    }
    assert!(finished.pairs().all(|pair| (0.1..0.9).contains(&pair.acceptance())));
}

/// Volumes of an ideal gas have the mean (N + 1) k_B T / P.
#[test]
fn an_ideal_gas_has_its_volume_at_every_pressure() {
    let replicas = [(0.30, 1.2), (0.36, 1.2), (0.36, 1.4)];
    let inputs = replicas.iter().zip(1..).map(|((pressure, temperature), seed)| {
        let stage = format!(
            "steps = 15000\ntimestep = 0.004\nthermo = {{ every = 5 }}\n\
             barostat = {{ kind = \"monte-carlo\", pressure = {pressure}, every = 1 }}"
        );
        input(*temperature, seed, "", &stage)
    });
    let folder = tempfile::tempdir().unwrap();
    let finished = run(folder.path(), &named(inputs), 10);
    for (k, (pressure, temperature)) in replicas.iter().enumerate() {
        assert_mean(folder.path(), k, "volume", 28.0 * temperature / pressure);
    }
    assert!(finished.pairs().all(|pair| (0.1..0.99).contains(&pair.acceptance())));
}

const FLUID: &str = "[[force]]\nkind = \"lennard-jones\"\ncutoff = 1.5\ntruncation = \"shifted\"\n\
                     pairs.\"A-A\" = { epsilon = 1, sigma = 1 }\n";

fn fluids() -> Vec<(String, Input)> {
    let stage = "steps = 120\ntimestep = 0.004\nthermo = { every = 5 }\n\
                 [[stage]]\nname = \"rest\"\nsteps = 20\ntimestep = 0.004\nthermo = { every = 5 }";
    named(
        [1.0, 1.1, 1.2]
            .into_iter()
            .zip(1..)
            .map(|(temperature, seed)| input(temperature, seed, FLUID, stage)),
    )
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        match path.is_dir() {
            true => copy(&path, &target),
            false => drop(std::fs::copy(&path, &target).unwrap()),
        }
    }
}

/// An exchange that is interrupted, and one that is killed some rounds after its last checkpoints, give the bits of one
/// that runs through.
#[test]
fn restarts_change_no_bit() {
    let home = tempfile::tempdir().unwrap();
    let [through, stopped, killed] = ["through", "stopped", "killed"].map(|name| home.path().join(name));
    let finished = run(&through, &fluids(), 10);
    assert!(finished.pairs().all(|pair| pair.tried > 4));
    assert!(finished.pairs().any(|pair| pair.accepted > 0));
    drop(finished);
    let stop = AtomicBool::new(false);
    let mut first = Replicas::open(&stopped, &fluids(), 10, &Overrides::default()).unwrap();
    let mut observe = |replicas: &Replicas| stop.store(replicas.exchanged_at() >= 40, Ordering::Relaxed);
    assert_eq!(first.run(&mut observe, &stop).unwrap(), Outcome::Interrupted);
    drop(first);
    let mut second = Replicas::open(&stopped, &fluids(), 10, &Overrides::default()).unwrap();
    let mut observe = |replicas: &Replicas| {
        if replicas.exchanged_at() == 70 {
            copy(&stopped, &killed);
        }
    };
    assert_eq!(second.run(&mut observe, &AtomicBool::new(false)).unwrap(), Outcome::Finished);
    drop(second);
    run(&killed, &fluids(), 10);
    for found in [&stopped, &killed] {
        assert_same_bits(found, &through);
    }
    // A finished exchange has nothing left to do.
    let mut again = Replicas::open(&through, &fluids(), 10, &Overrides::default()).unwrap();
    let nothing = &mut |_: &Replicas| panic!("a round of a finished exchange");
    assert_eq!(again.run(nothing, &AtomicBool::new(false)).unwrap(), Outcome::Finished);
}

/// Refuses folders of exchanges with other rows, or another table of exchanges.
fn assert_same_bits(found: &Path, expected: &Path) {
    for name in ["replica-0", "replica-1", "replica-2"] {
        assert_eq!(thermo_csv(&found.join(name)), thermo_csv(&expected.join(name)), "{name}");
    }
    let table = |folder: &Path| std::fs::read_to_string(folder.join("exchange.csv")).unwrap();
    assert_eq!(table(found), table(expected));
}

/// Replicas that have come to boxes of their own, in a stage with a barostat after one without, go on with them.
#[test]
fn restarts_at_constant_pressure_change_no_bit() {
    let replicas = || {
        named([0.3, 0.5, 0.8].into_iter().zip(1..).map(|(pressure, seed)| {
            let stage = format!(
                "steps = 40\ntimestep = 0.004\nthermo = {{ every = 5 }}\n[[stage]]\nname = \"press\"\n\
                 steps = 100\ntimestep = 0.004\nthermo = {{ every = 5 }}\n\
                 thermostat = {{ kind = \"bussi\", temperature = 1, period = 0.2 }}\n\
                 barostat = {{ kind = \"monte-carlo\", pressure = {pressure}, every = 2 }}"
            );
            input(1.0, seed, FLUID, &stage)
        }))
    };
    let home = tempfile::tempdir().unwrap();
    let [through, stopped] = ["through", "stopped"].map(|name| home.path().join(name));
    let finished = run(&through, &replicas(), 10);
    let volumes: Vec<f64> = finished.simulations().iter().map(|one| one.simbox().volume()).collect();
    assert!(volumes[0] != volumes[1] && volumes[1] != volumes[2], "{volumes:?}");
    drop(finished);
    let stop = AtomicBool::new(false);
    let mut first = Replicas::open(&stopped, &replicas(), 10, &Overrides::default()).unwrap();
    let is_reached =
        |replicas: &Replicas| replicas.stage().unwrap().name == "press" && replicas.exchanged_at() >= 40;
    let mut observe = |replicas: &Replicas| stop.store(is_reached(replicas), Ordering::Relaxed);
    assert_eq!(first.run(&mut observe, &stop).unwrap(), Outcome::Interrupted);
    drop(first);
    run(&stopped, &replicas(), 10);
    assert_same_bits(&stopped, &through);
    // Nothing is left, whatever the boxes.
    run(&stopped, &replicas(), 10);
}

/// A replica that is interrupted after each step, while the others are where atoms are exchanged: their energies have
/// that of the bias, though its stage goes on with the next step only.
#[test]
fn restarts_with_biases_change_no_bit() {
    let replicas = || {
        named([0.9, 1.1, 1.3].into_iter().zip(1..).map(|(length, seed)| {
            let bias = format!(
                "{FLUID}[[variable]]\nname = \"d\"\nkind = \"distance\"\n\
                 between = [\"index 0\", \"index 1\"]\n[[bias]]\nname = \"u\"\nkind = \"harmonic\"\n\
                 variable = \"d\"\ncenter = {length}\nstiffness = 40\n"
            );
            input(1.0, seed, &bias, "steps = 60\ntimestep = 0.004\nthermo = { every = 5 }")
        }))
    };
    let home = tempfile::tempdir().unwrap();
    let [through, stopped] = ["through", "stopped"].map(|name| home.path().join(name));
    run(&through, &replicas(), 5);
    for step in 0..24 {
        let mut part = Replicas::open(&stopped, &replicas(), 5, &Overrides::default()).unwrap();
        part.simulations()[step / 5 % 3].handle().stop();
        assert_eq!(part.run(&mut |_| {}, &AtomicBool::new(false)).unwrap(), Outcome::Interrupted, "{step}");
    }
    run(&stopped, &replicas(), 5);
    assert_same_bits(&stopped, &through);
}

/// Atoms of another replica come with their energy, which the conserved quantity takes off.
#[test]
fn the_conserved_quantity_keeps_through_exchanges() {
    let fluid = |temperature: f64, seed: u64| {
        let stage = "steps = 2000\ntimestep = 0.002\nthermo = { every = 20 }";
        let text = input(temperature, seed, FLUID, stage).source.text.replace("langevin", "bussi");
        Input::parse(Path::new("replica.toml"), &text.replace("friction = 2", "period = 0.2")).unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let finished = run(folder.path(), &named([fluid(1.0, 1), fluid(1.3, 2)]), 40);
    assert!(finished.pairs().all(|pair| pair.acceptance() > 0.1));
    for replica in ["replica-0", "replica-1"] {
        let [conserved, total] =
            ["conserved", "total"].map(|name| column(&folder.path().join(replica), name));
        let spread = |all: &[f64]| {
            let [least, most] = [f64::min, f64::max].map(|of| all.iter().copied().reduce(of).unwrap());
            most - least
        };
        let [conserved, total] = [spread(&conserved), spread(&total)];
        assert!(conserved < 0.02 * total, "{replica}: {conserved} of {total}");
    }
}

#[test]
fn what_cannot_be_exchanged_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let refused = |inputs: &[Input], every: u64, words: &str| {
        let folder = home.path().join("refused");
        let opened = Replicas::open(&folder, &named(inputs.iter().cloned()), every, &Overrides::default());
        let error = opened.err().unwrap_or_else(|| panic!("not refused: {words}")).to_string();
        assert!(error.contains(words), "{error}");
        assert!(!folder.exists(), "{words}: something was written");
    };
    let stage = "steps = 100\ntimestep = 0.004";
    let one = || input(1.0, 1, FLUID, stage);
    refused(&[one()], 10, "two runs or more");
    refused(&[one(), one()], 0, "a step or more");
    refused(&[one(), one()], 100, "more than 100 steps");
    refused(&[one(), input(1.0, 1, FLUID, "steps = 200\ntimestep = 0.004")], 10, "the same stages");
    let set = |from: &str, to: &str| {
        let text = one().source.text.replace(from, to);
        Input::parse(Path::new("replica.toml"), &text).unwrap()
    };
    refused(&[one(), set("density = 0.5", "density = 0.6")], 10, "different boxes");
    refused(&[one(), set("atoms = 27", "atoms = 64")], 10, "the same atoms");
    let along = || input(1.0, 1, FLUID, &format!("{stage}\nmeasure = [{{ kind = \"vacf\", every = 5 }}]"));
    refused(&[along(), along()], 10, "along the path of atoms");
    let text = one().source.text.replace("thermostat = {", "#");
    let alone = Input::parse(Path::new("replica.toml"), &text).unwrap();
    refused(&[alone.clone(), alone], 10, "no stage has a thermostat");
    let both = |more: &str, words: &str| {
        let one = || input(1.0, 1, &format!("{FLUID}{more}"), stage);
        refused(&[one(), one()], 10, words);
    };
    let variable = "[[variable]]\nname = \"v\"\n";
    let ends = "kind = \"distance\"\nbetween = [\"index 0\", \"index 1\"]\n";
    let pull =
        "[[bias]]\nname = \"b\"\nvariable = \"v\"\nkind = \"harmonic\"\ncenter = [1, 2]\nstiffness = 9\n";
    both(&format!("{variable}{ends}{pull}"), "bias 'b' does work on atoms");
    let angle = "kind = \"dihedral\"\ncenters = [\"index 0\", \"index 1\", \"index 3\", \"index 13\"]\n";
    let turn = "[[bias]]\nname = \"b\"\nvariable = \"v\"\nkind = \"torque\"\ntorque = 1\n";
    both(&format!("{variable}{angle}{turn}"), "bias 'b' counts the turns");
}

/// Stages of replicas in which each would have averages over boxes of the others.
#[test]
fn boxes_that_a_stage_keeps_are_equal() {
    let home = tempfile::tempdir().unwrap();
    let thermostat = "thermostat = { kind = \"bussi\", temperature = 1, period = 0.2 }";
    let dynamics = |name: &str, more: &str| {
        format!("[[stage]]\nname = \"{name}\"\nsteps = 100\ntimestep = 0.004\n{more}\n")
    };
    let opened = |name: &str, inputs: [Input; 2]| {
        Replicas::open(&home.path().join(name), &named(inputs), 10, &Overrides::default())
    };
    let stage = "steps = 100\ntimestep = 0.004\n";
    let press =
        |kind: &str| format!("{stage}barostat = {{ kind = \"monte-carlo\", pressure = 0.4, {kind} }}\n");
    let isotropic = press("coupling = \"isotropic\"");
    // After a barostat, which can be foreseen.
    for (first, more, words) in [
        (&isotropic, "", "another box after the barostat of stage 'sample', and stage 'next' keeps it"),
        (
            &press("coupling = \"anisotropic\""),
            "barostat = { kind = \"monte-carlo\", pressure = 0.4 }",
            "another shape of its box after the barostat of stage 'sample', and stage 'next' keeps it",
        ),
    ] {
        let one =
            || input(1.0, 1, FLUID, &(first.clone() + &dynamics("next", &format!("{thermostat}\n{more}"))));
        let error = opened("foreseen", [one(), one()]).err().unwrap().to_string();
        assert!(error.contains(words) && error.contains("replica.toml"), "{error}");
    }
    // Without exchanges in the second stage, averages are those of its own box.
    let alone = || input(1.0, 1, FLUID, &(isotropic.clone() + &dynamics("next", "")));
    opened("alone", [alone(), alone()]).unwrap();
    // After deformations that differ.
    let deformed = |rate: f64| {
        let shear = format!("deform = {{ kind = \"shear\", plane = \"xy\", rate = {rate} }}");
        let text = input(1.0, 1, FLUID, &(stage.to_string() + &dynamics("next", thermostat))).source.text;
        let text = text.replacen("thermostat = {", &format!("{shear} #"), 1);
        Input::parse(Path::new("replica.toml"), &text).unwrap()
    };
    let mut sheared = opened("sheared", [deformed(0.1), deformed(0.2)]).unwrap();
    let error = sheared.run(&mut |_| {}, &AtomicBool::new(false)).err().unwrap().to_string();
    assert!(error.contains("different boxes, which stage 'next' keeps"), "{error}");
    // A barostat that keeps the shape, from boxes of two shapes.
    let shaped = |atoms: &str| {
        let text = input(1.0, 1, "", &isotropic).source.text.replace("atoms = 27", atoms);
        Input::parse(Path::new("replica.toml"), &text).unwrap()
    };
    let error = opened("shapes", [shaped("cells = [2, 2, 4]"), shaped("cells = [4, 2, 2]")]).err().unwrap();
    assert!(error.to_string().contains("different shapes of their boxes"), "{error}");
}

/// Folders of other runs are not replaced, and an exchange goes on as it began.
#[test]
fn folders_of_others_are_left_alone() -> Result<()> {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("runs");
    let mut alone = Simulation::from_input(&fluids()[1].1, &Overrides::default())?;
    alone.write_to(&folder.join("replica-1"), Existing::Refuse)?;
    drop(alone);
    let error =
        |every| Replicas::open(&folder, &fluids(), every, &Overrides::default()).err().unwrap().to_string();
    assert!(error(10).contains("a run without exchange"), "{}", error(10));
    std::fs::remove_dir_all(&folder).unwrap();
    run(&folder, &fluids(), 10);
    assert!(error(20).contains("at other steps"), "{}", error(20));
    Ok(())
}

/// A replica does not go on alone, and no second program goes on with an exchange that is under way.
#[test]
fn replicas_belong_to_their_exchange() {
    let home = tempfile::tempdir().unwrap();
    let open = || Replicas::open(home.path(), &fluids(), 10, &Overrides::default());
    let stop = AtomicBool::new(false);
    let mut first = open().unwrap();
    let mut observe = |replicas: &Replicas| stop.store(replicas.exchanged_at() >= 40, Ordering::Relaxed);
    assert_eq!(first.run(&mut observe, &stop).unwrap(), Outcome::Interrupted);
    let replica = home.path().join("replica-1");
    let alone = || Simulation::resume(&replica, &Overrides::default()).err().unwrap();
    drop(first);
    let refused = alone();
    assert!(refused.message().contains("a replica of an exchange"), "{refused}");
    assert!(refused.help().unwrap().contains("--exchange 10"), "{refused}");

    let _second = open().unwrap();
    let checkpoint = home.path().join("replica-0/latest.checkpoint");
    std::fs::write(&checkpoint, "a later one").unwrap();
    let refused = open().err().unwrap();
    assert!(refused.message().contains("another run is writing"), "{refused}");
    assert_eq!(std::fs::read_to_string(&checkpoint).unwrap(), "a later one");
}
