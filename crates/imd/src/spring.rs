//! Springs of pages: between an atom and a point, with a force that the atoms of a group share by their masses.

use jostle_core::{SimBox, Vec3};
use std::sync::Arc;

/// Number that a page has drawn for itself.
pub type PageId = u32;

/// Pull at one end of a spring, in units of the run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hold {
    /// Stiffness of the spring.
    pub stiffness: f64,
    /// Point at which it ends.
    pub end: Vec3,
}

/// Atom of a group that is pulled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Share {
    pub atom: u32,
    pub mass: f64,
}

/// Spring of a page.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spring {
    pub page: PageId,
    /// Number that changes when the page takes hold again.
    pub grip: u64,
    /// Id of the atom at which it begins, one of those that are pulled.
    pub atom: u32,
    /// Atoms that are pulled, in ascending order of their ids.
    pub shares: Arc<[Share]>,
    pub stiffness: f64,
    /// Point at which it ends.
    pub end: Vec3,
}

/// A spring after a step.
#[derive(Debug, Clone, PartialEq)]
pub struct SpringReport {
    /// Page that pulls.
    pub page: PageId,
    /// Number that is larger for a spring that began later.
    pub grip: u64,
    /// Id of the atom at which the spring begins.
    pub atom: u32,
    /// Number of atoms that it pulls.
    pub n_atoms: usize,
    /// Point at which it ends.
    pub end: Vec3,
    /// Its force; zero once the page has let go.
    pub force: Vec3,
    /// Work since the page took hold.
    pub work: f64,
    /// Extent of the force: the spring is longer than its force says where it is at its limit.
    pub limit: ForceLimit,
}

/// Relation of a force to the greatest that atoms can follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForceLimit {
    /// Stiffness times length.
    Below,
    /// The greatest force: stiffness times length would be more.
    Reached,
}

impl Spring {
    /// Mass of the atoms that are pulled.
    pub fn mass(&self) -> f64 {
        self.shares.iter().map(|share| share.mass).sum()
    }

    /// Force on all atoms together with the first atom at a point: by the nearest image, and so large at most that it
    /// accelerates them no more than `most`.
    pub fn force(&self, simbox: &SimBox, from: Vec3, most: f64) -> (Vec3, ForceLimit) {
        let along = simbox.nearest_image(self.end - from);
        let force = along.map(|d| self.stiffness * d);
        let (size, most) = (force.iter().map(|f| f * f).sum::<f64>().sqrt(), most * self.mass());
        match size > most {
            true => (force.map(|f| f * (most / size)), ForceLimit::Reached),
            false => (force, ForceLimit::Below),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Vector;

    #[test]
    fn a_spring_pulls_by_the_nearest_image_up_to_its_limit() {
        let simbox = SimBox::orthorhombic([10.0; 3]).unwrap();
        let shares = [Share { atom: 0, mass: 1.0 }, Share { atom: 4, mass: 3.0 }].into();
        let spring =
            Spring { page: 1, grip: 1, atom: 0, shares, stiffness: 2.0, end: Vector([9.0, 1.0, 31.0]) };
        assert_eq!(
            spring.force(&simbox, Vector([1.0, 1.0, 1.0]), 100.0),
            (Vector([-4.0, 0.0, 0.0]), ForceLimit::Below)
        );
        // Four times the mass, half the acceleration.
        assert_eq!(
            spring.force(&simbox, Vector([1.0, 1.0, 1.0]), 0.5),
            (Vector([-2.0, 0.0, 0.0]), ForceLimit::Reached)
        );
    }
}
