//! Atoms that forces do not move: frozen and driven ones have no part in fluctuations. And inputs that are completed,
//! which have the energies of those that they come from.

use crate::jostle::{Desk, repository};

/// Atoms in a harmonic well each, half of them frozen.
const WELLS: &str = r#"
units = "lj"
[system]
lattice = "sc"
atoms = 64
density = 1
temperature = 1
seed = 11
[species.A]
mass = 1
count = 32
[species.B]
mass = 1
count = 32
frozen = true
[[force]]
kind = "gaussian-core"
cutoff = 1
pairs."A-A" = "none"
pairs."A-B" = "none"
pairs."B-B" = "none"
[[field]]
energy = "20 ((x - 2)^2 + (y - 2)^2 + (z - 2)^2)"
positions = "unwrapped"
species = ["A"]
[[stage]]
name = "begin"
steps = 5000
timestep = 0.01
thermostat = { kind = "langevin", temperature = 1, friction = 2 }
[[stage]]
name = "sample"
steps = 200_000
timestep = 0.01
thermostat = { kind = "langevin", temperature = 1, friction = 2 }
thermo = { every = 20 }
measure = [{ kind = "heat-capacity", every = 20 }]
[run]
reproducible = true
"#;

/// Three harmonic degrees of freedom of an atom have the heat capacity 3 k_B, of the moving atoms alone; in a run and from
/// its rows.
#[test]
fn a_heat_capacity_is_that_of_an_atom_that_moves() {
    let desk = Desk::new();
    for (name, text) in
        [("frozen", WELLS.to_string()), ("driven", WELLS.replace("frozen = true", "velocity = [0.01, 0, 0]"))]
    {
        desk.write(&format!("{name}.toml"), text);
        desk.succeed(&["run", &format!("{name}.toml")]);
        let of_run: serde_json::Value =
            serde_json::from_str(&desk.read(&format!("{name}/sample.heat-capacity.json"))).unwrap();
        let of_rows = desk.succeed(&["analyze", "heat-capacity", name, "--json"]).json();
        for results in [&of_run, &of_rows["results"]] {
            let [value, error] = ["value", "error"].map(|key| results["values"][0][key].as_f64().unwrap());
            println!("{name}: {value} ± {error}");
            assert!(error < 0.2 && (value - 3.0).abs() < 4.0 * error, "{name}: {value} ± {error}, not 3");
        }
    }
}

const SALT: &str = r#"
units = "lj"
[system]
lattice = "sc"
atoms = 64
density = 0.3
temperature = 1
[species.A]
mass = 1
charge = 1
count = 32
[species.B]
mass = 1
charge = -1
count = 32
[[force]]
kind = "soft-sphere"
pairs."A-A" = { epsilon = 1, sigma = 1 }
pairs."A-B" = { epsilon = 1, sigma = 1 }
pairs."B-B" = { epsilon = 1, sigma = 1 }
[electrostatics]
kind = "pme"
cutoff = 2
[[stage]]
name = "nve"
steps = 40
timestep = 0.002
thermo = { every = 2 }
trajectory = { every = 2, format = "xyz" }
"#;

/// Charges that keep a velocity are a current that is no fluctuation: refused in the run, and of its trajectory.
#[test]
fn driven_charges_have_no_conductivity() {
    let desk = Desk::new();
    let measured = |more: &str| format!("{SALT}measure = [{{ kind = \"conductivity\", every = 2 }}]\n{more}");
    let group = |how: &str| format!("[[group]]\nname = \"plate\"\natoms = \"index 0 to 7\"\n{how}\n");
    desk.write("driven.toml", measured(&group("velocity = [0.3, 0, 0]")));
    desk.write(
        "species.toml",
        measured("").replacen("charge = 1\n", "charge = 1\nvelocity = [0, 1, 0]\n", 1),
    );
    for name in ["driven.toml", "species.toml"] {
        let refused = desk.jostle(&["check", name]);
        let said = refused.stderr.split_whitespace().filter(|w| *w != "│").collect::<Vec<_>>().join(" ");
        assert!(refused.code != Some(0) && said.contains("charged atoms are driven here"), "{said}");
    }
    desk.write("frozen.toml", measured(&group("frozen = true")));
    desk.succeed(&["check", "frozen.toml"]);
    desk.write("unmeasured.toml", format!("{SALT}{}", group("velocity = [0.3, 0, 0]")));
    desk.succeed(&["run", "unmeasured.toml"]);
    let refused = desk.jostle(&["analyze", "conductivity", "unmeasured/nve.xyz"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("driven here"), "{}", refused.stderr);
    let refused = desk.jostle(&["analyze", "viscosity", "unmeasured"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("frozen or driven"), "{}", refused.stderr);
}

/// Output of `jostle check --full` is an input with the energies of the one that it comes from.
#[test]
fn a_completed_input_has_the_same_energy() {
    let desk = Desk::new();
    let table = |k: u32| {
        let r = 0.5 + 0.05 * f64::from(k);
        format!("{r} {} {}\n", (2.5 - r).powi(2), 2.0 * (2.5 - r))
    };
    desk.write("soft.table", (0..=40).map(table).collect::<String>());
    let sediment = std::fs::read_to_string(repository("examples/sediment.toml")).unwrap();
    let small = |text: &str| text.replace("4_000", "256").replace("26.5", "12");
    let film = SALT.replace("atoms = 64", "atoms = 64\nperiodic = [true, true, false]");
    let film = film.replace("[electrostatics]\nkind = \"pme\"\ncutoff = 2\n", "");
    let wall = "[[wall]]\naxis = \"z\"\nat = -1\natoms = \"above\"\n[wall.force]\nkind = ";
    for (name, text) in [
        ("sediment", small(&sediment)),
        ("electric", format!("{film}[[field]]\nelectric = [0, 0, 1]\n")),
        ("energy", format!("{film}[[field]]\nenergy = \"k mass z^2\"\nparameters = {{ k = 0.1 }}\n")),
        (
            "formula",
            format!(
                "{film}{wall}\"formula\"\nenergy = \"k exp(-r)\"\nparameters = {{ k = 3 }}\ncutoff = 4\n"
            ),
        ),
        (
            "table",
            format!(
                "{film}{wall}\"table\"\npairs.\"A-wall\" = {{ file = \"soft.table\" }}\npairs.\"B-wall\" = \"none\"\n"
            ),
        ),
        (
            "tables",
            film.replace("\"soft-sphere\"", "\"table\"")
                .replace("{ epsilon = 1, sigma = 1 }", "{ file = \"soft.table\" }"),
        ),
    ] {
        let file = format!("{name}.toml");
        desk.write(&file, text);
        let completed = desk.succeed(&["check", &file, "--full"]).stdout;
        desk.write("completed.toml", &completed);
        desk.succeed(&["check", "completed.toml"]);
        let [before, after] = [file.as_str(), "completed.toml"]
            .map(|file| desk.succeed(&["energy", file, "--json"]).json()["potential"].as_f64().unwrap());
        assert!(before != 0.0 && before == after, "{name}: {before} and {after}");
    }
}
