//! Functions of bonds, angles and dihedrals over lists of entries, a register full at a time.

use super::entries::{BondVectors, BondedContext, BondedEntry, BondedKernel, Broken, TENSOR, on_chain};
use crate::blocks::Sums;
use crate::simd::{Kernel, Lanes, Level, MOST_LANES, Scalar, Simd};
use jostle_core::{Evaluate, Vec3, Vector};
use jostle_potentials::bonded::{
    AngleFunction, AngleVisitor, DihedralFunction, DihedralVisitor, angle_forces, dihedral_forces,
};
use jostle_potentials::pair::{MAX_COEFFICIENTS, PairFunction, PairVisitor};
use jostle_potentials::{AngleTerm, BondTerm, DihedralTerm};
use std::marker::PhantomData;

/// Coefficients by type.
struct TypeCoefficients {
    known: Vec<bool>,
    /// Square of the length at which a bond breaks.
    longest2: Vec<f64>,
    coefficients: Vec<[f64; MAX_COEFFICIENTS]>,
}

impl TypeCoefficients {
    fn new(of: impl Iterator<Item = (Option<Vec<f64>>, f64)>) -> TypeCoefficients {
        let mut types =
            TypeCoefficients { known: Vec::new(), longest2: Vec::new(), coefficients: Vec::new() };
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
        entries: &[BondedEntry<N>],
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

    /// Squares of the lengths at which those of some entries break.
    #[inline(always)]
    fn longest2<L: Lanes<Scalar = f64>, const N: usize>(&self, entries: &[BondedEntry<N>]) -> L {
        if let [longest2] = self.longest2[..] {
            return L::splat(longest2);
        }
        let mut lanes = [0.0; MOST_LANES];
        for (lane, entry) in lanes.iter_mut().zip(entries) {
            *lane = self.longest2[entry.kind as usize];
        }
        L::load(&lanes)
    }
}

pub(super) fn of_bonds<S: Scalar>(term: &BondTerm) -> Box<dyn BondedKernel<S, 1>> {
    struct Prepare<S>(TypeCoefficients, PhantomData<S>);
    impl<S: Scalar> PairVisitor for Prepare<S> {
        type Output = Box<dyn BondedKernel<S, 1>>;
        fn visit<F: PairFunction>(self) -> Self::Output {
            Box::new(Prepared::<OfBond<F>> { types: self.0, function: PhantomData })
        }
    }
    let types = TypeCoefficients::new((0..term.n_types()).map(|k| (term.coefficients(k), term.longest(k))));
    term.kind.visit(Prepare(types, PhantomData))
}

pub(super) fn of_angles<S: Scalar>(term: &AngleTerm) -> Box<dyn BondedKernel<S, 2>> {
    struct Prepare<S>(TypeCoefficients, PhantomData<S>);
    impl<S: Scalar> AngleVisitor for Prepare<S> {
        type Output = Box<dyn BondedKernel<S, 2>>;
        fn visit<F: AngleFunction>(self) -> Self::Output {
            Box::new(Prepared::<OfAngle<F>> { types: self.0, function: PhantomData })
        }
    }
    let types = TypeCoefficients::new((0..term.n_types()).map(|k| (term.coefficients(k), f64::INFINITY)));
    term.kind.visit(Prepare(types, PhantomData))
}

pub(super) fn of_dihedrals<S: Scalar>(term: &DihedralTerm) -> Box<dyn BondedKernel<S, 3>> {
    struct Prepare<S>(TypeCoefficients, PhantomData<S>);
    impl<S: Scalar> DihedralVisitor for Prepare<S> {
        type Output = Box<dyn BondedKernel<S, 3>>;
        fn visit<F: DihedralFunction>(self) -> Self::Output {
            Box::new(Prepared::<OfDihedral<F>> { types: self.0, function: PhantomData })
        }
    }
    let types = TypeCoefficients::new((0..term.n_types()).map(|k| (term.coefficients(k), f64::INFINITY)));
    term.kind.visit(Prepare(types, PhantomData))
}

/// A function of the vectors between bound atoms. The role of an atom is its place among them.
trait BondedFunction<const N: usize>: Send + Sync {
    const N_COEFFICIENTS: usize;
    /// Vectors for unused lanes.
    const PADDING: [Vec3; N];
    /// Vectors of the function from those that lead from atom to atom.
    fn vectors(chain: [Vec3; N]) -> [Vec3; N];
    /// Energy, and the force along each vector on its tip.
    fn evaluate<L: Lanes<Scalar = f64>>(vectors: [Vector<L>; N], c: &[L]) -> (L, [Vector<L>; N]);
    /// Force on the atom of this role.
    fn on(role: u8, forces: [Vec3; N]) -> Vec3;
}

struct OfBond<F>(PhantomData<F>);

impl<F: PairFunction> BondedFunction<1> for OfBond<F> {
    const N_COEFFICIENTS: usize = F::N_COEFFICIENTS;
    const PADDING: [Vec3; 1] = [Vector([0.5, 0.0, 0.0])];

    #[inline(always)]
    fn vectors(chain: [Vec3; 1]) -> [Vec3; 1] {
        chain
    }

    #[inline(always)]
    fn evaluate<L: Lanes<Scalar = f64>>([r]: [Vector<L>; 1], c: &[L]) -> (L, [Vector<L>; 1]) {
        let (energy, force_over_r) = F::evaluate(r.norm_squared(), c);
        (energy, [r * force_over_r])
    }

    #[inline(always)]
    fn on(role: u8, forces: [Vec3; 1]) -> Vec3 {
        on_chain(role, forces)
    }
}

struct OfAngle<F>(PhantomData<F>);

impl<F: AngleFunction> BondedFunction<2> for OfAngle<F> {
    const N_COEFFICIENTS: usize = F::N_COEFFICIENTS;
    const PADDING: [Vec3; 2] = [Vector([1.0, 0.0, 0.0]), Vector([0.0, 1.0, 0.0])];

    /// Vectors from the middle to the ends.
    #[inline(always)]
    fn vectors([to_middle, from_middle]: [Vec3; 2]) -> [Vec3; 2] {
        [-to_middle, from_middle]
    }

    #[inline(always)]
    fn evaluate<L: Lanes<Scalar = f64>>([a, b]: [Vector<L>; 2], c: &[L]) -> (L, [Vector<L>; 2]) {
        let (energy, on_a, on_b) = angle_forces::<F, L>(a, b, c);
        (energy, [on_a, on_b])
    }

    #[inline(always)]
    fn on(role: u8, [a, b]: [Vec3; 2]) -> Vec3 {
        match role {
            0 => a,
            1 => -a - b,
            _ => b,
        }
    }
}

struct OfDihedral<F>(PhantomData<F>);

impl<F: DihedralFunction> BondedFunction<3> for OfDihedral<F> {
    const N_COEFFICIENTS: usize = F::N_COEFFICIENTS;
    const PADDING: [Vec3; 3] = [Vector([1.0, 0.0, 0.0]), Vector([0.0, 1.0, 0.0]), Vector([0.0, 0.0, 1.0])];

    #[inline(always)]
    fn vectors(chain: [Vec3; 3]) -> [Vec3; 3] {
        chain
    }

    #[inline(always)]
    fn evaluate<L: Lanes<Scalar = f64>>(vectors: [Vector<L>; 3], c: &[L]) -> (L, [Vector<L>; 3]) {
        dihedral_forces::<F, L>(vectors, c)
    }

    #[inline(always)]
    fn on(role: u8, forces: [Vec3; 3]) -> Vec3 {
        on_chain(role, forces)
    }
}

struct Prepared<B> {
    types: TypeCoefficients,
    function: PhantomData<B>,
}

impl<S: Scalar, B: BondedFunction<N>, const N: usize> BondedKernel<S, N> for Prepared<B> {
    fn has(&self, kind: u32) -> bool {
        self.types.known[kind as usize]
    }

    fn add_forces(
        &self,
        level: Level,
        context: &mut BondedContext<S>,
        entries: &[BondedEntry<N>],
    ) -> (Sums, Option<Broken>) {
        let (mut sums, mut broken) = (Sums::default(), None);
        let mut forces = [Vec3::ZERO; N_AT_ONCE];
        for entries in entries.chunks(N_AT_ONCE) {
            let forces = &mut forces[..entries.len()];
            let BondedContext { vectors, evaluate, .. } = *context;
            let (types, function) = (&self.types, self.function);
            let (sums, broken) = (&mut sums, &mut broken);
            level.run(BoundForces { types, vectors, evaluate, entries, forces, sums, broken, function });
            for (entry, force) in entries.iter().zip(&*forces) {
                context.add(entry, *force);
            }
        }
        (sums, broken)
    }
}

/// Entries whose forces are computed at once: they are added by a loop of its own, so that kernels need not be
/// compiled for each precision. A multiple of the widest register.
const N_AT_ONCE: usize = 128;

/// The forces of some entries on their atoms.
struct BoundForces<'a, B, const N: usize> {
    types: &'a TypeCoefficients,
    vectors: BondVectors<'a>,
    evaluate: Evaluate,
    entries: &'a [BondedEntry<N>],
    forces: &'a mut [Vec3],
    sums: &'a mut Sums,
    /// First bond that has broken.
    broken: &'a mut Option<Broken>,
    function: PhantomData<B>,
}

impl<B: BondedFunction<N>, const N: usize> Kernel for BoundForces<'_, B, N> {
    type Output = ();

    #[inline(always)]
    fn run<I: Simd>(self) {
        match self.evaluate {
            Evaluate::Forces if !I::F64::IS_FALLBACK => self.all::<I::F64, false>(),
            _ => self.all::<I::F64, true>(),
        }
    }
}

/// Vectors lane by lane: x of all lanes, then y, then z.
type ByLane = [[f64; MOST_LANES]; 3];

#[inline(always)]
fn lane(vectors: &ByLane, lane: usize) -> Vec3 {
    Vector([vectors[0][lane], vectors[1][lane], vectors[2][lane]])
}

impl<B: BondedFunction<N>, const N: usize> BoundForces<'_, B, N> {
    #[inline(always)]
    fn all<L: Lanes<Scalar = f64>, const ENERGIES: bool>(self) {
        let BoundForces { types, vectors: between, entries, forces: found, sums, broken, .. } = self;
        let mut padding: [ByLane; N] = [[[0.0; MOST_LANES]; 3]; N];
        for n in 0..N {
            for k in 0..3 {
                padding[n][k] = [B::PADDING[n][k]; MOST_LANES];
            }
        }
        for (batch, found) in entries.chunks(L::WIDTH).zip(found.chunks_mut(L::WIDTH)) {
            let (mut d, mut f) = (padding, padding);
            for (lane, entry) in batch.iter().enumerate() {
                let vectors = B::vectors(between.chain(entry));
                for n in 0..N {
                    for k in 0..3 {
                        d[n][k][lane] = vectors[n][k];
                    }
                }
            }
            let mut vectors = [Vector([L::lit(0.0); 3]); N];
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
            let Vector([x, y, z]) = vectors[0];
            let length2 = x * x + y * y + z * z;
            // The comparison is false for NaN, too.
            let whole = L::bits(length2.lt(types.longest2(batch)));
            for (at, entry) in batch.iter().enumerate() {
                let mut forces = [Vec3::ZERO; N];
                for n in 0..N {
                    forces[n] = lane(&f[n], at);
                }
                found[at] = B::on(entry.role, forces);
                if whole >> at & 1 == 0 && broken.is_none() {
                    let mut squares = [0.0; MOST_LANES];
                    length2.store(&mut squares);
                    let atoms = [entry.first as usize, entry.others[0] as usize];
                    *broken = Some(Broken { atoms, length: squares[at].sqrt() });
                }
                if ENERGIES && entry.role == 0 {
                    sums.energy += energies[at];
                    for n in 0..N {
                        let vector = lane(&d[n], at);
                        for (w, (p, q)) in sums.virial.iter_mut().zip(TENSOR) {
                            *w += vector[p] * forces[n][q];
                        }
                    }
                }
            }
        }
    }
}
