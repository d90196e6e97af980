//! LAMMPS: a data file of style full with the coefficients of its forces, and lines of input scripts that have
//! styles and coefficients beside it.

mod coefficients;
mod cutoffs;
mod pairs;
mod script;

use super::assembly::{Assembly, factor};
use super::coordinates::Coordinates;
use super::{Boundary, Molecules, TypeNames, UREY_BRADLEY};
use crate::structure::lammps::{BondedList, LammpsData, bonded_styles as styles, read_data};
use crate::structure::{Lines, Reading, Structure};
use crate::text;
use coefficients::Coefficients;
use jostle_core::{Dimension, Error, Result, SimBox, UnitSystem, Vec3};
use jostle_potentials::{BondKind, BondedKind};
use pairs::PairForces;
use script::Script;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Returns true for a text that begins as a data file does.
pub(super) fn is_one(text: &str) -> bool {
    let counts_atoms = |line: &str| {
        let words: Vec<&str> = line.split('#').next().unwrap_or("").split_whitespace().collect();
        matches!(words[..], [number, "atoms"] if number.parse::<u64>().is_ok())
    };
    text.lines().skip(1).take(30).any(counts_atoms)
}

/// Reads the text of a data file, with scripts.
///
/// # Errors
/// If a file is damaged (the error has the line), a style is not known, or coefficients are missing.
pub(super) fn read(path: &Path, text: &str, scripts: &[PathBuf], units: UnitSystem) -> Result<Molecules> {
    let mut script = Script::default();
    for file in scripts {
        script.read(file, &text::read(file, |line| text::is_behind(b'#', line))?)?;
    }
    let from = script.units.unwrap_or(units);
    let assembly = Assembly::new(from, units)?;
    let data = read_data(Lines::new(path, text), Reading { units: from, types: &[], periodic: None })?;
    let coefficients = Coefficients::new(path, &data, &script)?;
    let pairs = PairForces::new(path, &data, &script)?;
    let mut reader = LammpsReader { path, data, coefficients, pairs, assembly };
    reader.atoms()?;
    reader.bonds()?;
    reader.angles()?;
    reader.dihedrals()?;
    reader.special_pairs(&script)?;
    let mut molecules = reader.finish(from, units)?;
    if let Some((words, place)) = &script.pair_style {
        molecules.cutoffs = cutoffs::cutoffs(words, place, factor(from, units, Dimension::LENGTH))?;
    }
    Ok(molecules)
}

struct LammpsReader<'a> {
    path: &'a Path,
    data: LammpsData,
    coefficients: Coefficients,
    pairs: PairForces,
    assembly: Assembly,
}

impl LammpsReader<'_> {
    fn atoms(&mut self) -> Result<()> {
        let Structure { species, state, charges, .. } = &self.data.structure;
        for (k, kind) in state.species.iter().enumerate() {
            let kind = usize::from(*kind);
            let species = &species[kind];
            let mass = species.mass.ok_or_else(|| {
                Error::file(self.path, format!("there is no mass of the atom type {}", kind + 1))
                    .hint("add it to the section Masses")
            })?;
            let charge = charges.get(k).copied().or(species.charge).unwrap_or(0.0);
            self.assembly.atom(&species.name, kind, mass, charge).map_err(|e| e.in_file(self.path))?;
        }
        Ok(())
    }

    fn bonds(&mut self) -> Result<()> {
        for bond in &self.data.structure.topology.bonds {
            let given = self.coefficients.of(BondedList::Bonds, bond.kind)?;
            let force = styles::bond(&given.style, &given.numbers).map_err(|why| given.place.error(why))?;
            if let Some((kind, parameters)) = force {
                let added = self.assembly.bond(kind, kind.term(), &parameters, bond.atoms);
                added.map_err(|e| e.at_line(&given.place.path, given.place.line))?;
            }
        }
        Ok(())
    }

    fn angles(&mut self) -> Result<()> {
        for angle in &self.data.structure.topology.angles {
            let given = self.coefficients.of(BondedList::Angles, angle.kind)?;
            let at = |e: Error| e.at_line(&given.place.path, given.place.line);
            let force = styles::angle(&given.style, &given.numbers).map_err(|why| given.place.error(why))?;
            if let Some((kind, parameters)) = force.bending {
                self.assembly.angle(kind, &parameters, angle.atoms).map_err(at)?;
            }
            if let Some(spring) = force.urey_bradley {
                let [a, _, c] = angle.atoms;
                self.assembly.bond(BondKind::HarmonicBond, UREY_BRADLEY, &spring, [a, c]).map_err(at)?;
            }
        }
        Ok(())
    }

    /// Dihedrals and impropers, with the forces between the ends of dihedrals that have a weight.
    fn dihedrals(&mut self) -> Result<()> {
        for dihedral in &self.data.structure.topology.dihedrals {
            let list = match (dihedral.kind as usize) < self.data.n_dihedral_types {
                true => BondedList::Dihedrals,
                false => BondedList::Impropers,
            };
            let given = self.coefficients.of(list, dihedral.kind)?;
            let at = |e: Error| e.at_line(&given.place.path, given.place.line);
            let refused = |why| given.place.error(why);
            let (terms, weight) = match list {
                BondedList::Impropers => {
                    let force = styles::improper(&given.style, &given.numbers).map_err(refused)?;
                    (force.into_iter().collect(), 0.0)
                }
                _ => {
                    let force = styles::dihedral(&given.style, &given.numbers).map_err(refused)?;
                    (force.terms, force.weight)
                }
            };
            for (kind, parameters) in terms {
                self.assembly.dihedral(kind, kind.term(), &parameters, dihedral.atoms).map_err(at)?;
            }
            if weight > 0.0 {
                let [a, _, _, d] = dihedral.atoms;
                let [epsilon, sigma] = self.pairs.three_bonds_apart(self.types([a, d])).map_err(at)?;
                let charges = weight * self.assembly.charge(a) * self.assembly.charge(d);
                self.assembly.pair_of_its_own([weight * epsilon, sigma], charges, [a, d]).map_err(at)?;
            }
        }
        Ok(())
    }

    /// Types of two atoms.
    fn types(&self, atoms: [u32; 2]) -> [usize; 2] {
        let state = &self.data.structure.state;
        atoms.map(|atom| state.species.get(atom as usize).map_or(0, |kind| usize::from(*kind)))
    }

    /// Pairs up to three bonds apart, whose forces have factors.
    fn special_pairs(&mut self, script: &Script) -> Result<()> {
        let topology = &self.data.structure.topology;
        if topology.bonds.is_empty() {
            return Ok(());
        }
        let factors = match (script.special, &script.pair_style) {
            (Some(factors), _) => factors,
            // A script that says nothing has what LAMMPS takes then.
            (None, Some(_)) => [[0.0; 2]; 3],
            (None, None) => {
                return Err(Error::file(self.path, "it is not said how atoms up to three bonds apart interact")
                    .hint(
                        "write special_bonds as in the LAMMPS script (such as: special_bonds lj/coul 0 0 0.5) into a \
                         file, and name it in parameters = [\"...\"]",
                    ));
            }
        };
        let n = self.data.structure.state.len();
        let bound = topology.partners(n);
        for atom in 0..n as u32 {
            let mut nearer = BTreeSet::from([atom]);
            let mut shell = vec![atom];
            for [lennard_jones, coulomb] in factors {
                let next: BTreeSet<u32> = shell
                    .iter()
                    .flat_map(|other| &bound[*other as usize])
                    .copied()
                    .filter(|other| !nearer.contains(other))
                    .collect();
                for other in next.iter().filter(|other| **other > atom) {
                    if [lennard_jones, coulomb] == [1.0; 2] {
                        continue;
                    }
                    let [epsilon, sigma] = self.pairs.of(self.types([atom, *other]))?;
                    let charges = coulomb * self.assembly.charge(atom) * self.assembly.charge(*other);
                    let well = [lennard_jones * epsilon, sigma];
                    let added = self.assembly.scaled_pair(well, charges, [atom, *other]);
                    added.map_err(|e| e.in_file(self.path))?;
                }
                nearer.extend(&next);
                shell = next.into_iter().collect();
            }
        }
        Ok(())
    }

    fn finish(self, from: UnitSystem, units: UnitSystem) -> Result<Molecules> {
        let LammpsReader { path, data, pairs, assembly, .. } = self;
        let n = data.structure.species.len();
        let all = (0..n).flat_map(|a| (0..n).map(move |b| [a, b]));
        let wells = all.map(|types| pairs.of(types)).collect::<Result<Vec<_>>>()?;
        let mut molecules = assembly.finish(|a, b| wells[a * n + b]).map_err(|e| e.in_file(path))?;
        let coordinates = converted(Coordinates::from(data.structure), from, units)?;
        molecules.boundary = Boundary::Periodic(coordinates.simbox);
        molecules.coordinates = Some(coordinates);
        if molecules.species.iter().all(|species| species.name.parse::<u32>().is_ok()) {
            molecules.type_names = TypeNames::Invented;
        }
        Ok(molecules)
    }
}

/// Coordinates in other units.
fn converted(coordinates: Coordinates, from: UnitSystem, units: UnitSystem) -> Result<Coordinates> {
    let length = factor(from, units, Dimension::LENGTH);
    let velocity = length / factor(from, units, Dimension::TIME);
    let scaled = |vectors: Vec<Vec3>, factor: f64| -> Vec<Vec3> {
        vectors.into_iter().map(|vector| factor * vector).collect()
    };
    let grown = |simbox: SimBox| simbox.converted(|x| length * x);
    Ok(Coordinates {
        positions: scaled(coordinates.positions, length),
        velocities: coordinates.velocities.map(|velocities| scaled(velocities, velocity)),
        simbox: coordinates.simbox.map(grown).transpose()?,
        ..coordinates
    })
}
