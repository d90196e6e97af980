//! Batches: many steps in a row without the host.

use super::biases::add_energies;
use super::faults::lists_keep_growing;
use super::{Cuda, MOST_ATTEMPTS, kinetic_from};
use crate::device_data::Motion;
use crate::dissipative::PairThermostat;
use crate::kernels::{PairAlgorithm, TileSize};
use crate::step_graph::{Queue, SegmentsLeft, StepGraphs, better_slots};
use crate::sub_steps;
use crate::sums::{KINETIC, VIRIAL};
use crate::thermostat::{self, Acts, ScalingThermostat};
use jostle_core::backend::StageTime;
use jostle_core::thermostat::{AtomNoise, Dissipative, with_contact_friction};
use jostle_core::{
    ArraysChanged, AtomStorage, DeviceForce, Error, Evaluate, ForceEvaluation, Result, Sample, StepBatch,
    SubSteps, Thermostat,
};
use std::time::Instant;

/// Length of a segment, in seconds, above which it is worth some checks of the control block.
const LONG_SEGMENT: f64 = 3e-3;

/// Division of a batch into segments.
pub(super) struct Segments {
    /// Number of segments.
    pub(super) count: u64,
    /// Steps of a segment.
    steps: u64,
    slots_per_step: u64,
    /// Steps between samples; all of the batch where none are asked for.
    between: u64,
    /// True where samples are taken by steps, and not at the ends of segments.
    in_passing: bool,
    /// Steps from one row of totals to the next.
    steps_per_row: u64,
    n_rows: u64,
    pub(super) evaluate: Evaluate,
}

impl Segments {
    /// Slots of a segment.
    pub(super) fn slots(&self) -> u64 {
        self.steps * self.slots_per_step
    }
}

/// Cost of a batch.
#[derive(Clone)]
pub(super) struct BatchCost {
    steps: u64,
    pub(super) slots: u64,
    pub(super) builds: i64,
    pub(super) seconds: f64,
    /// True where steps were recorded before the batch, so that its time is that of steps, or nearly so: those of another
    /// box get new arguments.
    pub(super) had_graphs: bool,
    /// Size of the tiles before the batch.
    size: TileSize,
}

impl Cuda {
    /// Makes the steps of a batch, with forces that others compute on the device; returns the samples that were
    /// taken.
    pub(super) fn make_batch(
        &mut self,
        batch: &StepBatch,
        thermostat: &mut Thermostat,
        forces: &mut [&mut dyn DeviceForce],
    ) -> Result<Vec<Sample>> {
        if batch.steps == 0 {
            return Ok(Vec::new());
        }
        self.admit_others(forces);
        let together = forces.is_empty() && self.is_together();
        match together {
            true => self.plan_together()?,
            false if forces.is_empty() => self.tune(batch.steps)?,
            false => {}
        }
        let start = Instant::now();
        let had_graphs = self.recorded.graphs.is_some();
        let between = if batch.sample_every > 0 { batch.sample_every } else { batch.steps };
        let acts = Acts::of(thermostat, batch, between);
        self.prepare_thermostat(batch, thermostat, acts)?;
        self.prepare_pair_thermostat(thermostat)?;
        let segments = self.divide_batch(batch, acts, between);
        self.grow_sample_rows(segments.n_rows)?;
        self.prepare_biases(batch, segments.n_rows)?;
        self.read_control()?;
        self.divide_motion();
        self.begin_batch(batch, &segments, thermostat)?;
        let (builds, size) = (self.control.builds, self.plan.layout.shape.size);
        match together {
            true => self.make_segments_together(&segments)?,
            false => self.make_segments(&segments, forces)?,
        }
        self.evaluation.long_range_weight = batch.long_range.after(batch.steps);
        let time = self.evaluation.time;
        self.set_time(StageTime { steps: time.steps + batch.steps, ..time })?;
        let mut samples = self.read_samples(&segments, thermostat)?;
        if let Some(last) = samples.last() {
            self.evaluation.energies = last.energies.clone();
        }
        if batch.sample_every == 0 {
            samples.clear();
        }
        let seconds = self.largest_of_all(start.elapsed().as_secs_f64())?;
        self.timings.pair += seconds;
        let slots = batch.steps * segments.slots_per_step;
        self.count_exchange(slots)?;
        let builds = self.control.builds - builds;
        let mut cost = BatchCost { steps: batch.steps, slots, builds, seconds, had_graphs, size };
        if together {
            cost = self.agree_on(cost)?;
        }
        (self.recorded.seconds, self.recorded.seconds_per_slot) = (cost.seconds, cost.seconds / slots as f64);
        self.learn_from(&cost)?;
        Ok(samples)
    }

    /// Division of a batch into segments, for samples that are `between` steps apart.
    fn divide_batch(&self, batch: &StepBatch, acts: Acts, between: u64) -> Segments {
        let evaluate = if batch.sample_every > 0 { Evaluate::ForcesAndEnergies } else { batch.evaluate };
        // Forces in the middle of a step need the positions and velocities of all atoms there.
        let slots_per_step = if self.mid_step().is_some() { 2 } else { 1 };
        let in_passing = batch.sample_every > 0 && self.launches().samples_in_passing();
        let steps = match acts {
            Acts::AroundDrifts if in_passing => batch.steps,
            Acts::AroundDrifts => between,
            Acts::AtEnds(steps) => steps,
        };
        let steps_per_row = if in_passing { between } else { steps };
        Segments {
            count: batch.steps / steps,
            steps,
            slots_per_step,
            between,
            in_passing,
            steps_per_row,
            n_rows: batch.steps / steps_per_row,
            evaluate,
        }
    }

    /// Writes the control block for a batch.
    fn begin_batch(&mut self, batch: &StepBatch, segments: &Segments, thermostat: &Thermostat) -> Result<()> {
        let StepBatch { first_step, timestep, seed, .. } = *batch;
        let without = AtomNoise { decay: 1.0, thermal_energy: 0.0 };
        let AtomNoise { decay, thermal_energy } = thermostat.noise().unwrap_or(without);
        let drift = timestep / segments.slots_per_step as f64;
        // The remainder suffices, and kernels count with 32 bits.
        let (long_range_every, long_range_done) =
            (batch.long_range.every, batch.long_range.done % batch.long_range.every);
        self.control.motion = Motion {
            timestep,
            drift,
            decay,
            thermal_energy,
            seed,
            first_step,
            long_range_every,
            long_range_done,
        };
        self.control.segment = segments.slots() as i64;
        self.control.sample_every = if segments.in_passing { segments.between as i64 } else { 0 };
        self.control.slot[0].row = -1;
        // Lists that are known to end with the first look do not outlive it.
        let slots = self.plan.layout.slots_per_look;
        let once = self.tuning.lists_known() > 2.0 && self.tuning.life <= f64::from(slots);
        self.control.look = if once { slots as i32 } else { 0 };
        self.control.parts = 2 * segments.count as i32;
        self.control.part = 0;
        self.control.target = 0;
        self.control.slot[0].done = 0;
        self.control.replays = 0;
        self.control.largest_tile = 0;
        self.control.most_rows = 0;
        self.write_control()
    }

    /// Reads the samples of a batch, and takes over the state of the thermostat.
    fn read_samples(&mut self, segments: &Segments, thermostat: &mut Thermostat) -> Result<Vec<Sample>> {
        let Segments { between, steps_per_row, n_rows, evaluate, .. } = *segments;
        let length = self.launches().row_length();
        let wanted = if evaluate == Evaluate::ForcesAndEnergies { 0 } else { n_rows as usize - 1 };
        let rows = self.rows(wanted..n_rows as usize, length)?;
        // The last row is that of the end of the segment.
        let by_steps = if segments.in_passing { rows.len() / length - 1 } else { 0 };
        let rows = self.rows_of_all(rows, length, by_steps)?;
        let biases = match evaluate {
            Evaluate::ForcesAndEnergies => self.bias_rows(wanted, n_rows as usize - wanted)?,
            Evaluate::Forces => Vec::new(),
        };
        let mut samples = Vec::new();
        for (number, row) in (wanted as u64..).zip(rows.chunks_exact(length)) {
            if !((number + 1) * steps_per_row).is_multiple_of(between) {
                continue;
            }
            let (energies, row) = row.split_at(self.forces.n_terms() + VIRIAL);
            let (kinetic, of_thermostat) = row.split_at(KINETIC);
            thermostat::take_over(thermostat, of_thermostat);
            if evaluate == Evaluate::ForcesAndEnergies {
                let mut energies = self.energies_from(energies);
                let biases = biases.get(number as usize - wanted);
                biases.into_iter().for_each(|row| add_energies(&mut energies, row));
                if !energies.potential().is_finite() {
                    self.evaluation.energies = energies;
                    return Err(self.diagnose_force());
                }
                samples.push(Sample {
                    energies,
                    kinetic: kinetic_from(kinetic),
                    thermostat: thermostat.clone(),
                    biases: biases.cloned(),
                });
            }
        }
        Ok(samples)
    }

    /// Adapts skin, capacity and recorded slots to what a batch cost.
    fn learn_from(&mut self, cost: &BatchCost) -> Result<()> {
        let BatchCost { steps, slots, builds, seconds, had_graphs, size } = *cost;
        self.tuning.learn_life(slots, builds);
        if let Some(graphs) = &mut self.recorded.graphs {
            graphs.learn(slots, self.control.replays);
        }
        let extent = self.extent();
        // Recording takes time, too, and says nothing about the skin; nor do kernels that are timed one by one.
        let is_timed = had_graphs && !self.device.is_profiled();
        let too_far = self.plan.layout.shape.size > size && self.skin.shorten();
        if too_far || (is_timed && self.skin.judge(steps, builds, seconds)) {
            // The list is built after the next drift: the forces are in the order of the old one.
            self.set_skin();
            self.tuning.forget_life();
            self.resize(extent)?;
            if too_far && self.plan.layout.shape.size > size {
                self.skin.lift_limit();
            }
            self.write_control()?;
        } else if builds > 2 {
            self.tighten();
        }
        self.balance_gpus(slots, seconds)?;
        // GPUs of a run may have different work, and record the same number of slots.
        let idle = self.largest_of_all(self.launches().idle_share())?;
        let life = self.tuning.life;
        if self.tuning.lists_known() > 2.0
            && let Some(better) = better_slots(self.plan.layout.slots_per_look, life, idle)
        {
            self.plan.layout.slots_per_look = better;
            self.recorded.graphs = None;
        }
        Ok(())
    }

    /// Makes the steps of a batch and evaluates energies at each sample: samples of grains have more than
    /// kernels add up in a batch.
    pub(super) fn make_batch_in_parts(
        &mut self,
        batch: &StepBatch,
        thermostat: &mut Thermostat,
    ) -> Result<Vec<Sample>> {
        let mut samples = Vec::new();
        for first_step in
            (batch.first_step..batch.first_step + batch.steps).step_by(batch.sample_every as usize)
        {
            let evaluate = Evaluate::Forces;
            let part =
                StepBatch { first_step, steps: batch.sample_every, sample_every: 0, evaluate, ..*batch };
            self.make_batch(&part, thermostat, &mut [])?;
            self.compute_forces(Evaluate::ForcesAndEnergies)?;
            let kinetic = self.kinetic()?;
            samples.push(Sample {
                energies: self.evaluation.energies.clone(),
                kinetic,
                thermostat: thermostat.clone(),
                biases: None,
            });
        }
        Ok(samples)
    }

    /// Allocates rows for so many samples.
    fn grow_sample_rows(&mut self, rows: u64) -> Result<()> {
        let wanted = rows as usize * self.launches().row_length();
        if self.sums.total.len() < wanted {
            self.sums.total = self.device.alloc(wanted.next_power_of_two())?;
            self.recorded.graphs = None;
            self.attach();
        }
        Ok(())
    }

    /// Takes the sub-steps of a thermostat, and copies one that scales velocities to the device.
    fn prepare_thermostat(&mut self, batch: &StepBatch, thermostat: &Thermostat, acts: Acts) -> Result<()> {
        let kind = match self.has_contacts() {
            true => sub_steps::kind_of(&with_contact_friction(thermostat.step())),
            false => sub_steps::kind_of(thermostat.step()),
        };
        let kind = kind.ok_or_else(|| Error::device("the kernels lack the time step of this thermostat"))?;
        if std::mem::replace(&mut self.terms.step_kind, kind) != kind {
            self.recorded.graphs = None;
        }
        let before = self.terms.thermostat.as_ref().map(ScalingThermostat::identity);
        self.terms.thermostat = ScalingThermostat::prepare(
            self.terms.thermostat.take(),
            &self.device,
            self.precision,
            self.plan.summation,
            thermostat,
            batch,
            acts,
        )?;
        self.attach();
        if before != self.terms.thermostat.as_ref().map(ScalingThermostat::identity) {
            self.recorded.graphs = None;
        }
        Ok(())
    }

    /// Prepares friction and noise of pairs, or removes them.
    fn prepare_pair_thermostat(&mut self, thermostat: &Thermostat) -> Result<()> {
        let wanted = thermostat.pair_noise();
        if self.terms.pair_thermostat.as_ref().and_then(|pairs| pairs.thermostat.as_ref()) != wanted {
            self.recorded.graphs = None;
            // Friction and noise use lists of atoms, too.
            if self.plan.free && wanted.is_some_and(|pairs| pairs.cutoff <= self.cutoff) {
                self.set_algorithm(PairAlgorithm::List)?;
                self.compute_forces(Evaluate::Forces)?;
            }
        }
        match (wanted, &mut self.terms.pair_thermostat) {
            (Some(pairs), _) => self.pair_thermostat(pairs)?.thermostat = Some(pairs.clone()),
            (None, Some(pair_thermostat)) => pair_thermostat.thermostat = None,
            (None, None) => {}
        }
        Ok(())
    }

    /// Refuses friction and noise of pairs whose cut-off is more than half of the box.
    pub(super) fn check_pair_reach(&self, cutoff: f64) -> Result<()> {
        if cutoff <= self.system.simbox.largest_cutoff() {
            return Ok(());
        }
        Err(Error::input(format!(
            "friction and noise reach as far as {cutoff}, which is more than half the box"
        ))
        .hint("shorten the cut-off of the thermostat"))
    }

    /// Kernels of such a thermostat; an error where its cut-off is too long for the box, which may have changed.
    pub(super) fn pair_thermostat(&mut self, thermostat: &Dissipative) -> Result<&mut PairThermostat> {
        let cutoff = thermostat.cutoff;
        self.check_pair_reach(cutoff)?;
        let pair_thermostat = match self.terms.pair_thermostat.take() {
            Some(pair_thermostat) => pair_thermostat,
            None => PairThermostat::new(&self.device, self.precision, self.plan.summation, self.n_atoms())?,
        };
        let pair_thermostat = self.terms.pair_thermostat.insert(pair_thermostat);
        pair_thermostat.listed = self.plan.lists_all_pairs() && cutoff <= self.cutoff;
        Ok(pair_thermostat)
    }

    /// Slots that are left of the segment under way, of so many.
    pub(super) fn left_in_segment(&self, slots: u64) -> u64 {
        match self.control.part % 2 == 1 {
            false => slots,
            true => (self.control.target - self.control.slot[0].done).max(0) as u64,
        }
    }

    /// Makes the steps of a batch.
    fn make_segments(&mut self, batch: &Segments, forces: &mut [&mut dyn DeviceForce]) -> Result<()> {
        let (segments, slots, evaluate) = (batch.count, batch.slots(), batch.evaluate);
        // Reading the control block costs some 20 microseconds; queueing without reading it costs steps that
        // do nothing where a segment ends.
        let long = segments > 1 && self.recorded.seconds_per_slot * slots as f64 > LONG_SEGMENT;
        // Forces of others may be dear: none are queued where steps are not certain to be made. A segment begins with
        // the drift of one of its steps.
        let (look, ahead) = if forces.is_empty() { (long, slots) } else { (true, slots - 1) };
        let mut attempts = 0;
        loop {
            let alone = self.recorded.graphs.take().filter(|graphs| graphs.launches().is_none());
            let mut graphs = alone.unwrap_or_else(|| StepGraphs::new(self.plan.layout.slots_per_look));
            graphs.prepare(&self.device, &self.launches(), evaluate)?;
            let begun = self.control.part as u64 / 2;
            let under_way = self.control.part % 2 == 1;
            let left = self.left_in_segment(slots);
            let stale = self.control.slot[0].stale != 0;
            self.barrier()?;
            let device = self.device.clone();
            let mut queue = Queue {
                device: &device,
                others: &mut |slot, trigger| self.queue_device_forces(forces, slot, trigger),
            };
            let queued = match (look, under_way, left) {
                (false, ..) => {
                    let all = SegmentsLeft { count: segments - begun, steps: slots, left_in_first: left };
                    graphs.queue(&mut queue, all, evaluate)
                }
                // A list that steps do without did not fit: all are built anew.
                (true, true, 0) if stale => graphs.go(&mut queue, 0),
                (true, true, 0) => {
                    graphs.turn(&mut queue, evaluate).and_then(|()| match begun + 1 < segments {
                        true => graphs.go(&mut queue, ahead),
                        false => Ok(()),
                    })
                }
                (true, true, _) => graphs.begin(&mut queue).and_then(|()| graphs.go(&mut queue, left)),
                (true, false, _) => {
                    let gone = graphs.begin(&mut queue).and_then(|()| graphs.go(&mut queue, ahead));
                    if ahead == 0 { gone.and_then(|()| graphs.turn(&mut queue, evaluate)) } else { gone }
                }
            };
            if queued.is_err() {
                // A force of others failed in the middle of a sequence: the atoms stay where they are.
                let _ = self.adopt_arrays(ArraysChanged::Positions);
            }
            queued?;
            self.recorded.graphs = Some(graphs);
            self.read_control()?;
            self.settle(&mut attempts)?;
            if self.control.part as u64 == 2 * segments {
                return Ok(());
            }
        }
    }

    /// Repairs what the device cannot repair alone, if there is anything.
    pub(super) fn settle(&mut self, attempts: &mut usize) -> Result<()> {
        if self.control.faults == 0 {
            return Ok(());
        }
        *attempts += 1;
        if *attempts > MOST_ATTEMPTS {
            return Err(lists_keep_growing());
        }
        self.settle_faults()
    }
}
