//! Division of a run among its GPUs: of pairs, of motion, of the mesh.

/// Division of pairs among several GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division {
    /// Each GPU computes the forces on its own atoms.
    Atoms,
    /// Each GPU computes a part of all pairs, whose forces on all atoms are added up.
    Pairs,
}

/// Motion of atoms, where pairs are divided by atoms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MotionDivision {
    /// None: every GPU moves all atoms, and forces are exchanged.
    Alike,
    /// Each GPU moves its own: positions are exchanged, and the rest before lists are built and where segments end.
    Divided,
}

/// Atoms of others whose positions a GPU needs for the forces on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    /// Atoms near its own, and all for the GPU with the mesh.
    Near,
    /// All: each GPU computes sums over them.
    All,
}

/// Motion of an atom, as far as other atoms matter besides the force on it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Moving {
    /// None do.
    Alone,
    /// It may be bound to others, however far they are.
    Bound,
    /// It may be in a group that moves together, or bound by forces that need exact positions.
    Together {
        /// Largest distance of an atom of a group from its first one; `None` without a limit.
        extent: Option<f64>,
    },
}

/// Division of the mesh among GPUs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeshDivision {
    /// None: each GPU computes all of it.
    Alike,
    /// One GPU computes it for all, and fewer pairs.
    OneForAll,
}

/// Work of a GPU on the mesh.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeshWork {
    /// Forces on all atoms, for itself: every GPU does the same.
    Alike,
    /// Forces on all atoms, for all GPUs.
    ForAll,
    /// Nothing: another GPU does it.
    Nothing,
}
