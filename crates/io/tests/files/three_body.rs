//! Files of three-body potentials: what they mean, and what is said of bad ones.

use jostle_core::{Result, Vector};
use jostle_io::Input;
use jostle_io::three_body::ThreeBodyFile;
use jostle_potentials::ThreeBodyKind::{StillingerWeber, Tersoff};
use jostle_potentials::{Forces, ThreeBody};
use std::path::{Path, PathBuf};

/// A folder of its own, gone at the end.
struct Desk(PathBuf);

impl Desk {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("jostle-three-body-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Desk(path)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        // Nothing depends on it.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Silicon, with comments and an entry over three lines; behind it an element of no species.
const SILICON: &str = "# UNITS: metal\n\n# a comment\nSi Si Si 2.1683 2.0951 1.80 # more\n  21.0 1.20\n  \
    -0.333333333333 7.049556277 0.6022245584 4.0 0.0 0.0\nX X X 0 0 0 0 0 0 0 0 0 0 0\n";

const TERSOFF: &str =
    "Si Si Si 3.0 1.0 1.3258 4.8381 2.0417 0.0 22.956 0.33675 1.3258 95.373 3.0 0.2 3.2394 3264.7\n";

/// Energy of an atom with two neighbours at distances of 2.3 and 2.5 and a right angle.
fn energy(term: &ThreeBody) -> f64 {
    term.center(0, &[(0, Vector([2.3, 0.0, 0.0])), (0, Vector([0.0, 2.5, 0.0]))]).0
}

#[test]
fn entries_go_on_in_further_lines_and_units_are_converted() {
    let desk = Desk::new("entries");
    let file = ThreeBodyFile::read(&desk.write("Si.sw", SILICON), StillingerWeber).unwrap();
    let term = file.force(&["Si"], 1.0, 1.0).unwrap();
    // By hand: sums of bonds phi/2 and an angle, with exponentials of 1/(r/sigma - 1.8).
    let phi = |r: f64| {
        let x = r / 2.0951;
        7.049556277 * 2.1683 * (0.6022245584 / x.powi(4) - 1.0) * (1.0 / (x - 1.8)).exp()
    };
    let range = |r: f64| (1.2 / (r / 2.0951 - 1.8)).exp();
    let angle = 21.0 * 2.1683 * (0.333333333333f64).powi(2) * range(2.3) * range(2.5);
    let expected = 0.5 * (phi(2.3) + phi(2.5)) + angle;
    assert!((energy(&term) / expected - 1.0).abs() < 1e-12, "{} {expected}", energy(&term));
    assert!((term.cutoff() - 1.8 * 2.0951).abs() < 1e-12);
    let other = file.force(&["Si"], 96.485, 0.1).unwrap();
    let scaled = other.center(0, &[(0, Vector([0.23, 0.0, 0.0])), (0, Vector([0.0, 0.25, 0.0]))]).0;
    assert!((scaled / expected / 96.485 - 1.0).abs() < 1e-12, "{scaled}");
    let real = SILICON.replace("metal", "real").replace("2.1683", "50.0021");
    let real = ThreeBodyFile::read(&desk.write("real.sw", &real), StillingerWeber).unwrap();
    let real = energy(&real.force(&["Si"], 1.0, 1.0).unwrap());
    assert!((real / expected - 1.0).abs() < 1e-5, "{real} {expected}");
    let short = SILICON.replace("4.0 0.0 0.0", "4.0 0.0 1e-3");
    let short = ThreeBodyFile::read(&desk.write("short.sw", &short), StillingerWeber).unwrap();
    let cutoff = short.force(&["Si"], 1.0, 1.0).unwrap().cutoff();
    assert!((cutoff - 2.0951 * (1.8 + 1e-3f64.ln().recip())).abs() < 1e-12, "{cutoff}");
}

#[test]
fn bad_files_are_refused_with_line_and_cause() {
    let desk = Desk::new("bad");
    let sw = SILICON.to_string();
    for (name, kind, text, line, message) in [
        (
            "long",
            StillingerWeber,
            sw.replace("0.0 0.0\nX", "0.0 0.0 1.0\nX"),
            6,
            "has 8 words before this line and 15 with it, not 14",
        ),
        (
            "short",
            StillingerWeber,
            sw.replace("0.0 0.0\nX", "0.0\nX"),
            7,
            "has 13 words before this line and 27 with it, not 14",
        ),
        ("end", StillingerWeber, sw.replace("0 0\n", "\n"), 7, "the last entry has 12 of its 14 words"),
        ("word", StillingerWeber, sw.replace("21.0", "2l.0"), 5, "lambda is \"2l.0\""),
        ("infinite", StillingerWeber, sw.replace("21.0", "inf"), 5, "lambda is \"inf\""),
        ("twice", StillingerWeber, sw.replace("X X X", "Si Si Si"), 7, "has an entry in line 4 already"),
        (
            "negative",
            StillingerWeber,
            sw.replace("2.0951", "-2"),
            4,
            "sigma of \"Si Si Si\" is -2, but must not",
        ),
        ("units", StillingerWeber, sw.replace("metal", "si"), 1, "its units are \"si\""),
        (
            "power",
            Tersoff,
            TERSOFF.replace("3.0 1.0", "2.0 1.0"),
            1,
            "m of \"Si Si Si\" is 2, but must be 1 or 3",
        ),
        (
            "width",
            Tersoff,
            TERSOFF.replace("3.0 0.2", "3.0 0.0"),
            1,
            "D of \"Si Si Si\" is 0, but must be positive",
        ),
        (
            "wide",
            Tersoff,
            TERSOFF.replace("3.0 0.2", "3.0 3.2"),
            1,
            "D of \"Si Si Si\" is 3.2, but must be less",
        ),
        ("order", Tersoff, TERSOFF.replace("22.956", "0"), 1, "n of \"Si Si Si\" is 0, but must be positive"),
        ("other", Tersoff, sw.clone(), 7, "has 14 words before this line and 28 with it, not 17"),
    ] {
        let path = desk.write(name, &text);
        let error =
            ThreeBodyFile::read(&path, kind).and_then(|file| file.force(&["Si"], 1.0, 1.0)).unwrap_err();
        let place = error.place().unwrap_or_else(|| panic!("{name}: {error}"));
        assert!(error.message().contains(message), "{name}: {error}");
        assert_eq!(place.line, Some(line), "{name}: {error}");
        assert!(error.help().is_some(), "{name}: {error}");
    }
    let empty = ThreeBodyFile::read(&desk.write("empty", "# nothing\n"), Tersoff).unwrap_err();
    assert!(empty.message().contains("no entry"), "{empty}");
    let file = ThreeBodyFile::read(&desk.write("Si.tersoff", TERSOFF), Tersoff).unwrap();
    let error = file.force(&["C"], 1.0, 1.0).unwrap_err();
    assert!(error.message().contains("no element \"C\"") && error.help().unwrap().contains("Si"), "{error}");
    let two = TERSOFF.to_string() + &TERSOFF.replace("Si Si Si", "C C C");
    let file = ThreeBodyFile::read(&desk.write("two", &two), Tersoff).unwrap();
    let error = file.force(&["Si", "C"], 1.0, 1.0).unwrap_err();
    assert!(error.message().contains("no entry \"Si Si C\""), "{error}");
}

/// Two entries of Stillinger and Weber's are of the same angle.
#[test]
fn angles_with_two_strengths_are_refused() {
    let desk = Desk::new("angles");
    let one = "2.1683 2.0951 1.80 21.0 1.20 -0.3333 7.049556277 0.6022245584 4.0 0.0 0.0\n";
    let mut text = String::new();
    for k in 0..8 {
        let name = |bit: usize| if k >> bit & 1 == 0 { "A" } else { "B" };
        text += &format!("{} {} {} {one}", name(2), name(1), name(0));
    }
    let good = ThreeBodyFile::read(&desk.write("good", &text), StillingerWeber).unwrap();
    assert!(good.force(&["A", "B"], 1.0, 1.0).is_ok());
    let text = text.replacen("A B A 2.1683 2.0951 1.80 21.0", "A B A 2.1683 2.0951 1.80 23.0", 1);
    let bad = ThreeBodyFile::read(&desk.write("bad", &text), StillingerWeber).unwrap();
    let error = bad.force(&["A", "B"], 1.0, 1.0).unwrap_err();
    assert!(error.message().contains("\"A A B\" and \"A B A\" are of the same angle"), "{error}");
}

/// An input with a three-body force, in a folder.
fn forces(desk: &Desk, three_body: &str) -> Result<Forces> {
    let text = format!(
        "units = \"metal\"\n[system]\nlattice = \"diamond\"\ncells = [4, 4, 4]\nlattice_constant = 5.431\n\
         [species.Si]\nmass = 28.0855\n[three_body]\n{three_body}\n"
    );
    let input = Input::parse(&desk.0.join("input.toml"), &text)?;
    input.resolve_forces(&input.species_with_mass()?, &input.built_topology(), 0.0)
}

#[test]
fn three_body_forces_of_an_input() {
    let desk = Desk::new("input");
    desk.write("Si.sw", SILICON);
    desk.write("Si.tersoff", TERSOFF);
    let built_in = forces(&desk, "kind = \"stillinger-weber\"").unwrap();
    assert_eq!(built_in.kinds(), vec!["stillinger-weber"]);
    let file = forces(&desk, "kind = \"stillinger-weber\"\nfile = \"Si.sw\"").unwrap();
    let [one, other] = [built_in, file].map(|forces| energy(forces.three_body.as_ref().unwrap()));
    assert!((one / other - 1.0).abs() < 1e-10, "{one} {other}");
    let tersoff = forces(&desk, "kind = \"tersoff\"\nfile = \"Si.tersoff\"").unwrap();
    assert_eq!((tersoff.kinds(), tersoff.largest_cutoff()), (vec!["tersoff"], 3.2));
    for (three_body, message) in [
        ("kind = \"tersoff\"", "file"),
        ("kind = \"tersoff\"\nfile = \"missing\"", "missing"),
        ("kind = \"tersoff\"\nfile = \"Si.tersoff\"\nelements = [\"C\"]", "no element \"C\""),
        ("kind = \"stillinger-weber\"\nelements = [\"C\"]", "\"C\" needs a file"),
        ("kind = \"stillinger-weber\"\nelements = [\"Si\", \"Si\"]", "2 elements for 1 species"),
        ("kind = \"keating\"", "keating"),
    ] {
        let error = forces(&desk, three_body).unwrap_err();
        assert!(format!("{error}").contains(message), "{three_body}: {error}");
    }
    let reduced = "units = \"lj\"\n[system]\nlattice = \"diamond\"\ncells = [4, 4, 4]\ndensity = 1\n\
                   [species.Si]\n[three_body]\nkind = \"stillinger-weber\"\n";
    let error = Input::parse(Path::new("lj.toml"), reduced).unwrap_err();
    assert!(error.help().unwrap().contains("units = \"metal\""), "{error}");
}
