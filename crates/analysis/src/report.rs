//! Results as tables and single values, with units, as CSV and JSON.

use crate::blocks::BlockEstimate;
use crate::warning::{ResultWarning, Verdict};
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, UnitSystem};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;
use std::fmt::Write as _;

/// A column of numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Name.
    pub name: String,
    /// Its unit; empty for bare numbers and in reduced units.
    pub unit: String,
    /// The numbers; NaN where there is none.
    #[serde(with = "gaps")]
    pub values: Vec<f64>,
}

/// Columns of the same length.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Table {
    /// Name.
    pub name: String,
    /// Its columns; the first is what the others are functions of.
    pub columns: Vec<Column>,
}

/// A single number with its error.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// Name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// The number; NaN where there is none.
    #[serde(with = "gap")]
    pub value: f64,
    /// Its standard error; `None` where a single frame cannot tell.
    pub error: Option<f64>,
}

/// Unit of the SI that results are given in, too.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SiUnit {
    pub name: &'static str,
    /// Number of these in one of what base units make: a thousand mPa s in one Pa s.
    pub per_base: f64,
}

/// Results of a measure.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Results {
    /// Functions; the first is the one that the measure is named after.
    pub tables: Vec<Table>,
    /// Single numbers.
    pub values: Vec<Value>,
    /// Warnings about results, and the reasons for those that are missing.
    #[serde(default)]
    pub warnings: Vec<ResultWarning>,
}

impl Table {
    /// A table with its first column.
    pub fn new(name: &str, first: &str, unit: String, values: Vec<f64>) -> Self {
        let columns = vec![Column { name: first.to_string(), unit, values }];
        Table { name: name.to_string(), columns }
    }

    /// Adds a column without errors: a count or a coordinate.
    pub fn plain(&mut self, name: &str, unit: &str, values: Vec<f64>) {
        self.columns.push(Column { name: name.to_string(), unit: unit.to_string(), values });
    }

    /// Adds a column and that of its errors.
    pub fn with_errors(&mut self, name: &str, unit: &str, values: &[BlockEstimate]) {
        self.plain(name, unit, values.iter().map(|v| v.0).collect());
        self.plain(&format!("{name} error"), unit, values.iter().map(|v| v.1.unwrap_or(f64::NAN)).collect());
    }

    /// The column with this name.
    pub fn column(&self, name: &str) -> Option<&[f64]> {
        self.columns.iter().find(|c| c.name == name).map(|c| c.values.as_slice())
    }

    /// As CSV: names with units in the first line; empty where there is no number.
    pub fn csv(&self) -> String {
        let title = |c: &Column| match c.unit.as_str() {
            "" => c.name.clone(),
            unit => format!("{} ({unit})", c.name),
        };
        let mut text = self.columns.iter().map(title).collect::<Vec<_>>().join(",");
        text.push('\n');
        for row in 0..self.columns.first().map_or(0, |c| c.values.len()) {
            for (k, column) in self.columns.iter().enumerate() {
                let comma = if k > 0 { "," } else { "" };
                let value = column.values[row];
                let _ =
                    if value.is_finite() { write!(text, "{comma}{value}") } else { write!(text, "{comma}") };
            }
            text.push('\n');
        }
        text
    }
}

impl Results {
    /// Adds a single number.
    pub fn value(&mut self, name: &str, unit: &str, (value, error): BlockEstimate) {
        self.values.push(Value { name: name.to_string(), unit: unit.to_string(), value, error });
    }

    /// Adds a value in SI units, too, where the units of a system have a scale.
    pub(crate) fn value_in_si(
        &mut self,
        name: &str,
        unit: SiUnit,
        (units, dimension): (UnitSystem, Dimension),
        (value, error): BlockEstimate,
    ) {
        if let Some(scale) = units.from_si(dimension) {
            let si = |number: f64| number / scale * unit.per_base;
            self.value(&format!("{name} in SI units"), unit.name, (si(value), error.map(si)));
        }
    }

    /// Adds the temperature of a thermal energy that was taken.
    pub(crate) fn temperature(&mut self, units: UnitSystem, (thermal, error): BlockEstimate) {
        let kelvin = |energy: f64| energy / units.boltzmann();
        let name = unit_name(units, Dimension::TEMPERATURE);
        self.value("temperature", &name, (kelvin(thermal), error.map(kelvin)));
    }

    /// Adds a warning about a value, a table or a column.
    pub(crate) fn warn(&mut self, about: &str, (verdict, reason): (Verdict, String), remedy: &str) {
        let [about, remedy] = [about, remedy].map(String::from);
        self.warnings.push(ResultWarning { verdict, about, reason, remedy });
    }

    /// The warning about a value, a table or a column.
    pub fn warning(&self, about: &str) -> Option<&ResultWarning> {
        self.warnings.iter().find(|w| w.about == about)
    }

    /// The single number with this name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|v| v.name == name)
    }

    /// As JSON: `{"tables": [...], "values": [...], "warnings": [...]}`, null where there is no number.
    pub fn json(&self) -> Json {
        // Structures of names and numbers always become JSON.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Single numbers as CSV.
    pub fn values_csv(&self) -> String {
        let mut csv = "quantity,unit,value,error\n".to_string();
        for v in &self.values {
            let number = |x: f64| if x.is_finite() { x.to_string() } else { String::new() };
            let error = v.error.map_or(String::new(), number);
            let _ = writeln!(csv, "\"{}\",{},{},{error}", v.name, v.unit, number(v.value));
        }
        csv
    }
}

/// Results of a measure with their origin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The kind of analysis.
    pub kind: String,
    /// The name of the unit system.
    pub units: String,
    /// Number of frames.
    pub frames: u64,
    /// The results.
    #[serde(flatten)]
    pub results: Results,
}

impl Record {
    /// Name of a table's file without its ending, given what the names of all files of the record begin
    /// with: the kind of analysis, or more.
    pub fn stem(&self, base: &str, table: &Table) -> String {
        if table.name == self.kind { base.to_string() } else { format!("{base}-{}", table.name) }
    }

    /// Name of the file of single numbers, which is there where any is known.
    pub fn values_file(base: &str) -> String {
        format!("{base}-values.csv")
    }

    /// The files that hold it, name and text: every table and the single numbers as CSV, all of it
    /// as JSON.
    pub fn files(&self, base: &str) -> Vec<(String, String)> {
        let tables = self.results.tables.iter();
        let mut files: Vec<_> = tables.map(|t| (format!("{}.csv", self.stem(base, t)), t.csv())).collect();
        if !self.results.values.is_empty() {
            files.push((Self::values_file(base), self.results.values_csv()));
        }
        let json = serde_json::to_value(self).unwrap_or_default();
        files.push((format!("{base}.json"), format!("{json:#}\n")));
        files
    }
}

/// Numbers that may be missing: NaN, in JSON null.
mod gaps {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(values: &[f64], to: S) -> Result<S::Ok, S::Error> {
        values.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        let values = Vec::<Option<f64>>::deserialize(from)?;
        Ok(values.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect())
    }
}

/// A number as JSON, with null for NaN.
mod gap {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(value: &f64, to: S) -> Result<S::Ok, S::Error> {
        value.serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Option::deserialize(from).map(|value| value.unwrap_or(f64::NAN))
    }
}

/// The unit of length to a power, with time to another.
pub(crate) fn unit(units: UnitSystem, length: i8, time: i8) -> String {
    unit_name(units, jostle_core::Dimension { length, time, ..jostle_core::Dimension::NUMBER })
}
