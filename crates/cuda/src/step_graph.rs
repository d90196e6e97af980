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

use crate::device_data::{DeviceData, SLOTS};
use crate::driver::{Device, Graph, Launch, kind_of};
use crate::launches::{Launches, SequencePart, kernels};
use crate::neighbor_engine::Trigger;
use jostle_core::{Error, Evaluate, Result};
use std::sync::Arc;

/// Parts of a batch, recorded. Those recorded for another box or other arrays follow when they are needed again.
pub struct StepGraphs {
    parts: Parts,
    /// Step slots between two checks of the list.
    slots: u32,
    /// Number of steps made by one replay, as measured: slots after a list went stale do nothing.
    steps_per_replay: f64,
}

enum Parts {
    Recorded(RecordedParts),
    Kept(Arc<StepLaunches>, Box<DeviceData>),
}

#[derive(Default)]
struct RecordedParts {
    begin: RecordedPart,
    steps: RecordedPart,
    /// End of a segment and beginning of the next, without and with energies.
    turns: [RecordedPart; 2],
}

/// Part, once it has been needed, and the data that its kernels have.
#[derive(Default)]
struct RecordedPart(Option<(Sequence, Box<DeviceData>)>);

impl RecordedPart {
    /// Records the part, unless that was done for the data of these launches.
    fn prepare(
        &mut self,
        device: &Device,
        launches: &Launches,
        parts: impl FnOnce() -> Vec<SequencePart>,
    ) -> Result<()> {
        match &mut self.0 {
            Some((_, data)) if **data == launches.data => Ok(()),
            Some((sequence, data)) => {
                sequence.follow(device, parts())?;
                **data = launches.data;
                Ok(())
            }
            none => {
                *none = Some((Sequence::record(device, parts())?, Box::new(launches.data)));
                Ok(())
            }
        }
    }

    fn sequence(&self) -> Result<&Sequence> {
        let unprepared = || Error::device("steps that were not recorded are not replayed");
        self.0.as_ref().map(|(sequence, _)| sequence).ok_or_else(unprepared)
    }
}

/// Launches of the parts of a batch, which are recorded together with those of other replicas.
pub struct StepLaunches {
    pub begin: Vec<Launch>,
    pub steps: Vec<Launch>,
    pub turns: [Vec<Launch>; 2],
    /// Number that those have in common which can be recorded together.
    pub kind: u64,
}

impl StepLaunches {
    fn new(launches: &Launches, slots: u32) -> Self {
        let of_kernels = |parts: Vec<SequencePart>| -> Vec<Launch> {
            let launch = |part| match part {
                SequencePart::Kernel(launch) => Some(launch),
                SequencePart::Others(..) => None,
            };
            parts.into_iter().filter_map(launch).collect()
        };
        let turn = |evaluate| of_kernels([launches.end(evaluate), kernels(launches.begin())].concat());
        let begin = of_kernels(kernels(launches.begin()));
        let steps = of_kernels(launches.steps(slots as i32));
        let turns = [turn(Evaluate::Forces), turn(Evaluate::ForcesAndEnergies)];
        let kind = kind_of(begin.iter().chain(&steps).chain(turns.iter().flatten()));
        StepLaunches { begin, steps, turns, kind }
    }
}

/// Part of a batch that is replayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BatchPart {
    /// Beginning of a segment, if none is under way.
    Begin,
    Steps,
    /// End of a segment and beginning of the next.
    Turn,
}

/// Segments that are left of a batch.
#[derive(Debug, Clone, Copy)]
pub struct SegmentsLeft {
    pub count: u64,
    /// Steps of each, and of those how many are left in the first one.
    pub steps: u64,
    pub left_in_first: u64,
}

impl SegmentsLeft {
    /// Replays the parts of these segments. Steps that this does not make are made by what is replayed for the next segment
    /// or, at the end, left for the next call.
    ///
    /// # Errors
    /// Errors of `replay`.
    pub fn replay(
        self,
        steps_per_replay: f64,
        mut replay: impl FnMut(BatchPart) -> Result<()>,
    ) -> Result<()> {
        replay(BatchPart::Begin)?;
        for segment in 0..self.count {
            let left = if segment == 0 { self.left_in_first } else { self.steps };
            for _ in 0..(left.saturating_sub(1) as f64 / steps_per_replay) as u64 {
                replay(BatchPart::Steps)?;
            }
            // Replays after the end of a segment belong to the next one, which has begun by then, so that no
            // slot is idle.
            [BatchPart::Turn, BatchPart::Steps, BatchPart::Turn].into_iter().try_for_each(&mut replay)?;
        }
        Ok(())
    }
}

/// Device, and the function that queues the forces which others compute on it.
pub struct Queue<'a> {
    pub device: &'a Device,
    pub others: &'a mut dyn FnMut(i32, Trigger) -> Result<()>,
}

/// Launches in a row, or forces of others between them.
enum Piece<K> {
    Kernels(K),
    Others(i32, Trigger),
}

/// Launches between which forces of others are queued.
fn pieces(parts: Vec<SequencePart>) -> Vec<Piece<Vec<Launch>>> {
    let mut pieces = Vec::new();
    let mut launches: Vec<Launch> = Vec::new();
    for part in parts {
        match part {
            SequencePart::Kernel(launch) => launches.push(launch),
            SequencePart::Others(slot, trigger) => {
                pieces.push(Piece::Kernels(std::mem::take(&mut launches)));
                pieces.push(Piece::Others(slot, trigger));
            }
        }
    }
    pieces.push(Piece::Kernels(launches));
    pieces
}

/// Sequence of launches, cut where forces of others are queued.
struct Sequence(Vec<Piece<Graph>>);

impl Sequence {
    fn record(device: &Device, parts: Vec<SequencePart>) -> Result<Self> {
        let record = |piece| match piece {
            Piece::Kernels(launches) => device.record(launches).map(Piece::Kernels),
            Piece::Others(slot, trigger) => Ok(Piece::Others(slot, trigger)),
        };
        pieces(parts).into_iter().map(record).collect::<Result<_>>().map(Sequence)
    }

    /// Gives the kernels the arguments of these launches; records what is not alike.
    fn follow(&mut self, device: &Device, parts: Vec<SequencePart>) -> Result<()> {
        let pieces = pieces(parts);
        self.0.truncate(pieces.len());
        for (place, piece) in pieces.into_iter().enumerate() {
            let followed = match (self.0.get_mut(place), piece) {
                (Some(Piece::Kernels(graph)), Piece::Kernels(launches)) => {
                    device.update(graph, launches)?;
                    continue;
                }
                (_, Piece::Kernels(launches)) => Piece::Kernels(device.record(launches)?),
                (_, Piece::Others(slot, trigger)) => Piece::Others(slot, trigger),
            };
            self.0.truncate(place);
            self.0.push(followed);
        }
        Ok(())
    }

    fn replay(&self, queue: &mut Queue) -> Result<()> {
        self.replay_with(queue, u64::MAX)
    }

    /// Replays the sequence with at most so many forces of others: further ones are not due.
    fn replay_with(&self, queue: &mut Queue, mut most: u64) -> Result<()> {
        self.0.iter().try_for_each(|part| match part {
            Piece::Kernels(graph) => queue.device.replay(graph),
            Piece::Others(..) if most == 0 => Ok(()),
            Piece::Others(slot, trigger) => {
                most -= 1;
                (queue.others)(*slot, *trigger)
            }
        })
    }
}

impl StepGraphs {
    /// Parts with so many step slots between two checks of the list. They are recorded when they are prepared.
    pub fn new(slots: u32) -> Self {
        let parts = Parts::Recorded(RecordedParts::default());
        StepGraphs { parts, slots, steps_per_replay: 0.67 * f64::from(slots) }
    }

    /// Keeps the launches for a recording of several replicas.
    pub fn kept(launches: &Launches, slots: u32) -> Self {
        let parts = Parts::Kept(Arc::new(StepLaunches::new(launches, slots)), Box::new(launches.data));
        StepGraphs { parts, slots, steps_per_replay: 0.67 * f64::from(slots) }
    }

    /// The launches, where they are kept for such a recording.
    pub fn launches(&self) -> Option<&Arc<StepLaunches>> {
        match &self.parts {
            Parts::Kept(launches, _) => Some(launches),
            Parts::Recorded(_) => None,
        }
    }

    /// True where launches are kept for such a recording that have these data.
    pub fn are_kept_for(&self, kept_for: &DeviceData) -> bool {
        matches!(&self.parts, Parts::Kept(_, data) if **data == *kept_for)
    }

    /// Records what batches with this evaluation at the ends of segments consist of; changes the arguments of what was
    /// recorded for other data.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn prepare(&mut self, device: &Device, launches: &Launches, evaluate: Evaluate) -> Result<()> {
        let slots = self.slots as i32;
        let Parts::Recorded(parts) = &mut self.parts else { return Err(kept_for_several()) };
        let turn = || [launches.end(evaluate), kernels(launches.begin())].concat();
        parts.begin.prepare(device, launches, || kernels(launches.begin()))?;
        parts.steps.prepare(device, launches, || launches.steps(slots))?;
        parts.turns[turn_number(evaluate)].prepare(device, launches, turn)
    }

    /// Number of steps made by one replay.
    pub fn steps_per_replay(&self) -> f64 {
        self.steps_per_replay
    }

    fn recorded(&self) -> Result<&RecordedParts> {
        match &self.parts {
            Parts::Recorded(parts) => Ok(parts),
            Parts::Kept(..) => Err(kept_for_several()),
        }
    }

    /// Queues segments.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn queue(&self, queue: &mut Queue, segments: SegmentsLeft, evaluate: Evaluate) -> Result<()> {
        segments.replay(self.steps_per_replay, |part| match part {
            BatchPart::Begin => self.begin(queue),
            BatchPart::Steps => self.recorded()?.steps.sequence()?.replay(queue),
            BatchPart::Turn => self.turn(queue, evaluate),
        })
    }

    /// Queues the beginning of a segment, if none is under way.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn begin(&self, queue: &mut Queue) -> Result<()> {
        self.recorded()?.begin.sequence()?.replay(queue)
    }

    /// Queues as many steps as are certain to be needed where so many are left, and a check of the list in any case.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn go(&self, queue: &mut Queue, left: u64) -> Result<()> {
        let replays = (0.97 * left as f64 / self.steps_per_replay) as u64;
        let steps = self.recorded()?.steps.sequence()?;
        (0..replays.max(1)).try_for_each(|_| steps.replay_with(queue, left))
    }

    /// Queues the end of a segment and the beginning of the next.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn turn(&self, queue: &mut Queue, evaluate: Evaluate) -> Result<()> {
        self.recorded()?.turns[turn_number(evaluate)].sequence()?.replay(queue)
    }

    /// Learns from the number of replays that some steps took.
    pub fn learn(&mut self, steps: u64, replays: i64) {
        self.steps_per_replay = (steps as f64 / replays.max(1) as f64).max(1.0);
    }
}

fn turn_number(evaluate: Evaluate) -> usize {
    usize::from(evaluate == Evaluate::ForcesAndEnergies)
}

fn kept_for_several() -> Error {
    Error::device("steps for several replicas are not replayed for one")
}

/// Best number of step slots between two checks of lists that last so many steps, more or less. Those that hold for all
/// slots end with these if they would soon (`build_due` in prelude.cuh), and slots after a list went stale do nothing: a little
/// more than the mean is best (a model of lists whose lives have a width of 0.5 to 3 steps loses 1% of what lists cost).
/// Longer lists are looked at several times; a check costs some early exits, and `idle` is the number of kernels of an idle
/// slot relative to those of a check: where a slot is as expensive as a check, none should be idle.
pub fn slots_per_look(life: f64, idle: f64) -> u32 {
    let most = f64::from(SLOTS as u32 - 1);
    let once = (1.04 * life + 0.25).round();
    if once <= most {
        return (once as u32).max(3);
    }
    let spare = (1.0 - 1.25 * idle).max(0.0);
    let long = (1.0 + 0.2 * spare) * life + spare - 0.15;
    let looks = (long / most).ceil().max(1.0);
    (long / looks).ceil().min(most) as u32
}

/// Number of slots that suits lists better than `now`, if it is another one. Recording others takes time: lists that last
/// a little longer or shorter keep them.
pub fn better_slots(now: u32, life: f64, idle: f64) -> Option<u32> {
    // Lists end with the slots where they would last longer.
    let cut_short = life <= f64::from(now) && life > f64::from(now) - 0.1;
    if cut_short && now < SLOTS as u32 - 1 {
        return Some(now + 1);
    }
    let margin = (0.05 * life).max(0.25);
    let near = [life - margin, life, life + margin].map(|life| slots_per_look(life, idle));
    // Lists that last longer are looked at twice, with half as many slots.
    let serve = (near[0].min(near[1])..=near[2].max(near[1])).contains(&now) || near.contains(&now);
    (!serve).then_some(near[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Slots that were recorded for lists are not replaced, and by others once.
    #[test]
    fn slots_stay_for_the_lists_that_they_are_for() {
        for idle in [0.1, 0.5, 0.8, 1.0] {
            for life in (10..2000).map(|k| 0.1 * f64::from(k)) {
                let slots = slots_per_look(life, idle);
                let next = better_slots(slots, life, idle);
                assert!(next.is_none_or(|next| next == slots + 1), "{slots}, {next:?} for {life}, {idle}");
                let then = next.and_then(|next| better_slots(next, life, idle));
                assert!(then.is_none(), "{slots}, {next:?}, {then:?} for {life}, {idle}");
            }
        }
    }

    /// The number of slots approaches the life of lists, which it cuts short at first, and comes to rest.
    #[test]
    fn slots_follow_lists_that_they_cut_short() {
        for life in [3.0, 4.4, 6.2, 11.7, 23.9, 28.5] {
            for begun in [3, 8, 30] {
                let (mut slots, mut changes) = (begun, 0);
                while let Some(better) = better_slots(slots, f64::from(slots).min(life), 0.6) {
                    (slots, changes) = (better, changes + 1);
                    assert!(changes < 40, "lists of {life}: {slots}");
                }
                let off = f64::from(slots) - life;
                assert!((-0.6..2.5).contains(&off), "{slots} slots for lists of {life}, begun with {begun}");
            }
        }
    }

    #[test]
    fn long_lists_are_looked_at_several_times() {
        let slots = [29.0, 31.0, 50.0, 100.0].map(|life| slots_per_look(life, 0.1));
        assert!(slots[0] == 30 && slots[1..].iter().all(|slots| (15..=31).contains(slots)), "{slots:?}");
    }
}
