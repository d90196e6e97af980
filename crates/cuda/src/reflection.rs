//! Walls that reflect atoms: their planes, and the sub-step by itself. In batches kernels that move atoms reflect them,
//! too (`reflect` in `motion.cuh`).

use crate::device_data::DeviceData;
use crate::driver::{Buffer, Device, Kernel, Launch};
use crate::kernels::{self, ATOM_THREADS, Build};
use crate::sums::Summation;
use crate::wall_plane::{FieldTime, ReflectingWalls, WallPlane};
use jostle_core::backend::StageTime;
use jostle_core::{Precision, Result};
use jostle_potentials::external::{MOST_TURNS, ReflectingWall};

/// Option of the compiler by which kernels that move atoms reflect them.
pub const OPTION: &str = "-DREFLECTS=1";

/// Walls of a system that reflect atoms.
pub struct Reflection {
    reflect_atoms: Kernel,
    planes: Buffer<WallPlane>,
    count: usize,
    time: Buffer<FieldTime>,
}

/// Source of the kernel.
pub fn build(precision: Precision, sums: Summation) -> Build {
    kernels::module_source("", include_str!("../kernels/reflection.cu"), precision, sums)
}

impl Reflection {
    /// Walls on a device; `None` without any.
    ///
    /// # Errors
    /// If there is no compiler for the device, or not enough memory.
    pub fn new(
        device: &Device,
        walls: &[ReflectingWall],
        precision: Precision,
        sums: Summation,
    ) -> Result<Option<Self>> {
        if walls.is_empty() {
            return Ok(None);
        }
        let build = build(precision, sums);
        let module = device.compile("reflection.cu", &build.source, &build.options)?;
        let time = device.upload(&[FieldTime::AT_BEGINNING])?;
        let planes = walls.iter().map(|wall| WallPlane::of_reflecting(wall, time.address()));
        Ok(Some(Reflection {
            reflect_atoms: module.kernel("reflect_atoms")?,
            planes: device.upload(&planes.collect::<Vec<_>>())?,
            count: walls.len(),
            time,
        }))
    }

    /// Lets kernels find the walls.
    pub fn attach(&self, data: &mut DeviceData) {
        let (plane, most_turns) = (self.planes.address(), MOST_TURNS as i64);
        data.walls = ReflectingWalls { plane, count: self.count as i64, most_turns };
    }

    /// Sets the time of evaluations, from which the steps of a batch count on.
    ///
    /// # Errors
    /// If the device failed.
    pub fn set_time(&self, time: StageTime) -> Result<()> {
        self.time.write(0, &[FieldTime::of(time)])
    }

    /// Launch that reflects all atoms, at walls where they are when this part of the step that ends at the time set last
    /// is over.
    pub fn now(&self, data: &DeviceData, part: f64) -> Launch {
        let launch = Launch::new(&self.reflect_atoms, kernels::blocks_of(data.n), ATOM_THREADS);
        launch.with_value(*data).with_value(part)
    }
}
