//! Reasons to doubt a run, found in its numbers. Every rule is a function of plain numbers, used by the run
//! itself as by what reports about it; `plausibility.rs` has those that need no step.

use crate::averages::Confidence;
use crate::report::{Average, EnergyDrift, StageReport};
use crate::thermo::Thermo;
use jostle_analysis::series::{Series, halves};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, UnitSystem};
use serde::{Deserialize, Serialize};

/// A drift of so much of the kinetic energy over a stage is worth a word,
const DRIFT: f64 = 5e-3;
/// where it is so many errors large and comes from so many rows.
const DRIFT_ERRORS: f64 = 3.0;
const DRIFT_ROWS: u64 = 10;
/// A drift of so much is worth one however it scatters.
const LARGE_DRIFT: f64 = 0.1;
/// Halves of a stage that are so many errors apart are not the same state: of 10,000 sound ones,
/// one would be.
const APART: f64 = 4.0;
/// With fewer rows halves are not compared.
const ROWS: usize = 40;
/// How far the temperature of atoms may be from that of the thermostat: where averages are taken, time
/// steps that are long for good reasons make some percent;
const WARMER: f64 = 0.05;
/// before that, it is still on its way.
const MUCH_WARMER: f64 = 0.5;
/// A temperature that has grown by this factor,
const HOTTER: f64 = 10.0;
/// with so much of the kinetic energy out of nothing, will not come back.
const FROM_NOTHING: f64 = 0.5;
/// The quantities whose averages and halves are looked at.
const LOOKED_AT: [&str; 4] = ["temperature", "potential", "pressure", "density"];

/// A reason to doubt a stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Warning {
    /// The rule it comes from.
    pub kind: WarningKind,
    /// A sentence with numbers, and with the remedy, if there is one.
    pub message: String,
}

/// The rules, by the names they have in `summary.json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WarningKind {
    /// The conserved quantity drifted.
    Drift,
    /// The halves of the stage differ by more than their errors allow.
    NotSettled,
    /// Too few rows are independent for errors to be more than rough.
    FewSamples,
    /// The temperature of the atoms is not that of the thermostat.
    Temperature,
    /// Atoms are much nearer to each other, or further apart, than they are large.
    Spacing,
    /// The time step is long for the fastest motion.
    Timestep,
    /// The barostat holds another pressure than the one that is printed.
    Barostat,
    /// The thermostat samples no ensemble.
    Ensemble,
}

impl WarningKind {
    /// Whether it is found before the first step.
    pub fn is_foreseen(self) -> bool {
        match self {
            WarningKind::Spacing | WarningKind::Timestep | WarningKind::Barostat | WarningKind::Ensemble => {
                true
            }
            WarningKind::Drift
            | WarningKind::NotSettled
            | WarningKind::FewSamples
            | WarningKind::Temperature => false,
        }
    }
}

impl Warning {
    /// A warning about a stage.
    pub(crate) fn new(kind: WarningKind, stage: &str, message: impl std::fmt::Display) -> Self {
        Warning { kind, message: format!("stage \"{stage}\": {message}") }
    }
}

/// The part that a stage has in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Others follow: it is there to change something.
    Preparation,
    /// It is the last one, of which averages are taken.
    Production,
}

/// What the rules need to know of the rows of a stage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Evidence {
    /// Those of [`LOOKED_AT`], in that order.
    series: [Series; 4],
    /// The temperature over that of the thermostat.
    ratio: Series,
    /// The lowest and the highest temperature that a thermostat was told to hold.
    targets: Option<[f64; 2]>,
    /// The temperature and what should stay constant at the first row.
    first: Option<[f64; 2]>,
    most_kinetic: f64,
    aging: Aging,
}

/// Whether a stage can settle at all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Aging {
    /// It can.
    #[default]
    Settles,
    /// Something changes it all the time: a box that is deformed, grains that lose their energy.
    Changes,
}

impl Evidence {
    /// Nothing yet.
    pub fn new(aging: Aging) -> Self {
        Evidence { aging, ..Evidence::default() }
    }

    /// Takes a row, at the temperature that a thermostat is to hold, if there is one.
    pub fn record(&mut self, thermo: &Thermo, target: Option<f64>) {
        let values = [Some(thermo.temperature), Some(thermo.potential), thermo.pressure, thermo.density];
        for (series, value) in self.series.iter_mut().zip(values) {
            value.into_iter().for_each(|v| series.add(v));
        }
        if let Some(target) = target {
            let [low, high] = self.targets.unwrap_or([target; 2]);
            self.targets = Some([low.min(target), high.max(target)]);
            if target > 0.0 {
                self.ratio.add(thermo.temperature / target);
            }
        }
    }

    /// Looks at a row in passing.
    ///
    /// # Errors
    /// If the atoms have become many times hotter than they were and than a thermostat holds them, by energy
    /// out of nothing: the errors of the time steps.
    pub fn watch(&mut self, thermo: &Thermo, target: Option<f64>, units: UnitSystem) -> Result<()> {
        let energy = thermo.conserved.unwrap_or(thermo.total);
        let [start, before] = *self.first.get_or_insert([thermo.temperature, energy]);
        self.most_kinetic = self.most_kinetic.max(thermo.kinetic);
        let (now, gained) = (thermo.temperature, energy - before);
        let limit = HOTTER * start.max(target.unwrap_or(0.0));
        if self.aging == Aging::Changes || now <= limit || gained <= FROM_NOTHING * self.most_kinetic {
            return Ok(());
        }
        let [heat, degree] = [Dimension::ENERGY, Dimension::TEMPERATURE].map(|d| spaced(units, d));
        Err(Error::simulation(format!(
            "step {}: the system is heating up without a cause: the energy that should be constant grew by \
             {gained:.4e}{heat} in this stage, and the temperature from {start:.4}{degree} to {now:.4e}{degree}",
            thermo.step
        ))
        .hint(
            "minimise first, shorten the time step, or look for atoms that attract each other and have no \
             repulsive core",
        ))
    }

    /// All that is wrong with a stage that amounted to this.
    pub fn warnings(&self, report: &StageReport, role: Role) -> Vec<Warning> {
        let stage = report.name.as_str();
        let conserved = report.averages.iter().find(|a| a.quantity == "conserved").and_then(|a| a.estimate);
        let rows = conserved.map_or(0, |e| e.samples);
        let mut found: Vec<Warning> = Vec::new();
        found.extend(report.drift.and_then(|d| drift(stage, &d, rows)));
        found.extend(far_from_thermostat(stage, self.ratio.means(), role));
        if role == Role::Production && self.aging == Aging::Settles {
            found.extend(few_samples(stage, &report.averages));
            if self.targets.is_none_or(|[low, high]| low == high) {
                let halves = LOOKED_AT.iter().zip(&self.series);
                found.extend(halves.filter_map(|(name, s)| not_settled(stage, name, s.means())));
            }
        }
        found
    }
}

/// The conserved quantity drifted, as judged by so many rows.
pub fn drift(stage: &str, drift: &EnergyDrift, rows: u64) -> Option<Warning> {
    let (part, slope) = (drift.of_kinetic.abs(), drift.per_time);
    let certain = rows >= DRIFT_ROWS && slope.slope.abs() > DRIFT_ERRORS * slope.error;
    (part > LARGE_DRIFT || part > DRIFT && certain).then(|| {
        let percent = 100.0 * drift.of_kinetic;
        let message = format!(
            "the conserved quantity drifted by {percent:.1} % of the kinetic energy; a shorter time step helps"
        );
        Warning::new(WarningKind::Drift, stage, message)
    })
}

/// Errors of averages are rough.
pub fn few_samples(stage: &str, averages: &[Average]) -> Option<Warning> {
    let poor = |a: &&Average| {
        a.estimate.is_some_and(|e| e.confidence == Confidence::Poor && e.error > 1e-9 * e.mean.abs())
    };
    let names = averages.iter().filter(poor).map(|a| a.quantity.as_str());
    let names: Vec<&str> = names.filter(|name| LOOKED_AT.contains(name)).collect();
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        let message = format!("too few independent rows for the errors of {names} to be more than rough");
        Warning::new(WarningKind::FewSamples, stage, message)
    })
}

/// The halves of a series of rows, or of means of equally many, are not the same.
pub fn not_settled(stage: &str, quantity: &str, values: &[f64]) -> Option<Warning> {
    if values.len() < ROWS {
        return None;
    }
    let [(a, ea), (b, eb)] = halves(values)?;
    let error = ea.hypot(eb);
    (error > 1e-9 * a.abs() && (a - b).abs() > APART * error).then(|| {
        let apart = (a - b).abs() / error;
        let message = format!(
            "not in equilibrium, it seems: the mean {quantity} was {a:.6} in its first half and {b:.6} in its \
             second, {apart:.0} standard errors apart"
        );
        Warning::new(WarningKind::NotSettled, stage, message)
    })
}

/// The temperature over that of the thermostat is not one.
pub(crate) fn far_from_thermostat(stage: &str, ratios: &[f64], role: Role) -> Option<Warning> {
    let allowed = if role == Role::Production { WARMER } else { MUCH_WARMER };
    if ratios.len() < ROWS {
        return None;
    }
    let [_, (ratio, error)] = halves(ratios)?;
    let off = (ratio - 1.0).abs();
    (off > allowed && off > APART * error).then(|| {
        let message = format!(
            "the temperature was {ratio:.3} of what the thermostat should hold, in the second half: a shorter \
             time step, a longer cut-off or a stronger thermostat helps"
        );
        Warning::new(WarningKind::Temperature, stage, message)
    })
}

/// The unit of a dimension behind a space; nothing in reduced units.
pub(crate) fn spaced(units: UnitSystem, dimension: Dimension) -> String {
    let unit = unit_name(units, dimension);
    if unit.is_empty() { unit } else { format!(" {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_analysis::averages::{BlockAverage, Slope};
    use jostle_core::random::{Purpose, Stream};

    fn noise(seed: u64) -> impl FnMut() -> f64 {
        let mut stream = Stream::new(seed, Purpose::Thermostat, 0, 0);
        move || stream.normal()
    }

    #[test]
    fn a_step_is_seen_and_noise_is_not() {
        for rows in [39, 40, 400, 10_000] {
            let (mut random, mut sound, mut broken) = (noise(rows), Series::default(), Series::default());
            for k in 0..rows {
                let value = random();
                sound.add(value);
                broken.add(value + if 3 * k > rows { 2.0 } else { 0.0 });
            }
            assert_eq!(not_settled("s", "pressure", sound.means()), None, "{rows}");
            let found = not_settled("s", "pressure", broken.means());
            assert_eq!(found.is_some_and(|w| w.message.contains("pressure")), rows >= 40, "{rows}");
        }
    }

    #[test]
    fn a_drift_counts_where_it_is_certain_or_large() {
        let found = |of_kinetic, slope, error, rows| {
            let per_time = Slope { slope, error };
            drift("s", &EnergyDrift { per_time, of_kinetic, kt_per_ns_per_dof: None }, rows).is_some()
        };
        assert!(found(6e-3, 1.0, 0.1, 100) && found(-6e-3, -1.0, 0.1, 100));
        assert!(!found(6e-3, 1.0, 0.4, 100), "it may be noise");
        assert!(!found(6e-3, 1.0, 0.1, 5), "a few rows say nothing");
        assert!(!found(4e-3, 1.0, 0.01, 100), "it is small");
        assert!(found(0.2, 1.0, 0.9, 3), "one jump is no line");
    }

    #[test]
    fn temperatures_are_those_of_the_thermostat() {
        let found = |mean: f64, rows: usize, role| {
            let mut random = noise(3);
            let ratios: Vec<f64> = (0..rows).map(|_| mean + 0.02 * random()).collect();
            far_from_thermostat("s", &ratios, role).is_some()
        };
        let (first, last) = (Role::Preparation, Role::Production);
        assert!(!found(1.0, 200, last) && !found(1.03, 200, last) && !found(1.2, 200, first));
        assert!(found(1.1, 200, last) && found(0.9, 200, last) && found(1.8, 200, first));
        assert!(!found(1.1, 20, last), "a few rows say nothing");
    }

    #[test]
    fn few_rows_are_few() {
        let average = |quantity: &str, rows: u64| {
            let (mut random, mut average) = (noise(rows), BlockAverage::default());
            (0..rows).for_each(|_| average.add(5.0 + random()));
            Average { quantity: quantity.into(), unit: String::new(), estimate: average.estimate() }
        };
        assert_eq!(few_samples("s", &[average("temperature", 1000), average("pxx", 5)]), None);
        let found = few_samples("s", &[average("temperature", 1000), average("pressure", 5)]).unwrap();
        assert!(found.message.contains("errors of pressure"), "{}", found.message);
    }

    /// Heat that comes from potential energy or a thermostat is sound, whatever the temperature.
    #[test]
    fn only_heat_out_of_nothing_is_absurd() {
        let row = |temperature: f64, conserved: f64| Thermo {
            step: 7,
            time: 0.0,
            temperature,
            kinetic: 1.5 * temperature,
            potential: 0.0,
            terms: Vec::new(),
            rotational: None,
            total: 0.0,
            conserved: Some(conserved),
            pressure: None,
            pressure_tensor: None,
            volume: None,
            density: None,
            strain: None,
            stress: None,
            momentum: [0.0; 3],
            groups: Vec::new(),
        };
        let watch = |aging, target, rows: &[(f64, f64)]| {
            let mut evidence = Evidence::new(aging);
            rows.iter().try_for_each(|(t, h)| evidence.watch(&row(*t, *h), target, UnitSystem::Lj))
        };
        let settles = Aging::Settles;
        assert!(watch(settles, None, &[(0.0, 5.0), (80.0, 5.1), (90.0, 4.9)]).is_ok(), "it fell into a well");
        assert!(watch(settles, Some(9.0), &[(1.0, 5.0), (12.0, 30.0)]).is_ok(), "it drifted for long");
        assert!(watch(settles, None, &[(0.0, 5.0), (9.0, 5.0), (0.1, 5.2)]).is_ok(), "it stands still");
        let error = watch(settles, None, &[(1.0, 5.0), (12.0, 30.0)]).unwrap_err();
        assert!(error.message().contains("step 7") && error.message().contains("1.2000e1"), "{error}");
        assert!(watch(Aging::Changes, None, &[(1.0, 5.0), (12.0, 30.0)]).is_ok(), "work is done on it");
    }
}
