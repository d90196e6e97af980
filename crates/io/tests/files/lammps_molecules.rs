//! Molecules of LAMMPS: data files with coefficients, and lines of scripts.

use super::amber;
use jostle_core::{Error, UnitSystem, Vector};
use jostle_io::Input;
use jostle_io::forcefield::{CutoffOf, Molecules};
use jostle_io::input::model::{MoleculesInput, Rigid};
use std::fs;

pub(crate) const DATA: &str = "four atoms in a row

4 atoms
3 bonds
2 angles
1 dihedrals
1 impropers
2 atom types
1 bond types
1 angle types
1 dihedral types
1 improper types
0 20 xlo xhi
0 20 ylo yhi
0 20 zlo zhi

Masses

1 12.011 # CT
2 1.008 # HC

Pair Coeffs # lj/charmm/coul/long

1 0.1 3.4 0.05 3.2
2 0.04 2.5 0.04 2.5

Bond Coeffs # harmonic

1 300 1.5

Angle Coeffs # charmm

1 50 110 20 2.5

Dihedral Coeffs # charmm

1 0.8 3 0 0.5

Improper Coeffs # harmonic

1 40 0

Atoms # full

1 1 1 0.25 1 2 3 1 0 0
2 1 1 -0.5 2.5 2 3 1 0 0
3 1 2 0.125 3 3.4 3 1 0 0
4 1 2 0.125 4.5 3.4 3.2 1 0 0

Velocities

1 0.1 0 0
2 0 0.1 0
3 0 0 0.1
4 0 0 -0.1

Bonds

1 1 1 2
2 1 2 3
3 1 3 4

Angles

1 1 1 2 3
2 1 2 3 4

Dihedrals

1 1 1 2 3 4

Impropers

1 1 2 1 3 4
";

pub(crate) const SCRIPT: &str = "units real\nspecial_bonds charmm\n";

pub(crate) fn read(data: &str, scripts: &[&str]) -> Result<Molecules, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: String| folder.path().join(name);
    fs::write(path("a.data".into()), data).unwrap();
    let given = scripts.iter().enumerate().map(|(k, text)| {
        fs::write(path(format!("in.{k}")), text).unwrap();
        path(format!("in.{k}"))
    });
    let files = MoleculesInput {
        topology: path("a.data".into()),
        parameters: given.collect(),
        define: Vec::new(),
        include: Vec::new(),
        coordinates: path("a.data".into()),
        rigid: Rigid::None,
        hydrogen_mass: None,
    };
    Molecules::read(&files, UnitSystem::Real)
}

/// Parameters of the 1-4 pair of the four atoms.
fn pair_of_ends(molecules: &Molecules) -> Option<Vec<f64>> {
    let bond = molecules.topology.bonds.iter().find(|b| b.atoms == [0, 3])?;
    molecules.forces.bonds.iter().find_map(|term| term.parameters(bond.kind as usize)).map(<[f64]>::to_vec)
}

#[test]
fn a_data_file_is_a_force_field() {
    let read = read(DATA, &[SCRIPT]).unwrap();
    assert_eq!(read.species.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["CT", "HC"]);
    assert_eq!(read.charges, [0.25, -0.5, 0.125, 0.125]);
    // Arithmetic means, the rule of this pair style.
    let expected = [[0.1, 3.4], [0.004_f64.sqrt(), 2.95], [0.004_f64.sqrt(), 2.95], [0.04, 2.5]];
    for (well, expected) in read.lennard_jones.iter().zip(expected) {
        assert!((well[0] - expected[0]).abs() < 1e-15 && (well[1] - expected[1]).abs() < 1e-15, "{well:?}");
    }
    let of =
        |kind: u32| read.forces.dihedrals.iter().find_map(|term| term.parameters(kind as usize)).unwrap();
    let dihedrals: Vec<_> = read.topology.dihedrals.iter().map(|d| (of(d.kind), d.atoms)).collect();
    assert_eq!(dihedrals, [(&[0.8, 3.0, 0.0][..], [0, 1, 2, 3]), (&[80.0, 0.0][..], [1, 0, 2, 3])]);
    assert_eq!(read.topology.excluded.len(), 6, "all pairs are within three bonds");
    // Half of the force of the ends, with the parameters of 1-4 pairs.
    let [epsilon, sigma, strength] = pair_of_ends(&read).unwrap()[..] else { panic!("a 1-4 pair") };
    assert!((epsilon - 0.5 * 0.002_f64.sqrt()).abs() < 1e-15 && (sigma - 2.85).abs() < 1e-15);
    let coulomb = UnitSystem::Real.coulomb();
    assert!((strength / coulomb - 0.5 * 0.25 * 0.125).abs() < 1e-15);
    let coordinates = read.coordinates.unwrap();
    assert_eq!(coordinates.positions[0], [21.0, 2.0, 3.0], "with its image");
    assert_eq!(coordinates.velocities.unwrap()[2], [0.0, 0.0, 0.1]);
}

#[test]
fn lines_of_scripts_come_after_the_data_file() {
    let script = "special_bonds lj 0 0.5 1 coul 0 1 1\npair_style lj/cut/coul/long 10\npair_modify mix geometric\n\
                  pair_coeff HC HC 0.09 2\ndihedral_style opls\ndihedral_coeff * 1 0 0 0\n\
                  improper_style cvff\nimproper_coeff 1 2 -1 2\n";
    let data = DATA.replace(" 0.05 3.2", "").replace("2 0.04 2.5 0.04 2.5", "2 0.04 2.5");
    let read = read(&data, &[SCRIPT, script]).unwrap();
    assert!((read.lennard_jones[1][0] - 0.009_f64.sqrt()).abs() < 1e-15);
    assert!((read.lennard_jones[1][1] - 6.8_f64.sqrt()).abs() < 1e-15);
    assert_eq!(read.lennard_jones[3], [0.09, 2.0]);
    // Atoms next but one have half of one force and all of the other; those three bonds apart are as any pair.
    let mut excluded = read.topology.excluded.clone();
    excluded.sort_unstable();
    assert_eq!(excluded, [[0, 1], [0, 2], [1, 2], [1, 3], [2, 3]]);
    assert_eq!(pair_of_ends(&read), None);
    let kinds: Vec<&str> = read.forces.dihedrals.iter().map(|term| term.term()).collect();
    assert_eq!(kinds, ["dihedral-ryckaert-bellemans", "dihedral-periodic"]);
    let improper = read.forces.dihedrals[1].parameters(1).unwrap();
    assert_eq!(improper, [2.0, 2.0, 180.0]);
}

/// Ranges of types stand for pairs whose first type is not the larger one; two types given one by one may be in either
/// order (LAMMPS' documentation of pair_coeff).
#[test]
fn ranges_stand_for_ordered_pairs() {
    let wells = |line: &str| read(DATA, &[SCRIPT, line]).map(|read| read.lennard_jones);
    let before = wells("").unwrap();
    let own = [0.3, 3.0];
    assert_eq!(wells("pair_coeff 2 1 0.3 3.0").unwrap(), [before[0], own, own, before[3]]);
    assert_eq!(wells("pair_coeff 1* 1*2 0.3 3.0").unwrap(), [own; 4]);
    let first = wells("pair_coeff * 1 0.3 3.0").unwrap();
    assert_eq!((first[0], first[3]), (own, before[3]));
    assert!((first[1][1] - 2.75).abs() < 1e-14, "mixed of 3.0 and 2.5: {first:?}");
    let last = wells("pair_coeff 2 * 0.3 3.0").unwrap();
    assert_eq!((last[0], last[3]), (before[0], own));
    assert!((last[1][1] - 3.2).abs() < 1e-14, "mixed of 3.4 and 3.0: {last:?}");
}

/// Hybrids of one style, as moltemplate writes them, of several, and of forces over each other.
#[test]
fn pairs_have_styles_of_their_own() {
    let coefficients = |text: &str| {
        let rows = "1 0.1 3.4 0.05 3.2\n2 0.04 2.5 0.04 2.5\n";
        let data =
            DATA.replace("Pair Coeffs # lj/charmm/coul/long", "Pair Coeffs # hybrid").replace(rows, "");
        read(&data.replace("Pair Coeffs # hybrid\n\n\n", ""), &[SCRIPT, text]).map(|read| read.lennard_jones)
    };
    let one = "pair_style hybrid lj/cut/coul/long 9 9\npair_coeff 1 1 lj/cut/coul/long 0.1 3.4\n\
               pair_coeff 2 2 lj/cut/coul/long 0.04 2.5\n";
    let mixed = [0.004_f64.sqrt(), 8.5_f64.sqrt()];
    let near = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).abs() < 1e-15 && (a[1] - b[1]).abs() < 1e-15;
    let wells = coefficients(one).unwrap();
    assert!(wells[0] == [0.1, 3.4] && wells[3] == [0.04, 2.5] && near(wells[1], mixed), "{wells:?}");
    // The rows of the data file name theirs.
    let data = DATA.replace("# lj/charmm/coul/long\n\n1 ", "# hybrid\n\n1 lj/charmm/coul/long ");
    let data = data.replace("\n2 0.04 2.5", "\n2 lj/charmm/coul/long 0.04 2.5");
    let own = read(&data, &[SCRIPT, "pair_style hybrid lj/charmm/coul/long 8 9"]).unwrap();
    assert_eq!(own.lennard_jones, read(DATA, &[SCRIPT]).unwrap().lennard_jones);
    // Pairs of charges alone, and pairs that an overlay names and LAMMPS therefore does not mix.
    let two = one
        .replace("long 9 9\n", "long 9 9 coul/long 9\n")
        .replace("2 2 lj/cut/coul/long 0.04 2.5", "2 2 coul/long");
    let wells = coefficients(&format!("{two}pair_coeff 1 2 coul/long\n")).unwrap();
    assert_eq!(wells, [[0.1, 3.4], [0.0; 2], [0.0; 2], [0.0; 2]]);
    let over = "pair_style hybrid/overlay lj/cut 9 coul/long 9\npair_coeff * * coul/long\npair_coeff 1 1 lj/cut 0.1 3.4\n\
                pair_coeff 2 2 lj/cut 0.04 2.5\n";
    let wells = coefficients(over).unwrap();
    assert_eq!(wells, [[0.1, 3.4], [0.0; 2], [0.0; 2], [0.04, 2.5]]);
    for (text, cause) in [
        (two.clone(), "which do not mix"),
        (one.replace("2 2 lj/cut/coul/long", "2 2"), "name no pair style"),
        (one.replace("2 2 lj/cut/coul/long", "2 2 lj/cut"), "name the pair style lj/cut"),
        (over.replace("* * coul", "1 1 coul"), "but not between"),
        (
            over.replace("lj/cut 9 coul", "lj/cut 9 lj/cut/coul/cut 9 coul")
                + "pair_coeff 1 1 lj/cut/coul/cut 1 1\n",
            "two Lennard-Jones",
        ),
        (over.replace("coul/long\npair", "coul/long 8\npair"), "cut-off of its own"),
    ] {
        let error = coefficients(&text).unwrap_err();
        assert!(error.message().contains(cause), "{cause}: {error}");
    }
}

#[test]
fn what_is_missing_or_unknown_is_named_at_its_line() {
    let scripts: &[&str] = &[SCRIPT];
    for (from, to, scripts, cause) in [
        ("Bond Coeffs # harmonic\n\n1 300 1.5\n", "", scripts, "no coefficients of the bond type 1"),
        ("Improper Coeffs # harmonic\n\n1 40 0\n", "", scripts, "no coefficients of the improper type 1"),
        ("Coeffs # charmm\n\n1 0.8", "Coeffs\n\n1 0.8", scripts, "which dihedral style"),
        ("Pair Coeffs # lj/charmm/coul/long", "Pair Coeffs", scripts, "which pair style"),
        ("lj/charmm/coul/long", "buck/coul/long", scripts, "pair style buck/coul/long are not read"),
        ("Bond Coeffs # harmonic", "Bond Coeffs # class2", scripts, "bond style class2 is not computed"),
        ("1 0.8 3 0 0.5", "1 0.8 30 0 0.5", scripts, "multiplicity"),
        ("1 0.8 3 0 0.5", "1 0.8 3 0", scripts, "takes 4 coefficients"),
        ("1 0.1 3.4 0.05 3.2", "1 -0.1 3.4", scripts, "epsilon"),
        ("1 12.011 # CT\n2", "2", scripts, "Masses has only 1 of 2 lines"),
        ("units real", "", &[][..], "up to three bonds apart"),
        ("", "", &["special_bonds charmm\nbond_coeff 7 1 1"][..], "\"7\" is none of the 1 bond types"),
        ("", "", &["special_bonds charmm\nbond_coeff 1 x 1"][..], "bond style x is not computed"),
        ("", "", &["special_bonds charmm\nbond_coeff 1 1 x"][..], "\"x\" is no number"),
        ("", "", &["special_bonds charmm\nbond_coeff 1 $(v_k/2) 1"][..], "\"$(v_k/2)\" is a variable"),
        ("", "", &["special_bonds charmm\nbond_coeff 1 \"120\" 1"][..], "\"120\" is in quotes"),
        (
            "",
            "",
            &["special_bonds charmm\npair_style hybrid lj/charmm/coul/long 8 9\npair_coeff 1 1 ${e} 3"][..],
            "\"${e}\" is a variable",
        ),
        (
            "",
            "",
            &["special_bonds charmm\npair_style lj/charmm/coul/long 8 ${rc}"][..],
            "\"${rc}\" is a variable",
        ),
        (
            "",
            "",
            &["special_bonds charmm\npair_style lj/charmm/coul/long 9"][..],
            "too few or too many cut-offs",
        ),
        ("", "", &["special_bonds charmm\npair_coeff 1 3 1 1"][..], "\"3\" is none of the 2 atom types"),
        ("", "", &["special_bonds charmm\npair_coeff 1"][..], "ends before the second type"),
        (
            "",
            "",
            &["special_bonds charmm\npair_style hybrid lj/cut 9 morse 9"][..],
            "pair style morse are not read",
        ),
        ("", "", &["special_bonds charmm\npair_style hybrid lj/cut 9 lj/cut 8"][..], "lj/cut twice"),
        ("", "", &["special_bonds charmm\npair_style hybrid lj/cut 9"][..], "pair style lj/charmm/coul/long"),
        ("", "", &["units lj"][..], "units lj are not read"),
    ] {
        let error = read(&DATA.replace(from, to), scripts).unwrap_err();
        assert!(error.message().contains(cause), "{from}: {error}");
        assert!(error.place().is_some(), "{from}: {error}");
    }
}

/// Cut-offs of Lennard-Jones forces, and those of charges.
fn cutoffs(molecules: &Molecules) -> [Vec<f64>; 2] {
    [CutoffOf::LennardJones, CutoffOf::Charges]
        .map(|of| molecules.cutoffs.iter().filter(|given| given.of == of).map(|given| given.length).collect())
}

#[test]
fn cutoffs_stand_behind_pair_styles() {
    let charged = DATA.replace(
        "# lj/charmm/coul/long\n\n1 0.1 3.4 0.05 3.2\n2 0.04 2.5 0.04",
        "# lj/cut\n\n1 0.1 3.4\n2 0.04",
    );
    for (style, lennard_jones, charges) in [
        ("lj/cut 9", &[9.0][..], &[][..]),
        ("lj/cut/coul/long", &[], &[]),
        ("lj/cut/coul/long 9", &[9.0], &[9.0]),
        ("lj/cut/coul/cut/omp 5 4", &[5.0], &[4.0]),
        ("lj/long/coul/long cut long 9 8", &[9.0], &[8.0]),
        ("lj/charmm/coul/long 8 10", &[10.0], &[10.0]),
        ("lj/charmm/coul/long 8 10 12", &[10.0], &[12.0]),
        ("lj/charmm/coul/charmm 8 10 7 12", &[10.0], &[12.0]),
    ] {
        let read = read(&charged, &[SCRIPT, &format!("pair_style {style}")]).unwrap();
        assert_eq!(cutoffs(&read), [lennard_jones, charges], "{style}");
    }
    let rows = "pair_coeff * * coul/long\npair_coeff 1 1 lj/cut 0.1 3.4\npair_coeff 2 2 lj/cut 0.04 2.5\n";
    let data =
        DATA.replace("Pair Coeffs # lj/charmm/coul/long\n\n1 0.1 3.4 0.05 3.2\n2 0.04 2.5 0.04 2.5\n", "");
    let read = read(&data, &[SCRIPT, &format!("pair_style hybrid/overlay lj/cut 9 coul/long 8\n{rows}")]);
    assert_eq!(cutoffs(&read.unwrap()), [[9.0], [8.0]]);
}

/// A script whose forces end elsewhere than those of the input is refused, with both places.
#[test]
fn cutoffs_of_a_script_are_those_of_the_input() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.data"), DATA).unwrap();
    let sections = |lennard_jones: &str, charges: &str| {
        format!(
            "[[force]]\nkind = \"lennard-jones\"\ncutoff = {lennard_jones}\n[electrostatics]\nkind = \"pme\"\n{charges}"
        )
    };
    let molecules = |units: &str, numbers: &str, rest: &str| {
        let script = format!("{SCRIPT}pair_style lj/charmm/coul/long {numbers}\n");
        fs::write(folder.path().join("in.a"), script).unwrap();
        let text = format!(
            "units = \"{units}\"\n[system]\ntopology = \"a.data\"\nparameters = [\"in.a\"]\n{rest}\n"
        );
        Input::parse(&folder.path().join("in.toml"), &text).unwrap().read_molecules().map(drop)
    };
    for (units, numbers, own) in [
        ("real", "", sections("8", "cutoff = 7")),
        ("real", "8 9", sections("9", "")),
        ("real", "8 9 7", sections("9", "cutoff = 7")),
        ("nano", "8 9 7", sections("0.9", "cutoff = 0.7")),
        ("nano", "8 9.3", sections("\"9.3 A\"", "")),
    ] {
        molecules(units, numbers, &own).unwrap_or_else(|e| panic!("{numbers}: {e}"));
    }
    let open = "periodic = false".to_string();
    molecules("real", "", &open).unwrap();
    for (units, numbers, own, line, words) in [
        (
            "real",
            "8 9",
            sections("8", "cutoff = 9"),
            5,
            ["Lennard-Jones forces is 8 A here", "9 A in line 3 of"],
        ),
        ("real", "8 9", sections("9", "cutoff = 8"), 8, ["charges is 8 A here", "9 A in line 3 of"]),
        ("nano", "8 9", sections("1", "cutoff = 0.9"), 5, ["is 1 nm here", "0.9 nm in line 3 of"]),
        ("real", "8 9", open, 3, ["no cut-offs", "9 A in line 3 of"]),
    ] {
        let error = molecules(units, numbers, &own).unwrap_err();
        assert!(words.iter().all(|words| error.message().contains(words)), "{error}");
        assert!(error.message().contains("in.a (lj/charmm/coul/long)"), "{error}");
        assert_eq!(error.place().unwrap().line, Some(line), "{error}");
        assert!(error.help().is_some_and(|hint| hint.contains("cutoff") || hint.contains("cut-offs")));
    }
}

/// Only LAMMPS' topologies say where atoms are; with another the coordinates are asked for, at the line of the input.
#[test]
fn coordinates_may_be_left_out_for_a_data_file_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.data"), DATA).unwrap();
    fs::write(folder.path().join("in.a"), SCRIPT).unwrap();
    fs::write(folder.path().join("a.prmtop"), amber::text(&amber::chain(1))).unwrap();
    let molecules = |system: &str| {
        let sections =
            "[[force]]\nkind = \"lennard-jones\"\ncutoff = 9\n[electrostatics]\nkind = \"pme\"\ncutoff = 9";
        let text = format!("units = \"real\"\n[system]\n{system}\n{sections}\n");
        Input::parse(&folder.path().join("in.toml"), &text).unwrap().read_molecules()
    };
    let (system, _) = molecules("topology = \"a.data\"\nparameters = [\"in.a\"]").unwrap().unwrap();
    assert_eq!((system.state.position[0], system.state.image[0]), (Vector([1.0, 2.0, 3.0]), [1, 0, 0]));
    assert_eq!(system.simbox.periodic(), [true; 3]);
    let error = molecules("topology = \"a.prmtop\"").unwrap_err();
    assert!(error.message().contains("does not say where the atoms are"), "{error}");
    assert_eq!(error.place().unwrap().line, Some(3));
    let error = molecules("topology = \"a.data\"\nparameters = [\"in.a\"]\ninclude = [\"x\"]").unwrap_err();
    assert!(error.message().contains("no define or include"), "{error}");
}
