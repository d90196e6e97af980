//! Tables of pair energies: files of LAMMPS and columns, what is wrong with them, and the forces
//! made of them.

use jostle_core::{Result, Topology, UnitSystem};
use jostle_io::Input;
use jostle_io::table::PairTable;
use jostle_potentials::PairTerm;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

fn lennard_jones(r: f64) -> (f64, f64) {
    (4.0 * (r.powi(-12) - r.powi(-6)), 24.0 * (2.0 * r.powi(-13) - r.powi(-7)))
}

/// Lines of number, r, energy and force.
fn lines(n: usize, [low, high]: [f64; 2], digits: usize) -> String {
    let mut text = String::new();
    for k in 0..n {
        let r = low + (high - low) * k as f64 / (n - 1) as f64;
        let (energy, force) = lennard_jones(r);
        writeln!(text, "{} {r:.digits$} {energy:.14e} {force:.14e}", k + 1).unwrap();
    }
    text
}

fn lammps() -> String {
    let (first, second) = (lines(901, [0.7, 2.5], 4), lines(50, [0.9, 2.0], 9));
    format!(
        "# DATE: none  UNITS: lj\n# a comment\n\nLJ\nN 901 R 0.7 2.5 FPRIME -1.0 0.0\n\n{first}\nSHORT\nN 50\n\n{second}"
    )
}

/// Without the numbers of the lines.
fn columns() -> String {
    let text = lines(901, [0.7, 2.5], 9);
    text.lines().map(|line| format!("{}\n", line.split_once(' ').unwrap().1)).collect()
}

/// A file in a folder of its own.
fn file(name: &str, text: &str) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let (process, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tables-{process}-{count}"));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn both_formats_give_the_function_back() {
    let from_lammps = PairTable::read(&file("lj.table", &lammps()), Some("LJ"), UnitSystem::Lj).unwrap();
    let from_columns = PairTable::read(&file("lj.txt", &columns()), None, UnitSystem::Lj).unwrap();
    for table in [&from_lammps, &from_columns] {
        assert_eq!(table.range(), [0.7, 2.5]);
        for k in 0..500 {
            let r = 0.701 + 0.0035 * f64::from(k);
            let ((energy, force), (found, its_force)) = (lennard_jones(r), table.at(r));
            let size = energy.abs() + (r * force).abs();
            assert!((found - energy).abs() < 1e-6 * size, "{r}: {found} {energy}");
            assert!((its_force - force).abs() * r < 1e-5 * size, "{r}: {its_force} {force}");
        }
    }
    let short = PairTable::read(&file("lj.table", &lammps()), Some("SHORT"), UnitSystem::Lj).unwrap();
    assert_eq!((short.range(), short.distances().count()), ([0.9, 2.0], 50));
}

#[test]
fn squares_may_be_what_is_even() {
    let mut text = "LJ\nN 401 RSQ 0.8 2.4\n\n".to_string();
    for k in 0..401 {
        let r = (0.64 + (5.76 - 0.64) * f64::from(k) / 400.0).sqrt();
        let (energy, force) = lennard_jones(r);
        writeln!(text, "{} {r:.3} {energy:e} {force:e}", k + 1).unwrap();
    }
    let table = PairTable::read(&file("squares.table", &text), None, UnitSystem::Lj).unwrap();
    let (energy, force) = table.at(1.1);
    let expected = lennard_jones(1.1);
    assert!((energy - expected.0).abs() < 1e-6 && (force - expected.1).abs() < 1e-4);
}

/// Energies and distances of a file whose first comment names units become those of the input, at the same place.
#[test]
fn units_of_a_file_are_obeyed() {
    let text = lammps();
    let read = |tag: &str, units| {
        PairTable::read(&file("units.table", &text.replace("UNITS: lj", tag)), Some("LJ"), units)
    };
    let plain = read("", UnitSystem::Real).unwrap();
    // eV in kcal/mol, and in kJ/mol.
    for (units, electronvolt, angstrom) in [
        (UnitSystem::Metal, 1.0, 1.0),
        (UnitSystem::Real, 23.060547830619, 1.0),
        (UnitSystem::Nano, 96.4853321233, 0.1),
    ] {
        let table = read("UNITS: metal", units).unwrap();
        let range = plain.range().map(|r| r * angstrom);
        assert!((0..2).all(|k| (table.range()[k] - range[k]).abs() < 1e-12), "{:?}", table.range());
        let ((energy, force), (expected, slope)) = (table.at(1.05 * angstrom), plain.at(1.05));
        assert!((energy / expected / electronvolt - 1.0).abs() < 1e-9, "{energy} {expected}");
        assert!((force * angstrom / slope / electronvolt - 1.0).abs() < 1e-9, "{force} {slope}");
    }
    let columns = format!("# UNITS: metal\n{}", columns());
    let table = PairTable::read(&file("units.txt", &columns), None, UnitSystem::Real).unwrap();
    assert!((table.at(1.05).0 / plain.at(1.05).0 / 23.060547830619 - 1.0).abs() < 1e-6);
    for (tag, units) in
        [("UNITS: lj", UnitSystem::Real), ("UNITS: metal", UnitSystem::Lj), ("UNITS: si", UnitSystem::Real)]
    {
        let error = read(tag, units).unwrap_err();
        assert!(error.message().contains("its units are") && error.help().is_some(), "{error}");
        assert_eq!(error.place().unwrap().line, Some(1), "{error}");
    }
}

#[test]
fn mistakes_in_files_are_found_with_their_lines() {
    let columns = columns();
    let line = |k: usize| columns.lines().nth(k - 1).unwrap().to_string();
    let with = |k: usize, text: &str| columns.replacen(&line(k), text, 1);
    let fields: Vec<String> = line(300).split(' ').map(String::from).collect();
    let [r, energy, force] = &fields[..] else { panic!() };
    let negated = |text: &str| {
        let line = |line: &str| {
            let words: Vec<&str> = line.split(' ').collect();
            format!("{} {} {:e}\n", words[0], words[1], -words[2].parse::<f64>().unwrap())
        };
        text.lines().map(line).collect::<String>()
    };
    for (text, place, message) in [
        (with(300, "nothing"), Some(300), "r energy force"),
        (with(300, &format!("{r} {energy}")), Some(300), "r energy force"),
        (with(300, &format!("1.0 {energy} {force}")), Some(300), "r = 1 after r = 1.296"),
        (with(300, &format!("{r} 12.5 {force}")), Some(300), "the energy falls by"),
        (negated(&columns), Some(2), "but the force is"),
        ("# only\n".to_string(), None, "no numbers"),
        (lammps(), None, "several sections"),
        (lammps().replace("N 901 R 0.7 2.5", "N 950"), Some(909), "number r energy force"),
        (lammps().replace("N 901 R 0.7 2.5", "N 900"), Some(907), "keyword"),
        (lammps().replace("N 50", "N 5000"), Some(910), "only 50 follow"),
        (lammps().replace("R 0.7 2.5", "R 0.7 3.5"), Some(9), "puts it at"),
        (lammps().replace("R 0.7 2.5", "BITMAP 0.7 2.5"), Some(5), "BITMAP"),
    ] {
        let error = PairTable::read(&file("wrong", &text), None, UnitSystem::Lj).unwrap_err();
        assert!(error.message().contains(message), "{error}");
        assert_eq!(error.place().unwrap().line, place, "{error}");
        assert!(error.help().is_some(), "{error}");
    }
    let error = PairTable::read(&file("lj.table", &lammps()), Some("LJX"), UnitSystem::Lj).unwrap_err();
    assert!(error.help().unwrap().contains("LJ, SHORT"), "{error}");
}

fn input(force: &str) -> Result<Input> {
    with_force(&format!("kind = \"table\"\n{force}"))
}

fn with_force(force: &str) -> Result<Input> {
    let path = file("lj.table", &lammps());
    let text = format!(
        "units = \"lj\"\n[system]\nlattice = \"fcc\"\natoms = 864\ndensity = 0.8\n[species.A]\nfraction = 0.5\n\
         [species.B]\nfraction = 0.5\n[[force]]\n{force}\n"
    );
    Input::parse(&path.with_file_name("input.toml"), &text)
}

fn term(force: &str) -> Result<PairTerm> {
    term_of(input(force)?)
}

fn term_of(input: Input) -> Result<PairTerm> {
    let species = input.species_with_mass()?;
    Ok(input.resolve_forces(&species, &Topology::default(), 0.0)?.pairs.remove(0))
}

const PAIRS: &str = "pairs.\"A-A\" = { file = \"lj.table\", section = \"LJ\" }\n\
    pairs.\"A-B\" = { file = \"lj.table\", section = \"SHORT\", cutoff = 1.8 }\npairs.\"B-B\" = \"none\"";

#[test]
fn pairs_have_files_and_cutoffs() {
    let term = term(PAIRS).unwrap();
    assert!(term.get(1, 1).is_none());
    for (a, b, cutoff, tolerance) in [(0, 0, 2.5, 1e-6), (0, 1, 1.8, 1e-2)] {
        assert_eq!(term.get(a, b).unwrap().cutoff, cutoff);
        let c = term.coefficients(a, b).unwrap();
        for r in [0.91_f64, 1.0, 1.12, 1.5, 1.79] {
            let (energy, force_over_r) = term.evaluate(r * r, &c);
            let (expected, force) = lennard_jones(r);
            let size = expected.abs() + (r * force).abs();
            assert!((energy - expected).abs() < tolerance * size, "{a}-{b} at {r}: {energy} {expected}");
            assert!((force_over_r * r * r - r * force).abs() < 10.0 * tolerance * size, "{a}-{b} at {r}");
        }
    }
}

#[test]
fn the_accuracy_is_measured_against_the_file() {
    let input = input(PAIRS).unwrap();
    let facts = input.tables(&input.species_with_mass().unwrap()).unwrap();
    assert_eq!(facts.len(), 2);
    assert_eq!((&facts[0].species, facts[0].range), (&["A".to_string(), "A".to_string()], [0.7, 2.5]));
    assert!(facts[0].error < 1e-5 && facts[0].intervals >= 128, "{facts:?}");
}

#[test]
fn truncation_is_that_of_the_force() {
    let term = term(&format!("truncation = \"force-shifted\"\ncutoff = 2\n{PAIRS}")).unwrap();
    let c = term.coefficients(0, 0).unwrap();
    let (energy, force_over_r) = term.evaluate(2.0f64.powi(2) * (1.0 - 1e-9), &c);
    assert!(energy.abs() < 1e-6 && force_over_r.abs() < 1e-6, "{energy} {force_over_r}");
}

/// Any potential can be looked up instead of computed.
#[test]
fn other_potentials_as_tables() {
    for force in [
        "kind = \"yukawa\"\npairs.\"A-A\" = { amplitude = 1.5, screening_length = 0.8 }\n\
         pairs.\"A-B\" = { amplitude = 1, screening_length = 0.8 }\npairs.\"B-B\" = \"none\"",
        "kind = \"formula\"\nenergy = \"1.5 exp(-r / 0.8) / r\"",
    ] {
        let force = format!("cutoff = 3\ntruncation = \"shifted\"\n{force}");
        let [exact, tables] = ["", "tabulate = true\n"]
            .map(|more| term_of(with_force(&format!("{more}{force}")).unwrap()).unwrap());
        assert_eq!(exact.potential.name(), tables.potential.name());
        let [c, d] = [&exact, &tables].map(|term| term.coefficients(0, 0).unwrap());
        for r in [0.4_f64, 0.7, 1.1, 2.0, 2.9] {
            let (expected, found) = (exact.evaluate(r * r, &c), tables.evaluate(r * r, &d));
            assert!((found.0 - expected.0).abs() < 1e-6 * expected.0.abs().max(1e-2), "{r}");
            assert!((found.1 - expected.1).abs() < 1e-6 * expected.1.abs().max(1e-2), "{r}");
        }
    }
    let kink = "kind = \"formula\"\nenergy = \"abs(1.3 - r)\"\ncutoff = 3\ntabulate = true";
    assert!(with_force(kink).unwrap_err().message().contains("cannot be tabulated"));
}

#[test]
fn mistakes_in_inputs() {
    for (from, to, message) in [
        (
            "pairs.\"A-A\"",
            "cutoff = 2.6\npairs.\"A-A\"",
            "cutoff = 2.6, but the file has distances from 0.7 to 2.5",
        ),
        ("pairs.\"B-B\" = \"none\"", "", "nothing is said about the pair B-B"),
        ("section = \"LJ\"", "section = \"L\"", "no section \"L\""),
        ("file = \"lj.table\", section = \"LJ\"", "section = \"LJ\"", "\"file\""),
        (
            "pairs.\"A-A\"",
            "energy = \"1/r\"\npairs.\"A-A\"",
            "\"energy\" means nothing with kind = \"table\"",
        ),
        ("file = \"lj.table\", section = \"LJ\"", "file = \"none.table\"", "none.table"),
    ] {
        let error = term(&PAIRS.replacen(from, to, 1)).unwrap_err();
        assert!(error.message().contains(message), "{error}");
        assert!(error.place().is_some() && error.help().is_some(), "{error}");
    }
    let completed = input(PAIRS).unwrap().completed().unwrap();
    assert!(completed.contains("file = \"lj.table\""), "{completed}");
}

#[test]
fn there_is_nothing_to_read_in_a_folder() {
    assert!(PairTable::read(Path::new("/"), None, UnitSystem::Lj).is_err());
}
