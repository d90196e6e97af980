//! Metadynamics of several walkers, which share their hills by files.

use crate::fixtures::{Open, column, emulated, stop_every};
use jostle_core::Result;
use jostle_engine::{Existing, Outcome, Overrides, Simulation};
use jostle_io::Input;
use std::fs;
use std::path::Path;

/// A particle in a harmonic well in an open box, with hills along x.
fn text(walkers: &str, steps: u64) -> String {
    format!(
        r#"
units = "lj"
[system]
file = "one.xyz"
temperature = 1
seed = 3
[species.A]
mass = 1
[[variable]]
name = "x"
kind = "position"
atoms = "all"
axis = "x"
[[bias]]
name = "well"
kind = "harmonic"
variable = "x"
center = 1
stiffness = 4
[[bias]]
name = "meta"
kind = "metadynamics"
variables = ["x"]
width = 0.3
height = 0.2
every = 10
bias_factor = 5
temperature = 1
lower = -15
upper = 15
walkers = "{walkers}"
walkers_every = 20
[[stage]]
name = "go"
steps = {steps}
timestep = 0.01
thermo = {{ every = 10 }}
checkpoint = {{ every = 50 }}
[run]
threads = 1
precision = "double"
"#
    )
}

fn input(folder: &Path, walkers: &str, steps: u64) -> Input {
    let xyz =
        "1\nLattice=\"40 0 0 0 40 0 0 0 40\" Properties=species:S:1:pos:R:3 pbc=\"T T T\"\nA 1.4 0.1 0.1\n";
    fs::write(folder.join("one.xyz"), xyz).unwrap();
    Input::parse(&folder.join("walker.toml"), &text(walkers, steps)).unwrap()
}

fn run(input: &Input, to: &Path, open: Open) -> Result<Simulation> {
    let mut simulation = Simulation::from_input_on(input, &Overrides::default(), open)?;
    simulation.write_to(to, Existing::Refuse)?;
    assert_eq!(simulation.run()?, Outcome::Finished);
    Ok(simulation)
}

/// Copies the files of a run.
fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(|entry| entry.unwrap()) {
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Rows of a file of hills.
fn rows(path: &Path) -> Vec<Vec<f64>> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(' ').map(|x| x.parse().unwrap()).collect()).collect()
}

/// Energy of hills of several files at a place.
fn energy(files: &[Vec<Vec<f64>>], x: f64) -> f64 {
    // Heights in files are larger by gamma / (gamma - 1).
    let one = |hill: &Vec<f64>| 0.8 * hill[3] * (-0.5 * ((x - hill[1]) / hill[2]).powi(2)).exp();
    files.iter().flatten().map(one).sum()
}

const CPU: Open = |system, forces, settings| jostle_cpu::open(system, forces, settings);

/// A second walker begins with the hills of the first, on the host and on the emulated GPU; the conserved quantity has
/// their work. Half a line is left alone.
#[test]
fn a_walker_takes_the_hills_of_others() {
    for (name, open) in [("cpu", CPU), ("gpu", emulated as Open)] {
        let desk = tempfile::tempdir().unwrap();
        let folder = desk.path();
        let input = input(folder, "shared", 200);
        run(&input, &folder.join("first"), open).unwrap();
        let shared = folder.join("shared/meta.1.hills");
        let hills = rows(&shared);
        // The last hill is there, though it has yet to act: all that the run itself has.
        assert_eq!(hills, rows(&folder.join("first/meta.hills")), "{name}");
        assert_eq!(hills.len(), 20, "{name}");
        let mut with_half = fs::read_to_string(&shared).unwrap();
        with_half += "9.9 1.0 0.3 100";
        fs::write(&shared, with_half).unwrap();
        run(&input, &folder.join("second"), open).unwrap();
        // The first row has been written before any exchange, the second one has all hills there are.
        let found = column(&folder.join("second"), "bias_meta")[1];
        let x = column(&folder.join("second"), "x")[1];
        let factor = 5.0 / 4.0;
        let energy: f64 = hills
            .iter()
            .map(|hill| hill[3] / factor * (-0.5 * ((x - hill[1]) / hill[2]).powi(2)).exp())
            .sum();
        assert!((found - energy).abs() < 1e-2 * energy && energy > 0.5, "{name}: {found} {energy}");
        assert!(rows(&folder.join("shared/meta.2.hills")).len() >= 9, "{name}");
        let conserved = column(&folder.join("second"), "conserved");
        for value in &conserved[1..] {
            assert!((value - conserved[1]).abs() < 0.05, "{name}: {conserved:?}");
        }
    }
}

/// A run that is killed has written hills that its checkpoint does not have: they stand for those that it makes again.
#[test]
fn hills_of_a_lost_life_are_not_made_twice() {
    let desk = tempfile::tempdir().unwrap();
    let folder = desk.path();
    let (run, kept) = (folder.join("run"), folder.join("kept"));
    let mut simulation =
        Simulation::from_input(&input(folder, "shared", 200), &Overrides::default()).unwrap();
    simulation.write_to(&run, Existing::Refuse).unwrap();
    assert_eq!(simulation.run_with(&mut (), &stop_every(100)).unwrap(), Outcome::Interrupted);
    copy(&run, &kept);
    // Fifty steps more in the same life are lost.
    assert_eq!(simulation.run_with(&mut (), &stop_every(50)).unwrap(), Outcome::Interrupted);
    drop(simulation);
    fs::remove_dir_all(&run).unwrap();
    copy(&kept, &run);
    let lost = rows(&folder.join("shared/meta.1.hills"));
    assert!(lost.len() > rows(&kept.join("meta.hills")).len(), "{}", lost.len());
    let mut simulation = Simulation::resume(&run, &Overrides::default()).unwrap();
    assert_eq!(simulation.run().unwrap(), Outcome::Finished);
    let again = rows(&folder.join("shared/meta.2.hills"));
    let hills = rows(&run.join("meta.hills"));
    assert!(hills.len() == 20 && lost.len() + again.len() == 20, "{} {}", lost.len(), again.len());
    let (found, x) = (column(&run, "bias_meta"), column(&run, "x"));
    let energy = energy(&[hills[..19].to_vec()], *x.last().unwrap());
    assert!((found.last().unwrap() - energy).abs() < 2e-2 * energy, "{found:?} {energy}");
}

/// A run that is resumed writes another file, and one that is resumed twice is two walkers.
#[test]
fn a_run_that_is_resumed_twice_is_two_walkers() {
    let desk = tempfile::tempdir().unwrap();
    let folder = desk.path();
    let (run, lost) = (folder.join("run"), folder.join("lost"));
    let mut simulation =
        Simulation::from_input(&input(folder, "shared", 200), &Overrides::default()).unwrap();
    simulation.write_to(&run, Existing::Refuse).unwrap();
    let stopped = simulation.run_with(&mut (), &stop_every(100)).unwrap();
    assert_eq!(stopped, Outcome::Interrupted);
    drop(simulation);
    copy(&run, &lost);
    for (again, life) in [(&lost, 2), (&run, 3)] {
        let mut simulation = Simulation::resume(again, &Overrides::default()).unwrap();
        assert_eq!(simulation.run().unwrap(), Outcome::Finished);
        assert!(folder.join(format!("shared/meta.{life}.hills")).is_file());
    }
    let others = rows(&folder.join("shared/meta.2.hills"));
    let hills = rows(&run.join("meta.hills"));
    assert!(others.len() >= 8 && hills.len() == 20, "{} {}", others.len(), hills.len());
    let (found, x) = (column(&run, "bias_meta"), column(&run, "x"));
    // The last hill has yet to act.
    let energy = energy(&[others, hills[..19].to_vec()], *x.last().unwrap());
    assert!((found.last().unwrap() - energy).abs() < 2e-2 * energy, "{found:?} {energy}");
}

/// A file that has no hills of these variables is named.
#[test]
fn a_file_of_other_hills_is_refused() {
    let desk = tempfile::tempdir().unwrap();
    let folder = desk.path();
    let input = input(folder, "shared", 100);
    fs::create_dir(folder.join("shared")).unwrap();
    fs::write(folder.join("shared/meta.7.hills"), "#! FIELDS time x\n1 2 nonsense 4 5\n").unwrap();
    let error = run(&input, &folder.join("run"), CPU).err().unwrap();
    assert!(error.message().contains("is no hill of these variables"), "{error}");
    assert!(error.place().is_some_and(|place| place.file.ends_with("meta.7.hills")), "{error:?}");
    fs::remove_file(folder.join("shared/meta.7.hills")).unwrap();
    fs::write(folder.join("shared/notes.txt"), "nonsense").unwrap();
    run(&input, &folder.join("again"), CPU).unwrap();
}

/// Hills of another width, bias factor or temperature stand for another bias: a walker with these is refused, with the
/// file and both numbers, and leaves no file.
#[test]
fn walkers_with_other_settings_are_refused() {
    let desk = tempfile::tempdir().unwrap();
    let folder = desk.path();
    run(&input(folder, "shared", 100), &folder.join("first"), CPU).unwrap();
    for (own, other, said) in [
        ("bias_factor = 5", "bias_factor = 8", ["bias_factor = 5", "has 8"]),
        ("width = 0.3", "width = 0.4", ["width along 'x' = 0.3", "has 0.4"]),
        ("temperature = 1\nlower", "temperature = 2\nlower", ["k_B T (temperature) = 1", "has 2"]),
        ("bias_factor = 5\ntemperature = 1\n", "", ["bias_factor = 5", "has 1"]),
    ] {
        let text = text("shared", 100);
        assert!(text.contains(own), "{own}");
        let input = Input::parse(&folder.join("walker.toml"), &text.replace(own, other)).unwrap();
        let error = run(&input, &folder.join(said[1].replace(' ', "-")), CPU).err().unwrap();
        assert!(said.iter().all(|said| error.message().contains(said)), "{other}: {error}");
        assert!(error.place().is_some_and(|place| place.file.ends_with("meta.1.hills")), "{error:?}");
        assert!(!folder.join("shared/meta.2.hills").exists(), "{other}");
        fs::remove_dir_all(folder.join(said[1].replace(' ', "-"))).unwrap();
    }
    run(&input(folder, "shared", 100), &folder.join("second"), CPU).unwrap();
}
