//! CUDA source from the formulas: each is written once, generic over [`Real`], and becomes a device function
//! with which kernels are compiled.

mod coefficients;
mod pairs;
mod recorder;
mod source_text;

pub use pairs::{PairSource, pair_source};
pub use recorder::Recorder;

use jostle_core::{Precision, Real, Vector};
use jostle_potentials::bonded::{
    AngleFunction, AngleVisitor, BondedKind, BondedTerm, Conditioning, DihedralFunction, DihedralVisitor,
    angle_forces, cmap, dihedral_forces,
};
use jostle_potentials::electrostatics::gaussian::{self, gaussian, gaussian_single_anywhere};
use jostle_potentials::electrostatics::reciprocal_space::{self, wave_vector};
use jostle_potentials::electrostatics::spline::weights_of_order;
use jostle_potentials::electrostatics::{Splitting, reaction, screened};
use jostle_potentials::{Electrostatics, Forces, LatticeSum, PairFunction, PairVisitor, Spectrum};
use recorder::{Notation, Tape};
pub(crate) use source_text::SourceText;

/// Writes a function of scalars, in f64: see [`function`].
pub fn scalar_function(
    name: &str,
    n_inputs: usize,
    formula: impl FnOnce(&[Recorder]) -> Vec<Recorder>,
) -> String {
    write_function(name, n_inputs, DOUBLE, Rounding::OfSums, formula)
}

/// Writes a function of scalars, in f64, for steps that the host may make instead: like the host, the
/// function rounds every product.
pub fn scalar_function_as_on_host(
    name: &str,
    n_inputs: usize,
    formula: impl FnOnce(&[Recorder]) -> Vec<Recorder>,
) -> String {
    write_function(name, n_inputs, DOUBLE, Rounding::OfAll, formula)
}

const DOUBLE: Notation = Notation { number: "double", precision: Precision::Double };

/// Operations whose results are rounded.
enum Rounding {
    /// All but products that go into one sum and nothing else.
    OfSums,
    /// Every operation.
    OfAll,
}

/// Writes a function of scalars, in the precision of the forces:
/// ```text
/// void name(const real* in, real* out)
/// ```
/// with as many inputs and outputs as `formula`. The two may be the same array.
pub fn function(
    name: &str,
    n_inputs: usize,
    precision: Precision,
    formula: impl FnOnce(&[Recorder]) -> Vec<Recorder>,
) -> String {
    write_function(name, n_inputs, Notation { number: "real", precision }, Rounding::OfSums, formula)
}

fn write_function(
    name: &str,
    n_inputs: usize,
    notation: Notation,
    rounding: Rounding,
    formula: impl FnOnce(&[Recorder]) -> Vec<Recorder>,
) -> String {
    let number = notation.number;
    let (mut tape, outputs) = Tape::record(n_inputs, formula);
    if let Rounding::OfSums = rounding {
        tape.fuse(&outputs);
    }
    let needed = tape.needed_for(&outputs);
    let mut text = SourceText::default();
    text.line(0, format!("__device__ __forceinline__ void {name}(const {number}* in, {number}* out) {{"));
    text.lines(1, tape.statements(|k| needed[k], notation, |k| format!("in[{k}]")));
    for (k, output) in outputs.iter().enumerate() {
        text.line(1, format!("out[{k}] = {};", tape.number(*output, notation)));
    }
    text.line(0, "}");
    text.0
}

/// Writes the functions that `kernels/excluded.cuh` needs in front of it:
/// ```text
/// real strength_of(const DeviceData& w, const Position* position, u32 i)   charge, or coefficient of dispersion
/// void excluded_pair(const real* in, real* out)   from {r^2} to {energy, force / r} of two of unit strength
/// ```
pub fn excluded_source(sum: &LatticeSum, precision: Precision) -> String {
    let pair = function("excluded_pair", 1, precision, |x| match sum {
        LatticeSum::Dispersion(term) => {
            let (energy, force_over_r) = term.smooth(x[0]);
            vec![energy, force_over_r]
        }
        LatticeSum::Charges(term) => {
            let (energy, force_over_r) = excluded_charges(term, x[0], precision);
            vec![-energy, -force_over_r]
        }
    });
    let mut text = SourceText::default();
    let strength = match sum {
        LatticeSum::Charges(_) => "w.atoms.charge[i]",
        LatticeSum::Dispersion(term) => {
            let notation = Notation { number: "real", precision };
            let numbers: Vec<String> = term.coefficients.iter().map(|c| notation.literal(*c)).collect();
            text.line(0, format!("__device__ const real STRENGTHS[] = {{{}}};", numbers.join(", ")));
            "STRENGTHS[position[i].species]"
        }
    };
    text.line(0, "__device__ __forceinline__ real strength_of(");
    text.line(1, "const DeviceData& w, const Position* position, unsigned i) {");
    text.line(1, format!("return {strength};"));
    text.line(0, "}");
    text.0 + &pair
}

/// Energy and force over distance, at any distance, of the smooth function of two unit charges.
fn excluded_charges(term: &Electrostatics, r2: Recorder, precision: Precision) -> (Recorder, Recorder) {
    match (term.splitting(), term.kappa()) {
        (None, _) => reaction(r2, term.reaction().map(Recorder::lit)),
        (Some(Splitting::KaiserBessel(charge)), _) => {
            charge.anywhere(r2, |r2| pairs::spread_charge(charge, r2, precision))
        }
        (Some(Splitting::Gaussian { alpha }), kappa) => gaussian::of_width(alpha, r2, |square| match kappa {
            Some(kappa) => screened::gaussian(square, kappa / (2.0 * alpha)),
            None if precision == Precision::Mixed => gaussian_single_anywhere(square),
            None => gaussian(square),
        }),
    }
}

/// Writes the functions that `kernels/mesh.cu` needs in front of it, for splines of an order:
/// ```text
/// void spline(const real* in, real* out)     from how far an atom is beyond a mesh point to the
///                                            weights of this one and those after it, then slopes
/// void wave(const real* in, real* out)       from {wave numbers, volume, gradients of the fractional
///                                            coordinates} to {weight, virial along it, wave vector}
/// void wave_virial(const real* in, real* out) from {energy, virial along the wave, wave vector}
/// ```
/// The gradients are xx, xy, xz, yy, yz, zz; the other three are 0.
pub fn mesh_source(spectrum: Spectrum, order: usize, precision: Precision) -> String {
    let spline = function("spline", 1, precision, |x| {
        let [weights, slopes] = weights_of_order(order, x[0], Recorder::lit);
        [&weights[..order], &slopes[..order]].concat()
    });
    let wave = function("wave", 10, precision, |x| {
        let none = Recorder::lit(0.0);
        let reciprocal = [Vector([x[4], x[5], x[6]]), Vector([none, x[7], x[8]]), Vector([none, none, x[9]])];
        let k = wave_vector([x[0], x[1], x[2]], reciprocal);
        let k2 = k[0] * k[0] + k[1] * k[1] + k[2] * k[2];
        let [weight, along] = spectrum.weight(k2, x[3]);
        vec![weight, along, k[0], k[1], k[2]]
    });
    let virial = function("wave_virial", 5, precision, |x| {
        reciprocal_space::virial(x[0], x[1], Vector([x[2], x[3], x[4]])).to_vec()
    });
    let order = format!("#define MESH_ORDER {order}\n");
    [order, spline, wave, virial].concat()
}

/// Arithmetic of the kernels for bonds, angles or dihedrals: `double` where the force of one of the terms is
/// poorly conditioned.
pub fn bonded_arithmetic<K: BondedKind>(terms: &[BondedTerm<K>], precision: Precision) -> Precision {
    let poor = terms.iter().any(|term| term.kind.conditioning() == Conditioning::Poor);
    if poor { Precision::Double } else { precision }
}

/// Writes the definitions that `kernels/bonded.cu` needs in front of it; `most` is the largest number of
/// coefficients of bonds, angles and dihedrals.
pub fn bonded_source(forces: &Forces, most: [usize; 3], precision: Precision) -> String {
    let Forces { bonds, angles, dihedrals, cmaps, .. } = forces;
    let mut text = SourceText::default();
    text.line(0, format!("#define N_BONDED {}", forces.n_bonded()));
    text.line(0, format!("#define N_MAPS {}", cmaps.len()));
    text.family("bond", bonds, precision, (1, most[0]), 2, |term, x| term.kind.visit(BondAt(x)));
    text.family("angle", angles, precision, (6, most[1]), 7, |term, x| term.kind.visit(AngleAt(x)));
    text.family("dihedral", dihedrals, precision, (9, most[2]), 10, |term, x| term.kind.visit(DihedralAt(x)));
    if !cmaps.is_empty() {
        text.0 += &function("map_places", 13, precision, |x| cmap::places(vectors(x), x[12]).to_vec());
        text.0 += &function("map_forces", 31, precision, |x| {
            let corner = |k: usize| std::array::from_fn(|n| x[14 + 4 * k + n]);
            let corners = std::array::from_fn(corner);
            let (energy, forces) = cmap::forces_within(vectors(x), [x[12], x[13]], corners, x[30]);
            [energy].into_iter().chain(forces.into_iter().flatten()).collect()
        });
    }
    text.0
}

/// First `N` vectors of a list of numbers.
fn vectors<const N: usize>(x: &[Recorder]) -> [Vector<Recorder>; N] {
    std::array::from_fn(|n| Vector([x[3 * n], x[3 * n + 1], x[3 * n + 2]]))
}

/// Bond at a squared length, with coefficients after it: energy and force over length.
struct BondAt<'a>(&'a [Recorder]);

impl PairVisitor for BondAt<'_> {
    type Output = Vec<Recorder>;

    fn visit<F: PairFunction>(self) -> Vec<Recorder> {
        let (energy, force_over_r) = F::evaluate(self.0[0], &self.0[1..]);
        vec![energy, force_over_r]
    }
}

/// Angle, from its two arms and the coefficients after them: energy and forces on the ends.
struct AngleAt<'a>(&'a [Recorder]);

impl AngleVisitor for AngleAt<'_> {
    type Output = Vec<Recorder>;

    fn visit<F: AngleFunction>(self) -> Vec<Recorder> {
        let x = self.0;
        let (energy, a, b) =
            angle_forces::<F, Recorder>(Vector([x[0], x[1], x[2]]), Vector([x[3], x[4], x[5]]), &x[6..]);
        [&[energy], &a[..], &b[..]].concat()
    }
}

/// Dihedral, from its three vectors and the coefficients after them: energy and forces on their tips.
struct DihedralAt<'a>(&'a [Recorder]);

impl DihedralVisitor for DihedralAt<'_> {
    type Output = Vec<Recorder>;

    fn visit<F: DihedralFunction>(self) -> Vec<Recorder> {
        let (energy, forces) = dihedral_forces::<F, Recorder>(vectors(self.0), &self.0[9..]);
        [energy].into_iter().chain(forces.into_iter().flatten()).collect()
    }
}

impl SourceText {
    /// Writes the function of each term of bonds, angles or dihedrals, in the arithmetic that its
    /// conditioning requires, and one that calls them by number. Inputs are `geometry` numbers, then
    /// coefficients.
    fn family<K: BondedKind>(
        &mut self,
        name: &str,
        terms: &[BondedTerm<K>],
        precision: Precision,
        (geometry, coefficients): (usize, usize),
        n_outputs: usize,
        formula: impl Fn(&BondedTerm<K>, &[Recorder]) -> Vec<Recorder>,
    ) {
        let (n_inputs, upper) = (geometry + coefficients, name.to_uppercase());
        let arithmetic = bonded_arithmetic(terms, precision);
        let number = if arithmetic == precision { "real" } else { "double" };
        self.line(0, format!("typedef {number} {name}_real;"));
        self.line(0, format!("#define N_{upper}_TERMS {}", terms.len()));
        self.line(0, format!("#define {upper}_COEFFICIENTS {coefficients}"));
        let in_double =
            |term: &BondedTerm<K>| number == "double" && term.kind.conditioning() == Conditioning::Poor;
        for (k, term) in terms.iter().enumerate() {
            let (name, formula) = (format!("{name}_{k}"), |x: &[Recorder]| formula(term, x));
            self.0 += &match in_double(term) {
                true => scalar_function(&name, n_inputs, formula),
                false => function(&name, n_inputs, precision, formula),
            };
        }
        let signature = format!("int term, const {name}_real* in, {name}_real* out");
        self.line(0, format!("__device__ __forceinline__ void {name}({signature}) {{"));
        self.line(1, "switch (term) {");
        for (k, term) in terms.iter().enumerate() {
            if number == "real" || in_double(term) {
                self.line(2, format!("case {k}: {name}_{k}(in, out); break;"));
                continue;
            }
            self.line(2, format!("case {k}: {{"));
            self.line(3, format!("real x[{n_inputs}], y[{n_outputs}];"));
            self.line(3, format!("for (int k = 0; k < {n_inputs}; k++) x[k] = (real)in[k];"));
            self.line(3, format!("{name}_{k}(x, y);"));
            self.line(3, format!("for (int k = 0; k < {n_outputs}; k++) out[k] = y[k];"));
            self.line(2, "} break;");
        }
        self.line(1, "}");
        self.line(0, "}");
    }
}

#[cfg(test)]
mod tests;
