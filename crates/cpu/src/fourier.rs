//! Three-dimensional Fourier transforms of real meshes, spread over a team of threads.

use crate::threads::Team;
use jostle_fourier::{Complex, Planned, Plans};
use std::ops::Range;

/// Number of columns that are transformed together along x.
const BLOCK: usize = 32;

/// Transforms of a mesh of a fixed size, with working space. Where several ranks have a part each, one of them has
/// some planes of the mesh along z and y, and some columns along x for all wave numbers along these.
pub struct Fourier<S: Planned> {
    n: [usize; 3],
    /// Length of a row of the mesh along z; numbers beyond `n[2]` are left alone.
    row: usize,
    plans: Plans<S>,
    /// Planes and columns of this rank.
    part: MeshPart,
    /// Amplitudes by x (of this rank's planes), wave number along z, and y or its wave number.
    modes: Vec<Complex<S>>,
    /// Amplitudes of all planes by x and column (of this rank's columns); empty where all planes are this rank's.
    columns: Vec<Complex<S>>,
    buffers: Vec<TransformBuffers<S>>,
}

/// Planes and columns of a rank.
#[derive(Debug, Clone, PartialEq)]
pub struct MeshPart {
    /// Planes, by point along x.
    pub planes: Range<usize>,
    /// Columns: wave numbers along z and y, the latter running faster.
    pub columns: Range<usize>,
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
        let whole = MeshPart { planes: 0..n[0], columns: 0..n[1] * (n[2] / 2 + 1) };
        Self::of_part(n, row, n_tasks, whole)
    }

    /// The part of a rank in the transforms of meshes of `n` points.
    pub fn of_part(n: [usize; 3], row: usize, n_tasks: usize, part: MeshPart) -> Self {
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
        let modes = vec![zero; part.planes.len() * n[1] * modes_z];
        let has_all = part.planes.len() == n[0];
        let columns = vec![zero; if has_all { 0 } else { n[0] * part.columns.len() }];
        Fourier { n, row, plans, part, modes, columns, buffers }
    }

    /// Number of the first column of this rank.
    pub fn first_column(&self) -> usize {
        self.part.columns.start
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        (self.modes.len() + self.columns.len()) * size_of::<Complex<S>>()
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
        self.forward(team, mesh);
        let sums = self.change_columns(team, change);
        self.backward(team, mesh);
        sums
    }

    /// Transforms planes along z and y.
    pub fn forward(&mut self, team: &Team, mesh: &[S]) {
        let ([_, n_y, n_z], row) = (self.n, self.row);
        let modes_z = n_z / 2 + 1;
        let (plane, n_tasks) = (n_y * modes_z, self.buffers.len());
        let per_task = self.part.planes.len().div_ceil(n_tasks).max(1);
        let Fourier { plans, modes, buffers, .. } = self;
        let Plans { forward_z, along_y, .. } = &*plans;
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
    }

    /// Transforms columns along x, lets `change` change the amplitudes, and transforms them back.
    pub fn change_columns<R: Default + Send>(
        &mut self,
        team: &Team,
        change: impl Fn([usize; 2], &mut [Complex<S>], &mut R) + Sync,
    ) -> Vec<R> {
        let ([n_x, n_y, _], n_tasks) = (self.n, self.buffers.len());
        let Fourier { plans, part, modes, columns, buffers, .. } = self;
        let along_x = &plans.along_x;
        let (first, width) = (part.columns.start, part.columns.len());
        if width == 0 {
            return Vec::new();
        }
        let modes = if columns.is_empty() { modes } else { columns };
        let ranges: Vec<Range<usize>> =
            (0..n_tasks).map(|t| t * width / n_tasks..(t + 1) * width / n_tasks).collect();
        let mut parts: Vec<Vec<&mut [Complex<S>]>> = ranges.iter().map(|_| Vec::with_capacity(n_x)).collect();
        for mut modes in modes.chunks_exact_mut(width) {
            for (part, range) in parts.iter_mut().zip(&ranges) {
                part.push(modes.split_off_mut(..range.len()).unwrap_or_default());
            }
        }
        let tasks = parts.into_iter().zip(&ranges).zip(buffers.iter_mut());
        team.map(tasks.collect(), |_, ((mut part, range), buffer)| {
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
                    let place = first + range.start + start + c;
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
        })
    }

    /// Transforms planes back along y and z.
    pub fn backward(&mut self, team: &Team, mesh: &mut [S]) {
        let ([_, n_y, n_z], row) = (self.n, self.row);
        let modes_z = n_z / 2 + 1;
        let (plane, n_tasks) = (n_y * modes_z, self.buffers.len());
        let per_task = self.part.planes.len().div_ceil(n_tasks).max(1);
        let Fourier { plans, modes, buffers, .. } = self;
        let Plans { backward_z, along_y, .. } = &*plans;
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
    }

    /// Amplitudes of this rank's planes for a rank with these columns, real and imaginary parts in turn.
    pub fn columns_for(&self, columns: &Range<usize>) -> Vec<S> {
        let plane = self.n[1] * (self.n[2] / 2 + 1);
        let of_plane = |modes| numbers_of(modes, columns);
        self.modes.chunks_exact(plane).flat_map(of_plane).collect()
    }

    /// Takes what a rank with these planes has for this rank's columns.
    pub fn take_columns(&mut self, planes: &Range<usize>, numbers: &[S]) {
        let width = self.part.columns.len();
        let to = &mut self.columns[planes.start * width..planes.end * width];
        to.iter_mut()
            .zip(numbers.chunks_exact(2))
            .for_each(|(to, from)| *to = Complex::new(from[0], from[1]));
    }

    /// Amplitudes of this rank's columns for a rank with these planes.
    pub fn planes_for(&self, planes: &Range<usize>) -> Vec<S> {
        let width = self.part.columns.len();
        numbers_of(&self.columns, &(planes.start * width..planes.end * width)).collect()
    }

    /// Takes what a rank with these columns has for this rank's planes.
    pub fn take_planes(&mut self, columns: &Range<usize>, numbers: &[S]) {
        let plane = self.n[1] * (self.n[2] / 2 + 1);
        let to = self.modes.chunks_exact_mut(plane).flat_map(|modes| &mut modes[columns.clone()]);
        to.zip(numbers.chunks_exact(2)).for_each(|(to, from)| *to = Complex::new(from[0], from[1]));
    }
}

/// Real and imaginary parts of some modes, in turn.
fn numbers_of<S: Planned>(modes: &[Complex<S>], which: &Range<usize>) -> impl Iterator<Item = S> {
    modes[which.clone()].iter().flat_map(|mode| [mode.re, mode.im])
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
