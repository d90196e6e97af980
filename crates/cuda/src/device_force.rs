//! Forces that others compute in the memory of the device (`kernels/device_force.cu`): their rows of positions, and
//! the sum of their rows of forces with the forces of the last evaluation.

use crate::device_data::DeviceData;
use crate::driver::{Buffer, Device, Event, Kernel, Launch};
use crate::kernels::{self, ATOM_THREADS, Build};
use crate::neighbor_engine::Trigger;
use crate::sums::Summation;
use jostle_core::backend::{DeviceForce, NumberType, SharedArray};
use jostle_core::{Error, Precision, Result, SimBox};
use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;

/// Id that stands for no atom, as in `prelude.cuh`.
const NO_ATOM: u32 = u32::MAX;

/// Most arrays of forces that are kept for sums which the device has not made yet.
const MOST_UNDER_WAY: usize = 4;

/// Kernels, and the rows of each force.
pub struct DeviceForceKernels {
    gather: Kernel,
    add: Kernel,
    rows: Vec<Rows>,
}

/// Rows of a force in device memory.
struct Rows {
    name: String,
    ids: Option<Vec<u32>>,
    /// Row of each atom, by id; `None` where all atoms have one.
    row_by_id: Option<Buffer<u32>>,
    n: usize,
    positions: Buffer<f64>,
    /// Smallest id of an atom whose force was not finite.
    first_bad: Buffer<u32>,
    /// Owners of forces, and events after which they may go.
    under_way: VecDeque<(Arc<dyn Any + Send + Sync>, Event)>,
}

/// Source of the kernels.
pub fn build(precision: Precision, sums: Summation) -> Build {
    kernels::module_source("", include_str!("../kernels/device_force.cu"), precision, sums)
}

impl DeviceForceKernels {
    /// Kernels without forces so far.
    ///
    /// # Errors
    /// If there is no compiler for the device.
    pub fn new(device: &Device, precision: Precision, sums: Summation) -> Result<Self> {
        let build = build(precision, sums);
        let module = device.compile("device_force.cu", &build.source, &build.options)?;
        Ok(DeviceForceKernels {
            gather: module.kernel("gather_positions")?,
            add: module.kernel("add_rows")?,
            rows: Vec::new(),
        })
    }

    /// Adapts the rows to these forces, in a system of `n_atoms`.
    ///
    /// # Errors
    /// If an id does not exist or occurs twice, or there is not enough memory.
    pub fn fit(&mut self, device: &Device, forces: &[&mut dyn DeviceForce], n_atoms: usize) -> Result<()> {
        self.rows.truncate(forces.len());
        for (k, force) in forces.iter().enumerate() {
            if self
                .rows
                .get(k)
                .is_some_and(|rows| rows.ids.as_deref() == force.ids() && rows.name == force.name())
            {
                continue;
            }
            let rows = Rows::new(device, &**force, n_atoms)?;
            match self.rows.get_mut(k) {
                Some(place) => *place = rows,
                None => self.rows.push(rows),
            }
        }
        Ok(())
    }

    /// Lets all forces be computed at the present positions, and adds them where the trigger says that they are due.
    ///
    /// # Errors
    /// Errors of the forces, and if one gives rows of another shape or in other memory.
    pub fn queue(
        &mut self,
        data: &DeviceData,
        device: &Device,
        simbox: &SimBox,
        forces: &mut [&mut dyn DeviceForce],
        (slot, trigger): (i32, Trigger),
    ) -> Result<()> {
        for (rows, force) in self.rows.iter_mut().zip(forces) {
            let row_by_id = rows.row_by_id.as_ref().map_or(0, Buffer::address);
            let launch = |kernel| {
                let launch = Launch::new(kernel, kernels::blocks_of(data.n), ATOM_THREADS).with_value(*data);
                launch.with_value(row_by_id)
            };
            device.run(&launch(&self.gather).with(&rows.positions))?;
            let given = force.queue(&rows.shared(device), simbox)?;
            rows.check(&given, device)?;
            let is_double = i32::from(given.number == NumberType::Double);
            let [along_rows, along_columns] = given.strides;
            let add = launch(&self.add).with_value(given.address).with_value(is_double);
            let add = add.with_value(along_rows).with_value(along_columns).with(&rows.first_bad);
            device.run(&add.with_value(slot).with_value(trigger as i32))?;
            rows.keep(given.owner, device)?;
        }
        Ok(())
    }

    /// Name of a force that was not finite, and the id of the atom; told once.
    ///
    /// # Errors
    /// If the device was lost.
    pub fn first_bad(&self) -> Result<Option<(String, u32)>> {
        for rows in &self.rows {
            let mut id = [NO_ATOM];
            rows.first_bad.read(0, &mut id)?;
            if id[0] != NO_ATOM {
                rows.first_bad.write(0, &[NO_ATOM])?;
                return Ok(Some((rows.name.clone(), id[0])));
            }
        }
        Ok(None)
    }
}

impl Rows {
    fn new(device: &Device, force: &dyn DeviceForce, n_atoms: usize) -> Result<Self> {
        let ids = force.ids();
        let row_by_id = |ids: &[u32]| {
            let mut rows = vec![NO_ATOM; n_atoms];
            for (row, id) in (0..).zip(ids) {
                let place = rows.get_mut(*id as usize);
                let place = place.ok_or_else(|| Error::input(format!("there is no atom {id}")))?;
                if std::mem::replace(place, row) != NO_ATOM {
                    return Err(Error::input(format!("a force on the device acts on atom {id} twice")));
                }
            }
            device.upload(&rows)
        };
        let n = ids.map_or(n_atoms, <[u32]>::len);
        Ok(Rows {
            name: force.name().to_string(),
            row_by_id: ids.map(row_by_id).transpose()?,
            ids: ids.map(<[u32]>::to_vec),
            n,
            positions: device.alloc(3 * n)?,
            first_bad: device.upload(&[NO_ATOM])?,
            under_way: VecDeque::new(),
        })
    }

    /// Positions, as others get them.
    fn shared(&self, device: &Device) -> SharedArray {
        device.share(&self.positions, NumberType::Double, [self.n, 3])
    }

    /// Refuses rows of another shape or type, or in other memory.
    fn check(&self, given: &SharedArray, device: &Device) -> Result<()> {
        let wanted = [self.n, 3];
        if given.shape != wanted {
            let message = format!("forces have the shape {:?}, but it must be {wanted:?}", given.shape);
            return Err(Error::input(message));
        }
        if !matches!(given.number, NumberType::Single | NumberType::Double) {
            return Err(Error::input("forces must be numbers of single or double precision"));
        }
        if given.space != device.memory_space() {
            let (there, here) = (given.space, device.memory_space());
            return Err(Error::input(format!(
                "forces are in the memory {there}, but must be in that {here}"
            ))
            .hint("compute them on the device of the positions"));
        }
        Ok(())
    }

    /// Keeps the owner of forces until the device has added them.
    fn keep(&mut self, owner: Arc<dyn Any + Send + Sync>, device: &Device) -> Result<()> {
        self.under_way.push_back((owner, device.now()?));
        while self.under_way.front().is_some_and(|(_, added)| added.has_passed()) {
            self.under_way.pop_front();
        }
        if self.under_way.len() > MOST_UNDER_WAY
            && let Some((_, added)) = self.under_way.pop_front()
        {
            added.wait()?;
        }
        Ok(())
    }
}
