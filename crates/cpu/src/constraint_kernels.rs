//! Kernels of constraints ([`crate::constraints`]): as many groups of one shape at a time as a register holds.

use crate::group_batch::{BatchOutcome, BatchPart, GroupBatch, GroupKind};
use crate::rigid_kernels;
use crate::simd::{Kernel, Lanes, MOST_LANES, Simd};
use jostle_core::constraints::{
    ImpulseCoupling, MOST, MOST_ATOMS, MOST_ROUNDS, Shape, Solver, TOLERANCE, Water, rattle, settle, shake,
};
use jostle_core::virtual_sites::follow;
use jostle_core::{State, SymTensor, Vector};

/// The atoms of a batch, a group a lane: positions and velocities relative to the first atom of the group,
/// and inverse masses.
struct BatchAtoms<L> {
    r: [Vector<L>; MOST_ATOMS],
    v: [Vector<L>; MOST_ATOMS],
    inverse_mass: [L; MOST_ATOMS],
}

impl BatchPart<'_> {
    /// Fills lanes with groups after a drift for some time, with velocities before a kick by `unkicked`.
    #[inline(always)]
    fn load<L: Lanes<Scalar = f64>>(&self, batch: &GroupBatch, drift: f64, unkicked: f64) -> BatchAtoms<L> {
        let n = batch.atoms;
        let zero = L::lit(0.0);
        let mut atoms = BatchAtoms {
            r: [Vector([zero; 3]); MOST_ATOMS],
            v: [Vector([zero; 3]); MOST_ATOMS],
            inverse_mass: [zero; MOST_ATOMS],
        };
        let State { position, velocity, force, .. } = self.state;
        let (mut first_r, mut first_v) = (Vector([zero; 3]), Vector([zero; 3]));
        for k in 0..n {
            let slots = batch.first_slot + k * L::WIDTH..batch.first_slot + (k + 1) * L::WIDTH;
            let places = &self.places[slots.clone()];
            let inverse_mass = L::load(&self.inverse_mass[slots]);
            let (mut r, mut v) = (L::gather_vectors(position, places), L::gather_vectors(velocity, places));
            if unkicked != 0.0 {
                let (force, scale) = (L::gather_vectors(force, places), L::lit(-unkicked) * inverse_mass);
                v = v.along(scale, force);
            }
            r = r.along(L::lit(drift), v);
            if k == 0 {
                (first_r, first_v) = (r, v);
            }
            atoms.v[k] = v - first_v;
            atoms.r[k] = self.nearest(r - first_r);
            atoms.inverse_mass[k] = inverse_mass;
        }
        atoms
    }

    /// Stores the differences between new and old vectors. Returns true if all of them are finite.
    #[inline(always)]
    fn store<L: Lanes<Scalar = f64>>(
        &mut self,
        batch: &GroupBatch,
        has: &[Vector<L>; MOST_ATOMS],
        had: &[Vector<L>; MOST_ATOMS],
    ) -> bool {
        let n = batch.atoms;
        let mut zero = L::lit(0.0);
        for k in 0..n {
            let change = has[k] - had[k];
            for axis in 0..3 {
                zero = zero + L::lit(0.0) * change[axis];
            }
            self.store_atom(batch, k, change);
        }
        zero.sum() == 0.0
    }
}

/// See [`Constraints::correct_positions`].
pub(crate) struct Positions<'a> {
    pub part: BatchPart<'a>,
    pub dt: f64,
    pub still_to_drift: f64,
}

impl Kernel for Positions<'_> {
    type Output = Vec<BatchOutcome>;

    #[inline(always)]
    fn run<I: Simd>(self) -> Vec<BatchOutcome> {
        let Positions { mut part, dt, still_to_drift } = self;
        let mut outcomes = Vec::with_capacity(part.batches.len());
        for batch in part.batches {
            let held = match batch.kind {
                GroupKind::Rigid(form) => {
                    rigid_kernels::correct_positions::<I::F64>(&mut part, batch, form, dt, still_to_drift)
                }
                GroupKind::Constrained(shape) => {
                    let shape = &part.shapes[shape];
                    correct_positions::<I::F64>(&mut part, batch, shape, dt, still_to_drift)
                }
            };
            outcomes.push((held, [0.0; 6]));
        }
        outcomes
    }
}

#[inline(always)]
fn correct_positions<L: Lanes<Scalar = f64>>(
    part: &mut BatchPart,
    batch: &GroupBatch,
    shape: &Shape,
    dt: f64,
    still_to_drift: f64,
) -> bool {
    let BatchAtoms { r, v, inverse_mass } = part.load::<L>(batch, still_to_drift, 0.0);
    let (mut before, mut now) = (r, r);
    for k in 0..shape.atoms {
        before[k] = r[k] - v[k] * L::lit(dt);
    }
    let held = match shape.solver {
        Solver::Settle => {
            let water = Water {
                to_apex: part.number::<L>(batch, 0),
                to_base: part.number::<L>(batch, 1),
                half_base: part.number::<L>(batch, 2),
                weight: part.number::<L>(batch, 3),
            };
            let first = |of: &[Vector<L>; MOST_ATOMS]| [of[0], of[1], of[2]];
            let settled = settle(&water, first(&before), first(&now));
            now[..3].copy_from_slice(&settled);
            true
        }
        Solver::Shake => {
            let mut lengths = [L::lit(1.0); MOST];
            for (k, length) in lengths[..shape.pairs.len()].iter_mut().enumerate() {
                *length = part.number(batch, k);
            }
            let coupling = ImpulseCoupling::new(&shape.pairs, &before, &inverse_mass);
            (0..MOST_ROUNDS).any(|_| {
                let mut errors = [0.0; MOST_LANES];
                shake(&shape.pairs, &coupling, &lengths, &inverse_mass, &mut now).store(&mut errors);
                errors[..L::WIDTH].iter().all(|error| *error <= TOLERANCE * TOLERANCE)
            })
        }
    };
    follow(&shape.sites, &mut now);
    part.store(batch, &now, &r) && held
}

/// See [`Constraints::correct_velocities`].
pub(crate) struct Velocities<'a> {
    pub part: BatchPart<'a>,
    pub unkicked: f64,
}

impl Kernel for Velocities<'_> {
    type Output = Vec<BatchOutcome>;

    #[inline(always)]
    fn run<I: Simd>(self) -> Vec<BatchOutcome> {
        let Velocities { mut part, unkicked } = self;
        let mut outcomes = Vec::with_capacity(part.batches.len());
        for batch in part.batches {
            let impulse = match batch.kind {
                GroupKind::Rigid(form) => {
                    rigid_kernels::correct_velocities::<I::F64>(&mut part, batch, form, unkicked)
                }
                GroupKind::Constrained(shape) => {
                    let shape = &part.shapes[shape];
                    correct_velocities::<I::F64>(&mut part, batch, shape, unkicked)
                }
            };
            outcomes.push((true, impulse));
        }
        outcomes
    }
}

#[inline(always)]
fn correct_velocities<L: Lanes<Scalar = f64>>(
    part: &mut BatchPart,
    batch: &GroupBatch,
    shape: &Shape,
    unkicked: f64,
) -> SymTensor {
    let BatchAtoms { r, v, inverse_mass } = part.load::<L>(batch, 0.0, unkicked);
    let mut now = v;
    let impulse = match shape.solver {
        // The generic function with pairs that are known at compile time.
        Solver::Settle => rattle(&[[0, 1], [0, 2], [1, 2]], &r, &inverse_mass, &mut now),
        Solver::Shake => rattle(&shape.pairs, &r, &inverse_mass, &mut now),
    };
    part.store(batch, &now, &v);
    impulse.map(|along| {
        let mut lanes = [0.0; MOST_LANES];
        along.store(&mut lanes);
        lanes[..batch.groups].iter().sum()
    })
}
