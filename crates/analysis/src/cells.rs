//! Pairs of atoms within reach of each other, found cell by cell on all threads. Any box, any
//! reach: beyond half the box an atom meets several images of another, and its own.

use jostle_core::{SimBox, Vec3};
use rayon::prelude::*;

/// Cells are about half as wide as the reach: fewer candidates than in whole ones.
const FINE: f64 = 2.0;

/// Atoms sorted into cells.
pub struct Cells {
    simbox: SimBox,
    reach: f64,
    shape: [usize; 3],
    /// How many cells away an atom within reach may be, along each axis.
    span: [i32; 3],
    /// Fractional coordinates of the corner of the first cell, and the extent of all of them.
    low: Vec3,
    extent: Vec3,
    /// Where the atoms of each cell begin, and where the last end.
    start: Vec<u32>,
    id: Vec<u32>,
    position: Vec<Vec3>,
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

impl Cells {
    /// Sorts atoms.
    pub fn new(simbox: &SimBox, positions: &[Vec3], reach: f64) -> Self {
        let periodic = simbox.periodic();
        let mut fractional: Vec<Vec3> = positions.iter().map(|r| simbox.to_fractional(*r)).collect();
        let (mut low, mut extent) = ([0.0; 3], [1.0; 3]);
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
        let widths = simbox.widths();
        // No more cells than atoms.
        let most = (positions.len() as f64).cbrt().ceil().max(1.0);
        let shape: [usize; 3] = std::array::from_fn(|k| {
            let cells = (FINE * widths[k] * extent[k] / reach).floor();
            cells.clamp(1.0, most * 2.0) as usize
        });
        let span = std::array::from_fn(|k| {
            (reach * shape[k] as f64 / (widths[k] * extent[k]) * (1.0 + 1e-12)).ceil() as i32
        });
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
        let (mut id, mut position) = (vec![0; positions.len()], vec![[0.0; 3]; positions.len()]);
        for (atom, c) in cell_of.iter().enumerate() {
            let place = next[*c as usize] as usize;
            next[*c as usize] += 1;
            id[place] = atom as u32;
            position[place] = simbox.to_cartesian(fractional[atom]);
        }
        Cells { simbox: *simbox, reach, shape, span, low, extent, start, id, position }
    }

    /// Goes over all pairs within reach, each once, on all threads: `each` adds to an accumulator,
    /// of which every task has its own, and `join` puts two together.
    pub fn fold<A: Send>(
        &self,
        new: impl Fn() -> A + Sync + Send,
        each: impl Fn(&mut A, Pair) + Sync + Send,
        join: impl Fn(A, A) -> A + Sync + Send,
    ) -> A {
        let offsets = self.offsets();
        let home = |mut sums: A, cell: usize| {
            self.pairs_of(cell, &offsets, |pair| each(&mut sums, pair));
            sums
        };
        (0..self.start.len() - 1).into_par_iter().with_min_len(64).fold(&new, home).reduce(&new, &join)
    }

    /// The neighbours of every atom within reach, by id: ids and distance vectors.
    pub fn neighbors(&self) -> Vec<Vec<(u32, Vec3)>> {
        let pairs = self.fold(
            Vec::new,
            |list, pair| list.push(pair),
            |mut a, b| {
                a.extend(b);
                a
            },
        );
        let mut lists = vec![Vec::new(); self.id.len()];
        for p in pairs {
            lists[p.i as usize].push((p.j, p.d));
            lists[p.j as usize].push((p.i, p.d.map(|x| -x)));
        }
        lists
    }

    /// Half of the cells around a cell, so that each pair is met once; the cell itself is first.
    fn offsets(&self) -> Vec<[i32; 3]> {
        let [a, b, c] = self.span;
        let mut offsets = vec![[0; 3]];
        for x in 0..=a {
            for y in -b..=b {
                for z in -c..=c {
                    if (x, y, z) > (0, 0, 0) {
                        offsets.push([x, y, z]);
                    }
                }
            }
        }
        offsets
    }

    fn atoms(&self, cell: usize) -> std::ops::Range<usize> {
        self.start[cell] as usize..self.start[cell + 1] as usize
    }

    #[inline]
    fn pairs_of(&self, cell: usize, offsets: &[[i32; 3]], mut each: impl FnMut(Pair)) {
        let own = self.atoms(cell);
        if own.is_empty() {
            return;
        }
        let [_, ny, nz] = self.shape;
        let at = [cell / (ny * nz), cell / nz % ny, cell % nz];
        let reach2 = self.reach * self.reach;
        for offset in offsets {
            let Some((other, image)) = self.neighbor(at, *offset) else { continue };
            let shift = self.simbox.shift(image);
            let same = *offset == [0; 3];
            for i in own.clone() {
                let r = self.position[i];
                let r = [r[0] - shift[0], r[1] - shift[1], r[2] - shift[2]];
                let others = if same { i + 1..own.end } else { self.atoms(other) };
                for (j, s) in others.clone().zip(&self.position[others]) {
                    let d = [s[0] - r[0], s[1] - r[1], s[2] - r[2]];
                    let d2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
                    if d2 < reach2 {
                        each(Pair { i: self.id[i], j: self.id[j], d, d2 });
                    }
                }
            }
        }
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
        // A point of an open box may lie outside of all cells.
        let at: [i32; 3] = std::array::from_fn(|k| {
            ((s[k] - self.low[k]) / self.extent[k] * self.shape[k] as f64).floor().clamp(-1e9, 1e9) as i32
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
                        let d: Vec3 = std::array::from_fn(|k| r[k] + shift[k] - point[k]);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a double loop over images, in boxes smaller and larger than the reach, tilted, open.
    #[test]
    fn pairs_are_those_of_a_double_loop() {
        let random = |k: usize| (k as f64 * 0.618_033_988_749_895).fract();
        for (reach, periodic, tilts) in [
            (2.0, [true; 3], [0.0; 3]),
            (2.0, [true; 3], [1.5, -2.0, 0.7]),
            (9.0, [true; 3], [1.5, -2.0, 0.7]),
            (3.0, [true, false, true], [0.0, 1.0, 0.0]),
            (3.0, [false; 3], [0.0; 3]),
        ] {
            let simbox = SimBox::new([-1.0, 2.0, 0.5], [7.0, 8.0, 6.0], tilts, periodic).unwrap();
            let place = |n: usize| {
                simbox.to_cartesian([2.0 * random(3 * n) - 0.5, random(7 * n + 1), random(11 * n + 5)])
            };
            let positions: Vec<Vec3> = (0..60).map(place).collect();
            let cells = Cells::new(&simbox, &positions, reach);
            let (count, sum) = cells.fold(
                || (0u64, 0.0),
                |a, p| *a = (a.0 + 1, a.1 + p.d2.sqrt()),
                |a, b| (a.0 + b.0, a.1 + b.1),
            );
            let (mut expected, mut distances) = (0u64, 0.0);
            let range = |k: usize| if periodic[k] { -4..=4 } else { 0..=0 };
            for (i, a) in positions.iter().enumerate() {
                let mut around = 0;
                for (j, b) in positions.iter().enumerate() {
                    for x in range(0) {
                        for y in range(1) {
                            for z in range(2) {
                                let shift = simbox.shift([x, y, z]);
                                let d2: f64 = (0..3).map(|k| (b[k] + shift[k] - a[k]).powi(2)).sum();
                                if d2 < reach * reach && (i != j || [x, y, z] != [0; 3]) {
                                    expected += 1;
                                    around += 1;
                                    distances += d2.sqrt();
                                }
                            }
                        }
                    }
                }
                let mut found = 0;
                cells.around(*a, |_, _| found += 1);
                assert_eq!(found, around + 1);
            }
            assert_eq!(2 * count, expected);
            assert!((2.0 * sum / distances - 1.0).abs() < 1e-12);
        }
    }
}
