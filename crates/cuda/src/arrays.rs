//! Atoms in device memory.

use crate::device_data::{
    AtomArrays, BoxGeometry, CartesianPosition, Control, DeviceData, FixedPosition, OwnedAtoms, SortArrays,
};
use crate::driver::{Buffer, Device};
use crate::kernels::SCAN_BLOCK;
use crate::snapshot::Snapshots;
use jostle_core::backend::{DeviceArrays, NumberType};
use jostle_core::vector::vectors_of;
use jostle_core::{AtomVector, Components, Precision, Result, SimBox, Snapshot, State, System, Vec3, Vector};
use jostle_potentials::Forces;

/// Arrays over atoms and bins, and the control block.
pub struct Arrays {
    precision: Precision,
    n: usize,
    pub control: Buffer<Control>,
    mass: Buffer<f64>,
    inverse_mass: Buffer<f64>,
    driven: Option<Buffer<u32>>,
    table: Table,
    /// Limits of each species: see [`jostle_core::prediction::displacement_limits`].
    displacement_limits: Table,
    /// Positions for the forces, in units of 16 bytes: two sets, and the positions of the list.
    position: [Buffer<FixedPosition>; 3],
    /// Bits of atoms that are displaced from where the list has them.
    displaced: Buffer<u32>,
    x: [Buffer<f64>; 2],
    v: [Buffer<f64>; 2],
    id: [Buffer<u32>; 2],
    image: [Buffer<i32>; 2],
    force: Reals,
    /// Forces of meshes, where sums over all images have forces.
    mesh_force: Option<Reals>,
    /// Charges by id and in storage order, where charges have forces.
    charge: Option<[Reals; 2]>,
    bin: Buffer<u32>,
    rank: Buffer<u32>,
    height: Buffer<u32>,
    order: Buffer<u64>,
    count: Buffer<u32>,
    start: Buffer<u32>,
    sums: Buffer<u32>,
    snapshots: Snapshots,
}

/// Numbers in the precision of the forces.
pub enum Reals {
    Single(Buffer<f32>),
    Double(Buffer<f64>),
}

type Table = Reals;

impl Reals {
    /// Copies numbers to a device.
    ///
    /// # Errors
    /// If the device has not enough memory.
    pub fn upload(device: &Device, precision: Precision, values: &[f64]) -> Result<Self> {
        Ok(match precision {
            Precision::Mixed => {
                Reals::Single(device.upload(&values.iter().map(|x| *x as f32).collect::<Vec<_>>())?)
            }
            Precision::Double => Reals::Double(device.upload(values)?),
        })
    }

    /// Allocates memory for numbers.
    ///
    /// # Errors
    /// If the device has not enough memory.
    pub fn alloc(device: &Device, precision: Precision, count: usize) -> Result<Self> {
        Ok(match precision {
            Precision::Mixed => Reals::Single(device.alloc(count)?),
            Precision::Double => Reals::Double(device.alloc(count)?),
        })
    }

    /// Address in device memory.
    pub fn address(&self) -> u64 {
        match self {
            Reals::Single(buffer) => buffer.address(),
            Reals::Double(buffer) => buffer.address(),
        }
    }

    /// Numbers as bytes.
    pub fn as_bytes(&self) -> Buffer<u8> {
        match self {
            Reals::Single(buffer) => buffer.as_bytes(),
            Reals::Double(buffer) => buffer.as_bytes(),
        }
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        match self {
            Reals::Single(buffer) => 4 * buffer.len(),
            Reals::Double(buffer) => 8 * buffer.len(),
        }
    }

    /// Replaces all numbers.
    fn write(&self, values: &[f64]) -> Result<()> {
        match self {
            Reals::Single(buffer) => buffer.write(0, &values.iter().map(|x| *x as f32).collect::<Vec<_>>()),
            Reals::Double(buffer) => buffer.write(0, values),
        }
    }

    fn to_vec(&self) -> Result<Vec<f64>> {
        Ok(match self {
            Reals::Single(buffer) => buffer.to_vec()?.into_iter().map(f64::from).collect(),
            Reals::Double(buffer) => buffer.to_vec()?,
        })
    }
}

/// Bits of driven atoms by id; `None` where there are none.
fn driven_bits(system: &System) -> Option<Vec<u32>> {
    let state = &system.state;
    let mut bits = vec![0; state.len().div_ceil(32)];
    let driven = (0..state.len()).filter(|index| system.driven(*index).is_some());
    driven.map(|index| state.id[index]).for_each(|id| bits[id as usize / 32] |= 1 << (id % 32));
    bits.iter().any(|word| *word != 0).then_some(bits)
}

/// 16-byte units of a position.
fn position_units(precision: Precision) -> usize {
    match precision {
        Precision::Mixed => 1,
        Precision::Double => size_of::<CartesianPosition>() / size_of::<FixedPosition>(),
    }
}

impl Arrays {
    /// Allocates memory for the atoms of a system, and uploads what does not change about them.
    ///
    /// # Errors
    /// If the device has not enough memory.
    pub fn new(
        device: &Device,
        system: &System,
        forces: &Forces,
        precision: Precision,
        table: &[f64],
        limits: &[f64],
    ) -> Result<Self> {
        let n = system.state.len();
        let (mass, inverse) = system.dynamic_masses();
        let charges = forces.electrostatics.as_ref().map(|term| term.charges(system));
        let charges = charges.or_else(|| forces.vacuum.as_ref().map(|term| term.charges(system)));
        let charge = |by_id: Vec<f64>| -> Result<_> {
            Ok([Reals::upload(device, precision, &by_id)?, Reals::alloc(device, precision, n)?])
        };
        // Limits as kernels need them, and the inverse of their squares.
        let limits: Vec<f64> = limits.iter().flat_map(|part| [*part, 1.0 / (part * part)]).collect();
        let positions = || device.alloc(n * position_units(precision));
        let has_mesh = forces.has_reciprocal_sum();
        Ok(Arrays {
            precision,
            n,
            control: device.upload(&[Control::new()])?,
            mass: device.upload(mass.values())?,
            inverse_mass: device.upload(inverse.values())?,
            driven: driven_bits(system).map(|bits| device.upload(&bits)).transpose()?,
            table: Reals::upload(device, precision, table)?,
            displacement_limits: Reals::upload(device, precision, &limits)?,
            position: [positions()?, positions()?, positions()?],
            displaced: device.alloc(n.div_ceil(32))?,
            x: [device.alloc(3 * n)?, device.alloc(3 * n)?],
            v: [device.alloc(3 * n)?, device.alloc(3 * n)?],
            id: [device.alloc(n)?, device.alloc(n)?],
            image: [device.alloc(3 * n)?, device.alloc(3 * n)?],
            force: Reals::alloc(device, precision, 3 * n)?,
            mesh_force: has_mesh.then(|| Reals::alloc(device, precision, 3 * n)).transpose()?,
            charge: charges.map(charge).transpose()?,
            bin: device.alloc(n)?,
            rank: device.alloc(n)?,
            height: device.alloc(n)?,
            order: device.alloc(n)?,
            count: device.alloc(1)?,
            start: device.alloc(2)?,
            sums: device.alloc(1)?,
            snapshots: Snapshots::default(),
        })
    }

    /// Allocates memory for so many bins.
    ///
    /// # Errors
    /// If the device has not enough memory.
    pub fn resize_bins(&mut self, device: &Device, bins: usize) -> Result<()> {
        if self.count.len() != bins {
            self.count = device.alloc(bins)?;
            self.start = device.alloc(bins + 1)?;
            self.sums = device.alloc(bins.div_ceil(SCAN_BLOCK))?;
        }
        Ok(())
    }

    /// Addresses, for kernels; those of a pair algorithm are left at 0.
    pub fn data(&self, geometry: BoxGeometry) -> DeviceData {
        let charges = self.charge.as_ref().map_or([0; 2], |charge| charge.each_ref().map(Reals::address));
        let atoms = AtomArrays {
            mass: self.mass.address(),
            inverse_mass: self.inverse_mass.address(),
            driven: self.driven.as_ref().map_or(0, Buffer::address),
            displacement_limits: self.displacement_limits.address(),
            position: [self.position[0].address(), self.position[1].address()],
            built: self.position[2].address(),
            displaced: 0,
            x: self.x.each_ref().map(Buffer::address),
            v: self.v.each_ref().map(Buffer::address),
            id: self.id.each_ref().map(Buffer::address),
            image: self.image.each_ref().map(Buffer::address),
            force: self.force.address(),
            charge_by_id: charges[0],
            charge: charges[1],
            ..AtomArrays::default()
        };
        let sort = SortArrays {
            bin: self.bin.address(),
            rank: self.rank.address(),
            height: self.height.address(),
            order: self.order.address(),
            count: self.count.address(),
            start: self.start.address(),
            sums: self.sums.address(),
        };
        DeviceData {
            n: self.n as i32,
            owned: OwnedAtoms { first: 0, end: self.n as i32 },
            geometry,
            control: self.control.address(),
            table: self.table.address(),
            atoms,
            sort,
            ..DeviceData::default()
        }
    }

    /// Address of the array for forces of meshes, where there is one.
    pub fn mesh_force(&self) -> Option<u64> {
        self.mesh_force.as_ref().map(Reals::address)
    }

    /// Copies the atoms to the device, into the first set of arrays. Positions for the forces
    /// follow from the kernel `place_atoms`, which finds the species in `bin`.
    ///
    /// # Errors
    /// If the device was lost.
    pub fn upload(&self, state: &State) -> Result<()> {
        self.x[0].write(0, state.position.as_flattened())?;
        self.v[0].write(0, state.velocity.as_flattened())?;
        self.id[0].write(0, &state.id)?;
        self.image[0].write(0, state.image.as_flattened())?;
        self.bin.write(0, &state.species.iter().map(|s| u32::from(*s)).collect::<Vec<_>>())?;
        self.clear_bins()
    }

    /// Allows atoms to be displaced from where lists have them; pairs around them are searched for then.
    pub fn allow_displaced(&self, data: &mut DeviceData) {
        data.atoms.displaced = self.displaced.address();
    }

    /// Empties the bins, as the sort requires.
    pub fn clear_bins(&self) -> Result<()> {
        self.count.clear()
    }

    /// Copies positions, velocities and images to the current set of arrays, in storage order.
    pub fn overwrite(&self, control: &Control, state: &State) -> Result<()> {
        let set = control.sorted as usize;
        self.x[set].write(0, state.position.as_flattened())?;
        self.v[set].write(0, state.velocity.as_flattened())?;
        self.image[set].write(0, state.image.as_flattened())
    }

    /// Copies velocities to the current set of arrays, in storage order.
    pub fn overwrite_velocities(&self, control: &Control, velocities: &[Vec3]) -> Result<()> {
        self.v[control.sorted as usize].write(0, velocities.as_flattened())
    }

    /// Gives atoms other charges, by id.
    ///
    /// # Errors
    /// If the device was lost.
    pub fn set_charges(&self, control: &Control, by_id: &[f64]) -> Result<()> {
        let Some([of_ids, of_atoms]) = &self.charge else { return Ok(()) };
        let ids = self.id[control.sorted as usize].to_vec()?;
        of_ids.write(by_id)?;
        of_atoms.write(&ids.iter().map(|id| by_id[*id as usize]).collect::<Vec<_>>())
    }

    /// Forces, by id.
    ///
    /// # Errors
    /// If the device was lost.
    pub fn forces_by_id(&self, control: &Control) -> Result<Vec<Vec3>> {
        let mut by_id = vec![Vec3::ZERO; self.n];
        let ids = self.id[control.sorted as usize].to_vec()?;
        ids.iter()
            .zip(vectors_of(&self.force.to_vec()?))
            .for_each(|(id, force)| by_id[*id as usize] = *force);
        Ok(by_id)
    }

    /// Replaces forces, given by id.
    ///
    /// # Errors
    /// If the device was lost.
    pub fn overwrite_forces(&self, control: &Control, by_id: &[Vec3]) -> Result<()> {
        let ids = self.id[control.sorted as usize].to_vec()?;
        let forces: Vec<Vec3> = ids.iter().map(|id| by_id[*id as usize]).collect();
        self.force.write(forces.as_flattened())
    }

    /// Arrays of the atoms, for other programs.
    pub fn share(&self, device: &Device, control: &Control) -> DeviceArrays {
        let (set, n) = (control.sorted as usize, self.n);
        let vectors = |buffer| device.share(buffer, NumberType::Double, [n, 3]);
        DeviceArrays {
            positions: vectors(&self.x[set]),
            velocities: vectors(&self.v[set]),
            forces: match &self.force {
                Reals::Single(buffer) => device.share(buffer, NumberType::Single, [n, 3]),
                Reals::Double(buffer) => vectors(buffer),
            },
            ids: device.share(&self.id[set], NumberType::Unsigned, [n, 1]),
            images: device.share(&self.image[set], NumberType::Integer, [n, 3]),
        }
    }

    /// Copies the atoms back.
    pub fn download(&self, control: &Control, state: &mut State) -> Result<()> {
        let set = control.sorted as usize;
        state.id = self.id[set].to_vec()?;
        state.position = vectors_of(&self.x[set].to_vec()?).to_vec();
        state.velocity = vectors_of(&self.v[set].to_vec()?).to_vec();
        state.image = self.image[set].to_vec()?.as_chunks().0.to_vec();
        state.force = vectors_of(&self.force.to_vec()?).to_vec();
        let positions = self.position[control.slot[0].parity as usize].to_vec()?;
        state.species = match self.precision {
            Precision::Mixed => positions.iter().map(|p| p.species as u16).collect(),
            // Cartesian positions have two units, of which the second ends with the species.
            Precision::Double => positions.chunks_exact(2).map(|p| p[1].z as u16).collect(),
        };
        Ok(())
    }

    /// Begins a snapshot of some vectors; `None` where it must be made at once.
    ///
    /// # Errors
    /// If the device was lost.
    pub fn snapshot(
        &mut self,
        device: &Device,
        control: &Control,
        simbox: SimBox,
        vectors: &[AtomVector],
    ) -> Result<Option<Snapshot>> {
        let set = control.sorted as usize;
        let asked = |vector| vectors.contains(&vector);
        let parts = [
            Some(self.id[set].as_bytes()),
            Some(self.x[set].as_bytes()),
            Some(self.image[set].as_bytes()),
            asked(AtomVector::Velocity).then(|| self.v[set].as_bytes()),
            asked(AtomVector::Force).then(|| self.force.as_bytes()),
        ];
        self.snapshots.begin(device, &parts, simbox, self.precision, vectors)
    }

    /// Positions for which the list was built, to the precision of the kernels.
    pub fn built(&self, geometry: &BoxGeometry) -> Result<Vec<Vec3>> {
        let units = self.position[2].to_vec()?;
        let word = |low: u32, high: u32| f64::from_bits(u64::from(high) << 32 | u64::from(low));
        Ok(match self.precision {
            Precision::Mixed => units
                .iter()
                .map(|p| {
                    // Middle of the interval that rounds down to the stored number.
                    let s = [p.x, p.y, p.z].map(|n| (f64::from(n) + 0.5) / 4_294_967_296.0);
                    let (l, t) = (geometry.edge, geometry.tilt);
                    Vector([
                        geometry.origin[0] + s[0] * l[0] + s[1] * t[0] + s[2] * t[1],
                        geometry.origin[1] + s[1] * l[1] + s[2] * t[2],
                        geometry.origin[2] + s[2] * l[2],
                    ])
                })
                .collect(),
            Precision::Double => units
                .chunks_exact(2)
                .map(|p| {
                    let (low, high) = (p[0], p[1]);
                    Vector([word(low.x, low.y), word(low.z, low.species as u32), word(high.x, high.y)])
                })
                .collect(),
        })
    }

    /// Bytes occupied.
    pub fn bytes(&self) -> usize {
        let real = match self.precision {
            Precision::Mixed => 4,
            Precision::Double => 8,
        };
        let charges = self.charge.iter().flatten().chain(&self.mesh_force).map(Reals::bytes).sum::<usize>();
        let per_atom = 3 * 16 * position_units(self.precision) + 2 * (48 + 4 + 12) + 3 * real + 20;
        charges + self.n * per_atom + 4 * (self.count.len() + self.start.len() + self.displaced.len())
    }
}
