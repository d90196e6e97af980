//! Heat current of a whole system: the derivative with time of the sum of positions times energies.
//!
//! An atom has its kinetic energy and a share u_i of the potential one: half of each of its pairs, the energy of its
//! embedding, that of its own bonds and angles as a centre of three-body forces. The current is
//!
//! J = sum of (m v_i^2 / 2 + u_i) v_i + sum over i and j of (r_i - r_j) (du_i/dr_j . v_j)
//!
//! (Z. Fan et al., Phys. Rev. B 92 (2015) 094301). Sums over all images have a current in reciprocal space, too
//! (B. Bernu and P. Vieillefosse, Phys. Rev. A 18 (1978) 2345). Velocities are those relative to the centre of mass.
//!
//! Advantage: positions and velocities suffice, so that a run on any device and its trajectory have the same current.
//! Disadvantage: each evaluation builds lists, and evaluates pairs one by one in double precision; sums over images go
//! wave by wave, whose number grows with that of atoms, so that they are for some thousand charges.

use super::{Cpu, Task};
use crate::electrostatics::ewald::EwaldSum;
use crate::near::{NearPair, each_pair};
use crate::reference::Coefficients;
use crate::simd::Level;
use jostle_core::backend::{AtomStorage, ForceEvaluation};
use jostle_core::{Precision, Result, Settings, SimBox, State, System, Vec3};
use jostle_potentials::{Embedded, Forces, LatticeSum, PairTerm, ThreeBody};

/// The heat current of a system, with an engine of its own.
pub struct HeatCurrent(Cpu<f64>);

impl HeatCurrent {
    /// Heat current of a system whose forces are those of pairs, embedded atoms, three-body forces and sums over all
    /// images; `threads`: `None` for all cores.
    ///
    /// # Errors
    /// If a term does not fit the system.
    pub fn new(system: &System, forces: &Forces, threads: Option<usize>) -> Result<Self> {
        let settings =
            Settings { threads, precision: Precision::Double, reproducible: true, ..Settings::default() };
        Ok(HeatCurrent(Cpu::new(system.clone(), forces.clone(), settings, (Level::best(), None))?))
    }

    /// The heat current of a state, in a box: energy times velocity.
    ///
    /// # Errors
    /// If a position is not finite.
    pub fn evaluate(&mut self, simbox: &SimBox, state: &State) -> Result<Vec3> {
        let engine = &mut self.0;
        if engine.simbox() == simbox {
            engine.set_state(state.clone())?;
        } else {
            engine.set_box(*simbox, state.clone())?;
        }
        engine.update_neighbors()?;
        Ok(engine.heat_current())
    }
}

/// Current of a pair: half of its energy goes with each atom, and the force on each does work.
fn of_pair(d: Vec3, energy: f64, force_over_r: f64, velocities: Vec3) -> Vec3 {
    0.5 * energy * velocities + 0.5 * force_over_r * d.dot(velocities) * d
}

/// Two atoms within a cut-off, and the vector from the second to the first.
type Near = ([usize; 2], Vec3);

impl Cpu<f64> {
    /// The heat current of the present state, for which lists have been built.
    fn heat_current(&self) -> Vec3 {
        let System { species, state, .. } = &self.system;
        let mass = |index: usize| species[usize::from(state.species[index])].mass;
        let all = 0..state.len();
        let momentum: Vec3 = all.clone().map(|index| mass(index) * state.velocity[index]).sum();
        let drift = momentum / all.clone().map(mass).sum::<f64>();
        let velocity: Vec<Vec3> = state.velocity.iter().map(|v| *v - drift).collect();
        let mut current: Vec3 =
            all.map(|index| 0.5 * mass(index) * velocity[index].norm_squared() * velocity[index]).sum();
        current += self.pairs_current(&velocity);
        if let Some(term) = &self.forces.embedded {
            current += self.embedded_current(term, &velocity);
        }
        if let Some(term) = &self.forces.three_body {
            current += self.three_body_current(term, &velocity);
        }
        for sum in self.forces.sums() {
            current += self.images_current(&sum, &velocity);
        }
        current
    }

    /// Visits all pairs within a distance; each task has an accumulator of its own.
    fn gather_near<T: Send>(
        &self,
        cutoff: f64,
        empty: impl Fn() -> T + Sync,
        visit: impl Fn(&mut T, [usize; 2], Vec3, f64) + Sync,
    ) -> Vec<T> {
        let tasks: Vec<&Task<f64>> = self.tasks.iter().collect();
        self.workers.team.map(tasks, |_, task| {
            let mut accumulated = empty();
            each_pair(&self.neighbors.clusters, &task.list, cutoff, |pair| {
                let NearPair { atoms, along, distance, .. } = pair;
                visit(&mut accumulated, atoms.map(|a| a as usize), distance * along, distance * distance);
            });
            accumulated
        })
    }

    fn species_of(&self, atoms: [usize; 2]) -> [usize; 2] {
        atoms.map(|index| usize::from(self.system.state.species[index]))
    }

    /// Current of pair forces, and of sums over images between near atoms.
    fn pairs_current(&self, velocity: &[Vec3]) -> Vec3 {
        let terms: Vec<Coefficients> = self.forces.pairs.iter().map(Coefficients::new).collect();
        let sums: Vec<_> = self.forces.sums().map(|sum| (sum.strengths(&self.system), sum)).collect();
        let reaches = self.forces.pairs.iter().map(PairTerm::largest_cutoff);
        let reach = reaches.chain(sums.iter().map(|(_, sum)| sum.cutoff())).fold(0.0, f64::max);
        let currents = self.gather_near(
            reach,
            || Vec3::ZERO,
            |current, atoms, d, r2| {
                let velocities = velocity[atoms[0]] + velocity[atoms[1]];
                let species = self.species_of(atoms);
                for (energy, force_over_r) in terms.iter().filter_map(|term| term.evaluate(species, r2)) {
                    *current += of_pair(d, energy, force_over_r, velocities);
                }
                for (strengths, sum) in sums.iter().filter(|(_, sum)| r2 < sum.cutoff().powi(2)) {
                    let (energy, force_over_r) = sum.direct(r2, 1.0);
                    let both = strengths[atoms[0]] * strengths[atoms[1]];
                    *current += of_pair(d, both * energy, both * force_over_r, velocities);
                }
            },
        );
        currents.into_iter().sum()
    }

    /// Current of embedded atoms: an atom that moves changes the densities at its neighbours.
    fn embedded_current(&self, term: &Embedded, velocity: &[Vec3]) -> Vec3 {
        let n = velocity.len();
        let by_task = self.gather_near(
            term.cutoff(),
            || vec![0.0; n],
            |density, atoms, _, r2| {
                let ([a, b], [i, j]) = (self.species_of(atoms), atoms);
                density[i] += term.density(a, b, r2.sqrt()).0;
                density[j] += term.density(b, a, r2.sqrt()).0;
            },
        );
        let mut current = Vec3::ZERO;
        let embedding = (0..n).map(|index| {
            let density = by_task.iter().map(|density| density[index]).sum();
            let (energy, derivative) = term.embedding(usize::from(self.system.state.species[index]), density);
            current += energy * velocity[index];
            derivative
        });
        let derivatives: Vec<f64> = embedding.collect();
        let currents = self.gather_near(
            term.cutoff(),
            || Vec3::ZERO,
            |current, atoms, d, r2| {
                let ([a, b], [i, j], r) = (self.species_of(atoms), atoms, r2.sqrt());
                let (energy, force_over_r) = term.pair([a, b], r2, [0.0; 2]);
                *current += of_pair(d, energy, force_over_r, velocity[i] + velocity[j]);
                let at_first = derivatives[i] * term.density(a, b, r).1 / r;
                let at_second = derivatives[j] * term.density(b, a, r).1 / r;
                *current -= d.dot(at_first * velocity[j] + at_second * velocity[i]) * d;
            },
        );
        current + currents.into_iter().sum()
    }

    /// Current of three-body forces: the energy of a centre depends on the vectors to its neighbours.
    fn three_body_current(&self, term: &ThreeBody, velocity: &[Vec3]) -> Vec3 {
        let near = self.gather_near(term.cutoff(), Vec::new, |near: &mut Vec<Near>, atoms, d, _| {
            near.push((atoms, d));
        });
        let mut neighbors = vec![Vec::new(); velocity.len()];
        for ([i, j], d) in near.into_iter().flatten() {
            let [a, b] = self.species_of([i, j]);
            for (center, other, vector, species) in [(i, j, -d, [a, b]), (j, i, d, [b, a])] {
                if d.norm_squared() < term.cutoff_of(species[0], species[1]).powi(2) {
                    neighbors[center].push((other, (species[1], vector)));
                }
            }
        }
        let centers: Vec<usize> = (0..velocity.len()).collect();
        let chunk = centers.len().div_ceil(self.workers.team.size()).max(1);
        let currents = self.workers.team.map(centers.chunks(chunk).collect(), |_, centers| {
            let mut current = Vec3::ZERO;
            for &center in centers {
                let (others, around): (Vec<usize>, Vec<_>) = neighbors[center].iter().copied().unzip();
                let species = usize::from(self.system.state.species[center]);
                let (energy, gradients) = term.center(species, &around);
                current += energy * velocity[center];
                for ((other, (_, vector)), gradient) in others.iter().zip(&around).zip(gradients) {
                    current -= gradient.dot(velocity[*other]) * *vector;
                }
            }
            current
        });
        currents.into_iter().sum()
    }

    /// Current in reciprocal space of a sum over all images.
    fn images_current(&self, sum: &LatticeSum, velocity: &[Vec3]) -> Vec3 {
        let (Some(longest), Some(spectrum)) = (sum.longest(), sum.spectrum()) else {
            return Vec3::ZERO;
        };
        let System { simbox, state, .. } = &self.system;
        let ewald = EwaldSum::new(simbox, spectrum, longest);
        ewald.heat_current(
            &self.workers.team,
            simbox,
            &state.position,
            &sum.strengths(&self.system),
            velocity,
        )
    }
}
