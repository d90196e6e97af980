//! Observers of one's own.

use crate::thermo::Thermo;
use jostle_core::{AtomVector, Backend, Evaluate, Result, SimBox, Snapshot, Species, State, UnitSystem};

/// An observer of the atoms at regular intervals.
///
/// ```
/// use jostle_core::Result;
/// use jostle_engine::{Context, Observer};
///
/// /// Records the potential energy.
/// struct Energies(Vec<f64>);
///
/// impl Observer for Energies {
///     fn every(&self) -> u64 {
///         10
///     }
///     fn observe(&mut self, context: &mut Context) -> Result<()> {
///         self.0.extend(context.thermo().map(|t| t.potential));
///         Ok(())
///     }
/// }
/// ```
pub trait Observer: Send {
    /// Interval of observations in steps, counted from the beginning of each stage; 0: never.
    fn every(&self) -> u64;

    /// Quantities that must have been evaluated at an observation. With [`Evaluate::Forces`] the steps stay
    /// as fast as any other, but there are no energies and [`Context::thermo`] is `None`.
    fn requested(&self) -> Evaluate {
        Evaluate::ForcesAndEnergies
    }

    /// Observes the atoms; called at the start of the run and whenever an observation is due.
    ///
    /// # Errors
    /// An error ends the run.
    fn observe(&mut self, context: &mut Context) -> Result<()>;
}

/// The state of a run at an observation.
pub struct Context<'a> {
    pub(crate) backend: &'a mut dyn Backend,
    pub(crate) step: u64,
    pub(crate) time: f64,
    pub(crate) stage: &'a str,
    pub(crate) units: UnitSystem,
    pub(crate) species: &'a [Species],
    pub(crate) thermo: Option<&'a Thermo>,
    pub(crate) paused: &'a mut bool,
}

impl Context<'_> {
    /// The step, counted over all stages.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The simulated time.
    pub fn time(&self) -> f64 {
        self.time
    }

    /// The name of the stage.
    pub fn stage(&self) -> &str {
        self.stage
    }

    /// The unit system.
    pub fn units(&self) -> UnitSystem {
        self.units
    }

    /// The kinds of atoms.
    pub fn species(&self) -> &[Species] {
        self.species
    }

    /// The box.
    pub fn simbox(&self) -> &SimBox {
        self.backend.simbox()
    }

    /// Energies, temperature and pressure, if they were evaluated at this step.
    pub fn thermo(&self) -> Option<&Thermo> {
        self.thermo
    }

    /// The atoms, downloaded from the device; in storage order, see [`State::id`].
    ///
    /// # Errors
    /// If the device failed.
    pub fn state(&mut self) -> Result<&State> {
        self.backend.state()
    }

    /// Vectors of the atoms as they are now, by id, for a thread that waits for them while the run goes on.
    ///
    /// # Errors
    /// If the device failed.
    pub fn snapshot(&mut self, vectors: &[AtomVector]) -> Result<Snapshot> {
        self.backend.snapshot(vectors)
    }

    /// Pauses the run after this step: the call that runs it returns [`Outcome::Paused`](crate::Outcome::Paused), and
    /// another one goes on.
    pub fn pause(&mut self) {
        *self.paused = true;
    }
}
