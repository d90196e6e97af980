//! Velocity autocorrelation, its spectrum, and the diffusion coefficient by its integral.

use super::{Kind, Measure};
use crate::blocks::Blocks;
use crate::correlate::Clock;
use crate::memory::Memory;
use crate::report::{Results, Table, unit};
use crate::settings::Setting;
use crate::view::{Subject, View};
use jostle_core::{Dimension, Error, Result, Vec3};
use rayon::prelude::*;
use std::collections::VecDeque;
use std::f64::consts::PI;

pub(super) const KIND: Kind = Kind {
    name: "vacf",
    about: "velocity autocorrelation function, its spectrum, diffusion coefficient by Green and Kubo",
    settings: &[Setting {
        name: "lags",
        dimension: Dimension::NUMBER,
        default: Some(200.0),
        about: "largest lag, in frames",
    }],
    new: |subject, settings| {
        let lags = settings.count("lags", 200, 2..=100_000)?;
        Ok(Box::new(Velocities {
            subject: subject.clone(),
            clock: Clock::default(),
            past: VecDeque::new(),
            blocks: Blocks::new(lags + 1),
            lags,
        }))
    },
};

struct Velocities {
    subject: Subject,
    clock: Clock,
    /// The latest first.
    past: VecDeque<Vec<Vec3>>,
    blocks: Blocks,
    lags: usize,
}

impl Measure for Velocities {
    fn add(&mut self, frame: &View) -> Result<()> {
        self.clock.add(frame.time)?;
        let velocities = frame.velocities.ok_or_else(|| {
            Error::input("the trajectory has no velocities").hint("xyz, trr and lammpstrj files have them")
        })?;
        self.past.push_front(velocities.to_vec());
        self.past.truncate(self.lags + 1);
        let n = velocities.len() as f64;
        let product = |then: &Vec<Vec3>| -> f64 {
            then.iter().zip(velocities).map(|(a, b)| a[0] * b[0] + a[1] * b[1] + a[2] * b[2]).sum::<f64>() / n
        };
        let products: Vec<f64> = self.past.par_iter().map(product).collect();
        self.blocks.frame();
        products.iter().enumerate().for_each(|(lag, c)| self.blocks.add(lag, *c));
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
