//! Facts about this machine.

use jostle_io::memory;
use serde_json::{Value, json};
use std::fs;

/// Processors and memory of this machine.
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
    /// Total memory in bytes, where the system tells.
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
        Machine {
            processor,
            cores: std::thread::available_parallelism().map_or(1, |n| n.get()),
            features: features(),
            memory_available: memory::available(),
            memory_total: memory::total(),
        }
    }

    /// Facts as JSON.
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
