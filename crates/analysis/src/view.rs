//! A frame as measures get it.

use crate::molecules::MoleculeView;
use jostle_core::{Error, Result, SimBox, SymTensor, UnitSystem, Vec3};

/// The system that all frames of an analysis are of.
#[derive(Debug, Clone)]
pub struct SystemInfo {
    /// The unit system of all numbers.
    pub units: UnitSystem,
    /// Names of the species.
    pub names: Vec<String>,
    /// The species of each atom, by id.
    pub species: Vec<u16>,
    /// The box of the first frame.
    pub simbox: SimBox,
    /// Kind of dipole moment that the system has.
    pub polarity: Polarity,
    /// Number of atoms without degrees of freedom: virtual sites, and atoms that are frozen or driven.
    pub unmoved: usize,
}

/// Kinds of systems by their dipole moment, which must not depend on the origin.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Polarity {
    /// Charges are not known, as in a trajectory.
    #[default]
    Unknown,
    /// No atom has a charge.
    Uncharged,
    /// A molecule, that of this atom, has a charge, so that it depends on the origin.
    Ions {
        /// The first atom of the molecule, by id.
        atom: usize,
        /// The charge.
        charge: f64,
    },
    /// All molecules are neutral.
    Neutral,
}

impl SystemInfo {
    /// Number of atoms of each species.
    pub fn counts(&self) -> Vec<usize> {
        let mut counts = vec![0; self.names.len()];
        for s in &self.species {
            counts[usize::from(*s)] += 1;
        }
        counts
    }

    /// Facts about the atoms with these ids and the species that they have; `None`: all atoms.
    pub fn part(&self, atoms: Option<&[u32]>) -> SystemInfo {
        let Some(atoms) = atoms else { return self.clone() };
        let species: Vec<u16> = atoms.iter().map(|id| self.species[*id as usize]).collect();
        let present: Vec<u16> = (0..self.names.len() as u16).filter(|s| species.contains(s)).collect();
        let among = |s: &u16| present.iter().position(|p| p == s).unwrap_or(0) as u16;
        SystemInfo {
            names: present.iter().map(|s| self.names[usize::from(*s)].clone()).collect(),
            species: species.iter().map(among).collect(),
            ..*self
        }
    }

    /// Atoms per volume in the first frame.
    pub fn density(&self) -> f64 {
        self.species.len() as f64 / self.simbox.volume()
    }
}

/// A system at one time. Which of it a measure takes is said by its kind ([`crate::Observable`]): atoms, in
/// the order of their ids, or the system as a whole.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// The time, if it is known.
    pub time: Option<f64>,
    /// The box.
    pub simbox: &'a SimBox,
    /// The box with edges that move with the atoms from frame to frame, where those of `simbox` flip to others of the same
    /// lattice; see [`crate::Paths`].
    pub lattice: &'a SimBox,
    /// Positions, wrapped or not; empty for measures of velocities alone.
    pub positions: &'a [Vec3],
    /// Positions on unbroken paths, likewise; see [`crate::Paths`].
    pub unwrapped: &'a [Vec3],
    /// Number of box crossings of each atom, where that was counted: its unbroken path is at
    /// its position shifted by so many edges.
    pub images: Option<&'a [[i32; 3]]>,
    /// Molecules, where they are known and a measure takes them.
    pub molecules: Option<MoleculeView<'a>>,
    /// Velocities, where they are known.
    pub velocities: Option<&'a [Vec3]>,
    /// The system as a whole, where it is known.
    pub whole: Option<Whole>,
}

/// Failure of a measure of velocities in a frame that has none.
pub(crate) fn without_velocities() -> Error {
    Error::input("the trajectory has no velocities")
}

/// Number of the slab in which a position is, wrapped or not, of a periodic box that is cut into so many along an axis.
pub fn slab(simbox: &SimBox, position: Vec3, axis: usize, slabs: usize) -> usize {
    let place = simbox.to_fractional(position)[axis];
    (((place - place.floor()) * slabs as f64) as usize).min(slabs - 1)
}

/// Some of the atoms of a frame.
#[derive(Debug, Clone)]
pub struct FrameSubset {
    positions: Vec<Vec3>,
    unwrapped: Vec<Vec3>,
    images: Option<Vec<[i32; 3]>>,
    /// Molecule of each atom, and its vector from the first atom of it.
    molecules: Option<(Vec<u32>, Vec<Vec3>)>,
    velocities: Option<Vec<Vec3>>,
}

impl FrameSubset {
    /// Atoms with these ids; arrays that the frame lacks, the subset lacks, too.
    pub fn of(view: &View, atoms: &[u32]) -> FrameSubset {
        fn some<T: Copy>(all: &[T], atoms: &[u32]) -> Vec<T> {
            atoms.iter().filter_map(|id| all.get(*id as usize).copied()).collect()
        }
        FrameSubset {
            positions: some(view.positions, atoms),
            unwrapped: some(view.unwrapped, atoms),
            images: view.images.map(|images| some(images, atoms)),
            molecules: view.molecules.map(|all| (some(all.of_atoms, atoms), some(all.arms, atoms))),
            velocities: view.velocities.map(|velocities| some(velocities, atoms)),
        }
    }

    /// The frame without the others.
    pub fn view<'a>(&'a self, whole: &View<'a>) -> View<'a> {
        // Field by field, so that what is known of atoms is never forgotten here.
        View {
            time: whole.time,
            simbox: whole.simbox,
            lattice: whole.lattice,
            positions: &self.positions,
            unwrapped: &self.unwrapped,
            images: self.images.as_deref(),
            molecules: self.molecules.as_ref().map(|(of_atoms, arms)| MoleculeView { of_atoms, arms }),
            velocities: self.velocities.as_deref(),
            whole: whole.whole,
        }
    }
}

/// Sums over a system, in user units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Whole {
    /// Kinetic energy.
    pub kinetic: f64,
    /// Kinetic and potential energy.
    pub total: f64,
    /// Divisor that turns kinetic energies into temperatures.
    pub degrees_of_freedom: usize,
    /// The pressure tensor, as energy over volume; `None` where there is no volume.
    pub pressure: Option<SymTensor>,
    /// The dipole moment of all molecules, whole, as charge times length; `None` where it was not asked for.
    pub dipole: Option<Vec3>,
    /// The electric current of all charges, as charge times velocity; `None` where it was not asked for, or velocities are
    /// not known.
    pub current: Option<Vec3>,
    /// The heat current, as energy times velocity; `None` where it was not asked for, or velocities are not known.
    pub heat_current: Option<Vec3>,
}

impl Whole {
    /// Boltzmann's constant times the temperature.
    pub fn thermal_energy(&self) -> f64 {
        2.0 * self.kinetic / self.degrees_of_freedom as f64
    }
}

impl<'a> View<'a> {
    /// The system as a whole, without its atoms.
    pub fn of_whole(time: f64, simbox: &'a SimBox, whole: Whole) -> Self {
        View {
            time: Some(time),
            simbox,
            lattice: simbox,
            positions: &[],
            unwrapped: &[],
            images: None,
            molecules: None,
            velocities: None,
            whole: Some(whole),
        }
    }

    /// Velocities of the atoms.
    ///
    /// # Errors
    /// If they are not known.
    pub(crate) fn velocities(&self) -> Result<&'a [Vec3]> {
        self.velocities.ok_or_else(without_velocities)
    }

    /// The system as a whole.
    ///
    /// # Errors
    /// If it is not known.
    pub(crate) fn whole(&self) -> Result<Whole> {
        self.whole.ok_or_else(|| {
            Error::input("a trajectory has no energies and no pressure").hint("the folder of a run has")
        })
    }
}
