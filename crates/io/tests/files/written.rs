//! Topologies written for GROMACS: read back they are the molecules that they were, whichever program's files those
//! came from.

use crate::forcefields::files;
use crate::gromacs::read_at;
use jostle_core::{Components, Error, Names, SimBox, SiteRule, UnitSystem, Vector};
use jostle_io::forcefield::Molecules;
use jostle_io::forcefield::coordinates::Coordinates;
use jostle_io::forcefield::solvent::WaterModel;
use jostle_io::gro;
use jostle_io::input::NamedChoice;
use jostle_potentials::Mixing;
use jostle_potentials::bonded::{BondedKind, BondedTerm};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Relative error of numbers with ten digits, and of those that were combined from two.
const TOLERANCE: f64 = 3e-9;

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= TOLERANCE * a.abs().max(b.abs()).max(1e-6)
}

/// Parameters of all terms, by kind, name and atoms.
type Terms<const N: usize> = BTreeMap<(String, &'static str, [u32; N]), Vec<Vec<f64>>>;

fn terms<K: BondedKind, const N: usize>(
    terms: &[BondedTerm<K>],
    members: impl Iterator<Item = (u32, [u32; N])>,
) -> Terms<N> {
    let mut found = Terms::new();
    for (kind, atoms) in members {
        let known = terms.iter().find_map(|term| Some((term, term.parameters(kind as usize)?)));
        let (term, parameters) = known.unwrap();
        let reversed: [u32; N] = std::array::from_fn(|k| atoms[N - 1 - k]);
        // Files of OpenMM do not say which springs are those across angles.
        let name = if term.term() == "urey-bradley" { "bond-harmonic" } else { term.term() };
        let key = (term.kind.name().to_string(), name, atoms.min(reversed));
        found.entry(key).or_default().push(parameters.to_vec());
    }
    for ((kind, ..), list) in &mut found {
        if kind == "scaled-pair" {
            // Without a depth sigma means nothing.
            list.iter_mut().filter(|p| p[0] == 0.0).for_each(|p| p[1] = 0.0);
        }
        // A Lennard-Jones force and charges of one pair, which files may have in two places.
        if kind == "scaled-pair"
            && let [a, b] = &list[..]
            && a[0] * b[0] == 0.0
        {
            let well = if a[0] > 0.0 { a } else { b };
            *list = vec![vec![well[0], well[1], a[2] + b[2]]];
        }
    }
    found.values_mut().for_each(|list| list.sort_by(|a, b| a.partial_cmp(b).unwrap()));
    found
}

fn same_terms<const N: usize>(a: &Terms<N>, b: &Terms<N>) {
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for ((key, a), b) in a.iter().zip(b.values()) {
        assert_eq!(a.len(), b.len(), "{key:?}");
        let pairs = a.iter().flatten().zip(b.iter().flatten());
        assert!(pairs.into_iter().all(|(x, y)| near(*x, *y)), "{key:?}: {a:?} {b:?}");
    }
}

/// The molecules of a text, which must be those that it was written from.
fn read_back(molecules: &Molecules) -> Molecules {
    let text = molecules.to_gromacs("all of it").unwrap_or_else(|e| panic!("{e}"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("written.top");
    fs::write(&path, &text).unwrap();
    let read = read_at(&path).unwrap_or_else(|e| panic!("{e} {:?}\n{text}", e.place()));
    same(molecules, &read);
    // A second time nothing changes but numbers that were rounded before.
    let again = read.to_gromacs("all of it").unwrap();
    assert_eq!(again.lines().count(), text.lines().count());
    read
}

fn same(a: &Molecules, b: &Molecules) {
    let n = a.atoms.len();
    assert_eq!(b.atoms.len(), n);
    let species = |m: &Molecules, atom: usize| usize::from(m.atoms[atom]);
    for atom in 0..n {
        let mass = |m: &Molecules| m.species[species(m, atom)].mass;
        assert!(near(mass(a), mass(b)) && near(a.charges[atom], b.charges[atom]), "atom {atom}");
    }
    let mut firsts = BTreeMap::new();
    for atom in 0..n {
        firsts.entry((a.atoms[atom], b.atoms[atom])).or_insert(atom);
    }
    for i in firsts.values() {
        for j in firsts.values() {
            let well = |m: &Molecules| m.lennard_jones[species(m, *i) * m.species.len() + species(m, *j)];
            let ([e, s], [f, t]) = (well(a), well(b));
            // Of a repulsion alone only the coefficient means something. Files of AMBER have eight digits.
            let coefficients =
                |e: f64, s: f64| [e * s.powi(12), if s > 100.0 || s == 0.3 { 0.0 } else { e * s.powi(6) }];
            let pairs = coefficients(e, s).into_iter().zip(coefficients(f, t));
            let off = pairs.map(|(x, y)| (x - y).abs() / x.abs().max(1e-20)).fold(0.0, f64::max);
            assert!(off < 2e-6, "{i} {j}: {e} {s}, {f} {t}");
        }
    }
    let (s, t) = (&a.topology, &b.topology);
    let of = |m: &Molecules| terms(&m.forces.bonds, m.topology.bonds.iter().map(|x| (x.kind, x.atoms)));
    same_terms(&of(a), &of(b));
    let of = |m: &Molecules| terms(&m.forces.angles, m.topology.angles.iter().map(|x| (x.kind, x.atoms)));
    same_terms(&of(a), &of(b));
    let of =
        |m: &Molecules| terms(&m.forces.dihedrals, m.topology.dihedrals.iter().map(|x| (x.kind, x.atoms)));
    same_terms(&of(a), &of(b));
    assert_eq!(s.cross_terms.len(), t.cross_terms.len());
    for (x, y) in s.cross_terms.iter().zip(&t.cross_terms) {
        assert_eq!(x.atoms, y.atoms);
        let map = |m: &Molecules, kind: u32| m.forces.cmaps[kind as usize].energies().collect::<Vec<_>>();
        assert!(map(a, x.kind).iter().zip(&map(b, y.kind)).all(|(x, y)| near(*x, *y)));
    }
    let pairs = |m: &Molecules| -> BTreeSet<[u32; 2]> {
        m.topology.excluded.iter().map(|[a, b]| [*a.min(b), *a.max(b)]).collect()
    };
    assert_eq!(pairs(a), pairs(b));
    assert_eq!(s.constraints.len(), t.constraints.len());
    for (x, y) in s.constraints.iter().zip(&t.constraints) {
        assert!(x.atoms == y.atoms && near(x.length, y.length), "{x:?} {y:?}");
    }
    assert_eq!(s.virtual_sites.len(), t.virtual_sites.len());
    for (x, y) in s.virtual_sites.iter().zip(&t.virtual_sites) {
        let arms = [Vector([0.11, 0.02, -0.03]), Vector([-0.04, 0.12, 0.05])];
        let place = |rule: SiteRule| rule.place(arms);
        assert!(
            x.site == y.site && place(x.rule).iter().zip(place(y.rule)).all(|(p, q)| near(*p, q)),
            "{x:?} {y:?}"
        );
    }
}

/// A topology with all that files of GROMACS can have: springs that are no bonds, pairs with charges of their own, a
/// repulsion alone, unlike pairs of their own, constraints, exclusions, all virtual sites, all dihedrals, maps by
/// residue; two molecules that are alike, and water.
const EVERYTHING: &str = "\
[ defaults ]
1 2 no 1.0 0.5
[ atomtypes ]
A 6 12.011 0.0 A 0.34 0.36
B 7 14.007 0.0 A 0.31 0.7
R 6 12.011 0.0 A -0.25 0.5
H 1 1.008 0.0 A 0.0 0.0
V 0 0.0 0.0 D 0.0 0.0
[ nonbond_params ]
A B 1 0.35 0.1
[ cmaptypes ]
A B A B A 1 3 3 1.5 2 3 4 5 6 7 8 9.25
[ moleculetype ]
EVERY 2
[ atoms ]
1 A 7 ONE A1 1 0.31 12.011
2 B 7 ONE B2 2 -0.42 14.007
3 A 8 TWO A3 3 0.11 12.011
4 B 8 TWO B4 4 0.0 14.007
5 A 8 TWO A5 5 0.5 12.011
6 R 9 TWO R6 6 -0.5 12.011
7 V 9 TWO V7 7 0.1 0.0
8 V 9 TWO V8 8 0.1 0.0
9 V 9 TWO V9 9 -0.1 0.0
10 V 9 TWO V10 10 -0.1 0.0
11 V 9 TWO V11 11 0.0 0.0
12 V 9 TWO V12 12 0.0 0.0
[ bonds ]
1 2 1 0.15 1000
2 3 1 0.14 2000
3 4 1 0.14 2000
4 5 1 0.15 3000.5
1 5 6 0.4 50
[ constraints ]
5 6 1 0.11
[ pairs ]
1 4 1 0.3 0.2
2 5 1 0.3 0.0
2 6 1 0.3 0.1
1 5 2 0.8 0.7 -0.6 0.31 0.25
3 6 2 1.0 0.2 0.1 -0.3 0.4
[ angles ]
1 2 3 1 109.5 400
2 3 4 5 110 300 0.25 5000
4 3 2 5 111 310 0.26 5100
[ dihedrals ]
1 2 3 4 9 180 3.5 2
1 2 3 4 9 0 1.25 3
2 3 4 5 3 1 2 3 -4 5 -6
3 4 5 6 2 35.3 800
[ cmap ]
1 2 3 4 5 1
[ virtual_sites2 ]
7 1 2 1 0.3
8 1 2 2 0.05
[ virtual_sites3 ]
9 1 2 3 1 0.2 0.3
10 1 2 3 2 0.4 0.06
11 1 2 3 3 120 0.07
12 1 2 3 4 0.3 0.4 5.5
[ exclusions ]
1 6 7 8
9 10
[ moleculetype ]
SOL 2
[ atoms ]
1 B 1 SOL OW 1 0.0 14.007
2 H 1 SOL HW1 2 0.5 1.008
3 H 1 SOL HW2 3 0.5 1.008
4 V 1 SOL MW 4 -1.0 0.0
[ settles ]
1 1 0.09572 0.15139
[ virtual_sites3 ]
4 1 2 3 1 0.13 0.13
[ exclusions ]
1 2 3 4
2 3 4
3 4
[ system ]
everything
[ molecules ]
EVERY 2
SOL 3
EVERY 1
";

#[test]
fn everything_is_written_and_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.top");
    fs::write(&path, EVERYTHING).unwrap();
    let molecules = read_at(&path).unwrap();
    let text = molecules.to_gromacs("everything").unwrap();
    // Definitions are written once, and numbers of molecules in the order of atoms.
    assert_eq!(text.matches("[ moleculetype ]").count(), 2);
    let last = text.split_once("[ molecules ]\n").unwrap().1;
    let counts: Vec<(&str, &str)> = last.lines().filter_map(|line| line.split_once(' ')).collect();
    let counts: Vec<&str> = counts.iter().map(|(_, count)| count.trim()).collect();
    assert_eq!(counts, ["2", "3", "1"]);
    assert!(text.contains("[ settles ]") && text.contains("1  2  no  1.0  0.5"), "{text}");
    let read = read_back(&molecules);
    assert_eq!(read.names.describe(14), "atom 15 (A3 of TWO 8)");
}

/// Files of AMBER, CHARMM and OpenMM: bonded terms, 1-4 pairs with their factors, maps of residues, springs across
/// angles.
#[test]
fn topologies_of_other_programs_are_written() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/reference"));
    let cases = [
        ("07a_aladip_vac_amber14/system.xml", &[][..], "0.8333333333"),
        ("07b_ala3_vac_charmm36/system.xml", &[], "1.0"),
        ("07c_aladip_prmtop_vac/alanine-dipeptide-implicit.prmtop", &[], "0.8333333333"),
        ("07d_aladip_water_prmtop/alanine-dipeptide-explicit.prmtop", &[], "0.8333333333"),
        ("07g_ala3_vac_psf_charmm22/ala_ala_ala.psf", &["charmm22.rtf", "charmm22.par"], "1.0"),
        ("07h_dhfr_vac_amber14/system.xml", &[], "0.8333333333"),
    ];
    for (topology, parameters, scale) in cases {
        let topology = folder.join(topology);
        if !topology.exists() {
            println!("skipped: there is no {}", topology.display());
            continue;
        }
        let parameters: Vec<PathBuf> = parameters.iter().map(|name| topology.with_file_name(name)).collect();
        let files = files(&topology, &parameters);
        let molecules = Molecules::read(&files, UnitSystem::Nano).unwrap();
        let text = molecules.to_gromacs("a title").unwrap();
        assert!(text.contains(&format!("1  2  no  1.0  {scale}\n")), "{}", &text[..300]);
        let other = text.lines().find(|line| line.contains(" 2  1.0  "));
        assert_eq!(other, None, "all 1-4 pairs have the usual factor: {}", files.topology.display());
        read_back(&molecules);
    }
}

/// Units of the input do not matter.
#[test]
fn numbers_are_in_the_units_of_gromacs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("all.top");
    fs::write(&path, EVERYTHING).unwrap();
    let written = |units| Molecules::read(&files(&path, &[]), units).unwrap().to_gromacs("x").unwrap();
    let (nano, real) = (written(UnitSystem::Nano), written(UnitSystem::Real));
    for (a, b) in nano.split_whitespace().zip(real.split_whitespace()) {
        match (a.parse::<f64>(), b.parse::<f64>()) {
            (Ok(a), Ok(b)) => assert!(near(a, b), "{a} {b}"),
            _ => assert_eq!(a, b),
        }
    }
}

#[test]
fn joined_molecules_follow_the_rule_and_say_so() {
    let model = <&WaterModel>::from_name("spce").unwrap();
    let (water, other) = (model.molecules().unwrap(), model.ion("Cl-").unwrap().molecules().unwrap());
    for rule in Mixing::ALL {
        let joined = Molecules::join(&[(water.clone(), 2), (other.clone(), 1)], rule).unwrap();
        let text = joined.to_gromacs("salt water").unwrap();
        assert_eq!(text.contains("[ nonbond_params ]"), rule != Mixing::LorentzBerthelot);
        read_back(&joined);
        assert_eq!(joined.usual_mixing(), rule);
    }
}

fn refusal(text: &str) -> Error {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.top");
    fs::write(&path, text).unwrap();
    read_at(&path).and_then(|molecules| molecules.to_gromacs("x").map(drop)).unwrap_err()
}

#[test]
fn what_gromacs_has_not_is_refused() {
    let fractional = EVERYTHING.replace("1 2 3 4 9 180 3.5 2\n", "1 2 3 4 9 180 3.5 2.5\n");
    assert!(refusal(&fractional).message().contains("multiplicity"));
    let error = refusal(&EVERYTHING.replace("0.8 0.7 -0.6 0.31 0.25", "0.8 0.7"));
    assert!(error.message().contains("function 2") && error.place().is_some(), "{error}");
}

#[test]
fn coordinates_are_read_back_to_a_billionth_of_a_nanometre() {
    let water = <&WaterModel>::from_name("tip3p").unwrap().molecules().unwrap();
    let positions =
        vec![Vector([0.1234567891, -1.0, 2.5]), Vector([0.3, 0.4, 12.000000001]), Vector([0.9, 0.8, 0.7])];
    let simbox = SimBox::new([0.0; 3], [3.0, 2.9, 2.8], [0.5, -0.25, 1.25], [true; 3]).unwrap();
    let text = gro::structure("water", &water.names, &positions, &simbox).unwrap();
    // GROMACS' format: with n decimals columns of n + 5, the first point in the twenty-fifth column of the line.
    let atom = text.lines().nth(2).unwrap();
    let points: Vec<usize> = atom.match_indices('.').map(|(at, _)| at).collect();
    let decimals = atom.len() - 1 - points[2];
    assert_eq!(points, [24, 24 + decimals + 5, 24 + 2 * (decimals + 5)], "{atom}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gro");
    fs::write(&path, text).unwrap();
    let read = Coordinates::read(&path, UnitSystem::Nano).unwrap();
    assert_eq!(
        (&read.names.unwrap().describe(1)[..], read.simbox.unwrap()),
        ("atom 2 (HW1 of SOL 1)", simbox)
    );
    for (a, b) in read.positions.as_flattened().iter().zip(positions.as_flattened()) {
        assert!((a - b).abs() < 0.51e-9, "{a} {b}");
    }
    let mut long = water.names.clone();
    long.atoms[1].name = "HYDROGEN".into();
    assert!(gro::structure("x", &long, &positions, &simbox).unwrap_err().message().contains("HYDROGEN"));
    let far = [Vector([1e5, 0.0, 0.0]); 3];
    assert!(gro::structure("x", &Names::default(), &far, &simbox).is_err());
}

/// Columns of 13 with six decimals, which Jostle wrote before.
#[test]
fn columns_wider_than_their_decimals_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gro");
    let atom = |x: f64, y: f64, z: f64| format!("    1SOL     OW    1{x:13.6}{y:13.6}{z:13.6}\n");
    fs::write(&path, format!("x\n    1\n{}   3.0  3.0  3.0\n", atom(0.123456, -1.5, 12.000001))).unwrap();
    let read = Coordinates::read(&path, UnitSystem::Nano).unwrap();
    assert_eq!(read.positions, [Vector([0.123456, -1.5, 12.000001])]);
}
