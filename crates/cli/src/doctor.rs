//! `jostle doctor`

use crate::arguments::Doctor;
use crate::example;
use crate::machine::Machine;
use crate::numbers::bytes;
use crate::output;
use jostle_core::{Algorithm, Precision, Result, Settings, Vec3};
use jostle_engine::model::{AtomsInput, DeviceInput};
use jostle_engine::{SinglePoint, single_point, system_from_input};
use serde_json::json;
use std::fmt::Write as _;

/// Atoms of the self-test.
const ATOMS: usize = 1500;

/// The largest deviation from the reference that is rounding.
struct Tolerance {
    /// Of the energy, relative.
    energy: f64,
    /// Of the forces: the median of the relative deviations.
    force: f64,
}

/// The fast engine against the plain reference, in one precision.
struct Comparison {
    precision: &'static str,
    device: String,
    energy: f64,
    force: f64,
    tolerance: Tolerance,
}

impl Comparison {
    fn passed(&self) -> bool {
        self.energy < self.tolerance.energy && self.force < self.tolerance.force
    }
}

/// Prints what this machine offers and whether the fast engine computes what the reference does.
///
/// # Errors
/// If the self-test cannot run.
pub fn doctor(options: &Doctor) -> Result<bool> {
    let machine = Machine::look();
    let comparisons = [
        compare("mixed", Precision::Mixed, Tolerance { energy: 1e-6, force: 3e-6 })?,
        compare("double", Precision::Double, Tolerance { energy: 1e-12, force: 1e-12 })?,
    ];
    let passed = comparisons.iter().all(Comparison::passed);
    if options.format.json {
        let tests: Vec<_> = comparisons
            .iter()
            .map(|c| {
                json!({
                    "precision": c.precision,
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
            "self_test": { "passed": passed, "comparisons": tests },
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
    line("engine", &comparisons[0].device);
    for c in &comparisons {
        let verdict = if c.passed() { "passed" } else { "FAILED" };
        line(
            "self-test",
            &format!(
                "{verdict} in {} precision: energy off by {:.1e}, forces by {:.1e} (median)",
                c.precision, c.energy, c.force
            ),
        );
    }
    output::print(&text)?;
    Ok(passed)
}

/// Computes a mixture of Lennard-Jones atoms at random places twice.
fn compare(name: &'static str, precision: Precision, tolerance: Tolerance) -> Result<Comparison> {
    let fast = compute(Settings { precision, ..Settings::default() })?;
    let plain =
        Settings { precision: Precision::Double, algorithm: Algorithm::Reference, ..Settings::default() };
    let reference = compute(plain)?;
    let (energy, truth) = (fast.thermo.potential, reference.thermo.potential);
    let mut deviations: Vec<_> = fast
        .forces
        .iter()
        .zip(&reference.forces)
        .map(|(a, b)| distance(a, b) / distance(b, &[0.0; 3]))
        .collect();
    deviations.sort_by(f64::total_cmp);
    Ok(Comparison {
        precision: name,
        device: fast.device,
        energy: ((energy - truth) / truth).abs(),
        force: deviations[deviations.len() / 2],
        tolerance,
    })
}

fn compute(settings: Settings) -> Result<SinglePoint> {
    let mut input = example::KOB_ANDERSEN.input()?;
    if let AtomsInput::Random { atoms, .. } = &mut input.system.atoms.value {
        *atoms = ATOMS;
    }
    let (system, terms) = system_from_input(&input)?;
    single_point(input.units, system, terms, DeviceInput::Auto, settings)
}

fn distance(a: &Vec3, b: &Vec3) -> f64 {
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
}
