//! Mean-square displacements, the non-Gaussian parameter, self-diffusion.
//!
//! Errors are the larger of two. Over a lag, displacements from origins that are nearer to each other than the lag
//! share steps, so that only blocks of frames as long as the lag tell how their mean scatters: up to an eighth of the
//! run there are enough of them, at the longest lags two or none. Atoms are the other independent samples, at all lags
//! alike, and the spread over parts of them ([`AtomParts`]) is the error of a random walk. Blocks see what atoms do
//! together, which their spread does not: a crystal or a molecule that drifts as a whole. The displacement of the centre
//! of N independent atoms has 1/N of their mean square; what is more than that is a motion in common, and is told.

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
use crate::warning::{DOUBTFUL, Verdict};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Error, Result, SimBox, Vec3, Vector};
use std::f64::consts::PI;

pub(super) const KIND: Kind = Kind {
    name: "msd",
    about: "mean-square displacement, self-diffusion coefficient, non-Gaussian parameter; in a box that changes, without the motion that all atoms share with it; where walls or an open axis bound displacements along an axis, the coefficient is that of the others; with a warning where atoms move as a whole, as a crystal does by langevin",
    observable: Observable::Positions,
    frames: Frames::AlongPath,
    settings: &[
        Setting {
            name: "from",
            dimension: Dimension::TIME,
            default: None,
            about: "where the fit begins [default: 10% of the longest lag, or 20% of an earlier end]",
        },
        Setting {
            name: "to",
            dimension: Dimension::TIME,
            default: None,
            about: "where the fit ends [default: 50% of the longest lag]",
        },
        Setting {
            name: "across",
            dimension: Dimension::NUMBER,
            default: None,
            about: "1: diffusion in the plane across x, 2: y, 3: z [default: along all axes on which displacements are not bounded]",
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

/// Share of common motion, in parts of that of independent atoms, that chance hardly makes.
const CHANCE: f64 = 4.0;
const TOGETHER: &str = "a thermostat that conserves momentum, such as bussi or dpd; of a single molecule the coefficient is right";
const AXES: [&str; 3] = ["x", "y", "z"];

struct Diffusion {
    system_info: SystemInfo,
    settings: MeasureSettings,
    clock: FrameSpacing,
    leaps: Leaps,
    past: MultiTau<Vec<Vec3>>,
    /// For each lag: the mean square displacement of all atoms, of each species, and the fourth power of all; the parts of
    /// the former along each axis; the square displacement of the centre.
    blocks: Blocks,
    parts: AtomParts,
    /// Sums of these numbers by parts of the atoms.
    over_atoms: PartAverages,
    counts: Vec<f64>,
    /// The axis that is left out.
    across: Option<usize>,
    frames: u64,
    /// Sum of the first edges of the boxes of all frames.
    edges: f64,
}

impl Diffusion {
    fn new(system_info: &SystemInfo, settings: &MeasureSettings) -> Result<Self> {
        let past = MultiTau::new(LAGS);
        let given = settings.get("across").map(|_| settings.count("across", 3, 1..=3)).transpose()?;
        let across = given.map(|axis| axis - 1);
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
        let width = past.width() * quantities(counts.len());
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
            across,
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
        let (width, atoms) = (quantities(species), self.counts.iter().sum::<f64>());
        self.past.add(now, |lag, then, now| {
            let numbers = then.iter().zip(now).map(|(a, b)| {
                let moved = frame.lattice.comoving_shift(*b - *a);
                let [x, y, z] = [moved[0], moved[1], moved[2]];
                let square = moved.norm_squared();
                [square, square * square, x * x, y * y, z * z, x, y, z]
            });
            let mut center = Vec3::ZERO;
            for (cell, (sums, atoms)) in parts.sum(numbers).into_iter().zip(parts.counts()).enumerate() {
                let (part, own) = (cell / species, cell % species + 1);
                let [square, fourth, x, y, z, moved @ ..] = sums;
                let mut add = |quantity: usize, sum: f64| {
                    blocks.add_weighted(lag * width + quantity, sum, *atoms);
                    over_atoms.add(part, lag * width + quantity, sum, *atoms);
                };
                for what in [0, own] {
                    add(what, square);
                    [x, y, z].into_iter().enumerate().for_each(|(k, sum)| add(along(species, what, k), sum));
                }
                add(species + 1, fourth);
                center += Vector(moved);
            }
            blocks.add((lag + 1) * width - 1, (center / atoms).norm_squared());
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
        let mut axes = Table::new("axes", "t", unit(units, 0, 1), times.clone());
        let mut kinds = vec![("all".to_string(), 0)];
        if self.counts.len() > 1 {
            kinds.extend(self.system_info.names.iter().enumerate().map(|(s, name)| (name.clone(), s + 1)));
        }
        for (name, what) in kinds.into_iter().filter(|(_, w)| *w == 0 || self.counts[w - 1] > 0.0) {
            let msd = self.derive(what, &spans, |m| self.column(m, what, &lags));
            table.with_errors(&format!("msd {name}"), &unit(units, 2, 0), &msd);
            for (k, axis) in AXES.into_iter().enumerate() {
                let quantity = along(self.counts.len(), what, k);
                let msd = self.derive(what, &spans, |m| self.column(m, quantity, &lags));
                axes.with_errors(&format!("msd {name} {axis}"), &unit(units, 2, 0), &msd);
            }
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
        results.tables = vec![table, axes];
        Ok(results)
    }
}

impl Diffusion {
    /// The lags that a line is fitted to; none where frames are too few for one.
    fn fit(&self, times: &[f64]) -> Result<Vec<usize>> {
        let longest = times.last().copied().unwrap_or(0.0);
        let [from, to] = ["from", "to"].map(|name| self.settings.get(name));
        let chosen = from.or(to).is_some();
        let late = from.is_some_and(|from| from > 0.4 * longest);
        let to = to.unwrap_or(if late { longest } else { 0.5 * longest });
        let from = from.unwrap_or(0.2 * to.min(0.5 * longest));
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
        let width = quantities(self.counts.len());
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
        let line = |msd: &[f64]| fit.iter().map(|k| (times[*k], msd[*k])).collect::<Vec<(f64, f64)>>();
        let power = |msd: &[f64]| {
            let points = line(msd).into_iter().filter(|(t, _)| *t > 0.0);
            slope(&points.map(|(t, msd)| (t.ln(), msd.ln())).collect::<Vec<_>>())
        };
        let by_axis = |m: &[f64]| [0, 1, 2].map(|k| self.column(m, along(self.counts.len(), what, k), lags));
        let powers = self.derive(what, &[longest; 3], |m| by_axis(m).map(|msd| power(&msd)).to_vec());
        let common = self.common_motion(what, lags, longest, &line);
        let open = self.system_info.simbox.periodic().map(|periodic| !periodic);
        // Along an open axis something must hold the atoms. Motion in common is the walk of a single body, by chance.
        let most = |k: usize| match open[k] && open.contains(&false) {
            true => 1.0 - BENT,
            false if common.is_none() => NO_LINE,
            false => f64::NEG_INFINITY,
        };
        let bounded = |k: &usize| powers[*k].0 + 2.0 * powers[*k].1.unwrap_or(f64::INFINITY) < most(*k);
        let (bound, free): (Vec<usize>, Vec<usize>) = match self.across {
            Some(across) => (vec![], (0..3).filter(|k| *k != across).collect()),
            None => (0..3).partition(bounded),
        };
        // Where displacements are bounded along all axes, atoms are held by others.
        let (bound, free) = if free.is_empty() { (free, bound) } else { (bound, free) };
        let found = self.derive(what, &[longest; 2], |m| {
            let axes = by_axis(m);
            let msd: Vec<f64> = (0..lags.len()).map(|lag| free.iter().map(|k| axes[*k][lag]).sum()).collect();
            vec![slope(&line(&msd)) / (2.0 * free.len() as f64), power(&msd)]
        });
        let [coefficient, power] = [found[0], found[1]];
        let doubts = [
            (bent(power), LONGER),
            (self.leaps.judge(), leaps::REMEDY),
            (one_sided(&bound, &free), "across=... says of which plane it is"),
            (common, TOGETHER),
        ];
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

impl Diffusion {
    /// Doubt about displacements that are those of the centre of all atoms, beyond what independent atoms have.
    fn common_motion(
        &self,
        what: usize,
        lags: &[usize],
        longest: u64,
        line: &impl Fn(&[f64]) -> Vec<(f64, f64)>,
    ) -> Option<(Verdict, String)> {
        let atoms = self.counts.iter().sum::<f64>();
        let center = quantities(self.counts.len()) - 1;
        // Atoms that are parts of one motion do not tell its error.
        let share = self.blocks.derive_spanning(&[longest], |m| {
            let grows = |quantity| slope(&line(&self.column(m, quantity, lags)));
            vec![(grows(center) - grows(0) / atoms) / grows(what)]
        })[0];
        let large = share.0 > DOUBTFUL + CHANCE / atoms && share.0 > 2.0 * share.1.unwrap_or(f64::INFINITY);
        large.then(|| {
            let reason = format!(
                "{:.0} % of it is a motion of all measured atoms in common, as of a crystal that drifts, or that a \
                 thermostat such as langevin moves as a whole",
                100.0 * share.0.min(1.0)
            );
            (Verdict::Doubtful, reason)
        })
    }
}

/// The verdict on a coefficient where displacements are bounded along some axes.
fn one_sided(bound: &[usize], free: &[usize]) -> Option<(Verdict, String)> {
    let names = |axes: &[usize]| axes.iter().map(|k| AXES[*k]).collect::<Vec<_>>().join(" and ");
    let reason = || {
        format!(
            "along {} displacements are bounded, as by walls or an open axis, so that it is that along {} alone",
            names(bound),
            names(free)
        )
    };
    (!bound.is_empty()).then(|| (Verdict::Doubtful, reason()))
}

/// Number of quantities at each lag, for so many species.
fn quantities(species: usize) -> usize {
    species + 2 + 3 * (species + 1) + 1
}

/// Number of the part along an axis of mean square displacement `what`.
fn along(species: usize, what: usize, axis: usize) -> usize {
    species + 2 + 3 * what + axis
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
