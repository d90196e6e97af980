//! Numbers: counts, quantities with units, and ranges of these.

use super::words::article;
use super::{Item, Reader};
use crate::input::fields::Value;
use crate::input::schema::{Key, NumberRange};
use jostle_core::quantity::{parse_any_quantity, parse_quantity};
use jostle_core::{Dimension, Result};
use std::ops;
use toml::de::DeValue;

impl Reader<'_> {
    /// A number in the units of the file, or text with a unit of any dimension.
    pub(super) fn any_number(&self, name: &str, item: &Item) -> Result<Value> {
        let x = match item.get_ref() {
            DeValue::String(text) => parse_any_quantity(text, self.units)
                .map_err(|e| e.at_span(&self.source.path, &self.source.text, item.span()))?,
            value => number(value).ok_or_else(|| {
                let message = format!(
                    "\"{name}\" must be a number, or a string with a unit, not {}",
                    article(value.type_str())
                );
                self.source.error(&item.span(), message).hint(format!("write {name} = 1.5"))
            })?,
        };
        Ok(Value::Number(self.in_range(name, x, NumberRange::Any, &item.span())?))
    }

    /// A number in the units of the file, or text with a unit.
    pub(super) fn quantity(&self, item: &Item, dimensions: &[Dimension]) -> Result<Option<(f64, Dimension)>> {
        match item.get_ref() {
            DeValue::String(text) => parse_quantity(text, dimensions, self.units)
                .map(Some)
                .map_err(|e| e.at_span(&self.source.path, &self.source.text, item.span())),
            value => {
                let dimension = dimensions.first().copied();
                Ok(number(value).zip(dimension).map(|(x, d)| (x * self.units.bare(d), d)))
            }
        }
    }

    /// A quantity, or two of them.
    pub(super) fn ramp(
        &self,
        name: &str,
        item: &Item,
        dimensions: &[Dimension],
        range: NumberRange,
    ) -> Result<Option<Value>> {
        let end = |item: &Item| {
            let Some((x, dimension)) = self.quantity(item, dimensions)? else { return Ok(None) };
            self.in_range(name, x / self.units.bare(dimension), range, &item.span())?;
            Ok(Some(x))
        };
        let [first, last] = match item.get_ref().as_array().map(|ends| &ends[..]) {
            None => [item, item],
            Some([first, last]) => [first, last],
            Some(_) => return Ok(None),
        };
        Ok(end(first)?.zip(end(last)?).map(|(first, last)| Value::Ramp([first, last])))
    }

    /// Three quantities; `None` where the item is something else.
    pub(super) fn vector(
        &self,
        key: &Key,
        item: &Item,
        dimensions: &[Dimension],
        range: NumberRange,
    ) -> Result<Option<[f64; 3]>> {
        triple(item, |x: &Item| {
            let Some((value, _)) = self.quantity(x, dimensions)? else { return Ok(None) };
            self.in_range(key.name, value, range, &x.span()).map(Some)
        })
    }

    /// A list of bare numbers; `None` where the item is something else.
    pub(super) fn series(&self, name: &str, item: &Item, range: NumberRange) -> Result<Option<Vec<f64>>> {
        let Some(items) = item.get_ref().as_array() else { return Ok(None) };
        let one = |x: &Item| match number(x.get_ref()) {
            Some(value) => self.in_range(name, value, range, &x.span()).map(Some),
            None => Ok(None),
        };
        items.iter().map(one).collect()
    }

    pub(super) fn count(&self, key: &Key, item: &Item, least: u64) -> Result<Option<u64>> {
        // Large counts are often written 1e6.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let refuse = |why: String| Err(self.source.error(&item.span(), format!("\"{}\" {why}", key.name)));
        let count = match item.get_ref() {
            DeValue::Integer(i) => match i128::from_str_radix(i.as_str(), i.radix()) {
                Ok(n) if n < 0 => return refuse(format!("is {n}, but must not be negative")),
                Ok(n) => u64::try_from(n).ok(),
                Err(_) => None,
            },
            DeValue::Float(_) => match number(item.get_ref()) {
                Some(x) if x.fract() == 0.0 && (0.0..EXACT).contains(&x) => Some(x as u64),
                Some(x) => return refuse(format!("must be a whole number, not {x}")),
                None => None,
            },
            _ => return Ok(None),
        };
        match count {
            Some(n) if n >= least => Ok(Some(n)),
            Some(n) => refuse(format!("is {n}, but must be at least {least}")),
            None => refuse("is too large".to_string()),
        }
    }

    pub(super) fn in_range(
        &self,
        name: &str,
        x: f64,
        range: NumberRange,
        span: &ops::Range<usize>,
    ) -> Result<f64> {
        if range.contains(x) {
            return Ok(x);
        }
        Err(self.source.error(span, format!("\"{name}\" is {x}, but must be {}", range.about())))
    }
}

pub(super) fn number(value: &DeValue) -> Option<f64> {
    match value {
        DeValue::Float(f) => f.as_str().parse().ok(),
        DeValue::Integer(i) => i128::from_str_radix(i.as_str(), i.radix()).ok().map(|n| n as f64),
        _ => None,
    }
}

/// Three items of a list; `None` if it is no list of three or an item is of the wrong type.
pub(super) fn triple<T: Copy>(
    item: &Item,
    read: impl Fn(&Item) -> Result<Option<T>>,
) -> Result<Option<[T; 3]>> {
    let Some([a, b, c]) = item.get_ref().as_array().map(|a| &a[..]) else { return Ok(None) };
    let values = [read(a)?, read(b)?, read(c)?];
    Ok(match values {
        [Some(a), Some(b), Some(c)] => Some([a, b, c]),
        _ => None,
    })
}
