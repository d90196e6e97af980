//! Smooth particle-mesh Ewald (Essmann, Perera, Berkowitz, Darden, Lee and Pedersen, J. Chem. Phys.
//! 103 (1995) 8577): charges are spread on a mesh by B-splines, waves are found by Fourier transforms,
//! and forces are the exact derivatives of the energy that comes out.

use super::fourier::Fourier;
use crate::blocks::Sums;
use crate::simd::{Kernel, Level, Scalar, Simd};
use crate::threads::Team;
use jostle_core::{Evaluate, SimBox, Vec3};
use jostle_potentials::electrostatics::mesh;
use jostle_potentials::electrostatics::spline::{WIDTH, moduli, weights};
use jostle_potentials::electrostatics::waves::{reciprocal, wave_vector, weight};
use realfft::num_complex::Complex;

/// The mesh of a box.
pub struct Mesh<S: Scalar> {
    grid: Grid,
    /// What amplitudes are multiplied by: by wave numbers along z, y, x.
    influence: Vec<S>,
    fourier: Fourier<S>,
    /// A mesh for each task; that of the first gets those of the others and then the potential.
    /// Rows go on beyond the end by what a spline reaches.
    meshes: Vec<Vec<S>>,
}

/// Where the points are, and what a wave on them is.
struct Grid {
    simbox: SimBox,
    alpha: f64,
    /// 0 where nothing screens.
    kappa: f64,
    order: usize,
    n: [usize; 3],
    reciprocal: [Vec3; 3],
    /// By edge.
    moduli: [Vec<f64>; 3],
}

/// The atoms of a task.
pub struct Part<'a, S> {
    /// Where they are.
    pub position: &'a [Vec3],
    /// Their charges times the root of Coulomb's constant.
    pub charge: &'a [f64],
    /// The force on each, to be found.
    pub force: &'a mut [[S; 3]],
}

impl Grid {
    /// The wave vector of some wave numbers.
    fn wave(&self, numbers: [usize; 3]) -> Vec3 {
        let signed = |d: usize| {
            let (m, n) = (numbers[d] as f64, self.n[d] as f64);
            if 2.0 * m > n { m - n } else { m }
        };
        wave_vector([0, 1, 2].map(signed), self.reciprocal)
    }

    /// By what the amplitude of a wave is multiplied, and the virial's part along it.
    fn influence(&self, numbers: [usize; 3]) -> [f64; 2] {
        if numbers == [0; 3] {
            return [0.0; 2];
        }
        let k2: f64 = self.wave(numbers).iter().map(|x| x * x).sum();
        let [weight, along] = weight(k2 + self.kappa * self.kappa, self.alpha, self.simbox.volume());
        let moduli: f64 = (0..3).map(|d| self.moduli[d][numbers[d]]).product();
        [weight * moduli, along]
    }

    /// Adds energies and virials of all waves along x.
    fn add_waves<S: Scalar>(&self, [y, z]: [usize; 2], waves: &[Complex<S>], sums: &mut Sums) {
        // All but these stand for their opposites, too.
        let share = if z == 0 || 2 * z == self.n[2] { 0.5 } else { 1.0 };
        for (x, wave) in waves.iter().enumerate() {
            let square = wave.re.to_f64().powi(2) + wave.im.to_f64().powi(2);
            let [weight, along] = self.influence([x, y, z]);
            sums.add_wave(share * weight * square, along, self.wave([x, y, z]));
        }
    }
}

impl<S: Scalar> Mesh<S> {
    /// The mesh of a box, with points no further apart than `spacing`; `kappa` is 0 where nothing screens.
    pub fn new(
        simbox: &SimBox,
        [alpha, kappa]: [f64; 2],
        order: usize,
        spacing: f64,
        n_tasks: usize,
    ) -> Self {
        let n = mesh(simbox, order, spacing);
        let (reciprocal, moduli) = (reciprocal(simbox), n.map(|n| moduli(order, n)));
        let grid = Grid { simbox: *simbox, alpha, kappa, order, n, reciprocal, moduli };
        let mut influence = Vec::with_capacity(n[0] * n[1] * (n[2] / 2 + 1));
        for z in 0..n[2] / 2 + 1 {
            for y in 0..n[1] {
                influence.extend((0..n[0]).map(|x| S::from_f64(grid.influence([x, y, z])[0])));
            }
        }
        let row = n[2] + WIDTH;
        let meshes = vec![vec![S::default(); n[0] * n[1] * row]; n_tasks];
        Mesh { grid, influence, fourier: Fourier::new(n, row, n_tasks), meshes }
    }

    /// Whether it is the mesh of this box, in so many tasks.
    pub fn fits(&self, simbox: &SimBox, n_tasks: usize) -> bool {
        self.grid.simbox == *simbox && self.meshes.len() == n_tasks
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        let mesh: usize = self.meshes.iter().map(Vec::len).sum();
        (mesh + 3 * self.influence.len()) * size_of::<S>()
    }

    /// Finds the forces of all waves on all atoms; energy and virial if they are asked for.
    pub fn evaluate(
        &mut self,
        team: &Team,
        level: Level,
        parts: Vec<Part<'_, S>>,
        evaluate: Evaluate,
    ) -> Sums {
        let Mesh { grid, influence, fourier, meshes } = self;
        let [n_x, n_y, n_z] = grid.n;
        let row = n_z + WIDTH;
        team.map(parts.iter().zip(&mut *meshes).collect(), |_, (part, mesh)| {
            level.run(Spread { grid, position: part.position, charge: part.charge, mesh });
        });
        let mut sums = Sums::default();
        let Some((mesh, others)) = meshes.split_first_mut() else { return sums };
        let share = n_x.div_ceil(others.len() + 1) * n_y * row;
        team.map(mesh.chunks_mut(share).collect(), |t, mesh| {
            for other in &*others {
                let other = &other[t * share..][..mesh.len()];
                mesh.iter_mut().zip(other).for_each(|(to, from)| *to = *to + *from);
            }
            // What went beyond the end of a row is at its start.
            for row in mesh.chunks_exact_mut(row) {
                let (inside, beyond) = row.split_at_mut(n_z);
                inside.iter_mut().zip(beyond).for_each(|(to, from)| *to = *to + *from);
            }
        });
        let energies = evaluate == Evaluate::ForcesAndEnergies;
        let by_task = fourier.convolve(team, mesh, |[y, z], waves, sums: &mut Sums| {
            if energies {
                grid.add_waves([y, z], waves, sums);
            }
            let influence = &influence[(z * n_y + y) * n_x..][..n_x];
            waves.iter_mut().zip(influence).for_each(|(wave, influence)| {
                *wave = Complex::new(wave.re * *influence, wave.im * *influence)
            });
        });
        by_task.into_iter().for_each(|part| sums.join(&part));
        team.map(mesh.chunks_mut(share).collect(), |_, mesh| {
            mesh.chunks_exact_mut(row).for_each(|row| row.copy_within(..WIDTH, n_z));
        });
        let mesh = &mesh[..];
        team.map(parts, |_, Part { position, charge, force }| {
            level.run(Gather { grid, position, charge, mesh, force });
        });
        sums
    }
}

/// Where an atom is on the mesh: the point below along each edge, and the weights of those from there
/// on with their derivatives.
#[inline(always)]
fn place<S: Scalar, const ORDER: usize>(grid: &Grid, r: Vec3) -> ([usize; 3], [[[S; WIDTH]; 2]; 3]) {
    let s = grid.simbox.to_fractional(r);
    let (mut point, mut splines) = ([0; 3], [[[S::default(); WIDTH]; 2]; 3]);
    for d in 0..3 {
        let u = (s[d] - s[d].floor()) * grid.n[d] as f64;
        // Rounding may lead to the end itself, which is where the edge begins.
        point[d] = (u as usize).min(grid.n[d] - 1);
        splines[d] = weights::<S, ORDER>(S::from_f64(u - point[d] as f64), S::from_f64);
    }
    (point, splines)
}

/// A number that goes round.
#[inline(always)]
fn wrapped(k: usize, n: usize) -> usize {
    if k < n { k } else { k - n }
}

/// Spreads charges on a mesh that is cleared first.
struct Spread<'a, S> {
    grid: &'a Grid,
    position: &'a [Vec3],
    charge: &'a [f64],
    mesh: &'a mut [S],
}

impl<S: Scalar> Kernel for Spread<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Simd>(self) {
        match self.grid.order {
            4 => self.all::<4>(),
            5 => self.all::<5>(),
            _ => self.all::<6>(),
        }
    }
}

impl<S: Scalar> Spread<'_, S> {
    #[inline(always)]
    fn all<const ORDER: usize>(self) {
        let Spread { grid, position, charge, mesh } = self;
        let [n_x, n_y, n_z] = grid.n;
        let row = n_z + WIDTH;
        mesh.fill(S::default());
        for (r, q) in position.iter().zip(charge) {
            let (point, splines) = place::<S, ORDER>(grid, *r);
            let along = splines[2][0];
            for i in 0..ORDER {
                let plane = wrapped(point[0] + i, n_x) * n_y;
                let x = S::from_f64(*q) * splines[0][0][i];
                for j in 0..ORDER {
                    let start = (plane + wrapped(point[1] + j, n_y)) * row + point[2];
                    let weight = x * splines[1][0][j];
                    if let Some(points) = mesh[start..].first_chunk_mut::<WIDTH>() {
                        for k in 0..WIDTH {
                            points[k] = points[k] + weight * along[k];
                        }
                    }
                }
            }
        }
    }
}

/// Forces from the potential on a mesh.
struct Gather<'a, S> {
    grid: &'a Grid,
    position: &'a [Vec3],
    charge: &'a [f64],
    mesh: &'a [S],
    force: &'a mut [[S; 3]],
}

impl<S: Scalar> Kernel for Gather<'_, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Simd>(self) {
        match self.grid.order {
            4 => self.all::<4>(),
            5 => self.all::<5>(),
            _ => self.all::<6>(),
        }
    }
}

impl<S: Scalar> Gather<'_, S> {
    #[inline(always)]
    fn all<const ORDER: usize>(self) {
        let Gather { grid, position, charge, mesh, force } = self;
        let [n_x, n_y, n_z] = grid.n;
        let row = n_z + WIDTH;
        for ((r, q), force) in position.iter().zip(charge).zip(force) {
            let (point, splines) = place::<S, ORDER>(grid, *r);
            let mut slopes = [[S::default(); WIDTH]; 3];
            for i in 0..ORDER {
                let plane = wrapped(point[0] + i, n_x) * n_y;
                let [x, slope_x] = [splines[0][0][i], splines[0][1][i]];
                for j in 0..ORDER {
                    let start = (plane + wrapped(point[1] + j, n_y)) * row + point[2];
                    let [y, slope_y] = [splines[1][0][j], splines[1][1][j]];
                    let weights = [slope_x * y, x * slope_y, x * y];
                    if let Some(points) = mesh[start..].first_chunk::<WIDTH>() {
                        for d in 0..3 {
                            for k in 0..WIDTH {
                                slopes[d][k] = slopes[d][k] + weights[d] * points[k];
                            }
                        }
                    }
                }
            }
            let mut total = [0.0; 3];
            for d in 0..3 {
                let along = if d == 2 { &splines[2][1] } else { &splines[2][0] };
                let sum = slopes[d].iter().zip(along).fold(S::default(), |sum, (a, b)| sum + *a * *b);
                let slope = -q * grid.n[d] as f64 * sum.to_f64();
                for a in 0..3 {
                    total[a] += slope * grid.reciprocal[d][a];
                }
            }
            *force = total.map(S::from_f64);
        }
    }
}
