//! Translation of an expression to the steps that compute it: equal parts are computed once, powers by
//! multiplication, sums after taking out common factors of their terms (the multivariate scheme of Horner; M.
//! Ceberio and V. Kreinovich, SIGSAM Bulletin 38 (2004) 8).

use super::algebra::{Algebra, Base, Function, Id, Sum, Term};
use super::program::{MOST_STEPS, Program, Step, StepIndex};
use std::collections::HashMap;

/// Largest number of steps before unused ones are left out.
const CAPACITY: usize = 10 * MOST_STEPS;

/// Steps of an energy u(r) and of -(du/dr) / r, and the coefficients that they take: expressions
/// that do not depend on the distance. `None` if there are too many steps.
pub fn lower(algebra: &mut Algebra, energy: &Sum) -> Option<(Program, Vec<Sum>)> {
    let slope = algebra.derivative(energy);
    let force = algebra.multiply(slope, Sum::of(Base::Distance, -1.0)).times(-1.0);
    let mut reach = Reach::default();
    reach.sum(algebra, &force);
    reach.sum(algebra, energy);
    let mut lowering = Lowering {
        algebra,
        odd: reach.odd,
        exponentials: reach.exponentials,
        steps: Vec::new(),
        known: HashMap::new(),
        coefficients: Vec::new(),
        full: false,
    };
    let force = lowering.sum(&force);
    let energy = lowering.sum(energy);
    let (steps, coefficients, full) = (lowering.steps, lowering.coefficients, lowering.full);
    if full {
        return None;
    }
    let program = tidy(steps, force, energy);
    (program.steps.len() <= MOST_STEPS).then_some((program, coefficients))
}

/// Contents of an expression.
#[derive(Default)]
struct Reach {
    /// True if there is a power of the distance that is not even.
    odd: bool,
    /// Arguments of exponential functions.
    exponentials: Vec<Id>,
}

impl Reach {
    fn sum(&mut self, algebra: &Algebra, sum: &Sum) {
        for (base, exponent) in sum.0.iter().flat_map(|t| &t.factors) {
            match *base {
                Base::Distance => self.odd |= exponent.rem_euclid(2.0) != 0.0,
                Base::Call(Function::Ln, id) if *algebra.get(id) == Sum::of(Base::Distance, 1.0) => {}
                Base::Call(function, id) => {
                    if function == Function::Exp && !self.exponentials.contains(&id) {
                        self.exponentials.push(id);
                    }
                    self.sum(algebra, algebra.get(id));
                }
                Base::Sum(id) => self.sum(algebra, algebra.get(id)),
                Base::Choice(ids) => ids.iter().for_each(|id| self.sum(algebra, algebra.get(*id))),
                Base::Parameter(_) => {}
            }
        }
    }
}

/// A coefficient, and powers of what depends on the distance.
type Item = (Sum, Vec<(Base, f64)>);

struct Lowering<'a> {
    algebra: &'a mut Algebra,
    odd: bool,
    exponentials: Vec<Id>,
    steps: Vec<Step>,
    known: HashMap<String, StepIndex>,
    coefficients: Vec<Sum>,
    /// True once there were more than [`CAPACITY`] steps.
    full: bool,
}

impl Lowering<'_> {
    fn step(&mut self, step: Step) -> StepIndex {
        let step = match step {
            Step::Add(a, b) => Step::Add(a.min(b), a.max(b)),
            Step::Multiply(a, b) => Step::Multiply(a.min(b), a.max(b)),
            other => other,
        };
        if self.steps.len() > CAPACITY {
            self.full = true;
            return 0;
        }
        // Numbers are told apart by their digits.
        *self.known.entry(format!("{step:?}")).or_insert_with(|| {
            self.steps.push(step);
            (self.steps.len() - 1) as StepIndex
        })
    }

    fn sum(&mut self, sum: &Sum) -> StepIndex {
        let mut items: Vec<Item> = Vec::new();
        for term in &sum.0 {
            let (varies, constant): (Vec<_>, Vec<_>) =
                term.factors.iter().copied().partition(|(base, _)| self.algebra.depends(*base));
            let coefficient = Sum(vec![Term { coefficient: term.coefficient, factors: constant }]);
            match items.iter_mut().find(|item| item.1 == varies) {
                Some(item) => item.0 = std::mem::take(&mut item.0).plus(coefficient),
                None => items.push((coefficient, varies)),
            }
        }
        if items.is_empty() { self.step(Step::Literal(0.0)) } else { self.horner(items) }
    }

    /// The sum of some products.
    fn horner(&mut self, items: Vec<Item>) -> StepIndex {
        if let [(coefficient, factors)] = &items[..] {
            return match (coefficient.known(), factors.is_empty()) {
                (Some(1.0), false) => self.product(factors),
                (_, true) => self.coefficient(coefficient),
                _ => {
                    let (coefficient, product) = (self.coefficient(coefficient), self.product(factors));
                    self.step(Step::Multiply(product, coefficient))
                }
            };
        }
        let common: Vec<(Base, f64)> = items[0]
            .1
            .iter()
            .filter_map(|&(base, exponent)| {
                let others = items.iter().map(|item| exponent_of(item, base));
                let least = others.fold(exponent, |least, e| {
                    if least * e <= 0.0 {
                        0.0
                    } else if e.abs() < least.abs() {
                        e
                    } else {
                        least
                    }
                });
                (least != 0.0).then_some((base, least))
            })
            .collect();
        if !common.is_empty() {
            let inner = items.into_iter().map(|item| divided(item, &common)).collect();
            let (inner, outer) = (self.horner(inner), self.product(&common));
            return self.step(Step::Multiply(inner, outer));
        }
        // The most frequent factor is taken out of the terms that have it.
        let mut counts: Vec<((Base, bool), usize)> = Vec::new();
        for (base, exponent) in items.iter().flat_map(|item| &item.1) {
            let key = (*base, *exponent > 0.0);
            match counts.iter_mut().find(|c| c.0 == key) {
                Some(count) => count.1 += 1,
                None => counts.push((key, 1)),
            }
        }
        let most = counts.into_iter().rev().max_by_key(|c| c.1);
        let (with, without): (Vec<Item>, Vec<Item>) = match most {
            Some(((base, positive), count)) if count > 1 => items.into_iter().partition(|item| {
                let exponent = exponent_of(item, base);
                exponent != 0.0 && (exponent > 0.0) == positive
            }),
            _ => {
                let mut items = items;
                let last = items.split_off(items.len() - 1);
                (last, items)
            }
        };
        let (a, b) = (self.horner(with), self.horner(without));
        self.step(Step::Add(a, b))
    }

    fn coefficient(&mut self, sum: &Sum) -> StepIndex {
        if let Some(x) = sum.known() {
            return self.step(Step::Literal(x));
        }
        let index = self.coefficients.iter().position(|c| c == sum).unwrap_or_else(|| {
            self.coefficients.push(sum.clone());
            self.coefficients.len() - 1
        });
        self.step(Step::Coefficient(index as u16))
    }

    fn product(&mut self, factors: &[(Base, f64)]) -> StepIndex {
        let mut product = None;
        for &(base, exponent) in factors {
            let power =
                if base == Base::Distance { self.distance(exponent) } else { self.power(base, exponent) };
            product = Some(match product {
                Some(product) => self.step(Step::Multiply(product, power)),
                None => power,
            });
        }
        product.unwrap_or_else(|| self.step(Step::Literal(1.0)))
    }

    /// A power of the distance: of its square or of 1 / square where the exponent is even.
    fn distance(&mut self, exponent: f64) -> StepIndex {
        let square = self.step(Step::Square);
        if (2.0 * exponent).fract() != 0.0 {
            return self.fractional(square, 0.5 * exponent);
        }
        if exponent.fract() != 0.0 {
            let distance = self.distance(1.0);
            return self.fractional(distance, exponent);
        }
        let half = (0.5 * exponent.abs()).floor() as u32;
        let odd = exponent.rem_euclid(2.0) != 0.0;
        let inverse = if self.odd { Some(self.step(Step::Rsqrt(square))) } else { None };
        let step = if exponent > 0.0 {
            square
        } else {
            match inverse {
                Some(inverse) => self.step(Step::Multiply(inverse, inverse)),
                None => self.step(Step::Recip(square)),
            }
        };
        let single = match (inverse, odd) {
            // Exponentials of many times the distance make much of its last digit.
            (Some(_), true) if exponent > 0.0 && !self.exponentials.is_empty() => {
                Some(self.step(Step::Sqrt(square)))
            }
            (Some(inverse), true) if exponent > 0.0 => Some(self.step(Step::Multiply(square, inverse))),
            (Some(inverse), true) => Some(inverse),
            _ => None,
        };
        match (single, half) {
            (Some(single), 0) => single,
            (Some(single), _) => {
                let even = self.whole(step, half);
                self.step(Step::Multiply(even, single))
            }
            (None, _) => self.whole(step, half),
        }
    }

    fn power(&mut self, base: Base, exponent: f64) -> StepIndex {
        let (value, factor) = self.base(base);
        let exponent = exponent * factor;
        if exponent.fract() != 0.0 {
            return self.fractional(value, exponent);
        }
        let step = if exponent < 0.0 { self.step(Step::Recip(value)) } else { value };
        self.whole(step, exponent.abs() as u32)
    }

    /// x^n by multiplication; n > 0.
    fn whole(&mut self, x: StepIndex, n: u32) -> StepIndex {
        let (part, times) = match n {
            0 | 1 => return x,
            _ if n.is_multiple_of(2) => (n / 2, 2),
            _ if n.is_multiple_of(3) => (n / 3, 3),
            _ => (n - 1, 1),
        };
        let power = self.whole(x, part);
        match times {
            1 => self.step(Step::Multiply(power, x)),
            2 => self.step(Step::Multiply(power, power)),
            _ => {
                let square = self.step(Step::Multiply(power, power));
                self.step(Step::Multiply(square, power))
            }
        }
    }

    /// x^e for x >= 0 by roots where the exponent is a half, else by the logarithm.
    fn fractional(&mut self, x: StepIndex, exponent: f64) -> StepIndex {
        if (2.0 * exponent).fract() != 0.0 {
            let exponent = self.step(Step::Literal(exponent));
            let logarithm = self.step(Step::Call(Function::Ln, x));
            let product = self.step(Step::Multiply(exponent, logarithm));
            return self.step(Step::Call(Function::Exp, product));
        }
        let whole = (exponent.abs() - 0.5) as u32;
        let (root, base) = if exponent > 0.0 {
            (self.step(Step::Sqrt(x)), x)
        } else {
            let root = self.step(Step::Rsqrt(x));
            (root, if whole > 0 { self.step(Step::Multiply(root, root)) } else { root })
        };
        if whole == 0 {
            return root;
        }
        let power = self.whole(base, whole);
        self.step(Step::Multiply(power, root))
    }

    fn part(&mut self, id: Id) -> StepIndex {
        let sum = self.algebra.get(id).clone();
        self.sum(&sum)
    }

    /// A base, as a power of something computed.
    fn base(&mut self, base: Base) -> (StepIndex, f64) {
        match base {
            Base::Sum(id) => (self.part(id), 1.0),
            Base::Choice(ids) => {
                let parts = ids.map(|id| self.part(id));
                (self.step(Step::Choose(parts)), 1.0)
            }
            Base::Call(Function::Ln, id) if *self.algebra.get(id) == Sum::of(Base::Distance, 1.0) => {
                let square = self.step(Step::Square);
                let logarithm = self.step(Step::Call(Function::Ln, square));
                let half = self.step(Step::Literal(0.5));
                (self.step(Step::Multiply(logarithm, half)), 1.0)
            }
            Base::Call(Function::Exp, id) => {
                let (id, factor) = self.slower(id);
                let argument = self.part(id);
                (self.step(Step::Call(Function::Exp, argument)), factor)
            }
            Base::Call(function, id) => {
                let argument = self.part(id);
                (self.step(Step::Call(function, argument)), 1.0)
            }
            Base::Distance => (self.distance(1.0), 1.0),
            Base::Parameter(_) => (self.coefficient(&Sum::of(base, 1.0)), 1.0),
        }
    }

    /// The exponential function, computed anyway, that this one is a small power of.
    fn slower(&self, id: Id) -> (Id, f64) {
        let ratio = |other: &Id| {
            let (a, b) = (self.algebra.get(id), self.algebra.get(*other));
            let ratio = a.0.first()?.coefficient / b.0.first()?.coefficient;
            let same = a.0.len() == b.0.len()
                && a.0.iter().zip(&b.0).all(|(p, q)| {
                    p.factors == q.factors && (p.coefficient / q.coefficient - ratio).abs() < 1e-15 * ratio
                });
            let whole = (ratio - ratio.round()).abs() < 1e-15 * ratio;
            (same && whole && ratio > 1.0 && ratio < 9.0).then(|| (*other, ratio.round()))
        };
        let most = self.exponentials.iter().filter_map(ratio).max_by(|a, b| a.1.total_cmp(&b.1));
        most.unwrap_or((id, 1.0))
    }
}

fn exponent_of(item: &Item, base: Base) -> f64 {
    item.1.iter().find(|f| f.0 == base).map_or(0.0, |f| f.1)
}

fn divided((coefficient, factors): Item, by: &[(Base, f64)]) -> Item {
    let taken = |base| by.iter().find(|f| f.0 == base).map_or(0.0, |f| f.1);
    let rest = factors.into_iter().map(|(base, e)| (base, e - taken(base))).filter(|f| f.1 != 0.0);
    (coefficient, rest.collect())
}

/// Fuses products and sums where nothing else uses the product, leaves out unused steps, and puts steps that
/// only the energy uses behind the others.
fn tidy(mut steps: Vec<Step>, force: StepIndex, energy: StepIndex) -> Program {
    let needed_for = |steps: &[Step], results: &[StepIndex]| {
        let mut needed = vec![false; steps.len()];
        results.iter().for_each(|p| needed[usize::from(*p)] = true);
        for k in (0..steps.len()).rev().filter(|k| *k < steps.len()) {
            if needed[k] {
                steps[k].operands().for_each(|p| needed[usize::from(p)] = true);
            }
        }
        needed
    };
    let needed = needed_for(&steps, &[force, energy]);
    let mut uses = vec![0; steps.len()];
    uses[usize::from(force)] += 1;
    uses[usize::from(energy)] += 1;
    for (step, _) in steps.iter().zip(&needed).filter(|(_, needed)| **needed) {
        step.operands().for_each(|p| uses[usize::from(p)] += 1);
    }
    for k in 0..steps.len() {
        if let Step::Add(a, b) = steps[k] {
            let product = |p: StepIndex| match steps[usize::from(p)] {
                Step::Multiply(x, y) if uses[usize::from(p)] == 1 => Some((x, y)),
                _ => None,
            };
            steps[k] = match (product(a), product(b)) {
                (_, Some((x, y))) => Step::MultiplyAdd(x, y, a),
                (Some((x, y)), _) => Step::MultiplyAdd(x, y, b),
                _ => steps[k],
            };
        }
    }
    let (first, all) = (needed_for(&steps, &[force]), needed_for(&steps, &[force, energy]));
    let order =
        (0..steps.len()).filter(|k| first[*k]).chain((0..steps.len()).filter(|k| all[*k] && !first[*k]));
    let mut to = vec![0; steps.len()];
    let mut ordered = Vec::new();
    for k in order {
        to[k] = ordered.len() as StepIndex;
        ordered.push(steps[k].moved(|p| to[usize::from(p)]));
    }
    let n_force = first.iter().filter(|needed| **needed).count();
    Program { steps: ordered, n_force, force: to[usize::from(force)], energy: to[usize::from(energy)] }
}
