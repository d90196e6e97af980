//! Coefficients of bonded types, from a data file and from scripts, the last of which holds.

use super::script::{Place, Script, Subject, names_style};
use crate::structure::lammps::coefficients::Acting;
use crate::structure::lammps::{BondedList, LammpsData, bonded_styles::plain};
use jostle_core::{Error, Result};
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::path::Path;

/// Coefficients of a type.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Given {
    pub style: String,
    pub numbers: Vec<f64>,
    pub place: Place,
}

/// Coefficients of bonds, angles, dihedrals and impropers, by their index in the topology.
pub(super) struct Coefficients {
    path: std::path::PathBuf,
    of_types: HashMap<(usize, usize), Given>,
    /// Names of types of all lists, for messages.
    names: [Vec<String>; 4],
}

impl Coefficients {
    /// Collects what the files say.
    ///
    /// # Errors
    /// If a line makes no sense or names an unknown type, or no style is known for it.
    pub fn new(path: &Path, data: &LammpsData, script: &Script) -> Result<Self> {
        let topology = &data.structure.topology;
        let (dihedrals, impropers) = topology.dihedral_types.split_at(data.n_dihedral_types);
        let names =
            [&topology.bond_types, &topology.angle_types, dihedrals, impropers].map(<[String]>::to_vec);
        let mut of_types = HashMap::new();
        // Styles behind the names of sections.
        let mut of_sections: [Option<String>; 4] = Default::default();
        for row in &data.structure.coefficients {
            let Acting::Bonded(list, index) = row.acting else { continue };
            let place = Place { path: path.to_path_buf(), line: row.line };
            let style = style([row.style.as_ref(), None], list, script, &place)?;
            of_sections[list as usize] = Some(style.clone());
            of_types.insert((list as usize, index), Given { style, numbers: row.numbers.clone(), place });
        }
        for line in &script.coefficients {
            let Subject::Bonded(list) = line.subject else { continue };
            let [types, rest @ ..] = &line.words[..] else {
                return Err(line.place.error("the line ends before the type"));
            };
            let before = if list == BondedList::Impropers { data.n_dihedral_types } else { 0 };
            let labels = &names[list as usize];
            let own = rest.first().filter(|word| names_style(word));
            let numbers = numbers(&rest[usize::from(own.is_some())..], &line.place)?;
            let style = style([own, of_sections[list as usize].as_ref()], list, script, &line.place)?;
            let chosen = range(types, labels.len(), |word| {
                labels.iter().position(|label| label.strip_prefix("improper-").unwrap_or(label) == word)
            });
            let chosen = chosen.ok_or_else(|| {
                let message = format!(
                    "\"{types}\" is none of the {} {} types of the data file",
                    labels.len(),
                    list.what()
                );
                line.place.error(message)
            })?;
            for index in chosen {
                let given =
                    Given { style: style.clone(), numbers: numbers.clone(), place: line.place.clone() };
                of_types.insert((list as usize, before + index), given);
            }
        }
        Ok(Coefficients { path: path.to_path_buf(), of_types, names })
    }

    /// Coefficients of a type.
    ///
    /// # Errors
    /// If there are none.
    pub fn of(&self, list: BondedList, index: u32) -> Result<&Given> {
        self.of_types.get(&(list as usize, index as usize)).ok_or_else(|| {
            let before = if list == BondedList::Impropers { self.names[2].len() } else { 0 };
            let name = (index as usize).checked_sub(before).and_then(|k| self.names[list as usize].get(k));
            let name = name.map_or("?", |name| name.strip_prefix("improper-").unwrap_or(name));
            let what = list.what();
            Error::file(&self.path, format!("there are no coefficients of the {what} type {name}")).hint(
                format!(
                    "add them to the section {}, or name a file with {what}_coeff {name} ... in parameters",
                    list.coefficients()
                ),
            )
        })
    }
}

/// Style of a row: its own, or that of a script, or that behind the name of a section.
fn style(
    [own, of_section]: [Option<&String>; 2],
    list: BondedList,
    script: &Script,
    place: &Place,
) -> Result<String> {
    let of_script = script.styles[list as usize].as_ref().filter(|style| !plain(style).starts_with("hybrid"));
    own.or(of_script).or(of_section).cloned().ok_or_else(|| {
        let what = list.what();
        place.error(format!("it is not said which {what} style these coefficients are of")).hint(format!(
            "write \"{} # harmonic\" (or another style) at the head of the section, or name a file with {what}_style \
             in parameters",
            list.coefficients()
        ))
    })
}

/// Numbers of a line.
pub(super) fn numbers(words: &[String], place: &Place) -> Result<Vec<f64>> {
    let number = |word: &String| {
        let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| {
            let (what, hint) = match word {
                _ if word.contains('$') => ("a variable", "write its value: variables are not evaluated"),
                _ if word.contains(['"', '\'']) => ("in quotes", "write the number without them"),
                _ => ("no number", "file names are not read"),
            };
            place.error(format!("\"{}\" is {what}", word.trim_matches('"'))).hint(hint)
        })
    };
    words.iter().map(number).collect()
}

/// Types from 0 that a word of LAMMPS stands for: 3, 2*4, *, *3, 2*, or a label.
pub(super) fn range(
    word: &str,
    n: usize,
    label: impl Fn(&str) -> Option<usize>,
) -> Option<RangeInclusive<usize>> {
    let end = |text: &str, otherwise: usize| match text {
        "" => Some(otherwise),
        _ => text.parse::<usize>().ok().filter(|k| (1..=n).contains(k)),
    };
    let (first, last) = match word.split_once('*') {
        Some((first, last)) => (end(first, 1)?, end(last, n)?),
        None => match end(word, 0) {
            Some(k) => (k, k),
            None => {
                let k = label(word)? + 1;
                (k, k)
            }
        },
    };
    (first >= 1 && first <= last).then(|| first - 1..=last - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_for_types() {
        let of = |word: &str| range(word, 5, |label| (label == "CT").then_some(3));
        assert_eq!(of("2"), Some(1..=1));
        assert_eq!(of("*"), Some(0..=4));
        assert_eq!(of("2*4"), Some(1..=3));
        assert_eq!(of("*3"), Some(0..=2));
        assert_eq!(of("4*"), Some(3..=4));
        assert_eq!(of("CT"), Some(3..=3));
        for odd in ["0", "6", "4*2", "0*2", "2*9", "HC", "**", ""] {
            assert_eq!(of(odd), None, "{odd}");
        }
    }
}
