//! Radial distribution functions g(r) by species pair, running coordination numbers, and the
//! structure factor that follows.

use super::histograms::Histograms;
use super::shells::Shells;
use super::{Kind, Measure, Sees};
use crate::blocks::Blocks;
use crate::memory::Memory;
use crate::report::{Results, Table, unit};
use crate::settings::{Setting, Settings};
use crate::view::{Subject, View};
use jostle_core::{Dimension, Result};
use std::f64::consts::PI;

pub(super) const KIND: Kind = Kind {
    name: "rdf",
    about: "radial distribution functions by species pair, coordination numbers, first peak, S(q) from g(r)",
    sees: Sees::Positions,
    settings: &[
        Setting {
            name: "cutoff",
            dimension: Dimension::LENGTH,
            default: None,
            about: "largest distance [default: half the smallest width of the box, at most 6 density^(-1/3)]",
        },
        Setting { name: "bins", dimension: Dimension::NUMBER, default: Some(200.0), about: "number of bins" },
    ],
    new: |subject, settings| Ok(Box::new(Radial::new(subject, settings)?)),
};

/// g(r) = pairs found / pairs expected of an ideal gas of as many atoms: rho_B of a species B that
/// is another, (N - 1) / V of the same. The coordination number counts atoms of B within r of an A.
struct Radial {
    subject: Subject,
    /// The species of each atom.
    species: Vec<u32>,
    shells: Shells,
    /// Pairs of species, `None` for all atoms, with the number of pairs of atoms.
    pairs: Vec<(Option<(usize, usize)>, f64)>,
    /// For each pair and bin: pairs found times the volume (over that expected without it), pairs
    /// found; last the volume.
    blocks: Blocks,
}

impl Radial {
    fn new(subject: &Subject, settings: &Settings) -> Result<Self> {
        let shells = Shells::new(subject, settings, 200, 100_000)?;
        let counts: Vec<f64> = subject.counts().iter().map(|n| *n as f64).collect();
        let total = subject.species.len() as f64;
        let mut pairs = vec![(None, total * (total - 1.0) / 2.0)];
        if counts.len() > 1 {
            for a in 0..counts.len() {
                pairs.push((Some((a, a)), counts[a] * (counts[a] - 1.0) / 2.0));
                pairs.extend((a + 1..counts.len()).map(|b| (Some((a, b)), counts[a] * counts[b])));
            }
        }
        let blocks = Blocks::new(2 * pairs.len() * shells.bins + 1);
        let species = subject.species.iter().map(|s| u32::from(*s)).collect();
        Ok(Radial { subject: subject.clone(), species, shells, pairs, blocks })
    }

    fn name(&self, pair: Option<(usize, usize)>) -> String {
        let names = &self.subject.names;
        pair.map_or("all".to_string(), |(a, b)| format!("{}-{}", names[a], names[b]))
    }
}

impl Measure for Radial {
    fn add(&mut self, frame: &View) -> Result<()> {
        let (bins, n) = (self.shells.bins, self.subject.names.len());
        let which = |a: usize, b: usize| {
            let pair = Some((a.min(b), a.max(b)));
            self.pairs.iter().position(|(p, _)| *p == pair).unwrap_or(0)
        };
        let histograms = Histograms::new(self.shells, n, which);
        let mut found = histograms.of(frame.simbox, frame.positions, &self.species);
        // All atoms: the sum over the pairs of species.
        for bin in 0..bins {
            if self.pairs.len() > 1 {
                found[bin] = (1..self.pairs.len()).map(|p| found[p * bins + bin]).sum();
            }
        }
        let (volume, width) = (frame.simbox.volume(), found.len());
        self.blocks.frame();
        for (k, count) in found.iter().enumerate() {
            self.blocks.add(k, count * volume);
            self.blocks.add(width + k, *count);
        }
        self.blocks.add(2 * width, volume);
        Ok(())
    }

    fn memory(&mut self) -> Vec<&mut dyn Memory> {
        vec![&mut self.blocks]
    }

    fn results(&self) -> Result<Results> {
        let (units, bins, width) =
            (self.subject.units, self.shells.bins, self.pairs.len() * self.shells.bins);
        let length = unit(units, 1, 0);
        let step = self.shells.cutoff / bins as f64;
        let middle: Vec<f64> = (0..bins).map(|k| (k as f64 + 0.5) * step).collect();
        let g_of = |means: &[f64], pair: usize| -> Vec<f64> {
            (0..bins).map(|k| means[pair * bins + k] / (self.pairs[pair].1 * self.shells.volume(k))).collect()
        };
        let mut table = Table::new("rdf", "r", length.clone(), middle.clone());
        let mut around =
            Table::new("coordination", "r", length.clone(), (1..=bins).map(|k| k as f64 * step).collect());
        let mut factor = None;
        let mut results = Results::default();
        for (p, (pair, pairs)) in self.pairs.iter().enumerate() {
            // Of a species without a second atom there is nothing to say.
            if *pairs == 0.0 {
                continue;
            }
            let name = self.name(*pair);
            table.with_errors(&format!("g {name}"), "", &self.blocks.derive(|m| g_of(m, p)));
            let counts = self.subject.counts();
            let (centres, twice) = match pair {
                None => (self.subject.species.len(), 2.0),
                Some((a, b)) => (counts[*a], if a == b { 2.0 } else { 1.0 }),
            };
            let running = self.blocks.derive(|m| {
                let each = m[width + p * bins..width + (p + 1) * bins].iter();
                each.scan(0.0, |sum, n| {
                    *sum += twice * n / centres as f64;
                    Some(*sum)
                })
                .collect()
            });
            around.with_errors(&format!("n {name}"), "", &running);
            let peak = self.blocks.derive(|m| {
                let (r, g) = first_peak(&g_of(m, p), step);
                vec![r, g]
            });
            results.value(&format!("first peak {name}"), &length, peak[0]);
            results.value(&format!("height of first peak {name}"), "", peak[1]);
            if pair.is_none() && frame_is_periodic(&self.subject) {
                factor = Some(self.blocks.derive(|m| {
                    let density = self.subject.species.len() as f64 / m[2 * width];
                    structure_factor(&g_of(m, p), &middle, step, density)
                }));
            }
        }
        results.tables = vec![table, around];
        if let Some(factor) = factor {
            let q = (0..factor.len()).map(|k| wave_number(k, self.shells.cutoff)).collect();
            let mut table = Table::new("structure-factor", "q", unit(units, -1, 0), q);
            table.with_errors("S all", "", &factor);
            results.tables.push(table);
        }
        Ok(results)
    }
}

fn frame_is_periodic(subject: &Subject) -> bool {
    subject.simbox.periodic() == [true; 3]
}

/// The highest bin, between bins by the parabola through it and its neighbours.
fn first_peak(g: &[f64], step: f64) -> (f64, f64) {
    let top = (0..g.len()).fold(0, |top, k| if g[k] > g[top] { k } else { top });
    let middle = |k: f64| (k + 0.5) * step;
    let (Some(left), Some(right)) = (top.checked_sub(1).map(|k| g[k]), g.get(top + 1)) else {
        return (middle(top as f64), g.get(top).copied().unwrap_or(f64::NAN));
    };
    let curvature = left - 2.0 * g[top] + right;
    let off = if curvature < 0.0 { 0.5 * (left - right) / curvature } else { 0.0 };
    (middle(top as f64 + off), g[top] - 0.25 * (left - right) * off)
}

/// Wave numbers at which functions that are cut at `cutoff` are independent.
fn wave_number(k: usize, cutoff: f64) -> f64 {
    (k + 1) as f64 * PI / cutoff
}

/// S(q) = 1 + 4 pi rho \int (g - 1) r^2 sin(qr)/(qr) sin(pi r/R)/(pi r/R) dr, with the window of
/// E. Lorch (J. Phys. C 2 (1969) 229) against ripples of the cut at R.
fn structure_factor(g: &[f64], r: &[f64], step: f64, density: f64) -> Vec<f64> {
    let cutoff = step * g.len() as f64;
    let sinc = |x: f64| if x == 0.0 { 1.0 } else { x.sin() / x };
    let at = |q: f64| {
        let each = g.iter().zip(r).map(|(g, r)| (g - 1.0) * r * r * sinc(q * r) * sinc(PI * r / cutoff));
        1.0 + 4.0 * PI * density * step * each.sum::<f64>()
    };
    (0..g.len() / 4).map(|k| at(wave_number(k, cutoff))).collect()
}
