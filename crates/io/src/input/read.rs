//! Values from TOML, checked against the schema: names, types, units, ranges, and which keys go together.
//! The meaning of the values is left to `build`. The file is one recursion over tables and kinds of values, which is
//! why it is long.

pub(super) mod words;

use super::choice::{ForceKind, NamedChoice};
use super::fields::{Entry, Fields, Origin, Value};
use super::model::{DeviceInput, GpuSet, Gpus, Source};
use super::schema::{
    Alternatives, Fallback, Key, Kind, Needed, NumberRange, Section, Variant, pair_cutoff, pair_keys,
    table_keys,
};
use jostle_core::quantity::{nearest, parse_any_quantity, parse_quantity};
use jostle_core::{Dimension, Error, Result, UnitSystem};
use std::ops;
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};
use words::{article, join, what};

/// Reads tables of one file.
pub(super) struct Reader<'a> {
    source: &'a Source,
    units: UnitSystem,
}

/// Keys of a pair of species.
enum PairKeys {
    /// Keys that are known beforehand.
    Fixed(Vec<Key>),
    /// Numbers of any name, besides the cut-off.
    Free(Key),
}

impl PairKeys {
    /// Keys of the pairs of a force with this `kind`.
    fn of(force: &Fields) -> PairKeys {
        match force.choice::<ForceKind>("kind").map(|k| k.value) {
            Some(ForceKind::BuiltIn(kind)) => PairKeys::Fixed(pair_keys(kind)),
            Some(ForceKind::Table) => PairKeys::Fixed(table_keys()),
            _ => PairKeys::Free(pair_cutoff()),
        }
    }
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

    fn refuse_unknown(&self, table: &DeTable, keys: &[Key], label: &str) -> Result<()> {
        let unknown = table.keys().filter(|name| !keys.iter().any(|k| k.name == name.get_ref().as_ref()));
        // The first in the file is reported.
        let Some(name) = unknown.min_by_key(|name| name.span().start) else { return Ok(()) };
        let error = self.source.error(&name.span(), format!("unknown key \"{}\" in {label}", name.get_ref()));
        Err(match nearest(name.get_ref(), keys.iter().map(|k| k.name)) {
            Some(near) => error.hint(format!("did you mean \"{near}\"?")),
            None => error.hint(format!("{label} may have {}", join(keys.iter().map(|k| k.name), "and"))),
        })
    }

    /// Refuses alternatives given together, and keys without the one they belong to.
    fn refuse_contradictions(
        &self,
        table: &DeTable,
        keys: &[Key],
        alternatives: &[Alternatives],
        span: &ops::Range<usize>,
        label: &str,
    ) -> Result<()> {
        let place = |name: &str| table.get_key_value(name).map(|(key, _)| key.span());
        for group in alternatives {
            let mut given: Vec<_> = group.keys.iter().filter_map(|k| Some((*k, place(k)?))).collect();
            given.sort_by_key(|(_, span)| span.start);
            if let [(first, _), (second, span), ..] = &given[..] {
                let message = format!("\"{second}\" contradicts \"{first}\" in {label}");
                return Err(self.source.error(span, message).hint("give only one of the two"));
            }
        }
        for group in alternatives {
            let needed = match group.needed {
                Needed::Always => true,
                Needed::Never => false,
                Needed::With(key) => table.contains_key(key),
            };
            if needed && !group.keys.iter().any(|k| table.contains_key(*k)) {
                self.refuse_dependents(table, keys, group, label)?;
                let choice = join(group.keys.iter().copied(), "or");
                let error = self.source.error(span, format!("{label} needs {choice}"));
                let first = keys.iter().find(|k| group.keys.contains(&k.name));
                return Err(match first {
                    Some(key) => error.hint(format!("add for example {}", self.usage(key, label))),
                    None => error,
                });
            }
        }
        for key in keys.iter().filter(|k| !k.with.is_empty()) {
            if let Some(span) = place(key.name)
                && !key.with.iter().any(|k| table.contains_key(*k))
            {
                let needed = join(key.with.iter().copied(), "or");
                let message = format!("\"{}\" in {label} means nothing without {needed}", key.name);
                return Err(self
                    .source
                    .error(&span, message)
                    .hint(format!("leave it out, or give {needed}")));
            }
        }
        Ok(())
    }

    /// Refuses a key that belongs to just one of several alternatives, of which none is given.
    fn refuse_dependents(
        &self,
        table: &DeTable,
        keys: &[Key],
        group: &Alternatives,
        label: &str,
    ) -> Result<()> {
        for key in keys {
            let [owner] = key.with else { continue };
            let owner = keys.iter().find(|k| k.name == *owner && group.keys.contains(&k.name));
            if let (Some(owner), Some((given, _))) = (owner, table.get_key_value(key.name)) {
                let message = format!("\"{}\" in {label} means nothing without \"{}\"", key.name, owner.name);
                let usage = self.usage(owner, label);
                let hint = format!("{}: {}; add {usage}: {}", key.name, key.about, owner.about);
                return Err(self.source.error(&given.span(), message).hint(hint));
            }
        }
        Ok(())
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
            Kind::Text | Kind::Path => {
                let text = text()?;
                if text.is_empty() && matches!(key.kind, Kind::Path) {
                    return Err(self.source.error(&span, format!("\"{}\" is empty", key.name)));
                }
                Value::Text(text.to_string())
            }
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
            Kind::Ramp(dimensions, range) => {
                self.ramp(key.name, item, dimensions, range)?.ok_or_else(wrong)?
            }
            Kind::Ramps(dimensions, range) => {
                Value::Named(self.ramps(item, dimensions, range)?.ok_or_else(wrong)?)
            }
            Kind::Choice(words) => {
                let names: Vec<&str> = words().iter().map(|w| w.0).collect();
                self.one_of(key.name, text()?, &names, &span)?;
                Value::Text(text()?.to_string())
            }
            Kind::Device => match item.get_ref() {
                DeValue::Array(items) => Value::Device(self.gpus(key, items, &span)?),
                _ => Value::Device(self.device(key, text()?, &span)?),
            },
            Kind::Axes => match item.get_ref() {
                DeValue::Boolean(all) => Value::Axes([*all; 3]),
                _ => Value::Axes(triple(item, |axis| Ok(axis.get_ref().as_bool()))?.ok_or_else(wrong)?),
            },
            Kind::Counts => Value::Counts(triple(item, |n| self.count(key, n, 1))?.ok_or_else(wrong)?),
            Kind::Vector(dimensions, range) => {
                Value::Vector(self.vector(key, item, dimensions, range)?.ok_or_else(wrong)?)
            }
            Kind::Names => Value::Names(names(item).ok_or_else(wrong)?),
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
                let kind = fields.get::<String>("kind").map(|k| k.value).unwrap_or_default();
                let keys = (types.keys)(&kind);
                Value::Named(named(table()?, |name, item| self.typed(&keys, name, item))?)
            }
            Kind::Numbers => Value::Named(named(table()?, |name, item| self.any_number(name, item))?),
        })
    }

    fn device(&self, key: &Key, word: &str, span: &ops::Range<usize>) -> Result<DeviceInput> {
        let names: Vec<&str> = DeviceInput::ALL.iter().map(|d| d.name()).collect();
        word.parse().map_err(|_| self.not_one_of(key.name, word, &names, span))
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

    /// Values that may change in a stage, by name; `None` where the item is neither a list of names nor a table.
    fn ramps(
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

    /// Three quantities; `None` where the item is something else.
    fn vector(
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

    /// `[species.Ar]`
    fn named_table(&self, key: &Key, section: &Section, name: &str, item: &Item) -> Result<Value> {
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
    fn pair(&self, keys: &PairKeys, name: &str, item: &Item) -> Result<Value> {
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
    fn typed(&self, keys: &[Key], name: &str, item: &Item) -> Result<Value> {
        let label = format!("types.{name}");
        let DeValue::Table(inner) = item.get_ref() else {
            let hint = format!("write {label} = {}", self.example_table(keys));
            let message = format!("{label} must be a table of parameters");
            return Err(self.source.error(&item.span(), message).hint(hint));
        };
        self.keys(inner, item.span(), keys, &[], &label).map(Value::Table)
    }

    /// A number in the units of the file, or text with a unit of any dimension.
    fn any_number(&self, name: &str, item: &Item) -> Result<Value> {
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

    /// A number in the units of the file, or text with a unit.
    fn quantity(&self, item: &Item, dimensions: &[Dimension]) -> Result<Option<(f64, Dimension)>> {
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
    fn ramp(
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

    fn count(&self, key: &Key, item: &Item, least: u64) -> Result<Option<u64>> {
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

    fn in_range(&self, name: &str, x: f64, range: NumberRange, span: &ops::Range<usize>) -> Result<f64> {
        if range.contains(x) {
            return Ok(x);
        }
        Err(self.source.error(span, format!("\"{name}\" is {x}, but must be {}", range.about())))
    }
}

/// Entries of a table with free names, in the order of the file.
fn named(table: &DeTable, read: impl Fn(&str, &Item) -> Result<Value>) -> Result<Vec<Entry>> {
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

fn number(value: &DeValue) -> Option<f64> {
    match value {
        DeValue::Float(f) => f.as_str().parse().ok(),
        DeValue::Integer(i) => i128::from_str_radix(i.as_str(), i.radix()).ok().map(|n| n as f64),
        _ => None,
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

/// Three items of a list; `None` if it is no list of three or an item is of the wrong type.
fn triple<T: Copy>(item: &Item, read: impl Fn(&Item) -> Result<Option<T>>) -> Result<Option<[T; 3]>> {
    let Some([a, b, c]) = item.get_ref().as_array().map(|a| &a[..]) else { return Ok(None) };
    let values = [read(a)?, read(b)?, read(c)?];
    Ok(match values {
        [Some(a), Some(b), Some(c)] => Some([a, b, c]),
        _ => None,
    })
}
