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
use crate::driver::{Device, Graph};
use crate::launches::Launches;
use jostle_core::{Evaluate, Result};

/// Parts of a batch, recorded.
pub struct StepGraphs {
    begin: Graph,
    steps: Graph,
    /// End of a segment and beginning of the next, without and with energies.
    turns: [Graph; 2],
    /// Number of steps made by one replay, as measured: slots after a list went stale do nothing.
    steps_per_replay: f64,
}

impl StepGraphs {
    /// Records the parts, with so many step slots between two checks of the list.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn new(device: &Device, launches: &Launches, slots: u32) -> Result<Self> {
        let turn = |evaluate| device.record([launches.end(evaluate), launches.begin()].concat());
        Ok(StepGraphs {
            begin: device.record(launches.begin())?,
            steps: device.record(launches.steps(slots as i32))?,
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
        device: &Device,
        segments: u64,
        steps: u64,
        left_in_first: u64,
        evaluate: Evaluate,
    ) -> Result<()> {
        self.begin(device)?;
        for segment in 0..segments {
            let left = if segment == 0 { left_in_first } else { steps };
            for _ in 0..(left.saturating_sub(1) as f64 / self.steps_per_replay) as u64 {
                device.replay(&self.steps)?;
            }
            // Replays after the end of a segment belong to the next one, which has begun by then, so that no
            // slot is idle.
            self.turn(device, evaluate)?;
            device.replay(&self.steps)?;
            self.turn(device, evaluate)?;
        }
        Ok(())
    }

    /// Queues the beginning of a segment, if none is under way.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn begin(&self, device: &Device) -> Result<()> {
        device.replay(&self.begin)
    }

    /// Queues as many steps as are certain to be needed where so many are left.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn go(&self, device: &Device, left: u64) -> Result<()> {
        let replays = (0.97 * left as f64 / self.steps_per_replay) as u64;
        (0..replays.max(1)).try_for_each(|_| device.replay(&self.steps))
    }

    /// Queues the end of a segment and the beginning of the next.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn turn(&self, device: &Device, evaluate: Evaluate) -> Result<()> {
        device.replay(&self.turns[usize::from(evaluate == Evaluate::ForcesAndEnergies)])
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
