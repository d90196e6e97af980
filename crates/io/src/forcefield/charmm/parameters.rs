//! CHARMM's files of parameters (prm, par, rtf, str): sections of rows by types of atoms; comments
//! begin with an exclamation mark. Of residues in topology files only the masses of types are read. Names of types are
//! in capitals here: CHARMM compares them without regard to case.

use crate::structure::Lines;
use crate::text::is_behind;
use jostle_core::Result;
use std::collections::HashMap;
use std::path::Path;

/// Stands for any type.
const ANY: &str = "X";

/// Rows of numbers by types of atoms; those of bonds, angles, dihedrals and pairs by [`one_way`].
pub(super) type ParameterRows<const N: usize> = HashMap<[String; N], Vec<Vec<f64>>>;

/// Parameters of all files together; those of later files replace those of earlier ones.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    /// The names of types by their numbers in topology files.
    pub types: HashMap<i64, String>,
    pub bonds: ParameterRows<2>,
    pub angles: ParameterRows<3>,
    pub dihedrals: ParameterRows<4>,
    pub impropers: ParameterRows<4>,
    pub maps: HashMap<[String; 8], (usize, Vec<f64>)>,
    pub nonbonded: ParameterRows<1>,
    /// Pairs of types with parameters of their own.
    pub pairs: ParameterRows<2>,
    /// Factor of charges of 1-4 pairs.
    pub scale_14: Option<f64>,
    pub sizes: Sizes,
}

/// Rule by which the sizes of two types make that of their pair.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Sizes {
    #[default]
    Arithmetic,
    /// `GEOM`, as OPLS has it.
    Geometric,
}

#[derive(Clone, Copy, PartialEq)]
enum ParameterSection {
    Other,
    Bonds,
    Angles,
    Dihedrals,
    Impropers,
    Maps,
    Nonbonded,
    Pairs,
}

impl ParameterSection {
    /// The section that a line begins; `None` if it is a row of one.
    fn begins(words: &[&str]) -> Option<ParameterSection> {
        let word = words.first()?.to_uppercase();
        let start = word.get(..4).unwrap_or(&word);
        let alone = words.len() == 1;
        Some(match start {
            "BOND" if alone => ParameterSection::Bonds,
            "ANGL" | "THET" if alone => ParameterSection::Angles,
            "DIHE" | "PHI" if alone => ParameterSection::Dihedrals,
            "IMPR" | "IMPH" if alone => ParameterSection::Impropers,
            "CMAP" if alone => ParameterSection::Maps,
            "NONB" | "NBON" => ParameterSection::Nonbonded,
            "NBFI" => ParameterSection::Pairs,
            "ATOM" if alone => ParameterSection::Other,
            "HBON" | "END" | "RETU" | "READ" | "RESI" | "PRES" | "THOL" => ParameterSection::Other,
            _ => return None,
        })
    }
}

/// Returns true for a line of a title, or one whose letters of another encoding are those of a comment.
pub(super) fn is_comment(line: &[u8]) -> bool {
    line.trim_ascii_start().starts_with(b"*") || is_behind(b'!', line)
}

impl Parameters {
    /// Adds the parameters of a file.
    ///
    /// # Errors
    /// If a row is damaged; the error has the line.
    pub fn read(&mut self, path: &Path, text: &str) -> Result<()> {
        let mut lines = Lines::new(path, text);
        let mut section = ParameterSection::Other;
        // Dihedrals of several terms stand in several rows; those of an earlier file go.
        let (mut dihedrals, mut impropers) = (ParameterRows::new(), ParameterRows::new());
        while let Some(line) = lines.next() {
            let row = bare(line);
            let words: Vec<&str> = row.split_whitespace().collect();
            if words.is_empty() || row.trim_start().starts_with('*') {
                continue;
            }
            if words[0].eq_ignore_ascii_case("MASS") {
                let number: i64 = lines.parse(words.get(1).copied(), "the number of the type")?;
                let name = words.get(2).ok_or_else(|| lines.error("a type has no name"))?;
                self.types.insert(number, name.to_ascii_uppercase());
                continue;
            }
            if let Some(begun) = ParameterSection::begins(&words) {
                section = begun;
                if section == ParameterSection::Nonbonded {
                    self.options(&mut lines, row)?;
                }
                continue;
            }
            match section {
                ParameterSection::Other => {}
                ParameterSection::Bonds => {
                    let (types, row) = split(&lines, &words, 2)?;
                    self.bonds.insert(one_way(types), vec![row]);
                }
                ParameterSection::Angles => {
                    let (types, row) = split(&lines, &words, 2)?;
                    self.angles.insert(one_way(types), vec![row]);
                }
                ParameterSection::Dihedrals => {
                    let (types, row) = periodic(&lines, &words)?;
                    let terms: &mut Vec<Vec<f64>> = dihedrals.entry(one_way(types)).or_default();
                    terms.retain(|term| term[1] != row[1]);
                    terms.push(row);
                }
                ParameterSection::Impropers => {
                    let (types, row) = periodic(&lines, &words)?;
                    impropers.insert(one_way(types), vec![row]);
                }
                ParameterSection::Maps => {
                    let (types, row) = split(&lines, &words, 1)?;
                    let map = map(&mut lines, row[0])?;
                    self.maps.insert(types, map);
                }
                ParameterSection::Nonbonded => {
                    let (types, row) = split(&lines, &words, 3)?;
                    self.nonbonded.insert(types, vec![row]);
                }
                ParameterSection::Pairs => {
                    let (types, row) = split(&lines, &words, 2)?;
                    self.pairs.insert(one_way(types), vec![row]);
                }
            }
        }
        self.dihedrals.extend(dihedrals);
        self.impropers.extend(impropers);
        Ok(())
    }

    /// The options of the forces between pairs, which go on in the next line after a dash.
    fn options(&mut self, lines: &mut Lines, row: &str) -> Result<()> {
        let mut text = row.trim_end().to_string();
        while text.ends_with('-') {
            text.pop();
            let Some(line) = lines.next() else { break };
            text += bare(line).trim_end();
        }
        let words: Vec<String> = text.split_whitespace().map(str::to_uppercase).collect();
        if let Some(place) = words.iter().position(|word| word == "E14FAC") {
            let word = words.get(place + 1).map(String::as_str);
            self.scale_14 = Some(lines.number(word, "e14fac")?);
        }
        // Options stay as they are until a file changes them.
        for word in &words {
            match word.get(..4) {
                Some("GEOM") => self.sizes = Sizes::Geometric,
                Some("ARIT") => self.sizes = Sizes::Arithmetic,
                _ => {}
            }
        }
        Ok(())
    }

    /// The rows of two types in either order.
    pub fn of_pair<'a>(rows: &'a ParameterRows<2>, [a, b]: [&str; 2]) -> Option<&'a [f64]> {
        either_way(rows, [a, b]).and_then(|rows| rows.first()).map(Vec::as_slice)
    }

    /// The row of an angle.
    pub fn of_angle(&self, types: [&str; 3]) -> Option<&[f64]> {
        either_way(&self.angles, types).and_then(|rows| rows.first()).map(Vec::as_slice)
    }

    /// The terms of a dihedral: exactly these types, else any at the ends.
    pub fn of_dihedral(&self, [a, b, c, d]: [&str; 4]) -> Option<&[Vec<f64>]> {
        let ways = [[a, b, c, d], [ANY, b, c, ANY]];
        ways.into_iter().find_map(|types| either_way(&self.dihedrals, types))
    }

    /// The terms of an improper, in the order in which CHARMM looks for them.
    pub fn of_improper(&self, [a, b, c, d]: [&str; 4]) -> Option<&[Vec<f64>]> {
        let ways = [[a, b, c, d], [a, ANY, ANY, d], [ANY, b, c, d], [ANY, b, c, ANY], [ANY, ANY, c, d]];
        ways.into_iter().find_map(|types| either_way(&self.impropers, types))
    }
}

/// The types of rows that hold from the first to the last and the other way round, in one of both orders.
fn one_way<const N: usize>(types: [String; N]) -> [String; N] {
    let mut turned = types.clone();
    turned.reverse();
    types.min(turned)
}

/// The rows of some types in either order.
fn either_way<'a, const N: usize>(rows: &'a ParameterRows<N>, types: [&str; N]) -> Option<&'a [Vec<f64>]> {
    rows.get(&one_way(types.map(str::to_string))).map(Vec::as_slice)
}

/// A line without its comment.
fn bare(line: &str) -> &str {
    line.split('!').next().unwrap_or("")
}

/// Types that a row begins with, and its numbers, of which there are at least `least`.
fn split<const N: usize>(lines: &Lines, words: &[&str], least: usize) -> Result<([String; N], Vec<f64>)> {
    let Some((types, rest)) = words.split_first_chunk::<N>().filter(|(_, rest)| rest.len() >= least) else {
        return Err(lines.error(format!(
            "the row has {} words, but {N} types and {least} numbers are wanted",
            words.len()
        )));
    };
    let mut row = Vec::new();
    for (k, word) in rest.iter().enumerate() {
        match word.parse::<f64>() {
            Ok(x) if x.is_finite() => row.push(x),
            // Comments without a mark.
            _ if k >= least => break,
            _ => return Err(lines.error(format!("\"{word}\" is no number"))),
        }
    }
    Ok((types.map(str::to_ascii_uppercase), row))
}

/// Types of a dihedral, and its numbers: the second, the multiplicity, is whole.
fn periodic(lines: &Lines, words: &[&str]) -> Result<([String; 4], Vec<f64>)> {
    let (types, row) = split(lines, words, 3)?;
    match row[1].fract() {
        0.0 => Ok((types, row)),
        _ => Err(lines.error(format!("the multiplicity {} of a dihedral is no whole number", row[1]))),
    }
}

/// The energies of a map, the second angle running faster.
fn map(lines: &mut Lines, size: f64) -> Result<(usize, Vec<f64>)> {
    if !(3.0..=1000.0).contains(&size) || size.fract() != 0.0 {
        return Err(lines.error(format!("a map of {size} points an angle")));
    }
    let size = size as usize;
    let mut energies = Vec::with_capacity(size * size);
    while energies.len() < size * size {
        let Some(line) = lines.next() else {
            let found = energies.len();
            return Err(lines.error(format!("a map has {found} of {} energies", size * size)));
        };
        for word in bare(line).split_whitespace() {
            energies.push(lines.number(Some(word), "an energy of the map")?);
        }
    }
    Ok((size, energies))
}
