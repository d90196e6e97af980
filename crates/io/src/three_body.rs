//! Files of three-body potentials as LAMMPS reads them: Stillinger and Weber's (`pair_style sw`) and Tersoff's
//! (`pair_style tersoff`).
//!
//! An entry has three elements, the centre first, and numbers; it begins with a line and may go on in the next ones.
//! Text after a `#` is a comment. Energies are in eV and distances in angstrom, or in kcal/mol where the first
//! lines say `UNITS: real`.

use crate::file_units::{comments, tagged};
use crate::text::read_recorded;
use jostle_core::{Error, Result};
use jostle_potentials::three_body::tersoff::DistancePower;
use jostle_potentials::three_body::{StillingerWeberEntry, TersoffEntry};
use jostle_potentials::{ThreeBody, ThreeBodyKind};
use std::path::{Path, PathBuf};

/// Kilocalorie per mole in eV.
const KILOCALORIE: f64 = 4184.0 / (1.602_176_634e-19 * 6.022_140_76e23);

/// Numbers of an entry, in the order of the file.
const STILLINGER_WEBER: [&str; 11] =
    ["epsilon", "sigma", "a", "lambda", "gamma", "cos theta0", "A", "B", "p", "q", "tol"];
const TERSOFF: [&str; 14] =
    ["m", "gamma", "lambda3", "c", "d", "cos theta0", "n", "beta", "lambda2", "B", "R", "D", "lambda1", "A"];

/// The entries of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreeBodyFile {
    path: PathBuf,
    kind: ThreeBodyKind,
    entries: Vec<Entry>,
    /// Unit of energy in eV.
    energy: f64,
}

/// Numbers of a centre and two neighbours.
#[derive(Debug, Clone, PartialEq)]
struct Entry {
    elements: [String; 3],
    numbers: Vec<f64>,
    line: usize,
}

impl ThreeBodyFile {
    /// Reads a file of this kind.
    ///
    /// # Errors
    /// If the file cannot be read, or an entry lacks numbers: file, line and cause.
    pub fn read(path: &Path, kind: ThreeBodyKind) -> Result<Self> {
        let bytes = read_recorded(path)?;
        let text = String::from_utf8_lossy(&bytes);
        let energy = unit_of_energy(path, &text)?;
        let mut file = ThreeBodyFile { path: path.to_path_buf(), kind, entries: Vec::new(), energy };
        let n_words = 3 + file.names().len();
        let (mut words, mut begin): (Vec<(&str, usize)>, usize) = (Vec::new(), 0);
        for (k, line) in text.lines().enumerate() {
            let more = line.split('#').next().unwrap_or_default().split_whitespace();
            if words.is_empty() {
                begin = k + 1;
            }
            let before = words.len();
            words.extend(more.map(|word| (word, k + 1)));
            if words.len() > n_words {
                let message = format!(
                    "the entry of line {begin} has {before} words before this line and {} with it, not {n_words}",
                    words.len()
                );
                return Err(Error::file_line(path, k + 1, message).hint(file.form()));
            }
            if words.len() == n_words {
                file.push(&words, begin)?;
                words.clear();
            }
        }
        if !words.is_empty() {
            let message = format!("the last entry has {} of its {n_words} words", words.len());
            return Err(Error::file_line(path, begin, message).hint(file.form()));
        }
        match file.entries.is_empty() {
            true => Err(Error::file(path, "there is no entry in the file").hint(file.form())),
            false => Ok(file),
        }
    }

    /// Names of the numbers of an entry.
    fn names(&self) -> &'static [&'static str] {
        match self.kind {
            ThreeBodyKind::StillingerWeber => &STILLINGER_WEBER,
            ThreeBodyKind::Tersoff => &TERSOFF,
        }
    }

    /// Form of an entry, for hints.
    fn form(&self) -> String {
        let (kind, names) = (self.kind.name(), self.names().join(", "));
        format!("an entry of kind = \"{kind}\" has three elements and {}: {names}", self.names().len())
    }

    fn push(&mut self, words: &[(&str, usize)], begin: usize) -> Result<()> {
        let (elements, numbers) = words.split_at(3);
        let elements: [String; 3] = std::array::from_fn(|k| elements[k].0.to_string());
        let number = |(k, (word, line)): (usize, &(&str, usize))| {
            word.parse::<f64>().ok().filter(|x| x.is_finite()).ok_or_else(|| {
                let name = self.names()[k];
                let message = format!("{name} is \"{word}\" in the entry that begins in line {begin}");
                Error::file_line(&self.path, *line, message).hint(self.form())
            })
        };
        let numbers = numbers.iter().enumerate().map(number).collect::<Result<Vec<f64>>>()?;
        if let Some(other) = self.entries.iter().find(|entry| entry.elements == elements) {
            let message = format!("\"{}\" has an entry in line {} already", elements.join(" "), other.line);
            return Err(Error::file_line(&self.path, begin, message).hint("remove one of them"));
        }
        self.entries.push(Entry { elements, numbers, line: begin });
        Ok(())
    }

    /// The force between species that are these elements, in units in which an electronvolt and an angstrom are so
    /// much.
    ///
    /// # Errors
    /// If an entry is not in the file or makes no sense: file, line and cause.
    pub fn force(&self, elements: &[&str], electronvolt: f64, angstrom: f64) -> Result<ThreeBody> {
        self.check_elements(elements)?;
        let n = elements.len();
        let triplets = (0..n * n * n).map(|k| [k / n / n, k / n % n, k % n]);
        let found = triplets.map(|kinds| {
            let role = if kinds[1] == kinds[2] { Role::PairAndTriplet } else { Role::Triplet };
            Ok((self.entry(kinds.map(|kind| elements[kind]))?, role))
        });
        let found: Vec<(&Entry, Role)> = found.collect::<Result<_>>()?;
        let units = (electronvolt * self.energy, angstrom);
        match self.kind {
            ThreeBodyKind::StillingerWeber => {
                let entries = found.into_iter().map(|(entry, _)| self.stillinger_weber(entry, units));
                let entries = entries.collect::<Result<Vec<_>>>()?;
                let name = |kinds: [usize; 3]| kinds.map(|kind| elements[kind]).join(" ");
                ThreeBody::stillinger_weber(n, &entries, name).map_err(|e| e.blame_file(&self.path))
            }
            ThreeBodyKind::Tersoff => {
                let entries = found.into_iter().map(|(entry, role)| self.tersoff(entry, role, units));
                Ok(ThreeBody::tersoff(n, &entries.collect::<Result<Vec<_>>>()?))
            }
        }
    }

    fn check_elements(&self, elements: &[&str]) -> Result<()> {
        let mut known: Vec<&str> = Vec::new();
        for entry in &self.entries {
            if !known.contains(&entry.elements[0].as_str()) {
                known.push(&entry.elements[0]);
            }
        }
        match elements.iter().find(|element| !known.contains(element)) {
            Some(element) => {
                Err(Error::file(&self.path, format!("there is no element \"{element}\" in the file")).hint(
                    format!(
                        "it has {}; name species so, or say which is which: elements = [\"{}\"]",
                        known.join(", "),
                        known.first().unwrap_or(&"")
                    ),
                ))
            }
            None => Ok(()),
        }
    }

    fn entry(&self, elements: [&str; 3]) -> Result<&Entry> {
        self.entries.iter().find(|entry| entry.elements == elements).ok_or_else(|| {
            Error::file(&self.path, format!("there is no entry \"{}\" in the file", elements.join(" ")))
                .hint("every centre needs one for each two of its neighbours, in both orders")
        })
    }

    /// Refuses an entry in which numbers with these indices are not as they must be.
    fn check(&self, entry: &Entry, indices: &[usize], must: &str, is: impl Fn(f64) -> bool) -> Result<()> {
        match indices.iter().find(|k| !is(entry.numbers[**k])) {
            Some(k) => {
                let (name, number, elements) =
                    (self.names()[*k], entry.numbers[*k], entry.elements.join(" "));
                let message = format!("{name} of \"{elements}\" is {number}, but must {must}");
                Err(Error::file_line(&self.path, entry.line, message).hint(self.form()))
            }
            None => Ok(()),
        }
    }

    fn stillinger_weber(&self, entry: &Entry, (energy, length): (f64, f64)) -> Result<StillingerWeberEntry> {
        self.check(entry, &[0, 1, 2, 3, 4, 6, 7, 8, 9, 10], "not be negative", |x| x >= 0.0)?;
        let x = &entry.numbers;
        Ok(StillingerWeberEntry {
            epsilon: x[0] * energy,
            sigma: x[1] * length,
            a: x[2],
            lambda: x[3],
            gamma: x[4],
            cosine: x[5],
            strength: x[6],
            repulsion: x[7],
            p: x[8],
            q: x[9],
            tolerance: x[10],
        })
    }

    fn tersoff(&self, entry: &Entry, role: Role, (energy, length): (f64, f64)) -> Result<TersoffEntry> {
        let x = &entry.numbers;
        self.check(entry, &[0], "be 1 or 3", |m| m == 1.0 || m == 3.0)?;
        self.check(entry, &[1, 3], "not be negative", |x| x >= 0.0)?;
        self.check(entry, &[4, 10, 11], "be positive", |x| x > 0.0)?;
        self.check(entry, &[11], "be less than R", |half_width| half_width <= x[10])?;
        if role == Role::PairAndTriplet {
            self.check(entry, &[7, 8, 9, 12, 13], "not be negative", |x| x >= 0.0)?;
            self.check(entry, &[6], "be positive", |n| n > 0.0)?;
        }
        Ok(TersoffEntry {
            m: if x[0] == 1.0 { DistancePower::One } else { DistancePower::Three },
            gamma: x[1],
            lambda3: x[2] / length,
            c: x[3],
            d: x[4],
            cosine: x[5],
            n: x[6],
            beta: x[7],
            lambda2: x[8] / length,
            attraction: x[9] * energy,
            middle: x[10] * length,
            half_width: x[11] * length,
            lambda1: x[12] / length,
            repulsion: x[13] * energy,
        })
    }
}

/// Use of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// For a centre and two neighbours alone.
    Triplet,
    /// For a centre and one neighbour, too.
    PairAndTriplet,
}

/// Unit of energy, in eV, that the comments of a file name.
fn unit_of_energy(path: &Path, text: &str) -> Result<f64> {
    match tagged(comments(text)) {
        None | Some((_, "metal")) => Ok(1.0),
        Some((_, "real")) => Ok(KILOCALORIE),
        Some((line, units)) => {
            let message = format!("the file says that its units are \"{units}\"");
            Err(Error::file_line(path, line, message)
                .hint("files in eV and angstrom (\"metal\") or kcal/mol and angstrom (\"real\") are read"))
        }
    }
}
