//! Variables, biases and free energies, from input files to profiles.

use crate::jostle::{Desk, LIQUID};

/// A particle in a double well at k_B T = 1, with biases.
pub fn particle(biases: &str, steps: u64, every: u64, seed: u64) -> String {
    format!(
        r#"
units = "lj"
[system]
file = "one.xyz"
temperature = 1
seed = {seed}
[species.A]
mass = 1
[[variable]]
name = "x"
kind = "position"
atoms = "all"
axis = "x"
[[variable]]
name = "y"
kind = "position"
atoms = "all"
axis = "y"
[[variable]]
name = "z"
kind = "position"
atoms = "all"
axis = "z"
[[field]]
energy = "3 (x^2 - 1)^2 + 0.5 x + y^2 + z^2"
positions = "unwrapped"
{biases}
[[stage]]
name = "go"
steps = {steps}
timestep = 0.05
thermostat = {{ kind = "langevin", temperature = 1, friction = 1 }}
thermo = {{ every = {every} }}
[run]
device = "cpu"
threads = 1
precision = "double"
"#
    )
}

pub fn wells(x: f64) -> f64 {
    3.0 * (x * x - 1.0).powi(2) + 0.5 * x
}

pub fn desk() -> Desk {
    let desk = Desk::new();
    let xyz =
        "1\nLattice=\"40 0 0 0 40 0 0 0 40\" Properties=species:S:1:pos:R:3 pbc=\"T T T\"\nA -0.9 0.1 0.1\n";
    desk.write("one.xyz", xyz);
    desk
}

/// Columns of a table in CSV, without its head.
pub fn table(text: &str) -> Vec<Vec<f64>> {
    let row = |line: &str| line.split(',').map(|x| x.parse().unwrap_or(f64::NAN)).collect();
    text.lines().skip(1).map(row).collect()
}

/// Largest deviation from the exact profile between -1.2 and 1.2, both with their means taken off.
pub fn deviation(rows: &[Vec<f64>]) -> f64 {
    let inner: Vec<&Vec<f64>> = rows.iter().filter(|row| row[0].abs() < 1.2 && row[1].is_finite()).collect();
    assert!(inner.len() > 10, "{rows:?}");
    let off: Vec<f64> = inner.iter().map(|row| row[1] - wells(row[0])).collect();
    let mean = off.iter().sum::<f64>() / off.len() as f64;
    off.iter().fold(0.0, |most, x| most.max((x - mean).abs()))
}

/// True where errors are given between -1.2 and 1.2, are no larger than the profile's own accuracy, and cover most of the
/// deviations from the exact one.
fn errors_are_honest(rows: &[Vec<f64>]) -> bool {
    let inner: Vec<&Vec<f64>> = rows.iter().filter(|row| row[0].abs() < 1.2 && row[1].is_finite()).collect();
    let off: Vec<f64> = inner.iter().map(|row| row[1] - wells(row[0])).collect();
    let mean = off.iter().sum::<f64>() / off.len() as f64;
    let covered =
        inner.iter().zip(&off).filter(|(row, off)| (**off - mean).abs() < 3.0 * row[2] + 0.15).count();
    inner.iter().all(|row| row[2] > 0.0 && row[2] < 0.9) && 10 * covered >= 8 * inner.len()
}

/// Energies of one configuration have the biases that act when the run begins, as its first row has them.
#[test]
fn energies_of_one_configuration_have_biases() {
    let desk = desk();
    let moving = "[[bias]]\nname = \"moving\"\nkind = \"harmonic\"\nvariable = \"x\"\n\
                  center = [0.1, 2]\nstiffness = 15\n";
    // The wells are a bias, too.
    let text = particle(moving, 10, 1, 3)
        .replace("[[field]]", "[[bias]]\nname = \"wells\"\nkind = \"formula\"")
        .replace("positions = \"unwrapped\"\n", "");
    desk.write("p.toml", text);
    let shown = desk.succeed(&["energy", "p.toml", "--json"]).json();
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let wells = wells(-0.9) + 0.02;
    let expected = wells + 7.5;
    assert!((number(&shown["potential"]) - expected).abs() < 1e-9, "{shown}");
    assert_eq!(
        (shown["terms"][0]["name"].as_str(), number(&shown["terms"][0]["energy"])),
        (Some("bias"), number(&shown["potential"]))
    );
    let columns = shown["columns"].as_array().unwrap();
    let column = |name: &str| number(&columns.iter().find(|c| c["name"] == name).unwrap()["value"]);
    assert!((column("x") + 0.9).abs() < 1e-12 && (column("bias_wells") - wells).abs() < 1e-9);
    assert!((column("bias_moving") - 7.5).abs() < 1e-9 && (column("moving_center") - 0.1).abs() < 1e-12);
    assert_eq!(column("moving_work"), 0.0);
    let text = desk.succeed(&["energy", "p.toml", "--forces", "f.csv"]).stdout;
    assert!(
        text.lines().any(|line| line.starts_with("bias_moving ") && line.ends_with("7.5000000000")),
        "{text}"
    );
    let force = table(&desk.read("f.csv"))[0][2];
    let slope = 12.0 * -0.9 * (0.81 - 1.0) + 0.5 + 15.0 * (-0.9 - 0.1);
    assert!((force + slope).abs() < 1e-9, "{force} {slope}");
    desk.succeed(&["run", "p.toml"]);
    let csv = desk.read("p/thermo.csv");
    let place = csv.lines().next().unwrap().split(',').position(|name| name == "bias").unwrap();
    assert!((table(&csv)[0][place] - expected).abs() < 1e-9, "{csv}");
}

#[test]
fn umbrella_windows_become_a_profile() {
    let desk = desk();
    let mut names = Vec::new();
    for (k, center) in [-1.4, -1.0, -0.6, -0.2, 0.2, 0.6, 1.0, 1.4].iter().enumerate() {
        let window = format!(
            "[[bias]]\nname = \"window\"\nkind = \"harmonic\"\nvariable = \"x\"\ncenter = {center}\nstiffness = 15\n"
        );
        let name = format!("w{k}");
        desk.write(&format!("{name}.toml"), particle(&window, 20_000, 10, k as u64));
        desk.succeed(&["run", &format!("{name}.toml")]);
        names.push(name);
    }
    let mut arguments = vec!["analyze", "pmf"];
    arguments.extend(names.iter().map(String::as_str));
    for method in ["method=mbar", "method=wham"] {
        let found = desk.succeed(&[&arguments[..], &[method, "bins=30"]].concat());
        assert!(found.stderr.contains("independent of"), "{}", found.stderr);
        let rows = table(&found.stdout);
        assert!(deviation(&rows) < 0.5, "{method}: {} {}", deviation(&rows), found.stdout);
    }
    let rows = table(&desk.succeed(&[&arguments[..], &["bins=30"]].concat()).stdout);
    assert!(rows.iter().all(|row| row[2] <= 1.0 || row[2].is_nan()), "errors: {rows:?}");
    // Bins at the ends have few samples, and large errors.
    let rows = table(&desk.succeed(&[&arguments[..], &["method=wham", "bins=30"]].concat()).stdout);
    let small = rows.iter().filter(|row| row[2] > 0.0 && row[2] < 1.0).count();
    assert!(small > 15, "errors: {rows:?}");
    // Rows and stages are chosen, or what is not there is named.
    let later = desk.succeed(&[&arguments[..], &["--first", "1000", "--every", "2"]].concat());
    assert!(later.stderr.contains("of 4000 samples of 8 windows"), "{}", later.stderr);
    for (option, value, message) in
        [("--stage", "nope", "no stage 'nope'"), ("--atoms", "all", "not of atoms")]
    {
        let refused = desk.jostle(&[&arguments[..], &[option, value]].concat());
        assert!(refused.code != Some(0) && refused.stderr.contains(message), "{}", refused.stderr);
    }
    // Windows far apart are named.
    let apart = desk.succeed(&["analyze", "pmf", "w0", "w1", "w7"]);
    assert!(apart.stderr.contains("windows w1") && apart.stderr.contains("add windows"), "{}", apart.stderr);
    let refused = desk.jostle(&["analyze", "pmf", "w0", "one.xyz"]);
    assert_ne!(refused.code, Some(0), "{}", refused.stderr);
    // A window counts once.
    let twice = desk.jostle(&["analyze", "pmf", "w0", "w1", "./w0"]);
    assert!(twice.code != Some(0) && twice.stderr.contains("w0 once more"), "{}", twice.stderr);
    // Folders of a sweep are windows, too.
    std::fs::rename(desk.path("w2"), desk.path("center=-0.6")).unwrap();
    names[2] = "center=-0.6".into();
    let of_sweep: Vec<&str> =
        ["analyze", "pmf"].into_iter().chain(names.iter().map(String::as_str)).collect();
    assert_eq!(table(&desk.succeed(&[&of_sweep[..], &["method=wham", "bins=30"]].concat()).stdout), rows);
}

#[test]
fn hills_and_mean_forces_become_profiles() {
    let desk = desk();
    let cases = [
        (
            "hills",
            "[[bias]]\nname = \"meta\"\nkind = \"metadynamics\"\nvariables = [\"x\"]\nwidth = 0.15\nheight = 0.2\n\
             every = 50\nbias_factor = 8\ntemperature = 1\nlower = -3\nupper = 3\n",
        ),
        (
            "force",
            "[[bias]]\nname = \"abf\"\nkind = \"abf\"\nvariables = [\"x\"]\ntemperature = 1\nlower = -1.6\nupper = 1.6\n\
             spacing = 0.1\nrelaxation = 1\nfull_samples = 50\n",
        ),
        (
            "kernels",
            "[[bias]]\nname = \"opes\"\nkind = \"opes\"\nvariables = [\"x\"]\nbarrier = 5\ntemperature = 1\n\
             width = 0.2\nevery = 100\n",
        ),
    ];
    for (name, bias) in cases {
        desk.write(&format!("{name}.toml"), particle(bias, 150_000, 100, 3));
        desk.succeed(&["run", &format!("{name}.toml")]);
        let found = desk.succeed(&["analyze", "pmf", name]);
        let rows = table(&found.stdout);
        assert!(deviation(&rows) < 0.9, "{name}: {} {}", deviation(&rows), found.stdout);
        assert!(errors_are_honest(&rows), "{name}: {}", found.stdout);
    }
    let hills = desk.read("hills/meta.hills");
    assert!(hills.starts_with("#! FIELDS time x sigma_x height biasf\n"), "{hills}");
    let of_file = desk.succeed(&["analyze", "pmf", "hills/meta.hills"]);
    assert_eq!(of_file.stdout, desk.succeed(&["analyze", "pmf", "hills"]).stdout);
    let refused = desk.jostle(&["analyze", "pmf", "hills", "--first", "10"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("of the whole file"), "{}", refused.stderr);
}

#[test]
fn mean_forces_that_do_not_close_around_a_period_are_doubtful() {
    let desk = desk();
    let forces = |more: f64| -> String {
        let row = |k: usize| {
            let x = -3.0 + 0.5 * k as f64;
            format!("{x} {}\n", (std::f64::consts::PI * x / 3.0).sin() + more)
        };
        format!("# 1\n# -3.25 0.5 12 1\n{}", (0..12).map(row).collect::<String>())
    };
    for (name, more, said) in [("closed.grad", 0.0, false), ("open.grad", 0.3, true)] {
        desk.write(name, forces(more));
        let found = desk.succeed(&["analyze", "pmf", name]);
        assert_eq!(found.stderr.contains("along variable 1 add up to 1.8"), said, "{name}: {}", found.stderr);
    }
}

#[test]
fn steered_runs_become_a_free_energy() {
    let desk = desk();
    let mut names = Vec::new();
    for (direction, ends, first) in [("forth", "[-1, 1]", "-1"), ("back", "[1, -1]", "1")] {
        for seed in 0..6 {
            let harmonic = |name: &str, center: &str, stage: &str| {
                format!(
                    "[[bias]]\nname = \"{name}\"\nkind = \"harmonic\"\nvariable = \"x\"\ncenter = {center}\n\
                     stiffness = 30\nstages = [\"{stage}\"]\n"
                )
            };
            let biases = harmonic("hold", first, "settle") + &harmonic("pull", ends, "go");
            let text = particle(&biases, 10_000, 100, seed);
            // The window stays at its beginning first.
            let [stage, run] = ["[[stage]]", "[run]"].map(|head| text.find(head).unwrap());
            let settle = text[stage..run].replace("\"go\"", "\"settle\"").replace("10000", "500");
            let name = format!("{direction}{seed}");
            desk.write(&format!("{name}.toml"), text.replacen("[[stage]]", &(settle + "[[stage]]"), 1));
            desk.succeed(&["run", &format!("{name}.toml")]);
            names.push(name);
        }
    }
    let mut arguments = vec!["analyze", "pmf", "--json"];
    arguments.extend(names.iter().map(String::as_str));
    let found = desk.succeed(&arguments).json();
    let values = found["results"]["values"].as_array().unwrap();
    assert_eq!(values.len(), 2, "{found}");
    for value in values {
        let (value, error) = (value["value"].as_f64().unwrap(), value["error"].as_f64().unwrap());
        // A stiff window has the free energy of its place: 1 between -1 and 1.
        assert!((value - 1.0).abs() < 4.0 * error.max(0.15), "{found}");
    }
    let refused = desk.jostle(&["analyze", "pmf", "forth0"]);
    assert!(refused.stderr.contains("give several"), "{}", refused.stderr);
    // The work of a part of the way leads to another end.
    let text = desk.read("forth0.toml").replace("name = \"go\"", "name = \"go\"\nuntil = \"x > 0\"");
    desk.write("part.toml", text);
    desk.succeed(&["run", "part.toml"]);
    let refused = desk.jostle(&["analyze", "pmf", "forth1", "part"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("a part of its way"), "{}", refused.stderr);
    // A bias that is switched off on its way does work that is not counted.
    let text = desk.read("forth0.toml").replace("stages = [\"go\"]", "stages = [\"first\", \"go\"]");
    let settle = &text[text.find("[[stage]]").unwrap()..text.rfind("[[stage]]").unwrap()];
    let first = settle.replace("\"settle\"", "\"first\"");
    desk.write("gap.toml", text.replacen("[[stage]]", &(first + "[[stage]]"), 1));
    desk.succeed(&["run", "gap.toml"]);
    let refused = desk.jostle(&["analyze", "pmf", "forth1", "gap"]);
    assert!(
        refused.code != Some(0) && refused.stderr.contains("does not act in stage 'settle'"),
        "{}",
        refused.stderr
    );
}

/// Variables along the trajectory of a run are the columns that the run wrote.
#[test]
fn variables_of_a_trajectory_are_those_of_the_run() {
    let desk = Desk::new();
    let variables = r#"
[[variable]]
name = "d"
kind = "distance"
between = ["index 4 to 7", "index 0"]
[[variable]]
name = "size"
kind = "gyration"
atoms = "index 4 to 7"
[[variable]]
name = "phi"
kind = "dihedral"
centers = ["index 0", "index 1", "index 2", "index 3"]
[[variable]]
name = "u"
kind = "energy"
[[variable]]
name = "v"
kind = "formula"
value = "2 u + d"

[[stage]]
name = "equilibrate""#;
    let text = LIQUID.replacen("[[stage]]\nname = \"equilibrate\"", variables, 1);
    desk.write("liquid.toml", text.replace("every = 20", "every = 10"));
    desk.succeed(&["run", "liquid.toml"]);
    let found = desk.succeed(&["analyze", "variable", "liquid", "--output", "out"]);
    assert!(found.stderr.contains("size = ") && !found.stderr.contains("warning"), "{}", found.stderr);
    // Energies, and formulas of them, are known during a run alone.
    assert!(found.stderr.contains("left out, as energies are known during a run alone: u, v"));
    let mine = table(&desk.read("out/variable.csv"));
    let thermo = desk.read("liquid/thermo.csv");
    let head: Vec<&str> = thermo.lines().next().unwrap().split(',').collect();
    let is_named = |column: &str, name: &str| column == name || column.starts_with(&format!("{name} ("));
    let columns = ["d", "size", "phi"].map(|name| {
        head.iter().position(|column| is_named(column, name)).expect("a column of each variable")
    });
    let rows = table(&thermo);
    assert!(mine.len() >= 8);
    for row in &mine {
        let own = rows.iter().find(|other| (other[2] - row[0]).abs() < 1e-9).unwrap();
        for (k, column) in columns.iter().enumerate() {
            assert!((own[*column] - row[1 + k]).abs() < 1e-6, "{own:?} {row:?}");
        }
    }
    assert!(desk.read("out/COLVAR").starts_with("#! FIELDS time d size phi\n#! SET min_phi -pi\n"));
    let refused = desk.jostle(&["analyze", "variable", "out/COLVAR"]);
    assert_ne!(refused.code, Some(0));
}

/// Atoms that nothing binds, all over the box: images are those that the run chose at its start, as long as frames tell where
/// atoms went.
#[test]
fn groups_wider_than_half_the_box_follow_the_paths_of_the_run() {
    let desk = Desk::new();
    let variable =
        "[[variable]]\nname = \"size\"\nkind = \"gyration\"\natoms = \"index 20 to 29\"\n\n[[stage]]";
    let text = LIQUID.replacen("[[stage]]", variable, 1).replace("every = 20", "every = 10");
    desk.write("liquid.toml", text);
    desk.succeed(&["run", "liquid.toml"]);
    let found = desk.succeed(&["analyze", "variable", "liquid", "--output", "out"]);
    assert!(!found.stderr.contains("warning"), "{}", found.stderr);
    let mine = table(&desk.read("out/variable.csv"));
    let thermo = desk.read("liquid/thermo.csv");
    let size = thermo.lines().next().unwrap().split(',').position(|column| column.starts_with("size"));
    for (row, own) in mine.iter().rev().zip(table(&thermo).iter().rev()) {
        let own = own[size.unwrap()];
        assert!((own - row[1]).abs() < 1e-6, "{own} {row:?}");
    }
    // Each atom goes by 4 of 10 along an axis, which may as well be 6 the other way.
    let frame = |shift: f64| {
        let atoms = (0..10).fold(String::new(), |atoms, k| {
            let x = (f64::from(k) + shift).rem_euclid(10.0);
            atoms + &format!("A {x} {} 5\n", (3 * k) % 10)
        });
        format!("10\nLattice=\"10 0 0 0 10 0 0 0 10\" Properties=species:S:1:pos:R:3 units=lj\n{atoms}")
    };
    desk.write("begin.xyz", frame(0.0));
    desk.write("far.xyz", [0.0, 4.0, 8.0].map(frame).concat());
    let input = "units = \"lj\"\n[system]\nfile = \"begin.xyz\"\n[species.A]\nmass = 1\n[[force]]\n\
        kind = \"lennard-jones\"\ncutoff = 2.5\npairs.\"A-A\" = { epsilon = 1, sigma = 1 }\n[[variable]]\n\
        name = \"size\"\nkind = \"gyration\"\natoms = \"index 0 to 9\"\n";
    desk.write("far.toml", input);
    let loose = desk.succeed(&["analyze", "variable", "far.xyz", "--input", "far.toml", "--output", "loose"]);
    assert!(loose.stderr.contains("which images belong together is not certain"), "{}", loose.stderr);
}

/// Interactions along the trajectory of a run are the columns that the run wrote.
#[test]
fn interactions_of_a_trajectory_are_those_of_the_run() {
    let desk = Desk::new();
    let interaction = "[[interaction]]\nname = \"few\"\nbetween = [\"index 0 to 9\", \"not index 0 to 9\"]\n\n\
                       [[stage]]\nname = \"equilibrate\"";
    let text = LIQUID.replacen("[[stage]]\nname = \"equilibrate\"", interaction, 1);
    desk.write("liquid.toml", text.replace("every = 20", "every = 10"));
    desk.succeed(&["run", "liquid.toml"]);
    desk.succeed(&["analyze", "interaction", "liquid", "--output", "out"]);
    let mine = table(&desk.read("out/interaction.csv"));
    let thermo = desk.read("liquid/thermo.csv");
    let head: Vec<&str> = thermo.lines().next().unwrap().split(',').collect();
    let columns = ["few_lennard_jones", "few_force_x"]
        .map(|name| head.iter().position(|column| column.split(' ').next() == Some(name)).unwrap());
    let rows = table(&thermo);
    assert!(mine.len() >= 8);
    for row in &mine {
        let own = rows.iter().find(|other| (other[2] - row[0]).abs() < 1e-9).unwrap();
        // Trajectories have single precision.
        assert!((own[columns[0]] - row[1]).abs() < 1e-3 * own[columns[0]].abs(), "{own:?} {row:?}");
        assert!((own[columns[1]] - row[2]).abs() < 1e-2 * own[columns[1]].abs().max(10.0), "{own:?} {row:?}");
    }
}

/// Energies in all states, in the layout of alchemlyb, become free energies.
#[test]
fn tables_of_energies_become_free_energies() {
    let desk = Desk::new();
    // Oscillators of stiffness 1, 2 and 4, whose samples are quantiles of the Gaussian.
    let mut table = "time,fep-lambda,0.0,0.5,1.0\n".to_string();
    let mut slopes = "time,fep-lambda,fep\n".to_string();
    for (state, k) in [(0.0, 1.0f64), (0.5, 2.0), (1.0, 4.0)] {
        for n in 0..500 {
            // A permutation without correlation.
            let u = (f64::from((n * 211) % 500) + 0.5) / 500.0;
            let mut x = 0.0f64;
            for _ in 0..60 {
                // Newton's method for the quantile of the logistic approximation of the Gaussian.
                let p = 1.0 / (1.0 + (-1.5976 * x - 0.070566 * x * x * x).exp());
                x -= (p - u) / (p * (1.0 - p) * (1.5976 + 0.211698 * x * x));
            }
            let square = x * x / k;
            table += &format!("{n},{state},{},{},{}\n", 0.5 * square, square, 2.0 * square);
            slopes += &format!("{n},{state},{}\n", 0.5 * 4f64.ln() * k * square);
        }
    }
    desk.write("u_nk.csv", table);
    desk.write("dHdl.csv", slopes);
    let found = desk.succeed(&["analyze", "free-energy", "u_nk.csv", "--json"]).json();
    let value = &found["results"]["values"][0];
    // Half the logarithm of the ratio of the stiffnesses.
    let exact = 0.5 * 4f64.ln();
    assert!((value["value"].as_f64().unwrap() - exact).abs() < 0.03, "{found}");
    assert!(value["error"].as_f64().unwrap() < 0.1);
    let found = desk.succeed(&["analyze", "free-energy", "dHdl.csv", "--json"]).json();
    let value = found["results"]["values"][0]["value"].as_f64().unwrap();
    assert!((value - exact).abs() < 0.03, "{found}");
    desk.write("bad.csv", "time,fep-lambda,0.0\n0,0.0,x\n");
    let refused = desk.jostle(&["analyze", "free-energy", "bad.csv"]);
    assert!(refused.stderr.contains("\"x\" is not a number"), "{}", refused.stderr);
    desk.write("bad.csv", "a,b\n");
    assert_eq!(desk.jostle(&["analyze", "free-energy", "bad.csv"]).code, Some(1));
}

/// One particle of a Lennard-Jones fluid decoupled in windows: the excess chemical potential that equations of state have
/// at T* = 1.5 and rho* = 0.5, -1.32 k_B T (Johnson et al. 1993) to -1.34 k_B T (Kolafa and Nezbeda 1994).
#[test]
fn windows_of_an_alchemical_path_become_a_chemical_potential() {
    let desk = Desk::new();
    let input = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/chemical-potential.toml"
    ));
    let shorter = input
        .unwrap()
        .replace("atoms = 500", "atoms = 108")
        .replace("cutoff = 3.0", "cutoff = 2.5")
        .replace("steps = 10_000", "steps = 1000")
        .replace("steps = 100_000", "steps = 8000")
        .replace("sample_every = 50", "sample_every = 20");
    desk.write("mu.toml", shorter);
    desk.succeed(&[
        "sweep",
        "mu.toml",
        "--over",
        "alchemy.window=0..8:1",
        "--output",
        "mu",
        "--threads",
        "1",
    ]);
    let folders: Vec<String> = (0..9).map(|window| format!("mu/window={window}")).collect();
    let arguments =
        ["analyze", "free-energy", "--json"].into_iter().chain(folders.iter().map(String::as_str));
    let found = desk.succeed(&arguments.collect::<Vec<_>>()).json();
    let values = found["results"]["values"].as_array().unwrap();
    assert_eq!(values.len(), 3, "{found}");
    let number = |value: &serde_json::Value, key: &str| value[key].as_f64().unwrap();
    for value in values {
        // 1 k_B T is 1.5 in the unit of energy.
        let unit = if value["unit"] == "kT" { 1.0 } else { 1.5 };
        let (found, error) = (number(value, "value") / unit, number(value, "error") / unit);
        // 0.02: half of what equations of state differ by, and the trapezoids of thermodynamic integration.
        assert!((found + 1.33).abs() < 4.0 * error + 0.02, "{value}");
        assert!(error < 0.2, "{value}");
    }
    let by_bar = &found["results"]["tables"][0]["columns"][3]["values"];
    assert!((by_bar[8].as_f64().unwrap() + 1.33).abs() < 0.4, "{found}");
    // Windows of a sweep have noise of their own.
    let seed = |k: u64| {
        serde_json::from_str::<serde_json::Value>(&desk.read(&format!("mu/window={k}/summary.json")))
    };
    let [first, last] = [0, 8].map(|k| seed(k).unwrap()["seed"].as_u64().unwrap());
    assert_eq!(first + 8, last);
    // Samples are chosen, or what is not there is named.
    let again = |options: &[&str]| {
        let arguments =
            ["analyze", "free-energy", "--json"].into_iter().chain(folders.iter().map(String::as_str));
        desk.jostle(&arguments.chain(options.iter().copied()).collect::<Vec<_>>())
    };
    let (all, some) = (found["frames"].as_u64().unwrap(), again(&["--first", "100"]).json());
    assert_eq!(some["frames"].as_u64().unwrap(), all - 900, "{some}");
    let refused = again(&["--stage", "nope"]);
    assert!(
        refused.code == Some(1) && refused.stderr.contains("no samples of a stage 'nope'"),
        "{}",
        refused.stderr
    );
    // A line that was cut off is left out.
    let name = desk
        .files()
        .into_iter()
        .find(|file| file.starts_with("mu/window=3/") && file.ends_with(".xvg"))
        .unwrap();
    let text = desk.read(&name);
    desk.write(&name, &text[..text.len() - 4]);
    let cut = again(&[]);
    assert!(cut.stderr.contains("the last line is not complete"), "{}", cut.stderr);
    assert_eq!(cut.json()["frames"].as_u64().unwrap(), all - 1);
    // A window that is not there, and a file that is none.
    desk.write("bad.xvg", "@ subtitle \"T = 300\n1 2 3\n");
    assert_eq!(desk.jostle(&["analyze", "free-energy", "bad.xvg"]).code, Some(1));
    let refused = desk.jostle(&["analyze", "free-energy", "mu"]);
    assert!(refused.stderr.contains("no samples of windows in this folder"), "{}", refused.stderr);
}

/// Hills of several walkers in one folder become one profile; a line that is being written is left out.
#[test]
fn hills_of_walkers_become_a_profile() {
    let desk = desk();
    let bias = "[[bias]]\nname = \"meta\"\nkind = \"metadynamics\"\nvariables = [\"x\"]\nwidth = 0.15\nheight = 0.2\n\
                every = 50\nbias_factor = 8\ntemperature = 1\nlower = -3\nupper = 3\nwalkers = \"shared\"\n";
    for (name, seed) in [("a", 1), ("b", 2), ("c", 3)] {
        desk.write(&format!("{name}.toml"), particle(bias, 50_000, 1000, seed));
        desk.succeed(&["run", &format!("{name}.toml")]);
    }
    let half = desk.read("shared/meta.2.hills") + "1234.5 0.1";
    desk.write("shared/meta.2.hills", half);
    let rows = table(&desk.succeed(&["analyze", "pmf", "shared"]).stdout);
    assert!(deviation(&rows) < 0.9, "{} {rows:?}", deviation(&rows));
    // The hills of one are not the bias that acted on it.
    let refused = desk.jostle(&["analyze", "pmf", "a"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("of all walkers"), "{}", refused.stderr);
    let warned = desk.succeed(&["analyze", "pmf", "a/meta.hills"]);
    assert!(warned.stderr.contains("those of one walker"), "{}", warned.stderr);
}

/// Rows that are means of samples are no moments: fluctuations are not found from them, and what has a value at a row
/// alone has that.
#[test]
fn rows_of_means_are_no_moments() {
    let desk = desk();
    let bias =
        "[[bias]]\nname = \"b\"\nkind = \"harmonic\"\nvariable = \"x\"\nstiffness = 20\ncenter = [-1, 1]\n";
    let window =
        "[[bias]]\nname = \"b\"\nkind = \"harmonic\"\nvariable = \"x\"\nstiffness = 20\ncenter = -1\n";
    let means =
        |text: String| text.replace("thermo = { every = 50 }", "thermo = { every = 50, sample_every = 5 }");
    desk.write("moments.toml", particle(bias, 400, 50, 3));
    desk.write("means.toml", means(particle(bias, 400, 50, 3)));
    desk.write("window.toml", means(particle(window, 400, 50, 3)));
    let last = |name: &str| -> Vec<f64> {
        desk.succeed(&["run", &format!("{name}.toml")]);
        let thermo = desk.read(&format!("{name}/thermo.csv"));
        let head: Vec<&str> = thermo.lines().next().unwrap().split(',').collect();
        let row: Vec<&str> = thermo.lines().last().unwrap().split(',').collect();
        let at = |column: &str| row[head.iter().position(|name| *name == column).unwrap()].parse().unwrap();
        vec![at("b_center"), at("b_work"), at("x")]
    };
    let (moments, of_means) = (last("moments"), last("means"));
    assert_eq!((moments[0], &moments[..2]), (1.0, &of_means[..2]));
    assert_ne!(moments[2], of_means[2]);
    desk.succeed(&["run", "window.toml"]);
    let refused = desk.jostle(&["analyze", "pmf", "window"]);
    assert!(refused.stderr.contains("the rows of stage 'go' are means of samples"), "{}", refused.stderr);
    let refused = desk.jostle(&["analyze", "heat-capacity", "window"]);
    assert!(refused.stderr.contains("are means of samples"), "{}", refused.stderr);
}
