//! Embedded atoms: metals, in which an atom's energy depends on how many others are near it.
//!
//! E = sum_i F(rho_i) + sum_{i<j} phi(r_ij), rho_i = sum_j f(r_ij): M. S. Daw and M. I. Baskes,
//! Phys. Rev. B 29 (1984) 6443; with densities f that depend on both species, M. W. Finnis and
//! J. E. Sinclair, Philos. Mag. A 50 (1984) 45. All functions are [`Spline`]s: read from files by
//! `jostle-io`, or made from formulas ([`SuttonChen`]).

mod spline;
mod sutton_chen;

pub use spline::{Spline, cubic};
pub use sutton_chen::SuttonChen;

use jostle_core::{Error, Real, Result};
use serde::{Deserialize, Serialize};

/// Kinds of embedded-atom forces in the input file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EmbeddedKind {
    /// Functions from a file.
    EmbeddedAtom,
    /// The formulas of Sutton and Chen.
    SuttonChen,
}

impl EmbeddedKind {
    /// The name in the input file, `kind = "..."`.
    pub const fn name(self) -> &'static str {
        match self {
            EmbeddedKind::EmbeddedAtom => "embedded-atom",
            EmbeddedKind::SuttonChen => "sutton-chen",
        }
    }

    /// Description of one line for help and documentation.
    pub const fn about(self) -> &'static str {
        match self {
            EmbeddedKind::EmbeddedAtom => {
                "metals and alloys by a DYNAMO file: funcfl, setfl or Finnis-Sinclair (many-body)"
            }
            EmbeddedKind::SuttonChen => "fcc metals by formulas: Ni, Cu, Ag, Au, ... (many-body)",
        }
    }
}

/// An embedded-atom force, resolved for every species.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Embedded {
    /// Kind of the force.
    pub kind: EmbeddedKind,
    cutoff: f64,
    /// F(rho) by species.
    embedding: Vec<Spline>,
    /// f(r) by species of the embedded atom, then by species of the atom that contributes to the density.
    density: Vec<Spline>,
    /// r phi(r), by species and species.
    pair: Vec<Spline>,
}

impl Embedded {
    /// A force from its functions: F(rho) of every species, f(r) and r phi(r) of every ordered pair of
    /// species (that of the embedded atom first), all on one grid of distances.
    ///
    /// # Errors
    /// If the number of functions is not that of the species, grids differ, or the cut-off is not a positive
    /// number.
    pub fn new(
        kind: EmbeddedKind,
        cutoff: f64,
        embedding: Vec<Spline>,
        density: Vec<Spline>,
        pair: Vec<Spline>,
    ) -> Result<Self> {
        let n = embedding.len();
        if n == 0 || density.len() != n * n || pair.len() != n * n {
            return Err(Error::input("an embedded-atom force lacks functions of some species"));
        }
        if !(cutoff > 0.0 && cutoff.is_finite()) {
            return Err(Error::input(format!("the cut-off is {cutoff}, but must be positive")));
        }
        let grid = |s: &Spline| (s.start, s.spacing, s.cubics.len());
        if density.iter().chain(&pair).any(|s| grid(s) != grid(&density[0])) {
            return Err(Error::input("the functions of distance are on different grids"));
        }
        Ok(Embedded { kind, cutoff, embedding, density, pair })
    }

    /// Number of species.
    pub fn n_species(&self) -> usize {
        self.embedding.len()
    }

    /// Distance beyond which atoms do not interact.
    pub fn cutoff(&self) -> f64 {
        self.cutoff
    }

    /// F(rho) of a species: value and derivative.
    pub fn embedding(&self, species: usize, density: f64) -> (f64, f64) {
        self.embedding[species].at_or_beyond(density)
    }

    /// F(rho) of a species.
    pub fn embedding_function(&self, species: usize) -> &Spline {
        &self.embedding[species]
    }

    /// Contribution of an atom of species `b` at distance `r` to the density at one of species `a`: value and
    /// derivative.
    pub fn density(&self, a: usize, b: usize, r: f64) -> (f64, f64) {
        self.density[a * self.n_species() + b].at(r)
    }

    /// phi(r) of two species and force over distance, with the derivatives of their embedding
    /// energies.
    pub fn pair(&self, species: [usize; 2], r2: f64, derivatives: [f64; 2]) -> (f64, f64) {
        let (n, [a, b]) = (self.n_species(), species);
        let inverse = 1.0 / r2.sqrt();
        let slopes = [self.density(a, b, r2 * inverse).1, self.density(b, a, r2 * inverse).1];
        pair(inverse, self.pair[a * n + b].at(r2 * inverse), slopes, derivatives)
    }

    /// The grid of distances: where it begins, the distance between its knots, how many there are.
    pub fn grid(&self) -> (f64, f64, usize) {
        let first = &self.density[0];
        (first.start, first.spacing, first.cubics.len())
    }

    /// Functions of distance in the layout of kernels: [`Embedded::ROW`] numbers for each knot, all knots of
    /// one ordered pair of species after the other. First the cubic of f(r), then that of r phi(r).
    pub fn table(&self) -> Vec<f64> {
        let pairs = self.density.iter().zip(&self.pair);
        pairs.flat_map(|(f, z)| f.cubics.iter().zip(&z.cubics).flat_map(|(f, z)| [*f, *z].concat())).collect()
    }

    /// Numbers in a row of [`Embedded::table`].
    pub const ROW: usize = 8;
}

/// Energy and force over distance of two atoms at distance r: from 1/r, r phi(r) with its
/// derivative, the derivatives of the densities that each has at the other, and those of their
/// embedding energies.
#[inline(always)]
pub fn pair<R: Real>(inverse: R, z: (R, R), slopes: [R; 2], derivatives: [R; 2]) -> (R, R) {
    let (energy, parts) = parts(inverse, z, slopes);
    (energy, force(parts, derivatives))
}

/// The part before embedding energies are known: the energy, and the parts of [`force`].
#[inline(always)]
pub fn parts<R: Real>(inverse: R, z: (R, R), slopes: [R; 2]) -> (R, [R; 3]) {
    let energy = z.0 * inverse;
    // d(z/r)/dr = (z' - z/r) / r
    let slope = (z.1 - energy) * inverse;
    (energy, [-slope * inverse, -slopes[0] * inverse, -slopes[1] * inverse])
}

/// Force over distance from its [`parts`] and the derivatives of the embedding energies.
#[inline(always)]
pub fn force<R: Real>(parts: [R; 3], derivatives: [R; 2]) -> R {
    derivatives[0].mul_add(parts[1], derivatives[1].mul_add(parts[2], parts[0]))
}
