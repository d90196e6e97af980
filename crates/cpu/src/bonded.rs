//! Forces of bonds and angles.
//!
//! Every atom gathers the forces of its own bonds and angles: a bond is computed for both of its
//! atoms and an angle for all three, so that no task ever adds to another's forces, and sums are
//! always in the same order. Entries are worked on a register full at a time, in f64.

use crate::blocks::Sums;
use crate::cells::Clusters;
use crate::simd::{Kernel, Lanes, Level, Scalar, Simd};
use jostle_core::{Error, Evaluate, SimBox, State, System, Topology, Vec3};
use jostle_potentials::bonded::{AngleFunction, AngleVisitor, angle_forces};
use jostle_potentials::pair::{MAX_COEFFICIENTS, PairFunction, PairVisitor};
use jostle_potentials::{AngleTerm, BondTerm, Forces};
use std::marker::PhantomData;
use std::ops::Range;

/// A bond or an angle as one of its atoms sees it; `N` other atoms belong to it.
#[derive(Debug, Clone, Copy)]
pub struct Entry<const N: usize> {
    /// Where the task keeps the x of the atom's force.
    slot: u32,
    /// The place of the atom in storage.
    atom: u32,
    /// The places of the others.
    others: [u32; N],
    kind: u32,
    /// Which of the bond's or angle's atoms this is; the first one counts the energy.
    role: u8,
    /// Images of the others, see [`Images`].
    images: [u8; N],
}

impl<const N: usize> Entry<N> {
    /// Of an atom (id and place) and of those that it is bound to, by `order[id]` and `image(place)`.
    fn new(
        slot: u32,
        (id, atom): (u32, u32),
        kind: u32,
        members: &[u32],
        order: &[usize],
        image: &impl Fn(usize) -> u8,
    ) -> Self {
        let role = members.iter().position(|member| *member == id).unwrap_or(0);
        let rest = members.iter().enumerate().filter(|(k, _)| *k != role);
        let mut others = [0; N];
        for (other, (_, member)) in others.iter_mut().zip(rest) {
            *other = order[*member as usize] as u32;
        }
        let images = others.map(|other| image(other as usize));
        Entry { slot, atom, others, kind, role: role as u8, images }
    }
}

/// Puts an entry on the lists of all terms of its kind.
fn list_by_term<S, const N: usize>(
    terms: &[Box<dyn BondedKernel<S, N>>],
    lists: &mut [Vec<Entry<N>>],
    entry: Entry<N>,
) {
    for (_, list) in terms.iter().zip(lists).filter(|(term, _)| term.has(entry.kind)) {
        list.push(entry);
    }
}

/// What the atoms of a task are bound in: by term, the entries.
#[derive(Debug, Clone, Default)]
pub struct TaskBonds {
    bonds: Vec<Vec<Entry<1>>>,
    angles: Vec<Vec<Entry<2>>>,
}

impl TaskBonds {
    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        let bonds: usize = self.bonds.iter().map(Vec::capacity).sum();
        let angles: usize = self.angles.iter().map(Vec::capacity).sum();
        bonds * size_of::<Entry<1>>() + angles * size_of::<Entry<2>>()
    }
}

/// A bond as long as it cannot be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Broken {
    /// Places of its atoms.
    pub atoms: [usize; 2],
    /// Its length.
    pub length: f64,
}

impl Broken {
    /// Names the atoms.
    pub fn error(&self, state: &State) -> Error {
        let [a, b] = self.atoms.map(|place| state.id[place] + 1);
        let (a, b, length) = (a.min(b), a.max(b), self.length);
        Error::simulation(format!("the bond between atoms {a} and {b} is {length:.4} long and broken")).hint(
            "minimise first, shorten the time step, or give bound beads a repulsion (exclude = \"none\")",
        )
    }
}

/// The bonds and angles of a system, and the forces of all of them.
pub struct Bonded<S> {
    topology: Topology,
    /// By id: the bonds and the angles that an atom is in.
    bonds_of: Lists,
    angles_of: Lists,
    bonds: Vec<Box<dyn BondedKernel<S, 1>>>,
    angles: Vec<Box<dyn BondedKernel<S, 2>>>,
    images: Images,
}

/// Several lists in one.
struct Lists {
    first: Vec<u32>,
    members: Vec<u32>,
}

impl Lists {
    /// For each of `n` atoms, which of `groups` it is in.
    fn of<const M: usize>(n: usize, groups: impl Iterator<Item = [u32; M]> + Clone) -> Lists {
        let mut first = vec![0; n + 1];
        for atom in groups.clone().flatten() {
            first[atom as usize + 1] += 1;
        }
        for k in 0..n {
            first[k + 1] += first[k];
        }
        let mut next = first.clone();
        let mut members = vec![0; first[n] as usize];
        for (number, group) in groups.enumerate() {
            for atom in group {
                members[next[atom as usize] as usize] = number as u32;
                next[atom as usize] += 1;
            }
        }
        Lists { first, members }
    }

    fn get(&self, atom: u32) -> &[u32] {
        let atom = atom as usize;
        &self.members[self.first[atom] as usize..self.first[atom + 1] as usize]
    }
}

impl<S: Scalar> Bonded<S> {
    /// Makes the terms ready.
    pub fn new(system: &System, forces: &Forces) -> Self {
        let topology = system.topology.clone();
        let n = system.state.len();
        Bonded {
            bonds_of: Lists::of(n, topology.bonds.iter().map(|b| b.atoms)),
            angles_of: Lists::of(n, topology.angles.iter().map(|a| a.atoms)),
            bonds: forces.bonds.iter().map(prepare_bonds).collect(),
            angles: forces.angles.iter().map(prepare_angles).collect(),
            images: Images::new(&system.simbox),
            topology,
        }
    }

    /// Whether nothing is bound.
    pub fn is_empty(&self) -> bool {
        self.bonds.is_empty() && self.angles.is_empty()
    }

    /// Goes on in another box; everything is to be placed again.
    pub fn fit(&mut self, simbox: &SimBox) {
        self.images = Images::new(simbox);
    }

    /// Finds the bonds and angles of a task's atoms in storage, and the images of the others. Atoms
    /// have just been put into the box; until they are again, images stay what they are.
    /// `order[id]` is an atom's place.
    pub fn place(
        &self,
        simbox: &SimBox,
        state: &State,
        order: &[usize],
        clusters: &Clusters<S>,
        own: Range<usize>,
        found: &mut TaskBonds,
    ) {
        found.bonds.resize_with(self.bonds.len(), Vec::new);
        found.angles.resize_with(self.angles.len(), Vec::new);
        found.bonds.iter_mut().for_each(Vec::clear);
        found.angles.iter_mut().for_each(Vec::clear);
        for (c, cluster) in own.enumerate() {
            for (lane, atom) in clusters.atoms(cluster).enumerate() {
                let slot = (c * 3 * clusters.width + lane) as u32;
                let id = state.id[atom];
                let image =
                    |other: usize| self.images.of(simbox, state.position[atom], state.position[other]);
                let atom = atom as u32;
                for &number in self.bonds_of.get(id) {
                    let bond = self.topology.bonds[number as usize];
                    let entry = Entry::new(slot, (id, atom), bond.kind, &bond.atoms, order, &image);
                    list_by_term(&self.bonds, &mut found.bonds, entry);
                }
                for &number in self.angles_of.get(id) {
                    let angle = self.topology.angles[number as usize];
                    let entry = Entry::new(slot, (id, atom), angle.kind, &angle.atoms, order, &image);
                    list_by_term(&self.angles, &mut found.angles, entry);
                }
            }
        }
    }

    /// Adds the forces of a task's bonds and angles; sums by term, and a bond that has broken.
    pub fn add_forces(
        &self,
        level: Level,
        position: &[Vec3],
        width: usize,
        found: &TaskBonds,
        forces: &mut [S],
        evaluate: Evaluate,
    ) -> (Vec<Sums>, Option<Broken>) {
        let mut scene = Scene { position, images: &self.images, width, forces, evaluate };
        let (mut sums, mut broken) = (Vec::new(), None);
        for (term, entries) in self.bonds.iter().zip(&found.bonds) {
            let (sum, bad) = term.add_forces(level, &mut scene, entries);
            sums.push(sum);
            broken = broken.or(bad);
        }
        for (term, entries) in self.angles.iter().zip(&found.angles) {
            let (sum, bad) = term.add_forces(level, &mut scene, entries);
            sums.push(sum);
            broken = broken.or(bad);
        }
        (sums, broken)
    }
}

/// Which image of an atom is meant: lattice vectors by number.
struct Images(Vec<Vec3>);

impl Images {
    /// Boxes that another atom's image may be away, along an edge: with tilts, two.
    const MOST: i32 = 2;
    const ACROSS: i32 = 2 * Images::MOST + 1;

    fn new(simbox: &SimBox) -> Images {
        let along = -Images::MOST..=Images::MOST;
        let mut shifts = Vec::new();
        for x in along.clone() {
            for y in along.clone() {
                shifts.extend(along.clone().map(|z| simbox.shift([x, y, z])));
            }
        }
        Images(shifts)
    }

    /// The image of `b` that is nearest to `a`, both inside the box along its periodic axes.
    fn of(&self, simbox: &SimBox, a: Vec3, b: Vec3) -> u8 {
        let d: Vec3 = std::array::from_fn(|k| b[k] - a[k]);
        let nearest = simbox.nearest_image(d);
        let origin = simbox.origin();
        let shift = simbox.to_fractional(std::array::from_fn(|k| origin[k] + nearest[k] - d[k]));
        let number = shift.map(|s| (s.round() as i32).clamp(-Images::MOST, Images::MOST) + Images::MOST);
        ((number[0] * Images::ACROSS + number[1]) * Images::ACROSS + number[2]) as u8
    }
}

/// What entries are about.
pub struct Scene<'a, S> {
    position: &'a [Vec3],
    images: &'a Images,
    width: usize,
    forces: &'a mut [S],
    evaluate: Evaluate,
}

impl<S: Scalar> Scene<'_, S> {
    /// From another atom to the entry's.
    #[inline(always)]
    fn towards<const N: usize>(&self, entry: &Entry<N>, k: usize) -> Vec3 {
        let (a, b) = (self.position[entry.atom as usize], self.position[entry.others[k] as usize]);
        let shift = self.images.0[entry.images[k] as usize];
        [a[0] - (b[0] + shift[0]), a[1] - (b[1] + shift[1]), a[2] - (b[2] + shift[2])]
    }

    #[inline(always)]
    fn add<const N: usize>(&mut self, entry: &Entry<N>, force: Vec3) {
        for (k, f) in force.into_iter().enumerate() {
            let sum = &mut self.forces[entry.slot as usize + k * self.width];
            *sum = S::from_f64(sum.to_f64() + f);
        }
    }
}

/// A term made ready.
trait BondedKernel<S, const N: usize>: Send + Sync {
    /// Whether a type is of this term's kind.
    fn has(&self, kind: u32) -> bool;

    fn add_forces(&self, level: Level, scene: &mut Scene<S>, entries: &[Entry<N>]) -> (Sums, Option<Broken>);
}

/// Coefficients by type.
struct Types {
    known: Vec<bool>,
    /// Square of the length at which a bond breaks.
    longest2: Vec<f64>,
    coefficients: Vec<[f64; MAX_COEFFICIENTS]>,
}

impl Types {
    fn new(of: impl Iterator<Item = (Option<Vec<f64>>, f64)>) -> Types {
        let mut types = Types { known: Vec::new(), longest2: Vec::new(), coefficients: Vec::new() };
        for (coefficients, longest) in of {
            types.known.push(coefficients.is_some());
            types.longest2.push(longest * longest);
            let mut row = [0.0; MAX_COEFFICIENTS];
            for (to, from) in row.iter_mut().zip(coefficients.unwrap_or_default()) {
                *to = from;
            }
            types.coefficients.push(row);
        }
        types
    }

    /// The first `n` coefficients of the types of some entries.
    #[inline(always)]
    fn gather<L: Lanes<Scalar = f64>, const N: usize>(
        &self,
        entries: &[Entry<N>],
        n: usize,
    ) -> [L; MAX_COEFFICIENTS] {
        let mut values = [L::lit(0.0); MAX_COEFFICIENTS];
        if self.known.len() == 1 {
            for k in 0..n {
                values[k] = L::splat(self.coefficients[0][k]);
            }
            return values;
        }
        for k in 0..n {
            let mut lanes = [0.0; MOST_LANES];
            for (lane, entry) in lanes.iter_mut().zip(entries) {
                *lane = self.coefficients[entry.kind as usize][k];
            }
            values[k] = L::load(&lanes);
        }
        values
    }
}

/// Lanes of the widest register.
const MOST_LANES: usize = 16;

fn prepare_bonds<S: Scalar>(term: &BondTerm) -> Box<dyn BondedKernel<S, 1>> {
    struct Prepare<S>(Types, PhantomData<S>);
    impl<S: Scalar> PairVisitor for Prepare<S> {
        type Output = Box<dyn BondedKernel<S, 1>>;
        fn visit<F: PairFunction>(self) -> Self::Output {
            Box::new(Prepared::<OfBond<F>> { types: self.0, function: PhantomData })
        }
    }
    let types = Types::new((0..term.n_types()).map(|k| (term.coefficients(k), term.longest(k))));
    term.kind.visit(Prepare(types, PhantomData))
}

fn prepare_angles<S: Scalar>(term: &AngleTerm) -> Box<dyn BondedKernel<S, 2>> {
    struct Prepare<S>(Types, PhantomData<S>);
    impl<S: Scalar> AngleVisitor for Prepare<S> {
        type Output = Box<dyn BondedKernel<S, 2>>;
        fn visit<F: AngleFunction>(self) -> Self::Output {
            Box::new(Prepared::<OfAngle<F>> { types: self.0, function: PhantomData })
        }
    }
    let types = Types::new((0..term.n_types()).map(|k| (term.coefficients(k), f64::INFINITY)));
    term.kind.visit(Prepare(types, PhantomData))
}

/// A function of the vectors between bound atoms, as each of these atoms sees it.
trait Bound<const N: usize>: Send + Sync {
    const N_COEFFICIENTS: usize;
    /// Vectors that nobody has, for lanes that are left over.
    const NOBODY: [Vec3; N];
    /// The vectors, from those that point from the others to the atom of this role.
    fn vectors(role: u8, towards: [Vec3; N]) -> [Vec3; N];
    /// Energy, and the force along each vector on its tip.
    fn evaluate<L: Lanes<Scalar = f64>>(vectors: [[L; 3]; N], c: &[L]) -> (L, [[L; 3]; N]);
    /// What of these forces acts on the atom of this role.
    fn on(role: u8, forces: [Vec3; N]) -> Vec3;
}

struct OfBond<F>(PhantomData<F>);

impl<F: PairFunction> Bound<1> for OfBond<F> {
    const N_COEFFICIENTS: usize = F::N_COEFFICIENTS;
    const NOBODY: [Vec3; 1] = [[0.5, 0.0, 0.0]];

    #[inline(always)]
    fn vectors(_role: u8, towards: [Vec3; 1]) -> [Vec3; 1] {
        towards
    }

    #[inline(always)]
    fn evaluate<L: Lanes<Scalar = f64>>([[x, y, z]]: [[L; 3]; 1], c: &[L]) -> (L, [[L; 3]; 1]) {
        let (energy, force_over_r) = F::evaluate(x.mul_add(x, y.mul_add(y, z * z)), c);
        (energy, [[x * force_over_r, y * force_over_r, z * force_over_r]])
    }

    #[inline(always)]
    fn on(_role: u8, [force]: [Vec3; 1]) -> Vec3 {
        force
    }
}

struct OfAngle<F>(PhantomData<F>);

impl<F: AngleFunction> Bound<2> for OfAngle<F> {
    const N_COEFFICIENTS: usize = F::N_COEFFICIENTS;
    const NOBODY: [Vec3; 2] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];

    /// From the middle to the ends.
    #[inline(always)]
    fn vectors(role: u8, [first, second]: [Vec3; 2]) -> [Vec3; 2] {
        let minus = |a: Vec3, b: Vec3| [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
        // The others are, in order: middle and end, both ends, end and middle.
        match role {
            0 => [first, minus(first, second)],
            1 => [first.map(|x| -x), second.map(|x| -x)],
            _ => [minus(second, first), second],
        }
    }

    #[inline(always)]
    fn evaluate<L: Lanes<Scalar = f64>>([a, b]: [[L; 3]; 2], c: &[L]) -> (L, [[L; 3]; 2]) {
        let (energy, on_a, on_b) = angle_forces::<F, L>(a, b, c);
        (energy, [on_a, on_b])
    }

    #[inline(always)]
    fn on(role: u8, [a, b]: [Vec3; 2]) -> Vec3 {
        match role {
            0 => a,
            1 => [-a[0] - b[0], -a[1] - b[1], -a[2] - b[2]],
            _ => b,
        }
    }
}

struct Prepared<B> {
    types: Types,
    function: PhantomData<B>,
}

impl<S: Scalar, B: Bound<N>, const N: usize> BondedKernel<S, N> for Prepared<B> {
    fn has(&self, kind: u32) -> bool {
        self.types.known[kind as usize]
    }

    fn add_forces(&self, level: Level, scene: &mut Scene<S>, entries: &[Entry<N>]) -> (Sums, Option<Broken>) {
        level.run(BoundForces { types: &self.types, scene, entries, function: self.function })
    }
}

struct BoundForces<'a, 'b, S, B, const N: usize> {
    types: &'a Types,
    scene: &'a mut Scene<'b, S>,
    entries: &'a [Entry<N>],
    function: PhantomData<B>,
}

impl<S: Scalar, B: Bound<N>, const N: usize> Kernel for BoundForces<'_, '_, S, B, N> {
    type Output = (Sums, Option<Broken>);

    #[inline(always)]
    fn run<I: Simd>(self) -> Self::Output {
        match self.scene.evaluate {
            Evaluate::Forces => self.all::<I::F64, false>(),
            Evaluate::ForcesAndEnergies => self.all::<I::F64, true>(),
        }
    }
}

/// The order of a symmetric tensor's elements.
const TENSOR: [(usize, usize); 6] = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];

/// Vectors lane by lane: x of all lanes, then y, then z.
type ByLane = [[f64; MOST_LANES]; 3];

#[inline(always)]
fn lane(vectors: &ByLane, lane: usize) -> Vec3 {
    [vectors[0][lane], vectors[1][lane], vectors[2][lane]]
}

impl<S: Scalar, B: Bound<N>, const N: usize> BoundForces<'_, '_, S, B, N> {
    #[inline(always)]
    fn all<L: Lanes<Scalar = f64>, const ENERGIES: bool>(self) -> (Sums, Option<Broken>) {
        let BoundForces { types, scene, entries, .. } = self;
        let (mut sums, mut broken) = (Sums::default(), None);
        let mut nobody: [ByLane; N] = [[[0.0; MOST_LANES]; 3]; N];
        for n in 0..N {
            for k in 0..3 {
                nobody[n][k] = [B::NOBODY[n][k]; MOST_LANES];
            }
        }
        for batch in entries.chunks(L::WIDTH) {
            let (mut d, mut f) = (nobody, nobody);
            for (lane, entry) in batch.iter().enumerate() {
                let mut towards = [[0.0; 3]; N];
                for n in 0..N {
                    towards[n] = scene.towards(entry, n);
                }
                let vectors = B::vectors(entry.role, towards);
                for n in 0..N {
                    for k in 0..3 {
                        d[n][k][lane] = vectors[n][k];
                    }
                }
            }
            let mut vectors = [[L::lit(0.0); 3]; N];
            for n in 0..N {
                for k in 0..3 {
                    vectors[n][k] = L::load(&d[n][k]);
                }
            }
            let c = types.gather::<L, N>(batch, B::N_COEFFICIENTS);
            let (energy, forces) = B::evaluate(vectors, &c);
            for n in 0..N {
                for k in 0..3 {
                    forces[n][k].store(&mut f[n][k]);
                }
            }
            let mut energies = [0.0; MOST_LANES];
            if ENERGIES {
                energy.store(&mut energies);
            }
            for (at, entry) in batch.iter().enumerate() {
                let (mut vectors, mut forces) = ([[0.0; 3]; N], [[0.0; 3]; N]);
                for n in 0..N {
                    (vectors[n], forces[n]) = (lane(&d[n], at), lane(&f[n], at));
                }
                scene.add(entry, B::on(entry.role, forces));
                let first = vectors[0];
                let length2 = first[0] * first[0] + first[1] * first[1] + first[2] * first[2];
                // Not a number is not whole either.
                let whole = length2 < types.longest2[entry.kind as usize];
                if !whole && broken.is_none() {
                    let atoms = [entry.atom as usize, entry.others[0] as usize];
                    broken = Some(Broken { atoms, length: length2.sqrt() });
                }
                if ENERGIES && entry.role == 0 {
                    sums.energy += energies[at];
                    for n in 0..N {
                        for (w, (p, q)) in sums.virial.iter_mut().zip(TENSOR) {
                            *w += vectors[n][p] * forces[n][q];
                        }
                    }
                }
            }
        }
        (sums, broken)
    }
}
