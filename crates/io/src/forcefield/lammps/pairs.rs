//! Lennard-Jones forces between types, of one pair style or of several (`hybrid`, `hybrid/overlay`).
//!
//! Charges act as the input says, between all pairs or none. Styles that differ in that are refused.

use super::coefficients::{numbers, range};
use super::cutoffs;
use super::script::{Place, Script, Subject, names_style};
use crate::structure::lammps::coefficients::Acting;
use crate::structure::lammps::{LammpsData, bonded_styles::plain};
use jostle_core::{Error, Result};
use jostle_potentials::Mixing;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// Forces of a pair style, and what its coefficients are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PairStyle {
    /// epsilon sigma
    LennardJones,
    /// epsilon sigma, and both again for atoms three bonds apart
    Charmm,
    /// Charges alone.
    Coulomb,
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

/// Styles that stand beside others in a hybrid alone.
const COULOMB: [&str; 3] = ["coul/cut", "coul/long", "coul/msm"];

impl PairStyle {
    fn of(name: &str, place: &Place) -> Result<Self> {
        match plain(name) {
            known if LENNARD_JONES[5..].contains(&known) => Ok(PairStyle::Charmm),
            known if LENNARD_JONES.contains(&known) => Ok(PairStyle::LennardJones),
            _ => {
                Err(place.error(format!("molecules with the pair style {name} are not read")).hint(format!(
                    "there are {}, and hybrids of these and of {}",
                    LENNARD_JONES.join(", "),
                    COULOMB.join(", ")
                )))
            }
        }
    }

    /// Rule where no other is given.
    fn mixing(self) -> Mixing {
        match self {
            PairStyle::LennardJones | PairStyle::Coulomb => Mixing::Geometric,
            PairStyle::Charmm => Mixing::LorentzBerthelot,
        }
    }

    /// Epsilon and sigma, and those of atoms three bonds apart.
    fn wells(self, given: &[f64]) -> std::result::Result<Wells, String> {
        let wells = |a: [f64; 2], b: [f64; 2]| Wells { any: a, three_bonds: b };
        match (self, given) {
            (PairStyle::Coulomb, []) => Ok(wells([0.0; 2], [0.0; 2])),
            (PairStyle::Coulomb, _) => Err(OWN_CUTOFF.into()),
            (_, [e, s]) => Ok(wells([*e, *s], [*e, *s])),
            (PairStyle::Charmm, [e, s, e14, s14]) => Ok(wells([*e, *s], [*e14, *s14])),
            (PairStyle::LennardJones, [_, _, _] | [_, _, _, _]) => Err(OWN_CUTOFF.into()),
            _ => Err(format!("a pair takes epsilon and sigma, these are {} numbers", given.len())),
        }
    }
}

const OWN_CUTOFF: &str = "a pair has a cut-off of its own; cut-offs are those of [[force]] in the input";

/// Pair styles of a script or of a data file.
#[derive(Debug)]
enum Styles {
    /// One for all pairs.
    One(PairStyle),
    /// One for each pair, which its row names.
    Hybrid(Vec<String>),
    /// One for each pair, and one of charges besides.
    Overlay(Vec<String>),
}

impl Styles {
    fn of(words: &[String], place: &Place) -> Result<Self> {
        let [name, ..] = words else { return Err(place.error("pair_style says nothing")) };
        let overlay = match plain(name) {
            "hybrid" => false,
            "hybrid/overlay" => true,
            _ => return PairStyle::of(name, place).map(Styles::One),
        };
        let mut styles: Vec<String> = Vec::new();
        for (word, _) in cutoffs::styles(words).into_iter().skip(1) {
            if !COULOMB.contains(&plain(word)) {
                PairStyle::of(word, place)?;
            }
            if styles.iter().any(|known| known == word) {
                return Err(place
                    .error(format!("{name} has the pair style {word} twice"))
                    .hint("once is read"));
            }
            styles.push(word.into());
        }
        Ok(if overlay { Styles::Overlay(styles) } else { Styles::Hybrid(styles) })
    }
}

/// Parameters of a pair of types.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Wells {
    any: [f64; 2],
    three_bonds: [f64; 2],
}

/// Forces of a pair of types.
#[derive(Debug, Clone, PartialEq)]
struct Pair {
    style: PairStyle,
    /// Name of the style; empty where all pairs have one.
    name: String,
    wells: Wells,
}

/// Lennard-Jones forces between types.
pub(super) struct PairForces {
    path: PathBuf,
    names: Vec<String>,
    mixing: Option<Mixing>,
    /// Given pairs, the smaller type first.
    given: HashMap<[usize; 2], Pair>,
    /// Pairs on which an overlay has put charges.
    charged: HashSet<[usize; 2]>,
}

impl PairForces {
    /// Collects what the files say.
    ///
    /// # Errors
    /// If a line makes no sense or names an unknown type, or the style is not known.
    pub fn new(path: &Path, data: &LammpsData, script: &Script) -> Result<Self> {
        let names: Vec<String> = data.structure.species.iter().map(|s| s.name.clone()).collect();
        let mut styles =
            script.pair_style.as_ref().map(|(words, place)| Styles::of(words, place)).transpose()?;
        let (given, charged) = (HashMap::new(), HashSet::new());
        let mut pairs = PairForces { path: path.to_path_buf(), names, mixing: script.mixing, given, charged };
        for row in &data.structure.coefficients {
            let Acting::Pair(types) = row.acting else { continue };
            let place = Place { path: path.to_path_buf(), line: row.line };
            if styles.is_none() {
                let name = row.style.as_ref().ok_or_else(|| unsaid(place.error(UNSAID)))?;
                styles = Some(Styles::One(PairStyle::of(name, &place)?));
            }
            let styles = styles.as_ref().ok_or_else(|| unsaid(place.error(UNSAID)))?;
            pairs.row(styles, [types].into_iter(), row.style.as_deref(), &row.numbers, &place)?;
        }
        let Some(styles) = styles else { return Err(unsaid(Error::file(path, UNSAID))) };
        for line in script.coefficients.iter().filter(|line| line.subject == Subject::Pair) {
            pairs.line(&styles, &line.words, &line.place)?;
        }
        if let (Styles::Hybrid(_) | Styles::Overlay(_), Some((_, place))) = (&styles, &script.pair_style)
            && data.structure.charges.iter().any(|charge| *charge != 0.0)
        {
            pairs.check_charges(place)?;
        }
        Ok(pairs)
    }

    /// A line of a script.
    fn line(&mut self, styles: &Styles, words: &[String], place: &Place) -> Result<()> {
        let [a, b, rest @ ..] = words else {
            return Err(place.error("the line ends before the second type"));
        };
        let style = match styles {
            Styles::One(_) => None,
            Styles::Hybrid(_) | Styles::Overlay(_) => rest.first().filter(|word| names_style(word)),
        };
        let numbers = numbers(&rest[usize::from(style.is_some())..], place)?;
        let types = |word: &str| {
            let label = |word: &str| self.names.iter().position(|name| name == word);
            range(word, self.names.len(), label).ok_or_else(|| {
                let n = self.names.len();
                place.error(format!("\"{word}\" is none of the {n} atom types of the data file"))
            })
        };
        let (first, second) = (types(a)?, types(b)?);
        // LAMMPS turns two types round that are given one by one, and passes over such pairs of ranges.
        let turned = first.clone().count() == 1 && second.clone().count() == 1;
        let all = first.flat_map(|a| second.clone().map(move |b| [a, b]));
        let all: Vec<[usize; 2]> = all.filter(|[a, b]| turned || a <= b).collect();
        if all.is_empty() {
            let message = format!("pair_coeff {a} {b} has no pair whose first type is not the larger one");
            return Err(place.error(message).hint(format!("write pair_coeff {b} {a}")));
        }
        self.row(styles, all.into_iter(), style.map(String::as_str), &numbers, place)
    }

    /// Coefficients of pairs, with the style that they name.
    fn row(
        &mut self,
        styles: &Styles,
        pairs: impl Iterator<Item = [usize; 2]>,
        named: Option<&str>,
        numbers: &[f64],
        place: &Place,
    ) -> Result<()> {
        let (name, style) = match (styles, named) {
            (Styles::One(style), _) => (String::new(), *style),
            (Styles::Hybrid(known) | Styles::Overlay(known), Some(name))
                if known.iter().any(|k| k == name) =>
            {
                let charges = COULOMB.contains(&plain(name));
                (name.into(), if charges { PairStyle::Coulomb } else { PairStyle::of(name, place)? })
            }
            (Styles::Hybrid(known) | Styles::Overlay(known), named) => {
                let named = named.map_or("no pair style".into(), |name| format!("the pair style {name}"));
                let error = place.error(format!("coefficients of pairs name {named}"));
                return Err(error.hint(format!("those of the hybrid are {}", known.join(", "))));
            }
        };
        let wells = style.wells(numbers).map_err(|why| place.error(why))?;
        for types in pairs.map(ordered) {
            if let (Styles::Overlay(_), PairStyle::Coulomb) = (styles, style) {
                self.charged.insert(types);
                continue;
            }
            let pair = Pair { style, name: name.clone(), wells };
            let before = self.given.insert(types, pair).filter(|before| before.name != name);
            if let (Styles::Overlay(_), Some(before)) = (styles, before) {
                let [a, b] = types.map(|kind| &self.names[kind]);
                let message =
                    format!("the pair {a}-{b} has two Lennard-Jones forces: {} and {name}", before.name);
                return Err(place.error(message).hint("one for each pair is computed"));
            }
        }
        Ok(())
    }

    /// Refuses hybrids in which charges act between some pairs only.
    fn check_charges(&self, place: &Place) -> Result<()> {
        let mut found: [Option<[usize; 2]>; 2] = [None; 2];
        for a in 0..self.names.len() {
            for b in a..self.names.len() {
                // Pairs that are mixed have the style of their types.
                let style = self.given.get(&[a, b]).or_else(|| self.given.get(&[a, a]));
                let charges =
                    self.charged.contains(&[a, b]) || style.is_some_and(|pair| pair.name.contains("coul"));
                found[usize::from(charges)].get_or_insert([a, b]);
            }
        }
        let [Some(without), Some(with)] = found else { return Ok(()) };
        let [without, with] =
            [without, with].map(|types| types.map(|kind| self.names[kind].as_str()).join("-"));
        let message = format!("charges act between the types {with}, but not between {without}");
        Err(place.error(message).hint("a style with coul for all pairs or for none is computed"))
    }

    fn mixed(&self, types: [usize; 2], of: impl Fn(&Wells) -> [f64; 2]) -> Result<[f64; 2]> {
        if let Some(given) = self.given.get(&ordered(types)) {
            return Ok(of(&given.wells));
        }
        // LAMMPS mixes no pairs that an overlay names.
        if self.charged.contains(&ordered(types)) {
            return Ok([0.0; 2]);
        }
        let name = |kind: usize| self.names.get(kind).map_or("?", String::as_str);
        let own = |kind: usize| {
            self.given.get(&[kind; 2]).ok_or_else(|| {
                let message = format!("there are no pair coefficients of the atom type {}", name(kind));
                Error::file(&self.path, message)
                    .hint("add them to the section Pair Coeffs, or name a file with pair_coeff in parameters")
            })
        };
        let (one, other) = (own(types[0])?, own(types[1])?);
        if one.name != other.name {
            let [a, b] = types.map(name);
            let message = format!(
                "there are no pair coefficients of {a}-{b}: {a} has the style {}, {b} {}, which do not mix",
                one.name, other.name
            );
            return Err(Error::file(&self.path, message).hint(format!("write pair_coeff {a} {b} ...")));
        }
        let mixing = self.mixing.unwrap_or(one.style.mixing());
        let [a, b] = [one, other].map(|pair| of(&pair.wells));
        let sizes = [a[1], b[1]];
        Ok([mixing.energy([a[0], b[0]], sizes), mixing.size(sizes)])
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
