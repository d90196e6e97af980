//! Numbers of biases that change from step to step, as plain data for a device and back.

/// Numbers of a bias that change from step to step.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BiasMemory {
    /// Numbers whose meaning depends on the kind, see [`SpringMemory`], [`HillMemory`], [`KernelMemory`] and
    /// [`ParticleMemory`].
    pub numbers: Vec<f64>,
    /// Numbers on a grid.
    pub grid: Vec<f64>,
    /// Hills that have begun to act since the memory was written: time, height and centre.
    pub hills: Vec<[f64; HILL_NUMBERS]>,
    /// Kernels of two densities: heights, centres and widths.
    pub kernels: [Vec<[f64; KERNEL_NUMBERS]>; 2],
}

/// Numbers of a hill: time, height and centre along two variables.
pub const HILL_NUMBERS: usize = 4;

/// Numbers of a kernel: height, centre and widths along two variables.
pub const KERNEL_NUMBERS: usize = 5;

/// Indices of the numbers of a harmonic bias.
pub struct SpringMemory;

impl SpringMemory {
    /// Work done so far: the first number of every kind.
    pub const WORK: usize = 0;
    /// 1 where value and progress at the end of the last step are known.
    pub const KNOWN: usize = 1;
    /// Value at the end of the last step.
    pub const VALUE: usize = 2;
    /// Progress at the end of the last step.
    pub const PROGRESS: usize = 3;
    /// Number of numbers.
    pub const COUNT: usize = 4;
}

/// Indices of the numbers of metadynamics.
pub struct HillMemory;

impl HillMemory {
    /// Work done so far.
    pub const WORK: usize = 0;
    /// 1 where values at the end of the last step are known.
    pub const KNOWN: usize = 1;
    /// Values at the end of the last step.
    pub const VALUES: usize = 2;
    /// Step at whose end a hill was noted that has yet to act; -1: there is none.
    pub const PENDING: usize = 4;
    /// That hill.
    pub const PENDING_HILL: usize = 5;
    /// Step with which the newest hill has begun to act, until its end; -1: there is none.
    pub const NEWEST: usize = 9;
    /// That hill.
    pub const NEWEST_HILL: usize = 10;
    /// Number of numbers.
    pub const COUNT: usize = 14;
}

/// Indices of the numbers of a bias that follows from a density of kernels. There are two densities: the present one and
/// another one, which was there before or has yet to act.
pub struct KernelMemory;

impl KernelMemory {
    /// Work done so far.
    pub const WORK: usize = 0;
    /// 1 where values at the end of the last step are known.
    pub const KNOWN: usize = 1;
    /// Values at the end of the last step.
    pub const VALUES: usize = 2;
    /// Step at whose end the other density was noted, which has yet to act; -1: there is none.
    pub const PENDING: usize = 4;
    /// Step with which the present density has begun to act in place of the other one, until its end; -1: there is none.
    pub const NEWEST: usize = 5;
    /// Which of the two densities is the present one.
    pub const CURRENT: usize = 6;
    /// Numbers of both densities, see [`DensityMemory`].
    pub const DENSITIES: [usize; 2] = [7, 7 + DensityMemory::COUNT];
    /// Number of numbers.
    pub const COUNT: usize = 7 + 2 * DensityMemory::COUNT;
}

/// Indices of the numbers of a density.
pub struct DensityMemory;

impl DensityMemory {
    /// Number of kernels.
    pub const KERNELS: usize = 0;
    /// Sum of the weights of samples.
    pub const WEIGHT: usize = 1;
    /// Sum of their squares.
    pub const SQUARES: usize = 2;
    /// Mean of the density over the kernels.
    pub const MEAN: usize = 3;
    /// Number of numbers.
    pub const COUNT: usize = 4;
}

/// Indices of the numbers of an adaptive biasing force.
pub struct ParticleMemory;

impl ParticleMemory {
    /// Work done so far.
    pub const WORK: usize = 0;
    /// 1 where values and place at the end of the last step are known.
    pub const KNOWN: usize = 1;
    /// These values.
    pub const VALUES: usize = 2;
    /// That place of the particle.
    pub const LAST_PLACE: usize = 4;
    /// 1 where the particle has a place.
    pub const BEGUN: usize = 6;
    /// Its place.
    pub const PLACE: usize = 7;
    /// Its velocity.
    pub const VELOCITY: usize = 9;
    /// Step at whose end its next place was found that has yet to act; -1: there is none.
    pub const PENDING: usize = 11;
    /// That place.
    pub const NEXT: usize = 12;
    /// Number of samples in all blocks.
    pub const SAMPLES: usize = 15;
    /// Number of numbers.
    pub const COUNT: usize = 16;
}
