//! Devices and settings with which the tables of papers are measured.

use crate::bench::measure::{Measured, RunSettings, TimedSystem, measure};
use jostle_core::{Precision, Processor, Result};
use jostle_engine::Simulation;
use jostle_engine::device;
use jostle_engine::model::DeviceInput;
use jostle_io::Input;

/// Devices and settings with which the tables of papers are measured.
#[derive(Clone, Copy)]
pub struct Session {
    run_settings: RunSettings,
    seconds: f64,
    /// Kind of device.
    pub here: Processor,
}

impl Session {
    /// Measurements of so many seconds each.
    pub fn new(run_settings: &RunSettings, seconds: f64) -> Self {
        let here = device::preferred(run_settings.overrides.device.unwrap_or_default());
        Session { run_settings: *run_settings, seconds, here }
    }

    /// Session with these settings on a device.
    fn on(&self, device: DeviceInput) -> Self {
        let mut run_settings = self.run_settings;
        run_settings.overrides.device = Some(device);
        Session::new(&run_settings, self.seconds)
    }

    /// The CPU and, if that is what was asked for and there is one, the GPU.
    pub fn processors(&self) -> Vec<Session> {
        match self.here {
            Processor::Cpu => vec![self.on(DeviceInput::Cpu)],
            Processor::Gpu => vec![self.on(DeviceInput::Cpu), *self],
        }
    }

    /// One thread of the CPU.
    pub fn one_core(&self) -> Self {
        let mut session = self.on(DeviceInput::Cpu);
        session.run_settings.overrides.threads = Some(1);
        session
    }

    /// Ranks with one thread each, as a force matrix of this shape if one is given; `None` for as many as MPI has started,
    /// or one.
    pub fn on_ranks(&self, ranks: Option<usize>, force_matrix: Option<[usize; 2]>) -> Self {
        let mut session = self.on(DeviceInput::Cpu);
        let overrides = &mut session.run_settings.overrides;
        (overrides.threads, overrides.ranks, overrides.force_matrix) = (Some(1), ranks, force_matrix);
        session
    }

    /// Session with these settings in arithmetic of a precision.
    pub fn in_precision(&self, precision: Precision) -> Self {
        let mut session = *self;
        session.run_settings.precision = Some(precision);
        session
    }

    /// Name of the kind of device.
    pub fn processor(&self) -> &'static str {
        match self.here {
            Processor::Cpu => "CPU",
            Processor::Gpu => "GPU",
        }
    }

    /// Settings of the measurements.
    pub fn run_settings(&self) -> &RunSettings {
        &self.run_settings
    }

    /// Times the last stage of an input.
    ///
    /// # Errors
    /// If the system cannot run.
    pub fn measure(&self, name: &str, input: Input) -> Result<Measured> {
        say!("{name}, {}", self.processor());
        measure(name, input, &self.run_settings, self.seconds)
    }

    /// A system that is brought to the state of the last stage of an input.
    ///
    /// # Errors
    /// If the system cannot run.
    pub fn timed_system(&self, name: &str, input: Input) -> Result<TimedSystem> {
        say!("{name}, {}", self.processor());
        TimedSystem::set_up(name, input, &self.run_settings)
    }

    /// An input as a simulation, whose stages are run as they are.
    ///
    /// # Errors
    /// If the system cannot run.
    pub fn simulation(&self, name: &str, mut input: Input) -> Result<Simulation> {
        say!("{name}, {}", self.processor());
        let settings = &mut input.run.settings;
        settings.precision = self.run_settings.precision.unwrap_or(settings.precision);
        Simulation::from_input(&input, &self.run_settings.overrides)
    }
}
