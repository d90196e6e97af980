//! From an input file to the atoms it describes.

use super::mixture::Mixture;
use super::molecules;
use super::overlap::check_atoms;
use super::velocities::draw_velocities;
use crate::alchemy::{self, Alchemy};
use crate::checkpoint::Checkpoint;
use crate::deformation::check_formula_fields;
use crate::degrees_of_freedom::DegreesOfFreedom;
use crate::measure;
use jostle_core::{Error, Molecules, Result, SimBox, State, System, Topology, Vec3};
use jostle_io::Input;
use jostle_io::Structure;
use jostle_io::input::model::{AtomsInput, Located};
use jostle_io::memory;
use jostle_io::structure::FileSpecies;
use jostle_potentials::Forces;
use jostle_potentials::electrostatics::Composition;
use std::ops::Range;
use std::path::Path;

/// The system an input describes, built or read, with its velocities, and its forces.
///
/// # Errors
/// If a file cannot be read, atoms do not fit or lie at the same place, or a species or a pair
/// lacks something. Errors point at the line of the input.
pub fn system_from_input(input: &Input) -> Result<(System, Forces)> {
    parts_from_input(input).map(|(system, forces, _)| (system, forces))
}

/// The system and the forces of an input, in the window of its `[alchemy]`.
///
/// # Errors
/// As for [`system_from_input`].
pub(crate) fn parts_from_input(input: &Input) -> Result<(System, Forces, Option<Alchemy>)> {
    let of_files = match placed_molecules(input)? {
        None => input.read_molecules()?,
        placed => placed,
    };
    let (mut system, mut forces) = match of_files {
        Some((system, forces)) => {
            check_atoms(&system).map_err(|e| at(input, &input.system.atoms.span, e))?;
            (system, forces)
        }
        None => {
            let system = match &input.system.atoms.value {
                AtomsInput::File { path, .. } => read(input, path)?,
                _ => built(input)?,
            };
            let system = input.replicated(system)?;
            let charge_density = system.total_charge() / system.simbox.volume();
            let known = input.with_known_cutoffs(system.simbox.largest_cutoff());
            let forces = known.resolve_forces(&system.species, &system.topology, charge_density)?;
            (system, forces)
        }
    };
    input.choose(&mut system)?;
    input.apply_groups(&system, &mut forces)?;
    check_formula_fields(input, &system.simbox, &forces)?;
    split_charges(input, &system, system.simbox.volume(), &mut forces);
    check_cutoffs(input, &system.simbox, &forces)?;
    let alchemy = alchemy::apply(input, &mut system, &mut forces)?;
    system.driven = input.driven(&system)?;
    system.driven.hold(&mut system.state);
    input.join_rigid_bodies(&mut system, &forces)?;
    input.check_reflections(&system)?;
    measure::check(input, &system, &forces)?;
    if let (Some(given), Some(term)) = (&input.electrostatics, &forces.electrostatics) {
        // A box of absurd size is reported before errors that follow from it.
        let fits = check_reciprocal_memory(&system, &forces);
        let checked = fits.and_then(|()| term.check(&system, input.run.settings.precision));
        checked.map_err(|e| at(input, &given.span, e))?;
    }
    if let Some(velocities) = input.system.velocities {
        let thermal_energy = input.units.boltzmann() * velocities.temperature;
        let freedom = DegreesOfFreedom::new(&system, &forces);
        draw_velocities(
            &mut system,
            thermal_energy,
            velocities.distribution,
            input.system.seed,
            freedom.momentum,
        );
    }
    Ok((system, forces, alchemy))
}

/// Refuses reciprocal-space sums that need more memory than there is: a mistaken unit gives huge boxes.
///
/// # Errors
/// If the memory does not suffice; the error names the memory needed and the box.
pub(crate) fn check_reciprocal_memory(system: &System, forces: &Forces) -> Result<()> {
    // The number of bytes saturates.
    let bytes = forces.reciprocal_bytes(&system.simbox, system.state.len()) as u64;
    let [a, b, c] = system.simbox.lengths();
    let what = format!("reciprocal-space sums in a box of {a:.3e} by {b:.3e} by {c:.3e}");
    memory::room_for(&what, bytes).map_err(|e| {
        e.hint("look at the box, or at the density it follows from; a longer cut-off or less accuracy needs fewer wave vectors")
    })
}

/// The forces that an input gives a system whose groups have been chosen. `first_volume` is the volume of the
/// box at the beginning of the run: parameters that depend on densities keep their values from then.
///
/// # Errors
/// If a pair or a type is unknown, or lacks something, or the files of molecules have others.
pub(crate) fn forces_from_input(input: &Input, system: &System, first_volume: f64) -> Result<Forces> {
    if let Some((read, mut forces)) = input.read_molecules()? {
        // Bodies are joined once, when a run begins.
        let topology = Topology { rigid_bodies: Vec::new(), ..system.topology.clone() };
        if (&read.topology, &read.charges) != (&topology, &system.charges) {
            let message = "the files of the molecules are not those that the run began with";
            return Err(input.source.error(&input.system.atoms.span, message));
        }
        input.apply_groups(system, &mut forces)?;
        split_charges(input, system, first_volume, &mut forces);
        return Ok(forces);
    }
    if let Some(mut forces) = input.forces_of_mixture(system)? {
        input.apply_groups(system, &mut forces)?;
        split_charges(input, system, first_volume, &mut forces);
        return Ok(forces);
    }
    let charge_density = system.total_charge() / first_volume;
    // The box that the run began with, whose shape stays.
    let begun = system.simbox.largest_cutoff() * (first_volume / system.simbox.volume()).cbrt();
    let known = input.with_known_cutoffs(begun);
    let mut forces = known.resolve_forces(&system.species, &system.topology, charge_density)?;
    input.apply_groups(system, &mut forces)?;
    split_charges(input, system, first_volume, &mut forces);
    Ok(forces)
}

/// Chooses the splitting of the lattice sum of charges by the composition of the system in this volume.
fn split_charges(input: &Input, system: &System, volume: f64, forces: &mut Forces) {
    if let Some(charges) = Composition::new(system, volume) {
        input.split_charges(&charges, forces);
    }
}

/// The system of `place = "molecules"` and its forces; `None` if the input has another system.
fn placed_molecules(input: &Input) -> Result<Option<(System, Forces)>> {
    let Some(mixture) = input.read_mixture()? else { return Ok(None) };
    let here = |e: Error| at(input, &input.system.atoms.span, e);
    let simbox = mixture.simbox().map_err(here)?;
    let positions = molecules::positions(&simbox, &mixture.forms, mixture.min_distance, input.system.seed);
    input.system_of_mixture(mixture, simbox, positions.map_err(here)?).map(Some)
}

fn built(input: &Input) -> Result<System> {
    let Located { value: atoms, span } = &input.system.atoms;
    let mut mixture = Mixture::new(input.units).periodic(input.system.periodic.unwrap_or([true; 3]));
    for (species, said) in input.species_with_mass()?.into_iter().zip(&input.species) {
        mixture = mixture.with(species, said.value.amount);
    }
    let seed = input.system.seed;
    let mut system = match *atoms {
        AtomsInput::Lattice { lattice, extent, density } => mixture.lattice(lattice, extent, density, seed),
        AtomsInput::Random { atoms, region, min_distance } => {
            mixture.random(atoms, region, min_distance, seed)
        }
        AtomsInput::Chains { chains, beads, region, bond_length } => {
            mixture.chains(chains, beads, region, bond_length, seed)
        }
        AtomsInput::Water { molecules, region, ref shape } => mixture.water(molecules, region, shape, seed),
        AtomsInput::File { .. } | AtomsInput::Molecules(_) | AtomsInput::Mixture(_) => {
            return Err(input.source.error(span, "these atoms are read, not built"));
        }
    }
    .map_err(|e| at(input, span, e))?;
    system.topology = input.built_topology();
    Ok(system)
}

/// Refuses a cut-off that reaches further than the nearest image, at the line of the force.
fn check_cutoffs(input: &Input, simbox: &SimBox, forces: &Forces) -> Result<()> {
    let most = simbox.largest_cutoff();
    for (term, force) in forces.pairs.iter().zip(&input.forces) {
        let cutoff = term.largest_cutoff();
        if cutoff > most {
            let message = format!("the cut-off {cutoff} is more than half the box, {}", digits(most));
            let error = input.source.error(&force.span, message);
            return Err(error.hint(remedy(simbox, cutoff, "use a larger box or a shorter cut-off")));
        }
    }
    if let (Some(metal), Some(term)) = (&input.metal, &forces.embedded)
        && term.cutoff() > most
    {
        let message = format!("the cut-off {} is more than half the box, {}", term.cutoff(), digits(most));
        let error = input.source.error(&metal.span, message);
        return Err(error.hint(remedy(simbox, term.cutoff(), "use a larger box")));
    }
    if let (Some(given), Some(term)) = (&input.three_body, &forces.three_body)
        && term.cutoff() > most
    {
        let message = format!("the cut-off {} is more than half the box, {}", term.cutoff(), digits(most));
        let error = input.source.error(&given.span, message);
        return Err(error.hint(remedy(simbox, term.cutoff(), "use a larger box")));
    }
    Ok(())
}

/// A length with six decimals, or as many digits of a tiny one.
fn digits(length: f64) -> String {
    if length < 1e-3 { format!("{length:.5e}") } else { format!("{length:.6}") }
}

/// Remedy for a box that is too narrow for a cut-off: other tilts of the same lattice where they suffice, else this one.
fn remedy(simbox: &SimBox, cutoff: f64, otherwise: &str) -> String {
    let ([x, y, _], [xy, xz, yz]) = (simbox.lengths(), simbox.tilts());
    // Tilts of at most half an edge: whole edges more or less make the same lattice.
    let up = (yz / y).round();
    let (xz, yz) = (xz - up * xy, yz - up * y);
    let [xy, xz] = [xy, xz].map(|tilt| tilt - (tilt / x).round() * x);
    let reduced = SimBox::new(simbox.origin(), simbox.lengths(), [xy, xz, yz], simbox.periodic());
    match reduced {
        Ok(reduced) if cutoff <= reduced.largest_cutoff() => format!(
            "the box is tilted by more than half an edge; the same lattice with the tilts xy = {xy}, xz = {xz}, yz = {yz} \
             is wide enough: write them instead"
        ),
        _ => otherwise.into(),
    }
}

/// Atoms from a file: a checkpoint, recognised by its content, or a structure that `jostle_io` reads.
fn read(input: &Input, path: &Path) -> Result<System> {
    let span = &input.system.atoms.span;
    let structure = match Checkpoint::is_one(path) {
        true => Some(from_checkpoint(input, path)?),
        false => input.read_structure()?,
    };
    let Some(structure) = structure else {
        return Err(input.source.error(span, "these atoms are built, not read"));
    };
    let system = structure.into_system(input)?;
    check_atoms(&system).map_err(|e| at(input, span, e.context(path.display())))?;
    Ok(system)
}

/// The system of a checkpoint, of whatever window of `[alchemy]`, without the changes of that window.
pub(crate) fn plain_system(checkpoint: Checkpoint) -> Result<System> {
    let mut system = checkpoint.clone().into_system()?;
    alchemy::restore_plain(&checkpoint, &mut system)?;
    Ok(system)
}

/// The atoms of a checkpoint as those of any other file: wrapped into the box, with images of zero. Along axes that the
/// input opens molecules are whole.
fn from_checkpoint(input: &Input, path: &Path) -> Result<Structure> {
    let span = &input.system.atoms.span;
    let checkpoint = Checkpoint::read(path)?;
    let units = checkpoint.units().map_err(|e| e.in_file(path))?;
    if units != input.units {
        let message = format!("{} is in units \"{units}\", the input in \"{}\"", path.display(), input.units);
        return Err(input.source.error(span, message).hint(format!("write units = \"{units}\"")));
    }
    let System { simbox, species, mut state, mut topology, charges, names, .. } =
        plain_system(checkpoint).map_err(|e| e.in_file(path))?;
    // The input says which atoms are rigid bodies.
    topology.rigid_bodies.clear();
    let periodic = input.system.periodic.unwrap_or(simbox.periodic());
    let begun = simbox;
    let simbox = SimBox::new(begun.origin(), begun.lengths(), begun.tilts(), periodic);
    let simbox = simbox.map_err(|e| at(input, span, e))?;
    for (position, image) in state.position.iter_mut().zip(&mut state.image) {
        begun.wrap(position, image);
        *image = [0; 3];
    }
    if begun.periodic() != periodic {
        let molecules = Molecules::new(&topology, &species, &state);
        join_along_open_axes(&mut state, &molecules, (&begun, &simbox));
    }
    let species = species.into_iter().map(|s| FileSpecies {
        name: s.name,
        mass: Some(units.mass_to_user(s.mass)),
        charge: Some(s.charge),
    });
    let species = species.collect();
    Ok(Structure {
        simbox,
        species,
        state,
        topology,
        charges,
        names,
        has_velocities: true,
        coefficients: Vec::new(),
        momenta: Vec::new(),
    })
}

/// Moves atoms that were wrapped into a box so that molecules are whole along the axes that another box like it has open.
fn join_along_open_axes(state: &mut State, molecules: &Molecules, (begun, opened): (&SimBox, &SimBox)) {
    let index_by_id = state.index_by_id();
    let wrapped: Vec<Vec3> = index_by_id.iter().map(|index| state.position[index]).collect();
    let paths = molecules.paths(begun, |id| wrapped[id as usize]);
    let mut first = vec![None; molecules.count()];
    for (id, molecule) in molecules.of_atoms().iter().enumerate() {
        let start = *first[*molecule as usize].get_or_insert(wrapped[id]);
        let mut image = begun.image_of(start + paths[id] - wrapped[id]);
        (0..3).filter(|k| opened.periodic()[*k]).for_each(|k| image[k] = 0);
        state.position[index_by_id.of(id as u32)] += begun.shift(image);
    }
}

fn at(input: &Input, span: &Range<usize>, error: Error) -> Error {
    error.at_span(&input.source.path, &input.source.text, span.clone())
}
