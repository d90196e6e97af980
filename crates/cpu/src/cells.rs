//! Spatial sort: atoms that are near in space become neighbours in memory, in clusters as wide as
//! a SIMD register.
//!
//! The box is divided into columns along its third edge, about as wide as a cluster is long; the
//! atoms of a column, sorted along it, are cut into clusters of `width` atoms (Páll and Hess,
//! Comput. Phys. Commun. 184 (2013) 2641). Only the last cluster of a column can be incomplete.

use crate::simd::Scalar;
use crate::simd::aligned::Aligned;
use crate::threads::Team;
use jostle_core::{Error, PositionPrediction, Result, SimBox, State, Vec3};
use std::ops::Range;

/// An axis-aligned box around the atoms of a cluster.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// The lowest corner.
    pub low: Vec3,
    /// The highest corner.
    pub high: Vec3,
}

impl Bounds {
    /// Box that contains nothing.
    pub const EMPTY: Bounds = Bounds { low: [f64::INFINITY; 3], high: [f64::NEG_INFINITY; 3] };

    /// Grows to contain a point.
    pub fn include(&mut self, point: Vec3) {
        for k in 0..3 {
            self.low[k] = self.low[k].min(point[k]);
            self.high[k] = self.high[k].max(point[k]);
        }
    }

    /// The shortest distance along axis `k` to another box.
    #[inline(always)]
    pub fn gap(&self, other: &Bounds, k: usize) -> f64 {
        (other.low[k] - self.high[k]).max(self.low[k] - other.high[k]).max(0.0)
    }

    /// The box moved by `shift`.
    pub fn moved(&self, shift: Vec3) -> Bounds {
        let by = |corner: Vec3| [0, 1, 2].map(|k| corner[k] + shift[k]);
        Bounds { low: by(self.low), high: by(self.high) }
    }
}

/// The columns of a build.
#[derive(Debug, Clone, Default)]
pub struct Columns {
    /// Number of columns along each edge; one along the third.
    pub n: [usize; 3],
    /// Fractional coordinates where the columns begin, along all three edges.
    pub low: Vec3,
    /// Fractional lengths that the columns cover.
    pub length: Vec3,
    /// The first cluster of each column, and one past the last at the end.
    pub first_cluster: Vec<u32>,
    /// The bounding box of each column's atoms.
    pub bounds: Vec<Bounds>,
}

impl Columns {
    /// Position of a fractional coordinate along edge `k`, in columns; may lie outside.
    #[inline(always)]
    pub fn place(&self, k: usize, s: f64) -> f64 {
        (s - self.low[k]) / self.length[k] * self.n[k] as f64
    }

    fn index(&self, s: Vec3) -> u32 {
        let at = |k: usize| (self.place(k, s[k]).max(0.0) as usize).min(self.n[k] - 1);
        (at(0) * self.n[1] + at(1)) as u32
    }
}

/// All atoms in clusters.
pub struct Clusters<S> {
    /// Atoms in a full cluster: the width of a SIMD register.
    pub width: usize,
    /// The first atom of each cluster, and the number of atoms at the end.
    pub first: Vec<u32>,
    /// Origin of the coordinates of each cluster. Origins lie on a grid coarse enough that the difference of
    /// two near ones is exact in `S`.
    pub origin: Vec<Vec3>,
    /// Coordinates relative to the origin, x of all atoms of a cluster, then y, then z; empty places are far
    /// away.
    pub position: Aligned<S>,
    /// Coordinates with which the list was built, in the same order.
    pub built: Aligned<S>,
    /// Species of all atoms of a cluster.
    pub species: Vec<i32>,
    /// Bounding boxes at the time of the build.
    pub bounds: Vec<Bounds>,
    /// Bounding boxes relative to the origin, rounded outwards.
    pub extent: Vec<[[S; 3]; 2]>,
    /// Bounding boxes in fractional coordinates.
    pub fractional: Vec<Bounds>,
    /// The columns.
    pub columns: Columns,
}

impl<S: Scalar> Clusters<S> {
    /// Clusters without atoms, for registers of this width.
    pub fn new(width: usize) -> Self {
        Clusters {
            width,
            first: vec![0],
            origin: Vec::new(),
            position: Aligned::default(),
            built: Aligned::default(),
            species: Vec::new(),
            bounds: Vec::new(),
            extent: Vec::new(),
            fractional: Vec::new(),
            columns: Columns::default(),
        }
    }

    /// Number of clusters.
    pub fn count(&self) -> usize {
        self.first.len() - 1
    }

    /// The atoms of a cluster.
    #[inline(always)]
    pub fn atoms(&self, cluster: usize) -> Range<usize> {
        self.first[cluster] as usize..self.first[cluster + 1] as usize
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        self.position.bytes()
            + self.built.bytes()
            + self.species.capacity() * size_of::<i32>()
            + self.first.capacity() * size_of::<u32>()
            + self.count() * (size_of::<Vec3>() + 3 * size_of::<Bounds>())
    }

    /// Sorts all atoms in space (which reorders `state`) and forms the clusters, at the predicted positions of
    /// the atoms; these positions, in the box, go to `places`, and atoms to the same image. `far` is a
    /// distance well beyond every cut-off.
    ///
    /// # Errors
    /// If a position is not finite: names the atom.
    pub fn build(
        &mut self,
        team: &Team,
        simbox: &SimBox,
        state: &mut State,
        (prediction, places): (PositionPrediction, &mut Vec<Vec3>),
        far: f64,
    ) -> Result<()> {
        let n = state.len();
        places.resize(n, [0.0; 3]);
        let chunk = n.div_ceil(team.size()).max(1);
        let State { id, species, position, image, velocity, force, .. } = &mut *state;
        let way = |atom: usize| {
            let inverse_mass = prediction.inverse_mass.of(species[atom], id[atom]);
            prediction.displacement(velocity[atom], force[atom], inverse_mass)
        };
        let pieces = position.chunks_mut(chunk).zip(image.chunks_mut(chunk)).zip(places.chunks_mut(chunk));
        let fractions = team.map(pieces.collect(), |t, ((position, image), places)| {
            let mut fractions = Vec::with_capacity(position.len());
            let mut bounds = Bounds::EMPTY;
            let mut sum = 0.0;
            for (k, ((r, image), place)) in position.iter_mut().zip(image).zip(places).enumerate() {
                let way = way(t * chunk + k);
                *place = [0, 1, 2].map(|k| r[k] + way[k]);
                let before = *image;
                simbox.wrap(place, image);
                if *image != before {
                    let shift = simbox.shift([0, 1, 2].map(|k| image[k] - before[k]));
                    (0..3).for_each(|k| r[k] -= shift[k]);
                }
                let s = simbox.to_fractional(*place);
                bounds.include(s);
                sum += s[0] + s[1] + s[2];
                fractions.push(s);
            }
            (fractions, bounds, sum.is_finite())
        });
        let mut around = Bounds::EMPTY;
        for (_, bounds, _) in &fractions {
            around.include(bounds.low);
            around.include(bounds.high);
        }
        // Comparisons leave NaN out of the bounds.
        if fractions.iter().any(|(_, _, finite)| !finite) || !is_inside(simbox, around.low, around.high) {
            return Err(lost_atom(simbox, state));
        }
        let fractions: Vec<Vec<Vec3>> = fractions.into_iter().map(|(fractions, _, _)| fractions).collect();
        self.columns = lay_columns(simbox, &around, n, self.width);
        let (order, column_first) = sort(team, &self.columns, &fractions);
        permute(team, state, places, &order);
        self.form(team, simbox, state, places, &column_first);
        self.fill_empty_places(far);
        Ok(())
    }

    /// Puts the empty places of incomplete clusters where no atom can be within `far`, however wide
    /// a dilute cluster is.
    fn fill_empty_places(&mut self, far: f64) {
        let width = |b: &Bounds| (0..3).map(|k| b.high[k] - b.low[k]).fold(0.0, f64::max);
        let widest = self.bounds.iter().map(width).fold(0.0, f64::max);
        let far = S::from_f64(far + 4.0 * widest);
        for cluster in 0..self.count() {
            for lane in self.atoms(cluster).len()..self.width {
                for k in 0..3 {
                    let place = (3 * cluster + k) * self.width + lane;
                    (self.position[place], self.built[place]) = (far, far);
                }
            }
        }
    }

    /// The clusters of a column.
    #[inline(always)]
    pub fn members(&self, column: usize) -> Range<usize> {
        let first = &self.columns.first_cluster;
        first[column] as usize..first[column + 1] as usize
    }

    /// Cuts the sorted columns into clusters.
    fn form(
        &mut self,
        team: &Team,
        simbox: &SimBox,
        state: &State,
        predicted: &[Vec3],
        column_first: &[u32],
    ) {
        self.first.clear();
        self.columns.first_cluster.clear();
        for column in column_first.windows(2) {
            self.columns.first_cluster.push(self.first.len() as u32);
            self.first.extend((column[0]..column[1]).step_by(self.width));
        }
        self.columns.first_cluster.push(self.first.len() as u32);
        self.first.push(state.len() as u32);

        let n = self.count();
        let width = self.width;
        self.origin.resize(n, [0.0; 3]);
        self.bounds.resize(n, Bounds::EMPTY);
        self.extent.resize(n, [[S::default(); 3]; 2]);
        self.fractional.resize(n, Bounds::EMPTY);
        self.species.resize(n * width, 0);
        self.position.resize(n * 3 * width);
        self.built.resize(n * 3 * width);
        let grid = origin_grid(simbox);
        let first = &self.first;
        let chunk = n.div_ceil(team.size()).max(1);
        let mut pieces = Vec::new();
        let lists = self.origin.chunks_mut(chunk).zip(self.bounds.chunks_mut(chunk));
        let lists = lists.zip(self.fractional.chunks_mut(chunk)).zip(self.extent.chunks_mut(chunk));
        let lists = lists.zip(self.species.chunks_mut(chunk * width));
        let arrays =
            self.position.chunks_mut(chunk * 3 * width).zip(self.built.chunks_mut(chunk * 3 * width));
        for piece in lists.zip(arrays) {
            pieces.push(piece);
        }
        team.map(pieces, |k, (((((origin, bounds), fractional), extent), species), (position, built))| {
            for c in 0..origin.len() {
                let atoms = first[k * chunk + c] as usize..first[k * chunk + c + 1] as usize;
                let (mut around, mut inside) = (Bounds::EMPTY, Bounds::EMPTY);
                for r in &predicted[atoms.clone()] {
                    around.include(*r);
                    inside.include(simbox.to_fractional(*r));
                }
                (bounds[c], fractional[c]) = (around, inside);
                for k in 0..3 {
                    origin[c][k] = (0.5 * (around.low[k] + around.high[k]) / grid).round() * grid;
                    let slack = 1e-5 * (around.high[k] - around.low[k]);
                    extent[c][0][k] = S::from_f64(around.low[k] - slack - origin[c][k]);
                    extent[c][1][k] = S::from_f64(around.high[k] + slack - origin[c][k]);
                }
                let kinds = &mut species[c * width..(c + 1) * width];
                kinds.fill(0);
                for (kind, &s) in kinds.iter_mut().zip(&state.species[atoms.clone()]) {
                    *kind = i32::from(s);
                }
                let places = c * 3 * width..(c + 1) * 3 * width;
                let (now, listed) = (&mut position[places.clone()], &mut built[places]);
                for (lane, atom) in atoms.enumerate() {
                    for k in 0..3 {
                        now[k * width + lane] = S::from_f64(state.position[atom][k] - origin[c][k]);
                        listed[k * width + lane] = S::from_f64(predicted[atom][k] - origin[c][k]);
                    }
                }
            }
        });
        let n_columns = self.columns.first_cluster.len() - 1;
        self.columns.bounds = vec![Bounds::EMPTY; n_columns];
        for column in 0..n_columns {
            for cluster in self.members(column) {
                self.columns.bounds[column].include(self.bounds[cluster].low);
                self.columns.bounds[column].include(self.bounds[cluster].high);
            }
        }
    }
}

/// Returns true if fractional coordinates lie in the box along its periodic axes, where wrapping has put
/// them unless an atom has moved further than images can count.
fn is_inside(simbox: &SimBox, low: Vec3, high: Vec3) -> bool {
    (0..3).all(|k| !simbox.periodic()[k] || (low[k] > -0.5 && high[k] < 1.5))
}

/// Error that names an atom without a finite position.
fn lost_atom(simbox: &SimBox, state: &State) -> Error {
    let lost = |r: &Vec3| {
        let s = simbox.to_fractional(*r);
        s.iter().any(|x| !x.is_finite()) || !is_inside(simbox, s, s)
    };
    let found = state.position.iter().zip(&state.id).find(|(r, _)| lost(r));
    let (r, id) = found.map_or(([f64::NAN; 3], 0), |(r, id)| (*r, *id));
    Error::simulation(format!("atom {} has flown off to {r:?}", id + 1))
        .hint("atoms may overlap at the start (minimise first) or the time step may be too long")
}

/// A power of two, small against a cluster and large against the rounding of single precision.
fn origin_grid(simbox: &SimBox) -> f64 {
    let longest = simbox.lengths().into_iter().fold(0.0, f64::max);
    2f64.powi(longest.log2().floor() as i32 - 20)
}

/// Chooses columns so that a full cluster is about as long as its column is wide.
fn lay_columns(simbox: &SimBox, around: &Bounds, n_atoms: usize, width: usize) -> Columns {
    let periodic = simbox.periodic();
    let mut columns = Columns { low: [0.0; 3], length: [1.0; 3], n: [1; 3], ..Columns::default() };
    for k in 0..3 {
        if !periodic[k] {
            columns.low[k] = around.low[k];
            columns.length[k] = (around.high[k] - around.low[k]).max(1e-9);
        }
    }
    let widths = simbox.widths();
    let volume = simbox.volume() * columns.length.iter().product::<f64>();
    let side = (volume * width as f64 / n_atoms as f64).cbrt();
    for k in 0..2 {
        // A column never holds less than one cluster on average: 2^16 of them along an edge is
        // more than any system that fits into memory needs.
        columns.n[k] = (widths[k] * columns.length[k] / side).round().clamp(1.0, 65536.0) as usize;
    }
    let most = (2 * n_atoms / width).max(1);
    while columns.n[0] * columns.n[1] > most {
        columns.n = [columns.n[0].div_ceil(2), columns.n[1].div_ceil(2), 1];
    }
    columns
}

/// The storage order of the atoms by columns and along them, and the first atom of each column
/// (with the number of atoms at the end). Atoms at the same place keep their order. `places` are
/// the fractional coordinates of all atoms, in a piece for each thread.
fn sort(team: &Team, columns: &Columns, places: &[Vec<Vec3>]) -> (Vec<u32>, Vec<u32>) {
    let n_columns = columns.n[0] * columns.n[1];
    let n_atoms: usize = places.iter().map(Vec::len).sum();
    let z_scale = f64::from(u32::MAX) / columns.length[2];
    // Counting sort by column: each thread counts its atoms, then fills and sorts its columns. A key
    // of 32 bits along the column above the atom's number sorts without a look-up.
    let counted = team.map(places.iter().collect(), |_, places| {
        let mut counts = vec![0u32; n_columns];
        let mut columns_and_heights = Vec::with_capacity(places.len());
        for &s in places {
            let column = columns.index(s);
            counts[column as usize] += 1;
            columns_and_heights.push((column, ((s[2] - columns.low[2]) * z_scale) as u32));
        }
        (counts, columns_and_heights)
    });
    let mut first = Vec::with_capacity(n_columns + 1);
    let mut total = 0;
    for column in 0..n_columns {
        first.push(total);
        total += counted.iter().map(|(counts, _)| counts[column]).sum::<u32>();
    }
    first.push(total);
    let mut keys = vec![0u64; n_atoms];
    let chunk = n_atoms.div_ceil(team.size()).max(1);
    // Columns are shared out in runs of about the same number of atoms.
    let mut pieces = Vec::new();
    let mut rest = &mut keys[..];
    let mut column = 0;
    while column < n_columns {
        let begin = column;
        while column < n_columns && (column == begin || ((first[column + 1] - first[begin]) as usize) < chunk)
        {
            column += 1;
        }
        let (piece, tail) = rest.split_at_mut((first[column] - first[begin]) as usize);
        pieces.push((begin..column, piece));
        rest = tail;
    }
    team.map(pieces, |_, (range, keys)| {
        let base = first[range.start];
        let mut next: Vec<u32> = first[range.clone()].iter().map(|first| first - base).collect();
        let atoms = counted.iter().flat_map(|(_, columns_and_heights)| columns_and_heights);
        for (atom, &(column, height)) in atoms.enumerate() {
            if range.contains(&(column as usize)) {
                let at = &mut next[column as usize - range.start];
                keys[*at as usize] = u64::from(height) << 32 | atom as u64;
                *at += 1;
            }
        }
        for column in range {
            let (begin, end) = ((first[column] - base) as usize, (first[column + 1] - base) as usize);
            keys[begin..end].sort_unstable();
        }
    });
    (keys.into_iter().map(|key| key as u32).collect(), first)
}

/// [`State::permute`] with one array a task.
fn permute(team: &Team, state: &mut State, predicted: &mut Vec<Vec3>, order: &[u32]) {
    enum Array<'a> {
        Id(&'a mut Vec<u32>),
        Species(&'a mut Vec<u16>),
        Vector(&'a mut Vec<Vec3>),
        Image(&'a mut Vec<[i32; 3]>),
    }
    fn gather<T: Copy>(values: &mut Vec<T>, order: &[u32]) {
        *values = order.iter().map(|&k| values[k as usize]).collect();
    }
    let mut arrays = vec![
        Array::Vector(&mut state.position),
        Array::Vector(predicted),
        Array::Vector(&mut state.velocity),
        Array::Id(&mut state.id),
        Array::Image(&mut state.image),
        Array::Species(&mut state.species),
    ];
    if !state.angular_velocity.is_empty() {
        arrays.push(Array::Vector(&mut state.angular_velocity));
    }
    team.map(arrays, |_, array| match array {
        Array::Id(a) => gather(a, order),
        Array::Species(a) => gather(a, order),
        Array::Vector(a) => gather(a, order),
        Array::Image(a) => gather(a, order),
    });
}
