//! Batches of several replicas as one: their launches are recorded together, and replayed until each has made its steps.
//!
//! Replicas are in a control block each, so that one may build its list while others make steps, as if they were alone. What
//! only speed depends on (skin, capacity, steps of a recording) all decide as the first one does, since launches that
//! differ are not recorded together; where it differs all the same, those that are alike go together.

use super::plan::{Plan, Tightness};
use super::run::{BatchCost, Segments};
use super::{Cuda, Layout};
use crate::driver::{Device, Launch, ReplicaGraph, ReplicaKernels};
use crate::kernels::PairAlgorithm;
use crate::list_capacity::ListCapacity;
use crate::skin::Skin;
use crate::step_graph::{BatchPart, SegmentsLeft, StepGraphs, StepLaunches};
use crate::sums::Summation;
use jostle_core::backend::{Member, MemorySpace, Message};
use jostle_core::{Error, Evaluate, Result};
use std::sync::Arc;

/// Most recordings that are kept.
const MOST_RECORDINGS: usize = 16;

/// Steps that a replica asks for.
struct StepsWanted {
    launches: Arc<StepLaunches>,
    device: Device,
    segments: SegmentsLeft,
    evaluate: Evaluate,
    steps_per_replay: f64,
}

/// Experience of a replica that has made the steps of a batch: it is at rest then, and in a recording without harm.
#[derive(Clone)]
struct Learned {
    cost: BatchCost,
    replays: i64,
    largest_tile: i32,
    most_rows: i32,
    plan: LearnedPlan,
    skin: Skin,
    launches: Option<Arc<StepLaunches>>,
    /// Memory that these use.
    space: MemorySpace,
}

/// Launches of a replica that is at rest.
struct StepsAtRest<'a> {
    number: usize,
    launches: &'a Arc<StepLaunches>,
    space: MemorySpace,
}

/// Part of a plan that batches change.
#[derive(Clone, Copy, PartialEq)]
struct LearnedPlan {
    algorithm: PairAlgorithm,
    layout: Layout,
    capacity: ListCapacity,
    rows: usize,
    tightness: Tightness,
}

impl LearnedPlan {
    fn of(plan: &Plan) -> Self {
        let Plan { algorithm, layout, capacity, rows, tightness, .. } = *plan;
        LearnedPlan { algorithm, layout, capacity, rows, tightness }
    }
}

/// Kernels and recordings of an ensemble on a GPU.
struct Recordings {
    kernels: ReplicaKernels,
    /// The one that was used last is the last.
    recorded: Vec<Together>,
}

/// Recorded parts of batches of replicas that are alike.
struct Together {
    kind: u64,
    /// Launches in each row of the tables.
    rows: Vec<Arc<StepLaunches>>,
    parts: [ReplicaGraph; PARTS],
}

/// Number of parts of a batch that are recorded: a beginning, steps, and turns without and with energies.
const PARTS: usize = 4;

fn parts_of(launches: &StepLaunches) -> [&[Launch]; PARTS] {
    let StepLaunches { begin, steps, turns: [turn, turn_with_energies], .. } = launches;
    [begin, steps, turn, turn_with_energies]
}

impl Cuda {
    /// Takes part in an ensemble; returns false where sums must not depend on others, or several GPUs share the atoms.
    pub(super) fn join_ensemble(&mut self, member: &Member) -> bool {
        if self.plan.summation != Summation::Fast || self.plan.peers().is_some() {
            return false;
        }
        self.member = Some(member.clone());
        true
    }

    /// Plans for the replicas that share the GPU, before the first batch of all.
    pub(super) fn plan_together(&mut self) -> Result<()> {
        let replicas = self.member.as_ref().map_or(1, Member::count);
        if self.plan.replicas == replicas {
            return Ok(());
        }
        let multiprocessors = self.device.multiprocessors();
        let layout = Layout::of_replicas(&self.system, &self.forces, replicas, multiprocessors);
        match self.plan.share_with_replicas(layout, replicas, self.extent()) {
            true => self.arrange_anew(),
            false => Ok(()),
        }
    }

    /// True where others wait for this replica.
    pub(super) fn is_together(&self) -> bool {
        self.member.as_ref().is_some_and(Member::is_present)
    }

    fn ask<T: Send + 'static>(&self, request: T) -> Result<Message> {
        let member = self.member.as_ref().ok_or_else(|| Error::device("the replica is alone"))?;
        member.ask(Box::new(request), serve)
    }

    /// Makes the steps of a batch, together with other replicas.
    pub(super) fn make_segments_together(&mut self, batch: &Segments) -> Result<()> {
        let mut attempts = 0;
        loop {
            let graphs = match self.recorded.graphs.take().filter(|graphs| graphs.are_kept_for(&self.data)) {
                Some(graphs) => graphs,
                None => StepGraphs::kept(&self.launches(), self.plan.layout.slots_per_look),
            };
            let Some(launches) = graphs.launches().cloned() else { continue };
            let begun = self.control.part as u64 / 2;
            let segments = SegmentsLeft {
                count: batch.count - begun,
                steps: batch.slots(),
                left_in_first: self.left_in_segment(batch.slots()),
            };
            // Steps are queued on a stream of another replica.
            self.device.synchronize()?;
            let (device, evaluate) = (self.device.clone(), batch.evaluate);
            let steps_per_replay = graphs.steps_per_replay();
            self.ask(StepsWanted { launches, device, segments, evaluate, steps_per_replay })?;
            self.recorded.graphs = Some(graphs);
            self.read_control()?;
            self.settle(&mut attempts)?;
            if self.control.part as u64 == 2 * batch.count {
                // Replays in which a list did not fit say nothing about the next batch.
                self.control.replays *= i64::from(attempts == 0);
                return Ok(());
            }
        }
    }

    /// Takes over what the first replica has learned from a batch, and the largest needs of any: all decide alike then.
    /// Returns the cost of the batch by which they do.
    pub(super) fn agree_on(&mut self, cost: BatchCost) -> Result<BatchCost> {
        let learned = Learned {
            cost,
            replays: self.control.replays,
            largest_tile: self.control.largest_tile,
            most_rows: self.control.most_rows,
            plan: LearnedPlan::of(&self.plan),
            skin: self.skin.clone(),
            launches: self.recorded.graphs.as_ref().and_then(StepGraphs::launches).cloned(),
            space: self.device.memory_space(),
        };
        let answer = self.ask(learned)?.downcast::<Learned>();
        let Ok(learned) = answer else { return Err(Error::device("replicas do not agree")) };
        let Learned { cost, replays, largest_tile, most_rows, plan, skin, .. } = *learned;
        let usual = self.recorded.graphs.as_ref().map_or(1.0, StepGraphs::steps_per_replay);
        self.control.replays = if replays > 0 { replays } else { (cost.slots as f64 / usual) as i64 };
        self.control.largest_tile = largest_tile;
        self.control.most_rows = most_rows;
        let differs = (LearnedPlan::of(&self.plan), self.skin.now()) != (plan, skin.now());
        self.skin = skin;
        if differs {
            let LearnedPlan { algorithm, layout, capacity, rows, tightness } = plan;
            (self.plan.algorithm, self.plan.layout, self.plan.capacity) = (algorithm, layout, capacity);
            (self.plan.rows, self.plan.tightness) = (rows, tightness);
            self.set_skin();
            self.move_borders()?;
        }
        Ok(cost)
    }
}

/// Serves the requests of replicas: steps first, and numbers once none is left that makes steps.
fn serve(requests: &mut Vec<(usize, Message)>, kept: &mut Option<Message>) -> Vec<(usize, Result<Message>)> {
    let mut wanted = Vec::new();
    let mut others = Vec::new();
    for (number, request) in requests.drain(..) {
        match request.downcast::<StepsWanted>() {
            Ok(steps) => wanted.push((number, *steps)),
            Err(request) => others.push((number, request)),
        }
    }
    if wanted.is_empty() {
        return agree(&others);
    }
    let at_rest = others.iter().filter_map(|(number, request)| {
        let Learned { launches, space, .. } = request.downcast_ref()?;
        Some(StepsAtRest { number: *number, launches: launches.as_ref()?, space: *space })
    });
    let made = make_together(&wanted, &Vec::from_iter(at_rest), kept);
    *requests = others;
    let answer = |(number, _)| (number, made.clone().map(|()| Box::new(()) as Message));
    wanted.into_iter().map(answer).collect()
}

/// Experience of the first replica, with the largest needs of any, and typical lives of lists: those of one replica
/// vary more than a recording should.
fn agree(requests: &[(usize, Message)]) -> Vec<(usize, Result<Message>)> {
    let all: Vec<&Learned> = requests.iter().filter_map(|(_, request)| request.downcast_ref()).collect();
    let Some((first, others)) = all.split_first() else { return Vec::new() };
    let mut agreed = Learned { launches: None, ..(*first).clone() };
    for Learned { cost, largest_tile, most_rows, plan, .. } in others {
        agreed.cost.had_graphs &= cost.had_graphs;
        agreed.largest_tile = agreed.largest_tile.max(*largest_tile);
        agreed.most_rows = agreed.most_rows.max(*most_rows);
        agreed.plan.tightness = agreed.plan.tightness.max(plan.tightness);
        agreed.plan.capacity.tile = agreed.plan.capacity.tile.max(plan.capacity.tile);
        agreed.plan.capacity.rows = agreed.plan.capacity.rows.max(plan.capacity.rows);
        agreed.plan.rows = agreed.plan.rows.max(plan.rows);
    }
    let per_slot = |number: i64, cost: &BatchCost| number as f64 / cost.slots.max(1) as f64;
    let builds: f64 = all.iter().map(|learned| per_slot(learned.cost.builds, &learned.cost)).sum();
    agreed.cost.builds = (builds / all.len() as f64 * agreed.cost.slots as f64).round() as i64;
    let replayed = all.iter().filter(|learned| learned.replays > 0);
    let mut replays: Vec<f64> = replayed.map(|learned| per_slot(learned.replays, &learned.cost)).collect();
    replays.sort_by(f64::total_cmp);
    // Replays that suffice nearly all: few need another round, and one that is slow does not keep the others at it.
    let most = replays.get(replays.len() * 9 / 10).copied().unwrap_or(0.0);
    agreed.replays = (most * agreed.cost.slots as f64).ceil() as i64;
    requests.iter().map(|(number, _)| (*number, Ok(Box::new(agreed.clone()) as Message))).collect()
}

/// Makes steps of replicas; those that are alike go together.
fn make_together(
    wanted: &[(usize, StepsWanted)],
    at_rest: &[StepsAtRest],
    kept: &mut Option<Message>,
) -> Result<()> {
    let kept = kept.get_or_insert_with(|| Box::new(Vec::<Recordings>::new()));
    let Some(kept) = kept.downcast_mut::<Vec<Recordings>>() else {
        return Err(Error::device("replicas of different devices cannot make steps together"));
    };
    let mut left: Vec<&(usize, StepsWanted)> = wanted.iter().collect();
    while let Some((_, first)) = left.first() {
        let space = first.device.memory_space();
        let of = |steps: &StepsWanted| (steps.launches.kind, steps.evaluate, steps.device.memory_space());
        let (group, others): (Vec<_>, Vec<_>) =
            left.iter().copied().partition(|(_, steps)| of(steps) == of(first));
        // With those at rest the recording is mostly that of all replicas.
        let mut rows: Vec<(usize, &Arc<StepLaunches>)> =
            group.iter().map(|(number, steps)| (*number, &steps.launches)).collect();
        let alike = |steps: &StepsAtRest| (steps.launches.kind, steps.space) == (first.launches.kind, space);
        rows.extend(at_rest.iter().filter(|steps| alike(steps)).map(|steps| (steps.number, steps.launches)));
        rows.sort_by_key(|(number, _)| *number);
        let rows: Vec<&Arc<StepLaunches>> = rows.into_iter().map(|(_, launches)| launches).collect();
        Recordings::of(kept, first)
            .queue(&group.iter().map(|(_, steps)| steps).collect::<Vec<_>>(), &rows)?;
        left = others;
    }
    kept.iter().try_for_each(|recordings| recordings.kernels.device().synchronize())
}

impl Recordings {
    /// Recordings on the GPU of a replica.
    fn of<'a>(kept: &'a mut Vec<Recordings>, replica: &StepsWanted) -> &'a mut Recordings {
        let space = replica.device.memory_space();
        let place = kept.iter().position(|one| one.kernels.device().memory_space() == space);
        let place = place.unwrap_or_else(|| {
            kept.push(Recordings {
                kernels: ReplicaKernels::new(replica.device.clone()),
                recorded: Vec::new(),
            });
            kept.len() - 1
        });
        &mut kept[place]
    }

    /// Queues the steps of replicas that are alike, which are in these rows: as many as any of them wants.
    fn queue(&mut self, group: &[&StepsWanted], rows: &[&Arc<StepLaunches>]) -> Result<()> {
        let Some(first) = group.first() else { return Ok(()) };
        let largest = |of: fn(&StepsWanted) -> u64| group.iter().map(|steps| of(steps)).max().unwrap_or(0);
        let segments = SegmentsLeft {
            count: largest(|steps| steps.segments.count),
            steps: largest(|steps| steps.segments.steps),
            left_in_first: largest(|steps| steps.segments.left_in_first),
        };
        let steps_per_replay = group.iter().map(|steps| steps.steps_per_replay).fold(f64::INFINITY, f64::min);
        let place = self.recorded(rows)?;
        let [begin, steps, turn, turn_with_energies] = &self.recorded[place].parts;
        let turn = if first.evaluate == Evaluate::ForcesAndEnergies { turn_with_energies } else { turn };
        segments.replay(steps_per_replay, |part| {
            self.kernels.replay(match part {
                BatchPart::Begin => begin,
                BatchPart::Steps => steps,
                BatchPart::Turn => turn,
            })
        })
    }

    /// Place of the recording with these rows: one that is there, whose rows are written anew where they have changed, or
    /// another one.
    fn recorded(&mut self, rows: &[&Arc<StepLaunches>]) -> Result<usize> {
        let kind = rows.first().map_or(0, |launches| launches.kind);
        let fits = |recorded: &Together| recorded.kind == kind && recorded.rows.len() == rows.len();
        let mut together = match self.recorded.iter().position(fits) {
            Some(place) => self.recorded.remove(place),
            None => self.record(kind, rows)?,
        };
        for (row, launches) in rows.iter().enumerate() {
            if !Arc::ptr_eq(&together.rows[row], launches) {
                together.set_row(row, launches)?;
            }
        }
        if self.recorded.len() >= MOST_RECORDINGS {
            self.recorded.remove(0);
        }
        self.recorded.push(together);
        Ok(self.recorded.len() - 1)
    }

    fn record(&mut self, kind: u64, rows: &[&Arc<StepLaunches>]) -> Result<Together> {
        let Some(first) = rows.first() else { return Err(Error::device("there is no replica")) };
        let [begin, steps, turn, turn_with_energies] = parts_of(first);
        let mut record = |launches| self.kernels.record(launches, rows.len());
        let parts = [record(begin)?, record(steps)?, record(turn)?, record(turn_with_energies)?];
        let mut together = Together { kind, rows: rows.iter().map(|row| (*row).clone()).collect(), parts };
        (0..rows.len()).try_for_each(|row| together.set_row(row, rows[row]))?;
        Ok(together)
    }
}

impl Together {
    fn set_row(&mut self, row: usize, launches: &Arc<StepLaunches>) -> Result<()> {
        for (part, launches) in self.parts.iter().zip(parts_of(launches)) {
            part.set_row(row, launches)?;
        }
        self.rows[row] = launches.clone();
        Ok(())
    }
}
