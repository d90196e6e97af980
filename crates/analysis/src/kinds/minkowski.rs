//! Minkowski functionals of the space that atoms take: volume, surface, mean breadth and Euler
//! characteristic, by which shapes of nuclear pasta are told apart.

use super::{Frames, Kind, Measure, Observable};
use crate::blocks::Blocks;
use crate::cells::Cells;
use crate::limits;
use crate::report::{Results, unit};
use crate::saved_state::SavedState;
use crate::settings::Setting;
use crate::view::{SystemInfo, View};
use jostle_core::{Dimension, Error, Result, Vector};
use rayon::prelude::*;

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
            about: "edge of the cubes that space is cut into [default: a quarter of the radius]",
        },
    ],
    new: |system_info, settings| {
        if settings.get("radius").is_none() {
            return Err(Error::input("the radius of the spheres must be given").hint("radius=1.5"));
        }
        let radius = settings.positive("radius", 1.0)?;
        let voxel = settings.positive("voxel", 0.25 * radius)?;
        if system_info.simbox.periodic() != [true; 3] || !system_info.simbox.is_orthorhombic() {
            return Err(Error::input("Minkowski functionals need a rectangular periodic box"));
        }
        Ok(Box::new(Minkowski { system_info: system_info.clone(), radius, voxel, blocks: Blocks::new(5) }))
    },
};

/// Cubes are counted with their faces, edges and corners (K. Michielsen and H. De Raedt, Phys. Rep.
/// 347 (2001) 461). Surface and mean breadth of what is made of cubes are larger than those of what
/// is smooth, by 3/2 where directions are equally frequent; they are divided by that.
struct Minkowski {
    system_info: SystemInfo,
    radius: f64,
    voxel: f64,
    blocks: Blocks,
}

impl Measure for Minkowski {
    fn add(&mut self, frame: &View) -> Result<()> {
        let lengths = frame.simbox.lengths();
        let along = lengths.map(|l| (l / self.voxel).round());
        if along.contains(&0.0) {
            let [x, y, z] = lengths;
            return Err(Error::input(format!(
                "a voxel of {} is larger than the box, {x:e} by {y:e} by {z:e}",
                self.voxel
            ))
            .hint("is the box what it should be? choose a smaller voxel"));
        }
        let voxels: f64 = along.iter().product();
        limits::memory(voxels, &format!("{voxels:.3e} voxels"), "choose a larger voxel")?;
        let shape = along.map(|n| n as usize);
        let count: usize = shape.iter().product();
        let edge: [f64; 3] = std::array::from_fn(|k| lengths[k] / shape[k] as f64);
        let cells = Cells::new(frame.simbox, frame.positions, self.radius)?;
        let looks = voxels * cells.around_each();
        limits::work(looks, "cells of atoms around all voxels", "choose a larger voxel")?;
        let origin = frame.simbox.origin();
        let full: Vec<bool> = (0..count)
            .into_par_iter()
            .map(|k| {
                let at = [k / (shape[1] * shape[2]), k / shape[2] % shape[1], k % shape[2]];
                let mut inside = false;
                cells.around(Vector::from_fn(|a| origin[a] + (at[a] as f64 + 0.5) * edge[a]), |_, _| {
                    inside = true
                });
                inside
            })
            .collect();
        let [cubes, faces, edges, corners] = count_parts(&full, shape);
        let volume = frame.simbox.volume();
        let h = edge.iter().product::<f64>().cbrt();
        let surface = (2.0 * faces - 6.0 * cubes) * h * h * 2.0 / 3.0;
        let breadth = (3.0 * cubes - 2.0 * faces + edges) * h * 0.5 * 2.0 / 3.0;
        let euler = corners - edges + faces - cubes;
        self.blocks.add_frame(&[cubes / count as f64, surface, breadth, euler, volume]);
        Ok(())
    }

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        vec![&mut self.blocks]
    }

    fn results(&self) -> Result<Results> {
        let units = self.system_info.units;
        let means = self.blocks.means();
        let mut results = Results::default();
        results.value("volume fraction", "", means[0]);
        results.value("surface", &unit(units, 2, 0), means[1]);
        results.value("mean breadth", &unit(units, 1, 0), means[2]);
        results.value("Euler characteristic", "", means[3]);
        let per_volume = self.blocks.derive(|m| vec![m[3] / m[4]]);
        results.value("Euler characteristic per volume", &unit(units, -3, 0), per_volume[0]);
        Ok(results)
    }
}

/// Full cubes, and the faces, edges and corners that belong to at least one, each counted once.
fn count_parts(full: &[bool], shape: [usize; 3]) -> [f64; 4] {
    let [nx, ny, nz] = shape;
    let at = |x: usize, y: usize, z: usize| full[((x % nx) * ny + y % ny) * nz + z % nz];
    let plane = |x: usize| {
        let mut parts = [0u64; 4];
        for y in 0..ny {
            for z in 0..nz {
                // A voxel owns the faces, edges and corner at its upper ends.
                let cube = |k: usize| at(x + (k >> 2), y + (k >> 1 & 1), z + (k & 1));
                let around: [bool; 8] = std::array::from_fn(cube);
                parts[0] += u64::from(around[0]);
                for axis in [1, 2, 4] {
                    parts[1] += u64::from(around[0] || around[axis]);
                }
                for (a, b) in [(1, 2), (1, 4), (2, 4)] {
                    parts[2] += u64::from(around[0] || around[a] || around[b] || around[a | b]);
                }
                parts[3] += u64::from(around.iter().any(|f| *f));
            }
        }
        parts
    };
    let add = |a: [u64; 4], b: [u64; 4]| std::array::from_fn(|k| a[k] + b[k]);
    (0..nx).into_par_iter().map(plane).reduce(|| [0; 4], add).map(|n| n as f64)
}
