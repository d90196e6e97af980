//! Cut-offs of `[[force]]` at half the box.

use crate::fixtures::{Open, emulated};
use jostle_engine::{Overrides, Simulation, system_from_input};
use jostle_io::Input;
use std::path::Path;

fn argon(cutoff: &str, stage: &str) -> String {
    format!(
        r#"units = "lj"
[system]
lattice = "fcc"
cells = [3, 3, 4]
density = 0.8
temperature = 1
[species.A]
[[force]]
kind = "lennard-jones"
cutoff = {cutoff}
pairs."A-A" = {{ epsilon = 1, sigma = 1 }}
[[stage]]
steps = 20
timestep = 0.002
{stage}
[run]
precision = "double"
"#
    )
}

/// Half the smallest edge of the box: positions after some steps are those of the number itself, on both devices.
#[test]
fn half_the_box_is_a_cut_off() {
    let text = argon("\"half-box\"", "");
    let input = Input::parse(Path::new("argon.toml"), &text).unwrap();
    let (system, forces) = system_from_input(&input).unwrap();
    let half = 1.5 * (4.0f64 / 0.8).cbrt();
    let cutoff = forces.pairs[0].largest_cutoff();
    assert!(
        (cutoff / half - 1.0).abs() < 1e-14 && cutoff <= system.simbox.largest_cutoff(),
        "{cutoff} {half}"
    );
    let run = |text: &str, open: Open| {
        let input = Input::parse(Path::new("argon.toml"), text).unwrap();
        let mut simulation = Simulation::from_input_on(&input, &Overrides::default(), open).unwrap();
        simulation.run().unwrap();
        simulation.positions().unwrap()
    };
    let by_number = argon(&format!("{cutoff:?}"), "");
    for open in [emulated as Open, jostle_cpu::open as Open] {
        let (named, given) = (run(&text, open), run(&by_number, open));
        let apart = named.iter().zip(&given).map(|(a, b)| (*a - *b).norm()).fold(0.0, f64::max);
        assert!(apart < 1e-10, "{apart}");
    }
}

/// Every truncation is one at half the box, too, and an open box has none.
#[test]
fn truncations_at_half_the_box() {
    let system = |text: &str| system_from_input(&Input::parse(Path::new("argon.toml"), text)?);
    for truncation in ["shifted", "force-shifted", "switched", "charmm-switched"] {
        let text = argon(&format!("\"half-box\"\ntruncation = \"{truncation}\""), "");
        let (system, forces) = system(&text).unwrap();
        assert_eq!(forces.pairs[0].largest_cutoff(), system.simbox.largest_cutoff(), "{truncation}");
    }
    let open = argon("\"half-box\"", "").replace("density", "periodic = [false, false, false]\ndensity");
    let error = system(&open).map(|_| ()).unwrap_err();
    assert!(error.message().contains("a cut-off in a periodic box"), "{error}");
}

/// A box that changes has no half to cut at.
#[test]
fn half_of_a_changing_box_is_refused() {
    for stage in [
        "thermostat = { kind = \"bussi\", temperature = 1, period = 1 }\nbarostat = { kind = \"cell-rescaling\", pressure = 1, time = 1, compressibility = 0.1 }",
        "deform = { kind = \"shear\", plane = \"xy\", rate = 1e-3 }",
    ] {
        let error = Input::parse(Path::new("argon.toml"), &argon("\"half-box\"", stage)).unwrap_err();
        assert!(error.message().contains("its half would change with it"), "{error}");
        assert!(error.to_string().contains(":8"), "{error}");
    }
    let error = Input::parse(Path::new("argon.toml"), &argon("\"half\"", "")).unwrap_err();
    assert!(error.to_string().contains("half-box"), "{error}");
}
