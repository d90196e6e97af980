//! Rows of `thermo.csv` that are single moments, as statistics of fluctuations need them: with `sample_every` rows are
//! means of many, which fluctuate less.

use jostle_core::{Error, Result};
use jostle_io::Input;
use std::path::Path;

/// Returns true where the rows of a stage are means of samples.
pub fn are_means(input: &Input, stage: &str) -> bool {
    input.stages.iter().any(|other| other.value.name == stage && other.value.sample_every.is_some())
}

/// Refuses rows of a stage that are means of samples, for what is found from single moments.
///
/// # Errors
/// If they are.
pub fn refuse_means(input: &Input, folder: &Path, stage: &str, what: &str) -> Result<()> {
    match are_means(input, stage) {
        true => Err(Error::file(
            folder,
            format!(
                "the rows of stage '{stage}' are means of samples, and {what} is found from single moments"
            ),
        )
        .hint("leave out sample_every in thermo = { ... }, or let the stage measure it: measure = [...]")),
        false => Ok(()),
    }
}
