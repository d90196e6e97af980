//! Cut-offs behind the names of pair styles.

use super::coefficients::numbers;
use super::script::{Place, names_style};
use crate::forcefield::cutoffs::{CutoffOf, GivenCutoff};
use crate::structure::lammps::bonded_styles::plain;
use jostle_core::Result;

/// Words of lj/long about its sums over images.
const SUMS: [&str; 3] = ["cut", "long", "off"];

/// Styles among the words of a pair style, each with its arguments.
pub(super) fn styles(words: &[String]) -> Vec<(&str, &[String])> {
    let is_style = |word: &String| names_style(word) && !SUMS.contains(&word.as_str());
    let parts = words.chunk_by(|_, next| !is_style(next));
    parts
        .filter_map(|part| part.split_first())
        .map(|(style, arguments)| (style.as_str(), arguments))
        .collect()
}

/// Cut-offs of a pair style of a script, where one unit of its lengths is `length`. Styles may stand without.
///
/// # Errors
/// If a style has words that are no numbers, or too many numbers.
pub(super) fn cutoffs(words: &[String], place: &Place, length: f64) -> Result<Vec<GivenCutoff>> {
    let mut found = Vec::new();
    for (style, arguments) in styles(words) {
        let rest =
            arguments.iter().position(|word| !SUMS.contains(&word.as_str())).unwrap_or(arguments.len());
        let numbers = numbers(&arguments[rest..], place)?;
        let cutoffs = of_style(style, &numbers).ok_or_else(|| {
            let given = arguments.join(" ");
            place.error(format!("\"{given}\" behind the pair style {style} are too few or too many cut-offs"))
        })?;
        for (of, cutoff) in [CutoffOf::LennardJones, CutoffOf::Charges].into_iter().zip(cutoffs) {
            found.extend(cutoff.map(|cutoff| GivenCutoff {
                of,
                length: length * cutoff,
                style: style.into(),
                path: place.path.clone(),
                line: place.line,
            }));
        }
    }
    Ok(found)
}

/// Cut-offs of Lennard-Jones forces and of charges; where charges have none of their own, they have the other one.
/// Forces that a style switches off end at its outer cut-off.
fn of_style(style: &str, numbers: &[f64]) -> Option<[Option<f64>; 2]> {
    match (plain(style), numbers) {
        (_, []) => Some([None, None]),
        ("lj/cut", [lennard_jones]) => Some([Some(*lennard_jones), None]),
        ("coul/cut" | "coul/long" | "coul/msm", [charges]) => Some([None, Some(*charges)]),
        ("lj/charmm/coul/long" | "lj/charmm/coul/charmm", [_, outer]) => Some([Some(*outer); 2]),
        ("lj/charmm/coul/long", [_, outer, charges]) | ("lj/charmm/coul/charmm", [_, outer, _, charges]) => {
            Some([Some(*outer), Some(*charges)])
        }
        ("lj/cut" | "coul/cut" | "coul/long" | "coul/msm", _) => None,
        ("lj/charmm/coul/long" | "lj/charmm/coul/charmm" | "hybrid" | "hybrid/overlay", _) => None,
        (_, [both]) => Some([Some(*both); 2]),
        (_, [lennard_jones, charges]) => Some([Some(*lennard_jones), Some(*charges)]),
        _ => None,
    }
}
