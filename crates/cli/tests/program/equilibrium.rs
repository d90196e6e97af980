//! Analyses of fluctuations beside a run: the temperature of the frames that are chosen, and stages out of equilibrium.

use crate::jostle::Desk;

/// A crystal whose velocities become half as hot at once as they were given.
const CRYSTAL: &str = r#"
units = "lj"
[system]
lattice = "fcc"
cells = [3, 3, 3]
density = 0.8
temperature = 1.2
seed = 4
[species.A]
mass = 1
[[force]]
kind = "lennard-jones"
cutoff = 2
truncation = "shifted"
pairs."A-A" = { epsilon = 1, sigma = 1 }
[[stage]]
name = "go"
steps = 200
timestep = 0.004
thermo = { every = 2 }
trajectory = { every = 2, format = "xyz" }
"#;

fn temperature(results: &serde_json::Value) -> f64 {
    let values = results["values"].as_array().unwrap();
    values.iter().find(|value| value["name"] == "temperature").unwrap()["value"].as_f64().unwrap()
}

/// Thermal conductivities go by the temperature of the frames that are chosen, as viscosities do by that of rows, and say
/// which it is.
#[test]
fn temperatures_are_those_of_the_chosen_frames() {
    let desk = Desk::new();
    let measured = format!("{CRYSTAL}measure = [{{ kind = \"thermal-conductivity\", every = 2 }}]\n");
    desk.write("hot.toml", measured);
    desk.succeed(&["run", "hot.toml"]);
    let found = |kind: &str, path: &str, chosen: [&str; 4]| {
        let arguments = [&["analyze", kind, path, "--json"], &chosen[..]].concat();
        temperature(&desk.succeed(&arguments).json()["results"])
    };
    // Rows begin after the start, frames with it.
    let all = found("thermal-conductivity", "hot/go.xyz", ["--first", "1", "--last", "100"]);
    let run = temperature(&serde_json::from_str(&desk.read("hot/go.thermal-conductivity.json")).unwrap());
    assert!((all - run).abs() < 1e-9, "{all} {run}");
    for [first, last] in [[1, 30], [60, 100]] {
        let number = |n: i32| n.to_string();
        let frames = ["--first", &number(first), "--last", &number(last)];
        let rows = ["--first", &number(first - 1), "--last", &number(last - 1)];
        let found = [found("thermal-conductivity", "hot/go.xyz", frames), found("viscosity", "hot", rows)];
        assert!((found[0] - found[1]).abs() < 1e-9, "{found:?}");
        assert!((found[0] - all).abs() > 0.002, "{found:?} {all}");
    }
}

/// Analyses refuse after a run what measures refuse during it.
#[test]
fn stages_out_of_equilibrium_are_refused_after_the_run() {
    let desk = Desk::new();
    let ions = CRYSTAL.replace("mass = 1\n", "mass = 1\ncharge = 0.5\nfraction = 0.5\n")
        .replace("[[force]]", "[species.B]\nmass = 1\ncharge = -0.5\nfraction = 0.5\n[electrostatics]\nkind = \"ewald\"\n[[force]]")
        .replace("cutoff = 2\n", "cutoff = 2\nmixing = \"lorentz-berthelot\"\npairs.\"B-B\" = { epsilon = 1, sigma = 1 }\n");
    let velocities = |text: &str| text.replace("format = \"xyz\"", "format = \"gro\"");
    let ramp = "thermostat = { kind = \"bussi\", temperature = [1, 2] }\n";
    let noise = "thermostat = { kind = \"langevin\", temperature = 1, friction = 1 }\n";
    for (name, text, kinds, why) in [
        (
            "ramp",
            format!("{CRYSTAL}{ramp}"),
            &["thermal-conductivity", "heat-capacity"][..],
            "temperature of this stage",
        ),
        ("noise", format!("{CRYSTAL}{noise}"), &["thermal-conductivity"], "heat of single atoms"),
        ("ions", format!("{}{ramp}", velocities(&ions)), &["conductivity"], "temperature of this stage"),
        ("dipoles", format!("{ions}{ramp}"), &["dielectric"], "temperature of this stage"),
    ] {
        desk.write(&format!("{name}.toml"), text);
        desk.succeed(&["run", &format!("{name}.toml")]);
        for kind in kinds {
            let refused = desk.jostle(&["analyze", kind, name]);
            let said = refused.stderr.split_whitespace().collect::<Vec<_>>().join(" ").replace("│ ", "");
            assert!(refused.code != Some(0) && said.contains(why), "{kind} {name}: {said}");
        }
    }
}

/// Bonds of the run beside a trajectory say what is whole: a crystal, row by row in its list, is as large as its box, and
/// deviates by less than its atoms shake and the box changes.
#[test]
fn unbound_atoms_lie_together() {
    let desk = Desk::new();
    let barostat = "thermostat = { kind = \"bussi\", temperature = 0.1 }\n\
         barostat = { kind = \"monte-carlo\", pressure = 30 }\n\
         measure = [{ kind = \"rmsd\", every = 2 }, { kind = \"gyration\", every = 2, length = 108 }]\n";
    desk.write(
        "cold.toml",
        format!("{}{barostat}", CRYSTAL.replace("temperature = 1.2", "temperature = 0.1")),
    );
    desk.succeed(&["run", "cold.toml"]);
    let value = |results: &serde_json::Value, name: &str| {
        let values = results["values"].as_array().unwrap().clone();
        values.iter().find(|value| value["name"] == name).unwrap()["value"].as_f64().unwrap()
    };
    let edge = (108.0f64 / 0.8).cbrt();
    for (kind, name, settings) in
        [("gyration", "radius of gyration", &["length=108"][..]), ("rmsd", "largest deviation", &[])]
    {
        let run: serde_json::Value =
            serde_json::from_str(&desk.read(&format!("cold/go.{kind}.json"))).unwrap();
        let file = ["analyze", kind, "cold/go.xyz", "--json", "--first", "1"];
        let file = desk.succeed(&[&file, settings].concat()).json()["results"].clone();
        let [run, file] = [run, file].map(|results| value(&results, name));
        assert!((run - file).abs() < 1e-5 * run, "{kind}: {run} {file}");
        // That of a full cube is half of its edge.
        let expected = if kind == "gyration" { 0.4 * edge..0.51 * edge } else { 0.01 * edge..0.06 * edge };
        assert!(expected.contains(&run), "{kind}: {run}");
    }
}
