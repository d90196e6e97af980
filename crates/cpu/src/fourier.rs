//! Three-dimensional Fourier transforms of real meshes, spread over a team of threads.

use crate::threads::Team;
use jostle_fourier::{Complex, Planned, Plans};
use std::ops::Range;

/// Number of columns that are transformed together along x.
const BLOCK: usize = 32;

/// Transforms of a mesh of a fixed size, with working space.
pub struct Fourier<S: Planned> {
    n: [usize; 3],
    /// Length of a row of the mesh along z; numbers beyond `n[2]` are left alone.
    row: usize,
    plans: Plans<S>,
    /// Amplitudes by x, wave number along z, and y or its wave number.
    modes: Vec<Complex<S>>,
    buffers: Vec<TransformBuffers<S>>,
}

/// Working space of one task.
struct TransformBuffers<S> {
    line: Vec<S>,
    lines: Vec<Complex<S>>,
    columns: Vec<Complex<S>>,
    scratch: Vec<Complex<S>>,
}

impl<S: Planned> Fourier<S> {
    /// Transforms of meshes of `n` points with rows of `row` numbers, in so many tasks.
    pub fn new(n: [usize; 3], row: usize, n_tasks: usize) -> Self {
        let plans = S::plan(n);
        let zero = Complex::new(S::default(), S::default());
        let modes_z = n[2] / 2 + 1;
        let buffer = || TransformBuffers {
            line: vec![S::default(); n[2]],
            lines: vec![zero; n[1] * modes_z],
            columns: vec![zero; BLOCK * n[0]],
            scratch: vec![zero; plans.scratch],
        };
        let buffers = (0..n_tasks).map(|_| buffer()).collect();
        let modes = vec![zero; n[0] * n[1] * modes_z];
        Fourier { n, row, plans, modes, buffers }
    }

    /// Transforms a mesh, lets `change` change the amplitudes, and transforms it back; neither way is
    /// normalised. `change` is called with the wave numbers along y and z, from 0, and the amplitudes
    /// of all along x; a task has a sum of its own, all of which are returned.
    pub fn convolve<R: Default + Send>(
        &mut self,
        team: &Team,
        mesh: &mut [S],
        change: impl Fn([usize; 2], &mut [Complex<S>], &mut R) + Sync,
    ) -> Vec<R> {
        let [n_x, n_y, n_z] = self.n;
        let (modes_z, row) = (n_z / 2 + 1, self.row);
        let (plane, n_tasks) = (n_y * modes_z, self.buffers.len());
        let per_task = n_x.div_ceil(n_tasks);
        let Fourier { plans, modes, buffers, .. } = self;
        let Plans { forward_z, backward_z, along_y, along_x, .. } = &*plans;

        let planes = modes.chunks_mut(per_task * plane).zip(mesh.chunks(per_task * n_y * row));
        team.map(planes.zip(buffers.iter_mut()).collect(), |_, ((modes, mesh), buffer)| {
            for (modes, mesh) in modes.chunks_exact_mut(plane).zip(mesh.chunks_exact(n_y * row)) {
                for (mesh, lines) in mesh.chunks_exact(row).zip(buffer.lines.chunks_exact_mut(modes_z)) {
                    buffer.line.copy_from_slice(&mesh[..n_z]);
                    forward_z(&mut buffer.line, lines, &mut buffer.scratch);
                }
                transpose(&buffer.lines, modes, modes_z);
                along_y[0](modes, &mut buffer.scratch);
            }
        });

        let ranges: Vec<Range<usize>> =
            (0..n_tasks).map(|t| t * plane / n_tasks..(t + 1) * plane / n_tasks).collect();
        let mut parts: Vec<Vec<&mut [Complex<S>]>> = ranges.iter().map(|_| Vec::with_capacity(n_x)).collect();
        for mut modes in modes.chunks_exact_mut(plane) {
            for (part, range) in parts.iter_mut().zip(&ranges) {
                part.push(modes.split_off_mut(..range.len()).unwrap_or_default());
            }
        }
        let tasks = parts.into_iter().zip(&ranges).zip(buffers.iter_mut());
        let sums = team.map(tasks.collect(), |_, ((mut part, range), buffer)| {
            let mut sum = R::default();
            let mut start = 0;
            while start < range.len() {
                let block = BLOCK.min(range.len() - start);
                let columns = &mut buffer.columns[..block * n_x];
                for (x, part) in part.iter().enumerate() {
                    for (c, mode) in part[start..start + block].iter().enumerate() {
                        columns[c * n_x + x] = *mode;
                    }
                }
                along_x[0](columns, &mut buffer.scratch);
                for (c, column) in columns.chunks_exact_mut(n_x).enumerate() {
                    let place = range.start + start + c;
                    change([place % n_y, place / n_y], column, &mut sum);
                }
                along_x[1](columns, &mut buffer.scratch);
                for (x, part) in part.iter_mut().enumerate() {
                    for (c, mode) in part[start..start + block].iter_mut().enumerate() {
                        *mode = columns[c * n_x + x];
                    }
                }
                start += block;
            }
            sum
        });

        let planes = modes.chunks_mut(per_task * plane).zip(mesh.chunks_mut(per_task * n_y * row));
        team.map(planes.zip(buffers.iter_mut()).collect(), |_, ((modes, mesh), buffer)| {
            for (modes, mesh) in modes.chunks_exact_mut(plane).zip(mesh.chunks_exact_mut(n_y * row)) {
                along_y[1](modes, &mut buffer.scratch);
                transpose(modes, &mut buffer.lines, n_y);
                for (mesh, lines) in mesh.chunks_exact_mut(row).zip(buffer.lines.chunks_exact_mut(modes_z)) {
                    // Rounding leaves an imaginary part of numbers that are real.
                    lines[0].im = S::default();
                    lines[modes_z - 1].im = S::default();
                    backward_z(lines, &mut mesh[..n_z], &mut buffer.scratch);
                }
            }
        });
        sums
    }
}

/// Rows of `width` numbers become columns.
fn transpose<T: Copy>(from: &[T], to: &mut [T], width: usize) {
    let height = from.len() / width;
    // Transposition by squares, so that both sides stay in the cache.
    for first in (0..width).step_by(8) {
        for (y, row) in from.chunks_exact(width).enumerate() {
            for x in first..width.min(first + 8) {
                to[x * height + y] = row[x];
            }
        }
    }
}
