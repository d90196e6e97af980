//! A molecule whose interactions are scaled.

use super::*;
use jostle_potentials::alchemy::{Decoupling, Window};

/// `[alchemy]`
#[derive(Debug, Clone)]
pub struct AlchemyInput {
    /// The molecule that disappears, or the part of one.
    pub atoms: Located<Selection>,
    /// Windows of its path.
    pub windows: Vec<Window>,
    /// Molecule that appears, or the part of one.
    pub appearing: Option<AppearingInput>,
    /// Number of the window of the run.
    pub window: usize,
    /// Soft core of Lennard-Jones forces, and treatment of those within the molecule.
    pub decoupling: Decoupling,
    /// Number of steps between samples.
    pub sample_every: u64,
    /// Names of the stages with samples.
    pub stages: Vec<String>,
}

/// `appearing = "..."`: a second molecule or part of one, with a path of its own.
#[derive(Debug, Clone)]
pub struct AppearingInput {
    /// Its atoms.
    pub atoms: Located<Selection>,
    /// Its windows, as many as the other part has.
    pub windows: Vec<Window>,
}

impl AlchemyInput {
    /// Selection of what disappears, and of what appears.
    pub fn selections(&self) -> impl Iterator<Item = &Located<Selection>> {
        std::iter::once(&self.atoms).chain(self.appearing.iter().map(|part| &part.atoms))
    }

    /// Windows of the path, of each the state of the molecule or of both parts.
    pub fn windows_of_parts(&self) -> Vec<Vec<Window>> {
        let appearing = |number: usize| self.appearing.iter().map(move |part| part.windows[number]);
        let windows = self.windows.iter().enumerate();
        windows.map(|(number, window)| std::iter::once(*window).chain(appearing(number)).collect()).collect()
    }
}

/// Form of a soft core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SoftCoreKind {
    /// Of Beutler and others.
    Beutler,
    /// Of Gapsys and others.
    Gapsys,
}
