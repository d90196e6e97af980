//! Shear viscosity by Green and Kubo, from the autocorrelation of the pressure tensor.

use super::{Kind, Measure, Observable};
use crate::blocks::{BlockEstimate, Blocks};
use crate::correlate::{FrameSpacing, MultiTau};
use crate::green_kubo::GreenKubo;
use crate::report::{Results, Table, unit};
use crate::saved_state::SavedState;
use crate::settings::{MeasureSettings, Setting};
use crate::view::View;
use crate::warning::Verdict;
use jostle_core::quantity::unit_name;
use jostle_core::simbox::mean_diagonal;
use jostle_core::{Dimension, Error, Result, SymTensor, UnitSystem};

pub(super) const KIND: Kind = Kind {
    name: "viscosity",
    about: "shear viscosity by Green and Kubo, autocorrelation of the pressure tensor",
    observable: Observable::Whole,
    settings: &[Setting {
        name: "to",
        dimension: Dimension::TIME,
        default: None,
        about: "where the integral ends [default: where as long again adds no more than its error]",
    }],
    new: |system_info, settings| {
        let past = MultiTau::new(LAGS);
        Ok(Box::new(Viscosity {
            units: system_info.units,
            settings: settings.clone(),
            clock: FrameSpacing::default(),
            blocks: Blocks::new(past.width() + 2),
            past,
        }))
    },
};

/// Up to this lag every frame is an origin of time.
const LAGS: usize = 128;
const MORE: &str = "look more often: measure = [{ kind = \"viscosity\", every = 5 }], or thermo = { every = 5 } for rows of thermo.csv";
const LONGER: &str = "a longer run, or a later end where the running viscosity stays what it is: to=...";

struct Viscosity {
    units: UnitSystem,
    settings: MeasureSettings,
    clock: FrameSpacing,
    /// Pressure tensors without their trace.
    past: MultiTau<SymTensor>,
    /// The correlation at each lag; the volume and the thermal energy.
    blocks: Blocks,
}

impl Measure for Viscosity {
    fn add(&mut self, frame: &View) -> Result<()> {
        self.clock.add(frame.time)?;
        let whole = frame.whole()?;
        let mut p = whole.pressure.ok_or_else(|| {
            Error::input("there is no pressure").hint("a box that is open along an axis has none")
        })?;
        let mean = mean_diagonal(&p);
        p[..3].iter_mut().for_each(|p| *p -= mean);
        let (blocks, width) = (&mut self.blocks, self.past.width());
        blocks.frame();
        blocks.add(width, frame.simbox.volume());
        blocks.add(width + 1, whole.thermal_energy());
        self.past.add(p, |lag, then, now| blocks.add(lag, product(then, now)));
        Ok(())
    }

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        vec![&mut self.clock, &mut self.past, &mut self.blocks]
    }

    fn results(&self) -> Result<Results> {
        let frames = self.blocks.frames();
        if frames < 20 {
            return Err(Error::input(format!("{frames} pressures are too few for correlations")).hint(MORE));
        }
        // Beyond half of the time there are few independent origins.
        let width = self.past.width();
        let lags = (0..width).map(|k| self.past.lag(k)).take_while(|lag| *lag <= (frames - 1) / 2);
        let dt = self.clock.interval();
        let times: Vec<f64> = lags.map(|lag| lag as f64 * dt).collect();
        let scale = |m: &[f64]| m[width] / m[width + 1];
        let time = unit(self.units, 0, 1);
        let kubo = GreenKubo { blocks: &self.blocks, times: &times, unit: &time, scale };
        let running = kubo.running();
        let last = times.len() - 1;
        let end = match self.settings.get("to") {
            Some(_) => {
                let to = self.settings.positive("to", 1.0)?;
                times.iter().rposition(|t| *t <= to * (1.0 + 1e-9)).unwrap_or(0).max(1)
            }
            None => plateau(&times, &running).unwrap_or(last),
        };
        let units = self.units;
        let pressure = Dimension { energy: 1, length: -3, ..Dimension::NUMBER };
        let square = unit_name(units, Dimension { energy: 2, length: -6, ..Dimension::NUMBER });
        let viscosity = unit_name(units, Dimension { time: 1, ..pressure });
        let mut table = Table::new("viscosity", "t", unit(units, 0, 1), times.clone());
        let mut results = Results::default();
        let unresolved = kubo.resolution(end);
        let withheld = matches!(unresolved, Some((Verdict::Withheld, _)));
        if !withheld {
            table.with_errors("running viscosity", &viscosity, &running);
            results.value("viscosity", &viscosity, running[end]);
            results.value("integral to", &unit(units, 0, 1), (times[end], Some(0.0)));
        }
        table.with_errors("correlation", &square, &kubo.correlation());
        let unsettled = kubo.convergence(end).filter(|_| !withheld);
        // The running integral shows where it goes.
        let unsettled = unsettled.map(|(_, reason)| (Verdict::Doubtful, reason));
        for (doubt, remedy) in [(unresolved, MORE), (unsettled, LONGER)] {
            doubt.into_iter().for_each(|doubt| results.warn("viscosity", doubt, remedy));
        }
        results.tables.push(table);
        Ok(results)
    }
}

/// From where on, and for as long again, a running integral gains no more than its error. That a correlation
/// passes through zero would not do: in molecules it swings about a long tail.
fn plateau(times: &[f64], running: &[BlockEstimate]) -> Option<usize> {
    let stays = |k: &usize| {
        let reached = times.partition_point(|t| *t <= 2.0 * times[*k] * (1.0 + 1e-9));
        let gains = running[k + 1..reached].iter();
        gains.into_iter().all(|(later, error)| (later - running[*k].0).abs() <= error.unwrap_or(0.0))
    };
    let last = times.last()?;
    (2..times.partition_point(|t| 2.0 * t <= last * (1.0 + 1e-9))).find(stays)
}

/// Product of two traceless tensors, averaged over all independent components as if they were P_xy: a tenth
/// of their double contraction (P. J. Daivis and D. J. Evans, J. Chem. Phys. 100 (1994) 541).
fn product(a: &SymTensor, b: &SymTensor) -> f64 {
    let diagonal: f64 = (0..3).map(|k| a[k] * b[k]).sum();
    let others: f64 = (3..6).map(|k| a[k] * b[k]).sum();
    (diagonal + 2.0 * others) / 10.0
}
