//! Stages that end before their last step, by a condition on rows of `thermo.csv`.

use crate::fixtures::{Notes, column, run_in_parts, thermo_csv};
use jostle_engine::model::Strictness;
use jostle_engine::{Overrides, Simulation, WarningKind};
use jostle_io::Input;
use std::path::Path;

/// A cold crystal that is heated; `until` ends its first stage.
fn input(until: &str, thermo: &str) -> String {
    format!(
        r#"
units = "lj"
[system]
lattice = "fcc"
atoms = 108
density = 0.9
temperature = 0.1
seed = 3
[species.A]
mass = 1
[[force]]
kind = "lennard-jones"
cutoff = 2.2
truncation = "shifted"
pairs."A-A" = {{ epsilon = 1, sigma = 1 }}
[[stage]]
name = "heat"
steps = 100000
timestep = 0.004
until = "{until}"
thermostat = {{ kind = "bussi", temperature = 1.5, period = 0.1 }}
thermo = {{ every = {thermo} }}
[[stage]]
name = "sample"
steps = 20
timestep = 0.004
thermo = {{ every = 10 }}
[run]
threads = 1
reproducible = true
device = "cpu"
"#
    )
}

fn parse(until: &str) -> Input {
    Input::parse(Path::new("heat.toml"), &input(until, "10")).unwrap()
}

#[test]
fn a_stage_ends_at_the_first_row_that_passes_a_value() {
    let mut simulation = Simulation::from_input(&parse("temperature > 0.7"), &Overrides::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("run");
    simulation.write_to(&runs, jostle_engine::Existing::Refuse).unwrap();
    let mut notes = Notes::default();
    simulation.run_with(&mut notes, &|| false).unwrap();
    let steps = simulation.reports()[0].steps;
    assert!(steps < 100_000 && steps.is_multiple_of(10));
    assert_eq!(simulation.step(), steps + 20, "the next stage follows");
    let (temperature, step) = (column(&runs, "temperature"), column(&runs, "step"));
    let end = step.iter().position(|s| *s == steps as f64).unwrap();
    assert!(temperature[end] > 0.7, "{}", temperature[end]);
    assert!(temperature[1..end].iter().all(|t| *t <= 0.7), "no earlier row passes it");
    let said = format!("stage 'heat' ends after {steps} steps: temperature > 0.7");
    assert!(notes.0.contains(&said), "{:?}", notes.0);
}

#[test]
fn a_stage_ends_when_averages_have_settled_the_same_after_any_restart() {
    let input = parse("temperature settled and potential settled");
    let folder = tempfile::tempdir().unwrap();
    let whole = run_in_parts(&input, &folder.path().join("whole"), u64::MAX);
    let steps = whole.reports()[0].steps;
    assert!((1280..100_000).contains(&steps), "at least 128 rows: {steps}");
    // Heating is over: the last quarter of the rows has the temperature of the thermostat.
    let temperature = column(&folder.path().join("whole"), "temperature");
    let rows = &temperature[..(steps / 10) as usize];
    let last = &rows[rows.len() * 3 / 4..];
    let mean = last.iter().sum::<f64>() / last.len() as f64;
    assert!((mean - 1.5).abs() < 0.1, "{mean}");
    run_in_parts(&input, &folder.path().join("parts"), 177);
    assert_eq!(thermo_csv(&folder.path().join("whole")), thermo_csv(&folder.path().join("parts")));
}

#[test]
fn a_condition_that_never_holds_is_a_warning_and_strictly_an_error() {
    let overrides = Overrides { most_steps: Some(50), ..Overrides::default() };
    let mut simulation = Simulation::from_input(&parse("temperature > 1e6"), &overrides).unwrap();
    simulation.run().unwrap();
    let missed = |simulation: &Simulation| {
        let warnings = simulation.reports()[0].warnings.iter().filter(|w| w.kind == WarningKind::Until);
        warnings.map(|warning| warning.message.clone()).collect::<Vec<_>>()
    };
    assert_eq!(simulation.reports()[0].steps, 50);
    let said = "stage \"heat\": all its 50 steps were made before: temperature > 1000000; more steps, or another condition";
    assert_eq!(missed(&simulation), [said]);
    let mut reached = Simulation::from_input(&parse("temperature > 0.7"), &Overrides::default()).unwrap();
    reached.run().unwrap();
    assert!(missed(&reached).is_empty());
    let strict = Overrides { strictness: Strictness::Strict, ..overrides };
    let mut simulation = Simulation::from_input(&parse("temperature > 1e6"), &strict).unwrap();
    let error = simulation.run().unwrap_err();
    assert!(error.message().contains(said), "{error}");
}

/// A spring that moves over two stages, the first of which has a condition if `until` says so.
fn steered(until: &str, stages: &str) -> String {
    let bias = format!(
        "[[variable]]\nname = \"d\"\nkind = \"distance\"\nbetween = [\"index 1\", \"index 2\"]\n\
         [[bias]]\nname = \"pull\"\nkind = \"harmonic\"\nvariable = \"d\"\nstiffness = 10\n\
         center = [1, 2]\nstages = {stages}\n[run]"
    );
    input(until, "10").replace("[run]", &bias)
}

#[test]
fn a_spring_moves_over_no_stage_that_a_condition_may_end_early() {
    let read = |text: &str| Input::parse(Path::new("heat.toml"), text);
    let both = steered("temperature > 1", r#"["heat", "sample"]"#);
    let error = read(&both).unwrap_err();
    assert!(error.message().contains("stage \"heat\" may end early"), "{error}");
    assert_eq!(error.place().unwrap().line, Some(both.lines().position(|l| l == "[[bias]]").unwrap() + 1));
    // A spring that stays where it is, or that acts in one stage alone, knows no other end.
    read(&both.replace("center = [1, 2]", "center = 1")).unwrap();
    read(&steered("temperature > 1", r#"["heat"]"#)).unwrap();
    read(&both.replace("until =", "#")).unwrap();
}

#[test]
fn conditions_are_checked_before_a_run() {
    let error = Simulation::from_input(&parse("temprature > 1"), &Overrides::default()).err().unwrap();
    assert!(error.message().contains("no column 'temprature'"), "{error}");
    assert!(error.help().unwrap().contains("'temperature'"));
    assert_eq!(error.place().unwrap().line, Some(20));
    let error = Input::parse(Path::new("heat.toml"), &input("temperature", "10")).unwrap_err();
    assert!(error.message().contains("what is asked of temperature"), "{error}");
    let error = Input::parse(Path::new("heat.toml"), &input("temperature > 1", "0")).unwrap_err();
    assert!(error.message().contains("there are none"), "{error}");
}

/// Quantities that a stage keeps as they are never pass a value.
#[test]
fn conditions_on_what_does_not_change_are_refused() {
    for until in ["strain > 1.5", "density settled"] {
        let error = Input::parse(Path::new("heat.toml"), &input(until, "10")).unwrap_err();
        assert!(error.message().contains("does not change in this stage"), "{until}: {error}");
    }
}
