//! Positions as variables see them, and derivatives with these positions.

use crate::group::Group;
use jostle_core::{SimBox, SymTensor, Vec3};

/// Part of the way to another image beyond which a vector is near the middle, where that one becomes the nearest: as far
/// as pulling goes in other programs (GROMACS).
pub(crate) const NEAR_TURN: f64 = 0.49;

/// Positions of all groups, and the values of the variables so far.
#[derive(Debug)]
pub struct Frame<'a> {
    /// The box.
    pub simbox: &'a SimBox,
    pub(crate) groups: &'a [Group],
    /// Positions of the atoms of each group, whole.
    pub(crate) whole: Vec<Vec<Vec3>>,
    /// Centre of each group.
    pub(crate) centers: Vec<Vec3>,
    /// Values of the variables that have been evaluated.
    pub(crate) values: Vec<f64>,
    /// Energies of the forces at these positions; `None` where no forces were evaluated.
    pub(crate) energies: Option<&'a TermEnergies>,
}

/// Energies by term of the forces of a run at some positions, biases not included.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TermEnergies {
    /// Names of the terms, those of their columns in `thermo.csv`.
    pub names: Vec<String>,
    /// Their energies.
    pub values: Vec<f64>,
}

impl TermEnergies {
    /// Energy of all terms.
    pub fn sum(&self) -> f64 {
        self.values.iter().sum()
    }

    /// Energy of a term.
    pub fn of(&self, term: &str) -> Option<f64> {
        let index = self.names.iter().position(|name| name == term)?;
        self.values.get(index).copied()
    }
}

impl<'a> Frame<'a> {
    /// Positions of groups, from unwrapped positions of the list of atoms.
    pub fn new(simbox: &'a SimBox, groups: &'a [Group], unwrapped: &[Vec3]) -> Self {
        let whole: Vec<_> = groups.iter().map(|group| group.positions(simbox, unwrapped)).collect();
        let centers = groups.iter().zip(&whole).map(|(group, whole)| group.center(whole)).collect();
        Frame { simbox, groups, whole, centers, values: Vec::new(), energies: None }
    }

    /// Returns true where the vector between two centres is about to have another nearest image, off by a vector that
    /// `changes` accepts.
    pub(crate) fn is_near_turn(&self, [from, to]: [usize; 2], changes: impl Fn(Vec3) -> bool) -> bool {
        let d = self.between(from, to);
        let steps = |k: usize| if self.simbox.periodic()[k] { -1..=1 } else { 0..=0 };
        let is_orthorhombic = self.simbox.is_orthorhombic();
        // In a box with right angles the edges alone are borders; other images are beyond two of them at once.
        let counts = |image: &[i32; 3]| match image.iter().filter(|n| **n != 0).count() {
            0 => false,
            1 => true,
            _ => !is_orthorhombic,
        };
        let images = steps(0).flat_map(|a| steps(1).flat_map(move |b| steps(2).map(move |c| [a, b, c])));
        let mut shifts = images.filter(counts).map(|image| self.simbox.shift(image));
        shifts.any(|shift| changes(shift) && d.dot(shift) > NEAR_TURN * shift.norm_squared())
    }

    /// Vector from one centre to the nearest image of another.
    pub(crate) fn between(&self, from: usize, to: usize) -> Vec3 {
        self.simbox.nearest_image(self.centers[to] - self.centers[from])
    }
}

/// Derivative of an energy with positions and box.
#[derive(Debug, Clone, Default)]
pub struct Gradient {
    /// With the centre of each group.
    pub(crate) centers: Vec<Vec3>,
    /// With the atoms of each group.
    pub(crate) atoms: Vec<Vec<Vec3>>,
    /// With the strain of box and atoms together.
    pub strain: SymTensor,
    /// With the potential energy of the forces of a run.
    pub potential: f64,
}

impl Gradient {
    /// Zero, for these groups.
    pub fn zero(groups: &[Group]) -> Self {
        Gradient {
            centers: vec![Vec3::ZERO; groups.len()],
            atoms: groups.iter().map(|group| vec![Vec3::ZERO; group.len()]).collect(),
            strain: [0.0; 6],
            potential: 0.0,
        }
    }

    /// Adds the derivative with a vector between two centres.
    pub(crate) fn add_between(&mut self, [from, to]: [usize; 2], vector: Vec3, slope: Vec3) {
        for k in 0..3 {
            self.centers[from][k] -= slope[k];
            self.centers[to][k] += slope[k];
        }
        self.add_strain(vector, slope);
    }

    /// Adds the derivative with the position of an atom of a group.
    pub(crate) fn add_atom(&mut self, group: usize, atom: usize, slope: Vec3) {
        self.atoms[group][atom] += slope;
    }

    /// Adds the derivative with the strain of a vector that follows it, made symmetric.
    pub(crate) fn add_strain(&mut self, vector: Vec3, slope: Vec3) {
        let pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)];
        for (sum, (a, b)) in self.strain.iter_mut().zip(pairs) {
            *sum += 0.5 * (vector[a] * slope[b] + vector[b] * slope[a]);
        }
    }

    /// Derivative with the position of each of so many atoms of the list.
    pub fn of_atoms(&self, groups: &[Group], count: usize) -> Vec<Vec3> {
        let mut all = vec![Vec3::ZERO; count];
        for (group, (center, atoms)) in groups.iter().zip(self.centers.iter().zip(&self.atoms)) {
            let members = group.places.iter().zip(&group.shares).zip(atoms);
            for ((place, share), own) in members {
                all[*place] += *share * *center + *own;
            }
        }
        all
    }
}
