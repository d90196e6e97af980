//! Integrals of correlations over time, and checks of their convergence (M. S. Green, J. Chem. Phys. 22
//! (1954) 398; R. Kubo, J. Phys. Soc. Jpn. 12 (1957) 570).
//!
//! An integral is wrong for two reasons that its standard error does not contain. The correlation may
//! decay between two frames: the trapezoidal rule over every other frame tells by how much, for its
//! error is at least four times that of the rule over all. Or the integral may end too early: what its
//! last quarter adds, beside the one before, tells what would follow.
//!
//! Integrals without a given end end where they have settled ([`GreenKubo::end`]): later gains cannot
//! be told from their own noise. The noise of the whole integral, most of which is that of short times,
//! would hide a slow tail: a third of the viscosity of a Lennard-Jones liquid near its triple point.
//! Gains are compared with their noise, never with each other: those of the first times are the smallest.

use crate::blocks::{BlockEstimate, Blocks};
use crate::warning::{Verdict, digits, judge};

/// Multiples of the time at which an integral ends, up to which its gains must be within their noise: one or two of
/// them may be small by chance.
const LOOKED_AT: [f64; 6] = [1.25, 1.5, 1.75, 2.0, 3.0, 4.0];
/// Multiples of their noise within which gains up to all later times must be: of so many one or two are large by chance.
const LATER: f64 = 3.0;

/// The integral of a correlation, which is among averages: its values at times from zero on are the
/// first of them.
pub(crate) struct GreenKubo<'a, S: Fn(&[f64]) -> f64> {
    /// The averages.
    pub blocks: &'a Blocks,
    /// The times.
    pub times: &'a [f64],
    /// Their unit.
    pub unit: &'a str,
    /// Factor of the integral, given all averages.
    pub scale: S,
}

/// A verdict and its reason.
pub(crate) type Doubt = (Verdict, String);

impl<S: Fn(&[f64]) -> f64> GreenKubo<'_, S> {
    fn time(&self, time: f64) -> String {
        format!("{} {}", digits(time), self.unit).trim_end().to_string()
    }

    /// The correlation at each time.
    pub fn correlation(&self) -> Vec<BlockEstimate> {
        self.blocks.derive(|m| m[..self.times.len()].to_vec())
    }

    /// The integral from zero to each time, by trapezoids.
    pub fn running(&self) -> Vec<BlockEstimate> {
        self.blocks.derive(|m| self.integrate(m))
    }

    fn integrate(&self, m: &[f64]) -> Vec<f64> {
        let (times, scale) = (self.times, (self.scale)(m));
        let mut sum = 0.0;
        let step = |k: usize| {
            sum += if k > 0 { 0.5 * scale * (times[k] - times[k - 1]) * (m[k - 1] + m[k]) } else { 0.0 };
            sum
        };
        (0..times.len()).map(step).collect()
    }

    /// Gains of the integral from each time up to the last from which others for four times as long follow: from each of
    /// them up to its multiples that are looked at, and to times on from there that double, up to the last one.
    fn gains(&self) -> Vec<Vec<BlockEstimate>> {
        let last = self.times.last().copied().unwrap_or(0.0);
        let longest = LOOKED_AT[LOOKED_AT.len() - 1];
        let seen = self.times.partition_point(|t| longest * t <= last * (1.0 + 1e-9));
        let later = |k: usize| {
            let doubled = (1..).map(|power| longest * f64::from(power).exp2() * self.times[k]);
            let far = doubled.take_while(|t| k > 0 && *t < last).chain([last]);
            LOOKED_AT
                .map(|multiple| multiple * self.times[k])
                .into_iter()
                .chain(far)
                .map(|t| self.at(t))
                .collect()
        };
        let later: Vec<Vec<usize>> = (0..seen).map(later).collect();
        let gains = self.blocks.derive(|m| {
            let running = self.integrate(m);
            let gains = later.iter().enumerate().flat_map(|(k, later)| later.iter().map(move |j| (k, *j)));
            gains.map(|(k, j)| running[j] - running[k]).collect()
        });
        let mut gains = gains.into_iter();
        later.iter().map(|later| gains.by_ref().take(later.len()).collect()).collect()
    }

    /// Number of the last time up to this one.
    fn at(&self, time: f64) -> usize {
        self.times.partition_point(|t| *t <= time * (1.0 + 1e-9)).saturating_sub(1)
    }

    /// Number of the time at which the integral has settled, and what it may lack there: up to four times as long it gains
    /// no more than the error of this gain, and up to no later time more than three times its error. The largest of the
    /// former gains with its error is what a tail within this noise might add. Where the integral nowhere settles, it is
    /// the time after which it is nearest to that. That a correlation passes through zero would not do: in molecules it
    /// swings about a long tail.
    pub fn end(&self) -> Option<(usize, f64)> {
        let gains = self.gains();
        let near = |k: usize| &gains[k][..LOOKED_AT.len()];
        let in_noise = |(gain, error): &BlockEstimate| match *gain {
            0.0 => 0.0,
            gain => gain.abs() / error.unwrap_or(0.0),
        };
        let largest = |gains: &[BlockEstimate]| gains.iter().map(in_noise).fold(0.0, f64::max);
        let unsettled = |k: usize| largest(near(k)).max(largest(&gains[k]) / LATER);
        let seen: Vec<(usize, f64)> = (2..gains.len()).map(|k| (k, unsettled(k))).collect();
        let least = seen.iter().map(|(_, size)| *size).fold(f64::INFINITY, f64::min);
        let (end, _) = seen.into_iter().find(|(_, size)| *size <= least.max(1.0))?;
        let lacking = near(end).iter().map(|(gain, error)| gain.hypot(error.unwrap_or(0.0)));
        Some((end, lacking.fold(0.0, f64::max)))
    }

    /// The integral up to a time over every other frame.
    fn integrate_coarsely(&self, m: &[f64], end: usize) -> f64 {
        let kept: Vec<usize> = (0..end).step_by(2).chain([end]).collect();
        let trapezoid = |pair: &[usize]| {
            let [a, b] = [pair[0], pair[1]];
            0.5 * (self.times[b] - self.times[a]) * (m[a] + m[b])
        };
        (self.scale)(m) * kept.windows(2).map(trapezoid).sum::<f64>()
    }

    /// Doubt about the interval of frames, for the integral up to a time.
    pub fn resolution(&self, end: usize) -> Option<Doubt> {
        let apart = self.time(self.times.get(1).copied().unwrap_or(0.0));
        let first = self.blocks.derive(|m| vec![m[1.min(end)]])[0];
        if first.0.abs() <= 2.0 * first.1.unwrap_or(f64::INFINITY) {
            let reason = format!(
                "after one interval, {apart}, nothing is left of the correlation that could be told from noise"
            );
            return Some((Verdict::Withheld, reason));
        }
        let found = self.blocks.derive(|m| {
            let fine = self.integrate(m)[end];
            // The error of the rule grows at least with the square of the interval.
            vec![fine, (self.integrate_coarsely(m, end) - fine) / 3.0]
        });
        let [value, off] = [found[0], found[1]];
        let reason = || {
            format!(
                "frames {apart} apart hardly resolve the correlation: over every other frame the integral differs by {:.0} %",
                percent(3.0 * off.0, value.0)
            )
        };
        judge(off, value).map(|verdict| (verdict, reason()))
    }

    /// Doubt about the convergence of the integral at its end. Where there are times for as long again, these
    /// say what it lacks; else its last two quarters do, as of a tail that is geometric from there on.
    pub fn convergence(&self, end: usize) -> Option<Doubt> {
        let last = self.times[end];
        let [half, three, twice] = [0.5, 0.75, 2.0].map(|part| self.at(part * last));
        let seen = self.times[twice] > 1.5 * last;
        let found = self.blocks.derive(|m| {
            let running = self.integrate(m);
            let gain = if seen { running[twice] - running[end] } else { running[end] - running[three] };
            vec![running[end], gain, running[three] - running[half]]
        });
        let [value, gain, before] = [found[0], found[1], found[2]];
        let ratio = (gain.0 / before.0).abs().min(0.9);
        let lacks = if seen { 1.0 } else { ratio / (1.0 - ratio) };
        // The gain alone says what is noise.
        let off = (gain.0 * lacks, gain.1.map(|error| error * lacks));
        let [from, to] = if seen { [last, self.times[twice]] } else { [self.times[three], last] };
        let reason = || {
            format!(
                "the integral has not settled: from {} to {} it changes by {:.0} %, and lacks about {:.0} %",
                self.time(from),
                self.time(to),
                percent(gain.0, value.0),
                percent(off.0, value.0)
            )
        };
        judge(off, value).map(|verdict| (verdict, reason()))
    }
}

fn percent(part: f64, of: f64) -> f64 {
    100.0 * (part / of).abs()
}
