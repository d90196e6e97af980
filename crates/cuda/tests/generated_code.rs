//! Device functions generated from the formulas against the same formulas in f64: every potential of the
//! registry under every truncation, also as the formula of its documentation, for one species and for two, in
//! both precisions, and the functions of thermostats. The line that registers a new potential adds it to
//! these tests. They run on a GPU where the environment has `JOSTLE_TEST_DEVICE=cuda`.

#[path = "parity/device.rs"]
mod device;

use jostle_core::random::{Purpose, Stream};
use jostle_core::thermostat::{Chain, bussi_factor, heat_of_scaling, noise_amplitude, rescale_factor};
use jostle_core::{Dual, Precision, Real};
use jostle_cuda::codegen::{PairSource, pair_source, scalar_function_as_on_host};
use jostle_cuda::driver::{Buffer, Device, DeviceCopy, Launch};
use jostle_cuda::kernels::prelude;
use jostle_potentials::table::{Curve, ROW, Tables};
use jostle_potentials::{Formula, PairEntry, PairKind, PairTerm, Truncation};
use std::fmt::Write;

const TRUNCATIONS: [Truncation; 5] = [
    Truncation::Plain,
    Truncation::Shifted,
    Truncation::ForceShifted,
    Truncation::Switched { from: 0.8 },
    Truncation::CharmmSwitched { from: 0.8 },
];

/// Terms that are compiled together, with a name.
struct Case {
    name: String,
    terms: Vec<PairTerm>,
    /// Terms that should give the same.
    expected: Vec<PairTerm>,
}

impl Case {
    fn new(name: String, terms: Vec<PairTerm>) -> Self {
        Case { name, expected: terms.clone(), terms }
    }

    /// Formula of a built-in term, which should give the same as that.
    fn formula(name: &str, built_in: PairTerm) -> Self {
        let name = format!("{} species, formula of {name}", built_in.n_species());
        Case { name, terms: vec![built_in.as_formula().unwrap()], expected: vec![built_in] }
    }
}

/// Example parameters times a factor for every pair of species that interacts.
fn term(
    kind: PairKind,
    truncation: Truncation,
    n_species: usize,
    factors: &[(usize, usize, f64)],
) -> PairTerm {
    let mut term = PairTerm::new(kind, truncation, n_species);
    for &(a, b, factor) in factors {
        let parameters: Vec<f64> = kind.parameters().iter().map(|p| p.example * factor).collect();
        let cutoff = kind.natural_cutoff(&parameters).unwrap_or(2.4 * factor);
        term.set(a, b, PairEntry { parameters, cutoff });
    }
    term
}

/// Term for two species, with the cut-off of 0-0 for 0-1.
fn with_one_cutoff(mut term: PairTerm) -> PairTerm {
    if let (Some(of_both), Some(mixed)) = (term.get(0, 0).cloned(), term.get(0, 1).cloned()) {
        term.set(0, 1, PairEntry { cutoff: of_both.cutoff, ..mixed });
    }
    term
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    let (mut all, mut alike) = (Vec::new(), Vec::new());
    for &kind in PairKind::ALL {
        for truncation in TRUNCATIONS {
            let name = format!("{} {}", kind.name(), truncation.name());
            let uniform = term(kind, truncation, 1, &[(0, 0, 1.03)]);
            cases.push(Case::new(format!("one species, {name}"), vec![uniform]));
            let mixture = term(kind, truncation, 2, &[(0, 0, 1.0), (0, 1, 1.05), (1, 1, 1.1)]);
            cases.push(Case::new(format!("two species, {name}"), vec![mixture]));
            cases.push(Case::formula(&name, term(kind, truncation, 1, &[(0, 0, 1.03)])));
            let mixture = term(kind, truncation, 2, &[(0, 0, 1.0), (0, 1, 1.05), (1, 1, 1.1)]);
            cases.push(Case::formula(&name, mixture));
            let silent = term(kind, truncation, 2, &[(0, 0, 0.9), (0, 1, 1.1)]);
            all.push(silent.clone());
            alike.push(with_one_cutoff(silent));
        }
    }
    let text = "a erfc(r/2) / r + 0.1 sin(b r) cos(r)^2 - tanh(r - 1) log(r/3) / r^8.5
        + if(r < b, (b - r)^3, erf(r - b)^3) + max(1.2 - r, 0)^2 sqrt(r)";
    let functions = Formula::new(text).unwrap();
    let functions = PairTerm::uniform(functions, Truncation::Shifted, &[1.1, 1.7], 2.4);
    cases.push(Case::new("every function".into(), vec![functions]));
    let yukawa = |strength: f64| {
        Curve::through(0.4, 2.4, move |r| {
            let energy = strength * (-r).exp() / r;
            (energy, energy * (1.0 + 1.0 / r))
        })
    };
    let mut tables =
        PairTerm::new(Tables::new("table", vec![yukawa(1.0), yukawa(-0.7)]), Truncation::Plain, 2);
    tables.set(0, 0, PairEntry { parameters: vec![0.0], cutoff: 2.4 });
    tables.set(0, 1, PairEntry { parameters: vec![1.0], cutoff: 2.4 });
    cases.push(Case::new("tables".into(), vec![tables.clone()]));
    all.push(tables.clone());
    all.push(tables);
    cases.push(Case::new("all at once, one pair silent".into(), all));
    cases.push(Case::new("all at once, one pair silent, one cut-off".into(), alike));
    cases
}

/// Squared distances from the core over the cut-offs to very far.
fn squares() -> Vec<f64> {
    let near = (0..600).map(|k| 0.6 + 0.004 * f64::from(k));
    let far = (0..50).map(|k| 3.0 * 10f64.powf(0.1 * f64::from(k)));
    near.chain(far).map(|r| r * r).collect()
}

/// Source of all cases, each in a namespace of its own, with a kernel that runs over distances.
fn source(sources: &[PairSource]) -> String {
    let mut text = prelude();
    for (k, PairSource { source, .. }) in sources.iter().enumerate() {
        let _ = write!(
            text,
            "
namespace case_{k} {{
{source}
}}
extern \"C\" __global__ void evaluate_{k}(const real* r2, int n, int a, int b, const real* table, real* out) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    real energy[N_TERMS] = {{}};
    out += i * (N_TERMS + 2);
    out[0] = case_{k}::pair_force<true>(r2[i], a, b, (real)0, table, energy);
    out[1] = case_{k}::pair_force<false>(r2[i], a, b, (real)0, table, energy);
    for (int term = 0; term < N_TERMS; term++) out[2 + term] = energy[term];
}}
#undef N_TERMS
#undef CHARGED
#undef N_SPECIES
#undef N_COEFFICIENTS
#undef TABLE_SIZE
#undef LONGEST_CUTOFF2
"
        );
    }
    text
}

/// Number of the device's arithmetic.
trait Scalar: DeviceCopy {
    const PRECISION: Precision;
    const DOUBLE: &str;
    /// Tolerance of results, relative to the effect of rounding the distance.
    const TOLERANCE: f64;
    fn from_f64(x: f64) -> Self;
    fn to_f64(self) -> f64;
}

impl Scalar for f32 {
    const PRECISION: Precision = Precision::Mixed;
    const DOUBLE: &str = "-DDOUBLE=0";
    const TOLERANCE: f64 = 1e-6;
    fn from_f64(x: f64) -> f32 {
        x as f32
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Scalar for f64 {
    const PRECISION: Precision = Precision::Double;
    const DOUBLE: &str = "-DDOUBLE=1";
    const TOLERANCE: f64 = 1e-14;
    fn from_f64(x: f64) -> f64 {
        x
    }
    fn to_f64(self) -> f64 {
        self
    }
}

/// Energy and force over distance of one pair, and the tolerance of each for a relative error of one in the
/// distance and in every coefficient, with and without the truncation.
struct Exact {
    values: [f64; 2],
    scales: [f64; 2],
}

/// Rows do not depend on the distance, the place in them does.
fn look_up(tables: &Tables, r2: Dual<f64>, c: &[Dual<f64>]) -> (Dual<f64>, [Dual<f64>; ROW]) {
    let values: Vec<f64> = c.iter().map(|x| x.value).collect();
    let (beyond, row) = tables.look_up(r2.value, &values);
    let place = r2 * c[0] - c[1];
    (place - Dual::constant(place.value - beyond), row.map(Dual::constant))
}

/// Evaluation at a distance, with the coefficients of a term.
fn at(term: &PairTerm, r: f64, coefficients: &[f64]) -> Exact {
    let numbers: Vec<f64> = [r].iter().chain(coefficients).copied().collect();
    // Values and slopes, with one of the numbers as the variable.
    let along = |variable: usize| {
        let number =
            |(k, &x): (usize, &f64)| if k == variable { Dual::variable(x) } else { Dual::constant(x) };
        let duals: Vec<Dual<f64>> = numbers.iter().enumerate().map(number).collect();
        let (energy, force_over_r) = term.evaluate_with(duals[0] * duals[0], &duals[1..], look_up);
        [energy, force_over_r]
    };
    let values = along(0).map(|dual| dual.value);
    let mut scales = values.map(f64::abs);
    for (variable, number) in numbers.iter().enumerate() {
        let slopes = along(variable).map(|dual| dual.slope);
        for k in 0..2 {
            scales[k] += (number * slopes[k]).abs();
        }
    }
    Exact { values, scales }
}

fn exact(term: &PairTerm, (a, b): (usize, usize), r2: f64) -> Exact {
    let silent = Exact { values: [0.0; 2], scales: [0.0; 2] };
    let Some(entry) = term.get(a, b).filter(|entry| r2 < entry.cutoff * entry.cutoff) else { return silent };
    let with = |truncation| {
        let mut term = term.clone();
        term.truncation = truncation;
        let c = term.potential.coefficients(truncation, &entry.parameters, entry.cutoff);
        at(&term, r2.sqrt(), &c)
    };
    let (truncated, plain) = (with(term.truncation), with(Truncation::Plain));
    let scales = std::array::from_fn(|k| truncated.scales[k] + plain.scales[k]);
    Exact { values: truncated.values, scales }
}

fn check_pairs<S: Scalar>(device: &Device) {
    let cases = cases();
    let sources: Vec<PairSource> =
        cases.iter().map(|case| pair_source(&case.terms, &[], S::PRECISION)).collect();
    let module = device.compile("generated", &source(&sources), &[S::DOUBLE.to_string()]).unwrap();
    let squares: Vec<S> = squares().into_iter().map(S::from_f64).collect();
    let r2 = device.upload(&squares).unwrap();
    let n = squares.len();
    for (k, (case, PairSource { table, .. })) in cases.iter().zip(&sources).enumerate() {
        let kernel = module.kernel(&format!("evaluate_{k}")).unwrap();
        let mut table: Vec<S> = table.iter().map(|&x| S::from_f64(x)).collect();
        table.resize(table.len().max(1), S::from_f64(0.0));
        let table = device.upload(&table).unwrap();
        let width = case.terms.len() + 2;
        let out: Buffer<S> = device.alloc(n * width).unwrap();
        let n_species = case.terms[0].n_species();
        for (a, b) in (0..n_species).flat_map(|a| (0..n_species).map(move |b| (a, b))) {
            let launch = Launch::new(&kernel, n.div_ceil(64) as u32, 64)
                .with(&r2)
                .with_value(n as i32)
                .with_value(a as i32)
                .with_value(b as i32)
                .with(&table)
                .with(&out);
            device.run(&launch).unwrap();
            let out: Vec<f64> = out.to_vec().unwrap().into_iter().map(S::to_f64).collect();
            for (r2, found) in squares.iter().zip(out.chunks(width)) {
                check_pair(case, (a, b), r2.to_f64(), found, S::TOLERANCE);
            }
        }
    }
}

/// Compares the results for one pair of atoms: the force, the force without energies, and the energies.
fn check_pair(case: &Case, (a, b): (usize, usize), r2: f64, found: &[f64], tolerance: f64) {
    let what = || format!("{}, species {a} and {b}, r2 = {r2:?}", case.name);
    let (mut force, mut scale) = (0.0, 0.0);
    for (k, term) in case.expected.iter().enumerate() {
        // Rounding of squared cut-offs counts, too.
        let cutoff2 = term.get(a, b).map_or(0.0, |entry| entry.cutoff * entry.cutoff);
        if (r2 / cutoff2 - 1.0).abs() < tolerance {
            return;
        }
        let exact = exact(term, (a, b), r2);
        let [energy, force_over_r] = exact.values;
        let error = (found[2 + k] - energy).abs();
        assert!(error <= tolerance * exact.scales[0], "{}: energy {} is not {energy}", what(), found[2 + k]);
        force += force_over_r;
        scale += exact.scales[1];
    }
    assert!((found[0] - force).abs() <= tolerance * scale, "{}: {} is not {force}", what(), found[0]);
    assert_eq!(found[0], found[1], "{}", what());
}

#[test]
fn generated_pair_forces_equal_the_formulas() {
    let device = device::device();
    check_pairs::<f32>(&device);
    check_pairs::<f64>(&device);
}

/// Function of a thermostat, of a few numbers.
trait Update {
    const NAME: &str;
    const INPUTS: usize;
    /// Relative tolerance; none where no function is called that machines round differently: results must be
    /// the same if the host or the device makes a step of a reproducible run.
    const TOLERANCE: f64;

    fn of<R: Real>(x: &[R]) -> Vec<R>;
}

struct NoseHoover;

impl Update for NoseHoover {
    const NAME: &str = "nose_hoover";
    const INPUTS: usize = 4 + 3 * 3;
    const TOLERANCE: f64 = 1e-13;

    fn of<R: Real>(x: &[R]) -> Vec<R> {
        let (mut position, mut velocity) = (x[7..10].to_vec(), x[10..13].to_vec());
        let mut chain = Chain {
            thermal_energy: x[0],
            degrees_of_freedom: x[1],
            mass: &x[4..7],
            position: &mut position,
            velocity: &mut velocity,
        };
        let time = x[3] * R::lit(0.01);
        chain.push(x[2], time);
        let factor = chain.drag(time);
        [vec![factor], position, velocity].concat()
    }
}

struct Bussi;

impl Update for Bussi {
    const NAME: &str = "bussi";
    const INPUTS: usize = 5;
    const TOLERANCE: f64 = 0.0;

    fn of<R: Real>(x: &[R]) -> Vec<R> {
        let factor = bussi_factor(x[0], x[1], x[2], x[3] - R::lit(1.5), x[4]);
        vec![factor, heat_of_scaling(factor, x[0])]
    }
}

struct Rescale;

impl Update for Rescale {
    const NAME: &str = "rescale";
    const INPUTS: usize = 2;
    const TOLERANCE: f64 = 0.0;

    fn of<R: Real>(x: &[R]) -> Vec<R> {
        vec![rescale_factor(x[0], x[1]), rescale_factor(R::lit(0.0), x[1])]
    }
}

struct Langevin;

impl Update for Langevin {
    const NAME: &str = "langevin";
    const INPUTS: usize = 3;
    const TOLERANCE: f64 = 0.0;

    fn of<R: Real>(x: &[R]) -> Vec<R> {
        vec![noise_amplitude(x[0], x[1], x[2])]
    }
}

fn check_update<U: Update>(device: &Device) {
    let function = scalar_function_as_on_host(U::NAME, U::INPUTS, U::of);
    let kernel = format!("extern \"C\" __global__ void update(double* x) {{ {}(x, x); }}", U::NAME);
    let source = [prelude(), function, kernel].concat();
    let kernel =
        device.compile(U::NAME, &source, &["-DDOUBLE=0".to_string()]).unwrap().kernel("update").unwrap();
    for trial in 0..20 {
        let mut random = Stream::new(1, Purpose::Test, trial, 0);
        let x: Vec<f64> = (0..U::INPUTS).map(|_| 0.01 + 0.98 * random.uniform()).collect();
        let exact = U::of(&x);
        let mut room = x.clone();
        room.resize(exact.len().max(x.len()), 0.0);
        let room = device.upload(&room).unwrap();
        device.run(&Launch::new(&kernel, 1, 1).with(&room)).unwrap();
        for (found, exact) in room.to_vec().unwrap().iter().zip(&exact) {
            let error = (found - exact).abs();
            assert!(
                error <= U::TOLERANCE * (1.0 + exact.abs()),
                "{} of {x:?}: {found} is not {exact}",
                U::NAME
            );
        }
    }
}

#[test]
fn generated_thermostats_equal_the_formulas() {
    let device = device::device();
    check_update::<NoseHoover>(&device);
    check_update::<Bussi>(&device);
    check_update::<Rescale>(&device);
    check_update::<Langevin>(&device);
}
