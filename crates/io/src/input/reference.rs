//! The schema as a page of the book.

use super::choice::choices;
use super::describe::{child, formula_names, notes, rule, shape, units};
use super::keys::{ANGLE_TYPES, BOND_TYPES, DIHEDRAL_TYPES, INPUT};
use super::model::DeviceInput;
use super::schema::{Key, Kind, Variant, pair_cutoff, pair_keys, table_keys};
use jostle_potentials::PairKind;
use std::fmt::Write;

/// Head of the page.
const HEAD: &str = "\
# Reference of the input file

Every key, as `jostle schema` prints it. [input.md](input.md) says how an input is read, [units.md](units.md) what units \
mean. A number without a unit is in those of the file; a quantity may be text with a unit: `\"1.374 g/cm3\"`. After the \
name of a key stands what it may be; *required*, *default* and *with* say whether it must be there, what it is otherwise, \
and which keys it belongs to.

This page is written by `jostle schema --markdown`; a test compares it with the program.
";

/// Every key of an input file as a page in Markdown.
pub fn schema_markdown() -> String {
    let mut out = String::from(HEAD);
    heading(&mut out, "At the top of the file", "");
    let (mut plain, mut sections) = (Vec::new(), Vec::new());
    for key in INPUT.keys {
        if child(key.kind).is_some() { sections.push(key) } else { plain.push(key) }
    }
    plain.iter().for_each(|key| item(&mut out, key, 0));
    for key in sections {
        let title = match key.kind {
            Kind::Tables(_) => format!("`[[{}]]`", key.name),
            Kind::Named(_) => format!("`[{}.NAME]`", key.name),
            _ => format!("`[{}]`", key.name),
        };
        heading(&mut out, &title, key.about);
        let Some(section) = child(key.kind) else { continue };
        for group in section.alternatives {
            let _ = writeln!(out, "- {}", prose(&rule(group)));
        }
        section.keys.iter().for_each(|key| item(&mut out, key, 0));
    }
    pairs(&mut out);
    for types in [&BOND_TYPES, &ANGLE_TYPES, &DIHEDRAL_TYPES] {
        heading(&mut out, &format!("Types, by the kind of the {}", types.what), "");
        for (kind, formula) in (types.kinds)() {
            let _ = writeln!(out, "- `kind = \"{kind}\"`: `u = {formula}`");
            (types.keys)(kind).iter().for_each(|key| item(&mut out, key, 1));
        }
    }
    heading(&mut out, "Units in quantities", "products and powers as in `kcal/mol/A`, `kg/m^3`, `1/ps`");
    for (what, names) in units() {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let _ = writeln!(out, "- {what}: {}", names.join(", "));
    }
    out
}

/// Parameters of pairs, by the kind of the force.
fn pairs(out: &mut String) {
    heading(out, "Pairs, by the kind of the force", "");
    for kind in PairKind::ALL {
        let _ = writeln!(out, "- `kind = \"{}\"`: `u(r) = {}`", kind.name(), kind.formula());
        for preset in kind.presets() {
            let _ = writeln!(out, "    - `preset = \"{}\"`: {}", preset.name, prose(preset.about));
        }
        pair_keys(*kind).iter().for_each(|key| item(out, key, 1));
    }
    let _ = writeln!(out, "- `kind = \"formula\"`: `u(r) = energy`; {}", prose(&formula_names().join(" ")));
    item(out, &pair_cutoff(), 1);
    let _ = writeln!(out, "- `kind = \"table\"`: u(r) by cubics in r^2");
    table_keys().iter().for_each(|key| item(out, key, 1));
}

fn heading(out: &mut String, title: &str, about: &str) {
    let _ = writeln!(out, "\n## {title}\n");
    if !about.is_empty() {
        let _ = writeln!(out, "{}\n", prose(about));
    }
}

/// A key and what is inside it, as an item of a list at a depth.
fn item(out: &mut String, key: &Key, depth: usize) {
    let notes: Vec<String> = notes(key).iter().map(|note| prose(note)).collect();
    let notes = if notes.is_empty() { String::new() } else { format!(" *({})*", notes.join("; ")) };
    let indent = 4 * depth;
    let _ =
        writeln!(out, "{:indent$}- `{} = {}`: {}{notes}", "", key.name, shape(key.kind), prose(key.about));
    match key.kind {
        Kind::Choice(of) => words(out, of(), depth + 1),
        Kind::Device => words(out, choices::<DeviceInput>(), depth + 1),
        Kind::Table(section) => section.keys.iter().for_each(|key| item(out, key, depth + 1)),
        Kind::Variants(of) => variants(out, of, depth + 1),
        Kind::OneOf(of) | Kind::Several(of) => variants(out, of(), depth + 1),
        _ => {}
    }
}

fn words(out: &mut String, words: Vec<(&str, &str)>, depth: usize) {
    for (word, about) in words {
        let _ = writeln!(out, "{:indent$}- `\"{word}\"`: {}", "", prose(about), indent = 4 * depth);
    }
}

fn variants(out: &mut String, variants: &[Variant], depth: usize) {
    for variant in variants {
        let about = prose(variant.about);
        let _ = writeln!(out, "{:indent$}- `kind = \"{}\"`: {about}", "", variant.name, indent = 4 * depth);
        variant.section.keys.iter().for_each(|key| item(out, key, depth + 1));
    }
}

/// Text whose characters mean nothing to Markdown, but for code in backticks.
fn prose(text: &str) -> String {
    let mut out = String::new();
    for (k, part) in text.split('`').enumerate() {
        if k % 2 == 1 {
            let _ = write!(out, "`{part}`");
            continue;
        }
        for c in part.chars() {
            if matches!(c, '*' | '_' | '<' | '>' | '[' | ']' | '\\') {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_page_of_the_book_is_this_schema() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference.md");
        let page = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(page == schema_markdown(), "write it anew: jostle schema --markdown > docs/reference.md");
    }

    #[test]
    fn every_key_is_an_item() {
        let page = schema_markdown();
        for line in super::super::describe::schema_text().lines() {
            let Some((name, _)) = line.trim().split_once(" = ") else { continue };
            let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && name != "kind";
            assert!(!is_name || page.contains(&format!("- `{name} = ")) || line.contains("\"..."), "{line}");
        }
    }

    #[test]
    fn prose_has_no_marks() {
        assert_eq!(prose("k_B * `a_b` <[x]>"), "k\\_B \\* `a_b` \\<\\[x\\]\\>");
    }
}
