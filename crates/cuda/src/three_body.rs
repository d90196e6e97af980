//! Three-body potentials (`kernels/three_body.cu`): two passes over the lists of atoms.

use crate::arrays::Reals;
use crate::codegen;
use crate::device_data::{DeviceData, ThreeBodyArrays};
use crate::driver::{Buffer, Device};
use crate::many_body::ManyBodyArrays;
use jostle_core::{Error, Precision, Result, System, Vector};
use jostle_potentials::three_body::{
    StillingerWeber, ThreeBodyFunction, ThreeBodyVisitor, angle_gradients, tersoff,
};
use jostle_potentials::{Forces, ThreeBody, ThreeBodyKind};
use std::fmt::Write;

/// Most neighbours of a centre, for which a row has space.
const MOST_NEAR: usize = 32;
/// Numbers of a neighbour in a row: its derivative and index.
const ROW: usize = 4;

/// Numbers of an atom that several GPUs exchange.
pub const EXCHANGED: usize = ROW * MOST_NEAR;

/// Generated part of the source: formulas, and definitions that one more term than those of pairs changes. Empty
/// without three-body forces.
pub fn source(forces: &Forces, precision: Precision) -> String {
    let Some(term) = &forces.three_body else { return String::new() };
    let [n_pair, n_triplet] = term.visit(Sizes);
    let mut text = String::new();
    let mut define = |name: &str, value: String| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "#undef {name}\n#define {name} {value}");
    };
    define("N_TERMS", forces.n_searched().to_string());
    define("N_SPECIES", term.n_species().to_string());
    define("LONGEST_CUTOFF2", format!("{:e}", forces.largest_cutoff().powi(2)));
    define("MOST_NEAR", MOST_NEAR.to_string());
    define("PAIR_COEFFICIENTS", n_pair.to_string());
    define("TRIPLET_COEFFICIENTS", n_triplet.to_string());
    define("TERSOFF", i32::from(term.kind == ThreeBodyKind::Tersoff).to_string());
    define("TRIPLET_CUTOFFS", i32::from(term.has_triplet_cutoffs()).to_string());
    text += &codegen::function("angle_gradients", 12, precision, |x| {
        let directions = [Vector([x[0], x[1], x[2]]), Vector([x[3], x[4], x[5]])];
        angle_gradients(directions, [x[6], x[7]], x[8], [x[9], x[10], x[11]]).into_iter().flatten().collect()
    });
    text + &match term.kind {
        ThreeBodyKind::StillingerWeber => stillinger_weber_source(precision),
        ThreeBodyKind::Tersoff => tersoff_source(precision),
    }
}

fn stillinger_weber_source(precision: Precision) -> String {
    let bond = codegen::function("stillinger_weber_bond", 10, precision, |x| {
        let c = std::array::from_fn(|k| x[2 + k]);
        StillingerWeber::bond(x[0], x[1], c).to_vec()
    });
    let angle = codegen::function("stillinger_weber_angle", 7, precision, |x| {
        StillingerWeber::angle([x[0], x[1]], [x[2], x[3]], x[4], [x[5], x[6]]).to_vec()
    });
    bond + &angle
}

fn tersoff_source(precision: Precision) -> String {
    let cutoff = codegen::function("tersoff_cutoff", 4, precision, |x| {
        tersoff::cutoff(x[0], [x[1], x[2], x[3]]).to_vec()
    });
    let zeta = codegen::function("tersoff_zeta", 10, precision, |x| {
        let c = std::array::from_fn(|k| x[4 + k]);
        tersoff::zeta(x[0], [x[1], x[2]], x[3], c).to_vec()
    });
    let bond = codegen::function("tersoff_bond", 11, precision, |x| {
        let c = std::array::from_fn(|k| x[4 + k]);
        tersoff::bond(x[0], [x[1], x[2]], x[3], c).to_vec()
    });
    cutoff + &zeta + &bond
}

/// Numbers of coefficients of pairs and of triplets.
struct Sizes;

impl ThreeBodyVisitor for Sizes {
    type Output = [usize; 2];

    fn visit<F: ThreeBodyFunction>(self) -> [usize; 2] {
        [F::N_PAIR, F::N_TRIPLET]
    }
}

/// The error of an atom that has more neighbours than a row has space for, or is near such an atom.
pub fn crowded(system: &System, term: &ThreeBody, index: usize) -> Option<Error> {
    let state = &system.state;
    let near = |around: usize| {
        let kind = usize::from(state.species[around]);
        let others = (0..state.len()).filter(move |other| *other != around);
        others.filter(move |other| {
            let d = system.simbox.nearest_image(state.position[around] - state.position[*other]);
            let cutoff = term.cutoff_of(kind, usize::from(state.species[*other]));
            d.norm_squared() < cutoff * cutoff
        })
    };
    let full = near(index).chain([index]).find(|atom| near(*atom).count() > MOST_NEAR)?;
    let (id, name, count) = (state.id[full] + 1, term.kind.name(), near(full).count());
    let message =
        format!("atom {id} has {count} neighbours within the cut-off of '{name}', a GPU holds {MOST_NEAR}");
    Some(
        Error::simulation(message)
            .hint("minimise first if atoms overlap, or set device = \"cpu\", which has no limit"),
    )
}

/// Coefficients, and the rows and energies of centres.
pub struct CenterRows {
    coefficients: [Reals; 3],
    gradient: Reals,
    energy: Buffer<f64>,
}

impl CenterRows {
    /// Memory for `n` atoms.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(device: &Device, precision: Precision, term: &ThreeBody, n: usize) -> Result<Self> {
        let upload = |numbers: &[f64]| Reals::upload(device, precision, numbers);
        let species = || 0..term.n_species();
        let cutoffs2: Vec<f64> =
            species().flat_map(|a| species().map(move |b| term.cutoff_of(a, b).powi(2))).collect();
        Ok(CenterRows {
            coefficients: [upload(term.pairs())?, upload(term.triplets())?, upload(&cutoffs2)?],
            gradient: Reals::alloc(device, precision, EXCHANGED * n.max(1))?,
            energy: device.alloc(n.max(1))?,
        })
    }
}

impl ManyBodyArrays for CenterRows {
    const KERNELS: [&'static str; 3] =
        ["centers_three_body", "forces_three_body", "forces_three_body_energies"];
    const NAME: &'static str = "three-body forces";

    fn attach(&self, data: &mut DeviceData) {
        let [pairs, triplets, cutoffs2] = &self.coefficients;
        data.three_body = ThreeBodyArrays {
            pairs: pairs.address(),
            triplets: triplets.address(),
            cutoffs2: cutoffs2.address(),
            gradient: self.gradient.address(),
            energy: self.energy.address(),
        };
    }

    fn exchanged(&self) -> (u64, usize) {
        (self.gradient.address(), EXCHANGED)
    }

    fn bytes(&self) -> usize {
        let coefficients = self.coefficients.iter().map(Reals::bytes).sum::<usize>();
        coefficients + self.gradient.bytes() + 8 * self.energy.len()
    }
}
