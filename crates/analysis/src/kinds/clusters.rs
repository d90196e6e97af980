//! Clusters: atoms that are connected by neighbours nearer than a cutoff.

use super::{Frames, Kind, Measure, Observable};
use crate::blocks::Blocks;
use crate::cells::Cells;
use crate::report::{Results, Table};
use crate::saved_state::SavedState;
use crate::settings::Setting;
use crate::view::View;
use jostle_core::{Dimension, Error, Result};
use std::collections::BTreeMap;

pub(super) const KIND: Kind = Kind {
    name: "clusters",
    about: "sizes of clusters: atoms connected by neighbours within a cutoff",
    observable: Observable::Positions,
    frames: Frames::EachAlone,
    settings: &[Setting {
        name: "cutoff",
        dimension: Dimension::LENGTH,
        default: None,
        about: "distance of neighbours; must be given",
    }],
    new: |system_info, settings| {
        if settings.get("cutoff").is_none() {
            return Err(Error::input("the cutoff of neighbours must be given")
                .hint("cutoff=1.5, with the first minimum of g(r)"));
        }
        let cutoff = settings.positive("cutoff", 1.0)?;
        let blocks = Blocks::fitting(3 + system_info.species.len(), "choose a part of the atoms")?;
        Ok(Box::new(Clusters { cutoff, blocks, atoms: system_info.species.len() }))
    },
};

struct Clusters {
    cutoff: f64,
    atoms: usize,
    /// Number of clusters, size of the largest, mean size weighted by atoms; number of clusters of each size.
    blocks: Blocks,
}

impl Measure for Clusters {
    fn add(&mut self, frame: &View) -> Result<()> {
        let cells = Cells::new(frame.simbox, frame.positions, self.cutoff)?;
        let sizes = sizes(self.atoms, cells.pairs()?.into_iter());
        let largest = sizes.keys().next_back().copied().unwrap_or(0);
        let clusters: usize = sizes.values().sum();
        let squares: usize = sizes.iter().map(|(size, n)| size * size * n).sum();
        let mut values = vec![0.0; 3 + self.atoms];
        values[0] = clusters as f64;
        values[1] = largest as f64;
        values[2] = squares as f64 / self.atoms as f64;
        sizes.into_iter().for_each(|(size, n)| values[2 + size] = n as f64);
        self.blocks.add_frame(&values);
        Ok(())
    }

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        vec![&mut self.blocks]
    }

    fn results(&self) -> Result<Results> {
        let means = self.blocks.means();
        let met: Vec<usize> = (1..=self.atoms).filter(|size| means[2 + size].0 > 0.0).collect();
        let mut table =
            Table::new("clusters", "size", String::new(), met.iter().map(|s| *s as f64).collect());
        table.with_errors("clusters", "", &met.iter().map(|s| means[2 + s]).collect::<Vec<_>>());
        let mut results = Results { tables: vec![table], ..Results::default() };
        results.value("number of clusters", "", means[0]);
        results.value("largest cluster", "", means[1]);
        results.value("mean size weighted by size", "", means[2]);
        Ok(results)
    }
}

/// Number of clusters of each size that pairs make of atoms.
pub(super) fn sizes(atoms: usize, pairs: impl Iterator<Item = (u32, u32)>) -> BTreeMap<usize, usize> {
    let mut parent: Vec<u32> = (0..atoms as u32).collect();
    fn root(parent: &mut [u32], mut k: u32) -> u32 {
        while parent[k as usize] != k {
            parent[k as usize] = parent[parent[k as usize] as usize];
            k = parent[k as usize];
        }
        k
    }
    for (i, j) in pairs {
        let (a, b) = (root(&mut parent, i), root(&mut parent, j));
        parent[a.max(b) as usize] = a.min(b);
    }
    let mut members = vec![0usize; atoms];
    (0..atoms as u32).for_each(|k| members[root(&mut parent, k) as usize] += 1);
    let mut sizes = BTreeMap::new();
    members.into_iter().filter(|n| *n > 0).for_each(|n| *sizes.entry(n).or_insert(0) += 1);
    sizes
}
