//! Sizes of chains whose atoms follow each other: end-to-end distance and radius of gyration.
//!
//! Bonds say how a chain goes on where they are known, and the order of its atoms where they are not. Atoms of several
//! molecules, or without bonds, are no chain but a cluster.

use super::{Frames, Kind, Measure, Observable};
use crate::averages::BlockAverage;
use crate::blocks::Blocks;
use crate::limits;
use crate::molecules::{MoleculeView, along_bonds, shifts_together};
use crate::report::{Results, Table, unit};
use crate::saved_state::SavedState;
use crate::settings::Setting;
use crate::view::{SystemInfo, View};
use crate::warning::{Verdict, independent, judge_fluctuations};
use jostle_core::{Dimension, Error, Result, SimBox, Vec3};
use std::ops::Range;

pub(super) const KIND: Kind = Kind {
    name: "gyration",
    about: "root mean square end-to-end distance and radius of gyration of chains, whose atoms weigh alike; internal distances",
    observable: Observable::Molecules,
    frames: Frames::EachAlone,
    settings: &[Setting {
        name: "length",
        dimension: Dimension::NUMBER,
        default: None,
        about: "atoms of a chain; must be given",
    }],
    new: |system_info, settings| {
        let atoms = system_info.species.len();
        if settings.get("length").is_none() {
            return Err(Error::input("the number of atoms of a chain must be given")
                .hint(format!("length=50; length={atoms} where all are one molecule")));
        }
        let length = settings.count("length", 2, 2..=atoms.max(2))?;
        if !atoms.is_multiple_of(length) {
            return Err(Error::input(format!("{atoms} atoms are no whole number of chains of {length}")));
        }
        let distances = 0.5 * atoms as f64 * length as f64;
        limits::work(distances, "distances within chains", "shorter chains, or a part of the atoms")?;
        let blocks = Blocks::fitting(length + 2, "shorter chains, or a part of the atoms")?;
        Ok(Box::new(Chains {
            system_info: system_info.clone(),
            length,
            blocks,
            beyond: 0,
            ends: BlockAverage::default(),
        }))
    },
};

struct Chains {
    system_info: SystemInfo,
    length: usize,
    /// Squared end-to-end distance, squared radius of gyration, squared distances of monomers by
    /// how far they are apart along the chain, from 1.
    blocks: Blocks,
    /// Number of chains, over all frames, that are longer than the box along an axis, and whose bonds are not known.
    beyond: u64,
    /// The mean square of end-to-end distances, for how many of its values are independent.
    ends: BlockAverage,
}

/// Positions of a chain, whole.
fn whole(frame: &View, atoms: Range<usize>) -> Vec<Vec3> {
    let chain = &frame.positions[atoms.clone()];
    if let Some(all) = frame.molecules {
        let of_chain =
            MoleculeView { of_atoms: &all.of_atoms[atoms.clone()], arms: &all.arms[atoms.clone()] };
        let whole = along_bonds(chain, Some(of_chain));
        if of_chain.are_one() {
            return whole;
        }
        let shifts = shifts_together(frame.simbox, &whole, Some(of_chain.of_atoms));
        return whole.iter().zip(shifts).map(|(r, n)| *r + frame.simbox.shift(n)).collect();
    }
    // No bond is as long as half the box.
    let mut path: Vec<Vec3> = vec![chain[0]];
    for pair in chain.windows(2) {
        let last = path[path.len() - 1];
        path.push(last + frame.simbox.nearest_image(pair[1] - pair[0]));
    }
    path
}

/// Returns true where positions extend over more than the box along a periodic axis.
fn is_beyond(simbox: &SimBox, path: &[Vec3]) -> bool {
    let extends = |axis: usize| {
        let along = || path.iter().map(|r| simbox.to_fractional(*r)[axis]);
        along().fold(f64::NEG_INFINITY, f64::max) - along().fold(f64::INFINITY, f64::min) > 1.0
    };
    (0..3).any(|axis| simbox.periodic()[axis] && extends(axis))
}

impl Measure for Chains {
    fn add(&mut self, frame: &View) -> Result<()> {
        let n = self.length;
        self.blocks.frame();
        let mut ends = 0.0;
        for first in (0..frame.positions.len()).step_by(n) {
            let path = whole(frame, first..first + n);
            self.beyond += u64::from(frame.molecules.is_none() && is_beyond(frame.simbox, &path));
            let square = |a: Vec3, b: Vec3| (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>();
            let centre = Vec3::from_fn(|k| path.iter().map(|r| r[k]).sum::<f64>() / n as f64);
            ends += square(path[0], path[n - 1]);
            self.blocks.add(0, square(path[0], path[n - 1]));
            self.blocks.add(1, path.iter().map(|r| square(*r, centre)).sum::<f64>() / n as f64);
            for apart in 1..n {
                let sum = (apart..n).map(|k| square(path[k], path[k - apart])).sum();
                self.blocks.add_weighted(1 + apart, sum, (n - apart) as f64);
            }
        }
        self.ends.add(ends);
        Ok(())
    }

    fn saved_state(&mut self) -> Vec<&mut dyn SavedState> {
        vec![&mut self.blocks, &mut self.beyond, &mut self.ends]
    }

    fn results(&self) -> Result<Results> {
        let (units, n) = (self.system_info.units, self.length);
        let (length, area) = (unit(units, 1, 0), unit(units, 2, 0));
        let means = self.blocks.means();
        let mut table =
            Table::new("internal-distances", "apart", String::new(), (1..n).map(|k| k as f64).collect());
        table.with_errors("squared distance", &area, &means[2..n + 1]);
        let mut results = Results { tables: vec![table], ..Results::default() };
        let roots = self.blocks.derive(|m| vec![m[0].sqrt(), m[1].sqrt(), m[0] / m[1]]);
        results.value("squared end-to-end distance", &area, means[0]);
        results.value("squared radius of gyration", &area, means[1]);
        results.value("end-to-end distance", &length, roots[0]);
        results.value("radius of gyration", &length, roots[1]);
        results.value("ratio of the squares", "", roots[2]);
        if self.beyond > 0 {
            let reason =
                "bonds are not known, and from atom to atom of the list chains are longer than the box";
            let remedy = "an input with the bonds: --input FILE; atoms without bonds are no chain";
            results.warn("radius of gyration", (Verdict::Doubtful, reason.into()), remedy);
        }
        let independent = independent(std::slice::from_ref(&self.ends));
        if judge_fluctuations(independent).is_some() {
            let frames = self.blocks.frames();
            let reason = format!("only some {independent:.0} of the {frames} frames are independent");
            let remedy = "a run of many times that in which chains forget their shape";
            results.warn("end-to-end distance", (Verdict::Doubtful, reason), remedy);
        }
        Ok(results)
    }
}
