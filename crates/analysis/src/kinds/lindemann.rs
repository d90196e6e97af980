//! Lindemann's ratio: how far atoms of a crystal are from their mean positions, over the distance
//! of nearest neighbours.

use super::{Frames, Kind, Measure, Observable};
use crate::blocks::Blocks;
use crate::cells::Cells;
use crate::paths::comoving;
use crate::report::{Results, unit};
use crate::saved_state::SavedState;
use crate::settings::Setting;
use crate::view::{SystemInfo, View};
use crate::warning::Verdict;
use jostle_core::{Dimension, Error, Result, SimBox, Vec3, Vector};

pub(super) const KIND: Kind = Kind {
    name: "lindemann",
    about: "Lindemann's ratio: displacement from mean positions, relative to the centre of the atoms, over the nearest-neighbour distance",
    observable: Observable::Positions,
    frames: Frames::AlongPath,
    settings: &[Setting {
        name: "spacing",
        dimension: Dimension::LENGTH,
        default: None,
        about: "nearest-neighbour distance [default: measured around the mean positions]",
    }],
    new: |system_info, settings| {
        let spacing = settings.get("spacing").map(|_| settings.positive("spacing", 1.0)).transpose()?;
        let blocks = Blocks::fitting(4 * system_info.species.len(), "choose a part of the atoms")?;
        Ok(Box::new(Lindemann { system_info: system_info.clone(), spacing, blocks, simbox: None }))
    },
};

/// Largest growth of displacements over twice the time in a crystal, where they are bounded; diffusive ones
/// grow with the root of time.
const GROWS: f64 = 1.1;

struct Lindemann {
    system_info: SystemInfo,
    spacing: Option<f64>,
    /// For each atom x, y, z from the centre of all atoms, on its unbroken path, as if the box kept its first shape, and the
    /// square of this distance. A crystal may drift as a whole, as by a thermostat that does not conserve momentum.
    blocks: Blocks,
    /// The first box.
    simbox: Option<SimBox>,
}

impl Measure for Lindemann {
    fn add(&mut self, frame: &View) -> Result<()> {
        let simbox = self.simbox.get_or_insert(*frame.lattice);
        let paths: Vec<Vec3> =
            comoving(frame.lattice, frame.unwrapped).into_iter().map(|c| simbox.from_comoving(c)).collect();
        let center = paths.iter().fold(Vec3::ZERO, |sum, r| sum + *r / paths.len() as f64);
        let values: Vec<f64> = paths
            .into_iter()
            .map(|r| r - center)
            .flat_map(|r| [r[0], r[1], r[2], r[0] * r[0] + r[1] * r[1] + r[2] * r[2]])
            .collect();
        self.blocks.add_frame(&values);
        Ok(())
    }

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        vec![&mut self.blocks, &mut self.simbox]
    }

    fn results(&self) -> Result<Results> {
        if self.blocks.frames() < 4 {
            return Err(Error::input(format!(
                "{} frames are too few for mean positions",
                self.blocks.frames()
            )));
        }
        let means: Vec<f64> = self.blocks.means().into_iter().map(|m| m.0).collect();
        let positions: Vec<_> = means.as_chunks::<4>().0.iter().map(|m| Vector([m[0], m[1], m[2]])).collect();
        let spacing = match self.spacing {
            Some(spacing) => spacing,
            None => {
                let simbox = self.simbox.unwrap_or(self.system_info.simbox);
                nearest(&simbox, &positions, self.system_info.density())?
            }
        };
        let displacement = |m: &[f64]| -> f64 {
            let square = |a: &[f64; 4]| (a[3] - a[0] * a[0] - a[1] * a[1] - a[2] * a[2]).max(0.0);
            let atoms = m.as_chunks::<4>().0;
            (atoms.iter().map(square).sum::<f64>() / atoms.len() as f64).sqrt()
        };
        let ratio = self.blocks.derive(|m| vec![displacement(m) / spacing, displacement(m)]);
        let [first, second] = self.blocks.halves(|m| vec![displacement(m)]).map(|half| half[0].0);
        let within = 0.5 * (first + second);
        let length = unit(self.system_info.units, 1, 0);
        let mut results = Results::default();
        results.value("Lindemann ratio", "", ratio[0]);
        if ratio[1].0 > GROWS * within {
            let grown = 100.0 * (ratio[1].0 / within - 1.0);
            let reason = format!(
                "over all frames atoms are {grown:.0} % farther from their mean positions than over halves of them: they leave their places, or vibrate slowly"
            );
            let remedy = "a longer run; of a liquid the ratio grows without end";
            results.warn("Lindemann ratio", (Verdict::Doubtful, reason), remedy);
        }
        results.value("displacement", &length, ratio[1]);
        results.value("nearest-neighbour distance", &length, (spacing, Some(0.0)));
        Ok(results)
    }
}

/// The mean distance to the nearest neighbour.
fn nearest(simbox: &SimBox, positions: &[Vec3], density: f64) -> Result<f64> {
    let mut reach = 1.3 * density.powf(-1.0 / 3.0);
    for _ in 0..4 {
        let lists = Cells::new(simbox, positions, reach)?.neighbors()?;
        if lists.iter().all(|l| !l.is_empty()) {
            let square = |d: &Vec3| d.iter().map(|x| x * x).sum::<f64>();
            let least =
                lists.iter().map(|l| l.iter().map(|(_, d)| square(d)).fold(f64::INFINITY, f64::min).sqrt());
            return Ok(least.sum::<f64>() / positions.len() as f64);
        }
        reach *= 1.5;
    }
    Err(Error::input("some atoms have no neighbours")
        .hint("give the nearest-neighbour distance: spacing=..."))
}
