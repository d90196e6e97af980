//! A formula as a list of simple steps, ready to be computed on any kind of number.

use super::algebra::Function;
use jostle_core::Real;
use serde::{Deserialize, Serialize};

/// Index of a step and of its result.
pub type StepIndex = u16;

/// The most steps of a program.
pub const MOST_STEPS: usize = 200;

/// A step; its operands are results of earlier ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Step {
    /// The squared distance.
    Square,
    /// A coefficient of the pair of species.
    Coefficient(u16),
    /// A number.
    Literal(f64),
    /// a + b
    Add(StepIndex, StepIndex),
    /// a b
    Multiply(StepIndex, StepIndex),
    /// a b + c, rounded once where that is cheaper
    MultiplyAdd(StepIndex, StepIndex, StepIndex),
    /// 1 / a
    Recip(StepIndex),
    /// The square root.
    Sqrt(StepIndex),
    /// 1 / square root
    Rsqrt(StepIndex),
    /// A function.
    Call(Function, StepIndex),
    /// The third where the first is less than the second, else the fourth.
    Choose([StepIndex; 4]),
}

impl Step {
    /// Operands of the step.
    pub fn operands(self) -> impl Iterator<Item = StepIndex> {
        let operands = match self {
            Step::Square | Step::Coefficient(_) | Step::Literal(_) => [None; 4],
            Step::Recip(a) | Step::Sqrt(a) | Step::Rsqrt(a) | Step::Call(_, a) => [Some(a), None, None, None],
            Step::Add(a, b) | Step::Multiply(a, b) => [Some(a), Some(b), None, None],
            Step::MultiplyAdd(a, b, c) => [Some(a), Some(b), Some(c), None],
            Step::Choose(operands) => operands.map(Some),
        };
        operands.into_iter().flatten()
    }

    /// The step with other operands.
    pub fn moved(self, to: impl Fn(StepIndex) -> StepIndex) -> Step {
        match self {
            Step::Square | Step::Coefficient(_) | Step::Literal(_) => self,
            Step::Add(a, b) => Step::Add(to(a), to(b)),
            Step::Multiply(a, b) => Step::Multiply(to(a), to(b)),
            Step::MultiplyAdd(a, b, c) => Step::MultiplyAdd(to(a), to(b), to(c)),
            Step::Recip(a) => Step::Recip(to(a)),
            Step::Sqrt(a) => Step::Sqrt(to(a)),
            Step::Rsqrt(a) => Step::Rsqrt(to(a)),
            Step::Call(function, a) => Step::Call(function, to(a)),
            Step::Choose(operands) => Step::Choose(operands.map(to)),
        }
    }

    /// Result of the step, from those of earlier steps.
    #[inline(always)]
    pub fn result<R: Real>(self, r2: R, c: &[R], earlier: &[R]) -> R {
        let at = |index: StepIndex| earlier[usize::from(index)];
        match self {
            Step::Square => r2,
            Step::Coefficient(k) => c[usize::from(k)],
            Step::Literal(x) => R::lit(x),
            Step::Add(a, b) => at(a) + at(b),
            Step::Multiply(a, b) => at(a) * at(b),
            Step::MultiplyAdd(a, b, c) => at(a).mul_add(at(b), at(c)),
            Step::Recip(a) => at(a).recip(),
            Step::Sqrt(a) => at(a).sqrt(),
            Step::Rsqrt(a) => at(a).rsqrt(),
            Step::Call(function, a) => function.of(at(a)),
            Step::Choose([a, b, yes, no]) => R::select(at(a).lt(at(b)), at(yes), at(no)),
        }
    }
}

/// Energy and force over distance of a pair, step by step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Program {
    /// The steps.
    pub steps: Vec<Step>,
    /// Number of steps, the first ones, that the force needs.
    pub n_force: usize,
    /// Step whose result is the force over distance.
    pub force: StepIndex,
    /// Step whose result is the energy.
    pub energy: StepIndex,
}

impl Program {
    /// Energy and force over distance at a squared distance.
    pub fn evaluate<R: Real>(&self, r2: R, c: &[R]) -> (R, R) {
        let results = self.results(r2, c);
        (results[usize::from(self.energy)], results[usize::from(self.force)])
    }

    /// The results of all steps.
    pub fn results<R: Real>(&self, r2: R, c: &[R]) -> Vec<R> {
        let mut results = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            results.push(step.result(r2, c, &results));
        }
        results
    }
}
