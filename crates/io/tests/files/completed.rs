//! The input with all defaults that `jostle check --full` prints is read again, and means the same.

use crate::input::meaning;
use jostle_io::Input;
use std::path::Path;

/// Completes an input twice: what is printed is read, at the place of the first, and says the same.
fn round_trip(path: &Path, text: &str) {
    let input = Input::parse(path, text).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let completed = input.completed().unwrap();
    let again =
        Input::parse(path, &completed).unwrap_or_else(|e| panic!("{}: {e}\n{completed}", path.display()));
    assert_eq!(meaning(&again), meaning(&input), "{completed}");
    let plain = |text: String| text.replace("  # default", "");
    assert_eq!(plain(again.completed().unwrap()), plain(completed));
}

#[test]
fn every_example_is_read_again() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut inputs = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            round_trip(&path, &std::fs::read_to_string(&path).unwrap());
            inputs += 1;
        }
    }
    assert!(inputs >= 20, "{inputs} examples");
}

const SYSTEM: &str = "units = \"lj\"\n[system]\nlattice = \"sc\"\natoms = 64\ndensity = 0.5\n\
    periodic = [true, true, false]\n[species.A]\nfraction = 0.5\ncharge = 1\n[species.B]\nfraction = 0.5\n\
    charge = -1\n";
const STAGE: &str = "[[stage]]\nsteps = 10\ntimestep = 0.001\n";

#[test]
fn fields_walls_and_tables_are_read_again() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("completed.toml");
    let row = |k: u32| {
        let r = 0.5 + 0.05 * f64::from(k);
        format!("{} {r} {} {}\n", k + 1, (2.5 - r).powi(2), 2.0 * (2.5 - r))
    };
    let table = format!("B\nN 41\n\n{}", (0..=40).map(row).collect::<String>());
    std::fs::write(path.with_file_name("a.table"), table).unwrap();
    let wall = "[[wall]]\naxis = \"z\"\nat = -1\natoms = \"above\"\n";
    for more in [
        "[[field]]\nforce = [0, 0, 1]\n".to_string(),
        "[[field]]\nacceleration = [0, 0, 1]\nspecies = [\"A\"]\n".to_string(),
        "[[field]]\nelectric = [0, 0, 1]\natoms = \"index 0 to 9\"\n".to_string(),
        "[[field]]\nenergy = \"k z^2 sin(time)\"\nparameters = { k = 2 }\nwork = \"recorded\"\n".to_string(),
        "[[field]]\nenergy = \"mass z\"\npositions = \"unwrapped\"\n".to_string(),
        format!("{wall}reflection = \"elastic\"\n"),
        format!("{wall}[wall.force]\nkind = \"soft-sphere\"\npairs.\"A-wall\" = {{ epsilon = 1, sigma = 1 }}\n\
             pairs.\"B-wall\" = \"none\"\n[wall.motion]\nvelocity = 0.1\nto = 5\n"),
        format!("{wall}force = {{ kind = \"lennard-jones\", cutoff = 2.5, truncation = \"switched\", \
             switch_from = 0.8, pairs.\"A-wall\" = {{ epsilon = 1, sigma = 1 }}, pairs.\"B-wall\" = {{ epsilon = 2, \
             sigma = 1, cutoff = 2 }} }}\n"),
        format!("{wall}[wall.force]\nkind = \"formula\"\nenergy = \"k exp(-r / l)\"\nparameters = {{ k = 2 }}\n\
             cutoff = 3\npairs.\"A-wall\" = {{ l = 0.4 }}\npairs.\"B-wall\" = {{ l = 0.3 }}\n"),
        format!("{wall}[wall.force]\nkind = \"table\"\npairs.\"A-wall\" = {{ file = \"a.table\" }}\n\
             pairs.\"B-wall\" = {{ file = \"a.table\", section = \"B\", cutoff = 2 }}\n"),
        "[[force]]\nkind = \"table\"\ncutoff = 2\npairs.\"A-A\" = { file = \"a.table\" }\npairs.\"A-B\" = \"none\"\n\
         pairs.\"B-B\" = { file = \"a.table\", section = \"B\" }\n"
            .to_string(),
        "[[force]]\nkind = \"formula\"\nenergy = \"charge_a charge_b coulomb / r\"\ncutoff = 2\ntabulate = true\n"
            .to_string(),
    ] {
        round_trip(&path, &format!("{SYSTEM}{more}{STAGE}"));
    }
    for minimize in ["minimizer = \"lbfgs\"", "minimizer = \"conjugate-gradient\"", "timestep = 0.01"] {
        round_trip(&path, &format!("{SYSTEM}[[stage]]\nname = \"rest\"\nminimize = {{ {minimize} }}\n"));
    }
}
