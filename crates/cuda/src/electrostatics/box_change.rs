//! Consequences of a change of the box for the kernels of a lattice sum.

/// Change of a lattice sum in another box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoxChange {
    /// All arrays are as they were.
    AsItWas,
    /// Other mesh, or other wave vectors.
    Anew,
}
