//! Friction and noise between pairs of atoms (`kernels/dissipative.cu`).

use crate::codegen;
use crate::device_data::DeviceData;
use crate::driver::{Buffer, Device, Kernel, Launch};
use crate::kernels::{self, ATOM_THREADS, Build};
use crate::mid_step::MidStepForces;
use crate::shared::{SharedStructure, shared_structure};
use crate::sums::Summation;
use jostle_core::thermostat::{Dissipative, pair_impulse};
use jostle_core::{NoiseKey, Precision, Result};

shared_structure! {
    /// Thermostat of dissipative particle dynamics, and the noise of a step.
    struct DissipationData {
        cutoff: f64,
        friction: f64,
        noise: f64,
        seed: u64,
        step: u64,
        /// 1 where lists of atoms have all pairs.
        listed: i64,
    }
}

/// Kernels, and velocities at half a step.
pub struct PairThermostat {
    apply_dpd_thermostat: Kernel,
    cross: Kernel,
    halfway: Buffer<f64>,
    /// Thermostat of recorded batches.
    pub thermostat: Option<Dissipative>,
    /// True where all pairs with friction are in lists of atoms.
    pub listed: bool,
}

/// Source of the kernels.
pub fn build(precision: Precision, sums: Summation) -> Build {
    let formula =
        codegen::scalar_function("pair_impulse", 5, |x| vec![pair_impulse(x[0], x[1], x[2], x[3], x[4])]);
    let physics = formula + &DissipationData::source();
    kernels::mid_step_source(&physics, include_str!("../kernels/dissipative.cu"), precision, sums)
}

impl PairThermostat {
    /// Kernels for `n` atoms.
    ///
    /// # Errors
    /// If there is no compiler for the device, or not enough memory.
    pub fn new(device: &Device, precision: Precision, sums: Summation, n: usize) -> Result<Self> {
        let build = build(precision, sums);
        let module = device.compile("dissipative.cu", &build.source, &build.options)?;
        Ok(PairThermostat {
            apply_dpd_thermostat: module.kernel("apply_dpd_thermostat")?,
            cross: module.kernel("cross")?,
            halfway: device.alloc(3 * n)?,
            thermostat: None,
            listed: false,
        })
    }

    /// Launches of friction and noise of a given step.
    pub fn now(&self, data: &DeviceData, thermostat: &Dissipative, key: NoiseKey) -> [Launch; 2] {
        self.impulses(data, thermostat, key, -1)
    }

    /// Launches to half the step first, then over the whole step with the friction of the velocities at half.
    fn impulses(&self, data: &DeviceData, thermostat: &Dissipative, key: NoiseKey, slot: i32) -> [Launch; 2] {
        let Dissipative { cutoff, friction, noise } = *thermostat;
        let said = DissipationData {
            cutoff,
            friction,
            noise,
            seed: key.seed,
            step: key.step,
            listed: i64::from(self.listed),
        };
        let halfway = self.halfway.address();
        [(0, halfway, 0.5), (halfway, 0, 1.0)].map(|(from, to, part)| {
            let launch = Launch::new(&self.apply_dpd_thermostat, kernels::blocks_of(data.n), ATOM_THREADS);
            let launch = launch.with_value(*data).with_value(said);
            launch.with_value(slot).with_value(from).with_value(to).with_value(part)
        })
    }
}

impl MidStepForces for PairThermostat {
    fn cross(&self, data: &DeviceData, slot: i32) -> Vec<Launch> {
        let Some(thermostat) = &self.thermostat else { return Vec::new() };
        let mut launches = self.impulses(data, thermostat, NoiseKey { seed: 0, step: 0 }, slot).to_vec();
        let cross = Launch::new(&self.cross, kernels::blocks_of(data.n), ATOM_THREADS);
        launches.push(cross.with_value(*data).with_value(slot));
        launches
    }
}
