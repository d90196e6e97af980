//! Sources of all kernels of a run, put together: what is compiled for given forces.

use crate::added;
use crate::all_pairs::PairShape;
use crate::biases;
use crate::bonded;
use crate::codegen;
use crate::constraints;
use crate::device_force;
use crate::dissipative;
use crate::electrostatics;
use crate::embedded;
use crate::exchange;
use crate::external;
use crate::grains;
use crate::kernels::{
    self, Build, Gpus, PairAlgorithm, SEARCH, TileShape, WholeSteps, common_options, common_source, of_atoms,
};
use crate::list::ListThreads;
use crate::molecules;
use crate::reflection;
use crate::restraint;
use crate::sums::Summation;
use crate::thermostat;
use crate::three_body;
use crate::vacuum;
use jostle_core::backend::CenterBiases;
use jostle_core::constraints::Groups;
use jostle_core::{Precision, Result, SimBox, System, Thermostat};
use jostle_potentials::electrostatics::Method;
use jostle_potentials::external::FormulaField;
use jostle_potentials::{Forces, LatticeSum};

/// Source for pairs of atoms.
pub fn of_pairs(
    forces: &Forces,
    precision: Precision,
    algorithm: PairAlgorithm,
    shape: TileShape,
    pairs: PairShape,
    sums: Summation,
) -> Build {
    let pair = codegen::pair_source(&forces.pairs, &Vec::from_iter(forces.sums()), precision);
    let mut source = common_source();
    let of_metal = embedded::source(forces, precision);
    let of_centers = three_body::source(forces, precision);
    let passes = forces.embedded.as_ref().map(|_| include_str!("../kernels/embedded.cu"));
    let centers = forces.three_body.as_ref().map(|_| include_str!("../kernels/three_body.cu"));
    let physics = [pair.source.as_str(), of_metal.as_str(), of_centers.as_str()];
    let skeleton = [include_str!("../kernels/pair.cuh"), SEARCH, algorithm.source()];
    for part in physics.iter().chain(&skeleton).chain(&passes).chain(&centers) {
        source.push('\n');
        source.push_str(part);
    }
    let double = precision == Precision::Double;
    let mut options = common_options(precision, sums);
    options.extend(sums.unit());
    options.push(format!("-DWHOLE_STEPS={}", WholeSteps::of(forces) as i32));
    match algorithm {
        PairAlgorithm::Tiles => {
            let resident = if double { shape.resident / 2 } else { shape.resident };
            options.extend([
                format!("-DTILE_ATOMS={}", shape.atoms),
                format!("-DTEAM={}", shape.team),
                format!("-DPARTS={}", shape.parts),
                format!("-DTILE_SIZE={}", shape.size as i32),
                format!("-DRESIDENT={}", resident.max(shape.threads())),
            ]);
        }
        PairAlgorithm::AllPairs => options.extend(pairs.options(precision)),
        PairAlgorithm::List => {
            options.extend(ListThreads::of_shape(shape, forces, sums).options());
        }
        PairAlgorithm::Cells => {}
    }
    Build { source, options, table: pair.table }
}

/// Sources of forces in the middle of a step: friction and noise of pairs, and friction of grains.
pub fn of_mid_steps(precision: Precision) -> [Build; 2] {
    [dissipative::build(precision, Summation::Fast), grains::build(precision, Summation::Fast)]
}

/// Sources of restraints, of fields, and of forces that the host or others on the device add.
pub fn of_external(precision: Precision) -> [Build; 4] {
    let sums = Summation::Fast;
    [
        restraint::build(precision, sums),
        external::field(precision, sums),
        added::build(precision, sums),
        device_force::build(precision, sums),
    ]
}

/// Sources that walls change which reflect atoms: kernels that move them, alone and with these forces, forces in the middle
/// of a step, and the reflection by itself.
pub fn of_reflection(forces: &Forces, precision: Precision) -> Vec<Build> {
    let fast = Summation::Fast;
    let moving = [of_atoms(precision, fast), reflection::build(precision, fast)];
    let all = moving.into_iter().chain(of_mid_steps(precision)).chain(of_several_gpus(forces, precision));
    let with_option = |mut build: Build| {
        build.options.push(reflection::OPTION.into());
        build
    };
    all.chain(default_builds(forces, precision)).map(with_option).collect()
}

/// Source of a field by a formula.
pub fn of_formula_field(field: &FormulaField, precision: Precision) -> Build {
    external::formula_field(field, precision, Summation::Fast)
}

/// Source of biases.
///
/// # Errors
/// If a formula cannot be read.
pub fn of_biases(biases: &CenterBiases, precision: Precision) -> Result<Build> {
    biases::build(biases, biases::Functions::All, precision, Summation::Fast)
}

/// Sources that several GPUs need: the exchange between them, with fast sums and with exact ones of a unit of 1, and
/// kernels that move atoms.
pub fn of_several_gpus(forces: &Forces, precision: Precision) -> Vec<Build> {
    let exchanges = [Summation::Fast, Summation::Exact(1.0)].map(|sums| exchange::build(precision, sums));
    let fast = Summation::Fast;
    let moving = [PairAlgorithm::Tiles, PairAlgorithm::List]
        .map(|algorithm| {
            of_pairs(
                forces,
                precision,
                algorithm,
                TileShape::new(128, 1),
                PairShape::for_atoms(100_000),
                fast,
            )
        })
        .into_iter()
        .chain([of_atoms(precision, fast)]);
    exchanges.into_iter().chain(moving.map(|build| build.for_gpus(Gpus::Several))).collect()
}

/// Sources that are compiled for every run, whatever its forces: with fast sums, and with exact ones for
/// these forces.
pub fn of_every_run(forces: &Forces, precision: Precision) -> [Build; 2] {
    [Summation::Fast, Summation::exact(forces)].map(|sums| of_atoms(precision, sums))
}

/// Sources that may be compiled for a run with these forces, with large systems in mind: every pair
/// algorithm.
pub fn default_builds(forces: &Forces, precision: Precision) -> Vec<Build> {
    builds(forces, precision, &PairAlgorithm::ALL, Summation::Fast)
}

/// Source of tiles where lists are long and densities uneven: several threads an atom, blocks in parts.
pub fn of_long_lists(forces: &Forces, precision: Precision) -> Build {
    let shape = TileShape { parts: 2, ..TileShape::new(32, 8) };
    of_pairs(forces, precision, PairAlgorithm::Tiles, shape, PairShape::for_atoms(100_000), Summation::Fast)
}

/// Default builds with exact sums, as reproducible runs need them, and those of a thermostat.
pub fn reproducible_builds(forces: &Forces, precision: Precision, scaling: &Thermostat) -> Vec<Build> {
    let exact = Summation::exact(forces);
    let mut builds = builds(forces, precision, &PairAlgorithm::EXACT, exact);
    if let Some(update) = thermostat::source(scaling) {
        builds.extend([Summation::Fast, exact].map(|sums| kernels::thermostat(&update, precision, sums)));
    }
    builds
}

/// Sources that may be compiled for molecules: bonded terms, for few and for many entries an atom,
/// constraints, changes of the box, and forces in open space.
///
/// # Errors
/// If too many constraints are coupled.
pub fn of_molecules(system: &System, forces: &Forces, precision: Precision) -> Result<Vec<Build>> {
    let sums = [Summation::Fast, Summation::exact(forces)];
    let shapes = [(bonded::Which::All, 1), (bonded::Which::Some, 8)];
    let bonded = sums
        .iter()
        .flat_map(|sums| shapes.map(|(which, team)| bonded::build(forces, which, team, precision, *sums)));
    let of_one: Vec<Build> = bonded.collect();
    let of_several = of_one.clone().into_iter().map(|build| build.for_gpus(Gpus::Several));
    let volume = sums.iter().map(|sums| molecules::build(precision, *sums));
    let vacuum = std::iter::once_with(|| vacuum::build(precision));
    let groups = of_groups(system, forces, precision)?;
    Ok(of_one.into_iter().chain(of_several).chain(groups).chain(volume).chain(vacuum).collect())
}

/// Sources of constraints and rigid bodies, for one GPU and for several.
///
/// # Errors
/// If too many constraints are coupled.
pub fn of_groups(system: &System, forces: &Forces, precision: Precision) -> Result<Vec<Build>> {
    let groups = Groups::new(system)?;
    let sums = [Summation::Fast, Summation::exact(forces)];
    let of_one = sums.map(|sums| constraints::build(&groups, precision, sums)).to_vec();
    let of_several = of_one.clone().into_iter().map(|build| build.for_gpus(Gpus::Several));
    Ok(of_one.into_iter().chain(of_several).collect())
}

/// Source that a sum over all images needs besides pairs: a mesh, which includes excluded atoms, Ewald's sum
/// in reciprocal space, or excluded atoms alone.
///
/// # Errors
/// If a mesh has more points than a GPU can have.
pub fn of_sum(sum: &LatticeSum, simbox: &SimBox, precision: Precision) -> Result<Build> {
    if let Method::Ewald { .. } = sum.method() {
        return Ok(electrostatics::ewald::build(sum, precision));
    }
    let mesh = electrostatics::mesh::source(sum, simbox, precision, Summation::Fast)?;
    Ok(mesh.unwrap_or_else(|| electrostatics::excluded::build(sum, precision, Summation::Fast)))
}

fn builds(
    forces: &Forces,
    precision: Precision,
    algorithms: &[PairAlgorithm],
    sums: Summation,
) -> Vec<Build> {
    let shape = TileShape::new(128, 1);
    let pairs = PairShape::for_atoms(100_000);
    let algorithms = algorithms.iter().filter(|algorithm| algorithm.has(forces, sums));
    algorithms.map(|algorithm| of_pairs(forces, precision, *algorithm, shape, pairs, sums)).collect()
}
