//! Number densities along an edge of the box.

use super::{Frames, Kind, Measure, Observable};
use crate::blocks::Blocks;
use crate::report::{Results, Table, unit};
use crate::saved_state::SavedState;
use crate::settings::Setting;
use crate::view::{SystemInfo, View, slab};
use crate::warning::Verdict;
use jostle_core::{Dimension, Result};

pub(super) const KIND: Kind = Kind {
    name: "density-profile",
    about: "number density of each species along an edge of the box",
    observable: Observable::Positions,
    frames: Frames::EachAlone,
    settings: &[
        Setting {
            name: "axis",
            dimension: Dimension::NUMBER,
            default: Some(3.0),
            about: "1: along x, 2: y, 3: z",
        },
        Setting { name: "bins", dimension: Dimension::NUMBER, default: Some(100.0), about: "number of bins" },
    ],
    new: |system_info, settings| {
        let axis = settings.count("axis", 3, 1..=3)? - 1;
        let bins = settings.count("bins", 100, 1..=100_000)?;
        let blocks = Blocks::fitting(bins * (system_info.names.len() + 1) + 2, "choose fewer bins")?;
        Ok(Box::new(Profile { system_info: system_info.clone(), axis, bins, blocks }))
    },
};

struct Profile {
    system_info: SystemInfo,
    axis: usize,
    bins: usize,
    /// For each bin all atoms and those of each species; then the length of the edge and the part of all atoms beyond it.
    blocks: Blocks,
}

impl Measure for Profile {
    fn add(&mut self, frame: &View) -> Result<()> {
        let width = self.system_info.names.len() + 1;
        let (mut counts, mut beyond) = (vec![0.0; self.bins * width], 0.0);
        let open = !frame.simbox.periodic()[self.axis];
        for (r, s) in frame.positions.iter().zip(&self.system_info.species) {
            if open && !(0.0..1.0).contains(&frame.simbox.to_fractional(*r)[self.axis]) {
                beyond += 1.0;
                continue;
            }
            let bin = slab(frame.simbox, *r, self.axis, self.bins);
            counts[bin * width] += 1.0;
            counts[bin * width + 1 + usize::from(*s)] += 1.0;
        }
        let slice = frame.simbox.volume() / self.bins as f64;
        let mut values: Vec<f64> = counts.into_iter().map(|n| n / slice).collect();
        values.push(frame.simbox.lengths()[self.axis]);
        values.push(beyond / frame.positions.len() as f64);
        self.blocks.add_frame(&values);
        Ok(())
    }

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        vec![&mut self.blocks]
    }

    fn results(&self) -> Result<Results> {
        let (units, means, width) =
            (self.system_info.units, self.blocks.means(), self.system_info.names.len() + 1);
        let [length, beyond] = [0, 1].map(|k| means[self.bins * width + k].0);
        let along = (0..self.bins).map(|k| (k as f64 + 0.5) * length / self.bins as f64).collect();
        let name = ["x", "y", "z"][self.axis];
        let mut table = Table::new("density-profile", name, unit(units, 1, 0), along);
        let of = |what: usize| (0..self.bins).map(|bin| means[bin * width + what]).collect::<Vec<_>>();
        let density = unit(units, -3, 0);
        table.with_errors("density all", &density, &of(0));
        for (s, name) in self.system_info.names.iter().enumerate().filter(|_| width > 2) {
            table.with_errors(&format!("density {name}"), &density, &of(s + 1));
        }
        let mut results = Results { tables: vec![table], ..Results::default() };
        if beyond > 0.0 {
            let reason = format!(
                "{:.3} % of the atoms are outside the box along {name}, which is open",
                100.0 * beyond
            );
            results.warn(
                "density",
                (Verdict::Doubtful, reason),
                "a box that has all of them within this edge",
            );
        }
        // The area of a slice is that of the other axes.
        let mut across = self.system_info.simbox.periodic();
        across[self.axis] = true;
        if across.contains(&false) {
            let reason = "along an open axis a box has no length, so that slices across it have no area";
            let remedy =
                "take the shape of the profile alone, or a box that is periodic along the other axes";
            results.warn("density", (Verdict::Doubtful, reason.to_string()), remedy);
        }
        Ok(results)
    }
}
