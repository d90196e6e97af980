//! Embedded atoms (`kernels/embedded.cu`): two passes over the lists of another pair algorithm.

use crate::arrays::Reals;
use crate::codegen;
use crate::device_data::{DeviceData, EmbeddedArrays};
use crate::driver::{Buffer, Device};
use crate::many_body::ManyBodyArrays;
use jostle_core::{Precision, Result};
use jostle_potentials::embedded::{cubic, pair};
use jostle_potentials::{Embedded, Forces};
use std::fmt::Write;

/// Generated part of the source: formulas, grids, and definitions that one more term than those of pairs
/// changes. Empty without embedded atoms.
pub fn source(forces: &Forces, precision: Precision) -> String {
    let Some(term) = &forces.embedded else { return String::new() };
    let cubic = codegen::function("cubic", 5, precision, |x| {
        let (value, slope) = cubic(x[0], [x[1], x[2], x[3], x[4]]);
        vec![value, slope]
    });
    let pair = codegen::function("embedded_pair", 7, precision, |x| {
        let (energy, force_over_r) = pair(x[0], (x[1], x[2]), [x[3], x[4]], [x[5], x[6]]);
        vec![energy, force_over_r]
    });
    let (start, spacing, knots) = term.grid();
    let mut text = String::new();
    let mut define = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "#undef {name}\n#define {name} {value}");
    };
    define("N_TERMS", forces.n_searched().to_string());
    define("N_SPECIES", term.n_species().to_string());
    define("LONGEST_CUTOFF2", format!("{:e}", forces.largest_cutoff().powi(2)));
    define("EMBEDDED_CUTOFF2", format!("{:e}", term.cutoff().powi(2)));
    define("KNOTS_PER_LENGTH", format!("{:e}", 1.0 / spacing));
    define("KNOTS_START", format!("({:e})", start / spacing));
    define("LAST_KNOT", (knots - 1).to_string());
    let rows = embedding_starts(term).into_iter().enumerate().map(|(species, first)| {
        let function = term.embedding_function(species);
        let (start, per_density, knots) = (function.start, 1.0 / function.spacing, function.cubics.len());
        format!("{{(real){start:e}, (real){per_density:e}, {knots}, {first}}}")
    });
    let rows: Vec<String> = rows.collect();
    let rows = rows.join(", ");
    text + &cubic
        + &pair
        + &format!(
            "struct EmbeddingGrid {{ real start, per_density; int knots; u32 first; }};\n\
             DEVICE EmbeddingGrid embedding_grid(int species) {{\n    \
             const EmbeddingGrid grids[N_SPECIES] = {{{rows}}};\n    return grids[species];\n}}\n"
        )
}

/// Beginnings of the embedding functions of the species, in fours.
fn embedding_starts(term: &Embedded) -> Vec<usize> {
    let mut next = term.table().len() / 4;
    let mut starts = Vec::new();
    for species in 0..term.n_species() {
        starts.push(next);
        next += term.embedding_function(species).cubics.len();
    }
    starts
}

/// Functions of a metal, and the derivatives and energies of embedded atoms.
pub struct EmbeddedTables {
    functions: Reals,
    derivative: Reals,
    embedding: Buffer<f64>,
}

impl EmbeddedTables {
    /// Memory for `n` atoms.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(device: &Device, precision: Precision, term: &Embedded, n: usize) -> Result<Self> {
        let embedding = (0..term.n_species()).flat_map(|s| term.embedding_function(s).cubics.concat());
        let functions: Vec<f64> = term.table().into_iter().chain(embedding).collect();
        Ok(EmbeddedTables {
            functions: Reals::upload(device, precision, &functions)?,
            derivative: Reals::upload(device, precision, &vec![0.0; n.max(1)])?,
            embedding: device.alloc(n.max(1))?,
        })
    }
}

impl ManyBodyArrays for EmbeddedTables {
    const KERNELS: [&'static str; 3] = ["densities_embedded", "forces_embedded", "forces_embedded_energies"];
    const NAME: &'static str = "embedded atoms";

    fn attach(&self, data: &mut DeviceData) {
        data.embedded = EmbeddedArrays {
            functions: self.functions.address(),
            derivative: self.derivative.address(),
            energy: self.embedding.address(),
        };
    }

    fn exchanged(&self) -> (u64, usize) {
        (self.derivative.address(), 1)
    }

    fn bytes(&self) -> usize {
        self.functions.bytes() + self.derivative.bytes() + 8 * self.embedding.len()
    }
}
