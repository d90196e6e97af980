//! A few lines of the terminal that show how a run goes: `jostle run --tui`.

use crate::known_cursor::KnownCursor;
use crate::numbers::{duration, significant};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, UnitSystem};
use jostle_engine::Thermo;
use ratatui::backend::{Backend, CrosstermBackend};
use ratatui::layout::{Constraint, Layout};
use ratatui::style::{Style, Stylize};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Gauge, Paragraph, Sparkline, Widget};
use ratatui::{Frame, Terminal, TerminalOptions, Viewport};
use std::collections::VecDeque;
use std::io::{IsTerminal, Stderr, stderr};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The gauge, an empty line, two lines for each curve, and one for what keys do.
const HEIGHT: u16 = 3 + 2 * CURVES as u16;
const CURVES: usize = 4;
/// No terminal is wider.
const MOST: usize = 1000;
/// Width of names and numbers beside the curves.
const WORDS: u16 = 34;

/// Contents of the dashboard.
pub struct Dashboard<B: Backend = KnownCursor<CrosstermBackend<Stderr>>> {
    terminal: Terminal<B>,
    shown: DashboardState,
    #[cfg(unix)]
    _keys: Option<crate::keys::Keys>,
}

struct DashboardState {
    stage: String,
    part: f64,
    left: Option<f64>,
    /// Temperature, total energy, pressure, speed.
    curves: [RecentValues; CURVES],
    /// The step and the moment of the last look at the speed.
    pace: (u64, Instant),
    /// Set once the run has been asked to end.
    stop: Arc<AtomicBool>,
    keys: Listening,
}

/// The listener to the keyboard.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listening {
    /// The dashboard.
    Keys,
    /// The system: Ctrl-C only.
    Signals,
}

struct RecentValues {
    name: &'static str,
    unit: String,
    values: VecDeque<f64>,
}

impl Dashboard {
    /// Takes the lines below the cursor, and sets `stop` when `q` is pressed.
    ///
    /// # Errors
    /// If stderr is no terminal.
    pub fn open(units: UnitSystem, stop: Arc<AtomicBool>) -> Result<Self> {
        let terminal = Path::new("the terminal");
        if !stderr().is_terminal() {
            return Err(
                Error::input("--tui needs a terminal, and standard error is not one").hint("leave it out")
            );
        }
        let screen = CrosstermBackend::new(stderr());
        if screen.size().is_ok_and(|size| size.width == 0 || size.height == 0) {
            return Err(Error::input("--tui needs a terminal with lines, and this one has none")
                .hint("leave it out, or tell the terminal how large it is: stty rows 24 cols 80"));
        }
        let options = TerminalOptions { viewport: Viewport::Inline(HEIGHT) };
        let opened = Terminal::with_options(KnownCursor::new(screen), options);
        let mut dashboard =
            Dashboard::on(opened.map_err(|e| Error::io("draw on", terminal, &e))?, units, stop.clone());
        #[cfg(unix)]
        if let Ok(input) = std::os::fd::AsFd::as_fd(&std::io::stdin()).try_clone_to_owned()
            && let Some(keys) = crate::keys::Keys::listen(input, stop)
        {
            dashboard.shown.keys = Listening::Keys;
            dashboard._keys = Some(keys);
        }
        Ok(dashboard)
    }
}

impl<B: Backend> Dashboard<B> {
    fn on(terminal: Terminal<B>, units: UnitSystem, stop: Arc<AtomicBool>) -> Self {
        let curve = |name, unit| RecentValues { name, unit, values: VecDeque::new() };
        let curves = [
            curve("temperature", unit_name(units, Dimension::TEMPERATURE)),
            curve("energy", unit_name(units, Dimension::ENERGY)),
            curve("pressure", unit_name(units, Dimension::PRESSURE)),
            curve("speed", "steps/s".into()),
        ];
        let pace = (0, Instant::now());
        let (stage, keys) = (String::new(), Listening::Signals);
        let shown = DashboardState { stage, part: 0.0, left: None, curves, pace, stop, keys };
        Dashboard {
            terminal,
            shown,
            #[cfg(unix)]
            _keys: None,
        }
    }

    /// A stage begins or goes on.
    pub fn begin(&mut self, stage: &str, done: u64) {
        self.shown.stage = stage.trim().to_string();
        self.shown.pace = (done, Instant::now());
        self.draw();
    }

    /// Finished fraction of the stage, and the seconds that are left.
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

impl RecentValues {
    fn add(&mut self, value: f64) {
        self.values.push_back(value);
        if self.values.len() > MOST {
            self.values.pop_front();
        }
    }

    /// The last values, as many as there is room for, and between which they lie.
    fn last(&self, width: usize) -> (Vec<f64>, f64, f64) {
        let from = self.values.len().saturating_sub(width);
        let last: Vec<f64> = self.values.range(from..).copied().collect();
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let (low, high) = last.iter().fold(ends, |(l, h), v| (l.min(*v), h.max(*v)));
        (last, low, high)
    }

    /// The last values, from 1 for the least to 15 for the largest.
    fn heights(&self, width: usize) -> Vec<u64> {
        let (last, low, high) = self.last(width);
        let height =
            |v: &f64| if high > low { 1 + (14.0 * (v - low) / (high - low)).round() as u64 } else { 7 };
        last.iter().map(height).collect()
    }

    /// Its name with the range of what is drawn, and the last value.
    fn words(&self, width: usize) -> [Line<'_>; 2] {
        let (_, low, high) = self.last(width);
        let range = match low < high {
            true => format!("  {} to {}", significant(low, 4), significant(high, 4)),
            false => String::new(),
        };
        let value = self.values.back().map_or("-".into(), |v| significant(*v, 6));
        [
            Line::from(vec![Span::raw(self.name).bold(), Span::raw(range).dim()]),
            Line::raw(format!("{value} {}", self.unit)),
        ]
    }
}

impl DashboardState {
    fn draw(&self, frame: &mut Frame) {
        let rows = [1, 1].into_iter().chain([2; CURVES]).chain([1]).map(Constraint::Length);
        let rows = Layout::vertical(rows).split(frame.area());
        let left = self.left.map_or(String::new(), |s| format!("  {} left", duration(s)));
        let label = format!("{}  {:.0}%{left}", self.stage, 100.0 * self.part);
        let gauge = Gauge::default().ratio(self.part.clamp(0.0, 1.0)).label(label);
        frame.render_widget(gauge.gauge_style(Style::new().cyan().on_black()).use_unicode(true), rows[0]);
        for (curve, row) in self.curves.iter().zip(rows.iter().skip(2)) {
            let columns = Layout::horizontal([Constraint::Length(WORDS), Constraint::Min(1)]).split(*row);
            let words = curve.words(columns[1].width.into());
            frame.render_widget(Paragraph::new(Text::from_iter(words)), columns[0]);
            let heights = curve.heights(columns[1].width.into());
            frame.render_widget(Sparkline::default().data(heights).max(16), columns[1]);
        }
        let key = match (self.stop.load(Ordering::Relaxed), self.keys) {
            (true, _) => "ending: a checkpoint is written after this step",
            (false, Listening::Keys) => "q or Ctrl-C: write a checkpoint and end; jostle resume goes on",
            (false, Listening::Signals) => "Ctrl-C: write a checkpoint and end; jostle resume goes on",
        };
        frame.render_widget(Paragraph::new(Line::raw(key).dim()), rows[2 + CURVES]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::backend::TestBackend;

    #[test]
    fn it_shows_how_a_run_goes() {
        let terminal = Terminal::new(TestBackend::new(70, HEIGHT)).unwrap();
        let mut dashboard = Dashboard::on(terminal, UnitSystem::Real, Arc::default());
        dashboard.begin("sample ", 0);
        for k in 0..200 {
            dashboard.shown.curves[0].add(90.0 + f64::from(k % 10));
            dashboard.shown.curves[2].add(-1.5);
        }
        dashboard.advanced(500, 0.25, Some(125.0));
        let screen = dashboard.terminal.backend().to_string();
        for part in [
            "sample  25%  2 min 05 s left",
            "temperature  90.00 to 99.00",
            "99.0000 K",
            "kcal/mol",
            "-1.50000 atm",
            "steps/s",
            "█",
            "▁",
            "Ctrl-C: write a checkpoint",
        ] {
            assert!(screen.contains(part), "{part}:\n{screen}");
        }
        dashboard.shown.stop.store(true, Ordering::Relaxed);
        dashboard.advanced(600, 0.3, None);
        let screen = dashboard.terminal.backend().to_string();
        assert!(screen.contains("ending: a checkpoint"), "{screen}");
    }
}
