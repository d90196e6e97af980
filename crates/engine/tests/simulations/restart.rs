//! Equality, bit for bit, of runs that were interrupted and resumed with uninterrupted ones.

use crate::biases;
use crate::fixtures::{argon, column, emulated, run_in_parts, stop_every, thermo_csv};
use crate::reflection::slab;
use jostle_core::{Precision, Settings, UnitSystem};
use jostle_engine::model::{DeviceInput, StageInput, ThermostatInput};
use jostle_engine::{Existing, Outcome, Overrides, Simulation};
use jostle_io::Input;
use jostle_potentials::{PairKind, PairTerm, Truncation};
use std::fs;
use std::path::Path;

fn input(stages: &str, threads: usize) -> Input {
    let text = format!(
        r#"
title = "restart"
units = "lj"
[system]
lattice = "fcc"
atoms = 108
density = 0.8
temperature = 1.2
seed = 5
[species.A]
mass = 1
[[force]]
kind = "lennard-jones"
cutoff = 2.2
pairs."A-A" = {{ epsilon = 1, sigma = 1 }}
{stages}
[run]
threads = {threads}
reproducible = true
"#
    );
    Input::parse(Path::new("restart.toml"), &text).unwrap()
}

/// Compares an interrupted run with an uninterrupted one; returns the number of trajectories compared.
fn check(stages: &str, threads: usize) -> usize {
    check_input(&input(stages, threads))
}

fn check_input(input: &Input) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    let mut a = run_in_parts(input, &whole, u64::MAX);
    let mut b = run_in_parts(input, &parts, INTERVAL);
    assert_eq!(a.unwrapped_positions().unwrap(), b.unwrapped_positions().unwrap());
    assert_eq!(a.velocities().unwrap(), b.velocities().unwrap());
    assert_eq!(a.angular_velocities().unwrap(), b.angular_velocities().unwrap());
    assert_eq!(a.step(), b.step());
    assert!(thermo_csv(&whole).lines().count() > 10, "{}", thermo_csv(&whole));
    assert_eq!(thermo_csv(&whole), thermo_csv(&parts));
    let mut trajectories = 0;
    for file in fs::read_dir(&whole).unwrap() {
        let name = file.unwrap().file_name();
        let is_trajectory = [".xtc", ".dcd", ".xyz"].iter().any(|e| name.to_string_lossy().ends_with(e));
        if is_trajectory {
            trajectories += 1;
            assert_eq!(
                fs::read(whole.join(&name)).unwrap(),
                fs::read(parts.join(&name)).unwrap(),
                "{name:?}"
            );
        }
    }
    for (a, b) in a.reports().iter().zip(b.reports()) {
        assert_eq!(a.averages, b.averages);
        assert_eq!(a.drift, b.drift);
    }
    trajectories
}

/// Settings that a program has changed in memory, and the text does not have, are those of the resumed run, too.
#[test]
fn settings_changed_in_memory_are_kept() {
    let mut input = input(&stage("only", ""), 1);
    input.run.settings.precision = Precision::Double;
    input.run.device = DeviceInput::Cpu;
    check_input(&input);
    assert!(!input.source.text.contains("precision"), "the text says nothing of it");
    let folder = tempfile::tempdir().unwrap();
    run_in_parts(&input, folder.path(), 40);
    let resumed = Simulation::resume(folder.path(), &Overrides::default()).unwrap();
    assert!(resumed.device().contains("double"), "{}", resumed.device());
}

/// Steps between interruptions.
const INTERVAL: u64 = 23;

/// Quantities of a resumed run, asked for before its first step, are those with its biases.
#[test]
fn biases_act_before_the_first_step_of_a_resumed_run() {
    let bias =
        "[[bias]]\nname = \"pull\"\nkind = \"harmonic\"\nvariable = \"d\"\ncenter = 1\nstiffness = 50\n";
    let input = biases::input(&format!("{}{bias}", biases::DISTANCE), biases::BUSSI);
    let folder = tempfile::tempdir().unwrap();
    let mut first = Simulation::from_input(&input, &Overrides::default()).unwrap();
    first.write_to(folder.path(), Existing::Replace).unwrap();
    first.advance(10).unwrap();
    first.leave_folder().unwrap();
    let mut second = Simulation::resume(folder.path(), &Overrides::default()).unwrap();
    assert_eq!(second.evaluate().unwrap(), first.evaluate().unwrap());
}

fn stage(name: &str, more: &str) -> String {
    format!("[[stage]]\nname = \"{name}\"\nsteps = 60\ntimestep = 0.005\nthermo = {{ every = 5 }}\n{more}\n")
}

/// Each part of the run is long enough for several new neighbour lists.
#[test]
fn constant_energy() {
    check(&stage("nve", "").replace("steps = 60", "steps = 1500"), 2);
}

/// The box depends on the step alone, and the list is rebuilt when the box changes.
#[test]
fn deformations() {
    for deform in [
        "deform = { kind = \"shear\", plane = \"xy\", rate = 0.05, every = 7 }",
        "deform = { kind = \"tension\", axis = \"z\", rate = 0.02, every = 10 }",
    ] {
        let stages = stage("deform", deform).replace("steps = 60", "steps = 300");
        check(&(stages + &stage("after", "")), 2);
    }
}

/// Heat is exchanged at the same steps, and the measurement of its flux is saved.
#[test]
fn heat_fluxes() {
    let drive = "heat_flux = { axis = \"y\", slabs = 8, every = 7, swaps = 2 }";
    let stages = stage("drive", drive).replace("steps = 60", "steps = 400") + &stage("after", "");
    check(&stages, 2);
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str, interval| {
        let run = folder.path().join(name);
        run_in_parts(&input(&stages, 2), &run, interval);
        fs::read_to_string(run.join("drive.thermal-conductivity.json")).unwrap()
    };
    let whole = read("whole", u64::MAX);
    assert_eq!(whole, read("parts", INTERVAL));
    let json: serde_json::Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(json["frames"], 58);
}

/// The state of barostats is saved, with and without thermostats that have a state.
#[test]
fn every_barostat() {
    for (barostat, thermostat) in [
        ("monte-carlo\", pressure = 1.0, every = 7", "langevin\", friction = 1.0"),
        ("monte-carlo\", pressure = 1.0, every = 3, coupling = \"anisotropic\"", "bussi\", period = 0.5"),
        (
            "cell-rescaling\", pressure = 1.0, time = 1.0, compressibility = 0.1, every = 4",
            "nose-hoover\", period = 0.5",
        ),
        ("mtk\", pressure = 1.0, time = 1.0, every = 4", "nose-hoover\", period = 0.5"),
        ("mtk\", pressure = 1.0, time = 1.0, every = 3", "langevin\", friction = 1.0"),
    ] {
        let more = format!(
            "barostat = {{ kind = \"{barostat} }}\nthermostat = {{ temperature = 1.0, kind = \"{thermostat} }}"
        );
        let stages = stage("npt", &more).replace("steps = 60", "steps = 300");
        check(&(stages + &stage("after", "")), 2);
    }
}

/// The mesh for few charges depends on their density, for which the volume at the beginning of the run is
/// kept.
#[test]
fn charges_under_a_barostat() {
    let npt = "barostat = { kind = \"monte-carlo\", pressure = 1.0, every = 7 }\n\
               thermostat = { temperature = 1.0, kind = \"langevin\", friction = 1.0 }";
    let stages = stage("npt", npt).replace("steps = 60", "steps = 200") + &stage("after", "");
    let text = format!(
        "units = \"lj\"\n\
         [system]\nlattice = \"sc\"\natoms = 64\ndensity = 0.5\ntemperature = 1.0\nseed = 5\n\
         [species.A]\nmass = 1\ncharge = 1\nfraction = 0.5\n\
         [species.B]\nmass = 1\ncharge = -1\nfraction = 0.5\n\
         [[force]]\nkind = \"lennard-jones\"\ncutoff = 1.9\nmixing = \"geometric\"\n\
         pairs.\"A-A\" = {{ epsilon = 1, sigma = 1 }}\npairs.\"B-B\" = {{ epsilon = 1, sigma = 1 }}\n\
         [electrostatics]\nkind = \"pme\"\naccuracy = 1e-3\norder = 4\n\
         {stages}[run]\nthreads = 1\nreproducible = true\n"
    );
    check_input(&Input::parse(Path::new("ions.toml"), &text).unwrap());
}

/// Friction depends on velocities, grains rotate, and contacts remember.
#[test]
fn grains() {
    let text = r#"
units = "lj"
[system]
place = "random"
box = { lengths = [6, 6, 12] }
periodic = [true, true, false]
temperature = 4
seed = 3
[species.A]
count = 60
radius = 0.5
[species.B]
count = 20
mass = 2
radius = 0.7
[grains]
stiffness = 1000
normal_damping = 5
tangential_damping = 5
friction = 0.5
tangential_stiffness = 300
rolling = { stiffness = 200, damping = 2, friction = 0.1 }
[[field]]
acceleration = [0.5, 0, -2]
[[wall]]
axis = "z"
at = -0.8
atoms = "above"
material = "grains"
[[stage]]
name = "fall"
steps = 1500
timestep = 0.003
thermo = { every = 5 }
[run]
threads = 2
reproducible = true
"#;
    let input = Input::parse(Path::new("grains.toml"), text).unwrap();
    check_input(&input);
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    simulation.run().unwrap();
    let turning = simulation.angular_velocities().unwrap();
    assert!(turning.iter().filter(|w| w.iter().any(|w| w.abs() > 1e-3)).count() > 40);
}

/// Walls that reflect atoms are where they are by the time of the stage, and of its steps.
#[test]
fn walls_that_reflect() {
    let text = format!("{}[run]\nthreads = 1\nreproducible = true\n", slab().source.text);
    check_input(&Input::parse(Path::new("slab.toml"), &text).unwrap());
}

/// Results of measures do not depend on interruptions.
#[test]
fn measures() {
    let kinds = "{ kind = \"rdf\", every = 10 }, { kind = \"msd\", every = 4 }, \
        { kind = \"vacf\", every = 5, lags = 20 }, { kind = \"rdf\", every = 30, cutoff = 1.5 }";
    let sheared =
        format!("measure = [{kinds}]\ndeform = {{ kind = \"shear\", plane = \"xy\", rate = 0.01 }}");
    measures_of_parts(&sheared, &["rdf", "msd", "vacf", "rdf-2"]);
    let at_rest = format!("measure = [{kinds}, {{ kind = \"viscosity\", every = 3, to = 0.1 }}]");
    measures_of_parts(&at_rest, &["rdf", "msd", "vacf", "rdf-2", "viscosity"]);
}

/// Checks that results of the measures of these names are those of an uninterrupted run.
fn measures_of_parts(keys: &str, names: &[&str]) {
    let input = input(&stage("nve", keys).replace("steps = 60", "steps = 400"), 2);
    let folder = tempfile::tempdir().unwrap();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    run_in_parts(&input, &whole, u64::MAX);
    run_in_parts(&input, &parts, INTERVAL);
    for name in names {
        let read = |run: &Path| fs::read_to_string(run.join(format!("nve.{name}.json"))).unwrap();
        assert_eq!(read(&whole), read(&parts), "{name}");
        let json: serde_json::Value = serde_json::from_str(&read(&whole)).unwrap();
        let frames = [("rdf", 40), ("msd", 100), ("vacf", 80), ("rdf-2", 13), ("viscosity", 133)];
        assert_eq!(json["frames"], frames.iter().find(|f| f.0 == *name).unwrap().1, "{name}");
        assert!(whole.join(format!("nve.{name}.csv")).is_file());
    }
    let summary = fs::read_to_string(whole.join("summary.json")).unwrap();
    assert!(summary.contains("nve.rdf-coordination.csv"));
}

/// Numbers that an interruption found, and which are withheld in the end, are not left behind.
#[test]
fn numbers_that_are_known_no_more_are_removed() {
    // Stresses so far apart have nothing to do with each other.
    let kinds = "measure = [{ kind = \"viscosity\", every = 80 }, { kind = \"msd\", every = 4 }]";
    let input = input(&stage("nve", kinds).replace("steps = 60", "steps = 2400"), 2);
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    simulation.write_to(&run, Existing::Refuse).unwrap();
    let [stale, kept] = ["viscosity", "msd"].map(|kind| run.join(format!("nve.{kind}-values.csv")));
    fs::write(&stale, "quantity,unit,value,error\n").unwrap();
    simulation.run().unwrap();
    let json = fs::read_to_string(run.join("nve.viscosity.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["values"].as_array().map(Vec::len), Some(0), "{json:#}");
    assert!(!stale.exists() && kept.exists());
}

/// Dipole moments of water do not depend on interruptions; molecules with a net charge and cut-off
/// electrostatics are refused.
#[test]
fn dipole_moments() {
    let text = |water: &str, charges: &str| {
        format!(
            r#"
units = "real"
[system]
place = "water"
molecules = 64
bond_length = 1.0
bond_angle = 109.47
density = "0.998 g/cm3"
temperature = 300
[species.O]
mass = 15.9994
charge = {water}
[species.H]
mass = 1.008
charge = 0.4238
[[force]]
kind = "lennard-jones"
cutoff = 5
pairs."O-O" = {{ epsilon = 0.1553, sigma = 3.166 }}
pairs."O-H" = "none"
pairs."H-H" = "none"
[electrostatics]
{charges}
[[stage]]
name = "nve"
steps = 100
timestep = 1
thermo = {{ every = 25 }}
measure = [{{ kind = "dielectric", every = 4 }}]
[run]
threads = 1
reproducible = true
[[group]]
name = "some"
atoms = "molecule 0 to 9"
report = true
"#
        )
    };
    let parse = |text: String| Input::parse(Path::new("water.toml"), &text);
    let (mesh, cutoff) = ("kind = \"pme\"\nnet_charge = \"background\"", "kind = \"cutoff\"\n");
    let input = parse(text("-0.8476", mesh)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (whole, parts) = (folder.path().join("whole"), folder.path().join("parts"));
    run_in_parts(&input, &whole, u64::MAX);
    run_in_parts(&input, &parts, INTERVAL);
    let read = |run: &Path| fs::read_to_string(run.join("nve.dielectric.json")).unwrap();
    assert_eq!(read(&whole), read(&parts));
    // Rows have the temperature of a group, whose molecules turn while the run goes on.
    assert!(thermo_csv(&whole).contains("temperature_some"));
    assert_eq!(thermo_csv(&whole), thermo_csv(&parts));
    let json: serde_json::Value = serde_json::from_str(&read(&whole)).unwrap();
    assert_eq!(json["frames"], 25);
    for (water, charges, why) in
        [("-0.8", mesh, "the molecule of atom 1 has the charge 0.0476"), ("-0.8476", cutoff, "a conductor")]
    {
        let refused = Simulation::from_input(&parse(text(water, charges)).unwrap(), &Overrides::default());
        let error = refused.err().unwrap();
        assert!(error.to_string().contains(why), "{error}");
        assert_eq!(error.place().unwrap().line, Some(30));
    }
}

/// A run built by a program, without an input file, is resumed by a builder.
#[test]
fn a_run_without_an_input() {
    let system = argon(256, 0.8, 1.0, 1);
    let builder = || {
        let lj = PairTerm::uniform(PairKind::LennardJones, Truncation::Shifted, &[1.0, 1.0], 2.5);
        let langevin = ThermostatInput::langevin(1.0, 1.0);
        let settings = Settings { threads: Some(1), reproducible: true, ..Settings::default() };
        Simulation::builder(UnitSystem::Lj, system.clone())
            .force(lj)
            .seed(9)
            .settings(settings)
            .stage(StageInput::dynamics("run", 200, 0.004).thermostat(langevin).thermo(10))
    };
    let mut whole = builder().build().unwrap();
    whole.run().unwrap();

    let folder = tempfile::tempdir().unwrap();
    let mut first = builder().build().unwrap();
    first.write_to(&folder.path().join("run"), Existing::Refuse).unwrap();
    assert_eq!(first.run_with(&mut (), &stop_every(87)).unwrap(), Outcome::Interrupted);
    drop(first);
    let error = Simulation::resume(&folder.path().join("run"), &Overrides::default()).map(|_| ());
    assert!(error.unwrap_err().message().contains("put together by a program"));
    let mut second = builder().resume(&folder.path().join("run")).unwrap();
    assert_eq!(second.step(), 87);
    second.run().unwrap();
    assert_eq!(whole.positions().unwrap(), second.positions().unwrap());
    assert_eq!(whole.velocities().unwrap(), second.velocities().unwrap());
}

#[test]
fn every_thermostat() {
    for thermostat in [
        "{ kind = \"rescale\", temperature = 1.0, every = 10 }",
        "{ kind = \"langevin\", temperature = 1.0, friction = 1.0 }",
        "{ kind = \"nose-hoover\", temperature = 1.0, period = 0.5 }",
        "{ kind = \"bussi\", temperature = 1.0, period = 0.5 }",
    ] {
        check(&stage("nvt", &format!("thermostat = {thermostat}")), 1);
    }
}

#[test]
fn every_trajectory_format() {
    for format in ["xtc", "dcd", "xyz"] {
        let trajectory = format!("trajectory = {{ every = 7, format = \"{format}\" }}");
        let compared = check(&(stage("first", &trajectory) + &stage("second", &trajectory)), 1);
        // There are two trajectories and, for formats that do not name the atoms, start.xyz.
        assert_eq!(compared, if format == "xyz" { 2 } else { 3 });
    }
}

#[test]
fn minimisation_between_stages() {
    for minimizer in ["fire", "lbfgs", "conjugate-gradient"] {
        let minimize = format!(
            "[[stage]]\nname = \"relax\"\nthermo = {{ every = 5 }}\n\
             minimize = {{ minimizer = \"{minimizer}\", steps = 60, force_tolerance = 1e-9 }}\n"
        );
        check(&(stage("heat", "") + &minimize + &stage("run", "")), 1);
    }
}

/// Rows of means: those of the samples of another run, also where a run is interrupted between two samples, where a
/// stage ends between two rows, and on the GPU, which samples by itself. The first row is the start.
#[test]
fn rows_of_means() {
    let thermostat = "thermostat = { kind = \"bussi\", temperature = 1.2, period = 0.1 }";
    let stage = |thermo: &str| {
        let stage = stage("sample", thermostat).replace("steps = 60", "steps = 130");
        input(&stage.replace("thermo = { every = 5 }", thermo), 1)
    };
    let folder = tempfile::tempdir().unwrap();
    let (samples, means, parts) =
        (folder.path().join("samples"), folder.path().join("means"), folder.path().join("parts"));
    let by_means = stage("thermo = { every = 40, sample_every = 10 }");
    let of_samples = run_in_parts(&stage("thermo = { every = 10 }"), &samples, u64::MAX);
    let of_means = run_in_parts(&by_means, &means, u64::MAX);
    run_in_parts(&by_means, &parts, INTERVAL);
    assert_eq!(thermo_csv(&means), thermo_csv(&parts));
    assert_eq!(column(&means, "step"), [0.0, 40.0, 80.0, 120.0, 130.0]);
    assert_eq!(of_samples.reports()[0].averages, of_means.reports()[0].averages);
    for name in ["temperature", "potential", "conserved", "pressure", "pxy", "momentum_x"] {
        let (one, found) = (column(&samples, name), column(&means, name));
        let mean =
            |range: std::ops::Range<usize>| one[range.clone()].iter().sum::<f64>() / range.len() as f64;
        let expected = [one[0], mean(1..5), mean(5..9), mean(9..13), one[13]];
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{name}: {found} {expected}");
        }
    }
    let gpu = folder.path().join("gpu");
    let mut simulation = Simulation::from_input_on(&by_means, &Overrides::default(), emulated).unwrap();
    simulation.write_to(&gpu, Existing::Refuse).unwrap();
    simulation.run().unwrap();
    for (found, expected) in column(&gpu, "potential").iter().zip(column(&means, "potential")) {
        assert!((found - expected).abs() < 1e-3 * expected.abs(), "{found} {expected}");
    }
}

/// Rows of means that have no whole number of samples, or are of a minimisation, are refused.
#[test]
fn rows_of_means_that_do_not_fit_are_refused() {
    let of = |stage: &str| {
        let text = input("", 1).source.text.replace("[run]", &format!("{stage}\n[run]"));
        Input::parse(Path::new("rows.toml"), &text).unwrap_err().to_string()
    };
    let stage = stage("a", "");
    let uneven = of(&stage.replace("every = 5", "every = 15, sample_every = 10"));
    assert!(uneven.contains("no whole number of samples") && uneven.contains("every = 20"), "{uneven}");
    let minimum = "[[stage]]\nminimize = { steps = 9 }\nthermo = { every = 4, sample_every = 2 }";
    assert!(of(minimum).contains("minimisation"), "{}", of(minimum));
}
