//! Coefficients of all types, from a data file and from scripts, the last of which holds.

use super::script::{Place, Script, Subject};
use crate::structure::lammps::coefficients::Acting;
use crate::structure::lammps::{BondedList, LammpsData, bonded_styles::plain};
use jostle_core::{Error, Result};
use jostle_potentials::Mixing;
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
            let own = rest.first().filter(|word| word.parse::<f64>().is_err());
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
fn numbers(words: &[String], place: &Place) -> Result<Vec<f64>> {
    let number = |word: &String| {
        let number = word.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| {
            place.error(format!("\"{word}\" is no number")).hint("variables and file names are not read")
        })
    };
    words.iter().map(number).collect()
}

/// Types from 0 that a word of LAMMPS stands for: 3, 2*4, *, *3, 2*, or a label.
fn range(word: &str, n: usize, label: impl Fn(&str) -> Option<usize>) -> Option<RangeInclusive<usize>> {
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

/// Pair styles of LAMMPS with Lennard-Jones forces, and what their coefficients and rules are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PairStyle {
    /// epsilon sigma
    LennardJones,
    /// epsilon sigma, and both again for atoms three bonds apart
    Charmm,
}

const LENNARD_JONES: [&str; 7] = [
    "lj/cut",
    "lj/cut/coul/cut",
    "lj/cut/coul/long",
    "lj/cut/coul/msm",
    "lj/long/coul/long",
    "lj/charmm/coul/long",
    "lj/charmm/coul/charmm",
];

impl PairStyle {
    fn of(name: &str, place: &Place) -> Result<Self> {
        match plain(name) {
            known if LENNARD_JONES[5..].contains(&known) => Ok(PairStyle::Charmm),
            known if LENNARD_JONES.contains(&known) => Ok(PairStyle::LennardJones),
            _ => Err(place
                .error(format!("molecules with the pair style {name} are not read"))
                .hint(format!("there are {}", LENNARD_JONES.join(", ")))),
        }
    }

    /// Rule where no other is given.
    fn mixing(self) -> Mixing {
        match self {
            PairStyle::LennardJones => Mixing::Geometric,
            PairStyle::Charmm => Mixing::LorentzBerthelot,
        }
    }

    /// Epsilon and sigma, and those of atoms three bonds apart.
    fn wells(self, given: &[f64]) -> std::result::Result<Wells, String> {
        let wells = |a: [f64; 2], b: [f64; 2]| Wells { any: a, three_bonds: b };
        match (self, given) {
            (_, [e, s]) => Ok(wells([*e, *s], [*e, *s])),
            (PairStyle::Charmm, [e, s, e14, s14]) => Ok(wells([*e, *s], [*e14, *s14])),
            (PairStyle::LennardJones, [_, _, _] | [_, _, _, _]) => {
                Err("a pair has a cut-off of its own; cut-offs are those of [[force]] in the input".into())
            }
            _ => Err(format!("a pair takes epsilon and sigma, these are {} numbers", given.len())),
        }
    }
}

/// Parameters of a pair of types.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Wells {
    any: [f64; 2],
    three_bonds: [f64; 2],
}

/// Lennard-Jones forces between types.
pub(super) struct PairForces {
    path: std::path::PathBuf,
    names: Vec<String>,
    mixing: Mixing,
    /// Given pairs, the smaller type first.
    given: HashMap<[usize; 2], Wells>,
}

impl PairForces {
    /// Collects what the files say.
    ///
    /// # Errors
    /// If a line makes no sense or names an unknown type, or the style is not known.
    pub fn new(path: &Path, data: &LammpsData, script: &Script) -> Result<Self> {
        let names: Vec<String> = data.structure.species.iter().map(|s| s.name.clone()).collect();
        let mut given = HashMap::new();
        let mut style =
            script.pair_style.as_ref().map(|(name, place)| PairStyle::of(name, place)).transpose()?;
        for row in &data.structure.coefficients {
            let Acting::Pair([a, b]) = row.acting else { continue };
            let place = Place { path: path.to_path_buf(), line: row.line };
            let of_row = match (style, &row.style) {
                (Some(style), _) => style,
                (None, Some(name)) => PairStyle::of(name, &place)?,
                (None, None) => return Err(unsaid(place.error(UNSAID))),
            };
            style = Some(of_row);
            given.insert(ordered([a, b]), of_row.wells(&row.numbers).map_err(|why| place.error(why))?);
        }
        let Some(style) = style else { return Err(unsaid(Error::file(path, UNSAID))) };
        for line in script.coefficients.iter().filter(|line| line.subject == Subject::Pair) {
            let [a, b, rest @ ..] = &line.words[..] else {
                return Err(line.place.error("the line ends before the second type"));
            };
            let wells = style.wells(&numbers(rest, &line.place)?).map_err(|why| line.place.error(why))?;
            let types = |word: &str| {
                let label = |word: &str| names.iter().position(|name| name == word);
                range(word, names.len(), label).ok_or_else(|| {
                    let n = names.len();
                    line.place.error(format!("\"{word}\" is none of the {n} atom types of the data file"))
                })
            };
            for a in types(a)? {
                for b in types(b)? {
                    given.insert(ordered([a, b]), wells);
                }
            }
        }
        let mixing = script.mixing.unwrap_or(style.mixing());
        Ok(PairForces { path: path.to_path_buf(), names, mixing, given })
    }

    fn mixed(&self, types: [usize; 2], of: impl Fn(&Wells) -> [f64; 2]) -> Result<[f64; 2]> {
        if let Some(given) = self.given.get(&ordered(types)) {
            return Ok(of(given));
        }
        let own = |kind: usize| {
            self.given.get(&[kind; 2]).map(&of).ok_or_else(|| {
                let name = self.names.get(kind).map_or("?", String::as_str);
                let message = format!("there are no pair coefficients of the atom type {name}");
                Error::file(&self.path, message)
                    .hint("add them to the section Pair Coeffs, or name a file with pair_coeff in parameters")
            })
        };
        let [a, b] = [own(types[0])?, own(types[1])?];
        let sizes = [a[1], b[1]];
        Ok([self.mixing.energy([a[0], b[0]], sizes), self.mixing.size(sizes)])
    }

    /// Epsilon and sigma of two types.
    ///
    /// # Errors
    /// If one of them has no coefficients.
    pub fn of(&self, types: [usize; 2]) -> Result<[f64; 2]> {
        self.mixed(types, |wells| wells.any)
    }

    /// Epsilon and sigma of two types at the ends of a dihedral.
    ///
    /// # Errors
    /// As for [`PairForces::of`].
    pub fn three_bonds_apart(&self, types: [usize; 2]) -> Result<[f64; 2]> {
        self.mixed(types, |wells| wells.three_bonds)
    }
}

const UNSAID: &str = "it is not said which pair style the coefficients of pairs are of";

fn unsaid(error: Error) -> Error {
    error.hint(
        "write \"Pair Coeffs # lj/cut/coul/long\" at the head of the section, or name a file with pair_style in \
         parameters",
    )
}

fn ordered([a, b]: [usize; 2]) -> [usize; 2] {
    [a.min(b), a.max(b)]
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
