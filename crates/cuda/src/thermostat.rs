//! Thermostats that scale all velocities, on the device: `kernels/thermostat.cu` with the update of the
//! thermostat as [`jostle_core::thermostat`] has it. The scaling itself is done by whatever moves atoms.

use crate::codegen::{Recorder, scalar_function_as_on_host};
use crate::device_data::DeviceData;
use crate::driver::{Buffer, Device, Kernel, Launch};
use crate::kernels::{self, ATOM_THREADS, Build};
use crate::neighbor_engine::Trigger;
use crate::sums::Summation;
use jostle_core::arithmetic::greatest_common_divisor;
use jostle_core::thermostat::{Chain, bussi_factor, drag, heat_of_scaling, rescale_factor};
use jostle_core::{Precision, Real, Result, StepBatch, Thermostat};

/// What comes before the thermostat's variables in its array, and what its row of totals begins with.
const FIRST_VARIABLE: usize = 5;
const HEAT: usize = 4;

/// The numbers of a thermostat: constants, and what changes from step to step.
struct Numbers {
    kind: &'static str,
    constants: Vec<f64>,
    variables: Vec<f64>,
}

fn numbers(thermostat: &Thermostat) -> Option<Numbers> {
    let numbers = |kind, constants, variables| Some(Numbers { kind, constants, variables });
    match thermostat {
        Thermostat::Isolated | Thermostat::Langevin(_) | Thermostat::Dissipative(_) => None,
        Thermostat::Rescale(b) => numbers("THERMOSTAT_RESCALE", vec![b.target.kinetic_energy()], vec![]),
        Thermostat::Bussi(b) => numbers("THERMOSTAT_BUSSI", vec![b.target.thermal_energy, b.decay], vec![]),
        Thermostat::NoseHoover(b) => {
            let mut constants = vec![b.target.thermal_energy, b.target.degrees_of_freedom as f64];
            constants.extend(&b.mass);
            numbers("THERMOSTAT_NOSE_HOOVER", constants, [b.position.as_slice(), &b.velocity].concat())
        }
    }
}

/// What `kernels/thermostat.cu` needs in front; `None` for thermostats that do not scale velocities.
pub fn source(thermostat: &Thermostat) -> Option<String> {
    let Numbers { kind, constants, variables } = numbers(thermostat)?;
    let (n, m) = (constants.len(), variables.len());
    let update = scalar_function_as_on_host("thermostat_update", 3 + n + m, |input| {
        let (kinetic, a, b) = (input[0], input[1], input[2]);
        let (constants, variables) = input[3..].split_at(n);
        let scaled = |factor: Recorder| vec![factor, heat_of_scaling(factor, kinetic)];
        match thermostat {
            Thermostat::Isolated | Thermostat::Langevin(_) | Thermostat::Dissipative(_) => Vec::new(),
            Thermostat::Rescale(_) => scaled(rescale_factor(kinetic, constants[0])),
            Thermostat::Bussi(_) => scaled(bussi_factor(kinetic, constants[0], constants[1], a, b)),
            Thermostat::NoseHoover(_) => {
                let (mut position, mut velocity) = (variables[..m / 2].to_vec(), variables[m / 2..].to_vec());
                let mut chain = Chain {
                    thermal_energy: constants[0],
                    degrees_of_freedom: constants[1],
                    mass: &constants[2..],
                    position: &mut position,
                    velocity: &mut velocity,
                };
                chain.push(kinetic, a);
                let factor = chain.drag(Recorder::lit(0.5) * a);
                [vec![factor, Recorder::lit(0.0)], position, velocity].concat()
            }
        }
    });
    let before_drift = scalar_function_as_on_host("thermostat_before_drift", 1 + m, |input| {
        let (time, variables) = (input[0], &input[1..]);
        let (mut position, velocity) = (variables[..m / 2].to_vec(), variables[m / 2..].to_vec());
        let factor = match thermostat {
            Thermostat::NoseHoover(_) => drag(&mut position[0], velocity[0], Recorder::lit(0.5) * time),
            _ => Recorder::lit(1.0),
        };
        [vec![factor], position, velocity].concat()
    });
    Some(format!(
        "#define THERMOSTAT {kind}\n#define THERMOSTAT_CONSTANTS {n}\n#define THERMOSTAT_VARIABLES {m}\n{update}{before_drift}"
    ))
}

/// The thermostat's array on the device; empty for thermostats that do not scale velocities.
fn state(thermostat: &Thermostat) -> Vec<f64> {
    let Some(Numbers { constants, variables, .. }) = numbers(thermostat) else { return Vec::new() };
    let (every, start) = match thermostat {
        Thermostat::Rescale(b) => (b.every as f64, b.start as f64),
        _ => (1.0, 0.0),
    };
    let heat = match thermostat {
        Thermostat::Rescale(b) => b.heat,
        Thermostat::Bussi(b) => b.heat,
        _ => 0.0,
    };
    [vec![1.0, 1.0, every, start, heat], variables, constants].concat()
}

/// How many numbers of a thermostat change from step to step: what a row of totals has of it.
fn row_length(thermostat: &Thermostat) -> usize {
    numbers(thermostat).map_or(0, |n| n.variables.len() + FIRST_VARIABLE - HEAT)
}

/// Takes over what has changed, from a row of totals.
pub fn take_over(thermostat: &mut Thermostat, row: &[f64]) {
    let variables = &row[(FIRST_VARIABLE - HEAT).min(row.len())..];
    match thermostat {
        Thermostat::Isolated | Thermostat::Langevin(_) | Thermostat::Dissipative(_) => {}
        Thermostat::Rescale(b) => b.heat = row[0],
        Thermostat::Bussi(b) => b.heat = row[0],
        Thermostat::NoseHoover(b) => {
            let links = b.mass.len();
            b.position.copy_from_slice(&variables[..links]);
            b.velocity.copy_from_slice(&variables[links..2 * links]);
        }
    }
}

/// The random deviates of every step of a batch, two each; empty for thermostats without.
fn deviates(thermostat: &Thermostat, batch: &StepBatch) -> Vec<f64> {
    let Thermostat::Bussi(bussi) = thermostat else { return Vec::new() };
    let steps = batch.first_step..batch.first_step + batch.steps;
    steps
        .flat_map(|step| {
            let deviates = bussi.deviates(batch.seed, step);
            [deviates.first, deviates.others]
        })
        .collect()
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
    /// Those of a thermostat in a batch whose samples are `steps` apart.
    pub fn of(thermostat: &Thermostat, batch: &StepBatch, steps: u64) -> Self {
        let Thermostat::Rescale(rescale) = thermostat else { return Acts::AroundDrifts };
        let made = batch.first_step.saturating_sub(1).saturating_sub(rescale.start);
        Acts::AtEnds([rescale.every, made].into_iter().fold(steps, greatest_common_divisor))
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

    /// What a batch needs on the device, made from what there was for the one before; `None` if the
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

    /// What recorded launches depend on.
    pub fn identity(&self) -> (String, [u64; 2]) {
        (self.source.clone(), [self.state.address(), self.deviates.address()])
    }

    /// Enters its memory into the device data.
    pub fn attach(&self, data: &mut DeviceData) {
        data.thermostat = self.state.address();
        data.deviates = self.deviates.address();
    }

    /// How many numbers of it a row of totals has.
    pub fn row_length(&self) -> usize {
        self.row_length
    }

    /// Before a segment begins.
    pub fn begin(&self, data: &DeviceData) -> Launch {
        Launch::new(&self.begin, 1, 1).with_value(*data)
    }

    /// What it does between a drift and the kick after it, if anything.
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

    /// What it does at the end of a segment, if anything.
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
