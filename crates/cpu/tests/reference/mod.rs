//! Energies, virials and forces of other programs, with tolerances.
//!
//! Two sets: `data/pair_styles.json`, made by `data/pair_styles.py` with LAMMPS; and the folder
//! `shared/reference` beside the repository, where it exists.

use jostle_core::{Backend, Evaluate, Precision, SimBox, Species, SymTensor, System, Vec3};
use jostle_potentials::{Mixing, PairChoice, PairKind, PairTerm, PairTermBuilder, Truncation};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// A configuration, a force, and the results of another program.
pub struct Case {
    pub name: String,
    pub system: System,
    pub term: PairTerm,
    pub energy: f64,
    pub virial: SymTensor,
    /// Forces in the order of ids.
    pub forces: Vec<Vec3>,
}

fn species(n: usize) -> Vec<Species> {
    (1..=n).map(|k| Species { name: k.to_string(), mass: 1.0, charge: 0.0 }).collect()
}

/// A term of species "1", "2", ... with a common cut-off.
fn term(
    species: &[Species],
    (kind, truncation): (PairKind, Truncation),
    cutoff: Option<f64>,
    pairs: &[([&str; 2], Vec<f64>)],
    mixing: Option<Mixing>,
    tail_correction: bool,
) -> PairTerm {
    let mut builder = PairTermBuilder::new(kind, truncation, species, 1.0);
    if let Some(cutoff) = cutoff {
        builder = builder.cutoff(cutoff);
    }
    if let Some(rule) = mixing {
        builder = builder.mixing(rule);
    }
    if tail_correction {
        builder = builder.tail_correction();
    }
    for (names, parameters) in pairs {
        let parameters = parameters.iter().copied().map(Some).collect();
        builder = builder.pair(*names, PairChoice::Given { parameters, cutoff: None }).unwrap();
    }
    builder.build().unwrap()
}

/// The cases under `shared/reference`; none, with a message, if the folder is absent.
pub fn shared_cases() -> Vec<Case> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/reference"));
    if !root.exists() {
        println!("skipped: there is no {}", root.display());
        return Vec::new();
    }
    let lj = vec![(["1", "1"], vec![1.0, 1.0]), (["2", "2"], vec![0.6, 0.8])];
    let binary = |truncation, tail| {
        let rule = Some(Mixing::LorentzBerthelot);
        term(&species(2), (PairKind::LennardJones, truncation), Some(2.5), &lj, rule, tail)
    };
    let single = |kind, truncation, cutoff, parameters: &[f64]| {
        term(&species(1), (kind, truncation), cutoff, &[(["1", "1"], parameters.to_vec())], None, false)
    };
    let cases = [
        ("01_lj_binary_trunc", binary(Truncation::Plain, false)),
        ("01b_lj_binary_shift", binary(Truncation::Shifted, false)),
        ("01c_lj_binary_tail", binary(Truncation::Plain, true)),
        ("01d_lj_binary_triclinic", binary(Truncation::Plain, false)),
        ("01e_lj_binary_force_shifted", binary(Truncation::ForceShifted, false)),
        ("02_wca", single(PairKind::SoftSphere, Truncation::Plain, None, &[1.0, 1.0])),
        ("03_yukawa", single(PairKind::Yukawa, Truncation::Plain, Some(6.0), &[1.0, 1.0])),
        ("03b_yukawa_shift", single(PairKind::Yukawa, Truncation::Shifted, Some(4.0), &[1.0, 0.5])),
    ];
    cases.into_iter().map(|(name, term)| shared_case(root, name, term)).collect()
}

fn shared_case(root: &Path, name: &str, term: PairTerm) -> Case {
    let read = |file: &str| fs::read_to_string(root.join(name).join(file)).unwrap();
    let reference: Value = serde_json::from_str(&read("reference.json")).unwrap();
    let mut system = System::new(simbox(&read("input.data")), species(term.n_species()));
    let mut forces = Vec::new();
    // Lines of forces.txt: id type x y z fx fy fz, in the order of ids.
    for line in read("forces.txt").lines().filter(|line| !line.starts_with('#')) {
        let numbers: Vec<f64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        system.state.push(numbers[1] as u16 - 1, [numbers[2], numbers[3], numbers[4]]);
        forces.push([numbers[5], numbers[6], numbers[7]]);
    }
    Case {
        name: name.to_string(),
        system,
        term,
        energy: reference["energies"]["pe"].as_f64().unwrap(),
        virial: array(&reference["virial_W_tensor_energy_units"]),
        forces,
    }
}

/// The box in the header of a LAMMPS data file.
fn simbox(data: &str) -> SimBox {
    let header = |keyword: &str| -> Option<Vec<f64>> {
        let numbers = data.lines().find_map(|line| line.trim().strip_suffix(keyword))?;
        Some(numbers.split_whitespace().map(|word| word.parse().unwrap()).collect())
    };
    let bounds = ["xlo xhi", "ylo yhi", "zlo zhi"].map(|keyword| header(keyword).unwrap());
    let origin = std::array::from_fn(|k| bounds[k][0]);
    let lengths = std::array::from_fn(|k| bounds[k][1] - bounds[k][0]);
    let tilts = header("xy xz yz").map_or([0.0; 3], |t| [t[0], t[1], t[2]]);
    SimBox::new(origin, lengths, tilts, [true; 3]).unwrap()
}

fn array<const N: usize>(value: &Value) -> [f64; N] {
    std::array::from_fn(|k| value[k].as_f64().unwrap())
}

fn list(value: &Value) -> &[Value] {
    value.as_array().unwrap()
}

/// The cases of `data/pair_styles.json`.
pub fn own_cases() -> Vec<Case> {
    let file: Value = serde_json::from_str(include_str!("../data/pair_styles.json")).unwrap();
    let simbox = SimBox::new([0.0; 3], array(&file["lengths"]), array(&file["tilts"]), [true; 3]).unwrap();
    let mut system = System::new(simbox, species(2));
    for (kind, position) in list(&file["types"]).iter().zip(list(&file["positions"])) {
        system.state.push(kind.as_u64().unwrap() as u16 - 1, array(position));
    }
    let cases = list(&file["cases"]).iter().map(|case| {
        let kind = PairKind::from_name(case["kind"].as_str().unwrap()).unwrap();
        let truncation = match case["truncation"].as_str().unwrap() {
            "plain" => Truncation::Plain,
            "shifted" => Truncation::Shifted,
            other => panic!("truncation {other}"),
        };
        let mixing = Mixing::ALL.into_iter().find(|rule| case["mixing"] == rule.name());
        let names = [["1", "1"], ["2", "2"], ["1", "2"]];
        let parameters = list(&case["parameters"])
            .iter()
            .map(|pair| list(pair).iter().map(|value| value.as_f64().unwrap()).collect());
        let pairs: Vec<_> = names.into_iter().zip(parameters).collect();
        let tail = case["tail"] == true;
        let term = term(&system.species, (kind, truncation), case["cutoff"].as_f64(), &pairs, mixing, tail);
        Case {
            name: format!("{} {} {:?} tail {tail}", kind.name(), truncation.name(), mixing),
            system: system.clone(),
            term,
            energy: case["energy"].as_f64().unwrap(),
            virial: array(&case["virial"]),
            forces: list(&case["forces"]).iter().map(array).collect(),
        }
    });
    cases.collect()
}

fn norm(v: Vec3) -> f64 {
    v.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.map(f64::abs).fold(0.0, f64::max)
}

impl Case {
    /// Compares the results of a device for the case, in a precision.
    pub fn check(&self, device: &mut dyn Backend, precision: Precision) {
        device.update_neighbors().unwrap();
        device.compute_forces(Evaluate::ForcesAndEnergies).unwrap();

        let what = format!("{} by {}", self.name, device.describe());
        let (energy, virial) = (device.energies().potential(), device.energies().virial);
        let state = device.state().unwrap();
        let errors: Vec<f64> = state
            .index_by_id()
            .iter()
            .zip(&self.forces)
            .map(|(&index, reference)| {
                let force = state.force[index];
                norm(std::array::from_fn(|k| force[k] - reference[k]))
            })
            .collect();
        let energy_error = (energy / self.energy - 1.0).abs();
        let virial_error = largest(virial.iter().zip(&self.virial).map(|(a, b)| a - b))
            / largest(self.virial.iter().copied());
        match precision {
            Precision::Double => {
                let square: f64 = self.forces.iter().map(|f| norm(*f).powi(2)).sum();
                let rms = (square / self.forces.len() as f64).sqrt();
                let force_error = largest(errors.into_iter()) / rms;
                assert!(energy_error < 1e-10, "{what}: energy {energy} is not {}", self.energy);
                assert!(virial_error < 1e-9, "{what}: virial {virial:?} is not {:?}", self.virial);
                assert!(force_error < 1e-8, "{what}: forces differ by {force_error:e} of their rms");
            }
            Precision::Mixed => {
                // Atoms that touch no other have no force to compare with.
                let mut relative: Vec<f64> = errors
                    .iter()
                    .zip(&self.forces)
                    .filter(|(_, f)| norm(**f) > 0.0)
                    .map(|(error, f)| error / norm(*f))
                    .collect();
                relative.sort_by(f64::total_cmp);
                let median = relative[relative.len() / 2];
                assert!(energy_error < 1e-6, "{what}: energy {energy} is not {}", self.energy);
                assert!(virial_error < 3e-6, "{what}: virial {virial:?} is not {:?}", self.virial);
                assert!(median < 3e-6, "{what}: the median relative error of a force is {median:e}");
            }
        }
    }
}
