//! The one-component plasma against the published fit of Monte Carlo energies: W. L. Slattery, G. D.
//! Doolen and H. E. DeWitt, Phys. Rev. A 26 (1982) 2255, as quoted by stellar-evolution codes: excess
//! energy over NkT = -0.897744 Gamma + 0.95043 Gamma^(1/4) + 0.18956 Gamma^(-1/4) - 0.81487.

use jostle_core::{Settings, Species, UnitSystem};
use jostle_engine::averages::Confidence;
use jostle_engine::model::{DensityInput, Distribution, Lattice, LatticeExtent, StageInput, ThermostatInput};
use jostle_engine::{Mixture, Simulation, assign_velocities};
use jostle_potentials::Electrostatics;
use jostle_potentials::electrostatics::{Method, NetCharge};
use std::f64::consts::PI;

const IONS: usize = 432;

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
            ..Electrostatics::new(Method::pme(5.0, 1e-4, 5), 1.0, 5.0)
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
