//! Facts about this machine.

use serde_json::{Value, json};
use std::fs;

/// What the machine has.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Name of the processor, where the system tells.
    pub processor: Option<String>,
    /// Threads that this process may use at once.
    pub cores: usize,
    /// Instruction sets that matter to Jostle, and whether they are there.
    pub features: Vec<(&'static str, bool)>,
    /// Memory that this process may still use, in bytes, where the system tells.
    pub memory_available: Option<u64>,
    /// All memory, in bytes, where the system tells.
    pub memory_total: Option<u64>,
}

impl Machine {
    /// Looks.
    pub fn look() -> Self {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let processor = cpuinfo
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
            .map(|(_, name)| name.trim().to_string());
        let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let limit = cgroup_limit();
        let within = |bytes: Option<u64>| match (bytes, limit) {
            (Some(bytes), Some(limit)) => Some(bytes.min(limit)),
            (bytes, limit) => bytes.or(limit),
        };
        Machine {
            processor,
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            features: features(),
            memory_available: within(kibibytes(&meminfo, "MemAvailable:")),
            memory_total: within(kibibytes(&meminfo, "MemTotal:")),
        }
    }

    /// The same facts for a program.
    pub fn to_json(&self) -> Value {
        let features: serde_json::Map<_, _> =
            self.features.iter().map(|(name, there)| (name.to_string(), json!(there))).collect();
        json!({
            "processor": self.processor,
            "cores": self.cores,
            "features": features,
            "memory_available": self.memory_available,
            "memory_total": self.memory_total,
        })
    }
}

/// The memory limit of a container, if there is one.
fn cgroup_limit() -> Option<u64> {
    fs::read_to_string("/sys/fs/cgroup/memory.max").ok()?.trim().parse().ok()
}

fn kibibytes(meminfo: &str, key: &str) -> Option<u64> {
    let rest = meminfo.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: u64 = rest.trim().trim_end_matches("kB").trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(target_arch = "x86_64")]
fn features() -> Vec<(&'static str, bool)> {
    vec![
        ("avx2", is_x86_feature_detected!("avx2")),
        ("fma", is_x86_feature_detected!("fma")),
        ("avx512f", is_x86_feature_detected!("avx512f")),
    ]
}

#[cfg(not(target_arch = "x86_64"))]
fn features() -> Vec<(&'static str, bool)> {
    Vec::new()
}
