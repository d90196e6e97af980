//! Traced numbers, which record operations instead of computing: the operations of a formula on registers,
//! in exactly the order and with exactly the roundings of the registers themselves.

use crate::blocks::RowSums;
use crate::interaction::{add_force, square};
use crate::simd::exp::{self, Scaling};
use crate::simd::{Floating, Level, elementary, guess};
use jostle_core::{Evaluate, Precision, Real};
use jostle_potentials::PairTerm;
use jostle_potentials::formula::algebra::Function;
use jostle_potentials::formula::{Formula, Step};
use jostle_potentials::truncation::MOST_OF_TRUNCATION;
use std::array::from_fn;
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// The registers that code is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RegisterTarget {
    /// AVX2 or AVX-512.
    pub level: Level,
    /// Precision of a lane: f32 for mixed.
    pub precision: Precision,
}

/// Index of an operation in a trace.
pub type OperationIndex = u32;

/// Input of a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TraceInput {
    /// A coordinate of the row's atom, in all lanes.
    Center(u8),
    /// A coordinate of its partners.
    Position(u8),
    /// A component of the accumulated forces on the partners.
    Accumulated(u8),
    /// Species of the partners.
    Species,
    /// Sums of the row: the force, then energy and virial.
    Gathered(u8),
    /// The square cut-off (0) or a coefficient of the only species.
    Coefficient(u16),
}

/// Operations on one number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unary {
    SquareRoot,
    /// The first bits of a reciprocal.
    GuessReciprocal,
    /// The first bits of the reciprocal of a square root.
    GuessRoot,
    Round,
    /// Difference from the next lower whole number.
    Fraction,
    Mantissa,
    Exponent,
    ToInteger,
    FromInteger,
    /// Shift of the fraction's bits to the exponent's.
    ShiftLeft,
    /// Shift of the exponent's bits to the fraction's.
    ShiftRight,
}

/// Operations on two numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Maximum,
    Minimum,
    /// Multiplication by a power of two.
    Scale,
    And,
    Or,
    ExclusiveOr,
    AddIntegers,
    SubtractIntegers,
}

/// The signs of product and addend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Signs {
    /// True if the product is subtracted.
    pub minus_product: bool,
    /// True if the addend is subtracted.
    pub minus_addend: bool,
}

/// Condition of a choice besides a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Among {
    /// No further condition.
    All,
    /// The atom has to be a partner of the row.
    Partners,
}

/// One operation; its operands are before it in the trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    Input(TraceInput),
    /// The bits of a number.
    Literal(u64),
    Unary(Unary, OperationIndex),
    Binary(Binary, OperationIndex, OperationIndex),
    /// The product of the first two and the third, rounded once.
    MultiplyAdd(Signs, [OperationIndex; 3]),
    /// The third where the first is less than the second, else the fourth.
    Choose(Among, [OperationIndex; 4]),
    /// The square cut-off (0) or a coefficient for species.
    LookUp(u16, OperationIndex),
}

impl Operation {
    pub fn operands(self) -> impl Iterator<Item = OperationIndex> {
        let operands = match self {
            Operation::Input(_) | Operation::Literal(_) => [None; 4],
            Operation::Unary(_, a) | Operation::LookUp(_, a) => [Some(a), None, None, None],
            Operation::Binary(_, a, b) => [Some(a), Some(b), None, None],
            Operation::MultiplyAdd(_, [a, b, c]) => [Some(a), Some(b), Some(c), None],
            Operation::Choose(_, places) => places.map(Some),
        };
        operands.into_iter().flatten()
    }
}

/// The operations on an atom and a register of partners.
#[derive(Debug)]
pub struct Trace {
    pub target: RegisterTarget,
    pub operations: Vec<Operation>,
    /// Accumulated forces on the partners after these operations.
    pub accumulated: [OperationIndex; 3],
    /// Sums of the row after these operations, see [`TraceInput::Gathered`].
    pub gathered: Vec<OperationIndex>,
    pub n_species: usize,
}

/// A number that is not known yet: every operation on it is recorded on the tape of this thread.
#[derive(Debug, Clone, Copy)]
pub struct Traced(OperationIndex);

/// A comparison that is not known yet.
#[derive(Debug, Clone, Copy)]
pub struct Comparison(Among, OperationIndex, OperationIndex);

struct Tape {
    target: RegisterTarget,
    operations: Vec<Operation>,
    places: HashMap<Operation, OperationIndex>,
    /// True as long as all operations can be recorded.
    is_complete: bool,
}

thread_local! {
    static TAPE: RefCell<Tape> = RefCell::new(Tape::new(RegisterTarget { level: Level::Avx2, precision: Precision::Mixed }));
}

/// Records the operations on a row and a register of atoms; none where an operation cannot be recorded.
pub fn trace(
    formula: &Formula,
    term: &PairTerm,
    target: RegisterTarget,
    evaluate: Evaluate,
) -> Option<Trace> {
    TAPE.replace(Tape::new(target));
    let n_species = term.n_species();
    let kinds = input(TraceInput::Species).unary(Unary::ToInteger);
    let coefficient = |k: usize| match n_species {
        1 => input(TraceInput::Coefficient(k as u16)),
        _ => push(Operation::LookUp(k as u16, kinds.0)),
    };
    let d = [0, 1, 2].map(|k| input(TraceInput::Center(k)) - input(TraceInput::Position(k)));
    let r2 = square(d);
    let own: Vec<Traced> = (0..formula.n_coefficients()).map(|k| coefficient(1 + k)).collect();
    let mut truncation = [Traced::lit(0.0); MOST_OF_TRUNCATION];
    for k in own.len()..term.n_coefficients() {
        truncation[k - own.len()] = coefficient(1 + k);
    }
    let (energy, force_over_r) = term.truncation.apply(r2, results(formula, r2, &own), truncation);
    let near = Comparison(Among::Partners, r2.0, coefficient(0).0);
    let force_over_r = Traced::select(near, force_over_r, Traced::lit(0.0));
    let mut accumulated = [0, 1, 2].map(|k| input(TraceInput::Accumulated(k)));
    let gathered = |k: usize| input(TraceInput::Gathered(k as u8));
    let mut row =
        RowSums { force: from_fn(gathered), energy: gathered(3), virial: from_fn(|k| gathered(4 + k)) };
    add_force(d, force_over_r, &mut row.force);
    add_force(d, force_over_r, &mut accumulated);
    let mut gathered: Vec<OperationIndex> = row.force.map(|x| x.0).to_vec();
    if evaluate == Evaluate::ForcesAndEnergies {
        row.add_sums(Traced::select(near, energy, Traced::lit(0.0)), force_over_r, d);
        gathered.push(row.energy.0);
        gathered.extend(row.virial.map(|x| x.0));
    }
    let Tape { operations, is_complete, .. } = TAPE.replace(Tape::new(target));
    is_complete.then_some(Trace {
        target,
        operations,
        accumulated: accumulated.map(|x| x.0),
        gathered,
        n_species,
    })
}

/// Energy and force over distance, by the operations of the interpreter.
fn results(formula: &Formula, r2: Traced, c: &[Traced]) -> (Traced, Traced) {
    let program = formula.program();
    let mut results: Vec<Traced> = Vec::with_capacity(program.steps.len());
    for step in &program.steps {
        results.push(match *step {
            Step::Call(Function::Exp, x) => elementary::exp(results[usize::from(x)]),
            step => step.result(r2, c, &results),
        });
    }
    (results[usize::from(program.energy)], results[usize::from(program.force)])
}

impl Tape {
    fn new(target: RegisterTarget) -> Self {
        Tape { target, operations: Vec::new(), places: HashMap::new(), is_complete: true }
    }

    fn push(&mut self, operation: Operation) -> OperationIndex {
        *self.places.entry(operation).or_insert_with(|| {
            self.operations.push(operation);
            (self.operations.len() - 1) as OperationIndex
        })
    }

    /// The bit that changes a sign.
    fn sign(&self) -> u64 {
        match self.target.precision {
            Precision::Mixed => 1 << 31,
            Precision::Double => 1 << 63,
        }
    }

    /// Opposite of a number that was recorded as a change of sign.
    fn negated(&self, place: OperationIndex) -> Option<OperationIndex> {
        match self.operations[place as usize] {
            Operation::Binary(Binary::ExclusiveOr, a, sign)
                if self.operations[sign as usize] == Operation::Literal(self.sign()) =>
            {
                Some(a)
            }
            _ => None,
        }
    }

    // Signs move to operations where they cost nothing, which rounds nothing differently.

    fn negate(&mut self, a: OperationIndex) -> OperationIndex {
        if let Some(p) = self.negated(a) {
            return p;
        }
        if let Operation::Literal(bits) = self.operations[a as usize] {
            return self.push(Operation::Literal(bits ^ self.sign()));
        }
        let sign = self.push(Operation::Literal(self.sign()));
        self.push(Operation::Binary(Binary::ExclusiveOr, a, sign))
    }

    fn binary(&mut self, operation: Binary, a: OperationIndex, b: OperationIndex) -> OperationIndex {
        match (operation, self.negated(a), self.negated(b)) {
            (Binary::Add, _, Some(q)) => self.binary(Binary::Subtract, a, q),
            (Binary::Add, Some(p), _) => self.binary(Binary::Subtract, b, p),
            (Binary::Subtract, _, Some(q)) => self.binary(Binary::Add, a, q),
            (Binary::Multiply, Some(p), _) => {
                let product = self.binary(operation, p, b);
                self.negate(product)
            }
            (Binary::Multiply, _, Some(q)) => {
                let product = self.binary(operation, a, q);
                self.negate(product)
            }
            (Binary::Add | Binary::Multiply, ..) => {
                self.push(Operation::Binary(operation, a.min(b), a.max(b)))
            }
            _ => self.push(Operation::Binary(operation, a, b)),
        }
    }

    fn multiply_add(&mut self, a: OperationIndex, b: OperationIndex, c: OperationIndex) -> OperationIndex {
        let bare = |p: OperationIndex| self.negated(p).map_or((p, false), |p| (p, true));
        let ((a, minus_a), (b, minus_b), (c, minus_addend)) = (bare(a), bare(b), bare(c));
        let signs = Signs { minus_product: minus_a != minus_b, minus_addend };
        self.push(Operation::MultiplyAdd(signs, [a.min(b), a.max(b), c]))
    }
}

fn on_tape(write: impl FnOnce(&mut Tape) -> OperationIndex) -> Traced {
    Traced(TAPE.with_borrow_mut(write))
}

fn push(operation: Operation) -> Traced {
    on_tape(|tape| tape.push(operation))
}

fn input(input: TraceInput) -> Traced {
    push(Operation::Input(input))
}

fn target() -> (Level, Precision) {
    TAPE.with_borrow(|tape| (tape.target.level, tape.target.precision))
}

impl Traced {
    fn unary(self, operation: Unary) -> Self {
        push(Operation::Unary(operation, self.0))
    }

    fn binary(self, operation: Binary, other: Self) -> Self {
        on_tape(|tape| tape.binary(operation, self.0, other.0))
    }

    /// Number with these bits in all lanes.
    fn bits(bits: u64) -> Self {
        push(Operation::Literal(bits))
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident),*) => {
        $(impl $trait for Traced {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                let operation = operators!(@$trait);
                self.binary(operation, other)
            }
        })*
    };
    (@Add) => { Binary::Add };
    (@Sub) => { Binary::Subtract };
    (@Mul) => { Binary::Multiply };
    (@Div) => { Binary::Divide };
}

operators!(Add add, Sub sub, Mul mul, Div div);

impl Neg for Traced {
    type Output = Self;
    fn neg(self) -> Self {
        on_tape(|tape| tape.negate(self.0))
    }
}

// Operations of the registers of `simd`.
impl Real for Traced {
    type Mask = Comparison;

    fn lit(value: f64) -> Self {
        match target().1 {
            Precision::Mixed => Traced::bits(u64::from((value as f32).to_bits())),
            Precision::Double => Traced::bits(value.to_bits()),
        }
    }
    fn mul_add(self, b: Self, c: Self) -> Self {
        on_tape(|tape| tape.multiply_add(self.0, b.0, c.0))
    }
    fn recip(self) -> Self {
        match target() {
            (Level::Avx2, Precision::Double) => Self::lit(1.0) / self,
            (Level::Avx512, Precision::Double) => {
                guess::recip(self, guess::recip(self, self.unary(Unary::GuessReciprocal)))
            }
            (Level::Avx2, Precision::Mixed) => {
                guess::recip_from_far(self, self.unary(Unary::GuessReciprocal))
            }
            _ => guess::recip(self, self.unary(Unary::GuessReciprocal)),
        }
    }
    fn sqrt(self) -> Self {
        self.unary(Unary::SquareRoot)
    }
    fn rsqrt(self) -> Self {
        match target() {
            (Level::Avx512, Precision::Mixed) => guess::rsqrt(self, self.unary(Unary::GuessRoot)),
            (Level::Avx512, Precision::Double) => {
                guess::rsqrt(self, guess::rsqrt(self, self.unary(Unary::GuessRoot)))
            }
            (_, Precision::Mixed) => guess::rsqrt_from_far(self, self.unary(Unary::GuessRoot)),
            (_, Precision::Double) => Self::lit(1.0) / self.sqrt(),
        }
    }
    fn exp(self) -> Self {
        match target() {
            (Level::Avx512, Precision::Mixed) => exp::exp_by_scaling(self),
            (_, Precision::Mixed) => exp::exp(self, exp::LOWEST_SINGLE, &exp::SINGLE),
            (_, Precision::Double) => exp::exp(self, exp::LOWEST_DOUBLE, &exp::DOUBLE),
        }
    }
    fn ln(self) -> Self {
        elementary::ln(self)
    }
    fn acos(self) -> Self {
        // Formulas have no inverse cosine, which registers compute lane by lane.
        TAPE.with_borrow_mut(|tape| tape.is_complete = false);
        self
    }
    fn sin(self) -> Self {
        elementary::sin(self)
    }
    fn cos(self) -> Self {
        elementary::cos(self)
    }
    fn tanh(self) -> Self {
        elementary::tanh(self)
    }
    fn erf(self) -> Self {
        elementary::erf(self)
    }
    fn erfc(self) -> Self {
        elementary::erfc(self)
    }
    fn lt(self, other: Self) -> Comparison {
        Comparison(Among::All, self.0, other.0)
    }
    fn select(Comparison(among, a, b): Comparison, yes: Self, no: Self) -> Self {
        if yes.0 == no.0 { yes } else { push(Operation::Choose(among, [a, b, yes.0, no.0])) }
    }
}

impl Floating for Traced {
    fn is_double() -> bool {
        target().1 == Precision::Double
    }
    fn max(self, other: Self) -> Self {
        self.binary(Binary::Maximum, other)
    }
    fn min(self, other: Self) -> Self {
        self.binary(Binary::Minimum, other)
    }
    fn round(self) -> Self {
        self.unary(Unary::Round)
    }
    fn times_power_of_two(self, n: Self) -> Self {
        let bias = match target() {
            (Level::Avx512, _) => return self.binary(Binary::Scale, n),
            (_, Precision::Mixed) => 127,
            (_, Precision::Double) => 1023,
        };
        let exponent = n.unary(Unary::ToInteger).binary(Binary::AddIntegers, Traced::bits(bias));
        self * exponent.unary(Unary::ShiftLeft)
    }
    fn split(self) -> (Self, Self) {
        let exponent = self.unary(Unary::ShiftRight);
        let mantissa = |fraction: u64, one: u64| {
            self.binary(Binary::And, Traced::bits(fraction)).binary(Binary::Or, Traced::bits(one))
        };
        match target() {
            (Level::Avx512, _) => (self.unary(Unary::Mantissa), self.unary(Unary::Exponent)),
            (_, Precision::Mixed) => {
                let exponent = exponent.binary(Binary::SubtractIntegers, Traced::bits(127));
                (mantissa(0x007f_ffff, 127 << 23), exponent.unary(Unary::FromInteger))
            }
            (_, Precision::Double) => {
                let exponent = exponent.binary(Binary::Or, Traced::bits(0x4330_0000_0000_0000));
                let exponent = exponent - Traced::lit(4_503_599_627_370_496.0 + 1023.0);
                (mantissa(0x000f_ffff_ffff_ffff, 1023 << 52), exponent)
            }
        }
    }
}

impl Scaling for Traced {
    fn fraction(self) -> Self {
        self.unary(Unary::Fraction)
    }
    fn scaled_where(self, n: Self, mask: Comparison) -> Self {
        Traced::select(mask, self.binary(Binary::Scale, n), Traced::lit(0.0))
    }
}
