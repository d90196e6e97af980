//! Molecules in open space: every atom has a force on every other one, a register full at a time, in f64.
//!
//! Every atom gathers its own forces, so that each pair is computed twice and no task adds to
//! another's forces.

use crate::blocks::Sums;
use crate::bonded::TENSOR;
use crate::cells::Clusters;
use crate::simd::{Kernel, Lanes, Level, Scalar, Simd};
use jostle_core::{Evaluate, IdIndex, SymTensor, System, Vec3, Vector};
use jostle_potentials::Vacuum;
use std::ops::Range;

/// Spare places behind arrays, as many as the widest register has lanes.
const SPARE: usize = 16;

/// The forces between all atoms, made ready.
pub struct VacuumKernel {
    coulomb: f64,
    n_species: usize,
    /// Both coefficients by pair of species, squares by rows with spare places behind.
    tables: [Vec<f64>; 2],
    /// Species of the atoms in storage order.
    species: Vec<i32>,
    charge: Vec<f64>,
    position: [Vec<f64>; 3],
    /// Indices of the atoms without a force on each atom, the atom itself included, in ascending order.
    left_out: Vec<Vec<u32>>,
}

impl VacuumKernel {
    /// Makes the term ready.
    pub fn new(term: &Vacuum) -> Self {
        let n = term.lennard_jones.n_species();
        let table = |c: usize| {
            let mut table: Vec<f64> = (0..n * n).map(|k| term.coefficients(k / n, k % n)[c]).collect();
            table.resize(n * n + SPARE, 0.0);
            table
        };
        VacuumKernel {
            coulomb: term.coulomb,
            n_species: n,
            tables: [table(0), table(1)],
            species: Vec::new(),
            charge: Vec::new(),
            position: Default::default(),
            left_out: Vec::new(),
        }
    }

    /// Takes the atoms in the order in which they are stored now; `excluded` is by id, `index_by_id` the
    /// indices of atoms.
    pub fn sort(&mut self, system: &System, excluded: &[Vec<u32>], index_by_id: &IdIndex) {
        let state = &system.state;
        let n = state.len();
        self.species = state.species.iter().map(|s| i32::from(*s)).collect();
        self.species.resize(n + SPARE, 0);
        self.charge = (0..n).map(|place| system.charge(place)).collect();
        self.charge.resize(n + SPARE, 0.0);
        let left_out = |(place, id): (usize, &u32)| {
            let others = excluded.get(*id as usize).map_or(&[][..], |list| list);
            let mut places: Vec<u32> = others.iter().map(|other| index_by_id.of(*other) as u32).collect();
            places.push(place as u32);
            places.sort_unstable();
            places
        };
        self.left_out = state.id.iter().enumerate().map(left_out).collect();
    }

    /// Takes the current positions.
    pub fn follow(&mut self, position: &[Vec3]) {
        for (axis, numbers) in self.position.iter_mut().enumerate() {
            numbers.clear();
            numbers.extend(position.iter().map(|r| r[axis]));
            numbers.resize(position.len() + SPARE, 0.0);
        }
    }

    /// Adds the forces on a task's own clusters; returns the sums of Lennard-Jones and of Coulomb's forces,
    /// with the virial of both in the first.
    pub fn add_forces<S: Scalar>(
        &self,
        level: Level,
        clusters: &Clusters<S>,
        own: Range<usize>,
        forces: &mut [S],
        evaluate: Evaluate,
    ) -> [Sums; 2] {
        let mut sums = [Sums::default(); 2];
        for (c, cluster) in own.enumerate() {
            for (lane, place) in clusters.atoms(cluster).enumerate() {
                let (energies, force, virial) = level.run(OfAtom { kernel: self, place });
                for (k, f) in force.into_iter().enumerate() {
                    let sum = &mut forces[c * 3 * clusters.width + lane + k * clusters.width];
                    *sum = S::from_f64(sum.to_f64() + f);
                }
                if evaluate == Evaluate::ForcesAndEnergies {
                    for (sum, energy) in sums.iter_mut().zip(energies) {
                        sum.energy += 0.5 * energy;
                    }
                    for (sum, part) in sums[0].virial.iter_mut().zip(virial) {
                        *sum += 0.5 * part;
                    }
                }
            }
        }
        sums
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        let numbers = self.charge.capacity() + self.position.iter().map(Vec::capacity).sum::<usize>();
        let left_out = self.left_out.iter().map(|list| 4 * list.capacity() + size_of::<Vec<u32>>());
        8 * numbers + 4 * self.species.capacity() + left_out.sum::<usize>()
    }
}

/// Both energies of an atom with all others, the force on it, and the virial.
struct OfAtom<'a> {
    kernel: &'a VacuumKernel,
    place: usize,
}

impl Kernel for OfAtom<'_> {
    type Output = ([f64; 2], Vec3, SymTensor);

    #[inline(always)]
    fn run<I: Simd>(self) -> Self::Output {
        self.all::<I::F64>()
    }
}

impl OfAtom<'_> {
    #[inline(always)]
    fn all<L: Lanes<Scalar = f64>>(self) -> ([f64; 2], Vec3, SymTensor) {
        let OfAtom { kernel, place } = self;
        let row = kernel.species[place] as usize * kernel.n_species;
        let here = kernel.position.each_ref().map(|x| L::splat(x[place]));
        let charge = L::splat(kernel.coulomb * kernel.charge[place]);
        let n = kernel.left_out.len();
        let mut left_out = kernel.left_out[place].iter().map(|other| *other as usize).peekable();
        let zero = L::lit(0.0);
        let (mut energies, mut force, mut virial) = ([zero; 2], [zero; 3], [zero; 6]);
        let mut from = 0;
        while from < n {
            let end = from + L::WIDTH;
            let mut bits = if end <= n { u32::MAX } else { (1 << (n - from)) - 1 };
            while let Some(other) = left_out.next_if(|other| *other < end) {
                bits &= !(1 << (other - from));
            }
            let included = L::mask(bits);
            let index = L::load_index(&kernel.species[from..]);
            let of_pair =
                |table: &[f64]| L::select(included, L::lookup(&table[row..], kernel.n_species, index), zero);
            let coefficients = [of_pair(&kernel.tables[0]), of_pair(&kernel.tables[1])];
            let strength = L::select(included, charge * L::load(&kernel.charge[from..]), zero);
            let mut d = [zero; 3];
            for k in 0..3 {
                d[k] = here[k] - L::load(&kernel.position[k][from..]);
            }
            let r2 = d[0].mul_add(d[0], d[1].mul_add(d[1], d[2] * d[2]));
            let r2 = L::select(included, r2, L::lit(1.0));
            let (energy, force_over_r) = Vacuum::evaluate(r2, coefficients, strength);
            for (sum, part) in energies.iter_mut().zip(energy) {
                *sum = *sum + part;
            }
            for k in 0..3 {
                force[k] = force_over_r.mul_add(d[k], force[k]);
            }
            for (w, (p, q)) in virial.iter_mut().zip(TENSOR) {
                *w = (force_over_r * d[p]).mul_add(d[q], *w);
            }
            from = end;
        }
        (energies.map(L::sum), Vector(force.map(L::sum)), virial.map(L::sum))
    }
}
