//! Consequences of a change of the box for the kernels of a lattice sum.

/// What became of charges in another box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoxChange {
    /// Everything is where it was.
    AsItWas,
    /// Their mesh is another one, or their wave vectors are others.
    Anew,
}
