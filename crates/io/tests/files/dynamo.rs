//! Embedded-atom files: what they mean, and what is said of bad ones.

use jostle_io::Input;
use jostle_io::dynamo::Dynamo;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A folder of its own, gone at the end.
struct Desk(PathBuf);

impl Desk {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("jostle-dynamo-{name}-{}", std::process::id()));
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

const KNOTS: usize = 12;

fn numbers(f: impl Fn(f64) -> f64) -> String {
    let mut text = String::new();
    for k in 0..KNOTS {
        let _ = write!(text, "{:.17e}{}", f(0.5 * k as f64), if k % 5 == 4 { '\n' } else { ' ' });
    }
    text + "\n"
}

/// Densities that an element makes at each, embedding energies and r phi are cubic at most, so that
/// splines join them.
fn setfl(elements: &[&str], finnis_sinclair: bool) -> String {
    let n = elements.len();
    let mut text = format!("one\ntwo\nthree\n {n} {}\n{KNOTS} 0.5 {KNOTS} 0.5 5.5\n", elements.join(" "));
    for a in 0..n {
        text += "29 63.55 3.615 fcc\n";
        text += &numbers(|rho| -(1.0 + a as f64) * rho);
        let from = if finnis_sinclair { n } else { 1 };
        (0..from).for_each(|b| text += &numbers(|r| 10.0 * (a + 1) as f64 + b as f64 + r));
    }
    for a in 0..n {
        (0..=a).for_each(|b| text += &numbers(|r| 100.0 * (a + 1) as f64 + b as f64 - r * r));
    }
    text
}

fn funcfl(z: usize, charge: f64) -> String {
    let mut text = format!("copper\n{z} 63.55 3.615 FCC\n{KNOTS} 0.5 {KNOTS} 0.5 5.5\n");
    text += &numbers(|rho| -rho);
    text += &numbers(|r| charge * (1.0 - r / 8.0));
    text + &numbers(|r| 1.0 + r).replace('e', "D")
}

#[test]
fn each_function_is_where_it_belongs() {
    let desk = Desk::new("functions");
    let r = 2.25;
    let alloy = Dynamo::read(&[desk.write("alloy", &setfl(&["Cu", "Ni"], false))]).unwrap();
    let fs = Dynamo::read(&[desk.write("fs", &setfl(&["Cu", "Ni"], true))]).unwrap();
    for (file, from) in [(&alloy, 0.0), (&fs, 1.0)] {
        // Species in the other order than elements.
        let force = file.embedded(&["Ni", "Cu"], 1.0, 1.0).unwrap();
        assert_eq!(force.cutoff(), 5.5);
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
        near(force.embedding(0, 2.0).0, -4.0);
        near(force.embedding(1, 2.0).0, -2.0);
        // Density of copper, the first element, at nickel, the second.
        near(force.density(0, 1, r).0, 10.0 + from + r);
        near(force.density(1, 0, r).0, 20.0 + r);
        near(force.density(0, 0, r).0, 20.0 + from + r);
        near(force.pair([0, 1], r * r, [0.0; 2]).0, (200.0 - r * r) / r);
        near(force.pair([0, 0], r * r, [0.0; 2]).0, (201.0 - r * r) / r);
        near(force.pair([1, 1], r * r, [0.0; 2]).0, (100.0 - r * r) / r);
    }
    let files = [desk.write("cu", &funcfl(29, 3.0)), desk.write("ni", &funcfl(28, 2.0))];
    let force = Dynamo::read(&files).unwrap().embedded(&["Cu", "Ni"], 1.0, 1.0).unwrap();
    let (pair, _) = force.pair([0, 1], r * r, [0.0; 2]);
    assert!((pair - 27.2 * 0.529 * 6.0 * (1.0 - r / 8.0).powi(2) / r).abs() < 1e-9, "{pair}");
    assert!((force.density(1, 0, r).0 - 1.0 - r).abs() < 1e-12);
    // Other units, such as nm and kJ/mol, scale the result.
    let scaled = Dynamo::read(&files).unwrap().embedded(&["Cu", "Ni"], 96.0, 0.1).unwrap();
    assert!((scaled.pair([0, 1], r * r * 0.01, [0.0; 2]).0 / pair - 96.0).abs() < 1e-9);
}

#[test]
fn bad_files_are_refused_with_line_and_cause() {
    let desk = Desk::new("bad");
    let good = setfl(&["Cu"], false);
    let lines: Vec<&str> = good.lines().collect();
    let without = |line: usize| {
        let rest: Vec<&str> =
            lines.iter().enumerate().filter(|(k, _)| k + 1 != line).map(|(_, l)| *l).collect();
        rest.join("\n")
    };
    // The end of the densities, as in files of LAMMPS' eam/he, in which they begin below 0.
    let surplus = |text: &str| text.replacen("0.5 5.5", "0.5 5.5 4.5", 1);
    for (name, text, line, message) in [
        ("empty", String::new(), 1, "the file ends where a comment should come"),
        ("cut", lines[..9].join("\n"), 9, "the file ends where rho(r) of Cu should come"),
        ("short", without(9), 9, "F(rho) of Cu has more than its 12 numbers"),
        ("damaged", good.replacen("0.5 5.5", "-0.5 5.5", 1), 5, "the line is not: Nrho drho Nr dr cutoff"),
        ("eam/he", surplus(&good), 5, "the line has 6 numbers, not the five"),
        ("eam/he of two", surplus(&setfl(&["Pd", "He"], true)), 5, "the line has 6 numbers, not the five"),
        ("funcfl", surplus(&funcfl(29, 3.0)), 3, "the line has 6 numbers, not the five"),
        ("elements", good.replacen(" 1 Cu", " 2 Cu", 1), 4, "the number of elements and their names"),
        ("longer", good.clone() + "1 2 3\n", 16, "more in the file than a setfl file has"),
        ("real", good.replacen("one", "UNITS: real", 1), 1, "its units are \"real\""),
        ("number", good.replacen("0.00000000000000000e0", "x", 1), 7, "F(rho) of Cu has 0 of its 12 numbers"),
    ] {
        let path = desk.write(&name.replace('/', "-"), &text);
        let error = Dynamo::read(&[&path]).unwrap_err();
        let place = error.place().unwrap_or_else(|| panic!("{name}: {error}"));
        assert!(error.message().contains(message), "{name}: {error}");
        assert_eq!(place.line, Some(line), "{name}: {error}");
        assert!(error.help().is_some(), "{name}: {error}");
    }
    let missing = Dynamo::read(&[desk.0.join("nothing")]).unwrap_err();
    assert!(missing.message().contains("nothing") || missing.place().is_some(), "{missing}");
    let two = [desk.write("a", &good), desk.write("b", &good)];
    assert!(Dynamo::read(&two).unwrap_err().help().unwrap().contains("name it alone"));
}

/// An input with a metal, in a folder.
fn input(desk: &Desk, metal: &str) -> jostle_core::Result<Input> {
    let text = format!(
        "units = \"metal\"\n[system]\nlattice = \"fcc\"\ncells = [4, 4, 4]\nlattice_constant = 3.6\n\
         [species.Cu]\nmass = 63.55\n[metal]\n{metal}\n"
    );
    Input::parse(&desk.0.join("input.toml"), &text)
}

#[test]
fn metals_of_an_input() {
    let desk = Desk::new("input");
    desk.write("Cu.eam.alloy", &setfl(&["Cu"], false));
    let forces = |metal: &str| {
        let input = input(&desk, metal)?;
        input.resolve_forces(&input.species_with_mass()?, &input.built_topology(), 0.0)
    };
    let file = forces("kind = \"embedded-atom\"\nfile = \"Cu.eam.alloy\"").unwrap();
    assert_eq!((file.kinds(), file.largest_cutoff()), (vec!["embedded-atom"], 5.5));
    let formulas = forces("kind = \"sutton-chen\"").unwrap();
    assert_eq!((formulas.kinds(), formulas.largest_cutoff()), (vec!["sutton-chen"], 7.22));
    let silver = forces("kind = \"sutton-chen\"\nelements = [\"Ag\"]\ncutoff = \"0.6 nm\"").unwrap();
    assert!((silver.largest_cutoff() - 6.0).abs() < 1e-12);
    for (metal, message) in [
        ("kind = \"embedded-atom\"", "needs \"file\" or \"files\""),
        ("kind = \"embedded-atom\"\nfile = \"missing\"", "missing"),
        ("kind = \"embedded-atom\"\nfile = \"Cu.eam.alloy\"\nelements = [\"Fe\"]", "no element \"Fe\""),
        ("kind = \"sutton-chen\"\nelements = [\"Fe\"]", "no Sutton-Chen metal \"Fe\""),
        ("kind = \"sutton-chen\"\nelements = [\"Cu\", \"Ni\"]", "2 elements for 1 species"),
    ] {
        let error = input(&desk, metal).unwrap_err();
        let text = format!("{error}");
        assert!(text.contains(message) || error.message().contains(message), "{metal}: {text}");
    }
    let reduced = "units = \"lj\"\n[system]\nlattice = \"fcc\"\ncells = [4, 4, 4]\ndensity = 1\n\
                   [species.Cu]\n[metal]\nkind = \"sutton-chen\"\n";
    let error = Input::parse(Path::new("lj.toml"), reduced).unwrap_err();
    assert!(error.help().unwrap().contains("units = \"metal\""), "{error}");
}
