//! Settings of a measure: numbers by name, with units.

use jostle_core::quantity::{nearest, parse_quantity};
use jostle_core::{Dimension, Error, Result, UnitSystem};

/// Something that can be set.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Its name.
    pub name: &'static str,
    /// Its dimension.
    pub dimension: Dimension,
    /// Default value; `None`: found from the first frame.
    pub default: Option<f64>,
    /// Meaning, in one line.
    pub about: &'static str,
}

/// Setting of the temperature, which [`MeasureSettings::thermal_energy`] reads.
pub(crate) const TEMPERATURE: Setting = Setting {
    name: "temperature",
    dimension: Dimension::TEMPERATURE,
    default: None,
    about: "of the molecules [default: from the kinetic energy; for frames of a trajectory, from the rows of thermo.csv nearest in time]",
};

/// Settings with their values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MeasureSettings {
    values: Vec<(&'static str, f64)>,
}

impl MeasureSettings {
    /// Reads `name=value` words; values may carry units.
    ///
    /// # Errors
    /// If a name is unknown or there twice, or a value is no quantity of the right kind.
    pub fn parse(words: &[String], known: &'static [Setting], units: UnitSystem) -> Result<Self> {
        let mut values: Vec<(&'static str, f64)> = Vec::new();
        for word in words {
            let (name, text) = word.split_once('=').unwrap_or((word, ""));
            let Some(setting) = known.iter().find(|s| s.name == name) else {
                let names = || known.iter().map(|s| s.name);
                let error = Error::input(format!("there is nothing called \"{name}\" to set"));
                return Err(match nearest(name, names()) {
                    Some(near) => error.hint(format!("did you mean {near}=...?")),
                    None => error.hint(format!("it may be {}", names().collect::<Vec<_>>().join(", "))),
                });
            };
            let value = match text.parse::<f64>() {
                Ok(number) => number,
                Err(_) => parse_quantity(text, &[setting.dimension], units).map_err(|e| e.context(name))?.0,
            };
            if !value.is_finite() {
                return Err(Error::input(format!("{name} is {value}, not a finite number")));
            }
            if values.iter().any(|(other, _)| *other == name) {
                return Err(Error::given_twice(name));
            }
            values.push((setting.name, value));
        }
        Ok(MeasureSettings::of(known, |setting| {
            values.iter().find(|(name, _)| *name == setting.name).map(|(_, value)| *value)
        }))
    }

    /// Settings with the values that `given` has for them, else their defaults.
    pub fn of(known: &'static [Setting], given: impl Fn(&Setting) -> Option<f64>) -> Self {
        let value = |s: &Setting| Some((s.name, given(s).or(s.default)?));
        MeasureSettings { values: known.iter().filter_map(value).collect() }
    }

    /// A number, if it was set or has a default.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.values.iter().find(|(n, _)| *n == name).map(|(_, v)| *v)
    }

    /// A number that must be greater than zero.
    ///
    /// # Errors
    /// If it is not.
    pub fn positive(&self, name: &str, default: f64) -> Result<f64> {
        let value = self.get(name).unwrap_or(default);
        match value > 0.0 {
            true => Ok(value),
            false => Err(Error::input(format!("{name} = {value} is not greater than zero"))),
        }
    }

    /// k_B T, if the temperature was set.
    ///
    /// # Errors
    /// If it is not greater than zero.
    pub(crate) fn thermal_energy(&self, units: UnitSystem) -> Result<Option<f64>> {
        let temperature =
            self.get(TEMPERATURE.name).map(|t| self.positive(TEMPERATURE.name, t)).transpose()?;
        Ok(temperature.map(|t| t * units.boltzmann()))
    }

    /// A whole number within a range.
    ///
    /// # Errors
    /// If it is not.
    pub fn count(&self, name: &str, default: usize, range: std::ops::RangeInclusive<usize>) -> Result<usize> {
        let value = self.get(name).unwrap_or(default as f64);
        let within = (*range.start() as f64..=*range.end() as f64).contains(&value);
        let fault = match value.fract() == 0.0 {
            true if within => return Ok(value as usize),
            true => "is out of range",
            false => "is not a whole number",
        };
        let hint = format!("it may be {} to {}", range.start(), range.end());
        Err(Error::input(format!("{name} = {value} {fault}")).hint(hint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_has_one_value() {
        let parse = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
            MeasureSettings::parse(&words, &[TEMPERATURE], UnitSystem::Lj)
        };
        assert_eq!(parse(&["temperature=2"]).unwrap().get("temperature"), Some(2.0));
        let refused = parse(&["temperature=1", "temperature=2"]).unwrap_err().to_string();
        assert!(refused.contains("temperature is given twice"), "{refused}");
    }
}
