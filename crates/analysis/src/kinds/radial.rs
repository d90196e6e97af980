//! Radial distribution functions g(r) by species pair, running coordination numbers, and the
//! structure factor that follows.

use super::first_peak::{Binned, JOINED, Maximum};
use super::histograms::Histograms;
use super::shells::{BY_NUMBER, LARGER, Narrowest, Shells, without_density};
use super::{Frames, Kind, Measure, Observable};
use crate::blocks::{BlockEstimate, Blocks};
use crate::report::{Results, Table, unit};
use crate::saved_state::SavedState;
use crate::settings::{MeasureSettings, Setting};
use crate::view::{SystemInfo, View};
use crate::warning::{Verdict, digits};
use jostle_core::{Dimension, Result};
use std::f64::consts::PI;

pub(super) const KIND: Kind = Kind {
    name: "rdf",
    about: "radial distribution functions by species pair, coordination numbers, the first peak that stands out from its noise, S(q) from g(r)",
    observable: Observable::Positions,
    frames: Frames::EachAlone,
    settings: &[
        Setting {
            name: "cutoff",
            dimension: Dimension::LENGTH,
            default: None,
            about: "largest distance; beyond half the box images of the same atoms are met, with a warning [default: half the smallest width of the box, at most 6 density^(-1/3)]",
        },
        Setting { name: "bins", dimension: Dimension::NUMBER, default: Some(200.0), about: "number of bins" },
    ],
    new: |system_info, settings| Ok(Box::new(Radial::new(system_info, settings)?)),
};

/// g(r) = pairs found / pairs expected of an ideal gas of as many atoms: rho_B of a species B that
/// is another, (N - 1) / V of the same. The coordination number counts atoms of B within r of an A.
struct Radial {
    system_info: SystemInfo,
    /// The species of each atom.
    species: Vec<u32>,
    shells: Shells,
    /// Pairs of species, `None` for all atoms, with the number of pairs of atoms.
    pairs: Vec<(Option<(usize, usize)>, f64)>,
    /// For each pair and bin: pairs found times the volume (over that expected without it), pairs
    /// found; last the volume.
    blocks: Blocks,
    narrowest: Narrowest,
}

/// A g(r) that is farther from 1 than this at its end has more to say of S(q).
const LEVEL: f64 = 0.1;
/// Wave numbers of S(q) from g(r), at most: from there on it is 1.
const WAVES: usize = 1000;

impl Radial {
    fn new(system_info: &SystemInfo, settings: &MeasureSettings) -> Result<Self> {
        let shells = Shells::new(system_info, settings, 200, 100_000)?;
        let counts: Vec<f64> = system_info.counts().iter().map(|n| *n as f64).collect();
        let total = system_info.species.len() as f64;
        let mut pairs = vec![(None, total * (total - 1.0) / 2.0)];
        if counts.len() > 1 {
            for a in 0..counts.len() {
                pairs.push((Some((a, a)), counts[a] * (counts[a] - 1.0) / 2.0));
                pairs.extend((a + 1..counts.len()).map(|b| (Some((a, b)), counts[a] * counts[b])));
            }
        }
        let blocks = Blocks::fitting(2 * pairs.len() * shells.bins + 1, "choose fewer bins")?;
        let species = system_info.species.iter().map(|s| u32::from(*s)).collect();
        Ok(Radial {
            system_info: system_info.clone(),
            species,
            shells,
            pairs,
            blocks,
            narrowest: Narrowest::new(),
        })
    }

    fn name(&self, pair: Option<(usize, usize)>) -> String {
        let names = &self.system_info.names;
        pair.map_or("all".to_string(), |(a, b)| format!("{}-{}", names[a], names[b]))
    }
}

impl Measure for Radial {
    fn add(&mut self, frame: &View) -> Result<()> {
        let (bins, n) = (self.shells.bins, self.system_info.names.len());
        let which = |a: usize, b: usize| {
            let pair = Some((a.min(b), a.max(b)));
            self.pairs.iter().position(|(p, _)| *p == pair).unwrap_or(0)
        };
        let histograms = Histograms::new(self.shells, n, which);
        let mut found = histograms.of(frame.simbox, frame.positions, &self.species)?;
        self.narrowest.add(frame.simbox);
        // Function of all atoms: the sum over the pairs of species.
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

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        vec![&mut self.blocks, &mut self.narrowest]
    }

    fn results(&self) -> Result<Results> {
        let (units, bins, width) =
            (self.system_info.units, self.shells.bins, self.pairs.len() * self.shells.bins);
        let length = unit(units, 1, 0);
        let step = self.shells.cutoff / bins as f64;
        let middle: Vec<f64> = (0..bins).map(|k| (k as f64 + 0.5) * step).collect();
        let mut table = Table::new("rdf", "r", length.clone(), middle.clone());
        let mut around =
            Table::new("coordination", "r", length.clone(), (1..=bins).map(|k| k as f64 * step).collect());
        let mut results = Results::default();
        for (p, (pair, _)) in self.pairs.iter().enumerate().filter(|(_, (_, pairs))| *pairs > 0.0) {
            let name = self.name(*pair);
            table.with_errors(&format!("g {name}"), "", &self.blocks.derive(|m| self.g(m, p)));
            let (centres, twice) = self.centres(*pair);
            let running = self.blocks.derive(|m| {
                let each = m[width + p * bins..width + (p + 1) * bins].iter();
                each.scan(0.0, |sum, n| {
                    *sum += twice * n / centres as f64;
                    Some(*sum)
                })
                .collect()
            });
            around.with_errors(&format!("n {name}"), "", &running);
            let about = format!("first peak {name}");
            if self.blocks.derive(|m| vec![self.g(m, p).iter().sum()])[0].0 == 0.0 {
                let reason = format!("no pair is nearer than the cutoff, {}", digits(self.shells.cutoff));
                results.warn(&about, (Verdict::Withheld, reason), "a longer cutoff");
                continue;
            }
            let Some([place, height]) = self.first_peak(p) else {
                let reason = "no maximum of g(r) up to the cutoff stands out from its noise".to_string();
                results.warn(&about, (Verdict::Withheld, reason), "more frames, or a longer cutoff");
                continue;
            };
            results.value(&about, &length, place);
            results.value(&format!("height of first peak {name}"), "", height);
        }
        if let Some(doubt) = self.narrowest.judge(self.shells.cutoff) {
            results.warn("g(r)", doubt, LARGER);
        }
        if let Some(doubt) = without_density(&self.system_info.simbox) {
            results.warn("g(r)", doubt, BY_NUMBER);
        }
        results.tables = vec![table, around];
        if self.pairs[0].1 > 0.0 && frame_is_periodic(&self.system_info) {
            self.add_structure_factor(&mut results);
        }
        Ok(results)
    }
}

impl Radial {
    /// g(r) of one pair of species, given the means.
    fn g(&self, means: &[f64], pair: usize) -> Vec<f64> {
        self.g_joined(means, pair, 1)
    }

    /// g(r) in bins of so many joined ones.
    fn g_joined(&self, means: &[f64], pair: usize, joined: usize) -> Vec<f64> {
        let found = &means[pair * self.shells.bins..][..self.shells.bins];
        let found = found.chunks_exact(joined).map(|found| found.iter().sum::<f64>());
        found.enumerate().map(|(k, found)| found / (self.pairs[pair].1 * self.volume(k, joined))).collect()
    }

    /// Volume of a bin of so many joined ones.
    fn volume(&self, bin: usize, joined: usize) -> f64 {
        (bin * joined..(bin + 1) * joined).map(|k| self.shells.volume(k)).sum()
    }

    /// Place and height of the first maximum of g(r) that is significant.
    fn first_peak(&self, pair: usize) -> Option<[BlockEstimate; 2]> {
        let volume = self.blocks.means().last()?.0;
        let frames = self.blocks.frames() as f64;
        let mut first: Option<Maximum> = None;
        for joined in JOINED {
            let g = self.blocks.derive(|m| self.g_joined(m, pair, joined));
            let per_count = |k| volume / (frames * self.pairs[pair].1 * self.volume(k, joined));
            let maximum = Binned::new(joined, &g, per_count).first_maximum();
            first = match (first, maximum) {
                (Some(first), Some(maximum))
                    if !(maximum.is_before(&first) || maximum.is_smoother(&first)) =>
                {
                    Some(first)
                }
                (first, maximum) => maximum.or(first),
            };
        }
        let (first, step) = (first?, self.shells.cutoff / self.shells.bins as f64);
        let found = self.blocks.derive(|m| {
            let [place, height] = first.place_and_height(&self.g_joined(m, pair, first.joined()));
            vec![place * step, height]
        });
        let place = (found[0].0, found[0].1.map(|error| error.hypot(first.coarseness() * step)));
        Some([place, found[1]])
    }

    /// Number of atoms that others are counted around, and the number of times that each pair counts.
    fn centres(&self, pair: Option<(usize, usize)>) -> (usize, f64) {
        let counts = self.system_info.counts();
        match pair {
            None => (self.system_info.species.len(), 2.0),
            Some((a, b)) => (counts[a], if a == b { 2.0 } else { 1.0 }),
        }
    }

    /// S(q) of all atoms.
    fn add_structure_factor(&self, results: &mut Results) {
        let width = self.pairs.len() * self.shells.bins;
        let transform = LorchTransform::new(&self.shells);
        let factor = self.blocks.derive(|m| {
            let density = self.system_info.species.len() as f64 / m[2 * width];
            transform.of(&self.g(m, 0), density)
        });
        if let Some(rest) = unlevelled(&self.blocks.derive(|m| self.g(m, 0))) {
            let reason =
                format!("where g(r) ends it is still {rest:.2} from 1, on average over the last tenth");
            let remedy =
                "a larger cutoff in a larger box; structure-factor gives S(q) at the wave vectors of the box";
            results.warn("structure-factor", (Verdict::Doubtful, reason), remedy);
        }
        let q = (0..factor.len()).map(|k| wave_number(k, self.shells.cutoff)).collect();
        let mut table = Table::new("structure-factor", "q", unit(self.system_info.units, -1, 0), q);
        table.with_errors("S all", "", &factor);
        results.tables.push(table);
    }
}

/// Distance of a function from 1 over its last tenth, less noise; `None` where it does not matter.
fn unlevelled(g: &[BlockEstimate]) -> Option<f64> {
    let last = &g[g.len() - g.len().div_ceil(10)..];
    let square = |(g, error): &BlockEstimate| (g - 1.0).powi(2) - error.unwrap_or(0.0).powi(2);
    let rest = (last.iter().map(square).sum::<f64>() / last.len() as f64).max(0.0).sqrt();
    (rest > LEVEL).then_some(rest)
}

fn frame_is_periodic(system_info: &SystemInfo) -> bool {
    system_info.simbox.periodic() == [true; 3]
}

/// Wave numbers at which functions that are cut at `cutoff` are independent.
fn wave_number(k: usize, cutoff: f64) -> f64 {
    (k + 1) as f64 * PI / cutoff
}

/// S(q) = 1 + 4 pi rho \int (g - 1) r^2 sin(qr)/(qr) sin(pi r/R)/(pi r/R) dr, with the window of
/// E. Lorch (J. Phys. C 2 (1969) 229) against ripples of the cut at R.
struct LorchTransform {
    /// 4 pi r^2 dr with the window, and the distance, in the middle of each shell.
    weights: Vec<(f64, f64)>,
    /// sin(pi k / 2n) for n shells.
    sines: Vec<f64>,
    cutoff: f64,
}

impl LorchTransform {
    fn new(shells: &Shells) -> Self {
        let (n, cutoff) = (shells.bins, shells.cutoff);
        let weight = |k: usize| {
            let r = (k as f64 + 0.5) * cutoff / n as f64;
            let x = PI * r / cutoff;
            (4.0 * PI * r * r * cutoff / n as f64 * x.sin() / x, r)
        };
        let sine = |k: usize| (PI * k as f64 / (2 * n) as f64).sin();
        LorchTransform {
            weights: (0..n).map(weight).collect(),
            sines: (0..4 * n).map(sine).collect(),
            cutoff,
        }
    }

    fn of(&self, g: &[f64], density: f64) -> Vec<f64> {
        let at = |k: usize| {
            let q = wave_number(k, self.cutoff);
            // q r of the middle of a shell is an odd multiple of what sines are known for.
            let sine = |bin: usize| self.sines[(k + 1) * (2 * bin + 1) % self.sines.len()];
            let shells = g.iter().zip(&self.weights).enumerate();
            let each = shells.map(|(bin, (g, (weight, r)))| (g - 1.0) * weight * sine(bin) / (q * r));
            1.0 + density * each.sum::<f64>()
        };
        (0..(g.len() / 4).min(WAVES)).map(at).collect()
    }
}
