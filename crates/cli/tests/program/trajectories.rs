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
    let told = desk.succeed(&["convert", "ase.xyz", "copy.lammpstrj"]);
    assert!(told.stderr.contains("the column momenta is not read"), "{}", told.stderr);
    desk.write("input.toml", "units = \"metal\"\n[system]\nfile = \"ase.xyz\"\n[species.Ar]\nmass = 40\n");
    let energy = desk.succeed(&["energy", "input.toml"]);
    // 2 x 0.1^2 / (2 x 40) eV.
    assert!(energy.stdout.contains("0.0002500000 eV"), "{}", energy.stdout);
}
