//! Van Hove's correlation functions of a few lags: where an atom is that was at the origin (self),
//! and where others are (distinct; L. van Hove, Phys. Rev. 95 (1954) 249).

use super::{Kind, Measure};
use crate::blocks::Blocks;
use crate::cells::Cells;
use crate::correlate::Clock;
use crate::report::{Results, Table, unit};
use crate::settings::{Setting, Settings};
use crate::view::{Subject, View};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, Vec3};
use rayon::prelude::*;
use std::collections::VecDeque;
use std::f64::consts::PI;

pub(super) const KIND: Kind = Kind {
    name: "van-hove",
    about: "van Hove functions, self and distinct, at lags of 1, 2, 4, ... frames",
    settings: &[
        Setting { name: "lags", dimension: Dimension::NUMBER, default: Some(5.0), about: "number of lags" },
        Setting {
            name: "cutoff",
            dimension: Dimension::LENGTH,
            default: None,
            about: "largest distance [default: half the smallest width of the box]",
        },
        Setting { name: "bins", dimension: Dimension::NUMBER, default: Some(100.0), about: "number of bins" },
    ],
    new: |subject, settings| Ok(Box::new(VanHove::new(subject, settings)?)),
};

struct VanHove {
    subject: Subject,
    clock: Clock,
    lags: usize,
    cutoff: f64,
    bins: usize,
    /// Positions, wrapped or not, and on unbroken paths; the latest first.
    past: VecDeque<(Vec<Vec3>, Vec<Vec3>)>,
    /// For each lag and bin the self part, then the distinct one.
    blocks: Blocks,
}

impl VanHove {
    fn new(subject: &Subject, settings: &Settings) -> Result<Self> {
        let largest = subject.simbox.largest_cutoff();
        let cutoff = match settings.get("cutoff") {
            None if largest.is_infinite() => {
                return Err(Error::input("the box is open, so the cutoff must be given").hint("cutoff=10"));
            }
            _ => settings.positive("cutoff", largest)?,
        };
        let (lags, bins) = (settings.count("lags", 5, 1..=12)?, settings.count("bins", 100, 1..=10_000)?);
        let blocks = Blocks::new(2 * lags * bins);
        let (clock, past) = (Clock::default(), VecDeque::new());
        Ok(VanHove { subject: subject.clone(), clock, lags, cutoff, bins, past, blocks })
    }

    fn shell(&self, bin: usize) -> f64 {
        let r = |k: usize| k as f64 * self.cutoff / self.bins as f64;
        4.0 / 3.0 * PI * (r(bin + 1).powi(3) - r(bin).powi(3))
    }
}

impl Measure for VanHove {
    fn add(&mut self, frame: &View) -> Result<()> {
        self.clock.add(frame.time)?;
        let (bins, per_length) = (self.bins, self.bins as f64 / self.cutoff);
        let n = frame.positions.len() as f64;
        let cells = Cells::new(frame.simbox, frame.positions, self.cutoff);
        self.blocks.frame();
        for lag in 0..self.lags {
            let Some((then, path)) = self.past.get((1 << lag) - 1) else { break };
            let mut own = vec![0.0; bins];
            for (a, b) in path.iter().zip(frame.unwrapped) {
                let d = (0..3).map(|k| (b[k] - a[k]).powi(2)).sum::<f64>().sqrt();
                if d < self.cutoff {
                    own[((d * per_length) as usize).min(bins - 1)] += 1.0;
                }
            }
            let count = |mut counts: Vec<u32>, (i, r): (usize, &Vec3)| {
                cells.around(*r, |j, d2| {
                    if j as usize != i {
                        counts[((d2.sqrt() * per_length) as usize).min(bins - 1)] += 1;
                    }
                });
                counts
            };
            let join = |mut a: Vec<u32>, b: Vec<u32>| {
                a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
                a
            };
            let others =
                then.par_iter().enumerate().fold(|| vec![0; bins], count).reduce(|| vec![0; bins], join);
            let density = (n - 1.0) / frame.simbox.volume();
            for bin in 0..bins {
                let shell = self.shell(bin);
                self.blocks.add(2 * lag * bins + bin, own[bin] / n / shell);
                self.blocks.add((2 * lag + 1) * bins + bin, f64::from(others[bin]) / n / shell / density);
            }
        }
        self.past.push_front((frame.positions.to_vec(), frame.unwrapped.to_vec()));
        self.past.truncate(1 << (self.lags - 1));
        Ok(())
    }

    fn results(&self) -> Result<Results> {
        let (units, bins) = (self.subject.units, self.bins);
        let met = (0..self.lags).filter(|lag| (1u64 << lag) < self.blocks.frames()).count();
        if met == 0 {
            return Err(Error::input("van Hove functions need two frames"));
        }
        let r = (0..bins).map(|k| (k as f64 + 0.5) * self.cutoff / bins as f64).collect();
        let mut table = Table::new("van-hove", "r", unit(units, 1, 0), r);
        let (per_volume, time) = (unit(units, -3, 0), unit_name(units, Dimension::TIME));
        let means = self.blocks.means();
        for lag in 0..met {
            // Times have rounding of single precision in most files.
            let t = self.clock.interval() * f64::from(1 << lag);
            let at = format!("{} {time}", (t * 1e4).round() / 1e4);
            let part = |k: usize| &means[(2 * lag + k) * bins..(2 * lag + k + 1) * bins];
            table.with_errors(&format!("self {}", at.trim()), &per_volume, part(0));
            table.with_errors(&format!("distinct {}", at.trim()), "", part(1));
        }
        Ok(Results { tables: vec![table], values: Vec::new() })
    }
}
