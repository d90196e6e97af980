//! The structures that host and kernels share: `kernels/prelude.cuh` has the same, field by field.

use crate::driver::DeviceCopy;
use jostle_core::{SimBox, State, Vec3};

/// Steps that may follow each other before lists are looked at again.
pub const SLOTS: usize = 32;

/// The box as kernels use it.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct BoxGeometry {
    pub origin: Vec3,
    pub edge: Vec3,
    pub tilt: Vec3,
    pub inverse: Vec3,
    pub width: Vec3,
    pub periodic: [i32; 3],
    pub triclinic: i32,
    pub columns: [i32; 2],
    pub bins: i32,
    pub unused: i32,
    pub high: [f32; 6],
    pub low: [f32; 6],
}

impl BoxGeometry {
    /// The geometry of a box. Along an open axis it is four times as long as what the atoms occupy
    /// and `reach` on either side, so that nothing wraps. Columns and bins are for the caller.
    pub fn new(simbox: &SimBox, state: &State, reach: f64) -> Self {
        let (mut origin, mut edge, mut width) = (simbox.origin(), simbox.lengths(), simbox.widths());
        for k in 0..3 {
            if !simbox.periodic()[k] {
                let along = || state.position.iter().map(|x| x[k]);
                let low = along().fold(f64::INFINITY, f64::min);
                let high = along().fold(f64::NEG_INFINITY, f64::max);
                edge[k] = 4.0 * (high - low + 2.0 * reach);
                origin[k] = 0.5 * (low + high - edge[k]);
                width[k] = edge[k];
            }
        }
        let tilt = simbox.tilts();
        let steps = [edge[0], edge[1], edge[2], tilt[0], tilt[1], tilt[2]].map(|l| l / 4_294_967_296.0);
        let high = steps.map(|l| l as f32);
        BoxGeometry {
            origin,
            edge,
            tilt,
            inverse: edge.map(|l| 1.0 / l),
            width,
            periodic: simbox.periodic().map(i32::from),
            triclinic: i32::from(!simbox.is_orthorhombic()),
            columns: [1; 2],
            bins: 1,
            unused: 0,
            high,
            low: std::array::from_fn(|k| (steps[k] - f64::from(high[k])) as f32),
        }
    }
}

/// The state of affairs before a step.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(C)]
pub struct Slot {
    pub stale: i32,
    pub parity: i32,
    pub soon: i32,
    pub kept: i32,
    pub done: i64,
    pub row: i64,
}

/// How atoms move between two force evaluations.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Motion {
    pub timestep: f64,
    pub drift: f64,
    pub decay: f64,
    pub thermal_energy: f64,
    pub seed: u64,
    pub first_step: u64,
    pub long_range_every: u64,
    pub long_range_done: u64,
}

/// Why the device stopped: bits of [`Control::faults`].
pub mod faults {
    pub const TILE_FULL: i32 = 1;
    pub const ROWS_FULL: i32 = 2;
    pub const UNFIT: i32 = 4;
    pub const ESCAPED: i32 = 8;
    pub const NOT_FINITE: i32 = 16;
    pub const TORN: i32 = 32;
}

/// What steers a run on the device.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct Control {
    pub motion: Motion,
    pub target: i64,
    pub segment: i64,
    pub sample_every: i64,
    pub parts: i32,
    pub part: i32,
    pub builds: i64,
    pub replays: i64,
    pub first_bad: u64,
    pub fastest2: u32,
    pub unused: i32,
    pub prediction_distance: f64,
    pub skin: f64,
    pub reach: f64,
    pub limit2: f64,
    pub farthest2: f64,
    pub sorted: i32,
    pub reported: i32,
    pub faults: i32,
    pub need_tile: i32,
    pub need_rows: i32,
    pub largest_tile: i32,
    pub most_rows: i32,
    pub arrived: i32,
    pub slot: [Slot; SLOTS + 1],
}

impl Control {
    /// Before anything has happened: the list is to be built.
    pub fn new() -> Self {
        let motion = Motion {
            timestep: 0.0,
            drift: 0.0,
            decay: 1.0,
            thermal_energy: 0.0,
            seed: 0,
            first_step: 0,
            long_range_every: 1,
            long_range_done: 0,
        };
        let mut slot = [Slot::default(); SLOTS + 1];
        slot[0].stale = 1;
        Control {
            motion,
            target: 0,
            segment: 0,
            sample_every: 0,
            parts: 0,
            part: 0,
            builds: 0,
            replays: 0,
            first_bad: u64::MAX,
            fastest2: 0,
            unused: 0,
            prediction_distance: 0.0,
            skin: 0.0,
            reach: 0.0,
            limit2: 0.0,
            farthest2: 0.0,
            sorted: 0,
            faults: 0,
            reported: 0,
            need_tile: 0,
            need_rows: 0,
            largest_tile: 0,
            most_rows: 0,
            arrived: 0,
            slot,
        }
    }
}

/// Addresses of everything there is in device memory, for kernels.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C)]
pub struct DeviceData {
    pub n: i32,
    pub tile_capacity: i32,
    pub row_capacity: i32,
    pub tile_stride: i32,
    pub row_stride: i32,
    pub neighbor_capacity: i32,
    pub n_excluded: i32,
    pub unused: i32,
    pub geometry: BoxGeometry,
    pub control: u64,
    pub mass: u64,
    pub inverse_mass: u64,
    pub table: u64,
    pub displacement_limits: u64,
    pub position: [u64; 2],
    pub built: u64,
    pub displaced: u64,
    pub x: [u64; 2],
    pub v: [u64; 2],
    pub id: [u64; 2],
    pub image: [u64; 2],
    pub force: u64,
    pub charge_of: u64,
    pub charge: u64,
    pub bin: u64,
    pub rank: u64,
    pub height: u64,
    pub order: u64,
    pub count: u64,
    pub start: u64,
    pub sums: u64,
    pub owned: u64,
    pub tile_atoms: u64,
    pub n_tile_atoms: u64,
    pub origin: u64,
    pub list: u64,
    pub n_rows: u64,
    pub own_order: u64,
    pub neighbor: u64,
    pub n_neighbor: u64,
    pub excluded: u64,
    pub index_by_id: u64,
    pub partner: u64,
    pub partner_range: u64,
    pub met: u64,
    pub center: u64,
    pub extent: u64,
    pub relative: u64,
    pub share: u64,
    pub functions: u64,
    pub derivative: u64,
    pub embedding: u64,
    pub thermostat: u64,
    pub deviates: u64,
    pub partial: u64,
    pub total: u64,
}

/// A position as kernels see it, in `mixed`: fractions of the box in units of 2^-32.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(C, align(16))]
pub struct FixedPosition {
    pub fraction: [u32; 3],
    pub species: i32,
}

/// The same in `double`: Cartesian.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[repr(C, align(16))]
pub struct PlainPosition {
    pub position: Vec3,
    pub species: i64,
}

// SAFETY: numbers only, and no padding between them; so with the others.
unsafe impl DeviceCopy for Control {}
// SAFETY: see above.
unsafe impl DeviceCopy for DeviceData {}
// SAFETY: see above.
unsafe impl DeviceCopy for FixedPosition {}
// SAFETY: see above.
unsafe impl DeviceCopy for PlainPosition {}
