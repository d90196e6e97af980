//! All forces of a system.

use crate::bonded::{AngleTerm, BondTerm, Cmap, DihedralTerm};
use crate::dispersion::Dispersion;
use crate::electrostatics::Electrostatics;
use crate::embedded::Embedded;
use crate::external::{Field, FormulaField, ReflectingWall, Surface, Wall};
use crate::grains::Grains;
use crate::lattice_sum::LatticeSum;
use crate::restraint::Restraints;
use crate::tail::Tail;
use crate::term::PairTerm;
use crate::three_body::ThreeBody;
use crate::vacuum::Vacuum;
use jostle_core::{Exclude, System};
use serde::{Deserialize, Serialize};

/// All forces of a system, which add up. Energies by term, as in [`jostle_core::Energies::terms`],
/// are in the order of its fields.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Forces {
    /// Forces between pairs of atoms, in the order of the input.
    pub pairs: Vec<PairTerm>,
    /// The many-body force of a metal.
    pub embedded: Option<Embedded>,
    /// The force of atoms whose bonds prefer angles.
    pub three_body: Option<ThreeBody>,
    /// Dispersion over all images.
    pub dispersion: Option<Dispersion>,
    /// Forces between charges.
    pub electrostatics: Option<Electrostatics>,
    /// Forces between all atoms of molecules in open space.
    pub vacuum: Option<Vacuum>,
    /// Forces along bonds.
    pub bonds: Vec<BondTerm>,
    /// Forces that bend angles.
    pub angles: Vec<AngleTerm>,
    /// Forces that turn dihedrals.
    pub dihedrals: Vec<DihedralTerm>,
    /// Maps over two dihedral angles, by kind of [`jostle_core::CrossTerm`].
    pub cmaps: Vec<Cmap>,
    /// Forces that are the same everywhere.
    pub fields: Vec<Field>,
    /// Walls with a force.
    pub walls: Vec<Wall>,
    /// Walls that reflect atoms, without a force: they are no terms.
    pub reflecting_walls: Vec<ReflectingWall>,
    /// Fields by formulas.
    pub formula_fields: Vec<FormulaField>,
    /// Numbers of all fields, from 1 on, as an input has them in one list: of those that are the same everywhere, then
    /// of those by formulas. Empty where this is their order.
    pub field_numbers: Vec<usize>,
    /// Restraints of atoms to places or distances.
    pub restraints: Restraints,
    /// Damping and friction of grains, whose push is one of the pair forces.
    pub grains: Option<Grains>,
    /// Bound atoms that the pair forces leave out.
    pub exclude: Exclude,
}

impl Forces {
    /// The kinds of the terms by their names in the input file, in the order of their energies.
    pub fn kinds(&self) -> Vec<&'static str> {
        let pairs = self.pairs.iter().map(|term| term.potential.name());
        let embedded = self.embedded.iter().map(|term| term.kind.name());
        let three_body = self.three_body.iter().map(|term| term.kind.name());
        let dispersion = self.dispersion.iter().map(|_| Dispersion::TERM);
        let electrostatics = self.electrostatics.iter().map(|_| Electrostatics::TERM);
        let sums = dispersion.chain(electrostatics);
        let vacuum = self.vacuum.iter().flat_map(|_| Vacuum::TERMS);
        let bonds = self.bonds.iter().map(|term| term.term());
        let angles = self.angles.iter().map(|term| term.term());
        let dihedrals = self.dihedrals.iter().map(|term| term.term());
        let cmaps = (!self.cmaps.is_empty()).then_some(Cmap::TERM);
        let bound = bonds.chain(angles).chain(dihedrals).chain(cmaps);
        let external = self.fields.iter().map(|_| "field").chain(self.walls.iter().map(|_| "wall"));
        let external = external.chain(self.formula_fields.iter().map(|_| FormulaField::TERM));
        let external = external.chain((!self.restraints.is_empty()).then_some("restraint"));
        pairs
            .chain(embedded)
            .chain(three_body)
            .chain(sums)
            .chain(vacuum)
            .chain(bound)
            .chain(external)
            .collect()
    }

    /// Number of terms.
    pub fn n_terms(&self) -> usize {
        self.n_searched() + self.n_unbounded() + self.n_bonded() + self.n_external()
    }

    /// Number of terms that act on all near atoms: these come first.
    pub fn n_searched(&self) -> usize {
        self.n_pairs() + self.sums().count()
    }

    /// Number of these that are within cut-offs alone: pair forces and many-body forces, which come before sums
    /// over all images.
    pub fn n_pairs(&self) -> usize {
        self.three_body_term() + usize::from(self.three_body.is_some())
    }

    /// Index of the three-body force among all terms, where there is one.
    pub fn three_body_term(&self) -> usize {
        self.pairs.len() + usize::from(self.embedded.is_some())
    }

    /// Sums over all images, and Coulomb's forces with a cut-off.
    pub fn sums(&self) -> impl Iterator<Item = LatticeSum> + '_ {
        let dispersion = self.dispersion.iter().cloned().map(LatticeSum::Dispersion);
        dispersion.chain(self.electrostatics.map(LatticeSum::Charges))
    }

    /// Returns true where there is a sum in reciprocal space.
    pub fn has_reciprocal_sum(&self) -> bool {
        self.sums().any(|sum| sum.spectrum().is_some())
    }

    /// Number of terms that act on all atoms, at any distance: these come next.
    pub fn n_unbounded(&self) -> usize {
        self.vacuum.as_ref().map_or(0, |_| Vacuum::TERMS.len())
    }

    /// Number of terms that act on bound atoms only.
    pub fn n_bonded(&self) -> usize {
        self.bonds.len() + self.angles.len() + self.dihedrals.len() + usize::from(!self.cmaps.is_empty())
    }

    /// Number of external terms: fields, walls, fields by formulas and, as one, restraints. These come last.
    pub fn n_external(&self) -> usize {
        self.fields.len()
            + self.walls.len()
            + self.formula_fields.len()
            + usize::from(!self.restraints.is_empty())
    }

    /// Index of the first field by a formula among external terms.
    pub fn first_formula_field(&self) -> usize {
        self.fields.len() + self.walls.len()
    }

    /// Sets the time at which fields that depend on it are evaluated from now on, and walls that move.
    pub fn set_time(&mut self, time: f64) {
        self.formula_fields.iter_mut().for_each(|field| field.time = time);
        self.walls.iter_mut().for_each(|wall| wall.set_time(time));
    }

    /// Returns true where a field depends on time, or a wall moves.
    pub fn depend_on_time(&self) -> bool {
        self.formula_fields.iter().any(FormulaField::depends_on_time)
            || self.walls.iter().any(|wall| wall.motion.is_moving())
            || self.reflecting_walls.iter().any(|wall| wall.motion.is_moving())
    }

    /// Axes along which fields and walls act on the total momentum, which is not conserved along these: a field on charges
    /// that add up to zero acts along none. In a box with tilts walls stand
    /// askew, and all axes count.
    pub fn axes_of_external_forces(&self, system: &System) -> [bool; 3] {
        let mut axes = [false; 3];
        let upright = system.simbox.tilts() == [0.0; 3];
        for wall in &self.walls {
            let alone = upright && wall.surface == Surface::Smooth;
            (0..3).for_each(|axis| axes[axis] |= !alone || axis == wall.axis);
        }
        for wall in &self.reflecting_walls {
            (0..3).for_each(|axis| axes[axis] |= !upright || axis == wall.axis);
        }
        for field in &self.fields {
            let total = field.total(system);
            (0..3).for_each(|axis| axes[axis] |= total[axis] != 0.0);
        }
        for field in &self.formula_fields {
            (0..3).for_each(|axis| axes[axis] |= field.depends_on(axis));
        }
        axes
    }

    /// Returns true where there are external forces, or walls that reflect atoms, in all stages, so that momentum is not
    /// conserved and absolute positions matter.
    pub fn have_fields_or_walls(&self) -> bool {
        let fields = self.fields.len() + self.formula_fields.len();
        fields + self.walls.len() + self.reflecting_walls.len() > 0
    }

    /// All terms but bonded ones, each by itself, in the same order.
    pub fn each(&self) -> impl Iterator<Item = Forces> + '_ {
        let pairs = self.pairs.iter().map(|term| Forces::from(term.clone()));
        let embedded = self.embedded.iter().map(|term| Forces::from(term.clone()));
        let three_body = self.three_body.iter().map(|term| Forces::from(term.clone()));
        let dispersion = self.dispersion.iter().map(|term| Forces::from(term.clone()));
        let electrostatics = self.electrostatics.iter().map(|term| Forces::from(*term));
        let vacuum = self.vacuum.iter().map(|term| Forces::from(term.clone()));
        pairs.chain(embedded).chain(three_body).chain(dispersion).chain(electrostatics).chain(vacuum)
    }

    /// Advice where a force is not finite.
    pub fn hint(&self) -> String {
        let mut hint = "two atoms came too close: minimise first, or shorten the time step".to_string();
        if self.have_fields_or_walls() {
            hint += "; or a field or wall is too strong";
        }
        for term in &self.pairs {
            if let Some(start) = term.table_begins() {
                let name = term.potential.name();
                hint += &format!("; the table of '{name}' begins at {start:.3}, and nothing may come nearer");
            }
        }
        hint
    }

    /// The long-range correction of a term, see [`PairTerm::tail`]; others than pair forces have none.
    pub fn tail(&self, term: usize, counts: &[usize]) -> Tail {
        self.pairs.get(term).map_or(Tail::default(), |term| term.tail(counts))
    }

    /// The largest cut-off of any term; 0 if nothing interacts.
    pub fn largest_cutoff(&self) -> f64 {
        let pairs = self.pairs.iter().map(PairTerm::largest_cutoff);
        let embedded = self.embedded.iter().map(Embedded::cutoff);
        let three_body = self.three_body.iter().map(ThreeBody::cutoff);
        let sums = self.sums().map(|sum| sum.cutoff());
        pairs.chain(embedded).chain(three_body).chain(sums).fold(0.0, f64::max)
    }
}

impl From<Vec<PairTerm>> for Forces {
    fn from(pairs: Vec<PairTerm>) -> Self {
        Forces { pairs, ..Forces::default() }
    }
}

impl From<PairTerm> for Forces {
    fn from(term: PairTerm) -> Self {
        vec![term].into()
    }
}

impl From<Grains> for Forces {
    fn from(grains: Grains) -> Self {
        Forces { pairs: vec![grains.springs()], grains: Some(grains), ..Forces::default() }
    }
}

impl From<Embedded> for Forces {
    fn from(term: Embedded) -> Self {
        Forces { embedded: Some(term), ..Forces::default() }
    }
}

impl From<ThreeBody> for Forces {
    fn from(term: ThreeBody) -> Self {
        Forces { three_body: Some(term), ..Forces::default() }
    }
}

impl From<Electrostatics> for Forces {
    fn from(term: Electrostatics) -> Self {
        Forces { electrostatics: Some(term), ..Forces::default() }
    }
}

impl From<Dispersion> for Forces {
    fn from(term: Dispersion) -> Self {
        Forces { dispersion: Some(term), ..Forces::default() }
    }
}

impl From<Vacuum> for Forces {
    fn from(term: Vacuum) -> Self {
        Forces { vacuum: Some(term), ..Forces::default() }
    }
}
