//! Groups of atoms, chosen when a run begins.

use serde::{Deserialize, Serialize};

/// Atoms that a selection of an input chose when the run began. The members stay the same as atoms move, and
/// are part of a checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Name of the group; empty for a selection that serves one purpose only.
    pub name: String,
    /// Text of the selection.
    pub selection: String,
    /// Ids of the atoms, in ascending order.
    pub atoms: Vec<u32>,
}

/// Ids of the atoms of a selection.
pub fn chosen<'a>(groups: &'a [Group], selection: &str) -> Option<&'a [u32]> {
    groups.iter().find(|group| group.selection == selection).map(|group| &group.atoms[..])
}
