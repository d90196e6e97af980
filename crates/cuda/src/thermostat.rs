//! Thermostats that scale all velocities, on the device: `kernels/thermostat.cu` with the update of the
//! thermostat as [`jostle_core::thermostat`] has it. The scaling itself is done by whatever moves atoms.

use crate::codegen::{Recorder, scalar_function_as_on_host};
use crate::device_data::DeviceData;
use crate::driver::{Buffer, Device, Kernel, Launch};
use crate::kernels::{self, ATOM_THREADS, Build};
use crate::neighbor_engine::Trigger;
use crate::sums::Summation;
use jostle_core::arithmetic::greatest_common_divisor;
use jostle_core::thermostat::{Known, SubStep, around_forces, heat_of_scaling};
use jostle_core::{Precision, Real, Result, StepBatch, Thermostat};

/// Index of the thermostat's first variable in its array, and of the heat, with which its row of totals begins.
const FIRST_VARIABLE: usize = 5;
const HEAT: usize = 4;

/// Source in front of `kernels/thermostat.cu`; `None` for thermostats that do not scale velocities.
pub fn source(thermostat: &Thermostat) -> Option<String> {
    if !thermostat.scales_velocities() {
        return None;
    }
    let (n, m) = (thermostat.constants().len(), thermostat.variables().len());
    let counts_heat = thermostat.clone().counted_heat().is_some();
    let update = scalar_function_as_on_host("thermostat_update", 4 + n + m, |input| {
        let (kinetic, timestep, deviates) = (input[0], input[1], [input[2], input[3]]);
        let (constants, variables) = input[4..].split_at(n);
        let mut variables = variables.to_vec();
        let known = Known { kinetic, timestep, deviates, constants };
        let factor = thermostat.factor_by_kinetic(&known, &mut variables);
        let heat = if counts_heat { heat_of_scaling(factor, kinetic) } else { Recorder::lit(0.0) };
        [vec![factor, heat], variables].concat()
    });
    let before_drift = scalar_function_as_on_host("thermostat_before_drift", 1 + m, |input| {
        let mut variables = input[1..].to_vec();
        let factor = match thermostat.step().contains(&SubStep::ScaleByState) {
            true => thermostat.factor_by_state(input[0], &mut variables),
            false => Recorder::lit(1.0),
        };
        [vec![factor], variables].concat()
    });
    let deviates = i32::from(thermostat.deviates(0, 0).is_some());
    Some(format!(
        "#define THERMOSTAT_DEVIATES {deviates}\n#define THERMOSTAT_CONSTANTS {n}\n#define THERMOSTAT_VARIABLES {m}\n{update}{before_drift}"
    ))
}

/// The thermostat's array on the device; empty for thermostats that do not scale velocities.
fn state(thermostat: &Thermostat) -> Vec<f64> {
    if !thermostat.scales_velocities() {
        return Vec::new();
    }
    let schedule = thermostat.schedule();
    let heat = thermostat.clone().counted_heat().map_or(0.0, |heat| *heat);
    let numbers = [thermostat.variables(), thermostat.constants()].concat();
    [vec![1.0, 1.0, schedule.every as f64, schedule.start as f64, heat], numbers].concat()
}

/// How many numbers of a thermostat change from step to step: what a row of totals has of it.
fn row_length(thermostat: &Thermostat) -> usize {
    match thermostat.scales_velocities() {
        true => thermostat.variables().len() + FIRST_VARIABLE - HEAT,
        false => 0,
    }
}

/// Takes over what has changed, from a row of totals.
pub fn take_over(thermostat: &mut Thermostat, row: &[f64]) {
    let [counted, variables @ ..] = row else { return };
    thermostat.set_variables(variables);
    if let Some(heat) = thermostat.counted_heat() {
        *heat = *counted;
    }
}

/// The random deviates of every step of a batch, two each; empty for thermostats without.
fn deviates(thermostat: &Thermostat, batch: &StepBatch) -> Vec<f64> {
    let steps = batch.first_step..batch.first_step + batch.steps;
    steps.map_while(|step| thermostat.deviates(batch.seed, step)).flatten().collect()
}

/// A thermostat that scales velocities, in device memory, with the kernels that find by how much.
pub struct ScalingThermostat {
    source: String,
    begin: Kernel,
    kinetic: Kernel,
    after_drift: Kernel,
    scale: Kernel,
    state: Buffer<f64>,
    deviates: Buffer<f64>,
    row_length: usize,
    sums: Summation,
    acts: Acts,
}

/// When a thermostat scales velocities in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Acts {
    /// After every drift, and before.
    AroundDrifts,
    /// At the end of segments of so many steps, when the last of them is made.
    AtEnds(u64),
}

impl Acts {
    /// Times at which a thermostat acts in a batch whose samples are `steps` apart.
    pub fn of(thermostat: &Thermostat, batch: &StepBatch, steps: u64) -> Self {
        let (_, after_forces) = around_forces(thermostat.step());
        if !after_forces.contains(&SubStep::ScaleByKinetic) {
            return Acts::AroundDrifts;
        }
        let schedule = thermostat.schedule();
        let made = batch.first_step.saturating_sub(1).saturating_sub(schedule.start);
        Acts::AtEnds([schedule.every, made].into_iter().fold(steps, greatest_common_divisor))
    }
}

impl ScalingThermostat {
    /// `source` is that of [`source`].
    ///
    /// # Errors
    /// If there is no compiler for the device, it refuses the source, or there is no memory left.
    fn new(
        device: &Device,
        precision: Precision,
        sums: Summation,
        source: String,
        row_length: usize,
    ) -> Result<Self> {
        let Build { source: whole, options, .. } = kernels::thermostat(&source, precision, sums);
        let module = device.compile("thermostat.cu", &whole, &options)?;
        Ok(ScalingThermostat {
            begin: module.kernel("thermostat_begin")?,
            kinetic: module.kernel("thermostat_kinetic")?,
            after_drift: module.kernel("thermostat_after_drift")?,
            scale: module.kernel("thermostat_scale")?,
            state: device.alloc(1)?,
            deviates: device.alloc(2)?,
            row_length,
            sums,
            acts: Acts::AroundDrifts,
            source,
        })
    }

    /// Thermostat of a batch on the device, made from that of the batch before; `None` if the
    /// thermostat does not scale velocities.
    ///
    /// # Errors
    /// As when compiling.
    pub fn prepare(
        before: Option<Self>,
        device: &Device,
        precision: Precision,
        sums: Summation,
        thermostat: &Thermostat,
        batch: &StepBatch,
        acts: Acts,
    ) -> Result<Option<Self>> {
        let Some(source) = source(thermostat) else { return Ok(None) };
        let mut scaling = match before {
            Some(scaling) if scaling.source == source => scaling,
            _ => Self::new(device, precision, sums, source, row_length(thermostat))?,
        };
        let (state, deviates) = (state(thermostat), deviates(thermostat, batch));
        if scaling.state.len() != state.len() {
            scaling.state = device.alloc(state.len())?;
        }
        if scaling.deviates.len() < deviates.len() {
            scaling.deviates = device.alloc(deviates.len().next_power_of_two())?;
        }
        scaling.acts = acts;
        scaling.state.write(0, &state)?;
        scaling.deviates.write(0, &deviates)?;
        Ok(Some(scaling))
    }

    /// Source and addresses that recorded launches depend on.
    pub fn identity(&self) -> (String, [u64; 2]) {
        (self.source.clone(), [self.state.address(), self.deviates.address()])
    }

    /// Enters its memory into the device data.
    pub fn attach(&self, data: &mut DeviceData) {
        data.thermostat = self.state.address();
        data.deviates = self.deviates.address();
    }

    /// True where it acts at the ends of segments only.
    pub fn acts_at_ends(&self) -> bool {
        matches!(self.acts, Acts::AtEnds(_))
    }

    /// How many numbers of it a row of totals has.
    pub fn row_length(&self) -> usize {
        self.row_length
    }

    /// Before a segment begins.
    pub fn begin(&self, data: &DeviceData) -> Launch {
        Launch::new(&self.begin, 1, 1).with_value(*data)
    }

    /// Launches between a drift and the kick after it, if any.
    pub fn after_each_drift(
        &self,
        data: &DeviceData,
        slot: i32,
        trigger: Trigger,
        row_length: usize,
    ) -> Vec<Launch> {
        match self.acts {
            Acts::AroundDrifts => self.after_drift(data, slot, trigger, row_length).to_vec(),
            Acts::AtEnds(_) => Vec::new(),
        }
    }

    /// Launches at the end of a segment, if any.
    pub fn end_segment(&self, data: &DeviceData, row_length: usize) -> Vec<Launch> {
        match self.acts {
            Acts::AroundDrifts => Vec::new(),
            Acts::AtEnds(_) => {
                let [kinetic, after_drift] = self.after_drift(data, 0, Trigger::SegmentEnd, row_length);
                let blocks = (data.n as u32).div_ceil(ATOM_THREADS).max(1);
                vec![kinetic, after_drift, Launch::new(&self.scale, blocks, ATOM_THREADS).with_value(*data)]
            }
        }
    }

    /// The kinetic energy, and what follows from it. At the end of a segment what has changed of the thermostat
    /// goes to the segment's row of totals, of which it is the end.
    fn after_drift(&self, data: &DeviceData, slot: i32, trigger: Trigger, row_length: usize) -> [Launch; 2] {
        let blocks = (data.n as u32).div_ceil(ATOM_THREADS).max(1);
        let kinetic = Launch::new(&self.kinetic, blocks, ATOM_THREADS).with_value(*data);
        let after_drift = Launch::new(&self.after_drift, 1, ATOM_THREADS).with_value(*data);
        [
            kinetic.with_value(slot).with_value(trigger as i32),
            after_drift
                .with_value(slot)
                .with_value(trigger as i32)
                .with_value(self.sums.shares(data.n as usize, ATOM_THREADS) as i32)
                .with_value(row_length as i32)
                .with_value((row_length - self.row_length) as i32),
        ]
    }
}
