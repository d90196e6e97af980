//! Launches of damping and friction over a given time.

use crate::codegen;
use crate::device_data::DeviceData;
use crate::driver::{Buffer, Device, Kernel, Launch};
use crate::kernels::{self, ATOM_THREADS, Build};
use crate::mid_step::MidStepForces;
use crate::shared::{SharedStructure, shared_structure};
use crate::sums::Summation;
use jostle_core::vector::vectors_of;
use jostle_core::{Components, Precision, Result, State, System, Vec3, Vector};
use jostle_potentials::Grains;
use jostle_potentials::external::{Surface, Wall};
use jostle_potentials::grains::{Contact, friction};

shared_structure! {
    /// Wall with friction on grains.
    struct Face {
        axis: f64,
        at: f64,
        /// 1 or -1: direction from the wall to the grains.
        side: f64,
    }

    /// Grains, and their law of contact.
    struct ContactData {
        law: [f64; 4],
        /// Time step where there is no slot.
        timestep: f64,
        /// Distance of the centres of the largest grains that touch.
        longest: f64,
        /// Radii by species.
        radius: u64 = "const double*",
        /// Inverse moments of inertia by species.
        inverse_inertia: u64 = "const double*",
        /// Angular velocities by id and axis.
        angular: u64 = "double*",
        faces: u64 = "const Face*",
        n_faces: i64,
        /// 1 where lists of atoms have all pairs.
        listed: i64,
    }
}

/// Kernels, and angular velocities of grains.
pub struct Contacts {
    apply_contact_friction: Kernel,
    cross: Kernel,
    said: ContactData,
    /// Angular velocities by id and axis.
    angular: Buffer<f64>,
    /// Velocities and angular velocities at half a step.
    halfway: [Buffer<f64>; 2],
    /// Inverse moments of inertia by id, 0 where a grain does not turn.
    inverse_inertia: Vec<f64>,
    /// Memory to which the addresses in `said` point.
    _numbers: [Buffer<f64>; 2],
    _faces: Buffer<Face>,
}

/// Source of the kernels.
pub fn build(precision: Precision, sums: Summation) -> Build {
    let formula = codegen::scalar_function("friction", 20, |x| {
        let three = |first: usize| Vector([x[first], x[first + 1], x[first + 2]]);
        let contact = Contact { overlap: x[4], mass: x[5], arms: [x[6], x[7]], normal: three(8) };
        let law = [x[0], x[1], x[2], x[3]];
        let (force, twist) = friction(law, &contact, three(11), [three(14), three(17)]);
        force.into_iter().chain(twist).collect()
    });
    let physics = [formula, Face::source(), ContactData::source()].concat();
    kernels::mid_step_source(&physics, include_str!("../kernels/grains.cu"), precision, sums)
}

impl Contacts {
    /// Kernels for the grains of a system, and for its walls with friction.
    ///
    /// # Errors
    /// If there is no compiler for the device, or not enough memory.
    pub fn new(
        device: &Device,
        system: &System,
        grains: &Grains,
        walls: &[Wall],
        precision: Precision,
        sums: Summation,
    ) -> Result<Self> {
        let build = build(precision, sums);
        let module = device.compile("grains.cu", &build.source, &build.options)?;
        let n = system.state.len();
        let inverse_inertia = grains.inverse_inertia(system);
        let numbers = [device.upload(&grains.radius)?, device.upload(inverse_inertia.values())?];
        let walls = walls.iter().filter(|wall| wall.surface == Surface::Grains);
        let face = |wall: &Wall| Face { axis: wall.axis as f64, at: wall.at, side: wall.side.sign() };
        let mut faces: Vec<Face> = walls.map(face).collect();
        let n_faces = faces.len() as i64;
        // Buffers are never empty.
        faces.resize(faces.len().max(1), Face { axis: 0.0, at: 0.0, side: 0.0 });
        let faces = device.upload(&faces)?;
        let angular = device.alloc(3 * n)?;
        let said = ContactData {
            law: [grains.stiffness, grains.normal_damping, grains.tangential_damping, grains.friction],
            timestep: 0.0,
            longest: 2.0 * grains.radius.iter().fold(0.0, |longest: f64, r| longest.max(*r)),
            radius: numbers[0].address(),
            inverse_inertia: numbers[1].address(),
            angular: angular.address(),
            faces: faces.address(),
            n_faces,
            listed: 0,
        };
        Ok(Contacts {
            apply_contact_friction: module.kernel("apply_contact_friction")?,
            cross: module.kernel("cross")?,
            said,
            angular,
            halfway: [device.alloc(3 * n)?, device.alloc(3 * n)?],
            inverse_inertia: inverse_inertia.by_id(&system.state),
            _numbers: numbers,
            _faces: faces,
        })
    }

    /// Sets if all pairs in contact are in lists of atoms.
    pub fn set_listed(&mut self, listed: bool) {
        self.said.listed = i64::from(listed);
    }

    /// Uploads the angular velocities of a state.
    ///
    /// # Errors
    /// If the device does not answer.
    pub fn upload(&self, state: &State) -> Result<()> {
        let mut angular = vec![Vec3::ZERO; state.len()];
        for (id, w) in state.id.iter().zip(&state.angular_velocity) {
            angular[*id as usize] = *w;
        }
        self.angular.write(0, angular.as_flattened())
    }

    /// Downloads the angular velocities into a state.
    ///
    /// # Errors
    /// If the device does not answer.
    pub fn download(&self, state: &mut State) -> Result<()> {
        let turning = self.by_id()?;
        state.angular_velocity = state.id.iter().map(|id| turning[*id as usize]).collect();
        Ok(())
    }

    /// Rotational energy of all grains.
    ///
    /// # Errors
    /// If the device does not answer.
    pub fn rotation(&self) -> Result<f64> {
        let energies = self.by_id()?.into_iter().zip(&self.inverse_inertia).map(|(w, inverse)| {
            let square = w[0] * w[0] + w[1] * w[1] + w[2] * w[2];
            if *inverse > 0.0 { 0.5 * square / inverse } else { 0.0 }
        });
        Ok(energies.sum())
    }

    fn by_id(&self) -> Result<Vec<Vec3>> {
        Ok(vectors_of(&self.angular.to_vec()?).to_vec())
    }

    /// Launches of damping and friction over a given time.
    pub fn now(&self, data: &DeviceData, timestep: f64) -> [Launch; 2] {
        self.impulses(data, timestep, -1)
    }

    /// Launches to half the step first, then over the whole step with the friction of the velocities at half.
    fn impulses(&self, data: &DeviceData, timestep: f64, slot: i32) -> [Launch; 2] {
        let said = ContactData { timestep, ..self.said };
        let [halfway, turning] = self.halfway.each_ref().map(Buffer::address);
        [([0, 0], [halfway, turning], 0.5), ([halfway, turning], [0, 0], 1.0)].map(|(from, to, part)| {
            let launch = Launch::new(&self.apply_contact_friction, kernels::blocks_of(data.n), ATOM_THREADS);
            let launch = launch.with_value(*data).with_value(said).with_value(slot);
            let launch = launch.with_value(from[0]).with_value(from[1]);
            launch.with_value(to[0]).with_value(to[1]).with_value(part)
        })
    }
}

impl MidStepForces for Contacts {
    fn cross(&self, data: &DeviceData, slot: i32) -> Vec<Launch> {
        let mut launches = self.impulses(data, 0.0, slot).to_vec();
        let cross = Launch::new(&self.cross, kernels::blocks_of(data.n), ATOM_THREADS);
        launches.push(cross.with_value(*data).with_value(slot));
        launches
    }
}
