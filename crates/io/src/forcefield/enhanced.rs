//! Locally enhanced sampling: several copies of some atoms in one system (R. Elber and M. Karplus, J. Am. Chem. Soc. 112
//! (1990) 9161; A. Roitberg and R. Elber, J. Chem. Phys. 95 (1991) 9277).
//!
//! Terms of the energy with atoms of one of n copies have the weight 1/n, and copies do not see each other: the
//! force on all other atoms is the average over copies, which cross barriers of one n-th of the height. Charges of copies
//! are divided by n, wells of their species too; pairs within a copy would have 1/n^2, and become pairs by name with 1/n.
//!
//! Advantage: a matter of topology alone, which every device, barostat and bias takes as it takes any other molecule.
//! Disadvantage: pairs within a copy know no cut-off, and pairs of copies that do not see each other are listed one by
//! one, so that copies of large parts take memory.

use super::Molecules;
use super::coordinates::Coordinates;
use crate::input::model::CopyMass;
use crate::memory;
use jostle_core::{
    Angle, AtomName, Bond, Constraint, CrossTerm, Dihedral, Error, Names, Result, Species, VirtualSite,
};
use jostle_potentials::bonded::{BondedTerm, Cmap};
use jostle_potentials::{BondKind, BondTerm, BondedKind};
use std::collections::{BTreeMap, HashSet};

/// Name of the energy of pairs within a copy.
pub const WITHIN_COPIES: &str = "within-copies";

/// Most pairs of atoms that do not see each other.
const MOST_PAIRS: u64 = 4_000_000;

/// Types and the same types with less energy, by their numbers.
type WeightedTypes = BTreeMap<u32, u32>;

/// Atoms that exist several times. The first copy of each has its own id, the others follow all atoms, copy by copy.
struct Copies<'a> {
    chosen: &'a [u32],
    count: u32,
    /// Number of atoms without copies.
    n: u32,
    /// Place of each atom in `chosen`, by id.
    place: Vec<Option<u32>>,
}

impl<'a> Copies<'a> {
    fn new(chosen: &'a [u32], count: u32, n: usize) -> Self {
        let mut place = vec![None; n];
        (0..).zip(chosen).for_each(|(k, id)| place[*id as usize] = Some(k));
        Copies { chosen, count, n: n as u32, place }
    }

    fn weight(&self) -> f64 {
        1.0 / f64::from(self.count)
    }

    /// Id of an atom in a copy; of atoms without copies their own.
    fn id(&self, atom: u32, copy: u32) -> u32 {
        match self.place[atom as usize] {
            Some(place) if copy > 0 => self.n + (copy - 1) * self.chosen.len() as u32 + place,
            _ => atom,
        }
    }

    fn are_in<const N: usize>(&self, atoms: [u32; N]) -> usize {
        atoms.iter().filter(|atom| self.place[**atom as usize].is_some()).count()
    }

    /// Terms with the copies of those that have atoms of a copy, and these with another type.
    fn of_terms<T: Copy, const N: usize>(
        &self,
        terms: &mut Vec<T>,
        n_types: usize,
        parts: fn(&T) -> (u32, [u32; N]),
        term: fn(u32, [u32; N]) -> T,
    ) -> WeightedTypes {
        let mut types = WeightedTypes::new();
        let mut added = Vec::new();
        for old in terms.iter_mut() {
            let (kind, atoms) = parts(old);
            if self.are_in(atoms) == 0 {
                continue;
            }
            let next = (n_types + types.len()) as u32;
            let weighted = *types.entry(kind).or_insert(next);
            *old = term(weighted, atoms);
            let copy = |copy| term(weighted, atoms.map(|atom| self.id(atom, copy)));
            added.extend((1..self.count).map(copy));
        }
        terms.extend(added);
        types
    }

    /// A list by atoms with that of the chosen ones after it, copy by copy.
    fn extend<T: Clone>(&self, list: &mut Vec<T>) {
        let own: Vec<T> = self.chosen.iter().map(|id| list[*id as usize].clone()).collect();
        (1..self.count).for_each(|_| list.extend_from_slice(&own));
    }

    /// Names of copies are those of the atoms, in residues of their own.
    fn extend_names(&self, names: &mut Names) {
        if names.atoms.is_empty() {
            return;
        }
        for _ in 1..self.count {
            let mut residues: BTreeMap<u32, u32> = BTreeMap::new();
            for id in self.chosen {
                let AtomName { residue, .. } = names.atoms[*id as usize];
                let next = names.residues.len() as u32;
                let residue = *residues.entry(residue).or_insert_with(|| {
                    names.residues.push(names.residues[residue as usize].clone());
                    next
                });
                names.atoms.push(AtomName { residue, ..names.atoms[*id as usize].clone() });
            }
        }
        let columns = [&mut names.occupancy, &mut names.b_factor].into_iter();
        columns.filter(|column| !column.is_empty()).for_each(|column| self.extend(column));
    }
}

impl Molecules {
    /// Replaces atoms by so many copies, each with one part in so many of their energy. Returns the names of the species
    /// that these atoms had.
    ///
    /// # Errors
    /// If the pairs of copies that do not see each other are too many, or a virtual site and its atoms are not copied
    /// together.
    pub fn enhance(
        &mut self,
        coordinates: &mut Coordinates,
        (chosen, count): (&[u32], u64),
        mass: CopyMass,
    ) -> Result<Vec<String>> {
        check_number(chosen.len(), count)?;
        memory::room_for_atoms(self.atoms.len() as u64 + chosen.len() as u64 * (count - 1))?;
        let copies = Copies::new(chosen, count as u32, self.atoms.len());
        self.copy_sites(&copies)?;
        let within = self.pairs_within(&copies);
        self.copy_bonded(&copies)?;
        self.exclude_copies(&copies, within.iter().map(|(atoms, _)| *atoms));
        self.add_pairs_within(&copies, &within)?;
        let names = self.copy_atoms(&copies, mass)?;
        copies.extend(&mut coordinates.positions);
        coordinates.velocities.iter_mut().for_each(|velocities| copies.extend(velocities));
        if !coordinates.momenta.is_empty() {
            copies.extend(&mut coordinates.momenta);
        }
        [Some(&mut self.names), coordinates.names.as_mut()]
            .into_iter()
            .flatten()
            .for_each(|names| copies.extend_names(names));
        Ok(names)
    }

    fn copy_sites(&mut self, copies: &Copies) -> Result<()> {
        let mut added = Vec::new();
        for site in &self.topology.virtual_sites {
            let [a, b, c] = site.atoms;
            let atoms = [site.site, a, b, c];
            let copied = copies.are_in(atoms);
            if copied == 0 {
                continue;
            }
            if copied < atoms.len() {
                let name = self.names.describe(site.site);
                return Err(Error::input(format!(
                    "of the virtual site {name} and the atoms that it follows some are copied, and some are not"
                ))
                .hint("choose all of them, or none: whole molecules of water"));
            }
            let copy = |copy| VirtualSite {
                site: copies.id(site.site, copy),
                atoms: site.atoms.map(|atom| copies.id(atom, copy)),
                rule: site.rule,
            };
            added.extend((1..copies.count).map(copy));
        }
        self.topology.virtual_sites.extend(added);
        Ok(())
    }

    /// Pairs of chosen atoms that have forces of pairs, with epsilon, sigma and strength of one copy.
    fn pairs_within(&self, copies: &Copies) -> Vec<([u32; 2], [f64; 3])> {
        let excluded: HashSet<[u32; 2]> =
            self.topology.excluded.iter().map(|[a, b]| [*a.min(b), *a.max(b)]).collect();
        let (n, coulomb) = (self.species.len(), self.units.coulomb());
        let mut pairs = Vec::new();
        for (k, a) in copies.chosen.iter().enumerate() {
            for b in copies.chosen[k + 1..].iter().filter(|b| !excluded.contains(&[*a, **b])) {
                let [i, j] = [*a, *b].map(|atom| usize::from(self.atoms[atom as usize]));
                let [epsilon, sigma] = self.lennard_jones[i * n + j];
                let strength = coulomb * self.charges[*a as usize] * self.charges[*b as usize];
                pairs.push(([*a, *b], [epsilon * copies.weight(), sigma, strength * copies.weight()]));
            }
        }
        pairs
    }

    /// Bonded terms and constraints of the copies.
    fn copy_bonded(&mut self, copies: &Copies) -> Result<()> {
        let (topology, forces) = (&mut self.topology, &mut self.forces);
        let bonds = copies.of_terms(
            &mut topology.bonds,
            topology.bond_types.len(),
            |b| (b.kind, b.atoms),
            |kind, atoms| Bond { kind, atoms },
        );
        let angles = copies.of_terms(
            &mut topology.angles,
            topology.angle_types.len(),
            |a| (a.kind, a.atoms),
            |kind, atoms| Angle { kind, atoms },
        );
        let dihedrals = copies.of_terms(
            &mut topology.dihedrals,
            topology.dihedral_types.len(),
            |d| (d.kind, d.atoms),
            |kind, atoms| Dihedral { kind, atoms },
        );
        let maps = copies.of_terms(
            &mut topology.cross_terms,
            forces.cmaps.len(),
            |c| (c.kind, c.atoms),
            |kind, atoms| CrossTerm { kind, atoms },
        );
        let weight = copies.weight();
        weigh_types(&mut topology.bond_types, &mut forces.bonds, &bonds, weight)?;
        weigh_types(&mut topology.angle_types, &mut forces.angles, &angles, weight)?;
        weigh_types(&mut topology.dihedral_types, &mut forces.dihedrals, &dihedrals, weight)?;
        for old in in_order(&maps) {
            let map = &forces.cmaps[old as usize];
            let energies: Vec<f64> = map.energies().map(|energy| weight * energy).collect();
            let map = Cmap::new(map.size(), &energies)?;
            forces.cmaps.push(map);
        }
        let held: Vec<Constraint> =
            topology.constraints.iter().filter(|c| copies.are_in(c.atoms) > 0).copied().collect();
        let copy = |copy| {
            let of = move |c: &Constraint| Constraint {
                atoms: c.atoms.map(|atom| copies.id(atom, copy)),
                length: c.length,
            };
            held.iter().map(of).collect::<Vec<_>>()
        };
        topology.constraints.extend((1..copies.count).flat_map(copy));
        Ok(())
    }

    /// Excludes pairs that the files exclude in each copy, pairs within a copy, and those of two copies.
    fn exclude_copies(&mut self, copies: &Copies, within: impl Iterator<Item = [u32; 2]>) {
        let excluded = &mut self.topology.excluded;
        let of_files: Vec<[u32; 2]> =
            excluded.iter().filter(|atoms| copies.are_in(**atoms) > 0).copied().collect();
        let within: Vec<[u32; 2]> = within.collect();
        excluded.extend(&within);
        for copy in 1..copies.count {
            let own = |atoms: &[u32; 2]| atoms.map(|atom| copies.id(atom, copy));
            excluded.extend(of_files.iter().chain(&within).map(own));
            for other in 0..copy {
                for a in copies.chosen {
                    excluded
                        .extend(copies.chosen.iter().map(|b| [copies.id(*a, copy), copies.id(*b, other)]));
                }
            }
        }
    }

    /// Pairs within a copy as bonded terms; one type for all with the same parameters.
    fn add_pairs_within(&mut self, copies: &Copies, pairs: &[([u32; 2], [f64; 3])]) -> Result<()> {
        let topology = &mut self.topology;
        let first = topology.bond_types.len();
        let mut types: BTreeMap<[u64; 3], u32> = BTreeMap::new();
        let mut parameters = Vec::new();
        for (atoms, own) in
            pairs.iter().filter(|(_, [epsilon, _, strength])| *epsilon != 0.0 || *strength != 0.0)
        {
            let kind = *types.entry(own.map(f64::to_bits)).or_insert_with(|| {
                parameters.push(*own);
                topology.bond_types.push(format!("{WITHIN_COPIES}-{}", parameters.len()));
                (topology.bond_types.len() - 1) as u32
            });
            let bond = |copy| Bond { kind, atoms: atoms.map(|atom| copies.id(atom, copy)) };
            topology.bonds.extend((0..copies.count).map(bond));
        }
        let total = topology.bond_types.len();
        for term in &mut self.forces.bonds {
            *term = term.clone().with_types(total);
        }
        if parameters.is_empty() {
            return Ok(());
        }
        let bonds = &mut self.forces.bonds;
        let is_it = |term: &BondTerm| (term.kind, term.term()) == (BondKind::ScaledPair, WITHIN_COPIES);
        let place = bonds.iter().position(is_it).unwrap_or_else(|| {
            bonds.push(BondTerm::new(BondKind::ScaledPair, total).named(WITHIN_COPIES));
            bonds.len() - 1
        });
        for (k, own) in parameters.iter().enumerate() {
            bonds[place] = bonds[place].clone().with(first + k, own)?;
        }
        Ok(())
    }

    /// Copies of atoms, with species and charges of their own. Returns the names of the species that they had.
    fn copy_atoms(&mut self, copies: &Copies, mass: CopyMass) -> Result<Vec<String>> {
        let n = self.species.len();
        let mut kinds: Vec<u16> = copies.chosen.iter().map(|id| self.atoms[*id as usize]).collect();
        kinds.sort_unstable();
        kinds.dedup();
        if n + kinds.len() > usize::from(u16::MAX) {
            return Err(Error::input("there are more than 65535 kinds of atoms"));
        }
        let weight = copies.weight();
        for id in copies.chosen {
            let atom = *id as usize;
            self.atoms[atom] = (n + kinds.partition_point(|kind| *kind < self.atoms[atom])) as u16;
            self.charges[atom] *= weight;
        }
        let own = kinds.iter().map(|kind| self.species[usize::from(*kind)].clone());
        let own: Vec<Species> = own.collect();
        for species in &own {
            let mut numbered = (1..).map(|k| format!("{}_copy{k}", species.name));
            let is_free = |name: &String| self.species.iter().all(|other| other.name != *name);
            let name = numbered.find(is_free).unwrap_or_default();
            let mass = match mass {
                CopyMass::Kept => species.mass,
                CopyMass::Divided => species.mass * weight,
            };
            self.species.push(Species { name, mass, charge: species.charge * weight });
        }
        let original = |s: usize| s.checked_sub(n).map_or((s, 1.0), |k| (usize::from(kinds[k]), weight));
        let well = |a: usize, b: usize| {
            let ((a, of_a), (b, of_b)) = (original(a), original(b));
            let [epsilon, sigma] = self.lennard_jones[a * n + b];
            [epsilon * of_a * of_b, sigma]
        };
        let total = self.species.len();
        self.lennard_jones = (0..total * total).map(|k| well(k / total, k % total)).collect();
        copies.extend(&mut self.atoms);
        copies.extend(&mut self.charges);
        Ok(own.into_iter().map(|species| species.name).collect())
    }
}

/// Refuses copies whose pairs that do not see each other would not fit into memory.
fn check_number(chosen: usize, n: u64) -> Result<()> {
    let m = chosen as u64;
    let pairs = (m * m).saturating_mul(n.saturating_mul(n - 1) / 2);
    if pairs > MOST_PAIRS {
        return Err(Error::input(format!(
            "{n} copies of {m} atoms have {pairs} pairs that do not see each other, and at most {MOST_PAIRS} are kept"
        ))
        .hint("copy fewer atoms (a side chain, a loop, a ligand), or less often"));
    }
    Ok(())
}

/// Types of which others are made, in the order of the numbers of these.
fn in_order(types: &WeightedTypes) -> Vec<u32> {
    let mut old: Vec<u32> = types.keys().copied().collect();
    old.sort_unstable_by_key(|old| types[old]);
    old
}

/// Adds types with less energy to the names of types, and to the terms that have them.
fn weigh_types<K: BondedKind>(
    names: &mut Vec<String>,
    terms: &mut [BondedTerm<K>],
    types: &WeightedTypes,
    weight: f64,
) -> Result<()> {
    names.extend((1..=types.len()).map(|k| (names.len() + k).to_string()).collect::<Vec<_>>());
    for term in terms {
        let mut weighed = term.clone().with_types(names.len());
        for (old, new) in types {
            if let Some(parameters) = term.weighted(*old as usize, weight) {
                weighed = weighed.with(*new as usize, &parameters)?;
            }
        }
        *term = weighed;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::assembly::Assembly;
    use super::*;
    use jostle_core::{SiteRule, UnitSystem, Vec3};
    use jostle_potentials::DihedralKind;

    /// Five atoms in a row with a map, a dihedral, a 1-4 pair and a constraint; a virtual site on the last three.
    fn row() -> (Molecules, Coordinates) {
        let mut assembly = Assembly::new(UnitSystem::Real, UnitSystem::Real).unwrap();
        for k in 0..5 {
            assembly.atom(["A", "B"][k % 2], k % 2, 12.0, 0.1 * k as f64).unwrap();
        }
        assembly.atom("M", 2, 0.0, -0.3).unwrap();
        let energies: Vec<f64> = (0..9).map(f64::from).collect();
        let map = assembly.cmap(3, &energies).unwrap();
        assembly.cross_term(map, [0, 1, 2, 3], [1, 2, 3, 4]).unwrap();
        let kind = DihedralKind::PeriodicDihedral;
        assembly.dihedral(kind, kind.term(), &[3.0, 2.0, 0.0], [0, 1, 2, 3]).unwrap();
        assembly.scaled_pair([0.5, 3.0], 0.25, [1, 4]).unwrap();
        assembly.constraint(1.2, [2, 3]).unwrap();
        assembly.virtual_site(5, [2, 3, 4], SiteRule::Average([0.4, 0.3, 0.3])).unwrap();
        let molecules = assembly.finish(|a, b| [0.2, 3.0 + (a + b) as f64]).unwrap();
        let positions = (0..6).map(|k| Vec3::from_fn(|_| f64::from(k))).collect();
        (molecules, Coordinates { positions, ..Coordinates::default() })
    }

    #[test]
    fn copies_have_their_part_of_every_term() {
        let (mut molecules, mut coordinates) = row();
        let chosen = [2, 3, 4, 5];
        molecules.enhance(&mut coordinates, (&chosen, 4), CopyMass::Divided).unwrap();
        assert_eq!((molecules.atoms.len(), coordinates.positions.len()), (6 + 12, 18));
        assert_eq!(coordinates.positions[6..10], coordinates.positions[2..6]);
        let Molecules { topology, forces, species, charges, atoms, .. } = &molecules;
        let turn = &topology.dihedrals[3];
        assert_eq!(turn.atoms, [0, 1, 14, 15]);
        assert_eq!(forces.dihedrals[0].parameters(turn.kind as usize).unwrap(), [0.75, 2.0, 0.0]);
        let map = topology.cross_terms[1];
        assert_eq!((map.atoms, topology.cross_terms.len()), ([0, 1, 6, 7, 8], 4));
        let energies = |map: u32| forces.cmaps[map as usize].energies().collect::<Vec<_>>();
        assert_eq!(energies(map.kind)[8], 2.0);
        assert_eq!(topology.constraints.iter().map(|c| c.atoms).next_back(), Some([14, 15]));
        let site = topology.virtual_sites[2];
        assert_eq!((site.site, site.atoms), (13, [10, 11, 12]));
        // The 1-4 pair of atom 1 with the fifth one.
        let pair = topology.bonds.iter().find(|bond| bond.atoms == [1, 8]).unwrap();
        let of = |kind: u32| forces.bonds.iter().find_map(|term| term.parameters(kind as usize)).unwrap();
        assert_eq!(of(pair.kind)[0], 0.125);
        // Pairs within a copy, of which those of the files are excluded and have no other force.
        let within = topology.bonds.iter().find(|bond| bond.atoms == [6, 8]).unwrap();
        let strength = UnitSystem::Real.coulomb() * 0.2 * 0.4 / 4.0;
        assert_eq!(of(within.kind)[..2], [0.05, 3.0]);
        assert!((of(within.kind)[2] - strength).abs() < 1e-14 * strength);
        let excluded = topology.exclusions(18, jostle_core::Exclude::None);
        // Of a copy: its three others, and four of each of three copies; the 1-4 pair where it has one.
        assert_eq!(excluded[6].len(), 3 + 12);
        assert_eq!(excluded[8].len(), 3 + 12 + 1);
        assert_eq!(excluded[1], [4, 8, 12, 16]);
        let mass = |atom: usize| species[usize::from(atoms[atom])].mass;
        assert!((charges[6] - 0.05).abs() < 1e-15 && atoms[6] == atoms[2] && mass(6) == mass(0) / 4.0);
        let n = species.len();
        let depth = |a: u32, b: u32| {
            molecules.lennard_jones[usize::from(atoms[a as usize]) * n + usize::from(atoms[b as usize])][0]
        };
        assert_eq!([depth(0, 1), depth(0, 6), depth(6, 10)], [0.2, 0.05, 0.0125]);
    }

    /// Two parts, one after the other: pairs of both have the product of their weights.
    #[test]
    fn parts_have_the_product_of_their_weights() {
        let (mut molecules, mut coordinates) = row();
        molecules.enhance(&mut coordinates, (&[0], 2), CopyMass::Kept).unwrap();
        molecules.enhance(&mut coordinates, (&[1], 3), CopyMass::Kept).unwrap();
        let turns = &molecules.topology.dihedrals;
        assert_eq!(turns.len(), 6);
        for turn in turns {
            let stiffness = molecules.forces.dihedrals[0].parameters(turn.kind as usize).unwrap()[0];
            assert!((stiffness - 0.5).abs() < 1e-15, "{turn:?}: {stiffness}");
        }
        let mut names: Vec<&str> = molecules.species.iter().map(|species| species.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), molecules.species.len());
    }

    #[test]
    fn sites_and_their_atoms_are_copied_together() {
        for chosen in [&[5][..], &[2, 3, 4]] {
            let (mut molecules, mut coordinates) = row();
            let error = molecules.enhance(&mut coordinates, (chosen, 2), CopyMass::Kept).unwrap_err();
            assert!(error.message().contains("virtual site atom 6"), "{error}");
        }
    }
}
