//! Grains that make no sense.

use jostle_io::Input;
use std::path::Path;

const GRAINS: &str = r#"units = "lj"
[system]
lattice = "sc"
atoms = 1000
density = 0.5
periodic = [true, true, false]
[species.A]
radius = 0.5
[grains]
stiffness = 1000
friction = 0.5
[[wall]]
axis = "z"
at = -1
atoms = "above"
material = "grains"
[[stage]]
name = "fall"
steps = 1000
timestep = 0.001
"#;

#[test]
fn grains_that_make_no_sense() {
    let parse = |text: &str| Input::parse(Path::new("grains.toml"), text);
    let input = parse(GRAINS).unwrap();
    let species = input.species_with_mass().unwrap();
    let forces = input.resolve_forces(&species, &input.built_topology(), 0.0).unwrap();
    assert_eq!((forces.pairs.len(), forces.grains.unwrap().radius), (1, vec![0.5]));
    let table = [
        ("radius = 0.5", "charge = 1", 9, "[species.A] has none", "add radius"),
        ("stiffness = 1000\n", "", 9, "stiffness", "stiffness"),
        ("stiffness = 1000", "stiffness = 0", 10, "greater than zero", ""),
        ("friction = 0.5", "friction = -1", 11, "friction", ""),
        ("friction = 0.5", "tangential_stiffness = 300", 11, "than friction allows", "give friction"),
        ("friction = 0.5", "rolling = { friction = 0.1 }", 11, "nothing resists it", "leave rolling out"),
        ("friction = 0.5", "rolling = { stiffness = 100 }", 11, "friction", ""),
        ("[grains]\nstiffness = 1000\nfriction = 0.5\n", "", 7, "there is no [grains]", "add [grains]"),
        ("material = \"grains\"", "", 12, "material", ""),
        ("material = \"grains\"", "material = \"sand\"", 16, "sand", "grains"),
        (
            "timestep = 0.001",
            "timestep = 0.001\nthermostat = { kind = \"bussi\", temperature = 1, period = 1 }",
            21,
            "grains have no temperature",
            "leave it out",
        ),
        (
            "timestep = 0.001",
            "timestep = 0.001\nheat_flux = { every = 50 }",
            21,
            "grains have no temperature that heat",
            "leave it out",
        ),
    ];
    for (from, to, line, cause, hint) in table {
        let error = parse(&GRAINS.replace(from, to)).map(|_| ()).unwrap_err();
        let said = format!("{} / {:?}", error, error.help());
        assert!(error.message().contains(cause), "{to}: {said}");
        assert!(error.help().is_some_and(|help| help.contains(hint)) || hint.is_empty(), "{to}: {said}");
        assert_eq!(error.place().and_then(|p| p.line), Some(line), "{to}: {said}");
    }
    // A wall of grains without them.
    let soft = "[[force]]\nkind = \"soft-repulsion\"\npairs.\"A-A\" = { strength = 1, size = 1 }\n";
    let without = GRAINS.replace("[grains]\nstiffness = 1000\nfriction = 0.5\n", soft);
    let error = parse(&without.replace("radius = 0.5\n", "")).map(|_| ()).unwrap_err();
    assert!(error.message().contains("a wall of the material of grains"), "{error}");
}
