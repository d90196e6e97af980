//! Free energy along a variable from umbrella windows: runs with harmonic biases, whose energies are known at the samples
//! of all others by the columns of variables. Energies of all other biases are those of the rows, and are taken off.

use crate::arguments::AnalyzeOptions;
use crate::biased_run::BiasedRun;
use crate::grid_profile::{difference, table};
use crate::moments::refuse_means;
use crate::other_biases::energy_column;
use crate::reading::Tell;
use crate::same_energy::{Sampled, refuse_different};
use crate::states::{doubtful_overlap, warning_of_few};
use jostle_analysis::{ResultWarning, Results, Verdict};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result};
use jostle_io::input::model::{BiasAction, BiasInput};
use jostle_sampling::free_energy::{BLOCKS, Mbar, independent, inefficiency, wham_of_blocks};
use std::collections::BTreeSet;

/// Method for umbrella windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Mbar,
    Wham,
}

/// Settings of a profile of windows.
pub struct WindowSettings {
    pub method: Method,
    pub bins: usize,
    /// Variable of the profile; `None`: that of the harmonic biases which differ.
    pub variable: Option<String>,
}

impl Default for WindowSettings {
    fn default() -> Self {
        WindowSettings { method: Method::Mbar, bins: 50, variable: None }
    }
}

/// Variables of samples: their names, and their periods.
type Variables<'a> = Vec<(&'a str, Option<f64>)>;

/// A harmonic bias of a window.
struct Spring {
    /// Number among the variables of samples.
    variable: usize,
    period: Option<f64>,
    center: f64,
    stiffness: f64,
}

impl Spring {
    fn energy(&self, values: &[f64]) -> f64 {
        0.5 * self.stiffness * difference(self.period, values[self.variable], self.center).powi(2)
    }
}

/// Independent samples of all windows, window after window.
struct Samples {
    /// Values of the variables.
    values: Vec<Vec<f64>>,
    /// Energies of all biases without a spring.
    others: Vec<f64>,
    /// Number of each window.
    counts: Vec<usize>,
    /// Number of all rows.
    rows: usize,
}

/// The harmonic biases of a run.
fn windows(run: &BiasedRun) -> impl Iterator<Item = (&BiasInput, [f64; 2])> {
    run.biases().filter_map(|bias| match bias.action {
        BiasAction::Harmonic { center, stiffness } => Some((bias, [center[0], stiffness[0]])),
        _ => None,
    })
}

/// The biases of a run that are not harmonic.
fn others(run: &BiasedRun) -> impl Iterator<Item = &BiasInput> {
    run.biases().filter(|bias| !matches!(bias.action, BiasAction::Harmonic { .. }))
}

/// Name of the variable of the profile: that of the setting, or the one whose harmonic biases make the windows.
fn variable_of<'a>(runs: &'a [BiasedRun], given: Option<&'a str>) -> Result<&'a str> {
    if let Some(name) = given {
        return Ok(name);
    }
    let all = || runs.iter().flat_map(|run| windows(run).map(|(bias, _)| run.variable(bias).0));
    let names: BTreeSet<&str> = all().collect();
    let springs_on = |run: &'a BiasedRun, name: &str| -> Vec<[f64; 2]> {
        windows(run).filter(|(bias, _)| run.variable(bias).0 == name).map(|(_, spring)| spring).collect()
    };
    let differs = |name: &&&str| runs.iter().any(|run| springs_on(run, name) != springs_on(&runs[0], name));
    let differing: Vec<&&str> = names.iter().filter(differs).collect();
    match (names.len(), &differing[..]) {
        (0, _) => Err(Error::file(
            &runs[0].path,
            format!("no harmonic bias acts in stage '{}', as one does in a window", runs[0].stage().name),
        )
        .hint("choose a stage with --stage; a profile is also made from the files of hills, kernels or adaptive forces")),
        (1, _) => Ok(all().next().unwrap_or_default()),
        (_, [name]) => Ok(**name),
        _ => Err(Error::input("harmonic biases act on several variables").hint(format!(
            "choose that of the profile: {}",
            names.iter().map(|name| format!("variable={name}")).collect::<Vec<_>>().join(" or ")
        ))),
    }
}

/// Refuses biases of which a window is no state of its own, and windows that differ in more than harmonic biases.
fn refuse_unfit(runs: &[BiasedRun]) -> Result<Option<ResultWarning>> {
    for run in runs {
        if let Some(bias) = others(run).find(|bias| !bias.stays()) {
            let message = format!("bias '{}' does not stay the same in a window", bias.name);
            return Err(Error::file(&run.path, message)
                .hint("windows have biases that are harmonic, linear, walls or formulas"));
        }
    }
    let is_other = |name: &str| runs.iter().flat_map(others).any(|bias| bias.name == name);
    let sampled: Vec<Sampled> = runs.iter().map(BiasedRun::sampled).collect();
    refuse_different(&sampled, |name| !is_other(name), "pmf")
}

impl Samples {
    /// Rows of all runs, of which as many are taken as are independent. A variable on a circle is made continuous about
    /// a spring, or about its first value, for its correlations.
    fn read(options: &AnalyzeOptions, runs: &[BiasedRun], variables: &Variables) -> Result<Self> {
        let mut samples = Samples { values: vec![], others: vec![], counts: vec![], rows: 0 };
        for run in runs {
            refuse_means(&run.input, &run.path, &run.rows()?.name, "a profile")?;
            let columns = variables.iter().map(|(name, _)| run.column(name)).collect::<Result<Vec<_>>>()?;
            let energies =
                others(run).map(|bias| run.column(&energy_column(bias))).collect::<Result<Vec<_>>>()?;
            let row = |k: usize| -> (Vec<f64>, f64) {
                let values = columns.iter().map(|column| column[k]).collect();
                (values, energies.iter().map(|column| column[k]).sum())
            };
            let mut rows = options.reading.chosen((0..run.rows()?.time.len()).map(row).collect());
            rows.retain(|(values, energy)| energy.is_finite() && values.iter().all(|x| x.is_finite()));
            samples.rows += rows.len();
            let springs = springs(run, variables);
            let one = |(d, (_, period)): (usize, &(&str, Option<f64>))| {
                let spring = springs.iter().find(|spring| spring.variable == d).map(|spring| spring.center);
                let about = spring.or(rows.first().map(|(values, _)| values[d])).unwrap_or(0.0);
                let series: Vec<f64> =
                    rows.iter().map(|(values, _)| difference(*period, values[d], about)).collect();
                inefficiency(&series)
            };
            let most = variables.iter().enumerate().map(one).fold(1.0, f64::max);
            let chosen = independent(rows.len(), most);
            samples.counts.push(chosen.len());
            for (values, energy) in chosen.into_iter().map(|k| rows[k].clone()) {
                samples.values.push(values);
                samples.others.push(energy);
            }
        }
        Ok(samples)
    }
}

/// The springs of a run.
fn springs(run: &BiasedRun, variables: &Variables) -> Vec<Spring> {
    let spring = |(bias, [center, stiffness]): (&BiasInput, [f64; 2])| {
        let (name, period) = run.variable(bias);
        let variable = variables.iter().position(|(other, _)| *other == name)?;
        Some(Spring { variable, period, center, stiffness })
    };
    windows(run).filter_map(spring).collect()
}

/// Free energy along a variable of umbrella windows, without all biases.
///
/// # Errors
/// If runs do not fit together.
pub fn profile(
    options: &AnalyzeOptions,
    runs: &[BiasedRun],
    (settings, thermal_energy): (&WindowSettings, f64),
    tell: Tell,
) -> Result<(String, u64, Results)> {
    let name = variable_of(runs, settings.variable.as_deref())?;
    let known = runs[0].input.variables.iter().map(|variable| &variable.value);
    let Some(variable) = known.clone().find(|variable| variable.name.value == name) else {
        let names: Vec<&str> = known.map(|variable| variable.name.value.as_str()).collect();
        return Err(Error::file(&runs[0].path, format!("this run has no variable '{name}'"))
            .hint(format!("its variables are: {}", names.join(", "))));
    };
    let warning = refuse_unfit(runs)?;
    // The first variable is that of the profile.
    let mut variables: Variables = vec![(name, variable.kind.period())];
    for (run, (bias, _)) in runs.iter().flat_map(|run| windows(run).map(move |window| (run, window))) {
        let variable = run.variable(bias);
        if !variables.contains(&variable) {
            variables.push(variable);
        }
    }
    let samples = Samples::read(options, runs, &variables)?;
    tell(&format!(
        "{} independent of {} samples of {} windows",
        samples.values.len(),
        samples.rows,
        runs.len()
    ));
    let counts = runs.iter().zip(&samples.counts);
    let named = counts.map(|(run, count)| (format!("window {}", run.path.display()), *count));
    let few = warning_of_few(named, "free energy")?;
    let springs: Vec<Vec<Spring>> = runs.iter().map(|run| springs(run, &variables)).collect();
    let bins = Bins::of(variables[0].1, settings.bins, &samples);
    let mbar = mbar_of(&samples, &springs, thermal_energy);
    let gap = mbar.as_ref().ok().and_then(|mbar| warning_of_gap(runs, &mbar.overlap()));
    let [values, errors] = match settings.method {
        Method::Mbar => by_mbar(&samples, &mbar?, &bins, thermal_energy),
        Method::Wham => by_wham(&samples, &springs, &bins, thermal_energy)?,
    };
    let scaled = |all: Vec<f64>| all.iter().map(|x| thermal_energy * x).collect::<Vec<f64>>();
    let units = runs[0].input.units;
    let unit = unit_name(units, Dimension::ENERGY);
    let (values, errors) = (scaled(values), Some(scaled(errors)));
    let mut results = table(vec![(name.to_string(), bins.places)], &unit, values, errors);
    results.warnings.extend(warning.into_iter().chain(few).chain(gap));
    Ok((units.name().into(), samples.rows as u64, results))
}

/// Bins along the variable of the profile.
struct Bins {
    low: f64,
    width: f64,
    /// Middles.
    places: Vec<f64>,
}

impl Bins {
    fn of(period: Option<f64>, count: usize, samples: &Samples) -> Self {
        let values = || samples.values.iter().map(|values| values[0]);
        let [low, high] = match period {
            Some(period) => [-0.5 * period, 0.5 * period],
            None => [values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max)],
        };
        let width = (high - low) / count as f64;
        Bins { low, width, places: (0..count).map(|k| low + (k as f64 + 0.5) * width).collect() }
    }

    fn number(&self, x: f64) -> usize {
        ((x - self.low) / self.width).floor().clamp(0.0, self.places.len() as f64 - 1.0) as usize
    }
}

/// Free energies of the windows. Biases without a spring are the same in all of them, so that their energies are left out.
fn mbar_of(samples: &Samples, springs: &[Vec<Spring>], thermal_energy: f64) -> Result<Mbar> {
    let reduced = |springs: &Vec<Spring>| -> Vec<f64> {
        let one = |values: &Vec<f64>| springs.iter().map(|spring| spring.energy(values)).sum::<f64>();
        samples.values.iter().map(|values| one(values) / thermal_energy).collect()
    };
    Mbar::new(springs.iter().map(reduced).collect(), samples.counts.clone())
}

/// Warning where windows fall into groups that hardly overlap.
fn warning_of_gap(runs: &[BiasedRun], overlap: &[Vec<f64>]) -> Option<ResultWarning> {
    let of_pair = |a: usize, b: usize| overlap[a][b].max(overlap[b][a]);
    let mut reached = vec![0];
    let mut next = 0;
    while next < reached.len() {
        let from = reached[next];
        let near = |k: &usize| !reached.contains(k) && of_pair(from, *k) >= doubtful_overlap(runs.len());
        let near: Vec<usize> = (0..runs.len()).filter(near).collect();
        reached.extend(near);
        next += 1;
    }
    let apart = (0..runs.len()).filter(|k| !reached.contains(k));
    let pairs = apart.flat_map(|k| reached.iter().map(move |from| (*from, k)));
    let (from, to) = pairs.max_by(|a, b| of_pair(a.0, a.1).total_cmp(&of_pair(b.0, b.1)))?;
    let [from_path, to_path] = [from, to].map(|k| runs[k].path.display());
    Some(ResultWarning {
        verdict: Verdict::Doubtful,
        about: "free energy".into(),
        reason: format!("windows {from_path} and {to_path} overlap by {:.3} only", of_pair(from, to)),
        remedy: "add windows between them".into(),
    })
}

/// Values and errors by MBAR, in units of k_B T. Biases without a spring are taken off in the state of the profile.
fn by_mbar(samples: &Samples, mbar: &Mbar, bins: &Bins, thermal_energy: f64) -> [Vec<f64>; 2] {
    let taken_off: Vec<f64> = samples.others.iter().map(|energy| -energy / thermal_energy).collect();
    let numbers: Vec<Option<usize>> =
        samples.values.iter().map(|values| Some(bins.number(values[0]))).collect();
    let profile = mbar.profile(&taken_off, &numbers, bins.places.clone());
    [profile.values, profile.errors]
}

/// Values and errors by WHAM, in units of k_B T.
fn by_wham(
    samples: &Samples,
    springs: &[Vec<Spring>],
    bins: &Bins,
    thermal_energy: f64,
) -> Result<[Vec<f64>; 2]> {
    if samples.others.iter().any(|energy| *energy != 0.0) || springs.iter().flatten().any(|s| s.variable > 0)
    {
        return Err(Error::input(
            "other biases than those along the variable of the profile have energies, too",
        )
        .hint("method=mbar takes them off"));
    }
    let mut blocks = vec![vec![vec![0.0; bins.places.len()]; springs.len()]; BLOCKS];
    let mut next = 0;
    for (k, count) in samples.counts.iter().enumerate() {
        for (number, values) in samples.values[next..next + count].iter().enumerate() {
            blocks[number * BLOCKS / count][k][bins.number(values[0])] += 1.0;
        }
        next += count;
    }
    let energy = |springs: &Vec<Spring>, x: f64| {
        springs.iter().map(|spring| spring.energy(&[x])).sum::<f64>() / thermal_energy
    };
    let bias: Vec<Vec<f64>> =
        springs.iter().map(|springs| bins.places.iter().map(|x| energy(springs, *x)).collect()).collect();
    wham_of_blocks(&blocks, &bias)
}
