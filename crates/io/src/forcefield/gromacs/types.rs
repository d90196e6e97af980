//! The parameters of types of atoms in GROMACS' topologies.

use super::preprocess::SourceLine;
use super::state_b;
use crate::forcefield::missing::nearest;
use jostle_core::{Error, Result};
use std::collections::{HashMap, HashSet};

/// The function of dihedrals with several terms.
const SERIES: u32 = 9;

/// Stands for any type.
const ANY: &str = "X";

/// A type of atoms.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct AtomType {
    /// Name of the type in bonds and angles.
    pub bonded: String,
    pub mass: f64,
    pub charge: f64,
    /// V and W of its Lennard-Jones forces.
    pub pair: [f64; 2],
}

/// A row of parameters by types of atoms, for one function.
#[derive(Debug, Clone)]
pub(super) struct ParameterRow {
    pub types: Vec<String>,
    pub function: u32,
    pub parameters: Vec<f64>,
}

/// Form of Lennard-Jones parameters, and the rule that combines them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Combination {
    /// C6 and C12, both by geometric means.
    Coefficients,
    /// Sigma and epsilon, after Lorentz and Berthelot.
    LorentzBerthelot,
    /// Sigma and epsilon, both by geometric means (OPLS).
    Geometric,
}

/// `[ defaults ]`
#[derive(Debug, Clone, Copy)]
pub(super) struct Defaults {
    pub combination: Combination,
    /// True where 1-4 pairs without a type of their own follow from the types of the atoms.
    pub generate: bool,
    /// Factors of Lennard-Jones forces and of charges of 1-4 pairs.
    pub scale: [f64; 2],
}

impl Defaults {
    pub fn new(line: &SourceLine) -> Result<Self> {
        let word = |k: usize| line.words.get(k).map(String::as_str);
        let scale = |k: usize| word(k).map_or(Ok(1.0), |text| number(line, text));
        if word(0) != Some("1") {
            return Err(line.error("forces between pairs other than Lennard-Jones (nbfunc 1) are not read"));
        }
        let combination = match word(1) {
            Some("1") => Combination::Coefficients,
            Some("2") => Combination::LorentzBerthelot,
            Some("3") => Combination::Geometric,
            _ => return Err(line.error("the combination rule is not 1, 2 or 3")),
        };
        let generate = word(2).is_some_and(|word| word.eq_ignore_ascii_case("yes"));
        Ok(Defaults { combination, generate, scale: [scale(3)?, scale(4)?] })
    }

    /// Epsilon and sigma of V and W.
    pub fn well(&self, [v, w]: [f64; 2]) -> [f64; 2] {
        match self.combination {
            Combination::Coefficients => crate::forcefield::well(w, v),
            _ if w == 0.0 => [0.0; 2],
            // A negative sigma stands for the repulsion alone.
            _ if v < 0.0 => crate::forcefield::well(4.0 * w * v.powi(12), 0.0),
            _ => [w, v],
        }
    }

    /// Epsilon and sigma of two types. A sigma is negative if one of two is (`generate_nbparams` of
    /// GROMACS).
    fn mixed(&self, a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
        let mean = |k: usize| (a[k] * b[k]).sqrt();
        let sign = if a[0] < 0.0 || b[0] < 0.0 { -1.0 } else { 1.0 };
        match self.combination {
            Combination::Coefficients => self.well([mean(0), mean(1)]),
            Combination::LorentzBerthelot => self.well([sign * 0.5 * (a[0].abs() + b[0].abs()), mean(1)]),
            Combination::Geometric => self.well([sign * (a[0] * b[0]).abs().sqrt(), mean(1)]),
        }
    }
}

/// All types.
#[derive(Debug, Default)]
pub(super) struct Types {
    pub atoms: HashMap<String, AtomType>,
    /// Names of the types in bonds and angles.
    bonded: HashSet<String>,
    pub bonds: BondedTypes,
    pub constraints: BondedTypes,
    pub angles: BondedTypes,
    pub dihedrals: BondedTypes,
    /// Maps, the second angle running faster, and their points along each angle.
    pub maps: Vec<(ParameterRow, usize)>,
    /// V and W of pairs of types, and of 1-4 pairs, the smaller name first: a later row of a pair, in either order of its
    /// types, replaces an earlier one (`push_nbt` and `push_bondtype` of GROMACS).
    pub pairs: HashMap<[String; 2], [f64; 2]>,
    pub pairs_14: HashMap<[String; 2], [f64; 2]>,
}

/// Types of bonds, angles or dihedrals with their parameters, by function, as `push_bondtype` of GROMACS keeps them.
#[derive(Debug, Default)]
pub(super) struct BondedTypes {
    rows: HashMap<u32, Vec<ParameterRow>>,
    /// Rows of the same types, from either end, by function, and the line of the first.
    known: HashMap<(u32, Vec<String>), (Vec<usize>, SourceLine)>,
}

impl BondedTypes {
    /// The rows for a function. Dihedrals of several terms are of one kind with those of one.
    pub fn of(&self, function: u32) -> &[ParameterRow] {
        let function = if function == SERIES { 1 } else { function };
        self.rows.get(&function).map_or(&[], Vec::as_slice)
    }

    /// Adds a row of a dihedral.
    ///
    /// # Errors
    /// If rows of other types stand between one of several terms and earlier ones of its types.
    pub fn add_dihedral(&mut self, row: ParameterRow, line: &SourceLine) -> Result<()> {
        match row.function {
            SERIES => self.add_to_series(ParameterRow { function: 1, ..row }, line),
            _ => {
                self.add(row, line);
                Ok(())
            }
        }
    }

    /// Adds a row, which replaces the parameters of earlier rows of the same types, in their places.
    pub fn add(&mut self, row: ParameterRow, line: &SourceLine) {
        let (rows, known, _) = self.alike(&row, line);
        known.iter().for_each(|k| rows[*k].parameters.clone_from(&row.parameters));
        if known.is_empty() {
            known.push(rows.len());
            rows.push(row);
        }
    }

    /// Adds a row of a dihedral of several terms, unless it is there already.
    ///
    /// # Errors
    /// If rows of other types stand between it and earlier ones of its types.
    fn add_to_series(&mut self, row: ParameterRow, line: &SourceLine) -> Result<()> {
        let (rows, known, first) = self.alike(&row, line);
        let same = |k: &usize| rows[*k].parameters == row.parameters;
        let goes_on = rows.last().is_some_and(|last| last.types == row.types);
        if !goes_on && known.iter().any(|k| !same(k)) {
            let message = format!("a second block of dihedraltypes for {}", row.types.join(" "));
            let first = format!("the first begins at line {} of {}", first.number, first.file.display());
            return Err(line.error(message).hint(format!(
                "{first}; terms of a dihedral (function 9) stand in consecutive lines, so GROMACS refuses this, too"
            )));
        }
        if !known.iter().any(same) {
            known.push(rows.len());
            rows.push(row);
        }
        Ok(())
    }

    /// The rows for a row's function, the places of those of its types, and the line of the first of these.
    fn alike(
        &mut self,
        row: &ParameterRow,
        line: &SourceLine,
    ) -> (&mut Vec<ParameterRow>, &mut Vec<usize>, &SourceLine) {
        let mut turned = row.types.clone();
        turned.reverse();
        let key = (row.function, turned.min(row.types.clone()));
        let (known, first) = self.known.entry(key).or_insert_with(|| (Vec::new(), line.clone()));
        (self.rows.entry(row.function).or_default(), known, first)
    }
}

/// An error for a type of atoms that is not among the known ones.
pub(super) fn no_type<'a>(line: &SourceLine, name: &str, known: impl Iterator<Item = &'a String>) -> Error {
    let near = nearest(known.map(std::slice::from_ref), &[name]);
    line.error(format!("there is no type of atoms {name}")).hint(near)
}

/// A word as a number of things.
pub(super) fn whole(line: &SourceLine, word: &str) -> Result<usize> {
    word.parse()
        .map_err(|_| line.error(format!("\"{word}\" is no whole number")).hint("is a macro not defined?"))
}

/// A word as a number.
pub(super) fn number(line: &SourceLine, word: &str) -> Result<f64> {
    let x: Option<f64> = word.parse().ok().filter(|x: &f64| x.is_finite());
    x.ok_or_else(|| line.error(format!("\"{word}\" is no number")).hint("is a macro not defined?"))
}

impl Types {
    /// A row of `[ atomtypes ]`: name, perhaps what bonds call it and the atomic number, mass, charge,
    /// a letter, V, W.
    pub fn add_atom(&mut self, line: &SourceLine) -> Result<()> {
        let words: Vec<&str> = line.words.iter().map(String::as_str).collect();
        let letter = (3..words.len()).find(|k| ["A", "S", "V", "D"].contains(&words[*k]));
        let Some((front, [_, v, w, ..])) = letter.map(|k| words.split_at(k)) else {
            return Err(line.error("a type of atoms needs name, mass, charge, A, V and W"));
        };
        let &[name, .., mass, charge] = front else {
            return Err(line.error("a type of atoms needs name, mass, charge, A, V and W"));
        };
        let named = front.get(1).filter(|word| front.len() > 3 && word.parse::<f64>().is_err());
        let of_type = AtomType {
            bonded: named.unwrap_or(&name).to_string(),
            mass: number(line, mass)?,
            charge: number(line, charge)?,
            pair: [number(line, v)?, number(line, w)?],
        };
        self.bonded.insert(of_type.bonded.clone());
        match self.atoms.insert(name.to_string(), of_type.clone()) {
            Some(before) if before != of_type => Err(line
                .error(format!("the type of atoms {name} has been defined before, with other numbers"))
                .hint("only one of them can be meant: leave the other out, or give it a name of its own")),
            _ => Ok(()),
        }
    }

    /// A row of `[ dihedraltypes ]`: four types, or two: the outer ones of an improper (function 2), the
    /// inner ones of other dihedrals.
    pub fn add_dihedral(&mut self, line: &SourceLine) -> Result<()> {
        let is_digit = |word: &String| word.len() == 1 && word.parse::<u8>().is_ok();
        let row = match line.words.get(2).filter(|word| is_digit(word)) {
            None => self.bonded_row(line, 4)?,
            Some(function) => {
                let mut row = self.bonded_row(line, 2)?;
                let any = || ANY.to_string();
                if function == "2" {
                    row.types.splice(1..1, [any(), any()]);
                } else {
                    row.types.insert(0, any());
                    row.types.push(any());
                }
                row
            }
        };
        self.dihedrals.add_dihedral(row, line)
    }

    /// A row of types as bonds call them, function and numbers.
    ///
    /// # Errors
    /// If no type of atoms before it is called so: the row would be for nothing.
    pub fn bonded_row(&self, line: &SourceLine, n: usize) -> Result<ParameterRow> {
        let row = Types::row(line, n)?;
        match row.types.iter().find(|name| *name != ANY && !self.bonded.contains(*name)) {
            Some(name) => Err(no_type(line, name, self.bonded.iter())),
            None => Ok(row),
        }
    }

    /// A row of `[ cmaptypes ]`: five types, function, points along both angles, energies.
    pub fn add_map(&mut self, line: &SourceLine) -> Result<()> {
        let mut row = self.bonded_row(line, 5)?;
        let (&[nx, ny, ..], n) = (&row.parameters[..], row.parameters.len()) else {
            return Err(line.error("a map needs two numbers of points"));
        };
        if nx != ny || n as f64 != nx * ny + 2.0 {
            return Err(line.error(format!("a map of {nx} x {ny} points with {} energies", n - 2)));
        }
        row.parameters.drain(..2);
        self.maps.push((row, nx as usize));
        Ok(())
    }

    /// A row of types, function and numbers.
    pub fn row(line: &SourceLine, n: usize) -> Result<ParameterRow> {
        let Some((types, [function, rest @ ..])) = line.words.split_at_checked(n) else {
            return Err(line.error(format!("a row of {n} types, a function and parameters is wanted")));
        };
        let function =
            function.parse().map_err(|_| line.error(format!("\"{function}\" is no number of a function")))?;
        let parameters = rest.iter().map(|word| number(line, word)).collect::<Result<_>>()?;
        Ok(ParameterRow { types: types.to_vec(), function, parameters })
    }

    /// V and W of two types of atoms that a row has.
    ///
    /// # Errors
    /// If there are none, the force is another one, or a type of atoms has not been defined before.
    pub fn pair_row(&self, line: &SourceLine) -> Result<([String; 2], [f64; 2])> {
        let row = Types::row(line, 2)?;
        if let Some(name) = row.types.iter().find(|name| !self.atoms.contains_key(*name)) {
            return Err(no_type(line, name, self.atoms.keys()));
        }
        let ([a, b], [v, w, ..]) = (&row.types[..], &row.parameters[..]) else {
            return Err(line.error("a pair of types needs V and W"));
        };
        if row.function != 1 {
            let message = format!("the function {} of pairs of types is not read", row.function);
            return Err(line.error(message).hint("Lennard-Jones forces (1) are"));
        }
        state_b::check_term(line, "pair of types", &row.parameters, 2)?;
        Ok((Types::ordered(a, b), [*v, *w]))
    }

    /// V and W of two types in either order.
    pub fn pair(pairs: &HashMap<[String; 2], [f64; 2]>, a: &str, b: &str) -> Option<[f64; 2]> {
        pairs.get(&Types::ordered(a, b)).copied()
    }

    fn ordered(a: &str, b: &str) -> [String; 2] {
        [a.min(b).to_string(), a.max(b).to_string()]
    }
}

impl Types {
    /// Epsilon and sigma of two types of atoms that nothing binds.
    pub fn well(&self, defaults: &Defaults, a: &str, b: &str) -> [f64; 2] {
        let of = |name: &str| self.atoms.get(name).map_or([0.0; 2], |of_type| of_type.pair);
        match Types::pair(&self.pairs, a, b) {
            Some(own) => defaults.well(own),
            None if a == b => defaults.well(of(a)),
            None => defaults.mixed(of(a), of(b)),
        }
    }
}

/// The rows for some types of atoms, first to last or the other way round. Of dihedrals those with the fewest types that
/// stand for any are taken, of equals the first (`defaultInteractionsOfType` of GROMACS), with all rows of the same
/// types that follow.
pub(super) fn find<'a>(rows: &'a [ParameterRow], types: &[&str]) -> &'a [ParameterRow] {
    let free = |known: &String| types.len() == 4 && known == ANY;
    let matches = |row: &ParameterRow| {
        let fits = |(known, own): (&String, &&str)| known == own || free(known);
        let ahead = row.types.iter().zip(types).all(fits);
        let back = row.types.iter().zip(types.iter().rev()).all(fits);
        row.types.len() == types.len() && (ahead || back)
    };
    let found = rows.iter().enumerate().filter(|(_, row)| matches(row));
    let Some((first, row)) =
        found.min_by_key(|(_, row)| row.types.iter().filter(|known| free(known)).count())
    else {
        return &[];
    };
    let behind = rows[first..].iter().take_while(|other| other.types == row.types).count();
    &rows[first..first + behind]
}
