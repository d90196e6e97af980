//! Constant torque: a force along an angle that is counted on beyond a full turn.

use super::{Bias, BiasVariable, Column, ColumnQuantity, Moment, from_bytes, linear, to_bytes};
use jostle_core::{Error, Result};

/// U = -torque times the angle turned, which is a sum over steps: full turns count.
pub struct Torque {
    variables: [BiasVariable; 1],
    torque: f64,
    /// Angle turned up to the end of the last step, and the value there.
    turned: f64,
    last: Option<f64>,
    /// Angle turned at the last evaluation.
    now: f64,
}

impl Torque {
    /// A constant torque along an angle.
    ///
    /// # Errors
    /// If the variable is no angle on a circle.
    pub fn new(variable: BiasVariable, torque: f64) -> Result<Self> {
        if variable.period.is_none() {
            let message = format!("variable '{}' is no angle that a torque could turn", variable.name);
            return Err(Error::input(message)
                .hint("a torque acts on a rotation or a dihedral; linear is a constant force"));
        }
        Ok(Torque { variables: [variable], torque, turned: 0.0, last: None, now: 0.0 })
    }

    /// Angle turned at a value, which is less than half a turn from that of the last step.
    fn turned_at(&self, value: f64) -> f64 {
        self.turned + self.last.map_or(0.0, |last| self.variables[0].difference(value, last))
    }
}

impl Bias for Torque {
    fn variables(&self) -> &[BiasVariable] {
        &self.variables
    }

    fn begin(&mut self, values: &[f64], _now: &Moment) -> Result<()> {
        self.last = Some(values[0]);
        Ok(())
    }

    fn evaluate(&mut self, values: &[f64], _now: &Moment, slopes: &mut [f64]) -> Result<f64> {
        self.now = self.turned_at(values[0]);
        let energy;
        (energy, slopes[0]) = linear(self.now, self.torque);
        Ok(energy)
    }

    fn end_step(&mut self, values: &[f64], _now: &Moment) -> Result<()> {
        self.turned = self.turned_at(values[0]);
        self.last = Some(values[0]);
        Ok(())
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            Column { name: "torque", quantity: ColumnQuantity::Energy, value: self.torque },
            Column { name: "turned", quantity: ColumnQuantity::Variable, value: self.now },
            Column { name: "work", quantity: ColumnQuantity::Energy, value: self.torque * self.now },
        ]
    }

    fn save(&self) -> Result<Vec<u8>> {
        to_bytes(&(self.turned, self.last))
    }

    fn restore(&mut self, saved: &[u8]) -> Result<()> {
        (self.turned, self.last) = from_bytes(saved)?;
        Ok(())
    }
}
