//! Formulas as machine code over the blocks of a list.

use super::assemble::{CompiledCode, PartialPlace, PlaceLayout, RowArguments};
use super::instructions::{InstructionList, slot};
use super::trace::{RegisterTarget, trace};
use crate::blocks::{self, BlockArrays, BlockKernel, BlockView, ListKernel, ListPass, Sums};
use crate::cells::Clusters;
use crate::coefficients::CoefficientTable;
use crate::interaction::PairKernel;
use crate::simd::aligned::Aligned;
use crate::simd::{Lanes, Level, MOST_LANES, Scalar};
use jostle_core::{Evaluate, Precision};
use jostle_potentials::{Formula, PairTerm};

/// Place of energy and virial in working memory, in registers.
const SUMS_START: usize = slot::SUMS as usize;

/// Compiles a formula for registers of a level. None where there is no code for them, or where the system
/// forbids code made at run time.
pub fn prepare<S: Scalar>(
    formula: &Formula,
    term: &PairTerm,
    level: Level,
) -> Option<Box<dyn PairKernel<S>>> {
    if level == Level::Portable || !level.is_available() {
        return None;
    }
    let precision = if size_of::<S>() == 4 { Precision::Mixed } else { Precision::Double };
    let target = RegisterTarget { level, precision };
    let table = CoefficientTable::new(term, term.n_coefficients());
    let layout = PlaceLayout { place: place(term.n_species()), row: table.row(0, 0).len() };
    let function =
        |evaluate| CompiledCode::new(&InstructionList::new(&trace(formula, term, target, evaluate)?), layout);
    let (forces, sums) = (function(Evaluate::Forces)?, function(Evaluate::ForcesAndEnergies)?);
    Some(Box::new(Compiled { level, table, forces, sums }))
}

/// Registers of a place of the tile: coordinates, forces, and species where there are several.
const fn place(n_species: usize) -> usize {
    if n_species > 1 { 7 } else { 6 }
}

struct Compiled<S> {
    level: Level,
    table: CoefficientTable<S>,
    forces: CompiledCode,
    /// Code of forces, energies and virial.
    sums: CompiledCode,
}

impl<S: Scalar> PairKernel<S> for Compiled<S> {
    fn add_forces(&self, pass: ListPass<S>) -> Sums {
        ListPass { level: self.level, ..pass }.run(self)
    }
}

impl<S: Scalar> ListKernel<S> for &Compiled<S> {
    type Output = Sums;

    #[inline(always)]
    fn run<L: Lanes<Scalar = S>>(self, pass: ListPass<S>) -> Sums {
        // There is no code for the portable level.
        assert!(!L::IS_FALLBACK);
        match self.table.n_species {
            1 => self.all::<L, { place(1) }>(pass),
            _ => self.all::<L, { place(2) }>(pass),
        }
    }
}

impl<S: Scalar> Compiled<S> {
    #[inline(always)]
    fn all<L: Lanes<Scalar = S>, const PLACE: usize>(&self, pass: ListPass<S>) -> Sums {
        let ListPass { clusters, evaluate, .. } = pass;
        assert_eq!(clusters.width, L::WIDTH, "clusters are as wide as the registers of the code");
        let function = match evaluate {
            Evaluate::Forces => &self.forces,
            Evaluate::ForcesAndEnergies => &self.sums,
        };
        let table = &self.table;
        let mut memory = Aligned::default();
        memory.refill(function.memory_len(), S::default());
        for (places, value) in function.constants(|k| table.row(0, k)[0].to_f64()) {
            memory[places].fill(S::from_f64(value));
        }
        let rows = CompiledRows::<S, PLACE> {
            function,
            table,
            clusters,
            evaluate,
            memory,
            rows: Vec::new(),
            parts: Vec::new(),
        };
        pass.over_blocks::<L, _>(rows)
    }
}

/// The compiled kernel: all rows of a block in one call.
struct CompiledRows<'a, S, const PLACE: usize> {
    function: &'a CompiledCode,
    table: &'a CoefficientTable<S>,
    clusters: &'a Clusters<S>,
    evaluate: Evaluate,
    memory: Aligned<S>,
    rows: Vec<RowArguments>,
    parts: Vec<PartialPlace>,
}

impl<L: Lanes, const PLACE: usize> BlockKernel<L> for CompiledRows<'_, L::Scalar, PLACE> {
    const PLACE: usize = PLACE;
    const N_ACCUMULATED: usize = 3;

    #[inline(always)]
    fn load_extra(&self, cluster: usize, extra: &mut [L::Scalar]) {
        let species = &self.clusters.species[cluster * L::WIDTH..];
        for (extra, species) in extra.iter_mut().zip(species) {
            *extra = L::Scalar::from_f64(f64::from(*species));
        }
    }

    #[inline(always)]
    fn evaluate_block(&mut self, at: &BlockView<L::Scalar>, arrays: BlockArrays<L::Scalar>) {
        let BlockArrays { tile, rows, sums } = arrays;
        let n_places = at.entries.len() + 1;
        let (place, square) = (PLACE * L::WIDTH, L::WIDTH * L::WIDTH);
        assert!(at.n_rows <= L::WIDTH && tile.len() >= n_places * place && rows.len() >= 3 * square);
        assert!(at.all_partners().iter().fold(0, |n, k| n.max(usize::from(*k) + 1)) < n_places);
        self.parts.clear();
        let mut ends_of_parts = [0; MOST_LANES + 1];
        for row in 0..at.n_rows {
            if at.own {
                self.parts.push(PartialPlace { place: 0, atoms: at.after(row).into() });
            }
            for part in at.parts(row) {
                let number = usize::from(part.entry) + 1;
                assert!(number < n_places);
                let bytes = (number * place * size_of::<L::Scalar>()) as u64;
                self.parts.push(PartialPlace { place: bytes, atoms: part.atoms.into() });
            }
            ends_of_parts[row + 1] = self.parts.len();
        }
        let (tile, accumulated) = (tile.as_mut_ptr(), rows.as_mut_ptr());
        self.rows.clear();
        for row in 0..at.n_rows {
            let species = self.clusters.species[at.cluster * L::WIDTH + row] as usize;
            self.rows.push(RowArguments {
                partners: ends(at.partners(row)),
                parts: ends(&self.parts[ends_of_parts[row]..ends_of_parts[row + 1]]),
                table: self.table.row(species, 0).as_ptr().cast(),
                center: tile.wrapping_add(row).cast(),
                accumulated: [0, 1, 2].map(|k| accumulated.wrapping_add(k * square + row * L::WIDTH).cast()),
            });
        }
        // Sums of energies and virial are taken row by row.
        let n_at_once = match self.evaluate {
            Evaluate::Forces => L::WIDTH,
            Evaluate::ForcesAndEnergies => 1,
        };
        for rows in self.rows.chunks(n_at_once) {
            self.memory[SUMS_START * L::WIDTH..(SUMS_START + 7) * L::WIDTH].fill(L::Scalar::default());
            // SAFETY: the level is available; places have just been found to be within the tile, which
            // has places of the size in the code, and rows to be long enough for what is accumulated;
            // memory is as long as asked for and filled with constants; the table was made with all
            // coefficients of the term, and species of atoms are numbers of its species.
            unsafe { self.function.call(self.memory.as_mut_ptr().cast(), tile.cast(), rows) };
            if self.evaluate == Evaluate::ForcesAndEnergies {
                let slots = &self.memory[SUMS_START * L::WIDTH..];
                let mut gathered = blocks::RowSums::<L>::new();
                gathered.energy = L::load(slots);
                for k in 0..6 {
                    gathered.virial[k] = L::load(&slots[(k + 1) * L::WIDTH..]);
                }
                sums.add(&gathered);
            }
        }
    }
}

/// First element of a slice, and the end behind the last.
#[inline(always)]
fn ends<T>(slice: &[T]) -> [*const T; 2] {
    let ends = slice.as_ptr_range();
    [ends.start, ends.end]
}
