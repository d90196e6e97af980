//! Heat capacity from the fluctuations of energies.

use super::{Frames, Kind, Measure, Observable};
use crate::averages::BlockAverage;
use crate::blocks::Blocks;
use crate::report::Results;
use crate::saved_state::SavedState;
use crate::view::View;
use crate::warning::{Verdict, independent, judge_fluctuations};
use jostle_core::simbox::mean_diagonal;
use jostle_core::{Error, Result};

pub(super) const KIND: Kind = Kind {
    name: "heat-capacity",
    about: "heat capacity from fluctuations of the energy, of the kinetic energy at constant energy, or of the enthalpy at constant pressure; per atom with mass, so that virtual sites do not count",
    observable: Observable::Whole,
    frames: Frames::EachAlone,
    settings: &[],
    new: |system_info, _| {
        let atoms = (system_info.species.len() - system_info.massless) as f64;
        let (blocks, scatter) = (Blocks::new(WIDTH), Default::default());
        Ok(Box::new(HeatCapacity { atoms, first: None, blocks, scatter }))
    },
};

/// A total energy that varies by less than so much of the kinetic one is constant.
const CONSTANT: f64 = 0.05;
/// In a canonical ensemble the kinetic energy varies as it should, to such a factor; a thermostat
/// that scales velocities to the temperature makes none.
const CANONICAL: f64 = 2.0;

/// A volume that varies by less than such a part is constant.
const RIGID: f64 = 1e-9;

/// Kinetic energy, its square, total energy, its square, volume, its square, total energy times volume,
/// pressure.
const WIDTH: usize = 8;

struct HeatCapacity {
    /// Number of atoms with mass.
    atoms: f64,
    /// Kinetic energy, total energy and volume of the first frame, from which others are counted so that
    /// squares lose no digits; degrees of freedom.
    first: Option<([f64; 3], usize)>,
    blocks: Blocks,
    /// Kinetic energy, total energy and volume, for how many of their values are independent.
    scatter: [BlockAverage; 3],
}

impl Measure for HeatCapacity {
    fn add(&mut self, frame: &View) -> Result<()> {
        let whole = frame.whole()?;
        let now = [whole.kinetic, whole.total, frame.simbox.volume()];
        let (first, _) = *self.first.get_or_insert((now, whole.degrees_of_freedom));
        let [k, e, v] = std::array::from_fn(|n| now[n] - first[n]);
        self.scatter.iter_mut().zip([k, e, v]).for_each(|(average, value)| average.add(value));
        let pressure = whole.pressure.as_ref().map_or(0.0, mean_diagonal);
        self.blocks.add_frame(&[k, k * k, e, e * e, v, v * v, e * v, pressure]);
        Ok(())
    }

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        vec![&mut self.first, &mut self.blocks, &mut self.scatter]
    }

    fn results(&self) -> Result<Results> {
        let frames = self.blocks.frames();
        let Some(([k0, _, v0], degrees_of_freedom)) = self.first.filter(|_| frames >= 20) else {
            return Err(Error::input(format!("{frames} energies are too few for fluctuations")));
        };
        let f = degrees_of_freedom as f64;
        let variance = |m: &[f64], at: usize| m[at + 1] - m[at] * m[at];
        let thermal = |m: &[f64]| 2.0 * (k0 + m[0]) / f;
        let means: Vec<f64> = self.blocks.means().into_iter().map(|m| m.0).collect();
        let rigid = variance(&means, 4).max(0.0).sqrt() < RIGID * v0;
        let constant = rigid && variance(&means, 2).sqrt() < CONSTANT * variance(&means, 0).sqrt();
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
                // Fluctuation of the energy; where the volume varies, too, of the enthalpy at the mean
                // pressure.
                false => {
                    let p = if rigid { 0.0 } else { m[7] };
                    let together = m[6] - m[2] * m[4];
                    (variance(m, 2) + 2.0 * p * together + p * p * variance(m, 4)) / thermal(m).powi(2)
                }
            };
            vec![in_boltzmann / self.atoms]
        });
        let mut results = Results::default();
        let how = match (rigid, constant) {
            (false, _) => "constant pressure",
            (true, true) => "constant energy",
            (true, false) => "constant temperature",
        };
        let name = format!("heat capacity per atom over k_B, at {how}");
        // The quantity whose fluctuations count; with the volume, the slower one of two.
        let [of_kinetic, of_total, of_volume] = [0, 1, 2].map(|k| independent(&self.scatter[k..=k]));
        let independent = match (rigid, constant) {
            (false, _) => of_total.min(of_volume),
            (true, true) => of_kinetic,
            (true, false) => of_total,
        };
        let verdict = judge_fluctuations(independent);
        if let Some(verdict) = verdict {
            let reason = format!("only some {independent:.0} of the {frames} rows are independent");
            results.warn(&name, (verdict, reason), "a longer run, or rows more often if they are few");
        }
        if verdict != Some(Verdict::Withheld) {
            results.value(&name, "", capacity[0]);
        }
        Ok(results)
    }
}
