//! Failures of all kinds: `jostle` says what is wrong and where, exits with the right code, does not panic
//! and leaves nothing half-written.

use crate::jostle::{Desk, Finished, LIQUID};

/// The error is one that a user can act on: the code, the words, nothing new on the disk.
fn refused(desk: &Desk, arguments: &[&str], code: i32, words: &[&str]) -> Finished {
    let before = desk.files();
    let finished = desk.jostle(arguments);
    let said = unwrapped(&finished.stderr);
    assert_eq!(finished.code, Some(code), "jostle {arguments:?} said:\n{}", finished.stderr);
    for word in words {
        assert!(said.contains(word), "jostle {arguments:?} does not say '{word}':\n{}", finished.stderr);
    }
    assert_eq!(finished.stdout, "", "jostle {arguments:?} printed data though it failed");
    assert_eq!(desk.files(), before, "jostle {arguments:?} left files behind");
    finished
}

/// Text without the line breaks and margins that fit it to a terminal.
fn unwrapped(text: &str) -> String {
    let words = text.split_whitespace().filter(|word| !matches!(*word, "│" | "|"));
    words.collect::<Vec<_>>().join(" ")
}

/// `LIQUID` with one thing changed.
fn changed(from: &str, to: &str) -> String {
    assert!(LIQUID.contains(from), "the test's input has no '{from}'");
    LIQUID.replacen(from, to, 1)
}

#[test]
fn wrong_arguments() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    for (arguments, words) in [
        (&["resum", "liquid"][..], &["resum", "resume"][..]),
        (&["run"], &["<FILE>"]),
        (&["run", "liquid.toml", "--step", "5"], &["--step", "--steps"]),
        (&["run", "liquid.toml", "--steps", "many"], &["many", "--steps"]),
        (&["run", "liquid.toml", "--threads", "0"], &["0", "--threads"]),
        (&["run", "liquid.toml", "--device", "gpu"], &["gpu", "auto", "cpu", "cuda"]),
        (&["new", "x", "--like", "argonn"], &["argonn", "argon"]),
        (&["bench", "melt-31k"], &["melt-31k", "melt-32k"]),
        (&["bench", "melt-32k", "--seconds", "-1"], &["-1"]),
        (&["bench", "papers", "--algorithm", "list"], &["--algorithm"]),
        (&["bench", "iumd", "--algorithm", "list"], &["--algorithm"]),
        (&["bench", "melt-4k", "--output", "page"], &["--output", "papers"]),
        (&["bench", "wang", "--profile"], &["--profile", "not of tables"]),
        (&["bench", "scaling", "--ranks", "2"], &["--ranks", "one core to all"]),
        (&["bench", "scaling", "--network", "inf,1"], &["latency", "--network 2,0.4"]),
        (&["bench", "melt-4k", "--network", "2,1"], &["--network", "bench scaling"]),
        (&["bench", "melt-32k", "--algorithm", "tile"], &["tile", "tiles"]),
        (&["bench", "melt-4k", "--algorithm", "tiles", "--device", "cpu"], &["tiles", "GPU"]),
        (&["completions", "cmd"], &["cmd", "bash"]),
    ] {
        refused(&desk, arguments, 2, words);
    }
}

/// A file that is not there is shown at the line of the input that names it.
#[test]
fn missing_files_are_shown_where_they_are_named() {
    let lattice = "lattice = \"diamond\"\natoms = 512\nlattice_constant = 5.431\n[species.Si]\nmass = 28";
    for (force, atoms, place, code) in [
        ("[three_body]\nkind = \"stillinger-weber\"\nfile = \"missing.sw\"", lattice, "[three_body]", 2),
        ("[metal]\nkind = \"embedded-atom\"\nfile = \"missing.eam\"", lattice, "[metal]", 2),
        ("", "file = \"missing.data\"", "file =", 1),
        ("", "topology = \"missing.prmtop\"\ncoordinates = \"missing.rst7\"", "topology =", 1),
    ] {
        let desk = Desk::new();
        let stage = "[[stage]]\nname = \"a\"\nsteps = 1\ntimestep = 0.001";
        let input = format!("units = \"metal\"\n[system]\ntemperature = 300\n{atoms}\n{force}\n{stage}\n");
        desk.write("named.toml", &input);
        let line = input.lines().position(|line| line.starts_with(place)).unwrap() + 1;
        let words = ["cannot read", "missing.", &format!("named.toml:{line}:"), "check the path"];
        refused(&desk, &["check", "named.toml"], code, &words);
    }
}

/// Without a GPU it is refused with what is missing, and nothing is written.
#[test]
fn a_gpu_that_is_not_there() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    if desk.succeed(&["doctor", "--json"]).json()["gpu"]["driver"]["missing"].is_null() {
        println!("there is a driver; nothing to see here");
        return;
    }
    refused(&desk, &["run", "liquid.toml", "--device", "cuda"], 1, &["NVIDIA driver", "--device cpu"]);
    refused(&desk, &["bench", "melt-4k", "--device", "cuda:1"], 1, &["NVIDIA driver"]);
    assert_eq!(desk.files(), ["liquid.toml"]);
}

#[test]
fn wrong_inputs() {
    let fcc = r#"lattice = "fcc""#;
    for (text, words) in [
        ("".to_string(), &["units"][..]),
        ("units = \"lj\"\nunits = \"lj\"\n".to_string(), &["units"]),
        (changed("cutoff = 2.5", "cutof = 2.5"), &["cutof", "cutoff"]),
        (changed("cutoff = 2.5", "cutoff = \"2.5 ps\""), &["2.5 ps", "reduced"]),
        (changed("cutoff = 2.5", "cutoff = 25"), &["25", "half"]),
        (changed("cutoff = 2.5", "cutoff = -2.5"), &["-2.5"]),
        (changed("cutoff = 2.5", "cutoff = nan"), &["nan"]),
        (changed("[[force]]", "[[forces]]"), &["forces", "force"]),
        (changed("[[stage]]", "[[stages]]"), &["stages", "stage"]),
        (changed("timestep = 0.005", "timestep = 0"), &["timestep"]),
        (changed("steps = 40", "steps = -40"), &["steps"]),
        (changed("steps = 40", ""), &["steps"]),
        (changed("sample", "equilibrate"), &["equilibrate"]),
        (changed(fcc, r#"lattice = "hcp""#), &["hcp", "fcc"]),
        (
            changed(fcc, r#"file = "missing.data""#).replace("atoms = 256\ndensity = 0.8442\n", ""),
            &["missing.data"],
        ),
        (changed("atoms = 256", "atoms = 257"), &["257", "256"]),
        (changed("density = 0.8442", "density = 0"), &["density"]),
        (changed("bussi", "busi"), &["busi", "bussi"]),
        (changed("lennard-jones", "lenard-jones"), &["lenard-jones", "lennard-jones"]),
        (changed("A-A", "A-B"), &["B"]),
        (changed("threads = 1", "threads = 0"), &["threads"]),
        (changed("xyz", "xyzz"), &["xyzz", "xyz"]),
        (LIQUID.replace("seed = 7", "seed = 7\nseed = 8"), &["seed"]),
        ("units = lj".to_string(), &["lj"]),
    ] {
        let desk = Desk::new();
        desk.write("liquid.toml", &text);
        // A file that is missing is not the input's fault: 1.
        let code = if text.contains("missing.data") { 1 } else { 2 };
        for command in ["run", "check"] {
            refused(&desk, &[command, "liquid.toml"], code, words);
        }
    }
}

#[test]
fn an_error_shows_the_line_and_points_at_the_word() {
    let desk = Desk::new();
    desk.write("liquid.toml", changed("cutoff = 2.5", "cutof = 2.5"));
    let said = refused(&desk, &["check", "liquid.toml"], 2, &["liquid.toml:17"]).stderr;
    assert!(said.contains("cutof = 2.5"), "the line itself is missing:\n{said}");
    assert!(said.contains("help:"), "no help:\n{said}");
}

#[test]
fn missing_and_unreadable_files() {
    let desk = Desk::new();
    refused(&desk, &["run", "nowhere.toml"], 2, &["nowhere.toml"]);
    refused(&desk, &["run", "."], 2, &["cannot"]);
    refused(&desk, &["resume", "nowhere"], 1, &["nowhere"]);
    refused(&desk, &["resume", "."], 1, &["checkpoint"]);
    desk.write("binary.toml", [0xff, 0xfe, 0x00, 0x41]);
    refused(&desk, &["run", "binary.toml"], 2, &["binary.toml", "UTF-8"]);
    let exists = desk.write("there.toml", "x = 1\n");
    refused(&desk, &["new", "there"], 1, &["there.toml", "exists"]);
    assert_eq!(std::fs::read_to_string(exists).unwrap(), "x = 1\n");
}

#[test]
fn output_that_cannot_be_written() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    // A file where the folder should be. (Permissions do not stop tests that run as root.)
    desk.write("taken", "something else");
    refused(&desk, &["run", "liquid.toml", "--output", "taken"], 1, &["taken"]);
    refused(&desk, &["run", "liquid.toml", "--output", "taken/below"], 1, &["taken"]);
    refused(&desk, &["run", "liquid.toml", "--output", "/proc/jostle"], 1, &["/proc/jostle"]);
    refused(&desk, &["energy", "liquid.toml", "--forces", "no/such/folder.csv"], 1, &["no/such/folder.csv"]);
}

#[cfg(unix)]
#[test]
fn a_folder_without_write_permission() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    let folder = desk.path("locked");
    std::fs::create_dir(&folder).unwrap();
    std::fs::set_permissions(&folder, PermissionsExt::from_mode(0o555)).unwrap();
    let mut command = desk.command(&["run", "liquid.toml", "--output", "locked/run"]);
    if std::fs::write(folder.join("probe"), "").is_ok() {
        // Root may write everywhere: as nobody, then, with a copy of the program that nobody may run.
        std::fs::remove_file(folder.join("probe")).unwrap();
        let copy = desk.path("jostle");
        std::fs::copy(env!("CARGO_BIN_EXE_jostle"), &copy).unwrap();
        std::fs::set_permissions(desk.path(""), PermissionsExt::from_mode(0o755)).unwrap();
        command = std::process::Command::new(copy);
        command.args(["run", "liquid.toml", "--output", "locked/run"]).current_dir(desk.path("")).uid(65534);
    }
    let finished = Finished::of(command.output().unwrap());
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    for word in ["locked", "ermission"] {
        assert!(finished.stderr.contains(word), "{}", finished.stderr);
    }
    assert!(!desk.path("locked/run").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_under_stdout() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    for arguments in [&["schema"][..], &["energy", "liquid.toml"], &["check", "liquid.toml", "--full"]] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let finished = Finished::of(desk.command(arguments).stdout(full).output().unwrap());
        assert_eq!(finished.code, Some(1), "jostle {arguments:?} said:\n{}", finished.stderr);
        assert!(finished.stderr.contains("standard output"), "{}", finished.stderr);
    }
}

#[cfg(unix)]
#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let desk = Desk::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let finished = Finished::of(desk.command(&["schema"]).stdout(writer).output().unwrap());
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""));
}

/// A table that has changed since a run: neither a sweep nor an analysis takes the run for one of this table.
#[test]
fn runs_of_files_that_have_changed_are_not_taken_for_others() {
    let desk = Desk::new();
    let table = |strength: f64| {
        let row = |k: u32| {
            let r = 0.5 + 0.05 * f64::from(k);
            let energy = strength * (2.5 - r).powi(2);
            format!("{} {r} {energy} {}\n", k + 1, 2.0 * strength * (2.5 - r))
        };
        format!("SOFT\nN 41\n\n{}", (0..=40).map(row).collect::<String>())
    };
    let input = r#"
units = "lj"
[system]
lattice = "fcc"
atoms = 256
density = 0.5
temperature = 1
[species.A]
mass = 1
[[force]]
kind = "table"
cutoff = 2.5
pairs."A-A" = { file = "soft.table" }
[[interaction]]
name = "halves"
between = ["index 0 to 127", "index 128 to 255"]
[[stage]]
steps = 20
timestep = 0.001
trajectory = { every = 10, format = "xyz" }
"#;
    desk.write("soft.toml", input);
    desk.write("soft.table", table(1.0));
    let sweep = ["sweep", "soft.toml", "--over", "system.temperature=1", "--output", "runs"];
    let first = desk.succeed(&sweep).stdout;
    assert!(first.contains("finished"), "{first}");
    assert_eq!(desk.succeed(&sweep).stdout, first);
    let analysis = ["analyze", "interaction", "runs/temperature=1"];
    let energies = desk.succeed(&analysis).stdout;
    desk.write("soft.table", table(2.0));
    let again = desk.jostle(&sweep);
    assert!(again.stdout.contains("another input") && again.code != Some(0), "{}", again.stdout);
    refused(&desk, &analysis, 1, &["soft.table", "not as it was when the run began"]);
    desk.write("soft.table", table(1.0));
    assert_eq!(desk.succeed(&analysis).stdout, energies);
}

/// Files in a folder that no run made stay, also where a run may be replaced.
#[test]
fn only_runs_are_replaced() {
    let desk = Desk::new();
    desk.write("liquid.toml", LIQUID);
    std::fs::create_dir(desk.path("mine")).unwrap();
    desk.write("mine/thermo.csv", "mine");
    let run = ["run", "liquid.toml", "--output", "mine", "--overwrite"];
    refused(&desk, &run, 1, &["mine", "no run of Jostle made it", "--output"]);
    assert_eq!(desk.read("mine/thermo.csv"), "mine");
    assert_eq!(std::fs::read_dir(desk.path("mine")).unwrap().count(), 1);
}

/// A box that is all but empty takes no more memory and time than its atoms.
#[test]
fn lists_in_a_box_that_is_all_but_empty_are_short() {
    let desk = Desk::new();
    let (_, physics) = LIQUID.split_once("[species").unwrap();
    let system = "units = \"lj\"\n[system]\nplace = \"random\"\natoms = 100\nmin_distance = 0.5\n\
                  box = { lengths = [1e15, 5.5, 20] }\ntemperature = 1\n[species";
    desk.write("empty.toml", format!("{system}{physics}"));
    desk.succeed(&["run", "empty.toml"]);
}

/// Velocities that are no numbers are named with the file and the frame.
#[test]
fn frames_with_infinite_velocities_are_refused() {
    let desk = Desk::new();
    let frame = |v: &str| {
        let head = "2\nLattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3:velo:R:3";
        format!("{head}\nA 1 1 1 1 0 0\nA 2 2 2 {v} 0 0\n")
    };
    desk.write("good.xyz", frame("1") + &frame("2"));
    desk.succeed(&["convert", "good.xyz", "bad.trr", "--units", "nano"]);
    let mut bytes = std::fs::read(desk.path("bad.trr")).unwrap();
    let end = bytes.len();
    bytes[end - 4..].fill(0xff);
    desk.write("bad.trr", bytes);
    let named = ["bad.trr", "frame 1", "velocity of atom 2"];
    refused(&desk, &["convert", "bad.trr", "good.lammpstrj"], 1, &named);
}

/// A sweep takes no run for its own that began with other coordinates; that run itself goes on all the same.
#[test]
fn runs_of_other_coordinates_are_none_of_a_sweep() {
    let desk = Desk::new();
    let atoms = |x: f64| {
        format!("2\nLattice=\"9 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3\nA 1 1 1\nA {x} 1 1\n")
    };
    let (_, physics) = LIQUID.split_once("[species").unwrap();
    desk.write(
        "pair.toml",
        format!("units = \"lj\"\n[system]\nfile = \"pair.xyz\"\ntemperature = 1\n[species{physics}"),
    );
    desk.write("pair.xyz", atoms(2.2));
    let sweep = ["sweep", "pair.toml", "--over", "system.temperature=1", "--output", "runs"];
    let first = desk.succeed(&sweep).stdout;
    assert_eq!(desk.succeed(&sweep).stdout, first);
    desk.write("pair.xyz", atoms(2.3));
    let again = desk.jostle(&sweep);
    assert!(again.stdout.contains("another input") && again.code != Some(0), "{}", again.stdout);
    assert!(desk.succeed(&["resume", "runs/temperature=1"]).stderr.contains("nothing left to do"));
    desk.write("pair.xyz", atoms(2.2));
    assert_eq!(desk.succeed(&sweep).stdout, first);
}

/// Files of a run that another program removes or shortens: the run says so and fails.
#[cfg(unix)]
#[test]
fn files_that_are_lost_during_a_run_are_named() {
    use std::process::Stdio;
    for (name, lose) in [
        ("thermo.csv", (|path| std::fs::remove_file(path).unwrap()) as fn(&std::path::Path)),
        ("thermo.csv", |path| drop(std::fs::File::create(path).unwrap())),
        ("run.xyz", |path| std::fs::remove_file(path).unwrap()),
    ] {
        let desk = Desk::new();
        let stage = "[[stage]]\nname = \"run\"\nsteps = 100_000_000\ntimestep = 0.001\nthermo = { every = 10 }\n\
                     trajectory = { every = 100, format = \"xyz\" }\ncheckpoint = { every = 1000 }\n";
        let (system, _) = LIQUID.split_once("[[stage]]").unwrap();
        desk.write("x.toml", format!("{system}{stage}"));
        let mut run = desk.command(&["run", "x.toml", "--output", "out"]);
        let run = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let path = desk.path("out").join(name);
        while !desk.path("out/latest.checkpoint").exists()
            || std::fs::metadata(&path).map_or(0, |m| m.len()) < 1000
        {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        lose(&path);
        let finished = Finished::of(run.wait_with_output().unwrap());
        assert_eq!(finished.code, Some(1), "{}", finished.stderr);
        let said = unwrapped(&finished.stderr);
        assert!(said.contains(name) && said.contains("another program has changed it"), "{said}");
    }
}

/// Paths that checkpoints cannot name, and files larger than the shell allows, are errors before anything is lost.
#[cfg(unix)]
#[test]
fn limits_of_names_and_sizes_are_errors() {
    use std::os::unix::ffi::OsStrExt;
    let desk = Desk::new();
    desk.write("x.toml", LIQUID);
    let folder = std::ffi::OsStr::from_bytes(b"out\xff");
    let finished = Finished::of(desk.command(&["run", "x.toml", "--output"]).arg(folder).output().unwrap());
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    assert!(unwrapped(&finished.stderr).contains("is not text (UTF-8)"), "{}", finished.stderr);
    let program = desk.command(&[]).get_program().to_os_string();
    let limited = format!("ulimit -f 8; exec '{}' run x.toml --output out --steps 100000", program.display());
    let mut shell = std::process::Command::new("bash");
    let finished = Finished::of(shell.current_dir(desk.path("")).args(["-c", &limited]).output().unwrap());
    assert_eq!(finished.code, Some(1), "{}", finished.stderr);
    assert!(unwrapped(&finished.stderr).contains("ulimit -f"), "{}", finished.stderr);
}
