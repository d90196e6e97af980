//! The CPU engine: spatial sort and clusters ([`cells`]), pair lists ([`neighbors`]), SIMD forces over their
//! blocks ([`blocks`], [`interaction`], [`pair`], [`embedded`], [`simd`]), bonded forces ([`bonded`]),
//! molecules in open space ([`vacuum`]), a team of threads ([`threads`]), and a plain reference that all of
//! it is tested against ([`mod@reference`]).

pub mod blocks;
pub mod bonded;
pub mod by_id;
pub mod cells;
mod changes;
mod coefficients;
pub mod columns;
mod constraint_kernels;
pub mod constraints;
pub mod dissipative;
mod division;
mod domains;
pub mod electrostatics;
pub mod embedded;
mod engine;
pub mod external;
pub mod formula;
pub mod fourier;
pub mod grains;
mod group_batch;
pub mod integrate;
pub mod interaction;
pub mod near;
pub mod neighbors;
pub mod noise;
pub mod pair;
mod pair_search;
mod ranks;
pub mod reference;
mod rigid_kernels;
pub mod search;
pub mod simd;
pub mod skin;
mod sparse;
mod table;
pub mod threads;
pub mod three_body;
pub mod vacuum;

pub use engine::{Cpu, HeatCurrent};
pub use ranks::Ranks;
pub use simd::Level;

use jostle_core::{Algorithm, Backend, Precision, Processor, Result, Settings, System};
use jostle_potentials::Forces;
use jostle_transport::Communicator;

/// Puts a system on the CPU, with the best instruction set it has.
///
/// # Errors
/// If a cut-off exceeds half the box, a term and the system disagree on the species, or the
/// algorithm is one of a GPU's.
pub fn open(system: System, forces: impl Into<Forces>, settings: Settings) -> Result<Box<dyn Backend>> {
    open_at(system, forces, settings, Level::best())
}

/// Puts a system on the CPU, with a given instruction set (the portable one where it is missing).
pub fn open_at(
    system: System,
    forces: impl Into<Forces>,
    settings: Settings,
    level: Level,
) -> Result<Box<dyn Backend>> {
    place(system, forces.into(), settings, (level, None))
}

/// Puts a system on the processors of all ranks of a communicator, which call this with the same system, forces and
/// settings.
///
/// # Errors
/// Errors of [`open`], or if another rank has failed.
pub fn open_on_ranks(
    system: System,
    forces: Forces,
    settings: Settings,
    communicator: Communicator,
) -> Result<Box<dyn Backend>> {
    let ranks = Ranks::agree(communicator, &settings, Level::best())?;
    place(system, forces, settings, (ranks.level(), Some(ranks)))
}

/// Body of [`open_at`], not generic, so that the kernels are compiled once, here, and not with every caller.
fn place(
    system: System,
    forces: Forces,
    settings: Settings,
    (level, ranks): (Level, Option<Ranks>),
) -> Result<Box<dyn Backend>> {
    settings.algorithm.check(Processor::Cpu)?;
    let on = (if level.is_available() { level } else { Level::Portable }, ranks);
    match (settings.algorithm, settings.precision) {
        (Algorithm::Reference, _) | (_, Precision::Double) => {
            Ok(Box::new(Cpu::<f64>::new(system, forces, settings, on)?))
        }
        (_, Precision::Mixed) => Ok(Box::new(Cpu::<f32>::new(system, forces, settings, on)?)),
    }
}
