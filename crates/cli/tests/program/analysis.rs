//! Trajectories of runs: converted and analyzed.

use crate::jostle::{Desk, LIQUID};
use jostle_core::UnitSystem;
use jostle_engine::model::TrajectoryFormat;

/// A run with a trajectory in extended XYZ, 20 frames.
fn liquid(desk: &Desk) {
    desk.write("liquid.toml", LIQUID.replace("every = 20", "every = 4"));
    desk.succeed(&["run", "liquid.toml"]);
}

#[test]
fn a_trajectory_is_converted_there_and_back() {
    let desk = Desk::new();
    liquid(&desk);
    for kind in TrajectoryFormat::ALL {
        let format = kind.name();
        let there = format!("there.{format}");
        desk.succeed(&["convert", "liquid/sample.xyz", &there]);
        desk.succeed(&[
            "convert",
            &there,
            "back.xyz",
            "--names",
            "liquid/sample.xyz",
            "--overwrite",
            "--timestep",
            "0.005",
        ]);
        let (before, after) = (desk.read("liquid/sample.xyz"), desk.read("back.xyz"));
        assert_eq!(before.lines().count(), after.lines().count(), "{format}");
        let precision = kind.precision(UnitSystem::Lj);
        if precision.relative + precision.position == 0.0 {
            let atoms = |text: &str| {
                text.lines().filter(|l| l.starts_with("A ")).map(String::from).collect::<Vec<_>>()
            };
            assert_eq!(atoms(&before), atoms(&after), "{format} keeps every digit");
        }
    }
    let refused = desk.jostle(&["convert", "liquid/sample.xyz", "there.xtc"]);
    assert!(refused.stderr.contains("--overwrite"), "{}", refused.stderr);
    let refused = desk.jostle(&["convert", "liquid/sample.xyz", "there.mol2"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains(".xtc"), "{}", refused.stderr);
}

/// Velocities too far apart for a diffusion coefficient: it is not given, neither by the run nor from its
/// file, and stderr, log, JSON and report say why.
#[test]
fn what_was_sampled_too_coarsely_is_told() {
    let desk = Desk::new();
    let coarse = LIQUID.replace("steps = 80", "steps = 6000").replace(
        "trajectory = { every = 20,",
        "measure = [{ kind = \"vacf\", every = 200, lags = 8 }]\ntrajectory = { every = 200,",
    );
    desk.write("liquid.toml", coarse);
    let run = desk.succeed(&["run", "liquid.toml"]);
    let file = desk.succeed(&["analyze", "vacf", "liquid/sample.xyz", "lags=8", "--json"]);
    let of_run: serde_json::Value = serde_json::from_str(&desk.read("liquid/sample.vacf.json")).unwrap();
    let of_file = file.json()["results"].clone();
    assert_eq!(of_run["warnings"], of_file["warnings"]);
    assert_eq!(of_run["warnings"][0]["about"], "diffusion coefficient all");
    assert_eq!(of_run["warnings"][0]["verdict"], "withheld");
    assert_eq!(of_run["values"], serde_json::json!([]));
    assert_eq!(of_run["tables"][0]["name"], "vacf");
    desk.succeed(&["report", "liquid"]);
    for text in [run.stderr, desk.read("liquid/jostle.log"), file.stderr, desk.read("liquid/report.html")] {
        assert!(text.contains("diffusion coefficient all is not given: "), "{text}");
    }
}

/// Shells beyond half the box are given, with a word; a box without a volume is refused.
#[test]
fn boxes_too_small_are_told() {
    let desk = Desk::new();
    liquid(&desk);
    let wide = desk.succeed(&["analyze", "rdf", "liquid/sample.xyz", "cutoff=5"]);
    assert!(wide.stderr.contains("warning: g(r) is doubtful: the cutoff, 5"), "{}", wide.stderr);
    for edge in ["1e-320", "1e-10"] {
        let frame = format!(
            "3\nLattice=\"{edge} 0 0 0 5 0 0 0 5\" Properties=species:S:1:pos:R:3 pbc=\"T T T\"\nA 1 1 1\nA 2 2 2\nA 3 3 3\n"
        );
        desk.write("small.xyz", frame);
        for kind in [
            &["clusters", "cutoff=1.5"][..],
            &["minkowski", "radius=1"],
            &["structure-factor"],
            &["bond-order"],
        ] {
            let refused =
                desk.jostle(&[&["analyze", kind[0], "small.xyz", "--units", "lj"], &kind[1..]].concat());
            assert_eq!(refused.code, Some(2), "{edge} {kind:?}: {}", refused.stderr);
            assert!(refused.stderr.contains("box"), "{}", refused.stderr);
        }
        let refused =
            desk.jostle(&["analyze", "rdf", "small.xyz", "--units", "lj", "--atoms", "within 2 of index 1"]);
        assert_eq!(refused.code, Some(2), "{edge}: {}", refused.stderr);
    }
}

#[test]
fn a_run_is_analyzed() {
    let desk = Desk::new();
    liquid(&desk);
    let finished = desk.succeed(&["analyze", "rdf", "liquid/sample.xyz", "bins=50"]);
    let mut lines = finished.stdout.lines();
    assert_eq!(lines.next(), Some("r,g all,g all error"));
    let rows: Vec<Vec<f64>> = lines.map(|l| l.split(',').map(|x| x.parse().unwrap()).collect()).collect();
    assert_eq!(rows.len(), 50);
    let peak = rows.iter().max_by(|a, b| a[1].total_cmp(&b[1])).unwrap();
    assert!((1.0..1.2).contains(&peak[0]), "the first peak of a liquid is at {}", peak[0]);
    assert!(finished.stderr.contains("first peak all = 1."), "{}", finished.stderr);
    let json = desk.succeed(&["analyze", "bond-order", "liquid/sample.xyz", "--json"]).json();
    assert_eq!(json["kind"], "bond-order");
    assert!(json["results"]["values"].as_array().unwrap().iter().all(|v| v["error"].is_number()));
    desk.succeed(&["analyze", "msd", "liquid/sample.xyz", "from=0.02", "to=1", "--output", "out"]);
    assert!(desk.read("out/msd.csv").starts_with("t,msd all,msd all error"));
    let wrong = desk.jostle(&["analyze", "rdf", "liquid/sample.xyz", "bin=50"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("did you mean bins=...?"), "{}", wrong.stderr);
}

/// A. Rahman, Phys. Rev. 136 (1964) A405: in liquid argon at 94.4 K the first peak of g(r) is at
/// 3.7 angstrom and D = 2.43e-5 cm^2/s. His cut-off was 2.25 sigma; ours is 2.5. A thermostat that
/// acts on all atoms alike holds the temperature: at constant energy that of 864 atoms would be off
/// by some T / sqrt(C_v / k_B), 2 K, and diffusion with it.
#[test]
fn argon_is_rahmans() {
    let desk = Desk::new();
    let example = std::fs::read_to_string(crate::jostle::repository("examples/argon.toml")).unwrap();
    let short = example
        .replace("steps = 100_000", "steps = 10_000")
        .replace("steps = 900_000", "steps = 50_000")
        .replace("every = 5000, format = \"xtc\"", "every = 20, format = \"trr\"");
    let thermostat = r#"thermostat = { kind = "bussi", temperature = 94.4, period = "0.5 ps" }"#;
    desk.write("argon.toml", format!("{short}\n{thermostat}\n\n[run]\nreproducible = true\n"));
    desk.succeed(&["run", "argon.toml"]);
    let values = |arguments: &[&str]| {
        let json = desk.succeed(arguments).json();
        move |name: &str| {
            let values = json["results"]["values"].as_array().unwrap();
            let value = values.iter().find(|v| v["name"] == name).unwrap();
            (value["value"].as_f64().unwrap(), value["error"].as_f64().unwrap())
        }
    };
    // start.xyz beside the trajectory has the names and the units.
    let rdf = values(&["analyze", "rdf", "argon/sample.trr", "bins=300", "--every", "10", "--json"]);
    let (peak, _) = rdf("first peak all");
    assert!((peak - 3.7).abs() < 0.05, "the first peak is at {peak} A");
    // 1 cm^2/s is 10 A^2/fs.
    let (rahman, tolerance) = (2.43e-4, 0.05 * 2.43e-4);
    for kind in [&["msd", "from=2ps", "to=20ps"][..], &["vacf", "lags=100"]] {
        let (kind, settings) = kind.split_first().unwrap();
        let arguments = [&["analyze", kind, "argon/sample.trr", "--json"][..], settings].concat();
        let (d, error) = values(&arguments)("diffusion coefficient all");
        assert!((d - rahman).abs() < 3.0 * error + tolerance, "{kind}: D = {d} ± {error} A^2/fs");
        assert!(error < 0.15 * d, "{kind}: D = {d} ± {error} A^2/fs");
    }
}

/// The viscosity of the truncated and shifted Lennard-Jones liquid at T = 1.5 and rho = 0.7 by Green and
/// Kubo against the formula that Lautenschlaeger and Hasse (2019) have fitted to simulations out of
/// equilibrium.
#[test]
fn a_liquid_has_its_viscosity() {
    let input = r#"
units = "lj"
[system]
lattice = "fcc"
atoms = 500
density = 0.7
temperature = 1.5
seed = 3
[species.A]
mass = 1
[[force]]
kind = "lennard-jones"
cutoff = 2.5
truncation = "shifted"
pairs."A-A" = { epsilon = 1, sigma = 1 }
[[stage]]
name = "melt"
steps = 5000
timestep = 0.004
thermostat = { kind = "bussi", temperature = 1.5 }
[[stage]]
name = "sample"
steps = 70_000
timestep = 0.004
thermostat = { kind = "bussi", temperature = 1.5, period = 2 }
measure = [{ kind = "viscosity", every = 5, to = 2 }]
[run]
reproducible = true
"#;
    let desk = Desk::new();
    desk.write("liquid.toml", input);
    desk.succeed(&["run", "liquid.toml"]);
    let json: serde_json::Value = serde_json::from_str(&desk.read("liquid/sample.viscosity.json")).unwrap();
    let value = &json["values"][0];
    let [viscosity, error] = ["value", "error"].map(|key| value[key].as_f64().unwrap());
    let (t, rho) = (1.5f64, 0.7f64);
    let dense = 0.5736 * rho * (1.38 * rho + (2.438 * rho.powi(4) - rho) / t).exp();
    let expected = dense + 0.1786 + 0.06529 * t - 1.158 * rho + 1.347 * rho * rho + 0.3194 * rho / t;
    println!("{viscosity} ± {error}, {expected}");
    assert!(error < 0.1 * expected, "{viscosity} ± {error}");
    assert!(
        (viscosity - expected).abs() < 3.0 * error + 0.04 * expected,
        "{viscosity} ± {error}, not {expected}"
    );
}

/// Steam, so hot that its molecules turn round within a few frames.
const WATER: &str = r#"
units = "real"
[system]
place = "water"
molecules = 16
bond_length = 1.0
bond_angle = 109.47
density = "0.05 g/cm3"
temperature = 3000
[species.O]
mass = 15.9994
charge = -0.8476
[species.H]
mass = 1.008
charge = 0.4238
[[force]]
kind = "lennard-jones"
cutoff = 5
pairs."O-O" = { epsilon = 0.1553, sigma = 3.166 }
pairs."O-H" = "none"
pairs."H-H" = "none"
[electrostatics]
kind = "pme"
[[stage]]
name = "nve"
steps = 1200
timestep = 1
thermo = { every = 15 }
trajectory = { every = 15, format = "xyz" }
measure = [
  { kind = "dielectric", every = 15 }, { kind = "dielectric", every = 15, temperature = 350 },
  { kind = "conductivity", every = 15 },
]
"#;

/// Dipole moments that a run measures come from its trajectory, too, with charges from the run or
/// from an input.
#[test]
fn a_trajectory_has_dipole_moments() {
    let desk = Desk::new();
    desk.write("water.toml", WATER);
    desk.succeed(&["run", "water.toml"]);
    let values = |results: &serde_json::Value| -> Vec<f64> {
        results["values"].as_array().unwrap().iter().map(|v| v["value"].as_f64().unwrap()).collect()
    };
    let of_run = |name: &str| values(&serde_json::from_str(&desk.read(name)).unwrap());
    // A run does not measure where it starts.
    let of_file = |arguments: &[&str]| {
        let all = [&["analyze", "dielectric", "--json", "--first", "1"], arguments].concat();
        values(&desk.succeed(&all).json()["results"])
    };
    // The permittivity, the temperature and the mean dipole moment.
    let same = |got: Vec<f64>, want: Vec<f64>| {
        assert_eq!(got.len(), 5);
        assert!(
            got.iter().zip(&want).all(|(g, w)| (g - w).abs() < 1e-9 * w.abs().max(1.0)),
            "{got:?} {want:?}"
        );
    };
    let [run, warm] = [of_run("water/nve.dielectric.json"), of_run("water/nve.dielectric-2.json")];
    // The mean of the frames' kinetic energies is that of the rows.
    same(of_file(&["water/nve.xyz"]), run);
    same(of_file(&["water/nve.xyz", "temperature=350 K"]), warm.clone());
    currents_are_the_same(&desk);
    std::fs::rename(desk.path("water/nve.xyz"), desk.path("alone.xyz")).unwrap();
    same(of_file(&["alone.xyz", "temperature=350", "--input", "water.toml"]), warm);
    desk.write(
        "cut.toml",
        WATER.replace("\"pme\"", "\"cutoff\"\ncutoff = 5").split("measure").next().unwrap(),
    );
    for (arguments, why) in [
        (&["alone.xyz"][..], "has no charges"),
        (&["alone.xyz", "--input", "water.toml"], "temperature=300"),
        (&["alone.xyz", "--input", "cut.toml", "temperature=300"], "fluctuations"),
        (&["alone.xyz", "--atoms", "species O"], "leave out --atoms"),
    ] {
        let refused = desk.jostle(&[&["analyze", "dielectric"], arguments].concat());
        assert!(refused.code != Some(0) && refused.stderr.contains(why), "{}", refused.stderr);
    }
}

/// The correlation of a coefficient by Green and Kubo.
fn correlation(results: &serde_json::Value) -> Vec<f64> {
    let columns = results["tables"][0]["columns"].as_array().unwrap();
    let column = columns.iter().find(|column| column["name"] == "correlation").unwrap();
    column["values"].as_array().unwrap().iter().map(|v| v.as_f64().unwrap()).collect()
}

/// Correlations of the current that a run measures are those of the velocities in its trajectory.
fn currents_are_the_same(desk: &Desk) {
    let run = correlation(&serde_json::from_str(&desk.read("water/nve.conductivity.json")).unwrap());
    let analyze = ["analyze", "conductivity", "water/nve.xyz", "--json", "--first", "1"];
    let file = correlation(&desk.succeed(&analyze).json()["results"]);
    assert!(run.len() > 20 && run.len() == file.len(), "{run:?}");
    let off = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-6 * run[0];
    assert!(run[0] > 0.0 && run.iter().zip(&file).all(off), "{run:?} {file:?}");
    let part = WATER.replace(
        "{ kind = \"conductivity\", every = 15 }",
        "{ kind = \"conductivity\", every = 15, atoms = \"all\" }",
    );
    desk.write("part.toml", part);
    let refused = desk.jostle(&["check", "part.toml"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("\"atoms\""), "{}", refused.stderr);
    desk.succeed(&["convert", "water/nve.xyz", "still.dcd"]);
    let still = ["analyze", "conductivity", "still.dcd", "--input", "water.toml", "temperature=300"];
    for refused in [desk.jostle(&still), desk.jostle(&["analyze", "vacf", "still.dcd"])] {
        let said = ["no velocities", "GSD", "H5MD", "gro"].iter().all(|word| refused.stderr.contains(word));
        assert!(refused.code != Some(0) && said, "{}", refused.stderr);
    }
}

/// Correlations of the heat current that a run measures come from its trajectory, too, with forces from the run or from
/// an input.
#[test]
fn a_trajectory_has_heat_currents() {
    let desk = Desk::new();
    let forces =
        "[[force]]\nkind = \"lennard-jones\"\ncutoff = 2\npairs.\"A-A\" = { epsilon = 1, sigma = 1 }\n";
    let system =
        "units = \"lj\"\n[system]\nlattice = \"fcc\"\ncells = [3, 3, 3]\ndensity = 0.8\ntemperature = 1\n";
    let stage = "[species.A]\nmass = 1\n[[stage]]\nname = \"nve\"\nsteps = 300\ntimestep = 0.004\n";
    let output = "thermo = { every = 5 }\ntrajectory = { every = 5, format = \"xyz\" }\n";
    let measure = "measure = [{ kind = \"thermal-conductivity\", every = 5 }]\n";
    desk.write("a.toml", format!("{system}{forces}{stage}{output}{measure}"));
    desk.succeed(&["run", "a.toml"]);
    let run = correlation(&serde_json::from_str(&desk.read("a/nve.thermal-conductivity.json")).unwrap());
    assert!(
        run.len() > 20 && run[0] > 0.0 && desk.path("a/nve.thermal-conductivity.csv").is_file(),
        "{run:?}"
    );
    let analyze = ["analyze", "thermal-conductivity", "a/nve.xyz", "--json", "--first", "1"];
    let same = |arguments: &[&str]| {
        let file = correlation(&desk.succeed(&[&analyze, arguments].concat()).json()["results"]);
        let off = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-5 * run[0];
        assert!(run.len() == file.len() && run.iter().zip(&file).all(off), "{run:?} {file:?}");
    };
    same(&[]);
    same(&["--input", "a.toml", "temperature=1"]);
    std::fs::rename(desk.path("a/nve.xyz"), desk.path("alone.xyz")).unwrap();
    desk.succeed(&["convert", "alone.xyz", "still.dcd"]);
    desk.write("field.toml", format!("{system}{forces}{stage}[[field]]\nforce = [0, 0, 1]\n"));
    for (arguments, why) in [
        (&["alone.xyz"][..], "forces between its atoms"),
        (&["alone.xyz", "--input", "field.toml", "temperature=1"], "fields, walls or restraints"),
        (&["still.dcd", "--input", "a.toml", "temperature=1"], "no velocities"),
    ] {
        let refused = desk.jostle(&[&["analyze", "thermal-conductivity"], arguments].concat());
        assert!(refused.code != Some(0) && refused.stderr.contains(why), "{}", refused.stderr);
    }
}

#[test]
fn a_run_and_its_analyses_are_drawn() {
    let desk = Desk::new();
    liquid(&desk);
    desk.succeed(&["analyze", "rdf", "liquid/sample.xyz", "--output", "liquid"]);
    desk.succeed(&["plot", "liquid"]);
    for name in ["temperature", "energy", "pressure", "rdf", "rdf-coordination"] {
        assert!(desk.read(&format!("liquid/plots/{name}.svg")).starts_with("<svg"), "{name}");
        assert!(desk.path(&format!("liquid/plots/{name}.png")).is_file(), "{name}");
    }
    // Single files, to a folder of one's own.
    desk.succeed(&["plot", "liquid/rdf.csv", "liquid/thermo.csv", "--output", "figures"]);
    assert_eq!(desk.read("figures/rdf.svg"), desk.read("liquid/plots/rdf.svg"));
    for (path, said) in [("liquid/input.toml", "input.toml"), ("nowhere.csv", "nowhere.csv")] {
        let refused = desk.jostle(&["plot", path]);
        assert!(refused.code != Some(0) && refused.stderr.contains(said), "{}", refused.stderr);
    }
}

#[test]
fn a_run_is_measured_while_it_goes() {
    let desk = Desk::new();
    let measured = |list: &str| {
        LIQUID
            .replace("trajectory = { every = 20,", &format!("measure = [{list}]\ntrajectory = {{ every = 4,"))
    };
    desk.write(
        "liquid.toml",
        measured("{ kind = \"rdf\", every = 4, bins = 50 }, { kind = \"lindemann\", every = 40 }"),
    );
    let finished = desk.succeed(&["run", "liquid.toml"]);
    // Frames from the trajectory give the same numbers.
    desk.succeed(&["analyze", "rdf", "liquid/sample.xyz", "bins=50", "--output", "after"]);
    let columns = |name: &str| -> Vec<f64> {
        let text = desk.read(name);
        text.lines()
            .skip(1)
            .flat_map(|l| l.split(',').map(|x| x.parse().unwrap_or(f64::NAN)).collect::<Vec<f64>>())
            .collect()
    };
    let (during, after) = (columns("liquid/sample.rdf.csv"), columns("after/rdf.csv"));
    assert_eq!(during.len(), 150);
    assert!(during.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + a.abs())));
    assert!(finished.stderr.contains("2 frames are too few"), "{}", finished.stderr);
    assert!(!desk.files().iter().any(|f| f.contains("lindemann")));
    for (list, said) in [
        ("{ kind = \"rfd\", every = 4 }", "did you mean \"rdf\"?"),
        ("{ kind = \"rdf\" }", "needs \"every\""),
        ("{ kind = \"rdf\", every = 4, cutof = 2 }", "did you mean \"cutoff\"?"),
        ("{ kind = \"rdf\", every = 4, bins = 0.5 }", "not a whole number"),
    ] {
        desk.write("wrong.toml", measured(list));
        let refused = desk.jostle(&["check", "wrong.toml"]);
        assert_eq!(refused.code, Some(2));
        assert!(
            refused.stderr.contains(said) && refused.stderr.contains("wrong.toml:"),
            "{}",
            refused.stderr
        );
    }
}

/// Measures of the system as a whole agree with the rows of `thermo.csv`.
#[test]
fn the_viscosity_is_measured_while_it_goes() {
    let desk = Desk::new();
    let measured = |list: &str| {
        LIQUID.replace("thermo = { every = 10 }", "thermo = { every = 2 }").replace(
            "trajectory = { every = 20,",
            &format!("measure = [{list}]\ntrajectory = {{ every = 20,"),
        )
    };
    desk.write("liquid.toml", measured("{ kind = \"viscosity\", every = 2 }"));
    desk.succeed(&["run", "liquid.toml"]);
    desk.succeed(&["analyze", "viscosity", "liquid", "--output", "after"]);
    let read = |name: &str| -> serde_json::Value { serde_json::from_str(&desk.read(name)).unwrap() };
    let (during, after) = (read("liquid/sample.viscosity.json"), read("after/viscosity.json"));
    assert_eq!(during["frames"], after["frames"]);
    let values = |record: &serde_json::Value| -> Vec<f64> {
        let table = &record["tables"][0]["columns"];
        let columns = table.as_array().unwrap().iter();
        columns.flat_map(|c| c["values"].as_array().unwrap()).map(|v| v.as_f64().unwrap()).collect()
    };
    let (during, after) = (values(&during), values(&after));
    assert_eq!(during.len(), after.len());
    assert!(during.len() >= 50);
    let largest = after.iter().fold(0.0f64, |a, b| a.max(b.abs()));
    assert!(during.iter().zip(&after).all(|(a, b)| (a - b).abs() < 1e-9 * largest));
    let refused = desk.jostle(&["analyze", "viscosity", "liquid", "--timestep", "0.1"]);
    assert!(
        refused.code != Some(0) && refused.stderr.contains("--timestep means nothing"),
        "{}",
        refused.stderr
    );
    let refused = desk.jostle(&["analyze", "viscosity", "liquid/sample.xyz"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("thermo.csv"), "{}", refused.stderr);
}

#[test]
fn a_report_holds_everything_itself() {
    let desk = Desk::new();
    liquid(&desk);
    desk.succeed(&["analyze", "rdf", "liquid/sample.xyz", "--output", "liquid"]);
    desk.succeed(&["report", "liquid"]);
    let page = desk.read("liquid/report.html");
    for part in
        ["A small liquid", "kind = &quot;bussi&quot;", "first peak all", "id=\"atoms\"", "pair forces"]
    {
        assert!(page.contains(part), "{part}");
    }
    assert!(!page.contains("<script src") && !page.contains("<link rel=\"stylesheet\""));
    let content = page.split("id=\"content\">").nth(1).unwrap().split("</script>").next().unwrap();
    let content: serde_json::Value = serde_json::from_str(content).unwrap();
    let names: Vec<&str> =
        content["figures"].as_array().unwrap().iter().map(|f| f["name"].as_str().unwrap()).collect();
    assert!(
        ["temperature", "energy", "drift", "pressure", "rdf"].iter().all(|n| names.contains(n)),
        "{names:?}"
    );
    let refused = desk.jostle(&["report", "."]);
    assert!(refused.code != Some(0) && refused.stderr.contains("no run"), "{}", refused.stderr);
}

#[test]
fn chosen_atoms_are_analyzed() {
    let desk = Desk::new();
    liquid(&desk);
    let all = desk.succeed(&["analyze", "rdf", "liquid/sample.xyz", "bins=20"]).stdout;
    let words = "index < 256";
    assert_eq!(
        desk.succeed(&["analyze", "rdf", "liquid/sample.xyz", "bins=20", "--atoms", words]).stdout,
        all
    );
    let some = desk.succeed(&["analyze", "rdf", "liquid/sample.xyz", "bins=20", "--atoms", "index < 100"]);
    assert_ne!(some.stdout, all);
    // Species that are not among them are not spoken of.
    desk.write("mixture.xyz", "2\nLattice=\"9 0 0 0 9 0 0 0 9\" units=lj\nA 0 0 0\nB 1 0 0\n".repeat(3));
    let both = desk.succeed(&["analyze", "density-profile", "mixture.xyz", "bins=3"]).stdout;
    let one =
        desk.succeed(&["analyze", "density-profile", "mixture.xyz", "bins=3", "--atoms", "species B"]).stdout;
    assert!(both.contains("density A") && !one.contains("density A"), "{one}");
    let wrong = desk.jostle(&["analyze", "rdf", "liquid/sample.xyz", "--atoms", "resid 3"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("have no residues"), "{}", wrong.stderr);
}

/// The input of a run names files beside it, which its copy in the folder of the run does not have.
#[test]
fn tables_of_an_input_are_found_with_its_files() {
    let desk = crate::solvate::desk();
    desk.succeed(&[&crate::solvate::SOLUTE[..], &["--box", "2.4", "--output", "wet"]].concat());
    let tables = "[[interaction]]\nname = \"sw\"\nbetween = [\"resname CH4\", \"water\"]\n\n[[stage]]";
    let input = desk.read("wet.toml").replacen("[[stage]]", tables, 1).replace("every = 1000", "every = 5");
    desk.write("wet.toml", input);
    desk.succeed(&["run", "wet.toml", "--steps", "10", "--threads", "1"]);
    let table = desk.succeed(&["analyze", "interaction", "wet"]).stdout;
    assert!(table.lines().count() > 2 && table.contains("sw_lennard_jones"), "{table}");
}
