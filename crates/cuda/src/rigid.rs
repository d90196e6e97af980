//! Rigid bodies (`kernels/rigid.cu`), as in [`jostle_core::constraints`].

use crate::codegen::{Recorder, scalar_function};
use crate::device_data::DeviceData;
use crate::driver::{Buffer, Device, DeviceCopy, Kernel, Launch, Module, Waits};
use crate::shared::{SharedStructure, shared_structure};
use crate::sums::Summation;
use jostle_core::constraints::{
    ATOM_NUMBERS, Axes, Body, INERTIA_NUMBERS, Inertia, angular_velocity, axes, begin_turn, improve_turn,
    in_space, turn_of_atom, turned,
};
use jostle_core::{BodyForm, Result, Vector};

/// Number of threads that move a body; of the larger kind where a body has more atoms than [`LARGE`].
const THREADS: [u32; 2] = [32, 256];
const LARGE: usize = 256;

/// Mark of a linear body: as in `rigid.cu`.
const LINEAR: u32 = 1;

shared_structure! {
    /// Rigid bodies.
    pub struct RigidData {
        /// First slot and number of atoms of each body, where its numbers begin, and its form.
        pub body: u64 = "const uint4*",
        /// Inertia of each body, and mass and place of each of its atoms.
        pub numbers: u64 = "const double*",
    }
}

/// Kernels of rigid bodies.
pub struct RigidBodies {
    data: RigidData,
    moves: Kernel,
    kick: Kernel,
    brake: Kernel,
    trial_kick: Kernel,
    hold: Kernel,
    n_bodies: u32,
    threads: u32,
    summation: Summation,
    rows: Buffer<[u32; 4]>,
    numbers: Buffer<f64>,
}

/// Number of threads for bodies of which the largest has so many atoms.
fn threads(bodies: &[Body]) -> u32 {
    let most = bodies.iter().map(|body| body.ids.len()).max().unwrap_or(0);
    THREADS[usize::from(most > LARGE)]
}

fn vector(x: &[Recorder]) -> Vector<Recorder> {
    Vector([x[0], x[1], x[2]])
}

fn nine(x: &[Recorder]) -> Axes<Recorder> {
    [vector(&x[0..3]), vector(&x[3..6]), vector(&x[6..9])]
}

/// Definitions that `rigid.cu` needs in front of it; nothing without bodies.
pub fn source(bodies: &[Body]) -> String {
    if bodies.is_empty() {
        return String::new();
    }
    let mut text = format!(
        "enum {{ RIGID_THREADS = {}, INERTIA_NUMBERS = {INERTIA_NUMBERS}, ATOM_NUMBERS = {ATOM_NUMBERS} }};\n",
        threads(bodies)
    );
    text += &RigidData::source();
    for (name, form) in [("rigid_axes_linear", BodyForm::Linear), ("rigid_axes_spatial", BodyForm::Spatial)] {
        text += &scalar_function(name, 6, |x| {
            axes(form, vector(x), vector(&x[3..])).into_iter().flatten().collect()
        });
    }
    let after_inertia = 9 + INERTIA_NUMBERS;
    text += &scalar_function("rigid_spin", after_inertia + 3, |x| {
        angular_velocity(&nine(x), &Inertia::from_numbers(&x[9..]), vector(&x[after_inertia..])).to_vec()
    });
    text += &scalar_function("rigid_begin", after_inertia + 4, |x| {
        let momentum = vector(&x[after_inertia..]);
        let (half, u) = begin_turn(&nine(x), &Inertia::from_numbers(&x[9..]), momentum, x[after_inertia + 3]);
        half.into_iter().chain(u).collect()
    });
    text += &scalar_function("rigid_improve", INERTIA_NUMBERS + 6, |x| {
        let (half, u) = (vector(&x[INERTIA_NUMBERS..]), vector(&x[INERTIA_NUMBERS + 3..]));
        let (u, change) = improve_turn(&Inertia::from_numbers(x), half, u);
        u.into_iter().chain([change]).collect()
    });
    text += &scalar_function("rigid_turned", 12, |x| {
        turned(&nine(x), vector(&x[9..])).into_iter().flatten().collect()
    });
    text += &scalar_function("rigid_arm", 12, |x| in_space(&nine(x), vector(&x[9..])).to_vec());
    text + &scalar_function("rigid_turn", 27, |x| {
        let axes = [&nine(x), &nine(&x[9..])];
        turn_of_atom(axes, vector(&x[18..]), vector(&x[21..]), vector(&x[24..])).to_vec()
    })
}

impl RigidBodies {
    /// Kernels of bodies whose atoms have slots from `first_slot` on, one body after the other.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(
        device: &Device,
        module: &Module,
        bodies: &[Body],
        first_slot: u32,
        summation: Summation,
    ) -> Result<Self> {
        let (mut rows, mut numbers, mut slot) = (Vec::new(), Vec::new(), first_slot);
        for body in bodies {
            let form = if body.form == BodyForm::Linear { LINEAR } else { 0 };
            let atoms = body.ids.len() as u32;
            rows.push([slot, atoms, numbers.len() as u32, form]);
            numbers.extend(body.numbers());
            slot += atoms;
        }
        let (rows, numbers) = (device.upload(&rows)?, device.upload(&numbers)?);
        Ok(RigidBodies {
            data: RigidData { body: rows.address(), numbers: numbers.address() },
            moves: module.kernel("rigid_move")?,
            kick: module.kernel("rigid_kick")?,
            brake: module.kernel("rigid_brake")?,
            trial_kick: module.kernel("rigid_trial_kick")?,
            hold: module.kernel("rigid_hold")?,
            n_bodies: bodies.len() as u32,
            threads: threads(bodies),
            summation,
            rows,
            numbers,
        })
    }

    fn launch(&self, kernel: &Kernel, data: &DeviceData, constraints: impl DeviceCopy) -> Launch {
        let launch = Launch::new(kernel, self.n_bodies, self.threads).with_value(*data);
        launch.with_value(constraints).with_value(self.data)
    }

    /// Number of shares that they leave of a sum, behind those of constraints.
    pub fn shares(&self) -> u32 {
        match self.summation {
            Summation::Fast => self.n_bodies,
            // Their first atoms have shares already.
            Summation::Exact(_) => 0,
        }
    }

    /// Launch that moves bodies, after that of all other atoms: see [`crate::constraints::Constraints::moves`].
    pub fn moves(&self, data: &DeviceData, constraints: impl DeviceCopy, slot: i32, from: i32) -> Launch {
        let launch = self.launch(&self.moves, data, constraints).with_value(slot).with_value(from);
        launch.waits(Waits::AllStreams)
    }

    /// Launch of the second half of a kick likewise.
    pub fn kick(
        &self,
        data: &DeviceData,
        constraints: impl DeviceCopy,
        slot: i32,
        trigger: i32,
        first_share: u32,
    ) -> Launch {
        let launch = self.launch(&self.kick, data, constraints).with_value(slot).with_value(trigger);
        launch.with_value(first_share as i32)
    }

    /// Launch that follows a kick: see [`crate::constraints::Constraints::brake`].
    pub fn brake(
        &self,
        data: &DeviceData,
        constraints: impl DeviceCopy,
        times: [f64; 2],
        first_share: u32,
    ) -> Launch {
        self.with_times(self.launch(&self.brake, data, constraints), times, first_share)
    }

    /// Launch that computes the impulses of a kick: see [`crate::constraints::Constraints::trial_kick`].
    pub fn trial_kick(
        &self,
        data: &DeviceData,
        constraints: impl DeviceCopy,
        times: [f64; 2],
        first_share: u32,
    ) -> Launch {
        self.with_times(self.launch(&self.trial_kick, data, constraints), times, first_share)
    }

    fn with_times(&self, launch: Launch, [time, turning]: [f64; 2], first_share: u32) -> Launch {
        launch.with_value(time).with_value(turning).with_value(first_share as i32)
    }

    /// Launch that turns bodies after a drift by `dt`.
    pub fn hold(&self, data: &DeviceData, constraints: impl DeviceCopy, dt: f64) -> Launch {
        self.launch(&self.hold, data, constraints).with_value(dt)
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        16 * self.rows.len() + 8 * self.numbers.len()
    }
}
