//! Tables of an input file, read and checked against the schema, before they become the model.

use super::choice::NamedChoice;
use super::model::{DeviceInput, Located};
use jostle_core::{Dimension, Error, Result};
use std::ops;

/// A table, read.
#[derive(Debug, Clone, Default)]
pub(super) struct Fields {
    /// Name of the table in messages: `[system]`.
    pub label: String,
    /// Place of the table in the file.
    pub span: ops::Range<usize>,
    /// Keys with their values, defaults included.
    pub entries: Vec<Entry>,
}

/// A key with its value.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub name: String,
    /// Place of the key; the whole table if the value is a default.
    pub key_span: ops::Range<usize>,
    pub value: Value,
    /// Place of the value; the whole table if it is a default.
    pub span: ops::Range<usize>,
    pub origin: Origin,
}

/// Origin of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The file.
    Given,
    /// The default of the schema.
    Default(&'static str),
}

/// A value, in the units of the file.
#[derive(Debug, Clone)]
pub(super) enum Value {
    Text(String),
    Device(DeviceInput),
    Flag(bool),
    Count(u64),
    Number(f64),
    Quantity(f64, Dimension),
    Ramp([f64; 2]),
    Axes([bool; 3]),
    Counts([u64; 3]),
    Vector([f64; 3]),
    Names(Vec<String>),
    Series(Vec<f64>),
    Table(Fields),
    Tables(Vec<Fields>),
    Named(Vec<Entry>),
}

impl Fields {
    /// The entry of a key; `None` if it is not given and has no default.
    pub fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|e| e.name == name)
    }

    /// Returns true where the file gives the key.
    pub fn has_key(&self, name: &str) -> bool {
        self.entry(name).is_some_and(|e| e.origin == Origin::Given)
    }

    /// The value of a key as the type that the schema gives it.
    pub fn get<T: FromValue>(&self, name: &str) -> Option<Located<T>> {
        let entry = self.entry(name)?;
        Some(Located { value: T::from_value(&entry.value)?, span: entry.span.clone() })
    }

    /// A choice.
    pub fn choice<W: NamedChoice>(&self, name: &str) -> Option<Located<W>> {
        let word = self.get::<String>(name)?;
        Some(Located { value: W::from_name(&word.value)?, span: word.span })
    }

    /// A value that the schema requires.
    pub fn need<T: FromValue>(&self, name: &str) -> Result<T> {
        self.get(name).map(|v| v.value).ok_or_else(|| self.absent(name))
    }

    /// A choice that the schema requires.
    pub fn need_choice<W: NamedChoice>(&self, name: &str) -> Result<W> {
        self.choice(name).map(|v| v.value).ok_or_else(|| self.absent(name))
    }

    fn absent(&self, name: &str) -> Error {
        Error::input(format!("{} needs \"{name}\"", self.label))
    }
}

/// The types that values are read as.
pub(super) trait FromValue: Sized {
    /// The value, if it is of this type.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! from_value {
    ($($type:ty: $pattern:pat => $value:expr;)*) => {
        $(impl FromValue for $type {
            fn from_value(value: &Value) -> Option<Self> {
                match value { $pattern => Some($value), _ => None }
            }
        })*
    };
}

from_value! {
    String: Value::Text(text) => text.clone();
    DeviceInput: Value::Device(device) => *device;
    bool: Value::Flag(flag) => *flag;
    u64: Value::Count(count) => *count;
    f64: Value::Number(x) | Value::Quantity(x, _) => *x;
    (f64, Dimension): Value::Quantity(x, dimension) => (*x, *dimension);
    [f64; 2]: Value::Ramp(ends) => *ends;
    [bool; 3]: Value::Axes(axes) => *axes;
    [u64; 3]: Value::Counts(counts) => *counts;
    [f64; 3]: Value::Vector(vector) => *vector;
    Vec<String>: Value::Names(names) => names.clone();
    Vec<f64>: Value::Series(numbers) => numbers.clone();
    Fields: Value::Table(fields) => fields.clone();
    Vec<Fields>: Value::Tables(tables) => tables.clone();
    Vec<Entry>: Value::Named(entries) => entries.clone();
}

/// Place of a key's value; that of the table where the key is not there.
pub(super) fn entry_span(fields: &Fields, name: &str) -> ops::Range<usize> {
    fields.entry(name).map_or(fields.span.clone(), |e| e.span.clone())
}
