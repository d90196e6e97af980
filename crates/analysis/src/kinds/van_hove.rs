//! Van Hove's correlation functions of a few lags: where an atom is that was at the origin (self),
//! and where others are (distinct; L. van Hove, Phys. Rev. 95 (1954) 249).

use super::shells::{BY_NUMBER, LARGER, Narrowest, Shells, without_density};
use super::{Frames, Kind, Measure, Observable};
use crate::blocks::Blocks;
use crate::cells::Cells;
use crate::correlate::FrameSpacing;
use crate::leaps::{self, Leaps};
use crate::limits;
use crate::paths::comoving;
use crate::report::{Results, Table, unit};
use crate::saved_state::SavedState;
use crate::settings::{MeasureSettings, Setting};
use crate::view::{SystemInfo, View};
use crate::warning::{Verdict, digits};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, Vec3};
use rayon::prelude::*;
use std::collections::VecDeque;

pub(super) const KIND: Kind = Kind {
    name: "van-hove",
    about: "van Hove functions, self and distinct, at lags of 1, 2, 4, ... frames",
    observable: Observable::Positions,
    frames: Frames::AlongPath,
    settings: &[
        Setting { name: "lags", dimension: Dimension::NUMBER, default: Some(5.0), about: "number of lags" },
        Setting {
            name: "cutoff",
            dimension: Dimension::LENGTH,
            default: None,
            about: "largest distance; beyond half the box images of the same atoms are met, with a warning [default: half the smallest width of the box, at most 6 density^(-1/3)]",
        },
        Setting { name: "bins", dimension: Dimension::NUMBER, default: Some(100.0), about: "number of bins" },
    ],
    new: |system_info, settings| Ok(Box::new(VanHove::new(system_info, settings)?)),
};

/// A peak that is narrower than so many bins has no shape.
const NARROW: f64 = 3.0;
/// More atoms than this part beyond the cutoff are missed.
const GONE: f64 = 0.05;

struct VanHove {
    system_info: SystemInfo,
    clock: FrameSpacing,
    lags: usize,
    shells: Shells,
    /// Comoving coordinates of unbroken paths; the latest first.
    past: VecDeque<Vec<Vec3>>,
    /// For each lag and bin the self part, then the distinct one.
    blocks: Blocks,
    narrowest: Narrowest,
    leaps: Leaps,
}

impl VanHove {
    fn new(system_info: &SystemInfo, settings: &MeasureSettings) -> Result<Self> {
        let shells = Shells::new(system_info, settings, 100, 10_000)?;
        let lags = settings.count("lags", 5, 1..=12)?;
        let (kept, atoms) = (1usize << (lags - 1), system_info.species.len());
        let bytes = (kept * size_of::<Vec3>()) as f64 * atoms as f64;
        let what = format!("the positions of {atoms} atoms in {kept} frames");
        limits::memory(bytes, &what, "choose fewer lags, or a part of the atoms")?;
        let blocks = Blocks::fitting(2 * lags * shells.bins, "choose fewer bins or lags")?;
        let (clock, past, system_info) = (FrameSpacing::default(), VecDeque::new(), system_info.clone());
        let (narrowest, leaps) = (Narrowest::new(), Leaps::default());
        Ok(VanHove { system_info, clock, lags, shells, past, blocks, narrowest, leaps })
    }
}

impl Measure for VanHove {
    fn add(&mut self, frame: &View) -> Result<()> {
        self.clock.add(frame.time)?;
        let (bins, per_length) = (self.shells.bins, self.shells.bins as f64 / self.shells.cutoff);
        let n = frame.positions.len() as f64;
        let cells = Cells::new(frame.simbox, frame.positions, self.shells.cutoff)?;
        self.narrowest.add(frame.simbox);
        let now = comoving(frame.lattice, frame.unwrapped);
        self.leaps.add(frame, &now);
        self.blocks.frame();
        for lag in 0..self.lags {
            let Some(then) = self.past.get((1 << lag) - 1) else { break };
            let mut own = vec![0.0; bins];
            for (a, b) in then.iter().zip(&now) {
                let d = frame.lattice.comoving_shift(*b - *a).norm_squared().sqrt();
                if d < self.shells.cutoff {
                    own[((d * per_length) as usize).min(bins - 1)] += 1.0;
                }
            }
            let count = |mut counts: Vec<u32>, (i, r): (usize, &Vec3)| {
                cells.around(frame.lattice.from_comoving(*r), |j, d2| {
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
                let shell = self.shells.volume(bin);
                self.blocks.add(2 * lag * bins + bin, own[bin] / n / shell);
                self.blocks.add((2 * lag + 1) * bins + bin, f64::from(others[bin]) / n / shell / density);
            }
        }
        self.past.push_front(now);
        self.past.truncate(1 << (self.lags - 1));
        Ok(())
    }

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        vec![&mut self.clock, &mut self.past, &mut self.blocks, &mut self.narrowest, &mut self.leaps]
    }

    fn results(&self) -> Result<Results> {
        let (units, bins) = (self.system_info.units, self.shells.bins);
        let met = (0..self.lags).filter(|lag| (1u64 << lag) < self.blocks.frames()).count();
        if met == 0 {
            return Err(Error::input("van Hove functions need two frames"));
        }
        let r = (0..bins).map(|k| (k as f64 + 0.5) * self.shells.cutoff / bins as f64).collect();
        let mut table = Table::new("van-hove", "r", unit(units, 1, 0), r);
        let (per_volume, time) = (unit(units, -3, 0), unit_name(units, Dimension::TIME));
        let spans: Vec<u64> = (0..self.lags).flat_map(|lag| vec![1 << lag; 2 * bins]).collect();
        let means = self.blocks.derive_spanning(&spans, <[f64]>::to_vec);
        let mut results = Results::default();
        for lag in 0..met {
            // Times have rounding of single precision in most files.
            let t = self.clock.interval() * f64::from(1 << lag);
            let at = format!("{} {time}", (t * 1e4).round() / 1e4);
            let part = |k: usize| &means[(2 * lag + k) * bins..(2 * lag + k + 1) * bins];
            let name = format!("self {}", at.trim());
            let own: Vec<f64> = part(0).iter().map(|mean| mean.0).collect();
            self.judge_self(&own).into_iter().for_each(|(doubt, remedy)| results.warn(&name, doubt, remedy));
            table.with_errors(&name, &per_volume, part(0));
            table.with_errors(&format!("distinct {}", at.trim()), "", part(1));
        }
        if let Some(doubt) = self.narrowest.judge(self.shells.cutoff) {
            results.warn("distinct part", doubt, LARGER);
        }
        if let Some(doubt) = without_density(&self.system_info.simbox) {
            results.warn("distinct part", doubt, BY_NUMBER);
        }
        if let Some((_, reason)) = self.leaps.judge() {
            results.warn("self part", (Verdict::Doubtful, reason), leaps::REMEDY);
        }
        results.tables.push(table);
        Ok(results)
    }
}

impl VanHove {
    /// Doubt about the self part at one lag: atoms that have gone beyond the cutoff, and a peak
    /// too narrow for the bins.
    fn judge_self(&self, own: &[f64]) -> Option<((Verdict, String), &'static str)> {
        let within: Vec<f64> = own.iter().enumerate().map(|(bin, g)| g * self.shells.volume(bin)).collect();
        let gone = 1.0 - within.iter().sum::<f64>();
        let distance = within.iter().enumerate().map(|(bin, n)| n * (bin as f64 + 0.5)).sum::<f64>();
        if gone > GONE {
            let (gone, cutoff) = (100.0 * gone, digits(self.shells.cutoff));
            let reason = format!("{gone:.0} % of the atoms have gone farther than the cutoff, {cutoff}");
            return Some(((Verdict::Doubtful, reason), "frames less far apart, or fewer lags"));
        }
        (distance < NARROW).then(|| {
            let width = digits(self.shells.cutoff / self.shells.bins as f64);
            let reason = format!("atoms have gone only {distance:.1} bins of {width} on average");
            ((Verdict::Doubtful, reason), "more bins, or a shorter cutoff")
        })
    }
}
