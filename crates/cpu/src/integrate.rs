//! The atoms of one task, with plain changes of velocities and sums over them; `changes.rs` has the
//! changes that are made to a register full of atoms at a time.

use crate::simd::Scalar;
use jostle_core::backend::Descent;
use jostle_core::{Kinetic, Masses, Vec3, Vector};
use jostle_potentials::external::PlacedWalls;

/// The atoms of a task, cluster by cluster.
pub struct TaskAtoms<'a, S> {
    /// Number of places of a cluster.
    pub width: usize,
    /// First atom of each cluster and one past the last, counted from the task's first.
    pub first: &'a [u32],
    /// Origin of the coordinates of each cluster.
    pub origin: &'a [Vec3],
    /// Numbers of the atoms.
    pub id: &'a [u32],
    /// Species of the atoms.
    pub species: &'a [u16],
    /// Index into the corrections of constraints, if there are any.
    pub slot: &'a [u32],
    /// Corrections of constraints.
    pub corrections: &'a [Vec3],
    /// Positions of the atoms.
    pub position: &'a mut [Vec3],
    /// Velocities of the atoms.
    pub velocity: &'a mut [Vec3],
    /// Forces, cluster by cluster: all x, all y, all z.
    pub force: &'a [S],
    /// Positions relative to the origin of the cluster, in the same order.
    pub relative: &'a mut [S],
    /// Relative positions with which the neighbour list was built.
    pub built: &'a [S],
}

/// Update of the coordinates in clusters when atoms move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Follow {
    /// No update, because the atoms will be moved again.
    Not,
    /// Update, up to a distance from the positions of the neighbour list.
    UpTo {
        /// The square of that distance.
        limit2: f64,
    },
}

/// Result of a test of displacements or forces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MotionCheck {
    /// No fault.
    Passed,
    /// A displacement beyond the limit, or a number that is not finite.
    Failed,
}

impl<S: Scalar> TaskAtoms<'_, S> {
    /// Clusters with the ranges of their atoms, counted from the task's first.
    pub(crate) fn clusters(first: &[u32]) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
        let base = first[0];
        let bounds = first.windows(2).enumerate();
        bounds.map(move |(c, f)| (c, (f[0] - base) as usize..(f[1] - base) as usize))
    }

    #[inline(always)]
    fn force(force: &[S], width: usize, cluster: usize, lane: usize) -> Vec3 {
        let place = cluster * 3 * width + lane;
        Vector::from_fn(|k| force[place + k * width].to_f64())
    }

    /// Scaling and shift of velocities, v = factor v + delta, of all atoms that forces can move.
    pub fn scale_and_shift(&mut self, inverse_mass: &Masses, factor: f64, delta: Vec3) {
        for ((v, species), id) in self.velocity.iter_mut().zip(self.species).zip(self.id) {
            if inverse_mass.of(*species, *id) == 0.0 {
                continue;
            }
            *v = factor * *v + delta;
        }
    }

    /// Mixing of velocity and force, v = keep v + along f, of all atoms that forces can move.
    pub fn mix(&mut self, inverse_mass: &Masses, keep: f64, along: f64) {
        for (c, atoms) in Self::clusters(self.first) {
            for (lane, a) in atoms.enumerate() {
                if inverse_mass.of(self.species[a], self.id[a]) == 0.0 {
                    continue;
                }
                let f = Self::force(self.force, self.width, c, lane);
                self.velocity[a] = keep * self.velocity[a] + along * f;
            }
        }
    }

    /// Reflection at walls of all atoms that forces can move; the smallest id of those that are not between walls then.
    pub fn reflect(&mut self, inverse_mass: &Masses, walls: &PlacedWalls) -> Option<u32> {
        let moving = self.position.iter_mut().zip(self.velocity.iter_mut());
        let kinds = self.species.iter().zip(self.id);
        let mut outside = None;
        for ((r, v), (species, id)) in moving.zip(kinds) {
            if inverse_mass.of(*species, *id) != 0.0 && !walls.reflect(r, v) {
                outside = Some(outside.map_or(*id, |other: u32| other.min(*id)));
            }
        }
        outside
    }

    /// Kinetic energy tensor and momentum.
    #[inline(always)]
    pub fn kinetic(&self, mass: &Masses) -> Kinetic {
        let mut sums = Kinetic::default();
        for ((v, species), id) in self.velocity.iter().zip(self.species).zip(self.id) {
            let m = mass.of(*species, *id);
            for (t, (a, b)) in sums.tensor.iter_mut().zip([(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]) {
                *t += 0.5 * m * v[a] * v[b];
            }
            sums.momentum += m * *v;
        }
        sums
    }

    /// Sums for a minimiser; the largest force and speed are still squared.
    pub fn descent(&self, inverse_mass: &Masses) -> Descent {
        let dot = |a: &Vec3, b: &Vec3| a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
        let mut sums = Descent::default();
        for (c, atoms) in Self::clusters(self.first) {
            for (lane, a) in atoms.enumerate() {
                if inverse_mass.of(self.species[a], self.id[a]) == 0.0 {
                    continue;
                }
                let f = Self::force(self.force, self.width, c, lane);
                let v = &self.velocity[a];
                sums.power += dot(&f, v);
                sums.velocity_square += dot(v, v);
                sums.force_square += dot(&f, &f);
                sums.largest_force = sums.largest_force.max(dot(&f, &f));
                sums.largest_speed = sums.largest_speed.max(dot(v, v));
            }
        }
        sums
    }
}
