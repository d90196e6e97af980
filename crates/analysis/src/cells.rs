//! Pairs of atoms within reach of each other, found cell by cell on all threads. Any box, any
//! reach: beyond half the box an atom has pairs with several images of another, and with its own.

use crate::limits;
use jostle_core::{Error, Result, SimBox, Vec3, Vector};
use rayon::prelude::*;
use std::f64::consts::PI;
use std::ops::Range;

mod distances;
#[cfg(test)]
mod tests;

pub use distances::{CellSurroundings, ROW, fold_around};

/// Rules for the size of cells.
struct CellLayout {
    /// Least width as a part of the reach.
    of_reach: f64,
    /// Least width as a part of the mean distance of atoms: narrower cells were almost empty.
    of_spacing: f64,
    /// Divisor of the number of cells along an axis, where that is more than one.
    multiple: usize,
}

/// Cells within reach of a cell, at most: those of fifty images of a small box in all directions.
const MOST_AROUND: f64 = 2e6;
/// Number of pairs up to which time and memory for them are small.
const FEW_PAIRS: f64 = 5e7;
/// Rows of cells that are looked at for an estimate.
const LOOKS: usize = 1 << 13;
/// Hint where there are too many pairs.
const FEWER: &str = "choose a shorter distance, or fewer atoms; is the box what it should be?";

const LAYOUT: CellLayout = CellLayout { of_reach: 0.25, of_spacing: 0.8, multiple: 1 };

/// Atoms sorted into cells.
pub struct Cells {
    simbox: SimBox,
    reach: f64,
    shape: [usize; 3],
    /// Largest distance of an atom within reach, in cells along each axis.
    span: [i32; 3],
    /// Fractional coordinates of the corner of the first cell, and the extent of all of them.
    low: Vec3,
    extent: Vec3,
    /// Beginning of the atoms of each cell, and the end of the last.
    start: Vec<u32>,
    id: Vec<u32>,
    position: Vec<Vec3>,
}

/// Cells in a line along the last axis, as seen from another: those at `across` along the first two
/// axes, and `from` to `to` along the last.
#[derive(Debug, Clone, Copy)]
struct CellLine {
    across: [i32; 2],
    from: i32,
    to: i32,
}

/// Atoms of neighbouring cells, which are neighbours in memory, in one image of the box.
#[derive(Debug, Clone)]
struct CellRow {
    atoms: Range<usize>,
    shift: Vec3,
}

/// A pair of atoms.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    /// An atom.
    pub i: u32,
    /// Another, or an image of the same.
    pub j: u32,
    /// From the first to the second.
    pub d: Vec3,
    /// The squared distance.
    pub d2: f64,
}

/// The neighbours of all atoms.
pub struct Neighbors {
    /// Beginning of the neighbours of each atom, and the end of the last.
    start: Vec<u32>,
    entries: Vec<(u32, Vec3)>,
}

impl Neighbors {
    /// Number of atoms.
    pub fn atoms(&self) -> usize {
        self.start.len() - 1
    }

    /// The neighbours of all atoms, one after the other.
    pub fn iter(&self) -> impl Iterator<Item = &[(u32, Vec3)]> {
        (0..self.atoms()).map(|atom| self.of(atom))
    }

    /// The neighbours of an atom: their ids, and the ways to them.
    pub fn of(&self, atom: usize) -> &[(u32, Vec3)] {
        &self.entries[self.start[atom] as usize..self.start[atom + 1] as usize]
    }
}

impl Cells {
    /// Sorts atoms.
    ///
    /// # Errors
    /// If the box has no volume, or the pairs within reach are too many to go through.
    pub fn new(simbox: &SimBox, positions: &[Vec3], reach: f64) -> Result<Self> {
        Self::with_layout(simbox, positions, reach, &LAYOUT)
    }

    fn with_layout(simbox: &SimBox, positions: &[Vec3], reach: f64, layout: &CellLayout) -> Result<Self> {
        limits::sound(simbox)?;
        let periodic = simbox.periodic();
        let mut fractional: Vec<Vec3> = positions.iter().map(|r| simbox.to_fractional(*r)).collect();
        let (mut low, mut extent) = (Vec3::ZERO, Vector([1.0; 3]));
        for k in 0..3 {
            if periodic[k] {
                for s in &mut fractional {
                    s[k] -= s[k].floor();
                    // Rounding may bring a tiny negative number to 1.
                    s[k] = if s[k] < 1.0 { s[k] } else { 0.0 };
                }
            } else {
                let (min, max) = fractional
                    .iter()
                    .fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), s| (a.min(s[k]), b.max(s[k])));
                (low[k], extent[k]) = (min.min(max), (max - min).max(1e-9));
            }
        }
        let widths = [0, 1, 2].map(|k| simbox.widths()[k] * extent[k]);
        let volume: f64 = simbox.volume() * extent.iter().product::<f64>();
        let spacing = (volume / positions.len().max(1) as f64).cbrt();
        let width = (layout.of_spacing * spacing).max(layout.of_reach * reach);
        // Atoms of an open box may lie in a plane or a line: no more cells than they need then.
        let most = 4.0 * (positions.len() as f64).cbrt().ceil().max(1.0);
        let shape = widths.map(|w| (w / width).floor().clamp(1.0, most) as usize);
        let shape = shape.map(|n| if n < layout.multiple { 1 } else { n - n % layout.multiple });
        // An atom within reach is strictly nearer; along an open axis there are no cells but these.
        let span = [0, 1, 2].map(|k| {
            let cells = (reach * shape[k] as f64 / widths[k] * (1.0 - 1e-12)).ceil();
            if periodic[k] { cells } else { cells.min((shape[k] - 1) as f64) }
        });
        let around: f64 = span.iter().map(|n| 2.0 * n + 1.0).product();
        if around > MOST_AROUND {
            let narrowest = 2.0 * simbox.largest_cutoff();
            return Err(Error::input(format!(
                "{around:.3e} cells are within {reach} of each other, for the box is {narrowest:e} wide; {MOST_AROUND:.0e} are allowed"
            ))
            .hint("is the box what it should be? a shorter distance reaches fewer of its images"));
        }
        let span = span.map(|n| n as i32);
        let cell = |s: &Vec3| -> usize {
            let c: [usize; 3] = std::array::from_fn(|k| {
                (((s[k] - low[k]) / extent[k] * shape[k] as f64) as usize).min(shape[k] - 1)
            });
            (c[0] * shape[1] + c[1]) * shape[2] + c[2]
        };
        let cell_of: Vec<u32> = fractional.iter().map(|s| cell(s) as u32).collect();
        let mut start = vec![0u32; shape.iter().product::<usize>() + 1];
        cell_of.iter().for_each(|c| start[*c as usize + 1] += 1);
        (1..start.len()).for_each(|k| start[k] += start[k - 1]);
        let mut next = start.clone();
        let (mut id, mut position) = (vec![0; positions.len()], vec![Vec3::ZERO; positions.len()]);
        for (atom, c) in cell_of.iter().enumerate() {
            let place = next[*c as usize] as usize;
            next[*c as usize] += 1;
            id[place] = atom as u32;
            position[place] = simbox.to_cartesian(fractional[atom]);
        }
        let cells = Cells { simbox: *simbox, reach, shape, span, low, extent, start, id, position };
        limits::work(cells.estimated_pairs(), &format!("pairs of atoms within {reach}"), FEWER)?;
        Ok(cells)
    }

    /// About how many pairs are within reach; where these cannot be many, how many at most. Found around
    /// some of the atoms, so that a dense clump in a wide box counts as what it is.
    fn estimated_pairs(&self) -> f64 {
        let atoms = self.id.len();
        let images = |k: usize| {
            if self.simbox.periodic()[k] { 2 * self.span[k] as usize / self.shape[k] + 2 } else { 1 }
        };
        let most = (0..3).map(images).product::<usize>() as f64 * (atoms as f64).powi(2);
        if most < FEW_PAIRS {
            return most;
        }
        let lines = self.lines();
        let looked_at: f64 = lines.iter().map(|line| f64::from(line.to - line.from + 1)).sum();
        let widths = self.simbox.widths();
        let cell: f64 = (0..3).map(|k| widths[k] * self.extent[k] / self.shape[k] as f64).product();
        // Counts in cells wider than the reach say nothing of pairs within reach: the atoms may be a clump.
        let within = match cell > self.reach.powi(3) {
            true => 1.0,
            false => (2.0 / 3.0 * PI * self.reach.powi(3) / (looked_at * cell)).min(1.0),
        };
        let samples = (LOOKS / lines.len()).clamp(1, 1000).min(atoms);
        let candidates = |sample: usize| -> usize {
            let place = (sample * atoms / samples) as u32;
            let cell = self.start.partition_point(|begin| *begin <= place) - 1;
            self.rows(cell, &lines).iter().map(|row| row.atoms.len()).sum()
        };
        let each = (0..samples).map(candidates).sum::<usize>() as f64 / samples as f64;
        within * each * atoms as f64
    }

    /// Goes over all pairs within reach, each once, on all threads: `each` adds to an accumulator,
    /// of which every task has its own, and `join` puts two together.
    pub fn fold<A: Send>(
        &self,
        new: impl Fn() -> A + Sync + Send,
        each: impl Fn(&mut A, Pair) + Sync + Send,
        join: impl Fn(A, A) -> A + Sync + Send,
    ) -> A {
        let reach2 = self.reach * self.reach;
        let visit_row = |sums: &mut A, place: usize, atoms: Range<usize>, from: Vec3| {
            let i = self.id[place];
            for (j, to) in self.id[atoms.clone()].iter().zip(&self.position[atoms]) {
                let d = *to - from;
                let d2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                if d2 < reach2 {
                    each(sums, Pair { i, j: *j, d, d2 });
                }
            }
        };
        self.fold_rows(new, visit_row, join)
    }

    /// Goes over all atoms and rows of others that may be within reach: the atom's place, those of
    /// the others, and where the atom is as seen from them.
    fn fold_rows<A: Send>(
        &self,
        new: impl Fn() -> A + Sync + Send,
        visit_row: impl Fn(&mut A, usize, Range<usize>, Vec3) + Sync + Send,
        join: impl Fn(A, A) -> A + Sync + Send,
    ) -> A {
        let lines = self.lines();
        let home = |mut sums: A, cell: usize| {
            let own = self.atoms(cell);
            let rows = if own.is_empty() { Vec::new() } else { self.rows(cell, &lines) };
            for i in own {
                let r = self.position[i];
                for (k, CellRow { atoms, shift }) in rows.iter().enumerate() {
                    // The first row begins with the atoms of this cell: each pair of them once.
                    let atoms = if k == 0 { i + 1..atoms.end } else { atoms.clone() };
                    visit_row(&mut sums, i, atoms, r - *shift);
                }
            }
            sums
        };
        (0..self.start.len() - 1).into_par_iter().with_min_len(8).fold(&new, home).reduce(&new, &join)
    }

    /// The ids of all pairs within reach.
    ///
    /// # Errors
    /// If they would not fit into memory.
    pub fn pairs(&self) -> Result<Vec<(u32, u32)>> {
        let pairs = self.estimated_pairs();
        // A list that grows has room for twice as many.
        let bytes = pairs * 2.0 * size_of::<(u32, u32)>() as f64;
        limits::memory(bytes, &format!("some {pairs:.3e} pairs of atoms within {}", self.reach), FEWER)?;
        Ok(self.fold(
            Vec::new,
            |list, pair| list.push((pair.i, pair.j)),
            |mut a, b| {
                a.extend(b);
                a
            },
        ))
    }

    /// The neighbours of every atom within reach.
    ///
    /// # Errors
    /// If their lists would not fit into memory.
    pub fn neighbors(&self) -> Result<Neighbors> {
        let pairs = self.estimated_pairs();
        // A list of pairs, while it grows, and two entries for each.
        let bytes = pairs * (2 * size_of::<Pair>() + 2 * size_of::<(u32, Vec3)>()) as f64;
        let what =
            format!("some {:.3e} neighbours of {} atoms within {}", 2.0 * pairs, self.id.len(), self.reach);
        limits::memory(bytes, &what, FEWER)?;
        let pairs = self.fold(
            Vec::new,
            |list, pair| list.push(pair),
            |mut a, b| {
                a.extend(b);
                a
            },
        );
        let mut start = vec![0u32; self.id.len() + 1];
        for p in &pairs {
            start[p.i as usize + 1] += 1;
            start[p.j as usize + 1] += 1;
        }
        (1..start.len()).for_each(|k| start[k] += start[k - 1]);
        let mut next = start.clone();
        let mut entries = vec![(0, Vec3::ZERO); 2 * pairs.len()];
        for p in &pairs {
            for (of, other, d) in [(p.i, p.j, p.d), (p.j, p.i, -p.d)] {
                let place = &mut next[of as usize];
                entries[*place as usize] = (other, d);
                *place += 1;
            }
        }
        Ok(Neighbors { start, entries })
    }

    /// Half of the cells around a cell, so that each pair is met once; the line with the cell itself
    /// is first, and begins there.
    fn lines(&self) -> Vec<CellLine> {
        let [a, b, c] = self.span;
        let mut lines = vec![CellLine { across: [0, 0], from: 0, to: c }];
        for x in 0..=a {
            for y in -b..=b {
                if (x, y) > (0, 0)
                    && let Some(c) = self.span_beside([x, y])
                {
                    lines.push(CellLine { across: [x, y], from: -c, to: c });
                }
            }
        }
        lines
    }

    /// Reach along the last axis, in cells, at a distance `across` along the others; `None` where
    /// nothing is within reach. Corners are cut off where axes are at right angles.
    fn span_beside(&self, across: [i32; 2]) -> Option<i32> {
        if self.simbox.tilts() != [0.0; 3] {
            return Some(self.span[2]);
        }
        let width = |k: usize| self.simbox.widths()[k] * self.extent[k] / self.shape[k] as f64;
        let gap = |k: usize| f64::from((across[k].abs() - 1).max(0)) * width(k);
        let left = self.reach * self.reach - gap(0) * gap(0) - gap(1) * gap(1);
        (left > 0.0).then(|| ((left.sqrt() / width(2) * (1.0 + 1e-12)).ceil() as i32).min(self.span[2]))
    }

    /// The rows of atoms that lines lead to from a cell: they end where the box does.
    fn rows(&self, cell: usize, lines: &[CellLine]) -> Vec<CellRow> {
        let [_, ny, nz] = self.shape;
        let at = [cell / (ny * nz), cell / nz % ny, cell % nz];
        let (here, size) = (at[2] as i32, nz as i32);
        let mut rows = Vec::with_capacity(2 * lines.len());
        for line in lines {
            let (mut z, mut end) = (here + line.from, here + line.to);
            if !self.simbox.periodic()[2] {
                (z, end) = (z.max(0), end.min(size - 1));
            }
            while z <= end {
                let last = end.min((z.div_euclid(size) + 1) * size - 1);
                let offset = [line.across[0], line.across[1], z - here];
                if let Some((first, image)) = self.neighbor(at, offset) {
                    let atoms =
                        self.start[first] as usize..self.start[first + (last - z) as usize + 1] as usize;
                    rows.push(CellRow { atoms, shift: self.simbox.shift(image) });
                }
                z = last + 1;
            }
        }
        rows
    }

    /// Position of a point that is `at` cells from the first corner, along each axis.
    fn point(&self, at: Vec3) -> Vec3 {
        let along = |k: usize| self.low[k] + self.extent[k] * at[k] / self.shape[k] as f64;
        self.simbox.to_cartesian(Vector([along(0), along(1), along(2)]))
    }

    fn atoms(&self, cell: usize) -> std::ops::Range<usize> {
        self.start[cell] as usize..self.start[cell + 1] as usize
    }

    /// The cell at an offset from another, and which image of it.
    fn neighbor(&self, at: [usize; 3], offset: [i32; 3]) -> Option<(usize, [i32; 3])> {
        let mut image = [0; 3];
        let mut place = [0usize; 3];
        for k in 0..3 {
            let (n, there) = (self.shape[k] as i32, at[k] as i32 + offset[k]);
            if self.simbox.periodic()[k] {
                image[k] = there.div_euclid(n);
            } else if !(0..n).contains(&there) {
                return None;
            }
            place[k] = there.rem_euclid(n) as usize;
        }
        Some(((place[0] * self.shape[1] + place[1]) * self.shape[2] + place[2], image))
    }

    /// Goes over all atoms within reach of a point.
    pub fn around(&self, point: Vec3, mut each: impl FnMut(u32, f64)) {
        let mut s = self.simbox.to_fractional(point);
        for k in 0..3 {
            if self.simbox.periodic()[k] {
                s[k] -= s[k].floor();
            }
        }
        let point = self.simbox.to_cartesian(s);
        // A point of an open box may lie outside of all cells: it then looks from the nearest.
        let at: [i32; 3] = std::array::from_fn(|k| {
            let cell = ((s[k] - self.low[k]) / self.extent[k] * self.shape[k] as f64).floor();
            cell.clamp(0.0, (self.shape[k] - 1) as f64) as i32
        });
        let [a, b, c] = self.span;
        for x in -a..=a {
            for y in -b..=b {
                for z in -c..=c {
                    let Some((cell, image)) = self.neighbor([0; 3], [at[0] + x, at[1] + y, at[2] + z]) else {
                        continue;
                    };
                    let shift = self.simbox.shift(image);
                    for j in self.atoms(cell) {
                        let r = self.position[j];
                        let d: Vec3 = r + shift - point;
                        let d2 = d.iter().map(|x| x * x).sum::<f64>();
                        if d2 < self.reach * self.reach {
                            each(self.id[j], d2);
                        }
                    }
                }
            }
        }
    }
}
