//! Deviation of a structure from the one it began with: root mean square over its atoms, after
//! the shift and turn that make it least.

use super::{Frames, Kind, Measure, Observable};
use crate::blocks::Blocks;
use crate::molecules::{along_bonds, shifts_together};
use crate::report::{Results, Table, unit};
use crate::saved_state::SavedState;
use crate::view::{SystemInfo, View};
use jostle_core::{Error, Result, Vec3};

pub(super) const KIND: Kind = Kind {
    name: "rmsd",
    about: "root mean square deviation from the first frame, shifted and turned to where it is least",
    observable: Observable::Molecules,
    frames: Frames::EachAlone,
    settings: &[],
    new: |system_info, _| {
        Ok(Box::new(Deviation {
            system_info: system_info.clone(),
            first: Vec::new(),
            shifts: Vec::new(),
            series: Vec::new(),
            blocks: Blocks::new(1),
        }))
    },
};

struct Deviation {
    system_info: SystemInfo,
    /// The first frame, about its centre.
    first: Vec<Vec3>,
    /// Edges of the box by which molecules on unbroken paths are shifted, so that the first frame lies together.
    shifts: Vec<[i32; 3]>,
    /// Time, or the number of the frame, and deviation.
    series: Vec<(f64, f64)>,
    blocks: Blocks,
}

impl Measure for Deviation {
    fn add(&mut self, frame: &View) -> Result<()> {
        if frame.unwrapped.len() < 2 {
            return Err(Error::input("the shape of fewer than two atoms does not change"));
        }
        let whole = along_bonds(frame.unwrapped, frame.molecules);
        if self.shifts.is_empty() {
            let of_atoms = frame.molecules.map(|molecules| molecules.of_atoms);
            self.shifts = shifts_together(frame.simbox, &whole, of_atoms);
        }
        let together = whole.iter().zip(&self.shifts).map(|(r, n)| *r + frame.simbox.shift(*n));
        let now = centered(together.collect());
        if self.first.is_empty() {
            self.first.clone_from(&now);
        }
        let deviation = deviation(&self.first, &now);
        let number = self.series.len() as f64;
        self.series.push((frame.time.unwrap_or(number), deviation));
        self.blocks.add_frame(&[deviation]);
        Ok(())
    }

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        vec![&mut self.first, &mut self.shifts, &mut self.series, &mut self.blocks]
    }

    fn results(&self) -> Result<Results> {
        let Some((_, last)) = self.series.last() else {
            return Err(Error::input("there was no frame"));
        };
        let units = self.system_info.units;
        let (length, time) = (unit(units, 1, 0), unit(units, 0, 1));
        let (times, values): (Vec<f64>, Vec<f64>) = self.series.iter().copied().unzip();
        let most = values.iter().copied().fold(0.0, f64::max);
        let mut results = Results::default();
        results.value("deviation", &length, self.blocks.means()[0]);
        results.value("largest deviation", &length, (most, None));
        results.value("last deviation", &length, (*last, None));
        let mut table = Table::new("rmsd", "time", time, times);
        table.plain("deviation", &length, values);
        results.tables.push(table);
        Ok(results)
    }
}

fn minus(a: Vec3, b: Vec3) -> Vec3 {
    a - b
}

/// About their centre.
fn centered(mut positions: Vec<Vec3>) -> Vec<Vec3> {
    let n = positions.len() as f64;
    let center = Vec3::from_fn(|k| positions.iter().map(|r| r[k]).sum::<f64>() / n);
    positions.iter_mut().for_each(|r| *r = minus(*r, center));
    positions
}

/// The least root mean square deviation of points about their centres, by the largest eigenvalue of
/// B. K. P. Horn's matrix (J. Opt. Soc. Am. A 4 (1987) 629).
fn deviation(a: &[Vec3], b: &[Vec3]) -> f64 {
    let mut s = [[0.0; 3]; 3];
    let mut squares = 0.0;
    for (a, b) in a.iter().zip(b) {
        for i in 0..3 {
            squares += 0.5 * (a[i] * a[i] + b[i] * b[i]);
            for j in 0..3 {
                s[i][j] += a[i] * b[j];
            }
        }
    }
    let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = s;
    let matrix = [
        [xx + yy + zz, yz - zy, zx - xz, xy - yx],
        [yz - zy, xx - yy - zz, xy + yx, zx + xz],
        [zx - xz, xy + yx, yy - xx - zz, yz + zy],
        [xy - yx, zx + xz, yz + zy, zz - xx - yy],
    ];
    let largest = largest_eigenvalue(matrix);
    (2.0 * (squares - largest).max(0.0) / a.len() as f64).sqrt()
}

/// Largest eigenvalue of a symmetric matrix, by Jacobi's rotations.
fn largest_eigenvalue(mut m: [[f64; 4]; 4]) -> f64 {
    let size = m.iter().flatten().map(|x| x * x).sum::<f64>();
    for _ in 0..50 {
        let off: f64 = (0..4).flat_map(|i| (0..i).map(move |j| (i, j))).map(|(i, j)| m[i][j].powi(2)).sum();
        if off <= 1e-34 * size {
            break;
        }
        for (i, j) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)] {
            if m[i][j] == 0.0 {
                continue;
            }
            let half = 0.5 * (m[j][j] - m[i][i]) / m[i][j];
            let tangent = 1f64.copysign(half) / (half.abs() + half.hypot(1.0));
            let cosine = 1.0 / tangent.hypot(1.0);
            let sine = tangent * cosine;
            for row in &mut m {
                (row[i], row[j]) = (cosine * row[i] - sine * row[j], sine * row[i] + cosine * row[j]);
            }
            let [a, b] = [m[i], m[j]];
            for k in 0..4 {
                (m[i][k], m[j][k]) = (cosine * a[k] - sine * b[k], sine * a[k] + cosine * b[k]);
            }
        }
    }
    (0..4).map(|k| m[k][k]).fold(f64::NEG_INFINITY, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jostle_core::Vector;

    /// A tetrahedron with sides of its own, so that no turn or mirror takes it to itself.
    const SHAPE: [Vec3; 5] = [
        Vector([0.0, 0.0, 0.0]),
        Vector([1.0, 0.2, 0.0]),
        Vector([0.1, 2.0, 0.3]),
        Vector([0.4, 0.5, 3.0]),
        Vector([-1.0, 0.7, 0.2]),
    ];

    #[test]
    fn a_turned_structure_is_the_same() {
        let (sin, cos) = 1.1f64.sin_cos();
        let turn = |r: Vec3| Vector([cos * r[0] - sin * r[1], sin * r[0] + cos * r[1], r[2]]);
        let turned: Vec<Vec3> = SHAPE.iter().map(|r| turn(Vector([r[1], r[2], r[0]]))).collect();
        let found = deviation(&centered(SHAPE.to_vec()), &centered(turned));
        assert!(found < 1e-6, "{found}");
    }

    /// Stretched along an axis through the centre no turn helps: half of each pair's change.
    #[test]
    fn a_stretch_is_found() {
        let pair = |d: f64| centered(vec![Vector([0.0, 0.0, 0.0]), Vector([d, 0.0, 0.0])]);
        assert!((deviation(&pair(1.0), &pair(1.5)) - 0.25).abs() < 1e-9);
    }

    /// A mirror image cannot be turned into its shape: compared with a search over turns.
    #[test]
    fn no_turn_does_better() {
        let first = centered(SHAPE.to_vec());
        let mirrored = centered(SHAPE.iter().map(|r| Vector([-r[0], 0.9 * r[1], r[2]])).collect());
        let found = deviation(&first, &mirrored);
        let mut least = f64::INFINITY;
        let n = 60;
        for i in 0..n {
            for j in 0..n {
                for k in 0..n {
                    // Turns by Euler's angles.
                    let [a, b, c] = [i, j, k].map(|x| x as f64 / n as f64 * std::f64::consts::TAU);
                    let about_z = |r: Vec3, t: f64| {
                        Vector([t.cos() * r[0] - t.sin() * r[1], t.sin() * r[0] + t.cos() * r[1], r[2]])
                    };
                    let about_x = |r: Vec3, t: f64| {
                        Vector([r[0], t.cos() * r[1] - t.sin() * r[2], t.sin() * r[1] + t.cos() * r[2]])
                    };
                    let sum: f64 = first
                        .iter()
                        .zip(&mirrored)
                        .map(|(f, m)| {
                            let d = about_z(about_x(about_z(*m, c), 0.5 * b), a) - *f;
                            d.iter().map(|x| x * x).sum::<f64>()
                        })
                        .sum();
                    least = least.min((sum / 5.0).sqrt());
                }
            }
        }
        assert!(found > 0.1 && found <= least && least < found * 1.02, "{found} {least}");
    }
}
