//! Forces of pairs of atoms in lists, and the table of their coefficients.

use super::coefficients::{CoefficientTable, Products};
use super::recorder::{Notation, Recorder, Tape};
use super::source_text::SourceText;
use jostle_core::{Precision, Real};
use jostle_potentials::electrostatics::chebyshev::{ChebyshevSeries, chebyshev, horner, powers};
use jostle_potentials::electrostatics::gaussian::{gaussian, gaussian_single_of, of_width};
use jostle_potentials::electrostatics::{KaiserBessel, Splitting, direct, reaction, screened};
use jostle_potentials::table::{ROW, Tables};
use jostle_potentials::{Dispersion, Electrostatics, LatticeSum, PairTerm, Potential};

/// Pair forces of a run, for a kernel.
#[derive(Debug, Clone, PartialEq)]
pub struct PairSource {
    /// Definitions and the function `pair_force`, see [`pair_source`].
    pub source: String,
    /// Coefficients that depend on the species; the argument `table` of `pair_force`, in its precision. Empty
    /// where all coefficients are literals.
    pub table: Vec<f64>,
    /// Number of arithmetic operations for the force of one pair.
    pub operations: usize,
}

/// Writes the function
/// ```text
/// template <bool ENERGY>
/// real pair_force(real r2, int species_i, int species_j, real charges, const real* table, real* energy)
/// ```
/// The function returns the force over distance of all terms at the squared distance `r2`, each term's within
/// its own cut-off, and with `ENERGY` adds their energies to `energy[0..N_TERMS]`. Real-space parts of sums
/// over all images are the last of the terms, in the order of [`sums`](jostle_potentials::Forces::sums): of
/// dispersion, whose coefficients are in the table, and of charges; `charges` is their product then, times
/// Coulomb's constant.
///
/// Numbers that are the same for all pairs of species are literals in the source. Where anything differs
/// there is a table of `TABLE_SIZE` numbers, one row of `N_COEFFICIENTS` for each of the `N_SPECIES` squared
/// ordered pairs: the squared cut-offs of all terms (0 where two species do not interact, unless their
/// coefficients are 0) and then the coefficients of one term after the other, those that differ. Rows are as
/// long as one read, or several times as long. Rows of tabulated terms, four numbers each, follow. Where all
/// that differs is products of one number of either species, such as their charges, the table is these
/// numbers, by species. Beyond `LONGEST_CUTOFF2` there is no force.
///
/// Species that have charges and no other force, such as the hydrogens of most models of water, have a
/// shorter function; `CHARGES_ALONE` is 1 then, and there are
/// ```text
/// bool feels_charges_alone(int species)
/// template <bool ENERGY>
/// real charge_force(real r2, real charges, real* energy)
/// ```
/// of which the latter is sufficient for such a species.
///
/// Types and elementary functions are those of the kernels' prelude.
pub fn pair_source(terms: &[PairTerm], sums: &[LatticeSum], precision: Precision) -> PairSource {
    let notation = Notation { number: "real", precision };
    let inputs = PairInputs::new(terms, sums);
    let (mut tape, (force, energies)) =
        Tape::record(inputs.count(), |x| record_pair(terms, sums, precision, &inputs, x));
    tape.fuse(&[&[force], energies.as_slice()].concat());
    let needed = tape.needed_for(&[force]);
    let also = tape.needed_for(&energies);
    let row = TableRow::new(&inputs.table);
    let numbers = PairNumbers::new(&inputs, &row);

    let mut text = SourceText::default();
    text.line(0, format!("#define N_TERMS {}", energies.len()));
    text.line(0, format!("#define CHARGED {}", i32::from(is_charged(sums))));
    text.line(0, format!("#define N_SPECIES {}", inputs.table.n_species));
    text.line(0, format!("#define N_COEFFICIENTS {}", row.length));
    text.line(0, format!("#define TABLE_SIZE {}", numbers.table_size));
    let longest = terms.iter().map(PairTerm::largest_cutoff);
    let longest = longest.chain(sums.iter().map(LatticeSum::cutoff)).fold(0.0, f64::max);
    text.line(0, format!("#define LONGEST_CUTOFF2 {}", notation.literal(longest * longest)));
    text.line(0, "template <bool ENERGY>");
    text.line(0, "__device__ __forceinline__ real pair_force(");
    text.line(1, "real r2, int species_i, int species_j, real charges, const real* table, real* energy) {");
    if numbers.table_size > 0 && inputs.products.is_none() {
        row.write_reads(&mut text);
    }
    let looked_up = |k: usize| row.looked_up(k, &inputs.table, notation);
    inputs.curves.write_reads(&mut text, &numbers.curve_offsets, looked_up);
    let input = |k: usize| inputs.written(k, looked_up);
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
    PairSource { source: text.0, table: numbers.all, operations: tape.count(|k| needed[k]) }
}

/// Inputs of the recorded formula: the squared distance, then the columns of the table, then those of the
/// terms' own tables ([`CURVE_INPUTS`] each), then the product of the charges.
struct PairInputs<'a> {
    table: CoefficientTable,
    products: Option<Products>,
    curves: Curves<'a>,
    n_columns: usize,
}

impl<'a> PairInputs<'a> {
    fn new(terms: &'a [PairTerm], sums: &[LatticeSum]) -> Self {
        let table = CoefficientTable::new(terms, sums);
        let curves = Curves::new(terms);
        let products = if curves.0.is_empty() { table.products() } else { None };
        let n_columns = table.rows[0].len();
        PairInputs { table, products, curves, n_columns }
    }

    /// Index of the product of the charges, which is the last input.
    fn charges(&self) -> usize {
        1 + self.n_columns + CURVE_INPUTS * self.curves.0.len()
    }

    fn count(&self) -> usize {
        self.charges() + 1
    }

    /// Number of a column of the table, for the formula.
    fn column(&self, k: usize, x: &[Recorder]) -> Recorder {
        match (self.table.uniform(k), &self.products) {
            (Some(value), _) => Recorder::lit(value),
            (None, Some(products)) => Recorder::lit(products.by_column[k]) * x[1],
            (None, None) => x[1 + k],
        }
    }

    /// Distance beyond the beginning of a row of a term's own table, and the row.
    fn curve(&self, term: usize, x: &[Recorder]) -> (Recorder, [Recorder; ROW]) {
        let curve = &x[1 + self.n_columns + CURVE_INPUTS * self.curves.place(term)..];
        (curve[0], [curve[1], curve[2], curve[3], curve[4]])
    }

    /// Input as it is written in the source; `looked_up` writes a column of the table.
    fn written(&self, k: usize, looked_up: impl Fn(usize) -> String) -> String {
        let n_columns = self.n_columns;
        match k {
            0 => "r2".to_string(),
            _ if k == self.charges() => "charges".to_string(),
            _ if k > n_columns => {
                let (curve, part) = ((k - 1 - n_columns) / CURVE_INPUTS, (k - 1 - n_columns) % CURVE_INPUTS);
                let row = ["x", "y", "z", "w"].map(|part| format!("cubic_{curve}.{part}"));
                if part == 0 { format!("place_{curve} - row_{curve}") } else { row[part - 1].clone() }
            }
            _ if self.products.is_some() => "table[species_i] * table[species_j]".to_string(),
            _ => looked_up(k - 1),
        }
    }
}

/// Force over distance and energies of all terms, each within its own cut-off.
fn record_pair(
    terms: &[PairTerm],
    sums: &[LatticeSum],
    precision: Precision,
    inputs: &PairInputs,
    x: &[Recorder],
) -> (Recorder, Vec<Recorder>) {
    if is_charged(sums) {
        // The root is needed in any case; recorded first it serves all terms: see `Recorder::recip`.
        x[0].rsqrt();
    }
    let (zero, mut force, mut energies) = (Recorder::lit(0.0), Recorder::lit(0.0), Vec::new());
    let mut first = terms.len();
    for (k, term) in terms.iter().enumerate() {
        let within = x[0].lt(inputs.column(k, x));
        let c: Vec<Recorder> =
            (first..first + term.n_coefficients()).map(|column| inputs.column(column, x)).collect();
        first += c.len();
        let (energy, force_over_r) = term.evaluate_with(x[0], &c, |_, _, _| inputs.curve(k, x));
        force = force + Recorder::select(within, force_over_r, zero);
        energies.push(Recorder::select(within, energy, zero));
    }
    for sum in sums {
        let within = x[0].lt(Recorder::lit(sum.cutoff() * sum.cutoff()));
        let (strengths, (energy, force_over_r)) = match sum {
            LatticeSum::Dispersion(term) => (inputs.column(first, x), unit_dispersion(term, x[0], precision)),
            LatticeSum::Charges(term) => (x[inputs.charges()], unit_charges(term, x[0], precision)),
        };
        force = force + Recorder::select(within, strengths * force_over_r, zero);
        energies.push(Recorder::select(within, strengths * energy, zero));
    }
    (force, energies)
}

fn is_charged(sums: &[LatticeSum]) -> bool {
    sums.iter().any(|sum| matches!(sum, LatticeSum::Charges(_)))
}

/// Row of the table for a pair of species: the columns that differ between pairs.
struct TableRow {
    varied: Vec<usize>,
    /// Numbers that are read at once.
    at_once: usize,
    /// Numbers of a row, those that only fill it up included.
    length: usize,
}

impl TableRow {
    fn new(table: &CoefficientTable) -> Self {
        let varied = table.varied();
        let at_once = match varied.len() {
            few @ 0..3 => few,
            _ => ROW,
        };
        let length = varied.len().next_multiple_of(at_once.max(1));
        TableRow { varied, at_once, length }
    }

    /// Writes the statements that read a row.
    fn write_reads(&self, text: &mut SourceText) {
        let words = match self.at_once {
            1 => "real".to_string(),
            many => format!("real{many}"),
        };
        let reads = self.length / self.at_once;
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

    /// Column of the table as it is written in the source.
    fn looked_up(&self, k: usize, table: &CoefficientTable, notation: Notation) -> String {
        match self.varied.iter().position(|varied| *varied == k) {
            None => notation.literal(table.rows[0][k]),
            Some(place) if self.at_once == 1 => format!("c{place}"),
            Some(place) => {
                format!("c{}.{}", place / self.at_once, ["x", "y", "z", "w"][place % self.at_once])
            }
        }
    }
}

/// Numbers that kernels look up: the table of pairs or species, then the rows of the terms' own tables.
struct PairNumbers {
    all: Vec<f64>,
    table_size: usize,
    /// Beginning of the rows of each of the terms' own tables.
    curve_offsets: Vec<usize>,
}

impl PairNumbers {
    fn new(inputs: &PairInputs, row: &TableRow) -> Self {
        let mut all = match &inputs.products {
            Some(products) => products.by_species.clone(),
            None => inputs.table.rows_of(&row.varied, row.length),
        };
        let table_size = all.len();
        if !inputs.curves.0.is_empty() {
            // Rows are read at once.
            all.resize(table_size.next_multiple_of(ROW), 0.0);
        }
        let curve_offsets = inputs.curves.append_rows(&mut all);
        PairNumbers { all, table_size, curve_offsets }
    }
}

/// Part of [`pair_source`] for species that have charges and no other force.
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

/// Real-space interaction of two unit charges: energy and force over distance.
fn unit_charges(term: &Electrostatics, r2: Recorder, precision: Precision) -> (Recorder, Recorder) {
    let one = Recorder::lit(1.0);
    if let Some(kappa) = term.kappa() {
        let smooth = fitted(&ChebyshevSeries::new(term.cutoff, precision, |r2| term.smooth(r2)), r2);
        return screened::direct(r2, one, Recorder::lit(kappa), smooth);
    }
    let smooth = match term.splitting() {
        None => reaction(r2, term.reaction().map(Recorder::lit)),
        Some(Splitting::KaiserBessel(charge)) => spread_charge(charge, r2, precision),
        Some(Splitting::Gaussian { alpha }) if precision == Precision::Mixed => gaussian_single_of(alpha, r2),
        Some(Splitting::Gaussian { alpha }) => of_width(alpha, r2, gaussian),
    };
    direct(r2, one, smooth)
}

/// Energy and force over distance of a point and a charge spread within the cut-off, up to there: polynomials, which
/// take no other functions.
pub(super) fn spread_charge(
    charge: KaiserBessel,
    r2: Recorder,
    precision: Precision,
) -> (Recorder, Recorder) {
    let series = ChebyshevSeries::new(charge.radius, precision, |r2| charge.within(r2));
    let t = r2.mul_add(Recorder::lit(series.scale), Recorder::lit(-1.0));
    let at = |coefficients: &[f64]| horner(t, powers(coefficients, precision).into_iter().map(Recorder::lit));
    (at(&series.energy), at(&series.force))
}

/// Addition to the interaction of two unit coefficients of dispersion.
fn unit_dispersion(term: &Dispersion, r2: Recorder, precision: Precision) -> (Recorder, Recorder) {
    let (energy, force_over_r) =
        fitted(&ChebyshevSeries::new(term.cutoff, precision, |r2| term.smooth(r2)), r2);
    (energy - Recorder::lit(term.shift), force_over_r)
}

/// Smooth function that is expensive to evaluate, and its force over distance, by a series.
fn fitted(series: &ChebyshevSeries, r2: Recorder) -> (Recorder, Recorder) {
    let t = r2 * Recorder::lit(series.scale) - Recorder::lit(1.0);
    let at = |coefficients: &[f64]| chebyshev(t, coefficients.iter().map(|c| Recorder::lit(*c)));
    (at(&series.energy), at(&series.force))
}

/// Inputs of a table: the distance beyond the beginning of a row, and the row.
const CURVE_INPUTS: usize = 1 + ROW;

/// Terms that are tables: their numbers, and their first columns.
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

    /// Number of a term among the tables.
    fn place(&self, term: usize) -> usize {
        self.0.iter().take_while(|curve| curve.0 < term).count()
    }

    /// Writes the statements that find the row of each table for a distance, and read it.
    fn write_reads(&self, text: &mut SourceText, offsets: &[usize], looked_up: impl Fn(usize) -> String) {
        for (k, ((_, first, _), offset)) in self.0.iter().zip(offsets).enumerate() {
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
