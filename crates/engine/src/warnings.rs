//! Warnings about a run, from its results. Every rule is a function of plain numbers, used by the run itself
//! and by reports about it; `plausibility.rs` has the rules that need no step.

use crate::averages::Confidence;
use crate::report::{Average, Convergence, EnergyDrift, StageReport, Warning, WarningKind};
use crate::thermo::Thermo;
use jostle_analysis::series::{Series, halves};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, UnitSystem};
use jostle_io::input::model::Until;
use serde::{Deserialize, Serialize};

/// Drift over a stage, relative to the kinetic energy, above which a warning is given if the drift is
/// significant.
const DRIFT: f64 = 5e-3;
/// Fewest rows of a significant drift, and its least size in standard errors: of few rows errors are rough.
const CERTAIN: [(u64, f64); 2] = [(10, 3.0), (5, 10.0)];
/// Drift above which a warning is given in any case.
const LARGE_DRIFT: f64 = 0.1;
/// Remedy of a drift.
const SHORTER: &str = "a shorter time step helps";
/// Remedy of a drift under a thermostat, whose heat is not counted exactly, see
/// [`jostle_core::thermostat::heat_of_scaling`].
const GENTLER: &str = "a shorter time step helps, and so does a thermostat that acts more gently";
/// Difference of the halves of a stage, in standard errors, above which a warning is given: one in 10,000
/// stages in equilibrium exceeds it.
const APART: f64 = 4.0;
/// Fewest rows whose halves are compared.
const ROWS: usize = 40;
/// Largest relative difference of the temperature from that of the thermostat in the last stage; long time
/// steps cause some percent.
const WARMER: f64 = 0.05;
/// Largest relative difference of the temperature in earlier stages, which may still relax.
const MUCH_WARMER: f64 = 0.5;
/// Part of the kinetic energy from which a motion that all atoms have in common is worth a warning,
const COMMON_PART: f64 = 0.01;
/// where it is so many times that of a centre of mass in thermal motion.
const COMMON_OVER_THERMAL: f64 = 10.0;
/// Growth of the temperature at which a run ends as unstable; more where few atoms are so hot by chance,
const HOTTER: f64 = 10.0;
/// once in e^35 rows,
const CHANCE: f64 = 35.0;
/// and growth of the conserved quantity, over the largest kinetic energy, at which it does.
const ENERGY_GROWTH: f64 = 0.5;
/// Change of an energy, over its size, that may be rounding: atoms near rest move less than that.
const ROUNDING: f64 = 1e-6;
/// Quantities whose averages and halves are checked.
const CHECKED: [&str; 4] = ["temperature", "potential", "pressure", "density"];

/// Role of a stage in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// A stage before the last one.
    Preparation,
    /// The last stage, whose averages are the results.
    Production,
}

/// Data of the rows of a stage for the rules.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Evidence {
    /// Series of the quantities of [`CHECKED`], in that order.
    series: [Series; 4],
    /// Temperature over that of the thermostat.
    ratio: Series,
    /// Lowest and highest temperature of the thermostat.
    targets: Option<[f64; 2]>,
    /// Temperature and conserved quantity of the first row.
    first: Option<[f64; 2]>,
    most_kinetic: f64,
    aging: Aging,
    work: ExternalWork,
}

/// Approach of a stage to equilibrium.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Aging {
    /// The system can reach equilibrium.
    #[default]
    Settles,
    /// The system changes all the time: a box is deformed, or grains lose their energy.
    Changes,
}

/// External work on the atoms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ExternalWork {
    /// No external work.
    #[default]
    Nothing,
    /// Work that is part of the energy, as that of a force that is the same everywhere.
    Done,
    /// Work of fields and walls that change with time, not all of which is recorded.
    InTime,
    /// Work by atoms driven at a velocity, which is not known step by step.
    Driven,
    /// Work of fields and walls that change with time, all of which is recorded: the conserved quantity takes it off.
    Recorded,
}

impl Evidence {
    /// Data without rows.
    pub fn new(aging: Aging, work: ExternalWork) -> Self {
        Evidence { aging, work, ..Evidence::default() }
    }

    /// Returns true where only errors of the integration change the conserved quantity, and no work that it does not
    /// take off.
    fn is_conserved(&self) -> bool {
        match self.work {
            ExternalWork::Nothing | ExternalWork::Done | ExternalWork::Recorded => true,
            ExternalWork::InTime | ExternalWork::Driven => false,
        }
    }

    /// Adds a row; `target` is the temperature of the thermostat, if there is one.
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

    /// Checks the stability of the integration by a row.
    ///
    /// # Errors
    /// If the temperature has become many times higher than at the beginning and than that of the thermostat, with
    /// a growth of the conserved quantity, which can come only from errors of the integration.
    pub fn watch(&mut self, thermo: &Thermo, target: Option<f64>, units: UnitSystem) -> Result<()> {
        let energy = thermo.conserved.unwrap_or(thermo.total);
        let [start, before] = *self.first.get_or_insert([thermo.temperature, energy]);
        self.most_kinetic = self.most_kinetic.max(thermo.kinetic);
        let (now, gained) = (thermo.temperature, energy - before);
        let degrees = 2.0 * thermo.kinetic / (units.boltzmann() * now);
        let limit = HOTTER.max(rarely_exceeded(degrees)) * start.max(target.unwrap_or(0.0));
        let size = thermo.terms.iter().map(|term| term.abs()).sum::<f64>();
        let certain = (ENERGY_GROWTH * self.most_kinetic).max(ROUNDING * size);
        if self.aging == Aging::Changes || now <= limit || gained <= certain {
            return Ok(());
        }
        let [heat, degree] = [Dimension::ENERGY, Dimension::TEMPERATURE].map(|d| spaced(units, d));
        // A thermostat whose heat is not known changes the total energy, too.
        let energy =
            if thermo.conserved.is_some() { "energy that should be constant" } else { "total energy" };
        Err(Error::simulation(format!(
            "step {}: the system is heating up without a cause: the {energy} grew by \
             {gained:.4e}{heat} in this stage, and the temperature from {start:.4}{degree} to {now:.4e}{degree}",
            thermo.step
        ))
        .hint(
            "minimise first, shorten the time step, or look for atoms that attract each other and have no \
             repulsive core",
        ))
    }

    /// All warnings about a stage with this report.
    pub fn warnings(&self, report: &StageReport, role: Role) -> Vec<Warning> {
        let stage = report.name.as_str();
        let conserved = report.averages.iter().find(|a| a.quantity == "conserved").and_then(|a| a.estimate);
        let rows = conserved.map_or(0, |e| e.samples);
        let mut found: Vec<Warning> = Vec::new();
        let remedy = if self.targets.is_some() { GENTLER } else { SHORTER };
        let drifts =
            report.drift.filter(|drift| self.is_conserved() && !is_rounding(drift, &report.averages));
        found.extend(drifts.and_then(|d| drift(stage, &d, rows, remedy)));
        found.extend(far_from_thermostat(stage, self.ratio.means(), role));
        if role == Role::Production && self.aging == Aging::Settles {
            found.extend(few_samples(stage, &report.averages));
            if self.targets.is_none_or(|[low, high]| low == high) {
                let halves = CHECKED.iter().zip(&self.series);
                found.extend(halves.filter_map(|(name, s)| not_settled(stage, name, s.means())));
            }
        }
        found
    }
}

/// Kinetic energy over its mean that degrees of freedom in equilibrium exceed once in e^35 rows at most: the tail of the
/// chi-square distribution (Laurent and Massart, Ann. Stat. 28 (2000) 1302, lemma 1).
fn rarely_exceeded(degrees: f64) -> f64 {
    1.0 + 2.0 * (CHANCE / degrees).sqrt() + 2.0 * CHANCE / degrees
}

/// Returns true for a drift that may be rounding of the energies: that of atoms near rest.
fn is_rounding(drift: &EnergyDrift, averages: &[Average]) -> bool {
    let mean = |name: &str| averages.iter().find(|a| a.quantity == name)?.estimate.map(|e| e.mean);
    let [kinetic, potential] = ["kinetic", "potential"].map(|name| mean(name).unwrap_or(f64::NAN));
    (drift.of_kinetic * kinetic).abs() <= ROUNDING * potential.abs()
}

/// Warning about a drift of the conserved quantity, from so many rows.
pub fn drift(stage: &str, drift: &EnergyDrift, rows: u64, remedy: &str) -> Option<Warning> {
    let (part, slope) = (drift.of_kinetic.abs(), drift.per_time);
    let certain =
        CERTAIN.iter().any(|(least, errors)| rows >= *least && slope.slope.abs() > errors * slope.error);
    (part > LARGE_DRIFT || part > DRIFT && certain).then(|| {
        let percent = 100.0 * drift.of_kinetic;
        let message =
            format!("the conserved quantity drifted by {percent:.1} % of the kinetic energy; {remedy}");
        Warning::new(WarningKind::Drift, stage, message)
    })
}

/// Warning about a minimisation that has ended before the largest force was within the tolerance. Where other stages
/// follow it is no result, and need not be exact.
pub(crate) fn unconverged(
    report: &StageReport,
    tolerance: f64,
    role: Role,
    units: UnitSystem,
) -> Option<Warning> {
    let minimum = report.minimum.filter(|minimum| minimum.outcome == Convergence::Unconverged)?;
    let (unit, steps, force) = (spaced(units, Dimension::FORCE), report.steps, minimum.largest_force);
    let message = format!(
        "after {steps} iterations the largest force is {force:.3e}{unit}, above the tolerance of {tolerance:.3e}{unit}: \
         this is no minimum yet; more steps or another minimizer help"
    );
    (role == Role::Production).then(|| Warning::new(WarningKind::Unconverged, &report.name, message))
}

/// Warning about a stage that made all its steps before it could end by its condition.
pub(crate) fn condition_missed(stage: &str, steps: u64, until: &Until) -> Warning {
    let message =
        format!("all its {steps} steps were made before: {until}; more steps, or another condition");
    Warning::new(WarningKind::Until, stage, message)
}

/// Warning about averages whose errors are rough.
pub fn few_samples(stage: &str, averages: &[Average]) -> Option<Warning> {
    let poor = |a: &&Average| {
        a.estimate.is_some_and(|e| e.confidence == Confidence::Poor && e.error > 1e-9 * e.mean.abs())
    };
    let names = averages.iter().filter(poor).map(|a| a.quantity.as_str());
    let names: Vec<&str> = names.filter(|name| CHECKED.contains(name)).collect();
    (!names.is_empty()).then(|| {
        let names = names.join(", ");
        let message = format!("too few independent rows for the errors of {names} to be more than rough");
        Warning::new(WarningKind::FewSamples, stage, message)
    })
}

/// Warning about a series of rows, or of means of equally many rows, whose halves differ.
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

/// Warning about ratios of the temperature to that of the thermostat that are far from one.
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

/// Warning about a motion that all atoms of a stage had in common, which the temperature counts as heat. `mass` is that of
/// all atoms in the unit of momenta over velocities, by which `momentum` and the energies of averages go together;
/// `scaled` is true where a thermostat scales all velocities by this temperature.
pub(crate) fn common_motion(
    report: &StageReport,
    units: UnitSystem,
    mass: f64,
    scaled: bool,
) -> Option<Warning> {
    let mean = |name: &str| report.averages.iter().find(|a| a.quantity == name)?.estimate.map(|e| e.mean);
    let to_internal = units.mass_from_user(1.0);
    let momentum =
        ["momentum_x", "momentum_y", "momentum_z"].map(|name| mean(name).unwrap_or(0.0) * to_internal);
    let kinetic = mean("kinetic").filter(|kinetic| *kinetic > 0.0)?;
    let common = momentum.iter().map(|p| p * p).sum::<f64>() / (2.0 * mass);
    let thermal = kinetic / report.degrees_of_freedom as f64;
    (common > COMMON_PART * kinetic && common > COMMON_OVER_THERMAL * thermal).then(|| {
        let part = 100.0 * common / kinetic;
        let colder = if scaled { ", and so does the thermostat: relative to each other atoms are colder" } else { "" };
        let message = format!(
            "all atoms moved together, with {part:.1} % of the kinetic energy: the temperature counts this as heat{colder}; \
             external forces that add up to zero, or walls, keep a fluid in place, and the thermostats langevin and dpd \
             hold the right temperature in one that flows slowly"
        );
        Warning::new(WarningKind::CommonMotion, &report.name, message)
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
    use jostle_core::Vec3;
    use jostle_core::random::{Purpose, Stream};

    fn noise(seed: u64) -> impl FnMut() -> f64 {
        let mut stream = Stream::new(seed, Purpose::Test, 0, 0);
        move || stream.normal()
    }

    #[test]
    fn a_jump_is_found_and_noise_is_not() {
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
            drift("s", &EnergyDrift { per_time, of_kinetic, kt_per_ns_per_dof: None }, rows, SHORTER)
                .is_some()
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
    fn averages_over_few_rows_give_a_warning() {
        let average = |quantity: &str, rows: u64| {
            let (mut random, mut average) = (noise(rows), BlockAverage::default());
            (0..rows).for_each(|_| average.add(5.0 + random()));
            Average { quantity: quantity.into(), unit: String::new(), estimate: average.estimate() }
        };
        assert_eq!(few_samples("s", &[average("temperature", 1000), average("pxx", 5)]), None);
        let found = few_samples("s", &[average("temperature", 1000), average("pressure", 5)]).unwrap();
        assert!(found.message.contains("errors of pressure"), "{}", found.message);
    }

    /// Heat from potential energy or from a thermostat ends no run, whatever the temperature.
    #[test]
    fn only_growth_of_the_conserved_quantity_ends_a_run() {
        let row = |temperature: f64, conserved: f64| Thermo {
            step: 7,
            time: 0.0,
            temperature,
            kinetic: 150.0 * temperature,
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
            momentum: Vec3::ZERO,
            groups: Vec::new(),
            bodies: None,
            interactions: Vec::new(),
            custom: Vec::new(),
        };
        let watch = |aging, target, rows: &[(f64, f64)]| {
            let mut evidence = Evidence::new(aging, ExternalWork::Nothing);
            rows.iter().try_for_each(|(t, h)| evidence.watch(&row(*t, *h), target, UnitSystem::Lj))
        };
        let settles = Aging::Settles;
        assert!(watch(settles, None, &[(0.0, 5.0), (80.0, 5.1), (90.0, 4.9)]).is_ok(), "it fell into a well");
        assert!(watch(settles, Some(9.0), &[(1.0, 5.0), (12.0, 3e3)]).is_ok(), "it drifted for long");
        assert!(watch(settles, None, &[(0.0, 5.0), (9.0, 5.0), (0.1, 5.2)]).is_ok(), "it stands still");
        let error = watch(settles, None, &[(1.0, 5.0), (12.0, 3e3)]).unwrap_err();
        assert!(error.message().contains("step 7") && error.message().contains("1.2000e1"), "{error}");
        assert!(watch(Aging::Changes, None, &[(1.0, 5.0), (12.0, 3e3)]).is_ok(), "work is done on it");
    }

    /// Three degrees of freedom have 15 k_B T once in a million rows: an atom alone is not heating up then.
    #[test]
    fn few_atoms_may_be_hot_by_chance() {
        let tail = |x: f64| (2.0 * x / std::f64::consts::PI).sqrt() * (-0.5 * x).exp();
        let limit = rarely_exceeded(3.0);
        assert!(tail(3.0 * limit) < 1e-15, "{limit}");
        assert!(limit > 20.0 && rarely_exceeded(300.0) < 2.0);
    }
}
