//! Torques, biases on the potential energy, and the work of fields that change: on every device, with their columns,
//! conserved quantities, checkpoints and errors.

use crate::biases::{BUSSI, input, input_text, run_on};
use crate::fixtures::{Open, column, emulated, run_in_parts, thermo_csv};
use jostle_engine::biasing::BiasForce;
use jostle_engine::model::DeviceInput;
use jostle_engine::{
    CustomForce, Existing, Overrides, Simulation, SinglePoint, single_point_with, system_from_input,
};
use jostle_io::Input;
use std::path::Path;

const TORQUE: &str = r#"
[[variable]]
name = "turn"
kind = "rotation"
atoms = "index 20 to 29"
axis = "z"
[[bias]]
name = "motor"
kind = "torque"
variable = "turn"
torque = 400
"#;

/// Tempering by energy: a potential energy that is held near a value, and a formula of it and a distance.
const ENERGY: &str = r#"
[[variable]]
name = "u"
kind = "energy"
[[variable]]
name = "pairs"
kind = "energy"
term = "lennard_jones"
[[variable]]
name = "d"
kind = "distance"
between = ["index 7 to 12", "index 201"]
[[variable]]
name = "both"
kind = "formula"
value = "0.001 u^2 + u d"
[[bias]]
name = "hold"
kind = "harmonic"
variable = "u"
center = -1000
stiffness = 0.002
[[bias]]
name = "mixed"
kind = "linear"
variable = "both"
force = 0.02
"#;

const FIELD: &str = r#"
[[field]]
energy = "a charge cos(2 pi x / length) sin(3 time)"
parameters = { a = 40, length = 6.839903786706788 }
work = "recorded"
"#;

/// An input of whose stage the steps are shorter, for as long.
fn finer(more: &str, timestep: f64) -> Input {
    let text = input_text(more, "")
        .replace("steps = 60", &format!("steps = {}", (0.24 / timestep).round()))
        .replace("timestep = 0.004", &format!("timestep = {timestep}"));
    Input::parse(Path::new("steering.toml"), &text).unwrap()
}

/// Largest change of a column, and of the conserved quantity, with long and with short steps.
fn changes(more: &str, name: &str) -> [[f64; 2]; 2] {
    let folder = tempfile::tempdir().unwrap();
    [0.004, 0.001].map(|timestep| {
        let path = folder.path().join(timestep.to_string());
        run_in_parts(&finer(more, timestep), &path, u64::MAX);
        [name, "conserved"].map(|name| {
            let found = column(&path, name);
            found.iter().fold(0.0f64, |most, x| most.max((x - found[0]).abs()))
        })
    })
}

#[test]
fn the_conserved_quantity_has_torques_energies_and_the_work_of_fields() {
    for (more, name) in [(TORQUE, "motor_work"), (ENERGY, "bias"), (FIELD, "field_work")] {
        let [[_, coarse], [work, fine]] = changes(more, name);
        println!("{name}: {work:.3}, conserved to {coarse:.5} and {fine:.5}");
        assert!(work > 1.0, "{name}: {work}");
        // Errors are of second order in the step: a sixteenth, and some rounding.
        assert!(fine < 0.02 * work && fine < coarse / 6.0, "{name}: {work}, {coarse} and {fine}");
    }
}

/// Columns are what they say: work is torque times the angle turned, and minus the energy of the bias.
#[test]
fn columns_of_a_torque_belong_together() {
    let folder = tempfile::tempdir().unwrap();
    run_in_parts(&input(TORQUE, ""), folder.path().join("run").as_path(), u64::MAX);
    let get = |name: &str| column(&folder.path().join("run"), name);
    let (turned, work, energy) = (get("motor_turned"), get("motor_work"), get("bias_motor"));
    assert!(get("motor_torque").iter().all(|torque| *torque == 400.0));
    assert!(turned[0] == 0.0 && turned[10] > 0.02, "{turned:?}");
    for ((angle, work), (energy, value)) in turned.iter().zip(&work).zip(energy.iter().zip(get("turn"))) {
        assert!((work - 400.0 * angle).abs() < 1e-9 && (work + energy).abs() < 1e-9);
        assert!((angle - value).abs() < 1e-9, "{angle} {value}");
    }
}

#[test]
fn both_devices_have_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let input = input(&[TORQUE, ENERGY].concat(), BUSSI);
    let cpu: Open = |system, forces, settings| jostle_cpu::open(system, forces, settings);
    for (open, name) in [(cpu, "cpu"), (emulated as Open, "gpu")] {
        run_on(&input, &folder.path().join(name), open, u64::MAX);
    }
    let [a, b] = ["cpu", "gpu"].map(|name| folder.path().join(name));
    for name in ["turn", "motor_work", "u", "pairs", "both", "bias", "bias_hold", "pressure", "conserved"] {
        let (expected, found) = (column(&a, name), column(&b, name));
        assert_eq!(found.len(), 11);
        for (x, y) in expected.iter().zip(&found) {
            assert!((x - y).abs() < 1e-6 * (1.0 + x.abs()), "{name}: {expected:?} {found:?}");
        }
    }
    // The energy as a variable is that of the column of its force.
    for (u, pairs) in column(&a, "u").iter().zip(column(&a, "lennard_jones")) {
        assert!((u - pairs).abs() < 1e-9 * u.abs(), "{u} {pairs}");
    }
}

#[test]
fn the_work_of_fields_is_that_of_both_devices() {
    let folder = tempfile::tempdir().unwrap();
    let input = input(FIELD, BUSSI);
    let mut found = Vec::new();
    for (open, name) in [(jostle_cpu::open as Open, "cpu"), (emulated as Open, "gpu")] {
        let folder = folder.path().join(name);
        let mut simulation = Simulation::from_input_on(&input, &Overrides::default(), open).unwrap();
        simulation.write_to(&folder, Existing::Refuse).unwrap();
        simulation.run().unwrap();
        found.push(column(&folder, "field_work"));
    }
    for (x, y) in found[0].iter().zip(&found[1]) {
        assert!((x - y).abs() < 1e-6 * (1.0 + x.abs()), "{found:?}");
    }
    assert!(found[0][10].abs() > 1.0, "{found:?}");
}

#[test]
fn resumed_runs_have_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let text = input_text(&[TORQUE, ENERGY, FIELD].concat(), BUSSI);
    let more = "[[stage]]\nname = \"more\"\nsteps = 20\ntimestep = 0.002\nthermo = { every = 5 }\n[run]";
    let input = Input::parse(Path::new("steering.toml"), &text.replace("[run]", more)).unwrap();
    let [a, b] = ["whole", "parts"].map(|name| folder.path().join(name));
    run_in_parts(&input, &a, u64::MAX);
    run_in_parts(&input, &b, 7);
    assert_eq!(thermo_csv(&a), thermo_csv(&b));
}

fn point(input: &Input) -> SinglePoint {
    let (system, forces) = system_from_input(input).unwrap();
    let biases = BiasForce::at_start(input, &system).unwrap();
    let biases = biases.into_iter().map(|force| Box::new(force) as Box<dyn CustomForce>).collect();
    single_point_with(input.units, system, forces, (DeviceInput::Cpu, None), input.run.settings, biases)
        .unwrap()
}

/// A bias on the potential energy scales all forces and their virial.
#[test]
fn a_bias_on_the_potential_energy_scales_forces() {
    let bias = "[[variable]]\nname = \"u\"\nkind = \"energy\"\n[[bias]]\nname = \"b\"\nkind = \"linear\"\n\
                variable = \"u\"\nforce = -0.25\ncenter = -100\n";
    let [plain, biased] = ["", bias].map(|more| {
        // Atoms away from their lattice, where there are forces.
        let text = input_text(more, "").replace("lattice = \"fcc\"", "place = \"random\"");
        point(&Input::parse(Path::new("steering.toml"), &text).unwrap())
    });
    let energy = plain.thermo.potential;
    let expected = energy + 0.25 * (energy + 100.0);
    assert!((biased.thermo.potential - expected).abs() < 1e-9 * expected.abs());
    let largest = plain.forces.iter().flatten().fold(0.0f64, |most, f| most.max(f.abs()));
    assert!(largest > 1.0);
    for (a, b) in plain.forces.iter().flatten().zip(biased.forces.iter().flatten()) {
        assert!((1.25 * a - b).abs() < 1e-12 * largest, "{a} {b}");
    }
    for (a, b) in plain.virial.iter().zip(biased.virial) {
        assert!((1.25 * a - b).abs() < 1e-9 * largest, "{a} {b}");
    }
}

#[test]
fn mistakes_point_into_the_input() {
    let torque = |variable: &str| {
        format!("{variable}[[bias]]\nname = \"b\"\nkind = \"torque\"\nvariable = \"v\"\ntorque = 1\n")
    };
    let energy = "[[variable]]\nname = \"v\"\nkind = \"energy\"\nterm = \"lennard_jones\"\n";
    let formula = "[[variable]]\nname = \"w\"\nkind = \"formula\"\nvalue = \"2 v\"\n";
    let linear = "[[bias]]\nname = \"b\"\nkind = \"linear\"\nvariable = \"w\"\nforce = 1\n";
    for (more, expected) in [
        (torque("[[variable]]\nname = \"v\"\nkind = \"volume\"\n"), "no angle that a torque could turn"),
        (energy.replace("lennard_jones", "morse"), "there is no term \"morse\""),
        (format!("{energy}{formula}{linear}"), "no bias can act on variable 'v'"),
        (FIELD.replace("sin(3 time)", ""), "does not depend on time"),
        ("[[field]]\nforce = [0, 0, 1]\nwork = \"recorded\"\n".into(), "means nothing without \"energy\""),
        (FIELD.replace("recorded", "kept"), "kept"),
    ] {
        let parsed = Input::parse(Path::new("steering.toml"), &input_text(&more, ""));
        let error = match parsed.and_then(|input| Simulation::from_input(&input, &Overrides::default())) {
            Ok(_) => panic!("{more} is accepted"),
            Err(error) => error,
        };
        assert!(error.place().is_some_and(|place| place.line.is_some()), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}, not {expected}");
    }
}
