//! Systems on a GPU, or on several where the environment has `JOSTLE_TEST_GPUS=2`, or on those of several ranks where it has
//! `JOSTLE_TEST_RANKS=2` (emulated ones take `JOSTLE_EMULATED_GPU`, a folder for kernels, as well). Real ones take `--test-threads 1`
//! then: a kernel that waits for another GPU keeps its place, and many tests side by side could fill a GPU with these.

use super::device::{Size, device, size};
use jostle_core::{Backend, Settings, System};
use jostle_cuda::driver::Device;
use jostle_cuda::{Cuda, SeveralGpus};
use jostle_engine::device::open_on_threads;
use jostle_io::input::model::DeviceInput;
use jostle_potentials::Forces;

/// Number of GPUs that share a system.
fn n_gpus() -> usize {
    std::env::var("JOSTLE_TEST_GPUS").map_or(1, |number| number.parse().unwrap())
}

/// Number of ranks, with a GPU each, that share a system.
fn n_ranks() -> usize {
    std::env::var("JOSTLE_TEST_RANKS").map_or(1, |number| number.parse().unwrap())
}

/// Several devices of the kind that tests run on.
pub fn devices(count: usize) -> Vec<Device> {
    match size() {
        Size::Small => Device::several_emulated(count).unwrap(),
        Size::Large => (0..count).map(|k| Device::open(k).unwrap().for_tests()).collect(),
    }
}

/// Numbers of GPUs that tests take: two and three where they are emulated; of real ones two, and more of those that
/// `JOSTLE_TEST_GPUS` says there are.
pub fn counts() -> Vec<usize> {
    match size() {
        Size::Small => vec![2, 3],
        Size::Large => [2, 3, 4, 8].into_iter().filter(|count| *count <= n_gpus().max(2)).collect(),
    }
}

/// A system on the GPU, or on several of them.
pub fn on_gpu(system: System, forces: impl Into<Forces>, settings: Settings) -> Box<dyn Backend> {
    if n_ranks() > 1 {
        return open_on_threads(n_ranks(), DeviceInput::gpu(0), system, forces, settings).unwrap().backend;
    }
    match n_gpus() {
        1 => Box::new(Cuda::new(device(), system, forces, settings).unwrap()),
        count => Box::new(SeveralGpus::new(devices(count), system, forces, settings).unwrap()),
    }
}
