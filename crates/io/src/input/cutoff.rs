//! Cut-offs of `[[force]]`: a length, or half the box.

use super::fields::{FromValue, Value};
use super::model::{Cutoff, Input, Located, StageInput};
use jostle_core::Result;
use std::borrow::Cow;

impl FromValue for Cutoff {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Quantity(length, _) => Some(Cutoff::At(*length)),
            Value::Text(_) => Some(Cutoff::HalfBox),
            _ => None,
        }
    }
}

impl Input {
    /// Returns true where all cut-offs are known without the box.
    pub(super) fn has_known_cutoffs(&self) -> bool {
        self.forces.iter().all(|force| force.value.cutoff != Some(Cutoff::HalfBox))
    }

    /// Input in which cut-offs at half the box are lengths: `most`, the largest that its box allows. An infinite one, of an
    /// open box, has no half: there they stay, and forces are refused.
    pub fn with_known_cutoffs(&self, most: f64) -> Cow<'_, Input> {
        if self.has_known_cutoffs() || most.is_infinite() {
            return Cow::Borrowed(self);
        }
        let mut input = self.clone();
        for force in &mut input.forces {
            force.value.cutoff = force.value.cutoff.map(|cutoff| Cutoff::At(cutoff.length().unwrap_or(most)));
        }
        Cow::Owned(input)
    }
}

/// Refuses a cut-off at half of a box that changes: forces are those of one cut-off.
pub(super) fn refuse_changing_cutoffs(input: &Input) -> Result<()> {
    let half = input.forces.iter().find(|force| force.value.cutoff == Some(Cutoff::HalfBox));
    let changes =
        |stage: &Located<StageInput>| stage.value.barostat.is_some() || stage.value.deformation.is_some();
    match half {
        Some(force) if input.stages.iter().any(changes) => Err(input
            .source
            .error(&force.span, "the box changes in a stage, and its half would change with it")
            .hint("give the cut-off as a length")),
        _ => Ok(()),
    }
}
