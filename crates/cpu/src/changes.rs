//! Changes of velocities and positions: loops over the atoms of one task, a register full at a time.

use crate::integrate::{Follow, MotionCheck, TaskAtoms};
use crate::noise::{BATCH, Normals};
use crate::simd::{Kernel, Lanes, Level, MOST_LANES, Scalar, Simd, widened};
use jostle_core::thermostat::noise_amplitude;
use jostle_core::{Masses, NoiseKey, Real, Vec3, Vector};

impl<S: Scalar> TaskAtoms<'_, S> {
    #[inline(always)]
    fn change_velocities(&mut self, level: Level, change: impl Change) -> MotionCheck {
        let follow = Follow::Not;
        level.run(Changing::<_, _, false> { atoms: self, change, follow })[0]
    }

    #[inline(always)]
    fn change_positions(&mut self, level: Level, change: impl Change, follow: Follow) -> [MotionCheck; 2] {
        level.run(Changing::<_, _, true> { atoms: self, change, follow })
    }

    /// Kick: v += dt f / m. Fails if a force is not finite.
    #[inline(always)]
    pub fn kick(&mut self, level: Level, inverse_mass: &Masses, dt: f64) -> MotionCheck {
        self.change_velocities(level, Kick { inverse_mass, dt })
    }

    /// Drift: r += dt v. Fails if an atom is then beyond the limit of `follow`, or its position not finite.
    #[inline(always)]
    pub fn drift(&mut self, level: Level, dt: f64, follow: Follow) -> MotionCheck {
        self.change_positions(level, Drift { dt }, follow)[1]
    }

    /// Half a kick and a drift: v += dt/2 f / m, then r += dt v. The first result is that of
    /// [`TaskAtoms::kick`], the second that of [`TaskAtoms::drift`].
    #[inline(always)]
    pub fn kick_drift(
        &mut self,
        level: Level,
        inverse_mass: &Masses,
        dt: f64,
        follow: Follow,
    ) -> [MotionCheck; 2] {
        self.change_positions(level, Both(Kick { inverse_mass, dt: 0.5 * dt }, Drift { dt }), follow)
    }

    /// Drift and constraints: r += drift v + c and v += c / dt by the corrections c. Fails as
    /// [`TaskAtoms::drift`] does.
    #[inline(always)]
    pub fn drift_and_correct(&mut self, level: Level, drift: f64, dt: f64, follow: Follow) -> MotionCheck {
        let change = Both(Drift { dt: drift }, Correct { corrections: self.corrections, dt });
        self.change_positions(level, change, follow)[1]
    }

    /// Constraints of velocities: v += c by the corrections c.
    #[inline(always)]
    pub fn correct_velocities(&mut self, level: Level) -> MotionCheck {
        let change = Correct { corrections: self.corrections, dt: 1.0 };
        self.change_velocities(level, change)
    }

    /// Constraints of velocities and a kick: v += c, then v += dt f / m. Fails as [`TaskAtoms::kick`] does.
    #[inline(always)]
    pub fn correct_and_kick(&mut self, level: Level, inverse_mass: &Masses, dt: f64) -> MotionCheck {
        let change = Both(Correct { corrections: self.corrections, dt: 1.0 }, Kick { inverse_mass, dt });
        self.change_velocities(level, change)
    }

    /// Ornstein-Uhlenbeck step v = decay v + sqrt((1 - decay^2) kT / m) xi of all atoms that forces can move.
    #[inline(always)]
    pub fn ornstein_uhlenbeck(
        &mut self,
        level: Level,
        inverse_mass: &Masses,
        decay: f64,
        thermal_energy: f64,
        noise: NoiseKey,
    ) {
        level.run(Damping { atoms: self, inverse_mass, decay, thermal_energy, noise });
    }
}

/// Consecutive atoms, as many as a register holds or as are left of a cluster.
#[derive(Clone, Copy)]
struct AtomBatch {
    first: usize,
    n: usize,
    /// Place of the first atom's x in arrays by cluster.
    place: usize,
}

impl AtomBatch {
    /// Batches of a cluster.
    #[inline(always)]
    fn of<D: Lanes>(
        width: usize,
        c: usize,
        atoms: std::ops::Range<usize>,
    ) -> impl Iterator<Item = AtomBatch> {
        let (start, n, place) = (atoms.start, atoms.len(), c * 3 * width);
        (0..n).step_by(D::WIDTH).map(move |lane| AtomBatch {
            first: start + lane,
            n: (n - lane).min(D::WIDTH),
            place: place + lane,
        })
    }

    /// Bits of a mask of the lanes that have atoms.
    #[inline(always)]
    fn lanes(&self) -> u32 {
        !0 >> (32 - self.n)
    }

    #[inline(always)]
    fn vectors<D: Lanes<Scalar = f64>>(&self, all: &[Vec3]) -> Vector<D> {
        if self.n == D::WIDTH {
            return D::load_vectors(&all[self.first..]);
        }
        let mut some = [Vec3::ZERO; MOST_LANES];
        some[..self.n].copy_from_slice(&all[self.first..self.first + self.n]);
        D::load_vectors(&some)
    }

    #[inline(always)]
    fn put<D: Lanes<Scalar = f64>>(&self, components: Vector<D>, all: &mut [Vec3]) {
        if self.n == D::WIDTH {
            return D::store_vectors(components, &mut all[self.first..]);
        }
        let mut some = [Vec3::ZERO; MOST_LANES];
        D::store_vectors(components, &mut some);
        all[self.first..self.first + self.n].copy_from_slice(&some[..self.n]);
    }

    /// Vectors from an array by cluster: all x, all y, all z of each.
    #[inline(always)]
    fn by_cluster<S: Scalar, D: Lanes<Scalar = f64>>(&self, width: usize, all: &[S]) -> Vector<D> {
        let mut components = Vector([D::lit(0.0); 3]);
        for (k, component) in components.iter_mut().enumerate() {
            let from = &all[self.place + k * width..];
            *component = if self.n == D::WIDTH {
                widened(from)
            } else {
                let mut some = [S::default(); MOST_LANES];
                some[..self.n].copy_from_slice(&from[..self.n]);
                widened(&some)
            };
        }
        components
    }
}

/// Inputs of a change of velocities and positions.
#[derive(Clone, Copy)]
struct MotionInputs<'a, S> {
    width: usize,
    id: &'a [u32],
    species: &'a [u16],
    slot: &'a [u32],
    force: &'a [S],
}

impl<S: Scalar> MotionInputs<'_, S> {
    #[inline(always)]
    fn numbers<D: Lanes<Scalar = f64>>(&self, batch: AtomBatch, of: &Masses) -> D {
        let atoms = batch.first..batch.first + batch.n;
        let mut lanes = [0.0; MOST_LANES];
        match of {
            Masses::BySpecies(all) if all.len() == 1 => return D::splat(all[0]),
            Masses::BySpecies(all) => {
                let kinds = self.species[atoms].iter();
                lanes.iter_mut().zip(kinds).for_each(|(lane, kind)| *lane = all[usize::from(*kind)]);
            }
            Masses::ById(all) => {
                let ids = self.id[atoms].iter();
                lanes.iter_mut().zip(ids).for_each(|(lane, id)| *lane = all[*id as usize]);
            }
        }
        D::load(&lanes)
    }
}

/// The velocities of a batch, the displacements, and a number that is zero unless a force is not finite.
struct Changed<D> {
    velocity: Vector<D>,
    step: Vector<D>,
    zero: D,
}

/// Change of velocities and positions.
trait Change {
    fn make<S: Scalar, D: Lanes<Scalar = f64>>(
        &self,
        inputs: MotionInputs<S>,
        batch: AtomBatch,
        v: Vector<D>,
    ) -> Changed<D>;
}

/// Kick: v += dt f / m.
#[derive(Clone, Copy)]
struct Kick<'a> {
    inverse_mass: &'a Masses,
    dt: f64,
}

impl Change for Kick<'_> {
    #[inline(always)]
    fn make<S: Scalar, D: Lanes<Scalar = f64>>(
        &self,
        inputs: MotionInputs<S>,
        batch: AtomBatch,
        v: Vector<D>,
    ) -> Changed<D> {
        let f = batch.by_cluster::<S, D>(inputs.width, inputs.force);
        let scale = D::lit(self.dt) * inputs.numbers::<D>(batch, self.inverse_mass);
        let mut zero = D::lit(0.0);
        for k in 0..3 {
            zero = zero + D::lit(0.0) * f[k];
        }
        Changed { velocity: v + f * scale, step: Vector([D::lit(0.0); 3]), zero }
    }
}

/// Drift: r += dt v.
#[derive(Clone, Copy)]
struct Drift {
    dt: f64,
}

impl Change for Drift {
    #[inline(always)]
    fn make<S: Scalar, D: Lanes<Scalar = f64>>(
        &self,
        _inputs: MotionInputs<S>,
        _batch: AtomBatch,
        velocity: Vector<D>,
    ) -> Changed<D> {
        Changed { velocity, step: velocity * D::lit(self.dt), zero: D::lit(0.0) }
    }
}

/// Two changes, one after the other.
#[derive(Clone, Copy)]
struct Both<A, B>(A, B);

impl<A: Change, B: Change> Change for Both<A, B> {
    #[inline(always)]
    fn make<S: Scalar, D: Lanes<Scalar = f64>>(
        &self,
        inputs: MotionInputs<S>,
        batch: AtomBatch,
        v: Vector<D>,
    ) -> Changed<D> {
        let first = self.0.make(inputs, batch, v);
        let then = self.1.make(inputs, batch, first.velocity);
        Changed { velocity: then.velocity, step: first.step + then.step, zero: first.zero + then.zero }
    }
}

/// Corrections of constraints: r += c, v += c / dt.
#[derive(Clone, Copy)]
struct Correct<'a> {
    corrections: &'a [Vec3],
    dt: f64,
}

impl Change for Correct<'_> {
    #[inline(always)]
    fn make<S: Scalar, D: Lanes<Scalar = f64>>(
        &self,
        inputs: MotionInputs<S>,
        batch: AtomBatch,
        v: Vector<D>,
    ) -> Changed<D> {
        let slots = &inputs.slot[batch.first..batch.first + batch.n];
        let step = if batch.n == D::WIDTH {
            D::gather_vectors(self.corrections, slots)
        } else {
            let mut some = [0; MOST_LANES];
            some[..batch.n].copy_from_slice(slots);
            D::gather_vectors(self.corrections, &some)
        };
        let per_time = D::lit(1.0 / self.dt);
        Changed { velocity: v + step * per_time, step, zero: D::lit(0.0) }
    }
}

/// Makes a change to all atoms of a task, to velocities alone or to positions as well. Returns the checks of
/// forces and of displacements.
struct Changing<'a, 'b, S, C, const MOVES: bool> {
    atoms: &'a mut TaskAtoms<'b, S>,
    change: C,
    follow: Follow,
}

impl<S: Scalar, C: Change, const MOVES: bool> Kernel for Changing<'_, '_, S, C, MOVES> {
    type Output = [MotionCheck; 2];

    #[inline(always)]
    fn run<I: Simd>(self) -> [MotionCheck; 2] {
        if MOVES && let Follow::UpTo { limit2 } = self.follow {
            return self.all::<I::F64, true>(limit2);
        }
        self.all::<I::F64, false>(0.0)
    }
}

impl<S: Scalar, C: Change, const MOVES: bool> Changing<'_, '_, S, C, MOVES> {
    #[inline(always)]
    fn all<D: Lanes<Scalar = f64>, const FOLLOWS: bool>(self, limit2: f64) -> [MotionCheck; 2] {
        let TaskAtoms {
            width,
            first,
            origin,
            id,
            species,
            slot,
            corrections: _,
            position,
            velocity,
            force,
            relative,
            built,
        } = self.atoms;
        let inputs = MotionInputs { width: *width, id, species, slot, force };
        let (mut zero, mut stays) = (D::lit(0.0), true);
        for (c, atoms) in TaskAtoms::<S>::clusters(first) {
            for batch in AtomBatch::of::<D>(*width, c, atoms) {
                let before = batch.vectors::<D>(velocity);
                let changed = self.change.make(inputs, batch, before);
                batch.put(changed.velocity, velocity);
                zero = zero + changed.zero;
                if !MOVES {
                    continue;
                }
                let r = batch.vectors::<D>(position) + changed.step;
                batch.put(r, position);
                if !FOLLOWS {
                    continue;
                }
                let listed = batch.by_cluster::<S, D>(*width, built);
                let mut far2 = D::lit(0.0);
                for k in 0..3 {
                    let mut lanes = [0.0; MOST_LANES];
                    (r[k] - D::lit(origin[c][k])).store(&mut lanes);
                    let there = &mut relative[batch.place + k * *width..][..batch.n];
                    for (there, x) in there.iter_mut().zip(&mut lanes) {
                        *there = S::from_f64(*x);
                        *x = there.to_f64();
                    }
                    let d = D::load(&lanes) - listed[k];
                    far2 = far2 + d * d;
                }
                // The comparison is false for NaN, too.
                let near = D::bits(far2.lt(D::lit(limit2)));
                stays &= near & batch.lanes() == batch.lanes();
            }
        }
        let check = |passed: bool| if passed { MotionCheck::Passed } else { MotionCheck::Failed };
        [check(zero.sum() == 0.0), check(stays)]
    }
}

/// See [`TaskAtoms::ornstein_uhlenbeck`].
struct Damping<'a, 'b, S> {
    atoms: &'a mut TaskAtoms<'b, S>,
    inverse_mass: &'a Masses,
    decay: f64,
    thermal_energy: f64,
    noise: NoiseKey,
}

impl<S: Scalar> Kernel for Damping<'_, '_, S> {
    type Output = ();

    #[inline(always)]
    fn run<I: Simd>(self) {
        let Damping { atoms, inverse_mass, decay, thermal_energy, noise } = self;
        let TaskAtoms { width, id, species, slot, force, .. } = *atoms;
        let inputs = MotionInputs { width, id, species, slot, force };
        let (decay, thermal_energy) = (I::F64::lit(decay), I::F64::lit(thermal_energy));
        let mut xi = [[0.0; BATCH]; 3];
        for start in (0..atoms.velocity.len()).step_by(BATCH) {
            let end = (start + BATCH).min(atoms.velocity.len());
            let mut id = [0; BATCH];
            id[..end - start].copy_from_slice(&atoms.id[start..end]);
            Normals { id: &id, noise, out: &mut xi }.run::<I>();
            for first in (start..end).step_by(I::F64::WIDTH) {
                let batch = AtomBatch { first, n: (end - first).min(I::F64::WIDTH), place: 0 };
                let inverse_mass = inputs.numbers::<I::F64>(batch, inverse_mass);
                let sigma = noise_amplitude(decay, thermal_energy, inverse_mass);
                let moves = I::F64::lit(0.0).lt(inverse_mass);
                let mut v = batch.vectors::<I::F64>(atoms.velocity);
                for k in 0..3 {
                    let xi = I::F64::load(&xi[k][first - start..]);
                    v[k] = I::F64::select(moves, decay * v[k] + sigma * xi, v[k]);
                }
                batch.put(v, atoms.velocity);
            }
        }
    }
}
