//! Trajectories of other programs: what they say of the paths of atoms is not lost on the way.

use crate::jostle::{Desk, Finished};
use jostle_engine::model::TrajectoryFormat;

/// Two atoms that go 7 A to either side from frame to frame, in a box of 10 A.
fn unwrapped(columns: &str, place: impl Fn(f64) -> String) -> String {
    (0..12).fold(String::new(), |text, frame| {
        let x = 7.0 * f64::from(frame);
        text + &format!(
            "ITEM: TIMESTEP\n{frame}\nITEM: NUMBER OF ATOMS\n2\nITEM: BOX BOUNDS pp pp pp\n0 10\n0 10\n0 10\n\
             ITEM: ATOMS id type {columns}\n1 1 {}\n2 1 {}\n",
            place(1.0 + x),
            place(2.0 - x),
        )
    })
}

/// Time and mean-square displacement, by rows.
fn displacements(finished: &Finished) -> Vec<[f64; 2]> {
    let row = |line: &str| {
        let mut numbers = line.split(',').map(|word| word.parse().unwrap());
        [numbers.next().unwrap(), numbers.next().unwrap()]
    };
    finished.stdout.lines().skip(1).map(row).collect()
}

#[test]
fn unwrapped_paths_are_taken_as_they_are() {
    let desk = Desk::new();
    desk.write("xu.lammpstrj", unwrapped("xu yu zu", |x| format!("{x} 5 5")));
    desk.write(
        "ix.lammpstrj",
        unwrapped("x y z ix iy iz", |x| {
            let crossed = (x / 10.0).floor();
            format!("{} 5 5 {crossed} 0 0", x - 10.0 * crossed)
        }),
    );
    let measure = |name: &str| {
        desk.succeed(&["analyze", "msd", name, "--timestep", "1", "--units", "real", "from=1", "to=5"])
    };
    for format in TrajectoryFormat::ALL.iter().filter(|format| format.has_images()) {
        let name = format!("copy.{}", format.extension());
        desk.succeed(&["convert", "xu.lammpstrj", &name, "--timestep", "1", "--units", "real"]);
        for name in ["xu.lammpstrj", "ix.lammpstrj", &name] {
            let rows = displacements(&measure(name));
            assert!(rows.len() > 2);
            for [time, msd] in rows {
                // Single precision: 1e-6 of the box.
                assert!((msd - (7.0 * time).powi(2)).abs() < 1e-3, "{name}: {msd} after {time}");
            }
        }
    }
    let told = desk.succeed(&["convert", "xu.lammpstrj", "copy.xtc"]);
    assert!(told.stderr.contains("crossed the box is left out"), "{}", told.stderr);
    assert!(told.stderr.contains("steps stand in their place"), "{}", told.stderr);
    let told = desk.succeed(&["convert", "copy.gsd", "copy.pdb"]);
    assert!(!told.stderr.contains("no times"), "{}", told.stderr);
}

#[test]
fn what_is_not_read_is_said() {
    let desk = Desk::new();
    let properties = "Properties=species:S:1:pos:R:3:momenta:R:3";
    let text =
        format!("2\nLattice=\"9 0 0 0 9 0 0 0 9\" {properties}\nAr 1 1 1 0.1 0 0\nAr 2 2 2 -0.1 0 0\n");
    desk.write("ase.xyz", &text);
    let box_and_atoms =
        "ITEM: TIMESTEP\n0\nITEM: NUMBER OF ATOMS\n3\nITEM: BOX BOUNDS pp pp pp\n0 9\n0 9\n0 9\n";
    desk.write(
        "types.lammpstrj",
        format!("{box_and_atoms}ITEM: ATOMS id type q x y z\n9 3 1 1 1 1\n2 1 0 2 2 2\n5 2 0 3 3 3\n"),
    );
    let told = desk.succeed(&["convert", "types.lammpstrj", "again.lammpstrj"]);
    assert!(told.stderr.contains("not read: q") && told.stderr.contains("numbered anew"), "{}", told.stderr);
    let again = desk.read("again.lammpstrj");
    assert!(again.ends_with("ITEM: ATOMS id type x y z\n1 1 2 2 2\n2 2 3 3 3\n3 3 1 1 1\n"), "{again}");
    let told = desk.succeed(&["convert", "ase.xyz", "copy.dcd"]);
    assert!(told.stderr.contains("names of atoms are left out"), "{}", told.stderr);
    assert!(!told.stderr.contains("residues"), "{}", told.stderr);
    desk.write(
        "crystal.pdb",
        "ATOM      4  CA  ALA A   1A      3.000   2.000   3.000  1.00 10.00           C\nEND\n",
    );
    let told = desk.succeed(&["convert", "crystal.pdb", "copy.gro"]);
    assert!(told.stderr.contains("insertion codes of residues are left out"), "{}", told.stderr);
    assert!(told.stderr.contains("B factors are for selections only"), "{}", told.stderr);
    let told = desk.succeed(&["convert", "crystal.pdb", "crystal.xyz"]);
    assert!(told.stderr.contains("residues are left out: xyz files have none"), "{}", told.stderr);
    let told = desk.succeed(&["convert", "ase.xyz", "copy.lammpstrj"]);
    assert!(told.stderr.contains("the column momenta is not read"), "{}", told.stderr);
    desk.write("input.toml", "units = \"metal\"\n[system]\nfile = \"ase.xyz\"\n[species.Ar]\nmass = 40\n");
    let energy = desk.succeed(&["energy", "input.toml"]);
    // 2 x 0.1^2 / (2 x 40) eV.
    assert!(energy.stdout.contains("0.0002500000 eV"), "{}", energy.stdout);
}

/// Atoms on a line in a large box, at these times and as far apart as said.
fn on_a_line(times: &[f64], apart: f64) -> String {
    times.iter().fold(String::new(), |text, time| {
        let atoms = (0..12).fold(String::new(), |atoms, k| atoms + &format!("Ar {} 1 1\n", apart * f64::from(k)));
        text + &format!(
            "12\nLattice=\"9e6 0 0 0 9 0 0 0 9\" Properties=species:S:1:pos:R:3 Time={time} units=real\n{atoms}"
        )
    })
}

/// The times in an extended XYZ file.
fn times(text: &str) -> Vec<f64> {
    let words = text
        .split_whitespace()
        .filter_map(|word| word.to_lowercase().strip_prefix("time=").map(String::from));
    words.map(|time| time.parse().unwrap()).collect()
}

#[test]
fn times_come_back_or_are_said_to_be_lost() {
    let desk = Desk::new();
    for (name, given) in [("late", [1000.7, 1020.7, 1040.7]), ("early", [-35.0, -15.0, 5.0])] {
        desk.write(&format!("{name}.xyz"), on_a_line(&given, 1.0));
        desk.succeed(&["convert", &format!("{name}.xyz"), &format!("{name}.dcd"), "--units", "real"]);
        desk.succeed(&["convert", &format!("{name}.dcd"), &format!("{name}-back.xyz"), "--units", "real"]);
        let back = times(&desk.read(&format!("{name}-back.xyz")));
        assert_eq!(back.len(), 3);
        assert!(back.iter().zip(given).all(|(a, b)| (a - b).abs() < 1e-3), "{back:?} is not {given:?}");
    }
    desk.write("unequal.xyz", on_a_line(&[0.0, 20.0, 50.0], 1.0));
    let refused = desk.jostle(&["convert", "unequal.xyz", "unequal.dcd"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("unequal.dcd"), "{}", refused.stderr);
    assert!(!desk.path("unequal.dcd").exists(), "a part of the frames is left");
    let words = refused.stderr.split_whitespace().filter(|word| *word != "│").collect::<Vec<_>>().join(" ");
    assert!(words.contains("frame 2 follows after 30 fs") && words.contains("XTC"), "{words}");
    let told = desk.succeed(&["convert", "late.xyz", "late.lammpstrj"]);
    assert!(told.stderr.contains("times are left out"), "{}", told.stderr);
    desk.write("still.xyz", on_a_line(&[7.0, 7.0], 1.0));
    let told = desk.succeed(&["convert", "still.xyz", "still.dcd"]);
    assert!(told.stderr.contains("times are left out"), "{}", told.stderr);
}

/// Stages have files of their own, and a later one with another time step the times of `thermo.csv`.
#[test]
fn a_stage_after_another_time_step_has_its_times() {
    let desk = Desk::new();
    desk.write(
        "run.toml",
        "units = \"lj\"\n[species.A]\nmass = 1.0\n[system]\nlattice = \"fcc\"\ndensity = 0.5\ncells = [3, 3, 3]\n\
         [[force]]\nkind = \"lennard-jones\"\ncutoff = 1.6\npairs = { A-A = { epsilon = 1.0, sigma = 1.0 } }\n\
         [[stage]]\nname = \"fine\"\nsteps = 70\ntimestep = 0.001\n\
         [[stage]]\nname = \"coarse\"\nsteps = 40\ntimestep = 0.004\ntrajectory = { every = 10, format = \"dcd\" }\n",
    );
    desk.succeed(&["run", "run.toml", "--device", "cpu"]);
    let file = desk.files().into_iter().find(|name| name.ends_with(".dcd")).unwrap();
    desk.succeed(&["convert", &file, "back.xyz", "--units", "lj"]);
    let back = times(&desk.read("back.xyz"));
    assert!(back.len() >= 4, "{back:?}");
    let first = if back.len() == 4 { 0.11 } else { 0.07 };
    for (k, time) in back.iter().enumerate() {
        assert!((time - first - 0.04 * k as f64).abs() < 1e-5, "{back:?}");
    }
}

/// XTC keeps fewer digits where coordinates are large; both who convert and who run are told.
#[test]
fn lost_digits_of_xtc_are_said_once() {
    let desk = Desk::new();
    desk.write("far.xyz", on_a_line(&[0.0, 20.0], 3e5));
    let told = desk.succeed(&["convert", "far.xyz", "far.xtc", "--units", "real"]);
    assert_eq!(
        told.stderr.matches("far.xtc: positions are kept to 1 A only, not to 0.01").count(),
        1,
        "{}",
        told.stderr
    );
    assert!(told.stderr.contains("reach 3300000 A"), "{}", told.stderr);
    desk.write("near.xyz", on_a_line(&[0.0, 20.0], 4.0));
    let told = desk.succeed(&["convert", "near.xyz", "near.xtc", "--units", "real"]);
    assert!(!told.stderr.contains("are kept to"), "{}", told.stderr);
    desk.write(
        "run.toml",
        "units = \"real\"\n[system]\nfile = \"far.xyz\"\n[species.Ar]\nmass = 40\n\
         [[stage]]\nname = \"drift\"\nsteps = 20\ntimestep = \"1 fs\"\ntrajectory = { every = 10, format = \"xtc\" }\n",
    );
    let told = desk.succeed(&["run", "run.toml", "--device", "cpu"]);
    assert_eq!(told.stderr.matches("positions are kept to 1 A only").count(), 1, "{}", told.stderr);
}

#[cfg(unix)]
#[test]
fn a_hard_link_is_the_file_itself() {
    let desk = Desk::new();
    let text = on_a_line(&[0.0, 20.0], 1.0);
    let path = desk.write("a.xyz", &text);
    std::fs::hard_link(&path, desk.path("b.xyz")).unwrap();
    std::os::unix::fs::symlink(&path, desk.path("c.xyz")).unwrap();
    for name in ["a.xyz", "b.xyz", "c.xyz"] {
        let refused = desk.jostle(&["convert", "a.xyz", name, "--overwrite"]);
        assert!(refused.code != Some(0) && refused.stderr.contains("into itself"), "{}", refused.stderr);
        assert_eq!(desk.read("a.xyz"), text);
    }
    // The command that is proposed has the name as one word.
    let told = desk.succeed(&["new", "my argon.toml", "--like", "argon"]);
    assert!(told.stderr.contains("jostle run 'my argon.toml'"), "{}", told.stderr);
}

/// A box that begins elsewhere than at 0: whatever a trajectory's format tells of it, places along the trajectory are those of
/// the run, and so are references, which are from where the run began.
#[test]
fn boxes_keep_their_corners() {
    let desk = Desk::new();
    let atoms: String = (0..64)
        .map(|k| {
            let [x, y, z] = [k % 4, k / 4 % 4, k / 16].map(|n| 2.5 * f64::from(n) - 4.0);
            format!("A {x} {y} {z}\n")
        })
        .collect();
    let head = "64\nLattice=\"10 0 0 0 10 0 0 0 10\" Origin=\"-5 -5 -5\" Properties=species:S:1:pos:R:3 pbc=\"T T T\"\n";
    desk.write("start.xyz", format!("{head}{atoms}"));
    let stage = |name: &str, more: &str| {
        format!(
            "[[stage]]\nname = \"{name}\"\nsteps = 20\ntimestep = 0.005\nthermo = {{ every = 10 }}\n{more}\n"
        )
    };
    for format in TrajectoryFormat::ALL {
        let name = format.extension();
        let frames = format!(
            "trajectory = {{ every = 10, format = \"{}\" }}\nmeasure = [{{ kind = \"density-profile\", every = 10, bins = 5 }}]",
            format.name()
        );
        let input = format!(
            "units = \"lj\"\n[system]\nfile = \"start.xyz\"\ntemperature = 3\n[species.A]\nmass = 1\n\
             [[force]]\nkind = \"lennard-jones\"\ncutoff = 2.5\npairs.\"A-A\" = {{ epsilon = 1, sigma = 1 }}\n\
             [[field]]\nenergy = \"-5 cos(2 pi (z - 1) / 10)\"\n\
             [[variable]]\nname = \"place\"\nkind = \"position\"\natoms = \"index 3\"\naxis = \"x\"\n\
             [[variable]]\nname = \"off\"\nkind = \"rmsd\"\natoms = \"index 0 1 4 5\"\n\
             {}{}[run]\nthreads = 1\ndevice = \"cpu\"\n",
            stage("first", ""),
            stage("then", &frames)
        );
        desk.write(&format!("{name}.toml"), input);
        desk.succeed(&["run", &format!("{name}.toml")]);
        let thermo = desk.read(&format!("{name}/thermo.csv"));
        let columns: Vec<&str> = thermo.lines().next().unwrap().split(',').collect();
        let column = |name: &str| columns.iter().position(|column| *column == name).unwrap();
        let last: Vec<&str> = thermo.lines().last().unwrap().split(',').collect();
        let [place, off] = ["place", "off"].map(|name| last[column(name)].parse::<f64>().unwrap());
        let found = desk.succeed(&["analyze", "variable", name]).stdout;
        let row: Vec<f64> = found.lines().last().unwrap().split(',').map(|x| x.parse().unwrap()).collect();
        // Formats that count steps have the times of the run beside them.
        let time: f64 = last[column("time")].parse().unwrap();
        assert!((row[0] - time).abs() < 1e-5, "{name}: {row:?}, not {time}");
        // Text with three decimals.
        assert!((row[1] - place).abs() < 2e-3, "{name}: {row:?}, not {place}");
        assert!((row[2] - off).abs() < 2e-3, "{name}: {row:?}, not {off}");
        let profile = desk.succeed(&["analyze", "density-profile", name, "bins=5"]).stdout;
        let measured = desk.read(&format!("{name}/then.density-profile.csv"));
        let numbers = |text: &str| -> Vec<f64> {
            text.lines().skip(1).flat_map(|line| line.split(',').nth(1)).map(|x| x.parse().unwrap()).collect()
        };
        let (mine, of_run) = (numbers(&profile), numbers(&measured));
        assert!(mine.len() == 5 && of_run.len() == 5, "{profile}{measured}");
        for (a, b) in mine.iter().zip(&of_run) {
            // One atom in one frame: rounding moves one over a border.
            assert!((a - b).abs() < 1.01 / 400.0, "{name}: {profile} {measured}");
        }
    }
    let told = desk.succeed(&["convert", "lammpstrj/then.lammpstrj", "copy.xtc"]);
    assert!(told.stderr.contains("the corner of the box, at [-5, -5, -5], is left out"), "{}", told.stderr);
}

/// Distances are those of nearest images in the box as it is, also of atoms that crossed a face when it was smaller.
#[test]
fn variables_follow_a_box_that_grows() {
    let desk = Desk::new();
    let frames = [
        (10.0, [1.0, 0.5], 0.5),
        (10.0, [1.0, 9.5], 1.5),
        (12.0, [1.2, 11.4], 1.8),
        (12.0, [1.2, 11.4], 1.8),
        (9.0, [0.9, 8.55], 1.35),
    ];
    let frame = |(time, (edge, [a, b], _)): (usize, &(f64, [f64; 2], f64))| {
        let [y, z] = [0.5, 0.7].map(|part| part * edge);
        format!(
            "3\nLattice=\"{edge} 0 0 0 {edge} 0 0 0 {edge}\" Properties=species:S:1:pos:R:3 pbc=\"T T T\" \
             Time={time} Step={time} units=lj\nA {a} {y} {y}\nA {b} {y} {y}\nA {y} {y} {z}\n"
        )
    };
    let texts: Vec<String> = frames.iter().enumerate().map(frame).collect();
    desk.write("start.xyz", &texts[0]);
    desk.write("grows.xyz", texts.concat());
    desk.write(
        "pair.toml",
        "units = \"lj\"\n[system]\nfile = \"start.xyz\"\n[species.A]\nmass = 1\n\
         [[force]]\nkind = \"lennard-jones\"\ncutoff = 2.5\npairs.\"A-A\" = { epsilon = 1, sigma = 1 }\n\
         [[variable]]\nname = \"d\"\nkind = \"distance\"\nbetween = [\"index 0\", \"index 1\"]\n",
    );
    let found = desk.succeed(&["analyze", "variable", "grows.xyz", "--input", "pair.toml"]).stdout;
    for (row, (_, _, expected)) in found.lines().skip(1).zip(&frames) {
        let d: f64 = row.split(',').nth(1).unwrap().parse().unwrap();
        assert!((d - expected).abs() < 1e-12, "{row}, not {expected}");
    }
    assert_eq!(found.lines().count(), frames.len() + 1);
}

/// A box that breathes about its centre, as in LAMMPS, carries all atoms along where the corner is not known.
#[test]
fn motion_with_a_box_without_corner_is_doubtful() {
    let desk = Desk::new();
    let text = (0..30).fold(String::new(), |text, frame| {
        let scale = 1.0 + 0.04 * f64::from(frame % 5 - 2);
        let atoms = (0..400).fold(String::new(), |atoms, k| {
            let own = |axis: i32| 0.1 * f64::from(frame * (1 + (k * k * (3 + axis)) % 7) * (1 - 2 * (k % 2)));
            let [x, y, z] = [0, 1, 2].map(|axis| 5.0 + scale * (f64::from(k % 10) - 5.0) + own(axis));
            atoms + &format!("{} 1 {x} {y} {z}\n", k + 1)
        });
        let (low, high) = (5.0 - 5.0 * scale, 5.0 + 5.0 * scale);
        let edges = format!("{low} {high}\n").repeat(3);
        text + &format!(
            "ITEM: TIMESTEP\n{frame}\nITEM: NUMBER OF ATOMS\n400\nITEM: BOX BOUNDS pp pp pp\n{edges}\
             ITEM: ATOMS id type x y z\n{atoms}"
        )
    });
    desk.write("npt.lammpstrj", text);
    desk.succeed(&["convert", "npt.lammpstrj", "npt.dcd", "--timestep", "1", "--units", "lj"]);
    let told = |name: &str| {
        desk.succeed(&["analyze", "msd", name, "--timestep", "1", "--units", "lj", "from=1", "to=5"]).stderr
    };
    assert!(told("npt.dcd").contains("the box changes"), "{}", told("npt.dcd"));
    assert!(!told("npt.lammpstrj").contains("the box changes"), "{}", told("npt.lammpstrj"));
}
