//! Assembly of molecules by the readers of force fields: atoms, bonded terms, and forces.
//! Parameters come in the file's units and leave in those of the input; equal ones become one type.

use super::{Boundary, Molecules, PairSeparation, TypeNames};
use crate::memory;
use jostle_core::quantity::unit_name;
use jostle_core::{
    Angle, Arms, Bond, Constraint, CrossTerm, Dihedral, Dimension, Error, LocalFrame, Names, Result,
    SiteRule, Species, Topology, UnitSystem, VirtualSite,
};
use jostle_potentials::bonded::BondedTerm;
use jostle_potentials::{AngleKind, BondKind, BondedKind, Cmap, DihedralKind, Forces};
use std::collections::HashMap;

/// Axes with x from the first atom to the second, and the third on the side of y.
pub(super) const TOWARDS: LocalFrame =
    LocalFrame { arms: Arms::AsLong, origin: [0.0; 2], x: [1.0, 0.0], y: [-1.0, 1.0], place: [0.0; 3] };

/// Bonds, angles or dihedrals, by type.
struct TermGroup<K, const N: usize> {
    /// The kinds, with the names of their energies.
    terms: Vec<(K, &'static str)>,
    /// The term and the parameters of each type.
    types: Vec<(usize, Vec<f64>)>,
    known: HashMap<(usize, Vec<u64>), u32>,
    members: Vec<(u32, [u32; N])>,
}

impl<K: BondedKind, const N: usize> TermGroup<K, N> {
    fn new() -> Self {
        TermGroup { terms: Vec::new(), types: Vec::new(), known: HashMap::new(), members: Vec::new() }
    }

    fn add(&mut self, kind: K, term: &'static str, parameters: Vec<f64>, atoms: [u32; N]) -> Result<()> {
        let place = self.terms.iter().position(|known| *known == (kind, term));
        let number = place.unwrap_or(self.terms.len());
        if place.is_none() {
            self.terms.push((kind, term));
        }
        let key = (number, parameters.iter().map(|p| p.to_bits()).collect());
        let next = self.types.len() as u32;
        let of_type = match self.known.get(&key) {
            Some(known) => *known,
            None => {
                BondedTerm::uniform(kind, &parameters)?;
                self.known.insert(key, next);
                self.types.push((number, parameters));
                next
            }
        };
        self.members.push((of_type, atoms));
        Ok(())
    }

    /// The names of the types: numbers.
    fn names(&self) -> Vec<String> {
        (1..=self.types.len()).map(|k| k.to_string()).collect()
    }

    /// The terms, with the parameters of their types.
    fn terms(&self) -> Result<Vec<BondedTerm<K>>> {
        let n = self.types.len();
        let terms = self.terms.iter().enumerate().map(|(number, (kind, name))| {
            let mut own = self.types.iter().enumerate().filter(|(_, of_type)| of_type.0 == number);
            own.try_fold(BondedTerm::new(*kind, n).named(name), |term, (k, (_, p))| term.with(k, p))
        });
        terms.collect()
    }
}

/// A kind of atoms: its Lennard-Jones type, the bits of its mass, its name.
type AtomKind = (usize, u64, String);

/// Molecules under construction.
pub(super) struct Assembly {
    /// The units of the file.
    from: UnitSystem,
    /// Units of the input.
    pub units: UnitSystem,
    kinds: Vec<AtomKind>,
    known: HashMap<AtomKind, u16>,
    atoms: Vec<u16>,
    charges: Vec<f64>,
    bonds: TermGroup<BondKind, 2>,
    angles: TermGroup<AngleKind, 3>,
    dihedrals: TermGroup<DihedralKind, 4>,
    cmaps: Vec<Cmap>,
    topology: Topology,
    pub names: Names,
}

impl Assembly {
    /// Nothing yet.
    ///
    /// # Errors
    /// If the units of the input are reduced.
    pub fn new(from: UnitSystem, units: UnitSystem) -> Result<Self> {
        if units.is_reduced() {
            return Err(Error::input(format!(
                "units = \"{units}\" are reduced, but molecules have real units"
            ))
            .hint("write units = \"real\" (angstrom, fs, kcal/mol) or \"nano\" (nm, ps, kJ/mol)"));
        }
        Ok(Assembly {
            from,
            units,
            kinds: Vec::new(),
            known: HashMap::new(),
            atoms: Vec::new(),
            charges: Vec::new(),
            bonds: TermGroup::new(),
            angles: TermGroup::new(),
            dihedrals: TermGroup::new(),
            cmaps: Vec::new(),
            topology: Topology::default(),
            names: Names::default(),
        })
    }

    /// One unit of the file in units of the input.
    pub fn factor(&self, dimension: Dimension) -> f64 {
        factor(self.from, self.units, dimension)
    }

    /// Number of atoms so far.
    pub fn n_atoms(&self) -> usize {
        self.atoms.len()
    }

    /// Adds an atom: the name of its type, its Lennard-Jones type, mass in g/mol, charge.
    ///
    /// # Errors
    /// If a number makes no sense, or there are too many kinds.
    pub fn atom(&mut self, name: &str, lennard_jones: usize, mass: f64, charge: f64) -> Result<()> {
        if !(mass >= 0.0 && mass.is_finite() && charge.is_finite()) {
            let number = self.atoms.len() + 1;
            return Err(Error::input(format!("atom {number} has the mass {mass} and the charge {charge}")));
        }
        let kind = (lennard_jones, mass.to_bits(), name.to_string());
        let place = match self.known.get(&kind) {
            Some(place) => *place,
            None => {
                let place = u16::try_from(self.kinds.len())
                    .map_err(|_| Error::input("there are more than 65536 kinds of atoms"))?;
                self.kinds.push(kind.clone());
                self.known.insert(kind, place);
                place
            }
        };
        self.atoms.push(place);
        self.charges.push(charge);
        Ok(())
    }

    /// Refuses atoms that are not there, or one twice.
    fn check(&self, atoms: &[u32]) -> Result<()> {
        let n = self.atoms.len();
        if let Some(atom) = atoms.iter().find(|a| **a as usize >= n) {
            return Err(Error::input(format!("there is no atom {}, there are {n}", u64::from(*atom) + 1)));
        }
        match atoms.iter().enumerate().find(|(k, a)| atoms[..*k].contains(a)) {
            Some((_, atom)) => Err(Error::input(format!("{} is there twice", self.names.describe(*atom)))),
            None => Ok(()),
        }
    }

    /// Parameters of the file in the units of the input.
    fn convert<K: BondedKind>(&self, kind: K, parameters: &[f64]) -> Vec<f64> {
        let known = kind.parameters().iter();
        parameters.iter().zip(known).map(|(x, p)| x * self.factor(p.dimension)).collect()
    }

    /// Adds a bond: its kind, the name of its energy, parameters in the order of the kind's.
    ///
    /// # Errors
    /// If a parameter makes no sense, or an atom is not there.
    pub fn bond(
        &mut self,
        kind: BondKind,
        term: &'static str,
        parameters: &[f64],
        atoms: [u32; 2],
    ) -> Result<()> {
        self.check(&atoms)?;
        self.bonds.add(kind, term, self.convert(kind, parameters), atoms)
    }

    /// Adds an angle.
    ///
    /// # Errors
    /// Errors of [`Assembly::bond`].
    pub fn angle(&mut self, kind: AngleKind, parameters: &[f64], atoms: [u32; 3]) -> Result<()> {
        self.check(&atoms)?;
        self.angles.add(kind, kind.term(), self.convert(kind, parameters), atoms)
    }

    /// Adds a term of a dihedral.
    ///
    /// # Errors
    /// Errors of [`Assembly::bond`].
    pub fn dihedral(
        &mut self,
        kind: DihedralKind,
        term: &'static str,
        parameters: &[f64],
        atoms: [u32; 4],
    ) -> Result<()> {
        self.check(&atoms)?;
        self.dihedrals.add(kind, term, self.convert(kind, parameters), atoms)
    }

    /// Adds a map over two dihedral angles, in the file's energies, both angles from -180 degrees and
    /// the first running faster; its number.
    ///
    /// # Errors
    /// If there are not size x size energies.
    pub fn cmap(&mut self, size: usize, energies: &[f64]) -> Result<u32> {
        let energy = self.factor(Dimension::ENERGY);
        let energies: Vec<f64> = energies.iter().map(|e| e * energy).collect();
        self.cmaps.push(Cmap::new(size, &energies)?);
        Ok(self.cmaps.len() as u32 - 1)
    }

    /// Adds a pair of dihedrals with a map.
    ///
    /// # Errors
    /// If an atom or the map is not there, or the two are not the first and the last four of five
    /// atoms in a row.
    pub fn cross_term(&mut self, map: u32, first: [u32; 4], second: [u32; 4]) -> Result<()> {
        if first[1..] != second[..3] {
            return Err(Error::input("a map of two dihedrals that do not share three atoms in a row")
                .hint("maps of neighbouring backbone dihedrals are read"));
        }
        let atoms = [first[0], first[1], first[2], first[3], second[3]];
        self.check(&atoms)?;
        if map as usize >= self.cmaps.len() {
            return Err(Error::input(format!("there is no map {}", u64::from(map) + 1)));
        }
        self.topology.cross_terms.push(CrossTerm { kind: map, atoms });
        Ok(())
    }

    /// Excludes a pair from the pair forces.
    ///
    /// # Errors
    /// If an atom is not there.
    pub fn exclude(&mut self, atoms: [u32; 2]) -> Result<()> {
        self.check(&atoms)?;
        self.topology.excluded.push(atoms);
        Ok(())
    }

    /// Gives a pair a force of its own instead of the pair forces: epsilon, sigma, and the product of
    /// both charges with their factor.
    ///
    /// # Errors
    /// If a parameter makes no sense, or an atom is not there.
    pub fn scaled_pair(&mut self, [epsilon, sigma]: [f64; 2], charges: f64, atoms: [u32; 2]) -> Result<()> {
        self.exclude(atoms)?;
        self.pair_of_its_own([epsilon, sigma], charges, atoms)
    }

    /// Adds a pair with parameters of its own, which is excluded elsewhere.
    ///
    /// # Errors
    /// Errors of [`Assembly::scaled_pair`].
    pub fn pair_of_its_own(
        &mut self,
        [epsilon, sigma]: [f64; 2],
        charges: f64,
        atoms: [u32; 2],
    ) -> Result<()> {
        self.check(&atoms)?;
        if epsilon == 0.0 && charges == 0.0 {
            return Ok(());
        }
        let kind = BondKind::ScaledPair;
        let parameters = [
            epsilon * self.factor(Dimension::ENERGY),
            sigma * self.factor(Dimension::LENGTH),
            charges * self.units.coulomb(),
        ];
        self.bonds.add(kind, kind.term(), parameters.to_vec(), atoms)
    }

    /// Fixes a distance.
    ///
    /// # Errors
    /// If it is not positive, or an atom is not there.
    pub fn constraint(&mut self, length: f64, atoms: [u32; 2]) -> Result<()> {
        self.check(&atoms)?;
        if !(length > 0.0 && length.is_finite()) {
            return Err(Error::input(format!("a constraint has the length {length}")));
        }
        let length = length * self.factor(Dimension::LENGTH);
        self.topology.constraints.push(Constraint { atoms, length });
        Ok(())
    }

    /// Adds a point that follows atoms, with lengths in the units of the file.
    ///
    /// # Errors
    /// If an atom is not there, weights do not add up to one (the point would depend on the origin), or
    /// atoms do not make axes.
    pub fn virtual_site(&mut self, site: u32, atoms: [u32; 3], rule: SiteRule) -> Result<()> {
        self.check(&[site])?;
        atoms.iter().try_for_each(|atom| self.check(&[*atom]))?;
        if let SiteRule::Average(weights) = rule {
            let sum: f64 = weights.iter().sum();
            if !sum.is_finite() || (sum - 1.0).abs() > 1e-6 {
                return Err(Error::input(format!("the weights of a virtual site add up to {sum}, not to 1")));
            }
        }
        let length = self.factor(Dimension::LENGTH);
        let rule = match rule {
            SiteRule::Average(_) => rule,
            SiteRule::OutOfPlane([a, b, c]) => SiteRule::OutOfPlane([a, b, c / length]),
            SiteRule::Frame(frame) => {
                self.check_frame(site, atoms, &frame)?;
                SiteRule::Frame(LocalFrame { place: frame.place.map(|x| x * length), ..frame })
            }
        };
        self.topology.virtual_sites.push(VirtualSite { site, atoms, rule });
        Ok(())
    }

    /// Refuses axes that would have no direction.
    fn check_frame(&self, site: u32, [first, second, third]: [u32; 3], frame: &LocalFrame) -> Result<()> {
        let LocalFrame { origin, x, y, place, .. } = *frame;
        let on_axis = place[1..] == [0.0; 2];
        let finite = [origin, x, y].as_flattened().iter().chain(&place).all(|number| number.is_finite());
        let normal = x[0] * y[1] - x[1] * y[0] != 0.0 && second != third;
        // An arm from an atom to itself is none.
        let arms = [first != second, first != third];
        let along = if second == third { x[0] + x[1] != 0.0 } else { x != [0.0; 2] };
        let led = arms == [true; 2] || (on_axis && (0..2).all(|k| arms[k] || x[k] == 0.0));
        if finite && along && led && (on_axis || normal) {
            return Ok(());
        }
        let [site, atoms @ ..] = [site, first, second, third].map(|atom| self.names.describe(atom));
        let atoms = atoms.join(", ");
        Err(Error::input(format!("the axes of the virtual site {site} have no direction"))
            .hint(format!("its frame is made of {atoms}")))
    }

    /// Returns true for an atom without mass.
    pub fn is_massless(&self, atom: u32) -> bool {
        let species = self.atoms.get(atom as usize).and_then(|species| self.kinds.get(usize::from(*species)));
        species.is_some_and(|(_, mass, _)| f64::from_bits(*mass) == 0.0)
    }

    /// The charge of an atom, in elementary charges; zero if it is not there.
    pub fn charge(&self, atom: u32) -> f64 {
        self.charges.get(atom as usize).copied().unwrap_or(0.0)
    }

    /// Assembled molecules. `lennard_jones` gives epsilon and sigma, in the file's units, of two
    /// Lennard-Jones types.
    ///
    /// # Errors
    /// If one of them makes no sense.
    pub fn finish(self, lennard_jones: impl Fn(usize, usize) -> [f64; 2]) -> Result<Molecules> {
        let (energy, length) = (self.factor(Dimension::ENERGY), self.factor(Dimension::LENGTH));
        let n = self.kinds.len();
        let mut pairs = Vec::new();
        memory::reserve(&mut pairs, n * n, &format!("Lennard-Jones forces between {n} kinds of atoms"))?;
        for a in &self.kinds {
            for b in &self.kinds {
                let [epsilon, sigma] = lennard_jones(a.0, b.0);
                if !(epsilon >= 0.0 && epsilon.is_finite() && sigma >= 0.0 && sigma.is_finite()) {
                    let unit = unit_name(self.from, Dimension::ENERGY);
                    return Err(Error::input(format!(
                        "the pair {}-{} has epsilon = {epsilon} {unit} and sigma = {sigma}",
                        a.2, b.2
                    )));
                }
                pairs.push([epsilon * energy, sigma * length]);
            }
        }
        let species = species(&self.kinds, self.units);
        let mut topology = self.topology;
        topology.bond_types = self.bonds.names();
        topology.bonds =
            self.bonds.members.iter().map(|(kind, atoms)| Bond { kind: *kind, atoms: *atoms }).collect();
        topology.angle_types = self.angles.names();
        topology.angles =
            self.angles.members.iter().map(|(kind, atoms)| Angle { kind: *kind, atoms: *atoms }).collect();
        topology.dihedral_types = self.dihedrals.names();
        topology.dihedrals = self
            .dihedrals
            .members
            .iter()
            .map(|(kind, atoms)| Dihedral { kind: *kind, atoms: *atoms })
            .collect();
        let forces = Forces {
            bonds: self.bonds.terms()?,
            angles: self.angles.terms()?,
            dihedrals: self.dihedrals.terms()?,
            cmaps: self.cmaps,
            ..Forces::default()
        };
        Ok(Molecules {
            units: self.units,
            species,
            type_names: TypeNames::Files,
            atoms: self.atoms,
            charges: self.charges,
            names: self.names,
            topology,
            forces,
            lennard_jones: pairs,
            cutoffs: Vec::new(),
            boundary: Boundary::Unsaid,
            separation: PairSeparation::NearestImages,
            bound: Vec::new(),
            coordinates: None,
        })
    }
}

/// One unit of `from` in units of `to`, for a dimension.
pub(super) fn factor(from: UnitSystem, to: UnitSystem, dimension: Dimension) -> f64 {
    if from == to {
        return 1.0;
    }
    match (to.from_si(dimension), from.from_si(dimension)) {
        (Some(there), Some(here)) => there / here,
        _ => 1.0,
    }
}

/// Names that are unique: a type's own, or with a number where several kinds share it.
fn species(kinds: &[AtomKind], units: UnitSystem) -> Vec<Species> {
    let mut species: Vec<Species> = Vec::with_capacity(kinds.len());
    let mut used: HashMap<String, usize> = HashMap::new();
    for (_, mass, name) in kinds {
        let before = used.entry(name.clone()).or_default();
        *before += 1;
        let name = if *before == 1 { name.clone() } else { format!("{name}_{before}") };
        species.push(Species { name, mass: units.mass_from_user(f64::from_bits(*mass)), charge: 0.0 });
    }
    species
}
