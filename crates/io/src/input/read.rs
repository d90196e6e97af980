//! Values from TOML, checked against the schema: names, types, units, ranges, and which keys go together.
//! The meaning of the values is left to `build`.

mod by_name;
mod numbers;
mod together;
pub(super) mod words;

use super::choice::NamedChoice;
use super::fields::{Entry, Fields, Origin, Value};
use super::model::{DeviceInput, GpuSet, Gpus, Source};
use super::schema::{Alternatives, Fallback, Key, Kind, Section, Variant};
use by_name::{PairKeys, named};
use jostle_core::quantity::nearest;
use jostle_core::{Error, Result, UnitSystem};
use numbers::{number, triple};
use std::ops;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};
use words::{article, join, what};

/// Reads tables of one file.
pub(super) struct Reader<'a> {
    source: &'a Source,
    units: UnitSystem,
}

type Item<'i> = Spanned<DeValue<'i>>;
type Name<'i> = Spanned<DeString<'i>>;

/// Name of the top of the file in messages.
const TOP: &str = "the input";

/// An entry that stands in the file.
fn given(name: &Name, item: &Item, value: Value) -> Entry {
    let (key_span, span) = (name.span(), item.span());
    Entry { name: name.get_ref().to_string(), key_span, value, span, origin: Origin::Given }
}

/// Reads a whole file: its unit system, then everything.
pub(super) fn read(source: &Source, root: &Section) -> Result<(UnitSystem, Fields)> {
    let text: &str = &source.text;
    let document = DeTable::parse(text).map_err(|e| {
        let span = e.span().unwrap_or(0..0);
        // The parser's list of expected characters rarely helps.
        let message = e.message().lines().next().unwrap_or("").split(", expected").next().unwrap_or("");
        source.error(&span, format!("this is not valid TOML: {message}")).hint(
            "text and quantities with a unit stand in quotes, bare numbers without, lists in [ ]; \
             every key = value has a line of its own",
        )
    })?;
    // Quantities elsewhere are read in the units of the file, so these come first.
    let named = document.get_ref().get("units").and_then(|v| v.get_ref().as_str());
    let units = named.and_then(UnitSystem::from_name).unwrap_or(UnitSystem::Lj);
    let fields = Reader { source, units }.table(document.get_ref(), 0..0, root, TOP)?;
    Ok((units, fields))
}

impl Reader<'_> {
    /// A table, its defaults filled in.
    fn table(
        &self,
        table: &DeTable,
        span: ops::Range<usize>,
        section: &Section,
        label: &str,
    ) -> Result<Fields> {
        self.keys(table, span, section.keys, section.alternatives, label)
    }

    fn keys(
        &self,
        table: &DeTable,
        span: ops::Range<usize>,
        keys: &[Key],
        alternatives: &[Alternatives],
        label: &str,
    ) -> Result<Fields> {
        self.refuse_unknown(table, keys, label)?;
        self.refuse_contradictions(table, keys, alternatives, &span, label)?;
        let mut fields = Fields { label: label.to_string(), span: span.clone(), entries: Vec::new() };
        for key in keys {
            if let Some((name, item)) = table.get_key_value(key.name) {
                let value = self.value(key, item, &fields, label)?;
                fields.entries.push(given(name, item, value));
                continue;
            }
            let applies = key.with.is_empty() || key.with.iter().any(|k| table.contains_key(*k));
            let default = match key.default {
                _ if !applies => continue,
                Fallback::Absent(_) => continue,
                Fallback::Required => return Err(self.missing(key, &span, label)),
                Fallback::Value(text) => text,
                Fallback::ByUnits(texts) => texts[self.units as usize],
            };
            let value = self.default(key, default, &fields)?;
            let origin = Origin::Default(default);
            let (key_span, span) = (span.clone(), span.clone());
            fields.entries.push(Entry { name: key.name.into(), key_span, value, span, origin });
        }
        Ok(fields)
    }

    /// The value that a key has when it is not given.
    fn default(&self, key: &Key, text: &'static str, fields: &Fields) -> Result<Value> {
        let item = DeValue::parse(text)
            .map_err(|e| Error::input(format!("the default of {} is damaged: {e}", key.name)))?;
        self.value(key, &item, fields, &fields.label)
    }

    fn missing(&self, key: &Key, span: &ops::Range<usize>, label: &str) -> Error {
        let error = self.source.error(span, format!("{label} needs \"{}\": {}", key.name, key.about));
        error.hint(format!("add {}", self.usage(key, label)))
    }

    fn value(&self, key: &Key, item: &Item, fields: &Fields, label: &str) -> Result<Value> {
        let span = item.span();
        let wrong = || {
            let found = item.get_ref().type_str();
            self.source
                .error(&span, format!("\"{}\" must be {}, not {}", key.name, what(key.kind), article(found)))
                .hint(format!("write {}", self.usage(key, label)))
        };
        let text = || item.get_ref().as_str().ok_or_else(wrong);
        let table = || item.get_ref().as_table().ok_or_else(wrong);
        Ok(match key.kind {
            Kind::Path if text()?.is_empty() => {
                return Err(self.source.error(&span, format!("\"{}\" is empty", key.name)));
            }
            Kind::Text | Kind::Path => Value::Text(text()?.to_string()),
            Kind::Flag => Value::Flag(item.get_ref().as_bool().ok_or_else(wrong)?),
            Kind::Count(least) => Value::Count(self.count(key, item, least)?.ok_or_else(wrong)?),
            Kind::Number(range) => {
                let number = number(item.get_ref()).ok_or_else(wrong)?;
                Value::Number(self.in_range(key.name, number, range, &span)?)
            }
            Kind::Quantity(dimensions, range) => {
                let (x, dimension) = self.quantity(item, dimensions)?.ok_or_else(wrong)?;
                self.in_range(key.name, x / self.units.bare(dimension), range, &span)?;
                Value::Quantity(x, dimension)
            }
            Kind::QuantityOr(dimensions, range, words) => match item.get_ref().as_str() {
                Some(word) if word.starts_with(char::is_alphabetic) => {
                    self.word(key, word, &[words(), vec![("1.5 UNIT", "")]].concat(), &span)?
                }
                _ => {
                    self.value(&Key { kind: Kind::Quantity(dimensions, range), ..*key }, item, fields, label)?
                }
            },
            Kind::Ramp(dimensions, range) => {
                self.ramp(key.name, item, dimensions, range)?.ok_or_else(wrong)?
            }
            Kind::Ramps(dimensions, range) => {
                Value::Named(self.ramps(item, dimensions, range)?.ok_or_else(wrong)?)
            }
            Kind::Choice(words) => self.word(key, text()?, &words(), &span)?,
            Kind::Device => Value::Device(self.device(key, item, text)?),
            Kind::Axes => Value::Axes(axes(item)?.ok_or_else(wrong)?),
            Kind::Counts => Value::Counts(triple(item, |n| self.count(key, n, 1))?.ok_or_else(wrong)?),
            Kind::Vector(dimensions, range) => {
                Value::Vector(self.vector(key, item, dimensions, range)?.ok_or_else(wrong)?)
            }
            Kind::Names => Value::Names(names(item).ok_or_else(wrong)?),
            Kind::Series(range) => Value::Series(self.series(key.name, item, range)?.ok_or_else(wrong)?),
            Kind::Table(section) => {
                let label = if label == TOP { format!("[{}]", key.name) } else { key.name.to_string() };
                Value::Table(self.table(table()?, span, section, &label)?)
            }
            Kind::Variants(variants) => Value::Table(self.variant(key, table()?, span, variants)?),
            Kind::OneOf(variants) => Value::Table(self.variant(key, table()?, span, variants())?),
            Kind::Several(variants) => {
                let variants = variants();
                Value::Tables(tables(item, wrong, |table, span| self.variant(key, table, span, variants))?)
            }
            Kind::Tables(section) => {
                let label = format!("[[{}]]", key.name);
                Value::Tables(tables(item, wrong, |table, span| self.table(table, span, section, &label))?)
            }
            Kind::Named(section) => {
                Value::Named(named(table()?, |name, item| self.named_table(key, section, name, item))?)
            }
            Kind::Pairs => {
                let keys = PairKeys::of(fields);
                Value::Named(named(table()?, |name, item| self.pair(&keys, name, item))?)
            }
            Kind::Types(types) => {
                let kind = fields.get::<String>("kind").map(|k| k.value);
                let keys = (types.keys)(&kind.unwrap_or_default());
                Value::Named(named(table()?, |name, item| self.typed(&keys, name, item))?)
            }
            Kind::Numbers => Value::Named(named(table()?, |name, item| self.any_number(name, item))?),
        })
    }

    /// One of some words.
    fn word(&self, key: &Key, word: &str, words: &[(&str, &str)], span: &ops::Range<usize>) -> Result<Value> {
        let names: Vec<&str> = words.iter().map(|w| w.0).collect();
        self.one_of(key.name, word, &names, span)?;
        Ok(Value::Text(word.to_string()))
    }

    /// A device by its name, or several GPUs in a list; `text` is the name.
    fn device<'a>(
        &self,
        key: &Key,
        item: &'a Item,
        text: impl Fn() -> Result<&'a str>,
    ) -> Result<DeviceInput> {
        if let DeValue::Array(items) = item.get_ref() {
            return self.gpus(key, items, &item.span());
        }
        let names: Vec<&str> = DeviceInput::ALL.iter().map(|d| d.name()).collect();
        let word = text()?;
        word.parse().map_err(|_| self.not_one_of(key.name, word, &names, &item.span()))
    }

    /// Several GPUs, a name each.
    fn gpus(&self, key: &Key, items: &[Item], span: &ops::Range<usize>) -> Result<DeviceInput> {
        let wrong = |span: &ops::Range<usize>| {
            let message = format!("a list of \"{}\" is of GPUs such as \"cuda:1\"", key.name);
            self.source.error(span, message).hint("device = [\"cuda:0\", \"cuda:1\"]")
        };
        let one = |item: &Item| match item.get_ref().as_str().unwrap_or_default().parse() {
            Ok(DeviceInput::Cuda(Gpus::Chosen(gpus))) => Ok(gpus),
            _ => Err(wrong(&item.span())),
        };
        let sets: Vec<GpuSet> = items.iter().map(one).collect::<Result<_>>()?;
        let gpus = sets.into_iter().reduce(GpuSet::and).ok_or_else(|| wrong(span))?;
        Ok(DeviceInput::Cuda(Gpus::Chosen(gpus)))
    }

    /// A table whose `kind` says which keys it has.
    fn variant(
        &self,
        key: &Key,
        table: &DeTable,
        span: ops::Range<usize>,
        variants: &[Variant],
    ) -> Result<Fields> {
        let names: Vec<&str> = variants.iter().map(|v| v.name).collect();
        let Some((kind_key, kind)) = table.get_key_value("kind") else {
            return Err(self
                .source
                .error(&span, format!("\"{}\" needs a kind", key.name))
                .hint(format!("kind is one of {}", join(names.iter().copied(), "or"))));
        };
        let Some(word) = kind.get_ref().as_str() else {
            return Err(self.source.error(&kind.span(), "\"kind\" must be a string in quotes"));
        };
        self.one_of("kind", word, &names, &kind.span())?;
        let mut fields = Fields { label: key.name.to_string(), span: span.clone(), entries: Vec::new() };
        if let Some(variant) = variants.iter().find(|v| v.name == word) {
            let mut rest = table.clone();
            rest.remove("kind");
            let label = format!("{} of kind \"{word}\"", key.name);
            fields = self.table(&rest, span, &variant.section, &label)?;
        }
        let kind = given(kind_key, kind, Value::Text(word.into()));
        fields.entries.insert(0, kind);
        Ok(fields)
    }

    fn one_of(&self, name: &str, word: &str, words: &[&str], span: &ops::Range<usize>) -> Result<()> {
        if words.contains(&word) {
            return Ok(());
        }
        Err(self.not_one_of(name, word, words, span))
    }

    fn not_one_of(&self, name: &str, word: &str, words: &[&str], span: &ops::Range<usize>) -> Error {
        let choices = join(words.iter().copied(), "or");
        let error = self.source.error(span, format!("\"{name}\" cannot be \"{word}\""));
        match nearest(word, words.iter().copied()) {
            Some(near) => error.hint(format!("did you mean \"{near}\"? It may be {choices}")),
            None => error.hint(format!("it may be {choices}")),
        }
    }
}

/// One answer for all axes, or one for each; `None` if it is neither.
fn axes(item: &Item) -> Result<Option<[bool; 3]>> {
    match item.get_ref() {
        DeValue::Boolean(all) => Ok(Some([*all; 3])),
        _ => triple(item, |axis| Ok(axis.get_ref().as_bool())),
    }
}

/// Strings of an array; `None` if it is none, or has other items.
fn names(item: &Item) -> Option<Vec<String>> {
    item.get_ref().as_array()?.iter().map(|name| name.get_ref().as_str().map(str::to_string)).collect()
}

/// Tables of an array, in order.
///
/// # Errors
/// That of `wrong` where the item is no array of tables, and those of `read`.
fn tables(
    item: &Item,
    wrong: impl Fn() -> Error,
    read: impl Fn(&DeTable, ops::Range<usize>) -> Result<Fields>,
) -> Result<Vec<Fields>> {
    let items = item.get_ref().as_array().ok_or_else(&wrong)?;
    items.iter().map(|t| read(t.get_ref().as_table().ok_or_else(&wrong)?, t.span())).collect()
}
