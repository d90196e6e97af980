//! The GPU engine: CUDA kernels, whose physics [`codegen`] writes, compiled at run time and run
//! through [`driver`], on an NVIDIA GPU or, for tests, on the emulation of one.

mod cache;
pub mod codegen;
pub mod driver;

pub use driver::nvrtc;
