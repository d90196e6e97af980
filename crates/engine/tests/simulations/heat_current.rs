//! Thermal conductivity by Green and Kubo, and systems that it is refused for.

use jostle_engine::{Overrides, Simulation};
use jostle_io::Input;
use std::path::Path;

/// A Lennard-Jones liquid of 256 atoms at density 0.6 and temperature 1.35.
const LIQUID: &str = r#"
units = "lj"
[system]
lattice = "fcc"
cells = [4, 4, 4]
density = 0.6
temperature = 1.35
seed = 2
[species.Ar]
mass = 1
[[force]]
kind = "lennard-jones"
cutoff = 2.5
truncation = "shifted"
pairs."Ar-Ar" = { epsilon = 1, sigma = 1 }
[[stage]]
name = "melt"
steps = 2_000
timestep = 0.005
thermostat = { kind = "langevin", temperature = 1.35, friction = 1 }
[[stage]]
name = "sample"
steps = 120_000
timestep = 0.005
measure = [{ kind = "thermal-conductivity", every = 8 }, { kind = "thermal-conductivity", every = 8, to = 2 }]
[run]
reproducible = true
device = "cpu"
threads = 1
"#;

/// Published for 8,000 atoms: see `heat_flux::a_liquid_has_its_thermal_conductivity`, where heat is driven.
#[test]
fn a_liquid_has_its_thermal_conductivity() {
    let input = Input::parse(Path::new("liquid.toml"), LIQUID).unwrap();
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    simulation.run().unwrap();
    let results = simulation.results();
    assert_eq!((results[0].0.as_str(), results[0].1.frames), ("sample.thermal-conductivity", 15_000));
    let found = [0, 1].map(|k| results[k].1.results.get("thermal conductivity").unwrap().clone());
    println!("{found:?}");
    // With an end that is found the error has what a tail may add.
    for (found, largest) in found.iter().zip([2.0, 0.35]) {
        let error = found.error.unwrap();
        assert!(error < largest, "{error} says nothing");
        let published = 3.39 - 3.0 * error..3.78 + 3.0 * error;
        assert!(published.contains(&found.value), "{} +- {error}", found.value);
    }
}

const RESTRAINT: &str =
    "[[restraint]]\nname = \"r\"\nkind = \"position\"\natoms = \"index 0\"\nstiffness = 5\n";

/// Restraints and biases of other stages do not act on the heat current of this one.
#[test]
fn what_does_not_act_in_a_stage_is_no_obstacle() {
    let bias = "[[variable]]\nname = \"d\"\nkind = \"distance\"\nbetween = [\"index 1\", \"index 2\"]\n\
        [[bias]]\nname = \"pull\"\nkind = \"linear\"\nvariable = \"d\"\nforce = 1\nstages = [\"melt\"]\n";
    let text = LIQUID
        .replace("steps = 2_000", "steps = 10")
        .replace("steps = 120_000", "steps = 200")
        .replace("measure = [", "restraints = []\nmeasure = [")
        .replacen("[[stage]]", &format!("{RESTRAINT}{bias}[[stage]]"), 1);
    let input = Input::parse(Path::new("liquid.toml"), &text).unwrap();
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    simulation.run().unwrap();
    assert!(simulation.results()[0].1.results.get("temperature").unwrap().value > 0.5);
}

#[test]
fn mistakes_point_into_the_input() {
    let (species, pair) = ("[species.Ar]\nmass = 1", "pairs.\"Ar-Ar\" = { epsilon = 1, sigma = 1 }");
    let measured = "measure = [{ kind = \"thermal-conductivity\", every = 8 }";
    let two = format!("{species}\nfraction = 0.5\n{}\nfraction = 0.5", species.replace("Ar", "Kr"));
    let pairs = ["Ar-Ar", "Ar-Kr", "Kr-Kr"].map(|names| pair.replace("Ar-Ar", names)).join("\n");
    let variable = "[[variable]]\nname = \"d\"\nkind = \"distance\"\nbetween = [\"index 1\", \"index 2\"]";
    let bias = "bias = [{ kind = \"linear\", name = \"pull\", variable = \"d\", force = 1 }]";
    let in_stage = |more: &str| (measured, format!("{more}\n{measured}"));
    let cases = [
        (vec![(species, two), (pair, pairs)], "several species"),
        (
            vec![("[[stage]]", "[[field]]\nforce = [0, 0, 1]\n[[stage]]".into())],
            "fields, walls or restraints",
        ),
        (vec![in_stage("heat_flux = { axis = \"z\", every = 50 }")], "nothing is driven"),
        (
            vec![in_stage("thermostat = { kind = \"langevin\", temperature = 1, friction = 1 }")],
            "heat of single atoms",
        ),
        (
            vec![in_stage("thermostat = { kind = \"dpd\", temperature = 1, friction = 1, cutoff = 1 }")],
            "heat of single atoms",
        ),
        (
            vec![in_stage("thermostat = { kind = \"bussi\", temperature = [1, 2] }")],
            "temperature of this stage changes",
        ),
        (vec![("[[stage]]", format!("{RESTRAINT}[[stage]]"))], "fields, walls or restraints"),
        (
            vec![("[[stage]]", format!("{RESTRAINT}[[stage]]")), in_stage("restraints = { r = 1 }")],
            "fields, walls or restraints",
        ),
        (
            vec![("density = 0.6", "density = 0.6\nperiodic = [true, true, false]".into())],
            "periodic along all axes",
        ),
        (
            vec![
                ("units = \"lj\"", format!("units = \"lj\"\n{bias}")),
                ("[run]", format!("{variable}\n[run]")),
            ],
            "under a bias",
        ),
    ];
    for (changes, says) in cases {
        let text =
            changes.into_iter().fold(LIQUID.to_string(), |text, (old, new)| text.replacen(old, &new, 1));
        let input = Input::parse(Path::new("liquid.toml"), &text).unwrap();
        let error = Simulation::from_input(&input, &Overrides::default()).err().expect(says).to_string();
        assert!(error.contains(says) && error.contains("liquid.toml"), "{says}: {error}");
    }
}
