//! Spreading of charges on a mesh by B-splines, and forces from a potential on it. Both act on a patch: the part of
//! the mesh that some atoms reach.

use super::mesh_grid::MeshGrid;
use crate::simd::{Kernel, Lanes, MOST_LANES, Scalar, Simd};
use jostle_core::{Vec3, Vector};
use jostle_potentials::electrostatics::spline::{WIDTH, weights};

/// Part of a mesh: points from `begin` on, `n` along each edge, beyond the end of the mesh those at its beginning. Rows
/// along the third edge go on by the reach of a spline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Patch {
    pub begin: [usize; 3],
    pub n: [usize; 3],
}

impl Patch {
    /// The whole of a mesh.
    pub fn whole(n: [usize; 3]) -> Patch {
        Patch { begin: [0; 3], n }
    }

    /// Length of a row.
    pub fn row(&self) -> usize {
        self.n[2] + WIDTH
    }

    /// Numbers that it has.
    pub fn len(&self) -> usize {
        self.n[0] * self.n[1] * self.row()
    }
}

/// The atoms of a task.
pub(crate) struct MeshAtoms<'a, S> {
    /// Positions.
    pub position: &'a [Vec3],
    /// Charges times the root of Coulomb's constant.
    pub charge: &'a [f64],
    /// Forces, the result.
    pub force: &'a mut [Vector<S>],
}

/// Largest number of atoms at once, the lanes of narrow registers.
const MOST: usize = 8;

/// Places of some atoms on the mesh, with their splines.
struct Splines<S> {
    /// Point below each atom along each edge.
    point: [[usize; 3]; MOST],
    /// Weights of the points from there on along the third edge, and their derivatives, by atom: rows as long
    /// as a register.
    along: [[[S; WIDTH]; 2]; MOST],
    /// Weights and derivatives along the first and the second edge, by point and atom.
    across: [[[[S; MOST]; WIDTH]; 2]; 2],
}

impl<S: Scalar> Splines<S> {
    fn new() -> Self {
        let zero = S::default();
        Splines {
            point: [[0; 3]; MOST],
            along: [[[zero; WIDTH]; 2]; MOST],
            across: [[[[zero; MOST]; WIDTH]; 2]; 2],
        }
    }

    /// Finds places and splines of at most as many atoms as `L` has lanes; returns the farthest points, which are
    /// in the patch if atoms are where they should be.
    #[inline(always)]
    fn find<L, D, const ORDER: usize>(&mut self, grid: &MeshGrid, patch: &Patch, position: &[Vec3]) -> [D; 3]
    where
        L: Lanes<Scalar = S>,
        D: Lanes<Scalar = f64>,
    {
        let mut farthest = [D::lit(0.0); 3];
        let mut beyond = [[S::default(); MOST]; 3];
        for (start, position) in position.chunks(D::WIDTH).enumerate() {
            // Lanes that are left over repeat the first atom.
            let mut some = [position[0]; MOST_LANES];
            let r = if position.len() == D::WIDTH {
                D::load_vectors(position)
            } else {
                some[..position.len()].copy_from_slice(position);
                D::load_vectors(&some)
            };
            let origin = grid.simbox.origin().map(D::lit);
            let r = r - origin;
            for d in 0..3 {
                let Vector([x, y, z]) = grid.reciprocal[d].map(D::lit);
                let s = x * r[0] + y * r[1] + z * r[2];
                let n = D::lit(grid.n[d] as f64);
                let u = (s - floor(s)) * n;
                // Rounding may lead to the end itself, the image of the beginning.
                let point = floor(u).min(n - D::lit(1.0));
                let (mut points, mut rest) = ([0.0; MOST_LANES], [0.0; MOST_LANES]);
                let inside = point - D::lit(patch.begin[d] as f64);
                let inside = D::select(inside.lt(D::lit(0.0)), inside + n, inside);
                farthest[d] = farthest[d].max(inside);
                inside.min(D::lit(patch.n[d] as f64 - 1.0)).store(&mut points);
                (u - point).store(&mut rest);
                for lane in 0..D::WIDTH {
                    self.point[start * D::WIDTH + lane][d] = whole(points[lane]);
                    beyond[d][start * D::WIDTH + lane] = S::from_f64(rest[lane]);
                }
            }
        }
        for (d, beyond) in beyond.iter().enumerate() {
            let both = weights::<L, ORDER>(L::load(beyond), L::lit);
            for (of, weights) in both.iter().enumerate() {
                for k in 0..ORDER {
                    if d < 2 {
                        weights[k].store(&mut self.across[d][of][k]);
                        continue;
                    }
                    let mut by_atom = [S::default(); MOST];
                    weights[k].store(&mut by_atom);
                    for (atom, weight) in by_atom.iter().enumerate() {
                        self.along[atom][of][k] = *weight;
                    }
                }
            }
        }
        farthest
    }

    /// Gradient of a potential on the mesh at an atom, in parts to be summed, by edge in points.
    #[inline(always)]
    fn slopes<L: Lanes<Scalar = S>, const ORDER: usize>(
        &self,
        patch: &Patch,
        mesh: &[S],
        atom: usize,
    ) -> [L; 3] {
        let (planes, rows) = rows::<ORDER>(patch, self.point[atom]);
        let [[x, slope_x], [y, slope_y]] = &self.across;
        let mut across = [[L::lit(0.0); 2]; ORDER];
        for j in 0..ORDER {
            across[j] = [L::splat(y[j][atom]), L::splat(slope_y[j][atom])];
        }
        let mut slopes = [L::lit(0.0); 3];
        for k in (0..WIDTH).step_by(L::WIDTH) {
            // Sums with the slope along x, y or z.
            let mut sums = [L::lit(0.0); 3];
            for i in 0..ORDER {
                // Sums along z with the splines along y, and with their slopes.
                let (mut plain, mut sloped) = (L::lit(0.0), L::lit(0.0));
                for j in 0..ORDER {
                    let points = L::load(&mesh[planes[i] + rows[j] + k..]);
                    plain = points.mul_add(across[j][0], plain);
                    sloped = points.mul_add(across[j][1], sloped);
                }
                sums[0] = plain.mul_add(L::splat(slope_x[i][atom]), sums[0]);
                sums[1] = sloped.mul_add(L::splat(x[i][atom]), sums[1]);
                sums[2] = plain.mul_add(L::splat(x[i][atom]), sums[2]);
            }
            let [along, slope] = &self.along[atom];
            let (along, slope) = (L::load(&along[k..]), L::load(&slope[k..]));
            for d in 0..3 {
                let along = if d == 2 { slope } else { along };
                slopes[d] = sums[d].mul_add(along, slopes[d]);
            }
        }
        slopes
    }
}

/// The largest whole number below.
#[inline(always)]
fn floor<D: Lanes>(x: D) -> D {
    let near = x.round();
    D::select(x.lt(near), near - D::lit(1.0), near)
}

/// Conversion of a whole number from 0 to 2^32 that the compiler vectorises, unlike `as`.
#[inline(always)]
fn whole(x: f64) -> usize {
    (x + (1u64 << 52) as f64).to_bits() as u32 as usize
}

/// Beginnings of an atom's points on the mesh, in parts to be added: by point along the first edge the plane
/// and the place along the third edge; by point along the second edge the row.
#[inline(always)]
fn rows<const ORDER: usize>(patch: &Patch, point: [usize; 3]) -> ([usize; ORDER], [usize; ORDER]) {
    let ([n_x, n_y, _], row) = (patch.n, patch.row());
    let planes = std::array::from_fn(|i| wrapped(point[0] + i, n_x) * n_y * row + point[2]);
    (planes, std::array::from_fn(|j| wrapped(point[1] + j, n_y) * row))
}

/// Wraps a number below 2 n into 0 to n.
#[inline(always)]
fn wrapped(k: usize, n: usize) -> usize {
    if k < n { k } else { k - n }
}

/// Spreads charges on a patch of a mesh that is cleared first. Returns the farthest points of atoms.
pub(super) struct Spread<'a, S> {
    pub grid: &'a MeshGrid,
    pub patch: &'a Patch,
    pub position: &'a [Vec3],
    pub charge: &'a [f64],
    pub mesh: &'a mut [S],
}

impl<S: Scalar> Kernel for Spread<'_, S> {
    type Output = Vec3;

    #[inline(always)]
    fn run<I: Simd>(self) -> Vec3 {
        match self.grid.order {
            4 => self.all::<S::Narrow<I>, I::F64, 4>(),
            5 => self.all::<S::Narrow<I>, I::F64, 5>(),
            _ => self.all::<S::Narrow<I>, I::F64, 6>(),
        }
    }
}

impl<S: Scalar> Spread<'_, S> {
    #[inline(always)]
    fn all<L: Lanes<Scalar = S>, D: Lanes<Scalar = f64>, const ORDER: usize>(self) -> Vec3 {
        let Spread { grid, patch, position, charge, mesh } = self;
        mesh.fill(S::default());
        let mut farthest = [D::lit(0.0); 3];
        let mut splines = Splines::new();
        for (position, charge) in position.chunks(L::WIDTH).zip(charge.chunks(L::WIDTH)) {
            let points = splines.find::<L, D, ORDER>(grid, patch, position);
            for d in 0..3 {
                farthest[d] = farthest[d].max(points[d]);
            }
            for (atom, q) in charge.iter().enumerate() {
                let (planes, rows) = rows::<ORDER>(patch, splines.point[atom]);
                let [[x, _], [y, _]] = &splines.across;
                let mut across = [L::lit(0.0); ORDER];
                for j in 0..ORDER {
                    across[j] = L::splat(y[j][atom]);
                }
                for k in (0..WIDTH).step_by(L::WIDTH) {
                    let along = L::load(&splines.along[atom][0][k..]) * L::lit(*q);
                    for i in 0..ORDER {
                        let along = along * L::splat(x[i][atom]);
                        for j in 0..ORDER {
                            let points = &mut mesh[planes[i] + rows[j] + k..][..L::WIDTH];
                            along.mul_add(across[j], L::load(points)).store(points);
                        }
                    }
                }
            }
        }
        Vector(farthest.map(|lanes| {
            let mut all = [0.0; MOST_LANES];
            lanes.store(&mut all);
            all.into_iter().fold(0.0, f64::max)
        }))
    }
}

/// Forces from the potential on a patch of a mesh.
pub(super) struct Gather<'a, S> {
    pub grid: &'a MeshGrid,
    pub patch: &'a Patch,
    pub position: &'a [Vec3],
    pub charge: &'a [f64],
    pub mesh: &'a [S],
    pub force: &'a mut [Vector<S>],
}

impl<S: Scalar> Kernel for Gather<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Simd>(self) {
        match self.grid.order {
            4 => self.all::<S::Narrow<I>, I::F64, 4>(),
            5 => self.all::<S::Narrow<I>, I::F64, 5>(),
            _ => self.all::<S::Narrow<I>, I::F64, 6>(),
        }
    }
}

impl<S: Scalar> Gather<'_, S> {
    #[inline(always)]
    fn all<L: Lanes<Scalar = S>, D: Lanes<Scalar = f64>, const ORDER: usize>(self) {
        let Gather { grid, patch, position, charge, mesh, force } = self;
        let mut splines = Splines::new();
        // Registers to be summed, by edge and atom.
        let mut slopes = [[S::default(); MOST * MOST]; 3];
        let atoms = position.chunks(L::WIDTH).zip(charge.chunks(L::WIDTH)).zip(force.chunks_mut(L::WIDTH));
        for ((position, charge), force) in atoms {
            splines.find::<L, D, ORDER>(grid, patch, position);
            for atom in 0..charge.len() {
                let along = splines.slopes::<L, ORDER>(patch, mesh, atom);
                for d in 0..3 {
                    along[d].store(&mut slopes[d][atom * L::WIDTH..]);
                }
            }
            let mut q = [S::default(); MOST];
            q.iter_mut().zip(charge).for_each(|(to, q)| *to = S::from_f64(*q));
            let q = L::load(&q);
            let mut total = Vector([L::lit(0.0); 3]);
            for d in 0..3 {
                let slope = q * L::sum_rows(&slopes[d]);
                for a in 0..3 {
                    let per_point = L::lit(-(grid.n[d] as f64) * grid.reciprocal[d][a]);
                    total[a] = slope.mul_add(per_point, total[a]);
                }
            }
            if force.len() == L::WIDTH {
                L::store_vectors(total, force);
            } else {
                let mut some = [Vector::default(); MOST];
                L::store_vectors(total, &mut some);
                force.copy_from_slice(&some[..force.len()]);
            }
        }
    }
}
