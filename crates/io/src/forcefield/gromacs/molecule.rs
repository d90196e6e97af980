//! Kinds of molecules of a GROMACS topology: their atoms, and the terms between these with their parameters.

use super::exclusions::excluded_by_bonds;
use super::preprocess::SourceLine;
use super::state_b;
use super::types::{BondedTypes, Defaults, ParameterRow, Types, find, no_type, number};
use super::virtual_sites;
use crate::forcefield::assembly::Assembly;
use crate::forcefield::missing::{missing, nearest};
use crate::forcefield::{UREY_BRADLEY, periodic, second_faster};
use jostle_core::{Error, Residue, Result, SiteRule};
use jostle_potentials::{AngleKind, BondKind, BondedKind, DihedralKind};
use std::collections::HashMap;

/// A kind of molecule, with its atoms from 0.
pub(super) struct MoleculeKind {
    pub name: String,
    /// Number of bonds up to which atoms have no pair force.
    pub excluded: usize,
    pub atoms: Vec<TopologyAtom>,
    pub rows: Vec<(String, SourceLine)>,
}

pub(super) struct TopologyAtom {
    pub of_type: String,
    /// Number and insertion code.
    pub residue: (i32, String),
    pub residue_name: String,
    pub name: String,
    pub charge: f64,
    pub mass: f64,
}

/// Bonded term between atoms of one molecule.
pub(super) enum MoleculeTerm {
    Bond(BondKind, &'static str, Vec<f64>, [u32; 2]),
    Angle(Vec<f64>, [u32; 3]),
    Dihedral(DihedralKind, Vec<f64>, [u32; 4]),
    Map(u32, [u32; 5]),
    Pair([f64; 2], f64, [u32; 2]),
    Exclude([u32; 2]),
    Constraint(f64, [u32; 2]),
    Site(u32, [u32; 3], SiteRule),
}

/// A row of `[ atoms ]`: number, type, residue's number and name, name, charge group, charge, mass; type, charge and mass
/// of state B.
/// The number must be the expected one, because bonds name atoms by it.
pub(super) fn atom(
    types: &Types,
    line: &SourceLine,
    expected: usize,
    molecule: &str,
) -> Result<TopologyAtom> {
    let words: Vec<&str> = line.words.iter().map(String::as_str).collect();
    let &[own, of_type, residue, residue_name, name, ..] = &words[..] else {
        return Err(line.error("an atom needs number, type, residue's number and name, and name"));
    };
    if own.parse() != Ok(expected) {
        return Err(line.error(format!("atom {own} of the molecule {molecule} stands where its atom {expected} should")).hint(
            "atoms of a molecule are numbered from 1; a molecule of its own begins with [ moleculetype ], a name and nrexcl",
        ));
    }
    let known = |name: &str| types.atoms.get(name).ok_or_else(|| no_type(line, name, types.atoms.keys()));
    let or = |k: usize, usual: f64| words.get(k).map_or(Ok(usual), |word| number(line, word));
    let usual = known(of_type)?;
    let (charge, mass) = (or(6, usual.charge)?, or(7, usual.mass)?);
    if let Some(other) = words.get(8) {
        // Charge and mass of state B are those of its type where there is no column of them, whatever state A has.
        let usual = known(other)?;
        let state_b = (*other, or(9, usual.charge)?, or(10, usual.mass)?);
        state_b::check_atom(line, name, [(of_type, charge, mass), state_b])?;
    }
    Ok(TopologyAtom {
        of_type: of_type.to_string(),
        residue: Residue::numbered(residue),
        residue_name: residue_name.to_string(),
        name: name.to_string(),
        charge,
        mass,
    })
}

/// Adds a term to the molecule whose atoms begin with `first`.
pub(super) fn add(assembly: &mut Assembly, term: &MoleculeTerm, first: u32) -> Result<()> {
    match term {
        MoleculeTerm::Bond(kind, name, p, atoms) => assembly.bond(*kind, name, p, atoms.map(|a| a + first)),
        MoleculeTerm::Angle(p, atoms) => {
            assembly.angle(AngleKind::HarmonicAngle, p, atoms.map(|a| a + first))
        }
        MoleculeTerm::Dihedral(kind, p, atoms) => {
            assembly.dihedral(*kind, kind.term(), p, atoms.map(|a| a + first))
        }
        MoleculeTerm::Map(map, atoms) => {
            let [a, b, c, d, e] = atoms.map(|atom| atom + first);
            assembly.cross_term(*map, [a, b, c, d], [b, c, d, e])
        }
        MoleculeTerm::Pair(well, charges, atoms) => {
            assembly.pair_of_its_own(*well, *charges, atoms.map(|a| a + first))
        }
        MoleculeTerm::Exclude(atoms) => assembly.exclude(atoms.map(|a| a + first)),
        MoleculeTerm::Constraint(length, atoms) => assembly.constraint(*length, atoms.map(|a| a + first)),
        MoleculeTerm::Site(site, atoms, rule) => {
            assembly.virtual_site(site + first, atoms.map(|a| a + first), *rule)
        }
    }
}

/// Numbers of maps in the assembly by their place among the types.
pub(super) type Maps = HashMap<usize, u32>;

impl MoleculeKind {
    /// Returns true where all atoms are of one residue.
    pub fn is_single_residue(&self) -> bool {
        let residues = self.atoms.iter().map(|atom| (&atom.residue, &atom.residue_name));
        residues.clone().zip(residues.skip(1)).all(|(one, next)| one == next)
    }

    /// Bonded terms between the atoms, with their lines.
    pub(super) fn terms(
        &self,
        types: &Types,
        defaults: &Defaults,
        assembly: &mut Assembly,
        maps: &mut Maps,
    ) -> Result<Vec<(MoleculeTerm, Option<SourceLine>)>> {
        let mut terms: Vec<(MoleculeTerm, Option<SourceLine>)> = Vec::new();
        let mut bound: Vec<[u32; 2]> = Vec::new();
        for (section, line) in &self.rows {
            let mut push = |term: MoleculeTerm| terms.push((term, Some(line.clone())));
            match section.as_str() {
                "bonds" => {
                    let (atoms, row) = self.given::<2>(line)?;
                    // Six is a spring that is no connection, five a connection without a force.
                    if row.function != 6 {
                        bound.push(atoms);
                    }
                    if row.function != 5 {
                        let p = self.known(line, &row, &types.bonds, "bond", types, &[1, 6])?;
                        let kind = BondKind::HarmonicBond;
                        let name = if row.function == 6 { UREY_BRADLEY } else { kind.term() };
                        push(MoleculeTerm::Bond(kind, name, vec![p[0][1], p[0][0]], atoms));
                    }
                }
                "angles" => self.angle(line, types, &mut push)?,
                "dihedrals" => {
                    let (atoms, row) = self.given::<4>(line)?;
                    for p in
                        self.known(line, &row, &types.dihedrals, "dihedral", types, &[1, 2, 3, 4, 5, 9])?
                    {
                        dihedral(row.function, &p, |kind, p| push(MoleculeTerm::Dihedral(kind, p, atoms)));
                    }
                }
                "cmap" => {
                    let (map, atoms) = self.map(line, types, assembly, maps)?;
                    push(MoleculeTerm::Map(map, atoms));
                }
                "pairs" => {
                    let (atoms, row) = self.given::<2>(line)?;
                    let (well, charges) = self.pair(line, &row, types, defaults)?;
                    push(MoleculeTerm::Pair(well, charges, atoms));
                }
                "exclusions" => {
                    let numbers = line.words.iter().map(|word| self.index(line, word));
                    let numbers = numbers.collect::<Result<Vec<_>>>()?;
                    for other in numbers.iter().skip(1) {
                        push(MoleculeTerm::Exclude([numbers[0], *other]));
                    }
                }
                "settles" => bound.extend(self.rigid_water(line, &mut push)?),
                "constraints" => {
                    let (atoms, row) = self.given::<2>(line)?;
                    let p = self.known(line, &row, &types.constraints, "constraint", types, &[1, 2])?;
                    push(MoleculeTerm::Constraint(p[0][0], atoms));
                    if row.function == 1 {
                        bound.push(atoms);
                    }
                }
                "virtual_sites2" | "dummies2" => {
                    let ([site, a, b], row) = self.given::<3>(line)?;
                    push(MoleculeTerm::Site(site, [a, b, b], virtual_sites::rule(line, &row, 2)?));
                }
                "virtual_sites3" | "dummies3" => {
                    let ([site, a, b, c], row) = self.given::<4>(line)?;
                    push(MoleculeTerm::Site(site, [a, b, c], virtual_sites::rule(line, &row, 3)?));
                }
                other => {
                    return Err(line.error(format!("[ {other} ] is not read")).hint(
                        "leave it out; parts under #ifdef are read where define = [...] in [system] says so",
                    ));
                }
            }
        }
        for pair in excluded_by_bonds(self.atoms.len(), &bound, self.excluded)? {
            terms.push((MoleculeTerm::Exclude(pair), None));
        }
        Ok(terms)
    }

    /// An angle, and for function 5 the spring between its ends.
    fn angle(&self, line: &SourceLine, types: &Types, push: &mut impl FnMut(MoleculeTerm)) -> Result<()> {
        let (atoms, row) = self.given::<3>(line)?;
        let p = self.known(line, &row, &types.angles, "angle", types, &[1, 5])?;
        push(MoleculeTerm::Angle(vec![p[0][1], p[0][0]], atoms));
        if let (5, &[_, _, length, stiffness, ..]) = (row.function, &p[0][..])
            && stiffness != 0.0
        {
            let (kind, ends) = (BondKind::HarmonicBond, [atoms[0], atoms[2]]);
            push(MoleculeTerm::Bond(kind, UREY_BRADLEY, vec![stiffness, length], ends));
        }
        Ok(())
    }

    /// Number of a map in the assembly, which is added if it is new, and the atoms of the term.
    fn map(
        &self,
        line: &SourceLine,
        types: &Types,
        assembly: &mut Assembly,
        maps: &mut Maps,
    ) -> Result<(u32, [u32; 5])> {
        let (atoms, row) = self.given::<5>(line)?;
        let names = self.types_of(&row, types);
        let place = types.maps.iter().position(|(map, _)| map.types == names);
        let place = place.ok_or_else(|| self.lacks(line, "map", &row, types, &[]))?;
        if let Some(map) = maps.get(&place) {
            return Ok((*map, atoms));
        }
        let (row, size) = &types.maps[place];
        let map = assembly.cmap(*size, &second_faster(*size, &row.parameters)).map_err(|e| line.at(e))?;
        maps.insert(place, map);
        Ok((map, atoms))
    }

    /// Constraints of a water molecule; returns its bonds.
    fn rigid_water(&self, line: &SourceLine, push: &mut impl FnMut(MoleculeTerm)) -> Result<[[u32; 2]; 2]> {
        let ([o], row) = self.given::<1>(line)?;
        let &[to_hydrogen, between, ..] = &row.parameters[..] else {
            return Err(line.error("[ settles ] needs two distances"));
        };
        let bonds = [[o, o + 1], [o, o + 2]];
        for (length, atoms) in [(to_hydrogen, bonds[0]), (to_hydrogen, bonds[1]), (between, [o + 1, o + 2])] {
            push(MoleculeTerm::Constraint(length, atoms));
        }
        Ok(bonds)
    }

    /// A number of an atom, from 1, as one from 0.
    fn index(&self, line: &SourceLine, word: &str) -> Result<u32> {
        let place = word.parse::<usize>().ok().filter(|n| (1..=self.atoms.len()).contains(n));
        let error = || line.error(format!("the molecule has no atom {word}, it has {}", self.atoms.len()));
        place.map(|n| n as u32 - 1).ok_or_else(error)
    }

    /// Atoms, function and parameters of a row.
    fn given<const N: usize>(&self, line: &SourceLine) -> Result<([u32; N], ParameterRow)> {
        let row = Types::row(line, N)?;
        let mut atoms = [0; N];
        for (atom, word) in atoms.iter_mut().zip(&row.types) {
            *atom = self.index(line, word)?;
        }
        Ok((atoms, row))
    }

    fn atom(&self, word: &str) -> Option<&TopologyAtom> {
        self.atoms.get(word.parse::<usize>().ok()?.checked_sub(1)?)
    }

    /// Names of the types of a row's atoms in bonds and angles.
    fn types_of(&self, row: &ParameterRow, types: &Types) -> Vec<String> {
        let of = |word: &String| types.atoms.get(&self.atom(word)?.of_type).map(|t| t.bonded.clone());
        row.types.iter().map(|word| of(word).unwrap_or_default()).collect()
    }

    /// The parameters of a row: its own, else those of its types.
    fn known(
        &self,
        line: &SourceLine,
        row: &ParameterRow,
        rows: &BondedTypes,
        what: &str,
        types: &Types,
        functions: &[u32],
    ) -> Result<Vec<Vec<f64>>> {
        if !functions.contains(&row.function) {
            return Err(line.error(format!("the {what} function {} is not read", row.function)));
        }
        let rows = rows.of(row.function);
        // Number of parameters of these functions in state A.
        let least = match (what, row.function) {
            ("constraint", _) => 1,
            ("dihedral", 1 | 4 | 9) => 3,
            ("dihedral", 3) => 6,
            ("dihedral", 5) => 4,
            ("angle", 5) => 4,
            _ => 2,
        };
        let own = (!row.parameters.is_empty()).then(|| vec![row.parameters.clone()]);
        let found = own.unwrap_or_else(|| {
            let names = self.types_of(row, types);
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            find(rows, &names).iter().map(|known| known.parameters.clone()).collect()
        });
        if found.is_empty() {
            return Err(self.lacks(line, what, row, types, rows));
        }
        if let Some(short) = found.iter().find(|p| p.len() < least) {
            let message = format!("this {what} has {} parameters, {least} are wanted", short.len());
            return Err(line.error(message));
        }
        found.iter().try_for_each(|p| match (what, row.function, &p[..]) {
            ("dihedral", 5, &[_, _, _, _, fifth]) => check_fifth(line, fifth),
            _ => state_b::check_term(line, what, p, least),
        })?;
        Ok(found)
    }

    /// An error for a row without parameters.
    fn lacks(
        &self,
        line: &SourceLine,
        what: &str,
        row: &ParameterRow,
        types: &Types,
        rows: &[ParameterRow],
    ) -> Error {
        let names = self.types_of(row, types);
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let atoms = row.types.iter().map(|word| match self.atom(word) {
            Some(atom) => format!(
                "atom {word} ({} of {} {}{})",
                atom.name, atom.residue_name, atom.residue.0, atom.residue.1
            ),
            None => format!("atom {word}"),
        });
        let near = nearest(rows.iter().map(|row| &row.types[..]), &names);
        line.at(missing(what, &names, &atoms.collect::<Vec<_>>(), near))
    }

    /// Epsilon and sigma of a 1-4 pair, and the product of its charges.
    fn pair(
        &self,
        line: &SourceLine,
        row: &ParameterRow,
        types: &Types,
        defaults: &Defaults,
    ) -> Result<([f64; 2], f64)> {
        if row.function == 2 {
            let &[scale, one, other, v, w, ..] = &row.parameters[..] else {
                return Err(line.error("a pair of function 2 needs fudgeQQ, two charges, V and W"));
            };
            return Ok((defaults.well([v, w]), scale * one * other));
        }
        if row.function != 1 {
            return Err(line.error(format!("the pair function {} is not read", row.function)));
        }
        let [Some(a), Some(b)] = [0, 1].map(|k| self.atom(&row.types[k])) else {
            return Err(line.error("a pair needs two atoms"));
        };
        state_b::check_term(line, "1-4 pair", &row.parameters, 2)?;
        let charges = defaults.scale[1] * a.charge * b.charge;
        let well = match (&row.parameters[..], Types::pair(&types.pairs_14, &a.of_type, &b.of_type)) {
            ([v, w, ..], _) => defaults.well([*v, *w]),
            (_, Some(own)) => defaults.well(own),
            _ if defaults.generate => {
                let [epsilon, sigma] = types.well(defaults, &a.of_type, &b.of_type);
                [defaults.scale[0] * epsilon, sigma]
            }
            _ => return Err(self.lacks(line, "1-4 pair", row, types, &[])),
        };
        Ok((well, charges))
    }
}

/// Refuses a fifth coefficient of a Fourier dihedral unless it is zero: GROMACS' table of functions has C1 to C5, its
/// formula (and grompp) four of them.
fn check_fifth(line: &SourceLine, fifth: f64) -> Result<()> {
    if fifth == 0.0 {
        return Ok(());
    }
    let message =
        format!("a Fourier dihedral (function 5) has C5 = {fifth}, which no formula has a term for");
    Err(line.error(message).hint(
        "its terms are C1 (1 + cos phi), C2 (1 - cos 2 phi), C3 (1 + cos 3 phi) and C4 (1 - cos 4 phi); function 3 has \
         one more",
    ))
}

/// The terms of a dihedral of a function.
fn dihedral(function: u32, p: &[f64], mut push: impl FnMut(DihedralKind, Vec<f64>)) {
    match function {
        2 => push(DihedralKind::HarmonicDihedral, vec![p[1], p[0]]),
        3 => push(DihedralKind::RyckaertBellemans, p[..6].to_vec()),
        5 => {
            // Half of each of 1 + cos(phi), 1 - cos(2 phi), 1 + cos(3 phi), 1 - cos(4 phi).
            for (n, (strength, phase)) in (1..).zip(p.iter().zip([0.0, 180.0, 0.0, 180.0])) {
                if *strength != 0.0 {
                    let parameters = vec![0.5 * strength, f64::from(n), phase];
                    push(DihedralKind::PeriodicDihedral, parameters);
                }
            }
        }
        _ if p[1] == 0.0 => {}
        _ => {
            let (kind, parameters) = periodic(p[1], p[2], p[0]);
            push(kind, parameters);
        }
    }
}
