//! Values that replace those of an input before it is read: `system.temperature=300`, `stage.sample.steps=1000`.
//!
//! The text itself is changed, so that everything that follows, errors, checkpoints and copies of the input among
//! them, has the value where a person would have written it.

use jostle_core::quantity::nearest;
use jostle_core::{Error, Result};
use std::ops::Range;
use std::path::Path;
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

    /// The text of an input, of this name, with all values in their places: each in that of its key, or in a new line of
    /// its table.
    ///
    /// # Errors
    /// If the text is no TOML, there is no such table, or a value would replace another of them.
    pub fn apply_all(all: &[Assignment], (name, text): (&Path, &str)) -> Result<String> {
        let mut text = text.to_string();
        let mut given: Vec<(Range<usize>, &Assignment)> = Vec::new();
        for assignment in all {
            let (range, new) = assignment.change_of(&text).map_err(|error| error.in_file(name))?;
            let replaced = |(place, _): &&(Range<usize>, &Assignment)| {
                range.start.max(place.start) < range.end.min(place.end)
            };
            if let Some((_, earlier)) = given.iter().find(replaced) {
                return Err(assignment.replaces(earlier));
            }
            let grown = |end: usize| end - range.len() + new.len();
            for (place, _) in given.iter_mut().filter(|(place, _)| place.end > range.start) {
                let start = if place.start < range.start { place.start } else { grown(place.start) };
                *place = start..grown(place.end);
            }
            given.push((range.start..range.start + new.len(), assignment));
            text.replace_range(range, &new);
        }
        Ok(text)
    }

    /// Error of a value that takes the place of an earlier one; tables of lists have two names, and tables have keys.
    fn replaces(&self, earlier: &Assignment) -> Error {
        match (self.path(), earlier.path()) {
            (own, other) if own == other => Error::given_twice(&own),
            (own, other) => Error::input(format!("{own} would replace {other}, which is given, too"))
                .hint("give each key one value"),
        }
    }

    /// Range of a text that is replaced, and its replacement.
    fn change_of(&self, text: &str) -> Result<(Range<usize>, String)> {
        let document = DeTable::parse(text)
            .map_err(|e| Error::input(format!("this is not valid TOML: {}", e.message())))?;
        self.change(text, &document)
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
        set_all(&[assignment])
    }

    fn set_all(assignments: &[&str]) -> Result<String> {
        let all = assignments.iter().map(|text| text.parse()).collect::<Result<Vec<Assignment>>>()?;
        Assignment::apply_all(&all, (Path::new("input.toml"), INPUT))
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
    fn a_value_that_would_replace_another_is_refused() {
        let refused = |assignments: &[&str], cause: &str| {
            let error = set_all(assignments).expect_err(cause);
            assert!(error.message().contains(cause), "{assignments:?}: {error}");
        };
        refused(&["system.atoms=1", "title=other", "system.atoms=2"], "system.atoms is given twice");
        refused(&["system.atoms=1", "system.atoms=1"], "system.atoms is given twice");
        // Keys that the input has not got: in a table of it, at its head, in a new section, in braces.
        for key in ["system.temperature", "units", "run.threads", "stage.b.thermo.file"] {
            refused(&[&format!("{key}=1"), "title=t", &format!("{key}=2")], "is given twice");
        }
        refused(&["stage.a.steps=7", "stage.1.steps=8"], "stage.1.steps would replace stage.a.steps");
        refused(&["stage.2.thermo.every=7", "stage.b.thermo={ every = 8 }"], "replace stage.2.thermo.every");
        refused(&["stage.b.thermo={ every = 8 }", "stage.2.thermo.every=7"], "would replace stage.b.thermo");
    }

    #[test]
    fn values_of_several_keys_stand_beside_each_other() {
        let text = set_all(&[
            "units=real",
            "run.threads=2",
            "system.atoms=1000",
            "run.precision=double",
            "stage.b.thermo={ every = 8 }",
            "stage.2.thermo.file=x",
            "stage.b.steps=3",
            "system.seed=5",
            "run.device=cpu",
        ]);
        let read: toml::Table = toml::from_str(&text.unwrap()).unwrap();
        let expected = INPUT.replace("title", "units = \"real\"\ntitle").replace("10", "1000\nseed = 5");
        let expected = expected.replace("every = 5 }", "every = 8, file = \"x\" }\nsteps = 3")
            + "[run]\nthreads = 2\nprecision = \"double\"\ndevice = \"cpu\"\n";
        assert_eq!(read, toml::from_str(&expected).unwrap());
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
