//! `jostle new`

use crate::arguments::NewOptions;
use crate::example::{self, Example};
use crate::output;
use jostle_core::quantity::nearest;
use jostle_core::{Error, Result, shell_word};
use jostle_io::input::schema_json;
use std::fmt::Write as _;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;

/// The JSON Schema of inputs that lies beside a new one.
const SCHEMA: &str = "jostle.schema.json";

/// Writes an example under a new name: the one that was asked for, else the one of that name, else argon;
/// lists them where no name is given.
///
/// # Errors
/// If the name is almost that of an example, or the file exists or cannot be written.
pub fn new(options: &NewOptions) -> Result<()> {
    let Some(name) = &options.name else { return output::print(&list()) };
    if name.file_name().is_none() {
        return Err(Error::input(format!("'{}' is the name of a folder, not of an input", name.display()))
            .hint("jostle new NAME writes NAME.toml"));
    }
    let path = match name.extension() {
        Some(extension) if extension == "toml" => name.clone(),
        _ => {
            let mut name = name.clone().into_os_string();
            name.push(".toml");
            name.into()
        }
    };
    let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let example = choose(options.like.as_deref(), &stem)?;
    let mut file = File::create_new(&path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Error::file(&path, format!("{} exists already", path.display()))
            .hint("choose another name; nothing was overwritten"),
        _ => Error::io("create", &path, &error),
    })?;
    let text = adapted(example, &stem);
    file.write_all(text.as_bytes()).map_err(|error| Error::io("write", &path, &error))?;
    let schema = path.with_file_name(SCHEMA);
    write_schema(&schema)?;
    say!("wrote {}, the example {}; next: jostle run {}", path.display(), example.name, shell_word(&path));
    Ok(())
}

/// The examples with their titles.
fn list() -> String {
    let mut text = String::new();
    for example in example::ALL {
        let _ = writeln!(text, "{:<24} {}", example.name, example.title());
    }
    text + "\njostle new NAME writes NAME.toml; jostle new MINE --like NAME writes MINE.toml\n"
}

/// The example to start from: the one of that name, or whose name it goes on from (`water-350K`). A name that is
/// almost one of theirs is a slip, not a wish for argon.
fn choose(like: Option<&str>, stem: &str) -> Result<Example> {
    let called = |name: &str| example::ALL.iter().find(|example| example.name == name).copied();
    if let Some(like) = like {
        return called(like).ok_or_else(|| Error::input(format!("there is no example '{like}'")));
    }
    let goes_on = |example: &&Example| {
        stem.strip_prefix(example.name).is_some_and(|rest| !rest.starts_with(char::is_alphabetic))
    };
    if let Some(example) = example::ALL.iter().filter(goes_on).max_by_key(|example| example.name.len()) {
        return Ok(*example);
    }
    let names = example::ALL.iter().map(|example| example.name);
    match (stem, nearest(stem, names)) {
        ("list" | "help" | "examples", _) => Err(Error::input(format!("there is no example '{stem}'"))
            .hint(format!("jostle new lists them; a file of that name: jostle new {stem} --like argon"))),
        (_, Some(near)) => Err(Error::input(format!("there is no example '{stem}'")).hint(format!(
            "is it '{near}'? a file of that name: jostle new {stem} --like {near}; jostle new lists them"
        ))),
        _ => Ok(example::ARGON),
    }
}

/// The text of an example as one of another name: comments speak of that name's files, and the first line
/// tells editors the schema.
fn adapted(example: Example, stem: &str) -> String {
    let text = example.text.replace(&format!("examples/{}.toml", example.name), &format!("{stem}.toml"));
    let text = match stem == example.name {
        true => text,
        false => text.replace(&format!("{}/", example.name), &format!("{stem}/")),
    };
    format!("#:schema ./{SCHEMA}\n{text}")
}

/// Writes the schema, unless it is there.
fn write_schema(path: &Path) -> Result<()> {
    let text = format!("{:#}\n", schema_json());
    if std::fs::read(path).is_ok_and(|bytes| bytes == text.as_bytes()) {
        return Ok(());
    }
    output::write_file(path, text.as_bytes())
}
