//! Structure files: what is read, what comes back, and what is refused.

use jostle_core::{SimBox, Species, State, System, Topology, UnitSystem, Vector};
use jostle_io::Structure;
use jostle_io::structure::{FileSpecies, Reading, write_lammps, write_xyz};
use std::path::Path;

const REAL: Reading = Reading { units: UnitSystem::Real, types: &[], periodic: None };

fn parse(name: &str, text: &str) -> jostle_core::Result<Structure> {
    Structure::parse(Path::new(name), text.as_bytes(), REAL)
}

const SALT: &str = "LAMMPS data file, units = real

4 atoms
2 atom types
0.0 10.0 xlo xhi
-1 9 ylo yhi   # a comment
0 12 zlo zhi
1.0 -2.0 0.5 xy xz yz

Masses

1 22.99  # Na
2 35.453 # Cl

Pair Coeffs # lj/cut

1 0.1 2.3
2 0.1 4.4

Atoms # full

10 1 1 1.0 1.0 2.0 3.0 0 0 0
7 1 2 -1.0 11.5 2.0 3.0 0 -1 2
8 2 1 1.0 1 2 13
9 2 2 -1.0 4 5 6

Velocities

7 0.1 0.2 0.3
8 1 1 1
9 2 2 2
10 3 3 3
";

#[test]
fn lammps_data() {
    let salt = parse("a.data", SALT).unwrap();
    let species =
        |name: &str, mass, charge| FileSpecies { name: name.into(), mass: Some(mass), charge: Some(charge) };
    assert_eq!(salt.species, [species("Na", 22.99, 1.0), species("Cl", 35.453, -1.0)]);
    let simbox = SimBox::new([0.0, -1.0, 0.0], [10.0, 10.0, 12.0], [1.0, -2.0, 0.5], [true; 3]).unwrap();
    assert_eq!(salt.simbox, simbox);
    // Atoms and velocities are in the order of their ids.
    assert_eq!(salt.state.id, [0, 1, 2, 3]);
    assert_eq!(salt.state.species, [1, 0, 1, 0]);
    assert!(salt.has_velocities);
    assert_eq!(salt.state.velocity, [[0.1, 0.2, 0.3], [1.0; 3], [2.0; 3], [3.0; 3]]);
    // The first atom is moved into the box; its image counts that.
    assert_eq!(salt.state.position[0], [1.5, 2.0, 3.0]);
    assert_eq!(salt.state.position[1], [3.0, 1.5, 1.0]);
    assert_eq!(salt.state.image, [[1, -1, 2], [0, 0, 1], [0; 3], [0; 3]]);
    assert_eq!(salt.state.position[3], [1.0, 2.0, 3.0]);
}

/// Along an axis that the input opens there are no images: atoms are where their paths have brought them.
#[test]
fn images_along_open_axes_become_positions() {
    let text = SALT.replace("1.0 -2.0 0.5 xy xz yz", "");
    for (periodic, positions, images) in [
        ([true, true, false], [[1.5, 2.0, 27.0], [1.0, 2.0, 13.0]], [[1, -1, 0], [0; 3]]),
        ([false; 3], [[11.5, 2.0 - 10.0, 27.0], [1.0, 2.0, 13.0]], [[0; 3]; 2]),
    ] {
        let reading = Reading { periodic: Some(periodic), ..REAL };
        let salt = Structure::parse(Path::new("a.data"), text.as_bytes(), reading).unwrap();
        assert_eq!(salt.state.position[..2], positions, "{periodic:?}");
        assert_eq!(salt.state.image[..2], images, "{periodic:?}");
    }
}

#[test]
fn names_of_lammps_types() {
    let types = ["A".to_string(), "B".to_string()];
    let named =
        Structure::parse(Path::new("a.data"), SALT.as_bytes(), Reading { types: &types, ..REAL }).unwrap();
    assert_eq!([&named.species[0].name, &named.species[1].name], ["A", "B"]);
    let plain = parse("a.data", &SALT.replace("# Na", "").replace("# Cl", "")).unwrap();
    assert_eq!([&plain.species[0].name, &plain.species[1].name], ["1", "2"]);
    let labels = "Atom Type Labels\n\n1 K\n2 Br\n\nMasses";
    let labelled = SALT.replace("Masses", labels).replace("8 2 1 1.0 1 2 13", "8 2 K 1.0 1 2 13");
    let labelled = parse("a.data", &labelled).unwrap();
    assert_eq!([&labelled.species[0].name, &labelled.species[1].name], ["K", "Br"]);
    assert_eq!(labelled.state.species, [1, 0, 1, 0]);
    // Files of `write_data ... types labels` have labels instead of numbers everywhere.
    let text = SALT
        .replace("Masses", labels)
        .replace("1 22.99  # Na", "K 22.99")
        .replace("2 35.453 # Cl", "Br 35.453");
    let everywhere =
        text.replace("1 0.1 2.3\n2 0.1 4.4", "K 0.1 2.3\nBr 0.1 4.4").replace("10 1 1 1.0", "10 1 K 1.0");
    assert_eq!(parse("a.data", &everywhere).unwrap(), labelled);
}

#[test]
fn the_atom_style_follows_from_the_columns_where_it_can() {
    for (atoms, style) in [
        ("1 1 1 2 3\n2 1 4 5 6", ""),
        ("1 1 1 2 3 0 0 0\n2 1 4 5 6 0 0 0", ""),
        ("1 1 0.5 1 2 3\n2 1 0.5 4 5 6", " # charge"),
        ("1 1 1 1 2 3\n2 1 1 4 5 6", " # molecular"),
    ] {
        let text = format!(
            "t\n\n2 atoms\n1 atom types\n0 9 xlo xhi\n0 9 ylo yhi\n0 9 zlo zhi\n\nAtoms{style}\n\n{atoms}\n"
        );
        let read = parse("a.data", &text).unwrap();
        assert_eq!(read.state.position, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], "{style} {atoms}");
        assert!(!read.has_velocities);
    }
}

#[test]
fn extended_xyz() {
    let text = "2\nLattice=\"9 0 0  0 9 0  0 0 9\"\nH 0 0 0\nH 1 1 1\n3
Properties=species:S:1:pos:R:3:forces:R:3:velo:R:3:charge:R:1 Lattice=\"10 0 0 1 9 0 -2 0.5 8\" pbc=\"T T F\" Time=5 flag comment=\"a b\"
Na 1 2 3   0 0 0  0.1 0.2 0.3  1
Cl 4 5 6   0 0 0  0 0 0  -1
Na 11 2 30 0 0 0  0 0 1  1

";
    let error = parse("a.xyz", text).expect_err("a tilt along an open axis").to_string();
    assert!(error.contains("a.xyz:6") && error.contains("open axis"), "{error}");
    let read = parse("a.xyz", &text.replace("-2 0.5 8", "0 0 8")).unwrap();
    let simbox = SimBox::new([0.0; 3], [10.0, 9.0, 8.0], [1.0, 0.0, 0.0], [true, true, false]).unwrap();
    assert_eq!(read.simbox, simbox);
    assert_eq!(read.state.species, [0, 1, 0]);
    assert_eq!(read.species[1], FileSpecies { name: "Cl".into(), mass: None, charge: Some(-1.0) });
    assert_eq!(read.state.velocity[0], [0.1, 0.2, 0.3]);
    // Wrapped along x; left alone along the open axis.
    assert_eq!(read.state.position[2], [1.0, 2.0, 30.0]);
    assert_eq!(read.state.image[2], [1, 0, 0]);
}

#[test]
fn xyz_without_a_box_is_open() {
    let read = parse("a.xyz", "2\nplain old XYZ\nAr 1 2 3\nAr 4 0 3\n").unwrap();
    assert_eq!(read.simbox.periodic(), [false; 3]);
    assert_eq!((read.simbox.origin(), read.simbox.lengths()), (Vector([1.0, 0.0, 3.0]), [3.0, 2.0, 1.0]));
}

/// A system in scrambled storage order, with images.
fn system(units: UnitSystem) -> System {
    let simbox = SimBox::new([0.5, 0.0, -1.0], [10.0, 9.0, 8.0], [1.0, -0.5, 0.25], [true; 3]).unwrap();
    let species = |name: &str, mass: f64, charge| Species {
        name: name.into(),
        mass: units.mass_from_user(mass),
        charge,
    };
    let mut state = State::default();
    for k in 0..20 {
        let s = |n: usize| (0.1 + 0.618 * (k * n) as f64).fract();
        state.push((k % 2) as u16, simbox.to_cartesian(Vector([s(1), s(3), s(5)])));
        state.velocity[k] = Vector([s(2) - 0.5, s(7), -s(11)]);
        state.image[k] = [k as i32 - 10, 0, 3];
    }
    state.permute(&[3, 1, 0, 2, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4]);
    let species = vec![species("A", 1.5, 0.5), species("B", 40.0, -0.5)];
    System { state, ..System::new(simbox, species) }
}

/// System with its atoms in the order of their ids.
fn sorted(mut system: System) -> System {
    system.state.sort_by_id();
    system
}

#[test]
fn a_system_comes_back_from_its_files() {
    for units in UnitSystem::ALL {
        let system = system(units);
        let reading = Reading { units, types: &[], periodic: None };
        let mut bytes = Vec::new();
        write_lammps(&system, units, &mut bytes).unwrap();
        let back = Structure::parse(Path::new("a.data"), &bytes, reading).unwrap();
        let expected = sorted(system.clone());
        assert_eq!(back.state, expected.state);
        assert_eq!(back.simbox.lengths().map(|x| (x * 1e12).round()), [10e12, 9e12, 8e12]);
        assert_eq!(
            (back.simbox.origin(), back.simbox.tilts()),
            (system.simbox.origin(), system.simbox.tilts())
        );
        for (got, want) in back.species.iter().zip(&system.species) {
            assert_eq!((&got.name, got.charge), (&want.name, Some(want.charge)));
            let mass = units.mass_from_user(got.mass.unwrap());
            assert!((mass / want.mass - 1.0).abs() < 1e-15);
        }

        let mut bytes = Vec::new();
        write_xyz(&system, units, 7, 0.35, &mut bytes).unwrap();
        let back = Structure::parse(Path::new("a.extxyz"), &bytes, reading).unwrap();
        assert_eq!((back.simbox, back.has_velocities), (system.simbox, true));
        let mut without_images = expected.state;
        without_images.image.fill([0; 3]);
        // Species are numbered as they come; here the first atom by id is of the first.
        assert_eq!(back.state, without_images);
    }
}

/// Reference files of another engine.
#[test]
fn files_of_lammps() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/reference"));
    if !folder.exists() {
        println!("skipped: the reference files are not here");
        return;
    }
    for (case, atoms, tilt, charge) in [
        ("01_lj_binary_trunc", 500, 0.0, None),
        ("01d_lj_binary_triclinic", 500, 1.2, None),
        ("03_yukawa", 512, 0.0, None),
        ("05_eam_cu_u3", 500, 0.0, None),
        ("08_madelung_nacl_ewald", 512, 0.0, Some(1.0)),
    ] {
        let path = folder.join(case).join("input.data");
        let read = Structure::read(&path, REAL).unwrap();
        assert_eq!(
            (read.state.len(), read.simbox.tilts()[0], read.species[0].charge),
            (atoms, tilt, charge),
            "{case}"
        );
        assert!(read.species.iter().all(|s| s.mass.is_some()), "{case}");
    }
    let melt = folder.join("04_fene_melt").join("input.data");
    let melt = Structure::read(&melt, REAL).unwrap();
    let chains = Topology::chains(20, 50, "1");
    assert_eq!((melt.topology.bonds, melt.topology.bond_types), (chains.bonds, chains.bond_types));
}

const MOLECULES: &str = "two molecules

5 atoms
1 atom types
3 bonds
2 bond types
1 angles
1 angle types
0 10 xlo xhi
0 10 ylo yhi
0 10 zlo zhi

Masses

1 1.0

Bond Type Labels

1 long
2 short

Atoms # angle

7 1 1 1.0 1.0 1.0
3 1 1 2.0 1.0 1.0
9 1 1 3.0 1.0 1.0
1 2 1 1.0 5.0 1.0
2 2 1 2.0 5.0 1.0

Bonds

1 2 7 3
2 long 9 3
3 short 1 2

Angles

1 1 7 3 9
";

#[test]
fn atoms_are_in_the_order_of_ids_in_bonds_and_angles_too() {
    let read = Structure::parse("a.data".as_ref(), MOLECULES.as_bytes(), REAL).unwrap();
    let along_x: Vec<f64> = read.state.position.iter().map(|r| r[0]).collect();
    assert_eq!(along_x, [1.0, 2.0, 2.0, 1.0, 3.0]);
    let bonds: Vec<_> = read.topology.bonds.iter().map(|b| (b.kind, b.atoms)).collect();
    assert_eq!(bonds, [(1, [3, 2]), (0, [4, 2]), (1, [0, 1])]);
    assert_eq!(read.topology.angles[0].atoms, [3, 2, 4]);
    assert_eq!(read.topology.bond_types, ["long", "short"]);
    assert_eq!(read.topology.angle_types, ["1"]);
    for (old, new, what) in [
        ("1 2 7 3", "1 2 7 8", "no atom with the id 8"),
        ("1 2 7 3", "1 2 7 7", "the atom 7 is there twice"),
        ("1 2 7 3", "1 3 7 3", "\"3\" is not one of the 2 bond types"),
        ("1 1 7 3 9", "1 1 7 3", "ends before the atom id"),
        ("1 1 7 3 9", "1 1 7 3 9 1", "too many columns"),
        ("3 bonds", "4 bonds", "has only 3 of 4 lines"),
        ("Angles\n\n1 1 7 3 9\n", "", "1 angles, but there is no section Angles"),
    ] {
        let text = MOLECULES.replacen(old, new, 1);
        let error = Structure::parse("a.data".as_ref(), text.as_bytes(), REAL).unwrap_err();
        assert!(error.message().contains(what), "{error}");
    }
}
