//! Minkowski functionals of the space that atoms take: volume, surface, mean breadth and Euler
//! characteristic, by which shapes of nuclear pasta are told apart.

use super::{Frames, Kind, Measure, Observable};
use crate::blocks::Blocks;
use crate::limits;
use crate::report::{Results, unit};
use crate::saved_state::SavedState;
use crate::settings::Setting;
use crate::sphere_union::surface_and_breadth;
use crate::view::{SystemInfo, View};
use crate::warning::{Verdict, digits, judge};
use jostle_core::{Dimension, Error, Result};
use rayon::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) const KIND: Kind = Kind {
    name: "minkowski",
    about: "volume, surface, mean breadth and Euler characteristic of spheres around the atoms",
    observable: Observable::Positions,
    frames: Frames::EachAlone,
    settings: &[
        Setting {
            name: "radius",
            dimension: Dimension::LENGTH,
            default: None,
            about: "radius of the spheres; must be given",
        },
        Setting {
            name: "voxel",
            dimension: Dimension::LENGTH,
            default: None,
            about: "edge of the cubes that space is cut into for volume and Euler characteristic; errors leave them out \
                    [default: an eighth of the radius]",
        },
    ],
    new: |system_info, settings| {
        if settings.get("radius").is_none() {
            return Err(Error::input("the radius of the spheres must be given").hint("radius=1.5"));
        }
        let radius = settings.positive("radius", 1.0)?;
        let voxel = settings.positive("voxel", 0.125 * radius)?;
        if system_info.simbox.periodic() != [true; 3] || !system_info.simbox.is_orthorhombic() {
            return Err(Error::input("Minkowski functionals need a rectangular periodic box"));
        }
        let (blocks, finer) = (Blocks::new(5), None);
        Ok(Box::new(Minkowski { system_info: system_info.clone(), radius, voxel, blocks, finer }))
    },
};

const REMEDY: &str = "choose a smaller voxel";

/// For volume and Euler characteristic cubes are counted with their faces, edges and corners (K. Michielsen and H. De Raedt,
/// Phys. Rep. 347 (2001) 461). Their surface and mean breadth depend on how a shape lies to them, however fine they are, by a
/// third for plates, so that these are those of the spheres (`sphere_union.rs`).
struct Minkowski {
    system_info: SystemInfo,
    radius: f64,
    voxel: f64,
    /// Volume fraction, surface, mean breadth, Euler characteristic, and the volume of the box.
    blocks: Blocks,
    /// Differences that half the voxel makes to the first four in the first frame, of which the second and third need none:
    /// voxels make spheres that nearly touch one. NaN where so many voxels are too many.
    finer: Option<[f64; 4]>,
}

impl Measure for Minkowski {
    fn add(&mut self, frame: &View) -> Result<()> {
        let [fraction, euler] = voxel_functionals(frame, self.radius, self.voxel)?;
        if self.finer.is_none() {
            let finer = voxel_functionals(frame, self.radius, 0.5 * self.voxel).unwrap_or([f64::NAN; 2]);
            self.finer = Some([finer[0] - fraction, 0.0, 0.0, finer[1] - euler]);
        }
        let [surface, breadth] = surface_and_breadth(frame.simbox, frame.positions, self.radius)?;
        self.blocks.add_frame(&[fraction, surface, breadth, euler, frame.simbox.volume()]);
        Ok(())
    }

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        vec![&mut self.blocks, &mut self.finer]
    }

    fn results(&self) -> Result<Results> {
        let units = self.system_info.units;
        let means = self.blocks.means();
        let mut results = Results::default();
        let per_volume = self.blocks.derive(|m| vec![m[3] / m[4]]);
        let finer = self.finer.unwrap_or([f64::NAN; 4]);
        for (name, unit, value, finer) in [
            ("volume fraction", String::new(), means[0], finer[0]),
            ("surface", unit(units, 2, 0), means[1], finer[1]),
            ("mean breadth", unit(units, 1, 0), means[2], finer[2]),
            ("Euler characteristic", String::new(), means[3], finer[3]),
            ("Euler characteristic per volume", unit(units, -3, 0), per_volume[0], finer[3] / means[4].0),
        ] {
            let verdict = match finer.is_nan() {
                true => Some(Verdict::Doubtful),
                // Errors of a first order are twice what half the voxel changes.
                false => judge((2.0 * finer, None), value),
            };
            if let Some(verdict) = verdict {
                results.warn(name, (verdict, self.reason(finer)), REMEDY);
            }
            if verdict != Some(Verdict::Withheld) {
                results.value(name, &unit, value);
            }
        }
        Ok(results)
    }
}

impl Minkowski {
    /// Reason why a number is doubtful that half the voxel changes by so much.
    fn reason(&self, finer: f64) -> String {
        let voxel = digits(self.voxel);
        match finer.is_nan() {
            true => {
                format!("there are too many voxels of half the edge to tell whether {voxel} is fine enough")
            }
            false => format!(
                "in the first frame it changes by {} with voxels of half the edge: those of {voxel} are too coarse",
                digits(finer)
            ),
        }
    }
}

/// Volume fraction and Euler characteristic of spheres around the atoms of a frame.
fn voxel_functionals(frame: &View, radius: f64, voxel: f64) -> Result<[f64; 2]> {
    let lengths = frame.simbox.lengths();
    let along = lengths.map(|l| (l / voxel).round());
    if along.contains(&0.0) {
        let [x, y, z] = lengths;
        return Err(Error::input(format!(
            "a voxel of {voxel} is larger than the box, {x:e} by {y:e} by {z:e}"
        ))
        .hint("is the box what it should be? choose a smaller voxel"));
    }
    let voxels: f64 = along.iter().product();
    limits::memory(voxels, &format!("{voxels:.3e} voxels"), "choose a larger voxel")?;
    let shape = along.map(|n| n as usize);
    let count: usize = shape.iter().product();
    let edge: [f64; 3] = std::array::from_fn(|k| lengths[k] / shape[k] as f64);
    let cubes_around: f64 = edge.iter().map(|edge| 2.0 * radius / edge + 1.0).product();
    let looks = frame.positions.len() as f64 * cubes_around;
    limits::work(looks, "voxels around all atoms", "choose a larger voxel")?;
    let full = voxels_within(frame, radius, shape, edge);
    let [cubes, faces, edges, corners] = count_parts(&full, shape);
    Ok([cubes / count as f64, corners - edges + faces - cubes])
}

/// Voxels whose centres are nearer to an atom than the radius.
fn voxels_within(frame: &View, radius: f64, shape: [usize; 3], edge: [f64; 3]) -> Vec<bool> {
    let full: Vec<AtomicBool> = (0..shape.iter().product()).map(|_| AtomicBool::new(false)).collect();
    // Numbers of the voxels along an axis, and the squares of how far their centres are.
    let along = |s: f64, axis: usize| {
        let at = (s - s.floor()) * shape[axis] as f64 - 0.5;
        let reach = radius / edge[axis];
        let numbers = (at - reach).ceil() as i64..=(at + reach).floor() as i64;
        numbers.map(move |n| {
            let far = (n as f64 - at) * edge[axis];
            (n.rem_euclid(shape[axis] as i64) as usize, far * far)
        })
    };
    frame.positions.par_iter().for_each(|position| {
        let s = frame.simbox.to_fractional(*position);
        for (x, of_x) in along(s[0], 0) {
            for (y, of_y) in along(s[1], 1) {
                for (z, of_z) in along(s[2], 2) {
                    if of_x + of_y + of_z < radius * radius {
                        full[(x * shape[1] + y) * shape[2] + z].store(true, Ordering::Relaxed);
                    }
                }
            }
        }
    });
    full.into_iter().map(AtomicBool::into_inner).collect()
}

/// Full cubes, and the faces, edges and corners that belong to at least one, each counted once.
fn count_parts(full: &[bool], shape: [usize; 3]) -> [f64; 4] {
    let [nx, ny, nz] = shape;
    let row = |x: usize, y: usize| &full[(x % nx * ny + y % ny) * nz..][..nz];
    let plane = |x: usize| {
        let mut parts = [0u64; 4];
        for y in 0..ny {
            let rows = [row(x, y), row(x, y + 1), row(x + 1, y), row(x + 1, y + 1)];
            let mut here = rows.map(|row| row[0]);
            for z in 1..=nz {
                let above = rows.map(|row| row[if z < nz { z } else { 0 }]);
                // A voxel owns the faces, edges and corner at its upper ends: along z, y and x in the bits of the number.
                let around: [bool; 8] =
                    std::array::from_fn(|k| if k & 1 == 0 { here[k >> 1] } else { above[k >> 1] });
                parts[0] += u64::from(around[0]);
                for axis in [1, 2, 4] {
                    parts[1] += u64::from(around[0] || around[axis]);
                }
                for (a, b) in [(1, 2), (1, 4), (2, 4)] {
                    parts[2] += u64::from(around[0] || around[a] || around[b] || around[a | b]);
                }
                parts[3] += u64::from(around.iter().any(|f| *f));
                here = above;
            }
        }
        parts
    };
    let add = |a: [u64; 4], b: [u64; 4]| std::array::from_fn(|k| a[k] + b[k]);
    (0..nx).into_par_iter().map(plane).reduce(|| [0; 4], add).map(|n| n as f64)
}
