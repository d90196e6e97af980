//! Molecules of several topologies in one system: so many of each, one after the other.

use super::{BoundAtoms, Molecules, PairSeparation};
use crate::memory;
use jostle_core::{
    Angle, AtomName, Bond, Constraint, CrossTerm, Dihedral, Error, Names, Residue, Result, Topology,
    VirtualSite,
};
use jostle_potentials::bonded::BondedTerm;
use jostle_potentials::{BondedKind, Forces, Mixing};

/// Joins molecules, so many copies of each. Unlike pairs of different topologies follow from like pairs by the rule.
///
/// # Errors
/// If there are none or too many atoms, or several topologies without a rule.
pub(super) fn join(parts: &[(Molecules, usize)], rule: Option<Mixing>) -> Result<Molecules> {
    let total = parts.iter().map(|(part, count)| (part.atoms.len() as u64).saturating_mul(*count as u64));
    let total = total.fold(0_u64, u64::saturating_add);
    if total > u64::from(u32::MAX) {
        return Err(Error::input(format!("{total} atoms are more than 32-bit numbers count")));
    }
    memory::room_for_atoms(total)?;
    let Some((first, _)) = parts.first() else { return Err(Error::input("there are no molecules")) };
    let mut joined = Molecules {
        units: first.units,
        species: Vec::new(),
        type_names: first.type_names,
        atoms: Vec::new(),
        charges: Vec::new(),
        names: Names::default(),
        topology: Topology::default(),
        forces: Forces::default(),
        lennard_jones: wells(parts, rule)?,
        cutoffs: parts.iter().flat_map(|(part, _)| part.cutoffs.clone()).collect(),
        boundary: super::Boundary::Periodic(None),
        separation: match parts.iter().all(|(part, _)| part.separation == PairSeparation::NearestImages) {
            true => PairSeparation::NearestImages,
            false => PairSeparation::Atoms,
        },
        bound: Vec::new(),
        coordinates: None,
    };
    let mut maps = 0;
    let has_names = parts.iter().any(|(part, _)| !part.names.atoms.is_empty());
    for (part, count) in parts {
        let species = joined.species.len();
        if species + part.species.len() > usize::from(u16::MAX) {
            return Err(Error::input("there are more than 65535 kinds of atoms"));
        }
        let types = Types::of(&joined, maps);
        maps += part.forces.cmaps.len() as u32;
        add_species(&mut joined, part);
        add_types(&mut joined.topology, &part.topology);
        for _ in 0..*count {
            add_copy(&mut joined, part, species as u16, types, has_names);
        }
    }
    joined.forces = forces(parts)?;
    Ok(joined)
}

/// Adds the species of a topology, under names of their own.
fn add_species(joined: &mut Molecules, part: &Molecules) {
    for species in &part.species {
        let mut species = species.clone();
        let own = species.name.clone();
        let mut number = 1;
        while joined.species.iter().any(|known| known.name == species.name) {
            number += 1;
            species.name = format!("{own}_{number}");
        }
        joined.species.push(species);
    }
}

/// Numbers of types and maps before those of a topology.
#[derive(Debug, Clone, Copy)]
struct Types {
    bonds: u32,
    angles: u32,
    dihedrals: u32,
    maps: u32,
}

impl Types {
    fn of(joined: &Molecules, maps: u32) -> Self {
        let Topology { bond_types, angle_types, dihedral_types, .. } = &joined.topology;
        Types {
            bonds: bond_types.len() as u32,
            angles: angle_types.len() as u32,
            dihedrals: dihedral_types.len() as u32,
            maps,
        }
    }
}

fn add_types(joined: &mut Topology, part: &Topology) {
    let lists = [
        (&mut joined.bond_types, &part.bond_types),
        (&mut joined.angle_types, &part.angle_types),
        (&mut joined.dihedral_types, &part.dihedral_types),
    ];
    for (all, own) in lists {
        let before = all.len();
        all.extend((1..=own.len()).map(|k| (before + k).to_string()));
    }
}

/// Adds one copy of the molecules of a topology.
fn add_copy(joined: &mut Molecules, part: &Molecules, species: u16, types: Types, has_names: bool) {
    let first = joined.atoms.len() as u32;
    joined.atoms.extend(part.atoms.iter().map(|own| species + own));
    joined.charges.extend_from_slice(&part.charges);
    let (to, from) = (&mut joined.topology, &part.topology);
    to.bonds.extend(
        from.bonds.iter().map(|b| Bond { kind: types.bonds + b.kind, atoms: shifted(b.atoms, first) }),
    );
    to.angles.extend(
        from.angles.iter().map(|a| Angle { kind: types.angles + a.kind, atoms: shifted(a.atoms, first) }),
    );
    to.dihedrals.extend(
        from.dihedrals
            .iter()
            .map(|d| Dihedral { kind: types.dihedrals + d.kind, atoms: shifted(d.atoms, first) }),
    );
    to.cross_terms.extend(
        from.cross_terms
            .iter()
            .map(|c| CrossTerm { kind: types.maps + c.kind, atoms: shifted(c.atoms, first) }),
    );
    to.excluded.extend(from.excluded.iter().map(|atoms| shifted(*atoms, first)));
    to.constraints.extend(
        from.constraints.iter().map(|c| Constraint { atoms: shifted(c.atoms, first), length: c.length }),
    );
    to.virtual_sites.extend(from.virtual_sites.iter().map(|v| VirtualSite {
        site: first + v.site,
        atoms: shifted(v.atoms, first),
        rule: v.rule,
    }));
    joined
        .bound
        .extend(part.bound.iter().map(|b| BoundAtoms { atoms: shifted(b.atoms, first), length: b.length }));
    if has_names {
        add_names(&mut joined.names, part);
    }
}

fn shifted<const N: usize>(atoms: [u32; N], by: u32) -> [u32; N] {
    atoms.map(|atom| atom + by)
}

/// Adds the names of one copy; residues are numbered through. Atoms without names have those of their species.
fn add_names(names: &mut Names, part: &Molecules) {
    let before = names.residues.len() as u32;
    if part.names.atoms.is_empty() {
        let name = |own: &u16| part.species[usize::from(*own)].name.clone();
        let atom = |own| AtomName { name: name(own), element: String::new(), residue: before };
        names.atoms.extend(part.atoms.iter().map(atom));
        names.residues.push(Residue { name: "MOL".into(), ..Residue::default() });
    } else {
        let atom = |own: &AtomName| AtomName { residue: before + own.residue, ..own.clone() };
        names.atoms.extend(part.names.atoms.iter().map(atom));
        names.residues.extend(part.names.residues.iter().cloned());
    }
    for (k, residue) in names.residues.iter_mut().enumerate().skip(before as usize) {
        residue.number = i32::try_from(k + 1).unwrap_or(i32::MAX);
    }
}

/// Epsilon and sigma of every two species.
fn wells(parts: &[(Molecules, usize)], rule: Option<Mixing>) -> Result<Vec<[f64; 2]>> {
    let owners: Vec<(usize, usize)> = parts
        .iter()
        .enumerate()
        .flat_map(|(k, (part, _))| (0..part.species.len()).map(move |own| (k, own)))
        .collect();
    let well = |k: usize, a: usize, b: usize| {
        let part = &parts[k].0;
        part.lennard_jones[a * part.species.len() + b]
    };
    let mut all = Vec::new();
    let n = owners.len();
    memory::reserve(&mut all, n * n, &format!("Lennard-Jones forces between {n} kinds of atoms"))?;
    for (one, a) in &owners {
        for (other, b) in &owners {
            if one == other {
                all.push(well(*one, *a, *b));
                continue;
            }
            let ([e, s], [f, t]) = (well(*one, *a, *a), well(*other, *b, *b));
            let rule = rule.ok_or_else(|| {
                Error::input("molecules of several topologies, and no rule for the forces between them")
                    .hint("write mixing = \"lorentz-berthelot\" (or another rule) in [[force]]")
            })?;
            all.push(match e * f {
                0.0 => [0.0; 2],
                _ => [rule.energy([e, f], [s, t]), rule.size([s, t])],
            });
        }
    }
    Ok(all)
}

/// Bonded forces of all topologies.
fn forces(parts: &[(Molecules, usize)]) -> Result<Forces> {
    let all: Vec<&Forces> = parts.iter().map(|(part, _)| &part.forces).collect();
    let sizes = |names: fn(&Topology) -> &Vec<String>| -> Vec<usize> {
        parts.iter().map(|(part, _)| names(&part.topology).len()).collect()
    };
    Ok(Forces {
        bonds: terms(all.iter().map(|f| &f.bonds[..]), &sizes(|t| &t.bond_types))?,
        angles: terms(all.iter().map(|f| &f.angles[..]), &sizes(|t| &t.angle_types))?,
        dihedrals: terms(all.iter().map(|f| &f.dihedrals[..]), &sizes(|t| &t.dihedral_types))?,
        cmaps: all.iter().flat_map(|f| f.cmaps.iter().cloned()).collect(),
        ..Forces::default()
    })
}

/// Terms of one kind and name together, with the types of all.
fn terms<'a, K: BondedKind>(
    parts: impl Iterator<Item = &'a [BondedTerm<K>]>,
    sizes: &[usize],
) -> Result<Vec<BondedTerm<K>>> {
    let total = sizes.iter().sum();
    let mut all: Vec<BondedTerm<K>> = Vec::new();
    let mut before = 0;
    for (terms, size) in parts.zip(sizes) {
        for own in terms {
            let same = |term: &BondedTerm<K>| (term.kind, term.term()) == (own.kind, own.term());
            let place = all.iter().position(same).unwrap_or(all.len());
            let mut term = match place < all.len() {
                true => all.remove(place),
                false => BondedTerm::new(own.kind, total).named(own.term()),
            };
            for k in 0..*size {
                if let Some(parameters) = own.parameters(k) {
                    term = term.with(before + k, parameters)?;
                }
            }
            all.insert(place, term);
        }
        before += size;
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::super::assembly::Assembly;
    use super::*;
    use jostle_core::UnitSystem;
    use jostle_potentials::{BondKind, DihedralKind};

    /// Four atoms of two kinds in a row, with springs of a stiffness.
    fn row(stiffness: f64, epsilon: f64) -> Molecules {
        let mut assembly = Assembly::new(UnitSystem::Real, UnitSystem::Real).unwrap();
        for (k, name) in ["A", "B", "B", "A"].into_iter().enumerate() {
            assembly.atom(name, k % 3, 12.0, 0.1 * k as f64).unwrap();
        }
        let spring = BondKind::HarmonicBond;
        for a in 0..3 {
            assembly.bond(spring, spring.term(), &[stiffness, 1.5], [a, a + 1]).unwrap();
        }
        let kind = DihedralKind::PeriodicDihedral;
        assembly.dihedral(kind, kind.term(), &[stiffness, 3.0, 0.0], [0, 1, 2, 3]).unwrap();
        assembly.exclude([0, 1]).unwrap();
        assembly.constraint(1.2, [2, 3]).unwrap();
        assembly.finish(|a, b| [epsilon, 3.0 + (a + b) as f64]).unwrap()
    }

    #[test]
    fn copies_have_their_own_atoms_and_the_types_of_their_topology() {
        let joined =
            join(&[(row(100.0, 0.1), 2), (row(200.0, 0.4), 3)], Some(Mixing::LorentzBerthelot)).unwrap();
        assert_eq!(joined.atoms.len(), 20);
        assert_eq!(joined.charges[4..8], [0.0, 0.1, 0.2, 0.30000000000000004]);
        let stiffness = |kind: u32| joined.forces.bonds[0].parameters(kind as usize).unwrap()[0];
        let of: Vec<(f64, [u32; 2])> =
            joined.topology.bonds.iter().map(|b| (stiffness(b.kind), b.atoms)).collect();
        assert_eq!(
            (of[0], of[5], of[6], of[14]),
            ((100.0, [0, 1]), (100.0, [6, 7]), (200.0, [8, 9]), (200.0, [18, 19]))
        );
        let turn = joined.topology.dihedrals[4];
        assert_eq!((turn.atoms, turn.kind), ([16, 17, 18, 19], 1));
        assert_eq!(joined.topology.excluded, [[0, 1], [4, 5], [8, 9], [12, 13], [16, 17]]);
        assert_eq!(joined.topology.constraints[4].atoms, [18, 19]);
        let names: Vec<&str> = joined.species.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names.iter().filter(|name| name.starts_with('A')).count(), 2 * names.len() / 6);
        assert!((1..names.len()).all(|k| !names[..k].contains(&names[k])), "{names:?}");
        // Unlike pairs within a topology are its own, those of two topologies follow the rule.
        let n = names.len();
        let well = |a: usize, b: usize| joined.lennard_jones[a * n + b];
        assert_eq!(well(0, 1), [0.1, 4.0]);
        assert!((well(0, n / 2)[0] - 0.2).abs() < 1e-15 && well(0, n / 2)[1] == 3.0, "{:?}", well(0, n / 2));
        assert_eq!(well(n / 2, 0), well(0, n / 2));
    }

    #[test]
    fn several_topologies_need_a_rule_and_room() {
        let error = join(&[(row(1.0, 0.1), 1), (row(1.0, 0.1), 1)], None).unwrap_err();
        assert!(error.message().contains("no rule"), "{error}");
        join(&[(row(1.0, 0.1), 2)], None).unwrap();
        let error = join(&[(row(1.0, 0.1), usize::MAX)], None).unwrap_err();
        assert!(error.message().contains("32-bit"), "{error}");
    }
}
