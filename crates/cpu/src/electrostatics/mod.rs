//! Coulomb's forces: in real space over cluster lists ([`real_space`]), and in reciprocal space
//! by Ewald's sum ([`ewald`]) or on a mesh ([`mesh`]).

pub mod ewald;
mod force_forms;
pub mod force_table;
pub mod mesh;
pub mod real_space;

use crate::blocks::Sums;
use crate::cells::Clusters;
use crate::division::Division;
use crate::ranks::Ranks;
use crate::simd::aligned::Aligned;
use crate::simd::{Level, Scalar};
use crate::threads::Team;
use ewald::EwaldSum;
use jostle_core::{Evaluate, IdIndex, Result, SimBox, System, Vec3};
use jostle_potentials::electrostatics::Method;
use jostle_potentials::lattice_sum::sums_of;
use jostle_potentials::{Forces, LatticeSum};
use mesh::{Mesh, MeshAtoms};
use real_space::RealSpaceKernel;
use std::ops::Range;

/// Coulomb's forces, or dispersion over all images, made ready for the CPU.
pub struct LatticeSumKernel<S: Scalar> {
    sum: LatticeSum,
    /// Number of the term.
    pub term: usize,
    /// Real-space kernel over lists.
    pub direct: RealSpaceKernel<S>,
    /// Number of the Lennard-Jones term that the real-space kernel includes.
    pub companion: Option<usize>,
    /// Charges or dispersion coefficients of atoms, by place in the clusters.
    pub charge: Aligned<S>,
    /// Charges or dispersion coefficients in storage order.
    by_atom: Vec<f64>,
    /// Sum of those of all ranks, and that of their squares.
    pub strength_sums: [f64; 2],
    /// Excluded pairs that may come to be further apart than lists reach.
    far: Vec<[usize; 2]>,
    long: Long<S>,
    /// Reciprocal-space forces, working space.
    forces: Vec<[S; 3]>,
    /// The weight of long-range forces.
    pub weight: f64,
}

/// Long-range part.
enum Long<S: Scalar> {
    Nothing,
    Ewald(Option<Box<(SimBox, EwaldSum)>>),
    Mesh(Option<Box<Mesh<S>>>),
}

impl<S: Scalar> LatticeSumKernel<S> {
    /// Lattice sums of a system.
    pub fn all(system: &System, forces: &Forces) -> Vec<Self> {
        let numbered = (forces.n_pairs()..).zip(forces.sums());
        numbered.map(|(term, sum)| LatticeSumKernel::new(system, forces, term, sum)).collect()
    }

    fn new(system: &System, forces: &Forces, term: usize, sum: LatticeSum) -> Self {
        let companion = match sum {
            LatticeSum::Charges(_) => forces.pairs.iter().position(RealSpaceKernel::<S>::takes),
            LatticeSum::Dispersion(_) => None,
        };
        let pair = companion.and_then(|k| forces.pairs.get(k));
        LatticeSumKernel {
            direct: RealSpaceKernel::new(sum.clone(), pair, system.species.len()),
            term,
            companion,
            charge: Aligned::default(),
            by_atom: Vec::new(),
            strength_sums: sums_of(&sum.strengths(system)),
            far: Vec::new(),
            long: match sum.method() {
                Method::Cutoff | Method::ReactionField { .. } => Long::Nothing,
                Method::Ewald { .. } => Long::Ewald(None),
                Method::Pme { .. } => Long::Mesh(None),
            },
            forces: Vec::new(),
            weight: 1.0,
            sum,
        }
    }

    /// Takes the places of charges after a list has been built. `excluded` has lists by id, `index_by_id` the
    /// indices of atoms; the distance of two atoms grows by no more than `spread` until the next list.
    pub fn place(
        &mut self,
        team: &Team,
        system: &System,
        clusters: &Clusters<S>,
        excluded: &[Vec<u32>],
        index_by_id: &IdIndex,
        spread: f64,
    ) {
        self.read_strengths(system, clusters);
        self.far.clear();
        if self.sum.method().alpha().is_none() {
            return;
        }
        let least = self.sum.cutoff() - spread;
        let position = &system.state.position;
        let share = excluded.len().div_ceil(team.size()).max(1);
        let parts = team.map(excluded.chunks(share).collect(), |t, excluded| {
            let mut far = Vec::new();
            for (a, others) in (t * share..).zip(excluded) {
                for b in others.iter().filter(|b| **b as usize > a) {
                    let places = [a as u32, *b].map(|id| index_by_id.of(id));
                    let is_far = |arm: Vec3| arm.iter().map(|x| x * x).sum::<f64>() > least * least;
                    // If the two are near without a shift, no image has to be considered.
                    let [from, to] = places.map(|place| position[place]);
                    let direct = [0, 1, 2].map(|k| to[k] - from[k]);
                    if least <= 0.0 || is_far(direct) && is_far(arm(system, places)) {
                        far.push(places);
                    }
                }
            }
            far
        });
        self.far = parts.concat();
    }

    /// Takes over the charges or dispersion coefficients of a system.
    pub fn read_strengths(&mut self, system: &System, clusters: &Clusters<S>) {
        let width = clusters.width;
        self.by_atom = self.sum.strengths(system);
        self.charge.refill(clusters.count() * width, S::default());
        for cluster in 0..clusters.count() {
            let charges = &self.by_atom[clusters.atoms(cluster)];
            for (to, q) in self.charge[cluster * width..].iter_mut().zip(charges) {
                *to = S::from_f64(*q);
            }
        }
    }

    /// Takes sums over other charges of all atoms.
    pub fn sum_charges(&mut self, charges: &[f64]) {
        if let LatticeSum::Charges(term) = &self.sum {
            let root = term.coulomb.sqrt();
            self.strength_sums = sums_of(&charges.iter().map(|q| root * q).collect::<Vec<f64>>());
        }
    }

    /// Adds the reciprocal-space forces, and the forces of excluded pairs beyond lists, to the forces of tasks
    /// (clusters and the forces on them), of which those of other ranks stay incomplete. Returns virial and energy,
    /// if asked for with that of charges with themselves.
    ///
    /// # Errors
    /// If another rank has failed.
    pub(crate) fn add_long_range(
        &mut self,
        (team, level, division): (&Team, Level, &Division),
        system: &System,
        clusters: &Clusters<S>,
        mut tasks: Vec<(Range<usize>, &mut [S])>,
        evaluate: Evaluate,
    ) -> Result<Sums> {
        let [itself, even] = match evaluate {
            Evaluate::ForcesAndEnergies if division.counts_common() => {
                self.sum.constants_of(self.strength_sums, system.simbox.volume())
            }
            Evaluate::Forces | Evaluate::ForcesAndEnergies => [0.0; 2],
        };
        let ranks = division.ranks();
        let mut sums = Sums { energy: itself + even, ..Sums::default() };
        sums.virial[..3].fill(even);
        self.add_far(system, clusters, &mut tasks, &mut sums);
        let silent = self.weight == 0.0 && evaluate == Evaluate::Forces;
        if silent || matches!(self.long, Long::Nothing) {
            return Ok(sums);
        }
        let n = system.state.len();
        self.forces.resize(n, [S::default(); 3]);
        let (mut forces, mut position, mut charge) =
            (&mut self.forces[..], &system.state.position[..], &self.by_atom[..]);
        let parts = tasks.iter().map(|(range, _)| {
            let n = (clusters.first[range.end] - clusters.first[range.start]) as usize;
            MeshAtoms {
                position: position.split_off(..n).unwrap_or_default(),
                charge: charge.split_off(..n).unwrap_or_default(),
                force: forces.split_off_mut(..n).unwrap_or_default(),
            }
        });
        let parts = parts.collect();
        let Some(spectrum) = self.sum.spectrum() else { return Ok(sums) };
        let own = ranks.map_or(0..tasks.len(), Ranks::own);
        sums.join(&match (&mut self.long, self.sum.method()) {
            (Long::Ewald(ewald), Method::Ewald { longest, .. }) => {
                let simbox = system.simbox;
                if ewald.as_ref().is_none_or(|ewald| ewald.0 != simbox) {
                    *ewald = Some(Box::new((simbox, EwaldSum::new(&simbox, spectrum, longest))));
                }
                let ewald = ewald.as_ref();
                match ewald {
                    Some(ewald) => add_ewald_forces((team, ranks), &ewald.1, &simbox, parts)?,
                    None => Sums::default(),
                }
            }
            (Long::Mesh(mesh), Method::Pme { order, spacing, .. }) => {
                let n_tasks = tasks.len();
                if mesh.as_ref().is_none_or(|mesh| !mesh.fits(&system.simbox, n_tasks)) {
                    let divided = (n_tasks, own.clone());
                    *mesh = Some(Box::new(Mesh::new(&system.simbox, spectrum, order, spacing, divided)));
                }
                match mesh {
                    Some(mesh) => mesh.evaluate((team, level, ranks), parts, evaluate)?,
                    None => Sums::default(),
                }
            }
            _ => Sums::default(),
        });
        let (forces, width, weight) = (&self.forces, clusters.width, S::from_f64(self.weight));
        team.map(tasks.drain(own).collect(), |_, (range, own)| {
            for (c, cluster) in range.enumerate() {
                let place = &mut own[c * 3 * width..(c + 1) * 3 * width];
                for (lane, force) in forces[clusters.atoms(cluster)].iter().enumerate() {
                    for k in 0..3 {
                        place[k * width + lane] = place[k * width + lane] + weight * force[k];
                    }
                }
            }
        });
        Ok(sums)
    }

    /// Subtracts the smooth part of excluded pairs beyond lists.
    fn add_far(
        &self,
        system: &System,
        clusters: &Clusters<S>,
        tasks: &mut [(Range<usize>, &mut [S])],
        sums: &mut Sums,
    ) {
        for &[a, b] in &self.far {
            let arm = arm(system, [a, b]);
            let r2: f64 = arm.iter().map(|x| x * x).sum();
            if r2 < self.sum.cutoff().powi(2) {
                continue;
            }
            let charges = self.by_atom[a] * self.by_atom[b];
            let (energy, force_over_r) = self.sum.direct(r2, 0.0);
            sums.energy += charges * energy;
            let force = arm.map(|x| charges * force_over_r * x);
            for (w, (p, q)) in sums.virial.iter_mut().zip([(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]) {
                *w += arm[p] * force[q];
            }
            for (atom, sign) in [(b, 1.0), (a, -1.0)] {
                let cluster = clusters.first.partition_point(|first| *first as usize <= atom) - 1;
                let lane = atom - clusters.atoms(cluster).start;
                let Some((range, own)) = tasks.iter_mut().find(|(range, _)| range.contains(&cluster)) else {
                    continue;
                };
                for k in 0..3 {
                    let place = ((cluster - range.start) * 3 + k) * clusters.width + lane;
                    own[place] = own[place] + S::from_f64(sign * force[k]);
                }
            }
        }
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        let mesh = if let Long::Mesh(Some(mesh)) = &self.long { mesh.bytes() } else { 0 };
        mesh + self.charge.bytes() + self.by_atom.len() * (size_of::<f64>() + size_of::<[S; 3]>())
    }
}

/// Vector from one atom to another.
fn arm(system: &System, [a, b]: [usize; 2]) -> Vec3 {
    let (a, b) = (system.state.position[a], system.state.position[b]);
    system.simbox.nearest_image([b[0] - a[0], b[1] - a[1], b[2] - a[2]])
}

/// Ewald's sum over a team and the ranks: amplitudes are added in the order of tasks.
fn add_ewald_forces<S: Scalar>(
    (team, ranks): (&Team, Option<&Ranks>),
    ewald: &EwaldSum,
    simbox: &SimBox,
    mut parts: Vec<MeshAtoms<'_, S>>,
) -> Result<Sums> {
    let parts: Vec<_> = parts.drain(ranks.map_or(0..parts.len(), Ranks::own)).collect();
    let mut by_task =
        team.map(parts.iter().collect(), |_, part| ewald.amplitudes(simbox, part.position, part.charge));
    if let Some(ranks) = ranks {
        let all = ranks.join(&by_task.concat())?;
        by_task = all.chunks(ewald.n_waves().max(1)).map(<[[f64; 2]]>::to_vec).collect();
    }
    let mut by_task = by_task.into_iter();
    let mut amplitudes = by_task.next().unwrap_or_default();
    for part in by_task {
        for (sum, part) in amplitudes.iter_mut().zip(part) {
            *sum = [sum[0] + part[0], sum[1] + part[1]];
        }
    }
    team.map(parts, |_, part| {
        let forces = ewald.forces(simbox, part.position, part.charge, &amplitudes);
        part.force.iter_mut().zip(forces).for_each(|(to, force)| *to = force.map(S::from_f64));
    });
    Ok(ewald.sums(&amplitudes))
}
