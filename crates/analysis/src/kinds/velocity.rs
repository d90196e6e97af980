//! Velocity autocorrelation, its spectrum, and the diffusion coefficient by its integral.

use super::{Kind, Measure, Sees};
use crate::blocks::Blocks;
use crate::correlate::Clock;
use crate::memory::Memory;
use crate::report::{Results, Table, unit};
use crate::settings::Setting;
use crate::view::{Subject, View};
use jostle_core::{Dimension, Error, Result};
use multiversion::multiversion;
use rayon::prelude::*;
use std::collections::VecDeque;
use std::f64::consts::PI;

pub(super) const KIND: Kind = Kind {
    name: "vacf",
    about: "velocity autocorrelation function, its spectrum, diffusion coefficient by Green and Kubo",
    sees: Sees::Velocities,
    settings: &[
        Setting {
            name: "lags",
            dimension: Dimension::NUMBER,
            default: Some(200.0),
            about: "largest lag, in frames",
        },
        Setting {
            name: "origins",
            dimension: Dimension::NUMBER,
            default: None,
            about: "frames from one origin of time to the next [default: a fortieth of the lags]",
        },
    ],
    new: |subject, settings| {
        let lags = settings.count("lags", 200, 2..=100_000)?;
        Ok(Box::new(Velocities {
            subject: subject.clone(),
            clock: Clock::default(),
            past: VecDeque::new(),
            blocks: Blocks::new(lags + 1),
            origins: settings.count("origins", (lags / 40).max(1), 1..=lags)?,
            lags,
        }))
    },
};

struct Velocities {
    subject: Subject,
    clock: Clock,
    /// Velocities, one component after the other, at the origins of time, the latest first.
    past: VecDeque<Vec<f32>>,
    blocks: Blocks,
    lags: usize,
    /// Frames between two origins: what follows soon after another adds little but work.
    origins: usize,
}

impl Measure for Velocities {
    fn add(&mut self, frame: &View) -> Result<()> {
        self.clock.add(frame.time)?;
        let velocities = frame.velocities.ok_or_else(|| {
            Error::input("the trajectory has no velocities").hint("xyz, trr and lammpstrj files have them")
        })?;
        // Single precision is far below any statistical error, and half the memory to go through.
        let now: Vec<f32> = velocities.as_flattened().iter().map(|v| *v as f32).collect();
        let since = self.blocks.frames() as usize % self.origins;
        if since == 0 {
            self.past.push_front(now.clone());
            self.past.truncate(self.lags / self.origins + 1);
        }
        let n = velocities.len() as f64;
        let products: Vec<f64> = self.past.par_iter().map(|then| dot(then, &now) / n).collect();
        self.blocks.frame();
        let lags = (0..).map(|back| since + back * self.origins).take_while(|lag| *lag <= self.lags);
        lags.zip(&products).for_each(|(lag, c)| self.blocks.add(lag, *c));
        Ok(())
    }

    fn memory(&mut self) -> Vec<&mut dyn Memory> {
        vec![&mut self.clock, &mut self.past, &mut self.blocks]
    }

    fn results(&self) -> Result<Results> {
        let frames = self.blocks.frames() as usize;
        if frames < 4 {
            return Err(Error::input(format!("{frames} frames are too few for correlations")));
        }
        let count = (self.lags + 1).min(frames / 2 + 1);
        let (units, dt) = (self.subject.units, self.clock.interval());
        let times: Vec<f64> = (0..count).map(|k| k as f64 * dt).collect();
        let mut table = Table::new("vacf", "t", unit(units, 0, 1), times.clone());
        table.with_errors("vacf", &unit(units, 2, -2), &self.blocks.derive(|m| m[..count].to_vec()));
        table.with_errors(
            "normalized",
            "",
            &self.blocks.derive(|m| m[..count].iter().map(|c| c / m[0]).collect()),
        );
        let integral = |m: &[f64]| -> Vec<f64> {
            let mut sum = 0.0;
            (0..count)
                .map(|k| {
                    sum += if k > 0 { 0.5 * dt * (m[k - 1] + m[k]) / 3.0 } else { 0.0 };
                    sum
                })
                .collect()
        };
        let running = self.blocks.derive(integral);
        table.with_errors("running diffusion coefficient", &unit(units, 2, -1), &running);
        let frequencies: Vec<f64> = (0..count).map(|k| k as f64 / (2.0 * dt * (count - 1) as f64)).collect();
        let mut spectrum = Table::new("spectrum", "frequency", unit(units, 0, -1), frequencies);
        spectrum.with_errors("power", &unit(units, 0, 1), &self.blocks.derive(|m| power(&m[..count], dt)));
        let mut results = Results { tables: vec![table, spectrum], values: Vec::new() };
        results.value("diffusion coefficient all", &unit(units, 2, -1), running[count - 1]);
        Ok(results)
    }
}

/// A scalar product: short sums in single precision, many at a time, and their sum in double.
#[multiversion(targets("x86_64+avx2"))]
fn dot(a: &[f32], b: &[f32]) -> f64 {
    const LANES: usize = 64;
    let mut total = [0f64; LANES];
    for (a, b) in a.chunks(16 * LANES).zip(b.chunks(16 * LANES)) {
        let mut sums = [0f32; LANES];
        let ((a, end_a), (b, end_b)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
        for (a, b) in a.iter().zip(b) {
            for lane in 0..LANES {
                sums[lane] += a[lane] * b[lane];
            }
        }
        for (sum, (a, b)) in sums.iter_mut().zip(end_a.iter().zip(end_b)) {
            *sum += a * b;
        }
        for lane in 0..LANES {
            total[lane] += f64::from(sums[lane]);
        }
    }
    total.iter().sum()
}

/// 4 \int c(t)/c(0) cos(2 pi f t) dt with a window that falls to zero as a cosine (Hann), at
/// frequencies up to that of Nyquist; its integral over them is 1.
fn power(c: &[f64], dt: f64) -> Vec<f64> {
    let last = (c.len() - 1) as f64;
    let windowed: Vec<f64> =
        c.iter().enumerate().map(|(k, c)| c * 0.5 * (1.0 + (PI * k as f64 / last).cos())).collect();
    let at = |f: usize| {
        let term = |(k, c): (usize, &f64)| {
            let weight = if k == 0 { 0.5 } else { 1.0 };
            weight * c * (PI * f as f64 * k as f64 / last).cos()
        };
        4.0 * dt * windowed.iter().enumerate().map(term).sum::<f64>() / c[0]
    };
    (0..c.len()).map(at).collect()
}
