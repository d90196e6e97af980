//! From an input file to the atoms it describes.

use super::{Mixture, assign_velocities, check_atoms};
use crate::checkpoint::Checkpoint;
use jostle_core::{Error, Result, System};
use jostle_io::Input;
use jostle_io::input::model::{AtomsInput, Located};
use jostle_potentials::PairTerm;
use std::ops::Range;
use std::path::Path;

/// The system an input describes, built or read, with its velocities, and its pair forces.
///
/// # Errors
/// If a file cannot be read, atoms do not fit or lie at the same place, or a species or a pair
/// lacks something. Errors point at the line of the input.
pub fn system_from_input(input: &Input) -> Result<(System, Vec<PairTerm>)> {
    let mut system = match &input.system.atoms.value {
        AtomsInput::File { path, types } => read(input, path, types)?,
        _ => built(input)?,
    };
    let terms = input.pair_terms(&system.species)?;
    if let Some(velocities) = input.system.velocities {
        let thermal_energy = input.units.boltzmann() * velocities.temperature;
        assign_velocities(&mut system, thermal_energy, velocities.distribution, input.system.seed);
    }
    Ok((system, terms))
}

fn built(input: &Input) -> Result<System> {
    let Located { value: atoms, span } = &input.system.atoms;
    let mut mixture = Mixture::new(input.units).periodic(input.system.periodic.unwrap_or([true; 3]));
    for (species, said) in input.species_with_mass()?.into_iter().zip(&input.species) {
        mixture = mixture.with(species, said.value.amount);
    }
    let seed = input.system.seed;
    let system = match *atoms {
        AtomsInput::Lattice { lattice, extent, density } => mixture.lattice(lattice, extent, density, seed),
        AtomsInput::Random { atoms, region, min_distance } => {
            mixture.random(atoms, region, min_distance, seed)
        }
        AtomsInput::File { .. } => return Err(input.source.error(span, "these atoms are read, not built")),
    };
    system.map_err(|e| at(input, span, e))
}

fn read(input: &Input, path: &Path, _types: &[String]) -> Result<System> {
    let span = &input.system.atoms.span;
    let system = if Checkpoint::is_one(path) {
        Checkpoint::read(path)?.into_system()?
    } else {
        return Err(input.source.error(span, format!("{} is no checkpoint", path.display())));
    };
    check_atoms(&system).map_err(|e| at(input, span, e.context(path.display())))?;
    Ok(system)
}

fn at(input: &Input, span: &Range<usize>, error: Error) -> Error {
    error.at_span(&input.source.path, &input.source.text, span.clone())
}
