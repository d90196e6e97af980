//! `jostle plot`

use crate::arguments::PlotOptions;
use crate::output;
use jostle_core::{Error, Result};
use jostle_show::{Figure, Finding, RunFiles, ThermoTable, of_finding, of_run, of_thermo, png, svg};
use std::path::{Path, PathBuf};

/// Draws what is in folders and files.
///
/// # Errors
/// If there is nothing to draw, or a file cannot be read or written.
pub fn plot(options: &PlotOptions) -> Result<()> {
    for path in &options.paths {
        let (figures, beside) = match path.is_dir() {
            true => (of_run(&RunFiles::read(path)?), path.join("plots")),
            false => (of_file(path)?, path.parent().unwrap_or(Path::new("")).to_path_buf()),
        };
        if figures.is_empty() {
            return Err(Error::file(path, "there is nothing to draw: no two rows of numbers"));
        }
        let folder = options.output.clone().unwrap_or(beside);
        if !folder.as_os_str().is_empty() {
            std::fs::create_dir_all(&folder).map_err(|e| Error::io("create", &folder, &e))?;
        }
        for figure in &figures {
            write(&folder.join(&figure.name), figure)?;
        }
    }
    Ok(())
}

fn of_file(path: &Path) -> Result<Vec<Figure>> {
    if path.file_name().is_some_and(|name| name == "thermo.csv") {
        return Ok(of_thermo(&ThermoTable::read(path)?));
    }
    Finding::read(path).map(|finding| of_finding(&finding))
}

fn write(stem: &Path, figure: &Figure) -> Result<()> {
    let named = |ending: &str| {
        let mut name = stem.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    let (vectors, pixels) = (named(".svg"), named(".png"));
    output::write_file(&vectors, svg(figure)?.as_bytes())?;
    output::write_file(&pixels, &png(figure)?)?;
    say!("{} and .png: {}", vectors.display(), figure.title);
    Ok(())
}
