//! Selections: which atoms words choose, and what is said of words that choose none.

use jostle_core::{
    AtomName, Bond, Constraint, Names, Residue, SimBox, Species, System, Topology, UnitSystem,
};
use jostle_io::Selection;
use jostle_io::select::keywords;

/// An alanine (N CA C O CB), a DNA sugar (C1' O4' N9), two waters, one of them across the edge, a
/// sodium ion; stored in another order than that of ids.
fn sample() -> System {
    let species = |name: &str, mass: f64, charge| Species {
        name: name.into(),
        mass: UnitSystem::Real.mass_from_user(mass),
        charge,
    };
    let kinds = vec![
        species("c", 12.011, 0.0),
        species("n", 14.007, -0.5),
        species("o", 15.999, -0.8),
        species("h", 1.008, 0.4),
        species("Na+", 22.99, 1.0),
    ];
    let mut system = System::new(SimBox::orthorhombic([20.0; 3]).unwrap(), kinds);
    let residue = |name: &str, number, chain: &str| Residue {
        name: name.into(),
        number,
        chain: chain.into(),
        ..Residue::default()
    };
    let residues = vec![
        residue("ALA", 7, "A"),
        residue("XXX", -2, "B"),
        residue("HOH", 101, "W"),
        residue("FOO", 102, "W"),
        residue("NA", 103, "I"),
    ];
    let atoms: [(&str, &str, u32, u16, [f64; 3]); 15] = [
        ("N", "N", 0, 1, [1.0, 1.0, 1.0]),
        ("CA", "C", 0, 0, [2.0, 1.0, 1.0]),
        ("C", "C", 0, 0, [3.0, 1.0, 1.0]),
        ("O", "O", 0, 2, [3.0, 2.0, 1.0]),
        ("CB", "C", 0, 0, [2.0, 2.0, 1.0]),
        ("C1'", "C", 1, 0, [10.0, 10.0, 10.0]),
        ("O4'", "O", 1, 2, [11.0, 10.0, 10.0]),
        ("N9", "N", 1, 1, [10.0, 11.0, 10.0]),
        ("OW", "O", 2, 2, [19.5, 1.0, 1.0]),
        ("HW1", "H", 2, 3, [19.5, 2.0, 1.0]),
        ("HW2", "H", 2, 3, [19.5, 0.0, 1.0]),
        ("OX", "O", 3, 2, [15.0, 15.0, 15.0]),
        ("HX1", "H", 3, 3, [15.0, 16.0, 15.0]),
        ("HX2", "H", 3, 3, [15.0, 14.0, 15.0]),
        ("NA", "Na", 4, 4, [5.0, 18.0, 5.0]),
    ];
    let mut names = Names { residues, ..Names::default() };
    for (name, element, residue, species, place) in atoms {
        names.atoms.push(AtomName { name: name.into(), element: element.into(), residue });
        system.state.push(species, place);
    }
    let bond = |atoms: [u32; 2]| Bond { kind: 0, atoms };
    let held = |atoms: [u32; 2]| Constraint { atoms, length: 1.0 };
    system.topology = Topology {
        bonds: [[0, 1], [1, 2], [2, 3], [1, 4], [5, 6], [5, 7]].map(bond).to_vec(),
        constraints: [[8, 9], [8, 10], [9, 10], [11, 12], [11, 13], [12, 13]].map(held).to_vec(),
        ..Topology::default()
    };
    system.names = names;
    let n = system.state.len() as u32;
    system.state.permute(&(0..n).rev().collect::<Vec<_>>());
    system
}

fn ids(text: &str) -> Vec<u32> {
    let selection = Selection::parse(text).unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
    selection.ids(&sample(), UnitSystem::Real).unwrap_or_else(|fault| panic!("{text}: {fault:?}"))
}

#[test]
fn words_choose_what_they_say() {
    for (text, expected) in [
        ("protein", vec![0, 1, 2, 3, 4]),
        ("protein and name CA", vec![1]),
        ("backbone", vec![0, 1, 2, 3]),
        ("sidechain", vec![4, 5, 6, 7]),
        ("nucleic", vec![5, 6, 7]),
        ("water", vec![8, 9, 10, 11, 12, 13]),
        ("waters and not resname HOH", vec![11, 12, 13]),
        ("ion", vec![14]),
        ("hydrogen", vec![9, 10, 12, 13]),
        ("none", vec![]),
        ("name C*", vec![1, 2, 4, 5]),
        ("name \"C*\"", vec![]),
        ("name HX? 'OX'", vec![11, 12, 13]),
        ("name O4'", vec![6]),
        ("element Na", vec![14]),
        ("species Na+ n", vec![0, 7, 14]),
        ("resid -2", vec![5, 6, 7]),
        ("resid -5 to 7 and element C", vec![1, 2, 4, 5]),
        ("chain W and element O", vec![8, 11]),
        ("index 3 5 to 7", vec![3, 5, 6, 7]),
        ("index 12 4 to 9 1 to 8 3", vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 12]),
        ("serial 1 2", vec![0, 1]),
        ("residue 4", vec![14]),
        ("molecule 2", vec![8, 9, 10]),
        ("charge > 0.5", vec![14]),
        ("mass = 22.99", vec![14]),
        ("x>=19.5", vec![8, 9, 10]),
        ("x != 19.5 and y >= 16", vec![12, 14]),
    ] {
        assert_eq!(ids(text), expected, "{text}");
    }
    assert_eq!(ids("all").len(), 15);
}

#[test]
fn words_are_joined_in_their_order() {
    assert_eq!(ids("index 1 or index 2 and index 3"), [1]);
    assert_eq!(ids("(index 1 or index 2) and index 2"), [2]);
    assert_eq!(ids("not index 0 to 12 and not index 14"), [13]);
    assert_eq!(ids("not (index 0 to 12 or index 14)"), [13]);
    // The operand right behind an operator belongs to it, and no more.
    assert_eq!(ids("within 2.1 of name CA and element O"), [3]);
    assert_eq!(ids("within 1.1 of (name CA and element O)"), [] as [u32; 0]);
    assert_eq!(ids("same residue as name CA and element C"), [1, 2, 4]);
    assert_eq!(ids("same molecule as index 9"), [8, 9, 10]);
    assert_eq!(ids("same resname as index 12"), [11, 12, 13]);
    assert_eq!(ids("same mass as index 14"), [14]);
}

#[test]
fn nearness_knows_the_nearest_image_and_any_reach() {
    assert_eq!(ids("within 1.6 of index 0"), [0, 1, 4, 8]);
    assert_eq!(ids("water and within 2 of index 0"), [8, 9, 10]);
    assert_eq!(ids("within 1e9 of index 0").len(), 15);
    assert_eq!(ids("within 3 of none"), [] as [u32; 0]);
}

/// Names in a system of species alone are those of the species, and elements follow from them.
#[test]
fn species_do_for_names() {
    let mut system = sample();
    system.names = Names::default();
    for (species, name) in system.species.iter_mut().zip(["C", "N", "OW", "HW", "Na+"]) {
        species.name = name.into();
    }
    let ids = |text: &str| Selection::parse(text).unwrap().ids(&system, UnitSystem::Real);
    assert_eq!(ids("water").unwrap(), [8, 9, 10, 11, 12, 13]);
    assert_eq!(ids("name HW and molecule 3").unwrap(), [12, 13]);
    assert_eq!(ids("protein").unwrap(), [] as [u32; 0]);
    assert_eq!(ids("ion").unwrap(), [14]);
    let fault = ids("resid 3").unwrap_err();
    assert_eq!((fault.span, fault.message.as_str()), (0..5, "the atoms of this system have no residues"));
}

#[test]
fn faults_point_at_the_place_and_say_what_is_near() {
    for (text, span, message, hint) in [
        (
            "protien and name CA",
            0..7,
            "there is no word \"protien\" in selections",
            "did you mean \"protein\"?",
        ),
        ("protein an name CA", 8..10, "there is something missing before \"an\"", "did you mean \"and\"?"),
        ("protein and", 11..11, "here should be a selection", ""),
        ("(index 3", 0..1, "there is no \")\" for this \"(\"", "add it"),
        ("index 3)", 7..8, "there is no \"(\" for this \")\"", ""),
        ("name and index 3", 5..8, "here should be a name", ""),
        ("index three", 6..11, "here should be a number, not \"three\"", ""),
        ("index 1.5", 6..9, "numbers of \"index\" are whole, not 1.5", "for example \"index 1\""),
        ("molecule 1 to 2.5", 14..17, "numbers of \"molecule\" are whole, not 2.5", ""),
        ("resid < -0.5", 8..12, "numbers of \"resid\" are whole, not -0.5", ""),
        ("x >", 3..3, "here should be a number", ""),
        ("resid 7 12 to 3", 8..15, "this range ends before it begins", "write 3 to 12"),
        ("within 5 protein", 9..16, "here should be \"of\"", "write within 5 of protein"),
        ("within -1 of all", 7..9, "nothing is within -1", ""),
        ("same protein as all", 5..12, "\"protein\" is nothing that atoms share", ""),
        ("name 'CA", 5..8, "a quote is not closed", ""),
        ("", 0..0, "here should be a selection", ""),
        (
            "name CA, CB",
            7..8,
            "names are separated by spaces, not by a comma",
            "write CA; a name with a comma",
        ),
        ("resname ALA,GLY", 11..12, "names are separated by spaces, not by a comma", "write ALA GLY; a name"),
        ("name CA , CB", 8..9, "names are separated by spaces, not by a comma", "leave it out"),
        ("resid 1, 2", 6..8, "numbers are separated by spaces, not by a comma", "write 1"),
        ("within nan of all", 7..10, "here should be a number, not \"nan\"", "resid 1 to 10"),
        ("x < inf", 4..7, "here should be a number, not \"inf\"", ""),
        ("index 2,3", 6..9, "numbers are separated by spaces, not by a comma", "write 2 3"),
        ("index 1 2,3", 8..11, "there is something missing before \"2,3\"", ""),
        ("name é or )", 11..12, "here should be a selection, not \")\"", ""),
    ] {
        let fault = Selection::parse(text).unwrap_err();
        assert_eq!((fault.span, fault.message.as_str()), (span, message), "{text}");
        assert!(fault.hint.contains(hint), "{text}: {}", fault.hint);
    }
    // A comma in quotes is a part of the name.
    assert!(Selection::parse("name \"CA,\" 'C,B'").is_ok());
    let deep = "(".repeat(100_000);
    assert_eq!(Selection::parse(&deep).unwrap_err().message, "this is nested too deeply");
    let long = vec!["index 1"; 100_000].join(" or ");
    assert_eq!(ids(&long), [1]);
}

/// Chains of a system that has none are refused, not an empty choice.
#[test]
fn chains_have_to_be_there() {
    let mut system = sample();
    system.names.residues.iter_mut().for_each(|residue| residue.chain.clear());
    for (text, span) in [("chain A", 6..7), ("not segid A", 10..11), ("same chain as name CA", 5..10)] {
        let fault = Selection::parse(text).unwrap().ids(&system, UnitSystem::Real).unwrap_err();
        assert_eq!((fault.span, fault.message.as_str()), (span, "the atoms of this system have no chains"));
    }
    system.names.residues[1].chain = "B".into();
    let ids = |text: &str| Selection::parse(text).unwrap().ids(&system, UnitSystem::Real).unwrap();
    assert_eq!(ids("chain A"), [] as [u32; 0]);
    assert_eq!(ids("chain B"), [5, 6, 7]);
}

#[test]
fn what_is_not_there_is_said() {
    let some =
        |text: &str| Selection::parse(text).unwrap().some_ids(&sample(), UnitSystem::Real).unwrap_err();
    let fault = some("species Ma+");
    assert_eq!((fault.span, fault.hint.as_str()), (8..11, "did you mean \"Na+\"?"));
    let fault = some("protein and name CX1");
    assert_eq!((fault.span, fault.message.as_str()), (0..20, "no atom is selected"));
    assert!(fault.hint.starts_with("nothing is called \"CX1\""), "{}", fault.hint);
}

/// The help names every word, and every word can be read.
#[test]
fn every_word_is_explained_and_read() {
    let help = keywords::help();
    for word in keywords::all() {
        assert!(help.contains(word), "{word}");
    }
    for word in keywords::KEYWORDS {
        for name in word.names {
            let rest = match word.meaning {
                keywords::Meaning::Class(_) => "",
                keywords::Meaning::Text(_) | keywords::Meaning::Groups => " \"x\"",
                keywords::Meaning::Number(_) => " < 3",
            };
            assert!(Selection::parse(&format!("{name}{rest}")).is_ok(), "{name}");
        }
    }
}
