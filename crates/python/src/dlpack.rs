//! Exchange of arrays by DLPack (versions 0 and 1) without a copy: <https://dmlc.github.io/dlpack>.

use jostle_core::Vec3;
use jostle_core::backend::{MemorySpace, NumberType, SharedArray};
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::any::Any;
use std::ffi::{CStr, c_char, c_void};
use std::sync::Arc;

const PLAIN: &CStr = c"dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
/// Flag of an array that must not be written.
const READ_ONLY: u64 = 1;

#[repr(C)]
#[derive(Clone, Copy)]
struct DataType {
    code: u8,
    bits: u8,
    lanes: u16,
}

#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device_type: i32,
    device_number: i32,
    dimensions: i32,
    number: DataType,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
struct ManagedVersioned {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: Tensor,
}

/// Memory behind a capsule: the structure that others read, and what it points to.
#[repr(C)]
struct Exported<M> {
    managed: M,
    shape: [i64; 2],
    strides: [i64; 2],
    _owner: Arc<dyn Any + Send + Sync>,
}

/// Form of a capsule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Version 0, which cannot say that an array must not be written.
    Plain,
    /// Version 1, with permission to write or without.
    Versioned(Access),
}

/// Permission to write an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The array may be written.
    Write,
    /// The array must not be written.
    Read,
}

/// Device type and number, as DLPack has them.
pub fn device(space: MemorySpace) -> (i32, i32) {
    match space {
        MemorySpace::Host => (1, 0),
        MemorySpace::Cuda(number) => (2, i32::try_from(number).unwrap_or(i32::MAX)),
    }
}

fn data_type(number: NumberType) -> DataType {
    let (code, bits) = match number {
        NumberType::Integer => (0, 32),
        NumberType::Unsigned => (1, 32),
        NumberType::Single => (2, 32),
        NumberType::Double => (2, 64),
    };
    DataType { code, bits, lanes: 1 }
}

/// A capsule of the array, which keeps its memory.
///
/// # Errors
/// If Python has no memory.
pub fn capsule<'py>(
    py: Python<'py>,
    array: &SharedArray,
    dimensions: i32,
    form: Form,
) -> PyResult<Bound<'py, PyAny>> {
    let (device_type, device_number) = device(array.space);
    let tensor = Tensor {
        data: array.address as *mut c_void,
        device_type,
        device_number,
        dimensions,
        number: data_type(array.number),
        shape: std::ptr::null_mut(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    let context = std::ptr::null_mut();
    match form {
        Form::Plain => {
            let managed = Managed { tensor, context, deleter: Some(drop_exported::<Managed>) };
            wrap(py, array, managed, |managed| &mut managed.tensor, PLAIN, destroy_plain)
        }
        Form::Versioned(access) => {
            let managed = ManagedVersioned {
                version: [1, 0],
                context,
                deleter: Some(drop_exported::<ManagedVersioned>),
                flags: if access == Access::Read { READ_ONLY } else { 0 },
                tensor,
            };
            wrap(py, array, managed, |managed| &mut managed.tensor, VERSIONED, destroy_versioned)
        }
    }
}

fn wrap<'py, M>(
    py: Python<'py>,
    array: &SharedArray,
    managed: M,
    tensor: fn(&mut M) -> &mut Tensor,
    name: &'static CStr,
    destroy: ffi::PyCapsule_Destructor,
) -> PyResult<Bound<'py, PyAny>> {
    let shape = array.shape.map(|n| n as i64);
    let exported = Exported { managed, shape, strides: array.strides, _owner: array.owner.clone() };
    let exported = Box::leak(Box::new(exported));
    let (shape, strides) = (exported.shape.as_mut_ptr(), exported.strides.as_mut_ptr());
    let of_managed = tensor(&mut exported.managed);
    (of_managed.shape, of_managed.strides) = (shape, strides);
    let pointer = std::ptr::from_mut(exported);
    // SAFETY: the structure lives until its deleter, which the consumer or the capsule's destructor calls, once.
    let made = unsafe {
        Bound::from_owned_ptr_or_err(py, ffi::PyCapsule_New(pointer.cast(), name.as_ptr(), Some(destroy)))
    };
    made.inspect_err(|_| {
        // SAFETY: no capsule has it.
        drop(unsafe { Box::from_raw(pointer) });
    })
}

/// # Safety
/// `managed` is the beginning of an [`Exported`] of ours, which is not used any more.
unsafe extern "C" fn drop_exported<M>(managed: *mut M) {
    // SAFETY: as the caller vouches; the structure comes first in it.
    drop(unsafe { Box::from_raw(managed.cast::<Exported<M>>()) });
}

/// # Safety
/// Called by Python, with a capsule that goes.
unsafe extern "C" fn destroy_plain(capsule: *mut ffi::PyObject) {
    // SAFETY: as the caller vouches; a capsule of this name has not been consumed.
    unsafe {
        if let Some(managed) = unused::<Managed>(capsule, PLAIN.as_ptr()) {
            drop_exported(managed);
        }
    }
}

/// # Safety
/// Called by Python, with a capsule that goes.
unsafe extern "C" fn destroy_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as the caller vouches; a capsule of this name has not been consumed.
    unsafe {
        if let Some(managed) = unused::<ManagedVersioned>(capsule, VERSIONED.as_ptr()) {
            drop_exported(managed);
        }
    }
}

/// # Safety
/// `capsule` is a capsule, and `name` a text.
unsafe fn unused<M>(capsule: *mut ffi::PyObject, name: *const c_char) -> Option<*mut M> {
    // SAFETY: as the caller vouches.
    unsafe {
        (ffi::PyCapsule_IsValid(capsule, name) == 1).then(|| ffi::PyCapsule_GetPointer(capsule, name).cast())
    }
}

/// The array of a capsule, which keeps the capsule and by it the memory.
///
/// # Errors
/// If it is no such capsule, or its array is none that the engine can use.
pub fn array(capsule: &Bound<PyAny>) -> PyResult<SharedArray> {
    let no_capsule = || PyTypeError::new_err("__dlpack__ has not returned a capsule with an array");
    let object = capsule.cast::<PyCapsule>().map_err(|_| no_capsule())?.as_ptr();
    // SAFETY: it is a capsule that has not been consumed, and stays alive; by its name the structure is this one.
    let tensor = unsafe {
        match (
            unused::<Managed>(object, PLAIN.as_ptr()),
            unused::<ManagedVersioned>(object, VERSIONED.as_ptr()),
        ) {
            (Some(managed), _) => &(*managed).tensor,
            (None, Some(managed)) if (*managed).version[0] == 1 => &(*managed).tensor,
            _ => return Err(no_capsule()),
        }
    };
    let space = match tensor.device_type {
        1 => MemorySpace::Host,
        2 => MemorySpace::Cuda(usize::try_from(tensor.device_number).unwrap_or(usize::MAX)),
        other => return Err(PyBufferError::new_err(format!("an array on a device of the type {other}"))),
    };
    let number = match tensor.number {
        DataType { code: 2, bits: 32, lanes: 1 } => NumberType::Single,
        DataType { code: 2, bits: 64, lanes: 1 } => NumberType::Double,
        _ => return Err(PyTypeError::new_err("an array must have numbers of single or double precision")),
    };
    if tensor.dimensions != 2 || tensor.shape.is_null() {
        let message = format!("an array has {} dimensions, but it must have 2", tensor.dimensions);
        return Err(pyo3::exceptions::PyValueError::new_err(message));
    }
    // SAFETY: there are as many numbers as dimensions.
    let shape = unsafe { [*tensor.shape, *tensor.shape.add(1)] };
    let strides = match tensor.strides.is_null() {
        true => [shape[1], 1],
        // SAFETY: as above.
        false => unsafe { [*tensor.strides, *tensor.strides.add(1)] },
    };
    let address = (tensor.data as u64).wrapping_add(tensor.byte_offset);
    let owner: Arc<dyn Any + Send + Sync> = Arc::new(capsule.clone().unbind());
    let shape = shape.map(|n| usize::try_from(n).unwrap_or_default());
    checked(SharedArray { address, space, number, shape, strides, stream: None, owner })
}

/// Refuses an array at an address where it cannot be.
pub fn checked(array: SharedArray) -> PyResult<SharedArray> {
    let is_empty = array.shape.contains(&0);
    if !is_empty && (array.address == 0 || !array.address.is_multiple_of(array.number.bytes() as u64)) {
        return Err(PyBufferError::new_err("an array lies where no numbers of its type can be"));
    }
    Ok(array)
}

/// Rows of three numbers of double precision, one behind the other in the memory of the host, which these rows keep.
pub struct HostRows {
    address: *mut Vec3,
    n: usize,
    _owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: a pointer alone keeps it from being so; the memory stays where it is, and its owner may be dropped by any thread.
unsafe impl Send for HostRows {}

impl HostRows {
    /// The rows of an array; `None` for arrays of other forms.
    fn of(array: SharedArray) -> Option<HostRows> {
        let [n, columns] = array.shape;
        let is_dense = columns == 3 && array.strides == [3, 1];
        let is_host = array.space == MemorySpace::Host && array.number == NumberType::Double;
        let address = array.address as *mut Vec3;
        (is_dense && is_host && n > 0).then_some(HostRows { address, n, _owner: array.owner })
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.n
    }

    /// Returns true where all numbers are zero.
    pub fn are_zero(&self) -> bool {
        const BLOCK: usize = 64;
        let (numbers, n) = (self.address.cast::<f64>(), 3 * self.n);
        let is_zero = |first: usize| {
            let block = first..n.min(first + BLOCK);
            // SAFETY: the memory has these numbers; they are read by a pointer, as a thread of Python might write there.
            // The sign of a zero does not count.
            block.fold(0, |bits, k| bits | unsafe { numbers.add(k).read() }.to_bits() << 1) == 0
        };
        (0..n).step_by(BLOCK).all(is_zero)
    }

    /// Copies the rows.
    ///
    /// # Panics
    /// If `to` has fewer.
    pub fn copy_to(&self, to: &mut [Vec3]) {
        let to = &mut to[..self.n];
        // SAFETY: the memory has these rows; the copy is made by pointers, as a thread of Python might write there.
        unsafe { std::ptr::copy_nonoverlapping(self.address, to.as_mut_ptr(), self.n) };
    }

    /// The rows, to be written.
    ///
    /// # Safety
    /// Nothing else refers to the memory, and it may be written.
    pub unsafe fn as_mut_slice(&mut self) -> &mut [Vec3] {
        // SAFETY: as the caller vouches; any bytes are numbers.
        unsafe { std::slice::from_raw_parts_mut(self.address, self.n) }
    }
}

/// The rows of an array of NumPy and the like, if there are `n` of three numbers of double precision in the memory of the
/// host. Arrays that must not be written have no such capsule in older versions of NumPy.
pub fn host_rows(values: &Bound<PyAny>, n: usize) -> Option<HostRows> {
    let capsule = values.call_method0("__dlpack__").ok()?;
    HostRows::of(array(&capsule).ok()?).filter(|rows| rows.n == n)
}

/// Lets `fill` write the rows of an array of NumPy that has just been made: of shape (n, 3) and double precision.
///
/// # Errors
/// If the array is another one, and those of `fill`.
pub fn write_rows(made: &Bound<PyAny>, fill: impl FnOnce(&mut [Vec3]) -> PyResult<()>) -> PyResult<()> {
    let array = array(&made.call_method0("__dlpack__")?)?;
    if array.shape == [0, 3] {
        return fill(&mut []);
    }
    let mut rows =
        HostRows::of(array).ok_or_else(|| PyBufferError::new_err("NumPy has made another array"))?;
    // SAFETY: nothing but this function has the array so far.
    fill(unsafe { rows.as_mut_slice() })
}
