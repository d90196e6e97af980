//! Launches of several replicas as one: their kernels find the arguments of a replica in a row of a table, by the second
//! index of a block. Many small systems take hardly longer than one then, as a GPU has room for the blocks of all.
//!
//! The kernels are made from the source of those that replicas launch alone, which know nothing of it. Launches go
//! together where they are of the same kernel of equal sources, with as many blocks and threads. Pointers and numbers
//! differ, and may change: the row of a replica is written anew, and the recording stays.

use super::definitions::KERNEL;
use super::launch::{Kernel, Launch, Module};
use super::memory::Buffer;
use super::{Device, Graph, SourceText};
use jostle_core::{Error, Result};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Alignment of each argument in the table, in bytes: as large as any type needs.
const ARGUMENT_ALIGNMENT: usize = 16;

/// Kernels for several replicas, which were compiled for a device.
pub struct ReplicaKernels {
    device: Device,
    modules: HashMap<u64, Module>,
    kernels: HashMap<(u64, Arc<str>), Kernel>,
}

/// Recorded launches of several replicas.
pub struct ReplicaGraph {
    graph: Graph,
    /// Arguments, a row a replica.
    table: Buffer<u8>,
    /// Length of a row, in bytes.
    row: usize,
}

impl ReplicaKernels {
    /// No kernels so far.
    pub fn new(device: Device) -> Self {
        ReplicaKernels { device, modules: HashMap::new(), kernels: HashMap::new() }
    }

    /// Device on which replicas go together.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Records launches like these for so many replicas, whose rows are to be set.
    ///
    /// # Errors
    /// If a kernel does not compile, or the device refuses.
    pub fn record(&mut self, launches: &[Launch], replicas: usize) -> Result<ReplicaGraph> {
        let row = packed(launches).len();
        let table = self.device.alloc(row.max(1) * replicas)?;
        let (mut together, mut offset) = (Vec::with_capacity(launches.len()), 0);
        for launch in launches.iter().filter(|launch| !launch.is_empty()) {
            let kernel = self.kernel(launch)?;
            together.push(launch.together(&kernel, replicas, &table, offset, row));
            offset += launch.packed_bytes();
        }
        Ok(ReplicaGraph { graph: self.device.record(together)?, table, row })
    }

    /// Starts recorded launches, without waiting for their end.
    ///
    /// # Errors
    /// If the device refuses.
    pub fn replay(&self, recorded: &ReplicaGraph) -> Result<()> {
        self.device.replay(&recorded.graph)
    }

    /// Kernel that does for several replicas what that of a launch does for one.
    fn kernel(&mut self, launch: &Launch) -> Result<Kernel> {
        let (source, name) = (&launch.kernel.0.source, launch.kernel.0.name.clone());
        if let Some(kernel) = self.kernels.get(&(source.number, name.clone())) {
            return Ok(kernel.clone());
        }
        let module = match self.modules.get(&source.number) {
            Some(module) => module.clone(),
            None => {
                let SourceText { name, text, options, number } = &**source;
                let module = self.device.compile(name, &for_replicas(text), options)?;
                self.modules.insert(*number, module.clone());
                module
            }
        };
        let kernel = module.kernel(&name)?;
        kernel.allow_as(&launch.kernel)?;
        self.kernels.insert((source.number, name), kernel.clone());
        Ok(kernel)
    }
}

impl ReplicaGraph {
    /// Sets the arguments of a replica: those of launches of the same kind.
    ///
    /// # Errors
    /// If they are not, or the device was lost.
    pub fn set_row(&self, replica: usize, launches: &[Launch]) -> Result<()> {
        let row = packed(launches);
        if row.len() != self.row {
            return Err(Error::device("replicas that differ cannot go together"));
        }
        self.table.write(replica * self.row, &row)
    }
}

/// Number that launches have in common if, and practically only if, they can go together.
pub fn kind_of<'a>(launches: impl IntoIterator<Item = &'a Launch>) -> u64 {
    let mut hasher = DefaultHasher::new();
    let launches = launches.into_iter().filter(|launch| !launch.is_empty());
    launches.for_each(|launch| launch.kind().hash(&mut hasher));
    hasher.finish()
}

/// Arguments of launches as a row of the table has them.
fn packed(launches: &[Launch]) -> Vec<u8> {
    let mut row = Vec::new();
    for bytes in launches.iter().filter(|launch| !launch.is_empty()).flat_map(Launch::arguments) {
        row.extend_from_slice(bytes);
        row.resize(row.len().next_multiple_of(ARGUMENT_ALIGNMENT), 0);
    }
    row
}

/// Source whose kernels find their arguments in a table, one row a replica.
fn for_replicas(source: &str) -> String {
    let mut output = String::with_capacity(source.len() + 8192);
    let mut rest = source;
    while let Some(at) = rest.find(KERNEL) {
        let (before, after) = (&rest[..at], &rest[at + KERNEL.len()..]);
        output.push_str(before);
        let Some((head, parameters, body)) = split_definition(after) else {
            output.push_str(KERNEL);
            rest = after;
            continue;
        };
        let name = head.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default();
        let parameters: Vec<(&str, &str)> = parameters.split(',').filter_map(type_and_name).collect();
        let line = |write: &dyn Fn(&str, &str) -> String| -> String {
            parameters.iter().map(|(kind, name)| write(kind, name)).collect()
        };
        let fields =
            line(&|kind, name| format!("alignas({ARGUMENT_ALIGNMENT}) {} {name}; ", without_const(kind)));
        let values = line(&|kind, name| format!("{} {name} = arguments_.{name}; ", local(kind)));
        let row = format!("*(const {name}_arguments*)(table_ + blockIdx.y * row_)");
        output.push_str(&format!("struct {name}_arguments {{ {fields}}};\n{KERNEL}{head}("));
        output.push_str("const char* __restrict__ table_, unsigned long long row_) { ");
        output.push_str(&format!("const {name}_arguments& arguments_ = {row}; {values}"));
        rest = body;
    }
    output.push_str(rest);
    output
}

/// Attributes, type and name of a kernel, its parameters, and what follows the brace of its body. `None` for a
/// declaration without one.
fn split_definition(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let open = from + text[from..].find('(')?;
        let close = open + closing(&text[open..])?;
        if text[..open].trim_end().ends_with("__launch_bounds__") {
            from = close + 1;
            continue;
        }
        let body = text[close + 1..].trim_start().strip_prefix('{')?;
        return Some((&text[..open], &text[open + 1..close], body));
    }
}

/// Place of the parenthesis that closes the first one of a text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().find_map(|(k, c)| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        (c == ')' && depth == 0).then_some(k)
    })
}

/// Type and name of a parameter.
fn type_and_name(parameter: &str) -> Option<(&str, &str)> {
    let parameter = parameter.trim();
    let start = parameter.rfind(|c: char| !c.is_alphanumeric() && c != '_')? + 1;
    Some((parameter[..start].trim_end(), &parameter[start..]))
}

/// Type of the variable for an argument: large structures stay in the table, or each thread would copy them.
fn local(kind: &str) -> String {
    const NUMBERS: [&str; 8] = ["int", "unsigned", "u32", "i64", "u64", "float", "double", "real"];
    let field = without_const(kind);
    if field.ends_with('*') || NUMBERS.contains(&field) {
        kind.to_string()
    } else {
        format!("const {field}&")
    }
}

/// Type of a field that is copied as a whole: without a `const` of its own, which is not one behind a pointer.
fn without_const(kind: &str) -> &str {
    let kind = kind.strip_suffix("__restrict__").unwrap_or(kind).trim_end();
    if kind.ends_with('*') { kind } else { kind.strip_prefix("const ").unwrap_or(kind) }
}

impl Launch {
    /// Properties that launches that go together have in common.
    fn kind(&self) -> impl Hash + use<> {
        let sizes = Vec::from_iter(self.arguments().map(<[u8]>::len));
        let Kernel(entry) = &self.kernel;
        (entry.source.number, entry.name.clone(), (self.grid, self.block, self.shared), self.waits, sizes)
    }

    /// Bytes of its arguments in a row of the table.
    fn packed_bytes(&self) -> usize {
        self.arguments().map(|bytes| bytes.len().next_multiple_of(ARGUMENT_ALIGNMENT)).sum()
    }

    /// Launch of a kernel for so many replicas, whose arguments are at an offset of the rows of a table.
    fn together(
        &self,
        kernel: &Kernel,
        count: usize,
        table: &Buffer<u8>,
        offset: usize,
        row: usize,
    ) -> Launch {
        let mut launch = Launch::new(kernel, self.grid[0], self.block).shared(self.shared).waits(self.waits);
        launch.grid[1] = count as u32;
        launch.with_address(table, offset).with_value(row as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "
        extern \"C\" __global__ void __launch_bounds__(MOST(64, 2), 3) scale(double* x, const int n, double by) {
            const int i = blockIdx.x * blockDim.x + threadIdx.x;
            if (i < n) x[i] *= by;
        }
        struct Two { double* y; int n; };
        extern \"C\" __global__ void add(const double* __restrict__ x, Two two) {
            for (int i = blockIdx.x; i < two.n; i += gridDim.x) if (threadIdx.x == 0) two.y[i] += x[i];
        }
        #define MOST(a, b) a
    ";

    #[test]
    fn arguments_are_found_by_the_number_of_a_replica() {
        let source = for_replicas(SOURCE);
        assert!(source.contains(
            "struct scale_arguments { alignas(16) double* x; alignas(16) int n; alignas(16) double by; };"
        ));
        assert!(source.contains(
            "__launch_bounds__(MOST(64, 2), 3) scale(const char* __restrict__ table_, unsigned long long row_) { "
        ));
        assert!(source.contains(
            "& arguments_ = *(const scale_arguments*)(table_ + blockIdx.y * row_); double* x = arguments_.x; const int n"
        ));
        assert!(
            source.contains("struct add_arguments { alignas(16) const double* x; alignas(16) Two two; };")
        );
        assert!(source.contains("const Two& two = arguments_.two; "), "{source}");
        assert_eq!(
            for_replicas("extern \"C\" __global__ void f(int n);"),
            "extern \"C\" __global__ void f(int n);"
        );
    }

    #[test]
    fn replicas_of_different_numbers_go_together_and_of_different_kernels_do_not() {
        let device = Device::emulated().unwrap();
        let source = format!("#define MOST(a, b) a\n{SOURCE}");
        let module = device.compile("scale", &source, &[]).unwrap();
        let arrays: Vec<Buffer<f64>> =
            (1..=3).map(|k| device.upload(&vec![f64::from(k); 100]).unwrap()).collect();
        let scale = module.kernel("scale").unwrap();
        let launches: Vec<Launch> = arrays
            .iter()
            .zip([2.0, 3.0, 5.0])
            .map(|(x, by)| Launch::new(&scale, 2, 64).with(x).with_value(100_i32 - by as i32).with_value(by))
            .collect();
        let mut kernels = ReplicaKernels::new(device.clone());
        let recorded = kernels.record(&launches[..1], 3).unwrap();
        for (replica, launch) in launches.iter().enumerate() {
            recorded.set_row(replica, std::slice::from_ref(launch)).unwrap();
        }
        kernels.replay(&recorded).unwrap();
        kernels.replay(&recorded).unwrap();
        for ((array, by), k) in arrays.iter().zip([2.0, 3.0, 5.0]).zip(1..) {
            let (values, end) = (array.to_vec().unwrap(), 100 - by as usize);
            assert!(values[..end].iter().all(|x| *x == f64::from(k) * by * by), "{k}");
            assert!(values[end..].iter().all(|x| *x == f64::from(k)), "{k}");
        }
        let add = module.kernel("add").unwrap();
        let other = Launch::new(&add, 2, 64).with(&arrays[0]).with_value([0_u64; 2]);
        let more = Launch::new(&scale, 3, 64).with(&arrays[0]).with_value(9_i32).with_value(1.0);
        let kind = |launch| kind_of([launch]);
        assert_eq!(kind(&launches[0]), kind(&launches[1]));
        assert_ne!(kind(&launches[0]), kind(&other));
        assert_ne!(kind(&launches[0]), kind(&more));
        assert!(recorded.set_row(0, &[more, other]).is_err());
    }
}
