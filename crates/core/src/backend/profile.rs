//! Profile of a GPU: times of its kernels, and what its neighbour lists hold.

/// Time of a kernel of a GPU in some steps, in which each kernel was alone on it.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelTime {
    /// Name in its source.
    pub name: String,
    /// Number of launches.
    pub launches: u64,
    /// Seconds of all launches, without what a launch of a kernel that does nothing takes.
    pub seconds: f64,
    /// Blocks of a launch, on average.
    pub blocks: f64,
    /// Threads of a block.
    pub threads: u32,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of a thread that did not fit into registers.
    pub spilled: u32,
}

/// Contents of neighbour lists of one kind.
#[derive(Debug, Clone, PartialEq)]
pub struct ListContents {
    /// Thing that is counted, for people: `"neighbours of an atom"`.
    pub what: &'static str,
    /// Number of lists.
    pub lists: usize,
    /// Mean over lists.
    pub mean: f64,
    /// The largest of them.
    pub most: u64,
    /// Room that a list has.
    pub room: u64,
}

/// Profile of a GPU.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Profile {
    /// Kernels, the longest first.
    pub kernels: Vec<KernelTime>,
    /// Contents of the lists of now; empty for algorithms without lists.
    pub lists: Vec<ListContents>,
}
