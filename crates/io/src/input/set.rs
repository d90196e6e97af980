//! Values that replace those of an input before it is read: `system.temperature=300`, `stage.sample.steps=1000`.
//!
//! The text itself is changed, so that everything that follows, errors, checkpoints and copies of the input among
//! them, has the value where a person would have written it.

use jostle_core::quantity::nearest;
use jostle_core::{Error, Result};
use std::ops::Range;
use std::str::FromStr;
use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};

/// A value for a key of an input, such as `system.temperature=300`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// Names of tables and at last of the key; tables of a list go by their number, from 1, or by their name.
    path: Vec<String>,
    /// The value as TOML.
    value: String,
}

impl FromStr for Assignment {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (path, value) = text.split_once('=').ok_or_else(|| malformed(text, "there is no ="))?;
        Assignment::new(path, value)
    }
}

fn malformed(text: &str, why: &str) -> Error {
    Error::input(format!("'{text}' is no assignment: {why}"))
        .hint("write the key with its tables, and a value: system.temperature=300")
}

impl Assignment {
    /// A value for a key; text that is no TOML value is taken as a string, so that it needs no quotes.
    ///
    /// # Errors
    /// If a name of the path is empty, or the value has several lines.
    pub fn new(path: &str, value: &str) -> Result<Self> {
        let value = value.trim();
        let names = path_names(path.trim()).ok_or_else(|| malformed(path, "a name is missing"))?;
        if value.is_empty() || value.contains(['\n', '\r']) {
            return Err(malformed(&format!("{path}={value}"), "the value must be one line"));
        }
        let is_toml = |text: &str| {
            let read: std::result::Result<toml::Table, _> = toml::from_str(&format!("value = {text}"));
            read.is_ok_and(|table| table.len() == 1)
        };
        // Inputs have whole numbers of 64 bits, and no sign; TOML stops at 63.
        let is_whole = !value.starts_with('0') && value.bytes().all(|byte| byte.is_ascii_digit());
        let value = if is_whole || is_toml(value) {
            value.to_string()
        } else {
            Value::String(value.into()).to_string()
        };
        Ok(Assignment { path: names, value })
    }

    /// The path with dots.
    pub fn path(&self) -> String {
        self.path.join(".")
    }

    /// The key, the last name of the path.
    pub fn key(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }

    /// The value as TOML.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// The text of an input with the value in its place: that of the key, or a new line in its table.
    ///
    /// # Errors
    /// If the text is no TOML, or there is no such table.
    pub fn apply(&self, text: &str) -> Result<String> {
        let document = DeTable::parse(text)
            .map_err(|e| Error::input(format!("this is not valid TOML: {}", e.message())))?;
        let (range, new) = self.change(text, &document)?;
        let mut changed = text.to_string();
        changed.replace_range(range, &new);
        Ok(changed)
    }

    /// Range of the text that is replaced, and its replacement.
    fn change(&self, text: &str, document: &Spanned<DeTable>) -> Result<(Range<usize>, String)> {
        let (key, tables) = self.path.split_last().ok_or_else(|| malformed("", "a name is missing"))?;
        let line = format!("{} = {}", quoted(key), self.value);
        let (mut table, mut place) = (document.get_ref(), None);
        let mut names = tables.iter();
        while let Some(name) = names.next() {
            let Some(item) = table.get(name.as_str()) else {
                return match tables {
                    // A whole section that the input has not got, at its end.
                    [section] => {
                        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
                        let section = format!("{gap}\n[{}]\n{line}\n", quoted(section));
                        Ok((text.len()..text.len(), section))
                    }
                    _ => Err(self.missing(name, table.keys().map(|key| key.get_ref().to_string()))),
                };
            };
            let item = match item.get_ref() {
                DeValue::Array(list) => self.of_list(list, names.next())?,
                _ => item,
            };
            let DeValue::Table(inner) = item.get_ref() else {
                return Err(Error::input(format!("{} cannot be set: {name} is no table", self.path())));
            };
            (table, place) = (inner, Some(item.span()));
        }
        match table.get(key.as_str()) {
            Some(item) if is_section(text, item) => {
                Err(Error::input(format!("{} cannot be set: it is a section", self.path()))
                    .hint("set the keys in it one by one"))
            }
            Some(item) => Ok((item.span(), self.value.clone())),
            None => self.insertion(text, place, &line),
        }
    }

    /// The table of a list with this number, from 1, or with this name.
    fn of_list<'t, 'i>(
        &self,
        list: &'t [Spanned<DeValue<'i>>],
        which: Option<&String>,
    ) -> Result<&'t Spanned<DeValue<'i>>> {
        let name_of = |item: &Spanned<DeValue>| match item.get_ref() {
            DeValue::Table(table) => table.get("name")?.get_ref().as_str().map(str::to_string),
            _ => None,
        };
        let names = || list.iter().zip(1..).map(|(item, k)| name_of(item).unwrap_or(format!("{k}")));
        let Some(which) = which else { return Err(self.missing("", names())) };
        let numbered = which.parse::<usize>().ok().and_then(|k| list.get(k.checked_sub(1)?));
        let named = list.iter().find(|item| name_of(item).as_ref() == Some(which));
        named.or(numbered).ok_or_else(|| self.missing(which, names()))
    }

    /// Place and text of a new line of a table: behind its header, or at the end of its braces.
    fn insertion(
        &self,
        text: &str,
        place: Option<Range<usize>>,
        line: &str,
    ) -> Result<(Range<usize>, String)> {
        let Some(place) = place else { return Ok((0..0, format!("{line}\n"))) };
        let there = text.get(place.clone()).unwrap_or_default();
        if let Some(inner) = there.strip_prefix('{').and_then(|there| there.strip_suffix('}')) {
            let comma = if inner.trim().is_empty() { "" } else { ", " };
            let end = place.start + 1 + inner.trim_end().len();
            return Ok((end..end, format!("{comma}{line}")));
        }
        if there.starts_with('[') {
            let end = text[place.start..].find('\n').map_or(text.len(), |length| place.start + length);
            return Ok((end..end, format!("\n{line}")));
        }
        Err(Error::input(format!("{} cannot be set: the input has no such key", self.path()))
            .hint("write the key into the input; then it can be set"))
    }

    fn missing(&self, name: &str, names: impl Iterator<Item = String>) -> Error {
        let names: Vec<String> = names.collect();
        let message = match name {
            "" => format!("{} cannot be set: say which table of the list", self.path()),
            _ => format!("{} cannot be set: the input has no '{name}' there", self.path()),
        };
        match nearest(name, names.iter().map(String::as_str)) {
            Some(near) => Error::input(message).hint(format!("did you mean '{near}'?")),
            None => Error::input(message).hint(format!("there are: {}", names.join(", "))),
        }
    }
}

/// Returns true for tables with headers and lists of them, which are no values in one place.
fn is_section(text: &str, item: &Spanned<DeValue>) -> bool {
    match item.get_ref() {
        DeValue::Table(_) => !text[item.span()].starts_with('{'),
        DeValue::Array(list) => list.iter().any(|inner| is_section(text, inner)),
        _ => false,
    }
}

/// Names of a path with dots; names in quotes may have dots themselves.
fn path_names(path: &str) -> Option<Vec<String>> {
    let mut names = vec![String::new()];
    let mut quote = None;
    for c in path.chars() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('.', None) => names.push(String::new()),
            (c, _) => names.last_mut()?.push(c),
        }
    }
    (quote.is_none() && names.iter().all(|name| !name.is_empty())).then_some(names)
}

/// A key of TOML, in quotes where it needs them.
fn quoted(key: &str) -> String {
    let bare = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
    if bare { key.to_string() } else { Value::String(key.into()).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INPUT: &str = "title = \"t\"\n\n[system]\natoms = 10 # few\n\n[[stage]]\nname = \"a\"\nsteps = 1\n\n\
                         [[stage]]\nname = \"b\"\nthermo = { every = 5 }\n";

    fn set(assignment: &str) -> Result<String> {
        assignment.parse::<Assignment>()?.apply(INPUT)
    }

    /// Value at a path of the changed text.
    fn value(assignment: &str, path: &[&str]) -> String {
        let text = set(assignment).unwrap();
        let mut value: Value = toml::from_str(&text).unwrap_or_else(|e| panic!("{e} in\n{text}"));
        for name in path {
            value = match name.parse::<usize>() {
                Ok(k) => value[k].clone(),
                Err(_) => value[*name].clone(),
            };
        }
        value.to_string()
    }

    #[test]
    fn a_value_takes_the_place_of_that_of_the_input() {
        assert_eq!(set("system.atoms=20").unwrap(), INPUT.replace("10", "20"));
        assert_eq!(value("stage.1.steps=7", &["stage", "0", "steps"]), "7");
        assert_eq!(value("stage.a.steps = 1_000", &["stage", "0", "steps"]), "1000");
        assert_eq!(value("stage.b.thermo.every=9", &["stage", "1", "thermo", "every"]), "9");
        assert_eq!(value("title=a \"new\" one", &["title"]), "'a \"new\" one'");
        assert_eq!(value("title=007", &["title"]), "\"007\"");
        // Larger than whole numbers of TOML, but not of inputs.
        assert!(set("system.seed=18446744073709551615").unwrap().contains("seed = 18446744073709551615\n"));
        assert_eq!(value("title = \"quoted\"", &["title"]), "\"quoted\"");
    }

    #[test]
    fn a_key_that_is_not_there_becomes_a_line_of_its_table() {
        assert_eq!(value("system.temperature=300 K", &["system", "temperature"]), "\"300 K\"");
        assert_eq!(value("stage.a.timestep=2", &["stage", "0", "timestep"]), "2");
        assert_eq!(value("stage.2.steps=3", &["stage", "1", "steps"]), "3");
        assert_eq!(value("stage.b.thermo.file=x", &["stage", "1", "thermo", "file"]), "\"x\"");
        assert_eq!(value("units=real", &["units"]), "\"real\"");
        assert_eq!(value("run.threads=2", &["run", "threads"]), "2");
    }

    #[test]
    fn what_cannot_be_set_is_refused_with_a_hint() {
        let refused = |assignment: &str, cause: &str, hint: &str| {
            let error = set(assignment).expect_err(assignment);
            assert!(error.message().contains(cause), "{assignment}: {error}");
            assert!(error.help().unwrap_or_default().contains(hint), "{assignment}: {:?}", error.help());
        };
        refused("system.atoms", "no =", "system.temperature=300");
        refused("=3", "a name is missing", "");
        refused("system..atoms=3", "a name is missing", "");
        refused("system.atoms=", "one line", "");
        refused("system.atoms=1\ntitle = 2", "one line", "");
        refused("stages.a.steps=3", "no 'stages'", "'stage'");
        refused("stage.c.steps=3", "no 'c'", "a, b");
        refused("stage.3.steps=3", "no '3'", "");
        refused("stage=3", "it is a section", "one by one");
        refused("system=3", "it is a section", "one by one");
        refused("title.x=3", "title is no table", "");
    }
}
