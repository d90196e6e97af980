//! Bonded forces of OpenMM's files: bonds, angles, torsions, maps, and 1-4 pairs as CHARMM has them.

use super::OpenmmReader;
use super::file::items;
use super::torsion_energy::{self, TorsionEnergy};
use crate::forcefield::{BoundAtoms, UREY_BRADLEY};
use jostle_core::{Error, Result};
use jostle_potentials::{AngleKind, BondKind, BondedKind, DihedralKind};
use roxmltree::Node;

impl OpenmmReader<'_, '_> {
    pub(super) fn bonds(&mut self, force: Node) -> Result<()> {
        let named = force.attribute("name").unwrap_or_default().to_lowercase();
        let kind = BondKind::HarmonicBond;
        let term = if named.contains("urey") { UREY_BRADLEY } else { kind.term() };
        for bond in items(force, "Bonds") {
            let parameters = [self.file.number(bond, "k")?, self.file.number(bond, "d")?];
            let atoms = self.file.atoms(bond, ["p1", "p2"])?;
            self.assembly.bond(kind, term, &parameters, atoms).map_err(|e| self.at(bond, e))?;
            self.bind(force, &atoms, Some(parameters[1]));
        }
        Ok(())
    }

    pub(super) fn angles(&mut self, force: Node) -> Result<()> {
        for angle in items(force, "Angles") {
            let parameters = [self.file.number(angle, "k")?, self.file.degrees(angle, "a")?];
            let atoms = self.file.atoms(angle, ["p1", "p2", "p3"])?;
            let added = self.assembly.angle(AngleKind::HarmonicAngle, &parameters, atoms);
            added.map_err(|e| self.at(angle, e))?;
            self.bind(force, &atoms, None);
        }
        Ok(())
    }

    pub(super) fn torsions(&mut self, force: Node) -> Result<()> {
        let file = self.file;
        for torsion in items(force, "Torsions") {
            let (stiffness, turns) = (file.number(torsion, "k")?, file.number(torsion, "periodicity")?);
            let parameters = [stiffness, turns, file.degrees(torsion, "phase")?];
            self.torsion(force, torsion, DihedralKind::PeriodicDihedral, &parameters)?;
        }
        Ok(())
    }

    fn torsion(&mut self, force: Node, torsion: Node, kind: DihedralKind, parameters: &[f64]) -> Result<()> {
        let atoms = self.file.atoms(torsion, ["p1", "p2", "p3", "p4"])?;
        self.bind(force, &atoms, None);
        self.assembly.dihedral(kind, kind.term(), parameters, atoms).map_err(|e| self.at(torsion, e))
    }

    /// Keeps every two atoms that follow each other in a term of a force without periodic images, OpenMM's default.
    fn bind(&mut self, force: Node, atoms: &[u32], length: Option<f64>) {
        if force.attribute("usesPeriodic").is_none_or(|periodic| periodic == "0") {
            let two = |pair: &[u32]| BoundAtoms { atoms: [pair[0], pair[1]], length };
            self.bound.extend(atoms.windows(2).map(two));
        }
    }

    pub(super) fn polynomial_torsions(&mut self, force: Node) -> Result<()> {
        for torsion in items(force, "Torsions") {
            let mut parameters = [0.0; 6];
            for (n, parameter) in parameters.iter_mut().enumerate() {
                *parameter = self.file.number(torsion, &format!("c{n}"))?;
            }
            self.torsion(force, torsion, DihedralKind::RyckaertBellemans, &parameters)?;
        }
        Ok(())
    }

    /// Springs, as CHARMM's impropers are.
    pub(super) fn custom_torsions(&mut self, force: Node) -> Result<()> {
        let energy = TorsionEnergy::new(&self.energy(force)?).ok_or_else(|| self.unknown_energy(force))?;
        let names = self.parameters(force, "PerTorsionParameters", torsion_energy::PARAMETERS)?;
        for torsion in items(force, "Torsions") {
            let (k, theta0) = (self.file.number(torsion, &names[0])?, self.file.number(torsion, &names[1])?);
            let Some(factor) = energy.spring(k, theta0) else {
                return Err(match energy.jumps(k, theta0) {
                    true => self.jump(force, torsion, theta0),
                    false => self.unknown_energy(force),
                });
            };
            let parameters = [2.0 * factor * k, theta0.to_degrees()];
            self.torsion(force, torsion, DihedralKind::HarmonicDihedral, &parameters)?;
        }
        Ok(())
    }

    /// An error for an energy that jumps where its torsion turns past pi.
    fn jump(&self, force: Node, torsion: Node, theta0: f64) -> Error {
        let energy = force.attribute("energy").unwrap_or_default();
        let message = format!("the energy {energy} with theta0 = {theta0} jumps where theta turns past pi");
        self.file.error(torsion, message).hint(
            "springs that take the shorter way around the circle are read, as OpenMM writes CHARMM's impropers: \
             k*min(dtheta, 2*pi-dtheta)^2; dtheta = abs(theta-theta0); pi = 3.1415926535",
        )
    }

    pub(super) fn maps(&mut self, force: Node) -> Result<()> {
        for map in items(force, "Maps") {
            let size: usize = self.file.get(map, "size")?;
            let energies = map.children().filter(Node::is_element).map(|e| self.file.number(e, "e"));
            let energies: Vec<f64> = energies.collect::<Result<_>>()?;
            if size == 0 || size % 2 == 1 || Some(energies.len()) != size.checked_mul(size) {
                let n = energies.len();
                return Err(self.file.error(map, format!("a map of {size} x {size} with {n} energies")));
            }
            // OpenMM's maps begin at 0, these at -180 degrees.
            let turned = |k: usize| (k + size / 2) % size;
            let at = |k: usize| energies[turned(k % size) + size * turned(k / size)];
            let energies: Vec<f64> = (0..size * size).map(at).collect();
            self.assembly.cmap(size, &energies).map_err(|e| self.at(map, e))?;
        }
        for torsion in items(force, "Torsions") {
            let first = self.file.atoms(torsion, ["a1", "a2", "a3", "a4"])?;
            let second = self.file.atoms(torsion, ["b1", "b2", "b3", "b4"])?;
            let map: u32 = self.file.get(torsion, "map")?;
            self.bind(force, &first, None);
            self.bind(force, &second, None);
            self.assembly.cross_term(map, first, second).map_err(|e| self.at(torsion, e))?;
        }
        Ok(())
    }

    /// Lennard-Jones forces of 1-4 pairs, as OpenMM writes CHARMM's.
    pub(super) fn custom_bonds(&mut self, force: Node) -> Result<()> {
        if self.energy(force)? != "4*epsilon*((sigma/r)^12-(sigma/r)^6)" {
            return Err(self.unknown_energy(force));
        }
        let names = self.parameters(force, "PerBondParameters", ["epsilon", "sigma"])?;
        self.take_separation(force, "usesPeriodic");
        for bond in items(force, "Bonds") {
            let parameters = [self.file.number(bond, &names[0])?, self.file.number(bond, &names[1])?];
            let atoms = self.file.atoms(bond, ["p1", "p2"])?;
            self.assembly.pair_of_its_own(parameters, 0.0, atoms).map_err(|e| self.at(bond, e))?;
        }
        Ok(())
    }
}
