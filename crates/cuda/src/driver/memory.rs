//! Memory of a device, and types of its values.

use super::Device;
use jostle_core::Vector;
use jostle_core::{Error, Result};
use std::marker::PhantomData;
use std::sync::Arc;

/// Plain value that may be copied to a device and back as its bytes.
///
/// # Safety
/// The type has no padding and no references, and all bytes zero, or any other bytes that a kernel
/// may leave there, are a valid value of it.
pub unsafe trait DeviceCopy: Copy + Send + Sync + 'static {}

macro_rules! words {
    ($($number:ty)*) => {
        $(
            // SAFETY: numbers have no padding, and any bytes are a number.
            unsafe impl DeviceCopy for $number {}
        )*
    };
}
words!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);
// SAFETY: arrays add no padding to their elements.
unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for [T; N] {}
// SAFETY: a vector is the array of its components.
unsafe impl<T: DeviceCopy> DeviceCopy for Vector<T> {}

/// Memory of a device, freed by its last owner.
pub(super) struct Memory {
    pub(super) device: Device,
    address: u64,
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the last owner goes, so it is not used any more.
        unsafe { self.device.hardware.free(self.address) }
    }
}

/// Memory of a device. Clones are the same memory.
pub struct Buffer<T> {
    pub(super) memory: Arc<Memory>,
    len: usize,
    values: PhantomData<T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Buffer { memory: self.memory.clone(), len: self.len, values: PhantomData }
    }
}

impl<T: DeviceCopy> Buffer<T> {
    /// # Safety
    /// The device has allocated `address` for so many values, and it is not freed elsewhere.
    pub(super) unsafe fn new(device: Device, address: u64, len: usize) -> Self {
        Buffer { memory: Arc::new(Memory { device, address }), len, values: PhantomData }
    }

    /// Memory of the buffer as bytes.
    pub fn as_bytes(&self) -> Buffer<u8> {
        Buffer { memory: self.memory.clone(), len: self.len * size_of::<T>(), values: PhantomData }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns true without values.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Address in the device's memory.
    pub fn address(&self) -> u64 {
        self.memory.address
    }

    /// Copies `values` to the places from `offset` on. They may be changed after the call.
    ///
    /// # Errors
    /// If the values do not fit, or the device was lost.
    pub fn write(&self, offset: usize, values: &[T]) -> Result<()> {
        let to = self.place(offset, values.len())?;
        // SAFETY: a `DeviceCopy` has no padding.
        let bytes = unsafe { std::slice::from_raw_parts(values.as_ptr().cast::<u8>(), size_of_val(values)) };
        // SAFETY: `place` has checked that they fit.
        unsafe { self.memory.device.hardware.write(to, bytes) }
    }

    /// Waits for earlier work, then copies the values from `offset` on to `values`.
    ///
    /// # Errors
    /// If the buffer has not so many, or earlier work failed.
    pub fn read(&self, offset: usize, values: &mut [T]) -> Result<()> {
        let from = self.place(offset, values.len())?;
        // SAFETY: any bytes that a kernel leaves are a valid `DeviceCopy`.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast::<u8>(), size_of_val(values)) };
        // SAFETY: `place` has checked that there are so many.
        unsafe { self.memory.device.hardware.read(from, bytes) }
    }

    /// Values of the whole buffer, after earlier work.
    ///
    /// # Errors
    /// If earlier work failed.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        // SAFETY: all bytes zero are a valid `DeviceCopy`.
        let mut values = vec![unsafe { std::mem::zeroed() }; self.len];
        self.read(0, &mut values)?;
        Ok(values)
    }

    /// Sets all values to zero.
    ///
    /// # Errors
    /// If the device was lost.
    pub fn clear(&self) -> Result<()> {
        // SAFETY: it is the whole of our memory.
        unsafe { self.memory.device.hardware.clear(self.address(), self.len * size_of::<T>()) }
    }

    /// Copies the first `count` values of another buffer to the start of this one.
    ///
    /// # Errors
    /// If one of the buffers has not so many, or the two are the same.
    pub fn copy_from(&self, other: &Buffer<T>, count: usize) -> Result<()> {
        let (from, to) = (other.place(0, count)?, self.place(0, count)?);
        let device = &self.memory.device;
        if from == to || !device.is(&other.memory.device) {
            return Err(Error::device("a buffer is copied to another one of the same device"));
        }
        // SAFETY: both have so many, and different allocations do not overlap.
        unsafe { device.hardware.copy(from, to, count * size_of::<T>()) }
    }

    fn place(&self, offset: usize, count: usize) -> Result<u64> {
        match offset.checked_add(count) {
            Some(end) if end <= self.len => Ok(self.memory.address + (offset * size_of::<T>()) as u64),
            _ => Err(Error::device(format!(
                "values {offset} and {count} further ones of a buffer of {}",
                self.len
            ))),
        }
    }
}

pub(super) fn out_of_memory(bytes: usize, free: Option<usize>) -> Error {
    let gibibytes = |bytes: usize| format!("{:.2} GiB", bytes as f64 / (1u64 << 30) as f64);
    let free = free.map_or(String::new(), |free| format!(", {} are free", gibibytes(free)));
    Error::device(format!("out of device memory: {} wanted{free}", gibibytes(bytes)))
        .hint("use fewer atoms, or end what else runs on the device")
}
