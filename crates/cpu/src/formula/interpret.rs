//! Formulas interpreted: each step is made over several registers at once, so that the choice of the
//! operation costs little per pair.

use crate::blocks::{
    BlockArrays, BlockKernel, BlockView, ListKernel, ListPass, RowSums, Sums, center_of_row, lanes,
};
use crate::coefficients::CoefficientTable;
use crate::interaction::{PairKernel, act, distance, square};
use crate::simd::aligned::Aligned;
use crate::simd::{Kernel, Lanes, Level, Scalar, Simd, elementary};
use jostle_core::Evaluate;
use jostle_potentials::formula::algebra::Function;
use jostle_potentials::formula::{Formula, Step};
use jostle_potentials::truncation::{MOST_OF_TRUNCATION, Precomputed};
use jostle_potentials::{PairFunction, PairTerm, PairVisitor, Truncation};

/// Number of registers that a step works on.
const BATCH: usize = 8;

/// Slots with a meaning of their own, then the coefficients.
const SQUARE: u8 = 0;
const CUTOFF2: usize = 1;
const FIRST_COEFFICIENT: usize = 2;

/// Energy, force and the coefficients of a truncation.
const MOST: usize = Precomputed::N_COEFFICIENTS + MOST_OF_TRUNCATION;

/// Makes a formula ready to be interpreted.
pub fn prepare<S: Scalar>(formula: &Formula, term: &PairTerm) -> Box<dyn PairKernel<S>> {
    let code = InterpretedFormula::new(formula, term.n_coefficients());
    Box::new(InterpretedForces {
        table: CoefficientTable::new(term, term.n_coefficients()),
        code,
        truncation: term.truncation,
    })
}

struct InterpretedForces<S> {
    table: CoefficientTable<S>,
    code: InterpretedFormula,
    truncation: Truncation,
}

/// Steps with the slots they work on.
struct InterpretedFormula {
    instructions: Vec<InterpretedStep>,
    /// Number of instructions for the force alone.
    n_force: usize,
    n_slots: usize,
    n_coefficients: usize,
    /// First slot of the truncation's own coefficients.
    first_of_truncation: usize,
    /// Numbers and their slots.
    literals: Vec<(f64, u8)>,
    force: u8,
    energy: u8,
}

#[derive(Debug, Clone, Copy)]
struct InterpretedStep {
    operation: Operation,
    to: u8,
    from: [u8; 4],
}

#[derive(Debug, Clone, Copy)]
enum Operation {
    Add,
    Multiply,
    MultiplyAdd,
    Recip,
    Sqrt,
    Rsqrt,
    Choose,
    Call(Function),
}

impl InterpretedFormula {
    /// Steps with a slot for every result; slots whose results are no longer needed are used again.
    fn new(formula: &Formula, n_coefficients: usize) -> Self {
        let program = formula.program();
        let n = program.steps.len();
        let mut last_use = vec![0; n];
        for (k, step) in program.steps.iter().enumerate() {
            step.operands().for_each(|p| last_use[usize::from(p)] = k);
        }
        last_use[usize::from(program.force)] = n;
        last_use[usize::from(program.energy)] = n;

        let mut n_slots = FIRST_COEFFICIENT + n_coefficients;
        let mut free: Vec<u8> = Vec::new();
        let mut literals: Vec<(f64, u8)> = Vec::new();
        let mut slots: Vec<u8> = Vec::with_capacity(n);
        let (mut instructions, mut n_force) = (Vec::new(), 0);
        for (k, step) in program.steps.iter().enumerate() {
            let mut new_slot = |free: &mut Vec<u8>| {
                free.pop().unwrap_or_else(|| {
                    n_slots += 1;
                    (n_slots - 1) as u8
                })
            };
            let operation = match *step {
                Step::Square => {
                    slots.push(SQUARE);
                    continue;
                }
                Step::Coefficient(c) => {
                    slots.push((FIRST_COEFFICIENT + usize::from(c)) as u8);
                    continue;
                }
                Step::Literal(x) => {
                    let slot = new_slot(&mut Vec::new());
                    literals.push((x, slot));
                    slots.push(slot);
                    continue;
                }
                Step::Add(..) => Operation::Add,
                Step::Multiply(..) => Operation::Multiply,
                Step::MultiplyAdd(..) => Operation::MultiplyAdd,
                Step::Recip(_) => Operation::Recip,
                Step::Sqrt(_) => Operation::Sqrt,
                Step::Rsqrt(_) => Operation::Rsqrt,
                Step::Choose(_) => Operation::Choose,
                Step::Call(function, _) => Operation::Call(function),
            };
            let mut from = [0; 4];
            for (place, operand) in from.iter_mut().zip(step.operands()) {
                *place = slots[usize::from(operand)];
            }
            let mut done: Vec<u8> = Vec::new();
            for operand in step.operands().map(usize::from) {
                let keeps =
                    matches!(program.steps[operand], Step::Square | Step::Coefficient(_) | Step::Literal(_));
                if last_use[operand] == k && !keeps && !done.contains(&slots[operand]) {
                    done.push(slots[operand]);
                }
            }
            free.extend(done);
            let to = new_slot(&mut free);
            slots.push(to);
            instructions.push(InterpretedStep { operation, to, from });
            if k < program.n_force {
                n_force = instructions.len();
            }
        }
        InterpretedFormula {
            instructions,
            n_force,
            n_slots,
            n_coefficients,
            first_of_truncation: FIRST_COEFFICIENT + formula.n_coefficients(),
            literals,
            force: slots[usize::from(program.force)],
            energy: slots[usize::from(program.energy)],
        }
    }
}

impl<S: Scalar> PairKernel<S> for InterpretedForces<S> {
    fn is_interpreted(&self) -> bool {
        true
    }

    fn add_forces(&self, pass: ListPass<S>) -> Sums {
        pass.run(self)
    }
}

impl<S: Scalar> ListKernel<S> for &InterpretedForces<S> {
    type Output = Sums;

    #[inline(always)]
    fn run<L: Lanes<Scalar = S>>(self, pass: ListPass<S>) -> Sums {
        let batches = Batches::<L> {
            prepared: self,
            level: pass.level,
            evaluate: pass.evaluate,
            items: Vec::new(),
            squares: Aligned::default(),
            results: Aligned::default(),
            slots: self.slots::<L>(),
        };
        pass.over_blocks(batches)
    }
}

/// A row and the cluster at a place of the tile, or some atoms of it.
#[derive(Clone, Copy)]
struct Item {
    row: u8,
    place: u8,
    atoms: u16,
}

impl<S: Scalar> InterpretedForces<S> {
    /// Slots with the numbers that are the same for all pairs.
    #[inline(always)]
    fn slots<L: Lanes<Scalar = S>>(&self) -> Aligned<S> {
        let mut slots = Aligned::default();
        let length = BATCH * L::WIDTH;
        slots.refill(self.code.n_slots * length, S::default());
        for (value, slot) in &self.code.literals {
            slots[usize::from(*slot) * length..][..length].fill(S::from_f64(*value));
        }
        if self.table.n_species == 1 {
            for k in 0..=self.code.n_coefficients {
                slots[(CUTOFF2 + k) * length..][..length].fill(self.table.row(0, k)[0]);
            }
        }
        slots
    }
}

/// Rows and places of a block, collected so that each step can be made for several of them.
struct Batches<'a, L: Lanes> {
    prepared: &'a InterpretedForces<L::Scalar>,
    level: Level,
    evaluate: Evaluate,
    items: Vec<Item>,
    /// Squared distances, a register for each item; batches are full.
    squares: Aligned<L::Scalar>,
    /// Force over distance and energy of each item.
    results: Aligned<L::Scalar>,
    slots: Aligned<L::Scalar>,
}

impl<L: Lanes> BlockKernel<L> for Batches<'_, L> {
    const PLACE: usize = 6;
    const N_ACCUMULATED: usize = 3;

    #[inline(always)]
    fn evaluate_block(&mut self, at: &BlockView<L::Scalar>, arrays: BlockArrays<L::Scalar>) {
        let BlockArrays { tile, rows, sums } = arrays;
        self.items.clear();
        for row in 0..at.n_rows {
            for k in at.partners(row) {
                self.items.push(Item { row: row as u8, place: k + 1, atoms: !0 });
            }
            if at.own {
                self.items.push(Item { row: row as u8, place: 0, atoms: at.after(row) as u16 });
            }
            for part in at.parts(row) {
                self.items.push(Item { row: row as u8, place: part.entry + 1, atoms: part.atoms });
            }
        }
        let n = self.items.len().next_multiple_of(BATCH);
        self.squares.resize(n * L::WIDTH);
        self.results.resize(2 * n * L::WIDTH);
        for (k, item) in self.items.iter().enumerate() {
            let place = &tile[usize::from(item.place) * 6 * L::WIDTH..];
            let d = distance::<L>(place, center_of_row(tile, usize::from(item.row)));
            square(d).store(&mut self.squares[k * L::WIDTH..(k + 1) * L::WIDTH]);
        }
        self.level.run(Interpret {
            prepared: self.prepared,
            at,
            items: &self.items,
            squares: &self.squares,
            results: &mut self.results,
            slots: &mut self.slots,
            evaluate: self.evaluate,
        });
        let energies = self.evaluate == Evaluate::ForcesAndEnergies;
        let table = &self.prepared.table;
        let uniform = L::splat(table.row(0, 0)[0]);
        let (mut row, mut gathered) = (0, RowSums::<L>::new());
        for (k, item) in self.items.iter().enumerate() {
            while row < usize::from(item.row) {
                gathered.store_sums(3, row, rows);
                if energies {
                    sums.add(&gathered);
                }
                gathered = RowSums::new();
                row += 1;
            }
            let center = center_of_row(tile, row);
            let place = &mut tile[usize::from(item.place) * 6 * L::WIDTH..][..6 * L::WIDTH];
            let d = distance::<L>(place, center);
            let mut cutoff2 = uniform;
            if table.n_species > 1 {
                let (species, kinds) = species::<L>(at, item);
                cutoff2 = L::lookup(table.row(species, 0), table.n_species, kinds);
            }
            let mut near = square(d).lt(cutoff2);
            if item.atoms != !0 {
                near = L::and(near, lanes::<L>(item.atoms.into()));
            }
            let result = &self.results[2 * k * L::WIDTH..2 * (k + 1) * L::WIDTH];
            let both = (L::load(&result[L::WIDTH..]), L::load(result));
            act(place, d, near, both, energies, &mut gathered);
        }
        for row in row..at.n_rows {
            gathered.store_sums(3, row, rows);
            if energies {
                sums.add(&gathered);
            }
            gathered = RowSums::new();
        }
    }
}

/// Species of an item's row, and those of its partners.
#[inline(always)]
fn species<L: Lanes>(at: &BlockView<L::Scalar>, item: &Item) -> (usize, L::Index) {
    let species = &at.clusters.species;
    let other = at.cluster_at(item.place.into());
    let kinds = L::load_index(&species[other * L::WIDTH..(other + 1) * L::WIDTH]);
    (species[at.cluster * L::WIDTH + usize::from(item.row)] as usize, kinds)
}

/// All steps for the items of a block, a kernel of its own, so that it is compiled once for each instruction
/// set.
struct Interpret<'a, S> {
    prepared: &'a InterpretedForces<S>,
    at: &'a BlockView<'a, S>,
    items: &'a [Item],
    squares: &'a [S],
    results: &'a mut [S],
    slots: &'a mut [S],
    evaluate: Evaluate,
}

impl<S: Scalar> Kernel for Interpret<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Simd>(mut self) {
        let code = &self.prepared.code;
        let n = match self.evaluate {
            Evaluate::Forces if !self.prepared.truncation.force_needs_energy() => code.n_force,
            _ => code.instructions.len(),
        };
        let length = BATCH * <S::Lanes<I> as Lanes>::WIDTH;
        for start in (0..self.items.len()).step_by(BATCH) {
            let squares = &self.squares[start / BATCH * length..][..length];
            self.slots[..length].copy_from_slice(squares);
            if self.prepared.table.n_species > 1 {
                self.look_up::<S::Lanes<I>>(start);
            }
            for instruction in &code.instructions[..n] {
                execute::<S::Lanes<I>>(self.slots, *instruction);
            }
            let results = &mut self.results[2 * start / BATCH * length..][..2 * length];
            let slots = &*self.slots;
            self.prepared.truncation.visit::<Precomputed, _>(Truncate::<S::Lanes<I>> {
                slots,
                results,
                code,
            });
        }
    }
}

impl<S: Scalar> Interpret<'_, S> {
    /// Looks up the coefficients of the atoms of a batch.
    #[inline(always)]
    fn look_up<L: Lanes<Scalar = S>>(&mut self, start: usize) {
        let table = &self.prepared.table;
        for k in 0..BATCH {
            // The last batch repeats its last item.
            let item = self.items[(start + k).min(self.items.len() - 1)];
            let (species, kinds) = species::<L>(self.at, &item);
            for c in 1..=self.prepared.code.n_coefficients {
                let value = L::lookup(table.row(species, c), table.n_species, kinds);
                value.store(&mut self.slots[((CUTOFF2 + c) * BATCH + k) * L::WIDTH..]);
            }
        }
    }
}

/// Truncation of the results of the instructions.
struct Truncate<'a, L: Lanes> {
    slots: &'a [L::Scalar],
    results: &'a mut [L::Scalar],
    code: &'a InterpretedFormula,
}

impl<L: Lanes> PairVisitor for Truncate<'_, L> {
    type Output = ();

    #[inline(always)]
    fn visit<F: PairFunction>(self) {
        let Truncate { slots, results, code } = self;
        for (k, result) in results.chunks_exact_mut(2 * L::WIDTH).enumerate() {
            let mut c = [L::lit(0.0); MOST];
            c[0] = L::load(&slots[(usize::from(code.energy) * BATCH + k) * L::WIDTH..]);
            c[1] = L::load(&slots[(usize::from(code.force) * BATCH + k) * L::WIDTH..]);
            for own in Precomputed::N_COEFFICIENTS..F::N_COEFFICIENTS {
                let slot = code.first_of_truncation + own - Precomputed::N_COEFFICIENTS;
                c[own] = L::load(&slots[(slot * BATCH + k) * L::WIDTH..]);
            }
            let square = L::load(&slots[(usize::from(SQUARE) * BATCH + k) * L::WIDTH..]);
            let (energy, force_over_r) = F::evaluate(square, &c);
            force_over_r.store(result);
            energy.store(&mut result[L::WIDTH..]);
        }
    }
}

#[inline(always)]
fn load<L: Lanes>(slots: &[L::Scalar], slot: u8) -> [L; BATCH] {
    let slot = &slots[usize::from(slot) * BATCH * L::WIDTH..][..BATCH * L::WIDTH];
    let mut registers = [L::lit(0.0); BATCH];
    for k in 0..BATCH {
        registers[k] = L::load(&slot[k * L::WIDTH..]);
    }
    registers
}

#[inline(always)]
fn execute<L: Lanes>(slots: &mut [L::Scalar], InterpretedStep { operation, to, from }: InterpretedStep) {
    let [a, b, c, d] = from;
    let mut y = load::<L>(slots, a);
    match operation {
        Operation::Add => {
            let b = load::<L>(slots, b);
            for k in 0..BATCH {
                y[k] = y[k] + b[k];
            }
        }
        Operation::Multiply => {
            let b = load::<L>(slots, b);
            for k in 0..BATCH {
                y[k] = y[k] * b[k];
            }
        }
        Operation::MultiplyAdd => {
            let (b, c) = (load::<L>(slots, b), load::<L>(slots, c));
            for k in 0..BATCH {
                y[k] = y[k].mul_add(b[k], c[k]);
            }
        }
        Operation::Choose => {
            let (b, c, d) = (load::<L>(slots, b), load::<L>(slots, c), load::<L>(slots, d));
            for k in 0..BATCH {
                y[k] = L::select(y[k].lt(b[k]), c[k], d[k]);
            }
        }
        Operation::Recip => {
            for k in 0..BATCH {
                y[k] = y[k].recip();
            }
        }
        Operation::Sqrt => {
            for k in 0..BATCH {
                y[k] = y[k].sqrt();
            }
        }
        Operation::Rsqrt => {
            for k in 0..BATCH {
                y[k] = y[k].rsqrt();
            }
        }
        Operation::Call(function) => return call::<L>(slots, function, to, a),
    }
    let to = &mut slots[usize::from(to) * BATCH * L::WIDTH..][..BATCH * L::WIDTH];
    for k in 0..BATCH {
        y[k].store(&mut to[k * L::WIDTH..]);
    }
}

/// Calls a function, register by register, because its code is long.
#[inline(always)]
fn call<L: Lanes>(slots: &mut [L::Scalar], function: Function, to: u8, a: u8) {
    let [to, a] = [to, a].map(|slot| usize::from(slot) * BATCH * L::WIDTH);
    let mut k = 0;
    while k < BATCH * L::WIDTH {
        let x = L::load(&slots[a + k..]);
        let y = if let Function::Exp = function { elementary::exp(x) } else { function.of(x) };
        y.store(&mut slots[to + k..]);
        // The black box keeps the loop from being unrolled.
        k += std::hint::black_box(L::WIDTH);
    }
}
