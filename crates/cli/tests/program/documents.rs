//! The examples and the README keep their word.

use crate::jostle::{Desk, examples, repository};

#[test]
fn every_example_passes_the_check() {
    let desk = Desk::new();
    for path in examples() {
        let finished = desk.succeed(&["check", path.to_str().unwrap()]);
        assert!(
            finished.stdout.contains("units = "),
            "{}: no completed input:\n{}",
            path.display(),
            finished.stdout
        );
    }
    assert_eq!(desk.files(), Vec::<String>::new(), "jostle check left files behind");
}

/// The `jostle` commands of the README, one after the other in an empty folder, as a new user types
/// them; runs are kept short.
#[test]
fn the_commands_of_the_readme_work() {
    let text = std::fs::read_to_string(repository("README.md")).unwrap();
    let mut commands = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```sh";
        } else if inside && line.starts_with("jostle ") {
            commands.push(line.split('#').next().unwrap_or_default().trim());
        }
    }
    assert!(commands.len() >= 6, "the README shows hardly any commands: {commands:?}");
    let desk = Desk::new();
    for command in commands {
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
fn the_first_command_of_the_readme_names_an_example() {
    let text = std::fs::read_to_string(repository("README.md")).unwrap();
    assert!(text.contains("cargo run --release -- run examples/argon.toml"));
    assert!(text.contains("cargo test --workspace"));
    assert!(repository("examples/argon.toml").is_file());
}
