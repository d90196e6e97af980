//! Kernels of rigid bodies, by [`jostle_core::constraints`]: as many bodies with the same number of atoms at a time as a
//! register holds, whose atoms are gone through one after the other.

use crate::group_batch::{BatchPart, GroupBatch};
use crate::simd::{Lanes, MOST_LANES};
use jostle_core::constraints::{
    ATOM_NUMBERS, Axes, BodyAtom, INERTIA_NUMBERS, Inertia, MOST_ROUNDS, TOLERANCE, angular_velocity, axes,
    begin_turn, improve_turn, in_space, turn_of_atom, turned,
};
use jostle_core::{BodyForm, State, SymTensor, Vector};

/// An atom of each body of a batch: its position from the first one, and its velocity.
struct Atom<L> {
    r: Vector<L>,
    v: Vector<L>,
}

/// Reader of the bodies of a batch, after a drift for some time, with velocities before a kick by `unkicked`.
struct Bodies<'p, 'a, L> {
    part: &'p BatchPart<'a>,
    batch: &'p GroupBatch,
    form: BodyForm,
    drift: f64,
    unkicked: f64,
    first: Vector<L>,
}

impl<'p, 'a, L: Lanes<Scalar = f64>> Bodies<'p, 'a, L> {
    #[inline(always)]
    fn new(
        part: &'p BatchPart<'a>,
        batch: &'p GroupBatch,
        form: BodyForm,
        drift: f64,
        unkicked: f64,
    ) -> Self {
        let first = Vector([L::lit(0.0); 3]);
        let mut bodies = Bodies { part, batch, form, drift, unkicked, first };
        bodies.first = bodies.at(0).r;
        bodies
    }

    /// Position and velocity of the k-th atom of each body.
    #[inline(always)]
    fn at(&self, k: usize) -> Atom<L> {
        let first = self.batch.first_slot + k * L::WIDTH;
        let places = &self.part.places[first..first + L::WIDTH];
        let State { position, velocity, force, .. } = self.part.state;
        let (mut r, mut v) = (L::gather_vectors(position, places), L::gather_vectors(velocity, places));
        if self.unkicked != 0.0 {
            let inverse_mass = L::load(&self.part.inverse_mass[first..first + L::WIDTH]);
            v = v.along(L::lit(-self.unkicked) * inverse_mass, L::gather_vectors(force, places));
        }
        r = r.along(L::lit(self.drift), v);
        Atom { r, v }
    }

    /// Position from the first atom, in the nearest image, and velocity of the k-th atom of each body.
    #[inline(always)]
    fn atom(&self, k: usize) -> Atom<L> {
        let Atom { r, v } = self.at(k);
        Atom { r: self.part.nearest(r - self.first), v }
    }

    /// Position from the first atom `dt` ago.
    #[inline(always)]
    fn before(&self, atom: &Atom<L>, first: Vector<L>, dt: f64) -> Vector<L> {
        atom.r.along(L::lit(-dt), atom.v - first)
    }

    /// Axes `dt` ago.
    #[inline(always)]
    fn axes(&self, dt: f64) -> Axes<L> {
        let first = self.atom(0).v;
        let second = self.before(&self.atom(1), first, dt);
        let third = match self.form {
            BodyForm::Linear => second,
            BodyForm::Spatial => self.before(&self.atom(2), first, dt),
        };
        axes(self.form, second, third)
    }

    #[inline(always)]
    fn inertia(&self) -> Inertia<L> {
        let mut numbers = [L::lit(0.0); INERTIA_NUMBERS];
        for (k, number) in numbers.iter_mut().enumerate() {
            *number = self.part.number(self.batch, k);
        }
        Inertia::from_numbers(&numbers)
    }

    #[inline(always)]
    fn constants(&self, k: usize) -> BodyAtom<L> {
        let number = |n: usize| self.part.number(self.batch, INERTIA_NUMBERS + k * ATOM_NUMBERS + n);
        BodyAtom { mass: number(0), place: Vector([number(1), number(2), number(3)]) }
    }

    /// Velocity of the centre of mass, and angular momentum about it with these axes.
    #[inline(always)]
    fn momenta(&self, inertia: &Inertia<L>, axes: &Axes<L>) -> [Vector<L>; 2] {
        let (mut velocity, mut momentum) = (Vector([L::lit(0.0); 3]), Vector([L::lit(0.0); 3]));
        for k in 0..self.batch.atoms {
            let (v, BodyAtom { mass, place }) = (self.at(k).v, self.constants(k));
            velocity = velocity.along(mass * inertia.inverse_mass, v);
            momentum = momentum.along(mass, in_space(axes, place).cross(v));
        }
        [velocity, momentum]
    }
}

/// Corrections of positions after a drift for `dt`, of which `still_to_drift` has not been made yet. Returns true if
/// all bodies have turned.
#[inline(always)]
pub(crate) fn correct_positions<L: Lanes<Scalar = f64>>(
    part: &mut BatchPart,
    batch: &GroupBatch,
    form: BodyForm,
    dt: f64,
    still_to_drift: f64,
) -> bool {
    let bodies = Bodies::<L>::new(part, batch, form, still_to_drift, 0.0);
    let (inertia, before) = (bodies.inertia(), bodies.axes(dt));
    let [velocity, momentum] = bodies.momenta(&inertia, &before);
    let (half, mut u) = begin_turn(&before, &inertia, momentum, L::lit(dt));
    let held = (0..MOST_ROUNDS).any(|_| {
        let (better, change) = improve_turn(&inertia, half, u);
        u = better;
        let mut changes = [0.0; MOST_LANES];
        change.store(&mut changes);
        changes[..L::WIDTH].iter().all(|change| *change <= TOLERANCE * TOLERANCE)
    });
    let after = turned(&before, u);
    let (first_place, first_v, first_r) = (bodies.constants(0).place, bodies.atom(0).v, bodies.first);
    for k in 0..batch.atoms {
        let bodies =
            Bodies::<'_, '_, L> { part, batch, form, drift: still_to_drift, unkicked: 0.0, first: first_r };
        let atom = bodies.atom(k);
        let apart = bodies.before(&atom, first_v, dt);
        let turn = turn_of_atom([&before, &after], first_place, bodies.constants(k).place, apart);
        let change = turn.along(L::lit(dt), velocity - atom.v);
        part.store_atom(batch, k, change);
    }
    held
}

/// Corrections of velocities to those of rigid bodies, and the sum of arm times impulse over all atoms.
#[inline(always)]
pub(crate) fn correct_velocities<L: Lanes<Scalar = f64>>(
    part: &mut BatchPart,
    batch: &GroupBatch,
    form: BodyForm,
    unkicked: f64,
) -> SymTensor {
    let bodies = Bodies::<L>::new(part, batch, form, 0.0, unkicked);
    let (inertia, axes, first) = (bodies.inertia(), bodies.axes(0.0), bodies.first);
    let [velocity, momentum] = bodies.momenta(&inertia, &axes);
    let spin = angular_velocity(&axes, &inertia, momentum);
    let mut impulse = [L::lit(0.0); 6];
    for k in 0..batch.atoms {
        let bodies = Bodies::<'_, '_, L> { part, batch, form, drift: 0.0, unkicked, first };
        let (v, BodyAtom { mass, place }) = (bodies.at(k).v, bodies.constants(k));
        let arm = in_space(&axes, place);
        let change = velocity + spin.cross(arm) - v;
        for (sum, (p, q)) in impulse.iter_mut().zip([(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]) {
            *sum = *sum + mass * arm[p] * change[q];
        }
        part.store_atom(batch, k, change);
    }
    impulse.map(|along| {
        let mut lanes = [0.0; MOST_LANES];
        along.store(&mut lanes);
        lanes[..batch.groups].iter().sum()
    })
}
