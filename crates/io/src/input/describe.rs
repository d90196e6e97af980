//! The schema for people ([`schema_text`]) and for programs ([`schema_json`]).

use super::choice::choices;
use super::keys::{ANGLE_TYPES, BOND_TYPES, DIHEDRAL_TYPES, INPUT};
use super::model::DeviceInput;
use super::schema::{
    Alternatives, Fallback, Key, Kind, Needed, NumberRange, Section, Types, Variant, pair_cutoff, pair_keys,
    table_keys,
};
use jostle_core::quantity::{UNITS, describe};
use jostle_core::{Dimension, UnitSystem};
use jostle_potentials::PairKind;
use jostle_potentials::formula::FUNCTIONS;
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Every key of an input file, for people.
pub fn schema_text() -> String {
    let mut out = String::from(
        "An input file is TOML. Numbers are in the units of the file, or text with a unit: \"1.374 g/cm3\".\n",
    );
    heading(&mut out, "at the top of the file", "");
    for key in INPUT.keys.iter().filter(|k| child(k.kind).is_none()) {
        line(&mut out, key);
    }
    for key in INPUT.keys {
        match key.kind {
            Kind::Table(section) => section_text(&mut out, &format!("[{}]", key.name), key, section),
            Kind::Tables(section) => section_text(&mut out, &format!("[[{}]]", key.name), key, section),
            Kind::Named(section) => section_text(&mut out, &format!("[{}.NAME]", key.name), key, section),
            _ => {}
        }
    }
    heading(&mut out, "pairs, by the kind of the force", "");
    for kind in PairKind::ALL {
        let _ = writeln!(out, "  kind = \"{}\"  u(r) = {}", kind.name(), kind.formula());
        for preset in kind.presets() {
            let _ = writeln!(out, "      preset = \"{}\": {}", preset.name, preset.about);
        }
        for key in pair_keys(*kind) {
            line(&mut out, &key);
        }
    }
    let _ = writeln!(out, "  kind = \"formula\"  u(r) = energy");
    line(&mut out, &pair_cutoff());
    for about in formula_names() {
        let _ = writeln!(out, "      {about}");
    }
    let _ = writeln!(out, "  kind = \"table\"  u(r) by cubics in r^2");
    table_keys().iter().for_each(|key| line(&mut out, key));
    for types in [&BOND_TYPES, &ANGLE_TYPES, &DIHEDRAL_TYPES] {
        heading(&mut out, &format!("types, by the kind of the {}", types.what), "");
        for (kind, formula) in (types.kinds)() {
            let _ = writeln!(out, "  kind = \"{kind}\"  u = {formula}");
            (types.keys)(kind).iter().for_each(|key| line(&mut out, key));
        }
    }
    heading(&mut out, "units in quantities", "products and powers as in kcal/mol/A, kg/m^3, 1/ps");
    for (what, names) in units() {
        let _ = writeln!(out, "  {what:<18} {}", names.join(", "));
    }
    out
}

/// Lines about the names that a formula may have.
pub(super) fn formula_names() -> [String; 5] {
    let functions: Vec<&str> = FUNCTIONS.iter().map(|f| f.0).collect();
    [
        "numbers of any name, for the names in energy; besides, there are for the two species of".to_string(),
        "the pair mass_a, mass_b, charge_a, charge_b and NAME_a, NAME_b of their constants, and".to_string(),
        "coulomb, pi and r. Products may be written without *, powers with ^; functions are".to_string(),
        functions.join(", "),
        "as in if(r < 1, a, b); step(x) is 1 from x = 0 on. \"..., r < b\": it ends there".to_string(),
    ]
}

/// Units by the dimension that they are of.
pub(super) fn units() -> Vec<(String, Vec<&'static str>)> {
    let mut names: Vec<(Dimension, Vec<&str>)> = Vec::new();
    for unit in UNITS {
        match names.last_mut() {
            Some((dimension, group)) if *dimension == unit.dimension => group.push(unit.names[0]),
            _ => names.push((unit.dimension, vec![unit.names[0]])),
        }
    }
    names.into_iter().map(|(dimension, names)| (bare(dimension), names)).collect()
}

/// Name of a dimension without its article.
fn bare(dimension: Dimension) -> String {
    let name = describe(dimension);
    name.trim_start_matches("an ").trim_start_matches("a ").to_string()
}

/// Columns for keys and what stands behind them.
const WIDTH: usize = 28;

fn heading(out: &mut String, title: &str, about: &str) {
    let dash = if about.is_empty() { "" } else { ": " };
    let _ = writeln!(out, "\n{title}{dash}{about}");
}

fn section_text(out: &mut String, title: &str, key: &Key, section: &Section) {
    heading(out, title, key.about);
    for group in section.alternatives {
        let _ = writeln!(out, "  ({})", rule(group));
    }
    for key in section.keys {
        line(out, key);
    }
}

/// A key and what is inside it.
fn line(out: &mut String, key: &Key) {
    let name = format!("{} = {}", key.name, shape(key.kind));
    let notes = notes(key);
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join("; ")) };
    let gap = if name.len() > WIDTH { format!("\n{:WIDTH$}", "") } else { " ".repeat(WIDTH - name.len()) };
    let _ = writeln!(out, "  {name}{gap}   {}{notes}", key.about);
    match key.kind {
        Kind::Choice(words) => listed(out, words()),
        Kind::Device => listed(out, choices::<DeviceInput>()),
        Kind::Table(section) => indented(out, section.keys),
        Kind::Variants(variants) => variants_text(out, variants),
        Kind::OneOf(variants) => variants_text(out, variants()),
        Kind::Several(variants) => variants_text(out, variants()),
        _ => {}
    }
}

/// Keys without which a key makes no sense, and its default.
pub(super) fn notes(key: &Key) -> Vec<String> {
    let default = match key.default {
        Fallback::Required => Some("required".to_string()),
        Fallback::Value(text) => Some(format!("default {text}")),
        Fallback::ByUnits(texts) => {
            let each = UnitSystem::ALL.iter().zip(texts).map(|(u, text)| format!("{text} in {u}"));
            Some(format!("default {}", each.collect::<Vec<_>>().join(", ")))
        }
        Fallback::Absent("") => None,
        Fallback::Absent(what) => Some(format!("default: {what}")),
    };
    let with = (!key.with.is_empty()).then(|| format!("with {}", key.with.join(" or ")));
    with.into_iter().chain(default).collect()
}

fn variants_text(out: &mut String, variants: &[Variant]) {
    for variant in variants {
        let _ = writeln!(out, "      kind = \"{}\": {}", variant.name, variant.about);
        indented(out, variant.section.keys);
    }
}

fn listed(out: &mut String, words: Vec<(&str, &str)>) {
    for (word, about) in words {
        let _ = writeln!(out, "      {:<20} {about}", format!("\"{word}\""));
    }
}

fn indented(out: &mut String, keys: &[Key]) {
    let mut inner = String::new();
    for key in keys {
        line(&mut inner, key);
    }
    for l in inner.lines() {
        let _ = writeln!(out, "      {l}");
    }
}

pub(super) fn rule(group: &Alternatives) -> String {
    let keys = group.keys.join(", ");
    match group.needed {
        Needed::Always => format!("exactly one of {keys}"),
        Needed::Never => format!("at most one of {keys}"),
        Needed::With(key) => format!("with {key}, exactly one of {keys}"),
    }
}

/// Values of a key, briefly.
pub(super) fn shape(kind: Kind) -> String {
    match kind {
        Kind::Text => "text".into(),
        Kind::Path => "path".into(),
        Kind::Flag => "true | false".into(),
        Kind::Count(_) => "whole number".into(),
        Kind::Number(_) => "number".into(),
        Kind::Quantity(dimensions, _) => dimensions.iter().map(|d| bare(*d)).collect::<Vec<_>>().join(" | "),
        Kind::QuantityOr(dimensions, range, words) => {
            let words = words().into_iter().map(|w| format!("\"{}\"", w.0));
            [shape(Kind::Quantity(dimensions, range))]
                .into_iter()
                .chain(words)
                .collect::<Vec<_>>()
                .join(" | ")
        }
        Kind::Ramp(dimensions, range) => {
            let one = shape(Kind::Quantity(dimensions, range));
            format!("{one} | [first, last]")
        }
        Kind::Ramps(..) => "[\"A\", \"B\"] | { A = number, B = [first, last] }".into(),
        Kind::Choice(_) | Kind::Device => "word".into(),
        Kind::Axes => "true | false | [x, y, z]".into(),
        Kind::Counts => "[a, b, c]".into(),
        Kind::Vector(..) => "[x, y, z]".into(),
        Kind::Names => "[\"A\", \"B\"]".into(),
        Kind::Series(_) => "[number, ...]".into(),
        Kind::Table(_) => "{ ... }".into(),
        Kind::Numbers => "{ NAME = number, ... }".into(),
        Kind::Variants(_) | Kind::OneOf(_) => "{ kind = ..., ... }".into(),
        Kind::Several(_) => "[{ kind = ..., ... }, ...]".into(),
        Kind::Tables(_) | Kind::Named(_) | Kind::Pairs | Kind::Types(_) => "tables".into(),
    }
}

/// The section that a top-level key opens.
pub(super) fn child(kind: Kind) -> Option<&'static Section> {
    match kind {
        Kind::Table(s) | Kind::Tables(s) | Kind::Named(s) => Some(s),
        _ => None,
    }
}

/// The schema as JSON Schema (draft 2020-12), which editors understand.
pub fn schema_json() -> Value {
    let mut schema = section_json(&INPUT, &[]);
    if let Value::Object(map) = &mut schema {
        map.insert("$schema".into(), json!("https://json-schema.org/draft/2020-12/schema"));
        let version = env!("CARGO_PKG_VERSION");
        map.insert("$id".into(), json!(format!("urn:jostle:input:{version}")));
        map.insert("title".into(), json!(format!("Input of Jostle {version}")));
    }
    schema
}

fn section_json(section: &Section, extra: &[(&str, Value)]) -> Value {
    let mut object = keys_json(section.keys, extra);
    if let Value::Object(map) = &mut object {
        let conditions: Vec<Value> = section.alternatives.iter().map(alternatives_json).collect();
        if !conditions.is_empty() {
            map.insert("allOf".into(), Value::Array(conditions));
        }
    }
    object
}

fn keys_json(keys: &[Key], extra: &[(&str, Value)]) -> Value {
    let mut properties = Map::new();
    let mut required: Vec<&str> = Vec::new();
    let mut dependent = Map::new();
    for (name, value) in extra {
        properties.insert((*name).into(), value.clone());
        required.push(name);
    }
    for key in keys {
        let mut value = kind_json(key.kind);
        if let Value::Object(map) = &mut value {
            map.insert("description".into(), json!(key.about));
            if let Some(default) = default_json(key.default) {
                map.insert("default".into(), default);
            }
        }
        properties.insert(key.name.into(), value);
        match (key.default, key.with) {
            (Fallback::Required, []) => required.push(key.name),
            (Fallback::Required, with) => {
                for other in with {
                    dependent.insert((*other).into(), json!([key.name]));
                }
            }
            _ => {}
        }
    }
    let mut object = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    if let (Value::Object(map), false) = (&mut object, dependent.is_empty()) {
        map.insert("dependentRequired".into(), Value::Object(dependent));
    }
    object
}

/// A default that is a plain TOML value, as JSON.
fn default_json(default: Fallback) -> Option<Value> {
    let Fallback::Value(text) = default else { return None };
    let table: toml::Table = toml::from_str(&format!("value = {text}")).ok()?;
    serde_json::to_value(table.get("value")?).ok()
}

fn alternatives_json(group: &Alternatives) -> Value {
    let one = |key: &&str| json!({ "required": [key] });
    let mut choices: Vec<Value> = group.keys.iter().map(one).collect();
    let none = json!({ "not": { "anyOf": choices.clone() } });
    match group.needed {
        Needed::Always => json!({ "oneOf": choices }),
        Needed::Never => {
            choices.push(none);
            json!({ "oneOf": choices })
        }
        Needed::With(key) => json!({ "if": { "required": [key] }, "then": { "oneOf": choices } }),
    }
}

fn kind_json(kind: Kind) -> Value {
    let three = |items: Value| json!({ "type": "array", "items": items, "minItems": 3, "maxItems": 3 });
    match kind {
        Kind::Text | Kind::Path => json!({ "type": "string" }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Count(least) => json!({ "type": "integer", "minimum": least }),
        Kind::Number(range) => range_json(range),
        Kind::Quantity(_, range) => json!({ "anyOf": [range_json(range), { "type": "string" }] }),
        Kind::QuantityOr(dimensions, range, _) => kind_json(Kind::Quantity(dimensions, range)),
        Kind::Ramp(dimensions, range) => {
            let one = kind_json(Kind::Quantity(dimensions, range));
            json!({ "anyOf": [one, { "type": "array", "items": one, "minItems": 2, "maxItems": 2 }] })
        }
        Kind::Ramps(dimensions, range) => json!({ "anyOf": [
            { "type": "array", "items": { "type": "string" } },
            { "type": "object", "additionalProperties": kind_json(Kind::Ramp(dimensions, range)) },
        ] }),
        Kind::Choice(words) => json!({ "oneOf": words_json(words()) }),
        Kind::Device => {
            let mut choices = words_json(choices::<DeviceInput>());
            choices.push(json!({ "type": "string", "pattern": "^cuda:[0-9]+(,[0-9]+)*$" }));
            choices.push(
                json!({ "type": "array", "items": { "type": "string", "pattern": "^cuda(:[0-9]+)?$" } }),
            );
            json!({ "oneOf": choices })
        }
        Kind::Axes => json!({ "anyOf": [{ "type": "boolean" }, three(json!({ "type": "boolean" }))] }),
        Kind::Counts => three(json!({ "type": "integer", "minimum": 1 })),
        Kind::Vector(_, range) => three(json!({ "anyOf": [range_json(range), { "type": "string" }] })),
        Kind::Names => json!({ "type": "array", "items": { "type": "string" } }),
        Kind::Series(range) => json!({ "type": "array", "items": range_json(range) }),
        Kind::Table(section) => section_json(section, &[]),
        Kind::Variants(variants) => {
            let one = |v: &Variant| {
                let kind = json!({ "const": v.name, "description": v.about });
                section_json(&v.section, &[("kind", kind)])
            };
            json!({ "oneOf": variants.iter().map(one).collect::<Vec<_>>() })
        }
        Kind::OneOf(variants) => kind_json(Kind::Variants(variants())),
        Kind::Several(variants) => {
            json!({ "type": "array", "items": kind_json(Kind::Variants(variants())) })
        }
        Kind::Tables(section) => json!({ "type": "array", "items": section_json(section, &[]) }),
        Kind::Named(section) => {
            json!({ "type": "object", "additionalProperties": section_json(section, &[]) })
        }
        Kind::Types(types) => types_json(types),
        Kind::Numbers => json!({ "type": "object", "additionalProperties": any_number() }),
        Kind::Pairs => {
            // Alternatives of which one applies, by the kind of the force.
            let kinds = PairKind::ALL.iter().map(|kind| {
                let mut table = keys_json(&pair_keys(*kind), &[]);
                if let Value::Object(map) = &mut table {
                    map.insert("title".into(), json!(kind.name()));
                    map.insert("description".into(), json!(kind.formula()));
                }
                table
            });
            let formula =
                json!({ "title": "formula", "type": "object", "additionalProperties": any_number() });
            let mut table = keys_json(&table_keys(), &[]);
            if let Value::Object(map) = &mut table {
                map.insert("title".into(), json!("table"));
            }
            let others = [json!({ "const": "none" }), formula, table];
            json!({ "type": "object", "additionalProperties": { "anyOf": others.into_iter().chain(kinds).collect::<Vec<_>>() } })
        }
    }
}

/// Alternatives of which one applies, by the kind of the bond or angle.
fn types_json(types: &Types) -> Value {
    let kinds = (types.kinds)().into_iter().map(|(kind, formula)| {
        let mut table = keys_json(&(types.keys)(kind), &[]);
        if let Value::Object(map) = &mut table {
            map.insert("title".into(), json!(kind));
            map.insert("description".into(), json!(formula));
        }
        table
    });
    json!({ "type": "object", "additionalProperties": { "anyOf": kinds.collect::<Vec<_>>() } })
}

fn any_number() -> Value {
    json!({ "anyOf": [range_json(NumberRange::Any), { "type": "string" }] })
}

fn words_json(words: Vec<(&str, &str)>) -> Vec<Value> {
    words.into_iter().map(|(word, about)| json!({ "const": word, "description": about })).collect()
}

fn range_json(range: NumberRange) -> Value {
    match range {
        NumberRange::Any => json!({ "type": "number" }),
        NumberRange::NonNegative => json!({ "type": "number", "minimum": 0 }),
        NumberRange::Positive => json!({ "type": "number", "exclusiveMinimum": 0 }),
        NumberRange::Fraction => json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 1 }),
        NumberRange::UnitInterval => json!({ "type": "number", "minimum": 0, "maximum": 1 }),
        NumberRange::Inside => json!({ "type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1 }),
        NumberRange::Turns => json!({ "type": "integer", "minimum": 1, "maximum": 6 }),
    }
}
