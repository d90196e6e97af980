//! Force fields of other programs: what is read, and what is refused with its line.

use jostle_core::{Error, SiteRule, UnitSystem, Vector};
use jostle_io::Input;
use jostle_io::forcefield::Molecules;
use jostle_io::input::model::{MoleculesInput, Rigid};
use std::fs;
use std::path::{Path, PathBuf};

/// Two atoms on a spring.
pub(crate) const SYSTEM: &str = r#"<?xml version="1.0" ?>
<System openmmVersion="8" type="System" version="1">
<Particles>
<Particle mass="1.008"/>
<Particle mass="15.999"/>
</Particles>
<Constraints/>
<Forces>
<Force type="HarmonicBondForce" name="HarmonicBondForce">
<Bonds><Bond d=".1" k="1000" p1="0" p2="1"/></Bonds>
</Force>
<Force type="NonbondedForce" method="0">
<Particles><Particle eps="0" q=".4" sig="1"/><Particle eps="0.65" q="-.4" sig=".3166"/></Particles>
<Exceptions><Exception eps="0" p1="0" p2="1" q="0" sig="1"/></Exceptions>
</Force>
</Forces>
</System>
"#;

/// Its NonbondedForce.
const WITH_CHARGES: &str = r#"<Force type="NonbondedForce" method="0">
<Particles><Particle eps="0" q=".4" sig="1"/><Particle eps="0.65" q="-.4" sig=".3166"/></Particles>
<Exceptions><Exception eps="0" p1="0" p2="1" q="0" sig="1"/></Exceptions>
</Force>
"#;

/// A topology with files of parameters.
pub(crate) fn files(topology: &Path, parameters: &[PathBuf]) -> MoleculesInput {
    MoleculesInput {
        topology: topology.into(),
        parameters: parameters.into(),
        define: Vec::new(),
        include: Vec::new(),
        coordinates: PathBuf::new(),
        rigid: Rigid::None,
        hydrogen_mass: None,
    }
}

/// Reads a System of OpenMM.
pub(crate) fn read(text: &str, units: UnitSystem) -> Result<Molecules, Error> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xml");
    fs::write(&path, text).unwrap();
    Molecules::read(&files(&path, &[]), units)
}

#[test]
fn units_are_converted() {
    let nano = read(SYSTEM, UnitSystem::Nano).unwrap();
    assert_eq!(nano.charges, [0.4, -0.4]);
    assert_eq!(nano.forces.bonds[0].parameters(0).unwrap(), [1000.0, 0.1]);
    let names: Vec<&str> = nano.species.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["H1", "O2"]);
    assert_eq!((nano.lennard_jones[0], nano.lennard_jones[3]), ([0.0, 0.0], [0.65, 0.3166]));
    let real = read(SYSTEM, UnitSystem::Real).unwrap();
    let [stiffness, length] = real.forces.bonds[0].parameters(0).unwrap() else { panic!() };
    assert!((stiffness - 1000.0 / 418.4).abs() < 1e-12 && (length - 1.0).abs() < 1e-14);
    assert!((real.lennard_jones[3][1] - 3.166).abs() < 1e-13);
    let error = read(SYSTEM, UnitSystem::Lj).unwrap_err();
    assert!(error.help().unwrap().contains("nano"), "{error}");
}

#[test]
fn damaged_and_unknown_systems_are_refused_at_their_line() {
    for (from, to, line, message) in [
        ("</System>", "", 0, "not XML"),
        ("<System ", "<Systen ", 0, "XML"),
        ("k=\"1000\"", "k=\"10x0\"", 10, "\"k\" of this Bond is \"10x0\""),
        ("k=\"1000\" ", "", 10, "no \"k\""),
        ("k=\"1000\"", "k=\"-1\"", 10, "stiffness = -1"),
        ("p2=\"1\"/></Bonds>", "p2=\"2\"/></Bonds>", 10, "there is no atom 3"),
        ("p2=\"1\"/></Bonds>", "p2=\"0\"/></Bonds>", 10, "atom 1 is there twice"),
        ("mass=\"15.999\"", "mass=\"-1\"", 5, "mass -1"),
        ("type=\"HarmonicBondForce\"", "type=\"GBSAOBCForce\"", 9, "no GBSAOBCForce"),
        ("type=\"HarmonicBondForce\"", "type=\"MonteCarloBarostat\"", 9, "no force"),
        ("type=\"HarmonicBondForce\"", "type=\"CustomBondForce\" energy=\"r\"", 9, "r"),
        ("<Particle mass=\"15.999\"/>", "", 10, "there is no atom 2"),
        ("<Particle eps=\"0\" q=\".4\" sig=\"1\"/>", "", 2, "2 particles, and a NonbondedForce for 1"),
        (WITH_CHARGES, "", 2, "2 particles, and no NonbondedForce"),
        ("eps=\"0.65\"", "eps=\"-0.65\"", 13, "epsilon = -0.65"),
        ("<Constraints/>", "<Constraints/><Lattice/>", 7, "does not know Lattice of a System"),
        ("<System ", "<System scale=\"2\" ", 2, "does not know \"scale\" of a System"),
        ("<Bonds>", "<Scale/><Bonds>", 10, "does not know Scale of a HarmonicBondForce"),
        ("name=", "scale=\"2\" name=", 9, "does not know \"scale\" of a HarmonicBondForce"),
        ("method=\"0\"", "method=\"4\" includeDirectSpace=\"0\"", 12, "the sum in direct space"),
    ] {
        assert!(SYSTEM.contains(from), "{from}");
        let error = read(&SYSTEM.replacen(from, to, 1), UnitSystem::Nano).unwrap_err();
        assert!(error.message().contains(message), "{to}: {error}");
        let place = error.place().unwrap_or_else(|| panic!("{to}: {error} has no place"));
        assert!(line == 0 || place.line == Some(line), "{to}: {error} at {:?}", place.line);
    }
}

/// An input with both files in a folder.
fn input(folder: &Path, coordinates: (&str, &str), more: &str) -> Result<Input, Error> {
    fs::write(folder.join("a.xml"), SYSTEM).unwrap();
    fs::write(folder.join(coordinates.0), coordinates.1).unwrap();
    let name = coordinates.0;
    let text = format!("units = \"real\"\n[system]\ntopology = \"a.xml\"\ncoordinates = \"{name}\"\n{more}");
    Input::parse(&folder.join("in.toml"), &text)
}

const BOXED: &str =
    "2\nLattice=\"20 0 0 0 20 0 0 0 20\" Properties=species:S:1:pos:R:3\nH 0 0 0\nO 1 0 0.5\n";
const WELLS: &str = "[[force]]\nkind = \"lennard-jones\"\ncutoff = 9\n";
const MORSE: &str = "[[force]]\nkind = \"morse\"\ncutoff = 9\n";
const CHARGES: &str = "[electrostatics]\nkind = \"pme\"\ncutoff = 9\nnet_charge = \"background\"\n";
const FIELD: &str = "[[field]]\nelectric = [0, 0, 1]\n";
const TWO: &str = "2\nProperties=species:S:1:pos:R:3\nH 0 0 0\nO 1 0 0.5\n";

#[test]
fn systems_and_their_forces_follow_from_both_files() {
    let folder = tempfile::tempdir().unwrap();
    let read = input(folder.path(), ("a.xyz", TWO), "").unwrap();
    let (system, forces) = read.read_molecules().unwrap().unwrap();
    assert_eq!((system.charges.len(), system.topology.excluded.len()), (2, 1));
    assert_eq!(system.simbox.periodic(), [false; 3]);
    assert_eq!(forces.kinds(), ["lennard-jones", "coulomb", "bond-harmonic"]);
    let other = "[species.H]\nmass = 1\n";
    let error = input(folder.path(), ("a.xyz", TWO), other).unwrap_err();
    assert!(error.message().contains("\"species\" beside a topology"), "{error}");
    for (coordinates, more, message) in [
        (("a.xyz", "1\n\nH 0 0 0\n"), "", "2 atoms, the coordinates have 1"),
        (("a.foo", "x"), "", "what kind of coordinates"),
        (("a.xyz", TWO), "periodic = true\n", "no file has a box"),
        (("a.xyz", BOXED), "periodic = true\n", "how far the forces of molecules reach"),
        (("a.xyz", &BOXED.replace("O 1 0 0.5", "O 1 0 5e17")), "periodic = true\n", "a million boxes away"),
        (("a.xyz", BOXED), &format!("periodic = true\n{CHARGES}"), "how far they reach"),
        (("a.xyz", BOXED), &format!("periodic = true\n{WELLS}"), "what they do"),
        (("a.xyz", BOXED), &format!("periodic = true\n{WELLS}{WELLS}{CHARGES}"), "only one force"),
        (("a.xyz", BOXED), &format!("periodic = true\n{CHARGES}{MORSE}"), "whose parameters it has"),
        (("a.xyz", BOXED), &format!("periodic = true\n{WELLS}{CHARGES}{FIELD}"), "charges of species"),
    ] {
        let read = input(folder.path(), coordinates, more).unwrap();
        let error = read.read_molecules().unwrap_err();
        assert!(error.message().contains(message) && error.place().is_some(), "{error}");
        assert!(
            message != "charges of species" || error.help().unwrap().contains("\"-E charge z\""),
            "{error}"
        );
    }
    // The way that the remedy of an electric field names.
    let formula =
        "[[field]]\nenergy = \"-E charge z\"\nparameters = { E = 0.1 }\npositions = \"unwrapped\"\n";
    let more = format!("periodic = true\n{WELLS}{CHARGES}{formula}");
    let read = input(folder.path(), ("a.xyz", BOXED), &more).unwrap();
    read.read_molecules().unwrap().unwrap();
}

/// Cut-offs come from the input; pairs of the input come before those of the files.
#[test]
fn molecules_in_a_periodic_box() {
    let folder = tempfile::tempdir().unwrap();
    let read = |more: &str| {
        let more = format!("periodic = true\n{more}{CHARGES}");
        let input = input(folder.path(), ("a.xyz", BOXED), &more).unwrap();
        input.read_molecules().unwrap().unwrap()
    };
    let (system, forces) = read(WELLS);
    assert_eq!(system.simbox.periodic(), [true; 3]);
    assert_eq!(forces.kinds(), ["lennard-jones", "coulomb", "bond-harmonic"]);
    let [own, other] = [&system.species[0].name, &system.species[1].name];
    let changed = format!("{WELLS}pairs.\"{own}-{other}\" = {{ epsilon = 0.25, sigma = 3 }}\n");
    let (_, with_pair) = read(&changed);
    let get = |forces: &jostle_potentials::Forces, a, b| {
        forces.pairs[0].get(a, b).map(|e| (e.parameters.clone(), e.cutoff))
    };
    assert_eq!(get(&with_pair, 0, 1), Some((vec![0.25, 3.0], 9.0)));
    assert_eq!(get(&with_pair, 1, 1), get(&forces, 1, 1));
    assert!(get(&forces, 1, 1).is_some());
}

/// Real files, cut short and with characters changed: errors, never a panic.
#[test]
fn damaged_files_are_errors() {
    let shared = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/reference"));
    let charmm = shared.join("07g_ala3_vac_psf_charmm22");
    let parameters = [charmm.join("charmm22.rtf"), charmm.join("charmm22.par")];
    for (file, parameters) in [
        (shared.join("07c_aladip_prmtop_vac/alanine-dipeptide-implicit.prmtop"), &[][..]),
        (shared.join("07a_aladip_vac_amber14/system.xml"), &[]),
        (charmm.join("ala_ala_ala.psf"), &parameters),
    ] {
        let Ok(text) = fs::read_to_string(&file) else {
            println!("skipped: there is no {}", file.display());
            continue;
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("damaged");
        let read = |text: &str| {
            fs::write(&path, text).unwrap();
            Molecules::read(&files(&path, parameters), UnitSystem::Real)
        };
        assert!(read(&text).is_ok(), "{}: {}", file.display(), read(&text).unwrap_err());
        for k in 1..40 {
            let cut = text.len() * k / 40;
            // The last sections of a prmtop are not read.
            assert!(k > 32 || read(&text[..cut]).is_err(), "{} cut at {cut}", file.display());
            for with in ["9", "-", " ", "x"] {
                let mut other = text.clone();
                other.replace_range(cut..cut + 1, with);
                if let Err(error) = read(&other) {
                    assert!(error.place().is_some(), "{error}");
                }
            }
        }
    }
}

/// Types that a PSF needs and no file has are named, with the most similar ones.
#[test]
fn missing_parameters_name_atoms_and_types() {
    let folder = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../../shared/reference/07g_ala3_vac_psf_charmm22"
    ));
    let (Ok(parameters), Ok(masses)) =
        (fs::read_to_string(folder.join("charmm22.par")), fs::read_to_string(folder.join("charmm22.rtf")))
    else {
        return println!("skipped: there is no {}", folder.display());
    };
    let here = tempfile::tempdir().unwrap();
    let given = [here.path().join("a.rtf"), here.path().join("a.par")];
    fs::write(&given[0], masses).unwrap();
    for (row, message, hint) in [
        ("NH1  CT1   320.000", "the bond NH1-CT1: atom 13 (N of ALA 2, chain AAL), atom 15 (CA", "C-CT1"),
        ("O      0.000000  -0.120000", "Lennard-Jones force of type O: atom 12 (O of ALA 1", "parameters"),
    ] {
        assert!(parameters.contains(row), "{row}");
        fs::write(&given[1], parameters.replace(row, &format!("!{row}"))).unwrap();
        let read = Molecules::read(&files(&folder.join("ala_ala_ala.psf"), &given), UnitSystem::Real);
        let error = read.unwrap_err();
        assert!(
            error.message().contains(message) && error.help().unwrap().contains(hint),
            "{error} {:?}",
            error.help()
        );
    }
}

/// A made-up molecule of four beads in GROMACS' format, in three files.
fn gromacs(folder: &Path, change: (&str, &str)) -> Result<Molecules, Error> {
    let field = "\
[ defaults ]
1 2 yes 0.5 0.75
[ atomtypes ]
; name bonded number mass charge letter V W
CA  C3  6  15.0  0.1  A  0.4  0.8
CB      6  14.0 -0.1  A  0.3  0.2
[ bondtypes ]
C3 CB 1 0.15 1000
CB CB 1 0.16 STIFF
[ angletypes ]
C3 CB CB 5 112 300 0.25 700
[ dihedraltypes ]
X  CB CB X  9 0 9.0 1
C3 CB CB C3 9 0 1.5 1
C3 CB CB C3 9 180 2.5 2
[ nonbond_params ]
CA CB 1 0.33 0.44
";
    let molecule = "\
[ moleculetype ]
chain 2 ; angles are left out, the ends are not
[ atoms ]
1 CA 1 BUT C1 1 0.2
2 CB 1 BUT C2 1
3 CB 1 BUT C3 1 -0.1 13.0
4 CA 1 BUT C4 1
[ bonds ]
1 2 1
3 2 1
4 3 1 0.17 \\
  900
[ pairs ]
1 4 1
[ angles ]
1 2 3 5
2 3 4 1 110 200
[ dihedrals ]
4 3 2 1 9
1 2 3 4 3 1 2 3 4 5 6
1 2 3 4 2 35 20
#ifdef RESTRAINED
[ position_restraints ]
1 1 1000 1000 1000
#endif
[ exclusions ]
1 4
";
    let top = "\
* a comment of an old kind
#define STIFF 2000
#include \"field.itp\"
#ifndef ABSENT
#include \"molecule.itp\"
#else
nonsense
#endif
[ system ]
two chains
[ molecules ]
chain 2
";
    for (name, text) in [("field.itp", field), ("molecule.itp", molecule), ("a.top", top)] {
        fs::write(folder.join(name), text.replacen(change.0, change.1, 1)).unwrap();
    }
    Molecules::read(&files(&folder.join("a.top"), &[]), UnitSystem::Nano)
}

#[test]
fn topologies_of_gromacs_are_put_together() {
    let folder = tempfile::tempdir().unwrap();
    let read = gromacs(folder.path(), ("", "")).unwrap();
    assert_eq!(read.charges, [0.2, -0.1, -0.1, 0.1, 0.2, -0.1, -0.1, 0.1]);
    let names: Vec<&str> = read.species.iter().map(|s| s.name.as_str()).collect();
    assert_eq!((names, &read.atoms[..4]), (vec!["CA", "CB", "CB_2"], &[0, 1, 2, 0][..]));
    assert_eq!(read.names.describe(4), "atom 5 (C1 of BUT 2)");
    // The pair CA-CB has parameters of its own.
    assert_eq!((read.lennard_jones[0], read.lennard_jones[1]), ([0.8, 0.4], [0.44, 0.33]));
    let topology = &read.topology;
    let of = |kind: u32| {
        read.forces.bonds.iter().find_map(|term| Some((term.term(), term.parameters(kind as usize)?)))
    };
    let bonds: Vec<_> = topology.bonds.iter().map(|b| (b.atoms, of(b.kind).unwrap())).collect();
    assert_eq!(bonds[0], ([0, 1], ("bond-harmonic", &[1000.0, 0.15][..])));
    assert_eq!(bonds[1], ([2, 1], ("bond-harmonic", &[2000.0, 0.16][..])));
    assert_eq!(bonds[2], ([3, 2], ("bond-harmonic", &[900.0, 0.17][..])));
    let (ends, (name, pair)) = bonds[3];
    assert_eq!((ends, name, &pair[..2]), ([0, 3], "scaled-pair", &[0.4, 0.4][..]));
    assert!((pair[2] / UnitSystem::Nano.coulomb() - 0.75 * 0.02).abs() < 1e-15);
    assert_eq!(bonds[4], ([0, 2], ("urey-bradley", &[700.0, 0.25][..])));
    assert_eq!(bonds[5].0, [4, 5]);
    let angle = |k: usize| read.forces.angles[0].parameters(k).unwrap();
    assert_eq!((angle(0), angle(1)), (&[300.0, 112.0][..], &[200.0, 110.0][..]));
    let kinds = read.forces.kinds();
    let wanted = ["dihedral-periodic", "dihedral-ryckaert-bellemans", "dihedral-harmonic"];
    assert_eq!(kinds[4..], wanted);
    // Exact types go before any, all rows of them, and the last atom may come first.
    let periodic = |k: usize| read.forces.dihedrals[0].parameters(k);
    assert_eq!((periodic(0), periodic(1)), (Some(&[1.5, 1.0, 0.0][..]), Some(&[2.5, 2.0, 180.0][..])));
    assert_eq!(read.forces.dihedrals[2].parameters(3), Some(&[20.0, 35.0][..]));
    let lists = topology.exclusions(8, jostle_core::Exclude::None);
    assert_eq!(
        (&lists[0][..], &lists[1][..], &lists[7][..]),
        (&[1, 2, 3][..], &[0, 2, 3][..], &[4, 5, 6][..])
    );
}

#[test]
fn a_macro_of_gromacs_has_one_value() {
    let folder = tempfile::tempdir().unwrap();
    let define = ["RESTRAINED", "STIFF=1000", "STIFF=3000"].map(String::from).to_vec();
    gromacs(folder.path(), ("", "")).unwrap();
    let error = Molecules::read(
        &MoleculesInput { define, ..files(&folder.path().join("a.top"), &[]) },
        UnitSystem::Nano,
    );
    assert_eq!(error.unwrap_err().message(), "the macro STIFF is given twice");
}

#[test]
fn mistakes_in_topologies_of_gromacs_are_found_in_their_files() {
    let folder = tempfile::tempdir().unwrap();
    for (change, place, message) in [
        (("#define STIFF 2000\n", ""), ("field.itp", 9), "\"STIFF\" is no number"),
        (("\"field.itp\"", "\"fields.itp\""), ("a.top", 3), "there is no file fields.itp"),
        (("#endif\n[ system", "[ system"), ("a.top", 4), "no #endif"),
        (("\nCB CB 1 0.16", "\nCX CB 1 0.16"), ("field.itp", 9), "no type of atoms CX"),
        (("\nCB CB 1 0.16", "\nC3 C3 1 0.16"), ("molecule.itp", 10), "bond CB-CB: atom 3 (C3 of BUT 1)"),
        (("2 CB 1 BUT", "2 CZ 1 BUT"), ("molecule.itp", 5), "no type of atoms CZ"),
        (("4 3 1 0.17", "5 3 1 0.17"), ("molecule.itp", 11), "no atom 5"),
        (("4 3 1 0.17", "4 3 2 0.17"), ("molecule.itp", 11), "function 2"),
        (("chain 2\n", "chian 2\n"), ("a.top", 12), "no molecule chian"),
        (("#ifdef RESTRAINED\n", "#ifndef RESTRAINED\n"), ("molecule.itp", 24), "position_restraints"),
    ] {
        let error = gromacs(folder.path(), change).unwrap_err();
        assert!(error.message().contains(message), "{change:?}: {error}");
        let found = error.place().unwrap();
        let file = found.file.file_name().unwrap().to_str().unwrap();
        assert_eq!((file, found.line), (place.0, Some(place.1)), "{error}");
    }
}

/// A molecule of water with a fourth site in the formats of GROMACS and AMBER, and what is not read.
#[test]
fn fourth_sites_of_water_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str, text: &str| {
        fs::write(folder.path().join(name), text).unwrap();
        Molecules::read(&files(&folder.path().join(name), &[]), UnitSystem::Nano)
    };
    let top = "\
[ defaults ]
1 2 no 1 1
[ atomtypes ]
OW 16.0 0 A 0.316 0.68
HW 1.008 0.5 A 0 0
MW 0 -1.0 D 0 0
[ moleculetype ]
SOL 2
[ atoms ]
1 OW 1 SOL OW 1 0 16.0
2 HW 1 SOL HW1 1 0.5 1.008
3 HW 1 SOL HW2 1 0.5 1.008
4 MW 1 SOL MW 1 -1.0 0
[ settles ]
1 1 0.09572 0.15139
[ virtual_sites3 ]
4 1 2 3 1 0.13 0.12
[ exclusions ]
1 2 3 4
2 1 3 4
3 1 2 4
4 1 2 3
[ system ]
water
[ molecules ]
SOL 2
";
    let water = read("a.top", top).unwrap();
    let sites = &water.topology.virtual_sites;
    assert_eq!((sites.len(), sites[1].site, sites[1].atoms), (2, 7, [4, 5, 6]));
    assert_eq!(sites[0].rule, SiteRule::Average([1.0 - 0.13 - 0.12, 0.13, 0.12]));
    let out = read("b.top", &top.replace("4 1 2 3 1 0.13 0.12", "4 1 2 3 4 0.13 0.12 -6.5")).unwrap();
    assert_eq!(out.topology.virtual_sites[0].rule, SiteRule::OutOfPlane([0.13, 0.12, -6.5]));
    let two = top.replace("sites3 ]\n4 1 2 3 1 0.13 0.12", "sites2 ]\n4 1 2 1 0.25");
    let two = read("c.top", &two).unwrap();
    let site = two.topology.virtual_sites[0];
    assert_eq!((site.atoms, site.rule), ([0, 1, 1], SiteRule::Average([0.75, 0.25, 0.0])));
    for (row, message) in [
        ("4 1 2 3 5 0.1 0.2", "function 5 of virtual sites"),
        ("4 1 2 3 1 0.1", "too few"),
        ("4 1 2 3 3 120", "too few"),
    ] {
        let error = read("d.top", &top.replace("4 1 2 3 1 0.13 0.12", row)).unwrap_err();
        assert!(error.message().contains(message) && error.place().is_some(), "{error}");
    }

    // Sites at a distance: the second atom is along x, and the third one along y from that.
    let arms = [Vector([2.0, 0.0, 0.0]), Vector([2.0, 2.0, 0.0])];
    let slope = 0.5f64.atan();
    for (row, place) in [
        ("3 ]\n4 1 2 3 2 0.5 -0.105", [-0.105 * slope.cos(), -0.105 * slope.sin(), 0.0]),
        ("3 ]\n4 1 2 3 3 120 0.5", [-0.25, 0.75f64.sqrt() / 2.0, 0.0]),
        ("2 ]\n4 1 2 2 -0.105", [-0.105, 0.0, 0.0]),
    ] {
        let read = read("e.top", &top.replace("3 ]\n4 1 2 3 1 0.13 0.12", row)).unwrap();
        let found = read.topology.virtual_sites[1].rule.place(arms);
        assert!((0..3).all(|k| (found[k] - place[k]).abs() < 1e-12), "{row}: {found:?}");
    }

    // Lengths in angstrom: 0.9572, 1.5136 and 0.1546.
    let mut pointers = [0; 31];
    (pointers[0], pointers[1], pointers[30]) = (4, 3, 1);
    // Bonds with hydrogen, residues, bonds without, types of bonds.
    (pointers[2], pointers[11], pointers[12], pointers[15]) = (3, 1, 1, 3);
    let row = |numbers: &[f64]| numbers.iter().map(|x| format!("{x:16.8E}")).collect::<String>();
    let whole = |numbers: &[i32]| {
        let rows = numbers.chunks(10).map(|row| row.iter().map(|x| format!("{x:8}")).collect::<String>());
        rows.collect::<Vec<_>>().join("\n")
    };
    let (float, int, names) = ("5E16.8", "10I8", "20a4");
    let prmtop = |bonds: &[i32]| {
        let sections = [
            ("POINTERS", int, whole(&pointers)),
            ("ATOM_NAME", names, "O   H1  H2  EPW ".into()),
            ("CHARGE", float, row(&[0.0, 9.0, 9.0, -18.0])),
            ("MASS", float, row(&[16.0, 1.008, 1.008, 0.0])),
            ("ATOM_TYPE_INDEX", int, whole(&[1, 2, 2, 3])),
            ("NUMBER_EXCLUDED_ATOMS", int, whole(&[3, 2, 1, 1])),
            ("NONBONDED_PARM_INDEX", int, whole(&[1, 2, 4, 2, 3, 5, 4, 5, 6])),
            ("RESIDUE_LABEL", names, "WAT ".into()),
            ("RESIDUE_POINTER", int, whole(&[1])),
            ("BOND_FORCE_CONSTANT", float, row(&[553.0, 553.0, 600.0])),
            ("BOND_EQUIL_VALUE", float, row(&[0.9572, 1.5136, 0.1546])),
            ("ANGLE_FORCE_CONSTANT", float, String::new()),
            ("ANGLE_EQUIL_VALUE", float, String::new()),
            ("DIHEDRAL_FORCE_CONSTANT", float, String::new()),
            ("DIHEDRAL_PERIODICITY", float, String::new()),
            ("DIHEDRAL_PHASE", float, String::new()),
            ("LENNARD_JONES_ACOEF", float, row(&[6e5, 0.0, 0.0, 0.0, 0.0, 0.0])),
            ("LENNARD_JONES_BCOEF", float, row(&[6e2, 0.0, 0.0, 0.0, 0.0, 0.0])),
            ("BONDS_INC_HYDROGEN", int, whole(&[0, 3, 1, 0, 6, 1, 3, 6, 2])),
            ("BONDS_WITHOUT_HYDROGEN", int, whole(bonds)),
            ("EXCLUDED_ATOMS_LIST", int, whole(&[2, 3, 4, 3, 4, 4, 0])),
            ("AMBER_ATOM_TYPE", names, "OW  HW  HW  EP  ".into()),
        ];
        let section = |(name, format, text): &(&str, &str, String)| {
            format!("%FLAG {name}\n%FORMAT({format})\n{text}\n")
        };
        format!("%VERSION\n{}", sections.iter().map(section).collect::<String>())
    };
    let water = read("a.prmtop", &prmtop(&[0, 9, 3])).unwrap();
    let [site] = water.topology.virtual_sites[..] else { panic!("{:?}", water.topology.virtual_sites) };
    assert_eq!((site.site, site.atoms), (3, [0, 1, 2]));
    let height = (0.9572f64.powi(2) - 0.25 * 1.5136f64.powi(2)).sqrt();
    let SiteRule::Average([_, a, b]) = site.rule else { panic!("{:?}", site.rule) };
    assert!((a + b - 0.1546 / height).abs() < 1e-12 && a == b, "{a} {b}");
    assert_eq!(water.topology.bonds.len(), 3);
    let error = read("b.prmtop", &prmtop(&[3, 9, 3])).unwrap_err();
    assert!(
        error
            .message()
            .contains("atom 4 (EPW of WAT 1) is an extra point on atom 2 (H1 of WAT 1), a hydrogen"),
        "{error}"
    );
}

/// A point whose weights do not add up to one would depend on where the origin is.
#[test]
fn weights_of_sites_add_up_to_one() {
    let known = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../engine/tests/data/sites/four.xml"));
    let text = fs::read_to_string(known).unwrap();
    let begin = text.find(" w1=\"").unwrap() + 5;
    let end = begin + text[begin..].find('"').unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xml");
    let read = |weight: &str| {
        fs::write(&path, format!("{}{weight}{}", &text[..begin], &text[end..])).unwrap();
        Molecules::read(&files(&path, &[]), UnitSystem::Nano)
    };
    assert_eq!(read(&text[begin..end]).unwrap().topology.virtual_sites.len(), 27);
    let error = read("0.5").unwrap_err();
    assert!(
        error.message().contains("weights of a virtual site add up to") && error.place().is_some(),
        "{error}"
    );
}
