//! Rigid bodies: the position of a body after a drift of its atoms, and its velocities.
//!
//! A body that has all of its distances constrained by SHAKE and RATTLE makes a step of the discrete Moser-Veselov
//! equation (McLachlan and Zanna, Found. Comput. Math. 5 (2005) 87; Leimkuhler and Reich, Simulating Hamiltonian
//! Dynamics (2004), chapter 8), which is symplectic and reversible and keeps momentum and angular momentum. Here it is
//! solved for the rotation of the body instead of the impulses along its distances, so that the size of a body does
//! not matter: atoms that are drifted by dt v from places Q s turn to Q R s, where R is the rotation by the quaternion
//! (w, u) with
//!
//! w I u + u x I u = dt L / 2,   w = sqrt(1 - u u),
//!
//! with the inertia I about the centre and the angular momentum L, in axes of the body. There is no state but the
//! positions and velocities of atoms.

use crate::rigid_body::BodyForm;
use crate::{Real, RigidBody, Vec3, Vector};

/// Three axes of length one, as vectors in space.
pub type Axes<R> = [Vector<R>; 3];

/// Symmetric tensor in the order of [`crate::SymTensor`].
type Tensor<R> = [R; 6];

/// Number of numbers of an [`Inertia`].
pub const INERTIA_NUMBERS: usize = 13;

/// Number of numbers of a [`BodyAtom`].
pub const ATOM_NUMBERS: usize = 4;

/// Mass and moments of inertia of a body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Inertia<R> {
    /// Inverse of its mass.
    pub inverse_mass: R,
    /// Tensor of inertia about the centre of mass, in axes of the body. A linear body has about its own axis the
    /// moment that it has about others, to which nothing turns it.
    pub moments: Tensor<R>,
    /// Inverse of this tensor.
    pub inverse: Tensor<R>,
}

/// An atom of a body: its mass, and its place along the axes from the centre of mass.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BodyAtom<R> {
    /// Mass.
    pub mass: R,
    /// Place.
    pub place: Vector<R>,
}

/// Constants of a body.
#[derive(Debug, Clone, PartialEq)]
pub struct Body {
    /// Form.
    pub form: BodyForm,
    /// Ids of the atoms.
    pub ids: Vec<u32>,
    /// Mass and moments of inertia.
    pub inertia: Inertia<f64>,
    /// Atoms.
    pub atoms: Vec<BodyAtom<f64>>,
}

impl Body {
    /// Constants of a body whose atoms have these masses.
    pub fn new(body: &RigidBody, masses: &[f64]) -> Self {
        let atom = |(place, mass): (&Vec3, &f64)| BodyAtom { mass: *mass, place: *place };
        let atoms: Vec<_> = body.places.iter().zip(masses).map(atom).collect();
        let mut moments = [0.0; 6];
        for atom in &atoms {
            moments.iter_mut().zip(atom.moments()).for_each(|(sum, part)| *sum += part);
        }
        if body.form == BodyForm::Linear {
            moments = [moments[1], moments[1], moments[1], 0.0, 0.0, 0.0];
        }
        let inverse_mass = 1.0 / masses.iter().sum::<f64>();
        let inertia = Inertia { inverse_mass, moments, inverse: inverse(moments) };
        Body { form: body.form, ids: body.atoms.clone(), inertia, atoms }
    }

    /// All numbers: those of the inertia ([`Inertia::from_numbers`]), then those of each atom.
    pub fn numbers(&self) -> Vec<f64> {
        let Inertia { inverse_mass, moments, inverse } = &self.inertia;
        let inertia = [inverse_mass].into_iter().chain(moments).chain(inverse);
        let atoms = self.atoms.iter().flat_map(|atom| [atom.mass].into_iter().chain(atom.place));
        inertia.copied().chain(atoms).collect()
    }
}

impl BodyAtom<f64> {
    /// Its part of the tensor of inertia.
    pub fn moments(&self) -> Tensor<f64> {
        let Vector([x, y, z]) = self.place;
        [y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -x * z, -y * z].map(|part| self.mass * part)
    }
}

impl Inertia<f64> {
    /// Thermal energy over the mean square of the angular velocity in equilibrium.
    pub fn thermal_moment(&self) -> f64 {
        1.0 / (self.inverse[0] + self.inverse[1] + self.inverse[2])
    }
}

impl<R: Real> Inertia<R> {
    /// The inertia of these [`INERTIA_NUMBERS`] numbers.
    #[inline(always)]
    pub fn from_numbers(x: &[R]) -> Self {
        let tensor =
            |first: usize| [x[first], x[first + 1], x[first + 2], x[first + 3], x[first + 4], x[first + 5]];
        Inertia { inverse_mass: x[0], moments: tensor(1), inverse: tensor(7) }
    }
}

/// Inverse of a symmetric tensor.
fn inverse([xx, yy, zz, xy, xz, yz]: Tensor<f64>) -> Tensor<f64> {
    let columns = [Vector([xx, xy, xz]), Vector([xy, yy, yz]), Vector([xz, yz, zz])];
    let rows = [columns[1].cross(columns[2]), columns[2].cross(columns[0]), columns[0].cross(columns[1])];
    let scale = 1.0 / columns[0].dot(rows[0]);
    [rows[0][0], rows[1][1], rows[2][2], rows[0][1], rows[0][2], rows[1][2]].map(|x| x * scale)
}

/// Product of a symmetric tensor and a vector.
#[inline(always)]
fn times<R: Real>([xx, yy, zz, xy, xz, yz]: Tensor<R>, v: Vector<R>) -> Vector<R> {
    Vector([Vector([xx, xy, xz]).dot(v), Vector([xy, yy, yz]).dot(v), Vector([xz, yz, zz]).dot(v)])
}

/// Vector in space from its components along axes.
#[inline(always)]
pub fn in_space<R: Real>(axes: &Axes<R>, v: Vector<R>) -> Vector<R> {
    (axes[0] * v[0]).along(v[1], axes[1]).along(v[2], axes[2])
}

/// Components along axes of a vector in space.
#[inline(always)]
fn in_body<R: Real>(axes: &Axes<R>, v: Vector<R>) -> Vector<R> {
    Vector([axes[0].dot(v), axes[1].dot(v), axes[2].dot(v)])
}

/// Axes of a body from the vectors that lead from its first atom to the second and to the third. A linear body has no
/// third atom: its axes y and z are any that are normal to x.
#[inline(always)]
pub fn axes<R: Real>(form: BodyForm, second: Vector<R>, third: Vector<R>) -> Axes<R> {
    let inverse = second.dot(second).rsqrt();
    let x = second * inverse;
    let beside = match form {
        BodyForm::Spatial => third,
        BodyForm::Linear => {
            // An axis of space that is far from parallel.
            let (zero, one) = (R::lit(0.0), R::lit(1.0));
            let steep = (x[0] * x[0]).lt(R::lit(0.5));
            Vector([R::select(steep, one, zero), R::select(steep, zero, one), zero])
        }
    };
    let z = x.cross(beside);
    let inverse = z.dot(z).rsqrt();
    let z = z * inverse;
    [x, z.cross(x), z]
}

/// Angular velocity of a body by its angular momentum about the centre of mass, both in space.
#[inline(always)]
pub fn angular_velocity<R: Real>(axes: &Axes<R>, inertia: &Inertia<R>, momentum: Vector<R>) -> Vector<R> {
    in_space(axes, times(inertia.inverse, in_body(axes, momentum)))
}

/// Turn of a body in a drift: dt L / 2 in axes of the body, and a first guess of the vector u of the quaternion.
#[inline(always)]
pub fn begin_turn<R: Real>(
    axes: &Axes<R>,
    inertia: &Inertia<R>,
    momentum: Vector<R>,
    dt: R,
) -> (Vector<R>, Vector<R>) {
    let l = in_body(axes, momentum);
    let half = l * (R::lit(0.5) * dt);
    (half, times(inertia.inverse, half))
}

/// One round of Newton's iteration for the turn. Returns u and the square of its change; not a number where a body
/// would turn by more than half a revolution.
#[inline(always)]
pub fn improve_turn<R: Real>(inertia: &Inertia<R>, half: Vector<R>, u: Vector<R>) -> (Vector<R>, R) {
    let (zero, one) = (R::lit(0.0), R::lit(1.0));
    let w = (one - u.dot(u)).sqrt();
    let per_w = w.recip();
    let iu = times(inertia.moments, u);
    let excess = Vector([w * iu[0], w * iu[1], w * iu[2]]) + u.cross(iu) - half;
    let column = |unit: Vector<R>, u_of: R| {
        let i = times(inertia.moments, unit);
        let turned = u.cross(i) - iu.cross(unit);
        turned.along(w, i).along(-(u_of * per_w), iu)
    };
    let columns = [
        column(Vector([one, zero, zero]), u[0]),
        column(Vector([zero, one, zero]), u[1]),
        column(Vector([zero, zero, one]), u[2]),
    ];
    let normals = [columns[1].cross(columns[2]), columns[2].cross(columns[0]), columns[0].cross(columns[1])];
    let scale = columns[0].dot(normals[0]).recip();
    let change = Vector::from_fn(|k| normals[k].dot(excess) * scale);
    (u - change, change.norm_squared())
}

/// Axes after a turn by the quaternion with the vector u, in axes before.
#[inline(always)]
pub fn turned<R: Real>(axes: &Axes<R>, u: Vector<R>) -> Axes<R> {
    let (zero, one, two) = (R::lit(0.0), R::lit(1.0), R::lit(2.0));
    let w = (one - u.dot(u)).sqrt();
    let turn = |v: Vector<R>| {
        let once = u.cross(v);
        in_space(axes, v.along(two * w, once).along(two, u.cross(once)))
    };
    [turn(Vector([one, zero, zero])), turn(Vector([zero, one, zero])), turn(Vector([zero, zero, one]))]
}

/// Displacement of an atom relative to the centre of its body in a turn. `apart` is the vector from the first atom,
/// at `first` along the axes, to this one before; where rounding has moved the atom, it moves back.
#[inline(always)]
pub fn turn_of_atom<R: Real>(
    [before, after]: [&Axes<R>; 2],
    first: Vector<R>,
    place: Vector<R>,
    apart: Vector<R>,
) -> Vector<R> {
    let rounding = in_space(before, place - first) - apart;
    rounding + (in_space(after, place) - in_space(before, place))
}
