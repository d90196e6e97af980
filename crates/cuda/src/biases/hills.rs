//! Memory of grids, and of hills and kernels, whose number grows.

use crate::driver::{Buffer, Device};
use jostle_core::Result;
use jostle_core::backend::{
    AdaptiveForceSettings, BiasFunction, BiasMemory, DensityMemory, GridAxis, HILL_NUMBERS, KERNEL_NUMBERS,
    KernelMemory, ParticleMemory,
};
use jostle_sampling::bias::Modes;

/// Numbers of each bias that change from step to step.
pub const NUMBERS: usize = 16;
/// Index among them of the number of hills since they were taken last.
pub const HILL_COUNT: usize = 14;
const _: () = assert!(KernelMemory::COUNT <= NUMBERS && ParticleMemory::COUNT <= NUMBERS);

/// Memory of the grid and of the hills or kernels of a bias.
pub struct HillArrays {
    pub grid: Buffer<f64>,
    pub tables: Buffer<f64>,
    /// Hills, or kernels of two densities in turns.
    pub hills: Buffer<f64>,
    growth: Option<Growing>,
    /// Most hills or kernels that there may be.
    pub most: usize,
}

/// Hills or kernels whose number grows.
#[derive(Clone, Copy)]
struct Growing {
    /// Numbers of a hill, or of a kernel in each of two densities.
    size: usize,
    /// Steps between them.
    every: u64,
}

/// Effect of making room on addresses that recorded launches hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// All stay.
    None,
    /// Some are others now.
    Moved,
}

impl Growth {
    /// Effect of both.
    pub fn and(self, other: Growth) -> Growth {
        if self == Growth::Moved { self } else { other }
    }
}

/// Growth of what a bias keeps.
fn growing(function: &BiasFunction) -> Option<Growing> {
    match function {
        BiasFunction::Metadynamics(settings) => Some(Growing { size: HILL_NUMBERS, every: settings.every }),
        BiasFunction::Opes(settings) => Some(Growing { size: 2 * KERNEL_NUMBERS, every: settings.every }),
        _ => None,
    }
}

/// Numbers of kernels in the two densities of a bias, by its numbers; 0 of other biases.
pub fn kernel_counts(function: &BiasFunction, numbers: &[f64]) -> [usize; 2] {
    let count = |first: usize| numbers.get(first + DensityMemory::KERNELS).map_or(0, |count| *count as usize);
    if matches!(function, BiasFunction::Opes(_)) { KernelMemory::DENSITIES.map(count) } else { [0; 2] }
}

/// Number of hills or kernels that a bias has, by its numbers.
pub fn count(function: &BiasFunction, numbers: &[f64]) -> usize {
    match function {
        BiasFunction::Metadynamics(_) => numbers[HILL_COUNT] as usize,
        _ => kernel_counts(function, numbers).into_iter().max().unwrap_or_default(),
    }
}

/// Numbers for the projection of forces in the bins of two axes: amplitudes of the modes of both, their eigenvalues, and
/// room for two numbers a bin.
fn projection_tables(settings: &AdaptiveForceSettings) -> Vec<f64> {
    if settings.axes.len() < 2 {
        return Vec::new();
    }
    let modes: Vec<Modes> = settings.axes.iter().map(Modes::new).collect();
    let amplitudes = modes.iter().flat_map(|modes| modes.amplitudes.iter().copied());
    let eigenvalues = modes.iter().flat_map(|modes| modes.eigenvalues.iter().copied());
    amplitudes.chain(eigenvalues).chain(vec![0.0; 2 * settings.bins()]).collect()
}

impl HillArrays {
    /// Memory for what a bias keeps, with room for so many hills or kernels; `None`: it keeps nothing.
    ///
    /// # Errors
    /// If the device has too little.
    pub fn new(device: &Device, function: &BiasFunction, hills: usize) -> Result<Option<Self>> {
        let (grid, tables) = match function {
            BiasFunction::Metadynamics(settings) => {
                let points: Vec<usize> = settings.axes.iter().map(GridAxis::points).collect();
                let grid = points.iter().product::<usize>() << points.len();
                (grid, device.alloc(2 * points.iter().sum::<usize>())?)
            }
            BiasFunction::AdaptiveForce(settings) => {
                (settings.numbers(), device.upload(&projection_tables(settings))?)
            }
            BiasFunction::Opes(_) => (0, device.alloc(0)?),
            _ => return Ok(None),
        };
        let growth = growing(function);
        Ok(Some(HillArrays {
            grid: device.alloc(grid)?,
            tables,
            hills: device.alloc(growth.map_or(0, |growing| growing.size * hills))?,
            growth,
            most: 0,
        }))
    }

    /// Number of hills or kernels that there is memory for.
    pub fn capacity(&self) -> usize {
        self.growth.map_or(0, |growing| self.hills.len() / growing.size)
    }

    /// Bytes of grid and hills.
    pub fn bytes(&self) -> usize {
        8 * (self.grid.len() + self.hills.len())
    }

    /// Makes room for the hills or kernels of so many more steps; `count` tells how many there are.
    ///
    /// # Errors
    /// If the device failed, or has too little memory.
    pub fn reserve(
        &mut self,
        device: &Device,
        steps: u64,
        count: impl FnOnce() -> Result<usize>,
    ) -> Result<Growth> {
        let Some(Growing { every, .. }) = self.growth else { return Ok(Growth::None) };
        let more = (steps / every.max(1)) as usize + 2;
        if self.most + more > self.capacity() {
            self.most = count()?;
        }
        self.most += more;
        self.grow(device)
    }

    /// Makes room for as many as there may be.
    fn grow(&mut self, device: &Device) -> Result<Growth> {
        let Some(Growing { size, .. }) = self.growth else { return Ok(Growth::None) };
        if self.most <= self.capacity() {
            return Ok(Growth::None);
        }
        let larger = device.alloc(size * (2 * self.most))?;
        larger.copy_from(&self.hills, self.hills.len())?;
        self.hills = larger;
        Ok(Growth::Moved)
    }

    /// Takes grid and kernels that the host has; hills stay there.
    ///
    /// # Errors
    /// If the device failed, or has too little memory.
    pub fn write(&mut self, device: &Device, memory: &BiasMemory) -> Result<Growth> {
        self.grid.write(0, &memory.grid)?;
        let [first, second] = &memory.kernels;
        self.most = first.len().max(second.len());
        let growth = self.grow(device)?;
        let of = |kernels: &[[f64; KERNEL_NUMBERS]], k: usize| kernels.get(k).copied().unwrap_or_default();
        let both = (0..self.most).flat_map(|k| [of(first, k), of(second, k)]);
        self.hills.write(0, both.collect::<Vec<_>>().as_flattened())?;
        Ok(growth)
    }

    /// Adds grid, hills and kernels to the numbers that a bias has now.
    ///
    /// # Errors
    /// If the device failed.
    pub fn read(&mut self, function: &BiasFunction, memory: &mut BiasMemory) -> Result<()> {
        memory.grid = self.grid.to_vec()?;
        let count = count(function, &memory.numbers);
        let mut numbers = vec![0.0; count * self.growth.map_or(0, |growing| growing.size)];
        self.hills.read(0, &mut numbers)?;
        if let BiasFunction::Opes(_) = function {
            let counts = kernel_counts(function, &memory.numbers);
            let kernels = numbers.as_chunks::<KERNEL_NUMBERS>().0;
            let own = |which: usize| kernels.iter().skip(which).step_by(2).take(counts[which]).copied();
            memory.kernels = [0, 1].map(|which| own(which).collect());
            self.most = count;
        } else {
            memory.hills = numbers.as_chunks::<HILL_NUMBERS>().0.to_vec();
            self.most = 0;
        }
        Ok(())
    }
}
