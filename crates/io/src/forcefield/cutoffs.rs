//! Cut-offs that the files of a force field give. Forces reach as far as the input says, so that both have to be the
//! same.

use super::nonbonded::NonbondedParameters;
use crate::input::Input;
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Result};
use std::ops::Range;
use std::path::PathBuf;

/// Largest difference of equal cut-offs, in parts of them: the rounding of units.
const ROUNDING: f64 = 1e-9;

/// Forces that have a cut-off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutoffOf {
    /// Lennard-Jones forces.
    LennardJones,
    /// Charges, in real space where there is a sum over images.
    Charges,
}

/// Cut-off in a line of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenCutoff {
    /// Forces that end there.
    pub of: CutoffOf,
    /// Distance in the units of the input.
    pub length: f64,
    /// Name of the forces in the file.
    pub style: String,
    /// The file.
    pub path: PathBuf,
    /// Number of the line, from 1.
    pub line: usize,
}

impl Input {
    /// Refuses a cut-off, which the section at this place has, where the files of the molecules have another one.
    pub(super) fn check_cutoff(
        &self,
        span: &Range<usize>,
        of: CutoffOf,
        length: f64,
        parameters: &NonbondedParameters,
    ) -> Result<()> {
        let differs = |given: &&GivenCutoff| {
            given.of == of && (given.length - length).abs() > ROUNDING * length.max(given.length)
        };
        let Some(given) = parameters.cutoffs.iter().find(differs) else { return Ok(()) };
        let forces = match of {
            CutoffOf::LennardJones => "Lennard-Jones forces",
            CutoffOf::Charges => "charges",
        };
        let (own, other) = (self.length_in_words(length), self.length_in_words(given.length));
        let message =
            format!("the cut-off of {forces} is {own} here, and {other} in {}", self.place_in_words(given));
        Err(self
            .source
            .error(span, message)
            .hint(format!("write cutoff = \"{other}\", or change the other one")))
    }

    /// Refuses cut-offs of files where the input has none.
    pub(super) fn check_no_cutoffs(&self, parameters: &NonbondedParameters) -> Result<()> {
        let Some(given) = parameters.cutoffs.first() else { return Ok(()) };
        let message = format!(
            "the input has no cut-offs, so that all pairs interact; there is one of {} in {}",
            self.length_in_words(given.length),
            self.place_in_words(given)
        );
        Err(self.source.error(&self.system.atoms.span, message).hint(
            "add [[force]] with kind = \"lennard-jones\" and [electrostatics] with these cut-offs, or leave their \
             numbers out of that line",
        ))
    }

    fn place_in_words(&self, given: &GivenCutoff) -> String {
        format!("line {} of {} ({})", given.line, given.path.display(), given.style)
    }

    /// A length with its unit, without the rounding of its conversion.
    fn length_in_words(&self, length: f64) -> String {
        let digits = format!("{length:.9}");
        let digits = digits.trim_end_matches('0').trim_end_matches('.');
        format!("{digits} {}", unit_name(self.units, Dimension::LENGTH)).trim_end().into()
    }
}
