//! Energies of water by other programs, for tests of both engines.

use crate::charges::ion;
use jostle_core::{SimBox, System, Vec3};
use jostle_potentials::{PairEntry, PairKind, PairTerm, Truncation};
use std::path::Path;

/// Results of another program for water: 648 atoms of SPC/E, those of a molecule excluded from each other.
pub struct Water {
    pub system: System,
    pub core: PairTerm,
    /// Total energies, and where known the virial.
    pub energy: f64,
    pub virial: Option<[f64; 6]>,
    pub forces: Vec<Vec3>,
}

/// Case from a folder of `shared/reference`, if it is there. Lengths are in angstrom or nm, `coulomb` is the
/// constant of the engine.
pub fn water(case: &str, nm: bool) -> Option<Water> {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/reference"));
    if !root.exists() {
        println!("skipped: there is no {}", root.display());
        return None;
    }
    let read = |file: &str| std::fs::read_to_string(root.join(case).join(file)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&read("reference.json")).unwrap();
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let edge = if nm { 1.852757 } else { 18.52757 };
    let species = vec![ion("O", -0.8476), ion("H", 0.4238)];
    let mut system = System::new(SimBox::orthorhombic([edge; 3]).unwrap(), species);
    let mut forces = Vec::new();
    for line in read("forces.txt").lines().filter(|line| !line.starts_with('#')) {
        let numbers: Vec<f64> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        let n = numbers.len();
        let id = system.state.len() as u32;
        system.state.push(u16::from(!id.is_multiple_of(3)), [numbers[n - 6], numbers[n - 5], numbers[n - 4]]);
        forces.push([numbers[n - 3], numbers[n - 2], numbers[n - 1]]);
    }
    let molecules = 0..system.state.len() as u32 / 3;
    system.topology.excluded =
        molecules.flat_map(|m| [[3 * m, 3 * m + 1], [3 * m, 3 * m + 2], [3 * m + 1, 3 * m + 2]]).collect();
    let mut core = PairTerm::new(PairKind::LennardJones, Truncation::Plain, 2);
    let (parameters, cutoff) =
        if nm { (vec![0.1553 * 4.184, 0.3166], 0.9) } else { (vec![0.1553, 3.166], 9.0) };
    core.set(0, 0, PairEntry { parameters, cutoff });
    let (energy, virial) = match nm {
        true => (number(&json["potential_energy_total"]), None),
        false => {
            let virial = &json["virial_W_tensor_energy_units"];
            (number(&json["energies"]["pe"]), Some(std::array::from_fn(|k| number(&virial[k]))))
        }
    };
    Some(Water { system, core, energy, virial, forces })
}
