//! `jostle doctor`

use crate::arguments::DoctorOptions;
use crate::doctor_mpi::{MpiFacts, messages};
use crate::example;
use crate::machine::Machine;
use crate::numbers::bytes;
use crate::output;
use crate::slurm;
use jostle_core::{Algorithm, Error, Precision, Result, Settings, Vec3};
use jostle_engine::device::{CacheFacts, CompilerFacts, DriverFacts, GpuFacts, Link, gpu_facts};
use jostle_engine::model::{AtomsInput, DeviceInput, GpuSet, Gpus};
use jostle_engine::{SinglePoint, single_point, system_from_input};
use jostle_io::input::NamedChoice;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Atoms of the self-test.
const ATOMS: usize = 1500;

/// The largest deviation from the reference that is rounding.
#[derive(Clone, Copy)]
struct Tolerance {
    /// Relative deviation of the energy.
    energy: f64,
    /// Median of the relative deviations of forces.
    force: f64,
}

const MIXED: Tolerance = Tolerance { energy: 1e-6, force: 3e-6 };
const DOUBLE: Tolerance = Tolerance { energy: 1e-12, force: 1e-12 };

/// A fast engine against the plain reference, in one precision.
struct EngineComparison {
    precision: Precision,
    device: String,
    energy: f64,
    force: f64,
    tolerance: Tolerance,
}

impl EngineComparison {
    fn passed(&self) -> bool {
        self.energy < self.tolerance.energy && self.force < self.tolerance.force
    }
}

/// Prints what this machine offers and whether its fast engines compute what the reference does.
///
/// # Errors
/// If that cannot be printed.
pub fn doctor(options: &DoctorOptions) -> Result<bool> {
    if options.messages {
        messages()?;
        return Ok(true);
    }
    let machine = Machine::look();
    let gpu = gpu_facts();
    if options.slurm {
        let gpus = gpu.driver.as_ref().map_or(0, |driver| driver.gpus.len());
        output::print(&slurm::script(machine.cores, gpus))?;
        return Ok(true);
    }
    let mpi = MpiFacts::look();
    let (comparisons, failures) = self_tests(&gpu);
    let passed = comparisons.iter().all(EngineComparison::passed) && failures.is_empty() && mpi.passed();
    if options.format.json {
        let tests: Vec<_> = comparisons
            .iter()
            .map(|c| {
                json!({
                    "precision": c.precision.name(),
                    "device": c.device,
                    "energy_deviation": c.energy,
                    "median_force_deviation": c.force,
                    "passed": c.passed(),
                })
            })
            .collect();
        output::print_json(&json!({
            "jostle": env!("CARGO_PKG_VERSION"),
            "machine": machine.to_json(),
            "gpu": gpu_json(&gpu),
            "mpi": mpi.json(),
            "self_test": { "passed": passed, "comparisons": tests, "failures": failures },
        }))?;
        return Ok(passed);
    }
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<12}{value}");
    };
    line("jostle", env!("CARGO_PKG_VERSION"));
    line("processor", machine.processor.as_deref().unwrap_or("unknown"));
    line("cores", &machine.cores.to_string());
    let there =
        machine.features.iter().map(|(name, there)| format!("{name} {}", if *there { "yes" } else { "no" }));
    line("features", &there.collect::<Vec<_>>().join(", "));
    if let (Some(available), Some(total)) = (machine.memory_available, machine.memory_total) {
        line("memory", &format!("{} of {} free", bytes(available), bytes(total)));
    }
    for (name, fact) in gpu_lines(&gpu) {
        line(&name, &fact);
    }
    for (name, fact) in mpi.lines() {
        line(name, &fact);
    }
    for c in &comparisons {
        let verdict = if c.passed() { "passed" } else { "FAILED" };
        line(
            "self-test",
            &format!(
                "{verdict} on {}: energy off by {:.1e}, forces by {:.1e} (median)",
                c.device, c.energy, c.force
            ),
        );
    }
    for failure in &failures {
        line("self-test", &format!("FAILED: {failure}"));
    }
    output::print(&text)?;
    Ok(passed)
}

/// Self-tests of the CPU, of every GPU, and of every pair of linked GPUs, and errors of those that could not run.
fn self_tests(gpu: &GpuFacts) -> (Vec<EngineComparison>, Vec<String>) {
    let gpus = gpu.driver.as_ref().map_or(0, |driver| driver.gpus.len());
    // Missing parts are shown as such; a GPU that is there and ready must compute.
    let ready = if gpu.compiler.is_ok() { gpus } else { 0 };
    let devices = (0..ready).map(DeviceInput::gpu);
    let (mut comparisons, mut failures) = (Vec::new(), Vec::new());
    let both = [(Precision::Mixed, MIXED), (Precision::Double, DOUBLE)];
    let alone =
        [DeviceInput::Cpu].into_iter().chain(devices).flat_map(|device| both.map(|how| (device, how)));
    let links = gpu.driver.iter().filter(|_| ready > 0).flat_map(|driver| &driver.links);
    let pairs = links.filter(|link| link.linked).map(|link| (pair(link), both[0]));
    for (device, (precision, tolerance)) in alone.chain(pairs) {
        match compare(device, precision, tolerance) {
            Ok(comparison) => comparisons.push(comparison),
            Err(error) => failures.push(error.to_string()),
        }
    }
    (comparisons, failures)
}

/// Two GPUs as one device.
fn pair(link: &Link) -> DeviceInput {
    let [a, b] = link.gpus.map(GpuSet::one);
    DeviceInput::Cuda(Gpus::Chosen(a.and(b)))
}

/// Computes a mixture of Lennard-Jones atoms at random places twice.
fn compare(device: DeviceInput, precision: Precision, tolerance: Tolerance) -> Result<EngineComparison> {
    let fast = compute(device, Settings { precision, ..Settings::default() })?;
    let plain =
        Settings { precision: Precision::Double, algorithm: Algorithm::Reference, ..Settings::default() };
    let reference = compute(DeviceInput::Cpu, plain)?;
    let (energy, truth) = (fast.thermo.potential, reference.thermo.potential);
    let mut deviations: Vec<_> = fast
        .forces
        .iter()
        .zip(&reference.forces)
        .map(|(a, b)| distance(a, b) / distance(b, &Vec3::ZERO))
        .collect();
    deviations.sort_by(f64::total_cmp);
    Ok(EngineComparison {
        precision,
        device: fast.device,
        energy: ((energy - truth) / truth).abs(),
        force: deviations[deviations.len() / 2],
        tolerance,
    })
}

fn compute(device: DeviceInput, settings: Settings) -> Result<SinglePoint> {
    let mut input = example::KOB_ANDERSEN.input()?;
    if let AtomsInput::Random { atoms, .. } = &mut input.system.atoms.value {
        *atoms = ATOMS;
    }
    let (system, forces) = system_from_input(&input)?;
    single_point(input.units, system, forces, device, settings)
}

/// Parts needed for running on a GPU: those present and those missing.
fn gpu_lines(gpu: &GpuFacts) -> Vec<(String, String)> {
    let missing = |error: &Error| match error.help() {
        Some(help) => format!("{} ({help})", error.message()),
        None => error.message().to_string(),
    };
    let mut lines = Vec::new();
    let mut line = |name: &str, fact: String| lines.push((name.to_string(), fact));
    match &gpu.driver {
        Ok(driver) => {
            let release = driver.release.as_deref().unwrap_or("of an unknown release");
            line("driver", format!("NVIDIA {release}, up to CUDA {}", driver.cuda));
            for (index, gpu) in driver.gpus.iter().enumerate() {
                let memory = bytes(gpu.memory as u64);
                let rest = format!("{}, {memory}, {} multiprocessors", gpu.architecture, gpu.multiprocessors);
                line(&format!("cuda:{index}"), format!("{}, {rest}", gpu.name));
            }
            for Link { gpus: [a, b], linked } in &driver.links {
                let fact = match linked {
                    true => "linked: they use each other's memory",
                    false => "not linked: no run can be divided between them (nvidia-smi topo -p2p rw)",
                };
                line(&format!("cuda:{a},{b}"), fact.into());
            }
        }
        Err(error) => line("driver", missing(error)),
    }
    match &gpu.compiler {
        Ok(nvrtc) => line("NVRTC", format!("{}, {}", nvrtc.version, nvrtc.path.display())),
        Err(error) => line("NVRTC", missing(error)),
    }
    match &gpu.cache {
        Ok(cache) => {
            let folder = cache.folder.display();
            line("kernels", format!("{} compiled, {}, in {folder}", cache.files, bytes(cache.bytes)));
        }
        Err(error) => line("kernels", missing(error)),
    }
    lines
}

/// Facts as JSON.
fn gpu_json(gpu: &GpuFacts) -> Value {
    let missing = |error: &Error| json!({ "missing": error.message(), "hint": error.help() });
    let driver = |driver: &DriverFacts| {
        let gpus: Vec<_> = driver
            .gpus
            .iter()
            .map(|gpu| {
                json!({
                    "name": gpu.name,
                    "architecture": gpu.architecture,
                    "memory": gpu.memory,
                    "multiprocessors": gpu.multiprocessors,
                })
            })
            .collect();
        let links: Vec<_> =
            driver.links.iter().map(|link| json!({ "gpus": link.gpus, "linked": link.linked })).collect();
        json!({ "release": driver.release, "cuda": driver.cuda.to_string(), "gpus": gpus, "links": links })
    };
    let compiler =
        |nvrtc: &CompilerFacts| json!({ "version": nvrtc.version.to_string(), "path": nvrtc.path });
    let cache =
        |cache: &CacheFacts| json!({ "folder": cache.folder, "files": cache.files, "bytes": cache.bytes });
    json!({
        "driver": gpu.driver.as_ref().map_or_else(missing, driver),
        "nvrtc": gpu.compiler.as_ref().map_or_else(missing, compiler),
        "cache": gpu.cache.as_ref().map_or_else(missing, cache),
    })
}

fn distance(a: &Vec3, b: &Vec3) -> f64 {
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
}
