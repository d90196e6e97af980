//! Progress of a run on stderr: a bar on a terminal, plain lines elsewhere; or a dashboard.

use crate::dashboard::Dashboard;
use crate::numbers::{duration, grouped, per_day, significant};
use indicatif::{ProgressBar, ProgressStyle};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, UnitSystem};
use jostle_engine::model::{Action, StageInput};
use jostle_engine::report::{Convergence, Speed};
use jostle_engine::{Progress, StageReport, StageStart, Thermo, Warning};
use std::io::{IsTerminal, stderr};
use std::time::{Duration, Instant};

/// Seconds between two plain lines.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// The listener of a run.
pub struct Console {
    /// Steps of all stages, in order.
    stage_steps: Vec<u64>,
    /// Width of the longest stage name.
    name_width: usize,
    temperature_unit: String,
    energy_unit: String,
    atoms: usize,
    screen: Screen,
    stage: Stage,
}

/// Form in which progress is shown.
enum Screen {
    /// A line now and then.
    Lines,
    /// A bar on a terminal.
    Bar(ProgressBar),
    /// A dashboard.
    Dashboard(Box<Dashboard>),
}

/// The stage that runs.
struct Stage {
    name: String,
    index: usize,
    steps: u64,
    /// Steps that were done when the clock was started.
    done: u64,
    begun: Instant,
    last_line: Instant,
    measured: Option<String>,
}

impl Console {
    /// A listener for a run with these stages, on a dashboard if there is one.
    pub fn new(units: UnitSystem, atoms: usize, stages: &[StageInput], dashboard: Option<Dashboard>) -> Self {
        let now = Instant::now();
        let steps = |stage: &StageInput| match stage.action {
            Action::Dynamics { steps, .. } => steps,
            // Mostly over long before its last step: nothing to count on.
            Action::Minimize { .. } => 0,
        };
        Console {
            stage_steps: stages.iter().map(steps).collect(),
            name_width: stages.iter().map(|stage| stage.name.chars().count()).max().unwrap_or(0),
            temperature_unit: spaced(&unit_name(units, Dimension::TEMPERATURE)),
            energy_unit: spaced(&unit_name(units, Dimension::ENERGY)),
            atoms,
            screen: dashboard.map_or(Screen::Lines, |d| Screen::Dashboard(Box::new(d))),
            stage: Stage {
                name: String::new(),
                index: 0,
                steps: 0,
                done: 0,
                begun: now,
                last_line: now,
                measured: None,
            },
        }
    }

    /// Seconds until all stages are over, if they go on as this one does.
    fn seconds_left(&self, stage_step: u64) -> Option<f64> {
        let made = stage_step.saturating_sub(self.stage.done);
        let elapsed = self.stage.begun.elapsed().as_secs_f64();
        if made == 0 || elapsed < 0.5 {
            return None;
        }
        let later: u64 = self.stage_steps.iter().skip(self.stage.index + 1).sum();
        let left = self.stage.steps.saturating_sub(stage_step) + later;
        Some(elapsed / made as f64 * left as f64)
    }

    /// Takes bar or dashboard away, so that other words can follow.
    pub fn end(&mut self) {
        match std::mem::replace(&mut self.screen, Screen::Lines) {
            Screen::Lines => {}
            Screen::Bar(bar) => bar.finish_and_clear(),
            Screen::Dashboard(mut dashboard) => dashboard.end(),
        }
    }

    /// Says something beside what shows the progress.
    fn tell(&mut self, words: &str) {
        match &mut self.screen {
            Screen::Lines => say!("{words}"),
            Screen::Bar(bar) => bar.suspend(|| say!("{words}")),
            Screen::Dashboard(dashboard) => dashboard.say(words),
        }
    }
}

impl Progress for Console {
    fn stage_begins(&mut self, stage: &StageStart) {
        let now = Instant::now();
        self.stage = Stage {
            name: format!("{:width$}", stage.name, width = self.name_width),
            index: stage.index,
            steps: stage.steps,
            done: stage.done,
            begun: now,
            last_line: now,
            measured: None,
        };
        if let Screen::Dashboard(dashboard) = &mut self.screen {
            dashboard.begin(stage.name, stage.done);
        } else if stderr().is_terminal() {
            let style = ProgressStyle::with_template("{prefix}  {bar:24.cyan/dim} {percent:>3}%  {wide_msg}");
            let bar = ProgressBar::new(stage.steps)
                .with_prefix(self.stage.name.clone())
                .with_position(stage.done)
                .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("━╸─"));
            self.screen = Screen::Bar(bar);
        }
    }

    fn advanced(&mut self, stage_step: u64) {
        let left = self.seconds_left(stage_step);
        let part = stage_step as f64 / self.stage.steps.max(1) as f64;
        if let Screen::Dashboard(dashboard) = &mut self.screen {
            return dashboard.advanced(stage_step, part, left);
        }
        let left = left.map(|seconds| format!("{} left", duration(seconds)));
        let words: Vec<_> = left.into_iter().chain(self.stage.measured.clone()).collect();
        let words = words.join("  ");
        if let Screen::Bar(bar) = &self.screen {
            bar.set_message(words);
            bar.set_position(stage_step);
        } else if self.stage.last_line.elapsed() >= BETWEEN_LINES {
            self.stage.last_line = Instant::now();
            say!("{}  step {} ({:.0}%)  {words}", self.stage.name, grouped(stage_step), 100.0 * part);
        }
    }

    fn rested(&mut self, time: Duration) {
        // Waiting says nothing about the speed.
        self.stage.begun += time;
        if let Screen::Dashboard(dashboard) = &mut self.screen {
            dashboard.rested(time);
        }
    }

    fn measured(&mut self, thermo: &Thermo) {
        if let Screen::Dashboard(dashboard) = &mut self.screen {
            return dashboard.measured(thermo);
        }
        let temperature = significant(thermo.temperature, 4);
        let energy = significant(thermo.total, 7);
        let measured = format!("T {temperature}{}  E {energy}{}", self.temperature_unit, self.energy_unit);
        self.stage.measured = Some(measured);
    }

    fn stage_ends(&mut self, report: &StageReport) {
        if matches!(self.screen, Screen::Bar(_)) {
            self.end();
        }
        let (name, steps) = (&self.stage.name, grouped(report.steps));
        let words = match &report.minimum {
            Some(minimum) => {
                let outcome = match minimum.outcome {
                    Convergence::Converged => "converged",
                    Convergence::Unconverged => "not converged",
                };
                let force = significant(minimum.largest_force, 3);
                let potential = significant(minimum.potential, 7);
                format!(
                    "{name}  {outcome} after {steps} iterations in {}: potential energy {potential}{}, largest force {force}",
                    duration(report.time.total),
                    self.energy_unit,
                )
            }
            None => format!(
                "{name}  {steps} steps in {}  {}",
                duration(report.time.total),
                speed(&report.speed, self.atoms),
            ),
        };
        self.tell(&words);
    }

    fn warned(&mut self, warning: &Warning) {
        self.tell(&format!("warning: {}", warning.message));
    }

    fn note(&mut self, message: &str) {
        self.tell(message);
    }
}

/// `19,876 steps/s, 8.59 µs/day, 58.2 ns per atom-step`
pub fn speed(speed: &Speed, atoms: usize) -> String {
    let mut words = vec![format!("{} steps/s", significant(speed.steps_per_second, 4))];
    words.extend(speed.ns_per_day.map(per_day));
    if speed.steps_per_second > 0.0 {
        let nanoseconds = 1e9 / speed.steps_per_second / atoms.max(1) as f64;
        words.push(format!("{} ns per atom-step", significant(nanoseconds, 3)));
    }
    words.join(", ")
}

/// A unit with a space before it; nothing for no unit.
fn spaced(unit: &str) -> String {
    if unit.is_empty() { String::new() } else { format!(" {unit}") }
}
