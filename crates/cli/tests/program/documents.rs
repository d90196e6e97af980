//! The examples and the README keep their word.

use crate::jostle::{Desk, examples, repository};
use std::path::PathBuf;
use std::thread;

/// A check makes the first steps for a while, whatever the machine: several are made at a time.
#[test]
fn every_example_passes_the_check() {
    let desk = Desk::new();
    let check = |path: &PathBuf| {
        let finished =
            desk.succeed(&["check", "--strict", "--full", "--threads", "1", path.to_str().unwrap()]);
        assert!(!finished.stderr.contains("warning"), "{}:\n{}", path.display(), finished.stderr);
        let (path, full) = (path.display(), finished.stdout);
        assert!(full.contains("units = "), "{path}: no completed input:\n{full}");
    };
    let examples = examples();
    thread::scope(|scope| {
        for turn in 0..4 {
            let own = examples.iter().skip(turn).step_by(4);
            scope.spawn(move || own.for_each(check));
        }
    });
    assert_eq!(desk.files(), Vec::<String>::new(), "jostle check left files behind");
}

/// The code blocks of the README in a language.
fn blocks(language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(repository("README.md")).unwrap();
    let parts = text.split("```").skip(1).step_by(2);
    parts.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n').map(str::to_string)).collect()
}

#[test]
fn the_inputs_in_the_readme_are_valid() {
    let desk = Desk::new();
    let inputs = blocks("toml");
    assert_eq!(inputs.len(), 2);
    desk.write("shown.toml", &inputs[0]);
    desk.succeed(&["check", "shown.toml"]);
    // Nothing is missing from the other but the files of its molecules.
    desk.write("protein.toml", &inputs[1]);
    let said = desk.jostle(&["check", "protein.toml"]).stderr;
    assert!(said.contains("cannot read protein.prmtop"), "{said}");
}

/// The `jostle` commands of the README, one after the other in an empty folder, as a new user types
/// them; runs are kept short.
#[test]
fn the_commands_of_the_readme_work() {
    let script = blocks("sh").concat();
    let commands: Vec<_> = script.lines().filter(|line| line.starts_with("jostle ")).collect();
    assert!(commands.len() >= 6, "the README shows hardly any commands: {commands:?}");
    let desk = Desk::new();
    for command in commands {
        let command = command.split('#').next().unwrap_or_default();
        let mut arguments: Vec<_> = command.split_whitespace().skip(1).collect();
        match arguments[0] {
            "run" => arguments.extend(["--steps", "20"]),
            "bench" => arguments.extend(["--seconds", "0.1"]),
            _ => {}
        }
        desk.succeed(&arguments);
    }
}

#[test]
fn the_first_commands_of_the_readme_are_for_this_repository() {
    let script = blocks("sh").concat();
    let mut commands = script.lines();
    assert_eq!(commands.next(), Some("cargo run --release -- run examples/argon.toml"));
    assert_eq!(commands.next(), Some("cargo test --workspace"));
    assert!(examples().contains(&repository("examples/argon.toml")));
}
