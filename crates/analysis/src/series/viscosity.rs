//! Shear viscosity by Green and Kubo, from the autocorrelation of the pressure tensor.

use super::{Series, SeriesKind};
use crate::blocks::Blocks;
use crate::correlate::Clock;
use crate::report::{Results, Table, unit};
use crate::settings::{Setting, Settings};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result};
use std::collections::VecDeque;

pub(super) const KIND: SeriesKind = SeriesKind {
    name: "viscosity",
    about: "shear viscosity by Green and Kubo, autocorrelation of the pressure tensor; from the rows of thermo.csv",
    settings: &[
        Setting {
            name: "lags",
            dimension: Dimension::NUMBER,
            default: Some(500.0),
            about: "largest lag, in rows",
        },
        Setting {
            name: "to",
            dimension: Dimension::TIME,
            default: None,
            about: "where the integral ends [default: where the correlation first falls below its error]",
        },
    ],
    analyze,
};

fn analyze(series: &Series, settings: &Settings) -> Result<Results> {
    let lags = settings.count("lags", 500, 2..=100_000)?;
    let rows = series.time.len();
    if rows < 20 {
        return Err(Error::input(format!("{rows} rows are too few for correlations"))
            .hint("thermo = { every = 5 } in the stage writes more"));
    }
    let names = ["pxx", "pyy", "pzz", "pxy", "pxz", "pyz"];
    let columns: Vec<&[f64]> = names.iter().map(|n| series.column(n)).collect::<Result<_>>()?;
    let kinetic = series.column("kinetic")?;
    let thermal = 2.0 * kinetic.iter().sum::<f64>() / (rows * series.degrees_of_freedom) as f64;
    let mut clock = Clock::default();
    let mut past: VecDeque<[f64; 6]> = VecDeque::new();
    let mut blocks = Blocks::new(lags + 1);
    // Pressures in units of energy over volume.
    let scale = series.units.pressure_to_user(1.0);
    for row in 0..rows {
        clock.add(Some(series.time[row]))?;
        let mut p = [0, 1, 2, 3, 4, 5].map(|k| columns[k][row] / scale);
        let mean = (p[0] + p[1] + p[2]) / 3.0;
        p[..3].iter_mut().for_each(|p| *p -= mean);
        past.push_front(p);
        past.truncate(lags + 1);
        blocks.frame();
        past.iter().enumerate().for_each(|(lag, then)| blocks.add(lag, product(then, &p)));
    }
    let count = (lags + 1).min(rows / 2);
    let dt = clock.interval();
    let factor = series.volume / thermal;
    let correlation = blocks.derive(|m| m[..count].to_vec());
    let running = blocks.derive(|m| integral(&m[..count], factor * dt));
    let times: Vec<f64> = (0..count).map(|k| k as f64 * dt).collect();
    let noise = |(c, error): &(f64, Option<f64>)| *c < error.unwrap_or(0.0);
    let end = match settings.get("to") {
        Some(_) => {
            let to = settings.positive("to", 1.0)?;
            times.iter().rposition(|t| *t <= to * (1.0 + 1e-9)).filter(|k| *k > 0)
        }
        None => Some(correlation.iter().position(noise).unwrap_or(count - 1)).filter(|k| *k > 1),
    };
    let end = end.ok_or_else(|| {
        Error::input(format!("the correlation is over within two rows, which are {dt} apart"))
            .hint("write rows more often: thermo = { every = ... } in the stage")
    })?;
    let units = series.units;
    let pressure = Dimension { energy: 1, length: -3, ..Dimension::NUMBER };
    let square = unit_name(units, Dimension { energy: 2, length: -6, ..Dimension::NUMBER });
    let viscosity = unit_name(units, Dimension { time: 1, ..pressure });
    let mut table = Table::new("viscosity", "t", unit(units, 0, 1), times.clone());
    table.with_errors("running viscosity", &viscosity, &running);
    table.with_errors("correlation", &square, &correlation);
    let mut results = Results { tables: vec![table], values: Vec::new() };
    results.value("viscosity", &viscosity, running[end]);
    results.value("integral to", &unit(units, 0, 1), (times[end], Some(0.0)));
    Ok(results)
}

/// All independent components of two traceless tensors at once, as if one of them were P_xy: a tenth of
/// their double contraction (P. J. Daivis and D. J. Evans, J. Chem. Phys. 100 (1994) 541).
fn product(a: &[f64; 6], b: &[f64; 6]) -> f64 {
    let diagonal: f64 = (0..3).map(|k| a[k] * b[k]).sum();
    let others: f64 = (3..6).map(|k| a[k] * b[k]).sum();
    (diagonal + 2.0 * others) / 10.0
}

/// From zero to each lag, by trapezoids.
fn integral(c: &[f64], scale: f64) -> Vec<f64> {
    let mut sum = 0.0;
    let step = |k: usize| {
        sum += if k > 0 { 0.5 * scale * (c[k - 1] + c[k]) } else { 0.0 };
        sum
    };
    (0..c.len()).map(step).collect()
}
