//! Tables whose keys are names that the file chooses: of species, pairs, types of bonds, restraints.

use super::words::{article, what};
use super::{Item, Name, Reader, TOP, given};
use crate::input::choice::ForceKind;
use crate::input::fields::{Entry, Fields, Origin, Value};
use crate::input::schema::{Key, Kind, NumberRange, Section, pair_cutoff, pair_keys, table_keys};
use jostle_core::{Dimension, Result};
use toml::de::{DeTable, DeValue};

/// Keys of a pair of species.
pub(super) enum PairKeys {
    /// Keys that are known beforehand.
    Fixed(Vec<Key>),
    /// Numbers of any name, besides the cut-off.
    Free(Key),
}

impl PairKeys {
    /// Keys of the pairs of a force with this `kind`.
    pub fn of(force: &Fields) -> PairKeys {
        match force.choice::<ForceKind>("kind").map(|k| k.value) {
            Some(ForceKind::BuiltIn(kind)) => PairKeys::Fixed(pair_keys(kind)),
            Some(ForceKind::Table) => PairKeys::Fixed(table_keys()),
            _ => PairKeys::Free(pair_cutoff()),
        }
    }
}

impl Reader<'_> {
    /// Values that may change in a stage, by name; `None` where the item is neither a list of names nor a table.
    pub(super) fn ramps(
        &self,
        item: &Item,
        dimensions: &'static [Dimension],
        range: NumberRange,
    ) -> Result<Option<Vec<Entry>>> {
        let kind = Kind::Ramp(dimensions, range);
        match item.get_ref() {
            DeValue::Array(items) => Ok(chosen(items)),
            DeValue::Table(table) => named(table, |name, item| {
                self.ramp(name, item, dimensions, range)?.ok_or_else(|| {
                    let found = article(item.get_ref().type_str());
                    let message = format!("\"{name}\" must be {}, not {found}", what(kind));
                    let hint = format!("write {name} = {}", self.example(kind));
                    self.source.error(&item.span(), message).hint(hint)
                })
            })
            .map(Some),
            _ => Ok(None),
        }
    }

    /// `[species.Ar]`
    pub(super) fn named_table(&self, key: &Key, section: &Section, name: &str, item: &Item) -> Result<Value> {
        let label = format!("[{}.{name}]", key.name);
        match item.get_ref() {
            DeValue::Table(inner) => self.table(inner, item.span(), section, &label).map(Value::Table),
            other => {
                let message = format!("{label} must be a table, not {}", article(other.type_str()));
                Err(self.source.error(&item.span(), message).hint(format!("write {}", self.usage(key, TOP))))
            }
        }
    }

    /// `pairs."A-B" = { ... }` or `"none"`
    pub(super) fn pair(&self, keys: &PairKeys, name: &str, item: &Item) -> Result<Value> {
        let label = format!("pairs.\"{name}\"");
        match item.get_ref() {
            DeValue::Table(inner) => match keys {
                PairKeys::Fixed(keys) => self.keys(inner, item.span(), keys, &[], &label).map(Value::Table),
                PairKeys::Free(cutoff) => {
                    let entries = named(inner, |name, item| match name == cutoff.name {
                        true => self.value(cutoff, item, &Fields::default(), &label),
                        false => self.any_number(name, item),
                    })?;
                    Ok(Value::Table(Fields { label, span: item.span(), entries }))
                }
            },
            DeValue::String(word) if word == "none" => Ok(Value::Text(word.to_string())),
            _ => {
                let message = format!("{label} must be a table of parameters, or \"none\"");
                let example = match keys {
                    PairKeys::Fixed(keys) => self.example_table(keys),
                    PairKeys::Free(_) => "{ epsilon = 1.0 }".to_string(),
                };
                let hint = format!("write {label} = {example}");
                Err(self.source.error(&item.span(), message).hint(hint))
            }
        }
    }

    /// `types.NAME = { ... }`
    pub(super) fn typed(&self, keys: &[Key], name: &str, item: &Item) -> Result<Value> {
        let label = format!("types.{name}");
        let DeValue::Table(inner) = item.get_ref() else {
            let hint = format!("write {label} = {}", self.example_table(keys));
            let message = format!("{label} must be a table of parameters");
            return Err(self.source.error(&item.span(), message).hint(hint));
        };
        self.keys(inner, item.span(), keys, &[], &label).map(Value::Table)
    }
}

/// Entries of a table with free names, in the order of the file.
pub(super) fn named(table: &DeTable, read: impl Fn(&str, &Item) -> Result<Value>) -> Result<Vec<Entry>> {
    let mut items: Vec<_> = table.iter().collect();
    items.sort_by_key(|(name, _)| name.span().start);
    let entry = |(name, item): (&Name, &Item)| {
        let value = read(name.get_ref(), item)?;
        Ok(given(name, item, value))
    };
    items.into_iter().map(entry).collect()
}

/// Entries of a list of names.
fn chosen(items: &[Item]) -> Option<Vec<Entry>> {
    let entry = |item: &Item| {
        let name = item.get_ref().as_str()?.to_string();
        let (key_span, span) = (item.span(), item.span());
        Some(Entry { name, key_span, value: Value::Flag(true), span, origin: Origin::Given })
    };
    items.iter().map(entry).collect()
}
