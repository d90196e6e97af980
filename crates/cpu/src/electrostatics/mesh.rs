//! Smooth particle-mesh Ewald (Essmann, Perera, Berkowitz, Darden, Lee and Pedersen, J. Chem. Phys.
//! 103 (1995) 8577): charges are spread on a mesh by B-splines, modes are found by Fourier transforms,
//! and forces are the exact derivatives of the energy that comes out.

use crate::blocks::Sums;
use crate::fourier::Fourier;
use crate::ranks::Ranks;
use crate::simd::{Kernel, Lanes, Level, MOST_LANES, Scalar, Simd};
use crate::threads::Team;
use bytemuck::{cast_slice, cast_slice_mut};
use jostle_core::{Evaluate, Result, SimBox, Vec3};
use jostle_fourier::Complex;
use jostle_potentials::Spectrum;
use jostle_potentials::electrostatics::mesh;
use jostle_potentials::electrostatics::reciprocal_space::{reciprocal, wave_vector};
use jostle_potentials::electrostatics::spline::{WIDTH, moduli, weights};
use jostle_transport::{Incoming, Outgoing};
use std::ops::Range;

/// The mesh of a box.
pub struct Mesh<S: Scalar> {
    grid: MeshGrid,
    /// Influence function, by which amplitudes are multiplied: by wave numbers along z, y, x.
    influence: Vec<S>,
    fourier: Fourier<S>,
    /// Meshes of the tasks; the mesh of the first task becomes their sum and then the potential. Rows go on
    /// beyond the end by the reach of a spline. Of tasks of other ranks there is only the part that this one adds
    /// up, but for the first.
    meshes: Vec<Vec<S>>,
    /// Tasks of this rank.
    own: Range<usize>,
}

/// Points of the mesh, and factors of its modes.
struct MeshGrid {
    simbox: SimBox,
    spectrum: Spectrum,
    order: usize,
    n: [usize; 3],
    reciprocal: [Vec3; 3],
    /// Factors that correct for the splines, by edge and wave number.
    moduli: [Vec<f64>; 3],
}

/// The atoms of a task.
pub struct MeshAtoms<'a, S> {
    /// Positions.
    pub position: &'a [Vec3],
    /// Charges times the root of Coulomb's constant.
    pub charge: &'a [f64],
    /// Forces, the result.
    pub force: &'a mut [[S; 3]],
}

impl MeshGrid {
    /// The wave vector of some wave numbers.
    fn wave(&self, numbers: [usize; 3]) -> Vec3 {
        let signed = |d: usize| {
            let (m, n) = (numbers[d] as f64, self.n[d] as f64);
            if 2.0 * m > n { m - n } else { m }
        };
        wave_vector([0, 1, 2].map(signed), self.reciprocal)
    }

    /// Influence function of a wave vector, and the virial's part along it.
    fn influence(&self, numbers: [usize; 3]) -> [f64; 2] {
        if numbers == [0; 3] {
            return [0.0; 2];
        }
        let k2: f64 = self.wave(numbers).iter().map(|x| x * x).sum();
        let [weight, along] = self.spectrum.weight(k2, self.simbox.volume());
        let moduli: f64 = (0..3).map(|d| self.moduli[d][numbers[d]]).product();
        [weight * moduli, along]
    }

    /// Adds energies and virials of all wave numbers along x.
    fn add_modes<S: Scalar>(&self, [y, z]: [usize; 2], modes: &[Complex<S>], sums: &mut Sums) {
        // Modes of all other planes stand for their opposites, too.
        let share = if z == 0 || 2 * z == self.n[2] { 0.5 } else { 1.0 };
        for (x, wave) in modes.iter().enumerate() {
            let square = wave.re.to_f64().powi(2) + wave.im.to_f64().powi(2);
            let [weight, along] = self.influence([x, y, z]);
            sums.add_mode(share * weight * square, along, self.wave([x, y, z]));
        }
    }
}

impl<S: Scalar> Mesh<S> {
    /// The mesh of a box, with points no further apart than `spacing`, for so many tasks, those of this rank among
    /// them.
    pub fn new(
        simbox: &SimBox,
        spectrum: Spectrum,
        order: usize,
        spacing: f64,
        (n_tasks, own): (usize, Range<usize>),
    ) -> Self {
        let n = mesh(simbox, order, spacing);
        let (reciprocal, moduli) = (reciprocal(simbox), n.map(|n| moduli(order, n)));
        let grid = MeshGrid { simbox: *simbox, spectrum, order, n, reciprocal, moduli };
        let mut influence = Vec::with_capacity(n[0] * n[1] * (n[2] / 2 + 1));
        for z in 0..n[2] / 2 + 1 {
            for y in 0..n[1] {
                influence.extend((0..n[0]).map(|x| S::from_f64(grid.influence([x, y, z])[0])));
            }
        }
        let row = n[2] + WIDTH;
        let whole = n[0] * n[1] * row;
        let part = slab(n, row, n_tasks, &own).len();
        let length = |task| if own.contains(&task) || task == 0 { whole } else { part };
        let meshes = (0..n_tasks).map(|task| vec![S::default(); length(task)]).collect();
        Mesh { grid, influence, fourier: Fourier::new(n, row, n_tasks), meshes, own }
    }

    /// Returns true if it is the mesh of this box, in so many tasks.
    pub fn fits(&self, simbox: &SimBox, n_tasks: usize) -> bool {
        self.grid.simbox == *simbox && self.meshes.len() == n_tasks
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        let mesh: usize = self.meshes.iter().map(Vec::len).sum();
        (mesh + 3 * self.influence.len()) * size_of::<S>()
    }

    /// Finds the reciprocal-space forces on the atoms of this rank's tasks; energy and virial if they are asked for.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn evaluate(
        &mut self,
        (team, level, ranks): (&Team, Level, Option<&Ranks>),
        mut parts: Vec<MeshAtoms<'_, S>>,
        evaluate: Evaluate,
    ) -> Result<Sums> {
        let parts: Vec<_> = parts.drain(self.own.clone()).collect();
        let Mesh { grid, influence, fourier, meshes, own } = self;
        let [n_x, n_y, n_z] = grid.n;
        let row = n_z + WIDTH;
        team.map(parts.iter().zip(&mut meshes[own.clone()]).collect(), |_, (part, mesh)| {
            level.run(Spread { grid, position: part.position, charge: part.charge, mesh });
        });
        let n_tasks = meshes.len();
        let slab_of = |tasks: &Range<usize>| slab(grid.n, row, n_tasks, tasks);
        if let Some(ranks) = ranks {
            exchange_slabs(ranks, meshes, slab_of)?;
        }
        let mut sums = Sums::default();
        let Some((mesh, others)) = meshes.split_first_mut() else { return Ok(sums) };
        let share = n_x.div_ceil(n_tasks) * n_y * row;
        let here = slab_of(own);
        team.map(mesh[here.clone()].chunks_mut(share).collect(), |t, mesh| {
            for (task, other) in (1..).zip(&*others) {
                let begin = t * share + if own.contains(&task) { here.start } else { 0 };
                let other = &other[begin..][..mesh.len()];
                mesh.iter_mut().zip(other).for_each(|(to, from)| *to = *to + *from);
            }
            // Points beyond the end of a row are added at its start.
            for row in mesh.chunks_exact_mut(row) {
                let (inside, beyond) = row.split_at_mut(n_z);
                inside.iter_mut().zip(beyond).for_each(|(to, from)| *to = *to + *from);
            }
        });
        if let Some(ranks) = ranks {
            let parts: Vec<_> = ranks.tasks.iter().map(slab_of).collect();
            ranks.communicator.all_gather(mesh, &parts)?;
        }
        let energies = evaluate == Evaluate::ForcesAndEnergies;
        let by_task = fourier.convolve(team, mesh, |[y, z], modes, sums: &mut Sums| {
            if energies {
                grid.add_modes([y, z], modes, sums);
            }
            let influence = &influence[(z * n_y + y) * n_x..][..n_x];
            modes.iter_mut().zip(influence).for_each(|(wave, influence)| {
                *wave = Complex::new(wave.re * *influence, wave.im * *influence)
            });
        });
        by_task.into_iter().for_each(|part| sums.join(&part));
        team.map(mesh.chunks_mut(share).collect(), |_, mesh| {
            mesh.chunks_exact_mut(row).for_each(|row| row.copy_within(..WIDTH, n_z));
        });
        let mesh = &mesh[..];
        team.map(parts, |_, MeshAtoms { position, charge, force }| {
            level.run(Gather { grid, position, charge, mesh, force });
        });
        Ok(sums)
    }
}

/// Part of a mesh that the ranks of some tasks add up.
fn slab([n_x, n_y, _]: [usize; 3], row: usize, n_tasks: usize, tasks: &Range<usize>) -> Range<usize> {
    let planes = |task: usize| (task * n_x.div_ceil(n_tasks.max(1))).min(n_x);
    planes(tasks.start) * n_y * row..planes(tasks.end) * n_y * row
}

/// Sends each rank its part of the meshes of this rank's tasks, and gets this rank's part of those of others.
fn exchange_slabs<S: Scalar>(
    ranks: &Ranks,
    meshes: &mut [Vec<S>],
    slab_of: impl Fn(&Range<usize>) -> Range<usize>,
) -> Result<()> {
    let own = ranks.own();
    let here = slab_of(&own);
    let (mut outgoing, mut incoming) = (Vec::new(), Vec::new());
    let mut meshes = meshes.iter_mut().enumerate();
    for (from, tasks) in ranks.tasks.iter().enumerate() {
        for (task, mesh) in meshes.by_ref().take(tasks.len()) {
            if from == ranks.communicator.rank() {
                let mesh: &[S] = mesh;
                let to_others = ranks.communicator.others().map(|to| (to, &mesh[slab_of(&ranks.tasks[to])]));
                let to_others = to_others.filter(|(_, part)| !part.is_empty());
                outgoing.extend(to_others.map(|(to, part)| Outgoing { to, bytes: cast_slice(part) }));
            } else if !here.is_empty() {
                let part = if task == 0 { &mut mesh[here.clone()] } else { &mut mesh[..] };
                incoming.push(Incoming { from, bytes: cast_slice_mut(part) });
            }
        }
    }
    ranks.communicator.exchange(&outgoing, &mut incoming)
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

    /// Finds places and splines of at most as many atoms as `L` has lanes.
    #[inline(always)]
    fn find<L, D, const ORDER: usize>(&mut self, grid: &MeshGrid, position: &[Vec3])
    where
        L: Lanes<Scalar = S>,
        D: Lanes<Scalar = f64>,
    {
        let mut beyond = [[S::default(); MOST]; 3];
        for (start, position) in position.chunks(D::WIDTH).enumerate() {
            let mut some = [[0.0; 3]; MOST_LANES];
            let r = if position.len() == D::WIDTH {
                D::load_vectors(position)
            } else {
                some[..position.len()].copy_from_slice(position);
                D::load_vectors(&some)
            };
            let origin = grid.simbox.origin().map(D::lit);
            let r = [r[0] - origin[0], r[1] - origin[1], r[2] - origin[2]];
            for d in 0..3 {
                let [x, y, z] = grid.reciprocal[d].map(D::lit);
                let s = x * r[0] + y * r[1] + z * r[2];
                let n = D::lit(grid.n[d] as f64);
                let u = (s - floor(s)) * n;
                // Rounding may lead to the end itself, the image of the beginning.
                let point = floor(u).min(n - D::lit(1.0));
                let (mut points, mut rest) = ([0.0; MOST_LANES], [0.0; MOST_LANES]);
                point.store(&mut points);
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
    }

    /// Gradient of a potential on the mesh at an atom, in parts to be summed, by edge in points.
    #[inline(always)]
    fn slopes<L: Lanes<Scalar = S>, const ORDER: usize>(
        &self,
        grid: &MeshGrid,
        mesh: &[S],
        atom: usize,
    ) -> [L; 3] {
        let (planes, rows) = rows::<ORDER>(grid, self.point[atom]);
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
fn rows<const ORDER: usize>(grid: &MeshGrid, point: [usize; 3]) -> ([usize; ORDER], [usize; ORDER]) {
    let [n_x, n_y, n_z] = grid.n;
    let row = n_z + WIDTH;
    let planes = std::array::from_fn(|i| wrapped(point[0] + i, n_x) * n_y * row + point[2]);
    (planes, std::array::from_fn(|j| wrapped(point[1] + j, n_y) * row))
}

/// Wraps a number below 2 n into 0 to n.
#[inline(always)]
fn wrapped(k: usize, n: usize) -> usize {
    if k < n { k } else { k - n }
}

/// Spreads charges on a mesh that is cleared first.
struct Spread<'a, S> {
    grid: &'a MeshGrid,
    position: &'a [Vec3],
    charge: &'a [f64],
    mesh: &'a mut [S],
}

impl<S: Scalar> Kernel for Spread<'_, S> {
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

impl<S: Scalar> Spread<'_, S> {
    #[inline(always)]
    fn all<L: Lanes<Scalar = S>, D: Lanes<Scalar = f64>, const ORDER: usize>(self) {
        let Spread { grid, position, charge, mesh } = self;
        mesh.fill(S::default());
        let mut splines = Splines::new();
        for (position, charge) in position.chunks(L::WIDTH).zip(charge.chunks(L::WIDTH)) {
            splines.find::<L, D, ORDER>(grid, position);
            for (atom, q) in charge.iter().enumerate() {
                let (planes, rows) = rows::<ORDER>(grid, splines.point[atom]);
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
    }
}

/// Forces from the potential on a mesh.
struct Gather<'a, S> {
    grid: &'a MeshGrid,
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
            4 => self.all::<S::Narrow<I>, I::F64, 4>(),
            5 => self.all::<S::Narrow<I>, I::F64, 5>(),
            _ => self.all::<S::Narrow<I>, I::F64, 6>(),
        }
    }
}

impl<S: Scalar> Gather<'_, S> {
    #[inline(always)]
    fn all<L: Lanes<Scalar = S>, D: Lanes<Scalar = f64>, const ORDER: usize>(self) {
        let Gather { grid, position, charge, mesh, force } = self;
        let mut splines = Splines::new();
        // Registers to be summed, by edge and atom.
        let mut slopes = [[S::default(); MOST * MOST]; 3];
        let atoms = position.chunks(L::WIDTH).zip(charge.chunks(L::WIDTH)).zip(force.chunks_mut(L::WIDTH));
        for ((position, charge), force) in atoms {
            splines.find::<L, D, ORDER>(grid, position);
            for atom in 0..charge.len() {
                let along = splines.slopes::<L, ORDER>(grid, mesh, atom);
                for d in 0..3 {
                    along[d].store(&mut slopes[d][atom * L::WIDTH..]);
                }
            }
            let mut q = [S::default(); MOST];
            q.iter_mut().zip(charge).for_each(|(to, q)| *to = S::from_f64(*q));
            let q = L::load(&q);
            let mut total = [L::lit(0.0); 3];
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
                let mut some = [[S::default(); 3]; MOST];
                L::store_vectors(total, &mut some);
                force.copy_from_slice(&some[..force.len()]);
            }
        }
    }
}
