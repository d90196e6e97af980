//! The tag `UNITS:` in comments of files of potentials, as LAMMPS has it.

use jostle_core::{Dimension, Error, Result, UnitSystem};
use std::path::Path;

/// Units that comments name, with the number of their line, by comments with the numbers of theirs.
pub(crate) fn tagged<'a>(comments: impl IntoIterator<Item = (usize, &'a str)>) -> Option<(usize, &'a str)> {
    comments.into_iter().find_map(|(line, comment)| {
        let (_, rest) = comment.split_once("UNITS:")?;
        Some((line, rest.split_whitespace().next()?))
    })
}

/// Comments that follow a `#`, with the numbers of their lines from 1.
pub(crate) fn comments(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines()).filter_map(|(line, text)| Some((line, text.split_once('#')?.1)))
}

/// Units of energy and length that comments of a file name, in the units of an input; 1 where they name none.
///
/// # Errors
/// If the units are unknown, or one of the two has a scale of its own and the other has none.
pub(crate) fn scale(path: &Path, text: &str, input: UnitSystem) -> Result<[f64; 2]> {
    let Some((line, name)) = tagged(comments(text)) else { return Ok([1.0; 2]) };
    let error = |hint: String| {
        let message = format!("the file says that its units are \"{name}\"");
        Error::file_line(path, line, message).hint(hint)
    };
    let file = match name {
        "metal" => UnitSystem::Metal,
        "real" => UnitSystem::Real,
        "lj" => UnitSystem::Lj,
        _ => return Err(error("files in units metal, real or lj are read".into())),
    };
    if file == UnitSystem::Lj && input == UnitSystem::Lj {
        return Ok([1.0; 2]);
    }
    let ratio = |dimension| Some(input.from_si(dimension)? / file.from_si(dimension)?);
    match (ratio(Dimension::ENERGY), ratio(Dimension::LENGTH)) {
        (Some(energy), Some(length)) => Ok([energy, length]),
        _ => Err(error(format!(
            "they cannot become units = \"{input}\": choose units = \"{name}\", or write the numbers anew and take the tag out"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_found_and_units_converted() {
        let of = |tag: &str, input| {
            scale(Path::new("x.table"), &format!("# DATE: none\n1 2 # UNITS: {tag} C: x\n"), input)
        };
        let close = |found: Result<[f64; 2]>, expected: [f64; 2]| {
            let found = found.unwrap();
            assert!((0..2).all(|k| (found[k] / expected[k] - 1.0).abs() < 1e-8), "{found:?} {expected:?}");
        };
        close(of("metal", UnitSystem::Real), [23.060547830619, 1.0]);
        close(of("real", UnitSystem::Metal), [0.0433641043, 1.0]);
        close(of("metal", UnitSystem::Nano), [96.4853321, 0.1]);
        close(of("metal", UnitSystem::Metal), [1.0; 2]);
        close(of("lj", UnitSystem::Lj), [1.0; 2]);
        close(scale(Path::new("x.table"), "# UNITS\nUNITS: real\n", UnitSystem::Metal), [1.0; 2]);
        for (tag, input) in [
            ("lj", UnitSystem::Metal),
            ("metal", UnitSystem::Lj),
            ("lj", UnitSystem::Plasma),
            ("electron", UnitSystem::Metal),
        ] {
            let error = of(tag, input).unwrap_err();
            assert!(error.message().contains(tag) && error.help().is_some(), "{error}");
            assert_eq!(error.place().unwrap().line, Some(2), "{error}");
        }
    }
}
