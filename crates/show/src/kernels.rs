//! Profile of a GPU in a stage, `STAGE.profile.json`, as a table of a report.

use crate::html::escape;
use jostle_engine::summary::rounded;
use serde::Deserialize;
use std::fmt::Write as _;
use std::path::Path;

/// Profile of some steps, as [`jostle_engine::kernel_profile::StepProfile`] is written.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct KernelTable {
    steps: u64,
    kernels: Vec<Kernel>,
    lists: Vec<List>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Kernel {
    name: String,
    launches_per_step: f64,
    seconds_per_step: f64,
    blocks: f64,
    threads: u32,
    registers: u32,
    spilled_bytes: u32,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct List {
    of: String,
    lists: u64,
    mean: f64,
    most: u64,
    room: u64,
}

impl KernelTable {
    /// Profile of a stage in the folder of its run; `None` where there is none.
    pub fn of_stage(folder: &Path, stage: &str) -> Option<Self> {
        let text = std::fs::read_to_string(folder.join(format!("{stage}.profile.json"))).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Kernels and lists as HTML.
    pub fn html(&self) -> String {
        let all: f64 = self.kernels.iter().map(|kernel| kernel.seconds_per_step).sum();
        let mut out = format!(
            "<h4>Where the GPU's time goes</h4><p class=\"hint\">{} steps, each kernel alone on the GPU: {} µs a step. As steps \
             run, kernels are beside each other.</p><div class=\"wide\"><table class=\"numbers\"><thead><tr><th>kernel</th>\
             <th>launches a step</th><th>µs each</th><th>µs a step</th><th>share</th><th>blocks × threads</th>\
             <th>registers</th></tr></thead><tbody>",
            self.steps,
            microseconds(all)
        );
        for k in &self.kernels {
            let spilled =
                if k.spilled_bytes > 0 { format!(" + {} B", k.spilled_bytes) } else { String::new() };
            let _ = write!(
                out,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.1} %</td><td>{:.0} × {}</td><td>{}{spilled}</td></tr>",
                escape(&k.name),
                short(k.launches_per_step),
                microseconds(k.seconds_per_step / k.launches_per_step),
                microseconds(k.seconds_per_step),
                100.0 * k.seconds_per_step / all.max(f64::MIN_POSITIVE),
                k.blocks,
                k.threads,
                k.registers,
            );
        }
        out.push_str("</tbody></table></div>");
        for List { of, lists, mean, most, room } in &self.lists {
            let _ = write!(
                out,
                "<p class=\"hint\">{}: {} on average of {lists}, at most {most}, with room for {room}.</p>",
                escape(of),
                short(*mean)
            );
        }
        out
    }
}

fn microseconds(seconds: f64) -> String {
    short(1e6 * seconds)
}

/// Number to three digits.
fn short(x: f64) -> String {
    rounded(format!("{x:.2e}").parse().unwrap_or(x))
}
