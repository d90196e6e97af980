//! Mean-square displacements, the non-Gaussian parameter, self-diffusion.
//!
//! Errors are the larger of two. Over a lag, displacements from origins that are nearer to each other than the lag
//! share steps, so that only blocks of frames as long as the lag tell how their mean scatters: up to an eighth of the
//! run there are enough of them, at the longest lags two or none. Atoms are the other independent samples, at all lags
//! alike, and the spread over parts of them ([`AtomParts`]) is the error of a random walk. Blocks see what atoms do
//! together, which their spread does not: a crystal or a molecule that drifts as a whole.

use super::{Frames, Kind, Measure, Observable};
use crate::blocks::{BlockEstimate, Blocks, larger};
use crate::correlate::{FrameSpacing, MultiTau};
use crate::leaps::{self, Leaps};
use crate::limits;
use crate::parts::{AtomParts, PartAverages};
use crate::paths::comoving;
use crate::report::{Results, Table, unit};
use crate::saved_state::SavedState;
use crate::settings::{MeasureSettings, Setting};
use crate::view::{SystemInfo, View};
use crate::warning::Verdict;
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, SimBox, Vec3};
use std::f64::consts::PI;

pub(super) const KIND: Kind = Kind {
    name: "msd",
    about: "mean-square displacement, self-diffusion coefficient, non-Gaussian parameter; in a box that changes, without the motion that all atoms share with it",
    observable: Observable::Positions,
    frames: Frames::AlongPath,
    settings: &[
        Setting {
            name: "from",
            dimension: Dimension::TIME,
            default: None,
            about: "where the fit begins [default: 10% of the longest lag]",
        },
        Setting {
            name: "to",
            dimension: Dimension::TIME,
            default: None,
            about: "where the fit ends [default: 50% of the longest lag]",
        },
        Setting {
            name: "viscosity",
            dimension: Dimension { energy: 1, length: -3, time: 1, ..Dimension::NUMBER },
            default: None,
            about: "shear viscosity (energy time / volume) to correct the diffusion coefficient for the size of a cubic box",
        },
        Setting {
            name: "temperature",
            dimension: Dimension::TEMPERATURE,
            default: None,
            about: "temperature for that correction",
        },
    ],
    new: |system_info, settings| Ok(Box::new(Diffusion::new(system_info, settings)?)),
};

const LAGS: usize = 16;
/// Frames that are kept of the first hundred thousand.
const KEPT: usize = 117;

/// A mean square displacement that grows with a power of time so far from the first is not that of
/// diffusion, or not yet.
const BENT: f64 = 0.1;
/// The power half-way to ballistic motion, or to none at all.
const NO_LINE: f64 = 0.5;
const LONGER: &str = "take a longer run, or fit where displacements grow with time: from=..., to=...";

struct Diffusion {
    system_info: SystemInfo,
    settings: MeasureSettings,
    clock: FrameSpacing,
    leaps: Leaps,
    past: MultiTau<Vec<Vec3>>,
    /// For each lag: the mean square displacement of all atoms, of each species, and the fourth
    /// power of all.
    blocks: Blocks,
    parts: AtomParts,
    /// Sums of these numbers by parts of the atoms.
    over_atoms: PartAverages,
    counts: Vec<f64>,
    frames: u64,
    /// Sum of the first edges of the boxes of all frames.
    edges: f64,
}

impl Diffusion {
    fn new(system_info: &SystemInfo, settings: &MeasureSettings) -> Result<Self> {
        let past = MultiTau::new(LAGS);
        let counts: Vec<f64> = system_info.counts().iter().map(|n| *n as f64).collect();
        let [from, to] = ["from", "to"].map(|name| settings.get(name));
        if to.is_some_and(|to| to <= from.unwrap_or(0.0)) {
            let (from, to) = (from.unwrap_or(0.0), to.unwrap_or_default());
            return Err(Error::input(format!("a line from {from} to {to} has no length"))
                .hint("choose a later end with to="));
        }
        if settings.get("viscosity").is_some() {
            settings.positive("viscosity", 1.0)?;
            if settings.get("temperature").is_none() {
                return Err(Error::input("the correction by the viscosity needs the temperature, too")
                    .hint("temperature=94.4"));
            }
            settings.positive("temperature", 1.0)?;
            check_cubic(&system_info.simbox)?;
        }
        let atoms = system_info.species.len();
        let bytes = (KEPT * size_of::<Vec3>()) as f64 * atoms as f64;
        let what =
            format!("the positions of {atoms} atoms in the {KEPT} frames that others are compared with");
        limits::memory(bytes, &what, "choose a part of the atoms")?;
        let width = past.width() * (counts.len() + 2);
        let (blocks, over_atoms) = (Blocks::new(width), PartAverages::new(width));
        let parts = AtomParts::new(&system_info.species, &system_info.counts());
        let (clock, leaps, frames, edges) = (FrameSpacing::default(), Leaps::default(), 0, 0.0);
        Ok(Diffusion {
            system_info: system_info.clone(),
            settings: settings.clone(),
            clock,
            leaps,
            past,
            blocks,
            parts,
            over_atoms,
            counts,
            frames,
            edges,
        })
    }

    /// Lags up to half of the trajectory: beyond, there are few independent origins.
    fn lags(&self) -> Vec<usize> {
        (0..self.past.width()).filter(|k| self.past.lag(*k) <= (self.frames - 1) / 2).collect()
    }
}

impl Measure for Diffusion {
    fn add(&mut self, frame: &View) -> Result<()> {
        self.clock.add(frame.time)?;
        if self.settings.get("viscosity").is_some() {
            check_cubic(frame.simbox)?;
        }
        self.edges += frame.simbox.lengths()[0];
        self.blocks.frame();
        self.frames += 1;
        let now = comoving(frame.lattice, frame.unwrapped);
        self.leaps.add(frame, &now);
        let (blocks, over_atoms, parts) = (&mut self.blocks, &mut self.over_atoms, &self.parts);
        let species = self.counts.len();
        let width = species + 2;
        self.past.add(now, |lag, then, now| {
            let squares =
                then.iter().zip(now).map(|(a, b)| frame.lattice.comoving_shift(*b - *a).norm_squared());
            let sums = parts.sum(squares.map(|d2| [d2, d2 * d2]));
            for (cell, ([square, fourth], atoms)) in sums.into_iter().zip(parts.counts()).enumerate() {
                let (part, species) = (cell / species, cell % species);
                let (all, own, last) = (lag * width, lag * width + 1 + species, (lag + 1) * width - 1);
                for (quantity, sum) in [(all, square), (own, square), (last, fourth)] {
                    blocks.add_weighted(quantity, sum, *atoms);
                    over_atoms.add(part, quantity, sum, *atoms);
                }
            }
        });
        Ok(())
    }

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        vec![
            &mut self.clock,
            &mut self.leaps,
            &mut self.past,
            &mut self.blocks,
            &mut self.over_atoms,
            &mut self.frames,
            &mut self.edges,
        ]
    }

    fn results(&self) -> Result<Results> {
        if self.frames < 4 {
            return Err(Error::input(format!("{} frames are too few for displacements", self.frames)));
        }
        let (units, lags) = (self.system_info.units, self.lags());
        let times: Vec<f64> = lags.iter().map(|k| self.past.lag(*k) as f64 * self.clock.interval()).collect();
        let fit = self.fit(&times)?;
        let spans: Vec<u64> = lags.iter().map(|k| self.past.lag(*k)).collect();
        let mut results = Results::default();
        let mut table = Table::new("msd", "t", unit(units, 0, 1), times.clone());
        let mut kinds = vec![("all".to_string(), 0)];
        if self.counts.len() > 1 {
            kinds.extend(self.system_info.names.iter().enumerate().map(|(s, name)| (name.clone(), s + 1)));
        }
        for (name, what) in kinds.into_iter().filter(|(_, w)| *w == 0 || self.counts[w - 1] > 0.0) {
            let msd = self.derive(what, &spans, |m| self.column(m, what, &lags));
            table.with_errors(&format!("msd {name}"), &unit(units, 2, 0), &msd);
            self.add_coefficient(&name, what, &lags, (&times, &fit), &mut results);
        }
        let gauss = self.derive(0, &spans, |m| {
            let second = self.column(m, 0, &lags);
            let fourth = self.column(m, 1 + self.counts.len(), &lags);
            second.iter().zip(fourth).map(|(s, f)| 3.0 * f / (5.0 * s * s) - 1.0).collect()
        });
        table.with_errors("alpha2", "", &gauss);
        if let [first, .., last] = fit[..] {
            let time = unit_name(units, Dimension::TIME);
            results.value("fit from", &time, (times[first], Some(0.0)));
            results.value("fit to", &time, (times[last], Some(0.0)));
        }
        results.tables = vec![table];
        Ok(results)
    }
}

impl Diffusion {
    /// The lags that a line is fitted to; none where frames are too few for one.
    fn fit(&self, times: &[f64]) -> Result<Vec<usize>> {
        let longest = times.last().copied().unwrap_or(0.0);
        let [from, to] = ["from", "to"].map(|name| self.settings.get(name));
        let chosen = from.or(to).is_some();
        let (from, to) = (from.unwrap_or(0.1 * longest), to.unwrap_or(0.5 * longest));
        let within = from * (1.0 - 1e-9)..=to * (1.0 + 1e-9);
        let fit: Vec<usize> = (0..times.len()).filter(|k| within.contains(&times[*k])).collect();
        match fit.len() {
            0..3 if chosen => Err(Error::input(format!(
                "only {} lags lie between {from} and {to}, where the line is fitted",
                fit.len()
            ))
            .hint("choose other times with from= and to=, or take more frames")),
            0..3 => Ok(Vec::new()),
            _ => Ok(fit),
        }
    }

    /// A function of the means of number `what`, each value with the larger of the errors by blocks that are as long
    /// as its span and by parts of the atoms.
    fn derive(
        &self,
        what: usize,
        spans: &[u64],
        function: impl Fn(&[f64]) -> Vec<f64>,
    ) -> Vec<BlockEstimate> {
        let occupied = self.parts.occupied(what.checked_sub(1));
        let over_time = self.blocks.derive_spanning(spans, &function);
        let over_atoms = self.over_atoms.errors(occupied, &function);
        over_time.into_iter().zip(over_atoms).map(|((mean, a), b)| (mean, larger(a, b))).collect()
    }

    /// Mean number `what` at each lag.
    fn column(&self, means: &[f64], what: usize, lags: &[usize]) -> Vec<f64> {
        let width = self.counts.len() + 2;
        lags.iter().map(|k| means[k * width + what]).collect()
    }

    /// The diffusion coefficient of a species or of all atoms, from where displacements grow with time.
    fn add_coefficient(
        &self,
        name: &str,
        what: usize,
        lags: &[usize],
        (times, fit): (&[f64], &[usize]),
        results: &mut Results,
    ) {
        let units = self.system_info.units;
        let (about, diffusive) = (format!("diffusion coefficient {name}"), unit(units, 2, -1));
        if fit.is_empty() {
            let reason = format!("{} frames have fewer than three lags to fit a line to", self.frames);
            results.warn(&about, (Verdict::Withheld, reason), LONGER);
            return;
        }
        let longest = fit.last().map_or(0, |k| self.past.lag(lags[*k]));
        let found = self.derive(what, &[longest; 2], |m| {
            let msd = self.column(m, what, lags);
            let line: Vec<(f64, f64)> = fit.iter().map(|k| (times[*k], msd[*k])).collect();
            let power: Vec<(f64, f64)> =
                line.iter().filter(|(t, _)| *t > 0.0).map(|(t, msd)| (t.ln(), msd.ln())).collect();
            vec![slope(&line) / 6.0, slope(&power)]
        });
        let [coefficient, power] = [found[0], found[1]];
        let doubts = [(bent(power), LONGER), (self.leaps.judge(), leaps::REMEDY)];
        let mut withheld = false;
        for (doubt, remedy) in doubts {
            let Some(doubt) = doubt else { continue };
            withheld |= doubt.0 == Verdict::Withheld;
            results.warn(&about, doubt, remedy);
        }
        if withheld {
            return;
        }
        results.value(&about, &diffusive, coefficient);
        let given = ["viscosity", "temperature"].map(|name| self.settings.get(name));
        if let [Some(viscosity), Some(temperature)] = given {
            let edge = self.edges / self.frames as f64;
            let shift = finite_size(units.boltzmann() * temperature, viscosity, edge);
            let (d, error) = coefficient;
            results.value(&format!("{about}, infinite box"), &diffusive, (d + shift, error));
        }
    }
}

/// Refuses boxes for which the correction by the viscosity does not hold.
fn check_cubic(simbox: &SimBox) -> Result<()> {
    let [x, y, z] = simbox.lengths();
    let cubic = (x - y).abs() + (x - z).abs() < 1e-6 * x && simbox.is_orthorhombic();
    match cubic && simbox.periodic() == [true; 3] {
        true => Ok(()),
        false => Err(Error::input("the correction by the viscosity is for cubic periodic boxes")),
    }
}

/// The verdict on displacements that grow with a power of time other than the first.
fn bent((power, error): BlockEstimate) -> Option<(Verdict, String)> {
    let off = (power - 1.0).abs();
    if !(off > 2.0 * error.unwrap_or(0.0) && off > BENT) {
        return None;
    }
    let verdict = if off > NO_LINE { Verdict::Withheld } else { Verdict::Doubtful };
    let why = match power > 1.0 {
        true => "atoms still fly, or flow, in one direction",
        false => "atoms are still held by those around them",
    };
    Some((
        verdict,
        format!(
            "where the line is fitted displacements grow with the power {power:.2} of time, not 1: {why}"
        ),
    ))
}

/// By least squares.
fn slope(points: &[(f64, f64)]) -> f64 {
    let n = points.len() as f64;
    let (x, y) = points.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let (xx, xy) =
        points.iter().fold((0.0, 0.0), |(a, b), p| (a + (p.0 - x).powi(2), b + (p.0 - x) * (p.1 - y)));
    xy / xx
}

/// Finite-size correction of diffusion in a periodic cube of edge L: xi k_B T / (6 pi eta L) with xi =
/// 2.837297 (I.-C. Yeh and G. Hummer, J. Phys. Chem. B 108 (2004) 15873, equation 12).
fn finite_size(thermal: f64, viscosity: f64, edge: f64) -> f64 {
    2.837297 * thermal / (6.0 * PI * viscosity * edge)
}
