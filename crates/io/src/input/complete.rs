//! An input with every default filled in, as TOML that means the same.

use super::choice::ForceKind;
use super::fields::{Entry, Fields, Origin, Value};
use super::keys::INPUT;
use super::model::{Input, Minimizer, Source};
use super::read::read;
use super::schema::{Fallback, Key, Kind, Section, Variant, pair_keys, table_keys};
use super::system::NOT_BESIDE_A_TOPOLOGY;
use jostle_core::quantity::unit_name;
use jostle_core::{Dimension, Result, UnitSystem};
use std::fmt::Write;

impl Input {
    /// The input with every default filled in: TOML that reads back as the same input. Quantities
    /// with units are followed by their values in the units of the file; keys that are absent and
    /// have no value of their own are named in comments.
    ///
    /// # Errors
    /// Errors of [`Input::parse`], if the text of the input is not what it was read from.
    pub fn completed(&self) -> Result<String> {
        let (units, root) = read(&self.source, &INPUT)?;
        let printer = Printer { source: &self.source, units };
        let mut out = String::new();
        printer.top(&mut out, &root);
        Ok(out)
    }
}

struct Printer<'a> {
    source: &'a Source,
    units: UnitSystem,
}

impl Printer<'_> {
    fn top(&self, out: &mut String, root: &Fields) {
        let system = root.get::<Fields>("system");
        let has_topology = system.is_some_and(|system| system.value.has_key("topology"));
        let fits = |key: &&Key| !(has_topology && NOT_BESIDE_A_TOPOLOGY.contains(&key.name));
        let plain = INPUT.keys.iter().filter(|k| !opens_section(k.kind)).filter(fits);
        plain.for_each(|key| self.line(out, key, root));
        for key in INPUT.keys {
            let Some(entry) = root.entry(key.name) else { continue };
            match (key.kind, &entry.value) {
                (Kind::Table(section), Value::Table(fields)) => {
                    let _ = writeln!(out, "\n[{}]", key.name);
                    self.section(out, section, fields);
                }
                (Kind::Tables(section), Value::Tables(tables)) => {
                    for fields in tables {
                        let _ = writeln!(out, "\n[[{}]]", key.name);
                        self.section(out, section, fields);
                    }
                }
                (Kind::Named(section), Value::Named(entries)) => {
                    for entry in entries {
                        let Value::Table(fields) = &entry.value else { continue };
                        let _ = writeln!(out, "\n[{}.{}]", key.name, toml_key(&entry.name));
                        self.section(out, section, fields);
                    }
                }
                _ => {}
            }
        }
    }

    fn section(&self, out: &mut String, section: &Section, fields: &Fields) {
        let foreign = foreign_keys(section.keys, fields);
        for key in section.keys.iter().filter(|key| !foreign.contains(&key.name)) {
            match (key.kind, fields.entry(key.name).map(|e| &e.value)) {
                (Kind::Pairs, Some(Value::Named(pairs))) => {
                    for pair in self.pairs(pairs, fields) {
                        let _ = writeln!(out, "{}.{pair}", key.name);
                    }
                }
                (Kind::Types(types), Some(Value::Named(entries))) => {
                    let kind = fields.get::<String>("kind").map(|k| k.value).unwrap_or_default();
                    let keys = (types.keys)(&kind);
                    for entry in entries {
                        let Value::Table(inner) = &entry.value else { continue };
                        let (name, value) = (toml_key(&entry.name), self.inline(&keys, inner, None));
                        let _ = writeln!(out, "{}.{name} = {value}", key.name);
                    }
                }
                // The alternative to something that is given needs no mention.
                (_, None)
                    if section
                        .alternatives
                        .iter()
                        .any(|g| g.keys.contains(&key.name) && g.keys.iter().any(|k| fields.has_key(k))) => {}
                _ => self.line(out, key, fields),
            }
        }
    }

    /// Pairs of the force with these fields, each with its parameters.
    fn pairs(&self, pairs: &[Entry], fields: &Fields) -> Vec<String> {
        let keys = match fields.choice::<ForceKind>("kind").map(|k| k.value) {
            Some(ForceKind::BuiltIn(kind)) => Some(pair_keys(kind)),
            Some(ForceKind::Table) => Some(table_keys()),
            _ => None,
        };
        let one = |pair: &Entry| {
            let value = match (&pair.value, &keys) {
                (Value::Table(inner), Some(keys)) => self.inline(keys, inner, None),
                (Value::Table(inner), None) => self.numbers(&inner.entries),
                _ => "\"none\"".to_string(),
            };
            format!("{} = {value}", toml_string(&pair.name))
        };
        pairs.iter().map(one).collect()
    }

    /// A key on a line of its own, or a comment about its absence.
    fn line(&self, out: &mut String, key: &Key, fields: &Fields) {
        let Some(entry) = fields.entry(key.name) else {
            if let Fallback::Absent(what) = key.default
                && (key.with.is_empty() || key.with.iter().any(|k| fields.entry(k).is_some()))
            {
                let _ = writeln!(out, "# {}: {what}", key.name);
            }
            return;
        };
        let comment = match entry.origin {
            Origin::Default(_) => "  # default".to_string(),
            Origin::Given => self.converted(entry),
        };
        let _ = writeln!(out, "{} = {}{comment}", key.name, self.value(key, entry));
    }

    /// Value of a quantity with a unit in the units of the file.
    fn converted(&self, entry: &Entry) -> String {
        match entry.value {
            Value::Quantity(x, dimension) if self.text(entry).starts_with(['"', '\'']) => {
                format!("  # {}", self.number(x, dimension))
            }
            _ => String::new(),
        }
    }

    fn number(&self, x: f64, dimension: Dimension) -> String {
        // Enough digits to recognise it; the exact value is what stands in the file.
        let rounded: f64 = format!("{:.7e}", x / self.units.bare(dimension)).parse().unwrap_or(x);
        format!("{rounded} {}", unit_name(self.units, dimension)).trim_end().to_string()
    }

    /// A value as TOML.
    fn value(&self, key: &Key, entry: &Entry) -> String {
        if let Origin::Default(text) = entry.origin {
            return text.to_string();
        }
        match (key.kind, &entry.value) {
            (Kind::Table(section), Value::Table(fields)) => self.inline(section.keys, fields, None),
            (Kind::Numbers, Value::Named(entries)) => self.numbers(entries),
            (Kind::Variants(variants), Value::Table(fields)) => self.variant(variants, fields),
            (Kind::OneOf(variants), Value::Table(fields)) => self.variant(variants(), fields),
            (Kind::Several(variants), Value::Tables(tables)) => {
                let tables = tables.iter().map(|fields| self.variant(variants(), fields));
                format!("[{}]", tables.collect::<Vec<_>>().join(", "))
            }
            _ => self.text(entry).to_string(),
        }
    }

    fn variant(&self, variants: &[Variant], fields: &Fields) -> String {
        let kind = fields.get::<String>("kind").map(|k| k.value).unwrap_or_default();
        let keys = variants.iter().find(|v| v.name == kind).map_or(&[][..], |v| v.section.keys);
        self.inline(keys, fields, Some(&kind))
    }

    fn inline(&self, keys: &[Key], fields: &Fields, kind: Option<&str>) -> String {
        let kind = kind.map(|k| format!("kind = {}", toml_string(k)));
        let foreign = foreign_keys(keys, fields);
        let rest = keys.iter().filter(|key| !foreign.contains(&key.name)).filter_map(|key| {
            let entry = fields.entry(key.name)?;
            let value = match (key.kind, &entry.value) {
                (Kind::Pairs, Value::Named(pairs)) => {
                    format!("{{ {} }}", self.pairs(pairs, fields).join(", "))
                }
                _ => self.value(key, entry),
            };
            Some(format!("{} = {value}", key.name))
        });
        let parts: Vec<String> = kind.into_iter().chain(rest).collect();
        if parts.is_empty() { "{}".to_string() } else { format!("{{ {} }}", parts.join(", ")) }
    }

    /// Numbers by name.
    fn numbers(&self, entries: &[Entry]) -> String {
        let one = |e: &Entry| format!("{} = {}", toml_key(&e.name), self.text(e));
        let parts: Vec<String> = entries.iter().map(one).collect();
        if parts.is_empty() { "{}".to_string() } else { format!("{{ {} }}", parts.join(", ")) }
    }

    /// The text of a value as it stands in the file.
    fn text(&self, entry: &Entry) -> &str {
        self.source.text.get(entry.span.clone()).unwrap_or("")
    }
}

/// Keys that mean nothing beside others of a table, and are refused there.
fn foreign_keys(keys: &[Key], fields: &Fields) -> &'static [&'static str] {
    let has_pairs = keys.iter().any(|key| matches!(key.kind, Kind::Pairs));
    let force = fields.choice::<ForceKind>("kind").filter(|_| has_pairs);
    let of_force = force.map(|kind| super::formula::foreign_keys(kind.value).0);
    let minimizer = fields.choice::<Minimizer>("minimizer");
    let of_minimizer = minimizer.map(|minimizer| super::stage::foreign_keys(minimizer.value));
    of_force.or(of_minimizer).unwrap_or(&[])
}

fn opens_section(kind: Kind) -> bool {
    matches!(kind, Kind::Table(_) | Kind::Tables(_) | Kind::Named(_))
}

fn toml_key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(bare) { name.to_string() } else { toml_string(name) }
}

fn toml_string(text: &str) -> String {
    toml::Value::String(text.to_string()).to_string()
}
