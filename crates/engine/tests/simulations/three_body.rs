//! Three-body potentials: files of LAMMPS against LAMMPS, and simulations of silicon.

use jostle_core::{Algorithm, Precision, Settings, SimBox, Species, System, UnitSystem, Vec3, Vector};
use jostle_engine::model::{DeviceInput, Distribution, Minimizer, StageInput, ThermostatInput};
use jostle_engine::{Simulation, assign_velocities, device, single_point};
use jostle_fixtures::covalent::{crystal, silicon, silicon_carbide};
use jostle_io::three_body::ThreeBodyFile;
use jostle_potentials::{Forces, ThreeBody, ThreeBodyKind};
use serde_json::Value;
use std::path::Path;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/three_body");

fn settings(algorithm: Algorithm, precision: Precision) -> Settings {
    Settings { threads: Some(1), algorithm, precision, ..Settings::default() }
}

fn numbers<const N: usize>(value: &Value) -> [f64; N] {
    std::array::from_fn(|k| value[k].as_f64().unwrap())
}

/// A case of `reference.json`: the system, the force from its file, and LAMMPS' forces.
fn case(case: &Value) -> (System, Forces, Vec<Vec3>) {
    let text = |value: &Value| value.as_str().unwrap().to_string();
    let elements: Vec<String> = case["elements"].as_array().unwrap().iter().map(text).collect();
    let species = elements.iter().map(|name| Species { name: name.clone(), mass: 1.0, charge: 0.0 });
    let length = case["length"].as_f64().unwrap();
    let simbox = SimBox::new([0.0; 3], [length; 3], numbers(&case["tilts"]), [true; 3]).unwrap();
    let mut system = System::new(simbox, species.collect());
    let atoms = case["positions"].as_array().unwrap().iter().zip(case["types"].as_array().unwrap());
    for (position, kind) in atoms {
        system.state.push(kind.as_u64().unwrap() as u16 - 1, numbers(position));
    }
    let kinds = [ThreeBodyKind::StillingerWeber, ThreeBodyKind::Tersoff];
    let kind = kinds.into_iter().find(|kind| kind.name() == case["kind"]).unwrap();
    let file = ThreeBodyFile::read(&Path::new(FOLDER).join(text(&case["file"])), kind).unwrap();
    let names: Vec<&str> = elements.iter().map(String::as_str).collect();
    let force = file.force(&names, 1.0, 1.0).unwrap();
    let forces = case["forces"].as_array().unwrap().iter().map(|force| Vector(numbers(force))).collect();
    (system, force.into(), forces)
}

/// Silicon by both potentials, silicon carbide and gallium nitride (by both) in tilted boxes.
#[test]
fn files_give_the_numbers_of_lammps() {
    let text = std::fs::read_to_string(Path::new(FOLDER).join("reference.json")).unwrap();
    let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(cases.len(), 5);
    for expected in &cases {
        let (system, force, forces) = case(expected);
        let rms = (forces.iter().flatten().map(|f| f * f).sum::<f64>() / forces.len() as f64).sqrt();
        for (algorithm, precision) in [
            (Algorithm::Reference, Precision::Double),
            (Algorithm::Clusters, Precision::Double),
            (Algorithm::Clusters, Precision::Mixed),
        ] {
            let name = &expected["file"];
            let settings = settings(algorithm, precision);
            let found =
                single_point(UnitSystem::Metal, system.clone(), force.clone(), DeviceInput::Cpu, settings)
                    .unwrap();
            // Numbers of the file are rounded to ten digits or more; energies are sums of bonds of some eV.
            let tolerance = if precision == Precision::Double { 1e-9 } else { 1e-5 };
            let energy = expected["energy"].as_f64().unwrap();
            let off = (found.thermo.potential - energy).abs() / system.state.len() as f64;
            assert!(off < tolerance, "{name}: {} {energy}", found.thermo.potential);
            let virial = numbers::<6>(&expected["virial"]);
            let scale: f64 = virial[..3].iter().map(|w| w.abs()).sum();
            for k in 0..6 {
                let off = (found.virial[k] - virial[k]).abs() / scale;
                assert!(off < tolerance.max(1e-8), "{name} {k}: {} {}", found.virial[k], virial[k]);
            }
            for (a, b) in found.forces.iter().zip(&forces) {
                for k in 0..3 {
                    assert!((a[k] - b[k]).abs() < tolerance * rms, "{name} {precision:?}: {a:?} {b:?}");
                }
            }
        }
    }
}

/// A crystal with velocities at so many kelvin.
fn warm(cells: usize, temperature: f64) -> System {
    let mut system = crystal(cells, 5.431, &[("Si", 28.0855)], 0.0, false);
    assign_velocities(&mut system, UnitSystem::Metal.boltzmann() * temperature, Distribution::Maxwell, 1);
    system
}

/// Total energies at the ends of a run of liquid-like atoms, on so many ranks.
fn change_of_energy(term: ThreeBody, system: System, ranks: usize, precision: Precision) -> f64 {
    let n = system.state.len() as f64;
    let open = move |system, forces: Forces, settings| {
        device::open_on_threads(ranks, DeviceInput::Cpu, system, forces, settings)
            .map(|opened| opened.backend)
    };
    let mut simulation = Simulation::builder(UnitSystem::Metal, system)
        .three_body(term)
        .open_with(open)
        .stage(StageInput::dynamics("heat", 400, 0.0005).thermostat(ThermostatInput::rescale(3000.0, 10)))
        .stage(StageInput::dynamics("sample", 4000, 0.0005).thermo(20))
        .settings(Settings { threads: Some(1), precision, ..Settings::default() })
        .build()
        .unwrap();
    simulation.run().unwrap();
    let drift = simulation.reports()[1].drift.as_ref().unwrap();
    drift.per_time.slope * 2.0 / n
}

/// Atoms of 3000 K break and form bonds all the time: energy that is lost in 2 ps, beside the kinetic energy of
/// 0.39 eV an atom.
#[test]
fn molten_silicon_keeps_its_energy() {
    for (precision, ranks) in [(Precision::Mixed, 1), (Precision::Double, 2)] {
        let change = change_of_energy(silicon(), warm(3, 3000.0), ranks, precision);
        assert!(change.abs() < 2e-4, "{precision:?}: {change:e} eV an atom");
    }
}

#[test]
fn hot_silicon_carbide_keeps_its_energy() {
    let mut system = crystal(3, 4.32, &[("Si", 28.0855), ("C", 12.011)], 0.0, true);
    assign_velocities(&mut system, UnitSystem::Metal.boltzmann() * 3000.0, Distribution::Maxwell, 1);
    let change = change_of_energy(silicon_carbide(), system, 1, Precision::Mixed);
    assert!(change.abs() < 2e-4, "{change:e} eV an atom");
}

/// All minimisers find the crystal, whose energy the paper gives.
#[test]
fn displaced_atoms_go_back_to_the_crystal() {
    for method in [Minimizer::Fire, Minimizer::Lbfgs, Minimizer::ConjugateGradient] {
        let mut simulation =
            Simulation::builder(UnitSystem::Metal, crystal(3, 5.431, &[("Si", 28.0855)], 0.3, false))
                .three_body(silicon())
                .stage(StageInput::minimize("minimise", 2000, 1e-5, 0.001).minimizer(method))
                .settings(settings(Algorithm::Auto, Precision::Double))
                .build()
                .unwrap();
        simulation.run().unwrap();
        let energy = simulation.reports()[0].minimum.unwrap().potential / 216.0;
        assert!((energy + 4.3366).abs() < 1e-4, "{method:?}: {energy}");
    }
}
