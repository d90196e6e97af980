//! Walls: a spring beyond a value of a variable.

use super::harmonic::spring;
use super::{Bias, BiasVariable, Moment, refuse_period};
use jostle_core::backend::BiasFunction;
use jostle_core::{Real, Result};

/// Side of a wall at which nothing acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Below: the wall is an upper one.
    Below,
    /// Above: the wall is a lower one.
    Above,
}

/// Energy of a wall and its derivative, at a distance from it; it acts on the side of the sign of `side`.
pub fn wall<R: Real>(off: R, stiffness: R, side: R) -> (R, R) {
    let zero = R::lit(0.0);
    spring(R::select(zero.lt(side * off), off, zero), stiffness)
}

/// U = stiffness/2 (s - at)^2 beyond the wall.
pub struct Wall {
    variables: [BiasVariable; 1],
    at: f64,
    stiffness: f64,
    free: Side,
}

impl Wall {
    /// A wall with a free side.
    ///
    /// # Errors
    /// If the variable has a period, on which there is no side beyond a value.
    pub fn new(variable: BiasVariable, at: f64, stiffness: f64, free: Side) -> Result<Self> {
        let name = &variable.name;
        let hint = format!(
            "hold it by kind = \"harmonic\", which goes the shortest way round, or by kind = \"formula\" with \
             energy = \"50 (1 - cos({name} - 1))\""
        );
        refuse_period(&variable, "a wall", &hint)?;
        Ok(Wall { variables: [variable], at, stiffness, free })
    }

    /// 1 where the wall acts above, -1 where it acts below.
    fn side(&self) -> f64 {
        match self.free {
            Side::Below => 1.0,
            Side::Above => -1.0,
        }
    }
}

impl Bias for Wall {
    fn variables(&self) -> &[BiasVariable] {
        &self.variables
    }

    fn evaluate(&mut self, values: &[f64], _now: &Moment, slopes: &mut [f64]) -> Result<f64> {
        let energy;
        (energy, slopes[0]) = wall(values[0] - self.at, self.stiffness, self.side());
        Ok(energy)
    }

    fn function(&self) -> Option<BiasFunction> {
        Some(BiasFunction::Wall { at: self.at, stiffness: self.stiffness, side: self.side() })
    }

    fn end_step(&mut self, _values: &[f64], _now: &Moment) -> Result<()> {
        Ok(())
    }
}
