//! Bead-spring chains: a melt built from an input has the published chain size and pressure, and resumed runs
//! equal uninterrupted ones.

use crate::fixtures::{run_in_parts, thermo_csv};
use jostle_engine::model::{StageInput, ThermostatInput};
use jostle_engine::{Existing, Overrides, Simulation, system_from_input};
use jostle_io::Input;
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
    // Samples are 20 time units apart and somewhat correlated.
    let error = (3.0 * spread / samples as f64).sqrt();
    println!("mean-square end-to-end distance {mean:.2} +- {error:.2}, pressure {pressure:.3}");
    assert!(error < 0.5, "{error}");
    assert!((mean - 13.1).abs() < 4.0 * error, "{mean} +- {error} is not 13.1");
    assert!((pressure / 5.20 - 1.0).abs() < 0.02, "a pressure of {pressure}");
}

#[test]
fn a_resumed_run_equals_an_uninterrupted_one() {
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
    let run = |name: &str, interval| {
        let folder = folder.path().join(name);
        (run_in_parts(&input, &folder, interval), folder)
    };
    let ((mut whole, a), (mut parts, b)) = (run("whole", u64::MAX), run("parts", 13));
    assert_eq!(whole.unwrapped_positions().unwrap(), parts.unwrapped_positions().unwrap());
    assert_eq!(parts.topology().bonds.len(), 20 * 11);
    assert_eq!(thermo_csv(&a), thermo_csv(&b));
    assert!(thermo_csv(&a).lines().next().unwrap().contains("bond_fene"), "{}", thermo_csv(&a));
    assert!(thermo_csv(&a).lines().next().unwrap().contains("angle_cosine"));
}

/// Chains of a checkpoint of a periodic box are whole in a box that is open, and in one that is open along one axis they are
/// so along that axis.
#[test]
fn chains_of_a_checkpoint_are_whole_along_open_axes() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let stage = "[[stage]]\nname = \"go\"\nsteps = 20\ntimestep = 0.002\n";
    let mut simulation = Simulation::from_input(&melt(20, 10, stage), &Overrides::default()).unwrap();
    simulation.write_to(&run, Existing::Refuse).unwrap();
    simulation.run().unwrap();
    for periodic in [[false; 3], [true, true, false]] {
        let text = format!(
            "units = \"lj\"\n[system]\nfile = \"{}\"\nperiodic = {periodic:?}\n[[force]]\nkind = \"soft-sphere\"\n\
             pairs.\"bead-bead\" = {{ epsilon = 1, sigma = 1 }}\n[[bond]]\nkind = \"fene\"\n\
             types.chain = {{ stiffness = 30, longest = 1.5 }}\n{stage}",
            run.join("latest.checkpoint").display()
        );
        let input = Input::parse(Path::new("open.toml"), &text).unwrap();
        let (system, _) = system_from_input(&input).unwrap();
        let index_by_id = system.state.index_by_id();
        let position = |id: u32| system.state.position[index_by_id.of(id)];
        for bond in &system.topology.bonds {
            let [a, b] = bond.atoms.map(position);
            let open = (0..3).filter(|k| !periodic[*k]);
            assert!(
                open.map(|k| (b[k] - a[k]).powi(2)).sum::<f64>() < 1.5 * 1.5,
                "{periodic:?}: {a:?} {b:?}"
            );
        }
        assert!(system.state.image.iter().all(|image| *image == [0; 3]));
    }
}
