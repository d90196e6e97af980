//! Systems built from species: atoms on lattices, at random, in chains or as water.

use super::{chains, composition, lattice, placement, water};
use jostle_core::{Error, Result, SimBox, Species, State, System, UnitSystem, Vec3, WaterShape};
use jostle_io::input::model::{Amount, DensityInput, Lattice, LatticeExtent, RegionInput};
use jostle_io::memory;

/// The species a system is built from, and the amount of each.
///
/// ```
/// use jostle_core::{Species, UnitSystem};
/// use jostle_engine::{Mixture, model::{Amount, DensityInput, Lattice, LatticeExtent}};
/// let species = |name: &str| Species { name: name.into(), mass: 1.0, charge: 0.0 };
/// let system = Mixture::new(UnitSystem::Lj)
///     .with(species("A"), Some(Amount::Fraction(0.8)))
///     .with(species("B"), None) // takes the rest
///     .lattice(Lattice::Fcc, LatticeExtent::Atoms(500), DensityInput::Number(1.2), 1)?;
/// assert_eq!(system.counts(), [400, 100]);
/// # Ok::<(), jostle_core::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Mixture {
    units: UnitSystem,
    species: Vec<Species>,
    amounts: Vec<Option<Amount>>,
    periodic: [bool; 3],
}

impl Mixture {
    /// A mixture without species; the box will be periodic along all axes.
    pub fn new(units: UnitSystem) -> Self {
        Mixture { units, species: Vec::new(), amounts: Vec::new(), periodic: [true; 3] }
    }

    /// Adds a species. One species may leave its amount open and takes the rest.
    pub fn with(mut self, species: Species, amount: Option<Amount>) -> Self {
        self.species.push(species);
        self.amounts.push(amount);
        self
    }

    /// Chooses the periodic axes.
    pub fn periodic(mut self, periodic: [bool; 3]) -> Self {
        self.periodic = periodic;
        self
    }

    /// Atoms on a cubic lattice that fills the box, species at random.
    ///
    /// # Errors
    /// If the extent cannot hold the atoms, or density or amounts make no sense.
    pub fn lattice(
        &self,
        lattice: Lattice,
        extent: LatticeExtent,
        density: DensityInput,
        seed: u64,
    ) -> Result<System> {
        let cells = match extent {
            LatticeExtent::Cells(cells) if cells.contains(&0) => {
                return Err(Error::input(format!("cells = {cells:?} has none along one axis")));
            }
            LatticeExtent::Cells(cells) => cells,
            LatticeExtent::Atoms(atoms) => [lattice::cube_of(lattice, atoms)?; 3],
        };
        let per_cell = lattice::basis(lattice).len();
        let atoms = cells.iter().fold(per_cell, |atoms, cells| atoms.saturating_mul(*cells));
        let counts = self.counts(atoms)?;
        let constant = match density {
            DensityInput::LatticeConstant(constant) => positive("the lattice constant", constant)?,
            _ => (per_cell as f64 / self.number_density(density, &counts)?).cbrt(),
        };
        let lengths = cells.map(|n| n as f64 * constant);
        let simbox = self.sized(lengths, [0.0; 3])?;
        Ok(self.fill(simbox, lattice::positions(lattice, cells, constant), &counts, seed))
    }

    /// Atoms at random, none nearer to another than `min_distance` (see [`placement`]).
    ///
    /// # Errors
    /// If they do not fit, or density or amounts make no sense.
    pub fn random(&self, atoms: usize, region: RegionInput, min_distance: f64, seed: u64) -> Result<System> {
        let counts = self.counts(atoms)?;
        let simbox = self.boxed(&counts, region)?;
        let positions = placement::random_positions(&simbox, atoms, min_distance, seed)?;
        Ok(self.fill(simbox, positions, &counts, seed))
    }

    /// Bead-spring chains that do not overlap (see [`chains`]), species at random. The ids of a
    /// chain's beads follow each other.
    ///
    /// # Errors
    /// If density or amounts make no sense.
    pub fn chains(
        &self,
        chains: usize,
        beads: usize,
        region: RegionInput,
        bond_length: f64,
        seed: u64,
    ) -> Result<System> {
        let counts = self.counts(chains.saturating_mul(beads))?;
        let simbox = self.boxed(&counts, region)?;
        let positions = chains::positions(&simbox, chains, beads, bond_length, seed)?;
        let mut system = self.fill(simbox, positions, &counts, seed);
        let State { position, image, .. } = &mut system.state;
        for (r, image) in position.iter_mut().zip(image) {
            simbox.wrap(r, image);
        }
        Ok(system)
    }

    /// Rigid water that does not overlap (see [`water`]): the first species is oxygen, the second
    /// hydrogen, the third the fourth site, where there is one. The ids of a molecule follow each other.
    ///
    /// # Errors
    /// If there are other species, or the density makes no sense.
    pub fn water(
        &self,
        molecules: usize,
        region: RegionInput,
        shape: &WaterShape,
        seed: u64,
    ) -> Result<System> {
        let atoms = shape.atoms();
        let (wanted, hint) = match shape.site_distance {
            None => ("two species, oxygen and hydrogen", "give [species.O] and [species.H], in this order"),
            Some(_) => (
                "three species, oxygen, hydrogen and the fourth site",
                "give [species.O], [species.H] and [species.M], in this order",
            ),
        };
        if self.species.len() != atoms - 1 {
            return Err(Error::input(format!("this water has {wanted}")).hint(hint));
        }
        if molecules == 0 || molecules > u32::MAX as usize / atoms {
            return Err(Error::input(format!("there cannot be {molecules} molecules")));
        }
        memory::room_for_atoms((molecules * atoms) as u64)?;
        let counts = [molecules, 2 * molecules, molecules];
        let simbox = self.boxed(&counts[..atoms - 1], region)?;
        let mut system = System::new(simbox, self.species.clone());
        let positions = water::positions(&simbox, molecules, shape, seed);
        for (k, mut position) in positions.into_iter().enumerate() {
            let mut image = [0; 3];
            simbox.wrap(&mut position, &mut image);
            system.state.push([0, 1, 1, 2][k % atoms], position);
            system.state.image[k] = image;
        }
        Ok(system)
    }

    /// The box for so many atoms.
    fn boxed(&self, counts: &[usize], region: RegionInput) -> Result<SimBox> {
        let (lengths, tilts) = match region {
            RegionInput::Box { lengths, tilts } => (lengths, tilts),
            RegionInput::Density(DensityInput::LatticeConstant(_)) => {
                return Err(Error::input("a lattice constant says nothing about random positions")
                    .hint("give a density or a box"));
            }
            RegionInput::Density(density) => {
                let atoms: usize = counts.iter().sum();
                let edge = (atoms as f64 / self.number_density(density, counts)?).cbrt();
                ([edge; 3], [0.0; 3])
            }
        };
        self.sized(lengths, tilts)
    }

    /// A box with these edges.
    ///
    /// # Errors
    /// If an edge, a width, the volume or an inverse of these is no normal number.
    fn sized(&self, lengths: [f64; 3], tilts: [f64; 3]) -> Result<SimBox> {
        let simbox = SimBox::new([0.0; 3], lengths, tilts, self.periodic)?;
        let numbers = lengths.into_iter().chain(simbox.widths()).chain([simbox.volume()]);
        let mut numbers = numbers.flat_map(|x| [x, 1.0 / x]);
        if numbers.all(f64::is_normal) {
            return Ok(simbox);
        }
        let [a, b, c] = lengths;
        Err(Error::input(format!("a box of {a:e} by {b:e} by {c:e} is out of all bounds"))
            .hint("look at its edges, or at the density they follow from"))
    }

    fn counts(&self, atoms: usize) -> Result<Vec<usize>> {
        if atoms == 0 {
            return Err(Error::input("there are no atoms").hint("give atoms = ..., at least 1"));
        }
        if atoms > u32::MAX as usize {
            return Err(Error::input(format!("{atoms} atoms are more than fit into 32-bit numbers")));
        }
        memory::room_for_atoms(atoms as u64)?;
        composition::counts(&self.amounts, atoms)
    }

    /// Number density, in atoms per volume; a mass density is converted by the mean mass of the mixture.
    fn number_density(&self, density: DensityInput, counts: &[usize]) -> Result<f64> {
        match density {
            DensityInput::Number(density) => positive("the density", density),
            DensityInput::Mass(density) => {
                let masses = self.species.iter().map(|s| self.units.mass_to_user(s.mass));
                let total: f64 = masses.zip(counts).map(|(m, n)| m * *n as f64).sum();
                let atoms: usize = counts.iter().sum();
                Ok(positive("the density", density)? * atoms as f64 / positive("the total mass", total)?)
            }
            DensityInput::LatticeConstant(_) => Err(Error::input("a lattice constant needs a lattice")),
        }
    }

    fn fill(&self, simbox: SimBox, positions: Vec<Vec3>, counts: &[usize], seed: u64) -> System {
        let mut system = System::new(simbox, self.species.clone());
        let species = composition::shuffled(counts, seed);
        for (species, position) in species.into_iter().zip(positions) {
            system.state.push(species, position);
        }
        system
    }
}

fn positive(what: &str, value: f64) -> Result<f64> {
    if value > 0.0 && value.is_finite() {
        return Ok(value);
    }
    Err(Error::input(format!("{what} is {value}, but it must be greater than zero")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn argon(units: UnitSystem) -> Mixture {
        let mass = units.mass_from_user(39.948);
        Mixture::new(units).with(Species { name: "Ar".into(), mass, charge: 0.0 }, None)
    }

    /// Rahman's liquid argon, whose box is 34.78 angstrom with 1.6747e-24 g for the unit of mass.
    #[test]
    fn mass_density_gives_rahmans_box() {
        let g_per_cm3 = 0.602214076; // g/mol per cubic angstrom
        let density = DensityInput::Mass(1.374 * g_per_cm3);
        let system =
            argon(UnitSystem::Real).lattice(Lattice::Fcc, LatticeExtent::Atoms(864), density, 1).unwrap();
        assert_eq!(system.state.len(), 864);
        let edge = (864.0 * 39.948 / (1.374 * g_per_cm3)).cbrt();
        assert!((system.simbox.lengths()[0] / edge - 1.0).abs() < 1e-12);
        assert!((edge * (1.6747e-24f64 / 1.66054e-24).cbrt() - 34.78).abs() < 0.01);
    }

    #[test]
    fn densities_and_constants_agree() {
        let cells = LatticeExtent::Cells([2, 3, 4]);
        let by = |d| argon(UnitSystem::Lj).lattice(Lattice::Bcc, cells, d, 1).unwrap();
        let (number, constant) = (by(DensityInput::Number(0.25)), by(DensityInput::LatticeConstant(2.0)));
        assert_eq!(number, constant);
        assert_eq!(number.simbox.lengths(), [4.0, 6.0, 8.0]);
        assert_eq!(number.state.len(), 48);
        let random = argon(UnitSystem::Lj)
            .random(100, RegionInput::Density(DensityInput::Number(0.1)), 1.0, 3)
            .unwrap();
        assert!((random.simbox.volume() - 1000.0).abs() < 1e-9);
    }

    #[test]
    fn nonsense_is_refused() {
        let m = argon(UnitSystem::Lj);
        let atoms = LatticeExtent::Atoms(4);
        for density in
            [DensityInput::Number(0.0), DensityInput::Mass(-1.0), DensityInput::LatticeConstant(f64::NAN)]
        {
            assert!(m.lattice(Lattice::Fcc, atoms, density, 1).is_err(), "{density:?}");
        }
        let dense = DensityInput::Number(1.0);
        assert!(m.lattice(Lattice::Fcc, LatticeExtent::Cells([0, 1, 1]), dense, 1).is_err());
        assert!(m.random(0, RegionInput::Density(dense), 0.1, 1).is_err());
        assert!(m.random(5, RegionInput::Density(DensityInput::LatticeConstant(1.0)), 0.1, 1).is_err());
        assert!(Mixture::new(UnitSystem::Lj).lattice(Lattice::Fcc, atoms, dense, 1).is_err());
    }
}
