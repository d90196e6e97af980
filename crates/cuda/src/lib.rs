//! The GPU engine: CUDA kernels, whose physics [`codegen`] writes, compiled at run time and run
//! through [`driver`], on an NVIDIA GPU or, for tests, on the emulation of one.

mod all_pairs;
mod arrays;
mod bath;
mod blame;
mod cache;
mod cells;
pub mod codegen;
pub mod driver;
mod engine;
pub mod kernels;
mod leg;
mod list;
mod search;
mod skin;
mod tiles;
mod world;

pub use driver::nvrtc;
pub use engine::Cuda;
