//! Facts about the atoms of a trajectory that its file lacks: from the run that wrote it, or
//! from an input.

use crate::arguments::AnalyzeOptions;
use jostle_analysis::{Kind, MeasureSettings, Observable, Polarity, Whole};
use jostle_core::{Error, Result, System, UnitSystem};
use jostle_engine::dipole::check_conductor;
use jostle_engine::{CHECKPOINT, Checkpoint, Dipoles, HeatCurrent, fluctuations, system_from_input};
use jostle_io::input::model::StageInput;
use jostle_io::{Input, Snapshot, TrajectoryReader, stage_in_name};
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
    /// If they mean something else with the forces of this system or in this stage, or the temperature is not given.
    pub fn frame_sums(
        &self,
        options: &AnalyzeOptions,
        kind: &Kind,
        settings: &MeasureSettings,
        mut system: System,
    ) -> Result<FrameSums> {
        let of_run = self.run.as_ref().filter(|_| self.input.is_none());
        let of_run =
            of_run.map(|run| Checkpoint::read(&run.join(CHECKPOINT))?.input()).transpose()?.flatten();
        if let Some(input) = &of_run {
            // A checkpoint does not have the velocities that atoms keep.
            system.driven = input.driven(&system).map_err(|e| e.in_file(&input.source.path))?;
        }
        let input = self.input.as_ref().or(of_run.as_ref());
        if let Some(input) = input {
            let here = |e: Error| e.in_file(&input.source.path);
            if kind.observable == Observable::Dipole {
                check_conductor(input).map_err(here)?;
            }
            if let Some(stage) = stage_of(options, input) {
                let named = |e: Error| here(e.context(format!("stage '{}'", stage.name)));
                fluctuations::check(kind, stage, input, &system).map_err(named)?;
            }
        }
        let heat_current = match kind.observable {
            Observable::HeatCurrent => {
                let input = input_of(options, "forces between atoms")?;
                let current = HeatCurrent::from_input(&input, &system, stage_of(options, &input));
                Some(current.map_err(|e| e.in_file(&input.source.path))?)
            }
            _ => None,
        };
        let rows = match settings.get("temperature") {
            Some(_) => None,
            None => Some(self.kinetic_rows(options)?),
        };
        Ok(FrameSums {
            dipoles: Dipoles::of(&system),
            heat_current,
            observable: kind.observable,
            system,
            rows,
        })
    }

    /// The kinetic energies of the stage that a trajectory is of.
    fn kinetic_rows(&self, options: &AnalyzeOptions) -> Result<KineticRows> {
        let unknown = || {
            Error::file(&options.trajectory, "the temperature of the molecules is not known")
                .hint("give it: temperature=300; or, beside the files of a run, the stage: --stage NAME")
        };
        let run = RunFiles::read(self.run.as_ref().ok_or_else(unknown)?)?;
        let name = stage_name(options).ok_or_else(unknown)?;
        let thermo = run.thermo.as_ref().ok_or_else(unknown)?;
        let rows = thermo.stages.iter().find(|s| s.name == name).ok_or_else(unknown)?;
        let report = run.stages.iter().find(|r| r.name == name).ok_or_else(unknown)?;
        let kinetic = &rows.values[thermo.quantity("kinetic").ok_or_else(unknown)?];
        let known = rows.time.iter().copied().zip(kinetic.iter().copied());
        let rows: Vec<(f64, f64)> = known.filter(|(_, kinetic)| kinetic.is_finite()).collect();
        let degrees_of_freedom = report.degrees_of_freedom;
        Some(KineticRows { rows, degrees_of_freedom })
            .filter(|known| !known.rows.is_empty())
            .ok_or_else(unknown)
    }
}

/// Name of the stage that a trajectory is of: what was asked for, else the name of the file.
fn stage_name(options: &AnalyzeOptions) -> Option<&str> {
    options.stage.as_deref().or_else(|| stage_in_name(&options.trajectory))
}

/// Stage of an input that a trajectory is of, where it is one of them.
fn stage_of<'a>(options: &AnalyzeOptions, input: &'a Input) -> Option<&'a StageInput> {
    let name = stage_name(options)?;
    input.stages.iter().map(|stage| &stage.value).find(|stage| stage.name == name)
}

/// Kinetic energies in the rows of `thermo.csv` of a stage.
struct KineticRows {
    /// Times, ascending, and energies.
    rows: Vec<(f64, f64)>,
    degrees_of_freedom: usize,
}

impl KineticRows {
    /// The kinetic energy in the row that is nearest in time.
    ///
    /// # Errors
    /// If the time is not known, or no row is as near as rows are to each other.
    fn at(&self, time: Option<f64>) -> Result<f64> {
        let hint = "give the temperature: temperature=300";
        let time = time.ok_or_else(|| {
            Error::input("frames of this trajectory have no times, so that no rows of thermo.csv are theirs")
                .hint(hint)
        })?;
        let next = self.rows.partition_point(|(row, _)| *row < time);
        let off = |(row, _): &&(f64, f64)| (row - time).abs();
        let around = &self.rows[next.saturating_sub(1)..self.rows.len().min(next + 1)];
        let nearest = around.iter().min_by(|a, b| off(a).total_cmp(&off(b)));
        let apart = self.rows.windows(2).map(|pair| pair[1].0 - pair[0].0).reduce(f64::max);
        let apart = apart.unwrap_or(f64::INFINITY);
        match nearest.filter(|row| off(row) <= apart * (1.0 + 1e-6)) {
            Some((_, kinetic)) => Ok(*kinetic),
            None => {
                Err(Error::input(format!("thermo.csv has no row near the frame at time {time}")).hint(hint))
            }
        }
    }
}

/// Sums over the charges of a system, or its heat current, frame by frame.
pub struct FrameSums {
    dipoles: Dipoles,
    heat_current: Option<HeatCurrent>,
    observable: Observable,
    /// In the order of ids.
    system: System,
    /// Kinetic energies, where the temperature is not given.
    rows: Option<KineticRows>,
}

impl FrameSums {
    /// Kind of dipole moment that the system has.
    pub fn polarity(&self) -> Polarity {
        self.dipoles.polarity()
    }

    /// The dipole moment of a frame, or its current of charges or heat.
    ///
    /// # Errors
    /// If a molecule is bound to its own image, a position is not finite, or the frame has no temperature.
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
            kinetic: self.rows.as_ref().map_or(Ok(f64::NAN), |rows| rows.at(frame.time))?,
            total: f64::NAN,
            degrees_of_freedom: self.rows.as_ref().map_or(0, |rows| rows.degrees_of_freedom),
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
    if checkpoint.is_file() {
        let checkpoint = Checkpoint::read(&checkpoint)?;
        if let Some(input) = checkpoint.input()? {
            checkpoint.refuse_changed_files()?;
            return Ok(input);
        }
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
