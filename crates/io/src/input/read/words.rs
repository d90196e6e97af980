//! Words of messages about values: their kinds, and examples of them.

use super::{Reader, TOP};
use crate::input::schema::{Key, Kind};
use jostle_core::quantity::unit_name;

impl Reader<'_> {
    /// Key as it is written in a file.
    pub(super) fn usage(&self, key: &Key, label: &str) -> String {
        match key.kind {
            Kind::Table(_) if label == TOP => format!("a section [{}]", key.name),
            Kind::Tables(_) => format!("a section [[{}]]", key.name),
            Kind::Named(_) => format!("a section [{}.NAME]", key.name),
            kind => format!("{} = {}", key.name, self.example(kind)),
        }
    }

    /// Example of a value.
    pub(super) fn example(&self, kind: Kind) -> String {
        match kind {
            Kind::Text => "\"text\"".into(),
            Kind::Path => "\"file.data\"".into(),
            Kind::Flag => "true".into(),
            Kind::Count(_) => "1000".into(),
            Kind::Number(_) => "0.5".into(),
            Kind::Quantity(dimensions, _) | Kind::QuantityOr(dimensions, ..) => {
                let unit = dimensions.first().map(|d| unit_name(self.units, *d)).unwrap_or_default();
                if unit.is_empty() { "1.5".into() } else { format!("1.5, or \"1.5 {unit}\"") }
            }
            Kind::Ramp(dimensions, _) => {
                let unit = dimensions.first().map(|d| unit_name(self.units, *d)).unwrap_or_default();
                if unit.is_empty() {
                    "1.5, or [1.5, 3.0]".into()
                } else {
                    format!("\"1.5 {unit}\", or [\"1.5 {unit}\", \"3 {unit}\"]")
                }
            }
            Kind::Ramps(..) => "[\"NAME\"], or { NAME = 1.5 }".into(),
            Kind::Choice(words) => {
                let words: Vec<String> = words().iter().map(|w| format!("\"{}\"", w.0)).collect();
                words.join(" | ")
            }
            Kind::Device => "\"auto\"".into(),
            Kind::Axes => "[true, true, false]".into(),
            Kind::Counts => "[6, 6, 6]".into(),
            Kind::Vector(..) => "[10.0, 10.0, 10.0]".into(),
            Kind::Names => "[\"A\", \"B\"]".into(),
            Kind::Series(_) => "[1, 0.5, 0]".into(),
            Kind::Table(section) => self.example_table(section.keys),
            Kind::Variants(variants) => match variants.first() {
                Some(v) => format!("{{ kind = \"{}\", ... }}", v.name),
                None => "{ }".into(),
            },
            Kind::OneOf(variants) => self.example(Kind::Variants(variants())),
            Kind::Several(variants) => format!("[{}]", self.example(Kind::Variants(variants()))),
            Kind::Tables(_) | Kind::Named(_) => "{ ... }".into(),
            Kind::Numbers => "{ kappa = 0.5 }".into(),
            Kind::Pairs => "{ \"A-A\" = { ... } }".into(),
            Kind::Types(_) => "{ chain = { ... } }".into(),
        }
    }

    pub(super) fn example_table(&self, keys: &[Key]) -> String {
        let one = |k: &Key| format!("{} = ...", k.name);
        format!("{{ {} }}", keys.iter().map(one).collect::<Vec<_>>().join(", "))
    }
}

/// Kind of a value in words.
pub(in crate::input) fn what(kind: Kind) -> &'static str {
    match kind {
        Kind::Text | Kind::Choice(_) | Kind::Device => "a string in quotes",
        Kind::Path => "a path in quotes",
        Kind::Flag => "true or false",
        Kind::Count(_) => "a whole number",
        Kind::Number(_) => "a number",
        Kind::Quantity(..) => "a number, or a string with a unit",
        Kind::QuantityOr(..) => "a number, a string with a unit or a word",
        Kind::Ramp(..) => "a number or a string with a unit, or a list of two of them",
        Kind::Ramps(..) => "a list of names, or a table with a number or two for each",
        Kind::Axes => "true, false or a list of three of them",
        Kind::Counts => "a list of three whole numbers",
        Kind::Vector(..) => "a list of three numbers",
        Kind::Names => "a list of names in quotes",
        Kind::Series(_) => "a list of numbers",
        Kind::Table(_)
        | Kind::Variants(_)
        | Kind::OneOf(_)
        | Kind::Named(_)
        | Kind::Pairs
        | Kind::Types(_)
        | Kind::Numbers => "a table",
        Kind::Several(_) => "a list of tables",
        Kind::Tables(_) => "a list of tables, [[...]]",
    }
}

/// Name of a kind of TOML values with its article.
pub(in crate::input) fn article(kind: &str) -> String {
    match kind {
        "integer" | "array" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

/// `"a", "b" or "c"`
pub(in crate::input) fn join<'a>(words: impl Iterator<Item = &'a str>, last: &str) -> String {
    let words: Vec<String> = words.map(|w| format!("\"{w}\"")).collect();
    match words.split_last() {
        Some((end, [])) => end.clone(),
        Some((end, rest)) => format!("{} {last} {end}", rest.join(", ")),
        None => String::new(),
    }
}
