//! Variables and biases of an input as a force that the host computes, and variables along trajectories.

mod checks;

use crate::custom_force::{
    After, AtomChoice, AtomForces, Configuration, CustomForce, ForceSums, PotentialUse, StageEntry, StageSpan,
};
use crate::degrees_of_freedom::Momentum;
use crate::thermo::{Mean, Quantity, term_names};
use crate::walkers::{Walker, WalkerState};
use checks::{at_variable, check_start};
use jostle_core::{Error, Result, System, Vec3};
use jostle_io::Input;
use jostle_io::input::model::{Action, BiasAction, BiasInput, Located, StageInput, WalkersInput, WallSide};
use jostle_io::{Open, TrajectoryReader, read_files};
use jostle_potentials::Forces;
use jostle_sampling::bias::{
    Abf, Bias, BiasVariable, FormulaBias, Harmonic, Linear, Metadynamics, Opes, Side, Torque, Wall,
};
use jostle_sampling::definition::Value;
use jostle_sampling::group::Surroundings;
use jostle_sampling::variable::check_term;
use jostle_sampling::{BiasColumn, Biases, Follows, NamedBias, StageCourse, Variables};
use std::path::Path;

/// Name of the energy of all biases in `thermo.csv`.
const NAME: &str = "bias";

/// All variables and biases of a run.
pub struct BiasForce {
    biases: Biases,
    walkers: Vec<Walker>,
    /// Unwrapped positions of the atoms of variables, chosen among all atoms where biases scale all forces.
    chosen: Vec<Vec3>,
}

/// The variables of an input in a system whose atoms were chosen by it.
///
/// # Errors
/// If a reference file cannot be read, or a variable makes no sense for its atoms.
pub fn variables_from_input(
    input: &Input,
    system: &System,
    surroundings: &Surroundings,
) -> Result<Variables> {
    let definitions =
        input.variable_definitions(system, |path, atoms| reference(input, path, atoms, system))?;
    Variables::new(&definitions, surroundings).map_err(|e| at_variable(input, e))
}

/// Positions of some atoms in a file that has all atoms of the system, whose molecules are made whole, or these alone, as
/// they are.
fn reference(input: &Input, path: &Path, atoms: &[u32], system: &System) -> Result<Vec<Vec3>> {
    let count = system.state.len();
    let open = Open { units: Some(input.units), names: None, timestep: None };
    let mut reader = TrajectoryReader::open(path, &open)?;
    read_files::note(path)?;
    let frame = reader.next_frame()?.ok_or_else(|| Error::file(path, "there is no frame in this file"))?;
    match frame.positions.len() {
        n if n == count => {
            let mut there = system.clone();
            there.simbox = frame.simbox;
            there.state.image.fill([0; 3]);
            for (id, index) in system.state.index_by_id().into_iter().enumerate() {
                there.state.position[index] = frame.positions[id];
            }
            Ok(Surroundings::new(&there).whole(atoms))
        }
        n if n == atoms.len() => Ok(frame.positions),
        n => {
            let message =
                format!("this file has {n} atoms, the system {count} and the group {}", atoms.len());
            Err(Error::file(path, message))
        }
    }
}

/// Moment of a run at which its variables are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VariablesAt {
    /// Beginning of the run, where variables must be defined.
    Beginning,
    /// Checkpoint, which has what variables need of the beginning; it is restored later.
    Checkpoint,
}

impl BiasForce {
    /// The biases of an input, in a system that was made from it and with these stages; `None` where it has neither
    /// variables nor biases.
    ///
    /// # Errors
    /// If a variable is not defined where the run begins, or a bias makes no sense; errors point into the input.
    pub fn from_input(
        input: &Input,
        (system, moment): (&System, VariablesAt),
        stages: &[StageInput],
    ) -> Result<Option<Self>> {
        if input.variables.is_empty() && input.biases.is_empty() {
            return Ok(None);
        }
        let surroundings = Surroundings::new(system);
        let variables = variables_from_input(input, system, &surroundings)?;
        if moment == VariablesAt::Beginning {
            check_start(input, system, &variables)?;
        }
        let biases = input.biases.iter().map(|bias| named_bias(input, bias, &variables));
        let biases = biases.collect::<Result<Vec<_>>>()?;
        let steps = |stage: &StageInput| match stage.action {
            Action::Dynamics { steps, .. } => Some((stage.name.clone(), steps)),
            Action::Minimize { .. } => None,
        };
        let stages = stages.iter().filter_map(steps).collect();
        let biases = Biases::new(variables, biases, input.units, input.system.seed, stages);
        let walker = |bias: &Located<BiasInput>| match &bias.value.action {
            BiasAction::Metadynamics(_, Some(WalkersInput { folder, every })) => {
                Some(Walker::new(&bias.value.name, folder, *every))
            }
            _ => None,
        };
        let walkers = input.biases.iter().filter_map(walker).collect();
        Ok(Some(BiasForce { biases, walkers, chosen: Vec::new() }))
    }

    /// Chooses the positions of the atoms of variables.
    fn choose(&mut self, positions: &[Vec3]) {
        self.chosen.clear();
        match self.biases.scale_forces() {
            true => {
                let ids = self.biases.variables().atoms().iter();
                self.chosen.extend(ids.map(|id| positions[*id as usize]));
            }
            false => self.chosen.extend_from_slice(positions),
        }
    }
}

/// Refuses variables that are energies which the forces of a run do not have, or that are not known at each step.
///
/// # Errors
/// If a term has another name, or long-range forces do not act at every step; the error points at the variable.
pub fn check_energies(input: &Input, forces: &Forces) -> Result<()> {
    let names = term_names(forces);
    let respa = input.stages.iter().find(|stage| stage.value.long_range_every > 1);
    for variable in input.variables.iter().filter(|variable| variable.value.kind.takes_energies()) {
        let at = |e: Error| e.at_span(&input.source.path, &input.source.text, variable.span.clone());
        if let Some(stage) = respa {
            let message = format!(
                "variable '{}' is an energy, which is not known at each step of stage '{}'",
                variable.value.name.value, stage.value.name
            );
            return Err(at(Error::input(message).hint("leave long_range_every out")));
        }
        let key = variable.value.kind.key_of_term();
        if let Some((_, Value::Word(term))) =
            variable.value.values.iter().find(|(name, _)| Some(*name) == key)
        {
            check_term(term, &names).map_err(at)?;
        }
    }
    Ok(())
}

impl BiasForce {
    /// The biases of an input as they act on a system that was made from it when its first stage of time steps
    /// begins; without such a stage, those that name no stage.
    ///
    /// # Errors
    /// As for [`BiasForce::from_input`].
    pub fn at_start(input: &Input, system: &System) -> Result<Option<Self>> {
        let stages: Vec<StageInput> = input.stages.iter().map(|stage| stage.value.clone()).collect();
        let Some(mut force) = BiasForce::from_input(input, (system, VariablesAt::Beginning), &stages)? else {
            return Ok(None);
        };
        let first = stages.iter().find_map(|stage| match stage.action {
            Action::Dynamics { timestep, .. } => Some((stage.name.clone(), timestep)),
            Action::Minimize { .. } => None,
        });
        let (name, timestep) = first.unwrap_or_default();
        force.begin_stage(&StageSpan {
            name,
            first_step: 0,
            start_time: 0.0,
            timestep: Some(timestep),
            entry: StageEntry::Begun,
        })?;
        Ok(Some(force))
    }
}

/// A bias of an input.
fn named_bias(input: &Input, bias: &Located<BiasInput>, variables: &Variables) -> Result<NamedBias> {
    let BiasInput { name, variables: numbers, stages, action } = &bias.value;
    let mut of: Vec<BiasVariable> =
        numbers.iter().map(|number| Biases::variable_of_bias(variables, *number)).collect();
    let at = |e: Error| e.at_span(&input.source.path, &input.source.text, bias.span.clone());
    if let Some(variable) = numbers.iter().find_map(|number| variables.without_gradient(*number)) {
        let message = format!("no bias can act on variable '{variable}', the energy of a single term");
        return Err(at(Error::input(message).hint(
            "the energy of all terms together, without term = ..., takes biases, which scale all forces",
        )));
    }
    let made: Box<dyn Bias> = match action {
        BiasAction::Formula(formula) => Box::new(FormulaBias::new(of, formula.clone())),
        BiasAction::Metadynamics(settings, _) => {
            Box::new(Metadynamics::new(of, settings.clone()).map_err(at)?)
        }
        BiasAction::Opes(settings) => Box::new(Opes::new(of, settings.clone()).map_err(at)?),
        BiasAction::Abf(settings) => Box::new(Abf::new(of, settings.clone()).map_err(at)?),
        BiasAction::Harmonic { center, stiffness } => {
            Box::new(Harmonic::new(of.swap_remove(0), *center, *stiffness))
        }
        BiasAction::Linear { force, center } => {
            Box::new(Linear::new(of.swap_remove(0), *force, *center).map_err(at)?)
        }
        BiasAction::Torque { torque } => Box::new(Torque::new(of.swap_remove(0), *torque).map_err(at)?),
        BiasAction::Wall { at: place, stiffness, side } => {
            let free = match side {
                WallSide::Upper => Side::Below,
                WallSide::Lower => Side::Above,
            };
            Box::new(Wall::new(of.swap_remove(0), *place, *stiffness, free).map_err(at)?)
        }
    };
    Ok(NamedBias { name: name.clone(), stages: stages.clone(), bias: made })
}

impl CustomForce for BiasForce {
    fn name(&self) -> &str {
        NAME
    }

    fn atoms(&self) -> AtomChoice<'_> {
        match self.biases.variables().atoms() {
            _ if self.biases.scale_forces() => AtomChoice::All,
            [] => AtomChoice::Box,
            atoms => AtomChoice::Ids(atoms),
        }
    }

    fn potential_use(&self) -> PotentialUse {
        match (self.biases.scale_forces(), self.biases.variables().take_energies()) {
            (true, _) => PotentialUse::Forces,
            (false, true) => PotentialUse::Energies,
            (false, false) => PotentialUse::None,
        }
    }

    fn momentum(&self) -> Momentum {
        Momentum::conserved_but_along(self.biases.axes_of_places())
    }

    fn evaluate(&mut self, now: &Configuration, forces: &mut AtomForces) -> Result<ForceSums> {
        self.choose(now.positions);
        let energies = now.potential.map(|potential| &potential.energies);
        let BiasForce { biases, chosen, .. } = self;
        let (energy, computed) = biases.evaluate(now.simbox, (chosen, energies), (now.step, now.time))?;
        let Some(potential) = now.potential.filter(|_| biases.scale_forces()) else {
            forces.copy_from_slice(&computed.forces);
            return Ok(ForceSums { energy, virial: computed.virial });
        };
        for (force, own) in forces.iter_mut().zip(&potential.forces) {
            *force = own.map(|f| computed.potential * f);
        }
        for (id, force) in biases.variables().atoms().iter().zip(&computed.forces) {
            forces[*id as usize] += *force;
        }
        let mut virial = computed.virial;
        virial.iter_mut().zip(potential.virial).for_each(|(w, own)| *w += computed.potential * own);
        Ok(ForceSums { energy, virial })
    }

    fn begin_stage(&mut self, stage: &StageSpan) -> Result<()> {
        let StageSpan { name, first_step, start_time, timestep, .. } = stage.clone();
        let course = StageCourse { name, first_step, start_time, timestep };
        self.biases.begin_stage(course, stage.entry == StageEntry::Begun);
        Ok(())
    }

    fn acts(&self) -> bool {
        self.biases.act()
    }

    fn end_step(&mut self, now: &Configuration) -> Result<()> {
        self.choose(now.positions);
        let energies = now.potential.map(|potential| &potential.energies);
        self.biases.end_step(now.simbox, (&self.chosen, energies), (now.step, now.time))
    }

    fn work(&self) -> f64 {
        self.biases.work()
    }

    fn columns(&self) -> Vec<Quantity> {
        let mean = |column: &BiasColumn| match (column.period, column.follows) {
            (Some(_), _) => Mean::OnCircle,
            (None, Follows::Course) => Mean::AtRow,
            (None, Follows::Configuration) => Mean::Plain,
        };
        let quantity = |c: BiasColumn| Quantity { mean: mean(&c), name: c.name, unit: c.unit };
        self.biases.columns().into_iter().map(quantity).collect()
    }

    fn values(&self) -> Vec<Option<f64>> {
        self.biases.column_values()
    }

    fn biases(&mut self) -> Option<&mut Biases> {
        Some(&mut self.biases)
    }

    fn fixes_temperature(&self) -> Option<&'static str> {
        self.biases.have_any().then_some("[[bias]], whose profiles are those of the temperature in the input")
    }

    fn is_exchange_due(&self, after: After) -> bool {
        self.walkers.iter().any(|walker| walker.is_due(after))
    }

    fn exchange(&mut self, after: After) -> Result<()> {
        let BiasForce { biases, walkers, .. } = self;
        for walker in walkers.iter_mut().filter(|walker| walker.is_due(after)) {
            if let Some(metadynamics) = biases.metadynamics(&walker.name) {
                let exchanged = walker.exchange(after, metadynamics);
                exchanged.map_err(|e| e.context(format!("bias '{}'", walker.name)))?;
            }
        }
        Ok(())
    }

    fn files(&self) -> Vec<(String, String)> {
        self.biases.files()
    }

    fn save(&self) -> Result<Vec<u8>> {
        let biases = self.biases.save()?;
        if self.walkers.is_empty() {
            return Ok(biases);
        }
        let walkers: Vec<WalkerState> = self.walkers.iter().map(Walker::state).collect();
        postcard::to_allocvec(&(biases, walkers))
            .map_err(|e| Error::simulation(format!("walkers cannot be saved: {e}")))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<()> {
        if self.walkers.is_empty() {
            return self.biases.restore(saved);
        }
        let other =
            || Error::input("the checkpoint has other walkers").hint("begin a new run with this input");
        let (biases, walkers): (Vec<u8>, Vec<WalkerState>) =
            postcard::from_bytes(saved).map_err(|_| other())?;
        if walkers.len() != self.walkers.len() {
            return Err(other());
        }
        self.biases.restore(&biases)?;
        for (walker, state) in self.walkers.iter_mut().zip(walkers) {
            if let Some(metadynamics) = self.biases.metadynamics(&walker.name) {
                let restored = walker.restore(state, metadynamics);
                restored.map_err(|e| e.context(format!("bias '{}'", walker.name)))?;
            }
        }
        Ok(())
    }
}
