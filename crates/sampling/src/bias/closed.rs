//! Part of a force on bins that is the slope of an energy. The running mean of the force on a particle has the friction of
//! its motion in it. Were all of it taken off, a motion round a period, or round a point in the plane of two variables,
//! would not be slowed down; it would go on for as long as the mean remembers it, and its friction would pass for free
//! energy. What drives such motions is what a force has beside the slope of an energy; it stays in. In theory, too, the
//! bias converges faster so (Alrachid and Lelièvre, Long-time convergence of an adaptive biasing force method: variance
//! reduction by Helmholtz projection, 2015).
//!
//! Least squares: between neighbouring bins, the energy differs by the mean of their forces times their distance, as
//! nearly as may be. Along one axis the equations are solved one after the other; in a plane they are Poisson's, which
//! the cosines (along an axis that has ends) and waves (along a period) of the bins solve.

use jostle_core::backend::GridAxis;
use jostle_core::{Error, Real, Result};
use std::f64::consts::PI;

/// Most bins along each of two axes, for whose modes memory and time are used.
const MOST_ALONG: usize = 2000;

/// Steps from one projection to the next: many enough for their cost not to matter, few beside the samples that the
/// bins have to get.
pub fn project_every(bins: usize) -> u64 {
    (bins as u64 / 8).max(500)
}

/// Slopes of a plane through the values at four corners of a cell, the first axis running first.
pub fn slopes_in_cell<R: Real>(corners: [R; 4], part: [R; 2], spacing: [R; 2]) -> [R; 2] {
    let [a, b, c, d] = corners;
    let along = |first: R, second: R, part: R| first + part * (second - first);
    [along(b - a, d - c, part[1]) / spacing[0], along(c - a, d - b, part[0]) / spacing[1]]
}

/// Modes of the bins of an axis: for each, its amplitudes and the eigenvalue of minus the second difference.
#[derive(Debug, Clone, PartialEq)]
pub struct Modes {
    /// Amplitudes, mode after mode; those of a mode have the norm 1.
    pub amplitudes: Vec<f64>,
    /// Eigenvalues, one for each mode.
    pub eigenvalues: Vec<f64>,
}

impl Modes {
    /// Modes of an axis.
    pub fn new(axis: &GridAxis) -> Self {
        let n = axis.intervals;
        let (mut amplitudes, mut eigenvalues) = (Vec::with_capacity(n * n), Vec::with_capacity(n));
        for mode in 0..n {
            // Waves come in pairs, as cosine and sine.
            let (waves, phase) = match axis.periodic {
                true => (mode.div_ceil(2) as f64, if mode % 2 == 0 && mode > 0 { -0.5 * PI } else { 0.0 }),
                false => (0.5 * mode as f64, 0.0),
            };
            let turn = 2.0 * PI * waves / n as f64;
            let place = |bin: usize| bin as f64 + if axis.periodic { 0.0 } else { 0.5 };
            let shape: Vec<f64> = (0..n).map(|bin| (turn * place(bin) + phase).cos()).collect();
            let norm = shape.iter().map(|x| x * x).sum::<f64>().sqrt();
            amplitudes.extend(shape.iter().map(|x| x / norm));
            eigenvalues.push((2.0 - 2.0 * turn.cos()) / (axis.spacing * axis.spacing));
        }
        Modes { amplitudes, eigenvalues }
    }
}

/// Finds energies of which forces on the bins of one or two axes are the slopes, as nearly as may be.
#[derive(Debug, Clone, PartialEq)]
pub struct ClosedPart {
    axes: Vec<GridAxis>,
    /// Modes of two axes.
    modes: Vec<Modes>,
}

impl ClosedPart {
    /// Bins of these axes.
    ///
    /// # Errors
    /// If two axes have more bins than there is time for.
    pub fn new(axes: Vec<GridAxis>) -> Result<Self> {
        let most = axes.iter().map(|axis| axis.intervals).max().unwrap_or_default();
        if axes.len() == 2 && most > MOST_ALONG {
            return Err(Error::input(format!(
                "{most} bins along one of two variables; there may be {MOST_ALONG}"
            ))
            .hint("make its spacing wider"));
        }
        let modes = if axes.len() == 2 { axes.iter().map(Modes::new).collect() } else { Vec::new() };
        Ok(ClosedPart { axes, modes })
    }

    /// Energies at the middle of bins for a force on each of them along each axis.
    pub fn find(&self, forces: &[f64]) -> Vec<f64> {
        match &self.axes[..] {
            [axis] => along_line(axis, forces),
            _ => self.in_plane(forces),
        }
    }

    /// Poisson's equation, whose solution has as many of each mode as its source has over minus the sum of eigenvalues.
    fn in_plane(&self, forces: &[f64]) -> Vec<f64> {
        let [n, m] = [self.axes[0].intervals, self.axes[1].intervals];
        let [first, second] = [&self.modes[0], &self.modes[1]];
        let all = || (0..n * m).map(|k| (k % n, k / n));
        let sources: Vec<f64> = (0..n * m).map(|bin| self.source(forces, bin)).collect();
        let sum = |terms: usize, term: &dyn Fn(usize) -> f64| -> f64 { (0..terms).map(term).sum() };
        let half: Vec<f64> =
            all().map(|(k, j)| sum(n, &|i| first.amplitudes[k * n + i] * sources[j * n + i])).collect();
        let wave = |(k, l): (usize, usize)| {
            let amplitude = sum(m, &|j| second.amplitudes[l * m + j] * half[j * n + k]);
            if k + l == 0 { 0.0 } else { -amplitude / (first.eigenvalues[k] + second.eigenvalues[l]) }
        };
        let waves: Vec<f64> = all().map(wave).collect();
        let half: Vec<f64> =
            all().map(|(k, j)| sum(m, &|l| second.amplitudes[l * m + j] * waves[l * n + k])).collect();
        all().map(|(i, j)| sum(n, &|k| first.amplitudes[k * n + i] * half[j * n + k])).collect()
    }

    /// Difference of the forces on both sides of a bin, over its width, for both axes; none pushes through an end.
    fn source(&self, forces: &[f64], bin: usize) -> f64 {
        let (mut stride, mut source) = (1, 0.0);
        for (d, axis) in self.axes.iter().enumerate() {
            let (n, index) = (axis.intervals, bin / stride % axis.intervals);
            let force = |index: usize, step: usize| {
                let other = bin + (index + step) % n * stride - index * stride;
                0.5 * (forces[2 * bin + d] + forces[2 * other + d])
            };
            let after = if axis.periodic || index + 1 < n { force(index, 1) } else { 0.0 };
            let before = if axis.periodic || index > 0 { force(index, n - 1) } else { 0.0 };
            source += (after - before) / axis.spacing;
            stride *= n;
        }
        source
    }

    /// Slopes along each axis at a place, for the values at the middle of bins. Between them they change evenly, beyond
    /// the outermost ones as before them.
    pub fn slopes(&self, values: &[f64], place: &[f64]) -> Vec<f64> {
        let (mut corners, mut part, mut spacing) = ([0; 4], [0.0; 2], [1.0; 2]);
        let mut stride = 1;
        for (d, axis) in self.axes.iter().enumerate() {
            let n = axis.intervals;
            let x = (place[d] - axis.lower) / axis.spacing - 0.5;
            let last = n.saturating_sub(2) as f64;
            let cell = if axis.periodic { x.floor() } else { x.floor().clamp(0.0, last) };
            let index = cell.rem_euclid(n as f64) as usize % n;
            for (corner, bin) in corners.iter_mut().enumerate() {
                *bin += (index + (corner >> d & 1)) % n * stride;
            }
            (part[d], spacing[d]) = (x - cell, axis.spacing);
            stride *= n;
        }
        slopes_in_cell(corners.map(|bin| values[bin]), part, spacing)[..self.axes.len()].to_vec()
    }
}

/// Energies along one axis; what forces add up to around a period is taken off all of them evenly.
fn along_line(axis: &GridAxis, forces: &[f64]) -> Vec<f64> {
    let n = axis.intervals;
    let around = if axis.periodic { forces.iter().sum::<f64>() / n as f64 } else { 0.0 };
    let mut energies = vec![0.0; n];
    for k in 1..n {
        energies[k] = energies[k - 1] + axis.spacing * (0.5 * (forces[k - 1] + forces[k]) - around);
    }
    energies
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(lower: f64, spacing: f64, intervals: usize, periodic: bool) -> GridAxis {
        GridAxis { lower, spacing, intervals, periodic }
    }

    /// Forces on bins, from a function of their middles.
    fn on_bins(axes: &[GridAxis], force: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
        let bins: usize = axes.iter().map(|axis| axis.intervals).product();
        let middle = |bin: usize| {
            let mut rest = bin;
            let split = |axis: &GridAxis| {
                let index = rest % axis.intervals;
                rest /= axis.intervals;
                axis.lower + (index as f64 + 0.5) * axis.spacing
            };
            axes.iter().map(split).collect::<Vec<f64>>()
        };
        (0..bins).flat_map(|bin| force(&middle(bin))).collect()
    }

    /// Largest deviation of the slopes from a force, at places all over the axes.
    fn deviation(axes: &[GridAxis], energies: &[f64], force: impl Fn(&[f64]) -> Vec<f64>) -> f64 {
        let closed = ClosedPart::new(axes.to_vec()).unwrap();
        let mut worst = 0.0f64;
        for sample in 0..400 {
            let part = |d: usize| (sample as f64 * [0.618_034, 0.754_878][d]).fract();
            let place: Vec<f64> = axes
                .iter()
                .enumerate()
                .map(|(d, axis)| axis.lower + part(d) * axis.spacing * axis.intervals as f64)
                .collect();
            let slopes = closed.slopes(energies, &place);
            slopes.iter().zip(force(&place)).for_each(|(a, b)| worst = worst.max((a - b).abs()));
        }
        worst
    }

    /// The slope of an energy stays; what drives round the period goes.
    #[test]
    fn a_force_around_a_period_is_left_in() {
        let axes = [axis(-PI, 2.0 * PI / 200.0, 200, true)];
        let slope = |x: &[f64]| vec![3.0 * x[0].cos() - 2.0 * (2.0 * x[0]).sin()];
        let closed = ClosedPart::new(axes.to_vec()).unwrap();
        let energies = closed.find(&on_bins(&axes, |x| vec![slope(x)[0] + 1.7]));
        // Slopes between two middles are one number; the force changes by at most 7 of its units in a unit of length.
        assert!(deviation(&axes, &energies, slope) < 1.05 * 0.5 * axes[0].spacing * 7.0);
        // Along an axis with ends it is the slope of an energy.
        let axes = [axis(-PI, 2.0 * PI / 200.0, 200, false)];
        let closed = ClosedPart::new(axes.to_vec()).unwrap();
        let energies = closed.find(&on_bins(&axes, |_| vec![1.7]));
        assert!(deviation(&axes, &energies, |_| vec![1.7]) < 1e-12);
    }

    /// In a plane, slopes of an energy stay; vortices, and forces around a period, go.
    #[test]
    fn vortices_are_left_in() {
        for periodic in [[true, true], [true, false], [false, false]] {
            let along = |d: usize| axis(-PI, 2.0 * PI / [80.0, 64.0][d], [80, 64][d], periodic[d]);
            let axes = [along(0), along(1)];
            // An even function of both, so that its slopes vanish at ends.
            let slope =
                |x: &[f64]| vec![-x[0].sin() * (1.0 + 0.5 * x[1].cos()), -0.5 * x[0].cos() * x[1].sin()];
            let vortex = |x: &[f64]| {
                let (s, c) = ([x[0].sin(), x[1].sin()], [x[0].cos(), x[1].cos()]);
                let around = [0, 1].map(|d| if periodic[d] { 0.9 } else { 0.0 });
                vec![2.0 * s[0] * c[1] + around[0], -2.0 * c[0] * s[1] + around[1]]
            };
            let both = |x: &[f64]| slope(x).iter().zip(vortex(x)).map(|(a, b)| a + b).collect();
            let closed = ClosedPart::new(axes.to_vec()).unwrap();
            let energies = closed.find(&on_bins(&axes, both));
            let off = deviation(&axes, &energies, slope);
            // As above, here by at most 1.5, and beyond the outermost middles for a bin instead of half of one.
            let bins = if periodic == [true, true] { 0.5 } else { 1.0 };
            assert!(off < 1.1 * bins * axes[1].spacing * 1.5, "{periodic:?}: {off}");
        }
    }

    /// A force that is the slope of an energy on the bins is found exactly, also where it pushes against ends.
    #[test]
    fn slopes_of_bins_are_found_exactly() {
        for periodic in [false, true] {
            let axes = [axis(0.0, 0.3, 5, false), axis(1.0, 0.2, 6, periodic)];
            let closed = ClosedPart::new(axes.to_vec()).unwrap();
            let energies = closed.find(&on_bins(&axes, |_| vec![0.7, if periodic { 0.0 } else { -1.2 }]));
            let off = deviation(&axes, &energies, |_| vec![0.7, if periodic { 0.0 } else { -1.2 }]);
            assert!(off < 1e-12, "{off}");
        }
    }
}
