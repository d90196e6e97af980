//! Atoms that were chosen when a run began.

use serde::{Deserialize, Serialize};

/// Atoms that words of an input chose when the run began. Who they are does not change as atoms move,
/// and is part of a checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Group {
    /// Its name; empty for what was chosen for one purpose only.
    pub name: String,
    /// The words.
    pub selection: String,
    /// The ids of the atoms, in ascending order.
    pub atoms: Vec<u32>,
}

/// The ids of the atoms that these words chose.
pub fn chosen<'a>(groups: &'a [Group], selection: &str) -> Option<&'a [u32]> {
    groups.iter().find(|group| group.selection == selection).map(|group| &group.atoms[..])
}
