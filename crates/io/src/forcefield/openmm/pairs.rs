//! Forces between pairs in OpenMM's files: charges, Lennard-Jones parameters or tables of them, and exceptions.

use super::OpenmmReader;
use super::file::items;
use crate::forcefield::PairSeparation;
use jostle_core::{Result, Vec3, Vector};
use roxmltree::Node;
use std::collections::HashSet;

/// Value of `method` of a force between pairs without a cut-off.
pub(super) const NO_CUTOFF: u32 = 0;

/// Relative difference of numbers that are the same but for the order of a program's operations.
const ROUNDING: f64 = 1e-12;

/// Forces between pairs in the file.
#[derive(Default)]
pub(super) struct Pairs {
    /// Charge, sigma and epsilon of each atom.
    pub particles: Vec<Vec3>,
    /// Epsilon and sigma by Lennard-Jones type, where there is no table.
    pub wells: Vec<[f64; 2]>,
    /// Pairs that the charges leave out.
    pub excluded: HashSet<[u32; 2]>,
    /// Lennard-Jones forces given by pairs of types.
    pub table: Option<LennardJonesTable>,
    pub method: Option<u32>,
    /// Separation of exceptions.
    pub separation: PairSeparation,
}

/// u = a / r^12 - b / r^6 by pairs of types.
pub(super) struct LennardJonesTable {
    pub types: Vec<usize>,
    pub size: usize,
    pub a: Vec<f64>,
    pub b: Vec<f64>,
    pub excluded: HashSet<[u32; 2]>,
}

impl OpenmmReader<'_, '_> {
    pub(super) fn nonbonded(&mut self, force: Node) -> Result<()> {
        if !self.pairs.particles.is_empty() {
            return Err(self.file.error(force, "there is a second NonbondedForce"));
        }
        for particle in items(force, "Particles") {
            let of = |name: &str| self.file.number(particle, name);
            let (charge, sigma, epsilon) = (of("q")?, of("sig")?, of("eps")?);
            if !(epsilon >= 0.0 && sigma >= 0.0) {
                let message = format!("a particle has epsilon = {epsilon} and sigma = {sigma}");
                return Err(self.file.error(particle, message));
            }
            self.pairs.particles.push(Vector([charge, sigma, epsilon]));
        }
        self.method(force)
    }

    /// Treatment of pairs far apart, which is the same for all forces.
    fn method(&mut self, force: Node) -> Result<()> {
        let method: u32 = self.file.get(force, "method")?;
        match self.pairs.method.replace(method) {
            Some(before) if (before == NO_CUTOFF) != (method == NO_CUTOFF) => {
                Err(self.file.error(force, "one force between pairs has a cut-off and another one has none"))
            }
            _ => Ok(()),
        }
    }

    /// Lennard-Jones forces by pairs of types, with which OpenMM writes CHARMM's (NBFIX).
    pub(super) fn custom_nonbonded(&mut self, force: Node) -> Result<()> {
        let energy = self.energy(force)?;
        let squared = match energy.as_str() {
            "acoef(type1,type2)/r^12-bcoef(type1,type2)/r^6" => false,
            "(a/r6)^2-b/r6;r6=r^6;a=acoef(type1,type2);b=bcoef(type1,type2)" => true,
            _ => return Err(self.unknown_energy(force)),
        };
        let [of_type] = self.parameters(force, "PerParticleParameters", ["type"])?;
        let number = |particle: Node| -> Result<usize> {
            let x: f64 = self.file.number(particle, &of_type)?;
            match x.fract() == 0.0 && x >= 0.0 {
                true => Ok(x as usize),
                false => {
                    Err(self.file.error(particle, format!("a particle has the type {x}, which is none")))
                }
            }
        };
        let types = items(force, "Particles").map(number).collect::<Result<Vec<_>>>()?;
        let (size, mut a) = self.function(force, "acoef")?;
        let (other, b) = self.function(force, "bcoef")?;
        if squared {
            a.iter_mut().for_each(|a| *a *= *a);
        }
        if size != other || types.iter().any(|t| *t >= size) {
            return Err(self.file.error(force, "its tables do not have all types of its particles"));
        }
        let mut excluded = HashSet::new();
        for pair in items(force, "Exclusions") {
            let [a, b] = self.file.atoms(pair, ["p1", "p2"])?;
            excluded.insert([a.min(b), a.max(b)]);
        }
        if self.pairs.table.replace(LennardJonesTable { types, size, a, b, excluded }).is_some() {
            return Err(self.file.error(force, "there is a second table of Lennard-Jones forces"));
        }
        self.method(force)
    }

    /// A table over two types, the same for both orders of a pair: OpenMM's forces between pairs do not say which atom
    /// is the first.
    fn function(&self, force: Node, name: &str) -> Result<(usize, Vec<f64>)> {
        let function = items(force, "Functions").find(|f| f.attribute("name") == Some(name));
        let function =
            function.ok_or_else(|| self.file.error(force, format!("it has no function {name}")))?;
        if let Some(kind) = function.attribute("type").filter(|kind| *kind != "Discrete2DFunction") {
            let message = format!("{name} is a {kind}, a Discrete2DFunction is wanted");
            return Err(self.file.error(function, message));
        }
        let size: usize = self.file.get(function, "xsize")?;
        let values = items(function, "Values").map(|v| self.file.number(v, "v"));
        let values = values.collect::<Result<Vec<_>>>()?;
        if self.file.get::<usize>(function, "ysize")? != size || Some(values.len()) != size.checked_mul(size)
        {
            return Err(self.file.error(function, format!("{name} is no table of {size} x {size} values")));
        }
        let pairs = (0..size).flat_map(|a| (0..a).map(move |b| [a, b]));
        let mut both = pairs.map(|[a, b]| ([b, a], [values[a * size + b], values[b * size + a]]));
        if let Some(([a, b], [one, other])) =
            both.find(|(_, [x, y])| (x - y).abs() > ROUNDING * x.abs().max(y.abs()))
        {
            let message =
                format!("{name} of the types {a} and {b} is {one} in one order and {other} in the other");
            return Err(self
                .file
                .error(function, message)
                .hint("forces of a pair are the same in both orders"));
        }
        Ok((size, values))
    }

    /// Takes the separation of pairs of a force; that of the atoms is OpenMM's default.
    pub(super) fn take_separation(&mut self, force: Node, attribute: &str) {
        if force.attribute(attribute).is_none_or(|periodic| periodic == "0") {
            self.pairs.separation = PairSeparation::Atoms;
        }
    }

    /// Pairs that are left out or have a force of their own.
    pub(super) fn exceptions(&mut self, force: Node) -> Result<()> {
        if items(force, "Exceptions").next().is_some() {
            self.take_separation(force, "exceptionsUsePeriodic");
        }
        for pair in items(force, "Exceptions") {
            let atoms = self.file.atoms(pair, ["p1", "p2"])?;
            let of = |name: &str| self.file.number(pair, name);
            let (epsilon, sigma, charges) = (of("eps")?, of("sig")?, of("q")?);
            let added = self.assembly.scaled_pair([epsilon, sigma], charges, atoms);
            added.map_err(|e| self.at(pair, e))?;
            self.pairs.excluded.insert([atoms[0].min(atoms[1]), atoms[0].max(atoms[1])]);
        }
        Ok(())
    }
}
