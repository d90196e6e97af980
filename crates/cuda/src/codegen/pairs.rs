//! The forces of pairs of atoms in lists, and the table of their coefficients.

use super::recorder::{Notation, Recorder, Tape};
use super::source_text::SourceText;
use jostle_core::{Precision, Real};
use jostle_potentials::electrostatics::direct;
use jostle_potentials::electrostatics::gaussian::gaussian;
use jostle_potentials::electrostatics::screened::{self, ChebyshevSeries, chebyshev};
use jostle_potentials::table::{ROW, Tables};
use jostle_potentials::{Dispersion, Electrostatics, LatticeSum, PairTerm, Potential};

/// All pair forces of a run, for a kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct PairSource {
    /// Definitions and the function `pair_force`, see [`pair_source`].
    pub source: String,
    /// The coefficients that depend on the species; the argument `table` of `pair_force`, in its
    /// precision. Empty where there is nothing to look up.
    pub table: Vec<f64>,
    /// Arithmetic operations for the force of one pair.
    pub operations: usize,
}

/// Writes the function
/// ```text
/// template <bool ENERGY>
/// real pair_force(real r2, int species_i, int species_j, real charges, const real* table, real* energy)
/// ```
/// It returns the force over distance of all terms at the squared distance `r2`, each term's within
/// its own cut-off, and with `ENERGY` adds their energies to `energy[0..N_TERMS]`. What sums over all
/// images have apart from reciprocal space are the last of the terms, in the order of
/// [`sums`](jostle_potentials::Forces::sums): of dispersion, whose coefficients are in the table, and of
/// charges; `charges` is their product then, times Coulomb's constant.
///
/// What is the same for all pairs of species is a literal in the source. Where anything differs
/// there is a table of `TABLE_SIZE` numbers, one row of `N_COEFFICIENTS` for each of the `N_SPECIES`
/// squared ordered pairs: of the squared cut-offs of all terms (0 where two species do not interact,
/// unless coefficients of 0 say so) and then the coefficients of one term after the other, those that
/// differ. Rows are as long as what is read at once, or several times as long. Rows of tables, four
/// numbers each, follow. Where all that differs is products of one number of either species, such as
/// their charges, the table is these numbers, by species. Beyond `LONGEST_CUTOFF2` there is no force.
///
/// Where charges are all that some species feel, such as the hydrogens of most models of water, `CHARGES_ALONE`
/// is 1, and there are
/// ```text
/// bool feels_charges_alone(int species)
/// template <bool ENERGY>
/// real charge_force(real r2, real charges, real* energy)
/// ```
/// of which the latter is all that such a species needs.
///
/// `real` and the elementary functions are those of the kernels' prelude.
pub fn pair_source(terms: &[PairTerm], sums: &[LatticeSum], precision: Precision) -> PairSource {
    let table = CoefficientTable::new(terms, sums);
    let charged = sums.iter().any(|sum| matches!(sum, LatticeSum::Charges(_)));
    let notation = Notation { number: "real", precision };
    let n_columns = table.rows[0].len();
    let curves = Curves::new(terms);
    let products = if curves.0.is_empty() { table.products() } else { None };
    // The distance, then what has to be looked up, then the charges.
    let charges = 1 + n_columns + CURVE_INPUTS * curves.0.len();
    let n_inputs = charges + 1;
    let (mut tape, (force, energies)) = Tape::record(n_inputs, |inputs| {
        let column = |k: usize| match (table.uniform(k), &products) {
            (Some(value), _) => Recorder::lit(value),
            (None, Some(products)) => Recorder::lit(products.by_column[k]) * inputs[1],
            (None, None) => inputs[1 + k],
        };
        if charged {
            // Wanted in any case, and worth knowing to all terms: see `Recorder::recip`.
            inputs[0].rsqrt();
        }
        let (zero, mut force, mut energies) = (Recorder::lit(0.0), Recorder::lit(0.0), Vec::new());
        let mut first = terms.len();
        for (k, term) in terms.iter().enumerate() {
            let within = inputs[0].lt(column(k));
            let c: Vec<Recorder> = (first..first + term.n_coefficients()).map(column).collect();
            first += c.len();
            let (energy, force_over_r) = term.evaluate_with(inputs[0], &c, |_, _, _| {
                let curve = &inputs[1 + n_columns + CURVE_INPUTS * curves.place(k)..];
                (curve[0], [curve[1], curve[2], curve[3], curve[4]])
            });
            force = force + Recorder::select(within, force_over_r, zero);
            energies.push(Recorder::select(within, energy, zero));
        }
        for sum in sums {
            let within = inputs[0].lt(Recorder::lit(sum.cutoff() * sum.cutoff()));
            let (strengths, (energy, force_over_r)) = match sum {
                LatticeSum::Dispersion(term) => (column(first), unit_dispersion(term, inputs[0], precision)),
                LatticeSum::Charges(term) => (inputs[charges], unit_charges(term, inputs[0], precision)),
            };
            force = force + Recorder::select(within, strengths * force_over_r, zero);
            energies.push(Recorder::select(within, strengths * energy, zero));
        }
        (force, energies)
    });
    tape.fuse(&[&[force], energies.as_slice()].concat());
    let needed = tape.needed_for(&[force]);
    let also = tape.needed_for(&energies);

    let longest = terms.iter().map(PairTerm::largest_cutoff);
    let longest = longest.chain(sums.iter().map(LatticeSum::cutoff)).fold(0.0, f64::max);
    let varied = table.varied();
    let at_once = match varied.len() {
        few @ 0..3 => few,
        _ => ROW,
    };
    let row_length = varied.len().next_multiple_of(at_once.max(1));
    let mut numbers = match &products {
        Some(products) => products.by_species.clone(),
        None => table.rows_of(&varied, row_length),
    };
    let table_size = numbers.len();
    if !curves.0.is_empty() {
        // Rows are read at once.
        numbers.resize(table_size.next_multiple_of(ROW), 0.0);
    }
    let offsets = curves.append_rows(&mut numbers);
    let mut text = SourceText::default();
    text.line(0, format!("#define N_TERMS {}", energies.len()));
    text.line(0, format!("#define CHARGED {}", i32::from(charged)));
    text.line(0, format!("#define N_SPECIES {}", table.n_species));
    text.line(0, format!("#define N_COEFFICIENTS {row_length}"));
    text.line(0, format!("#define TABLE_SIZE {table_size}"));
    text.line(0, format!("#define LONGEST_CUTOFF2 {}", notation.literal(longest * longest)));
    text.line(0, "template <bool ENERGY>");
    text.line(0, "__device__ __forceinline__ real pair_force(");
    text.line(1, "real r2, int species_i, int species_j, real charges, const real* table, real* energy) {");
    if table_size > 0 && products.is_none() {
        let words = match at_once {
            1 => "real".to_string(),
            many => format!("real{many}"),
        };
        let reads = row_length / at_once;
        // The first part is the same for all partners of an atom; the second takes one instruction.
        text.line(
            1,
            format!("const {words}* c = (const {words}*)(table + species_i * (N_SPECIES * N_COEFFICIENTS));"),
        );
        text.line(1, format!("c += (unsigned)species_j * {reads}u;"));
        for k in 0..reads {
            text.line(1, format!("const {words} c{k} = c[{k}];"));
        }
    }
    let looked_up = |k: usize| match varied.iter().position(|varied| *varied == k) {
        None => notation.literal(table.rows[0][k]),
        Some(place) if at_once == 1 => format!("c{place}"),
        Some(place) => format!("c{}.{}", place / at_once, ["x", "y", "z", "w"][place % at_once]),
    };
    for (k, offset) in offsets.iter().enumerate() {
        let first = curves.0[k].1;
        let [per_square, start, row, last] = [0, 1, 2, 3].map(|column| looked_up(first + column));
        text.line(1, format!("const real place_{k} = multiply_add(r2, {per_square}, -({start}));"));
        text.line(1, format!("const int last_{k} = (int){last};"));
        text.line(
            1,
            format!("const int row_{k} = place_{k} < last_{k} ? max((int)place_{k}, 0) : last_{k};"),
        );
        text.line(
            1,
            format!("const real4 cubic_{k} = ((const real4*)(table + {offset}))[(int){row} + row_{k}];"),
        );
    }
    let input = |k: usize| match k {
        0 => "r2".to_string(),
        _ if k == charges => "charges".to_string(),
        _ if k > n_columns => {
            let (curve, part) = ((k - 1 - n_columns) / CURVE_INPUTS, (k - 1 - n_columns) % CURVE_INPUTS);
            let row = ["x", "y", "z", "w"].map(|part| format!("cubic_{curve}.{part}"));
            if part == 0 { format!("place_{curve} - row_{curve}") } else { row[part - 1].clone() }
        }
        _ if products.is_some() => "table[species_i] * table[species_j]".to_string(),
        _ => looked_up(k - 1),
    };
    text.lines(1, tape.statements(|k| needed[k], notation, input));
    text.line(1, "if (ENERGY) {");
    text.lines(2, tape.statements(|k| also[k] && !needed[k], notation, input));
    for (k, energy) in energies.iter().enumerate() {
        text.line(2, format!("energy[{k}] += {};", tape.number(*energy, notation)));
    }
    text.line(1, "}");
    text.line(1, format!("return {};", tape.number(force, notation)));
    text.line(0, "}");
    text.0.push_str(&charges_alone(terms, sums, notation));
    PairSource { source: text.0, table: numbers, operations: tape.count(|k| needed[k]) }
}

/// What [`pair_source`] says of species that feel nothing but charges.
fn charges_alone(terms: &[PairTerm], sums: &[LatticeSum], notation: Notation) -> String {
    let n = terms.first().map_or(1, PairTerm::n_species);
    let feels_terms = |a: usize| terms.iter().any(|term| (0..n).any(|b| term.get(a, b).is_some()));
    let alone: Vec<bool> = (0..n).map(|a| !feels_terms(a)).collect();
    let charges = match sums {
        [LatticeSum::Charges(charges)] if !terms.is_empty() && alone.contains(&true) => charges,
        _ => return "#define CHARGES_ALONE 0\n".to_string(),
    };
    let (mut tape, [force, energy]) = Tape::record(2, |inputs| {
        inputs[0].rsqrt();
        let within = inputs[0].lt(Recorder::lit(charges.cutoff * charges.cutoff));
        let (energy, force_over_r) = unit_charges(charges, inputs[0], notation.precision);
        [force_over_r, energy].map(|unit| Recorder::select(within, inputs[1] * unit, Recorder::lit(0.0)))
    });
    tape.fuse(&[force, energy]);
    let (needed, also) = (tape.needed_for(&[force]), tape.needed_for(&[energy]));
    let input = |k: usize| ["r2", "charges"][k].to_string();
    let words =
        alone.chunks(32).map(|bits| bits.iter().rev().fold(0u32, |word, bit| word << 1 | u32::from(*bit)));
    let words: Vec<String> = words.map(|word| format!("{word:#x}u")).collect();
    let mut text = SourceText::default();
    text.line(0, "#define CHARGES_ALONE 1");
    text.line(0, "__device__ __forceinline__ bool feels_charges_alone(int species) {");
    text.line(1, format!("const unsigned words[] = {{{}}};", words.join(", ")));
    text.line(1, "return words[species / 32] >> (species % 32) & 1;");
    text.line(0, "}");
    text.line(0, "template <bool ENERGY>");
    text.line(0, "__device__ __forceinline__ real charge_force(real r2, real charges, real* energy) {");
    text.lines(1, tape.statements(|k| needed[k], notation, input));
    text.line(1, "if (ENERGY) {");
    text.lines(2, tape.statements(|k| also[k] && !needed[k], notation, input));
    text.line(2, format!("energy[{}] += {};", terms.len(), tape.number(energy, notation)));
    text.line(1, "}");
    text.line(1, format!("return {};", tape.number(force, notation)));
    text.line(0, "}");
    text.0
}

/// What two unit charges do to each other directly: energy and force over distance.
fn unit_charges(term: &Electrostatics, r2: Recorder, precision: Precision) -> (Recorder, Recorder) {
    let one = Recorder::lit(1.0);
    match term.kappa() {
        Some(kappa) => {
            let smooth = fitted(&ChebyshevSeries::new(term.cutoff, precision, |r2| term.smooth(r2)), r2);
            screened::direct(r2, one, Recorder::lit(kappa), smooth)
        }
        None if precision == Precision::Mixed => direct(r2, one, term.smooth_single(r2)),
        None => direct(r2, one, term.smooth_with(r2, gaussian)),
    }
}

/// What is added to two unit coefficients of dispersion.
fn unit_dispersion(term: &Dispersion, r2: Recorder, precision: Precision) -> (Recorder, Recorder) {
    let (energy, force_over_r) =
        fitted(&ChebyshevSeries::new(term.cutoff, precision, |r2| term.smooth(r2)), r2);
    (energy - Recorder::lit(term.shift), force_over_r)
}

/// A smooth function that is dear, and its force over distance, by a series.
fn fitted(series: &ChebyshevSeries, r2: Recorder) -> (Recorder, Recorder) {
    let t = r2 * Recorder::lit(series.scale) - Recorder::lit(1.0);
    let at = |coefficients: &[f64]| chebyshev(t, coefficients.iter().map(|c| Recorder::lit(*c)));
    (at(&series.energy), at(&series.force))
}

/// Coefficients that make nothing of a term, at any distance, and the cut-off of all pairs that make
/// something of it: with these, no pair has to be told apart by its cut-off.
struct Silent {
    coefficients: Vec<f64>,
    cutoff: f64,
}

/// The same, where pairs that interact have one cut-off and differ in the rest, and where a parameter of
/// the potential is a factor of it, which may be 0.
fn silent(term: &PairTerm) -> Option<Silent> {
    let Potential::BuiltIn(kind) = term.potential else { return None };
    let factor = kind.parameters().iter().position(|p| p.name == "epsilon")?;
    let n = term.n_species();
    let pairs = || (0..n).flat_map(move |a| (a..n).map(move |b| (a, b)));
    let entries: Vec<_> = pairs().filter_map(|(a, b)| term.get(a, b)).collect();
    let first = entries.first()?;
    if entries.iter().any(|e| e.cutoff != first.cutoff) || entries.iter().all(|e| e == first) {
        return None;
    }
    let mut parameters = first.parameters.clone();
    parameters[factor] = 0.0;
    let coefficients = term.potential.coefficients(term.truncation, &parameters, first.cutoff);
    let nothing = |r: f64| term.evaluate(r * r, &coefficients) == (0.0, 0.0);
    let everywhere = (1..=64).all(|k| nothing(first.cutoff * f64::from(k) / 64.0));
    everywhere.then_some(Silent { coefficients, cutoff: first.cutoff })
}

/// Squared cut-offs and coefficients of all terms, one row for each ordered pair of species.
struct CoefficientTable {
    n_species: usize,
    rows: Vec<Vec<f64>>,
}

impl CoefficientTable {
    fn new(terms: &[PairTerm], sums: &[LatticeSum]) -> Self {
        let n_species = terms.first().map_or(1, PairTerm::n_species);
        let pairs = || (0..n_species).flat_map(|a| (0..n_species).map(move |b| (a, b)));
        let silent: Vec<_> = terms.iter().map(silent).collect();
        let cutoff2 = |(term, silent): (&PairTerm, &Option<Silent>), (a, b)| match (term.get(a, b), silent) {
            (Some(entry), _) => entry.cutoff * entry.cutoff,
            (None, Some(silent)) => silent.cutoff * silent.cutoff,
            (None, None) => 0.0,
        };
        let mut rows: Vec<Vec<f64>> =
            pairs().map(|pair| terms.iter().zip(&silent).map(|term| cutoff2(term, pair)).collect()).collect();
        for (term, silent) in terms.iter().zip(silent) {
            if let Some(Silent { coefficients, .. }) = silent {
                for (row, (a, b)) in rows.iter_mut().zip(pairs()) {
                    row.extend(term.coefficients(a, b).unwrap_or_else(|| coefficients.clone()));
                }
                continue;
            }
            // Two species that do not interact borrow the coefficients of others that do: their
            // cut-off keeps them silent, and what others have in common stays a literal.
            let borrowed = pairs().find_map(|(a, b)| term.coefficients(a, b));
            let none = || vec![0.0; term.n_coefficients()];
            for (row, (a, b)) in rows.iter_mut().zip(pairs()) {
                let coefficients = term.coefficients(a, b).or_else(|| borrowed.clone());
                row.extend(coefficients.unwrap_or_else(none));
            }
        }
        for sum in sums {
            if let LatticeSum::Dispersion(Dispersion { coefficients, .. }) = sum {
                let products = pairs().map(|(a, b)| coefficients[a] * coefficients[b]);
                rows.iter_mut().zip(products).for_each(|(row, product)| row.push(product));
            }
        }
        CoefficientTable { n_species, rows }
    }

    /// The columns that differ between pairs as products of numbers of the two species, if all do.
    fn products(&self) -> Option<Products> {
        let n = self.n_species;
        let varied = self.varied();
        let first = *varied.first()?;
        let entry = |k: usize, a: usize, b: usize| self.rows[a * n + b][k];
        let main = (0..n).find(|&a| entry(first, a, a) != 0.0)?;
        let unit = entry(first, main, main).abs().sqrt();
        let by_species: Vec<f64> = (0..n).map(|a| entry(first, a, main) / unit).collect();
        let mut by_column = vec![0.0; self.rows[0].len()];
        for k in varied {
            by_column[k] = entry(k, main, main) / unit / unit;
            for (a, b) in (0..n).flat_map(|a| (0..n).map(move |b| (a, b))) {
                let product = by_column[k] * by_species[a] * by_species[b];
                if (product - entry(k, a, b)).abs() > ROUNDING * product.abs() {
                    return None;
                }
            }
        }
        Some(Products { by_species, by_column })
    }

    /// The columns that are not the same for all pairs of species.
    fn varied(&self) -> Vec<usize> {
        (0..self.rows[0].len()).filter(|&k| self.uniform(k).is_none()).collect()
    }

    /// Some columns of all rows, each row as long as is said.
    fn rows_of(&self, columns: &[usize], length: usize) -> Vec<f64> {
        let mut numbers = Vec::new();
        for (k, row) in self.rows.iter().enumerate() {
            numbers.extend(columns.iter().map(|column| row[*column]));
            numbers.resize((k + 1) * length, 0.0);
        }
        numbers
    }

    /// What all pairs of species have in a column, if it is the same.
    fn uniform(&self, column: usize) -> Option<f64> {
        let value = self.rows[0][column];
        self.rows.iter().all(|row| row[column] == value).then_some(value)
    }
}

/// How far a distance is beyond the beginning of a row, and the row.
const CURVE_INPUTS: usize = 1 + ROW;

/// The terms that are tables: their places, and their first columns.
struct Curves<'a>(Vec<(usize, usize, &'a Tables)>);

impl<'a> Curves<'a> {
    fn new(terms: &'a [PairTerm]) -> Self {
        let mut first = terms.len();
        let mut curves = Vec::new();
        for (k, term) in terms.iter().enumerate() {
            if let Potential::Table(tables) = &term.potential {
                curves.push((k, first, tables.as_ref()));
            }
            first += term.n_coefficients();
        }
        Curves(curves)
    }

    /// Which of the tables a term is.
    fn place(&self, term: usize) -> usize {
        self.0.iter().take_while(|curve| curve.0 < term).count()
    }

    /// Appends all rows and returns where those of each table begin.
    fn append_rows(&self, numbers: &mut Vec<f64>) -> Vec<usize> {
        let append = |(_, _, tables): &(usize, usize, &Tables)| {
            let offset = numbers.len();
            numbers.extend(tables.rows().flatten());
            offset
        };
        self.0.iter().map(append).collect()
    }
}

/// Products are taken for what they are though a few operations have rounded them.
const ROUNDING: f64 = 8.0 * f64::EPSILON;

/// Numbers whose product is the entry of a pair in a column: the column's and those of both species.
struct Products {
    by_species: Vec<f64>,
    by_column: Vec<f64>,
}
