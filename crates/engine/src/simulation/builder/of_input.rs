//! Simulations of inputs, begun or resumed.

use super::{SimulationBuilder, known};
use crate::alchemy::{self, Alchemy};
use crate::biasing::{BiasForce, VariablesAt, check_energies};
use crate::build::{forces_from_input, parts_from_input};
use crate::checkpoint::Checkpoint;
use crate::custom_force::CustomForce;
use crate::exchange_folder::ExchangeFolder;
use crate::external_work::RecordedWork;
use crate::input_text::{InputText, RunSettings, absolute};
use crate::run_folder::newest_checkpoint;
use crate::simulation::facts::{Columns, check_column};
use crate::simulation::{Overrides, Simulation};
use crate::warnings::ExternalWork;
use jostle_core::{Algorithm, Backend, Error, Processor, Result, Settings, System};
use jostle_io::Input;
use jostle_io::input::model::{Action, DeviceInput, StageInput};
use jostle_io::read_files::recorded;
use jostle_potentials::Forces;
use std::path::Path;

impl Simulation {
    /// The simulation of an input. Nothing is written until [`Simulation::write_to`] names a folder. A resumed run
    /// has the text of the input, and device, settings and strictness of its `run` as they are here; whatever else
    /// was changed in memory must be in the text, too ([`jostle_io::input::Assignment`] changes it there).
    ///
    /// # Errors
    /// If the input asks for something impossible; the error points at the line.
    pub fn from_input(input: &Input, overrides: &Overrides) -> Result<Self> {
        SimulationBuilder::of_input(input, overrides)?.build()
    }

    /// The simulation of an input on a device of one's own: `open` puts the system on it.
    ///
    /// # Errors
    /// As for [`Simulation::from_input`].
    pub fn from_input_on<F>(input: &Input, overrides: &Overrides, open: F) -> Result<Self>
    where
        F: FnOnce(System, Forces, Settings) -> Result<Box<dyn Backend>> + 'static,
    {
        SimulationBuilder::of_input(input, overrides)?.open_with(open).build()
    }

    /// Resumes the run of a folder from its last checkpoint. Output after the checkpoint is cut off, so that
    /// the files are those of an uninterrupted run.
    ///
    /// # Errors
    /// If the folder holds no run, or a replica of an exchange, its checkpoints are damaged, or its files are shorter than
    /// at the checkpoint.
    pub fn resume(folder: &Path, overrides: &Overrides) -> Result<Self> {
        ExchangeFolder::refuse_replica(folder)?;
        Simulation::resume_from(folder, newest_checkpoint(folder)?, overrides)
    }

    /// The run of a folder from a checkpoint, with a note about it.
    pub(crate) fn resume_from(
        folder: &Path,
        (checkpoint, note): (Checkpoint, Option<String>),
        overrides: &Overrides,
    ) -> Result<Self> {
        let Some(source) = checkpoint.header.input.clone() else {
            return Err(Error::file(folder, "this run was put together by a program, not by an input file")
                .hint("only that program can go on with it, by SimulationBuilder::resume"));
        };
        let mut input = Input::parse(&source.path, &source.text)?;
        source.run.apply(&mut input);
        forget_algorithm(&mut input.run.settings, overrides);
        let overrides = Overrides { most_steps: source.most_steps, ..*overrides };
        let mut system = checkpoint.clone().into_system()?;
        alchemy::restore_plain(&checkpoint, &mut system)?;
        system.driven = input.driven(&system)?;
        let (builder, read) = recorded(|| {
            let mut forces = forces_from_input(&input, &system, checkpoint.header.first_volume)?;
            let alchemy = alchemy::apply(&input, &mut system, &mut forces)?;
            SimulationBuilder::from_input(&input, &overrides, system, forces).with_rest(
                &input,
                alchemy,
                VariablesAt::Checkpoint,
            )
        });
        source.refuse_changed(read)?;
        let mut builder = builder?;
        // Checksums stay those of the beginning, also in what this run writes.
        builder.source = builder.source.map(|made| InputText {
            files: source.files,
            began_with: source.began_with,
            ..made
        });
        builder.resume_from(folder, checkpoint, note)
    }
}

impl SimulationBuilder {
    /// A builder with everything that an input says.
    fn of_input(input: &Input, overrides: &Overrides) -> Result<Self> {
        let (builder, read) = recorded(|| {
            let (system, forces, alchemy) = parts_from_input(input)?;
            SimulationBuilder::from_input(input, overrides, system, forces).with_rest(
                input,
                alchemy,
                VariablesAt::Beginning,
            )
        });
        let mut builder = builder?;
        if let Some(source) = &mut builder.source {
            source.set_files(read);
        }
        Ok(builder)
    }

    /// Adds what acts beside the forces, and looks at them.
    fn with_rest(self, input: &Input, alchemy: Option<Alchemy>, moment: VariablesAt) -> Result<Self> {
        let builder = self.with_interactions(input)?.with_biases(input, moment)?;
        Ok(builder.with_external_work(input).with_alchemy(alchemy))
    }

    /// A builder with the content of an input, from which the system and the forces have been made.
    fn from_input(input: &Input, overrides: &Overrides, system: System, forces: Forces) -> Self {
        let stage = |s: &StageInput| {
            let mut stage = s.clone();
            let (Action::Dynamics { steps, .. } | Action::Minimize { steps, .. }) = &mut stage.action;
            if let Some(most) = overrides.most_steps.filter(|most| most < steps) {
                // The stage must end where long-range forces act.
                *steps = most - most % stage.long_range_every.max(1);
            }
            stage
        };
        let mut settings = input.run.settings;
        settings.threads = overrides.threads.or(settings.threads);
        settings.force_matrix = overrides.force_matrix;
        SimulationBuilder {
            units: input.units,
            system,
            forces,
            stages: input.stages.iter().map(|s| stage(&s.value)).collect(),
            seed: input.system.seed,
            open: known(overrides.device.unwrap_or(input.run.device), overrides.ranks),
            settings,
            observers: Vec::new(),
            custom_forces: Vec::new(),
            source: Some(InputText {
                path: absolute(&input.source.path),
                run_folder: None,
                files: Vec::new(),
                began_with: Vec::new(),
                text: input.source.text.to_string(),
                most_steps: overrides.most_steps,
                run: RunSettings::of(input),
            }),
            title: input.title.clone(),
            reported: input.reported_groups(),
            interactions: Vec::new(),
            strictness: input.run.strictness.max(overrides.strictness),
            warnings: Vec::new(),
            work_in_time: ExternalWork::InTime,
        }
    }

    /// Adds the interactions of an input.
    fn with_interactions(mut self, input: &Input) -> Result<Self> {
        self.interactions = input.chosen_interactions(&self.system)?;
        Ok(self)
    }

    /// Adds the variables and biases of an input.
    fn with_biases(mut self, input: &Input, moment: VariablesAt) -> Result<Self> {
        check_energies(input, &self.forces)?;
        let force = BiasForce::from_input(input, (&self.system, moment), &self.stages)?;
        force.iter().try_for_each(|force| self.check_variables(input, force))?;
        self.custom_forces.extend(force.map(|force| Box::new(force) as Box<dyn CustomForce>));
        Ok(self)
    }

    /// Refuses variables with the name of another column; the error points at the variable.
    fn check_variables(&self, input: &Input, force: &BiasForce) -> Result<()> {
        let parts = (&self.system, &self.forces);
        let (columns, own) = (Columns::new(self.units, parts, &self.reported, Vec::new())?, force.columns());
        let mut taken = columns.names();
        taken.push(force.name());
        taken.extend(own.iter().skip(input.variables.len()).map(|column| column.name.as_str()));
        input.variables.iter().map(|variable| &variable.value.name).try_for_each(|name| {
            let at = |e: Error| e.at_span(&input.source.path, &input.source.text, name.span.clone());
            check_column(&name.value, &taken).map_err(at)
        })
    }

    /// Adds the work of fields and walls that an input records.
    fn with_external_work(mut self, input: &Input) -> Self {
        if RecordedWork::is_all(input, &self.forces) {
            self.work_in_time = ExternalWork::Recorded;
        }
        let works = RecordedWork::from_input(input, &self.forces, &self.system);
        self.custom_forces.extend(works.into_iter().map(|work| Box::new(work) as Box<dyn CustomForce>));
        self
    }

    /// Adds the samples of `[alchemy]`.
    fn with_alchemy(mut self, alchemy: Option<Alchemy>) -> Self {
        if let Some(mut alchemy) = alchemy {
            self.warnings.extend(alchemy.warning.take());
            let (sampler, records) = alchemy.split();
            self.observers.push(Box::new(sampler));
            self.custom_forces.push(Box::new(records));
        }
        self
    }
}

/// Leaves the algorithm of a run open where it goes on with another kind of device than that of the algorithm.
fn forget_algorithm(settings: &mut Settings, overrides: &Overrides) {
    let device = match overrides.device {
        Some(DeviceInput::Cpu) => Processor::Cpu,
        Some(DeviceInput::Cuda(_)) => Processor::Gpu,
        Some(DeviceInput::Auto) | None => return,
    };
    if settings.algorithm.processor().is_some_and(|processor| processor != device) {
        settings.algorithm = Algorithm::Auto;
    }
}
