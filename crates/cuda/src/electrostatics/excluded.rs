//! Charges that are excluded from each other (`kernels/excluded.cu`).

use crate::codegen;
use crate::driver::{Buffer, Device, Kernel, Launch, Word};
use crate::kernels::{self, ATOM_THREADS, Build};
use crate::list::Excluded;
use crate::search::When;
use crate::sums::Summation;
use crate::world::World;
use jostle_core::{Evaluate, Exclude, Precision, Result, System};
use jostle_potentials::Electrostatics;
use jostle_potentials::electrostatics::Method;

/// What kernels are told: as in `excluded.cu`, field by field.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Pairs {
    layers: i64,
    cutoff2: f64,
    excluded: u64,
    place: u64,
    partner: u64,
}

// SAFETY: numbers only, and no padding between them.
unsafe impl Word for Pairs {}

/// The kernels, and who is excluded from whom.
pub struct ExcludedCharges {
    pairs: Pairs,
    shares: u32,
    places: Kernel,
    find: Kernel,
    forces: Kernel,
    energies: Kernel,
    /// What the addresses in `pairs` belong to.
    excluded: Excluded,
    words: [Buffer<u32>; 2],
}

/// The kernels' source.
pub fn build(term: &Electrostatics, precision: Precision, sums: Summation) -> Build {
    let source = codegen::excluded_source(term, precision);
    kernels::beside(&source, include_str!("../../kernels/excluded.cu"), precision, sums)
}

impl ExcludedCharges {
    /// Those of a system; `None` where there are none, or they feel nothing.
    ///
    /// # Errors
    /// If there is no compiler for the device, or not enough memory.
    pub fn new(
        device: &Device,
        system: &System,
        term: &Electrostatics,
        exclude: Exclude,
        precision: Precision,
        sums: Summation,
    ) -> Result<Option<Self>> {
        let n = system.state.len();
        let excluded = Excluded::new(device, &system.topology.exclusions(n, exclude))?;
        if excluded.is_empty() || term.method == Method::Cutoff {
            return Ok(None);
        }
        let build = build(term, precision, sums);
        let module = device.compile("excluded.cu", &build.source, &build.options)?;
        let words = [device.alloc(n)?, device.alloc(n * excluded.layers())?];
        let cutoff2 = match term.method.alpha() {
            Some(_) => f64::INFINITY,
            None => term.cutoff * term.cutoff,
        };
        Ok(Some(ExcludedCharges {
            pairs: Pairs {
                layers: excluded.layers() as i64,
                cutoff2,
                excluded: excluded.address(),
                place: words[0].address(),
                partner: words[1].address(),
            },
            shares: sums.shares(n, ATOM_THREADS),
            places: module.kernel("excluded_places")?,
            find: module.kernel("excluded_find")?,
            forces: module.kernel("excluded_forces")?,
            energies: module.kernel("excluded_forces_energies")?,
            excluded,
            words,
        }))
    }

    fn launch(&self, kernel: &Kernel, world: &World, slot: i32) -> Launch {
        let blocks = (world.n as u32).div_ceil(ATOM_THREADS).max(1);
        Launch::new(kernel, blocks, ATOM_THREADS).with_value(*world).with_value(self.pairs).with_value(slot)
    }

    /// Where everybody is, after a sort: part of what builds lists.
    pub fn build(&self, world: &World, slot: i32) -> Vec<Launch> {
        vec![self.launch(&self.places, world, slot), self.launch(&self.find, world, slot)]
    }

    /// Adds the forces; with energies, leaves shares of energy and virial.
    pub fn forces(&self, world: &World, slot: i32, when: When, evaluate: Evaluate) -> Launch {
        let kernel = match evaluate {
            Evaluate::Forces => &self.forces,
            Evaluate::ForcesAndEnergies => &self.energies,
        };
        self.launch(kernel, world, slot).with_value(when as i32)
    }

    /// How many shares there are.
    pub fn shares(&self) -> u32 {
        self.shares
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        self.excluded.bytes() + 4 * self.words.iter().map(Buffer::len).sum::<usize>()
    }
}
