//! The input file.

pub mod model;

pub use model::Input;
