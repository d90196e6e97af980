//! Bonds of molecules that are made rigid.

use super::{Molecules, UREY_BRADLEY};
use crate::input::model::Rigid;
use jostle_core::{Constraint, Error, Result};
use jostle_potentials::{AngleKind, BondKind};
use std::collections::BTreeMap;
use std::ops::Range;

/// Masses of hydrogen and deuterium, in g/mol.
pub(super) const HYDROGEN: Range<f64> = 0.9..2.5;

/// Masses of oxygen, in g/mol.
const OXYGEN: Range<f64> = 15.5..18.5;

/// A pair in ascending order, and its distance.
type Lengths = BTreeMap<[u32; 2], f64>;

impl Molecules {
    /// Fixes the lengths that bonds have at rest, and the angle of water. What no longer changes has no
    /// force either.
    ///
    /// # Errors
    /// If water has no angle.
    pub fn make_rigid(&mut self, rigid: Rigid) -> Result<()> {
        if rigid == Rigid::None {
            return Ok(());
        }
        let bonds = self.springs();
        let water = self.water(&bonds);
        let of_water = |[a, b]: [u32; 2]| water.iter().any(|one| one.contains(&a) && one.contains(&b));
        let mut fixed: Lengths =
            self.topology.constraints.iter().map(|c| (ascending(c.atoms), c.length)).collect();
        let known = fixed.clone();
        for (pair, length) in bonds {
            let wanted = match rigid {
                Rigid::None => false,
                Rigid::Water => of_water(pair),
                Rigid::Hydrogens => pair.iter().any(|atom| self.is_one(*atom, HYDROGEN)),
            };
            if wanted {
                fixed.entry(pair).or_insert(length);
            }
        }
        for [oxygen, a, b] in &water {
            if let (None, Some(one), Some(other)) = (
                fixed.get(&[*a, *b]),
                fixed.get(&ascending([*oxygen, *a])),
                fixed.get(&ascending([*oxygen, *b])),
            ) {
                let cosine = self.angle_at_rest([*a, *oxygen, *b])?.to_radians().cos();
                let across = (one * one + other * other - 2.0 * one * other * cosine).sqrt();
                fixed.insert([*a, *b], across);
            }
        }
        let new = fixed.iter().filter(|(pair, _)| !known.contains_key(*pair));
        self.topology
            .constraints
            .extend(new.map(|(atoms, length)| Constraint { atoms: *atoms, length: *length }));
        self.leave_out_what_is(&fixed);
        Ok(())
    }

    pub(super) fn is_one(&self, atom: u32, masses: Range<f64>) -> bool {
        let species = self.atoms[atom as usize];
        masses.contains(&self.units.mass_to_user(self.species[usize::from(species)].mass))
    }

    /// The length at rest of a type of bonds that is a spring between bound atoms.
    fn length_at_rest(&self, kind: u32) -> Option<f64> {
        let springs = self.forces.bonds.iter();
        let mut springs = springs.filter(|t| t.kind == BondKind::HarmonicBond && t.term() != UREY_BRADLEY);
        springs.find_map(|term| term.parameters(kind as usize)).map(|parameters| parameters[1])
    }

    /// Bonds that are springs, with their lengths at rest.
    pub(super) fn springs(&self) -> Lengths {
        let bonds = self.topology.bonds.iter();
        bonds.filter_map(|b| Some((ascending(b.atoms), self.length_at_rest(b.kind)?))).collect()
    }

    /// Oxygen with two hydrogens, and nothing else bound to them; hydrogens in ascending order.
    pub(super) fn water(&self, bonds: &Lengths) -> Vec<[u32; 3]> {
        let mut partners = vec![Vec::new(); self.atoms.len()];
        for [a, b] in bonds.keys() {
            partners[*a as usize].push(*b);
            partners[*b as usize].push(*a);
        }
        let oxygens = (0..self.atoms.len() as u32).filter(|atom| self.is_one(*atom, OXYGEN));
        let molecule = |oxygen: u32| {
            let [a, b] = partners[oxygen as usize][..] else { return None };
            let alone = [a, b].iter().all(|hydrogen| {
                self.is_one(*hydrogen, HYDROGEN)
                    && partners[*hydrogen as usize].iter().all(|other| [oxygen, a, b].contains(other))
            });
            alone.then_some([oxygen, a.min(b), a.max(b)])
        };
        oxygens.filter_map(molecule).collect()
    }

    /// The angle of three atoms at rest, in degrees.
    fn angle_at_rest(&self, atoms: [u32; 3]) -> Result<f64> {
        let [a, middle, b] = atoms;
        let angles = self.topology.angles.iter();
        let kind = angles.clone().find(|t| t.atoms == atoms || t.atoms == [b, middle, a]).map(|t| t.kind);
        let mut springs = self.forces.angles.iter().filter(|t| t.kind == AngleKind::HarmonicAngle);
        let rest = kind.and_then(|kind| springs.find_map(|term| term.parameters(kind as usize)));
        rest.map(|parameters| parameters[1]).ok_or_else(|| {
            let name = self.names.describe(middle);
            Error::input(format!("the water of {name} has neither an angle nor a distance of its hydrogens"))
                .hint("leave out rigid, or give the topology of a model of water that is rigid")
        })
    }

    /// Removes forces between atoms whose distances are fixed.
    fn leave_out_what_is(&mut self, fixed: &Lengths) {
        let is_fixed = |a: u32, b: u32| fixed.contains_key(&ascending([a, b]));
        let mut bonds = std::mem::take(&mut self.topology.bonds);
        bonds.retain(|b| self.length_at_rest(b.kind).is_none() || !is_fixed(b.atoms[0], b.atoms[1]));
        self.topology.bonds = bonds;
        self.topology.angles.retain(|angle| {
            let [a, middle, b] = angle.atoms;
            !(is_fixed(a, middle) && is_fixed(middle, b) && is_fixed(a, b))
        });
    }
}

pub(super) fn ascending([a, b]: [u32; 2]) -> [u32; 2] {
    [a.min(b), a.max(b)]
}

#[cfg(test)]
mod tests {
    use super::super::assembly::Assembly;
    use super::*;
    use jostle_core::UnitSystem;
    use jostle_potentials::BondedKind;

    /// Water, and hydroxide of other masses, without an angle unless it is given.
    fn molecules(angle: Option<f64>) -> Molecules {
        let mut assembly = Assembly::new(UnitSystem::Nano, UnitSystem::Nano).unwrap();
        for (name, mass) in [("O", 15.9994), ("H", 1.008), ("H", 1.008), ("O", 15.9994), ("H", 1.008)] {
            assembly.atom(name, 0, mass, 0.0).unwrap();
        }
        let spring = BondKind::HarmonicBond;
        for (length, atoms) in [(0.1, [1, 0]), (0.1, [0, 2]), (0.097, [3, 4])] {
            assembly.bond(spring, spring.term(), &[4e5, length], atoms).unwrap();
        }
        if let Some(angle) = angle {
            assembly.angle(AngleKind::HarmonicAngle, &[400.0, angle], [1, 0, 2]).unwrap();
        }
        assembly.finish(|_, _| [0.0; 2]).unwrap()
    }

    #[test]
    fn the_angle_of_water_becomes_a_distance() {
        let mut water = molecules(Some(109.47));
        water.make_rigid(Rigid::Water).unwrap();
        let pairs: Vec<_> = water.topology.constraints.iter().map(|c| c.atoms).collect();
        assert_eq!(pairs, [[0, 1], [0, 2], [1, 2]]);
        let across = 0.2 * (0.5 * 109.47f64.to_radians()).sin();
        assert!((water.topology.constraints[2].length - across).abs() < 1e-14);
        assert!(water.topology.angles.is_empty());
        assert_eq!(water.topology.bonds.len(), 1);
        let mut all = molecules(Some(109.47));
        all.make_rigid(Rigid::Hydrogens).unwrap();
        assert_eq!((all.topology.constraints.len(), all.topology.bonds.len()), (4, 0));
    }

    #[test]
    fn water_without_an_angle_is_refused() {
        let error = molecules(None).make_rigid(Rigid::Water).unwrap_err();
        assert!(error.message().contains("atom 1"), "{error}");
        let mut free = molecules(None);
        free.make_rigid(Rigid::None).unwrap();
        assert!(free.topology.constraints.is_empty());
    }
}
