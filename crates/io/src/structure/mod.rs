//! Atoms from files: LAMMPS data and extended XYZ.
//!
//! Numbers in these files are in the unit system of the input. Where a file says which units it
//! is in, and they are others, it is refused.

pub(crate) mod lammps;
mod lines;
mod write;
pub(crate) mod xyz;

pub use write::{write_lammps, write_xyz};

use crate::input::Input;
use crate::input::model::{AtomsInput, FieldInput, FieldStrength, ForceInput, Located, PotentialInput};
use crate::text::{bytes_for_beginning, refuse_packed};
use jostle_core::quantity::nearest;
use jostle_core::{Error, Names, Result, SimBox, Species, State, System, Topology, UnitSystem, Vec3};
use jostle_potentials::pair::{Absent, Parameter};
pub use lammps::coefficients::CoefficientRow;
pub(crate) use lines::{Lines, TRUNCATED};
use std::path::Path;
pub(crate) use xyz::around;

/// Atoms as a file has them.
#[derive(Debug, Clone, PartialEq)]
pub struct Structure {
    /// The box.
    pub simbox: SimBox,
    /// The kinds of atoms.
    pub species: Vec<FileSpecies>,
    /// The atoms in the order of the file, inside the box along its periodic axes.
    pub state: State,
    /// Bonds, angles and dihedrals between the atoms.
    pub topology: Topology,
    /// Charge of every atom by id, where those of the species do not hold.
    pub charges: Vec<f64>,
    /// Names of the atoms, where more than a species is known.
    pub names: Names,
    /// True where the file has velocities; without them all are zero.
    pub has_velocities: bool,
    /// Coefficients of forces in a LAMMPS data file, which those of the input must not contradict.
    pub coefficients: Vec<CoefficientRow>,
    /// Momenta by atom, mass times velocity in the unit of [`Species::mass`] times that of velocities, where
    /// the file has these instead of velocities; else empty.
    pub momenta: Vec<Vec3>,
}

/// Species of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileSpecies {
    /// Name.
    pub name: String,
    /// Mass as users write it.
    pub mass: Option<f64>,
    /// Charge; `None` where the file does not say, or its atoms have different ones.
    pub charge: Option<f64>,
}

/// Context in which a structure file is read.
#[derive(Debug, Clone, Copy)]
pub struct Reading<'a> {
    /// The unit system its numbers are in.
    pub units: UnitSystem,
    /// Names for the numeric types of a LAMMPS data file; empty: those of the file.
    pub types: &'a [String],
    /// Periodic axes; `None`: those of the file (all, in a LAMMPS data file).
    pub periodic: Option<[bool; 3]>,
}

impl Structure {
    /// Reads a file. `.xyz` and `.extxyz` are extended XYZ (the last frame), `.data`, `.lmp` and
    /// `.lammps` LAMMPS data; other names are told apart by their contents.
    ///
    /// # Errors
    /// If the file cannot be read, its format is unknown, or it is damaged or contradicts itself;
    /// the error has the line.
    pub fn read(path: &Path, reading: Reading) -> Result<Structure> {
        Self::parse(path, &bytes_for_beginning(path)?, reading)
    }

    /// Reads the contents of a file; `path` is what errors call it.
    ///
    /// # Errors
    /// Errors of [`Structure::read`].
    pub fn parse(path: &Path, bytes: &[u8], reading: Reading) -> Result<Structure> {
        refuse_packed(path, bytes)?;
        let text = std::str::from_utf8(bytes).map_err(|e| {
            let line = bytes[..e.valid_up_to()].iter().filter(|&&b| b == b'\n').count() + 1;
            Error::file_line(path, line, "the file is not text (UTF-8)")
                .hint("atoms are read from LAMMPS data files and extended XYZ")
        })?;
        if text.trim().is_empty() {
            return Err(Error::file(path, "the file is empty"));
        }
        let lines = Lines::new(path, text);
        match detect(path, text)? {
            FileFormat::Xyz => xyz::read(lines, reading),
            FileFormat::Lammps => lammps::read(lines, reading),
        }
    }

    /// The system that an input describes with this file: masses and charges of its `[species]`
    /// where it gives them, else those of the file.
    ///
    /// # Errors
    /// If a species has no mass, the input has a species that the file has not, or contradicts
    /// coefficients of the file, or has a force that follows from charges of species where atoms of one have
    /// different ones.
    pub fn into_system(self, input: &Input) -> Result<System> {
        let names: Vec<&str> = self.species.iter().map(|s| s.name.as_str()).collect();
        if let Some(extra) = input.species.iter().find(|s| !names.contains(&s.value.name.as_str())) {
            let name = &extra.value.name;
            let error =
                input.source.error(&extra.span, format!("the structure file has no species \"{name}\""));
            return Err(match nearest(name, names.iter().copied()) {
                Some(near) => error.hint(format!("did you mean \"{near}\"?")),
                None => error.hint(format!(
                    "its species are {}; LAMMPS types get names by types = [...] in [system]",
                    names.join(", ")
                )),
            });
        }
        let species = self.species.into_iter().map(|s| {
            let given = input.species.iter().find(|g| g.value.name == s.name).map(|g| &g.value);
            let fallback = (input.units.is_reduced()).then_some(1.0);
            let mass = given.and_then(|g| g.mass).or(s.mass).or(fallback).ok_or_else(|| {
                input
                    .source
                    .error(
                        &input.system.atoms.span,
                        format!("the file has no mass for the species \"{}\"", s.name),
                    )
                    .hint(format!("add [species.{}] with mass = ...", s.name))
            })?;
            let charge = given.and_then(|g| g.charge).or(s.charge).unwrap_or(0.0);
            Ok(Species { name: s.name, mass: input.units.mass_from_user(mass), charge })
        });
        let species = species.collect::<Result<Vec<_>>>()?;
        let Structure { simbox, mut state, topology, charges, names, coefficients, momenta, .. } = self;
        for (k, momentum) in momenta.into_iter().enumerate() {
            let mass = species[usize::from(state.species[k])].mass;
            state.velocity[k] = momentum.map(|p| p / mass);
        }
        let charges = input.charges_of_atoms(charges, &species, &state)?;
        let system = System { state, topology, charges, names, ..System::new(simbox, species) };
        lammps::coefficients::check(&coefficients, input, &system)?;
        Ok(system)
    }
}

/// Returns true for two charges of a file that are meant to be the same.
fn same_charge(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-9 * a.abs().max(1.0)
}

impl Input {
    /// The charges of a file's atoms by id, where those of `[species]` do not come before them.
    ///
    /// # Errors
    /// If a force follows from charges of species.
    fn charges_of_atoms(
        &self,
        mut charges: Vec<f64>,
        species: &[Species],
        state: &State,
    ) -> Result<Vec<f64>> {
        let given = |name: &str| self.species.iter().find(|s| s.value.name == name)?.value.charge;
        let given: Vec<Option<f64>> = species.iter().map(|s| given(&s.name)).collect();
        if charges.is_empty() || given.iter().all(Option::is_some) {
            return Ok(Vec::new());
        }
        for (id, of) in state.id.iter().zip(&state.species) {
            if let (Some(charge), Some(given)) = (charges.get_mut(*id as usize), given[usize::from(*of)]) {
                *charge = given;
            }
        }
        let of_species = |p: &Parameter| matches!(p.absent, Absent::FromCharges | Absent::FromIsospin);
        let follows = |force: &&Located<ForceInput>| match force.value.potential {
            PotentialInput::BuiltIn(kind) => kind.parameters().iter().any(of_species),
            _ => false,
        };
        let electric = |f: &&Located<FieldInput>| matches!(f.value.strength, FieldStrength::Electric(_));
        let force = self.forces.iter().find(follows).map(|f| (&f.span, "this force"));
        let field = self.fields.iter().find(electric).map(|f| (&f.span, "an electric field"));
        match force.or(field) {
            Some((span, what)) => {
                let message =
                    format!("{what} acts on charges of species, but atoms of one have different ones");
                Err(self.source.error(span, message).hint(
                    "give every species of the file a charge in [species]; its atoms then have that one",
                ))
            }
            None => Ok(charges),
        }
    }

    /// The system of `file = "..."`; `None` if the input builds its system.
    ///
    /// # Errors
    /// Errors of [`Structure::read`] and [`Structure::into_system`].
    pub fn read_structure(&self) -> Result<Option<Structure>> {
        let AtomsInput::File { path, types } = &self.system.atoms.value else { return Ok(None) };
        let reading = Reading { units: self.units, types, periodic: self.system.periodic };
        let at = |e: Error| e.at_span(&self.source.path, &self.source.text, self.system.atoms.span.clone());
        Structure::read(path, reading).map(Some).map_err(at)
    }
}

enum FileFormat {
    Lammps,
    Xyz,
}

fn detect(path: &Path, text: &str) -> Result<FileFormat> {
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_lowercase();
    match extension.as_str() {
        "xyz" | "extxyz" => return Ok(FileFormat::Xyz),
        "data" | "lmp" | "lammps" => return Ok(FileFormat::Lammps),
        _ => {}
    }
    let mut first = text.lines();
    if first.next().is_some_and(|l| l.trim().parse::<u64>().is_ok()) {
        return Ok(FileFormat::Xyz);
    }
    if first.take(30).any(|l| l.split('#').next().unwrap_or("").trim().ends_with(" atoms")) {
        return Ok(FileFormat::Lammps);
    }
    if matches!(extension.as_str(), "pdb" | "ent" | "cif" | "mmcif" | "gro" | "inpcrd" | "rst7") {
        let message = "the file says where atoms are, but not their masses, charges and forces";
        return Err(Error::file(path, message).hint(
            "write coordinates = \"...\" in place of file = \"...\", and the file of a force field beside it: \
             topology = \"NAME.prmtop\", or a .psf, .top or .xml",
        ));
    }
    Err(Error::file(path, "it is not clear what kind of file this is").hint(
        "LAMMPS data (.data) and extended XYZ (.xyz) are read; other files can be converted, e.g. by ASE",
    ))
}

/// Moves an atom into the box along its periodic axes, and to its unwrapped position along open ones, where there are no
/// images.
///
/// # Errors
/// If it is so far away that the number of boxes in between makes no sense.
pub(crate) fn wrap(
    simbox: &SimBox,
    position: &mut Vec3,
    image: &mut [i32; 3],
) -> std::result::Result<(), String> {
    const FARTHEST: f64 = 1e6;
    let fractional = simbox.to_fractional(*position);
    if fractional.iter().any(|s| s.abs() > FARTHEST)
        || image.iter().any(|n| n.unsigned_abs() > FARTHEST as u32)
    {
        return Err(format!("the atom at {position:?} is more than a million boxes away"));
    }
    let periodic = simbox.periodic();
    let beyond = std::array::from_fn(|k| if periodic[k] { 0 } else { image[k] });
    *position += simbox.shift(beyond);
    (0..3).for_each(|k| image[k] -= beyond[k]);
    simbox.wrap(position, image);
    Ok(())
}
