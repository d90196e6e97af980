//! Many-body forces: two passes over the lists of a pair algorithm. The first leaves numbers of each atom, on which the
//! forces of the second depend; several GPUs exchange them between the passes.

use crate::device_data::DeviceData;
use crate::driver::{Kernel, Launch, Module};
use crate::exchange::Exchange;
use crate::list_capacity::ListCapacity;
use crate::neighbor_engine::{NeighborEngine, SlotBefore, Trigger};
use jostle_core::{Error, Evaluate, Result};

/// Arrays of a many-body force.
pub trait ManyBodyArrays: Send {
    /// Names of the kernels: first pass, forces, forces and energies.
    const KERNELS: [&'static str; 3];
    /// Forces, as errors name them.
    const NAME: &'static str;

    /// Gives kernels the addresses.
    fn attach(&self, data: &mut DeviceData);
    /// Address of what the second pass needs of all atoms, and its reals an atom.
    fn exchanged(&self) -> (u64, usize);
    /// Bytes occupied.
    fn bytes(&self) -> usize;
}

/// Pair algorithm, and the kernels of a many-body force over its lists.
pub struct ManyBodyEngine<T> {
    pairs: Box<dyn NeighborEngine>,
    first: Kernel,
    forces: Kernel,
    energies: Kernel,
    arrays: T,
    exchange: Option<Exchange>,
}

impl<T: ManyBodyArrays> ManyBodyEngine<T> {
    /// Kernels of these arrays over the lists of `pairs`.
    ///
    /// # Errors
    /// If the algorithm has no lists that such kernels go over, or no memory for them.
    pub fn new(
        module: &Module,
        arrays: T,
        pairs: Box<dyn NeighborEngine>,
        exchange: Option<Exchange>,
    ) -> Result<Self> {
        let [first, forces, energies] = T::KERNELS;
        let [first, forces, energies] =
            [module.kernel(first)?, module.kernel(forces)?, module.kernel(energies)?];
        for kernel in [&first, &forces, &energies] {
            pairs.allow(kernel)?;
            if pairs.pass(kernel).is_none() {
                return Err(Error::device(format!("algorithm \"{}\" has no {}", pairs.name(), T::NAME))
                    .hint("set algorithm = \"list\""));
            }
        }
        Ok(ManyBodyEngine { pairs, first, forces, energies, arrays, exchange })
    }
}

impl<T: ManyBodyArrays> NeighborEngine for ManyBodyEngine<T> {
    fn name(&self) -> &'static str {
        self.pairs.name()
    }

    fn attach(&self, data: &mut DeviceData) {
        self.pairs.attach(data);
        self.arrays.attach(data);
    }

    fn holds(&self, capacity: ListCapacity) -> bool {
        self.pairs.holds(capacity)
    }

    fn tighten(&mut self, capacity: ListCapacity) {
        self.pairs.tighten(capacity);
    }

    fn build(&self, data: &DeviceData, slot: i32) -> Vec<Launch> {
        self.pairs.build(data, slot)
    }

    fn forces(&self, data: &DeviceData, slot: i32, trigger: Trigger, evaluate: Evaluate) -> Vec<Launch> {
        let (kernel, energies) = match evaluate {
            Evaluate::Forces => (&self.forces, 0i32),
            Evaluate::ForcesAndEnergies => (&self.energies, 1),
        };
        let pass = |kernel| {
            let launch = self.pairs.pass(kernel);
            launch.map(|launch| launch.with_value(*data).with_value(slot).with_value(trigger as i32))
        };
        let first = pass(&self.first).map(|launch| launch.with_value(energies));
        let (address, reals) = self.arrays.exchanged();
        let exchanged = self.exchange.as_ref().map(|e| e.array(data, address, reals, slot, trigger));
        first.into_iter().chain(exchanged.into_iter().flatten()).chain(pass(kernel)).collect()
    }

    fn step(&self, _data: &DeviceData, _slot: i32, _before: SlotBefore) -> Option<Vec<Launch>> {
        None
    }

    fn energy_blocks(&self) -> u32 {
        self.pairs.energy_blocks()
    }

    fn bytes(&self) -> usize {
        self.pairs.bytes() + self.arrays.bytes()
    }
}
