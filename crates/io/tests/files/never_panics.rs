//! Reading a file of any contents gives a value or an error, never a panic.

use jostle_core::quantity::parse_quantity;
use jostle_core::{Dimension, UnitSystem};
use jostle_io::structure::Reading;
use jostle_io::{Input, Structure};
use proptest::prelude::*;
use std::path::Path;

const INPUT: &str = r#"title = "Na+ and Cl-"
units = "real"
[system]
place = "random"
atoms = 1_000
box = { lengths = ["3 nm", 30, 30.0], tilts = [1, 0, 0] }
temperature = "300 K"
periodic = [true, true, true]
[species."Na+"]
mass = 22.99
fraction = 0.5
[species.'Cl-']
mass = 35.453
fraction = 0.5
[[force]]
kind = "lennard-jones"
cutoff = 9
truncation = "switched"
switch_from = 0.8
mixing = "lorentz-berthelot"
pairs."Na+-Na+" = { epsilon = "0.1 kcal/mol", sigma = 2.35 }
pairs."Cl--Cl-" = { epsilon = "50 K", sigma = "4.4 Å" }
[[stage]]
name = "melt"
minimize = { steps = 100 }
[[stage]]
steps = 0xff
timestep = "2 fs"
thermostat = { kind = "langevin", temperature = 300, friction = "1 /ps" }
trajectory = { every = 1e3 }
"#;

const DATA: &str = "title\n\n2 atoms\n2 atom types\n0 10 xlo xhi\n0 10 ylo yhi\n0 10 zlo zhi\n1 0 0 xy xz yz\n
Atom Type Labels\n\n1 Na\n2 Cl\n\nMasses\n\n1 22.99 # Na\n2 35.453\n\nPair Coeffs # lj/cut\n\n1 1 1\n
Atoms # full\n\n1 1 1 1.0 1.0 2.0 3.0 0 0 0\n2 1 Cl -1.0 11.5 2.0 3.0 0 -1 2\n\nVelocities\n\n1 1 1 1\n2 0 0 0\n";

const XYZ: &str = "2\nLattice=\"10 0 0 1 9 0 0 0 8\" Properties=species:S:1:pos:R:3:velo:R:3:charge:R:1 pbc=\"T T F\" note={a b}\n\
Na 1 2 3 0.1 0.2 0.3 1\nCl 4 5 6 0 0 0 -1\n1\ncomment\nAr 0 0 0\n";

/// Pieces that parsers stumble over.
fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<char>().prop_map(String::from),
        "[-+0-9.eE_xinfna \"'=#\\[\\]{}\n:,]{1,6}",
        Just("-1".to_string()),
        Just("1e999".to_string()),
        Just("18446744073709551616".to_string()),
        Just("nan".to_string()),
        Just("\"\"\"".to_string()),
        Just("2147483648".to_string()),
        Just("1e-320".to_string()),
    ]
}

/// A text with some of its parts replaced.
pub(crate) fn mutated(text: &str) -> impl Strategy<Value = String> + use<> {
    let text = text.to_string();
    let change = (any::<prop::sample::Index>(), 0usize..12, piece());
    prop::collection::vec(change, 1..5).prop_map(move |changes| {
        let mut chars: Vec<char> = text.chars().collect();
        for (at, length, piece) in changes {
            let start = at.index(chars.len() + 1);
            let end = (start + length).min(chars.len());
            chars.splice(start..end, piece.chars());
        }
        chars.into_iter().collect()
    })
}

fn input(text: &str) {
    match Input::parse(Path::new("in.toml"), text) {
        Ok(input) => {
            let completed = input.completed().unwrap();
            Input::parse(Path::new("in.toml"), &completed).unwrap_or_else(|e| panic!("{e}\n{completed}"));
        }
        Err(error) => {
            let place = error.place().expect("every error of an input has a place");
            let span = place.span.clone().expect("and a span");
            assert!(span.start <= span.end && span.end <= text.len(), "{span:?} of {}", text.len());
            assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end), "{error}");
        }
    }
}

fn structure(name: &str, bytes: &[u8]) {
    for periodic in [None, Some([true; 3]), Some([false; 3])] {
        let reading = Reading { units: UnitSystem::Real, types: &[], periodic };
        match Structure::parse(Path::new(name), bytes, reading) {
            Ok(read) => {
                assert!(read.state.position.iter().flatten().all(|x| x.is_finite()));
                assert_eq!(read.state.velocity.len(), read.state.len());
                assert!(read.state.species.iter().all(|s| usize::from(*s) < read.species.len()));
            }
            Err(error) => assert!(error.place().is_some(), "{error}"),
        }
    }
}

#[test]
fn the_unchanged_texts_are_good() {
    Input::parse(Path::new("in.toml"), INPUT).unwrap();
    let reading = Reading { units: UnitSystem::Real, types: &[], periodic: None };
    Structure::parse(Path::new("a.data"), DATA.as_bytes(), reading).unwrap();
    Structure::parse(Path::new("a.xyz"), XYZ.as_bytes(), reading).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn mutated_inputs(text in mutated(INPUT)) {
        input(&text);
    }

    #[test]
    fn mutated_lammps_data(text in mutated(DATA)) {
        structure("a.data", text.as_bytes());
    }

    #[test]
    fn mutated_xyz(text in mutated(XYZ)) {
        structure("a.xyz", text.as_bytes());
    }

    #[test]
    fn arbitrary_text(text in "\\PC{0,200}") {
        input(&text);
        structure("a.data", text.as_bytes());
        structure("a.xyz", text.as_bytes());
    }

    #[test]
    fn arbitrary_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        structure("a", &bytes);
        structure("a.data", &bytes);
        structure("a.xyz", &bytes);
    }

    #[test]
    fn quantities(text in "[-+0-9.eE_]{0,8} {0,2}[a-zA-Zµ°/^*0-9 -]{0,12}") {
        for units in UnitSystem::ALL {
            for wanted in [Dimension::ENERGY, Dimension::LENGTH, Dimension::NUMBER_DENSITY] {
                if let Ok((value, _)) = parse_quantity(&text, &[wanted], units) {
                    prop_assert!(value.is_finite());
                }
            }
        }
    }
}
