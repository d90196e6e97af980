//! Recorded graphs and events.

use super::{Shared, lock, timing};
use crate::driver::{Launch, Recording, Timestamp};
use cudarc::driver::sys;
use cudarc::driver::{CudaEvent, CudaGraph};
use jostle_core::Result;
use std::ptr;
use std::sync::{Arc, Mutex};

/// Recorded sequence of launches.
pub(super) struct Captured {
    pub gpu: Arc<Shared>,
    /// Names of its kernels.
    pub names: Arc<str>,
    pub graph: Mutex<Graph>,
}

/// Recorded graph.
pub(super) struct Graph {
    /// `None` where nothing was recorded.
    recorded: Option<CudaGraph>,
    /// Node of each launch; `None` where they cannot be told apart for certain.
    nodes: Option<Vec<sys::CUgraphNode>>,
}

// SAFETY: a graph may be used by one thread at a time; it is behind a lock.
unsafe impl Send for Graph {}

impl Graph {
    pub fn new(recorded: Option<CudaGraph>, launches: &[Launch]) -> Self {
        let nodes = recorded.as_ref().map_or(Some(Vec::new()), |graph| nodes(graph, launches));
        Graph { recorded, nodes }
    }
}

/// Nodes of a graph, if each is that of the launch at its place: their order is nowhere promised.
fn nodes(graph: &CudaGraph, launches: &[Launch]) -> Option<Vec<sys::CUgraphNode>> {
    let mut count = 0;
    // SAFETY: the graph is there; without a place for nodes they are counted.
    unsafe { sys::cuGraphGetNodes(graph.cu_graph(), ptr::null_mut(), &mut count) }.result().ok()?;
    if count != launches.len() {
        return None;
    }
    let mut nodes = vec![ptr::null_mut(); count];
    // SAFETY: there is room for so many.
    unsafe { sys::cuGraphGetNodes(graph.cu_graph(), nodes.as_mut_ptr(), &mut count) }.result().ok()?;
    // SAFETY: the nodes are of a graph that is there.
    let each_is = nodes.iter().zip(launches).all(|(&node, launch)| unsafe { is_of(node, launch) });
    each_is.then_some(nodes)
}

/// True if a node is that of a launch, to the last byte of its arguments.
///
/// # Safety
/// The node is one of a graph that is there.
unsafe fn is_of(node: sys::CUgraphNode, launch: &Launch) -> bool {
    let mut recorded = parameters(launch, &mut []);
    // SAFETY: as the caller vouches; a node that is not a kernel is an error.
    let status = unsafe { sys::cuGraphKernelNodeGetParams_v2(node, &mut recorded) };
    let wanted = parameters(launch, &mut []);
    if status.result().is_err() || recorded.func != wanted.func || recorded.kernelParams.is_null() {
        return false;
    }
    let grids = [&recorded, &wanted].map(|p| [p.gridDimX, p.gridDimY, p.gridDimZ, p.blockDimX]);
    grids[0] == grids[1]
        && launch.arguments().enumerate().all(|(place, bytes)| {
            // SAFETY: the driver keeps a copy of each argument of the kernel, whose sizes are those of the launch.
            let copy = unsafe {
                let argument = *recorded.kernelParams.add(place);
                std::slice::from_raw_parts(argument.cast::<u8>(), bytes.len())
            };
            copy == bytes
        })
}

/// Parameters of the node of a launch with these pointers to its arguments.
fn parameters(launch: &Launch, arguments: &mut [*mut std::ffi::c_void]) -> sys::CUDA_KERNEL_NODE_PARAMS {
    let [x, y, z] = launch.grid;
    sys::CUDA_KERNEL_NODE_PARAMS {
        func: launch.kernel.0.function.handle() as sys::CUfunction,
        gridDimX: x,
        gridDimY: y,
        gridDimZ: z,
        blockDimX: launch.block,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: launch.shared as u32,
        kernelParams: arguments.as_mut_ptr(),
        extra: ptr::null_mut(),
        kern: ptr::null_mut(),
        ctx: ptr::null_mut(),
    }
}

impl Recording for Captured {
    unsafe fn replay(&self, _launches: &[Launch]) -> Result<()> {
        self.gpu.remember(&self.names);
        let graph = lock(&self.graph);
        let launched = graph.recorded.iter().try_for_each(|graph| graph.launch());
        launched.map_err(|e| self.gpu.failed_before(e))
    }

    unsafe fn update(&self, before: &[Launch], after: &[Launch]) -> Result<bool> {
        let graph = lock(&self.graph);
        let (Some(recorded), Some(nodes)) = (&graph.recorded, &graph.nodes) else {
            return Ok(graph.recorded.is_none());
        };
        self.gpu.bind()?;
        for ((&node, before), after) in nodes.iter().zip(before).zip(after) {
            if before.is_same_as(after) {
                continue;
            }
            let mut arguments = after.pointers();
            let parameters = parameters(after, &mut arguments);
            // SAFETY: the node is one of the graph; the driver copies the arguments before it returns.
            let status = unsafe {
                sys::cuGraphExecKernelNodeSetParams_v2(recorded.cu_graph_exec(), node, &parameters)
            };
            if status.result().is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Event on the stream of the GPU.
pub(super) struct RecordedEvent {
    pub gpu: Arc<Shared>,
    pub event: CudaEvent,
}

impl Timestamp for RecordedEvent {
    fn milliseconds_until(&self, end: &dyn Timestamp) -> Result<f64> {
        self.gpu.wait()?;
        timing::milliseconds(self.event.cu_event(), end.stamp() as sys::CUevent)
    }

    fn stamp(&self) -> u64 {
        self.event.cu_event() as u64
    }

    fn has_passed(&self) -> bool {
        self.event.is_complete()
    }

    fn wait(&self) -> Result<()> {
        self.event.synchronize().map_err(|e| self.gpu.failed_before(e))
    }
}
