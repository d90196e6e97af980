//! Kernels compile for every supported architecture; it takes NVRTC but no GPU.

use jostle_core::backend::{
    BiasFunction, CenterBias, CenterBiases, CenterFunction, CenterVariable, PairCount, VariableExpression,
};
use jostle_core::thermostat::{Bussi, NoseHoover, Rescale, Target};
use jostle_core::{
    Arms, Constraint, LocalFrame, Precision, RigidBody, SimBox, SiteRule, Species, System, Thermostat,
    Topology, VirtualSite, WaterShape,
};
use jostle_cuda::builds;
use jostle_cuda::driver::facts;
use jostle_cuda::kernels::{Build, Gpus, StepForces};
use jostle_cuda::nvrtc;
use jostle_fixtures::covalent;
use jostle_potentials::bonded::BondedTerm;
use jostle_potentials::electrostatics::Method;
use jostle_potentials::external::FormulaField;
use jostle_potentials::{
    AngleKind, BondKind, BondedKind, Cmap, DihedralKind, Dispersion, Electrostatics, Forces, LatticeSum,
    PairEntry, PairKind, PairTerm, Parameter, SuttonChen, Truncation,
};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Mutex;

/// Oldest and newest architecture that NVRTC 13.0 knows, and those between for which kernels choose other instructions.
const ARCHITECTURES: [&str; 4] = ["sm_75", "sm_80", "sm_90", "sm_120"];

/// Returns true where there is NVRTC. Where the environment names it, it must be there.
fn compiler() -> bool {
    match facts().compiler {
        Ok(_) => true,
        Err(why) if std::env::var_os("JOSTLE_NVRTC").is_some() => panic!("{why}"),
        Err(why) => {
            println!("skipped: {why}");
            false
        }
    }
}

#[test]
fn a_kernel_compiles_and_a_wrong_one_does_not() {
    if !compiler() {
        return;
    }
    let source = r#"
extern "C" __global__ void __launch_bounds__(SIZE) scaled(float* x) { x[threadIdx.x] *= SIZE; }"#;
    for architecture in ARCHITECTURES {
        nvrtc::check(source, &["-DSIZE=64".into()], architecture).unwrap();
    }
    let error = nvrtc::check(source, &[], "sm_90").unwrap_err();
    assert!(error.message().contains("SIZE"), "{error}");
    assert!(nvrtc::check(source, &["-DSIZE=64".into()], "sm_1").is_err());
}

/// Term of a kind for two species.
fn term(kind: PairKind, truncation: Truncation) -> PairTerm {
    let mut term = PairTerm::new(kind, truncation, 2);
    for (a, b, factor) in [(0, 0, 1.0), (0, 1, 1.05), (1, 1, 1.1)] {
        let parameters: Vec<f64> = kind.parameters().iter().map(|p| p.example * factor).collect();
        let cutoff = kind.natural_cutoff(&parameters).unwrap_or(2.4 * factor);
        term.set(a, b, PairEntry { parameters, cutoff });
    }
    term
}

/// Compiles a source that no test has compiled in this way before: builds of different systems share some.
fn check_once(build: &Build, option: &str, architecture: &str) {
    static DONE: Mutex<BTreeSet<(String, Vec<String>, String)>> = Mutex::new(BTreeSet::new());
    let options = [&build.options[..], &[option.into()]].concat();
    let is_new = DONE.lock().unwrap().insert((build.source.clone(), options.clone(), architecture.into()));
    if is_new {
        nvrtc::check(&build.source, &options, architecture).unwrap();
    }
}

/// Compiles to machine code, without optimisation, which would take two fifths of the time.
fn check(build: &Build, architecture: &str) {
    check_once(build, "--ptxas-options=-O0", architecture);
}

/// Compiles to PTX, without optimisation: a third of the time, for kernels of which others like them are compiled to
/// machine code.
fn check_language(build: &Build) {
    check_once(build, "--device-debug", "compute_90");
}

/// Kernels in mixed precision are compiled to machine code, those in double precision, which are the same but for the
/// type of some numbers, to PTX.
fn check_in(precision: Precision, build: &Build, architecture: &str) {
    match precision {
        Precision::Mixed => check(build, architecture),
        Precision::Double => check_language(build),
    }
}

/// Kernels of a run are compiled each by itself: what it needs of the source is there.
#[test]
fn every_kernel_compiles_by_itself() {
    if !compiler() {
        return;
    }
    let forces = term(PairKind::LennardJones, Truncation::Plain).into();
    let builds = builds::of_every_run(&forces, Precision::Mixed);
    let pairs = builds::default_builds(&forces, Precision::Mixed);
    for Build { source, options, .. } in [&builds[0], &pairs[0]] {
        let kernels = source.matches("extern \"C\" __global__").count();
        let options = [&options[..], &["--ptxas-options=-O0".into()]].concat();
        assert_eq!(nvrtc::check_each(source, &options, "sm_90").unwrap(), kernels);
    }
}

/// Kernels that do not wait for those before them may read incomplete data.
#[test]
fn every_kernel_begins_by_waiting() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels");
    let mut kernels = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let source = std::fs::read_to_string(file.unwrap().path()).unwrap();
        for kernel in source.split("extern \"C\" __global__").skip(1) {
            let (signature, body) = kernel.split_once('{').unwrap();
            assert!(body.trim_start().starts_with("wait_for_previous_kernel();"), "{signature}");
            kernels += 1;
        }
    }
    assert!(kernels > 80, "{kernels}");
}

/// Every potential under every truncation, each with one of the pair algorithms: kernels of these depend on a
/// potential only by a function that they call.
#[test]
fn every_kernel_compiles_for_every_potential() {
    if !compiler() {
        return;
    }
    let truncations = [
        Truncation::Plain,
        Truncation::Shifted,
        Truncation::ForceShifted,
        Truncation::Switched { from: 0.8 },
        Truncation::CharmmSwitched { from: 0.8 },
    ];
    for (number, kind) in PairKind::ALL.iter().enumerate() {
        let terms = truncations.map(|truncation| term(*kind, truncation)).to_vec();
        let builds = builds::default_builds(&terms.into(), Precision::Mixed);
        check_language(&builds[number % builds.len()]);
    }
}

#[test]
fn every_kernel_compiles_in_double_precision_with_exact_sums_and_every_thermostat() {
    if !compiler() {
        return;
    }
    let forces = term(PairKind::LennardJones, Truncation::Shifted).into();
    let target = Target { thermal_energy: 1.0, degrees_of_freedom: 9 };
    for thermostat in [
        Thermostat::Rescale(Rescale::new(target, 10, 0)),
        Thermostat::NoseHoover(NoseHoover::new(target, 1.0, 3)),
        Thermostat::Bussi(Bussi::new(target, 1.0, 0.01)),
    ] {
        let exact = builds::reproducible_builds(&forces, Precision::Double, &thermostat);
        exact.iter().for_each(|build| check(build, "sm_90"));
    }
    let every_run = builds::of_every_run(&forces, Precision::Double);
    let builds = builds::default_builds(&forces, Precision::Double);
    builds.iter().chain(&every_run).for_each(|build| check(build, "sm_90"));
}

/// Friction and noise of pairs, and friction of grains; fields and restraints; exchange between GPUs; walls that reflect.
#[test]
fn every_kernel_compiles_for_the_middle_of_a_step_for_external_forces_and_for_several_gpus() {
    if !compiler() {
        return;
    }
    let forces = term(PairKind::LennardJones, Truncation::Shifted).into();
    for precision in [Precision::Mixed, Precision::Double] {
        let check = |build: &Build| check_in(precision, build, "sm_90");
        builds::of_mid_steps(precision).iter().for_each(check);
        builds::of_external(precision).iter().for_each(check);
        builds::of_several_gpus(&forces, precision).iter().for_each(check);
        builds::of_reflection(&forces, precision).iter().for_each(check);
        check(&builds::of_formula_field(&formula_field(), precision));
    }
}

/// A field by a formula with every kind of name.
fn formula_field() -> FormulaField {
    let mut system = System::new(SimBox::orthorhombic([10.0; 3]).unwrap(), Vec::new());
    system.species.push(Species { name: "A".into(), mass: 1.0, charge: 1.0 });
    system.state.push(0, [1.0; 3]);
    let text = "k charge cos(2 pi x / 10) sin(time) + mass exp(-z^2) + if(y < 2, (y - 2)^2, 0)";
    FormulaField::new(text, &[("k".to_string(), 2.0)].into(), &system, 1.0, &|_, _| None).unwrap()
}

/// Variables and biases of every kind, among them formulas.
#[test]
fn every_kernel_compiles_for_biases() {
    if !compiler() {
        return;
    }
    let (name, numbers) = ("b".to_string(), vec![("k".to_string(), 2.0)]);
    let (text, variables) = ("k sqrt(d^2 + 1)".to_string(), vec![("d".to_string(), 0)]);
    let function = BiasFunction::Formula(VariableExpression { text, numbers, variables });
    let counts =
        [PairCount::Rational { reach: 1.5, powers: [6, 12] }, PairCount::Falling { steepness: 50.0 }];
    let counted = |count| CenterVariable {
        name: "n".into(),
        function: CenterFunction::Pairs(count, Vec::new()),
        groups: vec![0, 1],
        period: None,
    };
    let biases = CenterBiases {
        variables: counts.map(counted).to_vec(),
        biases: vec![CenterBias { name, function, variables: vec![0] }],
        ..CenterBiases::default()
    };
    for precision in [Precision::Mixed, Precision::Double] {
        let build = builds::of_biases(&biases, precision).unwrap();
        ["sm_75", "sm_90"].iter().for_each(|architecture| check_in(precision, &build, architecture));
    }
}

/// Options with which masses are looked up by id, and displacement limits by species.
#[test]
fn every_kernel_compiles_for_atoms_that_are_driven_one_by_one_and_for_light_and_heavy_ones() {
    if !compiler() {
        return;
    }
    let forces = term(PairKind::LennardJones, Truncation::Shifted).into();
    let thermostats = builds::reproducible_builds(
        &forces,
        Precision::Mixed,
        &Thermostat::Bussi(Bussi::new(Target { thermal_energy: 1.0, degrees_of_freedom: 9 }, 1.0, 0.01)),
    );
    let others = builds::of_mid_steps(Precision::Mixed).into_iter();
    let others = others.chain(builds::of_every_run(&forces, Precision::Mixed));
    for mut build in
        builds::default_builds(&forces, Precision::Mixed).into_iter().chain(thermostats).chain(others)
    {
        build.options.extend(["-DMASSES_BY_ID=1".into(), "-DLIMITS_BY_SPECIES=1".into()]);
        check(&build, "sm_90");
    }
}

/// Embedded atoms over tiles and lists, of one metal and of two.
#[test]
fn every_kernel_compiles_for_embedded_atoms() {
    if !compiler() {
        return;
    }
    let metals = ["Cu", "Ni"].map(|symbol| SuttonChen::metal(symbol).unwrap());
    for (count, precision) in [(1, Precision::Mixed), (2, Precision::Double)] {
        let metal = SuttonChen::embedded(&metals[..count], 5.5, 1.0, 1.0).unwrap();
        let builds = builds::default_builds(&metal.into(), precision);
        assert_eq!(builds.len(), 2);
        builds.iter().for_each(|build| check_in(precision, build, "sm_90"));
    }
}

/// Three-body forces of every kind, of one element and of two.
#[test]
fn every_kernel_compiles_for_three_body_forces() {
    if !compiler() {
        return;
    }
    for (force, precision) in [
        (covalent::silicon(), Precision::Mixed),
        (covalent::two_sizes(), Precision::Double),
        (covalent::silicon_carbide(), Precision::Mixed),
        (covalent::compound_with_triplet_cutoffs(), Precision::Double),
    ] {
        let builds = builds::default_builds(&force.into(), precision);
        assert_eq!(builds.len(), 1);
        builds.iter().for_each(|build| check_in(precision, build, "sm_90"));
    }
}

#[test]
fn every_kernel_compiles_for_molecules() {
    if compiler() {
        check_molecules(Precision::Mixed);
    }
}

#[test]
fn every_kernel_compiles_for_molecules_in_double_precision() {
    if compiler() {
        check_molecules(Precision::Double);
    }
}

/// Bonds, angles, dihedrals and maps of every kind; groups from one constraint to the largest number that may
/// be coupled.
fn check_molecules(precision: Precision) {
    let example = |parameters: &[Parameter]| parameters.iter().map(|p| p.example).collect::<Vec<_>>();
    macro_rules! terms {
        ($kind:ident) => {
            $kind::ALL.iter().map(|kind| BondedTerm::uniform(*kind, &example(kind.parameters())).unwrap())
        };
    }
    let forces = Forces {
        bonds: terms!(BondKind).collect(),
        angles: terms!(AngleKind).collect(),
        dihedrals: terms!(DihedralKind).collect(),
        cmaps: vec![Cmap::new(4, &[0.0; 16]).unwrap()],
        ..Forces::default()
    };
    let kinds = [("O", 16.0), ("H", 1.0), ("M", 0.0)];
    let species = kinds.map(|(name, mass)| Species { name: name.into(), mass, charge: 0.0 });
    let mut system = System::new(SimBox::orthorhombic([9.0; 3]).unwrap(), species.to_vec());
    let sizes = [1, 2, 3, 4];
    system.topology = Topology::rigid_water(1, &WaterShape::new(0.1, 109.5));
    (0..3 + sizes.iter().map(|n| n + 1).sum::<u32>())
        .for_each(|id| system.state.push(u16::from(id > 0), [0.0; 3]));
    let mut first = 3;
    for n in sizes {
        let hold = |k: u32| Constraint { atoms: [first, first + k], length: 0.1 };
        system.topology.constraints.extend((1..=n).map(hold));
        first += n + 1;
    }
    // Virtual sites: one that follows the last atoms, one out of their plane, and one in axes of theirs.
    let frame = LocalFrame {
        arms: Arms::Directions,
        origin: [0.5, 0.0],
        x: [1.0, 1.0],
        y: [-1.0, 1.0],
        place: [0.1, 0.0, 0.2],
    };
    for (site, rule) in (first..).zip([
        SiteRule::Average([0.5, 0.25, 0.25]),
        SiteRule::OutOfPlane([0.5, 0.25, 1.0]),
        SiteRule::Frame(frame),
    ]) {
        system.state.push(2, [0.0; 3]);
        let atoms = [first - 3, first - 2, first - 1];
        system.topology.virtual_sites.push(VirtualSite { site, atoms, rule });
    }
    let builds = builds::of_molecules(&system, &forces, precision).unwrap();
    builds.iter().for_each(|build| check_in(precision, build, "sm_75"));
}

/// Rigid bodies that a warp moves and that a larger block does, beside nothing else.
#[test]
fn every_kernel_compiles_for_rigid_bodies() {
    if !compiler() {
        return;
    }
    for (atoms, precision) in [(3, Precision::Mixed), (300, Precision::Double)] {
        let species = Species { name: "A".into(), mass: 1.0, charge: 0.0 };
        let mut system = System::new(SimBox::orthorhombic([90.0; 3]).unwrap(), vec![species]);
        for k in 0..atoms {
            let turn = f64::from(k);
            system.state.push(0, [0.1 * turn, turn.sin(), turn.cos()]);
        }
        let body =
            RigidBody::new(&system, &system.state.index_by_id(), &(0..atoms as u32).collect::<Vec<_>>(), 0.0)
                .unwrap();
        system.topology.rigid_bodies.push(body);
        let builds = builds::of_groups(&system, &Forces::default(), precision).unwrap();
        builds.iter().for_each(|build| check_in(precision, build, "sm_75"));
    }
}

/// Charges with meshes of all orders, and of lengths with all factors.
#[test]
fn every_kernel_compiles_for_charges() {
    if !compiler() {
        return;
    }
    let simbox = SimBox::orthorhombic([6.4, 8.4, 12.0]).unwrap();
    for precision in [Precision::Mixed, Precision::Double] {
        for order in Method::ORDERS {
            let pme = Electrostatics::new(Method::Pme { alpha: 3.0, order, spacing: 0.1 }, 138.9, 0.9);
            // The division of a mesh does not depend on the order.
            let gpus = if order == 5 { Gpus::Several } else { Gpus::One };
            let build = builds::of_sum(&LatticeSum::Charges(pme), &simbox, precision).unwrap();
            check_in(precision, &build.for_gpus(gpus), "sm_90");
        }
        let core = PairTerm::uniform(PairKind::LennardJones, Truncation::Plain, &[1.0, 0.3], 0.9);
        let dispersion = Dispersion::new(&core, Method::Pme { alpha: 3.0, order: 4, spacing: 0.1 }).unwrap();
        let sum = LatticeSum::Dispersion(dispersion.clone());
        check_in(precision, &builds::of_sum(&sum, &simbox, precision).unwrap(), "sm_90");
        let forces = Forces { dispersion: Some(dispersion), ..core.into() };
        builds::default_builds(&forces, precision)
            .iter()
            .for_each(|build| check_in(precision, build, "sm_75"));
        let ewald = Electrostatics::new(Method::ewald(0.9, 1e-5), 138.9, 0.9);
        check_in(
            precision,
            &builds::of_sum(&LatticeSum::Charges(ewald), &simbox, precision).unwrap(),
            "sm_75",
        );
        let field = Electrostatics::new(Method::ReactionField { dielectric: 78.5 }, 138.9, 0.9);
        check_in(
            precision,
            &builds::of_sum(&LatticeSum::Charges(field), &simbox, precision).unwrap(),
            "sm_75",
        );
        let pairs = vec![term(PairKind::LennardJones, Truncation::Shifted)];
        let forces = Forces { pairs, ..field.into() };
        check_in(precision, &builds::of_long_lists(&forces, precision), "sm_90");
        check_in(precision, &builds::of_long_lists(&forces, precision), "sm_75");
        let of_driven = builds::of_long_lists(&forces, precision).for_step_forces(StepForces::OnFreeAtoms);
        check_in(precision, &of_driven, "sm_90");
        let builds = builds::default_builds(&forces, precision);
        assert_eq!(builds.len(), 3);
        builds.iter().for_each(|build| check_in(precision, build, "sm_90"));
    }
    let many = Electrostatics::new(Method::Pme { alpha: 3.0, order: 4, spacing: 1e-3 }, 138.9, 0.9);
    let error = builds::of_sum(&LatticeSum::Charges(many), &simbox, Precision::Mixed).unwrap_err();
    assert!(error.message().contains("points along an edge"), "{error}");
}

/// Optimised code, as users have it, for the oldest and the newest architecture and that of Hopper; those between take
/// the same branches.
#[test]
fn every_kernel_compiles_for_every_architecture() {
    if !compiler() {
        return;
    }
    let term = PairTerm::uniform(PairKind::LennardJones, Truncation::Plain, &[1.0, 1.0], 2.5);
    let forces = term.into();
    let [every_run, _] = builds::of_every_run(&forces, Precision::Mixed);
    for build in builds::default_builds(&forces, Precision::Mixed).into_iter().chain([every_run]) {
        let check = |architecture: &str| nvrtc::check(&build.source, &build.options, architecture).unwrap();
        ["sm_75", "sm_90", "sm_120"].into_iter().for_each(check);
    }
}

/// Functions of the emulation, all of which CUDA has.
#[test]
fn the_functions_of_the_emulation_exist() {
    if compiler() {
        nvrtc::check(include_str!("intrinsics.cu"), &[], "sm_90").unwrap();
    }
}
