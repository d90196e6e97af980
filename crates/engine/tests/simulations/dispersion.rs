//! Lattice sums of dispersion: against OpenMM, against the tail correction, and in a run.

use jostle_core::{Evaluate, Precision, Settings, UnitSystem};
use jostle_engine::model::DeviceInput;
use jostle_engine::{Overrides, Simulation, SinglePoint, single_point, system_from_input};
use jostle_io::Input;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn data(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/dispersion")).join(name)
}

fn point(folder: &Path, text: &str) -> SinglePoint {
    let input = Input::parse(&folder.join("input.toml"), text).unwrap();
    let (system, forces) = system_from_input(&input).unwrap();
    let settings = Settings { precision: Precision::Double, ..Settings::default() };
    single_point(input.units, system, forces, DeviceInput::Cpu, settings).unwrap()
}

/// Molecules of unlike atoms with Lorentz-Berthelot mixing and exceptions, against LJPME of OpenMM
/// (`tests/external/make_dispersion_reference.py`), which shifts pair energies within the cut-off.
#[test]
fn energies_and_forces_are_those_of_openmm() {
    let text = |kind: &str| {
        format!(
            "units = \"nano\"\n[system]\ntopology = \"mixture.xml\"\ncoordinates = \"mixture.xyz\"\n\
             [[force]]\nkind = \"lennard-jones\"\ncutoff = 0.9\ntruncation = \"shifted\"\ndispersion = {kind}\n\
             [electrostatics]\nkind = \"ewald\"\naccuracy = 1e-10\n[run]\nprecision = \"double\"\n"
        )
    };
    let values: Value = serde_json::from_str(&fs::read_to_string(data("mixture.json")).unwrap()).unwrap();
    let energy = values["energy"].as_f64().unwrap();
    assert!(fs::read_to_string(data("mixture.xml")).unwrap().contains("method=\"5\""), "no LJPME");
    let rows = fs::read_to_string(data("mixture.xyz")).unwrap();
    let numbers = |row: &str| -> Vec<f64> {
        row.split_whitespace().skip(4).map(|word| word.parse().unwrap()).collect()
    };
    let known: Vec<Vec<f64>> = rows.lines().skip(2).map(numbers).collect();
    // The mesh and the splitting of OpenMM change its forces by 1e-7 and its energy by 1e-8.
    for (kind, tolerance) in [
        ("{ kind = \"ewald\", accuracy = 1e-10 }", 2e-7),
        ("{ kind = \"pme\", accuracy = 1e-5, order = 5 }", 1e-5),
    ] {
        let found = point(&data(""), &text(kind));
        let pairs = found.forces.iter().flatten().zip(known.iter().flatten());
        let (error, size) =
            pairs.fold((0.0, 0.0), |(e, s), (a, b): (&f64, &f64)| (e + (a - b).powi(2), s + b * b));
        let (error, shift) = (f64::sqrt(error / size), found.thermo.potential - energy);
        println!("{kind}: energy {energy} + {shift:e}, forces {error:e}");
        assert!(error < tolerance, "{kind}: forces differ by {error:e}");
        assert!(shift.abs() < tolerance * energy.abs(), "{kind}: {} is not {energy}", found.thermo.potential);
    }
}

/// An input with 216 molecules of water.
fn water(force: &str, stage: &str) -> String {
    format!(
        "units = \"real\"\n[system]\nplace = \"water\"\nmolecules = 216\nbond_length = 1.0\nbond_angle = 109.47\n\
         density = \"0.998 g/cm3\"\ntemperature = 300\nseed = 2\n\
         [species.O]\nmass = 15.9994\ncharge = -0.8476\n[species.H]\nmass = 1.008\ncharge = 0.4238\n\
         [[force]]\nkind = \"lennard-jones\"\ncutoff = 9\n{force}\n\
         pairs.\"O-O\" = {{ epsilon = 0.1553, sigma = 3.166 }}\npairs.\"O-H\" = \"none\"\n\
         pairs.\"H-H\" = \"none\"\n[electrostatics]\nkind = \"pme\"\n{stage}"
    )
}

/// A fluid is uniform beyond the cut-off, so that the lattice sum and the tail correction give the same
/// energy and pressure.
#[test]
fn water_has_the_tail_that_is_expected() {
    let here = Path::new(".");
    let stage = "[[stage]]\nsteps = 1\ntimestep = 1\n";
    let [cut, corrected, summed] = ["", "tail_correction = true", "dispersion = { kind = \"pme\" }"]
        .map(|force| point(here, &water(force, stage)));
    let potential = |point: &SinglePoint| point.thermo.potential;
    // The contribution of constraints to the virial is the same in all three.
    let virial = |point: &SinglePoint| point.virial[..3].iter().sum::<f64>();
    for (what, of) in [("energy", &potential as &dyn Fn(&SinglePoint) -> f64), ("virial", &virial)] {
        let [tail, sum] = [&corrected, &summed].map(|point| of(point) - of(&cut));
        println!("{what}: {tail} and {sum}");
        assert!((sum / tail - 1.0).abs() < 0.1, "{what}: {sum} instead of {tail}");
    }
}

/// Energy is conserved, also where long-range forces of charges and of dispersion act at every other step;
/// options that exclude each other are refused at their line.
#[test]
fn water_moves_under_dispersion() {
    let stages = "[[stage]]\nname = \"settle\"\nsteps = 1000\ntimestep = 0.5\n\
        thermostat = { kind = \"langevin\", temperature = 300, friction = 0.02 }\n\
        [[stage]]\nname = \"sample\"\nsteps = 600\ntimestep = 2\nthermo = { every = 4 }\nlong_range_every = 2\n\
        [run]\ndevice = \"cpu\"\nthreads = 1\n";
    let good = water("truncation = \"shifted\"\ndispersion = { kind = \"pme\" }", stages);
    let input = Input::parse(Path::new("water.toml"), &good).unwrap();
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    simulation.run().unwrap();
    let drift = simulation.reports()[1].drift.as_ref().unwrap();
    println!("{drift:?}");
    assert!(drift.of_kinetic.abs() < 5e-3, "{drift:?}");
    for (from, to, message) in [
        (
            "truncation = \"shifted\"",
            "truncation = \"switched\"",
            "changes the force that the sum of dispersion",
        ),
        ("truncation = \"shifted\"", "tail_correction = true", "tail_correction = true together with a sum"),
        ("truncation = \"shifted\"", "tabulate = true", "only a Lennard-Jones force"),
        ("\"pme\" }", "\"pme\", order = 9 }", "order = 9, but it must be 4, 5 or 6"),
        (
            "sigma = 3.166 }",
            "sigma = 3.166 }\npairs.\"H-H\" = { epsilon = 1, sigma = 1, cutoff = 7 }",
            "same cut-off",
        ),
    ] {
        let text = good.replacen(from, to, 1);
        let text =
            if to.contains("cutoff = 7") { text.replace("pairs.\"H-H\" = \"none\"\n", "") } else { text };
        let error = Input::parse(Path::new("water.toml"), &text).unwrap_err();
        assert!(error.message().contains(message), "{error}");
        let line = error.place().and_then(|place| place.line).unwrap();
        assert!(text.lines().nth(line - 1).unwrap().contains("dispersion"), "{error}");
    }
    // The GPU computes the same energies, and refuses the dispersion sum by Ewald's method.
    let exact = Settings { precision: Precision::Double, ..Settings::default() };
    let (system, forces) = system_from_input(&input).unwrap();
    let gpu = || jostle_cuda::driver::Device::emulated().unwrap();
    let [cpu, gpu_energies] = [
        jostle_cpu::open(system.clone(), forces.clone(), exact),
        jostle_cuda::open(gpu(), system, forces, exact),
    ]
    .map(|backend| {
        let mut backend = backend.unwrap();
        backend.update_neighbors().unwrap();
        backend.compute_forces(Evaluate::ForcesAndEnergies).unwrap();
        backend.energies().terms.clone()
    });
    for (a, b) in cpu.iter().zip(&gpu_energies) {
        assert!((a - b).abs() < 1e-9 * a.abs(), "{cpu:?} {gpu_energies:?}");
    }
    let ewald = Input::parse(Path::new("water.toml"), &good.replacen("\"pme\"", "\"ewald\"", 1)).unwrap();
    let (system, forces) = system_from_input(&ewald).unwrap();
    let exact = Settings { reproducible: true, ..exact };
    assert!(!jostle_cuda::can(&forces, &exact));
    let error = jostle_cuda::open(gpu(), system, forces, exact).map(drop).unwrap_err();
    assert!(error.message().contains("with Ewald's sum"), "{error}");
    assert_eq!(input.units, UnitSystem::Real);
}
