//! Rigid bodies: atoms that move as one.

use crate::{Error, IdIndex, Result, SimBox, System, Vec3, Vector};
use serde::{Deserialize, Serialize};

/// Largest distance of an atom from the line through the two first ones of a linear body, in distances of these two:
/// structure files round positions.
const STRAIGHT: f64 = 1e-3;

/// Largest distance of an atom from the first one, in widths of the box. Beyond half of it another image would be
/// nearer; a body that reaches so far is joined to its own image, or a barostat would soon make the box too small.
const LARGEST_REACH: f64 = 0.45;

/// A rigid body. Its axes are given by three of its atoms: x leads from the first to the second, and the third is in
/// the plane of x and y. The first one is near the centre.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RigidBody {
    /// Ids of the atoms.
    pub atoms: Vec<u32>,
    /// Places of the atoms along the axes of the body, from its centre of mass.
    pub places: Vec<Vec3>,
    /// Form of the body.
    pub form: BodyForm,
    /// Distance up to which two atoms of the body have no pair force.
    pub excluded_within: f64,
}

/// Form of a rigid body, by which it has degrees of freedom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum BodyForm {
    /// All atoms on a line, about which there is no rotation.
    Linear,
    /// Atoms beside a line.
    Spatial,
}

impl BodyForm {
    /// Number of degrees of freedom of a body.
    pub fn degrees_of_freedom(self) -> usize {
        match self {
            BodyForm::Linear => 5,
            BodyForm::Spatial => 6,
        }
    }
}

impl RigidBody {
    /// A body of these atoms at their present places, two at least. Each is taken in the image next to the centre;
    /// `index_by_id` belongs to the system.
    ///
    /// # Errors
    /// If no force moves an atom, or the atoms are too far apart for the box.
    pub fn new(system: &System, index_by_id: &IdIndex, atoms: &[u32], excluded_within: f64) -> Result<Self> {
        let mut mass = Vec::with_capacity(atoms.len());
        for id in atoms {
            let index = index_by_id.of(*id);
            if system.driven(index).is_some() || system.mass(index) <= 0.0 {
                let message = format!("{} cannot move with a rigid body", system.names.describe(*id));
                return Err(Error::input(message)
                    .hint("a body is made of atoms with mass, which are neither frozen nor driven"));
            }
            mass.push(system.mass(index));
        }
        let positions: Vec<Vec3> =
            atoms.iter().map(|id| system.state.position[index_by_id.of(*id)]).collect();
        let near_center = index_near_center(system, &positions);
        let first = positions[near_center];
        let apart: Vec<Vec3> = positions.iter().map(|r| system.simbox.nearest_image(*r - first)).collect();
        let most = smallest_width(&system.simbox);
        if let Some(k) = apart.iter().position(|d| d.norm() > LARGEST_REACH * most) {
            let [one, other] = [near_center, k].map(|k| system.names.describe(atoms[k]));
            let message = format!("the rigid body of {one} reaches too far in this box, to {other}");
            return Err(Error::input(message).hint(format!(
                "atoms may be {:.4} from the one in the middle; choose a larger box, or smaller bodies",
                LARGEST_REACH * most
            )));
        }
        let (order, form) = order_of_axes(near_center, &apart);
        let in_order: Vec<Vec3> = order.iter().map(|k| apart[*k]).collect();
        let total: f64 = mass.iter().sum();
        let center: Vec3 = (0..atoms.len()).map(|k| mass[k] / total * apart[k]).sum();
        Ok(RigidBody {
            atoms: order.iter().map(|k| atoms[*k]).collect(),
            places: places(&in_order, center, form),
            form,
            excluded_within,
        })
    }

    /// Returns true where there is a place for each atom, and as many as the form needs for its axes.
    pub fn is_whole(&self) -> bool {
        let least = if self.form == BodyForm::Linear { 2 } else { 3 };
        self.places.len() == self.atoms.len() && self.atoms.len() >= least
    }

    /// Number of degrees of freedom that its atoms have no longer.
    pub fn constrained_degrees(&self) -> usize {
        3 * self.atoms.len() - self.form.degrees_of_freedom()
    }

    /// Largest distance of an atom from the first one.
    pub fn extent(&self) -> f64 {
        let from_first = |place: &Vec3| *place - self.places[0];
        self.places.iter().map(from_first).map(Vec3::norm_squared).fold(0.0, f64::max).sqrt()
    }

    /// Pairs of its atoms without a pair force.
    pub fn excluded(&self) -> impl Iterator<Item = [u32; 2]> {
        let square = self.excluded_within * self.excluded_within;
        let near = move |a: usize, b: usize| (self.places[a] - self.places[b]).norm_squared() <= square;
        let partners = move |a: usize| (0..a).filter(move |b| near(a, *b)).map(move |b| [a, b]);
        (0..self.atoms.len()).flat_map(partners).map(|pair| pair.map(|k| self.atoms[k]))
    }

    /// Moves its atoms, which may be a little beside a line, to where the body has them, in this system, to which
    /// `index_by_id` belongs.
    pub fn straighten(&self, system: &mut System, index_by_id: &IdIndex) {
        let [first, second] = [0, 1].map(|k| index_by_id.of(self.atoms[k]));
        let along = system.state.position[second] - system.state.position[first];
        let along = system.simbox.nearest_image(along);
        let unit = along / along.norm();
        let origin = system.state.position[first];
        for (id, place) in self.atoms.iter().zip(&self.places) {
            let index = index_by_id.of(*id);
            let there = origin + unit * (place[0] - self.places[0][0]);
            let off = system.simbox.nearest_image(there - system.state.position[index]);
            system.state.position[index] += off;
        }
    }
}

/// Refuses a box that is too small for some of these bodies: an image of an atom would be nearer to the first atom of its
/// body than the atom itself.
///
/// # Errors
/// If there is such a body.
pub fn check_box(bodies: &[RigidBody], simbox: &SimBox) -> Result<()> {
    let largest = bodies.iter().map(RigidBody::extent).fold(0.0, f64::max);
    let most = 0.5 * smallest_width(simbox);
    match largest < most {
        true => Ok(()),
        false => Err(Error::input(format!(
            "a rigid body reaches {largest:.4} from its first atom, half the smallest width of the box is {most:.4}"
        ))
        .hint("use a larger box")),
    }
}

/// Smallest width of a box along its periodic axes.
fn smallest_width(simbox: &SimBox) -> f64 {
    let (widths, periodic) = (simbox.widths(), simbox.periodic());
    (0..3).filter(|k| periodic[*k]).map(|k| widths[k]).fold(f64::INFINITY, f64::min)
}

/// Index of the position nearest to the middle of all. The middle along a periodic axis is a mean on the circle.
fn index_near_center(system: &System, positions: &[Vec3]) -> usize {
    let (simbox, periodic) = (&system.simbox, system.simbox.periodic());
    let turn = 2.0 * std::f64::consts::PI;
    let fractions: Vec<Vec3> = positions.iter().map(|r| simbox.to_fractional(*r)).collect();
    let n = positions.len() as f64;
    let middle = Vec3::from_fn(|k| match periodic[k] {
        false => fractions.iter().map(|s| s[k]).sum::<f64>() / n,
        true => {
            let (sine, cosine) = fractions.iter().fold((0.0, 0.0), |(sine, cosine), s| {
                (sine + (turn * s[k]).sin(), cosine + (turn * s[k]).cos())
            });
            f64::atan2(sine, cosine) / turn
        }
    });
    let middle = simbox.to_cartesian(middle);
    let square = |r: &Vec3| simbox.nearest_image(*r - middle).norm_squared();
    let squares: Vec<f64> = positions.iter().map(square).collect();
    (0..positions.len()).min_by(|a, b| squares[*a].total_cmp(&squares[*b])).unwrap_or(0)
}

/// Order of atoms in which the first three give axes: the one near the centre, the one farthest from it, and the one
/// farthest from the line through both; and the form.
fn order_of_axes(first: usize, apart: &[Vec3]) -> (Vec<usize>, BodyForm) {
    let farthest = |square: &dyn Fn(usize) -> f64| {
        (0..apart.len()).max_by(|a, b| square(*a).total_cmp(&square(*b)).then(b.cmp(a))).unwrap_or(0)
    };
    let second = farthest(&|k| apart[k].norm_squared());
    let axis = apart[second];
    let length = axis.norm_squared();
    let beside = |k: usize| axis.cross(apart[k]).norm_squared() / length;
    let third = farthest(&beside);
    let form = match beside(third) <= STRAIGHT * STRAIGHT * length {
        true => BodyForm::Linear,
        false => BodyForm::Spatial,
    };
    let mut order = vec![first, second];
    if form == BodyForm::Spatial {
        order.push(third);
    }
    let n_axes = order.len();
    let rest: Vec<usize> = (0..apart.len()).filter(|k| !order[..n_axes].contains(k)).collect();
    order.extend(rest);
    (order, form)
}

/// Places along the axes of the body, from the centre; on the axis x where it is linear.
fn places(apart: &[Vec3], center: Vec3, form: BodyForm) -> Vec<Vec3> {
    let third = apart.get(2).copied().unwrap_or_default();
    let axes = crate::constraints::axes(form, apart[1], third);
    let place = |r: &Vec3| {
        let d = *r - center;
        match form {
            BodyForm::Linear => Vector([axes[0].dot(d), 0.0, 0.0]),
            BodyForm::Spatial => Vector(axes.map(|axis| axis.dot(d))),
        }
    };
    apart.iter().map(place).collect()
}
