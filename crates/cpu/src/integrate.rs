//! Moving atoms, and sums over velocities: loops over the atoms of one task.

use crate::constraints::Constraints;
use crate::noise::{BATCH, Normals};
use crate::simd::{Level, Scalar};
use jostle_core::backend::Descent;
use jostle_core::bath::noise_amplitude;
use jostle_core::{Kinetic, Masses, NoiseKey, Vec3};

/// The atoms of a task, cluster by cluster.
pub struct Atoms<'a, S> {
    /// Places of a cluster.
    pub width: usize,
    /// First atom of each cluster and one past the last, counted from the task's first.
    pub first: &'a [u32],
    /// What cluster coordinates are relative to.
    pub origin: &'a [Vec3],
    /// Numbers of the atoms.
    pub id: &'a [u32],
    /// Their species.
    pub species: &'a [u16],
    /// Their positions.
    pub position: &'a mut [Vec3],
    /// Their velocities.
    pub velocity: &'a mut [Vec3],
    /// Forces, cluster by cluster: all x, all y, all z.
    pub force: &'a [S],
    /// Positions relative to the origin of the cluster, likewise.
    pub relative: &'a mut [S],
    /// The same where the neighbour list has them.
    pub built: &'a [S],
}

/// How far an atom may have moved, or a velocity grown, beyond what is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Nothing found.
    Passed,
    /// Something found, or something that is not a number.
    Failed,
}

impl<S: Scalar> Atoms<'_, S> {
    fn clusters(first: &[u32]) -> impl Iterator<Item = (usize, std::ops::Range<usize>)> {
        let base = first[0];
        let bounds = first.windows(2).enumerate();
        bounds.map(move |(c, f)| (c, (f[0] - base) as usize..(f[1] - base) as usize))
    }

    #[inline(always)]
    fn force(force: &[S], width: usize, cluster: usize, lane: usize) -> Vec3 {
        let place = cluster * 3 * width + lane;
        [0, 1, 2].map(|k| force[place + k * width].to_f64())
    }

    /// v += dt f / m. Fails if a force is not finite.
    #[inline(always)]
    pub fn kick(&mut self, inverse_mass: &Masses, dt: f64) -> Check {
        let (species, id) = (self.species, self.id);
        match inverse_mass {
            Masses::BySpecies(all) => self.kick_by(dt, |a| all[species[a] as usize]),
            Masses::ById(all) => self.kick_by(dt, |a| all[id[a] as usize]),
        }
    }

    #[inline(always)]
    fn kick_by(&mut self, dt: f64, inverse_mass: impl Fn(usize) -> f64) -> Check {
        let mut zero = 0.0;
        for (c, atoms) in Self::clusters(self.first) {
            for (lane, a) in atoms.enumerate() {
                let f = Self::force(self.force, self.width, c, lane);
                let scale = dt * inverse_mass(a);
                for k in 0..3 {
                    self.velocity[a][k] += scale * f[k];
                    zero += 0.0 * f[k];
                }
            }
        }
        if zero == 0.0 { Check::Passed } else { Check::Failed }
    }

    /// r += dt v. Fails if an atom is then further than `sqrt(limit2)` from where the neighbour
    /// list has it, or nowhere.
    #[inline(always)]
    pub fn drift(&mut self, dt: f64, limit2: f64) -> Check {
        self.move_atoms(limit2, |_, _, _, v| (v, v.map(|v| dt * v)))
    }

    /// v += dt/2 f / m, then r += dt v. The first result is that of [`Atoms::kick`], the second
    /// that of [`Atoms::drift`].
    #[inline(always)]
    pub fn kick_drift(&mut self, inverse_mass: &Masses, dt: f64, limit2: f64) -> [Check; 2] {
        let (species, id) = (self.species, self.id);
        match inverse_mass {
            Masses::BySpecies(all) => self.kick_drift_by(dt, limit2, |a| all[species[a] as usize]),
            Masses::ById(all) => self.kick_drift_by(dt, limit2, |a| all[id[a] as usize]),
        }
    }

    #[inline(always)]
    fn kick_drift_by(&mut self, dt: f64, limit2: f64, inverse_mass: impl Fn(usize) -> f64) -> [Check; 2] {
        let mut zero = 0.0;
        let (width, force) = (self.width, self.force);
        let moved = self.move_atoms(limit2, |a, c, lane, v| {
            let f = Self::force(force, width, c, lane);
            let scale = 0.5 * dt * inverse_mass(a);
            for k in 0..3 {
                zero += 0.0 * f[k];
            }
            let v = [v[0] + scale * f[0], v[1] + scale * f[1], v[2] + scale * f[2]];
            (v, v.map(|v| dt * v))
        });
        [if zero == 0.0 { Check::Passed } else { Check::Failed }, moved]
    }

    /// r += c and v += c / dt by the corrections of constraints. Fails as [`Atoms::drift`] does.
    #[inline(always)]
    pub fn correct(&mut self, constraints: &Constraints, dt: f64, limit2: f64) -> Check {
        let id = self.id;
        self.move_atoms(limit2, |a, _, _, v| {
            let c = constraints.correction(id[a]);
            ([v[0] + c[0] / dt, v[1] + c[1] / dt, v[2] + c[2] / dt], c)
        })
    }

    /// v += c by the corrections of constraints.
    pub fn correct_velocities(&mut self, constraints: &Constraints) {
        for (v, id) in self.velocity.iter_mut().zip(self.id) {
            let c = constraints.correction(*id);
            (0..3).for_each(|k| v[k] += c[k]);
        }
    }

    /// Gives every atom the velocity and moves it by the step that `moved(atom, cluster, lane, v)` says.
    #[inline(always)]
    fn move_atoms(
        &mut self,
        limit2: f64,
        mut moved: impl FnMut(usize, usize, usize, Vec3) -> (Vec3, Vec3),
    ) -> Check {
        let width = self.width;
        let mut stays = true;
        for (c, atoms) in Self::clusters(self.first) {
            let origin = self.origin[c];
            let relative = &mut self.relative[c * 3 * width..(c + 1) * 3 * width];
            let (x, yz) = relative.split_at_mut(width);
            let (y, z) = yz.split_at_mut(width);
            for (lane, a) in atoms.enumerate() {
                let (v, step) = moved(a, c, lane, self.velocity[a]);
                self.velocity[a] = v;
                let r = &mut self.position[a];
                for k in 0..3 {
                    r[k] += step[k];
                }
                x[lane] = S::from_f64(r[0] - origin[0]);
                y[lane] = S::from_f64(r[1] - origin[1]);
                z[lane] = S::from_f64(r[2] - origin[2]);
            }
            // In a loop of its own, which the compiler turns into registers full of atoms.
            let built = &self.built[c * 3 * width..(c + 1) * 3 * width];
            for lane in 0..width {
                let dx = x[lane].to_f64() - built[lane].to_f64();
                let dy = y[lane].to_f64() - built[width + lane].to_f64();
                let dz = z[lane].to_f64() - built[2 * width + lane].to_f64();
                stays &= dx * dx + dy * dy + dz * dz <= limit2;
            }
        }
        if stays { Check::Passed } else { Check::Failed }
    }

    /// v = factor v + delta, of all atoms that forces can move.
    pub fn scale_and_shift(&mut self, inverse_mass: &Masses, factor: f64, delta: Vec3) {
        for ((v, species), id) in self.velocity.iter_mut().zip(self.species).zip(self.id) {
            if inverse_mass.of(*species, *id) == 0.0 {
                continue;
            }
            for k in 0..3 {
                v[k] = factor * v[k] + delta[k];
            }
        }
    }

    /// v = decay v + sqrt((1 - decay^2) kT / m) xi
    pub fn ornstein_uhlenbeck(
        &mut self,
        level: Level,
        inverse_mass: &Masses,
        decay: f64,
        thermal_energy: f64,
        noise: NoiseKey,
    ) {
        let mut xi = [[0.0; BATCH]; 3];
        for start in (0..self.velocity.len()).step_by(BATCH) {
            let n = BATCH.min(self.velocity.len() - start);
            let mut id = [0; BATCH];
            id[..n].copy_from_slice(&self.id[start..start + n]);
            level.run(Normals { id: &id, noise, out: &mut xi });
            for lane in 0..n {
                let inverse_mass = inverse_mass.of(self.species[start + lane], id[lane]);
                if inverse_mass == 0.0 {
                    continue;
                }
                let sigma = noise_amplitude(decay, thermal_energy, inverse_mass);
                let v = &mut self.velocity[start + lane];
                for k in 0..3 {
                    v[k] = decay * v[k] + sigma * xi[k][lane];
                }
            }
        }
    }

    /// v = keep v + along f, of all atoms that forces can move.
    pub fn mix(&mut self, inverse_mass: &Masses, keep: f64, along: f64) {
        for (c, atoms) in Self::clusters(self.first) {
            for (lane, a) in atoms.enumerate() {
                if inverse_mass.of(self.species[a], self.id[a]) == 0.0 {
                    continue;
                }
                let f = Self::force(self.force, self.width, c, lane);
                for k in 0..3 {
                    self.velocity[a][k] = keep * self.velocity[a][k] + along * f[k];
                }
            }
        }
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
            for k in 0..3 {
                sums.momentum[k] += m * v[k];
            }
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
