//! Three-body potentials: covalent solids and liquids, in which bonds prefer angles.
//!
//! E = sum_i E_i, where the energy of an atom, the centre, is a function of the vectors d_ij from it to its
//! neighbours within a cut-off. The force on a neighbour is -dE_i/dd_ij, the centre has the opposite of their
//! sum, and the virial is the sum of -d_ij dE_i/dd_ij: what an engine has to do is to find the neighbours and to add
//! up forces. Functions of one centre are generic over [`Real`]; their parts (bonds, angles, bond orders) are
//! straight-line formulas, of which GPU kernels are made.

mod stillinger_weber;
pub mod tersoff;

pub use stillinger_weber::{StillingerWeber, StillingerWeberEntry};
pub use tersoff::{Tersoff, TersoffEntry};

use jostle_core::{Real, Vec3, Vector};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// Kinds of three-body forces in the input file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ThreeBodyKind {
    /// F. H. Stillinger and T. A. Weber.
    StillingerWeber,
    /// J. Tersoff.
    Tersoff,
}

impl ThreeBodyKind {
    /// The name in the input file, `kind = "..."`.
    pub const fn name(self) -> &'static str {
        match self {
            ThreeBodyKind::StillingerWeber => "stillinger-weber",
            ThreeBodyKind::Tersoff => "tersoff",
        }
    }

    /// Description of one line for help and documentation.
    pub const fn about(self) -> &'static str {
        match self {
            ThreeBodyKind::StillingerWeber => {
                "Stillinger and Weber: silicon, II-VI and III-V semiconductors, coarse water"
            }
            ThreeBodyKind::Tersoff => {
                "Tersoff's bond orders: silicon, carbon, germanium, their compounds, nitrides"
            }
        }
    }
}

/// A three-body force between species, with the coefficients of its formulas.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThreeBody {
    /// Function.
    pub kind: ThreeBodyKind,
    n_species: usize,
    /// Distance up to which atoms of two species are neighbours of each other.
    cutoffs: Vec<f64>,
    /// Distance beyond which all functions are zero.
    beyond: f64,
    /// Coefficients by species of centre and neighbour, so many as the function has.
    pairs: Vec<f64>,
    /// Coefficients by species of the centre and two neighbours.
    triplets: Vec<f64>,
    /// True where the cut-off of a neighbour depends on the other neighbour, too.
    triplet_cutoffs: bool,
}

impl ThreeBody {
    /// Number of species.
    pub fn n_species(&self) -> usize {
        self.n_species
    }

    /// Longest distance of neighbours.
    pub fn cutoff(&self) -> f64 {
        self.cutoffs.iter().copied().fold(0.0, f64::max)
    }

    /// Distance up to which atoms of two species are neighbours of each other.
    pub fn cutoff_of(&self, a: usize, b: usize) -> f64 {
        self.cutoffs[a * self.n_species + b]
    }

    /// Distance at and beyond which all functions and their derivatives are zero.
    pub fn beyond(&self) -> f64 {
        self.beyond
    }

    /// Coefficients of all pairs of centre and neighbour, one after the other.
    pub fn pairs(&self) -> &[f64] {
        &self.pairs
    }

    /// Coefficients of all triplets of a centre and two neighbours, one after the other.
    pub fn triplets(&self) -> &[f64] {
        &self.triplets
    }

    /// Returns true where the cut-off of a neighbour depends on the other neighbour of a triplet, too.
    pub fn has_triplet_cutoffs(&self) -> bool {
        self.triplet_cutoffs
    }

    /// Makes the cut-off of two species the longer one of those of either as the centre.
    fn with_mutual_neighbors(mut self) -> Self {
        let n = self.n_species;
        for a in 0..n {
            for b in 0..a {
                let longer = self.cutoffs[a * n + b].max(self.cutoffs[b * n + a]);
                (self.cutoffs[a * n + b], self.cutoffs[b * n + a]) = (longer, longer);
            }
        }
        self
    }

    /// Calls a visitor with the function of this kind.
    pub fn visit<V: ThreeBodyVisitor>(&self, visitor: V) -> V::Output {
        match (self.kind, self.triplet_cutoffs) {
            (ThreeBodyKind::StillingerWeber, _) => visitor.visit::<StillingerWeber>(),
            (ThreeBodyKind::Tersoff, false) => visitor.visit::<Tersoff<false>>(),
            (ThreeBodyKind::Tersoff, true) => visitor.visit::<Tersoff<true>>(),
        }
    }

    /// Energy of a centre with neighbours of these species at these vectors, and derivatives by the vectors.
    pub fn center(&self, species: usize, neighbors: &[(usize, Vec3)]) -> (f64, Vec<Vec3>) {
        self.visit(OneCenter { term: self, species, neighbors })
    }
}

/// Work that needs to know the function of a [`ThreeBody`] force.
pub trait ThreeBodyVisitor {
    /// Result.
    type Output;
    /// Does the work.
    fn visit<F: ThreeBodyFunction>(self) -> Self::Output;
}

/// The energy of a centre.
pub trait ThreeBodyFunction: 'static {
    /// Number of coefficients of a centre and a neighbour, a multiple of four.
    const N_PAIR: usize;
    /// Number of coefficients of a centre and two neighbours, a multiple of four.
    const N_TRIPLET: usize;

    /// Energy of the centre; stores its derivatives in the neighbours. Neighbours at [`ThreeBody::beyond`] change
    /// nothing.
    fn evaluate<R: Real>(neighbors: &mut [Neighbor<R>], coefficients: &impl CenterCoefficients<R>) -> R;
}

/// Coefficients of the neighbours of a centre.
pub trait CenterCoefficients<R> {
    /// The first coefficients of the centre and a neighbour.
    fn pair<const N: usize>(&self, neighbor: usize) -> [R; N];
    /// The first coefficients of the centre and two neighbours.
    fn triplet<const N: usize>(&self, first: usize, second: usize) -> [R; N];
}

/// A neighbour of a centre.
#[derive(Debug, Clone, Copy)]
pub struct Neighbor<R> {
    /// Distance, and its inverse.
    pub distance: R,
    /// See [`Neighbor::distance`].
    pub inverse: R,
    /// Unit vector from the centre.
    pub direction: Vector<R>,
    /// Derivative of the energy of the centre by the vector to the neighbour.
    pub gradient: Vector<R>,
    /// A function of the distance that all triplets of the neighbour share, and its derivative.
    shared: [R; 2],
    /// Working space: the terms of a triplet.
    terms: [R; 4],
}

impl<R: Real> Neighbor<R> {
    /// Neighbour at a vector from the centre.
    #[inline(always)]
    pub fn at(vector: Vector<R>) -> Self {
        let zero = R::lit(0.0);
        let square = vector.norm_squared();
        let inverse = square.rsqrt();
        Neighbor {
            distance: square * inverse,
            inverse,
            direction: vector * inverse,
            gradient: Vector([zero; 3]),
            shared: [zero; 2],
            terms: [zero; 4],
        }
    }

    /// Vector from the centre.
    #[inline(always)]
    pub fn vector(&self) -> Vector<R> {
        self.direction * self.distance
    }
}

/// Derivatives, by the vectors to two neighbours, of a function of their distances and of the cosine between them: from
/// unit vectors, inverse distances and the derivatives by both distances and by the cosine.
#[inline(always)]
pub fn angle_gradients<R: Real>(
    [u, v]: [Vector<R>; 2],
    inverse: [R; 2],
    cosine: R,
    [by_j, by_k, by_cosine]: [R; 3],
) -> [Vector<R>; 2] {
    // d cos / d d_j = (v - cos u) / r_j
    let (across_j, across_k) = (by_cosine * inverse[0], by_cosine * inverse[1]);
    let (along_j, along_k) = (by_j - cosine * across_j, by_k - cosine * across_k);
    [(u * along_j).along(across_j, v), (v * along_k).along(across_k, u)]
}

/// Adds the derivatives of a function of two distances and the cosine between them to the gradients of two neighbours.
#[inline(always)]
fn add_angle<R: Real>(neighbors: &mut [Neighbor<R>], [j, k]: [usize; 2], cosine: R, slopes: [R; 3]) {
    let (one, other) = (&neighbors[j], &neighbors[k]);
    let inverse = [one.inverse, other.inverse];
    let [on_j, on_k] = angle_gradients([one.direction, other.direction], inverse, cosine, slopes);
    neighbors[j].gradient += on_j;
    neighbors[k].gradient += on_k;
}

/// See [`ThreeBody::center`].
struct OneCenter<'a> {
    term: &'a ThreeBody,
    species: usize,
    neighbors: &'a [(usize, Vec3)],
}

impl ThreeBodyVisitor for OneCenter<'_> {
    type Output = (f64, Vec<Vec3>);

    fn visit<F: ThreeBodyFunction>(self) -> Self::Output {
        let mut around: Vec<_> = self.neighbors.iter().map(|(_, vector)| Neighbor::at(*vector)).collect();
        let energy =
            F::evaluate(&mut around, &PlainCoefficients { center: &self, function: PhantomData::<F> });
        (energy, around.into_iter().map(|neighbor| neighbor.gradient).collect())
    }
}

/// Coefficients of a function around one centre.
struct PlainCoefficients<'a, F> {
    center: &'a OneCenter<'a>,
    function: PhantomData<F>,
}

impl<F: ThreeBodyFunction> CenterCoefficients<f64> for PlainCoefficients<'_, F> {
    fn pair<const N: usize>(&self, neighbor: usize) -> [f64; N] {
        let OneCenter { term, species, neighbors } = self.center;
        let first = (species * term.n_species + neighbors[neighbor].0) * F::N_PAIR;
        std::array::from_fn(|k| term.pairs[first + k])
    }

    fn triplet<const N: usize>(&self, first: usize, second: usize) -> [f64; N] {
        let OneCenter { term, species, neighbors } = self.center;
        let pair = species * term.n_species + neighbors[first].0;
        let first = (pair * term.n_species + neighbors[second].0) * F::N_TRIPLET;
        std::array::from_fn(|k| term.triplets[first + k])
    }
}
