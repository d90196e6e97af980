//! Embedded atoms (`kernels/embedded.cu`): two passes over the lists of another pair algorithm.

use crate::arrays::Reals;
use crate::codegen;
use crate::device_data::{DeviceData, EmbeddedArrays};
use crate::driver::{Buffer, Device, Kernel, Launch, Module};
use crate::exchange::Exchange;
use crate::list_capacity::ListCapacity;
use crate::neighbor_engine::{NeighborEngine, Trigger};
use jostle_core::{Error, Evaluate, Precision, Result};
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

/// Pair algorithm, and the kernels of embedded atoms over its lists.
pub struct EmbeddedEngine {
    pairs: Box<dyn NeighborEngine>,
    densities: Kernel,
    forces: Kernel,
    energies: Kernel,
    functions: Reals,
    derivative: Reals,
    embedding: Buffer<f64>,
    /// Exchange of the derivatives with other GPUs.
    exchange: Option<Exchange>,
}

impl EmbeddedEngine {
    /// Kernels and memory for `n` atoms.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(
        device: &Device,
        module: &Module,
        precision: Precision,
        term: &Embedded,
        pairs: Box<dyn NeighborEngine>,
        n: usize,
        exchange: Option<Exchange>,
    ) -> Result<Self> {
        let embedding = (0..term.n_species()).flat_map(|s| term.embedding_function(s).cubics.concat());
        let functions: Vec<f64> = term.table().into_iter().chain(embedding).collect();
        let engine = EmbeddedEngine {
            densities: module.kernel("densities_embedded")?,
            forces: module.kernel("forces_embedded")?,
            energies: module.kernel("forces_embedded_energies")?,
            functions: Reals::upload(device, precision, &functions)?,
            derivative: Reals::upload(device, precision, &vec![0.0; n.max(1)])?,
            embedding: device.alloc(n.max(1))?,
            exchange,
            pairs,
        };
        for kernel in [&engine.densities, &engine.forces, &engine.energies] {
            engine.pairs.allow(kernel)?;
            if engine.pairs.pass(kernel).is_none() {
                let name = engine.pairs.name();
                return Err(Error::device(format!("algorithm \"{name}\" has no embedded atoms"))
                    .hint("set algorithm = \"tiles\" or \"list\""));
            }
        }
        Ok(engine)
    }
}

impl NeighborEngine for EmbeddedEngine {
    fn name(&self) -> &'static str {
        self.pairs.name()
    }

    fn attach(&self, data: &mut DeviceData) {
        self.pairs.attach(data);
        data.embedded = EmbeddedArrays {
            functions: self.functions.address(),
            derivative: self.derivative.address(),
            energy: self.embedding.address(),
        };
    }

    fn holds(&self, capacity: ListCapacity) -> bool {
        self.pairs.holds(capacity)
    }

    fn tighten(&mut self, capacity: ListCapacity) {
        self.pairs.tighten(capacity);
    }

    fn build(&self, data: &DeviceData, slot: i32) -> Vec<Launch> {
        self.pairs.build(data, slot)
    }

    fn forces(&self, data: &DeviceData, slot: i32, trigger: Trigger, evaluate: Evaluate) -> Vec<Launch> {
        let (kernel, energies) = match evaluate {
            Evaluate::Forces => (&self.forces, 0i32),
            Evaluate::ForcesAndEnergies => (&self.energies, 1),
        };
        let pass = |kernel| {
            let launch = self.pairs.pass(kernel);
            launch.map(|launch| launch.with_value(*data).with_value(slot).with_value(trigger as i32))
        };
        let densities = pass(&self.densities).map(|launch| launch.with_value(energies));
        // Forces need the derivatives of all atoms.
        let derivatives =
            self.exchange.as_ref().map(|e| e.array(data, data.embedded.derivative, 1, slot, trigger));
        densities.into_iter().chain(derivatives.into_iter().flatten()).chain(pass(kernel)).collect()
    }

    fn step(&self, _data: &DeviceData, _slot: i32) -> Option<Vec<Launch>> {
        None
    }

    fn energy_blocks(&self) -> u32 {
        self.pairs.energy_blocks()
    }

    fn bytes(&self) -> usize {
        self.pairs.bytes() + self.functions.bytes() + self.derivative.bytes() + 8 * self.embedding.len()
    }
}
