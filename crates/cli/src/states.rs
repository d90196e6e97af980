//! Free energies of states from samples with energies in all of them.

use crate::reading::Tell;
use jostle_analysis::{ResultWarning, Results, Table, Verdict};
use jostle_core::Result;
use jostle_sampling::free_energy::{Estimate, Mbar, bennett, independent, inefficiency};

/// Unit of free energies.
pub(crate) const UNIT: &str = "kT";

/// Samples of all tables, by state.
pub(crate) struct Samples {
    /// Parameter of each state, ascending.
    pub states: Vec<f64>,
    /// For each state its samples in the order of the files: energies in all states, or one derivative.
    pub rows: Vec<Vec<Vec<f64>>>,
    pub contents: Contents,
}

/// Contents of tables.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    /// Energies in all states.
    Energies,
    /// Derivatives with the parameter.
    Derivatives,
}

/// Independent samples of a series, by the inefficiency of one number of each.
fn thinned(rows: &[Vec<f64>], number: impl Fn(&Vec<f64>) -> f64) -> Vec<Vec<f64>> {
    let series: Vec<f64> = rows.iter().map(number).collect();
    let finite = series.iter().all(|x| x.is_finite());
    let chosen = independent(rows.len(), if finite { inefficiency(&series) } else { 1.0 });
    chosen.into_iter().map(|k| rows[k].clone()).collect()
}

/// MBAR, BAR and overlaps.
///
/// # Errors
/// If states have no samples in common.
pub(crate) fn by_energies(samples: &Samples, tell: Tell) -> Result<Results> {
    let n = samples.states.len();
    let other = |k: usize| if k + 1 < n { k + 1 } else { k.saturating_sub(1) };
    let chosen: Vec<Vec<Vec<f64>>> =
        (0..n).map(|k| thinned(&samples.rows[k], |row| row[other(k)] - row[k])).collect();
    let counts: Vec<usize> = chosen.iter().map(Vec::len).collect();
    tell(&format!(
        "{} independent of {} samples",
        counts.iter().sum::<usize>(),
        samples.rows.iter().map(Vec::len).sum::<usize>()
    ));
    let energies = (0..n).map(|k| chosen.iter().flatten().map(|row| row[k]).collect()).collect();
    let mbar = Mbar::new(energies, counts)?;
    let estimates: Vec<Estimate> = (0..n).map(|k| mbar.difference(0, k)).collect();
    let mut table = Table::new("free-energy", "state", String::new(), samples.states.clone());
    table.with_errors("free energy by MBAR", UNIT, &pairs(&estimates));
    let mut steps = vec![Estimate { value: 0.0, error: 0.0 }];
    for k in 1..n {
        let difference = |rows: &[Vec<f64>], from: usize, to: usize| -> Vec<f64> {
            rows.iter().map(|row| row[to] - row[from]).collect()
        };
        let step = bennett(&difference(&chosen[k - 1], k - 1, k), &difference(&chosen[k], k, k - 1));
        let last = steps[k - 1];
        // A state without samples has no neighbours to be compared with.
        let unknown = Estimate { value: f64::NAN, error: f64::NAN };
        steps.push(step.map_or(unknown, |step| Estimate {
            value: last.value + step.value,
            error: last.error.hypot(step.error),
        }));
    }
    table.with_errors("free energy by BAR", UNIT, &pairs(&steps));
    let mut results = Results::default();
    let total = estimates.last().copied().unwrap_or(steps[0]);
    results.value("free energy by MBAR", UNIT, (total.value, Some(total.error)));
    results.tables.push(table);
    let mut overlap = Table::new("overlap", "state", String::new(), samples.states.clone());
    let matrix = mbar.overlap();
    for (k, state) in samples.states.iter().enumerate() {
        overlap.plain(&format!("from {state}"), "", matrix.iter().map(|row| row[k]).collect());
    }
    let least = (1..n).map(|k| matrix[k - 1][k]).fold(f64::INFINITY, f64::min);
    if least < LEAST_OVERLAP {
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

/// Overlap of neighbours below which free energies are doubtful (Klimovich, Shirts and Mobley 2015).
const LEAST_OVERLAP: f64 = 0.03;

/// Values with their errors.
pub(crate) fn pairs(estimates: &[Estimate]) -> Vec<(f64, Option<f64>)> {
    estimates.iter().map(|e| (e.value, Some(e.error))).collect()
}
