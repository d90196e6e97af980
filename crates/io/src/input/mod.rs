//! The input file: TOML, typed, checked against one schema.
//!
//! The contents of a file are defined by [`INPUT`]; everything else follows from it: reading with exact
//! places in errors ([`Input::parse`]), the text and JSON forms of the schema, and the input with
//! every default filled in.

mod alchemy;
mod barostat;
mod biases_in_stages;
mod build;
mod choice;
mod complete;
mod course;
mod cutoff;
mod describe;
mod difference;
mod enhanced;
mod external;
mod fields;
mod force;
mod formula;
mod group;
mod keys;
mod long_range;
mod many_body;
pub mod model;
mod molecules;
mod read;
mod reference;
mod rigid;
mod sampling;
pub mod schema;
mod set;
mod stage;
mod system;
mod table;
mod until;

pub use choice::NamedChoice;
pub use describe::{schema_json, schema_text};
pub use difference::KeyDifference;
pub use keys::INPUT;
pub use model::Input;
pub use reference::schema_markdown;
pub use set::Assignment;
pub use table::TableFacts;

use crate::memory;
use crate::text;
use jostle_core::{Error, Result, Species, System, Topology};
use jostle_potentials::bonded::BondedTerm;
use jostle_potentials::electrostatics::{Composition, Method};
use jostle_potentials::{BondedKind, Dispersion, Electrostatics, Forces, Grains, PairTerm, PairTermBuilder};
use model::{
    AtomsInput, Cutoff, ElectrostaticsInput, ElectrostaticsKind, ForceInput, HALF_BOX, Located,
    ScreeningInput, Source,
};
use std::path::Path;

/// Name of the type of bonds and of angles of `place = "chains"`.
const CHAIN: &str = "chain";

impl Input {
    /// Reads an input file.
    ///
    /// # Errors
    /// If the file cannot be read or is not UTF-8, and those of [`Input::parse`].
    pub fn read(path: &Path) -> Result<Input> {
        Input::parse_bytes(path, Input::read_bytes(path)?)
    }

    /// The bytes of an input file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read_bytes(path: &Path) -> Result<Vec<u8>> {
        text::read_bytes(path)
    }

    /// Reads the bytes of an input, see [`Input::parse`].
    ///
    /// # Errors
    /// As [`Input::parse`], or if the bytes are no UTF-8.
    pub fn parse_bytes(path: &Path, bytes: Vec<u8>) -> Result<Input> {
        let text = String::from_utf8(bytes).map_err(|e| {
            let at = e.utf8_error().valid_up_to();
            let line = e.as_bytes()[..at].iter().filter(|&&b| b == b'\n').count() + 1;
            Error::input("the file is not text (UTF-8)")
                .at_line(path, line)
                .hint("an input is a TOML text file")
        })?;
        Input::parse(path, &text)
    }

    /// Reads the text of an input; `path` is what errors call it and where relative paths start.
    ///
    /// # Errors
    /// If the text is no TOML, has unknown keys, wrong types or units, numbers that make no
    /// sense, or contradicts itself. The error has the line, the reason and what would do.
    pub fn parse(path: &Path, text: &str) -> Result<Input> {
        let source = Source { path: path.to_path_buf(), text: text.into() };
        let (units, fields) = read::read(&source, &INPUT)?;
        build::build(source, units, &fields)
    }

    /// The forces, with the parameters of every pair of these species and of every type of bonds and
    /// angles. The electrons that screen charges are as dense as `charge_density`, the charge of the
    /// atoms per volume, where the input does not give their density.
    ///
    /// # Errors
    /// If a pair names an unknown species or type, or is left without parameters or a cut-off; the error
    /// points at the pair or the force.
    pub fn resolve_forces(
        &self,
        species: &[Species],
        topology: &Topology,
        charge_density: f64,
    ) -> Result<Forces> {
        let term =
            |force: &Located<ForceInput>, species: &[Species]| self.pair_term(force, species, charge_density);
        let mut pairs = self.forces.iter().map(|f| term(f, species)).collect::<Result<Vec<_>>>()?;
        let grains = self.resolve_grains(species)?;
        let fields = self.resolve_fields(species)?;
        self.check_electric_fields(species)?;
        let walls = self.resolve_walls(species, grains.as_ref(), term)?;
        pairs.extend(grains.as_ref().map(Grains::springs));
        let embedded = self.metal.as_ref().map(|metal| self.embedded(metal, species)).transpose()?;
        let three_body =
            self.three_body.as_ref().map(|term| self.three_body_term(term, species)).transpose()?;
        let electrostatics = self.electrostatics.as_ref();
        let electrostatics =
            electrostatics.map(|e| self.electrostatics_term(e, &pairs, charge_density)).transpose()?;
        let dispersion = self.dispersion_term(&pairs)?;
        let bonds = self.bonded_terms(&self.bonds, &topology.bond_types)?;
        let angles = self.bonded_terms(&self.angles, &topology.angle_types)?;
        let dihedrals = self.bonded_terms(&self.dihedrals, &topology.dihedral_types)?;
        Ok(Forces {
            pairs,
            embedded,
            three_body,
            dispersion,
            electrostatics,
            bonds,
            angles,
            dihedrals,
            fields,
            walls,
            reflecting_walls: self.reflecting_walls(),
            grains,
            exclude: self.exclude,
            ..Forces::default()
        })
    }

    /// A force between pairs of these species; see [`Input::resolve_forces`].
    pub(crate) fn pair_term(
        &self,
        force: &Located<ForceInput>,
        species: &[Species],
        charge_density: f64,
    ) -> Result<PairTerm> {
        if let Some(Cutoff::HalfBox) = force.value.cutoff {
            let message = format!(
                "\"{HALF_BOX}\" is a cut-off in a periodic box, of atoms that are built or read without their forces"
            );
            return Err(self.source.error(&force.span, message).hint("give a length"));
        }
        let term = self.computed_term(force, species, charge_density)?;
        let at = |e: Error| e.at_span(&self.source.path, &self.source.text, force.span.clone());
        if force.value.tabulate { term.tabulated().map_err(at) } else { Ok(term) }
    }

    /// Force between pairs of these species, before it is tabulated.
    fn computed_term(
        &self,
        force: &Located<ForceInput>,
        species: &[Species],
        charge_density: f64,
    ) -> Result<PairTerm> {
        let at = |span: &std::ops::Range<usize>| {
            let (source, span) = (&self.source, span.clone());
            move |e: Error| e.at_span(&source.path, &source.text, span)
        };
        let f = &force.value;
        let kind = match &f.potential {
            model::PotentialInput::BuiltIn(kind) => *kind,
            model::PotentialInput::Formula { formula, parameters } => {
                let term = self.formula_term(f, (formula, parameters), species);
                let corrected = |term: PairTerm| match f.tail_correction {
                    true => term.with_tail_correction(),
                    false => Ok(term),
                };
                let named = |e: Error| e.context("force formula");
                return term.and_then(corrected).map_err(named).map_err(at(&force.span));
            }
            model::PotentialInput::Table => {
                let term = self.table_term(force, species).map(|(term, _)| term);
                return term.map_err(|e| e.context("force table")).map_err(at(&force.span));
            }
        };
        let mut builder = PairTermBuilder::new(kind, f.truncation, species, self.units.coulomb());
        if let Some(cutoff) = f.cutoff.and_then(Cutoff::length) {
            builder = builder.cutoff(cutoff);
        }
        if let Some(mixing) = &f.mixing {
            builder = builder.mixing(mixing.value);
        }
        if f.tail_correction {
            builder = builder.tail_correction();
        }
        if let Some(preset) = &f.preset {
            builder = builder.preset(&preset.value, self.units).map_err(at(&preset.span))?;
        }
        if let Some(Located { value, span }) = &f.screening {
            let length = self.screening_length(*value, charge_density);
            let screened = length.and_then(|length| builder.common("screening_length", length));
            builder = screened.map_err(at(span))?;
        }
        for pair in &f.pairs {
            let [a, b] = &pair.value.species;
            builder = builder.pair([a, b], pair.value.choice.clone()).map_err(at(&pair.span))?;
        }
        builder.build().map_err(at(&force.span))
    }

    /// Coulomb's forces; pair forces say where they end if nothing else does.
    pub(crate) fn electrostatics_term(
        &self,
        given: &Located<ElectrostaticsInput>,
        pairs: &[PairTerm],
        charge_density: f64,
    ) -> Result<Electrostatics> {
        // Pairs without a force (all wells are zero) have no cut-off, but their section may say one.
        let of_pairs = pairs.iter().map(PairTerm::largest_cutoff).fold(0.0, f64::max);
        let of_sections = self.forces.iter().filter_map(|force| force.value.cutoff?.length());
        let longest = if of_pairs > 0.0 { of_pairs } else { of_sections.fold(0.0, f64::max) };
        let Some(cutoff) = given.value.cutoff.or((longest > 0.0).then_some(longest)) else {
            let message = "[electrostatics] needs \"cutoff\": there is no pair force that has one";
            return Err(self.source.error(&given.span, message).hint("add cutoff = ..."));
        };
        let mut term =
            Electrostatics::new(method(given.value.kind, cutoff, Method::pme), self.units.coulomb(), cutoff);
        term.net_charge = given.value.net_charge;
        if let Some(Located { value, span }) = &given.value.screening {
            let length = self.screening_length(*value, charge_density);
            let at = |e: Error| e.at_span(&self.source.path, &self.source.text, span.clone());
            term.screening_length = length.map_err(at)?;
        }
        Ok(term)
    }

    /// The sum over all images beyond one of these pair forces, which are those of the input in the same
    /// order.
    pub(crate) fn dispersion_term(&self, pairs: &[PairTerm]) -> Result<Option<Dispersion>> {
        let mut found = None;
        for (force, term) in self.forces.iter().zip(pairs) {
            let Some(Located { value: kind, span }) = &force.value.dispersion else { continue };
            if found.is_some() {
                let message = "a second force sums its dispersion over all images";
                return Err(self.source.error(span, message).hint("one of them may"));
            }
            let at = |e: Error| e.at_span(&self.source.path, &self.source.text, span.clone());
            found = Some(
                Dispersion::new(term, method(*kind, term.largest_cutoff(), Method::gaussian_pme))
                    .map_err(at)?,
            );
        }
        Ok(found)
    }

    /// A screening length, of electrons that are as dense as the atoms' charges unless it is said.
    fn screening_length(&self, given: ScreeningInput, charge_density: f64) -> Result<f64> {
        match given {
            ScreeningInput::Length(length) => Ok(length),
            ScreeningInput::Electrons { kind, density } => {
                kind.length(density.unwrap_or(charge_density), self.units)
            }
        }
    }

    /// Splits the reciprocal-space sum of charges so that forces on these have the accuracy that was asked for.
    pub fn split_charges(&self, charges: &Composition, forces: &mut Forces) {
        if let Some(Located { value: given, .. }) = &self.electrostatics
            && let ElectrostaticsKind::Pme { accuracy, order } = given.kind
            && let Some(term) = &mut forces.electrostatics
        {
            let kappa = term.kappa().unwrap_or(0.0);
            term.method = Method::pme_of(charges, term.cutoff, accuracy, order, kappa);
        }
    }

    /// Bonds, angles or dihedrals, with the parameters of their types.
    fn bonded_terms<K: BondedKind>(
        &self,
        given: &[model::Located<model::BondedInput<K>>],
        names: &[String],
    ) -> Result<Vec<BondedTerm<K>>> {
        let what = K::WHAT;
        let mut terms = Vec::new();
        for force in given {
            let mut term = BondedTerm::new(force.value.kind, names.len());
            for one in &force.value.types {
                let (name, span) = (&one.value.name, &one.span);
                let number = names.iter().position(|n| n == name).ok_or_else(|| {
                    let error = self.source.error(span, format!("there are no {what}s of type \"{name}\""));
                    match names {
                        [] => error.hint(format!("the system has no {what}s")),
                        _ => error.hint(format!("the types are {}", names.join(", "))),
                    }
                })?;
                term = term
                    .with(number, &one.value.parameters)
                    .map_err(|e| e.at_span(&self.source.path, &self.source.text, span.clone()))?;
            }
            terms.push(term);
        }
        Ok(terms)
    }

    /// Bonds and angles of a system that is built; angles only where the input has a force for them.
    pub fn built_topology(&self) -> Topology {
        let (chains, beads) = match self.system.atoms.value {
            AtomsInput::Chains { chains, beads, .. } => (chains, beads),
            AtomsInput::Water { molecules, ref shape, .. } => {
                return Topology::rigid_water(molecules, shape);
            }
            _ => return Topology::default(),
        };
        let mut topology = Topology::chains(chains, beads, CHAIN);
        if self.angles.is_empty() {
            (topology.angles, topology.angle_types) = Default::default();
        }
        topology
    }

    /// System that was read or built, with the copies of it that the input wants side by side.
    ///
    /// # Errors
    /// Errors of [`System::replicate`], at the line of the input.
    pub fn replicated(&self, system: System) -> Result<System> {
        let Located { value: copies, span } = &self.system.replicate;
        let at = |e: Error| e.at_span(&self.source.path, &self.source.text, span.clone());
        let n = system.state.len() as u64;
        memory::room_for_atoms(copies.iter().fold(n, |n, copies| n.saturating_mul(*copies as u64)))
            .map_err(at)?;
        system.replicate(*copies).map_err(at)
    }

    /// The species of the input as atoms have them, for a system that is built.
    ///
    /// # Errors
    /// If one has no mass.
    pub fn species_with_mass(&self) -> Result<Vec<Species>> {
        let one = |s: &model::Located<model::SpeciesInput>| {
            let s_in = &s.value;
            let mass = s_in
                .mass
                .ok_or_else(|| self.source.error(&s.span, format!("[species.{}] needs a mass", s_in.name)))?;
            let mass = self.units.mass_from_user(mass);
            Ok(Species { name: s_in.name.clone(), mass, charge: s_in.charge.unwrap_or(0.0) })
        };
        self.species.iter().map(one).collect()
    }
}

/// Treatment of forces that reach further than a cut-off, with a mesh from its cut-off, accuracy and order.
fn method(kind: ElectrostaticsKind, cutoff: f64, pme: fn(f64, f64, usize) -> Method) -> Method {
    match kind {
        ElectrostaticsKind::Pme { accuracy, order } => pme(cutoff, accuracy, order),
        ElectrostaticsKind::Ewald { accuracy } => Method::ewald(cutoff, accuracy),
        ElectrostaticsKind::ReactionField { dielectric } => {
            Method::ReactionField { dielectric: dielectric.unwrap_or(f64::INFINITY) }
        }
        ElectrostaticsKind::Cutoff => Method::Cutoff,
    }
}
