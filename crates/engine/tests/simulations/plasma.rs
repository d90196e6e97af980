//! Energies of a plasma, and the conductivity of free charges with friction.

use jostle_core::{Settings, Species, UnitSystem};
use jostle_engine::averages::Confidence;
use jostle_engine::model::{DensityInput, Distribution, Lattice, LatticeExtent, StageInput, ThermostatInput};
use jostle_engine::{Mixture, Overrides, Simulation, assign_velocities};
use jostle_io::Input;
use jostle_potentials::Electrostatics;
use jostle_potentials::electrostatics::{Method, NetCharge};
use std::f64::consts::PI;
use std::path::Path;

const IONS: usize = 432;

/// The one-component plasma against the published fit of Monte Carlo energies: W. L. Slattery, G. D. Doolen and H. E.
/// DeWitt, Phys. Rev. A 26 (1982) 2255, as quoted by stellar-evolution codes: excess energy over NkT =
/// -0.897744 Gamma + 0.95043 Gamma^(1/4) + 0.18956 Gamma^(-1/4) - 0.81487.
#[test]
fn a_plasma_has_its_published_energy() {
    for gamma in [10.0_f64, 40.0] {
        // With the mass 3 the plasma frequency is 1.
        let ion = Species { name: "ion".into(), mass: 3.0, charge: 1.0 };
        let (extent, density) = (LatticeExtent::Atoms(IONS), DensityInput::Number(0.75 / PI));
        let mut system = Mixture::new(UnitSystem::Plasma)
            .with(ion, None)
            .lattice(Lattice::Bcc, extent, density, 1)
            .unwrap();
        let temperature = 1.0 / gamma;
        assign_velocities(&mut system, 2.0 * temperature, Distribution::Maxwell, 1);
        let charges = Electrostatics {
            net_charge: NetCharge::Background,
            ..Electrostatics::new(Method::gaussian_pme(5.0, 1e-4, 5), 1.0, 5.0)
        };
        let thermostat = ThermostatInput::langevin(temperature, 0.2);
        let mut simulation = Simulation::builder(UnitSystem::Plasma, system)
            .electrostatics(charges)
            .stage(StageInput::dynamics("melt", 1500, 0.15).thermostat(thermostat))
            .stage(StageInput::dynamics("sample", 6000, 0.15).thermostat(thermostat).thermo(10))
            .settings(Settings { threads: Some(1), reproducible: true, ..Settings::default() })
            .build()
            .unwrap();
        simulation.run().unwrap();
        let averages = &simulation.reports()[1].averages;
        let potential = averages.iter().find(|a| a.quantity == "potential").and_then(|a| a.estimate).unwrap();
        assert_eq!(potential.confidence, Confidence::Good);
        let per_ion = gamma / IONS as f64;
        let (measured, error) = (potential.mean * per_ion, potential.error * per_ion);
        let root = gamma.powf(0.25);
        let published = -0.897744 * gamma + 0.95043 * root + 0.18956 / root - 0.81487;
        println!("Gamma {gamma}: {measured} +- {error}, published {published}");
        // A thousandth is allowed for the error of the fit and the finite number of ions.
        assert!(
            (measured - published).abs() < 4.0 * error - 1e-3 * published,
            "{measured} +- {error}, {published}"
        );
    }
}

/// Charges without forces between them, of friction gamma: n q^2 / (m gamma), as Drude's electrons.
#[test]
fn the_conductivity_of_free_charges() {
    let text = r#"
units = "lj"
[system]
lattice = "sc"
atoms = 27
density = 0.5
temperature = 1.5
seed = 3
[species.A]
mass = 3
charge = 2
[[force]]
kind = "gaussian-core"
cutoff = 1
pairs."A-A" = "none"
[[stage]]
name = "drude"
steps = 150_000
timestep = 0.05
thermostat = { kind = "langevin", temperature = 1.5, friction = 0.8 }
measure = [{ kind = "conductivity", every = 4, to = 8 }]
[run]
device = "cpu"
threads = 1
"#;
    let input = Input::parse(Path::new("drude.toml"), text).unwrap();
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    simulation.run().unwrap();
    let results = simulation.results();
    let value = results[0].1.results.get("conductivity").unwrap();
    // The rule of trapezoids over frames 0.2 apart.
    let half: f64 = 0.5 * 0.8 * 0.2;
    let exact = 0.5 * 2.0 * 2.0 / (3.0 * 0.8) * half / half.tanh();
    println!("{value:?}, exact {exact}");
    let error = value.error.unwrap();
    assert!(error < 0.05 * exact && (value.value - exact).abs() < 3.5 * error, "{value:?}, exact {exact}");
}
