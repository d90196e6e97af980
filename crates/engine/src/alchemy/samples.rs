//! Samples of the energies of all windows as text, in the layout of GROMACS' dhdl.xvg: kJ/mol, ps and K, which
//! alchemlyb, pymbar and `jostle analyze free-energy` read.

use super::charges::ChargeForm;
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
    /// Windows, of each the state of the molecule or of both parts.
    pub windows: Vec<Vec<Window>>,
    pub window: usize,
}

impl Path {
    /// The window of the run.
    pub fn own(&self) -> &[Window] {
        &self.windows[self.window]
    }

    /// Coupling parameters of Lennard-Jones forces of a part in all windows.
    pub fn lennard_jones(&self, part: usize) -> Vec<f64> {
        self.windows.iter().map(|window| window[part].lennard_jones).collect()
    }
}

/// Names of the coupling parameters of the molecule or of the part that disappears, and of the part that appears.
const NAMES: [[&str; 2]; 2] = [["coul", "vdw"], ["coul-appearing", "vdw-appearing"]];

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
    /// Energy of charges; `None` where there are none.
    pub charges: Option<ChargeForm>,
    /// Lennard-Jones energies of each part in all windows.
    pub pairs: Vec<CouplingEnergies>,
}

impl Sample {
    /// Energy in a window.
    fn energy(&self, number: usize, window: &[Window]) -> f64 {
        let charges = self.charges.as_ref().map_or(0.0, |form| form.value(&factors(window)));
        charges + self.pairs.iter().map(|part| part.energies[number]).sum::<f64>()
    }

    /// Derivatives with the coupling parameters, in the window of the run.
    fn slopes(&self, own: &[Window]) -> Vec<f64> {
        let slope = |part: usize| self.charges.as_ref().map_or(0.0, |form| form.slope(&factors(own), part));
        let of_part = |(part, pairs): (usize, &CouplingEnergies)| [slope(part), pairs.slope];
        self.pairs.iter().enumerate().flat_map(of_part).collect()
    }
}

/// Factors of charges of a window.
fn factors(window: &[Window]) -> Vec<f64> {
    window.iter().map(|part| part.charges).collect()
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
        let slopes = sample.slopes(path.own());
        let here = sample.energy(path.window, path.own());
        let windows = path.windows.iter().enumerate();
        let differences = windows.map(|(number, window)| sample.energy(number, window) - here);
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
    let numbers = |window: &[Window]| -> Vec<f64> {
        window.iter().flat_map(|part| [part.charges, part.lennard_jones]).collect()
    };
    let state = |window: &[Window]| {
        let numbers: Vec<String> = numbers(window).into_iter().map(number).collect();
        format!("({})", numbers.join(", "))
    };
    let own = path.own();
    let names = NAMES[..own.len()].as_flattened();
    let full_names: Vec<String> = names.iter().map(|name| format!("{name}-lambda")).collect();
    let mut text =
        String::from("# Jostle: derivatives of the energy, and differences to the energies of all windows\n");
    text += "@    title \"dH/d\\xl\\f{} and \\xD\\f{}H\"\n@    xaxis  label \"Time (ps)\"\n";
    text += "@    yaxis  label \"dH/d\\xl\\f{} and \\xD\\f{}H (kJ/mol [\\xl\\f{}]\\S-1\\N)\"\n@TYPE xy\n";
    let _ = writeln!(
        text,
        "@ subtitle \"T = {:.10} (K) \\xl\\f{{}} state {}: ({}) = {}\"",
        units.temperature,
        path.window,
        full_names.join(", "),
        state(own)
    );
    let slopes = full_names.iter().zip(numbers(own));
    let slopes = slopes.map(|(name, x)| format!("dH/d\\xl\\f{{}} {name} = {}", number(x)));
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
