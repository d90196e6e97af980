//! Heat capacity at constant volume from the fluctuations of energies.

use super::{Kind, Measure, Sees};
use crate::blocks::Blocks;
use crate::memory::Memory;
use crate::report::Results;
use crate::view::View;
use jostle_core::{Error, Result};

pub(super) const KIND: Kind = Kind {
    name: "heat-capacity",
    about: "heat capacity at constant volume from fluctuations of the energy, or of the kinetic energy at constant energy",
    sees: Sees::Whole,
    settings: &[],
    new: |subject, _| {
        let atoms = subject.species.len() as f64;
        Ok(Box::new(HeatCapacity { atoms, first: None, blocks: Blocks::new(WIDTH) }))
    },
};

/// A total energy that varies by less than so much of the kinetic one is constant.
const CONSTANT: f64 = 0.05;
/// In a canonical ensemble the kinetic energy varies as it should, to such a factor; a thermostat
/// that scales velocities to the temperature makes none.
const CANONICAL: f64 = 2.0;

/// Kinetic energy, its square, total energy, its square.
const WIDTH: usize = 4;

struct HeatCapacity {
    atoms: f64,
    /// Kinetic and total energy of the first frame, from which others are counted so that squares
    /// lose no digits; degrees of freedom.
    first: Option<(f64, f64, usize)>,
    blocks: Blocks,
}

impl Measure for HeatCapacity {
    fn add(&mut self, frame: &View) -> Result<()> {
        let whole = frame.whole()?;
        let (k0, e0, _) = *self.first.get_or_insert((whole.kinetic, whole.total, whole.degrees_of_freedom));
        let (k, e) = (whole.kinetic - k0, whole.total - e0);
        self.blocks.add_frame(&[k, k * k, e, e * e]);
        Ok(())
    }

    fn memory(&mut self) -> Vec<&mut dyn Memory> {
        vec![&mut self.first, &mut self.blocks]
    }

    fn results(&self) -> Result<Results> {
        let frames = self.blocks.frames();
        let Some((k0, _, degrees_of_freedom)) = self.first.filter(|_| frames >= 20) else {
            return Err(Error::input(format!("{frames} energies are too few for fluctuations")));
        };
        let f = degrees_of_freedom as f64;
        let variance = |m: &[f64], at: usize| m[at + 1] - m[at] * m[at];
        let thermal = |m: &[f64]| 2.0 * (k0 + m[0]) / f;
        let means: Vec<f64> = self.blocks.means().into_iter().map(|m| m.0).collect();
        let constant = variance(&means, 2).sqrt() < CONSTANT * variance(&means, 0).sqrt();
        let of_canonical = variance(&means, 0) / (0.5 * f * thermal(&means).powi(2));
        if !constant && !(1.0 / CANONICAL..CANONICAL).contains(&of_canonical) {
            return Err(Error::input(format!(
                "neither the energy is constant nor is this a canonical ensemble: the kinetic energy varies {of_canonical:.2} times as much as it should"
            ))
            .hint("run at constant energy, or with bussi, nose-hoover or langevin; and leave out the equilibration"));
        }
        let capacity = self.blocks.derive(|m| {
            let in_boltzmann = match constant {
                // J. L. Lebowitz, J. K. Percus and L. Verlet, Phys. Rev. 153 (1967) 250.
                true => 0.5 * f / (1.0 - 2.0 * variance(m, 0) / (f * thermal(m).powi(2))),
                false => variance(m, 2) / thermal(m).powi(2),
            };
            vec![in_boltzmann / self.atoms]
        });
        let mut results = Results::default();
        let how = if constant { "constant energy" } else { "constant temperature" };
        results.value(&format!("heat capacity per atom over k_B, at {how}"), "", capacity[0]);
        Ok(results)
    }
}
