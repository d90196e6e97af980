//! Inputs compared key by key.

use jostle_io::Input;
use std::path::Path;

const INPUT: &str = r#"
units = "real"
title = "one"
[system]
lattice = "fcc"
atoms = 108
density = "1.374 g/cm3"
temperature = 94.4
[species.Ar]
mass = 39.95
[[force]]
kind = "lennard-jones"
cutoff = 8.5
pairs."Ar-Ar" = { epsilon = 0.2379, sigma = 3.405 }
[[variable]]
name = "v"
kind = "volume"
[[bias]]
name = "window"
kind = "harmonic"
variable = "v"
center = 1
stiffness = 2
[[stage]]
name = "settle"
steps = 10
timestep = 2
[[stage]]
name = "go"
steps = 10
timestep = 2
thermostat = { kind = "langevin", temperature = 94.4, friction = 0.01 }
"#;

fn parse(text: &str) -> Input {
    Input::parse(Path::new("one.toml"), text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// Difference of the last stages of the input and of one with a replacement: the key, its values.
fn difference(
    from: &str,
    to: &str,
    may_differ: fn(&[&str]) -> bool,
) -> Option<(String, [Option<String>; 2])> {
    assert!(INPUT.contains(from), "{from}");
    let (one, other) = (parse(INPUT), parse(&INPUT.replacen(from, to, 1)));
    let last = |input: &Input| input.stages.len() - 1;
    let found = one.difference(&other, [last(&one), last(&other)], may_differ).unwrap();
    found.map(|found| (found.key, found.values))
}

#[test]
fn the_first_key_that_differs_is_named_with_both_values() {
    let none = |_: &[&str]| false;
    let of = |from, to| difference(from, to, none);
    let expected = |key: &str, own: &str, other: &str| {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_string());
        Some((key.to_string(), [text(own), text(other)]))
    };
    assert_eq!(of("108", "256"), expected("system.atoms", "108", "256"));
    assert_eq!(of("0.2379", "0.24"), expected("force.1.pairs.Ar-Ar.epsilon", "0.2379", "0.24"));
    assert_eq!(of("center = 1", "center = 3"), expected("bias.window.center", "1", "3"));
    assert_eq!(of("cutoff = 8.5", "cutoff = 8.5\ntruncation = \"shifted\""), {
        expected("force.1.truncation", "\"plain\"", "\"shifted\"")
    });
    assert_eq!(of("friction = 0.01", "friction = 0.02").unwrap().0, "stage.thermostat.friction");
    let barostat = "thermostat = { kind = \"langevin\", temperature = 94.4, friction = 0.01 }\nbarostat = { kind = \
                    \"monte-carlo\", pressure = \"1 bar\" }";
    let held = of("thermostat = { kind = \"langevin\", temperature = 94.4, friction = 0.01 }", barostat);
    assert_eq!(held, expected("stage.barostat", "", "{ ... }"));
    // A second variable, in front of the other one.
    let second = "[[variable]]\nname = \"w\"\nkind = \"volume\"\n[[variable]]\nname = \"v\"";
    assert_eq!(of("[[variable]]\nname = \"v\"", second), expected("variable.w", "", "{ ... }"));
}

#[test]
fn what_means_the_same_or_may_differ_is_no_difference() {
    let none = |_: &[&str]| false;
    assert_eq!(difference("units", "units", none), None);
    assert_eq!(difference("8.5", "\"0.85 nm\"", none), None);
    assert_eq!(difference("94.4, friction", "\"94.4 K\", friction", none), None);
    assert_eq!(
        difference("kind = \"lennard-jones\"", "truncation = \"plain\"\nkind = \"lennard-jones\"", none),
        None
    );
    // Another stage.
    assert_eq!(difference("steps = 10\ntimestep = 2", "steps = 20\ntimestep = 1", none), None);
    assert_eq!(difference("one", "two", |path| path == ["title"]), None);
    assert_eq!(difference("center = 1", "center = 3", |path| matches!(path, ["bias", "window", ..])), None);
    assert!(difference("center = 1", "center = 3", |path| matches!(path, ["bias", "other", ..])).is_some());
}
