//! A mesh over ranks with a domain each. A rank spreads its charges on the patch of the mesh that its atoms reach;
//! patches are added to slabs, planes of the mesh that some ranks own. A slab is transformed along two edges and
//! the modes change hands (a transpose: every owner of a slab sends a part to every other), so that each owner has
//! columns along the first edge. The potential goes back the same way, and forces are found in the patch.
//!
//! - Advantages: a rank has the mesh around its atoms and one slab; transforms are divided.
//! - Disadvantages: no more ranks can transform than there are planes, and with each evaluation every owner of a slab
//!   sends two messages to every other.

use super::mesh_grid::MeshGrid;
use super::splines::{Gather, MeshAtoms, Patch, Spread};
use crate::blocks::Sums;
use crate::domains::Domains;
use crate::fourier::{Fourier, MeshPart};
use crate::simd::{Level, Scalar};
use crate::threads::Team;
use jostle_core::{Error, Evaluate, Result, SimBox, Vec3};
use jostle_fourier::Complex;
use jostle_potentials::Spectrum;
use jostle_potentials::electrostatics::spline::WIDTH;
use std::ops::Range;

/// Fewest planes of a slab: with fewer, messages cost more than the transforms that they divide.
const FEWEST_PLANES: usize = 2;

/// The mesh of a box as one of the ranks has it.
pub(super) struct SlabMesh<S: Scalar> {
    grid: MeshGrid,
    /// Planes and columns of every rank; none for ranks without a slab.
    parts: Vec<MeshPart>,
    /// Patches of all ranks.
    patches: Vec<Patch>,
    /// Influence function of this rank's columns.
    influence: Vec<S>,
    fourier: Fourier<S>,
    /// This rank's planes.
    slab: Vec<S>,
    /// Patches of the tasks; that of the first task becomes their sum and then the potential.
    meshes: Vec<Vec<S>>,
}

impl<S: Scalar> SlabMesh<S> {
    /// The mesh of a box, with points no further apart than `spacing`.
    pub fn new(
        (simbox, spectrum): (&SimBox, Spectrum),
        (order, spacing): (usize, f64),
        domains: &Domains,
        n_tasks: usize,
    ) -> Self {
        let grid = MeshGrid::new(simbox, spectrum, order, spacing);
        let parts = parts_of(domains.communicator.size(), grid.n[0], grid.n_columns());
        let own = parts[domains.rank()].clone();
        let row = grid.n[2] + WIDTH;
        SlabMesh {
            influence: grid.influence_of(own.columns.clone()),
            slab: vec![S::default(); own.planes.len() * grid.n[1] * row],
            fourier: Fourier::of_part(grid.n, row, n_tasks, own),
            meshes: vec![Vec::new(); n_tasks],
            patches: Vec::new(),
            parts,
            grid,
        }
    }

    /// Returns true if it is the mesh of this box.
    pub fn fits(&self, simbox: &SimBox) -> bool {
        self.grid.simbox == *simbox
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        let meshes: usize = self.meshes.iter().map(Vec::len).sum();
        (meshes + self.slab.len() + self.influence.len()) * size_of::<S>() + self.fourier.bytes()
    }

    /// Tells all ranks the patches of all: that of this one is for atoms within these fractional coordinates. Along axes
    /// that are not divided a patch is as long as the mesh.
    ///
    /// # Errors
    /// If another rank has failed.
    pub fn share_patches(&mut self, [low, high]: [Vec3; 2], domains: &Domains) -> Result<()> {
        let mut own = Patch::whole(self.grid.n);
        let divided = domains.grid.divided();
        for k in 0..3 {
            let n = self.grid.n[k];
            let [first, last] = [low[k], high[k]].map(|s| (s * n as f64).floor());
            let length = last - first + self.grid.order as f64;
            match length < n as f64 {
                true if divided[k] => {
                    own.begin[k] = first.rem_euclid(n as f64) as usize % n;
                    own.n[k] = length.max(0.0) as usize;
                }
                // Not a number, too.
                _ => {}
            }
        }
        let numbers = own.begin.into_iter().chain(own.n).map(|n| n as u64);
        let all = domains.communicator.gather_equal(&numbers.collect::<Vec<u64>>())?;
        let patch = |numbers: &[u64]| {
            let three = |from: usize| [0, 1, 2].map(|k| numbers[from + k] as usize);
            Patch { begin: three(0), n: three(3) }
        };
        self.patches = all.chunks_exact(6).map(patch).collect();
        self.meshes.iter_mut().for_each(|mesh| mesh.resize(own.len(), S::default()));
        Ok(())
    }

    /// Finds the reciprocal-space forces on the atoms of this rank; its part of energy and virial if they are asked
    /// for.
    ///
    /// # Errors
    /// If another rank has failed, or an atom is where it should not be.
    pub fn evaluate(
        &mut self,
        (team, level, domains): (&Team, Level, &Domains),
        parts: Vec<MeshAtoms<'_, S>>,
        evaluate: Evaluate,
    ) -> Result<Sums> {
        let spread = self.spread((team, level), domains.rank(), &parts);
        self.add_patches(domains)?;
        self.fourier.forward(team, &self.slab);
        self.turn(domains, Direction::ToColumns)?;
        let sums = self.change_modes(team, evaluate);
        self.turn(domains, Direction::ToPlanes)?;
        self.fourier.backward(team, &mut self.slab);
        self.fill_patches(domains)?;
        let (grid, patch, mesh) = (&self.grid, &self.patches[domains.rank()], &self.meshes[0][..]);
        team.map(parts, |_, MeshAtoms { position, charge, force }| {
            level.run(Gather { grid, patch, position, charge, mesh, force });
        });
        // After the last message, so that no rank waits for this one.
        spread.map(|()| sums)
    }

    /// Spreads charges; the patch of the first task has the sum then.
    fn spread(
        &mut self,
        (team, level): (&Team, Level),
        rank: usize,
        parts: &[MeshAtoms<'_, S>],
    ) -> Result<()> {
        let (grid, patch) = (&self.grid, &self.patches[rank]);
        let farthest = team.map(parts.iter().zip(&mut self.meshes).collect(), |_, (part, mesh)| {
            level.run(Spread { grid, patch, position: part.position, charge: part.charge, mesh })
        });
        let Some((mesh, others)) = self.meshes.split_first_mut() else { return Ok(()) };
        let (row, is_whole) = (patch.row(), patch.n[2] == grid.n[2]);
        let share = (patch.n[0] * patch.n[1]).div_ceil(team.size()).max(1) * row;
        team.map(mesh.chunks_mut(share).collect(), |t, mesh| {
            for other in &*others {
                let other = &other[t * share..][..mesh.len()];
                mesh.iter_mut().zip(other).for_each(|(to, from)| *to = *to + *from);
            }
            for row in mesh.chunks_exact_mut(row).filter(|_| is_whole) {
                // Points beyond the end of a row are added at its start.
                let (inside, beyond) = row.split_at_mut(patch.n[2]);
                inside.iter_mut().zip(beyond).for_each(|(to, from)| *to = *to + *from);
            }
        });
        let is_out = |k: usize| {
            let reach = if patch.n[k] == grid.n[k] { 0 } else { grid.order - 1 };
            farthest.iter().any(|points| points[k] + reach as f64 >= patch.n[k] as f64)
        };
        match (0..3).any(|k| patch.n[k] > 0 && is_out(k)) {
            true => Err(Error::simulation("an atom is outside of its rank's part of the mesh")
                .hint("this is a bug in Jostle")),
            false => Ok(()),
        }
    }

    /// Adds the patches of all ranks to the slabs.
    fn add_patches(&mut self, domains: &Domains) -> Result<()> {
        let (own, patch) = (domains.rank(), &self.patches[domains.rank()]);
        let parts = || self.parts.iter().enumerate();
        let sent = parts().map(|(to, part)| {
            let mut numbers = Vec::with_capacity(self.count(own, to));
            for [place, _] in rows_of(patch, self.grid.n, &part.planes) {
                numbers.extend_from_slice(&self.meshes[0][place * patch.row()..][..patch.n[2]]);
            }
            (to, numbers)
        });
        let sent = sent.collect();
        let expected: Vec<_> = parts().map(|(from, _)| (from, self.count(from, own))).collect();
        let received = domains.swap(sent, &expected)?;
        let (n, row, planes) = (self.grid.n, self.grid.n[2] + WIDTH, self.parts[own].planes.clone());
        self.slab.fill(S::default());
        for (patch, numbers) in self.patches.iter().zip(received).filter(|(_, numbers)| !numbers.is_empty()) {
            let rows = rows_of(patch, n, &planes).map(|[_, at]| at);
            for (at, numbers) in rows.zip(numbers.chunks_exact(patch.n[2])) {
                let to = &mut self.slab[at * row..][..n[2]];
                let (first, beyond) = numbers.split_at(patch.n[2].min(n[2] - patch.begin[2]));
                let add = |(to, from): (&mut S, &S)| *to = *to + *from;
                to[patch.begin[2]..].iter_mut().zip(first).for_each(add);
                to.iter_mut().zip(beyond).for_each(add);
            }
        }
        Ok(())
    }

    /// Fills patches with the potential of the slabs.
    fn fill_patches(&mut self, domains: &Domains) -> Result<()> {
        let own = domains.rank();
        let (n, row, planes) = (self.grid.n, self.grid.n[2] + WIDTH, &self.parts[own].planes);
        let sent = self.patches.iter().enumerate().map(|(to, patch)| {
            let mut numbers = Vec::with_capacity(self.count(to, own));
            for [_, at] in rows_of(patch, n, planes) {
                let from = &self.slab[at * row..][..n[2]];
                let first = patch.n[2].min(n[2] - patch.begin[2]);
                numbers.extend_from_slice(&from[patch.begin[2]..][..first]);
                numbers.extend_from_slice(&from[..patch.n[2] - first]);
            }
            (to, numbers)
        });
        let sent = sent.collect();
        let expected: Vec<_> = (0..self.parts.len()).map(|from| (from, self.count(own, from))).collect();
        let received = domains.swap(sent, &expected)?;
        let patch = self.patches[own];
        for (part, numbers) in self.parts.iter().zip(received).filter(|(_, numbers)| !numbers.is_empty()) {
            let rows = rows_of(&patch, n, &part.planes).map(|[place, _]| place);
            for (place, numbers) in rows.zip(numbers.chunks_exact(patch.n[2])) {
                let to = &mut self.meshes[0][place * patch.row()..][..patch.row()];
                to[..patch.n[2]].copy_from_slice(numbers);
                if patch.n[2] == n[2] {
                    to.copy_within(..WIDTH, n[2]);
                }
            }
        }
        Ok(())
    }

    /// Numbers of a message about the patch of one rank and the slab of another.
    fn count(&self, patch: usize, slab: usize) -> usize {
        let ([x, ..], [n_x, n_y, n_z]) = (self.patches[patch].begin, self.patches[patch].n);
        let planes = (x..x + n_x).filter(|x| self.parts[slab].planes.contains(&(x % self.grid.n[0])));
        planes.count() * n_y * n_z
    }

    /// Gives modes of planes to the ranks that have their columns, or those of columns to the ranks that have their
    /// planes.
    fn turn(&mut self, domains: &Domains, direction: Direction) -> Result<()> {
        let own = self.parts[domains.rank()].clone();
        if own.planes.len() == self.grid.n[0] || own.planes.is_empty() {
            return Ok(());
        }
        let parts = || self.parts.iter().enumerate();
        let sent = parts().map(|(to, part)| match direction {
            Direction::ToColumns => (to, self.fourier.columns_for(&part.columns)),
            Direction::ToPlanes => (to, self.fourier.planes_for(&part.planes)),
        });
        let expected = parts().map(|(from, part)| match direction {
            Direction::ToColumns => (from, 2 * part.planes.len() * own.columns.len()),
            Direction::ToPlanes => (from, 2 * own.planes.len() * part.columns.len()),
        });
        let (sent, expected) = (sent.collect(), expected.collect::<Vec<_>>());
        let received = domains.swap(sent, &expected)?;
        for (part, numbers) in self.parts.iter().zip(received) {
            match direction {
                Direction::ToColumns => self.fourier.take_columns(&part.planes, &numbers),
                Direction::ToPlanes => self.fourier.take_planes(&part.columns, &numbers),
            }
        }
        Ok(())
    }

    /// Multiplies modes by the influence function; energy and virial of this rank's columns if they are asked for.
    fn change_modes(&mut self, team: &Team, evaluate: Evaluate) -> Sums {
        let SlabMesh { grid, influence, fourier, .. } = self;
        let first = fourier.first_column();
        let ([n_x, n_y, _], energies) = (grid.n, evaluate == Evaluate::ForcesAndEnergies);
        let by_task = fourier.change_columns(team, |[y, z], modes, sums: &mut Sums| {
            if energies {
                grid.add_modes([y, z], modes, sums);
            }
            let influence = &influence[(z * n_y + y - first) * n_x..][..n_x];
            modes.iter_mut().zip(influence).for_each(|(wave, influence)| {
                *wave = Complex::new(wave.re * *influence, wave.im * *influence)
            });
        });
        let mut sums = Sums::default();
        by_task.iter().for_each(|part| sums.join(part));
        sums
    }
}

/// Way of modes between ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Direction {
    ToColumns,
    ToPlanes,
}

/// Rows of a patch in some planes: their numbers in the patch, and among the rows of these planes.
fn rows_of(patch: &Patch, n: [usize; 3], planes: &Range<usize>) -> impl Iterator<Item = [usize; 2]> {
    let ([x, y, _], [n_x, n_y, _]) = (patch.begin, patch.n);
    let (first, end) = (planes.start, planes.end);
    let along_x = (0..n_x).map(move |i| (i, (x + i) % n[0]));
    let here = along_x.filter(move |(_, x)| (first..end).contains(x)).map(move |(i, x)| (i, x - first));
    here.flat_map(move |(i, plane)| (0..n_y).map(move |j| [i * n_y + j, plane * n[1] + (y + j) % n[1]]))
}

/// Planes and columns of every rank: slabs are given to ranks at equal intervals.
fn parts_of(size: usize, n_planes: usize, n_columns: usize) -> Vec<MeshPart> {
    let n_slabs = size.min(n_planes / FEWEST_PLANES).max(1);
    let part = |rank: usize| {
        let [slab, next] = [rank, rank + 1].map(|rank| rank * n_slabs / size);
        let of = |n: usize| slab * n / n_slabs..next * n / n_slabs;
        MeshPart { planes: of(n_planes), columns: of(n_columns) }
    };
    (0..size).map(part).collect()
}
