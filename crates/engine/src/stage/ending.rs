//! End of a stage before its last step, by a condition on rows of `thermo.csv`.

use crate::thermo::{Mean, Quantity, Thermo};
use jostle_analysis::series::{Series, is_settled};
use jostle_core::quantity::nearest;
use jostle_core::{Error, Result};
use jostle_io::input::model::{Condition, Test, Until};
use serde::{Deserialize, Serialize};

/// Least number of rows between two looks at averages, over the number of rows: averages are looked at eight times
/// while the rows become twice as many, so that chance has few occasions.
const LOOKS: u64 = 8;

/// Knowledge about the condition of a stage.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Ending {
    rows: u64,
    /// Number of rows at which averages are looked at next.
    next_look: u64,
    /// Values of the quantities of all conditions, in their order.
    series: Vec<Series>,
    reached: bool,
}

impl Ending {
    /// Returns true once the condition has held.
    pub fn is_reached(&self) -> bool {
        self.reached
    }

    /// Adds a row.
    pub fn record(&mut self, until: &Until, quantities: &[Quantity], thermo: &Thermo) {
        let values: Vec<Option<f64>> = thermo.values().collect();
        let value = |condition: &Condition| {
            let index = quantities.iter().position(|quantity| quantity.name == condition.quantity)?;
            values.get(index).copied().flatten()
        };
        self.rows += 1;
        let looks = self.rows >= self.next_look;
        if looks {
            self.next_look = self.rows + self.rows.div_ceil(LOOKS);
        }
        self.series.resize_with(until.conditions.len(), Series::default);
        let mut holds = true;
        for (condition, series) in until.conditions.iter().zip(&mut self.series) {
            let value = value(condition);
            holds &= match condition.test {
                Test::Below(limit) => value.is_some_and(|value| value < limit),
                Test::Above(limit) => value.is_some_and(|value| value > limit),
                Test::Settled => {
                    value.into_iter().for_each(|value| series.add(value));
                    looks && is_settled(series.means())
                }
            };
        }
        self.reached |= holds;
    }
}

/// Refuses conditions on quantities that are no columns.
pub(crate) fn check_until(until: &Until, quantities: &[Quantity]) -> Result<()> {
    let of = |c: &Condition| quantities.iter().find(|quantity| quantity.name == c.quantity);
    let on_circle = |c: &&Condition| of(c).is_some_and(|quantity| quantity.mean == Mean::OnCircle);
    if let Some(condition) = until.conditions.iter().filter(|c| c.test == Test::Settled).find(on_circle) {
        return Err(Error::input(format!(
            "the mean of '{}', which is on a circle, cannot settle",
            condition.quantity
        ))
        .hint("a condition \"NAME < number\" or \"NAME > number\" can look at it"));
    }
    let is_column = |c: &&Condition| quantities.iter().any(|quantity| quantity.name == c.quantity);
    let Some(unknown) = until.conditions.iter().find(|condition| !is_column(condition)) else {
        return Ok(());
    };
    let name = &unknown.quantity;
    let names = || quantities.iter().map(|quantity| quantity.name.as_str());
    let error = Error::input(format!("thermo.csv has no column '{name}' that until could look at"));
    Err(match nearest(name, names()) {
        Some(near) => error.hint(format!("did you mean '{near}'?")),
        None => error.hint(format!("its columns are: {}", names().collect::<Vec<_>>().join(", "))),
    })
}
