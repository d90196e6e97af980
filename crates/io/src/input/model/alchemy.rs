//! A molecule whose interactions are scaled.

use super::*;
use jostle_potentials::alchemy::{Decoupling, Window};

/// `[alchemy]`
#[derive(Debug, Clone)]
pub struct AlchemyInput {
    /// The molecule.
    pub atoms: Located<Selection>,
    /// Windows of the path.
    pub windows: Vec<Window>,
    /// Number of the window of the run.
    pub window: usize,
    /// Soft core of Lennard-Jones forces, and treatment of those within the molecule.
    pub decoupling: Decoupling,
    /// Number of steps between samples.
    pub sample_every: u64,
    /// Names of the stages with samples.
    pub stages: Vec<String>,
}

/// Form of a soft core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SoftCoreKind {
    /// Of Beutler and others.
    Beutler,
    /// Of Gapsys and others.
    Gapsys,
}
