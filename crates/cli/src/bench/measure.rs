//! Timing whole time steps of a system.

use crate::machine::Machine;
use jostle_core::backend::{Profile, Timings};
use jostle_core::{Algorithm, Error, Precision, Result};
use jostle_engine::model::{Action, StageInput};
use jostle_engine::ranks::traffic;
use jostle_engine::report::TimeSpent;
use jostle_engine::{Overrides, Simulation};
use jostle_io::Input;
use jostle_transport::Traffic;
use serde_json::{Value, json};
use std::time::Instant;

/// No stage before the timed one takes more steps than this.
const EQUILIBRATION: u64 = 500;
/// No stage before the clock starts goes on for longer than so many seconds, where steps are slow.
const PATIENCE: f64 = 20.0;
/// Steps before the first look at that clock; the next comes a second later.
const FIRST_PIECE: u64 = 20;
/// Steps of the timed stage before the clock starts, at least: for crystals to melt and what tunes
/// itself to settle.
const WARM_UP: u64 = 600;
/// Then it goes on for so many seconds, and until the skin is tuned where there are lists, but for no longer
/// than so many, or so many times the time to measure for.
const LEAST_TUNING: f64 = 2.0;
const MOST_TUNING: f64 = 8.0;
const TUNING_PER_SECOND: f64 = 4.0;
/// Number of laps of a case; fewer where laps are slow.
const LAPS: usize = 10;
/// Steps of a lap, at least: several rebuilds of the list.
const SHORTEST_LAP: u64 = 50;

/// Result of a case.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Its name.
    pub name: String,
    /// Number of atoms.
    pub atoms: usize,
    /// Device that computed the case.
    pub device: String,
    /// CPU threads.
    pub threads: usize,
    /// The temperature at the end.
    pub temperature: f64,
    /// Seconds per step of every lap, sorted.
    laps: Vec<f64>,
    /// Steps of a lap.
    pub lap_steps: u64,
    /// Shares of the time of all laps.
    pub time: TimeSpent,
    /// Steps from one list to the next; `None` without lists.
    pub steps_per_list: Option<f64>,
    /// Bytes an atom.
    pub bytes: f64,
    /// Skin of the neighbour list.
    pub skin: f64,
    /// Messages between ranks; `None` for one rank.
    pub messages: Option<Messages>,
    /// Exchange between GPUs; `None` for one device.
    pub exchange: Option<Exchange>,
}

/// Exchange between GPUs.
#[derive(Debug, Clone, Copy)]
pub struct Exchange {
    /// Share of the time that a GPU waits for others, on average.
    pub waiting: f64,
    /// Bytes sent in a step, by all of them.
    pub bytes_per_step: f64,
}

impl Exchange {
    /// Exchange between two readings, in so many steps that took so many seconds.
    fn between(before: &Timings, after: &Timings, steps: f64, seconds: f64) -> Option<Exchange> {
        let bytes_per_step = (after.bytes_sent - before.bytes_sent) / steps;
        let waiting = (after.waiting - before.waiting) / seconds;
        (bytes_per_step > 0.0).then_some(Exchange { waiting, bytes_per_step })
    }

    fn to_json(self) -> Value {
        json!({ "waiting": self.waiting, "bytes_per_step": self.bytes_per_step })
    }
}

/// Messages of rank 0, per step.
#[derive(Debug, Clone, Copy)]
pub struct Messages {
    /// Number of ranks.
    pub ranks: usize,
    /// Seconds in exchanges, waiting included.
    pub seconds: f64,
    /// Messages sent.
    pub messages: f64,
    /// Bytes sent.
    pub bytes: f64,
}

impl Messages {
    /// Messages since there were `before`, in so many steps.
    fn since(before: Option<(usize, Traffic)>, steps: f64) -> Option<Messages> {
        let ((_, before), (ranks, now)) = (before?, traffic()?);
        Some(Messages {
            ranks,
            seconds: (now.seconds - before.seconds) / steps,
            messages: (now.messages - before.messages) as f64 / steps,
            bytes: (now.bytes - before.bytes) as f64 / steps,
        })
    }

    fn to_json(self) -> Value {
        let Messages { ranks, seconds, messages, bytes } = self;
        json!({ "ranks": ranks, "seconds_per_step": seconds, "messages_per_step": messages, "bytes_per_step": bytes })
    }
}

impl Measured {
    /// The median lap.
    pub fn seconds_per_step(&self) -> f64 {
        self.laps[self.laps.len() / 2]
    }

    /// The device without the algorithm, for tables in which that differs.
    pub fn machine(&self) -> &str {
        self.device.split(',').next().unwrap_or_default()
    }

    /// Nanoseconds per atom and step, of the median lap.
    pub fn nanoseconds(&self) -> f64 {
        self.per_atom(self.seconds_per_step())
    }

    fn per_atom(&self, seconds_per_step: f64) -> f64 {
        1e9 * seconds_per_step / self.atoms as f64
    }

    /// The shares of the time for forces, lists and moving atoms, where the device tells.
    pub fn shares(&self) -> Option<[f64; 3]> {
        let TimeSpent { total, pair, neighbors, integrate, .. } = self.time;
        self.time.is_divided().then(|| [pair, neighbors, integrate].map(|part| part / total))
    }

    /// Result as JSON.
    pub fn to_json(&self) -> Value {
        let laps: Vec<_> = self.laps.iter().map(|seconds| self.per_atom(*seconds)).collect();
        let time = self.shares().map(|[pair, neighbors, integrate]| {
            let other = 1.0 - pair - neighbors - integrate;
            json!({ "pair": pair, "neighbors": neighbors, "integrate": integrate, "other": other })
        });
        json!({
            "case": self.name,
            "atoms": self.atoms,
            "device": self.device,
            "threads": self.threads,
            "temperature": self.temperature,
            "ns_per_atom_step": self.nanoseconds(),
            "steps_per_second": 1.0 / self.seconds_per_step(),
            "laps_ns_per_atom_step": laps,
            "steps_per_lap": self.lap_steps,
            "steps_per_list": self.steps_per_list,
            "time": time,
            "bytes_per_atom": self.bytes,
            "skin": self.skin,
            "messages": self.messages.map(Messages::to_json),
            "exchange": self.exchange.map(Exchange::to_json),
        })
    }
}

/// Settings of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct RunSettings {
    /// Device and threads.
    pub overrides: Overrides,
    /// Instead of what a case says.
    pub precision: Option<Precision>,
    /// Instead of what a case says.
    pub algorithm: Option<Algorithm>,
    /// Steps between measurements of energy and pressure; 0: none.
    pub thermo: u64,
}

/// A system brought to the state that is timed.
pub struct TimedSystem {
    name: String,
    simulation: Simulation,
    threads: usize,
    seconds_per_step: f64,
}

impl TimedSystem {
    /// Puts the system of an input on the device and runs the stages before the last, shortened;
    /// the last, which is timed, is that much of a warm-up.
    ///
    /// # Errors
    /// If the last stage is none of time steps, or the simulation fails.
    pub fn set_up(name: &str, mut input: Input, run_settings: &RunSettings) -> Result<Self> {
        let settings = &mut input.run.settings;
        settings.precision = run_settings.precision.unwrap_or(settings.precision);
        settings.algorithm = run_settings.algorithm.unwrap_or(settings.algorithm);
        let overrides = &run_settings.overrides;
        let Some(last) = input.stages.len().checked_sub(1) else {
            return Err(Error::input(format!("{name} has no [[stage]], so there is nothing to time")));
        };
        let mut stages: Vec<_> = std::mem::take(&mut input.stages).into_iter().map(|s| s.value).collect();
        for (index, stage) in stages.iter_mut().enumerate() {
            (stage.thermo_every, stage.trajectory, stage.checkpoint_every) = (run_settings.thermo, None, 0);
            stage.sample_every = None;
            // Analysis on the way is no part of a step.
            stage.measures.clear();
            match &mut stage.action {
                Action::Dynamics { steps, .. } if index == last => *steps = WARM_UP,
                Action::Minimize { .. } if index == last => {
                    return Err(Error::input(format!("the last stage of {name} is a minimisation"))
                        .hint("time steps are measured; add a stage with steps"));
                }
                Action::Dynamics { steps, .. } | Action::Minimize { steps, .. } => {
                    *steps = (*steps).min(EQUILIBRATION);
                }
            }
        }
        let threads =
            overrides.threads.or(input.run.settings.threads).unwrap_or_else(|| Machine::look().cores);
        let simulation = Simulation::from_input(&input, overrides)?;
        let mut bench = TimedSystem { name: name.to_string(), simulation, threads, seconds_per_step: 1.0 };
        for stage in stages {
            bench.warm_up(stage)?;
        }
        Ok(bench)
    }

    /// Runs a stage, time steps in pieces until there are enough of them or too much time has gone.
    fn warm_up(&mut self, stage: StageInput) -> Result<()> {
        let Action::Dynamics { steps: mut left, .. } = stage.action else {
            self.simulation.add_stage(stage);
            return self.simulation.run().map(|_| ());
        };
        let begun = Instant::now();
        let mut piece = FIRST_PIECE;
        while left > 0 && begun.elapsed().as_secs_f64() < PATIENCE {
            piece = piece.min(left);
            left -= piece;
            self.add(stage.clone(), piece)?;
            piece = self.steps_in(1.0).max(1);
        }
        Ok(())
    }

    /// Makes so many steps as a stage has them; where the time went.
    fn add(&mut self, mut stage: StageInput, count: u64) -> Result<TimeSpent> {
        let count = count.next_multiple_of(stage.long_range_every);
        if let Action::Dynamics { steps, .. } = &mut stage.action {
            *steps = count;
        }
        self.simulation.add_stage(stage);
        self.simulation.run()?;
        let time = self.simulation.reports().last().map(|r| r.time).unwrap_or_default();
        self.seconds_per_step = time.total / count as f64;
        Ok(time)
    }

    /// Device that computes the case.
    pub fn describe(&mut self) -> String {
        self.simulation.backend().describe()
    }

    /// The steps that take so many seconds.
    pub fn steps_in(&self, seconds: f64) -> u64 {
        (seconds / self.seconds_per_step) as u64
    }

    /// Makes more steps, as the last stage does; seconds per step, and where they went.
    ///
    /// # Errors
    /// If the simulation fails.
    pub fn run(&mut self, steps: u64) -> Result<(f64, TimeSpent)> {
        let time = match self.simulation.stages().last().cloned() {
            Some(stage) => self.add(stage, steps.max(1))?,
            None => TimeSpent::default(),
        };
        Ok((self.seconds_per_step, time))
    }

    /// Makes so many steps more with each kernel of the GPU alone.
    ///
    /// # Errors
    /// If the device is not one GPU, or the simulation fails.
    pub fn profile(&mut self, steps: u64) -> Result<Profile> {
        self.simulation.backend().start_profile()?;
        let seconds_per_step = self.seconds_per_step;
        let made = self.run(steps);
        self.seconds_per_step = seconds_per_step;
        let profile = self.simulation.backend().end_profile();
        made.and(profile)
    }

    /// Warms up some more, then times laps that take about so many seconds together.
    ///
    /// # Errors
    /// If the simulation fails.
    pub fn measure(&mut self, seconds: f64) -> Result<Measured> {
        let begun = Instant::now();
        let most = TUNING_PER_SECOND * seconds;
        self.run(self.steps_in(LEAST_TUNING.min(most)))?;
        let mut builds = None;
        while begun.elapsed().as_secs_f64() < MOST_TUNING.min(most) {
            let facts = self.simulation.backend().neighbor_facts();
            if facts.settled || builds.replace(facts.builds) == Some(facts.builds) {
                break;
            }
            self.run(self.steps_in(0.5))?;
        }
        let lap_steps = self.steps_in(seconds / LAPS as f64).max(SHORTEST_LAP);
        let builds = self.simulation.backend().neighbor_facts().builds;
        let (mut laps, mut time, before) = (Vec::new(), TimeSpent::default(), traffic());
        let timings = self.simulation.backend().timings();
        while laps.len() < LAPS && time.total < 2.0 * seconds {
            let (seconds_per_step, spent) = self.run(lap_steps)?;
            laps.push(seconds_per_step);
            time.total += spent.total;
            time.pair += spent.pair;
            time.neighbors += spent.neighbors;
            time.integrate += spent.integrate;
        }
        laps.sort_by(f64::total_cmp);
        let steps = (laps.len() as u64 * lap_steps) as f64;
        let freedom = self.simulation.reports().last().map_or(0, |r| r.degrees_of_freedom);
        let boltzmann = self.simulation.units().boltzmann();
        let backend = self.simulation.backend();
        let (facts, atoms) = (backend.neighbor_facts(), backend.n_atoms());
        let builds = facts.builds.saturating_sub(builds);
        Ok(Measured {
            name: self.name.clone(),
            atoms,
            device: backend.describe(),
            threads: self.threads,
            temperature: 2.0 * backend.kinetic()?.energy() / (freedom as f64 * boltzmann),
            laps,
            lap_steps,
            time,
            steps_per_list: (builds > 0).then(|| steps / builds as f64),
            bytes: facts.bytes as f64 / atoms as f64,
            skin: facts.skin,
            messages: Messages::since(before, steps),
            exchange: Exchange::between(&timings, &backend.timings(), steps, time.total),
        })
    }
}

/// Runs an input up to its last stage, warms up, and times laps of that stage.
///
/// # Errors
/// See [`TimedSystem::set_up`] and [`TimedSystem::measure`].
pub fn measure(name: &str, input: Input, run_settings: &RunSettings, seconds: f64) -> Result<Measured> {
    TimedSystem::set_up(name, input, run_settings)?.measure(seconds)
}
