//! Density of a system and reach of its lists, by which algorithms and capacities are chosen.

use crate::box_geometry::OpenRange;
use crate::device_data::BoxGeometry;
use crate::sums::Summation;
use jostle_core::System;

/// Density of a system and reach of its lists.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Extent {
    /// Atoms per volume, in what they occupy.
    pub density: f64,
    /// Longest cut-off and skin.
    pub reach: f64,
    /// Shortest distance between opposite faces of the box.
    pub width: f64,
}

impl Extent {
    /// Extent of a system whose lists reach so far.
    pub fn new(
        geometry: &BoxGeometry,
        system: &System,
        [cutoff, reach]: [f64; 2],
        summation: Summation,
    ) -> Self {
        let density = density(geometry, system, cutoff, summation.open_range());
        Extent { density, reach, width: narrowest(geometry) }
    }

    /// Number of other atoms within reach of an atom.
    pub fn neighbors(&self) -> f64 {
        self.density * 4.0 / 3.0 * std::f64::consts::PI * self.reach.powi(3)
    }

    /// True where half the box holds as many atoms as a block has, near each other, and their surroundings.
    pub fn has_room_for(&self, atoms: u32) -> bool {
        self.edge(atoms) + 2.0 * self.reach < self.width
    }

    /// True where this holds for blocks, too, that turn from one column into the next.
    pub fn has_room_for_turns(&self, atoms: u32) -> bool {
        2.0 * self.edge(atoms) + 2.0 * self.reach < self.width
    }

    /// Edge of a cube of so many atoms.
    fn edge(&self, atoms: u32) -> f64 {
        (f64::from(atoms) / self.density).cbrt()
    }
}

/// Atoms per volume, in what they occupy.
fn density(geometry: &BoxGeometry, system: &System, cutoff: f64, range: OpenRange) -> f64 {
    let occupied = |k: usize| match range {
        _ if geometry.periodic[k] == 1 => geometry.edge[k],
        OpenRange::OfAtoms => (0.25 * geometry.edge[k] - 2.0 * cutoff).max(cutoff),
        OpenRange::OfBox => system.simbox.lengths()[k],
    };
    system.state.len().max(1) as f64 / (0..3).map(occupied).product::<f64>()
}

/// Shortest distance between opposite faces of the box.
pub fn narrowest(geometry: &BoxGeometry) -> f64 {
    geometry.width.into_iter().fold(f64::INFINITY, f64::min)
}
