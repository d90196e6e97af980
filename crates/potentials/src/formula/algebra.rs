//! Expressions in one normal form, so that equal ones are written alike: sums of products of powers. Known
//! numbers are computed at once, and factors that do not depend on the distance gather in front of the
//! others.

use jostle_core::Real;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// An expression: terms that add up, none of them alike. Nothing is zero.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Sum(pub Vec<Term>);

/// A number times powers of bases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Term {
    /// The number.
    pub coefficient: f64,
    /// Bases and their exponents, in the order of the bases.
    pub factors: Vec<(Base, f64)>,
}

/// Base of a power.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Base {
    /// The distance r, which is positive.
    Distance,
    /// A parameter, by its place among them.
    Parameter(u32),
    /// A function of an expression.
    Call(Function, Id),
    /// Several terms in brackets.
    Sum(Id),
    /// The third expression where the first is less than the second, else the fourth.
    Choice([Id; 4]),
}

/// A function of one number, as [`jostle_core::Real`] has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Function {
    /// The exponential function.
    Exp,
    /// The natural logarithm.
    Ln,
    /// The sine.
    Sin,
    /// The cosine.
    Cos,
    /// The hyperbolic tangent.
    Tanh,
    /// The error function.
    Erf,
    /// 1 - erf.
    Erfc,
}

impl Function {
    /// Value of the function.
    #[inline(always)]
    pub fn of<R: Real>(self, x: R) -> R {
        match self {
            Function::Exp => x.exp(),
            Function::Ln => x.ln(),
            Function::Sin => x.sin(),
            Function::Cos => x.cos(),
            Function::Tanh => x.tanh(),
            Function::Erf => x.erf(),
            Function::Erfc => x.erfc(),
        }
    }
}

/// An expression that is part of another one.
pub type Id = u32;

/// A term by the bits of its numbers.
type TermKey = (u64, Vec<(Base, u64)>);

/// The expressions that are parts of others, each of them once.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Algebra {
    sums: Vec<Sum>,
    ids: HashMap<Vec<TermKey>, Id>,
}

impl Sum {
    /// A number.
    pub fn number(x: f64) -> Sum {
        if x == 0.0 { Sum::default() } else { Sum(vec![Term { coefficient: x, factors: Vec::new() }]) }
    }

    /// A power of a base.
    pub fn of(base: Base, exponent: f64) -> Sum {
        Sum(vec![Term { coefficient: 1.0, factors: vec![(base, exponent)] }])
    }

    /// Value of the expression, if it is a number.
    pub fn known(&self) -> Option<f64> {
        match &self.0[..] {
            [] => Some(0.0),
            [Term { coefficient, factors }] if factors.is_empty() => Some(*coefficient),
            _ => None,
        }
    }

    fn sorted(mut terms: Vec<Term>) -> Sum {
        let order = |a: &Term, b: &Term| {
            let key = |t: &Term| t.factors.iter().map(|(base, e)| (*base, *e)).collect::<Vec<_>>();
            key(a).partial_cmp(&key(b)).unwrap_or(std::cmp::Ordering::Equal)
        };
        terms.sort_by(order);
        let mut out: Vec<Term> = Vec::new();
        for term in terms {
            match out.last_mut() {
                Some(last) if last.factors == term.factors => last.coefficient += term.coefficient,
                _ => out.push(term),
            }
        }
        out.retain(|t| t.coefficient != 0.0);
        Sum(out)
    }

    /// The sum of two.
    pub fn plus(self, other: Sum) -> Sum {
        Sum::sorted([self.0, other.0].concat())
    }

    /// A number times this.
    pub fn times(mut self, x: f64) -> Sum {
        self.0.iter_mut().for_each(|t| t.coefficient *= x);
        self.0.retain(|t| t.coefficient != 0.0);
        self
    }
}

impl Term {
    fn times(&self, other: &Term) -> Term {
        let mut factors = [self.factors.as_slice(), &other.factors].concat();
        factors.sort_by_key(|f| f.0);
        let mut out: Vec<(Base, f64)> = Vec::new();
        for (base, exponent) in factors {
            match out.last_mut() {
                Some(last) if last.0 == base => last.1 += exponent,
                _ => out.push((base, exponent)),
            }
        }
        out.retain(|f| f.1 != 0.0);
        Term { coefficient: self.coefficient * other.coefficient, factors: out }
    }
}

impl Algebra {
    /// The expression of an id.
    pub fn get(&self, id: Id) -> &Sum {
        &self.sums[id as usize]
    }

    /// The id of an expression.
    pub fn intern(&mut self, sum: Sum) -> Id {
        let factors = |t: &Term| t.factors.iter().map(|(base, e)| (*base, e.to_bits())).collect();
        let key = sum.0.iter().map(|t| (t.coefficient.to_bits(), factors(t))).collect();
        *self.ids.entry(key).or_insert_with(|| {
            self.sums.push(sum);
            (self.sums.len() - 1) as Id
        })
    }

    /// The product of two. Brackets are only multiplied out with numbers, parameters and powers of
    /// the distance.
    pub fn multiply(&mut self, a: Sum, b: Sum) -> Sum {
        if a.0.is_empty() || b.0.is_empty() {
            return Sum::default();
        }
        let plain = |algebra: &Self, sum: &Sum| match &sum.0[..] {
            [term] => term.factors.iter().all(|(b, _)| *b == Base::Distance || !algebra.depends(*b)),
            _ => false,
        };
        if plain(self, &a) {
            return Sum::sorted(b.0.iter().map(|t| t.times(&a.0[0])).collect());
        }
        if plain(self, &b) {
            return Sum::sorted(a.0.iter().map(|t| t.times(&b.0[0])).collect());
        }
        let (a, b) = (self.one_term(a), self.one_term(b));
        let product = a.times(&b);
        // A product of a bracket and plain factors is multiplied out.
        if let Some(index) = product.factors.iter().position(|(b, e)| matches!(b, Base::Sum(_)) && *e == 1.0)
            && let Base::Sum(id) = product.factors[index].0
        {
            let mut rest = product.clone();
            rest.factors.remove(index);
            let rest = Sum(vec![rest]);
            if plain(self, &rest) {
                return Sum::sorted(self.get(id).0.iter().map(|t| t.times(&rest.0[0])).collect());
            }
        }
        Sum(vec![product])
    }

    fn one_term(&mut self, mut sum: Sum) -> Term {
        if sum.0.len() == 1 {
            return sum.0.remove(0);
        }
        Term { coefficient: 1.0, factors: vec![(Base::Sum(self.intern(sum)), 1.0)] }
    }

    /// A power with a known exponent.
    pub fn power(&mut self, a: Sum, exponent: f64) -> Sum {
        if exponent == 0.0 {
            return Sum::number(1.0);
        }
        if exponent == 1.0 {
            return a;
        }
        if let Some(x) = a.known() {
            return Sum::number(x.powf(exponent));
        }
        let [term] = &a.0[..] else { return Sum::of(Base::Sum(self.intern(a)), exponent) };
        // Roots only of what is never negative: the root of a square is not what was squared.
        let whole = exponent.fract() == 0.0;
        let positive = |base: Base| matches!(base, Base::Distance | Base::Call(Function::Exp, _));
        let (outside, inside): (Vec<_>, Vec<_>) =
            term.factors.iter().copied().partition(|(base, _)| whole || positive(*base));
        let raised = |(base, e): (Base, f64)| (base, e * exponent);
        let mut product =
            Sum(vec![Term { coefficient: 1.0, factors: outside.into_iter().map(raised).collect() }]);
        let rest = Sum(vec![Term { coefficient: term.coefficient, factors: inside }]);
        let rest = match rest.known() {
            Some(x) => Sum::number(x.powf(exponent)),
            None => Sum::of(Base::Sum(self.intern(rest)), exponent),
        };
        product = self.multiply(product, rest);
        product
    }

    /// A power whose exponent is an expression.
    pub fn power_of(&mut self, a: Sum, exponent: Sum) -> Sum {
        match exponent.known() {
            Some(n) => self.power(a, n),
            None => {
                let logarithm = self.call(Function::Ln, a);
                let product = self.multiply(exponent, logarithm);
                self.call(Function::Exp, product)
            }
        }
    }

    /// A function of an expression.
    pub fn call(&mut self, function: Function, a: Sum) -> Sum {
        if let Some(x) = a.known() {
            return Sum::number(function.of(x));
        }
        if let (Function::Ln, [term]) = (function, &a.0[..])
            && let Some(index) = term.factors.iter().position(|f| f.0 == Base::Distance)
            && (term.factors.len() > 1 || term.coefficient != 1.0 || term.factors[0].1 != 1.0)
        {
            // The logarithm of the distance apart, as the distance is positive.
            let mut rest = term.clone();
            let (_, exponent) = rest.factors.remove(index);
            let distance = self.call(Function::Ln, Sum::of(Base::Distance, 1.0)).times(exponent);
            return self.call(Function::Ln, Sum(vec![rest])).plus(distance);
        }
        Sum::of(Base::Call(function, self.intern(a)), 1.0)
    }

    /// `yes` where a < b, else `no`.
    pub fn choice(&mut self, a: Sum, b: Sum, yes: Sum, no: Sum) -> Sum {
        if let (Some(x), Some(y)) = (a.known(), b.known()) {
            return if x < y { yes } else { no };
        }
        if yes == no {
            return yes;
        }
        let ids = [a, b, yes, no].map(|sum| self.intern(sum));
        Sum::of(Base::Choice(ids), 1.0)
    }

    /// The derivative by the distance. Steps have none.
    pub fn derivative(&mut self, sum: &Sum) -> Sum {
        let mut total = Sum::default();
        for term in &sum.0 {
            for (k, &(base, exponent)) in term.factors.iter().enumerate() {
                if !self.depends(base) {
                    continue;
                }
                let mut lowered = term.clone();
                lowered.coefficient *= exponent;
                lowered.factors[k].1 -= 1.0;
                lowered.factors.retain(|f| f.1 != 0.0);
                let slope = self.slope(base);
                let product = self.multiply(Sum(vec![lowered]), slope);
                total = total.plus(product);
            }
        }
        total
    }

    fn slope(&mut self, base: Base) -> Sum {
        match base {
            Base::Distance => Sum::number(1.0),
            Base::Parameter(_) => Sum::default(),
            Base::Sum(id) => self.derivative(&self.get(id).clone()),
            Base::Choice([a, b, yes, no]) => {
                let [a, b, yes, no] = [a, b, yes, no].map(|id| self.get(id).clone());
                let (yes, no) = (self.derivative(&yes), self.derivative(&no));
                self.choice(a, b, yes, no)
            }
            Base::Call(function, id) => {
                let argument = self.get(id).clone();
                let inner = self.derivative(&argument);
                let outer = self.slope_of_call(function, argument);
                self.multiply(outer, inner)
            }
        }
    }

    fn slope_of_call(&mut self, function: Function, x: Sum) -> Sum {
        let bell = |algebra: &mut Self, x: Sum| {
            let square = algebra.power(x, 2.0).times(-1.0);
            algebra.call(Function::Exp, square).times(std::f64::consts::FRAC_2_SQRT_PI)
        };
        match function {
            Function::Exp => self.call(Function::Exp, x),
            Function::Ln => self.power(x, -1.0),
            Function::Sin => self.call(Function::Cos, x),
            Function::Cos => self.call(Function::Sin, x).times(-1.0),
            Function::Tanh => {
                let tanh = self.call(Function::Tanh, x);
                let square = self.power(tanh, 2.0);
                Sum::number(1.0).plus(square.times(-1.0))
            }
            Function::Erf => bell(self, x),
            Function::Erfc => bell(self, x).times(-1.0),
        }
    }

    /// Returns true where a base depends on the distance.
    pub fn depends(&self, base: Base) -> bool {
        let sum = |id: Id| self.get(id).0.iter().any(|t| t.factors.iter().any(|f| self.depends(f.0)));
        match base {
            Base::Distance => true,
            Base::Parameter(_) => false,
            Base::Call(_, id) | Base::Sum(id) => sum(id),
            Base::Choice(ids) => ids.into_iter().any(sum),
        }
    }

    /// The value of an expression that does not depend on the distance; NaN if it does.
    pub fn value<R: Real>(&self, sum: &Sum, parameters: &[R]) -> R {
        let of = |id: Id| self.value(self.get(id), parameters);
        let base = |base: Base| match base {
            Base::Distance => R::lit(f64::NAN),
            Base::Parameter(k) => parameters.get(k as usize).copied().unwrap_or(R::lit(f64::NAN)),
            Base::Call(function, id) => function.of(of(id)),
            Base::Sum(id) => of(id),
            Base::Choice([a, b, yes, no]) => R::select(of(a).lt(of(b)), of(yes), of(no)),
        };
        let product =
            |t: &Term| t.factors.iter().fold(R::lit(t.coefficient), |y, (b, e)| y * power(base(*b), *e));
        sum.0.iter().map(product).fold(R::lit(0.0), |sum, term| sum + term)
    }
}

/// A number to a power. Whole powers are products, by squares as [`f64::powi`] has them.
fn power<R: Real>(x: R, exponent: f64) -> R {
    if exponent == 0.5 {
        return x.sqrt();
    }
    if exponent.fract() != 0.0 {
        return (R::lit(exponent) * x.ln()).exp();
    }
    let (mut rest, mut square, mut product) = (exponent.abs() as u32, x, R::lit(1.0));
    while rest > 0 {
        if rest & 1 == 1 {
            product = product * square;
        }
        rest >>= 1;
        if rest > 0 {
            square = square * square;
        }
    }
    if exponent < 0.0 { R::lit(1.0) / product } else { product }
}
