//! Choice of the pair algorithm and of the capacity of its lists: made at the start, and again where they do
//! not fit.

use super::cost::{self, Size};
use super::extent::Extent;
use super::layout::Layout;
use crate::all_pairs::{self, AllPairs, PairShape};
use crate::balance::Balance;
use crate::builds;
use crate::cells::Cells;
use crate::device_data::{AtomDivision, Control, MOST_GPUS, faults};
use crate::driver::{Device, Module};
use crate::embedded::EmbeddedTables;
use crate::exchange::{Division, Exchange, MeshDivision, Moving, Needs};
use crate::exclusions::Exclusions;
use crate::kernels::{Build, Gpus, PairAlgorithm, StepForces, TileShape, WholeSteps};
use crate::list::{self, List, ListThreads};
use crate::list_capacity::ListCapacity;
use crate::many_body::ManyBodyEngine;
use crate::neighbor_engine::NeighborEngine;
use crate::peers::Peers;
use crate::sums::Summation;
use crate::three_body::CenterRows;
use crate::tiles::{self, Tiles};
use jostle_core::{Algorithm, Error, Precision, Result, Settings};
use jostle_potentials::Forces;
use std::ops::Range;

/// Most blocks among which the atoms of one may be divided, most of which then find nothing to do: where there is room
/// for them, and where replicas share the GPU.
const MOST_PARTS: u32 = 16;
const MOST_PARTS_OF_REPLICAS: u32 = 2;

/// Number of atoms with lists of their own that belong to the same GPU: arrays are copied in words of 16 bytes.
const LIST_GRAIN: usize = 32;

/// Part of the estimates of a tile that hardly any tile needs.
const SPARE: f64 = 0.2;

/// Estimated time of a step, in that of the fastest algorithm, above which an algorithm is not measured.
const OUT_OF_THE_RACE: f64 = 8.0;

/// Quality of the capacity of tiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Tightness {
    /// Estimated, or grown from an estimate.
    Estimated,
    /// Taken from the needs of recent tiles.
    Tight,
    /// Found too small once after it was taken from recent tiles: lists grow and do not shrink again.
    Learnt,
}

/// Pair algorithm, and parameters of its kernels and lists.
pub struct Plan {
    /// Current pair algorithm.
    pub algorithm: PairAlgorithm,
    /// True where it may be replaced by another one that fits, or is faster.
    pub free: bool,
    /// Tiles, and number of steps that are recorded at a time.
    pub layout: Layout,
    /// Capacity of the lists of tiles.
    pub capacity: ListCapacity,
    /// Origin of this capacity.
    pub(super) tightness: Tightness,
    /// Capacity of the list of an atom.
    pub rows: usize,
    /// Kind of sums.
    pub summation: Summation,
    forces: Forces,
    /// Forces that steps need.
    pub needed: StepForces,
    /// Pair algorithms that support these forces.
    pub algorithms: Vec<PairAlgorithm>,
    /// Size of an atom of a tile, in bytes.
    atom_bytes: usize,
    /// Tiles of the algorithm over all pairs.
    pub pairs: PairShape,
    /// Atoms without a pair force.
    pub excluded: Exclusions,
    pub precision: Precision,
    pub n: usize,
    /// Number of replicas that share the GPU.
    pub replicas: usize,
    multiprocessors: u32,
    /// The other GPUs of the run, and the shares of all.
    pub peers: Option<(Peers, Balance)>,
}

/// Pair algorithm that the settings name; `None` where they leave it open.
fn named(settings: &Settings, excluded: &Exclusions) -> Result<Option<PairAlgorithm>> {
    let name = settings.algorithm.name();
    Ok(Some(match settings.algorithm {
        Algorithm::Cells | Algorithm::AllPairs if !excluded.is_empty() => {
            return Err(Error::input(format!(
                "algorithm = \"{name}\" together with bound atoms that are excluded"
            ))
            .hint("only lists leave pairs out: leave algorithm out, or set \"tiles\" or \"list\""));
        }
        Algorithm::Tiles | Algorithm::AllPairs if settings.reproducible => {
            return Err(Error::input(format!("algorithm = \"{name}\" together with reproducible = true"))
                .hint(
                    "its sums depend on the order of the atoms; leave it out, or set \"list\" or \"cells\"",
                ));
        }
        Algorithm::Auto => return Ok(None),
        Algorithm::Tiles => PairAlgorithm::Tiles,
        Algorithm::List => PairAlgorithm::List,
        Algorithm::Cells => PairAlgorithm::Cells,
        Algorithm::AllPairs => PairAlgorithm::AllPairs,
        Algorithm::Clusters | Algorithm::Reference => {
            return Err(Error::input(format!("a GPU has no algorithm \"{name}\""))
                .hint("leave it out, or set device = \"cpu\""));
        }
    }))
}

/// Algorithm that is probably the fastest of some, for a system of `n` atoms; `size` has those of all replicas.
fn cheapest(
    algorithms: &[PairAlgorithm],
    layout: Layout,
    extent: Extent,
    size: Size,
    n: usize,
) -> PairAlgorithm {
    // Tiles that hold every atom are all pairs, with less exact positions.
    let tile = ListCapacity::estimate(layout.shape, extent.density, extent.reach, usize::MAX).tile;
    let room_for_tiles = extent.has_room_for(layout.shape.atoms.min(32)) && tile < n;
    let fits = |algorithm: &PairAlgorithm| *algorithm != PairAlgorithm::Tiles || room_for_tiles;
    cost::cheapest(algorithms.iter().copied().filter(fits), size).unwrap_or(PairAlgorithm::Tiles)
}

impl Plan {
    /// Plan for given settings.
    ///
    /// # Errors
    /// If a GPU has no such algorithm, or the algorithm cannot be reproducible.
    pub fn new(
        settings: Settings,
        summation: Summation,
        forces: &Forces,
        layout: Layout,
        (extent, multiprocessors): (Extent, u32),
        excluded: Exclusions,
        n: usize,
    ) -> Result<Self> {
        let layout = layout.in_box(extent);
        let mut algorithms = PairAlgorithm::ALL.to_vec();
        algorithms.retain(|algorithm| {
            algorithm.has(forces, summation) && (excluded.is_empty() || algorithm.excludes())
        });
        let (algorithm, free) = match named(&settings, &excluded)? {
            Some(algorithm) => (algorithm, false),
            // Forces in the middle of a step use lists of atoms.
            None if settings.reproducible || forces.grains.is_some() => (PairAlgorithm::List, false),
            None => {
                let size = Size { atoms: n, neighbors: extent.neighbors(), multiprocessors };
                (cheapest(&algorithms, layout, extent, size, n), true)
            }
        };
        if !algorithms.contains(&algorithm) {
            let what = if settings.reproducible { "reproducible runs" } else { "such an algorithm" };
            let forces = match (&forces.embedded, &forces.three_body) {
                (Some(_), _) => "of embedded atoms",
                (_, Some(_)) => "with three-body forces",
                (None, None) => "with charges",
            };
            let names: Vec<_> = algorithms.iter().map(|a| format!("\"{}\"", a.name())).collect();
            let remedy = match names.is_empty() {
                true => "leave out reproducible".to_string(),
                false => format!("set algorithm = {}", names.join(" or ")),
            };
            return Err(Error::input(format!("the GPU engine has no {what} {forces}"))
                .hint(format!("{remedy}, or set device = \"cpu\"")));
        }
        Ok(Plan {
            algorithm,
            free,
            layout,
            capacity: ListCapacity::estimate(layout.shape, extent.density, extent.reach, n)
                .small_without(SPARE),
            rows: list::estimate(extent.density, extent.reach, n),
            tightness: Tightness::Estimated,
            summation,
            forces: forces.clone(),
            needed: StepForces::OnAllAtoms,
            algorithms,
            atom_bytes: tiles::atom_bytes(settings.precision, forces),
            pairs: PairShape::for_atoms(n),
            excluded,
            precision: settings.precision,
            n,
            replicas: 1,
            multiprocessors,
            peers: None,
        })
    }

    /// True where pairs are in lists that last for some steps.
    pub fn has_lists(&self) -> bool {
        matches!(self.algorithm, PairAlgorithm::Tiles | PairAlgorithm::List)
    }

    /// Adapts layout and algorithm to so many replicas that share the GPU: alone, a small system is divided among more
    /// threads than pay where all its replicas keep the GPU busy. Returns false where the plan stays as it was.
    pub fn share_with_replicas(&mut self, layout: Layout, replicas: usize, extent: Extent) -> bool {
        let (before, algorithm) = (self.layout, self.algorithm);
        self.replicas = replicas;
        self.layout = Layout { slots_per_look: before.slots_per_look, ..layout.in_box(extent) };
        self.layout.shape.size = before.shape.size;
        if self.free {
            self.algorithm = cheapest(&self.algorithms, self.layout, extent, self.size(extent), self.n);
        }
        if (self.layout, self.algorithm) == (before, algorithm) {
            return false;
        }
        self.capacity = self.estimate(extent).small_without(SPARE);
        self.tightness = Tightness::Estimated;
        true
    }

    /// Divides the work with other GPUs.
    pub fn share(&mut self, peers: Peers) {
        let balance = Balance::new(peers.count());
        self.peers = Some((peers, balance));
    }

    /// The other GPUs of the run.
    pub fn peers(&self) -> Option<&Peers> {
        self.peers.as_ref().map(|(peers, _)| peers)
    }

    /// GPUs that divide meshes, where pairs are divided by atoms.
    pub fn mesh_gpus(&self) -> Gpus {
        match self.peers().map(|peers| peers.exchange.mesh_division()) {
            Some(MeshDivision::Divided) => Gpus::Several,
            Some(MeshDivision::Alike) | None => Gpus::One,
        }
    }

    /// Division of pairs among several GPUs; `None` where each GPU computes all of them.
    pub fn division(&self) -> Option<Division> {
        let exchange = &self.peers()?.exchange;
        match self.algorithm {
            PairAlgorithm::Tiles | PairAlgorithm::List => Some(Division::Atoms),
            PairAlgorithm::AllPairs => exchange.sums_forces().then_some(Division::Pairs),
            PairAlgorithm::Cells => None,
        }
    }

    /// Exchange of forces, where pairs are divided among several GPUs.
    pub fn exchange(&self) -> Option<&Exchange> {
        self.division().and_then(|_| self.peers()).map(|peers| &peers.exchange)
    }

    /// Atoms on which this GPU computes forces: whole tiles.
    pub fn owned(&self) -> Range<usize> {
        match &self.peers {
            Some((peers, balance)) if self.division() == Some(Division::Atoms) => {
                balance.owned(peers.rank, self.n, self.grain())
            }
            _ => 0..self.n,
        }
    }

    /// Number of atoms that belong to the same GPU.
    fn grain(&self) -> usize {
        match self.algorithm {
            PairAlgorithm::Tiles => self.layout.shape.atoms as usize,
            _ => LIST_GRAIN,
        }
    }

    /// Division of atoms among the GPUs.
    pub fn atom_division(&self, moving: Moving, needs: Needs) -> AtomDivision {
        let Some((peers, balance)) = self.peers.as_ref().filter(|_| self.division() == Some(Division::Atoms))
        else {
            return AtomDivision::default();
        };
        let mut end = [self.n as i32; MOST_GPUS];
        for (rank, end) in end.iter_mut().enumerate().take(peers.count()) {
            *end = balance.owned(rank, self.n, self.grain()).end as i32;
        }
        peers.exchange.division(end, moving, needs)
    }

    /// True where each atom has a list of all others within reach.
    pub fn lists_all_pairs(&self) -> bool {
        self.algorithm == PairAlgorithm::List && self.excluded.is_empty()
    }

    /// Pair algorithms that are worth measuring, where the settings leave them open: all pairs not where they
    /// are many times as many as those within the cut-off.
    pub fn open_algorithms(&self, extent: Extent) -> Vec<PairAlgorithm> {
        let size = self.size(extent);
        let least = self
            .algorithms
            .iter()
            .filter_map(|algorithm| cost::of_step(*algorithm, size))
            .fold(f64::INFINITY, f64::min);
        let mut algorithms = self.algorithms.clone();
        let within_reason = |algorithm: PairAlgorithm| {
            cost::of_step(algorithm, size).is_none_or(|time| time < OUT_OF_THE_RACE * least)
        };
        algorithms.retain(|algorithm| *algorithm != PairAlgorithm::AllPairs || within_reason(*algorithm));
        algorithms
    }

    fn size(&self, extent: Extent) -> Size {
        let atoms = self.n * self.replicas;
        Size { atoms, neighbors: extent.neighbors(), multiprocessors: self.multiprocessors }
    }

    /// Replaces tiles by another algorithm where a block has not enough memory for them.
    ///
    /// # Errors
    /// If a block has too little memory, and the settings ask for tiles.
    pub fn fit(&mut self, device: &Device, extent: Extent) -> Result<()> {
        if self.algorithm == PairAlgorithm::Tiles {
            match tiles::check(device, self.atom_bytes, self.layout.shape, self.capacity) {
                Err(_) if self.has_grown(extent) && self.divide_blocks(extent) => {
                    return self.fit(device, extent);
                }
                Err(_) if self.free => self.give_tiles_up(extent),
                checked => checked?,
            }
        }
        self.layout.shape.size = tiles::size(self.precision, self.capacity);
        Ok(())
    }

    /// True where tiles turned out to need a larger capacity than estimated.
    fn has_grown(&self, extent: Extent) -> bool {
        self.capacity.tile > self.estimate(extent).tile
    }

    fn estimate(&self, extent: Extent) -> ListCapacity {
        ListCapacity::estimate(self.layout.shape, extent.density, extent.reach, self.n)
    }

    /// Makes blocks that do not fit into tiles smaller, or divides them into more parts; returns false where
    /// that is no remedy: where the box is too small, or there are more than a few parts.
    fn divide_blocks(&mut self, extent: Extent) -> bool {
        let shape = &mut self.layout.shape;
        let most_parts = if self.replicas > 1 { MOST_PARTS_OF_REPLICAS } else { MOST_PARTS };
        if let Some(smaller) = shape.halved() {
            *shape = smaller;
        } else if shape.parts < most_parts && extent.has_room_for(shape.atoms) {
            shape.parts *= 2;
        } else {
            return false;
        }
        self.capacity = self.estimate(extent).small_without(SPARE);
        true
    }

    fn give_tiles_up(&mut self, extent: Extent) {
        let others = self.algorithms.iter().copied().filter(|algorithm| *algorithm != PairAlgorithm::Tiles);
        self.algorithm = cost::cheapest(others, self.size(extent)).unwrap_or(PairAlgorithm::List);
    }

    /// Parameters of the kernels: they are compiled again when these change.
    pub fn compiled(&self) -> (PairAlgorithm, TileShape, PairShape) {
        (self.algorithm, self.layout.shape, self.pairs)
    }

    /// Source of the kernels.
    pub fn build(&self, forces: &Forces) -> Build {
        let (algorithm, shape) = (self.algorithm, self.layout.shape);
        builds::of_pairs(forces, self.precision, algorithm, shape, self.pairs, self.summation)
            .for_gpus(self.gpus())
            .for_step_forces(self.step_forces())
    }

    /// Forces that steps find: those they need, but for lists of atoms, embedded ones, whose forces depend on the density
    /// at all others, and several GPUs, which tell each other what their lists have.
    fn step_forces(&self) -> StepForces {
        let tiles = self.algorithm == PairAlgorithm::Tiles;
        if tiles && self.peers.is_none() && self.forces.embedded.is_none() {
            self.needed
        } else {
            StepForces::OnAllAtoms
        }
    }

    /// Number of GPUs for which kernels that move atoms are compiled.
    pub fn gpus(&self) -> Gpus {
        if self.peers.is_some() { Gpus::Several } else { Gpus::One }
    }

    /// Compiles the kernels, or finds them in the cache.
    ///
    /// # Errors
    /// If there is no compiler for the device, or the compiler refuses the source.
    pub fn compile(&self, device: &Device, build: &Build) -> Result<Module> {
        device.compile("pairs.cu", &build.source, &build.options)
    }

    /// Kernels and memory of the pair algorithm.
    ///
    /// # Errors
    /// If the device has too little memory.
    pub fn open(&self, device: &Device, module: &Module) -> Result<Box<dyn NeighborEngine>> {
        let (precision, n, owned) = (self.precision, self.n, self.owned().len());
        let steps = (WholeSteps::of(&self.forces), self.step_forces());
        let pairs: Box<dyn NeighborEngine> = match self.algorithm {
            PairAlgorithm::Tiles => {
                let shape = self.layout.shape;
                Box::new(Tiles::new(device, module, self.atom_bytes, shape, self.capacity, owned, steps)?)
            }
            PairAlgorithm::List => {
                let threads = ListThreads::of_shape(self.layout.shape, &self.forces, self.summation);
                Box::new(List::new(device, module, [n, owned], self.rows, threads, self.summation, steps.0)?)
            }
            PairAlgorithm::Cells => Box::new(Cells::new(module, n, self.summation, steps.0)?),
            PairAlgorithm::AllPairs => {
                let of_gpus = match (self.division(), self.peers()) {
                    (Some(Division::Pairs), Some(peers)) => [peers.rank, peers.count()],
                    _ => [0, 1],
                };
                Box::new(AllPairs::new(device, module, precision, self.pairs, n, of_gpus)?)
            }
        };
        Ok(match (&self.forces.embedded, &self.forces.three_body) {
            (Some(term), _) => {
                let tables = EmbeddedTables::new(device, precision, term, n)?;
                Box::new(ManyBodyEngine::new(module, tables, pairs, self.exchange().cloned())?)
            }
            (None, Some(term)) => {
                let rows = CenterRows::new(device, precision, term, n)?;
                Box::new(ManyBodyEngine::new(module, rows, pairs, self.exchange().cloned())?)
            }
            (None, None) => pairs,
        })
    }

    /// Number of atoms in a piece of a column that is as long as wide; at least `together` where pairs leave it open.
    pub fn atoms_in_cube(&self, density: f64, cutoff: f64, together: u32) -> u32 {
        match self.algorithm {
            PairAlgorithm::Tiles => self.layout.shape.atoms,
            // Columns half as wide as the reach contain few atoms beyond it.
            PairAlgorithm::List | PairAlgorithm::Cells => {
                ((density * (0.5 * cutoff).powi(3)).clamp(2.0, 1e6) as u32).max(together)
            }
            PairAlgorithm::AllPairs => all_pairs::GROUP as u32,
        }
    }

    /// Reduces the capacity that tiles do not need: the memory of a tile decides how many of them a
    /// multiprocessor has at a time. `None` if there is nothing to gain.
    pub fn tighten(&mut self, control: &Control) -> Option<ListCapacity> {
        if self.algorithm != PairAlgorithm::Tiles || self.tightness == Tightness::Learnt {
            return None;
        }
        self.capacity = self.capacity.tightened(control)?;
        self.tightness = Tightness::Tight;
        Some(self.capacity)
    }

    /// Adapts the capacity to another reach of the lists, by the needs of those before; experience with these
    /// does not apply to the next. `None` without tiles.
    pub fn resize(&mut self, control: &Control, before: Extent, after: Extent) -> Option<ListCapacity> {
        if self.algorithm != PairAlgorithm::Tiles || control.largest_tile == 0 {
            return None;
        }
        self.tightness = Tightness::Estimated;
        self.capacity =
            ListCapacity::scaled(self.layout.shape, control, self.estimate(before), self.estimate(after));
        Some(self.capacity)
    }

    /// Grows the lists that were full.
    ///
    /// # Errors
    /// If the box is too small for tiles, and the settings ask for them.
    pub fn grow_lists(&mut self, control: &Control, extent: Extent) -> Result<()> {
        if control.faults & faults::UNFIT != 0 {
            let divided = self.divide_blocks(extent);
            if !divided && self.free {
                self.give_tiles_up(extent);
            } else if !divided {
                return Err(Error::device("the box is too small for tiles of atoms")
                    .hint("set algorithm = \"list\" or \"all-pairs\""));
            }
        }
        if self.tightness == Tightness::Tight {
            self.tightness = Tightness::Learnt;
        }
        match self.algorithm {
            PairAlgorithm::List => self.rows = list::grown(self.rows, control),
            _ => self.capacity = self.capacity.grown(control),
        }
        Ok(())
    }
}
