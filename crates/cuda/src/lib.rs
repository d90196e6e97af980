//! The GPU engine.

pub mod codegen;
