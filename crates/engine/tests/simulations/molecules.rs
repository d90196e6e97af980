//! All-atom molecules: energies by term and forces against OpenMM's, from the files of OpenMM.

use crate::fixtures::{emulated, run_in_parts, thermo_csv};
use crate::openmm::{Reference, write_positions};
use jostle_core::{Algorithm, Components, Precision, Settings, System, UnitSystem, Vec3};
use jostle_engine::model::{DeviceInput, MoleculesInput, Rigid};
use jostle_engine::report::Convergence;
use jostle_engine::{
    Existing, Overrides, Simulation, SinglePoint, single_point, single_point_by, system_from_input,
};
use jostle_io::Input;
use jostle_io::forcefield::coordinates::Coordinates;
use jostle_io::forcefield::{Boundary, Molecules};
use jostle_potentials::Forces;
use std::path::Path;

/// System and forces of an input in nm and kJ/mol, given by the content of `[system]` and other sections.
fn read(reference: &Reference, [system, sections]: [&str; 2]) -> (System, Forces) {
    let folder = tempfile::tempdir().unwrap();
    write_positions(reference, &folder.path().join("positions.xyz"));
    let text = format!("units = \"nano\"\n[system]\n{system}\ncoordinates = \"positions.xyz\"\n{sections}");
    let input = Input::parse(&folder.path().join("in.toml"), &text).unwrap();
    system_from_input(&input).unwrap_or_else(|e| panic!("{e}: {:?}", e.help()))
}

/// One evaluation of such an input.
fn evaluate_with(
    reference: &Reference,
    sections: [&str; 2],
    precision: Precision,
    algorithm: Algorithm,
) -> SinglePoint {
    let (system, forces) = read(reference, sections);
    let settings = Settings { precision, algorithm, threads: Some(2), ..Settings::default() };
    single_point(UnitSystem::Nano, system, forces, DeviceInput::Cpu, settings).unwrap()
}

fn evaluate(reference: &Reference, system: &str, precision: Precision, algorithm: Algorithm) -> SinglePoint {
    evaluate_with(reference, [system, ""], precision, algorithm)
}

/// Sum of the energies of the terms whose names begin with one of those between bars.
fn term_energy(point: &SinglePoint, names: &str) -> f64 {
    let of_term = |(term, energy): (&String, &f64)| {
        names.split('|').any(|name| term.starts_with(name)).then_some(*energy)
    };
    point.term_names.iter().zip(&point.thermo.terms).filter_map(of_term).sum()
}

fn agrees(reference: &Reference, point: &SinglePoint, tolerance: f64) {
    for (name, wanted) in reference.energies() {
        let got = term_energy(point, name);
        let off = (got - wanted).abs() / wanted.abs().max(1.0);
        assert!(off < tolerance, "{name}: {got} is not {wanted}, {off:e}");
    }
    let potential = point.thermo.potential;
    // The potential energy is a sum of terms many times as large.
    let size: f64 = point.thermo.terms.iter().map(|e| e.abs()).sum();
    assert!((potential - reference.total()).abs() < tolerance * size, "{potential}");
    let square = |v: &Vec3| v.iter().map(|x| x * x).sum::<f64>();
    let n = reference.forces.len();
    let rms = (reference.forces.iter().map(square).sum::<f64>() / n as f64).sqrt();
    assert_eq!(point.forces.len(), n);
    for (k, (got, wanted)) in point.forces.iter().zip(&reference.forces).enumerate() {
        let off = square(&(*got - *wanted)).sqrt() / rms;
        assert!(off < tolerance, "atom {}: {got:?} is not {wanted:?}, {off:e}", k + 1);
    }
    // The total force is zero, so that the virial is the sum of r f.
    for (k, (p, q)) in [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)].into_iter().enumerate() {
        let sum: f64 = reference.positions.iter().zip(&reference.forces).map(|(r, f)| r[p] * f[q]).sum();
        let off = (point.virial[k] - sum).abs() / (rms * (n as f64).sqrt());
        assert!(off < 10.0 * tolerance, "virial {k}: {} is not {sum}, {off:e}", point.virial[k]);
    }
}

/// The median relative error of forces.
fn median_error(reference: &Reference, point: &SinglePoint) -> f64 {
    let norm = |v: Vec3| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    let pairs = point.forces.iter().zip(&reference.forces);
    let mut errors: Vec<f64> = pairs.map(|(f, g)| norm(*f - *g) / norm(*g)).collect();
    errors.sort_by(f64::total_cmp);
    errors[errors.len() / 2]
}

/// One evaluation of such an input on the emulated GPU.
fn evaluate_on_gpu(reference: &Reference, system: &str, precision: Precision) -> SinglePoint {
    let (system, forces) = read(reference, [system, ""]);
    let settings = Settings { precision, ..Settings::default() };
    single_point_by(UnitSystem::Nano, system, forces, settings, emulated).unwrap()
}

/// Compares with OpenMM on both devices, in `double` to the accuracy of OpenMM's reference platform and in
/// `mixed` to single precision.
fn compare(case: &str, system: impl Fn(&Path) -> String) {
    let Some(reference) = Reference::open(case) else { return };
    let system = system(&reference.folder);
    // In `mixed` the GPU evaluates all terms but bonds and angles in single precision: dihedrals of alanine
    // dipeptide are 2.6e-6 off.
    for (precision, tolerance) in [(Precision::Double, 1e-9), (Precision::Mixed, 1e-5)] {
        let point = evaluate_on_gpu(&reference, &system, precision);
        agrees(&reference, &point, tolerance);
        let median = median_error(&reference, &point);
        println!("{case}, {precision:?}: the median error of a force is {median:.1e}");
        assert!(median < 1e-6, "{case}, {precision:?}: {median:e}");
    }
    for (precision, algorithm, tolerance) in [
        (Precision::Double, Algorithm::Auto, 1e-9),
        (Precision::Double, Algorithm::Reference, 1e-9),
        (Precision::Mixed, Algorithm::Auto, 1e-6),
    ] {
        agrees(&reference, &evaluate(&reference, &system, precision, algorithm), tolerance);
    }
}

fn xml(folder: &Path) -> String {
    format!("topology = {:?}", folder.join("system.xml"))
}

#[test]
fn alanine_dipeptide_amber14() {
    compare("07a_aladip_vac_amber14", xml);
}

#[test]
fn alanine_dipeptide_of_a_prmtop() {
    compare("07c_aladip_prmtop_vac", xml);
    let prmtop = |folder: &Path| folder.join("alanine-dipeptide-implicit.prmtop");
    compare("07c_aladip_prmtop_vac", |folder| format!("topology = {:?}", prmtop(folder)));
}

/// Bonded terms of the peptide in water, without the periodic box, which no bond crosses.
#[test]
fn bonded_terms_of_a_prmtop_with_water() {
    let Some(reference) = Reference::open("07d_aladip_water_prmtop") else { return };
    for file in ["alanine-dipeptide-explicit.prmtop", "system.xml"] {
        let system = format!("topology = {:?}\nperiodic = false", reference.folder.join(file));
        let point = evaluate(&reference, &system, Precision::Double, Algorithm::Auto);
        for (name, wanted) in &reference.energies()[..6] {
            let name = name.split('|').next().unwrap();
            let index = point.term_names.iter().position(|term| term.starts_with(name));
            let got = index.map_or(0.0, |k| point.thermo.terms[k]);
            assert!(
                (got - wanted).abs() < 1e-9 * wanted.abs().max(1.0),
                "{file}, {name}: {got}, not {wanted}"
            );
        }
    }
}

/// Sections of a periodic box of molecules.
fn periodic(tail: bool, electrostatics: &str) -> String {
    format!(
        "[[force]]\nkind = \"lennard-jones\"\ncutoff = 0.9\ntail_correction = {tail}\n\
         [electrostatics]\n{electrostatics}\n"
    )
}

/// Energy by which OpenMM's tail correction of a Lennard-Jones force differs from ours: its mean over pairs includes
/// pairs of an atom with itself (`NonbondedForceImpl::calcDispersionCorrection`).
fn more_of_openmm((system, forces): &(System, Forces)) -> f64 {
    let (counts, n) = (system.counts(), system.state.len() as f64);
    let tail = |counts: &[usize]| forces.tail(0, counts).at(system.simbox.volume())[0];
    let with_itself = |species: usize| {
        let mut one = vec![0; counts.len()];
        one[species] = 1;
        counts[species] as f64 * tail(&one)
    };
    let all = tail(&counts);
    (all + (0..counts.len()).map(with_itself).sum::<f64>()) * n / (n + 1.0) - all
}

/// Every term of the peptide in its periodic box of water, with Ewald's sum and particle-mesh Ewald.
#[test]
fn alanine_dipeptide_in_water() {
    let Some(reference) = Reference::open("07d_aladip_water_prmtop") else { return };
    for file in ["alanine-dipeptide-explicit.prmtop", "system.xml"] {
        let system = format!("topology = {:?}\nperiodic = true", reference.folder.join(file));
        let point = |electrostatics: &str, tail: bool, precision: Precision| {
            let name = if precision == Precision::Double { "double" } else { "mixed" };
            let sections = periodic(tail, electrostatics) + &format!("[run]\nprecision = \"{name}\"\n");
            evaluate_with(&reference, [&system, &sections], precision, Algorithm::Auto)
        };
        let ewald = "kind = \"ewald\"\naccuracy = 1e-10";
        let own = more_of_openmm(&read(&reference, [&system, &periodic(true, "kind = \"pme\"")]));
        for (electrostatics, precision, tolerance) in [
            (ewald, Precision::Double, 1e-9),
            ("kind = \"pme\"\norder = 6\naccuracy = 1e-6", Precision::Mixed, 1e-6),
        ] {
            let point = point(electrostatics, true, precision);
            for (name, wanted) in &reference.energies() {
                let (wanted, tolerance) = match *name {
                    "lennard_jones" => (wanted - own, tolerance),
                    // The accuracy of OpenMM's particle-mesh Ewald limits this term.
                    "coulomb" => (*wanted, 1e-6),
                    _ => (*wanted, tolerance),
                };
                let off = (term_energy(&point, name) - wanted) / wanted.abs().max(1.0);
                assert!(off.abs() < tolerance, "{file}, {electrostatics}: {name} is off by {off:e}");
            }
            let square = |v: &Vec3| v.iter().map(|x| x * x).sum::<f64>();
            let pairs = || point.forces.iter().zip(&reference.forces);
            let off: f64 = pairs().map(|(a, b)| square(&(*a - *b))).sum();
            let all: f64 = pairs().map(|(_, b)| square(b)).sum();
            // OpenMM's real-space sum ends at alpha r = 3.62: its forces have errors of 2 exp(-3.62^2).
            assert!((off / all).sqrt() < 4e-6, "{file}, {electrostatics}: {}", (off / all).sqrt());
        }
    }
}

/// Checks that all constraints have their lengths, to a relative tolerance.
fn check_constraints(simulation: &mut Simulation, tolerance: f64) {
    let (positions, simbox) = (simulation.positions().unwrap(), *simulation.simbox());
    for constraint in &simulation.topology().constraints {
        let [a, b] = constraint.atoms.map(|id| positions[id as usize]);
        let d = simbox.nearest_image(a - b);
        let length = d.iter().map(|x| x * x).sum::<f64>().sqrt();
        assert!((length / constraint.length - 1.0).abs() < tolerance, "{constraint:?}: {length}");
    }
}

/// Water and bonds of hydrogen are rigid in a run, without bonded forces, and energy is conserved.
#[test]
fn rigid_bonds_of_a_topology() {
    let Some(reference) = Reference::open("07d_aladip_water_prmtop") else { return };
    let folder = tempfile::tempdir().unwrap();
    write_positions(&reference, &folder.path().join("positions.xyz"));
    let topology = reference.folder.join("alanine-dipeptide-explicit.prmtop");
    let input = |rigid: &str| {
        let text = format!(
            "units = \"nano\"\n[system]\ntopology = {topology:?}\nperiodic = true\nrigid = \"{rigid}\"\n\
             coordinates = \"positions.xyz\"\ntemperature = 300\n{}\
             [[stage]]\nsteps = 100\ntimestep = 0.001\n\
             thermostat = {{ kind = \"langevin\", temperature = 300, friction = 50 }}\n\
             [[stage]]\nsteps = 300\ntimestep = 0.002\n[run]\ndevice = \"cpu\"\n",
            periodic(false, "kind = \"pme\"")
        );
        Input::parse(&folder.path().join("in.toml"), &text).unwrap()
    };
    let counts = |rigid: &str| {
        let (system, _) = system_from_input(&input(rigid)).unwrap();
        let topology = system.topology;
        [topology.constraints.len(), topology.bonds.len(), topology.angles.len()]
    };
    let [free, water, hydrogens] = ["none", "water", "hydrogens"].map(counts);
    // There are 749 molecules of water, with three bonds and no angle each in the file, and 12 hydrogens.
    assert_eq!(free[0], 0);
    assert_eq!([water[0], free[1] - water[1], free[2] - water[2]], [3 * 749, 3 * 749, 0]);
    assert_eq!(
        [hydrogens[0], free[1] - hydrogens[1], free[2] - hydrogens[2]],
        [3 * 749 + 12, 3 * 749 + 12, 0]
    );
    let mut simulation = Simulation::from_input(&input("hydrogens"), &Overrides::default()).unwrap();
    simulation.run().unwrap();
    check_constraints(&mut simulation, 1e-10);
}

/// Mass is moved to the hydrogens of the peptide from the atoms they are bound to; water, the total mass and
/// energies stay the same, and a hydrogen mass that is too large is refused.
#[test]
fn masses_move_to_hydrogens() {
    let Some(reference) = Reference::open("07d_aladip_water_prmtop") else { return };
    let folder = tempfile::tempdir().unwrap();
    write_positions(&reference, &folder.path().join("positions.xyz"));
    let topology = reference.folder.join("alanine-dipeptide-explicit.prmtop");
    let system = |mass: &str| {
        let text = format!(
            "units = \"real\"\n[system]\ntopology = {topology:?}\nperiodic = true\nrigid = \"hydrogens\"\n{mass}\n\
             coordinates = \"positions.xyz\"\n[[force]]\nkind = \"lennard-jones\"\ncutoff = 9\n\
             [electrostatics]\nkind = \"pme\"\n"
        );
        system_from_input(&Input::parse(&folder.path().join("in.toml"), &text).unwrap())
    };
    let masses = |system: &jostle_core::System| -> Vec<f64> {
        let mass = |index: usize| UnitSystem::Real.mass_to_user(system.mass(index));
        (0..system.state.len()).map(mass).collect()
    };
    let ((plain, terms), (heavy, same)) = (system("").unwrap(), system("hydrogen_mass = 3").unwrap());
    let (before, after) = (masses(&plain), masses(&heavy));
    let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
    assert!(close(before.iter().sum(), after.iter().sum()));
    // The peptide has three methyl groups, one carbon with a hydrogen and two such nitrogens.
    let moved = 3.0 - 1.008;
    for (mass, count) in [(3.0, 12), (12.01 - 3.0 * moved, 3), (12.01 - moved, 1), (14.01 - moved, 2)] {
        assert_eq!(after[..22].iter().filter(|m| close(**m, mass)).count(), count, "{mass}");
    }
    assert_eq!(before[22..], after[22..]);
    let energy = |system, forces| {
        let settings = Settings { threads: Some(1), precision: Precision::Double, ..Settings::default() };
        single_point(UnitSystem::Real, system, forces, DeviceInput::Cpu, settings).unwrap().thermo.potential
    };
    let (a, b) = (energy(plain, terms), energy(heavy, same));
    assert!((a / b - 1.0).abs() < 1e-12, "{a} {b}");
    let error = system("hydrogen_mass = 4").map(|_| ()).unwrap_err();
    assert!(error.message().contains("would leave 3.0340 to atom"), "{error}");
}

/// A minimisation converges under the constraints of rigid water and bonds, and keeps them.
#[test]
fn minimisation_keeps_rigid_bonds() {
    let Some(reference) = Reference::open("07d_aladip_water_prmtop") else { return };
    let folder = tempfile::tempdir().unwrap();
    write_positions(&reference, &folder.path().join("positions.xyz"));
    let topology = reference.folder.join("alanine-dipeptide-explicit.prmtop");
    let text = format!(
        "units = \"nano\"\n[system]\ntopology = {topology:?}\nperiodic = true\nrigid = \"hydrogens\"\n\
         coordinates = \"positions.xyz\"\n{}\
         [[stage]]\nminimize = {{ steps = 400, force_tolerance = 200 }}\nthermo = {{ every = 1 }}\n\
         [run]\ndevice = \"cpu\"\n",
        periodic(false, "kind = \"pme\"")
    );
    let input = Input::parse(&folder.path().join("in.toml"), &text).unwrap();
    let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
    simulation.run().unwrap();
    let minimum = simulation.reports()[0].minimum.unwrap();
    println!("{minimum:?} after {} iterations", simulation.reports()[0].steps);
    assert_eq!(minimum.outcome, Convergence::Converged);
    check_constraints(&mut simulation, 1e-9);
}

/// The box and the atoms of AMBER's files.
#[test]
fn prmtop_and_inpcrd_agree_with_the_system_that_openmm_made_of_them() {
    let Some(Reference { folder, positions, .. }) = Reference::open("07d_aladip_water_prmtop") else {
        return;
    };
    let path = folder.join("alanine-dipeptide-explicit.inpcrd");
    let read = Coordinates::read(&path, UnitSystem::Nano).unwrap();
    for (a, b) in read.positions.as_flattened().iter().zip(positions.as_flattened()) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }
    let lengths = read.simbox.unwrap().lengths();
    assert!((lengths[1] - 3.286_164_8).abs() < 1e-12, "{lengths:?}");
    let read = |name: &str| {
        let topology = folder.join(name);
        let (parameters, define, include, coordinates) = Default::default();
        let (rigid, hydrogen_mass) = (Rigid::None, None);
        let files =
            MoleculesInput { topology, parameters, define, include, coordinates, rigid, hydrogen_mass };
        Molecules::read(&files, UnitSystem::Nano).unwrap()
    };
    let (prmtop, xml) = (read("alanine-dipeptide-explicit.prmtop"), read("system.xml"));
    assert_eq!(prmtop.names.describe(22), "atom 23 (O of WAT 4)");
    assert_eq!(prmtop.topology.excluded.len(), xml.topology.excluded.len());
    for (a, b) in prmtop.charges.iter().zip(&xml.charges) {
        assert!((a - b).abs() < 1e-12, "{a} {b}");
    }
    let (Boundary::Periodic(Some(one)), Boundary::Box(other)) = (prmtop.boundary, xml.boundary) else {
        panic!("no box")
    };
    let edges = [one.lengths()[2], other.lengths()[2]];
    assert!((edges[0] - edges[1]).abs() < 1e-12, "{edges:?}");
}

/// CMAP terms, Urey-Bradley springs, harmonic impropers, and Lennard-Jones parameters by pairs of types.
#[test]
fn trialanine_charmm36() {
    compare("07b_ala3_vac_charmm36", xml);
}

#[test]
fn trialanine_charmm22() {
    compare("07g_ala3_vac_psf_charmm22", xml);
    compare("07g_ala3_vac_psf_charmm22", |folder| {
        let path = |name: &str| folder.join(name);
        let (psf, parameters) = (path("ala_ala_ala.psf"), [path("charmm22.rtf"), path("charmm22.par")]);
        format!("topology = {psf:?}\nparameters = {parameters:?}")
    });
}

#[test]
fn dihydrofolate_reductase() {
    compare("07h_dhfr_vac_amber14", xml);
}

/// An input with stages, whose files are in `folder`.
fn a_run(reference: &Reference, folder: &Path, stages: &str) -> Input {
    write_positions(reference, &folder.join("positions.xyz"));
    let text = format!(
        "units = \"nano\"\n[system]\n{}\ncoordinates = \"positions.xyz\"\ntemperature = 300\n{stages}\n\
         [run]\ndevice = \"auto\"\nthreads = 1\nreproducible = true\n",
        xml(&reference.folder)
    );
    Input::parse(&folder.join("in.toml"), &text).unwrap()
}

/// All terms together conserve momentum and, to the accuracy of velocity Verlet, energy.
#[test]
fn energy_and_momentum_are_kept() {
    let Some(reference) = Reference::open("07b_ala3_vac_charmm36") else { return };
    let folder = tempfile::tempdir().unwrap();
    let total = |timestep: f64, steps: u64| {
        let stages = format!(
            "[[stage]]\nminimize = {{ force_tolerance = 50 }}\n\
             [[stage]]\nsteps = 2000\ntimestep = 0.0005\n\
             thermostat = {{ kind = \"langevin\", temperature = 300, friction = 20 }}\n\
             [[stage]]\nname = \"sample\"\nsteps = {steps}\ntimestep = {timestep}\nthermo = {{ every = 10 }}\n"
        );
        let input = a_run(&reference, folder.path(), &stages);
        let mut simulation = Simulation::from_input(&input, &Overrides::default()).unwrap();
        let output = folder.path().join(format!("{timestep}"));
        simulation.write_to(&output, Existing::Refuse).unwrap();
        simulation.run().unwrap();
        let momentum = simulation.thermo().unwrap().momentum;
        assert!(momentum.iter().all(|p| p.abs() < 1e-4), "{momentum:?}");
        let text = thermo_csv(&output);
        let mut rows = text.lines().map(|row| row.split(',').collect::<Vec<_>>());
        let header = rows.next().unwrap();
        let column = |name: &str| header.iter().position(|h| h.starts_with(name)).unwrap();
        let (stage, total) = (column("stage"), column("total"));
        let last: Vec<Vec<&str>> = rows.filter(|row| row[stage] == "sample").collect();
        let values: Vec<f64> = last.iter().map(|row| row[total].parse().unwrap()).collect();
        assert_eq!(values.len() as u64, steps / 10);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        (values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
    };
    // Half the step gives a quarter of the fluctuation.
    let (coarse, fine) = (total(0.0005, 2000), total(0.00025, 4000));
    println!("fluctuations of {coarse} and {fine} kJ/mol");
    assert!(fine < 0.35 * coarse && fine < 1.0, "{coarse} {fine}");
}

/// A resumed run, which reads its topology again, equals the uninterrupted one.
#[test]
fn a_resumed_run_equals_the_uninterrupted_one() {
    let Some(reference) = Reference::open("07b_ala3_vac_charmm36") else { return };
    let folder = tempfile::tempdir().unwrap();
    let stages = "[[stage]]\nsteps = 200\ntimestep = 0.0005\nthermo = { every = 20 }\n\
                  thermostat = { kind = \"langevin\", temperature = 300, friction = 5 }\n";
    let input = a_run(&reference, folder.path(), stages);
    let run = |name: &str, interval: u64| {
        let path = folder.path().join(name);
        run_in_parts(&input, &path, interval);
        thermo_csv(&path)
    };
    assert_eq!(run("parts", 37), run("whole", u64::MAX));
}
