//! Tests of every pair potential of the registry, under every truncation. A new potential is tested here by
//! the line that registers it.

use jostle_core::random::{Purpose, Stream};
use jostle_core::{Dual, Real};
use jostle_potentials::{Forces, PairFunction, PairKind, PairTerm, PairVisitor, Truncation};
use std::ops::{Add, Div, Mul, Neg, Sub};

const TRUNCATIONS: [Truncation; 5] = [
    Truncation::Plain,
    Truncation::Shifted,
    Truncation::ForceShifted,
    Truncation::Switched { from: 0.8 },
    Truncation::CharmmSwitched { from: 0.8 },
];

/// A potential, a truncation and a set of parameters.
#[derive(Debug, Clone)]
struct Case {
    kind: PairKind,
    truncation: Truncation,
    parameters: Vec<f64>,
    cutoff: f64,
}

impl Case {
    /// All potentials and truncations with the example parameters and some random ones around them.
    fn all() -> Vec<Case> {
        let mut cases = Vec::new();
        for &kind in PairKind::ALL {
            for truncation in TRUNCATIONS {
                for trial in 0..20 {
                    let mut random = Stream::new(1, Purpose::Placement, trial, 0);
                    let mut factor = || if trial == 0 { 1.0 } else { 0.8 + 0.4 * random.uniform() };
                    let parameters: Vec<f64> =
                        kind.parameters().iter().map(|p| p.example * factor()).collect();
                    let cutoff = kind.natural_cutoff(&parameters).unwrap_or(2.5 * factor());
                    cases.push(Case { kind, truncation, parameters, cutoff });
                }
            }
        }
        cases
    }

    fn visit<V: PairVisitor>(&self, visitor: V) -> V::Output {
        self.kind.visit(self.truncation, visitor)
    }

    fn coefficients(&self) -> Vec<f64> {
        self.kind.coefficients(self.truncation, &self.parameters, self.cutoff)
    }

    /// Energy, du/dr and d2u/dr2 from the energy formula alone, and the force formula's
    /// -(du/dr) and its derivative.
    fn at(&self, r: f64) -> Exact {
        self.visit(Derivatives { r, coefficients: &self.coefficients() })
    }
}

struct Derivatives<'a> {
    r: f64,
    coefficients: &'a [f64],
}

struct Exact {
    energy: f64,
    slope: f64,
    force: f64,
    force_slope: f64,
}

impl PairVisitor for Derivatives<'_> {
    type Output = Exact;

    fn visit<F: PairFunction>(self) -> Exact {
        let c: Vec<Dual<f64>> = self.coefficients.iter().map(|&c| Dual::constant(c)).collect();
        let r = Dual::variable(self.r);
        let (energy, force_over_r) = F::evaluate(r * r, &c);
        let force = force_over_r * r;
        Exact { energy: energy.value, slope: energy.slope, force: force.value, force_slope: force.slope }
    }
}

/// Distances from well inside the core to just inside the cut-off.
fn distances(cutoff: f64) -> impl Iterator<Item = f64> {
    (0..=200).map(move |k| cutoff * (0.2 + 0.78 * f64::from(k) / 200.0))
}

#[test]
fn forces_are_the_exact_derivatives_of_energies() {
    for case in Case::all() {
        for r in distances(case.cutoff) {
            let exact = case.at(r);
            // Rounding at a zero of the force is relative to the parts that cancel there.
            let scale = exact.force.abs() + exact.energy.abs() / r;
            let error = (exact.force + exact.slope).abs() / scale;
            assert!(error < 1e-12, "{case:?} at r = {r}: {} is not {}", exact.force, -exact.slope);
        }
    }
}

#[test]
fn truncations_are_as_smooth_as_they_promise() {
    for case in Case::all() {
        // Just inside the cut-off: what vanishes there has fallen in proportion to the gap.
        let gap = 1e-9 * case.cutoff;
        let end = case.at(case.cutoff - gap);
        let inside = case.at(0.9 * case.cutoff);
        let small = 1e-5 * (inside.energy.abs() / case.cutoff + inside.force.abs());
        let ends_smoothly = case.kind.natural_cutoff(&case.parameters).is_some();
        let vanishing: &[f64] = match case.truncation {
            Truncation::Plain if !ends_smoothly => &[],
            Truncation::Shifted if !ends_smoothly => &[end.energy / case.cutoff],
            Truncation::Plain
            | Truncation::Shifted
            | Truncation::ForceShifted
            | Truncation::CharmmSwitched { .. } => &[end.energy / case.cutoff, end.force],
            Truncation::Switched { .. } => {
                &[end.energy / case.cutoff, end.force, end.force_slope * case.cutoff]
            }
        };
        for value in vanishing {
            assert!(value.abs() < small, "{case:?}: {value} at the cut-off");
        }
    }
}

#[test]
fn switching_leaves_the_inside_alone_and_starts_smoothly() {
    for case in Case::all() {
        let Some(from) = case.truncation.switches_from() else { continue };
        let (energy, force, slope) = match case.truncation {
            // The slope of the force jumps.
            Truncation::CharmmSwitched { .. } => (1e-9, 1e-4, f64::INFINITY),
            _ => (1e-12, 1e-9, 2e-3),
        };
        let plain = Case { truncation: Truncation::Plain, ..case.clone() };
        let start = from * case.cutoff;
        for r in [0.5 * start, 0.9 * start, start * (1.0 - 1e-9), start * (1.0 + 1e-6)] {
            let (a, b) = (case.at(r), plain.at(r));
            let scale = b.energy.abs() / r + b.force.abs() + b.force_slope.abs() * r;
            assert!((a.energy - b.energy).abs() / r < energy * scale, "{case:?} energy at {r}");
            assert!((a.force - b.force).abs() < force * scale, "{case:?} force at {r}");
            assert!((a.force_slope - b.force_slope).abs() * r < slope * scale, "{case:?} slope at {r}");
        }
    }
}

/// The tail integrals by quadrature: Simpson's rule in t with r = cutoff / t, which maps the tail
/// onto the unit interval.
#[test]
fn tails_equal_their_quadrature() {
    for case in Case::all().into_iter().filter(|c| c.truncation == Truncation::Plain) {
        let Some(tail) = case.kind.tail(&case.parameters, case.cutoff) else { continue };
        if case.kind.ends_by_itself() {
            assert_eq!(tail, [0.0; 2]);
            continue;
        }
        let integrand = |t: f64| {
            let r = case.cutoff / t;
            let exact = case.at(r);
            let dr = case.cutoff / (t * t);
            [r * r * exact.energy * dr, r * r * r * exact.slope * dr]
        };
        let n = 4000;
        let mut sums = [0.0; 2];
        // Integrands are zero at t = 0.
        for k in 1..=n {
            let weight = if k == n {
                1.0
            } else if k % 2 == 1 {
                4.0
            } else {
                2.0
            };
            let values = integrand(f64::from(k) / f64::from(n));
            for (sum, value) in sums.iter_mut().zip(values) {
                *sum += weight * value / (3.0 * f64::from(n));
            }
        }
        for (sum, tail) in sums.iter().zip(tail) {
            assert!((sum - tail).abs() <= 1e-9 * tail.abs(), "{case:?}: {tail} is not {sum}");
        }
    }
}

/// A lane of a kernel in single precision.
#[derive(Debug, Clone, Copy)]
struct Single(f32);

impl Add for Single {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Single(self.0 + o.0)
    }
}
impl Sub for Single {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Single(self.0 - o.0)
    }
}
impl Mul for Single {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        Single(self.0 * o.0)
    }
}
impl Div for Single {
    type Output = Self;
    fn div(self, o: Self) -> Self {
        Single(self.0 / o.0)
    }
}
impl Neg for Single {
    type Output = Self;
    fn neg(self) -> Self {
        Single(-self.0)
    }
}
impl Real for Single {
    type Mask = bool;
    fn lit(value: f64) -> Self {
        Single(value as f32)
    }
    fn mul_add(self, b: Self, c: Self) -> Self {
        Single(self.0.mul_add(b.0, c.0))
    }
    fn recip(self) -> Self {
        Single(1.0 / self.0)
    }
    fn sqrt(self) -> Self {
        Single(self.0.sqrt())
    }
    fn rsqrt(self) -> Self {
        Single(1.0 / self.0.sqrt())
    }
    fn exp(self) -> Self {
        let too_large = self.0 > 88.0;
        assert!(!too_large, "the exponential of {} is no number", self.0);
        Single(self.0.exp())
    }
    fn ln(self) -> Self {
        Single(self.0.ln())
    }
    fn acos(self) -> Self {
        Single(self.0.acos())
    }
    fn sin(self) -> Self {
        Single(self.0.sin())
    }
    fn cos(self) -> Self {
        Single(self.0.cos())
    }
    fn tanh(self) -> Self {
        Single(self.0.tanh())
    }
    fn erf(self) -> Self {
        Single(Real::erf(f64::from(self.0)) as f32)
    }
    fn erfc(self) -> Self {
        Single(Real::erfc(f64::from(self.0)) as f32)
    }
    fn lt(self, other: Self) -> bool {
        self.0 < other.0
    }
    fn select(mask: bool, a: Self, b: Self) -> Self {
        if mask { a } else { b }
    }
}

struct InSingle<'a> {
    r2: f64,
    coefficients: &'a [f64],
}

impl PairVisitor for InSingle<'_> {
    type Output = [f32; 2];

    fn visit<F: PairFunction>(self) -> [f32; 2] {
        let c: Vec<Single> = self.coefficients.iter().map(|&c| Single(c as f32)).collect();
        let (energy, force_over_r) = F::evaluate(Single(self.r2 as f32), &c);
        [energy.0, force_over_r.0]
    }
}

/// Kernels evaluate every lane and mask those beyond the cut-off with a product, so that an
/// infinity or a NaN there would spread.
#[test]
fn lanes_beyond_the_cutoff_stay_finite_in_single_precision() {
    for case in Case::all() {
        for decade in 0..=50 {
            let r = case.cutoff * 10f64.powf(0.1 * f64::from(decade));
            let coefficients = case.coefficients();
            let values = case.visit(InSingle { r2: r * r, coefficients: &coefficients });
            assert!(values.iter().all(|v| v.is_finite()), "{case:?} at r = {r}: {values:?}");
        }
    }
}

/// Kernels evaluate lanes of atoms with themselves, too, and mask them with a selection: results may be infinite,
/// but exponentials must be those of [`Real::exp`].
#[test]
fn lanes_of_atoms_with_themselves_are_computed() {
    for case in Case::all() {
        let coefficients = case.coefficients();
        for r2 in [0.0, 1e-30, 1e-6] {
            case.visit(InSingle { r2, coefficients: &coefficients });
        }
    }
}

#[test]
fn single_precision_follows_double() {
    for case in Case::all() {
        let coefficients = case.coefficients();
        for r in distances(case.cutoff).filter(|r| *r > 0.3 * case.cutoff) {
            let values = case.visit(InSingle { r2: r * r, coefficients: &coefficients });
            let exact = case.at(r);
            let plain = Case { truncation: Truncation::Plain, ..case.clone() }.at(r);
            // Attraction and repulsion, or potential and shift, may cancel.
            let scale = exact.force.abs() + plain.force.abs() + (exact.energy.abs() + plain.energy.abs()) / r;
            let error = (f64::from(values[1]) * r - exact.force).abs() / scale;
            assert!(error < 1e-5, "{case:?} at r = {r}: {} is not {}", f64::from(values[1]) * r, exact.force);
        }
    }
}

#[test]
fn names_are_unique_and_everything_is_described() {
    let is_key = |name: &str, also: char| {
        name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == also)
    };
    for (k, kind) in PairKind::ALL.iter().enumerate() {
        assert_eq!(PairKind::from_name(kind.name()), Some(*kind));
        assert!(PairKind::ALL[..k].iter().all(|other| other.name() != kind.name()));
        assert!(is_key(kind.name(), '-') && !kind.name().is_empty());
        assert!(!kind.about().is_empty() && !kind.formula().is_empty());
        for (i, parameter) in kind.parameters().iter().enumerate() {
            assert!(is_key(parameter.name, '_'), "{}", parameter.name);
            assert!(!parameter.about.is_empty(), "{} of {}", parameter.name, kind.name());
            assert!(kind.formula().contains(parameter.name), "{} of {}", parameter.name, kind.name());
            assert!(kind.parameters()[..i].iter().all(|other| other.name != parameter.name));
        }
    }
}

#[test]
fn coefficients_are_as_many_as_promised() {
    struct Count;
    impl PairVisitor for Count {
        type Output = usize;
        fn visit<F: PairFunction>(self) -> usize {
            F::N_COEFFICIENTS
        }
    }
    for case in Case::all() {
        let count = case.visit(Count);
        assert_eq!(case.coefficients().len(), count, "{case:?}");
        assert!(count <= jostle_potentials::pair::MAX_COEFFICIENTS);
    }
}

/// Messages name the distance at which a table begins.
#[test]
fn messages_name_the_beginning_of_a_table() {
    let plain = PairTerm::uniform(PairKind::LennardJones, Truncation::Plain, &[1.0, 1.0], 2.5);
    let table = plain.tabulated().unwrap();
    let start = table.table_begins().unwrap();
    assert!(start > 0.3 && start < 1.0, "{start}");
    let c = table.coefficients(0, 0).unwrap();
    assert!(table.evaluate((0.99 * start).powi(2), &c).1.is_nan());
    assert!(table.evaluate((1.01 * start).powi(2), &c).1.is_finite());
    assert!(Forces::from(table).hint().contains(&format!("begins at {start:.3}")));
    assert!(!Forces::from(plain).hint().contains("table"));
}
