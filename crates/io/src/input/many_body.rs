//! Many-body forces: `[metal]` and `[three_body]`, from files or published parameters.

use super::Input;
use super::model::{Located, MetalFunctions, MetalInput, ThreeBodyInput};
use crate::dynamo::Dynamo;
use crate::three_body::ThreeBodyFile;
use jostle_core::{Dimension, Error, Result, Species};
use jostle_potentials::three_body::StillingerWeberEntry;
use jostle_potentials::{Embedded, SuttonChen, ThreeBody, ThreeBodyKind};

impl Input {
    /// The force of a metal.
    pub(super) fn embedded(&self, metal: &Located<MetalInput>, species: &[Species]) -> Result<Embedded> {
        let at = |e: Error| self.at_force(metal, e);
        let [electronvolt, angstrom] = self.real_units(metal, "metals")?;
        let MetalInput { functions, elements } = &metal.value;
        let names = names_of(elements, species).map_err(at)?;
        match functions {
            MetalFunctions::Files(files) => {
                Dynamo::read(files).and_then(|d| d.embedded(&names, electronvolt, angstrom)).map_err(at)
            }
            MetalFunctions::SuttonChen { cutoff } => {
                let metals = names.iter().map(|name| {
                    SuttonChen::metal(name).ok_or_else(|| {
                        let known = SuttonChen::METALS.map(|m| m.symbol).join(", ");
                        let error = Error::input(format!("there is no Sutton-Chen metal \"{name}\""));
                        at(error
                            .hint(format!("there are {known}; say which a species is: elements = [\"Cu\"]")))
                    })
                });
                let metals = metals.collect::<Result<Vec<_>>>()?;
                let largest = metals.iter().map(|m| m.a * angstrom).fold(0.0, f64::max);
                let cutoff = cutoff.unwrap_or(2.0 * largest);
                SuttonChen::embedded(&metals, cutoff, electronvolt, angstrom).map_err(at)
            }
        }
    }

    /// The force of atoms whose bonds prefer angles.
    pub(super) fn three_body_term(
        &self,
        given: &Located<ThreeBodyInput>,
        species: &[Species],
    ) -> Result<ThreeBody> {
        let at = |e: Error| self.at_force(given, e);
        let [electronvolt, angstrom] = self.real_units(given, "three-body potentials")?;
        let ThreeBodyInput { kind, file, elements } = &given.value;
        let names = names_of(elements, species).map_err(at)?;
        match (file, names.iter().find(|name| **name != "Si")) {
            (Some(file), _) => {
                let file = ThreeBodyFile::read(file, *kind);
                file.and_then(|file| file.force(&names, electronvolt, angstrom)).map_err(at)
            }
            (None, Some(other)) => {
                let kind = ThreeBodyKind::StillingerWeber.name();
                let error =
                    Error::input(format!("\"{other}\" needs a file: kind = \"{kind}\" knows Si alone"));
                Err(at(error.hint("name the file: file = \"CdTe.sw\"; or the element: elements = [\"Si\"]")))
            }
            (None, None) => {
                let silicon = StillingerWeberEntry::SILICON.scaled(electronvolt, angstrom);
                let entries = vec![silicon; names.len().pow(3)];
                ThreeBody::stillinger_weber(names.len(), &entries, |_| "Si Si Si".into()).map_err(at)
            }
        }
    }

    /// An error of a force, in the input where it has no other place.
    fn at_force<T>(&self, given: &Located<T>, error: Error) -> Error {
        error.at_span(&self.source.path, &self.source.text, given.span.clone())
    }

    /// An electronvolt and an angstrom in the units of the input.
    fn real_units<T>(&self, given: &Located<T>, what: &str) -> Result<[f64; 2]> {
        let units = self.units;
        let of = |dimension| units.from_si(dimension);
        let (Some(energy), Some(length)) = (of(Dimension::ENERGY), of(Dimension::LENGTH)) else {
            let error = self.source.error(&given.span, format!("units = \"{units}\" has no electronvolt"));
            let hint = format!("{what} need real units: write units = \"metal\" (eV, angstrom, ps)");
            return Err(error.hint(hint));
        };
        Ok([energy * 1.602_176_634e-19, length * 1e-10])
    }
}

/// The chemical symbol of each species.
fn names_of<'a>(elements: &'a [String], species: &'a [Species]) -> Result<Vec<&'a str>> {
    let names: Vec<&str> = match elements.is_empty() {
        true => species.iter().map(|s| s.name.as_str()).collect(),
        false => elements.iter().map(String::as_str).collect(),
    };
    if names.len() != species.len() {
        let (given, there) = (names.len(), species.len());
        let error = Error::input(format!("{given} elements for {there} species"));
        return Err(error.hint("give one for each species, in their order"));
    }
    Ok(names)
}
