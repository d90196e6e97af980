//! Heat capacity from the fluctuations of energies.

use super::{Frames, Kind, Measure, Observable};
use crate::averages::BlockAverage;
use crate::blocks::{BlockEstimate, Blocks};
use crate::report::Results;
use crate::saved_state::SavedState;
use crate::view::View;
use crate::warning::{Verdict, independent, judge, judge_fluctuations};
use jostle_core::simbox::mean_diagonal;
use jostle_core::{Error, Result};

pub(super) const KIND: Kind = Kind {
    name: "heat-capacity",
    about: "heat capacity from fluctuations of the energy, of the kinetic energy at constant energy, or of the enthalpy at constant pressure; per atom that forces move, so that virtual sites, frozen and driven atoms do not count",
    observable: Observable::Whole,
    frames: Frames::EachAlone,
    settings: &[],
    new: |system_info, _| {
        let atoms = (system_info.species.len() - system_info.unmoved) as f64;
        let (blocks, scatter) = (Blocks::new(WIDTH), Default::default());
        Ok(Box::new(HeatCapacity { atoms, first: None, blocks, scatter }))
    },
};

/// A total energy that varies by less than so much of the kinetic one is constant.
const CONSTANT: f64 = 0.05;
/// In a canonical ensemble the kinetic energy varies as it should, to such a factor; a thermostat
/// that scales velocities to the temperature makes none.
const CANONICAL: f64 = 2.0;

/// Difference of the halves of the rows, in standard errors, above which a warning is given. A half has as few as
/// eight blocks, whose errors are good to a quarter.
const APART: f64 = 6.0;

/// A volume that varies by less than such a part is constant.
const RIGID: f64 = 1e-9;

/// Kinetic energy, its square, total energy, its square, volume, its square, total energy times volume,
/// pressure.
const WIDTH: usize = 8;

struct HeatCapacity {
    /// Number of atoms with degrees of freedom.
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
        let thermal = |m: &[f64]| 2.0 * (k0 + m[0]) / f;
        let means: Vec<f64> = self.blocks.means().into_iter().map(|m| m.0).collect();
        let ensemble = Ensemble::of(&means, v0);
        ensemble.check(variance(&means, 0) / (0.5 * f * thermal(&means).powi(2)))?;
        let capacity = |m: &[f64]| {
            let in_boltzmann = match ensemble {
                // J. L. Lebowitz, J. K. Percus and L. Verlet, Phys. Rev. 153 (1967) 250.
                Ensemble::Energy => 0.5 * f / (1.0 - 2.0 * variance(m, 0) / (f * thermal(m).powi(2))),
                Ensemble::Temperature => variance(m, 2) / thermal(m).powi(2),
                // Fluctuation of the enthalpy at the mean pressure.
                Ensemble::Pressure => {
                    let (p, together) = (m[7], m[6] - m[2] * m[4]);
                    (variance(m, 2) + 2.0 * p * together + p * p * variance(m, 4)) / thermal(m).powi(2)
                }
            };
            vec![in_boltzmann / self.atoms]
        };
        let (value, later) = (self.blocks.derive(capacity)[0], self.blocks.after_beginning(capacity)[0]);
        let mut results = Results::default();
        let name = format!("heat capacity per atom over k_B, at constant {}", ensemble.constant());
        let fluctuations = self.fluctuations(ensemble);
        let beginning = beginning(value, later);
        let withheld = [&fluctuations, &beginning].into_iter().flatten().any(|w| w.0 == Verdict::Withheld);
        if let Some(warning) = fluctuations {
            results.warn(&name, warning, "a longer run, or rows more often if they are few");
        }
        for warning in beginning.into_iter().chain(self.drift(ensemble)) {
            results.warn(
                &name,
                warning,
                "leave out the equilibration: in a stage before this one, or by later rows (--first)",
            );
        }
        if !withheld {
            results.value(&name, "", value);
        }
        Ok(results)
    }
}

impl HeatCapacity {
    /// Warning about fluctuations of too few independent values.
    fn fluctuations(&self, ensemble: Ensemble) -> Option<(Verdict, String)> {
        // The quantity whose fluctuations count; with the volume, the slower one of two.
        let [of_kinetic, of_total, of_volume] = [0, 1, 2].map(|k| independent(&self.scatter[k..=k]));
        let independent = match ensemble {
            Ensemble::Pressure => of_total.min(of_volume),
            Ensemble::Energy => of_kinetic,
            Ensemble::Temperature => of_total,
        };
        let reason =
            format!("only some {independent:.0} of the {} rows are independent", self.blocks.frames());
        judge_fluctuations(independent).map(|verdict| (verdict, reason))
    }

    /// Warning about a mean that is another one in the second half of the rows.
    fn drift(&self, ensemble: Ensemble) -> Option<(Verdict, String)> {
        let (name, at) = match ensemble {
            Ensemble::Energy => ("kinetic", 0),
            Ensemble::Temperature | Ensemble::Pressure => ("total", 2),
        };
        let [(early, early_error), (late, late_error)] =
            self.blocks.halves(|m| vec![m[at]]).map(|half| half[0]);
        let apart = (late - early).abs() / early_error?.hypot(late_error?);
        let reason = format!(
            "the rows are not in equilibrium, it seems: the mean {name} energy of their halves is {apart:.0} standard errors apart"
        );
        (apart > APART).then_some((Verdict::Doubtful, reason))
    }
}

/// Warning about a heat capacity that the first rows change by more than the error that it has without them.
fn beginning(all: BlockEstimate, later: BlockEstimate) -> Option<(Verdict, String)> {
    let verdict = judge((all.0 - later.0, None), later)?;
    let [all, later] = [all.0, later.0].map(|capacity| format!("{capacity:.3}"));
    let reason = format!(
        "the rows begin out of equilibrium, it seems: it is {all}, but {later} without the first of them"
    );
    Some((verdict, reason))
}

/// Variance of a quantity whose mean is at this place, and the mean of its square behind it.
fn variance(means: &[f64], at: usize) -> f64 {
    means[at + 1] - means[at] * means[at]
}

/// Quantity that is constant, by which fluctuations have their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ensemble {
    Energy,
    Temperature,
    Pressure,
}

impl Ensemble {
    /// Ensemble of rows with these means, which began at a volume.
    fn of(means: &[f64], volume: f64) -> Self {
        if variance(means, 4).max(0.0).sqrt() >= RIGID * volume {
            Ensemble::Pressure
        } else if variance(means, 2).sqrt() < CONSTANT * variance(means, 0).sqrt() {
            Ensemble::Energy
        } else {
            Ensemble::Temperature
        }
    }

    fn constant(self) -> &'static str {
        match self {
            Ensemble::Energy => "energy",
            Ensemble::Temperature => "temperature",
            Ensemble::Pressure => "pressure",
        }
    }

    /// Refuses a kinetic energy that varies so many times as much as in a canonical ensemble where that cannot be. At
    /// constant energy it varies less.
    fn check(self, of_canonical: f64) -> Result<()> {
        match self {
            Ensemble::Energy if of_canonical >= 1.0 => Err(Error::input(format!(
                "the rows are not in equilibrium: at constant energy the kinetic energy varies less than at constant temperature, but here it varies {of_canonical:.2} times as much"
            ))
            .hint("leave out the equilibration; or run longer, if there are few rows")),
            Ensemble::Temperature | Ensemble::Pressure
                if !(1.0 / CANONICAL..CANONICAL).contains(&of_canonical) =>
            {
                Err(Error::input(format!(
                    "neither the energy is constant nor is this a canonical ensemble: the kinetic energy varies {of_canonical:.2} times as much as it should"
                ))
                .hint("run at constant energy, or with bussi, nose-hoover or langevin; and leave out the equilibration"))
            }
            _ => Ok(()),
        }
    }
}
