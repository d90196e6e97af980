//! Launches of damping and friction over a given time.

use crate::codegen::{self, Recorder};
use crate::device_data::DeviceData;
use crate::driver::{Buffer, Device, Kernel, Launch};
use crate::kernels::{self, ATOM_THREADS, Build};
use crate::mid_step::MidStepForces;
use crate::shared::{SharedStructure, shared_structure};
use crate::sums::Summation;
use crate::wall_plane::{FieldTime, WallPlane};
use jostle_core::backend::StageTime;
use jostle_core::vector::vectors_of;
use jostle_core::{Components, Error, Precision, RememberedContact, Result, State, System, Vec3, Vector};
use jostle_potentials::Grains;
use jostle_potentials::external::{Surface, Wall, WallMotion};
use jostle_potentials::grains::{Contact, LAW_NUMBERS, Law, Springs, contact_forces, stretched, wall_number};

shared_structure! {
    /// Grains, and their law of contact.
    struct ContactData {
        law: [f64; LAW_NUMBERS],
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
        time: u64 = "const FieldTime*",
        /// Walls with friction.
        walls: u64 = "const WallPlane*",
        n_walls: i64,
        /// 1 where lists of atoms have all pairs.
        listed: i64,
        /// 1 where contacts remember.
        remember: i64,
        /// First slot of each grain by id, and the end of the last one's.
        first_slot: u64 = "const u32*",
        /// Number of the slots in use by id; they are the first ones.
        used: u64 = "u32*",
        /// Id of the other grain, or number of the wall, by slot.
        partner: u64 = "u32*",
        /// 1 where the contact of a slot is there in this step.
        touched: u64 = "u32*",
        /// Springs of sliding and of rolling by slot, as the one with the lower id sees them.
        springs: u64 = "double*",
    }
}

/// Slots of contacts that remember.
struct Slots {
    /// First slot of each grain by id, and the end of the last one's; empty where contacts do not remember.
    first: Vec<u32>,
    /// Copy of it for kernels, which is never empty.
    first_on_device: Buffer<u32>,
    used: Buffer<u32>,
    partner: Buffer<u32>,
    touched: Buffer<u32>,
    /// Springs as the atom with the lower id sees them, in the slots of both.
    springs: Buffer<f64>,
}

impl Slots {
    fn new(device: &Device, system: &System, grains: &Grains, n_walls: usize) -> Result<Self> {
        let mut first = Vec::new();
        if grains.remember() {
            let most: Vec<usize> =
                (0..grains.radius.len()).map(|species| grains.most_contacts(species, n_walls)).collect();
            let mut end = 0;
            first.push(0);
            for index in system.state.index_by_id() {
                end += most[usize::from(system.state.species[index])];
                let too_many =
                    || Error::input("grains of such different sizes have too many contacts to be remembered");
                first.push(u32::try_from(end).map_err(|_| too_many())?);
            }
        }
        let n = first.last().map_or(1, |end| *end as usize);
        Ok(Slots {
            first_on_device: device.upload(if first.is_empty() { &[0] } else { &first })?,
            used: device.alloc(first.len().max(1))?,
            first,
            partner: device.alloc(n)?,
            touched: device.alloc(n)?,
            springs: device.alloc(6 * n)?,
        })
    }

    /// Writes the contacts of a state.
    fn upload(&self, contacts: &[RememberedContact]) -> Result<()> {
        let Some(end) = self.first.last() else { return Ok(()) };
        let n = *end as usize;
        let (mut partner, mut springs) = (vec![0; n], vec![0.0; 6 * n]);
        let mut used = vec![0; self.first.len()];
        for contact in contacts {
            let [a, b] = contact.atoms;
            for [one, other] in [[a, b], [b, a]] {
                let Some([begin, end]) = self.first.get(one as usize..one as usize + 2) else { continue };
                let slot = (begin + used[one as usize]) as usize;
                if slot == *end as usize {
                    let message = format!("grain {} touches more others than have room around it", one + 1);
                    return Err(Error::simulation(message).hint("begin with fewer overlaps"));
                }
                used[one as usize] += 1;
                partner[slot] = other;
                springs[6 * slot..][..3].copy_from_slice(&contact.slide[..]);
                springs[6 * slot + 3..][..3].copy_from_slice(&contact.roll[..]);
            }
        }
        self.used.write(0, &used)?;
        self.partner.write(0, &partner)?;
        self.touched.write(0, &vec![0; n])?;
        self.springs.write(0, &springs)
    }

    /// Contacts that kernels have left, by ascending keys.
    fn contacts(&self) -> Result<Vec<RememberedContact>> {
        if self.first.is_empty() {
            return Ok(Vec::new());
        }
        let (used, partner, springs) = (self.used.to_vec()?, self.partner.to_vec()?, self.springs.to_vec()?);
        let mut contacts = Vec::new();
        for (id, (first, used)) in self.first.iter().zip(used).enumerate() {
            for slot in *first as usize..(first + used) as usize {
                // Both grains have the contact.
                let atoms = [id as u32, partner[slot]];
                if atoms[0] < atoms[1] {
                    let vector = |at: usize| Vector::from_fn(|k| springs[6 * slot + at + k]);
                    contacts.push(RememberedContact { atoms, slide: vector(0), roll: vector(3) });
                }
            }
        }
        contacts.sort_unstable_by_key(RememberedContact::key);
        Ok(contacts)
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
    slots: Slots,
    /// Memory to which the addresses in `said` point.
    _numbers: [Buffer<f64>; 2],
    _planes: Buffer<WallPlane>,
    time: Buffer<FieldTime>,
}

/// Source of the kernels.
pub fn build(precision: Precision, sums: Summation) -> Build {
    type Numbers = [Recorder];
    fn vector(x: &Numbers, first: usize) -> Vector<Recorder> {
        Vector([x[first], x[first + 1], x[first + 2]])
    }
    fn contact(x: &Numbers) -> Contact<Recorder> {
        let arms = [x[LAW_NUMBERS + 3], x[LAW_NUMBERS + 4]];
        let [overlap, mass, radius] = [0, 1, 2].map(|k| x[LAW_NUMBERS + k]);
        Contact { overlap, mass, radius, arms, normal: vector(x, LAW_NUMBERS + 5) }
    }
    const MOTION: usize = LAW_NUMBERS + 8;
    let angular = |x: &Numbers| [vector(x, MOTION + 3), vector(x, MOTION + 6)];
    let springs = |x: &Numbers| Springs { slide: vector(x, MOTION + 9), roll: vector(x, MOTION + 12) };
    let forces = codegen::scalar_function("contact_forces", MOTION + 15, |x| {
        let law = Law::from_numbers(std::array::from_fn(|k| x[k]));
        let (forces, left) = contact_forces(&law, &contact(x), vector(x, MOTION), angular(x), springs(x));
        let found = [forces.force, forces.twist, forces.torque, left.slide, left.roll];
        found.into_iter().flatten().collect()
    });
    let stretching = codegen::scalar_function("stretched_springs", MOTION + 16, |x| {
        let time = x[MOTION + 15];
        let after = stretched(springs(x), &contact(x), vector(x, MOTION), angular(x), time);
        [after.slide, after.roll].into_iter().flatten().collect()
    });
    let numbers = format!("#define FIRST_WALL {}u\n", wall_number(0));
    let physics = [numbers, forces, stretching, ContactData::source()].concat();
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
        let time = device.upload(&[FieldTime::AT_BEGINNING])?;
        let walls = walls.iter().filter(|wall| wall.surface == Surface::Grains);
        let mut planes: Vec<WallPlane> = walls.map(|wall| WallPlane::of(wall, time.address())).collect();
        let n_walls = planes.len();
        let slots = Slots::new(device, system, grains, n_walls)?;
        // Buffers are never empty.
        let none = WallPlane { time: 0, begin: 0.0, motion: WallMotion::REST.numbers(), side: 0.0, axis: 0 };
        planes.resize(n_walls.max(1), none);
        let planes = device.upload(&planes)?;
        let angular = device.alloc(3 * n)?;
        let said = ContactData {
            law: grains.law(),
            timestep: 0.0,
            longest: 2.0 * grains.radius.iter().fold(0.0, |longest: f64, r| longest.max(*r)),
            radius: numbers[0].address(),
            inverse_inertia: numbers[1].address(),
            angular: angular.address(),
            time: time.address(),
            walls: planes.address(),
            n_walls: n_walls as i64,
            listed: 0,
            remember: i64::from(grains.remember()),
            first_slot: slots.first_on_device.address(),
            used: slots.used.address(),
            partner: slots.partner.address(),
            touched: slots.touched.address(),
            springs: slots.springs.address(),
        };
        Ok(Contacts {
            apply_contact_friction: module.kernel("apply_contact_friction")?,
            cross: module.kernel("cross")?,
            said,
            angular,
            halfway: [device.alloc(3 * n)?, device.alloc(3 * n)?],
            inverse_inertia: inverse_inertia.by_id(&system.state),
            slots,
            _numbers: numbers,
            _planes: planes,
            time,
        })
    }

    /// Sets the time of evaluations, from which the steps of a batch count on.
    ///
    /// # Errors
    /// If the device failed.
    pub fn set_time(&self, time: StageTime) -> Result<()> {
        self.time.write(0, &[FieldTime::of(time)])
    }

    /// Sets if all pairs in contact are in lists of atoms.
    pub fn set_listed(&mut self, listed: bool) {
        self.said.listed = i64::from(listed);
    }

    /// Uploads the angular velocities and the contacts of a state.
    ///
    /// # Errors
    /// If the device does not answer.
    pub fn upload(&self, state: &State) -> Result<()> {
        let mut angular = vec![Vec3::ZERO; state.len()];
        for (id, w) in state.id.iter().zip(&state.angular_velocity) {
            angular[*id as usize] = *w;
        }
        self.slots.upload(&state.contacts)?;
        self.angular.write(0, angular.as_flattened())
    }

    /// Downloads the angular velocities and the contacts into a state.
    ///
    /// # Errors
    /// If the device does not answer.
    pub fn download(&self, state: &mut State) -> Result<()> {
        let turning = self.by_id()?;
        state.angular_velocity = state.id.iter().map(|id| turning[*id as usize]).collect();
        state.contacts = self.slots.contacts()?;
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
    pub fn now(&self, data: &DeviceData, timestep: f64) -> Vec<Launch> {
        self.passes(data, timestep, -1)
    }

    /// Launches to half the step first, then over the whole step with the friction of the velocities at half; then
    /// springs that contacts remember move on.
    fn passes(&self, data: &DeviceData, timestep: f64, slot: i32) -> Vec<Launch> {
        let said = ContactData { timestep, ..self.said };
        let [halfway, turning] = self.halfway.each_ref().map(Buffer::address);
        let here = [0, 0];
        let passes = [(here, [halfway, turning]), ([halfway, turning], here), (here, here)];
        let n_passes = if said.remember != 0 { 3 } else { 2 };
        let launch_of = |(pass, (from, to)): (usize, ([u64; 2], [u64; 2]))| {
            let launch = Launch::new(&self.apply_contact_friction, kernels::blocks_of(data.n), ATOM_THREADS);
            let launch = launch.with_value(*data).with_value(said).with_value(slot);
            let launch = launch.with_value(from[0]).with_value(from[1]);
            launch.with_value(to[0]).with_value(to[1]).with_value(pass as i32)
        };
        passes.into_iter().take(n_passes).enumerate().map(launch_of).collect()
    }
}

impl MidStepForces for Contacts {
    fn cross(&self, data: &DeviceData, slot: i32) -> Vec<Launch> {
        let mut launches = self.passes(data, 0.0, slot);
        let cross = Launch::new(&self.cross, kernels::blocks_of(data.n), ATOM_THREADS);
        launches.push(cross.with_value(*data).with_value(slot));
        launches
    }
}
