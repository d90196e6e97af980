//! Recorded sequences of launches: many steps without the host.
//!
//! Batches are made in segments. Each begins with half a kick and a drift, continues with whole steps, and
//! ends with forces (and energies, if a sample is taken) and half a kick. Every kernel reads the control
//! block to decide if it has anything to do: steps do nothing where a list is stale, until the kernels that
//! build it follow, and nothing is ever computed twice. So the host may queue any number of steps, and reads
//! the control block once at the end of a batch.
//!
//! Samples are taken at the end of a segment; where a step is one kernel, that kernel takes them, and a batch
//! is one segment.

use crate::device_data::SLOTS;
use crate::driver::{Device, Graph, Launch};
use crate::launches::{Launches, SequencePart, kernels};
use crate::neighbor_engine::Trigger;
use jostle_core::{Evaluate, Result};

/// Parts of a batch, recorded.
pub struct StepGraphs {
    begin: Sequence,
    steps: Sequence,
    /// End of a segment and beginning of the next, without and with energies.
    turns: [Sequence; 2],
    /// Number of steps made by one replay, as measured: slots after a list went stale do nothing.
    steps_per_replay: f64,
}

/// Device, and the function that queues the forces which others compute on it.
pub struct Queue<'a> {
    pub device: &'a Device,
    pub others: &'a mut dyn FnMut(i32, Trigger) -> Result<()>,
}

/// Sequence of launches, cut where forces of others are queued.
struct Sequence(Vec<Recorded>);

enum Recorded {
    Kernels(Graph),
    Others(i32, Trigger),
}

impl Sequence {
    fn record(device: &Device, parts: Vec<SequencePart>) -> Result<Self> {
        let mut recorded = Vec::new();
        let mut launches: Vec<Launch> = Vec::new();
        for part in parts {
            match part {
                SequencePart::Kernel(launch) => launches.push(launch),
                SequencePart::Others(slot, trigger) => {
                    recorded.push(Recorded::Kernels(device.record(std::mem::take(&mut launches))?));
                    recorded.push(Recorded::Others(slot, trigger));
                }
            }
        }
        recorded.push(Recorded::Kernels(device.record(launches)?));
        Ok(Sequence(recorded))
    }

    fn replay(&self, queue: &mut Queue) -> Result<()> {
        self.replay_with(queue, u64::MAX)
    }

    /// Replays the sequence with at most so many forces of others: further ones are not due.
    fn replay_with(&self, queue: &mut Queue, mut most: u64) -> Result<()> {
        self.0.iter().try_for_each(|part| match part {
            Recorded::Kernels(graph) => queue.device.replay(graph),
            Recorded::Others(..) if most == 0 => Ok(()),
            Recorded::Others(slot, trigger) => {
                most -= 1;
                (queue.others)(*slot, *trigger)
            }
        })
    }
}

impl StepGraphs {
    /// Records the parts, with so many step slots between two checks of the list.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn new(device: &Device, launches: &Launches, slots: u32) -> Result<Self> {
        let turn =
            |evaluate| Sequence::record(device, [launches.end(evaluate), kernels(launches.begin())].concat());
        Ok(StepGraphs {
            begin: Sequence::record(device, kernels(launches.begin()))?,
            steps: Sequence::record(device, launches.steps(slots as i32))?,
            turns: [turn(Evaluate::Forces)?, turn(Evaluate::ForcesAndEnergies)?],
            steps_per_replay: 0.67 * f64::from(slots),
        })
    }

    /// Queues segments of so many steps each, of which `left_in_first` are left in the first one. Steps that
    /// this does not make are made by what is queued for the next segment or, at the end, left for the next
    /// call.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn queue(
        &self,
        queue: &mut Queue,
        segments: u64,
        steps: u64,
        left_in_first: u64,
        evaluate: Evaluate,
    ) -> Result<()> {
        self.begin(queue)?;
        for segment in 0..segments {
            let left = if segment == 0 { left_in_first } else { steps };
            for _ in 0..(left.saturating_sub(1) as f64 / self.steps_per_replay) as u64 {
                self.steps.replay(queue)?;
            }
            // Replays after the end of a segment belong to the next one, which has begun by then, so that no
            // slot is idle.
            self.turn(queue, evaluate)?;
            self.steps.replay(queue)?;
            self.turn(queue, evaluate)?;
        }
        Ok(())
    }

    /// Queues the beginning of a segment, if none is under way.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn begin(&self, queue: &mut Queue) -> Result<()> {
        self.begin.replay(queue)
    }

    /// Queues as many steps as are certain to be needed where so many are left, and a check of the list in any case.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn go(&self, queue: &mut Queue, left: u64) -> Result<()> {
        let replays = (0.97 * left as f64 / self.steps_per_replay) as u64;
        (0..replays.max(1)).try_for_each(|_| self.steps.replay_with(queue, left))
    }

    /// Queues the end of a segment and the beginning of the next.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn turn(&self, queue: &mut Queue, evaluate: Evaluate) -> Result<()> {
        self.turns[usize::from(evaluate == Evaluate::ForcesAndEnergies)].replay(queue)
    }

    /// Learns from the number of replays that some steps took.
    pub fn learn(&mut self, steps: u64, replays: i64) {
        self.steps_per_replay = (steps as f64 / replays.max(1) as f64).max(1.0);
    }
}

/// Best number of step slots between two checks of lists that last so many steps, more or less: a check costs
/// some early exits, and slots after a list went stale do nothing. A list that lasts a little longer than the
/// slots makes most of those that follow useless. `idle` is the number of kernels of an idle slot relative to
/// those of a check: where a slot is as expensive as a check, none should be idle, but for the few lists that
/// last longer than the others. Kernels of a slot have somewhat more blocks.
pub fn slots_per_look(life: f64, idle: f64) -> u32 {
    let spare = spare_for(idle);
    let long = (1.0 + 0.2 * spare) * life + spare - 0.15;
    let looks = (long / f64::from(SLOTS as u32 - 1)).ceil().max(1.0);
    ((long / looks).ceil() as u32).clamp(3, SLOTS as u32 - 1)
}

/// True where so many slots suit lists that last so long. Recording others takes time: where idle slots are
/// expensive, every one counts.
pub fn slots_serve(slots: u32, life: f64, idle: f64) -> bool {
    let off = 0.2 * spare_for(idle).max(0.15);
    (slots_per_look((1.0 - off) * life, idle)..=slots_per_look((1.0 + off) * life, idle)).contains(&slots)
}

/// Preference for some more slots than needed, smaller where idle slots are expensive.
fn spare_for(idle: f64) -> f64 {
    (1.0 - 1.25 * idle).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_slot_is_idle_where_slots_are_dear() {
        let slots = [3.9, 4.1, 4.3, 4.9].map(|life| slots_per_look(life, 0.8));
        assert_eq!(slots, [4, 4, 5, 5]);
        assert!(slots_serve(5, 4.9, 0.8) && slots_serve(4, 4.2, 0.8) && !slots_serve(4, 4.9, 0.8));
        assert!(slots_serve(5, 4.2, 0.8) && !slots_serve(6, 4.9, 0.8));
        // Cheap slots are some more, and their number matters less.
        assert!(slots_per_look(9.0, 0.2) > 10 && slots_serve(10, 9.0, 0.2) && slots_serve(12, 9.0, 0.2));
    }
}
