//! Ewald's sum over single wave vectors (`kernels/ewald.cu`).

use super::box_change::BoxChange;
use crate::arrays::Reals;
use crate::codegen;
use crate::device_data::DeviceData;
use crate::driver::{Buffer, Device, Kernel, Launch};
use crate::kernels::{self, Build};
use crate::neighbor_engine::Trigger;
use crate::shared::{SharedStructure, shared_structure};
use crate::sums::Summation;
use jostle_core::{Evaluate, Precision, Result, SimBox, Vec3};
use jostle_potentials::electrostatics::Method;
use jostle_potentials::electrostatics::reciprocal_space::Wave;
use jostle_potentials::{LatticeSum, Spectrum};

/// Number of threads of a block, which adds up the amplitude of a wave, and of a warp, which adds up the
/// forces on an atom: as in `ewald.cu`.
const THREADS: u32 = 256;
const WARP: u32 = 32;

shared_structure! {
    /// Wave and its opposite.
    struct WaveData {
        /// Twice the energy of an amplitude whose square is 1.
        weight: f64,
        vector: Vec3,
        /// Virial of the energy 1.
        virial: [f64; 6],
        /// Multiples of the reciprocal edges.
        numbers: [i32; 4],
    }

    /// Waves of a box.
    struct EwaldSum {
        waves: u64 = "const WaveData*",
        /// Amplitude of each wave, times its weight.
        amplitude: u64 = "real2*",
        /// Number of waves.
        n: i64,
    }
}

/// Waves of a box, and kernels.
pub struct Ewald {
    spectrum: Spectrum,
    longest: f64,
    precision: Precision,
    sum: EwaldSum,
    kernels: [Kernel; 3],
    /// Memory to which the addresses in `sum` point.
    rows: Buffer<WaveData>,
    amplitude: Reals,
}

/// Source of the kernels.
pub fn build(sum: &LatticeSum, precision: Precision) -> Build {
    let source = codegen::excluded_source(sum, precision) + &WaveData::source() + &EwaldSum::source();
    kernels::module_source(&source, include_str!("../../kernels/ewald.cu"), precision, Summation::Fast)
}

fn rows(simbox: &SimBox, spectrum: Spectrum, longest: f64) -> Vec<WaveData> {
    let row = |wave: &Wave| {
        let [x, y, z] = wave.numbers;
        WaveData { weight: wave.weight, vector: wave.vector, virial: wave.virial(1.0), numbers: [x, y, z, 0] }
    };
    Wave::all(simbox, spectrum, longest).iter().map(row).collect()
}

impl Ewald {
    /// Waves of a sum; `None` for other methods than Ewald's.
    ///
    /// # Errors
    /// If there is no compiler for the device, or not enough memory.
    pub fn new(
        device: &Device,
        simbox: &SimBox,
        sum: &LatticeSum,
        precision: Precision,
    ) -> Result<Option<Self>> {
        let (Method::Ewald { longest, .. }, Some(spectrum)) = (sum.method(), sum.spectrum()) else {
            return Ok(None);
        };
        let build = build(sum, precision);
        let module = device.compile("ewald.cu", &build.source, &build.options)?;
        let kernels = [
            module.kernel("ewald_amplitudes")?,
            module.kernel("ewald_amplitudes_energies")?,
            module.kernel("ewald_forces")?,
        ];
        let rows = rows(simbox, spectrum, longest);
        let (n, rows) = (rows.len(), device.upload(&rows)?);
        let amplitude = Reals::alloc(device, precision, 2 * n)?;
        let sum = EwaldSum { waves: rows.address(), amplitude: amplitude.address(), n: n as i64 };
        Ok(Some(Ewald { spectrum, longest, precision, sum, kernels, rows, amplitude }))
    }

    /// Adapts to a box that has changed, which has other waves, and more or fewer of them.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn follow(&mut self, device: &Device, simbox: &SimBox) -> Result<BoxChange> {
        let rows = rows(simbox, self.spectrum, self.longest);
        if rows.len() as i64 == self.sum.n {
            self.rows.write(0, &rows)?;
            return Ok(BoxChange::AsItWas);
        }
        self.rows = device.upload(&rows)?;
        self.amplitude = Reals::alloc(device, self.precision, 2 * rows.len())?;
        self.sum = EwaldSum {
            waves: self.rows.address(),
            amplitude: self.amplitude.address(),
            n: rows.len() as i64,
        };
        Ok(BoxChange::Anew)
    }

    fn launch(&self, kernel: &Kernel, blocks: u32, data: &DeviceData, slot: i32, trigger: Trigger) -> Launch {
        let launch = Launch::new(kernel, blocks.max(1), THREADS).with_value(*data).with_value(self.sum);
        launch.with_value(slot).with_value(trigger as i32)
    }

    /// Launches that compute the amplitudes of all waves; with energies, they leave shares of energy and
    /// virial, which `add_up` sums.
    pub fn reciprocal(
        &self,
        data: &DeviceData,
        slot: i32,
        trigger: Trigger,
        evaluate: Evaluate,
        add_up: impl Fn(u32) -> Launch,
    ) -> Vec<Launch> {
        let [forces, energies, _] = &self.kernels;
        if self.shares() == 0 {
            return Vec::new();
        }
        let launch = |kernel| self.launch(kernel, self.shares(), data, slot, trigger);
        match evaluate {
            Evaluate::Forces => vec![launch(forces)],
            Evaluate::ForcesAndEnergies => vec![launch(energies), add_up(self.shares())],
        }
    }

    /// Launch that computes forces from the amplitudes. `asked`: weight of long-range forces outside steps.
    pub fn forces(&self, data: &DeviceData, slot: i32, trigger: Trigger, asked: f64) -> Launch {
        let blocks = (data.n as u32).div_ceil(THREADS / WARP);
        self.launch(&self.kernels[2], blocks, data, slot, trigger).with_value(asked)
    }

    /// Number of shares that are left.
    pub fn shares(&self) -> u32 {
        self.sum.n as u32
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        size_of::<WaveData>() * self.rows.len() + self.amplitude.bytes()
    }
}
