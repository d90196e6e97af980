//! A simulation, as the package `jostle` uses it.

use crate::arrays::{array, filled_rows, vectors};
use crate::device_force::PythonDeviceForce;
use crate::error::{NO_FILE, OrRaise, exception};
use crate::exclusive::{Exclusive, Guard};
use crate::facts::{self, AtomNames, Species};
use crate::force::{Arguments, PythonForce, RaisedByForces};
use crate::held_interrupt::HeldInterrupt;
use crate::listener::{Interruption, Listener, Raised, Stop};
use crate::observer::{Due, PythonObserver};
use crate::run::{Run, get_to_run};
use crate::text::{self, StageText};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Evaluate, SimBox, SymTensor};
use jostle_engine::degrees_of_freedom::Momentum;
use jostle_engine::model::{DeviceInput, Strictness};
use jostle_engine::{AtomVector, Existing, Extent, Outcome, Overrides, Simulation};
use jostle_io::Input;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::{Duration, Instant};

/// Time for which a run goes on although other calls wait: each of them costs it some milliseconds.
const LEAST_RUN: Duration = Duration::from_millis(10);

/// A simulation.
#[pyclass(frozen, module = "jostle._jostle")]
pub struct Core {
    run: Exclusive<Run>,
    due: Due,
    raised: RaisedByForces,
    interruption: Interruption,
    held: HeldInterrupt,
}

/// Properties of a force.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct ForceOptions {
    with_box: bool,
    conserves_momentum: bool,
    on_device: bool,
}

/// Origin, lengths, tilts and periodic axes of a box.
type BoxShape = ([f64; 3], [f64; 3], [f64; 3], [bool; 3]);

/// Name, unit and value of a quantity.
type NamedValue = (String, String, Option<f64>);

/// Settings that take precedence over those of an input.
fn overrides(
    device: Option<&str>,
    threads: Option<usize>,
    steps: Option<u64>,
    strict: bool,
) -> jostle_core::Result<Overrides> {
    Ok(Overrides {
        threads,
        device: device.map(DeviceInput::from_str).transpose()?,
        most_steps: steps,
        strictness: if strict { Strictness::Strict } else { Strictness::Lenient },
        ranks: None,
        force_matrix: None,
    })
}

impl Core {
    fn new(run: Run) -> Self {
        Core {
            run: Exclusive::new(run),
            due: Due::default(),
            raised: RaisedByForces::default(),
            interruption: Interruption::default(),
            held: HeldInterrupt::default(),
        }
    }

    fn of_input(py: Python, input: Input, overrides: &Overrides) -> PyResult<Self> {
        let simulation = py.detach(|| Simulation::from_input(&input, overrides)).or_raise(py)?;
        Ok(Core::new(Run::new(simulation, input, *overrides)))
    }

    /// The simulation, as soon as no other thread uses it.
    pub fn get(&self, py: Python) -> PyResult<Guard<'_, Run>> {
        self.run.get(py)
    }

    /// The simulation likewise, unless its arrays are lent.
    pub fn get_free(&self, py: Python) -> PyResult<Guard<'_, Run>> {
        let run = self.run.get(py)?;
        run.check_is_free()?;
        Ok(run)
    }

    /// A vector of each atom, by id.
    fn vectors<'py>(&self, py: Python<'py>, vector: AtomVector) -> PyResult<Bound<'py, PyAny>> {
        let mut run = self.get(py)?;
        let simulation = &mut run.simulation;
        filled_rows(py, simulation.n_atoms(), |rows| {
            py.detach(|| simulation.fill_by_id(vector, rows)).or_raise(py)
        })
    }

    /// The value, or the exception that a force has raised, or that for the error.
    pub fn or_raise<T>(&self, py: Python, result: jostle_core::Result<T>) -> PyResult<T> {
        let raised = self.raised.take();
        result.map_err(|error| raised.unwrap_or_else(|| exception(py, &error)))
    }
}

#[pymethods]
impl Core {
    /// The simulation of an input file.
    #[staticmethod]
    #[pyo3(signature = (path, device, threads, steps, strict))]
    fn read(
        py: Python,
        path: PathBuf,
        device: Option<&str>,
        threads: Option<usize>,
        steps: Option<u64>,
        strict: bool,
    ) -> PyResult<Self> {
        let overrides = overrides(device, threads, steps, strict).or_raise(py)?;
        let input = Input::read(&path).or_raise(py)?;
        Core::of_input(py, input, &overrides)
    }

    /// The simulation of the text of an input; relative paths start in the working folder.
    #[staticmethod]
    #[pyo3(signature = (text, device, threads, steps, strict))]
    fn parse(
        py: Python,
        text: &str,
        device: Option<&str>,
        threads: Option<usize>,
        steps: Option<u64>,
        strict: bool,
    ) -> PyResult<Self> {
        let overrides = overrides(device, threads, steps, strict).or_raise(py)?;
        let folder = std::env::current_dir().unwrap_or_default();
        let input = Input::parse(&folder.join(NO_FILE), text).or_raise(py)?;
        Core::of_input(py, input, &overrides)
    }

    /// The run of a folder, from its last checkpoint.
    #[staticmethod]
    #[pyo3(signature = (folder, device, threads, strict))]
    fn resume(
        py: Python,
        folder: PathBuf,
        device: Option<&str>,
        threads: Option<usize>,
        strict: bool,
    ) -> PyResult<Self> {
        let overrides = overrides(device, threads, None, strict).or_raise(py)?;
        let simulation = py.detach(|| Simulation::resume(&folder, &overrides)).or_raise(py)?;
        let run = Run::resumed(simulation, overrides).or_raise(py)?;
        Ok(Core::new(run))
    }

    /// Runs what remains of an extent: all stages, those up to an index, or some steps, or until another call waits
    /// for the simulation. Returns what became of it,
    /// the steps that are left, and the numbers of the observers that are due.
    fn advance(
        &self,
        py: Python,
        extent: &str,
        amount: u64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(&'static str, u64, Vec<usize>)> {
        let mut extent = match extent {
            "all" => Extent::All,
            "through" => Extent::Through(usize::try_from(amount).unwrap_or(usize::MAX)),
            _ => Extent::Steps(amount),
        };
        let mut run = get_to_run(py, &self.run)?;
        let Run { simulation, rows, .. } = &mut *run;
        let (handle, began) = (simulation.handle(), Instant::now());
        let (outcome, raised) = py.detach(|| {
            let raised = Raised::default();
            let stage = (String::new(), simulation.stage_index(), 0);
            let mut listener = Listener { rows, progress, raised: &raised, stage };
            let stop = Stop::new(&raised, &self.interruption, &self.held);
            let stops = || {
                if began.elapsed() > LEAST_RUN && self.run.is_wanted() {
                    handle.pause();
                }
                stop.is_wished()
            };
            let outcome = simulation.advance_with(&mut extent, &mut listener, &stops);
            (outcome, raised.take())
        });
        if let Some(raised) = raised {
            return Err(raised);
        }
        let outcome = match self.or_raise(py, outcome)? {
            Outcome::Finished => "finished",
            Outcome::Interrupted => "interrupted",
            Outcome::Paused => "paused",
        };
        let left = if let Extent::Steps(left) = extent { left } else { 0 };
        Ok((outcome, left, self.due.take()))
    }

    /// Refuses a process that was forked from that of the simulation.
    fn check_process(&self) -> PyResult<()> {
        self.run.check_process()
    }

    /// Ends the run under way, as Ctrl-C does, and every later one; or no longer does so. Any thread may call it.
    fn interrupt(&self, ends: bool) {
        self.interruption.set(ends);
    }

    /// Holds Ctrl-C until the step is over, if a force computes in the middle of it; returns false where it shall act.
    fn hold_interrupt(&self) -> bool {
        self.held.hold()
    }

    /// Returns true where Ctrl-C was held, which is not held any more then.
    fn take_interrupt(&self) -> bool {
        self.held.take()
    }

    /// Adds an observer, for which runs pause; returns its number.
    fn add_observer(&self, py: Python, every: u64, energies: bool) -> PyResult<usize> {
        let mut run = self.get(py)?;
        let number = run.observers;
        let requested = if energies { Evaluate::ForcesAndEnergies } else { Evaluate::Forces };
        run.simulation.observe(PythonObserver { every, requested, number, due: self.due.clone() });
        run.observers += 1;
        Ok(number)
    }

    /// Adds a force that a function computes.
    #[pyo3(signature = (name, function, ids, options))]
    fn add_force(
        &self,
        py: Python,
        name: String,
        function: Py<PyAny>,
        ids: Option<Vec<u32>>,
        options: ForceOptions,
    ) -> PyResult<()> {
        let mut run = self.get_free(py)?;
        let n = run.simulation.n_atoms();
        if let Some(id) = ids.iter().flatten().find(|id| **id as usize >= n) {
            return Err(PyValueError::new_err(format!("there is no atom {id}: there are {n}, from 0")));
        }
        let arguments = if options.with_box { Arguments::PositionsAndBox } else { Arguments::Positions };
        let momentum = if options.conserves_momentum { Momentum::Conserved } else { Momentum::Thermal };
        let (raised, held) = (self.raised.clone(), self.held.clone());
        let simulation = &mut run.simulation;
        if options.on_device && simulation.is_on_gpu() {
            let force = PythonDeviceForce::new(name, function, arguments, ids, momentum, (raised, held));
            return simulation.add_custom_force(force).or_raise(py);
        }
        let (has_virial, positions) = (true, None);
        let force =
            PythonForce { name, function, arguments, ids, momentum, raised, held, has_virial, positions };
        simulation.add_custom_force(force).or_raise(py)
    }

    /// Makes a stage with these keys the next one; returns its index.
    fn insert_stage(&self, py: Python, stage: &Bound<PyDict>) -> PyResult<usize> {
        let stage = StageText::new(stage)?;
        self.get(py)?.insert(&stage).or_raise(py)
    }

    /// Adds a stage that goes on as the last stage of dynamics has ended.
    fn continue_stage(&self, py: Python, steps: u64) -> PyResult<usize> {
        let mut run = self.get(py)?;
        let Some(stage) = StageText::continuing(&run.input, steps) else {
            let error = Error::input("all stages are finished, and none has steps that could go on");
            return Err(exception(py, &error.hint("say how to go on: run(steps, timestep=...)")));
        };
        run.insert(&stage).or_raise(py)
    }

    /// Writes results to a folder.
    fn write_to(&self, py: Python, folder: PathBuf, overwrite: bool) -> PyResult<()> {
        let existing = if overwrite { Existing::Replace } else { Existing::Refuse };
        let mut run = self.get_free(py)?;
        run.simulation.write_to(&folder, existing).or_raise(py)
    }

    /// Writes a checkpoint into the folder.
    fn save(&self, py: Python) -> PyResult<()> {
        let mut run = self.get_free(py)?;
        let run = &mut *run;
        py.detach(|| run.save()).or_raise(py)
    }

    /// Goes back to what was saved last, without observers and forces of Python.
    fn restore(&self, py: Python) -> PyResult<()> {
        let mut run = self.get_free(py)?;
        let run = &mut *run;
        py.detach(|| run.restore()).or_raise(py)
    }

    /// Writes a checkpoint into the folder, if there is one, and lets go of it.
    fn leave_folder(&self, py: Python) -> PyResult<()> {
        let mut run = self.get_free(py)?;
        let run = &mut *run;
        match run.simulation.folder() {
            Some(_) => py.detach(|| run.simulation.leave_folder()).or_raise(py),
            None => Ok(()),
        }
    }

    /// Does so at the end of a simulation, where it may have been lent, failed or belong to another process.
    fn leave_folder_at_end(&self, py: Python) -> PyResult<()> {
        let Some(mut run) = self.run.get_if_free() else { return Ok(()) };
        let run = &mut *run;
        if run.lent.is_some() || !run.simulation.folder().is_some_and(Path::is_dir) {
            return Ok(());
        }
        py.detach(|| run.simulation.leave_folder()).or_raise(py)
    }

    /// The folder written to.
    fn folder(&self, py: Python) -> PyResult<Option<PathBuf>> {
        Ok(self.get(py)?.simulation.folder().map(Path::to_path_buf))
    }

    /// Text of the input.
    fn input(&self, py: Python) -> PyResult<String> {
        Ok(self.get(py)?.input.source.text.to_string())
    }

    /// Number of atoms.
    fn n_atoms(&self, py: Python) -> PyResult<usize> {
        Ok(self.get(py)?.simulation.n_atoms())
    }

    /// Steps made so far, and the simulated time.
    fn clock(&self, py: Python) -> PyResult<(u64, f64)> {
        let run = self.get(py)?;
        Ok((run.simulation.step(), run.simulation.time()))
    }

    /// Index of the stage under way or next, and its steps so far, if it is under way.
    fn stage(&self, py: Python) -> PyResult<(usize, Option<u64>)> {
        let run = self.get(py)?;
        Ok((run.simulation.stage_index(), run.simulation.stage_step()))
    }

    /// Names of all stages.
    fn stages(&self, py: Python) -> PyResult<Vec<String>> {
        Ok(self.get(py)?.simulation.stages().iter().map(|stage| stage.name.clone()).collect())
    }

    /// Title, units and device.
    fn describe(&self, py: Python) -> PyResult<(String, &'static str, String)> {
        let run = self.get(py)?;
        let simulation = &run.simulation;
        Ok((simulation.title().to_string(), simulation.units().name(), simulation.device()))
    }

    /// Positions in the box.
    fn positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.vectors(py, AtomVector::Position)
    }

    /// Positions along unwrapped paths.
    fn unwrapped_positions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.vectors(py, AtomVector::UnwrappedPosition)
    }

    /// Velocities.
    fn velocities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.vectors(py, AtomVector::Velocity)
    }

    /// Forces.
    fn forces<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut run = self.get_free(py)?;
        let simulation = &mut run.simulation;
        self.or_raise(py, py.detach(|| simulation.evaluate_forces()))?;
        drop(run);
        self.vectors(py, AtomVector::Force)
    }

    /// Moves the atoms.
    fn set_positions(&self, py: Python, positions: &Bound<PyAny>) -> PyResult<()> {
        let mut run = self.get_free(py)?;
        let positions = vectors(positions, run.simulation.n_atoms(), "positions")?;
        run.simulation.set_positions(&positions).or_raise(py)
    }

    /// Changes the velocities.
    fn set_velocities(&self, py: Python, velocities: &Bound<PyAny>) -> PyResult<()> {
        let mut run = self.get_free(py)?;
        let velocities = vectors(velocities, run.simulation.n_atoms(), "velocities")?;
        run.simulation.set_velocities(&velocities).or_raise(py)
    }

    /// Another box, of these lengths and tilts, with the atoms at other positions.
    fn set_configuration(
        &self,
        py: Python,
        lengths: [f64; 3],
        tilts: [f64; 3],
        positions: &Bound<PyAny>,
    ) -> PyResult<()> {
        let mut run = self.get_free(py)?;
        let positions = vectors(positions, run.simulation.n_atoms(), "positions")?;
        let now = *run.simulation.simbox();
        let simbox = SimBox::new(now.origin(), lengths, tilts, now.periodic()).or_raise(py)?;
        run.simulation.set_configuration(simbox, &positions).or_raise(py)
    }

    /// Origin, lengths, tilts and periodic axes of the box.
    fn simbox(&self, py: Python) -> PyResult<BoxShape> {
        let run = self.get(py)?;
        let simbox = run.simulation.simbox();
        Ok((simbox.origin().into(), simbox.lengths(), simbox.tilts(), simbox.periodic()))
    }

    /// Names, masses and charges of the species, and the species of each atom.
    fn species<'py>(&self, py: Python<'py>) -> PyResult<Species<'py>> {
        facts::species(py, &mut self.get(py)?.simulation)
    }

    /// Charge of each atom.
    fn charges<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let charges = self.get(py)?.simulation.charges().or_raise(py)?;
        array(py, &charges)
    }

    /// Names of the atoms, their elements and residues; empty where files have not given any.
    fn names(&self, py: Python) -> PyResult<Vec<AtomNames>> {
        Ok(facts::names(&self.get(py)?.simulation))
    }

    /// Ids of the atoms of bonds, angles, dihedrals and constraints.
    fn topology<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        facts::topology(py, &self.get(py)?.simulation)
    }

    /// Thermodynamic quantities of the present configuration: names, units and values; the virial.
    fn evaluate(&self, py: Python) -> PyResult<(Vec<NamedValue>, SymTensor)> {
        let mut run = self.get_free(py)?;
        let quantities = run.simulation.quantities().to_vec();
        let simulation = &mut run.simulation;
        let evaluated = self.or_raise(py, py.detach(|| simulation.evaluate().cloned()))?;
        let values = evaluated.thermo.values().map(Some).chain(std::iter::repeat(None));
        let named = quantities.into_iter().zip(values);
        let named = named.map(|(q, value)| (q.name, q.unit, value.flatten())).collect();
        Ok((named, evaluated.virial))
    }

    /// Rows of thermodynamic quantities: names, units and columns.
    fn thermo<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let run = self.get(py)?;
        let rows = &run.rows;
        let columns = PyList::empty(py);
        columns.append(("stage", "", array(py, &rows.stage)?))?;
        columns.append(("step", "", array(py, &rows.step)?))?;
        columns.append((
            "time",
            unit_name(run.simulation.units(), Dimension::TIME),
            array(py, &rows.time)?,
        ))?;
        for (k, quantity) in run.simulation.quantities().iter().enumerate() {
            let values = rows.columns.get(k).map_or(&[][..], Vec::as_slice);
            columns.append((&quantity.name, &quantity.unit, array(py, values)?))?;
        }
        Ok(columns)
    }

    /// Reports of the stages that are finished, as JSON.
    fn reports(&self, py: Python) -> PyResult<String> {
        let run = self.get(py)?;
        json(run.simulation.reports())
    }

    /// Results of the measures of stages, as JSON: of those that are finished and of the one under way.
    fn results(&self, py: Python) -> PyResult<String> {
        json(&self.get(py)?.simulation.results())
    }
}

/// The text of an input from Python's values.
#[pyfunction]
pub fn input_text(keys: &Bound<PyDict>) -> PyResult<String> {
    text::input(keys)
}

fn json<T: serde::Serialize + ?Sized>(value: &T) -> PyResult<String> {
    serde_json::to_string(value).map_err(|e| PyValueError::new_err(e.to_string()))
}
