//! Changes of biases at the ends of steps, and the work that they do.

use jostle_core::Real;
use serde::{Deserialize, Serialize};

/// A change that is noted at the end of a step and acts from the next one on, however often that is evaluated.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Pending<T>(Option<(u64, T)>);

impl<T> Default for Pending<T> {
    fn default() -> Self {
        Pending(None)
    }
}

impl<T> Pending<T> {
    /// Notes a change at the end of a step.
    pub fn note(&mut self, step: u64, change: T) {
        self.0 = Some((step, change));
    }

    /// Takes the change of a step before this one.
    pub fn take_due(&mut self, step: u64) -> Option<T> {
        self.0.take_if(|(since, _)| *since < step).map(|(_, change)| change)
    }

    /// The change that has yet to act.
    pub fn get(&self) -> Option<&T> {
        self.0.as_ref().map(|(_, change)| change)
    }

    /// The step and the change that was noted at its end.
    pub fn noted(&self) -> Option<&(u64, T)> {
        self.0.as_ref()
    }
}

/// Changes of a bias from step to step, with the work that they do. `T` tells the energy without the newest one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Switching<T> {
    pub pending: Pending<T>,
    /// Step that is the first one with the newest change.
    pub newest: Option<(u64, T)>,
    /// Values at the end of the last step.
    pub last: Vec<f64>,
    pub work: f64,
}

impl<T> Default for Switching<T> {
    fn default() -> Self {
        Switching { pending: Pending::default(), newest: None, last: Vec::new(), work: 0.0 }
    }
}

impl<T> Switching<T> {
    /// Notes that a change acts from this step on.
    pub fn begin(&mut self, step: u64, change: T) {
        self.newest = Some((step, change));
    }

    /// Ends a step at some values: adds the work of the change that began with it, from the energies without and with
    /// this change at the values before and after the step.
    pub fn end_step(&mut self, step: u64, values: &[f64], energies: impl Fn(&T, &[f64]) -> [f64; 2]) {
        if let Some((_, change)) = self.newest.take_if(|(since, _)| *since == step) {
            self.work += switching_work(energies(&change, &self.last), energies(&change, values));
        }
        self.last = values.to_vec();
    }
}

/// Work of a bias whose energy changes at given positions: the mean of the changes at the positions before and
/// after the step, as a step has half a kick by the forces before and half by those after.
pub fn switching_work<R: Real>(before: [R; 2], after: [R; 2]) -> R {
    R::lit(0.5) * ((before[1] - before[0]) + (after[1] - after[0]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_acts_from_the_next_step_on() {
        let mut pending = Pending::default();
        pending.note(4, "hill");
        assert_eq!((pending.take_due(4), pending.get()), (None, Some(&"hill")));
        assert_eq!((pending.take_due(5), pending.take_due(6)), (Some("hill"), None));
    }

    /// A spring whose stiffness changes from 1 to 3 does the mean of what it would do where a step begins and ends,
    /// once.
    #[test]
    fn work_is_that_of_the_step_in_which_a_change_begins() {
        let energies = |stiffness: &f64, x: &[f64]| [0.5 * x[0] * x[0], 0.5 * stiffness * x[0] * x[0]];
        let mut switching = Switching::default();
        switching.end_step(1, &[2.0], energies);
        switching.begin(2, 3.0);
        switching.end_step(2, &[1.0], energies);
        switching.end_step(3, &[5.0], energies);
        assert_eq!(switching.work, 0.5 * (4.0 + 1.0));
    }
}
