//! Bead-spring chains: a melt built from nothing has the published size and pressure, and runs go
//! on as if they had never stopped.

use jostle_engine::model::{StageInput, ThermostatInput};
use jostle_engine::{Existing, Outcome, Overrides, Simulation};
use jostle_io::Input;
use std::cell::Cell;
use std::path::Path;

fn melt(chains: usize, beads: usize, more: &str) -> Input {
    let text = format!(
        r#"
units = "lj"
[system]
place = "chains"
chains = {chains}
beads = {beads}
density = 0.85
bond_length = 0.97
temperature = 1
seed = 7
[species.bead]
[[force]]
kind = "soft-sphere"
pairs."bead-bead" = {{ epsilon = 1, sigma = 1 }}
[[bond]]
kind = "fene"
types.chain = {{ stiffness = 30, longest = 1.5 }}
{more}
[run]
device = "cpu"
threads = 1
reproducible = true
"#
    );
    Input::parse(Path::new("melt.toml"), &text).unwrap()
}

/// K. Kremer and G. S. Grest, J. Chem. Phys. 92 (1990) 5057: melts of chains of 10 beads have a
/// mean-square end-to-end distance of 13.1 and a pressure of 5.20. (Their values as they are quoted
/// in the sample `kremerGrest.tcl` of ESPResSo 3.)
#[test]
fn chains_of_ten_beads_are_as_large_as_published() {
    let (chains, beads) = (100, 10);
    let mut simulation = Simulation::from_input(&melt(chains, beads, ""), &Overrides::default()).unwrap();
    let thermostat = ThermostatInput::langevin(1.0, 0.5);
    let stage =
        |name: String, steps| StageInput::dynamics(name, steps, 0.01).thermostat(thermostat).thermo(20);
    simulation.add_stage(stage("relax".into(), 15_000));
    simulation.run().unwrap();
    let samples = 30;
    let (mut size, mut pressure) = (Vec::new(), 0.0);
    for k in 0..samples {
        simulation.add_stage(stage(format!("sample-{k}"), 2000));
        simulation.run().unwrap();
        let r = simulation.unwrapped_positions().unwrap();
        let square = |c: usize| {
            let (a, b) = (r[c * beads], r[(c + 1) * beads - 1]);
            (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>()
        };
        size.push((0..chains).map(square).sum::<f64>() / chains as f64);
        let averages = &simulation.reports()[k + 1].averages;
        let found = averages.iter().find(|a| a.quantity == "pressure").unwrap();
        pressure += found.estimate.unwrap().mean / samples as f64;
    }
    let mean = size.iter().sum::<f64>() / samples as f64;
    let spread = size.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / samples as f64;
    // Samples are 20 time units apart: some of them know of the ones before.
    let error = (3.0 * spread / samples as f64).sqrt();
    println!("mean-square end-to-end distance {mean:.2} +- {error:.2}, pressure {pressure:.3}");
    assert!(error < 0.5, "{error}");
    assert!((mean - 13.1).abs() < 4.0 * error, "{mean} +- {error} is not 13.1");
    assert!((pressure / 5.20 - 1.0).abs() < 0.02, "a pressure of {pressure}");
}

#[test]
fn a_run_in_pieces_equals_one_in_a_whole() {
    let stages = r#"
[[angle]]
kind = "cosine"
types.chain = { stiffness = 1.5 }
[[stage]]
steps = 60
timestep = 0.005
thermostat = { kind = "langevin", temperature = 1 }
thermo = { every = 1 }
"#;
    let input = melt(20, 12, stages);
    let folder = tempfile::tempdir().unwrap();
    let run = |name: &str, interval: Option<u64>| {
        let folder = folder.path().join(name);
        let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
        simulation.write_to(&folder, Existing::Refuse).unwrap();
        loop {
            let asked = Cell::new(0);
            let stop = || {
                asked.set(asked.get() + 1);
                interval.is_some_and(|n| asked.get() >= n)
            };
            match simulation.run_with(&mut (), &stop).unwrap() {
                Outcome::Finished => return (simulation, folder),
                Outcome::Interrupted => {
                    drop(simulation);
                    simulation = Simulation::resume(&folder, &Overrides::default()).unwrap();
                }
            }
        }
    };
    let ((mut whole, a), (mut pieces, b)) = (run("whole", None), run("pieces", Some(13)));
    assert_eq!(whole.unwrapped_positions().unwrap(), pieces.unwrapped_positions().unwrap());
    assert_eq!(pieces.topology().bonds.len(), 20 * 11);
    let rows = |folder: &Path| std::fs::read_to_string(folder.join("thermo.csv")).unwrap();
    assert_eq!(rows(&a), rows(&b));
    assert!(rows(&a).lines().next().unwrap().contains("bond_fene"), "{}", rows(&a));
    assert!(rows(&a).lines().next().unwrap().contains("angle_cosine"));
}
