//! A part of a system on its own: atoms that move have the forces that they have in the whole, the shell stays.

use crate::enhanced::Chain;
use jostle_engine::build::extraction::{Extraction, sections_left_out};
use jostle_engine::build::system_files::SystemFiles;
use jostle_engine::{Overrides, Simulation, system_from_input};
use jostle_io::{Input, Selection};
use std::fs;

const CUTOFF: f64 = 0.6;

/// Charges of a part are those of the input where these have no images.
#[test]
fn charges_without_images_stay_what_they_are() {
    let chain = Chain::new();
    let input = whole(&chain);
    let (system, _) = system_from_input(&input).unwrap();
    let part = Extraction::of(&system, &[5], 0.5, input.units).unwrap();
    for (charges, expected) in [
        ("kind = \"reaction-field\"\ndielectric = 78", Some("kind = \"reaction-field\"\ndielectric = 78")),
        ("kind = \"cutoff\"", Some("[electrostatics]\nkind = \"cutoff\"")),
        ("kind = \"pme\"", Some("kind = \"reaction-field\"             # the rest")),
        ("kind = \"pme\"\nscreening_length = 0.2", None),
    ] {
        let text = input.source.text.replace("kind = \"reaction-field\"", charges);
        let changed = Input::parse(&input.source.path, &text).unwrap();
        match (part.files(&changed, &system, "part"), expected) {
            (Ok(files), Some(expected)) => assert!(files.input.contains(expected), "{}", files.input),
            (Err(error), None) => assert!(error.message().contains("screened"), "{error}"),
            (found, _) => panic!("{charges}: {}", found.is_ok()),
        }
    }
    let text = format!("{}[[group]]\nname = \"a\"\natoms = \"index 1\"\n", input.source.text);
    let changed = Input::parse(&input.source.path, &text).unwrap();
    assert_eq!(sections_left_out(&changed), ["[[group]]"]);
}

/// The chain in its box, with forces that end at the cut-off.
fn whole(chain: &Chain) -> Input {
    let text = format!(
        "units = \"nano\"\n[system]\ntopology = \"periodic.top\"\ncoordinates = \"chain.gro\"\nperiodic = true\nseed = 7\n\
         [[force]]\nkind = \"lennard-jones\"\ncutoff = {CUTOFF}\ntruncation = \"charmm-switched\"\nswitch_from = 0.8\n\
         [electrostatics]\nkind = \"reaction-field\"\ncutoff = {CUTOFF}\n\
         [[stage]]\nname = \"go\"\nsteps = 50\ntimestep = 0.0005\n\
         thermostat = {{ kind = \"langevin\", temperature = 250, friction = 1 }}\n[run]\nthreads = 1\nprecision = \"double\"\n"
    );
    let path = chain.folder().join("whole.toml");
    fs::write(&path, text).unwrap();
    Input::read(&path).unwrap()
}

/// With a shell thicker than the cut-off nothing that acts on the atoms that move is left out.
#[test]
fn atoms_that_move_have_the_forces_of_the_whole() {
    let chain = Chain::new();
    let input = whole(&chain);
    let (system, _) = system_from_input(&input).unwrap();
    let chosen = Selection::parse("index 5").unwrap().ids(&system, input.units).unwrap();
    let part = Extraction::of(&system, &chosen, 1.05 * CUTOFF, input.units).unwrap();
    assert_eq!(part.molten, [4, 5, 6, 7]);
    assert!(part.shell.contains(&3) && (5..40).contains(&part.shell.len()), "{part:?}");
    let SystemFiles { topology, coordinates, input: text } = part.files(&input, &system, "part").unwrap();
    let place = |name: &str| chain.folder().join(name);
    fs::write(place("part.top"), topology).unwrap();
    fs::write(place("part.gro"), coordinates).unwrap();
    fs::write(place("part.toml"), text + "[run]\nthreads = 1\nprecision = \"double\"\n").unwrap();
    let written = Input::read(&place("part.toml")).unwrap();
    let open = |input: &Input| Simulation::from_input(input, &Overrides::default()).unwrap();
    let forces = |mut simulation: Simulation| {
        simulation.evaluate().unwrap();
        simulation.forces().unwrap()
    };
    let (all, own) = (forces(open(&input)), forces(open(&written)));
    assert_eq!(own.len(), part.molten.len() + part.shell.len());
    for (k, id) in part.atoms().into_iter().enumerate().filter(|(_, id)| part.molten.contains(id)) {
        let (found, expected) = (own[k], all[id as usize]);
        assert!((found - expected).norm() < 1e-5 * expected.norm(), "{id}: {found:?}, not {expected:?}");
    }
    // Temperature and time step are those of the input.
    assert!(written.stages[1].value.temperatures() == Some([250.0; 2]));
    let mut simulation =
        Simulation::from_input(&written, &Overrides { most_steps: Some(20), ..Overrides::default() })
            .unwrap();
    let before = simulation.positions().unwrap();
    simulation.run().unwrap();
    let after = simulation.positions().unwrap();
    for (k, id) in part.atoms().into_iter().enumerate() {
        assert_eq!(before[k] == after[k], part.shell.contains(&id), "{id}");
    }
}

#[test]
fn systems_that_have_no_parts_are_refused() {
    let chain = Chain::new();
    let input = whole(&chain);
    let (system, _) = system_from_input(&input).unwrap();
    assert!(Extraction::of(&system, &[], 1.0, input.units).unwrap_err().message().contains("no atom"));
    let part = Extraction::of(&system, &[5], 0.3, input.units).unwrap();
    let text = input.source.text.replace("periodic = true", "periodic = true\nreplicate = [2, 1, 1]");
    let copies = Input::parse(&input.source.path, &text).unwrap();
    let error = part.files(&copies, &system, "part").unwrap_err();
    assert!(error.message().contains("copies of its atoms"), "{error}");
    // Parameters of the input would be lost.
    let own = "switch_from = 0.8\npairs.\"A-A\" = { epsilon = 1, sigma = 0.3 }";
    let text = input.source.text.replace("switch_from = 0.8", own);
    let changed = Input::parse(&input.source.path, &text).unwrap();
    let error = part.files(&changed, &system, "part").unwrap_err();
    assert!(error.message().contains("of the topology alone") && error.place().is_some(), "{error}");
}
