//! Molecules with virtual sites: against OpenMM, and in a run.

use jostle_core::{Precision, Settings, UnitSystem, Vector};
use jostle_engine::model::DeviceInput;
use jostle_engine::{Overrides, Simulation, single_point, system_from_input};
use jostle_io::Input;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn data(name: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sites")).join(name)
}

/// TIP4P-Ew, whose fourth site is in the plane of the molecule, and TIP5P, whose last two sites are not, with
/// Ewald's sum (`tests/external/make_sites_reference.py`).
#[test]
fn energies_and_forces_are_those_of_openmm() {
    for name in ["four", "five"] {
        let text = format!(
            "units = \"nano\"\n[system]\ntopology = \"{name}.xml\"\ncoordinates = \"{name}.xyz\"\n\
             [[force]]\nkind = \"lennard-jones\"\ncutoff = 0.9\n\
             [electrostatics]\nkind = \"ewald\"\naccuracy = 1e-10\n[run]\nprecision = \"double\"\n\
             [[stage]]\nname = \"one\"\nsteps = 1\ntimestep = 0.001\n"
        );
        let input = Input::parse(&data("input.toml"), &text).unwrap();
        let (system, forces) = system_from_input(&input).unwrap();
        let settings = Settings { precision: Precision::Double, ..Settings::default() };
        let sites: Vec<u32> = system.topology.virtual_sites.iter().map(|v| v.site).collect();
        let found = single_point(UnitSystem::Nano, system, forces, DeviceInput::Cpu, settings).unwrap();
        let values: Value =
            serde_json::from_str(&fs::read_to_string(data(&format!("{name}.json"))).unwrap()).unwrap();
        let energy = values["energy"].as_f64().unwrap();
        let rows = fs::read_to_string(data(&format!("{name}.xyz"))).unwrap();
        let numbers = |row: &str| -> Vec<f64> {
            row.split_whitespace().skip(4).map(|word| word.parse().unwrap()).collect()
        };
        let known: Vec<Vec<f64>> = rows.lines().skip(2).map(numbers).collect();
        let (mut error, mut size) = (0.0, 0.0);
        for (id, (force, known)) in (0..).zip(found.forces.iter().zip(&known)) {
            if sites.contains(&id) {
                assert_eq!(*force, [0.0; 3]);
                continue;
            }
            for (a, b) in force.iter().zip(known) {
                error += (a - b).powi(2);
                size += b.powi(2);
            }
        }
        let (error, shift) = ((error / size).sqrt(), found.thermo.potential - energy);
        println!("{name}: energy {energy} + {shift:e}, forces {error:e}");
        assert!(error < 1e-8, "{name}: forces differ by {error:e}");
        // The total is small compared with the terms that cancel in it.
        assert!(shift.abs() < 1e-5, "{name}: {} is not {energy}", found.thermo.potential);
    }
}

/// A replicated box has the forces of the single box on every atom and its copy, and twice the energies.
#[test]
fn a_replicated_box_has_the_same_forces() {
    let point = |system: &str| {
        let text = format!(
            "units = \"nano\"\n[system]\ntopology = \"five.xml\"\ncoordinates = \"five.xyz\"\n{system}\n\
             [[force]]\nkind = \"lennard-jones\"\ncutoff = 0.9\ntail_correction = true\n\
             [electrostatics]\nkind = \"ewald\"\naccuracy = 1e-10\n[run]\nprecision = \"double\"\n\
             [[stage]]\nname = \"one\"\nsteps = 1\ntimestep = 0.001\n"
        );
        let input = Input::parse(&data("input.toml"), &text).unwrap();
        let (system, forces) = system_from_input(&input).unwrap();
        let settings = Settings { precision: Precision::Double, ..Settings::default() };
        single_point(UnitSystem::Nano, system, forces, DeviceInput::Cpu, settings).unwrap()
    };
    let (one, two) = (point(""), point("replicate = [1, 2, 1]"));
    assert_eq!(two.forces.len(), 2 * one.forces.len());
    let size = one.forces.iter().flatten().fold(0.0f64, |most, f| most.max(f.abs()));
    for (twice, once) in two.forces.iter().zip(one.forces.iter().cycle()) {
        for (a, b) in twice.iter().zip(once) {
            assert!((a - b).abs() < 1e-8 * size, "{a} {b}");
        }
    }
    let relative = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-8, "{a} {b}");
    relative(two.thermo.potential, 2.0 * one.thermo.potential);
    two.thermo.terms.iter().zip(&one.thermo.terms).for_each(|(a, b)| relative(*a, 2.0 * b));
    two.virial.iter().zip(&one.virial).take(3).for_each(|(a, b)| relative(*a, 2.0 * b));
}

/// Water of four sites built from an input (TIP4P/2005; J. L. F. Abascal and C. Vega, J. Chem. Phys. 123
/// (2005) 234505) has six degrees of freedom per molecule, and energy is conserved.
#[test]
fn water_of_four_sites_moves() {
    let text = "\
units = \"nano\"
[system]
place = \"water\"
molecules = 125
bond_length = 0.09572
bond_angle = 104.52
site_distance = 0.01546
density = \"0.99 g/cm3\"
temperature = 298
[species.O]
mass = 15.9994
[species.H]
mass = 1.008
charge = 0.5564
[species.M]
charge = -1.1128
[[force]]
kind = \"lennard-jones\"
cutoff = 0.7
truncation = \"force-shifted\"
pairs.\"O-O\" = { epsilon = \"93.2 K\", sigma = 0.31589 }
pairs.\"O-H\" = \"none\"
pairs.\"O-M\" = \"none\"
pairs.\"H-H\" = \"none\"
pairs.\"H-M\" = \"none\"
pairs.\"M-M\" = \"none\"
[electrostatics]
kind = \"pme\"
[run]
device = \"cpu\"
threads = 1
[[stage]]
name = \"settle\"
steps = 1500
timestep = 0.0005
thermostat = { kind = \"langevin\", temperature = 298, friction = 20 }
[[stage]]
name = \"sample\"
steps = 1000
timestep = 0.002
thermo = { every = 5 }
";
    let input = Input::parse(Path::new("tip4p.toml"), text).unwrap();
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    simulation.run().unwrap();
    let report = &simulation.reports()[1];
    assert_eq!(report.degrees_of_freedom, 6 * 125 - 3);
    let average = |quantity: &str| {
        let found = report.averages.iter().find(|a| a.quantity == quantity).unwrap();
        found.estimate.unwrap().mean
    };
    let drift = report.drift.as_ref().unwrap();
    println!("{} K, {} kJ/mol, {drift:?}", average("temperature"), average("potential") / 125.0);
    assert!((average("temperature") - 298.0).abs() < 40.0 && drift.of_kinetic.abs() < 5e-3, "{drift:?}");
    let no_site =
        text.replace("[species.M]\ncharge = -1.1128\n", "").replace("site_distance = 0.01546\n", "");
    let no_site = ["O", "H", "M"]
        .iter()
        .fold(no_site, |text, s| text.replace(&format!("pairs.\"{s}-M\" = \"none\"\n"), ""));
    for (text, wanted) in [
        (text.replace("[species.M]\n", "[species.M]\nmass = 1\n"), "fourth site of water, which has no mass"),
        (text.replace("site_distance = 0.01546\n", ""), "[species.M] needs a mass"),
        (no_site.replacen("bond_l", "site_distance = 0.01546\nbond_l", 1), "this water has three species"),
    ] {
        let built = Input::parse(Path::new("tip4p.toml"), &text).and_then(|input| system_from_input(&input));
        let error = built.map(drop).unwrap_err();
        assert!(error.message().contains(wanted), "{error}");
    }
}

/// Checks energies by term, forces and virial of molecules without a box against the values of OpenMM by
/// `make_sites_reference.py`; forces on virtual sites are zero.
fn agrees(topology: &str, name: &str, terms: &[(&str, &str)], tolerance: f64) {
    let text = format!(
        "units = \"nano\"\n[system]\n{topology}\ncoordinates = \"{name}.xyz\"\n\
         [run]\nprecision = \"double\"\n[[stage]]\nname = \"one\"\nsteps = 1\ntimestep = 0.001\n"
    );
    let input = Input::parse(&data("input.toml"), &text).unwrap();
    let (mut system, forces) = system_from_input(&input).unwrap_or_else(|e| panic!("{e}: {:?}", e.help()));
    let sites: Vec<u32> = system.topology.virtual_sites.iter().map(|v| v.site).collect();
    // Positions of virtual sites follow from those of atoms, not from the file.
    sites.iter().for_each(|site| system.state.position[*site as usize] = Vector([0.1, -0.3, 0.2]));
    let settings = Settings { precision: Precision::Double, ..Settings::default() };
    let found = single_point(UnitSystem::Nano, system, forces, DeviceInput::Cpu, settings).unwrap();
    let values: Value =
        serde_json::from_str(&fs::read_to_string(data(&format!("{name}.json"))).unwrap()).unwrap();
    for (wanted, names) in terms {
        let wanted = values["terms"][wanted].as_f64().unwrap();
        let of_term = |(term, energy): (&String, &f64)| {
            names.split('|').any(|name| term.starts_with(name)).then_some(*energy)
        };
        let energy: f64 = found.term_names.iter().zip(&found.thermo.terms).filter_map(of_term).sum();
        assert!((energy - wanted).abs() < tolerance, "{name}, {names}: {energy} is not {wanted}");
    }
    let energy = values["energy"].as_f64().unwrap();
    let potential = found.thermo.potential;
    assert!((potential - energy).abs() < tolerance, "{name}: {potential} is not {energy}");
    let rows = fs::read_to_string(data(&format!("{name}.xyz"))).unwrap();
    let numbers = |row: &str| -> Vec<f64> {
        row.split_whitespace().skip(1).map(|word| word.parse().unwrap()).collect()
    };
    let known: Vec<Vec<f64>> = rows.lines().skip(2).map(numbers).collect();
    assert_eq!(found.forces.len(), known.len());
    let size = known.iter().flat_map(|row| &row[3..]).fold(0.0f64, |most, f| most.max(f.abs()));
    let mut virial = [0.0; 3];
    for (id, (force, known)) in (0..).zip(found.forces.iter().zip(&known)) {
        if sites.contains(&id) {
            assert_eq!(*force, [0.0; 3]);
            continue;
        }
        for (axis, (f, wanted)) in force.iter().zip(&known[3..]).enumerate() {
            assert!((f - wanted).abs() < tolerance * size, "{name}, atom {}: {force:?} {known:?}", id + 1);
            virial[axis] += known[axis] * wanted;
        }
    }
    // The total force is zero, so that the virial is the sum of r f.
    for (axis, wanted) in virial.into_iter().enumerate() {
        let found = found.virial[axis];
        assert!((found - wanted).abs() < tolerance * size, "{name}: virial {found} is not {wanted}");
    }
}

/// The lone pairs of a PSF (COLINEAR, BISECTOR and RELATIVE), also as sites of OpenMM in local coordinates.
#[test]
fn lone_pairs_are_where_openmm_has_them() {
    let terms = [
        ("HarmonicBondForce", "bond_harmonic"),
        ("HarmonicAngleForce", "angle_harmonic"),
        ("PeriodicTorsionForce", "dihedral_periodic"),
        ("NonbondedForce", "scaled_pair|coulomb|lennard_jones"),
    ];
    let psf = "topology = \"lone_pairs.psf\"\nparameters = [\"lone_pairs.prm\"]";
    agrees(psf, "lone_pairs", &terms, 1e-8);
    agrees("topology = \"lone_pairs.xml\"", "lone_pairs", &terms, 1e-8);
}

/// The extra points of AMBER on ethers, thiols, amines and water, and explicit ones of a file.
#[test]
fn extra_points_are_where_amber_has_them() {
    let terms = [
        ("HarmonicBondForce", "bond_harmonic"),
        ("HarmonicAngleForce", "angle_harmonic"),
        ("PeriodicTorsionForce", "dihedral_periodic"),
        ("NonbondedForce", "scaled_pair|coulomb|lennard_jones"),
    ];
    agrees("topology = \"extra_points.prmtop\"", "extra_points", &terms, 1e-7);
}

/// Water with a fourth site, and sections that name its atoms.
fn four_sites(more: &str) -> jostle_core::Result<Simulation> {
    let text = format!(
        "units = \"real\"\n[system]\nplace = \"water\"\nmolecules = 27\nbond_length = 0.9572\nbond_angle = 104.52\n\
         site_distance = 0.1546\ndensity = \"0.9 g/cm3\"\ntemperature = 298\n[electrostatics]\n\
         kind = \"reaction-field\"\ncutoff = 4.6\n[[force]]\nkind = \"lennard-jones\"\ncutoff = 4.6\n\
         pairs = {{ O-O = {{ epsilon = 0.15, sigma = 3.16 }}, H-H = \"none\", M-M = \"none\", H-O = \"none\", \
         M-O = \"none\", H-M = \"none\" }}\n[species.O]\nmass = 15.9994\n[species.H]\n\
         mass = 1.008\ncharge = 0.5564\n{more}\n[[stage]]\nname = \"go\"\nsteps = 4\ntimestep = 1\n[run]\nthreads = 1\n\
         device = \"cpu\"\nprecision = \"double\"\n"
    );
    let more = if more.contains("[species.M]") { "" } else { "[species.M]\ncharge = -1.1128\n" };
    let input = Input::parse(Path::new("sites.toml"), &format!("{text}{more}"))?;
    Simulation::from_input(&input, &Overrides::default())
}

/// Sites are frozen with their atoms; what would hold or move a site without them is refused at its place in the input.
#[test]
fn sites_are_held_by_their_atoms_alone() {
    let group = |atoms: &str| format!("[[group]]\nname = \"held\"\natoms = \"{atoms}\"\nfrozen = true\n");
    let frozen = four_sites(&group("species O or species H")).unwrap();
    assert_eq!(frozen.driven().len(), 108);
    let free = four_sites(&group("species O")).unwrap();
    assert_eq!(free.driven().len(), 27);
    let restraint = |rest: &str| format!("[[restraint]]\nstiffness = 1\n{rest}\n");
    let variable = "[[variable]]\nname = \"v\"\nkind = \"distance\"\nbetween = [\"index 3\", \"index 20\"]\n\
                    weights = \"equal\"\n[[bias]]\nname = \"b\"\nkind = \"harmonic\"\nvariable = \"v\"\n\
                    center = 1\nstiffness = 1\n";
    let deviation = variable
        .replace("distance", "rmsd")
        .replace("between = [\"index 3\", \"index 20\"]", "atoms = \"index 0 to 7\"");
    for (more, message) in [
        (group("not index 0"), "atom 4 is a virtual site, which moves with its atoms"),
        ("[species.M]\ncharge = -1.1128\nfrozen = true\n".into(), "atom 4 is a virtual site"),
        (
            restraint("kind = \"distance\"\nbetween = [\"index 0\", \"index 3\"]\nlength = 2"),
            "the atoms of a restraint have no mass",
        ),
        (
            restraint("kind = \"position\"\natoms = \"species M\"\nscaling = \"center\""),
            "the atoms of a restraint have no mass",
        ),
        (variable.into(), "a bias on variable 'v' acts on atom 4, a virtual site without mass"),
        // At the start a deviation from it has no force.
        (deviation, "a bias on variable 'v' acts on atom 4, a virtual site without mass"),
    ] {
        let error = four_sites(&more).err().unwrap_or_else(|| panic!("{more} is accepted"));
        assert!(error.message().starts_with(message) && error.help().is_some(), "{more}: {error}");
        assert!(error.place().is_some_and(|place| place.line.is_some()), "{error:?}");
        assert_eq!(error.kind(), jostle_core::ErrorKind::Input, "{error:?}");
    }
}

/// Pairs have no centres: they are counted between sites without mass, too.
#[test]
fn pairs_of_sites_need_no_mass() {
    for (kind, more) in [("coordination", ""), ("contacts", "steepness = 5\n")] {
        let text = format!(
            "[[variable]]\nname = \"v\"\nkind = \"{kind}\"\nbetween = [\"index 3\", \"species M and not index 3\"]\n\
             reach = 4\n{more}"
        );
        four_sites(&text).unwrap();
    }
}
