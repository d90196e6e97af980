//! Pair interactions in the loop over blocks ([`crate::blocks`]): one row after the other, a register full of
//! partners at a time.

use crate::blocks::{BlockArrays, BlockKernel, BlockView, ListPass, RowSums, Sums, center_of_row, lanes};
use crate::simd::{Lanes, Scalar};
use jostle_core::Real;

/// A pair term made ready for the CPU.
pub trait PairKernel<S: Scalar>: Send + Sync {
    /// Returns true for a formula that is interpreted, which is slower than one that is compiled.
    fn is_interpreted(&self) -> bool {
        false
    }
    /// Adds the term's forces over the list of one task.
    fn add_forces(&self, pass: ListPass<S>) -> Sums;
}

/// Interaction of two atoms.
pub(crate) trait PairInteraction<L: Lanes> {
    /// True if rows gather energies and virials.
    const ENERGIES: bool;
    /// Numbers that depend on the species of an atom and of its partners.
    type Kinds: Copy;

    /// Numbers of the pairs of a row's atom with the atoms of another cluster.
    fn kinds(&self, at: &BlockView<L::Scalar>, row: usize, other: usize) -> Self::Kinds;
    /// Square cut-offs.
    fn cutoff2(kinds: &Self::Kinds) -> L;
    /// Energies and forces over distance at squared distances.
    fn evaluate(&self, r2: L, kinds: &Self::Kinds) -> (L, L);
}

/// Registers of a place of the tile: coordinates and forces.
const PLACE: usize = 6;

/// The block kernel of a pair interaction.
pub(crate) struct PerRow<E>(pub E);

impl<E> PerRow<E> {
    /// Adds the forces between the atom of a row and the atoms of a place, or only some of these.
    #[inline(always)]
    fn interact<L: Lanes, const ONLY_SOME: bool>(
        &self,
        center: [L; 3],
        kinds: &E::Kinds,
        place: &mut [L::Scalar],
        some: L::Mask,
        gathered: &mut RowSums<L>,
    ) where
        E: PairInteraction<L>,
    {
        let d = distance(place, center);
        let r2 = square(d);
        let mut near = r2.lt(E::cutoff2(kinds));
        if ONLY_SOME {
            near = L::and(near, some);
        }
        act(place, d, near, self.0.evaluate(r2, kinds), E::ENERGIES, gathered);
    }
}

impl<L: Lanes, E: PairInteraction<L>> BlockKernel<L> for PerRow<E> {
    const PLACE: usize = PLACE;
    const N_ACCUMULATED: usize = 3;

    #[inline(always)]
    fn evaluate_block(&mut self, at: &BlockView<L::Scalar>, arrays: BlockArrays<L::Scalar>) {
        let BlockArrays { tile, rows, sums } = arrays;
        let place = PLACE * L::WIDTH;
        for row in 0..at.n_rows {
            let center = center_of_row(tile, row);
            let mut gathered = RowSums::<L>::new();
            for &k in at.partners(row) {
                let k = usize::from(k);
                let kinds = self.0.kinds(at, row, at.entries[k].cluster as usize);
                let part = &mut tile[(k + 1) * place..(k + 2) * place];
                self.interact::<L, false>(center, &kinds, part, L::mask(0), &mut gathered);
            }
            let itself = at.own.then(|| (0, at.after(row)));
            let parts = at.parts(row).iter().map(|part| (usize::from(part.entry) + 1, part.atoms.into()));
            for (k, atoms) in itself.into_iter().chain(parts) {
                let kinds = self.0.kinds(at, row, at.cluster_at(k));
                let part = &mut tile[k * place..(k + 1) * place];
                self.interact::<L, true>(center, &kinds, part, lanes::<L>(atoms), &mut gathered);
            }
            gathered.store_sums(3, row, rows);
            if E::ENERGIES {
                sums.add(&gathered);
            }
        }
    }
}

/// Vectors from the atoms at a place of the tile to one atom.
#[inline(always)]
pub(crate) fn distance<L: Lanes>(place: &[L::Scalar], center: [L; 3]) -> [L; 3] {
    let dx = center[0] - L::load(place);
    let dy = center[1] - L::load(&place[L::WIDTH..]);
    let dz = center[2] - L::load(&place[2 * L::WIDTH..]);
    [dx, dy, dz]
}

/// The square of a distance.
#[inline(always)]
pub(crate) fn square<R: Real>([dx, dy, dz]: [R; 3]) -> R {
    dx.mul_add(dx, dy.mul_add(dy, dz * dz))
}

/// Adds the forces between an atom and the atoms of a place that are near, with energies and virials or
/// without.
#[inline(always)]
pub(crate) fn act<L: Lanes>(
    place: &mut [L::Scalar],
    d: [L; 3],
    near: L::Mask,
    (energy, force_over_r): (L, L),
    energies: bool,
    gathered: &mut RowSums<L>,
) {
    let force_over_r = L::select(near, force_over_r, L::lit(0.0));
    add_pair_forces(place, d, force_over_r, gathered);
    if energies {
        gathered.add_sums(L::select(near, energy, L::lit(0.0)), force_over_r, d);
    }
}

/// Adds forces on an atom and the opposite ones on the atoms of a place.
#[inline(always)]
pub(crate) fn add_pair_forces<L: Lanes>(
    place: &mut [L::Scalar],
    d: [L; 3],
    force_over_r: L,
    gathered: &mut RowSums<L>,
) {
    add_force(d, force_over_r, &mut gathered.force);
    let accumulated = &place[3 * L::WIDTH..6 * L::WIDTH];
    let mut reaction =
        [L::load(accumulated), L::load(&accumulated[L::WIDTH..]), L::load(&accumulated[2 * L::WIDTH..])];
    add_force(d, force_over_r, &mut reaction);
    for k in 0..3 {
        reaction[k].store(&mut place[(3 + k) * L::WIDTH..]);
    }
}

/// Adds a force along the vector between two atoms.
#[inline(always)]
pub(crate) fn add_force<R: Real>(d: [R; 3], force_over_r: R, accumulated: &mut [R; 3]) {
    for k in 0..3 {
        accumulated[k] = d[k].mul_add(force_over_r, accumulated[k]);
    }
}
