//! Memory of a device that programs beside Jostle read and write, and forces that they compute there.

use crate::{Energies, Result, SimBox, SymTensor};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Memory that an address belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemorySpace {
    /// Memory of the host.
    Host,
    /// Memory of the NVIDIA GPU of this number.
    Cuda(usize),
}

impl fmt::Display for MemorySpace {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            MemorySpace::Host => write!(f, "of the host"),
            MemorySpace::Cuda(number) => write!(f, "of GPU {number}"),
        }
    }
}

/// Type of the numbers of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberType {
    /// `f32`
    Single,
    /// `f64`
    Double,
    /// `u32`
    Unsigned,
    /// `i32`
    Integer,
}

impl NumberType {
    /// Bytes of a number.
    pub fn bytes(self) -> usize {
        if self == NumberType::Double { 8 } else { 4 }
    }
}

/// Queue of work of a device, which orders the use of its memory.
pub trait SharedStream: Send + Sync {
    /// Handle of the stream (`CUstream`).
    fn handle(&self) -> u64;

    /// Lets later work on another stream wait for the work that is queued on this one so far.
    ///
    /// # Errors
    /// If the device refuses.
    fn precedes(&self, other: u64) -> Result<()>;

    /// Lets later work on this stream wait for the work that is queued on another one so far.
    ///
    /// # Errors
    /// If the device refuses.
    fn follows(&self, other: u64) -> Result<()>;
}

/// Array of two dimensions, or of one where the second is 1, in memory that other programs use as well.
#[derive(Clone)]
pub struct SharedArray {
    /// Address of the first number.
    pub address: u64,
    /// Memory of the address.
    pub space: MemorySpace,
    /// Type of the numbers.
    pub number: NumberType,
    /// Rows and columns.
    pub shape: [usize; 2],
    /// Numbers from one row to the next, and from one column to the next.
    pub strides: [i64; 2],
    /// Stream on which the array is written; `None` where everything written is there.
    pub stream: Option<Arc<dyn SharedStream>>,
    /// Owner of the memory, which lives as long as this.
    pub owner: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for SharedArray {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "SharedArray({:?}, {:?}, {:?})", self.space, self.number, self.shape)
    }
}

/// Arrays of the atoms of a device, in storage order.
#[derive(Debug, Clone)]
pub struct DeviceArrays {
    /// Positions, within a few skins of the box.
    pub positions: SharedArray,
    /// Velocities.
    pub velocities: SharedArray,
    /// Forces of the last evaluation.
    pub forces: SharedArray,
    /// Ids of the atoms.
    pub ids: SharedArray,
    /// Numbers of box crossings.
    pub images: SharedArray,
}

/// Change that was made to the arrays of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArraysChanged {
    /// None.
    Nothing,
    /// Velocities only.
    Velocities,
    /// Positions, and velocities perhaps.
    Positions,
}

/// Force that is computed in the memory of a device, by work that others queue there.
pub trait DeviceForce: Send {
    /// Name of the force, for messages.
    fn name(&self) -> &str;

    /// Ids of the atoms on which it acts, in the order of its rows, none of them twice; `None`: all, in the order of
    /// their ids.
    fn ids(&self) -> Option<&[u32]>;

    /// Queues the work that computes the forces at unwrapped positions, a row for each atom; returns the rows of
    /// forces, in the same memory, which are complete for all work queued later on the stream of the positions.
    /// The positions stay as they are until this work is done. It may be called more often than steps are made, and
    /// depends on positions and box alone.
    ///
    /// # Errors
    /// An error ends the run.
    fn queue(&mut self, positions: &SharedArray, simbox: &SimBox) -> Result<SharedArray>;

    /// Energy and virial at the positions of the last call of [`DeviceForce::queue`], after its work.
    ///
    /// # Errors
    /// If they are not finite, or the work failed.
    fn sums(&mut self) -> Result<(f64, SymTensor)>;
}

impl Energies {
    /// Takes in energies and virials of forces on the device, after an evaluation.
    ///
    /// # Errors
    /// As for [`DeviceForce::sums`].
    pub fn add_device_forces(&mut self, forces: &mut [&mut dyn DeviceForce]) -> Result<()> {
        for force in forces {
            let (energy, virial) = force.sums()?;
            self.added.push(energy);
            self.virial.iter_mut().zip(virial).for_each(|(w, part)| *w += part);
        }
        Ok(())
    }
}
