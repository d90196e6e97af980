//! Molecules in a box of water with ions; nm.

pub mod files;
mod fill;
mod ions;
pub mod shape;
mod solute;

use fill::{Water, Waters};
use jostle_core::{Error, Residue, Result, SimBox, Vec3};
use jostle_io::forcefield::solvent::{Ion, Reach, WaterModel};
use jostle_io::forcefield::{Molecules, TypeNames};
use jostle_io::memory;
use shape::{BoxShape, SizeOf};
pub use solute::Solute;
use std::ops::Range;

/// Charges that differ by less from a whole number are whole: files round theirs.
const WHOLE: f64 = 1e-3;

/// Width of a box beyond twice the cut-off, in nm, at least: space for a barostat.
const SPARE_WIDTH: f64 = 0.2;

/// Size of a box.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Size {
    /// Least distance between the solute and the sides, however it turns.
    Padding(f64),
    /// Size of the shape.
    Given(Vec3),
}

/// Ions, whatever the number of waters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct IonsInput {
    /// Cation and anion.
    pub pair: [&'static Ion; 2],
    /// Ions that take away the charge of the solute.
    pub counter_ions: CounterIons,
    /// Concentration of the salt in the water, besides these, in mol/l.
    pub concentration: f64,
}

/// Ions that take away the charge of the solute.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CounterIons {
    /// As many as there are charges.
    Added,
    /// None.
    LeftOut,
}

/// Input of a box of water: solute, size, ions.
#[derive(Debug)]
pub struct SolvationInput {
    /// Molecules in it; none is a box of water alone.
    pub solute: Option<Solute>,
    /// Shape of the box.
    pub shape: &'static BoxShape,
    /// Its size.
    pub size: Size,
    /// Model of the water.
    pub water: &'static WaterModel,
    /// Ions.
    pub ions: Option<IonsInput>,
    /// Length of empty space along z, which makes a slab of the water; 0 for none.
    pub vacuum: f64,
    /// Seed of everything random.
    pub seed: u64,
}

/// Molecules in a box of water.
#[derive(Debug)]
pub struct Solvated {
    /// All molecules: the solute, waters, cations, anions; nm and kJ/mol.
    pub molecules: Molecules,
    /// Their atoms; molecules are whole.
    pub positions: Vec<Vec3>,
    /// The box.
    pub simbox: SimBox,
    /// Atoms of the solute.
    pub solute: Range<usize>,
    /// Charge of the solute.
    pub solute_charge: f64,
    /// Number of water molecules.
    pub waters: usize,
    /// Numbers of cations and anions.
    pub ions: [usize; 2],
    /// Pairs of ions that do not follow the rule for unlike pairs.
    pub ion_pairs: IonPairs,
    /// Reach of Lennard-Jones forces.
    pub reach: Reach,
    /// Surfaces of the water.
    pub slab: Slab,
}

/// Pairs of ions that do not follow the rule for unlike pairs (CHARMM's NBFIX).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IonPairs {
    /// None: the force field of the ions has no such pairs, or there are no ions.
    ByRule,
    /// Ions and types of atoms, other ions among them, with parameters of their own.
    Own(Vec<[String; 2]>),
    /// Only those between ions: atom types of the solute have no names by which its pairs could be found.
    TypesUnknown,
}

/// Surfaces of the water.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Slab {
    /// None: images of the box touch on all sides.
    None,
    /// Two, normal to z, with empty space between images.
    InVacuum,
}

impl Solvated {
    /// Charge of everything.
    pub fn charge(&self) -> f64 {
        self.molecules.charges.iter().sum()
    }

    /// Charge of the solute beyond a whole number, which no ions take away; `None` for the rounding of files.
    pub fn fraction(&self) -> Option<f64> {
        let fraction = self.solute_charge - self.solute_charge.round();
        (fraction.abs() > WHOLE).then_some(fraction)
    }
}

/// Fills a box with water around a solute, and replaces some of the water by ions.
///
/// # Errors
/// If the box is too small, larger than memory, or has less water than ions.
pub fn solvate(input: SolvationInput) -> Result<Solvated> {
    let SolvationInput { solute, shape, size, water, ions, vacuum, seed } = input;
    let simbox = simbox(solute.as_ref(), shape, size, water)?;
    let expected = water.density * fill::per_volume() * simbox.volume() * water.shape.atoms() as f64;
    // More than any machine has is a wrong unit, which the volume says better.
    memory::room_for_atoms(expected as u64).map_err(|e| {
        let [a, b, c] = simbox.lengths();
        e.context(format!("a box of {a:.1} x {b:.1} x {c:.1} nm"))
    })?;
    let solute = solute.map(|solute| solute.centered(&simbox));
    if let Some(solute) = &solute {
        solute.check_images(&simbox)?;
    }
    let mut waters = Waters::fill(&simbox, water, solute.as_ref(), seed)?;
    let solute_charge = solute.as_ref().map_or(0.0, Solute::charge);
    let numbers = match &ions {
        Some(ions) => ions::numbers(ions, solute_charge, waters.count(), water)?,
        None => [0; 2],
    };
    let places = waters.replace(numbers.iter().sum(), &simbox, solute.as_ref(), seed)?;
    let cations_and_anions =
        ions.as_ref().map_or(Vec::new(), |ions| ions.pair.into_iter().zip(numbers).collect());
    let mut parts = Vec::new();
    let mut positions = Vec::new();
    let (mut rule, mut residues): (_, Vec<Residue>) =
        (jostle_potentials::Mixing::LorentzBerthelot, Vec::new());
    let type_names = solute.as_ref().map_or(TypeNames::Files, |solute| solute.molecules.type_names);
    if let Some(solute) = solute {
        rule = solute.molecules.usual_mixing();
        residues = solute.molecules.names.residues.clone();
        positions.extend(solute.positions);
        parts.push((solute.molecules, 1));
    }
    let solute = 0..positions.len();
    positions.extend(waters.molecules().iter().flat_map(Water::atoms));
    positions.extend(places);
    let sizes = [solute.len()].into_iter();
    let sizes = sizes.chain(std::iter::repeat_n(water.shape.atoms(), waters.count()));
    make_positive(&simbox, &mut positions, sizes);
    let simbox = with_vacuum(simbox, shape, vacuum, &mut positions)?;
    parts.push((water.molecules()?, waters.count()));
    for (ion, number) in cations_and_anions {
        parts.push((ion.molecules()?, number));
    }
    parts.retain(|(_, count)| *count > 0);
    let mut molecules = Molecules::join(&parts, rule)?;
    let kinds_of_ions = numbers.iter().filter(|n| **n > 0).count();
    let ion_pairs = match water.ions.filter(|set| kinds_of_ions > 0 && set.has_unlike_pairs()) {
        None => IonPairs::ByRule,
        Some(set) => {
            let found = molecules.set_pairs_of_ions(set, kinds_of_ions);
            match type_names {
                TypeNames::Files => IonPairs::Own(found),
                TypeNames::Invented => IonPairs::TypesUnknown,
            }
        }
    };
    // Residues of the solute keep their numbers and go before all others.
    for (own, before) in molecules.names.residues.iter_mut().zip(residues) {
        *own = before;
    }
    Ok(Solvated {
        molecules,
        positions,
        simbox,
        solute,
        solute_charge,
        waters: waters.count(),
        ions: numbers,
        ion_pairs,
        reach: water.reach,
        slab: if vacuum > 0.0 { Slab::InVacuum } else { Slab::None },
    })
}

/// The box with empty space along z, and molecules in its middle.
fn with_vacuum(simbox: SimBox, shape: &BoxShape, vacuum: f64, positions: &mut [Vec3]) -> Result<SimBox> {
    if vacuum == 0.0 {
        return Ok(simbox);
    }
    if shape.size != SizeOf::Edges {
        return Err(Error::input(format!("a slab has right angles, the shape {} has others", shape.name))
            .hint("--shape orthorhombic"));
    }
    positions.iter_mut().for_each(|r| r[2] += 0.5 * vacuum);
    let [a, b, c] = simbox.lengths();
    SimBox::orthorhombic([a, b, c + vacuum])
}

/// Puts molecules, whose numbers of atoms come first and are one after the last, where no coordinate is negative:
/// readers of gro files do not like them.
fn make_positive(simbox: &SimBox, positions: &mut [Vec3], sizes: impl Iterator<Item = usize>) {
    let mut rest = positions;
    for size in sizes.chain(std::iter::repeat(1)) {
        if rest.is_empty() {
            return;
        }
        let (molecule, others) = rest.split_at_mut(size);
        rest = others;
        // Edges have components along the axes before their own alone.
        for (axis, edge) in simbox.edges().into_iter().enumerate().rev() {
            let least = molecule.iter().map(|r| r[axis]).fold(f64::INFINITY, f64::min);
            let times = (-least / edge[axis]).ceil().max(0.0);
            if least < 0.0 {
                molecule.iter_mut().for_each(|r| *r += times * edge);
            }
        }
    }
}

/// The box, which must have room for cut-offs.
fn simbox(solute: Option<&Solute>, shape: &BoxShape, given: Size, water: &WaterModel) -> Result<SimBox> {
    let size = match (given, solute) {
        (Size::Given(size), _) => size,
        (Size::Padding(padding), Some(solute)) => solute.size(shape.size).map(|x| x + 2.0 * padding),
        (Size::Padding(_), None) => {
            return Err(Error::input("without a solute there is nothing that a padding could be around")
                .hint("give the size of the box: --box 3"));
        }
    };
    if !size.iter().all(|x| x.is_finite() && *x > 0.0) {
        return Err(Error::input(format!("a box of the size {size:?} nm has no volume")));
    }
    let simbox = shape.simbox(size)?;
    let (width, wanted) = (2.0 * simbox.largest_cutoff(), 2.0 * water.reach.cutoff() + SPARE_WIDTH);
    if width < wanted {
        let message =
            format!("the box is {width:.3} nm wide where it is narrowest, cut-offs need {wanted} nm");
        let least = size.map(|x| x * wanted / width);
        return Err(Error::input(message).hint(match given {
            Size::Padding(padding) => {
                format!("--padding {:.2} makes it wide enough", padding + 0.5 * (least[0] - size[0]) + 0.005)
            }
            Size::Given(_) => format!("the least size of this shape: --box {:.2}", least[0] + 0.005),
        }));
    }
    Ok(simbox)
}
