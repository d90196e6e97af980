//! Topologies of GROMACS: pairs, dihedrals and sizes that other programs' files have and tutorials have not.

use crate::forcefields::files;
use jostle_core::{Error, UnitSystem};
use jostle_io::forcefield::Molecules;
use jostle_potentials::bonded::{DihedralFunction, DihedralVisitor};
use jostle_potentials::pair::LennardJones;
use jostle_potentials::{BondedKind, PairFunction, PairPotential};
use std::fs;
use std::path::Path;

/// A chain of four atoms X-Y-Y-Z, with a 1-4 pair; `more` stands before the molecule.
pub(crate) fn chain(defaults: &str, types: [&str; 3], more: &str) -> String {
    let [x, y, z] = types;
    format!(
        "\
[ defaults ]
{defaults}
[ atomtypes ]
X 6 12.011 0.0 A {x}
Y 6 12.011 0.0 A {y}
Z 6 12.011 0.0 A {z}
{more}
[ moleculetype ]
CHAIN 3
[ atoms ]
1 X 1 MOL A1 1 0.0 12.011
2 Y 1 MOL A2 2 0.0 12.011
3 Y 1 MOL A3 3 0.0 12.011
4 Z 1 MOL A4 4 0.0 12.011
[ bonds ]
1 2 1 0.15 1000
2 3 1 0.15 1000
3 4 1 0.15 1000
[ pairs ]
1 4 1
[ system ]
four atoms
[ molecules ]
CHAIN 1
"
    )
}

pub(crate) fn read_at(path: &Path) -> Result<Molecules, Error> {
    Molecules::read(&files(path, &[]), UnitSystem::Nano)
}

fn read(text: &str) -> Result<Molecules, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.top");
    fs::write(&path, text).unwrap();
    read_at(&path)
}

/// Epsilon and sigma of the 1-4 pair, which has no charges.
fn pair_14(molecules: &Molecules) -> [f64; 2] {
    let term = molecules.forces.bonds.iter().find(|term| term.term() == "scaled-pair").unwrap();
    let bond = molecules.topology.bonds.iter().find(|bond| bond.atoms == [0, 3]).unwrap();
    let [epsilon, sigma, _] = term.parameters(bond.kind as usize).unwrap() else { panic!() };
    [*epsilon, *sigma]
}

/// The energy at a distance.
fn energy(well: [f64; 2], r: f64) -> f64 {
    LennardJones::evaluate(r * r, &LennardJones::coefficients(&well)).0
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * b.abs()
}

pub(crate) const WELLS: [&str; 3] = ["0.34 0.36", "0.33 0.40", "0.30 0.20"];

/// Pairs that are generated are those of the normal parameters, which `[ nonbond_params ]` may give
/// (LJ-14 of GROMACS 2022.5 at 0.3354 nm: 10.7979 kJ/mol).
#[test]
fn generated_pairs_follow_from_the_normal_parameters() {
    let normal = "[ nonbond_params ]\nX Z 1 0.40 1.00\n";
    let own = "[ pairtypes ]\nX Z 1 0.35 0.70\n";
    let r = (0.3f64.powi(2) + 0.15f64.powi(2)).sqrt();
    for rule in [2, 3] {
        let defaults = format!("1 {rule} yes 0.5 0.8333");
        let pair = |more: &str| pair_14(&read(&chain(&defaults, WELLS, more)).unwrap());
        assert_eq!(pair(normal), [0.5, 0.4]);
        assert!((energy(pair(normal), r) - 10.7979).abs() < 5e-5);
        assert_eq!(pair(&format!("{normal}{own}")), [0.7, 0.35]);
        assert_eq!(pair("[ nonbond_params ]\nZ X 1 0.40 1.00\n"), [0.5, 0.4]);
        let [epsilon, sigma] = pair("");
        let mean = if rule == 2 { 0.32 } else { (0.34f64 * 0.30).sqrt() };
        assert!(close(epsilon, 0.5 * 0.072f64.sqrt()) && close(sigma, mean), "{epsilon} {sigma}");
    }
    // Coefficients are scaled both, which is the same for the well.
    let wells = ["0.003 3e-6", "0.003 3e-6", "0.002 2e-6"];
    let (c6, c12) = (4.0 * 0.4f64.powi(6), 4.0 * 0.4f64.powi(12));
    let normal = format!("[ nonbond_params ]\nX Z 1 {c6} {c12}\n");
    let pair = |more: &str| pair_14(&read(&chain("1 1 yes 0.5 0.8333", wells, more)).unwrap());
    assert!(close(energy(pair(&normal), r), energy([0.5, 0.4], r)));
    let (c6, c12) = (0.5 * 6e-6f64.sqrt(), 0.5 * 6e-12f64.sqrt());
    assert!(close(energy(pair(""), r), c12 / r.powi(12) - c6 / r.powi(6)));
    // Without generation a pair needs parameters of its own.
    let error = read(&chain("1 2 no 0.5 0.8333", WELLS, "")).unwrap_err();
    assert!(error.message().contains("1-4 pair"), "{error}");
    let error = read(&chain("1 2 yes 0.5 0.8", WELLS, "[ nonbond_params ]\nX Z 2 1 2 3\n")).unwrap_err();
    assert!(error.message().contains("function 2") && error.place().is_some(), "{error}");
}

/// The last row of a pair of types counts, in whichever order either row has them (LJ(SR) and LJ-14 of GROMACS 2022.5).
#[test]
fn the_last_row_of_a_pair_of_types_counts() {
    let rows = ["X Z 1 0.40 1.00\n", "Z X 1 0.35 0.70\n"];
    let read_both = |section: &str, rows: [&str; 2]| {
        read(&chain("1 2 yes 0.5 0.8333", WELLS, &format!("[ {section} ]\n{}{}", rows[0], rows[1]))).unwrap()
    };
    for (rows, own) in [(rows, [0.70, 0.35]), ([rows[1], rows[0]], [1.00, 0.40])] {
        let normal = read_both("nonbond_params", rows);
        // Species: X, Y, Z.
        assert_eq!([normal.lennard_jones[2], normal.lennard_jones[6]], [own; 2], "{rows:?}");
        assert_eq!(pair_14(&normal), [0.5 * own[0], own[1]], "{rows:?}");
        assert_eq!(pair_14(&read_both("pairtypes", rows)), own, "{rows:?}");
    }
}

/// Repulsion alone: C6 = 0, or a negative sigma (`set_ljparams` and `generate_nbparams` of GROMACS).
#[test]
fn pairs_may_have_no_attraction() {
    let r = 0.25;
    let wells = ["0.003 3e-6", "0 1e-6", "0 2e-6"];
    let read_all = |defaults: &str, wells, more: &str| read(&chain(defaults, wells, more)).unwrap();
    let found = read_all("1 1 yes 0.5 0.8333", wells, "[ nonbond_params ]\nX Y 1 0 5e-6\n");
    // Species: X, Y, Z.
    let at = |found: &Molecules, a: usize, b: usize| energy(found.lennard_jones[3 * a + b], r);
    assert!(close(at(&found, 2, 2), 2e-6 / r.powi(12)));
    assert!(close(at(&found, 1, 2), 2e-12f64.sqrt() / r.powi(12)));
    assert!(close(at(&found, 0, 1), 5e-6 / r.powi(12)));
    assert!(close(at(&found, 0, 0), 3e-6 / r.powi(12) - 0.003 / r.powi(6)));
    assert!(close(energy(pair_14(&found), r), 0.5 * 6e-12f64.sqrt() / r.powi(12)));
    // Coefficients are numbers of single precision, too.
    let coefficients = LennardJones::coefficients(&found.lennard_jones[8]);
    assert!(coefficients.iter().all(|c| (*c as f32).is_normal()), "{coefficients:?}");
    let repulsion = |epsilon: f64, sigma: f64| 4.0 * epsilon * (sigma / r).powi(12);
    for (rule, mean) in [(2, 0.32), (3, (0.34f64 * 0.3).sqrt())] {
        let defaults = format!("1 {rule} yes 0.5 0.8333");
        let normal = "[ nonbond_params ]\nY Z 1 -0.2 0.5\n";
        let found = read_all(&defaults, ["-0.34 0.36", "0.33 0.4", "0.30 0.20"], normal);
        assert!(close(at(&found, 0, 0), repulsion(0.36, 0.34)));
        assert!(close(at(&found, 0, 2), repulsion(0.072f64.sqrt(), mean)));
        assert!(close(at(&found, 1, 2), repulsion(0.5, 0.2)));
        assert!(close(energy(pair_14(&found), r), 0.5 * repulsion(0.072f64.sqrt(), mean)));
    }
    // Attraction alone has no well.
    let error = read(&chain("1 1 yes 1 1", ["0.003 0", "0.003 3e-6", "0.003 3e-6"], "")).unwrap_err();
    assert!(error.message().contains("epsilon = inf"), "{error}");
}

/// The dihedral of the chain, by its types.
fn dihedral(types: &str, function: u32) -> Result<Molecules, Error> {
    let more = format!("[ dihedraltypes ]\n{types}");
    let text = chain("1 2 yes 1 1", WELLS, &more);
    read(&text.replace("[ system ]", &format!("[ dihedrals ]\n1 2 3 4 {function}\n[ system ]")))
}

fn parameters(molecules: &Molecules) -> Vec<Vec<f64>> {
    let of = |kind: u32| molecules.forces.dihedrals.iter().find_map(|term| term.parameters(kind as usize));
    molecules.topology.dihedrals.iter().map(|d| of(d.kind).unwrap().to_vec()).collect()
}

/// Two types are the inner ones of a dihedral and the outer ones of an improper.
#[test]
fn dihedrals_may_have_two_types() {
    let proper = "Y Y 1 0 5 3\nX Z 1 0 9 3\n";
    assert_eq!(parameters(&dihedral(proper, 1).unwrap()), [[5.0, 3.0, 0.0]]);
    let improper = "Y Y 2 35 9\nZ X 2 35 20\n";
    assert_eq!(parameters(&dihedral(improper, 2).unwrap()), [[20.0, 35.0]]);
    let four = "Y Y 1 0 5 3\nX Y Y Z 1 0 7 2\n";
    assert_eq!(parameters(&dihedral(four, 1).unwrap()), [[7.0, 2.0, 0.0]]);
}

/// Of types that match equally well the first is taken, with all its terms (`defaultInteractionsOfType` of GROMACS);
/// those with more types of their own come before it.
#[test]
fn the_first_of_equal_types_of_dihedrals_is_taken() {
    let inner = |function: u32| format!("X Y Y X {function} 30 5 3\n");
    let outer = |function: u32| format!("X X Y Z {function} 1 2 1\n");
    for function in [1, 4, 9] {
        let of = |types: String| parameters(&dihedral(&types, function).unwrap());
        assert_eq!(of(inner(function) + &outer(function)), [[5.0, 3.0, 30.0]], "{function}");
        assert_eq!(of(outer(function) + &inner(function)), [[2.0, 1.0, 1.0]], "{function}");
        let closer = format!("Z X Y X {function} 0 9 4\nZ Y Y X {function} 0 8 2\n");
        assert_eq!(of(inner(function) + &outer(function) + &closer), [[8.0, 2.0, 0.0]], "{function}");
    }
    let improper = |types: &str| parameters(&dihedral(types, 2).unwrap());
    assert_eq!(improper("X Y Y X 2 35 5\nX X Y Z 2 20 6\n"), [[5.0, 35.0]]);
    assert_eq!(improper("X X Y Z 2 20 6\nX Y Y X 2 35 5\n"), [[6.0, 20.0]]);
    let terms = [[5.0, 3.0, 30.0], [1.0, 2.0, 180.0]];
    let of = |types: String, function| parameters(&dihedral(&types, function).unwrap());
    assert_eq!(of(inner(9) + "X Y Y X 9 180 1 2\n" + &outer(9), 9), terms);
    // Functions 1 and 9 have their types in common.
    assert_eq!(of(inner(1) + &outer(9), 9), terms[..1]);
    assert_eq!(of(inner(9) + "X Y Y X 9 180 1 2\n" + &outer(1), 1), terms);
    // Rows of the same types, from either end, replace the earlier one where that stands.
    assert_eq!(of(inner(1) + &outer(1) + "X Y Y X 1 0 7 2\n", 1), [[7.0, 2.0, 0.0]]);
    assert_eq!(of(outer(1) + &inner(1) + "Z Y X X 1 0 7 2\n", 1), [[7.0, 2.0, 0.0]]);
}

#[test]
fn multiplicities_are_whole() {
    for function in [1, 4, 9] {
        let error = dihedral(&format!("X Y Y Z {function} 0 5 1.5\n"), function).unwrap_err();
        assert!(error.message().contains("multiplicity = 1.5"), "{error}");
        assert!(error.place().unwrap().line.is_some(), "{error}");
    }
}

/// Types of bonds come as they are; a type called X is itself.
#[test]
fn types_of_bonds_have_no_wildcards() {
    let more = "[ bondtypes ]\nY Y 1 0.11 1\nX Y 1 0.12 2\nY Z 1 0.13 3\nZ Y 1 0.14 4\n";
    let text = chain("1 2 yes 1 1", WELLS, more);
    let read = read(&text.replace(" 1 0.15 1000\n", " 1\n")).unwrap();
    let own = |kind: u32| read.forces.bonds[0].parameters(kind as usize).unwrap()[1];
    let bonds = read.topology.bonds.iter().filter(|bond| bond.atoms != [0, 3]);
    assert_eq!(bonds.map(|bond| own(bond.kind)).collect::<Vec<_>>(), [0.12, 0.11, 0.14]);
}

/// Terms of one dihedral stand in consecutive lines (`push_bt` of GROMACS).
#[test]
fn a_second_block_of_a_dihedral_is_refused() {
    let block = "X Y Y Z 9 0 1 1\nX Y Y Z 9 180 2 2\n";
    let both = [[1.0, 1.0, 0.0], [2.0, 2.0, 180.0]];
    let other = "Z Y Y Z 9 0 4 3\n";
    // A line that is there already adds nothing.
    for types in [block.to_string(), format!("{block}X Y Y Z 9 180 2 2\n"), format!("{other}{block}")] {
        assert_eq!(parameters(&dihedral(&types, 9).unwrap()), both, "{types}");
    }
    let between = dihedral("X Y Y Z 9 0 1 1\nX Y Y Z 2 35 9\nX Y Y Z 9 180 2 2\n", 9).unwrap();
    assert_eq!(parameters(&between), both);
    let single = "X Y Y Z 9 0 1 1\n";
    let same = dihedral(&format!("{single}{other}{single}"), 9).unwrap();
    assert_eq!(parameters(&same), [[1.0, 1.0, 0.0]]);
    for (types, line) in [
        (format!("{block}{other}X Y Y Z 9 0 3 3\n"), 11),
        (format!("{block}{other}{block}"), 11),
        (format!("{block}Z Y Y X 9 0 3 3\n"), 10),
    ] {
        let error = dihedral(&types, 9).unwrap_err();
        assert!(error.message().contains("second block of dihedraltypes"), "{types}: {error}");
        assert_eq!(error.place().unwrap().line, Some(line), "{types}");
        assert!(error.help().unwrap().contains("line 8 of"), "{:?}", error.help());
    }
}

/// Numbers of molecules beyond sense are refused with the number before anything is made of them.
#[test]
fn numbers_of_molecules_are_whole_and_have_room() {
    let text = chain("1 2 yes 1 1", WELLS, "");
    for (count, message) in [
        ("2147483648", "8589934592 atoms, more than 4294967295"),
        ("18446744073709551615", "more than 4294967295"),
        ("18446744073709551616", "no whole number"),
        ("-1", "no whole number"),
        ("1.5", "no whole number"),
    ] {
        let error = read(&text.replace("CHAIN 1\n", &format!("CHAIN {count}\n"))).unwrap_err();
        assert!(error.message().contains(message), "{count}: {error}");
        assert_eq!(error.place().unwrap().line, Some(24), "{count}: {error}");
    }
    let empty = text.replace("[ system ]", "[ moleculetype ]\nNONE 3\n[ system ]");
    let error = read(&empty.replace("CHAIN 1\n", "NONE 9999999999999999\n")).unwrap_err();
    assert!(error.message().contains("NONE has no atoms"), "{error}");
    // The largest number of bonds excludes everything in the molecule.
    let far = read(&text.replace("CHAIN 3", "CHAIN 18446744073709551615")).unwrap();
    assert_eq!(far.topology.excluded.len(), 6);
}

/// Molecules of a single residue are numbered through, behind residues of chains, as grompp has them.
#[test]
fn residues_of_single_molecules_are_numbered_through() {
    let text = chain("1 2 yes 1 1", WELLS, "");
    let numbers = |text: &str| -> Vec<i32> {
        read(text).unwrap().names.residues.iter().map(|residue| residue.number).collect()
    };
    assert_eq!(numbers(&text.replace("CHAIN 1\n", "CHAIN 3\n")), [1, 2, 3]);
    let pair = "[ moleculetype ]\nPAIR 3\n[ atoms ]\n1 X 7 MOL A1 1 0.0 12.011\n2 X 8 MOL A2 1 0.0 12.011\n[ system ]";
    let both = text.replace("[ system ]", pair).replace("CHAIN 1\n", "CHAIN 1\nPAIR 2\nCHAIN 2\n");
    assert_eq!(numbers(&both), [9, 7, 8, 7, 8, 10, 11]);
}

#[test]
fn atoms_and_types_that_contradict_each_other_are_refused() {
    let text = chain("1 2 yes 1 1", WELLS, "");
    for (old, new, message) in [
        ("1 X 1 MOL", "7 X 1 MOL", "atom 7 of the molecule CHAIN stands where its atom 1"),
        ("3 Y 1 MOL", "2 Y 1 MOL", "atom 2 of the molecule CHAIN stands where its atom 3"),
        (
            "[ system ]",
            "[ moleculetype ]\n[ atoms ]\n1 X 1 MOL A1 1 0.0 12\n[ system ]",
            "stands where its atom 5",
        ),
        (
            "[ moleculetype ]",
            "[ atomtypes ]\nX 6 13.0 0.0 A 1 1\n[ moleculetype ]",
            "X has been defined before",
        ),
    ] {
        let error = read(&text.replacen(old, new, 1)).unwrap_err();
        assert!(error.message().contains(message) && error.place().is_some(), "{error}");
    }
    let again = format!("[ atomtypes ]\nX 6 12.011 0.0 A {}\n[ moleculetype ]", WELLS[0]);
    read(&text.replacen("[ moleculetype ]", &again, 1)).unwrap();
}

/// Rows of types that are not there would count nowhere (grompp refuses them; names have a case).
#[test]
fn parameters_of_unknown_types_are_refused() {
    for (more, name) in [
        ("[ nonbond_params ]\nX z 1 0.4 1\n", "z"),
        ("[ pairtypes ]\nX ZZ 1 0.4 1\n", "ZZ"),
        ("[ angletypes ]\nX Y y 1 110 1\n", "y"),
        ("[ dihedraltypes ]\nX Y y X 9 0 5 3\n", "y"),
        ("[ dihedraltypes ]\nY y 1 0 5 3\n", "y"),
    ] {
        let error = read(&chain("1 2 yes 1 1", WELLS, more)).unwrap_err();
        assert!(error.message().contains(&format!("no type of atoms {name}")), "{more}: {error}");
        assert_eq!(error.place().unwrap().line, Some(8), "{more}: {error}");
    }
}

#[test]
fn files_that_include_each_other_come_to_an_end() {
    let folder = tempfile::tempdir().unwrap();
    for k in 0..25 {
        let next = format!("#include \"f{}.itp\"\n", k + 1);
        fs::write(folder.path().join(format!("f{k}.itp")), next.repeat(2)).unwrap();
    }
    fs::write(folder.path().join("f25.itp"), "; end\n").unwrap();
    let top = folder.path().join("a.top");
    fs::write(&top, "#include \"f0.itp\"\n").unwrap();
    let error = read_at(&top).unwrap_err();
    assert!(error.message().contains("10000 files are included") && error.place().is_some(), "{error}");
    // Including one file many times is no fault.
    fs::write(&top, "#include \"f25.itp\"\n".repeat(3000) + &chain("1 2 yes 1 1", WELLS, "")).unwrap();
    assert_eq!(read_at(&top).unwrap().atoms.len(), 4);
}

/// Function 5 is [C1 (1 + cos phi) + C2 (1 - cos 2 phi) + C3 (1 + cos 3 phi) + C4 (1 - cos 4 phi)] / 2 (GROMACS' manual,
/// "Proper dihedrals: Fourier function"), and by the manual's conversion the Ryckaert-Bellemans function of psi = phi - 180
/// degrees with C2 + (C1 + C3) / 2, (3 C3 - C1) / 2, 4 C4 - C2, -2 C3, -4 C4 and 0. The manual's table has a C5, too,
/// which is zero.
#[test]
fn fourier_dihedrals_have_four_or_five_numbers() {
    let types = ["0.34 0.36", "0.33 0.40", "0.30 0.20"];
    let text = chain("1 2 yes 0.5 0.5", types, "");
    let with = |row: &str| read(&text.replace("[ pairs ]", &format!("[ dihedrals ]\n{row}\n[ pairs ]")));
    let energy = |molecules: &Molecules, phi: f64| -> f64 {
        let of = |dihedral: &jostle_core::Dihedral| {
            let terms = molecules.forces.dihedrals.iter();
            let found = terms.filter_map(|term| Some((term.kind, term.parameters(dihedral.kind as usize)?)));
            found.map(|(kind, p)| kind.visit(Energy(phi, &kind.coefficients(p)))).sum::<f64>()
        };
        molecules.topology.dihedrals.iter().map(of).sum()
    };
    let four = with("1 2 3 4 5 1.5 -2 3.25 0.75").unwrap();
    let five = with("1 2 3 4 5 1.5 -2 3.25 0.75 0").unwrap();
    let series = with("1 2 3 4 3 0.375 4.125 5 -6.5 -3 0").unwrap();
    for phi in [-3.0, -1.3, -0.2, 0.4, 1.0, 1.7, 2.9] {
        for found in [energy(&four, phi), energy(&five, phi)] {
            let expected = energy(&series, phi);
            assert!((found - expected).abs() < 1e-12, "{phi}: {found}, not {expected}");
        }
    }
    // Both states of eight numbers, as grompp takes them.
    assert!(with("1 2 3 4 5 1.5 -2 3.25 0.75 1.5 -2 3.25 0.75").is_ok());
    for (row, message) in [
        ("1 2 3 4 5 1.5 -2 3.25 0.75 0.5", "a Fourier dihedral (function 5) has C5 = 0.5"),
        ("1 2 3 4 5 1.5 -2 3.25", "this dihedral has 3 parameters, 4 are wanted"),
        ("1 2 3 4 5 1.5 -2 3.25 0.75 0 0", "this dihedral has other parameters in state B"),
    ] {
        let error = with(row).unwrap_err();
        assert!(error.message().contains(message) && error.place().unwrap().line.is_some(), "{error}");
    }
    let types = dihedral("X Y Y Z 5 1.5 -2 3.25 0.75 0\n", 5).unwrap();
    assert_eq!(parameters(&types).len(), 4);
}

/// Energy of a dihedral at an angle, with these coefficients.
struct Energy<'a>(f64, &'a [f64]);

impl DihedralVisitor for Energy<'_> {
    type Output = f64;

    fn visit<F: DihedralFunction>(self) -> f64 {
        let (sine, cosine) = self.0.sin_cos();
        F::evaluate(cosine, sine, self.1).0
    }
}

/// State B is read where it is that of state A; atoms and terms that change on the way to it are refused, since no path
/// leads there. Charges without a column are those of the type.
#[test]
fn states_b_that_differ_are_refused() {
    let types = ["0.34 0.36", "0.33 0.40", "0.30 0.20"];
    let text = chain("1 2 yes 0.5 0.5", types, "[ dihedraltypes ]\nX Y Y Z 9 0 1 3 180 1 2\n");
    let bound = text.replace("[ pairs ]", "[ angles ]\n1 2 3 1 109 400\n[ pairs ]");
    let atom = "2 Y 1 MOL A2 2 0.0 12.011";
    for (from, to, expected) in [
        (atom, format!("{atom} Y 0.0 12.011"), None),
        (atom, format!("{atom} Y"), None),
        (atom, format!("{atom} X 0.0 12.011"), Some("another type")),
        (atom, format!("{atom} Y 0.1"), Some("another charge")),
        (atom, format!("{atom} Y 0.0 14.0"), Some("another mass")),
        (atom, "2 Y 1 MOL A2 2 0.3 12.011 Y".into(), Some("another charge")),
        (atom, format!("{atom} W 0.0 12.011"), Some("W")),
        ("1 2 1 0.15 1000", "1 2 1 0.15 1000 0.15 1000".into(), None),
        ("1 2 1 0.15 1000", "1 2 1 0.15 1000 0.15 900".into(), Some("this bond has other parameters")),
        ("109 400", "109 400 109 400".into(), None),
        ("109 400", "109 400 109 0".into(), Some("this angle has other parameters")),
        ("1 4 1\n", "1 4 1 0.3 0.2 0.3 0.2\n".into(), None),
        ("1 4 1\n", "1 4 1 0.3 0.2 0.3 0\n".into(), Some("this 1-4 pair has other parameters")),
        ("[ pairs ]", "[ dihedrals ]\n1 2 3 4 9 0 1 3 0 0 3\n[ pairs ]".into(), Some("this dihedral has")),
        ("[ pairs ]", "[ dihedrals ]\n1 2 3 4 9\n[ pairs ]".into(), Some("this dihedral has")),
        (
            "[ moleculetype ]",
            "[ pairtypes ]\nX Z 1 0.35 0.70 0.35 0\n[ moleculetype ]".into(),
            Some("this pair of types has"),
        ),
        ("[ pairs ]", "[ constraints ]\n1 3 2 0.2 0.3\n[ pairs ]".into(), Some("this constraint has")),
    ] {
        assert!(bound.contains(from), "{from}");
        let found = read(&bound.replacen(from, &to, 1));
        match expected {
            None => assert!(found.is_ok(), "{to}: {}", found.unwrap_err()),
            Some(expected) => {
                let error = found.err().unwrap_or_else(|| panic!("{to} is read"));
                assert!(error.to_string().contains(expected), "{error}, not {expected}");
                assert!(error.place().is_some(), "{error} has no place");
            }
        }
    }
}

/// Comments of another encoding, of a topology and of what it includes, are no reason to refuse it; names are.
#[test]
fn comments_may_be_of_any_encoding() {
    let latin = |text: &str| text.chars().map(|c| c as u8).collect::<Vec<u8>>();
    let folder = tempfile::tempdir().unwrap();
    let [top, itp] = ["a.top", "b.itp"].map(|name| folder.path().join(name));
    let text = chain("1 2 yes 1 1", ["0.34 0.36", "0.33 0.40", "0.30 0.20"], "");
    let write = |text: &str, included: &str| {
        fs::write(&top, latin(&format!("#include \"b.itp\"\n{text}"))).unwrap();
        fs::write(&itp, latin(included)).unwrap();
        read_at(&top)
    };
    let remark = "; M\u{fc}ller and \u{c5}qvist\n";
    let bound = text.replace("1 2 1 0.15 1000", "1 2 1 0.15 1000 ; in \u{c5}: 1.5");
    assert!(bound != text);
    assert_eq!(write(&format!("{remark}{bound}"), remark).unwrap().topology.bonds.len(), 4);
    let error = write(&text.replace("four atoms", "\u{c5}"), "").unwrap_err();
    assert!(error.message().contains("not text"), "{error}");
    let error = write(&text, "#define X \u{c5}\n").unwrap_err();
    assert_eq!(
        (error.place().unwrap().file.as_path(), error.place().unwrap().line),
        (itp.as_path(), Some(1))
    );
}
