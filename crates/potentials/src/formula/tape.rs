//! Functions of several numbers as steps: a number that records what is done with it.

use super::algebra::Function;
use super::program::{Step, StepIndex};
use jostle_core::Real;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// Largest number of steps that are recorded.
const MOST_RECORDED: usize = 20_000;

/// Functions of some numbers, step by step; their inputs are [`Step::Coefficient`]s.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct RecordedProgram {
    steps: Vec<Step>,
    /// Steps whose results are the values of the functions.
    outputs: Vec<StepIndex>,
}

impl RecordedProgram {
    /// Steps of some functions of so many numbers; `None` where there are too many.
    pub fn record(inputs: usize, functions: impl FnOnce(&[Taped]) -> Vec<Taped>) -> Option<Self> {
        TAPE.set(Tape::default());
        let inputs: Vec<Taped> = (0..inputs).map(|k| push(Step::Coefficient(k as u16))).collect();
        let outputs: Vec<StepIndex> = functions(&inputs).iter().map(|x| x.0).collect();
        let Tape { steps, is_complete, .. } = TAPE.take();
        is_complete.then(|| RecordedProgram { steps, outputs }.tidy())
    }

    /// The program without steps that nothing needs.
    fn tidy(self) -> Self {
        let mut needed = vec![false; self.steps.len()];
        self.outputs.iter().for_each(|k| needed[usize::from(*k)] = true);
        for k in (0..self.steps.len()).rev().filter(|k| *k < self.steps.len()) {
            if needed[k] {
                self.steps[k].operands().for_each(|p| needed[usize::from(p)] = true);
            }
        }
        let (mut to, mut steps) = (vec![0; self.steps.len()], Vec::new());
        for (k, step) in self.steps.iter().enumerate().filter(|(k, _)| needed[*k]) {
            to[k] = steps.len() as StepIndex;
            steps.push(step.moved(|p| to[usize::from(p)]));
        }
        let outputs = self.outputs.iter().map(|k| to[usize::from(*k)]).collect();
        RecordedProgram { steps, outputs }
    }

    /// Values of the functions for some numbers; `results` are overwritten with those of all steps.
    #[inline(always)]
    pub fn evaluate<R: Real, const N: usize>(&self, inputs: &[R], results: &mut Vec<R>) -> [R; N] {
        results.clear();
        for step in &self.steps {
            results.push(step.result(R::lit(f64::NAN), inputs, results));
        }
        std::array::from_fn(|k| results[usize::from(self.outputs[k])])
    }
}

/// A number that is not known yet: operations on it are recorded on the tape of this thread.
#[derive(Debug, Clone, Copy)]
pub struct Taped(StepIndex);

/// A comparison that is not known yet.
#[derive(Debug, Clone, Copy)]
pub struct Comparison(StepIndex, StepIndex);

struct Tape {
    steps: Vec<Step>,
    /// Index of each step, by its text: numbers are told apart by their digits.
    indices: HashMap<String, StepIndex>,
    /// True as long as all operations can be recorded.
    is_complete: bool,
}

impl Default for Tape {
    fn default() -> Self {
        Tape { steps: Vec::new(), indices: HashMap::new(), is_complete: true }
    }
}

thread_local! {
    static TAPE: RefCell<Tape> = RefCell::default();
}

impl Tape {
    fn push(&mut self, step: Step) -> StepIndex {
        if self.steps.len() >= MOST_RECORDED {
            self.is_complete = false;
            return 0;
        }
        *self.indices.entry(format!("{step:?}")).or_insert_with(|| {
            self.steps.push(step);
            (self.steps.len() - 1) as StepIndex
        })
    }

    fn known(&self, index: StepIndex) -> Option<f64> {
        match self.steps.get(usize::from(index)) {
            Some(Step::Literal(x)) => Some(*x),
            _ => None,
        }
    }

    fn add(&mut self, a: StepIndex, b: StepIndex) -> StepIndex {
        match (self.known(a), self.known(b)) {
            (Some(x), Some(y)) => self.push(Step::Literal(x + y)),
            (Some(0.0), _) => b,
            (_, Some(0.0)) => a,
            _ => self.push(Step::Add(a.min(b), a.max(b))),
        }
    }

    /// Product; of zero and anything zero, as derivatives are.
    fn multiply(&mut self, a: StepIndex, b: StepIndex) -> StepIndex {
        match (self.known(a), self.known(b)) {
            (Some(x), Some(y)) => self.push(Step::Literal(x * y)),
            (Some(0.0), _) | (_, Some(0.0)) => self.push(Step::Literal(0.0)),
            (Some(1.0), _) => b,
            (_, Some(1.0)) => a,
            _ => self.push(Step::Multiply(a.min(b), a.max(b))),
        }
    }

    fn multiply_add(&mut self, a: StepIndex, b: StepIndex, c: StepIndex) -> StepIndex {
        let simple = |x: Option<f64>| x.is_some_and(|x| x == 0.0 || x == 1.0);
        if simple(self.known(a)) || simple(self.known(b)) || self.known(c) == Some(0.0) {
            let product = self.multiply(a, b);
            return self.add(product, c);
        }
        self.push(Step::MultiplyAdd(a.min(b), a.max(b), c))
    }
}

fn on_tape(write: impl FnOnce(&mut Tape) -> StepIndex) -> Taped {
    Taped(TAPE.with_borrow_mut(write))
}

fn push(step: Step) -> Taped {
    on_tape(|tape| tape.push(step))
}

/// A function of a number, or its value where the number is known.
fn function(x: Taped, step: Step, of: impl FnOnce(f64) -> f64) -> Taped {
    on_tape(|tape| match tape.known(x.0) {
        Some(x) => tape.push(Step::Literal(of(x))),
        None => tape.push(step),
    })
}

fn call(x: Taped, of: Function) -> Taped {
    function(x, Step::Call(of, x.0), |x| of.of(x))
}

impl Add for Taped {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        on_tape(|tape| tape.add(self.0, other.0))
    }
}

impl Sub for Taped {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for Taped {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        on_tape(|tape| tape.multiply(self.0, other.0))
    }
}

impl Div for Taped {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let inverse = other.recip();
        on_tape(|tape| tape.multiply(self.0, inverse.0))
    }
}

impl Neg for Taped {
    type Output = Self;
    fn neg(self) -> Self {
        self * Taped::lit(-1.0)
    }
}

impl Real for Taped {
    type Mask = Comparison;

    fn lit(value: f64) -> Self {
        push(Step::Literal(value))
    }
    fn mul_add(self, b: Self, c: Self) -> Self {
        on_tape(|tape| tape.multiply_add(self.0, b.0, c.0))
    }
    fn recip(self) -> Self {
        function(self, Step::Recip(self.0), f64::recip)
    }
    fn sqrt(self) -> Self {
        function(self, Step::Sqrt(self.0), f64::sqrt)
    }
    fn rsqrt(self) -> Self {
        function(self, Step::Rsqrt(self.0), |x| x.sqrt().recip())
    }
    fn exp(self) -> Self {
        call(self, Function::Exp)
    }
    fn ln(self) -> Self {
        call(self, Function::Ln)
    }
    fn acos(self) -> Self {
        // Formulas have no inverse cosine.
        TAPE.with_borrow_mut(|tape| tape.is_complete = false);
        self
    }
    fn sin(self) -> Self {
        call(self, Function::Sin)
    }
    fn cos(self) -> Self {
        call(self, Function::Cos)
    }
    fn tanh(self) -> Self {
        call(self, Function::Tanh)
    }
    fn erf(self) -> Self {
        call(self, Function::Erf)
    }
    fn erfc(self) -> Self {
        call(self, Function::Erfc)
    }
    fn lt(self, other: Self) -> Comparison {
        Comparison(self.0, other.0)
    }
    fn select(Comparison(a, b): Comparison, yes: Self, no: Self) -> Self {
        if yes.0 == no.0 { yes } else { push(Step::Choose([a, b, yes.0, no.0])) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Functions that use every operation.
    fn functions<R: Real>(x: &[R]) -> Vec<R> {
        let [a, b] = [x[0], x[1]];
        let one = a.mul_add(b, a * a) / (b + R::lit(3.0)) - a.sin() * b.cos() + (-a).exp() * b.tanh();
        let two = (a * a + R::lit(1.0)).sqrt().ln() + (b * b).rsqrt() - a.erf() * b.erfc() + b.recip();
        vec![one, two, R::select(a.lt(b), one * R::lit(0.0) + a, two * R::lit(1.0)), R::lit(2.0).sqrt()]
    }

    #[test]
    fn steps_give_the_numbers_of_the_functions() {
        let program = RecordedProgram::record(2, functions).unwrap();
        let mut results = Vec::new();
        for inputs in [[0.3, 0.7], [1.5, -0.4], [-2.0, 0.1]] {
            let found: [f64; 4] = program.evaluate(&inputs, &mut results);
            for (a, b) in found.iter().zip(functions(&inputs)) {
                assert!((a - b).abs() < 1e-13 * (1.0 + b.abs()), "{a} {b}");
            }
        }
    }

    #[test]
    fn steps_are_shared_and_unused_ones_left_out() {
        let program = RecordedProgram::record(2, |x| {
            let square = x[0] * x[0];
            let _ = square.exp();
            vec![square + x[1], square + x[1] * Taped::lit(0.0)]
        });
        let program = program.unwrap();
        assert_eq!(program.steps.len(), 4, "{:?}", program.steps);
    }

    #[test]
    fn too_many_steps_are_refused() {
        let grow =
            |x: &[Taped]| vec![(0..30_000).fold(x[0], |sum, k| sum + x[0] * Taped::lit(2.0 + f64::from(k)))];
        assert!(RecordedProgram::record(1, grow).is_none());
    }
}
