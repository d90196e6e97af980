//! Barostats.

/// Pressure control: the volume of the box changes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Barostat {
    /// Volumes are tried, and taken or not.
    MonteCarlo {
        /// Target, energy / volume.
        pressure: f64,
        /// Edges that change together.
        coupling: Coupling,
        /// Time steps between trials.
        every: u64,
    },
    /// Stochastic cell rescaling.
    CellRescaling {
        /// Target, energy / volume.
        pressure: f64,
        /// Relaxation time of the volume.
        time: f64,
        /// A guess at the compressibility, volume / energy: how fast the volume changes, and not the
        /// ensemble, depends on it.
        compressibility: f64,
        /// Time steps between changes.
        every: u64,
    },
    /// Martyna, Tobias and Klein's: the box has a mass, and moves.
    MartynaTobiasKlein {
        /// Target, energy / volume.
        pressure: f64,
        /// The mass is (n + 3) k_B T time^2 for n momenta of molecules.
        time: f64,
        /// Time steps between changes.
        every: u64,
    },
}

impl Barostat {
    /// Pressure that it holds, an energy per volume.
    pub fn pressure(&self) -> f64 {
        match *self {
            Barostat::MonteCarlo { pressure, .. }
            | Barostat::CellRescaling { pressure, .. }
            | Barostat::MartynaTobiasKlein { pressure, .. } => pressure,
        }
    }

    /// Edges of the box that change together.
    pub fn coupling(&self) -> Coupling {
        match *self {
            Barostat::MonteCarlo { coupling, .. } => coupling,
            Barostat::CellRescaling { .. } | Barostat::MartynaTobiasKlein { .. } => Coupling::Isotropic,
        }
    }

    /// Time steps between two times that it acts.
    pub fn every(&self) -> u64 {
        match *self {
            Barostat::MonteCarlo { every, .. }
            | Barostat::CellRescaling { every, .. }
            | Barostat::MartynaTobiasKlein { every, .. } => every,
        }
    }
}

/// Edges of the box that change together, in the order of the freedom of the box.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Coupling {
    /// All of them: the box keeps its shape.
    Isotropic,
    /// The first two, and the third by itself: a membrane or a film across z.
    SemiIsotropic,
    /// Each by itself.
    Anisotropic,
}
