//! Free energies of states from samples with energies in all of them.

use crate::reading::Tell;
use jostle_analysis::{ResultWarning, Results, Table, Verdict, judge_fluctuations};
use jostle_core::{Error, Result};
use jostle_sampling::free_energy::{Estimate, Mbar, bennett, independent, inefficiency};

/// Unit of free energies.
pub(crate) const UNIT: &str = "kT";

/// Samples of all tables, by state.
pub(crate) struct Samples {
    /// Parameter of each state of one, ascending, or its number along the path.
    pub states: Vec<f64>,
    /// For each state its samples in the order of the files: energies in all states, or the derivative with each parameter.
    pub rows: Vec<Vec<Vec<f64>>>,
    pub contents: Contents,
}

/// Contents of tables.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Energies in all states.
    Energies,
    /// Derivatives with parameters.
    Derivatives,
}

/// Independent samples of a series, by the inefficiency of one number of each.
fn thinned(rows: &[Vec<f64>], number: impl Fn(&Vec<f64>) -> f64) -> Vec<Vec<f64>> {
    let series: Vec<f64> = rows.iter().map(number).collect();
    let finite = series.iter().all(|x| x.is_finite());
    let chosen = independent(rows.len(), if finite { inefficiency(&series) } else { 1.0 });
    chosen.into_iter().map(|k| rows[k].clone()).collect()
}

/// Samples of all states for MBAR: the energies in each state, and how many samples are from it.
fn reweighted(rows: &[Vec<Vec<f64>>]) -> Result<Mbar> {
    let energies = (0..rows.len()).map(|k| rows.iter().flatten().map(|row| row[k]).collect()).collect();
    Mbar::new(energies, rows.iter().map(Vec::len).collect())
}

/// BAR between two states.
fn step(rows: &[Vec<Vec<f64>>], [from, to]: [usize; 2]) -> Result<Estimate> {
    let difference =
        |from: usize, to: usize| -> Vec<f64> { rows[from].iter().map(|row| row[to] - row[from]).collect() };
    bennett(&difference(from, to), &difference(to, from))
}

/// BAR from the first state to all others, from each state with samples to the next one; NaN for states without.
fn by_bar(all: &[Vec<Vec<f64>>], independent: &[Vec<Vec<f64>>]) -> Vec<Estimate> {
    let unknown = Estimate { value: f64::NAN, error: f64::NAN };
    let mut steps = vec![unknown; all.len()];
    steps.iter_mut().take(1).for_each(|first| *first = Estimate { value: 0.0, error: 0.0 });
    let mut last = 0;
    for k in (1..all.len()).filter(|k| !all[*k].is_empty()) {
        if let (Ok(of_all), Ok(of_independent)) = (step(all, [last, k]), step(independent, [last, k])) {
            let value = steps[last].value + of_all.value;
            steps[k] = Estimate { value, error: steps[last].error.hypot(of_independent.error) };
        }
        last = k;
    }
    steps
}

/// Least overlap of states with samples and the next ones of these: of both directions the larger one, since that towards a
/// state with few samples is small however alike the two are.
fn least_overlap(matrix: &[Vec<f64>], rows: &[Vec<Vec<f64>>]) -> f64 {
    let sampled: Vec<usize> = (0..rows.len()).filter(|k| !rows[*k].is_empty()).collect();
    let of_pair = |pair: &[usize]| matrix[pair[0]][pair[1]].max(matrix[pair[1]][pair[0]]);
    sampled.windows(2).map(of_pair).fold(f64::INFINITY, f64::min)
}

/// MBAR, BAR and overlaps. Values are those of all samples, errors those of independent ones: samples that are left out
/// would add noise, and correlated ones say less than their number.
///
/// # Errors
/// If states have no samples in common.
pub(crate) fn by_energies(samples: &Samples, tell: Tell) -> Result<Results> {
    let n = samples.states.len();
    let other = |k: usize| if k + 1 < n { k + 1 } else { k.saturating_sub(1) };
    let chosen: Vec<Vec<Vec<f64>>> =
        (0..n).map(|k| thinned(&samples.rows[k], |row| row[other(k)] - row[k])).collect();
    tell(&format!(
        "{} independent of {} samples",
        chosen.iter().map(Vec::len).sum::<usize>(),
        samples.rows.iter().map(Vec::len).sum::<usize>()
    ));
    let few = few_samples(&samples.states, &chosen)?;
    let (of_all, mbar) = (reweighted(&samples.rows)?, reweighted(&chosen)?);
    let estimate = |k: usize| Estimate { error: mbar.difference(0, k).error, ..of_all.difference(0, k) };
    let estimates: Vec<Estimate> = (0..n).map(estimate).collect();
    let mut table = Table::new("free-energy", "state", String::new(), samples.states.clone());
    table.with_errors("free energy by MBAR", UNIT, &pairs(&estimates));
    let steps = by_bar(&samples.rows, &chosen);
    table.with_errors("free energy by BAR", UNIT, &pairs(&steps));
    let mut results = Results { warnings: few.into_iter().collect(), ..Results::default() };
    let total = estimates.last().copied().unwrap_or(steps[0]);
    results.value("free energy by MBAR", UNIT, (total.value, Some(total.error)));
    results.tables.push(table);
    let mut overlap = Table::new("overlap", "state", String::new(), samples.states.clone());
    let matrix = mbar.overlap();
    for (k, state) in samples.states.iter().enumerate() {
        overlap.plain(&format!("from {state}"), "", matrix.iter().map(|row| row[k]).collect());
    }
    let least = least_overlap(&matrix, &samples.rows);
    if least < doubtful_overlap(n) {
        results.warnings.push(ResultWarning {
            verdict: Verdict::Doubtful,
            about: "free energy by MBAR".into(),
            reason: format!("neighbouring states overlap by {least:.3} only"),
            remedy: "add states between them".into(),
        });
    }
    results.tables.push(overlap);
    Ok(results)
}

/// Refuses a state with a single independent sample, which has no error, and warns of states with few, whose errors are too
/// small.
fn few_samples(states: &[f64], chosen: &[Vec<Vec<f64>>]) -> Result<Option<ResultWarning>> {
    let sampled = states.iter().zip(chosen).filter(|(_, rows)| !rows.is_empty());
    let counts = sampled.map(|(state, rows)| (format!("state {state}"), rows.len()));
    warning_of_few(counts, "free energy by MBAR")
}

/// Refuses the first of some names with a single independent sample or none, and warns of that with the fewest, where they are few.
///
/// # Errors
/// If there is one.
pub(crate) fn warning_of_few(
    counts: impl Iterator<Item = (String, usize)>,
    about: &str,
) -> Result<Option<ResultWarning>> {
    let Some((name, fewest)) = counts.min_by_key(|(_, count)| *count) else { return Ok(None) };
    if fewest < 2 {
        let count = if fewest == 0 { "no sample" } else { "a single independent sample" };
        let message = format!("{name} has {count}, of which no error is known");
        return Err(
            Error::input(message).hint("sample longer, or choose more rows by --first, --last and --every")
        );
    }
    Ok(judge_fluctuations(fewest as f64).map(|_| ResultWarning {
        verdict: Verdict::Doubtful,
        about: about.into(),
        reason: format!("{name} has {fewest} independent samples only, and errors of so few are too small"),
        remedy: "sample longer".into(),
    }))
}

/// Overlap of two of so many states below which free energies between them are doubtful (Klimovich, Shirts and Mobley 2015),
/// or half of what states have that are all alike, if that is less.
pub(crate) fn doubtful_overlap(states: usize) -> f64 {
    f64::min(0.03, 0.5 / states as f64)
}

/// Values with their errors.
pub(crate) fn pairs(estimates: &[Estimate]) -> Vec<(f64, Option<f64>)> {
    estimates.iter().map(|e| (e.value, Some(e.error))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::random::{Purpose, Stream};

    /// Samples that are each there several times have the free energy of the different ones, and their error.
    #[test]
    fn correlated_samples_count_in_the_value_and_not_in_the_error() {
        let (n, copies) = (400, 5);
        let mut stream = Stream::new(11, Purpose::Test, 0, 0);
        // Springs of stiffness 1 and 2: ln(2) / 2 apart.
        let mut rows = |stiffness: f64| -> Vec<Vec<f64>> {
            let sample = |x: f64| vec![0.5 * x * x, x * x];
            (0..n).map(|_| sample(stream.normal() / stiffness.sqrt())).collect()
        };
        let different = vec![rows(1.0), rows(2.0)];
        let repeat = |rows: &Vec<Vec<f64>>| -> Vec<Vec<f64>> {
            rows.iter().flat_map(|row| vec![row.clone(); copies]).collect()
        };
        let repeated = different.iter().map(repeat).collect();
        let [one, many] = [different, repeated].map(|rows| {
            let samples = Samples { states: vec![0.0, 1.0], rows, contents: Contents::Energies };
            let results = by_energies(&samples, &mut |_| {}).unwrap();
            let value = results.get("free energy by MBAR").unwrap();
            (value.value, value.error.unwrap())
        });
        assert!((one.0 - many.0).abs() < 1e-6, "{one:?} {many:?}");
        assert!((0.7..1.5).contains(&(many.1 / one.1)), "{one:?} {many:?}");
        assert!((one.0 - 0.5 * 2f64.ln()).abs() < 4.0 * one.1, "{one:?}");
    }

    /// A state with few independent samples is not said to overlap little with one that it is like.
    #[test]
    fn few_samples_are_no_gap() {
        let mut stream = Stream::new(5, Purpose::Test, 0, 0);
        let mut rows = |n: usize, repeats: usize| -> Vec<Vec<f64>> {
            let one: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
            one.iter().flat_map(|x| vec![vec![0.5 * x * x, 0.51 * x * x]; repeats]).collect()
        };
        let rows = vec![rows(2000, 1), rows(10, 200)];
        let samples = Samples { states: vec![0.0, 1.0], rows, contents: Contents::Energies };
        let results = by_energies(&samples, &mut |_| {}).unwrap();
        let overlaps = results.warnings.iter().any(|warning| warning.reason.contains("overlap"));
        assert!(!overlaps, "{:?}", results.warnings);
    }
}
