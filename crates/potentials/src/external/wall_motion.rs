//! Motion of walls along their axis: at a velocity, to and fro, or both.

use jostle_core::Real;
use serde::{Deserialize, Serialize};
use std::f64::consts::TAU;

/// Motion of a wall, between two times; before and after that it stays.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WallMotion {
    /// Velocity of its mean place along the axis.
    pub velocity: f64,
    /// Amplitude of an oscillation about it, which begins with growing coordinates.
    pub amplitude: f64,
    /// Period of the oscillation.
    pub period: f64,
    /// Time at which the motion begins.
    pub from: f64,
    /// Time at which it ends.
    pub to: f64,
}

impl WallMotion {
    /// No motion.
    pub const REST: WallMotion =
        WallMotion { velocity: 0.0, amplitude: 0.0, period: 1.0, from: 0.0, to: f64::MAX };
    /// Number of [`WallMotion::numbers`].
    pub const NUMBERS: usize = 5;

    /// Returns true where the wall moves at some time.
    pub fn is_moving(&self) -> bool {
        self.velocity != 0.0 || self.amplitude != 0.0
    }

    /// Bound of its speed.
    pub fn fastest(&self) -> f64 {
        self.velocity.abs() + (self.amplitude * TAU / self.period).abs()
    }

    /// The numbers that [`displacement_and_velocity`] takes.
    pub fn numbers(&self) -> [f64; WallMotion::NUMBERS] {
        [self.velocity, self.amplitude, TAU / self.period, self.from, self.to]
    }

    /// Displacement from the place at the beginning, and velocity, at a time.
    pub fn at(&self, time: f64) -> [f64; 2] {
        displacement_and_velocity(self.numbers(), time)
    }
}

/// Displacement of a wall and its velocity at a time, from [`WallMotion::numbers`].
pub fn displacement_and_velocity<R: Real>(numbers: [R; WallMotion::NUMBERS], time: R) -> [R; 2] {
    let [velocity, amplitude, frequency, from, to] = numbers;
    let begun = R::select(time.lt(from), from, time);
    let elapsed = R::select(to.lt(begun), to, begun) - from;
    let phase = frequency * elapsed;
    let now = velocity + amplitude * frequency * phase.cos();
    let moving = R::select(time.lt(from), R::lit(0.0), R::select(to.lt(time), R::lit(0.0), now));
    [velocity * elapsed + amplitude * phase.sin(), moving]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The velocity is the slope of the displacement, and there is none before and after the motion.
    #[test]
    fn velocities_are_slopes() {
        let motion = WallMotion { velocity: 0.3, amplitude: 0.2, period: 1.7, from: 2.0, to: 9.0 };
        let h = 1e-6;
        for time in [-1.0, 1.9, 2.1, 3.3, 5.0, 8.9, 9.1, 100.0] {
            let slope = (motion.at(time + h)[0] - motion.at(time - h)[0]) / (2.0 * h);
            assert!((slope - motion.at(time)[1]).abs() < 1e-8, "{time}: {slope} {:?}", motion.at(time));
        }
        assert_eq!((motion.at(0.0), WallMotion::REST.at(3.0)), ([0.0, 0.0], [0.0, 0.0]));
        let end = 0.3 * 7.0 + 0.2 * (TAU * 7.0 / 1.7).sin();
        assert!((motion.at(50.0)[0] - end).abs() < 1e-14);
    }
}
