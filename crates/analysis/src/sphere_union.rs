//! Surface and mean breadth of the union of equal spheres, exactly, from the arcs of circles of intersection that are in no
//! third sphere.
//!
//! The surface of a sphere that is in no other follows from its boundary by Stokes' theorem (as in M. L. Connolly, J. Appl.
//! Crystallogr. 16 (1983) 548, by that of Gauss and Bonnet, which needs to know what is connected). The integral of the mean
//! curvature, of which the mean breadth is the part 1 / 2 pi, has a share of the surface, 1 / R of it, and one of the edges,
//! less half the angle between the normals times the length. Neither depends on how a shape lies, as counts of voxels do.

use crate::cells::Cells;
use jostle_core::{Result, SimBox, Vec3, Vector};
use rayon::prelude::*;
use std::f64::consts::TAU;

/// Axis of spheres, which goes through no circle of a lattice.
const POLE: Vec3 = Vector([0.416_147, 0.290_922, 0.861_510]);
/// Squared distance, as a part of the squared radius, of spheres that are one.
const SAME: f64 = 1e-18;

/// Surface and mean breadth of the union of spheres of a radius around positions, and all images of them.
///
/// # Errors
/// If the spheres that overlap are too many.
pub(crate) fn surface_and_breadth(simbox: &SimBox, positions: &[Vec3], radius: f64) -> Result<[f64; 2]> {
    let neighbors = Cells::new(simbox, positions, 2.0 * radius)?.neighbors()?;
    // Of spheres at one place the first stays.
    let is_same = |d: &Vec3| d.norm_squared() <= SAME * radius * radius;
    let is_first =
        |atom: usize| neighbors.of(atom).iter().all(|(other, d)| *other as usize >= atom || !is_same(d));
    let stays: Vec<bool> = (0..positions.len()).into_par_iter().map(is_first).collect();
    let of_sphere = |atom: usize| {
        let others = neighbors.of(atom).iter().filter(|(other, d)| stays[*other as usize] && !is_same(d));
        exposed(&Vec::from_iter(others.map(|(_, d)| *d)), radius)
    };
    let spheres = (0..positions.len()).into_par_iter().filter(|atom| stays[*atom]);
    let parts: Vec<[f64; 2]> = spheres.map(of_sphere).collect();
    let [surface, edges] = [0, 1].map(|k| parts.iter().map(|part| part[k]).sum::<f64>());
    Ok([surface, (surface / radius - 0.5 * edges) / TAU])
}

/// Surface of a sphere that is in none of the others at these distances, and half the sum of angles times lengths of its
/// edges, as these belong to two spheres.
fn exposed(others: &[Vec3], radius: f64) -> [f64; 2] {
    let pole = POLE * POLE.norm().recip();
    let circles = Vec::from_iter(others.iter().map(|other| Circle::of_sphere_with(*other, radius, pole)));
    let mut covered = Vec::new();
    let (mut area, mut edges) = (0.0, 0.0);
    for (k, circle) in circles.iter().enumerate() {
        let further = others.iter().enumerate().filter(|(j, _)| *j != k).map(|(_, other)| *other);
        circle.cover(further, radius, &mut covered);
        let mut reached = 0.0f64;
        for [begin, end] in covered.iter().chain(&[[TAU, TAU]]) {
            if *begin > reached {
                area += circle.swept(*begin) - circle.swept(reached);
                edges += (begin - reached) * circle.radius * circle.between_normals();
            }
            reached = reached.max(*end);
        }
    }
    let poles =
        [1.0, -1.0].map(|sign| circles.iter().all(|circle| sign * circle.cos_pole <= circle.cos_radius));
    area += TAU * poles.iter().filter(|is_exposed| **is_exposed).count() as f64;
    [area * radius * radius, 0.5 * edges]
}

/// Circle of intersection of a sphere around the origin and another one.
struct Circle {
    center: Vec3,
    /// Axes of its plane: the first leads from its centre to where it is nearest to the pole.
    axes: [Vec3; 2],
    radius: f64,
    /// Cosines of its angular radius, and of the angle between its centre and the pole.
    cos_radius: f64,
    cos_pole: f64,
    /// Factors of the tangent of half an angle in `swept`, for pole and opposite pole.
    stretch: [f64; 2],
}

impl Circle {
    fn of_sphere_with(other: Vec3, radius: f64, pole: Vec3) -> Self {
        let apart = other.norm();
        let along = other * apart.recip();
        let (cos_radius, cos_pole) = ((0.5 * apart / radius).min(1.0), along.dot(pole).clamp(-1.0, 1.0));
        let towards = pole - along * cos_pole;
        let first = towards * towards.norm().max(f64::MIN_POSITIVE).recip();
        let [alpha, gamma] = [cos_radius, cos_pole].map(f64::acos);
        let (sum, difference) = (0.5 * (alpha + gamma), 0.5 * (alpha - gamma));
        Circle {
            center: other * 0.5,
            axes: [first, along.cross(first)],
            radius: radius * alpha.sin().max(1e-150),
            cos_radius,
            cos_pole,
            // A circle through a pole has a factor that is infinite.
            stretch: [sum.sin() / difference.sin(), sum.cos() / difference.cos()].map(|k| k.abs().min(1e150)),
        }
    }

    /// Angle between the normals of both spheres.
    fn between_normals(&self) -> f64 {
        2.0 * self.cos_radius.asin()
    }

    /// Arcs of the circle that are in other spheres: where they begin, from 0 to 2 pi, and end, in this order.
    fn cover(&self, others: impl Iterator<Item = Vec3>, radius: f64, arcs: &mut Vec<[f64; 2]>) {
        arcs.clear();
        for other in others {
            // A point of the circle is in the sphere where cos(angle - towards) across > away.
            let to = other - self.center;
            let [a, b] = self.axes.map(|axis| to.dot(axis));
            let away =
                (to.norm_squared() + self.radius * self.radius - radius * radius) / (2.0 * self.radius);
            let across = a.hypot(b);
            if away >= across {
                continue;
            }
            if away <= -across {
                *arcs = vec![[0.0, TAU]];
                return;
            }
            let (towards, half) = (b.atan2(a), (away / across).acos());
            let begin = (towards - half).rem_euclid(TAU);
            let end = begin + 2.0 * half;
            arcs.push([begin, end.min(TAU)]);
            if end > TAU {
                arcs.push([0.0, end - TAU]);
            }
        }
        arcs.sort_unstable_by(|x, y| x[0].total_cmp(&y[0]));
    }

    /// Integral of the height over the pole's equator times the change of longitude, from the first axis to an angle: with
    /// alpha and gamma the angles of radius and pole, cos alpha times the angle, and half the longitudes that each pole sees
    /// of it, with the sign of the side on which it is.
    fn swept(&self, angle: f64) -> f64 {
        let (sin, cos) = (0.5 * angle).sin_cos();
        let seen = |sign: f64, stretch: f64| {
            let side = sign * self.cos_pole - self.cos_radius;
            if side == 0.0 { 0.0 } else { side.signum() * (stretch * sin).atan2(cos) }
        };
        self.cos_radius * angle + seen(1.0, self.stretch[0]) + seen(-1.0, self.stretch[1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::random::{Purpose, Stream};

    /// Points at random on spheres at random, in a box that is hardly wider than they are.
    #[test]
    fn the_surface_has_as_many_points_as_are_in_no_other_sphere() {
        let simbox = SimBox::orthorhombic([7.0, 6.0, 5.0]).unwrap();
        let mut random = Stream::new(1, Purpose::Test, 0, 0);
        let mut position = || Vec3::from_fn(|k| random.uniform() * simbox.lengths()[k]);
        let mut positions: Vec<Vec3> = (0..40).map(|_| position()).collect();
        // One sphere is there twice.
        positions.push(positions[3] + Vector([7.0, 0.0, 0.0]));
        for radius in [0.7, 1.1, 2.6] {
            let [surface, _] = surface_and_breadth(&simbox, &positions, radius).unwrap();
            let cells = Cells::new(&simbox, &positions, radius).unwrap();
            let mut directions = Stream::new(2, Purpose::Test, 0, 0);
            let (each, mut outside) = (4000, 0u32);
            for center in &positions[..40] {
                for _ in 0..each {
                    let direction = directions.normal3();
                    let mut is_outside = true;
                    let just_outside = radius * (1.0 + 1e-9);
                    cells.around(*center + direction * (just_outside / direction.norm()), |_, _| {
                        is_outside = false
                    });
                    outside += u32::from(is_outside);
                }
            }
            let exact = f64::from(outside) / f64::from(each) * 4.0 * std::f64::consts::PI * radius * radius;
            let error = exact / f64::from(outside).max(1.0).sqrt();
            assert!(
                (surface - exact).abs() < 4.0 * error + 1e-9,
                "{radius}: {surface} for {exact} +- {error}"
            );
        }
    }
}
