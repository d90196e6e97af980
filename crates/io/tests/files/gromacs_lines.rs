//! Lines of GROMACS' topologies before they are read: macros, comments, lines that go on.

use crate::forcefields::files;
use crate::gromacs::{WELLS, chain, read_at};
use jostle_core::{Error, UnitSystem};
use jostle_io::forcefield::Molecules;
use jostle_io::input::model::MoleculesInput;
use jostle_potentials::BondKind;
use jostle_potentials::bonded::BondedTerm;
use std::fs;

/// A macro without a value replaces no word that is called like it (GROMACS 2022.5 reads a residue LIG with -DLIG).
#[test]
fn macros_without_a_value_are_for_conditions_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.top");
    let bond = "#ifdef LIG\n[ bonds ]\n1 4 1 0.3 500\n#endif\n[ system ]";
    let text = chain("1 2 yes 0.5 0.8333", WELLS, "").replace("MOL", "LIG").replace("[ system ]", bond);
    let read = |define: &[&str], text: &str| {
        fs::write(&path, text).unwrap();
        let define = define.iter().map(|name| name.to_string()).collect();
        Molecules::read(&MoleculesInput { define, ..files(&path, &[]) }, UnitSystem::Nano).unwrap()
    };
    let defined = read(&[], &format!("#define LIG\n{text}"));
    for found in [&defined, &read(&["LIG"], &text), &read(&["LIG="], &text)] {
        assert_eq!((found.names.residues[0].name.as_str(), found.charges[0]), ("LIG", 0.0));
        assert!(found.topology.bonds.iter().any(|bond| bond.atoms == [0, 3]), "the condition holds");
    }
    assert_eq!(read(&["LIG=RES"], &text).names.residues[0].name, "RES");
    // GROMACS 2022.5 finds no macro "LIG ; a", so that the first condition never holds, and the second always does.
    for condition in ["#ifdef LIG ; a", "#ifndef LIG;a"] {
        fs::write(&path, text.replace("#ifdef LIG", condition)).unwrap();
        let error = read_at(&path).unwrap_err();
        assert!(error.message().contains("more than a name"), "{error}");
    }
    read(&[], &text.replace("#ifdef LIG", " # ifdef LIG ").replace("#endif", "#endif ; a"));
}

/// Lines are joined before comments are taken out of them, but for directives and parts that are left out: bonds of the
/// chain by GROMACS 2022.5.
#[test]
fn comments_go_on_after_a_backslash() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.top");
    let bonds = |rows: &str| -> Result<Vec<u32>, Error> {
        let old = "1 2 1 0.15 1000\n2 3 1 0.15 1000\n3 4 1 0.15 1000\n";
        fs::write(&path, chain("1 2 yes 1 1", WELLS, "").replace(old, rows)).unwrap();
        let found = read_at(&path)?;
        let is_bond = |kind: u32| {
            let harmonic = |term: &&BondedTerm<BondKind>| term.term() == "bond-harmonic";
            found
                .forces
                .bonds
                .iter()
                .find(harmonic)
                .is_some_and(|term| term.parameters(kind as usize).is_some())
        };
        let bonds = found.topology.bonds.iter().filter(|bond| is_bond(bond.kind));
        Ok(bonds.map(|bond| bond.atoms[0]).collect())
    };
    let row = |n: usize| format!("{n} {} 1 0.15 1000", n + 1);
    let [one, two, three] = [1, 2, 3].map(row);
    for (rows, atoms) in [
        (format!("{one}\n; a \\\n{two}\n{three}\n"), &[0, 2][..]),
        (format!("{one} ; a \\ \n{two} \\\n{three}\n"), &[0]),
        (format!("{one}\n2 3 1 \\\n0.15 1000 ; a\n{three}\n"), &[0, 1, 2]),
        (format!("{one}\n#ifdef NOT\n; a \\\n#endif\n{two}\n{three}\n"), &[0, 1, 2]),
        (format!("#define W 0.15 1000 ; a \\\n1 2 1 W\n{two}\n{three}\n"), &[0, 1, 2]),
    ] {
        assert_eq!(bonds(&rows).unwrap(), atoms, "{rows}");
    }
    let error = bonds(&format!("{one}\n; a \\\n#ifdef NOT\n{two}\n#endif\n")).unwrap_err();
    assert!(error.message().contains("ends in a backslash"), "{error}");
    assert_eq!(error.place().unwrap().line, Some(18), "{error}");
}
