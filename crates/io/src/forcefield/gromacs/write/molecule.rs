//! One molecule of a topology: its atoms, and the terms between them.

use super::exclusions::exclusions;
use super::parameters::Parameters;
use super::springs::Springs;
use super::types::{self, AtomTypes, without_parameters, word, written};
use super::{ascending, number, unwritable};
use crate::forcefield::Molecules;
use jostle_core::{Arms, Bond, LocalFrame, Residue, Result, SiteRule, Topology, VirtualSite};
use jostle_potentials::{AngleKind, BondKind, DihedralKind};
use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;
use std::ops::Range;

/// A tenth of a picometre per metre: lengths that differ by less are the same in a file.
const SAME_LENGTH: f64 = 1e-9;

/// Atoms divided into molecules: ranges of consecutive atoms that no term leaves.
pub(super) struct Division {
    /// First atom of each, and the number of all atoms.
    firsts: Vec<usize>,
    bonds: Members,
    angles: Members,
    dihedrals: Members,
    cross_terms: Members,
    excluded: Members,
    constraints: Members,
    sites: Members,
}

/// Indices of the terms of each molecule.
struct Members {
    starts: Vec<usize>,
    indices: Vec<u32>,
}

impl Members {
    fn new(n: usize, molecules: impl Iterator<Item = usize> + Clone) -> Self {
        let mut starts = vec![0; n + 1];
        molecules.clone().for_each(|molecule| starts[molecule + 1] += 1);
        (0..n).for_each(|k| starts[k + 1] += starts[k]);
        let mut next = starts.clone();
        let mut indices = vec![0; starts[n]];
        for (index, molecule) in molecules.enumerate() {
            indices[next[molecule]] = index as u32;
            next[molecule] += 1;
        }
        Members { starts, indices }
    }

    fn of<'a, T>(&'a self, molecule: usize, terms: &'a [T]) -> impl Iterator<Item = &'a T> {
        let indices = &self.indices[self.starts[molecule]..self.starts[molecule + 1]];
        indices.iter().map(move |index| &terms[*index as usize])
    }
}

impl Division {
    pub fn new(molecules: &Molecules) -> Self {
        let n = molecules.atoms.len();
        let Topology { bonds, angles, dihedrals, cross_terms, excluded, constraints, virtual_sites, .. } =
            &molecules.topology;
        // The last atom that a term reaches from each.
        let mut last: Vec<u32> = (0..n as u32).collect();
        let mut reach = |atoms: &[u32]| {
            let (from, to) = atoms.iter().fold((u32::MAX, 0), |(a, b), atom| (a.min(*atom), b.max(*atom)));
            last[from as usize] = last[from as usize].max(to);
        };
        bonds.iter().for_each(|term| reach(&term.atoms));
        angles.iter().for_each(|term| reach(&term.atoms));
        dihedrals.iter().for_each(|term| reach(&term.atoms));
        cross_terms.iter().for_each(|term| reach(&term.atoms));
        excluded.iter().for_each(|atoms| reach(atoms));
        constraints.iter().for_each(|term| reach(&term.atoms));
        for VirtualSite { site, atoms: [a, b, c], .. } in virtual_sites {
            reach(&[*site, *a, *b, *c]);
        }
        let (mut firsts, mut end) = (vec![0], 0);
        for (atom, last) in last.iter().enumerate() {
            if atom > end {
                firsts.push(atom);
            }
            end = end.max(*last as usize);
        }
        firsts.push(n);
        let count = firsts.len() - 1;
        let of = |atom: u32| firsts.partition_point(|first| *first <= atom as usize) - 1;
        Division {
            bonds: Members::new(count, bonds.iter().map(|t| of(t.atoms[0]))),
            angles: Members::new(count, angles.iter().map(|t| of(t.atoms[0]))),
            dihedrals: Members::new(count, dihedrals.iter().map(|t| of(t.atoms[0]))),
            cross_terms: Members::new(count, cross_terms.iter().map(|t| of(t.atoms[0]))),
            excluded: Members::new(count, excluded.iter().map(|t| of(t[0]))),
            constraints: Members::new(count, constraints.iter().map(|t| of(t.atoms[0]))),
            sites: Members::new(count, virtual_sites.iter().map(|t| of(t.site))),
            firsts,
        }
    }

    /// Number of molecules.
    pub fn len(&self) -> usize {
        self.firsts.len() - 1
    }

    /// Atoms of a molecule.
    pub fn atoms(&self, number: usize) -> Range<usize> {
        self.firsts[number]..self.firsts[number + 1]
    }
}

/// Text of a molecule behind its name: the number of bonds up to which pairs are excluded, and the sections.
pub(super) fn body(
    molecules: &Molecules,
    parameters: &Parameters,
    types: &AtomTypes,
    division: &Division,
    number: usize,
) -> Result<String> {
    let atoms = division.atoms(number);
    let mut text =
        Sections { molecules, parameters, division, number, first: atoms.start as u32, text: String::new() };
    text.atoms(types, atoms.clone());
    let topology = &molecules.topology;
    let springs = Springs::new(
        division.bonds.of(number, &topology.bonds),
        division.angles.of(number, &topology.angles),
        parameters,
    )?;
    let bound: Vec<[u32; 2]> =
        springs.bonds.iter().map(|(pair, _)| pair.map(|atom| atom - text.first)).collect();
    text.bonds(&springs);
    text.pairs();
    text.angles(springs)?;
    text.dihedrals()?;
    text.maps();
    let rigid = text.constraints(atoms.len());
    text.sites()?;
    let excluded = division.excluded.of(number, &topology.excluded);
    let excluded: BTreeSet<[u32; 2]> =
        excluded.map(|pair| ascending(pair.map(|atom| atom - text.first))).collect();
    let found = exclusions(atoms.len(), &excluded, &bound, &rigid)?;
    text.exclusions(&found.others);
    Ok(format!("{}\n{}", found.bonds, text.text))
}

/// Sections of a molecule under way.
struct Sections<'a> {
    molecules: &'a Molecules,
    parameters: &'a Parameters,
    division: &'a Division,
    number: usize,
    /// First atom of the molecule.
    first: u32,
    text: String,
}

impl Sections<'_> {
    /// Numbers of atoms within the molecule, from 1.
    fn numbers(&self, atoms: &[u32]) -> String {
        let numbers: Vec<String> = atoms.iter().map(|atom| (atom - self.first + 1).to_string()).collect();
        numbers.join(" ")
    }

    /// Adds a section, unless it has no rows.
    fn section(&mut self, name: &str, columns: &str, rows: &str) {
        if !rows.is_empty() {
            let _ = write!(self.text, "\n[ {name} ]\n; {columns}\n{rows}");
        }
    }

    fn atoms(&mut self, types: &AtomTypes, atoms: Range<usize>) {
        let names = &self.molecules.names;
        let residue_of = |atom: usize| names.atoms.get(atom).map(|atom| atom.residue as usize);
        let alone = residue_of(atoms.start) == residue_of(atoms.end - 1);
        let mut rows = String::new();
        for atom in atoms {
            let species = &self.molecules.species[usize::from(self.molecules.atoms[atom])];
            let of_type = types.name(atom);
            let name = names.atoms.get(atom).map_or(of_type, |atom| atom.name.as_str());
            let residue = residue_of(atom).and_then(|residue| names.residues.get(residue));
            // Numbers of residues in a file go on from molecule to molecule, which are alike nevertheless.
            let place = residue.filter(|_| !alone).map_or_else(|| "1".to_string(), Residue::label);
            let residue = residue.map_or("MOL", |residue| residue.name.as_str());
            let [k, mass, charge] = [
                (atom as u32 - self.first + 1).to_string(),
                number(self.molecules.units.mass_to_user(species.mass)),
                number(self.molecules.charges[atom]),
            ];
            let (residue, name) = (types::word(residue), word(name));
            let _ = writeln!(
                rows,
                "{k:>6} {of_type:<8} {place:>5} {residue:<5} {name:<5} {k:>6} {charge:>14} {mass:>10}"
            );
        }
        self.section("atoms", "nr  type  resnr  residue  atom  cgnr  charge  mass", &rows);
    }

    /// Bonds, and springs across angles that are none of the molecule's.
    fn bonds(&mut self, springs: &Springs) {
        let mut rows = String::new();
        for (atoms, [stiffness, length]) in &springs.bonds {
            let _ = writeln!(rows, "{} 1  {}  {}", self.numbers(atoms), number(*length), number(*stiffness));
        }
        for (ends, springs) in &springs.across {
            // Of several angles with the same ends each takes one spring, whichever it is.
            let angles = self.division.angles.of(self.number, &self.molecules.topology.angles);
            let taken = angles.filter(|angle| ascending([angle.atoms[0], angle.atoms[2]]) == *ends).count();
            for [stiffness, length] in springs.iter().skip(taken) {
                let _ =
                    writeln!(rows, "{} 6  {}  {}", self.numbers(ends), number(*length), number(*stiffness));
            }
        }
        self.section("bonds", "i  j  func  length  stiffness", &rows);
    }

    /// 1-4 pairs. Files of OpenMM may have their Lennard-Jones forces and their charges in two places.
    fn pairs(&mut self) {
        let mut pairs: Vec<([u32; 2], [f64; 2], f64)> = Vec::new();
        let mut places: HashMap<[u32; 2], usize> = HashMap::new();
        for Bond { kind, atoms } in self.division.bonds.of(self.number, &self.molecules.topology.bonds) {
            let Some((BondKind::ScaledPair, _, p)) = &self.parameters.bonds[*kind as usize] else { continue };
            let (well, product) = ([p[0], p[1]], p[2] / self.parameters.coulomb);
            match places.get(&ascending(*atoms)).map(|place| &mut pairs[*place]) {
                Some((_, known, _)) if known[0] == 0.0 && product == 0.0 => *known = well,
                Some((_, _, charges)) if well[0] == 0.0 && *charges == 0.0 => *charges = product,
                _ => {
                    places.insert(ascending(*atoms), pairs.len());
                    pairs.push((*atoms, well, product));
                }
            }
        }
        let mut rows = String::new();
        for (atoms, well, product) in pairs {
            let [a, b] = atoms.map(|atom| self.molecules.charges[atom as usize]);
            let [sigma, epsilon] = written(well).map(number);
            let usual = self.parameters.scale * a * b;
            let atoms = self.numbers(&atoms);
            let _ = match (product - usual).abs() <= 1e-8 * product.abs() {
                true => writeln!(rows, "{atoms} 1  {sigma}  {epsilon}"),
                false => writeln!(rows, "{atoms} 2  1.0  {}  1.0  {sigma}  {epsilon}", number(product)),
            };
        }
        self.section("pairs", "i  j  func  sigma  epsilon", &rows);
    }

    fn angles(&mut self, springs: Springs) -> Result<()> {
        let mut springs: HashMap<[u32; 2], Vec<[f64; 2]>> = springs.across.into_iter().collect();
        // The first spring of two ends goes to their first angle.
        springs.values_mut().for_each(|list| list.reverse());
        let mut rows = String::new();
        for angle in self.division.angles.of(self.number, &self.molecules.topology.angles) {
            let known = self.parameters.angles[angle.kind as usize].as_ref();
            let (AngleKind::HarmonicAngle, _, p) = known.ok_or_else(|| without_parameters("angle"))? else {
                return Err(unwritable("cosine angle"));
            };
            let ends = ascending([angle.atoms[0], angle.atoms[2]]);
            let (atoms, rest, stiffness) = (self.numbers(&angle.atoms), number(p[1]), number(p[0]));
            let _ = match springs.get_mut(&ends).and_then(Vec::pop) {
                None => writeln!(rows, "{atoms} 1  {rest}  {stiffness}"),
                Some([k, length]) => {
                    writeln!(rows, "{atoms} 5  {rest}  {stiffness}  {}  {}", number(length), number(k))
                }
            };
        }
        self.section("angles", "i  j  k  func  angle  stiffness", &rows);
        Ok(())
    }

    fn dihedrals(&mut self) -> Result<()> {
        let mut rows = String::new();
        for dihedral in self.division.dihedrals.of(self.number, &self.molecules.topology.dihedrals) {
            let known = self.parameters.dihedrals[dihedral.kind as usize].as_ref();
            let atoms = self.numbers(&dihedral.atoms);
            let _ = match known.ok_or_else(|| without_parameters("dihedral"))? {
                (DihedralKind::PeriodicDihedral, _, p) if p[1].fract() == 0.0 => {
                    writeln!(rows, "{atoms} 9  {}  {}  {}", number(p[2]), number(p[0]), p[1])
                }
                (DihedralKind::PeriodicDihedral, ..) => {
                    return Err(unwritable("periodic dihedral with a multiplicity that is no whole number"));
                }
                (DihedralKind::HarmonicDihedral, _, p) => {
                    writeln!(rows, "{atoms} 2  {}  {}", number(p[1]), number(p[0]))
                }
                (DihedralKind::UnsignedHarmonicDihedral, ..) => {
                    return Err(unwritable(
                        "harmonic improper of LAMMPS at rest elsewhere than at 0 or 180 degrees",
                    ));
                }
                (DihedralKind::RyckaertBellemans, _, p) => {
                    let p: Vec<String> = p.iter().map(|x| number(*x)).collect();
                    writeln!(rows, "{atoms} 3  {}", p.join("  "))
                }
            };
        }
        self.section("dihedrals", "i  j  k  l  func  parameters", &rows);
        Ok(())
    }

    fn maps(&mut self) {
        let mut rows = String::new();
        for term in self.division.cross_terms.of(self.number, &self.molecules.topology.cross_terms) {
            let _ = writeln!(rows, "{} 1", self.numbers(&term.atoms));
        }
        self.section("cmap", "i  j  k  l  m  func", &rows);
    }

    /// Constraints; water has a section of its own. Pairs that programs may take for bonds.
    fn constraints(&mut self, n: usize) -> Vec<[u32; 2]> {
        let constraints = self.division.constraints.of(self.number, &self.molecules.topology.constraints);
        let lengths: Vec<([u32; 2], f64)> = constraints
            .map(|c| (ascending(c.atoms).map(|atom| atom - self.first), c.length * self.parameters.length))
            .collect();
        if let Some([bond, base]) = water(&lengths, n) {
            let row = format!("1 1  {}  {}\n", number(bond), number(base));
            self.section("settles", "oxygen  func  to hydrogen  between hydrogens", &row);
            return vec![[0, 1], [0, 2]];
        }
        let mut rows = String::new();
        for ([a, b], length) in &lengths {
            let _ = writeln!(rows, "{} {} 1  {}", a + 1, b + 1, number(*length));
        }
        self.section("constraints", "i  j  func  length", &rows);
        lengths.into_iter().map(|(atoms, _)| atoms).collect()
    }

    fn sites(&mut self) -> Result<()> {
        let (mut of_two, mut of_three) = (String::new(), String::new());
        for VirtualSite { site, atoms, rule } in
            self.division.sites.of(self.number, &self.molecules.topology.virtual_sites)
        {
            let [a, b, _] = *atoms;
            let (pair, three) =
                (self.numbers(&[*site, a, b]), self.numbers(&[&[*site], &atoms[..]].concat()));
            let length = self.parameters.length;
            let _ = match rule {
                SiteRule::Average([_, u, 0.0]) => writeln!(of_two, "{pair} 1  {}", number(*u)),
                SiteRule::Average([_, u, v]) if atoms[1] == atoms[2] => {
                    writeln!(of_two, "{pair} 1  {}", number(u + v))
                }
                SiteRule::Average([_, u, v]) => {
                    writeln!(of_three, "{three} 1  {}  {}", number(*u), number(*v))
                }
                SiteRule::OutOfPlane([u, v, w]) => {
                    writeln!(of_three, "{three} 4  {}  {}  {}", number(*u), number(*v), number(w / length))
                }
                SiteRule::Frame(frame) => match in_plane(frame) {
                    Some((function, p, d)) if atoms[1] != atoms[2] => {
                        writeln!(of_three, "{three} {function}  {}  {}", number(p), number(d * length))
                    }
                    Some((2, 0.0, d)) => writeln!(of_two, "{pair} 2  {}", number(d * length)),
                    _ => return Err(unwritable("virtual site of this kind")),
                },
            };
        }
        self.section("virtual_sites2", "site  i  j  func  parameters", &of_two);
        self.section("virtual_sites3", "site  i  j  k  func  parameters", &of_three);
        Ok(())
    }

    fn exclusions(&mut self, pairs: &[[u32; 2]]) {
        let mut rows = String::new();
        for row in pairs.chunk_by(|a, b| a[0] == b[0]) {
            let others: Vec<String> = row.iter().map(|[_, other]| (other + 1).to_string()).collect();
            let _ = writeln!(rows, "{} {}", row[0][0] + 1, others.join(" "));
        }
        self.section("exclusions", "atom  others", &rows);
    }
}

/// Function, parameter and distance of a virtual site in the plane of its atoms, as GROMACS has them: 2 on the
/// way to a point between the second and the third atom, 3 at an angle from the second.
fn in_plane(frame: &LocalFrame) -> Option<(u32, f64, f64)> {
    let LocalFrame { arms, origin, x, y, place } = *frame;
    if (arms, origin, place[2]) != (Arms::AsLong, [0.0; 2], 0.0) {
        return None;
    }
    match (x, y, place) {
        ([a, b], _, [d, 0.0, _]) if (a + b - 1.0).abs() < 1e-12 => Some((2, b, d)),
        ([1.0, 0.0], [-1.0, 1.0], [along, across, _]) => {
            let angle = across.atan2(along).to_degrees();
            (across > 0.0).then_some((3, angle, along.hypot(across)))
        }
        _ => None,
    }
}

/// Distances from oxygen to hydrogen and between hydrogens, where all constraints are those of one rigid water
/// whose atoms come first.
fn water(lengths: &[([u32; 2], f64)], n: usize) -> Option<[f64; 2]> {
    let of = |pair: [u32; 2]| lengths.iter().find(|(atoms, _)| *atoms == pair).map(|(_, length)| *length);
    let (one, other, base) = (of([0, 1])?, of([0, 2])?, of([1, 2])?);
    let even = (one - other).abs() <= SAME_LENGTH * one;
    (lengths.len() == 3 && n <= 4 && even).then_some([one, base])
}
