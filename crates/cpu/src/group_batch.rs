//! Groups of atoms that move together, as kernels get them: as many of one kind as a register holds.

use crate::simd::{Lanes, MOST_LANES};
use jostle_core::constraints::Shape;
use jostle_core::{BodyForm, SimBox, State, SymTensor, Vec3, Vector};

/// Groups of one kind, a register full.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GroupBatch {
    pub kind: GroupKind,
    /// Number of atoms of each group.
    pub atoms: usize,
    pub groups: usize,
    pub first_slot: usize,
    /// Beginning of its numbers.
    pub first_number: usize,
}

/// Kind of groups of atoms that move together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GroupKind {
    /// Groups of constraints and virtual sites of a shape, by its number.
    Constrained(usize),
    /// Rigid bodies.
    Rigid(BodyForm),
}

/// Convergence of a batch (true if its constraints hold), and the sum of arm times impulse over it.
pub(crate) type BatchOutcome = (bool, SymTensor);

/// Some batches, with the corrections of their atoms as output.
pub(crate) struct BatchPart<'a> {
    pub shapes: &'a [Shape],
    pub batches: &'a [GroupBatch],
    pub places: &'a [u32],
    pub inverse_mass: &'a [f64],
    pub numbers: &'a [f64],
    pub simbox: &'a SimBox,
    pub state: &'a State,
    pub corrections: &'a mut [Vec3],
}

impl BatchPart<'_> {
    /// The shortest of the vectors between atoms and the images of others, by themselves where they are short enough.
    #[inline(always)]
    pub(crate) fn nearest<L: Lanes<Scalar = f64>>(&self, d: Vector<L>) -> Vector<L> {
        let half = self.simbox.lengths().map(|length| L::lit(0.5 * length));
        let mut inside = !0;
        for axis in 0..3 {
            let (above, below) = (d[axis].lt(half[axis]), (-half[axis]).lt(d[axis]));
            inside &= L::bits(L::and(above, below));
        }
        match inside & (!0 >> (32 - L::WIDTH)) == !0 >> (32 - L::WIDTH) {
            true => d,
            false => self.nearest_images(d),
        }
    }

    /// The shortest of the vectors between atoms and the images of others.
    #[inline(always)]
    fn nearest_images<L: Lanes<Scalar = f64>>(&self, d: Vector<L>) -> Vector<L> {
        let mut lanes = [Vec3::ZERO; MOST_LANES];
        L::store_vectors(d, &mut lanes);
        for d in &mut lanes[..L::WIDTH] {
            *d = self.simbox.nearest_image(*d);
        }
        L::load_vectors(&lanes)
    }

    /// A number of every group of a batch.
    #[inline(always)]
    pub(crate) fn number<L: Lanes<Scalar = f64>>(&self, batch: &GroupBatch, k: usize) -> L {
        L::load(&self.numbers[batch.first_number + k * L::WIDTH..])
    }

    /// Stores the change of a vector of the k-th atoms of a batch.
    #[inline(always)]
    pub(crate) fn store_atom<L: Lanes<Scalar = f64>>(
        &mut self,
        batch: &GroupBatch,
        k: usize,
        change: Vector<L>,
    ) {
        let first = batch.first_slot - self.batches[0].first_slot;
        L::store_vectors(change, &mut self.corrections[first + k * L::WIDTH..]);
    }
}
