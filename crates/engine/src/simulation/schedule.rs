//! Schedule of a stage: the steps at which rows, frames, measures, observers, barostat and ramps are due, the
//! quantities to evaluate there, and the batches of steps in between. Plain numbers in, plain numbers out.

use jostle_analysis::Observable;
use jostle_core::Evaluate;
use jostle_core::arithmetic::greatest_common_divisor;

/// Intervals of a stage, in steps counted from its beginning; 0: never.
#[derive(Debug, Clone, Default)]
pub(super) struct Schedule {
    /// Number of steps of the stage.
    pub steps: u64,
    /// Interval of long-range forces, of which all other intervals are multiples.
    pub long_range_every: u64,
    /// Interval of rows of `thermo.csv`, or of the samples that they are means of.
    pub rows: u64,
    /// Data that rows need.
    pub row_data: RowData,
    /// Interval of frames of the trajectory.
    pub frames: u64,
    /// Interval of checkpoints.
    pub checkpoints: u64,
    /// Interval of changes of the box by deformation.
    pub deformation: u64,
    /// Interval of exchanges of velocities that drive heat.
    pub heat_flux: u64,
    /// Interval of changes of the volume by the barostat, which need energies.
    pub barostat: u64,
    /// Interval of changes of temperature or stiffness.
    pub ramps: u64,
    /// Interval of changes of stiffness, which need energies.
    pub stiffness: u64,
    /// Interval of each observer, and the quantities it needs.
    pub observers: Vec<(u64, Evaluate)>,
    /// Interval of each measure, and the observable it takes.
    pub measures: Vec<(u64, Observable)>,
}

/// Data that a row of `thermo.csv` needs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum RowData {
    /// Sums over all atoms, which a device samples by itself.
    #[default]
    Sums,
    /// The atoms themselves: for the columns of groups, and where a stage may end at a row.
    Atoms,
    /// Forces of the host that are evaluated there, for their columns alone: batches have no samples.
    ForcesOfHost,
}

/// A batch of steps that a device makes by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BatchPlan {
    /// Number of steps.
    pub steps: u64,
    /// Interval of samples, the last of which is at the end of the batch; 0: no samples.
    pub sample_every: u64,
    /// Quantities to evaluate in the last step.
    pub evaluate: Evaluate,
}

impl Schedule {
    /// True if the observers have these intervals and needs, which may change while a stage goes on.
    pub fn has_observers(&self, observers: impl Iterator<Item = (u64, Evaluate)>) -> bool {
        observers.eq(self.observers.iter().copied())
    }

    /// True if a row is due after so many steps.
    pub fn is_row_due(&self, stage_step: u64) -> bool {
        is_due(self.rows, stage_step)
    }

    /// True if a frame is due after so many steps.
    pub fn is_frame_due(&self, stage_step: u64) -> bool {
        is_due(self.frames, stage_step)
    }

    /// True if a checkpoint is due after so many steps.
    pub fn is_checkpoint_due(&self, stage_step: u64) -> bool {
        is_due(self.checkpoints, stage_step)
    }

    /// True if a measure that takes such an observable is due after so many steps; measures begin after the
    /// start.
    pub fn is_measure_due(&self, observable: impl Fn(Observable) -> bool, stage_step: u64) -> bool {
        stage_step > 0 && self.intervals(observable).any(|every| is_due(every, stage_step))
    }

    /// True if a row, a frame, an observer or a measure is due after so many steps.
    pub fn is_output_due(&self, stage_step: u64) -> bool {
        self.is_row_due(stage_step)
            || self.is_frame_due(stage_step)
            || self.observers.iter().any(|(every, _)| is_due(*every, stage_step))
            || self.is_measure_due(|_| true, stage_step)
    }

    /// True if a row, an observer or a measure that needs energies is due after so many steps.
    pub fn is_thermo_due(&self, stage_step: u64) -> bool {
        let mut observers = self.observers.iter().filter(|(every, _)| is_due(*every, stage_step));
        self.is_row_due(stage_step)
            || observers.any(|(_, requested)| *requested == Evaluate::ForcesAndEnergies)
            || self.is_measure_due(Observable::energies, stage_step)
    }

    /// Quantities to evaluate in the step after which so many steps are done.
    pub fn evaluate_at(&self, stage_step: u64) -> Evaluate {
        let changes = [self.barostat, self.stiffness].into_iter().any(|every| is_due(every, stage_step));
        match self.is_thermo_due(stage_step) || stage_step > 0 && changes {
            true => Evaluate::ForcesAndEnergies,
            false => Evaluate::Forces,
        }
    }

    /// The next batch after `done` steps, of at most `most` steps. The batch ends where the atoms are needed
    /// on the host or change otherwise than by steps; samples in between serve rows and measures of the whole
    /// system.
    pub fn next_batch(&self, done: u64, most: u64) -> BatchPlan {
        let most = most.min(self.steps - done);
        let most = self.batch_ends().map(|every| steps_until(every, done)).fold(most, u64::min);
        let whole = self.intervals(|observable| observable == Observable::Whole);
        let samples = whole.fold(self.rows, greatest_common_divisor);
        if self.long_range_every > 1 {
            return self.batch_between_energies(done, most.min(steps_until(samples, done)));
        }
        if self.row_data == RowData::ForcesOfHost {
            let steps = most.min(steps_until(samples, done));
            return BatchPlan { steps, sample_every: 0, evaluate: self.evaluate_at(done + steps) };
        }
        let (steps, sample_every) = cut_at_samples(done, most, samples);
        BatchPlan { steps, sample_every, evaluate: self.evaluate_at(done + steps) }
    }

    /// A batch of at most `steps` steps where long-range forces act at some steps only: a step with energies,
    /// which take long-range forces at weight 1, is made sub-step by sub-step, so that the batch ends before
    /// it.
    fn batch_between_energies(&self, done: u64, steps: u64) -> BatchPlan {
        match self.evaluate_at(done + steps) {
            Evaluate::ForcesAndEnergies if steps > 1 => {
                BatchPlan { steps: steps - 1, sample_every: 0, evaluate: Evaluate::Forces }
            }
            evaluate => BatchPlan { steps, sample_every: 0, evaluate },
        }
    }

    /// Intervals at which batches end.
    fn batch_ends(&self) -> impl Iterator<Item = u64> {
        let rows = if self.row_data == RowData::Sums { 0 } else { self.rows };
        let observers = self.observers.iter().map(|(every, _)| *every);
        [rows, self.frames, self.checkpoints, self.deformation, self.heat_flux, self.barostat, self.ramps]
            .into_iter()
            .chain(observers)
            .chain(self.intervals(Observable::atoms))
    }

    /// Intervals of the measures that take such an observable.
    fn intervals(&self, observable: impl Fn(Observable) -> bool) -> impl Iterator<Item = u64> {
        self.measures.iter().filter(move |(_, taken)| observable(*taken)).map(|(every, _)| *every)
    }
}

/// True if an event with this interval is due after so many steps.
pub(super) fn is_due(every: u64, stage_step: u64) -> bool {
    every > 0 && stage_step.is_multiple_of(every)
}

/// Number of steps, after `done` steps, until an event with this interval is due.
fn steps_until(every: u64, done: u64) -> u64 {
    if every > 0 { every - done % every } else { u64::MAX }
}

/// Steps and sampling interval of a batch after `done` steps, of at most `most` steps, so that each multiple
/// of `samples` (0: none) has a sample: all samples of a batch are equally far apart, and the last one is at
/// its end.
fn cut_at_samples(done: u64, most: u64, samples: u64) -> (u64, u64) {
    let next = steps_until(samples, done);
    match most < next {
        true => (most, 0),
        false if next < samples => (next, next),
        false => (most - most % samples, samples),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Batches of a whole stage: steps at which they end, and steps with samples.
    fn batches(schedule: &Schedule, most: u64) -> (Vec<u64>, Vec<u64>) {
        let (mut ends, mut sampled) = (Vec::new(), Vec::new());
        let mut done = 0;
        while done < schedule.steps {
            let BatchPlan { steps, sample_every, evaluate } = schedule.next_batch(done, most);
            assert!(steps > 0 && steps <= most, "{schedule:?}: {steps} steps of {most}");
            if sample_every > 0 {
                assert!(steps.is_multiple_of(sample_every), "{schedule:?}");
                sampled.extend((1..=steps / sample_every).map(|k| done + k * sample_every));
            }
            done += steps;
            assert_eq!(evaluate, schedule.evaluate_at(done), "{schedule:?}: after {done}");
            ends.push(done);
        }
        (ends, sampled)
    }

    fn multiples(every: u64, steps: u64) -> Vec<u64> {
        (1..=steps).filter(|step| is_due(every, *step)).collect()
    }

    fn stage(steps: u64) -> Schedule {
        Schedule { steps, long_range_every: 1, ..Schedule::default() }
    }

    #[test]
    fn every_row_has_its_sample_whatever_the_batches() {
        for rows in [0, 1, 3, 10, 100] {
            for most in [1, 2, 7, 10, 45, 1000] {
                let (_, sampled) = batches(&Schedule { rows, ..stage(300) }, most);
                assert_eq!(sampled, multiples(rows, 300), "rows every {rows}, at most {most} steps");
            }
        }
    }

    #[test]
    fn batches_end_where_the_host_needs_the_atoms_or_changes_them() {
        let atoms = Schedule { rows: 7, row_data: RowData::Atoms, ..stage(100) };
        let measures = vec![(7, Observable::Positions)];
        let observers = vec![(7, Evaluate::Forces)];
        for schedule in [
            atoms,
            Schedule { frames: 7, ..stage(100) },
            Schedule { checkpoints: 7, ..stage(100) },
            Schedule { deformation: 7, ..stage(100) },
            Schedule { heat_flux: 7, ..stage(100) },
            Schedule { barostat: 7, ..stage(100) },
            Schedule { ramps: 7, ..stage(100) },
            Schedule { measures, ..stage(100) },
            Schedule { observers, ..stage(100) },
        ] {
            for most in [5, 1000] {
                let (ends, _) = batches(&schedule, most);
                assert!(multiples(7, 100).iter().all(|step| ends.contains(step)), "{schedule:?}: {ends:?}");
            }
        }
        assert_eq!(batches(&Schedule { rows: 7, ..stage(98) }, 1000).0, [98], "rows of sums end no batch");
    }

    #[test]
    fn measures_of_the_whole_system_are_sampled_beside_rows() {
        let schedule = Schedule { rows: 6, measures: vec![(4, Observable::Whole)], ..stage(60) };
        assert_eq!(batches(&schedule, 1000), (vec![60], multiples(2, 60)));
        assert!(schedule.is_measure_due(Observable::energies, 4) && !schedule.is_measure_due(|_| true, 0));
    }

    #[test]
    fn energies_are_evaluated_only_where_they_are_needed() {
        let energies = |schedule: &Schedule| -> Vec<u64> {
            (0..=12).filter(|step| schedule.evaluate_at(*step) == Evaluate::ForcesAndEnergies).collect()
        };
        assert_eq!(energies(&Schedule { frames: 1, deformation: 1, ramps: 1, ..stage(12) }), [0; 0]);
        assert_eq!(energies(&Schedule { rows: 6, ..stage(12) }), [0, 6, 12]);
        assert_eq!(energies(&Schedule { barostat: 5, stiffness: 4, ..stage(12) }), [4, 5, 8, 10, 12]);
        let observers = vec![(6, Evaluate::ForcesAndEnergies), (5, Evaluate::Forces)];
        let schedule = Schedule { observers, ..stage(12) };
        assert_eq!(energies(&schedule), [0, 6, 12]);
        assert!(schedule.is_output_due(5) && !schedule.is_output_due(4));
    }

    /// With long-range forces at every second step, steps with energies are batches of one step.
    #[test]
    fn steps_with_energies_are_single_between_impulses() {
        let schedule = Schedule { long_range_every: 2, rows: 10, ..stage(20) };
        assert_eq!(batches(&schedule, 1000), (vec![9, 10, 19, 20], Vec::new()));
    }
}
