//! Rigid molecules and virtual sites on ranks with domains, through all ensembles, minimisers and restarts.

use super::{Division, ONE, assert_close, double, results, run, run_on};
use crate::fixtures::{column, stop_every};
use jostle_engine::{Existing, Outcome, Simulation};
use jostle_io::Input;
use std::path::{Path, PathBuf};

/// Water of three or four sites, minimised, then through thermostats and barostats.
pub fn water(sites: Sites, electrostatics: &str) -> Input {
    let (of_site, others, charges) = match sites {
        Sites::Three => (
            "",
            &["O-H", "H-H"][..],
            "[species.O]\nmass = 16\ncharge = -0.8476\n[species.H]\nmass = 1\ncharge = 0.4238\n",
        ),
        Sites::Four => (
            "site_distance = 0.1546\n",
            &["O-H", "H-H", "O-M", "H-M", "M-M"][..],
            "[species.O]\nmass = 16\n[species.H]\nmass = 1\ncharge = 0.5564\n[species.M]\ncharge = -1.1128\n",
        ),
    };
    let no_pairs: String = others.iter().map(|pair| format!("pairs.\"{pair}\" = \"none\"\n")).collect();
    let mut text = format!(
        r#"
units = "real"
[system]
place = "water"
molecules = 216
bond_length = 1.0
bond_angle = 109.47
{of_site}density = "0.997 g/cm3"
temperature = 300
seed = 7
{charges}
[[force]]
kind = "lennard-jones"
cutoff = 8
tail_correction = true
pairs."O-O" = {{ epsilon = 0.1553, sigma = 3.166 }}
{no_pairs}[electrostatics]
cutoff = 8
{electrostatics}
[[stage]]
name = "minimise"
minimize = {{ steps = 10, force_tolerance = 5 }}
"#
    );
    let bussi = r#"thermostat = { kind = "bussi", temperature = 300, period = "0.1 ps" }"#;
    for (name, settings) in [
        ("langevin", r#"thermostat = { kind = "langevin", temperature = 300, friction = 0.05 }"#.to_string()),
        (
            "nose-hoover",
            r#"thermostat = { kind = "nose-hoover", temperature = 300, period = "0.1 ps" }"#.into(),
        ),
        (
            "rescaling",
            format!(
                "{bussi}\nbarostat = {{ kind = \"cell-rescaling\", pressure = \"1 bar\", compressibility = \"4.5e-5 1/bar\", every = 5 }}"
            ),
        ),
        (
            "monte-carlo",
            format!("{bussi}\nbarostat = {{ kind = \"monte-carlo\", pressure = \"1 bar\", every = 5 }}"),
        ),
        ("sample", String::from(if electrostatics.contains("pme") { "long_range_every = 2" } else { "" })),
    ] {
        text += &format!(
            "[[stage]]\nname = \"{name}\"\nsteps = 10\ntimestep = 1\nthermo = {{ every = 4 }}\n{settings}\n"
        );
    }
    Input::parse(Path::new("water.toml"), &text).unwrap()
}

/// Points of a molecule of water.
#[derive(Debug, Clone, Copy)]
pub enum Sites {
    Three,
    Four,
}

/// Ways to sum charges.
const METHODS: [&str; 2] = ["kind = \"reaction-field\"\ndielectric = 78", "kind = \"pme\""];

#[test]
fn molecules_are_those_of_one_process() {
    let divisions = [Division { ranks: 4, threads: 1, ..ONE }, Division { ranks: 3, threads: 2, ..ONE }];
    for (k, method) in METHODS.into_iter().enumerate() {
        for (sites, division) in
            [Sites::Three, Sites::Four].into_iter().zip([divisions[k % 2], divisions[1 - k % 2]])
        {
            let input = double(&water(sites, method));
            let (many, device) = run_on(&input, 10, division);
            assert!(device.contains("domains"), "{device}");
            assert_close(&run(&input, 10, ONE), &many, 1e-8, &format!("{sites:?}, {method}, {device}"));
        }
    }
}

/// Checkpoints of rigid molecules in domains are those of one process, with whole molecules on every rank that goes on.
#[test]
fn molecules_go_on_with_another_number_of_ranks() {
    let input = double(&water(Sites::Four, METHODS[METHODS.len() - 1]));
    let whole = run(&input, 10, ONE);
    let folder = tempfile::tempdir().unwrap();
    let folder: PathBuf = folder.path().join("parts");
    let mut simulation =
        Simulation::from_input(&input, &Division { ranks: 3, threads: 1, ..ONE }.overrides(10)).unwrap();
    simulation.write_to(&folder, Existing::Refuse).unwrap();
    let mut next = [1, 4, 2].into_iter().cycle();
    while simulation.run_with(&mut (), &stop_every(7)).unwrap() == Outcome::Interrupted {
        drop(simulation);
        let division = Division { ranks: next.next().unwrap(), threads: 1, ..ONE };
        simulation = Simulation::resume(&folder, &division.overrides(10)).unwrap();
    }
    assert_close(&whole, &results(&mut simulation, &folder), 1e-7, "parts");
}

/// Energy of rigid molecules with charges on a mesh is conserved on four ranks, whose atoms migrate, and bonds keep
/// their lengths.
#[test]
fn molecules_keep_their_energy_and_lengths() {
    let text = water(Sites::Four, METHODS[1]).source.text;
    let text = text.replace("name = \"sample\"\nsteps = 10", "name = \"sample\"\nsteps = 400");
    // The first stages settle the molecules, without a barostat.
    let (begin, end) =
        (text.find("[[stage]]\nname = \"rescaling\""), text.find("[[stage]]\nname = \"sample\""));
    let text = format!("{}{}", &text[..begin.unwrap()], &text[end.unwrap()..]);
    let text = text.replace("name = \"langevin\"\nsteps = 10", "name = \"langevin\"\nsteps = 200");
    let input = Input::parse(Path::new("water.toml"), &text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("run");
    let mut simulation =
        Simulation::from_input(&input, &Division { ranks: 4, threads: 1, ..ONE }.overrides(1000)).unwrap();
    assert!(simulation.device().contains("domains"), "{}", simulation.device());
    simulation.write_to(&folder, Existing::Refuse).unwrap();
    assert_eq!(simulation.run().unwrap(), Outcome::Finished);
    let (conserved, kinetic) = (column(&folder, "conserved"), column(&folder, "kinetic"));
    let sample = |rows: &[f64]| rows[rows.len() - 80..].to_vec();
    let (conserved, kinetic) = (sample(&conserved), sample(&kinetic));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let drift = mean(&conserved[60..]) - mean(&conserved[..20]);
    assert!(drift.abs() < 2e-3 * mean(&kinetic), "{drift} of {}", mean(&kinetic));
    let positions = simulation.unwrapped_positions().unwrap();
    for molecule in positions.chunks_exact(4) {
        let distance = |a: usize, b: usize| {
            (0..3).map(|k| (molecule[a][k] - molecule[b][k]).powi(2)).sum::<f64>().sqrt()
        };
        let of_site = |k: usize| (distance(0, k) - 1.0).abs() < 1e-9;
        assert!(of_site(1) && of_site(2) && (distance(0, 3) - 0.1546).abs() < 1e-9, "{molecule:?}");
    }
}
