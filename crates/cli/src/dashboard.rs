//! A few lines of the terminal that show how a run goes: `jostle run --tui`.

use crate::numbers::{duration, significant};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, UnitSystem};
use jostle_engine::Thermo;
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Gauge, Paragraph, Sparkline, Widget};
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use std::collections::VecDeque;
use std::io::{IsTerminal, Stderr, stderr};
use std::path::Path;
use std::time::{Duration, Instant};

/// The gauge, an empty line, and two lines for each curve.
const HEIGHT: u16 = 2 + 2 * CURVES as u16;
const CURVES: usize = 4;
/// No terminal is wider.
const MOST: usize = 1000;
/// Width of names and numbers beside the curves.
const WORDS: u16 = 34;

/// What is shown.
pub struct Dashboard<B: Backend = CrosstermBackend<Stderr>> {
    terminal: Terminal<B>,
    shown: Shown,
}

struct Shown {
    stage: String,
    part: f64,
    left: Option<f64>,
    /// Temperature, total energy, pressure, speed.
    curves: [Curve; CURVES],
    /// The step and the moment of the last look at the speed.
    pace: (u64, Instant),
}

struct Curve {
    name: &'static str,
    unit: String,
    values: VecDeque<f64>,
}

impl Dashboard {
    /// Takes the lines below the cursor.
    ///
    /// # Errors
    /// If stderr is no terminal.
    pub fn open(units: UnitSystem) -> Result<Self> {
        let terminal = Path::new("the terminal");
        if !stderr().is_terminal() {
            return Err(Error::input("--tui draws on a terminal, and stderr is none").hint("leave it out"));
        }
        let options = TerminalOptions { viewport: Viewport::Inline(HEIGHT) };
        let opened = Terminal::with_options(CrosstermBackend::new(stderr()), options);
        Ok(Dashboard::on(opened.map_err(|e| Error::io("draw on", terminal, &e))?, units))
    }
}

impl<B: Backend> Dashboard<B> {
    fn on(terminal: Terminal<B>, units: UnitSystem) -> Self {
        let curve = |name, unit| Curve { name, unit, values: VecDeque::new() };
        let curves = [
            curve("temperature", unit_name(units, Dimension::TEMPERATURE)),
            curve("energy", unit_name(units, Dimension::ENERGY)),
            curve("pressure", String::new()),
            curve("speed", "steps/s".into()),
        ];
        let shown = Shown { stage: String::new(), part: 0.0, left: None, curves, pace: (0, Instant::now()) };
        Dashboard { terminal, shown }
    }

    /// A stage begins or goes on.
    pub fn begin(&mut self, stage: &str, done: u64) {
        self.shown.stage = stage.trim().to_string();
        self.shown.pace = (done, Instant::now());
        self.draw();
    }

    /// So much of the stage is done; seconds are left.
    pub fn advanced(&mut self, step: u64, part: f64, left: Option<f64>) {
        (self.shown.part, self.shown.left) = (part, left);
        let (before, then) = self.shown.pace;
        let seconds = then.elapsed().as_secs_f64();
        if seconds > 0.5 {
            self.shown.curves[3].add(step.saturating_sub(before) as f64 / seconds);
            self.shown.pace = (step, Instant::now());
        }
        self.draw();
    }

    /// The run has waited.
    pub fn rested(&mut self, time: Duration) {
        self.shown.pace.1 += time;
    }

    /// A row of `thermo.csv`.
    pub fn measured(&mut self, thermo: &Thermo) {
        let values = [Some(thermo.temperature), Some(thermo.total), thermo.pressure];
        for (curve, value) in self.shown.curves.iter_mut().zip(values) {
            value.into_iter().for_each(|v| curve.add(v));
        }
    }

    /// Puts words above the lines.
    pub fn say(&mut self, words: &str) {
        let height = words.lines().count().max(1) as u16;
        let text = Text::raw(words.to_string());
        // A terminal that has gone away is no reason to stop a run.
        let _ =
            self.terminal.insert_before(height, |buffer| Paragraph::new(text).render(buffer.area, buffer));
        self.draw();
    }

    /// Gives the lines back.
    pub fn end(&mut self) {
        let top = self.terminal.get_frame().area().as_position();
        let _ = self.terminal.clear();
        let _ = self.terminal.set_cursor_position(top);
        let _ = self.terminal.show_cursor();
    }

    fn draw(&mut self) {
        let shown = &self.shown;
        let _ = self.terminal.draw(|frame| shown.draw(frame));
    }
}

impl Curve {
    fn add(&mut self, value: f64) {
        self.values.push_back(value);
        if self.values.len() > MOST {
            self.values.pop_front();
        }
    }

    /// The last values, from 1 for the least to 15 for the largest.
    fn heights(&self, width: usize) -> Vec<u64> {
        let from = self.values.len().saturating_sub(width);
        let last: Vec<f64> = self.values.range(from..).copied().collect();
        let (low, high) =
            last.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
        let height =
            |v: &f64| if high > low { 1 + (14.0 * (v - low) / (high - low)).round() as u64 } else { 7 };
        last.iter().map(height).collect()
    }
}

impl Shown {
    fn draw(&self, frame: &mut Frame) {
        let rows = [1, 1].into_iter().chain([2; CURVES]).map(Constraint::Length);
        let rows = Layout::vertical(rows).split(frame.area());
        let left = self.left.map_or(String::new(), |s| format!("  {} left", duration(s)));
        let label = format!("{}  {:.0}%{left}", self.stage, 100.0 * self.part);
        let gauge = Gauge::default().ratio(self.part.clamp(0.0, 1.0)).label(label);
        frame.render_widget(gauge.gauge_style(Style::new().cyan().on_black()).use_unicode(true), rows[0]);
        for (curve, row) in self.curves.iter().zip(rows.iter().skip(2)) {
            let columns = Layout::horizontal([Constraint::Length(WORDS), Constraint::Min(1)]).split(*row);
            let value = curve.values.back().map_or("-".into(), |v| significant(*v, 6));
            let words = [Line::raw(curve.name).bold(), Line::raw(format!("{value} {}", curve.unit))];
            frame.render_widget(Paragraph::new(Text::from_iter(words)), columns[0]);
            let heights = curve.heights(columns[1].width.into());
            frame.render_widget(Sparkline::default().data(heights).max(16), columns[1]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::backend::TestBackend;

    #[test]
    fn it_shows_how_a_run_goes() {
        let terminal = Terminal::new(TestBackend::new(70, HEIGHT)).unwrap();
        let mut dashboard = Dashboard::on(terminal, UnitSystem::Real);
        dashboard.begin("sample ", 0);
        for k in 0..200 {
            dashboard.shown.curves[0].add(90.0 + f64::from(k % 10));
        }
        dashboard.advanced(500, 0.25, Some(125.0));
        let screen = dashboard.terminal.backend().to_string();
        for part in
            ["sample  25%  2 min 05 s left", "temperature", "99.0000 K", "kcal/mol", "steps/s", "█", "▁"]
        {
            assert!(screen.contains(part), "{part}:\n{screen}");
        }
    }
}
