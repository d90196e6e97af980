//! Putting a simulation together.

use super::{Overrides, Simulation};
use crate::checkpoint::{Clock, InputText};
use crate::device;
use crate::observe::Observer;
use crate::thermo::quantities;
use jostle_core::{Error, Result, Settings, SimBox, System, UnitSystem};
use jostle_io::Input;
use jostle_io::input::model::{Action, DeviceInput, StageInput};
use jostle_potentials::PairTerm;

/// Puts a [`Simulation`] together.
pub struct SimulationBuilder {
    units: UnitSystem,
    system: System,
    terms: Vec<PairTerm>,
    stages: Vec<StageInput>,
    seed: u64,
    device: DeviceInput,
    settings: Settings,
    observers: Vec<Box<dyn Observer>>,
    source: Option<InputText>,
    title: String,
}

impl SimulationBuilder {
    pub(super) fn new(units: UnitSystem, system: System) -> Self {
        SimulationBuilder {
            units,
            system,
            terms: Vec::new(),
            stages: Vec::new(),
            seed: 0,
            device: DeviceInput::Auto,
            settings: Settings::default(),
            observers: Vec::new(),
            source: None,
            title: String::new(),
        }
    }

    /// A builder with what an input says; the system and the forces are made from it already.
    pub(super) fn from_input(
        input: &Input,
        overrides: &Overrides,
        system: System,
        terms: Vec<PairTerm>,
    ) -> Self {
        let stage = |s: &StageInput| {
            let mut stage = s.clone();
            let (Action::Dynamics { steps, .. } | Action::Minimize { steps, .. }) = &mut stage.action;
            *steps = overrides.most_steps.map_or(*steps, |most| most.min(*steps));
            stage
        };
        let mut settings = input.run.settings;
        settings.threads = overrides.threads.or(settings.threads);
        SimulationBuilder {
            units: input.units,
            system,
            terms,
            stages: input.stages.iter().map(|s| stage(&s.value)).collect(),
            seed: input.system.seed,
            device: overrides.device.unwrap_or(input.run.device),
            settings,
            observers: Vec::new(),
            source: Some(InputText {
                path: input.source.path.clone(),
                text: input.source.text.to_string(),
                most_steps: overrides.most_steps,
            }),
            title: input.title.clone(),
        }
    }

    /// Adds a pair force.
    pub fn force(mut self, term: PairTerm) -> Self {
        self.terms.push(term);
        self
    }

    /// Adds a stage.
    pub fn stage(mut self, stage: StageInput) -> Self {
        self.stages.push(stage);
        self
    }

    /// Adds an observer.
    pub fn observer(mut self, observer: impl Observer + 'static) -> Self {
        self.observers.push(Box::new(observer));
        self
    }

    /// Chooses the seed of everything random; 0 otherwise.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Chooses how it is computed.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// Chooses where it is computed.
    pub fn device(mut self, device: DeviceInput) -> Self {
        self.device = device;
        self
    }

    /// The simulation, ready to run.
    ///
    /// # Errors
    /// If there are no atoms, or the system, the forces and the device do not fit together.
    pub fn build(self) -> Result<Simulation> {
        if self.system.state.is_empty() {
            return Err(Error::input("there are no atoms"));
        }
        let species = self.system.species.clone();
        let counts = self.system.counts();
        let total_mass = species.iter().zip(counts).map(|(s, n)| s.mass * n as f64).sum();
        let quantities = quantities(self.units, &self.terms);
        let shortest_cutoff = shortest_cutoff(&self.terms, &self.system.simbox);
        let backend = device::open(self.device, self.system, self.terms, self.settings)?;
        Ok(Simulation {
            units: self.units,
            seed: self.seed,
            species,
            stages: self.stages,
            quantities,
            total_mass,
            shortest_cutoff,
            backend,
            observers: self.observers,
            folder: None,
            source: self.source,
            title: self.title,
            clock: Clock::default(),
            run: None,
            reports: Vec::new(),
            thermo: None,
            saved: None,
            notes: Vec::new(),
        })
    }
}

/// The shortest cut-off of any pair of species; for atoms without forces, the size of the box.
fn shortest_cutoff(terms: &[PairTerm], simbox: &SimBox) -> f64 {
    let mut shortest = simbox.volume().cbrt();
    for term in terms {
        for a in 0..term.n_species() {
            for b in a..term.n_species() {
                shortest = term.get(a, b).map_or(shortest, |e| shortest.min(e.cutoff));
            }
        }
    }
    shortest
}
