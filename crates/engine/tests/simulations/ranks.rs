//! Runs divided among ranks, here threads of one process, against runs of one rank.

use crate::fixtures::{stop_every, thermo_csv};
use crate::reflection::slab;
use jostle_core::Vec3;
use jostle_engine::{Existing, Outcome, Overrides, Simulation};
use jostle_io::Input;
use molecules::Sites;
use std::path::{Path, PathBuf};

mod molecules;

/// An example with a few changes of its text.
fn example(name: &str, changes: &[(&str, &str)]) -> Input {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(format!("{name}.toml"));
    let mut text = std::fs::read_to_string(&path).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "{name} has no {from}");
        text = text.replace(from, to);
    }
    Input::parse(&path, &text).unwrap()
}

/// The input with `reproducible = true`, in its text, too, which checkpoints keep.
fn reproducible(input: &Input) -> Input {
    let text = &input.source.text;
    let text = match text.contains("[run]\n") {
        true => text.replace("[run]\n", "[run]\nreproducible = true\n"),
        false => format!("{text}\n[run]\nreproducible = true\n"),
    };
    Input::parse(&input.source.path, &text).unwrap()
}

/// Ranks and threads of each.
#[derive(Debug, Clone, Copy)]
struct Division {
    ranks: usize,
    threads: usize,
    /// Rows and columns of a force matrix.
    matrix: Option<[usize; 2]>,
}

impl Division {
    fn overrides(self, most_steps: u64) -> Overrides {
        let Division { ranks, threads, matrix } = self;
        let device = Some(jostle_engine::model::DeviceInput::Cpu);
        Overrides {
            ranks: Some(ranks),
            threads: Some(threads),
            force_matrix: matrix,
            most_steps: Some(most_steps),
            device,
            ..Overrides::default()
        }
    }
}

/// Results of a run.
#[derive(Debug, PartialEq)]
struct Results {
    positions: Vec<Vec3>,
    velocities: Vec<Vec3>,
    turning: Vec<Vec3>,
    rows: String,
}

fn run(input: &Input, most_steps: u64, division: Division) -> Results {
    run_on(input, most_steps, division).0
}

/// Results, and the description of the device.
fn run_on(input: &Input, most_steps: u64, division: Division) -> (Results, String) {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("run");
    let mut simulation = Simulation::from_input(input, &division.overrides(most_steps)).unwrap();
    simulation.write_to(&folder, Existing::Refuse).unwrap();
    assert_eq!(simulation.run().unwrap(), Outcome::Finished);
    (results(&mut simulation, &folder), simulation.device())
}

fn results(simulation: &mut Simulation, folder: &Path) -> Results {
    Results {
        positions: simulation.unwrapped_positions().unwrap(),
        velocities: simulation.velocities().unwrap(),
        turning: simulation.angular_velocities().unwrap(),
        rows: thermo_csv(folder),
    }
}

const ONE: Division = Division { ranks: 1, threads: 1, matrix: None };

/// Lennard-Jones, screened charges by an open cut-off, minimisation, constraints, charges on a mesh, restraints, a
/// barostat, formulas, grains with fields and walls, chains, virtual sites, embedded atoms, three-body forces, pair friction,
/// walls that reflect.
fn inputs() -> Vec<(&'static str, Input)> {
    let plain = ["argon", "crust", "formula", "grains", "kob-andersen", "kremer-grest"];
    let plain = plain.into_iter().chain(["molten-salt", "sediment"]);
    let mut all: Vec<_> = plain.map(|name| (name, example(name, &[]))).collect();
    all.push(("equilibration", with_pair(&example("equilibration", &[]))));
    all.push(("water", molecules::water(Sites::Four, "kind = \"pme\"")));
    all.push(("copper", example("copper", &[("[20, 20, 20]", "[7, 7, 7]")])));
    let barostat = "[[stage]]\nthermostat = { kind = \"bussi\", temperature = 1500 }\n\
        barostat = { kind = \"cell-rescaling\", pressure = 1, compressibility = \"1e-6 1/bar\" }";
    all.push(("silicon", example("silicon", &[("[16, 16, 16]", "[5, 5, 5]"), ("[[stage]]", barostat)])));
    all.push(("dpd", example("dpd", &[("24_000", "3_000")])));
    all.push(("ensembles", ensembles()));
    let field = "[[field]]\nenergy = \"0.001 mass x sin(0.05 time)\"\npositions = \"unwrapped\"\n\n[[stage]]";
    all.push(("field", example("argon", &[("[[stage]]", field)])));
    all.push(("walls that reflect", slab()));
    all
}

/// A liquid through all thermostats, barostats and a deformation.
fn ensembles() -> Input {
    let mut text = String::from(
        r#"
units = "lj"
[system]
lattice = "fcc"
atoms = 864
density = 0.8
temperature = 1.2
seed = 5
[species.A]
mass = 1
[[force]]
kind = "lennard-jones"
cutoff = 2.2
truncation = "plain"
tail_correction = true
pairs."A-A" = { epsilon = 1, sigma = 1 }
"#,
    );
    for (name, settings) in [
        ("langevin", r#"thermostat = { kind = "langevin", temperature = 1.2, friction = 1 }"#),
        ("bussi", r#"thermostat = { kind = "bussi", temperature = 1.2, period = 1 }"#),
        ("nose-hoover", r#"thermostat = { kind = "nose-hoover", temperature = 1.2, period = 1 }"#),
        (
            "rescaling",
            r#"thermostat = { kind = "bussi", temperature = 1.2, period = 1 }
barostat = { kind = "cell-rescaling", pressure = 2, compressibility = 0.1, time = 1, every = 5 }"#,
        ),
        (
            "monte-carlo",
            r#"thermostat = { kind = "bussi", temperature = 1.2, period = 1 }
barostat = { kind = "monte-carlo", pressure = 2, every = 5 }"#,
        ),
        (
            "mtk",
            r#"thermostat = { kind = "nose-hoover", temperature = 1.2, period = 1 }
barostat = { kind = "mtk", pressure = 2, every = 5 }"#,
        ),
        ("shear", r#"deform = { kind = "shear", plane = "xy", rate = 1e-2 }"#),
        ("heat", r#"heat_flux = { axis = "x", slabs = 8, every = 10 }"#),
    ] {
        text += &format!(
            "[[stage]]\nname = \"{name}\"\nsteps = 30\ntimestep = 0.004\nthermo = {{ every = 5 }}\n{settings}\n"
        );
    }
    Input::parse(Path::new("ensembles.toml"), &text).unwrap()
}

/// The input with a restraint between two groups.
fn with_pair(input: &Input) -> Input {
    let restraint = "[[restraint]]\nkind = \"distance\"\nbetween = [\"index 0\", \"index 300\"]\nlength = 5\nstiffness = 0.1\n";
    let text = format!("{}\n{restraint}", input.source.text);
    Input::parse(&input.source.path, &text).unwrap()
}

/// The input in double precision, with a skin that does not depend on timings.
fn double(input: &Input) -> Input {
    let text = &input.source.text;
    let settings = "[run]\nprecision = \"double\"\nskin = 0.3\n";
    let text = match text.contains("[run]\n") {
        true => text.replace("[run]\n", settings),
        false => format!("{text}\n{settings}"),
    };
    Input::parse(&input.source.path, &text).unwrap()
}

/// Asserts that runs are the same to rounding, whose growth in few steps is small.
fn assert_close(one: &Results, many: &Results, tolerance: f64, what: &str) {
    let pairs = [(&one.positions, &many.positions), (&one.velocities, &many.velocities)];
    for (a, b) in pairs.into_iter().chain([(&one.turning, &many.turning)]) {
        assert_eq!(a.len(), b.len(), "{what}");
        let scale = a.iter().flatten().fold(1.0, |most: f64, x| most.max(x.abs()));
        let apart = a.iter().flatten().zip(b.iter().flatten()).map(|(a, b)| (a - b).abs());
        let worst = apart.fold(0.0, f64::max);
        assert!(worst <= tolerance * scale, "{what}: {worst:e} of {scale} apart");
    }
    let numbers = |rows: &str| -> Vec<f64> {
        rows.lines()
            .skip(1)
            .flat_map(|row| row.split(','))
            .filter_map(|cell| cell.trim().parse().ok())
            .collect()
    };
    let (a, b) = (numbers(&one.rows), numbers(&many.rows));
    assert_eq!(a.len(), b.len(), "{what}");
    let scale = a.iter().fold(1.0, |most: f64, x| most.max(x.abs()));
    let worst = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst <= tolerance * scale, "{what}: rows are {worst:e} of {scale} apart");
}

/// Runs with domains are those of one process to rounding, through all ensembles.
#[test]
fn domains_are_one_process_to_rounding() {
    let divisions = [Division { ranks: 2, threads: 2, ..ONE }, Division { ranks: 6, threads: 1, ..ONE }];
    for (k, (name, input)) in inputs().into_iter().enumerate() {
        let input = double(&input);
        let (many, device) = run_on(&input, 10, divisions[k % 2]);
        assert!(device.contains("domains"), "{name}: {device}");
        assert_close(&run(&input, 10, ONE), &many, 1e-8, &format!("{name}, {device}"));
    }
}

/// A force matrix of ranks is one process to rounding, where there are no forces but those of pairs; its checkpoints go
/// on without it.
#[test]
fn force_matrices_are_one_process_to_rounding() {
    let matrix =
        |rows, columns| Division { ranks: rows * columns, threads: 1, matrix: Some([rows, columns]) };
    for (k, (name, input)) in inputs().into_iter().enumerate() {
        let (input, division) = (double(&input), [matrix(2, 1), matrix(2, 3), matrix(1, 3)][k % 3]);
        if ["grains", "silicon", "dpd"].contains(&name) {
            let refused = Simulation::from_input(&input, &division.overrides(10));
            let error = refused.and_then(|mut simulation| simulation.run()).expect_err(name);
            assert!(error.message().contains("force matrix"), "{name}: {error}");
            continue;
        }
        let (many, device) = run_on(&input, 10, division);
        assert!(device.contains("force matrix"), "{name}: {device}");
        assert_close(&run(&input, 10, ONE), &many, 1e-8, &format!("{name}, {device}"));
    }
    let input = double(&example("yukawa", &[]));
    let whole = run(&input, 20, ONE);
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("parts");
    let mut simulation = Simulation::from_input(&input, &matrix(2, 2).overrides(20)).unwrap();
    simulation.write_to(&folder, Existing::Refuse).unwrap();
    assert_eq!(simulation.run_with(&mut (), &stop_every(7)).unwrap(), Outcome::Interrupted);
    drop(simulation);
    let mut simulation = Simulation::resume(&folder, &ONE.overrides(20)).unwrap();
    assert!(!simulation.device().contains("force matrix"), "{}", simulation.device());
    assert_eq!(simulation.run().unwrap(), Outcome::Finished);
    assert_close(&whole, &results(&mut simulation, &folder), 1e-8, "parts");
}

/// Checkpoints of domains are those of one process and go on with any number of ranks.
#[test]
fn domains_go_on_with_another_number_of_ranks() {
    let input = double(&ensembles());
    let whole = run(&input, 10, ONE);
    let folder = tempfile::tempdir().unwrap();
    let folder: PathBuf = folder.path().join("parts");
    let mut simulation =
        Simulation::from_input(&input, &Division { ranks: 4, threads: 1, ..ONE }.overrides(10)).unwrap();
    simulation.write_to(&folder, Existing::Refuse).unwrap();
    let mut next = [4, 1, 3, 2].into_iter().cycle();
    while simulation.run_with(&mut (), &stop_every(7)).unwrap() == Outcome::Interrupted {
        drop(simulation);
        let division = Division { ranks: next.next().unwrap(), threads: 1, ..ONE };
        simulation = Simulation::resume(&folder, &division.overrides(10)).unwrap();
    }
    assert_close(&whole, &results(&mut simulation, &folder), 1e-7, "parts");
}

#[test]
fn reproducible_runs_are_the_same_with_any_number_of_ranks() {
    for (name, input) in inputs() {
        // The other inputs have nothing that is not in these or in the test above.
        if ![
            "crust",
            "grains",
            "molten-salt",
            "water",
            "copper",
            "silicon",
            "dpd",
            "ensembles",
            "walls that reflect",
        ]
        .contains(&name)
        {
            continue;
        }
        let input = reproducible(&input);
        let one = run(&input, 10, ONE);
        for (ranks, threads) in [(2, 1), (5, 2)] {
            let many = run(&input, 10, Division { ranks, threads, ..ONE });
            assert!(one == many, "{name}: {ranks} ranks of {threads} threads are not one");
        }
    }
}

/// Checkpoints are those of one process and go on with any number of ranks.
#[test]
fn runs_go_on_with_another_number_of_ranks() {
    let input = reproducible(&ensembles());
    let whole = run(&input, 30, ONE);
    let folder = tempfile::tempdir().unwrap();
    let folder: PathBuf = folder.path().join("parts");
    let mut simulation =
        Simulation::from_input(&input, &Division { ranks: 4, threads: 1, ..ONE }.overrides(30)).unwrap();
    simulation.write_to(&folder, Existing::Refuse).unwrap();
    let mut next = [1, 2, 3].into_iter().cycle();
    while simulation.run_with(&mut (), &stop_every(17)).unwrap() == Outcome::Interrupted {
        drop(simulation);
        let division = Division { ranks: next.next().unwrap(), threads: 1, ..ONE };
        simulation = Simulation::resume(&folder, &division.overrides(30)).unwrap();
    }
    assert!(whole == results(&mut simulation, &folder));
}

/// An energy that explodes is the same error with the same atom, and no rank is left behind.
#[test]
fn errors_are_those_of_one_rank() {
    let error = |division: Division| {
        let text = ensembles().source.text.replace("timestep = 0.004", "timestep = 0.4");
        let first = text.match_indices("[[stage]]").nth(1).map_or(text.len(), |(at, _)| at);
        let input = Input::parse(Path::new("hot.toml"), &text[..first]).unwrap();
        let error = Simulation::from_input(&input, &division.overrides(30)).unwrap().run().unwrap_err();
        // Positions come after it, which are as different as sums in another order make them.
        error.to_string().split(" has flown off").next().map(str::to_string)
    };
    assert_eq!(
        error(Division { ranks: 1, threads: 3, ..ONE }),
        error(Division { ranks: 3, threads: 1, ..ONE })
    );
}

#[test]
fn ranks_that_make_no_sense_are_refused() {
    let input = example("argon", &[]);
    let refused = |overrides: Overrides| Simulation::from_input(&input, &overrides).err().unwrap();
    let many = refused(Overrides { ranks: Some(1000), ..Overrides::default() });
    assert!(many.message().contains("at most 64"), "{many}");
    let device = Some(jostle_engine::model::DeviceInput::gpu(0));
    let ranks = Overrides { ranks: Some(4), force_matrix: Some([2, 2]), device, ..Overrides::default() };
    let gpu = refused(ranks);
    assert!(gpu.message().contains("divides pairs among CPUs"), "{gpu}");
    let matrix = |ranks| refused(Overrides { ranks, force_matrix: Some([2, 3]), ..Overrides::default() });
    assert!(matrix(Some(4)).message().contains("does not fit the 4"), "{}", matrix(Some(4)));
    for one in [Some(1), None] {
        assert!(matrix(one).message().contains("there is one"), "{}", matrix(one));
    }
}
