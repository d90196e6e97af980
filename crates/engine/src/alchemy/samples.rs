//! Samples of the energies of all windows as text, in the layout of GROMACS' dhdl.xvg: kJ/mol, ps and K, which
//! alchemlyb, pymbar and `jostle analyze free-energy` read.

use crate::run_files::stage_file;
use jostle_core::{Dimension, UnitSystem};
use jostle_potentials::alchemy::{CouplingEnergies, Window};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Units of the files: kJ/mol and K.
const OF_FILES: UnitSystem = UnitSystem::Nano;

/// The windows of a path, and that of the run.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    pub windows: Vec<Window>,
    pub window: usize,
}

impl Path {
    /// The window of the run.
    pub fn own(&self) -> Window {
        self.windows[self.window]
    }

    /// Coupling parameters of Lennard-Jones forces in all windows.
    pub fn lennard_jones(&self) -> Vec<f64> {
        self.windows.iter().map(|window| window.lennard_jones).collect()
    }
}

/// Units of a file with samples. Reduced units have none: their unit of energy is taken for 1 kJ/mol, of time for 1 ps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ThermalUnits {
    /// Temperature in K.
    temperature: f64,
    /// Unit of energy in kJ/mol.
    energy: f64,
}

impl ThermalUnits {
    /// Units of a file about samples at a temperature.
    pub fn new(units: UnitSystem, temperature: f64) -> Self {
        let joule = |units: UnitSystem| units.from_si(Dimension::ENERGY);
        let energy = joule(OF_FILES).zip(joule(units)).map_or(1.0, |(of_files, here)| of_files / here);
        ThermalUnits { temperature: units.boltzmann() * temperature * energy / OF_FILES.boltzmann(), energy }
    }
}

/// Energies of one configuration.
pub struct Sample {
    /// Energies of charges at the factors 0, 1/2 and 1; `None` where the molecule has none.
    pub charges: Option<[f64; 3]>,
    /// Lennard-Jones energies in all windows.
    pub pairs: CouplingEnergies,
}

impl Sample {
    /// Energy of charges at a factor, by the parabola through all three.
    fn charge_energy(&self, x: f64) -> f64 {
        let [a, b, c] = self.charges.unwrap_or_default();
        a * (1.0 - x) * (1.0 - 2.0 * x) + 4.0 * b * x * (1.0 - x) + c * x * (2.0 * x - 1.0)
    }

    /// Its derivative.
    fn charge_slope(&self, x: f64) -> f64 {
        let [a, b, c] = self.charges.unwrap_or_default();
        a * (4.0 * x - 3.0) + 4.0 * b * (1.0 - 2.0 * x) + c * (4.0 * x - 1.0)
    }
}

/// Samples of a stage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StageSamples {
    stage: String,
    file: String,
    /// Unit of energy in kJ/mol.
    energy_unit: f64,
    rows: usize,
    text: String,
}

impl StageSamples {
    /// No samples yet of the stage of this number and name.
    pub fn new(index: usize, stage: &str, path: &Path, units: &ThermalUnits) -> Self {
        StageSamples {
            stage: stage.into(),
            file: format!("{}.dhdl.xvg", stage_file(index, stage)),
            energy_unit: units.energy,
            rows: 0,
            text: header(path, units),
        }
    }

    /// Name of the stage.
    pub fn stage(&self) -> &str {
        &self.stage
    }

    /// Name and text of the file; `None` without samples.
    pub fn file(&self) -> Option<(String, String)> {
        (self.rows > 0).then(|| (self.file.clone(), self.text.clone()))
    }

    /// Adds a sample, taken at a time in ps.
    pub fn push(&mut self, time: f64, path: &Path, sample: &Sample) {
        let own = path.own();
        let slopes = [sample.charge_slope(own.charges), sample.pairs.slope];
        let here = sample.charge_energy(own.charges) + sample.pairs.energies[path.window];
        let energies = path.windows.iter().zip(&sample.pairs.energies);
        let differences = energies.map(|(window, pairs)| sample.charge_energy(window.charges) + pairs - here);
        let _ = write!(self.text, "{time:.6}");
        for energy in slopes.into_iter().chain(differences) {
            let _ = write!(self.text, " {:.8e}", energy * self.energy_unit);
        }
        self.text.push('\n');
        self.rows += 1;
    }
}

/// Lines that say what the columns are.
fn header(path: &Path, units: &ThermalUnits) -> String {
    let state = |w: &Window| format!("({}, {})", number(w.charges), number(w.lennard_jones));
    let own = path.own();
    let mut text =
        String::from("# Jostle: derivatives of the energy, and differences to the energies of all windows\n");
    text += "@    title \"dH/d\\xl\\f{} and \\xD\\f{}H\"\n@    xaxis  label \"Time (ps)\"\n";
    text += "@    yaxis  label \"dH/d\\xl\\f{} and \\xD\\f{}H (kJ/mol [\\xl\\f{}]\\S-1\\N)\"\n@TYPE xy\n";
    let _ = writeln!(
        text,
        "@ subtitle \"T = {:.10} (K) \\xl\\f{{}} state {}: (coul-lambda, vdw-lambda) = {}\"",
        units.temperature,
        path.window,
        state(&own)
    );
    let slopes = [("coul", own.charges), ("vdw", own.lennard_jones)];
    let slopes = slopes.iter().map(|(name, x)| format!("dH/d\\xl\\f{{}} {name}-lambda = {}", number(*x)));
    let differences = path.windows.iter().map(|w| format!("\\xD\\f{{}}H \\xl\\f{{}} to {}", state(w)));
    for (k, legend) in slopes.chain(differences).enumerate() {
        let _ = writeln!(text, "@ s{k} legend \"{legend}\"");
    }
    text
}

/// Coupling parameter with four digits or more.
fn number(x: f64) -> String {
    let (short, exact) = (format!("{x:.4}"), format!("{x}"));
    if exact.len() > short.len() { exact } else { short }
}
