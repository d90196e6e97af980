//! Solutes in water: densities, ions, charges, and molecules that keep their form.

use jostle_core::{Components, SimBox, UnitSystem, Vec3, Vector};
use jostle_engine::build::solvation::files::RunSettings;
use jostle_engine::build::solvation::shape::BoxShape;
use jostle_engine::build::solvation::{
    CounterIons, IonPairs, IonsInput, Size, Solute, Solvated, SolvationInput, solvate,
};
use jostle_engine::model::{MoleculesInput, Rigid};
use jostle_engine::{single_point, system_from_input};
use jostle_io::Input;
use jostle_io::forcefield::coordinates::Coordinates;
use jostle_io::forcefield::solvent::WaterModel;
use jostle_io::forcefield::{Molecules, TypeNames};
use jostle_io::input::NamedChoice;
use std::fs;
use std::path::PathBuf;

/// A rod of four charged atoms with the charge -2.
const ROD: &str = "\
[ defaults ]
1 2 yes 0.5 0.8333
[ atomtypes ]
C 6 12.011 0.0 A 0.34 0.36
H 1 1.008 0.0 A 0.0 0.0
[ moleculetype ]
ROD 3
[ atoms ]
1 C 41 ROD C1 1 -0.4 12.011
2 C 41 ROD C2 2 -0.9 12.011
3 C 41 ROD C3 3 -1.0 12.011
4 H 41 ROD H4 4 0.3 1.008
[ bonds ]
1 2 1 0.15 1000
2 3 1 0.15 1000
3 4 1 0.11 1000
[ system ]
rod
[ molecules ]
ROD 1
";

const PLACES: [Vec3; 4] =
    [Vector([0.0, 0.0, 0.0]), Vector([0.1, 0.11, 0.0]), Vector([0.2, 0.22, 0.05]), Vector([0.3, 0.22, 0.1])];

fn rod() -> Solute {
    solute(ROD)
}

/// A rod with this topology.
fn solute(text: &str) -> Solute {
    let folder = tempfile::tempdir().unwrap();
    let topology = folder.path().join("rod.top");
    fs::write(&topology, text).unwrap();
    let files = MoleculesInput {
        topology,
        parameters: Vec::new(),
        define: Vec::new(),
        include: Vec::new(),
        coordinates: PathBuf::new(),
        rigid: Rigid::None,
        hydrogen_mass: None,
    };
    let molecules = Molecules::read(&files, UnitSystem::Nano).unwrap();
    Solute::new(molecules, Coordinates { positions: PLACES.to_vec(), ..Coordinates::default() }).unwrap()
}

fn model(name: &str) -> &'static WaterModel {
    <&WaterModel>::from_name(name).unwrap()
}

fn shape(name: &str) -> &'static BoxShape {
    <&BoxShape>::from_name(name).unwrap()
}

fn box_of_water(water: &str, form: &str, size: f64, seed: u64) -> Solvated {
    let (water, shape) = (model(water), shape(form));
    let size = Size::Given(Vector([size; 3]));
    solvate(SolvationInput { solute: None, shape, size, water, ions: None, vacuum: 0.0, seed }).unwrap()
}

fn in_salt(concentration: f64, seed: u64) -> Solvated {
    let water = model("spce");
    let pair = ["Na+", "Cl-"].map(|name| water.ion(name).unwrap());
    let ions = Some(IonsInput { pair, counter_ions: CounterIons::Added, concentration });
    let size = Size::Padding(1.1);
    solvate(SolvationInput {
        solute: Some(rod()),
        shape: shape("octahedron"),
        size,
        water,
        ions,
        vacuum: 0.0,
        seed,
    })
    .unwrap()
}

fn distance(simbox: &SimBox, a: Vec3, b: Vec3) -> f64 {
    let d = simbox.nearest_image(b - a);
    d.iter().map(|x| x * x).sum::<f64>().sqrt()
}

/// The least distance between atoms of different molecules, massless points left out.
fn least_distance(solvated: &Solvated) -> f64 {
    let Solvated { molecules, positions, simbox, .. } = solvated;
    let massive = |atom: &usize| molecules.species[usize::from(molecules.atoms[*atom])].mass > 0.0;
    let atoms: Vec<usize> = (0..positions.len()).filter(massive).collect();
    let residue = |atom: usize| molecules.names.atoms[atom].residue;
    let mut least = f64::INFINITY;
    for (k, a) in atoms.iter().enumerate() {
        for b in atoms[..k].iter().filter(|b| residue(**b) != residue(*a)) {
            least = least.min(distance(simbox, positions[*a], positions[*b]));
        }
    }
    least
}

/// Every model in every shape has the density of the model, within the 0.5% that a count of some 600 molecules may be
/// off, and no atoms upon each other: hydrogen bonds are 0.15 nm at least in liquid water.
#[test]
fn water_has_its_density_and_no_overlaps() {
    for (k, water) in <&WaterModel>::ALL.iter().enumerate() {
        let form = ["cubic", "dodecahedron", "orthorhombic", "octahedron"][k % 4];
        let size = [2.7, 2.9, 2.7, 2.8][k % 4];
        let solvated = box_of_water(water.name, form, size, 5);
        let mass = 18.0154 / 602.214076;
        let density = solvated.waters as f64 * mass / solvated.simbox.volume();
        assert!((density / water.density - 1.0).abs() < 5e-3, "{} {form}: {density}", water.name);
        assert_eq!(solvated.positions.len(), solvated.waters * water.shape.atoms());
        let least = least_distance(&solvated);
        assert!(least > 0.12, "{} {form}: {least}", water.name);
        // Molecules have exactly their form.
        for molecule in solvated.positions.chunks_exact(water.shape.atoms()) {
            let bonds = [1, 2].map(|k| distance(&solvated.simbox, molecule[0], molecule[k]));
            assert!(bonds.iter().all(|bond| (bond - water.shape.bond_length).abs() < 1e-12), "{bonds:?}");
        }
        assert!(solvated.positions.as_flattened().iter().all(|x| *x >= 0.0));
    }
}

/// Dipoles of molecules point everywhere, at the border, too.
#[test]
fn water_has_no_direction() {
    let solvated = box_of_water("spce", "cubic", 3.0, 2);
    let mut mean = [0.0; 3];
    for molecule in solvated.positions.chunks_exact(3) {
        for (k, mean) in mean.iter_mut().enumerate() {
            *mean += (molecule[1][k] + molecule[2][k] - 2.0 * molecule[0][k]) / 0.1155;
        }
    }
    // Directions of independent molecules would add up to a length of sqrt(N); a liquid correlates neighbours.
    let n = solvated.waters as f64;
    let length = mean.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!(length < 6.0 * n.sqrt(), "{length} of {n}");
}

#[test]
fn the_seed_decides() {
    let [a, b, c] = [1, 1, 2].map(|seed| in_salt(0.5, seed).positions);
    assert_eq!(a, b);
    assert_ne!(a, c);
}

#[test]
fn ions_take_away_the_charge_and_keep_apart() {
    let solvated = in_salt(0.5, 7);
    assert!((solvated.solute_charge + 2.0).abs() < 1e-12);
    assert!(solvated.charge().abs() < 1e-9 && !solvated.needs_background());
    let [cations, anions] = solvated.ions;
    assert_eq!(cations, anions + 2);
    // Half a mol in a litre of water, which has 55.4 mol.
    let salt = 0.5 / 55.4 * (solvated.waters + anions) as f64;
    assert!((anions as f64 - salt).abs() < 1.0, "{anions} {salt}");
    let Solvated { molecules, positions, simbox, .. } = &solvated;
    let ions: Vec<usize> =
        (0..positions.len()).filter(|a| molecules.charges[*a].abs() == 1.0 && *a > 3).collect();
    assert_eq!(ions.len(), cations + anions);
    for (k, a) in ions.iter().enumerate() {
        let others = ions[..k].iter().chain(&[0, 1, 2, 3]);
        others.for_each(|b| assert!(distance(simbox, positions[*a], positions[*b]) > 0.25));
    }
    assert!(least_distance(&solvated) > 0.12);
    assert_eq!(molecules.names.describe(0), "atom 1 (C1 of ROD 1)");
    // The solute is where it was but for a shift.
    let shift = positions[0] - PLACES[0];
    for (r, place) in positions.iter().zip(PLACES) {
        assert!((0..3).all(|k| (r[k] - place[k] - shift[k]).abs() < 1e-12));
    }
}

#[test]
fn boxes_that_cannot_be_are_refused() {
    let water = model("spce");
    let build = |solute: Option<Solute>, form: &str, size: Size, ions: Option<f64>| {
        let pair = ["Na+", "Cl-"].map(|name| water.ion(name).unwrap());
        let counter_ions = CounterIons::LeftOut;
        let ions = ions.map(|concentration| IonsInput { pair, counter_ions, concentration });
        let error =
            solvate(SolvationInput { solute, shape: shape(form), size, water, ions, vacuum: 0.0, seed: 1 })
                .unwrap_err();
        assert!(error.help().is_some(), "{error}");
        error.message().to_string()
    };
    assert!(build(Some(rod()), "cubic", Size::Padding(0.3), None).contains("wide"));
    assert!(build(None, "cubic", Size::Padding(1.0), None).contains("without a solute"));
    assert!(build(None, "cubic", Size::Given(Vector([3.0, 4.0, 5.0])), None).contains("one size"));
    assert!(build(None, "orthorhombic", Size::Given(Vector([1e5, 1e5, 1e5])), None).contains("memory"));
    assert!(build(None, "cubic", Size::Given(Vector([2.5; 3])), Some(500.0)).contains("ions are wanted"));
    let mut long = rod();
    long.positions[3] = Vector([2.4, 0.0, 0.0]);
    assert!(
        build(Some(long), "cubic", Size::Given(Vector([2.45; 3])), None).contains("smaller than the solute")
    );
}

/// The files are read as they are; the energy is finite and low at once, and the input says what a run needs.
#[test]
fn files_are_a_system_that_runs() {
    let solvated = in_salt(0.3, 3);
    let settings = RunSettings {
        title: "a rod in water",
        name: "rod",
        temperature: 300.0,
        rigid: Rigid::Hydrogens,
        hydrogen_mass: None,
        seed: 1,
    };
    let files = solvated.files(settings).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (ending, text) in [("top", &files.topology), ("gro", &files.coordinates), ("toml", &files.input)] {
        fs::write(folder.path().join("rod").with_extension(ending), text).unwrap();
    }
    let input = Input::read(&folder.path().join("rod.toml")).unwrap();
    assert_eq!(input.stages.len(), 4);
    let (system, forces) = system_from_input(&input).unwrap();
    assert!((system.simbox.volume() - solvated.simbox.volume()).abs() < 1e-6);
    let point = single_point(UnitSystem::Nano, system, forces, input.run.device, input.run.settings).unwrap();
    let each = point.thermo.potential / solvated.waters as f64;
    // Liquid SPC/E has -46.7 kJ/mol for each molecule (without its polarisation); ions have more.
    assert!((-90.0..-25.0).contains(&each), "{each}");
}

#[test]
fn charged_systems_have_a_background_in_their_input() {
    let (water, size) = (model("tip3p"), Size::Padding(1.0));
    let input = SolvationInput {
        solute: Some(rod()),
        shape: shape("cubic"),
        size,
        water,
        ions: None,
        vacuum: 0.0,
        seed: 1,
    };
    let solvated = solvate(input).unwrap();
    assert!(solvated.needs_background() && solvated.fraction().is_none());
    let settings = RunSettings {
        title: "t",
        name: "n",
        temperature: 300.0,
        rigid: Rigid::Water,
        hydrogen_mass: Some(3.0),
        seed: 1,
    };
    let text = solvated.files(settings).unwrap().input;
    assert!(text.contains("net_charge = \"background\"") && text.contains("hydrogen_mass = 3.0"), "{text}");
}

/// CHARMM's sodium and chloride have a well of their own, and its water forces on hydrogens.
#[test]
fn ions_of_charmm_have_their_own_pair() {
    let water = model("tip3p-charmm");
    let pair = ["Na+", "Cl-"].map(|name| water.ion(name).unwrap());
    let ions = Some(IonsInput { pair, counter_ions: CounterIons::LeftOut, concentration: 1.0 });
    let (shape, size) = (shape("cubic"), Size::Given(Vector([2.7; 3])));
    let input = SolvationInput { solute: None, shape, size, water, ions, vacuum: 0.0, seed: 1 };
    let solvated = solvate(input).unwrap();
    let Solvated { molecules, ions, .. } = &solvated;
    assert!(ions[0] > 5 && ions[0] == ions[1]);
    let n = molecules.species.len();
    let named = |name: &str| molecules.species.iter().position(|s| s.name == name).unwrap();
    let well = |a: &str, b: &str| molecules.lennard_jones[named(a) * n + named(b)];
    let near = |[e, s]: [f64; 2], f: f64, t: f64| (e / f - 1.0).abs() < 1e-9 && (s / t - 1.0).abs() < 1e-9;
    assert!(near(well("Na+", "Cl-"), 0.3510376, 0.3323943117381606));
    assert_eq!(well("Na+", "Cl-"), well("Cl-", "Na+"));
    assert!(near(well("HW", "HW"), 0.192464, 0.04000135244450124));
    // All others follow the rule.
    let [e, s] =
        [well("Na+", "Na+"), well("OW", "OW")].into_iter().reduce(|a, b| [a[0] * b[0], a[1] + b[1]]).unwrap();
    assert!(near(well("Na+", "OW"), e.sqrt(), 0.5 * s));
    let settings = RunSettings {
        title: "t",
        name: "n",
        temperature: 300.0,
        rigid: Rigid::Water,
        hydrogen_mass: None,
        seed: 1,
    };
    let text = solvated.files(settings).unwrap();
    assert!(text.input.contains("charmm-switched") && text.topology.contains("[ nonbond_params ]"));
}

/// Ions of CHARMM have wells of their own with the oxygens of its carboxylates (NBFIX), here with values of OpenMM's
/// `charmm36_2024/water.xml`; with another atom of that name they have not, nor without names of types.
#[test]
fn ions_of_charmm_have_their_own_pairs_with_its_solutes() {
    let carboxylate = |sigma: &str| {
        ROD.replace("C 6 12.011 0.0 A 0.34 0.36", &format!("OC 8 12.011 0.0 A {sigma} 0.50208"))
            .replace(" C 41", " OC 41")
    };
    let water = model("tip3p-charmm");
    let solvated = |solute: Solute| {
        let pair = ["Na+", "Cl-"].map(|name| water.ion(name).unwrap());
        let ions = Some(IonsInput { pair, counter_ions: CounterIons::Added, concentration: 0.5 });
        let (solute, shape, size) = (Some(solute), shape("cubic"), Size::Given(Vector([2.7; 3])));
        solvate(SolvationInput { solute, shape, size, water, ions, vacuum: 0.0, seed: 1 }).unwrap()
    };
    let well = |solvated: &Solvated, a: &str, b: &str| {
        let species = &solvated.molecules.species;
        let named = |name: &str| species.iter().position(|s| s.name == name).unwrap();
        let [one, other] = [named(a) * species.len() + named(b), named(b) * species.len() + named(a)];
        assert_eq!(solvated.molecules.lennard_jones[one], solvated.molecules.lennard_jones[other]);
        solvated.molecules.lennard_jones[one]
    };
    let near = |[e, s]: [f64; 2], f: f64, t: f64| (e / f - 1.0).abs() < 1e-9 && (s / t - 1.0).abs() < 1e-9;
    let charmm = solvated(solute(&carboxylate("0.30290556416771536")));
    assert!(near(well(&charmm, "Na+", "OC"), 0.31388368, 0.2877602859593296));
    assert!(near(well(&charmm, "Cl-", "OC"), (0.6276f64 * 0.50208).sqrt(), 0.3536867911017147));
    let pairs = [["Na+", "OC"], ["Cl-", "Na+"]].map(|pair| pair.map(String::from));
    assert_eq!(charmm.ion_pairs, IonPairs::Own(pairs.to_vec()));
    let other = solvated(solute(&carboxylate("0.31")));
    assert!(near(
        well(&other, "Na+", "OC"),
        (0.1962296f64 * 0.50208).sqrt(),
        0.5 * (0.2513670733232967 + 0.31)
    ));
    assert_eq!(other.ion_pairs, IonPairs::Own(pairs[1..].to_vec()));
    let mut unnamed = solute(&carboxylate("0.30290556416771536"));
    unnamed.molecules.species[0].name = "O1".into();
    unnamed.molecules.type_names = TypeNames::Invented;
    let unnamed = solvated(unnamed);
    assert_eq!(unnamed.ion_pairs, IonPairs::TypesUnknown);
    assert!(near(well(&unnamed, "Na+", "Cl-"), 0.3510376, 0.3323943117381606));
}

/// A slab has empty space on both sides, molecules as they were, and neither pressure nor a correction of uniform
/// fluids in its input.
#[test]
fn slabs_have_two_surfaces() {
    let water = model("spce");
    let build = |vacuum: f64, form: &str| {
        let size = Size::Given(Vector([2.5; 3]));
        solvate(SolvationInput { solute: None, shape: shape(form), size, water, ions: None, vacuum, seed: 1 })
    };
    let (slab, bulk) = (build(4.0, "orthorhombic").unwrap(), build(0.0, "orthorhombic").unwrap());
    assert_eq!(slab.simbox.lengths(), [2.5, 2.5, 6.5]);
    assert_eq!(slab.waters, bulk.waters);
    assert!(slab.positions.iter().all(|r| (1.85..4.65).contains(&r[2])));
    for molecule in slab.positions.chunks_exact(3) {
        let direct = |k: usize| (0..3).map(|x| (molecule[k][x] - molecule[0][x]).powi(2)).sum::<f64>().sqrt();
        assert!((direct(1) - 0.1).abs() < 1e-12 && (direct(2) - 0.1).abs() < 1e-12);
    }
    let settings = RunSettings {
        title: "t",
        name: "n",
        temperature: 300.0,
        rigid: Rigid::Water,
        hydrogen_mass: None,
        seed: 1,
    };
    let text = slab.files(settings).unwrap().input;
    assert!(!text.contains("barostat") && !text.contains("tail_correction"), "{text}");
    assert!(build(4.0, "cubic").unwrap_err().message().contains("right angles"));
}
