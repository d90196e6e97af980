//! Number that is recorded instead of computed. One file of over 500 lines, as the tape and the numbers on it
//! share their operations.

use jostle_core::{Precision, Real};
use jostle_sampling::derivative::Planar;
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Unknown number: every operation on it is recorded on the tape of this thread, to become source code.
/// Operations on known numbers are computed at once, in f64; operations that are on the tape already are not
/// recorded again.
///
/// Operations combine numbers of one recording only.
#[derive(Debug, Clone, Copy)]
pub struct Recorder(OperationIndex);

/// Unknown result of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct Mask(OperationIndex);

/// Index of an operation on the tape.
type OperationIndex = u32;

/// Operation; its operands are before it on the tape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Operation {
    Input(usize),
    /// Bits of an f64.
    Literal(u64),
    Add(OperationIndex, OperationIndex),
    Subtract(OperationIndex, OperationIndex),
    Multiply(OperationIndex, OperationIndex),
    Divide(OperationIndex, OperationIndex),
    Negate(OperationIndex),
    MultiplyAdd(OperationIndex, OperationIndex, OperationIndex),
    Call(Function, OperationIndex),
    /// Angle of the point with these coordinates from the first axis.
    Angle(OperationIndex, OperationIndex),
    Less(OperationIndex, OperationIndex),
    Select(OperationIndex, OperationIndex, OperationIndex),
}

/// Functions of one number, which have the same names in the kernels' prelude.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Function {
    Reciprocal,
    SquareRoot,
    ReciprocalSquareRoot,
    ExponentialOfTwo,
    Logarithm,
    ArcCosine,
    Sine,
    Cosine,
    HyperbolicTangent,
    ErrorIntegral,
    ErrorComplement,
}

impl Function {
    fn name(self) -> &'static str {
        match self {
            Function::Reciprocal => "reciprocal",
            Function::SquareRoot => "square_root",
            Function::ReciprocalSquareRoot => "reciprocal_square_root",
            Function::ExponentialOfTwo => "exponential_of_two",
            Function::Logarithm => "logarithm",
            Function::ArcCosine => "arc_cosine",
            Function::Sine => "sine",
            Function::Cosine => "cosine",
            Function::HyperbolicTangent => "hyperbolic_tangent",
            Function::ErrorIntegral => "error_integral",
            Function::ErrorComplement => "error_complement",
        }
    }

    fn of(self, x: f64) -> f64 {
        match self {
            Function::Reciprocal => x.recip(),
            Function::SquareRoot => x.sqrt(),
            Function::ReciprocalSquareRoot => x.sqrt().recip(),
            Function::ExponentialOfTwo => x.exp2(),
            Function::Logarithm => x.ln(),
            Function::ArcCosine => x.acos(),
            Function::Sine => x.sin(),
            Function::Cosine => x.cos(),
            Function::HyperbolicTangent => x.tanh(),
            Function::ErrorIntegral => Real::erf(x),
            Function::ErrorComplement => Real::erfc(x),
        }
    }
}

impl Operation {
    fn operands(self) -> impl Iterator<Item = OperationIndex> {
        use Operation::*;
        let operands = match self {
            Input(_) | Literal(_) => [None; 3],
            Negate(a) | Call(_, a) => [Some(a), None, None],
            Add(a, b) | Subtract(a, b) | Multiply(a, b) | Divide(a, b) | Angle(a, b) | Less(a, b) => {
                [Some(a), Some(b), None]
            }
            MultiplyAdd(a, b, c) | Select(a, b, c) => [Some(a), Some(b), Some(c)],
        };
        operands.into_iter().flatten()
    }

    /// Returns true for operations that are written where they are used, and not as a statement: constants,
    /// and signs, which processors change on the way into an operation.
    fn is_written_in_place(self) -> bool {
        matches!(self, Operation::Literal(_) | Operation::Negate(_))
    }
}

/// Formula, one operation after the other.
#[derive(Debug, Default)]
pub struct Tape {
    operations: Vec<Operation>,
    places: HashMap<Operation, OperationIndex>,
    /// Products that are written as part of the one sum to which they belong, see [`Tape::fuse`].
    fused: HashSet<OperationIndex>,
}

thread_local! {
    static TAPE: RefCell<Tape> = RefCell::default();
}

/// Notation of numbers in the source.
#[derive(Debug, Clone, Copy)]
pub struct Notation {
    /// Type of a number.
    pub number: &'static str,
    /// Precision to which literals are rounded.
    pub precision: Precision,
}

impl Notation {
    /// Literal that is read back as the number nearest to `value`.
    pub fn literal(self, value: f64) -> String {
        let (digits, suffix) = match self.precision {
            Precision::Mixed => (format!("{:?}", value as f32), "f"),
            Precision::Double => (format!("{value:?}"), ""),
        };
        match digits.as_str() {
            "inf" => format!("(1.0{suffix} / 0.0{suffix})"),
            "-inf" => format!("(-1.0{suffix} / 0.0{suffix})"),
            "NaN" => format!("(0.0{suffix} / 0.0{suffix})"),
            _ => digits + suffix,
        }
    }
}

impl Tape {
    /// Records the operations of `formula` on its inputs.
    pub fn record<T>(n_inputs: usize, formula: impl FnOnce(&[Recorder]) -> T) -> (Tape, T) {
        TAPE.take();
        let inputs: Vec<Recorder> =
            (0..n_inputs).map(|k| Recorder(on_tape(|tape| tape.push(Operation::Input(k))))).collect();
        let output = formula(&inputs);
        (TAPE.take(), output)
    }

    /// Flags of all operations on which any of the numbers depends.
    pub fn needed_for(&self, numbers: &[Recorder]) -> Vec<bool> {
        let mut needed = vec![false; self.operations.len()];
        for number in numbers {
            needed[number.0 as usize] = true;
        }
        for (k, operation) in self.operations.iter().enumerate().rev() {
            if needed[k] {
                operation.operands().for_each(|operand| needed[operand as usize] = true);
            }
        }
        needed
    }

    /// Selects the products that are added without being rounded first, of those needed for some numbers:
    /// those that go into one sum and nothing else. Compilers would select differently for the same formula
    /// in different kernels, and give other bits.
    pub fn fuse(&mut self, numbers: &[Recorder]) {
        let needed = self.needed_for(numbers);
        let operations = self.operations.iter().zip(needed).filter(|(_, needed)| *needed);
        let mut uses: HashMap<OperationIndex, usize> = HashMap::new();
        for operand in operations.clone().flat_map(|(operation, _)| operation.operands()) {
            *uses.entry(operand).or_default() += 1;
        }
        for number in numbers {
            *uses.entry(number.0).or_default() += 1;
        }
        for (operation, _) in operations {
            if let Operation::Add(a, b) | Operation::Subtract(a, b) = *operation {
                let is_product =
                    |p: &OperationIndex| matches!(self.operations[*p as usize], Operation::Multiply(..));
                self.fused.extend([a, b].into_iter().find(|p| is_product(p) && uses[p] == 1));
            }
        }
    }

    /// Factors of a product that is part of a sum.
    fn factors(&self, place: OperationIndex) -> Option<(OperationIndex, OperationIndex)> {
        match self.operations[place as usize] {
            Operation::Multiply(a, b) if self.fused.contains(&place) => Some((a, b)),
            _ => None,
        }
    }

    /// Statements of the selected operations, in order. `input` writes an input.
    pub fn statements(
        &self,
        wanted: impl Fn(usize) -> bool,
        notation: Notation,
        input: impl Fn(usize) -> String,
    ) -> impl Iterator<Item = String> {
        let is_statement = move |k: usize, operation: &Operation| {
            wanted(k) && !operation.is_written_in_place() && !self.fused.contains(&(k as OperationIndex))
        };
        let operations = self.operations.iter().enumerate();
        operations.filter(move |(k, operation)| is_statement(*k, operation)).map(move |(k, operation)| {
            let kind = if let Operation::Less(..) = operation { "bool" } else { notation.number };
            format!("const {kind} t{k} = {};", self.expression(*operation, notation, &input))
        })
    }

    /// Number of arithmetic operations among those selected.
    pub fn count(&self, wanted: impl Fn(usize) -> bool) -> usize {
        let counts = |k: usize, operation: &Operation| {
            let is_input = matches!(operation, Operation::Input(_));
            wanted(k)
                && !is_input
                && !operation.is_written_in_place()
                && !self.fused.contains(&(k as OperationIndex))
        };
        self.operations.iter().enumerate().filter(|(k, operation)| counts(*k, operation)).count()
    }

    fn expression(
        &self,
        operation: Operation,
        notation: Notation,
        input: &impl Fn(usize) -> String,
    ) -> String {
        use Operation::*;
        let text = |place: OperationIndex| self.operand(place, notation);
        let opposite = |place: OperationIndex| match (self.known(place), self.negated(place)) {
            (Some(x), _) => notation.literal(-x),
            (_, Some(p)) => text(p),
            _ => format!("-{}", text(place)),
        };
        let multiply_add = |a: String, b: String, c: String| format!("multiply_add({a}, {b}, {c})");
        match operation {
            Input(k) => input(k),
            Literal(bits) => notation.literal(f64::from_bits(bits)),
            Negate(a) => opposite(a),
            Add(a, b) => match (self.factors(a), self.factors(b)) {
                (Some((p, q)), _) => multiply_add(text(p), text(q), text(b)),
                (_, Some((p, q))) => multiply_add(text(p), text(q), text(a)),
                _ => format!("{} + {}", text(a), text(b)),
            },
            Subtract(a, b) => match (self.factors(a), self.factors(b)) {
                (Some((p, q)), _) => multiply_add(text(p), text(q), opposite(b)),
                (_, Some((p, q))) => multiply_add(opposite(p), text(q), text(a)),
                _ => format!("{} - {}", text(a), text(b)),
            },
            Multiply(a, b) => format!("{} * {}", text(a), text(b)),
            Divide(a, b) => format!("{} / {}", text(a), text(b)),
            MultiplyAdd(a, b, c) => multiply_add(text(a), text(b), text(c)),
            Call(function, a) => format!("{}({})", function.name(), text(a)),
            Angle(x, y) => format!("angle_of({}, {})", text(x), text(y)),
            Less(a, b) => format!("{} < {}", text(a), text(b)),
            Select(mask, a, b) => format!("{} ? {} : {}", text(mask), text(a), text(b)),
        }
    }

    /// Number as it is written in an expression.
    pub fn number(&self, number: Recorder, notation: Notation) -> String {
        self.operand(number.0, notation)
    }

    fn operand(&self, place: OperationIndex, notation: Notation) -> String {
        match self.operations[place as usize] {
            Operation::Literal(bits) => notation.literal(f64::from_bits(bits)),
            Operation::Negate(a) => format!("-t{a}"),
            _ => format!("t{place}"),
        }
    }

    /// Index of an operation that is recorded already.
    fn find(&self, operation: Operation) -> Option<OperationIndex> {
        self.places.get(&operation).copied()
    }

    fn push(&mut self, operation: Operation) -> OperationIndex {
        *self.places.entry(operation).or_insert_with(|| {
            self.operations.push(operation);
            (self.operations.len() - 1) as OperationIndex
        })
    }

    fn literal(&mut self, value: f64) -> OperationIndex {
        self.push(Operation::Literal(value.to_bits()))
    }

    fn known(&self, place: OperationIndex) -> Option<f64> {
        match self.operations[place as usize] {
            Operation::Literal(bits) => Some(f64::from_bits(bits)),
            _ => None,
        }
    }

    /// Number whose negative this one is.
    fn negated(&self, place: OperationIndex) -> Option<OperationIndex> {
        match self.operations[place as usize] {
            Operation::Negate(a) => Some(a),
            _ => None,
        }
    }

    /// Mask and number of a choice between this number and 0.
    fn chosen(&self, place: OperationIndex) -> Option<(OperationIndex, OperationIndex)> {
        match self.operations[place as usize] {
            Operation::Select(mask, a, b) if self.known(b) == Some(0.0) => Some((mask, a)),
            _ => None,
        }
    }

    fn negate(&mut self, a: OperationIndex) -> OperationIndex {
        match (self.known(a), self.negated(a)) {
            (Some(x), _) => self.literal(-x),
            (_, Some(p)) => p,
            _ => self.push(Operation::Negate(a)),
        }
    }

    fn add(&mut self, a: OperationIndex, b: OperationIndex) -> OperationIndex {
        match (self.known(a), self.known(b), self.negated(a), self.negated(b)) {
            (Some(x), Some(y), ..) => self.literal(x + y),
            (Some(0.0), ..) => b,
            (_, Some(0.0), ..) => a,
            (.., Some(q)) => self.subtract(a, q),
            (_, _, Some(p), _) => self.subtract(b, p),
            _ => match (self.chosen(a), self.chosen(b)) {
                (Some((mask, p)), Some((same, q))) if mask == same => {
                    let (sum, zero) = (self.add(p, q), self.literal(0.0));
                    self.select(mask, sum, zero)
                }
                _ => self.push(Operation::Add(a.min(b), a.max(b))),
            },
        }
    }

    fn subtract(&mut self, a: OperationIndex, b: OperationIndex) -> OperationIndex {
        match (self.known(a), self.known(b), self.negated(b)) {
            (Some(x), Some(y), _) => self.literal(x - y),
            (Some(0.0), ..) => self.negate(b),
            (_, Some(0.0), _) => a,
            (.., Some(q)) => self.add(a, q),
            _ => self.push(Operation::Subtract(a, b)),
        }
    }

    fn multiply(&mut self, a: OperationIndex, b: OperationIndex) -> OperationIndex {
        match (self.known(a), self.known(b), self.negated(a), self.negated(b)) {
            (Some(x), Some(y), ..) => self.literal(x * y),
            (Some(x), ..) => self.scale(x, b),
            (_, Some(y), ..) => self.scale(y, a),
            (_, _, Some(p), _) => {
                let product = self.multiply(p, b);
                self.negate(product)
            }
            (.., Some(q)) => {
                let product = self.multiply(a, q);
                self.negate(product)
            }
            _ => self.push(Operation::Multiply(a.min(b), a.max(b))),
        }
    }

    /// Product of a known number and an unknown one.
    fn scale(&mut self, x: f64, a: OperationIndex) -> OperationIndex {
        if x == 1.0 {
            return a;
        }
        if x == -1.0 {
            return self.negate(a);
        }
        if let Some(p) = self.negated(a) {
            return self.scale(-x, p);
        }
        if let Operation::Multiply(p, q) = self.operations[a as usize] {
            match (self.known(p), self.known(q)) {
                (Some(y), _) => return self.scale(x * y, q),
                (_, Some(y)) => return self.scale(x * y, p),
                _ => {}
            }
        }
        let factor = self.literal(x);
        self.push(Operation::Multiply(a.min(factor), a.max(factor)))
    }

    fn divide(&mut self, a: OperationIndex, b: OperationIndex) -> OperationIndex {
        match (self.known(a), self.known(b)) {
            (Some(x), Some(y)) => self.literal(x / y),
            (_, Some(1.0)) => a,
            _ => self.push(Operation::Divide(a, b)),
        }
    }

    fn multiply_add(&mut self, a: OperationIndex, b: OperationIndex, c: OperationIndex) -> OperationIndex {
        let (x, y) = (self.known(a), self.known(b));
        let trivial = [x, y].into_iter().flatten().any(|x| x.abs() == 1.0);
        if trivial || (x.is_some() && y.is_some()) || self.known(c) == Some(0.0) {
            let product = self.multiply(a, b);
            return self.add(product, c);
        }
        match (self.negated(a), self.negated(b)) {
            (Some(p), Some(q)) => self.multiply_add(p, q, c),
            _ => self.push(Operation::MultiplyAdd(a.min(b), a.max(b), c)),
        }
    }

    fn call(&mut self, function: Function, a: OperationIndex) -> OperationIndex {
        match self.known(a) {
            Some(x) => self.literal(function.of(x)),
            None => self.push(Operation::Call(function, a)),
        }
    }

    fn select(&mut self, mask: OperationIndex, a: OperationIndex, b: OperationIndex) -> OperationIndex {
        if let Operation::Less(p, q) = self.operations[mask as usize]
            && let (Some(x), Some(y)) = (self.known(p), self.known(q))
        {
            return if x < y { a } else { b };
        }
        if a == b { a } else { self.push(Operation::Select(mask, a, b)) }
    }
}

fn on_tape(write: impl FnOnce(&mut Tape) -> OperationIndex) -> OperationIndex {
    TAPE.with_borrow_mut(write)
}

impl Add for Recorder {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Recorder(on_tape(|tape| tape.add(self.0, o.0)))
    }
}

impl Sub for Recorder {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Recorder(on_tape(|tape| tape.subtract(self.0, o.0)))
    }
}

impl Mul for Recorder {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        Recorder(on_tape(|tape| tape.multiply(self.0, o.0)))
    }
}

impl Div for Recorder {
    type Output = Self;
    fn div(self, o: Self) -> Self {
        Recorder(on_tape(|tape| tape.divide(self.0, o.0)))
    }
}

impl Neg for Recorder {
    type Output = Self;
    fn neg(self) -> Self {
        Recorder(on_tape(|tape| tape.negate(self.0)))
    }
}

impl Planar for Recorder {
    fn angle(x: Self, y: Self) -> Self {
        Recorder(on_tape(|tape| match (tape.known(x.0), tape.known(y.0)) {
            (Some(x), Some(y)) => tape.literal(y.atan2(x)),
            _ => tape.push(Operation::Angle(x.0, y.0)),
        }))
    }
}

impl Real for Recorder {
    type Mask = Mask;

    fn lit(value: f64) -> Self {
        Recorder(on_tape(|tape| tape.literal(value)))
    }
    fn mul_add(self, b: Self, c: Self) -> Self {
        Recorder(on_tape(|tape| tape.multiply_add(self.0, b.0, c.0)))
    }
    fn recip(self) -> Self {
        Recorder(on_tape(|tape| {
            // Squares of a root that is there cost a quarter of another such function.
            match tape.find(Operation::Call(Function::ReciprocalSquareRoot, self.0)) {
                Some(root) => tape.multiply(root, root),
                None => tape.call(Function::Reciprocal, self.0),
            }
        }))
    }
    fn sqrt(self) -> Self {
        Recorder(on_tape(|tape| tape.call(Function::SquareRoot, self.0)))
    }
    fn rsqrt(self) -> Self {
        Recorder(on_tape(|tape| tape.call(Function::ReciprocalSquareRoot, self.0)))
    }
    fn exp(self) -> Self {
        // Processors compute powers of two; the factor goes into any product in the argument.
        Recorder(on_tape(|tape| {
            let power = tape.scale(std::f64::consts::LOG2_E, self.0);
            tape.call(Function::ExponentialOfTwo, power)
        }))
    }
    fn ln(self) -> Self {
        Recorder(on_tape(|tape| tape.call(Function::Logarithm, self.0)))
    }
    fn acos(self) -> Self {
        Recorder(on_tape(|tape| tape.call(Function::ArcCosine, self.0)))
    }
    fn sin(self) -> Self {
        Recorder(on_tape(|tape| tape.call(Function::Sine, self.0)))
    }
    fn cos(self) -> Self {
        Recorder(on_tape(|tape| tape.call(Function::Cosine, self.0)))
    }
    fn tanh(self) -> Self {
        Recorder(on_tape(|tape| tape.call(Function::HyperbolicTangent, self.0)))
    }
    fn erf(self) -> Self {
        Recorder(on_tape(|tape| tape.call(Function::ErrorIntegral, self.0)))
    }
    fn erfc(self) -> Self {
        Recorder(on_tape(|tape| tape.call(Function::ErrorComplement, self.0)))
    }
    fn lt(self, other: Self) -> Mask {
        Mask(on_tape(|tape| tape.push(Operation::Less(self.0, other.0))))
    }
    fn select(mask: Mask, a: Self, b: Self) -> Self {
        Recorder(on_tape(|tape| tape.select(mask.0, a.0, b.0)))
    }
}
