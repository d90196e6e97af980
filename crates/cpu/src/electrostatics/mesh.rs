//! Smooth particle-mesh Ewald (Essmann, Perera, Berkowitz, Darden, Lee and Pedersen, J. Chem. Phys.
//! 103 (1995) 8577): charges are spread on a mesh by B-splines, modes are found by Fourier transforms,
//! and forces are the exact derivatives of the energy that comes out.

use super::mesh_grid::MeshGrid;
use super::splines::{Gather, MeshAtoms, Patch, Spread};
use crate::blocks::Sums;
use crate::fourier::Fourier;
use crate::ranks::Ranks;
use crate::simd::{Level, Scalar};
use crate::threads::Team;
use bytemuck::{cast_slice, cast_slice_mut};
use jostle_core::{Evaluate, Result, SimBox};
use jostle_fourier::Complex;
use jostle_potentials::Spectrum;
use jostle_potentials::electrostatics::spline::WIDTH;
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
        let grid = MeshGrid::new(simbox, spectrum, order, spacing);
        let (n, influence) = (grid.n, grid.influence_of(0..grid.n_columns()));
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
    pub(super) fn evaluate(
        &mut self,
        (team, level, ranks): (&Team, Level, Option<&Ranks>),
        mut parts: Vec<MeshAtoms<'_, S>>,
        evaluate: Evaluate,
    ) -> Result<Sums> {
        let parts: Vec<_> = parts.drain(self.own.clone()).collect();
        let Mesh { grid, influence, fourier, meshes, own } = self;
        let [n_x, n_y, n_z] = grid.n;
        let (patch, row) = (&Patch::whole(grid.n), n_z + WIDTH);
        team.map(parts.iter().zip(&mut meshes[own.clone()]).collect(), |_, (part, mesh)| {
            level.run(Spread { grid, patch, position: part.position, charge: part.charge, mesh });
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
            level.run(Gather { grid, patch, position, charge, mesh, force });
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
