//! AMBER's topology files (prmtop; <https://ambermd.org/FileFormats.php>): sections of numbers or names
//! in columns; angstrom, kcal/mol, radians, charges times 18.2223.

mod extra_points;
mod format;
mod sections;

use super::assembly::{Assembly, factor};
use super::{Boundary, Molecules, periodic, well};
use extra_points::{BondGraph, ExtraPoints};
use jostle_core::{AtomName, Dimension, Names, Residue, Result, SimBox, UnitSystem};
use jostle_potentials::{AngleKind, BondKind, BondedKind};
use sections::PrmtopFile;
use std::collections::{BTreeSet, HashSet};
use std::path::Path;

/// AMBER's charges have the square root of its Coulomb constant in them.
const CHARGE: f64 = 18.2223;

/// Divisors of 1-4 pairs where the file has none (ff94 and later): electrostatics, then Lennard-Jones.
const SCALE: [f64; 2] = [1.2, 2.0];

/// Returns true where a file begins as a prmtop does.
pub(super) fn is_one(text: &str) -> bool {
    text.starts_with("%VERSION") || text.starts_with("%FLAG")
}

/// Reads the text of a file.
///
/// # Errors
/// If a section is missing or damaged, or has terms that Jostle has not; the error has the line.
pub(super) fn read(path: &Path, text: &str, units: UnitSystem) -> Result<Molecules> {
    let file = PrmtopFile::new(path, text)?;
    let pointers: Vec<i64> = file.numbers("POINTERS")?;
    let pointer = |k: usize| pointers.get(k).copied().unwrap_or(0);
    if pointer(20) > 0 {
        return Err(file.error("POINTERS", "perturbed topologies are not read"));
    }
    if pointer(29) > 0 {
        return Err(file
            .error("POINTERS", "the water has a cap (number 30 of POINTERS), whose forces are not read")
            .hint("a 0 in its place is a topology without the cap's forces"));
    }
    for (name, hint) in [
        ("CTITLE", "CHARMM's force field in AMBER's files is not read; give its PSF"),
        ("AMOEBA_FORCEFIELD", "polarisable force fields (AMOEBA) are not read"),
        ("LENNARD_JONES_CCOEF", "forces with 1/r^4 (12-6-4) are not read"),
        ("LES_NTYP", "copies of atoms (LES) are not read; choose them in [[enhanced]]"),
        ("LENNARD_JONES_14_ACOEF", "CHARMM's 1-4 forces in AMBER's files are not read; give its PSF"),
    ] {
        if file.has(name) {
            return Err(file.error(name, format!("there is a section {name}")).hint(hint));
        }
    }
    file.check_counts(&pointers)?;
    file.check_maps()?;
    let (assembly, extra_points) = (Assembly::new(UnitSystem::Real, units)?, ExtraPoints::default());
    let mut reader = PrmtopReader { assembly, file, extra_points };
    reader.atoms()?;
    reader.bonds()?;
    reader.angles()?;
    reader.dihedrals()?;
    reader.maps()?;
    reader.exclusions()?;
    reader.finish(pointer(27) > 0)
}

struct PrmtopReader<'a> {
    file: PrmtopFile<'a>,
    assembly: Assembly,
    extra_points: ExtraPoints,
}

impl PrmtopReader<'_> {
    fn atoms(&mut self) -> Result<()> {
        let file = &self.file;
        let charges: Vec<f64> = file.numbers("CHARGE")?;
        let n = charges.len();
        let masses: Vec<f64> = file.exactly("MASS", n)?;
        let types: Vec<usize> = file.exactly("ATOM_TYPE_INDEX", n)?;
        let numbers: Vec<i32> = file.optional("ATOMIC_NUMBER")?;
        let (names, of_types) = (file.names("ATOM_NAME", n)?, file.names("AMBER_ATOM_TYPE", n)?);
        let first: Vec<usize> = file.numbers("RESIDUE_POINTER")?;
        let residues = file.names("RESIDUE_LABEL", first.len())?;
        let mut found = Names::default();
        for (k, name) in residues.into_iter().enumerate() {
            found.residues.push(Residue { name, number: k as i32 + 1, ..Residue::default() });
        }
        for (k, name) in names.into_iter().enumerate() {
            let residue = first.partition_point(|start| *start <= k + 1).saturating_sub(1) as u32;
            let element = super::elements::by_mass(masses[k]).unwrap_or_default();
            let element = if numbers.get(k) == Some(&1) { "H" } else { element };
            found.atoms.push(AtomName { name, element: element.into(), residue });
        }
        self.assembly.names = found;
        for k in 0..n {
            let of_type = types[k]
                .checked_sub(1)
                .ok_or_else(|| self.file.error("ATOM_TYPE_INDEX", format!("atom {} is of type 0", k + 1)))?;
            let name = if of_types[k].is_empty() { format!("{}", types[k]) } else { of_types[k].clone() };
            self.assembly
                .atom(&name, of_type, masses[k], charges[k] / CHARGE)
                .map_err(|e| self.file.error("MASS", e.message()))?;
        }
        Ok(())
    }

    /// Rows of a list, which are `N` numbers wide.
    fn rows<const N: usize>(&self, name: &str) -> Result<Vec<[i64; N]>> {
        let numbers: Vec<i64> = self.file.optional(name)?;
        match numbers.as_chunks::<N>() {
            (rows, []) => Ok(rows.to_vec()),
            _ => Err(self.file.error(name, format!("{name} is not made of rows of {N} numbers"))),
        }
    }

    /// A parameter by the number of its type, from 1.
    fn parameter(&self, section: &str, values: &[f64], number: i64) -> Result<f64> {
        let place = usize::try_from(number - 1).ok();
        place.and_then(|k| values.get(k)).copied().ok_or_else(|| {
            let n = values.len();
            self.file.error(section, format!("type {number} is asked for, {section} has {n}"))
        })
    }

    fn bonds(&mut self) -> Result<()> {
        let (k, length) = (self.file.numbers("BOND_FORCE_CONSTANT")?, self.file.numbers("BOND_EQUIL_VALUE")?);
        let (mut bound, mut of_points) = (BondGraph::default(), "MASS");
        let with_hydrogens = "BONDS_INC_HYDROGEN";
        for name in [with_hydrogens, "BONDS_WITHOUT_HYDROGEN"] {
            for [a, b, of_type] in self.rows::<3>(name)? {
                let parameters = [
                    2.0 * self.parameter("BOND_FORCE_CONSTANT", &k, of_type)?,
                    self.parameter("BOND_EQUIL_VALUE", &length, of_type)?,
                ];
                let kind = BondKind::HarmonicBond;
                let atoms = [a, b].map(by_three);
                // Bonds of an extra point are fixed distances, and no springs.
                if let Some(k) = atoms.iter().position(|atom| self.assembly.is_massless(*atom)) {
                    bound.add_point(atoms[k], atoms[1 - k], parameters[1]);
                    of_points = name;
                    continue;
                }
                bound.add(atoms, parameters[1], name == with_hydrogens);
                let added = self.assembly.bond(kind, kind.term(), &parameters, atoms);
                added.map_err(|e| self.file.error(name, e.message()))?;
            }
        }
        self.extra_points(of_points, &bound)
    }

    fn angles(&mut self) -> Result<()> {
        let (k, angle) =
            (self.file.numbers("ANGLE_FORCE_CONSTANT")?, self.file.numbers::<f64>("ANGLE_EQUIL_VALUE")?);
        for name in ["ANGLES_INC_HYDROGEN", "ANGLES_WITHOUT_HYDROGEN"] {
            for [a, b, c, of_type] in self.rows::<4>(name)? {
                let parameters = [
                    2.0 * self.parameter("ANGLE_FORCE_CONSTANT", &k, of_type)?,
                    self.parameter("ANGLE_EQUIL_VALUE", &angle, of_type)?.to_degrees(),
                ];
                let atoms = [a, b, c].map(by_three);
                if atoms.iter().any(|atom| self.assembly.is_massless(*atom)) {
                    continue;
                }
                let added = self.assembly.angle(AngleKind::HarmonicAngle, &parameters, atoms);
                added.map_err(|e| self.file.error(name, e.message()))?;
            }
        }
        Ok(())
    }

    /// Dihedrals and impropers, which are of one form, and the 1-4 pairs of the former.
    fn dihedrals(&mut self) -> Result<()> {
        let file = &self.file;
        let (k, turns) = (file.numbers("DIHEDRAL_FORCE_CONSTANT")?, file.periodicities()?);
        let phase: Vec<f64> = file.numbers("DIHEDRAL_PHASE")?;
        let (scee, scnb) = (file.optional("SCEE_SCALE_FACTOR")?, file.optional("SCNB_SCALE_FACTOR")?);
        let wells = PairCoefficients::new(file)?;
        let types: Vec<usize> = file.numbers("ATOM_TYPE_INDEX")?;
        let mut paired = HashSet::new();
        for name in ["DIHEDRALS_INC_HYDROGEN", "DIHEDRALS_WITHOUT_HYDROGEN"] {
            for [a, b, c, d, of_type] in self.rows::<5>(name)? {
                let atoms = [a, b, c, d].map(by_three);
                if atoms.iter().any(|atom| self.assembly.is_massless(*atom)) {
                    continue;
                }
                let stiffness = self.parameter("DIHEDRAL_FORCE_CONSTANT", &k, of_type)?;
                let turns = self.parameter("DIHEDRAL_PERIODICITY", &turns, of_type)?.abs();
                if stiffness != 0.0 {
                    let phase = self.parameter("DIHEDRAL_PHASE", &phase, of_type)?.to_degrees();
                    let (kind, parameters) = periodic(stiffness, turns, phase);
                    let added = self.assembly.dihedral(kind, kind.term(), &parameters, atoms);
                    added.map_err(|e| self.file.error(name, e.message()))?;
                }
                // A third atom below zero: its 1-4 pair counts elsewhere; a fourth one: an improper.
                let [first, .., last] = atoms;
                if c < 0 || d < 0 || !paired.insert([first.min(last), first.max(last)]) {
                    continue;
                }
                let scale = |values: &[f64], usual: f64| match values.is_empty() {
                    true => Ok(usual),
                    false => self.parameter("SCEE_SCALE_FACTOR", values, of_type),
                };
                let (electric, lennard_jones) = (scale(&scee, SCALE[0])?, scale(&scnb, SCALE[1])?);
                if electric <= 0.0 || lennard_jones <= 0.0 {
                    let message = format!("1-4 pairs are scaled by 1/{electric} and 1/{lennard_jones}");
                    return Err(self.file.error(name, message));
                }
                let of = |atom: u32| types.get(atom as usize).copied().unwrap_or(0);
                for first in self.extra_points.with_points(first) {
                    for last in self.extra_points.with_points(last) {
                        let [epsilon, sigma] = wells.get(&self.file, of(first), of(last))?;
                        let charges = self.assembly.charge(first) * self.assembly.charge(last) / electric;
                        let well = [epsilon / lennard_jones, sigma];
                        let added = self.assembly.pair_of_its_own(well, charges, [first, last]);
                        added.map_err(|e| self.file.error(name, e.message()))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Maps over two dihedrals (ff19SB).
    fn maps(&mut self) -> Result<()> {
        let sizes: Vec<usize> = self.file.optional("CMAP_RESOLUTION")?;
        for (number, size) in (1..).zip(sizes) {
            let name = format!("CMAP_PARAMETER_{number:02}");
            let energies: Vec<f64> = self.file.numbers(&name)?;
            if Some(energies.len()) != size.checked_mul(size) {
                let n = energies.len();
                return Err(self.file.error(&name, format!("{name} has {n} energies, not {size} x {size}")));
            }
            self.assembly
                .cmap(size, &super::second_faster(size, &energies))
                .map_err(|e| self.file.error(&name, e.message()))?;
        }
        let name = "CMAP_INDEX";
        for [a, b, c, d, e, map] in self.rows::<6>(name)? {
            let [a, b, c, d, e] = [a, b, c, d, e].map(from_one);
            let added = self.assembly.cross_term(from_one(map), [a, b, c, d], [b, c, d, e]);
            added.map_err(|error| self.file.error(name, error.message()))?;
        }
        Ok(())
    }

    /// Pairs that are left out. Extra points have the exclusions of their atoms, whatever the list says of
    /// them (sander's `chngmask`).
    fn exclusions(&mut self) -> Result<()> {
        let n = self.assembly.n_atoms();
        let counts: Vec<usize> = self.file.exactly("NUMBER_EXCLUDED_ATOMS", n)?;
        let name = "EXCLUDED_ATOMS_LIST";
        let list: Vec<i64> =
            self.file.exactly(name, counts.iter().fold(0usize, |sum, n| sum.saturating_add(*n)))?;
        let mut rest = &list[..];
        for (atom, count) in counts.into_iter().enumerate() {
            let (own, after) = rest.split_at(count.min(rest.len()));
            rest = after;
            // A zero stands where an atom has none.
            for other in own.iter().filter(|other| **other > 0) {
                let pair = [atom as u32, from_one(*other)];
                if pair.iter().any(|atom| self.assembly.is_massless(*atom)) {
                    continue;
                }
                for one in self.extra_points.with_points(pair[0]) {
                    for other in self.extra_points.with_points(pair[1]) {
                        let added = self.assembly.exclude([one, other]);
                        added.map_err(|e| self.file.error(name, e.message()))?;
                    }
                }
            }
        }
        for group in self.extra_points.groups() {
            for (k, one) in group.iter().enumerate() {
                group[..k].iter().try_for_each(|other| self.assembly.exclude([*other, *one]))?;
            }
        }
        Ok(())
    }

    fn finish(self, boxed: bool) -> Result<Molecules> {
        let PrmtopReader { file, assembly, .. } = self;
        let wells = PairCoefficients::new(&file)?;
        let types: Vec<usize> = file.numbers("ATOM_TYPE_INDEX")?;
        let used: BTreeSet<usize> = types.into_iter().collect();
        for a in &used {
            used.iter().try_for_each(|b| wells.get(&file, *a, *b).map(|_| ()))?;
        }
        let units = assembly.units;
        let mut molecules = assembly
            .finish(|a, b| wells.get(&file, a + 1, b + 1).unwrap_or([f64::NAN; 2]))
            .map_err(|e| e.in_file(file.path))?;
        molecules.boundary = match boxed {
            true => Boundary::Periodic(simbox(&file, units)?),
            false => Boundary::Open,
        };
        Ok(molecules)
    }
}

/// The atom that a coordinate's index stands for: three times its number from 0; a sign means
/// something else.
fn by_three(index: i64) -> u32 {
    u32::try_from(index.unsigned_abs() / 3).unwrap_or(u32::MAX)
}

/// A number from 1 as one from 0.
fn from_one(number: i64) -> u32 {
    u32::try_from(number.wrapping_sub(1)).unwrap_or(u32::MAX)
}

/// Lennard-Jones forces by pairs of types: a / r^12 - b / r^6.
struct PairCoefficients {
    size: usize,
    index: Vec<i64>,
    a: Vec<f64>,
    b: Vec<f64>,
    /// Forces of hydrogen bonds, which have 10 for 6.
    bridges: [Vec<f64>; 2],
}

impl PairCoefficients {
    fn new(file: &PrmtopFile) -> Result<Self> {
        let index: Vec<i64> = file.numbers("NONBONDED_PARM_INDEX")?;
        Ok(PairCoefficients {
            size: index.len().isqrt(),
            index,
            a: file.numbers("LENNARD_JONES_ACOEF")?,
            b: file.numbers("LENNARD_JONES_BCOEF")?,
            bridges: [file.optional("HBOND_ACOEF")?, file.optional("HBOND_BCOEF")?],
        })
    }

    /// Epsilon and sigma of two types, from 1.
    fn get(&self, file: &PrmtopFile, a: usize, b: usize) -> Result<[f64; 2]> {
        let place = (a >= 1 && b >= 1 && a <= self.size && b <= self.size)
            .then(|| self.index[self.size * (a - 1) + b - 1]);
        // Types that make hydrogen bonds in old force fields have no such term today.
        if let Some(bridge) = place.filter(|place| *place < 0).map(|place| place.unsigned_abs() as usize - 1)
            && self.bridges.iter().all(|values| values.get(bridge) == Some(&0.0))
        {
            return Ok([0.0; 2]);
        }
        let row = place.and_then(|place| usize::try_from(place - 1).ok());
        match row.and_then(|k| self.a.get(k).zip(self.b.get(k))) {
            Some((a, b)) => Ok(well(*a, *b)),
            None => Err(file
                .error(
                    "NONBONDED_PARM_INDEX",
                    format!("there are no Lennard-Jones forces of types {a} and {b}"),
                )
                .hint("10-12 forces of hydrogen bonds are not read")),
        }
    }
}

/// The box: the angle between a and c, and the lengths of the edges.
fn simbox(file: &PrmtopFile, units: UnitSystem) -> Result<Option<SimBox>> {
    let numbers: Vec<f64> = file.optional("BOX_DIMENSIONS")?;
    let [beta, a, b, c] = match numbers[..] {
        [] => return Ok(None),
        [beta, a, b, c] => [beta, a, b, c],
        _ => {
            let message = format!("BOX_DIMENSIONS has {} numbers, not 4", numbers.len());
            return Err(file.error("BOX_DIMENSIONS", message).hint("an angle and three lengths are read"));
        }
    };
    let length = factor(UnitSystem::Real, units, Dimension::LENGTH);
    // A truncated octahedron has this angle between all edges; other boxes have right ones.
    let octahedron = (beta - 109.471).abs() < 0.01;
    let angles = if octahedron { [beta; 3] } else { [90.0, beta, 90.0] };
    let simbox = super::coordinates::cell([a, b, c].map(|x| x * length), angles);
    simbox.map(Some).map_err(|e| file.error("BOX_DIMENSIONS", e.message()))
}
