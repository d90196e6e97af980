//! Files of a new system: `NAME.top`, `NAME.gro` and `NAME.toml`, written together or not at all.

use jostle_core::quantity::parse_quantity;
use jostle_core::{Dimension, Error, Result, UnitSystem};
use jostle_engine::build::system_files::SystemFiles;
use jostle_engine::{Existing, replace_files};
use std::path::{Path, PathBuf};

/// Paths of the files of a new system.
pub struct NewSystem {
    /// Name of the files, without folder and endings.
    pub name: String,
    /// Topology, coordinates and input.
    pub paths: [PathBuf; 3],
}

impl NewSystem {
    /// Files at `output`, a path without endings.
    ///
    /// # Errors
    /// If it has no name, or a file exists.
    pub fn at(output: &Path, existing: Existing) -> Result<Self> {
        let Some(name) = output.file_name().map(|name| name.to_string_lossy().into_owned()) else {
            let message = format!("--output {} has no name for files", output.display());
            return Err(Error::input(message).hint("--output wet makes wet.top, wet.gro and wet.toml"));
        };
        let paths = ["top", "gro", "toml"].map(|ending| {
            let mut path = output.as_os_str().to_owned();
            path.push(".");
            path.push(ending);
            PathBuf::from(path)
        });
        if let Some(path) = paths.iter().find(|path| path.exists() && existing == Existing::Refuse) {
            return Err(Error::file(path, "this file exists")
                .hint("replace it with --overwrite, or choose another --output"));
        }
        Ok(NewSystem { name, paths })
    }

    /// Writes topology, coordinates and input.
    ///
    /// # Errors
    /// If a file cannot be written; none is changed then.
    pub fn write(&self, files: &SystemFiles) -> Result<()> {
        let texts = [&files.topology, &files.coordinates, &files.input];
        let files: Vec<(&Path, &[u8])> =
            self.paths.iter().zip(texts).map(|(path, text)| (path.as_path(), text.as_bytes())).collect();
        replace_files(&files)
    }

    /// The paths, as messages have them.
    pub fn names(&self) -> [String; 3] {
        self.paths.each_ref().map(|path| path.display().to_string())
    }
}

/// Length of an option, from a number in the unit of the system or a quantity.
///
/// # Errors
/// If it is neither, or negative.
pub fn length(option: &str, text: &str, units: UnitSystem) -> Result<f64> {
    let bare = text.trim().parse::<f64>().ok();
    let value = match bare {
        Some(value) => value,
        None => parse_quantity(text, &[Dimension::LENGTH], units)
            .map(|(value, _)| value)
            .map_err(|e| e.context(format!("--{option} {text}")))?,
    };
    match value.is_finite() && value >= 0.0 {
        true => Ok(value),
        false => Err(Error::input(format!("--{option} {text} is no length"))),
    }
}
