//! Errors of the driver in words.

use cudarc::driver::result::DriverError;
use cudarc::driver::sys;
use jostle_core::Error;

/// Error of the driver in words.
pub(super) fn failed(what: &str, error: DriverError) -> Error {
    use sys::CUresult::*;
    let (message, hint) = match error.0 {
        CUDA_ERROR_ILLEGAL_ADDRESS
        | CUDA_ERROR_MISALIGNED_ADDRESS
        | CUDA_ERROR_INVALID_ADDRESS_SPACE
        | CUDA_ERROR_INVALID_PC
        | CUDA_ERROR_ILLEGAL_INSTRUCTION
        | CUDA_ERROR_HARDWARE_STACK_ERROR
        | CUDA_ERROR_LAUNCH_FAILED => (
            "a wrong address, instruction or stack",
            "this is a fault of Jostle: please report it, with the input",
        ),
        CUDA_ERROR_LAUNCH_TIMEOUT => (
            "a kernel ran longer than the system lets it",
            "use a GPU that drives no display, or a smaller system",
        ),
        CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES => (
            "a kernel needs more registers or shared memory than the GPU has",
            "this is a fault of Jostle: please report it, with the GPU's name",
        ),
        CUDA_ERROR_ECC_UNCORRECTABLE => (
            "the GPU found an error in its memory",
            "resume from the last checkpoint; if it happens again, the GPU may be broken",
        ),
        CUDA_ERROR_DEVICE_UNAVAILABLE => (
            "the GPU is in use by another program that does not share it",
            "wait for the other program, or choose another GPU: --device cuda:1",
        ),
        CUDA_ERROR_NO_BINARY_FOR_GPU | CUDA_ERROR_INVALID_IMAGE | CUDA_ERROR_UNSUPPORTED_PTX_VERSION => (
            "the driver does not take what the compiler made",
            "NVRTC may be newer than the driver: update the driver or install an older NVRTC",
        ),
        CUDA_ERROR_OUT_OF_MEMORY => {
            ("out of device memory", "use fewer atoms, or end what else runs on the GPU")
        }
        CUDA_ERROR_DEINITIALIZED
        | CUDA_ERROR_CONTEXT_IS_DESTROYED
        | CUDA_ERROR_INVALID_CONTEXT
        | CUDA_ERROR_EXTERNAL_DEVICE
        | CUDA_ERROR_UNKNOWN => (
            "the GPU was lost",
            "resume from the last checkpoint; nvidia-smi and the system's log (dmesg, \"Xid\") may tell why",
        ),
        _ => ("", ""),
    };
    let name = error
        .error_name()
        .map_or_else(|_| format!("{:?}", error.0), |name| name.to_string_lossy().into_owned());
    let error = match message {
        "" => {
            let described = error
                .error_string()
                .map_or_else(|_| String::new(), |text| format!("{}, ", text.to_string_lossy()));
            Error::device(format!("{what}: {described}{name}"))
        }
        message => Error::device(format!("{what}: {message} ({name})")),
    };
    if hint.is_empty() { error } else { error.hint(hint) }
}
