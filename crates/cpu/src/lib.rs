//! The CPU engine.

mod engine;
pub mod integrate;
pub mod reference;

pub use engine::Cpu;
