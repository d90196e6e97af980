//! Division of a run among its GPUs: of pairs, of motion, of the mesh.

use crate::driver::Launch;

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
    /// Atoms near its own.
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
    /// Each has planes and columns of it, and the charges of its own atoms.
    Divided,
}

/// Work of a GPU on the mesh.
#[derive(Clone)]
pub enum MeshWork {
    /// All of it.
    Whole,
    /// Its part. The launch waits until all GPUs have made theirs.
    Part(Launch),
}

impl MeshWork {
    /// Launch after which all GPUs have made a part that others go on with.
    pub fn all_have(&self) -> Option<Launch> {
        match self {
            MeshWork::Whole => None,
            MeshWork::Part(wait) => Some(wait.clone()),
        }
    }
}
