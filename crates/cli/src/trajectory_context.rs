//! Facts about the atoms of a trajectory that its file lacks: from the run that wrote it, or
//! from an input.

use crate::arguments::AnalyzeOptions;
use jostle_analysis::{Kind, MeasureSettings, Observable, Polarity, Whole};
use jostle_core::{Error, Result, System, UnitSystem};
use jostle_engine::dipole::check_conductor;
use jostle_engine::{CHECKPOINT, Checkpoint, Dipoles, HeatCurrent, system_from_input};
use jostle_io::{Input, Snapshot, TrajectoryReader};
use jostle_show::RunFiles;
use std::path::{Path, PathBuf};

/// Sources of further facts about the atoms.
pub struct TrajectoryContext {
    /// The folder with the checkpoint of the run.
    run: Option<PathBuf>,
    /// Input that describes the system.
    input: Option<Input>,
}

impl TrajectoryContext {
    /// The input that was asked for, or the run that wrote the trajectory.
    ///
    /// # Errors
    /// If the input cannot be read.
    pub fn of(options: &AnalyzeOptions) -> Result<Self> {
        let folder = options.trajectory.parent().unwrap_or(Path::new("")).to_path_buf();
        let run = Some(folder).filter(|folder| folder.join(CHECKPOINT).is_file());
        let input = options.input.as_ref().map(|path| Input::read(path)).transpose()?;
        Ok(TrajectoryContext { run, input })
    }

    /// Units of the input.
    pub fn units(&self) -> Option<UnitSystem> {
        self.input.as_ref().map(|input| input.units)
    }

    /// The system, in the order of ids.
    ///
    /// # Errors
    /// If it cannot be read, or is another one than that of the trajectory.
    pub fn system(&self, reader: &TrajectoryReader) -> Result<Option<System>> {
        let n = reader.species().len();
        if let Some(input) = &self.input {
            let mut system = system_from_input(input)?.0;
            if system.state.len() != n || input.units != reader.units() {
                let message = format!(
                    "this system has {} atoms in units of \"{}\", the trajectory {n} in \"{}\"",
                    system.state.len(),
                    input.units,
                    reader.units()
                );
                return Err(Error::file(&input.source.path, message).hint(
                    reader.alternatives().unwrap_or("--input and --units have to fit the trajectory"),
                ));
            }
            system.state.sort_by_id();
            return Ok(Some(system));
        }
        let Some(run) = &self.run else { return Ok(None) };
        let checkpoint = Checkpoint::read(&run.join(CHECKPOINT))?;
        let same = checkpoint.units()? == reader.units();
        Ok(Some(checkpoint.into_system()?).filter(|system| same && system.state.len() == n))
    }

    /// Sums over its charges or energies, for a kind of analysis.
    ///
    /// # Errors
    /// If they mean something else with the forces of this system, or the temperature is not given.
    pub fn frame_sums(
        &self,
        options: &AnalyzeOptions,
        kind: &Kind,
        settings: &MeasureSettings,
        system: System,
    ) -> Result<FrameSums> {
        let of_run = self.run.as_ref().map(|run| run.join("input.toml")).filter(|path| path.is_file());
        let of_run = of_run.filter(|_| self.input.is_none()).map(|path| Input::read(&path)).transpose()?;
        let input = self.input.as_ref().or(of_run.as_ref());
        if let Some(input) = input.filter(|_| kind.observable == Observable::Dipole) {
            check_conductor(input).map_err(|e| e.in_file(&input.source.path))?;
        }
        let heat_current = match kind.observable {
            Observable::HeatCurrent => {
                let input = input_of(options, "forces between atoms")?;
                Some(HeatCurrent::from_input(&input, &system).map_err(|e| e.in_file(&input.source.path))?)
            }
            _ => None,
        };
        let (kinetic, degrees_of_freedom) = match settings.get("temperature") {
            Some(_) => (f64::NAN, 0),
            None => self.kinetic(options)?,
        };
        Ok(FrameSums {
            dipoles: Dipoles::of(&system),
            heat_current,
            observable: kind.observable,
            system,
            kinetic,
            degrees_of_freedom,
        })
    }

    /// The mean kinetic energy of the stage that a trajectory is of, and its degrees of freedom.
    fn kinetic(&self, options: &AnalyzeOptions) -> Result<(f64, usize)> {
        let unknown = || {
            Error::file(&options.trajectory, "the temperature of the molecules is not known")
                .hint("give it: temperature=300; or, beside the files of a run, the stage: --stage NAME")
        };
        let run = RunFiles::read(self.run.as_ref().ok_or_else(unknown)?)?;
        let stem = options.trajectory.file_stem().and_then(|s| s.to_str());
        let name = options.stage.as_deref().or(stem).ok_or_else(unknown)?;
        let thermo = run.thermo.as_ref().ok_or_else(unknown)?;
        let rows = thermo.stages.iter().find(|s| s.name == name).ok_or_else(unknown)?;
        let report = run.stages.iter().find(|r| r.name == name).ok_or_else(unknown)?;
        let column = &rows.values[thermo.quantity("kinetic").ok_or_else(unknown)?];
        let mean = column.iter().sum::<f64>() / column.len() as f64;
        Some((mean, report.degrees_of_freedom)).filter(|(mean, _)| mean.is_finite()).ok_or_else(unknown)
    }
}

/// Sums over the charges of a system, or its heat current, frame by frame.
pub struct FrameSums {
    dipoles: Dipoles,
    heat_current: Option<HeatCurrent>,
    observable: Observable,
    /// In the order of ids.
    system: System,
    kinetic: f64,
    degrees_of_freedom: usize,
}

impl FrameSums {
    /// Kind of dipole moment that the system has.
    pub fn polarity(&self) -> Polarity {
        self.dipoles.polarity()
    }

    /// The dipole moment of a frame, or its current of charges or heat.
    ///
    /// # Errors
    /// If a molecule is bound to its own image, or a position is not finite.
    pub fn whole(&mut self, frame: &Snapshot) -> Result<Whole> {
        let state = &mut self.system.state;
        state.position.copy_from_slice(&frame.positions);
        if let Some(velocities) = &frame.velocities {
            state.velocity.copy_from_slice(velocities);
        }
        let is = |observable| self.observable == observable;
        let dipole = is(Observable::Dipole).then(|| self.dipoles.moment(&frame.simbox, state)).transpose()?;
        let heat_current = self.heat_current.as_mut().filter(|_| frame.velocities.is_some());
        let heat_current = heat_current.map(|current| current.evaluate(&frame.simbox, state)).transpose()?;
        let with_velocities = is(Observable::Current) && frame.velocities.is_some();
        Ok(Whole {
            kinetic: self.kinetic,
            total: f64::NAN,
            degrees_of_freedom: self.degrees_of_freedom,
            pressure: None,
            dipole,
            current: with_velocities.then(|| self.dipoles.current(state)),
            heat_current,
        })
    }
}

/// The input that was named, else that of the run whose trajectory it is; it defines `what` is wanted.
///
/// # Errors
/// If there is none, or it cannot be read.
pub fn input_of(options: &AnalyzeOptions, what: &str) -> Result<Input> {
    if let Some(path) = &options.input {
        return Input::read(path);
    }
    // Files that the input names are beside the original, not beside its copy in the folder of the run.
    let checkpoint = options.trajectory.with_file_name(CHECKPOINT);
    if checkpoint.is_file()
        && let Some(input) = Checkpoint::read(&checkpoint)?.input()?
    {
        return Ok(input);
    }
    let of_run = options.trajectory.with_file_name("input.toml");
    if of_run.is_file() {
        return Input::read(&of_run);
    }
    Err(Error::file(
        &options.trajectory,
        format!("the {what} are not known: no input is beside this trajectory"),
    )
    .hint("name one: --input FILE"))
}
