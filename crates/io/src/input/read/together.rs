//! Keys of a table that go together, and those that do not.

use super::Reader;
use super::words::join;
use crate::input::schema::{Alternatives, Key, Needed};
use jostle_core::Result;
use jostle_core::quantity::nearest;
use std::ops;
use toml::de::DeTable;

impl Reader<'_> {
    pub(super) fn refuse_unknown(&self, table: &DeTable, keys: &[Key], label: &str) -> Result<()> {
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
    pub(super) fn refuse_contradictions(
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
}
