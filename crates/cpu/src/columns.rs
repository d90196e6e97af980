//! Columns of the spatial sort, boxes around atoms, and the order of atoms by columns.

use crate::threads::Team;
use jostle_core::{SimBox, Vec3, Vector};
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
    pub const EMPTY: Bounds =
        Bounds { low: Vector([f64::INFINITY; 3]), high: Vector([f64::NEG_INFINITY; 3]) };

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
        let by = |corner: Vec3| corner + shift;
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

    /// The clusters of a column.
    #[inline(always)]
    pub fn members(&self, column: usize) -> Range<usize> {
        self.first_cluster[column] as usize..self.first_cluster[column + 1] as usize
    }

    /// The first cluster.
    pub fn begin(&self) -> usize {
        self.first_cluster.first().map_or(0, |begin| *begin as usize)
    }

    /// One past the last cluster.
    pub fn end(&self) -> usize {
        self.first_cluster.last().map_or(0, |end| *end as usize)
    }

    fn index(&self, s: Vec3) -> u32 {
        let at = |k: usize| (self.place(k, s[k]).max(0.0) as usize).min(self.n[k] - 1);
        (at(0) * self.n[1] + at(1)) as u32
    }
}

/// A group of ghosts with which pairs are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partner {
    /// Number of the group.
    pub group: usize,
    /// The pairs.
    pub pairs: Pairs,
}

/// Pairs of a cluster of one group with clusters of another one that are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairs {
    /// All.
    All,
    /// Pairs whose numbers, counted from the first cluster of each group, have an even sum.
    Even,
    /// The others.
    Odd,
}

/// Chooses columns so that a full cluster is about as long as its column is wide.
pub(crate) fn lay_columns(simbox: &SimBox, around: &Bounds, n_atoms: usize, width: usize) -> Columns {
    let periodic = simbox.periodic();
    let mut columns = Columns { low: Vec3::ZERO, length: Vector([1.0; 3]), n: [1; 3], ..Columns::default() };
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
pub(crate) fn sort(team: &Team, columns: &Columns, places: &[Vec<Vec3>]) -> (Vec<u32>, Vec<u32>) {
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
