//! Variables and biases of an input: columns, forces on every device, checkpoints, errors.

use crate::fixtures::{Open, column, emulated, run_in_parts, stop_every, thermo_csv};
use jostle_engine::biasing::{BiasForce, VariablesAt};
use jostle_engine::{Existing, Outcome, Overrides, Simulation, SimulationBuilder, system_from_input};
use jostle_io::Input;
use std::fs;
use std::path::Path;

/// A liquid of dumbbells, with other sections and settings of its stage.
pub fn input_text(more: &str, stage: &str) -> String {
    format!(
        r#"
units = "lj"
[system]
lattice = "fcc"
atoms = 256
density = 0.8
temperature = 1.1
seed = 5
[species.A]
mass = 1
fraction = 0.5
charge = 0.5
[species.B]
mass = 2
fraction = 0.5
charge = -0.5
[[force]]
kind = "lennard-jones"
cutoff = 2.2
truncation = "force-shifted"
mixing = "lorentz-berthelot"
pairs."A-A" = {{ epsilon = 1, sigma = 1 }}
pairs."B-B" = {{ epsilon = 1, sigma = 1 }}
{more}
[[stage]]
name = "go"
steps = 60
timestep = 0.004
thermo = {{ every = 6 }}
{stage}
[run]
threads = 1
device = "cpu"
precision = "double"
reproducible = true
"#
    )
}

pub fn input(more: &str, stage: &str) -> Input {
    Input::parse(Path::new("biases.toml"), &input_text(more, stage)).unwrap()
}

pub const BUSSI: &str = r#"thermostat = { kind = "bussi", temperature = 1.1, period = 0.5 }"#;

pub const DISTANCE: &str = r#"
[[variable]]
name = "d"
kind = "distance"
between = ["index 7 to 12", "index 201"]
"#;

/// Builder of the simulation of an input on a device.
pub fn builder_on(input: &Input, open: Open) -> SimulationBuilder {
    let (system, forces) = system_from_input(input).unwrap();
    let stages: Vec<_> = input.stages.iter().map(|stage| stage.value.clone()).collect();
    let force = BiasForce::from_input(input, (&system, VariablesAt::Beginning), &stages).unwrap().unwrap();
    let builder = Simulation::builder(input.units, system).settings(input.run.settings).seed(5);
    let builder = forces.pairs.into_iter().fold(builder, |builder, term| builder.force(term));
    let builder = stages.into_iter().fold(builder, |builder, stage| builder.stage(stage));
    builder.custom_force(force).open_with(open)
}

/// Runs an input on a device, with an interruption after every `interval` batches, from which it is resumed.
pub fn run_on(input: &Input, folder: &Path, open: Open, interval: u64) {
    let mut simulation = builder_on(input, open).build().unwrap();
    simulation.write_to(folder, Existing::Refuse).unwrap();
    while simulation.run_with(&mut (), &stop_every(interval)).unwrap() == Outcome::Interrupted {
        drop(simulation);
        simulation = builder_on(input, open).resume(folder).unwrap();
    }
}

/// A harmonic bias on a distance has the rows of the restraint with the same spring, pressure included.
#[test]
fn a_harmonic_bias_on_a_distance_is_a_restraint() {
    let folder = tempfile::tempdir().unwrap();
    let restraint = r#"
[[restraint]]
kind = "distance"
between = ["index 7 to 12", "index 201"]
stiffness = 20
length = 2.5
"#;
    let bias = format!(
        "{DISTANCE}[[bias]]\nname = \"pull\"\nkind = \"harmonic\"\nvariable = \"d\"\ncenter = 2.5\nstiffness = 20\n"
    );
    let [a, b] = ["restraint", "bias"].map(|name| folder.path().join(name));
    run_in_parts(&input(restraint, BUSSI), &a, u64::MAX);
    run_in_parts(&input(&bias, BUSSI), &b, u64::MAX);
    for (theirs, mine) in
        [("restraint", "bias"), ("total", "total"), ("pressure", "pressure"), ("pxy", "pxy")]
    {
        let (expected, found) = (column(&a, theirs), column(&b, mine));
        assert_eq!(found.len(), 11);
        for (x, y) in expected.iter().zip(&found) {
            assert!((x - y).abs() < 1e-8 * (1.0 + x.abs()), "{mine}: {expected:?} {found:?}");
        }
    }
    for (d, energy) in column(&b, "d").iter().zip(column(&b, "bias_pull")) {
        assert!((0.5 * 20.0 * (d - 2.5).powi(2) - energy).abs() < 1e-9);
    }
}

/// A variable of every kind, and every kind of bias.
const EVERYTHING: &str = r#"
[[variable]]
name = "d"
kind = "distance"
between = ["index 4 to 7", "index 0"]
[[variable]]
name = "along"
kind = "distance"
between = ["index 0", "index 5"]
along = "z"
[[variable]]
name = "bend"
kind = "angle"
centers = ["index 0", "index 1", "index 2"]
[[variable]]
name = "phi"
kind = "dihedral"
centers = ["index 0", "index 1", "index 2", "index 3"]
[[variable]]
name = "x"
kind = "position"
atoms = "index 17"
axis = "x"
[[variable]]
name = "lean"
kind = "tilt"
between = ["index 0", "index 3"]
axis = "y"
[[variable]]
name = "size"
kind = "gyration"
atoms = "index 20 to 29"
weights = "equal"
[[variable]]
name = "off"
kind = "rmsd"
atoms = "index 20 to 29"
[[variable]]
name = "near"
kind = "coordination"
between = ["index 0 to 9", "species B"]
reach = 1.4
[[variable]]
name = "native"
kind = "contacts"
between = ["index 0 to 9", "index 10 to 40"]
reach = 1.5
steepness = 5
[[variable]]
name = "moment"
kind = "dipole"
atoms = "index 20 to 29"
[[variable]]
name = "edge"
kind = "edge"
axis = "z"
[[variable]]
name = "volume_now"
kind = "volume"
[[variable]]
name = "both"
kind = "formula"
value = "a d^2 + near"
parameters = { a = 0.5 }
[[bias]]
name = "window"
kind = "harmonic"
variable = "size"
center = 2
stiffness = 20
[[bias]]
name = "pull"
kind = "harmonic"
variable = "d"
center = [1.5, 2]
stiffness = [10, 30]
[[bias]]
name = "unfold"
kind = "harmonic"
variable = "off"
center = [0, 1]
stiffness = 10
[[bias]]
name = "push"
kind = "linear"
variable = "near"
force = 0.5
[[bias]]
name = "top"
kind = "wall"
variable = "bend"
at = 1
stiffness = 10
side = "upper"
[[bias]]
name = "well"
kind = "formula"
energy = "2 (1 + cos(phi)) + 0.1 moment"
[[bias]]
name = "meta"
kind = "metadynamics"
variables = ["phi", "lean"]
width = 0.4
height = 0.5
every = 5
bias_factor = 8
temperature = 1.1
lower = [-3.1416, -1]
upper = [3.1416, 4.2]
[[bias]]
name = "adaptive"
kind = "abf"
variables = ["both"]
temperature = 1.1
lower = -50
upper = 500
spacing = 1
full_samples = 10
"#;

/// Kernels, whose bias is steep at first, so that steps must be short for the conserved quantity.
const KERNELS: &str = r#"
[[bias]]
name = "kernels"
kind = "opes"
variables = ["phi"]
barrier = 8
temperature = 1.1
width = 0.3
every = 5
"#;

/// A variable that only the host can evaluate, so that all biases stay there.
const TURNED: &str = r#"
[[variable]]
name = "turned"
kind = "rotation"
atoms = "index 20 to 29"
axis = "z"
"#;

/// The emulated GPU has the rows of the CPU, with every variable and every bias, which the host evaluates for both.
#[test]
fn both_devices_have_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    let input = input(&[EVERYTHING, KERNELS, TURNED].concat(), BUSSI);
    let cpu: Open = |system, forces, settings| jostle_cpu::open(system, forces, settings);
    for (open, name) in [(cpu, "cpu"), (emulated as Open, "gpu")] {
        run_on(&input, &folder.path().join(name), open, u64::MAX);
    }
    let [a, b] = ["cpu", "gpu"].map(|name| folder.path().join(name));
    let names = [
        "d",
        "bend",
        "phi",
        "near",
        "off",
        "moment",
        "both",
        "bias",
        "bias_meta",
        "bias_kernels",
        "bias_adaptive",
    ];
    for name in names.iter().chain(&["pressure", "conserved", "pull_work", "meta_work"]) {
        let (expected, found) = (column(&a, name), column(&b, name));
        assert_eq!(found.len(), 11);
        for (x, y) in expected.iter().zip(&found) {
            assert!((x - y).abs() < 1e-6 * (1.0 + x.abs()), "{name}: {expected:?} {found:?}");
        }
    }
}

/// A run interrupted at every few steps has the rows and the files of a run at one go, bit by bit.
#[test]
fn resumed_runs_have_the_same_bits() {
    let folder = tempfile::tempdir().unwrap();
    let text = input_text(&[EVERYTHING, KERNELS].concat(), BUSSI);
    let more = "[[stage]]\nname = \"more\"\nsteps = 20\ntimestep = 0.002\nthermo = { every = 5 }\n[run]";
    let input = Input::parse(Path::new("biases.toml"), &text.replace("[run]", more)).unwrap();
    let [a, b] = ["whole", "parts"].map(|name| folder.path().join(name));
    run_in_parts(&input, &a, u64::MAX);
    run_in_parts(&input, &b, 7);
    assert_eq!(thermo_csv(&a), thermo_csv(&b));
    for name in ["meta.hills", "kernels.kernels", "adaptive.count", "adaptive.grad"] {
        let [one, other] = [&a, &b].map(|folder| fs::read_to_string(folder.join(name)).unwrap());
        assert_eq!(one, other, "{name}");
        assert!(one.lines().count() > 5, "{one}");
    }
}

/// The conserved quantity takes the work of a moving bias, of hills and of an adaptive force.
#[test]
fn the_conserved_quantity_knows_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let drift = |timestep: f64| {
        let steps = (0.4 / timestep) as u64;
        let text = input_text(EVERYTHING, "")
            .replace("steps = 60", &format!("steps = {steps}"))
            .replace("timestep = 0.004", &format!("timestep = {timestep}"));
        let path = folder.path().join(format!("{timestep}"));
        run_in_parts(&Input::parse(Path::new("biases.toml"), &text).unwrap(), &path, u64::MAX);
        let works = ["pull_work", "unfold_work", "meta_work"];
        let works = works.iter().map(|name| column(&path, name).last().unwrap().abs()).sum::<f64>();
        let conserved = column(&path, "conserved");
        let off = conserved.iter().fold(0.0f64, |most, x| most.max((x - conserved[0]).abs()));
        (off, works)
    };
    let ((coarse, work), (fine, _)) = (drift(0.004), drift(0.001));
    assert!(work > 2.0, "{work}");
    assert!(fine < 0.02 * work && fine < coarse / 3.0, "{fine} {coarse} of {work}");
}

#[test]
fn a_bias_on_a_place_does_not_conserve_momentum() {
    let place = r#"
[[variable]]
name = "x"
kind = "position"
atoms = "index 17"
axis = "x"
[[bias]]
name = "hold"
kind = "harmonic"
variable = "x"
center = 1
stiffness = 10
"#;
    let degrees = |more: &str| {
        let mut simulation = Simulation::from_input(&input(more, ""), &Overrides::default()).unwrap();
        simulation.run().unwrap();
        simulation.reports()[0].degrees_of_freedom
    };
    assert_eq!(degrees(DISTANCE), 3 * 256 - 3);
    assert_eq!(degrees(place), 3 * 256 - 2, "momentum is conserved along the other axes");
}

/// Variables on a circle have no mean that `summary.json` could show, nor one that could settle.
#[test]
fn a_dihedral_has_no_plain_mean() {
    let more = "[[variable]]\nname = \"phi\"\nkind = \"dihedral\"\n\
                centers = [\"index 0\", \"index 1\", \"index 2\", \"index 3\"]\n[[bias]]\nname = \"h\"\n\
                kind = \"harmonic\"\nvariable = \"phi\"\ncenter = 3\nstiffness = 1\n";
    let mut simulation =
        Simulation::from_input(&input(&format!("{more}{DISTANCE}"), ""), &Overrides::default()).unwrap();
    simulation.run().unwrap();
    let names: Vec<&str> =
        simulation.reports()[0].averages.iter().map(|average| average.quantity.as_str()).collect();
    assert!(!names.contains(&"phi") && names.contains(&"d") && names.contains(&"bias_h"), "{names:?}");

    let settled = input(more, "until = \"phi settled\"");
    let refused = Simulation::from_input(&settled, &Overrides::default()).and_then(|mut s| s.run());
    let error = refused.unwrap_err();
    assert!(error.message().contains("'phi', which is on a circle"), "{error}");
}

/// A variable that leaves the grid of metadynamics ends the run, with a remedy and all of its hills.
#[test]
fn a_grid_that_is_left_ends_the_run() {
    let more = format!(
        "{DISTANCE}[[bias]]\nname = \"meta\"\nkind = \"metadynamics\"\nvariables = [\"d\"]\nwidth = 0.1\n\
         height = 0.1\nevery = 5\nlower = 0\nupper = 2.6\n"
    );
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let text = input_text(&more, "").replace("steps = 60", "steps = 6000");
    let input = Input::parse(Path::new("biases.toml"), &text).unwrap();
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    simulation.write_to(&run, Existing::Refuse).unwrap();
    let error = simulation.run().unwrap_err();
    assert!(error.message().contains("outside of the grid of metadynamics from 0 to 2.6"), "{error}");
    assert!(error.help().is_some());
    // Its hills are there.
    let hills = std::fs::read_to_string(run.join("meta.hills")).unwrap();
    assert!(hills.lines().count() > 10, "{hills}");
}

/// A bias on the volume alone acts: an ideal gas at a pressure has the volumes of V^N exp(-(P V + U(V)) / kT), by each
/// barostat; without atoms of variables a force rests otherwise.
#[test]
fn a_bias_on_the_box_alone_acts() {
    let (n, pressure, center, stiffness) = (8, 0.05, 150.0f64, 2e-3);
    for (barostat, more) in [("monte-carlo", ""), ("cell-rescaling", ", compressibility = 5")] {
        let text = format!(
            "units = \"lj\"\n[system]\nplace = \"random\"\natoms = {n}\ndensity = 0.05\ntemperature = 1\nseed = 3\n\
             [species.A]\nmass = 1\n[[force]]\nkind = \"lennard-jones\"\ncutoff = 1.5\npairs.\"A-A\" = \"none\"\n\
             [[variable]]\nname = \"vol\"\nkind = \"volume\"\n\
             [[bias]]\nname = \"b\"\nkind = \"harmonic\"\nvariable = \"vol\"\ncenter = {center}\nstiffness = {stiffness}\n\
             [[stage]]\nname = \"go\"\nsteps = 60000\ntimestep = 0.02\nthermo = {{ every = 10 }}\n\
             thermostat = {{ kind = \"langevin\", temperature = 1, friction = 2 }}\n\
             barostat = {{ kind = \"{barostat}\", pressure = {pressure}, every = 2{more} }}\n\
             [run]\nthreads = 1\ndevice = \"cpu\"\nprecision = \"double\"\n"
        );
        let input = Input::parse(Path::new("volume.toml"), &text).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let run = folder.path().join("run");
        let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
        simulation.write_to(&run, Existing::Refuse).unwrap();
        simulation.run().unwrap();
        let (volumes, energies) = (column(&run, "vol"), column(&run, "bias_b"));
        assert!(volumes.iter().chain(&energies).all(|x| x.is_finite()), "{barostat}: {}", volumes[0]);
        let weight = |v: f64| {
            let bias = 0.5 * stiffness * (v - center).powi(2);
            (f64::from(n) * v.ln() - pressure * v - bias).exp()
        };
        let grid = || (1..4000).map(|k| 0.2 * f64::from(k));
        let exact = grid().map(|v| v * weight(v)).sum::<f64>() / grid().map(weight).sum::<f64>();
        let mean = volumes.iter().sum::<f64>() / volumes.len() as f64;
        println!("{barostat}: {mean}, {exact}");
        assert!((mean - exact).abs() < 0.025 * exact, "{barostat}: {mean}, not {exact}");
    }
}

/// A reference whose molecule is cut by a face of the box, as frames of runs are, is the same as a whole one.
#[test]
fn references_are_made_whole() {
    let folder = tempfile::tempdir().unwrap();
    let atoms = |first: f64| {
        format!(
            "3\nLattice=\"10 0 0 0 10 0 0 0 10\" Properties=species:S:1:pos:R:3 pbc=\"T T T\"\nA {first} 5 5\nA 1 5.5 5\nA 1.4 6 5.7\n"
        )
    };
    fs::write(folder.path().join("cut.xyz"), atoms(9.7)).unwrap();
    fs::write(folder.path().join("whole.xyz"), atoms(-0.3)).unwrap();
    let value = |reference: &str| {
        let text = format!(
            "units = \"lj\"\n[system]\nfile = \"cut.xyz\"\n[species.A]\nmass = 1\n\
             [[force]]\nkind = \"lennard-jones\"\ncutoff = 2\npairs.\"A-A\" = \"none\"\n\
             [[variable]]\nname = \"fit\"\nkind = \"rmsd\"\natoms = \"all\"\nreference = \"{reference}\"\n\
             [[stage]]\nname = \"go\"\nsteps = 1\ntimestep = 0.001\n"
        );
        let input = Input::parse(&folder.path().join("fit.toml"), &text).unwrap();
        let (system, _) = system_from_input(&input).unwrap();
        let surroundings = jostle_sampling::group::Surroundings::new(&system);
        let variables = jostle_engine::biasing::variables_from_input(&input, &system, &surroundings).unwrap();
        let positions: Vec<_> =
            variables.atoms().iter().map(|id| system.state.position[*id as usize]).collect();
        variables.evaluate(&system.simbox, &positions).unwrap().values()[0]
    };
    for reference in ["cut.xyz", "whole.xyz"] {
        assert!(value(reference) < 1e-6, "{reference}: {}", value(reference));
    }
}

/// Contacts are those of the beginning: a run in which they have broken goes on all the same.
#[test]
fn broken_contacts_go_on() {
    let contacts = "[[variable]]\nname = \"q\"\nkind = \"contacts\"\nbetween = [\"index 0\", \"index 1 to 3\"]\n\
        reach = 1.8\nsteepness = 3.0\n";
    let text =
        input_text(contacts, "").replace("steps = 60", "steps = 1500").replace("every = 6", "every = 50");
    let text = text.replace("density = 0.8", "density = 0.3").replace("temperature = 1.1", "temperature = 8");
    let input = Input::parse(Path::new("contacts.toml"), &text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = ["whole", "parts"].map(|name| folder.path().join(name));
    run_in_parts(&input, &a, u64::MAX);
    run_in_parts(&input, &b, 200);
    assert!(column(&a, "q").iter().any(|q| *q < 0.1), "{:?}", column(&a, "q"));
    assert_eq!(thermo_csv(&a), thermo_csv(&b));
}
