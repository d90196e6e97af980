//! Coulomb's forces: in real space over cluster lists ([`real_space`]), and in reciprocal space
//! by Ewald's sum ([`ewald`]) or on a mesh ([`mesh`]).

pub mod ewald;
mod force_forms;
pub mod force_table;
pub mod mesh;
mod mesh_grid;
pub mod real_space;
mod slabs;
mod splines;

use crate::blocks::Sums;
use crate::cells::Clusters;
use crate::columns::Bounds;
use crate::division::Division;
use crate::ranks::Ranks;
use crate::simd::aligned::Aligned;
use crate::simd::{Level, Scalar};
use crate::threads::Team;
use ewald::EwaldSum;
use jostle_core::{Evaluate, IdIndex, Result, SimBox, System, Vec3, Vector};
use jostle_potentials::electrostatics::Method;
use jostle_potentials::lattice_sum::sums_of;
use jostle_potentials::{Forces, LatticeSum};
use mesh::Mesh;
use real_space::RealSpaceKernel;
use slabs::SlabMesh;
use splines::MeshAtoms;
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
    /// Fractional coordinates between which the atoms of this rank are until the next list.
    within: [Vec3; 2],
    /// Reciprocal-space forces, working space.
    forces: Vec<Vector<S>>,
    /// The weight of long-range forces.
    pub weight: f64,
}

/// Long-range part.
enum Long<S: Scalar> {
    Nothing,
    Ewald(Option<Box<(SimBox, EwaldSum)>>),
    Mesh(Option<Box<Mesh<S>>>),
    /// A mesh over ranks with domains; patches are to be shared after a new list.
    Slabs(Option<Box<SlabMesh<S>>>, Patches),
}

/// State of the patches of a mesh.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Patches {
    Outdated,
    Shared,
}

impl<S: Scalar> Long<S> {
    /// Finds reciprocal-space forces on atoms by task, on those of this rank's tasks; returns energy and virial, with
    /// domains this rank's part of them. `within` are the bounds of this rank's atoms.
    fn evaluate(
        &mut self,
        (sum, simbox, within): (&LatticeSum, &SimBox, [Vec3; 2]),
        (team, level, division): (&Team, Level, &Division),
        parts: Vec<MeshAtoms<'_, S>>,
        evaluate: Evaluate,
    ) -> Result<Sums> {
        let Some(spectrum) = sum.spectrum() else { return Ok(Sums::default()) };
        let n_tasks = parts.len();
        match (self, sum.method()) {
            (Long::Ewald(ewald), Method::Ewald { longest, .. }) => {
                let known = ewald.take().filter(|ewald| ewald.0 == *simbox);
                let made = || Box::new((*simbox, EwaldSum::new(simbox, spectrum, longest)));
                let ewald = ewald.insert(known.unwrap_or_else(made));
                add_ewald_forces((team, division), &ewald.1, simbox, parts)
            }
            (Long::Mesh(mesh), Method::Pme { order, spacing, .. }) => {
                let ranks = division.ranks();
                let known = mesh.take().filter(|mesh| mesh.fits(simbox, n_tasks));
                let divided = (n_tasks, ranks.map_or(0..n_tasks, Ranks::own));
                let made = || Box::new(Mesh::new(simbox, spectrum, order, spacing, divided));
                mesh.insert(known.unwrap_or_else(made)).evaluate((team, level, ranks), parts, evaluate)
            }
            (Long::Slabs(mesh, patches), Method::Pme { order, spacing, .. }) => {
                let Some(domains) = division.domains() else { return Ok(Sums::default()) };
                let known = mesh.take().filter(|mesh| mesh.fits(simbox));
                let made = || {
                    *patches = Patches::Outdated;
                    Box::new(SlabMesh::new((simbox, spectrum), (order, spacing), domains, n_tasks))
                };
                let mesh = mesh.insert(known.unwrap_or_else(made));
                if *patches == Patches::Outdated {
                    mesh.share_patches(within, domains)?;
                    *patches = Patches::Shared;
                }
                mesh.evaluate((team, level, domains), parts, evaluate)
            }
            _ => Ok(Sums::default()),
        }
    }
}

impl<S: Scalar> LatticeSumKernel<S> {
    /// Lattice sums of a system.
    pub fn all(system: &System, forces: &Forces) -> Vec<Self> {
        let numbered = (forces.n_pairs()..).zip(forces.sums());
        numbered.map(|(term, sum)| LatticeSumKernel::new(system, forces, term, sum)).collect()
    }

    /// Divides the mesh among ranks with domains.
    pub(crate) fn divide(&mut self) {
        if matches!(self.long, Long::Mesh(_)) {
            self.long = Long::Slabs(None, Patches::Outdated);
        }
    }

    /// Returns true if excluded pairs have a force however far apart they are.
    pub(crate) fn acts_on_excluded(&self) -> bool {
        self.sum.method().alpha().is_some()
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
            strength_sums: sum.strength_sums(system),
            far: Vec::new(),
            long: match sum.method() {
                Method::Cutoff | Method::ReactionField { .. } => Long::Nothing,
                Method::Ewald { .. } => Long::Ewald(None),
                Method::Pme { .. } => Long::Mesh(None),
            },
            within: [Vec3::ZERO; 2],
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
        if !self.acts_on_excluded() {
            return;
        }
        let n_owned = clusters.first[clusters.owned] as usize;
        self.bound(&system.simbox, &system.state.position[..n_owned], 0.5 * spread);
        let least = self.sum.cutoff() - spread;
        let position = &system.state.position;
        let share = excluded.len().div_ceil(team.size()).max(1);
        let parts = team.map(excluded.chunks(share).collect(), |t, excluded| {
            let mut far = Vec::new();
            for (a, others) in (t * share..).zip(excluded) {
                for b in others.iter().filter(|b| **b as usize > a) {
                    let (Some(first), Some(second)) = (index_by_id.get(a as u32), index_by_id.get(*b)) else {
                        continue;
                    };
                    // Others are pairs of other ranks.
                    if first.min(second) >= n_owned {
                        continue;
                    }
                    let places = [first, second];
                    let is_far = |arm: Vec3| arm.iter().map(|x| x * x).sum::<f64>() > least * least;
                    // If the two are near without a shift, no image has to be considered.
                    let [from, to] = places.map(|place| position[place]);
                    let direct = to - from;
                    if least <= 0.0 || is_far(Vector(*direct)) && is_far(arm(system, places)) {
                        far.push(places);
                    }
                }
            }
            far
        });
        self.far = parts.concat();
    }

    /// Takes the bounds of atoms that move no further than `way`.
    fn bound(&mut self, simbox: &SimBox, positions: &[Vec3], way: f64) {
        let Long::Slabs(_, patches) = &mut self.long else { return };
        *patches = Patches::Outdated;
        let mut bounds = Bounds::EMPTY;
        positions.iter().for_each(|r| bounds.include(simbox.to_fractional(*r)));
        let widths = simbox.widths();
        let beyond = |corner: Vec3, sign: f64| [0, 1, 2].map(|k| corner[k] + sign * way / widths[k]);
        self.within = [Vector(beyond(bounds.low, -1.0)), Vector(beyond(bounds.high, 1.0))];
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
            self.strength_sums = sums_of(charges.iter().map(|q| root * q));
        }
    }

    /// Adds the reciprocal-space forces, and the forces of excluded pairs beyond lists, to the forces of tasks
    /// (clusters and the forces on them), of which those of other ranks stay incomplete. Returns virial and energy,
    /// if asked for with that of charges with themselves; with domains, the parts of this rank.
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
        let mut sums = Sums { energy: itself + even, ..Sums::default() };
        sums.virial[..3].fill(even);
        self.add_far(system, clusters, &mut tasks, &mut sums);
        let silent = self.weight == 0.0 && evaluate == Evaluate::Forces;
        if silent || matches!(self.long, Long::Nothing) {
            return Ok(sums);
        }
        let n = tasks.last().map_or(0, |(range, _)| clusters.first[range.end] as usize);
        self.forces.resize(n, Vector([S::default(); 3]));
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
        let on = (team, level, division);
        let found = self.long.evaluate((&self.sum, &system.simbox, self.within), on, parts, evaluate)?;
        sums.join(&found);
        let own = division.ranks().map_or(0..tasks.len(), Ranks::own);
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

    /// Subtracts the smooth part of excluded pairs beyond lists, from the forces on atoms of these tasks; of energy and
    /// virial half for each.
    fn add_far(
        &self,
        system: &System,
        clusters: &Clusters<S>,
        tasks: &mut [(Range<usize>, &mut [S])],
        sums: &mut Sums,
    ) {
        let n_owned = clusters.first[clusters.owned] as usize;
        for &[a, b] in &self.far {
            let arm = arm(system, [a, b]);
            let r2: f64 = arm.iter().map(|x| x * x).sum();
            if r2 < self.sum.cutoff().powi(2) {
                continue;
            }
            let charges = self.by_atom[a] * self.by_atom[b];
            let (energy, force_over_r) = self.sum.direct(r2, 0.0);
            let force = arm.map(|x| charges * force_over_r * x);
            let part = 0.5 * [a, b].into_iter().filter(|atom| *atom < n_owned).count() as f64;
            sums.energy += part * charges * energy;
            for (w, (p, q)) in sums.virial.iter_mut().zip([(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]) {
                *w += part * arm[p] * force[q];
            }
            for (atom, sign) in [(b, 1.0), (a, -1.0)].into_iter().filter(|(atom, _)| *atom < n_owned) {
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
        let mesh = match &self.long {
            Long::Mesh(Some(mesh)) => mesh.bytes(),
            Long::Slabs(Some(mesh), _) => mesh.bytes(),
            Long::Nothing | Long::Ewald(_) | Long::Mesh(None) | Long::Slabs(None, _) => 0,
        };
        mesh + self.charge.bytes() + self.by_atom.len() * (size_of::<f64>() + size_of::<Vector<S>>())
    }
}

/// Vector from one atom to another.
fn arm(system: &System, [a, b]: [usize; 2]) -> Vec3 {
    let (a, b) = (system.state.position[a], system.state.position[b]);
    system.simbox.nearest_image(b - a)
}

/// Ewald's sum over a team and the ranks: amplitudes are added in the order of tasks, or of ranks with domains.
fn add_ewald_forces<S: Scalar>(
    (team, division): (&Team, &Division),
    ewald: &EwaldSum,
    simbox: &SimBox,
    mut parts: Vec<MeshAtoms<'_, S>>,
) -> Result<Sums> {
    let ranks = division.ranks();
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
    if let Some(domains) = division.domains() {
        let mut numbers = amplitudes.concat();
        domains.communicator.sum(&mut numbers)?;
        amplitudes = numbers.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
    }
    team.map(parts, |_, part| {
        let forces = ewald.forces(simbox, part.position, part.charge, &amplitudes);
        part.force.iter_mut().zip(forces).for_each(|(to, force)| *to = force.map(S::from_f64));
    });
    Ok(if division.counts_common() { ewald.sums(&amplitudes) } else { Sums::default() })
}
