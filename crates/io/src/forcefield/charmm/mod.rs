//! CHARMM: a PSF with files of parameters; angstrom, kcal/mol, degrees.

mod lone_pairs;
mod parameters;
mod psf;

use super::assembly::Assembly;
use super::missing::{missing, nearest};
use super::{Molecules, UREY_BRADLEY, elements, second_faster};
use jostle_core::{AtomName, Error, Residue, Result, Topology, UnitSystem};
use jostle_potentials::{AngleKind, BondKind, BondedKind, DihedralKind};
use parameters::{Parameters, Sizes};
use psf::Psf;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};

pub(super) use psf::is_one;

/// Reads the text of a PSF.
///
/// # Errors
/// If a file is damaged (the error has the line), or there are no parameters for something (the error
/// names the atoms, their types and the nearest ones that are known).
pub(super) fn read(path: &Path, text: &str, files: &[PathBuf], units: UnitSystem) -> Result<Molecules> {
    let psf = psf::read(path, text)?;
    let mut parameters = Parameters::default();
    for file in files {
        parameters.read(file, &crate::text::read(file, parameters::is_comment)?)?;
    }
    let assembly = Assembly::new(UnitSystem::Real, units)?;
    let types = Vec::with_capacity(psf.atoms.len());
    let mut reader = CharmmReader { psf, parameters, types, assembly };
    reader.put_together(path).map_err(|e| e.in_file(path))?;
    reader.finish().map_err(|e| e.in_file(path))
}

struct CharmmReader {
    psf: Psf,
    parameters: Parameters,
    /// Name of the type of each atom, in capitals.
    types: Vec<String>,
    assembly: Assembly,
}

impl CharmmReader {
    fn put_together(&mut self, path: &Path) -> Result<()> {
        self.atoms()?;
        self.lone_pairs(path)?;
        self.bonds()?;
        self.angles()?;
        self.dihedrals()?;
        self.impropers()?;
        self.maps()?;
        self.pairs()
    }

    fn of<const N: usize>(&self, atoms: [u32; N]) -> [&str; N] {
        atoms.map(|atom| self.types.get(atom as usize).map_or("?", String::as_str))
    }

    fn named(&self, atoms: &[u32]) -> Vec<String> {
        atoms.iter().map(|atom| self.assembly.names.describe(*atom)).collect()
    }

    fn atoms(&mut self) -> Result<()> {
        let mut numbers: HashMap<&str, usize> = HashMap::new();
        for atom in &self.psf.atoms {
            // A number stands for a type in CHARMM's own format.
            let named = atom.of_type.parse().ok().and_then(|number| self.parameters.types.get(&number));
            self.types.push(named.unwrap_or(&atom.of_type).to_ascii_uppercase());
        }
        self.check_types()?;
        let mut last = None;
        for (atom, of_type) in self.psf.atoms.iter().zip(&self.types) {
            let residue = (&atom.segment, &atom.residue, &atom.residue_name);
            let names = &mut self.assembly.names;
            if last != Some(residue) {
                last = Some(residue);
                let (number, insertion) = atom.residue.clone();
                names.residues.push(Residue {
                    name: atom.residue_name.clone(),
                    number,
                    insertion,
                    chain: atom.segment.clone(),
                });
            }
            names.atoms.push(AtomName {
                name: atom.name.clone(),
                element: elements::by_mass(atom.mass).unwrap_or_default().into(),
                residue: names.residues.len() as u32 - 1,
            });
            let next = numbers.len();
            let number = *numbers.entry(of_type).or_insert(next);
            self.assembly.atom(of_type, number, atom.mass, atom.charge)?;
        }
        Ok(())
    }

    /// Refuses types whose names differ by case alone.
    fn check_types(&self) -> Result<()> {
        let mut known: HashMap<&str, (usize, &str)> = HashMap::new();
        for (k, (atom, name)) in self.psf.atoms.iter().zip(&self.types).enumerate() {
            let (first, of_type) = *known.entry(name).or_insert((k, &atom.of_type));
            if of_type != atom.of_type && of_type.eq_ignore_ascii_case(&atom.of_type) {
                let message = format!(
                    "atom {} is of the type {of_type}, and atom {} of the type {}",
                    first + 1,
                    k + 1,
                    atom.of_type
                );
                return Err(Error::input(message).hint(
                    "names of types that differ by case alone are one for CHARMM: write them alike, or give one of them another name, here and in the parameters",
                ));
            }
        }
        Ok(())
    }

    /// Points that follow atoms. What binds them to these is no spring.
    fn lone_pairs(&mut self, path: &Path) -> Result<()> {
        let CharmmReader { psf, assembly, .. } = self;
        let mass = |atom: u32| psf.atoms.get(atom as usize).map_or(0.0, |atom| atom.mass);
        for pair in &psf.lone_pairs {
            let added =
                pair.rule(mass).and_then(|(atoms, rule)| assembly.virtual_site(pair.site, atoms, rule));
            added.map_err(|e| {
                let name = assembly.names.describe(pair.site);
                e.context(format_args!("the lone pair {name}")).at_line(path, pair.line)
            })?;
        }
        let lone: HashSet<u32> = psf.lone_pairs.iter().map(|pair| pair.site).collect();
        psf.bonds.retain(|atoms| !atoms.iter().any(|atom| lone.contains(atom)));
        Ok(())
    }

    fn bonds(&mut self) -> Result<()> {
        for atoms in std::mem::take(&mut self.psf.bonds) {
            let row = Parameters::of_pair(&self.parameters.bonds, self.of(atoms)).ok_or_else(|| {
                let near = nearest(self.parameters.bonds.keys().map(|k| &k[..]), &self.of(atoms));
                missing("bond", &self.of(atoms), &self.named(&atoms), near)
            })?;
            let parameters = [2.0 * row[0], row[1]];
            let kind = BondKind::HarmonicBond;
            self.assembly.bond(kind, kind.term(), &parameters, atoms)?;
            self.psf.bonds.push(atoms);
        }
        Ok(())
    }

    fn angles(&mut self) -> Result<()> {
        for atoms in std::mem::take(&mut self.psf.angles) {
            let row = self.parameters.of_angle(self.of(atoms)).ok_or_else(|| {
                let near = nearest(self.parameters.angles.keys().map(|k| &k[..]), &self.of(atoms));
                missing("angle", &self.of(atoms), &self.named(&atoms), near)
            })?;
            let (parameters, spring) = ([2.0 * row[0], row[1]], row.get(2).copied().zip(row.get(3).copied()));
            self.assembly.angle(AngleKind::HarmonicAngle, &parameters, atoms)?;
            if let Some((stiffness, length)) = spring.filter(|(stiffness, _)| *stiffness != 0.0) {
                let [a, _, c] = atoms;
                let parameters = [2.0 * stiffness, length];
                self.assembly.bond(BondKind::HarmonicBond, UREY_BRADLEY, &parameters, [a, c])?;
            }
        }
        Ok(())
    }

    fn dihedrals(&mut self) -> Result<()> {
        // Dihedrals are named once for each of their terms by some programs.
        let mut seen = HashSet::new();
        for atoms in std::mem::take(&mut self.psf.dihedrals) {
            let [a, b, c, d] = atoms;
            if !seen.insert(atoms.min([d, c, b, a])) {
                continue;
            }
            let rows = self.parameters.of_dihedral(self.of(atoms)).ok_or_else(|| {
                let near = nearest(self.parameters.dihedrals.keys().map(|k| &k[..]), &self.of(atoms));
                missing("dihedral", &self.of(atoms), &self.named(&atoms), near)
            })?;
            for row in rows.iter().filter(|row| row[0] != 0.0) {
                let kind = DihedralKind::PeriodicDihedral;
                self.assembly.dihedral(kind, kind.term(), &row[..3], atoms)?;
            }
        }
        Ok(())
    }

    fn impropers(&mut self) -> Result<()> {
        for atoms in std::mem::take(&mut self.psf.impropers) {
            let rows = self.parameters.of_improper(self.of(atoms)).ok_or_else(|| {
                let near = nearest(self.parameters.impropers.keys().map(|k| &k[..]), &self.of(atoms));
                missing("improper", &self.of(atoms), &self.named(&atoms), near)
            })?;
            for row in rows {
                // Without a multiplicity it is a spring.
                let (kind, parameters) = match row[1] {
                    0.0 => (DihedralKind::HarmonicDihedral, &[2.0 * row[0], row[2]][..]),
                    _ => (DihedralKind::PeriodicDihedral, &row[..3]),
                };
                self.assembly.dihedral(kind, kind.term(), parameters, atoms)?;
            }
        }
        Ok(())
    }

    fn maps(&mut self) -> Result<()> {
        let mut numbers: HashMap<[String; 8], u32> = HashMap::new();
        for atoms in std::mem::take(&mut self.psf.cross_terms) {
            let types = self.of(atoms).map(str::to_string);
            let number = match numbers.get(&types) {
                Some(number) => *number,
                None => {
                    let (size, energies) = self.parameters.maps.get(&types).ok_or_else(|| {
                        let near = nearest(self.parameters.maps.keys().map(|k| &k[..]), &self.of(atoms));
                        missing("map", &self.of(atoms), &self.named(&atoms), near)
                    })?;
                    let number = self.assembly.cmap(*size, &second_faster(*size, energies))?;
                    numbers.insert(types, number);
                    number
                }
            };
            let [a, b, c, d, e, f, g, h] = atoms;
            self.assembly.cross_term(number, [a, b, c, d], [e, f, g, h])?;
        }
        Ok(())
    }

    /// Epsilon and sigma of two types; of a pair three bonds apart they may be others.
    fn well(&self, types: [&str; 2], far: Apart) -> Option<[f64; 2]> {
        let (front, own) = match far {
            Apart::Any => (0, 1),
            Apart::ThreeBonds => (2, 4),
        };
        let wells = |epsilon: f64, least: f64| [epsilon.abs(), least / 2f64.powf(1.0 / 6.0)];
        if let Some(row) = Parameters::of_pair(&self.parameters.pairs, types) {
            let front = if row.len() >= front + 2 { front } else { 0 };
            return Some(wells(row[front], row[front + 1]));
        }
        let of = |name: &str| {
            let row = self.parameters.nonbonded.get(&[name.to_string()])?.first()?;
            let own = if row.len() >= own + 2 { own } else { 1 };
            Some([row[own], row[own + 1]])
        };
        let ([a, half_a], [b, half_b]) = (of(types[0])?, of(types[1])?);
        let least = match self.parameters.sizes {
            Sizes::Arithmetic => half_a + half_b,
            Sizes::Geometric => 2.0 * (half_a * half_b).sqrt(),
        };
        Some(wells((a * b).sqrt(), least))
    }

    /// Exclusions, and 1-4 pairs with forces of their own.
    fn pairs(&mut self) -> Result<()> {
        for name in self.types.iter().collect::<BTreeSet<_>>() {
            if self.well([name, name], Apart::Any).is_none() {
                let atom = self.types.iter().position(|of_type| of_type == name).unwrap_or(0) as u32;
                let near = nearest(self.parameters.nonbonded.keys().map(|k| &k[..]), &[name.as_str()]);
                return Err(missing(
                    "Lennard-Jones force of type",
                    &[name.as_str()],
                    &self.named(&[atom]),
                    near,
                ));
            }
        }
        let n = self.types.len();
        let bond = |atoms: &[u32; 2]| jostle_core::Bond { kind: 0, atoms: *atoms };
        let topology = Topology { bonds: self.psf.bonds.iter().map(bond).collect(), ..Topology::default() };
        let bound = topology.partners(n);
        let near = topology.exclusions(n, jostle_core::Exclude::SecondBonded);
        let scale = self.parameters.scale_14.unwrap_or(1.0);
        // Pairs that the file excludes have no force of 1-4 pairs either (CHARMM, and NAMD's `build14excl`).
        let given: BTreeSet<[u32; 2]> =
            std::mem::take(&mut self.psf.excluded).into_iter().map(|[a, b]| [a.min(b), a.max(b)]).collect();
        // Lone pairs have the exclusions of their first hosts; 1-4 pairs are those of atoms.
        let mut with_lone_pairs: Vec<Vec<u32>> = (0..n as u32).map(|atom| vec![atom]).collect();
        for pair in &self.psf.lone_pairs {
            with_lone_pairs[pair.hosts[0] as usize].push(pair.site);
        }
        for atom in 0..n as u32 {
            let second = near.get(atom as usize).map_or(&[][..], |list| list);
            let own = &with_lone_pairs[atom as usize];
            for (k, one) in own.iter().enumerate() {
                own[..k].iter().try_for_each(|other| self.assembly.exclude([*other, *one]))?;
                let others = second.iter().filter(|other| **other > atom);
                for other in others.flat_map(|other| &with_lone_pairs[*other as usize]) {
                    self.assembly.exclude([*one, *other])?;
                }
            }
            let third: BTreeSet<u32> = second
                .iter()
                .flat_map(|other| &bound[*other as usize])
                .copied()
                .filter(|other| *other > atom && second.binary_search(other).is_err())
                .filter(|other| !given.contains(&[atom, *other]))
                .collect();
            for other in third {
                let well = self.well(self.of([atom, other]), Apart::ThreeBonds).unwrap_or_default();
                let charges = scale * self.assembly.charge(atom) * self.assembly.charge(other);
                self.assembly.scaled_pair(well, charges, [atom, other])?;
            }
        }
        given.iter().try_for_each(|pair| self.assembly.exclude(*pair))
    }

    fn finish(mut self) -> Result<Molecules> {
        let assembly =
            std::mem::replace(&mut self.assembly, Assembly::new(UnitSystem::Real, UnitSystem::Real)?);
        let mut names: Vec<&str> = Vec::new();
        let mut seen = HashSet::new();
        names.extend(self.types.iter().map(String::as_str).filter(|name| seen.insert(*name)));
        assembly.finish(|a, b| self.well([names[a], names[b]], Apart::Any).unwrap_or([f64::NAN; 2]))
    }
}

/// Number of bonds between two atoms.
#[derive(Clone, Copy)]
enum Apart {
    Any,
    ThreeBonds,
}
