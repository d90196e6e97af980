//! Forces between the atoms of molecules that nothing binds: their parameters come from the files of
//! the force field, how far they reach from the input.

use super::{CutoffOf, GivenCutoff, Molecules};
use crate::input::Input;
use crate::input::model::{
    Cutoff, FieldInput, FieldStrength, ForceInput, Located, PairInput, PotentialInput,
};
use jostle_core::{Result, Species, System};
use jostle_potentials::{Forces, PairChoice, PairKind, PairTerm, Vacuum};

/// A field by a formula, which acts on charges of atoms.
const FIELD_OF_ATOMS: &str = "a field by a formula acts on charges of atoms: [[field]] with energy = \"-E charge z\", \
    parameters = { E = 0.1 } (energy / charge / length) and positions = \"unwrapped\"";

/// Hint about the sections of an input that forces between atoms of molecules need.
const SECTIONS: &str = "add [[force]] with kind = \"lennard-jones\" and a cutoff, and [electrostatics] \
                        with kind = \"pme\"";

/// Origin of the rule for unlike pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnlikePairs {
    /// Files of the force field.
    OfFiles,
    /// `mixing` of the input, which has been applied.
    OfInput,
}

/// Parameters of forces of a force field between atoms that nothing binds.
pub struct NonbondedParameters {
    n_species: usize,
    unlike: UnlikePairs,
    /// Epsilon and sigma of every two species, a square by rows.
    of_pairs: Vec<[f64; 2]>,
    /// Cut-offs of the files.
    pub(super) cutoffs: Vec<GivenCutoff>,
}

impl NonbondedParameters {
    /// Parameters of nonbonded forces of molecules.
    pub fn of(molecules: &Molecules, unlike: UnlikePairs) -> Self {
        NonbondedParameters {
            n_species: molecules.species.len(),
            unlike,
            of_pairs: molecules.lennard_jones.clone(),
            cutoffs: molecules.cutoffs.clone(),
        }
    }

    fn get(&self, a: usize, b: usize) -> [f64; 2] {
        self.of_pairs[a * self.n_species + b]
    }

    fn has_any(&self) -> bool {
        self.of_pairs.iter().any(|[epsilon, _]| *epsilon != 0.0)
    }

    /// Parameters of pairs, as an input would give them.
    fn pairs(&self, species: &[Species], span: &std::ops::Range<usize>) -> Vec<Located<PairInput>> {
        let all = (0..self.n_species).flat_map(|a| (a..self.n_species).map(move |b| (a, b)));
        let pair = |(a, b): (usize, usize)| {
            let choice = match self.get(a, b) {
                [0.0, _] => PairChoice::None,
                parameters => PairChoice::Given { parameters: parameters.map(Some).to_vec(), cutoff: None },
            };
            let species = [a, b].map(|s| species[s].name.clone());
            Located { value: PairInput { species, choice, table: None }, span: span.clone() }
        };
        all.map(pair).collect()
    }
}

impl Input {
    /// All forces of molecules: `bound` are those of their files along bonds. Without `[[force]]` and
    /// `[electrostatics]` all pairs of atoms interact in open space.
    ///
    /// # Errors
    /// If the input leaves out how far forces reach, or has others than a force field.
    pub(super) fn forces_of_molecules(
        &self,
        system: &System,
        wells: &NonbondedParameters,
        bound: Forces,
    ) -> Result<Forces> {
        let at_topology = |message: &str| self.source.error(&self.system.atoms.span, message);
        let species = &system.species;
        let term = |force: &Located<ForceInput>, species: &[Species]| self.pair_term(force, species, 0.0);
        let (fields, walls) = (self.resolve_fields(species)?, self.resolve_walls(species, None, term)?);
        let electric = |f: &&Located<FieldInput>| matches!(f.value.strength, FieldStrength::Electric(_));
        if let Some(field) = self.fields.iter().find(electric) {
            return Err(self
                .source
                .error(
                    &field.span,
                    "an electric field acts on charges of species, not on those of a topology",
                )
                .hint(FIELD_OF_ATOMS));
        }
        let reflecting_walls = self.reflecting_walls();
        let bound = Forces { fields, walls, reflecting_walls, ..bound };
        if self.forces.is_empty() && self.electrostatics.is_none() {
            if system.simbox.periodic() != [false; 3] {
                return Err(at_topology("the input does not say how far the forces of molecules reach")
                    .hint(format!("{SECTIONS}; or set periodic = false in [system]: open space")));
            }
            self.check_no_cutoffs(wells)?;
            let vacuum = Vacuum::new(wells.n_species, self.units.coulomb(), |a, b| wells.get(a, b));
            return Ok(Forces { vacuum: Some(vacuum), ..bound });
        }
        let pairs = match &self.forces[..] {
            [] if wells.has_any() => {
                return Err(at_topology(
                    "the topology has Lennard-Jones forces, the input does not say how far \
                                        they reach",
                )
                .hint(SECTIONS));
            }
            [] => Vec::new(),
            [force] => vec![self.lennard_jones_of(force, wells, species)?],
            [_, second, ..] => {
                let message = "a topology has only one force between pairs, besides that of charges";
                return Err(self.source.error(&second.span, message).hint("leave this one out"));
            }
        };
        let electrostatics = match &self.electrostatics {
            Some(given) => {
                let term = self.electrostatics_term(given, &pairs, 0.0)?;
                self.check_cutoff(&given.span, CutoffOf::Charges, term.cutoff, wells)?;
                Some(term)
            }
            None if system.charges.iter().any(|q| *q != 0.0) => {
                return Err(at_topology("the topology has charges, the input does not say what they do")
                    .hint("add [electrostatics] with kind = \"pme\""));
            }
            None => None,
        };
        let dispersion = self.dispersion_term(&pairs)?;
        Ok(Forces { pairs, dispersion, electrostatics, ..bound })
    }

    /// The Lennard-Jones force of a topology; pairs in the input come before those of its files.
    fn lennard_jones_of(
        &self,
        force: &Located<ForceInput>,
        wells: &NonbondedParameters,
        species: &[Species],
    ) -> Result<PairTerm> {
        let given = &force.value;
        if given.potential != PotentialInput::BuiltIn(PairKind::LennardJones)
            || (given.mixing.is_some() && wells.unlike == UnlikePairs::OfFiles)
            || given.preset.is_some()
        {
            let message = "beside a topology stands a Lennard-Jones force, whose parameters it has";
            return Err(self.source.error(&force.span, message).hint(
                "write kind = \"lennard-jones\" with a cutoff, and pairs only where they differ from the files",
            ));
        }
        let said = |pair: &Located<PairInput>| {
            let [a, b] = &pair.value.species;
            let same = |p: &Located<PairInput>| {
                let [c, d] = &p.value.species;
                (a, b) == (c, d) || (a, b) == (d, c)
            };
            given.pairs.iter().any(same)
        };
        let mut filled = ForceInput { mixing: None, ..given.clone() };
        filled.pairs.extend(wells.pairs(species, &force.span).into_iter().filter(|pair| !said(pair)));
        let term = self.pair_term(&Located { value: filled, span: force.span.clone() }, species, 0.0)?;
        if let Some(length) = given.cutoff.and_then(Cutoff::length) {
            self.check_cutoff(&force.span, CutoffOf::LennardJones, length, wells)?;
        }
        Ok(term)
    }
}
