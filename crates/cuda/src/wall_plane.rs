//! Planes of walls, and the time by which they move.

use crate::codegen;
use crate::shared::{SharedStructure, shared_structure};
use jostle_core::backend::StageTime;
use jostle_potentials::external::{
    ReflectingWall, Side, Wall, WallMotion, displacement_and_velocity, reflected,
};

shared_structure! {
    /// Time of evaluations.
    pub struct FieldTime {
        /// Time at the beginning of a stage.
        pub start: f64,
        pub timestep: f64,
        /// Steps of the stage before a batch.
        pub steps: i64,
    }

    /// Plane of a wall.
    pub struct WallPlane {
        pub time: u64 = "const FieldTime*",
        /// Coordinate on its axis before it moves.
        pub begin: f64,
        /// Its motion, see [`WallMotion::numbers`].
        pub motion: [f64; WallMotion::NUMBERS],
        /// 1 or -1: direction from the plane to the atoms.
        pub side: f64,
        pub axis: i64,
    }

    /// Walls that reflect atoms.
    #[derive(Default)]
    pub struct ReflectingWalls {
        pub plane: u64 = "const WallPlane*",
        pub count: i64,
        /// Most reflections at each of them in one drift.
        pub most_turns: i64,
    }
}

impl FieldTime {
    /// Time of a run that begins.
    pub const AT_BEGINNING: FieldTime = FieldTime { start: 0.0, timestep: 0.0, steps: 0 };

    /// Time for kernels.
    pub fn of(StageTime { start, timestep, steps }: StageTime) -> Self {
        FieldTime { start, timestep, steps: steps as i64 }
    }
}

impl WallPlane {
    /// Plane of a wall with a force; `time` is the address of the time of evaluations.
    pub fn of(wall: &Wall, time: u64) -> Self {
        Self::new(wall.axis, wall.begin(), wall.motion, wall.side, time)
    }

    /// Plane of a wall that reflects atoms.
    pub fn of_reflecting(wall: &ReflectingWall, time: u64) -> Self {
        Self::new(wall.axis, wall.begin, wall.motion, wall.side, time)
    }

    fn new(axis: usize, begin: f64, motion: WallMotion, side: Side, time: u64) -> Self {
        WallPlane { time, begin, motion: motion.numbers(), side: side.sign(), axis: axis as i64 }
    }
}

/// Source of the structures.
pub fn structures() -> String {
    [FieldTime::source(), WallPlane::source(), ReflectingWalls::source()].join("\n")
}

/// Source of the time of evaluations, of the motion of walls, and of reflections.
pub fn source() -> String {
    let motion = codegen::scalar_function("wall_motion", WallMotion::NUMBERS + 1, |x| {
        let numbers = std::array::from_fn(|k| x[k]);
        displacement_and_velocity(numbers, x[WallMotion::NUMBERS]).to_vec()
    });
    let reflection = codegen::scalar_function("reflected_atom", 5, |x| {
        reflected([x[0], x[1]], [x[2], x[3]], x[4]).to_vec()
    });
    [&motion, &reflection, include_str!("../kernels/time.cuh")].join("\n")
}
