//! Keys without an effect, invented constants and energies that are never conserved are refused, with a hint.

use jostle_core::{Error, Result, Topology};
use jostle_io::Input;
use jostle_potentials::Forces;
use std::path::Path;

const SYSTEM: &str = "units = \"lj\"\n[system]\nlattice = \"sc\"\natoms = 64\ndensity = 0.5\n\
    periodic = [true, true, false]\n[species.A]\nmass = 2\ncharge = 3\nfraction = 0.5\nconstants = { w = 5 }\n\
    [species.B]\nmass = 4\nfraction = 0.5\nconstants = { w = 7 }\n";

fn forces(more: &str) -> Result<Forces> {
    let input = Input::parse(Path::new("input.toml"), &format!("{SYSTEM}{more}"))?;
    input.resolve_forces(&input.species_with_mass()?, &Topology::default(), 0.0)
}

/// The error says this, and its hint that; it points at a line.
fn refused<T>(found: Result<T>, words: &str, hint: &str) -> Error {
    let Err(error) = found else { panic!("accepted, without \"{words}\"") };
    assert!(error.to_string().contains(words), "{error}");
    assert!(error.help().is_some_and(|help| help.contains(hint)), "{error}: {:?}", error.help());
    assert!(error.place().is_some_and(|place| place.line.is_some()), "{error}");
    error
}

fn wall(energy: &str, more: &str) -> String {
    format!(
        "[[wall]]\naxis = \"z\"\nat = -1\natoms = \"above\"\n[wall.force]\nkind = \"formula\"\ncutoff = 3\n\
         energy = \"{energy}\"\n{more}"
    )
}

/// A wall has neither a mass nor a charge; those of the atom stay, on whichever side the pair has it.
#[test]
fn a_wall_has_no_constants() {
    for (name, own) in [("charge_b", "charge_a"), ("mass_b", "mass_a"), ("w_b", "w_a")] {
        let error = refused(forces(&wall(&format!("{name} exp(-r)"), "")), name, own);
        assert!(error.to_string().contains("wall, which has no"), "{error}");
        assert!(!error.help().unwrap().contains("[species.wall]"), "{error}");
    }
    let energy = |text: &str| {
        let forces = forces(text).unwrap();
        let term = &forces.walls[0].term;
        [0, 1].map(|species| term.evaluate(1.0, &term.coefficients(species, 2).unwrap()).0)
    };
    let decay = (-1.0f64).exp();
    for (text, factors) in [
        (wall("mass_a exp(-r)", ""), [2.0, 4.0]),
        (wall("charge_a exp(-r)", ""), [3.0, 0.0]),
        (wall("w_a exp(-r)", "pairs.\"A-wall\" = {}\n"), [5.0, 7.0]),
        (wall("w_b exp(-r)", "pairs.\"wall-A\" = {}\npairs.\"wall-B\" = {}\n"), [5.0, 7.0]),
        (wall("mass_a mass_b exp(-r)", "parameters = { mass_b = 10 }\n"), [20.0, 40.0]),
    ] {
        for (found, factor) in energy(&text).into_iter().zip(factors) {
            assert!((found - factor * decay).abs() < 1e-12, "{text}: {found} is not {factor} / e");
        }
    }
}

#[test]
fn energies_that_jump_are_refused() {
    let pair = |energy: &str| format!("[[force]]\nkind = \"formula\"\ncutoff = 2.5\nenergy = \"{energy}\"\n");
    let jump = "if(r < 1.5, 2, 0) + (1/r)^12";
    for text in [pair(jump), wall(jump, "")] {
        let error = refused(forces(&text), "jumps at r = 1.500000", "same energy");
        assert!(error.to_string().contains("from 2.00771 to 0.00770735"), "{error}");
    }
    for smooth in ["(1/r)^12", "exp(-50 r)", "4 (r^-12 - r^-6)", "abs(r - 1)", "max(0, 1 - r)^2"] {
        forces(&pair(smooth)).unwrap_or_else(|e| panic!("{smooth}: {e}"));
    }
}

#[test]
fn an_electric_field_needs_a_charge() {
    let field = "[[field]]\nelectric = [0, 0, 1]\n";
    forces(field).unwrap();
    forces(&format!("{field}species = [\"A\"]\n")).unwrap();
    refused(forces(&format!("{field}species = [\"B\"]\n")), "has a charge", "charge = ");
}

#[test]
fn only_fire_has_a_time_step() {
    let stage = |minimizer: &str| {
        let text =
            format!("{SYSTEM}[[stage]]\nname = \"rest\"\nminimize = {{ {minimizer}timestep = 0.01 }}\n");
        Input::parse(Path::new("input.toml"), &text)
    };
    stage("").unwrap();
    stage("minimizer = \"fire\", ").unwrap();
    for name in ["lbfgs", "conjugate-gradient"] {
        let error =
            refused(stage(&format!("minimizer = \"{name}\", ")), "\"timestep\" means nothing", "fire");
        assert!(error.to_string().contains(name), "{error}");
    }
}
