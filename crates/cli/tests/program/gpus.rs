//! Runs on several GPUs, which are emulated: rows and bits are those of one.

use crate::jostle::{Desk, Finished, repository};

const LIQUID: &str = "units = \"lj\"\n[run]\nprecision = \"double\"\nreproducible = true\n[system]\nlattice = \"fcc\"\n\
    atoms = 256\ndensity = 0.5\ntemperature = 1.8\n[species.A]\nmass = 1\n[[force]]\nkind = \"lennard-jones\"\ncutoff = 2\n\
    pairs.\"A-A\" = { epsilon = 1, sigma = 1 }\n";

/// Rows of a run on these devices.
fn rows(desk: &Desk, input: &str, device: &str) -> String {
    let folder = device.replace(':', "-");
    let arguments = ["run", input, "--device", device, "--output", &folder, "--overwrite"];
    let mut command = desk.command(&arguments);
    let output = command.env("JOSTLE_EMULATED_GPU", repository("target/emulated")).output();
    let finished = Finished::of(output.unwrap());
    assert_eq!(finished.code, Some(0), "{}", finished.stderr);
    desk.read(&format!("{folder}/thermo.csv"))
}

/// A thermostat that needs all atoms in each step does not divide motion, the stage after it does: lists are built at the
/// same steps all the same, since atoms are put into the box there, which rounds their positions.
#[test]
fn stages_have_the_bits_of_one_gpu() {
    let desk = Desk::new();
    let stages = "[[stage]]\nname = \"heat\"\nsteps = 20\ntimestep = 0.002\nthermo = { every = 1 }\n\
        thermostat = { kind = \"bussi\", temperature = 1.8, period = 0.12 }\n\
        [[stage]]\nname = \"free\"\nsteps = 200\ntimestep = 0.002\nthermo = { every = 1 }\n";
    desk.write("x.toml", format!("{LIQUID}{stages}"));
    let one = rows(&desk, "x.toml", "cuda");
    assert_eq!(one, rows(&desk, "x.toml", "cuda:0,1"));
}

/// Variables on which no bias acts, and which the host evaluates, have the values of each row.
#[test]
fn variables_without_a_bias_follow_the_atoms() {
    let desk = Desk::new();
    let more = "[[variable]]\nname = \"d\"\nkind = \"distance\"\nbetween = [\"index 0\", \"index 30\"]\n\
        [[variable]]\nname = \"turn\"\nkind = \"rotation\"\natoms = \"index 0 to 9\"\naxis = \"z\"\n\
        [[stage]]\nname = \"free\"\nsteps = 60\ntimestep = 0.004\nthermo = { every = 10 }\n";
    desk.write("x.toml", format!("{LIQUID}{more}"));
    let column = |rows: &str, name: &str| -> Vec<f64> {
        let mut lines = rows.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let at =
            lines.next().unwrap().iter().position(|column| column.split(' ').next() == Some(name)).unwrap();
        lines.map(|line| line[at].parse().unwrap()).collect()
    };
    let on_cpu = rows(&desk, "x.toml", "cpu");
    for device in ["cuda", "cuda:0,1"] {
        let rows = rows(&desk, "x.toml", device);
        for name in ["d", "turn", "potential"] {
            let [found, right] = [&rows, &on_cpu].map(|rows| column(rows, name));
            assert_eq!(found.len(), 7);
            for (found, right) in found.iter().zip(&right) {
                assert!(
                    (found - right).abs() < 1e-7 * right.abs().max(1.0),
                    "{device} {name}: {found} {right}"
                );
            }
        }
    }
}
