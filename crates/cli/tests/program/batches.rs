//! Several runs by one command: inputs one after the other, values set from the command line, sweeps.

use crate::jostle::{Desk, Finished, LIQUID, repository};

#[test]
fn a_value_of_the_command_line_takes_the_place_of_that_of_the_input() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    let set = ["--set", "system.atoms=108", "--set", "stage.sample.steps=20", "--set", "title=Another one"];
    let finished = desk.succeed(&[&["run", "liquid.toml"], &set[..]].concat());
    assert!(
        finished.stderr.contains("Another one") && finished.stderr.contains("108 atoms"),
        "{}",
        finished.stderr
    );
    let copy = desk.read("liquid/input.toml");
    assert_eq!(
        copy,
        LIQUID.replace("256", "108").replace("= 80", "= 20").replace("A small liquid", "Another one")
    );
    let checked = desk.succeed(&["check", "liquid.toml", "--full", "--set", "run.precision=double"]);
    assert!(checked.stdout.contains("precision = \"double\""), "{}", checked.stdout);
}

#[test]
fn errors_about_set_values_say_where_they_came_from() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    let refused = |set: &str, words: &[&str]| {
        let finished = desk.jostle(&["check", "liquid.toml", "--set", set]);
        assert_eq!(finished.code, Some(2), "{set}: {}", finished.stderr);
        let said = finished.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.iter().all(|word| said.contains(word)), "{set}: {said}");
    };
    refused("system.atoms=99999999999999999999", &["is too large"]);
    refused("system.atoms=many", &["--set system.atoms", "atoms = \"many\""]);
    refused("system.temprature=3", &["--set system.temprature", "temperature"]);
    refused("stage.smaple.steps=3", &["smaple", "did you mean 'sample'"]);
    refused("steps", &["no ="]);
}

#[test]
fn a_key_with_two_values_is_refused() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    let refused = |arguments: &[&str], message: &str| {
        let finished = desk.jostle(arguments);
        assert_eq!(finished.code, Some(2), "{arguments:?}: {}", finished.stderr);
        assert!(finished.stderr.contains(message), "{arguments:?}: {}", finished.stderr);
    };
    let twice = ["--set", "system.atoms=108", "--set", "system.atoms=32"];
    for command in ["run", "check", "energy"] {
        refused(&[&[command, "liquid.toml"], &twice[..]].concat(), "system.atoms is given twice");
    }
    let sweep = |more: [&'static str; 2]| {
        [&["sweep", "liquid.toml", "--over", "stage.sample.steps=10,20"], &more[..]].concat()
    };
    refused(&sweep(["--over", "stage.sample.steps=30"]), "stage.sample.steps is given twice");
    refused(&sweep(["--set", "stage.sample.steps=30"]), "stage.sample.steps is given twice");
    refused(&sweep(["--over", "stage.2.steps=30"]), "stage.2.steps would replace stage.sample.steps");
    assert!(!desk.path("liquid").exists() && !desk.path("liquid-sweep").exists());
}

#[test]
fn several_inputs_run_one_after_the_other() {
    let desk = Desk::new();
    desk.write("a.toml", LIQUID);
    desk.write("b.toml", LIQUID.replace("seed = 7", "seed = 8"));
    desk.write("broken.toml", LIQUID.replace("cutoff = 2.5", "cutoff = 25"));
    desk.succeed(&["run", "a.toml", "b.toml", "--set", "system.atoms=108"]);
    assert_ne!(desk.read("a/thermo.csv"), desk.read("b/thermo.csv"));
    let finished = desk.jostle(&["run", "broken.toml", "a.toml", "--overwrite", "--steps", "10"]);
    assert_eq!(finished.code, Some(2), "{}", finished.stderr);
    assert!(
        finished.stderr.contains("cut-off") && finished.stderr.contains("done in"),
        "{}",
        finished.stderr
    );
    let finished = desk.jostle(&["run", "a.toml", "b.toml", "--output", "c"]);
    assert!(finished.stderr.contains("--output names one folder"), "{}", finished.stderr);
    let finished = desk.jostle(&["run", "a.toml", "a.toml", "--overwrite"]);
    assert!(finished.stderr.contains("the folder a"), "{}", finished.stderr);
}

#[test]
fn a_sweep_is_a_table_and_goes_on_where_it_ended() {
    let desk = Desk::new();
    // Enough rows for averages with errors.
    desk.write("liquid.toml", LIQUID.replace("steps = 80", "steps = 400"));
    let command = [
        "sweep",
        "liquid.toml",
        "--over",
        "system.temperature=1..1.5:0.5",
        "--over",
        "system.density=0.7,0.8",
    ];
    let table = desk.succeed(&command).stdout;
    let lines: Vec<&str> = table.lines().collect();
    assert_eq!(lines.len(), 5, "{table}");
    assert!(lines[0].starts_with("system.temperature,system.density,folder,status,"), "{table}");
    assert!(!lines[0].contains("conserved"), "its value is arbitrary: {table}");
    let column = |name: &str| {
        let k = lines[0]
            .split(',')
            .position(|column| column == name)
            .unwrap_or_else(|| panic!("{name} in {table}"));
        // The folder has a comma and stands in quotes, so that columns are counted from the end.
        let behind = lines[0].split(',').count() - k;
        let number = |line: &&str| line.rsplit(',').nth(behind - 1).unwrap().parse::<f64>().unwrap();
        lines[1..].iter().map(number).collect::<Vec<f64>>()
    };
    let (density, pressure, error) = (column("density"), column("pressure"), column("pressure_error"));
    assert!(density.iter().zip([0.7, 0.8, 0.7, 0.8]).all(|(a, b)| (a - b).abs() < 1e-9), "{density:?}");
    assert!(
        pressure[1] > pressure[0] && pressure[3] > pressure[2],
        "a denser liquid presses more: {pressure:?}"
    );
    assert!(error.iter().all(|error| *error > 0.0));
    assert!(desk.path("liquid-sweep/temperature=1,density=0.7/summary.json").is_file());

    // Finished runs are left alone, those that were begun go on or begin anew; all of them are in the table.
    let kept = "liquid-sweep/temperature=1,density=0.7/jostle.log";
    let log = desk.read(kept);
    std::fs::remove_dir_all(desk.path("liquid-sweep/temperature=1.5,density=0.8")).unwrap();
    let json = desk.succeed(&[&command[..], &["--json"]].concat()).json();
    assert_eq!(json.as_array().unwrap().len(), 4);
    assert_eq!(json[3]["values"]["system.density"], 0.8);
    assert!(
        (json[3]["averages"]["pressure"]["mean"].as_f64().unwrap() - pressure[3]).abs() < 1e-12,
        "the same run"
    );
    assert_eq!(desk.read(kept), log);

    // Fewer steps than the input has are another run, too: a trial is no finished sweep.
    let tried = desk.jostle(&[&command[..], &["--steps", "20"]].concat());
    assert!(tried.code == Some(1) && tried.stderr.contains("another --steps"), "{}", tried.stderr);
    let trial = [&command[..], &["--output", "trial"]].concat();
    desk.succeed(&[&trial[..], &["--steps", "20"]].concat());
    let whole = desk.jostle(&trial);
    assert!(whole.code == Some(1) && whole.stderr.contains("another --steps"), "{}", whole.stderr);
    assert!(!whole.stdout.contains("finished"), "{}", whole.stdout);
    let ended = desk.succeed(&["resume", "trial/temperature=1,density=0.7"]);
    assert!(ended.stderr.contains("tried with --steps 20"), "{}", ended.stderr);

    // Another input in the same folders is refused, run by run.
    desk.write("liquid.toml", LIQUID.replace("steps = 80", "steps = 500"));
    let finished = desk.jostle(&command);
    assert_eq!(finished.code, Some(1));
    assert!(finished.stderr.contains("another input"), "{}", finished.stderr);
    // The table has no numbers of the input before.
    let rows: Vec<&str> = finished.stdout.lines().skip(1).collect();
    assert!(rows.len() == 4 && rows.iter().all(|row| row.contains("another input")), "{}", finished.stdout);
    assert!(!finished.stdout.contains("finished"), "{}", finished.stdout);
}

#[test]
fn neighbours_of_a_sweep_exchange_their_atoms() {
    let desk = Desk::new();
    desk.write(
        "liquid.toml",
        LIQUID.replace("steps = 80", "steps = 400").replace("256", "32").replace("2.5", "1.6"),
    );
    let over = |values: &'static str| ["sweep", "liquid.toml", "--exchange", "10", "--over", values];
    let of_seed = ["--set", "system.seed=70"];
    let command = [&over("stage.equilibrate.thermostat.temperature=1.3,1.5,1.7")[..], &of_seed].concat();
    let finished = desk.succeed(&command);
    assert_eq!(finished.stdout.lines().count(), 4, "{}", finished.stdout);
    let said = &finished.stderr;
    assert!(said.contains("3 runs of 32 atoms"), "{said}");
    assert!(
        said.contains("temperature=1.3 - temperature=1.5: ") && said.contains("% of 2 exchanges"),
        "{said}"
    );
    let table = desk.read("liquid-sweep/exchange.csv");
    assert_eq!(
        table.lines().next(),
        Some("step,\"temperature=1.3\",\"temperature=1.5\",\"temperature=1.7\"")
    );
    // Three rounds in 40 steps; the stage of constant energy has none.
    assert_eq!(table.lines().count(), 4, "{table}");
    let column =
        |k: usize| desk.read("liquid-sweep/temperature=1.5/thermo.csv").lines().nth(k).unwrap().to_string();
    assert!(column(1).starts_with("equilibrate,0,") && column(5).starts_with("equilibrate,40,"));
    // Each run has a seed of its own, counted from that which is set.
    let seed = |folder: &str, seed: u64| {
        let input = desk.read(&format!("liquid-sweep/{folder}/input.toml"));
        assert!(input.contains(&format!("seed = {seed}\n")), "{input}");
    };
    seed("temperature=1.3", 70);
    seed("temperature=1.7", 72);
    // A finished exchange has nothing left to do.
    assert_eq!(desk.succeed(&command).stdout, finished.stdout);

    // Atoms pass between GPUs, which take replicas by turns, as they do between CPUs.
    let mut of_gpus = desk.command(&command);
    of_gpus.args(["--device", "cuda:0,1", "--output", "of-gpus"]);
    let output = of_gpus.env("JOSTLE_EMULATED_GPU", repository("target/emulated")).output();
    let finished = Finished::of(output.unwrap());
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(desk.read("of-gpus/exchange.csv"), table);

    let refused = |arguments: &[&str], words: &str| {
        let finished = desk.jostle(arguments);
        assert_eq!(finished.code, Some(2), "{}", finished.stderr);
        assert!(finished.stderr.contains(words), "{}", finished.stderr);
    };
    let two = [&over("system.density=0.8,0.85")[..], &["--over", "system.temperature=1,2"]].concat();
    refused(&two, "takes one --over");
    let paths = desk.jostle(&["analyze", "viscosity", "liquid-sweep/temperature=1.5"]);
    assert!(paths.code == Some(1) && paths.stderr.contains("replicas have exchanged"), "{}", paths.stderr);
    let output = ["--output", "other"];
    refused(&[&over("system.density=0.8,0.85")[..], &output].concat(), "different boxes");
    refused(&[&over("stage.equilibrate.steps=30,40")[..], &output].concat(), "do not have the same stages");
    assert!(!desk.path("other").exists());
}

/// An algorithm that only a GPU has does not keep a run from going on without one.
#[test]
fn a_run_of_a_gpu_goes_on_on_the_cpu() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID.replace("256", "108"));
    let list =
        ["run", "liquid.toml", "--device", "cuda", "--set", "run.algorithm=\"list\"", "--output", "parts"];
    let output = desk.command(&list).env("JOSTLE_EMULATED_GPU", repository("target/emulated")).output();
    let finished = Finished::of(output.unwrap());
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    let resumed = desk.succeed(&["resume", "parts", "--device", "cpu"]);
    assert!(resumed.stderr.contains("nothing left to do"), "{}", resumed.stderr);
    let refused = desk.jostle(&["run", "liquid.toml", "--device", "cpu", "--set", "run.algorithm=\"list\""]);
    assert!(refused.stderr.contains("GPU"), "{}", refused.stderr);
}

#[test]
fn runs_at_once_are_those_one_after_the_other() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID.replace("256", "108"));
    let emulated = repository("target/emulated");
    let table = |device: &str, at_once: &str| {
        let folder = format!("{device}-{at_once}");
        let options = ["--output", &folder, "--device", device, "--at-once", at_once, "--threads", "1"];
        // Exact sums are made alone.
        let reproducible = format!("run.reproducible={}", device == "cpu");
        let mut command = desk.command(&["sweep", "liquid.toml", "--over", "system.seed=1,2,3"]);
        command.args(options).args(["--set", &reproducible]);
        let output = command.env("JOSTLE_EMULATED_GPU", &emulated).output().unwrap();
        let finished = Finished::of(output);
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        let rows = ["1", "2", "3"].map(|seed| desk.read(&format!("{folder}/seed={seed}/thermo.csv")));
        (rows, finished.stderr)
    };
    let (one_by_one, _) = table("cpu", "1");
    let (at_once, said) = table("cpu", "2");
    assert!(said.contains("2 runs of 108 atoms") && said.contains("3 of 3: seed=3"), "{said}");
    assert_eq!(at_once, one_by_one);

    let (alone, _) = table("cuda", "1");
    let (together, said) = table("cuda", "3");
    assert!(said.contains("3 made together") && said.contains("3 of 3 runs done"), "{said}");
    // Two GPUs take runs by turns.
    let (by_turns, said) = table("cuda:0,1", "3");
    assert!(
        said.contains("3 runs of 108 atoms on 2 devices like") && said.contains("3 of 3 runs done"),
        "{said}"
    );
    for (together, alone) in together.iter().chain(&by_turns).zip(alone.iter().chain(&alone)) {
        let numbers = |rows: &str| -> Vec<f64> { rows.split([',', '\n']).flat_map(str::parse).collect() };
        let (together, alone) = (numbers(together), numbers(alone));
        assert!(together.len() == alone.len() && alone.len() > 50);
        // Lists may be built at other steps, which changes roundings.
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-3 * (1.0 + b.abs());
        assert!(together.iter().zip(&alone).all(near), "{together:?}\n{alone:?}");
    }

    let refused = desk.jostle(&["sweep", "liquid.toml", "--over", "system.seed=1,2", "--at-once", "0"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
}

/// Runs with exchange are no runs of their own: neither a sweep without exchange nor a resume adopts them.
#[test]
fn an_exchange_is_not_adopted() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID.replace("256", "32").replace("2.5", "1.6"));
    let sweep = ["sweep", "liquid.toml", "--over", "stage.equilibrate.thermostat.temperature=1.3,1.5"];
    desk.succeed(&[&sweep[..], &["--exchange", "10"]].concat());
    let rows = desk.read("liquid-sweep/temperature=1.3/thermo.csv");
    for command in [&sweep[..], &["resume", "liquid-sweep/temperature=1.3"]] {
        let refused = desk.jostle(command);
        assert_eq!(refused.code, Some(1), "{}", refused.stderr);
        assert!(refused.stderr.contains("exchange 10"), "{}", refused.stderr);
    }
    assert_eq!(desk.read("liquid-sweep/temperature=1.3/thermo.csv"), rows);
    // Other values beside them are runs as any.
    let other = ["sweep", "liquid.toml", "--over", "stage.equilibrate.thermostat.temperature=1.7"];
    desk.succeed(&other);
}

/// Rows of a run that has come to no checkpoint yet wait for one, which is said.
#[test]
fn rows_without_a_checkpoint_are_named() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    desk.succeed(&["run", "liquid.toml"]);
    std::fs::remove_file(desk.path("liquid/latest.checkpoint")).unwrap();
    for command in [
        &["analyze", "heat-capacity", "liquid"][..],
        &["extract", "liquid.toml", "all", "--shell", "1", "--run", "liquid", "--output", "part"],
    ] {
        let refused = desk.jostle(command);
        assert_eq!(refused.code, Some(1), "{}", refused.stderr);
        assert!(refused.stderr.contains("has written no checkpoint yet"), "{}", refused.stderr);
    }
}
