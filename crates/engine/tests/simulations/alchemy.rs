//! `[alchemy]` of an input: samples against evaluations of their own, on every device and across restarts; molecules in
//! water against OpenMM; errors.

use crate::fixtures::{Open, emulated, run_in_parts};
use jostle_core::Vec3;
use jostle_engine::side_by_side::{AfterFailure, SideBySide};
use jostle_engine::{
    Existing, Extent, Outcome, Overrides, Simulation, WarningKind, single_point, system_from_input,
};
use jostle_io::Input;
use std::fs;
use std::path::Path;

/// A charged liquid in which one ion is decoupled.
fn ions(window: usize, sections: &str) -> Input {
    let text = format!(
        r#"
units = "lj"
[system]
lattice = "fcc"
atoms = 256
density = 0.7
temperature = 1.3
seed = 5
[species.A]
mass = 1
fraction = 0.5
charge = 0.8
[species.B]
mass = 2
fraction = 0.5
charge = -0.8
[[force]]
kind = "lennard-jones"
cutoff = 2.4
tail_correction = true
mixing = "lorentz-berthelot"
pairs."A-A" = {{ epsilon = 1, sigma = 1 }}
pairs."B-B" = {{ epsilon = 1, sigma = 1 }}
[electrostatics]
kind = "pme"
accuracy = 1e-4
net_charge = "background"
[alchemy]
atoms = "index 3"
lambda_charges = [1, 0.6, 0.3, 0, 0, 0]
lambda_lennard_jones = [1, 1, 1, 1, 0.5, 0]
window = {window}
sample_every = 10
[[stage]]
name = "settle"
steps = 20
timestep = 0.003
thermostat = {{ kind = "bussi", temperature = 1.3, period = 0.5 }}
[[stage]]
name = "sample"
steps = 40
timestep = 0.003
thermostat = {{ kind = "bussi", temperature = 1.3, period = 0.5 }}
thermo = {{ every = 20 }}
{sections}
[run]
threads = 1
device = "cpu"
precision = "double"
reproducible = true
"#
    );
    Input::parse(Path::new("alchemy.toml"), &text).unwrap()
}

const FILE: &str = "sample.dhdl.xvg";

/// Rows of a file with samples: time, derivatives, differences.
fn rows(folder: &Path) -> Vec<Vec<f64>> {
    let text = fs::read_to_string(folder.join(FILE)).unwrap();
    let rows = text.lines().filter(|line| !line.starts_with(['#', '@']));
    rows.map(|line| line.split_whitespace().map(|word| word.parse().unwrap()).collect()).collect()
}

/// Potential energy of an input with these positions.
fn energy_at(input: &Input, positions: &[Vec3]) -> f64 {
    let mut simulation = Simulation::from_input(input, &Overrides::default()).unwrap();
    simulation.set_positions(positions).unwrap();
    simulation.evaluate().unwrap().thermo.potential
}

/// Differences of a sample are those of evaluations in every window; derivatives follow from the windows beside, since
/// the energy of charges is a parabola.
#[test]
fn samples_are_energies_of_the_windows() {
    let folder = tempfile::tempdir().unwrap();
    for window in [1, 4] {
        let folder = folder.path().join(format!("{window}"));
        let mut simulation = run_in_parts(&ions(window, ""), &folder, u64::MAX);
        let rows = rows(&folder);
        assert_eq!(rows.len(), 4);
        let last = rows.last().unwrap();
        assert!((last[0] - 0.18).abs() < 1e-9, "time {}", last[0]);
        let positions = simulation.positions().unwrap();
        let energies: Vec<f64> = (0..6).map(|k| energy_at(&ions(k, ""), &positions)).collect();
        for (k, energy) in energies.iter().enumerate() {
            let expected = energy - energies[window];
            let found = last[3 + k];
            assert!(
                (found - expected).abs() < 1e-6 * (1.0 + expected.abs()),
                "{window} to {k}: {found}, not {expected}"
            );
        }
        if window == 1 {
            let (a, b, c) = (energies[0], energies[1], energies[3]);
            // The parabola through the factors 1, 0.6 and 0.
            let curvature = ((a - b) / 0.4 - (b - c) / 0.6) / 1.0;
            let slope = (b - c) / 0.6 + 0.6 * curvature;
            assert!((last[1] - slope).abs() < 1e-5 * slope.abs(), "{} is not {slope}", last[1]);
        }
    }
}

#[test]
fn a_restart_in_the_middle_changes_no_bit() {
    let folder = tempfile::tempdir().unwrap();
    let [whole, parts] = ["whole", "parts"].map(|name| folder.path().join(name));
    run_in_parts(&ions(2, ""), &whole, u64::MAX);
    run_in_parts(&ions(2, ""), &parts, 13);
    for file in [FILE, "thermo.csv"] {
        assert_eq!(fs::read(whole.join(file)).unwrap(), fs::read(parts.join(file)).unwrap(), "{file}");
    }
}

/// Reproducible runs have the same samples on any number of ranks.
#[test]
fn ranks_take_the_samples_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut found = Vec::new();
    for ranks in [None, Some(2)] {
        let folder = folder.path().join(format!("{ranks:?}"));
        let overrides = Overrides { ranks, ..Overrides::default() };
        let mut simulation = Simulation::from_input(&ions(2, ""), &overrides).unwrap();
        simulation.write_to(&folder, Existing::Refuse).unwrap();
        simulation.run().unwrap();
        found.push(fs::read_to_string(folder.join(FILE)).unwrap());
    }
    assert_eq!(found[0], found[1]);
}

/// Samples change no bit of a path.
#[test]
fn samples_leave_the_path_alone() {
    let folder = tempfile::tempdir().unwrap();
    let [often, seldom] = ["often", "seldom"].map(|name| folder.path().join(name));
    let rare = ions(2, "").source.text.replace("sample_every = 10", "sample_every = 40");
    run_in_parts(&ions(2, ""), &often, u64::MAX);
    run_in_parts(&Input::parse(Path::new("alchemy.toml"), &rare).unwrap(), &seldom, u64::MAX);
    assert_eq!(fs::read(often.join("thermo.csv")).unwrap(), fs::read(seldom.join("thermo.csv")).unwrap());
    assert_eq!([&often, &seldom].map(|folder| rows(folder).len()), [4, 1]);
}

#[test]
fn the_gpu_takes_the_samples_of_the_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let mut found = Vec::new();
    for (open, name) in [(jostle_cpu::open as Open, "cpu"), (emulated as Open, "gpu")] {
        let folder = folder.path().join(name);
        let mut simulation = Simulation::from_input_on(&ions(2, ""), &Overrides::default(), open).unwrap();
        simulation.write_to(&folder, Existing::Refuse).unwrap();
        simulation.run().unwrap();
        found.push(rows(&folder));
    }
    assert_eq!(found[0].len(), found[1].len());
    for (a, b) in found[0].iter().flatten().zip(found[1].iter().flatten()) {
        assert!((a - b).abs() < 1e-6 * (1.0 + b.abs()), "{a} is not {b}");
    }
}

/// Windows that a GPU makes together have the samples of those that it makes alone.
#[test]
fn windows_go_together_on_a_gpu() {
    let folder = tempfile::tempdir().unwrap();
    let open = |window: usize, name: &str| {
        let text = ions(window, "").source.text.replace("reproducible = true", "");
        let input = Input::parse(Path::new("alchemy.toml"), &text).unwrap();
        let mut simulation = Simulation::from_input_on(&input, &Overrides::default(), emulated).unwrap();
        simulation.write_to(&folder.path().join(format!("{name}-{window}")), Existing::Refuse).unwrap();
        simulation
    };
    let windows = [0, 2, 4, 5];
    for window in windows {
        assert_eq!(open(window, "alone").run().unwrap(), Outcome::Finished);
    }
    let mut together = windows.map(|window| open(window, "together"));
    let side_by_side = SideBySide::new(&mut together, windows.len());
    assert!(side_by_side.is_together());
    let outcomes =
        side_by_side.advance(&mut together, &|_| Extent::All, AfterFailure::Stop, &mut (), &|| false);
    assert!(outcomes.into_iter().all(|outcome| outcome.unwrap() == Outcome::Finished));
    for window in windows {
        let [alone, together] =
            ["alone", "together"].map(|name| rows(&folder.path().join(format!("{name}-{window}"))));
        assert!(alone.len() == together.len() && alone.len() == 4);
        for (a, b) in alone.iter().flatten().zip(together.iter().flatten()) {
            assert!((a - b).abs() < 1e-6 * (1.0 + a.abs()), "window {window}: {b} is not {a}");
        }
    }
}

#[test]
fn a_change_of_the_net_charge_is_a_warning() {
    let mut simulation = Simulation::from_input(&ions(2, ""), &Overrides::default()).unwrap();
    simulation.run().unwrap();
    let reports = simulation.reports();
    let of = |stage: usize| reports[stage].warnings.iter().any(|w| w.kind == WarningKind::NetCharge);
    assert!(of(1) && !of(0), "{:?}", reports[1].warnings);
}

/// A molecule in water at states of a path: energies relative to the coupled state and the force on its first atom, by
/// OpenMM 8 (tests/external/make_alchemy_reference.py, reference platform, PME to 1e-6). kJ/mol, nm.
fn compare_with_openmm(molecule: &str, states: &[([f64; 2], f64, [f64; 3])]) {
    let folder =
        Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/free-energy")).join(molecule);
    if !folder.exists() {
        println!("skipped: there is no {}", folder.display());
        return;
    }
    let list =
        |k: usize| states.iter().map(|(state, ..)| state[k].to_string()).collect::<Vec<_>>().join(", ");
    let energy = |window: usize| {
        let text = format!(
            "units = \"nano\"\n[system]\ntopology = {:?}\ncoordinates = {:?}\n\
             [[force]]\nkind = \"lennard-jones\"\ncutoff = 0.9\n\
             [electrostatics]\nkind = \"pme\"\ncutoff = 0.9\naccuracy = 1e-7\norder = 6\n\
             [alchemy]\natoms = \"resname LIG\"\nwindow = {window}\nlambda_charges = [{}]\nlambda_lennard_jones = [{}]\n\
             [run]\ndevice = \"cpu\"\nthreads = 1\nprecision = \"double\"\n",
            folder.join("solvated.parm7"),
            folder.join("solvated.rst7"),
            list(0),
            list(1)
        );
        let input = Input::parse(Path::new("openmm.toml"), &text).unwrap();
        let (system, forces) = system_from_input(&input).unwrap();
        let point = single_point(input.units, system, forces, input.run.device, input.run.settings).unwrap();
        (point.thermo.potential, point.forces[0])
    };
    let coupled = energy(0).0;
    for (window, (state, expected, force)) in states.iter().enumerate() {
        let (found, found_force) = energy(window);
        let (change, expected) = (found - coupled, expected - states[0].1);
        println!("{molecule} {state:?}: {change:.5}, OpenMM {expected:.5}");
        assert!(
            (change - expected).abs() < 2e-3 + 1e-5 * expected.abs(),
            "{state:?}: {change} is not {expected}"
        );
        for (a, b) in found_force.iter().zip(force) {
            assert!((a - b).abs() < 0.02, "{state:?}: {found_force:?} is not {force:?}");
        }
    }
}

#[test]
fn methane_in_water_is_that_of_openmm() {
    compare_with_openmm(
        "methane",
        &[
            ([1.0, 1.0], -22466.753475, [-73.75455, -35.39370, -56.40004]),
            ([0.4, 1.0], -22466.650686, [-20.39773, -30.01836, -36.56448]),
            ([0.0, 1.0], -22466.582161, [15.17346, -26.43480, -23.34079]),
            ([0.0, 0.7], -22465.965770, [34.09458, -19.08543, -21.35559]),
            ([0.0, 0.25], -22461.159225, [45.28068, -14.67593, -19.00757]),
            ([0.0, 0.0], -22457.985017, [47.60769, -13.62460, -17.74524]),
        ],
    );
}

#[test]
fn toluene_in_water_is_that_of_openmm() {
    compare_with_openmm(
        "toluene",
        &[
            ([1.0, 1.0], -28873.588753, [-254.88553, 74.50418, 57.60168]),
            ([0.4, 1.0], -28877.598909, [-240.47773, 61.97693, 75.48996]),
            ([0.0, 1.0], -28880.271956, [-230.87258, 53.62546, 87.41532]),
            ([0.0, 0.7], -28871.175071, [-275.92186, 65.45309, 86.27176]),
            ([0.0, 0.25], -28854.980806, [-296.15056, 71.88504, 85.78403]),
            ([0.0, 0.0], -28845.619110, [-298.46977, 73.14896, 85.65758]),
        ],
    );
}

#[test]
fn paths_that_make_no_sense_are_refused() {
    let text = ions(0, "").source.text.to_string();
    for (from, to, expected) in [
        ("window = 0", "window = 6", "no window 6"),
        ("[1, 0.6, 0.3, 0, 0, 0]", "[1, 0.6]", "2 values of lambda_charges, and 6"),
        ("[1, 0.6, 0.3, 0, 0, 0]", "[1, 0.6, 0.3, 0.2, 0.1, 0]", "charges on atoms with a soft core"),
        ("[1, 0.6, 0.3, 0, 0, 0]", "[1, 0.6, 0.6, 0, 0, 0]", "window 2 is the same as one before"),
        ("[1, 0.6, 0.3, 0, 0, 0]", "[1.5, 0.6, 0.3, 0, 0, 0]", "from 0 to 1"),
        ("sample_every", "soft_core = \"gapsys\"\npower = 2\nsample_every", "power belongs to Beutler"),
        ("sample_every", "stages = [\"none\"]\nsample_every", "there is no stage \"none\""),
        (
            "thermostat = { kind = \"bussi\", temperature = 1.3, period = 0.5 }\nthermo",
            "thermo",
            "no thermostat holds its temperature",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let error = Input::parse(Path::new("bad.toml"), &text.replace(from, to)).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}, not {expected}");
        assert!(error.place().is_some(), "{error} has no place");
    }
    for (from, to, expected) in [
        ("atoms = \"index 3\"", "atoms = \"index 3 4\"", "two molecules"),
        ("atoms = \"index 3\"", "atoms = \"all\"", "two molecules"),
        ("kind = \"pme\"\naccuracy = 1e-4\nnet_charge = \"background\"", "kind = \"cutoff\"", "lattice sum"),
    ] {
        assert!(text.contains(from), "{from}");
        let input = Input::parse(Path::new("bad.toml"), &text.replace(from, to)).unwrap();
        let error = system_from_input(&input).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}, not {expected}");
        assert!(error.place().is_some(), "{error} has no place");
    }
}

/// An interval of samples longer than their stage would leave no file.
#[test]
fn a_stage_without_a_sample_is_refused() {
    let text = ions(0, "").source.text.replace("sample_every = 10", "sample_every = 41");
    let error = Input::parse(Path::new("bad.toml"), &text).unwrap_err();
    let said = "stage \"sample\" has 40 steps, and no sample of [alchemy] every 41";
    assert!(error.message().contains(said) && error.help().is_some(), "{error}");
    assert!(error.place().is_some_and(|place| place.line.is_some()), "{error:?}");
    Input::parse(Path::new("good.toml"), &text.replace("41", "40")).unwrap();
}

/// Stages that are no state of equilibrium have no samples, nor those with biases whose energy samples do not have.
#[test]
fn samples_of_changing_states_are_refused() {
    let distance = "[[variable]]\nname = \"d\"\nkind = \"distance\"\nbetween = [\"index 3\", \"index 0\"]\n";
    let energy = "[[variable]]\nname = \"u\"\nkind = \"energy\"\n\
                  [[variable]]\nname = \"half\"\nkind = \"formula\"\nvalue = \"u / 2\"\n";
    let bias = |kind: &str| format!("[[bias]]\nname = \"b\"\n{kind}\n");
    let of =
        |more: &str| Input::parse(Path::new("bad.toml"), &ions(0, "").source.text.replace("[run]", more));
    for (more, expected) in [
        (
            distance.to_string()
                + &bias(
                    "kind = \"metadynamics\"\nvariables = [\"d\"]\nwidth = 1\nheight = 1\nevery = 5\nlower = 0\nupper = 9",
                ),
            "does not stay the same",
        ),
        (
            distance.to_string()
                + &bias("kind = \"harmonic\"\nvariable = \"d\"\ncenter = [1, 2]\nstiffness = 1"),
            "does not stay the same",
        ),
        (
            energy.to_string() + &bias("kind = \"linear\"\nvariable = \"half\"\nforce = 0.1"),
            "samples would lack the difference",
        ),
    ] {
        let error = of(&format!("{more}\n[run]")).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}, not {expected}");
        assert!(error.place().is_some() && error.help().is_some(), "{error}");
        // In the stage before, which has no samples, it may act.
        let elsewhere = more.replace("name = \"b\"", "name = \"b\"\nstages = [\"settle\"]");
        of(&format!("{elsewhere}\n[run]")).unwrap();
    }
    let spring =
        "[[restraint]]\nname = \"hold\"\nkind = \"position\"\natoms = \"index 3\"\nstiffness = 5\n[run]";
    let text = ions(0, "").source.text.replace("[run]", spring);
    let ramped = text.replace("thermo = {", "restraints = { hold = [0, 5] }\nthermo = {");
    let error = Input::parse(Path::new("bad.toml"), &ramped).unwrap_err();
    assert!(error.to_string().contains("the stiffness of a restraint changes"), "{error}");
    Input::parse(Path::new("good.toml"), &text).unwrap();
}
