//! Comparison of two inputs, key by key: of values as numbers in the units of the file, with all defaults.

use super::fields::{Entry, Fields, Origin, Value};
use super::keys::INPUT;
use super::model::Input;
use super::read::read;
use jostle_core::Result;
use std::sync::Arc;

/// Key that has other values in two inputs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDifference {
    /// Key with its tables, as [`Assignment`](super::Assignment) names them: `system.density`, `bias.window.center`.
    pub key: String,
    /// Value in each of both, as it is written there; `None` where it is not given and has no default.
    pub values: [Option<String>; 2],
}

impl Input {
    /// First key of the schema that has another value than in another input. Of the stages, those of these two numbers
    /// are compared, as a table `stage`; other tables of a list go by their names, where they have such. Keys
    /// whose path `may_differ` accepts are left out, with all that is below them.
    ///
    /// # Errors
    /// Errors of [`Input::parse`], if a text is not what its input was read from.
    pub fn difference(
        &self,
        other: &Input,
        stages: [usize; 2],
        may_differ: impl Fn(&[&str]) -> bool,
    ) -> Result<Option<KeyDifference>> {
        let (mut own, mut others) = (read(&self.source, &INPUT)?.1, read(&other.source, &INPUT)?.1);
        keep_stage(&mut own, stages[0]);
        keep_stage(&mut others, stages[1]);
        let texts = [self.source.text.clone(), other.source.text.clone()];
        let comparison = Comparison { texts, may_differ };
        Ok(comparison.entries(&[], &own.entries, &others.entries))
    }
}

/// Leaves of the stages one, as a single table.
fn keep_stage(root: &mut Fields, number: usize) {
    let Some(entry) = root.entries.iter_mut().find(|entry| entry.name == "stage") else { return };
    if let Value::Tables(stages) = &mut entry.value
        && number < stages.len()
    {
        entry.value = Value::Table(stages.swap_remove(number));
    }
}

struct Comparison<F> {
    texts: [Arc<str>; 2],
    may_differ: F,
}

impl<F: Fn(&[&str]) -> bool> Comparison<F> {
    fn entries(&self, path: &[&str], own: &[Entry], others: &[Entry]) -> Option<KeyDifference> {
        let find = |entries: &[Entry], name: &str| entries.iter().position(|entry| entry.name == name);
        let only_other = others.iter().filter(|entry| find(own, &entry.name).is_none());
        own.iter().chain(only_other).find_map(|Entry { name, .. }| {
            let both = [own, others].map(|entries| find(entries, name).map(|k| &entries[k]));
            self.values(&[path, &[name.as_str()]].concat(), both)
        })
    }

    fn values(&self, path: &[&str], both: [Option<&Entry>; 2]) -> Option<KeyDifference> {
        if (self.may_differ)(path) {
            return None;
        }
        match both.map(|entry| entry.map(|entry| &entry.value)) {
            [Some(Value::Table(a)), Some(Value::Table(b))] => self.entries(path, &a.entries, &b.entries),
            [Some(Value::Named(a)), Some(Value::Named(b))] => self.entries(path, a, b),
            [Some(Value::Tables(a)), Some(Value::Tables(b))] => {
                self.entries(path, &numbered(a), &numbered(b))
            }
            [Some(a), Some(b)] if is_same(a, b) => None,
            _ => Some(KeyDifference {
                key: path.join("."),
                values: [0, 1].map(|k| both[k].map(|entry| self.text(k, entry))),
            }),
        }
    }

    /// Value as it is written, on one line.
    fn text(&self, number: usize, entry: &Entry) -> String {
        match (entry.origin, &entry.value) {
            (Origin::Default(text), _) => text.to_string(),
            (Origin::Given, Value::Table(_) | Value::Tables(_) | Value::Named(_)) => "{ ... }".to_string(),
            (Origin::Given, _) => {
                let text = self.texts[number].get(entry.span.clone()).unwrap_or_default();
                text.split_whitespace().collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// Tables of a list as entries that go by the names of the tables or else by their numbers, from 1.
fn numbered(tables: &[Fields]) -> Vec<Entry> {
    let entry = |(number, fields): (usize, &Fields)| Entry {
        name: fields.get::<String>("name").map_or((number + 1).to_string(), |name| name.value),
        key_span: fields.span.clone(),
        value: Value::Table(fields.clone()),
        span: fields.span.clone(),
        origin: Origin::Given,
    };
    tables.iter().enumerate().map(entry).collect()
}

/// Returns true for values that mean the same; numbers may differ by rounding, as those of other units do.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => a == b,
        (Value::Device(a), Value::Device(b)) => a == b,
        (Value::Flag(a), Value::Flag(b)) => a == b,
        (Value::Count(a), Value::Count(b)) => a == b,
        (Value::Axes(a), Value::Axes(b)) => a == b,
        (Value::Counts(a), Value::Counts(b)) => a == b,
        (Value::Names(a), Value::Names(b)) => a == b,
        (Value::Number(a), Value::Number(b)) => is_close(*a, *b),
        (Value::Quantity(a, one), Value::Quantity(b, other)) => one == other && is_close(*a, *b),
        (Value::Ramp(a), Value::Ramp(b)) => are_close(a, b),
        (Value::Vector(a), Value::Vector(b)) => are_close(a, b),
        (Value::Series(a), Value::Series(b)) => are_close(a, b),
        _ => false,
    }
}

fn are_close(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_close(*a, *b))
}

/// Returns true for numbers that differ by no more than rounding.
fn is_close(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-12 * a.abs().max(b.abs())
}
