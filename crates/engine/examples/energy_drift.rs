//! How well energy is conserved: Rapaport's soft spheres (Comput. Phys. Commun. 182 (2011) 926,
//! Table 4) at constant energy.
//!
//! ```text
//! cargo run --release -p jostle-engine --example energy_drift -- [ATOMS] [STEPS] [TIMESTEP] [mixed|double]
//! ```

use jostle_core::{Error, Precision, Result, Settings, Species, UnitSystem};
use jostle_engine::model::{DensityInput, Distribution, Lattice, LatticeExtent, StageInput, Thermostat};
use jostle_engine::{Mixture, Simulation, assign_velocities};
use jostle_potentials::{PairKind, PairTerm, Truncation};
use std::str::FromStr;

fn main() -> Result<()> {
    let atoms = argument(1, 32_000)?;
    let steps = argument(2, 100_000)?;
    let timestep = argument(3, 0.002)?;
    let precision = match std::env::args().nth(4).as_deref() {
        None | Some("mixed") => Precision::Mixed,
        Some("double") => Precision::Double,
        Some(other) => return Err(Error::input(format!("'{other}' is no precision")).hint("mixed, double")),
    };

    let sphere = Species { name: "A".into(), mass: 1.0, charge: 0.0 };
    let (extent, density) = (LatticeExtent::Atoms(atoms), DensityInput::Number(0.8));
    let mixture = Mixture::new(UnitSystem::Lj).with(sphere, None);
    let mut system = mixture.lattice(Lattice::Fcc, extent, density, 1)?;
    assign_velocities(&mut system, 1.0, Distribution::Constant, 1);
    let parameters = [1.0, 1.0];
    let cutoff = 2f64.powf(1.0 / 6.0);
    let soft_spheres = PairTerm::uniform(PairKind::SoftSphere, Truncation::Plain, &parameters, cutoff);

    let rescale = Thermostat::Rescale { temperature: 1.0, every: 20 };
    let mut simulation = Simulation::builder(UnitSystem::Lj, system)
        .force(soft_spheres)
        .stage(StageInput::dynamics("equilibrate", 4000, 0.004).thermostat(rescale))
        .stage(StageInput::dynamics("relax", 1000, timestep))
        .stage(StageInput::dynamics("sample", steps, timestep).thermo(20))
        .settings(Settings { precision, ..Settings::default() })
        .build()?;
    simulation.run()?;

    let report = &simulation.reports()[2];
    let total = report.averages.iter().find(|a| a.quantity == "total").and_then(|a| a.estimate);
    if let (Some(total), Some(drift)) = (total, report.drift) {
        let per_step = drift.per_time.slope * timestep / total.mean;
        println!(
            "{atoms} atoms, {steps} steps of {timestep}, {precision:?}: energy per atom {:.6}, \
             relative drift in 1e5 steps {:.2e}",
            total.mean / atoms as f64,
            1e5 * per_step
        );
    }
    Ok(())
}

/// An argument of the command line, or what it is when not given.
fn argument<T: FromStr>(place: usize, otherwise: T) -> Result<T> {
    let Some(text) = std::env::args().nth(place) else { return Ok(otherwise) };
    text.parse().map_err(|_| Error::input(format!("argument {place}: '{text}' is not a number of its kind")))
}
