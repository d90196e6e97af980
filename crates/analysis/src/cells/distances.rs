//! Distances of all pairs, many at a time: histograms look at thousands of atoms around each.
//!
//! Atoms around a block of cells are copied once, in single precision relative to its middle, and
//! every atom of the block then goes along that copy from end to end.

use super::{CellLayout, CellLine, Cells};
use jostle_core::{Result, SimBox, Vec3, Vector};
use multiversion::multiversion;
use rayon::prelude::*;
use std::ops::Range;

/// Number of atoms whose distances are found at once.
pub const ROW: usize = 64;

/// Farther than any reach, and its square is a number.
const FAR: f32 = 1e18;

/// Narrower cells reach less too far, wider ones are fewer to copy from.
const LAYOUT: CellLayout = CellLayout { of_reach: 0.125, of_spacing: 1.2, multiple: EDGE };

/// Cells of a block along each axis, where there is more than one.
const EDGE: usize = 2;

/// Atoms in a block of cells, and those around it within reach.
#[derive(Debug, Clone, Default)]
pub struct CellSurroundings {
    /// Number of atoms in the block, which come first: each makes pairs with all after it.
    pub own: usize,
    /// x, y, z of each relative to the middle of the block, rounded; empty places, at the end,
    /// are far away.
    pub place: [Vec<f32>; 3],
    /// Label of each.
    pub labels: Vec<u32>,
    rows: Vec<ShiftedRow>,
}

/// Atoms that are neighbours in memory, and how they are shifted to be seen from a block.
#[derive(Debug, Clone)]
struct ShiftedRow {
    atoms: Range<usize>,
    shift: Vec3,
}

/// Atoms in the order of their cells.
struct Sorted {
    place: [Vec<f64>; 3],
    labels: Vec<u32>,
}

/// Goes over all pairs within reach, each once, and some beyond it, on all threads: `each` adds what
/// is around a block of cells to an accumulator, of which every task has its own, and `join` puts
/// two together. Atoms have labels.
///
/// # Errors
/// Errors of [`Cells::new`].
pub fn fold_around<A: Send>(
    (simbox, positions, labels): (&SimBox, &[Vec3], &[u32]),
    reach: f64,
    new: impl Fn() -> A + Sync + Send,
    each: impl Fn(&mut A, &CellSurroundings) + Sync + Send,
    join: impl Fn(A, A) -> A + Sync + Send,
) -> Result<A> {
    let cells = Cells::with_layout(simbox, positions, reach, &LAYOUT)?;
    let sorted = Sorted {
        place: [0, 1, 2].map(|k| cells.position.iter().map(|r| r[k]).collect()),
        labels: cells.id.iter().map(|id| labels[*id as usize]).collect(),
    };
    let blocks = CellBlocks::new(&cells);
    let home = |(mut sums, mut around): (A, CellSurroundings), block: usize| {
        if blocks.gather(block, &mut around) {
            fill(&mut around, &sorted);
            each(&mut sums, &around);
        }
        (sums, around)
    };
    let tasks = (0..blocks.count.iter().product::<usize>()).into_par_iter().with_min_len(8);
    Ok(tasks.fold(|| (new(), CellSurroundings::default()), home).map(|(sums, _)| sums).reduce(&new, &join))
}

/// Copies the rows.
#[multiversion(targets("x86_64+avx2"))]
fn fill(around: &mut CellSurroundings, sorted: &Sorted) {
    let all = around.rows.iter().map(|row| row.atoms.len()).sum();
    around.labels.resize(all + ROW, 0);
    around.place.iter_mut().for_each(|x| x.resize(all + ROW, FAR));
    let mut begin = 0;
    for ShiftedRow { atoms, shift } in &around.rows {
        let to = begin..begin + atoms.len();
        for k in 0..3 {
            let from = &sorted.place[k][atoms.clone()];
            around.place[k][to.clone()].iter_mut().zip(from).for_each(|(x, r)| *x = (r + shift[k]) as f32);
        }
        let from = &sorted.labels[atoms.clone()];
        around.labels[to.clone()].iter_mut().zip(from).for_each(|(label, of)| *label = *of);
        begin = to.end;
    }
    around.place.iter_mut().for_each(|x| x[all..].fill(FAR));
    around.labels[all..].fill(0);
}

/// Blocks of cells.
struct CellBlocks<'a> {
    cells: &'a Cells,
    /// Cells along the edges of a block.
    edge: [usize; 3],
    count: [usize; 3],
    /// Lines of the cells of a block itself, as seen from its first cell.
    own: Vec<CellLine>,
    /// Lines of half of the cells around it, so that each pair is found once.
    beyond: Vec<CellLine>,
    /// Along each axis, from the span before the first cell on: which cell that is, in which image.
    wrapped: [Vec<Option<(usize, i32)>>; 3],
}

impl<'a> CellBlocks<'a> {
    fn new(cells: &'a Cells) -> Self {
        let edge = cells.shape.map(|n| n.min(EDGE));
        let count = std::array::from_fn(|k| cells.shape[k] / edge[k]);
        let [a, b, c] = edge.map(|n| n as i32);
        let (mut own, mut beyond) = (Vec::new(), Vec::new());
        for x in -cells.span[0]..a + cells.span[0] {
            for y in -cells.span[1]..b + cells.span[1] {
                let away = [(-x).max(x + 1 - a).max(0), (-y).max(y + 1 - b).max(0)];
                let Some(span) = cells.span_beside(away) else { continue };
                let line = |from, to| CellLine { across: [x, y], from, to };
                match (x.div_euclid(a), y.div_euclid(b)) {
                    (0, 0) => {
                        own.push(line(0, c - 1));
                        beyond.push(line(c, c - 1 + span));
                    }
                    block if block > (0, 0) => beyond.push(line(-span, c - 1 + span)),
                    _ => {}
                }
            }
        }
        let wrapped = std::array::from_fn(|k| {
            let (n, span, open) = (cells.shape[k] as i32, cells.span[k], !cells.simbox.periodic()[k]);
            let cell = |at: i32| match open && !(0..n).contains(&at) {
                true => None,
                false => Some((at.rem_euclid(n) as usize, at.div_euclid(n))),
            };
            (-span..n + span).map(cell).collect()
        });
        CellBlocks { cells, edge, count, own, beyond, wrapped }
    }

    /// Finds the rows within reach of a block; returns true if there is any atom in it.
    fn gather(&self, block: usize, around: &mut CellSurroundings) -> bool {
        let [_, y, z] = self.count;
        let at = [block / (y * z), block / z % y, block % z];
        let first: [usize; 3] = std::array::from_fn(|k| at[k] * self.edge[k]);
        let middle = self.cells.point(Vector::from_fn(|k| first[k] as f64 + 0.5 * self.edge[k] as f64));
        around.rows.clear();
        self.own.iter().for_each(|line| self.add_rows(first, middle, line, &mut around.rows));
        around.own = around.rows.iter().map(|row| row.atoms.len()).sum();
        if around.own > 0 {
            self.beyond.iter().for_each(|line| self.add_rows(first, middle, line, &mut around.rows));
        }
        around.own > 0
    }

    /// The rows of atoms that a line leads to: they end where the box does.
    fn add_rows(&self, at: [usize; 3], middle: Vec3, line: &CellLine, rows: &mut Vec<ShiftedRow>) {
        let Cells { simbox, shape, span, start, .. } = self.cells;
        let seen = |k: usize, offset: i32| self.wrapped[k][(at[k] as i32 + offset + span[k]) as usize];
        let (Some((x, a)), Some((y, b))) = (seen(0, line.across[0]), seen(1, line.across[1])) else { return };
        let mut z = line.from;
        while z <= line.to {
            let Some((into, c)) = seen(2, z) else {
                z += 1;
                continue;
            };
            let length = (shape[2] - into).min((line.to - z + 1) as usize);
            let cell = (x * shape[1] + y) * shape[2] + into;
            let atoms = start[cell] as usize..start[cell + length] as usize;
            if !atoms.is_empty() {
                let image = simbox.shift([a, b, c]);
                rows.push(ShiftedRow { atoms, shift: (image - middle) });
            }
            z += length as i32;
        }
    }
}
