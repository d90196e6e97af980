//! Velocity autocorrelation, its spectrum, and the diffusion coefficient by its integral.

use super::{Frames, Kind, Measure, Observable};
use crate::blocks::Blocks;
use crate::correlate::FrameSpacing;
use crate::green_kubo::GreenKubo;
use crate::limits;
use crate::report::{Results, Table, unit};
use crate::saved_state::SavedState;
use crate::settings::Setting;
use crate::view::{SystemInfo, View};
use crate::warning::{Verdict, digits};
use jostle_core::{Components, Dimension, Error, Result};
use jostle_fourier::RealToComplex;
use multiversion::multiversion;
use rayon::prelude::*;
use std::collections::VecDeque;
use std::f64::consts::PI;
use std::sync::Arc;

pub(super) const KIND: Kind = Kind {
    name: "vacf",
    about: "velocity autocorrelation function, its spectrum, diffusion coefficient by Green and Kubo",
    observable: Observable::Velocities,
    frames: Frames::AlongPath,
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
    new: |system_info, settings| {
        let lags = settings.count("lags", 200, 2..=100_000)?;
        let origins = settings.count("origins", (lags / 40).max(1), 1..=lags)?;
        let (kept, atoms) = (lags / origins + 1, system_info.species.len());
        let bytes = (kept * size_of::<[f32; 3]>()) as f64 * atoms as f64;
        limits::memory(bytes, &format!("the velocities of {atoms} atoms at {kept} origins"), FEWER)?;
        Ok(Box::new(Velocities {
            system_info: system_info.clone(),
            clock: FrameSpacing::default(),
            past: VecDeque::new(),
            blocks: Blocks::new(lags + 1),
            origins,
            lags,
        }))
    },
};

/// Hint where there are too many velocities.
const FEWER: &str = "choose fewer lags, origins farther apart, or a part of the atoms";
/// Hint where frames are too far apart.
const SOONER: &str = "save velocities more often, or measure while a run goes: measure = [{ kind = \"vacf\", every = 5 }]; msd needs no frames so near each other";

struct Velocities {
    system_info: SystemInfo,
    clock: FrameSpacing,
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
        let velocities = frame.velocities()?;
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

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        vec![&mut self.clock, &mut self.past, &mut self.blocks]
    }

    fn results(&self) -> Result<Results> {
        let frames = self.blocks.frames() as usize;
        if frames < 4 {
            return Err(Error::input(format!("{frames} frames are too few for correlations")));
        }
        let count = (self.lags + 1).min(frames / 2 + 1);
        let (units, dt) = (self.system_info.units, self.clock.interval());
        let times: Vec<f64> = (0..count).map(|k| k as f64 * dt).collect();
        let mut table = Table::new("vacf", "t", unit(units, 0, 1), times.clone());
        table.with_errors("vacf", &unit(units, 2, -2), &self.blocks.derive(|m| m[..count].to_vec()));
        table.with_errors(
            "normalized",
            "",
            &self.blocks.derive(|m| m[..count].iter().map(|c| c / m[0]).collect()),
        );
        let mut results = Results::default();
        let (time, scale) = (unit(units, 0, 1), |_: &[f64]| 1.0 / 3.0);
        let kubo = GreenKubo { blocks: &self.blocks, times: &times, unit: &time, scale };
        self.add_diffusion(&kubo, &mut table, &mut results);
        results.tables.push(table);
        self.add_spectrum(count, &mut results);
        Ok(results)
    }
}

impl Velocities {
    /// The integral and its last value, if frames follow each other soon enough.
    fn add_diffusion(
        &self,
        kubo: &GreenKubo<impl Fn(&[f64]) -> f64>,
        table: &mut Table,
        results: &mut Results,
    ) {
        const RUNNING: &str = "running diffusion coefficient";
        const COEFFICIENT: &str = "diffusion coefficient all";
        let (end, per_time) = (kubo.times.len() - 1, unit(self.system_info.units, 2, -1));
        let longer = match end < self.lags {
            true => "a longer run; half of its frames can be lags",
            false => "more lags: lags=1000",
        };
        let doubts = [(kubo.resolution(end), SOONER), (kubo.convergence(end), longer)];
        // An integral over what was not seen says nothing about whether it has settled.
        let unresolved = matches!(doubts[0].0, Some((Verdict::Withheld, _)));
        let doubts = if unresolved { &doubts[..1] } else { &doubts[..] };
        let running = kubo.running();
        if !unresolved {
            table.with_errors(RUNNING, &per_time, &running);
        }
        let mut withheld = false;
        for (doubt, remedy) in doubts {
            let Some(doubt) = doubt else { continue };
            withheld |= doubt.0 == Verdict::Withheld;
            results.warn(COEFFICIENT, doubt.clone(), remedy);
        }
        if !withheld {
            results.value(COEFFICIENT, &per_time, running[end]);
            let periodic = self.system_info.simbox.periodic();
            if periodic.contains(&true) && periodic.contains(&false) {
                let reason =
                    "it is the mean over all axes, and along an open one walls or surfaces bound the motion";
                let plane = "msd has the coefficient of the other axes";
                results.warn(COEFFICIENT, (Verdict::Doubtful, reason.into()), plane);
            }
        }
    }

    /// The spectrum, if it falls off before its highest frequency: what lies beyond is folded into it.
    fn add_spectrum(&self, count: usize, results: &mut Results) {
        const FOLDED: f64 = 0.1;
        const WHITE: f64 = 0.5;
        let (units, dt) = (self.system_info.units, self.clock.interval());
        let highest = 1.0 / (2.0 * dt);
        let transform = PowerSpectrum::new(count, dt);
        // The power of the highest tenth over the mean of all.
        let left = self.blocks.derive(|m| {
            let power = transform.of(&m[..count]);
            let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
            vec![mean(&power[power.len() - power.len().div_ceil(10)..]) / mean(&power)]
        })[0];
        let verdict = match left.0 - 2.0 * left.1.unwrap_or(0.0) {
            part if part > WHITE => Some(Verdict::Withheld),
            part if part > FOLDED => Some(Verdict::Doubtful),
            _ => None,
        };
        if let Some(verdict) = verdict {
            let reason = format!(
                "at its highest frequency, {}, there is still {:.0} % of the mean power, and faster motions are folded into it",
                digits(highest),
                100.0 * left.0
            );
            results.warn("spectrum", (verdict, reason), SOONER);
        }
        if verdict != Some(Verdict::Withheld) {
            let frequencies = (0..count).map(|k| highest * k as f64 / (count - 1) as f64).collect();
            let mut spectrum = Table::new("spectrum", "frequency", unit(units, 0, -1), frequencies);
            spectrum.with_errors(
                "power",
                &unit(units, 0, 1),
                &self.blocks.derive(|m| transform.of(&m[..count])),
            );
            results.tables.push(spectrum);
        }
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
struct PowerSpectrum {
    /// Transform of the correlation and its mirror image, which is a cosine transform.
    transform: Arc<dyn RealToComplex<f64>>,
    dt: f64,
}

impl PowerSpectrum {
    /// Spectrum of a correlation at `count` times, `dt` apart.
    fn new(count: usize, dt: f64) -> Self {
        PowerSpectrum { transform: jostle_fourier::of_real_numbers(2 * (count - 1)), dt }
    }

    fn of(&self, c: &[f64]) -> Vec<f64> {
        let last = c.len() - 1;
        let window = |k: usize| 0.5 * (1.0 + (PI * k as f64 / last as f64).cos());
        let mut both: Vec<f64> =
            (0..2 * last).map(|k| k.min(2 * last - k)).map(|k| c[k] * window(k)).collect();
        let mut waves = self.transform.make_output_vec();
        // Both are as long as the transform wants them.
        if self.transform.process(&mut both, &mut waves).is_err() {
            return vec![f64::NAN; c.len()];
        }
        waves.iter().map(|wave| 2.0 * self.dt * wave.re / c[0]).collect()
    }
}
