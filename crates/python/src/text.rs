//! The text of an input from Python's values, so that one reader checks them all.

use jostle_io::Input;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple};
use std::fmt::Write as _;

/// Deepest nesting of values: more than any input has.
const DEEPEST: usize = 16;

/// The text of an input: plain values first, then tables and lists of tables under their headings.
///
/// # Errors
/// If a value is none that an input can have.
pub fn input(keys: &Bound<PyDict>) -> PyResult<String> {
    let (mut plain, mut tables) = (String::new(), String::new());
    for (key, value) in keys {
        let name = key_text(&key)?;
        if let Some(table) = mapping(&value) {
            let _ = writeln!(tables, "\n[{name}]\n{}", lines(&table, &name)?);
        } else if let Some(list) = list_of_tables(&value)? {
            for table in list {
                let _ = writeln!(tables, "\n[[{name}]]\n{}", lines(&table, &name)?);
            }
        } else if !value.is_none() {
            let _ = writeln!(plain, "{name} = {}", inline(&value, &name, 0)?);
        }
    }
    Ok(plain + &tables)
}

/// The text of a stage: each key with its value on one line.
pub struct StageText(Vec<(String, String)>);

impl StageText {
    /// The text of a stage from Python's values.
    ///
    /// # Errors
    /// As for [`input`].
    pub fn new(stage: &Bound<PyDict>) -> PyResult<Self> {
        let entries = entries(stage.as_mapping())?.into_iter();
        let one = |(name, value): (String, Bound<PyAny>)| {
            let text = inline(&value, &format!("stage.{name}"), 0)?;
            Ok((name, text))
        };
        Ok(StageText(entries.map(one).collect::<PyResult<_>>()?))
    }

    /// The text of a stage that goes on as the last stage of dynamics of an input ends; `None` without one.
    pub fn continuing(input: &Input, steps: u64) -> Option<Self> {
        let table: toml::Table = input.source.text.parse().ok()?;
        let stages = table.get("stage")?.as_array()?;
        let last = stages.iter().rev().filter_map(toml::Value::as_table).find(|s| s.contains_key("steps"))?;
        let mut stage = last.clone();
        stage.insert("steps".into(), toml::Value::Integer(i64::try_from(steps).ok()?));
        let taken = |name: &str| input.stages.iter().any(|stage| stage.value.name == name);
        let base = last.get("name").and_then(toml::Value::as_str).unwrap_or("run");
        let name = (2..).map(|number| format!("{base}-{number}")).find(|name| !taken(name))?;
        stage.insert("name".into(), toml::Value::String(name));
        // Changes in the course of the stage stay as they are at its end.
        for key in ["thermostat", "restraints"] {
            for (_, value) in stage.get_mut(key).and_then(toml::Value::as_table_mut).into_iter().flatten() {
                if let Some(last) = value.as_array().and_then(|ends| ends.last().cloned()) {
                    *value = last;
                }
            }
        }
        let one = |(name, value): (String, toml::Value)| (name, value.to_string());
        Some(StageText(stage.into_iter().map(one).collect()))
    }

    fn under_heading(&self) -> String {
        let lines = self.0.iter().map(|(name, value)| format!("{name} = {value}\n"));
        format!("[[stage]]\n{}\n", lines.collect::<String>())
    }

    fn inline(&self) -> String {
        let entries = self.0.iter().map(|(name, value)| format!("{name} = {value}"));
        format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
    }
}

/// The text of an input with a further stage in front of the one with this index, or at the end.
pub fn with_stage(input: &Input, index: usize, stage: &StageText) -> String {
    let text: &str = &input.source.text;
    let (at, added) = match (input.stages.get(index), input.stages.last()) {
        (Some(next), _) => match style(text, next.span.start) {
            (Style::Heading, start) => (start, stage.under_heading()),
            (Style::Inline, start) => (start, stage.inline() + ", "),
        },
        (None, Some(last)) if style(text, last.span.start).0 == Style::Inline => {
            (last.span.end, format!(", {}", stage.inline()))
        }
        _ => (text.len(), format!("\n{}", stage.under_heading())),
    };
    let (before, after) = text.split_at(at.min(text.len()));
    format!("{before}{added}{after}")
}

/// Way in which a stage is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Style {
    /// `[[stage]]`
    Heading,
    /// `stage = [{ ... }]`
    Inline,
}

/// The way in which a stage is written, and where it begins.
fn style(text: &str, start: usize) -> (Style, usize) {
    match (text[start..].starts_with('{'), text[start..].starts_with("[["), text[..start].rfind("[[")) {
        (true, ..) => (Style::Inline, start),
        (false, false, Some(heading)) => (Style::Heading, heading),
        (false, ..) => (Style::Heading, start),
    }
}

/// A line for each key of a table that has a value.
fn lines(table: &Bound<PyMapping>, place: &str) -> PyResult<String> {
    let mut text = String::new();
    for (name, value) in entries(table)? {
        let _ = writeln!(text, "{name} = {}", inline(&value, &format!("{place}.{name}"), 0)?);
    }
    Ok(text)
}

/// Names and values of a table, without those that are `None`.
fn entries<'py>(table: &Bound<'py, PyMapping>) -> PyResult<Vec<(String, Bound<'py, PyAny>)>> {
    let mut entries = Vec::new();
    for item in table.items()?.try_iter()? {
        let (key, value): (Bound<PyAny>, Bound<PyAny>) = item?.extract()?;
        if !value.is_none() {
            entries.push((key_text(&key)?, value));
        }
    }
    Ok(entries)
}

/// A value on one line; `place` names it in messages.
fn inline(value: &Bound<PyAny>, place: &str, depth: usize) -> PyResult<String> {
    if depth > DEEPEST {
        return Err(PyValueError::new_err(format!("{place}: values are nested too deeply")));
    }
    if value.is_instance_of::<PyBool>() {
        return Ok(value.extract::<bool>()?.to_string());
    }
    if value.is_instance_of::<PyInt>() {
        let number = value.extract::<i64>();
        return number
            .map(|number| number.to_string())
            .map_err(|_| PyValueError::new_err(format!("{place}: {value} is too large")));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(toml::Value::Float(value.extract()?).to_string());
    }
    if value.is_instance_of::<PyString>() {
        return quoted(value);
    }
    if let Some(table) = mapping(value) {
        let entries = entries(&table)?.into_iter().map(|(name, value)| {
            Ok(format!("{name} = {}", inline(&value, &format!("{place}.{name}"), depth + 1)?))
        });
        return Ok(format!("{{ {} }}", entries.collect::<PyResult<Vec<_>>>()?.join(", ")));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items =
            value.try_iter()?.zip(0..).map(|(item, k)| inline(&item?, &format!("{place}[{k}]"), depth + 1));
        return Ok(format!("[{}]", items.collect::<PyResult<Vec<_>>>()?.join(", ")));
    }
    // Paths, then arrays and numbers of NumPy.
    if value.hasattr("__fspath__")? {
        return quoted(&value.call_method0("__fspath__")?);
    }
    if value.hasattr("tolist")? {
        return inline(&value.call_method0("tolist")?, place, depth + 1);
    }
    let class = value.get_type().name()?;
    let message = format!("{place}: an input has no values of the type {class}");
    Err(PyTypeError::new_err(message))
}

fn quoted(text: &Bound<PyAny>) -> PyResult<String> {
    Ok(toml::Value::String(text.extract()?).to_string())
}

fn key_text(key: &Bound<PyAny>) -> PyResult<String> {
    let name: String = key.extract()?;
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match !name.is_empty() && name.chars().all(is_bare) {
        true => Ok(name),
        false => quoted(key),
    }
}

fn mapping<'py>(value: &Bound<'py, PyAny>) -> Option<Bound<'py, PyMapping>> {
    value.cast::<PyMapping>().ok().cloned()
}

/// The tables of a list that has nothing else.
fn list_of_tables<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Vec<Bound<'py, PyMapping>>>> {
    if !(value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>()) {
        return Ok(None);
    }
    let items = value.try_iter()?.collect::<PyResult<Vec<_>>>()?;
    Ok(items.iter().map(mapping).collect())
}
