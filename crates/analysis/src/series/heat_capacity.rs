//! Heat capacity at constant volume from the fluctuations of energies.

use super::{Series, SeriesKind};
use crate::blocks::Blocks;
use crate::report::Results;
use crate::settings::Settings;
use jostle_core::{Error, Result};

pub(super) const KIND: SeriesKind = SeriesKind {
    name: "heat-capacity",
    about: "heat capacity at constant volume from fluctuations of the energy, or of the kinetic energy at constant energy; from the rows of thermo.csv",
    settings: &[],
    analyze,
};

/// A total energy that varies by less than so much of the kinetic one is constant.
const CONSTANT: f64 = 0.05;
/// In a canonical ensemble the kinetic energy varies as it should, to such a factor; a thermostat
/// that scales velocities to the temperature makes none.
const CANONICAL: f64 = 2.0;

fn analyze(series: &Series, _: &Settings) -> Result<Results> {
    let (kinetic, total) = (series.column("kinetic")?, series.column("total")?);
    if kinetic.len() < 20 {
        return Err(Error::input(format!("{} rows are too few for fluctuations", kinetic.len())));
    }
    let f = series.degrees_of_freedom as f64;
    // Squares of what is left without the mean: no digits are lost.
    let centre = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (k0, e0) = (centre(kinetic), centre(total));
    let mut blocks = Blocks::new(4);
    for (k, e) in kinetic.iter().zip(total) {
        let (k, e) = (k - k0, e - e0);
        blocks.add_frame(&[k, k * k, e, e * e]);
    }
    let variance = |m: &[f64], at: usize| m[at + 1] - m[at] * m[at];
    let thermal = |m: &[f64]| 2.0 * (k0 + m[0]) / f;
    let means: Vec<f64> = blocks.means().into_iter().map(|m| m.0).collect();
    let constant = variance(&means, 2).sqrt() < CONSTANT * variance(&means, 0).sqrt();
    let of_canonical = variance(&means, 0) / (0.5 * f * thermal(&means).powi(2));
    if !constant && !(1.0 / CANONICAL..CANONICAL).contains(&of_canonical) {
        return Err(Error::input(format!(
            "neither the energy is constant nor is this a canonical ensemble: the kinetic energy varies {of_canonical:.2} times as much as it should"
        ))
        .hint("run at constant energy, or with bussi, nose-hoover or langevin; and leave out the equilibration"));
    }
    let capacity = blocks.derive(|m| {
        let in_boltzmann = match constant {
            // J. L. Lebowitz, J. K. Percus and L. Verlet, Phys. Rev. 153 (1967) 250.
            true => 0.5 * f / (1.0 - 2.0 * variance(m, 0) / (f * thermal(m).powi(2))),
            false => variance(m, 2) / thermal(m).powi(2),
        };
        vec![in_boltzmann / series.atoms as f64]
    });
    let mut results = Results::default();
    let how = if constant { "constant energy" } else { "constant temperature" };
    results.value(&format!("heat capacity per atom over k_B, at {how}"), "", capacity[0]);
    Ok(results)
}
