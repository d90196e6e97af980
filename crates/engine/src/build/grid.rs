//! A grid of cells that finds atoms near a point while a system is being built.

use jostle_core::{SimBox, Vec3};

const NONE: u32 = u32::MAX;

/// Atoms sorted into cells no narrower than `reach`, so that all atoms within `reach` of a point
/// lie in its own cell and the 26 around it.
pub(super) struct Grid {
    simbox: SimBox,
    reach: f64,
    cells: [usize; 3],
    /// The last atom put into each cell.
    head: Vec<u32>,
    /// The atom put into the same cell before.
    next: Vec<u32>,
    positions: Vec<Vec3>,
}

impl Grid {
    /// An empty grid meant for about `atoms` atoms. `reach` must not exceed half the smallest
    /// periodic width of the box.
    pub(super) fn new(simbox: SimBox, reach: f64, atoms: usize) -> Self {
        // More cells than atoms only cost memory.
        let most = (atoms as f64).cbrt().ceil().max(1.0);
        let cells = simbox.widths().map(|width| (width / reach).min(most).max(1.0) as usize);
        let head = vec![NONE; cells.iter().product()];
        Grid { simbox, reach, cells, head, next: Vec::new(), positions: Vec::new() }
    }

    /// Adds an atom; its index is the number of atoms before it.
    pub(super) fn insert(&mut self, position: Vec3) {
        let [x, y, z] = self.cell(position);
        let cell = self.index(x, y, z);
        self.next.push(self.head[cell]);
        self.head[cell] = self.positions.len() as u32;
        self.positions.push(position);
    }

    /// An atom nearer to a point than `reach`.
    pub(super) fn neighbor(&self, position: Vec3) -> Option<usize> {
        self.find(position, |_, r2| r2 < self.reach * self.reach)
    }

    /// An atom in the cells around a point that is accepted by its index and the square of its distance; all nearer
    /// than `reach` are asked.
    pub(super) fn find(&self, position: Vec3, mut accept: impl FnMut(usize, f64) -> bool) -> Option<usize> {
        let [cx, cy, cz] = self.cell(position);
        for z in self.around(cz, 2) {
            for y in self.around(cy, 1) {
                for x in self.around(cx, 0) {
                    let mut atom = self.head[self.index(x, y, z)];
                    while atom != NONE {
                        let other = self.positions[atom as usize];
                        let d = self.simbox.nearest_image(other - position);
                        if accept(atom as usize, d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) {
                            return Some(atom as usize);
                        }
                        atom = self.next[atom as usize];
                    }
                }
            }
        }
        None
    }

    fn index(&self, x: usize, y: usize, z: usize) -> usize {
        (z * self.cells[1] + y) * self.cells[0] + x
    }

    /// The cell of a point; points outside an open box belong to its outermost cells.
    fn cell(&self, position: Vec3) -> [usize; 3] {
        let s = self.simbox.to_fractional(position);
        let periodic = self.simbox.periodic();
        [0, 1, 2].map(|k| {
            let s = if periodic[k] { s[k] - s[k].floor() } else { s[k].clamp(0.0, 1.0) };
            ((s * self.cells[k] as f64) as usize).min(self.cells[k] - 1)
        })
    }

    /// Indices along an axis of the cell, where neighbours are most likely, of the one before and of the one
    /// after; cells may repeat in tiny grids.
    fn around(&self, cell: usize, axis: usize) -> impl Iterator<Item = usize> + use<> {
        let (n, periodic) = (self.cells[axis], self.simbox.periodic()[axis]);
        [1, 0, 2].into_iter().filter_map(move |step| {
            let shifted = cell + step;
            match (1..=n).contains(&shifted) {
                true => Some(shifted - 1),
                false if periodic => Some((shifted + n - 1) % n),
                false => None,
            }
        })
    }
}
