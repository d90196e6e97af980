//! The GPU engine: CUDA kernels, whose physics [`codegen`] writes, compiled at run time and run
//! through [`driver`], on an NVIDIA GPU or, for tests, on the emulation of one.

mod arrays;
mod blame;
mod cache;
pub mod codegen;
pub mod driver;
mod engine;
pub mod kernels;
mod leg;
mod search;
mod skin;
mod tiles;
mod world;

pub use driver::nvrtc;
pub use engine::Cuda;
