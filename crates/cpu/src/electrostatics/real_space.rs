//! The real-space forces of charges, over cluster lists ([`crate::blocks`]), and a
//! Lennard-Jones force in the same pass.

use super::force_forms::{EwaldSplitting, ForceForm, ReactionField, Tabulated, UnitChargeForce, is_single};
use super::force_table::ForceTable;
use crate::blocks::{
    BlockArrays, BlockKernel, BlockView, ListKernel, ListPass, RowSums, Sums, center_of_row, lanes,
};
use crate::coefficients::{CoefficientTable, TableRow, kinds};
use crate::interaction::{add_pair_forces, distance, square};
use crate::simd::{Lanes, Scalar};
use jostle_core::Evaluate;
use jostle_potentials::pair::LennardJones;
use jostle_potentials::truncation::Shifted;
use jostle_potentials::{LatticeSum, PairFunction, PairKind, PairTerm, Potential, Truncation};
use std::marker::PhantomData;

/// The Lennard-Jones force of the pass; one that is not shifted is shifted by nothing.
type Companion = Shifted<LennardJones>;

/// Part of the square of the cut-off below which excluded atoms are taken to be so far apart.
const SAME_PLACE: f64 = 1e-12;

/// Real-space forces of charges, or what a sum of dispersion adds to pairs, made ready for the CPU.
pub struct RealSpaceKernel<S> {
    cutoff: f64,
    kind: ForceForm<S>,
    /// Table of the force of two charges that are not excluded, for registers that can look it up.
    force_table: Option<ForceTable<S>>,
    /// Coefficients of the Lennard-Jones force; zero without one.
    table: CoefficientTable<S>,
    /// True for species that have a Lennard-Jones force with any.
    acts: Vec<bool>,
    /// True if all Lennard-Jones forces have the cut-off of charges.
    together: bool,
}

impl<S: Scalar> RealSpaceKernel<S> {
    /// Kernel of a lattice sum, together with a Lennard-Jones force, see [`RealSpaceKernel::takes`].
    pub fn new(sum: LatticeSum, companion: Option<&PairTerm>, n_species: usize) -> Self {
        let none = PairTerm::new(PairKind::LennardJones, Truncation::Plain, n_species);
        let companion = companion.unwrap_or(&none);
        let mut entries =
            (0..n_species * n_species).filter_map(|k| companion.get(k / n_species, k % n_species));
        let together = entries.all(|entry| entry.cutoff == sum.cutoff());
        let acts =
            |a: usize| (0..n_species).any(|b| companion.get(a, b).is_some_and(|e| e.parameters[0] != 0.0));
        let kind = ForceForm::of(&sum);
        let force_table = match (&kind, &sum) {
            (ForceForm::Polynomial(_) | ForceForm::Wide(_), LatticeSum::Charges(term)) => {
                ForceTable::of_charges(term)
            }
            _ => None,
        };
        RealSpaceKernel {
            cutoff: sum.cutoff(),
            kind,
            force_table,
            table: CoefficientTable::new(companion, Companion::N_COEFFICIENTS),
            acts: (0..n_species).map(acts).collect(),
            together,
        }
    }

    /// Returns true if the pass can include this pair force.
    pub fn takes(term: &PairTerm) -> bool {
        term.potential == Potential::BuiltIn(PairKind::LennardJones)
            && matches!(term.truncation, Truncation::Plain | Truncation::Shifted)
    }

    /// Adds the forces over the list of one task; returns the sums of the Lennard-Jones force, which has no
    /// virial of its own, and of the charges. Charges, by place, are times the root of Coulomb's constant.
    pub fn add_forces(&self, pass: ListPass<S>, charge: &[S]) -> [Sums; 2] {
        pass.run(RealSpaceForces { direct: self, charge })
    }
}

/// The pass with the charges of all places.
struct RealSpaceForces<'a, S> {
    direct: &'a RealSpaceKernel<S>,
    charge: &'a [S],
}

impl<S: Scalar> ListKernel<S> for RealSpaceForces<'_, S> {
    type Output = [Sums; 2];

    #[inline(always)]
    fn run<L: Lanes<Scalar = S>>(self, pass: ListPass<S>) -> [Sums; 2] {
        match &self.direct.kind {
            ForceForm::EwaldSplitting { alpha } => self.with_form::<L, _>(pass, EwaldSplitting::new(*alpha)),
            ForceForm::Spread(spread) => self.with_form::<L, _>(pass, spread),
            ForceForm::Polynomial(near) => self.in_single_precision::<L, _>(pass, near),
            ForceForm::Wide(wide) => self.in_single_precision::<L, _>(pass, wide),
            ForceForm::ReactionField(numbers) => self.with_form::<L, _>(pass, ReactionField::new(*numbers)),
            ForceForm::Screened(screened) => self.with_form::<L, _>(pass, screened),
            ForceForm::Dispersed(dispersed) => self.with_form::<L, _>(pass, dispersed),
        }
    }
}

impl<S: Scalar> RealSpaceForces<'_, S> {
    /// Runs a form of single precision, with the force from the table where registers can look it up.
    #[inline(always)]
    fn in_single_precision<L, M>(self, pass: ListPass<S>, form: M) -> [Sums; 2]
    where
        L: Lanes<Scalar = S>,
        M: UnitChargeForce<L>,
    {
        // Without this the form is compiled for f64, too.
        if !is_single::<S>() {
            unreachable!("the form is one of single precision");
        }
        if L::HOLDS_32
            && let Some(force_table) = &self.direct.force_table
        {
            return self.with_form::<L, _>(pass, Tabulated { form, force_table });
        }
        self.with_form::<L, _>(pass, form)
    }

    #[inline(always)]
    fn with_form<L: Lanes<Scalar = S>, M: UnitChargeForce<L>>(self, pass: ListPass<S>, form: M) -> [Sums; 2] {
        match pass.evaluate {
            Evaluate::Forces if !L::IS_FALLBACK => self.all::<L, M, false>(pass, form),
            _ => self.all::<L, M, true>(pass, form),
        }
    }

    #[inline(always)]
    fn all<L, M, const ENERGIES: bool>(self, pass: ListPass<S>, form: M) -> [Sums; 2]
    where
        L: Lanes<Scalar = S>,
        M: UnitChargeForce<L>,
    {
        let RealSpaceForces { direct, charge } = self;
        let mut energy = 0.0;
        let kernel = RealSpaceBlocks::<L, M, ENERGIES> {
            direct,
            charge,
            cutoff2: L::lit(direct.cutoff.powi(2)),
            form,
            energy: &mut energy,
            lanes: PhantomData,
        };
        let sums = pass.over_blocks(kernel);
        [Sums { energy: sums.energy, ..Sums::default() }, Sums { energy, virial: sums.virial }]
    }
}

/// The block kernel of a form.
struct RealSpaceBlocks<'a, L: Lanes, M, const ENERGIES: bool> {
    direct: &'a RealSpaceKernel<L::Scalar>,
    charge: &'a [L::Scalar],
    cutoff2: L,
    form: M,
    energy: &'a mut f64,
    lanes: PhantomData<L>,
}

/// An atom of a row with its sums.
struct RowAtom<'a, L: Lanes> {
    center: [L; 3],
    charge: L,
    /// Coefficients of its Lennard-Jones force.
    wells: TableRow<'a, L::Scalar>,
    gathered: RowSums<L>,
    energy: L,
    /// Square distances to the nearest of its partners.
    nearest: L,
}

impl<L: Lanes, M: UnitChargeForce<L>, const ENERGIES: bool> BlockKernel<L>
    for RealSpaceBlocks<'_, L, M, ENERGIES>
{
    const PLACE: usize = 7;
    const N_ACCUMULATED: usize = 3;

    #[inline(always)]
    fn load_extra(&self, cluster: usize, extra: &mut [L::Scalar]) {
        L::load(&self.charge[cluster * L::WIDTH..(cluster + 1) * L::WIDTH]).store(extra);
    }

    #[inline(always)]
    fn evaluate_block(&mut self, at: &BlockView<L::Scalar>, arrays: BlockArrays<L::Scalar>) {
        let BlockArrays { tile, rows, sums } = arrays;
        for row in 0..at.n_rows {
            let species = at.clusters.species[at.cluster * L::WIDTH + row] as usize;
            let mut atom = RowAtom {
                center: center_of_row(tile, row),
                charge: L::splat(tile[6 * L::WIDTH + row]),
                wells: self.direct.table.of_species(species, Companion::N_COEFFICIENTS),
                gathered: RowSums::<L>::new(),
                energy: L::lit(0.0),
                nearest: self.cutoff2,
            };
            // Hydrogens often have neither a Lennard-Jones force nor dispersion.
            let companion = match (self.direct.acts[species], self.direct.together) {
                (true, true) => Some(LennardJonesCutoff::Same),
                (true, false) => Some(LennardJonesCutoff::Own),
                (false, _) => None,
            };
            if companion.is_some() || tile[6 * L::WIDTH + row].to_f64() != 0.0 {
                self.evaluate_row(companion, at, tile, row, &mut atom);
            }
            atom.gathered.store_sums(3, row, rows);
            if ENERGIES {
                sums.add(&atom.gathered);
                *self.energy += atom.energy.sum().to_f64();
            }
        }
    }
}

/// Cut-off of the Lennard-Jones force of charges.
#[derive(Clone, Copy, PartialEq)]
enum LennardJonesCutoff {
    /// Cut-off of the charges.
    Same,
    /// Cut-offs of its own.
    Own,
}

impl<L: Lanes, M: UnitChargeForce<L>, const ENERGIES: bool> RealSpaceBlocks<'_, L, M, ENERGIES> {
    /// Evaluates a row. Loops without energies are compiled for each kind of companion; with energies, which
    /// few steps need, the kind is looked up in the loop.
    #[inline(always)]
    fn evaluate_row(
        &self,
        companion: Option<LennardJonesCutoff>,
        at: &BlockView<L::Scalar>,
        tile: &mut [L::Scalar],
        row: usize,
        atom: &mut RowAtom<L>,
    ) {
        if ENERGIES {
            return self.evaluate_partners(companion, at, tile, row, atom);
        }
        match companion {
            None => self.evaluate_partners(None, at, tile, row, atom),
            Some(LennardJonesCutoff::Same) => {
                self.evaluate_partners(Some(LennardJonesCutoff::Same), at, tile, row, atom)
            }
            Some(LennardJonesCutoff::Own) => {
                self.evaluate_partners(Some(LennardJonesCutoff::Own), at, tile, row, atom)
            }
        }
    }

    #[inline(always)]
    fn evaluate_partners(
        &self,
        companion: Option<LennardJonesCutoff>,
        at: &BlockView<L::Scalar>,
        tile: &mut [L::Scalar],
        row: usize,
        atom: &mut RowAtom<L>,
    ) {
        let place = 7 * L::WIDTH;
        for &k in at.partners(row) {
            let k = usize::from(k) + 1;
            let part = &mut tile[k * place..(k + 1) * place];
            let other = at.entries[k - 1].cluster as usize;
            self.interact::<false>(companion, at, other, atom, part, [0; 2]);
        }
        if M::TABULATED && L::bits(atom.nearest.lt(self.form.least())) != 0 {
            self.correct_nearest(at.partners(row), tile, atom);
        }
        // Atoms after this one in the cluster, so that each pair inside it is there once.
        let itself = at.own.then(|| (0, at.after(row), !0 << (row + 1)));
        let parts = at.parts(row).iter().map(|part| (usize::from(part.entry) + 1, part.atoms.into(), !0));
        for (k, included, all) in itself.into_iter().chain(parts) {
            let part = &mut tile[k * place..(k + 1) * place];
            self.interact::<true>(companion, at, at.cluster_at(k), atom, part, [included, all]);
        }
    }

    /// Adds the forces between an atom and the atoms of a place, or only some of them: of `all`, those that
    /// are not `included` are excluded.
    #[inline(always)]
    fn interact<const ONLY_SOME: bool>(
        &self,
        lennard_jones: Option<LennardJonesCutoff>,
        at: &BlockView<L::Scalar>,
        other: usize,
        atom: &mut RowAtom<L>,
        place: &mut [L::Scalar],
        [included, all]: [u32; 2],
    ) {
        let d = distance(place, atom.center);
        let r2 = square(d);
        let (zero, mut one, mut near) = (L::lit(0.0), L::lit(1.0), r2.lt(self.cutoff2));
        if ONLY_SOME {
            one = L::select(lanes::<L>(included), one, zero);
            near = L::and(near, lanes::<L>(all));
        }
        let charges = atom.charge * L::load(&place[6 * L::WIDTH..]);
        let (energy, force) = match ONLY_SOME {
            // Excluded atoms may be at one place, where zero times a point charge's force would be no number.
            true => {
                let apart = r2.max(L::lit(SAME_PLACE) * self.cutoff2);
                self.form.direct(L::select(lanes::<L>(included), r2, apart), one)
            }
            false => self.form.apart(r2),
        };
        let looked_up = M::TABULATED && !ONLY_SOME;
        if looked_up {
            atom.nearest = atom.nearest.min(r2);
        }
        let mut force_over_r = L::select(near, charges * force, zero);
        let mut companion = zero;
        if ENERGIES {
            atom.energy = atom.energy + L::select(near, charges * energy, zero);
        }
        if let Some(cutoff) = lennard_jones {
            let kinds = kinds::<L>(at.clusters, other);
            let c = atom.wells.coefficients::<L>(kinds, Companion::N_COEFFICIENTS);
            // A form of the force may have a root, which then serves for both.
            let inverse = if looked_up { r2.recip() } else { r2.inverse_powers()[0] };
            let [a, b] = LennardJones::force_factors([inverse, inverse * inverse * inverse], &c);
            if cutoff == LennardJonesCutoff::Own {
                near = r2.lt(atom.wells.cutoff2(kinds));
            }
            if ONLY_SOME {
                near = L::and(near, lanes::<L>(included));
            }
            force_over_r = match cutoff == LennardJonesCutoff::Same && !ONLY_SOME {
                true => L::select(near, a.mul_add(b, charges * force), zero),
                false => force_over_r + L::select(near, a * b, zero),
            };
            // The energy has a reciprocal of its own: the square of that root is less exact.
            companion = L::select(near, Companion::evaluate(r2, &c).0, zero);
        }
        add_pair_forces(place, d, force_over_r, &mut atom.gathered);
        if ENERGIES {
            atom.gathered.add_sums(companion, force_over_r, d);
        }
    }

    /// Adds the missing force of partners nearer than the table of forces reaches.
    #[inline(always)]
    fn correct_nearest(&self, partners: &[u8], tile: &mut [L::Scalar], atom: &mut RowAtom<L>) {
        for &k in partners {
            let k = usize::from(k) + 1;
            let place = &mut tile[k * 7 * L::WIDTH..(k + 1) * 7 * L::WIDTH];
            let d = distance(place, atom.center);
            let r2 = square(d);
            let charges = atom.charge * L::load(&place[6 * L::WIDTH..]);
            let lacking = charges * (self.form.direct(r2, L::lit(1.0)).1 - self.form.apart(r2).1);
            let force_over_r = L::select(r2.lt(self.form.least()), lacking, L::lit(0.0));
            add_pair_forces(place, d, force_over_r, &mut atom.gathered);
            if ENERGIES {
                atom.gathered.add_sums(L::lit(0.0), force_over_r, d);
            }
        }
    }
}
