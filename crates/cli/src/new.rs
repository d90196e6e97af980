//! `jostle new`

use crate::arguments::New;
use crate::example;
use jostle_core::{Error, Result};
use std::fs::File;
use std::io::{ErrorKind, Write};

/// Writes an example under a new name: the one that was asked for, else the one of that name.
///
/// # Errors
/// If the file exists or cannot be written.
pub fn new(options: &New) -> Result<()> {
    let path = match options.name.extension() {
        Some(extension) if extension == "toml" => options.name.clone(),
        _ => {
            let mut name = options.name.clone().into_os_string();
            name.push(".toml");
            name.into()
        }
    };
    let called = |name: &str| example::ALL.iter().find(|example| example.name == name).copied();
    let example = match &options.like {
        Some(like) => called(like).ok_or_else(|| Error::input(format!("there is no example '{like}'")))?,
        None => path.file_stem().and_then(|stem| called(stem.to_str()?)).unwrap_or(example::ARGON),
    };
    let mut file = File::create_new(&path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => Error::file(&path, format!("{} exists already", path.display()))
            .hint("choose another name; nothing was overwritten"),
        _ => Error::io("create", &path, &error),
    })?;
    file.write_all(example.text.as_bytes()).map_err(|error| Error::io("write", &path, &error))?;
    say!("wrote {0}, the example {1}; next: jostle run {0}", path.display(), example.name);
    Ok(())
}
