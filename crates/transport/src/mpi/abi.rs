//! Binary interfaces of MPI libraries.

use std::ffi::c_int;
use std::path::Path;

/// The binary interfaces of MPI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Abi {
    /// The standard one of MPI 5: handles are pointers with fixed values.
    Standard,
    /// That of MPICH, Intel MPI, MVAPICH and Cray MPICH: handles are whole numbers.
    Mpich,
    /// That of Open MPI: handles are addresses of data in the library.
    OpenMpi,
}

impl Abi {
    /// All of them.
    pub const ALL: [Abi; 3] = [Abi::Standard, Abi::Mpich, Abi::OpenMpi];

    /// File name of a library that has it.
    pub fn file(self) -> &'static str {
        match self {
            Abi::Standard => "libmpi_abi.so.1",
            Abi::Mpich => "libmpi.so.12",
            Abi::OpenMpi => "libmpi.so.40",
        }
    }

    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Abi::Standard => "the standard interface of MPI 5",
            Abi::Mpich => "MPICH's interface",
            Abi::OpenMpi => "Open MPI's interface",
        }
    }

    /// The interface of a library, by its name.
    pub(super) fn of_file(path: &Path) -> Abi {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_path_buf());
        let names = [path, &real].map(|p| p.file_name().unwrap_or_default().to_string_lossy().into_owned());
        match names {
            names if names.iter().any(|name| name.starts_with("libmpi_abi")) => Abi::Standard,
            names if names.iter().any(|name| name.starts_with("libmpi.so.40")) => Abi::OpenMpi,
            _ => Abi::Mpich,
        }
    }

    /// `MPI_THREAD_SERIALIZED`: calls by several threads, one after the other.
    pub(super) fn serialized(self) -> c_int {
        if self == Abi::Standard { 2048 } else { 2 }
    }
}
