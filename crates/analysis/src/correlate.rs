//! Pairs of frames at lags that grow by powers of two: memory and work per frame grow with the
//! logarithm of the number of frames only (D. Frenkel and B. Smit, Understanding Molecular
//! Simulation, 2nd ed., section 4.4.2; J. Ramirez et al., J. Chem. Phys. 133 (2010) 154103).

use jostle_core::{Error, Result};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// Enough for 2^24 times the lags of the first level.
const LEVELS: usize = 24;

/// Keeps frames of the past: level k every 2^k-th of them.
#[derive(Debug, Clone)]
pub(crate) struct MultiTau<T> {
    /// Lags on the first level; others have the upper half of them, times a power of two.
    lags: usize,
    /// The latest first.
    levels: Vec<VecDeque<Arc<T>>>,
    frames: u64,
}

impl<T> MultiTau<T> {
    /// With so many lags (an even number) before they grow.
    pub fn new(lags: usize) -> Self {
        MultiTau { lags, levels: vec![VecDeque::new(); LEVELS], frames: 0 }
    }

    /// Takes the next frame and hands over the pairs it makes with those before and itself: the
    /// index of the lag, the earlier frame, this one.
    pub fn add(&mut self, frame: T, mut each: impl FnMut(usize, &T, &T)) {
        let frame = Arc::new(frame);
        for (k, level) in self.levels.iter_mut().enumerate() {
            if !self.frames.is_multiple_of(1 << k) {
                break;
            }
            level.push_front(frame.clone());
            level.truncate(self.lags);
            let half = self.lags / 2;
            let (skip, base) = if k == 0 { (0, 0) } else { (half, self.lags + (k - 1) * half - half) };
            for (lag, then) in level.iter().enumerate().skip(skip) {
                each(base + lag, then, &frame);
            }
        }
        self.frames += 1;
    }

    /// Largest number of lags.
    pub fn width(&self) -> usize {
        self.lags + (LEVELS - 1) * (self.lags / 2)
    }

    /// A lag in frames, by its index.
    pub fn lag(&self, index: usize) -> u64 {
        let half = self.lags / 2;
        match index.checked_sub(self.lags) {
            None => index as u64,
            Some(past) => ((past % half + half) as u64) << (past / half + 1),
        }
    }
}

/// Numbers of the frames on a level, the latest first.
fn on_level(level: usize, lags: usize, frames: u64) -> impl Iterator<Item = u64> {
    let apart = 1u64 << level;
    let count = frames.div_ceil(apart);
    (0..count.min(lags as u64)).map(move |back| (count - 1 - back) * apart)
}

/// Each frame once, by its number.
impl<T: Serialize> Serialize for MultiTau<T> {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        let level = |(k, level)| on_level(k, self.lags, self.frames).zip(level);
        let kept: BTreeMap<u64, &Arc<T>> = self.levels.iter().enumerate().flat_map(level).collect();
        let kept: BTreeMap<u64, &T> = kept.into_iter().map(|(number, frame)| (number, &**frame)).collect();
        (self.lags, self.frames, kept).serialize(to)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for MultiTau<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        let (lags, frames, kept) = <(usize, u64, BTreeMap<u64, T>)>::deserialize(from)?;
        let kept: BTreeMap<u64, Arc<T>> = kept.into_iter().map(|(n, frame)| (n, Arc::new(frame))).collect();
        let level = |k| on_level(k, lags, frames).map_while(|n| kept.get(&n).cloned()).collect();
        Ok(MultiTau { lags, levels: (0..LEVELS).map(level).collect(), frames })
    }
}

/// Frames that are equally far apart in time.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(crate) struct FrameSpacing {
    first: f64,
    last: Option<f64>,
    interval: Option<f64>,
    frames: u64,
}

impl FrameSpacing {
    /// Takes the time of the next frame.
    ///
    /// # Errors
    /// If it is unknown, or another interval after the last than the one before.
    pub fn add(&mut self, time: Option<f64>) -> Result<()> {
        let time = time.ok_or_else(|| {
            Error::input("the trajectory has no times").hint("give the time of a step with --timestep")
        })?;
        if let Some(last) = self.last {
            let now = time - last;
            let before = *self.interval.get_or_insert(now);
            // Times in single precision are good to some 1e-7 of themselves.
            let rounding = 1e-4 * before.abs() + 3e-7 * time.abs();
            if now <= 0.0 || (now - before).abs() > rounding {
                return Err(Error::input(format!(
                    "frames are not equally far apart in time: {before} at first, {now} at time {time}"
                ))
                .hint("correlations in time need equal intervals; choose a part with --first and --last"));
            }
        }
        if self.frames == 0 {
            self.first = time;
        }
        self.frames += 1;
        self.last = Some(time);
        Ok(())
    }

    /// The time between two frames, from the first and the last: rounding then matters least.
    pub fn interval(&self) -> f64 {
        let last = self.last.filter(|_| self.frames > 1);
        last.map_or(0.0, |last| (last - self.first) / (self.frames - 1) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lags_are_what_they_say() {
        let mut tau = MultiTau::new(8);
        let mut counts = vec![0u64; tau.width()];
        let lags: Vec<u64> = (0..tau.width()).map(|k| tau.lag(k)).collect();
        for frame in 0..1000u64 {
            tau.add(frame, |index, then, now| {
                assert_eq!(now - then, lags[index]);
                counts[index] += 1;
            });
        }
        assert_eq!(counts[..3], [1000, 999, 998]);
        assert!(lags.windows(2).all(|w| w[0] < w[1]));
        assert_eq!(lags[8..13], [8, 10, 12, 14, 16]);
        // Every lag below the number of frames was met.
        assert!(lags.iter().zip(&counts).all(|(lag, n)| (*n > 0) == (*lag < 1000)));
    }
}
