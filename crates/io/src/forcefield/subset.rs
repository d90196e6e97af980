//! Some of the atoms of molecules, without the others.

use super::{BoundAtoms, Molecules};
use jostle_core::{Angle, Bond, Constraint, CrossTerm, Dihedral, Topology, VirtualSite};

impl Molecules {
    /// Molecules of these atoms alone, whose ids ascend: terms with an atom that is left out are left out, too, and atoms
    /// count anew in the same order. Species and types stay. There are no coordinates.
    pub fn subset(&self, atoms: &[u32]) -> Molecules {
        let mut number = vec![None; self.atoms.len()];
        (0..).zip(atoms).for_each(|(k, id)| number[*id as usize] = Some(k));
        let kept = Kept(&number);
        let of = |id: &u32| *id as usize;
        let Topology { bonds, angles, dihedrals, cross_terms, excluded, constraints, virtual_sites, .. } =
            &self.topology;
        Molecules {
            atoms: atoms.iter().map(|id| self.atoms[of(id)]).collect(),
            charges: atoms.iter().map(|id| self.charges[of(id)]).collect(),
            names: self.names.of_atoms(atoms),
            topology: Topology {
                bonds: kept.of(bonds, |b| Some(Bond { atoms: kept.numbers(b.atoms)?, ..*b })),
                angles: kept.of(angles, |a| Some(Angle { atoms: kept.numbers(a.atoms)?, ..*a })),
                dihedrals: kept.of(dihedrals, |d| Some(Dihedral { atoms: kept.numbers(d.atoms)?, ..*d })),
                cross_terms: kept
                    .of(cross_terms, |c| Some(CrossTerm { atoms: kept.numbers(c.atoms)?, ..*c })),
                excluded: kept.of(excluded, |atoms| kept.numbers(*atoms)),
                constraints: kept
                    .of(constraints, |c| Some(Constraint { atoms: kept.numbers(c.atoms)?, ..*c })),
                virtual_sites: kept.of(virtual_sites, |v| {
                    let [site] = kept.numbers([v.site])?;
                    Some(VirtualSite { site, atoms: kept.numbers(v.atoms)?, rule: v.rule })
                }),
                ..self.topology.clone()
            },
            bound: kept.of(&self.bound, |b| Some(BoundAtoms { atoms: kept.numbers(b.atoms)?, ..*b })),
            coordinates: None,
            ..self.clone()
        }
    }
}

/// New number of each atom, by its id; `None` where it is left out.
struct Kept<'a>(&'a [Option<u32>]);

impl Kept<'_> {
    fn of<T>(&self, terms: &[T], renumbered: impl Fn(&T) -> Option<T>) -> Vec<T> {
        terms.iter().filter_map(renumbered).collect()
    }

    fn numbers<const N: usize>(&self, atoms: [u32; N]) -> Option<[u32; N]> {
        let mut numbers = [0; N];
        for (number, atom) in numbers.iter_mut().zip(atoms) {
            *number = self.0[atom as usize]?;
        }
        Some(numbers)
    }
}

#[cfg(test)]
mod tests {
    use super::super::assembly::Assembly;
    use jostle_core::{SiteRule, UnitSystem};
    use jostle_potentials::{AngleKind, BondKind, BondedKind};

    #[test]
    fn terms_of_atoms_that_are_left_out_go_with_them() {
        let mut assembly = Assembly::new(UnitSystem::Real, UnitSystem::Real).unwrap();
        for k in 0..6 {
            assembly.atom(["A", "B"][k % 2], k % 2, 12.0, 0.1 * k as f64).unwrap();
        }
        assembly.atom("M", 2, 0.0, 0.0).unwrap();
        let spring = BondKind::HarmonicBond;
        for a in 0..5 {
            assembly.bond(spring, spring.term(), &[100.0 + f64::from(a), 1.5], [a, a + 1]).unwrap();
        }
        assembly.angle(AngleKind::HarmonicAngle, &[10.0, 100.0], [3, 4, 5]).unwrap();
        assembly.exclude([1, 4]).unwrap();
        assembly.exclude([3, 5]).unwrap();
        assembly.constraint(1.2, [4, 5]).unwrap();
        assembly.virtual_site(6, [3, 4, 5], SiteRule::Average([0.4, 0.3, 0.3])).unwrap();
        let all = assembly.finish(|_, _| [0.1, 3.0]).unwrap();
        let part = all.subset(&[0, 1, 3, 4, 5, 6]);
        let bonds: Vec<_> = part.topology.bonds.iter().map(|bond| bond.atoms).collect();
        assert_eq!(bonds, [[0, 1], [2, 3], [3, 4]]);
        assert_eq!(part.topology.bonds[1].kind, all.topology.bonds[3].kind);
        assert_eq!(part.topology.angles[0].atoms, [2, 3, 4]);
        assert_eq!(part.topology.excluded, [[1, 3], [2, 4]]);
        assert_eq!(part.topology.constraints[0].atoms, [3, 4]);
        let site = part.topology.virtual_sites[0];
        assert_eq!((site.site, site.atoms), (5, [2, 3, 4]));
        assert_eq!((part.charges[2], part.atoms[2]), (all.charges[3], all.atoms[3]));
        let without = all.subset(&[0, 1, 3, 4, 6]);
        assert!(without.topology.virtual_sites.is_empty() && without.topology.angles.is_empty());
    }
}
