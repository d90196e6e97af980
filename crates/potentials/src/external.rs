//! External forces: fields, the same everywhere or by a formula, and walls.

mod formula;
mod reflection;
mod wall_motion;

use crate::PairTerm;
pub use formula::{FormulaField, Positions, SpeciesConstants};
use jostle_core::{Error, SimBox, System, Vec3};
pub use reflection::{MOST_TURNS, PlacedWalls, ReflectingWall, check_meeting, outside_walls, reflected};
use serde::{Deserialize, Serialize};
pub use wall_motion::{WallMotion, displacement_and_velocity};

/// A force on every atom of some species, the same wherever it is. Its energy is minus the force
/// times the unbroken path of the atom, so that it stands for the work done across periodic
/// boundaries, too.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Field {
    /// Force by species.
    pub force: Vec<Vec3>,
    /// Membership by id: 1 for the atoms it acts on and 0 for all others; empty where it acts on all.
    pub members: Vec<u32>,
}

impl Field {
    /// A field on all atoms, with these forces by species.
    pub fn new(force: Vec<Vec3>) -> Self {
        Field { force, members: Vec::new() }
    }

    /// Lets it act on atoms with these ids only, of so many atoms.
    pub fn only(&mut self, atoms: &[u32], n: usize) {
        self.members = vec![0; n];
        atoms.iter().for_each(|id| self.members[*id as usize] = 1);
    }

    /// The force on all atoms of a system together; 0 where it is rounding.
    pub fn total(&self, system: &System) -> Vec3 {
        let (mut total, mut size) = (Vec3::ZERO, Vec3::ZERO);
        for (id, species) in system.state.id.iter().zip(&system.state.species) {
            let force = self.on(usize::from(*species), *id);
            total += force;
            size += force.map(f64::abs);
        }
        Vec3::from_fn(|axis| if total[axis].abs() > 1e-9 * size[axis] { total[axis] } else { 0.0 })
    }

    /// The force on an atom.
    pub fn on(&self, species: usize, id: u32) -> Vec3 {
        match self.members.get(id as usize) {
            Some(0) => Vec3::ZERO,
            _ => self.force[species],
        }
    }
}

/// The side of a wall that atoms are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Side {
    /// Side of larger coordinates.
    Above,
    /// Side of smaller coordinates.
    Below,
}

impl Side {
    /// Both sides.
    pub const ALL: [Side; 2] = [Side::Above, Side::Below];

    /// The name in the input file.
    pub fn name(self) -> &'static str {
        match self {
            Side::Above => "above",
            Side::Below => "below",
        }
    }

    /// Description of one line.
    pub fn about(self) -> &'static str {
        match self {
            Side::Above => "atoms are on the side of larger coordinates",
            Side::Below => "atoms are on the side of smaller coordinates",
        }
    }

    /// 1 or -1: from the wall towards the atoms.
    pub fn sign(self) -> f64 {
        match self {
            Side::Above => 1.0,
            Side::Below => -1.0,
        }
    }
}

/// A plane that acts on atoms like another atom right below them would: by a pair potential of the
/// distance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Wall {
    /// The axis it is perpendicular to.
    pub axis: usize,
    /// Coordinate on this axis, at the time set last.
    pub at: f64,
    /// Coordinate before it moves.
    begin: f64,
    /// Its motion.
    pub motion: WallMotion,
    /// Side of the atoms.
    pub side: Side,
    /// The force. The wall is its last species.
    pub term: PairTerm,
    /// Surface of the wall.
    pub surface: Surface,
    /// Cut-off and coefficients, by species.
    entries: Vec<Option<(f64, Vec<f64>)>>,
}

/// Surface of a wall.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Surface {
    /// No friction.
    #[default]
    Smooth,
    /// The material of grains ([`crate::Grains`]), with damping and friction.
    Grains,
}

impl Wall {
    /// A smooth wall across an axis. It is the last species of its force.
    pub fn new(axis: usize, at: f64, side: Side, term: PairTerm) -> Wall {
        let wall = term.n_species() - 1;
        let entry = |k: usize| Some((term.get(k, wall)?.cutoff, term.coefficients(k, wall)?));
        let entries = (0..wall).map(entry).collect();
        let (begin, motion) = (at, WallMotion::REST);
        Wall { axis, at, begin, motion, side, term, surface: Surface::Smooth, entries }
    }

    /// The wall with a motion, which has not begun.
    pub fn moving(mut self, motion: WallMotion) -> Wall {
        self.motion = motion;
        self
    }

    /// Coordinate on its axis before it moves.
    pub fn begin(&self) -> f64 {
        self.begin
    }

    /// Goes to where it is at a time.
    pub fn set_time(&mut self, time: f64) {
        if self.motion.is_moving() {
            self.at = self.begin + self.motion.at(time)[0];
        }
    }

    /// Its velocity at a time.
    pub fn velocity(&self, time: f64) -> Vec3 {
        let mut velocity = Vec3::ZERO;
        velocity[self.axis] = self.motion.at(time)[1];
        velocity
    }

    /// Distance of a position from the wall; negative behind it.
    pub fn height(&self, position: Vec3) -> f64 {
        self.height_from(self.at, position)
    }

    fn height_from(&self, at: f64, position: Vec3) -> f64 {
        self.side.sign() * (position[self.axis] - at)
    }

    /// The number of the wall among the species of its term.
    pub fn species(&self) -> usize {
        self.term.n_species() - 1
    }

    /// Energy of an atom of a species at a position, and the force on it along the axis; no numbers
    /// behind the wall.
    pub fn evaluate(&self, species: usize, position: Vec3) -> (f64, f64) {
        self.evaluate_from(self.at, species, position)
    }

    /// Energy of an atom of a species at a position and a time.
    pub fn energy_at(&self, time: f64, species: usize, position: Vec3) -> f64 {
        self.evaluate_from(self.begin + self.motion.at(time)[0], species, position).0
    }

    fn evaluate_from(&self, at: f64, species: usize, position: Vec3) -> (f64, f64) {
        let height = self.height_from(at, position);
        match self.entries.get(species) {
            Some(Some((cutoff, c))) if height < *cutoff => {
                if height <= 0.0 {
                    return (f64::NAN, f64::NAN);
                }
                let (energy, force_over_r) = self.term.evaluate(height * height, c);
                (energy, self.side.sign() * force_over_r * height)
            }
            _ => (0.0, 0.0),
        }
    }
}

/// Energies, and the sum of the forces, of all uniform fields and walls on one atom; energies are numbered in this
/// order.
pub fn on_atom(
    (fields, walls): (&[Field], &[Wall]),
    simbox: &SimBox,
    (species, id): (usize, u32),
    (position, image): (Vec3, [i32; 3]),
    mut energy: impl FnMut(usize, f64),
) -> Vec3 {
    let mut force = Vec3::ZERO;
    for (k, field) in fields.iter().enumerate() {
        let (f, shift) = (field.on(species, id), simbox.shift(image));
        energy(k, -(0..3).map(|k| f[k] * (position[k] + shift[k])).sum::<f64>());
        force += f;
    }
    for (k, wall) in walls.iter().enumerate() {
        let (u, f) = wall.evaluate(species, position);
        energy(fields.len() + k, u);
        force[wall.axis] += f;
    }
    force
}

/// The error of a wall across a periodic axis.
pub(crate) fn across_periodic(axis: usize) -> Error {
    let axis = ["x", "y", "z"][axis];
    Error::input(format!("a wall across the axis {axis}, which is periodic"))
        .hint("make it open by periodic = [...] in [system]")
}

/// The first atom that is behind a wall which acts on it.
pub fn behind(system: &System, walls: &[Wall]) -> Option<Error> {
    let state = &system.state;
    walls.iter().find_map(|wall| {
        let acts = |k: &usize| wall.term.get(state.species[*k] as usize, wall.species()).is_some();
        let index = (0..state.len()).filter(acts).find(|k| wall.height(state.position[*k]) <= 0.0)?;
        let axis = ["x", "y", "z"][wall.axis];
        let (id, there, at) = (state.id[index] + 1, state.position[index][wall.axis], wall.at);
        let message = format!("atom {id} is behind the wall at {axis} = {at}: it is at {axis} = {there}");
        let hint = match wall.motion.is_moving() {
            false => "atoms must begin on the wall's side; if they do, shorten the time step or make the wall steeper",
            true => "atoms must begin on the wall's side; if they do, move the wall more slowly, or make it steeper",
        };
        Some(Error::simulation(message).hint(hint))
    })
}
