//! Heavier hydrogens: masses moved to them from the atoms that they are bound to, so that bonds and
//! angles of hydrogen swing more slowly and longer time steps are possible.

use super::Molecules;
use super::rigid::{HYDROGEN, ascending};
use jostle_core::{Error, Result, Species};
use std::collections::{BTreeMap, BTreeSet, HashSet};

impl Molecules {
    /// Gives every hydrogen this mass (as [`Species::mass`]), at the expense of the atom that it is
    /// bound to (K. A. Feenstra, B. Hess, H. J. C. Berendsen, J. Comput. Chem. 20 (1999) 786; C. W.
    /// Hopkins et al., J. Chem. Theory Comput. 11 (2015) 1864). The mass of a molecule stays the same,
    /// and so does whatever follows from the energy alone. Water that is rigid swings no faster than it
    /// turns and keeps its masses.
    ///
    /// Species whose atoms do not all have the same mass any more are divided; the names of these.
    ///
    /// # Errors
    /// If an atom comes to be lighter than its hydrogens.
    pub fn make_hydrogens_heavy(&mut self, heavy: f64) -> Result<Vec<String>> {
        let is_hydrogen: Vec<bool> =
            (0..self.atoms.len() as u32).map(|atom| self.is_one(atom, HYDROGEN)).collect();
        let fixed: BTreeMap<_, _> =
            self.topology.constraints.iter().map(|c| (ascending(c.atoms), c.length)).collect();
        let rigid_water: HashSet<u32> = self.water(&fixed).into_iter().flatten().collect();
        let mut bonds = self.springs();
        bonds.extend(fixed);
        let mut mass: Vec<f64> = self.atoms.iter().map(|s| self.species[usize::from(*s)].mass).collect();
        let mut done = HashSet::new();
        for &[a, b] in bonds.keys() {
            let (hydrogen, partner) = match [a, b].map(|atom| is_hydrogen[atom as usize]) {
                [true, false] => (a, b),
                [false, true] => (b, a),
                _ => continue,
            };
            if rigid_water.contains(&hydrogen) || !done.insert(hydrogen) {
                continue;
            }
            mass[partner as usize] -= heavy - mass[hydrogen as usize];
            mass[hydrogen as usize] = heavy;
        }
        for &[a, b] in bonds.keys() {
            let (light, other) = if mass[a as usize] < mass[b as usize] { (a, b) } else { (b, a) };
            let lighter = !is_hydrogen[light as usize] && done.contains(&other);
            if lighter && mass[light as usize] < mass[other as usize] {
                let [left, wanted] = [light, other].map(|atom| self.units.mass_to_user(mass[atom as usize]));
                let name = self.names.describe(light);
                return Err(Error::input(format!(
                    "hydrogens of the mass {wanted:.4} would leave {left:.4} to {name}, which is less"
                ))
                .hint("choose a smaller hydrogen_mass"));
            }
        }
        Ok(self.divide_species(&mass))
    }

    /// Gives atoms these masses: those of one species with different ones become several. The names
    /// of these.
    fn divide_species(&mut self, mass: &[f64]) -> Vec<String> {
        let kind = |(s, m): (&u16, &f64)| (*s, m.to_bits());
        let kinds: BTreeSet<(u16, u64)> = self.atoms.iter().zip(mass).map(kind).collect();
        let kinds: Vec<(u16, u64)> = kinds.into_iter().collect();
        let number = |wanted: &(u16, u64)| kinds.partition_point(|kind| kind < wanted) as u16;
        self.atoms = self.atoms.iter().zip(mass).map(|pair| number(&kind(pair))).collect();
        let n = self.species.len();
        let pair = |a: u16, b: u16| self.lennard_jones[usize::from(a) * n + usize::from(b)];
        self.lennard_jones =
            kinds.iter().flat_map(|(a, _)| kinds.iter().map(move |(b, _)| pair(*a, *b))).collect();
        let mut taken: HashSet<String> = self.species.iter().map(|s| s.name.clone()).collect();
        let mut species: Vec<Species> = Vec::with_capacity(kinds.len());
        let (mut last, mut divided) = (None, Vec::new());
        for (old, bits) in &kinds {
            let before = &self.species[usize::from(*old)];
            let mut name = before.name.clone();
            if last == Some(*old) {
                let mut numbered = (2..).map(|k| format!("{}_{k}", before.name));
                name = numbered.find(|name| !taken.contains(name)).unwrap_or(name);
                taken.insert(name.clone());
                divided.push(before.name.clone());
            }
            last = Some(*old);
            species.push(Species { name, mass: f64::from_bits(*bits), charge: before.charge });
        }
        self.species = species;
        divided
    }
}

#[cfg(test)]
mod tests {
    use super::super::assembly::Assembly;
    use super::*;
    use crate::input::model::Rigid;
    use jostle_core::UnitSystem;
    use jostle_potentials::{AngleKind, BondKind, BondedKind};

    /// Methanol, hydrogen peroxide's half and water.
    fn molecules() -> Molecules {
        let mut assembly = Assembly::new(UnitSystem::Nano, UnitSystem::Real).unwrap();
        let methanol = [("C", 12.0), ("H", 1.0), ("H", 1.0), ("H", 1.0), ("O", 16.0), ("HO", 1.0)];
        let water = [("O", 16.0), ("HO", 1.0), ("HO", 1.0)];
        for (name, mass) in methanol.into_iter().chain(water) {
            let kind = ["C", "H", "O", "HO"].iter().position(|k| *k == name).unwrap();
            assembly.atom(name, kind, mass, 0.0).unwrap();
        }
        for atoms in [[0, 1], [2, 0], [0, 3], [0, 4], [5, 4], [6, 7], [8, 6]] {
            let spring = BondKind::HarmonicBond;
            assembly.bond(spring, spring.term(), &[4e5, 0.1], atoms).unwrap();
        }
        assembly.angle(AngleKind::HarmonicAngle, &[400.0, 109.47], [7, 6, 8]).unwrap();
        assembly.finish(|a, b| [(a + b) as f64, 0.3]).unwrap()
    }

    fn masses(molecules: &Molecules) -> Vec<f64> {
        let of = |s: &u16| molecules.units.mass_to_user(molecules.species[usize::from(*s)].mass);
        molecules.atoms.iter().map(of).map(|m| (1e9 * m).round() / 1e9).collect()
    }

    #[test]
    fn mass_is_moved_and_rigid_water_keeps_its_own() {
        let heavy = UnitSystem::Real.mass_from_user(3.0);
        for rigid in [Rigid::None, Rigid::Water, Rigid::Hydrogens] {
            let mut now = molecules();
            let before = now.clone();
            now.make_rigid(rigid).unwrap();
            now.make_hydrogens_heavy(heavy).unwrap();
            let water = if rigid == Rigid::None { [12.0, 3.0, 3.0] } else { [16.0, 1.0, 1.0] };
            assert_eq!(masses(&now), [[6.0, 3.0, 3.0], [3.0, 14.0, 3.0], water].concat(), "{rigid:?}");
            let names: HashSet<&str> = now.species.iter().map(|s| s.name.as_str()).collect();
            assert_eq!(names.len(), now.species.len());
            // Forces do not change.
            let well = |m: &Molecules, a: usize, b: usize| {
                let [a, b] = [a, b].map(|k| usize::from(m.atoms[k]));
                m.lennard_jones[a * m.species.len() + b]
            };
            for a in 0..9 {
                assert!((0..9).all(|b| well(&now, a, b) == well(&before, a, b)));
            }
        }
    }

    #[test]
    fn nothing_becomes_lighter_than_its_hydrogens() {
        let error = molecules().make_hydrogens_heavy(UnitSystem::Real.mass_from_user(4.0)).unwrap_err();
        assert!(error.message().contains("would leave 3.0000 to"), "{error}");
    }
}
