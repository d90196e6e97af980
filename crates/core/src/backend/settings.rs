//! Settings of a run that never change its physics.

use crate::{Error, Result};
use serde::{Deserialize, Serialize};

/// The arithmetic of the forces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Precision {
    /// Pair arithmetic in f32 on coordinates relative to something near; positions, velocities
    /// and sums in f64.
    #[default]
    Mixed,
    /// Everything in f64.
    Double,
}

/// How a device looks for pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Algorithm {
    /// The fastest here.
    #[default]
    Auto,
    /// On the CPU: cluster pair lists, rebuilt by displacement.
    Clusters,
    /// On the CPU: every pair, one after the other, in f64: slow, plain, the reference.
    Reference,
    /// On the GPU: lists of tiles of atoms that are near in space, rebuilt by displacement.
    Tiles,
    /// On the GPU: a list of neighbours for each atom, rebuilt by displacement.
    List,
    /// On the GPU: no lists; every atom looks into the cells around it.
    Cells,
    /// On the GPU: every pair, tile by tile.
    AllPairs,
}

impl Algorithm {
    /// All of them, in the order of the documentation.
    pub const ALL: [Algorithm; 7] = [
        Algorithm::Auto,
        Algorithm::Clusters,
        Algorithm::Reference,
        Algorithm::Tiles,
        Algorithm::List,
        Algorithm::Cells,
        Algorithm::AllPairs,
    ];

    /// The name in an input file.
    pub fn name(self) -> &'static str {
        match self {
            Algorithm::Auto => "auto",
            Algorithm::Clusters => "clusters",
            Algorithm::Reference => "reference",
            Algorithm::Tiles => "tiles",
            Algorithm::List => "list",
            Algorithm::Cells => "cells",
            Algorithm::AllPairs => "all-pairs",
        }
    }

    /// One line for people.
    pub fn about(self) -> &'static str {
        match self {
            Algorithm::Auto => "what is fastest here",
            Algorithm::Clusters => "CPU: cluster pair lists, rebuilt by displacement",
            Algorithm::Reference => "CPU: every pair in f64, slow, plain",
            Algorithm::Tiles => "GPU: lists of tiles of atoms, rebuilt by displacement",
            Algorithm::List => "GPU: a list of neighbours for each atom, rebuilt by displacement",
            Algorithm::Cells => "GPU: no lists, every atom looks into the cells around it",
            Algorithm::AllPairs => "GPU: every pair, tile by tile",
        }
    }

    /// The kind of device that has it; `None`: every one.
    pub fn processor(self) -> Option<Processor> {
        match self {
            Algorithm::Auto => None,
            Algorithm::Clusters | Algorithm::Reference => Some(Processor::Cpu),
            Algorithm::Tiles | Algorithm::List | Algorithm::Cells | Algorithm::AllPairs => {
                Some(Processor::Gpu)
            }
        }
    }

    /// Refuses an algorithm that another kind of device has.
    ///
    /// # Errors
    /// If this kind of device does not have it.
    pub fn check(self, here: Processor) -> Result<()> {
        let (there, device, other) = match (self.processor(), here) {
            (Some(Processor::Cpu), Processor::Gpu) => ("CPU", "cpu", "GPU"),
            (Some(Processor::Gpu), Processor::Cpu) => ("GPU", "cuda", "CPU"),
            _ => return Ok(()),
        };
        let name = self.name();
        Err(Error::input(format!(
            "algorithm = \"{name}\" is one of the {there}'s, and this runs on the {other}"
        ))
        .hint(format!("leave \"algorithm\" out, or choose device = \"{device}\"")))
    }
}

/// The kinds of devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Processor {
    /// The processor of this machine.
    Cpu,
    /// A graphics processor.
    Gpu,
}

/// How a run is computed; never changes the physics.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Settings {
    /// CPU threads; `None` takes all cores.
    pub threads: Option<usize>,
    /// The arithmetic of the forces.
    pub precision: Precision,
    /// True where results must not depend on the number of threads, nor on a restart.
    pub reproducible: bool,
    /// How pairs are found.
    pub algorithm: Algorithm,
    /// How far beyond the cut-off neighbour lists reach; `None` tunes it while running.
    pub skin: Option<f64>,
    /// Rows and columns of ranks that divide pairs as a force matrix (Berry, Schuchart and Henschel 2013); `None`: ranks
    /// divide space.
    pub force_matrix: Option<[usize; 2]>,
}
