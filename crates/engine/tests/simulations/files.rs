//! The run folder: refusals, damaged files, and files after a failure.

use crate::fixtures::{Notes, stop_every};
use jostle_core::{ErrorKind, Result};
use jostle_engine::{CHECKPOINT, Checkpoint, Existing, Outcome, Overrides, Simulation};
use jostle_io::Input;
use std::fs;
use std::path::Path;

const SYSTEM: &str = r#"
title = "files"
units = "lj"
[system]
lattice = "fcc"
atoms = 108
density = 0.8
temperature = 1.2
seed = 5
[species.A]
mass = 1
[[force]]
kind = "lennard-jones"
cutoff = 2.2
pairs."A-A" = { epsilon = 1, sigma = 1 }
[run]
threads = 1
reproducible = true
"#;

fn input(system: &str, stages: &str) -> Input {
    Input::parse(Path::new("files.toml"), &format!("{system}\n{stages}")).unwrap()
}

fn two_stages() -> Input {
    let stage = |name: &str| {
        format!("[[stage]]\nname = \"{name}\"\nsteps = 40\ntimestep = 0.005\nthermo = {{ every = 5 }}\n")
    };
    input(SYSTEM, &(stage("one") + &stage("two") + "trajectory = { every = 10, format = \"xyz\" }"))
}

fn start(input: &Input, folder: &Path) -> Simulation {
    let mut simulation = Simulation::from_input(input, &Overrides::default()).unwrap();
    simulation.write_to(folder, Existing::Refuse).unwrap();
    simulation
}

/// Runs until `steps` more steps are made.
fn run_for(simulation: &mut Simulation, steps: u64) -> Result<Outcome> {
    simulation.run_with(&mut (), &stop_every(steps))
}

fn resume(folder: &Path) -> Result<Simulation> {
    Simulation::resume(folder, &Overrides::default())
}

#[test]
fn the_folder_holds_all_files_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut simulation = start(&two_stages(), &run);
    assert_eq!(simulation.run().unwrap(), Outcome::Finished);
    let mut names: Vec<String> =
        fs::read_dir(&run).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    let wanted = [
        "input.toml",
        "jostle.log",
        "latest.checkpoint",
        "previous.checkpoint",
        "summary.json",
        "thermo.csv",
        "two.xyz",
    ];
    assert_eq!(names, wanted);
    let thermo = fs::read_to_string(run.join("thermo.csv")).unwrap();
    let columns = thermo.lines().next().unwrap().split(',').count();
    assert!(thermo.starts_with("stage,step,time,temperature,"));
    assert!(thermo.lines().all(|line| line.split(',').count() == columns));
    assert_eq!(thermo.lines().count(), 1 + 1 + 8 + 8);
    let summary: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(run.join("summary.json")).unwrap()).unwrap();
    assert_eq!(summary["status"], "finished");
    assert_eq!(summary["stages"][1]["name"], "two");
    assert_eq!(summary["atoms"], 108);
    let average = &summary["stages"][0]["averages"][0];
    assert_eq!(average["quantity"], "temperature");
    assert!(average["estimate"]["error"].as_f64().unwrap() > 0.0);
    let error = resume(&run).map(|_| ()).unwrap_err();
    assert!(error.message().contains("another run is writing"), "{error}");
    drop(simulation);
    assert!(resume(&run).unwrap().is_finished());
}

/// Adds the paths of the numbers in `value` that have no unit, neither in `units` under their key or that of
/// an object around them, nor beside them.
fn without_unit(value: &serde_json::Value, path: &str, units: &serde_json::Value, found: &mut Vec<String>) {
    match value {
        serde_json::Value::Number(_) => found.push(path.to_string()),
        serde_json::Value::Array(items) => items.iter().for_each(|v| without_unit(v, path, units, found)),
        serde_json::Value::Object(map) if !map.contains_key("unit") => {
            for (key, value) in map.iter().filter(|(key, v)| units.get(key).is_none() || has_own_keys(v)) {
                without_unit(value, &format!("{path}.{key}"), units, found);
            }
        }
        _ => {}
    }
}

/// True for an object such as the `time` of a stage, whose keys have units of their own.
fn has_own_keys(value: &serde_json::Value) -> bool {
    value.as_object().is_some_and(|map| map.contains_key("pair"))
}

#[test]
fn every_number_of_the_summary_has_a_unit() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    start(&two_stages(), &run).run().unwrap();
    let text = fs::read_to_string(run.join("summary.json")).unwrap();
    let mut summary: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(summary["version"], jostle_engine::SUMMARY_VERSION);
    let units = summary.as_object_mut().unwrap().remove("unit_of").unwrap();
    let mut found = Vec::new();
    without_unit(&summary, "", &units, &mut found);
    assert_eq!(found, [""; 0]);
    assert_eq!(units["pair"], "s");
    without_unit(&serde_json::json!({ "length": 1.0 }), "", &units, &mut found);
    assert_eq!(found, [".length"], "a number without a unit is found");
}

#[test]
fn existing_files_are_not_overwritten_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let input = two_stages();
    let write = |path: &Path, existing| {
        Simulation::from_input(&input, &Overrides::default()).unwrap().write_to(path, existing)
    };
    fs::write(folder.path().join("thesis.txt"), "years of work").unwrap();
    let error = write(folder.path(), Existing::Refuse).unwrap_err();
    assert!(error.message().contains("not empty"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);

    let run = folder.path().join("run");
    start(&input, &run).run().unwrap();
    let error = write(&run, Existing::Refuse).unwrap_err();
    assert!(error.help().unwrap().contains("jostle resume"), "{error}");
    fs::write(run.join("notes.txt"), "mine").unwrap();
    write(&run, Existing::Replace).unwrap();
    assert_eq!(fs::read_to_string(run.join("notes.txt")).unwrap(), "mine");
    assert!(!run.join(CHECKPOINT).exists() && !run.join("two.xyz").exists());

    // On request the run is written beside other files.
    write(folder.path(), Existing::Replace).unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("thesis.txt")).unwrap(), "years of work");

    let file = folder.path().join("thesis.txt");
    assert_eq!(write(&file, Existing::Refuse).unwrap_err().kind(), ErrorKind::File);
}

#[test]
fn a_damaged_checkpoint_falls_back_to_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let (run, whole) = (folder.path().join("run"), folder.path().join("whole"));
    let mut reference = start(&two_stages(), &whole);
    reference.run().unwrap();
    let mut simulation = start(&two_stages(), &run);
    run_for(&mut simulation, 13).unwrap();
    run_for(&mut simulation, 20).unwrap();
    drop(simulation);
    let latest = run.join(CHECKPOINT);
    let mut bytes = fs::read(&latest).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&latest, &bytes).unwrap();

    let mut simulation = resume(&run).unwrap();
    assert_eq!(simulation.step(), 13);
    let mut notes = Notes::default();
    simulation.run_with(&mut notes, &|| false).unwrap();
    assert!(notes.0[0].contains("checksum") && notes.0[0].contains("step 13"), "{:?}", notes.0);
    for file in ["thermo.csv", "two.xyz"] {
        assert_eq!(fs::read(run.join(file)).unwrap(), fs::read(whole.join(file)).unwrap());
    }
    assert_eq!(simulation.positions().unwrap(), reference.positions().unwrap());
}

#[test]
fn folders_that_cannot_be_resumed_say_why() {
    let folder = tempfile::tempdir().unwrap();
    let message = |folder: &Path| resume(folder).map(|_| ()).unwrap_err().to_string();
    assert!(message(folder.path()).contains("no checkpoint"));
    assert!(message(&folder.path().join("nowhere")).contains("no checkpoint"));

    let run = folder.path().join("run");
    let mut simulation = start(&two_stages(), &run);
    assert!(message(&run).contains("before its first checkpoint"));
    run_for(&mut simulation, 13).unwrap();
    run_for(&mut simulation, 40).unwrap();
    drop(simulation);
    // A table shorter than at the checkpoint.
    let thermo = fs::read(run.join("thermo.csv")).unwrap();
    fs::write(run.join("thermo.csv"), &thermo[..thermo.len() / 2]).unwrap();
    assert!(message(&run).contains("thermo.csv"), "{}", message(&run));
    fs::write(run.join("thermo.csv"), thermo).unwrap();
    resume(&run).unwrap();
    for name in [CHECKPOINT, "previous.checkpoint"] {
        let bytes = fs::read(run.join(name)).unwrap();
        fs::write(run.join(name), &bytes[..bytes.len() - 7]).unwrap();
    }
    assert!(message(&run).contains("cut short"), "{}", message(&run));
}

#[test]
fn a_checkpoint_that_cannot_be_written_leaves_the_last_one() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut simulation = start(&two_stages(), &run);
    run_for(&mut simulation, 13).unwrap();
    // A file cannot be renamed to the name of a folder.
    let previous = run.join("previous.checkpoint");
    let _ = fs::remove_file(&previous);
    fs::create_dir_all(previous.join("inside")).unwrap();
    let error = run_for(&mut simulation, 13).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::File);
    assert!(error.to_string().contains("latest.checkpoint"), "{error}");
    assert_eq!(Checkpoint::read(&run.join(CHECKPOINT)).unwrap().step(), 13);
    let summary = fs::read_to_string(run.join("summary.json")).unwrap();
    assert!(summary.contains("failed"), "{summary}");
}

#[test]
fn a_blow_up_names_the_step_and_leaves_the_last_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let stages = "[[stage]]\nname = \"fine\"\nsteps = 20\ntimestep = 0.005\n\
                  [[stage]]\nname = \"wild\"\nsteps = 1000\ntimestep = 0.5\n";
    let mut simulation = start(&input(SYSTEM, stages), &run);
    let mut notes = Notes::default();
    let error = simulation.run_with(&mut notes, &|| false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Simulation);
    assert_eq!(notes.0, ["the last checkpoint is that of step 20"]);
    assert!(error.message().contains("stage 'wild'") && error.message().contains("step "), "{error}");
    assert!(error.help().unwrap().contains("time step"), "{error}");
    assert_eq!(Checkpoint::read(&run.join(CHECKPOINT)).unwrap().step(), 20);
}

#[test]
fn a_checkpoint_is_a_system_to_start_from() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let mut first = start(&two_stages(), &run);
    first.run().unwrap();
    let path = run.join(CHECKPOINT);
    let from = |units: &str, path: &Path| {
        let text = format!(
            "title = \"next\"\nunits = \"{units}\"\n[system]\nfile = {path:?}\n\
             [[force]]\nkind = \"lennard-jones\"\ncutoff = 2.2\n\
             pairs.\"A-A\" = {{ epsilon = 1, sigma = 1 }}\n\
             [[stage]]\nname = \"on\"\nsteps = 10\ntimestep = 0.005\n"
        );
        Simulation::from_input(&Input::parse(Path::new("next.toml"), &text)?, &Overrides::default())
    };
    let mut next = from("lj", &path).unwrap();
    assert_eq!(next.positions().unwrap(), first.positions().unwrap());
    assert_eq!(next.velocities().unwrap(), first.velocities().unwrap());
    assert_eq!(next.step(), 0);
    next.run().unwrap();
    let error = from("metal", &path).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("units"), "{error}");
    let mut bytes = fs::read(&path).unwrap();
    bytes[100] ^= 4;
    fs::write(&path, bytes).unwrap();
    let error = from("lj", &path).map(|_| ()).unwrap_err();
    assert!(error.message().contains("damaged"), "{error}");
}

#[test]
fn no_stage_takes_more_steps_than_the_override() {
    let overrides = Overrides { most_steps: Some(7), ..Overrides::default() };
    let mut simulation = Simulation::from_input(&two_stages(), &overrides).unwrap();
    simulation.run().unwrap();
    assert_eq!(simulation.step(), 14);
    assert_eq!(simulation.reports().len(), 2);
}

/// Errors of an input point at its lines.
#[test]
fn errors_point_into_the_input() {
    let line = |system: &str, culprit: &str| {
        let input = input(system, "");
        let error = Simulation::from_input(&input, &Overrides::default()).map(|_| ()).unwrap_err();
        let place = error.place().unwrap_or_else(|| panic!("no place: {error}"));
        let text = system.lines().nth(place.line.unwrap() - 1).unwrap();
        assert!(text.contains(culprit), "{error} points at: {text}");
        error
    };
    let error = line(&SYSTEM.replace("atoms = 108", "atoms = 100"), "lattice");
    assert!(error.help().unwrap().contains("32 or 108") || error.help().unwrap().contains("108"), "{error}");
    line(&SYSTEM.replace("cutoff = 2.2", "cutoff = 3.2"), "[[force]]");
    let random = SYSTEM.replace("lattice = \"fcc\"", "place = \"random\"\nmin_distance = 1.2");
    let error = line(&random, "place");
    assert!(error.help().unwrap().contains("density"), "{error}");
    let file = SYSTEM.replace("lattice = \"fcc\"\natoms = 108\ndensity = 0.8", "file = \"nowhere.data\"");
    let error = Simulation::from_input(&input(&file, ""), &Overrides::default()).map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::File);
}
