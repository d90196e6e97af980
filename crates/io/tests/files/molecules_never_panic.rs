//! Reading files of a force field and of coordinates gives a value or an error with its place, never a panic,
//! for any contents.

use super::never_panics::mutated;
use super::{amber, charmm, gromacs, lammps_molecules};
use jostle_core::{Result, UnitSystem};
use jostle_io::forcefield::Molecules;
use jostle_io::forcefield::coordinates::Coordinates;
use proptest::prelude::*;
use std::fs;

fn check(read: Result<Molecules>) {
    match read {
        Ok(read) => {
            let n = read.atoms.len();
            assert!(
                read.topology.fits(n)
                    && read.charges.len() == n
                    && read.charges.iter().all(|q| q.is_finite())
            );
            assert!(read.lennard_jones.iter().flatten().all(|x| x.is_finite() && *x >= 0.0));
        }
        Err(error) => assert!(error.place().is_some(), "{error}"),
    }
}

fn top() -> String {
    let more = "\
#define KIND 0 5 3
[ pairtypes ]
X Z 1 0.2 0.3
[ nonbond_params ]
Y Z 1 -0.2 0.3
[ dihedraltypes ]
Y Y 1 KIND
X Y Y Z 9 0 1 1
X Y Y Z 9 180 2 2
";
    let text = gromacs::chain("1 2 yes 0.5 0.8", gromacs::WELLS, more);
    text.replace("[ system ]", "[ dihedrals ]\n1 2 3 4 9\n1 2 3 4 1\n[ exclusions ]\n1 2 3\n[ system ]")
}

/// Returns true for more molecules than a test has time for.
fn is_large(top: &str) -> bool {
    let counts = top.rsplit_once("molecules").map_or("", |(_, counts)| counts);
    counts.split_whitespace().any(|word| word.parse::<u64>().is_ok_and(|n| n > 1000 && n < 1 << 30))
}

const SCRIPT: &str = "pair_style lj/charmm/coul/long 8 10\npair_modify mix sixthpower shift no\n\
                      pair_coeff 1*2 2 0.1 3.0 0.05 2.9\nspecial_bonds lj 0 0 0.5 &\n coul 0 0 0.75\n\
                      dihedral_style hybrid charmm fourier\ndihedral_coeff 1 fourier 2 0.5 1 0 0.2 3 180\n\
                      bond_style harmonic\nbond_coeff * 320 1.4 # all\n";

const GRO: &str = "water
    2
    1WATER  OW1    1   0.126   1.624   1.679  0.1227 -0.0580  0.0434
    1WATER  HW2    2   0.190   1.661   1.747  0.8085  0.3191 -0.7791
   1.82060   1.82060   1.82060
";

const INPCRD: &str = "title
    2
  15.9081745  11.9692554  16.0887376  15.3772539  12.8994663  15.8864236
  32.8528630  32.8616480  31.8550980  90.0000000  90.0000000  90.0000000
";

const PDB: &str = "\
CRYST1   30.000   40.000   50.000  90.00  90.00  90.00 P 1           1
ATOM      1  N   ALA A   1       2.876   0.867   2.169  1.00  0.00           N
HETATM    2 NA   NA  A   2      -2.500  10.000   0.250  1.00  0.00      ION NA
ENDMDL
";

fn coordinates(name: &str, text: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    match Coordinates::read(&path, UnitSystem::Nano) {
        Ok(read) => assert!(read.positions.iter().flatten().all(|x| x.is_finite())),
        Err(error) => assert!(error.place().is_some(), "{error}"),
    }
}

#[test]
fn the_unchanged_texts_are_good() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.top");
    fs::write(&path, top()).unwrap();
    gromacs::read_at(&path).unwrap();
    for (name, text) in [("a.gro", GRO), ("a.inpcrd", INPCRD), ("a.pdb", PDB)] {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        assert_eq!(Coordinates::read(&path, UnitSystem::Nano).unwrap().positions.len(), 2, "{name}");
    }
}

proptest! {
    #[test]
    fn mutated_top(text in mutated(&top())) {
        prop_assume!(!is_large(&text));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.top");
        fs::write(&path, text).unwrap();
        check(gromacs::read_at(&path));
    }

    #[test]
    fn mutated_psf(text in mutated(charmm::PSF)) {
        check(charmm::read(&text, &[charmm::PARAMETERS]));
    }

    #[test]
    fn mutated_parameters(text in mutated(charmm::PARAMETERS)) {
        check(charmm::read(charmm::PSF, &[&text]));
    }

    #[test]
    fn mutated_lammps_data(text in mutated(lammps_molecules::DATA)) {
        check(lammps_molecules::read(&text, &[lammps_molecules::SCRIPT]));
    }

    #[test]
    fn mutated_lammps_script(text in mutated(&format!("{}{SCRIPT}", lammps_molecules::SCRIPT))) {
        check(lammps_molecules::read(lammps_molecules::DATA, &[&text]));
    }

    #[test]
    fn mutated_prmtop(text in mutated(&amber::text(&amber::chain(1)))) {
        check(amber::read(&text));
    }

    #[test]
    fn mutated_gro(text in mutated(GRO)) {
        coordinates("a.gro", &text);
    }

    #[test]
    fn mutated_inpcrd(text in mutated(INPCRD)) {
        coordinates("a.inpcrd", &text);
    }

    #[test]
    fn mutated_pdb(text in mutated(PDB)) {
        coordinates("a.pdb", &text);
    }
}
