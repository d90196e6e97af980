//! The commands that print data: what people see, and what programs read.

use crate::jostle::{Desk, Finished, LIQUID, repository};
use std::io::Write;
use std::process::Stdio;

#[test]
fn every_command_has_help() {
    let desk = Desk::new();
    let help = desk.succeed(&["--help"]).stdout;
    let commands = ["run", "resume", "energy", "check", "new", "bench", "schema", "doctor", "completions"];
    for command in commands {
        assert!(help.contains(command), "jostle --help does not mention {command}");
        assert!(desk.succeed(&[command, "--help"]).stdout.contains("Usage: jostle"));
    }
}

#[test]
fn energy_for_people_and_for_programs_is_the_same() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    let json = desk.succeed(&["energy", "liquid.toml", "--json", "--forces", "forces.csv"]).json();
    let potential = json["potential"].as_f64().unwrap();
    // The lattice sum of fcc Lennard-Jones at this density and cut-off is near -6.6 epsilon an atom.
    assert!((potential / 256.0 + 6.6).abs() < 0.4, "{potential}");
    assert_eq!(json["atoms"], 256);
    let terms: f64 =
        json["terms"].as_array().unwrap().iter().map(|term| term["energy"].as_f64().unwrap()).sum();
    assert!((terms - potential).abs() <= 1e-12 * potential.abs());

    // Ranks, which divide space or pairs, are those that were asked for.
    let divided = ["energy", "liquid.toml", "--json", "--set", "run.reproducible=false"];
    for (more, division) in
        [(&["--ranks", "3"][..], "domains"), (&["--ranks", "4", "--force-matrix", "2x2"], "2 x 2")]
    {
        let divided = desk.succeed(&[&divided, more].concat()).json();
        assert!(divided["device"].as_str().unwrap().contains(division), "{divided}");
        assert!((divided["potential"].as_f64().unwrap() - potential).abs() < 1e-5 * potential.abs());
    }

    let text = desk.succeed(&["energy", "liquid.toml"]).stdout;
    for word in ["lennard_jones", "potential", "virial", "pressure"] {
        assert!(text.contains(word), "no '{word}' in:\n{text}");
    }

    // A perfect lattice: every force is zero to rounding; one line an atom, in the order of the file.
    let forces = desk.read("forces.csv");
    let lines: Vec<_> = forces.lines().filter(|line| !line.starts_with('#')).collect();
    assert_eq!(lines.len(), 257, "a header and 256 atoms");
    for (line, n) in lines[1..].iter().zip(1..) {
        let numbers: Vec<_> = line.split(',').collect();
        assert_eq!(numbers[0].parse::<usize>().unwrap(), n);
        for force in &numbers[numbers.len() - 3..] {
            assert!(force.parse::<f64>().unwrap().abs() < 1e-3, "{line}");
        }
    }
}

#[test]
fn check_prints_an_input_that_means_the_same() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    let completed = desk.succeed(&["check", "liquid.toml", "--full"]);
    desk.write("completed.toml", &completed.stdout);
    let again = desk.succeed(&["check", "completed.toml", "--full"]);
    // Defaults are written out now.
    assert_eq!(completed.stdout.replace("  # default", ""), again.stdout);
    for word in ["memory", "time"] {
        assert!(completed.stderr.contains(word), "no estimate of the {word}:\n{}", completed.stderr);
    }
    assert_eq!(completed.stderr.lines().last(), Some("liquid.toml is valid"));
    assert_eq!(desk.succeed(&["check", "liquid.toml"]).stdout, "");
    let energy = |file| desk.succeed(&["energy", file, "--json"]).json();
    assert_eq!(energy("liquid.toml"), energy("completed.toml"));
}

/// Nearer than its first distance a table has no numbers, so that has to be said before a run.
#[test]
fn check_says_where_tables_begin() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    assert!(!desk.succeed(&["check", "liquid.toml"]).stderr.contains("table"));
    desk.write("tables.toml", LIQUID.replace("[[force]]", "[[force]]\ntabulate = true"));
    let said = desk.succeed(&["check", "tables.toml"]).stderr;
    assert!(said.contains("the table of 'lennard-jones' begins at 0."), "{said}");
}

#[test]
fn a_new_input_is_ready_to_run() {
    let desk = Desk::new();
    desk.succeed(&["new", "fluid"]);
    desk.succeed(&["new", "glass.toml", "--like", "kob-andersen"]);
    assert_eq!(desk.files(), ["fluid.toml", "glass.toml", "jostle.schema.json"]);
    // The name of an example means that example, unless another one is asked for.
    assert!(desk.succeed(&["new", "water"]).stderr.contains("the example water"));
    desk.succeed(&["new", "copper.toml", "--like", "argon"]);
    assert!(desk.read("water.toml").contains("place = \"water\""));
    assert!(desk.read("copper.toml").contains("# Liquid argon"));
    assert!(desk.read("fluid.toml").contains("# Liquid argon"));
    let fluid = desk.read("fluid.toml");
    assert!(fluid.contains("fluid/sample.rdf.csv") && !fluid.contains("argon/"), "{fluid}");
    assert!(fluid.starts_with("#:schema ./jostle.schema.json\n"), "{fluid}");
    let schema: serde_json::Value = serde_json::from_str(&desk.read("jostle.schema.json")).unwrap();
    assert!(schema["$id"].as_str().unwrap().starts_with("urn:jostle:input:"));
    desk.succeed(&["run", "fluid.toml", "--steps", "5"]);
}

#[test]
fn examples_are_listed_and_slips_are_told() {
    let desk = Desk::new();
    let list = desk.succeed(&["new"]).stdout;
    assert!(list.contains("water  ") && list.contains("SPC/E water at 300 K"), "{list}");
    for (name, said) in [("watr", "is it 'water'?"), ("list", "jostle new lists them")] {
        let refused = desk.jostle(&["new", name]);
        assert_eq!(refused.code, Some(2));
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
    assert_eq!(desk.files(), [""; 0]);
    assert!(desk.succeed(&["new", "water-350K"]).stderr.contains("the example water"));
}

#[test]
fn standard_input_is_an_input() {
    let desk = Desk::new();
    let mut run = desk.command(&["run", "-", "--steps", "5"]);
    let mut child = run.stdin(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(LIQUID.as_bytes()).unwrap();
    let finished = Finished::of(child.wait_with_output().unwrap());
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    assert_eq!(desk.read("stdin/input.toml"), LIQUID);
    desk.succeed(&["resume", "stdin"]);
}

#[test]
fn the_folder_of_a_run_has_a_trajectory() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    desk.succeed(&["run", "liquid.toml"]);
    let (folder, stage) = ("liquid", ["--stage", "nowhere"]);
    let trajectory = desk.files().into_iter().find(|file| file.ends_with(".xyz")).unwrap();
    let of_file = desk.succeed(&["analyze", "rdf", &trajectory]).stdout;
    assert_eq!(desk.succeed(&["analyze", "rdf", folder]).stdout, of_file);
    let refused = desk.jostle(&["analyze", "rdf", folder, stage[0], stage[1]]);
    assert!(refused.stderr.contains("has written no trajectory"), "{}", refused.stderr);
}

#[test]
fn bench_reports_what_a_program_needs() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    let json = desk.succeed(&["bench", "liquid.toml", "--seconds", "0.2", "--json", "--threads", "1"]).json();
    let case = &json["cases"][0];
    let (steps, atoms) = (case["steps_per_second"].as_f64().unwrap(), case["atoms"].as_f64().unwrap());
    let nanoseconds = case["ns_per_atom_step"].as_f64().unwrap();
    assert!((nanoseconds * steps * atoms / 1e9 - 1.0).abs() < 1e-9, "{case}");
    assert_eq!(case["threads"], 1);
    let time = case["time"].as_object().unwrap();
    let shares: f64 = time.values().map(|share| share.as_f64().unwrap()).sum();
    assert!((shares - 1.0).abs() < 0.01, "shares of the time do not add up to 1: {case}");
}

/// Kinetic energies of a configuration whose centre of mass moves are about it, as in a run.
#[test]
fn energy_is_that_of_a_run_where_all_atoms_drift() {
    let desk = Desk::new();
    let mut atoms = "27\nLattice=\"6 0 0 0 6 0 0 0 6\" Properties=species:S:1:pos:R:3:velo:R:3\n".to_string();
    for k in 0..27 {
        let [x, y, z] = [k % 3, k / 3 % 3, k / 9].map(|n| 2.0 * f64::from(n) + 0.1);
        let v = 0.3 * f64::from(k % 7) - 0.9;
        atoms += &format!("A {x} {y} {z} {} {v} {}\n", 10.0 + v, 0.5 * v * v);
    }
    desk.write("drift.xyz", atoms);
    let (_, physics) = LIQUID.split_once("[species").unwrap();
    desk.write("drift.toml", format!("units = \"lj\"\n[system]\nfile = \"drift.xyz\"\n[species{physics}"));
    let point = desk.succeed(&["energy", "drift.toml", "--json"]).json();
    desk.succeed(&["run", "drift.toml"]);
    let thermo = desk.read("drift/thermo.csv");
    let mut lines = thermo.lines().filter(|line| !line.starts_with('#'));
    let (names, row) = (lines.next().unwrap(), lines.next().unwrap());
    let value = |name: &str| {
        let place = names.split(',').position(|column| column.split(' ').next() == Some(name)).unwrap();
        row.split(',').nth(place).unwrap().parse::<f64>().unwrap()
    };
    for name in ["kinetic", "temperature", "pressure", "potential"] {
        let (found, right) = (point[name].as_f64().unwrap(), value(name));
        assert!((found - right).abs() < 1e-6 * right.abs().max(1.0), "{name}: {found}, in a run {right}");
    }
}

/// Kernels are those that were started, and a device without any says so before it measures.
#[test]
fn bench_tells_where_the_time_of_a_gpu_goes() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    let profile = ["bench", "liquid.toml", "--seconds", "0.1", "--profile"];
    let on_gpu = |more: &[&str]| {
        let mut command = desk.command(&[&profile[..], &["--device", "cuda"], more].concat());
        let output = command.env("JOSTLE_EMULATED_GPU", repository("target/emulated")).output();
        let finished = Finished::of(output.unwrap());
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
        finished
    };
    let json = on_gpu(&["--json"]).json();
    let kernels = json["cases"][0]["profile"]["kernels"].as_array().unwrap();
    let sum = |key: &str| kernels.iter().map(|kernel| kernel[key].as_f64().unwrap()).sum::<f64>();
    assert!(sum("seconds_per_step") > 0.0 && sum("launches_per_step") >= 1.0, "{json}");
    let text = on_gpu(&[]).stdout;
    let name = kernels[0]["name"].as_str().unwrap();
    assert!(text.contains(name) && text.contains("each alone on the GPU"), "{text}");

    let refused = desk.jostle(&[&profile[..], &["--device", "cpu"]].concat());
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(refused.stderr.contains("kernels of one GPU"), "{}", refused.stderr);
}

#[test]
fn schema_doctor_and_completions_print() {
    let desk = Desk::new();
    let schema = desk.succeed(&["schema"]).stdout;
    for word in ["cutoff", "thermostat", "lennard-jones", "yukawa", "density"] {
        assert!(schema.contains(word), "jostle schema does not mention {word}");
    }
    assert!(desk.succeed(&["schema", "--json"]).json().is_object());
    let doctor = desk.succeed(&["doctor", "--json"]).json();
    assert!(doctor["machine"]["cores"].as_u64().unwrap() >= 1);
    assert_eq!(doctor["self_test"]["passed"], true);
    assert!(desk.succeed(&["doctor"]).stdout.contains("self-test"));
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(desk.succeed(&["completions", shell]).stdout.contains("jostle"));
    }
}

/// The script under a `srun` that runs its command, and one that is told of an interruption.
#[cfg(unix)]
#[test]
fn a_job_script_runs_goes_on_and_queues_again() {
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    desk.write("job.sh", desk.succeed(&["doctor", "--slurm"]).stdout);
    std::fs::create_dir(desk.path("bin")).unwrap();
    let program = |name: &str, text: &str| {
        let path = desk.write(&format!("bin/{name}"), format!("#!/bin/sh\n{text}\n"));
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    program("jostle", &format!("exec {} \"$@\"", env!("CARGO_BIN_EXE_jostle")));
    program("scontrol", "echo scontrol \"$@\"");
    let job = |srun: &str| {
        program("srun", srun);
        let path = format!("{}:{}", desk.path("bin").display(), std::env::var("PATH").unwrap());
        let mut bash = Command::new("bash");
        bash.args(["job.sh", "liquid.toml"]).current_dir(desk.path("")).env("PATH", path);
        let output = bash.env("SLURM_JOB_ID", "17").output().unwrap();
        let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        (output.status.code(), said.concat())
    };
    let command = "while [ \"${1#--}\" != \"$1\" ]; do shift; done; \"$@\"";
    let (code, said) = job(&format!("{command} --steps 20; exit 130"));
    assert!(code == Some(130) && said.contains("scontrol requeue 17"), "{code:?} {said}");
    let (code, said) = job(command);
    assert!(code == Some(0) && said.contains("is finished") && !said.contains("scontrol"), "{code:?} {said}");
}

#[test]
fn selections_are_shown_and_their_mistakes_pointed_at() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    let shown = desk.succeed(&["select", "liquid.toml", "index 3 to 5"]).stdout;
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!((lines[0], lines.len()), ("3 of 256 atoms", 4));
    let json = desk.succeed(&["select", "liquid.toml", "not index < 250", "--json"]).json();
    assert_eq!((json["count"].as_u64(), json["atoms"][0]["index"].as_u64()), (Some(6), Some(250)));
    let wrong = desk.jostle(&["select", "liquid.toml", "indx 3"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains("did you mean \"index\"?"), "{}", wrong.stderr);
    let help = desk.succeed(&["help", "select"]).stdout;
    assert!(help.contains("within 5 of A") && help.contains("backbone"), "{help}");
}

/// A profile of a run changes nothing but adds a file for each stage, which the report shows; only a GPU has one.
#[test]
fn the_report_tells_where_the_time_of_a_gpu_goes() {
    let desk = Desk::new();
    let text = "units = \"lj\"\n[run]\nreproducible = true\n[system]\nlattice = \"fcc\"\ncells = [4, 4, 4]\ndensity = 0.8\n\
        temperature = 1\n[species.A]\nmass = 1\n[[force]]\nkind = \"lennard-jones\"\ncutoff = 2\n\
        pairs.\"A-A\" = { epsilon = 1, sigma = 1 }\n\
        [[stage]]\nname = \"short\"\nsteps = 40\ntimestep = 0.004\nthermo = { every = 10 }\n\
        [[stage]]\nname = \"long\"\nsteps = 300\ntimestep = 0.004\nthermo = { every = 10 }\n";
    desk.write("x.toml", text);
    let run = |more: &[&str]| {
        let arguments = ["run", "x.toml", "--device", "cuda"].iter().chain(more).copied().collect::<Vec<_>>();
        let mut command = desk.command(&arguments);
        let output = command.env("JOSTLE_EMULATED_GPU", repository("target/emulated")).output();
        let finished = Finished::of(output.unwrap());
        assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    };
    run(&["--output", "plain"]);
    run(&["--output", "profiled", "--profile"]);
    let rows = |folder: &str| desk.read(&format!("{folder}/thermo.csv"));
    assert_eq!(rows("plain"), rows("profiled"));
    for (stage, most) in [("short", 20), ("long", 150)] {
        let profile: serde_json::Value =
            serde_json::from_str(&desk.read(&format!("profiled/{stage}.profile.json"))).unwrap();
        let steps = profile["steps"].as_u64().unwrap();
        assert!(steps > 0 && steps <= most, "{steps}");
        let kernels = profile["kernels"].as_array().unwrap();
        assert!(
            kernels.iter().any(|kernel| kernel["launches_per_step"].as_f64().unwrap() >= 1.0),
            "{profile:#}"
        );
    }
    desk.succeed(&["report", "profiled"]);
    let page = desk.read("profiled/report.html");
    assert_eq!(page.matches("Where the GPU's time goes").count(), 2);
    let refused = desk.jostle(&["run", "x.toml", "--device", "cpu", "--output", "cpu", "--profile"]);
    assert!(refused.stderr.contains("--device cuda"), "{}", refused.stderr);
    assert!(!desk.path("cpu").exists());
}
